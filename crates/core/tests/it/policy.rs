use std::sync::LazyLock;

use concertina_core::policy::{Effect, Grant, Pattern, Policy, Rules};
use proptest::prelude::*;

use crate::kit::tool_name;

const REFERENCES: [&str; 6] =
    ["tool:sql/query", "tool:sql/drop", "tool:shell", "skill:deploy", "skill:p/x", "file:a.rs"];

/// Made once: to compile a pattern takes longer than all else here.
static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    [
        "*",
        "tool:*",
        "tool:sql/*",
        "tool:s?ell",
        "skill:deploy",
        "skill:*",
        "tool:{shell,sql/drop}",
        "file:*",
    ]
    .map(|text| Pattern::new(text).unwrap())
    .into()
});

fn pattern() -> impl Strategy<Value = Pattern> {
    prop::sample::select(PATTERNS.as_slice())
}

fn rules() -> impl Strategy<Value = Rules> {
    let patterns = || prop::collection::vec(pattern(), 0..3);
    (patterns(), patterns(), patterns()).prop_map(|(allow, ask, deny)| Rules { allow, ask, deny })
}

fn policy() -> impl Strategy<Value = Policy> {
    (rules(), prop::option::of(rules())).prop_map(|(rules, own)| Policy {
        rules,
        principals: own.map(|rules| ("ann".to_owned(), rules)).into_iter().collect(),
        unreadable: None,
    })
}

/// What the page on policy says, read aloud.
fn oracle(policy: &Policy, reference: &str) -> Effect {
    let hit = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(reference));
    let own = policy.principals.get("ann");
    let all = [Some(&policy.rules), own];
    let any = |pick: fn(&Rules) -> &[Pattern]| all.iter().flatten().any(|rules| hit(pick(rules)));
    let left_out = own.is_some_and(|rules| {
        !rules.allow.is_empty()
            && !hit(&rules.allow)
            && !hit(&rules.ask)
            && (reference.starts_with("tool:") || reference.starts_with("skill:"))
    });
    if any(|rules| &rules.deny) || left_out {
        Effect::Deny
    } else if any(|rules| &rules.ask) {
        Effect::Ask
    } else {
        Effect::Allow
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40_000))]

    #[test]
    fn verdicts_are_those_of_the_oracle_and_reasons_lead_with_theirs(policy in policy()) {
        for reference in REFERENCES {
            let verdict = policy.decide("ann", reference);
            prop_assert_eq!(verdict.effect, oracle(&policy, reference), "{}", reference);
            let code = verdict.reasons.first().map(|reason| reason.code.as_str());
            match verdict.effect {
                Effect::Deny => prop_assert!(matches!(code, Some("POLICY_DENIES" | "PRINCIPAL_NOT_GIVEN"))),
                Effect::Ask => prop_assert_eq!(code, Some("POLICY_ASKS")),
                Effect::Allow => {}
            }
        }
    }

    #[test]
    fn one_more_deny_never_allows_and_order_never_matters(policy in policy(), deny in pattern(), own in any::<bool>()) {
        let mut stricter = policy.clone();
        let rules = if own { stricter.principals.entry("ann".into()).or_default() } else { &mut stricter.rules };
        rules.deny.push(deny);
        let mut turned = policy.clone();
        for rules in std::iter::once(&mut turned.rules).chain(turned.principals.values_mut()) {
            rules.allow.reverse();
            rules.ask.reverse();
            rules.deny.reverse();
        }
        for reference in REFERENCES {
            let effect = policy.decide("ann", reference).effect;
            prop_assert!(stricter.decide("ann", reference).effect >= effect);
            prop_assert_eq!(turned.decide("ann", reference).effect, effect);
        }
    }

    #[test]
    fn k14_a_narrowed_grant_never_covers_more(layers in prop::collection::vec(prop::collection::vec(pattern(), 0..3), 0..4), more in prop::collection::vec(pattern(), 0..3)) {
        let grant = layers.iter().fold(Grant::everything(), |grant, layer| grant.narrowed(layer.clone()));
        let child = grant.narrowed(more.clone());
        for name in ["sql/query", "shell", "tool:shell", "x"] {
            let name = tool_name(name);
            let expected = grant.covers(&name) && more.iter().any(|pattern| pattern.matches(name.as_str()));
            prop_assert_eq!(child.covers(&name), expected);
        }
    }
}

#[test]
fn an_unreadable_policy_denies_everything() {
    let policy = Policy { unreadable: Some("concertina.toml:3".into()), ..Policy::default() };
    for reference in REFERENCES {
        let verdict = policy.decide("ann", reference);
        assert_eq!(verdict.effect, Effect::Deny);
        assert_eq!(verdict.reasons[0].code, "POLICY_UNREADABLE");
        assert_eq!(verdict.reasons[0].source, "concertina.toml:3");
    }
}

#[test]
fn b28_a_hostile_pattern_is_an_error_and_nothing_worse() {
    for text in ["", "  ", "[", "a{b", &"?".repeat(100_000), &"{a,b}".repeat(20_000)] {
        assert!(Pattern::new(text).is_err(), "{}", text.chars().take(20).collect::<String>());
    }
    let many = "{a,b}".repeat(24);
    assert!(Pattern::new(&many).unwrap().matches(&"ab".repeat(12)));
    let slow = Pattern::new(&"*a".repeat(500)).unwrap();
    assert!(!slow.matches(&format!("{}b", "a".repeat(1_900))));
}

#[test]
fn a_name_with_special_characters_covers_itself() {
    assert!(Pattern::new("skill:a[b]").unwrap().matches("skill:a[b]"));
}

#[test]
fn rules_survive_being_written_down() {
    let policy: Policy = serde_json::from_str(r#"{"rules":{"deny":["tool:sql/*"]}}"#).unwrap();
    let text = serde_json::to_string(&policy).unwrap();
    assert_eq!(serde_json::from_str::<Policy>(&text).unwrap(), policy);
    assert!(serde_json::from_str::<Policy>(r#"{"rules":{"deny":["["]}}"#).is_err());
}
