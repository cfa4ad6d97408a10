//! A working tree as git sees it, and hooks in its repository.
//!
//! The program `git` is asked, since hooks run inside of it: it alone knows which index a commit is made of.

mod hooks;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub use hooks::{CommitGate, Hook, HookAction, install, remove, stands};

use crate::inputs::{Inputs, InputsError};
use crate::inside::leads_to;
use crate::touch::compile;

/// Why git could not be asked, or a hook not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// `git` does not run.
    #[error("git cannot be started: {0}; install it, or put it on PATH")]
    NotStarted(std::io::Error),
    /// It is no working tree.
    #[error("{} is in no working tree of git; begin one with `git init`", .0.display())]
    NoWorkingTree(PathBuf),
    /// `git` refused.
    #[error("`git {command}` failed: {why}")]
    Failed {
        /// What was asked.
        command: String,
        /// What it said.
        why: String,
    },
    /// The hooks are not this repository's alone, or somebody else's to write.
    #[error("{} is {why}; add this line to the hook that is yours:\n{line}", path.display())]
    NotOurs {
        /// The directory of hooks.
        path: PathBuf,
        /// Whose it is.
        why: &'static str,
        /// What the hook has to run.
        line: String,
    },
    /// The hook checks commits for another directory of the repository.
    #[error("{} checks commits for another directory of this repository, and goes on doing so; take that away there (`concertina setup git --undo`), or add this line to the hook:\n{line}", path.display())]
    Taken {
        /// The hook.
        path: PathBuf,
        /// What the hook has to run as well.
        line: String,
    },
    /// A hook is not as it was written.
    #[error("{} {why}", path.display())]
    Changed {
        /// The hook.
        path: PathBuf,
        /// What is the matter, and what to do.
        why: String,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}; make it writable", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was reported.
        source: std::io::Error,
    },
    /// What counts as input cannot be told.
    #[error(transparent)]
    Inputs(#[from] InputsError),
}

impl GitError {
    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotStarted(_) => "GIT_MISSING",
            Self::NoWorkingTree(_) => "NO_WORKING_TREE",
            Self::Failed { .. } => "GIT_FAILED",
            Self::NotOurs { .. } => "HOOKS_NOT_OURS",
            Self::Taken { .. } => "HOOK_TAKEN",
            Self::Changed { .. } => "HOOK_CHANGED",
            Self::Io { .. } => "HOOK_NOT_WRITTEN",
            Self::Inputs(error) => error.code(),
        }
    }

    fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }
}

/// A directory in a working tree.
#[derive(Debug, Clone)]
pub struct WorkingTree {
    /// From where git is asked.
    from: PathBuf,
    /// Where the working tree begins, by its real path.
    top: PathBuf,
    /// The directory, by its real path.
    directory: PathBuf,
}

impl WorkingTree {
    /// The working tree that holds `directory`.
    pub fn around(directory: &Path) -> Result<Self, GitError> {
        let real = directory.canonicalize().map_err(|error| GitError::io(directory, error))?;
        // In a hook, git says by variables what it works on, seen from where the hook was started.
        let is_hook = std::env::var_os("GIT_DIR").is_some();
        let from = if is_hook { PathBuf::from(".") } else { real.clone() };
        let mut tree = Self { from, top: PathBuf::new(), directory: real };
        let top = match tree.line(&["rev-parse", "--show-toplevel"]) {
            Ok(top) => top,
            Err(GitError::Failed { .. }) => {
                return Err(GitError::NoWorkingTree(directory.to_owned()));
            }
            Err(error) => return Err(error),
        };
        let top = Path::new(&top);
        tree.top = top.canonicalize().map_err(|error| GitError::io(top, error))?;
        if !tree.directory.starts_with(&tree.top) {
            return Err(GitError::NoWorkingTree(directory.to_owned()));
        }
        if !is_hook {
            // Paths in settings are seen from there.
            tree.from.clone_from(&tree.top);
        }
        Ok(tree)
    }

    /// Where it begins.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// `path` as hooks name it, which git starts at the top.
    pub fn from_top(&self, path: &Path) -> Option<String> {
        let real = path.canonicalize().ok()?;
        let inside = real.strip_prefix(&self.top).ok()?.to_str()?;
        Some(if inside.is_empty() { ".".to_owned() } else { inside.to_owned() })
    }

    /// Inputs whose content is not what would be committed, by their path from the top: receipts speak of what lies
    /// in the working tree.
    pub fn unstaged(&self, root: &str, ignore: &[String]) -> Result<Vec<String>, GitError> {
        // What cannot be used is said there.
        Inputs::new(&self.directory, root, ignore)?;
        let directory = leads_to(&self.directory.join(root));
        let ignored = compile(ignore).ok();
        let status: [&OsStr; 11] = [
            // What a person's own settings ignore is an input all the same.
            "-c".as_ref(),
            "core.excludesFile=/dev/null".as_ref(),
            "-c".as_ref(),
            "core.fsmonitor=false".as_ref(),
            "status".as_ref(),
            "--porcelain=v1".as_ref(),
            "-z".as_ref(),
            "--untracked-files=all".as_ref(),
            "--no-renames".as_ref(),
            "--".as_ref(),
            directory.as_os_str(),
        ];
        let listed = self.ask(&status)?;
        let mut unstaged = Vec::new();
        for entry in listed.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
            let text = String::from_utf8_lossy(entry);
            let (Some(work), Some(path)) = (text.chars().nth(1), text.get(3..)) else { continue };
            let full = self.top.join(path);
            let inside = full.strip_prefix(&directory).ok();
            let is_ignored = inside.zip(ignored.as_ref()).is_some_and(|(path, ignored)| {
                ignored.matched_path_or_any_parents(path, full.is_dir()).is_ignore()
            });
            if work != ' ' && !is_ignored {
                unstaged.push(path.to_owned());
            }
        }
        Ok(unstaged)
    }

    /// What git says to `arguments`, one line.
    fn line(&self, arguments: &[&str]) -> Result<String, GitError> {
        let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
        let mut said = self.ask(&arguments)?;
        if said.last() == Some(&b'\n') {
            said.pop();
        }
        String::from_utf8(said).map_err(|_| GitError::Failed {
            command: command(&arguments),
            why: "a path is no UTF-8".to_owned(),
        })
    }

    fn ask(&self, arguments: &[&OsStr]) -> Result<Vec<u8>, GitError> {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(&self.from)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .output()
            .map_err(GitError::NotStarted)?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(GitError::Failed { command: command(arguments), why })
    }
}

fn command(arguments: &[&OsStr]) -> String {
    arguments.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
