//! The caller's side of a run: starts the keeper, reads what the program writes, and ends both.
#![allow(unsafe_code, reason = "a process is copied")]

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};
use rustix::process::{Signal, pidfd_send_signal};

use super::control::{self, Message};
use super::keeper;
use super::prepared::{self, Ends, Prepared};
use super::raw::{self, Forked};
use crate::{Choice, Confinement, Finished, Gate, Limits, Machine, Program, SandboxError};

/// How often it is asked whether to stop.
const ASK: Duration = Duration::from_millis(10);
/// How long the keeper may take to end everything by itself.
const PATIENCE: Duration = Duration::from_millis(100);
/// What is read at once, in bytes.
const CHUNK: usize = 64 * 1024;

/// What a process does when it is locked in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// Starts the program.
    Start,
    /// Tries to escape.
    Rehearse,
}

/// Runs a program to its end.
pub(super) fn run(
    machine: &Machine,
    held: Choice,
    program: &Program,
    confinement: &Confinement,
    gate: Option<&dyn Gate>,
    is_stopped: &dyn Fn() -> bool,
    act: Act,
) -> Result<Finished, SandboxError> {
    let started = Instant::now();
    let (mut prepared, ends) = prepared::prepare(machine, &held, program, confinement, gate, act)?;
    let keeper = Keeper::start(&mut prepared, ends)?;
    let over = AtomicBool::new(false);
    let finished = std::thread::scope(|scope| {
        let run = Run {
            keeper,
            prepared: &prepared,
            program,
            limits: &confinement.limits,
            started,
            gate,
            over: &over,
        };
        let finished = run.watch(scope, is_stopped);
        over.store(true, Ordering::Relaxed);
        finished
    });
    let (exit, stdout, stderr) = finished?;
    Ok(Finished {
        exit,
        dropped: stdout.dropped + stderr.dropped,
        stdout: stdout.kept,
        stderr: stderr.kept,
        held,
        took: started.elapsed(),
    })
}

/// The process that keeps the program. Wherever this goes, nothing is left running.
struct Keeper {
    ends: Ends,
    process: OwnedFd,
    id: libc::pid_t,
    /// Whether whoever it keeps ends with it, however it ends.
    is_first: bool,
    is_gone: bool,
}

impl Keeper {
    fn start(prepared: &mut Prepared, ends: Ends) -> Result<Self, SandboxError> {
        // A signal that comes to the copy must find no handler of the caller's.
        let before = raw::block_signals();
        // SAFETY: the copy makes system calls on what was laid out for it, and never comes back.
        let forked = unsafe { raw::fork(prepared.outer) };
        if let Ok(Forked::Child) = forked {
            keeper::main(prepared);
        }
        raw::set_blocked(&before);
        match forked {
            Ok(Forked::Parent(process, id)) => Ok(Self {
                ends,
                process,
                id,
                is_first: prepared.outer & libc::CLONE_NEWPID != 0,
                is_gone: false,
            }),
            Ok(Forked::Child) => raw::exit(127),
            Err(error) => Err(SandboxError::Lost(error.into())),
        }
    }

    /// Ends everything and waits for it.
    fn end(&mut self) {
        if self.is_gone {
            return;
        }
        // The keeper sees it and ends the rest first. Should it be held up, it goes without asking,
        // where that comes to the same.
        let _ = shutdown(&self.ends.control, Shutdown::Both);
        if self.is_first && !is_ready(self.process.as_fd(), PATIENCE) {
            let _ = pidfd_send_signal(&self.process, Signal::KILL);
        }
        self.collect();
    }

    fn collect(&mut self) {
        let _ = raw::wait(self.id, true);
        self.is_gone = true;
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.end();
    }
}

struct Run<'a> {
    keeper: Keeper,
    prepared: &'a Prepared,
    program: &'a Program,
    limits: &'a Limits,
    started: Instant,
    gate: Option<&'a dyn Gate>,
    over: &'a AtomicBool,
}

impl<'a> Run<'a> {
    fn watch<'scope>(
        mut self,
        scope: &'scope Scope<'scope, 'a>,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<(i32, Output, Output), SandboxError> {
        let mut stdout = Output::new(self.limits.output);
        let mut stderr = Output::new(self.limits.output);
        let mut status = None;
        let mut buffer = vec![0; CHUNK];
        let mut asked = Instant::now();
        let mut is_closed = false;
        loop {
            let now = Instant::now();
            if now.duration_since(self.started) >= self.limits.time {
                return Err(SandboxError::Timeout(self.limits.time));
            }
            if now.duration_since(asked) >= ASK {
                asked = now;
                if is_stopped() {
                    return Err(SandboxError::Cancelled);
                }
            }
            let [out, err, control, keeper, guard] = self.wait(&stdout, &stderr)?;
            if guard {
                self.prepared.guard.drain();
                self.check()?;
            }
            if out {
                stdout.read(&self.keeper.ends.stdout, &mut buffer).map_err(SandboxError::Lost)?;
            }
            if err {
                stderr.read(&self.keeper.ends.stderr, &mut buffer).map_err(SandboxError::Lost)?;
            }
            if control {
                let message = control::receive(&self.keeper.ends.control);
                match message.map_err(SandboxError::Lost)? {
                    Some(Message::Failed { stage, index, error }) => {
                        return Err(self.failed(stage, index, error));
                    }
                    Some(Message::Listener(listener)) => self.serve(scope, listener)?,
                    Some(Message::Ended { status: ended }) => status = Some(ended),
                    Some(Message::Closed) => is_closed = true,
                    None => {}
                }
            }
            // What was said before the end is heard before the end is seen.
            if keeper && (is_closed || !control) {
                break;
            }
        }
        self.keeper.collect();
        stdout.drain(&self.keeper.ends.stdout, &mut buffer).map_err(SandboxError::Lost)?;
        stderr.drain(&self.keeper.ends.stderr, &mut buffer).map_err(SandboxError::Lost)?;
        let status = status.ok_or_else(|| {
            SandboxError::Lost(io::Error::other("the process that keeps it ended first"))
        })?;
        self.check()?;
        let exit = if libc::WIFSIGNALED(status) {
            128 + libc::WTERMSIG(status)
        } else {
            libc::WEXITSTATUS(status)
        };
        Ok((exit, stdout, stderr))
    }

    /// Waits until something can be read or the keeper is gone, or for a moment.
    fn wait(&self, stdout: &Output, stderr: &Output) -> Result<[bool; 5], SandboxError> {
        let ends = &self.keeper.ends;
        // A stream that ended would be ready all the time.
        let wanted = |output: &Output| {
            if output.is_over { PollFlags::empty() } else { PollFlags::IN }
        };
        let (guard, told) = match self.prepared.guard.events() {
            Some(events) => (events, PollFlags::IN),
            None => (ends.control.as_fd(), PollFlags::empty()),
        };
        let mut looked = [
            PollFd::from_borrowed_fd(ends.stdout.as_fd(), wanted(stdout)),
            PollFd::from_borrowed_fd(ends.stderr.as_fd(), wanted(stderr)),
            PollFd::from_borrowed_fd(ends.control.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.keeper.process.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(guard, told),
        ];
        let left = self.limits.time.saturating_sub(self.started.elapsed());
        match poll(&mut looked, Some(&timespec(left.min(ASK)))) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok([false; 5]),
            Err(error) => return Err(SandboxError::Lost(error.into())),
        }
        Ok(looked.map(|looked| !looked.revents().is_empty()))
    }

    /// Whether what is closed is still what was closed.
    fn check(&self) -> Result<(), SandboxError> {
        let exchanged = self.prepared.guard.exchanged();
        exchanged.map_or(Ok(()), |path| Err(SandboxError::Exchanged(path.to_owned())))
    }

    fn serve<'scope>(
        &self,
        scope: &'scope Scope<'scope, 'a>,
        listener: OwnedFd,
    ) -> Result<(), SandboxError> {
        let Some(gate) = self.gate else { return Ok(()) };
        let over = self.over;
        let listener = TcpListener::from(listener);
        std::thread::Builder::new()
            .name("gate".to_owned())
            .spawn_scoped(scope, move || {
                let serve = || gate.serve(listener, &|| over.load(Ordering::Relaxed));
                // A gate that fails serves nobody; the run goes on and is answered.
                let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(serve));
            })
            .map(drop)
            .map_err(SandboxError::Lost)
    }

    fn failed(&self, stage: control::Stage, index: i32, error: i32) -> SandboxError {
        let index = usize::try_from(index).unwrap_or(0);
        let reason = match (stage, &self.prepared.plan) {
            (control::Stage::Source, Some(plan)) => plan.source(index),
            (control::Stage::Step, Some(plan)) => plan.describe(index),
            _ => stage.words().to_owned(),
        };
        SandboxError::NotStarted {
            program: self.program.argv.first().cloned().unwrap_or_default(),
            reason,
            source: io::Error::from_raw_os_error(error),
        }
    }
}

/// What a program writes to one stream.
struct Output {
    kept: Vec<u8>,
    dropped: u64,
    limit: u64,
    is_over: bool,
}

impl Output {
    fn new(limit: u64) -> Self {
        Self { kept: Vec::new(), dropped: 0, limit, is_over: false }
    }

    /// Reads what is there, once. True when there may be more.
    fn read(&mut self, stream: &OwnedFd, buffer: &mut [u8]) -> io::Result<bool> {
        match rustix::io::read(stream, &mut *buffer) {
            Ok(0) => self.is_over = true,
            Ok(length) => {
                let read = buffer.get(..length).unwrap_or_default();
                let room = self.limit.saturating_sub(self.kept.len() as u64);
                let fits = usize::try_from(room).unwrap_or(usize::MAX).min(length);
                self.kept.extend_from_slice(read.get(..fits).unwrap_or_default());
                self.dropped += (length - fits) as u64;
            }
            Err(Errno::AGAIN) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(!self.is_over)
    }

    /// Reads the rest. Nobody writes any more, so it ends with what the pipe held.
    fn drain(&mut self, stream: &OwnedFd, buffer: &mut [u8]) -> io::Result<()> {
        while !self.is_over && self.read(stream, buffer)? {}
        Ok(())
    }
}

fn is_ready(file: BorrowedFd<'_>, most: Duration) -> bool {
    let mut looked = [PollFd::new(&file, PollFlags::IN)];
    poll(&mut looked, Some(&timespec(most))).is_ok_and(|ready| ready > 0)
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}
