//! The Chat Completions format, as <https://platform.openai.com/docs/api-reference/chat> describes
//! it and as many local servers speak it.

use concertina_core::session::{Block, Message, View};
use concertina_types::{ModelCall, Tokens, Usage};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, InvalidHeaderValue};
use serde::Deserialize;
use serde_json::{Value, json};

use super::http::{self, Draft, Fault, ProviderError, Wire, put};
use super::{Reply, Stop, call_id, free_call_number};

/// The format, for one model.
#[derive(Debug)]
pub(super) struct OpenAi {
    model: String,
}

impl OpenAi {
    pub(super) fn new(model: &str) -> Self {
        Self { model: model.to_owned() }
    }
}

impl Wire for OpenAi {
    type Draft = Completion;

    fn path(&self, base: &str) -> String {
        format!("{base}/chat/completions")
    }

    fn headers(&self, key: Option<&str>) -> Result<HeaderMap, InvalidHeaderValue> {
        let mut headers = HeaderMap::new();
        if let Some(key) = key {
            let mut value = HeaderValue::try_from(format!("Bearer {key}"))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        Ok(headers)
    }

    fn body(&self, view: &View) -> Value {
        let mut messages = Vec::new();
        if !view.system.is_empty() {
            messages.push(json!({"role": "system", "content": joined(&view.system)}));
        }
        messages.extend(view.messages.iter().map(message));
        let mut body = json!({
            "model": self.model,
            "messages": messages,
            "stream": true,
            "stream_options": {"include_usage": true},
        });
        // An empty list is refused.
        if !view.tools.is_empty() {
            let tools = view.tools.iter().map(|tool| json!({"type": "function", "function": tool}));
            put(&mut body, "tools", tools.collect());
        }
        body
    }

    fn draft(&self, view: &View) -> Completion {
        Completion { free_number: free_call_number(view), ..Completion::default() }
    }
}

fn joined(blocks: &[Block]) -> String {
    blocks.iter().map(|block| &*block.text).collect::<Vec<_>>().join("\n\n")
}

fn message(message: &Message) -> Value {
    match message {
        Message::User { blocks } => json!({"role": "user", "content": joined(blocks)}),
        Message::Assistant { text, calls } if calls.is_empty() => {
            json!({"role": "assistant", "content": text})
        }
        Message::Assistant { text, calls } => {
            let content = if text.is_empty() { Value::Null } else { json!(text) };
            let calls = calls.iter().map(|call| {
                // Servers read what they are sent back, and some refuse arguments that are not JSON.
                let arguments = match serde_json::from_str::<Value>(&call.arguments) {
                    Ok(_) => call.arguments.clone(),
                    Err(_) => json!({"invalid": call.arguments}).to_string(),
                };
                let function = json!({"name": call.name, "arguments": arguments});
                json!({"id": call.id, "type": "function", "function": function})
            });
            json!({"role": "assistant", "content": content, "tool_calls": calls.collect::<Value>()})
        }
        // The format has no flag for an error: the text of the result says that it is one.
        Message::Tool { call, block, .. } => {
            json!({"role": "tool", "tool_call_id": call, "content": block.text})
        }
    }
}

/// A completion under construction.
#[derive(Debug, Default)]
pub(super) struct Completion {
    text: String,
    calls: Vec<(Option<u64>, ModelCall)>,
    usage: Option<Usage>,
    stop: Option<Stop>,
    done: bool,
    free_number: u64,
}

#[derive(Deserialize)]
struct Chunk {
    choices: Option<Vec<Choice>>,
    usage: Option<Counted>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    /// In a stream.
    delta: Option<Delta>,
    /// In a document.
    message: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<Content>,
    refusal: Option<String>,
    tool_calls: Option<Vec<CallPart>>,
}

/// Text, or the parts in which some servers write it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
}

#[derive(Deserialize)]
struct ContentPart {
    text: Option<String>,
}

#[derive(Deserialize)]
struct CallPart {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionPart>,
}

#[derive(Deserialize)]
struct FunctionPart {
    name: Option<String>,
    arguments: Option<Value>,
}

#[derive(Deserialize)]
struct Counted {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Option<u64>,
}

impl Draft for Completion {
    fn take(&mut self, data: &str) -> Result<Option<String>, Fault> {
        if data.trim() == "[DONE]" {
            self.done = true;
            return Ok(None);
        }
        let chunk: Chunk = serde_json::from_str(data)
            .map_err(|e| Fault::Format(format!("a piece of it is not a completion ({e})")))?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(Fault::Provider(ProviderError::read(&error)));
        }
        if let Some(counted) = chunk.usage {
            self.usage = Some(Usage {
                input: Tokens(counted.prompt_tokens.unwrap_or_default()),
                cached: Tokens(
                    counted.prompt_tokens_details.and_then(|d| d.cached_tokens).unwrap_or_default(),
                ),
                output: Tokens(counted.completion_tokens.unwrap_or_default()),
            });
        }
        let Some(choice) = chunk.choices.into_iter().flatten().next() else {
            return Ok(None);
        };
        if let Some(reason) = choice.finish_reason {
            self.stop = Some(stop(&reason));
        } else if choice.message.is_some() {
            self.stop = Some(Stop::Finished);
        }
        let Some(delta) = choice.message.or(choice.delta) else {
            return Ok(None);
        };
        for part in delta.tool_calls.into_iter().flatten() {
            self.take_call(part)?;
        }
        let mut text = match delta.content {
            Some(Content::Text(text)) => text,
            Some(Content::Parts(parts)) => parts.into_iter().filter_map(|part| part.text).collect(),
            None => String::new(),
        };
        text.push_str(&delta.refusal.unwrap_or_default());
        self.text.push_str(&text);
        Ok(Some(text).filter(|text| !text.is_empty()))
    }

    fn is_complete(&self) -> bool {
        self.done
    }

    fn finish(mut self) -> Result<Reply, Fault> {
        let Some(mut stop) = self.stop else {
            return Err(Fault::Format("it has no end, or no choices".to_owned()));
        };
        for (_, call) in &mut self.calls {
            if call.id.is_empty() {
                call.id = call_id(self.free_number);
                self.free_number = self.free_number.saturating_add(1);
            }
        }
        let calls: Vec<_> = self.calls.into_iter().map(|(_, call)| call).collect();
        // Some servers say `stop` whatever they stopped for.
        if stop == Stop::Finished && !calls.is_empty() {
            stop = Stop::Calls;
        }
        Ok(Reply { text: self.text, calls, usage: self.usage, stop })
    }
}

impl Completion {
    /// Adds a part to the call it belongs to. Servers without indices begin a call with its id;
    /// some give every call the same index and tell them apart by id.
    fn take_call(&mut self, part: CallPart) -> Result<(), Fault> {
        let id = part.id.unwrap_or_default();
        let known = match part.index {
            Some(_) => self.calls.iter().rposition(|(index, _)| *index == part.index),
            None => self.calls.len().checked_sub(1).filter(|_| id.is_empty()),
        };
        let same = |call: &ModelCall| id.is_empty() || call.id.is_empty() || call.id == id;
        let at = match known {
            Some(at) if self.calls.get(at).is_some_and(|(_, call)| same(call)) => at,
            _ => {
                if self.calls.len() == http::REPLY_CALLS {
                    let reason = format!("it makes more than {} calls", http::REPLY_CALLS);
                    return Err(Fault::Format(reason));
                }
                let call =
                    ModelCall { id: String::new(), name: String::new(), arguments: String::new() };
                self.calls.push((part.index, call));
                self.calls.len() - 1
            }
        };
        let Some((_, call)) = self.calls.get_mut(at) else { return Ok(()) };
        if call.id.is_empty() {
            call.id = id;
        }
        if let Some(function) = part.function {
            if call.name.is_empty() {
                call.name = function.name.unwrap_or_default();
            }
            match function.arguments {
                Some(Value::String(text)) => call.arguments.push_str(&text),
                Some(Value::Null) | None => {}
                Some(value) => call.arguments.push_str(&value.to_string()),
            }
        }
        Ok(())
    }
}

fn stop(reason: &str) -> Stop {
    match reason {
        "stop" => Stop::Finished,
        "tool_calls" | "function_call" => Stop::Calls,
        "length" => Stop::Length,
        "content_filter" => Stop::Filtered,
        _ => Stop::Other(reason.chars().take(80).collect()),
    }
}
