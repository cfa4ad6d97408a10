//! Several processes, and processes that are killed.

use std::io::Read;
use std::thread;
use std::time::Duration;

use concertina_store::Store;
use concertina_types::Digest;

use crate::{assert_complete, child, session, writer};

#[test]
fn two_processes_write_one_session() {
    let home = tempfile::tempdir().unwrap();
    for mut process in ["x", "y"].map(|role| child::spawn(role, home.path())) {
        assert!(process.wait().unwrap().success());
    }
    let events = Store::open(home.path()).unwrap().verify(&session("shared")).unwrap();
    assert_complete(&events, &["x", "y"], 100);
    let turns = events.windows(2).filter(|pair| writer(&pair[0]) != writer(&pair[1])).count();
    assert!(turns > 0, "the writers never met");
}

/// Lets `role` run for a while, kills it, and returns what it said it had done.
fn killed_after(role: &str, home: &std::path::Path, millis: u64) -> Vec<String> {
    let mut process = child::spawn(role, home);
    let mut stdout = process.stdout.take().unwrap();
    let said = thread::spawn(move || {
        let mut said = Vec::new();
        stdout.read_to_end(&mut said).unwrap();
        said
    });
    thread::sleep(Duration::from_millis(millis));
    process.kill().unwrap();
    let status = process.wait().unwrap();
    assert_eq!(status.code(), None, "it ended by itself");
    child::answers(&said.join().unwrap())
}

#[test]
fn n02_a_killed_writer_loses_nothing_it_confirmed() {
    let home = tempfile::tempdir().unwrap();
    let s = session("s");
    let mut confirmed = 0;
    for round in 0..25 {
        let said = killed_after("endless", home.path(), 5 + round * 7);
        let events = Store::open(home.path()).unwrap().verify(&s).unwrap();
        assert_eq!(events.len() % 3, 0, "part of an append was kept");
        assert!(events.iter().all(|event| u64::from(event.step) + 1 == event.seq));
        for line in &said {
            let (seq, hash) = line.split_once(' ').unwrap();
            let event = &events[seq.parse::<usize>().unwrap() - 1];
            assert_eq!(event.hash.to_string(), hash);
        }
        confirmed += said.len();
    }
    assert!(confirmed > 25, "only {confirmed} appends were confirmed");
}

#[test]
fn killed_writers_leave_no_half_content() {
    let home = tempfile::tempdir().unwrap();
    let mut confirmed = 0;
    for round in 0..12 {
        confirmed += killed_after("content", home.path(), 20 + round * 11).len();
    }
    let mut complete = 0;
    for shelf in std::fs::read_dir(home.path()).unwrap() {
        let shelf = shelf.unwrap();
        for file in std::fs::read_dir(shelf.path()).unwrap() {
            let file = file.unwrap();
            let name = file.file_name().into_string().unwrap();
            if name.starts_with(".new-") {
                continue;
            }
            let hex = format!("{}{name}", shelf.file_name().into_string().unwrap());
            assert_eq!(Digest::of(&std::fs::read(file.path()).unwrap()).hex(), hex);
            complete += 1;
        }
    }
    assert!(confirmed > 12, "only {confirmed} were confirmed");
    assert!(complete >= confirmed, "{confirmed} were confirmed, {complete} are there");
}
