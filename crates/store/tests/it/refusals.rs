//! What a store refuses, and what it leaves alone.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::Duration;

use concertina_store::{Durability, EventStore, SqliteEvents, Store, StoreError};

use crate::{child, draft, session};

pub(crate) fn append(store: &dyn EventStore, after: u64) -> Result<(), StoreError> {
    store.append(&session("s"), after, vec![draft("w", 0)], Durability::KillSafe).map(drop)
}

#[test]
fn looking_creates_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    let store = Store::open(&home).unwrap();
    assert!(store.events.sessions().unwrap().is_empty());
    assert!(store.verify(&session("s")).unwrap().is_empty());
    assert_eq!(store.content.get(&concertina_types::Digest::of(b"x")).unwrap(), None);
    let error = Store::open_existing(&home).unwrap_err();
    assert_eq!(error.code(), "STORE_NOT_FOUND");
    assert!(error.to_string().contains("home/events.db"), "{error}");
    assert!(!home.exists());
    // What appears later is seen.
    append(Store::open(&home).unwrap().events.as_ref(), 0).unwrap();
    assert_eq!(store.events.sessions().unwrap().len(), 1);
    assert!(Store::open_existing(&home).is_ok());
}

#[test]
fn files_are_for_this_user_alone() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("above/home");
    let store = Store::open(&home).unwrap();
    let drafts = vec![draft("w", 0)];
    store.append(&session("s"), 0, drafts, Durability::PowerSafe).unwrap();
    store.content.put(b"x").unwrap();
    store.content.put(&vec![7; 100_000]).unwrap();
    store.marks.key().unwrap();
    let mut pending = vec![dir.path().join("above")];
    let mut seen = 0;
    while let Some(path) = pending.pop() {
        let metadata = fs::metadata(&path).unwrap();
        let expected = if metadata.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(metadata.mode() & 0o777, expected, "{}", path.display());
        if metadata.is_dir() {
            pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        seen += 1;
    }
    // above, home, events.db with -wal and -shm, content, its shelf, the file, heads, keys with their log
    // and two secrets: and no leftovers.
    assert_eq!(seen, 13);
}

#[test]
fn a_home_that_is_a_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    fs::write(&home, "mine").unwrap();
    assert_eq!(Store::open(&home).unwrap_err().code(), "STORE_NOT_A_DIRECTORY");
    let below = Store::open(&home.join("below")).unwrap();
    assert_eq!(append(below.events.as_ref(), 0).unwrap_err().code(), "STORE_NOT_A_DIRECTORY");
    assert_eq!(below.content.put(b"x").unwrap_err().code(), "STORE_NOT_A_DIRECTORY");
    assert_eq!(fs::read(&home).unwrap(), b"mine");
}

#[test]
fn a_log_that_is_a_directory_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("events.db")).unwrap();
    let store = Store::open(dir.path()).unwrap();
    assert_eq!(append(store.events.as_ref(), 0).unwrap_err().code(), "STORE_IO");
}

#[test]
fn another_program_s_files_are_refused_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.db");
    let mut contents = vec![
        Vec::new(),
        b"not a database, but longer than a header of one is: \
        one hundred bytes, which this text passes by a little"
            .to_vec(),
    ];
    let other = dir.path().join("other.db");
    rusqlite::Connection::open(&other).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    contents.push(fs::read(other).unwrap());
    for content in contents {
        fs::write(&path, &content).unwrap();
        let store = SqliteEvents::new(&path);
        assert_eq!(append(&store, 0).unwrap_err().code(), "STORE_CORRUPT");
        assert_eq!(store.read(&session("s"), 0).unwrap_err().code(), "STORE_CORRUPT");
        assert_eq!(fs::read(&path).unwrap(), content);
    }
}

#[test]
fn a_newer_log_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.db");
    append(&SqliteEvents::new(&path), 0).unwrap();
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 4).unwrap();
    let error = SqliteEvents::new(&path).read(&session("s"), 0).unwrap_err();
    assert_eq!(error.code(), "STORE_NEWER");
    assert!(error.to_string().contains("format 4, and this program knows up to 3"), "{error}");
}

#[test]
fn a_locked_log_is_busy_and_then_not() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.db");
    let store = SqliteEvents::new(&path).busy_timeout(Duration::from_millis(20));
    append(&store, 0).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(append(&store, 1).unwrap_err().code(), "STORE_BUSY");
    assert_eq!(store.read(&session("s"), 0).unwrap().len(), 1, "readers do not wait");
    other.execute_batch("ROLLBACK").unwrap();
    append(&store, 1).unwrap();
}

#[test]
fn a_log_removed_while_open_takes_no_writes() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    let store = Store::open(&home).unwrap();
    append(store.events.as_ref(), 0).unwrap();
    fs::remove_dir_all(&home).unwrap();
    assert!(store.verify(&session("s")).unwrap().is_empty());
    assert_eq!(append(store.events.as_ref(), 1).unwrap_err().code(), "STORE_CONFLICT");
    append(store.events.as_ref(), 0).unwrap();
    assert_eq!(Store::open(&home).unwrap().verify(&session("s")).unwrap().len(), 1);
}

#[test]
fn a_journal_without_its_log_is_not_taken_for_another_s() {
    let dir = tempfile::tempdir().unwrap();
    append(Store::open(dir.path()).unwrap().events.as_ref(), 0).unwrap();
    fs::remove_file(dir.path().join("events.db")).unwrap();
    let store = Store::open(dir.path()).unwrap();
    let error = append(store.events.as_ref(), 0).unwrap_err();
    assert_eq!(error.code(), "STORE_CORRUPT");
    assert!(error.to_string().contains("events.db-wal"), "{error}");
    // What the message says to do helps.
    fs::rename(dir.path().join("events.db-wal"), dir.path().join("away")).unwrap();
    append(store.events.as_ref(), 0).unwrap();
}

/// Runs `command` as a user to whom permissions apply, also where the tests run as root.
fn unprivileged(role: &str, home: &Path, dir: &Path) -> std::process::Command {
    let program = dir.join("it");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = child::command(&program, role, home);
    if fs::metadata(dir).unwrap().uid() == 0 {
        command.uid(65_534).gid(65_534);
    }
    command.current_dir("/");
    command
}

#[test]
fn a_read_only_home_can_be_read_and_is_named_when_written() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    append(Store::open(&home).unwrap().events.as_ref(), 0).unwrap();
    for file in fs::read_dir(&home).unwrap() {
        fs::set_permissions(file.unwrap().path(), fs::Permissions::from_mode(0o444)).unwrap();
    }
    fs::set_permissions(&home, fs::Permissions::from_mode(0o555)).unwrap();
    let output = unprivileged("forbidden", &home, dir.path()).output().unwrap();
    fs::set_permissions(&home, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(output.status.success());
    let refused = "STORE_READ_ONLY";
    assert_eq!(child::answers(&output.stdout), ["read", refused, refused, refused]);
}

#[test]
fn content_that_does_not_fit_is_full_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let command = child::command(&std::env::current_exe().unwrap(), "limited", dir.path());
    // With the signal ignored, a write past the limit is an error instead.
    let script = "trap '' XFSZ; ulimit -f 100; exec \"$0\" \"$@\"";
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", script]).arg(command.get_program()).args(command.get_args());
    limited.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
    let output = limited.output().unwrap();
    assert_eq!(child::answers(&output.stdout), ["STORE_FULL", "small"], "{output:?}");
    let files = |path: &Path| fs::read_dir(path).unwrap().map(|e| e.unwrap().path());
    let left: Vec<_> = files(dir.path()).flat_map(|shelf| files(&shelf)).collect();
    assert_eq!(left.len(), 1, "{left:?}");
}
