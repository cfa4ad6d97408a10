//! Writes the plan of a program's view of the file system.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicI32;

use super::executable::Executable;
use super::grant::{Access, Grant, Identity, open_plain, refused, text};
use super::held::Held;
use super::pin::Pinned;
use super::placeholder::Placeholder;
use super::places::Mounts;
use super::plan::{Hold, Plan, Source, Step};
use super::{baseline, ruleset};
use crate::{Confinement, Program, SandboxError, Tier};

/// A private place for temporary files.
const TMP: &str = "/tmp";
/// Where approved files are that lie in a directory which may be written: whoever may write there could
/// exchange them under the program's hands.
const APPROVED: &str = "/.approved";
/// Neighbours of approved files. Each is a mount of its own.
const NEIGHBOURS: usize = 2_000;

/// The plan, what has to stay until the program ended, and the program's words with the paths that it
/// has to use.
#[derive(Debug, Default)]
pub(super) struct View {
    pub(super) plan: Plan,
    pub(super) placeholders: Vec<Placeholder>,
    /// What was closed, as it was.
    pub(super) closed: Vec<(PathBuf, Identity)>,
    pub(super) argv: Vec<String>,
    pub(super) path: PathBuf,
}

/// What a view is made from.
pub(super) struct Wanted<'a> {
    pub(super) tier: Tier,
    pub(super) landlock: u32,
    pub(super) program: &'a Program,
    pub(super) directory: &'a Path,
    pub(super) executable: &'a Executable,
    pub(super) confinement: &'a Confinement,
    pub(super) grants: &'a [Grant],
}

impl View {
    pub(super) fn of(wanted: &Wanted<'_>) -> Result<Self, SandboxError> {
        let mut writer = Writer {
            wanted,
            view: Self {
                argv: wanted.program.argv.clone(),
                path: wanted.executable.path.clone(),
                ..Self::default()
            },
            made: BTreeSet::new(),
            placed: Vec::new(),
            closed: BTreeSet::new(),
        };
        writer.view.plan.has_own_root = wanted.tier == Tier::L3;
        writer.write()?;
        Ok(writer.view)
    }
}

struct Writer<'a> {
    wanted: &'a Wanted<'a>,
    view: View,
    /// Directories, files and links of the view that were made for it.
    made: BTreeSet<PathBuf>,
    /// What was placed, and what may be done there.
    placed: Vec<(PathBuf, Access)>,
    /// What was closed.
    closed: BTreeSet<PathBuf>,
}

impl Writer<'_> {
    fn write(&mut self) -> Result<(), SandboxError> {
        let mut grants: Vec<&Grant> = self.wanted.grants.iter().collect();
        // What lies deeper comes later; of equals what may be written comes first.
        grants.sort_by_key(|grant| (grant.path.clone(), grant.access != Access::Write));

        if self.view.plan.has_own_root {
            self.allow(Path::new("/"), Access::Read)?;
        } else {
            self.step(Step::Seal);
        }
        let tmp_is_granted = grants
            .iter()
            .any(|grant| grant.path == Path::new(TMP) && grant.access == Access::Write);
        if !tmp_is_granted && (self.view.plan.has_own_root || open_plain(Path::new(TMP)).is_ok()) {
            if self.view.plan.has_own_root {
                self.directory(Path::new(TMP))?;
            }
            self.step(Step::Scratch { at: inside(Path::new(TMP))? });
            self.allow(Path::new(TMP), Access::Write)?;
            self.made.insert(TMP.into());
        }

        let pins = self.pins()?;
        // Nothing starts from the directory for temporary files, and the program may write there, too.
        let is_reached = |path: &Path| is_written(&grants, path) || path.starts_with(TMP);
        let (apart, in_place): (Vec<_>, Vec<_>) =
            pins.into_iter().partition(|pinned| is_reached(&pinned.path));
        self.mirror(&grants, in_place, Path::new("/"))?;
        for grant in &grants {
            self.place(grant)?;
        }
        self.hold(&grants)?;
        self.redirect(&apart)?;
        self.mirror(&grants, apart, Path::new(APPROVED))?;
        if self.view.plan.has_own_root {
            self.furnish()?;
        }
        if self.is_ours(self.wanted.directory) && self.owner(self.wanted.directory).is_none() {
            self.directory(self.wanted.directory)?;
        }
        self.processes()
    }

    fn step(&mut self, step: Step) {
        self.view.plan.steps.push(step);
    }

    fn allow(&mut self, at: &Path, access: Access) -> Result<(), SandboxError> {
        let rights = ruleset::rights(access, self.wanted.landlock).bits();
        self.step(Step::Allow { at: inside(at)?, rights });
        Ok(())
    }

    /// Whether a place in the view is made for it, and not the system's.
    fn is_ours(&self, path: &Path) -> bool {
        self.view.plan.has_own_root || (path.starts_with(TMP) && self.made.contains(Path::new(TMP)))
    }

    /// What may be done at `path`, by what was placed above it.
    fn owner(&self, path: &Path) -> Option<Access> {
        self.placed
            .iter()
            .filter(|(placed, _)| path.starts_with(placed))
            .max_by_key(|(placed, _)| placed.components().count())
            .map(|(_, access)| *access)
    }

    /// Makes a directory of the view and those above it.
    fn directory(&mut self, path: &Path) -> Result<(), SandboxError> {
        let above: Vec<&Path> = path.ancestors().filter(|path| path.parent().is_some()).collect();
        for at in above.into_iter().rev() {
            if self.owner(at).is_none() && self.made.insert(at.to_owned()) {
                self.step(Step::Directory { at: inside(at)? });
            }
        }
        Ok(())
    }

    /// Makes a file of the view.
    fn file(&mut self, path: &Path, bytes: Vec<u8>, mode: u32) -> Result<(), SandboxError> {
        if let Some(parent) = path.parent() {
            self.directory(parent)?;
        }
        if self.owner(path).is_none() && self.made.insert(path.to_owned()) {
            self.step(Step::File { at: inside(path)?, bytes, mode });
        }
        Ok(())
    }

    /// Makes a link of the view.
    fn link(&mut self, path: &Path, target: &Path) -> Result<(), SandboxError> {
        if self.owner(path).is_some() || self.made.contains(path) {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            self.directory(parent)?;
        }
        self.made.insert(path.to_owned());
        self.step(Step::Link { at: inside(path)?, target: text(target)? });
        Ok(())
    }

    /// Shows something of the system's at `at`.
    fn show(
        &mut self,
        path: &Path,
        identity: Identity,
        is_directory: bool,
        hold: Hold,
        at: &Path,
    ) -> Result<(), SandboxError> {
        if self.is_ours(at) && self.owner(at).is_none() {
            if is_directory {
                self.directory(at)?;
            } else {
                self.file(at, Vec::new(), 0o444)?;
            }
        }
        let source = Source { path: text(path)?, identity, hold, mount: AtomicI32::new(-1) };
        self.view.plan.sources.push(source);
        let source = self.view.plan.sources.len() - 1;
        self.step(Step::Place { source, at: inside(at)? });
        Ok(())
    }

    fn place(&mut self, grant: &Grant) -> Result<(), SandboxError> {
        let is_needed = match (self.owner(&grant.path), grant.access) {
            // Programs in a directory that may be written are read-only, and can be started.
            (Some(Access::Write), access) => access == Access::Execute,
            (Some(_), access) => access == Access::Write,
            // What only may be read is there already, where the root is the system's.
            (None, Access::Write) => true,
            (None, _) => self.is_ours(&grant.path) && !self.made.contains(&grant.path),
        };
        if !is_needed {
            return Ok(());
        }
        let hold = match grant.access {
            Access::Write => Hold::WRITE,
            Access::Device => Hold::DEVICE,
            Access::Read | Access::Execute => Hold::READ,
        };
        self.show(&grant.path, grant.identity, grant.is_directory, hold, &grant.path)?;
        self.placed.push((grant.path.clone(), grant.access));
        Ok(())
    }

    /// Holds what is protected or closed in directories that may be written.
    fn hold(&mut self, grants: &[&Grant]) -> Result<(), SandboxError> {
        let held = Held::of(self.wanted.confinement, grants)?;
        for (path, hold) in held.covers() {
            let identity = identity(path)?;
            self.step(Step::Cover { at: inside(path)?, identity, hold });
        }
        let mounts = if held.closed.is_empty() { None } else { Some(Mounts::read()?) };
        for path in &held.closed {
            let identity = identity(path)?;
            self.view.closed.push((path.clone(), identity));
            self.step(Step::Close { at: inside(path)?, identity: None });
            // In a root of its own nothing else can be seen.
            let Some(mounts) = mounts.as_ref().filter(|_| !self.view.plan.has_own_root) else {
                continue;
            };
            for place in mounts.elsewhere(path)? {
                self.step(Step::Close { at: inside(&place)?, identity: Some(identity) });
            }
        }
        self.view.plan.closes = !held.closed.is_empty();
        self.view.placeholders = held.placeholders;
        self.closed = held.closed;
        Ok(())
    }

    fn pins(&self) -> Result<Vec<Pinned>, SandboxError> {
        self.wanted.confinement.pins.iter().map(Pinned::read).collect()
    }

    /// Shows approved files as they were approved, below `root`: the directories that lead to them are
    /// made anew, with everything else in them as it is.
    fn mirror(
        &mut self,
        grants: &[&Grant],
        pins: Vec<Pinned>,
        root: &Path,
    ) -> Result<(), SandboxError> {
        let at = |path: &Path| match path.strip_prefix("/") {
            Ok(below) => root.join(below),
            Err(_) => path.to_owned(),
        };
        let mut anew: BTreeSet<PathBuf> = BTreeSet::new();
        for pinned in &pins {
            let Some(top) = grants.iter().find(|grant| pinned.path.starts_with(&grant.path)) else {
                return Err(refused(&pinned.path, "it is approved, and not among what is granted"));
            };
            let above = pinned.path.ancestors().skip(1);
            anew.extend(above.take_while(|path| path.starts_with(&top.path)).map(Path::to_owned));
        }
        let started: Vec<&Path> = grants
            .iter()
            .filter(|grant| grant.access == Access::Execute)
            .map(|grant| &*grant.path)
            .collect();
        let mut allowed: BTreeSet<PathBuf> = BTreeSet::new();
        let mut neighbours = 0;
        for directory in &anew {
            self.directory(&at(directory))?;
            let entries = std::fs::read_dir(directory)
                .map_err(|error| refused(directory, &error.to_string()))?;
            let mut names: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            names.sort();
            neighbours += names.len();
            if neighbours > NEIGHBOURS {
                let reason = format!(
                    "approved files may have {NEIGHBOURS} files and directories beside them; \
                     keep them in a directory of their own"
                );
                return Err(refused(directory, &reason));
            }
            for path in names {
                let is_pinned = pins.iter().any(|pinned| pinned.path == path);
                if is_pinned || anew.contains(&path) || self.closed.contains(&path) {
                    continue;
                }
                if let Ok(target) = path.read_link() {
                    self.link(&at(&path), &target)?;
                } else if let Ok(entry) = Grant::open(&path, Access::Read) {
                    let Grant { identity, is_directory, .. } = entry;
                    let may_start = started.iter().any(|start| path.starts_with(start));
                    let hold = if may_start { Hold::READ } else { Hold::DATA };
                    self.show(&path, identity, is_directory, hold, &at(&path))?;
                    self.placed.push((at(&path), Access::Read));
                    for closed in self.closed.iter().filter(|closed| closed.starts_with(&path)) {
                        let at = inside(&at(closed))?;
                        self.view.plan.steps.push(Step::Close { at, identity: None });
                    }
                }
            }
        }
        // Rights of Landlock are those of a file; what was made anew has none yet.
        for start in started {
            if anew.contains(start) || pins.iter().any(|pinned| pinned.path == start) {
                allowed.insert(at(start));
            }
        }
        for pinned in pins {
            let mode = if pinned.is_executable { 0o555 } else { 0o444 };
            self.file(&at(&pinned.path), pinned.bytes, mode)?;
        }
        allowed.iter().try_for_each(|path| self.allow(path, Access::Execute))
    }

    /// Lets the program's words name approved files where they are.
    fn redirect(&mut self, apart: &[Pinned]) -> Result<(), SandboxError> {
        for pinned in apart {
            let moved =
                Path::new(APPROVED).join(pinned.path.strip_prefix("/").unwrap_or(&pinned.path));
            let Some(moved_text) = moved.to_str() else {
                return Err(refused(&pinned.path, "its name is not text"));
            };
            for word in &mut self.view.argv {
                if is_same(&self.wanted.directory.join(&*word), &pinned.path) {
                    moved_text.clone_into(word);
                }
            }
            if is_same(&self.view.path, &pinned.path) {
                self.view.path = moved;
            }
        }
        Ok(())
    }

    /// What a root of one's own needs besides what is granted.
    fn furnish(&mut self) -> Result<(), SandboxError> {
        let executable = self.wanted.executable;
        let system = baseline::LINKS.iter().map(PathBuf::from).filter_map(|link| {
            let target = link.read_link().ok()?;
            Some((link, target))
        });
        for (link, target) in system.chain(executable.links.iter().cloned()) {
            self.link(&link, &target)?;
        }
        for (link, target) in [
            ("/dev/fd", "/proc/self/fd"),
            ("/dev/stdin", "/proc/self/fd/0"),
            ("/dev/stdout", "/proc/self/fd/1"),
            ("/dev/stderr", "/proc/self/fd/2"),
        ] {
            self.link(Path::new(link), Path::new(target))?;
        }
        let user = rustix::process::getuid().as_raw();
        let group = rustix::process::getgid().as_raw();
        let passwd = format!("user:x:{user}:{group}::/:/bin/sh\n");
        self.file(Path::new("/etc/passwd"), passwd.into_bytes(), 0o444)?;
        self.file(Path::new("/etc/group"), format!("user:x:{group}:\n").into_bytes(), 0o444)
    }

    fn processes(&mut self) -> Result<(), SandboxError> {
        let at = Path::new("/proc");
        if self.view.plan.has_own_root {
            self.directory(at)?;
        } else if open_plain(at).is_err() {
            return Ok(());
        }
        self.step(Step::Processes { at: inside(at)? });
        Ok(())
    }
}

/// Whether a path lies in a directory that may be written: then it is in the reach of others, whatever
/// it is granted as.
fn is_written(grants: &[&Grant], path: &Path) -> bool {
    grants.iter().any(|grant| grant.access == Access::Write && path.starts_with(&grant.path))
}

fn identity(path: &Path) -> Result<Identity, SandboxError> {
    Identity::at(path).map_err(|error| refused(path, &std::io::Error::from(error).to_string()))
}

/// Whether two paths are the same but for `.` and doubled slashes.
fn is_same(a: &Path, b: &Path) -> bool {
    a.components().eq(b.components())
}

/// A path relative to the root that is being made.
fn inside(path: &Path) -> Result<std::ffi::CString, SandboxError> {
    text(path.strip_prefix("/").unwrap_or(path))
}
