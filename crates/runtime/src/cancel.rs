//! Stopping what runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that says: stop at the next safe point. Clones share it.
///
/// ```
/// let cancel = concertina_runtime::Cancel::default();
/// let same = cancel.clone();
/// cancel.stop();
/// assert!(same.is_stopped());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks for a stop.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether a stop was asked for.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag itself, for a signal handler.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// Returns once a stop was asked for.
    pub async fn stopped(&self) {
        while !self.is_stopped() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
}
