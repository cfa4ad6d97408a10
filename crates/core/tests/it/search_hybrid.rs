//! That meaning never costs much, on the sets of [`super::search_routing`]: with encoders that know
//! nothing, and with the vectors in the directory that `CONCERTINA_VECTORS` names, where there are
//! any: `NAME/documents.f32` and `NAME/queries.f32`, one vector after another in the order of the
//! set's files (`queries.jsonl`, then `none.jsonl`), in little-endian bytes.

#![allow(clippy::print_stderr, reason = "the measured figures are the point")]
#![allow(clippy::cast_precision_loss, reason = "counts of a few thousand")]
#![allow(clippy::disallowed_methods, reason = "the sets are files")]

use std::fs;
use std::path::Path;

use concertina_core::catalog::search::{Index, Query, SearchDocument, SearchDocumentMeta, Similar};

use crate::search_routing::{Score, directory, document, half, ids, list, rows, text};

const SETS: [&str; 4] = ["own", "metatool", "bfcl", "seal"];

/// What hybrid search may lose of hit@1 on any set.
const MAY_LOSE: f64 = 0.01;

struct Set {
    name: &'static str,
    index: Index,
    documents: Vec<SearchDocumentMeta>,
    requests: Vec<(String, Vec<String>)>,
}

fn set(name: &'static str) -> Option<Set> {
    let directory = directory()?.join(name);
    let rows_of = |file: &str| rows(&directory.join(file));
    let documents: Vec<SearchDocument> = rows_of("catalog.jsonl").iter().map(document).collect();
    let index = Index::build(documents.iter().cloned());
    let meta = |document: SearchDocument| {
        let SearchDocument { key, kind, title, name, group, .. } = document;
        SearchDocumentMeta { key, kind, title, name, group }
    };
    let requests = [rows_of("queries.jsonl"), rows_of("none.jsonl")].concat();
    let requests = requests.iter().map(|row| (text(row, "query"), list(row, "relevant"))).collect();
    Some(Set { name, index, documents: documents.into_iter().map(meta).collect(), requests })
}

/// Words alone and with the likenesses that `encoder` gives (request, document), by half and whole.
fn measure(
    set: &Set,
    what: &str,
    encoder: &dyn Fn(usize, usize) -> f32,
) -> Vec<(&'static str, Score, Score)> {
    let mut scores =
        ["tuned", "rest", "whole"].map(|part| (part, Score::default(), Score::default()));
    for (number, (request, relevant)) in set.requests.iter().enumerate() {
        if relevant.is_empty() {
            continue;
        }
        let similar = || {
            let likeness = |(at, document)| Similar { document, similarity: encoder(number, at) };
            set.documents.iter().enumerate().map(likeness).collect()
        };
        let query = Query { limit: 10, ..Query::new(request) };
        let words = set.index.find(&query);
        let hybrid = set.index.find_near(&query, similar);
        assert_eq!(words.enough, hybrid.enough, "{request}");
        for (part, by_words, by_both) in &mut scores {
            if *part == "whole" || *part == half(request) {
                by_words.add(&ids(&words), relevant, words.enough);
                by_both.add(&ids(&hybrid), relevant, hybrid.enough);
            }
        }
    }
    let scores = scores.map(|(part, words, both)| (part, words.mean(), both.mean()));
    for (part, words, both) in &scores {
        eprintln!(
            "{:<9} {what:<8} {part:<6} {:>5} requests: hit@1 {:.3} -> {:.3} ({:+.3}), R@5 {:.3} -> {:.3}",
            set.name,
            words.queries,
            words.first,
            both.first,
            both.first - words.first,
            words.in_five,
            both.in_five,
        );
    }
    scores.to_vec()
}

fn loses_little(set: &Set, what: &str, encoder: &dyn Fn(usize, usize) -> f32) {
    for (part, words, both) in measure(set, what, encoder) {
        let lost = words.first - both.first;
        // A half is measured with half the certainty.
        let may = if part == "whole" { MAY_LOSE } else { 2.0 * MAY_LOSE };
        assert!(lost <= may, "{} {part}: {words:?} {both:?}", set.name);
    }
}

/// A standard normal number for each pair, the same in each run (splitmix64, sum of twelve).
#[expect(clippy::cast_possible_truncation, reason = "16 of the 64 bits are enough")]
fn noise(seed: u64, request: usize, document: usize) -> f32 {
    let mut state = seed ^ (request as u64) << 32 ^ document as u64;
    let mut uniform = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) as u16
    };
    (0..12).map(|_| f32::from(uniform()) / 65_536.0).sum::<f32>() - 6.0
}

#[test]
fn an_encoder_that_knows_nothing_costs_nothing() {
    if directory().is_none() {
        return;
    }
    for set in SETS.iter().filter_map(|name| set(name)) {
        loses_little(&set, "constant", &|_, _| 1.0);
        for seed in 1..=3 {
            loses_little(&set, "random", &|request, document| noise(seed << 56, request, document));
        }
    }
}

struct Vectors {
    length: usize,
    documents: Vec<f32>,
    requests: Vec<f32>,
}

impl Vectors {
    fn read(directory: &Path, set: &Set) -> Self {
        let floats = |file: &str| -> Vec<f32> {
            let bytes = fs::read(directory.join(set.name).join(file)).unwrap();
            bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect()
        };
        let (documents, requests) = (floats("documents.f32"), floats("queries.f32"));
        let length = documents.len() / set.documents.len();
        assert_eq!(requests.len(), length * set.requests.len(), "{}", set.name);
        Self { length, documents, requests }
    }

    fn likeness(&self, request: usize, document: usize) -> f32 {
        let vector = |of: usize| of * self.length..(of + 1) * self.length;
        let pairs = self.requests[vector(request)].iter().zip(&self.documents[vector(document)]);
        pairs.map(|(a, b)| a * b).sum()
    }
}

#[test]
fn an_encoder_never_costs_a_point() {
    let Some(directory) = std::env::var_os("CONCERTINA_VECTORS") else {
        eprintln!("skipped: an_encoder_never_costs_a_point: CONCERTINA_VECTORS is not set");
        return;
    };
    for set in SETS.iter().filter_map(|name| set(name)) {
        let vectors = Vectors::read(Path::new(&directory), &set);
        loses_little(&set, "encoder", &|request, document| vectors.likeness(request, document));
        loses_little(&set, "reversed", &|request, document| -vectors.likeness(request, document));
    }
}
