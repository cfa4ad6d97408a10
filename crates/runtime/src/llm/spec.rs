//! Which model, and where: what `--model` and `--base-url` say.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use concertina_types::env;
use reqwest::Url;

use super::anthropic::Anthropic;
use super::http::{HttpModel, Patience, Wire};
use super::openai::OpenAi;
use super::script::Script;
use super::{Model, ModelError};

/// Where a provider is, and the variables that say otherwise.
struct Provider {
    /// The variable that names another endpoint.
    endpoint: &'static str,
    /// The provider's own endpoint.
    public: &'static str,
    /// The variable that holds the key.
    key: &'static str,
}

const OPENAI: Provider = Provider {
    endpoint: env::OPENAI_BASE_URL,
    public: "https://api.openai.com/v1",
    key: env::OPENAI_API_KEY,
};

const ANTHROPIC: Provider = Provider {
    endpoint: env::ANTHROPIC_BASE_URL,
    public: "https://api.anthropic.com",
    key: env::ANTHROPIC_API_KEY,
};

/// A model as written: `scripted:FILE`, `openai:NAME` or `anthropic:NAME`.
///
/// ```
/// use concertina_runtime::llm::ModelSpec;
///
/// let spec: ModelSpec = "anthropic:claude-sonnet-4-5".parse()?;
/// assert_eq!(spec.to_string(), "anthropic:claude-sonnet-4-5");
/// assert_eq!("gpt-5".parse::<ModelSpec>().unwrap_err().code(), "MODEL_UNKNOWN");
/// # Ok::<(), concertina_runtime::llm::ModelError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSpec {
    source: Source,
    base_url: Option<String>,
    patience: Patience,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    Scripted(PathBuf),
    OpenAi(String),
    Anthropic(String),
}

const PREFIXES: [&str; 3] = ["scripted", "openai", "anthropic"];

impl FromStr for ModelSpec {
    type Err = ModelError;

    fn from_str(spec: &str) -> Result<Self, ModelError> {
        let unknown = |reason: String| ModelError::Unknown { spec: spec.to_owned(), reason };
        let Some((prefix, name)) = spec.split_once(':') else {
            return Err(unknown("it has no prefix".to_owned()));
        };
        let source = match prefix {
            "scripted" => Source::Scripted(PathBuf::from(name)),
            "openai" => Source::OpenAi(name.to_owned()),
            "anthropic" => Source::Anthropic(name.to_owned()),
            _ => {
                let meant = super::script::nearest(prefix, &PREFIXES)
                    .map_or_else(String::new, |near| format!(", perhaps `{near}` was meant"));
                return Err(unknown(format!("the prefix `{prefix}` is not known{meant}")));
            }
        };
        if name.trim().is_empty() {
            return Err(unknown("nothing follows the colon".to_owned()));
        }
        Ok(Self { source, base_url: None, patience: Patience::default() })
    }
}

impl fmt::Display for ModelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Source::Scripted(path) => write!(f, "scripted:{}", path.display()),
            Source::OpenAi(name) => write!(f, "openai:{name}"),
            Source::Anthropic(name) => write!(f, "anthropic:{name}"),
        }
    }
}

impl ModelSpec {
    /// The same model at another endpoint. A server that is named needs no key.
    #[must_use]
    pub fn at(mut self, base_url: impl Into<String>) -> Self {
        self.base_url = Some(base_url.into());
        self
    }

    /// The same model, waited for differently.
    #[must_use]
    pub fn waiting(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// Readies the model: reads the script, or checks endpoint and key. Nothing is sent yet.
    /// `env` gives the value of an environment variable.
    pub fn connect(
        &self,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Box<dyn Model>, ModelError> {
        match &self.source {
            Source::Scripted(path) => Ok(Box::new(Script::read(path)?)),
            Source::OpenAi(name) => self.over_http(env, &OPENAI, OpenAi::new(name)),
            Source::Anthropic(name) => self.over_http(env, &ANTHROPIC, Anthropic::new(name)),
        }
    }

    /// A model behind an endpoint: the one that was named, else the provider's own, which wants a key.
    fn over_http<W: Wire + 'static>(
        &self,
        env: &dyn Fn(&str) -> Option<String>,
        provider: &Provider,
        wire: W,
    ) -> Result<Box<dyn Model>, ModelError> {
        let set = |variable| {
            env(variable).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
        };
        let named = self.base_url.clone().or_else(|| set(provider.endpoint));
        let key = set(provider.key);
        if named.is_none() && key.is_none() {
            return Err(ModelError::KeyMissing { model: self.to_string(), variable: provider.key });
        }
        let base = base_url(named.as_deref().unwrap_or(provider.public))?;
        let name = self.to_string();
        Ok(Box::new(HttpModel::new(name, &base, key, provider.key, self.patience, wire)?))
    }
}

fn base_url(text: &str) -> Result<Url, ModelError> {
    let invalid = |shown: &str, reason: &str| ModelError::BaseUrlInvalid {
        url: shown.to_owned(),
        reason: reason.to_owned(),
    };
    // What is not a URL is not shown whole: it may be a key in the wrong place.
    let url = Url::parse(text.trim())
        .map_err(|e| invalid(&text.chars().take(12).collect::<String>(), &e.to_string()))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid(
            url.host_str().unwrap_or_default(),
            "it holds a user name or password, and the key belongs in the environment",
        ));
    }
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(invalid(url.as_str(), "it must begin with http:// or https:// and a host"));
    }
    Ok(url)
}
