//! A server with the embeddings API of `OpenAI`: `POST …/v1/embeddings` with `model` and `input`.
//!
//! llama.cpp, Ollama, vLLM, TEI and others speak it as well.

use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

use concertina_format::config::Embeddings;
use futures_util::future::BoxFuture;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Response, Url};
use serde::Deserialize;
use serde_json::json;

use super::{Encoder, EncoderError};
use crate::llm::Patience;
use crate::llm::http::{client, innermost};

/// One answer, in bytes: 64 vectors of 4,096 numbers with 12 digits each take 4 MB.
const ANSWER_BYTES: usize = 32 * 1024 * 1024;
/// The body of a refusal that is read, in bytes.
const REFUSAL_BYTES: usize = 16 * 1024;
/// A server's words that are shown, in characters.
const MESSAGE_CHARS: usize = 200;

/// An encoder behind HTTP. Nothing is sent before the first text is to be encoded.
///
/// ```
/// use concertina_format::config::Embeddings;
/// use concertina_runtime::semantic::{Encoder, Endpoint};
///
/// let settings = Embeddings {
///     url: "http://localhost:8080/v1".into(),
///     model: "small".into(),
///     key_env: None,
///     timeout_ms: 500,
///     batch: 8,
/// };
/// let endpoint = Endpoint::new(&settings, &|_| None)?;
/// assert_eq!(endpoint.identity(), "http://localhost:8080/v1/embeddings small");
/// # Ok::<(), concertina_runtime::semantic::EncoderError>(())
/// ```
pub struct Endpoint {
    /// Host and port.
    name: String,
    url: Url,
    model: String,
    headers: HeaderMap,
    key: Option<String>,
    batch: usize,
    patience: Duration,
    client: OnceLock<Client>,
}

// Neither the key nor the headers that carry it.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The part of an answer that is read.
#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl Endpoint {
    /// The server that `settings` name. `variable` gives the value of an environment variable.
    pub fn new(
        settings: &Embeddings,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, EncoderError> {
        let invalid = |reason: String| EncoderError::AddressInvalid { reason };
        let mut url = Url::parse(settings.url.trim()).map_err(|why| invalid(why.to_string()))?;
        if !url.username().is_empty() || url.password().is_some() {
            let reason = "it holds a user name or password, and the key belongs in the environment";
            return Err(invalid(reason.to_owned()));
        }
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(invalid(
                "it does not begin with http:// or https:// and a host".to_owned(),
            ));
        }
        let base = url.path().trim_end_matches('/');
        let version = if base.ends_with("/v1") { "" } else { "/v1" };
        let path = format!("{base}{version}/embeddings");
        url.set_path(&path);
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let mut key = None;
        if let Some(name) = &settings.key_env {
            let value = variable(name).map(|value| value.trim().to_owned());
            let value = value.filter(|value| !value.is_empty());
            let value = value.ok_or_else(|| EncoderError::KeyMissing { variable: name.clone() })?;
            let mut header = HeaderValue::from_str(&format!("Bearer {value}"))
                .map_err(|_| EncoderError::KeyInvalid { variable: name.clone() })?;
            header.set_sensitive(true);
            headers.insert(AUTHORIZATION, header);
            key = Some(value);
        }
        let host = url.host_str().unwrap_or_default();
        let name = format!("{host}:{}", url.port_or_known_default().unwrap_or_default());
        Ok(Self {
            name,
            url,
            model: settings.model.clone(),
            headers,
            key,
            batch: usize::try_from(settings.batch).unwrap_or(usize::MAX).max(1),
            patience: Duration::from_millis(settings.timeout_ms),
            client: OnceLock::new(),
        })
    }

    /// Made when first needed: reading the system's certificates takes some milliseconds.
    fn client(&self) -> Result<&Client, EncoderError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // The whole is limited by whoever asks.
        let made = client(&self.url, &Patience::default()).map_err(|why| self.unreachable(&why))?;
        Ok(self.client.get_or_init(|| made))
    }

    async fn ask(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EncoderError> {
        let body = json!({"model": self.model, "input": texts, "encoding_format": "float"});
        let request = self.client()?.post(self.url.clone()).headers(self.headers.clone());
        let sent = request.body(body.to_string()).send().await;
        let mut response = sent.map_err(|why| self.unreachable(&why))?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|why| self.unreachable(&why))? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > ANSWER_BYTES {
                return Err(self.bad(format!("the answer is longer than {ANSWER_BYTES} bytes")));
            }
        }
        let answer: Answer = serde_json::from_slice(&bytes)
            .map_err(|why| self.bad(format!("the answer is not as it should be ({why})")))?;
        self.in_order(answer.data, texts.len())
    }

    /// The vectors in the order of the texts: an answer may give them in another one.
    fn in_order(&self, items: Vec<Item>, texts: usize) -> Result<Vec<Vec<f32>>, EncoderError> {
        let mut numbered: Vec<(usize, Vec<f32>)> = items
            .into_iter()
            .enumerate()
            .map(|(at, item)| (item.index.unwrap_or(at), item.embedding))
            .collect();
        numbered.sort_by_key(|(index, _)| *index);
        if !numbered.iter().map(|(index, _)| *index).eq(0..texts) {
            let given: Vec<usize> = numbered.iter().map(|(index, _)| *index).take(8).collect();
            let reason = format!("it numbers the vectors of {texts} texts {given:?}");
            return Err(self.bad(reason));
        }
        Ok(numbered.into_iter().map(|(_, vector)| vector).collect())
    }

    /// An answer with a status that is not a success.
    async fn refusal(&self, mut response: Response) -> EncoderError {
        let status = response.status().as_u16();
        let mut body = Vec::new();
        // A body that breaks off still says something, and the status says the rest.
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() > REFUSAL_BYTES {
                break;
            }
        }
        let json: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
        let message = ["/error/message", "/error", "/message", "/detail"]
            .iter()
            .find_map(|path| json.pointer(path)?.as_str().map(str::to_owned))
            .unwrap_or_else(|| String::from_utf8_lossy(&body).into_owned());
        let message = match self.clean(&message) {
            empty if empty.is_empty() => "no reason was given".to_owned(),
            message => message,
        };
        EncoderError::Refused { endpoint: self.name.clone(), status, message }
    }

    fn unreachable(&self, error: &reqwest::Error) -> EncoderError {
        let (endpoint, reason) = (self.name.clone(), self.clean(&innermost(error)));
        EncoderError::Unreachable { endpoint, reason }
    }

    fn bad(&self, reason: String) -> EncoderError {
        EncoderError::BadReply { encoder: self.name.clone(), reason }
    }

    /// A text from outside, fit to be shown: on one line, bounded, without the key.
    fn clean(&self, text: &str) -> String {
        let text = match &self.key {
            Some(key) => text.replace(key.as_str(), "[key]"),
            None => text.to_owned(),
        };
        let one_line = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c });
        one_line.take(MESSAGE_CHARS).collect()
    }
}

impl Encoder for Endpoint {
    fn identity(&self) -> String {
        format!("{} {}", self.url, self.model)
    }

    fn batch(&self) -> usize {
        self.batch
    }

    fn patience(&self) -> Duration {
        self.patience
    }

    fn encode<'a>(
        &'a self,
        texts: &'a [String],
        within: Duration,
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EncoderError>> {
        Box::pin(async move {
            tokio::time::timeout(within, self.ask(texts)).await.unwrap_or_else(|_| {
                Err(EncoderError::TimedOut { encoder: self.name.clone(), waited: within })
            })
        })
    }
}
