//! The page on the lists of cases names tests that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The names of all functions in the tests of every crate.
fn tests(crates: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for package in fs::read_dir(crates).unwrap().flatten() {
        collect(&package.path().join("tests/it"), &mut names);
    }
    names
}

fn collect(directory: &Path, names: &mut BTreeSet<String>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            collect(&path, names);
        } else if let Ok(text) = fs::read_to_string(&path) {
            let functions = text.split("fn ").skip(1);
            names.extend(
                functions.filter_map(|rest| Some(rest.split_once('(')?.0.trim().to_owned())),
            );
            if text.contains("rows! {") {
                // Each row of such a table is a test.
                let rows =
                    text.lines().filter_map(|line| line.strip_prefix("    ")?.split_once(':'));
                names.extend(rows.map(|(name, _)| name.to_owned()));
            }
        }
    }
}

/// Whether the name of `test` holds the number of `id`, where it is of a list of which all tests do.
fn carries(test: &str, id: &str) -> bool {
    let has = |spelling: &str, number: &str| {
        format!("_{test}_").contains(&format!("_{spelling}{number:0>2}_"))
    };
    match id.split_once(' ') {
        Some(("security", number)) => has("s", number) || has("security_", number),
        Some(("advisory", number)) => has("advisory_", number),
        _ => true,
    }
}

#[test]
fn every_case_has_a_test_or_a_reason() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = fs::read_to_string(crates.join("../docs/case-lists.md")).unwrap();
    let tests = tests(crates);
    let mut ids = BTreeSet::new();
    for row in page.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [id, _, held] = cells[..] else { panic!("{row}") };
        if matches!(id, "case" | "report") {
            continue;
        }
        assert!(ids.insert(id.to_owned()), "{id} stands twice");
        if held.starts_with("No test: ") {
            continue;
        }
        let named: Vec<&str> = held.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "{id}");
        for test in named {
            assert!(tests.contains(test), "{id}: there is no test {test}");
            assert!(carries(test, id), "{id}: {test} does not carry the number");
        }
    }
    assert_eq!(ids.len(), 74 + 58 + 48 + 60 + 33);
}
