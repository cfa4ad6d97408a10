//! Which package may depend on which.

use super::PURE;
use crate::workspace::{Finding, Package, Source};

/// Where each package stands. It may depend on what stands lower, never on its own height.
const HEIGHTS: &[(&str, u8)] = &[
    ("xtask", 0),
    ("concertina-fixture-server", 0),
    ("concertina-types", 0),
    ("concertina-tokens", 1),
    ("concertina-format", 1),
    ("concertina-core", 2),
    ("concertina-sandbox", 3),
    ("concertina-store", 3),
    ("concertina-runtime", 4),
    ("concertina-mcp", 5),
    ("concertina", 5),
    ("concertina-http", 6),
    ("concertina-cli", 7),
];

/// What a pure crate may use from outside: nothing here opens a file, a socket or a clock.
const PURE_DEPENDENCIES: &[&str] = &[
    "base64",
    "globset",
    "pulldown-cmark",
    "quick-xml",
    "regex",
    "rust-stemmers",
    "serde",
    "serde-saphyr",
    "serde_json",
    "sha2",
    "strsim",
    "thiserror",
    "toml",
    "unicode-normalization",
];

/// Dependencies that one part hides from the rest, so that it can be exchanged.
const LOCKED: &[(&str, &[&str])] = &[
    ("axum", &["concertina-http"]),
    ("clap", &["concertina-cli"]),
    ("landlock", &["concertina-sandbox"]),
    ("rmcp", &["concertina-mcp"]),
    ("rusqlite", &["concertina-runtime", "concertina-store"]),
    ("seccompiler", &["concertina-sandbox"]),
    ("serde-saphyr", &["concertina-format"]),
];

/// This file, named in messages that say where to declare a decision.
const HERE: &str = "xtask/src/arch/packages.rs";

pub(super) fn check(packages: &[Package], sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        let manifest = format!("{}/Cargo.toml", package.directory);
        let text = sources.iter().find(|source| source.path == manifest);
        let line = |name: &str| text.map_or(1, |source| line_of(&source.text, name));
        let mut found =
            |at: &str, message| findings.push(Finding::new(&manifest, line(at), message));

        let Some(height) = height(&package.name) else {
            let message = format!(
                "unknown package `{}`: give it its place in HEIGHTS of {HERE}",
                package.name
            );
            found("name", message);
            continue;
        };
        if text.is_some_and(|source| !inherits_lints(&source.text)) && sandboxless(package) {
            found(
                "name",
                "the workspace's lints are not in force: add `[lints] workspace = true`".into(),
            );
        }
        for dependency in &package.dependencies {
            let name = dependency.name.as_str();
            let ours = packages.iter().any(|package| package.name == name);
            if ours && self::height(name).is_some_and(|below| below >= height) {
                let message = format!(
                    "`{}` must not depend on `{name}`, which stands as high or higher: \
                     types, then tokens and format, core, sandbox and store, runtime, faces",
                    package.name
                );
                found(name, message);
            }
            if dependency.dev {
                continue;
            }
            if let Some((_, owners)) = LOCKED.iter().find(|(locked, _)| *locked == name)
                && !owners.contains(&package.name.as_str())
            {
                let message = format!("`{name}` belongs to {} alone", owners.join(" and "));
                found(name, message);
            }
            if is_pure(package) && !ours && !PURE_DEPENDENCIES.contains(&name) {
                let message = format!(
                    "`{name}` is new to the pure crates: if it does no I/O, \
                     add it to PURE_DEPENDENCIES of {HERE}"
                );
                found(name, message);
            }
        }
    }
    findings.extend(lint_settings(sources));
    findings
}

/// Clippy reads the nearest `clippy.toml` only, so the pure crates repeat the root's settings.
fn lint_settings(sources: &[Source]) -> Vec<Finding> {
    let find = |path: &str| sources.iter().find(|source| source.path == path);
    let Some(root) = find("clippy.toml") else { return Vec::new() };
    let settings = || root.text.lines().filter(|line| !line.starts_with('#'));
    let copies = PURE.iter().map(|krate| format!("crates/{krate}/clippy.toml"));
    let first = copies.clone().next().and_then(|path| find(&path));
    copies
        .filter_map(|path| match find(&path) {
            None => Some((path, "missing: a pure crate forbids what its siblings forbid")),
            Some(copy) if settings().any(|line| !copy.text.lines().any(|own| own == line)) => {
                Some((path, "a setting of the root's clippy.toml is missing: repeat it here"))
            }
            Some(copy) if first.is_some_and(|first| first.text != copy.text) => {
                Some((path, "differs from the other pure crates: make them equal"))
            }
            Some(_) => None,
        })
        .map(|(path, message)| Finding::new(&path, 1, message))
        .collect()
}

fn height(name: &str) -> Option<u8> {
    HEIGHTS.iter().find(|(known, _)| *known == name).map(|(_, height)| *height)
}

fn is_pure(package: &Package) -> bool {
    package.directory.strip_prefix("crates/").is_some_and(|name| PURE.contains(&name))
}

/// The sandbox alone states its own lints, because it alone holds `unsafe`.
fn sandboxless(package: &Package) -> bool {
    package.name != "concertina-sandbox"
}

fn inherits_lints(manifest: &str) -> bool {
    let mut lines = manifest.lines().map(str::trim).skip_while(|line| *line != "[lints]").skip(1);
    lines.next().is_some_and(|line| line.replace(' ', "") == "workspace=true")
}

/// The line that starts with `key`, from 1; the first line when there is none.
fn line_of(manifest: &str, key: &str) -> usize {
    let starts = |line: &str| {
        let rest = line.trim_start().strip_prefix(key);
        rest.is_some_and(|rest| rest.starts_with([' ', '=', '.']))
    };
    manifest.lines().position(starts).map_or(1, |at| at + 1)
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::workspace::Dependency;

    const LINTS: &str = "[package]\nname = \"x\"\n\n[lints]\nworkspace = true\n";

    /// `crates/core: concertina-core -> a, dev b` as a package.
    fn package(line: &str) -> Package {
        let (directory, rest) = line.split_once(": ").unwrap();
        let (name, dependencies) = rest.split_once(" -> ").unwrap_or((rest, ""));
        Package {
            name: name.into(),
            directory: directory.into(),
            dependencies: dependencies
                .split(", ")
                .filter(|name| !name.is_empty())
                .map(|name| Dependency {
                    name: name.trim_start_matches("dev ").into(),
                    dev: name.starts_with("dev "),
                })
                .collect(),
        }
    }

    fn found(lines: &[&str]) -> Vec<String> {
        let packages: Vec<_> = lines.iter().map(|line| package(line)).collect();
        let sources: Vec<_> = packages
            .iter()
            .map(|package| Source {
                path: format!("{}/Cargo.toml", package.directory),
                text: LINTS.into(),
            })
            .collect();
        check(&packages, &sources).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn downwards_is_fine() {
        let fine = [
            "crates/types: concertina-types -> serde",
            "crates/core: concertina-core -> concertina-types, concertina-format, dev proptest",
            "crates/format: concertina-format -> concertina-types, serde-saphyr",
            "crates/store: concertina-store -> concertina-types, rusqlite",
            "crates/cli: concertina-cli -> concertina-core, clap, concertina-store",
        ];
        assert_eq!(found(&fine), Vec::<String>::new());
    }

    #[test]
    fn upwards_and_sideways_are_not() {
        for (low, high) in [
            ("crates/types: concertina-types -> concertina-core", "crates/core: concertina-core"),
            (
                "crates/tokens: concertina-tokens -> concertina-format",
                "crates/format: concertina-format",
            ),
            (
                "crates/core: concertina-core -> dev concertina-store",
                "crates/store: concertina-store",
            ),
            (
                "crates/store: concertina-store -> concertina-sandbox",
                "crates/sandbox: concertina-sandbox",
            ),
            ("xtask: xtask -> concertina-types", "crates/types: concertina-types"),
        ] {
            let found = found(&[low, high]);
            assert!(found.len() == 1 && found[0].contains("must not depend"), "{low}: {found:?}");
        }
    }

    #[test]
    fn an_unknown_package_is_told_where_to_go() {
        let found = found(&["crates/misc: concertina-misc"]);
        assert!(found[0].starts_with("crates/misc/Cargo.toml:2: unknown package"), "{found:?}");
        assert!(found[0].contains("HEIGHTS of xtask/src/arch/packages.rs"), "{found:?}");
    }

    #[test]
    fn locked_dependencies_stay_where_they_are() {
        for line in [
            "crates/runtime: concertina-runtime -> rmcp",
            "crates/cli: concertina-cli -> rusqlite",
            "crates/store: concertina-store -> clap",
        ] {
            let found = found(&[line]);
            assert!(found.len() == 1 && found[0].contains("alone"), "{line}: {found:?}");
        }
        assert!(found(&["crates/cli: concertina-cli -> dev rusqlite"]).is_empty());
    }

    #[test]
    fn pure_crates_take_no_new_dependency_unseen() {
        let found = found(&["crates/core: concertina-core -> tokio"]);
        assert!(found[0].contains("PURE_DEPENDENCIES"), "{found:?}");
    }

    #[test]
    fn lints_are_inherited() {
        let package = package("crates/store: concertina-store");
        let source = Source { path: "crates/store/Cargo.toml".into(), text: "[package]\n".into() };
        assert!(check(&[package], &[source])[0].to_string().contains("lints"));
    }

    #[test]
    fn pure_crates_share_their_lint_settings() {
        let found = |root: &str, copies: [&str; 4]| {
            let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
            let mut sources = vec![source("clippy.toml", root)];
            for (krate, text) in PURE.iter().zip(copies) {
                sources.push(source(&format!("crates/{krate}/clippy.toml"), text));
            }
            check(&[], &sources).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert!(found("# root\na = 1", ["a = 1\nb = 2"; 4]).is_empty());
        assert!(found("a = 1", ["a = 1", "a = 1", "a = 1\n", "a = 1"])[0].contains("format"));
        assert_eq!(found("a = 1\nc = 3", ["a = 1"; 4]).len(), 4);
        let alone = Source { path: "clippy.toml".into(), text: String::new() };
        assert_eq!(check(&[], &[alone]).len(), 4);
    }

    #[test]
    fn a_dependency_is_found_on_its_line() {
        assert_eq!(line_of("[dependencies]\nserde_json = 1\nserde = 1\n", "serde"), 3);
        assert_eq!(line_of("serde.workspace = true", "serde"), 1);
        assert_eq!(line_of("nothing", "serde"), 1);
    }
}
