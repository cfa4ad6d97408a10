//! From what was refused to the smallest declaration that allows it.

use std::collections::{BTreeMap, BTreeSet};

use concertina_types::{NetworkScope, PathScope, Permissions};
use globset::escape;
use serde::{Deserialize, Serialize};

use super::execute::CommandPattern;
use super::host::{CONNECT, Host, WRITING, not_public};
use super::path::FilePath;
use super::path_pattern::PathPattern;
use super::reach::Connection;
use super::request::Request;
use super::resolve::{Surroundings, resolve};
use super::scope::Part as _;
use super::shell;

/// So many of a kind are named as one: fewer are quickly read, and a pattern would allow more.
const FOLDED: usize = 3;

/// A request that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// What was asked for.
    pub request: Request,
    /// Whether a rule denies it: then no declaration allows it.
    pub by_rule: bool,
}

/// What could be declared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Suggestion {
    /// The declaration, in a fixed order.
    pub permissions: Permissions,
    /// What it leaves out on purpose.
    pub withheld: Vec<Withheld>,
}

/// A refused request that is not suggested.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Withheld {
    /// What was asked for.
    pub request: Request,
    /// A stable code: why not.
    pub code: &'static str,
    /// The same in words.
    pub reason: String,
}

/// The smallest declaration that allows exactly `request`; none where none would.
pub(super) fn smallest(request: &Request) -> Option<Permissions> {
    let mut permissions = Permissions::default();
    let scope = |pattern: PathPattern| vec![PathScope { paths: vec![pattern.to_string()] }];
    match request {
        Request::Read(path) => permissions.read = scope(PathPattern::file(path.clone())),
        Request::Write(path) => permissions.write = scope(PathPattern::file(path.clone())),
        Request::Connect(connection) => {
            let domains = vec![domain(connection)];
            let methods = vec![connection.method.clone()];
            permissions.network.push(NetworkScope { domains, methods });
        }
        Request::Run(words) => permissions.execute.push(command(words)?.to_string()),
        Request::Call(tool) => permissions.tools.push(escape(tool.as_str())),
    }
    Some(permissions)
}

/// What would have to be declared so that `denials` are allowed, where they may be.
///
/// Three or more files of one directory are named by the directory, three or more commands that differ
/// in one word by a pattern for that word which no option matches. What a rule denies, protected places
/// and addresses of this machine and its network are not suggested, nor is any pattern that would cover
/// them. Hosts are named one by one.
///
/// ```
/// use concertina_core::policy::{Denial, FilePath, Request, Surroundings, suggest};
/// let read = |path| Ok(Denial { request: Request::Read(FilePath::new(path)?), by_rule: false });
/// let denials = ["/w/src/a", "/w/src/b", "/w/src/c", "/w/README"].map(read);
/// let denials = denials.into_iter().collect::<Result<Vec<_>, _>>()?;
/// let suggestion = suggest(&denials, &Surroundings::new(FilePath::new("/w")?));
/// assert_eq!(suggestion.permissions.read[0].paths, ["README", "src/**"]);
/// # Ok::<(), concertina_core::policy::PathRefused>(())
/// ```
pub fn suggest(denials: &[Denial], around: &Surroundings) -> Suggestion {
    let mut withheld = BTreeSet::new();
    let mut wanted = BTreeSet::new();
    for denial in denials {
        match fault(denial, around) {
            None => {
                wanted.insert(&denial.request);
            }
            Some((code, reason)) => {
                withheld.insert(Withheld { request: denial.request.clone(), code, reason });
            }
        }
    }
    let avoid: Vec<&Request> = withheld.iter().map(|withheld| &withheld.request).collect();
    wanted.retain(|request| !avoid.contains(request));
    let mut permissions = Permissions::default();
    let (mut reads, mut writes, mut runs) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut methods: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for request in wanted {
        match request {
            Request::Read(path) => {
                reads.insert(path.clone());
            }
            Request::Write(path) => {
                writes.insert(path.clone());
            }
            Request::Run(words) => {
                runs.insert(words.clone());
            }
            Request::Call(tool) => permissions.tools.push(escape(tool.as_str())),
            Request::Connect(connection) => {
                methods.entry(domain(connection)).or_default().insert(connection.method.clone());
            }
        }
    }
    permissions.read = paths(&reads, around, |paths| {
        let declared = Permissions { read: paths, ..Permissions::default() };
        is_fine(&declared, around, &avoid)
    });
    permissions.write = paths(&writes, around, |paths| {
        let declared = Permissions { write: paths, ..Permissions::default() };
        is_fine(&declared, around, &avoid)
    });
    permissions.execute = commands(&runs, |execute| {
        let declared = Permissions { execute: vec![execute], ..Permissions::default() };
        is_fine(&declared, around, &avoid)
    });
    let mut domains: BTreeMap<BTreeSet<String>, Vec<String>> = BTreeMap::new();
    for (domain, methods) in methods {
        domains.entry(methods).or_default().push(domain);
    }
    for (mut methods, domains) in domains {
        let hides_nothing =
            methods.contains(CONNECT) || !WRITING.iter().all(|writing| methods.contains(*writing));
        // Together these would also allow what cannot be seen, which nobody asked for.
        let apart = WRITING.iter().take(1).filter(|_| !hides_nothing);
        let apart: Vec<String> = apart.filter_map(|method| methods.take(*method)).collect();
        for methods in [Vec::from_iter(methods), apart] {
            if !methods.is_empty() {
                permissions.network.push(NetworkScope { domains: domains.clone(), methods });
            }
        }
    }
    Suggestion { permissions, withheld: withheld.into_iter().collect() }
}

/// Why `denial` is not suggested.
fn fault(denial: &Denial, around: &Surroundings) -> Option<(&'static str, String)> {
    if denial.by_rule {
        return Some((
            "DENIED_BY_RULE",
            "a rule denies it, and no declaration changes that".into(),
        ));
    }
    match &denial.request {
        Request::Connect(Connection { host, .. }) if is_near(host) => {
            let reason = "it is on this machine or its network, which is for a person to name";
            return Some(("PRIVATE_HOST", reason.into()));
        }
        Request::Run(words) if shell::script(words).is_some() => {
            let reason = "a shell runs whatever it is given; put the commands into a script";
            return Some(("NEEDS_SHELL", reason.into()));
        }
        _ => {}
    }
    let Some(declared) = smallest(&denial.request) else {
        return Some(("NOT_DECLARABLE", "no declaration would allow it".into()));
    };
    match resolve(&declared, around) {
        Ok(access) if access.covers(&denial.request) => None,
        Ok(_) => Some(("NOT_DECLARABLE", "no declaration would allow it".into())),
        Err(errors) => errors.into_iter().next().map(|error| (error.code, error.reason)),
    }
}

/// Whether `declared` can be declared and covers nothing of what is to be avoided.
fn is_fine(declared: &Permissions, around: &Surroundings, avoid: &[&Request]) -> bool {
    resolve(declared, around)
        .is_ok_and(|access| !avoid.iter().any(|request| access.covers(request)))
}

/// `paths` as scopes: by directory, where many are in one and that `is_fine`.
fn paths(
    paths: &BTreeSet<FilePath>,
    around: &Surroundings,
    is_fine: impl Fn(Vec<PathScope>) -> bool,
) -> Vec<PathScope> {
    let mut siblings: BTreeMap<FilePath, usize> = BTreeMap::new();
    for parent in paths.iter().filter_map(FilePath::parent) {
        *siblings.entry(parent).or_default() += 1;
    }
    let scope = |pattern: &PathPattern| vec![PathScope { paths: vec![shown(pattern, around)] }];
    let folded: Vec<PathPattern> = siblings
        .into_iter()
        // The whole workspace is more than a few files at its top.
        .filter(|(parent, count)| *count >= FOLDED && !around.workspace.is_within(parent))
        .map(|(parent, _)| PathPattern::subtree(parent))
        .filter(|pattern| is_fine(scope(pattern)))
        .collect();
    let files = paths.iter().map(|path| PathPattern::file(path.clone()));
    let patterns: Vec<PathPattern> = files.chain(folded.iter().cloned()).collect();
    let is_in_another = |pattern: &PathPattern| {
        folded.iter().any(|directory| directory != pattern && directory.includes(pattern))
    };
    let mut paths: Vec<String> = patterns
        .iter()
        .filter(|pattern| !is_in_another(pattern))
        .map(|pattern| shown(pattern, around))
        .collect();
    paths.sort();
    paths.dedup();
    if paths.is_empty() { Vec::new() } else { vec![PathScope { paths }] }
}

/// `pattern` as it would be declared: from the workspace on, where it is there. Braces of a name are
/// escaped, so none of it is taken for a variable.
fn shown(pattern: &PathPattern, around: &Surroundings) -> String {
    let workspace = format!("{}/", escape(around.workspace.as_str()).trim_end_matches('/'));
    match pattern.as_str().strip_prefix(&workspace) {
        // `~` at the beginning would be a home directory.
        Some(rest) if rest.starts_with('~') => format!("./{rest}"),
        Some(rest) => rest.to_owned(),
        None => pattern.to_string(),
    }
}

/// `commands` as patterns: those that differ in one word together, where that `is_fine`.
fn commands(commands: &BTreeSet<Vec<String>>, is_fine: impl Fn(String) -> bool) -> Vec<String> {
    let mut left = commands.clone();
    let mut patterns = BTreeSet::new();
    let longest = commands.iter().map(Vec::len).max().unwrap_or_default();
    // What varies is mostly the last word. The first is the program, which is always named.
    for at in (1..longest).rev() {
        let mut alike: BTreeMap<Vec<String>, Vec<Vec<String>>> = BTreeMap::new();
        for words in left.iter().filter(|words| words.get(at).is_some_and(|word| varies(at, word)))
        {
            let mut others = words.clone();
            if let Some(word) = others.get_mut(at) {
                word.clear();
            }
            alike.entry(others).or_default().push(words.clone());
        }
        for (others, alike) in alike.into_iter().filter(|(_, alike)| alike.len() >= FOLDED) {
            let words = others.iter().enumerate().map(|(place, word)| {
                // One word that is no option.
                if place == at { "[!-]*".to_owned() } else { shell::quoted(&escape(word)) }
            });
            let pattern = words.collect::<Vec<_>>().join(" ");
            if is_fine(pattern.clone()) {
                patterns.insert(pattern);
                for words in alike {
                    left.remove(&words);
                }
            }
        }
    }
    let exact = left.iter().filter_map(|words| command(words)).map(|p| p.to_string());
    patterns.extend(exact);
    patterns.into_iter().collect()
}

/// Whether `word`, the one at `at`, may be one of many. The first argument often says what a program
/// does; only what looks like a file does not.
fn varies(at: usize, word: &str) -> bool {
    !word.is_empty() && !word.starts_with('-') && (at > 1 || word.contains(['/', '.']))
}

/// The pattern that covers exactly `words`.
fn command(words: &[String]) -> Option<CommandPattern> {
    let pattern = CommandPattern::exactly(words);
    (!words.is_empty() && pattern.matches(words)).then_some(pattern)
}

/// The domain of `connection`: its host at its port.
fn domain(Connection { host, port, .. }: &Connection) -> String {
    format!("{host}:{port}")
}

/// Whether `host` is an address or a name of this machine or of the network that it is in.
fn is_near(host: &Host) -> bool {
    match host {
        Host::Name(name) => {
            let top = name.labels().next_back();
            matches!(top, Some("localhost" | "internal" | "local"))
        }
        Host::V4(address) => not_public((*address).into()).is_some(),
        Host::V6(address) => not_public((*address).into()).is_some(),
    }
}
