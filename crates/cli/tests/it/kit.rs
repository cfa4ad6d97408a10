//! A place to run the binary in: its own home, its own state, no network, and files written as text.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// A temporary directory with a workspace, a home and a place for state.
pub(crate) struct Place {
    directory: tempfile::TempDir,
}

/// What came of one command.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Done {
    /// Asserts the exit code.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "exit code\nstdout: {}\nstderr: {}", self.out, self.err);
        self
    }

    /// Asserts that the words hold each of `parts`.
    #[track_caller]
    pub(crate) fn says(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.err.contains(part), "`{part}` is not said in: {}", self.err);
        }
        self
    }

    /// Asserts that the data hold each of `parts`.
    #[track_caller]
    pub(crate) fn shows(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.out.contains(part), "`{part}` is not shown in: {}", self.out);
        }
        self
    }

    /// Asserts that there is exactly one error, with a code to look it up by, and no trace of a crash.
    #[track_caller]
    pub(crate) fn fails_clearly(self, code: &str) -> Self {
        assert_eq!(self.err.matches("error: ").count(), 1, "one error in: {}", self.err);
        assert!(self.err.contains(&format!("[{code}]")), "{code} in: {}", self.err);
        assert!(!self.err.contains("panicked"), "{}", self.err);
        self
    }

    /// The data as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        match serde_json::from_str(&self.out) {
            Ok(value) => value,
            Err(error) => panic!("not one JSON value: {error}\n{}\n{}", self.out, self.err),
        }
    }
}

impl Place {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["work", "home", "state"] {
            std::fs::create_dir(directory.path().join(name)).unwrap();
        }
        Self { directory }
    }

    /// A place whose workspace holds `files`, see [`write`], and whose person trusts them.
    pub(crate) fn with(files: &str) -> Self {
        Self::strange(files).trusted()
    }

    /// The same before anybody said a word of trust.
    pub(crate) fn strange(files: &str) -> Self {
        let place = Self::new();
        write(&place.work(), files);
        place
    }

    /// A harbour's skills, with one tool that appears only with the skill that claims it; trusted.
    pub(crate) fn harbour() -> Self {
        Self::strange_harbour().trusted()
    }

    /// The same before anybody said a word of trust.
    pub(crate) fn strange_harbour() -> Self {
        let place = Self::new();
        copy(&repository("fixtures/harbour"), &place.work());
        place
    }

    /// A copy of an example, as somebody who tries it out has it.
    pub(crate) fn example(name: &str) -> Self {
        let place = Self::new();
        copy(&repository(&format!("examples/{name}")), &place.work());
        place
    }

    /// Trusts what the workspace brings, as a person would who has looked at it.
    #[track_caller]
    pub(crate) fn trusted(self) -> Self {
        self.trust();
        self
    }

    /// Trusts what the workspace brings as it is now.
    #[track_caller]
    pub(crate) fn trust(&self) {
        self.run(&["trust", "."]).exits(0);
    }

    /// Puts `files` into the workspace and trusts them.
    #[track_caller]
    pub(crate) fn add(&self, files: &str) {
        write(&self.work(), files);
        self.trust();
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.directory.path().join("state")
    }

    /// The binary, ready to run in the workspace. Nothing of the surroundings is inherited.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_concertina"));
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.home())
            .env("CONCERTINA_HOME", self.state())
            .current_dir(self.work())
            .stdin(Stdio::null())
            .args(arguments);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Done {
        done(self.command(arguments))
    }

    /// Runs with `--json`, which must succeed, and gives the data.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let mut with = arguments.to_vec();
        with.push("--json");
        self.run(&with).exits(0).json()
    }

    /// The ids of the skills that `who` is listed.
    #[track_caller]
    pub(crate) fn listed(&self, who: &str) -> Vec<String> {
        names(&self.json(&["skill", "list", "--for", who])["skills"], "id")
    }

    /// Whether the model is listed the skill `id`.
    #[track_caller]
    pub(crate) fn lists(&self, id: &str) -> bool {
        self.listed("model").iter().any(|known| known == id)
    }

    /// Begins a session and gives its id.
    #[track_caller]
    pub(crate) fn session(&self) -> String {
        self.json(&["session", "new"])["session"].as_str().unwrap().to_owned()
    }
}

pub(crate) fn done(mut command: Command) -> Done {
    let output = command.output().unwrap();
    Done {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Writes files below `root`. Each begins with a line `//- path`; what follows is its text.
pub(crate) fn write(root: &Path, files: &str) {
    let mut file: Option<(&str, String)> = None;
    for line in files.lines().chain(["//- "]) {
        if let Some(path) = line.strip_prefix("//- ") {
            if let Some((path, text)) = file.replace((path, String::new())) {
                let path = root.join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
        } else if let Some((_, text)) = &mut file {
            text.push_str(line);
            text.push('\n');
        }
    }
}

/// A path of the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    root.join(path)
}

/// The words of a list of `skills` or `hits` under `key`.
pub(crate) fn names(value: &Value, key: &str) -> Vec<String> {
    let items = value.as_array().unwrap();
    items.iter().map(|item| item[key].as_str().unwrap().to_owned()).collect()
}

/// A skill's file for [`write`]: what stands in its frontmatter, and its body.
pub(crate) fn skill(directory: &str, keys: &str, body: &str) -> String {
    format!("//- {directory}/SKILL.md\n---\n{}\n---\n{body}\n", keys.trim_end())
}
