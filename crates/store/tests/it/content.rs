//! What files add to the laws of content.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use concertina_store::{ContentStore, FileContent, Store};
use concertina_types::Digest;

fn file(dir: &Path, digest: &Digest) -> PathBuf {
    let hex = digest.hex();
    dir.join(&hex[..2]).join(&hex[2..])
}

#[test]
fn damage_is_named_and_mended_by_putting_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = FileContent::new(dir.path());
    let digest = store.put(b"the true text").unwrap();
    let path = file(dir.path(), &digest);
    for damage in [&b""[..], b"the true te", b"the false tex", b"the true text and more"] {
        fs::write(&path, damage).unwrap();
        let error = store.get(&digest).unwrap_err();
        assert_eq!(error.code(), "STORE_CORRUPT");
        let message = error.to_string();
        assert!(message.contains(&path.display().to_string()), "{message}");
        assert!(message.contains(&digest.to_string()), "{message}");
        store.put(b"the true text").unwrap();
        assert_eq!(store.get(&digest).unwrap().unwrap(), b"the true text");
    }
}

#[test]
fn content_is_written_once() {
    let dir = tempfile::tempdir().unwrap();
    let digest = FileContent::new(dir.path()).put(b"once").unwrap();
    let modified = || fs::metadata(file(dir.path(), &digest)).unwrap().modified().unwrap();
    let before = modified();
    thread::sleep(std::time::Duration::from_millis(20));
    FileContent::new(dir.path()).put(b"once").unwrap();
    assert_eq!(modified(), before);
}

#[test]
fn writers_of_the_same_content_do_not_meet() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = vec![3; 200_000];
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let store = FileContent::new(dir.path());
                let digest = store.put(&bytes).unwrap();
                assert_eq!(store.get(&digest).unwrap().unwrap(), bytes);
            });
        }
    });
    let shelf = file(dir.path(), &Digest::of(&bytes)).parent().unwrap().to_owned();
    assert_eq!(fs::read_dir(shelf).unwrap().count(), 1, "leftovers");
}

#[test]
fn small_content_stands_beside_the_events_and_large_content_in_files() {
    let home = tempfile::tempdir().unwrap();
    let store = Store::open(home.path()).unwrap();
    let large = vec![5; 100_000];
    let (small, large) = (store.content.put(b"small").unwrap(), store.content.put(&large).unwrap());
    assert!(!file(&home.path().join("content"), &small).exists());
    assert!(file(&home.path().join("content"), &large).exists());
    // Another process finds both.
    let other = Store::open(home.path()).unwrap();
    assert_eq!(other.content.get(&small).unwrap().unwrap(), b"small");
    assert_eq!(other.content.get(&large).unwrap().unwrap().len(), 100_000);
    assert_eq!(other.content.get(&Digest::of(b"never put")).unwrap(), None);
}

#[test]
fn a_damaged_row_is_named_and_mended_by_putting_again() {
    let home = tempfile::tempdir().unwrap();
    let store = Store::open(home.path()).unwrap();
    let digest = store.content.put(b"the true text").unwrap();
    let database = rusqlite::Connection::open(home.path().join("events.db")).unwrap();
    assert_eq!(database.execute("UPDATE content SET bytes = x'00'", []).unwrap(), 1);
    let error = store.content.get(&digest).unwrap_err();
    assert_eq!(error.code(), "STORE_CORRUPT");
    assert!(error.to_string().contains(&digest.to_string()), "{error}");
    store.content.put(b"the true text").unwrap();
    assert_eq!(store.content.get(&digest).unwrap().unwrap(), b"the true text");
}

#[test]
fn a_log_of_the_format_before_is_taken_up() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("events.db");
    crate::refusals::append(&concertina_store::SqliteEvents::new(&path), 0).unwrap();
    let database = rusqlite::Connection::open(&path).unwrap();
    database.execute_batch("DROP TABLE content; PRAGMA user_version = 1").unwrap();
    let store = Store::open(home.path()).unwrap();
    assert_eq!(store.events.sessions().unwrap().len(), 1);
    let digest = store.content.put(b"new").unwrap();
    assert_eq!(store.content.get(&digest).unwrap().unwrap(), b"new");
}
