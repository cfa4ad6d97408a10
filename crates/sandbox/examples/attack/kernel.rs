//! The kernel itself: its newer and its older doors.

use std::ptr::null;

use crate::{Outcome, call, refused, text};

pub(crate) fn attempt(name: &str, a: &[String]) -> Option<Outcome> {
    let word = a.first().map(String::as_str).unwrap_or_default();
    let other = a.get(1).map(String::as_str).unwrap_or_default();
    let number: i64 = word.parse().unwrap_or(0);
    Some(match name {
        "io-uring" => {
            let mut parameters = [0_u8; 120];
            call(unsafe { libc::syscall(libc::SYS_io_uring_setup, 4, parameters.as_mut_ptr()) })
        }
        "shared-memory" => {
            call(unsafe { libc::shmat(number as i32, null(), libc::SHM_RDONLY) } as i64)
        }
        "keyctl" => {
            // KEYCTL_GET_KEYRING_ID of the session's.
            call(unsafe { libc::syscall(libc::SYS_keyctl, 0, -3, 1) })
        }
        "bpf" => {
            let mut attributes = [0_u32; 32];
            // BPF_MAP_CREATE of an array with one number.
            attributes[..4].copy_from_slice(&[2, 4, 4, 1]);
            call(unsafe { libc::syscall(libc::SYS_bpf, 0, attributes.as_ptr(), 128) })
        }
        "perf" => {
            let mut attributes = [0_u8; 112];
            attributes[..4].copy_from_slice(&1_u32.to_ne_bytes());
            attributes[4..8].copy_from_slice(&112_u32.to_ne_bytes());
            let perf = libc::SYS_perf_event_open;
            call(unsafe { libc::syscall(perf, attributes.as_ptr(), 0, -1, -1, 0) })
        }
        "userfaultfd" => call(unsafe { libc::syscall(libc::SYS_userfaultfd, 1) }),
        "unshare" => call(unsafe { libc::unshare(number as i32) }),
        "setns" => {
            let path = text(word);
            let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY) };
            call(unsafe { libc::setns(if fd < 0 { 0 } else { fd }, 0) })
        }
        "clone-user" => cloned(libc::CLONE_NEWUSER),
        "clone3-user" => clone3(),
        "mount" => call(unsafe {
            libc::unshare(libc::CLONE_NEWNS);
            libc::mount(c"none".as_ptr(), text(word).as_ptr(), c"tmpfs".as_ptr(), 0, null())
        }),
        "bind" => call(unsafe {
            libc::unshare(libc::CLONE_NEWNS);
            libc::mount(text(word).as_ptr(), text(other).as_ptr(), null(), libc::MS_BIND, null())
        }),
        "remount" => call(unsafe {
            libc::mount(
                null(),
                text(word).as_ptr(),
                null(),
                libc::MS_REMOUNT | libc::MS_BIND,
                null(),
            )
        }),
        "unmount" => call(unsafe { libc::umount2(text(word).as_ptr(), libc::MNT_DETACH) }),
        "open-tree" => call(unsafe {
            libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, text(word).as_ptr(), 1)
        }),
        "chroot" => call(unsafe { libc::chroot(text(word).as_ptr()) }),
        "int80" => int80(),
        "x32" => call(unsafe { libc::syscall(0x4000_0000 + libc::SYS_getpid) }),
        "unknown-call" => call(unsafe { libc::syscall(470) }),
        "terminal-input" => terminal(libc::TIOCSTI),
        "terminal" => std::fs::File::open("/dev/tty").map(drop),
        "personality" => call(unsafe { libc::personality(0x0400_0000) }),
        "host-name" => call(unsafe { libc::sethostname(c"evil".as_ptr(), 4) }),
        "clock" => {
            let mut now: libc::timespec = unsafe { std::mem::zeroed() };
            unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut now) };
            call(unsafe { libc::clock_settime(libc::CLOCK_REALTIME, &raw const now) })
        }
        "log" => call(unsafe { libc::syscall(libc::SYS_syslog, 10, 0, 0) }),
        _ => return None,
    })
}

fn cloned(flags: i32) -> Outcome {
    let child = unsafe { libc::syscall(libc::SYS_clone, flags | libc::SIGCHLD, 0, 0, 0, 0) };
    if child == 0 {
        unsafe { libc::_exit(0) };
    }
    call(child)
}

fn clone3() -> Outcome {
    let mut arguments = [0_u64; 11];
    arguments[0] = libc::CLONE_NEWUSER as u64;
    arguments[4] = libc::SIGCHLD as u64;
    let child = unsafe { libc::syscall(libc::SYS_clone3, arguments.as_ptr(), 88) };
    if child == 0 {
        unsafe { libc::_exit(0) };
    }
    call(child)
}

/// Puts a letter into the terminal of another program. Its own terminal is made first, so that there is
/// one.
fn terminal(request: libc::Ioctl) -> Outcome {
    let letter = b'x';
    call(unsafe { libc::ioctl(0, request, &raw const letter) })
}

/// A system call by its number among those of 32-bit programs: `getpid`. Where it is let through, it
/// answers.
#[cfg(target_arch = "x86_64")]
fn int80() -> Outcome {
    let mut answer: i64 = 20;
    unsafe { std::arch::asm!("int 0x80", inout("rax") answer) };
    if answer > 0 { Ok(()) } else { Err(refused((-answer) as i32)) }
}

#[cfg(not(target_arch = "x86_64"))]
fn int80() -> Outcome {
    Err(refused(libc::ENOSYS))
}
