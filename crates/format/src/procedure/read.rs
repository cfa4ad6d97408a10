//! From nodes to a procedure.

use std::ops::Range;
use std::path::{Component, Path};

use concertina_types::{Diagnostic, Position, Severity, SkillId};
use serde_json::Value;

use super::document::{
    Assurance, Checkpoint, Exit, Inputs, Invariant, OnFail, Procedure, Show, ShownEvidence,
    ShownTool, State,
};
use super::guard::Guard;
use super::keys::{Findings, Keys, twice, wrong};
use super::{CHECKPOINTS, PROCEDURE_BYTES, STATES, resolve};
use crate::skill::{is_invisible, pattern_fault};
use crate::yaml::{self, Entry, Fault, Kind, Node};

/// A text that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// What it says; none where there is an error in it.
    pub procedure: Option<Procedure>,
    /// What was found, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// Where each state stands, in the order of the text.
    pub states: Vec<(String, Range<Position>)>,
}

impl Parsed {
    /// The state in which `found` stands, where it stands in one.
    pub fn state_of(&self, found: &Diagnostic) -> Option<&str> {
        let at = Position { line: found.line?, column: found.column? };
        let state = self.states.iter().find(|(_, place)| place.contains(&at));
        state.map(|(name, _)| name.as_str())
    }
}

/// Reads a procedure and resolves the names in it.
pub fn parse(text: &str) -> Parsed {
    let mut findings = Findings::new(text);
    let mut states = Vec::new();
    let procedure = read(text, &mut findings, &mut states);
    let mut diagnostics = findings.list;
    diagnostics.sort_by_key(|found| (found.line, found.column));
    let has_errors = diagnostics.iter().any(|found| found.severity == Severity::Error);
    Parsed { procedure: procedure.filter(|_| !has_errors), diagnostics, states }
}

fn read(
    text: &str,
    findings: &mut Findings<'_>,
    states: &mut Vec<(String, Range<Position>)>,
) -> Option<Procedure> {
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
    let mut reader = Reader { findings, states, unread: Vec::new() };
    let procedure = reader.procedure(&tree.root)?;
    resolve::names(&procedure, &reader.unread, reader.findings);
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

/// Reads one text.
pub(super) struct Reader<'f, 't> {
    pub(super) findings: &'f mut Findings<'t>,
    /// Where each state stands.
    states: &'f mut Vec<(String, Range<Position>)>,
    /// Tools of which it could not be read how their results are.
    pub(super) unread: Vec<String>,
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
        let (inputs, nothing) =
            keys.get("inputs").map(|node| self.inputs(node)).unwrap_or_default();
        let checkpoints = self.checkpoints(keys.get("checkpoints"));
        if let Some(at) = nothing.filter(|_| checkpoints.iter().any(|one| one.binds)) {
            let message = "every file is ignored, so nothing that is bound to the workspace holds";
            let help = "ignore what is built and nothing else, or remove `binds`";
            self.findings.warning("NOTHING_BOUND", at, message, help);
        }
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
                    let place = self.findings.position(entry.at)
                        ..self.findings.position(entry.value.span.end.max(entry.at + 1));
                    self.states.push((entry.key.clone(), place));
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

    /// What counts as input; and where a pattern stands by which nothing does.
    fn inputs(&mut self, node: &Node) -> (Inputs, Option<usize>) {
        let (mut inputs, mut nothing) = (Inputs::default(), None);
        let Some(mut outer) = Keys::open(node, "inputs", self.findings) else {
            return (inputs, nothing);
        };
        if let Some(workspace) = outer.get("workspace")
            && let Some(mut keys) = Keys::open(workspace, "inputs.workspace", self.findings)
        {
            if let Some(root) = keys.text("root", self.findings) {
                let at = keys.place_of("root").unwrap_or(keys.at());
                self.inside(root, at, "`root` of inputs.workspace");
                root.clone_into(&mut inputs.root);
            }
            let ignore = keys.texts("ignore", self.findings).unwrap_or_default();
            (inputs.ignore, nothing) = self.globs(ignore, "`ignore` of inputs.workspace");
            keys.close(self.findings);
        }
        outer.close(self.findings);
        (inputs, nothing)
    }

    /// Says so where `path` leads out of the workspace, or could.
    pub(super) fn inside(&mut self, path: &str, at: usize, what: &str) {
        let is_plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        if path.contains(['\\', '\0']) || !Path::new(path).components().all(is_plain) {
            let shown: String = path.chars().take(80).collect();
            let message = format!("{what} leads out of the workspace: `{}`", shown.escape_debug());
            let help = "write a path below the workspace, without `..` and back slashes";
            self.findings.error("OUTSIDE_WORKSPACE", at, message, help);
        }
    }

    /// Patterns as in a `.gitignore`, each of which has to be one; and the place of one that takes in everything.
    pub(super) fn globs(
        &mut self,
        globs: Vec<(String, usize)>,
        what: &str,
    ) -> (Vec<String>, Option<usize>) {
        let mut everything = None;
        for (glob, at) in &globs {
            if let Some(why) = glob_fault(glob) {
                let shown: String = glob.chars().take(80).collect();
                let message = format!("`{}` in {what} {why}", shown.escape_debug());
                let help = "write it as in a .gitignore, such as `target/**`";
                self.findings.error("BAD_GLOB", *at, message, help);
            }
            // What stands behind it with a `!` is taken out again.
            if glob.starts_with('!') {
                everything = None;
            } else if ["*", "**", "**/*", "**/**"].contains(&glob.trim_start_matches('/')) {
                everything = Some(*at);
            }
        }
        (globs.into_iter().map(|(glob, _)| glob).collect(), everything)
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
    pub(super) fn outer_name(&mut self, name: &str, at: usize, what: &str) {
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
        if let (Some(other), Some(at)) =
            (needs.as_deref().filter(|needs| *needs != "human"), keys.place_of("needs"))
        {
            let shown: String = other.chars().take(40).collect();
            let message = format!(
                "{place} needs `{}`, and only a person can take it on from there",
                shown.escape_debug()
            );
            self.findings.warning("UNKNOWN_NEED", at, message, "write `needs: human`");
        }
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
        for (name, at) in skills.iter().flatten() {
            if let Err(error) = SkillId::new(name.as_str()) {
                let message = format!("a skill of {place} is none: {error}");
                let help = "write its name, or `plugin/name`";
                self.findings.error("BAD_NAME", *at, message, help);
            }
        }
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
        self.outer_name(tool, *at, "tool");
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
            if let Some(never) = &never {
                self.outer_name(never, keys.at(), "tool");
            }
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

/// Why `glob` names no files.
fn glob_fault(glob: &str) -> Option<&'static str> {
    let names = glob.strip_prefix('!').unwrap_or(glob);
    if names.starts_with('#') || names.trim_matches(['/', ' ']).is_empty() {
        return Some("names nothing");
    }
    pattern_fault(names)
}
