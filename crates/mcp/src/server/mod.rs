//! The server that clients see.

/// On whose behalf a request over HTTP is made: put into the request by what checked its token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal(pub String);
