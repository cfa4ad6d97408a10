//! Variables in the settings of servers, in the spellings that clients have for them.

use std::path::Path;

/// What variables stand for.
pub(crate) struct Variables<'a> {
    /// The environment.
    pub(crate) variable: &'a dyn Fn(&str) -> Option<String>,
    /// The directory of the workspace.
    pub(crate) workspace: &'a Path,
    /// Whether `$NAME` without braces is a variable: one client alone has it so.
    pub(crate) bare: bool,
}

impl Variables<'_> {
    /// `text` with its variables filled in: `${NAME}`, `${NAME:-otherwise}`, `${env:NAME}`,
    /// `{env:NAME}`, `${workspaceFolder}`, `${userHome}`. What is put in is not read again. An error
    /// names the variable that is not set.
    pub(crate) fn fill(&self, text: &str) -> Result<String, String> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = next(rest) {
            out.push_str(before);
            let found = self.braced(after)?.or_else(|| self.bare(after));
            let (value, left) = found.unwrap_or_else(|| {
                // Both signs take one byte.
                let (sign, left) = after.split_at_checked(1).unwrap_or((after, ""));
                (sign.to_owned(), left)
            });
            out.push_str(&value);
            rest = left;
        }
        out.push_str(rest);
        Ok(out)
    }

    /// The value of the variable that `text` begins with, and what follows it.
    fn braced<'t>(&self, text: &'t str) -> Result<Option<(String, &'t str)>, String> {
        let dollar = text.strip_prefix("${");
        let rest = dollar.or(text.strip_prefix("{env:"));
        let Some((inner, left)) = rest.and_then(|rest| rest.split_once('}')) else {
            return Ok(None);
        };
        match inner {
            "workspaceFolder" => {
                return Ok(Some((self.workspace.to_string_lossy().into_owned(), left)));
            }
            "userHome" => return self.required("HOME").map(|value| Some((value, left))),
            _ => {}
        }
        let (name, otherwise) = match inner.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (inner, None),
        };
        let name = name.strip_prefix("env:").unwrap_or(name);
        if !is_name(name) {
            return Ok(None);
        }
        let set = (self.variable)(name).filter(|value| !value.is_empty() || otherwise.is_none());
        let value = match (set, otherwise) {
            (Some(value), _) => value,
            (None, Some(otherwise)) => otherwise.to_owned(),
            (None, None) => return Err(name.to_owned()),
        };
        Ok(Some((value, left)))
    }

    /// As [`Self::braced`], for `$NAME`. One that is not set stays as it is written.
    fn bare<'t>(&self, text: &'t str) -> Option<(String, &'t str)> {
        let rest = text.strip_prefix('$').filter(|_| self.bare)?;
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, left) = rest.split_at_checked(end)?;
        let value = Some(name).filter(|name| is_name(name)).and_then(self.variable)?;
        Some((value, left))
    }

    /// The value of `name`, or its name where it is not set.
    pub(crate) fn required(&self, name: &str) -> Result<String, String> {
        (self.variable)(name).filter(|value| !value.is_empty()).ok_or_else(|| name.to_owned())
    }
}

/// What stands before the next sign that can begin a variable, and the rest from there.
fn next(text: &str) -> Option<(&str, &str)> {
    let at = text.find(['$', '{'])?;
    text.split_at_checked(at)
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::Variables;

    fn fill(text: &str, bare: bool) -> Result<String, String> {
        let variable = |name: &str| match name {
            "TOKEN" => Some("t${HOME}".to_owned()),
            "HOME" => Some("/home/me".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let workspace = std::path::Path::new("/work");
        Variables { variable: &variable, workspace, bare }.fill(text)
    }

    #[test]
    fn each_spelling_is_filled_in_once() {
        let all = "${TOKEN} ${env:TOKEN} {env:TOKEN} ${NONE:-or} ${EMPTY:-or} ${EMPTY}| \
                   ${workspaceFolder} ${userHome} $TOKEN {x} ${not a name} ${open é$";
        let filled = "t${HOME} t${HOME} t${HOME} or or | /work /home/me $TOKEN {x} \
                      ${not a name} ${open é$";
        assert_eq!(fill(all, false).as_deref(), Ok(filled));
    }

    #[test]
    fn a_variable_that_is_not_set_is_named() {
        assert_eq!(fill("Bearer ${NONE}", false), Err("NONE".to_owned()));
    }

    #[test]
    fn bare_names_count_only_where_a_client_has_them() {
        assert_eq!(fill("$TOKEN/$NONE$", true).as_deref(), Ok("t${HOME}/$NONE$"));
    }
}
