//! Carries out a plan, in the process that becomes the program: system calls on data that was laid
//! out before, nothing else.
#![allow(unsafe_code, reason = "descriptors kept as numbers until they are needed")]

use std::ffi::CStr;
use std::os::fd::{FromRawFd as _, IntoRawFd as _, OwnedFd};
use std::sync::atomic::Ordering;

use rustix::fs::{
    CWD, FileType, Mode, OFlags, ResolveFlags, fchmod, fstat, mkdirat, openat, openat2, symlinkat,
};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
    fsconfig_create, fsconfig_set_string, fsmount, fsopen, move_mount, open_tree, unmount,
};

use super::grant::Identity;
use super::plan::{Hold, Plan, Source, Step};
use super::raw;

/// What temporary files may take, in bytes: they are held in memory.
const SCRATCH: &CStr = c"256m";
/// A root of one's own holds directories, links and approved files.
const ROOT: &CStr = c"256m";

/// What lies over what is closed.
const CLOSED: &CStr = c"64k";
const CLOSED_FILE: &CStr = c"file";
const CLOSED_DIRECTORY: &CStr = c"directory";

/// Landlock's rights to read files and to list directories.
const READ: u64 = 1 << 2 | 1 << 3;

/// Where it ended early.
pub(super) enum Broken {
    Start(Errno),
    Source(usize, Errno),
    Step(usize, Errno),
}

/// Makes the view of `plan` that of the caller, who has namespaces of its own.
pub(super) fn carry_out(plan: &Plan, rules: &OwnedFd) -> Result<(), Broken> {
    let start = Broken::Start;
    let system = openat(CWD, c"/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(start)?;
    // Nothing that is mounted from here on is seen outside.
    raw::hold(&system, 0, true).map_err(start)?;
    for (index, source) in plan.sources.iter().enumerate() {
        take(source).map_err(|error| Broken::Source(index, error))?;
    }
    let root = if plan.has_own_root { own_root(&system).map_err(start)? } else { system };
    let closed = if plan.closes { Some(closed(&root).map_err(start)?) } else { None };
    for (index, step) in plan.steps.iter().enumerate() {
        take_step(plan, step, &root, closed.as_ref(), rules)
            .map_err(|error| Broken::Step(index, error))?;
    }
    if let Some(closed) = closed {
        leave(&closed).map_err(start)?;
    }
    if plan.has_own_root { enter(&root).map_err(start) } else { Ok(()) }
}

/// Takes a source as it was when it was granted, with all that is mounted below it.
fn take(source: &Source) -> rustix::io::Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS;
    let file = again(|| openat2(CWD, &*source.path, flags, Mode::empty(), resolve))?;
    let mount = clone(&file, source.identity, source.hold.attributes())?;
    source.mount.store(mount.into_raw_fd(), Ordering::Relaxed);
    Ok(())
}

/// A mount of what `file` is, which has to be what it was.
fn clone(file: &OwnedFd, identity: Identity, attributes: u64) -> rustix::io::Result<OwnedFd> {
    let stat = fstat(file)?;
    if (Identity { device: stat.st_dev, inode: stat.st_ino }) != identity {
        return Err(Errno::STALE);
    }
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    let mount = open_tree(file, c"", flags)?;
    raw::hold(&mount, attributes, true)?;
    Ok(mount)
}

/// A new root, which lies over the old one until it is entered.
fn own_root(system: &OwnedFd) -> rustix::io::Result<OwnedFd> {
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    let root = memory(ROOT, c"0755", attributes)?;
    attach(&root, system)?;
    Ok(root)
}

/// Leaves the old root for good.
fn enter(root: &OwnedFd) -> rustix::io::Result<()> {
    raw::hold(root, Hold::ROOT.attributes(), false)?;
    rustix::process::fchdir(root)?;
    rustix::process::pivot_root(c".", c".")?;
    // The old root now lies over the new one.
    unmount(c".", UnmountFlags::DETACH)?;
    rustix::process::chdir(c"/")
}

/// An empty file and an empty directory that nobody may open, not even who owns them: there are no
/// capabilities. They lie over `root` until they are left, because only what is mounted can be mounted
/// again.
fn closed(root: &OwnedFd) -> rustix::io::Result<OwnedFd> {
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    let system = memory(CLOSED, c"0755", attributes)?;
    mkdirat(&system, CLOSED_DIRECTORY, Mode::empty())?;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    drop(openat(&system, CLOSED_FILE, flags, Mode::empty())?);
    raw::hold(&system, Hold::DATA.attributes(), false)?;
    attach(&system, root)?;
    Ok(system)
}

/// Takes away what lies over the root.
fn leave(mount: &OwnedFd) -> rustix::io::Result<()> {
    rustix::process::fchdir(mount)?;
    unmount(c".", UnmountFlags::DETACH)
}

/// Lays something empty over what is at `at`, a link included.
fn close(
    root: &OwnedFd,
    at: &CStr,
    identity: Option<Identity>,
    closed: &OwnedFd,
) -> rustix::io::Result<()> {
    let target = match find(root, at) {
        Err(Errno::NOENT | Errno::NOTDIR) if identity.is_some() => return Ok(()),
        found => found?,
    };
    let stat = fstat(&target)?;
    if identity.is_some_and(|own| own != Identity { device: stat.st_dev, inode: stat.st_ino }) {
        return Ok(());
    }
    let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    let name = if is_directory { CLOSED_DIRECTORY } else { CLOSED_FILE };
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    attach(&open_tree(closed, name, flags)?, &target)
}

fn take_step(
    plan: &Plan,
    step: &Step,
    root: &OwnedFd,
    closed: Option<&OwnedFd>,
    rules: &OwnedFd,
) -> rustix::io::Result<()> {
    match step {
        Step::Seal => raw::hold(root, Hold::SYSTEM.attributes(), true),
        Step::Scratch { at } => {
            let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
                | MountAttrFlags::MOUNT_ATTR_NODEV
                | MountAttrFlags::MOUNT_ATTR_NOEXEC;
            attach(&memory(SCRATCH, c"0700", attributes)?, &find(root, at)?)
        }
        Step::Directory { at } => {
            let (parent, name) = split(root, at)?;
            // What was written here would be lost with the view, so it is refused.
            mkdirat(&parent, name, Mode::from_raw_mode(0o555))
        }
        Step::File { at, bytes, mode } => {
            let (parent, name) = split(root, at)?;
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            let file = openat(&parent, name, flags, Mode::RUSR)?;
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                let written = rustix::io::write(&file, rest)?;
                rest = rest.get(written..).unwrap_or_default();
            }
            fchmod(&file, Mode::from_raw_mode(*mode))
        }
        Step::Link { at, target } => {
            let (parent, name) = split(root, at)?;
            symlinkat(&**target, &parent, name)
        }
        Step::Place { source, at } => {
            let source = plan.sources.get(*source).ok_or(Errno::INVAL)?;
            let mount = source.mount.swap(-1, Ordering::Relaxed);
            if mount < 0 {
                return Err(Errno::BADF);
            }
            // SAFETY: the number is that of a descriptor which `take` opened for this alone.
            let mount = unsafe { OwnedFd::from_raw_fd(mount) };
            attach(&mount, &find(root, at)?)
        }
        Step::Cover { at, identity, hold } => {
            let target = find(root, at)?;
            attach(&clone(&target, *identity, hold.attributes())?, &target)
        }
        Step::Close { at, identity } => close(root, at, *identity, closed.ok_or(Errno::INVAL)?),
        Step::Processes { at } => processes(root, at, rules),
        Step::Allow { at, rights } => allow(rules, &find(root, at)?, *rights),
    }
}

/// Mounts the processes of this namespace. In a container that hides parts of `/proc` the kernel does
/// not allow it; then there is nothing to be seen, or nothing to be read.
fn processes(root: &OwnedFd, at: &CStr, rules: &OwnedFd) -> rustix::io::Result<()> {
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let mounted = fsopen(c"proc", FsOpenFlags::FSOPEN_CLOEXEC).and_then(|system| {
        // Others than one's own cannot be seen, nor the system's settings.
        fsconfig_set_string(&system, c"hidepid", c"ptraceable")?;
        fsconfig_set_string(&system, c"subset", c"pid")?;
        fsconfig_create(&system)?;
        fsmount(&system, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
    });
    match mounted {
        Ok(mount) => {
            attach(&mount, &find(root, at)?)?;
            allow(rules, &find(root, at)?, READ)
        }
        Err(Errno::PERM | Errno::ACCESS) => Ok(()),
        Err(error) => Err(error),
    }
}

/// An empty file system in memory.
fn memory(size: &CStr, mode: &CStr, attributes: MountAttrFlags) -> rustix::io::Result<OwnedFd> {
    let system = fsopen(c"tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&system, c"size", size)?;
    fsconfig_set_string(&system, c"mode", mode)?;
    fsconfig_create(&system)?;
    fsmount(&system, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

fn attach(mount: &OwnedFd, target: &OwnedFd) -> rustix::io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(mount, c"", target, c"", flags)
}

/// Opens a place of the view; the empty path is its root.
fn find(root: &OwnedFd, at: &CStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let at = if at.is_empty() { c"." } else { at };
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::IN_ROOT;
    again(|| openat2(root, at, flags, Mode::empty(), resolve))
}

/// The directory of something that is to be made, and its name in there.
fn split<'a>(root: &OwnedFd, at: &'a CStr) -> rustix::io::Result<(OwnedFd, &'a CStr)> {
    let bytes = at.to_bytes_with_nul();
    let Some(slash) = bytes.iter().rposition(|byte| *byte == b'/') else {
        return Ok((find(root, c"")?, at));
    };
    let (above, name) = bytes.split_at(slash);
    // The path above, ended with a zero on the stack: nothing may be allocated here.
    let mut ended = [0_u8; libc::PATH_MAX as usize];
    ended.get_mut(..above.len()).ok_or(Errno::NAMETOOLONG)?.copy_from_slice(above);
    let above = CStr::from_bytes_until_nul(&ended).map_err(|_| Errno::NAMETOOLONG)?;
    let name = name.get(1..).unwrap_or_default();
    let name = CStr::from_bytes_with_nul(name).map_err(|_| Errno::INVAL)?;
    Ok((find(root, above)?, name))
}

/// Adds to the rights that Landlock leaves; of those for directories a file has none.
fn allow(rules: &OwnedFd, target: &OwnedFd, rights: u64) -> rustix::io::Result<()> {
    /// Execute, write, read, truncate.
    const OF_A_FILE: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 14;
    let is_directory = FileType::from_raw_mode(fstat(target)?.st_mode) == FileType::Directory;
    raw::allow(rules, target, if is_directory { rights } else { rights & OF_A_FILE })
}

/// Repeats what a renamed directory or a signal came across.
fn again<T>(call: impl Fn() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    loop {
        match call() {
            Err(Errno::AGAIN | Errno::INTR) => {}
            other => return other,
        }
    }
}
