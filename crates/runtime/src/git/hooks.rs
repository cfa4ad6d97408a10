//! The two hooks that let commits wait for receipts: one asks before a commit, one keeps the receipts with it.
//!
//! A hook that was there is moved beside ours, which runs it first, and moved back afterwards: so its bytes never
//! change, whatever language it is written in.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::{GitError, WorkingTree};

/// How the block begins and ends that is ours.
const BEGIN: &str = "# >>> concertina >>>";
const END: &str = "# <<< concertina <<<";
/// What is put behind the name of a hook that was there.
const KEPT: &str = ".before-concertina";

/// What commits wait for.
#[derive(Debug, Clone)]
pub struct CommitGate {
    /// The program that checks.
    pub program: PathBuf,
    /// Where its state is.
    pub home: PathBuf,
    /// The workspace, from the top of the working tree.
    pub workspace: String,
    /// The procedure, from there.
    pub procedure: String,
    /// The tool before which the gate stands.
    pub tool: String,
}

/// What happens to a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookAction {
    /// It is as it should be.
    Unchanged,
    /// It is written; there was none.
    Created,
    /// It is written; the one that was there runs first.
    Wrapped,
    /// It is ours, and is written anew.
    Updated,
    /// It is ours, and is removed.
    Removed,
    /// It is ours, and the one from before takes its place again.
    Restored,
}

impl HookAction {
    /// The same in a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Created => "created",
            Self::Wrapped => "wrapped",
            Self::Updated => "updated",
            Self::Removed => "removed",
            Self::Restored => "restored",
        }
    }
}

/// A hook, and what happens to it.
#[derive(Debug, Clone)]
pub struct Hook {
    /// The file.
    pub path: PathBuf,
    /// What happens to it.
    pub action: HookAction,
    /// Where the hook from before lies, while ours is in its place.
    pub kept: Option<PathBuf>,
    /// What it holds then; nothing where it is taken away.
    pub text: Option<String>,
}

impl CommitGate {
    /// What a check wants to know, as options of `receipt verify` that a shell takes.
    pub fn words(&self) -> String {
        words(&self.workspace, &self.procedure, &self.tool)
    }

    /// The command that a hook runs before a commit.
    pub fn command(&self, program: &str) -> String {
        let words = self.words();
        format!(
            "{program} receipt export {words} |\n    {program} receipt verify - --staged {words} >/dev/null || exit 1"
        )
    }

    fn text(&self, then: &str) -> String {
        format!(
            "#!/bin/sh\n{BEGIN}\n\
             # Commits wait for receipts. `concertina setup git` wrote this file, and with --undo takes it away. A hook\n\
             # that was here before lies beside it and runs first.\n\
             kept=\"$0{KEPT}\"\n\
             if [ -x \"$kept\" ]; then \"$kept\" \"$@\" || exit; fi\n\
             CONCERTINA_HOME={home}\n\
             export CONCERTINA_HOME\n\
             concertina={program}\n\
             [ -x \"$concertina\" ] || concertina=concertina\n\
             {then}\n{END}\n",
            home = quoted(&self.home.to_string_lossy()),
            program = quoted(&self.program.to_string_lossy()),
        )
    }

    fn hooks(&self) -> [(&'static str, String); 2] {
        let words = self.words();
        let note = format!(
            "# Only what proves this very commit goes with it, so that others can check it.\n\
             receipts=$(\"$concertina\" receipt export {words}) && [ -n \"$receipts\" ] || exit 0\n\
             printf '%s\\n' \"$receipts\" |\n    \"$concertina\" receipt verify - --staged {words} >/dev/null 2>&1 || exit 0\n\
             printf '%s\\n' \"$receipts\" | git notes --ref=concertina add -f -F - HEAD >/dev/null"
        );
        [
            ("pre-commit", self.text(&self.command("\"$concertina\""))),
            ("post-commit", self.text(&note)),
        ]
    }
}

fn words(workspace: &str, procedure: &str, tool: &str) -> String {
    format!(
        "--workspace {} --procedure {} --gate {}",
        quoted(workspace),
        quoted(procedure),
        quoted(tool)
    )
}

/// Whether a hook of ours checks commits of `tree` for the receipts that `procedure` wants before `tool`. `workspace`
/// and the file `procedure` are paths from the top of the working tree.
pub fn stands(
    tree: &WorkingTree,
    workspace: &str,
    procedure: &str,
    tool: &str,
) -> Result<bool, GitError> {
    let path = hooks_directory(tree)?.join("pre-commit");
    let Some(text) = read(&path)? else { return Ok(false) };
    let about = fs::metadata(&path).map_err(|error| GitError::io(&path, error))?;
    // Git passes over a hook that cannot be run.
    let is_run = about.permissions().mode() & 0o111 != 0;
    let text = String::from_utf8_lossy(&text);
    Ok(is_run && holds_ours(text.as_bytes()) && text.contains(&words(workspace, procedure, tool)))
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Writes the hooks, or with `dry_run` says what would be written.
pub fn install(
    tree: &WorkingTree,
    gate: &CommitGate,
    dry_run: bool,
) -> Result<Vec<Hook>, GitError> {
    let directory = hooks_directory(tree)?;
    if let Some(why) = not_ours(tree, &directory)? {
        let line = gate.command("concertina");
        return Err(GitError::NotOurs { path: directory, why, line });
    }
    let mut hooks = Vec::new();
    for (name, text) in gate.hooks() {
        let path = directory.join(name);
        let kept = kept_path(&path);
        let is_kept = exists(&kept)?;
        let action = match read(&path)? {
            Some(there) if there == text.as_bytes() => HookAction::Unchanged,
            Some(there) if is_ours(&there) && !checks(&there, &gate.workspace) => {
                return Err(GitError::Taken { path, line: gate.command("concertina") });
            }
            Some(there) if is_ours(&there) => HookAction::Updated,
            Some(there) if holds_ours(&there) => return Err(altered(path)),
            None if !exists(&path)? && !is_kept => HookAction::Created,
            _ if is_kept => {
                let why = format!(
                    "would have to be kept as {}, which is there already; look at both and remove one",
                    kept.display()
                );
                return Err(GitError::Changed { path, why });
            }
            _ => HookAction::Wrapped,
        };
        let keeps = is_kept || action == HookAction::Wrapped;
        hooks.push(Hook { path, action, kept: keeps.then_some(kept), text: Some(text) });
    }
    // Nothing was touched yet: what cannot be done for one is done for none.
    for hook in hooks.iter().filter(|hook| !dry_run && hook.action != HookAction::Unchanged) {
        fs::create_dir_all(&directory).map_err(|error| GitError::io(&directory, error))?;
        if let (HookAction::Wrapped, Some(kept)) = (hook.action, &hook.kept) {
            fs::rename(&hook.path, kept).map_err(|error| GitError::io(&hook.path, error))?;
        }
        write(&hook.path, hook.text.as_deref().unwrap_or_default())?;
    }
    Ok(hooks)
}

/// Takes the hooks away, or with `dry_run` says what would be done. What was there before is there again, byte for
/// byte.
pub fn remove(tree: &WorkingTree, dry_run: bool) -> Result<Vec<Hook>, GitError> {
    let directory = hooks_directory(tree)?;
    let mut hooks = Vec::new();
    for name in ["pre-commit", "post-commit"] {
        let path = directory.join(name);
        let kept = kept_path(&path);
        let is_kept = exists(&kept)?;
        let there = read(&path)?;
        let action = match &there {
            Some(there) if is_ours(there) && is_kept => HookAction::Restored,
            Some(there) if is_ours(there) => HookAction::Removed,
            None if is_kept => HookAction::Restored,
            Some(there) if is_kept || holds_ours(there) => return Err(altered(path)),
            _ => HookAction::Unchanged,
        };
        hooks.push(Hook { path, action, kept: is_kept.then_some(kept), text: None });
    }
    for hook in hooks.iter().filter(|_| !dry_run) {
        let done = match (hook.action, &hook.kept) {
            (HookAction::Restored, Some(kept)) => fs::rename(kept, &hook.path),
            (HookAction::Removed, _) => fs::remove_file(&hook.path),
            _ => Ok(()),
        };
        done.map_err(|error| GitError::io(&hook.path, error))?;
    }
    Ok(hooks)
}

fn altered(path: PathBuf) -> GitError {
    let why = "is not as it was written, and stays; take the block of concertina out by hand";
    GitError::Changed { path, why: why.to_owned() }
}

/// Where git looks for hooks: what settings say, else in what all working trees share.
fn hooks_directory(tree: &WorkingTree) -> Result<PathBuf, GitError> {
    let path = tree.line(&["rev-parse", "--path-format=absolute", "--git-path", "hooks"])?;
    Ok(PathBuf::from(path))
}

/// Why hooks in `directory` are not for us to write, if that is so.
fn not_ours(tree: &WorkingTree, directory: &Path) -> Result<Option<&'static str>, GitError> {
    let is_husky = directory.ends_with(".husky/_");
    if is_husky {
        return Ok(Some("written anew by husky, whose hooks lie one directory above"));
    }
    let scope = match tree.line(&["config", "--show-scope", "--get", "core.hooksPath"]) {
        Ok(scope) => scope,
        // It is not set.
        Err(GitError::Failed { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let is_shared = !(scope.starts_with("local") || scope.starts_with("worktree"));
    Ok(is_shared.then_some("set for every repository of this person or machine"))
}

fn kept_path(hook: &Path) -> PathBuf {
    let mut path = hook.as_os_str().to_owned();
    path.push(KEPT);
    path.into()
}

/// Whether `text` is a hook of ours and nothing else.
fn is_ours(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let inner = text.strip_prefix("#!/bin/sh\n").and_then(|rest| rest.strip_prefix(BEGIN));
    let inner = inner.and_then(|rest| rest.strip_suffix('\n')?.strip_suffix(END));
    inner.is_some_and(|inner| !inner.contains(END))
}

/// Whether a hook of ours checks commits for `workspace`, by its path from the top.
fn checks(text: &[u8], workspace: &str) -> bool {
    String::from_utf8_lossy(text).contains(&format!("--workspace {} ", quoted(workspace)))
}

fn holds_ours(text: &[u8]) -> bool {
    String::from_utf8_lossy(text).contains(BEGIN)
}

/// What a hook holds; none where there is no file.
fn read(path: &Path) -> Result<Option<Vec<u8>>, GitError> {
    match fs::read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(GitError::io(path, error)),
    }
}

/// Whether something is there, if only a link to nothing.
fn exists(path: &Path) -> Result<bool, GitError> {
    match path.symlink_metadata() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(GitError::io(path, error)),
    }
}

/// Writes a hook, whole: a commit that runs meanwhile sees the one before or this one.
fn write(path: &Path, text: &str) -> Result<(), GitError> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.tmp", std::process::id()));
    let temporary = PathBuf::from(temporary);
    let mut options = fs::OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o755).open(&temporary);
    let written = opened
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&temporary, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&temporary);
        GitError::io(path, error)
    })
}
