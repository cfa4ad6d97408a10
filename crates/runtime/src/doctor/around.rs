//! Where clients keep what they read.

use std::path::{Path, PathBuf};

use concertina_types::env;

/// The directories that count for a workspace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Around {
    /// The workspace, and the directories above it up to the root of its repository.
    pub(super) directories: Vec<PathBuf>,
    pub(super) home: Option<PathBuf>,
    /// `$XDG_CONFIG_HOME`, or `.config` below the home directory.
    pub(super) config: Option<PathBuf>,
    /// `$CLAUDE_CONFIG_DIR`, where it is set.
    pub(super) claude: Option<PathBuf>,
    /// `$CODEX_HOME`, where it is set.
    pub(super) codex: Option<PathBuf>,
}

impl Around {
    /// What surrounds the workspace in `root`.
    pub(crate) fn new(root: &Path, variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let path = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = path("HOME");
        let ancestors: Vec<PathBuf> = root.ancestors().map(PathBuf::from).collect();
        let repository = ancestors.iter().position(|directory| directory.join(".git").exists());
        let within = ancestors.into_iter().take(repository.map_or(1, |at| at + 1)).enumerate();
        // The home directory is looked at as such.
        let directories = within.filter(|(at, path)| *at == 0 || Some(path) != home.as_ref());
        Self {
            directories: directories.map(|(_, path)| path).collect(),
            config: path(env::XDG_CONFIG_HOME)
                .or_else(|| home.as_ref().map(|home| home.join(".config"))),
            claude: path(env::CLAUDE_CONFIG_DIR),
            codex: path(env::CODEX_HOME),
            home,
        }
    }

    /// The workspace in `root` alone.
    pub(crate) fn only(root: &Path) -> Self {
        Self { directories: vec![root.to_owned()], ..Self::default() }
    }

    /// The root of the repository, or the workspace itself.
    pub(crate) fn project(&self) -> Option<&Path> {
        self.directories.last().map(PathBuf::as_path)
    }

    /// `path` below the home directory; none where there is no home.
    pub(super) fn at_home(&self, path: &str) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join(path))
    }
}
