//! Values in the place of `${name}` in what a skill declares.

use concertina_format::expand::split_words;
use concertina_format::nearest;
use concertina_types::{NetworkScope, PathScope, Permissions};
use globset::escape;

use super::path::FilePath;
use super::resolve::{DeclarationError, Fault, PATH_HELP, Surroundings, bad_command};
use super::shell::{needs_shell, quoted};

/// `permissions` with a value in the place of each `${name}`, or all that is wrong with them.
///
/// What comes out declares the same in words that name everything: letters of a value stand for
/// themselves there, a value in a command is one word, and reading it again with other values changes
/// nothing. `${workspace}` and what the session knows are taken as they are; a parameter comes from a
/// model, so one that would widen the scope is refused.
///
/// ```
/// use concertina_core::policy::{FilePath, Surroundings, fill};
/// use concertina_types::Permissions;
/// let execute = vec!["git log -- ${name}".to_owned()];
/// let declared = Permissions { execute, ..Permissions::default() };
/// let mut around = Surroundings::new(FilePath::new("/w")?);
/// around.parameters.insert("name".into(), "my notes".into());
/// assert_eq!(fill(&declared, &around).unwrap().execute, ["git log -- 'my notes'"]);
/// # Ok::<(), concertina_core::policy::PathRefused>(())
/// ```
pub fn fill(
    permissions: &Permissions,
    around: &Surroundings,
) -> Result<Permissions, Vec<DeclarationError>> {
    let (filled, errors) = filled(permissions, around);
    if errors.is_empty() { Ok(filled) } else { Err(errors) }
}

/// The entries that can be filled, and what is wrong with the others.
pub(super) fn filled(
    permissions: &Permissions,
    around: &Surroundings,
) -> (Permissions, Vec<DeclarationError>) {
    let mut filling = Filling { around, errors: Vec::new() };
    let filled = Permissions {
        read: filling.paths("read", &permissions.read),
        write: filling.paths("write", &permissions.write),
        network: filling.network(&permissions.network),
        execute: filling.all("execute", &permissions.execute, Filling::command),
        tools: filling.all("tools", &permissions.tools, Filling::tool),
        ..permissions.clone()
    };
    (filled, filling.errors)
}

/// An entry without the mark before what is no name: `$${` means `${`.
pub(super) fn unmarked(entry: &str) -> String {
    entry.replace("$${", "${")
}

struct Filling<'a> {
    around: &'a Surroundings,
    errors: Vec<DeclarationError>,
}

impl Filling<'_> {
    fn all(
        &mut self,
        key: &'static str,
        entries: &[String],
        one: fn(&Self, &str) -> Result<String, Fault>,
    ) -> Vec<String> {
        let mut filled = Vec::new();
        for entry in entries {
            match one(self, entry) {
                Ok(entry) => filled.push(entry),
                Err(fault) => self.errors.push(DeclarationError::new(key, entry, fault)),
            }
        }
        filled
    }

    fn paths(&mut self, key: &'static str, scopes: &[PathScope]) -> Vec<PathScope> {
        let scopes = scopes.iter();
        scopes.map(|scope| PathScope { paths: self.all(key, &scope.paths, Self::path) }).collect()
    }

    fn network(&mut self, scopes: &[NetworkScope]) -> Vec<NetworkScope> {
        let one = |scope: &NetworkScope| NetworkScope {
            domains: self.all("network", &scope.domains, Self::domain),
            methods: scope.methods.clone(),
        };
        scopes.iter().map(one).collect()
    }

    fn path(&self, entry: &str) -> Result<String, Fault> {
        let (home, rest) = match entry.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => ("~", rest),
            Some(_) => {
                let reason = "names the home of somebody else".to_owned();
                return Err(("BAD_PATTERN", reason, PATH_HELP.to_owned()));
            }
            None => ("", entry),
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
        // A value is never read again.
        let mark = if home.is_empty() && text.starts_with('~') { "./" } else { "" };
        Ok(format!("{home}{mark}{text}"))
    }

    fn command(&self, entry: &str) -> Result<String, Fault> {
        if needs_shell(&entry.replace("${", "")) {
            return Err(bad_command("commands run without a shell"));
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
            words.push(quoted(&word));
        }
        Ok(words.join(" "))
    }

    fn tool(&self, entry: &str) -> Result<String, Fault> {
        self.filled(entry, |value| value.narrow(escape))
    }

    fn domain(&self, entry: &str) -> Result<String, Fault> {
        self.filled(entry, |value| value.narrow(|text| text.replace("${", "$${")))
    }

    /// `template` with the value of each `${name}`, as `written` writes it. `$${` stays.
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
                out.push_str("$${");
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
