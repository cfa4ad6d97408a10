//! Which machines a download may reach.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use concertina_core::policy::not_public;
use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// What turns a name into addresses. Downloads dial what it gave and was found public, and ask nobody else.
pub trait Resolver: Send + Sync {
    /// The addresses of `host`.
    fn resolve(&self, host: String) -> BoxFuture<'static, std::io::Result<Vec<IpAddr>>>;
}

/// The system's own way to resolve names.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve(&self, host: String) -> BoxFuture<'static, std::io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Whether `address` belongs to one machine of the public network: not to this machine, to the network it
/// is in, to a cloud's own services, or to nobody.
///
/// ```
/// use concertina_runtime::supply::is_public;
/// assert!(is_public("93.184.215.14".parse().unwrap()));
/// assert!(!is_public("169.254.169.254".parse().unwrap()));
/// assert!(!is_public("::ffff:10.0.0.1".parse().unwrap()));
/// ```
pub fn is_public(address: IpAddr) -> bool {
    not_public(address).is_none()
}

/// Lets a connection reach only public addresses, whatever name it was asked for.
pub(super) struct PublicOnly(pub(super) Arc<dyn Resolver>);

/// Why no address of a name may be dialled.
#[derive(Debug, thiserror::Error)]
#[error("`{host}` is {what}, which a download may not reach")]
pub(super) struct NotPublic {
    host: String,
    what: String,
}

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = Arc::clone(&self.0);
        Box::pin(async move {
            let host = name.as_str().to_owned();
            let found = resolver.resolve(host.clone()).await?;
            // One that is not public among several is a trick or a mistake: none is dialled.
            if let Some(address) = found.iter().find(|address| !is_public(**address)) {
                return Err(NotPublic { host, what: address.to_string() }.into());
            }
            let addresses: Addrs = Box::new(found.into_iter().map(|ip| SocketAddr::new(ip, 0)));
            Ok(addresses)
        })
    }
}
