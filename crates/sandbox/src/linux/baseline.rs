//! What every program may read, so that it can start at all.
//!
//! Nothing here belongs to a person. What is not there on a machine is left out; what is a link is
//! granted by what it leads to, where that is here as well.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::grant::{Access, Grant};

/// When something is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    Always,
    Networked,
}

/// The table: where, what for, when.
const BASELINE: &[(&str, Access, When)] = &[
    // Libraries and the loader. They hold the inner programs of larger ones (`git`, `gcc`) as well.
    ("/lib", Access::Execute, When::Always),
    ("/lib32", Access::Execute, When::Always),
    ("/lib64", Access::Execute, When::Always),
    ("/usr/lib", Access::Execute, When::Always),
    ("/usr/lib32", Access::Execute, When::Always),
    ("/usr/lib64", Access::Execute, When::Always),
    ("/usr/libexec", Access::Execute, When::Always),
    ("/usr/local/lib", Access::Execute, When::Always),
    ("/nix/store", Access::Execute, When::Always),
    ("/gnu/store", Access::Execute, When::Always),
    ("/etc/ld.so.cache", Access::Read, When::Always),
    ("/etc/ld.so.conf", Access::Read, When::Always),
    ("/etc/ld.so.conf.d", Access::Read, When::Always),
    // What programs bring with them: languages, time zones, headers, character sets.
    ("/usr/share", Access::Read, When::Always),
    ("/usr/local/share", Access::Read, When::Always),
    ("/usr/include", Access::Read, When::Always),
    ("/etc/alternatives", Access::Read, When::Always),
    ("/etc/localtime", Access::Read, When::Always),
    ("/etc/timezone", Access::Read, When::Always),
    ("/etc/locale.alias", Access::Read, When::Always),
    ("/etc/magic", Access::Read, When::Always),
    ("/etc/mime.types", Access::Read, When::Always),
    ("/etc/fonts", Access::Read, When::Always),
    ("/etc/ssl/openssl.cnf", Access::Read, When::Always),
    // Whom to trust, without any key.
    ("/etc/ssl/certs", Access::Read, When::Networked),
    ("/etc/ca-certificates", Access::Read, When::Networked),
    ("/etc/pki/ca-trust", Access::Read, When::Networked),
    ("/etc/pki/tls/certs", Access::Read, When::Networked),
    // Devices without state.
    ("/dev/null", Access::Device, When::Always),
    ("/dev/zero", Access::Device, When::Always),
    ("/dev/full", Access::Device, When::Always),
    ("/dev/random", Access::Device, When::Always),
    ("/dev/urandom", Access::Device, When::Always),
];

/// Links that are part of the system, for a root of one's own.
pub(super) const LINKS: &[&str] =
    &["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/usr/lib64", "/usr/bin/sh", "/etc/localtime"];

/// The parts of a directory that holds one program and all that belongs to it.
const PREFIX: &[(&str, Access)] = &[
    ("bin", Access::Execute),
    ("lib", Access::Execute),
    ("lib64", Access::Execute),
    ("libexec", Access::Execute),
    ("include", Access::Read),
    ("share", Access::Read),
    // Says where the Python of a virtual environment is.
    ("pyvenv.cfg", Access::Read),
];

/// The homes of tool chains, by the name of the directory: what in them is a tool. Credentials lie
/// beside it and stay where they are.
const HOMES: &[(&str, &[(&str, Access)])] = &[
    (
        ".cargo",
        &[("bin", Access::Execute), ("git", Access::Execute), ("registry", Access::Execute)],
    ),
    (".rustup", &[("settings.toml", Access::Read), ("toolchains", Access::Execute)]),
];

/// Opens the baseline and what belongs to `programs`.
pub(super) fn baseline(is_networked: bool, programs: &BTreeSet<PathBuf>) -> Vec<Grant> {
    let table = BASELINE
        .iter()
        .filter(|(_, _, when)| *when == When::Always || is_networked)
        .map(|(path, access, _)| (PathBuf::from(path), *access));
    let closures: BTreeSet<(PathBuf, bool)> = programs
        .iter()
        .flat_map(|program| closure(program))
        .map(|(path, access)| (path, access == Access::Execute))
        .collect();
    let closures = closures
        .into_iter()
        .map(|(path, may_start)| (path, if may_start { Access::Execute } else { Access::Read }));
    table.chain(closures).filter_map(|(path, access)| Grant::open(&path, access).ok()).collect()
}

/// What belongs to a program that does not stand in the system's own directories.
fn closure(program: &Path) -> Vec<(PathBuf, Access)> {
    let mut parts = Vec::new();
    if let Some(prefix) = prefix(program) {
        parts.extend(PREFIX.iter().map(|(part, access)| (prefix.join(part), *access)));
    }
    for ancestor in program.ancestors() {
        let Some(name) = ancestor.file_name() else { continue };
        let Some(parent) = ancestor.parent() else { continue };
        if HOMES.iter().any(|(home, _)| name == *home) {
            for (home, held) in HOMES {
                parts.extend(
                    held.iter().map(|(part, access)| (parent.join(home).join(part), *access)),
                );
            }
        }
    }
    parts
}

/// PREFIX of PREFIX/bin/program, where PREFIX holds nothing but what was installed with the program.
fn prefix(program: &Path) -> Option<&Path> {
    let bin = program.parent()?;
    let prefix = bin.parent()?;
    let is_prefix = bin.file_name()? == "bin" && prefix.join("lib").is_dir();
    // The system's own is in the table; in homes and `~/.local` lies what belongs to a person.
    let is_system = prefix.parent().is_none() || prefix == Path::new("/usr");
    let is_personal = is_home(prefix) || prefix.file_name()? == ".local";
    (is_prefix && !is_system && !is_personal).then_some(prefix)
}

/// Whether a directory is somebody's home, as far as can be seen.
fn is_home(directory: &Path) -> bool {
    let is_ours = std::env::var_os("HOME").is_some_and(|home| Path::new(&home) == directory);
    let is_usual = directory == Path::new("/root")
        || directory.parent().is_some_and(|parent| parent == Path::new("/home"));
    // A repository is lived in as well.
    let is_lived_in = [".ssh", ".profile", ".bashrc", ".config", ".git"]
        .iter()
        .any(|trace| directory.join(trace).symlink_metadata().is_ok());
    is_ours || is_usual || is_lived_in
}

#[cfg(test)]
mod test {
    use super::*;

    fn made(directories: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for directory in directories {
            std::fs::create_dir_all(root.path().join(directory)).unwrap();
        }
        root
    }

    #[test]
    fn a_program_in_a_place_of_its_own_brings_that_place() {
        let root = made(&["python/bin", "python/lib"]);
        let python = root.path().join("python");
        assert_eq!(prefix(&python.join("bin/python3")), Some(&*python));
        assert_eq!(prefix(&python.join("sbin/python3")), None);
    }

    #[test]
    fn a_home_is_never_a_place_of_a_program() {
        let root = made(&["me/bin", "me/lib", "me/.ssh", "me/.local/bin", "me/.local/lib"]);
        assert_eq!(prefix(&root.path().join("me/bin/tool")), None);
        assert_eq!(prefix(&root.path().join("me/.local/bin/tool")), None);
        assert_eq!(prefix(Path::new("/usr/bin/env")), None);
    }

    #[test]
    fn a_tool_chain_brings_its_registry_and_no_credentials() {
        let parts = closure(Path::new("/h/.cargo/bin/rustup"));
        assert!(parts.contains(&("/h/.cargo/registry".into(), Access::Execute)));
        assert!(parts.contains(&("/h/.rustup/toolchains".into(), Access::Execute)));
        assert!(parts.iter().all(|(path, _)| path != Path::new("/h/.cargo")));
    }
}
