//! That meaning never costs much, on the sets of [`super::routing`]: with encoders that know nothing,
//! and with the vectors in the directory that `CONCERTINA_VECTORS` names, where there are any:
//! `NAME/documents.f32` and `NAME/queries.f32`, one vector after another in the order of the set's
//! files (`queries.jsonl`, then `none.jsonl`), in little-endian bytes.

#![allow(clippy::print_stderr, reason = "the measured figures are the point")]

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use concertina_core::catalog::search::{SearchDocument, SearchDocumentMeta, Similar};
use concertina_runtime::eval::{Figures, LabelledSet, Route, RouteOptions};
use serde_json::Value;

use crate::routing::{directory, is_tuned, read};

const SETS: [&str; 4] = ["own", "metatool", "bfcl", "seal"];

/// What hybrid search may lose of hit@1 on any set.
const MAY_LOSE: f64 = 0.01;

/// That a search by words alone loses little where it is given the likenesses of `encoder` (request,
/// document, both by their number in `set`), over half of the requests and over all.
fn loses_little(name: &str, set: &LabelledSet, what: &str, encoder: &dyn Fn(usize, usize) -> f32) {
    let options = RouteOptions::default();
    let meta = |document: SearchDocument| {
        let SearchDocument { key, kind, title, name, group, .. } = document;
        SearchDocumentMeta { key, kind, title, name, group }
    };
    let documents: Vec<SearchDocumentMeta> = set.documents().map(meta).collect();
    let mut number = 0;
    let words = Route::of(set, &options);
    let both = Route::by(set, &options, |index, query, _| {
        let similar = || {
            let likeness = |(at, document)| Similar { document, similarity: encoder(number, at) };
            documents.iter().enumerate().map(likeness).collect()
        };
        let answer = index.find_near(query, similar);
        number += 1;
        answer
    });
    let figures = |route: &Route<'_>| {
        [
            ("tuned", route.figures(is_tuned)),
            ("rest", route.figures(|request| !is_tuned(request))),
            ("whole", route.figures(|_| true)),
        ]
    };
    for ((part, words), (_, both)) in figures(&words).into_iter().zip(figures(&both)) {
        let first = |figures: &Figures| figures.hit_at_1.unwrap();
        let in_five = |figures: &Figures| figures.recall_at_5.unwrap();
        eprintln!(
            "{name:<9} {what:<8} {part:<6} {:>5} requests: hit@1 {:.3} -> {:.3} ({:+.3}), R@5 {:.3} -> {:.3}",
            words.answerable,
            first(&words),
            first(&both),
            first(&both) - first(&words),
            in_five(&words),
            in_five(&both),
        );
        // A half is measured with half the certainty.
        let may = if part == "whole" { MAY_LOSE } else { 2.0 * MAY_LOSE };
        assert!(first(&words) - first(&both) <= may, "{name} {part}: {words:?} {both:?}");
        assert_eq!(words.answerable_kept, both.answerable_kept, "{name} {part}");
        assert_eq!(words.abstained, both.abstained, "{name} {part}");
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
    for (name, set) in SETS.iter().filter_map(|name| Some((name, read(name)?))) {
        loses_little(name, &set, "constant", &|_, _| 1.0);
        for seed in 1..=3 {
            let random = |request, document| noise(seed << 56, request, document);
            loses_little(name, &set, "random", &random);
        }
    }
}

struct Vectors {
    length: usize,
    /// The place of each document of the set in the file.
    places: Vec<usize>,
    documents: Vec<f32>,
    requests: Vec<f32>,
}

impl Vectors {
    fn read(directory: &Path, catalog: &Path, set: &LabelledSet) -> Self {
        let floats = |file: &str| -> Vec<f32> {
            let bytes = fs::read(directory.join(file)).unwrap();
            bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect()
        };
        let (documents, requests) = (floats("documents.f32"), floats("queries.f32"));
        let length = documents.len() / set.rows().len();
        assert_eq!(requests.len(), length * set.requests().count(), "{}", directory.display());
        let text = fs::read_to_string(catalog).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let place_of: HashMap<String, usize> = lines
            .enumerate()
            .map(|(place, row)| (row["id"].as_str().unwrap().to_owned(), place))
            .collect();
        let places = set.rows().iter().map(|row| place_of[&row.id]).collect();
        Self { length, places, documents, requests }
    }

    fn likeness(&self, request: usize, document: usize) -> f32 {
        let vector = |of: usize| of * self.length..(of + 1) * self.length;
        let document = &self.documents[vector(self.places[document])];
        self.requests[vector(request)].iter().zip(document).map(|(a, b)| a * b).sum()
    }
}

#[test]
fn an_encoder_never_costs_a_point() {
    let Some(vectors) = std::env::var_os("CONCERTINA_VECTORS") else {
        eprintln!("skipped: an_encoder_never_costs_a_point: CONCERTINA_VECTORS is not set");
        return;
    };
    let Some(sets) = directory() else { return };
    for (name, set) in SETS.iter().filter_map(|name| Some((name, read(name)?))) {
        let catalog = sets.join(name).join("catalog.jsonl");
        let vectors = Vectors::read(&Path::new(&vectors).join(name), &catalog, &set);
        let encoder = |request, document| vectors.likeness(request, document);
        loses_little(name, &set, "encoder", &encoder);
        loses_little(name, &set, "reversed", &|request, document| -encoder(request, document));
    }
}
