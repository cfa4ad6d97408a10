//! Real skills: how often each rule speaks, and that it seldom speaks of well-kept ones.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use concertina_format::lint::{Summary, compare, lint};
use concertina_format::skill::{Mode, Origin, parse};
use concertina_types::Severity;
use serde_json::Value;

#[test]
fn a17_a18_well_kept_skills_get_few_warnings() {
    let Ok(corpus) = std::env::var("CONCERTINA_CORPUS") else {
        eprintln!("skipped: CONCERTINA_CORPUS is not set");
        return;
    };
    let corpus = Path::new(&corpus);
    let manifest = std::fs::read_to_string(corpus.join("manifest.jsonl")).unwrap();
    let shown = std::env::var("CONCERTINA_VERBOSE").unwrap_or_default();
    let mut counts: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    // `CONCERTINA_ALONE`: as if no other file were there, to see what would be called missing.
    let beside: Vec<String> =
        std::env::var("CONCERTINA_ALONE").map_or_else(|_| Vec::new(), |_| vec!["SKILL.md".into()]);
    let mut files = [0_usize; 3];
    let mut warned = 0;
    let mut slowest = (Duration::ZERO, String::new());
    let mut total = Duration::ZERO;
    let mut described = Vec::new();
    for line in manifest.lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        let file = entry["file"].as_str().unwrap();
        let group = usize::from(file.as_bytes()[0] - b'A').min(2);
        let path = Path::new(file);
        let directory = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
        let origin = Origin { directory, file: path.file_name().unwrap().to_str().unwrap() };
        let parsed = parse(&std::fs::read(corpus.join(file)).unwrap(), origin, Mode::Lenient);
        let Some(document) = &parsed.document else { continue };
        files[group] += 1;
        let start = Instant::now();
        let found = lint(document, parsed.body(), &beside);
        let took = start.elapsed();
        total += took;
        if took > slowest.0 {
            slowest = (took, file.to_owned());
        }
        let mut codes: Vec<&str> = found.iter().map(|found| found.code.as_ref()).collect();
        codes.sort_unstable();
        codes.dedup();
        for code in codes {
            counts.entry(code.to_owned()).or_default()[group] += 1;
        }
        let warnings = found.iter().filter(|found| found.severity == Severity::Warning).count();
        assert!(found.iter().all(|found| found.severity < Severity::Error), "{file}");
        warned += usize::from(group == 0 && warnings > 0);
        for found in found.iter().filter(|found| found.code == shown) {
            eprintln!("{file}:{}: {}", found.line.unwrap_or(0), found.message);
            if shown.starts_with("DESCRIPTION") || shown.starts_with("NO_NEG") {
                eprintln!("    {}", document.description.as_deref().unwrap_or_default());
            }
        }
        described.push((
            group,
            document.name.clone(),
            document.description.clone().unwrap_or_default(),
            file.to_owned(),
        ));
    }
    eprintln!("files in A, B, C: {files:?}; lint {total:?} in all, slowest {slowest:?}");
    for (code, counts) in &counts {
        eprintln!("{code:24} {counts:?}");
    }
    let summaries: Vec<_> =
        described.iter().map(|(_, name, description, _)| Summary { name, description }).collect();
    let start = Instant::now();
    let pairs = compare(&summaries);
    eprintln!(
        "compare: {} pairs of {} skills in {:?}",
        pairs.len(),
        summaries.len(),
        start.elapsed()
    );
    for pair in pairs.iter().filter(|pair| shown == pair.code) {
        let (a, b) = (&described[pair.first], &described[pair.second]);
        if a.1 != b.1 {
            eprintln!("{:.2} {} {}\n  {}\n  {}", pair.score, a.3, b.3, a.2, b.2);
        }
    }
    eprintln!("A: {warned} of {} with a warning", files[0]);
    if !beside.is_empty() {
        return;
    }
    assert!(
        warned * 100 <= files[0] * 15,
        "{warned} of {} well-kept skills are warned of",
        files[0]
    );
}
