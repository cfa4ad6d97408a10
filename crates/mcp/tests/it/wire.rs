//! Lines in and out, for either side.

use concertina_mcp::wire::Wire;
use concertina_types::limits::MESSAGE_BYTES;
use rmcp::model::{RequestId, ServerJsonRpcMessage, ServerResult};
use rmcp::transport::Transport;
use rmcp::{RoleClient, RoleServer};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf};

type Server = Wire<ReadHalf<DuplexStream>>;

/// The side of a server whose client says `lines` and goes on listening.
async fn server(lines: &[u8]) -> (Server, BufReader<DuplexStream>) {
    let (near, mut far) = tokio::io::duplex(64 * 1024 * 1024);
    let (reader, writer) = tokio::io::split(near);
    far.write_all(lines).await.unwrap();
    (Wire::server(reader, writer), BufReader::new(far))
}

async fn receive(wire: &mut Server) -> Value {
    let message = Transport::<RoleServer>::receive(wire).await.unwrap();
    serde_json::to_value(message).unwrap()
}

async fn reply(client: &mut BufReader<DuplexStream>) -> Value {
    let mut line = String::new();
    client.read_line(&mut line).await.unwrap();
    serde_json::from_str(&line).unwrap()
}

fn ping(id: u32) -> String {
    format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "ping"}))
}

#[tokio::test]
async fn g_each_faulty_line_is_answered_once_and_the_next_one_is_read() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(MESSAGE_BYTES));
    for (line, code, words) in [
        (b"no json".to_vec(), -32700, "is no JSON"),
        (b"\xff\xfe".to_vec(), -32700, "is not UTF-8"),
        (deep.into_bytes(), -32700, "nested deeper than 128"),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]".to_vec(), -32600, "batches"),
        (b"7".to_vec(), -32600, "a JSON object"),
        (b"{\"jsonrpc\":\"2.0\"}".to_vec(), -32600, "no message of the protocol"),
        (long.into_bytes(), -32600, "longer than 4194304 bytes"),
    ] {
        let lines = [line.as_slice(), b"\n\n\r\n", ping(1).as_bytes()].concat();
        let (mut wire, mut client) = server(&lines).await;
        assert_eq!(receive(&mut wire).await["method"], "ping", "{words}");
        let reply = reply(&mut client).await;
        assert_eq!(reply["id"], Value::Null, "{words}");
        assert_eq!(reply["error"]["code"], code, "{words}");
        let said = reply["error"]["message"].as_str().unwrap();
        assert!(said.contains(words), "{said}");
    }
}

#[tokio::test]
async fn g_an_id_that_is_under_way_is_refused_until_it_is_answered_cancelled_or_not() {
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    let lines = [ping(1), ping(1), ping(2), format!("{cancelled}\n"), ping(1)].concat();
    let (mut wire, mut client) = server(lines.as_bytes()).await;
    assert_eq!(receive(&mut wire).await["id"], 1);
    assert_eq!(receive(&mut wire).await["id"], 2);
    let refused = reply(&mut client).await;
    assert!(
        refused["error"]["message"].as_str().unwrap().contains("`1` is under way"),
        "{refused}"
    );
    assert_eq!(receive(&mut wire).await["method"], "notifications/cancelled");
    // What was taken back is still answered, and no other request may get that answer.
    let refused = tokio::select! {
        message = receive(&mut wire) => panic!("it was let in: {message}"),
        refused = reply(&mut client) => refused,
    };
    assert!(refused["error"]["message"].as_str().unwrap().contains("`1` is under way"));
    let answer = ServerJsonRpcMessage::response(ServerResult::empty(()), RequestId::Number(1));
    Transport::<RoleServer>::send(&mut wire, answer).await.unwrap();
    assert_eq!(reply(&mut client).await["id"], 1);
    client.get_mut().write_all(ping(1).as_bytes()).await.unwrap();
    assert_eq!(receive(&mut wire).await["id"], 1);
}

#[tokio::test]
async fn g_a_reading_that_is_broken_off_loses_nothing() {
    let (near, mut far) = tokio::io::duplex(16);
    let (reader, writer) = tokio::io::split(near);
    let mut wire = Wire::server(reader, writer);
    let line = ping(7);
    let bytes = line.as_bytes();
    for piece in bytes.chunks(5) {
        far.write_all(piece).await.unwrap();
        if piece.last() != Some(&b'\n') {
            let receiving = Transport::<RoleServer>::receive(&mut wire);
            let broken = futures_util::future::select(
                Box::pin(receiving),
                Box::pin(tokio::task::yield_now()),
            );
            assert!(matches!(broken.await, futures_util::future::Either::Right(_)));
        }
    }
    assert_eq!(receive(&mut wire).await["id"], 7);
}

#[tokio::test]
async fn g_a_client_skips_and_counts_what_is_no_message() {
    let (near, mut far) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(near);
    let mut wire = Wire::client(reader, writer);
    let skipped = wire.skipped();
    far.write_all(b"npm notice\n[1]\n{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n")
        .await
        .unwrap();
    let message = Transport::<RoleClient>::receive(&mut wire).await.unwrap();
    assert_eq!(serde_json::to_value(message).unwrap()["id"], 3);
    assert_eq!(skipped.load(std::sync::atomic::Ordering::Relaxed), 2);
}
