//! An event as it is kept: its canonical JSON, whose hash can be checked without reading the rest.

use crate::{Digest, Event, canonical_json};

/// What stands before the hash in the text of an event.
const HASH: &str = ",\"hash\":\"sha256:";
const HEX: usize = 64;
/// What follows what an event says is shorter than this, in bytes: two hashes and some names.
const END_BYTES: usize = 1_024;

/// The frame of an event: its place, its links, and that its content is what was hashed.
///
/// The text of an event is its canonical JSON. Without its hash it is what was hashed, byte for byte, so
/// checking takes one digest and no parsing of what the event says.
///
/// ```
/// use concertina_types::{Actor, Draft, Fact, Sealed, SessionId, Timestamp};
/// let draft = Draft {
///     step: 0, turn: None, at: Timestamp(5), actor: Actor::System, cause: None,
///     fact: Fact::TurnStarted {},
/// };
/// let event = draft.seal(&SessionId::new("s-1")?, None);
/// let text = event.to_text();
/// let sealed = Sealed::read(&text).unwrap();
/// assert_eq!((sealed.session, sealed.seq, sealed.hash), ("s-1", 1, event.hash));
/// assert!(Sealed::read(&text.replace("system", "user")).is_none());
/// # Ok::<(), concertina_types::NameError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sealed<'a> {
    /// Which session.
    pub session: &'a str,
    /// The place in the session.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// The hash of the event before.
    pub prev_hash: Option<Digest>,
    /// The hash, which is right.
    pub hash: Digest,
}

impl Event {
    /// The event as it is kept: canonical JSON.
    pub fn to_text(&self) -> String {
        canonical_json(&serde_json::to_value(self).unwrap_or_default())
    }
}

impl<'a> Sealed<'a> {
    /// The frame of the event `text`; none where it is not the text of an event, or not that of the hash
    /// that it names.
    pub fn read(text: &'a str) -> Option<Self> {
        let start = text.strip_prefix("{\"actor\":\"")?;
        let (_, start) = start.split_once("\",\"at\":")?;
        let (at, _) = start.split_once(',')?;
        // The last one is that of the event: what follows it holds no texts but names.
        let end = text.ceil_char_boundary(text.len().saturating_sub(END_BYTES));
        let hash_at = end + text.get(end..)?.rfind(HASH)?;
        let (before, hash) = (text.get(..hash_at)?, text.get(hash_at + HASH.len()..)?);
        let (hash, after) = (digest(hash.get(..HEX)?)?, hash.get(HEX..)?.strip_prefix('"')?);
        let rest = after.strip_prefix(",\"kind\":\"")?;
        let (_, rest) = rest.split_once('"')?;
        let (prev_hash, rest) = match rest.strip_prefix(",\"prev_hash\":\"sha256:") {
            Some(rest) => (Some(digest(rest.get(..HEX)?)?), rest.get(HEX..)?.strip_prefix('"')?),
            None => (None, rest),
        };
        let (seq, rest) = rest.strip_prefix(",\"seq\":")?.split_once(',')?;
        let (session, rest) = rest.strip_prefix("\"session\":\"")?.split_once('"')?;
        rest.strip_prefix(",\"step\":")?;
        let is_right = Digest::of_parts([before.as_bytes(), after.as_bytes()]) == hash;
        let (seq, at) = (seq.parse().ok()?, at.parse().ok()?);
        is_right.then_some(Self { session, seq, at, prev_hash, hash })
    }
}

fn digest(hex: &str) -> Option<Digest> {
    let mut bytes = [0; 32];
    let (pairs, _) = hex.as_bytes().as_chunks::<2>();
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = nibble(*high)? << 4 | nibble(*low)?;
    }
    Some(Digest::from_bytes(bytes))
}

/// Lower-case digits only: one digest has one spelling.
fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}
