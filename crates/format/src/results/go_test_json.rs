//! `go test -json`: one event a line.
//!
//! `go doc test2json` describes them. What a test prints is a string inside of an event, so it makes no event
//! of its own, unless it writes the marker with which `go test` tells its own lines from those of tests.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::lines::standard_output;
use super::{Counts, Unreadable};

pub(super) fn read(output: &str) -> Result<Counts, Unreadable> {
    let mut run = Run::default();
    let events = standard_output(output)?;
    // A package that stands behind the line would be missed, and the rest would look like a whole run.
    let rest = output.get(events.len()..).unwrap_or_default();
    if rest.lines().any(|line| serde_json::from_str::<Event>(line).is_ok()) {
        return Err(Unreadable::inconsistent("events of tests stand on standard error"));
    }
    for (before, line) in events.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let event = serde_json::from_str(line).map_err(|_| {
            Unreadable::new("the line is no event of `go test -json`, or only a part of one")
        });
        event.and_then(|event| run.event(event)).map_err(|error| error.at(before + 1))?;
    }
    run.end()
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    #[serde(default)]
    package: String,
    #[serde(default)]
    test: Option<String>,
}

#[derive(Default)]
struct Run {
    packages: BTreeMap<String, Package>,
    /// Whether something could not be built.
    build_failed: bool,
}

#[derive(Default)]
struct Package {
    counts: Counts,
    started: bool,
    running: BTreeSet<String>,
    ended: Option<Outcome>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    Skipped,
    Measured,
}

impl Run {
    fn event(&mut self, event: Event) -> Result<(), Unreadable> {
        let outcome = match event.action.as_str() {
            "pass" => Some(Outcome::Passed),
            "fail" => Some(Outcome::Failed),
            "skip" => Some(Outcome::Skipped),
            "bench" => Some(Outcome::Measured),
            "build-fail" | "build-output" => {
                self.build_failed |= event.action == "build-fail";
                return Ok(());
            }
            // Other actions change no result.
            _ => None,
        };
        let package = match self.packages.entry(event.package) {
            Entry::Vacant(entry) => entry.insert(Package::default()),
            Entry::Occupied(entry) => entry.into_mut(),
        };
        if package.ended.is_some() {
            return Err(Unreadable::inconsistent("an event follows the end of its package"));
        }
        match (event.test, outcome) {
            (Some(test), Some(outcome)) => package.finish(&test, outcome),
            (Some(test), None) if event.action == "run" => package.start(test),
            // The run before this one was broken off.
            (None, None)
                if event.action == "start" && std::mem::replace(&mut package.started, true) =>
            {
                Err(Unreadable::inconsistent("a package starts that is running already"))
            }
            (None, Some(outcome)) if outcome != Outcome::Measured => package.end(outcome),
            _ => Ok(()),
        }
    }

    fn end(self) -> Result<Counts, Unreadable> {
        if self.packages.is_empty() && !self.build_failed {
            return Err(Unreadable::new("there is no event of `go test -json`"));
        }
        let mut counts = Counts::default();
        for package in self.packages.into_values() {
            if package.ended.is_none() {
                let what = "a package has no end: the run or its output was broken off";
                return Err(Unreadable::new(what));
            }
            counts.add(package.counts);
        }
        if self.build_failed && counts.failed == 0 {
            return Err(Unreadable::inconsistent(
                "something could not be built, and no package failed",
            ));
        }
        Ok(counts)
    }
}

impl Package {
    fn start(&mut self, test: String) -> Result<(), Unreadable> {
        if self.running.insert(test) {
            return Ok(());
        }
        Err(Unreadable::inconsistent("a test starts that is running already"))
    }

    fn finish(&mut self, test: &str, outcome: Outcome) -> Result<(), Unreadable> {
        let was_running = self.running.remove(test);
        // Benchmarks end without a start of their own in some versions.
        if !was_running && outcome != Outcome::Measured {
            return Err(Unreadable::inconsistent("a test ends that is not running"));
        }
        match outcome {
            Outcome::Passed => self.counts.passed += 1,
            Outcome::Failed => self.counts.failed += 1,
            Outcome::Skipped => self.counts.skipped += 1,
            Outcome::Measured => {}
        }
        Ok(())
    }

    fn end(&mut self, outcome: Outcome) -> Result<(), Unreadable> {
        if outcome == Outcome::Failed {
            // Tests that a panic or the time limit kept from an end; where there is no failing test at all,
            // the package did not build or ended early.
            let unfinished = self.running.iter().fold(0_u64, |sum, _| sum + 1);
            self.counts.failed += unfinished;
            self.counts.failed = self.counts.failed.max(1);
        } else if self.counts.failed > 0 || !self.running.is_empty() {
            return Err(Unreadable::inconsistent("a package passed, and one of its tests did not"));
        }
        self.ended = Some(outcome);
        Ok(())
    }
}
