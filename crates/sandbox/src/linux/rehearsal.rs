//! Escapes that are tried in the place of a program, by a process that is held like one. Nothing has to
//! be installed for it, so it can be done on any machine.
#![allow(unsafe_code, reason = "calls that are to be refused")]

use std::ffi::CStr;
use std::ptr;

use super::raw;
use super::watch::{self, Act};
use crate::{
    Choice, Confinement, Escape, Limits, Machine, Network, Program, SandboxError, Tier, choose,
};

/// Tries something and says whether it worked.
type Try = fn() -> bool;

const ESCAPES: &[(&str, Try)] = &[
    ("read a file that was not granted", || opens(c"/proc/sys/kernel/ostype", libc::O_RDONLY)),
    ("write a file that was not granted", || {
        opens(c"/", libc::O_TMPFILE | libc::O_WRONLY)
            || opens(c"/etc/concertina-self-test", libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY)
    }),
    ("open a socket", || socket(libc::AF_INET) || socket(libc::AF_UNIX)),
    ("make a namespace", || {
        // SAFETY: a number.
        unsafe { libc::unshare(libc::CLONE_NEWUSER) == 0 || libc::unshare(libc::CLONE_NEWNS) == 0 }
    }),
    ("make a program in memory", || {
        // SAFETY: the name is a C string.
        unsafe { libc::memfd_create(c"self-test".as_ptr(), 0) >= 0 }
    }),
    ("trace another process", || {
        let none: *const u8 = ptr::null();
        // SAFETY: nothing is read or written for this request.
        unsafe { libc::ptrace(libc::PTRACE_SEIZE, libc::getppid(), none, none) == 0 }
    }),
    ("gain privileges", || {
        // SAFETY: numbers.
        unsafe { libc::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 }
    }),
];
/// Where nothing works at all, nothing is proved: this must.
const HONEST: Try = || opens(c"/dev/null", libc::O_RDWR);

fn opens(path: &CStr, flags: libc::c_int) -> bool {
    // SAFETY: the path is a C string.
    unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, 0o600) >= 0 }
}

fn socket(family: libc::c_int) -> bool {
    // SAFETY: three numbers.
    unsafe { libc::socket(family, libc::SOCK_STREAM, 0) >= 0 }
}

/// The exit code where even what must work does not.
const NOTHING_WORKS: i32 = 255;

/// Tries all of them and ends; the exit code has a bit for each that worked.
pub(super) fn main() -> ! {
    if !HONEST() {
        raw::exit(NOTHING_WORKS);
    }
    let mut code = 0;
    for (bit, (_, escape)) in ESCAPES.iter().enumerate() {
        code |= i32::from(escape()) << bit;
    }
    raw::exit(code)
}

/// Tries some escapes for real at `tier`, in about ten milliseconds. The result holds for as long as
/// [`Machine::key`] is the same.
///
/// # Errors
/// `SANDBOX_UNAVAILABLE` where the machine lacks what the tier needs, and what
/// [`run`](crate::run) says of a program that does not start.
pub fn self_test(machine: &Machine, tier: Tier) -> Result<Vec<Escape>, SandboxError> {
    let confinement = Confinement {
        read: vec![],
        write: vec![],
        execute: vec![],
        protect: vec![],
        closed: vec![],
        pins: vec![],
        network: Network::None,
        at_least: tier,
        limits: Limits::default(),
    };
    let held: Choice = choose(&confinement, machine)?;
    let program =
        Program { argv: vec!["self-test".to_owned()], directory: "/".into(), environment: vec![] };
    let act = Act::Rehearse;
    let finished = watch::run(machine, held, &program, &confinement, None, &|| false, act)?;
    let is_whole = (0..1 << ESCAPES.len()).contains(&finished.exit);
    Ok(ESCAPES
        .iter()
        .enumerate()
        .map(|(bit, (name, _))| Escape {
            name,
            is_held: is_whole && finished.exit & (1 << bit) == 0,
        })
        .collect())
}
