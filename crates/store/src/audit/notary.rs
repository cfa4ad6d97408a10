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

/// Keys that are tried on one signature. Logs that changed their key more often are not verified by hints alone.
const KEYS: usize = 64;

/// What the name of a key on a signature means. An empty one means nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    /// The signature is that key's. We name the keys of what we sign, so any other name was put there by somebody.
    Bind,
    /// Others name their keys as they like; it says which to try first.
    Hint,
}

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
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PublicKeyError {
    /// It is written in neither way.
    #[error(
        "it is no public key: expected the base64 of the 32 bytes of an Ed25519 key, or `concertina+ID+BASE64`, as `concertina audit keys` prints it"
    )]
    NoKey,
    /// It names its key by another one's id.
    #[error("the id in it is not that of the key; it would be `{0}`")]
    WrongId(String),
}

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

    /// Also believes the key that `text` spells: `concertina+ID+BASE64`, or the base64 of its 32 bytes.
    pub fn add(&mut self, text: &str) -> Result<(), PublicKeyError> {
        // A `+` can stand in base64, too.
        let base64 = match text.strip_prefix("concertina+") {
            Some(named) => named.split_once('+').map(|(_, base64)| base64),
            None => Some(text),
        };
        let bytes =
            base64.and_then(|base64| BASE64.decode(base64).ok()).ok_or(PublicKeyError::NoKey)?;
        let is_named = base64 != Some(text);
        let public = if is_named { bytes.get(1..).unwrap_or_default() } else { &bytes };
        let public: [u8; 32] = public.try_into().map_err(|_| PublicKeyError::NoKey)?;
        let key = VerifyingKey::from_bytes(&public).ok().filter(|key| !key.is_weak());
        let (id, key) = (KeyId::of(&public), key.ok_or(PublicKeyError::NoKey)?);
        let verifier = id.verifier(&public);
        if is_named && verifier != text {
            return Err(PublicKeyError::WrongId(verifier));
        }
        self.0.push((id, key));
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
        let key = self.signer(envelope, &signed, Names::Bind)?;
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
        self.signer(envelope, &pre_authentication(&envelope.kind, &payload), Names::Hint)
    }

    /// Who signed `signed`.
    fn signer(
        &self,
        envelope: &Envelope,
        signed: &[u8],
        names: Names,
    ) -> Result<KeyId, ReceiptFault> {
        let mut named = None;
        for signature in envelope.signatures.iter().take(SIGNATURES) {
            let made = BASE64.decode(&signature.sig).ok();
            let made = made.and_then(|bytes| Signature::from_slice(&bytes).ok());
            let (meant, others): (Vec<_>, Vec<_>) =
                self.0.iter().partition(|(id, _)| id.to_string() == signature.keyid);
            named = named.or(meant.first().map(|(id, _)| *id));
            let may_be_any = names == Names::Hint || signature.keyid.is_empty();
            let others = others.into_iter().filter(|_| may_be_any);
            for (id, key) in meant.into_iter().chain(others).take(KEYS) {
                if made.is_some_and(|made| key.verify(signed, &made).is_ok()) {
                    return Ok(id);
                }
            }
        }
        let unknown = |why: String| ReceiptFault::new(FaultKind::UnknownKey, why);
        Err(match (named, envelope.signatures.first()) {
            (Some(id), _) => {
                let why = format!("its signature is not that of the key {id} for what it says");
                ReceiptFault::new(FaultKind::Forged, why)
            }
            (None, None) => unknown("nobody signed it".to_owned()),
            (None, Some(_)) if self.is_empty() => {
                unknown("no key is believed here; give one with --key".to_owned())
            }
            (None, Some(first)) if first.keyid.is_empty() => {
                let why = "its signature is that of no key that is believed here, for what it says";
                ReceiptFault::new(FaultKind::Forged, why)
            }
            (None, Some(first)) => {
                let id: String = first.keyid.chars().take(20).collect();
                unknown(format!(
                    "no key that is believed here is called `{id}`, and none of them signed it"
                ))
            }
        })
    }
}
