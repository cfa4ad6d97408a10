//! The process that becomes the program. It shares the memory of the keeper, which stands still until
//! then: it may change nothing there but what is laid out for it, and allocate nothing.
#![allow(unsafe_code, reason = "what is given to a new process, and starting a program")]

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsRawFd as _;

use rustix::io::Errno;

use super::control::{self, Stage};
use super::mounts::{self, Broken};
use super::prepared::Prepared;
use super::raw::{self, Setting};
use super::rehearsal;
use super::watch::Act;

/// The address of the gate in the program's network: the usual port of a proxy. Nobody else is there.
pub(super) const GATE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 3128);
/// Connections that may wait for the gate.
const BACKLOG: i32 = 128;
/// Root is a user like others, for good, and nothing is raised or kept (`securebits.h`).
const NO_ROOT: u64 = 0xef;
/// Standard input, output and error are 0, 1 and 2.
const FIRST_OTHER: u32 = 3;

/// Where it ended early: at which stage, at which step of it, why.
type Ended = (Stage, usize, Errno);

/// Becomes the program, or says why not. `prepared` points to a [`Prepared`].
pub(super) extern "C" fn main(prepared: *mut libc::c_void) -> libc::c_int {
    // SAFETY: the keeper passes its own, and stands still until this process is another program.
    let prepared: &Prepared = unsafe { &*prepared.cast_const().cast() };
    let (stage, index, error) = match lock_in(prepared) {
        Err(ended) => ended,
        Ok(()) if prepared.act == Act::Rehearse => rehearsal::main(),
        // SAFETY: `Strings` ends its list with a null pointer, and each with a zero.
        Ok(()) => unsafe {
            let (argv, environment) = (prepared.argv.list(), prepared.environment.list());
            (Stage::Start, 0, raw::execute(&prepared.path, argv, environment))
        },
    };
    control::failed(prepared.control.as_raw_fd(), stage, index, error);
    raw::exit(127)
}

fn lock_in(prepared: &Prepared) -> Result<(), Ended> {
    let at = |stage: Stage| move |error: Errno| (stage, 0, error);
    rustix::process::setsid().map_err(at(Stage::Session))?;
    // Whoever kills the keeper kills the program.
    raw::set(Setting::DeathSignal, libc::SIGKILL as u64).map_err(at(Stage::Session))?;
    if prepared.is_networked {
        raw::loopback(GATE, BACKLOG)
            .and_then(|listener| {
                control::listener(prepared.control.as_raw_fd(), listener.as_raw_fd())
            })
            .map_err(at(Stage::Network))?;
    }
    if let Some(plan) = &prepared.plan {
        mounts::carry_out(plan, &prepared.rules).map_err(|broken| match broken {
            Broken::Start(error) => (Stage::View, 0, error),
            Broken::Source(index, error) => (Stage::Source, index, error),
            Broken::Step(index, error) => (Stage::Step, index, error),
        })?;
    }
    for (stream, number) in [(&prepared.null, 0), (&prepared.stdout, 1), (&prepared.stderr, 2)] {
        raw::connect(stream, number).map_err(at(Stage::Streams))?;
    }
    rustix::process::chdir(&*prepared.directory).map_err(at(Stage::Directory))?;
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    for (resource, most) in &prepared.limits {
        raw::limit(*resource, *most).map_err(at(Stage::Limits))?;
    }
    drop_capabilities().map_err(at(Stage::Capabilities))?;
    raw::close_on_start(FIRST_OTHER).map_err(at(Stage::Streams))?;
    rustix::thread::set_no_new_privs(true).map_err(at(Stage::Rules))?;
    raw::restrict(&prepared.rules).map_err(at(Stage::Rules))?;
    raw::default_signals();
    raw::filter(&prepared.filter).map_err(at(Stage::Filter))
}

/// No capabilities, and no way to come by any: neither by being root nor by a file's.
fn drop_capabilities() -> rustix::io::Result<()> {
    // Who is not root and has no namespace of their own may not do this, and has none to drop.
    let may_lack = !rustix::process::geteuid().is_root();
    let lacking = |result: rustix::io::Result<()>| match result {
        Err(Errno::PERM) if may_lack => Ok(()),
        other => other,
    };
    lacking(raw::set(Setting::SecureBits, NO_ROOT))?;
    for capability in 0..64 {
        match raw::set(Setting::Unbound, capability) {
            // The kernel knows no more.
            Err(Errno::INVAL) => break,
            other => lacking(other)?,
        }
    }
    raw::drop_capabilities()
}
