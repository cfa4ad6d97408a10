//! Hosts and the rules over them: tables of spellings, and laws against naive oracles.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use concertina_core::policy::{Host, HostRule, NetworkRules, not_public};
use concertina_types::NetworkScope;
use proptest::prelude::*;

fn host(text: &str) -> Host {
    Host::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

fn refused(text: &str) -> &'static str {
    Host::parse(text).expect_err(text).code()
}

fn scope(domains: &[&str], methods: &[&str]) -> NetworkScope {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    NetworkScope { domains: owned(domains), methods: owned(methods) }
}

fn rules(domains: &[&str], methods: &[&str]) -> NetworkRules {
    NetworkRules::new(&[scope(domains, methods)]).unwrap()
}

/// What a request is answered: `ok` or a code.
fn verdict(rules: &NetworkRules, target: &str, port: u16, method: &str) -> &'static str {
    match Host::parse(target).map(|host| rules.decide(&host, port, method)) {
        Err(error) => error.code(),
        Ok(Err(refused)) => refused.code(),
        Ok(Ok(())) => "ok",
    }
}

#[test]
fn s41_only_the_declared_host_is_covered_however_it_is_spelt() {
    let rules = rules(&["allowed.test", "*.below.test", "192.0.2.1", "[2001:db8::1]"], &[]);
    for (target, expected) in [
        ("allowed.test", "ok"),
        ("ALLOWED.Test", "ok"),
        ("allowed.test.", "ok"),
        ("a.below.test", "ok"),
        ("a.b.below.test.", "ok"),
        ("xn--bcher-kva.below.test", "ok"),
        ("192.0.2.1", "ok"),
        ("192.0.2.1.", "ok"),
        ("[2001:db8::1]", "ok"),
        ("[2001:DB8:0:0:0:0:0:1]", "ok"),
        ("allowed.test.evil.test", "HOST_NOT_DECLARED"),
        ("evilallowed.test", "HOST_NOT_DECLARED"),
        ("evil-allowed.test", "HOST_NOT_DECLARED"),
        ("a.allowed.test", "HOST_NOT_DECLARED"),
        ("test", "HOST_NOT_DECLARED"),
        ("below.test", "HOST_NOT_DECLARED"),
        ("evilbelow.test", "HOST_NOT_DECLARED"),
        ("xn--allowed-test-9kb.test", "HOST_NOT_DECLARED"),
        ("192.0.2.2", "HOST_NOT_DECLARED"),
        ("[::1]", "HOST_NOT_DECLARED"),
        ("allowed.test\0", "HOST_CHARACTER"),
        ("allowed.test\0.evil.test", "HOST_CHARACTER"),
        ("allowed.test\r\nHost: evil.test", "HOST_CHARACTER"),
        ("allowed.test\r\n", "HOST_CHARACTER"),
        ("allowed.test\t", "HOST_CHARACTER"),
        (" allowed.test", "HOST_CHARACTER"),
        ("user@allowed.test", "HOST_CHARACTER"),
        ("allowed.test@evil.test", "HOST_CHARACTER"),
        ("allowed.test%2eevil.test", "HOST_CHARACTER"),
        ("allowed.test%00", "HOST_CHARACTER"),
        ("allowed.test\\evil.test", "HOST_CHARACTER"),
        ("allowed.test/evil.test", "HOST_CHARACTER"),
        ("allowed.test#", "HOST_CHARACTER"),
        ("*.below.test", "HOST_CHARACTER"),
        ("аllowed.test", "HOST_NOT_ASCII"),
        ("allowed。test", "HOST_NOT_ASCII"),
        ("allowed.test\u{200b}", "HOST_NOT_ASCII"),
        ("allowed..test", "HOST_EMPTY_LABEL"),
        (".allowed.test", "HOST_EMPTY_LABEL"),
        ("allowed.test..", "HOST_EMPTY_LABEL"),
        (".", "HOST_EMPTY_LABEL"),
        ("", "HOST_EMPTY"),
        ("-allowed.test", "HOST_HYPHEN"),
        ("allowed-.test", "HOST_HYPHEN"),
        ("[::ffff:192.0.2.1]", "HOST_IPV4_MAPPED"),
        ("[::ffff:c000:201]", "HOST_IPV4_MAPPED"),
        ("[0:0:0:0:0:FFFF:C000:0201]", "HOST_IPV4_MAPPED"),
        ("2001:db8::1", "HOST_IPV6_FORM"),
        ("[2001:db8::1", "HOST_IPV6_FORM"),
        ("[2001:db8::1]]", "HOST_IPV6_FORM"),
        ("[2001:db8::1%eth0]", "HOST_IPV6_FORM"),
        ("[2001:db8::1%25eth0]", "HOST_IPV6_FORM"),
        ("[]", "HOST_IPV6_FORM"),
        // All of these are 192.0.2.1 to one system or another.
        ("3221225985", "HOST_IPV4_FORM"),
        ("0xc0000201", "HOST_IPV4_FORM"),
        ("0XC0000201", "HOST_IPV4_FORM"),
        ("0xc0.0x00.0x02.0x01", "HOST_IPV4_FORM"),
        ("0300.0.02.01", "HOST_IPV4_FORM"),
        ("192.0.2.01", "HOST_IPV4_FORM"),
        ("192.0.513", "HOST_IPV4_FORM"),
        ("192.513", "HOST_IPV4_FORM"),
        ("192.0.2.257", "HOST_IPV4_FORM"),
        ("192.0.2.1.5", "HOST_IPV4_FORM"),
        ("a.0x", "HOST_IPV4_FORM"),
    ] {
        assert_eq!(verdict(&rules, target, 80, "GET"), expected, "{target:?}");
    }
}

#[test]
fn advisory_11_a_trusted_domain_is_no_beginning_of_a_name() {
    let rules = rules(&["docs.python.org"], &["*"]);
    assert_eq!(verdict(&rules, "docs.python.org", 443, "CONNECT"), "ok");
    for target in
        ["docs.python.org.evil.test", "docs.python.orgevil.test", "docs.python.org-evil.test"]
    {
        assert_eq!(verdict(&rules, target, 443, "CONNECT"), "HOST_NOT_DECLARED", "{target}");
    }
    assert_eq!(verdict(&rules, "docs.python.org@evil.test", 443, "CONNECT"), "HOST_CHARACTER");
}

#[test]
fn names_are_as_long_as_dns_allows_and_no_longer() {
    let label = |n: usize| "a".repeat(n);
    let longest = [label(63), label(63), label(63), label(61)].join(".");
    assert_eq!(longest.len(), 253);
    assert_eq!(host(&format!("{longest}.")), host(&longest));
    assert_eq!(refused(&format!("{longest}a")), "HOST_TOO_LONG");
    assert_eq!(refused(&"a.".repeat(100_000)), "HOST_TOO_LONG");
    host(&format!("{}.test", label(63)));
    assert_eq!(refused(&format!("{}.test", label(64))), "HOST_LABEL_TOO_LONG");
}

#[test]
fn s08_what_covers_too_much_or_is_no_host_is_an_error_of_the_declaration() {
    for (domain, code) in [
        ("*", "NETWORK_EVERYTHING"),
        ("*:443", "NETWORK_EVERYTHING"),
        ("*.*", "NETWORK_EVERYTHING"),
        ("*.com", "NETWORK_TOP_LEVEL"),
        ("*.com.", "NETWORK_TOP_LEVEL"),
        ("*.com:443", "NETWORK_TOP_LEVEL"),
        ("*.localhost", "NETWORK_TOP_LEVEL"),
        ("*.", "HOST_EMPTY"),
        ("*example.com", "NETWORK_STAR"),
        ("a.*.example.com", "NETWORK_STAR"),
        ("example.*", "NETWORK_STAR"),
        ("**.example.com", "NETWORK_STAR"),
        ("*.192.0.2.1", "NETWORK_BELOW_ADDRESS"),
        ("*.0.2.1", "HOST_IPV4_FORM"),
        ("http://a/b", "NETWORK_ADDRESS"),
        ("https://example.com", "NETWORK_ADDRESS"),
        ("example.com/docs", "NETWORK_ADDRESS"),
        ("user@example.com", "NETWORK_ADDRESS"),
        ("example.com:", "HOST_PORT"),
        ("example.com:0", "HOST_PORT"),
        ("example.com:080", "HOST_PORT"),
        ("example.com:+80", "HOST_PORT"),
        ("example.com:65536", "HOST_PORT"),
        ("example.com:https", "HOST_PORT"),
        ("[::1]:", "HOST_PORT"),
        ("[::1]80", "HOST_IPV6_FORM"),
        ("::1", "HOST_IPV6_FORM"),
        ("${host}", "HOST_CHARACTER"),
        ("", "HOST_EMPTY"),
    ] {
        let errors = NetworkRules::new(&[scope(&[domain], &[])]).expect_err(domain);
        assert_eq!(errors[0].code(), code, "{domain}");
        assert!(!errors[0].help().is_empty(), "{domain}");
        assert!(errors[0].to_string().starts_with("permissions.network[0].domains[0]: "));
    }
    for domain in [
        "example.com",
        "*.example.com",
        "*.example.com:8443",
        "localhost",
        "localhost:1",
        "127.0.0.1:65535",
        "[::1]",
        "[::1]:8080",
        "intranet",
    ] {
        rules(&[domain], &[]);
    }
}

#[test]
fn every_error_of_a_declaration_is_told_at_once() {
    let scopes = [scope(&["ok.test", "*", "*.com"], &["GET", "SAY HI", ""]), scope(&["a/b"], &[])];
    let errors = NetworkRules::new(&scopes).unwrap_err();
    let told: Vec<_> = errors.iter().map(|error| (error.code(), error.to_string())).collect();
    assert_eq!(told.len(), 5, "{told:?}");
    assert_eq!(told[2].0, "NETWORK_METHOD");
    assert_eq!(told[2].1, "permissions.network[0].methods[1]: `SAY HI` is no method of HTTP");
    assert!(told[4].1.starts_with("permissions.network[1].domains[0]: "), "{told:?}");
}

#[test]
fn messages_repeat_no_control_character_and_no_flood() {
    let text = format!("a\x1b[2J\u{202e}{}", "b".repeat(10_000));
    let message = Host::parse(&text).unwrap_err().to_string();
    assert!(message.chars().all(|c| c == '…' || c == ' ' || c.is_ascii_graphic()), "{message}");
    assert!(message.len() < 300, "{}", message.len());
    for text in ["user:secret@a.test", "secret@@a.test", "@secret@a.test:1", "secret@a..test"] {
        let message = Host::parse(text).unwrap_err().to_string();
        assert!(message.contains("…@a") && !message.contains("secret"), "{message}");
        let message = text.parse::<HostRule>().unwrap_err().to_string();
        assert!(!message.contains("secret"), "{message}");
    }
}

#[test]
fn k04_methods_that_read_are_apart_from_methods_that_write() {
    let table: [(&[&str], &str, &str); 17] = [
        (&[], "GET", "ok"),
        (&[], "HEAD", "ok"),
        (&[], "OPTIONS", "ok"),
        (&[], "POST", "METHOD_NOT_DECLARED"),
        (&[], "TRACE", "METHOD_NOT_DECLARED"),
        (&[], "get", "METHOD_NOT_DECLARED"),
        (&["POST"], "POST", "ok"),
        (&["post"], "POST", "ok"),
        (&["POST"], "GET", "METHOD_NOT_DECLARED"),
        (&["*"], "PROPFIND", "ok"),
        // A tunnel hides the method, so it takes all that could be inside.
        (&[], "CONNECT", "TUNNEL_NOT_DECLARED"),
        (&["GET", "POST"], "CONNECT", "TUNNEL_NOT_DECLARED"),
        (&["POST", "PUT", "PATCH"], "CONNECT", "TUNNEL_NOT_DECLARED"),
        (&["POST", "PUT", "PATCH", "DELETE"], "CONNECT", "ok"),
        (&["GET", "CONNECT"], "CONNECT", "ok"),
        (&["GET", "CONNECT"], "POST", "METHOD_NOT_DECLARED"),
        (&["*"], "CONNECT", "ok"),
    ];
    for (methods, method, expected) in table {
        let rules = rules(&["a.test"], methods);
        assert_eq!(verdict(&rules, "a.test", 80, method), expected, "{methods:?} {method}");
    }
}

#[test]
fn a_refusal_says_what_would_allow_it_and_that_does() {
    let declared = scope(&["a.test", "b.test:80"], &["GET"]);
    for (target, port, method, code) in [
        ("c.test", 80, "GET", "HOST_NOT_DECLARED"),
        ("b.test", 81, "GET", "PORT_NOT_DECLARED"),
        ("a.test", 80, "POST", "METHOD_NOT_DECLARED"),
        ("a.test", 443, "CONNECT", "TUNNEL_NOT_DECLARED"),
    ] {
        let rules = NetworkRules::new(std::slice::from_ref(&declared)).unwrap();
        let refused = rules.decide(&host(target), port, method).unwrap_err();
        assert_eq!(refused.code(), code);
        // What the help says, done.
        let help = refused.help();
        let mut more = declared.clone();
        match help.strip_prefix("add `").and_then(|rest| rest.split_once("` to the domains")) {
            Some((domain, _)) => more.domains.push(domain.to_owned()),
            None => more.methods.push(help.split(' ').nth(1).unwrap().to_owned()),
        }
        let rules = NetworkRules::new(&[more]).unwrap();
        assert_eq!(rules.decide(&host(target), port, method), Ok(()), "{help}");
    }
}

#[test]
fn nothing_declared_is_nothing_allowed() {
    assert!(NetworkRules::default().is_empty());
    assert!(NetworkRules::new(&[scope(&[], &["*"])]).unwrap().is_empty());
    assert_eq!(verdict(&NetworkRules::default(), "a.test", 80, "GET"), "HOST_NOT_DECLARED");
}

#[test]
fn addresses_of_this_machine_and_of_its_networks_are_not_public() {
    for (address, what) in [
        ("0.0.0.0", "unspecified"),
        ("0.1.2.3", "unspecified"),
        ("10.255.255.255", "private"),
        ("100.64.0.1", "private to a provider"),
        ("100.127.255.255", "private to a provider"),
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("168.63.129.16", "a cloud's metadata"),
        ("169.254.169.254", "link-local"),
        ("172.31.255.255", "private"),
        ("192.168.0.1", "private"),
        ("192.0.0.192", "reserved"),
        ("198.19.255.255", "for benchmarks"),
        ("224.0.0.1", "multicast"),
        ("239.255.255.255", "multicast"),
        ("255.255.255.255", "reserved"),
        ("::", "unspecified"),
        ("::1", "loopback"),
        ("::2", "reserved"),
        ("::127.0.0.1", "reserved"),
        ("::ffff:8.8.8.8", "an IPv4 address in disguise"),
        ("2002:7f00:1::", "an IPv4 address in disguise"),
        ("2001::1", "reserved"),
        ("2001:db8::1", "for documentation"),
        ("fd00:ec2::254", "private"),
        ("fe80::1", "link-local"),
        ("fec0::1", "private"),
        ("ff02::1", "multicast"),
        ("4000::1", "reserved"),
        ("64:ff9b::127.0.0.1", "loopback"),
        ("64:ff9b::10.0.0.1", "private"),
        ("64:ff9b:1::8.8.8.8", "reserved"),
    ] {
        assert_eq!(not_public(address.parse().unwrap()), Some(what), "{address}");
    }
    for address in [
        "1.1.1.1",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "223.255.255.255",
        "2606:4700::1111",
        "2a00::1",
        "64:ff9b::8.8.8.8",
    ] {
        assert_eq!(not_public(address.parse().unwrap()), None, "{address}");
    }
}

/// Texts near to hosts: pieces that mean something, strung together.
fn near_host() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a", "A", "b", "test", "com", ".", ".", ".", "-", "_", "0x", "1", "255", "256", "010", "%",
        "@", ":", "[", "]", "::", "ffff", "*", " ", "\0", "\r\n", "é", "。", "xn--", "/",
    ]);
    prop::collection::vec(piece, 0..9).prop_map(|pieces| pieces.concat())
}

/// What a name is, read aloud: compared with the parser on everything without brackets.
fn oracle_name(text: &str) -> Option<String> {
    let text = text.to_lowercase();
    let text = text.strip_suffix('.').unwrap_or(&text);
    let labels: Vec<&str> = text.split('.').collect();
    let fine = |label: &&str| {
        (1..=63).contains(&label.len())
            && label.chars().all(|c| "abcdefghijklmnopqrstuvwxyz0123456789-_".contains(c))
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let last = labels[labels.len() - 1];
    let number = last.chars().all(|c| c.is_ascii_digit())
        || last.strip_prefix("0x").is_some_and(|rest| rest.chars().all(|c| c.is_ascii_hexdigit()));
    (labels.iter().all(fine) && text.len() <= 253 && !number).then(|| text.to_owned())
}

/// A short name out of few labels, so that names are often below each other.
fn name() -> impl Strategy<Value = String> {
    let label = prop::sample::select(vec!["a", "b", "ab", "ba", "test"]);
    prop::collection::vec(label, 1..5).prop_map(|labels| labels.join("."))
}

/// A rule over such names: `(below, name, port)`.
fn rule() -> impl Strategy<Value = (bool, String, Option<u16>)> {
    (any::<bool>(), name(), prop::option::of(1_u16..4))
        .prop_map(|(below, name, port)| (below && name.contains('.'), name, port))
}

fn written((below, name, port): &(bool, String, Option<u16>)) -> String {
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}{name}{port}", if *below { "*." } else { "" })
}

/// What a rule covers, on texts that are known to be plain.
fn oracle_covers(rule: &(bool, String, Option<u16>), host: &str, port: u16) -> bool {
    let (below, name, own) = rule;
    let host_fits = if *below { host.ends_with(&format!(".{name}")) } else { host == name };
    host_fits && own.is_none_or(|own| own == port)
}

const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT"];

type Scope = (Vec<(bool, String, Option<u16>)>, BTreeSet<&'static str>);

fn scopes() -> impl Strategy<Value = Vec<Scope>> {
    let methods = prop::collection::btree_set(prop::sample::select(METHODS.to_vec()), 0..6);
    prop::collection::vec((prop::collection::vec(rule(), 0..3), methods), 0..3)
}

fn checked(scopes: &[Scope]) -> NetworkRules {
    let scopes: Vec<_> = scopes
        .iter()
        .map(|(rules, methods)| NetworkScope {
            domains: rules.iter().map(written).collect(),
            methods: methods.iter().map(|&method| method.to_owned()).collect(),
        })
        .collect();
    NetworkRules::new(&scopes).unwrap()
}

fn oracle_allows(scopes: &[Scope], host: &str, port: u16, method: &str) -> bool {
    scopes.iter().any(|(rules, methods)| {
        let by_method = match methods.len() {
            0 => ["GET", "HEAD", "OPTIONS"].contains(&method),
            _ => methods.contains(method),
        };
        let writes = ["POST", "PUT", "PATCH", "DELETE"].iter().all(|m| methods.contains(m));
        rules.iter().any(|rule| oracle_covers(rule, host, port))
            && (by_method || (method == "CONNECT" && writes))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn names_are_those_of_the_oracle(text in near_host()) {
        if let Ok(Host::Name(name)) = Host::parse(&text) {
            prop_assert_eq!(Some(name.as_str().to_owned()), oracle_name(&text), "{:?}", text);
        } else {
            prop_assert_eq!(oracle_name(&text), None, "{:?}", text);
        }
    }

    #[test]
    fn a_host_is_written_as_it_is_read(text in near_host(), port in 1_u16..) {
        if let Ok(host) = Host::parse(&text) {
            prop_assert_eq!(Host::parse(&host.to_string()), Ok(host.clone()));
            prop_assert_eq!(Host::parse_with_port(&format!("{host}:{port}")), Ok((host, Some(port))));
        }
        if let Ok(rule) = text.parse::<HostRule>() {
            prop_assert_eq!(rule.to_string().parse(), Ok(rule));
        }
    }

    #[test]
    fn no_text_is_too_strange_to_be_refused(text in any::<String>()) {
        for text in [text.clone(), format!("[{text}]"), format!("*.{text}:1")] {
            let _ = (Host::parse(&text), Host::parse_with_port(&text), text.parse::<HostRule>());
        }
    }

    #[test]
    fn addresses_are_read_as_the_standard_library_reads_them(bits in any::<u128>(), mapped in any::<bool>()) {
        let v4 = Ipv4Addr::from_bits(u32::try_from(bits >> 96).unwrap());
        prop_assert_eq!(Host::parse(&v4.to_string()), Ok(Host::V4(v4)));
        let v6 = if mapped { v4.to_ipv6_mapped() } else { Ipv6Addr::from_bits(bits) };
        let read = Host::parse(&format!("[{v6}]"));
        prop_assert_eq!(read.is_ok(), v6.to_ipv4_mapped().is_none());
    }

    #[test]
    fn what_the_standard_library_calls_special_is_not_public(bits in any::<u128>(), high in 0_u8..=255) {
        let v4 = Ipv4Addr::from_bits(u32::try_from(bits >> 96).unwrap());
        if v4.is_private() || v4.is_loopback() || v4.is_link_local() || v4.is_multicast()
            || v4.is_broadcast() || v4.is_unspecified() || v4.is_documentation()
        {
            prop_assert!(not_public(IpAddr::V4(v4)).is_some(), "{}", v4);
        }
        // Few random addresses are special: the first byte comes from elsewhere.
        let v6 = Ipv6Addr::from_bits(bits >> 8 | u128::from(high) << 120);
        if v6.is_loopback() || v6.is_multicast() || v6.is_unspecified() || v6.is_unique_local()
            || v6.is_unicast_link_local() || v6.to_ipv4_mapped().is_some()
        {
            prop_assert!(not_public(IpAddr::V6(v6)).is_some(), "{}", v6);
        }
    }

    #[test]
    fn decisions_are_those_of_the_oracle(
        scopes in scopes(), host in name(), port in 1_u16..4, method in prop::sample::select(METHODS.to_vec()),
    ) {
        let decided = checked(&scopes).decide(&Host::parse(&host).unwrap(), port, method);
        prop_assert_eq!(decided.is_ok(), oracle_allows(&scopes, &host, port, method), "{:?}", decided);
    }

    #[test]
    fn order_never_matters_and_one_scope_less_never_allows_more(
        scopes in scopes(), host in name(), port in 1_u16..4, method in prop::sample::select(METHODS.to_vec()),
    ) {
        let host = Host::parse(&host).unwrap();
        let all = checked(&scopes).decide(&host, port, method).is_ok();
        let mut turned = scopes.clone();
        turned.reverse();
        prop_assert_eq!(checked(&turned).decide(&host, port, method).is_ok(), all);
        if let [_, rest @ ..] = scopes.as_slice() {
            prop_assert!(all || checked(rest).decide(&host, port, method).is_err());
        }
    }
}
