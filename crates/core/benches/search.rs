//! How long it takes to build an index and to search it, and what it holds in memory.
//!
//! After the table of the benchmarks come percentiles of single searches: a table of medians says
//! nothing of the slowest.

#![allow(clippy::unwrap_used, reason = "a benchmark may stop")]
#![allow(clippy::print_stdout, reason = "the figures are the point")]
#![allow(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]

use std::time::{Duration, Instant};

use concertina_core::catalog::search::{Index, Kind, Query, SearchDocument};

/// Counts what each benchmark allocates, at most and in all.
#[global_allocator]
static ALLOCATOR: divan::AllocProfiler = divan::AllocProfiler::system();

fn main() {
    divan::main();
    for count in [10_000, 30_000] {
        percentiles(count);
    }
}

/// Words with the skew of real text: a few are everywhere, most are rare.
fn words(seed: &mut u64, count: usize) -> String {
    let mut text = String::new();
    for _ in 0..count {
        *seed =
            seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // The cube of a uniform number, in 20,000 steps.
        let uniform = *seed >> 44;
        text.push_str(&syllables(((uniform.pow(3) >> 40) * 20_000) >> 20));
        text.push(' ');
    }
    text
}

fn syllables(mut rank: u64) -> String {
    const SYLLABLES: [&str; 16] = [
        "ba", "co", "de", "fi", "gu", "la", "mo", "ne", "pi", "ru", "sa", "te", "vo", "wi", "ya",
        "zo",
    ];
    let mut word = String::from("k");
    loop {
        word.extend(SYLLABLES.into_iter().nth(usize::try_from(rank % 16).unwrap()));
        rank /= 16;
        if rank == 0 {
            return word;
        }
    }
}

fn documents(count: usize) -> Vec<SearchDocument> {
    let mut seed = 7;
    (0..count)
        .map(|number| {
            let name = words(&mut seed, 3).trim().replace(' ', "_") + &number.to_string();
            let key = format!("tool:{name}").parse().unwrap();
            SearchDocument {
                description: words(&mut seed, 20),
                parameters: words(&mut seed, 30),
                body: words(&mut seed, 50),
                ..SearchDocument::new(key, Kind::Tool, name)
            }
        })
        .collect()
}

/// One changed document among so many.
#[divan::bench(args = [1_000, 10_000, 22_000], sample_count = 5, sample_size = 1)]
fn update(bencher: divan::Bencher, count: usize) {
    let documents = documents(count);
    let changed = documents.first().cloned().unwrap();
    let index = Index::build(documents);
    bencher.bench_local(|| index.updated([changed.clone()], &[]));
}

#[divan::bench(args = [1_000, 10_000, 22_000, 30_000], sample_count = 5, sample_size = 1)]
fn build(bencher: divan::Bencher, count: usize) {
    let documents = documents(count);
    bencher.with_inputs(|| documents.clone()).bench_values(Index::build);
}

/// A request of so many words, two of which are misspelt, among 10,000 documents.
#[divan::bench(args = [3, 12, 40], sample_count = 2_000, sample_size = 1)]
fn find_in_10_000(bencher: divan::Bencher, length: usize) {
    let index = Index::build(documents(10_000));
    let mut seed = 99;
    bencher
        .with_inputs(|| words(&mut seed, length) + "kbacodx kfigulax")
        .bench_local_refs(|text| index.find(&Query::new(text)));
}

/// The times of 4,000 searches of 3 to 40 words, one in ten with misspelt ones, among `count`
/// documents.
fn percentiles(count: usize) {
    let index = Index::build(documents(count));
    let mut seed = 5;
    let mut times: Vec<Duration> = (0..4_000)
        .map(|number| {
            let length = [3, 6, 12, 40].into_iter().nth(number % 4).unwrap();
            let misspelt = if number % 10 == 0 { "kbacodx kfigulax" } else { "" };
            let text = words(&mut seed, length) + misspelt;
            let start = Instant::now();
            divan::black_box(index.find(&Query::new(&text)));
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
    println!("find in {count}: p50 {:?}, p99 {:?}", at(50), at(99));
}
