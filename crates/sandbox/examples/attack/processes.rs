//! Other processes, and one's own where nobody is to see them.

use std::io::Write as _;
use std::process::Command;
use std::ptr::null_mut;
use std::time::Duration;

use crate::{Outcome, call, refused};

pub(crate) fn attempt(name: &str, a: &[String]) -> Option<Outcome> {
    let word = a.first().map(String::as_str).unwrap_or_default();
    let number: i64 = word.parse().unwrap_or(0);
    let process = number as i32;
    Some(match name {
        "ptrace" => call(unsafe {
            libc::ptrace(libc::PTRACE_SEIZE, process, null_mut::<u8>(), null_mut::<u8>())
        }),
        "vm-read" => vm_read(process, a.get(1)?.parse().unwrap()),
        "kill" => call(unsafe { libc::kill(process, a.get(1)?.parse().unwrap()) }),
        "kill-child" => kill_child(),
        "pidfd-signal" => pidfd(process).and_then(|fd| {
            call(unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, 0, 0, 0) })
        }),
        "pidfd-getfd" => pidfd(process)
            .and_then(|fd| call(unsafe { libc::syscall(libc::SYS_pidfd_getfd, fd, 0, 0) })),
        "prlimit" => prlimit(process),
        "setpriority" => {
            call(unsafe { libc::setpriority(libc::PRIO_PROCESS, process.cast_unsigned(), 5) })
        }
        "setpriority-user" => {
            // Whoever is not root may only slow down, and others of the user may be slow already.
            let user = unsafe { libc::getuid() };
            let nice = if user == 0 { 0 } else { 5 };
            call(unsafe { libc::setpriority(libc::PRIO_USER, user, nice) })
        }
        "affinity" => affinity(process),
        "no-new-privileges" => {
            let on = unsafe { libc::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) };
            if on == 1 { Err(refused(libc::EPERM)) } else { Ok(()) }
        }
        "capabilities" => capabilities(),
        "user" => {
            // Root again, or somebody else.
            call(unsafe { libc::setuid(process.cast_unsigned()) })
        }
        "variable" => std::env::var(word).map(drop).map_err(|_| refused(libc::ENOENT)),
        "processes" => {
            let own = std::process::id().to_string();
            let seen = std::fs::read_dir("/proc").map(|entries| {
                entries
                    .flatten()
                    .filter_map(|entry| entry.file_name().into_string().ok())
                    .filter(|name| name.parse::<u32>().is_ok() && *name != own)
                    .count()
            });
            seen.and_then(|seen| if seen == 0 { Err(refused(libc::ENOENT)) } else { Ok(()) })
        }
        "exit" => std::process::exit(process),
        "die" => {
            unsafe { libc::raise(process) };
            Ok(())
        }
        "sleep" => {
            std::thread::sleep(Duration::from_secs(number.cast_unsigned()));
            Ok(())
        }
        "flood" => flood(number.cast_unsigned()),
        "bomb" => bomb(),
        "hide" => {
            hide(number.cast_unsigned(), a.get(1).map(String::as_str));
            Ok(())
        }
        "fork" => Command::new(word).arg("say").output().map(drop),
        "eat" => eat(number as usize),
        "spin" => loop {
            std::hint::spin_loop();
        },
        _ => return None,
    })
}

fn vm_read(process: i32, address: usize) -> Outcome {
    let mut buffer = [0_u8; 8];
    let own = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: 8 };
    let theirs = libc::iovec { iov_base: address as *mut _, iov_len: 8 };
    call(unsafe { libc::process_vm_readv(process, &raw const own, 1, &raw const theirs, 1, 0) }
        as i64)
}

fn kill_child() -> Outcome {
    match unsafe { libc::fork() } {
        0 => loop {
            unsafe { libc::pause() };
        },
        child => {
            call(unsafe { libc::kill(child, libc::SIGKILL) })?;
            call(unsafe { libc::waitpid(child, null_mut(), 0) })
        }
    }
}

fn pidfd(process: i32) -> Result<i64, std::io::Error> {
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
    call(fd).map(|()| fd)
}

fn prlimit(process: i32) -> Outcome {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    call(unsafe { libc::prlimit(process, libc::RLIMIT_NOFILE, std::ptr::null(), &raw mut limit) })?;
    call(unsafe { libc::prlimit(process, libc::RLIMIT_NOFILE, &raw const limit, null_mut()) })
}

fn affinity(process: i32) -> Outcome {
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::cpu_set_t>();
    call(unsafe { libc::sched_getaffinity(0, size, &raw mut set) })?;
    call(unsafe { libc::sched_setaffinity(process, size, &raw const set) })
}

/// Whether there are any, or will be after another start.
fn capabilities() -> Outcome {
    let header: [u32; 2] = [0x2008_0522, 0];
    let mut sets = [0_u32; 6];
    call(unsafe { libc::syscall(libc::SYS_capget, header.as_ptr(), sets.as_mut_ptr()) })?;
    let bound = (0..64).filter(|capability| unsafe {
        libc::prctl(libc::PR_CAPBSET_READ, *capability, 0, 0, 0) == 1
    });
    let bound = if unsafe { libc::getuid() } == 0 { bound.count() } else { 0 };
    if sets == [0; 6] && bound == 0 { Err(refused(libc::EPERM)) } else { Ok(()) }
}

fn flood(bytes: u64) -> Outcome {
    let block = vec![b'x'; 1 << 16];
    let mut out = std::io::stdout().lock();
    for _ in 0..bytes >> 16 {
        out.write_all(&block)?;
    }
    std::process::exit(0);
}

/// Forks and forks.
fn bomb() -> Outcome {
    loop {
        unsafe { libc::fork() };
    }
}

/// A grandchild in a session of its own that ignores what would end it, and says so in the file.
fn hide(seconds: u64, mark: Option<&str>) {
    unsafe {
        if libc::fork() == 0 {
            libc::setsid();
            if libc::fork() == 0 {
                for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT] {
                    libc::signal(signal, libc::SIG_IGN);
                }
                if let Some(mark) = mark {
                    loop {
                        let _ = std::fs::write(mark, std::process::id().to_string());
                        std::thread::sleep(Duration::from_millis(20));
                    }
                }
                loop {
                    std::thread::sleep(Duration::from_secs(1));
                }
            }
            libc::_exit(0);
        }
    }
    std::thread::sleep(Duration::from_secs(seconds));
}

fn eat(bytes: usize) -> Outcome {
    let mapped = unsafe {
        libc::mmap(
            null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    call(mapped as i64)
}
