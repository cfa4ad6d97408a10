//! The picture for Mermaid.
//!
//! Mermaid draws every transition of a state diagram as a solid line, so what is not an exit says so in its label.

use std::fmt::Write as _;

use concertina_format::procedure::Procedure;

use super::{Kind, ending, ways};

pub(super) fn draw(procedure: &Procedure) -> String {
    let mut text = format!(
        "---\ntitle: {}\n---\nstateDiagram-v2\n    direction TB\n",
        serde_json::Value::from(procedure.name.as_str())
    );
    // Writing to a text cannot fail.
    for (at, state) in procedure.states.iter().enumerate() {
        let _ = writeln!(text, "    state \"{}\" as s{at}", escaped(&state.name));
        for shown in &state.show.tools {
            let tool = escaped(&shown.tool);
            let _ = match &shown.when {
                None => writeln!(text, "    s{at} : {tool}"),
                Some(when) => {
                    writeln!(text, "    s{at} : 🔒 {tool} when {}", escaped(&when.to_string()))
                }
            };
        }
        if state.is_final && (state.needs.is_some() || state.then.is_some()) {
            let _ = writeln!(text, "    s{at} : {}", escaped(&ending(state)));
        }
    }
    text.push_str("    [*] --> s0\n");
    for (at, state) in procedure.states.iter().enumerate() {
        for way in ways(procedure, state) {
            let mark = match way.kind {
                Kind::Next => "",
                Kind::Fail => "✗ ",
                Kind::Stale => "↺ ",
            };
            let _ = writeln!(text, "    s{at} --> s{} : {mark}{}", way.to, escaped(&way.when));
        }
        if state.is_final {
            let _ = writeln!(text, "    s{at} --> [*]");
        }
    }
    text
}

/// `text` as Mermaid reads it back, whatever stands in it.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '#' | ';' | ':' | '"' | '<' | '>' | '{' | '}' | '[' | ']' | '%' | '`' | '\\' => {
                let _ = write!(escaped, "#{};", u32::from(c));
            }
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}
