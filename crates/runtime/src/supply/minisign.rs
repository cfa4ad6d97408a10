//! Keys and signatures in the format of minisign: Ed25519 over the `BLAKE2b` hash of what is signed, with
//! a comment that is signed as well.
//!
//! The format is public: <https://jedisct1.github.io/minisign/#signature-format>. Secret keys are kept without a password, for
//! their owner's eyes only; the older signatures that are not over a hash are refused.

use std::fmt;
use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use blake2::{Blake2b512, Digest as _};
use ed25519_dalek::{Signature as Ed25519, Signer as _, SigningKey, VerifyingKey};

use super::SupplyError;

/// The algorithm of keys.
const KEY_ALGORITHM: [u8; 2] = *b"Ed";
/// The algorithm of signatures: over a hash.
const HASHED: [u8; 2] = *b"ED";
/// What a key or signature file may hold: four short lines.
const FILE_BYTES: u64 = 8 * 1024;

type KeyId = [u8; 8];

/// A public key: whose signature is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey {
    id: KeyId,
    key: VerifyingKey,
}

/// A secret key: what signs.
pub struct SecretKey {
    id: KeyId,
    key: SigningKey,
}

/// A signature, as a file holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    id: KeyId,
    /// Over the hash of what is signed.
    bytes: [u8; 64],
    comment: String,
    /// Over the signature and the comment.
    global: [u8; 64],
}

/// Key ids are written as minisign writes them: as a number, its last byte first.
fn id_in_words(id: KeyId) -> String {
    format!("{:016X}", u64::from_le_bytes(id))
}

fn hashed(message: &[u8]) -> [u8; 64] {
    Blake2b512::digest(message).into()
}

/// The bytes that `text` means in base64, which have to be `N`.
fn decoded<const N: usize>(text: &str) -> Option<[u8; N]> {
    BASE64.decode(text.trim()).ok()?.try_into().ok()
}

/// The next `N` of `bytes`.
fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*first)
}

/// The text of a small file.
pub(super) fn read_small(path: &Path) -> Result<String, SupplyError> {
    let meta = fs::metadata(path).map_err(|error| SupplyError::unreadable(path, &error))?;
    if !meta.is_file() || meta.len() > FILE_BYTES {
        let message = format!("{} is no key and no signature", path.display());
        return Err(SupplyError::refused("KEY_INVALID", message));
    }
    fs::read_to_string(path).map_err(|error| SupplyError::unreadable(path, &error))
}

impl PublicKey {
    /// The key in `text`: its one line of base64, or the file that holds it below a comment.
    ///
    /// # Errors
    /// `KEY_INVALID`.
    pub fn parse(text: &str) -> Result<Self, SupplyError> {
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
        let read = || {
            let bytes: [u8; 42] = decoded(line)?;
            let rest = &mut bytes.as_slice();
            let algorithm: [u8; 2] = take(rest)?;
            let (id, key) = (take(rest)?, VerifyingKey::from_bytes(&take(rest)?).ok()?);
            (algorithm == KEY_ALGORITHM).then_some(Self { id, key })
        };
        read().ok_or_else(|| {
            let shown: String = line.chars().take(60).collect();
            let help = "a public key of minisign is one line of base64 that begins with RW";
            SupplyError::refused("KEY_INVALID", format!("`{shown}` is no public key; {help}"))
        })
    }

    /// What its file holds.
    pub fn render(&self) -> String {
        format!("untrusted comment: minisign public key {}\n{self}\n", self.id())
    }

    /// Its number, for telling keys apart; it proves nothing.
    pub fn id(&self) -> String {
        id_in_words(self.id)
    }

    /// Whether `signature` says that it was made with this key.
    pub fn is_named_by(&self, signature: &Signature) -> bool {
        self.id == signature.id
    }

    /// Whether `signature` is this key's, over `message`; also over its own comment.
    pub fn verify(&self, message: &[u8], signature: &Signature) -> bool {
        let holds = |message: &[u8], bytes: &[u8; 64]| {
            self.key.verify_strict(message, &Ed25519::from_bytes(bytes)).is_ok()
        };
        self.is_named_by(signature)
            && holds(&hashed(message), &signature.bytes)
            && holds(&signature.commented(), &signature.global)
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = [&KEY_ALGORITHM[..], &self.id, self.key.as_bytes()].concat();
        f.write_str(&BASE64.encode(bytes))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.id())
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey({})", id_in_words(self.id))
    }
}

impl SecretKey {
    /// A new key, from the system's randomness.
    pub fn generate() -> Result<Self, SupplyError> {
        let (mut id, mut seed) = ([0; 8], [0; 32]);
        getrandom::fill(&mut id).and_then(|()| getrandom::fill(&mut seed)).map_err(|error| {
            SupplyError::environment("NO_RANDOMNESS", format!("no key can be made: {error}"))
        })?;
        Ok(Self { id, key: SigningKey::from_bytes(&seed) })
    }

    /// The key in the text of its file.
    ///
    /// # Errors
    /// `KEY_INVALID`; `KEY_LOCKED` where a password protects it.
    pub fn parse(text: &str) -> Result<Self, SupplyError> {
        let invalid = || {
            let help = "`concertina skill keygen` makes one";
            SupplyError::refused(
                "KEY_INVALID",
                format!("this is no secret key of minisign; {help}"),
            )
        };
        let line = text.lines().nth(1).unwrap_or_default();
        let bytes: [u8; 158] = decoded(line).ok_or_else(invalid)?;
        let rest = &mut bytes.as_slice();
        let mut read = || {
            let (algorithm, derivation): ([u8; 2], [u8; 2]) = (take(rest)?, take(rest)?);
            let (checksum, _salt_and_limits): ([u8; 2], [u8; 48]) = (take(rest)?, take(rest)?);
            let known = algorithm == KEY_ALGORITHM && checksum == *b"B2";
            known.then_some(derivation)
        };
        if read().ok_or_else(invalid)? != [0, 0] {
            let help =
                "make one without a password: `minisign -G -W`, or `concertina skill keygen`";
            let message = format!("the secret key is protected by a password; {help}");
            return Err(SupplyError::refused("KEY_LOCKED", message));
        }
        // A checksum follows, which is of use with a password only; that both halves of the key belong
        // together says more.
        let mut read = || {
            let (id, seed): (KeyId, [u8; 32]) = (take(rest)?, take(rest)?);
            let public: [u8; 32] = take(rest)?;
            let key = SigningKey::from_bytes(&seed);
            (key.verifying_key().to_bytes() == public).then_some(Self { id, key })
        };
        read().ok_or_else(invalid)
    }

    /// What its file holds.
    pub fn render(&self) -> String {
        let pair = self.key.to_keypair_bytes();
        let bytes =
            [&KEY_ALGORITHM[..], &[0; 2], b"B2", &[0; 48], &self.id, &pair, &[0; 32]].concat();
        format!("untrusted comment: minisign secret key\n{}\n", BASE64.encode(bytes))
    }

    /// The key that others check with.
    pub fn public(&self) -> PublicKey {
        PublicKey { id: self.id, key: self.key.verifying_key() }
    }

    /// Signs `message`, and `comment` with it: one line.
    pub fn sign(&self, message: &[u8], comment: &str) -> Signature {
        let comment = comment.replace(char::is_control, " ");
        let bytes = self.key.sign(&hashed(message)).to_bytes();
        let mut signature = Signature { id: self.id, bytes, comment, global: [0; 64] };
        signature.global = self.key.sign(&signature.commented()).to_bytes();
        signature
    }
}

impl Signature {
    /// The signature in the text of its file.
    ///
    /// # Errors
    /// `SIGNATURE_WRONG`: a file that is no signature is never the same as none.
    pub fn parse(text: &str) -> Result<Self, SupplyError> {
        let wrong =
            |why: &str| SupplyError::refused("SIGNATURE_WRONG", format!("{why}; sign it again"));
        let mut lines = text.lines();
        let mut next = || lines.next().unwrap_or_default();
        let (untrusted, first, trusted, last) = (next(), next(), next(), next());
        let read = || {
            untrusted.strip_prefix("untrusted comment:")?;
            let bytes: [u8; 74] = decoded(first)?;
            let rest = &mut bytes.as_slice();
            let (algorithm, id, bytes): ([u8; 2], _, _) = (take(rest)?, take(rest)?, take(rest)?);
            let comment = trusted.strip_prefix("trusted comment: ")?.to_owned();
            Some((algorithm, Self { id, bytes, comment, global: decoded(last)? }))
        };
        match read() {
            Some((HASHED, signature)) => Ok(signature),
            Some(_) => Err(wrong("the signature is not of the kind that is over a hash")),
            None => Err(wrong("this is no signature of minisign")),
        }
    }

    /// What its file holds.
    pub fn render(&self) -> String {
        let first = BASE64.encode([&HASHED[..], &self.id, &self.bytes].concat());
        let (comment, last) = (&self.comment, BASE64.encode(self.global));
        format!(
            "untrusted comment: signature of a skill by the key {}\n{first}\ntrusted comment: {comment}\n{last}\n",
            self.key_id()
        )
    }

    /// The number of the key that it says it was made with.
    pub fn key_id(&self) -> String {
        id_in_words(self.id)
    }

    /// What the signer said with it; true only where the signature is.
    pub fn comment(&self) -> &str {
        &self.comment
    }

    fn commented(&self) -> Vec<u8> {
        [&self.bytes[..], self.comment.as_bytes()].concat()
    }
}
