//! The repository that a directory is the top of: what it tracks, and what it leaves out for itself.

use std::fs;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::InputsError;
use super::index::Index;
use super::rules::{RULES_BYTES, Rules, path_of};
use crate::sources::open_file;

/// An index, in bytes: a million entries take about 100 MB.
const INDEX_BYTES: usize = 1024 * 1024 * 1024;
/// A file that holds one path, in bytes.
const POINTER_BYTES: usize = 64 * 1024;

/// What git knows of a working tree.
#[derive(Debug)]
pub(super) struct Repository {
    pub(super) index: Index,
    /// What `info/exclude` says. What a person's own settings exclude has no say: another machine would
    /// see other inputs.
    pub(super) rules: Option<Arc<Rules>>,
}

impl Repository {
    /// The repository whose working tree begins at `directory`; none where none does. Paths are those of
    /// the rules: `base` bytes of them lead here.
    pub(super) fn at(directory: &Path, base: usize) -> Result<Option<Self>, InputsError> {
        let Some(git) = git_directory(directory)? else { return Ok(None) };
        let index = git.join("index");
        let index = match read(&index, INDEX_BYTES)? {
            Some(bytes) => {
                Index::parse(&bytes).map_err(|why| InputsError::unreadable(&index, why))?
            }
            // Nothing was added yet.
            None => Index::default(),
        };
        // What several working trees share lies in one of them.
        let common = match read(&git.join("commondir"), POINTER_BYTES)? {
            Some(text) => git.join(path_of(text.trim_ascii())),
            None => git,
        };
        // Inside another repository, who makes one could have it exclude whatever lies there.
        let exclude = match base {
            0 => read(&common.join("info/exclude"), RULES_BYTES)?,
            _ => None,
        };
        let rules = exclude.and_then(|text| Rules::nearer(None, base, &text));
        Ok(Some(Self { index, rules }))
    }

    /// The nearest repository whose working tree holds `directory`, and where that tree begins.
    pub(super) fn around(directory: &Path) -> Result<Option<(PathBuf, Self)>, InputsError> {
        for above in directory.ancestors() {
            if let Some(found) = Self::at(above, 0)? {
                return Ok(Some((above.to_owned(), found)));
            }
        }
        Ok(None)
    }
}

/// Where git keeps what it knows of the working tree that begins at `directory`: in `.git`, or where
/// the file `.git` says, as for submodules and further working trees.
fn git_directory(directory: &Path) -> Result<Option<PathBuf>, InputsError> {
    let git = directory.join(".git");
    let kind = match fs::metadata(&git) {
        Ok(meta) => meta.file_type(),
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(InputsError::unreadable(&git, error)),
    };
    if kind.is_dir() {
        return Ok(is_git(&git).then_some(git));
    }
    if !kind.is_file() {
        return Ok(None);
    }
    let text = read(&git, POINTER_BYTES)?.unwrap_or_default();
    let Some(path) = text.strip_prefix(b"gitdir: ") else { return Ok(None) };
    let leads = directory.join(path_of(path.trim_ascii()));
    if is_git(&leads) {
        return Ok(Some(leads));
    }
    // Without it nobody knows what is tracked although a pattern ignores it.
    let why = format!("it leads to {}, which is no repository", leads.display());
    Err(InputsError::unreadable(&git, why))
}

/// Whether git takes `directory` for a repository: what it passes over is a directory like others to it. A working
/// tree of its own has `commondir` in place of objects and references.
fn is_git(directory: &Path) -> bool {
    let head = directory.join("HEAD");
    let head = match fs::symlink_metadata(&head) {
        Ok(about) if about.is_symlink() => {
            return fs::read_link(&head).is_ok_and(|to| to.starts_with("refs"));
        }
        Ok(_) => read(&head, POINTER_BYTES).ok().flatten().unwrap_or_default(),
        Err(_) => return false,
    };
    let head = head.trim_ascii();
    let is_id = matches!(head.len(), 40 | 64) && head.iter().all(u8::is_ascii_hexdigit);
    let names =
        head.strip_prefix(b"ref:").is_some_and(|name| name.trim_ascii().starts_with(b"refs/"));
    let holds = |name: &str| directory.join(name).is_dir();
    (is_id || names) && (directory.join("commondir").is_file() || holds("objects") && holds("refs"))
}

/// The file at `path`; none where there is none.
fn read(path: &Path, limit: usize) -> Result<Option<Vec<u8>>, InputsError> {
    let unreadable = |error| InputsError::unreadable(path, error);
    match open_file(path) {
        Ok(file) => bounded(file, limit).map(Some).map_err(unreadable),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(unreadable(error)),
    }
}

/// All bytes of `file`, which must be a file and not larger than `limit`.
pub(super) fn bounded(file: fs::File, limit: usize) -> std::io::Result<Vec<u8>> {
    let refused = |why: String| std::io::Error::new(ErrorKind::InvalidInput, why);
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(refused("it is not a file".into()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or_default().min(limit));
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    file.take(most).read_to_end(&mut bytes)?;
    if bytes.len() > limit {
        return Err(refused(format!("it is larger than {limit} bytes")));
    }
    Ok(bytes)
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}
