//! How well requests find what serves them, on the sets in the directory that the environment
//! variable `CONCERTINA_ROUTING` names: `NAME/catalog.jsonl`, `NAME/queries.jsonl` and, where there
//! is one, `NAME/none.jsonl`.

#![allow(clippy::print_stderr, reason = "the measured figures are the point")]
#![allow(clippy::cast_precision_loss, reason = "counts of a few thousand")]
#![allow(clippy::disallowed_methods, reason = "the sets are files")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use concertina_core::catalog::search::{Answer, Index, Kind, Query, SearchDocument};
use serde_json::Value;

pub(crate) fn directory() -> Option<PathBuf> {
    let named = std::env::var_os("CONCERTINA_ROUTING");
    if named.is_none() {
        eprintln!("skipped: CONCERTINA_ROUTING names no directory of routing sets");
    }
    named.map(PathBuf::from)
}

pub(crate) fn rows(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn text(row: &Value, key: &str) -> String {
    row[key].as_str().unwrap_or_default().into()
}

pub(crate) fn list(row: &Value, key: &str) -> Vec<String> {
    let items = row[key].as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().map(|item| item.as_str().unwrap().into()).collect()
}

pub(crate) fn document(row: &Value) -> SearchDocument {
    // The ids hold `#`, which a reference writes as `%23`.
    let key = format!("skill:{}", text(row, "id").replace('#', "%23")).parse().unwrap();
    SearchDocument {
        description: text(row, "description"),
        parameters: text(row, "params"),
        body: text(row, "body"),
        examples: list(row, "examples"),
        not_for: list(row, "not_for"),
        ..SearchDocument::new(key, Kind::Skill, text(row, "name"))
    }
}

pub(crate) fn ids(answer: &Answer) -> Vec<String> {
    let id = |key: String| key.trim_start_matches("skill:").replace("%23", "#");
    answer.ranking().iter().map(|hit| id(hit.reference.to_string())).collect()
}

#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Score {
    pub(crate) queries: f64,
    pub(crate) first: f64,
    pub(crate) in_five: f64,
    in_ten: f64,
    answered: f64,
}

impl Score {
    pub(crate) fn add(&mut self, found: &[String], relevant: &[String], answered: bool) {
        let among = |k: usize| {
            let held = found.iter().take(k).filter(|id| relevant.contains(id)).count();
            held as f64 / relevant.len().max(1) as f64
        };
        self.queries += 1.0;
        self.first += f64::from(found.first().is_some_and(|id| relevant.contains(id)));
        self.in_five += among(5);
        self.in_ten += among(10);
        self.answered += f64::from(answered);
    }

    pub(crate) fn mean(self) -> Self {
        Self {
            queries: self.queries,
            first: self.first / self.queries,
            in_five: self.in_five / self.queries,
            in_ten: self.in_ten / self.queries,
            answered: self.answered / self.queries,
        }
    }
}

/// FNV-1a: which half of a set a request belongs to. One half was tuned on.
pub(crate) fn half(request: &str) -> &'static str {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let hash = request.bytes().fold(0xcbf2_9ce4_8422_2325, mix);
    if hash >> 20 & 1 == 0 { "tuned" } else { "rest" }
}

/// The scores by kind of request, over everything and over each half.
fn measure(set: &str) -> Option<BTreeMap<String, Score>> {
    let set = directory()?.join(set);
    let index = Index::build(rows(&set.join("catalog.jsonl")).iter().map(document));
    let mut scores: BTreeMap<String, Score> = BTreeMap::new();
    let requests = ["queries.jsonl", "none.jsonl"].map(|file| rows(&set.join(file)));
    for row in requests.iter().flatten() {
        let (request, relevant) = (text(row, "query"), list(row, "relevant"));
        let answer = index.find(&Query { limit: 10, ..Query::new(&request) });
        let none = if relevant.is_empty() { "none" } else { "all" };
        let mut keys = vec![none.to_owned(), format!("{none}, {}", half(&request))];
        if row["lang"].is_string() && !relevant.is_empty() {
            let (kind, lang) = (text(row, "kind"), text(row, "lang"));
            keys.extend((kind != "cross").then(|| format!("lang {lang}")));
            keys.push(kind);
        }
        for key in keys {
            scores.entry(key).or_default().add(&ids(&answer), &relevant, answer.enough);
        }
    }
    for score in scores.values_mut() {
        *score = score.mean();
    }
    eprintln!("{} ({} documents)", set.display(), index.len());
    for (key, score) in &scores {
        let Score { queries, first, in_five, in_ten, answered } = score;
        eprintln!(
            "  {key:<12} {queries:>5} requests: hit@1 {first:.3}, R@5 {in_five:.3}, R@10 {in_ten:.3}, answered {answered:.3}"
        );
    }
    Some(scores)
}

#[test]
fn toole_hit_and_recall() {
    let Some(scores) = measure("metatool") else { return };
    let all = scores["all"];
    assert!(all.first >= 0.44 && all.in_five >= 0.65, "{all:?}");
}

#[test]
fn bfcl_recall_and_abstention() {
    let Some(scores) = measure("bfcl") else { return };
    let (all, none) = (scores["all"], scores["none"]);
    assert!(all.in_five >= 0.70 && all.in_ten >= 0.82, "{all:?}");
    assert!(all.answered >= 0.95 && none.answered <= 0.65, "{all:?} {none:?}");
}

#[test]
fn seal_tools_hit() {
    let Some(scores) = measure("seal") else { return };
    assert!(scores["all"].first >= 0.94, "{:?}", scores["all"]);
}

/// hit@1 and recall@10 that plain BM25 over all fields reaches.
const PLAIN: [(&str, f64, f64); 5] = [
    ("direct", 1.0, 1.0),
    ("paraphrase", 0.19, 0.54),
    ("body", 0.90, 0.99),
    ("confusable", 0.60, 0.87),
    ("multi", 0.68, 0.77),
];

#[test]
fn own_set_reaches_plain_bm25_for_every_kind() {
    let Some(scores) = measure("own") else { return };
    for (kind, first, in_ten) in PLAIN {
        let score = scores[kind];
        assert!(score.first >= first && score.in_ten >= in_ten, "{kind}: {score:?}");
    }
    assert!(scores["lang zh"].first >= 0.62, "{:?}", scores["lang zh"]);
}

/// `not_for` should part siblings that are easily confused; at the least it must not mislead.
#[test]
fn not_for_does_not_favour_the_wrong_sibling() {
    let Some(set) = directory().map(|directory| directory.join("own")) else { return };
    let documents: Vec<_> = rows(&set.join("catalog.jsonl")).iter().map(document).collect();
    let plain = documents.iter().cloned().map(|mut document| {
        document.not_for.clear();
        document
    });
    let indexes = [Index::build(plain), Index::build(documents.clone())];
    let meta: Value =
        serde_json::from_str(&fs::read_to_string(set.join("META.json")).unwrap()).unwrap();
    let pairs: Vec<Vec<String>> = serde_json::from_value(meta["pairs"].clone()).unwrap();
    let requests = rows(&set.join("queries.jsonl"));
    let [without, with] = indexes.map(|index| {
        let wrong = requests.iter().filter(|row| text(row, "kind") == "confusable").filter(|row| {
            let right = &list(row, "relevant")[0];
            let request = text(row, "query");
            let answer = index.find(&Query { limit: usize::MAX, ..Query::new(&request) });
            let order = ids(&answer);
            let place = |id: &String| order.iter().position(|found| found == id);
            let place_of_right = place(right).unwrap_or(usize::MAX);
            pairs
                .iter()
                .filter(|pair| pair.contains(right))
                .flatten()
                .any(|sibling| place(sibling).is_some_and(|place| place < place_of_right))
        });
        wrong.count()
    });
    eprintln!("confusable: the sibling stands above {without} times without not_for, {with} with");
    assert!(with <= without);
}
