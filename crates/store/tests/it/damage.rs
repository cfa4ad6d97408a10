//! Files that were cut or changed: an error or a true beginning, never something else.

use std::fs;
use std::path::{Path, PathBuf};

use concertina_store::{Durability, EventStore, SqliteEvents, StoreError};
use concertina_types::Event;

use crate::{draft, session};

/// A log of two sessions at rest, and the events of session `s`.
fn log(dir: &Path) -> (PathBuf, Vec<Event>) {
    let path = dir.join("events.db");
    let store = SqliteEvents::new(&path);
    let mut events = Vec::new();
    for n in 0..60 {
        let appended =
            store.append(&session("s"), n.into(), vec![draft("w", n)], Durability::KillSafe);
        events.extend(appended.unwrap());
        store.append(&session("t"), n.into(), vec![draft("v", n)], Durability::KillSafe).unwrap();
    }
    drop(store);
    // A plain connection that closes last copies the journal into the database.
    rusqlite::Connection::open(&path)
        .unwrap()
        .query_row("SELECT 1 FROM events", [], |_| Ok(()))
        .unwrap();
    (path, events)
}

/// Reads what is at `path`; the length of the true beginning, or the error.
fn beginning(path: &Path, events: &[Event]) -> Result<usize, StoreError> {
    let store = SqliteEvents::new(path);
    let read = store.read(&session("s"), 0)?;
    assert_eq!(read, events[..read.len()], "wrong data");
    // Whatever is left can be listed and written to, or says why not.
    let _ = store.sessions();
    if let Ok(new) =
        store.append(&session("s"), read.len() as u64, vec![draft("w", 0)], Durability::KillSafe)
    {
        assert_eq!(new[0].prev_hash, read.last().map(|event| event.hash));
    }
    Ok(read.len())
}

#[test]
fn a_cut_database_is_an_error_or_a_beginning() {
    let dir = tempfile::tempdir().unwrap();
    let (path, events) = log(dir.path());
    let bytes = fs::read(&path).unwrap();
    assert!(!dir.path().join("events.db-wal").exists(), "the log is not at rest");
    let cut = dir.path().join("cut.db");
    let mut errors = 0;
    for length in (0..bytes.len()).step_by(1_021).chain([0, 1, 15, 16, 99, 100, 4_096, 8_192]) {
        for end in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{end}", cut.display()));
        }
        fs::write(&cut, &bytes[..length]).unwrap();
        if let Err(error) = beginning(&cut, &events) {
            assert_eq!(error.code(), "STORE_CORRUPT", "{length}: {error:?}");
            assert!(error.to_string().contains("cut.db"), "{error}");
            errors += 1;
        }
    }
    assert!(errors > 10);
}

#[test]
fn a_cut_journal_is_a_beginning() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.db");
    let store = SqliteEvents::new(&path);
    let mut events = Vec::new();
    for n in 0..30 {
        let one = store.append(&session("s"), n.into(), vec![draft("w", n)], Durability::KillSafe);
        events.extend(one.unwrap());
    }
    // As a power cut would find them: the store is still open.
    let main = fs::read(&path).unwrap();
    let journal = fs::read(dir.path().join("events.db-wal")).unwrap();
    let mut lengths = std::collections::BTreeSet::new();
    for length in (0..=journal.len()).step_by(1_021).chain([journal.len()]) {
        let copy = tempfile::tempdir().unwrap();
        let path = copy.path().join("events.db");
        fs::write(&path, &main).unwrap();
        fs::write(copy.path().join("events.db-wal"), &journal[..length]).unwrap();
        lengths.insert(beginning(&path, &events).unwrap());
    }
    assert_eq!(lengths.first(), Some(&0));
    assert_eq!(lengths.last(), Some(&30));
    assert!(lengths.len() > 20, "{lengths:?}");
}

#[test]
fn a_changed_byte_is_an_error_or_a_beginning() {
    let dir = tempfile::tempdir().unwrap();
    let (path, events) = log(dir.path());
    let bytes = fs::read(&path).unwrap();
    let changed = dir.path().join("changed.db");
    let (mut errors, mut tried) = (0, 0);
    for position in (0..bytes.len()).step_by(1_549) {
        for flip in [0x01, 0xff] {
            for end in ["", "-wal", "-shm"] {
                let _ = fs::remove_file(format!("{}{end}", changed.display()));
            }
            let mut bytes = bytes.clone();
            bytes[position] ^= flip;
            fs::write(&changed, bytes).unwrap();
            errors += usize::from(beginning(&changed, &events).is_err());
            tried += 1;
        }
    }
    assert!(errors > tried / 10, "{errors} of {tried}");
}

#[test]
fn rows_changed_by_hand_are_named() {
    let changes = [
        (
            "UPDATE events SET event = replace(event, 'NOT_VISIBLE', 'GRANTED') WHERE seq = 7",
            "event 7",
        ),
        ("UPDATE events SET at = 1 WHERE seq = 7", "event 7"),
        ("UPDATE events SET event = '{' WHERE seq = 7", "event 7"),
        ("DELETE FROM events WHERE seq = 7", "event 8"),
        ("DELETE FROM events WHERE seq = 1", "event 2"),
        ("UPDATE events SET seq = -1 WHERE seq = 1 AND session = 's'", "event 2"),
        (
            "UPDATE events SET session = 's2' WHERE session = 's'; UPDATE events SET session = 's' WHERE session = 't'",
            "event 1",
        ),
    ];
    for (change, place) in changes {
        let dir = tempfile::tempdir().unwrap();
        let (path, _) = log(dir.path());
        rusqlite::Connection::open(&path).unwrap().execute_batch(change).unwrap();
        let error = SqliteEvents::new(&path).read(&session("s"), 0).unwrap_err();
        assert_eq!(error.code(), "STORE_CORRUPT", "{change}");
        assert!(error.to_string().contains(&format!("session s, {place}")), "{change}: {error}");
    }
}

#[test]
fn a_log_without_its_end_is_a_beginning_and_can_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let (path, events) = log(dir.path());
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("DELETE FROM events WHERE seq > 20").unwrap();
    drop(connection);
    assert_eq!(beginning(&path, &events).unwrap(), 20);
}

#[test]
fn a_damaged_row_does_not_hide_the_other_sessions() {
    for (change, listed) in [
        ("UPDATE events SET session = 's-evil' WHERE session = 's' AND seq = 5", "s s-evil t"),
        ("UPDATE events SET session = 'no/name' WHERE session = 's' AND seq = 5", "s t"),
        ("UPDATE events SET session = '' WHERE session = 's' AND seq = 5", "s t"),
        ("UPDATE events SET session = CAST(x'ff' AS TEXT) WHERE session = 's' AND seq = 5", "s t"),
        ("UPDATE events SET session = 'u', seq = -5 WHERE session = 's' AND seq = 5", "s t"),
        ("DELETE FROM events WHERE session = 's' AND seq = 1", "s t"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let (path, _) = log(dir.path());
        assert_eq!(rusqlite::Connection::open(&path).unwrap().execute(change, []), Ok(1));
        let store = concertina_store::Store::open(dir.path()).unwrap();
        let sessions = store.events.sessions().unwrap();
        let mut names: Vec<_> = sessions.iter().map(|one| one.session.to_string()).collect();
        names.sort();
        assert_eq!(names.join(" "), listed, "{change}");
        for one in &sessions {
            let is_whole = one.session == session("t");
            let found = store.verify(&one.session).map_err(|error| error.code());
            assert_eq!(found.is_ok(), is_whole, "{change}: {}: {found:?}", one.session);
        }
    }
}
