//! A run as a person follows it.

use std::path::Path;

use concertina_core::catalog::Snapshot;
use concertina_core::session::{Part, TurnReport};
use concertina_runtime::agent::{Moment, Observer};
use concertina_runtime::llm::Model;
use concertina_types::{ModelCall, SessionId, Tokens};
use serde_json::{Map, Value};

use crate::output::{COLUMNS, Output, clip, count, table, told};

/// Columns that what follows a label takes at most.
const WIDTH: usize = COLUMNS - 9;

/// Writes what happens, as it happens.
pub(crate) struct Transcript<'a> {
    out: &'a mut Output,
    /// Whether the model's text is in the middle of a line.
    speaking: bool,
    turn: u32,
}

impl<'a> Transcript<'a> {
    pub(crate) fn new(out: &'a mut Output) -> Self {
        Self { out, speaking: false, turn: 0 }
    }

    pub(crate) fn heading(
        &mut self,
        directory: Option<&Path>,
        model: &dyn Model,
        session: &SessionId,
        snapshot: &Snapshot,
    ) {
        if let Some(directory) = directory {
            let (skills, tools) =
                (count(snapshot.skills.len(), "skill"), count(snapshot.tools.len(), "tool"));
            self.line(&format!("in       {} ({skills}, {tools})", directory.display()));
        }
        self.line(&format!("model    {}", model.name()));
        if model.is_scripted() {
            self.line("         its words are read from a file; everything else here is real");
        }
        self.line(&format!("session  {session}"));
    }

    fn line(&mut self, text: &str) {
        // A reader that went away is noticed when the results are written.
        let _ = self.out.lines(text);
    }

    /// Ends a line that the model was in the middle of.
    pub(crate) fn end_speech(&mut self) {
        if std::mem::take(&mut self.speaking) {
            self.line("");
        }
    }
}

impl Observer for Transcript<'_> {
    fn on(&mut self, moment: Moment<'_>) {
        match moment {
            Moment::Task(task) => self.line(&format!("task     {}", clip(task, WIDTH))),
            Moment::Turn { turn } => self.turn = turn,
            Moment::Asked { tokens, preloaded } => {
                let total = tokens.get("total").copied().unwrap_or_default();
                let turn = self.turn;
                self.line(&format!("\n\u{1b}[1mturn {turn}\u{1b}[0m   {total} tokens (everything preloaded: {preloaded})"));
            }
            Moment::Text(text) => {
                if !self.speaking {
                    let _ = self.out.raw("  says   ");
                    self.speaking = true;
                }
                let _ = self.out.raw(&told(text).replace('\n', "\n         "));
            }
            Moment::Answered { call, answer } => {
                self.line(&format!("  {:<6} {}", told(&call.name), clip(&asked(call), WIDTH)));
                let lines: Vec<&str> = answer.text.lines().collect();
                // An answer is shown in its first lines; the session keeps all of it.
                let mark = if answer.error { "\u{1b}[31m" } else { "\u{1b}[2m" };
                for line in lines.iter().take(6) {
                    self.line(&format!("         {mark}{}\u{1b}[0m", clip(line, WIDTH)));
                }
                if lines.len() > 6 {
                    self.line(&format!(
                        "         \u{1b}[2m… {}\u{1b}[0m",
                        count(lines.len() - 6, "more line")
                    ));
                }
            }
            Moment::Forked { child, skill } => {
                self.line(&format!("  fork   skill:{skill} runs apart, in session {child}"));
            }
            Moment::Folded => self.line("  fold   the conversation was folded to make room"),
            Moment::Said { .. } | Moment::Finished(_) => self.end_speech(),
        }
    }
}

/// A call's arguments as a person would say them.
fn asked(call: &ModelCall) -> String {
    let parsed: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    let text = |name: &str| parsed.get(name).and_then(Value::as_str).map(str::to_owned);
    let rest = |name: &str| match parsed.get(name) {
        Some(Value::Object(map)) if !map.is_empty() => format!(" {}", Value::Object(map.clone())),
        _ => String::new(),
    };
    match call.name.as_str() {
        "find" => text("query"),
        "open" => text("ref").map(|reference| reference + &rest("args")),
        "call" => text("tool").map(|tool| tool + &rest("args")),
        "close" => text("ref"),
        _ => None,
    }
    .unwrap_or_else(|| call.arguments.clone())
}

/// One line a turn: what it disclosed, and what its request took.
pub(crate) fn turn_table(turns: &[TurnReport]) -> String {
    let mut rows = vec![["turn", "disclosed"].map(str::to_owned).to_vec()];
    let asked = turns.iter().any(|turn| turn.preloaded.is_some());
    let parts: Vec<&str> = if asked {
        Part::ALL.iter().map(|part| part.name()).collect()
    } else {
        vec!["index", "skills", "answers"]
    };
    if let Some(heading) = rows.first_mut() {
        heading.extend(parts.iter().map(|part| short(part).to_owned()));
        heading.push("total".to_owned());
        if asked {
            heading.push("preloaded".to_owned());
        }
    }
    for turn in turns {
        let disclosed: Vec<&str> =
            [&turn.disclosed.skills, &turn.disclosed.tools, &turn.disclosed.evidence]
                .into_iter()
                .flatten()
                .map(String::as_str)
                .collect();
        let disclosed =
            if disclosed.is_empty() { "-".to_owned() } else { clip(&disclosed.join(", "), 40) };
        let tokens =
            |name: &str| turn.tokens.get(name).copied().unwrap_or(Tokens::ZERO).to_string();
        let mut row = vec![turn.turn.to_string(), disclosed];
        row.extend(parts.iter().map(|part| tokens(part)));
        row.push(tokens("total"));
        if asked {
            row.push(turn.preloaded.map_or(String::new(), |tokens| tokens.to_string()));
        }
        rows.push(row);
    }
    let numbers: Vec<usize> = (0..rows.first().map_or(0, Vec::len)).filter(|at| *at != 1).collect();
    table(&rows, &numbers)
}

/// A heading that does not make its column wider than its numbers.
fn short(part: &str) -> &str {
    match part {
        "mechanism" => "words",
        "conversation" => "talk",
        other => other,
    }
}

/// The rows of a query's result.
pub(crate) struct Rows {
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
}

impl Rows {
    /// The rows in the result of a query; none where the text is something else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        let columns = value.get("columns")?.as_array()?;
        let columns =
            columns.iter().map(|name| name.as_str().map(str::to_owned)).collect::<Option<_>>()?;
        let rows = value.get("rows")?.as_array()?;
        let rows = rows.iter().map(|row| row.as_array().cloned()).collect::<Option<_>>()?;
        Some(Self { columns, rows })
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// One object a row.
    pub(crate) fn objects(&self) -> Value {
        let object = |row: &Vec<Value>| {
            let cells = self.columns.iter().cloned().zip(row.iter().cloned());
            Value::Object(cells.collect::<Map<_, _>>())
        };
        Value::Array(self.rows.iter().map(object).collect())
    }

    pub(crate) fn table(&self) -> String {
        let cell = |value: &Value| match value {
            Value::String(text) => clip(text, 40),
            Value::Null => "-".to_owned(),
            other => other.to_string(),
        };
        let mut rows = vec![self.columns.clone()];
        rows.extend(self.rows.iter().map(|row| row.iter().map(cell).collect()));
        let is_number =
            |at: usize| self.rows.iter().all(|row| row.get(at).is_some_and(Value::is_number));
        let numbers: Vec<usize> = (0..self.columns.len()).filter(|at| is_number(*at)).collect();
        table(&rows, &numbers)
    }
}
