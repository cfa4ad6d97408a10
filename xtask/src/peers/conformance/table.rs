//! The table in `docs/conformance.md`: read, compared, written.

use std::fmt::Write as _;

use crate::Outcome;
use crate::peers::{Record, Verdict};

const BEGIN: &str = "<!-- written by cargo xtask test --peers --bless: begin -->";
const END: &str = "<!-- end -->";
const HEAD: &str = "| revision | suite | Concertina is the | scenario | result | checks | why |\n|---|---|---|---|---|---|---|\n";

/// Why a scenario does not pass, in our own words, by the start of its name. A scenario that passes needs none.
const REASONS: &[(&str, &str)] = &[
    ("tasks-", "tasks are an extension that is not offered"),
    ("resources-subscribe", NO_SUBSCRIPTIONS),
    ("resources-unsubscribe", NO_SUBSCRIPTIONS),
    ("tools-call-sampling", NO_SAMPLING),
    ("input-required-result-basic-sampling", NO_SAMPLING),
    ("input-required-result-capability-check", NO_SAMPLING),
    ("input-required-result-multiple-input-requests", NO_SAMPLING),
    (
        "input-required-result-basic-list-roots",
        "servers are told no roots, or with `roots = true` the workspace; never the client's",
    ),
    ("input-required-result-", OWN_QUESTION),
    ("json-schema-2020-12", OWN_NAMES),
    ("request-metadata", OLD_FIRST),
    ("http-standard-headers", OLD_FIRST),
    ("http-custom-headers", "an argument is checked before it is sent, and `null` is no boolean"),
    ("http-custom-header-server-validation", "no tool of ours repeats an argument in a header"),
    (
        "server-stateless",
        "a server's error is the result of the call, with its code in words: the model can act on it",
    ),
];
const NO_SUBSCRIPTIONS: &str = "changes of one resource cannot be subscribed to";
const NO_SAMPLING: &str = "servers may not ask for a completion at the client's cost";
const OWN_QUESTION: &str =
    "a server's questions are asked one at a time, under a key and a state of Concertina's own";
const OLD_FIRST: &str = "a server of unknown age is asked in the older way first";
const OWN_NAMES: &str = "a tool is listed as `SERVER__TOOL`, or not at all when there are many";

/// The result that needs no reason.
pub(super) const PASSED: &str = "passed";

/// How one scenario ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) revision: String,
    pub(super) version: String,
    /// `server` or `client`: what Concertina is in it.
    pub(super) side: String,
    pub(super) scenario: String,
    pub(super) result: String,
    /// The checks that made it so, by the suite's own ids.
    pub(super) checks: Vec<String>,
}

/// The rows between the marks.
pub(super) fn read(document: &str) -> Outcome<Vec<Row>> {
    let (_, table, _) = parts(document)?;
    let cells = |line: &str| -> Vec<String> {
        let line = line.trim().trim_start_matches('|').trim_end_matches('|');
        line.split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect()
    };
    let mut rows = Vec::new();
    for line in table.lines().filter(|line| line.starts_with("| 20")) {
        let Ok([revision, version, side, scenario, result, checks, _]) =
            <[_; 7]>::try_from(cells(line))
        else {
            return Err(format!("not a row of seven cells: {line}").into());
        };
        let checks = checks.split(", ").filter(|id| !id.is_empty()).map(str::to_owned).collect();
        rows.push(Row { revision, version, side, scenario, result, checks });
    }
    Ok(rows)
}

/// The document with these rows.
pub(super) fn write(document: &str, rows: &[Row]) -> Outcome<String> {
    let (before, _, after) = parts(document)?;
    let mut rows: Vec<&Row> = rows.iter().collect();
    rows.sort_by_key(|row| (&row.side, &row.revision, &row.version, &row.scenario));
    let mut table = HEAD.to_owned();
    for row in rows {
        let why = REASONS.iter().find(|(start, _)| row.scenario.starts_with(start));
        let why = why.filter(|_| row.result != PASSED).map_or("", |(_, why)| why);
        let Row { revision, version, side, scenario, result, checks } = row;
        let checks = checks.join(", ");
        writeln!(
            table,
            "| {revision} | {version} | {side} | `{scenario}` | {result} | {checks} | {why} |"
        )?;
    }
    Ok(format!("{before}{BEGIN}\n{table}{END}{after}"))
}

/// Compares what one suite found with its rows, or puts it in their place. `suite` is any row of it.
pub(super) fn settle(rows: &mut Vec<Row>, suite: &Row, found: Vec<Row>, record: Record) -> Verdict {
    let of = |row: &Row| (row.revision.clone(), row.version.clone(), row.side.clone());
    let own = |row: &Row| of(row) == of(suite);
    if record == Record::Replace {
        rows.retain(|row| !own(row));
        rows.extend(found);
        return Verdict::Passed;
    }
    let recorded: Vec<&Row> = rows.iter().filter(|row| own(row)).collect();
    let mut changes = Vec::new();
    for row in &found {
        match recorded.iter().find(|known| known.scenario == row.scenario) {
            Some(known) if *known == row => {}
            Some(known) => {
                changes.push(format!("{} {}, was {}", row.scenario, said(row), said(known)));
            }
            None => changes.push(format!("{} {}, was not run", row.scenario, said(row))),
        }
    }
    let missing = |known: &&&Row| !found.iter().any(|row| row.scenario == known.scenario);
    changes
        .extend(recorded.iter().filter(missing).map(|row| format!("{} was not run", row.scenario)));
    if changes.is_empty() {
        return Verdict::Passed;
    }
    Verdict::Failed(format!(
        "{}; `cargo xtask test --peers --bless` writes the table again",
        changes.join("; ")
    ))
}

fn said(row: &Row) -> String {
    if row.checks.is_empty() {
        row.result.clone()
    } else {
        format!("{} ({})", row.result, row.checks.join(", "))
    }
}

/// What is before, between and after the marks.
fn parts(document: &str) -> Outcome<(&str, &str, &str)> {
    let (before, rest) =
        document.split_once(BEGIN).ok_or("docs/conformance.md has no place for the table")?;
    let (table, after) =
        rest.split_once(END).ok_or("the table in docs/conformance.md has no end")?;
    Ok((before, table, after))
}

#[cfg(test)]
mod test {
    use super::*;

    fn row(scenario: &str, result: &str, checks: &[&str]) -> Row {
        Row {
            revision: "2025-06-18".to_owned(),
            version: "0.1.16".to_owned(),
            side: "server".to_owned(),
            scenario: scenario.to_owned(),
            result: result.to_owned(),
            checks: checks.iter().map(|id| (*id).to_owned()).collect(),
        }
    }

    fn settled(rows: &[Row], found: &[Row], record: Record) -> (Verdict, Vec<Row>) {
        let mut rows = rows.to_vec();
        let verdict = settle(&mut rows, &row("", "", &[]), found.to_vec(), record);
        (verdict, rows)
    }

    #[test]
    fn what_is_written_is_read_back() {
        let rows = [row("a", "passed", &[]), row("b", "failed", &["x", "y"])];
        let document = format!("Before.\n\n{BEGIN}\n{END}\n\nAfter.\n");
        let written = write(&document, &rows).unwrap();
        assert!(written.starts_with("Before.\n") && written.ends_with("After.\n"), "{written}");
        assert_eq!(read(&written).unwrap(), rows);
        assert_eq!(write(&written, &rows).unwrap(), written);
    }

    #[test]
    fn every_change_fails_until_it_is_recorded() {
        let known = [row("a", "passed", &[]), row("b", "failed", &["x"])];
        assert_eq!(settled(&known, &known, Record::Compare).0, Verdict::Passed);
        for found in [
            vec![row("a", "failed", &["z"]), row("b", "failed", &["x"])],
            vec![row("a", "passed", &[]), row("b", "failed", &["y"])],
            vec![row("a", "passed", &[])],
            vec![row("a", "passed", &[]), row("b", "failed", &["x"]), row("c", "passed", &[])],
        ] {
            let (verdict, rows) = settled(&known, &found, Record::Compare);
            assert!(matches!(verdict, Verdict::Failed(_)), "{found:?}");
            assert_eq!(rows, known);
            assert_eq!(settled(&known, &found, Record::Replace), (Verdict::Passed, found));
        }
    }

    #[test]
    fn a_table_belongs_to_its_suite() {
        let known = row("a", "failed", &["x"]);
        let newer = Row { version: "0.2.0".to_owned(), ..known.clone() };
        let client = Row { side: "client".to_owned(), ..known.clone() };
        let found = [row("a", "passed", &[])];
        let (_, rows) = settled(&[newer.clone(), client.clone(), known], &found, Record::Replace);
        assert_eq!(rows, [newer, client, found[0].clone()]);
    }

    #[test]
    fn a_document_without_a_place_is_an_error() {
        assert!(read("nothing").is_err());
        assert!(read(&format!("{BEGIN}\n| 2025 | x |\n{END}")).is_err());
    }
}
