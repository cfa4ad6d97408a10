//! The view from the state.

use std::collections::BTreeMap;
use std::sync::Arc;

use concertina_types::{Blob, Digest, limits};

use super::state::{Item, State};
use super::task::task_card;
use super::tools::{mechanism, tool_definitions};
use super::view::{Block, Message, Part, View};
use super::visibility::visible_tools;
use super::world::World;
use crate::catalog::listing::{CARD_NAMES, first};
use crate::context::{block, disarm};

/// Texts by digest: what the runtime fetched for the state, see [`State::contents`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shelf(BTreeMap<Digest, Arc<str>>);

impl Shelf {
    /// Puts a text on the shelf.
    pub fn put(&mut self, text: impl Into<Arc<str>>) -> Digest {
        let text = text.into();
        let digest = Digest::of(text.as_bytes());
        self.0.insert(digest, text);
        digest
    }

    /// The text with this digest.
    pub fn get(&self, digest: &Digest) -> Option<Arc<str>> {
        self.0.get(digest).cloned()
    }

    /// Keeps only the texts that `wanted` names.
    pub fn retain(&mut self, wanted: &[Digest]) {
        self.0.retain(|digest, _| wanted.binary_search(digest).is_ok());
    }

    fn text(&self, blob: &Blob) -> Arc<str> {
        self.get(&blob.digest).unwrap_or_else(|| {
            format!("[{} bytes, {}, are missing from the store]", blob.bytes, blob.digest).into()
        })
    }
}

/// What the model sees in `state`. The same log gives the same bytes, here and elsewhere.
///
/// The layout is made for prompt caches: constant tools and words first, then the index of this
/// epoch, then a body that only grows, and last the card.
pub fn project(state: &State, world: &World<'_>, shelf: &Shelf) -> View {
    let mut system = vec![Block { part: Part::Mechanism, text: mechanism().into() }];
    system.extend(
        state.index.iter().map(|index| Block { part: Part::Index, text: shelf.text(index) }),
    );
    let mut conversation = Conversation::default();
    for item in &state.body {
        conversation.add(state, shelf, item);
    }
    let mut messages = conversation.finish();
    if let Some(text) = card(state, world) {
        append(&mut messages, Block { part: Part::Card, text: text.into() });
    }
    View { tools: tool_definitions(), system, messages }
}

/// Builds messages so that the answers to a message's calls directly follow it, as providers want.
#[derive(Default)]
struct Conversation {
    messages: Vec<Message>,
    /// Calls of the last assistant message that still wait for their answer.
    waiting: Vec<String>,
    /// What came in between and is shown after the answers.
    held: Vec<Block>,
}

impl Conversation {
    fn add(&mut self, state: &State, texts: &Shelf, item: &Item) {
        match item {
            Item::Task(text) => self.user(Part::Conversation, texts.text(text)),
            Item::Delta(text) => self.user(Part::Index, texts.text(text)),
            Item::Skill(id) => {
                if let Some(open) = state.opened(id) {
                    self.user(Part::Skills, texts.text(&open.opened.text));
                }
            }
            Item::Closed(id) => {
                let text = format!("[skill:{id} was closed; open it again when it is needed]");
                self.user(Part::Skills, disarm(&text).into());
            }
            Item::Assistant { text, calls } => {
                self.flush();
                self.waiting = calls.iter().map(|call| call.id.clone()).collect();
                self.messages
                    .push(Message::Assistant { text: texts.text(text), calls: calls.clone() });
            }
            Item::Answer { call, text, error, part } => {
                let block = Block { part: *part, text: texts.text(text) };
                match call {
                    Some(call) if self.waiting.contains(call) => {
                        if let Some(at) = self.waiting.iter().position(|waiting| waiting == call) {
                            self.waiting.remove(at);
                        }
                        self.messages.push(Message::Tool {
                            call: call.clone(),
                            block,
                            error: *error,
                        });
                        if self.waiting.is_empty() {
                            self.flush();
                        }
                    }
                    // Asked for by hand, or its call was folded away: it stands as a message.
                    _ => self.user(block.part, block.text),
                }
            }
        }
    }

    fn user(&mut self, part: Part, text: Arc<str>) {
        let block = Block { part, text };
        if self.waiting.is_empty() {
            append(&mut self.messages, block);
        } else {
            self.held.push(block);
        }
    }

    fn flush(&mut self) {
        // A call that never got its answer would make the conversation invalid for a provider.
        for call in self.waiting.drain(..) {
            let text = "error INTERRUPTED: this call was not answered".into();
            let block = Block { part: Part::Conversation, text };
            self.messages.push(Message::Tool { call, block, error: true });
        }
        for block in self.held.drain(..) {
            append(&mut self.messages, block);
        }
    }

    fn finish(mut self) -> Vec<Message> {
        self.flush();
        self.messages
    }
}

fn append(messages: &mut Vec<Message>, block: Block) {
    match messages.last_mut() {
        Some(Message::User { blocks }) => blocks.push(block),
        _ => messages.push(Message::User { blocks: vec![block] }),
    }
}

/// Where the task stands: what is open, what may be called, what can be read again. Where there is
/// nothing to say, there is no card. It names fewer things where it would grow too long.
fn card(state: &State, world: &World<'_>) -> Option<String> {
    let open = state.open_references();
    let folded = state.evidence.range(..=state.folded).map(|(id, _)| id);
    let folded: Vec<String> = folded.map(|id| format!("ev:{id}")).collect();
    let task = task_card(state, world);
    if open.is_empty() && folded.is_empty() && task.is_none() {
        return None;
    }
    let tools: Vec<&str> = match open.as_slice() {
        // The step says it itself.
        _ if task.is_some() => Vec::new(),
        [] => Vec::new(),
        _ => visible_tools(state, world).iter().map(|tool| tool.name.as_str()).collect(),
    };
    let open: Vec<&str> = open.iter().map(String::as_str).collect();
    // The latest results are the likeliest to be wanted.
    let folded: Vec<&str> = folded.iter().rev().map(String::as_str).collect();
    let step = state.step.to_string();
    let lines =
        [("open", open), ("callable", tools), ("folded results, open to read again", folded)];
    (0..=CARD_NAMES)
        .rev()
        .map(|names| {
            let open = lines.iter().filter(|(_, all)| !all.is_empty());
            let open = open.map(|(what, all)| format!("{what}: {}", first(all, names)));
            let task = task.iter().flat_map(|task| task.lines(names.max(1)));
            let task = task.map(|line| disarm(&line));
            let lines: Vec<String> = task.chain(open).collect();
            block("card", &[("step", &step)], &lines.join("\n"))
        })
        .find(|card| world.counter.count(card).0 <= limits::CARD_TOKENS)
}
