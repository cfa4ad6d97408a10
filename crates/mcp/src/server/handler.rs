//! What each method of the protocol does.

use std::sync::Arc;

use concertina_core::policy::OWNER;
use concertina_types::SessionId;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
    DiscoverResult, GetPromptRequestParams, GetPromptResponse, GetSkillRequestParams,
    GetSkillResult, Implementation, InitializeRequestParams, InitializeResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceDirectoryRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, SubscriptionFilter,
};
#[expect(deprecated, reason = "clients in use still set a level for log lines, and subscribe")]
use rmcp::model::{SetLevelRequestParams, SubscribeRequestParams, UnsubscribeRequestParams};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::changes::subscriptions;
use super::connection::Connection;
use super::gateway::{Exposure, Gateway};
use super::tools;
use crate::lock;

/// How long a client may keep the four tools, in milliseconds: they never change.
const CONSTANT_MS: u64 = 24 * 60 * 60 * 1_000;
/// How long a client may keep what depends on the catalogue, in milliseconds.
const CATALOGUE_MS: u64 = 5_000;

/// One connection, or one request where the protocol knows no connections.
#[derive(Debug, Clone)]
pub struct Handler(Arc<Connection>);

impl Handler {
    /// A connection of `principal`; of the owner where none is given. Over HTTP the principal that
    /// the listener put into a request's extensions goes first.
    pub fn new(gateway: Arc<Gateway>, principal: Option<String>) -> Self {
        Self::in_session(gateway, principal, None)
    }

    /// The same, in the session `id`.
    pub fn in_session(
        gateway: Arc<Gateway>,
        principal: Option<String>,
        id: Option<SessionId>,
    ) -> Self {
        let principal = principal.unwrap_or_else(|| OWNER.to_owned());
        Self(Arc::new(Connection::new(gateway, principal, id)))
    }
}

#[expect(deprecated, reason = "clients in use still set a level for log lines, and subscribe")]
impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_logging()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_skills_with_directory_read()
            .enable_tools();
        let capabilities = if self.0.gateway.tells_of_resources() {
            capabilities.enable_resources_subscribe()
        } else {
            capabilities
        };
        let capabilities = match self.0.gateway.exposure() {
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
        let words = self.0.words(&self.0.request(&context)).await?;
        Ok(self.negotiate_initialize(&request)?.with_instructions(words))
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let words = self.0.words(&self.0.request(&context)).await?;
        let info = self.get_info().with_instructions(words);
        let versions = self.supported_protocol_versions().into_owned();
        let mut result = DiscoverResult::from_server_info(versions, info);
        result.ttl_ms = CATALOGUE_MS;
        result.cache_scope = CacheScope::Private;
        Ok(result)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.0.watch(self.0.listener(&context.extensions), context.peer);
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(subscriptions(&self.0.gateway, requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let request = self.0.request(context.request_context());
        self.0.listen(&request, context).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.0.subscribe(request.uri, &self.0.request(&context), context.peer).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.0.unsubscribe(&request.uri)
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        *lock(&self.0.level) = Some(request.level as usize);
        Ok(())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        no_cursor(request)?;
        let request = self.0.request(&context);
        let mut list = tools::four().to_vec();
        let (time, scope) = match self.0.gateway.exposure() {
            Exposure::Four => (CONSTANT_MS, CacheScope::Public),
            Exposure::Listed => {
                let visible = self.0.visible(&request).await?;
                self.0.has_listed(&visible);
                list.extend(visible);
                (CATALOGUE_MS, CacheScope::Private)
            }
        };
        let result = ListToolsResult::with_all_items(list);
        Ok(if request.is_modern {
            result.with_ttl_ms(time).with_cache_scope(scope)
        } else {
            result
        })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.0.call(request, context).await
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.0.prompts(request, &self.0.request(&context)).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.0.prompt(request, &self.0.request(&context)).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.0.resources(request, &self.0.request(&context)).await
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.0.templates(request, &self.0.request(&context)).await
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.0.read(request, &self.0.request(&context)).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.0.complete(request, &self.0.request(&context)).await
    }

    async fn list_skills(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        self.0.skills(request, &self.0.request(&context)).await
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        self.0.skill(request, &self.0.request(&context)).await
    }

    async fn read_resource_directory(
        &self,
        request: ReadResourceDirectoryRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.0.directory(request, &self.0.request(&context)).await
    }
}

/// The list of tools has one page, so a cursor is somebody else's.
fn no_cursor(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor) {
        None => Ok(()),
        Some(_) => {
            Err(ErrorData::invalid_params("there is no such page; ask without a cursor", None))
        }
    }
}
