//! What a skill declares to need: one digest for it, and words for a person.

use std::collections::BTreeSet;

use concertina_types::{Digest, OnUnexpected, PathScope, Permissions, canonical_json};
use serde_json::json;

/// The digest of what `permissions` declare; equal for equal declarations however they are written.
///
/// ```
/// use concertina_runtime::supply::permissions_digest;
/// use concertina_types::Permissions;
/// let of = |execute: &[&str]| permissions_digest(&Permissions {
///     execute: execute.iter().map(|text| text.to_string()).collect(),
///     ..Permissions::default()
/// });
/// assert_eq!(of(&["git status", "ls *"]), of(&["ls *", "git status", "ls *"]));
/// assert_ne!(of(&["git status"]), of(&[]));
/// ```
pub fn permissions_digest(permissions: &Permissions) -> Digest {
    let network: BTreeSet<_> = permissions
        .network
        .iter()
        .flat_map(|scope| {
            let methods = sorted(scope.methods.iter());
            scope.domains.iter().map(move |domain| (domain, methods.clone()))
        })
        .collect();
    let on_unexpected = match permissions.on_unexpected {
        OnUnexpected::Unstated | OnUnexpected::Abort => "abort",
        OnUnexpected::Continue => "continue",
    };
    let canonical = json!({
        "read": paths(&permissions.read),
        "write": paths(&permissions.write),
        "network": network,
        "execute": sorted(permissions.execute.iter()),
        "tools": sorted(permissions.tools.iter()),
        "confirm": sorted(permissions.confirm.iter()),
        "on_unexpected": on_unexpected,
    });
    Digest::of(canonical_json(&canonical).as_bytes())
}

fn sorted<'a>(texts: impl Iterator<Item = &'a String>) -> BTreeSet<&'a String> {
    texts.collect()
}

fn paths(scopes: &[PathScope]) -> BTreeSet<&String> {
    sorted(scopes.iter().flat_map(|scope| &scope.paths))
}

/// What `permissions` declare, a line each, sorted; empty where nothing is declared.
///
/// ```
/// use concertina_runtime::supply::permissions_in_words;
/// use concertina_types::Permissions;
/// let permissions = Permissions { execute: vec!["git status".into()], ..Permissions::default() };
/// assert_eq!(permissions_in_words(&permissions), ["runs `git status`"]);
/// ```
pub fn permissions_in_words(permissions: &Permissions) -> Vec<String> {
    let mut words = Vec::new();
    let mut say = |verb: &str, what: BTreeSet<&String>| {
        words.extend(what.into_iter().map(|one| format!("{verb} `{one}`")));
    };
    say("reads", paths(&permissions.read));
    say("writes", paths(&permissions.write));
    say("runs", sorted(permissions.execute.iter()));
    say("calls the tools", sorted(permissions.tools.iter()));
    say("always asks before", sorted(permissions.confirm.iter()));
    for scope in &permissions.network {
        let methods = if scope.methods.is_empty() {
            "to read".to_owned()
        } else {
            format!("with {}", scope.methods.join(", "))
        };
        words.extend(scope.domains.iter().map(|host| format!("reaches `{host}` {methods}")));
    }
    if permissions.on_unexpected == OnUnexpected::Continue {
        words.push("goes on where something that it does not declare is refused".to_owned());
    }
    words
}
