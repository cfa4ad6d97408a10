//! From what a skill declares to what that means here.

use std::collections::{BTreeMap, BTreeSet};

use concertina_format::expand::split_words;
use concertina_format::nearest;
use concertina_types::{NetworkScope, PathScope, Permissions};
use globset::escape;

use super::access::Access;
use super::execute::CommandPattern;
use super::host::{CONNECT, HostRule, HostRuleError, NetworkRules, READING, WRITING};
use super::path::FilePath;
use super::path_pattern::{PathPattern, Shape};
use super::pattern::Pattern;
use super::reach::Reach;
use super::scope::{Part, Scope};
use super::shell;

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
    let mut reading = Reading { around, errors: Vec::new() };
    let access = Access {
        read: reading.paths("read", &permissions.read, Reading::readable),
        write: reading.paths("write", &permissions.write, Reading::writable),
        network: reading.network(permissions),
        execute: reading.scope("execute", &permissions.execute, Reading::command),
        tools: reading.scope("tools", &permissions.tools, Reading::tool),
    };
    if reading.errors.is_empty() { Ok(access) } else { Err(reading.errors) }
}

/// What is wrong with an entry: code, reason, help.
type Fault = (&'static str, String, String);

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

    fn wrong(&mut self, key: &'static str, entry: &str, (code, reason, help): Fault) {
        let entry = entry.chars().take(200).collect();
        self.errors.push(DeclarationError { code, key, entry, reason, help });
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
        let bad = |reason: String| {
            ("BAD_PATTERN", reason, "write `dir/**`, `dir/*.rs` or `dir/file`".to_owned())
        };
        let escaped = |path: &FilePath| escape(path.as_str());
        let (start, rest) = match entry.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => match &self.around.home {
                Some(home) => (Some(escaped(home)), rest),
                None => {
                    return Err((
                        "NO_HOME",
                        "names a home directory, and none is known".to_owned(),
                        "write an absolute path".to_owned(),
                    ));
                }
            },
            Some(_) => return Err(bad("names the home of somebody else".to_owned())),
            None => (None, entry),
        };
        let text = self.filled(rest, |value| {
            // In the middle of a pattern a value goes on where the pattern is.
            let text = if value.leads { value.text } else { value.text.trim_start_matches('/') };
            let is_outside = value.is_parameter
                && text.starts_with('/')
                && !FilePath::new(text).is_ok_and(|path| path.is_within(&self.around.workspace));
            if is_outside {
                return Err(value.refused("it lies outside the workspace"));
            }
            // The workspace itself is one thing to name.
            if value.leads && text == "." { Ok(text.to_owned()) } else { value.narrow(escape) }
        })?;
        let text = match start {
            Some(home) => home + &text,
            None if text.starts_with('/') => text,
            None => format!("{}/{text}", escaped(&self.around.workspace)),
        };
        PathPattern::new(&text).map_err(|error| {
            let reason = format!("cannot be read: {error}");
            (error.code(), reason, "write `dir/**`, `dir/*.rs` or `dir/file`".to_owned())
        })
    }

    fn command(&self, entry: &str) -> Result<CommandPattern, Fault> {
        let bad = |reason: String| {
            let help = "write the program and its arguments, such as `git log *`".to_owned();
            ("BAD_COMMAND", format!("cannot be read: {reason}"), help)
        };
        if shell::needs_shell(&entry.replace("${", "")) {
            return Err(bad("commands run without a shell".to_owned()));
        }
        let mut words = Vec::new();
        let mut only_positional = false;
        // Words are told apart before values are put in, so that a value is never two words.
        for template in split_words(entry) {
            let word = self.filled(&template, |value| value.narrow(escape))?;
            if template.starts_with("${") && word.starts_with('-') && !only_positional {
                return Err((
                    "VALUE_REFUSED",
                    "would hold an option where it has a value".to_owned(),
                    "write `--` before it, or give a value that does not begin with `-`".to_owned(),
                ));
            }
            only_positional |= template == "--";
            words.push(word);
        }
        CommandPattern::of_program(words).map_err(bad)
    }

    fn tool(&self, entry: &str) -> Result<Pattern, Fault> {
        Pattern::new(&self.filled(entry, |value| value.narrow(escape))?).map_err(|error| {
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
                        match self.domain(domain) {
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

    fn domain(&self, entry: &str) -> Result<HostRule, Fault> {
        let domain = self.filled(entry, |value| value.narrow(str::to_owned))?;
        domain.parse().map_err(|error: HostRuleError| {
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

    /// `template` with the value of each `${name}`, as `written` writes it. `$${` is `${`.
    fn filled(
        &self,
        template: &str,
        written: impl Fn(&Value<'_>) -> Result<String, Fault>,
    ) -> Result<String, Fault> {
        let mut out = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once("${") {
            if let Some(before) = before.strip_suffix('$') {
                out.push_str(before);
                out.push_str("${");
                rest = after;
                continue;
            }
            out.push_str(before);
            let Some((name, tail)) = after.split_once('}') else {
                let help = "close it with `}`, or write `$${`".to_owned();
                return Err(("BAD_PATTERN", "holds `${` without `}`".to_owned(), help));
            };
            out.push_str(&written(&self.value(name, out.is_empty())?)?);
            rest = tail;
        }
        out.push_str(rest);
        Ok(out)
    }

    fn value<'v>(&'v self, name: &'v str, leads: bool) -> Result<Value<'v>, Fault> {
        let (session, parameters) = (&self.around.session, &self.around.parameters);
        // A parameter cannot stand in for a variable of the session.
        let of_session = match name {
            "workspace" => Some(self.around.workspace.as_str()),
            _ => session.get(name).map(String::as_str),
        };
        let text = of_session.or_else(|| parameters.get(name).map(String::as_str));
        if let Some(text) = text {
            return Ok(Value { name, text, leads, is_parameter: of_session.is_none() });
        }
        let known = || {
            let own = session.keys().chain(parameters.keys()).map(String::as_str);
            std::iter::once("workspace").chain(own)
        };
        let help = nearest(name, known()).map_or_else(
            || format!("known are: {}", known().collect::<Vec<_>>().join(", ")),
            |near| format!("did you mean `${{{near}}}`?"),
        );
        let reason = format!("names `${{{name}}}`, which is no parameter and no variable");
        Err(("UNKNOWN_VARIABLE", reason, help))
    }
}

/// What stands for a `${name}`.
struct Value<'v> {
    name: &'v str,
    text: &'v str,
    /// Whether the entry begins with it.
    leads: bool,
    is_parameter: bool,
}

impl Value<'_> {
    /// The value as `written` writes it, where it makes the scope no wider.
    fn narrow(&self, written: impl Fn(&str) -> String) -> Result<String, Fault> {
        match widening(self.text).filter(|_| self.is_parameter) {
            None => Ok(written(self.text)),
            Some(why) => Err(self.refused(why)),
        }
    }

    fn refused(&self, why: &str) -> Fault {
        (
            "VALUE_REFUSED",
            format!("is widened by the value of `${{{}}}`: {why}", self.name),
            format!("give `{}` a value that names one thing", self.name),
        )
    }
}

/// How `value` would make a scope wider than its author meant it.
fn widening(value: &str) -> Option<&'static str> {
    let mut names = value.split('/');
    if value.contains('\0') {
        Some("it holds a NUL character")
    } else if value.contains(['*', '?']) {
        Some("it holds `*` or `?`")
    } else if names.clone().any(|name| name == "..") {
        Some("it holds `..`")
    } else if names.all(|name| matches!(name, "" | ".")) {
        Some("it names nothing")
    } else {
        None
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
