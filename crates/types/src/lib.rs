//! The words that every other crate shares.
//!
//! This crate is pure: no files, network, processes, clocks or randomness. A type lives here
//! when at least two crates speak of it and it carries no policy of its own.
//!
//! ```
//! use concertina_types::{Digest, Ref};
//!
//! let reference: Ref = "skill:sales-analytics#tables".parse()?;
//! assert_eq!(reference.to_string(), "skill:sales-analytics#tables");
//! assert_eq!(Digest::of(b"").to_string().len(), "sha256:".len() + 64);
//! # Ok::<(), concertina_types::RefError>(())
//! ```

mod canonical;
mod checkpoint;
mod diagnostic;
mod digest;
pub mod env;
mod event;
mod fact;
mod field;
pub mod limits;
mod merkle;
mod names;
mod origin;
mod permissions;
mod receipt;
mod redact;
mod reference;
mod sealed;
mod span;
mod time;
mod tokens;

pub use canonical::canonical_json;
pub use checkpoint::{Checkpoint, KeyId, NoteError, SignedNote};
pub use diagnostic::{Diagnostic, Severity};
pub use digest::{Blob, Digest, DigestError};
pub use event::{Actor, ChainError, Draft, EVENT_VERSION, Event, verify_chain};
pub use fact::{
    Answerer, ApprovalScope, CallId, CallOutcome, Disclosed, DisclosureKind, Fact, ListingKind,
    Means, ModelCall, OpenMode, OpenedSkill, SessionMode, Subject, Usage,
};
pub use field::FieldValue;
pub use merkle::MerkleTree;
pub use names::{NameError, SessionId, SkillId, ToolName};
pub use origin::ConfigOrigin;
pub use permissions::{NetworkScope, OnUnexpected, PathScope, Permissions};
pub use receipt::{
    Envelope, EnvelopeError, EnvelopeSignature, FaultKind, Genuine, Notary, RECEIPT_TYPE,
    RECEIPT_VERSION, Receipt, ReceiptFault, Separation, SignedReceipt, pre_authentication,
};
pub use redact::{
    KNOWN_VALUE_BYTES, Moved, Redactor, Trace, UnfitFact, hmac_sha256, is_secret_name,
    is_secret_variable,
};
pub use reference::{LineRange, Ref, RefError};
pub use sealed::Sealed;
pub use span::{LineIndex, Position, Span};
pub use time::{Timestamp, TimestampError};
pub use tokens::{TokenCounter, Tokens};
