//! What servers bring besides tools: prompts, resources, and shapes of addresses.

use std::collections::BTreeSet;

use concertina_types::{Blob, limits};
use rmcp::model::{Prompt, Resource, ResourceTemplate};
use serde::de::DeserializeOwned;

use crate::upstream::{Pool, Provided};

/// Something with the server that brings it.
#[derive(Debug, Clone)]
pub(super) struct From<T> {
    pub(super) server: String,
    pub(super) it: T,
}

impl From<Prompt> {
    /// The prompt's name at its server.
    pub(super) fn plain(&self) -> &str {
        let name = self.it.name.strip_prefix(&self.server);
        name.and_then(|name| name.strip_prefix('/')).unwrap_or(&self.it.name)
    }
}

/// Everything that servers bring besides tools, at one moment.
#[derive(Debug, Default)]
pub(super) struct Brought {
    /// Of which revision of the pool.
    pub(super) revision: u64,
    /// Prompts, under the names of their servers.
    pub(super) prompts: Vec<From<Prompt>>,
    pub(super) resources: Vec<From<Resource>>,
    pub(super) templates: Vec<From<ResourceTemplate>>,
    /// Addresses that a second server has too: the first one's counts.
    pub(super) doubled: Vec<String>,
    /// The mark of the prompts.
    pub(super) prompts_mark: Option<Blob>,
    /// The mark of the resources and the shapes.
    pub(super) resources_mark: Option<Blob>,
}

impl Brought {
    pub(super) fn by(pool: &Pool, revision: u64) -> Self {
        let (prompts, resources, templates) = (pool.prompts(), pool.resources(), pool.templates());
        let mark = |parts: &[&[Provided]]| {
            let all = parts.iter().flat_map(|part| part.iter());
            let lines = all.map(|one| format!("{} {}", one.server, one.definition));
            Some(Blob::of(&lines.collect::<Vec<_>>().join("\n")))
        };
        let mut brought = Self {
            revision,
            prompts_mark: mark(&[&prompts]),
            resources_mark: mark(&[&resources, &templates]),
            prompts: typed(prompts),
            resources: typed(resources),
            templates: typed(templates),
            doubled: Vec::new(),
        };
        for prompt in &mut brought.prompts {
            prompt.it.name = format!("{}/{}", prompt.server, prompt.it.name);
        }
        let mut seen = BTreeSet::new();
        let doubled = &mut brought.doubled;
        brought.resources.retain(|resource| {
            let is_first = seen.insert(resource.it.uri.clone());
            if !is_first {
                doubled.push(format!("{} of {}", resource.it.uri, resource.server));
            }
            is_first
        });
        brought
    }

    /// The prompt called `name`: by its whole name, or by the name at its server where exactly one
    /// is called so.
    pub(super) fn prompt(&self, name: &str) -> Option<&From<Prompt>> {
        let whole = self.prompts.iter().find(|prompt| prompt.it.name == name);
        whole.or_else(|| {
            let mut named = self.prompts.iter().filter(|prompt| prompt.plain() == name);
            named.next().filter(|_| named.next().is_none())
        })
    }

    /// The server that serves `uri`: it has it in a list, or a shape that fits.
    pub(super) fn server_of(&self, uri: &str) -> Option<&str> {
        let listed = self.resources.iter().find(|resource| resource.it.uri == uri);
        if let Some(listed) = listed {
            return Some(&listed.server);
        }
        let fits = |template: &&From<ResourceTemplate>| {
            template.it.uri_template == uri || is_shaped(uri, &template.it.uri_template)
        };
        self.templates.iter().find(fits).map(|template| template.server.as_str())
    }
}

/// What can be read as what it should be. The pool leaves out what is malformed, and says so.
fn typed<T: DeserializeOwned>(provided: Vec<Provided>) -> Vec<From<T>> {
    let one = |one: Provided| {
        let it = serde_json::from_value(one.definition).ok()?;
        Some(From { server: one.server, it })
    };
    provided.into_iter().filter_map(one).collect()
}

/// Whether `uri` has the shape of `template`: its fixed parts, in order, with something between.
fn is_shaped(uri: &str, template: &str) -> bool {
    if template.len() > limits::REF_BYTES || uri.len() > limits::REF_BYTES {
        return false;
    }
    let mut fixed = Vec::new();
    let mut rest = template;
    while let Some((before, from)) = rest.split_once('{') {
        let Some((_, after)) = from.split_once('}') else { return false };
        fixed.push(before);
        rest = after;
    }
    let Some(mut left) = fixed.first().and_then(|first| uri.strip_prefix(first)) else {
        return false;
    };
    for part in fixed.iter().skip(1).filter(|part| !part.is_empty()) {
        match left.split_once(part) {
            Some((_, after)) => left = after,
            None => return false,
        }
    }
    left.ends_with(rest)
}
