//! How many processes and threads a user has.

use std::fs::read_dir;
use std::os::unix::fs::MetadataExt as _;

/// Processes and threads of this user: where a limit on processes counts them all, it starts here.
pub(super) fn of_this_user() -> u64 {
    let user = rustix::process::getuid().as_raw();
    let processes = read_dir("/proc").into_iter().flatten().flatten().filter(|entry| {
        entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit)
            && entry.metadata().is_ok_and(|meta| meta.uid() == user)
    });
    let threads = |process: std::fs::DirEntry| {
        read_dir(process.path().join("task")).map_or(1, |threads| threads.count() as u64)
    };
    processes.map(threads).sum()
}
