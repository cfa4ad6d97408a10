//! System calls that have no safe form elsewhere. None allocates, none takes a lock: they are made
//! between a fork and the start of a program, where every other thread is gone.
#![allow(unsafe_code, reason = "system calls")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "the kernel takes and gives small numbers in words of several sizes"
)]

use std::ffi::{CStr, c_int, c_long, c_ulong};
use std::mem::zeroed;
use std::net::SocketAddrV4;
use std::os::fd::{AsRawFd, FromRawFd as _, OwnedFd, RawFd};
use std::ptr;

use rustix::io::{Errno, Result};

/// The error of the last call.
pub(super) fn errno() -> Errno {
    // SAFETY: the C library keeps one for each thread, always there.
    Errno::from_raw_os_error(unsafe { *libc::__errno_location() })
}

fn checked(answer: c_long) -> Result<c_long> {
    if answer == -1 { Err(errno()) } else { Ok(answer) }
}

/// A setting of this process that is a number.
#[derive(Debug, Clone, Copy)]
#[repr(i32)]
pub(super) enum Setting {
    DeathSignal = libc::PR_SET_PDEATHSIG,
    Subreaper = libc::PR_SET_CHILD_SUBREAPER,
    Dumpable = libc::PR_SET_DUMPABLE,
    SecureBits = libc::PR_SET_SECUREBITS,
    /// Takes a capability from those that programs can come by.
    Unbound = libc::PR_CAPBSET_DROP,
}

pub(super) fn set(setting: Setting, value: c_ulong) -> Result<()> {
    // SAFETY: none of these settings is an address.
    checked(unsafe { libc::prctl(setting as c_int, value, 0, 0, 0) }.into()).map(drop)
}

/// Gives up all capabilities.
pub(super) fn drop_capabilities() -> Result<()> {
    // Version 3: two sets of 32 for each of effective, permitted and inheritable.
    let header: [u32; 2] = [0x2008_0522, 0];
    let none = [0_u32; 6];
    // SAFETY: the header and the sets are laid out as this version says.
    checked(unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) }).map(drop)
}

/// Limits a resource, for good.
pub(super) fn limit(resource: u32, most: u64) -> Result<()> {
    let limit = libc::rlimit64 { rlim_cur: most, rlim_max: most };
    // SAFETY: the limit lives until the call is over.
    checked(unsafe { libc::setrlimit64(resource, &raw const limit) }.into()).map(drop)
}

/// Connects descriptor `number` to `file`.
pub(super) fn connect(file: &impl AsRawFd, number: RawFd) -> Result<()> {
    // SAFETY: the caller is a process in which nobody owns `number`.
    checked(unsafe { libc::dup2(file.as_raw_fd(), number) }.into()).map(drop)
}

/// Closes the descriptors from `first` to `last`.
pub(super) fn close_between(first: u32, last: u32) -> Result<()> {
    // SAFETY: the caller is a process in which nobody uses them any more.
    checked(unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) }).map(drop)
}

/// Lets the descriptors from `first` on end with the start of a program.
pub(super) fn close_on_start(first: u32) -> Result<()> {
    let flags = libc::CLOSE_RANGE_CLOEXEC;
    // SAFETY: nothing is closed now.
    checked(unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, flags) }).map(drop)
}

/// Puts this process under Landlock's rules.
pub(super) fn restrict(rules: &impl AsRawFd) -> Result<()> {
    // SAFETY: a descriptor and a zero.
    checked(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0) })
        .map(drop)
}

/// The version of Landlock; an error where there is none.
pub(super) fn landlock_version() -> Result<u32> {
    const VERSION: u32 = 1;
    let none: *const u8 = ptr::null();
    // SAFETY: with this flag no attributes are read.
    let answer = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0, VERSION) };
    checked(answer).and_then(|version| u32::try_from(version).map_err(|_| Errno::RANGE))
}

/// Adds to the rights that Landlock leaves below `target`.
pub(super) fn allow(rules: &impl AsRawFd, target: &impl AsRawFd, rights: u64) -> Result<()> {
    #[repr(C, packed)]
    struct PathBeneath {
        allowed_access: u64,
        parent_fd: i32,
    }
    const PATH_BENEATH: c_int = 1;
    let rule = PathBeneath { allowed_access: rights, parent_fd: target.as_raw_fd() };
    // SAFETY: the rule is laid out as the kernel takes it, and lives until the call is over.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            rules.as_raw_fd(),
            PATH_BENEATH,
            &raw const rule,
            0,
        )
    };
    checked(answer).map(drop)
}

/// Puts this process under a filter of system calls.
pub(super) fn filter(instructions: &[libc::sock_filter]) -> Result<()> {
    const MODE_FILTER: c_ulong = 1;
    let program = libc::sock_fprog {
        len: u16::try_from(instructions.len()).map_err(|_| Errno::INVAL)?,
        filter: instructions.as_ptr().cast_mut(),
    };
    // SAFETY: the kernel reads as many instructions as are there, and writes none.
    checked(unsafe { libc::syscall(libc::SYS_seccomp, MODE_FILTER, 0, &raw const program) })
        .map(drop)
}

/// Whether this kernel filters system calls.
pub(super) fn has_filters() -> bool {
    const ACTION_AVAILABLE: c_ulong = 2;
    let kill_process: u32 = 0x8000_0000;
    // SAFETY: the action lives until the call is over.
    let answer =
        unsafe { libc::syscall(libc::SYS_seccomp, ACTION_AVAILABLE, 0, &raw const kill_process) };
    answer == 0
}

/// Holds a mount and, where `with_below`, those below it: `attributes` are added, and changes of mounts
/// stay inside.
pub(super) fn hold(mount: &impl AsRawFd, attributes: u64, with_below: bool) -> Result<()> {
    let change = libc::mount_attr {
        attr_set: attributes,
        attr_clr: 0,
        propagation: libc::MS_PRIVATE,
        userns_fd: 0,
    };
    let below = if with_below { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is a C string, and `change` is as long as is said.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | below,
            &raw const change,
            size_of::<libc::mount_attr>(),
        )
    };
    checked(answer).map(drop)
}

/// Starts the loopback interface of this network and listens at `address` in it.
pub(super) fn loopback(address: SocketAddrV4, backlog: c_int) -> Result<OwnedFd> {
    // SAFETY: all zeros is a request about no interface; its name and flags are set below.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(c"lo".to_bytes()) {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    let asking = socket(libc::SOCK_DGRAM)?;
    // SAFETY: this request reads an `ifreq`.
    let answer = unsafe { libc::ioctl(asking.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    checked(answer.into())?;

    let listener = socket(libc::SOCK_STREAM)?;
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: address.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from(*address.ip()).to_be() },
        sin_zero: [0; 8],
    };
    let length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    // SAFETY: the address is as long as is said.
    let answer = unsafe { libc::bind(listener.as_raw_fd(), (&raw const address).cast(), length) };
    checked(answer.into())?;
    // SAFETY: a descriptor and a number.
    checked(unsafe { libc::listen(listener.as_raw_fd(), backlog) }.into())?;
    Ok(listener)
}

fn socket(kind: c_int) -> Result<OwnedFd> {
    // SAFETY: three numbers.
    let socket =
        checked(unsafe { libc::socket(libc::AF_INET, kind | libc::SOCK_CLOEXEC, 0) }.into())?;
    // SAFETY: the kernel opened it for this call, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(socket as RawFd) })
}

/// A set of all signals that can be blocked.
fn all_signals() -> libc::sigset_t {
    // SAFETY: a set of signals is numbers; it is filled right away.
    let mut set: libc::sigset_t = unsafe { zeroed() };
    // SAFETY: the set lives until the call is over.
    unsafe { libc::sigfillset(&raw mut set) };
    set
}

/// Blocks all signals of this thread and gives back what was blocked before.
pub(super) fn block_signals() -> libc::sigset_t {
    let all = all_signals();
    // SAFETY: as above.
    let mut before: libc::sigset_t = unsafe { zeroed() };
    // SAFETY: both sets live until the call is over.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before) };
    before
}

/// Blocks these signals of this thread, and no others.
pub(super) fn set_blocked(blocked: &libc::sigset_t) {
    // SAFETY: the set lives until the call is over.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, blocked, ptr::null_mut()) };
}

/// No signal is blocked, none is ignored, none has a handler.
pub(super) fn default_signals() {
    // SAFETY: all zeros is the default action, without flags.
    let default: libc::sigaction = unsafe { zeroed() };
    for signal in 1..=64 {
        // Fails for those that cannot be changed, which are as they should be.
        // SAFETY: no handler is set, so nothing of this process is ever called.
        unsafe { libc::sigaction(signal, &raw const default, ptr::null_mut()) };
    }
    // SAFETY: an empty set is all zeros.
    let none: libc::sigset_t = unsafe { zeroed() };
    set_blocked(&none);
}

/// A descriptor that can be read when a child ended or one of `signals` came.
pub(super) fn signals(signals: &[c_int]) -> Result<OwnedFd> {
    // SAFETY: an empty set is all zeros.
    let mut set: libc::sigset_t = unsafe { zeroed() };
    for signal in signals {
        // SAFETY: the set lives until the call is over.
        unsafe { libc::sigaddset(&raw mut set, *signal) };
    }
    let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
    // SAFETY: a new descriptor is asked for.
    let opened = checked(unsafe { libc::signalfd(-1, &raw const set, flags) }.into())?;
    // SAFETY: the kernel opened it for this call, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(opened as RawFd) })
}

/// Waits for a child; for any with -1. Gives which one it was, and its status; none where it would have
/// to wait and must not.
pub(super) fn wait(child: libc::pid_t, may_wait: bool) -> Result<Option<(libc::pid_t, c_int)>> {
    let mut status = 0;
    // Children that tell nobody of their end are waited for as well.
    let flags = libc::__WALL | if may_wait { 0 } else { libc::WNOHANG };
    loop {
        // SAFETY: the status lives until the call is over.
        match checked(unsafe { libc::waitpid(child, &raw mut status, flags) }.into()) {
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
            Ok(0) => return Ok(None),
            Ok(ended) => return Ok(Some((ended as libc::pid_t, status))),
        }
    }
}

/// Whether a child is dead. It is not collected.
pub(super) fn is_dead(child: libc::pid_t) -> bool {
    // SAFETY: all zeros is no information.
    let mut information: libc::siginfo_t = unsafe { zeroed() };
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT | libc::__WALL;
    let child = child.cast_unsigned();
    // SAFETY: the information lives until the call is over.
    let answer = unsafe { libc::waitid(libc::P_PID, child, &raw mut information, flags) };
    // SAFETY: `waitid` writes this part of the information, or leaves it zero.
    answer == 0 && unsafe { information.si_pid() } != 0
}

/// Kills a process, a group where it is negative, or all that there are with -1.
pub(super) fn kill(process: libc::pid_t) -> Result<()> {
    // SAFETY: two numbers.
    checked(unsafe { libc::kill(process, libc::SIGKILL) }.into()).map(drop)
}

/// Writes a short file, as below `/proc`.
pub(super) fn write_file(path: &CStr, bytes: &[u8]) -> Result<()> {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    let file = openat(CWD, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, bytes).map(drop)
}

/// Ends this process, and runs nothing of what was registered for its end.
pub(super) fn exit(code: c_int) -> ! {
    // SAFETY: does not return.
    unsafe { libc::_exit(code) }
}

/// Becomes another program; comes back with an error only.
///
/// # Safety
/// Both lists end with a null pointer, and what they point to with a zero.
pub(super) unsafe fn execute(
    path: &CStr,
    argv: *const *const libc::c_char,
    environment: *const *const libc::c_char,
) -> Errno {
    // SAFETY: the caller says so.
    unsafe { libc::execve(path.as_ptr(), argv, environment) };
    errno()
}

/// What a process that was made is to its maker.
pub(super) enum Forked {
    /// This is the new process.
    Child,
    /// This is the maker; the new process is behind the descriptor.
    Parent(OwnedFd, libc::pid_t),
}

/// Copies this process, with `namespaces` of the copy's own. Nobody is told of its end but who holds the
/// descriptor: no signal is sent, and a `wait` of others for any child does not see it.
///
/// # Safety
/// In the copy there is only this thread: it must not allocate, lock or return to code that does.
pub(super) unsafe fn fork(namespaces: c_int) -> Result<Forked> {
    let mut process: RawFd = -1;
    let flags = (libc::CLONE_PIDFD | namespaces) as c_ulong;
    // SAFETY: without a stack of its own the copy goes on here on a copy of this one; the descriptor is
    // written to a local that outlives the call.
    let child = unsafe { libc::syscall(libc::SYS_clone, flags, 0, &raw mut process, 0, 0) };
    match checked(child)? {
        0 => Ok(Forked::Child),
        child => {
            // SAFETY: the kernel opened it for this call, and nobody else knows it.
            let process = unsafe { OwnedFd::from_raw_fd(process) };
            Ok(Forked::Parent(process, child as libc::pid_t))
        }
    }
}

/// Runs `main` in a new process that has `namespaces` of its own and shares this one's memory, until it
/// becomes another program or ends; this process stands still meanwhile.
///
/// # Safety
/// `main` may be given `argument`, and must not return, allocate or lock.
pub(super) unsafe fn spawn(
    stack: &mut [u8],
    namespaces: c_int,
    main: extern "C" fn(*mut libc::c_void) -> c_int,
    argument: *mut libc::c_void,
) -> Result<libc::pid_t> {
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD | namespaces;
    let top = stack.as_mut_ptr_range().end;
    // A stack starts at a multiple of 16.
    let top = top.wrapping_sub(top.addr() % 16);
    // SAFETY: the stack is nobody else's until the new process has left it; the rest is the caller's.
    let child = unsafe { libc::clone(main, top.cast(), flags, argument) };
    checked(child.into()).map(|child| child as libc::pid_t)
}
