//! One connection: on whose behalf a request comes, and which session it belongs to.

use std::sync::{Arc, Mutex};

use concertina_core::session::Refusal;
use concertina_runtime::RuntimeError;
use concertina_types::SessionId;
use rmcp::model::{Extensions, ProtocolVersion, RequestMetaObject};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use tokio::sync::OnceCell;

use super::Principal;
use super::changes::Marks;
use super::desk::Desk;
use super::gateway::{Gateway, Glance};
use super::instructions::instructions;
use super::notes::{self, Lead};
use super::subscriptions::Tellings;
use crate::lock;

/// How a request that has no argument for it names its session, in `_meta`.
const SESSION_KEY: &str = "concertina/session";

/// What requests of one connection share.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) gateway: Arc<Gateway>,
    principal: String,
    /// The session that was named from outside.
    given: Option<SessionId>,
    /// The session of requests that name none.
    own: OnceCell<Arc<Desk>>,
    /// What the client was told of the index when it connected.
    told: Mutex<Option<String>>,
    /// From which level on the client wants to see log lines.
    pub(super) level: Mutex<Option<usize>>,
    /// The thread that the session from outside went to.
    first_thread: Mutex<Option<String>>,
    /// Our lists as they were last looked at.
    pub(super) marks: Mutex<Marks>,
    /// The resources that the client is told of.
    pub(super) tellings: Mutex<Tellings>,
}

/// Whom a request comes from and what it says about itself.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) principal: String,
    pub(super) meta: RequestMetaObject,
    /// Whether the protocol knows no handshake: each request says all that it needs.
    pub(super) is_modern: bool,
    /// Whether it stands for itself: nothing outlives it but what has a handle.
    pub(super) is_alone: bool,
    /// Whether it came over the network.
    is_remote: bool,
}

impl Request {
    /// What `_meta` says under `key`.
    pub(super) fn said(&self, key: &str) -> Option<&str> {
        self.meta.get(key).and_then(Value::as_str)
    }

    /// The session that it names where it has no argument for that.
    pub(super) fn session(&self) -> Option<&str> {
        self.said(SESSION_KEY)
    }
}

impl Connection {
    pub(super) fn new(gateway: Arc<Gateway>, principal: String, given: Option<SessionId>) -> Self {
        Self {
            gateway,
            principal,
            given,
            own: OnceCell::new(),
            told: Mutex::new(None),
            level: Mutex::new(None),
            first_thread: Mutex::new(None),
            marks: Mutex::default(),
            tellings: Mutex::default(),
        }
    }

    pub(super) fn request(&self, context: &RequestContext<RoleServer>) -> Request {
        let asked = self.listener(&context.extensions);
        let is_modern = context.protocol_version().is_some_and(|version| is_modern(&version));
        let is_alone = asked.is_remote && is_modern;
        Request { meta: context.meta.clone(), is_modern, is_alone, ..asked }
    }

    /// Whoever is told of changes on this connection.
    pub(super) fn listener(&self, extensions: &Extensions) -> Request {
        let parts = extensions.get::<http::request::Parts>();
        let principal = parts.and_then(|parts| parts.extensions.get::<Principal>());
        Request {
            principal: principal.map_or_else(|| self.principal.clone(), |found| found.0.clone()),
            meta: RequestMetaObject::default(),
            is_modern: false,
            is_alone: false,
            is_remote: parts.is_some(),
        }
    }

    /// The session that a request belongs to. What the client has to know of it goes to `lead`.
    pub(super) async fn desk(
        &self,
        request: &Request,
        named: Option<&str>,
        lead: &mut Lead,
    ) -> Result<Result<Arc<Desk>, Refusal>, RuntimeError> {
        let principal = request.principal.clone();
        if let Some(named) = named.filter(|named| !named.is_empty()) {
            let Ok(id) = SessionId::new(named) else {
                let text =
                    "there is no such session for you; leave `session` out to go on without it";
                return Ok(Err(Refusal::new("SESSION_UNKNOWN", text)));
            };
            return self.apart(move |gateway| gateway.take_up(&principal, &id)).await;
        }
        if request.is_alone {
            let begun = self.apart(move |gateway| gateway.begin(&principal, None)).await?;
            lead.say(format!("session: {} (give it as `session` from now on)", begun.id));
            return Ok(Ok(begun));
        }
        let thread = request.said("threadId").or_else(|| request.said("sessionId"));
        if let Some(thread) = thread.filter(|_| !request.is_remote)
            && !self.is_first_thread(thread)
        {
            let thread = thread.to_owned();
            return self.apart(move |gateway| gateway.of_thread(&principal, &thread)).await;
        }
        match self.own.get_or_try_init(|| self.own_desk(principal.clone())).await {
            // A connection belongs to whoever began it.
            Ok(desk) if desk.principal != principal => {
                let text = "this connection belongs to somebody else; connect anew";
                Ok(Err(Refusal::new("SESSION_UNKNOWN", text)))
            }
            Ok(desk) => Ok(Ok(Arc::clone(desk))),
            Err(Failure::Refused(refusal)) => Ok(Err(refusal)),
            Err(Failure::Broken(error)) => Err(error),
        }
    }

    /// The same for a request whose result has no place for words.
    pub(super) async fn plain_desk(&self, request: &Request) -> Result<Arc<Desk>, ErrorData> {
        let desk = self.desk(request, request.session(), &mut Lead::default()).await;
        desk.map_err(|error| broken(&error))?
            .map_err(|refusal| ErrorData::invalid_params(refusal.to_string(), None))
    }

    /// The session of this connection, where there is one yet.
    pub(super) fn present_desk(&self) -> Option<Arc<Desk>> {
        self.own.get().cloned()
    }

    async fn own_desk(&self, principal: String) -> Result<Arc<Desk>, Failure> {
        let given = self.given.clone();
        let desk = self.apart(move |gateway| match given {
            Some(id) => gateway.take_up(&principal, &id),
            None => gateway.begin(&principal, None).map(Ok),
        });
        desk.await.map_err(Failure::Broken)?.map_err(Failure::Refused)
    }

    /// Whether the session that was named from outside is the one of `thread`: it goes to the first
    /// thread that asks.
    fn is_first_thread(&self, thread: &str) -> bool {
        if self.given.is_none() {
            return false;
        }
        let mut first = lock(&self.first_thread);
        first.get_or_insert_with(|| thread.to_owned()) == thread
    }

    /// Does something that takes its time away from the threads that serve others.
    pub(super) async fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Gateway) -> Result<T, RuntimeError> + Send + 'static,
    ) -> Result<T, RuntimeError> {
        let gateway = Arc::clone(&self.gateway);
        let done = tokio::task::spawn_blocking(move || work(&gateway)).await;
        done.map_err(|error| RuntimeError::Internal(format!("a request broke off: {error}")))?
    }

    /// The same with what the one who asks sees of the catalogue.
    pub(super) async fn glance<T: Send + 'static>(
        &self,
        request: &Request,
        work: impl FnOnce(&Gateway, &Glance) -> Result<T, ErrorData> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let principal = request.principal.clone();
        let done = self.apart(move |gateway| {
            let glance = gateway.glance(&principal)?;
            Ok(work(gateway, &glance))
        });
        done.await.map_err(|error| broken(&error))?
    }

    /// The words for a client that connects.
    pub(super) async fn words(&self, request: &Request) -> Result<String, ErrorData> {
        self.gateway.look().await;
        let root = self.glance(request, |_, glance| Ok(glance.root.clone())).await?;
        let offer = self.gateway.offer();
        let missing = offer.map(|offer| notes::missing_names(&offer)).unwrap_or_default();
        let words = instructions(&root, &missing);
        *lock(&self.told) = Some(root);
        Ok(words)
    }

    /// Whether the client was told `root` when it connected.
    pub(super) fn was_told(&self, root: &str) -> bool {
        lock(&self.told).as_deref() == Some(root)
    }
}

enum Failure {
    Refused(Refusal),
    Broken(RuntimeError),
}

/// Whether each request carries what it needs: no handshake, no connection.
fn is_modern(version: &ProtocolVersion) -> bool {
    version.as_str() >= ProtocolVersion::V_2026_07_28.as_str()
}

/// A fault of ours, as the protocol has it.
pub(super) fn broken(error: &RuntimeError) -> ErrorData {
    ErrorData::internal_error(format!("{}: {error}", error.code()), None)
}
