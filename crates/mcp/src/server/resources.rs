//! Resources: the files of skills.

use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ResourceTemplate,
};

use super::connection::{Connection, Request};
use super::page::page;

impl Connection {
    /// One page of all resources.
    pub(super) async fn resources(
        &self,
        page_of: Option<PaginatedRequestParams>,
        request: &Request,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.gateway.look().await;
        let all = self.skill_resources(request.principal.clone()).await?;
        let (resources, next) = page(all, |resource| &resource.uri, page_of)?;
        let mut result = ListResourcesResult::with_all_items(resources);
        result.next_cursor = next;
        result.cache_scope = Some(CacheScope::Private);
        Ok(result)
    }

    /// One page of all shapes of addresses.
    #[expect(clippy::unused_async, reason = "asks the servers behind")]
    pub(super) async fn templates(
        &self,
        page_of: Option<PaginatedRequestParams>,
        _: &Request,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let files = ResourceTemplate::new("skill://{name}/{+file}", "a file of a skill");
        let (templates, next) = page(vec![files], |template| &template.uri_template, page_of)?;
        let mut result = ListResourceTemplatesResult::with_all_items(templates);
        result.next_cursor = next;
        Ok(result)
    }

    /// What an address holds.
    pub(super) async fn read(
        &self,
        wanted: ReadResourceRequestParams,
        request: &Request,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.gateway.look().await;
        if let Some(contents) = self.read_skill(&wanted.uri, request).await? {
            let mut result = ReadResourceResult::new(vec![contents]);
            result.cache_scope = Some(CacheScope::Private);
            return Ok(result.into());
        }
        let text = format!(
            "nothing here has the address {}; resources/list shows what has one",
            wanted.uri
        );
        Err(ErrorData::resource_not_found(text, None))
    }
}
