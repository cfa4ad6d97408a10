//! Where else a file can be seen: what is mounted at two places is the same file at both, and Landlock's
//! rights are those of the file.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

use super::grant::refused;
use crate::SandboxError;

/// The mounts of this thread's view.
const MOUNTS: &str = "/proc/thread-self/mountinfo";

/// What is mounted where.
#[derive(Debug)]
pub(super) struct Mounts(Vec<Mount>);

#[derive(Debug)]
struct Mount {
    id: u64,
    /// Which file system.
    device: Vec<u8>,
    /// What of the file system.
    root: PathBuf,
    /// Where.
    at: PathBuf,
}

impl Mounts {
    pub(super) fn read() -> Result<Self, SandboxError> {
        let text = std::fs::read(MOUNTS)
            .map_err(|error| refused(Path::new(MOUNTS), &error.to_string()))?;
        Ok(Self(text.split(|byte| *byte == b'\n').filter_map(Mount::of).collect()))
    }

    /// The places besides `path` that show what is there, if nothing is mounted over them.
    pub(super) fn elsewhere(&self, path: &Path) -> Result<Vec<PathBuf>, SandboxError> {
        let seen = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::MNT_ID)
            .map_err(|error| refused(path, &std::io::Error::from(error).to_string()))?;
        let own = self.0.iter().find(|mount| mount.id == seen.stx_mnt_id);
        let Some((own, below)) = own.and_then(|own| Some((own, path.strip_prefix(&own.at).ok()?)))
        else {
            let reason = "it is closed, and the system does not say where else it can be seen";
            return Err(refused(path, reason));
        };
        let within = own.root.join(below);
        let others = self.0.iter().filter(|mount| mount.device == own.device && mount.id != own.id);
        let places = others.filter_map(|mount| {
            let below = within.strip_prefix(&mount.root).ok()?;
            Some(mount.at.components().chain(below.components()).collect::<PathBuf>())
        });
        Ok(places.filter(|place| place != path).collect())
    }
}

impl Mount {
    /// Reads a line such as `36 35 98:0 /root /at rw - ext4 /dev/sda rw`.
    fn of(line: &[u8]) -> Option<Self> {
        let mut words = line.split(|byte| *byte == b' ');
        let id = std::str::from_utf8(words.next()?).ok()?.parse().ok()?;
        let device = words.nth(1)?.to_owned();
        let (root, at) = (unescaped(words.next()?), unescaped(words.next()?));
        Some(Self { id, device, root, at })
    }
}

/// A path in which spaces and the like are written as `\040`.
fn unescaped(word: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, after)) = rest.split_first() {
        let octal = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let octal = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        if let (b'\\', Some(byte)) = (first, octal) {
            bytes.push(byte);
            rest = after.get(3..).unwrap_or_default();
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{Mount, Mounts, unescaped};

    #[test]
    fn a_line_of_the_kernel_is_read_with_its_spaces() {
        let line = br"36 35 98:0 /a\040b /at\134 rw,noatime shared:1 - ext4 /dev/sda rw";
        let mount = Mount::of(line).unwrap();
        assert_eq!((mount.id, mount.device.as_slice()), (36, &b"98:0"[..]));
        assert_eq!((mount.root, mount.at), ("/a b".into(), PathBuf::from("/at\\")));
        assert_eq!(unescaped(br"\0"), Path::new("\\0"));
        assert!(Mount::of(b"36 35").is_none());
    }

    #[test]
    fn another_mount_of_the_same_directory_shows_the_same_files() {
        let own = std::env::current_exe().unwrap();
        let seen = Mounts::read().unwrap();
        let id = rustix::fs::statx(
            rustix::fs::CWD,
            &own,
            rustix::fs::AtFlags::SYMLINK_NOFOLLOW,
            rustix::fs::StatxFlags::MNT_ID,
        );
        let id = id.unwrap().stx_mnt_id;
        let there = seen.0.iter().find(|mount| mount.id == id).unwrap();
        let copy = |id, root: &Path, at: &str| Mount {
            id,
            device: there.device.clone(),
            root: root.to_owned(),
            at: at.into(),
        };
        let parent = own.parent().unwrap();
        let within = there.root.join(parent.strip_prefix(&there.at).unwrap());
        let mounts = Mounts(vec![
            copy(there.id, &there.root, there.at.to_str().unwrap()),
            copy(u64::MAX, &within, "/second"),
            copy(u64::MAX, &within.join("other"), "/third"),
        ]);
        let second = Path::new("/second").join(own.file_name().unwrap());
        assert_eq!(mounts.elsewhere(&own).unwrap(), [second]);
        assert!(Mounts(vec![]).elsewhere(&own).is_err());
    }
}
