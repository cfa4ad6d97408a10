//! Which keywords of a schema are checked.

use serde_json::Value;

use super::DEPTH;
use super::validate::{TYPES, pattern};

/// Keywords that are checked.
const CHECKED: [&str; 25] = [
    "type",
    "enum",
    "const",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minContains",
    "maxContains",
    "required",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "dependencies",
    "nullable",
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
];

/// Keywords whose value is a schema.
const SCHEMAS: [&str; 9] = [
    "items",
    "additionalItems",
    "contains",
    "additionalProperties",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
];

/// Keywords whose value is a list of schemas.
const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];

/// Keywords whose value holds schemas by name.
const MAPS: [&str; 5] =
    ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];

/// Keywords that describe and check nothing, by the standard, and `secret`, which is ours: the value goes
/// on no record.
const DESCRIBING: [&str; 17] = [
    "title",
    "description",
    "default",
    "examples",
    "example",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
    "contentEncoding",
    "contentMediaType",
    "$schema",
    "$id",
    "$comment",
    "$anchor",
    "$dynamicAnchor",
    "secret",
];

/// The keywords of `schema` that a check ignores, each with a JSON pointer to it: keywords outside
/// the subset, types that do not exist, patterns that cannot be read.
///
/// ```
/// use concertina_format::parameters::unsupported_keywords;
/// let schema = serde_json::json!({"properties": {"day": {"unevaluatedItems": false, "type": "date"}}});
/// assert_eq!(
///     unsupported_keywords(&schema),
///     ["/properties/day/unevaluatedItems", "/properties/day/type"]
/// );
/// ```
pub fn unsupported_keywords(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect(schema, "", 0, &mut found);
    found
}

fn collect(schema: &Value, pointer: &str, depth: usize, found: &mut Vec<String>) {
    let Value::Object(map) = schema else {
        if !schema.is_boolean() {
            found.push(pointer.to_owned());
        }
        return;
    };
    if depth > DEPTH {
        found.push(pointer.to_owned());
        return;
    }
    for (key, value) in map {
        let here = format!("{pointer}/{}", escape(key));
        match key.as_str() {
            "type" if !names_types(value) => found.push(here),
            "pattern" if value.as_str().is_none_or(|text| pattern(text).is_none()) => {
                found.push(here);
            }
            key if MAPS.contains(&key) => match value.as_object() {
                Some(schemas) => {
                    for (name, schema) in schemas {
                        let at = format!("{here}/{}", escape(name));
                        collect(schema, &at, depth + 1, found);
                    }
                }
                None => found.push(here),
            },
            // Lists in `items` belong to an older draft, and are read.
            key if LISTS.contains(&key) || key == "items" && value.is_array() => {
                match value.as_array() {
                    Some(schemas) => {
                        for (number, schema) in schemas.iter().enumerate() {
                            collect(schema, &format!("{here}/{number}"), depth + 1, found);
                        }
                    }
                    None => found.push(here),
                }
            }
            "$ref" if value.as_str().is_none_or(|target| !target.starts_with('#')) => {
                found.push(here);
            }
            key if SCHEMAS.contains(&key) => collect(value, &here, depth + 1, found),
            known if CHECKED.contains(&known) || DESCRIBING.contains(&known) => {}
            _ => found.push(here),
        }
    }
}

fn names_types(value: &Value) -> bool {
    let known = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    known(value) || value.as_array().is_some_and(|names| names.iter().all(known))
}

/// A step of a JSON pointer.
pub(super) fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
