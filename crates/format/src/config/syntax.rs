//! What a syntax error costs.

use std::ops::Range;

/// Whether a syntax error at `span` may have cost a part of `[policy]`: it stands in that section,
/// or in the one right before a policy header, which it may have swallowed.
///
/// Whoever cannot say what a broken file denies must deny.
pub(super) fn may_cost_policy(text: &str, span: &Range<usize>) -> bool {
    let mut headers = headers(text);
    let mut section = "";
    let mut next = "";
    for (at, header) in headers.by_ref() {
        if at > span.start {
            next = header;
            break;
        }
        section = header;
    }
    // Before the first header, `policy.deny = […]` may stand anywhere.
    let dotted =
        section.is_empty() && text.lines().any(|line| line.trim_start().starts_with("policy"));
    // An unclosed text may run on past the next header.
    let multiline =
        text.get(span.start..).is_some_and(|rest| rest.contains("\"\"\"") || rest.contains("'''"));
    dotted
        || is_policy(section)
        || is_policy(next)
        || (multiline && headers.any(|(_, header)| is_policy(header)))
}

/// Whether `text` speaks of a policy at all.
pub(super) fn mentions_policy(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with("policy"))
        || headers(text).any(|(_, header)| is_policy(header))
}

/// Lines that look like a table header, with their offsets.
fn headers(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_inclusive('\n')
        .scan(0, |offset, line| {
            let at = *offset;
            *offset += line.len();
            Some((at, line.trim()))
        })
        .filter(|(_, line)| line.starts_with('['))
}

fn is_policy(header: &str) -> bool {
    header.trim_start_matches(['[', ' ', '\t', '"', '\'']).strip_prefix("policy").is_some_and(
        |rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-'),
    )
}
