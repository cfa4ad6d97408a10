//! Telling clients that a resource of a server became another one: each is told of what it asked for
//! and may have, until it takes that back or goes.

use std::collections::HashMap;

use concertina_types::limits;
use rmcp::model::{
    ResourceUpdatedNotificationParam, SubscribeRequestMethod, UnsubscribeRequestMethod,
};
use rmcp::service::{Peer, SubscriptionContext};
use rmcp::{ErrorData, RoleServer};
use tokio::task::{AbortHandle, JoinSet};

use super::connection::{Connection, Request};
use super::gateway::Gateway;
use super::resources::RESOURCES;
use crate::lock;
use crate::upstream::Subscription;

/// Something that is told until this value goes.
#[derive(Debug)]
pub(super) struct Telling(AbortHandle);

impl Drop for Telling {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What one connection is told of, by address.
pub(super) type Tellings = HashMap<String, Telling>;

impl Gateway {
    /// Whether any server is known to tell of changes of its resources.
    pub(super) fn tells_of_resources(&self) -> bool {
        self.pool().is_some_and(|pool| pool.any_tells_of_resources())
    }

    /// Those of `uris` whose servers tell of changes.
    pub(super) fn told_of(&self, uris: &[String]) -> Vec<String> {
        let is_told = |uri: &&String| {
            let server = self.server_of(uri);
            server.zip(self.pool()).is_some_and(|(server, pool)| pool.tells_of_resources(&server))
        };
        uris.iter().filter(is_told).take(limits::SUBSCRIPTIONS).cloned().collect()
    }
}

impl Connection {
    async fn subscription(&self, uri: &str, request: &Request) -> Result<Subscription, ErrorData> {
        let server = self.gateway.server_of(uri);
        let may = match &server {
            Some(server) => self.may(request, server, RESOURCES).await?,
            None => false,
        };
        let Some((server, pool)) = server.zip(self.gateway.pool()).filter(|_| may) else {
            let text = format!("no server has the address {uri} and tells of its changes");
            return Err(ErrorData::resource_not_found(text, None));
        };
        pool.subscribe(&server, uri).await.map_err(|failure| {
            let text = format!("{}: {server}: {failure}", failure.code());
            ErrorData::internal_error(text, None)
        })
    }

    /// Tells the client at the other end of changes of `uri` from now on.
    pub(super) async fn subscribe(
        &self,
        uri: String,
        request: &Request,
        peer: Peer<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !self.gateway.tells_of_resources() {
            return Err(ErrorData::method_not_found::<SubscribeRequestMethod>());
        }
        let mut subscription = self.subscription(&uri, request).await?;
        let mut tellings = lock(&self.tellings);
        if tellings.len() >= limits::SUBSCRIPTIONS && !tellings.contains_key(&uri) {
            let limit = limits::SUBSCRIPTIONS;
            let text = format!("{limit} resources are subscribed to already, which is the limit");
            return Err(ErrorData::invalid_request(text, None));
        }
        let of = uri.clone();
        let telling = tokio::spawn(async move {
            loop {
                subscription.updated().await;
                let update = ResourceUpdatedNotificationParam::new(of.clone());
                if peer.notify_resource_updated(update).await.is_err() {
                    return;
                }
            }
        });
        tellings.insert(uri, Telling(telling.abort_handle()));
        Ok(())
    }

    pub(super) fn unsubscribe(&self, uri: &str) -> Result<(), ErrorData> {
        if !self.gateway.tells_of_resources() {
            return Err(ErrorData::method_not_found::<UnsubscribeRequestMethod>());
        }
        lock(&self.tellings).remove(uri);
        Ok(())
    }

    /// The same for a client that keeps a request open: it is told as long as the returned value is.
    pub(super) async fn tell_of_resources(
        &self,
        request: &Request,
        subscription: &SubscriptionContext,
    ) -> Result<JoinSet<()>, ErrorData> {
        let mut telling = JoinSet::new();
        for uri in subscription.accepted().resource_subscriptions.iter().flatten() {
            let mut updates = self.subscription(uri, request).await?;
            let (sink, uri) = (subscription.sink().clone(), uri.clone());
            telling.spawn(async move {
                loop {
                    updates.updated().await;
                    if sink.notify_resource_updated(&uri).await.is_err() {
                        return;
                    }
                }
            });
        }
        Ok(telling)
    }
}
