//! Files with one JSON object a line.
//!
//! A line that cannot be used costs only itself: it is named, counted and left out.

use std::fmt;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

use super::EvalError;

/// One line, in bytes. A request can be a pasted book (4 MB); more is no line but a file without
/// line ends, and it would be held in memory.
const LINE_BYTES: usize = 16 * 1024 * 1024;

/// Where something stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// A line that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Where it stands.
    #[serde(flatten)]
    pub place: Place,
    /// Why it cannot be used.
    pub why: String,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.why)
    }
}

/// What can be used of the lines of `path`, each passed through `check`; the others join `skipped`.
/// Blank lines mean nothing. A file without a usable line is an error.
pub(super) fn read<W: DeserializeOwned, T>(
    path: &Path,
    skipped: &mut Vec<Skipped>,
    check: impl Fn(W) -> Result<T, String>,
) -> Result<Vec<(Place, T)>, EvalError> {
    let failed = |source| EvalError::File { path: path.to_owned(), source };
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    let (mut read, mut bytes) = (Vec::new(), Vec::new());
    let before = skipped.len();
    for line in 1.. {
        bytes.clear();
        let room = LINE_BYTES as u64 + 1;
        if file.by_ref().take(room).read_until(b'\n', &mut bytes).map_err(failed)? == 0 {
            break;
        }
        let place = Place { file: path.to_owned(), line };
        let is_cut = bytes.len() > LINE_BYTES && !bytes.ends_with(b"\n");
        if is_cut {
            file.skip_until(b'\n').map_err(failed)?;
            let why = format!("the line is longer than {} MB", LINE_BYTES / 1_000_000);
            skipped.push(Skipped { place, why });
            continue;
        }
        match object(&bytes).and_then(|object| object.map(&check).transpose()) {
            Ok(Some(value)) => read.push((place, value)),
            Ok(None) => {}
            Err(why) => skipped.push(Skipped { place, why }),
        }
    }
    match skipped.get(before) {
        _ if !read.is_empty() => Ok(read),
        None => Err(EvalError::Empty(path.to_owned())),
        Some(first) => Err(EvalError::Line { place: first.place.clone(), why: first.why.clone() }),
    }
}

/// The object that a line holds, nothing where it is blank, or what is wrong with it.
fn object<W: DeserializeOwned>(bytes: &[u8]) -> Result<Option<W>, String> {
    let text = str::from_utf8(bytes)
        .map_err(|error| format!("byte {} of the line is not UTF-8", error.valid_up_to() + 1))?;
    // Some editors write a mark of the byte order.
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Ok(None);
    }
    // Only an object names its fields; a list would be taken for them in order.
    if !text.starts_with('{') {
        return Err("it is no JSON object".to_owned());
    }
    serde_json::from_str(text).map(Some).map_err(|error| {
        let said = error.to_string();
        let position = format!(" at line {} column {}", error.line(), error.column());
        let said = said.strip_suffix(&position).unwrap_or(&said);
        if error.is_data() {
            said.replace("a sequence", "a list")
        } else {
            format!("it is not JSON: {said} at column {}", error.column())
        }
    })
}

/// A field that may be `null`, which means the same as leaving it out.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
