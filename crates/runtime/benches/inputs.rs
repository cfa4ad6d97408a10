//! What it costs to look at the inputs of a procedure again: a hundred thousand tracked files of which
//! none changed, and the same with one edit, beside `git status` on the same tree.

#![allow(clippy::unwrap_used, reason = "a benchmark may stop")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use concertina_runtime::inputs::{DigestCache, Inputs, InputsDigest};
use tempfile::TempDir;

/// 1,000 directories of 100 files.
const DIRECTORIES: usize = 1_000;
const FILES: usize = 100;

fn main() {
    divan::main();
}

struct Tree {
    world: TempDir,
    inputs: Inputs,
    cache: DigestCache,
}

impl Tree {
    fn digest(&self) -> InputsDigest {
        self.inputs.digest(&self.cache).unwrap()
    }

    fn work(&self) -> PathBuf {
        self.world.path().join("work")
    }
}

fn git(work: &Path, words: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "core.fsmonitor=false", "-C"]).arg(work).args(words);
    assert!(git.stdout(Stdio::null()).status().unwrap().success());
}

/// One tree for all benchmarks, which is left behind in the temporary directory when they end.
fn tree() -> &'static Tree {
    static TREE: OnceLock<Tree> = OnceLock::new();
    TREE.get_or_init(|| {
        let world = tempfile::tempdir().unwrap();
        let work = world.path().join("work");
        for directory in 0..DIRECTORIES {
            let path = work.join(format!("crates/group{}/part{directory}", directory % 30));
            fs::create_dir_all(&path).unwrap();
            for file in 0..FILES {
                let text = format!("// {directory} {file}\n").repeat(60);
                fs::write(path.join(format!("source_{file}.rs")), text).unwrap();
            }
        }
        fs::write(work.join(".gitignore"), "target/\n*.log\n/node_modules\n").unwrap();
        git(&work, &["init", "--quiet"]);
        git(&work, &["add", "--all"]);
        // What was changed just now is not kept.
        std::thread::sleep(Duration::from_secs(1));
        git(&work, &["status", "--porcelain"]);
        let inputs = Inputs::new(&work, ".", &["target/**".to_owned()]).unwrap();
        let cache = DigestCache::below(&world.path().join("state"));
        let tree = Tree { world, inputs, cache };
        assert!(tree.digest().read > 0 && tree.digest().read == 0);
        tree
    })
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn unchanged(bencher: divan::Bencher) {
    let tree = tree();
    bencher.bench(|| tree.digest());
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn one_edit(bencher: divan::Bencher) {
    let tree = tree();
    let edited = tree.work().join("crates/group7/part7/source_7.rs");
    let edit = || fs::write(&edited, "// another\n").unwrap();
    bencher.with_inputs(edit).bench_values(|()| tree.digest());
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn nothing_known(bencher: divan::Bencher) {
    let tree = tree();
    let nowhere = DigestCache::below("/dev/null/nowhere".as_ref());
    bencher.bench(|| tree.inputs.digest(&nowhere).unwrap());
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn git_status(bencher: divan::Bencher) {
    let tree = tree();
    bencher.bench(|| git(&tree.work(), &["status", "--porcelain"]));
}
