//! `permissions`: what a skill says that it needs.

use concertina_types::{NetworkScope, OnUnexpected, PathScope, Permissions};

use super::codes::Code;
use super::findings::Findings;
use crate::yaml::{Entry, Kind, Node};

/// Reads `permissions`; `None` where any part of it cannot be read, with the reason among the
/// findings. Half a permission is none: the key fails closed as a whole.
pub(super) fn read(entry: &Entry, findings: &mut Findings) -> Option<Permissions> {
    let mut out = Permissions::default();
    let entries = match &entry.value.kind {
        Kind::Map(entries) => entries,
        _ if is_nothing(&entry.value) => return Some(out),
        // Another program's list of words: well-formed, and it asks for nothing that we grant.
        Kind::List(items) if items.iter().all(|item| item.scalar().is_some_and(is_foreign)) => {
            wrong(
                entry.at,
                "permissions",
                "a mapping of read, write, network, execute and tools; nothing is granted",
                findings,
            );
            return Some(out);
        }
        _ => {
            wrong(
                entry.at,
                "permissions",
                "a mapping of read, write, network, execute and tools",
                findings,
            );
            return None;
        }
    };
    let mut good = true;
    let mut seen: Vec<String> = Vec::new();
    for part in entries {
        let key = part.key.replace('-', "_").to_ascii_lowercase();
        if seen.contains(&key) {
            let message = format!("`permissions.{key}` is given twice");
            findings.add(Code::UnknownPermission, part.at, message);
            good = false;
        }
        let read = match key.as_str() {
            "read" => scopes(&part.value).map(|scopes| out.read = scopes),
            "write" => scopes(&part.value).map(|scopes| out.write = scopes),
            "network" => network(&part.value).map(|scopes| out.network = scopes),
            "execute" => commands(&part.value).map(|commands| out.execute = commands),
            "tools" => texts(&part.value).map(|tools| out.tools = tools),
            "confirm" => texts(&part.value).map(|confirm| out.confirm = confirm),
            "on_unexpected" | "onunexpected" => {
                surprise(&part.value).map(|surprise| out.on_unexpected = surprise)
            }
            _ => {
                let message = format!("`permissions` has no key `{}`", part.key);
                findings.add(Code::UnknownPermission, part.at, message);
                good = false;
                Some(())
            }
        };
        if read.is_none() {
            let expected = match key.as_str() {
                "read" | "write" => "a list of `{paths: [...]}`",
                "network" => "`{domains: [...], methods: [...]}`",
                "execute" => "`{allowed: [...]}`",
                "on_unexpected" | "onunexpected" => "`abort` or `continue`",
                _ => "a list of names",
            };
            wrong(part.at, &format!("permissions.{key}"), expected, findings);
            good = false;
        }
        seen.push(key);
    }
    good.then_some(out)
}

fn wrong(at: usize, what: &str, expected: &str, findings: &mut Findings) {
    findings.add(Code::WrongShape, at, format!("`{what}` should be {expected}"));
}

/// Ways to say that nothing is asked for.
fn is_nothing(node: &Node) -> bool {
    match &node.kind {
        Kind::Scalar(text, _) => node.is_null() || matches!(text.as_str(), "none" | "false" | "no"),
        Kind::List(items) => items.is_empty(),
        Kind::Map(entries) => entries.is_empty(),
    }
}

fn surprise(node: &Node) -> Option<OnUnexpected> {
    match node.scalar()? {
        "abort" => Some(OnUnexpected::Abort),
        "continue" => Some(OnUnexpected::Continue),
        _ => None,
    }
}

/// A word that means nothing to us. `[read]` asks for something, and does not say what.
fn is_foreign(text: &str) -> bool {
    let ours = ["read", "write", "network", "execute", "tools", "confirm", "on_unexpected"];
    !ours.iter().any(|word| text.replace('-', "_").eq_ignore_ascii_case(word))
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b':'))
}

fn texts(node: &Node) -> Option<Vec<String>> {
    match &node.kind {
        _ if is_nothing(node) => Some(Vec::new()),
        Kind::Scalar(text, _) => Some(vec![text.trim().to_owned()]),
        Kind::List(items) => {
            items.iter().map(|item| item.scalar().map(|text| text.trim().to_owned())).collect()
        }
        Kind::Map(_) => None,
    }
}

/// The value of the only key of a mapping.
fn only<'n>(entries: &'n [Entry], key: &str) -> Option<&'n Node> {
    match entries {
        [entry] if entry.key == key => Some(&entry.value),
        _ => None,
    }
}

fn scopes(node: &Node) -> Option<Vec<PathScope>> {
    let scope = |node: &Node| -> Option<PathScope> {
        let paths = match &node.kind {
            Kind::Map(entries) => texts(only(entries, "paths").or_else(|| only(entries, "path"))?)?,
            _ => vec![node.scalar()?.trim().to_owned()],
        };
        Some(PathScope { paths })
    };
    match &node.kind {
        _ if is_nothing(node) => Some(Vec::new()),
        // Plain texts are one scope.
        Kind::List(items) if items.iter().all(|item| item.scalar().is_some()) => {
            Some(vec![PathScope { paths: texts(node)? }])
        }
        Kind::List(items) => items.iter().map(scope).collect(),
        _ => Some(vec![scope(node)?]),
    }
}

fn network(node: &Node) -> Option<Vec<NetworkScope>> {
    let scope = |node: &Node| -> Option<NetworkScope> {
        let Kind::Map(entries) = &node.kind else {
            return Some(NetworkScope { domains: texts(node)?, methods: Vec::new() });
        };
        let mut out = NetworkScope::default();
        for entry in entries {
            match entry.key.as_str() {
                "domains" | "domain" => out.domains = texts(&entry.value)?,
                "methods" | "method" => {
                    out.methods =
                        texts(&entry.value)?.iter().map(|m| m.to_ascii_uppercase()).collect();
                }
                _ => return None,
            }
        }
        Some(out)
    };
    match &node.kind {
        _ if is_nothing(node) => Some(Vec::new()),
        Kind::List(items) if items.iter().all(|item| item.scalar().is_some()) => {
            Some(vec![scope(node)?])
        }
        Kind::List(items) => items.iter().map(scope).collect(),
        // `network: true` says neither where nor how.
        Kind::Scalar(..) if node.is_typed_scalar() => None,
        _ => Some(vec![scope(node)?]),
    }
}

fn commands(node: &Node) -> Option<Vec<String>> {
    let allowed = |node: &Node| -> Option<Vec<String>> {
        match &node.kind {
            Kind::Map(entries) => texts(only(entries, "allowed")?),
            _ => Some(vec![node.scalar()?.trim().to_owned()]),
        }
    };
    match &node.kind {
        _ if is_nothing(node) => Some(Vec::new()),
        Kind::List(items) => {
            let parts = items.iter().map(allowed).collect::<Option<Vec<_>>>()?;
            Some(parts.into_iter().flatten().collect())
        }
        Kind::Scalar(..) if node.is_typed_scalar() => None,
        _ => allowed(node),
    }
}
