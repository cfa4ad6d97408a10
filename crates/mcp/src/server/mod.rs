//! The server that clients see.
