//! One connection: which session a request belongs to, and what each method of the protocol does.

use std::sync::{Arc, Mutex};

use concertina_core::policy::OWNER;
use concertina_core::session::Refusal;
use concertina_runtime::RuntimeError;
use concertina_types::SessionId;
#[expect(deprecated, reason = "clients in use still set a level for log lines")]
use rmcp::model::SetLevelRequestParams;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, DiscoverResult, Implementation,
    InitializeRequestParams, InitializeResult, ListToolsResult, PaginatedRequestParams,
    ProtocolVersion, RequestMetaObject, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use tokio::sync::OnceCell;

use super::desk::Desk;
use super::gateway::{Exposure, Gateway};
use super::instructions::instructions;
use super::notes::Lead;
use super::{Principal, lock, tools};

/// How long a client may keep the four tools, in milliseconds: they never change.
const CONSTANT_MS: u64 = 24 * 60 * 60 * 1_000;
/// How long a client may keep what depends on the catalogue, in milliseconds.
const CATALOGUE_MS: u64 = 5_000;

/// One connection, or one request where the protocol knows no connections.
#[derive(Debug)]
pub struct Handler {
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
}

/// Whom a request comes from and what it says about itself.
pub(super) struct Request<'a> {
    pub(super) principal: String,
    pub(super) meta: &'a RequestMetaObject,
    /// Whether every request stands for itself: nothing outlives it but what has a handle.
    pub(super) is_alone: bool,
    /// Whether it came over the network.
    is_remote: bool,
}

impl Handler {
    /// A connection of `principal`; of the owner where none is given. Over HTTP the principal that
    /// the listener put into a request's extensions goes first.
    pub fn new(gateway: Arc<Gateway>, principal: Option<String>) -> Self {
        Self {
            gateway,
            principal: principal.unwrap_or_else(|| OWNER.to_owned()),
            given: None,
            own: OnceCell::new(),
            told: Mutex::new(None),
            level: Mutex::new(None),
            first_thread: Mutex::new(None),
        }
    }

    /// The same, in the session `id`.
    #[must_use]
    pub fn in_session(mut self, id: Option<SessionId>) -> Self {
        self.given = id;
        self
    }

    pub(super) fn request<'a>(&self, context: &'a RequestContext<RoleServer>) -> Request<'a> {
        let parts = context.extensions.get::<http::request::Parts>();
        let principal = parts.and_then(|parts| parts.extensions.get::<Principal>());
        let is_modern = context.protocol_version().is_some_and(|version| is_modern(&version));
        Request {
            principal: principal.map_or_else(|| self.principal.clone(), |found| found.0.clone()),
            meta: &context.meta,
            is_alone: parts.is_some() && is_modern,
            is_remote: parts.is_some(),
        }
    }

    /// The session that a request belongs to. What the client has to know of it goes to `lead`.
    pub(super) async fn desk(
        &self,
        request: &Request<'_>,
        named: Option<&str>,
        lead: &mut Lead,
    ) -> Result<Result<Arc<Desk>, Refusal>, RuntimeError> {
        let said = |key: &str| request.meta.get(key).and_then(Value::as_str);
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
        let thread = said("threadId").or_else(|| said("sessionId"));
        if let Some(thread) = thread.filter(|_| !request.is_remote)
            && !self.is_first_thread(thread)
        {
            let thread = thread.to_owned();
            return self.apart(move |gateway| gateway.of_thread(&principal, &thread)).await;
        }
        let given = self.given.clone();
        let begin = || async {
            let principal = principal.clone();
            let desk = self
                .apart(move |gateway| match given {
                    Some(id) => gateway.take_up(&principal, &id),
                    None => gateway.begin(&principal, None).map(Ok),
                })
                .await
                .map_err(Failure::Broken)?;
            desk.map_err(Failure::Refused)
        };
        match self.own.get_or_try_init(begin).await {
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

    /// The words for a client that connects.
    async fn words(&self, principal: String) -> Result<String, ErrorData> {
        self.gateway.look().await;
        let glance = self.apart(move |gateway| gateway.glance(&principal)).await;
        let glance = glance.map_err(|error| broken(&error))?;
        *lock(&self.told) = Some(glance.root.clone());
        Ok(instructions(&glance.root))
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
pub(super) fn is_modern(version: &ProtocolVersion) -> bool {
    version.as_str() >= ProtocolVersion::V_2026_07_28.as_str()
}

/// A fault of ours, as the protocol has it.
pub(super) fn broken(error: &RuntimeError) -> ErrorData {
    ErrorData::internal_error(format!("{}: {error}", error.code()), None)
}

#[expect(deprecated, reason = "clients in use still set a level for log lines")]
impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_logging().enable_tools();
        let capabilities = match self.gateway.exposure() {
            Exposure::Four => capabilities.build(),
            Exposure::Listed => capabilities.enable_tool_list_changed().build(),
        };
        let about = Implementation::new("concertina", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities).with_server_info(about)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let words = self.words(self.request(&context).principal).await?;
        Ok(self.negotiate_initialize(&request)?.with_instructions(words))
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let words = self.words(self.request(&context).principal).await?;
        let info = self.get_info().with_instructions(words);
        let versions = self.supported_protocol_versions().into_owned();
        let mut result = DiscoverResult::from_server_info(versions, info);
        result.ttl_ms = CATALOGUE_MS;
        result.cache_scope = CacheScope::Private;
        Ok(result)
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        *lock(&self.level) = Some(request.level as usize);
        Ok(())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        no_cursor(request)?;
        let mut list = tools::four().to_vec();
        if self.gateway.exposure() == Exposure::Four {
            return Ok(ListToolsResult::with_all_items(list)
                .with_ttl_ms(CONSTANT_MS)
                .with_cache_scope(CacheScope::Public));
        }
        list.extend(self.visible(&self.request(&context)).await?);
        Ok(ListToolsResult::with_all_items(list)
            .with_ttl_ms(CATALOGUE_MS)
            .with_cache_scope(CacheScope::Private))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.call(request, context).await
    }
}

/// Our lists of tools have one page, so a cursor is somebody else's.
fn no_cursor(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor) {
        None => Ok(()),
        Some(_) => {
            Err(ErrorData::invalid_params("there is no such page; ask without a cursor", None))
        }
    }
}
