//! Everything that the new processes need, laid out before they are made: they may not allocate.

use std::ffi::CString;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::{io, ptr};

use rustix::fs::{CWD, Mode, OFlags, fcntl_getfl, fcntl_setfl, openat};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};

use super::executable::Executable;
use super::grant::{Access, Grant};
use super::guard::Guard;
use super::placeholder::Placeholder;
use super::plan::Plan;
use super::seccomp::{self, Instruction, Profile};
use super::view::{View, Wanted};
use super::watch::Act;
use super::{baseline, child, ruleset};
use crate::{
    Choice, Confinement, Gate, Machine, Namespaces, Network, Program, SandboxError, Substitute,
    Tier,
};

/// Files that a program may have open at once: what systems give by default.
const OPEN_FILES: u64 = 1024;
/// The stack of the process that becomes the program: it calls a few functions, none of them deep.
const STACK: usize = 128 * 1024;
/// What a pipe holds, in bytes, where the system allows it: fewer turns for a program that writes much.
const PIPE: usize = 256 * 1024;
/// The least limit that a process namespace can have.
const LEAST_PROCESSES: u64 = 301;

/// Strings as a new program gets them.
#[derive(Debug)]
pub(super) struct Strings {
    /// Keeps what the list points to.
    _strings: Vec<CString>,
    list: Vec<*const libc::c_char>,
}

impl Strings {
    fn new(strings: Vec<CString>) -> Self {
        let list = strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect();
        Self { _strings: strings, list }
    }

    /// A list that ends with a null pointer.
    pub(super) fn list(&self) -> *const *const libc::c_char {
        self.list.as_ptr()
    }
}

/// How the user of a new user namespace is known outside: as the same.
#[derive(Debug)]
pub(super) struct Mapping {
    pub(super) users: Vec<u8>,
    pub(super) groups: Vec<u8>,
}

/// What the new processes need.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) act: Act,
    pub(super) path: CString,
    pub(super) argv: Strings,
    pub(super) environment: Strings,
    pub(super) directory: CString,
    pub(super) rules: OwnedFd,
    pub(super) filter: Vec<Instruction>,
    pub(super) limits: Vec<(u32, u64)>,
    pub(super) plan: Option<Plan>,
    pub(super) placeholders: Vec<Placeholder>,
    pub(super) guard: Guard,
    pub(super) is_networked: bool,
    pub(super) null: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    pub(super) control: OwnedFd,
    /// Namespaces of the keeper, and of the program in it.
    pub(super) outer: libc::c_int,
    pub(super) inner: libc::c_int,
    pub(super) mapping: Option<Mapping>,
    /// The limit of the process namespace, as it is written.
    pub(super) process_limit: Option<Vec<u8>>,
    pub(super) stack: Vec<u8>,
    /// The descriptors that the keeper needs, in order.
    pub(super) kept: Vec<RawFd>,
}

/// The caller's ends.
#[derive(Debug)]
pub(super) struct Ends {
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    pub(super) control: OwnedFd,
}

/// Lays everything out.
pub(super) fn prepare(
    machine: &Machine,
    held: &Choice,
    program: &Program,
    confinement: &Confinement,
    gate: Option<&dyn Gate>,
    act: Act,
) -> Result<(Prepared, Ends), SandboxError> {
    let name = || program.argv.first().cloned().unwrap_or_default();
    let not_started = |reason: &str, source: io::Error| SandboxError::NotStarted {
        program: name(),
        reason: reason.to_owned(),
        source,
    };
    let directory = program
        .directory
        .canonicalize()
        .ok()
        .filter(|directory| directory.is_dir())
        .ok_or_else(|| SandboxError::NoDirectory(program.directory.clone()))?;
    let executable = match act {
        Act::Rehearse => Executable::default(),
        Act::Start => Executable::find(program).ok_or_else(|| {
            not_started("looking for it; check that it is installed and on PATH", not_found())
        })?,
    };
    let is_networked = confinement.network != Network::None;

    let mut grants = Grant::all(confinement)?;
    let started = grants.iter().filter(|grant| grant.access == Access::Execute);
    let mut programs = executable.names.clone();
    programs.extend(executable.files.iter().cloned());
    programs.extend(started.filter(|grant| !grant.is_directory).map(|grant| grant.path.clone()));
    // Only what was granted brings anything along.
    programs.retain(|path| may_start(&grants, path) || executable.names.contains(path));
    grants.extend(baseline::baseline(is_networked, &programs));
    if let Some(refused) = executable.files.iter().find(|file| !may_start(&grants, file)) {
        let reason = format!("{} is not among the programs that it may start", refused.display());
        return Err(not_started(&reason, io::ErrorKind::PermissionDenied.into()));
    }

    let wanted = Wanted {
        tier: held.tier,
        landlock: machine.landlock,
        program,
        directory: &directory,
        executable: &executable,
        confinement,
        grants: &grants,
    };
    let view = if held.tier == Tier::L1 { None } else { Some(View::of(&wanted)?) };
    let (plan, placeholders, closed, argv, path) = match view {
        Some(view) => (Some(view.plan), view.placeholders, view.closed, view.argv, view.path),
        None => (None, vec![], vec![], program.argv.clone(), executable.path.clone()),
    };

    let lost = |error: io::Error| not_started("preparing its start", error);
    let rules = ruleset::ruleset(&grants, machine.landlock, is_networked)
        .map_err(|error| lost(io::Error::other(error)))?
        .ok_or_else(|| lost(io::ErrorKind::Unsupported.into()))?;
    let profile = Profile {
        is_networked,
        is_mounted: plan.is_some(),
        may_signal: !held.substitutes.contains(&Substitute::NoSignals),
    };
    let mut variables = program.environment.clone();
    if let Some(gate) = gate.filter(|_| is_networked) {
        let led = gate.environment(child::GATE.into());
        variables.retain(|(name, _)| led.iter().all(|(own, _)| own != name));
        variables.extend(led);
    }
    let environment = variables.iter().map(|(name, value)| format!("{name}={value}"));
    let word = |word: String| {
        CString::new(word).map_err(|_| lost(io::Error::other("a zero byte in a word")))
    };
    let (stdout, stdout_in) = stream().map_err(lost)?;
    let (stderr, stderr_in) = stream().map_err(lost)?;
    let (control, control_in) = pair().map_err(lost)?;
    let mut prepared = Prepared {
        act,
        path: path_text(&path).map_err(lost)?,
        argv: Strings::new(argv.into_iter().map(word).collect::<Result<_, _>>()?),
        environment: Strings::new(environment.map(word).collect::<Result<_, _>>()?),
        directory: path_text(&directory).map_err(lost)?,
        rules: above(rules).map_err(lost)?,
        filter: seccomp::compile(&seccomp::table(profile)),
        limits: limits(machine, confinement),
        plan,
        placeholders,
        guard: Guard::of(closed),
        is_networked,
        null: null().map_err(lost)?,
        stdout: stdout_in,
        stderr: stderr_in,
        control: control_in,
        outer: 0,
        inner: 0,
        mapping: None,
        process_limit: None,
        stack: vec![0; STACK],
        kept: Vec::new(),
    };
    prepared.separate(machine, held.tier, confinement.limits.processes);
    prepared.keep();
    Ok((prepared, Ends { stdout, stderr, control }))
}

impl Prepared {
    /// Chooses the namespaces. A process namespace is taken wherever there is one, at each tier: with it
    /// nobody survives the keeper.
    fn separate(&mut self, machine: &Machine, tier: Tier, processes: u64) {
        if !machine.has_namespaces() {
            return;
        }
        self.outer = libc::CLONE_NEWPID;
        if machine.namespaces == Namespaces::Unprivileged {
            self.outer |= libc::CLONE_NEWUSER;
            let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
            self.mapping = Some(Mapping {
                users: format!("{0} {0} 1", user.as_raw()).into_bytes(),
                groups: format!("{0} {0} 1", group.as_raw()).into_bytes(),
            });
        }
        if tier > Tier::L1 {
            self.inner =
                libc::CLONE_NEWNS | libc::CLONE_NEWNET | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;
        }
        if machine.root && machine.process_limit {
            // The keeper is one of them.
            let most = processes.saturating_add(1).max(LEAST_PROCESSES);
            self.process_limit = Some(most.to_string().into_bytes());
        }
    }

    fn keep(&mut self) {
        let own = [&self.rules, &self.null, &self.stdout, &self.stderr, &self.control];
        let placeholders = self.placeholders.iter().flat_map(Placeholder::files);
        let own = own.into_iter().map(std::os::fd::AsFd::as_fd).chain(placeholders);
        self.kept = own.map(|file: BorrowedFd<'_>| file.as_raw_fd()).collect();
        self.kept.sort_unstable();
    }
}

fn may_start(grants: &[Grant], file: &Path) -> bool {
    grants.iter().any(|grant| grant.access == Access::Execute && file.starts_with(&grant.path))
}

fn limits(machine: &Machine, confinement: &Confinement) -> Vec<(u32, u64)> {
    let limits = &confinement.limits;
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u64;
    // Its threads may use all processors for as long as it may run; a second for what is rounded.
    let seconds = limits.time.as_secs().saturating_add(1).saturating_mul(processors);
    // Those of a user namespace are counted apart, from the keeper on.
    let others = if machine.has_namespaces() { 1 } else { super::running::of_this_user() };
    vec![
        (libc::RLIMIT_AS, limits.memory),
        (libc::RLIMIT_NPROC, limits.processes.saturating_add(others)),
        (libc::RLIMIT_FSIZE, limits.file),
        (libc::RLIMIT_CPU, seconds),
        (libc::RLIMIT_CORE, 0),
        (libc::RLIMIT_NOFILE, OPEN_FILES),
    ]
}

fn not_found() -> io::Error {
    io::ErrorKind::NotFound.into()
}

fn path_text(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)
}

/// The caller's end of a stream, which never waits, and the program's.
fn stream() -> io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
    fcntl_setfl(&ours, fcntl_getfl(&ours)? | OFlags::NONBLOCK)?;
    // A wish: who has many pipes may not have larger ones.
    let _ = fcntl_setpipe_size(&ours, PIPE);
    Ok((ours, above(theirs)?))
}

fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC;
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    Ok((ours, above(theirs)?))
}

fn null() -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    above(openat(CWD, c"/dev/null", flags, Mode::empty())?)
}

/// The same, with a number that none of the standard streams has: a caller without them gets these.
fn above(file: OwnedFd) -> io::Result<OwnedFd> {
    const FIRST: RawFd = 3;
    if file.as_raw_fd() >= FIRST { Ok(file) } else { Ok(fcntl_dupfd_cloexec(&file, FIRST)?) }
}
