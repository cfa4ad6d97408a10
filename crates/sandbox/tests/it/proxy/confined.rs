//! A confined program and its proxy together.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use concertina_sandbox::network::Proxy;
use concertina_sandbox::{Confinement, Limits, Network, Program, Tier, choose, probe, run};

use super::kit::{Fixture, PATIENCE, Tables, leads_to, rules};

/// Says to this very program that it is the confined one, and what it is to try.
const TRIES: &str = "CONCERTINA_TEST_TRIES";
const TEST: &str = "proxy::confined::s43_a_confined_program_reaches_what_is_declared_by_its_proxy_and_nothing_else";
/// `ENETUNREACH`: there is no route to it.
const UNREACHABLE: &str = "errno 101";

#[test]
fn s43_a_confined_program_reaches_what_is_declared_by_its_proxy_and_nothing_else() {
    if let Ok(tries) = std::env::var(TRIES) {
        return be_confined(&tries);
    }
    let fixture = Fixture::hello();
    let own = std::env::current_exe().unwrap().canonicalize().unwrap();
    let tables = Arc::new(Tables::new(&["allowed.test", "evil.test"], fixture.address));
    let proxy = Proxy::new(rules(&["allowed.test"], &["GET", "CONNECT"]), tables).unwrap();
    let confinement = Confinement {
        read: vec![],
        write: vec![],
        execute: vec![own.clone()],
        protect: vec![],
        closed: vec![],
        pins: vec![],
        network: Network::Domains(vec!["allowed.test".to_owned()]),
        at_least: Tier::L2,
        limits: Limits { time: PATIENCE, ..Limits::default() },
    };
    let machine = probe();
    if let Err(lacking) = choose(&confinement, &machine) {
        let name = TEST.rsplit("::").next().unwrap();
        eprintln!("skipped: {name}: {lacking}");
        return;
    }
    let here = fixture.address;
    let tries = [
        ("GET http://allowed.test/".to_owned(), "200"),
        ("CONNECT ALLOWED.test.:443".to_owned(), "200"),
        ("POST http://allowed.test/".to_owned(), "403"),
        ("GET http://evil.test/".to_owned(), "403"),
        ("GET http://allowed.test.evil.test/".to_owned(), "403"),
        ("CONNECT evilallowed.test:443".to_owned(), "403"),
        (format!("CONNECT {here}"), "403"),
        (format!("CONNECT localhost:{}", here.port()), "403"),
        ("CONNECT 169.254.169.254:80".to_owned(), "403"),
        ("without-token GET http://allowed.test/".to_owned(), "407"),
        ("dial 9.9.9.9:443".to_owned(), UNREACHABLE),
        ("dial 169.254.169.254:80".to_owned(), UNREACHABLE),
        // Its own loopback has the proxy on it and nothing else.
        (format!("dial {here}"), "errno 111"),
    ];
    let listed: Vec<&str> = tries.iter().map(|(try_, _)| try_.as_str()).collect();
    let program = Program {
        argv: [own.to_str().unwrap(), TEST, "--exact", "--nocapture", "--test-threads=1"]
            .map(str::to_owned)
            .to_vec(),
        directory: "/".into(),
        environment: vec![(TRIES.to_owned(), listed.join("\n"))],
    };
    let finished = run(&machine, &program, &confinement, Some(&proxy), &|| false).unwrap();
    let said = String::from_utf8_lossy(&finished.stdout);
    let outcomes: Vec<(&str, &str)> =
        said.lines().filter_map(|line| line.strip_prefix("tried ")?.split_once(" => ")).collect();
    let expected: Vec<_> = tries.iter().map(|(try_, came)| (try_.as_str(), *came)).collect();
    assert_eq!(outcomes, expected, "{finished:?}");
    assert_eq!(fixture.heard(2).len(), 2);
    // All that was asked of the proxy is known, and whatever was dialled past it is no attempt.
    let codes: Vec<_> = proxy.attempts().kept.iter().map(|attempt| attempt.code).collect();
    assert_eq!(codes.len(), 10, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == "ALLOWED").count(), 2, "{codes:?}");
}

/// What the confined one does: tries, and says what came of each.
fn be_confined(tries: &str) {
    let (proxy, token) = leads_to(&std::env::var("HTTPS_PROXY").unwrap());
    println!();
    for line in tries.lines() {
        let came = match line.strip_prefix("dial ") {
            Some(address) => dial(address.parse().unwrap()),
            None => match line.strip_prefix("without-token ") {
                Some(line) => ask(&proxy, line, ""),
                None => ask(&proxy, line, &token),
            },
        };
        println!("tried {line} => {came}");
    }
}

fn dial(address: SocketAddr) -> String {
    match TcpStream::connect_timeout(&address, Duration::from_secs(3)) {
        Ok(_) => "open".to_owned(),
        Err(error) => error.raw_os_error().map_or(error.to_string(), |n| format!("errno {n}")),
    }
}

/// The status of the answer.
fn ask(proxy: &str, line: &str, token: &str) -> String {
    let mut socket = TcpStream::connect(proxy).unwrap();
    socket.write_all(format!("{line} HTTP/1.1\r\n{token}\r\n").as_bytes()).unwrap();
    let mut answer = [0; 12];
    socket.read_exact(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).split(' ').nth(1).unwrap_or_default().to_owned()
}
