//! Real skills, where a directory of them is named by `CONCERTINA_CORPUS`.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;

use crate::kit::Place;

fn rows(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Blanks and line breaks count as one blank.
fn words(value: &Value) -> String {
    value.as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_real_skill_is_read_exactly_or_left_out_with_a_reason() {
    let Some(corpus) = std::env::var_os("CONCERTINA_CORPUS").map(PathBuf::from) else {
        eprintln!("skipped: CONCERTINA_CORPUS does not name a directory of real skills");
        return;
    };
    let place = Place::new();
    let began = Instant::now();
    let checked = place.run(&["skill", "check", corpus.to_str().unwrap(), "--json"]).json();
    let took = began.elapsed();
    let skills: HashMap<PathBuf, &Value> = checked["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (PathBuf::from(one["path"].as_str().unwrap()), one))
        .collect();
    let mut other = Vec::new();
    let expected = rows(&corpus.join("expected.jsonl"));
    for row in &expected {
        let file = row["file"].as_str().unwrap();
        let found = skills.get(&corpus.join(file)).copied().unwrap_or(&Value::Null);
        if ["name", "description"].iter().any(|key| words(&found[key]) != words(&row[key])) {
            other.push(file);
        }
    }
    let files = rows(&corpus.join("manifest.jsonl"));
    let mut unsaid = Vec::new();
    for row in &files {
        let file = row["file"].as_str().unwrap();
        let Some(found) = skills.get(&corpus.join(file)) else {
            unsaid.push(file);
            continue;
        };
        let reasons = found["diagnostics"].as_array().unwrap();
        let is_said = reasons.iter().any(|one| !one["message"].as_str().unwrap().is_empty());
        if found["status"] == "rejected" && !is_said {
            unsaid.push(file);
        }
    }
    eprintln!(
        "{} of {} names and descriptions exact; {} files, {}; {:.1} ms a file",
        expected.len() - other.len(),
        expected.len(),
        files.len(),
        checked["summary"],
        took.as_secs_f64() * 1_000.0 / f64::from(u32::try_from(files.len()).unwrap()),
    );
    assert!(other.is_empty(), "not as the YAML says: {other:?}");
    assert!(unsaid.is_empty(), "neither listed nor rejected with a reason: {unsaid:?}");
}
