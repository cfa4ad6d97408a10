//! The repository as the checks see it: texts and packages.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Outcome;

/// Directories that hold no source: build output, version control, what package managers fetch.
const SKIPPED_DIRECTORIES: &[&str] = &[".git", "target", "node_modules", ".venv"];
/// A text above this many bytes is data; no rule concerns it.
const SOURCE_BYTES: u64 = 4 * 1024 * 1024;

/// A text file of the repository.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// Relative to the root, with `/` on every system.
    pub(crate) path: String,
    /// Its content.
    pub(crate) text: String,
}

/// A package of the workspace.
#[derive(Debug, Clone)]
pub(crate) struct Package {
    /// As `Cargo.toml` gives it.
    pub(crate) name: String,
    /// Its directory, relative to the root.
    pub(crate) directory: String,
    /// Everything it depends on.
    pub(crate) dependencies: Vec<Dependency>,
}

/// What a package depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dependency {
    /// The package's name, also where it is renamed.
    pub(crate) name: String,
    /// Only for tests, examples and benches.
    pub(crate) dev: bool,
}

/// The repository.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// Its root directory.
    pub(crate) root: PathBuf,
    /// Every text in it, sorted by path.
    pub(crate) sources: Vec<Source>,
    /// Every path in it, sorted: links may lead to files that are not text, and to directories.
    pub(crate) paths: Vec<String>,
}

/// Something that must not be so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl Finding {
    /// A finding in `path` at `line`, counted from 1. The message says what is wrong and what to do.
    pub(crate) fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

impl Source {
    /// The path inside `directory`, when the file lies below it.
    pub(crate) fn below<'a>(&'a self, directory: &str) -> Option<&'a str> {
        self.path.strip_prefix(directory)?.strip_prefix('/')
    }

    /// Whether the file ends in `.` and `extension`.
    pub(crate) fn is(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }
}

impl Workspace {
    /// The repository that cargo runs this program for, with none of its files read yet.
    pub(crate) fn locate() -> Outcome<Self> {
        // Asked at run time: clones that share a target directory share this program.
        let xtask = std::env::var("CARGO_MANIFEST_DIR")
            .map_err(|_| "CARGO_MANIFEST_DIR is not set: start this program as `cargo xtask`")?;
        let root = Path::new(&xtask).parent().ok_or("the xtask directory has no parent")?;
        Ok(Self { root: root.to_owned(), sources: Vec::new(), paths: Vec::new() })
    }

    /// The repository with its files.
    pub(crate) fn load() -> Outcome<Self> {
        let mut workspace = Self::locate()?;
        workspace.walk(&workspace.root.clone())?;
        workspace.paths.sort();
        workspace.sources.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(workspace)
    }

    fn walk(&mut self, directory: &Path) -> Outcome<()> {
        let unreadable = |error| format!("cannot read {}: {error}", directory.display());
        for entry in fs::read_dir(directory).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(unreadable)?);
            if kind.is_dir() && SKIPPED_DIRECTORIES.iter().any(|name| entry.file_name() == *name) {
                continue;
            }
            let relative = relative(&self.root, &path);
            if kind.is_dir() {
                self.walk(&path)?;
            } else if kind.is_file() && entry.metadata().map_err(unreadable)?.len() <= SOURCE_BYTES
            {
                // A file that is not UTF-8 is data; one that vanished since is of no interest.
                if let Ok(text) = fs::read_to_string(&path) {
                    self.sources.push(Source { path: relative.clone(), text });
                }
            }
            self.paths.push(relative);
        }
        Ok(())
    }

    /// The packages, as `cargo metadata` tells them.
    pub(crate) fn packages(&self) -> Outcome<Vec<Package>> {
        packages(&self.metadata()?, &self.root)
    }

    /// Where cargo puts what it builds.
    pub(crate) fn target_directory(&self) -> Outcome<PathBuf> {
        Ok(text(&self.metadata()?, "target_directory").into())
    }

    fn metadata(&self) -> Outcome<Value> {
        let arguments = ["metadata", "--no-deps", "--format-version", "1", "--offline"];
        let output = self.cargo(&arguments).output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim_end().to_owned().into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// Cargo, to be run in the root.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(arguments).current_dir(&self.root);
        // Build scripts look at these, and would be run again for what cargo says of this program.
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
                command.env_remove(&*name);
            }
        }
        command
    }
}

fn relative(root: &Path, path: &Path) -> String {
    let path = path.strip_prefix(root).unwrap_or(path);
    path.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

fn packages(metadata: &Value, root: &Path) -> Outcome<Vec<Package>> {
    let list = metadata.get("packages").and_then(Value::as_array);
    let list = list.ok_or("cargo metadata names no packages")?;
    let package = |package: &Value| Package {
        name: text(package, "name"),
        directory: Path::new(&text(package, "manifest_path"))
            .parent()
            .map(|directory| relative(root, directory))
            .unwrap_or_default(),
        dependencies: package
            .get("dependencies")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(|dependency| Dependency {
                name: text(dependency, "name"),
                dev: text(dependency, "kind") == "dev",
            })
            .collect(),
    };
    Ok(list.iter().map(package).collect())
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn packages_are_read_from_metadata() {
        let metadata = serde_json::json!({"packages": [{
            "name": "concertina-core",
            "manifest_path": "/r/crates/core/Cargo.toml",
            "dependencies": [{"name": "serde", "kind": null}, {"name": "insta", "kind": "dev"}],
        }]});
        let packages = packages(&metadata, Path::new("/r")).unwrap();
        assert_eq!(
            (packages[0].name.as_str(), packages[0].directory.as_str()),
            ("concertina-core", "crates/core")
        );
        let dependency = |name: &str, dev| Dependency { name: name.into(), dev };
        assert_eq!(
            packages[0].dependencies,
            [dependency("serde", false), dependency("insta", true)]
        );
    }

    #[test]
    fn this_repository_is_read() {
        let workspace = Workspace::load().unwrap();
        assert!(workspace.sources.iter().any(|source| source.path == "xtask/src/workspace.rs"));
        assert!(workspace.paths.iter().any(|path| path == "crates"));
        assert!(!workspace.paths.iter().any(|path| path.starts_with("target")));
        assert!(workspace.packages().unwrap().iter().any(|package| package.name == "xtask"));
    }
}
