//! Nothing silently lost: kills, full disks, cut files, two writers.

use crate::{child, session};
use concertina_store::{Against, Audit, Store};

#[test]
fn s76_two_writers_of_ten_thousand_each_make_one_order() {
    let home = tempfile::tempdir().unwrap();
    let each = 10_000;
    for mut process in ["many-x", "many-y"].map(|role| child::spawn(role, home.path())) {
        assert!(process.wait().unwrap().success());
    }
    let events = Store::open(home.path()).unwrap().verify(&session("shared")).unwrap();
    crate::assert_complete(&events, &["many-x", "many-y"], each);
    let found = Audit::of(home.path()).verify(None, &Against::default()).unwrap().remove(0);
    assert!(found.ok, "{found:?}");
    assert_eq!((found.records, found.signed), (2 * u64::from(each), 2 * u64::from(each)));
}

#[test]
fn a_cut_or_changed_database_is_an_error_or_is_noticed() {
    use std::fs;
    let home = tempfile::tempdir().unwrap();
    let store = Store::open(home.path()).unwrap();
    for n in 0..60 {
        let drafts = vec![crate::draft("w", n)];
        let durability = concertina_store::Durability::PowerSafe;
        store.append(&session("s"), n.into(), drafts, durability).unwrap();
    }
    // As a power cut would find them: the store is still open.
    let main = fs::read(home.path().join("events.db")).unwrap();
    let journal = fs::read(home.path().join("events.db-wal")).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for length in (0..=journal.len()).step_by(4_099).chain([journal.len()]) {
        let copy = tempfile::tempdir().unwrap();
        fs::write(copy.path().join("events.db"), &main).unwrap();
        fs::write(copy.path().join("events.db-wal"), &journal[..length]).unwrap();
        fs::copy(home.path().join("heads"), copy.path().join("heads")).unwrap();
        fs::create_dir(copy.path().join("keys")).unwrap();
        for file in fs::read_dir(home.path().join("keys")).unwrap().map(Result::unwrap) {
            fs::copy(file.path(), copy.path().join("keys").join(file.file_name())).unwrap();
        }
        let found = Audit::of(copy.path()).verify(None, &Against::default()).unwrap().remove(0);
        assert_eq!(found.ok, found.records == 60, "{length}: {found:?}");
        seen.insert(found.records);
    }
    assert_eq!(seen.last(), Some(&60));
    assert!(seen.len() > 30, "{seen:?}");
}
