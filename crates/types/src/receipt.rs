//! Receipts: what was run, on what, by whom, and what came of it, as a signed statement.
//!
//! A receipt is canonical JSON in an envelope as <https://github.com/secure-systems-lab/dsse> defines it, so any tool
//! that checks such envelopes can check ours. Here are the formats only; who signs and who checks stands above.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use crate::{Digest, FieldValue, KeyId, SessionId, Timestamp, canonical_json};

/// The version of the format.
pub const RECEIPT_VERSION: u8 = 1;
/// What the envelope says that it holds.
pub const RECEIPT_TYPE: &str = "application/vnd.concertina.receipt+json";

/// Who could have made a receipt besides its issuer.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Separation {
    /// Everybody who runs as the same user as the agent: the key is theirs to read.
    #[default]
    SameUid,
    /// Another user of the same machine.
    SeparateUid,
    /// Somebody elsewhere.
    Remote,
}

impl fmt::Display for Separation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::SameUid => "same_uid",
            Self::SeparateUid => "separate_uid",
            Self::Remote => "remote",
        })
    }
}

/// What happened once, as a statement that stands alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// The version of the format, [`RECEIPT_VERSION`].
    pub v: u8,
    /// The run of the procedure.
    pub run: String,
    /// The session it is part of.
    pub session: SessionId,
    /// The procedure, by name.
    pub procedure: String,
    /// Its text, by digest.
    pub procedure_digest: Digest,
    /// The state in which it was asked for.
    pub state: String,
    /// Its number in the run, from 1.
    pub seq: u64,
    /// The receipt before it in the run.
    pub prev: Option<Digest>,
    /// What was run: a tool; `webhook` or `human` where it was something else.
    pub tool: String,
    /// The definition of the tool, by digest.
    pub tool_digest: Digest,
    /// Its arguments, by digest.
    pub args_digest: Digest,
    /// When it began.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
    /// The exit code of a program.
    pub exit: i64,
    /// What it produced, by digest.
    pub outputs_digest: Digest,
    /// What was read from that.
    pub parsed: BTreeMap<String, FieldValue>,
    /// The workspace it ran on, by digest; absent where it is bound to none.
    pub inputs_digest: Option<Digest>,
    /// The checkpoints that it proves.
    pub proves: Vec<String>,
    /// The checkpoints that were tried and are not proven by it: what was proven before holds no more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refuses: Vec<String>,
    /// Who issued it: `executor`, `gateway`, `webhook`, `human:ROLE`.
    pub issuer: String,
    /// Who else could have.
    pub assurance: Separation,
    /// The tier of the sandbox in which a program ran.
    pub tier: Option<String>,
    /// What no other receipt has; it is no secret. For a statement from outside, the one that it came with.
    pub nonce: String,
}

impl Receipt {
    /// The bytes that are signed: canonical JSON.
    ///
    /// There are no fractions in it, so it has one spelling.
    pub fn payload(&self) -> String {
        canonical_json(&serde_json::to_value(self).unwrap_or_default())
    }

    /// The digest of the payload: the name of the receipt.
    pub fn digest(&self) -> Digest {
        Digest::of(self.payload().as_bytes())
    }

    /// The receipt that `payload` says, in the one spelling that receipts have.
    pub fn read(payload: &[u8]) -> Result<Self, EnvelopeError> {
        let receipt: Self = serde_json::from_slice(payload)
            .map_err(|error| EnvelopeError(format!("what it holds is no receipt: {error}")))?;
        if receipt.v != RECEIPT_VERSION {
            let text = format!(
                "it is a receipt of version {}, and {RECEIPT_VERSION} is known here",
                receipt.v
            );
            return Err(EnvelopeError(text));
        }
        if receipt.payload().as_bytes() != payload {
            return Err(EnvelopeError(
                "the receipt in it is not written as canonical JSON".to_owned(),
            ));
        }
        Ok(receipt)
    }
}

/// Who signs receipts: a port, since what is pure knows no keys.
///
/// What it is given to sign is [`pre_authentication`], which begins as nothing else does that the same key
/// signs.
pub trait Notary: Send + Sync {
    /// The key that signs.
    fn key(&self) -> KeyId;
    /// The Ed25519 signature of `bytes`.
    fn sign(&self, bytes: &[u8]) -> [u8; 64];
    /// Who else could have signed.
    fn separation(&self) -> Separation;
}

/// What an envelope signs: its type and its payload, each with its length, so that neither can pass for a part of
/// the other.
///
/// ```
/// use concertina_types::pre_authentication;
/// let signed = pre_authentication("http://example.com/HelloWorld", b"hello world");
/// assert_eq!(signed, b"DSSEv1 29 http://example.com/HelloWorld 11 hello world");
/// ```
pub fn pre_authentication(kind: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

/// A signed statement of whatever kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// What it holds.
    #[serde(rename = "payloadType")]
    pub kind: String,
    /// The statement, in base64.
    pub payload: String,
    /// Who signs it.
    pub signatures: Vec<EnvelopeSignature>,
}

/// One signature of an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvelopeSignature {
    /// Which key: a hint, the signature is what counts.
    #[serde(default)]
    pub keyid: String,
    /// The Ed25519 signature of [`pre_authentication`], in base64.
    pub sig: String,
}

/// A text that is no envelope, or none with such a statement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EnvelopeError(pub String);

impl Envelope {
    /// An envelope as it stands in a file. Nothing in it is believed yet.
    pub fn parse(text: &str) -> Result<Self, EnvelopeError> {
        serde_json::from_str(text)
            .map_err(|error| EnvelopeError(format!("it is no envelope: {error}")))
    }

    /// The bytes of the statement.
    pub fn payload(&self) -> Result<Vec<u8>, EnvelopeError> {
        BASE64
            .decode(&self.payload)
            .map_err(|_| EnvelopeError("its payload is no base64".to_owned()))
    }

    /// What its signatures have to sign.
    pub fn signed(&self) -> Result<Vec<u8>, EnvelopeError> {
        Ok(pre_authentication(&self.kind, &self.payload()?))
    }

    /// The receipt in it, in the one spelling that receipts have.
    pub fn receipt(&self) -> Result<Receipt, EnvelopeError> {
        if self.kind != RECEIPT_TYPE {
            return Err(EnvelopeError(format!("it holds `{}`, which is no receipt", self.kind)));
        }
        Receipt::read(&self.payload()?)
    }
}

/// A receipt with the signature of its issuer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedReceipt {
    /// What is said.
    pub receipt: Receipt,
    /// Who says it.
    pub key: String,
    /// The signature, in base64.
    pub signature: String,
}

impl SignedReceipt {
    /// The receipt with the signature that `sign` makes of it.
    pub fn new(receipt: Receipt, key: KeyId, sign: impl FnOnce(&[u8]) -> [u8; 64]) -> Self {
        let signed = pre_authentication(RECEIPT_TYPE, receipt.payload().as_bytes());
        let signature = BASE64.encode(sign(&signed));
        Self { receipt, key: key.to_string(), signature }
    }

    /// The receipt, signed by `notary`.
    pub fn by(notary: &dyn Notary, receipt: Receipt) -> Self {
        Self::new(receipt, notary.key(), |bytes| notary.sign(bytes))
    }

    /// The same as it stands in a file of its own.
    pub fn envelope(&self) -> Envelope {
        Envelope {
            kind: RECEIPT_TYPE.to_owned(),
            payload: BASE64.encode(self.receipt.payload()),
            signatures: vec![EnvelopeSignature {
                keyid: self.key.clone(),
                sig: self.signature.clone(),
            }],
        }
    }
}

/// A receipt whose signature was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Genuine {
    /// What is said.
    pub receipt: Receipt,
    /// The digest of the payload.
    pub digest: Digest,
    /// Which key signed it.
    pub key: KeyId,
}

/// What keeps a receipt from counting. The codes are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// It is no envelope with a receipt.
    Unreadable,
    /// No key that is believed signed it.
    UnknownKey,
    /// The signature is not that of what it holds.
    Forged,
    /// It is signed, and not written in the one way that receipts are.
    NotCanonical,
    /// It does not follow the receipt before it in its run.
    Chain,
    /// It belongs to another run.
    WrongRun,
    /// It belongs to another procedure, or to the same with another text.
    WrongProcedure,
    /// Another tool was run, or another version of it.
    WrongTool,
    /// What it says cannot be so, or does not prove what it claims.
    Contradiction,
    /// The work changed since.
    Stale,
    /// It is too old.
    Expired,
}

impl FaultKind {
    /// The stable code.
    pub fn code(self) -> &'static str {
        match self {
            Self::Unreadable => "RECEIPT_UNREADABLE",
            Self::UnknownKey => "RECEIPT_UNKNOWN_KEY",
            Self::Forged => "RECEIPT_FORGED",
            Self::NotCanonical => "RECEIPT_NOT_CANONICAL",
            Self::Chain => "RECEIPT_CHAIN",
            Self::WrongRun => "RECEIPT_WRONG_RUN",
            Self::WrongProcedure => "RECEIPT_WRONG_PROCEDURE",
            Self::WrongTool => "RECEIPT_WRONG_TOOL",
            Self::Contradiction => "RECEIPT_CONTRADICTION",
            Self::Stale => "RECEIPT_STALE",
            Self::Expired => "RECEIPT_EXPIRED",
        }
    }

    /// Whether somebody changed something, where otherwise the receipt is about something else.
    pub fn is_tampering(self) -> bool {
        self <= Self::Chain
    }
}

/// Why a receipt does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ReceiptFault {
    /// What is wrong.
    pub kind: FaultKind,
    /// The same in words.
    pub reason: String,
}

impl ReceiptFault {
    /// The fault `kind`, said as `reason`.
    pub fn new(kind: FaultKind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into() }
    }
}
