//! Files as people write them.

use std::fs;
use std::path::{Path, PathBuf};

use concertina_tokens::{count, encode};

use crate::reference;

fn files_below(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            files_below(&entry.path(), files);
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
}

fn assert_same(files: &[PathBuf]) {
    for file in files {
        // Bytes that are no UTF-8 are read as replacement characters.
        let bytes = fs::read(file).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let expected = reference(&text);
        assert_eq!(count(&text).0, expected.len() as u64, "{}", file.display());
        assert!(encode(&text) == expected, "{}", file.display());
    }
}

#[test]
fn every_source_file_of_this_package() {
    let mut files = Vec::new();
    files_below(Path::new(env!("CARGO_MANIFEST_DIR")), &mut files);
    files.retain(|file| file.extension().is_some_and(|extension| extension == "rs"));
    assert!(files.len() > 5);
    assert_same(&files);
}

#[test]
fn every_file_of_the_corpus() {
    let Some(corpus) = std::env::var_os("CONCERTINA_CORPUS") else {
        eprintln!("skipped: CONCERTINA_CORPUS names no directory");
        return;
    };
    let mut files = Vec::new();
    files_below(Path::new(&corpus), &mut files);
    assert!(!files.is_empty());
    assert_same(&files);
}
