//! Servers at an address, through the SDK's transport: sessions, streams and their resumption are its
//! part. Messages go in and out as JSON.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use concertina_runtime::upstream::Definition;
use concertina_types::limits;
use http::{HeaderName, HeaderValue};
use reqwest::{Client, Url, redirect};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, RequestId};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
};
use rmcp::transport::{AuthClient, AuthError, StreamableHttpClientTransport, Transport};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::failure::Failure;
use super::login;
use super::options::PoolOptions;
use super::peer::Peer;
use crate::cut::cut;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(10);
/// How long everything waits until the server has taken the last word of the handshake: one that
/// takes longer gets what follows all the same.
const LAST_WORD: Duration = Duration::from_secs(5);

/// A connection over HTTP.
pub(super) struct Http {
    carrier: tokio::task::JoinHandle<()>,
    stop: mpsc::Sender<()>,
}

impl Http {
    pub(super) async fn open(
        definition: &Definition,
        url: &str,
        headers: &[(String, String)],
        options: &PoolOptions,
        peer: &Arc<Peer>,
        outgoing: mpsc::Receiver<Value>,
    ) -> Result<Self, Failure> {
        let address = Url::parse(url)
            .map_err(|error| Failure::Start(format!("its address cannot be read: {error}")))?;
        if !matches!(address.scheme(), "http" | "https") {
            return Err(Failure::Start("its address is neither http nor https".to_owned()));
        }
        let config = config(url, headers)?;
        let client = client(&address).map_err(|error| Failure::Start(error.to_string()))?;
        let (stop, stopping) = mpsc::channel(1);
        let how = Carried {
            peer: Arc::clone(peer),
            outgoing,
            stopping,
            help: login::help(&definition.name),
        };
        // Headers that a person wrote come before a login.
        let has_token = config.auth_header.is_some();
        let manager =
            if has_token { None } else { login::manager(&options.home, definition, url).await? };
        let carrier = match manager {
            Some(manager) => tokio::spawn(carry(AuthClient::new(client, manager), config, how)),
            None => tokio::spawn(carry(client, config, how)),
        };
        Ok(Self { carrier, stop })
    }

    pub(super) async fn stop(self) {
        let _ = self.stop.send(()).await;
        let grace = Duration::from_millis(limits::STOP_MILLISECONDS);
        let abort = self.carrier.abort_handle();
        if tokio::time::timeout(grace, self.carrier).await.is_err() {
            abort.abort();
        }
    }
}

fn config(
    url: &str,
    headers: &[(String, String)],
) -> Result<StreamableHttpClientTransportConfig, Failure> {
    let mut config = StreamableHttpClientTransportConfig::with_uri(url)
        .max_concurrent_requests(limits::CALLS_AT_ONCE)
        .max_json_response_size(limits::UPSTREAM_MESSAGE_BYTES)
        .max_sse_event_size(limits::UPSTREAM_MESSAGE_BYTES);
    let mut custom = HashMap::new();
    for (name, value) in headers {
        if name.eq_ignore_ascii_case("authorization")
            && let Some(token) = value.strip_prefix("Bearer ")
        {
            config = config.auth_header(token.trim());
            continue;
        }
        // The value is a secret: the message names the header alone.
        let bad = || Failure::Start(format!("its header `{name}` cannot be sent"));
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
        value.set_sensitive(true);
        custom.insert(header, value);
    }
    Ok(config.custom_headers(custom))
}

/// Chooses the cryptography once for the whole program.
pub(super) fn choose_cryptography() {
    static CRYPTOGRAPHY: OnceLock<()> = OnceLock::new();
    CRYPTOGRAPHY.get_or_init(|| {
        // An error says that the program that embeds us has chosen already, which is its right.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

fn client(address: &Url) -> reqwest::Result<Client> {
    choose_cryptography();
    let origin = address.origin();
    // A redirect to another host would carry the token and the arguments there.
    let same_origin = redirect::Policy::custom(move |attempt| {
        if attempt.url().origin() == origin && attempt.previous().len() < 5 {
            attempt.follow()
        } else {
            attempt.stop()
        }
    });
    let mut builder = Client::builder()
        .user_agent(concat!("concertina/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .redirect(same_origin);
    let host = address.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_loopback = host == "localhost"
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    if is_loopback {
        builder = builder.no_proxy();
    }
    if address.scheme() == "http" {
        // The system's certificates are not read where they are not needed: some systems have none.
        builder = builder.tls_certs_only([]);
    }
    builder.build()
}

struct Carried {
    peer: Arc<Peer>,
    outgoing: mpsc::Receiver<Value>,
    stopping: mpsc::Receiver<()>,
    help: String,
}

/// Carries messages until the connection ends or is to be stopped.
async fn carry<C>(client: C, config: StreamableHttpClientTransportConfig, how: Carried)
where
    C: StreamableHttpClient<Error = reqwest::Error> + Sync,
{
    let Carried { peer, mut outgoing, mut stopping, help } = how;
    let mut transport = StreamableHttpClientTransport::with_client(client, config);
    let mut sending = JoinSet::new();
    let reason = loop {
        tokio::select! {
            message = Transport::<RoleClient>::receive(&mut transport) => match message {
                Some(message) => {
                    if let Ok(message) = serde_json::to_value(&message) {
                        peer.deliver(message);
                    }
                }
                None => break "the connection was closed".to_owned(),
            },
            Some(message) = outgoing.recv() => {
                let method = message.get("method").and_then(Value::as_str);
                let is_last_word = method == Some("notifications/initialized");
                let message = match serde_json::from_value::<ClientJsonRpcMessage>(message) {
                    Ok(message) => message,
                    Err(error) => break format!("a message cannot be written: {error}"),
                };
                let id = match &message {
                    ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
                    _ => None,
                };
                let sent = transport.send(message);
                if is_last_word {
                    // What follows the handshake must not overtake it.
                    let _ = tokio::time::timeout(LAST_WORD, sent).await;
                    continue;
                }
                let (peer, help) = (Arc::clone(&peer), help.clone());
                sending.spawn(async move {
                    if let (Err(error), Some(RequestId::Number(id))) = (sent.await, id) {
                        peer.fail(u64::try_from(id).unwrap_or_default(), failure(&error, &help));
                    }
                });
            }
            Some(_) = sending.join_next() => {}
            failure = peer.over() => break failure.to_string(),
            _ = stopping.recv() => break "it was stopped".to_owned(),
        }
    };
    // A refusal that is still on its way says more than the end of the connection.
    let grace = Duration::from_millis(limits::STOP_MILLISECONDS / 4);
    let all = async { while sending.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(grace, all).await;
    peer.end(Failure::Lost(reason));
    let _ = tokio::time::timeout(grace, Transport::<RoleClient>::close(&mut transport)).await;
}

/// A request that could not be sent, in our words. A missing login is no passing trouble: it is never
/// tried again before somebody logs in.
fn failure(error: &StreamableHttpError<reqwest::Error>, help: &str) -> Failure {
    let is_login = match error {
        StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_) => true,
        StreamableHttpError::HttpStatus(status) => matches!(status.status, 401 | 403),
        StreamableHttpError::Auth(error) => matches!(
            error,
            AuthError::AuthorizationRequired
                | AuthError::TokenRefreshRejected(_)
                | AuthError::TokenExpired
                | AuthError::InsufficientScope { .. }
        ),
        // Without a challenge the status stands in the words alone.
        StreamableHttpError::UnexpectedServerResponse(words) => {
            let status = words.strip_prefix("HTTP ").and_then(|rest| rest.get(..4));
            matches!(status, Some("401 " | "403 "))
        }
        _ => false,
    };
    let words = cut(&hosts_only(&innermost(error)), limits::SERVER_WORDS_BYTES);
    match (is_login, error) {
        // What it says may tell that a login is not what is missing.
        (true, StreamableHttpError::UnexpectedServerResponse(_)) => {
            Failure::NeedsLogin(format!("{help} ({words})"))
        }
        (true, _) => Failure::NeedsLogin(help.to_owned()),
        (false, _) => Failure::Lost(words),
    }
}

/// What the system said, below the layers that repeat each other.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

/// `words` with every address cut to its scheme and host: the rest can hold a key.
fn hosts_only(words: &str) -> String {
    let mut out = String::with_capacity(words.len());
    let mut rest = words;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let ends = |c: char| c.is_whitespace() || matches!(c, ')' | '"' | '\'' | '>');
        let (address, tail) = after.split_at(after.find(ends).unwrap_or(after.len()));
        let authority = address.split(['/', '?', '#']).next().unwrap_or_default();
        out.push_str(authority.rsplit('@').next().unwrap_or_default());
        rest = tail;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::hosts_only;

    #[test]
    fn an_address_in_words_is_cut_to_its_host() {
        for (words, shown) in [
            (
                "error sending request for url (http://u:pw@h:9/mcp?key=K)",
                "error sending request for url (http://h:9)",
            ),
            (
                "see https://a.example/x and https://b.example",
                "see https://a.example and https://b.example",
            ),
            ("no address", "no address"),
            ("://", "://"),
        ] {
            assert_eq!(hosts_only(words), shown);
        }
    }
}
