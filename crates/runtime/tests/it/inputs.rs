//! The digest of a workspace's inputs: what counts, what an edit changes, and what is known from before.

use std::fs::{self, File, FileTimes, Permissions};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use concertina_runtime::inputs::{
    Changed, DigestCache, How, Inputs, InputsDigest, InputsError, changed, differences,
};
use concertina_types::Digest;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

/// A workspace, and a directory of state beside it.
pub(crate) struct Tree {
    world: TempDir,
}

impl Tree {
    pub(crate) fn new() -> Self {
        let world = tempfile::tempdir().unwrap();
        fs::create_dir(world.path().join("work")).unwrap();
        Self { world }
    }

    /// A workspace of two files.
    fn of_two() -> Self {
        let tree = Self::new();
        tree.write("src/a.rs", "fn a() {}").write("b.txt", "b");
        tree
    }

    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        // Without a slash behind it where the workspace itself is meant.
        self.world.path().join("work").components().chain(path.as_ref().components()).collect()
    }

    pub(crate) fn beside(&self, path: &str) -> PathBuf {
        self.world.path().join(path)
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn cache(&self) -> DigestCache {
        DigestCache::below(&self.beside("state"))
    }

    pub(crate) fn look_at(&self, root: &str, ignore: &[&str]) -> Result<InputsDigest, InputsError> {
        let ignore: Vec<String> = ignore.iter().map(ToString::to_string).collect();
        Inputs::new(&self.path(""), root, &ignore)?.digest(&self.cache())
    }

    pub(crate) fn look(&self) -> InputsDigest {
        self.look_at(".", &[]).unwrap()
    }

    /// A look a while later, for which nothing was changed just now.
    fn look_in(&self, seconds: u64) -> InputsDigest {
        let later = SystemTime::now() + Duration::from_secs(seconds);
        Inputs::new(&self.path(""), ".", &[]).unwrap().digest_at(&self.cache(), later).unwrap()
    }

    /// The paths that a look gives.
    pub(crate) fn paths(look: &InputsDigest) -> Vec<PathBuf> {
        let empty = Self::new().look();
        differences(&empty, look).map(|added| added.path).collect()
    }

    /// The file of the cache.
    fn kept(&self) -> PathBuf {
        let mut files = fs::read_dir(self.beside("state/cache/inputs")).unwrap();
        files.next().unwrap().unwrap().path()
    }
}

/// What inputs are, written down once more: sorted, each with its length.
pub(crate) fn digest_of(mut entries: Vec<(Vec<u8>, u8, Digest)>) -> Digest {
    entries.sort();
    let mut bytes = b"concertina inputs 1\n".to_vec();
    for (path, kind, content) in entries {
        bytes.extend((path.len() as u64).to_le_bytes());
        bytes.extend(path);
        bytes.push(kind);
        bytes.extend(content.as_bytes());
    }
    Digest::of(&bytes)
}

fn only(path: &str, how: How) -> Vec<Changed> {
    vec![Changed { path: path.into(), how }]
}

/// Waits until a change gets another time than what was changed before.
fn tick() {
    std::thread::sleep(Duration::from_millis(30));
}

#[test]
fn the_digest_is_that_of_paths_kinds_and_contents() {
    let tree = Tree::of_two();
    symlink("../nowhere", tree.path("link")).unwrap();
    fs::set_permissions(tree.path("b.txt"), Permissions::from_mode(0o700)).unwrap();
    let expected = digest_of(vec![
        (b"src/a.rs".to_vec(), b'f', Digest::of(b"fn a() {}")),
        (b"b.txt".to_vec(), b'x', Digest::of(b"b")),
        (b"link".to_vec(), b'l', Digest::of(b"../nowhere")),
    ]);
    let look = tree.look();
    assert_eq!((look.digest, look.files), (expected, 3));
}

#[test]
fn j10_an_edit_an_addition_a_removal_and_a_mode_make_another_digest() {
    let tree = Tree::of_two();
    let mut last = tree.look();
    let mut expect = |what: Vec<Changed>| {
        let look = tree.look();
        assert_ne!(look.digest, last.digest, "{what:?}");
        assert_eq!(changed(&last, &look).shown, what);
        last = look;
    };
    tree.write("src/a.rs", "fn b() {}");
    expect(only("src/a.rs", How::Modified));
    tree.write("src/new.rs", "");
    expect(only("src/new.rs", How::Added));
    fs::remove_file(tree.path("src/new.rs")).unwrap();
    expect(only("src/new.rs", How::Removed));
    fs::set_permissions(tree.path("b.txt"), Permissions::from_mode(0o744)).unwrap();
    expect(only("b.txt", How::Mode));
    fs::remove_file(tree.path("b.txt")).unwrap();
    symlink("src/a.rs", tree.path("b.txt")).unwrap();
    expect(only("b.txt", How::Modified));
    fs::rename(tree.path("src/a.rs"), tree.path("src/c.rs")).unwrap();
    let moved = [only("src/a.rs", How::Removed), only("src/c.rs", How::Added)].concat();
    expect(moved);
}

#[test]
fn j10_an_edit_is_seen_although_size_and_time_of_modification_stay() {
    let tree = Tree::of_two();
    tick();
    let before = tree.look_in(10);
    assert_eq!(tree.look_in(20).read, 0, "what is known is not read");
    let modified = fs::metadata(tree.path("b.txt")).unwrap().modified().unwrap();
    tree.write("b.txt", "c");
    let times = FileTimes::new().set_modified(modified);
    File::options().write(true).open(tree.path("b.txt")).unwrap().set_times(times).unwrap();
    let after = tree.look_in(30);
    assert_eq!(after.read, 1);
    assert_eq!(changed(&before, &after).shown, only("b.txt", How::Modified));
}

#[test]
fn j10_a_file_that_another_was_renamed_to_is_seen() {
    let tree = Tree::of_two();
    tick();
    let before = tree.look_in(10);
    let old = fs::metadata(tree.path("b.txt")).unwrap();
    fs::write(tree.beside("new"), "c").unwrap();
    let times = FileTimes::new().set_modified(old.modified().unwrap());
    File::options().write(true).open(tree.beside("new")).unwrap().set_times(times).unwrap();
    fs::rename(tree.beside("new"), tree.path("b.txt")).unwrap();
    assert_ne!(tree.look_in(20).digest, before.digest);
}

#[test]
fn j10_what_was_changed_just_now_is_read_again() {
    let tree = Tree::of_two();
    for round in 0..200 {
        // The same size, and often the same tick of the clock.
        tree.write("b.txt", format!("{round:03}"));
        let text = Digest::of(format!("{round:03}").as_bytes());
        let a = (b"src/a.rs".to_vec(), b'f', Digest::of(b"fn a() {}"));
        let expected = digest_of(vec![a, (b"b.txt".to_vec(), b'f', text)]);
        assert_eq!(tree.look().digest, expected, "round {round}");
    }
}

#[test]
fn j10_a_clock_that_was_set_back_makes_nothing_known() {
    let tree = Tree::of_two();
    tick();
    tree.look_in(1_000);
    assert_eq!(tree.look_in(1_001).read, 0);
    assert_eq!(tree.look_in(999).read, 2, "what is known was written later");
    assert_eq!(tree.look_in(1_000).read, 0);
    // A file that was changed before the clock was set back: its times are yet to come.
    let times = FileTimes::new().set_modified(SystemTime::now() + Duration::from_secs(50_000));
    File::options().write(true).open(tree.path("b.txt")).unwrap().set_times(times).unwrap();
    assert_eq!(tree.look_in(2_000).read, 1);
    assert_eq!(tree.look_in(3_000).read, 1);
}

#[test]
fn a_file_of_the_cache_that_is_damaged_or_foreign_is_not_believed() {
    let tree = Tree::of_two();
    let other = Tree::of_two();
    tick();
    let expected = tree.look_in(10).digest;
    let whole = fs::read(tree.kept()).unwrap();
    other.look_in(10);
    let foreign = fs::read(other.kept()).unwrap();
    let mut bad = vec![Vec::new(), b"{}".to_vec(), foreign, [&whole[..], b"x"].concat()];
    bad.extend((0..whole.len()).map(|cut| whole[..cut].to_vec()));
    bad.extend((0..whole.len()).map(|at| {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        damaged
    }));
    for (number, bytes) in bad.into_iter().enumerate() {
        fs::write(tree.kept(), bytes).unwrap();
        let look = tree.look_in(20);
        assert_eq!((look.digest, look.read), (expected, 2), "case {number}");
        assert_eq!(tree.look_in(20).read, 0, "it is made again in case {number}");
        fs::write(tree.kept(), &whole).unwrap();
    }
}

#[test]
fn the_cache_is_for_one_person_and_its_absence_costs_only_time() {
    let tree = Tree::of_two();
    tick();
    tree.look_in(10);
    assert_eq!(fs::metadata(tree.kept()).unwrap().mode() & 0o777, 0o600);
    let nowhere = DigestCache::below("/dev/null/state".as_ref());
    let inputs = Inputs::new(&tree.path(""), ".", &[]).unwrap();
    let later = SystemTime::now() + Duration::from_secs(10);
    let look = inputs.digest_at(&nowhere, later).unwrap();
    assert_eq!(look.digest, tree.look().digest);
    let note = look.note.unwrap();
    assert!(note.starts_with("digests of files are not kept: "), "{note}");
}

#[test]
fn looks_at_the_same_time_agree() {
    let tree = Tree::new();
    for number in 0..300 {
        tree.write(format!("{}/{}/f{number}", number % 7, number % 11), format!("{number}"));
    }
    tick();
    let expected = tree.look_in(1).digest;
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let tree = &tree;
            scope.spawn(move || {
                for round in 0..10 {
                    assert_eq!(tree.look_in(2 + thread * round).digest, expected);
                }
            });
        }
    });
}

#[test]
fn what_is_no_file_is_recorded_by_its_kind_and_never_opened() {
    let tree = Tree::new();
    let _listener = UnixListener::bind(tree.path("socket")).unwrap();
    let mode = Mode::from_raw_mode(0o600);
    // To open it would wait for a writer.
    mknodat(CWD, tree.path("pipe"), FileType::Fifo, mode, 0).unwrap();
    let nothing = Digest::from_bytes([0; 32]);
    let expected = vec![(b"socket".to_vec(), b's', nothing), (b"pipe".to_vec(), b'p', nothing)];
    assert_eq!(tree.look().digest, digest_of(expected));
    // A pipe in the place of rules says nothing, and nobody waits for it.
    mknodat(CWD, tree.path(".gitignore"), FileType::Fifo, mode, 0).unwrap();
    assert_eq!(tree.look().files, 3);
}

#[test]
fn names_are_bytes() {
    let tree = Tree::new();
    let names: [&[u8]; 4] = [b"caf\xc3\xa9", b"caf\xe9", b"\xff\xfe", b"line\nbreak \\ \""];
    for name in names {
        tree.write(std::ffi::OsStr::from_bytes(name), name);
    }
    let entry = |name: &[u8]| (name.to_vec(), b'f', Digest::of(name));
    let look = tree.look();
    assert_eq!(look.digest, digest_of(names.into_iter().map(entry).collect()));
    let shown = changed(&Tree::new().look(), &look).to_string();
    assert!(!shown.contains('\n') && shown.contains(r"\xFF"), "{shown}");
}

#[test]
fn without_a_repository_the_rules_of_the_directories_hold() {
    let tree = Tree::new();
    tree.write(".gitignore", "*.log\n/out\n").write("a.log", "").write("out/x", "");
    tree.write("in/.gitignore", "!keep.log\nout\n").write("in/keep.log", "").write("in/out", "");
    tree.write(".hidden", "").write(".ignore", "shown\n").write("shown", "");
    let expected = [".gitignore", ".hidden", ".ignore", "in/.gitignore", "in/keep.log", "shown"];
    assert_eq!(Tree::paths(&tree.look()), expected.map(PathBuf::from));
}

#[test]
fn a_pattern_of_the_procedure_leaves_out() {
    let tree = Tree::of_two();
    tree.write("target/debug/a", "").write("target/x", "").write("src/target", "");
    let look = tree.look_at(".", &["target/**", "*.txt"]).unwrap();
    assert_eq!(Tree::paths(&look), ["src/a.rs", "src/target"].map(PathBuf::from));
    let inside = tree.look_at("src", &[]).unwrap();
    assert_eq!(Tree::paths(&inside), ["a.rs", "target"].map(PathBuf::from));
    for pattern in ["[a", "a{", "", "# x"] {
        let error = tree.look_at(".", &[pattern]).unwrap_err();
        assert_eq!(error.code(), "INPUTS_PATTERN", "{pattern:?}: {error}");
    }
}

#[test]
fn the_root_stays_inside_and_links_are_not_followed() {
    let tree = Tree::of_two();
    fs::create_dir(tree.beside("outside")).unwrap();
    fs::write(tree.beside("outside/secret"), "s").unwrap();
    symlink(tree.beside("outside"), tree.path("out")).unwrap();
    symlink("src", tree.path("in")).unwrap();
    for root in ["..", "out", "/", "b.txt", "none", "src/../.."] {
        let error = tree.look_at(root, &[]).unwrap_err();
        assert_eq!(error.code(), "INPUTS_ROOT", "{root}");
    }
    let before = tree.look();
    assert_eq!(Tree::paths(&before), ["b.txt", "in", "out", "src/a.rs"].map(PathBuf::from));
    fs::write(tree.beside("outside/secret"), "other").unwrap();
    assert_eq!(tree.look().digest, before.digest, "what a link leads to is no input");
    assert_eq!(tree.look_at("in", &[]).unwrap().digest, tree.look_at("src", &[]).unwrap().digest);
}

#[test]
fn state_that_lies_in_the_workspace_is_no_input() {
    let tree = Tree::of_two();
    tick();
    let inputs = Inputs::new(&tree.path(""), ".", &[]).unwrap();
    let inner = DigestCache::below(&tree.path("src/state"));
    let later = SystemTime::now() + Duration::from_secs(10);
    let first = inputs.digest_at(&inner, later).unwrap();
    assert!(tree.path("src/state/cache").is_dir());
    assert_eq!(inputs.digest_at(&inner, later).unwrap().digest, first.digest);
    assert_eq!(first.files, 2);
}

#[test]
fn what_cannot_be_read_is_named() {
    let tree = Tree::of_two();
    tree.write("closed", "");
    fs::set_permissions(tree.path("closed"), Permissions::from_mode(0o000)).unwrap();
    if fs::read(tree.path("closed")).is_ok() {
        eprintln!("skipped: what_cannot_be_read_is_named: no permission stops this user");
        return;
    }
    fs::remove_file(tree.path("closed")).unwrap();
    for (path, mode) in [("src/a.rs", 0o000), ("src", 0o000), ("src", 0o600)] {
        let old = fs::metadata(tree.path(path)).unwrap().permissions();
        fs::set_permissions(tree.path(path), Permissions::from_mode(mode)).unwrap();
        let error = tree.look_at(".", &[]).unwrap_err();
        assert_eq!(error.code(), "INPUTS_UNREADABLE");
        assert!(error.to_string().contains(path), "{error}");
        fs::set_permissions(tree.path(path), old).unwrap();
    }
}

#[test]
fn a_file_that_changes_while_it_is_read_has_no_digest() {
    let tree = Tree::of_two();
    // Long enough to be read that a writer gets its turn.
    let mut file = File::create(tree.path("growing")).unwrap();
    file.set_len(64 * 1024 * 1024).unwrap();
    let done = AtomicBool::new(false);
    let error = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                file.write_all(b"more").unwrap();
            }
        });
        let look = tree.look_at(".", &[]);
        done.store(true, Ordering::Relaxed);
        look.unwrap_err()
    });
    assert_eq!(error.code(), "INPUTS_CHANGING");
    assert!(error.to_string().contains("growing"), "{error}");
}

#[test]
fn what_is_too_deep_is_said_so() {
    let tree = Tree::new();
    let deep = |levels: usize| vec!["d"; levels].join("/");
    fs::create_dir_all(tree.path(deep(200))).unwrap();
    assert_eq!(tree.look().files, 0);
    fs::create_dir_all(tree.path(deep(201))).unwrap();
    assert_eq!(tree.look_at(".", &[]).unwrap_err().code(), "INPUTS_TOO_LARGE");
}

#[test]
fn many_changes_are_shown_in_part_and_given_whole() {
    let tree = Tree::new();
    let before = tree.look();
    for number in 10..60 {
        tree.write(format!("f{number}"), "");
    }
    let after = tree.look();
    let changes = changed(&before, &after);
    assert_eq!((changes.shown.len(), changes.more), (20, 30));
    assert!(changes.to_string().ends_with("\"f29\" (added) and 30 more"), "{changes}");
    assert_eq!(differences(&before, &after).count(), 50);
    assert_eq!(changed(&after, &tree.look()).shown, []);
}

#[test]
fn j10_a_link_counts_with_what_is_hidden_behind_it() {
    let tree = Tree::of_two();
    tree.write(".gitignore", "hidden\n").write("hidden", "one");
    symlink("hidden", tree.path("link")).unwrap();
    let before = tree.look();
    tree.write("hidden", "two");
    assert_eq!(differences(&before, &tree.look()).count(), 1, "used through the link");
    let before = tree.look();
    fs::remove_file(tree.path("hidden")).unwrap();
    assert_eq!(differences(&before, &tree.look()).count(), 1);
    // One that leads to itself, and one to a directory, are what they say.
    symlink("round", tree.path("round")).unwrap();
    symlink("src", tree.path("there")).unwrap();
    assert!(tree.look_at(".", &[]).is_ok());
}

#[test]
fn j10_what_git_passes_over_hides_nothing() {
    let tree = Tree::of_two();
    let count = || tree.look().files;
    // A directory that only looks like a repository, or excludes what lies in it.
    tree.write("sub/.git/HEAD", "x").write("sub/.git/info/exclude", "*\n");
    let before = count();
    tree.write("sub/evil.sh", "echo evil");
    assert_eq!(count(), before + 1);
    tree.write("sub/.git/HEAD", "ref: refs/heads/main\n").write("sub/.git/objects/x", "x");
    tree.write("sub/.git/refs/x", "x");
    assert_eq!(count(), before + 1, "nor does a real one inside");
    tree.write("elsewhere/HEAD", "x").write("gone/.git", "gitdir:../elsewhere\n");
    tree.write("gone/evil.sh", "echo evil");
    assert_eq!(count(), before + 3);
    // In brackets a backslash escapes to git.
    tree.write("evil.sh", "echo evil").write(".gitignore", "e[v\\]il.sh\n");
    assert_eq!(count(), before + 5);
}
