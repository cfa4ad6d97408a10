//! How long it takes to check a thousand receipts, from their text: the envelope, the signature, the spelling.
//!
//! The time is that of one core, and `20,000 receipts a second` are 50 µs each.

#![allow(clippy::unwrap_used, reason = "a benchmark may stop")]

use std::collections::BTreeMap;

use concertina_store::{Keyring, Notary, Store};
use concertina_types::{
    Digest, Envelope, RECEIPT_VERSION, Receipt, Separation, SessionId, SignedReceipt, Timestamp,
};

/// Receipts of one batch.
const BATCH: u64 = 1_000;

fn main() {
    divan::main();
}

fn receipt(seq: u64) -> Receipt {
    let digest = |what: &str| Digest::of(format!("{what} {seq}").as_bytes());
    let parsed = [("exit", 0), ("failed", 0), ("passed", 128), ("skipped", 3)];
    Receipt {
        v: RECEIPT_VERSION,
        run: "r-0123456789abcdef".to_owned(),
        session: SessionId::new("s-0123456789abcdef").unwrap(),
        procedure: "commit-gate".to_owned(),
        procedure_digest: Digest::of(b"procedure"),
        state: "test".to_owned(),
        seq,
        prev: Some(digest("before")),
        tool: "test".to_owned(),
        tool_digest: Digest::of(b"tool"),
        args_digest: digest("arguments"),
        started: Timestamp(1_767_225_600_000),
        ended: Timestamp(1_767_225_604_000),
        exit: 0,
        outputs_digest: digest("output"),
        parsed: BTreeMap::from(parsed.map(|(name, value)| (name.to_owned(), value.into()))),
        inputs_digest: Some(digest("inputs")),
        proves: vec!["test.ok".to_owned()],
        refuses: Vec::new(),
        issuer: "executor".to_owned(),
        assurance: Separation::SameUid,
        tier: Some("L2".to_owned()),
        nonce: digest("nonce").hex(),
    }
}

fn texts(notary: &Notary) -> Vec<String> {
    let signed = (1..=BATCH).map(|seq| SignedReceipt::by(notary, receipt(seq)));
    signed.map(|signed| serde_json::to_string(&signed.envelope()).unwrap()).collect()
}

/// All but the signatures.
#[divan::bench]
fn a_thousand_without_signatures(bencher: divan::Bencher<'_, '_>) {
    let texts = texts(&Store::memory().notary(Timestamp(0)).unwrap());
    bencher.counter(divan::counter::ItemsCount::new(BATCH)).bench(|| {
        let good = texts.iter().filter(|text| {
            let envelope = Envelope::parse(divan::black_box(text)).unwrap();
            envelope.receipt().is_ok()
        });
        assert_eq!(good.count() as u64, BATCH);
    });
}

#[divan::bench]
fn a_thousand(bencher: divan::Bencher<'_, '_>) {
    let notary = Store::memory().notary(Timestamp(0)).unwrap();
    let mut keys = Keyring::default();
    keys.add(&notary.public()).unwrap();
    let texts = texts(&notary);
    bencher.counter(divan::counter::ItemsCount::new(BATCH)).bench(|| {
        let good = texts.iter().filter(|text| {
            let envelope = Envelope::parse(divan::black_box(text)).unwrap();
            keys.verify(&envelope).is_ok()
        });
        assert_eq!(good.count() as u64, BATCH);
    });
}

/// The same on every core.
#[divan::bench]
fn a_thousand_on_all_cores(bencher: divan::Bencher<'_, '_>) {
    let notary = Store::memory().notary(Timestamp(0)).unwrap();
    let mut keys = Keyring::default();
    keys.add(&notary.public()).unwrap();
    let texts = texts(&notary);
    bencher.counter(divan::counter::ItemsCount::new(BATCH)).bench(|| {
        let envelopes: Vec<_> =
            texts.iter().map(|text| Ok(Envelope::parse(divan::black_box(text)).unwrap())).collect();
        assert!(keys.verify_all(&envelopes).iter().all(Result::is_ok));
    });
}
