//! The way out of a network with nothing in it: a proxy that knows which hosts may be reached.
//!
//! A [`Proxy`] is the [`Gate`](crate::Gate) of one run. It speaks HTTP/1.1: `CONNECT` for tunnels, and
//! requests with a full address for plain HTTP. The host of a request is parsed once, judged by
//! [`NetworkRules`](concertina_core::policy::NetworkRules), looked up once, and the address that was
//! found is the one that is dialled. Each connection carries one request, so there is no second one
//! that could pass unjudged or be hidden behind the first.
//!
//! What it cannot see: what goes through a tunnel, and whom the other end of an allowed one speaks for.

mod attempt;
mod body;
mod bounds;
mod exchange;
mod head;
mod outside;
mod places;
mod proxy;
mod refusal;
mod relay;
mod request;
mod token;

pub use attempt::{Attempt, Attempts};
pub use bounds::Bounds;
pub use outside::{Direct, Outside};
pub use proxy::{Proxy, ProxyError};
