//! What a skill declares against what its body does with it.

use std::collections::BTreeSet;

use super::outline::Outline;
use super::{Report, SHOWN};
use crate::expand::stands_in_scopes;
use crate::skill::Document;
use crate::skill::codes::Code;

/// Names in a text that belong to a shell more often than they are a slip.
const OF_SHELLS: &[&str] = &["home", "tmp", "tmpdir", "cwd"];

pub(super) fn look(document: &Document, outline: &Outline, report: &mut Report<'_>) {
    if !document.permissions.is_empty() && document.version.is_none() {
        let message = "permissions are declared and no version: a change of what the skill does cannot be seen";
        report.whole(Code::NoVersion, message);
    }
    parameters(document, outline, report);
    placeholders(document, outline, report);
    tools(document, report);
}

/// Parameters and arguments that the body never mentions.
fn parameters(document: &Document, outline: &Outline, report: &mut Report<'_>) {
    let body = report.body;
    // `$ARGUMENTS` and `$0` take whatever was passed.
    let positional = body.contains("$ARGUMENTS")
        || body.split('$').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let arguments = document.arguments.iter().filter(|_| !positional);
    let declared = document.parameters.iter().map(|parameter| &parameter.name).chain(arguments);
    let scopes: String = scopes(document).collect();
    let words = fold(body);
    for name in declared {
        let mentioned = !fold(name).is_empty()
            && (has_word(&words, &fold(name)) || scopes.contains(&format!("${{{name}}}")));
        if !mentioned && !outline.prose.is_empty() {
            let message = format!("the body never mentions the parameter `{name}`");
            report.whole(Code::ParameterUnused, message);
        }
    }
}

/// Lower case, with one separator for all that names are written with.
fn fold(text: &str) -> String {
    text.chars()
        .map(|c| if matches!(c, '-' | '_') { ' ' } else { c.to_ascii_lowercase() })
        .collect()
}

fn has_word(text: &str, word: &str) -> bool {
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|after| after.chars().next());
        // A plural is a mention.
        let after = after.filter(|c| *c != 's');
        !inside(before) && !inside(after)
    })
}

fn scopes(document: &Document) -> impl Iterator<Item = &str> {
    let permissions = &document.permissions;
    let paths = permissions.read.iter().chain(&permissions.write).flat_map(|scope| &scope.paths);
    let domains = permissions.network.iter().flat_map(|scope| &scope.domains);
    paths.chain(domains).chain(&permissions.execute).map(String::as_str)
}

/// `${name}` without a parameter of that name: in permissions always, in the body only where the
/// skill declares names at all, because there it may belong to a script or to a template.
fn placeholders(document: &Document, outline: &Outline, report: &mut Report<'_>) {
    let declared: BTreeSet<&str> = document
        .parameters
        .iter()
        .map(|parameter| parameter.name.as_str())
        .chain(document.arguments.iter().map(String::as_str))
        .collect();
    let unknown = |name: &str| !declared.contains(name) && !stands_in_scopes(name);
    let mut told = BTreeSet::new();
    for (_, name) in scopes(document).flat_map(braced) {
        if unknown(name) && told.insert(name) {
            let message = format!("`${{{name}}}` in `permissions` is no parameter");
            report.whole(Code::PlaceholderUnknown, message);
        }
    }
    if declared.is_empty() {
        return;
    }
    for piece in outline.words() {
        for (offset, token, name) in tokens(&piece.text) {
            // A longer name may begin with a declared one: `$towns` is `$town` and an s.
            let filled =
                !token.starts_with("${") && declared.iter().any(|known| name.starts_with(known));
            if filled || !unknown(name) || OF_SHELLS.contains(&name) || !told.insert(name) {
                continue;
            }
            // Markup moves places; what is not shown need not be found.
            let rest = report.body.get(piece.at..).filter(|_| told.len() <= SHOWN);
            let at = rest.and_then(|rest| rest.find(token)).unwrap_or(offset);
            report.body(
                Code::PlaceholderUnknown,
                piece.at + at,
                format!("`{token}` is no parameter"),
            );
        }
    }
}

/// `$name` and `${name}` outside code: where they begin, as written, and the name.
fn tokens(text: &str) -> impl Iterator<Item = (usize, &str, &str)> {
    let mut code = false;
    let mut done = 0;
    text.match_indices('$').filter_map(move |(at, _)| {
        let before = text.get(done..at)?;
        code ^= before.matches('`').count() % 2 == 1;
        done = at;
        let rest = text.get(at + 1..)?;
        let (open, inside) = match rest.strip_prefix('{') {
            Some(inside) => (true, inside),
            None => (false, rest),
        };
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let name = inside.get(..inside.find(|c| !plain(c)).unwrap_or(inside.len()))?;
        let after = inside.get(name.len()..)?.chars().next();
        let whole = if open {
            after == Some('}')
        } else {
            after.is_none_or(|c| !c.is_ascii_alphanumeric())
        };
        let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
        let length = 1 + name.len() + if open { 2 } else { 0 };
        (!code && whole && begins).then_some((at, text.get(at..at + length)?, name))
    })
}

/// The names in `${…}`, and where they begin.
fn braced(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices("${").filter_map(|(at, mark)| {
        let rest = text.get(at + mark.len()..)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let end = rest.find(|c: char| !plain(c))?;
        let name = rest.get(..end)?;
        (!name.is_empty() && rest.get(end..)?.starts_with('}')).then_some((at, name))
    })
}

fn tools(document: &Document, report: &mut Report<'_>) {
    let lists = [
        ("allowed-tools", &document.allowed_tools),
        ("disallowed-tools", &document.disallowed_tools),
        ("permissions.tools", &document.permissions.tools),
    ];
    for (key, patterns) in lists {
        for pattern in patterns.iter().filter(|pattern| !is_tool_pattern(pattern)) {
            let message = format!("`{pattern}` in `{key}` has no form of a tool");
            report.whole(Code::ToolPattern, message);
        }
    }
}

/// `Name`, `Name(anything)`, `server/tool`, `mcp__server__tool`, each with `*` anywhere.
fn is_tool_pattern(pattern: &str) -> bool {
    let (name, rule) = match pattern.split_once('(') {
        Some((name, rest)) => match rest.strip_suffix(')') {
            Some(rule) => (name, Some(rule)),
            None => return false,
        },
        None => (pattern, None),
    };
    let letter =
        |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | '*' | '?');
    name.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '*'))
        && name.chars().all(letter)
        && rule.is_none_or(|rule| !rule.trim().is_empty())
}
