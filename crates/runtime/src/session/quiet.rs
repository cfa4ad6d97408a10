//! Keeping the work as it is while something is told of it, whichever session of whichever process wants to write.
//!
//! Two files for each workspace, below the directory of state: who writes shares the one, who needs quiet shares the
//! other, and each makes sure that nobody holds the opposite one. What does both has both for itself. A third file, of
//! the session, is shared by whoever has a call of it under way. The system lets go of all of them when a process ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use concertina_core::catalog::Danger;
use concertina_core::session::{Origin, meant};
use concertina_types::{CallId, Digest, SessionId, ToolName};

use super::{Admission, Session};
use crate::error::RuntimeError;
use crate::private::create_private_directory;

/// How often somebody who only looks may be in the way, and for how long each time.
const ATTEMPTS: usize = 20;
const PAUSE: Duration = Duration::from_millis(5);

/// What a call does to the work, and wants of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wants {
    /// It may change the work.
    pub(super) writes: bool,
    /// Nothing else may, while it runs.
    pub(super) quiet: bool,
}

/// What a call holds while it runs.
#[derive(Debug, Default)]
pub(super) struct Hold(#[expect(dead_code, reason = "it is let go of with this")] Vec<File>);

/// The locks below a directory of state.
#[derive(Debug, Clone)]
pub(super) struct Locks(PathBuf);

impl Locks {
    pub(super) fn below(home: &Path) -> Self {
        Self(home.join("locks"))
    }

    /// Holds for a call of `session` what it `wants` of `workspace`; none where others are in the way.
    pub(super) fn hold(
        &self,
        session: &SessionId,
        workspace: &str,
        wants: Wants,
    ) -> io::Result<Option<Hold>> {
        let workspace = Digest::of(workspace.as_bytes()).hex();
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                std::thread::sleep(PAUSE);
            }
            if let Some(mut held) = self.of_workspace(&workspace, wants)? {
                let calls = self.open(&calls_of(session))?;
                // Whoever looks whether a call is under way is gone in a moment.
                calls.lock_shared()?;
                held.push(calls);
                return Ok(Some(Hold(held)));
            }
        }
        Ok(None)
    }

    /// What a call holds of the workspace itself; none where others are in the way.
    fn of_workspace(&self, workspace: &str, wants: Wants) -> io::Result<Option<Vec<File>>> {
        if wants == (Wants { writes: false, quiet: false }) {
            return Ok(Some(Vec::new()));
        }
        let writers = self.open(&format!("{workspace}.writes"))?;
        let quiet = self.open(&format!("{workspace}.quiet"))?;
        let (mine, theirs) = if wants.quiet { (quiet, writers) } else { (writers, quiet) };
        if wants.quiet && wants.writes {
            return Ok((alone(&mine)? && alone(&theirs)?).then(|| vec![mine, theirs]));
        }
        let is_free = shared(&mine)? && alone(&theirs)?;
        // It was held to look only.
        theirs.unlock()?;
        Ok(is_free.then(|| vec![mine]))
    }

    /// Whether a process has a call of `session` under way.
    pub(super) fn is_under_way(&self, session: &SessionId) -> bool {
        let file = File::open(self.0.join(calls_of(session)));
        file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    }

    fn open(&self, name: &str) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        match options.open(self.0.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                create_private_directory(&self.0)?;
                options.open(self.0.join(name))
            }
            opened => opened,
        }
    }
}

fn calls_of(session: &SessionId) -> String {
    format!("{}.calls", Digest::of(session.as_str().as_bytes()).hex())
}

fn alone(file: &File) -> io::Result<bool> {
    taken(file.try_lock())
}

fn shared(file: &File) -> io::Result<bool> {
    taken(file.try_lock_shared())
}

fn taken(tried: Result<(), TryLockError>) -> io::Result<bool> {
    match tried {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

impl Session {
    /// Holds what a call of `tool` wants of the work; nothing where others are in the way.
    pub(super) fn hold(&self, tool: &ToolName) -> Result<Option<Hold>, RuntimeError> {
        let entry = meant(&self.state, &self.world(), tool);
        // What is not there is refused without it.
        let Some(entry) = entry else { return Ok(Some(Hold::default())) };
        let tool = entry.name.clone();
        let writes = entry.danger != Danger::Safe;
        self.hold_for(&tool, writes)
    }

    /// The same for `tool` where it is known whether it writes.
    pub(super) fn hold_for(
        &self,
        tool: &ToolName,
        writes: bool,
    ) -> Result<Option<Hold>, RuntimeError> {
        let Some(locks) = &self.following.locks else { return Ok(Some(Hold::default())) };
        let run = self.state.run.as_ref().filter(|run| !run.ended);
        let quiet = run
            .zip(self.machine())
            .is_some_and(|(run, machine)| machine.needs_quiet(run, tool.as_str()));
        let workspace = &self.settings.site.real_workspace;
        let workspace =
            if workspace.is_empty() { &self.settings.site.workspace } else { workspace };
        let held = locks.hold(&self.id, workspace, Wants { writes, quiet });
        held.map_err(|error| RuntimeError::Environment {
            code: "NOT_LOCKED",
            message: format!(
                "the work cannot be kept as it is: {error}; make the state directory writable"
            ),
        })
    }

    /// Keeps `hold` until call `id` has ended.
    pub(super) fn holds(&mut self, id: CallId, hold: Hold) {
        self.following.held.insert(id, hold);
    }

    /// Lets go of what call `id` held.
    pub(super) fn let_go(&mut self, id: CallId) {
        self.following.held.remove(&id);
    }

    /// Whether another process has a call of this session under way.
    pub(super) fn is_under_way_elsewhere(&self) -> bool {
        let locks = self.following.locks.as_ref();
        self.following.held.is_empty() && locks.is_some_and(|locks| locks.is_under_way(&self.id))
    }

    /// Settles calls of a process that is gone: nothing would ever end them, and others would wait for it.
    pub(super) fn give_up_what_nobody_runs(&mut self) -> Result<(), RuntimeError> {
        let is_ours = !self.following.held.is_empty() || self.following.locks.is_none();
        if self.state.pending.is_empty() || is_ours {
            return Ok(());
        }
        self.recover()
    }

    /// Says that the work cannot be kept as it is for a call of `tool` now.
    pub(super) fn not_quiet(
        &mut self,
        origin: Origin,
        tool: &ToolName,
    ) -> Result<Admission, RuntimeError> {
        let text = format!(
            "tool:{tool} waits: a call of this or another session changes the work now, or tells of it, and the work must not change under that; call again when it has ended"
        );
        let reply = self.refuse(origin, format!("call {tool}"), "STEP_WAITS", text)?;
        Ok(Admission::Answered(Box::new(reply)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Locks, Wants};
    use concertina_types::SessionId;

    const NOTHING: Wants = Wants { writes: false, quiet: false };
    const WRITES: Wants = Wants { writes: true, quiet: false };
    const LOOKS: Wants = Wants { writes: false, quiet: true };
    const BOTH: Wants = Wants { writes: true, quiet: true };

    #[test]
    fn j09_who_writes_and_who_needs_quiet_keep_each_other_out() {
        let home = tempfile::tempdir().unwrap();
        let locks = Locks::below(home.path());
        let (one, other) = (SessionId::new("s-1").unwrap(), SessionId::new("s-2").unwrap());
        for (first, second, fit) in [
            (NOTHING, BOTH, true),
            (WRITES, WRITES, true),
            (LOOKS, LOOKS, true),
            (WRITES, LOOKS, false),
            (LOOKS, WRITES, false),
            (BOTH, BOTH, false),
            (BOTH, WRITES, false),
            (WRITES, BOTH, false),
            (LOOKS, BOTH, false),
            (BOTH, LOOKS, false),
            (BOTH, NOTHING, true),
        ] {
            let held = locks.hold(&one, "/work", first).unwrap();
            assert!(held.is_some(), "{first:?}");
            let next = locks.hold(&other, "/work", second).unwrap();
            assert_eq!(next.is_some(), fit, "{first:?}, then {second:?}");
            assert!(locks.hold(&other, "/elsewhere", BOTH).unwrap().is_some());
            assert!(locks.is_under_way(&one));
            drop((held, next));
            assert!(!locks.is_under_way(&one), "it ends with the call");
            assert!(locks.hold(&other, "/work", second).unwrap().is_some());
        }
    }
}
