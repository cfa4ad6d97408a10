//! How long it takes to check a log of a million records, the records and their signatures.
//!
//! `CONCERTINA_RECORDS` says how many instead.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark may stop, and reports")]

use std::time::Instant;

use concertina_store::{Against, Audit, Durability, Store};
use concertina_types::{Actor, Blob, CallOutcome, Draft, Fact, SessionId, Timestamp, Tokens};

/// What a call leaves in a log: admitted, finished, answered.
fn drafts(number: u64) -> Vec<Draft> {
    let text = |what: &str| Blob::of(&format!("{what} {number}"));
    let facts = [
        Fact::CallAdmitted {
            id: number,
            tool: "files/read_text".parse().unwrap(),
            arguments: text("arguments"),
            writes: false,
            approval: None,
        },
        Fact::CallFinished {
            id: number,
            outcome: CallOutcome::Done { exit: 0, output: text("output"), dropped: 0 },
            held: None,
        },
        Fact::RequestAnswered {
            call: Some(format!("call_{number:08}")),
            text: text("answer"),
            tokens: Tokens(120),
            error: false,
            disclosed: Vec::new(),
        },
    ];
    let at = Timestamp(1_767_225_600_000);
    let draft =
        |fact| Draft { step: 1, turn: Some(7), at, actor: Actor::Model, cause: Some(3), fact };
    facts.into_iter().map(draft).collect()
}

fn main() {
    // `cargo test` runs benchmarks, too: to see that they run.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let given = std::env::var("CONCERTINA_RECORDS").ok().and_then(|text| text.parse().ok());
    let records: u64 = given.unwrap_or(if is_bench { 1_000_000 } else { 3_000 });
    let home = tempfile::tempdir().unwrap();
    let session = SessionId::new("s-0123456789abcdef").unwrap();
    let store = Store::open(home.path()).unwrap();
    let began = Instant::now();
    let mut written = 0;
    while written < records {
        let batch: Vec<Draft> = (0..80).flat_map(|n| drafts(written + n)).collect();
        let events = store.append(&session, written, batch, Durability::KillSafe).unwrap();
        written += events.len() as u64;
    }
    drop(store);
    println!("written: {written} records in {:.2} s", began.elapsed().as_secs_f64());
    let began = Instant::now();
    let found = Audit::of(home.path()).verify(None, &Against::default()).unwrap();
    let took = began.elapsed().as_secs_f64();
    assert!(found.iter().all(|found| found.ok && found.records == written), "{found:?}");
    println!("verified: {written} records in {took:.2} s");
}
