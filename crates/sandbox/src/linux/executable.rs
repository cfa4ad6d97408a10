//! Which file a program is, and what else has to be started for it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use crate::Program;

/// Where programs are looked for when the environment has no PATH.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// The first line of a script, in bytes: what the kernel reads of it.
const FIRST_LINE: usize = 256;
/// Links in a row, and interpreters of interpreters: what the kernel follows.
const LINKS: usize = 40;
const INTERPRETERS: usize = 4;

/// A program as it is started.
#[derive(Debug, Default)]
pub(super) struct Executable {
    /// The path by which it is started. It may lead through links.
    pub(super) path: PathBuf,
    /// Every file that is started: the program, its interpreter, the interpreter's.
    pub(super) files: BTreeSet<PathBuf>,
    /// The paths by which they are named.
    pub(super) names: BTreeSet<PathBuf>,
    /// Each link on the way, and what stands in it.
    pub(super) links: BTreeSet<(PathBuf, PathBuf)>,
}

/// Every file that has to be in `execute` so that `program` starts: itself and, where it is a script,
/// its interpreter. The paths are real. Empty where there is no such program.
///
/// ```
/// # use concertina_sandbox::{Program, started_by};
/// let program = Program {
///     argv: vec!["sh".to_owned()],
///     directory: "/".into(),
///     environment: vec![("PATH".to_owned(), "/bin".to_owned())],
/// };
/// let files = started_by(&program);
/// assert!(files.iter().all(|file| file.is_absolute()));
/// ```
pub fn started_by(program: &Program) -> Vec<PathBuf> {
    Executable::find(program).map(|found| found.files.into_iter().collect()).unwrap_or_default()
}

impl Executable {
    /// Looks for the program as the system does: by its path, or by its name in PATH.
    pub(super) fn find(program: &Program) -> Option<Self> {
        let name = program.argv.first().filter(|name| !name.is_empty())?;
        let mut found = Self { path: look_for(OsStr::new(name), program)?, ..Self::default() };
        let mut next = vec![found.path.clone()];
        for _ in 0..INTERPRETERS {
            let Some(path) = next.pop() else { break };
            let file = found.follow(&path)?;
            let interpreters = interpreters(&file);
            found.files.insert(file);
            found.names.insert(path);
            for interpreter in interpreters {
                next.extend(look_for(&interpreter, program));
            }
            // `env` finds the next one by its name; it is started like an interpreter of its own.
            while next.len() > 1 {
                let env = next.remove(0);
                let file = found.follow(&env)?;
                found.files.insert(file);
                found.names.insert(env);
            }
        }
        Some(found)
    }

    /// The real path of `path`; the links on the way are noted.
    fn follow(&mut self, path: &Path) -> Option<PathBuf> {
        let mut real = PathBuf::from("/");
        let mut rest: Vec<PathBuf> = parts(path);
        let mut followed = 0;
        while let Some(part) = rest.pop() {
            if part == Path::new("..") {
                real.pop();
                continue;
            }
            let next = real.join(&part);
            match next.read_link() {
                Ok(target) => {
                    followed += 1;
                    if followed > LINKS {
                        return None;
                    }
                    if target.is_absolute() {
                        real = PathBuf::from("/");
                    }
                    rest.extend(parts(&target));
                    self.links.insert((next, target));
                }
                Err(_) => real = next,
            }
        }
        Some(real)
    }
}

/// The parts of a path, the last one first.
fn parts(path: &Path) -> Vec<PathBuf> {
    let named = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(PathBuf::from(name)),
        Component::ParentDir => Some(PathBuf::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    let mut parts: Vec<PathBuf> = named.collect();
    parts.reverse();
    parts
}

fn look_for(name: &OsStr, program: &Program) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return Some(program.directory.join(name));
    }
    let path = program.environment.iter().rev().find(|(variable, _)| variable == "PATH");
    let path = path.map_or(PATH, |(_, value)| value);
    std::env::split_paths(path)
        .map(|directory| program.directory.join(directory).join(name))
        .find(|file| is_startable(file))
}

fn is_startable(file: &Path) -> bool {
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// What the first line of a script names: its interpreter, and for `env` the program that it is told
/// to find.
fn interpreters(file: &Path) -> Vec<std::ffi::OsString> {
    let mut line = Vec::new();
    // A pipe or a device is no script, and could be read forever.
    let is_file = file.metadata().is_ok_and(|meta| meta.is_file());
    let opened = is_file.then(|| File::open(file).ok()).flatten();
    let Some(opened) = opened else { return Vec::new() };
    if opened.take(FIRST_LINE as u64).read_to_end(&mut line).is_err() {
        return Vec::new();
    }
    let Some(line) = line.strip_prefix(b"#!") else { return Vec::new() };
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut words = line
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .map(|word| OsStr::from_bytes(word).to_owned());
    let Some(interpreter) = words.next() else { return Vec::new() };
    let is_env = Path::new(&interpreter).file_name() == Some(OsStr::new("env"));
    let named = is_env
        .then(|| {
            words.find(|word| {
                let bytes = word.as_bytes();
                !bytes.starts_with(b"-") && !bytes.contains(&b'=')
            })
        })
        .flatten();
    std::iter::once(interpreter).chain(named).collect()
}

#[cfg(test)]
mod test {
    use super::*;

    fn program(argv: &str, directory: &Path, path: &Path) -> Program {
        Program {
            argv: vec![argv.to_owned()],
            directory: directory.to_owned(),
            environment: vec![("PATH".to_owned(), path.to_str().unwrap().to_owned())],
        }
    }

    fn script(at: &Path, first: &str) {
        std::fs::write(at, format!("{first}\nbody\n")).unwrap();
        std::fs::set_permissions(at, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_script_brings_its_interpreter() {
        let root = tempfile::tempdir().unwrap();
        let at = root.path().canonicalize().unwrap();
        script(&at.join("inner"), "#!/bin/sh");
        script(&at.join("outer"), &format!("#!{}/inner -x", at.display()));
        let found = started_by(&program("./outer", &at, &at));
        let sh = Path::new("/bin/sh").canonicalize().unwrap();
        assert!(found.contains(&at.join("outer").components().collect()), "{found:?}");
        assert!(found.contains(&at.join("inner")), "{found:?}");
        assert!(found.contains(&sh), "{found:?}");
    }

    #[test]
    fn env_brings_what_it_finds() {
        let root = tempfile::tempdir().unwrap();
        let at = root.path().canonicalize().unwrap();
        script(&at.join("deep"), "no script");
        script(&at.join("outer"), "#!/usr/bin/env -S A=b deep");
        let found = started_by(&program("outer", &at, &at));
        assert!(found.contains(&at.join("deep")), "{found:?}");
        assert!(found.iter().any(|file| file.ends_with("env")), "{found:?}");
    }

    #[test]
    fn links_are_noted_on_the_way() {
        let root = tempfile::tempdir().unwrap();
        let at = root.path().canonicalize().unwrap();
        script(&at.join("real"), "no script");
        std::os::unix::fs::symlink("real", at.join("link")).unwrap();
        std::os::unix::fs::symlink(".", at.join("here")).unwrap();
        let found = Executable::find(&program("here/link", &at, &at)).unwrap();
        assert_eq!(found.files, [at.join("real")].into());
        assert!(found.links.contains(&(at.join("here"), ".".into())), "{:?}", found.links);
        assert!(found.links.contains(&(at.join("link"), "real".into())), "{:?}", found.links);
    }

    #[test]
    fn a_ring_of_links_is_no_program() {
        let root = tempfile::tempdir().unwrap();
        let at = root.path();
        std::os::unix::fs::symlink("b", at.join("a")).unwrap();
        std::os::unix::fs::symlink("a", at.join("b")).unwrap();
        assert!(started_by(&program("./a", at, at)).is_empty());
    }
}
