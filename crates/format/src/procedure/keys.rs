//! Access to the keys of one mapping, with findings that know their place.

use concertina_types::{Diagnostic, LineIndex, Severity};

use crate::nearest::{list, nearest};
use crate::yaml::{Entry, Kind, Node};

/// The findings of one text.
pub(super) struct Findings<'t> {
    text: &'t str,
    lines: LineIndex,
    pub(super) list: Vec<Diagnostic>,
}

impl<'t> Findings<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, lines: LineIndex::new(text), list: Vec::new() }
    }

    pub(super) fn position(&self, at: usize) -> concertina_types::Position {
        self.lines.position(self.text, at)
    }

    pub(super) fn error(
        &mut self,
        code: &'static str,
        at: usize,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.tell(Severity::Error, code, at, message, help);
    }

    pub(super) fn warning(
        &mut self,
        code: &'static str,
        at: usize,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.tell(Severity::Warning, code, at, message, help);
    }

    fn tell(
        &mut self,
        severity: Severity,
        code: &'static str,
        at: usize,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let at = self.position(at);
        self.list.push(Diagnostic::new(code, severity, message).at(at).help(help));
    }

    /// Says that `name`, which stands at `at`, is none of `known`.
    pub(super) fn unknown<'a>(
        &mut self,
        code: &'static str,
        at: usize,
        what: &str,
        name: &str,
        known: impl Iterator<Item = &'a str> + Clone,
    ) {
        let help = match (nearest(name, known.clone()), list(known)) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, all) if all.is_empty() => format!("there is no {what} at all"),
            (None, all) => format!("there are {all}"),
        };
        let name: String = name.chars().take(80).collect();
        self.error(code, at, format!("`{name}` is no {what}"), help);
    }
}

/// The keys of one mapping: each is taken once, and what is left over is unknown.
pub(super) struct Keys<'n> {
    place: String,
    at: usize,
    entries: &'n [Entry],
    known: Vec<&'static str>,
}

impl<'n> Keys<'n> {
    /// The mapping `node`, or a finding that it is none.
    pub(super) fn open(
        node: &'n Node,
        place: impl Into<String>,
        findings: &mut Findings<'_>,
    ) -> Option<Self> {
        let place = place.into();
        if let Kind::Map(entries) = &node.kind {
            Some(Self { place, at: node.span.start, entries, known: Vec::new() })
        } else {
            wrong(findings, node, &place, "a mapping of keys to values");
            None
        }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The byte at which `key` stands, where it has a value.
    pub(super) fn place_of(&self, key: &str) -> Option<usize> {
        let found = self.entries.iter().find(|entry| entry.key == key && !entry.value.is_null());
        found.map(|entry| entry.at)
    }

    /// The value of `key`, where it has one.
    pub(super) fn get(&mut self, key: &'static str) -> Option<&'n Node> {
        self.known.push(key);
        let found = self.entries.iter().find(|entry| entry.key == key)?;
        (!found.value.is_null()).then_some(&found.value)
    }

    /// The text of `key`.
    pub(super) fn text(
        &mut self,
        key: &'static str,
        findings: &mut Findings<'_>,
    ) -> Option<&'n str> {
        let place = format!("{}.{key}", self.place);
        let node = self.get(key)?;
        let text = node.scalar().map(str::trim).filter(|text| !text.is_empty());
        if text.is_none() {
            wrong(findings, node, &place, "a text");
        }
        text
    }

    /// The text of a key that has to be there.
    pub(super) fn needed(
        &mut self,
        key: &'static str,
        findings: &mut Findings<'_>,
    ) -> Option<&'n str> {
        if !self.entries.iter().any(|entry| entry.key == key && !entry.value.is_null()) {
            self.known.push(key);
            let message = format!("{} has no `{key}`", self.place);
            findings.error("MISSING_KEY", self.at, message, format!("add `{key}: …`"));
            return None;
        }
        self.text(key, findings)
    }

    /// Whether `key` is set to yes.
    pub(super) fn flag(&mut self, key: &'static str, findings: &mut Findings<'_>) -> bool {
        let place = format!("{}.{key}", self.place);
        let Some(node) = self.get(key) else { return false };
        if let serde_json::Value::Bool(flag) = node.json() {
            flag
        } else {
            wrong(findings, node, &place, "true or false");
            false
        }
    }

    /// The texts of `key`: a list of them, or one.
    pub(super) fn texts(
        &mut self,
        key: &'static str,
        findings: &mut Findings<'_>,
    ) -> Option<Vec<(String, usize)>> {
        let place = format!("{}.{key}", self.place);
        let node = self.get(key)?;
        let one = |node: &Node| node.scalar().map(|text| (text.trim().to_owned(), node.span.start));
        let all = match &node.kind {
            Kind::List(items) => items.iter().map(one).collect(),
            _ => one(node).map(|one| vec![one]),
        };
        if all.is_none() {
            wrong(findings, node, &place, "a list of texts");
        }
        all
    }

    /// Names keys that mean nothing here, and keys that stand here twice.
    pub(super) fn close(self, findings: &mut Findings<'_>) {
        for (index, entry) in self.entries.iter().enumerate() {
            if !self.known.contains(&entry.key.as_str()) {
                let what = format!("key of {}", self.place);
                findings.unknown(
                    "UNKNOWN_KEY",
                    entry.at,
                    &what,
                    &entry.key,
                    self.known.iter().copied(),
                );
            }
            twice(self.entries, index, findings);
        }
    }
}

/// Says that the key of `entries` at `index` stood there before.
pub(super) fn twice(entries: &[Entry], index: usize, findings: &mut Findings<'_>) {
    let Some(entry) = entries.get(index) else { return };
    let before = entries.get(..index).unwrap_or_default();
    if before.iter().any(|earlier| earlier.key == entry.key) {
        let message = format!("`{}` is defined twice", entry.key);
        findings.error("DUPLICATE", entry.at, message, "keep one of them");
    }
}

pub(super) fn wrong(findings: &mut Findings<'_>, node: &Node, place: &str, expected: &str) {
    const SHOWN: usize = 40;
    let found = match &node.kind {
        Kind::List(items) if items.is_empty() => "an empty list".to_owned(),
        Kind::List(_) => "a list".to_owned(),
        Kind::Map(entries) if entries.is_empty() => "an empty mapping".to_owned(),
        Kind::Map(_) => "a mapping".to_owned(),
        Kind::Scalar(..) if node.is_null() => "nothing".to_owned(),
        Kind::Scalar(text, _) if text.trim().is_empty() => "empty".to_owned(),
        Kind::Scalar(text, _) => {
            let shown: String = text.chars().take(SHOWN).collect();
            format!("`{}`", shown.escape_debug())
        }
    };
    let message = format!("{place} has to be {expected}, and is {found}");
    findings.error("WRONG_TYPE", node.span.start, message, format!("write {expected}"));
}
