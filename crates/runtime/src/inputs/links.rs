//! Links that lead to what is no input, and is used all the same.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::Path;

use concertina_types::{Blob, Digest};

use super::InputsError;
use super::entry::{Entry, Kind};
use super::rules::path_of;

/// Lets each link of `entries` that leads to a file below `root` which is no input itself count with what that file
/// holds: what is ignored, or lies in `.git`. A link out of `root` is what it says, wherever it is looked at.
pub(super) fn count_hidden(root: &Path, entries: &mut [Entry]) -> Result<(), InputsError> {
    if !entries.iter().any(|entry| entry.kind == Kind::Link) {
        return Ok(());
    }
    let Ok(real) = root.canonicalize() else { return Ok(()) };
    let inputs: BTreeSet<Vec<u8>> = entries.iter().map(|entry| entry.path.to_vec()).collect();
    for entry in entries.iter_mut().filter(|entry| entry.kind == Kind::Link) {
        let Ok(target) = root.join(path_of(&entry.path)).canonicalize() else { continue };
        let Ok(inside) = target.strip_prefix(&real) else { continue };
        if inputs.contains(inside.as_os_str().as_encoded_bytes()) || !target.is_file() {
            continue;
        }
        let read = |target: &Path| -> io::Result<Digest> {
            let mut file = File::open(target)?;
            Ok(Blob::of_written(|out| io::copy(&mut file, out).map(drop))?.digest)
        };
        let content = read(&target).map_err(|error| InputsError::unreadable(&target, error))?;
        entry.content =
            Digest::of_parts([entry.content.as_bytes().as_slice(), content.as_bytes().as_slice()]);
    }
    Ok(())
}
