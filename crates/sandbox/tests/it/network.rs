//! A network with nothing in it but the gate.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::Mutex;
use std::time::Duration;

use concertina_sandbox::{Confinement, Gate, Network, SandboxError, Tier, run};
use libc::{ECONNREFUSED, ENETUNREACH, EPERM};

use crate::scene::{Hold, Scene, holds, is_refusal, said};

/// Answers every line with one of its own, and remembers what was asked.
#[derive(Default)]
struct Echo {
    asked: Mutex<Vec<String>>,
}

impl Gate for Echo {
    fn environment(&self, address: SocketAddr) -> Vec<(String, String)> {
        vec![("HTTP_PROXY".to_owned(), format!("http://{address}"))]
    }

    fn serve(&self, listener: TcpListener, is_stopped: &(dyn Fn() -> bool + Sync)) {
        listener.set_nonblocking(true).unwrap();
        while !is_stopped() {
            let Ok((mut stream, _)) = listener.accept() else {
                std::thread::sleep(Duration::from_millis(2));
                continue;
            };
            stream.set_nonblocking(false).unwrap();
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap();
            self.asked.lock().unwrap().push(line.trim().to_owned());
            stream.write_all(format!("heard {line}").as_bytes()).unwrap();
        }
    }
}

fn networked(scene: &Scene, hold: &Hold) -> Confinement {
    Confinement {
        network: Network::Domains(vec!["example.com".to_owned()]),
        ..scene.confinement(hold.tier)
    }
}

fn all_holds(test: &str) -> Vec<Hold> {
    holds(test).into_iter().filter(|hold| hold.machine.has_namespaces()).collect()
}

#[test]
fn k04_the_gate_is_reached() {
    for hold in all_holds("k04_the_gate_is_reached") {
        let scene = Scene::new();
        let gate = Echo::default();
        let program = scene.program(&["ask-gate", "example.com:443"]);
        let confinement = networked(&scene, &hold);
        let finished = run(&hold.machine, &program, &confinement, Some(&gate), &|| false).unwrap();
        let answer = String::from_utf8_lossy(&finished.stdout);
        assert_eq!(answer.trim(), "heard CONNECT example.com:443", "{}: {finished:?}", hold.name);
        assert_eq!(*gate.asked.lock().unwrap(), ["CONNECT example.com:443"]);
        assert!(finished.held.tier >= Tier::L2);
    }
}

#[test]
fn s43_nothing_but_the_gate_is_reached() {
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = outside.local_addr().unwrap().port().to_string();
    for hold in all_holds("s43_nothing_but_the_gate_is_reached") {
        let scene = Scene::new();
        let gate = Echo::default();
        let confinement = networked(&scene, &hold);
        let try_it = |attack: &[&str]| {
            let program = scene.program(attack);
            said(&run(&hold.machine, &program, &confinement, Some(&gate), &|| false).unwrap())
        };
        for attack in [&["dial", "1.1.1.1:443"][..], &["dial", "[2606:4700:4700::1111]:443"]] {
            let said = try_it(attack);
            assert!(
                is_refusal(&said, &[ENETUNREACH, libc::EADDRNOTAVAIL]),
                "{}: {attack:?}: {said:?}",
                hold.name
            );
        }
        for attack in [&["tcp", &*port][..], &["dial", &format!("127.0.0.1:{port}")]] {
            let said = try_it(attack);
            assert!(is_refusal(&said, &[ECONNREFUSED]), "{}: {attack:?}: {said:?}", hold.name);
        }
        for kind in ["udp", "mptcp", "sctp", "icmp", "packet", "netlink", "vsock", "alg"] {
            let said = try_it(&[kind, &port]);
            assert!(is_refusal(&said, &[EPERM]), "{}: {kind}: {said:?}", hold.name);
        }
        assert!(is_refusal(&try_it(&["unix", &scene.text("o/s")]), &[EPERM]));
        assert_eq!(gate.asked.lock().unwrap().len(), 0);
    }
    outside.set_nonblocking(true).unwrap();
    assert!(outside.accept().is_err(), "nobody came");
}

#[test]
fn hosts_without_a_gate_are_an_error() {
    for hold in all_holds("hosts_without_a_gate_are_an_error") {
        let scene = Scene::new();
        let confinement = networked(&scene, &hold);
        let result = run(&hold.machine, &scene.program(&["say"]), &confinement, None, &|| false);
        assert!(matches!(result, Err(SandboxError::NoGate)), "{result:?}");
    }
}

/// A gate that fails answers nobody; the run ends as it would.
#[test]
fn a_gate_that_panics_costs_only_its_answers() {
    struct Broken;
    impl Gate for Broken {
        fn environment(&self, _: SocketAddr) -> Vec<(String, String)> {
            vec![]
        }
        fn serve(&self, _: TcpListener, _: &(dyn Fn() -> bool + Sync)) {
            panic!("on purpose");
        }
    }
    for hold in all_holds("a_gate_that_panics_costs_only_its_answers") {
        let scene = Scene::new();
        let confinement = networked(&scene, &hold);
        let program = scene.program(&["exit", "7"]);
        let finished =
            run(&hold.machine, &program, &confinement, Some(&Broken), &|| false).unwrap();
        assert_eq!(finished.exit, 7, "{}", hold.name);
    }
}
