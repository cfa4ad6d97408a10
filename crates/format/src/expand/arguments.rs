//! The arguments of a call, ready to be asked for.

use concertina_types::canonical_json;
use serde_json::Value;

use super::markdown::{Kind, Part};
use super::scan::{continues, escapes};
use super::words::{quote_word, split_words};
use super::{Expansion, Profile};

/// The arguments of a call, in the three ways a token can ask for them.
pub(super) struct Arguments {
    /// `$ARGUMENTS`.
    pub(super) whole: String,
    /// `$N`.
    pub(super) positions: Vec<String>,
    /// `$name`, longest name first.
    pub(super) named: Vec<(String, String)>,
    /// Whether anything was passed.
    pub(super) passed: bool,
    /// Whether `$N` is a token at all.
    pub(super) positional: bool,
}

impl Arguments {
    pub(super) fn new(body: &str, parts: &[Part], request: &Expansion<'_>) -> Self {
        let declared = request.argument_names;
        let given = |name: &String| request.arguments.get(name).map(text_of);
        let positions = match request.raw_arguments {
            Some(raw) => split_words(raw),
            // Named arguments take the places their file declares, up to the first one missing.
            None => declared.iter().map_while(given).collect(),
        };
        let all_placed = request
            .arguments
            .keys()
            .all(|name| declared.iter().take(positions.len()).any(|n| n == name));
        let whole = match request.raw_arguments {
            Some(raw) => raw.to_owned(),
            None if request.arguments.is_empty() => String::new(),
            None if all_placed => {
                positions.iter().map(|word| quote_word(word)).collect::<Vec<_>>().join(" ")
            }
            None => canonical_json(&request.arguments.clone().into_iter().collect()),
        };
        let mut named: Vec<(String, String)> = declared
            .iter()
            .enumerate()
            .map(|(at, name)| {
                let value = given(name).or_else(|| positions.get(at).cloned());
                (name.clone(), value.unwrap_or_default())
            })
            .chain(request.arguments.iter().map(|(name, value)| (name.clone(), text_of(value))))
            .filter(|(name, _)| !name.is_empty())
            .collect();
        named.sort_by(|(a, _), (b, _)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        named.dedup_by(|(a, _), (b, _)| a == b);
        let passed = request.raw_arguments.is_some_and(|raw| !raw.trim().is_empty())
            || !request.arguments.is_empty();
        let positional = match request.profile {
            Profile::Claude => passed,
            Profile::Safe => request.opted_in || uses_arguments(body, parts),
        };
        Self { whole, positions, named, passed, positional }
    }
}

/// Whether `$ARGUMENTS` stands outside code, unescaped.
fn uses_arguments(body: &str, parts: &[Part]) -> bool {
    parts.iter().filter(|part| part.kind == Kind::Prose).any(|part| {
        let text = body.get(part.range.clone()).unwrap_or_default();
        text.match_indices("$ARGUMENTS").any(|(at, token)| {
            let (before, after) = (text.get(..at), text.get(at + token.len()..));
            !before.is_some_and(escapes) && !after.is_some_and(continues)
        })
    })
}

/// A value as it stands in a text: a string as it is, anything else as JSON.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => canonical_json(other),
    }
}
