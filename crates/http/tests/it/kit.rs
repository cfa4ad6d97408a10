//! A service on a free port, and requests written by hand.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::Extension;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use concertina_http::{Approvers, Guard, Listening, Names, Tokens, guard};
use concertina_mcp::server::Principal;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

pub(crate) const TOKEN: &str = "0123456789abcdef-ann";

/// A service whose one page says for whom it was asked.
pub(crate) async fn service(tokens: Option<Tokens>, names: impl FnOnce(Names) -> Names) -> Service {
    let listening = Listening::on("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = listening.address();
    let guard = Arc::new(Guard {
        names: names(Names::of(address)),
        tokens,
        approvers: Approvers::default(),
    });
    let who = |Extension(principal): Extension<Principal>| async move { principal.0 };
    let slow = || async {
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        "late"
    };
    let routes = Router::new()
        .route("/who", get(who))
        .route("/slow", get(slow))
        .layer(from_fn_with_state(guard, guard::check));
    let end = CancellationToken::new();
    let task = tokio::spawn(listening.serve(routes, end.clone()));
    Service { address, end, task }
}

pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    pub(crate) end: CancellationToken,
    pub(crate) task: tokio::task::JoinHandle<()>,
}

impl Service {
    /// Sends `request` as it is, with `%H` standing for where the service is, and gives the answer.
    pub(crate) async fn send(&self, request: &str) -> String {
        let request = request
            .replace("%H", &self.address.to_string())
            .replace("%P", &self.address.port().to_string())
            .replace('\n', "\r\n");
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    /// The status of the answer to a request with these header lines.
    pub(crate) async fn status(&self, headers: &str) -> u16 {
        self.get("/who", headers).await.0
    }

    /// The status and the body of the answer.
    pub(crate) async fn get(&self, target: &str, headers: &str) -> (u16, String) {
        let answer =
            self.send(&format!("GET {target} HTTP/1.1\n{headers}\nConnection: close\n\n")).await;
        let status = answer.split(' ').nth(1).unwrap_or_default().parse().unwrap_or_default();
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
        (status, body.unwrap_or_default())
    }
}
