//! `concertina skill keygen|sign|verify`.

use std::path::{Path, PathBuf};

use concertina_core::catalog::Loaded;
use concertina_runtime::now;
use concertina_runtime::supply::{
    Manifest, PublicKey, SIGNATURE_FILE, SecretKey, Signed, SupplyError, generate_key, judge, sign,
};
use serde_json::json;

use crate::args::{KeygenArgs, SignArgs, VerifyArgs};
use crate::error::{CliError, Exit};
use crate::output::Output;
use crate::place;

pub(crate) fn keygen(args: &KeygenArgs, out: &mut Output) -> Result<u8, CliError> {
    let secret = key_file(args.key.as_deref())?;
    let public = generate_key(&secret)?;
    if out.is_json() {
        let file = secret.with_extension("pub");
        out.json(&json!({"key": secret, "public": public.to_string(), "public_file": file}))?;
        return Ok(0);
    }
    out.line(public.to_string())?;
    out.say(format!(
        "the secret key is {}, without a password: keep it to yourself; the line above is the public one",
        secret.display()
    ));
    Ok(0)
}

pub(crate) fn sign_skill(args: &SignArgs, out: &mut Output) -> Result<u8, CliError> {
    let file = skill_file(&args.path)?;
    let (manifest, _) = Manifest::of(&file, Loaded::Skills)?;
    if args.manifest {
        out.raw(&String::from_utf8_lossy(&manifest.bytes()))?;
        return Ok(0);
    }
    let key = key_file(args.key.as_deref())?;
    let text = std::fs::read_to_string(&key).map_err(|error| {
        CliError::unreadable(&key, &error).help("`concertina skill keygen` makes a secret key")
    })?;
    let key = SecretKey::parse(&text)?;
    let signature = sign(&file, &key, now())?;
    if out.is_json() {
        out.json(&json!({
            "name": manifest.name, "signature": signature, "key": key.public().to_string(),
            "digest": manifest.digest(),
        }))?;
    } else {
        out.line(signature.display().to_string())?;
        out.say(format!(
            "signed {} with {} files as now; a change needs a new signature",
            manifest.name,
            manifest.files.len()
        ));
    }
    Ok(0)
}

pub(crate) fn verify(args: &VerifyArgs, out: &mut Output) -> Result<u8, CliError> {
    let file = skill_file(&args.path)?;
    let (manifest, _) = Manifest::of(&file, Loaded::Skills)?;
    let keys = match &args.public {
        Some(text) => vec![public_key(text)?],
        None => place::quietly(&std::env::current_dir()?)?.trusted_keys().to_vec(),
    };
    if keys.is_empty() {
        return Err(CliError::usage("there is no key to check with").help(
            "give one with --public, or name keys under [trust] in your own concertina.toml",
        ));
    }
    let directory = file.parent().unwrap_or(Path::new("."));
    let (code, message) = match judge(directory, &manifest, &keys)? {
        Signed::By { key, comment } => {
            if out.is_json() {
                let digest = manifest.digest();
                let (name, key) = (manifest.name, key.to_string());
                out.json(&json!({"name": name, "key": key, "comment": comment, "digest": digest}))?;
            } else {
                out.line(format!("{} is what {} signed", manifest.name, key.id()))?;
                out.line(format!("  {comment}"))?;
            }
            return Ok(0);
        }
        Signed::Not => {
            ("SIGNATURE_MISSING", format!("{} has no {SIGNATURE_FILE}", directory.display()))
        }
        Signed::Stranger { key } => (
            "SIGNATURE_OTHER_KEY",
            format!("{} is signed with the key {key}, which is none of those given", manifest.name),
        ),
    };
    Err(CliError::new(Exit::Findings, code, message)
        .help("ask its author for the signature and the right key"))
}

/// The key that `text` is, or that the file of this name holds.
pub(crate) fn public_key(text: &str) -> Result<PublicKey, CliError> {
    match PublicKey::parse(text) {
        Ok(key) => Ok(key),
        Err(error) => match std::fs::read_to_string(text) {
            Ok(text) => Ok(PublicKey::parse(&text)?),
            Err(_) => Err(error.into()),
        },
    }
}

fn key_file(given: Option<&Path>) -> Result<PathBuf, CliError> {
    match given {
        Some(path) => Ok(path.to_owned()),
        None => Ok(place::home()?.join("keys/skill.key")),
    }
}

/// The SKILL.md that `path` is or holds.
fn skill_file(path: &Path) -> Result<PathBuf, CliError> {
    let path = std::path::absolute(path)?;
    let inside = ["SKILL.md", "skill.md"].map(|name| path.join(name));
    std::iter::once(path.clone()).chain(inside).find(|file| file.is_file()).ok_or_else(|| {
        let message = format!("there is no SKILL.md at {}", path.display());
        CliError::new(Exit::NotFound, "NOT_FOUND", message).help("check the path")
    })
}

impl From<SupplyError> for CliError {
    fn from(error: SupplyError) -> Self {
        Self::new(error.kind().into(), error.code(), error.to_string())
    }
}
