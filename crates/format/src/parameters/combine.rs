//! Keywords that stand for other schemas: references, alternatives, conditions.

use serde_json::{Map, Value};

use super::validate::{Check, shown};
use super::{HOPS, ParameterError};

impl<'s> Check<'s> {
    /// Checks `value` against every schema that `schema` refers to or is made of.
    pub(super) fn combined(&mut self, schema: &'s Map<String, Value>, value: &Value) {
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            if let Some(target) = schema.get(keyword).and_then(Value::as_str) {
                self.reference(target, value);
            }
        }
        let several = |keyword: &str| schema.get(keyword).and_then(Value::as_array);
        for schema in several("allOf").into_iter().flatten() {
            self.value(schema, value);
        }
        if let Some(alternatives) = several("anyOf") {
            self.any_of(alternatives, value);
        }
        if let Some(alternatives) = several("oneOf") {
            self.one_of(alternatives, value);
        }
        if let Some(excluded) = schema.get("not")
            && self.holds(excluded, value)
        {
            let message = format!("must not be {}, which the schema excludes", shown(value));
            self.fail("EXCLUDED", message);
        }
        if let Some(condition) = schema.get("if") {
            let branch = if self.holds(condition, value) { "then" } else { "else" };
            if let Some(schema) = schema.get(branch) {
                self.value(schema, value);
            }
        }
    }

    /// Follows a reference inside the schema. One that leads nowhere checks nothing, and so does one
    /// that goes round in a circle.
    fn reference(&mut self, target: &str, value: &Value) {
        let Some(schema) = self.root.and_then(|root| find(root, target)) else { return };
        if self.hops < HOPS {
            self.hops += 1;
            self.value(schema, value);
            self.hops -= 1;
        }
    }

    fn any_of(&mut self, alternatives: &'s [Value], value: &Value) {
        let mut failed = Vec::new();
        for alternative in alternatives {
            let errors = self.tried(alternative, value);
            if errors.is_empty() {
                return;
            }
            failed.push(errors);
        }
        self.none_fits(failed, value);
    }

    fn one_of(&mut self, alternatives: &'s [Value], value: &Value) {
        let mut failed = Vec::new();
        for alternative in alternatives {
            let errors = self.tried(alternative, value);
            if !errors.is_empty() {
                failed.push(errors);
            }
        }
        match alternatives.len() - failed.len() {
            1 => {}
            0 => self.none_fits(failed, value),
            fitting => self.fail(
                "SEVERAL_FIT",
                format!(
                    "fits {fitting} of {} alternatives; exactly one may fit",
                    alternatives.len()
                ),
            ),
        }
    }

    /// Says why no alternative fits: what the nearest one misses, where one comes nearer than the
    /// others, else what each of them is.
    fn none_fits(&mut self, failed: Vec<Vec<ParameterError>>, value: &Value) {
        let Some(most) = failed.len().checked_sub(1) else { return };
        let is_here =
            |error: &ParameterError| error.code == "WRONG_TYPE" && error.pointer == *self.pointer();
        let mut near: Vec<Vec<ParameterError>> = Vec::new();
        let mut types = Vec::new();
        for errors in failed {
            match errors.first().filter(|error| is_here(error)) {
                Some(error) => {
                    let words = error.message.strip_prefix("must be ").unwrap_or(&error.message);
                    let kind = words.split(", not ").next().unwrap_or_default().to_owned();
                    if !types.contains(&kind) {
                        types.push(kind);
                    }
                }
                None => near.push(errors),
            }
        }
        near.sort_by_key(Vec::len);
        match near.into_iter().next() {
            None => {
                let types = types.join(" or ");
                self.fail("WRONG_TYPE", format!("must be {types}, not {}", shown(value)));
            }
            Some(errors) => {
                self.fail(
                    "NONE_FITS",
                    format!("fits none of {} alternatives; the nearest says:", most + 1),
                );
                self.take(errors);
            }
        }
    }

    fn holds(&mut self, schema: &'s Value, value: &Value) -> bool {
        self.tried(schema, value).is_empty()
    }
}

/// The schema in `root` that the local reference `target` means.
fn find<'s>(root: &'s Value, target: &str) -> Option<&'s Value> {
    let fragment = target.strip_prefix('#')?;
    if fragment.is_empty() || fragment.starts_with('/') {
        return root.pointer(&decoded(fragment)?);
    }
    // An anchor: they stand among the definitions.
    let named = |schema: &&Value| {
        let anchor = |key| schema.get(key).and_then(Value::as_str) == Some(fragment);
        anchor("$anchor") || anchor("$dynamicAnchor")
    };
    let definitions =
        ["$defs", "definitions"].into_iter().filter_map(|key| root.get(key)?.as_object());
    definitions.flat_map(|map| map.values()).chain([root]).find(named)
}

/// `text` with each `%` and two digits made the byte that they stand for.
fn decoded(text: &str) -> Option<String> {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        let (digits, rest) = piece.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}
