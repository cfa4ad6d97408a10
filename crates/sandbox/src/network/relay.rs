//! A tunnel: bytes both ways, until both sides have said all or neither says anything.

use std::io::{self, BufRead, BufReader, ErrorKind, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::bounds::{PIECE_BYTES, thread_of_its_own};

/// Passes on what both sides say. When one has said all, the other may go on.
pub(super) fn relay(
    mut client: BufReader<&TcpStream>,
    outside: &TcpStream,
    idle: Duration,
) -> io::Result<()> {
    let lively = Lively::new(idle);
    let socket = *client.get_ref();
    thread::scope(|scope| {
        thread_of_its_own().spawn_scoped(scope, || one_way(&mut client, outside, &lively))?;
        one_way(&mut BufReader::with_capacity(PIECE_BYTES, outside), socket, &lively);
        Ok(())
    })
}

fn one_way(from: &mut impl BufRead, mut to: &TcpStream, lively: &Lively) {
    loop {
        match from.fill_buf() {
            Ok([]) => {
                // It fails where the other side is gone, and then so is this way.
                let _ = to.shutdown(Shutdown::Write);
                return;
            }
            Ok(piece) => {
                lively.note();
                if to.write_all(piece).is_err() {
                    break;
                }
                let written = piece.len();
                from.consume(written);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if is_timeout(error.kind()) && lively.is_so() => {}
            Err(_) => break,
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

fn is_timeout(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// When either side last said something.
struct Lively {
    since: Instant,
    /// In milliseconds after `since`.
    last: AtomicU64,
    idle: Duration,
}

impl Lively {
    fn new(idle: Duration) -> Self {
        Self { since: Instant::now(), last: AtomicU64::new(0), idle }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn note(&self) {
        self.last.store(self.now(), Ordering::Relaxed);
    }

    fn is_so(&self) -> bool {
        let silent = self.now().saturating_sub(self.last.load(Ordering::Relaxed));
        Duration::from_millis(silent) < self.idle
    }
}
