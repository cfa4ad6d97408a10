//! A statement on a log at one moment, and the note that carries it with a signature.
//!
//! The note is a signed note as transparency logs use it (<https://c2sp.org/signed-note>), its text a
//! checkpoint (<https://c2sp.org/tlog-checkpoint>) with two lines of ours: any tool that checks such
//! notes can check ours. Here are the formats only; who signs stands above.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::{Digest, SessionId, Timestamp};

/// What stands before the session in the first line of a checkpoint.
const ORIGIN: &str = "concertina.audit/v1/";
/// The name of the signer in a note.
const SIGNER: &str = "concertina";
/// The byte that stands for Ed25519 in the id of a key.
const ED25519: u8 = 1;

/// The log of a session, as it was after `count` events.
///
/// ```
/// use concertina_types::{Checkpoint, Digest, KeyId, SessionId, SignedNote, Timestamp};
/// let checkpoint = Checkpoint {
///     session: SessionId::new("s-1")?,
///     count: 256,
///     root: Digest::of(b"root"),
///     head: Digest::of(b"head"),
///     at: Timestamp(0),
/// };
/// let note = SignedNote { checkpoint, key: KeyId::of(&[7; 32]), signature: [1; 64] };
/// let text = note.to_string();
/// assert!(text.starts_with("concertina.audit/v1/s-1\n256\n"));
/// assert_eq!(text.parse::<SignedNote>().unwrap(), note);
/// # Ok::<(), concertina_types::NameError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which session.
    pub session: SessionId,
    /// How many events it had.
    pub count: u64,
    /// The root of the tree over their hashes.
    pub root: Digest,
    /// The hash of the last of them.
    pub head: Digest,
    /// When the last of them happened.
    pub at: Timestamp,
}

impl Checkpoint {
    /// What is signed: the lines of the note up to the blank one.
    pub fn text(&self) -> String {
        let Self { session, count, root, head, at } = self;
        let root = BASE64.encode(root.as_bytes());
        format!("{ORIGIN}{session}\n{count}\n{root}\nhead {head}\ntime {at}\n")
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.strip_suffix('\n')?.split('\n');
        let session = lines.next()?.strip_prefix(ORIGIN)?.parse().ok()?;
        let count = lines.next()?.parse().ok()?;
        let root = BASE64.decode(lines.next()?).ok()?.try_into().ok()?;
        let head = lines.next()?.strip_prefix("head ")?.parse().ok()?;
        let at = lines.next()?.strip_prefix("time ")?.parse().ok()?;
        let checkpoint = Self { session, count, root: Digest::from_bytes(root), head, at };
        // One spelling only, and no line that nobody looks at.
        (lines.next().is_none() && checkpoint.text() == text).then_some(checkpoint)
    }
}

/// Which key signed: the first four bytes of the digest of its name, algorithm and public key. It
/// names a key among few; the signature is what counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId([u8; 4]);

impl KeyId {
    /// The id of an Ed25519 key.
    pub fn of(public: &[u8; 32]) -> Self {
        let parts = [SIGNER.as_bytes(), b"\n", &[ED25519], public.as_slice()];
        let [a, b, c, d, ..] = *Digest::of_parts(parts).as_bytes();
        Self([a, b, c, d])
    }

    /// The public key as tools that check signed notes take it.
    pub fn verifier(self, public: &[u8; 32]) -> String {
        let key: Vec<u8> = std::iter::once(ED25519).chain(*public).collect();
        format!("{SIGNER}+{self}+{}", BASE64.encode(key))
    }
}

impl std::fmt::Display for KeyId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&format!("{:08x}", u32::from_be_bytes(self.0)))
    }
}

/// A checkpoint with a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedNote {
    /// What is said.
    pub checkpoint: Checkpoint,
    /// Who says it.
    pub key: KeyId,
    /// The Ed25519 signature of [`Checkpoint::text`].
    pub signature: [u8; 64],
}

/// A text that is no signed checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is no signed checkpoint")]
pub struct NoteError;

impl std::fmt::Display for SignedNote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let signed: Vec<u8> = self.key.0.into_iter().chain(self.signature).collect();
        write!(f, "{}\n\u{2014} {SIGNER} {}\n", self.checkpoint.text(), BASE64.encode(signed))
    }
}

impl std::str::FromStr for SignedNote {
    type Err = NoteError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (said, signature) = text.split_at_checked(text.find("\n\n")? + 1)?;
            let checkpoint = Checkpoint::parse(said)?;
            let line = signature.strip_prefix('\n')?.strip_suffix('\n')?;
            let line = line.strip_prefix("\u{2014} ")?.strip_prefix(SIGNER)?.strip_prefix(' ')?;
            let signed: [u8; 68] = BASE64.decode(line).ok()?.try_into().ok()?;
            let (key, signature) = signed.split_first_chunk::<4>()?;
            Some(Self { checkpoint, key: KeyId(*key), signature: signature.try_into().ok()? })
        };
        parse().ok_or(NoteError)
    }
}
