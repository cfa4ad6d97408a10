//! What carries the messages: a program's streams, or HTTP.

use std::sync::Arc;

use concertina_runtime::upstream::{Definition, Reach};
use serde_json::Value;
use tokio::sync::mpsc;

use super::failure::Failure;
use super::http::Http;
use super::options::PoolOptions;
use super::peer::Peer;
use super::program::{Household, Program, Start};

pub(super) enum Link {
    Program(Program),
    Http(Http),
}

impl Link {
    pub(super) async fn open(
        definition: &Definition,
        options: &PoolOptions,
        peer: &Arc<Peer>,
        outgoing: mpsc::Receiver<Value>,
        household: &Arc<Household>,
    ) -> Result<Self, Failure> {
        match &definition.reach {
            Reach::Program { argv, environment, directory } => {
                let start = Start { argv, environment, directory };
                Program::start(start, peer, outgoing, household).map(Self::Program)
            }
            Reach::Address { url, headers } => {
                Http::open(definition, url, headers, options, peer, outgoing).await.map(Self::Http)
            }
        }
    }

    pub(super) async fn stop(self) {
        match self {
            Self::Program(program) => program.stop().await,
            Self::Http(http) => http.stop().await,
        }
    }
}
