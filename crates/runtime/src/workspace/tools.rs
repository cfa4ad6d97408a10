//! The tools of a workspace: those that settings define, and those that servers offer.

use std::collections::BTreeMap;
use std::sync::Arc;

use concertina_core::catalog::{Category, Danger, NeedsSkill, Skipped, ToolEntry};
use concertina_format::config::ConfigOrigin;
use concertina_types::{Permissions, Tokens, ToolName, limits};

use super::Workspace;
use super::categories::{Filing, Paper};
use crate::sources::{FileSystem, Place};
use crate::upstream::{Hints, Offer, OfferedSkill, OfferedTool, ServerState};

/// What runs a tool of a server.
const RUNNER: &str = "mcp";

/// How many tools the description of a category that nobody described names.
const HINTS: usize = 8;

/// The tools as the catalogue has them.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) tools: Vec<Arc<ToolEntry>>,
    pub(super) categories: BTreeMap<String, Category>,
    pub(super) tokens: Tokens,
    /// Offered tools that were left out, and what else did not go as the settings have it.
    pub(super) skipped: Vec<Skipped>,
}

impl Workspace {
    /// Whether the workspace itself defines the tool called `name`.
    fn is_own_tool(&self, name: &ToolName) -> bool {
        let from = self.loaded.tools_from.get(name);
        from.is_some_and(|file| file.origin == ConfigOrigin::Workspace)
    }

    /// Looks for skills where those of servers are kept, as a person approved them.
    pub(super) fn take_served(&mut self) {
        let skills = self.offer.iter().flat_map(|offer| &offer.skills);
        let places = skills
            .filter_map(|skill| Some(Place::served(skill.kept.clone()?, skill.server.clone())));
        self.served = FileSystem::new(places.collect());
    }

    /// Puts together the tools that there are now, sorted by name.
    pub(super) fn gather(&self, offer: Option<&Offer>, settings_trusted: bool) -> Gathered {
        let filing = Filing::new(&self.loaded.config);
        let offered = offer.map_or(0, |offer| offer.tools.len());
        let mut tools = Vec::with_capacity(self.defined_tools.len() + offered);
        for tool in &self.defined_tools {
            let mut tool = tool.clone();
            tool.trusted = settings_trusted || !self.is_own_tool(&tool.name);
            if tool.category.is_empty() {
                let named = filing.named(tool.name.as_str()).unwrap_or_default();
                named.clone_into(&mut tool.category);
            }
            tools.push(self.shared(tool));
        }
        for (server, offered) in by_server(offer) {
            let papers: Vec<Paper<'_>> = offered.iter().map(|tool| paper(tool)).collect();
            let trusted = offer.is_some_and(|offer| is_trusted(offer, server));
            let filed = offered.iter().zip(filing.file(&papers));
            tools.extend(filed.map(|(tool, category)| self.shared(entry(tool, category, trusted))));
        }
        // Of several with one name the first stays first.
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        let mut skipped = Vec::new();
        tools.dedup_by(|tool, taken| {
            let is_taken = tool.name == taken.name;
            if is_taken {
                skipped.push(left_out(tool, taken));
            }
            is_taken
        });
        let mut pins = 0;
        for tool in tools.iter_mut().filter(|tool| filing.is_pinned(tool.name.as_str())) {
            pins += 1;
            if pins <= limits::PINNED_TOOLS {
                Arc::make_mut(tool).category.clear();
            }
        }
        skipped.extend(offer.iter().flat_map(|offer| &offer.skills).filter_map(waits));
        if pins > limits::PINNED_TOOLS {
            skipped.push(Skipped {
                path: "menu.pinned".to_owned(),
                code: "PINS_OVER_LIMIT".to_owned(),
                reason: format!(
                    "the patterns pin {pins} tools; the first {} stand outside the menus",
                    limits::PINNED_TOOLS
                ),
            });
        }
        Gathered {
            categories: self.categories(&tools, offer),
            tokens: tokens(&tools),
            tools,
            skipped,
        }
    }

    /// `tool`, or the same one as the catalogue has it already: several catalogues are held at a time,
    /// and a server that comes changes no other's tools.
    fn shared(&self, tool: ToolEntry) -> Arc<ToolEntry> {
        let tools = &self.gathered.tools;
        let place = tools.binary_search_by(|known| known.name.cmp(&tool.name)).ok();
        let known = place.and_then(|place| tools.get(place)).filter(|known| ***known == tool);
        known.map_or_else(|| Arc::new(tool), Arc::clone)
    }

    /// The categories of the settings, and those that are derived: these tell of what is inside.
    fn categories(
        &self,
        tools: &[Arc<ToolEntry>],
        offer: Option<&Offer>,
    ) -> BTreeMap<String, Category> {
        let mut categories = self.defined_categories.clone();
        let mut inside: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for tool in tools.iter().filter(|tool| tool.server.is_some()) {
            if !categories.contains_key(&tool.category) && !tool.category.is_empty() {
                inside.entry(&tool.category).or_default().push(tool.name_on_server());
            }
        }
        for (name, tools) in inside {
            let some = tools.get(..HINTS).unwrap_or(&tools).join(", ");
            let description = if tools.len() > HINTS { format!("{some}, …") } else { some };
            let title = name.rsplit('/').next().unwrap_or(name).to_owned();
            let notes = String::new();
            categories.insert(name.to_owned(), Category { title, description, notes });
        }
        for server in offer.iter().flat_map(|offer| &offer.servers) {
            let said = server.instructions.as_deref().unwrap_or_default().trim();
            if let Some(category) = categories.get_mut(&server.name).filter(|_| !said.is_empty()) {
                category.notes = cut(said);
            }
        }
        categories
    }
}

/// That a skill of a server waits for a person, where it does.
fn waits(skill: &OfferedSkill) -> Option<Skipped> {
    let OfferedSkill { server, name, kept, .. } = skill;
    kept.is_none().then(|| Skipped {
        path: format!("server {server}"),
        code: "UNAPPROVED".to_owned(),
        reason: format!(
            "server {server} brings skill `{name}`, which nobody has approved as it is now; look at it with: concertina upstream approve {server}"
        ),
    })
}

/// What a server says of itself, as far as there is room for it.
fn cut(said: &str) -> String {
    let room = said.floor_char_boundary(limits::SERVER_NOTES_BYTES);
    match said.get(..room).filter(|kept| kept.len() < said.len()) {
        None => said.to_owned(),
        Some(kept) => format!("{kept}\n[cut: {} bytes in all]", said.len()),
    }
}

/// The offered tools of each server.
fn by_server(offer: Option<&Offer>) -> BTreeMap<&str, Vec<&OfferedTool>> {
    let mut servers: BTreeMap<&str, Vec<&OfferedTool>> = BTreeMap::new();
    for tool in offer.iter().flat_map(|offer| &offer.tools) {
        servers.entry(&tool.server).or_default().push(tool);
    }
    servers
}

fn is_trusted(offer: &Offer, server: &str) -> bool {
    let states = offer.servers.iter().filter(|known| known.name == server);
    states.map(|known| known.state).all(|state| state != ServerState::Untrusted)
}

fn paper(tool: &OfferedTool) -> Paper<'_> {
    let name = tool.name.as_str();
    let own = name.strip_prefix(tool.server.as_str()).and_then(|rest| rest.strip_prefix('/'));
    Paper { name, server: &tool.server, own: own.unwrap_or(name), tags: &tool.tags }
}

/// That `tool` is left out, since `taken` has its name.
fn left_out(tool: &ToolEntry, taken: &ToolEntry) -> Skipped {
    let reason = match &taken.server {
        None => "concertina.toml defines a tool of this name".to_owned(),
        Some(other) => format!("server {other} has a tool of this name"),
    };
    let server = tool.server.as_deref().unwrap_or_default();
    Skipped {
        path: format!("server {server}"),
        code: "NAME_TAKEN".to_owned(),
        reason: format!("tool:{} is left out: {reason}; rename the server", tool.name),
    }
}

fn entry(tool: &OfferedTool, category: String, trusted: bool) -> ToolEntry {
    ToolEntry {
        name: tool.name.clone(),
        title: tool.title.clone(),
        description: tool.description.clone(),
        parameters: tool.input.clone(),
        output: tool.output.clone(),
        category,
        danger: danger(tool.hints),
        needs_skill: NeedsSkill::No,
        trusted,
        quarantined: tool.quarantined.clone(),
        runner: RUNNER.to_owned(),
        server: Some(tool.server.clone()),
        permissions: Permissions::default(),
        unstated: false,
        digest: tool.digest,
    }
}

/// What a server's hints make of a tool. Where they contradict each other, the worse counts.
fn danger(hints: Hints) -> Danger {
    match hints {
        Hints { destructive: Some(true), .. } => Danger::Destructive,
        Hints { read_only: Some(true), .. } => Danger::Safe,
        _ => Danger::Writes,
    }
}

/// What all definitions take: counted where they might all be shown at once, else as one token for
/// four bytes, since counting thousands takes longer than starting may.
fn tokens(tools: &[Arc<ToolEntry>]) -> Tokens {
    if tools.len() <= limits::DIRECT_TOOLS {
        return tools.iter().map(|tool| concertina_tokens::count(&tool.definition())).sum();
    }
    let bytes = tools.iter().map(|tool| {
        tool.name.as_str().len() + tool.description.len() + tool.parameters.text().len()
    });
    Tokens(u64::try_from(bytes.sum::<usize>() / 4).unwrap_or(u64::MAX))
}
