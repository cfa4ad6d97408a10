//! All servers that settings define, each once.

use std::path::PathBuf;

use concertina_types::{Diagnostic, Digest, Severity};

use super::Definition;

/// The name of a server, in bytes: it stands before the name of each of its tools, and the two
/// together have to fit one name.
const SERVER_NAME_BYTES: usize = 64;

/// The servers that settings define, and what was found on the way.
#[derive(Debug, Clone, Default)]
pub struct Definitions {
    /// The servers, sorted by name.
    pub servers: Vec<Definition>,
    /// What was left out or renamed and why, with the file that says it.
    pub findings: Vec<(PathBuf, Diagnostic)>,
}

impl Definitions {
    /// Takes `new`, unless it is one that is there already, under any name: the same program with the
    /// same arguments and environment, or the same address with the same headers. Those taken earlier
    /// keep their names.
    pub(crate) fn add(&mut self, mut new: Definition) {
        let wanted = fit_name(&new.name);
        if let Some(known) = self.servers.iter_mut().find(|known| known.reach == new.reach) {
            known.trusted |= new.trusted;
            if known.name != wanted {
                let message = format!("server {wanted} is the one called {}", known.name);
                self.tell(new.from, "SAME_SERVER", Severity::Info, message);
            }
            return;
        }
        let taken = |name: &str| self.servers.iter().any(|known| known.name == name);
        // One of so many numbers is free.
        let mut names = (1..=self.servers.len() + 1).map(|n| match n {
            1 => wanted.clone(),
            n => format!("{wanted}-{n}"),
        });
        new.name = names.find(|name| !taken(name)).unwrap_or(wanted.clone());
        if new.name != wanted {
            let message = format!(
                "there are several servers called {wanted}; the one of this file is called {}",
                new.name
            );
            self.tell(new.from.clone(), "RENAMED", Severity::Info, message);
        }
        self.servers.push(new);
    }

    pub(crate) fn tell(
        &mut self,
        from: PathBuf,
        code: &'static str,
        severity: Severity,
        message: String,
    ) {
        self.findings.push((from, Diagnostic::new(code, severity, message)));
    }

    pub(crate) fn sorted(mut self) -> Self {
        self.servers.sort_by(|a, b| a.name.cmp(&b.name));
        self
    }
}

/// `name` as a part of a tool's name: without blanks, slashes and signs that could mislead, and
/// short; what was too long ends in its digest.
fn fit_name(name: &str) -> String {
    let fits = |c: char| {
        !c.is_whitespace() && c != '/' && concertina_types::ToolName::new(c.to_string()).is_ok()
    };
    let name: String = name.trim().chars().map(|c| if fits(c) { c } else { '_' }).collect();
    if name.is_empty() {
        return "server".to_owned();
    }
    if name.len() <= SERVER_NAME_BYTES {
        return name;
    }
    let digest: String = Digest::of(name.as_bytes()).hex().chars().take(8).collect();
    let end = name.floor_char_boundary(SERVER_NAME_BYTES - digest.len() - 1);
    format!("{}-{digest}", name.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::fit_name;

    #[test]
    fn a_name_fits_a_tool() {
        assert_eq!(fit_name(" io.github/my server\u{202e} "), "io.github_my_server_");
        assert_eq!(fit_name(""), "server");
        let long = fit_name(&"é".repeat(80));
        assert!(long.len() <= 64 && long.starts_with('é'), "{long}");
        assert_ne!(long, fit_name(&"é".repeat(81)));
    }
}
