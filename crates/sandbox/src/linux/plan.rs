//! What a program's view of the file system is made of: a list of steps, written by the process that
//! grants and carried out by the one that becomes the program.

use std::ffi::CString;
use std::sync::atomic::AtomicI32;

use super::grant::Identity;

/// How a mount is held. The values are those of `mount_setattr`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hold(u64);

const READ_ONLY: u64 = 0x1;
const NO_SET_ID: u64 = 0x2;
const NO_DEVICES: u64 = 0x4;
const NO_PROGRAMS: u64 = 0x8;

impl Hold {
    /// Nothing changes but that it is a mount, which can be neither renamed nor removed.
    pub(super) const AS_IT_IS: Self = Self(0);
    pub(super) const READ: Self = Self(READ_ONLY | NO_SET_ID | NO_DEVICES);
    /// To be read by programs, never to be one.
    pub(super) const DATA: Self = Self(READ_ONLY | NO_SET_ID | NO_DEVICES | NO_PROGRAMS);
    pub(super) const WRITE: Self = Self(NO_SET_ID | NO_DEVICES | NO_PROGRAMS);
    /// The kernel asks for a writable mount where a file is written, not where a device is.
    pub(super) const DEVICE: Self = Self(READ_ONLY | NO_SET_ID | NO_PROGRAMS);
    /// Everything that is neither placed nor covered.
    pub(super) const SYSTEM: Self = Self(READ_ONLY | NO_SET_ID);

    /// A root of one's own, when it is finished.
    pub(super) const ROOT: Self = Self(READ_ONLY | NO_SET_ID | NO_DEVICES);

    pub(super) const fn attributes(self) -> u64 {
        self.0
    }
}

/// Something of the system's that is to be seen where it is, or elsewhere. All of them are taken before
/// the first step, so that no step hides what a later one needs.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) path: CString,
    pub(super) identity: Identity,
    pub(super) hold: Hold,
    /// The mount, once it is taken.
    pub(super) mount: AtomicI32,
}

/// One step. Paths are relative to the root that is being made.
#[derive(Debug)]
pub(super) enum Step {
    /// Everything that can be seen becomes read-only.
    Seal,
    /// An empty place in memory, to be written.
    Scratch { at: CString },
    /// An empty directory.
    Directory { at: CString },
    /// A file, of these bytes; empty where something is to be placed on it.
    File { at: CString, bytes: Vec<u8>, mode: u32 },
    /// A link.
    Link { at: CString, target: CString },
    /// A source is seen here.
    Place { source: usize, at: CString },
    /// What is here stays here, held.
    Cover { at: CString, identity: Identity, hold: Hold },
    /// What is here can be neither read nor changed: something empty lies over it, that nobody may open.
    /// With an identity only where this is what is here.
    Close { at: CString, identity: Option<Identity> },
    /// The processes of the new namespace. Where the system does not let them be seen, they are not.
    Processes { at: CString },
    /// Landlock's rights on what was made above.
    Allow { at: CString, rights: u64 },
}

/// The view, and how to come to it.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) sources: Vec<Source>,
    pub(super) steps: Vec<Step>,
    /// Whether anything is to be closed.
    pub(super) closes: bool,
    /// Whether the root is one of its own, in which only what is placed can be seen.
    pub(super) has_own_root: bool,
}

impl Plan {
    /// What the step does, for a message.
    pub(super) fn describe(&self, step: usize) -> String {
        let words = |what: &str, at: &CString| format!("{what} /{}", at.to_string_lossy());
        match self.steps.get(step) {
            Some(Step::Seal) => "making the file system read-only".to_owned(),
            Some(Step::Scratch { at }) => words("an empty directory for", at),
            Some(Step::Directory { at } | Step::File { at, .. } | Step::Link { at, .. }) => {
                words("making", at)
            }
            Some(Step::Place { at, .. }) => words("placing", at),
            Some(Step::Cover { at, .. }) => words("holding", at),
            Some(Step::Close { at, .. }) => words("closing", at),
            Some(Step::Processes { at }) => words("mounting", at),
            Some(Step::Allow { at, .. }) => words("allowing", at),
            None => "the file system".to_owned(),
        }
    }

    /// What the source is, for a message.
    pub(super) fn source(&self, index: usize) -> String {
        self.sources.get(index).map_or_else(String::new, |source| {
            format!("taking {}, which must not change meanwhile", source.path.to_string_lossy())
        })
    }
}
