//! How much a program may ask of its proxy.

use std::thread;
use std::time::Duration;

/// Connections at once: a package manager opens some dozens. More of them wait until one ends.
const CONNECTIONS: usize = 64;
/// How long a request's first line and fields may take: on the same machine they come at once.
const HEAD_SECONDS: u64 = 10;
/// How long a host may take to be reached, all of its addresses together.
const DIAL_SECONDS: u64 = 10;
/// How long a connection may be silent: what a long answer of an API takes to begin.
const IDLE_SECONDS: u64 = 300;
/// One piece that is passed on, in bytes.
pub(super) const PIECE_BYTES: usize = 16 * 1024;
/// The stack of a thread, in bytes. It holds no piece; the look-up of a name needs most.
const STACK_BYTES: usize = 256 * 1024;

/// How much a program may ask of its proxy. The default is for production; tests are less patient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    /// Connections at once; more of them wait.
    pub connections: usize,
    /// How long a request's first line and fields may take.
    pub head: Duration,
    /// How long a host may take to be reached.
    pub dial: Duration,
    /// How long a connection may be silent.
    pub idle: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections: CONNECTIONS,
            head: Duration::from_secs(HEAD_SECONDS),
            dial: Duration::from_secs(DIAL_SECONDS),
            idle: Duration::from_secs(IDLE_SECONDS),
        }
    }
}

/// A thread of the proxy, before it starts. There are at most two for each connection.
pub(super) fn thread_of_its_own() -> thread::Builder {
    thread::Builder::new().name("concertina-proxy".into()).stack_size(STACK_BYTES)
}
