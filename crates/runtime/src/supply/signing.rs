//! Skills and their signatures: signing one, and judging whether it is what somebody signed.
//!
//! What is signed is the bytes of the [`Manifest`], which names every file by its digest. The
//! signature lies beside SKILL.md as `SKILL.minisig`.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use concertina_core::catalog::Loaded;
use concertina_types::Timestamp;

use super::files::SIGNATURE_FILE;
use super::lock::is_absent;
use super::minisign::read_small;
use super::{Manifest, PublicKey, SecretKey, Signature, SupplyError};
use crate::private::{create, create_private_directory, sync_directory, write_whole};

/// Whose a skill is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signed {
    /// It has no signature.
    Not,
    /// Exactly this was signed with one of the keys.
    By {
        /// The key.
        key: PublicKey,
        /// What the signer said with it.
        comment: String,
    },
    /// It has a signature of a key that is none of those given, so nothing is known.
    Stranger {
        /// The number of that key.
        key: String,
    },
}

/// The signature in the directory of a skill; none where there is none.
pub fn signature_of(directory: &Path) -> Result<Option<Signature>, SupplyError> {
    let path = directory.join(SIGNATURE_FILE);
    match std::fs::symlink_metadata(&path) {
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(SupplyError::unreadable(&path, &error)),
        Ok(_) => {
            let wrong = |why: String| {
                SupplyError::refused("SIGNATURE_WRONG", format!("{}: {why}", path.display()))
            };
            let text = read_small(&path).map_err(|error| wrong(error.to_string()))?;
            Signature::parse(&text).map(Some).map_err(|error| wrong(error.to_string()))
        }
    }
}

/// Whether the skill in `directory`, which is what `manifest` says, was signed with one of `keys`.
///
/// # Errors
/// `SIGNATURE_WRONG`: there is a signature that claims one of the keys and does not hold, or a file
/// that is none. A wrong signature is never the same as none.
pub fn judge(
    directory: &Path,
    manifest: &Manifest,
    keys: &[PublicKey],
) -> Result<Signed, SupplyError> {
    let Some(signature) = signature_of(directory)? else { return Ok(Signed::Not) };
    // Numbers of keys are no proof: two keys may have one number.
    let mut named = keys.iter().filter(|key| key.is_named_by(&signature)).peekable();
    if named.peek().is_none() {
        return Ok(Signed::Stranger { key: signature.key_id() });
    }
    let bytes = manifest.bytes();
    if let Some(key) = named.find(|key| key.verify(&bytes, &signature)) {
        return Ok(Signed::By { key: *key, comment: signature.comment().to_owned() });
    }
    let message = format!(
        "the skill `{}` is not what the key {} signed: a file or the signature was changed; take it from its author again",
        manifest.name,
        signature.key_id()
    );
    Err(SupplyError::refused("SIGNATURE_WRONG", message))
}

/// Checks that the skill in `directory` is signed with `key`; gives what the signer said with it.
///
/// # Errors
/// `SIGNATURE_MISSING`, `SIGNATURE_OTHER_KEY`, `SIGNATURE_WRONG`.
pub fn require(
    directory: &Path,
    manifest: &Manifest,
    key: &PublicKey,
) -> Result<String, SupplyError> {
    let name = &manifest.name;
    match judge(directory, manifest, &[*key])? {
        Signed::By { comment, .. } => Ok(comment),
        Signed::Not => {
            let message = format!(
                "the skill `{name}` has no signature, and one of the key {} is wanted; ask its author for `{SIGNATURE_FILE}`",
                key.id()
            );
            Err(SupplyError::refused("SIGNATURE_MISSING", message))
        }
        Signed::Stranger { key: other } => {
            let message = format!(
                "the skill `{name}` is signed with the key {other}, and {} is wanted; ask its author which key is right",
                key.id()
            );
            Err(SupplyError::refused("SIGNATURE_OTHER_KEY", message))
        }
    }
}

/// Signs the skill whose SKILL.md is at `path`, at the moment `now`. Gives where the signature lies.
pub fn sign(path: &Path, key: &SecretKey, now: Timestamp) -> Result<PathBuf, SupplyError> {
    let (manifest, _) = Manifest::of(path, Loaded::Skills)?;
    let version = manifest.version.as_deref().unwrap_or("none");
    let comment = format!("skill:{} version:{version} time:{now}", manifest.name);
    let signature = key.sign(&manifest.bytes(), &comment);
    let file = path.with_file_name(SIGNATURE_FILE);
    write_whole(&file, 0o644, |out| out.write_all(signature.render().as_bytes()))
        .map_err(|error| SupplyError::not_written(&file, &error))?;
    Ok(file)
}

/// Makes a key and writes it to `secret`, for its owner's eyes, and its public half beside it with the
/// ending `.pub`. Gives the public key.
///
/// # Errors
/// `KEY_EXISTS` where one of the files is there: a key is never written over.
pub fn generate_key(secret: &Path) -> Result<PublicKey, SupplyError> {
    let key = SecretKey::generate()?;
    let public = secret.with_extension("pub");
    if let Some(directory) = secret.parent().filter(|path| !path.as_os_str().is_empty()) {
        create_private_directory(directory)
            .map_err(|error| SupplyError::not_written(directory, &error))?;
    }
    for (path, mode, text) in
        [(secret, 0o600, key.render()), (public.as_path(), 0o644, key.public().render())]
    {
        let written = create(path, mode).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        written.map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                let message = format!(
                    "{} is there already, and a key is never written over; name another file",
                    path.display()
                );
                SupplyError::refused("KEY_EXISTS", message)
            }
            _ => SupplyError::not_written(path, &error),
        })?;
    }
    secret
        .parent()
        .map_or(Ok(()), sync_directory)
        .map_err(|error| SupplyError::not_written(secret, &error))?;
    Ok(key.public())
}
