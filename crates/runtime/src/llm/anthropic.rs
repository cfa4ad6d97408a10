//! The Messages format, as <https://docs.anthropic.com/en/api/messages> describes it.

use concertina_core::session::{Message, Part, View};
use concertina_types::{ModelCall, Tokens, Usage};
use reqwest::header::{HeaderMap, HeaderValue, InvalidHeaderValue};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::http::{self, Draft, Fault, ProviderError, Wire, put};
use super::{Reply, Stop, call_id, free_call_number};

/// The format, for one model.
#[derive(Debug)]
pub(super) struct Anthropic {
    model: String,
}

impl Anthropic {
    pub(super) fn new(model: &str) -> Self {
        Self { model: model.to_owned() }
    }
}

impl Wire for Anthropic {
    type Draft = Answer;

    fn path(&self, base: &str) -> String {
        // Base URLs of this kind are written without the version; some people write it.
        format!("{}/v1/messages", base.strip_suffix("/v1").unwrap_or(base))
    }

    fn headers(&self, key: Option<&str>) -> Result<HeaderMap, InvalidHeaderValue> {
        let mut headers = HeaderMap::new();
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
        if let Some(key) = key {
            let mut value = HeaderValue::try_from(key)?;
            value.set_sensitive(true);
            headers.insert("x-api-key", value);
        }
        Ok(headers)
    }

    fn body(&self, view: &View) -> Value {
        let mut body = json!({
            "model": self.model,
            "max_tokens": http::REPLY_TOKENS,
            "messages": messages(&view.messages),
            "stream": true,
        });
        let mut system: Vec<_> = view.system.iter().filter_map(|block| text(&block.text)).collect();
        // Empty lists are refused.
        if let Some(last) = system.last_mut() {
            mark(last);
            put(&mut body, "system", Value::Array(system));
        }
        if !view.tools.is_empty() {
            let tools = view.tools.iter().map(|tool| {
                json!({
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": tool.parameters,
                })
            });
            put(&mut body, "tools", tools.collect());
        }
        body
    }

    fn draft(&self, view: &View) -> Answer {
        Answer { free_number: free_call_number(view), ..Answer::default() }
    }
}

/// Asks the provider to keep everything up to here: it caches only what it is told to.
fn mark(block: &mut Value) {
    put(block, "cache_control", json!({"type": "ephemeral"}));
}

/// A text block; texts of blanks alone are refused, so there is none for them.
fn text(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

/// The conversation in turns of user and assistant: results of tools are said by the user, and
/// neighbours of one role are one message.
fn messages(messages: &[Message]) -> Value {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    let mut kept = None;
    for message in messages {
        let (role, blocks) = match message {
            Message::User { blocks } => {
                let shown = blocks.iter().filter_map(|b| Some((b.part, text(&b.text)?)));
                ("user", shown.collect())
            }
            Message::Assistant { text: said, calls } => {
                let said = text(said).into_iter();
                let blocks = said.chain(calls.iter().map(tool_use));
                ("assistant", blocks.map(|block| (Part::Conversation, block)).collect())
            }
            Message::Tool { call, block, error } => {
                let mut result =
                    json!({"type": "tool_result", "tool_use_id": call, "content": block.text});
                if *error {
                    put(&mut result, "is_error", json!(true));
                }
                ("user", vec![(block.part, result)])
            }
        };
        let blocks: Vec<(Part, Value)> = blocks;
        if blocks.is_empty() {
            continue;
        }
        if turns.last().is_none_or(|(last, _)| *last != role) {
            turns.push((role, Vec::new()));
        }
        let turn = turns.len() - 1;
        for (part, block) in blocks {
            if let Some((_, turn_blocks)) = turns.last_mut() {
                // The card changes every turn: what stands before it is worth keeping.
                if part != Part::Card {
                    kept = Some((turn, turn_blocks.len()));
                }
                turn_blocks.push(block);
            }
        }
    }
    if let Some(block) = kept.and_then(|(turn, at)| turns.get_mut(turn)?.1.get_mut(at)) {
        mark(block);
    }
    turns.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

fn tool_use(call: &ModelCall) -> Value {
    // The format wants an object. What the model wrote instead is sent back as the value of a key.
    let input = serde_json::from_str::<Map<String, Value>>(&call.arguments)
        .map_or_else(|_| json!({"invalid": call.arguments}), Value::Object);
    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
}

/// An answer under construction.
#[derive(Debug, Default)]
pub(super) struct Answer {
    text: String,
    calls: Vec<PartialCall>,
    counted: Option<Counted>,
    stop: Stop,
    done: bool,
    free_number: u64,
}

#[derive(Debug)]
struct PartialCall {
    index: u64,
    id: String,
    name: String,
    /// As given at the start of the block: empty in streams, whole in documents.
    input: Value,
    json: String,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Start,
    },
    ContentBlockStart {
        index: u64,
        content_block: Content,
    },
    ContentBlockDelta {
        index: u64,
        delta: Delta,
    },
    MessageDelta {
        delta: End,
        usage: Option<Counted>,
    },
    MessageStop,
    /// A reply that was not streamed.
    Message {
        content: Vec<Content>,
        stop_reason: Option<String>,
        usage: Option<Counted>,
    },
    Error {
        error: Value,
    },
    /// `ping`, `content_block_stop`, and what is yet to be invented.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Start {
    usage: Option<Counted>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content {
    Text {
        #[serde(default)]
        text: String,
    },
    ToolUse {
        #[serde(default)]
        id: String,
        name: String,
        #[serde(default)]
        input: Value,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "input_json_delta")]
    Arguments {
        #[serde(rename = "partial_json")]
        json: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct End {
    stop_reason: Option<String>,
}

/// Running totals: a later figure replaces an earlier one.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
struct Counted {
    #[serde(rename = "input_tokens")]
    input: Option<u64>,
    #[serde(rename = "cache_creation_input_tokens")]
    cache_written: Option<u64>,
    #[serde(rename = "cache_read_input_tokens")]
    cache_read: Option<u64>,
    #[serde(rename = "output_tokens")]
    output: Option<u64>,
}

impl Counted {
    fn then(self, later: Self) -> Self {
        Self {
            input: later.input.or(self.input),
            cache_written: later.cache_written.or(self.cache_written),
            cache_read: later.cache_read.or(self.cache_read),
            output: later.output.or(self.output),
        }
    }

    /// The provider's `input_tokens` leave out what was written to its cache or read from it.
    fn usage(self) -> Usage {
        let [input, written, cached, output] =
            [self.input, self.cache_written, self.cache_read, self.output]
                .map(|count| Tokens(count.unwrap_or_default()));
        Usage { input: input + written + cached, cached, output }
    }
}

impl Draft for Answer {
    fn take(&mut self, data: &str) -> Result<Option<String>, Fault> {
        let event: Event = serde_json::from_str(data)
            .map_err(|e| Fault::Format(format!("a piece of it is not of a message ({e})")))?;
        let text = match event {
            Event::MessageStart { message } => {
                self.count(message.usage);
                String::new()
            }
            Event::ContentBlockStart { index, content_block } => {
                self.take_block(index, content_block)?
            }
            Event::ContentBlockDelta { delta: Delta::Text { text }, .. } => text,
            Event::ContentBlockDelta { index, delta: Delta::Arguments { json } } => {
                let call = self.calls.iter_mut().rfind(|call| call.index == index);
                let Some(call) = call else {
                    let reason = format!("it has arguments for block {index}, which is no call");
                    return Err(Fault::Format(reason));
                };
                call.json.push_str(&json);
                String::new()
            }
            Event::MessageDelta { delta, usage } => {
                self.count(usage);
                self.stop = stop(delta.stop_reason.as_deref());
                String::new()
            }
            Event::MessageStop => {
                self.done = true;
                String::new()
            }
            Event::Message { content, stop_reason, usage } => {
                self.count(usage);
                self.stop = stop(stop_reason.as_deref());
                self.done = true;
                let blocks = (0..).zip(content);
                blocks
                    .map(|(index, block)| self.take_block(index, block))
                    .collect::<Result<_, _>>()?
            }
            Event::Error { error } => {
                return Err(Fault::Provider(ProviderError::read(&error)));
            }
            Event::ContentBlockDelta { delta: Delta::Other, .. } | Event::Other => String::new(),
        };
        self.text.push_str(&text);
        Ok(Some(text).filter(|text| !text.is_empty()))
    }

    fn is_complete(&self) -> bool {
        self.done
    }

    fn finish(mut self) -> Result<Reply, Fault> {
        if !self.done {
            return Err(Fault::Format("it has no end".to_owned()));
        }
        let mut calls = Vec::with_capacity(self.calls.len());
        for call in self.calls {
            let id = if call.id.is_empty() {
                self.free_number = self.free_number.saturating_add(1);
                call_id(self.free_number - 1)
            } else {
                call.id
            };
            let arguments = match (call.json.is_empty(), call.input) {
                (false, _) => call.json,
                (true, Value::Null) => "{}".to_owned(),
                (true, input) => input.to_string(),
            };
            calls.push(ModelCall { id, name: call.name, arguments });
        }
        let usage = self.counted.map(Counted::usage);
        Ok(Reply { text: self.text, calls, usage, stop: self.stop })
    }
}

impl Answer {
    fn count(&mut self, later: Option<Counted>) {
        if let Some(later) = later {
            self.counted = Some(self.counted.unwrap_or_default().then(later));
        }
    }

    /// Takes the beginning of a block, and returns the text in it.
    fn take_block(&mut self, index: u64, block: Content) -> Result<String, Fault> {
        match block {
            Content::Text { text } => Ok(text),
            Content::ToolUse { id, name, input } => {
                if self.calls.len() == http::REPLY_CALLS {
                    let reason = format!("it makes more than {} calls", http::REPLY_CALLS);
                    return Err(Fault::Format(reason));
                }
                self.calls.push(PartialCall { index, id, name, input, json: String::new() });
                Ok(String::new())
            }
            Content::Other => Ok(String::new()),
        }
    }
}

fn stop(reason: Option<&str>) -> Stop {
    match reason {
        None | Some("end_turn" | "stop_sequence") => Stop::Finished,
        Some("tool_use") => Stop::Calls,
        Some("max_tokens" | "model_context_window_exceeded") => Stop::Length,
        Some("refusal") => Stop::Filtered,
        Some(other) => Stop::Other(other.chars().take(80).collect()),
    }
}
