//! A model that says what a file tells it to: no network, no key, the same every time.
//!
//! The format is `script/v1`:
//!
//! ```json
//! {"script": "v1", "label": "orders", "dialogues": [
//!   {"when": ["orders"], "turns": [
//!     {"calls": [{"name": "open", "arguments": {"ref": "skill:sales"}}]},
//!     {"say": "There are ${last.rows} orders."}]}]}
//! ```
//!
//! - The first dialogue is taken whose `when` words all occur in the latest task, capitals or not.
//!   Without `when` it is for every task.
//! - The turn is the number of replies since that task.
//! - `say` may hold `${last.text}`, the text of the last result, and `${last.rows}`, the number of
//!   `rows` in it where it is JSON. What is put in is not looked at again.
//! - `arguments` is an object, or a text that is sent as it is, for what models get wrong.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use concertina_core::session::{Message, Part, View};
use concertina_types::ModelCall;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{Model, ModelError, Reply, Stop, call_id, free_call_number};

/// One script, in bytes: a hand-written dialogue is far below, and a wrong file is not read whole.
const SCRIPT_BYTES: u64 = 4 * 1024 * 1024;

/// A model that follows a script.
#[derive(Debug)]
pub struct Script {
    name: String,
    path: String,
    dialogues: Vec<Dialogue>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptFile {
    script: Version,
    #[serde(default)]
    label: Option<String>,
    dialogues: Vec<Dialogue>,
}

#[derive(Debug, Deserialize)]
enum Version {
    #[serde(rename = "v1")]
    V1,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Dialogue {
    #[serde(default)]
    when: Vec<String>,
    turns: Vec<Turn>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Turn {
    #[serde(default)]
    say: Say,
    #[serde(default)]
    calls: Vec<Call>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    name: String,
    #[serde(default = "no_arguments", deserialize_with = "arguments")]
    arguments: String,
}

const KEYS: [&str; 9] =
    ["script", "label", "dialogues", "when", "turns", "say", "calls", "name", "arguments"];

fn no_arguments() -> String {
    "{}".to_owned()
}

fn arguments<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) => Ok(text),
        object @ Value::Object(_) => Ok(object.to_string()),
        _ => Err(serde::de::Error::custom(
            "`arguments` must be an object, or a text that is sent as it is",
        )),
    }
}

/// What a turn says, read once: text and the places where values go.
#[derive(Debug, Default)]
struct Say(Vec<Piece>);

#[derive(Debug)]
enum Piece {
    Text(String),
    LastText,
    LastRows,
}

const LAST_TEXT: &str = "${last.text}";
const LAST_ROWS: &str = "${last.rows}";

impl<'de> Deserialize<'de> for Say {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut pieces = Vec::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once("${last.") {
            let (value, after) = after.split_once('}').ok_or_else(|| {
                serde::de::Error::custom("`${last.` in `say` is not closed by `}`")
            })?;
            pieces.push(Piece::Text(before.to_owned()));
            pieces.push(match value {
                "text" => Piece::LastText,
                "rows" => Piece::LastRows,
                _ => {
                    return Err(serde::de::Error::custom(format_args!(
                        "`${{last.{value}}}` in `say` is not known; \
                         there are {LAST_TEXT} and {LAST_ROWS}"
                    )));
                }
            });
            rest = after;
        }
        pieces.push(Piece::Text(rest.to_owned()));
        Ok(Self(pieces))
    }
}

impl Script {
    /// Reads a script from a file.
    pub fn read(path: &Path) -> Result<Self, ModelError> {
        let unreadable = |reason: String| ModelError::ScriptUnreadable {
            path: path.display().to_string(),
            reason,
        };
        let mut bytes = Vec::new();
        File::open(path)
            .and_then(|file| file.take(SCRIPT_BYTES + 1).read_to_end(&mut bytes))
            .map_err(|e| unreadable(e.to_string()))?;
        if bytes.len() as u64 > SCRIPT_BYTES {
            return Err(unreadable(format!("it is larger than {SCRIPT_BYTES} bytes")));
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        Self::parse(&bytes, &path.display().to_string(), &stem)
    }

    /// Takes `bytes` as a script; `path` stands in errors, `fallback` names it where `label` is
    /// missing.
    pub fn parse(bytes: &[u8], path: &str, fallback: &str) -> Result<Self, ModelError> {
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        let file: ScriptFile =
            serde_json::from_slice(bytes).map_err(|e| ModelError::ScriptInvalid {
                path: path.to_owned(),
                line: e.line().max(1),
                column: e.column().max(1),
                reason: reason(&e),
            })?;
        let Version::V1 = file.script;
        let label = file.label.filter(|label| !label.trim().is_empty());
        Ok(Self {
            name: format!("scripted:{}", label.as_deref().unwrap_or(fallback)),
            path: path.to_owned(),
            dialogues: file.dialogues,
        })
    }

    fn answer(&self, view: &View) -> Result<Reply, ModelError> {
        let task = Task::latest(view);
        let no_dialogue = || ModelError::ScriptNoDialogue {
            path: self.path.clone(),
            task: task.text.chars().take(80).collect(),
        };
        let folded = task.text.to_lowercase();
        let fits = |dialogue: &Dialogue| {
            dialogue.when.iter().all(|word| folded.contains(&word.to_lowercase()))
        };
        let (at, dialogue) = self
            .dialogues
            .iter()
            .enumerate()
            .find(|(_, dialogue)| fits(dialogue))
            .ok_or_else(no_dialogue)?;
        let turn = dialogue.turns.get(task.replies).ok_or_else(|| ModelError::ScriptExhausted {
            path: self.path.clone(),
            dialogue: at + 1,
            turns: dialogue.turns.len(),
            turn: task.replies + 1,
        })?;
        let missing = |value: &str, reason: &str| ModelError::ScriptValueMissing {
            path: self.path.clone(),
            dialogue: at + 1,
            turn: task.replies + 1,
            value: value.to_owned(),
            reason: reason.to_owned(),
        };
        let mut text = String::new();
        for piece in &turn.say.0 {
            match piece {
                Piece::Text(piece) => text.push_str(piece),
                Piece::LastText => {
                    text.push_str(
                        &task
                            .result
                            .clone()
                            .ok_or_else(|| missing(LAST_TEXT, "the task has no result yet"))?,
                    );
                }
                Piece::LastRows => {
                    let result = task.result.as_deref().unwrap_or_default();
                    let rows = rows(result).ok_or_else(|| {
                        missing(LAST_ROWS, "the last result is not JSON with a list of `rows`")
                    })?;
                    text.push_str(&rows.to_string());
                }
            }
        }
        let calls = (free_call_number(view)..)
            .zip(&turn.calls)
            .map(|(number, call)| ModelCall {
                id: call_id(number),
                name: call.name.clone(),
                arguments: call.arguments.clone(),
            })
            .collect::<Vec<_>>();
        let stop = if calls.is_empty() { Stop::Finished } else { Stop::Calls };
        Ok(Reply { text, calls, usage: None, stop })
    }
}

impl Model for Script {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_scripted(&self) -> bool {
        true
    }

    fn reply<'a>(
        &'a self,
        view: &'a View,
        on_text: &'a mut (dyn FnMut(&str) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let reply = self.answer(view)?;
            reply.text.split_inclusive(char::is_whitespace).for_each(on_text);
            Ok(reply)
        })
    }
}

/// The latest task, and what came of it so far.
struct Task {
    text: String,
    replies: usize,
    result: Option<Arc<str>>,
}

impl Task {
    fn latest(view: &View) -> Self {
        let mut task = Self { text: String::new(), replies: 0, result: None };
        for message in &view.messages {
            match message {
                Message::User { blocks } => {
                    let said = blocks
                        .iter()
                        .filter(|block| block.part == Part::Conversation)
                        .map(|block| &*block.text)
                        .collect::<Vec<_>>();
                    // Messages of other parts alone (a changed index, say) are no new task.
                    if !said.is_empty() {
                        task = Self { text: said.join("\n\n"), replies: 0, result: None };
                    }
                }
                Message::Assistant { .. } => task.replies += 1,
                Message::Tool { block, .. } => task.result = Some(Arc::clone(&block.text)),
            }
        }
        task
    }
}

/// The number of `rows` in a result: the whole of it, or the first JSON object that begins a line,
/// because notes stand before the data.
fn rows(result: &str) -> Option<usize> {
    #[derive(Deserialize)]
    struct Rows {
        rows: Vec<serde::de::IgnoredAny>,
    }
    let mut at = 0;
    for line in result.split_inclusive('\n') {
        if line.trim_start().starts_with('{') {
            let tail = result.get(at..)?;
            let first = serde_json::Deserializer::from_str(tail).into_iter::<Rows>().next()?;
            return first.ok().map(|found| found.rows.len());
        }
        at += line.len();
    }
    None
}

/// What serde says, without the position that stands before it, and with the key that was meant.
fn reason(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let said = said.rsplit_once(" at line ").map_or(said.as_str(), |(said, _)| said);
    let unknown = said.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`'));
    match unknown.and_then(|(key, _)| nearest(key, &KEYS)) {
        Some(near) => format!("{said}; perhaps `{near}` was meant"),
        None => said.chars().take(300).collect(),
    }
}

/// The known word that `word` was meant to be: at most a third of its letters differ.
pub(super) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    // Longer words are no typing mistakes, and the comparison is quadratic.
    let word = Some(word).filter(|word| word.len() <= 64)?.to_lowercase();
    let allowed = (word.chars().count() / 3).max(1);
    known
        .iter()
        .map(|&candidate| (strsim::osa_distance(&word, candidate), candidate))
        .filter(|&(distance, _)| distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}
