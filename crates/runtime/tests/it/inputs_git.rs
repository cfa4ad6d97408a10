//! Inputs in repositories, beside what git itself says.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use concertina_types::Digest;
use proptest::prelude::*;

use crate::inputs::{Tree, digest_of};

/// What git says, without anything that belongs to a person.
fn git(at: &Path, words: &[&str]) -> Vec<u8> {
    let mut git = Command::new("git");
    git.arg("-C").arg(at).args(["-c", "user.name=n", "-c", "user.email=e@example.com"]);
    git.args(["-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main"]).args(words);
    git.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    git.env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("HOME", "/nowhere");
    let output = git.output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[allow(clippy::print_stderr, reason = "a test that cannot run says so")]
fn git_is_absent(test: &str) -> bool {
    let absent = Command::new("git").arg("--version").output().is_err();
    if absent {
        eprintln!("skipped: {test}: there is no git");
    }
    absent
}

impl Tree {
    /// A repository.
    fn repository() -> Self {
        let tree = Self::new();
        tree.git(&["init", "--quiet"]);
        tree
    }

    fn git(&self, words: &[&str]) -> Vec<u8> {
        git(&self.path(""), words)
    }

    /// A repository with a commit: text, a program, a link, a file that is tracked although a rule ignores
    /// it, and names of many kinds.
    fn committed() -> Self {
        let tree = Self::repository();
        tree.write("src/a.rs", "fn a() {}").write("run.sh", "#!/bin/sh\n").write("dir/é ü", "");
        tree.write(OsStr::from_bytes(b"dir/\xe9"), "latin").write(".gitignore", "*.log\n/build/\n");
        tree.write("kept.log", "tracked").write("build/deep/kept", "tracked");
        fs::set_permissions(tree.path("run.sh"), Permissions::from_mode(0o755)).unwrap();
        symlink("src/a.rs", tree.path("link")).unwrap();
        tree.git(&["add", "--all"]);
        tree.git(&["add", "--force", "kept.log", "build/deep/kept"]);
        tree.git(&["commit", "--quiet", "-m", "first"]);
        tree
    }

    fn listed(&self) -> Vec<PathBuf> {
        Self::paths(&self.look())
    }
}

/// The digest by a list of git's: everything is read, also the file behind a link that is not on the list.
fn naive(top: &Path, list: &[u8]) -> Digest {
    let names: BTreeSet<&[u8]> = list.split(|b| *b == 0).filter(|name| !name.is_empty()).collect();
    let entries = names.iter().filter_map(|name| {
        let path = top.join(OsStr::from_bytes(name));
        let meta = path.symlink_metadata().ok().filter(|meta| !meta.is_dir())?;
        let (kind, content) = if meta.is_symlink() {
            let link = Digest::of(fs::read_link(&path).unwrap().as_os_str().as_bytes());
            let target = path.canonicalize().ok().filter(|target| target.is_file());
            let hidden = target.filter(|target| {
                let inside = target.strip_prefix(top.canonicalize().unwrap());
                inside.is_ok_and(|inside| !names.contains(inside.as_os_str().as_bytes()))
            });
            let content = hidden.map_or(link, |target| {
                let behind = Digest::of(&fs::read(target).unwrap());
                Digest::of_parts([link.as_bytes().as_slice(), behind.as_bytes().as_slice()])
            });
            (b'l', content)
        } else {
            let executable = meta.permissions().mode() & 0o100 != 0;
            (if executable { b'x' } else { b'f' }, Digest::of(&fs::read(&path).unwrap()))
        };
        Some((name.to_vec(), kind, content))
    });
    digest_of(entries.collect())
}

const LIST: [&str; 4] = ["ls-files", "-co", "--exclude-standard", "-z"];

#[test]
fn a_fresh_clone_has_the_digest_of_the_clean_tree() {
    if git_is_absent("a_fresh_clone_has_the_digest_of_the_clean_tree") {
        return;
    }
    let tree = Tree::committed();
    let clone = Tree::new();
    fs::remove_dir(clone.path("")).unwrap();
    git(&clone.beside(""), &["clone", "--quiet", tree.path("").to_str().unwrap(), "work"]);
    // Other bits of the mode are those of a person.
    for path in ["src/a.rs", "run.sh"] {
        let mode = if path == "run.sh" { 0o700 } else { 0o600 };
        fs::set_permissions(clone.path(path), Permissions::from_mode(mode)).unwrap();
    }
    let look = tree.look();
    assert_eq!(look.digest, naive(&tree.path(""), &tree.git(&LIST)));
    assert_eq!(look.files, 8);
    assert_eq!(clone.look().digest, look.digest);
    // So does another working tree of the same repository, whose `.git` is a file.
    let other = Tree::new();
    fs::remove_dir(other.path("")).unwrap();
    tree.git(&["worktree", "add", "--quiet", other.path("").to_str().unwrap()]);
    assert_eq!(other.look().digest, look.digest);
    // What is excluded for the repository is so in all of its working trees.
    fs::create_dir_all(tree.path(".git/info")).unwrap();
    tree.write(".git/info/exclude", "mine\n");
    other.write("mine", "").write("yours", "");
    assert_eq!(other.look().files, 9);
}

#[test]
fn j10_an_edit_of_a_file_that_is_tracked_and_ignored_is_seen() {
    if git_is_absent("j10_an_edit_of_a_file_that_is_tracked_and_ignored_is_seen") {
        return;
    }
    let tree = Tree::committed();
    let versions: [&[&str]; 3] = [
        &["update-index", "--index-version", "2"],
        &["update-index", "--index-version", "4"],
        // Flags of an entry that only version 3 has.
        &["update-index", "--index-version", "3", "--skip-worktree", "run.sh"],
    ];
    for (number, words) in versions.into_iter().enumerate() {
        tree.git(words);
        assert_eq!(tree.look().digest, naive(&tree.path(""), &tree.git(&LIST)), "{words:?}");
        for path in ["kept.log", "build/deep/kept"] {
            let before = tree.look().digest;
            tree.write(path, format!("edit {number}"));
            assert_ne!(tree.look().digest, before, "{words:?}: {path}");
        }
        let before = tree.look().digest;
        tree.write("other.log", "").write("build/deep/other", "").write("build/other", "");
        assert_eq!(tree.look().digest, before, "what is ignored and not tracked");
    }
    let index = fs::read(tree.path(".git/index")).unwrap();
    assert_eq!(index[7], 3);
}

#[test]
fn an_index_with_longer_names_of_objects_is_read() {
    if git_is_absent("an_index_with_longer_names_of_objects_is_read") {
        return;
    }
    let tree = Tree::new();
    tree.git(&["init", "--quiet", "--object-format=sha256"]);
    tree.write(".gitignore", "*.log").write("kept.log", "").write("not.log", "");
    tree.git(&["add", "--force", "kept.log"]);
    assert_eq!(tree.listed(), [".gitignore", "kept.log"].map(PathBuf::from));
}

#[test]
fn a_broken_index_is_an_error_and_never_fewer_files() {
    if git_is_absent("a_broken_index_is_an_error_and_never_fewer_files") {
        return;
    }
    let tree = Tree::committed();
    for version in ["2", "4"] {
        tree.git(&["update-index", "--index-version", version]);
        let whole = fs::read(tree.path(".git/index")).unwrap();
        let expected = tree.look().digest;
        for cut in 0..whole.len() {
            tree.write(".git/index", &whole[..cut]);
            let error = tree.look_at(".", &[]).unwrap_err();
            assert_eq!(error.code(), "INPUTS_UNREADABLE", "version {version}, {cut} bytes");
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            tree.write(".git/index", damaged);
            let error = tree.look_at(".", &[]).unwrap_err().to_string();
            assert!(error.contains(".git/index cannot be read: "), "byte {at}: {error}");
        }
        // Git may be told to write no checksum. What is counted wrongly is an error all the same.
        let mut unsummed = whole.clone();
        let sum = unsummed.len() - 20;
        unsummed[sum..].fill(0);
        tree.write(".git/index", &unsummed);
        assert_eq!(tree.look().digest, expected);
        for count in [7, 9] {
            unsummed[11] = count;
            tree.write(".git/index", &unsummed);
            assert_eq!(tree.look_at(".", &[]).unwrap_err().code(), "INPUTS_UNREADABLE");
        }
        tree.write(".git/index", whole);
    }
    tree.git(&["update-index", "--split-index"]);
    let error = tree.look_at(".", &[]).unwrap_err().to_string();
    assert!(error.contains("--no-split-index"), "{error}");
    // A file that leads to a repository which is not there hides what that one tracks.
    fs::rename(tree.path(".git"), tree.beside("moved")).unwrap();
    tree.write(".git", "gitdir: ../gone\n");
    assert_eq!(tree.look_at(".", &[]).unwrap_err().code(), "INPUTS_UNREADABLE");
    tree.write(".git", "gitdir: ../moved\n");
    git(&tree.beside("moved"), &["--work-tree=../work", "update-index", "--no-split-index"]);
    assert_eq!(tree.look().files, 8);
}

#[test]
fn settings_of_a_person_have_no_say() {
    if git_is_absent("settings_of_a_person_have_no_say") {
        return;
    }
    let tree = Tree::committed();
    fs::write(tree.beside("global"), "*.tmp\n").unwrap();
    tree.git(&["config", "core.excludesFile", tree.beside("global").to_str().unwrap()]);
    tree.write("a.tmp", "").write(".ignore", "src\n");
    assert_eq!(tree.look().files, 10);
}

#[test]
fn a_root_inside_a_repository_has_the_rules_from_above() {
    if git_is_absent("a_root_inside_a_repository_has_the_rules_from_above") {
        return;
    }
    let tree = Tree::committed();
    tree.write("build/.gitignore", "*").write("src/b.log", "").write("src/new", "");
    let list = git(&tree.path("src"), &LIST);
    let src = tree.look_at("src", &[]).unwrap();
    assert_eq!((src.digest, src.files), (naive(&tree.path("src"), &list), 2));
    // What is tracked in an ignored directory counts, and nothing else there.
    tree.write("build/deep/other", "");
    assert_eq!(tree.look_at("build/deep", &[]).unwrap().files, 1);
    // A workspace in a directory that the repository around ignores does not belong to it.
    tree.write("build/own/x", "").write("build/own/y.log", "");
    assert_eq!(tree.look_at("build/own", &[]).unwrap().files, 2);
}

#[test]
fn j10_an_edit_in_a_repository_inside_is_seen() {
    if git_is_absent("j10_an_edit_in_a_repository_inside_is_seen") {
        return;
    }
    let (tree, other) = (Tree::committed(), Tree::committed());
    tree.git(&["submodule", "--quiet", "add", other.path("").to_str().unwrap(), "sub"]);
    // The rule of the outer repository does not hold in the inner one, and its own does.
    tree.write(".gitignore", "*.rs\n*.log\n/build/\n");
    tree.write("sub/new.log", "").write("sub/new.rs", "");
    let list = String::from_utf8_lossy(&git(&tree.path("sub"), &LIST)).into_owned();
    let mut expected: Vec<PathBuf> = Tree::paths(&tree.look());
    expected.retain(|path| path.starts_with("sub"));
    assert_eq!(expected.len(), list.split_terminator('\0').count());
    assert!(expected.contains(&"sub/new.rs".into()) && !expected.contains(&"sub/new.log".into()));
    for path in ["sub/src/a.rs", "sub/kept.log"] {
        let before = tree.look().digest;
        tree.write(path, "edited");
        assert_ne!(tree.look().digest, before, "{path}");
    }
    // Who makes a repository of a directory cannot have it left out.
    let before = tree.look();
    git(&tree.path("src"), &["init", "--quiet"]);
    tree.write("src/.git/info/exclude", "*");
    assert_eq!(tree.look().digest, before.digest);
}

/// One thing that is done to a repository.
#[derive(Debug, Clone)]
enum Step {
    Write(Vec<u8>, u8),
    Rules(Vec<u8>, Vec<&'static str>),
    Exclude(Vec<&'static str>),
    Link(Vec<u8>),
    Executable(Vec<u8>),
    Remove(Vec<u8>),
    Track(Vec<u8>),
    Version(u8),
}

const PATTERNS: [&str; 26] = [
    "*.log",
    "/b",
    "a/",
    "!a/x.log",
    "b/**",
    "**/c",
    "# c",
    "\\!d",
    "x y ",
    "*",
    "!*/",
    "[ab]",
    "c/d",
    "?",
    "!*.log",
    "é",
    "/a/*",
    "!/a/b",
    "a/**/x.log",
    "\\#e",
    "[!a]",
    "d\r",
    "x.{log,c}",
    "{a,b}",
    "a[",
    "[{x].log",
];

fn a_path() -> impl Strategy<Value = Vec<u8>> {
    let names = prop_oneof![
        6 => prop::sample::select(vec![&b"a"[..], b"b", b"c", b"d"]),
        2 => Just(&b"x.log"[..]),
        1 => prop::sample::select(vec![&b"\xc3\xa9"[..], b"x y", b"!d", b"\xff", b"#e", b".h"]),
    ];
    prop::collection::vec(names, 1..4).prop_map(|names| names.join(&b'/'))
}

fn a_step() -> impl Strategy<Value = Step> {
    let patterns = || prop::collection::vec(prop::sample::select(&PATTERNS[..]), 1..5);
    let directory = prop_oneof![Just(Vec::new()), a_path()];
    prop_oneof![
        8 => (a_path(), any::<u8>()).prop_map(|(path, text)| Step::Write(path, text)),
        3 => (directory, patterns()).prop_map(|(path, lines)| Step::Rules(path, lines)),
        1 => patterns().prop_map(Step::Exclude),
        1 => a_path().prop_map(Step::Link),
        1 => a_path().prop_map(Step::Executable),
        1 => a_path().prop_map(Step::Remove),
        3 => a_path().prop_map(Step::Track),
        1 => prop::sample::select(vec![2, 4]).prop_map(Step::Version),
    ]
}

/// Does `step` in `tree`, as far as it can be done there.
fn take(tree: &Tree, step: &Step) {
    let path = |bytes: &[u8]| tree.path(OsStr::from_bytes(bytes));
    let write = |path: PathBuf, text: &[u8]| {
        if fs::create_dir_all(path.parent().unwrap()).is_ok() && !path.is_dir() {
            let _ = fs::remove_file(&path);
            fs::write(path, text).unwrap();
        }
    };
    match step {
        Step::Write(at, text) => write(path(at), &[*text]),
        Step::Rules(at, lines) => write(path(at).join(".gitignore"), lines.join("\n").as_bytes()),
        Step::Exclude(lines) => write(path(b".git/info/exclude"), lines.join("\n").as_bytes()),
        Step::Link(at) => {
            let _ = fs::create_dir_all(path(at).parent().unwrap());
            let _ = symlink("a/b", path(at));
        }
        Step::Executable(at) => {
            if path(at).symlink_metadata().is_ok_and(|meta| meta.is_file()) {
                fs::set_permissions(path(at), Permissions::from_mode(0o711)).unwrap();
            }
        }
        Step::Remove(at) => {
            let _ = fs::remove_file(path(at)).or_else(|_| fs::remove_dir_all(path(at)));
        }
        Step::Track(at) => {
            let mut add = Command::new("git");
            add.arg("-C").arg(tree.path("")).args(["add", "--force", "--"]);
            let _ = add.arg(OsStr::from_bytes(at)).output().unwrap();
        }
        Step::Version(version) => {
            tree.git(&["update-index", "--index-version", &version.to_string()]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// Whatever is done to a tree, the digest is that of git's list, also by what is known from before.
    #[test]
    fn j10_the_digest_is_that_of_gits_list(steps in prop::collection::vec(a_step(), 1..30)) {
        if git_is_absent("j10_the_digest_is_that_of_gits_list") {
            return Ok(());
        }
        let tree = Tree::repository();
        for step in &steps {
            take(&tree, step);
            tree.look();
        }
        prop_assert_eq!(tree.look().digest, naive(&tree.path(""), &tree.git(&LIST)));
        // Without the repository the rules alone count.
        fs::rename(tree.path(".git"), tree.beside("git")).unwrap();
        let _ = fs::remove_file(tree.beside("git/info/exclude"));
        let _ = fs::remove_file(tree.beside("git/index"));
        let place = tree.beside("git");
        let all = ["--git-dir", place.to_str().unwrap(), "--work-tree", ".", "ls-files", "-o",
            "--exclude-standard", "-z"];
        prop_assert_eq!(tree.look().digest, naive(&tree.path(""), &tree.git(&all)));
    }
}
