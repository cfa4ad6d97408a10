//! A directory as a source: copied under the same rules as an archive.

use std::fs::{File, Metadata, OpenOptions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

use super::{LeftOut, SupplyError, Unpacking, refuse};
use crate::supply::files::{Kind, SIGNATURE_FILE, walk};

/// Copies the files below `from` into the empty directory `into`.
///
/// # Errors
/// As for an archive.
pub fn copy_directory(from: &Path, into: &Path) -> Result<LeftOut, SupplyError> {
    let walk = walk(from)?;
    let mut unpacking = Unpacking::new(into, None);
    unpacking.left_out.version_control = walk.left_out.len();
    let special = "is a device, a pipe or something else that is no file";
    for found in walk.found {
        let name = found.path.as_os_str().as_bytes();
        match found.kind {
            Kind::File => {}
            Kind::Link => {
                return Err(refuse("ENTRY_LINK", name, "is a link; a skill has none"));
            }
            Kind::Special => return Err(refuse("ENTRY_SPECIAL", name, special)),
        }
        let path = from.join(&found.path);
        let (mut file, meta) =
            open(&path).map_err(|error| SupplyError::unreadable(&path, &error))?;
        // Something else may have taken the place of the file meanwhile.
        if !meta.is_file() {
            return Err(refuse("ENTRY_SPECIAL", name, special));
        }
        unpacking.file(name, &mut file, meta.permissions().mode() & 0o111 != 0)?;
    }
    // The signature belongs to the skill and not to what it covers, so the walk left it out.
    let signature = from.join(SIGNATURE_FILE);
    if signature.symlink_metadata().is_ok() {
        let (mut file, meta) =
            open(&signature).map_err(|error| SupplyError::unreadable(&signature, &error))?;
        if !meta.is_file() {
            return Err(refuse("ENTRY_SPECIAL", SIGNATURE_FILE.as_bytes(), special));
        }
        unpacking.file(SIGNATURE_FILE.as_bytes(), &mut file, false)?;
    }
    Ok(unpacking.left_out)
}

/// Opens what lies at `path` itself: never what a link there leads to, and without waiting for a pipe.
fn open(path: &Path) -> std::io::Result<(File, Metadata)> {
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    Ok((file, meta))
}
