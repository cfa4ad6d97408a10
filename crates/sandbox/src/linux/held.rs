//! What stays as it is, and what is closed, in directories that may be written.
//!
//! Both are mounts over what is there, so that the directory around them can still be written. A mount
//! can be neither renamed nor removed, nor can a link be made to what lies below it.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use super::grant::{Access, Grant, refused};
use super::placeholder::{Placeholder, Protected};
use super::plan::Hold;
use crate::{Confinement, SandboxError};

/// What may be held at once: each is a mount of its own, and takes some microseconds.
const MOST: usize = 4_000;

/// What is held, and how.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// What is mounted over itself, and whether it stays as it is or only where it is.
    covers: BTreeSet<(PathBuf, bool)>,
    /// What something empty is mounted over.
    pub(super) closed: BTreeSet<PathBuf>,
    pub(super) placeholders: Vec<Placeholder>,
}

impl Held {
    pub(super) fn of(confinement: &Confinement, grants: &[&Grant]) -> Result<Self, SandboxError> {
        let (mut written, mut named) = (BTreeSet::new(), BTreeSet::new());
        for grant in grants {
            match grant.access {
                Access::Write => written.insert(&*grant.path),
                Access::Read | Access::Execute => named.insert(&*grant.path),
                Access::Device => continue,
            };
        }
        let mut held = Self::default();
        for path in &confinement.protect {
            if let Some(path) = held.found(path, &written, false)? {
                held.covers.insert((path, true));
            }
        }
        for path in &confinement.closed {
            if written.iter().any(|root| root.starts_with(path)) {
                return Err(refused(path, "it is closed and may be written at once"));
            }
            if let Some(path) = held.found(path, &written, true)? {
                held.close(&path, &named)?;
            }
        }
        // What lies in something closed is hidden with it.
        let is_hidden =
            |path: &Path| path.ancestors().skip(1).any(|above| held.closed.contains(above));
        held.closed = held.closed.iter().filter(|path| !is_hidden(path)).cloned().collect();
        let count = held.covers.len() + held.closed.len();
        if count > MOST {
            let path = confinement.closed.first().or(confinement.protect.first());
            let reason = format!(
                "{count} files and directories around it would have to be closed or kept as they are, \
                 and {MOST} can be; name their directory in the rule instead"
            );
            return Err(refused(path.map_or(Path::new("/"), |path| path), &reason));
        }
        Ok(held)
    }

    /// What is mounted over itself, from above to below.
    pub(super) fn covers(&self) -> impl Iterator<Item = (&Path, Hold)> {
        let is_held = |path: &Path| self.covers.contains(&(path.to_owned(), true));
        let covers = self.covers.iter().filter(move |(path, stays)| {
            // Below something that is held whole there is nothing left to hold.
            (*stays || !is_held(path)) && !path.ancestors().skip(1).any(is_held)
        });
        covers.map(|(path, stays)| (&**path, if *stays { Hold::READ } else { Hold::AS_IT_IS }))
    }

    /// What of `path` is there, in a directory that may be written. Where it is absent a placeholder holds
    /// its place.
    fn found(
        &mut self,
        path: &Path,
        written: &BTreeSet<&Path>,
        may_be_link: bool,
    ) -> Result<Option<PathBuf>, SandboxError> {
        // The outermost: what lies between two that may be written could be renamed as well.
        let Some(root) = written.iter().find(|root| path.starts_with(root)) else {
            return Ok(None);
        };
        let (found, is_there) = match Placeholder::along(root, path, may_be_link)? {
            Protected::There => (path.to_owned(), true),
            Protected::Missing(placeholder) => {
                let path = placeholder.path.clone();
                self.placeholders.push(placeholder);
                (path, false)
            }
        };
        // What is above must not be renamed, or another could be put in its place.
        let above = found.ancestors().skip(1).take_while(|path| path != root);
        self.covers.extend(above.map(|path| (path.to_owned(), false)));
        if is_there {
            return Ok(Some(found));
        }
        self.covers.insert((found, true));
        Ok(None)
    }

    /// Closes what is at `path` but for what is granted in it by name.
    fn close(&mut self, path: &Path, named: &BTreeSet<&Path>) -> Result<(), SandboxError> {
        let from = (Bound::Included(path), Bound::Unbounded);
        let first = named.range::<Path, _>(from).next().filter(|named| named.starts_with(path));
        let Some(first) = first else {
            self.closed.insert(path.to_owned());
            return Ok(());
        };
        self.covers.insert((path.to_owned(), true));
        if *first == path {
            return Ok(());
        }
        let entries = std::fs::read_dir(path).map_err(|error| refused(path, &error.to_string()))?;
        for entry in entries {
            let entry = entry.map_err(|error| refused(path, &error.to_string()))?;
            // A link leads to what is closed or open by itself, and nobody can change it here.
            if !entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                self.close(&entry.path(), named)?;
            }
        }
        Ok(())
    }
}
