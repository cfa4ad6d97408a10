//! Messages as lines: newline-delimited JSON over any pair of streams, for either side.
//!
//! What a peer sends is untrusted. A line that is too long, no JSON, nested too deep or a batch costs
//! that line alone: a server answers it with an error, a client skips it (programs print banners on
//! their standard output), and the connection lives.

use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use concertina_types::limits::{MESSAGE_BYTES, MESSAGES_UNDER_WAY, UPSTREAM_MESSAGE_BYTES};
use rmcp::model::RequestId;
use rmcp::service::{RxJsonRpcMessage, ServiceRole, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{mpsc, oneshot};

use crate::lock;

/// Lines read with a limit.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    limit: usize,
    is_skipping: bool,
}

/// One line as it came.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Without its newline.
    Whole(Vec<u8>),
    /// Longer than the limit; it is skipped.
    TooLong,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(reader: R, limit: usize) -> Self {
        Self {
            reader: BufReader::with_capacity(64 * 1024, reader),
            line: Vec::new(),
            limit,
            is_skipping: false,
        }
    }

    /// The next line, none at the end. Dropping the future loses nothing: what was read stays here.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                let rest = std::mem::take(&mut self.line);
                return Ok((!rest.is_empty()).then_some(Line::Whole(rest)));
            }
            let newline = available.iter().position(|byte| *byte == b'\n');
            let part = available.get(..newline.unwrap_or(available.len())).unwrap_or_default();
            let is_too_long = !self.is_skipping && self.line.len() + part.len() > self.limit;
            if !self.is_skipping && !is_too_long {
                self.line.extend_from_slice(part);
            }
            let consumed = part.len() + usize::from(newline.is_some());
            self.reader.consume(consumed);
            if is_too_long {
                self.line = Vec::new();
                self.is_skipping = newline.is_none();
                return Ok(Some(Line::TooLong));
            }
            if newline.is_some() && !std::mem::take(&mut self.is_skipping) {
                return Ok(Some(Line::Whole(std::mem::take(&mut self.line))));
            }
        }
    }
}

/// Why a line is no message, as JSON-RPC says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) code: i32,
    pub(crate) message: String,
}

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const OVERLOADED: i32 = -32000;

impl Fault {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    fn reply(&self, id: &Value) -> String {
        json!({"jsonrpc": "2.0", "id": id, "error": {"code": self.code, "message": self.message}})
            .to_string()
    }
}

/// The JSON object in a line; none where the line is blank.
pub(crate) fn read(line: &[u8]) -> Result<Option<Value>, Fault> {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    let text = std::str::from_utf8(line)
        .map_err(|error| Fault::new(PARSE_ERROR, format!("the message is not UTF-8: {error}")))?;
    let value: Value = serde_json::from_str(text).map_err(|error| {
        let words = error.to_string();
        Fault::new(
            PARSE_ERROR,
            if words.contains("recursion limit") {
                "the message is nested deeper than 128 levels; send flatter JSON".to_owned()
            } else {
                format!("the message is no JSON: {words}")
            },
        )
    })?;
    match value {
        Value::Object(_) => Ok(Some(value)),
        Value::Array(_) => Err(Fault::new(
            INVALID_REQUEST,
            "batches are not part of this protocol; send one message on each line",
        )),
        _ => Err(Fault::new(INVALID_REQUEST, "a message is a JSON object")),
    }
}

/// A line that waits to be written, and who hears that it was.
type Outgoing = (String, Option<oneshot::Sender<io::Result<()>>>);

/// A connection of lines.
#[derive(Debug)]
pub struct Wire<R> {
    lines: Lines<R>,
    out: Option<mpsc::Sender<Outgoing>>,
    writer: Option<tokio::task::JoinHandle<()>>,
    /// An error that is to be sent before the next line is read.
    fault: Option<String>,
    under_way: Arc<Mutex<HashSet<RequestId>>>,
    skipped: Arc<AtomicU64>,
    /// Whether the client has asked for something.
    has_begun: AtomicBool,
}

impl<R: AsyncRead + Unpin + Send> Wire<R> {
    /// The side of a server: faulty lines are answered with an error. Needs a tokio runtime.
    pub fn server(reader: R, writer: impl AsyncWrite + Unpin + Send + 'static) -> Self {
        Self::new(reader, writer, MESSAGE_BYTES)
    }

    /// The side of a client: lines that are no messages are skipped. Needs a tokio runtime.
    pub fn client(reader: R, writer: impl AsyncWrite + Unpin + Send + 'static) -> Self {
        Self::new(reader, writer, UPSTREAM_MESSAGE_BYTES)
    }

    fn new(reader: R, writer: impl AsyncWrite + Unpin + Send + 'static, limit: usize) -> Self {
        let (out, outgoing) = mpsc::channel(256);
        Self {
            lines: Lines::new(reader, limit),
            out: Some(out),
            writer: Some(tokio::spawn(write_all(writer, outgoing))),
            fault: None,
            under_way: Arc::default(),
            skipped: Arc::default(),
            has_begun: AtomicBool::new(false),
        }
    }

    /// Counts the lines that were skipped because they were no messages.
    pub fn skipped(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.skipped)
    }

    /// The message in a line, as this side takes it.
    fn accept<Role: ServiceRole>(
        &self,
        line: Line,
    ) -> Result<Option<RxJsonRpcMessage<Role>>, String> {
        let value = match line {
            Line::TooLong => Err(Fault::new(
                INVALID_REQUEST,
                format!("the message is longer than {} bytes; send less at once", self.lines.limit),
            )),
            Line::Whole(line) => read(&line),
        };
        let value = match value {
            Ok(Some(value)) => value,
            Ok(None) => return Ok(None),
            Err(fault) => return Err(fault.reply(&Value::Null)),
        };
        let id = value.get("id").filter(|_| value.get("method").is_some()).cloned();
        let message = serde_json::from_value(value).map_err(|error| {
            let answerable = id.clone().filter(|id| id.is_string() || id.is_i64());
            Fault::new(INVALID_REQUEST, format!("this is no message of the protocol: {error}"))
                .reply(&answerable.unwrap_or_default())
        })?;
        if !Role::IS_CLIENT {
            self.admit::<Role>(&message)?;
            // Before its first request a client has nothing to tell and nothing to answer.
            let is_request = matches!(message, RxJsonRpcMessage::<Role>::Request(_));
            if !is_request && !self.has_begun.load(Ordering::Relaxed) {
                return Ok(None);
            }
            self.has_begun.store(true, Ordering::Relaxed);
        }
        Ok(Some(message))
    }

    /// A second request with an id that is under way would be answered in the first one's name. One
    /// that was taken back is under way until its answer, which says so, was written.
    fn admit<Role: ServiceRole>(&self, message: &RxJsonRpcMessage<Role>) -> Result<(), String> {
        let mut under_way = lock(&self.under_way);
        if let RxJsonRpcMessage::<Role>::Request(request) = message {
            if under_way.len() >= MESSAGES_UNDER_WAY {
                let words = format!("{MESSAGES_UNDER_WAY} requests are under way; wait for some");
                let id = serde_json::to_value(&request.id).unwrap_or_default();
                return Err(Fault::new(OVERLOADED, words).reply(&id));
            }
            if !under_way.insert(request.id.clone()) {
                let words = format!("a request with the id `{}` is under way", request.id);
                return Err(Fault::new(INVALID_REQUEST, words).reply(&Value::Null));
            }
        }
        Ok(())
    }
}

impl<Role, R> Transport<Role> for Wire<R>
where
    Role: ServiceRole,
    R: AsyncRead + Unpin + Send,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<Role>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answered = match &item {
            TxJsonRpcMessage::<Role>::Response(response) => Some(response.id.clone()),
            TxJsonRpcMessage::<Role>::Error(error) => error.id.clone(),
            _ => None,
        };
        if let Some(id) = answered {
            lock(&self.under_way).remove(&id);
        }
        let text = serde_json::to_string(&item).map_err(io::Error::other);
        let out = self.out.clone();
        async move {
            let closed = || io::Error::new(io::ErrorKind::BrokenPipe, "the connection is closed");
            let (written, ack) = oneshot::channel();
            let out = out.ok_or_else(closed)?;
            out.send((text?, Some(written))).await.map_err(|_| closed())?;
            ack.await.map_err(|_| closed())?
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<Role>> {
        loop {
            if self.fault.is_some() {
                let place = self.out.as_ref()?.reserve().await.ok()?;
                place.send((self.fault.take()?, None));
            }
            let line = self.lines.next().await.ok()??;
            match self.accept::<Role>(line) {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(reply) => {
                    self.skipped.fetch_add(1, Ordering::Relaxed);
                    self.fault = (!Role::IS_CLIENT).then_some(reply);
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.out = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.await;
        }
        Ok(())
    }
}

/// Writes lines whole, whatever becomes of those who sent them; ends when nobody can send any more.
pub(crate) async fn write_all(
    mut writer: impl AsyncWrite + Unpin,
    mut outgoing: mpsc::Receiver<Outgoing>,
) {
    while let Some((mut text, written)) = outgoing.recv().await {
        text.push('\n');
        let result = async {
            writer.write_all(text.as_bytes()).await?;
            writer.flush().await
        }
        .await;
        let is_broken = result.is_err();
        if let Some(written) = written {
            let _ = written.send(result);
        }
        if is_broken {
            break;
        }
    }
    let _ = writer.shutdown().await;
}
