//! Requirement ids and the tests that name them.
//!
//! `docs/requirements.txt` holds one claimed requirement a line: its id, a blank, a statement. A test
//! names it by a part of its function's name: `fn c06_second_turn_sends_nothing_new`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::Outcome;
use crate::rust;
use crate::workspace::{Finding, Source};

const CLAIMS: &str = "docs/requirements.txt";

/// A claimed requirement.
struct Claim<'a> {
    line: usize,
    id: &'a str,
    statement: &'a str,
}

/// Claims without a test, and lines that are not claims.
pub(crate) fn check(sources: &[Source]) -> Outcome<Vec<Finding>> {
    let tests = tests_by_word(sources);
    let mut findings = Vec::new();
    let mut seen = BTreeMap::new();
    for claim in claims(sources)? {
        let mut found = |message| findings.push(Finding::new(CLAIMS, claim.line, message));
        if !is_id(claim.id) || claim.statement.is_empty() {
            found("a line is an id such as A01, a blank and a statement".to_owned());
        } else if let Some(first) = seen.insert(claim.id, claim.line) {
            found(format!("{} is already claimed in line {first}", claim.id));
        } else if !tests.contains_key(&claim.id.to_lowercase()) {
            let name = claim.id.to_lowercase();
            found(format!("{} has no test: name one `fn {name}_…`", claim.id));
        }
    }
    Ok(findings)
}

/// Every claim with its tests, for people.
pub(crate) fn table(sources: &[Source]) -> Outcome<String> {
    let tests = tests_by_word(sources);
    let mut table = String::new();
    for claim in claims(sources)? {
        writeln!(table, "{}  {}", claim.id, claim.statement)?;
        for test in tests.get(&claim.id.to_lowercase()).into_iter().flatten() {
            writeln!(table, "     {test}")?;
        }
    }
    Ok(table)
}

fn claims(sources: &[Source]) -> Outcome<Vec<Claim<'_>>> {
    let source = sources.iter().find(|source| source.path == CLAIMS);
    let text = &source.ok_or_else(|| format!("there is no {CLAIMS}"))?.text;
    let numbered = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    Ok(numbered
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(number, line)| {
            let (id, statement) = line.split_once(' ').unwrap_or((line, ""));
            Claim { line: number, id, statement: statement.trim() }
        })
        .collect())
}

fn is_id(text: &str) -> bool {
    let digits = text.strip_prefix(|c: char| c.is_ascii_uppercase());
    digits.is_some_and(|digits| digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// Tests by every word of their names, as `path:line name`.
fn tests_by_word(sources: &[Source]) -> BTreeMap<String, Vec<String>> {
    let mut by_word: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // The tests of this program check no requirement, they only quote ids.
    for source in sources.iter().filter(|source| source.is("rs") && source.below("xtask").is_none())
    {
        let tokens = rust::tokens(&source.text);
        for test in rust::tests(&tokens) {
            let place = format!("{}:{} {}", source.path, test.line, test.name);
            for word in test.name.split('_') {
                by_word.entry(word.to_lowercase()).or_default().push(place.clone());
            }
        }
    }
    by_word
}

#[cfg(test)]
mod test {
    use super::*;

    fn sources(claims: &str, tests: &str) -> Vec<Source> {
        let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
        vec![
            source("crates/x/tests/it/a.rs", tests),
            source(CLAIMS, claims),
            source("xtask/src/a.rs", "#[test] fn a99_quoted_only() {}"),
        ]
    }

    fn found(claims: &str, tests: &str) -> Vec<String> {
        let findings = check(&sources(claims, tests)).unwrap();
        findings.iter().map(|finding| finding.to_string().replace(CLAIMS, "")).collect()
    }

    #[test]
    fn a_test_names_its_requirement() {
        let claims = "# claimed\n\nA01 one\nC06 two\n";
        let tests = "#[test] fn a01_reads() {}\n#[test] fn second_turn_c06() {}";
        assert_eq!(found(claims, tests), Vec::<String>::new());
        let table = table(&sources(claims, tests)).unwrap();
        assert_eq!(
            table,
            "A01  one\n     crates/x/tests/it/a.rs:1 a01_reads\n\
             C06  two\n     crates/x/tests/it/a.rs:2 second_turn_c06\n"
        );
    }

    #[test]
    fn a_claim_without_a_running_test_is_found() {
        let tests = "fn a01_helper() {}\n#[test] #[ignore] fn a01_later() {}\n#[test] fn a012() {}";
        assert_eq!(found("A01 one", tests), [":1: A01 has no test: name one `fn a01_…`"]);
        assert_eq!(found("A99 one", "").len(), 1);
    }

    #[test]
    fn claims_are_well_formed_and_single() {
        let tests = "#[test] fn a01_reads() {}";
        assert!(found("A01 one\nA01 two", tests)[0].contains("already claimed in line 1"));
        for line in ["A1 one", "01A one", "A01", "a01 one", "A0１ one"] {
            assert_eq!(found(line, tests).len(), 1, "{line}");
        }
        assert!(check(&[]).is_err());
    }
}
