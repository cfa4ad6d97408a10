//! What an action really means: where a path leads, and which bytes would run.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use concertina_core::policy::code_words;
use concertina_core::session::Pin;
use concertina_types::Digest;
use serde_json::Value;

use crate::inside::leads_to;

/// The largest program or script whose bytes are part of a question, and are held while it runs; a larger
/// one counts by its size and the time of its last change.
const PROGRAM_BYTES: u64 = 64_000_000;

/// Where programs of the system are. Only an administrator changes them.
const SYSTEM: [&str; 6] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/nix"];

/// Where the arguments that are paths lead, seen from `directory`, and what the files among `fixed`, which
/// would run as they are, hold; and what the `pins` do.
pub(crate) fn targets(
    directory: &Path,
    arguments: &Value,
    fixed: &[String],
    pins: &[Pin],
) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (name, value) in arguments.as_object().into_iter().flatten() {
        let texts: Vec<&str> = match value {
            Value::String(text) => vec![text],
            Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        for text in texts {
            found.extend(real(directory, text).map(|real| (format!("{name} is"), real)));
        }
    }
    let given = pins.iter().map(|pin| &pin.word).filter(|word| !fixed.contains(word));
    found.extend(fixed.iter().chain(given).filter_map(|word| contents(directory, word, pins)));
    found
}

/// Names of parameters that are paths, also behind `_`, as in `input_file`. A schema can say so of any other:
/// `format: path`.
const PATHS: [&str; 7] = ["path", "paths", "file", "files", "filename", "dir", "directory"];

/// Where the arguments lead that are paths by `schema` or by their name, seen from `directory`.
pub(crate) fn paths(directory: &Path, schema: &Value, arguments: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (name, value) in arguments.as_object().into_iter().flatten() {
        let of = |key: &str| schema.get("properties")?.get(name)?.get(key)?.as_str();
        let last = name.rsplit('_').next().unwrap_or(name).to_lowercase();
        let is_path = of("format").map_or_else(|| PATHS.contains(&last.as_str()), |f| f == "path");
        let texts: Vec<&str> = match value {
            Value::String(text) => vec![text],
            Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        for text in texts.into_iter().filter(|text| is_path && !text.is_empty()) {
            found.push((name.clone(), leads_to(&directory.join(text)).display().to_string()));
        }
    }
    found
}

/// The same for a command: every word may be a path, and any of them a script.
pub(crate) fn targets_of_command(
    directory: &Path,
    words: &[String],
    pins: &[Pin],
) -> Vec<(String, String)> {
    let lead = |word: &String| real(directory, word).map(|real| (format!("{word} is"), real));
    let paths = words.iter().filter_map(lead);
    paths.chain(words.iter().filter_map(|word| contents(directory, word, pins))).collect()
}

/// The code that the argument vector `argv` runs, seen from `directory`, as it is now.
pub(crate) fn pins(directory: &Path, argv: &[String]) -> Vec<Pin> {
    let is_file = |word: &str| is_name(word) && directory.join(word).is_file();
    let code = code_words(argv, &is_file).into_iter();
    let pin = |word: &str| {
        let path = leads_to(&directory.join(word));
        let is_systems = SYSTEM.iter().any(|place| path.starts_with(place));
        let is_small = path.metadata().is_ok_and(|meta| meta.len() <= PROGRAM_BYTES);
        if is_systems || !is_small {
            return None;
        }
        let digest = digest(&path)?;
        Some(Pin { word: word.to_owned(), path: path.to_str()?.to_owned(), digest })
    };
    code.filter_map(pin).collect()
}

/// Whether `text` can name something.
fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains('\0')
}

/// The real path of what `text` names, where that is not the path as it is written.
fn real(directory: &Path, text: &str) -> Option<String> {
    if !is_name(text) {
        return None;
    }
    let real = leads_to(&directory.join(text));
    let plain = directory.join(text.trim_start_matches("./").trim_end_matches('/'));
    (real != plain).then(|| real.display().to_string())
}

/// What the file that `word` names holds: what was looked at for its pin, where it has one.
fn contents(directory: &Path, word: &str, pins: &[Pin]) -> Option<(String, String)> {
    let pinned = pins.iter().find(|pin| pin.word == word).map(|pin| pin.digest);
    let read = || digest(&directory.join(word));
    let digest = pinned.or_else(|| is_name(word).then(read).flatten())?;
    Some((format!("{word} holds"), digest.to_string()))
}

/// The digest of the file at `path`.
fn digest(path: &Path) -> Option<Digest> {
    let meta = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    if meta.len() > PROGRAM_BYTES {
        let changed = meta.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        return Some(Digest::of(format!("{} {}", meta.len(), changed.as_nanos()).as_bytes()));
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(PROGRAM_BYTES).read_to_end(&mut bytes).ok()?;
    Some(Digest::of(&bytes))
}
