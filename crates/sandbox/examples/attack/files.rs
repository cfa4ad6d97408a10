//! Files that were not granted.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::process::Command;

use crate::{Outcome, call, refused, text};

pub(crate) fn attempt(name: &str, a: &[String]) -> Option<Outcome> {
    let path = a.first().map(String::as_str).unwrap_or_default();
    let other = a.get(1).map(String::as_str).unwrap_or_default();
    Some(match name {
        "say" => {
            println!("ran");
            std::process::exit(0);
        }
        "print" => {
            for word in a {
                println!("{word}");
            }
            std::process::exit(0);
        }
        "read" => File::open(path).and_then(|mut file| file.read(&mut [0; 8]).map(drop)),
        "opened" => File::open(path).map(drop),
        "cat" => File::open(path).and_then(|mut file| {
            let mut all = Vec::new();
            file.read_to_end(&mut all)?;
            std::io::stdout().write_all(&all)
        }),
        "write" => OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .and_then(|mut file| file.write_all(b"evil")),
        "create" => File::create_new(path).map(drop),
        "list" => std::fs::read_dir(path).map(drop),
        "mkdir" => std::fs::create_dir(path),
        "symlink" => std::os::unix::fs::symlink(other, path),
        "stat" => std::fs::symlink_metadata(path).map(drop),
        "opath" => OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(path).map(drop),
        "link" => std::fs::hard_link(path, other),
        "rename" => std::fs::rename(path, other),
        "exchange" => exchange(path, other),
        "replace" => replace(path, other),
        "truncate" => call(unsafe { libc::truncate(text(path).as_ptr(), 0) }),
        "open-truncate" => OpenOptions::new().write(true).truncate(true).open(path).map(drop),
        "unlink" => std::fs::remove_file(path),
        "rmdir" => std::fs::remove_dir(path),
        "chmod" => call(unsafe { libc::chmod(text(path).as_ptr(), 0o666) }),
        "chmod-set-id" => call(unsafe { libc::chmod(text(path).as_ptr(), 0o4755) }),
        "create-set-id" => {
            OpenOptions::new().write(true).create_new(true).mode(0o4755).open(path).map(drop)
        }
        "fchmod" => {
            File::open(path).and_then(|file| call(unsafe { libc::fchmod(file.as_raw_fd(), 0o666) }))
        }
        "chown" => {
            call(unsafe { libc::chown(text(path).as_ptr(), libc::getuid(), libc::getgid()) })
        }
        "utimes" => call(unsafe {
            libc::utimensat(libc::AT_FDCWD, text(path).as_ptr(), std::ptr::null(), 0)
        }),
        "futimes" => File::open(path)
            .and_then(|file| call(unsafe { libc::futimens(file.as_raw_fd(), std::ptr::null()) })),
        "setxattr" => setxattr(path),
        "set-flags" => set_flags(path),
        "descriptor" => {
            let number = path.parse().unwrap();
            call(unsafe { libc::fcntl(number, libc::F_GETFD) })
        }
        "descriptors" => {
            let is_closed = |number: &i32| {
                let written = unsafe { libc::write(*number, b"x".as_ptr().cast(), 1) };
                written == -1 && std::io::Error::last_os_error().raw_os_error() == Some(libc::EBADF)
            };
            if (3..256).all(|number| is_closed(&number)) {
                Err(refused(libc::EBADF))
            } else {
                Ok(())
            }
        }
        "exec" => started(Command::new(path).arg("say")),
        "copy-exec" => copied(path, other).and_then(|()| started(Command::new(other).arg("say"))),
        "loader" => copied(path, other)
            .and_then(|()| started(Command::new(loader()?).arg(other).arg("say"))),
        "load" => loader().and_then(|loader| started(Command::new(loader).arg(path).arg("say"))),
        "map-exec" => map_executable(path),
        "memory-exec" => memory_exec(path),
        "copy-range" => written_by(path, |from, to| unsafe {
            libc::copy_file_range(from, std::ptr::null_mut(), to, std::ptr::null_mut(), 4, 0)
        }),
        "sendfile" => written_by(path, |from, to| unsafe {
            libc::sendfile(to, from, std::ptr::null_mut(), 4)
        }),
        "splice" => splice(path),
        "fallocate" => OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|file| call(unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, 4096) })),
        "big" => big(path, other.parse().unwrap()),
        "full" => full(path),
        "handle" => by_handle(path),
        "mknod" => call(unsafe {
            libc::mknod(text(path).as_ptr(), libc::S_IFBLK | 0o600, libc::makedev(254, 0))
        }),
        "fifo" => call(unsafe { libc::mkfifo(text(path).as_ptr(), 0o600) }),
        _ => return None,
    })
}

fn exchange(path: &str, other: &str) -> Outcome {
    call(unsafe {
        libc::renameat2(
            libc::AT_FDCWD,
            text(path).as_ptr(),
            libc::AT_FDCWD,
            text(other).as_ptr(),
            libc::RENAME_EXCHANGE,
        )
    })
}

/// Moves the directory `path` away and puts another with `other` in it in its place.
fn replace(path: &str, other: &str) -> Outcome {
    std::fs::rename(path, format!("{path}.moved"))?;
    std::fs::create_dir_all(std::path::Path::new(other).parent().unwrap())?;
    File::create_new(other).map(drop)
}

fn setxattr(path: &str) -> Outcome {
    call(unsafe {
        libc::setxattr(text(path).as_ptr(), c"user.evil".as_ptr(), c"x".as_ptr().cast(), 1, 0)
    })
}

/// Sets a file's flags to what they are.
fn set_flags(path: &str) -> Outcome {
    const GET: libc::c_ulong = 0x8008_6601;
    const SET: libc::c_ulong = 0x4008_6602;
    let file = File::open(path)?;
    let mut flags: libc::c_long = 0;
    call(unsafe { libc::ioctl(file.as_raw_fd(), GET, &raw mut flags) })?;
    call(unsafe { libc::ioctl(file.as_raw_fd(), SET, &raw const flags) })
}

fn copied(from: &str, to: &str) -> Outcome {
    std::fs::copy(from, to)?;
    std::fs::set_permissions(to, std::fs::Permissions::from_mode(0o755))
}

/// Starts a program that prints `ran`.
pub(crate) fn started(command: &mut Command) -> Outcome {
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.stdout.starts_with(b"ran") {
        return Ok(());
    }
    // The loader's own words where the kernel does not let it map the file as a program.
    if said.contains("failed to map segment") {
        return Err(refused(libc::EPERM));
    }
    Err(std::io::Error::other(format!("exit {} {said}", output.status)))
}

fn loader() -> std::io::Result<&'static str> {
    ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"]
        .into_iter()
        .find(|path| std::path::Path::new(path).exists())
        .ok_or_else(|| std::io::Error::other("missing"))
}

fn map_executable(path: &str) -> Outcome {
    std::fs::write(path, [0; 4096])?;
    let file = File::open(path)?;
    let protection = libc::PROT_READ | libc::PROT_EXEC;
    let mapped = unsafe {
        libc::mmap(std::ptr::null_mut(), 4096, protection, libc::MAP_PRIVATE, file.as_raw_fd(), 0)
    };
    call(mapped as i64)
}

fn memory_exec(path: &str) -> Outcome {
    let bytes = std::fs::read(path)?;
    let memory = unsafe { libc::memfd_create(c"evil".as_ptr(), 0) };
    call(memory)?;
    let written = unsafe { libc::write(memory, bytes.as_ptr().cast(), bytes.len()) };
    assert_eq!(written as usize, bytes.len());
    let say: [CString; 2] = [text("evil"), text("say")];
    let argv = [say[0].as_ptr(), say[1].as_ptr(), std::ptr::null()];
    let environment: [*const libc::c_char; 1] = [std::ptr::null()];
    let flags = libc::AT_EMPTY_PATH;
    // It prints `ran` in the place of `open`.
    call(unsafe {
        libc::syscall(
            libc::SYS_execveat,
            memory,
            c"".as_ptr(),
            argv.as_ptr(),
            environment.as_ptr(),
            flags,
        )
    })
}

fn written_by(path: &str, copy: impl Fn(i32, i32) -> isize) -> Outcome {
    // Itself: every program may be read by who may start it.
    let from = File::open(std::env::args().next().unwrap_or_default())?;
    let to = OpenOptions::new().write(true).open(path)?;
    call(copy(from.as_raw_fd(), to.as_raw_fd()) as i64)
}

fn splice(path: &str) -> Outcome {
    let (from, mut into) = std::io::pipe()?;
    into.write_all(b"evil")?;
    let to = OpenOptions::new().write(true).open(path)?;
    let none = std::ptr::null_mut();
    call(unsafe { libc::splice(from.as_raw_fd(), none, to.as_raw_fd(), none, 4, 0) } as i64)
}

/// Writes until the size is reached or the system has had enough.
fn big(path: &str, size: u64) -> Outcome {
    // Instead of dying of SIGXFSZ, see the error.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let mut file = File::create(path)?;
    let block = vec![b'x'; 1 << 20];
    for _ in 0..size / (1 << 20) {
        file.write_all(&block)?;
    }
    Ok(())
}

/// Fills the file system.
fn full(path: &str) -> Outcome {
    big(path, 1 << 40)
}

fn by_handle(path: &str) -> Outcome {
    #[repr(C)]
    struct Handle {
        bytes: u32,
        kind: i32,
        rest: [u8; 128],
    }
    let mut handle = Handle { bytes: 128, kind: 0, rest: [0; 128] };
    let mut mount = 0;
    let root = File::open("/")
        .or_else(|_| OpenOptions::new().read(true).custom_flags(libc::O_PATH).open("/"))?;
    call(unsafe {
        libc::syscall(
            libc::SYS_name_to_handle_at,
            libc::AT_FDCWD,
            text(path).as_ptr(),
            &raw mut handle,
            &raw mut mount,
            0,
        )
    })?;
    call(unsafe {
        libc::syscall(
            libc::SYS_open_by_handle_at,
            root.as_raw_fd(),
            &raw mut handle,
            libc::O_RDONLY,
        )
    })
}
