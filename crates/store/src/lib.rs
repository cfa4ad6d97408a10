//! Where events and content are kept.
//!
//! A session is a chain of [`Event`]s in an [`EventStore`]; long texts are in a [`ContentStore`]
//! by their digest. Each has two implementations that obey the same laws: [`MemoryStore`] for
//! both, and [`SqliteEvents`] with [`FileContent`] for what must outlive the process. [`Store`]
//! holds one of each.
//!
//! ```
//! use concertina_store::{Durability, Store};
//! use concertina_types::{Actor, Draft, Fact, SessionId, Timestamp};
//!
//! let store = Store::memory();
//! let session = SessionId::new("s-1")?;
//! let draft = Draft {
//!     step: 0, turn: None, at: Timestamp(0), actor: Actor::System, cause: None,
//!     fact: Fact::TurnStarted {},
//! };
//! store.append(&session, 0, vec![draft.clone()], Durability::KillSafe)?;
//! // A writer that has not seen event 1 is told so, and nothing is written.
//! let error = store.append(&session, 0, vec![draft], Durability::KillSafe).unwrap_err();
//! assert_eq!(error.code(), "STORE_CONFLICT");
//! assert_eq!(store.verify(&session)?.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod audit;
mod content;
mod error;
mod files;
mod memory;
mod small;
mod sqlite;
mod vectors;

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use concertina_types::{Blob, Digest, Draft, Event, SessionId, Timestamp, Trace, verify_chain};

pub use audit::{
    Against, Audit, CHECKPOINT_EVENTS, Fault, KeyLog, Keyring, Notary, PublicKey, PublicKeyError,
    Verdict, verify_export,
};
use audit::{Keys, random};
pub use content::FileContent;
pub use error::StoreError;
pub use memory::MemoryStore;
use memory::NoContent;
use small::BySize;
pub use sqlite::SqliteEvents;
pub use vectors::{Vector, VectorCache};

/// What a write survives once it has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The end of this process, even by `kill -9`: the operating system has the data. A power cut
    /// or a kernel crash may take the last writes with it, never part of a write.
    KillSafe,
    /// A power cut as well: the disk has said that it holds this write and every one before it.
    /// Costs a flush of the disk, so it is for records that an effect in the world depends on.
    PowerSafe,
}

/// One line about a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSummary {
    /// Which session.
    pub session: SessionId,
    /// How many events it has, which is also the number of the last.
    pub events: u64,
    /// When the first event happened.
    pub started: Timestamp,
    /// When the last event happened.
    pub last: Timestamp,
}

/// Logs of events, one per session.
pub trait EventStore: Send + Sync {
    /// Writes `drafts` after event number `after`, all of them or none, and returns them as
    /// they were written.
    ///
    /// `after` is the last event that the writer has seen, 0 where it has seen none. When the
    /// session has moved on, this is [`StoreError::Conflict`] and nothing is written: read what
    /// is new, decide again, append again.
    fn append(
        &self,
        session: &SessionId,
        after: u64,
        drafts: Vec<Draft>,
        durability: Durability,
    ) -> Result<Vec<Event>, StoreError>;

    /// The events with a number above `after`, in order. A session that is not known has none.
    fn read(&self, session: &SessionId, after: u64) -> Result<Vec<Event>, StoreError>;

    /// Whether what is written outlives this process, so that others can see it.
    fn is_kept(&self) -> bool {
        true
    }

    /// Every session, the one written to last first; equal ones by name.
    ///
    /// Events are not read for this, so a damaged session is listed like any other, and rows whose
    /// session is no name are left out: no damage hides the other sessions. [`Store::verify`] finds
    /// it, in a session that has lost events as in one that has found some.
    fn sessions(&self) -> Result<Vec<SessionSummary>, StoreError>;
}

/// Writes the same bytes whenever it is called.
pub type Writing<'a> = &'a dyn Fn(&mut dyn Write) -> io::Result<()>;

/// Bytes by their digest.
pub trait ContentStore: Send + Sync {
    /// Keeps `bytes`, which survive the end of this process once this returns.
    fn put(&self, bytes: &[u8]) -> Result<Digest, StoreError>;

    /// The same for what `write` writes, whose address is `blob`. Content that is too large to be
    /// held as a whole is written piece by piece; the default gathers it.
    fn put_written(&self, blob: &Blob, write: Writing<'_>) -> Result<(), StoreError> {
        let mut bytes = Vec::new();
        write(&mut bytes)
            .map_err(|source| StoreError::io(Path::new(&blob.digest.hex()), source))?;
        self.put(&bytes).map(drop)
    }

    /// The bytes with this digest, checked against it; `None` where there are none.
    fn get(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError>;

    /// Makes everything put so far through this value survive a power cut. The default does
    /// nothing, for stores where a `put` already does or where nothing outlives the process.
    fn sync(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Events and the content they speak of. Clones share both.
#[derive(Clone)]
pub struct Store {
    /// The logs.
    pub events: Arc<dyn EventStore>,
    /// The content.
    pub content: Arc<dyn ContentStore>,
    /// The keys, where they are kept.
    pub marks: Marks,
}

/// The key of the marks that stand for secrets in what is kept, and the one that signs.
#[derive(Debug, Clone)]
pub struct Marks(Source);

#[derive(Clone)]
enum Source {
    Kept(Arc<Keys>),
    Fleeting(Arc<Fleeting>),
}

/// Keys that are gone with the process.
#[derive(Default)]
struct Fleeting {
    marks: OnceLock<[u8; 32]>,
    signing: OnceLock<[u8; 32]>,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if matches!(self, Self::Kept(_)) { "Kept" } else { "Fleeting" })
    }
}

/// The bits in `slot`, made when they are first needed.
fn made(slot: &OnceLock<[u8; 32]>) -> Result<[u8; 32], StoreError> {
    match slot.get() {
        Some(bits) => Ok(*bits),
        None => random().map(|bits| *slot.get_or_init(|| bits)),
    }
}

impl Marks {
    fn fleeting() -> Self {
        Self(Source::Fleeting(Arc::default()))
    }

    /// The key; made, and kept where the store is, when it is first needed.
    pub fn key(&self) -> Result<[u8; 32], StoreError> {
        match &self.0 {
            Source::Kept(keys) => keys.redaction(),
            Source::Fleeting(keys) => made(&keys.marks),
        }
    }

    /// Traces of the secrets that a schema declared in `session`, in whichever process; none where there are no
    /// more than were `seen`. What is gone with the process keeps none.
    pub fn traces(&self, session: &SessionId, seen: &mut u64) -> Result<Vec<Trace>, StoreError> {
        match &self.0 {
            Source::Kept(keys) => keys.traces(session, seen),
            Source::Fleeting(_) => Ok(Vec::new()),
        }
    }

    /// Keeps traces of secrets for whoever goes on in `session`.
    pub fn add_traces(&self, session: &SessionId, traces: &[Trace]) -> Result<(), StoreError> {
        match &self.0 {
            Source::Kept(keys) => keys.add_traces(session, traces),
            Source::Fleeting(_) => Ok(()),
        }
    }

    fn notary(&self, at: Timestamp) -> Result<Notary, StoreError> {
        match &self.0 {
            Source::Kept(keys) => Notary::of(keys, at),
            Source::Fleeting(keys) => made(&keys.signing).map(|bits| Notary::fleeting(&bits)),
        }
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

impl Store {
    /// A store that is gone with the process.
    pub fn memory() -> Self {
        let memory = Arc::new(MemoryStore::default());
        Self { events: memory.clone(), content: memory, marks: Marks::fleeting() }
    }

    /// A store that is gone with the process and keeps no content: for a session to look at, in which
    /// nothing is opened or read again.
    pub fn fleeting() -> Self {
        let events = Arc::new(MemoryStore::default());
        Self { events, content: Arc::new(NoContent), marks: Marks::fleeting() }
    }

    /// Whether what is written is gone with this process.
    pub fn is_fleeting(&self) -> bool {
        !self.events.is_kept()
    }

    /// The store below `home`: `events.db` with what is small, and `content/` with the rest.
    ///
    /// Nothing is opened or created until it is needed; reading never creates anything. A `home`
    /// that is not a directory is refused at once.
    pub fn open(home: &Path) -> Result<Self, StoreError> {
        if home.exists() && !home.is_dir() {
            return Err(StoreError::NotADirectory { path: home.to_owned() });
        }
        let events = Arc::new(SqliteEvents::new(&home.join("events.db")));
        let content = Arc::new(BySize::below(home, Arc::clone(&events)));
        let marks = Marks(Source::Kept(Arc::new(Keys::below(home))));
        Ok(Self { events, content, marks })
    }

    /// As [`Store::open`], but a `home` without a log is [`StoreError::NotFound`].
    pub fn open_existing(home: &Path) -> Result<Self, StoreError> {
        let store = Self::open(home)?;
        let log = home.join("events.db");
        match log.try_exists() {
            Ok(true) => Ok(store),
            Ok(false) => Err(StoreError::NotFound { path: log }),
            Err(source) => Err(StoreError::io(&log, source)),
        }
    }

    /// Who signs receipts here: the key that signs the logs, made at `at` where there is none yet; one that is
    /// gone with the process where nothing is kept. Another may sign after a rotation, so ask each time.
    pub fn notary(&self, at: Timestamp) -> Result<Notary, StoreError> {
        self.marks.notary(at)
    }

    /// [`EventStore::append`], with the order that durability needs: for
    /// [`Durability::PowerSafe`], content put through this store reaches the disk before the
    /// events that name it. Content that another process put and did not sync may be missing
    /// after a power cut; its digest, and so the loss, is in the log.
    pub fn append(
        &self,
        session: &SessionId,
        after: u64,
        drafts: Vec<Draft>,
        durability: Durability,
    ) -> Result<Vec<Event>, StoreError> {
        if durability == Durability::PowerSafe {
            self.content.sync()?;
        }
        self.events.append(session, after, drafts, durability)
    }

    /// Reads a whole session and checks its chain: numbers, hashes and links.
    pub fn verify(&self, session: &SessionId) -> Result<Vec<Event>, StoreError> {
        let events = self.events.read(session, 0)?;
        verify_chain(&events)
            .map_err(|error| StoreError::Chain { session: session.clone(), error })?;
        Ok(events)
    }
}
