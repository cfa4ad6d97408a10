//! Running a program. The port [`Executor`] is what a sandbox implements; [`PlainExecutor`] gives
//! a clean environment, a time limit and an output cap, and no isolation.

use std::io::Read;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use concertina_core::policy::{Access, PathPattern, Request};
use concertina_core::session::Pin;
use concertina_types::Digest;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

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
    /// What it may do.
    pub access: Access,
    /// Paths that rules close to it whatever it may do: to read and, second, to write.
    pub closed: [Vec<PathPattern>; 2],
    /// What it may read besides: the directory of the skill that it belongs to, files that its command
    /// names.
    pub readable: Vec<PathBuf>,
    /// Files that have exactly these bytes while it runs, or it does not run.
    pub pins: Vec<Pin>,
    /// Whether it sees the real home directory in its environment.
    pub keeps_home: bool,
}

/// How a program was held.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Held {
    /// The tier.
    pub tier: String,
    /// What it tried to reach and was refused.
    pub refused: Vec<RefusedHost>,
}

/// A host that a program was kept from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedHost {
    /// The host, with its port where that is known.
    pub host: String,
    /// What it asked for, where that could be read.
    pub request: Option<Request>,
    /// A stable code.
    pub code: String,
    /// Why, and what would let it through.
    pub reason: String,
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
    /// How it was held; none where it was not.
    pub held: Option<Held>,
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
    /// There is no such directory to run it in.
    #[error("there is no directory {} to run it in; check `cwd` in the settings", .0.display())]
    NoDirectory(PathBuf),
    /// It took too long.
    #[error("stopped after {0} seconds; raise `timeout_s` if it needs longer")]
    Timeout(u64),
    /// Someone asked for a stop.
    #[error("stopped before its end")]
    Cancelled,
    /// It could not be held to what it was granted, so it was not run.
    #[error("{message}")]
    Confined {
        /// A stable code, such as `SANDBOX_UNAVAILABLE`.
        code: &'static str,
        /// What is missing and what to do.
        message: String,
    },
    /// The system failed while it ran.
    #[error("lost track of the program: {0}")]
    Lost(std::io::Error),
}

impl ExecutionError {
    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotStarted { .. } => "NOT_STARTED",
            Self::NoDirectory(_) => "NO_DIRECTORY",
            Self::Timeout(_) => "TIMEOUT",
            Self::Cancelled => "CANCELLED",
            Self::Confined { code, .. } => code,
            Self::Lost(_) => "LOST",
        }
    }
}

/// Whatever can run a program.
pub trait Executor: Send + Sync {
    /// Runs `invocation` to its end, its time limit, or a stop.
    fn execute(
        &self,
        invocation: &Invocation,
        cancel: &Cancel,
    ) -> Result<Execution, ExecutionError>;
}

/// Runs programs as this user, without isolation.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlainExecutor;

/// How often a running program is looked at.
const POLL: Duration = Duration::from_millis(5);
/// How long a program's output is waited for once it has ended: a child of it may hold the pipe.
const DRAIN: Duration = Duration::from_millis(500);

impl Executor for PlainExecutor {
    fn execute(
        &self,
        invocation: &Invocation,
        cancel: &Cancel,
    ) -> Result<Execution, ExecutionError> {
        let (program, arguments) = invocation.argv.split_first().ok_or_else(|| {
            let source =
                std::io::Error::new(std::io::ErrorKind::InvalidInput, "no program is named");
            ExecutionError::NotStarted { program: String::new(), source }
        })?;
        if !invocation.directory.is_dir() {
            return Err(ExecutionError::NoDirectory(invocation.directory.clone()));
        }
        invocation.pins.iter().try_for_each(unchanged)?;
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
        let stdout = Output::of(child.stdout.take(), invocation.output_bytes);
        let stderr = Output::of(child.stderr.take(), invocation.output_bytes);
        let ended = wait(&child, Instant::now() + invocation.timeout, cancel);
        // Whatever the program left running in its group ends with it. The group is still its own:
        // nobody has collected the program yet.
        kill_group(&child);
        let status = child.wait();
        match ended {
            Ok(Ended::ByItself) => {}
            Ok(Ended::TooLate) => {
                return Err(ExecutionError::Timeout(invocation.timeout.as_secs()));
            }
            Ok(Ended::Stopped) => return Err(ExecutionError::Cancelled),
            Err(error) => return Err(ExecutionError::Lost(error.into())),
        }
        let status = status.map_err(ExecutionError::Lost)?;
        let deadline = Instant::now() + DRAIN;
        let (stdout, dropped_out) = stdout.take(deadline);
        let (stderr, dropped_err) = stderr.take(deadline);
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        let exit = status.code().or(signal.map(|signal| 128 + signal)).unwrap_or(-1);
        Ok(Execution { exit, stdout, stderr, dropped: dropped_out + dropped_err, held: None })
    }
}

/// Whether a file is still what was approved. Without a sandbox nothing keeps it so.
fn unchanged(pin: &Pin) -> Result<(), ExecutionError> {
    let is_same = std::fs::read(&pin.path).is_ok_and(|bytes| Digest::of(&bytes) == pin.digest);
    if is_same {
        return Ok(());
    }
    let message = format!("{} is not what was approved; look at it and approve it", pin.path);
    Err(ExecutionError::Confined { code: "APPROVED_CHANGED", message })
}

enum Ended {
    ByItself,
    TooLate,
    Stopped,
}

/// Waits until the program ends, without collecting it, or has to be ended.
fn wait(child: &Child, deadline: Instant, cancel: &Cancel) -> rustix::io::Result<Ended> {
    let pid = group(child).ok_or(rustix::io::Errno::SRCH)?;
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    loop {
        if waitid(WaitId::Pid(pid), options)?.is_some() {
            return Ok(Ended::ByItself);
        }
        if cancel.is_stopped() {
            return Ok(Ended::Stopped);
        }
        if Instant::now() >= deadline {
            return Ok(Ended::TooLate);
        }
        std::thread::sleep(POLL);
    }
}

/// The group of the program, which has the program's own number.
fn group(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

fn kill_group(child: &Child) {
    if let Some(group) = group(child) {
        // Fails only where nothing is left of it.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// What comes out of a pipe, read on a thread of its own, so that a program never blocks on a full
/// one.
struct Output {
    kept: Arc<Mutex<(Vec<u8>, u64)>>,
    ended: mpsc::Receiver<()>,
}

impl Output {
    /// Reads `pipe` to its end and keeps the first `cap` bytes; the rest is counted.
    fn of(pipe: Option<impl Read + Send + 'static>, cap: u64) -> Self {
        let kept = Arc::new(Mutex::new((Vec::new(), 0_u64)));
        let (sender, ended) = mpsc::channel();
        let sink = Arc::clone(&kept);
        std::thread::spawn(move || {
            let cap = usize::try_from(cap).unwrap_or(usize::MAX);
            let mut piece = vec![0_u8; 64 * 1024];
            if let Some(mut pipe) = pipe {
                while let Ok(read @ 1..) = pipe.read(&mut piece) {
                    let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
                    let take = cap.saturating_sub(sink.0.len()).min(read);
                    sink.0.extend_from_slice(piece.get(..take).unwrap_or_default());
                    sink.1 += u64::try_from(read - take).unwrap_or_default();
                }
            }
            // Nobody may be waiting any more.
            let _ = sender.send(());
        });
        Self { kept, ended }
    }

    /// What was kept and how many bytes were dropped, at the end of the pipe or at `deadline`: a
    /// program that left the group may hold it open.
    fn take(self, deadline: Instant) -> (Vec<u8>, u64) {
        let _ = self.ended.recv_timeout(deadline.saturating_duration_since(Instant::now()));
        std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
