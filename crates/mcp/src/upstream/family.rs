//! A program and everything it started.
//!
//! A program may start others, and those may leave its process group and lose their parent. Each run
//! carries a mark in its environment, which every descendant inherits, so that all of them are found.

use std::time::Duration;

use concertina_types::limits;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::Child;

/// The variable that carries the mark.
pub(super) const MARK: &str = "CONCERTINA_UPSTREAM_RUN";

/// All processes of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Family {
    mark: String,
    leader: Option<Pid>,
}

impl Family {
    pub(super) fn new() -> Self {
        let mut bytes = [0_u8; 16];
        // Without random bits the mark is only less unique: the number of this process keeps it apart.
        let _ = getrandom::fill(&mut bytes);
        let own = std::process::id();
        Self { mark: format!("{own}-{:032x}", u128::from_be_bytes(bytes)), leader: None }
    }

    pub(super) fn led_by(mut self, id: Option<u32>) -> Self {
        self.leader = id.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        self
    }

    pub(super) fn mark(&self) -> &str {
        &self.mark
    }

    /// As one line for the guard.
    pub(super) fn line(&self) -> String {
        let leader = self.leader.map_or(0, Pid::as_raw_pid);
        format!("{} {leader}", self.mark)
    }

    pub(super) fn from_line(line: &str) -> Option<Self> {
        let (mark, leader) = line.split_once(' ')?;
        let leader = leader.parse().ok().and_then(Pid::from_raw);
        Some(Self { mark: mark.to_owned(), leader })
    }

    /// Ends all: closed input first (by the caller), then a request, then force.
    pub(super) async fn end(&self, child: &mut Child, grace: Duration) {
        if tokio::time::timeout(grace / 2, child.wait()).await.is_err() {
            self.signal_group(Signal::TERM);
            let _ = tokio::time::timeout(grace / 2, child.wait()).await;
        }
        // The group may outlive its leader, and may not be signalled once its number can be another's:
        // the leader's number stays taken as long as anyone is in the group.
        if child.id().is_some() {
            self.signal_group(Signal::KILL);
        }
        if self.signal_marked(Signal::TERM) > 0 {
            let mut waited = Duration::ZERO;
            while waited < grace / 4 && !self.marked().is_empty() {
                let pause = Duration::from_millis(20);
                tokio::time::sleep(pause).await;
                waited += pause;
            }
            self.signal_marked(Signal::KILL);
        }
        let _ = tokio::time::timeout(grace, child.wait()).await;
    }

    /// Ends all at once: for the guard, which has no time to be polite.
    pub(super) fn kill(&self) {
        self.signal_group(Signal::KILL);
        self.signal_marked(Signal::KILL);
    }

    fn signal_group(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            let _ = kill_process_group(leader, signal);
        }
    }

    fn signal_marked(&self, signal: Signal) -> usize {
        let marked = self.marked();
        for id in &marked {
            let _ = kill_process(*id, signal);
        }
        marked.len()
    }

    /// The processes that carry the mark. Where there is no `/proc`, the group alone is known.
    fn marked(&self) -> Vec<Pid> {
        let wanted = format!("{MARK}={}", self.mark);
        let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
        entries
            .flatten()
            .filter_map(|entry| {
                let id = entry.file_name().to_str()?.parse::<i32>().ok()?;
                let environment = std::fs::read(entry.path().join("environ")).ok()?;
                let is_marked =
                    environment.split(|byte| *byte == 0).any(|pair| pair == wanted.as_bytes());
                // A process that has ended and waits to be collected has no environment any more.
                is_marked.then(|| Pid::from_raw(id)).flatten()
            })
            .collect()
    }
}

/// How long a guard gives servers whose input was closed with their client's end.
pub(super) const GUARD_GRACE: Duration = Duration::from_millis(limits::STOP_MILLISECONDS / 4);
