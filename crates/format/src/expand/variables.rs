//! Variables of the session: `${NAME}`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::Variables;

/// What `${NAME}` turns out to be.
pub(super) enum Variable<'a> {
    /// One of ours, and its value where it has one.
    Known(&'static str, Option<Cow<'a, str>>),
    /// It looks like ours and is not.
    Unknown(&'a str),
}

/// Names in `${…}` that have a meaning.
pub(super) const NAMES: [&str; 8] = [
    "CLAUDE_SKILL_DIR",
    "SKILL_DIR",
    "CLAUDE_SESSION_ID",
    "SESSION_ID",
    "CLAUDE_PROJECT_DIR",
    "CLAUDE_EFFORT",
    "CLAUDE_PLUGIN_ROOT",
    "CLAUDE_PLUGIN_DATA",
];

/// What `${name}` means; nothing where it is no business of ours, such as a variable of a script.
pub(super) fn variable<'t>(name: &'t str, variables: &'t Variables) -> Option<Variable<'t>> {
    let path = |value: &'t Option<String>| value.as_deref().map(forward_slashes);
    let text = |value: &'t Option<String>| value.as_deref().map(Cow::Borrowed);
    let known = NAMES.iter().copied().find(|known| *known == name);
    if let Some(known) = known {
        let value = match known {
            "CLAUDE_SKILL_DIR" | "SKILL_DIR" => path(&variables.skill_dir),
            "CLAUDE_SESSION_ID" | "SESSION_ID" => text(&variables.session_id),
            "CLAUDE_PROJECT_DIR" => path(&variables.project_dir),
            "CLAUDE_EFFORT" => text(&variables.effort),
            "CLAUDE_PLUGIN_ROOT" => path(&variables.plugin_root),
            _ => path(&variables.plugin_data),
        };
        return Some(Variable::Known(known, value));
    }
    let shaped = name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    let ours = name.starts_with("CLAUDE_") || name.starts_with("SKILL_");
    (shaped && ours).then_some(Variable::Unknown(name))
}

/// Whether a declared scope may name this variable, in any of its spellings.
pub(crate) fn stands_in_scopes(name: &str) -> bool {
    name == "workspace" || NAMES.iter().any(|known| spellings(known).any(|known| known == name))
}

/// How declared scopes name the variable `known`: in capitals as in a text, and in small letters, with what its
/// client puts before it and without.
fn spellings(known: &str) -> impl Iterator<Item = String> {
    let short = known.strip_prefix("CLAUDE_").unwrap_or(known);
    let both = [known.to_owned(), short.to_owned()];
    both.into_iter().flat_map(|name| [name.to_ascii_lowercase(), name])
}

impl Variables {
    /// All that have a value, as declared scopes name them: in capitals or small letters, and without the
    /// name of a client before it.
    ///
    /// ```
    /// use concertina_format::expand::Variables;
    /// let known = Variables { skill_dir: Some("/skills/sql".into()), ..Variables::default() };
    /// assert_eq!(known.named().get("skill_dir").map(String::as_str), Some("/skills/sql"));
    /// ```
    pub fn named(&self) -> BTreeMap<String, String> {
        let known = NAMES.iter().filter_map(|name| Some((*name, self.get(name)?)));
        let all = known.flat_map(|(name, value)| {
            spellings(name).map(move |name| (name, value.clone().into_owned()))
        });
        all.collect()
    }

    /// The value of `${name}`, as a text would have it; none where it has none.
    ///
    /// ```
    /// use concertina_format::expand::Variables;
    /// let known = Variables { skill_dir: Some("/skills/sql".into()), ..Variables::default() };
    /// assert_eq!(known.get("SKILL_DIR").as_deref(), Some("/skills/sql"));
    /// assert_eq!(known.get("HOME"), None);
    /// ```
    pub fn get(&self, name: &str) -> Option<Cow<'_, str>> {
        let name = NAMES.iter().copied().find(|known| *known == name)?;
        match variable(name, self)? {
            Variable::Known(_, value) => value,
            Variable::Unknown(_) => None,
        }
    }
}

/// A Windows path with the slashes that every program understands there.
fn forward_slashes(path: &str) -> Cow<'_, str> {
    let mut start = path.chars();
    let drive = start.next().is_some_and(|c| c.is_ascii_alphabetic()) && start.next() == Some(':');
    if drive || path.starts_with(r"\\") {
        Cow::Owned(path.replace('\\', "/"))
    } else {
        Cow::Borrowed(path)
    }
}
