//! Files that a body refers to.

use std::collections::BTreeSet;

use super::Report;
use super::outline::Outline;
use crate::skill::codes::Code;

/// Directories that belong to a skill by convention: in code, only a path that begins with one of
/// them is surely meant to be a file of the skill and not of the project it works on.
const OWN_DIRECTORIES: &[&str] =
    &["scripts", "references", "reference", "assets", "templates", "resources"];
/// Variables for the directory of the skill.
const SKILL_DIR: &[&str] = &["${CLAUDE_SKILL_DIR}/", "${SKILL_DIR}/", "{baseDir}/"];
/// What marks a path as a pattern or an example.
const PLACEHOLDERS: &[char] =
    &['{', '}', '<', '>', '*', '$', '[', ']', '…', '|', '`', '"', '\\', '='];

/// Where a path leads.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    /// A file or directory of the skill, without `.` and `..`.
    Inside(String),
    /// Somewhere else.
    Outside,
}

pub(super) fn look(outline: &Outline, files: &[String], report: &mut Report<'_>) {
    let files: BTreeSet<&str> = files.iter().map(String::as_str).collect();
    let mut told = BTreeSet::new();
    let mut check = |path: &str, at: usize, report: &mut Report<'_>| {
        if !told.insert(path.to_owned()) {
            return;
        }
        match target(path) {
            Target::Outside => {
                let message = format!("`{path}` is outside the directory of the skill");
                report.body(Code::ReferenceEscapes, at, message);
            }
            Target::Inside(inside) if !files.is_empty() && !exists(&inside, &files) => {
                report.body(Code::ReferenceMissing, at, format!("there is no file `{path}`"));
            }
            Target::Inside(_) => {}
        }
    };
    for link in &outline.links {
        if let Some(path) = linked(&link.text) {
            check(&path, link.at, report);
        }
    }
    for code in outline.spans.iter().chain(&outline.blocks) {
        for (offset, word) in shell_words(&code.text) {
            let below = SKILL_DIR.iter().find_map(|variable| word.split_once(variable));
            let own = below.map(|(_, path)| path).or_else(|| is_own(word).then_some(word));
            // Blocks show whole programs and trees; only the variable is certain there.
            let block = code.text.contains('\n');
            if let Some(path) = own.filter(|path| is_file(path) && (below.is_some() || !block)) {
                check(path, code.at + offset, report);
            }
        }
    }
}

/// The path that a link leads to, where it leads to a file next to it.
fn linked(destination: &str) -> Option<String> {
    let path = destination.split(['#', '?']).next().unwrap_or_default();
    let scheme = path.split_once(':').is_some_and(|(scheme, _)| {
        scheme.len() > 1
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
    });
    let path = if let Some(file) = path.strip_prefix("file://") {
        file
    } else if scheme {
        return None;
    } else {
        path
    };
    let path = decoded(path);
    let example = path.contains(PLACEHOLDERS) || path.contains("...") || path.contains("path/to");
    let file_like = path.contains('/') || is_file(&path);
    (!path.is_empty() && !path.starts_with("//") && !example && file_like).then_some(path)
}

/// `%20` and the like as the bytes they stand for.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, later)) = rest.split_first() {
        let hex = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
        if let (b'%', Some(high), Some(low)) = (first, hex(later.first()), hex(later.get(1))) {
            bytes.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
            rest = later.get(2..).unwrap_or_default();
        } else {
            bytes.push(first);
            rest = later;
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| path.to_owned())
}

/// The words of a command line that can be paths, and where they begin.
fn shell_words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut end = 0;
    text.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '(' | ')' | ',' | ';')).map(
        move |word| {
            let start = end;
            end += word.len() + 1;
            (start, word.trim_end_matches(['.', ':']))
        },
    )
}

/// Whether `path` begins with a directory of the skill, or climbs out of one.
fn is_own(path: &str) -> bool {
    let path = path.strip_prefix("./").unwrap_or(path);
    path.split_once('/').is_some_and(|(first, _)| OWN_DIRECTORIES.contains(&first))
}

/// Whether the last part of `path` has an extension and nothing marks it as an example.
fn is_file(path: &str) -> bool {
    let last = path.rsplit('/').next().unwrap_or_default();
    let extension = last.rsplit_once('.').is_some_and(|(stem, extension)| {
        let plain = extension.bytes().all(|b| b.is_ascii_alphanumeric());
        !stem.is_empty()
            && (1..=5).contains(&extension.len())
            && plain
            && !extension.bytes().all(|b| b.is_ascii_digit())
    });
    let example = path.contains(PLACEHOLDERS)
        || path.contains("...")
        || path.contains("XX")
        || path.contains("path/to");
    extension && !example
}

fn target(path: &str) -> Target {
    let drive = path.as_bytes().get(1) == Some(&b':');
    if path.starts_with(['/', '\\', '~']) || drive {
        return Target::Outside;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => {
                if parts.pop().is_none() {
                    return Target::Outside;
                }
            }
            part => parts.push(part),
        }
    }
    Target::Inside(parts.join("/"))
}

/// Whether `path` is one of `files`, or a directory above one.
fn exists(path: &str, files: &BTreeSet<&str>) -> bool {
    let below = format!("{path}/");
    path.is_empty()
        || files.contains(path)
        || files.range(below.as_str()..).next().is_some_and(|file| file.starts_with(&below))
}
