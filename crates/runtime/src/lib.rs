//! The runtime: everything that touches the world. It owns sources, tools, models and shutdown.

pub mod llm;
