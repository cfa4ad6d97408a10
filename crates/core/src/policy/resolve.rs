//! From what a skill declares to what that means here.

use std::collections::{BTreeMap, BTreeSet};

use concertina_format::expand::{Variables, split_words};
use concertina_types::{NetworkScope, PathScope, Permissions};
use globset::escape;

use super::access::Access;
use super::execute::CommandPattern;
use super::fill::{filled, unmarked};
use super::host::{CONNECT, HostRule, HostRuleError, NetworkRules, READING, WRITING};
use super::path::FilePath;
use super::path_pattern::{PathPattern, Shape};
use super::pattern::Pattern;
use super::reach::Reach;
use super::scope::{Part, Scope};

/// Patterns of one kind that a declaration may hold. Real ones have a dozen; more than this is no
/// declaration that a person could agree to.
pub const SCOPE_PATTERNS: usize = 256;

/// What `${name}` stands for, and the places that are not for a skill to touch.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// Relative paths start here; `${workspace}` is it.
    pub workspace: FilePath,
    /// What `~` stands for.
    pub home: Option<FilePath>,
    /// Variables of the session by name, such as `skill_dir`: from Concertina, so taken as they are.
    pub session: BTreeMap<String, String>,
    /// Values of the skill's declared parameters: from a model, so looked at first.
    pub parameters: BTreeMap<String, String>,
    /// Places that no skill may be given to write: state, settings, the lock file, the log.
    pub unwritable: Vec<FilePath>,
    /// Places that no skill may be given at all: keys.
    pub secret: Vec<FilePath>,
}

impl Surroundings {
    /// The workspace, and nothing else that is known.
    pub fn new(workspace: FilePath) -> Self {
        Self {
            workspace,
            home: None,
            session: BTreeMap::new(),
            parameters: BTreeMap::new(),
            unwritable: Vec::new(),
            secret: Vec::new(),
        }
    }
}

/// What is wrong with one entry of a declaration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: `{entry}` {reason}; {help}")]
pub struct DeclarationError {
    /// A stable code, such as `UNKNOWN_VARIABLE`.
    pub code: &'static str,
    /// The part of `permissions`: `read`, `write`, `network`, `execute` or `tools`.
    pub key: &'static str,
    /// The entry as declared.
    pub entry: String,
    /// What is wrong with it.
    pub reason: String,
    /// What to write instead.
    pub help: String,
}

impl DeclarationError {
    pub(super) fn new(key: &'static str, entry: &str, (code, reason, help): Fault) -> Self {
        let entry = entry.chars().take(200).collect();
        Self { code, key, entry, reason, help }
    }
}

/// The access that `permissions` declare, or all that is wrong with them: half a declaration is none.
///
/// Each `${name}` is replaced once; values are never read again, and one that would widen the scope is
/// refused. Relative paths stand below the workspace.
///
/// ```
/// use concertina_core::policy::{FilePath, Request, Surroundings, resolve};
/// use concertina_types::{NetworkScope, PathScope, Permissions};
/// let paths = vec!["orders/${order_id}/**".to_owned()];
/// let declared = Permissions { read: vec![PathScope { paths }], ..Permissions::default() };
/// let mut around = Surroundings::new(FilePath::new("/w")?);
/// around.parameters.insert("order_id".into(), "17".into());
/// let access = resolve(&declared, &around).unwrap();
/// assert!(access.covers(&Request::Read(FilePath::new("/w/orders/17/a.csv")?)));
/// assert!(!access.covers(&Request::Read(FilePath::new("/w/orders/18/a.csv")?)));
/// around.parameters.insert("order_id".into(), "../keys".into());
/// assert_eq!(resolve(&declared, &around).unwrap_err()[0].code, "VALUE_REFUSED");
/// # Ok::<(), concertina_core::policy::PathRefused>(())
/// ```
pub fn resolve(
    permissions: &Permissions,
    around: &Surroundings,
) -> Result<Access, Vec<DeclarationError>> {
    let (permissions, errors) = filled(permissions, around);
    let mut reading = Reading { around, errors };
    let access = Access {
        read: reading.paths("read", &permissions.read, Reading::readable),
        write: reading.paths("write", &permissions.write, Reading::writable),
        network: reading.network(&permissions),
        execute: reading.scope("execute", &permissions.execute, |_, entry| Reading::command(entry)),
        tools: reading.scope("tools", &permissions.tools, |_, entry| Reading::tool(entry)),
    };
    if reading.errors.is_empty() { Ok(access) } else { Err(reading.errors) }
}

/// What is wrong with what a skill with these `parameters` declares, wherever it will be opened and with
/// whatever values.
///
/// ```
/// use concertina_core::policy::declaration_faults;
/// use concertina_types::{PathScope, Permissions};
/// let write = vec![PathScope { paths: vec!["orders/${order}/**".into(), "~".into()] }];
/// let declared = Permissions { write, ..Permissions::default() };
/// let faults = declaration_faults(&declared, &["order"]);
/// assert_eq!(faults.iter().map(|fault| fault.code).collect::<Vec<_>>(), ["WRITE_TOO_WIDE"]);
/// ```
pub fn declaration_faults(permissions: &Permissions, parameters: &[&str]) -> Vec<DeclarationError> {
    if permissions.is_empty() {
        return Vec::new();
    }
    let Some(around) = somewhere(parameters) else { return Vec::new() };
    let mut faults = resolve(permissions, &around).err().unwrap_or_default();
    // What a host comes to depends on the value.
    faults.retain(|fault| {
        let is_open = fault.key == "network" && fault.entry.contains("${");
        !is_open || matches!(fault.code, "UNKNOWN_VARIABLE" | "BAD_PATTERN")
    });
    faults
}

/// A place like any other, with the usual directories.
fn somewhere(parameters: &[&str]) -> Option<Surroundings> {
    let path = |path: &str| FilePath::new(path).ok();
    let known = |name: &str| Some(format!("/somewhere/person/{name}"));
    let session = Variables {
        skill_dir: known("skill"),
        session_id: Some("s-0".to_owned()),
        project_dir: known("work"),
        effort: Some("high".to_owned()),
        plugin_root: known("plugin"),
        plugin_data: known("data"),
    };
    let state = "/somewhere/person/.local/state/concertina";
    Some(Surroundings {
        home: path("/somewhere/person"),
        session: session.named(),
        parameters: parameters
            .iter()
            .map(|name| ((*name).to_owned(), "value".to_owned()))
            .collect(),
        unwritable: ["/somewhere/person/.config/concertina", "/etc/concertina", state]
            .into_iter()
            .filter_map(path)
            .collect(),
        secret: path(&format!("{state}/keys")).into_iter().collect(),
        ..Surroundings::new(path("/somewhere/person/work")?)
    })
}

/// What is wrong with an entry: code, reason, help.
pub(super) type Fault = (&'static str, String, String);

/// How paths are written.
pub(super) const PATH_HELP: &str = "write `dir/**`, `dir/*.rs` or `dir/file`";

/// That a command cannot be read, and why.
pub(super) fn bad_command(reason: &str) -> Fault {
    let help = "write the program and its arguments, such as `git log *`".to_owned();
    ("BAD_COMMAND", format!("cannot be read: {reason}"), help)
}

struct Reading<'a> {
    around: &'a Surroundings,
    errors: Vec<DeclarationError>,
}

impl Reading<'_> {
    fn scope<P: Part>(
        &mut self,
        key: &'static str,
        entries: &[String],
        read: fn(&Self, &str) -> Result<P, Fault>,
    ) -> Scope<P> {
        let mut parts = BTreeSet::new();
        for entry in entries.iter().take(SCOPE_PATTERNS) {
            match read(self, entry) {
                Ok(part) => {
                    parts.insert(part);
                }
                Err(fault) => self.wrong(key, entry, fault),
            }
        }
        self.count(key, entries.len());
        Scope::of(parts)
    }

    fn count(&mut self, key: &'static str, entries: usize) {
        if entries > SCOPE_PATTERNS {
            let reason = format!("is one of {entries} entries; {SCOPE_PATTERNS} are the limit");
            let help = "name directories instead of files".to_owned();
            self.wrong(key, "…", ("TOO_MANY_PATTERNS", reason, help));
        }
    }

    fn wrong(&mut self, key: &'static str, entry: &str, fault: Fault) {
        self.errors.push(DeclarationError::new(key, entry, fault));
    }

    fn paths(
        &mut self,
        key: &'static str,
        scopes: &[PathScope],
        read: fn(&Self, &str) -> Result<PathPattern, Fault>,
    ) -> Scope<PathPattern> {
        let entries: Vec<String> = scopes.iter().flat_map(|scope| scope.paths.clone()).collect();
        self.scope(key, &entries, read)
    }

    fn readable(&self, entry: &str) -> Result<PathPattern, Fault> {
        let pattern = self.path(entry)?;
        match touched(&pattern, &self.around.secret) {
            Some(place) => Err((
                "COVERS_PROTECTED",
                format!("covers {place}, which no skill may read"),
                "name the directories that are needed".to_owned(),
            )),
            None => Ok(pattern),
        }
    }

    fn writable(&self, entry: &str) -> Result<PathPattern, Fault> {
        let pattern = self.path(entry)?;
        let path = match pattern.shape() {
            Shape::Glob { base, .. } => {
                return Err((
                    "WRITE_NOT_DIRECTORY",
                    "picks files by a pattern, and what is written is held by directory".to_owned(),
                    format!("name its directory: `{base}/**`"),
                ));
            }
            Shape::Subtree(path) | Shape::File(path) => path,
        };
        let narrower = || "name the directory that is written to".to_owned();
        if is_home(path, self.around.home.as_ref()) {
            let what = if path.as_str() == "/" { "everything" } else { "a whole home directory" };
            return Err(("WRITE_TOO_WIDE", format!("is {what}"), narrower()));
        }
        let protected = [self.around.unwritable.as_slice(), self.around.secret.as_slice()].concat();
        match touched(&pattern, &protected) {
            Some(place) => Err((
                "COVERS_PROTECTED",
                format!("covers {place}, which no skill may change"),
                narrower(),
            )),
            None => Ok(pattern),
        }
    }

    fn path(&self, entry: &str) -> Result<PathPattern, Fault> {
        let escaped = |path: &FilePath| escape(path.as_str());
        let text = unmarked(entry);
        let text = match text.strip_prefix('~') {
            Some(rest) => match &self.around.home {
                Some(home) => escaped(home) + rest,
                None => {
                    return Err((
                        "NO_HOME",
                        "names a home directory, and none is known".to_owned(),
                        "write an absolute path".to_owned(),
                    ));
                }
            },
            None if text.starts_with('/') => text,
            None => format!("{}/{text}", escaped(&self.around.workspace)),
        };
        PathPattern::new(&text).map_err(|error| {
            let reason = format!("cannot be read: {error}");
            (error.code(), reason, PATH_HELP.to_owned())
        })
    }

    fn command(entry: &str) -> Result<CommandPattern, Fault> {
        let words = split_words(entry).iter().map(|word| unmarked(word)).collect();
        CommandPattern::of_program(words).map_err(|reason| bad_command(&reason))
    }

    fn tool(entry: &str) -> Result<Pattern, Fault> {
        Pattern::new(&unmarked(entry)).map_err(|error| {
            let help = "write a name or a pattern such as `sql/*`".to_owned();
            ("BAD_PATTERN", format!("cannot be read: {error}"), help)
        })
    }

    fn network(&mut self, permissions: &Permissions) -> Scope<Reach> {
        let mut parts = BTreeSet::new();
        for scope in &permissions.network {
            match Self::methods(&scope.methods) {
                Ok(methods) => {
                    for domain in scope.domains.iter().take(SCOPE_PATTERNS) {
                        match Self::domain(domain) {
                            Ok(domain) => parts.extend(methods.iter().map(|method| Reach {
                                domain: domain.clone(),
                                method: method.clone(),
                            })),
                            Err(fault) => self.wrong("network", domain, fault),
                        }
                    }
                }
                Err((method, fault)) => self.wrong("network", &method, fault),
            }
        }
        self.count("network", permissions.network.iter().map(|scope| scope.domains.len()).sum());
        Scope::of(parts)
    }

    fn domain(entry: &str) -> Result<HostRule, Fault> {
        unmarked(entry).parse().map_err(|error: HostRuleError| {
            (error.code(), format!("cannot be read: {error}"), error.help().to_owned())
        })
    }

    /// The methods that `declared` stand for.
    fn methods(declared: &[String]) -> Result<Vec<String>, (String, Fault)> {
        let scope = NetworkScope { domains: Vec::new(), methods: declared.to_owned() };
        if let Some(error) =
            NetworkRules::new(&[scope]).err().and_then(|errors| errors.into_iter().next())
        {
            let entry = declared.join(", ");
            return Err((entry, (error.code(), error.to_string(), error.help().to_owned())));
        }
        let mut methods: Vec<String> = declared.iter().map(|m| m.to_ascii_uppercase()).collect();
        if methods.is_empty() {
            methods.extend(READING.map(str::to_owned));
        } else if WRITING.iter().all(|writing| methods.iter().any(|method| method == writing)) {
            // Who may do anything may do it unseen.
            methods.push(CONNECT.to_owned());
        }
        Ok(methods)
    }
}

/// Whether `path` is `/`, or a directory that holds nothing but somebody's whole home.
fn is_home(path: &FilePath, home: Option<&FilePath>) -> bool {
    if home.is_some_and(|home| home.is_within(path)) || path.as_str() == "/" {
        return true;
    }
    let names: Vec<&str> = path.names().collect();
    matches!(names.as_slice(), ["root" | "home" | "Users"] | ["home" | "Users", _])
}

/// The first of `places` that `pattern` reaches: it covers the place, something in it, or a directory
/// above it.
fn touched<'p>(pattern: &PathPattern, places: &'p [FilePath]) -> Option<&'p FilePath> {
    places.iter().find(|place| {
        let whole = PathPattern::subtree((*place).clone());
        match pattern.shape() {
            Shape::Subtree(_) => pattern.matches(place) || pattern.base().is_within(place),
            Shape::File(file) => whole.matches(file),
            // Whether a glob picks something in the place depends on what is there.
            Shape::Glob { base, .. } => {
                pattern.matches(place) || base.is_within(place) || place.is_within(base)
            }
        }
    })
}
