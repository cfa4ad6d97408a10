//! What a `.gitignore` says. The file that lies nearer outweighs one farther up.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// A `.gitignore` or `info/exclude`, in bytes. Real ones stay below 100 KB.
pub(super) const RULES_BYTES: usize = 4 * 1024 * 1024;

/// The rules of one file, and those it outweighs.
#[derive(Debug)]
pub(super) struct Rules {
    above: Option<Arc<Rules>>,
    /// How many bytes of a path lead to the directory of the file.
    base: usize,
    patterns: Gitignore,
}

impl Rules {
    /// The rules that hold where a file with `text` lies in the directory whose path has `base` bytes.
    pub(super) fn nearer(above: Option<Arc<Self>>, base: usize, text: &[u8]) -> Option<Arc<Self>> {
        let patterns = compile(text);
        if patterns.is_empty() {
            return above;
        }
        Some(Arc::new(Self { above, base, patterns }))
    }

    /// Whether `path` is ignored, as far as nothing above it is.
    pub(super) fn ignore(&self, path: &[u8], is_directory: bool) -> bool {
        let mut rules = Some(self);
        while let Some(here) = rules {
            let relative = path_of(path.get(here.base..).unwrap_or_default());
            match here.patterns.matched(relative, is_directory) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => rules = here.above.as_deref(),
            }
        }
        false
    }
}

/// A line that cannot be read matches nothing: more files count, not fewer.
fn compile(text: &[u8]) -> Gitignore {
    let mut builder = GitignoreBuilder::new("");
    // To git a bracket that is not closed matches nothing.
    builder.allow_unclosed_class(false);
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    for line in text.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Ok(line) = std::str::from_utf8(line) {
            // To git a `\` in brackets escapes what follows, to the matcher it does not.
            if line.contains('[') && line.contains('\\') && !line.starts_with('!') {
                continue;
            }
            let _ = builder.add_line(None, &with_literal_braces(line));
        }
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// `line` so that its braces stand for themselves, as they do to git; to the matcher they list choices.
fn with_literal_braces(line: &str) -> String {
    let mut literal = String::with_capacity(line.len());
    let (mut is_escaped, mut is_class) = (false, false);
    for character in line.chars() {
        if matches!(character, '{' | '}') && !is_escaped && !is_class {
            literal.push('\\');
        }
        literal.push(character);
        if !is_escaped {
            is_class = character == '[' || is_class && character != ']';
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    literal
}

pub(super) fn path_of(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}
