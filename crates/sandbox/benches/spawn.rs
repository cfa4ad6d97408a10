//! What each tier adds to starting a program.
//!
//! `cargo bench -p concertina-sandbox` starts the same program plainly and at each tier in turn, so that
//! whatever else the machine does falls on all of them, and prints the tenth and the fiftieth of a
//! hundred: the tenth is what it costs, the fiftieth what it costs on this machine now.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a benchmark"
)]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use concertina_sandbox::{
    Confinement, Limits, Network, Pin, Program, Tier, choose, probe, run, started_by,
};
use concertina_types::Digest;

/// Enough that the tenth of a hundred is a mean of many.
const ROUNDS: usize = 1_000;
/// What may be added at the tenth of a hundred.
const BARS: &[(Tier, Option<Duration>)] = &[
    (Tier::L1, Some(Duration::from_millis(1))),
    (Tier::L2, Some(Duration::from_micros(2_500))),
    (Tier::L3, None),
];
/// Files beside one that is pinned: each is a mount of its own.
const NEIGHBOURS: usize = 20;

fn main() {
    // `cargo test` builds this as well, and starts it without `--bench`.
    if !std::env::args().any(|word| word == "--bench") {
        return;
    }
    let machine = probe();
    println!("{machine}\n");
    let place = tempfile::tempdir_in("/var/tmp").unwrap();
    let program = Program {
        argv: vec!["true".to_owned()],
        directory: "/".into(),
        environment: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
    };
    let execute = started_by(&program);
    let path = execute.first().expect("a program named `true`");
    let confinement = |tier| Confinement {
        read: vec![place.path().to_owned()],
        write: if tier == Tier::L1 { vec![] } else { vec![place.path().to_owned()] },
        execute: execute.clone(),
        protect: vec![],
        closed: vec![],
        pins: vec![],
        network: Network::None,
        at_least: tier,
        limits: Limits::default(),
    };
    let script = place.path().join("script");
    std::fs::write(&script, "script").unwrap();
    for number in 1..NEIGHBOURS {
        std::fs::write(place.path().join(number.to_string()), "").unwrap();
    }
    let pin = Pin { path: script, digest: Digest::of(b"script") };
    let pinned = Confinement { pins: vec![pin], ..confinement(Tier::L3) };
    let mut plain = Vec::new();
    let bare = BARS.iter().map(|(tier, bar)| (tier.to_string(), *bar, confinement(*tier)));
    let mut held: Vec<(String, Option<Duration>, Confinement, Vec<Duration>)> = bare
        .chain([(format!("L3, a script pinned among {NEIGHBOURS} files"), None, pinned)])
        .map(|(name, bar, confinement)| (name, bar, confinement, Vec::new()))
        .filter(|(_, _, confinement, _)| choose(confinement, &machine).is_ok())
        .collect();
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let output =
            Command::new(path).current_dir("/").env_clear().stdin(Stdio::null()).output().unwrap();
        plain.push(started.elapsed());
        assert!(output.status.success());
        for (_, _, confinement, times) in &mut held {
            let started = Instant::now();
            let finished = run(&machine, &program, confinement, None, &|| false).unwrap();
            times.push(started.elapsed());
            assert_eq!(finished.exit, 0);
        }
    }
    let base = [share(&mut plain, 10), share(&mut plain, 50)];
    println!("plain: {} at p10, {} at p50", words(base[0]), words(base[1]));
    for (name, bar, _, mut times) in held {
        let added = [10, 50].map(|percent| share(&mut times, percent));
        let (p10, p50) = (added[0].saturating_sub(base[0]), added[1].saturating_sub(base[1]));
        let verdict = bar.map_or(String::new(), |bar| {
            let is_kept = if p10 <= bar { "kept" } else { "MISSED" };
            format!(", at most {} at p10: {is_kept}", words(bar))
        });
        println!("{name}: adds {} at p10, {} at p50{verdict}", words(p10), words(p50));
    }
}

/// The time that so many of a hundred do not exceed.
fn share(times: &mut [Duration], percent: usize) -> Duration {
    times.sort();
    times.get(times.len() * percent / 100).copied().unwrap_or_default()
}

fn words(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1_000.0)
}
