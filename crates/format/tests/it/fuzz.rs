//! The fuzz targets on mutated seeds: the same bytes on every run, for some seconds.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

// The bodies of the targets, shared with libFuzzer: the package `fuzz` needs another toolchain.
#[allow(unreachable_pub, reason = "the same file is a library of its own")]
#[path = "../../../../fuzz/src/lib.rs"]
mod targets;

/// Seconds for all targets together, unless `CONCERTINA_FUZZ_SECONDS` says otherwise.
const SECONDS: f64 = 10.0;
const TARGETS: f64 = 5.0;
/// One input must be read within this time, with room for a debug build on a busy machine.
const SLOWEST: Duration = Duration::from_secs(5);
/// Mutated inputs grow no further.
const BYTES: usize = 64 * 1024;

/// Pieces that mean something to a reader.
const WORDS: &[&str] = &[
    "---\n",
    "\n---\n",
    "name: ",
    "description: ",
    "paths: ",
    "allowed-tools: ",
    "permissions:\n  read: ",
    "disable-model-invocation: ",
    ": ",
    "- ",
    "\t",
    "\r\n",
    "\"",
    "'",
    "|",
    ">",
    "&a ",
    "*a ",
    "!!",
    "[",
    "]",
    "{",
    "}",
    "#",
    "```",
    "+++",
    "\u{feff}",
    "\u{200b}",
    "\u{202e}",
    "$ARGUMENTS",
    "$name",
    "$0",
    "${SESSION_ID}",
    "!`",
    "`",
    "\\",
    "\0",
    "**/",
    "{a,b}",
    "[!",
    "skill:",
    "@1-2",
    "%25",
    "%",
    "[tool.x]\n",
    "[policy]\nallow = ",
    "= ",
    "\"\"\"",
    "9999999999",
];

/// `SplitMix64` (Steele, Lea and Flood, 2014): small, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not 0.
    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }
}

fn mutate(input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let at = random.below(input.len() + 1);
    let length = random.below(24).min(input.len() - at);
    match random.below(7) {
        0 if at < input.len() => input[at] ^= 1 << random.below(8),
        1 => drop(input.drain(at..at + length)),
        2 => {
            let piece = input[at..at + length].to_vec();
            let copies = 1 << random.below(8);
            input.splice(at..at, piece.repeat(copies));
        }
        3 => {
            let from = random.below(other.len() + 1);
            let to = from + random.below(other.len() - from + 1);
            input.splice(at..at + length, other[from..to].iter().copied());
        }
        4 => input.insert(at, u8::try_from(random.below(256)).unwrap()),
        _ => {
            let word = WORDS[random.below(WORDS.len())];
            input.splice(at..at, word.bytes());
        }
    }
    input.truncate(BYTES);
}

/// The seeds of a target: its directory, and what else is at hand.
fn seeds(name: &str, more: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(name);
    let mut files: Vec<_> =
        std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "no seeds in {}", directory.display());
    let mut seeds: Vec<_> = files.iter().map(|file| std::fs::read(file).unwrap()).collect();
    seeds.extend(more);
    seeds
}

/// Files of the collection of hard cases, where there is one.
fn hard_cases() -> Vec<Vec<u8>> {
    let Ok(path) = std::env::var("CONCERTINA_HARD_CASES") else { return Vec::new() };
    let lines = std::fs::read_to_string(path).unwrap();
    let texts = lines.lines().filter_map(|line| {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        case["text"].as_str().map(|text| text.as_bytes().to_vec())
    });
    texts.collect()
}

fn run(name: &str, target: fn(&[u8]), more: Vec<Vec<u8>>) {
    let seconds = std::env::var("CONCERTINA_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let time = Duration::from_secs_f64(seconds.unwrap_or(SECONDS) / TARGETS);
    let seeds = seeds(name, more);
    let mut random = Random(0x5EED);
    let mut slowest = Duration::ZERO;
    let mut count = 0_usize;
    let start = Instant::now();
    let mut check = |input: &[u8]| {
        let begin = Instant::now();
        if let Err(failure) = catch_unwind(AssertUnwindSafe(|| target(input))) {
            eprintln!("{name} fails on {:?}", String::from_utf8_lossy(input));
            eprintln!("as bytes: \"{}\"", input.escape_ascii());
            resume_unwind(failure);
        }
        let took = begin.elapsed();
        assert!(took < SLOWEST, "{name} took {took:?} for \"{}\"", input.escape_ascii());
        slowest = slowest.max(took);
        count += 1;
    };
    for seed in &seeds {
        check(seed);
    }
    while start.elapsed() < time {
        let mut input = seeds[random.below(seeds.len())].clone();
        let other = &seeds[random.below(seeds.len())];
        for _ in 0..=random.below(6) {
            mutate(&mut input, other, &mut random);
            check(&input);
        }
    }
    eprintln!(
        "{name}: {count} inputs of {} seeds in {:?}, slowest {slowest:?}",
        seeds.len(),
        start.elapsed()
    );
}

#[test]
fn no_bytes_break_frontmatter() {
    run("frontmatter", targets::frontmatter, hard_cases());
}

#[test]
fn no_bytes_break_a_reference() {
    run("reference", targets::reference, Vec::new());
}

#[test]
fn no_bytes_break_globs() {
    run("globs", targets::globs, Vec::new());
}

#[test]
fn no_bytes_break_an_expansion() {
    run("expansion", targets::expansion, Vec::new());
}

#[test]
fn no_bytes_break_a_config() {
    run("config", targets::config, Vec::new());
}
