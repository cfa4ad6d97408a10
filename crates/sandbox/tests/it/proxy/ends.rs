//! Tunnels, silence, floods, and how everything ends.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use concertina_sandbox::network::Bounds;

use super::kit::{Answer, Fixture, Running, Tables, impatient, read_request, rules};

fn before(fixture: &Fixture, bounds: Bounds) -> Running {
    let tables = Arc::new(Tables::new(&["allowed.test"], fixture.address));
    Running::with_bounds(rules(&["allowed.test"], &["*"]), tables, bounds)
}

#[test]
fn a_tunnel_goes_on_after_the_program_has_said_all() {
    let fixture = Fixture::echo();
    let running = before(&fixture, Bounds::default());
    let (mut socket, _) = running.tunnel("allowed.test:443");
    socket.write_all(b"hello ").unwrap();
    socket.shutdown(Shutdown::Write).unwrap();
    let mut heard = String::new();
    socket.read_to_string(&mut heard).unwrap();
    assert_eq!(heard, "hello bye");
    assert_eq!(fixture.heard(1), ["hello "]);
}

#[test]
fn a_tunnel_goes_on_after_the_host_has_said_all() {
    let fixture = Fixture::new(|mut socket| {
        socket.write_all(b"all").unwrap();
        socket.shutdown(Shutdown::Write).unwrap();
        let mut heard = Vec::new();
        socket.read_to_end(&mut heard).unwrap();
        heard
    });
    let running = before(&fixture, Bounds::default());
    let (mut socket, _) = running.tunnel("allowed.test:443");
    let mut all = String::new();
    socket.read_to_string(&mut all).unwrap();
    assert_eq!(all, "all");
    socket.write_all(b"and more").unwrap();
    drop(socket);
    assert_eq!(fixture.heard(1), ["and more"]);
}

#[test]
fn what_is_said_together_with_the_opening_of_a_tunnel_goes_through_it() {
    let fixture = Fixture::echo();
    let running = before(&fixture, Bounds::default());
    let mut socket = running.connect();
    let open = format!("CONNECT allowed.test:443 HTTP/1.1\r\n{}\r\n", running.authorization());
    socket.write_all(format!("{open}early").as_bytes()).unwrap();
    socket.shutdown(Shutdown::Write).unwrap();
    assert_eq!(Answer::read(&mut socket).body, "earlybye");
}

#[test]
fn a_request_is_answered_after_the_program_has_said_all() {
    let fixture = Fixture::hello();
    let running = before(&fixture, Bounds::default());
    let mut socket = running.connect();
    let ask = format!("GET http://allowed.test/ HTTP/1.1\r\n{}\r\n", running.authorization());
    socket.write_all(ask.as_bytes()).unwrap();
    socket.shutdown(Shutdown::Write).unwrap();
    assert_eq!(Answer::read(&mut socket).body, "hello");
}

#[test]
fn a_tunnel_ends_when_neither_side_says_anything_and_not_before() {
    let fixture = Fixture::echo();
    let running = before(&fixture, impatient());
    let (mut socket, _) = running.tunnel("allowed.test:443");
    // One side only is silent, for longer than both may be: a program that reads a slow answer.
    let start = Instant::now();
    let mut echo = [0];
    while start.elapsed() < Duration::from_secs(1) {
        socket.write_all(b".").unwrap();
        socket.read_exact(&mut echo).unwrap();
        std::thread::sleep(Duration::from_millis(100));
    }
    let silent = Instant::now();
    let mut rest = Vec::new();
    let _ = socket.read_to_end(&mut rest);
    let took = silent.elapsed();
    assert!(took > Duration::from_millis(200) && took < Duration::from_secs(3), "{took:?}");
}

#[test]
fn a_tunnel_stays_while_only_the_host_talks() {
    let fixture = Fixture::new(|mut socket| {
        for _ in 0..12 {
            let _ = socket.write_all(b".");
            std::thread::sleep(Duration::from_millis(100));
        }
        Vec::new()
    });
    let running = before(&fixture, impatient());
    let (mut socket, _) = running.tunnel("allowed.test:443");
    let mut heard = String::new();
    socket.read_to_string(&mut heard).unwrap();
    assert_eq!(heard, ".".repeat(12));
}

#[test]
fn a_host_that_never_answers_is_given_up() {
    let fixture = Fixture::new(|mut socket| {
        let mut heard = Vec::new();
        let _ = socket.read_to_end(&mut heard);
        heard
    });
    let running = before(&fixture, impatient());
    let start = Instant::now();
    let answer = running.ask("GET http://allowed.test/ HTTP/1.1", "");
    assert_eq!(answer.status, 502, "{answer:?}");
    assert!(start.elapsed() < Duration::from_secs(3));
}

#[test]
fn a_head_has_8_kib_and_more_is_431() {
    let fixture = Fixture::hello();
    let running = before(&fixture, Bounds::default());
    let ask = |length: usize| {
        let start = format!("GET http://allowed.test/ HTTP/1.1\r\n{}X: ", running.authorization());
        let filling = length - start.len() - 4;
        format!("{start}{}\r\n\r\n", "x".repeat(filling))
    };
    assert_eq!(running.say(ask(8_192).as_bytes()).status, 200);
    for flood in [ask(8_193), ask(4_000_000), "x".repeat(20_000), "X: y\r\n".repeat(2_000)] {
        let mut socket = running.connect();
        // The proxy may close before it has taken everything.
        let _ = socket.write_all(flood.as_bytes());
        let mut answer = [0; 13];
        socket.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 431 ", "{}", flood.len());
        assert_eq!(running.last().4, "REQUEST_TOO_LONG");
    }
    assert_eq!(fixture.heard(1).len(), 1);
}

#[test]
fn who_still_talks_when_it_is_refused_can_read_why() {
    let fixture = Fixture::hello();
    let running = before(&fixture, Bounds::default());
    // Were the connection closed with something unread, it would break under the answer.
    assert_eq!(running.say("x".repeat(100_000).as_bytes()).status, 431);
    let body = "x".repeat(100_000);
    let ask = format!("POST http://evil.test/ HTTP/1.1\r\n{}", running.authorization());
    let answer = running.say(format!("{ask}Content-Length: 100000\r\n\r\n{body}").as_bytes());
    assert!(answer.is_refused("HOST_NOT_DECLARED"), "{answer:?}");
}

#[test]
fn a_head_that_trickles_in_is_408() {
    let fixture = Fixture::hello();
    let running = before(&fixture, impatient());
    let start = Instant::now();
    let slow = |pause: u64| {
        let mut socket = running.connect();
        let ask = format!("GET http://allowed.test/ HTTP/1.1\r\n{}\r\n", running.authorization());
        for byte in ask.as_bytes() {
            if socket.write_all(&[*byte]).is_err() {
                break;
            }
            std::thread::sleep(Duration::from_millis(pause));
        }
        let mut answer = [0; 13];
        socket.read_exact(&mut answer).map(|()| answer)
    };
    // It was told before it was done; a byte after the end of the connection may have broken it.
    assert!(
        slow(30).is_ok_and(|answer| &answer == b"HTTP/1.1 408 ") || start.elapsed().as_secs() < 9
    );
    assert_eq!(running.last().4, "REQUEST_TIMEOUT");
    // Silence from the start, and in the midst.
    for said in ["", "GET http://"] {
        let answer = running.say(said.as_bytes());
        assert_eq!(answer.status, 408, "{said}: {answer:?}");
    }
    assert_eq!(&slow(0).unwrap(), b"HTTP/1.1 200 ");
}

#[test]
fn who_connects_and_leaves_tried_nothing() {
    let fixture = Fixture::hello();
    let running = before(&fixture, Bounds::default());
    for _ in 0..100 {
        drop(running.connect());
    }
    assert_eq!(running.ask("GET http://allowed.test/ HTTP/1.1", "").status, 200);
    assert_eq!(running.attempts().len(), 1);
}

#[test]
fn of_200_connections_at_once_all_are_served_and_64_at_a_time() {
    let now = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let fixture = Fixture::new({
        let (now, most) = (Arc::clone(&now), Arc::clone(&most));
        move |mut socket| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let heard = read_request(&mut socket);
            std::thread::sleep(Duration::from_millis(20));
            now.fetch_sub(1, Ordering::SeqCst);
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
            socket.write_all(answer).unwrap();
            heard
        }
    });
    let running = before(&fixture, Bounds::default());
    std::thread::scope(|scope| {
        for _ in 0..200 {
            scope.spawn(|| {
                let answer = running.ask("GET http://allowed.test/ HTTP/1.1", "");
                assert_eq!((answer.status, answer.body.as_str()), (200, "hello"));
            });
        }
    });
    let most = most.load(Ordering::SeqCst);
    assert!((2..=64).contains(&most), "{most}");
    assert_eq!(running.attempts().len(), 200);
}

#[test]
fn connections_beyond_the_limit_wait_and_are_served_when_one_ends() {
    let fixture = Fixture::echo();
    let running = before(&fixture, Bounds { connections: 2, ..Bounds::default() });
    let (first, _) = running.tunnel("allowed.test:443");
    let (_second, _) = running.tunnel("allowed.test:443");
    let mut third = running.connect();
    let open = format!("CONNECT allowed.test:443 HTTP/1.1\r\n{}\r\n", running.authorization());
    third.write_all(open.as_bytes()).unwrap();
    third.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let mut answer = [0; 13];
    assert!(third.read_exact(&mut answer).is_err());
    drop(first);
    third.set_read_timeout(Some(super::kit::PATIENCE)).unwrap();
    third.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200 ");
}

#[test]
fn a_stop_ends_every_connection_at_once() {
    let fixture = Fixture::echo();
    let mut running = before(&fixture, Bounds::default());
    let mut tunnels: Vec<_> = (0..20).map(|_| running.tunnel("allowed.test:443").0).collect();
    let mut halfway = running.connect();
    halfway.write_all(b"GET http://").unwrap();
    let took = running.stop();
    assert!(took < Duration::from_millis(500), "{took:?}");
    let start = Instant::now();
    for socket in tunnels.iter_mut().chain([&mut halfway]) {
        let mut rest = Vec::new();
        let _ = socket.read_to_end(&mut rest);
        assert_eq!(String::from_utf8_lossy(&rest), "");
    }
    assert!(start.elapsed() < Duration::from_secs(2));
    assert_eq!(fixture.heard(20).len(), 20);
    // The port may be somebody else's by now, who does not know the token.
    if let Ok(mut other) = std::net::TcpStream::connect(running.address) {
        other.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        let open = format!("CONNECT allowed.test:443 HTTP/1.1\r\n{}\r\n", running.authorization());
        let mut answer = Vec::new();
        let _ = other.write_all(open.as_bytes()).and_then(|()| other.read_to_end(&mut answer));
        assert!(!answer.starts_with(b"HTTP/1.1 200 "), "it still serves");
    }
}
