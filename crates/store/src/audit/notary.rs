//! Signing receipts, and checking who signed one.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use concertina_types::{
    Digest, Envelope, FaultKind, Genuine, KeyId, RECEIPT_TYPE, Receipt, ReceiptFault, Separation,
    Timestamp, pre_authentication,
};
use ed25519_dalek::{Signature, Signer as _, SigningKey, Verifier as _, VerifyingKey};

use super::keys::{KeyLog, Keys, id_of};
use crate::StoreError;

/// Signatures of one envelope. More are somebody's attempt to keep us busy.
const SIGNATURES: usize = 8;

/// Fewer than this are not worth another thread.
const SHARE: usize = 32;

/// Signs receipts with the key that signs logs.
///
/// One key is enough: what is signed of a log begins with its origin, what introduces a key is JSON, and what is
/// signed of an envelope begins with `DSSEv1`, so none can pass for another.
pub struct Notary {
    key: SigningKey,
    id: KeyId,
}

impl std::fmt::Debug for Notary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Notary").field(&self.id).finish()
    }
}

impl Notary {
    /// The notary of the state directory `home`: the latest key of its log, which is made at `at` where there
    /// is none.
    pub fn below(home: &Path, at: Timestamp) -> Result<Self, StoreError> {
        Self::of(&Keys::below(home), at)
    }

    pub(crate) fn of(keys: &Keys, at: Timestamp) -> Result<Self, StoreError> {
        Ok(Self::with(keys.latest(at)?))
    }

    /// A notary whose key is gone with it, made of these random bits.
    pub(crate) fn fleeting(secret: &[u8; 32]) -> Self {
        Self::with(SigningKey::from_bytes(secret))
    }

    fn with(key: SigningKey) -> Self {
        Self { id: id_of(&key), key }
    }

    /// The public key, as [`Keyring::add`] takes it.
    pub fn public(&self) -> String {
        self.id.verifier(self.key.verifying_key().as_bytes())
    }
}

impl concertina_types::Notary for Notary {
    fn key(&self) -> KeyId {
        self.id
    }

    fn sign(&self, bytes: &[u8]) -> [u8; 64] {
        self.key.sign(bytes).to_bytes()
    }

    fn separation(&self) -> Separation {
        // The key lies in the home of whoever runs us.
        Separation::SameUid
    }
}

/// A text that is no public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "it is no public key: expected `concertina+ID+BASE64`, as `concertina audit keys` prints it"
)]
pub struct PublicKeyError;

/// The public keys whose signatures are believed. None of them is weak, which is all that a strict check of a
/// signature would add.
///
/// ```
/// use concertina_store::{Keyring, Store};
/// use concertina_types::{Envelope, FaultKind, Notary as _, Timestamp};
///
/// let notary = Store::memory().notary(Timestamp(0))?;
/// let mut keys = Keyring::default();
/// keys.add(&notary.public())?;
/// let text = r#"{"payload":"e30=","payloadType":"text/plain","signatures":[]}"#;
/// let fault = keys.verify(&Envelope::parse(text)?).unwrap_err();
/// assert_eq!(fault.kind, FaultKind::Unreadable);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Keyring(Vec<(KeyId, VerifyingKey)>);

impl From<&KeyLog> for Keyring {
    fn from(log: &KeyLog) -> Self {
        let keys = log.keys().iter().filter(|key| !key.key.is_weak());
        Self(keys.map(|key| (key.id, key.key)).collect())
    }
}

impl Keyring {
    /// The keys that sign and signed in the state directory `home`.
    pub fn of(home: &Path) -> Result<Self, StoreError> {
        Ok(Self::from(&Keys::below(home).log()?))
    }

    /// Also believes the key that `text` spells.
    pub fn add(&mut self, text: &str) -> Result<(), PublicKeyError> {
        let parse = || {
            // A `+` can stand in base64, too.
            let base64 = text.splitn(3, '+').nth(2)?;
            let bytes = BASE64.decode(base64).ok()?;
            let public: [u8; 32] = bytes.split_first()?.1.try_into().ok()?;
            let id = KeyId::of(&public);
            let key = VerifyingKey::from_bytes(&public).ok().filter(|key| !key.is_weak())?;
            (id.verifier(&public) == text).then_some((id, key))
        };
        self.0.push(parse().ok_or(PublicKeyError)?);
        Ok(())
    }

    /// Whether nobody is believed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The receipt in `envelope`, if one of these keys signed it.
    pub fn verify(&self, envelope: &Envelope) -> Result<Genuine, ReceiptFault> {
        let unreadable = |why: String| ReceiptFault::new(FaultKind::Unreadable, why);
        if envelope.kind != RECEIPT_TYPE {
            let kind: String = envelope.kind.chars().take(100).collect();
            return Err(unreadable(format!("it holds `{kind}`, which is no receipt")));
        }
        let payload = envelope.payload().map_err(|error| unreadable(error.to_string()))?;
        let signed = pre_authentication(&envelope.kind, &payload);
        let key = self.signer(envelope, &signed)?;
        let receipt = Receipt::read(&payload)
            .map_err(|error| ReceiptFault::new(FaultKind::NotCanonical, error.to_string()))?;
        Ok(Genuine { receipt, digest: Digest::of(&payload), key })
    }

    /// [`Self::verify`] for many, on every core there is. What could not be read before stays as it is.
    pub fn verify_all(
        &self,
        envelopes: &[Result<Envelope, ReceiptFault>],
    ) -> Vec<Result<Genuine, ReceiptFault>> {
        let one = |envelope: &Result<Envelope, ReceiptFault>| match envelope {
            Ok(envelope) => self.verify(envelope),
            Err(fault) => Err(fault.clone()),
        };
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let share = envelopes.len().div_ceil(cores).max(SHARE);
        std::thread::scope(|scope| {
            let all = |part: &[Result<Envelope, ReceiptFault>]| part.iter().map(one).collect();
            let (first, rest) = envelopes.split_at(share.min(envelopes.len()));
            let started: Vec<_> = rest
                .chunks(share)
                .map(|part| (part, scope.spawn(move || -> Vec<_> { all(part) })))
                .collect();
            let mut checked: Vec<_> = all(first);
            for (part, thread) in started {
                // A thread that broke down has checked nothing.
                checked.extend(thread.join().unwrap_or_else(|_| all(part)));
            }
            checked
        })
    }

    /// Who signed `envelope`, whatever it holds, if it was one of these keys.
    pub fn signed(&self, envelope: &Envelope) -> Result<KeyId, ReceiptFault> {
        let payload = envelope
            .payload()
            .map_err(|error| ReceiptFault::new(FaultKind::Unreadable, error.to_string()))?;
        self.signer(envelope, &pre_authentication(&envelope.kind, &payload))
    }

    /// Who signed `signed`.
    fn signer(&self, envelope: &Envelope, signed: &[u8]) -> Result<KeyId, ReceiptFault> {
        let mut named = None;
        for signature in envelope.signatures.iter().take(SIGNATURES) {
            // The id is a hint and may be missing.
            let meant = self
                .0
                .iter()
                .filter(|(id, _)| signature.keyid.is_empty() || id.to_string() == signature.keyid);
            let made = BASE64.decode(&signature.sig).ok();
            let made = made.and_then(|bytes| Signature::from_slice(&bytes).ok());
            for (id, key) in meant {
                named = named.or(Some(*id));
                if made.is_some_and(|made| key.verify(signed, &made).is_ok()) {
                    return Ok(*id);
                }
            }
        }
        Err(match (named, envelope.signatures.first()) {
            (Some(id), _) => {
                let why = format!("its signature is not that of the key {id} for what it says");
                ReceiptFault::new(FaultKind::Forged, why)
            }
            (None, Some(first)) if !self.is_empty() => {
                let id: String = first.keyid.chars().take(20).collect();
                let why = format!("no key that is believed here is called `{id}`");
                ReceiptFault::new(FaultKind::UnknownKey, why)
            }
            (None, Some(_)) => ReceiptFault::new(
                FaultKind::UnknownKey,
                "no key is believed here; give one with --key",
            ),
            (None, None) => ReceiptFault::new(FaultKind::UnknownKey, "nobody signed it"),
        })
    }
}
