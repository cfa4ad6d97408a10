//! What a skill, a tool or a session may do, as an element of a lattice.

use std::collections::BTreeMap;

use concertina_types::{Digest, NetworkScope, canonical_json};
use serde::{Deserialize, Serialize};

use super::execute::CommandPattern;
use super::path_pattern::PathPattern;
use super::pattern::Pattern;
use super::reach::Reach;
use super::request::Request;
use super::roots::{Roots, roots};
use super::scope::Scope;

/// What may be read, written, reached, run and called. [`resolve`](super::resolve()) makes it of what a
/// skill declares.
///
/// The parts are independent of each other: who may write a file may not read it unless that is
/// granted as well.
///
/// ```
/// use concertina_core::policy::{Access, FilePath, PathPattern, Request, Scope};
/// let granted = Access { read: Scope::of([PathPattern::new("/p/**")?]), ..Access::nothing() };
/// let wanted = Access { read: Scope::of([PathPattern::new("/p/src/**")?]), ..Access::everything() };
/// let effective = granted.meet(&wanted);
/// assert!(effective.covers(&Request::Read(FilePath::new("/p/src/a.rs")?)));
/// assert!(!effective.covers(&Request::Read(FilePath::new("/p/key")?)));
/// assert!(!effective.covers(&Request::Run(vec!["ls".into()])));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// What may be read.
    pub read: Scope<PathPattern>,
    /// What may be made, changed and removed.
    pub write: Scope<PathPattern>,
    /// What may be reached.
    pub network: Scope<Reach>,
    /// What may be run.
    pub execute: Scope<CommandPattern>,
    /// What may be called.
    pub tools: Scope<Pattern>,
}

impl Access {
    /// Whatever there is: what a session has that nobody narrowed.
    pub fn everything() -> Self {
        Self {
            read: Scope::everything(),
            write: Scope::everything(),
            network: Scope::everything(),
            execute: Scope::everything(),
            tools: Scope::everything(),
        }
    }

    /// Nothing: what a skill gets that declares nothing.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// What both allow: what a session gives to one that it starts.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        Self {
            read: self.read.meet(&other.read),
            write: self.write.meet(&other.write),
            network: self.network.meet(&other.network),
            execute: self.execute.meet(&other.execute),
            tools: self.tools.meet(&other.tools),
        }
    }

    /// What either allows: what several open skills bring together.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        Self {
            read: self.read.join(&other.read),
            write: self.write.join(&other.write),
            network: self.network.join(&other.network),
            execute: self.execute.join(&other.execute),
            tools: self.tools.join(&other.tools),
        }
    }

    /// What a call may do: what this session was given, as far as one of the open skills that claim
    /// the tool asks for it. Without such a skill that is nothing.
    #[must_use]
    pub fn effective<'a>(&self, skills: impl IntoIterator<Item = &'a Self>) -> Self {
        let asked = skills.into_iter().fold(Self::nothing(), |all, skill| all.join(skill));
        self.meet(&asked)
    }

    /// Whether `request` is allowed.
    pub fn covers(&self, request: &Request) -> bool {
        match request {
            Request::Read(path) => self.read.allows(path),
            Request::Write(path) => self.write.allows(path),
            Request::Connect(connection) => self.network.allows(connection),
            Request::Run(words) => self.execute.allows(words),
            Request::Call(tool) => self.tools.covers(tool),
        }
    }

    /// The paths that may be read and written, as a sandbox can be given them.
    pub fn roots(&self) -> Roots {
        Roots { read: roots(&self.read), write: roots(&self.write) }
    }

    /// What may be reached, as scopes of one method each; none where that is everything, which only a
    /// session has and no skill asks for.
    pub fn network_scopes(&self) -> Option<Vec<NetworkScope>> {
        let mut layers = self.network.layers();
        let mut reached: Vec<Reach> = layers.next()?.iter().cloned().collect();
        for layer in layers {
            // Of two patterns for hosts one holds the other, or they share nothing.
            reached = reached
                .iter()
                .flat_map(|one| layer.iter().filter_map(move |other| one.meet(other)))
                .collect();
        }
        let mut domains: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for Reach { domain, method } in reached {
            let (domain, domains) = (domain.to_string(), domains.entry(method).or_default());
            if !domains.contains(&domain) {
                domains.push(domain);
            }
        }
        let scope = |(method, domains)| NetworkScope { domains, methods: vec![method] };
        Some(domains.into_iter().map(scope).collect())
    }

    /// One spelling of it: sorted and without what is superfluous.
    pub fn canonical(&self) -> String {
        canonical_json(&serde_json::to_value(self).unwrap_or_default())
    }

    /// A digest that is equal where access is known to be equal, however it was written.
    pub fn digest(&self) -> Digest {
        Digest::of(self.canonical().as_bytes())
    }
}
