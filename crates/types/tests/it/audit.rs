//! Trees and notes.

use concertina_types::{Checkpoint, Digest, KeyId, MerkleTree, SessionId, SignedNote, Timestamp};
use proptest::prelude::*;

/// The tree as RFC 6962 defines it, by recursion.
fn root(leaves: &[Digest]) -> Digest {
    match leaves {
        [] => Digest::of(b""),
        [leaf] => Digest::of_parts([&[0_u8][..], leaf.as_bytes()]),
        leaves => {
            let split = leaves.len().next_power_of_two() / 2;
            let (left, right) = leaves.split_at(split);
            Digest::of_parts([&[1_u8][..], root(left).as_bytes(), root(right).as_bytes()])
        }
    }
}

#[test]
fn the_tree_is_that_of_the_standard_at_every_size() {
    let leaves: Vec<Digest> = (0_u32..300).map(|n| Digest::of(&n.to_le_bytes())).collect();
    let mut tree = MerkleTree::default();
    for (count, leaf) in leaves.iter().enumerate() {
        assert_eq!(tree.root(), root(&leaves[..count]), "{count} leaves");
        let read = MerkleTree::from_bytes(count as u64, &tree.to_bytes()).unwrap();
        assert_eq!(read, tree);
        assert_eq!(MerkleTree::from_bytes(2 * count as u64 + 1, &tree.to_bytes()), None);
        tree.push(leaf);
    }
}

fn note() -> SignedNote {
    let checkpoint = Checkpoint {
        session: SessionId::new("s-1").unwrap(),
        count: 7,
        root: Digest::of(b"root"),
        head: Digest::of(b"head"),
        at: Timestamp(1_767_225_600_123),
    };
    SignedNote { checkpoint, key: KeyId::of(&[7; 32]), signature: [9; 64] }
}

#[test]
fn a_note_has_one_spelling() {
    let text = note().to_string();
    assert_eq!(text.parse::<SignedNote>(), Ok(note()));
    for (from, to) in [
        ("\n7\n", "\n07\n"),
        ("\n7\n", "\n+7\n"),
        ("time ", "time  "),
        ("\n\n", "\nmore\n\n"),
        ("\u{2014} ", "- "),
        ("s-1", "s/1"),
        ("123Z", "123"),
    ] {
        assert!(text.replacen(from, to, 1).parse::<SignedNote>().is_err(), "{from} to {to}");
    }
    assert!(text.trim_end().parse::<SignedNote>().is_err());
    assert!(format!("{text}\n").parse::<SignedNote>().is_err());
}

proptest! {
    #[test]
    fn no_other_text_is_the_same_note(at in 0_usize..1_000, flip in 1_u8..=255) {
        let mut bytes = note().to_string().into_bytes();
        let at = at % bytes.len();
        bytes[at] ^= flip;
        if let Ok(text) = String::from_utf8(bytes) {
            prop_assert_ne!(text.parse::<SignedNote>(), Ok(note()));
        }
    }
}

#[test]
fn every_kind_of_record_is_in_the_list_of_kinds() {
    // An unknown kind is answered with the known ones.
    let error = serde_json::from_value::<concertina_types::Fact>(
        serde_json::json!({"kind": "?", "data": {}}),
    );
    let error = error.unwrap_err().to_string();
    let known: Vec<&str> = error.split('`').skip(3).step_by(2).collect();
    assert_eq!(known, concertina_types::Fact::KINDS, "{error}");
}
