//! The process between the caller and the program. It is the first of a process namespace, so that
//! nobody survives it, or at least the one that orphans come to, so that it finds them all. It ends
//! everything when the program ends, when the caller says so, and when the caller is gone.
#![allow(unsafe_code, reason = "a process that shares memory")]

use std::ffi::CStr;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::ptr;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use super::child;
use super::control::{self, Stage};
use super::prepared::Prepared;
use super::raw::{self, Setting};

/// The limit of a process namespace on its processes.
pub(super) const PROCESSES: &CStr = c"/proc/sys/kernel/pid_max";

/// Runs the program and ends with it.
pub(super) fn main(prepared: &mut Prepared) -> ! {
    let code = match begin(prepared) {
        Ok((program, signals)) => {
            let status = watch(prepared, program, &signals);
            finish(prepared, program, status);
            0
        }
        Err((stage, error)) => {
            control::failed(prepared.control.as_raw_fd(), stage, 0, error);
            127
        }
    };
    raw::exit(code)
}

fn begin(prepared: &mut Prepared) -> Result<(libc::pid_t, OwnedFd), (Stage, Errno)> {
    let at = |stage: Stage| move |error: Errno| (stage, error);
    // When the caller is gone. It comes as something to be read, since all signals are blocked here.
    raw::set(Setting::DeathSignal, libc::SIGTERM as u64).map_err(at(Stage::Session))?;
    close_others(prepared).map_err(at(Stage::Streams))?;
    if let Some(mapping) = &prepared.mapping {
        // The kernel wants it known that no group can be given up.
        raw::write_file(c"/proc/self/setgroups", b"deny")
            .and_then(|()| raw::write_file(c"/proc/self/uid_map", &mapping.users))
            .and_then(|()| raw::write_file(c"/proc/self/gid_map", &mapping.groups))
            .map_err(at(Stage::Users))?;
    }
    if let Some(limit) = &prepared.process_limit {
        raw::write_file(PROCESSES, limit).map_err(at(Stage::Processes))?;
    }
    if prepared.outer & libc::CLONE_NEWPID == 0 {
        raw::set(Setting::Subreaper, 1).map_err(at(Stage::Session))?;
    }
    // In this memory is everything that the caller has.
    raw::set(Setting::Dumpable, 0).map_err(at(Stage::Session))?;
    let signals = raw::signals(&[libc::SIGCHLD, libc::SIGTERM]).map_err(at(Stage::Session))?;
    let namespaces = prepared.inner;
    let argument = ptr::from_mut(prepared);
    // SAFETY: the stack is a part of what `main` is given, and `main` does not touch it but as a stack.
    let program =
        unsafe { raw::spawn(&mut (*argument).stack, namespaces, child::main, argument.cast()) }
            .map_err(at(Stage::Fork))?;
    Ok((program, signals))
}

/// Closes whatever the caller had open and is of no use here.
fn close_others(prepared: &Prepared) -> rustix::io::Result<()> {
    let mut next = 0;
    for kept in &prepared.kept {
        let kept = kept.cast_unsigned();
        if kept > next {
            raw::close_between(next, kept - 1)?;
        }
        next = kept + 1;
    }
    raw::close_between(next, u32::MAX)
}

/// Waits until the program ends, and gives its status; or until it is to be ended.
fn watch(prepared: &Prepared, program: libc::pid_t, signals: &OwnedFd) -> Option<i32> {
    // Of its output there is no more than the program writes.
    let _ = raw::close_between(
        prepared.stdout.as_raw_fd().cast_unsigned(),
        prepared.stdout.as_raw_fd().cast_unsigned(),
    );
    let _ = raw::close_between(
        prepared.stderr.as_raw_fd().cast_unsigned(),
        prepared.stderr.as_raw_fd().cast_unsigned(),
    );
    loop {
        let mut looked = [
            PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(prepared.control.as_fd(), PollFlags::IN),
        ];
        match poll(&mut looked, None) {
            Err(Errno::INTR) => continue,
            Err(_) => return None,
            Ok(_) => {}
        }
        let [signal, caller] = looked.map(|looked| !looked.revents().is_empty());
        if signal && is_term(signals) || caller {
            return None;
        }
        // Orphans that ended are collected as well.
        while let Ok(Some((ended, status))) = raw::wait(-1, false) {
            if ended == program {
                return Some(status);
            }
        }
    }
}

/// Reads what came, and says whether the caller's end was among it.
fn is_term(signals: &OwnedFd) -> bool {
    /// The size of `struct signalfd_siginfo`, whose first word is the signal's number.
    const SIZE: usize = 128;
    let mut buffer = [0_u8; SIZE];
    let mut found = false;
    while let Ok(SIZE) = rustix::io::read(signals, &mut buffer) {
        let number = buffer.first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes));
        found |= number == libc::SIGTERM.cast_unsigned();
    }
    found
}

/// Ends all that is left, then says how the program ended. Without a status nobody listens, or will
/// clean up.
fn finish(prepared: &Prepared, program: libc::pid_t, status: Option<i32>) {
    if prepared.outer & libc::CLONE_NEWPID == 0 {
        sweep(program);
    } else {
        // Everybody in this namespace but this process.
        let _ = raw::kill(-1);
        while raw::wait(-1, true).is_ok() {}
    }
    match status {
        Some(status) => control::ended(prepared.control.as_raw_fd(), status),
        None => prepared.placeholders.iter().for_each(super::placeholder::Placeholder::remove),
    }
}

/// Kills all descendants, where no namespace does it. Whose parent is killed comes to this process and is
/// killed next.
///
/// Nobody is collected before all are dead. The dead count against the limit on processes as the living
/// do, so a program that forks faster than it is killed runs out of processes instead of winning.
fn sweep(program: libc::pid_t) {
    // A wish: among many busy processes this one should get its turn.
    let _ = rustix::process::setpriority_process(None, -20);
    loop {
        match kill_children() {
            Ok(0) => break,
            // Dying takes a moment.
            Ok(_) => std::thread::yield_now(),
            // A kernel that does not list them; what did not leave the session can be reached.
            Err(_) => {
                let _ = raw::kill(-program);
                break;
            }
        }
    }
    while let Ok(Some(_)) = raw::wait(-1, false) {}
}

/// Kills every child that is alive, and says how many there were.
fn kill_children() -> rustix::io::Result<usize> {
    let path = c"/proc/thread-self/children";
    let list = openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let (mut alive, mut child): (usize, libc::pid_t) = (0, 0);
    let mut buffer = [0_u8; 4096];
    loop {
        let length = rustix::io::read(&list, &mut buffer)?;
        if length == 0 {
            return Ok(alive);
        }
        for byte in buffer.get(..length).unwrap_or_default() {
            if byte.is_ascii_digit() {
                child = child.wrapping_mul(10).wrapping_add((byte - b'0').into());
            } else if child > 0 {
                if !raw::is_dead(child) {
                    alive += 1;
                    let _ = raw::kill(child);
                }
                child = 0;
            }
        }
    }
}
