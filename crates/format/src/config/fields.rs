//! Typed access to the keys of one table, with findings that know their place.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Range, RangeInclusive};

use concertina_types::{Diagnostic, LineIndex, Severity};
use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::ConfigOrigin;
use crate::nearest::{list, nearest};

/// The findings of one file.
#[derive(Debug)]
pub(super) struct Reader<'t> {
    text: &'t str,
    lines: LineIndex,
    pub(super) origin: ConfigOrigin,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// How many of them are errors.
    pub(super) errors: usize,
    pub(super) locked: BTreeSet<String>,
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str, origin: ConfigOrigin, locked: BTreeSet<String>) -> Self {
        let lines = LineIndex::new(text);
        Self { text, lines, origin, diagnostics: Vec::new(), errors: 0, locked }
    }

    pub(super) fn tell(
        &mut self,
        code: &'static str,
        severity: Severity,
        span: Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.errors += usize::from(severity == Severity::Error);
        let at = self.lines.position(self.text, span.start);
        self.diagnostics.push(Diagnostic::new(code, severity, message).at(at).help(help));
    }

    /// Says that a table with an error counts for nothing.
    pub(super) fn left_out(&mut self, span: Range<usize>, path: &str) {
        self.tell(
            "LEFT_OUT",
            Severity::Warning,
            span,
            format!("`[{path}]` is left out because of its errors"),
            "repair them",
        );
    }

    /// The findings in the order of the file.
    pub(super) fn sort(&mut self) {
        self.diagnostics.sort_by_key(|found| (found.line, found.column));
    }

    pub(super) fn error(
        &mut self,
        code: &'static str,
        span: Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.tell(code, Severity::Error, span, message, help);
    }

    /// Says that a workspace may not set `what`.
    pub(super) fn refuse(&mut self, span: Range<usize>, what: &str) {
        self.error(
            "WORKSPACE_REFUSED",
            span,
            format!("a workspace cannot set {what}; it is ignored"),
            "set it in the user's own concertina.toml",
        );
    }

    /// The line of the byte `at`, counted from 1.
    pub(super) fn line(&self, at: usize) -> u32 {
        self.lines.position(self.text, at).line
    }

    pub(super) fn workspace(&self) -> bool {
        self.origin == ConfigOrigin::Workspace
    }
}

/// The keys of one table.
pub(super) struct Fields<'r, 't, 'v> {
    pub(super) reader: &'r mut Reader<'t>,
    path: String,
    table: &'v DeTable<'v>,
    known: Vec<&'static str>,
    errors_before: usize,
}

impl<'r, 't, 'v> Fields<'r, 't, 'v> {
    /// The table `value`, or an error that there is none.
    pub(super) fn open(
        reader: &'r mut Reader<'t>,
        path: impl Into<String>,
        value: &'v Spanned<DeValue<'v>>,
    ) -> Option<Self> {
        let path = path.into();
        let errors_before = reader.errors;
        let Some(table) = value.get_ref().as_table() else {
            wrong_type(reader, &path, value, "a table");
            return None;
        };
        Some(Self { reader, path, table, known: Vec::new(), errors_before })
    }

    /// The raw value of `key`.
    pub(super) fn value(&mut self, key: &'static str) -> Option<&'v Spanned<DeValue<'v>>> {
        self.known.push(key);
        self.table.get(key)
    }

    /// The raw value of a key that has one value. Where the managed file set it, it is as good as
    /// absent here.
    fn single(&mut self, key: &'static str) -> Option<&'v Spanned<DeValue<'v>>> {
        let value = self.value(key)?;
        let path = self.path_of(key);
        if self.reader.origin == ConfigOrigin::Managed {
            self.reader.locked.insert(path);
        } else if self.reader.locked.contains(&path) {
            self.reader.tell(
                "SET_BY_MANAGED",
                Severity::Warning,
                value.span(),
                format!("`{path}` is set by the managed configuration; this value is ignored"),
                "remove it here",
            );
            return None;
        }
        Some(value)
    }

    pub(super) fn path_of(&self, key: &str) -> String {
        format!("{}.{key}", self.path)
    }

    fn typed<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        read: impl FnOnce(&'v DeValue<'v>) -> Option<T>,
    ) -> Option<T> {
        let value = self.single(key)?;
        self.checked(key, value, expected, read)
    }

    fn checked<T>(
        &mut self,
        key: &str,
        value: &'v Spanned<DeValue<'v>>,
        expected: &str,
        read: impl FnOnce(&'v DeValue<'v>) -> Option<T>,
    ) -> Option<T> {
        let read = read(value.get_ref());
        if read.is_none() {
            let path = self.path_of(key);
            wrong_type(self.reader, &path, value, expected);
        }
        read
    }

    pub(super) fn string(&mut self, key: &'static str) -> Option<String> {
        self.typed(key, "a text", |value| value.as_str().map(str::to_owned))
    }

    pub(super) fn boolean(&mut self, key: &'static str) -> Option<bool> {
        self.typed(key, "true or false", DeValue::as_bool)
    }

    pub(super) fn strings(&mut self, key: &'static str) -> Option<Vec<String>> {
        // Lists of several files add up, so the managed file locks nobody out.
        let value = self.value(key)?;
        self.checked(key, value, "a list of texts", |value| strings(value))
    }

    /// Adds the texts of `key` to `into`, each once.
    pub(super) fn extend(&mut self, key: &'static str, into: &mut Vec<String>) {
        for text in self.strings(key).into_iter().flatten() {
            if !into.contains(&text) {
                into.push(text);
            }
        }
    }

    /// As [`Self::extend`], for globs.
    pub(super) fn extend_globs(&mut self, key: &'static str, into: &mut Vec<String>) {
        let mut globs = Vec::new();
        self.extend(key, &mut globs);
        for text in globs {
            match globset::Glob::new(&text) {
                Ok(_) if into.contains(&text) => {}
                Ok(_) => into.push(text),
                Err(error) => {
                    let message = format!("`{text}` is no pattern: {}", error.kind());
                    self.bad_value(key, message, "write it as in .gitignore, such as `drafts/*`");
                }
            }
        }
    }

    /// A table of texts.
    pub(super) fn texts(&mut self, key: &'static str) -> BTreeMap<String, String> {
        let Some(value) = self.value(key) else { return BTreeMap::new() };
        let read = |value: &'v DeValue<'v>| {
            let text = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
                let key: &std::borrow::Cow<'_, str> = key.get_ref();
                value.get_ref().as_str().map(|text| (key.to_string(), text.to_owned()))
            };
            value.as_table()?.iter().map(text).collect()
        };
        self.checked(key, value, "a table of texts", read).unwrap_or_default()
    }

    /// Whether `key` is there at all.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    pub(super) fn integer(&mut self, key: &'static str, range: RangeInclusive<u64>) -> Option<u64> {
        let expected = format!("a number from {} to {}", range.start(), range.end());
        self.typed(key, &expected, |value| {
            let number = value.as_integer()?;
            let number = u64::from_str_radix(number.as_str(), number.radix()).ok()?;
            range.contains(&number).then_some(number)
        })
    }

    /// A number with or without a fraction.
    pub(super) fn number(&mut self, key: &'static str, range: RangeInclusive<f64>) -> Option<f64> {
        let expected = format!("a number from {} to {}", range.start(), range.end());
        self.typed(key, &expected, |value| {
            // Neither `inf` nor `nan` lies in any range.
            json(value).as_f64().filter(|number| range.contains(number))
        })
    }

    pub(super) fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        options: &[(&'static str, T)],
    ) -> Option<T> {
        let text = self.string(key)?;
        let found = options.iter().find(|(name, _)| *name == text).map(|(_, option)| *option);
        if found.is_none() {
            let names = || options.iter().map(|(name, _)| *name);
            let help = nearest(&text, names()).map_or_else(
                || format!("write one of {}", list(names())),
                |name| format!("did you mean `{name}`?"),
            );
            self.bad_value(key, format!("`{text}` is not one of {}", list(names())), help);
        }
        found
    }

    pub(super) fn json(&mut self, key: &'static str) -> Option<Value> {
        self.value(key).map(|value| json(value.get_ref()))
    }

    /// An error about the value of `key`.
    pub(super) fn bad_value(
        &mut self,
        key: &str,
        message: impl std::fmt::Display,
        help: impl Into<String>,
    ) {
        let (path, span) = (self.path_of(key), self.span(key));
        self.reader.error("BAD_VALUE", span, format!("`{path}`: {message}"), help);
    }

    /// An error that `key` is not there; `table` is where it would be.
    pub(super) fn missing(&mut self, key: &str, table: Range<usize>) {
        let message = format!("`[{}]` needs `{key}`", self.path);
        self.reader.error("BAD_VALUE", table, message, format!("add `{key} = \"…\"`"));
    }

    /// Says that a workspace may not set `key`.
    pub(super) fn refuse(&mut self, key: &str) {
        let (path, span) = (self.path_of(key), self.span(key));
        self.reader.refuse(span, &format!("`{path}`"));
    }

    /// Says that a workspace may not set `key` above the value that holds.
    pub(super) fn refuse_more(&mut self, key: &str, holds: impl std::fmt::Display) {
        let (path, span) = (self.path_of(key), self.span(key));
        self.reader.tell(
            "WORKSPACE_REFUSED",
            Severity::Warning,
            span,
            format!("a workspace can only lower `{path}`; it stays {holds}"),
            "set it in the user's own concertina.toml",
        );
    }

    /// Where the value of `key` stands.
    pub(super) fn span(&self, key: &str) -> Range<usize> {
        self.table.get(key).map(Spanned::span).unwrap_or_default()
    }

    /// Reports the keys that nobody asked for. True where the whole table was read without error.
    pub(super) fn finish(self) -> bool {
        let Self { reader, path, table, known, errors_before } = self;
        for key in table.keys().filter(|key| !known.contains(&key.get_ref().as_ref())) {
            unknown_key(reader, key.span(), key.get_ref(), &format!("`[{path}]`"), &known);
        }
        reader.errors == errors_before
    }
}

/// Keys that would widen what a workspace may do, wherever they are tried.
const NEVER_IN_WORKSPACE: [&str; 6] =
    ["mode", "modes", "permission_mode", "trusted", "base_url", "endpoint"];

/// Keys that people look for where there are none, and what does it instead.
const INSTEAD: [(&str, &str, &str); 1] = [(
    "`[trust]`",
    "paths",
    "trust is in what files hold and not in where they lie: `concertina trust PATH`",
)];

pub(super) fn unknown_key(
    reader: &mut Reader<'_>,
    span: Range<usize>,
    key: &str,
    place: &str,
    known: &[&str],
) {
    if reader.workspace() && NEVER_IN_WORKSPACE.contains(&key) {
        return reader.refuse(span, &format!("`{key}`"));
    }
    let instead = INSTEAD.iter().find(|(at, name, _)| (*at, *name) == (place, key));
    let help = match (instead, nearest(key, known.iter().copied())) {
        (Some((_, _, help)), _) => (*help).to_owned(),
        (None, Some(near)) => format!("did you mean `{near}`?"),
        (None, None) => format!("the keys there are {}", list(known.iter().copied())),
    };
    let key: String = key.chars().take(80).collect();
    reader.error("UNKNOWN_KEY", span, format!("unknown key `{key}` in {place}"), help);
}

pub(super) fn wrong_type(
    reader: &mut Reader<'_>,
    path: &str,
    value: &Spanned<DeValue<'_>>,
    expected: &str,
) {
    let found = match value.get_ref() {
        DeValue::String(text) => {
            format!("the text {:?}", text.chars().take(40).collect::<String>())
        }
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Boolean(value) => value.to_string(),
        other => format!("a value of type {}", other.type_str()),
    };
    reader.error(
        "WRONG_TYPE",
        value.span(),
        format!("`{path}` must be {expected}, not {found}"),
        format!("write {expected}"),
    );
}

pub(super) fn strings(value: &DeValue<'_>) -> Option<Vec<String>> {
    let text = |item: &Spanned<DeValue<'_>>| item.get_ref().as_str().map(str::to_owned);
    value.as_array()?.iter().map(text).collect()
}

/// A TOML value as JSON. Dates become texts; numbers that JSON does not have become null.
pub(super) fn json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).map_or(Value::Null, Value::from)
        }
        DeValue::Float(number) => number.as_str().parse::<f64>().map_or(Value::Null, Value::from),
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Datetime(moment) => Value::String(moment.to_string()),
        DeValue::Array(items) => items.iter().map(|item| json(item.get_ref())).collect(),
        DeValue::Table(table) => Value::Object(
            table
                .iter()
                .map(|(key, value)| (key.get_ref().to_string(), json(value.get_ref())))
                .collect::<Map<_, _>>(),
        ),
    }
}
