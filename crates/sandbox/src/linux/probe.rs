//! Finds out what this machine can enforce, by trying.
#![allow(unsafe_code, reason = "a process is copied to try")]

use std::fs::read_to_string;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::keeper::PROCESSES;
use super::raw::{self, Forked};
use crate::{Machine, Namespaces};

/// The namespaces that a program gets.
const ALL: libc::c_int = libc::CLONE_NEWPID
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS;
/// The first Linux on which a process namespace has a limit of its own. Before, the same setting was that
/// of the whole machine.
const PROCESS_LIMIT: (u32, u32) = (6, 14);

/// What this machine can enforce, found out by trying. Takes a few milliseconds: keep it.
pub fn probe() -> Machine {
    let system = rustix::system::uname();
    let release = system.release().to_string_lossy();
    let namespaces = namespaces();
    let root = geteuid().is_root();
    let kind = match namespaces {
        Namespaces::Privileged => libc::CLONE_NEWPID,
        Namespaces::Unprivileged | Namespaces::Absent { .. } => {
            libc::CLONE_NEWPID | libc::CLONE_NEWUSER
        }
    };
    Machine {
        kernel: format!("{} {release}", system.sysname().to_string_lossy()),
        boot: read_to_string("/proc/sys/kernel/random/boot_id")
            .map(|id| id.trim().to_owned())
            .unwrap_or_default(),
        landlock: raw::landlock_version().unwrap_or(0),
        seccomp: raw::has_filters(),
        // Where the version is too old the setting must not be touched: it is the machine's.
        process_limit: root
            && version(&release) >= PROCESS_LIMIT
            && tries(kind, || raw::write_file(PROCESSES, b"301")).is_ok(),
        namespaces,
        root,
    }
}

fn version(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    let mut next = || numbers.next().and_then(Result::ok).unwrap_or(0);
    (next(), next())
}

fn namespaces() -> Namespaces {
    if geteuid().is_root() && tries(ALL, separates).is_ok() {
        return Namespaces::Privileged;
    }
    match tries(ALL | libc::CLONE_NEWUSER, separates) {
        Ok(()) => Namespaces::Unprivileged,
        Err(error) => Namespaces::Absent { reason: std::io::Error::from(error).to_string() },
    }
}

/// Makes a process with these namespaces and lets it do what is done in them: some systems give them,
/// and nothing that they are good for.
fn tries(
    namespaces: libc::c_int,
    what: impl FnOnce() -> rustix::io::Result<()>,
) -> rustix::io::Result<()> {
    let user = format!("{0} {0} 1", geteuid().as_raw());
    let group = format!("{0} {0} 1", rustix::process::getegid().as_raw());
    let mapped = namespaces & libc::CLONE_NEWUSER != 0;
    // SAFETY: the copy makes system calls on what was laid out for it, and never comes back.
    match unsafe { raw::fork(namespaces)? } {
        Forked::Child => {
            let mapping = mapped.then_some((user.as_bytes(), group.as_bytes()));
            let code = match mapping.map_or(Ok(()), map).and_then(|()| what()) {
                Ok(()) => 0,
                Err(error) => error.raw_os_error(),
            };
            raw::exit(code)
        }
        Forked::Parent(_, child) => match raw::wait(child, true)? {
            Some((_, 0)) => Ok(()),
            Some((_, status)) if libc::WIFEXITED(status) => {
                Err(Errno::from_raw_os_error(libc::WEXITSTATUS(status)))
            }
            _ => Err(Errno::CHILD),
        },
    }
}

fn map((user, group): (&[u8], &[u8])) -> rustix::io::Result<()> {
    raw::write_file(c"/proc/self/setgroups", b"deny")?;
    raw::write_file(c"/proc/self/uid_map", user)?;
    raw::write_file(c"/proc/self/gid_map", group)
}

/// What is done in namespaces of one's own.
fn separates() -> rustix::io::Result<()> {
    let root = openat(CWD, c"/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    raw::hold(&root, super::plan::Hold::SYSTEM.attributes(), true)?;
    raw::loopback(super::child::GATE, 1).map(drop)
}

#[cfg(test)]
mod test {
    use super::version;

    #[test]
    fn a_release_has_a_version() {
        assert_eq!(version("6.18.44-fc-v669"), (6, 18));
        assert_eq!(version("5.4.0"), (5, 4));
        assert_eq!(version("unknown"), (0, 0));
    }
}
