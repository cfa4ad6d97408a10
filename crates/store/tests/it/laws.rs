//! One function per law, run against every implementation.

use std::io::Write;
use std::sync::Arc;
use std::thread;

use concertina_store::{
    ContentStore, Durability, EventStore, FileContent, MemoryStore, SqliteEvents, Store,
};
use concertina_types::{Blob, Digest, Timestamp, verify_chain};

use crate::{append_retrying, assert_complete, draft, session};

fn append_returns_what_read_returns(store: &dyn EventStore) {
    let s = session("s");
    let mut written = Vec::new();
    for (round, durability) in
        [Durability::KillSafe, Durability::PowerSafe, Durability::KillSafe].into_iter().enumerate()
    {
        let drafts = (0..3).map(|n| draft("w", n)).collect();
        written.extend(store.append(&s, round as u64 * 3, drafts, durability).unwrap());
    }
    assert_eq!(store.read(&s, 0).unwrap(), written);
    assert_eq!(written.iter().map(|e| e.seq).collect::<Vec<_>>(), (1..=9).collect::<Vec<_>>());
    verify_chain(&written).unwrap();
    for after in 0..=9 {
        assert_eq!(store.read(&s, after as u64).unwrap(), written[after..]);
    }
    assert!(store.read(&s, u64::MAX).unwrap().is_empty());
}

fn a_conflict_writes_nothing(store: &dyn EventStore) {
    let s = session("s");
    store.append(&s, 0, vec![draft("w", 0), draft("w", 1)], Durability::KillSafe).unwrap();
    let before = store.read(&s, 0).unwrap();
    for stale in [0, 1, 3, u64::MAX] {
        let error = store.append(&s, stale, vec![draft("x", 0)], Durability::KillSafe).unwrap_err();
        assert_eq!(error.code(), "STORE_CONFLICT");
        assert!(error.to_string().contains("session s is at event 2"), "{error}");
        // Also where there is nothing to write, the answer is about the log.
        assert!(store.append(&s, stale, vec![], Durability::KillSafe).is_err());
    }
    assert_eq!(store.read(&s, 0).unwrap(), before);
    assert!(store.append(&s, 2, vec![], Durability::KillSafe).unwrap().is_empty());
}

fn an_unknown_session_is_empty(store: &dyn EventStore) {
    assert!(store.read(&session("never"), 0).unwrap().is_empty());
    assert!(store.sessions().unwrap().is_empty());
    assert!(store.append(&session("never"), 1, vec![draft("w", 0)], Durability::KillSafe).is_err());
    assert!(store.append(&session("never"), 0, vec![], Durability::KillSafe).unwrap().is_empty());
    assert!(store.sessions().unwrap().is_empty());
}

fn summaries_agree_with_the_logs(store: &dyn EventStore) {
    let names = ["b", "a", "c"];
    for (name, count) in names.into_iter().zip([5, 2, 5]) {
        let drafts = (0..count).map(|n| draft(name, n)).collect();
        store.append(&session(name), 0, drafts, Durability::KillSafe).unwrap();
    }
    let summaries = store.sessions().unwrap();
    let order: Vec<_> = summaries.iter().map(|s| s.session.as_str()).collect();
    assert_eq!(order, ["b", "c", "a"]);
    for summary in summaries {
        let events = store.read(&summary.session, 0).unwrap();
        assert_eq!(summary.events, events.len() as u64);
        assert_eq!(summary.started, Timestamp(1_000));
        assert_eq!(summary.last, events.last().unwrap().at);
    }
}

fn n03_sessions_in_parallel_do_not_mix(store: &dyn EventStore) {
    // Names that a careless comparison would take for one another.
    let names = ["s-1", "S-1", "s-10", "s_1"];
    thread::scope(|scope| {
        for name in names {
            scope.spawn(move || {
                for n in 0..20 {
                    let s = session(name);
                    store.append(&s, n.into(), vec![draft(name, n)], Durability::KillSafe).unwrap();
                }
            });
        }
    });
    for name in names {
        let events = store.read(&session(name), 0).unwrap();
        assert!(events.iter().all(|event| event.session.as_str() == name));
        assert_complete(&events, &[name], 20);
    }
}

fn two_threads_write_one_session(store: &dyn EventStore) {
    let s = session("shared");
    thread::scope(|scope| {
        for name in ["x", "y"] {
            let s = &s;
            scope.spawn(move || {
                for n in 0..50 {
                    append_retrying(store, s, &draft(name, n));
                }
            });
        }
    });
    assert_complete(&store.read(&s, 0).unwrap(), &["x", "y"], 50);
}

fn content_comes_back_by_digest(store: &dyn ContentStore) {
    let large = vec![7; 3_000_000];
    for bytes in [&b""[..], b"a", b"\0\xff\n", &large] {
        let digest = store.put(bytes).unwrap();
        assert_eq!(digest, Digest::of(bytes));
        assert_eq!(store.put(bytes).unwrap(), digest);
        assert_eq!(store.get(&digest).unwrap().as_deref(), Some(bytes));
    }
    assert_eq!(store.get(&Digest::of(b"never put")).unwrap(), None);
    store.sync().unwrap();
    store.sync().unwrap();
}

fn written_content_comes_back_by_digest(store: &dyn ContentStore) {
    for pieces in [0, 1, 300_000] {
        let text = "piece by piece ".repeat(pieces);
        let write =
            |out: &mut dyn Write| (0..pieces).try_for_each(|_| out.write_all(b"piece by piece "));
        let blob = Blob::of_written(write).unwrap();
        assert_eq!(blob, Blob::of(&text));
        // Again where it is there already.
        for _ in 0..2 {
            store.put_written(&blob, &write).unwrap();
            assert_eq!(store.get(&blob.digest).unwrap().as_deref(), Some(text.as_bytes()));
        }
    }
}

/// A fresh store of each kind for every law.
macro_rules! laws {
    ($($law:ident: $kind:ident),* $(,)?) => {
        mod memory {
            $(#[test] fn $law() { super::$law(&super::MemoryStore::default()); })*
        }
        mod files {
            $(#[test] fn $law() {
                let home = tempfile::tempdir().unwrap();
                super::$law(&super::$kind::new(&home.path().join("below/store")));
            })*
        }
    };
}

laws! {
    append_returns_what_read_returns: SqliteEvents,
    a_conflict_writes_nothing: SqliteEvents,
    an_unknown_session_is_empty: SqliteEvents,
    summaries_agree_with_the_logs: SqliteEvents,
    n03_sessions_in_parallel_do_not_mix: SqliteEvents,
    two_threads_write_one_session: SqliteEvents,
    content_comes_back_by_digest: FileContent,
    written_content_comes_back_by_digest: FileContent,
}

#[test]
fn two_connections_write_one_session() {
    let home = tempfile::tempdir().unwrap();
    let s = session("shared");
    thread::scope(|scope| {
        for name in ["x", "y"] {
            let (s, home) = (&s, home.path());
            scope.spawn(move || {
                // Each opens for itself, so the first write is a race to create the file.
                let store = Store::open(home).unwrap();
                for n in 0..50 {
                    append_retrying(store.events.as_ref(), s, &draft(name, n));
                }
            });
        }
    });
    let events = Store::open(home.path()).unwrap().verify(&s).unwrap();
    assert_complete(&events, &["x", "y"], 50);
}

#[test]
fn writers_that_create_the_log_at_once_share_it() {
    for _ in 0..20 {
        let home = tempfile::tempdir().unwrap();
        let start = std::sync::Barrier::new(4);
        thread::scope(|scope| {
            for name in ["a", "b", "c", "d"] {
                let (home, start) = (home.path(), &start);
                scope.spawn(move || {
                    let store = Store::open(home).unwrap();
                    start.wait();
                    append_retrying(store.events.as_ref(), &session("s"), &draft(name, 0));
                });
            }
        });
        let events = Store::open(home.path()).unwrap().verify(&session("s")).unwrap();
        assert_complete(&events, &["a", "b", "c", "d"], 1);
    }
}

#[test]
fn n02_state_persists_over_restarts() {
    let home = tempfile::tempdir().unwrap();
    let s = session("s");
    let mut written = Vec::new();
    for n in 0..10 {
        let store = Store::open(home.path()).unwrap();
        let text = format!("content {n}");
        store.content.put(text.as_bytes()).unwrap();
        let durability = if n % 2 == 0 { Durability::KillSafe } else { Durability::PowerSafe };
        written.extend(store.append(&s, n.into(), vec![draft("w", n)], durability).unwrap());
    }
    let store = Store::open_existing(home.path()).unwrap();
    assert_eq!(store.verify(&s).unwrap(), written);
    for n in 0..10 {
        let text = format!("content {n}").into_bytes();
        assert_eq!(store.content.get(&Digest::of(&text)).unwrap(), Some(text));
    }
}

#[test]
fn content_written_to_a_home_is_kept_by_its_size() {
    let home = tempfile::tempdir().unwrap();
    let store = Store::open(home.path()).unwrap();
    written_content_comes_back_by_digest(store.content.as_ref());
    let files = std::fs::read_dir(home.path().join("content")).unwrap();
    assert_eq!(files.count(), 1, "only the large one is a file");
}

#[test]
fn a_fleeting_store_keeps_events_and_no_content() {
    let store = Store::fleeting();
    let digest = store.content.put(b"seen").unwrap();
    assert_eq!(digest, Digest::of(b"seen"));
    assert_eq!(store.content.get(&digest).unwrap(), None);
    let s = session("s");
    let written = store.append(&s, 0, vec![draft("w", 0)], Durability::KillSafe).unwrap();
    assert_eq!(store.verify(&s).unwrap(), written);
}

#[test]
fn power_safe_events_have_their_content_synced_first() {
    #[derive(Default)]
    struct Spy(std::sync::Mutex<u32>);
    impl ContentStore for Spy {
        fn put(&self, bytes: &[u8]) -> Result<Digest, concertina_store::StoreError> {
            Ok(Digest::of(bytes))
        }
        fn get(&self, _: &Digest) -> Result<Option<Vec<u8>>, concertina_store::StoreError> {
            Ok(None)
        }
        fn sync(&self) -> Result<(), concertina_store::StoreError> {
            *self.0.lock().unwrap() += 1;
            Ok(())
        }
    }
    let spy = Arc::new(Spy::default());
    let store =
        Store { events: Arc::new(MemoryStore::default()), content: spy.clone(), ..Store::memory() };
    store.append(&session("s"), 0, vec![draft("w", 0)], Durability::KillSafe).unwrap();
    assert_eq!(*spy.0.lock().unwrap(), 0);
    store.append(&session("s"), 1, vec![draft("w", 1)], Durability::PowerSafe).unwrap();
    assert_eq!(*spy.0.lock().unwrap(), 1);
}
