//! Words that mean something on one machine only.

use crate::workspace::{Finding, Source};

/// Absolute paths that exist on one machine. Written in two pieces so that this file passes.
const PLACES: &[&str] =
    &[concat!("/", "work/"), concat!("/", "home/"), concat!("/", "root/"), concat!("/", "Users/")];
/// People who live in examples only; their directories may be named.
const EXAMPLE_PEOPLE: &[&str] = &["a", "ada", "alice", "bob", "me", "user", "you"];
/// Hosts that serve packages: which one is used is up to the reader's own settings.
const REGISTRIES: &[&str] = &[
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
    concat!("registry.", "npmjs.org"),
    concat!("files.", "pythonhosted.org"),
    concat!("proxy.", "golang.org"),
    concat!("art", "ifactory"),
];
/// Written by package managers, which put hosts there themselves.
const EXEMPT: &[&str] = &["Cargo.lock", "package-lock.json", "uv.lock"];

pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources {
        let file_name = source.path.rsplit('/').next().unwrap_or_default();
        if EXEMPT.contains(&file_name) {
            continue;
        }
        for (index, line) in source.text.lines().enumerate() {
            if let Some(word) = stray(line) {
                let message = format!("`{word}` means something on one machine only: leave it out");
                findings.push(Finding::new(&source.path, index + 1, message));
            }
        }
    }
    findings
}

fn stray(line: &str) -> Option<&'static str> {
    let registry = REGISTRIES.iter().find(|host| line.contains(**host));
    registry.or_else(|| PLACES.iter().find(|place| names_place(line, place))).copied()
}

fn names_place(line: &str, place: &str) -> bool {
    line.match_indices(place).any(|(at, _)| {
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        // `src/work/` and `https://host/home/` only look like it.
        let absolute = !before.is_some_and(|c| c.is_alphanumeric() || "_-.~})>*".contains(c));
        let after = line.get(at + place.len()..).unwrap_or_default();
        let name = after.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        absolute && !EXAMPLE_PEOPLE.iter().any(|person| person.eq_ignore_ascii_case(name))
    })
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn paths_of_one_machine_are_found() {
        for place in PLACES {
            for line in [format!("cd {place}main"), format!("\"{place}jane/x\""), place.to_string()]
            {
                assert_eq!(stray(&line), Some(*place), "{line}");
            }
        }
        for host in REGISTRIES {
            assert_eq!(stray(&format!("see https://{host}/x")), Some(*host));
        }
    }

    #[test]
    fn what_only_looks_like_one_is_not() {
        for place in PLACES {
            for line in
                [format!("src{place}x"), format!("${{HOME}}{place}x"), format!("{place}alice/x")]
            {
                assert_eq!(stray(&line), None, "{line}");
            }
        }
        assert_eq!(stray("/homework and https://crates.io/crates/serde"), None);
    }

    #[test]
    fn lock_files_are_not_ours() {
        let source =
            |path: &str| Source { path: path.into(), text: format!("x\n{}", REGISTRIES[0]) };
        assert!(check(&[source("Cargo.lock"), source("web/package-lock.json")]).is_empty());
        assert!(check(&[source("docs/a.md")])[0].to_string().starts_with("docs/a.md:2: "));
    }
}
