//! When a log is signed, and how: a checkpoint in the same transaction as the events that it covers.

use std::collections::BTreeMap;

use concertina_types::{
    Checkpoint, Digest, Draft, Fact, MerkleTree, SessionId, SignedNote, Timestamp,
};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::Keys;
use crate::Durability;
use crate::sqlite::{self, Failure};

/// A checkpoint at every such number, so that no more events than this are without a signature.
pub const CHECKPOINT_EVENTS: u64 = 256;

/// How long events wait for a signature while others follow, in milliseconds.
const CHECKPOINT_MILLISECONDS: i64 = 5_000;

/// What format 3 added. `edge` is that of the Merkle tree, so that it can be continued.
pub(crate) const CHECKPOINTS: &str = "
    CREATE TABLE IF NOT EXISTS checkpoints (
        session TEXT NOT NULL,
        count INTEGER NOT NULL,
        edge BLOB NOT NULL,
        note TEXT NOT NULL,
        PRIMARY KEY (session, count)
    ) STRICT, WITHOUT ROWID;";

/// Sessions whose last events are not signed yet, with the moment of the first of them.
pub(crate) type Unsigned = BTreeMap<SessionId, Timestamp>;

/// What has to be signed with an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// Nothing yet.
    Nothing,
    /// The end, since an effect depends on it.
    Effect,
    /// The end, or a number on the way: the signature goes to the disk at once.
    Scheduled,
}

impl Due {
    /// What is due when `drafts` follow event `after`.
    pub(crate) fn of(
        after: u64,
        drafts: &[Draft],
        durability: Durability,
        unsigned_since: Option<Timestamp>,
    ) -> Self {
        let end = after.saturating_add(drafts.len() as u64);
        let is_full = after / CHECKPOINT_EVENTS != end / CHECKPOINT_EVENTS;
        let ends = |draft: &Draft| {
            matches!(draft.fact, Fact::TaskFinished { .. } | Fact::SessionInterrupted { .. })
        };
        let is_late = drafts.last().zip(unsigned_since).is_some_and(|(draft, since)| {
            draft.at.0.saturating_sub(since.0) >= CHECKPOINT_MILLISECONDS
        });
        if drafts.is_empty() {
            Self::Nothing
        } else if is_full || is_late || drafts.iter().any(ends) {
            Self::Scheduled
        } else if durability == Durability::PowerSafe {
            Self::Effect
        } else {
            Self::Nothing
        }
    }
}

/// Signs the end of the log of `session`, and every full number before it that is not signed. For a
/// transaction that holds the lock for writing.
pub(crate) fn sign_end(
    connection: &Connection,
    keys: &Keys,
    session: &SessionId,
) -> Result<Vec<SignedNote>, Failure> {
    sign_after(connection, keys, session, last_tree(connection, session)?)
}

/// Signs the end once more, by the latest key.
pub(crate) fn sign_again(
    connection: &Connection,
    keys: &Keys,
    session: &SessionId,
) -> Result<Vec<SignedNote>, Failure> {
    let mut trees = connection.prepare_cached(
        "SELECT count, edge, note FROM checkpoints WHERE session = ?1
         AND count < (SELECT max(count) FROM checkpoints WHERE session = ?1)
         ORDER BY count DESC LIMIT 1",
    )?;
    let tree = trees.query_row([session.as_str()], tree).optional()?;
    sign_after(connection, keys, session, tree.unwrap_or_default())
}

fn sign_after(
    connection: &Connection,
    keys: &Keys,
    session: &SessionId,
    mut tree: MerkleTree,
) -> Result<Vec<SignedNote>, Failure> {
    let mut rows = connection.prepare_cached(
        "SELECT session, seq, at, event FROM events WHERE session = ?1 AND seq > ?2 ORDER BY seq",
    )?;
    let mut rows = rows.query(params![session.as_str(), tree.count()])?;
    let mut notes = Vec::new();
    let mut last: Option<(Digest, Timestamp)> = None;
    while let Some(row) = rows.next()? {
        let event = sqlite::event(row)?;
        if event.seq != tree.count() + 1 {
            return Err(Failure::Damaged(format!(
                "session {session}, event {}: it does not follow",
                event.seq
            )));
        }
        tree.push(&event.hash);
        last = Some((event.hash, event.at));
        if event.seq.is_multiple_of(CHECKPOINT_EVENTS) {
            notes.extend(sign(connection, keys, session, &tree, &mut last)?);
        }
    }
    notes.extend(sign(connection, keys, session, &tree, &mut last)?);
    Ok(notes)
}

/// Signs the tree as it is, unless that was done.
fn sign(
    connection: &Connection,
    keys: &Keys,
    session: &SessionId,
    tree: &MerkleTree,
    last: &mut Option<(Digest, Timestamp)>,
) -> Result<Option<SignedNote>, Failure> {
    let Some((head, at)) = last.take() else { return Ok(None) };
    let (session, count, root) = (session.clone(), tree.count(), tree.root());
    let note = keys.sign(Checkpoint { session, count, root, head, at })?;
    let mut insert = connection.prepare_cached(
        "INSERT OR REPLACE INTO checkpoints (session, count, edge, note) VALUES (?1, ?2, ?3, ?4)",
    )?;
    let session = note.checkpoint.session.as_str();
    insert.execute(params![session, count, tree.to_bytes(), note.to_string()])?;
    Ok(Some(note))
}

/// The tree as it was when it was last signed.
fn last_tree(connection: &Connection, session: &SessionId) -> Result<MerkleTree, Failure> {
    let mut query = connection.prepare_cached(
        "SELECT count, edge, note FROM checkpoints WHERE session = ?1 ORDER BY count DESC LIMIT 1",
    )?;
    Ok(query.query_row([session.as_str()], tree).optional()?.unwrap_or_default())
}

/// The tree of a checkpoint. One that does not fit its note is made anew from the first event: what is
/// signed next must be right whatever happened to this row.
fn tree(row: &rusqlite::Row<'_>) -> rusqlite::Result<MerkleTree> {
    let (count, edge, note): (u64, Vec<u8>, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let tree = MerkleTree::from_bytes(count, &edge).unwrap_or_default();
    let is_signed = note.parse::<SignedNote>().is_ok_and(|note| {
        note.checkpoint.count == tree.count() && note.checkpoint.root == tree.root()
    });
    Ok(if is_signed { tree } else { MerkleTree::default() })
}
