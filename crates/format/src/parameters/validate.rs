//! One value against one schema.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use concertina_types::canonical_json;
use regex::{Regex, RegexBuilder};
use serde_json::{Map, Number, Value};

use super::keywords::escape;
use super::{
    DEPTH, ERRORS, LEVELS, PATTERN_BYTES, PATTERN_COMPILED_BYTES, ParameterError, STEPS,
    unknown_name,
};

/// The types of JSON Schema.
pub(super) const TYPES: [&str; 7] =
    ["string", "number", "integer", "boolean", "array", "object", "null"];

/// A check under way: where it is, and what it found.
#[derive(Debug)]
pub(super) struct Check<'s> {
    /// The whole schema, in which references are looked up.
    pub(super) root: Option<&'s Value>,
    /// Whether what cannot be checked refuses nothing.
    is_lenient: bool,
    pointer: String,
    depth: usize,
    /// How many references were followed to get here, without a step into the value.
    pub(super) hops: usize,
    /// How many schemas stand inside each other here.
    level: usize,
    /// How many schemas were looked at.
    steps: usize,
    errors: Vec<ParameterError>,
    /// Errors beyond [`ERRORS`].
    more: usize,
    /// Whether the check ended before it had looked at everything.
    is_cut: bool,
    /// Patterns that were compiled, or could not be: many values meet the same one.
    patterns: HashMap<&'s str, Option<Regex>>,
}

impl<'s> Check<'s> {
    /// A check that has not begun. In a lenient one, what cannot be checked refuses nothing.
    pub(super) fn new(root: Option<&'s Value>, is_lenient: bool) -> Self {
        Self {
            root,
            is_lenient,
            pointer: String::new(),
            depth: 0,
            hops: 0,
            level: 0,
            steps: 0,
            errors: Vec::new(),
            more: 0,
            is_cut: false,
            patterns: HashMap::new(),
        }
    }

    /// Where it is, as a JSON pointer.
    pub(super) fn pointer(&self) -> &String {
        &self.pointer
    }

    /// Adds what a part of the check found.
    pub(super) fn take(&mut self, errors: Vec<ParameterError>) {
        for error in errors {
            if self.errors.len() < ERRORS {
                self.errors.push(error);
            } else {
                self.more += 1;
            }
        }
    }

    /// What `schema` says of `value`, without a word of it here.
    pub(super) fn tried(&mut self, schema: &'s Value, value: &Value) -> Vec<ParameterError> {
        let (errors, more) = (std::mem::take(&mut self.errors), std::mem::take(&mut self.more));
        self.value(schema, value);
        self.more = more;
        std::mem::replace(&mut self.errors, errors)
    }

    /// What was found, in the order of the schema.
    pub(super) fn errors(self) -> Vec<ParameterError> {
        let Self { mut errors, more, is_cut, is_lenient, .. } = self;
        // What was not looked at is not known to be right.
        if is_cut && !is_lenient {
            let message = format!(
                "cannot be checked as a whole: it takes more than {STEPS} steps or {LEVELS} levels; send less at once"
            );
            errors.insert(0, ParameterError { pointer: String::new(), code: "TOO_LARGE", message });
        }
        if more > 0 {
            errors.push(ParameterError {
                pointer: String::new(),
                code: "MORE_ERRORS",
                message: format!("{more} more errors were found"),
            });
        }
        errors
    }

    pub(super) fn fail(&mut self, code: &'static str, message: String) {
        if self.errors.len() < ERRORS {
            self.errors.push(ParameterError { pointer: self.pointer.clone(), code, message });
        } else {
            self.more += 1;
        }
    }

    /// Does `work` one step deeper.
    pub(super) fn within(&mut self, step: &str, work: impl FnOnce(&mut Self)) {
        let len = self.pointer.len();
        self.pointer.push('/');
        self.pointer.push_str(&escape(step));
        self.depth += 1;
        let hops = std::mem::take(&mut self.hops);
        if self.depth <= DEPTH {
            work(self);
        } else if !self.is_lenient {
            self.fail("TOO_DEEP", format!("is nested more than {DEPTH} levels deep"));
        }
        self.hops = hops;
        self.depth -= 1;
        self.pointer.truncate(len);
    }

    pub(super) fn unknown<'a>(&mut self, name: &str, known: impl Iterator<Item = &'a str>) {
        self.fail("UNKNOWN_ARGUMENT", unknown_name(name, known));
    }

    /// Checks `value` against `schema`.
    pub(super) fn value(&mut self, schema: &'s Value, value: &Value) {
        // A schema can be made so that looking at all of it never ends.
        if self.level >= LEVELS || self.steps >= STEPS {
            self.is_cut = true;
            return;
        }
        self.level += 1;
        self.steps += 1;
        self.checked(schema, value);
        self.level -= 1;
    }

    fn checked(&mut self, schema: &'s Value, value: &Value) {
        let schema = match schema {
            Value::Object(schema) => schema,
            Value::Bool(false) => return self.fail("NOT_ALLOWED", "is not allowed".into()),
            // `true`, and whatever is no schema: `unsupported_keywords` names the latter.
            _ => return,
        };
        // Not of the standard, and meant by those who write it.
        if value.is_null() && schema.get("nullable") == Some(&Value::Bool(true)) {
            return;
        }
        if let Some(types) = schema.get("type")
            && !has_type(types, value)
        {
            let expected = match types {
                Value::String(name) => name.clone(),
                other => named_types(other).collect::<Vec<_>>().join(" or "),
            };
            // Of a value of the wrong type, nothing else is worth saying.
            return self.fail("WRONG_TYPE", format!("must be {expected}, not {}", shown(value)));
        }
        if let Some(options) = schema.get("enum").and_then(Value::as_array)
            && !options.iter().any(|option| equal(option, value))
        {
            let options: Vec<_> = options.iter().take(20).map(shown).collect();
            self.fail(
                "NOT_IN_ENUM",
                format!("must be one of {}, not {}", options.join(", "), shown(value)),
            );
        }
        if let Some(constant) = schema.get("const")
            && !equal(constant, value)
        {
            self.fail("NOT_IN_ENUM", format!("must be {}, not {}", shown(constant), shown(value)));
        }
        match value {
            Value::String(text) => self.text(schema, text),
            Value::Number(number) => self.number(schema, number),
            Value::Array(items) => self.items(schema, items),
            Value::Object(map) => self.object(schema, map),
            Value::Null | Value::Bool(_) => {}
        }
        self.combined(schema, value);
    }

    fn text(&mut self, schema: &'s Map<String, Value>, text: &str) {
        self.size(schema, ["minLength", "maxLength"], "characters", || text.chars().count());
        let Some(source) = schema.get("pattern") else { return };
        let source = source.as_str().unwrap_or_default();
        match self.pattern(source) {
            Some(regex) if regex.is_match(text) => {}
            Some(_) => self.fail(
                "PATTERN_MISMATCH",
                format!(
                    "must match the pattern {}, not {}",
                    cut(source),
                    cut(&format!("{text:?}"))
                ),
            ),
            None if self.is_lenient => {}
            None => self.fail(
                "PATTERN_UNSUPPORTED",
                format!("cannot be checked: the pattern {} cannot be read", cut(source)),
            ),
        }
    }

    fn pattern(&mut self, source: &'s str) -> Option<Regex> {
        self.patterns.entry(source).or_insert_with(|| pattern(source)).clone()
    }

    fn number(&mut self, schema: &Map<String, Value>, number: &Number) {
        type Holds = fn(Ordering) -> bool;
        let bounds: [(&str, Holds, &str); 4] = [
            ("minimum", Ordering::is_ge, "at least"),
            ("maximum", Ordering::is_le, "at most"),
            ("exclusiveMinimum", Ordering::is_gt, "more than"),
            ("exclusiveMaximum", Ordering::is_lt, "less than"),
        ];
        for (keyword, holds, words) in bounds {
            if let Some(Value::Number(bound)) = schema.get(keyword)
                && !compare(number, bound).is_some_and(holds)
            {
                self.fail("OUT_OF_RANGE", format!("must be {words} {bound}, not {number}"));
            }
        }
        if let Some(Value::Number(step)) = schema.get("multipleOf")
            && !is_multiple(number, step)
        {
            self.fail("OUT_OF_RANGE", format!("must be a multiple of {step}, not {number}"));
        }
    }

    fn items(&mut self, schema: &'s Map<String, Value>, items: &[Value]) {
        self.size(schema, ["minItems", "maxItems"], "items", || items.len());
        if schema.get("uniqueItems") == Some(&Value::Bool(true)) {
            let mut seen = HashSet::new();
            if let Some(twice) =
                items.iter().find(|item| !seen.insert(canonical_json(&plain(item))))
            {
                self.fail("NOT_UNIQUE", format!("holds {} more than once", shown(twice)));
            }
        }
        // A list of schemas stands for the first items; `items` had that meaning once.
        let first = ["prefixItems", "items"].iter().find_map(|key| schema.get(*key)?.as_array());
        let rest = match schema.get("items") {
            Some(Value::Array(_)) => schema.get("additionalItems"),
            rest => rest,
        };
        for (at, item) in items.iter().enumerate() {
            if let Some(schema) = first.and_then(|first| first.get(at)).or(rest) {
                self.within(&at.to_string(), |check| check.value(schema, item));
            }
        }
        if let Some(wanted) = schema.get("contains") {
            let count = items.iter().filter(|item| self.tried(wanted, item).is_empty()).count();
            let bound = |keyword| schema.get(keyword).and_then(whole);
            let least = bound("minContains").unwrap_or(1);
            if (count as i128) < least {
                let message = format!("must hold at least {least} items of a kind, not {count}");
                self.fail("TOO_SHORT", message);
            }
            if let Some(most) = bound("maxContains").filter(|most| (count as i128) > *most) {
                let message = format!("must hold at most {most} items of a kind, not {count}");
                self.fail("TOO_LONG", message);
            }
        }
    }

    fn object(&mut self, schema: &'s Map<String, Value>, map: &Map<String, Value>) {
        self.size(schema, ["minProperties", "maxProperties"], "properties", || map.len());
        let properties = schema.get("properties").and_then(Value::as_object);
        let additional = schema.get("additionalProperties");
        let patterns: Vec<(Regex, &'s Value)> = schema
            .get("patternProperties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .filter_map(|(source, schema)| Some((self.pattern(source)?, schema)))
            .collect();
        for (name, value) in map {
            let mut is_known = false;
            let matching = patterns.iter().filter(|(regex, _)| regex.is_match(name));
            for schema in properties
                .and_then(|all| all.get(name))
                .into_iter()
                .chain(matching.map(|(_, schema)| *schema))
            {
                is_known = true;
                self.within(name, |check| check.value(schema, value));
            }
            if let Some(names) = schema.get("propertyNames") {
                self.within(name, |check| check.value(names, &Value::from(name.as_str())));
            }
            match additional {
                Some(additional) if !is_known => self.within(name, |check| match additional {
                    Value::Bool(false) => {
                        check.unknown(
                            name,
                            properties.into_iter().flat_map(Map::keys).map(String::as_str),
                        );
                    }
                    additional => check.value(additional, value),
                }),
                _ => {}
            }
        }
        self.dependencies(schema, map);
        let required = schema.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if !map.contains_key(name) {
                self.within(name, |check| check.fail("MISSING_ARGUMENT", "is required".into()));
            }
        }
    }

    /// What a property asks for beside itself.
    fn dependencies(&mut self, schema: &'s Map<String, Value>, map: &Map<String, Value>) {
        let object = |key: &str| schema.get(key).and_then(Value::as_object).into_iter().flatten();
        let both = object("dependentRequired").chain(object("dependencies"));
        for (name, wanted) in both.filter(|(name, _)| map.contains_key(*name)) {
            let wanted = wanted.as_array().into_iter().flatten().filter_map(Value::as_str);
            for missing in wanted.filter(|wanted| !map.contains_key(*wanted)) {
                let message = format!("is required where `{name}` is given");
                self.within(missing, |check| check.fail("MISSING_ARGUMENT", message));
            }
        }
        let both = object("dependentSchemas").chain(object("dependencies"));
        for (_, schema) in both.filter(|(name, _)| map.contains_key(*name)) {
            if !schema.is_array() {
                self.value(schema, &Value::Object(map.clone()));
            }
        }
    }

    fn size(
        &mut self,
        schema: &Map<String, Value>,
        [least, most]: [&str; 2],
        unit: &str,
        count: impl Fn() -> usize,
    ) {
        let bound = |keyword| schema.get(keyword).and_then(whole);
        if let Some(least) = bound(least)
            && (count() as i128) < least
        {
            self.fail("TOO_SHORT", format!("must have at least {least} {unit}, not {}", count()));
        }
        if let Some(most) = bound(most)
            && (count() as i128) > most
        {
            self.fail("TOO_LONG", format!("must have at most {most} {unit}, not {}", count()));
        }
    }
}

/// A value as it stands in a message: short, on one line.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(_) => "an object".into(),
        scalar => cut(&scalar.to_string()),
    }
}

fn cut(text: &str) -> String {
    const SHOWN: usize = 80;
    if text.chars().count() <= SHOWN {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(SHOWN).collect();
    short.push('…');
    short
}

fn named_types(types: &Value) -> impl Iterator<Item = &str> {
    let one = types.as_str().into_iter();
    one.chain(types.as_array().into_iter().flatten().filter_map(Value::as_str))
}

fn has_type(types: &Value, value: &Value) -> bool {
    let mut known = named_types(types).filter(|name| TYPES.contains(name)).peekable();
    // A type that does not exist checks nothing; `unsupported_keywords` names it.
    known.peek().is_none()
        || named_types(types).any(|name| !TYPES.contains(&name))
        || known.any(|name| match name {
            "string" => value.is_string(),
            "number" => value.is_number(),
            "integer" => whole(value).is_some() || huge_integer(value),
            "boolean" => value.is_boolean(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            _ => value.is_null(),
        })
}

/// The integer that `value` is; `1.0` is one, by the standard.
fn whole(value: &Value) -> Option<i128> {
    value.as_number().and_then(integer)
}

fn integer(number: &Number) -> Option<i128> {
    /// Above this, not every integer is a floating point number (2^53).
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let exact = || number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= EXACT);
    #[allow(clippy::cast_possible_truncation, reason = "a whole number below 2^53 fits")]
    let float = || exact().map(|float| float as i128);
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from)).or_else(float)
}

/// A floating point number past 2^53: whole, though not exactly known.
fn huge_integer(value: &Value) -> bool {
    value.as_f64().is_some_and(|float| float.is_finite() && float.fract() == 0.0)
}

fn compare(a: &Number, b: &Number) -> Option<Ordering> {
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

fn is_multiple(number: &Number, step: &Number) -> bool {
    match (integer(number), integer(step)) {
        // A step of zero is no step; the standard forbids it.
        (_, Some(0)) => true,
        (Some(number), Some(step)) => number % step == 0,
        _ => {
            let (Some(number), Some(step)) = (number.as_f64(), step.as_f64()) else { return true };
            let times = number / step;
            // 0.3 is a multiple of 0.1, though not in binary.
            (times - times.round()).abs() <= 1e-9 * times.abs().max(1.0)
        }
    }
}

/// Equality as JSON Schema has it: `1` equals `1.0`.
fn equal(a: &Value, b: &Value) -> bool {
    a == b || canonical_json(&plain(a)) == canonical_json(&plain(b))
}

/// The value with every whole number written as an integer.
fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) => {
            match integer(number).and_then(|integer| i64::try_from(integer).ok()) {
                Some(integer) => Value::from(integer),
                None => value.clone(),
            }
        }
        Value::Array(items) => Value::Array(items.iter().map(plain).collect()),
        Value::Object(map) => {
            Value::Object(map.iter().map(|(key, value)| (key.clone(), plain(value))).collect())
        }
        other => other.clone(),
    }
}

/// The pattern, if it can be read and is not too large.
pub(super) fn pattern(source: &str) -> Option<Regex> {
    if source.len() > PATTERN_BYTES {
        return None;
    }
    RegexBuilder::new(&ascii_classes(source)).size_limit(PATTERN_COMPILED_BYTES).build().ok()
}

/// ECMA-262 reads `\d` and `\w` as ASCII, also inside a class.
fn ascii_classes(source: &str) -> String {
    let mut out = String::with_capacity(source.len() + 16);
    let mut rest = source.chars();
    while let Some(c) = rest.next() {
        let escaped = (c == '\\').then(|| rest.next()).flatten();
        match escaped {
            Some('d') => out.push_str("[0-9]"),
            Some('D') => out.push_str("[^0-9]"),
            Some('w') => out.push_str("[0-9A-Za-z_]"),
            Some('W') => out.push_str("[^0-9A-Za-z_]"),
            Some(other) => out.extend([c, other]),
            None => out.push(c),
        }
    }
    out
}
