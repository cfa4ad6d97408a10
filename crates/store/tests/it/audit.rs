//! A log that was changed looks changed, whoever changed it, short of whoever holds the key.

use std::fs;
use std::path::{Path, PathBuf};

use concertina_store::{
    Against, Audit, CHECKPOINT_EVENTS, Durability, Fault, Store, Verdict, verify_export,
};
use concertina_types::{
    Blob, Digest, Draft, Event, Fact, SignedNote, Timestamp, Tokens, canonical_json,
};

use crate::{draft, session};

/// A home with `count` events in session `s`, closed.
fn home(count: u32) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    extend(dir.path(), 0, count);
    rest(dir.path());
    dir
}

fn extend(home: &Path, from: u32, count: u32) {
    let store = Store::open(home).unwrap();
    let drafts: Vec<Draft> = (from..from + count).map(|n| draft("w", n)).collect();
    for (place, drafts) in drafts.chunks(7).enumerate() {
        let after = u64::from(from) + place as u64 * 7;
        store.append(&session("s"), after, drafts.to_vec(), Durability::KillSafe).unwrap();
    }
}

/// Copies the journal into the database, so that there is one file to change.
fn rest(home: &Path) {
    sql(home, "SELECT 1");
}

fn sql(home: &Path, statements: &str) {
    let connection = rusqlite::Connection::open(home.join("events.db")).unwrap();
    connection.execute_batch(&format!("SELECT count(*) FROM events; {statements}")).unwrap();
}

fn verify(home: &Path) -> Verdict {
    verify_against(home, &Against::default())
}

fn verify_against(home: &Path, against: &Against) -> Verdict {
    Audit::of(home).verify(Some(&session("s")), against).unwrap().remove(0)
}

fn finds(home: &Path, first_bad: impl Into<Option<u64>>, fault: Fault) {
    let found = verify(home);
    assert_eq!((found.first_bad, found.reason), (first_bad.into(), Some(fault)), "{found:?}");
    assert!(!found.ok);
    // Looking at all sessions finds it, too.
    let all = Audit::of(home).verify(None, &Against::default()).unwrap();
    assert!(all.iter().any(|found| !found.ok), "{all:?}");
}

#[test]
fn a_whole_log_is_in_order_and_signed() {
    for count in [1, 2, 20, 255, 256, 257, 600] {
        let home = home(count);
        let found = verify(home.path());
        assert!(found.ok, "{count}: {found:?}");
        assert_eq!((found.records, found.signed), (count.into(), count.into()), "{count}");
        assert_eq!((found.first_bad, found.reason, found.torn), (None, None, false));
        let key = Audit::of(home.path()).keys().unwrap().keys()[0].id.to_string();
        assert_eq!(found.key, Some(key));
        let heads = fs::read_to_string(home.path().join("heads")).unwrap();
        assert!(heads.lines().count() as u64 >= (u64::from(count) / CHECKPOINT_EVENTS).max(1));
    }
    assert_eq!(verify(tempfile::tempdir().unwrap().path()).records, 0);
}

#[test]
fn s68_every_flipped_bit_of_a_log_names_its_record() {
    // Short records: there are eight bits in each of their bytes.
    let home = tempfile::tempdir().unwrap();
    let store = Store::open(home.path()).unwrap();
    let drafts = (0..20).map(|_| draft("w", 0)).collect();
    store.append(&session("s"), 0, drafts, Durability::PowerSafe).unwrap();
    drop(store);
    let path = home.path().join("events.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    let texts: Vec<Vec<u8>> = (1..=20)
        .map(|seq| {
            let text = "SELECT CAST(event AS BLOB) FROM events WHERE seq = ?1";
            connection.query_row(text, [seq], |row| row.get(0)).unwrap()
        })
        .collect();
    let mut change =
        connection.prepare("UPDATE events SET event = CAST(?1 AS TEXT) WHERE seq = ?2").unwrap();
    let audit = Audit::of(home.path());
    let mut tried = 0_u32;
    for (seq, text) in (1_u64..).zip(&texts) {
        for bit in 0..text.len() * 8 {
            let mut changed = text.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            change.execute((&changed, seq)).unwrap();
            let found = audit.verify(Some(&session("s")), &Against::default()).unwrap().remove(0);
            assert_eq!(
                (found.ok, found.first_bad),
                (false, Some(seq)),
                "bit {bit} of record {seq}: {found:?}"
            );
            tried += 1;
        }
        change.execute((text, seq)).unwrap();
    }
    assert!(verify(home.path()).ok);
    assert!(tried > 40_000, "{tried}");
}

#[test]
fn l10_records_that_were_changed_put_in_taken_out_or_moved_are_named() {
    for (change, first_bad, fault) in [
        (
            "UPDATE events SET event = replace(event, 'NOT_VISIBLE', 'GRANTED') WHERE seq = 7",
            7,
            Fault::RecordChanged,
        ),
        ("UPDATE events SET at = at + 1 WHERE seq = 7", 7, Fault::RecordChanged),
        ("UPDATE events SET event = CAST(x'ff' AS TEXT) WHERE seq = 7", 7, Fault::RecordChanged),
        ("DELETE FROM events WHERE seq = 7", 7, Fault::RecordMissing),
        ("DELETE FROM events WHERE seq = 1", 1, Fault::RecordMissing),
        ("DELETE FROM events WHERE seq > 12", 13, Fault::Truncated),
        ("DELETE FROM events", 1, Fault::Truncated),
        ("UPDATE events SET seq = 21 WHERE seq = 7", 7, Fault::RecordMissing),
        ("UPDATE events SET session = 'other' WHERE seq = 20", 20, Fault::Truncated),
        (
            "UPDATE events SET seq = -7 WHERE seq = 7; UPDATE events SET seq = 7 WHERE seq = 8;
             UPDATE events SET seq = 8 WHERE seq = -7",
            7,
            Fault::RecordChanged,
        ),
        ("UPDATE checkpoints SET note = replace(note, '20', '19')", 20, Fault::CheckpointForged),
        ("UPDATE checkpoints SET note = CAST(x'ff' AS TEXT)", 20, Fault::CheckpointForged),
    ] {
        let home = home(20);
        sql(home.path(), change);
        let found = verify(home.path());
        assert_eq!((found.first_bad, found.reason), (Some(first_bad), Some(fault)), "{change}");
        finds(home.path(), first_bad, fault);
    }
}

/// Writes the log anew from record `from` on, as somebody without the key can.
fn rewrite(home: &Path, from: u64, more: &str) {
    let connection = rusqlite::Connection::open(home.join("events.db")).unwrap();
    let read: Vec<String> = {
        let mut query = connection.prepare("SELECT event FROM events ORDER BY seq").unwrap();
        query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let mut before: Option<Event> = None;
    for text in read {
        let event: Event = serde_json::from_str(&text).unwrap();
        let Event { seq, step, turn, at, actor, cause, fact, session, .. } = event.clone();
        let draft =
            Draft { step: if seq == from { 99 } else { step }, turn, at, actor, cause, fact };
        let new = draft.seal(&session, before.as_ref());
        let text = canonical_json(&serde_json::to_value(&new).unwrap());
        connection.execute("UPDATE events SET event = ?1 WHERE seq = ?2", (text, seq)).unwrap();
        before = Some(new);
    }
    connection.execute_batch(more).unwrap();
}

#[test]
fn a_log_that_was_written_anew_does_not_fit_its_signatures() {
    let first = home(300);
    rewrite(first.path(), 5, "SELECT 1");
    finds(first.path(), 256, Fault::CheckpointMismatch);
    let later = home(300);
    rewrite(later.path(), 280, "SELECT 1");
    finds(later.path(), 300, Fault::CheckpointMismatch);
    // Without the checkpoints of the database, the file of heads still has them.
    let bare = home(300);
    rewrite(bare.path(), 5, "DELETE FROM checkpoints");
    finds(bare.path(), 256, Fault::CheckpointMismatch);
    // Without either, too many records are signed by nobody.
    let none = home(300);
    rewrite(none.path(), 5, "DELETE FROM checkpoints");
    fs::remove_file(none.path().join("heads")).unwrap();
    finds(none.path(), 256, Fault::CheckpointMissing);
}

#[test]
fn a_cut_end_shows_by_the_file_of_heads_and_by_what_was_kept_elsewhere() {
    let home = home(300);
    let audit = Audit::of(home.path());
    let head = verify(home.path()).head;
    let anchor = home.path().join("elsewhere");
    fs::write(&anchor, audit.anchor(None).unwrap()).unwrap();
    let with_head = Against { head, ..Against::default() };
    let with_anchor = Against { anchor: Some(anchor), ..Against::default() };
    for against in [&with_head, &with_anchor] {
        assert!(verify_against(home.path(), against).ok);
    }
    // The log may go on.
    extend(home.path(), 300, 10);
    for against in [&with_head, &with_anchor] {
        let found = verify_against(home.path(), against);
        assert!(found.ok && found.records == 310, "{found:?}");
    }
    // Whoever cuts everything here that tells of the end leaves no trace here.
    sql(
        home.path(),
        "DELETE FROM events WHERE seq > 256; DELETE FROM checkpoints WHERE count > 256",
    );
    finds(home.path(), 257, Fault::Truncated);
    let heads = home.path().join("heads");
    let first = fs::read_to_string(&heads).unwrap().lines().next().unwrap().to_owned() + "\n";
    fs::write(&heads, first).unwrap();
    assert!(verify(home.path()).ok, "only an anchor can tell");
    let found = verify_against(home.path(), &with_head);
    assert_eq!((found.first_bad, found.reason), (Some(257), Some(Fault::HeadMissing)));
    let found = verify_against(home.path(), &with_anchor);
    assert_eq!((found.first_bad, found.reason), (Some(257), Some(Fault::Truncated)));
}

#[test]
fn a_log_that_is_gone_is_missed() {
    let home = home(20);
    for end in ["events.db", "events.db-wal", "events.db-shm"] {
        let _ = fs::remove_file(home.path().join(end));
    }
    finds(home.path(), 1, Fault::Truncated);
    assert_eq!(verify(home.path()).records, 0);
}

#[test]
fn the_file_of_heads_cut_at_every_byte_is_torn_or_shorter_and_never_wrong() {
    let home = home(300);
    let path = home.path().join("heads");
    let bytes = fs::read(&path).unwrap();
    for length in 0..bytes.len() {
        fs::write(&path, &bytes[..length]).unwrap();
        let found = verify(home.path());
        assert!(found.ok, "{length}: {found:?}");
        assert_eq!(found.torn, length > 0 && bytes[length - 1] != b'\n', "{length}");
    }
    // The next writer mends it.
    fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
    extend(home.path(), 300, 3);
    let found = verify(home.path());
    assert!(found.ok && !found.torn && found.records == 303, "{found:?}");
    let notes: Vec<SignedNote> = fs::read_to_string(&path)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<String>(line).unwrap().parse().unwrap())
        .collect();
    assert_eq!(notes.iter().map(|note| note.checkpoint.count).collect::<Vec<_>>(), [256, 259, 303]);
}

#[test]
fn every_flipped_bit_of_the_file_of_heads_is_found() {
    let home = home(20);
    let path = home.path().join("heads");
    let bytes = fs::read(&path).unwrap();
    let audit = Audit::of(home.path());
    for bit in 0..bytes.len() * 8 {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, &changed).unwrap();
        let found = audit.verify(None, &Against::default()).unwrap();
        // The last line break is what tells a whole line from a torn one.
        let is_torn = bit / 8 == bytes.len() - 1;
        assert!(found.iter().any(|one| !one.ok || is_torn && one.torn), "bit {bit}: {found:?}");
    }
}

#[test]
fn every_flipped_bit_of_a_checkpoint_is_found() {
    let home = home(5);
    let connection = rusqlite::Connection::open(home.path().join("events.db")).unwrap();
    let note: String =
        connection.query_row("SELECT note FROM checkpoints", [], |row| row.get(0)).unwrap();
    let mut change = connection.prepare("UPDATE checkpoints SET note = CAST(?1 AS TEXT)").unwrap();
    for bit in 0..note.len() * 8 {
        let mut changed = note.clone().into_bytes();
        changed[bit / 8] ^= 1 << (bit % 8);
        change.execute([&changed]).unwrap();
        let found = verify(home.path());
        assert!(!found.ok, "bit {bit}: {found:?}");
    }
}

fn secret(home: &Path) -> PathBuf {
    let keys = fs::read_dir(home.join("keys")).unwrap().map(|entry| entry.unwrap().path());
    keys.into_iter().find(|path| path.to_string_lossy().contains("/sign-")).unwrap()
}

#[test]
fn a_replaced_key_is_found_and_writes_nothing() {
    let (one, other) = (home(20), home(20));
    // Another secret under the same name.
    fs::copy(secret(other.path()), secret(one.path())).unwrap();
    finds(one.path(), None, Fault::KeyChanged);
    let store = Store::open(one.path()).unwrap();
    let drafts = vec![draft("w", 20)];
    let error = store.append(&session("s"), 20, drafts, Durability::PowerSafe).unwrap_err();
    assert_eq!(error.code(), "STORE_KEY");
    assert_eq!(store.verify(&session("s")).unwrap().len(), 20, "nothing was written");
    // All keys of another home: what they did not sign is unknown to them.
    fs::remove_dir_all(one.path().join("keys")).unwrap();
    fs::create_dir(one.path().join("keys")).unwrap();
    for file in fs::read_dir(other.path().join("keys")).unwrap().map(Result::unwrap) {
        fs::copy(file.path(), one.path().join("keys").join(file.file_name())).unwrap();
    }
    finds(one.path(), 20, Fault::KeyUnknown);
    // No keys at all.
    fs::remove_dir_all(one.path().join("keys")).unwrap();
    finds(one.path(), 20, Fault::KeyUnknown);
}

#[test]
fn k12_keys_that_are_gone_are_not_made_anew_where_something_is_signed() {
    for gone in [&["keys"][..], &["keys", "heads"], &["keys", "events.db", "events.db-wal"]] {
        let home = home(3);
        for name in gone {
            let path = home.path().join(name);
            let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
        let signs =
            Draft { fact: Fact::SessionInterrupted { reason: "x".into() }, ..draft("w", 9) };
        let store = Store::open(home.path()).unwrap();
        let after = if gone.contains(&"events.db") { 0 } else { 3 };
        let errors = [
            store.append(&session("s"), after, vec![signs], Durability::PowerSafe).unwrap_err(),
            store.notary(Timestamp(0)).unwrap_err(),
            store.marks.key().unwrap_err(),
            Audit::of(home.path()).rotate(Timestamp(0)).unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.code(), "STORE_KEY", "{gone:?}: {error}");
            assert!(error.to_string().contains("put the keys back"), "{error}");
        }
        drop(store);
        assert!(!home.path().join("keys/log").exists());
        assert!(!verify(home.path()).ok);
    }
    // The secret alone.
    let home = home(3);
    fs::remove_file(secret(home.path())).unwrap();
    let store = Store::open(home.path()).unwrap();
    assert_eq!(store.notary(Timestamp(0)).unwrap_err().code(), "STORE_KEY");
}

#[test]
fn every_flipped_bit_of_the_log_of_keys_is_found() {
    let home = home(3);
    Audit::of(home.path()).rotate(Timestamp(5)).unwrap();
    let path = home.path().join("keys/log");
    let bytes = fs::read(&path).unwrap();
    for bit in 0..bytes.len() * 8 {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, &changed).unwrap();
        assert!(!verify(home.path()).ok, "bit {bit}");
    }
}

#[test]
fn a_rotation_goes_on_with_another_key_that_the_old_one_introduced() {
    let home = home(300);
    let old = secret(home.path());
    let kept = fs::read(&old).unwrap();
    let before = verify(home.path());
    let audit = Audit::of(home.path());
    // A writer that has the old key in its hands takes the new one.
    let store = Store::open(home.path()).unwrap();
    store.append(&session("s"), 300, vec![draft("w", 300)], Durability::PowerSafe).unwrap();
    let id = audit.rotate(Timestamp(7)).unwrap();
    store.append(&session("s"), 301, vec![draft("w", 301)], Durability::PowerSafe).unwrap();
    let found = verify(home.path());
    assert!(found.ok && found.records == 302, "{found:?}");
    assert_eq!(found.key, Some(id.to_string()));
    assert_ne!(found.key, before.key);
    assert!(!old.exists(), "the old secret is gone");
    let pinned = |key: &Option<String>| Against { key: key.clone(), ..Against::default() };
    assert!(verify_against(home.path(), &pinned(&before.key)).ok);
    let stranger = verify_against(home.path(), &pinned(&Some("00000000".into())));
    assert_eq!(stranger.reason, Some(Fault::KeyUnknown));
    // Whoever kept the old secret can sign another past with it, and it shows.
    sql(home.path(), "DELETE FROM checkpoints WHERE count > 256");
    let heads = home.path().join("heads");
    let first = fs::read_to_string(&heads).unwrap().lines().next().unwrap().to_owned() + "\n";
    fs::write(&heads, first).unwrap();
    fs::write(&old, kept).unwrap();
    finds(home.path(), None, Fault::KeyRetired);
}

#[test]
fn an_export_can_be_checked_anywhere_and_shows_where_it_was_cut() {
    let home = home(20);
    let mut bytes = Vec::new();
    assert_eq!(Audit::of(home.path()).export(&session("s"), &mut bytes).unwrap(), 20);
    let key = verify(home.path()).key;
    let check = |mut bytes: &[u8], key: &Option<String>| {
        let against = Against { key: key.clone(), ..Against::default() };
        verify_export(&mut bytes, &against).unwrap()
    };
    let found = check(&bytes, &key);
    assert!(found.ok, "{found:?}");
    assert_eq!((found.records, found.signed, &found.key), (20, 20, &key));
    assert_eq!(check(&bytes, &Some("00000000".into())).reason, Some(Fault::KeyUnknown));
    for length in 0..bytes.len() {
        let found = check(&bytes[..length], &key);
        assert!(!found.ok || length == bytes.len() - 1, "{length}: {found:?}");
        assert!(found.records <= 20);
    }
    for position in (0..bytes.len()).step_by(7) {
        let mut changed = bytes.clone();
        changed[position] ^= 1;
        assert!(!check(&changed, &key).ok, "byte {position}");
    }
}

/// A home whose record 1 names nothing, 2 a small text, 3 a large one, 4 the small one again.
fn home_with_texts() -> (tempfile::TempDir, [Digest; 2]) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let texts = ["what was said".to_owned(), "a long answer\n".repeat(5_000)];
    let digests = texts.each_ref().map(|text| store.content.put(text.as_bytes()).unwrap());
    let given = |number: u32, text: &str| Draft {
        fact: Fact::TaskGiven { text: Blob::of(text), tokens: Tokens::ZERO },
        ..draft("w", number)
    };
    let [small, large] = &texts;
    let drafts = vec![draft("w", 1), given(2, small), given(3, large), given(4, small)];
    store.append(&session("s"), 0, drafts, Durability::KillSafe).unwrap();
    drop(store);
    rest(dir.path());
    (dir, digests)
}

fn file_of(home: &Path, digest: &Digest) -> PathBuf {
    let hex = digest.hex();
    home.join("content").join(&hex[..2]).join(&hex[2..])
}

#[test]
fn l10_a_text_that_was_replaced_is_found_at_the_first_record_that_names_it() {
    let (home, _) = home_with_texts();
    assert!(verify(home.path()).ok);
    sql(home.path(), "UPDATE content SET bytes = CAST('another' AS BLOB)");
    finds(home.path(), 2, Fault::ContentChanged);
    let (home, [_, large]) = home_with_texts();
    let file = file_of(home.path(), &large);
    let mut bytes = fs::read(&file).unwrap();
    bytes[60_000] ^= 1;
    fs::write(&file, bytes).unwrap();
    finds(home.path(), 3, Fault::ContentChanged);
    // Of two faults, the first record counts.
    sql(home.path(), "UPDATE events SET event = replace(event, 'step\":4', 'step\":5')");
    finds(home.path(), 3, Fault::ContentChanged);
}

#[test]
fn k12_a_text_that_is_not_kept_any_more_is_told_once_and_no_fault() {
    let (home, [_, large]) = home_with_texts();
    assert_eq!(verify(home.path()).not_kept, 0);
    sql(home.path(), "DELETE FROM content");
    let found = verify(home.path());
    assert_eq!((found.ok, found.not_kept), (true, 1), "{found:?}");
    fs::remove_file(file_of(home.path(), &large)).unwrap();
    assert_eq!(verify(home.path()).not_kept, 2);
    fs::remove_dir_all(home.path().join("content")).unwrap();
    let all = Audit::of(home.path()).verify(None, &Against::default()).unwrap();
    assert_eq!((all.len(), all[0].not_kept, all[0].ok), (1, 2, true));
    // A table that is gone is not what retention leaves.
    sql(home.path(), "DROP TABLE content");
    assert_eq!(verify(home.path()).reason, Some(Fault::Unreadable));
}

#[test]
fn l10_an_export_has_the_texts_and_shows_one_that_was_replaced() {
    let (home, digests) = home_with_texts();
    let export = || {
        let mut bytes = Vec::new();
        Audit::of(home.path()).export(&session("s"), &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    let check = |text: &str| verify_export(&mut text.as_bytes(), &Against::default()).unwrap();
    let text = export();
    let of_texts = |line: &&str| line.starts_with("{\"content\":");
    assert_eq!(text.lines().filter(of_texts).count(), 2, "each once");
    assert!(digests.iter().all(|digest| text.contains(&format!("{{\"content\":\"{digest}\""))));
    assert_eq!((check(&text).ok, check(&text).not_kept), (true, 0));
    let changed = check(&text.replacen("what was said", "what was sung", 1));
    assert_eq!((changed.first_bad, changed.reason), (Some(2), Some(Fault::ContentChanged)));
    let less: Vec<&str> = text.lines().filter(|line| !of_texts(line)).collect();
    let less = check(&(less.join("\n") + "\n"));
    assert_eq!((less.ok, less.not_kept), (true, 2), "{less:?}");
    // What is replaced in the store is written as it is, so that whoever checks finds it.
    sql(home.path(), "UPDATE content SET bytes = x'ff00'");
    let text = export();
    assert!(text.contains("\"base64\":\"/wA=\""), "{text}");
    assert_eq!(check(&text).first_bad, Some(2));
    let spoilt = check(&text.replace("\"base64\"", "\"base65\""));
    assert_eq!(spoilt.reason, Some(Fault::ContentChanged));
}

#[test]
fn l10_a_file_that_is_no_log_any_more_is_a_finding() {
    for bytes in [&b""[..], b"no database", &[0; 4_096]] {
        for cuts_heads in [false, true] {
            let home = home(3);
            for name in ["events.db-wal", "events.db-shm"] {
                let _ = fs::remove_file(home.path().join(name));
            }
            fs::write(home.path().join("events.db"), bytes).unwrap();
            if cuts_heads {
                fs::remove_file(home.path().join("heads")).unwrap();
            }
            let all = Audit::of(home.path()).verify(None, &Against::default()).unwrap();
            assert_eq!(all.len(), 1, "{all:?}");
            assert_eq!((all[0].ok, all[0].reason), (false, Some(Fault::Unreadable)));
        }
    }
}

#[test]
fn a_log_of_before_signatures_is_read_and_signed_with_what_comes_next() {
    let home = home(40);
    // As formats before wrote it: fields in another order, no checkpoints.
    let connection = rusqlite::Connection::open(home.path().join("events.db")).unwrap();
    for seq in 1..=40 {
        let text: String = connection
            .query_row("SELECT event FROM events WHERE seq = ?1", [seq], |row| row.get(0))
            .unwrap();
        let event: Event = serde_json::from_str(&text).unwrap();
        let text = serde_json::to_string(&event).unwrap();
        connection.execute("UPDATE events SET event = ?1 WHERE seq = ?2", (text, seq)).unwrap();
    }
    connection.execute_batch("DROP TABLE checkpoints; PRAGMA user_version = 2").unwrap();
    drop(connection);
    fs::remove_file(home.path().join("heads")).unwrap();
    extend(home.path(), 40, 1);
    let found = verify(home.path());
    assert!(found.ok && found.records == 41 && found.signed == 41, "{found:?}");
    sql(home.path(), "UPDATE events SET event = replace(event, 'NOT_VISIBLE', 'N') WHERE seq = 3");
    finds(home.path(), 3, Fault::RecordChanged);
}

#[test]
fn s77_a_clock_set_back_does_not_reorder_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    for n in 0..300_u32 {
        let hour = if n % 2 == 0 { 0 } else { 3_600_000 };
        let late =
            Draft { at: Timestamp(1_700_000_000_000 + i64::from(n) - hour), ..draft("w", n) };
        store.append(&session("s"), n.into(), vec![late], Durability::KillSafe).unwrap();
    }
    let events = store.verify(&session("s")).unwrap();
    assert!(
        events.windows(2).all(|pair| pair[0].at <= pair[1].at && pair[0].seq + 1 == pair[1].seq)
    );
    drop(store);
    assert!(verify(dir.path()).ok);
}
