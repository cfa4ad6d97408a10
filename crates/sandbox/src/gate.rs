//! The only way out of a network of one's own.

use std::net::{SocketAddr, TcpListener};

/// Serves what a confined program asks for over the network, and decides what it gets.
///
/// The program lives in a network with nothing in it but this listener: it has no route to anywhere
/// else, so what is not served here cannot be reached.
pub trait Gate: Sync {
    /// The variables that lead a program to the gate at `address`, as `HTTPS_PROXY` does. They come
    /// after the program's own environment and win over it.
    fn environment(&self, address: SocketAddr) -> Vec<(String, String)>;

    /// Serves `listener` until `is_stopped` says so, and returns soon after. Called once a run, on a
    /// thread of its own.
    fn serve(&self, listener: TcpListener, is_stopped: &(dyn Fn() -> bool + Sync));
}
