//! From nodes to a procedure.

use std::collections::BTreeMap;

use concertina_types::{Diagnostic, FieldValue, Severity};
use serde_json::Value;

use super::document::{
    Age, Assurance, Checkpoint, Exit, Inputs, Invariant, Issuer, OnFail, Procedure, Show,
    ShownEvidence, ShownTool, State,
};
use super::expect::{Compare, Condition};
use super::guard::Guard;
use super::keys::{Findings, Keys, twice, wrong};
use super::{CHECKPOINTS, PROCEDURE_BYTES, STATES, resolve};
use crate::results::{JsonPath, ResultParser};
use crate::skill::is_invisible;
use crate::yaml::{self, Entry, Fault, Kind, Node};

/// A text that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// What it says; none where there is an error in it.
    pub procedure: Option<Procedure>,
    /// What was found, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a procedure and resolves the names in it.
pub fn parse(text: &str) -> Parsed {
    let mut findings = Findings::new(text);
    let procedure = read(text, &mut findings);
    let mut diagnostics = findings.list;
    diagnostics.sort_by_key(|found| (found.line, found.column));
    let has_errors = diagnostics.iter().any(|found| found.severity == Severity::Error);
    Parsed { procedure: procedure.filter(|_| !has_errors), diagnostics }
}

fn read(text: &str, findings: &mut Findings<'_>) -> Option<Procedure> {
    if text.len() > PROCEDURE_BYTES {
        let message = format!(
            "a procedure has at most {PROCEDURE_BYTES} bytes, and this text has {}",
            text.len()
        );
        findings.error("TOO_LARGE", 0, message, "cut it into several procedures, joined by `then`");
        return None;
    }
    let tree = match yaml::parse(text, 0) {
        Ok(tree) => tree,
        Err(Fault::Syntax { at, message }) => {
            findings.error(
                "SYNTAX",
                at,
                format!("this is no YAML: {message}"),
                "repair the text there",
            );
            return None;
        }
        Err(Fault::TooComplex { at }) => {
            findings.error(
                "TOO_LARGE",
                at,
                "the text is nested too deeply, or has too many parts",
                "simplify it",
            );
            return None;
        }
    };
    if let Some(at) = tree.aliases.first().or(tree.tags.first()) {
        findings.error(
            "SYNTAX",
            *at,
            "aliases and tags mean nothing in a procedure",
            "write the value out",
        );
    }
    let mut reader = Reader { findings };
    let procedure = reader.procedure(&tree.root)?;
    resolve::names(&procedure, reader.findings);
    Some(procedure.document)
}

/// A procedure with the places of the names that have to be resolved.
pub(super) struct Placed {
    pub(super) document: Procedure,
    /// Guards and the bytes at which they begin.
    pub(super) guards: Vec<(Guard, usize)>,
    /// Names of states that are gone to.
    pub(super) targets: Vec<(String, usize)>,
}

struct Reader<'f, 't> {
    findings: &'f mut Findings<'t>,
}

impl Reader<'_, '_> {
    fn procedure(&mut self, root: &Node) -> Option<Placed> {
        let mut keys = Keys::open(root, "the procedure", self.findings)?;
        let name = keys.needed("sop", self.findings).map(str::to_owned);
        if let Some(name) = &name {
            self.outer_name(name, keys.at(), "procedure");
        }
        let name = name.unwrap_or_default();
        let version = keys.text("version", self.findings).map(str::to_owned);
        let description = keys.text("description", self.findings).map(str::to_owned);
        let require = keys.get("require").and_then(|node| self.assurance(node));
        let inputs = keys.get("inputs").map(|node| self.inputs(node)).unwrap_or_default();
        let checkpoints = self.checkpoints(keys.get("checkpoints"));
        let (mut guards, mut targets) = (Vec::new(), Vec::new());
        let mut states = Vec::new();
        match keys.get("states").map(|node| (node, &node.kind)) {
            Some((_, Kind::Map(entries))) if !entries.is_empty() => {
                if entries.len() > STATES {
                    let message = format!("a procedure has at most {STATES} states");
                    self.findings.error(
                        "TOO_LARGE",
                        keys.at(),
                        message,
                        "cut it in two, joined by `then`",
                    );
                }
                for (index, entry) in entries.iter().enumerate().take(STATES) {
                    twice(entries, index, self.findings);
                    states.extend(self.state(entry, &mut guards, &mut targets));
                }
            }
            Some((node, _)) => wrong(self.findings, node, "states", "a mapping of names to states"),
            None => {
                let help = "add `states: {NAME: {show: …, next: …}, done: {final: true}}`";
                self.findings.error(
                    "MISSING_KEY",
                    keys.at(),
                    "the procedure has no `states`",
                    help,
                );
            }
        }
        let invariants = self.invariants(keys.get("invariants"), &mut guards);
        keys.close(self.findings);
        let document = Procedure {
            name,
            version,
            description,
            require,
            inputs,
            checkpoints,
            states,
            invariants,
        };
        Some(Placed { document, guards, targets })
    }

    fn assurance(&mut self, node: &Node) -> Option<Assurance> {
        let all = [Assurance::Advisory, Assurance::Hooked, Assurance::Enforced];
        let found = all.into_iter().find(|one| node.scalar() == Some(one.to_string().as_str()));
        if found.is_none() {
            wrong(self.findings, node, "require", "`enforced`, `hooked` or `advisory`");
        }
        found
    }

    fn inputs(&mut self, node: &Node) -> Inputs {
        let mut inputs = Inputs::default();
        let Some(mut outer) = Keys::open(node, "inputs", self.findings) else { return inputs };
        if let Some(workspace) = outer.get("workspace")
            && let Some(mut keys) = Keys::open(workspace, "inputs.workspace", self.findings)
        {
            if let Some(root) = keys.text("root", self.findings) {
                root.clone_into(&mut inputs.root);
            }
            let ignore = keys.texts("ignore", self.findings).unwrap_or_default();
            inputs.ignore = ignore.into_iter().map(|(glob, _)| glob).collect();
            keys.close(self.findings);
        }
        outer.close(self.findings);
        inputs
    }

    fn checkpoints(&mut self, node: Option<&Node>) -> Vec<Checkpoint> {
        let entries = match node.map(|node| (node, &node.kind)) {
            None => return Vec::new(),
            Some((_, Kind::Map(entries))) => entries,
            Some((node, _)) => {
                wrong(self.findings, node, "checkpoints", "a mapping of names to checkpoints");
                return Vec::new();
            }
        };
        if let Some(beyond) = entries.get(CHECKPOINTS) {
            let message = format!("a procedure has at most {CHECKPOINTS} checkpoints");
            self.findings.error("TOO_LARGE", beyond.at, message, "cut it in two, joined by `then`");
        }
        let mut all = Vec::new();
        for (index, entry) in entries.iter().enumerate().take(CHECKPOINTS) {
            twice(entries, index, self.findings);
            self.name(entry, "checkpoint");
            all.extend(self.checkpoint(entry));
        }
        all
    }

    /// Says so where a name of something outside of the procedure could mislead whoever reads it.
    fn outer_name(&mut self, name: &str, at: usize, what: &str) {
        const CHARACTERS: usize = 200;
        let misleads = |c: char| c.is_control() || is_invisible(c);
        if name.is_empty() || name.chars().count() > CHARACTERS || name.chars().any(misleads) {
            let shown: String = name.chars().take(40).collect();
            let message = format!("`{}` is no name for a {what}", shown.escape_debug());
            let help = "use at most 200 characters, none of which is a control or cannot be seen";
            self.findings.error("BAD_NAME", at, message, help);
        }
    }

    /// Says so where a name could not stand in a guard.
    fn name(&mut self, entry: &Entry, what: &str) {
        let parsed = entry.key.parse::<Guard>();
        if parsed != Ok(Guard::Holds(entry.key.clone())) {
            let message = format!("`{}` is no name for a {what}", entry.key);
            let help = "use letters, digits, `_`, `-` and `.`; `true` and `false` are taken";
            self.findings.error("BAD_NAME", entry.at, message, help);
        }
    }

    fn checkpoint(&mut self, entry: &Entry) -> Option<Checkpoint> {
        let place = format!("checkpoint `{}`", entry.key);
        let mut keys = Keys::open(&entry.value, place.as_str(), self.findings)?;
        let mut issuers = Vec::new();
        let parse = keys.get("parse").map_or(Some(ResultParser::Exit), |node| self.parser(node));
        let is_parsed = parse.is_some();
        let from = keys.text("from", self.findings).map(str::to_owned);
        let args = keys.get("args");
        if let Some(tool) = keys.text("tool", self.findings) {
            self.outer_name(tool, entry.at, "tool");
            let args = args.map(|node| self.arguments(node, &place)).unwrap_or_default();
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
        let max_age = keys.get("max_age").and_then(|node| self.age(node)).or(ttl);
        let writes = keys.texts("writes", self.findings).unwrap_or_default();
        let writes = writes.into_iter().map(|(glob, _)| glob).collect();
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

    fn state(
        &mut self,
        entry: &Entry,
        guards: &mut Vec<(Guard, usize)>,
        targets: &mut Vec<(String, usize)>,
    ) -> Option<State> {
        self.name(entry, "state");
        let place = format!("state `{}`", entry.key);
        let mut keys = Keys::open(&entry.value, place.as_str(), self.findings)?;
        let show = keys.get("show").map(|node| self.show(node, &place, guards)).unwrap_or_default();
        let mut exits = Vec::new();
        match keys.get("next").map(|node| (node, &node.kind)) {
            None => {}
            Some((_, Kind::List(items))) => {
                exits.extend(
                    items.iter().filter_map(|item| self.exit(item, &place, guards, targets)),
                );
            }
            Some((node, Kind::Map(_))) => exits.extend(self.exit(node, &place, guards, targets)),
            Some((node, _)) => {
                wrong(self.findings, node, &format!("next of {place}"), "a list of exits");
            }
        }
        let on_fail = keys.get("on_fail").and_then(|node| self.on_fail(node, &place, targets));
        let on_stale = keys.get("on_stale").and_then(|node| {
            let mut inner = Keys::open(node, format!("on_stale of {place}"), self.findings)?;
            let to = inner.needed("goto", self.findings).map(str::to_owned);
            inner.close(self.findings);
            targets.extend(to.iter().map(|to| (to.clone(), node.span.start)));
            to
        });
        let is_final = keys.flag("final", self.findings);
        let needs = keys.text("needs", self.findings).map(str::to_owned);
        let then = keys.text("then", self.findings).map(str::to_owned);
        keys.close(self.findings);
        if is_final && !exits.is_empty() {
            let message = format!("{place} is final and has exits");
            self.findings.error("FINAL_WITH_EXITS", entry.at, message, "remove `final` or `next`");
        }
        if !is_final && (then.is_some() || needs.is_some()) {
            let message = format!("{place} is not final, so nothing can follow it");
            self.findings.error(
                "NOT_FINAL",
                entry.at,
                message,
                "add `final: true`, or remove `then` and `needs`",
            );
        }
        if then.is_some() && needs.is_some() {
            let message = format!("{place} waits for a person, so nothing follows it by itself");
            self.findings.error("NEEDS_AND_THEN", entry.at, message, "remove `then` or `needs`");
        }
        let at = self.findings.position(entry.at);
        let name = entry.key.clone();
        Some(State { name, show, exits, on_fail, on_stale, is_final, needs, then, at })
    }

    fn show(&mut self, node: &Node, place: &str, guards: &mut Vec<(Guard, usize)>) -> Show {
        let mut show = Show::default();
        let Some(mut keys) = Keys::open(node, format!("show of {place}"), self.findings) else {
            return show;
        };
        match keys.get("tools").map(|node| (node, &node.kind)) {
            None => {}
            Some((_, Kind::List(items))) => {
                for item in items {
                    let Some(tool) = self.tool(item, place, guards) else { continue };
                    self.outer_name(&tool.tool, item.span.start, "tool");
                    if let Some(known) = show.tools.iter().find(|known| known.tool == tool.tool) {
                        let message = format!("tool `{}` of {place} is listed twice", tool.tool);
                        let (code, at) = ("DUPLICATE_TOOL", item.span.start);
                        // Of two guards nobody knows which one is meant.
                        if known.when == tool.when {
                            self.findings.warning(code, at, message, "remove one");
                        } else {
                            let help = "keep one; join two guards by `||`";
                            self.findings.error(code, at, message, help);
                        }
                        continue;
                    }
                    show.tools.push(tool);
                }
            }
            Some((node, _)) => {
                wrong(self.findings, node, &format!("tools of {place}"), "a list of tools");
            }
        }
        let skills = keys.texts("skills", self.findings);
        show.skills = skills.map(|all| all.into_iter().map(|(name, _)| name).collect());
        let evidence = keys.texts("evidence", self.findings);
        show.evidence =
            evidence.map(|all| all.iter().filter_map(|one| self.evidence(one)).collect());
        keys.close(self.findings);
        show
    }

    /// `NAME`, or `NAME: {when: GUARD}`.
    fn tool(
        &mut self,
        node: &Node,
        place: &str,
        guards: &mut Vec<(Guard, usize)>,
    ) -> Option<ShownTool> {
        let at = self.findings.position(node.span.start);
        let what = format!("a tool of {place}");
        match &node.kind {
            Kind::Scalar(..) => {
                let tool = node.scalar().map(|name| name.trim().to_owned());
                if tool.is_none() {
                    wrong(self.findings, node, &what, "a name, or a name with `{when: …}`");
                }
                Some(ShownTool { tool: tool?, when: None, at })
            }
            Kind::Map(entries) if entries.len() == 1 => {
                let entry = entries.first()?;
                let mut keys = Keys::open(
                    &entry.value,
                    format!("tool `{}` of {place}", entry.key),
                    self.findings,
                )?;
                let when = match keys.get("when") {
                    Some(node) => Some(self.guard(node, guards)?),
                    None => None,
                };
                keys.close(self.findings);
                Some(ShownTool { tool: entry.key.clone(), when, at })
            }
            _ => {
                wrong(self.findings, node, &what, "a name, or a name with `{when: …}`");
                None
            }
        }
    }

    /// `TOOL@L1`, `TOOL@L2`, `TOOL@L3`, or `TOOL`, which is everything.
    fn evidence(&mut self, (text, at): &(String, usize)) -> Option<ShownEvidence> {
        let (tool, level) = text.rsplit_once('@').unwrap_or((text, "L3"));
        let level = match level {
            "L1" => 1,
            "L2" => 2,
            "L3" => 3,
            other => {
                let known = ["L1", "L2", "L3"].into_iter();
                self.findings.unknown("UNKNOWN_LEVEL", *at, "level of evidence", other, known);
                return None;
            }
        };
        Some(ShownEvidence { tool: tool.to_owned(), level })
    }

    fn exit(
        &mut self,
        node: &Node,
        place: &str,
        guards: &mut Vec<(Guard, usize)>,
        targets: &mut Vec<(String, usize)>,
    ) -> Option<Exit> {
        let mut keys = Keys::open(node, format!("an exit of {place}"), self.findings)?;
        let to = keys.needed("to", self.findings).map(str::to_owned);
        let when = if let Some(node) = keys.get("when") {
            self.guard(node, guards)
        } else {
            let message = format!("an exit of {place} has no `when`, so it would always be open");
            let help = "say what opens it, such as `when: test.ok`";
            self.findings.error("NO_GUARD", keys.at(), message, help);
            None
        };
        let at = self.findings.position(keys.at());
        targets.extend(to.iter().map(|to| (to.clone(), keys.at())));
        keys.close(self.findings);
        Some(Exit { to: to?, when: when?, at })
    }

    fn on_fail(
        &mut self,
        node: &Node,
        place: &str,
        targets: &mut Vec<(String, usize)>,
    ) -> Option<OnFail> {
        let mut keys = Keys::open(node, format!("on_fail of {place}"), self.findings)?;
        let max = match keys.get("max").map(|node| (node, node.json())) {
            None => 1,
            Some((_, Value::Number(number)))
                if number.as_u64().is_some_and(|max| (1..=1_000).contains(&max)) =>
            {
                number.as_u64().and_then(|max| u32::try_from(max).ok()).unwrap_or(1)
            }
            Some((node, _)) => {
                wrong(
                    self.findings,
                    node,
                    &format!("max of on_fail of {place}"),
                    "a number from 1 to 1,000",
                );
                1
            }
        };
        let (then, goto) = (keys.text("then", self.findings), keys.text("goto", self.findings));
        let to = match (then, goto) {
            (Some(to), None) | (None, Some(to)) => Some(to.to_owned()),
            _ => {
                let message = format!("on_fail of {place} has to say where to go, once");
                self.findings.error("MISSING_KEY", keys.at(), message, "add `then: STATE`");
                None
            }
        };
        targets.extend(to.iter().map(|to| (to.clone(), keys.at())));
        keys.close(self.findings);
        Some(OnFail { max, to: to? })
    }

    fn invariants(
        &mut self,
        node: Option<&Node>,
        guards: &mut Vec<(Guard, usize)>,
    ) -> Vec<Invariant> {
        let items = match node.map(|node| (node, &node.kind)) {
            None => return Vec::new(),
            Some((_, Kind::List(items))) => items,
            Some((node, _)) => {
                wrong(self.findings, node, "invariants", "a list");
                return Vec::new();
            }
        };
        let mut all = Vec::new();
        for item in items {
            let Some(mut keys) = Keys::open(item, "an invariant", self.findings) else { continue };
            let never = keys.needed("never", self.findings).map(str::to_owned);
            let without = keys.get("without").and_then(|node| self.guard(node, guards));
            if without.is_none() && !item.is_null() {
                let message = "an invariant says what must hold whenever its tool runs";
                self.findings.error("MISSING_KEY", keys.at(), message, "add `without: CHECKPOINT`");
            }
            let at = self.findings.position(keys.at());
            keys.close(self.findings);
            all.extend(never.zip(without).map(|(never, without)| Invariant { never, without, at }));
        }
        all
    }

    fn guard(&mut self, node: &Node, guards: &mut Vec<(Guard, usize)>) -> Option<Guard> {
        let Some(text) = node.scalar() else {
            wrong(self.findings, node, "a guard", "a text such as `lint.ok && test.ok`");
            return None;
        };
        match text.parse::<Guard>() {
            Ok(guard) => {
                guards.push((guard.clone(), node.span.start));
                Some(guard)
            }
            Err(error) => {
                let shown: String = text.chars().take(120).collect();
                let message = format!("`{shown}` is no guard: {error}");
                let help = "only checkpoints and receipts release a step: `test.ok`, `receipt(test).exit == 0`, joined by &&, || and !";
                self.findings.error("FREE_TEXT", node.span.start, message, help);
                None
            }
        }
    }
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
