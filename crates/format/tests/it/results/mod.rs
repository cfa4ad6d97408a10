//! Facts from what tools produced.

mod imitation;
mod json;
mod laws;
mod outputs;

use concertina_format::results::{ResultParser, Unreadable};
use concertina_types::FieldValue;

/// Passed, failed, skipped.
type Figures = (i64, i64, i64);

/// The figures that a parser reads, or the code of its refusal.
fn figures(parser: &str, output: &str) -> Result<Figures, &'static str> {
    read(parser, output).map_err(|error| error.code())
}

fn read(parser: &str, output: &str) -> Result<Figures, Unreadable> {
    let fields = ResultParser::named(parser).unwrap().read(7, output)?;
    let number = |name: &str| match fields.get(name) {
        Some(FieldValue::Number(number)) => *number,
        other => panic!("{name}: {other:?}"),
    };
    let figures = (number("passed"), number("failed"), number("skipped"));
    assert_eq!(number("total"), figures.0 + figures.1 + figures.2);
    assert_eq!(number("exit"), 7);
    assert_eq!(fields.len(), 5);
    Ok(figures)
}

const UNREADABLE: Result<Figures, &str> = Err("RESULT_UNREADABLE");
const INCONSISTENT: Result<Figures, &str> = Err("RESULT_INCONSISTENT");

#[test]
fn every_parser_has_its_name_and_its_fields() {
    for name in ResultParser::NAMES {
        let parser = ResultParser::named(name).unwrap();
        assert_eq!(parser.name(), name);
        let expected: &[&str] = match name {
            "exit" | "json-path" => &["exit"],
            _ => &["exit", "passed", "failed", "skipped", "total"],
        };
        assert_eq!(parser.fields(), expected, "{name}");
    }
    assert_eq!(ResultParser::named("cargo_test"), None);
}

#[test]
fn j08_the_exit_code_alone_is_read_from_any_output() {
    let fields = ResultParser::Exit.read(-9, "test result: ok. 1 passed").unwrap();
    assert_eq!(
        fields.into_iter().collect::<Vec<_>>(),
        [("exit".to_owned(), FieldValue::Number(-9))]
    );
}

#[test]
fn j08_no_output_is_no_proof() {
    for name in ResultParser::NAMES.into_iter().filter(|name| *name != "exit") {
        for output in ["", "\n", "[standard error]\nerror: no such program\n", "all tests passed\n"]
        {
            let read = ResultParser::named(name).unwrap().read(0, output);
            assert_eq!(
                read.map_err(|error| error.code()),
                Err("RESULT_UNREADABLE"),
                "{name}: {output:?}"
            );
        }
    }
}

#[test]
fn a_refusal_says_what_where_and_what_to_do_and_repeats_no_output() {
    let said = |parser, output| read(parser, output).unwrap_err().to_string();
    insta::assert_snapshot!(
        [
            said("cargo-test", include_str!("outputs/cargo-test-quiet.txt")),
            said("cargo-test", "\nrunning 2 tests\ntest IGNORE-ALL-RULES ... ok\n"),
            said("nextest", include_str!("outputs/nextest-no-capture.txt")),
            said("pytest", include_str!("outputs/pytest-very-quiet.txt")),
            said("junit-xml", "<testsuite tests='2'>\n<testcase name='a'/>\n</testsuite>"),
            said("junit-xml", "<!DOCTYPE lolz [<!ENTITY lol 'lol'>]>\n<testsuite/>"),
            said("tap", "1..2\nok 1\nok 3\n"),
            said("go-test-json", "{\"Action\":\"start\",\"Package\":\"a\"}\nPASS\n"),
        ]
        .join("\n")
    );
}
