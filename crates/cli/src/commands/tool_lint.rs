//! `concertina tool lint`.

use std::collections::BTreeMap;
use std::sync::Arc;

use concertina_core::catalog::ToolEntry;
use concertina_format::lint::{Synonyms, Tool, lint_tools, synonyms};
use serde_json::{Value, json};

use crate::args::PlaceArgs;
use crate::error::CliError;
use crate::output::{Output, count};
use crate::place;

/// What helps where two tools are easily mistaken for each other.
const HELP: &str = "keep one: deny the other in [policy], pin the better one with `pinned` in [menu], \
                    or switch a server off with `disabled = true`";

/// Tools with their schemas as values, to be compared.
pub(super) struct Compared<'a> {
    tools: &'a [Arc<ToolEntry>],
    schemas: Vec<Value>,
}

impl<'a> Compared<'a> {
    pub(super) fn new(tools: &'a [Arc<ToolEntry>]) -> Self {
        let schemas = tools.iter().map(|tool| tool.parameters.value()).collect();
        Self { tools, schemas }
    }

    fn described(&self) -> Vec<Tool<'_>> {
        let each = self.tools.iter().zip(&self.schemas);
        each.map(|(tool, schema)| Tool {
            name: tool.name.as_str(),
            // A tool of the settings is told apart by its group, as one of a server by that.
            server: tool.server.as_deref().or_else(|| tool.name.group()).unwrap_or_default(),
            own: match (&tool.server, tool.name.as_str().rsplit_once('/')) {
                (None, Some((_, own))) => own,
                _ => tool.name_on_server(),
            },
            description: &tool.description,
            schema,
        })
        .collect()
    }

    fn name(&self, at: usize) -> &'a str {
        self.tools.get(at).map_or("?", |tool| tool.name.as_str())
    }

    /// Tools for which an earlier one stands, with that one and the score.
    pub(super) fn doubles(&self) -> BTreeMap<&'a str, (&'a str, f64)> {
        let mut doubles: BTreeMap<&str, (&str, f64)> = BTreeMap::new();
        for Synonyms { first, second, score, .. } in synonyms(&self.described()) {
            // Whatever is left out itself stands for nothing.
            if !doubles.contains_key(self.name(first)) {
                doubles.entry(self.name(second)).or_insert((self.name(first), score));
            }
        }
        doubles
    }
}

pub(super) fn run(place: &PlaceArgs, out: &mut Output) -> Result<u8, CliError> {
    let (_, session) = place::passing(place, None, out)?;
    let compared = Compared::new(&session.snapshot().tools);
    let tools = compared.described();
    let (pairs, findings) = (synonyms(&tools), lint_tools(&tools));
    let exit = u8::from(!pairs.is_empty() || !findings.is_empty());
    if out.is_json() {
        let shown: Vec<Value> = pairs
            .iter()
            .map(|pair| {
                json!({
                    "first": compared.name(pair.first), "second": compared.name(pair.second),
                    "score": pair.score, "why": pair.why, "help": HELP,
                })
            })
            .collect();
        let summary =
            json!({"tools": tools.len(), "pairs": pairs.len(), "findings": findings.len()});
        out.json(&json!({"pairs": shown, "findings": findings, "summary": summary}))?;
        return Ok(exit);
    }
    for pair in &pairs {
        let (first, second) = (compared.name(pair.first), compared.name(pair.second));
        out.line(format!("tool:{first} and tool:{second} are easily mistaken for each other"))?;
        out.line(format!("  score {:.2} of 1: {}", pair.score, pair.why))?;
    }
    if !pairs.is_empty() {
        out.line(format!("  help: {HELP} [SIMILAR_TOOLS]"))?;
    }
    for found in &findings {
        out.line(format!("tool:{}: {}", found.tool, found.message))?;
        out.line(format!("  help: {} [{}]", found.help, found.code))?;
    }
    let (tools, pairs) = (count(tools.len(), "tool"), count(pairs.len(), "pair"));
    out.say(format!("{tools}, {pairs}, {}", count(findings.len(), "finding")));
    Ok(exit)
}
