//! How the service takes connections, and how it ends.

use crate::kit::service;

#[tokio::test]
async fn what_is_under_way_is_finished_when_the_service_ends() {
    let service = service(None, |names| names).await;
    let (answer, ()) = tokio::join!(service.get("/slow", "Host: %H"), async {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        service.end.cancel();
    });
    assert_eq!(answer, (200, "late".to_owned()));
    service.task.await.unwrap();
    assert!(tokio::net::TcpStream::connect(service.address).await.is_err());
}

#[tokio::test]
async fn more_clients_than_there_is_room_for_wait_and_are_answered() {
    let service = service(None, |names| names).await;
    // More than the service takes, and no more than the system's queue holds beside them.
    let asked = (0..1_000).map(|_| service.get("/who", "Host: %H"));
    let answers = futures_util::future::join_all(asked).await;
    assert!(answers.iter().all(|(status, body)| (*status, body.as_str()) == (200, "local")));
}

#[tokio::test]
async fn bytes_that_are_no_request_end_only_their_connection() {
    let service = service(None, |names| names).await;
    for noise in ["\u{0}\u{1}\u{2}\n\n", "GET\n\n", "GET / HTTP/9.9\nHost: %H\n\n"] {
        let answer = service.send(noise).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    let long = format!("GET /who HTTP/1.1\nHost: %H\nX: {}\n\n", "x".repeat(2_000_000));
    let answer = tokio::time::timeout(std::time::Duration::from_secs(20), service.send(&long));
    let _ = answer.await;
    assert_eq!(service.status("Host: %H").await, 200);
}
