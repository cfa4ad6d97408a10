//! `find`, `open`, `call` and `close`: from words to commands.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use concertina_core::catalog::search::{
    Answer, Explanation, Field, Hit, Index, Kind, Prior, Query, SearchDocument, SearchDocumentMeta,
};
use concertina_core::policy::Effect;
use concertina_core::session::{
    COMMANDS, Command, Held, Origin, Refusal, Shown, Targets, asks, by_rules, meant, menus,
    visibility, visible_tools,
};
use concertina_format::expand::Profile;
use concertina_types::{
    Blob, CallId, CallOutcome, DisclosureKind, LineRange, Ref, SkillId, Subject, ToolName, limits,
};
use serde_json::Value;

use super::commands::CommandPolicy;
use super::opening::Opening;
use super::part::part_text;
use super::tools::{is_inside, lines_of_tool};
use super::{Admission, Reply, Session};
use crate::Cancel;
use crate::error::RuntimeError;
use crate::find::{
    FindRequest, Found, Indexes, example_documents, section_documents, tool_document,
};
use crate::semantic::{CatalogueMeaning, Likenesses, Note};
use crate::stats::Learned;
use crate::tools::{Outcome, Toolbox, kept};
use crate::workspace::Workspace;

/// How something is opened.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// A section or a file of a skill.
    pub part: Option<String>,
    /// A skill's arguments by name.
    pub arguments: Value,
    /// A skill's arguments as typed.
    pub raw_arguments: Option<String>,
    /// Whose rules of expansion apply.
    pub profile: Profile,
    /// Whether a model is at hand that a skill could fork to.
    pub can_fork: bool,
    /// What happens where a command in the skill's text may not run.
    pub commands: CommandPolicy,
    /// The digest of a skill's text that the asker still holds.
    pub held: Option<String>,
    /// Stops a command that runs.
    pub cancel: Cancel,
}

/// A search that is ready to run.
#[derive(Debug)]
pub struct ReadySearch {
    origin: Origin,
    request: FindRequest,
    scope: Scope,
    /// What ranks by meaning, or why nothing does, where an encoder is set.
    meaning: Option<Result<CatalogueMeaning, Note>>,
    /// Whether what was opened in earlier sessions has a say.
    learns: bool,
}

impl ReadySearch {
    fn new(workspace: &Workspace, origin: Origin, request: &FindRequest, scope: Scope) -> Self {
        let meaning = if is_of_catalogue(request) { workspace.meaning() } else { None };
        let learns = workspace.loaded().config.search.usage;
        Self { origin, request: request.clone(), scope, meaning, learns }
    }
}

/// Where a search looks.
#[derive(Debug)]
enum Scope {
    /// In everything.
    Things(Indexes),
    /// In one kind of part of all skills.
    Parts(Arc<Index>),
    /// In something that was indexed for this search.
    Own(Box<Index>),
}

/// All that there is of a kind.
fn whole(indexes: Indexes, kind: Option<Kind>) -> Scope {
    match kind {
        Some(Kind::Section) => Scope::Parts(indexes.sections),
        Some(Kind::Example) => Scope::Parts(indexes.examples),
        _ => Scope::Things(indexes),
    }
}

impl Scope {
    fn index(&self) -> &Index {
        match self {
            Self::Things(indexes) => &indexes.things,
            Self::Parts(index) => index,
            Self::Own(index) => index,
        }
    }
}

impl Session {
    /// Searches, and tells the asker references and titles.
    pub fn find(
        &mut self,
        workspace: &mut Workspace,
        origin: Origin,
        request: &FindRequest,
    ) -> Result<(Found, Reply), RuntimeError> {
        match self.begin_find(workspace, origin, request)? {
            Opening::Searching(search) => self.complete_find(*search),
            other => self.complete(other).map(|reply| (Found::default(), reply)),
        }
    }

    /// The first half of [`Session::find`], which alone needs the workspace. The second one is
    /// [`Session::complete`]; it may wait for an encoder.
    pub fn begin_find(
        &mut self,
        workspace: &mut Workspace,
        origin: Origin,
        request: &FindRequest,
    ) -> Result<Opening, RuntimeError> {
        self.look()?;
        self.learned(workspace)?;
        match self.scope(workspace, origin.subject, request)? {
            Ok(scope) => {
                let search = ReadySearch::new(workspace, origin, request, scope);
                Ok(Opening::Searching(Box::new(search)))
            }
            Err((code, reason)) => {
                let request = format!("find {}", request.query);
                self.refuse(origin, request, code, reason).map(Opening::from)
            }
        }
    }

    pub(super) fn complete_find(
        &mut self,
        search: ReadySearch,
    ) -> Result<(Found, Reply), RuntimeError> {
        let found = self.found(&search);
        let shown = if found.enough { &found.hits } else { &found.nearest };
        let hits = shown.iter().map(|hit| (hit.reference.clone(), hit.title.clone())).collect();
        let ReadySearch { origin, request, .. } = search;
        let words_alone = found.note.as_ref().filter(|note| note.is_words_alone());
        let words_alone = words_alone.map(|note| note.code);
        let enough = found.enough;
        let command = Command::Find { origin, query: request.query, hits, enough, words_alone };
        Ok((found, self.apply(&command)?.reply))
    }

    /// Searches without a word to anybody and without a record.
    ///
    /// # Errors
    /// The inner error says why the place to search makes no sense to `subject`.
    pub fn search(
        &self,
        workspace: &mut Workspace,
        subject: Subject,
        request: &FindRequest,
    ) -> Result<Result<Found, Refusal>, RuntimeError> {
        let origin = Origin { subject, call: None };
        self.learned(workspace)?;
        Ok(match self.scope(workspace, subject, request)? {
            Ok(scope) => Ok(self.found(&ReadySearch::new(workspace, origin, request, scope))),
            Err((code, reason)) => Err(Refusal::new(code, reason)),
        })
    }

    /// What is found, once an encoder has said what it has to say in time.
    fn found(&self, search: &ReadySearch) -> Found {
        let ReadySearch { origin, request, scope, meaning, learns } = search;
        let subject = origin.subject;
        let near = OnceCell::new();
        let learned = self.learned.get().filter(|_| *learns);
        let mut answer = self.asking(subject, request, learned, |query| match meaning {
            None => scope.index().find(query),
            Some(meaning) => scope.index().find_near(query, || {
                let near = near.get_or_init(|| match meaning {
                    Ok(meaning) => meaning.near(query.text),
                    Err(note) => Err(note.clone()),
                });
                near.as_ref().map(Likenesses::similar).unwrap_or_default()
            }),
        });
        let note = near.into_inner().and_then(|near| match near {
            Ok(near) => near.note(),
            Err(note) => Some(note),
        });
        if request.within.is_some() && !answer.enough {
            // Whoever names the place to search has chosen already: any mention is what they want.
            answer.hits = std::mem::take(&mut answer.nearest);
            answer.enough = !answer.hits.is_empty();
        }
        if let Scope::Things(indexes) = scope
            && request.kind.is_none()
        {
            self.add_sections(subject, request, &indexes.sections, &mut answer);
        }
        if matches!(scope, Scope::Things(_)) && request.within.is_none() {
            self.add_commands(request, &mut answer);
        }
        let browse = if answer.enough {
            Vec::new()
        } else {
            self.menu_names().into_iter().map(Ref::Menu).collect()
        };
        let Answer { hits, enough, nearest } = answer;
        Found { hits, enough, nearest, browse, note }
    }

    /// How a search comes to its ranking: what [`Session::search`] finds for `subject`, with the
    /// parts of every score.
    ///
    /// # Errors
    /// As [`Session::search`].
    pub fn explain_search(
        &self,
        workspace: &mut Workspace,
        subject: Subject,
        request: &FindRequest,
    ) -> Result<Result<Explanation, Refusal>, RuntimeError> {
        let scope = match self.scope(workspace, subject, request)? {
            Ok(scope) => scope,
            Err((code, reason)) => return Ok(Err(Refusal::new(code, reason))),
        };
        let learned = self.learned(workspace)?;
        Ok(Ok(self.asking(subject, request, learned, |query| scope.index().explain(query))))
    }

    /// What earlier sessions of the same principal say of what is found; none unless the settings of
    /// `workspace` ask for it. The logs are read once.
    ///
    /// # Errors
    /// Where the store cannot be read at all. A damaged log is named in [`Learned::unreadable`].
    pub fn learned(&self, workspace: &Workspace) -> Result<Option<&Learned>, RuntimeError> {
        if !workspace.loaded().config.search.usage {
            return Ok(None);
        }
        if let Some(learned) = self.learned.get() {
            return Ok(Some(learned));
        }
        let learned = Learned::read(&self.earlier, &self.state.principal, &self.id)?;
        Ok(Some(self.learned.get_or_init(|| learned)))
    }

    /// Gives `search` the request as a query over what `subject` may find.
    fn asking<T>(
        &self,
        subject: Subject,
        request: &FindRequest,
        learned: Option<&Learned>,
        search: impl FnOnce(&Query<'_>) -> T,
    ) -> T {
        let factor = |key: &Ref| learned.map_or(1.0, |learned| learned.usage.factor(key));
        let inside = match &request.within {
            Some(Ref::Menu(menu)) => Some(menu.as_str()),
            _ => None,
        };
        let menus = OnceCell::new();
        let within = |meta: &SearchDocumentMeta| {
            is_asked_for(meta.kind, request.kind)
                && inside.is_none_or(|menu| is_inside(meta, menu))
                && match &meta.key {
                    // Which there are is found out once, and only where one was met.
                    Ref::Menu(name) => {
                        menus.get_or_init(|| self.menu_names()).contains(name.as_str())
                    }
                    _ => self.is_findable(meta, subject),
                }
        };
        search(&Query {
            text: &request.query,
            limit: request.limit.unwrap_or(limits::FIND_HITS),
            kind: None,
            within: &within,
            prior: learned.map(|_| &factor as Prior<'_>),
        })
    }

    /// The sections whose heading is what was asked for: one behind the first hit, where its heading
    /// holds a word of the request, and where nothing else fits those that are called that.
    fn add_sections(
        &self,
        subject: Subject,
        request: &FindRequest,
        sections: &Index,
        answer: &mut Answer,
    ) {
        let limit = request.limit.unwrap_or(limits::FIND_HITS);
        let of = |meta: &SearchDocumentMeta, skill: Option<&SkillId>| match &meta.key {
            Ref::Skill { id, .. } => skill.is_none_or(|skill| skill == id),
            _ => false,
        };
        let first = answer.hits.first().map(|hit| (hit.reference.clone(), hit.score));
        let skill = match &first {
            Some((Ref::Skill { id, part: None, .. }, _)) => Some(id),
            Some(_) => return,
            None => None,
        };
        let within = |meta: &SearchDocumentMeta| of(meta, skill) && self.is_findable(meta, subject);
        let query = Query { limit, within: &within, ..Query::new(&request.query) };
        let found = sections.find(&query);
        if let Some((_, score)) = first {
            let names_it = |hit: &Hit| hit.called || hit.fields.contains(&Field::Name);
            let section = found.hits.into_iter().next().filter(names_it);
            // Scores of another index say nothing here; it stands with its skill.
            if let Some(section) = section {
                answer.hits.insert(1, Hit { score, ..section });
                answer.hits.truncate(limit);
            }
        } else if found.hits.first().is_some_and(|hit| hit.called) {
            answer.hits.extend(found.hits.into_iter().filter(|hit| hit.called));
            answer.enough = true;
            answer.nearest.clear();
        }
    }

    /// The tools of the commands of open skills whose name holds a word of the request. They are in no
    /// index, since they come and go with their skills.
    fn add_commands(&self, request: &FindRequest, answer: &mut Answer) {
        if !is_asked_for(Kind::Tool, request.kind) {
            return;
        }
        let world = self.world();
        let tools = visible_tools(&self.state, &world).into_iter();
        let commands: Vec<SearchDocument> =
            tools.filter(|tool| tool.runner == COMMANDS).map(tool_document).collect();
        if commands.is_empty() {
            return;
        }
        let found = Index::build(commands).find(&Query::new(&request.query)).hits.into_iter();
        let mut found: Vec<Hit> =
            found.filter(|hit| hit.called || hit.fields.contains(&Field::Name)).collect();
        if found.is_empty() {
            return;
        }
        let limit = request.limit.unwrap_or(limits::FIND_HITS);
        found.truncate(limit);
        if !answer.enough {
            answer.hits.clear();
            answer.nearest.clear();
            answer.enough = true;
        }
        // Scores of another index say nothing here; they stand last.
        answer.hits.truncate(limit - found.len());
        let last = answer.hits.last().map(|hit| hit.score);
        answer
            .hits
            .extend(found.into_iter().map(|hit| Hit { score: last.unwrap_or(hit.score), ..hit }));
    }

    /// The index to search, or why the scope makes no sense: a code and words.
    fn scope(
        &self,
        workspace: &mut Workspace,
        subject: Subject,
        request: &FindRequest,
    ) -> Result<Result<Scope, (String, String)>, RuntimeError> {
        if request.kind == Some(Kind::Evidence) {
            let mut documents = Vec::new();
            for (id, blob) in &self.state.evidence {
                let key = Ref::Evidence { id: *id, lines: None };
                let mut document = SearchDocument::new(key, Kind::Evidence, format!("result {id}"));
                document.body = self.text(blob)?;
                documents.push(document);
            }
            return Ok(Ok(Scope::Own(Box::new(Index::build(documents)))));
        }
        Ok(match &request.within {
            None => Ok(whole(workspace.indexes(), request.kind)),
            Some(reference @ Ref::Menu(_)) => {
                let seen = visibility(&self.state, &self.world(), reference, subject);
                match seen.reasons.first().filter(|_| !seen.visible) {
                    Some(reason) => Err((reason.code.clone(), reason.text.clone())),
                    None => Ok(whole(workspace.indexes(), request.kind)),
                }
            }
            Some(reference @ Ref::Skill { id, .. }) => {
                let seen = visibility(&self.state, &self.world(), reference, subject);
                match workspace.load(id) {
                    Some(Ok(skill)) if seen.visible => {
                        let distrusted = workspace.distrusted(&skill, None);
                        if let Some(why) = distrusted.filter(|why| why.stops(subject)) {
                            return Ok(Err((why.code, why.reason)));
                        }
                        let documents = match request.kind {
                            Some(Kind::Example) => example_documents(&skill),
                            _ => section_documents(&skill),
                        };
                        Ok(Scope::Own(Box::new(Index::build(documents))))
                    }
                    Some(Err(error)) => Err((error.code().to_owned(), error.to_string())),
                    _ => {
                        let reason = seen.reasons.first();
                        Err(reason.map_or_else(
                            || ("NOT_FOUND".to_owned(), format!("there is no {reference}")),
                            |reason| (reason.code.clone(), reason.text.clone()),
                        ))
                    }
                }
            }
            Some(other) => Err((
                "BAD_SCOPE".to_owned(),
                format!("`in` takes a skill or a menu, such as skill:NAME, and not {other}"),
            )),
        })
    }

    /// Whether a search may show a document: what is merely folded away may be found, what is
    /// forbidden may not.
    fn is_findable(&self, meta: &SearchDocumentMeta, subject: Subject) -> bool {
        let seen = visibility(&self.state, &self.world(), &meta.key, subject);
        seen.visible || seen.is_folded_away()
    }

    /// The categories that can be opened next.
    fn menu_names(&self) -> BTreeSet<String> {
        menus(&self.state, &self.world()).into_keys().map(str::to_owned).collect()
    }

    /// Unfolds one thing.
    pub fn open(
        &mut self,
        workspace: &mut Workspace,
        origin: Origin,
        reference: &str,
        options: &OpenOptions,
    ) -> Result<Reply, RuntimeError> {
        let opening = self.begin_open(workspace, origin, reference, options)?;
        self.complete(opening)
    }

    /// The first half of [`Session::open`], which alone needs the workspace. The second one is
    /// [`Session::complete`].
    pub fn begin_open(
        &mut self,
        workspace: &mut Workspace,
        origin: Origin,
        reference: &str,
        options: &OpenOptions,
    ) -> Result<Opening, RuntimeError> {
        self.look()?;
        match parse(reference, options.part.as_deref()) {
            Ok(Ref::Skill { id, part: None, lines: None }) => {
                self.begin_skill(workspace, origin, id, options)
            }
            _ => self.open_other(workspace, origin, reference, options).map(Opening::from),
        }
    }

    /// Unfolds what is no whole skill.
    fn open_other(
        &mut self,
        workspace: &mut Workspace,
        origin: Origin,
        reference: &str,
        options: &OpenOptions,
    ) -> Result<Reply, RuntimeError> {
        let request = format!("open {reference}");
        if matches!(reference.trim(), "menu" | "menu:" | "menu:/") {
            return Ok(self.apply(&Command::OpenRoot { origin })?.reply);
        }
        let parsed = match parse(reference, options.part.as_deref()) {
            Ok(parsed) => parsed,
            Err(reason) => return self.refuse(origin, request, "BAD_REF", reason),
        };
        match parsed {
            Ref::Menu(menu) => Ok(self.apply(&Command::OpenMenu { origin, menu })?.reply),
            Ref::Tool(tool) => {
                let (tool, lines) = lines_of_tool(&self.snapshot, tool);
                Ok(self.apply(&Command::OpenTool { origin, tool, lines })?.reply)
            }
            Ref::Skill { ref id, ref part, lines } => {
                let id = id.clone();
                let part = part.clone();
                self.open_part(workspace, origin, &parsed, &id, part.as_deref(), lines)
            }
            Ref::Evidence { id, lines } => {
                let text = match self.state.evidence.get(&id) {
                    Some(blob) => self.text(blob)?,
                    None => String::new(),
                };
                let shown = Shown {
                    reference: Ref::Evidence { id, lines: None },
                    kind: DisclosureKind::Evidence,
                    text,
                    lines,
                };
                Ok(self.apply(&Command::Show { origin, shown })?.reply)
            }
            Ref::File { .. } | Ref::Dir(_) => {
                let reason = format!(
                    "{parsed} is not opened here: this session was given no files; use a tool that reads them"
                );
                self.refuse(origin, request, "NOT_GRANTED", reason)
            }
        }
    }

    fn open_part(
        &mut self,
        workspace: &mut Workspace,
        origin: Origin,
        reference: &Ref,
        id: &SkillId,
        part: Option<&str>,
        lines: Option<LineRange>,
    ) -> Result<Reply, RuntimeError> {
        let request = format!("open {reference}");
        let seen = visibility(&self.state, &self.world(), reference, origin.subject);
        let text = if seen.visible || self.state.opened(id).is_some() {
            match workspace.load(id) {
                Some(Ok(skill)) => {
                    let text = part_text(&skill, part);
                    let distrusted = workspace.distrusted(&skill, part);
                    if let Some(why) = distrusted.filter(|why| why.stops(origin.subject)) {
                        return self.refuse(origin, request, why.code, why.reason);
                    }
                    match text {
                        Ok(text) => text,
                        Err((code, reason)) => return self.refuse(origin, request, code, reason),
                    }
                }
                Some(Err(error)) => {
                    return self.refuse(origin, request, error.code(), error.to_string());
                }
                None => String::new(),
            }
        } else {
            String::new()
        };
        let reference = Ref::Skill { id: id.clone(), part: part.map(str::to_owned), lines: None };
        let shown = Shown { reference, kind: DisclosureKind::Evidence, text, lines };
        Ok(self.apply(&Command::Show { origin, shown })?.reply)
    }

    /// Runs a tool, where it is visible, and tells the asker what came of it.
    pub fn call(
        &mut self,
        workspace: &Workspace,
        origin: Origin,
        tool: &str,
        arguments: Value,
        cancel: &Cancel,
    ) -> Result<Reply, RuntimeError> {
        let admission = self.admit(workspace.toolbox(), origin.clone(), tool, arguments)?;
        self.carry_out(workspace, origin, admission, cancel)
    }

    /// Runs what was admitted, and tells the asker what came of it.
    pub(super) fn carry_out(
        &mut self,
        workspace: &Workspace,
        origin: Origin,
        admission: Admission,
        cancel: &Cancel,
    ) -> Result<Reply, RuntimeError> {
        match admission {
            Admission::Answered(reply) => Ok(*reply),
            Admission::Asked(ask) => self.unanswered(origin, &ask),
            Admission::Admitted(ticket) => {
                let id = ticket.id();
                let outcome = workspace.toolbox().run(ticket, cancel);
                self.finish(origin, id, outcome)
            }
        }
    }

    /// The first half of a call: what is admitted gives a ticket for
    /// [`Toolbox::start`](crate::tools::Toolbox::start), and how that ended is told to
    /// [`Session::finish`]. In between, the session is free for others.
    pub fn admit(
        &mut self,
        toolbox: &Toolbox,
        origin: Origin,
        tool: &str,
        arguments: Value,
    ) -> Result<Admission, RuntimeError> {
        let tool = match ToolName::new(tool.strip_prefix("tool:").unwrap_or(tool)) {
            Ok(tool) => tool,
            Err(error) => {
                let request = format!("call {tool}");
                let reply = self.refuse(origin, request, "BAD_REF", error.to_string())?;
                return Ok(Admission::Answered(Box::new(reply)));
            }
        };
        self.give_up_what_nobody_runs()?;
        let Some(hold) = self.hold(&tool)? else { return self.not_quiet(origin, &tool) };
        self.look()?;
        let (state, world) = (&self.state, self.world());
        let targets = meant(state, &world, &tool).map_or_else(Targets::default, |entry| {
            if entry.runner == COMMANDS {
                return self.command_targets(toolbox.directory(), &entry.name, &arguments);
            }
            let targets = toolbox.targets(entry, &arguments);
            let is_asked = !asks(state, &world, entry).is_empty()
                || by_rules(state, &world, origin.subject, entry, &targets).effect == Effect::Ask;
            if is_asked { toolbox.shown(targets, &entry.name, &arguments) } else { targets }
        });
        let applied = self.apply_asking(&Command::Call { origin, tool, arguments, targets })?;
        Ok(match (applied.ticket, applied.ask) {
            (Some(ticket), _) => {
                self.admitted(ticket.id(), ticket.tool(), ticket.arguments());
                self.holds(ticket.id(), hold);
                Admission::Admitted(ticket)
            }
            (None, Some(ask)) => Admission::Asked(Box::new(ask)),
            (None, None) => Admission::Answered(Box::new(applied.reply)),
        })
    }

    /// The second half of a call: what came of it, on the record, and what the asker is told.
    pub fn finish(
        &mut self,
        origin: Origin,
        id: CallId,
        outcome: Outcome,
    ) -> Result<Reply, RuntimeError> {
        let held = kept(&outcome, Path::new(&self.settings().site.workspace));
        let held = Held { witness: self.witness(id), ..held };
        let (outcome, output) = match outcome {
            Outcome::Done { exit, output, dropped, .. } => {
                (CallOutcome::Done { exit, output: Blob::of(&output), dropped }, output)
            }
            Outcome::Failed { code, message, .. } => {
                (CallOutcome::Failed { code, message }, String::new())
            }
        };
        let failure = match &outcome {
            CallOutcome::Failed { code, message } => {
                Some(Refusal::new(code.clone(), message.clone()))
            }
            CallOutcome::Done { .. } | CallOutcome::Unknown => None,
        };
        let applied = self.apply(&Command::Done { origin, id, outcome, output, held });
        self.let_go(id);
        let mut reply = self.answer_waiting(applied?)?;
        // A call that was admitted and not done is still a request that was not met.
        reply.refusal = reply.refusal.or(failure);
        Ok(reply)
    }

    /// Folds a skill or a menu back.
    pub fn close(&mut self, origin: Origin, reference: &str) -> Result<Reply, RuntimeError> {
        match parse(reference, None) {
            Ok(reference) => Ok(self.apply(&Command::Close { origin, reference })?.reply),
            Err(reason) => self.refuse(origin, format!("close {reference}"), "BAD_REF", reason),
        }
    }

    /// Refuses, on the record, what cannot be met for a reason found outside the session.
    pub fn refuse(
        &mut self,
        origin: Origin,
        request: impl Into<String>,
        code: impl Into<String>,
        reason: impl Into<String>,
    ) -> Result<Reply, RuntimeError> {
        let (request, refusal) = (request.into(), Refusal::new(code, reason));
        Ok(self.apply(&Command::Refuse { origin, request, refusal })?.reply)
    }
}

/// Whether a search looks at the catalogue, of which alone there are vectors, for something.
fn is_of_catalogue(request: &FindRequest) -> bool {
    let is_something = !request.query.trim().is_empty();
    let is_place = matches!(request.within, None | Some(Ref::Menu(_)));
    is_something
        && is_place
        && matches!(request.kind, None | Some(Kind::Skill | Kind::Tool | Kind::Menu))
}

/// Whether a search for `wanted` is also one for `kind`. Examples and results would crowd out what
/// they belong to, so they are found only by those who ask for them.
fn is_asked_for(kind: Kind, wanted: Option<Kind>) -> bool {
    match wanted {
        // Inside a skill there are sections only, and they are parts of a skill.
        Some(Kind::Skill) => matches!(kind, Kind::Skill | Kind::Section),
        Some(wanted) => kind == wanted,
        None => matches!(kind, Kind::Skill | Kind::Tool | Kind::Menu | Kind::Section),
    }
}

/// The reference in `text`, with `part` put in its place.
fn parse(text: &str, part: Option<&str>) -> Result<Ref, String> {
    let parsed = text.parse::<Ref>().map_err(|error| {
        let name = SkillId::new(text.trim()).ok().filter(|_| !text.contains(':'));
        match name {
            Some(name) => format!("{error}; did you mean skill:{name}?"),
            None => error.to_string(),
        }
    })?;
    Ok(match (parsed, part.map(str::trim).filter(|part| !part.is_empty())) {
        (Ref::Skill { id, part: None, lines }, Some(part)) => {
            Ref::Skill { id, part: Some(part.trim_start_matches('#').to_owned()), lines }
        }
        (parsed, _) => parsed,
    })
}
