//! Telling clients that one of our lists became another one. Only our own lists count: what a server
//! behind says of its lists is taken up first, and told where it changed ours.

use std::sync::Arc;

use concertina_types::Blob;
use rmcp::model::SubscriptionFilter;
use rmcp::service::{Peer, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, model::Tool};

use super::connection::{Connection, Request};
use super::gateway::{Exposure, Gateway};
use crate::lock;

/// The mark of a list: what is our own, and what servers bring.
type Mark = Option<(Blob, Option<Blob>)>;

/// The lists of one connection as they were last looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Marks {
    tools: Mark,
    prompts: Mark,
    resources: Mark,
}

/// Which lists became others.
#[derive(Debug, Clone, Copy)]
struct Changed {
    tools: bool,
    prompts: bool,
    resources: bool,
}

/// The mark of a list of tools.
fn mark(tools: &[Tool]) -> Blob {
    Blob::of(&serde_json::to_string(tools).unwrap_or_default())
}

impl Connection {
    /// Which lists became others since the last look. A list that nobody looked at has not changed.
    async fn changed(&self, request: &Request) -> Changed {
        self.gateway.look().await;
        let own =
            self.glance(request, |_, glance| Ok((glance.prompts, glance.resources))).await.ok();
        let tools = match self.gateway.exposure() {
            Exposure::Four => None,
            Exposure::Listed => self.visible_now(request).await.map(|tools| (mark(&tools), None)),
        };
        let brought = self.gateway.brought();
        let now = Marks {
            tools,
            prompts: own.map(|(prompts, _)| (prompts, brought.prompts_mark)),
            resources: own.map(|(_, resources)| (resources, brought.resources_mark)),
        };
        let before = std::mem::replace(&mut *lock(&self.marks), now);
        let differs = |now: Mark, before: Mark| before.is_some() && now != before;
        Changed {
            tools: differs(now.tools, before.tools),
            prompts: differs(now.prompts, before.prompts),
            resources: differs(now.resources, before.resources),
        }
    }

    /// Takes note of the tools that the client was told of.
    pub(super) fn has_listed(&self, tools: &[Tool]) {
        lock(&self.marks).tools = Some((mark(tools), None));
    }

    /// Tells the client at the other end.
    pub(super) async fn tell(&self, request: &Request, peer: &Peer<RoleServer>) {
        let changed = self.changed(request).await;
        if changed.tools {
            let _ = peer.notify_tool_list_changed().await;
        }
        if changed.prompts {
            let _ = peer.notify_prompt_list_changed().await;
        }
        if changed.resources {
            let _ = peer.notify_resource_list_changed().await;
        }
    }

    /// Looks from time to time, until the client goes.
    pub(super) fn watch(self: &Arc<Self>, request: Request, peer: Peer<RoleServer>) {
        let connection = Arc::clone(self);
        tokio::spawn(async move {
            while !peer.is_transport_closed() {
                connection.tell(&request, &peer).await;
                connection.gateway.stirs().await;
            }
        });
    }

    /// The same for a client that asked to be told.
    pub(super) async fn listen(
        &self,
        request: &Request,
        subscription: SubscriptionContext,
    ) -> Result<(), ErrorData> {
        let _telling = self.tell_of_resources(request, &subscription).await?;
        let sink = subscription.sink();
        loop {
            let changed = self.changed(request).await;
            if changed.tools {
                let _ = sink.notify_tool_list_changed().await;
            }
            if changed.prompts {
                let _ = sink.notify_prompt_list_changed().await;
            }
            if changed.resources {
                let _ = sink.notify_resource_list_changed().await;
            }
            tokio::select! {
                () = subscription.cancelled() => return Ok(()),
                () = self.gateway.stirs() => {}
            }
        }
    }
}

/// What a client that asks for `requested` can be told of.
pub(super) fn subscriptions(
    gateway: &Gateway,
    requested: &SubscriptionFilter,
) -> SubscriptionFilter {
    let uris = gateway.told_of(requested.resource_subscriptions.as_deref().unwrap_or_default());
    let filter = SubscriptionFilter::builder()
        .prompts_list_changed()
        .resources_list_changed()
        .resource_subscriptions(uris);
    match gateway.exposure() {
        Exposure::Four => filter.build(),
        Exposure::Listed => filter.tools_list_changed().build(),
    }
}
