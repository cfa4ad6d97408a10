//! Arguments against what is declared.

use concertina_format::parameters::{
    DEPTH, ERRORS, ParameterError, check, check_schema, check_schema_of_server, schema,
    unsupported_keywords,
};
use concertina_format::skill::Parameter;
use proptest::prelude::*;
use serde_json::{Value, json};

fn parameter(name: &str, required: bool, default: Option<Value>, schema: Value) -> Parameter {
    Parameter { name: name.into(), required, default, description: None, schema }
}

fn voyage() -> Vec<Parameter> {
    vec![
        parameter("port", true, None, json!({"type": "string", "pattern": "^[A-Z]\\w+$"})),
        parameter(
            "draught",
            false,
            Some(json!(4)),
            json!({"type": "number", "exclusiveMinimum": 0}),
        ),
        parameter("side", false, None, json!({"enum": ["port", "starboard"]})),
    ]
}

fn text(errors: &[ParameterError]) -> String {
    errors.iter().map(|error| format!("{} {error}", error.code())).collect::<Vec<_>>().join("\n")
}

fn codes(schema: &Value, value: &Value) -> Vec<&'static str> {
    check_schema(schema, value).iter().map(ParameterError::code).collect()
}

#[test]
fn defaults_are_filled_in() {
    let filled = check(&voyage(), &json!({"port": "Kiel"})).unwrap();
    assert_eq!(Value::Object(filled), json!({"port": "Kiel", "draught": 4}));
    assert!(check(&[], &Value::Null).unwrap().is_empty());
}

#[test]
fn a03_every_error_names_its_place_and_what_would_be_right() {
    let given = json!({"prot": "x", "draught": 0, "side": "left"});
    let errors = check(&voyage(), &given).unwrap_err();
    insta::assert_snapshot!(text(&errors));
    let errors = check(&voyage(), &json!(["Kiel"])).unwrap_err();
    insta::assert_snapshot!(text(&errors), @"WRONG_TYPE arguments: must be an object, not an array of 1");
}

#[test]
fn pointers_are_escaped_and_reach_into_lists() {
    let schema = json!({"type": "object", "properties": {"a/b": {"items": {"properties": {"c~": {"type": "null"}}}}}});
    let errors = check_schema(&schema, &json!({"a/b": [{}, {"c~": 1}]}));
    assert_eq!(errors[0].pointer, "/a~1b/1/c~0");
}

#[test]
fn each_keyword_has_two_sides() {
    let table: &[(Value, Value, Value, &str)] = &[
        (json!({"type": "integer"}), json!(3.0), json!(3.5), "WRONG_TYPE"),
        (json!({"type": ["string", "null"]}), json!(null), json!(1), "WRONG_TYPE"),
        (json!({"type": "number"}), json!(1), json!("1"), "WRONG_TYPE"),
        (json!({"enum": [1, "a", [2]]}), json!([2.0]), json!("b"), "NOT_IN_ENUM"),
        (json!({"const": {"a": 1}}), json!({"a": 1.0}), json!({"a": 2}), "NOT_IN_ENUM"),
        (json!({"pattern": "^\\d{3}$"}), json!("123"), json!("٣٣٣"), "PATTERN_MISMATCH"),
        (json!({"pattern": "[\\w-]+"}), json!("a-b"), json!("é"), "PATTERN_MISMATCH"),
        (json!({"minLength": 2}), json!("潮汐"), json!("潮"), "TOO_SHORT"),
        (json!({"maxLength": 2}), json!("潮汐"), json!("abc"), "TOO_LONG"),
        (json!({"minimum": 1}), json!(1), json!(0.9), "OUT_OF_RANGE"),
        (json!({"maximum": 1}), json!(1.0), json!(u64::MAX), "OUT_OF_RANGE"),
        (json!({"exclusiveMinimum": 1}), json!(1.1), json!(1), "OUT_OF_RANGE"),
        (json!({"exclusiveMaximum": 1}), json!(-5), json!(1), "OUT_OF_RANGE"),
        (json!({"multipleOf": 0.1}), json!(0.3), json!(0.35), "OUT_OF_RANGE"),
        (json!({"multipleOf": 7}), json!(-21), json!(22), "OUT_OF_RANGE"),
        (json!({"items": {"type": "boolean"}}), json!([true]), json!([true, 1]), "WRONG_TYPE"),
        (json!({"minItems": 1}), json!([0]), json!([]), "TOO_SHORT"),
        (json!({"maxItems": 1}), json!([0]), json!([0, 0]), "TOO_LONG"),
        (json!({"uniqueItems": true}), json!([1, "1"]), json!([1, 1.0]), "NOT_UNIQUE"),
        (json!({"required": ["a"]}), json!({"a": null}), json!({}), "MISSING_ARGUMENT"),
        (json!({"additionalProperties": false}), json!({}), json!({"a": 1}), "UNKNOWN_ARGUMENT"),
        (
            json!({"additionalProperties": {"type": "null"}}),
            json!({"a": null}),
            json!({"a": 1}),
            "WRONG_TYPE",
        ),
        (json!({"minProperties": 1}), json!({"a": 1}), json!({}), "TOO_SHORT"),
        (json!({"properties": {"a": false}}), json!({"b": 1}), json!({"a": 1}), "NOT_ALLOWED"),
        (json!({"pattern": "(?=a)"}), json!(1), json!("a"), "PATTERN_UNSUPPORTED"),
        (json!({"pattern": "(a{999}){999}"}), json!(1), json!("a"), "PATTERN_UNSUPPORTED"),
    ];
    for (schema, good, bad, code) in table {
        assert_eq!(codes(schema, good), Vec::<&str>::new(), "{schema} {good}");
        assert_eq!(codes(schema, bad), [*code], "{schema} {bad}");
    }
}

#[test]
fn each_combination_has_two_sides() {
    let text_or_none = json!([{"type": "string"}, {"type": "null"}]);
    let table: &[(Value, Value, Value, &str)] = &[
        (json!({"anyOf": text_or_none}), json!(null), json!(1), "WRONG_TYPE"),
        (json!({"anyOf": [{"minimum": 5}, {"const": 1}]}), json!(1), json!(2), "NONE_FITS"),
        (json!({"oneOf": text_or_none}), json!("a"), json!([]), "WRONG_TYPE"),
        (json!({"oneOf": [{"minimum": 1}, {"maximum": 3}]}), json!(0), json!(2), "SEVERAL_FIT"),
        (json!({"allOf": [{"minimum": 1}, {"maximum": 3}]}), json!(2), json!(4), "OUT_OF_RANGE"),
        (json!({"not": {"type": "string"}}), json!(1), json!("a"), "EXCLUDED"),
        (
            json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}}),
            json!({"c": 1}),
            json!({"a": 1}),
            "MISSING_ARGUMENT",
        ),
        (
            json!({"if": {"type": "string"}, "else": {"minimum": 3}}),
            json!("a"),
            json!(2),
            "OUT_OF_RANGE",
        ),
        (
            json!({"$ref": "#/$defs/a%20b~1c", "$defs": {"a b/c": {"type": "string"}}}),
            json!("a"),
            json!(1),
            "WRONG_TYPE",
        ),
        (
            json!({"$ref": "#here", "definitions": {"x": {"$anchor": "here", "type": "null"}}}),
            json!(null),
            json!(1),
            "WRONG_TYPE",
        ),
        (json!({"$ref": "#/no/where"}), json!(1), json!(false), ""),
        (
            json!({"properties": {"next": {"$ref": "#"}}, "required": ["n"]}),
            json!({"n": 1, "next": {"n": 2}}),
            json!({"n": 1, "next": {"m": 2}}),
            "MISSING_ARGUMENT",
        ),
        (
            json!({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}),
            json!(["a", 1]),
            json!(["a", "b"]),
            "WRONG_TYPE",
        ),
        (
            json!({"items": [{"type": "string"}], "additionalItems": false}),
            json!(["a"]),
            json!(["a", 1]),
            "NOT_ALLOWED",
        ),
        (json!({"contains": {"const": 1}}), json!([2, 1]), json!([2]), "TOO_SHORT"),
        (
            json!({"contains": {"const": 1}, "minContains": 0, "maxContains": 1}),
            json!([]),
            json!([1, 1]),
            "TOO_LONG",
        ),
        (
            json!({"patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": false}),
            json!({"x-a": "b"}),
            json!({"y": 1}),
            "UNKNOWN_ARGUMENT",
        ),
        (
            json!({"patternProperties": {"^x-": {"type": "string"}}}),
            json!({"y": 1}),
            json!({"x-a": 1}),
            "WRONG_TYPE",
        ),
        (json!({"propertyNames": {"maxLength": 1}}), json!({"a": 1}), json!({"ab": 1}), "TOO_LONG"),
        (
            json!({"dependentRequired": {"a": ["b"]}}),
            json!({"b": 1}),
            json!({"a": 1}),
            "MISSING_ARGUMENT",
        ),
        (
            json!({"dependentSchemas": {"a": {"required": ["b"]}}}),
            json!({}),
            json!({"a": 1}),
            "MISSING_ARGUMENT",
        ),
        (json!({"type": "string", "nullable": true}), json!(null), json!(1), "WRONG_TYPE"),
    ];
    for (schema, good, bad, code) in table {
        assert_eq!(codes(schema, good), Vec::<&str>::new(), "{schema} {good}");
        let found = codes(schema, bad);
        assert_eq!(found.first().copied().unwrap_or_default(), *code, "{schema} {bad}");
        assert_eq!(unsupported_keywords(schema), Vec::<String>::new(), "{schema}");
    }
}

#[test]
fn of_alternatives_the_nearest_says_what_is_missing() {
    let schema = json!({"properties": {"at": {"anyOf": [
        {"type": "string"},
        {"type": "object", "required": ["lat", "lon"], "properties": {"lat": {"type": "number"}}},
        {"type": "null"},
    ]}}});
    let said = |given: Value| text(&check_schema(&schema, &given));
    insta::assert_snapshot!(said(json!({"at": {"lat": "x", "lon": 1}})), @r#"
    NONE_FITS /at: fits none of 3 alternatives; the nearest says:
    WRONG_TYPE /at/lat: must be number, not "x"
    "#);
    insta::assert_snapshot!(said(json!({"at": 5})), @"WRONG_TYPE /at: must be string or object or null, not 5");
}

#[test]
fn no_schema_is_endless() {
    let circle = json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}});
    assert_eq!(codes(&circle, &json!(1)), [""; 0]);
    let own = json!({"allOf": [{"$ref": "#"}, {"$ref": "#"}], "anyOf": [{"$ref": "#"}, {"$ref": "#"}],
                     "not": {"not": {"$ref": "#"}}, "type": "integer"});
    assert_eq!(codes(&own, &json!("a"))[0], "WRONG_TYPE");
    let tree = json!({"anyOf": [{"$ref": "#/$defs/n0"}], "$defs": (0..30).map(|n| (
        format!("n{n}"),
        json!({"allOf": [{"$ref": format!("#/$defs/n{}", n + 1)}, {"$ref": format!("#/$defs/n{}", n + 1)}]}),
    )).collect::<serde_json::Map<_, _>>()});
    // What was not looked at to its end is not known to be right.
    assert_eq!(codes(&tree, &json!(1)), ["TOO_LARGE"]);
}

#[test]
fn what_is_not_checked_is_named() {
    let schema = json!({
        "title": "t", "format": "date", "unevaluatedProperties": false,
        "properties": {"a": {"$ref": "other.json#/x"}, "b": {"type": "path"}, "c": 3, "d": true,
                       "e": {"pattern": "(?<!x)y", "items": {"anyOf": [{"maximal": 1}]}}},
        "$defs": {"f": {"oneOf": [true]}}
    });
    assert_eq!(
        unsupported_keywords(&schema),
        [
            "/unevaluatedProperties",
            "/properties/a/$ref",
            "/properties/b/type",
            "/properties/c",
            "/properties/e/pattern",
            "/properties/e/items/anyOf/0/maximal"
        ]
    );
    assert!(check_schema(&schema, &json!({"a": 1, "b": 1})).is_empty());
}

#[test]
fn depth_and_number_of_errors_are_bounded() {
    let (mut schema, mut value) = (json!({}), json!(1));
    for _ in 0..DEPTH + 5 {
        schema = json!({"items": schema});
        value = json!([value]);
    }
    assert_eq!(codes(&schema, &value), ["TOO_DEEP"]);
    let errors = check_schema(&json!({"items": false}), &json!(vec![0; 1_000]));
    assert_eq!(errors.len(), ERRORS + 1);
    assert_eq!(errors[ERRORS].message, format!("{} more errors were found", 1_000 - ERRORS));
}

#[test]
fn the_schema_shown_is_the_one_checked() {
    let shown = schema(&voyage());
    assert_eq!(shown["required"], json!(["port"]));
    assert_eq!(shown["properties"]["draught"]["default"], json!(4));
    for given in [json!({"port": "Kiel"}), json!({"port": "x y"}), json!({}), json!({"a": 1})] {
        assert_eq!(
            check(&voyage(), &given).is_ok(),
            check_schema(&shown, &given).is_empty(),
            "{given}"
        );
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-4i64..4).prop_map(Value::from),
        (-4i32..4).prop_map(|n| Value::from(f64::from(n) / 2.0)),
        "[ab]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map("[ab]", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// One rule, written as a schema and as a plain predicate.
type Rule = (Value, fn(&Value, i32) -> bool);

fn rules(n: i32) -> Vec<Rule> {
    vec![
        (json!({"type": "integer"}), |v, _| v.as_f64().is_some_and(|f| f.fract() == 0.0)),
        (json!({"type": ["string", "array"]}), |v, _| v.is_string() || v.is_array()),
        (json!({"minimum": n}), |v, n| v.as_f64().is_none_or(|f| f >= f64::from(n))),
        (json!({"exclusiveMaximum": n}), |v, n| v.as_f64().is_none_or(|f| f < f64::from(n))),
        (json!({"multipleOf": n.abs() + 1}), |v, n| {
            v.as_f64().is_none_or(|f| f.rem_euclid(f64::from(n.abs() + 1)) == 0.0)
        }),
        (json!({"maxLength": n.abs()}), |v, n| {
            v.as_str().is_none_or(|s| i32::try_from(s.chars().count()).unwrap() <= n.abs())
        }),
        (json!({"pattern": "^a+$"}), |v, _| {
            v.as_str().is_none_or(|s| !s.is_empty() && s.chars().all(|c| c == 'a'))
        }),
        (json!({"const": n}), |v, n| v.as_f64() == Some(f64::from(n))),
        (json!({"minItems": n.abs()}), |v, n| {
            v.as_array().is_none_or(|a| i32::try_from(a.len()).unwrap() >= n.abs())
        }),
        (json!({"required": ["a"]}), |v, _| v.as_object().is_none_or(|m| m.contains_key("a"))),
        (json!({"properties": {"a": {"type": "string"}}}), |v, _| {
            v.get("a").is_none_or(Value::is_string)
        }),
        (json!({"properties": {"a": {}}, "additionalProperties": false}), |v, _| {
            v.as_object().is_none_or(|m| m.keys().all(|k| k == "a"))
        }),
    ]
}

proptest! {
    /// Every pair of rules agrees with the plain predicates.
    #[test]
    fn law_checking_agrees_with_an_oracle(value in value(), n in -3i32..3, one in 0usize..12, two in 0usize..12) {
        let (first, second) = (&rules(n)[one], &rules(n)[two]);
        let mut schema = first.0.clone();
        for (key, part) in second.0.as_object().unwrap() {
            prop_assume!(schema.get(key).is_none_or(|present| present == part));
            schema[key] = part.clone();
        }
        // `additionalProperties` sees the properties beside it, which the predicates do not.
        prop_assume!(one == two || ![10, 11].contains(&one) || ![10, 11].contains(&two));
        let expected = first.1(&value, n) && second.1(&value, n);
        prop_assert_eq!(check_schema(&schema, &value).is_empty(), expected, "{} {}", schema, value);
    }

    /// Combinations agree with the same combinations of the predicates.
    #[test]
    fn law_combinations_agree_with_an_oracle(
        value in value(), n in -3i32..3, at in proptest::collection::vec(0usize..12, 3),
    ) {
        let rules = rules(n);
        let schemas: Vec<&Value> = at.iter().map(|at| &rules[*at].0).collect();
        let holds: Vec<bool> = at.iter().map(|at| rules[*at].1(&value, n)).collect();
        let (a, b, c) = (schemas[0], schemas[1], schemas[2]);
        let count = holds.iter().filter(|holds| **holds).count();
        for (schema, expected) in [
            (json!({"allOf": schemas}), count == 3),
            (json!({"anyOf": schemas}), count > 0),
            (json!({"oneOf": schemas}), count == 1),
            (json!({"not": a}), !holds[0]),
            (json!({"if": a, "then": b, "else": c}), if holds[0] { holds[1] } else { holds[2] }),
            (json!({"anyOf": [{"$ref": "#/$defs/a"}, {"allOf": [b, {"$ref": "#/definitions/c"}]}],
                    "$defs": {"a": a}, "definitions": {"c": c}}),
             holds[0] || holds[1] && holds[2]),
            (json!({"not": {"anyOf": [a, {"not": b}]}}), !holds[0] && holds[1]),
        ] {
            prop_assert_eq!(check_schema(&schema, &value).is_empty(), expected, "{} {}", schema, value);
        }
    }

    /// Whatever the schema is, a check ends without a panic.
    #[test]
    fn law_any_value_may_be_a_schema(schema in value(), value in value()) {
        let _ = check_schema(&schema, &value);
        let _ = unsupported_keywords(&schema);
    }
}

#[test]
fn s19_what_is_not_read_alike_everywhere_is_refused() {
    let schema = json!({"type": "object"});
    let exact = 9_007_199_254_740_992_i64;
    for fine in [json!(exact), json!(-exact), json!(1.5e300), json!("a\u{1}"), json!(null)] {
        assert_eq!(codes(&schema, &json!({"a": fine})), [""; 0], "{fine}");
    }
    for (wrong, code) in [
        (json!(exact + 1), "NOT_EXACT"),
        (json!(-exact - 1), "NOT_EXACT"),
        (json!(u64::MAX), "NOT_EXACT"),
        (json!("a\0b"), "NUL_CHARACTER"),
    ] {
        assert_eq!(codes(&schema, &json!({"a": [wrong]})), [code], "{wrong}");
        let own = parameter("a", true, None, json!({}));
        let errors = check(&[own], &json!({"a": {"b": wrong}})).unwrap_err();
        assert_eq!((errors[0].code, errors[0].pointer.as_str()), (code, "/a/b"));
        // A server reads its own numbers.
        assert!(check_schema_of_server(&schema, &json!({"a": wrong})).is_empty());
    }
    // JSON has neither of these.
    for text in ["NaN", "Infinity", r#""\ud800""#, "1e999"] {
        assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
    }
}

#[test]
fn s10_a_pattern_made_to_take_forever_does_not() {
    let schema = json!({"type": "string", "pattern": "^(a+)+$"});
    let start = std::time::Instant::now();
    assert_eq!(codes(&schema, &json!("a".repeat(100 * 1024))), [""; 0]);
    assert_eq!(
        codes(&schema, &json!(format!("{}b", "a".repeat(100 * 1024)))),
        ["PATTERN_MISMATCH"]
    );
    // A bound with room for a busy machine; the figure asked for is 50 ms.
    assert!(start.elapsed().as_millis() < 500, "{:?}", start.elapsed());
}

#[test]
fn a_check_that_cannot_be_finished_refuses_where_it_counts() {
    let schema = json!({"type": "object", "properties": {
        "many": {"type": "array", "items": {"type": "integer"}},
        "safe": {"type": "string", "pattern": "^[a-z]+$"},
    }});
    let many = |count: usize| json!({"many": vec![1; count], "safe": "../../x"});
    assert_eq!(codes(&schema, &many(10)), ["PATTERN_MISMATCH"]);
    let cut = check_schema(&schema, &many(60_000));
    assert!(cut.iter().any(|error| error.code == "TOO_LARGE"), "{cut:?}");
    // A server checks its own arguments; there, what cannot be checked refuses nothing.
    let lenient = check_schema_of_server(&schema, &many(60_000));
    assert!(lenient.iter().all(|error| error.code != "TOO_LARGE"), "{lenient:?}");
}
