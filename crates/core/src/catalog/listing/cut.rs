//! Text made fit for one line of a certain length.

use crate::catalog::sentences::{is_negative, negative_clause, sentences};

/// Text from a skill or a tool, made unable to close or open a block, on one line.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut blank = false;
    for c in text.trim().chars() {
        if c.is_whitespace() || c.is_control() {
            blank = true;
            continue;
        }
        if std::mem::take(&mut blank) {
            out.push(' ');
        }
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

/// `text` escaped, and cut to `room` characters by sentence; the flag says whether anything was
/// lost. Sentences that say what something is not for are lost last.
pub(super) fn shorten(text: &str, room: usize) -> (String, bool) {
    let whole = escape(text);
    if whole.chars().count() <= room {
        return (whole, false);
    }
    let all: Vec<&str> = sentences(text).collect();
    let escaped: Vec<String> = all.iter().map(|sentence| escape(sentence)).collect();
    let essential = |i: usize| i == 0 || all.get(i).is_some_and(|sentence| is_negative(sentence));
    let length = |sentence: &String| sentence.chars().count() + 1;
    let needed: usize =
        escaped.iter().enumerate().filter(|(i, _)| essential(*i)).map(|(_, s)| length(s)).sum();
    let Some(mut left) = room.checked_sub(needed + 1) else {
        let negative: Vec<&str> = escaped
            .iter()
            .enumerate()
            .filter(|(i, _)| *i > 0 && essential(*i))
            .map(|(_, sentence)| sentence.as_str())
            .collect();
        let negative = cut(&negative.join(" "), room / 2);
        let gap = usize::from(!negative.is_empty());
        let first_room = room.saturating_sub(negative.chars().count() + gap);
        let first = around_negative(all.first().copied().unwrap_or_default(), first_room);
        let joined = if gap == 0 { first } else { format!("{first} {negative}") };
        let joined = if joined.contains('…') { joined } else { mark_cut(joined, room) };
        return (joined, true);
    };
    let mut kept = Vec::new();
    for (i, sentence) in escaped.iter().enumerate() {
        if essential(i) {
            kept.push(sentence.as_str());
        } else if length(sentence) <= left {
            left -= length(sentence);
            kept.push(sentence);
        }
    }
    (mark_cut(kept.join(" "), room), true)
}

/// One sentence, escaped and cut to `room` characters so that its negative clause stays.
fn around_negative(sentence: &str, room: usize) -> String {
    let whole = escape(sentence);
    if whole.chars().count() <= room {
        return whole;
    }
    let Some((head, clause)) = negative_clause(sentence) else { return cut(&whole, room) };
    let clause = cut(&escape(clause), room / 2);
    let head = cut(&escape(head), room.saturating_sub(clause.chars().count() + 1));
    format!("{head} {clause}")
}

/// Ends `text` with the sign that something is missing.
pub(super) fn mark_cut(mut text: String, room: usize) -> String {
    if text.chars().count() < room {
        text.push('…');
        return text;
    }
    cut(&text, room)
}

/// Cuts escaped text to `room` characters, at a blank where one is near, and marks the cut. An escape
/// such as `&lt;` is never split.
pub(crate) fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let mut kept: String = text.chars().take(room.saturating_sub(1)).collect();
    if let Some(at) =
        kept.rfind('&').filter(|at| !kept.get(*at..).unwrap_or_default().contains(';'))
    {
        kept.truncate(at);
    }
    if let Some(at) = kept.rfind(' ').filter(|at| kept.len() - at <= 24) {
        kept.truncate(at);
    }
    let mut kept = kept.trim_end().to_owned();
    if room > 0 {
        kept.push('…');
    }
    kept
}
