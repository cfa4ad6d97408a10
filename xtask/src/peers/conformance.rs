//! The conformance suite against `concertina serve`, with a server behind it that has what the suite asks for.
//!
//! Every scenario is a row in `docs/conformance.md`. A result that differs from its row fails the run until the table
//! is written again, so the table says what is the case.

mod gateway;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use self::gateway::Gateway;
use self::table::Row;
use super::install::{Missing, Node, Python};
use super::{Case, Choice, Record, Stage, Verdict};
use crate::Outcome;
use crate::workspace::Workspace;

/// For one run of one suite.
const LIMIT: Duration = Duration::from_mins(2);

/// One run of one version of the suite.
#[derive(Debug)]
struct Suite {
    /// The revision whose wire it speaks.
    revision: &'static str,
    version: &'static str,
    package: &'static str,
    /// Which scenarios it runs.
    scenarios: &'static [&'static str],
}

const STABLE: &str = "@modelcontextprotocol/conformance";
const DRAFT: &str = "conformance-draft";
const SUITES: &[Suite] = &[
    Suite {
        revision: "2025-06-18",
        version: "0.1.16",
        package: STABLE,
        scenarios: &["--suite", "all", "--spec-version", "2025-06-18"],
    },
    Suite {
        revision: "2025-11-25",
        version: "0.1.16",
        package: STABLE,
        scenarios: &["--suite", "all", "--spec-version", "2025-11-25"],
    },
    Suite {
        revision: "2025-11-25",
        version: "0.2.0-alpha.12",
        package: DRAFT,
        scenarios: &["--requirements", "2025-11-25"],
    },
    Suite {
        revision: "2026-07-28",
        version: "0.2.0-alpha.12",
        package: DRAFT,
        scenarios: &["--requirements", "2026-07-28"],
    },
];

impl Suite {
    fn name(&self) -> String {
        let words = format!("conformance_{}_{}_is_as_recorded", self.revision, self.version);
        words.replace(['-', '.'], "_")
    }

    /// Which of its tools the server shows: with all of them they would stand in a closed menu.
    fn tools(&self) -> &'static str {
        if self.revision < "2026" { "--before-2026" } else { "--since-2026" }
    }
}

/// A case for each suite: its scenarios end as `docs/conformance.md` says.
pub(super) fn run(
    workspace: &Workspace,
    stage: &Stage,
    needs: &Missing<(&Python, &Node)>,
    choice: Choice<'_>,
) -> Outcome<Vec<Case>> {
    let document = workspace.root.join("docs/conformance.md");
    let text = fs::read_to_string(&document)?;
    let mut rows = table::read(&text)?;
    let mut cases = Vec::new();
    for suite in
        SUITES.iter().filter(|suite| choice.only.is_none_or(|part| suite.name().contains(part)))
    {
        let verdict = match needs {
            Err(why) => Verdict::Skipped(why.clone()),
            Ok((python, node)) => match measure(stage, python, node, suite) {
                Err(why) => Verdict::Failed(why.to_string()),
                Ok(found) => {
                    table::settle(&mut rows, suite.revision, suite.version, found, choice.record)
                }
            },
        };
        cases.push((suite.name(), verdict));
    }
    if choice.record == Record::Replace {
        fs::write(&document, table::write(&text, &rows)?)?;
    }
    Ok(cases)
}

/// Runs one suite against a gateway of its own.
fn measure(stage: &Stage, python: &Python, node: &Node, suite: &Suite) -> Outcome<Vec<Row>> {
    let results = tempfile::tempdir()?;
    let gateway = Gateway::start(stage, python, suite.tools())?;
    let mut command = Command::new(node.program());
    command
        .arg(node.module(suite.package).join("dist/index.js"))
        .args(["server", "--url", &gateway.url(), "--output-dir"])
        .arg(results.path())
        .args(suite.scenarios)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn()?;
    let end = Instant::now() + LIMIT;
    // Its exit code says whether everything passed, which is not asked here.
    while child.try_wait()?.is_none() {
        if Instant::now() >= end {
            child.kill()?;
            child.wait()?;
            return Err(format!("the suite was stopped after {} seconds", LIMIT.as_secs()).into());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(gateway);
    let rows = rows(results.path(), suite)?;
    if rows.is_empty() { Err("the suite ran no scenario".into()) } else { Ok(rows) }
}

/// One row for each directory of results.
fn rows(results: &Path, suite: &Suite) -> Outcome<Vec<Row>> {
    let mut directories: Vec<PathBuf> =
        fs::read_dir(results)?.flatten().map(|entry| entry.path()).collect();
    directories.sort();
    let mut rows = Vec::new();
    for directory in directories {
        let name = directory.file_name().unwrap_or_default().to_string_lossy();
        let Some(scenario) = scenario(&name) else { continue };
        let checks = serde_json::from_slice(&fs::read(directory.join("checks.json"))?)?;
        rows.push(row(suite, scenario, &checks));
    }
    Ok(rows)
}

/// `server-NAME-2026-01-31T01-02-03-456Z`, without what differs between runs.
fn scenario(directory: &str) -> Option<&str> {
    const TIME: usize = "-2026-01-31T01-02-03-456Z".len();
    let name = directory.strip_prefix("server-")?;
    name.get(..name.len().checked_sub(TIME)?)
}

fn row(suite: &Suite, scenario: &str, checks: &Value) -> Row {
    let checks = checks.as_array().map_or(&[][..], Vec::as_slice);
    let word = |check: &Value, key: &str| {
        check.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let with = |status: &str| -> Vec<String> {
        let those = checks.iter().filter(|check| word(check, "status") == status);
        let mut ids: Vec<String> = those.map(|check| word(check, "id")).collect();
        ids.sort();
        ids.dedup();
        ids
    };
    let (failed, warned) = (with("FAILURE"), with("WARNING"));
    let (result, ids) = match (failed.is_empty(), warned.is_empty(), with("SUCCESS").is_empty()) {
        (false, ..) => ("failed", failed),
        (true, false, _) => ("passed, with a warning", warned),
        (true, true, false) => (table::PASSED, Vec::new()),
        (true, true, true) => ("not applicable", with("SKIPPED")),
    };
    Row {
        revision: suite.revision.to_owned(),
        version: suite.version.to_owned(),
        scenario: scenario.to_owned(),
        result: result.to_owned(),
        checks: ids,
    }
}

#[cfg(test)]
mod test {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_scenario_is_named_without_its_time() {
        assert_eq!(scenario("server-tools-list-2026-01-31T01-02-03-456Z"), Some("tools-list"));
        assert_eq!(scenario("client-tools-list-2026-01-31T01-02-03-456Z"), None);
        assert_eq!(scenario("server-x"), None);
    }

    #[test]
    fn one_failed_check_fails_a_scenario() {
        let check = |id: &str, status: &str| json!({"id": id, "status": status});
        for (checks, result, named) in [
            (json!([check("a", "SUCCESS"), check("b", "INFO")]), "passed", vec![]),
            (json!([check("a", "WARNING"), check("b", "FAILURE")]), "failed", vec!["b"]),
            (
                json!([check("b", "WARNING"), check("a", "SUCCESS")]),
                "passed, with a warning",
                vec!["b"],
            ),
            (json!([check("a", "SKIPPED")]), "not applicable", vec!["a"]),
        ] {
            let row = row(&SUITES[0], "x", &checks);
            assert_eq!(
                (row.result.as_str(), row.checks),
                (result, named.iter().map(|id| (*id).to_owned()).collect())
            );
        }
    }

    #[test]
    fn suites_have_names_of_their_own() {
        assert_eq!(SUITES[3].name(), "conformance_2026_07_28_0_2_0_alpha_12_is_as_recorded");
    }
}
