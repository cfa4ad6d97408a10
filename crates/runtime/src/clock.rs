//! The world's time and chance. Everything below is told of them, nothing below asks.

use std::time::{SystemTime, UNIX_EPOCH};

use concertina_types::{SessionId, Timestamp};

/// The moment now.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// A new session id: `s-` and 128 random bits, so that it can be guessed by nobody.
///
/// # Errors
/// The system gives no random bits, or — never, for this alphabet — the id is malformed.
pub fn new_session_id() -> Result<SessionId, crate::RuntimeError> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| crate::RuntimeError::Environment {
        code: "NO_RANDOM_BITS",
        message: format!("the system gives no random bits: {error}"),
    })?;
    SessionId::new(format!("s-{:032x}", u128::from_be_bytes(bytes))).map_err(|error| {
        crate::RuntimeError::Environment { code: "BAD_SESSION_ID", message: error.to_string() }
    })
}
