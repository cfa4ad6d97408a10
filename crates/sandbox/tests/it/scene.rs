//! A place to attack: what is granted, what is not, and a program that tries.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use concertina_sandbox::{
    Confinement, Finished, Limits, Machine, Namespaces, Network, Program, SandboxError, Tier,
    probe, run,
};
use tempfile::TempDir;

/// What the machine has, as it is.
pub(crate) fn machine() -> &'static Machine {
    static MACHINE: OnceLock<Machine> = OnceLock::new();
    MACHINE.get_or_init(probe)
}

/// A way to be held: a tier, on this machine or on one that has less.
#[derive(Debug, Clone)]
pub(crate) struct Hold {
    pub(crate) name: &'static str,
    pub(crate) tier: Tier,
    pub(crate) machine: Machine,
}

/// Every way to be held that this machine can show; the ways that it cannot are said.
pub(crate) fn holds(test: &str) -> Vec<Hold> {
    let whole = machine().clone();
    let mut old = whole.clone();
    old.landlock = old.landlock.min(3);
    let mut bare = whole.clone();
    bare.namespaces = Namespaces::Absent { reason: "as a test".to_owned() };
    let mut oldest = bare.clone();
    oldest.landlock = old.landlock;
    let ways = [
        ("L1", Tier::L1, whole.clone()),
        ("L1 with Landlock 3", Tier::L1, old.clone()),
        ("L1 without namespaces", Tier::L1, bare),
        ("L1 without namespaces, with Landlock 3", Tier::L1, oldest),
        ("L2", Tier::L2, whole.clone()),
        ("L2 with Landlock 3", Tier::L2, old.clone()),
        ("L3", Tier::L3, whole),
        ("L3 with Landlock 3", Tier::L3, old),
    ];
    let (able, unable): (Vec<_>, Vec<_>) = ways
        .into_iter()
        .map(|(name, tier, machine)| Hold { name, tier, machine })
        .partition(|hold| {
            let confinement = Confinement { at_least: hold.tier, ..nothing() };
            concertina_sandbox::choose(&confinement, &hold.machine).is_ok()
        });
    for hold in unable {
        eprintln!("skipped: {test}: this machine has no {}", hold.name);
    }
    able
}

/// Those in which something may be written.
pub(crate) fn writing(test: &str) -> Vec<Hold> {
    holds(test).into_iter().filter(|hold| hold.tier > Tier::L1).collect()
}

/// Nothing is granted.
pub(crate) fn nothing() -> Confinement {
    Confinement {
        read: vec![],
        write: vec![],
        execute: vec![],
        protect: vec![],
        closed: vec![],
        pins: vec![],
        network: Network::None,
        at_least: Tier::L1,
        limits: Limits { time: Duration::from_secs(20), ..Limits::default() },
    }
}

/// Whether the tests run as root.
pub(crate) fn is_root() -> bool {
    unsafe { libc::geteuid() == 0 }
}

/// The program that attacks, as it was built.
pub(crate) fn attack_program() -> PathBuf {
    if let Some(given) = std::env::var_os(crate::identity::ATTACK) {
        return given.into();
    }
    let tests = std::env::current_exe().unwrap();
    let attack = tests.parent().unwrap().parent().unwrap().join("examples/attack");
    // `--test it` alone does not build it.
    assert!(attack.exists(), "run `cargo test -p concertina-sandbox`, which builds the attacks");
    attack
}

/// The program that attacks, once for each directory of a scene: rights belong to a file, whatever its
/// names, and the same file must not be in two of them. They are removed when the tests end.
fn copies() -> &'static Path {
    static COPIES: OnceLock<PathBuf> = OnceLock::new();
    extern "C" fn remove() {
        if let Some(copies) = COPIES.get() {
            let _ = fs::remove_dir_all(copies);
        }
    }
    COPIES.get_or_init(|| {
        let place = TempDir::with_prefix_in("copies-", "/var/tmp").unwrap().keep();
        for directory in ["x", "o", "r"] {
            fs::copy(attack_program(), place.join(directory)).unwrap();
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(place.join(directory), mode).unwrap();
        }
        unsafe { libc::atexit(remove) };
        place
    })
}

/// What a program that attacks said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    Open,
    Errno(i32),
    /// It ended in another way.
    Other(String),
}

/// Directories with something in them:
/// `r` may be read, `w` may be written, `o` neither, `x` holds programs that may be started.
pub(crate) struct Scene {
    pub(crate) root: TempDir,
}

impl Scene {
    /// Beside the directory for temporary files, which confined programs have one of their own for.
    pub(crate) fn new() -> Self {
        Self::below(Path::new("/var/tmp"))
    }

    pub(crate) fn below(directory: &Path) -> Self {
        let root = TempDir::with_prefix_in("scene-", directory).unwrap();
        let scene = Self { root };
        for name in ["r", "w", "o", "x"] {
            fs::create_dir(scene.at(name)).unwrap();
        }
        for name in
            ["r/ok", "o/secret", "o/victim", "o/ren", "o/trunc", "o/del", "w/own", "w/other"]
        {
            fs::write(scene.at(name), "some words here").unwrap();
        }
        for (name, target) in [("r/link", "o/secret"), ("r/dlink", "o"), ("w/wlink", "o/victim")] {
            std::os::unix::fs::symlink(scene.at(target), scene.at(name)).unwrap();
        }
        for name in ["x/attack", "x/tool", "o/tool", "r/tool"] {
            let (directory, _) = name.split_once('/').unwrap();
            let copy = copies().join(directory);
            // Where the scene is on another disk it gets a copy of its own.
            if fs::hard_link(&copy, scene.at(name)).is_err() {
                fs::copy(&copy, scene.at(name)).unwrap();
            }
        }
        scene
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.at(name).to_str().unwrap().to_owned()
    }

    /// The attacking program with these arguments.
    pub(crate) fn program(&self, arguments: &[&str]) -> Program {
        let own = [self.text("x/attack")];
        Program {
            argv: own.into_iter().chain(arguments.iter().map(|&word| word.to_owned())).collect(),
            directory: self.at("r"),
            environment: vec![],
        }
    }

    /// What is granted here: `r`, at L2 and above `w`, and the programs in `x`.
    pub(crate) fn confinement(&self, tier: Tier) -> Confinement {
        Confinement {
            read: vec![self.at("r")],
            write: if tier > Tier::L1 { vec![self.at("w")] } else { vec![] },
            execute: vec![self.at("x/attack"), self.at("x/tool")],
            at_least: tier,
            ..nothing()
        }
    }

    /// Runs the attacking program.
    pub(crate) fn run(&self, hold: &Hold, arguments: &[&str]) -> Result<Finished, SandboxError> {
        let confinement = self.confinement(hold.tier);
        run(&hold.machine, &self.program(arguments), &confinement, None, &|| false)
    }

    /// What the attacking program says, confined.
    pub(crate) fn tries(&self, hold: &Hold, arguments: &[&str]) -> Said {
        said(&self.run(hold, arguments).unwrap())
    }

    /// What it says with another confinement.
    pub(crate) fn tries_with(
        &self,
        hold: &Hold,
        confinement: &Confinement,
        arguments: &[&str],
    ) -> Said {
        let program = self.program(arguments);
        said(&run(&hold.machine, &program, confinement, None, &|| false).unwrap())
    }

    /// What it says when nothing holds it.
    pub(crate) fn tries_freely(&self, arguments: &[&str]) -> Said {
        let output = Command::new(self.at("x/attack"))
            .args(arguments)
            .current_dir(self.at("r"))
            .output()
            .unwrap();
        words(&output.stdout, &format!("{} {output:?}", output.status))
    }
}

/// What a finished program said.
pub(crate) fn said(finished: &Finished) -> Said {
    // A program that could not be started attacked nobody.
    assert_ne!(finished.exit, 127, "{finished:?}");
    if finished.exit == 128 + libc::SIGSYS {
        return Said::Errno(KILLED);
    }
    words(&finished.stdout, &format!("{finished:?}"))
}

/// Stands for an error number where the kernel killed the program for a call.
pub(crate) const KILLED: i32 = -31;

fn words(stdout: &[u8], else_what: &str) -> Said {
    let text = String::from_utf8_lossy(stdout);
    let last = text.lines().last().unwrap_or_default();
    match last.strip_prefix("errno ").and_then(|number| number.parse().ok()) {
        Some(number) => Said::Errno(number),
        None if last == "open" || last == "ran" => Said::Open,
        None => Said::Other(format!("{last} {else_what}")),
    }
}

/// The error numbers that refuse, by what they say.
pub(crate) fn is_refusal(said: &Said, allowed: &[i32]) -> bool {
    matches!(said, Said::Errno(number) if allowed.contains(number))
}

/// Every file below a directory and its content.
pub(crate) fn content(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(content(&path));
            found.insert(path, vec![]);
        } else if kind.is_file() {
            let bytes = fs::read(&path).unwrap();
            found.insert(path, bytes);
        }
    }
    found
}

/// Words in which `@` stands for the scene.
pub(crate) fn at(scene: &Scene, words: &[&str]) -> Vec<&'static str> {
    words
        .iter()
        .map(|word| match word.strip_prefix('@') {
            Some(name) => scene.text(name),
            None => (*word).to_owned(),
        })
        // A test ends with its process.
        .map(|word| &*word.leak())
        .collect()
}
