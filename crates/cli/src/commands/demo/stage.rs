//! Where the demo plays: a repository, a home and managed settings of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use concertina_runtime::{Session, Started, Workspace, WorkspaceOptions};
use concertina_store::Store;

use crate::error::{CliError, Exit};
use crate::place;

/// The files of the example, in which the agent has something to do yet.
const FILES: [(&str, &str); 6] = [
    ("concertina.toml", include_str!("../../../../../examples/commit-gate/concertina.toml")),
    (
        "commit-gate.sop.yaml",
        include_str!("../../../../../examples/commit-gate/commit-gate.sop.yaml"),
    ),
    ("price.sh", include_str!("../../../../../examples/commit-gate/price.sh")),
    ("test.sh", include_str!("../../../../../examples/commit-gate/test.sh")),
    ("lint.sh", include_str!("../../../../../examples/commit-gate/lint.sh")),
    ("edit.sh", include_str!("../../../../../examples/commit-gate/edit.sh")),
];

/// The price before the agent changes it.
const BEFORE: (&str, &str) = ("shipping=590", "shipping=490");

/// Whoever runs the demo is the agent's user as well as the person who agrees.
const MANAGED: &str = "[procedures]\nsame_uid_approvals = true\n";

/// The directory of a demo.
pub(super) struct Stage {
    root: PathBuf,
    /// Goes with the demo, unless it is kept.
    _passing: Option<tempfile::TempDir>,
}

impl Stage {
    /// Sets it up in `keep`, or where it goes with the demo.
    pub(super) fn set(keep: Option<&Path>) -> Result<Self, CliError> {
        if Command::new("git").arg("--version").output().is_err() {
            let message = "the demo commits for real, and there is no `git` here";
            return Err(CliError::new(Exit::Environment, "GIT_MISSING", message).help(
                "install it (apt-get install git, dnf install git, brew install git), then: concertina demo",
            ));
        }
        let (root, passing) = if let Some(directory) = keep {
            (empty(directory)?, None)
        } else {
            let directory = tempfile::Builder::new().prefix("concertina-demo-").tempdir();
            let directory = directory.map_err(|error| not_set(&std::env::temp_dir(), &error))?;
            (directory.path().to_owned(), Some(directory))
        };
        let stage = Self { root, _passing: passing };
        for (name, text) in FILES {
            stage.write(&format!("work/{name}"), &text.replace(BEFORE.0, BEFORE.1))?;
        }
        stage.write("managed/concertina.toml", MANAGED)?;
        std::fs::create_dir_all(stage.root.join("home"))
            .map_err(|error| not_set(&stage.root, &error))?;
        stage.git(&["init", "--quiet"])?;
        stage.git(&["add", "--all"])?;
        stage.git(&["commit", "--quiet", "--message", "A price list"])?;
        Ok(stage)
    }

    pub(super) fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    /// Where the log and the key are.
    pub(super) fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    /// The workspace, for which the demo vouches.
    pub(super) fn workspace(&self) -> Result<Workspace, CliError> {
        let home = self.root.join("home").display().to_string();
        let variable = |name: &str| match name {
            "HOME" => Some(home.clone()),
            "PATH" | "LANG" => place::variable(name),
            _ => None,
        };
        let options = WorkspaceOptions {
            managed: Some(self.root.join("managed")),
            ..WorkspaceOptions::only(self.state(), &variable)
        };
        Ok(Workspace::open(&self.work(), options)?)
    }

    /// A session in it, which follows the procedure.
    pub(super) fn session(&self, workspace: &mut Workspace) -> Result<Session, CliError> {
        Ok(Session::create(workspace, Store::open(&self.state())?, Started::default())?)
    }

    /// What git prints.
    pub(super) fn git(&self, arguments: &[&str]) -> Result<String, CliError> {
        let ran = Command::new("git")
            .args(["-c", "init.defaultBranch=main", "-c", "user.name=Demo"])
            .args(["-c", "user.email=demo@example.invalid", "-c", "commit.gpgsign=false"])
            .args(arguments)
            .current_dir(self.work())
            .env_clear()
            .envs(place::variable("PATH").map(|path| ("PATH", path)))
            .env("HOME", self.root.join("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output();
        let failed = |why: String| {
            let message = format!("`git {}` failed: {}", arguments.join(" "), why.trim());
            CliError::new(Exit::Environment, "GIT_FAILED", message)
        };
        let ran = ran.map_err(|error| failed(error.to_string()))?;
        if !ran.status.success() {
            return Err(failed(String::from_utf8_lossy(&ran.stderr).into_owned()));
        }
        Ok(String::from_utf8_lossy(&ran.stdout).trim().to_owned())
    }

    fn write(&self, path: &str, text: &str) -> Result<(), CliError> {
        let path = self.root.join(path);
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.and_then(|()| std::fs::write(&path, text)).map_err(|error| not_set(&path, &error))
    }
}

/// `directory`, made where it is not there; absolute, since programs run elsewhere.
fn empty(directory: &Path) -> Result<PathBuf, CliError> {
    let made = std::fs::create_dir_all(directory).and_then(|()| directory.canonicalize());
    let directory = made.map_err(|error| not_set(directory, &error))?;
    let mut entries = std::fs::read_dir(&directory).map_err(|error| not_set(&directory, &error))?;
    if entries.next().is_some() {
        let message = format!("{} is not empty", directory.display());
        return Err(CliError::new(Exit::Usage, "NOT_EMPTY", message)
            .help("name a directory that is empty or not there yet"));
    }
    Ok(directory)
}

fn not_set(path: &Path, error: &std::io::Error) -> CliError {
    let message = format!("{} cannot be written: {error}", path.display());
    CliError::new(Exit::Environment, "NOT_SAVED", message)
        .help("name a directory that you can write: concertina demo --keep DIR")
}
