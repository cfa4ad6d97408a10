//! How the servers are treated.

use std::path::PathBuf;
use std::time::Duration;

use concertina_types::limits;
use tokio::runtime::Handle;

use super::peer::Patience;

/// How a [`Pool`](super::Pool) treats its servers.
#[derive(Debug, Clone)]
pub struct PoolOptions {
    /// The state directory: manifests, approvals and tokens are kept below it.
    pub home: PathBuf,
    /// The workspace: what servers with `roots` are told.
    pub root: PathBuf,
    /// Where the servers are attended to.
    pub handle: Handle,
    /// Whether servers that were never seen are started at once, to learn what they bring. Without
    /// it nothing is started until one of its tools is called.
    pub learn: bool,
    /// The program, with its arguments, that calls [`guard`](super::guard): it ends the servers
    /// when this process is killed.
    pub guard: Option<Vec<String>>,
    /// How long is waited for what.
    pub waits: Waits,
}

impl PoolOptions {
    /// For a command that calls a tool and ends.
    pub fn new(home: PathBuf, root: PathBuf, handle: Handle) -> Self {
        Self { home, root, handle, learn: false, guard: None, waits: Waits::default() }
    }
}

/// How long is waited for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// For a server to start and to list its tools.
    pub start: Duration,
    /// For a call of which nothing is heard.
    pub silent: Duration,
    /// For a call that keeps telling how far it is.
    pub whole: Duration,
    /// For a place among the calls under way.
    pub place: Duration,
    /// Before the second attempt to start; each later pause is twice as long.
    pub pause: Duration,
    /// The longest pause between two attempts.
    pub longest_pause: Duration,
    /// Between a notice that a list changed and reading it, so that ten notices are one reading.
    pub settle: Duration,
}

impl Default for Waits {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(limits::START_SECONDS),
            silent: Duration::from_secs(limits::CALL_SILENT_SECONDS),
            whole: Duration::from_secs(limits::CALL_SECONDS),
            place: Duration::from_secs(limits::PLACE_SECONDS),
            pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(limits::START_PAUSE_SECONDS),
            settle: Duration::from_millis(100),
        }
    }
}

impl Waits {
    /// For an answer that is part of starting.
    pub(super) fn starting(&self) -> Patience {
        Patience { silent: self.start, whole: self.start }
    }

    pub(super) fn calling(&self) -> Patience {
        Patience { silent: self.silent, whole: self.whole }
    }

    /// The pause after so many failures in a row.
    pub(super) fn pause_after(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(16);
        self.pause.saturating_mul(1 << doublings).min(self.longest_pause)
    }
}
