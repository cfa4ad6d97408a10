//! The proxy of one run.

use std::fmt;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use concertina_core::policy::NetworkRules;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::attempt::{Attempt, Attempts};
use super::bounds::{Bounds, thread_of_its_own};
use super::exchange;
use super::outside::Outside;
use super::places::{Place, Places};
use super::token::Token;
use crate::Gate;

/// How often is looked whether to stop: a run that is over waits for it.
const LOOK: Duration = Duration::from_millis(5);
/// How long connections may take to end when their sockets are shut down.
const GRACE: Duration = Duration::from_millis(200);
/// The variables by which programs find their proxy.
const VARIABLES: [&str; 6] =
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
/// The variables that name hosts which are reached without it: there are none.
const EXCEPTIONS: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// Why there is no proxy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyError {
    /// Without random bits everybody on this machine could use it.
    #[error("the system gives no random bits for the proxy's token: {0}")]
    NoRandomBits(getrandom::Error),
}

impl ProxyError {
    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoRandomBits(_) => "NO_RANDOM_BITS",
        }
    }
}

/// The proxy of one run: who has its token may reach what the rules name.
///
/// ```
/// use std::sync::Arc;
/// use concertina_core::policy::NetworkRules;
/// use concertina_sandbox::Gate as _;
/// use concertina_sandbox::network::{Direct, Proxy};
///
/// let proxy = Proxy::new(NetworkRules::default(), Arc::new(Direct))?;
/// let environment = proxy.environment(([127, 0, 0, 1], 3128).into());
/// assert!(environment.iter().any(|(name, _)| name == "HTTPS_PROXY"));
/// assert!(proxy.attempts().kept.is_empty());
/// # Ok::<(), concertina_sandbox::network::ProxyError>(())
/// ```
pub struct Proxy {
    shared: Arc<Shared>,
}

/// What the threads of all connections see.
pub(super) struct Shared {
    pub(super) rules: NetworkRules,
    pub(super) outside: Arc<dyn Outside>,
    pub(super) bounds: Bounds,
    pub(super) token: Token,
    attempts: Mutex<Attempts>,
}

impl Proxy {
    /// A proxy that lets through what `rules` name, and reaches it by way of `outside`.
    pub fn new(rules: NetworkRules, outside: Arc<dyn Outside>) -> Result<Self, ProxyError> {
        Self::with_bounds(rules, outside, Bounds::default())
    }

    /// The same with other limits.
    pub fn with_bounds(
        rules: NetworkRules,
        outside: Arc<dyn Outside>,
        bounds: Bounds,
    ) -> Result<Self, ProxyError> {
        let token = Token::random().map_err(ProxyError::NoRandomBits)?;
        let attempts = Mutex::default();
        Ok(Self { shared: Arc::new(Shared { rules, outside, bounds, token, attempts }) })
    }

    /// What was tried so far.
    pub fn attempts(&self) -> Attempts {
        self.shared.attempts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Shared {
    pub(super) fn record(&self, attempt: Attempt) {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner).add(attempt);
    }
}

impl Gate for Proxy {
    fn environment(&self, address: SocketAddr) -> Vec<(String, String)> {
        let url = format!("http://{}@{address}", self.shared.token.userinfo);
        let set = VARIABLES.map(|name| (name.to_owned(), url.clone()));
        let empty = EXCEPTIONS.map(|name| (name.to_owned(), String::new()));
        set.into_iter().chain(empty).collect()
    }

    fn serve(&self, listener: TcpListener, is_stopped: &(dyn Fn() -> bool + Sync)) {
        let places = Arc::new(Places::default());
        // Who connects and leaves at once must not hold up the others.
        let ready = listener.set_nonblocking(true).is_ok();
        while ready && !is_stopped() {
            if !places.wait_for_one(self.shared.bounds.connections, LOOK) || !is_asked(&listener) {
                continue;
            }
            match listener.accept() {
                Ok((client, _)) => start(&self.shared, places.take(), client),
                Err(error) if passes(error.kind()) => {}
                // No descriptors are left, or the like: others give some back.
                Err(_) => thread::sleep(LOOK),
            }
        }
        places.close(GRACE);
    }
}

/// Never the token.
impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy").field("rules", &self.shared.rules).finish_non_exhaustive()
    }
}

/// Waits for a while; whether somebody wants to connect.
fn is_asked(listener: &TcpListener) -> bool {
    let patience = Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos().into() };
    let mut polled = [PollFd::new(listener, PollFlags::IN)];
    poll(&mut polled, Some(&patience)).is_ok_and(|ready| ready > 0)
}

fn passes(kind: ErrorKind) -> bool {
    use ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, WouldBlock};
    matches!(kind, WouldBlock | Interrupted | ConnectionAborted | ConnectionReset)
}

/// Serves one connection on a thread of its own. Where there is none to be had, it is closed.
fn start(shared: &Arc<Shared>, place: Place, client: TcpStream) {
    let shared = Arc::clone(shared);
    drop(thread_of_its_own().spawn(move || exchange::serve(&shared, &place, client)));
}
