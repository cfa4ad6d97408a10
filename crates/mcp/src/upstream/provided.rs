//! What servers provide besides tools: prompts, resources and completions, passed on as they are.

use std::sync::Arc;

use concertina_runtime::upstream::{Caller, JsonText};
use serde_json::{Map, Value};

use super::calls::rounds;
use super::failure::Failure;
use super::known::Known;
use super::{Pool, server::Upstream};

/// A definition, and whose it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Provided {
    /// The server, as it is called in the settings.
    pub server: String,
    /// The definition as the server wrote it.
    pub definition: Value,
}

/// What can be asked of a server besides calling its tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// `prompts/get`
    Prompt,
    /// `resources/read`
    Resource,
    /// `completion/complete`
    Completion,
}

impl Ask {
    pub(crate) fn method(self) -> &'static str {
        match self {
            Self::Prompt => "prompts/get",
            Self::Resource => "resources/read",
            Self::Completion => "completion/complete",
        }
    }
}

impl Pool {
    /// The prompts of all servers, sorted by server and name.
    pub fn prompts(&self) -> Vec<Provided> {
        self.provided(|known| &known.prompts)
    }

    /// The resources of all servers, sorted by server and address.
    pub fn resources(&self) -> Vec<Provided> {
        self.provided(|known| &known.resources)
    }

    /// The templates of resources of all servers.
    pub fn templates(&self) -> Vec<Provided> {
        self.provided(|known| &known.templates)
    }

    fn provided(&self, of: impl Fn(&Known) -> &Vec<JsonText>) -> Vec<Provided> {
        let mut all = Vec::new();
        for (name, upstream) in &self.servers {
            let Some(known) = upstream.known() else { continue };
            all.extend(of(&known).iter().map(|definition| Provided {
                server: name.clone(),
                definition: definition.value(),
            }));
        }
        all
    }

    /// What a server says of how to use it, where it says something.
    pub fn instructions(&self, server: &str) -> Option<String> {
        self.servers.get(server)?.known()?.hello.instructions.clone()
    }

    /// What was left out of a server's lists, and why.
    pub fn left_out(&self, server: &str) -> Vec<super::LeftOut> {
        let known = self.servers.get(server).and_then(|upstream| upstream.known());
        known.map(|known| known.left_out.clone()).unwrap_or_default()
    }

    /// Asks `server`, with the parameters as its protocol has them, and returns its result. The
    /// server is started where it does not run. Dropping the future cancels the request.
    pub async fn ask(
        &self,
        server: &str,
        what: Ask,
        params: Map<String, Value>,
        caller: Arc<dyn Caller>,
    ) -> Result<Value, Failure> {
        let upstream = self.server(server)?;
        ask(&upstream, what.method(), params, caller).await
    }

    pub(super) fn server(&self, name: &str) -> Result<Arc<Upstream>, Failure> {
        let known = self.servers.get(name).cloned();
        known.ok_or_else(|| Failure::Unknown(format!("there is no server `{name}`")))
    }
}

pub(super) async fn ask(
    upstream: &Arc<Upstream>,
    method: &str,
    params: Map<String, Value>,
    caller: Arc<dyn Caller>,
) -> Result<Value, Failure> {
    let connection = upstream.connect().await?;
    rounds(upstream, &connection.peer, method, params, &caller).await
}
