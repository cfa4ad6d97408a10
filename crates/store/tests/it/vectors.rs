//! Vectors that were made before: kept, private, bounded, and never anybody's error.

use std::fs;

use concertina_store::{Vector, VectorCache};
use concertina_types::Digest;
use rusqlite::{Connection, params};

fn key(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

fn vector(first: f32) -> Vector {
    [first, 0.5].into()
}

#[test]
fn what_was_written_is_read_also_by_another() {
    let home = tempfile::tempdir().unwrap();
    let mut cache = VectorCache::below(&home.path().join("state"));
    assert!(cache.read(&[key("a")]).is_empty());
    cache.write(&[(key("a"), vector(1.0)), (key("b"), vector(2.0))]);
    cache.write(&[(key("a"), vector(3.0))]);
    let mut other = VectorCache::below(&home.path().join("state"));
    let found = other.read(&[key("a"), key("b"), key("c")]);
    assert_eq!(found, [(key("a"), vector(3.0)), (key("b"), vector(2.0))].into());
}

#[cfg(unix)]
#[test]
fn it_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let mut cache = VectorCache::below(home.path());
    cache.write(&[(key("a"), vector(1.0))]);
    let mode = fs::metadata(home.path().join("vectors.db")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_damaged_entry_is_not_there_and_a_damaged_file_is_begun_anew() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("vectors.db");
    let mut cache = VectorCache::below(home.path());
    cache.write(&[(key("a"), vector(1.0)), (key("b"), vector(2.0)), (key("c"), vector(3.0))]);
    let connection = Connection::open(&path).unwrap();
    for (entry, bytes) in [("a", vec![0_u8; 16]), ("b", vec![1])] {
        connection
            .execute(
                "UPDATE vectors SET vector = ?1 WHERE key = ?2",
                params![bytes, key(entry).as_bytes()],
            )
            .unwrap();
    }
    drop(connection);
    let found = cache.read(&[key("a"), key("b"), key("c")]);
    assert_eq!(found, [(key("c"), vector(3.0))].into());
    for text in
        ["this is no database at all, but long enough to look like one".repeat(50), String::new()]
    {
        fs::write(&path, text).unwrap();
        let mut cache = VectorCache::below(home.path());
        assert!(cache.read(&[key("c")]).is_empty());
        cache.write(&[(key("c"), vector(4.0))]);
        assert_eq!(cache.read(&[key("c")]), [(key("c"), vector(4.0))].into());
    }
}

#[test]
fn where_nothing_can_be_kept_nothing_is_known() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("file"), "").unwrap();
    let mut cache = VectorCache::below(&home.path().join("file"));
    cache.write(&[(key("a"), vector(1.0))]);
    assert!(cache.read(&[key("a")]).is_empty());
}

#[test]
fn the_oldest_make_room() {
    let home = tempfile::tempdir().unwrap();
    let mut cache = VectorCache::below(home.path());
    cache.write(&[(key("old"), vector(1.0))]);
    let many: Vec<_> = (0..20_000).map(|at| (key(&at.to_string()), vector(0.0))).collect();
    cache.write(&many);
    assert!(cache.read(&[key("old")]).is_empty());
    assert_eq!(cache.read(&[key("0")]).len(), 1);
}
