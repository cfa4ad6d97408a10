//! The listener: it takes so many connections and no more, and ends when it is told to.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Connections at once: what a service for one machine or one team needs many times over, and fewer
/// than the files that a process may usually have open.
pub const CONNECTIONS: usize = 512;
/// How long the headers of a request may take.
pub const HEADERS: Duration = Duration::from_secs(10);
/// How long requests under way may take once the service is told to end.
pub const GRACE: Duration = Duration::from_secs(5);

/// Why the service does not listen.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {source}")]
pub struct ServeError {
    /// Where it was to listen.
    pub address: SocketAddr,
    /// What the system says.
    pub source: std::io::Error,
}

/// A service that listens and does not answer yet.
#[derive(Debug)]
pub struct Listening {
    listener: TcpListener,
    address: SocketAddr,
}

impl Listening {
    /// Listens on `address`; port 0 is any free one.
    pub async fn on(address: SocketAddr) -> Result<Self, ServeError> {
        let failed = |source| ServeError { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers with `routes` until `end`, then lets requests under way finish for a while.
    pub async fn serve(self, routes: Router, end: CancellationToken) {
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        let graceful = GracefulShutdown::new();
        let mut http = hyper::server::conn::http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEADERS);
        loop {
            let accepted = tokio::select! {
                () = end.cancelled() => break,
                accepted = accept(&self.listener, &room) => accepted,
            };
            let Some((stream, place)) = accepted else { continue };
            let service = TowerToHyperService::new(routes.clone());
            let connection = graceful.watch(http.serve_connection(TokioIo::new(stream), service));
            tokio::spawn(async move {
                // A connection that breaks concerns nobody else.
                let _ = connection.await;
                drop(place);
            });
        }
        drop(self.listener);
        let _ = tokio::time::timeout(GRACE, graceful.shutdown()).await;
    }
}

async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> Option<(tokio::net::TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    // Whoever finds no room waits in the system's own queue.
    let place = Arc::clone(room).acquire_owned().await.ok()?;
    let Ok((stream, _)) = listener.accept().await else {
        // Too many open files, or a peer that left at once: later it may go better.
        tokio::time::sleep(Duration::from_millis(50)).await;
        return None;
    };
    let _ = stream.set_nodelay(true);
    Some((stream, place))
}
