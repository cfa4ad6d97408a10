//! How long the moments take that a person waits for: opening a workspace, the next turn, taking a
//! session up again.

#![allow(clippy::unwrap_used, reason = "a benchmark may stop")]

use std::fs;
use std::path::Path;

use concertina_core::session::Origin;
use concertina_runtime::{OpenOptions, Session, Started, Workspace, WorkspaceOptions};
use concertina_store::Store;
use tempfile::TempDir;

const SKILLS: usize = 2_000;
const EVENTS: u64 = 1_000;

fn main() {
    divan::main();
}

/// A workspace of many skills of 4 KB, each with `more` in its head.
fn world(skills: usize, more: &str) -> TempDir {
    let world = tempfile::tempdir().unwrap();
    let body = "Look at the figures, then write down what they say.\n".repeat(75);
    for number in 0..skills {
        let at = world.path().join(format!("work/skills/skill-{number:04}"));
        fs::create_dir_all(&at).unwrap();
        let head = format!(
            "name: skill-{number:04}\ndescription: Use for figures of kind {number}.{more}"
        );
        fs::write(at.join("SKILL.md"), format!("---\n{head}\n---\n{body}")).unwrap();
    }
    // Long enough ago for their stamps to be believed.
    std::thread::sleep(std::time::Duration::from_millis(100));
    world
}

fn open(world: &Path) -> Workspace {
    let variable = |_: &str| None;
    let options = WorkspaceOptions::only(world.join("state"), &variable);
    Workspace::open(&world.join("work"), options).unwrap()
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn cold_open(bencher: divan::Bencher) {
    let world = world(SKILLS, "");
    bencher.bench_local(|| open(world.path()));
}

#[divan::bench(sample_count = 100, sample_size = 1)]
fn second_turn_with_nothing_changed(bencher: divan::Bencher) {
    let world = world(SKILLS, "");
    let mut workspace = open(world.path());
    let mut session = Session::create(&mut workspace, Store::memory(), Started::default()).unwrap();
    session.turn(&mut workspace).unwrap();
    bencher.bench_local(|| session.turn(&mut workspace).unwrap());
}

#[divan::bench(sample_count = 100, sample_size = 1)]
fn touch_that_matches_nothing(bencher: divan::Bencher) {
    let world = world(SKILLS, "\npaths: ['web/**/*.{ts,tsx}', '*.rb']");
    let mut workspace = open(world.path());
    let mut session = Session::create(&mut workspace, Store::memory(), Started::default()).unwrap();
    bencher.bench_local(|| session.touch(&mut workspace, Path::new("src/deep/a.rs")).unwrap());
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn resume_of_a_long_session(bencher: divan::Bencher) {
    let world = world(20, "");
    let mut workspace = open(world.path());
    let store = || Store::open(&world.path().join("state")).unwrap();
    let mut session = Session::create(&mut workspace, store(), Started::default()).unwrap();
    let options = OpenOptions::default();
    for number in 0.. {
        if session.state().seq >= EVENTS {
            break;
        }
        let reference = format!("skill:skill-{:04}", number % 20);
        session.turn(&mut workspace).unwrap();
        session.open(&mut workspace, Origin::model("o"), &reference, &options).unwrap();
        session.close(Origin::model("c"), &reference).unwrap();
    }
    let id = session.id().clone();
    bencher.bench_local(|| Session::resume(store(), id.clone()).unwrap());
}
