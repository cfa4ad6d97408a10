//! Answers as the protocol has them.

use concertina_core::session::Answer;
use concertina_runtime::tools::Attached;
use concertina_types::limits;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, ResourceContents};
use serde_json::{Value, json};

use super::notes::Lead;
use crate::says::says;

/// What a tool's result held besides the text that stands for it.
#[derive(Debug, Default)]
pub(super) struct Extra {
    /// Pieces that are no text, as far as they are passed on.
    blocks: Vec<ContentBlock>,
    /// What they take together, in bytes.
    bytes: usize,
    /// Which were kept out, and why.
    left_out: Vec<String>,
    /// The structured result, where no text says the same.
    data: Option<Value>,
    meta: Option<MetaObject>,
}

impl Extra {
    /// What of `attached` goes on to the client. `output` is the text of the whole result.
    pub(super) fn of(attached: Attached, output: &str) -> Self {
        let mut extra = Self { meta: attached.meta.and_then(meta), ..Self::default() };
        if extra
            .meta
            .as_ref()
            .is_some_and(|meta| json!(meta.0).to_string().len() > limits::RESULT_BYTES)
        {
            extra.meta = None;
            extra.left_out.push(
                "what the server says about its result was kept out: it is longer than an answer"
                    .to_owned(),
            );
        }
        for piece in attached.content {
            extra.take(piece);
        }
        extra.data = attached.structured.filter(|data| !says(output, data));
        extra
    }

    /// The addresses of what it links to.
    pub(super) fn links(&self) -> impl Iterator<Item = &str> {
        let links = self.blocks.iter().filter_map(ContentBlock::as_resource_link);
        links.map(|link| link.uri.as_str())
    }

    fn take(&mut self, piece: Value) {
        let text = |name: &str| piece.get(name).and_then(Value::as_str).unwrap_or_default();
        let kind = text("type").to_owned();
        if kind == "text" {
            return;
        }
        let size = piece.to_string().len();
        let limit = limits::MEDIA_BYTES;
        if self.bytes.saturating_add(size) > limit || self.blocks.len() >= limits::RESULT_BLOCKS {
            let what = text("mimeType");
            self.left_out.push(format!(
                "{kind} {what} was kept out: it takes {size} bytes, and a result holds {limit} bytes in {} pieces besides its text",
                limits::RESULT_BLOCKS
            ));
            return;
        }
        self.bytes += size;
        match serde_json::from_value::<ContentBlock>(piece) {
            Ok(block) => self.blocks.push(block),
            Err(error) => {
                self.left_out.push(format!("a piece of type `{kind}` was kept out: {error}"));
            }
        }
    }
}

fn meta(meta: Value) -> Option<MetaObject> {
    match meta {
        Value::Object(meta) if !meta.is_empty() => Some(MetaObject(meta)),
        _ => None,
    }
}

/// What stands before the words of a tool that says that it failed.
const FAILED: &str = "error TOOL_FAILED: the tool says that it failed; what it said follows";

/// The result of a tool call. Text and structured form say the same, since some clients show one of
/// them and some the other. An error says that it is one in its first word, since some clients show
/// no flag.
pub(super) fn result(mut lead: Lead, answer: &Answer, extra: Extra) -> CallToolResult {
    let Extra { mut blocks, left_out, data, meta, .. } = extra;
    for line in left_out {
        lead.say(line);
    }
    let lead = lead.text();
    let says_so = answer.text.starts_with("error ");
    let parts = match (answer.error, says_so) {
        (true, false) => [FAILED, lead.as_str(), answer.text.as_str()],
        (true, true) => [answer.text.as_str(), lead.as_str(), ""],
        (false, _) => [lead.as_str(), answer.text.as_str(), ""],
    };
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let mut text = parts.join("\n");
    if text.len() > limits::CLIENT_RESULT_BYTES {
        // Answers and leads have limits of their own, whose sum is below this one.
        text.truncate(text.floor_char_boundary(limits::CLIENT_RESULT_BYTES));
    }
    let room = limits::CLIENT_RESULT_BYTES - text.len();
    // The text of an embedded file stands in the answer already.
    blocks.retain(|block| match block {
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { text, .. } => text.len() <= room,
            _ => true,
        },
        _ => true,
    });
    let mut content = vec![ContentBlock::text(text.clone())];
    content.append(&mut blocks);
    let mut result = CallToolResult::success(content);
    result.is_error = Some(answer.error);
    result.meta = meta;
    // Clients that show the structured form alone would lose a picture.
    if result.content.len() == 1 {
        let mut structured = json!({"text": text});
        if let (Some(data), Some(fields)) = (data, structured.as_object_mut())
            && data.to_string().len() <= room
        {
            fields.insert("data".to_owned(), data);
        }
        result.structured_content = Some(structured);
    }
    result
}

/// The result of a request that never reached a session.
pub(super) fn refused(code: &str, message: &str) -> CallToolResult {
    let text = concertina_core::context::disarm(&format!("error {code}: {message}"));
    let answer = Answer {
        tokens: concertina_tokens::count(&text),
        text,
        error: true,
        disclosed: Vec::new(),
    };
    result(Lead::default(), &answer, Extra::default())
}
