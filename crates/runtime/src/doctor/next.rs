//! The one command that helps most now.

use std::collections::BTreeMap;
use std::path::Path;

use super::pool::root_of;
use super::report::{Next, Report};
use super::skills::UNTRUSTED;

/// What is lost most decides: whole skills first, then text, then names, then what is hidden on
/// purpose. Every command named here exists.
pub(super) fn command(report: &Report) -> Option<Next> {
    if report.is_empty() {
        return None;
    }
    let skills = &report.skills;
    let next = |command: String, why: String| Some(Next { command, why });
    let broken = broken(report);
    let waiting = skills.hidden.iter().find(|hidden| hidden.code == UNTRUSTED);
    let waiting = waiting.map_or(0, |hidden| hidden.names.len());
    if waiting > broken.values().sum() {
        let why =
            "a model sees the skills of this project only then; look at them before".to_owned();
        return next(
            format!("concertina trust {}", quoted(&report.relative(&report.project))),
            why,
        );
    }
    if let Some((root, count)) =
        broken.iter().max_by_key(|(root, count)| (**count, std::cmp::Reverse(*root)))
    {
        let what = if *count == 1 {
            "1 file there is".to_owned()
        } else {
            format!("{count} files there are")
        };
        let why = format!("{what} lost; it says what is wrong, where, and what to do");
        return next(format!("concertina skill check {}", quoted(&report.relative(root))), why);
    }
    if let Some(miss) = report.near_misses.iter().find(|miss| !Path::new(&miss.expected).exists()) {
        let (from, to) = (quoted(&report.relative(&miss.path)), report.relative(&miss.expected));
        let parent = Path::new(&to).parent().filter(|parent| !parent.as_os_str().is_empty());
        let there = Path::new(&miss.expected).parent().is_some_and(Path::is_dir);
        let make = parent
            .filter(|_| !there)
            .map(|parent| format!("mkdir -p {} && ", quoted(&parent.display().to_string())));
        let command = format!("{}mv {from} {}", make.unwrap_or_default(), quoted(&to));
        return next(command, "then it is found".to_owned());
    }
    let index = &skills.index;
    let cut = index.shortened + index.names_only + index.omitted;
    if index.names_only + index.omitted > 0 || cut > skills.collisions.len() {
        let why = "it prints the exact index that a model is shown, and what was cut".to_owned();
        return next("concertina skill list --render".to_owned(), why);
    }
    if !skills.collisions.is_empty() {
        let why = "it names the skills that lost their name, and how to open them".to_owned();
        return next("concertina skill list --shadowed".to_owned(), why);
    }
    let findings: usize = skills.findings.iter().map(|found| found.skills).sum();
    let largest = skills.from.iter().find(|from| from.scope != "bundled");
    if let (1.., Some(from)) = (findings, largest) {
        let why = "it says what could be better in each file, where, and what to do".to_owned();
        return next(
            format!("concertina skill check {}", quoted(&report.relative(&from.path))),
            why,
        );
    }
    if let Some((hidden, name)) =
        skills.hidden.iter().find_map(|hidden| Some((hidden, hidden.names.first()?)))
    {
        let why = format!("it says why a model does not see it ({})", hidden.code);
        return next(format!("concertina explain {}", quoted(&format!("skill:{name}"))), why);
    }
    if skills.total > skills.bundled {
        let why = "it prints the exact index that a model is shown".to_owned();
        return next("concertina skill list --render".to_owned(), why);
    }
    if !report.tools.local.is_empty() {
        return next(
            "concertina tool list".to_owned(),
            "it shows the tools that can be called".to_owned(),
        );
    }
    None
}

/// How many files are lost in each directory: skipped, or hidden for what is wrong in them.
fn broken(report: &Report) -> BTreeMap<String, usize> {
    let mut broken: BTreeMap<String, usize> = BTreeMap::new();
    let skipped = report.skills.skipped.iter().filter(|skipped| skipped.is_loss());
    let hidden = report.skills.hidden.iter().filter(|hidden| !hidden.intended);
    let of_files = hidden
        .filter(|hidden| ![UNTRUSTED, "POLICY_UNREADABLE"].contains(&hidden.code.as_str()))
        .flat_map(|hidden| &hidden.paths);
    for path in skipped.map(|skipped| &skipped.path).chain(of_files) {
        *broken.entry(root_of(Path::new(path))).or_default() += 1;
    }
    broken
}

impl Report {
    /// `path` as it can be typed in the workspace.
    pub(super) fn relative(&self, path: &str) -> String {
        match Path::new(path).strip_prefix(&self.workspace) {
            Ok(below) if below.as_os_str().is_empty() => ".".to_owned(),
            // What begins with a dash would be taken for an option.
            Ok(below) if below.to_string_lossy().starts_with('-') => {
                format!("./{}", below.display())
            }
            Ok(below) => below.display().to_string(),
            Err(_) => path.to_owned(),
        }
    }

    /// `path` as a person knows it.
    pub(super) fn familiar(&self, path: &str) -> String {
        let short = self.relative(path);
        let home = self.home.as_deref().and_then(|home| Path::new(&short).strip_prefix(home).ok());
        home.map_or_else(|| short.clone(), |below| format!("~/{}", below.display()))
    }
}

/// `text` as one word of a shell.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-:+,@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
