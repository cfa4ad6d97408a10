//! The conformance suite against `concertina serve`, with a server behind it that has what the suite asks for.
//!
//! Every scenario is a row in `docs/conformance.md`. A result that differs from its row fails the run until the table
//! is written again, so the table says what is the case.

mod gateway;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
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

/// Client scenarios at once. Most of them wait for programs to start.
const AT_ONCE: usize = 3;

/// One run of one version of the suite.
#[derive(Debug)]
struct Suite {
    /// The revision whose wire it speaks.
    revision: &'static str,
    version: &'static str,
    package: &'static str,
    part: Part,
}

/// What Concertina is to the suite.
#[derive(Debug)]
enum Part {
    /// The server, for the scenarios that these words choose.
    Server(&'static [&'static str]),
    /// The client, in these scenarios. Those about logging in want a browser and are left out.
    Client(&'static [&'static str]),
}

const STABLE: &str = "@modelcontextprotocol/conformance";
const DRAFT: &str = "conformance-draft";
const DRAFT_VERSION: &str = "0.2.0-alpha.12";
const SUITES: &[Suite] = &[
    Suite {
        revision: "2025-06-18",
        version: "0.1.16",
        package: STABLE,
        part: Part::Server(&["--suite", "all", "--spec-version", "2025-06-18"]),
    },
    Suite {
        revision: "2025-11-25",
        version: "0.1.16",
        package: STABLE,
        part: Part::Server(&["--suite", "all", "--spec-version", "2025-11-25"]),
    },
    Suite {
        revision: "2025-11-25",
        version: DRAFT_VERSION,
        package: DRAFT,
        part: Part::Server(&["--requirements", "2025-11-25"]),
    },
    Suite {
        revision: "2026-07-28",
        version: DRAFT_VERSION,
        package: DRAFT,
        part: Part::Server(&["--requirements", "2026-07-28"]),
    },
    Suite {
        revision: "2025-11-25",
        version: DRAFT_VERSION,
        package: DRAFT,
        part: Part::Client(&[
            "initialize",
            "tools_call",
            "elicitation-sep1034-client-defaults",
            "sse-retry",
            "json-schema-2020-12-preservation",
        ]),
    },
    Suite {
        revision: "2026-07-28",
        version: DRAFT_VERSION,
        package: DRAFT,
        part: Part::Client(&[
            "tools_call",
            "request-metadata",
            "sep-2322-client-request-state",
            "http-standard-headers",
            "http-custom-headers",
            "http-invalid-tool-headers",
            "json-schema-ref-no-deref",
            "json-schema-2020-12-preservation",
        ]),
    },
];

impl Suite {
    fn name(&self) -> String {
        let Self { revision, version, .. } = self;
        let words = format!("conformance_{revision}_{version}_{}_is_as_recorded", self.side());
        words.replace(['-', '.'], "_")
    }

    fn side(&self) -> &'static str {
        match self.part {
            Part::Server(_) => "server",
            Part::Client(_) => "client",
        }
    }

    /// Which of its tools the server shows: with all of them they would stand in a closed menu.
    fn tools(&self) -> &'static str {
        if self.revision < "2026" { "--before-2026" } else { "--since-2026" }
    }

    /// A row without a result.
    fn row(&self, scenario: &str) -> Row {
        Row {
            revision: self.revision.to_owned(),
            version: self.version.to_owned(),
            side: self.side().to_owned(),
            scenario: scenario.to_owned(),
            result: String::new(),
            checks: Vec::new(),
        }
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
                Ok(found) => table::settle(&mut rows, &suite.row(""), found, choice.record),
            },
        };
        cases.push((suite.name(), verdict));
    }
    if choice.record == Record::Replace {
        fs::write(&document, table::write(&text, &rows)?)?;
    }
    Ok(cases)
}

/// Runs one suite and reads what it found.
fn measure(stage: &Stage, python: &Python, node: &Node, suite: &Suite) -> Outcome<Vec<Row>> {
    let results = tempfile::tempdir()?;
    let program = |word: &str| {
        let mut command = Command::new(node.program());
        command.arg(node.module(suite.package).join("dist/index.js")).arg(word);
        command.arg("--output-dir").arg(results.path());
        command
    };
    match suite.part {
        Part::Server(words) => {
            let gateway = Gateway::start(stage, python, suite.tools())?;
            wait(silently(program("server").args(["--url", &gateway.url()]).args(words))?)?;
        }
        Part::Client(scenarios) => {
            let script = stage.scripts.join("conformance_client.py");
            // The suite cuts this at blanks, so a path that holds one cannot be named.
            let client = format!("{} -W ignore {}", python.program().display(), script.display());
            for some in scenarios.chunks(AT_ONCE) {
                let start = |scenario: &&str| {
                    let mut command = program("client");
                    command.args(["--spec-version", suite.revision, "--scenario", scenario]);
                    command.args(["--command", &client]).envs(stage.variables(python, node));
                    silently(&mut command)
                };
                for child in some.iter().map(start).collect::<Outcome<Vec<_>>>()? {
                    wait(child)?;
                }
            }
        }
    }
    let rows = rows(results.path(), suite)?;
    if rows.is_empty() { Err("the suite ran no scenario".into()) } else { Ok(rows) }
}

fn silently(command: &mut Command) -> Outcome<Child> {
    Ok(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?)
}

/// Waits for the suite's end. Its exit code says whether everything passed, which is not asked here.
fn wait(mut child: Child) -> Outcome<()> {
    let end = Instant::now() + LIMIT;
    while child.try_wait()?.is_none() {
        if Instant::now() >= end {
            child.kill()?;
            child.wait()?;
            return Err(format!("the suite was stopped after {} seconds", LIMIT.as_secs()).into());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
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

/// `NAME-2026-01-31T01-02-03-456Z`, with `server-` before it on that side, without what differs between runs.
fn scenario(directory: &str) -> Option<&str> {
    const TIME: usize = "-2026-01-31T01-02-03-456Z".len();
    let name = directory.strip_prefix("server-").unwrap_or(directory);
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
    Row { result: result.to_owned(), checks: ids, ..suite.row(scenario) }
}

#[cfg(test)]
mod test {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_scenario_is_named_without_its_time() {
        assert_eq!(scenario("server-tools-list-2026-01-31T01-02-03-456Z"), Some("tools-list"));
        assert_eq!(scenario("tools_call-2026-01-31T01-02-03-456Z"), Some("tools_call"));
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
        assert_eq!(SUITES[3].name(), "conformance_2026_07_28_0_2_0_alpha_12_server_is_as_recorded");
    }
}
