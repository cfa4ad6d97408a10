//! Content addresses.

use std::fmt;
use std::io;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The SHA-256 of some bytes, written `sha256:` and 64 lower-case hexadecimal digits.
///
/// ```
/// use concertina_types::Digest;
/// let digest = Digest::of(b"abc");
/// assert!(digest.to_string().starts_with("sha256:ba7816bf"));
/// assert_eq!(digest.to_string().parse::<Digest>(), Ok(digest));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// A text that is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a digest: expected `sha256:` and 64 hexadecimal digits")]
pub struct DigestError(String);

impl Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of several pieces, as if they were one text.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }

    /// The digest whose bytes are known.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The 64 hexadecimal digits without the `sha256:` prefix, for file names.
    pub fn hex(&self) -> String {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        self.0
            .iter()
            .flat_map(|byte| [byte >> 4, byte & 0xf])
            .filter_map(|nibble| DIGITS.get(usize::from(nibble)))
            .map(|&digit| char::from(digit))
            .collect()
    }

    /// The first twelve hexadecimal digits: enough to tell versions apart on a screen.
    pub fn short(&self) -> String {
        self.hex().chars().take(12).collect()
    }

    /// Whether `text` is this digest, whole or its first eight digits or more.
    ///
    /// ```
    /// use concertina_types::Digest;
    /// let digest = Digest::of(b"text");
    /// assert!(digest.is_abbreviated(&digest.short()));
    /// assert!(digest.is_abbreviated(&digest.to_string()));
    /// assert!(!digest.is_abbreviated("98"));
    /// ```
    pub fn is_abbreviated(&self, text: &str) -> bool {
        let digits = text.strip_prefix("sha256:").unwrap_or(text);
        digits.len() >= 8 && self.hex().starts_with(digits)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({})", self.short())
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || DigestError(text.chars().take(100).collect());
        let hex = text.strip_prefix("sha256:").ok_or_else(error)?;
        if hex.len() != 64 || hex.bytes().any(|b| !matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(error());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| error())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| error())?;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Content that is kept apart from the event that speaks of it.
///
/// ```
/// let blob = concertina_types::Blob::of("hello");
/// assert_eq!(blob.bytes, 5);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blob {
    /// What the content hashes to.
    pub digest: Digest,
    /// How long the content is, in bytes.
    pub bytes: u64,
}

impl Blob {
    /// The address of `text`.
    pub fn of(text: &str) -> Self {
        Self { digest: Digest::of(text.as_bytes()), bytes: text.len() as u64 }
    }

    /// The address of what `write` writes, which is never held as a whole.
    ///
    /// ```
    /// use concertina_types::Blob;
    /// let blob = Blob::of_written(|out| out.write_all(b"hel").and_then(|()| out.write_all(b"lo")));
    /// assert_eq!(blob.unwrap(), Blob::of("hello"));
    /// ```
    pub fn of_written(
        write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
    ) -> io::Result<Self> {
        let mut hashing = Hashing { hasher: Sha256::new(), bytes: 0 };
        write(&mut hashing)?;
        Ok(Self { digest: Digest(hashing.hasher.finalize().into()), bytes: hashing.bytes })
    }
}

/// What is written becomes a digest.
struct Hashing {
    hasher: Sha256,
    bytes: u64,
}

impl io::Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
