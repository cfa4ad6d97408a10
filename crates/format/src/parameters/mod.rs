//! Arguments, checked before anything runs.
//!
//! A skill declares [`Parameter`]s, a tool a JSON Schema; both are checked by the same subset of
//! JSON Schema 2020-12:
//!
//! | for | keywords |
//! |---|---|
//! | any value | `type` (one or a list), `enum`, `const` |
//! | text | `pattern`, `minLength`, `maxLength` (in characters) |
//! | numbers | `minimum`, `maximum`, `exclusiveMinimum`, `exclusiveMaximum`, `multipleOf` |
//! | lists | `items`, `prefixItems`, `minItems`, `maxItems`, `uniqueItems`, `contains`, `minContains`, `maxContains` |
//! | objects | `properties`, `patternProperties`, `propertyNames`, `required`, `additionalProperties`, `minProperties`, `maxProperties`, `dependentRequired`, `dependentSchemas` |
//! | schemas | `$ref` and `$dynamicRef` inside the schema, `allOf`, `anyOf`, `oneOf`, `not`, `if`, `then`, `else` |
//!
//! Of older drafts, lists in `items` with `additionalItems`, `dependencies`, `definitions`, and
//! `nullable` are understood.
//!
//! Keywords that only describe (`title`, `description`, `default`, `examples`, `format`, …) check
//! nothing. Every other keyword is ignored in a check, and [`unsupported_keywords`] names it.
//! Patterns are those of the `regex` crate, with `\d` and `\w` meaning ASCII as in ECMA-262;
//! look-around and back-references are unsupported. A pattern that cannot be read refuses every text
//! rather than none, except where a server checks its arguments itself
//! ([`check_schema_of_server`]): what cannot be checked here is then for the server to say.
//!
//! The `jsonschema` crate would check all of the standard; it brings some 65 packages with it, for
//! `unevaluatedProperties`, references to other documents, and formats.

mod combine;
mod exact;
mod keywords;
mod validate;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::nearest::{list, nearest};
use crate::skill::Parameter;
use validate::Check;

use exact::{inexact, inexact_arguments};
pub use keywords::unsupported_keywords;

/// How deep a value is checked; deeper values are refused. Documents as arguments reach 20.
pub const DEPTH: usize = 32;
/// References that are followed without a step into the value: longer chains go round in a circle.
const HOPS: usize = 32;
/// Schemas inside each other, so that no schema can use up the stack.
const LEVELS: usize = 200;
/// Schemas that one check looks at. Real ones stay below 1,000; alternatives inside alternatives can
/// make a small schema endless, and the rest is then not checked.
const STEPS: usize = 50_000;
/// Errors that one check reports. The last one says that there are more.
pub const ERRORS: usize = 32;
/// One pattern, in bytes. Real ones stay below 200.
pub const PATTERN_BYTES: usize = 1_000;
/// One compiled pattern, in bytes, so that `(a{999}){999}` is refused and not built.
pub const PATTERN_COMPILED_BYTES: usize = 1024 * 1024;

/// One thing that is wrong with the arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{}: {message}", if pointer.is_empty() { "arguments" } else { pointer })]
pub struct ParameterError {
    /// Where, as a JSON pointer (RFC 6901); empty for the arguments as a whole.
    pub pointer: String,
    /// A stable code, such as `WRONG_TYPE`.
    pub code: &'static str,
    /// What is wrong and what would be right.
    pub message: String,
}

impl ParameterError {
    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        self.code
    }
}

/// Checks the arguments of a skill and fills in the defaults. No arguments at all (`null`) are an
/// empty object.
///
/// ```
/// use concertina_format::{parameters, skill::Parameter};
/// use serde_json::json;
///
/// let year = Parameter {
///     name: "year".into(),
///     required: true,
///     schema: json!({"type": "integer", "minimum": 2000}),
///     ..Parameter::default()
/// };
/// let errors = parameters::check(&[year.clone()], &json!({"year": 1999})).unwrap_err();
/// assert_eq!(errors[0].to_string(), "/year: must be at least 2000, not 1999");
/// assert!(parameters::check(&[year], &json!({"year": 2026})).is_ok());
/// ```
pub fn check(
    parameters: &[Parameter],
    given: &Value,
) -> Result<Map<String, Value>, Vec<ParameterError>> {
    let empty = Map::new();
    let mut check = Check::new(None, false);
    let given = match given {
        Value::Object(map) => map,
        Value::Null => &empty,
        other => {
            check.fail("WRONG_TYPE", format!("must be an object, not {}", validate::shown(other)));
            return Err(check.errors());
        }
    };
    let names = || parameters.iter().map(|parameter| parameter.name.as_str());
    for name in given.keys().filter(|name| names().all(|known| known != *name)) {
        check.within(name, |check| check.unknown(name, names()));
    }
    let mut filled = Map::new();
    for parameter in parameters {
        let name = &parameter.name;
        match (given.get(name), &parameter.default) {
            (Some(value), _) => {
                check.root = Some(&parameter.schema);
                check.within(name, |check| check.value(&parameter.schema, value));
                filled.insert(name.clone(), value.clone());
            }
            (None, Some(default)) => {
                filled.insert(name.clone(), default.clone());
            }
            (None, None) if parameter.required => check.within(name, |check| {
                check.fail("MISSING_ARGUMENT", "is required and has no default".into());
            }),
            (None, None) => {}
        }
    }
    let mut errors = check.errors();
    if errors.is_empty() {
        errors = inexact_arguments(given);
    }
    if errors.is_empty() { Ok(filled) } else { Err(errors) }
}

/// Checks a value against a JSON Schema: the arguments of a tool, or the result of a skill.
///
/// ```
/// use concertina_format::parameters::check_schema;
/// use serde_json::json;
///
/// let schema = json!({"type": "object", "properties": {"query": {"type": "string"}},
///                     "required": ["query"], "additionalProperties": false});
/// let errors = check_schema(&schema, &json!({"qeury": "select 1"}));
/// assert_eq!(errors[0].to_string(), "/qeury: is not known; did you mean `query`?");
/// assert_eq!(errors[1].code, "MISSING_ARGUMENT");
/// ```
pub fn check_schema(schema: &Value, given: &Value) -> Vec<ParameterError> {
    let mut check = Check::new(Some(schema), false);
    check.value(schema, given);
    let errors = check.errors();
    // What is wrong by the schema says it better.
    if errors.is_empty() { inexact(given) } else { errors }
}

/// As [`check_schema`], for a schema whose server checks the arguments again: what cannot be checked
/// here, such as a pattern with look-around, refuses nothing.
///
/// ```
/// use concertina_format::parameters::{check_schema, check_schema_of_server};
/// let schema = serde_json::json!({"properties": {"a": {"type": "string", "pattern": "^(?!x)"}}});
/// let given = serde_json::json!({"a": "y"});
/// assert_eq!(check_schema(&schema, &given)[0].code, "PATTERN_UNSUPPORTED");
/// assert!(check_schema_of_server(&schema, &given).is_empty());
/// ```
pub fn check_schema_of_server(schema: &Value, given: &Value) -> Vec<ParameterError> {
    let mut check = Check::new(Some(schema), true);
    check.value(schema, given);
    check.errors()
}

/// The parameters as one JSON Schema, to be shown.
///
/// ```
/// use concertina_format::{parameters, skill::Parameter};
/// let city = Parameter { name: "city".into(), required: true, ..Parameter::default() };
/// assert_eq!(
///     parameters::schema(&[city]),
///     serde_json::json!({"type": "object", "properties": {"city": {}}, "required": ["city"],
///                        "additionalProperties": false})
/// );
/// ```
pub fn schema(parameters: &[Parameter]) -> Value {
    let mut properties = Map::new();
    for parameter in parameters {
        let mut shown = parameter.schema.as_object().cloned().unwrap_or_default();
        if let Some(description) = &parameter.description {
            shown.insert("description".into(), json!(description));
        }
        if let Some(default) = &parameter.default {
            shown.insert("default".into(), default.clone());
        }
        properties.insert(parameter.name.clone(), Value::Object(shown));
    }
    // A parameter with a default is filled in, so a call need not give it.
    let required: Vec<_> = parameters
        .iter()
        .filter(|parameter| parameter.required && parameter.default.is_none())
        .map(|parameter| &parameter.name)
        .collect();
    json!({"type": "object", "properties": properties, "required": required,
           "additionalProperties": false})
}

/// What to say of a name that is not known.
fn unknown_name<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<_> = known.collect();
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("is not known; did you mean `{near}`?"),
        None if known.is_empty() => "is not known: no arguments are expected".into(),
        None => format!("is not known; the arguments are {}", list(known)),
    }
}
