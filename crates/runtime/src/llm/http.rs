//! What the providers share: one request, its retries, its timeouts, and its limits.

use std::fmt;
use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::Duration;

use concertina_core::session::View;
use concertina_types::limits;
use futures_util::future::BoxFuture;
use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url, redirect};
use serde_json::Value;

use super::{Model, ModelError, Reply, sse};

/// One reply, in bytes on the wire: hundreds of times a long answer, and memory is safe.
const REPLY_BYTES: usize = 16 * 1024 * 1024;
/// Calls in one reply: no model was seen to write a quarter of it.
pub(super) const REPLY_CALLS: usize = 128;
/// Tokens that a reply may take, where a provider wants to be told.
pub(super) const REPLY_TOKENS: u32 = 8_192;
/// The body of an error that is read, in bytes.
const REFUSAL_BYTES: usize = 64 * 1024;
/// A provider's words that are shown, in characters.
const MESSAGE_CHARS: usize = 500;

/// How long to wait for a model, and how often to ask again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For a connection.
    pub connect: Duration,
    /// For the next piece of a reply, the first one included.
    pub idle: Duration,
    /// For a whole reply.
    pub whole: Duration,
    /// How many times a request is sent again.
    pub retries: u32,
    /// The longest first pause. Each later one may be twice as long; the pause itself is a random
    /// part of that ("full jitter"), so that clients that failed together do not return together.
    pub pause: Duration,
    /// The longest pause of all, also where the server asks for more with `Retry-After`.
    pub longest_pause: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            // Models that think before they speak are silent for minutes.
            idle: Duration::from_mins(3),
            whole: Duration::from_mins(15),
            retries: limits::MODEL_RETRIES,
            pause: Duration::from_millis(500),
            longest_pause: Duration::from_mins(1),
        }
    }
}

impl Patience {
    /// The pause after the failure of attempt number `attempt`, from 1, where the server `asked`
    /// for one or not.
    pub fn pause_after(&self, attempt: u32, asked: Option<Duration>) -> Duration {
        if let Some(asked) = asked {
            return asked.min(self.longest_pause);
        }
        let doublings = attempt.saturating_sub(1).min(16);
        let ceiling = self.pause.saturating_mul(1 << doublings).min(self.longest_pause);
        // Without randomness the full pause is taken: late is better than all at once.
        let part = getrandom::u32().map_or(1.0, |random| f64::from(random) / f64::from(u32::MAX));
        Duration::try_from_secs_f64(ceiling.as_secs_f64() * part)
            .map_or(ceiling, |p| p.min(ceiling))
    }
}

/// One provider's format.
pub(super) trait Wire: fmt::Debug + Send + Sync {
    /// A reply under construction.
    type Draft: Draft;

    /// The path of the request below that of the base URL, which ends without a slash.
    fn path(&self, base: &str) -> String;
    /// The headers of the request, with the key where there is one.
    fn headers(&self, key: Option<&str>) -> Result<HeaderMap, header::InvalidHeaderValue>;
    /// The body of the request.
    fn body(&self, view: &View) -> Value;
    /// The beginning of a reply to `view`.
    fn draft(&self, view: &View) -> Self::Draft;
}

/// A reply under construction.
pub(super) trait Draft: Send {
    /// Takes the data of one event, or a whole reply that was not streamed. Returns new text.
    fn take(&mut self, data: &str) -> Result<Option<String>, Fault>;
    /// Whether the provider said that this was all.
    fn is_complete(&self) -> bool;
    /// The reply, if its end was seen.
    fn finish(self) -> Result<Reply, Fault>;
}

/// Why the content of a reply is of no use.
#[derive(Debug)]
pub(super) enum Fault {
    /// It is not in the provider's format.
    Format(String),
    /// It is an error that the provider reports.
    Provider(ProviderError),
}

/// An error in the words of a provider. Both formats have `type` and `message`, one also `code`.
#[derive(Debug, Default)]
pub(super) struct ProviderError {
    pub(super) kind: String,
    pub(super) message: String,
}

impl ProviderError {
    /// Reads the value of `error` in a body or an event.
    pub(super) fn read(error: &Value) -> Self {
        let text = |key: &str| match error.get(key) {
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        let kinds: Vec<_> = [text("type"), text("code")].into_iter().flatten().collect();
        let message = text("message")
            .or_else(|| error.as_str().map(str::to_owned))
            .unwrap_or_else(|| "no reason was given".to_owned());
        Self { kind: kinds.join(", "), message }
    }

    fn is_about_rate(&self) -> bool {
        // An exhausted account also answers 429, but waiting does not fill it.
        (self.kind.contains("rate_limit") || self.kind.contains("429")) && !self.is_about_quota()
    }

    fn is_about_quota(&self) -> bool {
        self.kind.contains("insufficient_quota")
    }

    fn is_temporary(&self) -> bool {
        ["overloaded", "api_error", "server_error", "timeout", "internal"]
            .iter()
            .any(|kind| self.kind.contains(kind))
            || ["500", "502", "503", "504", "529"].iter().any(|code| self.kind.contains(code))
    }
}

/// Why one attempt failed.
enum Failure {
    /// Asking again would not help.
    Final(ModelError),
    /// The connection failed.
    Connection(String),
    /// The provider asked to slow down.
    Rate { message: String, after: Option<Duration> },
    /// The provider failed.
    Provider { status: String, message: String, after: Option<Duration> },
}

/// A model behind HTTP.
pub(super) struct HttpModel<W> {
    name: String,
    endpoint: String,
    url: Url,
    client: Client,
    headers: HeaderMap,
    key: Option<String>,
    patience: Patience,
    wire: W,
}

impl<W: fmt::Debug> fmt::Debug for HttpModel<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Neither the key nor the headers that carry it.
        f.debug_struct("HttpModel")
            .field("name", &self.name)
            .field("endpoint", &self.endpoint)
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}

impl<W: Wire> HttpModel<W> {
    pub(super) fn new(
        name: String,
        base: &Url,
        key: Option<String>,
        key_variable: &'static str,
        patience: Patience,
        wire: W,
    ) -> Result<Self, ModelError> {
        let mut headers = wire
            .headers(key.as_deref())
            .map_err(|_| ModelError::KeyInvalid { variable: key_variable })?;
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let mut url = base.clone();
        url.set_path(&wire.path(base.path().trim_end_matches('/')));
        let endpoint = format!(
            "{}:{}",
            base.host_str().unwrap_or_default(),
            base.port_or_known_default().unwrap_or_default()
        );
        let client = client(base, &patience).map_err(|e| ModelError::Unreachable {
            model: name.clone(),
            endpoint: endpoint.clone(),
            reason: format!("a connection cannot be prepared ({})", innermost(&e)),
        })?;
        Ok(Self { name, endpoint, url, client, headers, key, patience, wire })
    }

    async fn ask(
        &self,
        view: &View,
        on_text: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Reply, ModelError> {
        let body = self.wire.body(view).to_string();
        let mut attempts = 0;
        loop {
            attempts += 1;
            let mut shown = false;
            let mut show = |text: &str| {
                shown = true;
                on_text(text);
            };
            let attempt = self.attempt(view, body.clone(), &mut show);
            let failure = match tokio::time::timeout(self.patience.whole, attempt).await {
                Ok(Ok(reply)) => return Ok(reply),
                Ok(Err(failure)) => failure,
                Err(_) => {
                    Failure::Final(self.timed_out("no end of the reply", self.patience.whole))
                }
            };
            let after = match &failure {
                Failure::Final(_) => return Err(self.error(failure, attempts)),
                Failure::Connection(_) => None,
                Failure::Rate { after, .. } | Failure::Provider { after, .. } => *after,
            };
            if shown || attempts > self.patience.retries {
                return Err(self.error(failure, attempts));
            }
            tokio::time::sleep(self.patience.pause_after(attempts, after)).await;
        }
    }

    async fn attempt(
        &self,
        view: &View,
        body: String,
        show: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Reply, Failure> {
        let request = self.client.post(self.url.clone()).headers(self.headers.clone()).body(body);
        let response = request.send().await.map_err(|e| self.not_sent(&e))?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        self.read(response, view, show).await
    }

    /// Reads a reply: an event stream, or one JSON document from servers that do not stream.
    async fn read(
        &self,
        mut response: Response,
        view: &View,
        show: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Reply, Failure> {
        let mut draft = self.wire.draft(view);
        let mut parser = sse::Parser::default();
        let mut document: Option<Vec<u8>> = None;
        let mut beginning = Vec::new();
        let mut total = 0;
        while let Some(chunk) = response.chunk().await.map_err(|e| self.cut_off(&e))? {
            total += chunk.len();
            if total > REPLY_BYTES {
                return Err(self.bad(&format!("it is longer than {REPLY_BYTES} bytes")));
            }
            if beginning.is_empty() {
                // A document begins with a brace; no event stream does, whatever the header says.
                let Some(at) = chunk.iter().position(|byte| !byte.is_ascii_whitespace()) else {
                    continue;
                };
                document = (chunk.get(at) == Some(&b'{')).then(Vec::new);
                beginning.extend(chunk.iter().skip(at).take(80));
            }
            if let Some(document) = &mut document {
                document.extend_from_slice(&chunk);
                continue;
            }
            for event in parser.feed(&chunk) {
                self.step(&mut draft, &event.data, show)?;
                if draft.is_complete() {
                    return draft.finish().map_err(|fault| self.fault(fault));
                }
            }
        }
        let rest = match document {
            Some(document) => Some(String::from_utf8_lossy(&document).into_owned()),
            None => parser.finish().map(|event| event.data),
        };
        if let Some(rest) = rest {
            self.step(&mut draft, &rest, show)?;
        }
        draft.finish().map_err(|fault| match fault {
            Fault::Format(reason) => {
                let beginning = String::from_utf8_lossy(&beginning);
                self.bad(&format!("{reason}; it begins with {beginning:?}"))
            }
            fault @ Fault::Provider(_) => self.fault(fault),
        })
    }

    fn step(
        &self,
        draft: &mut W::Draft,
        data: &str,
        show: &mut (dyn FnMut(&str) + Send),
    ) -> Result<(), Failure> {
        if let Some(text) = draft.take(data).map_err(|fault| self.fault(fault))? {
            show(&text);
        }
        Ok(())
    }

    /// An answer with a status that is not a success.
    async fn refusal(&self, mut response: Response) -> Failure {
        let status = response.status();
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let after = header(header::RETRY_AFTER)
            .and_then(|text| text.trim().parse::<f64>().ok())
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let location = header(header::LOCATION).map(str::to_owned);
        let mut body = Vec::new();
        // A body that breaks off still says something, and the status says the rest.
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() > REFUSAL_BYTES {
                break;
            }
        }
        let error = match (serde_json::from_slice::<Value>(&body), location) {
            (_, Some(location)) if status.is_redirection() => ProviderError {
                kind: String::new(),
                message: format!("it redirects to {location}, which is not followed"),
            },
            (Ok(value), _) => ProviderError::read(value.get("error").unwrap_or(&value)),
            (Err(_), _) if body.iter().all(u8::is_ascii_whitespace) => {
                ProviderError { kind: String::new(), message: "no reason was given".to_owned() }
            }
            (Err(_), _) => ProviderError {
                kind: String::new(),
                message: String::from_utf8_lossy(&body).into_owned(),
            },
        };
        let message = self.clean(&error.message);
        let status_text = status.as_u16().to_string();
        if status == StatusCode::TOO_MANY_REQUESTS && !error.is_about_quota() {
            Failure::Rate { message, after }
        } else if status.is_server_error() {
            Failure::Provider { status: status_text, message, after }
        } else {
            Failure::Final(self.refused(status_text, message))
        }
    }

    fn fault(&self, fault: Fault) -> Failure {
        match fault {
            Fault::Format(reason) => self.bad(&reason),
            Fault::Provider(error) => {
                let message = self.clean(&error.message);
                if error.is_about_rate() {
                    Failure::Rate { message, after: None }
                } else if error.is_temporary() {
                    Failure::Provider { status: self.clean(&error.kind), message, after: None }
                } else {
                    Failure::Final(self.refused(self.clean(&error.kind), message))
                }
            }
        }
    }

    fn not_sent(&self, error: &reqwest::Error) -> Failure {
        if !error.is_timeout() {
            Failure::Connection(self.clean(&innermost(error)))
        } else if error.is_connect() {
            Failure::Connection(format!("no connection within {:?}", self.patience.connect))
        } else {
            Failure::Final(self.timed_out("no answer", self.patience.idle))
        }
    }

    fn cut_off(&self, error: &reqwest::Error) -> Failure {
        if error.is_timeout() {
            return Failure::Final(self.timed_out("no further piece", self.patience.idle));
        }
        self.bad(&format!("the connection ended in the middle of it ({})", innermost(error)))
    }

    fn bad(&self, reason: &str) -> Failure {
        Failure::Final(ModelError::BadReply {
            model: self.name.clone(),
            endpoint: self.endpoint.clone(),
            reason: self.clean(reason),
        })
    }

    fn refused(&self, status: String, message: String) -> ModelError {
        let (model, endpoint) = (self.name.clone(), self.endpoint.clone());
        ModelError::Refused { model, endpoint, status, message }
    }

    fn timed_out(&self, what: &str, waited: Duration) -> ModelError {
        ModelError::TimedOut {
            model: self.name.clone(),
            endpoint: self.endpoint.clone(),
            reason: format!("{what} within {waited:?}"),
        }
    }

    fn error(&self, failure: Failure, attempts: u32) -> ModelError {
        let (model, endpoint) = (self.name.clone(), self.endpoint.clone());
        match failure {
            Failure::Final(error) => error,
            Failure::Connection(reason) => ModelError::Unreachable { model, endpoint, reason },
            Failure::Rate { message, .. } => {
                ModelError::RateLimited { model, endpoint, attempts, message }
            }
            Failure::Provider { status, message, .. } => {
                ModelError::Unavailable { model, endpoint, attempts, status, message }
            }
        }
    }

    /// A text from outside, fit to be shown: on one line, bounded, without the key.
    fn clean(&self, text: &str) -> String {
        let text = match &self.key {
            // A shorter key is a stand-in for a local server, and would punch holes in the words.
            Some(key) if key.len() >= 8 => text.replace(key.as_str(), "[key]"),
            _ => text.to_owned(),
        };
        let mut clean = String::new();
        for (i, c) in text.trim().chars().enumerate() {
            if i == MESSAGE_CHARS {
                clean.push('…');
                break;
            }
            clean.push(if c.is_control() { ' ' } else { c });
        }
        clean
    }
}

impl<W: Wire> Model for HttpModel<W> {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_scripted(&self) -> bool {
        false
    }

    fn reply<'a>(
        &'a self,
        view: &'a View,
        on_text: &'a mut (dyn FnMut(&str) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(self.ask(view, on_text))
    }
}

/// Has TLS use the cryptography that is built in.
pub(crate) fn use_ring() {
    static CRYPTOGRAPHY: OnceLock<()> = OnceLock::new();
    CRYPTOGRAPHY.get_or_init(|| {
        // An error says that the program that embeds us has chosen already, which is its right.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

pub(crate) fn client(base: &Url, patience: &Patience) -> reqwest::Result<Client> {
    use_ring();
    let mut builder = Client::builder()
        .user_agent(concat!("concertina/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(patience.connect)
        .read_timeout(patience.idle)
        // A redirect would carry the key to a host that nobody named.
        .redirect(redirect::Policy::none());
    if is_loopback(base) {
        builder = builder.no_proxy();
    }
    if base.scheme() == "http" {
        // The system's certificates are not read where they are not needed: some systems have none.
        builder = builder.tls_certs_only([]);
    }
    builder.build()
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Puts a value into a JSON object.
pub(super) fn put(object: &mut Value, key: &str, value: Value) {
    if let Some(map) = object.as_object_mut() {
        map.insert(key.to_owned(), value);
    }
}

/// What the system said, below the layers that repeat each other.
pub(crate) fn innermost(error: &reqwest::Error) -> String {
    let mut inner: &dyn std::error::Error = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}
