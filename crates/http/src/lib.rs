//! The HTTP service: one listener, whose requests are checked before anything else sees them.
