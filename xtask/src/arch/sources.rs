//! What a source file may say, and how much of it.

use super::PURE;
use crate::rust::{self, Kind, Mention, Token};
use crate::workspace::{Finding, Source};

/// A longer file has two subjects.
const LINES: usize = 800;
/// The first line of a file that no one writes by hand; its length is not judged.
const GENERATED: &str = "// @generated";

/// Modules of `core` that do not know each other, and the one that composes them.
const PARTS: &[&str] = &["policy", "catalog", "procedure", "context"];
const COMPOSER: &str = "session";

/// The parts of the standard library that touch the world.
const IMPURE: &[&str] = &[
    "std::env",
    "std::fs",
    "std::hash::RandomState",
    "std::collections::hash_map::RandomState",
    "std::io::stderr",
    "std::io::stdin",
    "std::io::stdout",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
];

pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut yaml_readers = Vec::new();
    for source in sources.iter().filter(|source| source.is("rs")) {
        let Some((owner, inside)) = owner(source) else { continue };
        findings.extend(length(source));
        let tokens = rust::tokens(&source.text);
        let mentions = rust::mentions(&tokens);
        if owner != "sandbox" {
            findings.extend(no_unsafe(source, &tokens));
        }
        if PURE.contains(&owner) {
            findings.extend(purity(source, &mentions));
        }
        if owner == "core" {
            findings.extend(siblings(source, inside, &mentions));
        }
        let names =
            |krate: &str| mentions.iter().find(|mention| mention.path.first() == Some(&krate));
        if let Some(mention) = names("serde_saphyr") {
            yaml_readers.push((source, mention.line));
        }
        if let Some(mention) = names("rusqlite")
            && owner == "runtime"
            && !inside.starts_with("tools")
        {
            let message = "`rusqlite` is for src/tools alone in this crate: keep data in `store`";
            findings.push(Finding::new(&source.path, mention.line, message));
        }
    }
    for (source, line) in yaml_readers.iter().skip(1) {
        let message = "a second file reads YAML: `serde_saphyr` is named in one file only";
        findings.push(Finding::new(&source.path, *line, message));
    }
    findings
}

/// The crate's directory below `crates/` (or `xtask`) and the path inside its `src`.
fn owner(source: &Source) -> Option<(&str, &str)> {
    let path = source.below("crates").unwrap_or(&source.path);
    let (owner, inside) = path.split_once('/')?;
    Some((owner, inside.strip_prefix("src/")?))
}

fn length(source: &Source) -> Option<Finding> {
    let lines = source.text.lines().count();
    let generated = source.text.starts_with(GENERATED);
    (lines > LINES && !generated).then(|| {
        let message =
            format!("{lines} lines, {LINES} are the limit: it has two subjects, split it");
        Finding::new(&source.path, LINES + 1, message)
    })
}

fn no_unsafe(source: &Source, tokens: &[Token<'_>]) -> Option<Finding> {
    let token = tokens.iter().find(|token| token.kind == Kind::Word("unsafe"))?;
    Some(Finding::new(&source.path, token.line, "`unsafe` lives in the sandbox crate alone"))
}

fn purity(source: &Source, mentions: &[Mention<'_>]) -> Vec<Finding> {
    let impure = |mention: &Mention<'_>| {
        IMPURE.iter().find(|bad| {
            let bad: Vec<_> = bad.split("::").collect();
            // `use std::*` would let everything in by its short name.
            mention.path.starts_with(&bad) || mention.path == ["std", "*"]
        })
    };
    let found = mentions.iter().filter_map(|mention| Some((mention.line, impure(mention)?)));
    found
        .map(|(line, what)| {
            let message = format!("`{what}` in a pure crate: let the caller pass in what it needs");
            Finding::new(&source.path, line, message)
        })
        .collect()
}

/// Where a module of `core` mentions one that it must not know.
fn siblings(source: &Source, inside: &str, mentions: &[Mention<'_>]) -> Vec<Finding> {
    let stem = inside.trim_end_matches(".rs").trim_end_matches("/mod");
    let module: Vec<_> = stem.split('/').collect();
    let own = module.first().copied().unwrap_or_default();
    if own == "lib" || own == COMPOSER {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for mention in mentions {
        let Some(target) = from_root(&mention.path, module.len()) else { continue };
        if target == own || !(PARTS.contains(&target) || target == COMPOSER || target == "*") {
            continue;
        }
        let message = format!(
            "`{own}` must not know `{target}`: only `{COMPOSER}` composes {}",
            PARTS.join(", ")
        );
        findings.push(Finding::new(&source.path, mention.line, message));
    }
    findings
}

/// The top-level module that a path leads to, seen from a module at `depth`; none if it stays inside.
fn from_root<'a>(path: &[&'a str], depth: usize) -> Option<&'a str> {
    let supers = path.iter().take_while(|part| matches!(**part, "super" | "self")).count();
    let climbed = path.iter().take(supers).filter(|part| **part == "super").count();
    match path.first() {
        Some(&"crate") => path.get(1).copied(),
        _ if climbed >= depth => path.get(supers).copied(),
        _ => None,
    }
}

#[cfg(test)]
mod test {
    use super::*;

    /// Findings of one file, without its path.
    fn found(path: &str, text: &str) -> Vec<String> {
        let source = Source { path: path.into(), text: text.into() };
        let prefix = format!("{path}:");
        let strip = |finding: &Finding| finding.to_string().replace(&prefix, "");
        check(&[source]).iter().map(strip).collect()
    }

    #[test]
    fn parts_of_core_do_not_know_each_other() {
        for (path, text) in [
            ("policy/mod.rs", "use crate::catalog::Entry;"),
            ("policy/lattice.rs", "use crate::{context, policy};"),
            ("policy.rs", "fn f() { super::procedure::go() }"),
            ("policy/a/b.rs", "use super::super::super::catalog::X;"),
            ("policy/mod.rs", "#[cfg(test)] mod test { use super::super::catalog::X; }"),
            ("catalog/mod.rs", "use crate::session::Session;"),
            ("catalog/mod.rs", "use crate::*;"),
            ("shared.rs", "use crate::catalog::Entry;"),
        ] {
            let found = found(&format!("crates/core/src/{path}"), text);
            assert!(
                found.len() == 1 && found[0].contains("must not know"),
                "{path} {text}: {found:?}"
            );
        }
    }

    #[test]
    fn what_stays_inside_a_part_is_fine() {
        for (path, text) in [
            ("policy/mod.rs", "use crate::policy::lattice; use super::policy;"),
            ("policy/a.rs", "use super::context::Local; use crate::shared::X;"),
            ("session/mod.rs", "use crate::{catalog, policy, procedure, context};"),
            ("lib.rs", "pub use crate::catalog::Catalog; pub mod policy;"),
            ("policy/mod.rs", "/// See [`crate::catalog`].\npub struct X;"),
        ] {
            assert!(found(&format!("crates/core/src/{path}"), text).is_empty(), "{path} {text}");
        }
        assert!(found("crates/store/src/policy.rs", "use crate::catalog::X;").is_empty());
        assert!(found("crates/core/tests/it/policy.rs", "use crate::catalog::X;").is_empty());
    }

    #[test]
    fn pure_crates_touch_nothing() {
        for text in [
            "use std::fs;",
            "use std::{collections::BTreeMap, fs::File};",
            "fn f() { std::env::var(\"A\"); }",
            "use std::time::{Duration, SystemTime};",
            "use ::std::net::IpAddr;",
            "fn f() { std::io::stdout(); }",
            "use std::*;",
        ] {
            for krate in PURE {
                let found = found(&format!("crates/{krate}/src/lib.rs"), text);
                assert!(found.len() == 1 && found[0].contains("pure crate"), "{text}: {found:?}");
            }
            assert!(found("crates/runtime/src/lib.rs", text).is_empty());
            assert!(found("crates/core/tests/it/main.rs", text).is_empty());
        }
        let fine = "use std::time::Duration; use std::io::Write; // std::fs\nlet x = \"std::fs\";";
        assert!(found("crates/core/src/lib.rs", fine).is_empty());
    }

    #[test]
    fn unsafe_is_for_the_sandbox() {
        let text = "#![deny(unsafe_code)]\nfn f() { unsafe { g() } }";
        assert!(found("crates/store/src/lib.rs", text)[0].starts_with("2: `unsafe`"));
        assert!(found("crates/sandbox/src/lib.rs", text).is_empty());
        assert!(found("crates/store/src/lib.rs", "#![forbid(unsafe_code)]").is_empty());
    }

    #[test]
    fn yaml_is_read_in_one_file() {
        let file = |name: &str| Source {
            path: format!("crates/format/src/{name}.rs"),
            text: "use serde_saphyr::from_str;".into(),
        };
        assert!(check(&[file("yaml")]).is_empty());
        assert_eq!(check(&[file("other"), file("yaml")]).len(), 1);
    }

    #[test]
    fn sqlite_is_for_tools_in_the_runtime() {
        let text = "use rusqlite::Connection;";
        assert_eq!(found("crates/runtime/src/sources.rs", text).len(), 1);
        assert!(found("crates/runtime/src/tools/sql.rs", text).is_empty());
        assert!(found("crates/store/src/lib.rs", text).is_empty());
    }

    #[test]
    fn long_files_have_two_subjects() {
        let lines = |n| "\n".repeat(n);
        assert!(found("xtask/src/a.rs", &lines(800)).is_empty());
        assert!(found("xtask/src/a.rs", &lines(801))[0].starts_with("801: 801 lines"));
        assert!(found("crates/x/tests/it/a.rs", &lines(801)).is_empty());
        assert!(
            found("crates/x/src/t.rs", &format!("// @generated by x\n{}", lines(900))).is_empty()
        );
    }
}
