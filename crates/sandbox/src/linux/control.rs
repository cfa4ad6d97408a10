//! What the processes of one run say to each other, over a pair of sockets.
#![allow(unsafe_code, reason = "messages that carry descriptors")]

use std::io;
use std::mem::{MaybeUninit, zeroed};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};

use rustix::io::Errno;

/// What was being done when it could not be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum Stage {
    Users,
    Processes,
    Fork,
    Session,
    Network,
    View,
    Source,
    Step,
    Streams,
    Directory,
    Limits,
    Capabilities,
    Rules,
    Filter,
    Start,
}

const STAGES: &[(Stage, &str)] = &[
    (Stage::Users, "mapping its user"),
    (Stage::Processes, "limiting its processes"),
    (Stage::Fork, "starting a process in namespaces of its own"),
    (Stage::Session, "giving it a session of its own"),
    (Stage::Network, "giving it a network of its own"),
    (Stage::View, "giving it a view of the file system of its own"),
    (Stage::Source, "taking what it was granted"),
    (Stage::Step, "making its view of the file system"),
    (Stage::Streams, "connecting its output"),
    (Stage::Directory, "entering its directory"),
    (Stage::Limits, "setting its limits"),
    (Stage::Capabilities, "dropping its capabilities"),
    (Stage::Rules, "restricting its files"),
    (Stage::Filter, "restricting its system calls"),
    (Stage::Start, "executing it"),
];

impl Stage {
    pub(super) fn words(self) -> &'static str {
        STAGES.iter().find(|(stage, _)| *stage == self).map_or("", |(_, words)| words)
    }

    fn of(number: i32) -> Option<Self> {
        STAGES.iter().map(|(stage, _)| *stage).find(|stage| *stage as i32 == number)
    }
}

/// A message to the process that called.
#[derive(Debug)]
pub(super) enum Message {
    /// It will not run. The index says which step of several.
    Failed { stage: Stage, index: i32, error: i32 },
    /// Here is the listener in the program's network.
    Listener(OwnedFd),
    /// It ended, with this status as `wait` gives it, and nothing of it is left.
    Ended { status: i32 },
    /// Nobody will say any more.
    Closed,
}

const FAILED: i32 = 1;
const LISTENER: i32 = 2;
const ENDED: i32 = 3;

type Words = [i32; 4];

/// One descriptor beside a message.
#[repr(C)]
struct Beside {
    header: libc::cmsghdr,
    descriptor: RawFd,
}

pub(super) fn failed(control: RawFd, stage: Stage, index: usize, error: Errno) {
    let index = i32::try_from(index).unwrap_or(i32::MAX);
    let _ = send(control, [FAILED, stage as i32, index, error.raw_os_error()], None);
}

pub(super) fn ended(control: RawFd, status: i32) {
    let _ = send(control, [ENDED, status, 0, 0], None);
}

pub(super) fn listener(control: RawFd, listener: RawFd) -> rustix::io::Result<()> {
    send(control, [LISTENER, 0, 0, 0], Some(listener))
}

/// Makes one system call; nothing is allocated.
fn send(control: RawFd, mut words: Words, descriptor: Option<RawFd>) -> rustix::io::Result<()> {
    let mut part = libc::iovec { iov_base: (&raw mut words).cast(), iov_len: size_of::<Words>() };
    // SAFETY: all zeros is a message without anything.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    let mut beside = Beside {
        header: libc::cmsghdr {
            cmsg_len: size_of::<libc::cmsghdr>() + size_of::<RawFd>(),
            cmsg_level: libc::SOL_SOCKET,
            cmsg_type: libc::SCM_RIGHTS,
        },
        descriptor: descriptor.unwrap_or(-1),
    };
    if descriptor.is_some() {
        message.msg_control = (&raw mut beside).cast();
        message.msg_controllen = size_of::<Beside>();
    }
    loop {
        // SAFETY: the message points to locals that outlive the call.
        let sent = unsafe { libc::sendmsg(control, &raw const message, libc::MSG_NOSIGNAL) };
        match sent {
            -1 if super::raw::errno() == Errno::INTR => {}
            -1 => return Err(super::raw::errno()),
            _ => return Ok(()),
        }
    }
}

/// The next message; none when there is none yet.
pub(super) fn receive(control: &OwnedFd) -> io::Result<Option<Message>> {
    let mut words: Words = [0; 4];
    let mut part = libc::iovec { iov_base: (&raw mut words).cast(), iov_len: size_of::<Words>() };
    let mut beside = MaybeUninit::<Beside>::zeroed();
    // SAFETY: all zeros is a message without anything.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = beside.as_mut_ptr().cast();
    message.msg_controllen = size_of::<Beside>();
    let flags = libc::MSG_CMSG_CLOEXEC | libc::MSG_DONTWAIT;
    // SAFETY: the message points to locals that outlive the call.
    let length = unsafe { libc::recvmsg(control.as_raw_fd(), &raw mut message, flags) };
    let Ok(length) = usize::try_from(length) else {
        let error = io::Error::last_os_error();
        return match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
            io::ErrorKind::ConnectionReset => Ok(Some(Message::Closed)),
            _ => Err(error),
        };
    };
    // SAFETY: it was all zeros at first, and the kernel writes valid numbers.
    let beside = unsafe { beside.assume_init() };
    let has_descriptor = message.msg_controllen >= beside.header.cmsg_len
        && beside.header.cmsg_len == size_of::<libc::cmsghdr>() + size_of::<RawFd>()
        && beside.header.cmsg_type == libc::SCM_RIGHTS;
    // SAFETY: the kernel opened the descriptor for this message, and nobody else knows it.
    let descriptor = has_descriptor.then(|| unsafe { OwnedFd::from_raw_fd(beside.descriptor) });
    if length == 0 {
        return Ok(Some(Message::Closed));
    }
    let [kind, first, index, error] = words;
    Ok(match (kind, Stage::of(first), descriptor) {
        (FAILED, Some(stage), _) => Some(Message::Failed { stage, index, error }),
        (LISTENER, _, Some(listener)) => Some(Message::Listener(listener)),
        (ENDED, _, _) => Some(Message::Ended { status: first }),
        _ => None,
    })
}
