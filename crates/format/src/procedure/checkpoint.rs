//! Checkpoints: what can be proven, and by what.

use std::collections::BTreeMap;

use concertina_types::FieldValue;
use serde_json::Value;

use super::document::{Age, Checkpoint, Issuer};
use super::expect::{Compare, Condition, NUMBERS, is_beyond};
use super::keys::{Keys, twice, wrong};
use super::read::Reader;
use crate::results::{JsonPath, ResultParser};
use crate::yaml::{Entry, Kind, Node, Style};

/// Keys that are about what a tool does and produces.
const OF_TOOLS: [&str; 4] = ["parse", "from", "args", "writes"];

impl Reader<'_, '_> {
    /// What one entry of `checkpoints` says.
    pub(super) fn checkpoint(&mut self, entry: &Entry) -> Option<Checkpoint> {
        let place = format!("checkpoint `{}`", entry.key);
        let mut keys = Keys::open(&entry.value, place.as_str(), self.findings)?;
        let mut issuers = Vec::new();
        let parse = keys.get("parse").map_or(Some(ResultParser::Exit), |node| self.parser(node));
        let is_parsed = parse.is_some();
        let from = keys.text("from", self.findings).map(str::to_owned);
        if let (Some(from), Some(at)) = (&from, keys.place_of("from")) {
            self.inside(from, at, &format!("`from` of {place}"));
        }
        let args = keys.get("args");
        if let Some(tool) = keys.text("tool", self.findings) {
            self.outer_name(tool, entry.at, "tool");
            let args = args.map(|node| self.arguments(node, &place)).unwrap_or_default();
            if !is_parsed {
                self.unread.push(tool.to_owned());
            }
            let (tool, from) = (tool.to_owned(), from.clone());
            issuers.push(Issuer::Tool {
                tool,
                args,
                parse: parse.clone().unwrap_or(ResultParser::Exit),
                from,
            });
        }
        if let Some(node) = keys.get("webhook")
            && let Some(mut inner) =
                Keys::open(node, format!("the webhook of {place}"), self.findings)
        {
            let key = inner.needed("key", self.findings).unwrap_or_default().to_owned();
            issuers.push(Issuer::Webhook { key });
            inner.close(self.findings);
        }
        let mut ttl = None;
        if let Some(node) = keys.get("human")
            && let Some(mut inner) =
                Keys::open(node, format!("the human of {place}"), self.findings)
        {
            let role = inner.text("role", self.findings).unwrap_or("person").to_owned();
            let challenge = inner.needed("challenge", self.findings).unwrap_or_default().to_owned();
            ttl = inner.get("ttl").and_then(|node| self.age(node));
            self.placeholders(&challenge, node.span.start, &place);
            issuers.push(Issuer::Human { role, challenge });
            inner.close(self.findings);
        }
        let mut expect =
            keys.get("expect").map(|node| self.expect(node, &place)).unwrap_or_default();
        let binds = match keys.text("binds", self.findings) {
            None => false,
            Some("workspace") => true,
            Some(other) => {
                let known = std::iter::once("workspace");
                self.findings.unknown(
                    "UNKNOWN_INPUT",
                    entry.at,
                    "thing to be bound to",
                    other,
                    known,
                );
                false
            }
        };
        let max_age = keys.get("max_age").and_then(|node| self.age(node));
        if let (Some(_), Some(_), Some(at)) = (ttl, max_age, keys.place_of("max_age")) {
            let message = format!("`ttl` and `max_age` of {place} say the same");
            self.findings.error("DUPLICATE", at, message, "keep one of them");
        }
        let max_age = max_age.or(ttl);
        let writes = keys.texts("writes", self.findings).unwrap_or_default();
        let (writes, everything) = self.globs(writes, &format!("`writes` of {place}"));
        if let Some(at) = everything.filter(|_| binds) {
            let message =
                format!("{place} is bound to files, and all of them may change meanwhile");
            let help = "let `writes` name what the tool leaves behind and nothing else";
            self.findings.warning("NOTHING_BOUND", at, message, help);
        }
        if matches!(issuers.as_slice(), [Issuer::Webhook { .. } | Issuer::Human { .. }]) {
            for key in OF_TOOLS {
                let Some(at) = keys.place_of(key) else { continue };
                let message = format!("`{key}` means nothing in {place}, which no tool proves");
                self.findings.error("UNKNOWN_KEY", at, message, format!("remove `{key}`"));
            }
        }
        keys.close(self.findings);
        let issuer = match (issuers.pop(), issuers.is_empty()) {
            (Some(issuer), true) => issuer,
            (None, _) => {
                let message = format!("{place} has nothing that could prove it");
                let help = "name what can: `tool: NAME`, `webhook: {key: …}` or `human: {role: …, challenge: …}`";
                self.findings.error("NO_ISSUER", entry.at, message, help);
                return None;
            }
            (Some(_), false) => {
                let message = format!("{place} names several things that could prove it");
                let help = "keep one; two checkpoints joined by `||` in a guard say the same";
                self.findings.error("TWO_ISSUERS", entry.at, message, help);
                return None;
            }
        };
        match &issuer {
            Issuer::Tool { parse, .. } => {
                if expect.is_empty() {
                    let (field, compare) = ("exit".to_owned(), Compare::Equal);
                    expect.push(Condition { field, compare, value: FieldValue::Number(0) });
                }
                if is_parsed {
                    self.fields(entry.at, parse, &expect);
                    self.weaknesses(entry.at, &place, parse, &expect);
                }
            }
            // What a stranger signs has fields of its own, and a person says yes or no.
            Issuer::Webhook { .. } if expect.is_empty() => {
                let message = format!("{place} does not say what the webhook has to report");
                let help = "add `expect: {FIELD: VALUE}`, such as `expect: {status: success}`";
                self.findings.error("MISSING_KEY", entry.at, message, help);
            }
            Issuer::Human { .. } if !expect.is_empty() => {
                let message = format!("{place} expects fields of a person, who says yes or no");
                self.findings.error("UNKNOWN_FIELD", entry.at, message, "remove `expect`");
            }
            Issuer::Webhook { .. } | Issuer::Human { .. } => {}
        }
        let at = self.findings.position(entry.at);
        Some(Checkpoint { name: entry.key.clone(), issuer, expect, binds, max_age, writes, at })
    }

    /// Says so where a condition is about a field that the parser never gives.
    fn fields(&mut self, at: usize, parser: &ResultParser, expect: &[Condition]) {
        let known = parser.fields();
        for condition in expect {
            if !known.contains(&condition.field.as_str()) {
                let what = format!("field that `parse: {}` reads", parser.name());
                self.findings.unknown(
                    "UNKNOWN_FIELD",
                    at,
                    &what,
                    &condition.field,
                    known.iter().copied(),
                );
            } else if parser.is_number(&condition.field)
                && !matches!(condition.value, FieldValue::Number(_))
            {
                let Condition { field, value, .. } = condition;
                let message = format!("`{field}` is a number, and `{value}` is none");
                let help =
                    format!("write `{field}: 0`, or with a sign in quotes: `{field}: \">=1\"`");
                self.findings.error("WRONG_TYPE", at, message, help);
            }
        }
    }

    /// Says so where a person would be asked for something that nobody filled in.
    fn placeholders(&mut self, challenge: &str, at: usize, place: &str) {
        const KNOWN: [&str; 3] = ["workspace.digest", "run", "state"];
        for part in challenge.split('{').skip(1) {
            let Some((name, _)) = part.split_once('}') else { continue };
            if !KNOWN.contains(&name) {
                let what = format!("value that the challenge of {place} can show");
                let known = KNOWN.into_iter();
                self.findings.unknown("UNKNOWN_PLACEHOLDER", at, &what, name, known);
            }
        }
    }

    /// Says so where a test run proves something that proves nothing.
    fn weaknesses(&mut self, at: usize, place: &str, parser: &ResultParser, expect: &[Condition]) {
        let names = |field: &str| expect.iter().any(|condition| condition.field == field);
        if !parser.counts_tests() {
            return;
        }
        if !names("passed") && !names("total") {
            let message = format!("{place} is proven by a run without any test");
            self.findings.warning("WEAK_EXPECT", at, message, "add `passed: \">=1\"` to `expect`");
        }
        if !names("exit") {
            let message = format!(
                "{place} does not look at the exit code, and a test can print what it likes"
            );
            self.findings.warning("WEAK_EXPECT", at, message, "add `exit: 0` to `expect`");
        }
    }

    fn parser(&mut self, node: &Node) -> Option<ResultParser> {
        let (name, at) = match &node.kind {
            Kind::Map(entries) => match entries.as_slice() {
                [only] if only.key == "json-path" => return self.json_paths(&only.value),
                [only] => (only.key.as_str(), only.at),
                _ => ("", node.span.start),
            },
            _ => (node.scalar().unwrap_or_default(), node.span.start),
        };
        match ResultParser::named(name) {
            Some(ResultParser::JsonPath(_)) => {
                let message = "`json-path` does not say what to read";
                let help = "write `parse: {json-path: {FIELD: \"$.place.in.the.output\"}}`";
                self.findings.error("MISSING_KEY", at, message, help);
                None
            }
            Some(parser) => Some(parser),
            None => {
                let known = ResultParser::NAMES.into_iter();
                self.findings.unknown("UNKNOWN_PARSER", at, "way to read a result", name, known);
                None
            }
        }
    }

    fn json_paths(&mut self, node: &Node) -> Option<ResultParser> {
        let Kind::Map(entries) = &node.kind else {
            wrong(self.findings, node, "json-path", "a mapping of fields to paths");
            return None;
        };
        let mut paths = BTreeMap::new();
        for entry in entries {
            match entry.value.scalar().unwrap_or_default().parse::<JsonPath>() {
                Ok(path) => drop(paths.insert(entry.key.clone(), path)),
                Err(error) => {
                    let help = "paths are spelled `$.name.other[0]`";
                    self.findings.error(
                        "BAD_PATH",
                        entry.value.span.start,
                        error.to_string(),
                        help,
                    );
                }
            }
        }
        Some(ResultParser::JsonPath(paths))
    }

    fn arguments(&mut self, node: &Node, place: &str) -> BTreeMap<String, Value> {
        if let Value::Object(map) = node.json() {
            map.into_iter().collect()
        } else {
            wrong(
                self.findings,
                node,
                &format!("args of {place}"),
                "a mapping of arguments to values",
            );
            BTreeMap::new()
        }
    }

    fn expect(&mut self, node: &Node, place: &str) -> Vec<Condition> {
        let Kind::Map(entries) = &node.kind else {
            wrong(
                self.findings,
                node,
                &format!("expect of {place}"),
                "a mapping of fields to values",
            );
            return Vec::new();
        };
        let mut all = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            twice(entries, index, self.findings);
            if let Some(number) = too_large(&entry.value) {
                let message = format!("`{number}` for `{}` in {place} is too large", entry.key);
                let help = format!("write a number {NUMBERS}");
                self.findings.error("WRONG_TYPE", entry.value.span.start, message, help);
                continue;
            }
            match condition(&entry.key, &entry.value) {
                Some(condition) => all.push(condition),
                None => wrong(
                    self.findings,
                    &entry.value,
                    &format!("`{}` in {place}", entry.key),
                    "a whole number, a text, true or false, or a comparison such as \">=1\"",
                ),
            }
        }
        all
    }

    fn age(&mut self, node: &Node) -> Option<Age> {
        let age = node.scalar().and_then(|text| text.parse().ok());
        if age.is_none() {
            let message = format!("`{}` is no length of time", node.scalar().unwrap_or_default());
            let help = "write a number with s, m, h or d, such as `30m`, or a number of events: `50 events`";
            self.findings.error("BAD_AGE", node.span.start, message, help);
        }
        age
    }
}

/// The number in `node` that no field can have. In quotes and without a sign it is a text.
fn too_large(node: &Node) -> Option<&str> {
    let Kind::Scalar(text, style) = &node.kind else { return None };
    let number = text.trim().trim_start_matches(['=', '!', '<', '>']).trim_start();
    let is_number = *style == Style::Plain || number.len() < text.trim().len();
    (is_number && is_beyond(number)).then_some(number)
}

/// `0`, `success`, `true`, `">=1"`.
fn condition(field: &str, node: &Node) -> Option<Condition> {
    let field = field.to_owned();
    let equal = |value| Some(Condition { field: field.clone(), compare: Compare::Equal, value });
    match node.json() {
        Value::Bool(flag) => equal(FieldValue::Flag(flag)),
        Value::Number(number) => equal(FieldValue::Number(number.as_i64()?)),
        Value::String(text) => {
            let text = text.trim();
            let found = Compare::ALL.into_iter().find_map(|(sign, compare)| {
                text.strip_prefix(sign).map(|rest| (compare, rest.trim()))
            });
            let Some((compare, rest)) = found else {
                return equal(FieldValue::Text(text.to_owned()));
            };
            let value = match rest {
                "true" => FieldValue::Flag(true),
                "false" => FieldValue::Flag(false),
                rest => match rest.parse() {
                    Ok(number) => FieldValue::Number(number),
                    // A word has no order.
                    Err(_) if matches!(compare, Compare::Equal | Compare::Unequal) => {
                        FieldValue::Text(rest.trim_matches(['"', '\'']).to_owned())
                    }
                    Err(_) => return None,
                },
            };
            Some(Condition { field, compare, value })
        }
        _ => None,
    }
}
