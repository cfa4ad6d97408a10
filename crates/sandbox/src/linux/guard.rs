//! Sees whether what is closed is still what was closed.
//!
//! Nobody inside can exchange it, but somebody outside can: an editor that saves a file renames another one
//! over it, and what was mounted on the old one is gone.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};

use super::grant::Identity;

/// What was closed, and what tells of it.
#[derive(Debug, Default)]
pub(super) struct Guard {
    closed: Vec<(PathBuf, Identity)>,
    /// None where nothing is closed, or the system has no more of them: then it is seen at the end.
    events: Option<OwnedFd>,
}

impl Guard {
    pub(super) fn of(closed: Vec<(PathBuf, Identity)>) -> Self {
        if closed.is_empty() {
            return Self::default();
        }
        let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
        for (path, _) in &closed {
            // Its links are counted among its attributes.
            let flags = WatchFlags::ATTRIB
                | WatchFlags::MOVE_SELF
                | WatchFlags::DELETE_SELF
                | WatchFlags::DONT_FOLLOW;
            // Who may not read it is told nothing, and runs nothing that could.
            let _ = events.as_ref().map(|events| inotify::add_watch(events, path, flags));
        }
        Self { closed, events }
    }

    /// What is ready where something may have been exchanged.
    pub(super) fn events(&self) -> Option<BorrowedFd<'_>> {
        self.events.as_ref().map(OwnedFd::as_fd)
    }

    /// Reads what was told.
    pub(super) fn drain(&self) {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        if let Some(events) = &self.events {
            let mut reader = Reader::new(events, &mut buffer);
            while reader.next().is_ok() {}
        }
    }

    /// The first that is not what was closed.
    pub(super) fn exchanged(&self) -> Option<&Path> {
        let is_same = |path: &Path, identity: Identity| Identity::at(path) == Ok(identity);
        let mut closed = self.closed.iter();
        closed.find(|(path, identity)| !is_same(path, *identity)).map(|(path, _)| &**path)
    }
}
