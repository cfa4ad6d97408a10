//! The connections of one proxy: how many there are, and how all of them end.

use std::collections::BTreeMap;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The connections that are served now.
#[derive(Debug, Default)]
pub(super) struct Places {
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The sockets of each connection, by its number.
    taken: BTreeMap<u64, Vec<Arc<TcpStream>>>,
    next: u64,
    closed: bool,
}

/// The place of one connection; it is free again once this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    number: u64,
}

impl Places {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a while until there are fewer connections than `most`; whether it is so.
    pub(super) fn wait_for_one(&self, most: usize, patience: Duration) -> bool {
        let full = |state: &mut State| state.taken.len() >= most;
        let waited = self.freed.wait_timeout_while(self.state(), patience, full);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !full(&mut state)
    }

    pub(super) fn take(self: &Arc<Self>) -> Place {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.taken.insert(number, Vec::new());
        Place { places: Arc::clone(self), number }
    }

    /// Ends every connection, now and from now on, and waits for a while until they are gone. One that
    /// still waits for a name or for a host outlives this, and ends without sending anything.
    pub(super) fn close(&self, patience: Duration) {
        let mut state = self.state();
        state.closed = true;
        state.taken.values().flatten().for_each(|socket| end(socket));
        let some = |state: &mut State| !state.taken.is_empty();
        drop(self.freed.wait_timeout_while(state, patience, some));
    }
}

impl Place {
    /// Lets `socket` end with all others; at once, where that has been.
    pub(super) fn holds(&self, socket: TcpStream) -> Arc<TcpStream> {
        let socket = Arc::new(socket);
        let mut state = self.places.state();
        if state.closed {
            end(&socket);
        }
        if let Some(sockets) = state.taken.get_mut(&self.number) {
            sockets.push(Arc::clone(&socket));
        }
        socket
    }

    /// Whether everything is to end.
    pub(super) fn is_closed(&self) -> bool {
        self.places.state().closed
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.state().taken.remove(&self.number);
        self.places.freed.notify_all();
    }
}

/// Wakes whoever reads or writes there.
fn end(socket: &TcpStream) {
    // It fails where the other side has closed it already.
    let _ = socket.shutdown(Shutdown::Both);
}
