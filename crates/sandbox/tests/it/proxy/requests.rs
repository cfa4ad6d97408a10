//! What is passed on of a request and of its answer, and what is not taken for a request at all.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::sync::Arc;

use proptest::prelude::*;

use super::kit::{Answer, Fixture, Running, Tables, read_request, rules};

/// A proxy that lets `allowed.test` through to `fixture`, whatever the method.
fn before(fixture: &Fixture) -> Running {
    let tables = Arc::new(Tables::new(&["allowed.test", "other.test"], fixture.address));
    Running::new(rules(&["allowed.test", "allowed.test:8080"], &["*"]), tables)
}

#[test]
fn a_request_is_written_anew_without_what_is_meant_for_the_proxy() {
    let fixture = Fixture::hello();
    let running = before(&fixture);
    let fields = "Host: ALLOWED.test.\r\nAccept:  text/plain \r\nConnection: close, X-Secret, Host\r\n\
                  X-Secret: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\nUpgrade: h2c\r\n\
                  Proxy-Connection: keep-alive\r\nCookie: a\u{e9}\r\n";
    assert_eq!(running.ask("GET http://Allowed.test?q=/%00 HTTP/1.1", fields).status, 200);
    assert_eq!(running.ask("GET HTTP://allowed.test:8080/a//b HTTP/1.0", "").status, 200);
    let mut heard = fixture.heard(2);
    heard.sort_unstable();
    assert_eq!(
        heard[0],
        "GET /?q=/%00 HTTP/1.1\r\nHost: allowed.test\r\nAccept: text/plain\r\nCookie: a\u{e9}\r\n\
         Connection: close\r\n\r\n"
    );
    assert_eq!(
        heard[1],
        "GET /a//b HTTP/1.0\r\nHost: allowed.test:8080\r\nConnection: close\r\n\r\n"
    );
}

#[test]
fn the_field_host_agrees_with_the_target_or_the_request_is_refused() {
    let fixture = Fixture::hello();
    let running = before(&fixture);
    for (line, host, fine) in [
        ("GET http://allowed.test/", "allowed.test", true),
        ("GET http://allowed.test/", "allowed.test:80", true),
        ("GET http://allowed.test:8080/", "allowed.test:8080", true),
        ("GET http://allowed.test/", "other.test", false),
        ("GET http://allowed.test/", "allowed.test:8080", false),
        ("GET http://allowed.test:8080/", "allowed.test", false),
        ("GET http://allowed.test/", "allowed.test\r\nHost: allowed.test", false),
        ("GET http://allowed.test/", "allowed.test\r\nHost: other.test", false),
        ("GET http://allowed.test/", "", false),
        ("GET http://allowed.test/", "user@allowed.test", false),
        ("CONNECT allowed.test:443", "other.test:443", false),
        ("CONNECT allowed.test:443", "allowed.test:444", false),
    ] {
        let answer = running.ask(&format!("{line} HTTP/1.1"), &format!("Host: {host}\r\n"));
        assert_eq!(answer.status, if fine { 200 } else { 403 }, "{line} {host:?}: {answer:?}");
    }
    assert_eq!(fixture.heard(3).len(), 3);
}

#[test]
fn what_is_no_request_to_a_proxy_is_refused() {
    let fixture = Fixture::hello();
    let running = before(&fixture);
    for (line, code) in [
        ("GET / HTTP/1.1", "REQUEST_WITHOUT_HOST"),
        ("OPTIONS * HTTP/1.1", "REQUEST_WITHOUT_HOST"),
        ("GET allowed.test HTTP/1.1", "REQUEST_WITHOUT_HOST"),
        ("GET //allowed.test/ HTTP/1.1", "REQUEST_WITHOUT_HOST"),
        ("GET ftp://allowed.test/ HTTP/1.1", "REQUEST_WITHOUT_HOST"),
        ("GET file:///etc/passwd HTTP/1.1", "REQUEST_WITHOUT_HOST"),
        ("GET https://allowed.test/ HTTP/1.1", "TLS_WITHOUT_TUNNEL"),
        ("CONNECT allowed.test HTTP/1.1", "HOST_PORT"),
        ("CONNECT allowed.test: HTTP/1.1", "HOST_PORT"),
        ("CONNECT allowed.test:0 HTTP/1.1", "HOST_PORT"),
        ("CONNECT allowed.test:+443 HTTP/1.1", "HOST_PORT"),
        ("CONNECT http://allowed.test:443 HTTP/1.1", "HOST_CHARACTER"),
        ("GET http://allowed.test/#x HTTP/1.1", "REQUEST_UNREADABLE"),
        ("GET http://allowed.test/ HTTP/2.0", "REQUEST_UNREADABLE"),
        ("GET http://allowed.test/ HTTP/1.1 ", "REQUEST_UNREADABLE"),
        ("GET  http://allowed.test/ HTTP/1.1", "REQUEST_UNREADABLE"),
        ("GET http://allowed.test/", "REQUEST_UNREADABLE"),
        ("GE(T http://allowed.test/ HTTP/1.1", "REQUEST_UNREADABLE"),
        (" http://allowed.test/ HTTP/1.1", "REQUEST_UNREADABLE"),
        ("PRI * HTTP/2.0", "REQUEST_UNREADABLE"),
    ] {
        let answer = running.ask(line, "");
        assert!(answer.is_refused(code), "{line}: {answer:?}");
    }
    let long = format!("{} http://allowed.test/ HTTP/1.1", "M".repeat(33));
    assert!(running.ask(&long, "").is_refused("REQUEST_UNREADABLE"));
    assert_eq!(fixture.heard(0), Vec::<String>::new());
}

#[test]
fn what_two_programs_could_read_in_two_ways_is_refused() {
    let fixture = Fixture::hello();
    let running = before(&fixture);
    let hidden = "GET http://other.test/ HTTP/1.1\r\n\r\n";
    for fields in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: 5\r\nContent-Length: 5\r\n",
        "Content-Length: 5, 5\r\n",
        "Content-Length: +5\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 0x5\r\n",
        "Content-Length: 5 5\r\n",
        "Content-Length:\r\n",
        "Content-Length: 18446744073709551616\r\n",
        "Content-Length : 5\r\n",
        "Content-Length\t: 5\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "Transfer-Encoding: \u{b}chunked\r\n",
        "Transfer-Encoding: \u{c}chunked\r\n",
        "Transfer-Encoding:\r\n chunked\r\n",
        "X: y\r\n Transfer-Encoding: chunked\r\n",
        "X: y\nTransfer-Encoding: chunked\r\n",
        "X: y\rTransfer-Encoding: chunked\r\n",
        "X: y\0\r\n",
        "\r\r\n",
        ": y\r\n",
        "X\r\n",
        "X y: z\r\n",
        "É: z\r\n",
    ] {
        let authorization = running.authorization();
        let head = format!("POST http://allowed.test/ HTTP/1.1\r\n{authorization}{fields}\r\n");
        let answer = running.say(format!("{head}{hidden}").as_bytes());
        assert!(answer.is_refused("REQUEST_UNREADABLE"), "{fields:?}: {answer:?}");
    }
    let old = "Transfer-Encoding: chunked\r\n";
    assert_eq!(running.ask("POST http://allowed.test/ HTTP/1.0", old).status, 403);
    assert_eq!(fixture.heard(0), Vec::<String>::new());
    for fields in ["Content-Length: 0\r\n", "X:\r\nY: \t\r\nZ: a\tb\r\n"] {
        assert_eq!(running.ask("POST http://allowed.test/ HTTP/1.1", fields).status, 200);
    }
}

#[test]
fn a_connection_carries_one_request_and_what_comes_after_it_is_nothing() {
    let fixture = Fixture::hello();
    let running = before(&fixture);
    let ask = |target: &str, body: &str| {
        let authorization = running.authorization();
        format!("POST http://{target}/ HTTP/1.1\r\n{authorization}{body}")
    };
    // Behind a whole body, behind no body, and behind one that says it is shorter.
    for (fields, body) in [
        ("Content-Length: 4\r\n\r\n", "body"),
        ("\r\n", ""),
        ("Transfer-Encoding: chunked\r\n\r\n", "4\r\nbody\r\n0\r\n\r\n"),
    ] {
        let second = ask("other.test", "\r\n");
        let answer =
            running.say(format!("{}{body}{second}", ask("allowed.test", fields)).as_bytes());
        assert_eq!((answer.status, answer.body.as_str()), (200, "hello"));
        assert!(answer.head.contains("\r\nConnection: close"), "{answer:?}");
        assert_eq!(running.last().0, "allowed.test");
    }
    // After the first answer was read.
    let mut socket = running.connect();
    socket.write_all(ask("allowed.test", "\r\n").as_bytes()).unwrap();
    assert_eq!(Answer::read(&mut socket).body, "hello");
    let _ = socket.write_all(ask("other.test", "\r\n").as_bytes());
    let mut rest = Vec::new();
    let _ = socket.read_to_end(&mut rest);
    assert_eq!(rest, b"");
    let heard = fixture.heard(4);
    assert_eq!(heard.len(), 4);
    assert!(heard.iter().all(|request| request.matches("HTTP/1.1").count() == 1), "{heard:?}");
}

#[test]
fn chunks_are_written_anew_and_broken_ones_break_the_request() {
    let fixture = Fixture::hello();
    let running = before(&fixture);
    let send = |body: &str| {
        let authorization = running.authorization();
        let mut socket = running.connect();
        let head = "POST http://allowed.test/ HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n";
        socket.write_all(format!("{head}{authorization}\r\n{body}").as_bytes()).unwrap();
        socket.shutdown(Shutdown::Write).unwrap();
        Answer::read(&mut socket)
    };
    let fine = send("4;name=\"value\"\r\nbody\r\n0A\r\n0123456789\r\n000\r\nX-Trailer: 1\r\n\r\n");
    assert_eq!((fine.status, fine.body.as_str()), (200, "hello"));
    let heard = fixture.heard(1);
    assert!(heard[0].ends_with("\r\n\r\n4\r\nbody\r\na\r\n0123456789\r\n0\r\n\r\n"), "{heard:?}");
    assert!(!heard[0].contains("Trailer"), "{heard:?}");
    let broken = [
        "4\r\nbody5\r\n\r\n0\r\n\r\n",
        "4\nbody\n0\n\n",
        "0x4\r\nbody\r\n0\r\n\r\n",
        "+4\r\nbody\r\n0\r\n\r\n",
        "4 \r\nbody\r\n0\r\n\r\n",
        " 4\r\nbody\r\n0\r\n\r\n",
        "\r\nbody\r\n0\r\n\r\n",
        "-1\r\n\r\n",
        "10000000000000000\r\nbody",
        "4\r\nbo",
        "4\r\nbody\r\n",
        "4\r\nbody\r\n0\r\n",
        "4\r\nbody\r\n0\r\nX: y\rz\r\n\r\n",
    ];
    for body in broken {
        let answer = send(body);
        assert_ne!(answer.status, 200, "{body:?}: {answer:?}");
    }
    let flood = format!("4\r\nbody\r\n0\r\n{}", "X: y\r\n".repeat(2_000));
    assert_ne!(send(&flood).status, 200);
    assert_ne!(send(&format!("4;{}\r\nbody\r\n0\r\n\r\n", "x".repeat(300))).status, 200);
    // None of them looked whole.
    let heard = fixture.heard(1 + broken.len() + 2);
    assert_eq!(heard.iter().filter(|request| request.ends_with("\r\n0\r\n\r\n")).count(), 1);
}

#[test]
fn a_body_that_is_cut_off_is_not_taken_for_the_whole() {
    let fixture = Fixture::hello();
    let running = before(&fixture);
    let authorization = running.authorization();
    let mut socket = running.connect();
    let head = "POST http://allowed.test/ HTTP/1.1\r\nContent-Length: 10\r\n";
    socket.write_all(format!("{head}{authorization}\r\nhalf").as_bytes()).unwrap();
    socket.shutdown(Shutdown::Write).unwrap();
    assert_ne!(Answer::read(&mut socket).status, 200);
    assert!(fixture.heard(1)[0].ends_with("\r\n\r\nhalf"));
}

#[test]
fn a_program_that_waits_before_it_sends_its_body_is_told_to_go_on() {
    let fixture = Fixture::hello();
    let running = before(&fixture);
    let authorization = running.authorization();
    let mut socket = running.connect();
    let head =
        "POST http://allowed.test/ HTTP/1.1\r\nContent-Length: 4\r\nExpect: 100-continue\r\n";
    socket.write_all(format!("{head}{authorization}\r\n").as_bytes()).unwrap();
    let mut go_on = [0; 25];
    socket.read_exact(&mut go_on).unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    socket.write_all(b"body").unwrap();
    assert_eq!(Answer::read(&mut socket).body, "hello");
    assert!(fixture.heard(1)[0].ends_with("\r\nConnection: close\r\n\r\nbody"));
    // One that may not send it is told so before.
    let refused = running.ask("POST http://other.test/ HTTP/1.1", "Expect: 100-continue\r\n");
    assert!(refused.is_refused("HOST_NOT_DECLARED"), "{refused:?}");
}

#[test]
fn answers_come_as_they_are_but_for_what_is_between_neighbours() {
    for (answer, status, body) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"),
        ("HTTP/1.1 200 OK\r\n\r\nuntil the end", 200, "until the end"),
        ("HTTP/1.0 404 Not Found\r\nContent-Length: 4\r\n\r\nnone", 404, "none"),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nT: 1\r\n\r\n",
            200,
            "5\r\nhello\r\n0\r\n\r\n",
        ),
        ("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\nhi", 200, "hi"),
        ("HTTP/1.1 204 No Content\r\n\r\nsmuggled", 204, ""),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", 304, ""),
        // More than it says: whatever it is, it is no part of the answer.
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\n\r\n", 200, "hello"),
        // Less than it says: the program sees that it is cut off.
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", 200, "hello"),
        ("HTTP/1.1 302 Found\r\nLocation: http://other.test/\r\n\r\n", 302, ""),
    ] {
        let fixture = Fixture::answering(answer);
        let got = before(&fixture).ask("GET http://allowed.test/ HTTP/1.1", "");
        assert_eq!((got.status, got.body.as_str()), (status, body), "{answer:?}: {got:?}");
        assert!(got.head.ends_with("\r\nConnection: close"), "{answer:?}: {got:?}");
    }
    let fixture = Fixture::answering(
        "HTTP/1.1 200 OK\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\n\
         Proxy-Authenticate: Basic\r\nSet-Cookie: a=b\r\nContent-Length: 5\r\n\r\n",
    );
    let got = before(&fixture).ask("HEAD http://allowed.test/ HTTP/1.1", "");
    assert_eq!(
        got.head,
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nSet-Cookie: a=b\r\nConnection: close"
    );
    let refused = before(&fixture).ask("HEAD http://other.test/ HTTP/1.1", "");
    assert_eq!((refused.status, refused.body.as_str()), (403, ""));
}

#[test]
fn what_is_no_answer_is_502() {
    for answer in [
        "",
        "hello",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/2 200\r\n\r\n",
        "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nX: y\0\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n",
    ] {
        let fixture = Fixture::answering(answer);
        let got = before(&fixture).ask("GET http://allowed.test/ HTTP/1.1", "");
        assert_eq!(got.status, 502, "{answer:?}: {got:?}");
        assert!(got.body.ends_with("[NO_ANSWER]\n"), "{answer:?}: {got:?}");
    }
    let endless = Fixture::new(|mut socket| {
        while socket.write_all(b"HTTP/1.1 103 Early Hints\r\n\r\n").is_ok() {}
        Vec::new()
    });
    assert_eq!(before(&endless).ask("GET http://allowed.test/ HTTP/1.1", "").status, 502);
}

#[test]
fn a_large_body_and_its_echo_pass_at_the_same_time() {
    // A host that answers while it still hears: neither side may wait for the other to be done.
    let fixture = Fixture::new(|mut socket| {
        let mut heard = Vec::new();
        let mut byte = [0];
        while !heard.ends_with(b"\r\n\r\n") && socket.read(&mut byte).unwrap() > 0 {
            heard.push(byte[0]);
        }
        socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 20000000\r\n\r\n").unwrap();
        let mut left = 20_000_000;
        let mut piece = vec![0; 65_536];
        while left > 0 {
            let read = socket.read(&mut piece).unwrap();
            assert!(read > 0);
            socket.write_all(&piece[..read]).unwrap();
            left -= read;
        }
        heard
    });
    let running = before(&fixture);
    let authorization = running.authorization();
    let mut socket = running.connect();
    let head = "PUT http://allowed.test/ HTTP/1.1\r\nContent-Length: 20000000\r\n";
    socket.write_all(format!("{head}{authorization}\r\n").as_bytes()).unwrap();
    let mut sending = socket.try_clone().unwrap();
    let sender = std::thread::spawn(move || sending.write_all(&vec![b'x'; 20_000_000]).unwrap());
    let answer = Answer::read(&mut socket);
    sender.join().unwrap();
    assert_eq!((answer.status, answer.body.len()), (200, 20_000_000));
}

#[test]
fn a_host_that_answers_before_it_has_heard_everything_is_heard() {
    let fixture = Fixture::new(|mut socket| {
        let mut head = vec![0; 512];
        let read = socket.read(&mut head).unwrap();
        let answer = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig";
        socket.write_all(answer).unwrap();
        head.truncate(read);
        head
    });
    let running = before(&fixture);
    let authorization = running.authorization();
    let mut socket = running.connect();
    let head = "PUT http://allowed.test/ HTTP/1.1\r\nContent-Length: 100\r\n";
    socket.write_all(format!("{head}{authorization}\r\n").as_bytes()).unwrap();
    let answer = Answer::read(&mut socket);
    assert_eq!((answer.status, answer.body.as_str()), (413, "big"));
}

/// Pieces of requests, whole and broken.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "GET ",
        "POST ",
        "CONNECT ",
        "http://allowed.test",
        "http://other.test",
        "allowed.test:443",
        "/",
        "/x",
        " ",
        " HTTP/1.1",
        " HTTP/1.0",
        "\r\n",
        "\r\n",
        "\r\n",
        "\r\n\r\n",
        "\n",
        "\r",
        "Host: allowed.test\r\n",
        "Host: other.test\r\n",
        "Content-Length: 4\r\n",
        "Content-Length: 40\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Connection: close\r\n",
        "4\r\nbody\r\n",
        "0\r\n\r\n",
        "body",
        "X: y\r\n",
        " Z: y\r\n",
        "\0",
        "@",
        "%",
    ]);
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

#[test]
fn whatever_is_said_the_host_hears_one_request_to_itself_or_nothing() {
    let fixture = Fixture::new(|mut socket| {
        let mut heard = read_request(&mut socket);
        let _ = socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
        let _ = socket.shutdown(Shutdown::Write);
        let _ = socket.read_to_end(&mut heard);
        heard
    });
    let running = before(&fixture);
    let authorization = running.authorization();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(1_500));
    let line = prop_oneof![
        3 => Just("POST http://allowed.test/ HTTP/1.1\r\n".to_owned()),
        1 => pieces(),
    ];
    let said = runner.run(&(line, pieces(), pieces()), |(line, fields, rest)| {
        // No tunnel: what goes through one is nobody's business.
        let said = format!("{line}{authorization}{fields}\r\n{rest}").replace("CONNECT ", "PUT ");
        let mut socket = running.connect();
        socket.write_all(said.as_bytes()).unwrap();
        socket.shutdown(Shutdown::Write).unwrap();
        Answer::read(&mut socket);
        Ok(())
    });
    said.unwrap();
    let allowed = running.proxy.attempts();
    let reached = allowed.kept.iter().filter(|attempt| attempt.allowed).count();
    assert!(reached > 100, "{reached}");
    for heard in fixture.heard(reached) {
        let (head, body) = heard.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{heard:?}"));
        let lines: Vec<&str> = head.split("\r\n").collect();
        assert!(lines[0].ends_with(" HTTP/1.1") || lines[0].ends_with(" HTTP/1.0"), "{heard:?}");
        assert_eq!(lines[1], "Host: allowed.test", "{heard:?}");
        assert_eq!(lines.last(), Some(&"Connection: close"), "{heard:?}");
        let framing = lines.iter().filter(|line| {
            line.starts_with("Content-Length") || line.starts_with("Transfer-Encoding")
        });
        let lower = head.to_lowercase();
        match framing.collect::<Vec<_>>().as_slice() {
            [] => assert_eq!(body, "", "{heard:?}"),
            [one] => {
                let length = one.strip_prefix("Content-Length: ").map(|n| n.parse().unwrap());
                assert!(length.is_none_or(|length: usize| body.len() <= length), "{heard:?}");
            }
            more => panic!("{more:?}"),
        }
        assert!(!lower.contains("proxy-authorization"), "{heard:?}");
    }
}
