//! State from events.

use concertina_types::{
    ApprovalScope, CallOutcome, DisclosureKind, Event, Fact, ListingKind, Ref, SessionMode, SkillId,
};

use super::approval::{Answered, Approval};
use super::state::{Item, OpenSkill, PendingCall, State};
use super::view::Part;
use crate::procedure::follow;

/// The state after `event`. The same log always gives the same state.
pub fn evolve(mut state: State, event: &Event) -> State {
    state.place(event);
    follow(&mut state.run, &event.fact, event.seq);
    match &event.fact {
        Fact::SessionStarted { principal, parent, depth, mode, settings } => {
            state.mode = *mode;
            state.principal.clone_from(principal);
            state.parent.clone_from(parent);
            state.depth = *depth;
            state.settings = Some(*settings);
        }
        Fact::SettingsChanged { settings } => {
            state.settings = Some(*settings);
        }
        Fact::CatalogIndexed { snapshot, .. } => {
            state.snapshot = Some(*snapshot);
        }
        Fact::TaskGiven { text, .. } => {
            state.step += 1;
            state.answer = None;
            state.body.push(Item::Task(*text));
        }
        Fact::TurnStarted {} => state.turn += 1,
        Fact::ListingDisclosed { listing, text, .. } => {
            state.listed = state.snapshot;
            state.listed_activated.clone_from(&state.activated);
            match listing {
                ListingKind::Full => state.index = Some(*text),
                ListingKind::Delta if text.bytes == 0 => {}
                ListingKind::Delta => state.body.push(Item::Delta(*text)),
            }
        }
        Fact::ModelReplied { text, calls, .. } => {
            state.body.push(Item::Assistant { text: *text, calls: calls.clone() });
        }
        Fact::SkillOpened(opened) => {
            // A skill stands in the context once: opened again, it moves to the end.
            remove_skill(&mut state, opened.id.as_str());
            state.body.retain(|item| !matches!(item, Item::Closed(id) if *id == opened.id));
            use_skill(&mut state, &opened.id);
            state.body.push(Item::Skill(opened.id.clone()));
            use_consent(&mut state, opened.approval.as_deref());
            state.open.push(OpenSkill::new((**opened).clone(), event.seq));
        }
        Fact::SkillClosed { id } => {
            for item in &mut state.body {
                if matches!(item, Item::Skill(open) if open == id) {
                    *item = Item::Closed(id.clone());
                }
            }
            state.open.retain(|open| open.opened.id != *id);
        }
        Fact::SkillActivated { id, .. } => {
            state.activated.insert(id.clone());
        }
        Fact::NestedDiscovered { directory, .. } => {
            state.nested.insert(directory.clone());
        }
        Fact::MenuOpened { menu } => {
            state.menus.insert(menu.clone());
        }
        Fact::MenuClosed { menu } => {
            state.menus.remove(menu);
        }
        Fact::CallAdmitted { id, tool, writes, approval, .. } => {
            use_consent(&mut state, approval.as_deref());
            state.calls = *id;
            let within = state.run.as_ref().map(|run| (run.id.clone(), run.entered));
            let (seq, at) = (event.seq, event.at);
            let call = PendingCall { tool: tool.clone(), writes: *writes, seq, at, within };
            state.pending.insert(*id, call);
        }
        Fact::CallFinished { id, outcome, .. } => {
            let call = state.pending.remove(id);
            if let CallOutcome::Done { output, exit, .. } = outcome {
                let claims =
                    |open: &&OpenSkill| call.as_ref().is_some_and(|call| open.claims(&call.tool));
                let by = state.open.iter().filter(|_| *exit == 0).filter(claims);
                let by: Vec<SkillId> = by.map(|open| open.opened.id.clone()).collect();
                state.results.extend(by.into_iter().map(|id| (id, *output)));
                state.produced_by.extend(call.map(|call| (*id, call.tool)));
                state.evidence.insert(*id, *output);
            }
        }
        Fact::RequestAnswered { call, text, error, disclosed, .. } => {
            // A skill that was given away to be run apart counts as used; one that joined the context
            // was counted when it did.
            for given in disclosed {
                match &given.reference {
                    Ref::Skill { id, part: None, lines: None }
                        if given.kind == DisclosureKind::Skill && state.opened(id).is_none() =>
                    {
                        use_skill(&mut state, id);
                    }
                    _ => {}
                }
            }
            // An answer that only says what happened is conversation; one that shows is evidence.
            let part = if disclosed.is_empty() { Part::Conversation } else { Part::Evidence };
            let item = Item::Answer { call: call.clone(), text: *text, error: *error, part };
            state.body.push(item);
        }
        Fact::ChildStarted { child, skill } => {
            state.children.insert(child.clone(), skill.clone());
        }
        Fact::ChildFinished { child, completed, result } => {
            if let Some(skill) = state.children.remove(child).filter(|_| *completed) {
                state.results.insert(skill.clone(), *result);
                use_skill(&mut state, &skill);
            }
        }
        Fact::ContextCompacted { epoch, dropped, .. } => {
            state.epoch = *epoch;
            state.index = None;
            state.listed = None;
            state.folded = state.calls;
            state.open.retain(|open| !dropped.contains(&open.opened.id));
            // An error that nothing came after is not resolved: it stays.
            if let Some(Item::Answer { error: true, call, part, .. }) = state.body.last_mut() {
                (*call, *part) = (None, Part::Conversation);
            }
            let last = state.body.len().saturating_sub(1);
            let mut at = 0;
            // Tasks, what the model answered to them, and open skills stay, in their order; the way
            // to the answers does not.
            state.body.retain_mut(|item| {
                let is_last = at == last;
                at += 1;
                match item {
                    Item::Skill(id) => {
                        if dropped.contains(id) {
                            *item = Item::Closed(id.clone());
                        }
                        true
                    }
                    Item::Task(_) | Item::Closed(_) => true,
                    Item::Assistant { calls, .. } => calls.is_empty(),
                    Item::Answer { error, .. } => *error && is_last,
                    Item::Delta(_) => false,
                }
            });
        }
        Fact::ApprovalAsked { id, key, request, action, phrase, why, checkpoint, .. } => {
            // A new question about a checkpoint takes the place of the one before.
            let of_checkpoint = state
                .approvals
                .values_mut()
                .filter(|one| checkpoint.is_some() && one.checkpoint == *checkpoint);
            for before in of_checkpoint.filter(|one| one.answered == Answered::No) {
                before.answered = Answered::Withdrawn;
            }
            let approval = Approval {
                key: *key,
                request: request.clone(),
                action: Some(*action),
                why: why.clone(),
                phrase: phrase.clone(),
                at: event.at,
                step: state.step,
                answered: Answered::No,
                checkpoint: checkpoint.clone(),
            };
            state.approvals.insert(id.clone(), approval);
        }
        Fact::ApprovalGiven { id, key, scope, .. } => {
            let (at, step) = (event.at, state.step);
            let approval = state.approvals.entry(id.clone()).or_insert_with(|| Approval {
                key: *key,
                request: String::new(),
                action: None,
                why: String::new(),
                phrase: None,
                at,
                step,
                answered: Answered::No,
                checkpoint: None,
            });
            (approval.at, approval.step, approval.answered) = (at, step, Answered::Given(*scope));
        }
        Fact::ApprovalRefused { id, .. } => {
            if let Some(approval) = state.approvals.get_mut(id) {
                (approval.at, approval.step) = (event.at, state.step);
                approval.answered = Answered::Refused;
            }
        }
        Fact::TaskFinished { answer } => state.answer = Some(*answer),
        Fact::ModelAsked { .. }
        | Fact::ModelFailed { .. }
        | Fact::SearchAnswered { .. }
        | Fact::RequestRefused { .. }
        | Fact::ServerAsked { .. }
        | Fact::ProcedureStarted { .. }
        | Fact::ProcedureObserved { .. }
        | Fact::ReceiptIssued { .. }
        | Fact::ProcedureMoved { .. }
        | Fact::ProcedureLeft { .. }
        | Fact::SessionInterrupted { .. } => {}
    }
    // What somebody else's context holds is not known, so nothing is said about it.
    if state.mode == SessionMode::Blind {
        state.body.clear();
    }
    state
}

/// Takes note that a consent was used. One for once is used up.
fn use_consent(state: &mut State, id: Option<&str>) {
    let approval = id.and_then(|id| state.approvals.get_mut(id));
    if let Some(approval) =
        approval.filter(|one| one.answered == Answered::Given(ApprovalScope::Once))
    {
        approval.answered = Answered::Used;
    }
}

fn use_skill(state: &mut State, id: &SkillId) {
    let used = state.used.entry(id.clone()).or_default();
    *used = (used.0 + 1, state.seq);
}

fn remove_skill(state: &mut State, id: &str) {
    state.body.retain(|item| !matches!(item, Item::Skill(open) if open.as_str() == id));
    state.open.retain(|open| open.opened.id.as_str() != id);
}
