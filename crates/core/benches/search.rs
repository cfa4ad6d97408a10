//! How long it takes to build an index and to search it.

#![allow(clippy::unwrap_used, reason = "a benchmark may stop")]

use concertina_core::catalog::search::{Index, Kind, Query, SearchDocument};

fn main() {
    divan::main();
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

#[divan::bench(args = [1_000, 10_000, 22_000], sample_count = 5, sample_size = 1)]
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
