//! Single values of a JSON text.

use std::collections::BTreeMap;

use concertina_format::results::{JsonPath, ResultParser};
use concertina_types::FieldValue;
use proptest::prelude::*;

const REPORT: &str = r#"{"passed": 12, "ok": true, "name": "lamp", "share": 0.5, "big": 9007199254740993,
  "huge": 18446744073709551615, "none": null, "suites": [{"two words": -3}], "größe": 1, "a.b": {"'": 2}}"#;

fn field(path: &str, output: &str) -> Result<FieldValue, (&'static str, String)> {
    let paths = BTreeMap::from([("value".to_owned(), path.parse().unwrap())]);
    let fields = ResultParser::JsonPath(paths).read(0, output);
    fields.map(|fields| fields["value"].clone()).map_err(|error| (error.code(), error.to_string()))
}

#[test]
fn j08_single_values_are_facts() {
    for (path, expected) in [
        ("$.passed", FieldValue::Number(12)),
        ("$.ok", FieldValue::Flag(true)),
        ("$['name']", FieldValue::from("lamp")),
        (r#"$.suites[0]["two words"]"#, FieldValue::Number(-3)),
        ("$.größe", FieldValue::Number(1)),
        (r"$['a.b']['\'']", FieldValue::Number(2)),
    ] {
        assert_eq!(field(path, REPORT), Ok(expected), "{path}");
    }
    assert_eq!(field("$", "3\n[standard error]\nwarning: {\n"), Ok(FieldValue::Number(3)));
}

#[test]
fn j08_what_is_no_single_whole_value_is_refused_with_a_way_out() {
    let said = |path| field(path, REPORT).unwrap_err().1;
    insta::assert_snapshot!(
        [
            "$.share",
            "$.big",
            "$.huge",
            "$.none",
            "$.suites",
            "$.suites[1]",
            "$['a.b']",
            "$.passed.more"
        ]
        .map(said)
        .join("\n")
    );
    let long = quoted(&"é".repeat(1_001));
    assert_eq!(field("$", &long).unwrap_err().0, "RESULT_UNREADABLE");
    assert!(field("$", &quoted(&"é".repeat(1_000))).is_ok());
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

#[test]
fn j04_json_that_is_cut_doubled_or_ambiguous_is_refused() {
    for output in [
        "{\"value\": 1",
        "{\"value\": 1} {\"value\": 2}",
        "{\"value\": 1}\nvalue: 2",
        "{\"value\": 3, \"value\": 0}",
        "{\"deep\": {\"value\": 3, \"v\\u0061lue\": 0}, \"value\": 1}",
        "note\n{\"value\": 1}",
        "{\"value\": 1e0}",
        "{\"value\": -0}",
        "[standard error]\n{\"value\": 1}",
        &"[".repeat(100_000),
    ] {
        let code = field("$.value", output).unwrap_err().0;
        assert_eq!(code, "RESULT_UNREADABLE", "{output:.60}");
    }
}

#[test]
fn the_exit_code_cannot_be_replaced_by_a_value() {
    let paths = BTreeMap::from([("exit".to_owned(), "$.passed".parse().unwrap())]);
    let parser = ResultParser::JsonPath(paths);
    assert_eq!(parser.fields(), ["exit"]);
    assert_eq!(parser.read(1, REPORT).unwrap_err().code(), "RESULT_UNREADABLE");
}

#[test]
fn a_path_to_more_than_one_value_or_of_another_grammar_is_refused() {
    for path in [
        "",
        "passed",
        "$.",
        "$..a",
        "$.*",
        "$[*]",
        "$[-1]",
        "$[01]",
        "$[1:2]",
        "$[?@.a]",
        "$['a','b']",
        "$['a'",
        "$['a",
        "$.1a",
        "$.a-b",
        "$ .a",
        "$.a ",
        "$[ 0 ]",
        "$['\\n']",
        "$['\n']",
        "$[4294967296]",
        "$[]",
        "$.a]",
    ] {
        let error = path.parse::<JsonPath>().expect_err(path);
        assert_eq!(error.code(), "JSON_PATH_INVALID", "{path}");
    }
    let error = "$.suites[*]".parse::<JsonPath>().unwrap_err();
    insta::assert_snapshot!(error);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_path_is_written_as_it_is_read(steps in prop::collection::vec(
        prop_oneof!["\\.[a-zé_][a-z0-9é_]{0,3}", "\\[[0-9]\\]", "\\['([ -&(-\\[\\]-~é.灯]|\\\\')*'\\]"], 0..5,
    )) {
        let path: JsonPath = format!("${}", steps.concat()).parse().unwrap();
        let written = path.to_string();
        prop_assert_eq!(written.parse::<JsonPath>().unwrap(), path);
    }

    #[test]
    fn no_path_causes_a_panic(text in "\\$?[.$\\[\\]'\"\\\\a0é* ]{0,12}") {
        if let Ok(path) = text.parse::<JsonPath>() {
            prop_assert_eq!(path.to_string().parse::<JsonPath>().unwrap(), path);
        }
    }
}
