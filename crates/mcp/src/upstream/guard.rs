//! A watchdog for the case that Concertina itself is killed and can clean up nothing.
//!
//! One small process for all servers. It is told of every run that begins and ends; when its input
//! closes, whoever told it is gone, and it kills what is left.

use std::collections::BTreeMap;
use std::io::{BufRead, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;

use super::family::{Family, GUARD_GRACE, MARK};
use crate::lock;

/// The watchdog, started with the first program.
#[derive(Debug)]
pub(super) struct Guard {
    argv: Vec<String>,
    process: Mutex<Option<(Child, ChildStdin)>>,
}

impl Guard {
    pub(super) fn new(argv: Vec<String>) -> Self {
        Self { argv, process: Mutex::default() }
    }

    /// Watches over a run from now on.
    pub(super) fn watch(&self, family: &Family) {
        self.tell(&format!("+{}\n", family.line()), true);
    }

    /// The run is over.
    pub(super) fn forget(&self, family: &Family) {
        self.tell(&format!("-{}\n", family.line()), false);
    }

    fn tell(&self, line: &str, is_start: bool) {
        let mut process = lock(&self.process);
        if process.is_none() && is_start {
            *process = start(&self.argv);
        }
        // A guard that died guards nothing; the next run gets another.
        if let Some((_, stdin)) = process.as_mut()
            && stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()).is_err()
        {
            *process = None;
        }
    }

    /// Dismisses the watchdog.
    pub(super) fn close(&self) {
        let mut process = lock(&self.process);
        if let Some((mut child, stdin)) = process.take() {
            drop(stdin);
            let _ = child.wait();
        }
    }
}

fn start(argv: &[String]) -> Option<(Child, ChildStdin)> {
    let (program, arguments) = argv.split_first()?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // Behind another Concertina this guard must outlive the run that it belongs to there.
    command.env_remove(MARK);
    // A signal for the group of Concertina must not reach it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().ok()?;
    let stdin = child.stdin.take()?;
    Some((child, stdin))
}

/// What the watchdog does: `concertina __guard` calls it with its standard input.
pub fn guard(input: impl BufRead) {
    let mut families = BTreeMap::new();
    for line in input.lines().map_while(Result::ok) {
        let told = line.get(1..).unwrap_or_default();
        if line.starts_with('+') {
            families.insert(told.to_owned(), Family::from_line(told));
        } else {
            families.remove(told);
        }
    }
    if families.is_empty() {
        return;
    }
    // Servers that end by themselves when their input closes get the time to do so.
    std::thread::sleep(GUARD_GRACE);
    for family in families.values().flatten() {
        family.kill();
    }
}
