use std::collections::{BTreeMap, BTreeSet};

use concertina_core::procedure::{closure, missing};
use proptest::prelude::*;

type Graph = BTreeMap<String, Vec<String>>;

fn graph() -> impl Strategy<Value = Graph> {
    prop::collection::vec((0_u8..12, 0_u8..12), 0..20).prop_map(|edges| {
        let mut graph = Graph::new();
        for (from, to) in edges {
            graph.entry(from.to_string()).or_default().push(to.to_string());
        }
        graph
    })
}

fn needs(graph: &Graph, name: &str) -> Vec<String> {
    graph.get(name).cloned().unwrap_or_default()
}

/// Everything that can be reached from `name`, itself only where it needs itself.
fn reach(graph: &Graph, name: &str) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let mut todo = needs(graph, name);
    while let Some(next) = todo.pop() {
        if seen.insert(next.clone()) {
            todo.extend(needs(graph, &next));
        }
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn j16_a_closure_is_all_that_is_needed_and_in_order(graph in graph()) {
        let requires = |name: &str| needs(&graph, name);
        let reached = reach(&graph, "0");
        let cyclic = reached.iter().chain([&"0".to_owned()]).any(|name| reach(&graph, name).contains(name));
        match closure("0", &requires) {
            Ok(order) => {
                prop_assert!(!cyclic);
                let mut expected = reached;
                expected.insert("0".to_owned());
                prop_assert_eq!(order.iter().cloned().collect::<BTreeSet<_>>(), expected.clone());
                prop_assert_eq!(order.len(), expected.len());
                for (at, name) in order.iter().enumerate() {
                    for need in needs(&graph, name) {
                        prop_assert!(order[..at].contains(&need));
                    }
                }
            }
            Err(cycle) => {
                prop_assert!(cyclic);
                prop_assert_eq!(cycle.0.first(), cycle.0.last());
                for pair in cycle.0.windows(2) {
                    prop_assert!(needs(&graph, &pair[0]).contains(&pair[1]), "{}", cycle);
                }
            }
        }
    }
}

#[test]
fn j16_a_cycle_is_printed() {
    let graph: Graph = [("a", "b"), ("b", "c"), ("c", "b")]
        .map(|(from, to)| (from.to_owned(), vec![to.to_owned()]))
        .into();
    let cycle = closure("a", &|name| needs(&graph, name)).unwrap_err();
    assert_eq!(cycle.to_string(), "these skills require each other: b → c → b");
    let itself = closure("x", &|_| vec!["x".to_owned()]).unwrap_err();
    assert_eq!(itself.to_string(), "these skills require each other: x → x");
}

#[test]
fn a_chain_of_100_000_is_followed_to_its_end() {
    let requires = |name: &str| {
        let n: u32 = name.parse().unwrap();
        if n < 100_000 { vec![(n + 1).to_string()] } else { vec![] }
    };
    let order = closure("0", &requires).unwrap();
    assert_eq!(order.len(), 100_001);
    assert_eq!(order[0], "100000");
}

#[test]
fn what_is_missing_is_what_was_not_opened() {
    let graph: Graph = [("c", vec!["a", "b"])]
        .map(|(from, to)| (from.to_owned(), to.into_iter().map(str::to_owned).collect()))
        .into();
    let requires = |name: &str| needs(&graph, name);
    assert_eq!(missing("c", &requires, &|name| name == "a").unwrap(), ["b"]);
    assert!(missing("c", &requires, &|_| true).unwrap().is_empty());
}
