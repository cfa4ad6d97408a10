//! What the model sees, as data. A pure projection of state: same log, same bytes.

use std::collections::BTreeMap;
use std::sync::Arc;

use concertina_types::{Digest, ModelCall, TokenCounter, Tokens};
use serde::Serialize;
use serde_json::Value;

/// What a piece of the view is for. Tokens are counted by part, and the parts add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// The definitions of the four tools.
    Tools,
    /// The words that say how disclosure works, without naming any skill.
    Mechanism,
    /// The index of skills, and its deltas.
    Index,
    /// The text of opened skills.
    Skills,
    /// What calls produced and what was opened in part.
    Evidence,
    /// The task and what the model said.
    Conversation,
    /// The state of the task.
    Card,
}

impl Part {
    /// All parts, in the order in which they are shown.
    pub const ALL: [Self; 7] = [
        Self::Tools,
        Self::Mechanism,
        Self::Index,
        Self::Skills,
        Self::Evidence,
        Self::Conversation,
        Self::Card,
    ];

    /// The name used in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Mechanism => "mechanism",
            Self::Index => "index",
            Self::Skills => "skills",
            Self::Evidence => "evidence",
            Self::Conversation => "conversation",
            Self::Card => "card",
        }
    }
}

/// A piece of text with a purpose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Block {
    /// What it is for.
    pub part: Part,
    /// The text.
    pub text: Arc<str>,
}

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolDefinition {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

/// One message of the conversation, in no provider's format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum Message {
    /// From the person, or from Concertina on their behalf.
    User {
        /// What it says.
        blocks: Vec<Block>,
    },
    /// From the model.
    Assistant {
        /// What it says.
        text: Arc<str>,
        /// What it wants called.
        calls: Vec<ModelCall>,
    },
    /// The result of one of those calls.
    Tool {
        /// The id of the call.
        call: String,
        /// The result.
        block: Block,
        /// Whether it is an error.
        error: bool,
    },
}

/// Everything that goes to the model for one turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct View {
    /// The tools: constant for every session and catalogue.
    pub tools: Vec<ToolDefinition>,
    /// What stands before the conversation.
    pub system: Vec<Block>,
    /// The conversation.
    pub messages: Vec<Message>,
}

impl View {
    /// The text of one part, pieces joined by a blank line.
    pub fn part(&self, part: Part) -> String {
        self.pieces()
            .filter(|(of, _)| *of == part)
            .map(|(_, text)| text)
            .collect::<Vec<_>>()
            .join("\n\n")
    }

    /// The whole view as one deterministic text.
    pub fn render(&self) -> String {
        self.pieces()
            .map(|(part, text)| format!("=== {} ===\n{text}\n", part.name()))
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// The digest of [`Self::render`].
    pub fn digest(&self) -> Digest {
        Digest::of(self.render().as_bytes())
    }

    /// Tokens by part. They are counted piece by piece, as the pieces are sent, so they add up.
    pub fn tokens(&self, counter: &dyn TokenCounter) -> BTreeMap<Part, Tokens> {
        let mut counts: BTreeMap<_, _> = Part::ALL.map(|part| (part, Tokens::ZERO)).into();
        for (part, text) in self.pieces() {
            *counts.entry(part).or_default() += counter.count(&text);
        }
        counts
    }

    fn pieces(&self) -> impl Iterator<Item = (Part, String)> + '_ {
        let tools = self.tools.iter().map(|tool| {
            let shown = serde_json::json!({
                "name": tool.name, "description": tool.description, "parameters": tool.parameters,
            });
            (Part::Tools, concertina_types::canonical_json(&shown))
        });
        let block = |block: &Block| (block.part, block.text.to_string());
        let system = self.system.iter().map(block);
        let messages = self.messages.iter().flat_map(move |message| match message {
            Message::User { blocks } => blocks.iter().map(block).collect::<Vec<_>>(),
            Message::Assistant { text, calls } => {
                let mut said = text.to_string();
                for call in calls {
                    if !said.is_empty() {
                        said.push('\n');
                    }
                    said.push_str(&call.name);
                    said.push(' ');
                    said.push_str(&call.arguments);
                }
                vec![(Part::Conversation, said)]
            }
            Message::Tool { block: result, .. } => vec![block(result)],
        });
        tools.chain(system).chain(messages)
    }
}
