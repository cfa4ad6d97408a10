//! What a turn shows, and how the context is folded.

use concertina_types::{
    Actor, Blob, CallOutcome, Fact, ListingKind, Ref, SessionId, SessionMode, SkillId, Subject,
    Tokens, limits,
};

use super::super::answer::Refusal;
use super::super::command::Origin;
use super::super::state::State;
use super::super::tools::{mechanism, tool_definitions};
use super::super::view::{Part, View};
use super::super::visibility::{is_listed, menus, visible_skills, visible_tools};
use super::super::world::World;
use super::changes;
use super::draft::Deciding;
use crate::catalog::listing::{self, Budget, Listing};
use crate::catalog::{NeedsSkill, SkillEntry, Snapshot};
use crate::context::{block, carry_over, disarm, excerpt};

impl Deciding<'_> {
    pub(super) fn start(
        &mut self,
        principal: String,
        parent: Option<(SessionId, u32)>,
        mode: SessionMode,
        settings: String,
    ) {
        if self.state.session.is_some() {
            let text =
                "this session has begun; what it runs under cannot be changed, so start another";
            return self.refuse(&Origin::user(), "start", Refusal::new("ALREADY_STARTED", text));
        }
        let settings = self.keep(settings);
        let (parent, depth) = parent.map_or((None, 0), |(parent, depth)| (Some(parent), depth));
        self.fact(Actor::System, Fact::SessionStarted { principal, parent, depth, mode, settings });
    }

    /// Takes note of what happened outside. Nothing that opens, admits or settles comes this way.
    pub(super) fn observe(&mut self, fact: Fact, content: Vec<String>) {
        let actor = match fact {
            Fact::ModelReplied { .. } | Fact::TaskFinished { .. } => Actor::Model,
            Fact::ModelAsked { .. }
            | Fact::ModelFailed { .. }
            | Fact::ServerAsked { .. }
            | Fact::SessionInterrupted { .. } => Actor::System,
            _ => {
                let text =
                    format!("{} is decided by a command and cannot be observed", fact.kind());
                let refusal = Refusal::new("NOT_OBSERVABLE", text);
                return self.refuse(&Origin::user(), "observe", refusal);
            }
        };
        for text in content {
            self.keep(text);
        }
        self.fact(actor, fact);
    }

    pub(super) fn settings(&mut self, settings: String) {
        let settings = self.redacted(settings);
        if self.state.settings == Some(Blob::of(&settings)) {
            return;
        }
        let settings = self.keep(settings);
        self.fact(Actor::System, Fact::SettingsChanged { settings });
    }

    pub(super) fn index(&mut self, snapshot: Blob) {
        if self.state.snapshot == Some(snapshot) {
            return;
        }
        let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        let (skills, tools) =
            (count(self.world.snapshot.skills.len()), count(self.world.snapshot.tools.len()));
        self.fact(Actor::System, Fact::CatalogIndexed { snapshot, skills, tools });
    }

    pub(super) fn task(&mut self, text: String) {
        let text = self.redacted(text);
        let tokens = self.world.counter.count(&text);
        let text = self.keep(text);
        self.fact(Actor::User, Fact::TaskGiven { text, tokens });
    }

    pub(super) fn turn(&mut self) {
        self.fact(Actor::System, Fact::TurnStarted {});
        let unchanged = self.state.listed.is_some()
            && self.state.listed == self.state.snapshot
            && self.state.listed_activated == self.state.activated;
        match self.world.listed {
            _ if unchanged => {}
            Some(listed) if self.state.index.is_some() => self.disclose_delta(listed),
            _ => self.disclose_index(),
        }
    }

    /// A file was touched. What is active already, or known already, is not said again.
    pub(super) fn touch(
        &mut self,
        path: &str,
        activated: Vec<(SkillId, String)>,
        nested: Vec<String>,
    ) {
        for directory in nested.into_iter().filter(|new| !self.state.nested.contains(new)) {
            self.fact(Actor::System, Fact::NestedDiscovered { directory, path: path.to_owned() });
        }
        for (id, pattern) in activated {
            let waits = self.world.snapshot.skill(&id).is_some_and(|entry| !entry.paths.is_empty());
            if waits && !self.state.activated.contains(&id) {
                self.fact(
                    Actor::System,
                    Fact::SkillActivated { id, path: path.to_owned(), pattern },
                );
            }
        }
    }

    /// Shows the categories of tools that can be opened next, and the tools that stand outside.
    pub(super) fn open_root(&mut self, origin: &Origin) {
        let page = standing_tools(self.state, self.world, &Budget::tools());
        let text = match page.as_str() {
            "" => {
                "No tool is visible now, and there is no menu to open. Skills may bring tools; use find."
            }
            page => page,
        };
        self.answer(origin, text, false, Vec::new());
    }

    /// Shows the whole index, once an epoch.
    fn disclose_index(&mut self) {
        let (state, world) = (self.state, self.world);
        let tools = standing_tools(state, world, &self.tools_budget());
        let used = |id: &SkillId| state.used.get(id).copied().unwrap_or_default();
        let listed = visible_skills(state, world, Subject::Model);
        let budget = self.index_budget(&tools);
        let skills = listing::full(listed, &budget, &used, world.counter);
        self.disclose(ListingKind::Full, skills, &tools);
    }

    fn disclose_delta(&mut self, listed: &Snapshot) {
        let (state, world) = (self.state, self.world);
        let shown = |entry: &SkillEntry| is_listed(state, world, entry);
        let then = State { activated: state.listed_activated.clone(), ..state.clone() };
        let shown_then = |entry: &SkillEntry| is_listed(&then, world, entry);
        let diff = world.snapshot.diff(listed, &shown, &shown_then);
        let budget = self.tools_budget();
        let tools = changes::of_tools(state, world, listed, &budget)
            .unwrap_or_else(|| standing_tools(state, world, &budget));
        let used = |id: &SkillId| state.used.get(id).copied().unwrap_or_default();
        let budget = self.index_budget(&tools);
        let changes = listing::delta(world.snapshot, &diff, &budget, &used, world.counter);
        self.disclose(ListingKind::Delta, changes, &tools);
    }

    fn disclose(&mut self, kind: ListingKind, listing: Listing, tools: &str) {
        let text = match (listing.text.is_empty(), tools.is_empty()) {
            // An index of nothing is not worth a word; a delta of nothing says that it was looked at.
            (true, true) if listing.total == 0 && kind == ListingKind::Full => return,
            (true, true) => String::new(),
            (false, true) => listing.text,
            (true, false) => tools.to_owned(),
            (false, false) => format!("{}\n{tools}", listing.text),
        };
        let text = self.redacted(text);
        let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        let tokens = self.world.counter.count(&text);
        self.decision.shown = Some(text.clone()).filter(|text| !text.is_empty());
        let fact = Fact::ListingDisclosed {
            listing: kind,
            text: self.keep(text),
            tokens,
            full: count(listing.full),
            shortened: count(listing.shortened),
            names_only: count(listing.names_only),
            omitted: count(listing.omitted),
        };
        self.fact(Actor::System, fact);
    }

    /// What the names of tools and categories may take.
    fn tools_budget(&self) -> Budget {
        match self.state.mode {
            SessionMode::Owned => Budget::tools(),
            SessionMode::Blind => {
                Budget { tokens: Tokens(limits::ROOT_PART_TOKENS), ..Budget::tools() }
            }
        }
    }

    /// What the skills may take, so that the first turn as a whole stays below its limit.
    fn index_budget(&self, tools: &str) -> Budget {
        if self.state.mode == SessionMode::Blind {
            let tokens = Tokens(limits::ROOT_PART_TOKENS);
            return Budget { tokens, ..self.world.settings.listing_budget() };
        }
        let fixed = View {
            tools: tool_definitions(),
            system: vec![super::super::view::Block {
                part: Part::Mechanism,
                text: mechanism().into(),
            }],
            messages: Vec::new(),
        };
        let fixed: Tokens = fixed.tokens(self.world.counter).into_values().sum();
        // The card of a first turn is a line or two.
        let card = Tokens(limits::CARD_TOKENS / 4);
        let spent = fixed + card + self.world.counter.count(tools);
        let mut budget = self.world.settings.listing_budget();
        budget.tokens = budget.tokens.min(Tokens(limits::FIRST_TURN_TOKENS).saturating_sub(spent));
        budget
    }

    pub(super) fn compact(&mut self) {
        let busy = !self.state.pending.is_empty() || !self.state.unanswered().is_empty();
        if busy {
            let message = "a call is under way, and a call and its result stay together; wait for it, or resume the session first";
            return self.refuse(&Origin::user(), "compact", Refusal::new("BUSY", message));
        }
        let open: Vec<(SkillId, Tokens)> = self
            .state
            .open
            .iter()
            .map(|open| (open.opened.id.clone(), open.opened.tokens))
            .collect();
        let carried = carry_over(open, Tokens(limits::CARRY_OVER_TOKENS));
        let fact = Fact::ContextCompacted {
            epoch: self.state.epoch + 1,
            kept: carried.kept,
            dropped: carried.dropped,
        };
        self.fact(Actor::System, fact);
        // The model has forgotten the index: it is shown again at once, so that no turn lacks it.
        self.disclose_index();
    }

    pub(super) fn recover(&mut self) {
        for id in self.state.pending.keys() {
            self.fact(
                Actor::System,
                Fact::CallFinished { id: *id, outcome: CallOutcome::Unknown, held: None },
            );
        }
        for child in self.state.children.keys() {
            let result = self.keep(String::new());
            let fact = Fact::ChildFinished { child: child.clone(), completed: false, result };
            self.fact(Actor::System, fact);
        }
        let unanswered: Vec<String> =
            self.state.unanswered().into_iter().map(|call| call.id.clone()).collect();
        for call in unanswered {
            let text = "error INTERRUPTED: work stopped before this call was answered; whether it \
                        took effect is not known. Look before you do it again.";
            self.answer(&Origin::model(call), text, true, Vec::new());
        }
        self.decision.answer = None;
    }

    pub(super) fn find(
        &mut self,
        origin: &Origin,
        query: String,
        hits: &[(Ref, String)],
        enough: bool,
        words_alone: Option<&str>,
    ) {
        let refs: Vec<Ref> = hits.iter().map(|(reference, _)| reference.clone()).collect();
        let shown: Vec<String> = hits
            .iter()
            .map(|(reference, title)| {
                let title = listing::cut(&listing::escape(title), limits::LISTING_ENTRY_CHARS);
                format!("{reference}  {title}")
            })
            .collect();
        let shown = shown.join("\n");
        let page = excerpt(&shown, None, limits::RESULT_BYTES * 9 / 10);
        let more = page.next().map_or(0, |next| next.last - next.first + 1);
        let more = if more > 0 {
            format!("{more} more did not fit; ask for fewer.\n")
        } else {
            String::new()
        };
        let text = match (hits.is_empty(), enough) {
            (true, _) => {
                let menus = menus(self.state, self.world);
                let names: Vec<String> = menus.keys().map(|name| format!("menu:{name}")).collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let browse = if names.is_empty() {
                    String::new()
                } else {
                    format!(" Menus to browse: {}.", disarm(&listing::some(&names)))
                };
                format!("Nothing fits. Try other words, or go on without.{browse}")
            }
            (false, false) => {
                format!("Nothing fits well. The nearest:\n{more}{}", block("hits", &[], page.text))
            }
            (false, true) => format!("{more}{}", block("hits", &[], page.text)),
        };
        // Only the code: the reason can hold words from outside.
        let text = match words_alone {
            Some(code) => format!("Ranked by words alone [{code}].\n{text}"),
            None => text,
        };
        let query = self.keep(query);
        self.fact(
            super::draft::actor(origin),
            Fact::SearchAnswered { query, hits: refs, enough: Some(enough) },
        );
        self.answer(origin, text, false, Vec::new());
    }
}

/// The tools and categories that stand whatever skill is open: those that come with a skill are
/// shown with its text.
fn standing_tools(state: &State, world: &World<'_>, budget: &Budget) -> String {
    let mut tools = visible_tools(state, world);
    tools.retain(|tool| tool.needs_skill == NeedsSkill::No);
    listing::root(&tools, &menus(state, world), budget, world.counter).text
}
