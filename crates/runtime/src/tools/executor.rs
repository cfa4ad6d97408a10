//! Running a program. The port [`Executor`] is what a sandbox implements; [`PlainExecutor`] gives
//! a clean environment, a time limit and an output cap, and no isolation.

use std::io::Read;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::Cancel;

/// One program to run: arguments as a list, never a shell line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The directory it runs in.
    pub directory: PathBuf,
    /// Its whole environment.
    pub environment: Vec<(String, String)>,
    /// How long it may take.
    pub timeout: Duration,
    /// How much output is kept, in bytes, standard output and standard error each.
    pub output_bytes: u64,
}

/// What a program did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    /// Its exit code; 128 and the signal's number where a signal ended it.
    pub exit: i32,
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: Vec<u8>,
    /// Bytes over the cap that were dropped.
    pub dropped: u64,
}

/// Why a program did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum ExecutionError {
    /// It could not be started.
    #[error("`{program}` could not be started: {source}; check that it is installed and on PATH")]
    NotStarted {
        /// The program.
        program: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// It took too long.
    #[error("stopped after {0} seconds; raise `timeout_s` if it needs longer")]
    Timeout(u64),
    /// Someone asked for a stop.
    #[error("stopped before its end")]
    Cancelled,
    /// The system failed while it ran.
    #[error("lost track of the program: {0}")]
    Lost(std::io::Error),
}

impl ExecutionError {
    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotStarted { .. } => "NOT_STARTED",
            Self::Timeout(_) => "TIMEOUT",
            Self::Cancelled => "CANCELLED",
            Self::Lost(_) => "LOST",
        }
    }
}

/// Whatever can run a program.
pub trait Executor: Send + Sync {
    /// Runs `invocation` to its end, its time limit, or a stop.
    fn execute(&self, invocation: &Invocation, cancel: &Cancel) -> Result<Execution, ExecutionError>;
}

/// Runs programs as this user, without isolation.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlainExecutor;

/// How often a running program is looked at.
const POLL: Duration = Duration::from_millis(5);
/// How long a program's output is waited for once it has ended: a child of it may hold the pipe.
const DRAIN: Duration = Duration::from_millis(500);

impl Executor for PlainExecutor {
    fn execute(&self, invocation: &Invocation, cancel: &Cancel) -> Result<Execution, ExecutionError> {
        let (program, arguments) = invocation.argv.split_first().ok_or_else(|| {
            let source = std::io::Error::new(std::io::ErrorKind::InvalidInput, "no program is named");
            ExecutionError::NotStarted { program: String::new(), source }
        })?;
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(&invocation.directory)
            .env_clear()
            .envs(invocation.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A group of its own, so that a stop reaches what the program started, too.
            .process_group(0)
            .spawn()
            .map_err(|source| ExecutionError::NotStarted { program: program.clone(), source })?;
        let stdout = collect(child.stdout.take(), invocation.output_bytes);
        let stderr = collect(child.stderr.take(), invocation.output_bytes);
        let deadline = Instant::now() + invocation.timeout;
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if cancel.is_stopped() => {
                    end(&mut child);
                    return Err(ExecutionError::Cancelled);
                }
                Ok(None) if Instant::now() >= deadline => {
                    end(&mut child);
                    return Err(ExecutionError::Timeout(invocation.timeout.as_secs()));
                }
                Ok(None) => std::thread::sleep(POLL),
                Err(error) => {
                    end(&mut child);
                    return Err(ExecutionError::Lost(error));
                }
            }
        };
        let (stdout, dropped_out) = stdout.recv_timeout(DRAIN).unwrap_or_default();
        let (stderr, dropped_err) = stderr.recv_timeout(DRAIN).unwrap_or_default();
        // Whatever the program left running in its group ends with it.
        kill_group(&child);
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        let exit = status.code().or(signal.map(|signal| 128 + signal)).unwrap_or(-1);
        Ok(Execution { exit, stdout, stderr, dropped: dropped_out + dropped_err })
    }
}

fn end(child: &mut Child) {
    kill_group(child);
    // Both fail only where the child is gone already.
    let _ = child.kill();
    let _ = child.wait();
}

fn kill_group(child: &Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Reads a pipe to its end on a thread of its own and keeps the first `cap` bytes, so that a
/// program never blocks on a full pipe.
fn collect(pipe: Option<impl Read + Send + 'static>, cap: u64) -> mpsc::Receiver<(Vec<u8>, u64)> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        let mut dropped = 0_u64;
        if let Some(mut pipe) = pipe {
            let mut piece = vec![0_u8; 64 * 1024];
            while let Ok(read) = pipe.read(&mut piece) {
                if read == 0 {
                    break;
                }
                let room = usize::try_from(cap).unwrap_or(usize::MAX).saturating_sub(kept.len());
                let take = room.min(read);
                kept.extend_from_slice(piece.get(..take).unwrap_or_default());
                dropped += u64::try_from(read - take).unwrap_or_default();
            }
        }
        let _ = sender.send((kept, dropped));
    });
    receiver
}
