//! Throughput of the count, ours and that of the reference, and what the first count costs.
//!
//! `cargo bench -p concertina-tokens`. The text is that of the directory `CONCERTINA_CORPUS` names,
//! up to 4 MB of it, or else the sources of this package.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a bench reads its text from files and fails by panicking"
)]

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::sync::LazyLock;

use divan::Bencher;
use divan::counter::BytesCount;
use tiktoken_rs::CoreBPE;

fn main() {
    divan::main();
}

static TEXT: LazyLock<String> = LazyLock::new(|| {
    let directory = std::env::var("CONCERTINA_CORPUS")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/src").to_owned());
    let mut text = String::new();
    read_below(Path::new(&directory), &mut text);
    text
});

fn read_below(directory: &Path, text: &mut String) {
    let mut entries: Vec<_> = fs::read_dir(directory).unwrap().flatten().collect();
    entries.sort_by_key(fs::DirEntry::path);
    for entry in entries {
        if text.len() > 4_000_000 {
            return;
        }
        if entry.path().is_dir() {
            read_below(&entry.path(), text);
        } else if let Ok(content) = fs::read_to_string(entry.path()) {
            text.push_str(&content);
        }
    }
}

static REFERENCE: LazyLock<CoreBPE> = LazyLock::new(|| tiktoken_rs::o200k_base().unwrap());

#[divan::bench(sample_count = 10)]
fn count_ours(bencher: Bencher<'_, '_>) {
    bencher
        .counter(BytesCount::of_str(TEXT.as_str()))
        .bench(|| concertina_tokens::count(black_box(&TEXT)));
}

#[divan::bench(sample_count = 3)]
fn count_reference(bencher: Bencher<'_, '_>) {
    LazyLock::force(&REFERENCE);
    bencher
        .counter(BytesCount::of_str(TEXT.as_str()))
        .bench(|| REFERENCE.encode_ordinary(black_box(&TEXT)).len());
}

#[divan::bench]
fn a_short_text_ours() -> u64 {
    concertina_tokens::count(black_box("Hello, world!")).0
}

#[divan::bench(sample_count = 3)]
fn start_reference() -> CoreBPE {
    tiktoken_rs::o200k_base().unwrap()
}

#[divan::bench(sample_count = 10, args = [1 << 20])]
fn one_letter_ours(bencher: Bencher<'_, '_>, length: usize) {
    let text = "a".repeat(length);
    bencher.counter(BytesCount::of_str(&text)).bench(|| concertina_tokens::count(black_box(&text)));
}
