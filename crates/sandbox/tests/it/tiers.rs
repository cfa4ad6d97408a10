//! How tightly a program is held, and what a machine says of itself.

use concertina_sandbox::{
    Confinement, Machine, Namespaces, Network, Pin, Substitute, Tier, choose, self_test,
};
use concertina_types::Digest;

use crate::scene::{holds, machine, nothing};

fn able() -> Machine {
    let mut able = Machine::without_a_sandbox("Linux 6.8.0");
    able.landlock = 6;
    able.seccomp = true;
    able.namespaces = Namespaces::Unprivileged;
    able
}

#[test]
fn the_tier_is_the_highest_that_anything_asks_for() {
    let pin = Pin { path: "/a".into(), digest: Digest::of(b"") };
    let cases = [
        (nothing(), Tier::L1, "it was asked for"),
        (Confinement { read: vec!["/a".into()], ..nothing() }, Tier::L1, "it was asked for"),
        (Confinement { write: vec!["/a".into()], ..nothing() }, Tier::L2, "it may write files"),
        (
            Confinement { network: Network::Domains(vec![]), ..nothing() },
            Tier::L2,
            "it may reach hosts",
        ),
        (
            Confinement { write: vec!["/a".into()], at_least: Tier::L3, ..nothing() },
            Tier::L3,
            "it was asked for",
        ),
        (
            Confinement { pins: vec![pin], write: vec!["/a".into()], ..nothing() },
            Tier::L3,
            "it runs files as they were approved",
        ),
    ];
    for (confinement, tier, reason) in cases {
        let choice = choose(&confinement, &able()).unwrap();
        assert_eq!((choice.tier, choice.reason), (tier, reason), "{confinement:?}");
        assert_eq!(choice.substitutes, []);
    }
}

#[test]
fn what_takes_the_place_of_a_missing_feature_is_said() {
    for abi in 3..6 {
        let mut old = able();
        old.landlock = abi;
        assert_eq!(choose(&nothing(), &old).unwrap().substitutes, [Substitute::SignalsByNamespace]);
        old.namespaces = Namespaces::Absent { reason: String::new() };
        assert_eq!(choose(&nothing(), &old).unwrap().substitutes, [Substitute::NoSignals]);
    }
}

/// Never a lower tier for more grants, on any machine.
#[test]
fn more_grants_never_lower_the_tier() {
    let mut machines = vec![];
    for landlock in 0..8 {
        for namespaces in [Namespaces::Unprivileged, Namespaces::Absent { reason: String::new() }] {
            let mut machine = able();
            machine.landlock = landlock;
            machine.namespaces = namespaces;
            machines.push(machine);
        }
    }
    for machine in machines {
        for bits in 0..64_u32 {
            let with = |bits: u32| Confinement {
                write: if bits & 1 != 0 { vec!["/w".into()] } else { vec![] },
                network: if bits & 2 != 0 { Network::Domains(vec![]) } else { Network::None },
                read: if bits & 4 != 0 { vec!["/r".into()] } else { vec![] },
                execute: if bits & 8 != 0 { vec!["/x".into()] } else { vec![] },
                at_least: [Tier::L1, Tier::L2, Tier::L3, Tier::L3][(bits >> 4) as usize],
                ..nothing()
            };
            for more in 0..4 {
                let (less, more) =
                    (choose(&with(bits), &machine), choose(&with(bits | more), &machine));
                match (less, more) {
                    (Ok(less), Ok(more)) => assert!(more.tier >= less.tier),
                    (Err(_), Ok(more)) => panic!("{more:?} where less is refused"),
                    (_, Err(error)) => assert_eq!(error.code(), "SANDBOX_UNAVAILABLE"),
                }
            }
        }
    }
}

#[test]
fn a_machine_says_what_it_has() {
    let said = able().to_string();
    for word in ["Linux 6.8.0", "Landlock: version 6", "seccomp: present", "user namespace"] {
        assert!(said.contains(word), "{said}");
    }
    assert!(Machine::without_a_sandbox("Plan 9").to_string().contains("Landlock: absent"));
    assert_ne!(machine().key("a"), machine().key("b"));
}

#[test]
fn a_machine_tests_itself() {
    for hold in holds("a_machine_tests_itself") {
        let escapes = self_test(&hold.machine, hold.tier).unwrap();
        assert!(escapes.len() >= 6, "{escapes:?}");
        for escape in escapes {
            assert!(escape.is_held, "{}: {}", hold.name, escape.name);
        }
    }
    // And says so where nothing can be held.
    let error = self_test(&Machine::without_a_sandbox("Plan 9"), Tier::L1).unwrap_err();
    assert_eq!(error.code(), "SANDBOX_UNAVAILABLE");
}
