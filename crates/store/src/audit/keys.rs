//! The keys below the state directory: `keys/`, for this user alone.
//!
//! `log` tells of every key that ever signed here, one JSON object a line: the first speaks for itself,
//! each later one is introduced by the one before. `sign-ID` is the secret of the latest, `redaction`
//! the secret of the marks that stand for secrets. Each is made when it is first needed.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use concertina_types::{Checkpoint, KeyId, SignedNote, Timestamp, canonical_json};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};

use super::heads::Heads;
use crate::files::{create_private_dir, create_temporary, sync_dir};
use crate::memory::lock;
use crate::{StoreError, sqlite};

/// A line of the log of keys: `by` says that `key` signs from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    v: u8,
    key: String,
    public: String,
    at: Timestamp,
    by: String,
    signature: String,
}

impl Line {
    /// What is signed: the line without its signature.
    fn text(&self) -> String {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        value.as_object_mut().and_then(|fields| fields.remove("signature"));
        canonical_json(&value)
    }
}

/// A key that signs or signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    /// Its id.
    pub id: KeyId,
    /// Since when it signs.
    pub since: Timestamp,
    pub(super) key: VerifyingKey,
}

impl PublicKey {
    /// The key as tools that check signed notes take it.
    pub fn verifier(&self) -> String {
        self.id.verifier(self.key.as_bytes())
    }
}

/// Every key that ever signed here, the latest last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyLog {
    keys: Vec<PublicKey>,
}

impl KeyLog {
    /// Reads a log of keys: the text, or why it cannot be trusted.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut log = Self::default();
        for (number, line) in text.lines().enumerate() {
            let key = log.next(line).ok_or_else(|| {
                format!("line {} of the log of keys was not written by the key before", number + 1)
            })?;
            log.keys.push(key);
        }
        if !text.is_empty() && !text.ends_with('\n') {
            return Err("the log of keys ends within a line".to_owned());
        }
        Ok(log)
    }

    fn next(&self, text: &str) -> Option<PublicKey> {
        let line: Line = serde_json::from_str(text).ok()?;
        let public: [u8; 32] = BASE64.decode(&line.public).ok()?.try_into().ok()?;
        let key = VerifyingKey::from_bytes(&public).ok()?;
        let key = PublicKey { id: KeyId::of(&public), since: line.at, key };
        let by = self.keys.last().unwrap_or(&key);
        let signature = Signature::from_slice(&BASE64.decode(&line.signature).ok()?).ok()?;
        by.key.verify_strict(line.text().as_bytes(), &signature).ok()?;
        let is_new = !self.keys.iter().any(|known| known.id == key.id);
        // One spelling only.
        let is_plain = serde_json::to_string(&line).ok()? == text;
        let names = line.v == 1 && line.key == key.id.to_string() && line.by == by.id.to_string();
        (is_new && is_plain && names).then_some(key)
    }

    /// The keys, the latest last.
    pub fn keys(&self) -> &[PublicKey] {
        &self.keys
    }

    /// Where the key that signed `note` stands in the log; none where no key of the log did.
    pub(crate) fn signer(&self, note: &SignedNote) -> Option<usize> {
        let at = self.keys.iter().position(|key| key.id == note.key)?;
        let signature = Signature::from_bytes(&note.signature);
        let text = note.checkpoint.text();
        self.keys.get(at)?.key.verify_strict(text.as_bytes(), &signature).ok()?;
        Some(at)
    }
}

/// The keys below one state directory.
#[derive(Debug)]
pub(crate) struct Keys {
    home: PathBuf,
    dir: PathBuf,
    /// The key that signs, and what the log of keys was when it was read.
    signing: Mutex<Option<(String, SigningKey)>>,
    redaction: Mutex<Option<[u8; 32]>>,
}

impl Keys {
    pub(crate) fn below(home: &Path) -> Self {
        let (signing, redaction) = (Mutex::default(), Mutex::default());
        Self { home: home.to_owned(), dir: home.join("keys"), signing, redaction }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    fn log_path(&self) -> PathBuf {
        self.dir.join("log")
    }

    /// The text of the log of keys; empty where there is none yet.
    pub(crate) fn log_text(&self) -> Result<String, StoreError> {
        let path = self.log_path();
        match fs::read_to_string(&path) {
            Ok(text) => Ok(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Err(StoreError::corrupt(&path, "it is no text"))
            }
            Err(error) => Err(StoreError::io(&path, error)),
        }
    }

    /// The log of keys.
    pub(crate) fn log(&self) -> Result<KeyLog, StoreError> {
        KeyLog::parse(&self.log_text()?).map_err(|why| broken(&self.log_path(), &why))
    }

    /// Signs with the latest key, which is made where there is none.
    pub(crate) fn sign(&self, checkpoint: Checkpoint) -> Result<SignedNote, StoreError> {
        let key = self.latest(checkpoint.at)?;
        let signature = key.sign(checkpoint.text().as_bytes()).to_bytes();
        Ok(SignedNote { checkpoint, key: id_of(&key), signature })
    }

    /// The latest key, which is made at `at` where there is none.
    pub(super) fn latest(&self, at: Timestamp) -> Result<SigningKey, StoreError> {
        let mut slot = lock(&self.signing);
        // Another process may have put another key in its place.
        let text = self.log_text()?;
        let known = slot.take().filter(|(known, _)| *known == text && !text.is_empty());
        let (text, key) = match known {
            Some(known) => known,
            None if text.is_empty() => self.begin(at)?,
            None => self.read_latest(text)?,
        };
        *slot = Some((text, key.clone()));
        Ok(key)
    }

    /// Puts a new key in the place of the latest, whose secret is then gone.
    pub(crate) fn rotate(&self, at: Timestamp) -> Result<KeyId, StoreError> {
        let mut slot = lock(&self.signing);
        let guard = self.guard()?;
        let text = self.log_text()?;
        let (text, old) = if text.is_empty() { self.begin(at)? } else { self.read_latest(text)? };
        let new = self.new_secret()?;
        let text = text + &line(&new, &old, at)?;
        self.replace_log(&text)?;
        drop(guard);
        // Whoever finds the old secret later could sign another past with it.
        let _ = fs::remove_file(self.secret_path(id_of(&old)));
        let id = id_of(&new);
        *slot = Some((text, new));
        Ok(id)
    }

    /// The secret of the marks that stand for secrets, which is made where there is none.
    pub(crate) fn redaction(&self) -> Result<[u8; 32], StoreError> {
        let mut slot = lock(&self.redaction);
        let key = match *slot {
            Some(key) => key,
            None => self.read_or_make_redaction()?,
        };
        *slot = Some(key);
        Ok(key)
    }

    /// Whether the secret of the latest key of `log` is here.
    pub(crate) fn is_latest_kept(&self, log: &KeyLog) -> Result<bool, StoreError> {
        let Some(latest) = log.keys.last() else { return Ok(true) };
        match read_secret(&self.secret_path(latest.id)) {
            Ok(Some(secret)) => Ok(SigningKey::from_bytes(&secret).verifying_key() == latest.key),
            Ok(None) | Err(StoreError::Key { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn read_or_make_redaction(&self) -> Result<[u8; 32], StoreError> {
        let path = self.dir.join("redaction");
        if let Some(key) = read_secret(&path)? {
            return Ok(key);
        }
        if self.log_text()?.is_empty() {
            self.may_begin()?;
        }
        create_private_dir(&self.dir)?;
        self.place(&path, encoded(&random()?).as_bytes())?;
        // Whoever came first has made it.
        read_secret(&path)?.ok_or_else(|| broken(&path, "it is gone again"))
    }

    fn secret_path(&self, id: KeyId) -> PathBuf {
        self.dir.join(format!("sign-{id}"))
    }

    /// The key that the log of keys names last.
    fn read_latest(&self, text: String) -> Result<(String, SigningKey), StoreError> {
        let log = KeyLog::parse(&text).map_err(|why| broken(&self.log_path(), &why))?;
        let Some(latest) = log.keys.last() else {
            return Err(broken(&self.log_path(), "it names no key"));
        };
        let path = self.secret_path(latest.id);
        let secret = read_secret(&path)?
            .ok_or_else(|| broken(&path, "the secret of the key that signs is gone"))?;
        let key = SigningKey::from_bytes(&secret);
        if key.verifying_key() == latest.key {
            Ok((text, key))
        } else {
            Err(broken(&path, "it is not the secret of the key that the log of keys names"))
        }
    }

    /// That nothing is signed here yet. Where something is, the keys are gone: a new one would sign as if
    /// there had been no other, and nobody would notice.
    fn may_begin(&self) -> Result<(), StoreError> {
        let has_heads = Heads::below(&self.home).path().metadata().is_ok_and(|file| file.len() > 0);
        let is_signed = has_heads || sqlite::has_checkpoints(&self.home.join("events.db"))?;
        // Somebody may have begun just now, and signed.
        if is_signed && self.log_text()?.is_empty() {
            return Err(broken(
                &self.dir,
                "logs here are signed, and the keys that did it are gone",
            ));
        }
        Ok(())
    }

    /// The first key. Whoever makes one at the same time agrees on who was first.
    fn begin(&self, at: Timestamp) -> Result<(String, SigningKey), StoreError> {
        self.may_begin()?;
        create_private_dir(&self.dir)?;
        let key = self.new_secret()?;
        let text = line(&key, &key, at)?;
        if self.place(&self.log_path(), text.as_bytes())? {
            return Ok((text, key));
        }
        let _ = fs::remove_file(self.secret_path(id_of(&key)));
        self.read_latest(self.log_text()?)
    }

    fn new_secret(&self) -> Result<SigningKey, StoreError> {
        let key = SigningKey::from_bytes(&random()?);
        self.place(&self.secret_path(id_of(&key)), encoded(&key.to_bytes()).as_bytes())?;
        Ok(key)
    }

    /// Writes a new file, whole and on the disk. False where there is one already, which stays.
    fn place(&self, path: &Path, bytes: &[u8]) -> Result<bool, StoreError> {
        let (mut file, temporary) = create_temporary(path)?;
        let placed = file
            .write_all(bytes)
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::hard_link(&temporary, path));
        let _ = fs::remove_file(&temporary);
        match placed {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            placed => {
                placed.map_err(|error| StoreError::io(path, error))?;
                sync_dir(&self.dir).map(|()| true)
            }
        }
    }

    /// Keeps others from changing the log of keys meanwhile.
    fn guard(&self) -> Result<fs::File, StoreError> {
        create_private_dir(&self.dir)?;
        let guard = fs::File::open(&self.dir).map_err(|error| StoreError::io(&self.dir, error))?;
        guard.lock().map_err(|error| StoreError::io(&self.dir, error))?;
        Ok(guard)
    }

    fn replace_log(&self, text: &str) -> Result<(), StoreError> {
        let path = self.log_path();
        let (mut file, temporary) = create_temporary(&path)?;
        let replaced = file
            .write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&temporary, &path));
        if replaced.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        replaced.map_err(|error| StoreError::io(&path, error))?;
        sync_dir(&self.dir)
    }
}

fn broken(path: &Path, what: &str) -> StoreError {
    StoreError::Key { path: path.to_owned(), what: what.to_owned() }
}

pub(super) fn id_of(key: &SigningKey) -> KeyId {
    KeyId::of(key.verifying_key().as_bytes())
}

/// The line of the log of keys by which `by` introduces `key`.
fn line(key: &SigningKey, by: &SigningKey, at: Timestamp) -> Result<String, StoreError> {
    let public = BASE64.encode(key.verifying_key().as_bytes());
    let (key, name) = (id_of(key).to_string(), id_of(by).to_string());
    let mut line = Line { v: 1, key, public, at, by: name, signature: String::new() };
    line.signature = BASE64.encode(by.sign(line.text().as_bytes()).to_bytes());
    let text = serde_json::to_string(&line).map_err(|error| StoreError::Io {
        path: PathBuf::from("keys/log"),
        source: error.into(),
    })?;
    Ok(text + "\n")
}

fn encoded(secret: &[u8; 32]) -> String {
    BASE64.encode(secret) + "\n"
}

fn read_secret(path: &Path) -> Result<Option<[u8; 32]>, StoreError> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::io(path, error)),
    };
    let secret = BASE64.decode(text.trim_ascii()).ok().and_then(|secret| secret.try_into().ok());
    secret.map(Some).ok_or_else(|| broken(path, "it holds no secret of a key"))
}

pub(crate) fn random() -> Result<[u8; 32], StoreError> {
    let mut bits = [0; 32];
    getrandom::fill(&mut bits).map_err(|error| StoreError::Io {
        path: PathBuf::from("the system's random bits"),
        source: io::Error::other(error),
    })?;
    Ok(bits)
}
