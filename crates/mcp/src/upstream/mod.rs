//! The servers whose tools are called through this one.
