//! Two writers in any interleaving, against a plain list.

use concertina_store::{Durability, EventStore, MemoryStore, SqliteEvents, StoreError};
use concertina_types::{Event, verify_chain};
use proptest::prelude::*;

use crate::{draft, session};

/// What a writer does next: look at the log, or append so many drafts after what it last saw.
#[derive(Debug, Clone)]
enum Move {
    Look,
    Append { count: u32, at: i64 },
}

fn moves() -> impl Strategy<Value = Vec<(usize, usize, Move)>> {
    let one = prop_oneof![
        Just(Move::Look),
        (0..4u32, -5..5i64).prop_map(|(count, at)| Move::Append { count, at }),
    ];
    proptest::collection::vec((0..2usize, 0..2usize, one), 1..40)
}

fn agrees(writers: [&dyn EventStore; 2], moves: &[(usize, usize, Move)]) {
    let sessions = [session("one"), session("two")];
    let mut oracle: [Vec<Event>; 2] = [vec![], vec![]];
    let mut seen = [[0_u64; 2]; 2];
    for (who, which, action) in moves {
        let (store, s, log) = (writers[*who], &sessions[*which], &mut oracle[*which]);
        let seen = &mut seen[*who][*which];
        match action {
            Move::Look => {
                let new = store.read(s, *seen).unwrap();
                assert_eq!(new, log[usize::try_from(*seen).unwrap()..]);
                *seen += new.len() as u64;
            }
            Move::Append { count, at } => {
                let mut drafts: Vec<_> = (0..*count).map(|n| draft("w", n)).collect();
                for draft in &mut drafts {
                    draft.at.0 += at;
                }
                match store.append(s, *seen, drafts.clone(), Durability::KillSafe) {
                    Ok(events) => {
                        assert_eq!(*seen, log.len() as u64, "a stale writer was let in");
                        for draft in drafts {
                            log.push(draft.seal(s, log.last()));
                        }
                        *seen = log.len() as u64;
                        assert_eq!(events, log[log.len() - events.len()..]);
                        assert_eq!(events.len(), *count as usize);
                    }
                    Err(StoreError::Conflict { expected, found, .. }) => {
                        assert_ne!(*seen, log.len() as u64, "an up-to-date writer was refused");
                        assert_eq!((expected, found), (*seen, log.len() as u64));
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }
    for (s, log) in sessions.iter().zip(&oracle) {
        verify_chain(log).unwrap();
        assert_eq!(&writers[0].read(s, 0).unwrap(), log);
        assert_eq!(&writers[1].read(s, 0).unwrap(), log);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn memory_agrees_with_a_list(moves in moves()) {
        let store = MemoryStore::default();
        agrees([&store, &store], &moves);
    }

    #[test]
    fn two_connections_agree_with_a_list(moves in moves()) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("events.db");
        agrees([&SqliteEvents::new(&path), &SqliteEvents::new(&path)], &moves);
    }
}
