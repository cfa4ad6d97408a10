//! Who may be reached, by whom, and where a name leads.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use concertina_core::policy::NetworkRules;
use concertina_sandbox::Gate as _;
use concertina_sandbox::network::{Direct, Proxy};

use super::kit::{Fixture, PUBLIC, Running, Tables, rules};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A proxy before one fixture that has the name `allowed.test` and some others.
fn before(fixture: &Fixture, rules: NetworkRules) -> (Running, Arc<Tables>) {
    let names = ["allowed.test", "a.below.test", "xn--bcher-kva.below.test", "evil.test"];
    let tables = Arc::new(Tables::new(&names, fixture.address));
    (Running::new(rules, Arc::clone(&tables) as _), tables)
}

#[test]
fn s41_the_allowed_domain_works_however_it_is_spelt() {
    let fixture = Fixture::hello();
    let (running, tables) = before(&fixture, rules(&["allowed.test", "*.below.test"], &["*"]));
    for (target, name) in [
        ("allowed.test", "allowed.test"),
        ("ALLOWED.TEST", "allowed.test"),
        ("allowed.test.", "allowed.test"),
        ("a.below.test", "a.below.test"),
        ("xn--bcher-kva.below.test", "xn--bcher-kva.below.test"),
    ] {
        let plain = running.ask(&format!("GET http://{target}/x HTTP/1.1"), "");
        assert_eq!((plain.status, plain.body.as_str()), (200, "hello"), "{target}: {plain:?}");
        assert_eq!(running.last(), (name.into(), Some(80), "GET".into(), true, "ALLOWED"));
        let (mut socket, opened) = running.tunnel(&format!("{target}:443"));
        assert!(opened.starts_with("HTTP/1.1 200 "), "{target}: {opened}");
        std::io::Write::write_all(&mut socket, b"GET / HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!(super::kit::Answer::read(&mut socket).body, "hello", "{target}");
        assert_eq!(running.last(), (name.into(), Some(443), "CONNECT".into(), true, "ALLOWED"));
        // What was matched is what is looked up and dialled.
        let log = tables.log();
        let [.., first, at, second, then] = log.as_slice() else { panic!("{log:?}") };
        assert_eq!((first, second), (&format!("look up {name}"), &format!("look up {name}")));
        assert_eq!((at.as_str(), then.as_str()), ("dial 9.9.9.9:80", "dial 9.9.9.9:443"));
    }
}

#[test]
fn s41_everything_else_is_403_and_reaches_nothing() {
    let fixture = Fixture::hello();
    let (running, tables) = before(&fixture, rules(&["allowed.test", "*.below.test"], &["*"]));
    for (target, code) in [
        ("evil.test", "HOST_NOT_DECLARED"),
        ("allowed.test.evil.test", "HOST_NOT_DECLARED"),
        ("evilallowed.test", "HOST_NOT_DECLARED"),
        ("a.allowed.test", "HOST_NOT_DECLARED"),
        ("below.test", "HOST_NOT_DECLARED"),
        ("xn--allowed-test-9kb.test", "HOST_NOT_DECLARED"),
        ("127.0.0.1", "HOST_NOT_DECLARED"),
        ("localhost", "HOST_NOT_DECLARED"),
        ("[::1]", "HOST_NOT_DECLARED"),
        ("user@allowed.test", "HOST_CHARACTER"),
        ("allowed.test@evil.test", "HOST_CHARACTER"),
        ("user:secret@allowed.test", "HOST_CHARACTER"),
        ("allowed.test%00.evil.test", "HOST_CHARACTER"),
        ("allowed.test\\.evil.test", "HOST_CHARACTER"),
        ("allowed.test..", "HOST_EMPTY_LABEL"),
        ("", "HOST_EMPTY"),
        ("2130706433", "HOST_IPV4_FORM"),
        ("0x7f000001", "HOST_IPV4_FORM"),
        ("0177.0.0.1", "HOST_IPV4_FORM"),
        ("127.1", "HOST_IPV4_FORM"),
        ("[::ffff:127.0.0.1]", "HOST_IPV4_MAPPED"),
        ("[::ffff:9.9.9.9]", "HOST_IPV4_MAPPED"),
        ("::1", "HOST_IPV6_FORM"),
        ("[::1%25lo]", "HOST_IPV6_FORM"),
        ("allowed.test\0", "REQUEST_UNREADABLE"),
        ("allowed.test\0.evil.test", "REQUEST_UNREADABLE"),
        ("allowed.test\r\nX: y", "REQUEST_UNREADABLE"),
        ("allowed.test\r\n", "REQUEST_UNREADABLE"),
        ("allowed.test\n", "REQUEST_UNREADABLE"),
        ("allowed.test\t", "REQUEST_UNREADABLE"),
        ("allowed.test ", "REQUEST_UNREADABLE"),
        ("аllowed.test", "REQUEST_UNREADABLE"),
    ] {
        for line in [format!("CONNECT {target}:443"), format!("GET http://{target}:443/")] {
            let answer = running.ask(&format!("{line} HTTP/1.1"), "");
            assert!(answer.is_refused(code), "{line:?}: {answer:?}");
            let (.., allowed, told) = running.last();
            assert_eq!((allowed, told), (false, code), "{line:?}");
        }
    }
    assert_eq!((tables.log(), fixture.heard(0)), (vec![], vec![]));
    assert!(!format!("{:?}", running.attempts()).contains("secret"));
}

#[test]
fn advisory_11_a_trusted_domain_is_no_beginning_of_a_name() {
    let fixture = Fixture::hello();
    let names = ["docs.python.org", "docs.python.org.evil.test"];
    let tables = Arc::new(Tables::new(&names, fixture.address));
    let running = Running::new(rules(&["docs.python.org"], &["CONNECT", "GET"]), tables);
    let answer = running.ask("CONNECT docs.python.org.evil.test:443 HTTP/1.1", "");
    assert!(answer.is_refused("HOST_NOT_DECLARED"), "{answer:?}");
    assert_eq!(running.ask("GET http://docs.python.org/ HTTP/1.1", "").status, 200);
}

#[test]
fn s44_without_the_token_it_is_407() {
    let fixture = Fixture::hello();
    let (running, tables) = before(&fixture, rules(&["allowed.test"], &["*"]));
    let right = running.authorization();
    let wrong = right.replace("Basic ", "Bearer ");
    // The last of its characters is that of a digit, never `A`.
    let mut nearly = right.trim_end().to_owned();
    nearly.pop();
    nearly.push_str("A\r\n");
    let longer = format!("{}=\r\n", right.trim_end());
    let twice = format!("{right}{right}");
    let lower = right.to_lowercase();
    for line in ["CONNECT allowed.test:443 HTTP/1.1", "GET http://allowed.test/ HTTP/1.1", "x"] {
        for fields in
            ["", "Proxy-Authorization: Basic\r\n", &wrong, &nearly, &longer, &twice, &lower]
        {
            let answer = running.say(format!("{line}\r\n{fields}\r\n").as_bytes());
            assert_eq!(answer.status, 407, "{line} {fields}: {answer:?}");
            assert!(answer.head.contains("\r\nProxy-Authenticate: Basic realm="), "{answer:?}");
            assert!(answer.body.contains("[TOKEN_MISSING]"), "{answer:?}");
            assert_eq!(
                running.last(),
                (String::new(), None, String::new(), false, "TOKEN_MISSING")
            );
        }
    }
    // A token of another run is no token of this one.
    let (other, _) = before(&fixture, rules(&["allowed.test"], &["*"]));
    let foreign = format!("GET http://allowed.test/ HTTP/1.1\r\n{}\r\n", other.authorization());
    assert_eq!(running.say(foreign.as_bytes()).status, 407);
    assert_eq!(tables.log(), Vec::<String>::new());
    let schemes = format!(
        "GET http://allowed.test/ HTTP/1.1\r\n{}\r\n",
        right.replace("Basic", "BASIC").replace("Proxy-Authorization", "PROXY-AUTHORIZATION"),
    );
    assert_eq!(running.say(schemes.as_bytes()).status, 200);
}

#[test]
fn the_token_has_256_bits_and_stands_nowhere_but_in_the_environment() {
    let proxy = Proxy::new(rules(&["allowed.test"], &[]), Arc::new(Direct)).unwrap();
    let environment = proxy.environment(([127, 0, 0, 1], 3128).into());
    let names: Vec<&str> = environment.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "NO_PROXY",
        "no_proxy",
    ];
    assert_eq!(names, expected);
    let (_, url) = &environment[0];
    let token = url.strip_prefix("http://concertina:").unwrap();
    let token = token.strip_suffix("@127.0.0.1:3128").unwrap();
    assert_eq!((token.len(), token.bytes().all(|b| b.is_ascii_hexdigit())), (64, true));
    assert!(
        environment.iter().all(|(name, value)| value == url
            || (value.is_empty() && name.eq_ignore_ascii_case("no_proxy")))
    );
    assert!(!format!("{proxy:?}").contains(token));
}

#[test]
fn k04_hosts_of_this_machine_are_reached_where_they_are_declared_by_the_declared_methods() {
    let [read, write, other] = [Fixture::hello(), Fixture::hello(), Fixture::hello()];
    let scope = |domain: String, methods: &[&str]| concertina_types::NetworkScope {
        domains: vec![domain],
        methods: methods.iter().map(|method| (*method).to_owned()).collect(),
    };
    let rules = NetworkRules::new(&[
        scope(format!("127.0.0.1:{}", read.address.port()), &[]),
        scope(format!("localhost:{}", write.address.port()), &["POST", "CONNECT"]),
    ]);
    let running = Running::new(rules.unwrap(), Arc::new(Direct));
    let (read_at, write_at) = (read.address, format!("localhost:{}", write.address.port()));
    let other_at = other.address;
    for (method, host, expected) in [
        ("GET", read_at.to_string(), None),
        ("OPTIONS", read_at.to_string(), None),
        ("POST", read_at.to_string(), Some("METHOD_NOT_DECLARED")),
        ("DELETE", read_at.to_string(), Some("METHOD_NOT_DECLARED")),
        ("get", read_at.to_string(), Some("METHOD_NOT_DECLARED")),
        ("POST", write_at.clone(), None),
        ("GET", write_at.clone(), Some("METHOD_NOT_DECLARED")),
        ("GET", other_at.to_string(), Some("PORT_NOT_DECLARED")),
        ("GET", format!("localhost:{}", other_at.port()), Some("PORT_NOT_DECLARED")),
        ("GET", format!("127.0.0.2:{}", read_at.port()), Some("HOST_NOT_DECLARED")),
        ("GET", format!("localhost:{}", read_at.port()), Some("PORT_NOT_DECLARED")),
        ("GET", "example.com".into(), Some("HOST_NOT_DECLARED")),
    ] {
        let answer = running.ask(&format!("{method} http://{host}/ HTTP/1.1"), "");
        match expected {
            None => assert_eq!((answer.status, answer.body.as_str()), (200, "hello"), "{host}"),
            Some(code) => assert!(answer.is_refused(code), "{method} {host}: {answer:?}"),
        }
        assert_eq!(running.last().4, expected.unwrap_or("ALLOWED"), "{method} {host}");
    }
    // A tunnel hides the method: only where that was declared.
    let refused = running.ask(&format!("CONNECT {read_at} HTTP/1.1"), "");
    assert!(refused.is_refused("TUNNEL_NOT_DECLARED"), "{refused:?}");
    assert!(refused.body.contains("cannot be seen"), "{refused:?}");
    assert!(refused.body.contains("add CONNECT to the methods for `127.0.0.1`"), "{refused:?}");
    assert!(running.tunnel(&write_at).1.starts_with("HTTP/1.1 200 "));
    assert_eq!((read.heard(2).len(), write.heard(1).len(), other.heard(0).len()), (2, 1, 0));
}

#[test]
fn a_field_that_asks_for_another_method_is_judged_as_that_method() {
    let fixture = Fixture::hello();
    let (running, _) = before(&fixture, rules(&["allowed.test"], &["GET", "POST", "PATCH"]));
    for (field, expected) in [
        ("X-HTTP-Method-Override: DELETE", "METHOD_NOT_DECLARED"),
        ("x-http-method: delete", "METHOD_NOT_DECLARED"),
        ("X-Method-Override: PATCH\r\nX-Method-Override: DELETE", "METHOD_NOT_DECLARED"),
        ("X-HTTP-Method-Override: PATCH, DELETE", "REQUEST_UNREADABLE"),
        ("X-HTTP-Method-Override: patch", "ALLOWED"),
    ] {
        running.ask("POST http://allowed.test/ HTTP/1.1", &format!("{field}\r\n"));
        assert_eq!(running.last().4, expected, "{field}");
    }
}

#[test]
fn a_name_is_looked_up_once_and_the_address_that_was_judged_is_dialled() {
    let fixture = Fixture::hello();
    // Whoever owns the name changes it after the first look.
    let answers = vec![vec![PUBLIC], vec![LOOPBACK]];
    let tables = Arc::new(Tables::answering([("allowed.test", answers)], fixture.address));
    let running = Running::new(rules(&["allowed.test"], &["*"]), Arc::clone(&tables) as _);
    assert_eq!(running.ask("GET http://allowed.test/ HTTP/1.1", "").status, 200);
    assert_eq!(tables.log(), ["look up allowed.test", "dial 9.9.9.9:80"]);
    for line in ["GET http://allowed.test/ HTTP/1.1", "CONNECT allowed.test:443 HTTP/1.1"] {
        let answer = running.ask(line, "");
        assert!(answer.is_refused("ADDRESS_NOT_PUBLIC"), "{answer:?}");
        assert!(answer.body.contains("`allowed.test` leads to 127.0.0.1, which is loopback"));
    }
    assert!(!tables.log().iter().any(|line| line.starts_with("dial 127.")), "{:?}", tables.log());
}

#[test]
fn a_name_leads_to_no_address_of_this_machine_or_its_networks() {
    let fixture = Fixture::hello();
    for address in [
        "127.0.0.1",
        "0.0.0.0",
        "10.0.0.1",
        "100.100.100.200",
        "169.254.169.254",
        "172.16.0.1",
        "192.168.1.1",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::1",
        "fd00:ec2::254",
        "ff02::1",
        "::ffff:9.9.9.9",
        "64:ff9b::127.0.0.1",
    ] {
        let answers = vec![vec![address.parse().unwrap()]];
        let tables = Arc::new(Tables::answering([("allowed.test", answers)], fixture.address));
        let running = Running::new(rules(&["allowed.test"], &["*"]), Arc::clone(&tables) as _);
        let answer = running.ask("GET http://allowed.test/ HTTP/1.1", "");
        assert!(answer.is_refused("ADDRESS_NOT_PUBLIC"), "{address}: {answer:?}");
        assert_eq!(tables.log(), ["look up allowed.test"], "{address}");
    }
    // Of several addresses those are dialled that are public.
    let answers = vec![vec![LOOPBACK, PUBLIC]];
    let tables = Arc::new(Tables::answering([("allowed.test", answers)], fixture.address));
    let running = Running::new(rules(&["allowed.test"], &["*"]), Arc::clone(&tables) as _);
    assert_eq!(running.ask("GET http://allowed.test/ HTTP/1.1", "").status, 200);
    assert_eq!(tables.log(), ["look up allowed.test", "dial 9.9.9.9:80"]);
}

#[test]
fn localhost_is_this_machine_and_never_looked_up() {
    let fixture = Fixture::hello();
    let tables = Arc::new(Tables::new(&["localhost"], fixture.address));
    let running = Running::new(rules(&["localhost"], &[]), Arc::clone(&tables) as _);
    let answer = running.ask("GET http://LocalHost.:81/ HTTP/1.1", "");
    assert_eq!((answer.status, running.last().4), (502, "ALLOWED"), "{answer:?}");
    assert_eq!(tables.log(), ["dial 127.0.0.1:81", "dial [::1]:81"]);
}

#[test]
fn what_cannot_be_found_or_reached_is_said() {
    let fixture = Fixture::hello();
    let nobody = "8.8.8.8".parse().unwrap();
    let names = [("nobody.test", vec![vec![nobody]]), ("empty.test", vec![vec![]])];
    let tables = Arc::new(Tables::answering(names, fixture.address));
    let running =
        Running::new(rules(&["*.test.example", "nobody.test", "empty.test"], &[]), tables);
    for (host, code) in [
        ("nobody.test", "HOST_UNREACHABLE"),
        ("empty.test", "NAME_NOT_FOUND"),
        ("a.test.example", "NAME_NOT_FOUND"),
    ] {
        let answer = running.ask(&format!("GET http://{host}/ HTTP/1.1"), "");
        assert_eq!(answer.status, 502, "{host}");
        assert!(answer.body.ends_with(&format!("[{code}]\n")), "{host}: {answer:?}");
    }
}

#[test]
fn attempts_are_kept_up_to_a_thousand_and_counted_beyond() {
    let fixture = Fixture::hello();
    let (running, _) = before(&fixture, rules(&["allowed.test"], &[]));
    for _ in 0..1_001 {
        running.ask("GET http://evil.test/?secret=1 HTTP/1.1", "");
    }
    running.ask("GET http://allowed.test/ HTTP/1.1", "");
    let attempts = running.proxy.attempts();
    assert_eq!((attempts.kept.len(), attempts.more_denied, attempts.more_allowed), (1_000, 1, 1));
    let first = &attempts.kept[0];
    assert_eq!(first.reason, "no domain of permissions.network covers `evil.test`");
    assert!(!format!("{attempts:?}").contains("secret"));
}
