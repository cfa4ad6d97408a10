//! Resources: the files of skills, and what servers bring.

use std::borrow::Cow;
use std::sync::Arc;

use concertina_runtime::upstream::Nobody;
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, CompleteRequestParams, CompleteResult, ErrorCode, ListResourceTemplatesResult,
    ListResourcesResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, Reference, ResourceTemplate, ResultType,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::connection::{Connection, Request, broken};
use super::page::{left_out, page};
use super::skills;
use crate::upstream::{Ask, Failure};

/// The name under which a policy speaks of what a server serves besides tools and prompts.
pub(super) const RESOURCES: &str = "resources";

impl Connection {
    /// One page of all resources.
    pub(super) async fn resources(
        &self,
        page_of: Option<PaginatedRequestParams>,
        request: &Request,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.gateway.settle().await;
        self.gateway.look().await;
        self.glance(request, move |gateway, glance| {
            let brought = gateway.brought();
            let others = brought.resources.iter();
            let others = others.filter(|resource| glance.allows(&resource.server, RESOURCES));
            let mut all = skills::listed(glance);
            all.extend(others.map(|resource| resource.it.clone()));
            let (resources, next) = page(all, |resource| &resource.uri, page_of)?;
            let mut result = ListResourcesResult::with_all_items(resources);
            result.next_cursor = next;
            result.cache_scope = Some(CacheScope::Private);
            let doubled = &brought.doubled;
            result.meta = (!doubled.is_empty()).then(|| left_out(doubled));
            Ok(result)
        })
        .await
    }

    /// One page of all shapes of addresses.
    pub(super) async fn templates(
        &self,
        page_of: Option<PaginatedRequestParams>,
        request: &Request,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.gateway.settle().await;
        self.glance(request, move |gateway, glance| {
            let brought = gateway.brought();
            let others = brought.templates.iter();
            let others = others.filter(|template| glance.allows(&template.server, RESOURCES));
            let mut all =
                vec![ResourceTemplate::new("skill://{name}/{+file}", "a file of a skill")];
            all.extend(others.map(|template| template.it.clone()));
            let (templates, next) = page(all, |template| &template.uri_template, page_of)?;
            let mut result = ListResourceTemplatesResult::with_all_items(templates);
            result.next_cursor = next;
            result.cache_scope = Some(CacheScope::Private);
            Ok(result)
        })
        .await
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
        let Some(server) = self.gateway.server_of(&wanted.uri) else {
            let text = format!(
                "nothing here has the address {}; resources/list shows what has one",
                wanted.uri
            );
            return Err(not_found(text, &wanted.uri));
        };
        let mut params = Map::new();
        params.insert("uri".to_owned(), wanted.uri.as_str().into());
        let result = self.ask(&server, RESOURCES, Ask::Resource, params, request).await;
        let result = result.map_err(|error| match error.code {
            // Whoever is told that it is not there is told what.
            ErrorCode::INVALID_PARAMS | ErrorCode::RESOURCE_NOT_FOUND => {
                not_found(error.message, &wanted.uri)
            }
            _ => error,
        })?;
        let mut result: ReadResourceResult = understood(result)?;
        // A server of an older revision says neither.
        result.result_type = Some(ResultType::COMPLETE);
        result.ttl_ms = Some(result.ttl_ms.unwrap_or_default());
        // Whoever reads it may be somebody else than the server thinks.
        result.cache_scope = Some(CacheScope::Private);
        Ok(result.into())
    }

    /// Values for an argument of a prompt or of a shape, from the server that brings it.
    pub(super) async fn complete(
        &self,
        wanted: CompleteRequestParams,
        request: &Request,
    ) -> Result<CompleteResult, ErrorData> {
        let brought = self.gateway.brought();
        let (server, name, of) = match &wanted.r#ref {
            Reference::Prompt(prompt) => {
                let Some(known) = brought.prompt(&prompt.name) else {
                    return Ok(CompleteResult::default());
                };
                let plain = known.plain().to_owned();
                (known.server.clone(), plain.clone(), json!({"type": "ref/prompt", "name": plain}))
            }
            Reference::Resource(resource) => {
                let Some(server) = self.gateway.server_of(&resource.uri) else {
                    return Ok(CompleteResult::default());
                };
                let of = json!({"type": "ref/resource", "uri": resource.uri});
                (server, RESOURCES.to_owned(), of)
            }
            _ => return Ok(CompleteResult::default()),
        };
        let mut params = Map::new();
        params.insert("ref".to_owned(), of);
        params.insert("argument".to_owned(), json!(wanted.argument));
        if let Some(context) = &wanted.context {
            params.insert("context".to_owned(), json!(context));
        }
        let result = self.ask(&server, &name, Ask::Completion, params, request).await?;
        let mut result: CompleteResult = understood(result)?;
        result.result_type = Some(ResultType::COMPLETE);
        Ok(result)
    }

    /// Asks a server for something that it brings under `name`, where the policy lets this principal
    /// have it.
    pub(super) async fn ask(
        &self,
        server: &str,
        name: &str,
        what: Ask,
        params: Map<String, Value>,
        request: &Request,
    ) -> Result<Value, ErrorData> {
        let may = self.may(request, server, name).await?;
        let Some(pool) = self.gateway.pool().filter(|_| may) else {
            let text = format!("there is no {name} of {server} for you");
            return Err(ErrorData::resource_not_found(text, None));
        };
        // No record, no effect.
        let asked = params.get("uri").and_then(Value::as_str).unwrap_or(name);
        let (of, method, name) = (server.to_owned(), what.method(), asked.to_owned());
        let desk = self.plain_desk(request).await?;
        desk.work(move |seat| seat.session.note_ask(&of, method, &name))
            .await
            .map_err(|error| broken(&error))?;
        let asked = pool.ask(server, what, params, Arc::new(Nobody)).await;
        asked.map_err(|failure| {
            let text = format!("{}: {server}: {failure}", failure.code());
            match failure {
                Failure::Refused { code, data, .. } if is_passed_on(code, request) => {
                    let code = i32::try_from(code).unwrap_or(ErrorCode::INTERNAL_ERROR.0);
                    ErrorData::new(ErrorCode(code), text, data)
                }
                _ => ErrorData::internal_error(text, None),
            }
        })
    }

    /// Whether the one who asks may have what `server` brings under `name`.
    pub(super) async fn may(
        &self,
        request: &Request,
        server: &str,
        name: &str,
    ) -> Result<bool, ErrorData> {
        let (server, name) = (server.to_owned(), name.to_owned());
        self.glance(request, move |_, glance| Ok(glance.allows(&server, &name))).await
    }
}

/// Whether an error of a server is as much the asker's as ours: what was asked for is not there, or
/// whoever asks cannot do what it takes.
fn is_passed_on(code: i64, request: &Request) -> bool {
    let is = |known: ErrorCode| code == i64::from(known.0);
    is(ErrorCode::INVALID_PARAMS)
        || is(ErrorCode::RESOURCE_NOT_FOUND)
        || (request.is_modern && is(ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY))
}

/// That nothing has the address `uri`.
pub(super) fn not_found(text: impl Into<Cow<'static, str>>, uri: &str) -> ErrorData {
    ErrorData::resource_not_found(text, Some(json!({"uri": uri})))
}

/// A server's result, where it is one.
pub(super) fn understood<T: DeserializeOwned>(result: Value) -> Result<T, ErrorData> {
    serde_json::from_value(result).map_err(|error| {
        let text = format!("the server's answer is malformed: {error}");
        ErrorData::internal_error(text, None)
    })
}
