//! Menus and tools unfolded, and things folded back.

use concertina_types::{
    Disclosed, DisclosureKind, Fact, LineRange, Ref, SkillId, Tokens, ToolName, limits,
};

use super::super::answer::Refusal;
use super::super::command::Origin;
use super::super::state::State;
use super::super::visibility::{has_menu, levels, meant, menus, visibility, visible_tools};
use super::draft::{Deciding, actor};
use crate::catalog::listing::{self, Budget};
use crate::catalog::{NeedsSkill, ToolEntry};
use crate::context::{block, disarm, excerpt_within};

impl<'a> Deciding<'a> {
    pub(super) fn open_menu(&mut self, origin: &Origin, menu: &str) {
        let reference = Ref::Menu(menu.to_owned());
        if !has_menu(self.state, self.world, menu) {
            let known = menus(self.state, self.world);
            let names: Vec<String> = known.keys().map(|name| format!("menu:{name}")).collect();
            let text = match names.as_slice() {
                [] => format!("there is no {reference}, and no menu that could be opened"),
                names => format!("there is no {reference}; open one of {}", names.join(", ")),
            };
            return self.refuse(
                origin,
                format!("open {reference}"),
                Refusal::new("NOT_FOUND", text),
            );
        }
        let opens = match self.closed_menus(origin, menu) {
            Err(refusal) => return self.refuse(origin, format!("open {reference}"), refusal),
            Ok(opens) => opens,
        };
        let after = self.unfold(origin, opens);
        let tools: Vec<&ToolEntry> = visible_tools(&after, self.world)
            .into_iter()
            .filter(|tool| tool.needs_skill == NeedsSkill::No && is_inside(&tool.category, menu))
            .collect();
        let mut below = menus(&after, self.world);
        below.retain(|level, _| is_inside(level, menu));
        let page = listing::root(&tools, &below, &Budget::category(), self.world.counter);
        let disclosed = tools
            .iter()
            .map(|tool| Disclosed {
                reference: Ref::Tool(tool.name.clone()),
                kind: DisclosureKind::Tool,
                tokens: Tokens::ZERO,
            })
            .collect();
        let mut text = format!("Opened {}.\n{}", disarm(&reference.to_string()), page.text);
        let notes =
            self.world.snapshot.categories.get(menu).map(|category| category.notes.as_str());
        if let Some(notes) = notes.filter(|notes| !notes.is_empty()) {
            text.push('\n');
            text.push_str(&block(
                "part",
                &[("ref", &reference.to_string()), ("says", "its server")],
                notes,
            ));
        }
        self.answer(origin, text.trim_end(), false, disclosed);
    }

    pub(super) fn open_tool(&mut self, origin: &Origin, name: &ToolName, lines: Option<LineRange>) {
        let reference = Ref::Tool(name.clone());
        let (tool, opens) = match self.unfoldable(origin, name) {
            Err(refusal) => return self.refuse(origin, format!("open {reference}"), refusal),
            Ok(found) => found,
        };
        let reference = Ref::Tool(tool.name.clone());
        let opened = match opens.last() {
            Some(menu) => disarm(&format!("Opened menu:{menu}, which holds it.\n")),
            None => String::new(),
        };
        self.unfold(origin, opens);
        let room = limits::RESULT_BYTES.saturating_sub(opened.len());
        let definition = tool.definition();
        let text = excerpt_within(&definition, lines, room, |page| {
            let range = format!("{}-{} of {}", page.lines.first, page.lines.last, page.total);
            let next = page.next().map(|next| format!("{reference}{next}"));
            let mut attributes = Vec::new();
            if !page.is_whole() {
                attributes.push(("lines", range.as_str()));
            }
            if let Some(next) = &next {
                attributes.push(("next", next));
            }
            block("tools", &attributes, page.text)
        });
        let tokens = self.world.counter.count(&text);
        let disclosed = vec![Disclosed { reference, kind: DisclosureKind::Tool, tokens }];
        self.answer(origin, opened + &text, false, disclosed);
    }

    /// The tool called `name`, and the menus that have to open for it to be callable: whoever asks for
    /// one tool by its name has chosen already.
    fn unfoldable(
        &self,
        origin: &Origin,
        name: &ToolName,
    ) -> Result<(&'a ToolEntry, Vec<&'a str>), Refusal> {
        let Some(entry) = meant(self.state, self.world, name) else {
            return self.callable(self.state, name).map(|tool| (tool, Vec::new()));
        };
        let name = &entry.name;
        let refused = match self.callable(self.state, name) {
            Ok(tool) => return Ok((tool, Vec::new())),
            Err(refused) => refused,
        };
        let opens = self.closed_menus(origin, &entry.category)?;
        let after = opened(self.state, &opens);
        // What would stay hidden opens nothing.
        self.callable(&after, name).map(|_| (entry, opens)).map_err(|_| refused)
    }

    /// The levels of `menu` that are closed, outermost first, or why one of them may not be opened.
    fn closed_menus<'m>(&self, origin: &Origin, menu: &'m str) -> Result<Vec<&'m str>, Refusal> {
        let closed = levels(menu).filter(|level| !self.state.menus.contains(*level));
        let mut opens = Vec::new();
        for level in closed {
            let reference = Ref::Menu(level.to_owned());
            let verdict = visibility(self.state, self.world, &reference, origin.subject);
            if let (false, Some(reason)) = (verdict.callable, verdict.reasons.first()) {
                return Err(Refusal::new(reason.code.clone(), reason.text.clone()));
            }
            opens.push(level);
        }
        Ok(opens)
    }

    /// Opens the menus `opens`, and gives the state after that.
    fn unfold(&mut self, origin: &Origin, opens: Vec<&str>) -> State {
        let after = opened(self.state, &opens);
        for menu in opens {
            self.fact(actor(origin), Fact::MenuOpened { menu: menu.to_owned() });
        }
        after
    }

    pub(super) fn close(&mut self, origin: &Origin, reference: &Ref) {
        match reference {
            Ref::Skill { id, .. } => {
                // A qualified id closes what it opened.
                let id = self.world.snapshot.skill(id).map_or(id, |entry| &entry.id);
                if self.state.opened(id).is_some() {
                    self.close_skill(origin, id);
                } else {
                    self.not_open(origin, reference);
                }
            }
            Ref::Menu(menu) => self.close_menu(origin, menu),
            Ref::Tool(_) | Ref::File { .. } | Ref::Dir(_) | Ref::Evidence { .. } => {
                let text = format!(
                    "{reference} cannot be closed; skills and menus can, and their tools leave with them"
                );
                let refusal = Refusal::new("NOT_CLOSABLE", text);
                self.refuse(origin, format!("close {reference}"), refusal);
            }
        }
    }

    fn close_skill(&mut self, origin: &Origin, id: &SkillId) {
        let gone = self.lost(&self.state.without(id));
        self.fact(actor(origin), Fact::SkillClosed { id: id.clone() });
        let text = format!("Closed skill:{id}; its text left the context.{gone}");
        self.answer(origin, disarm(&text), false, Vec::new());
    }

    /// Closes a menu and those inside it.
    fn close_menu(&mut self, origin: &Origin, menu: &str) {
        let reference = Ref::Menu(menu.to_owned());
        if !self.state.menus.contains(menu) {
            return self.not_open(origin, &reference);
        }
        let mut after = self.state.clone();
        after.menus.retain(|open| !is_inside(open, menu));
        let gone = self.lost(&after);
        for inside in self.state.menus.difference(&after.menus) {
            self.fact(actor(origin), Fact::MenuClosed { menu: inside.clone() });
        }
        let text = format!("Closed {reference}.{gone}");
        self.answer(origin, disarm(&text), false, Vec::new());
    }

    /// Says which tools are visible now and not in `after`.
    fn lost(&self, after: &State) -> String {
        let left = visible_tools(after, self.world);
        let gone: Vec<&str> = visible_tools(self.state, self.world)
            .into_iter()
            .filter(|tool| left.binary_search_by(|still| still.name.cmp(&tool.name)).is_err())
            .map(|tool| tool.name.as_str())
            .collect();
        match gone.as_slice() {
            [] => String::new(),
            names => format!(" No longer callable: {}.", listing::some(names)),
        }
    }

    fn not_open(&mut self, origin: &Origin, reference: &Ref) {
        let open = self.state.open_references();
        let text = match open.as_slice() {
            [] => format!("{reference} is not open; nothing is"),
            open => format!("{reference} is not open; open are {}", open.join(", ")),
        };
        self.refuse(origin, format!("close {reference}"), Refusal::new("NOT_OPEN", text));
    }
}

/// `state` with the menus `opens` open.
fn opened(state: &State, opens: &[&str]) -> State {
    let mut after = state.clone();
    after.menus.extend(opens.iter().map(|menu| (*menu).to_owned()));
    after
}

/// Whether `category` is `menu` or stands inside it.
fn is_inside(category: &str, menu: &str) -> bool {
    levels(category).any(|level| level == menu)
}
