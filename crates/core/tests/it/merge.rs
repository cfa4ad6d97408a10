use concertina_core::catalog::{Precedence, Scope, SkillEntry, Snapshot, merge};
use concertina_types::Digest;
use proptest::prelude::*;

use crate::kit::{skill, skill_id};

fn at(scope: Scope, id: &str, path: &str, content: &str) -> SkillEntry {
    SkillEntry {
        scope,
        path: path.into(),
        head: Digest::of(content.as_bytes()),
        ..skill(id, content)
    }
}

fn same(a: &SkillEntry, b: &SkillEntry) -> bool {
    a.head == b.head
}

fn catalogue(candidates: Vec<SkillEntry>, precedence: Precedence) -> Snapshot {
    let merged = merge(candidates, precedence, &same);
    Snapshot { skills: merged.skills, shadowed: merged.shadowed, ..Snapshot::default() }
}

#[test]
fn b03_the_profile_decides_whose_skill_has_the_name() {
    let both = || vec![at(Scope::User, "x", "u/x", "mine"), at(Scope::Project, "x", "p/x", "ours")];
    let nearer = catalogue(both(), Precedence::AgentSkills);
    assert_eq!(&*nearer.skills[0].path, "p/x");
    assert_eq!(nearer.shadowed[0].entry.id, skill_id("user/x"));
    assert_eq!(nearer.shadowed[0].by, skill_id("x"));
    let claude = catalogue(both(), Precedence::Claude);
    assert_eq!(&*claude.skills[0].path, "u/x");
    assert_eq!(claude.shadowed[0].entry.id, skill_id("project/x"));
}

#[test]
fn a08_both_of_one_name_are_reachable_by_qualified_id() {
    let snapshot = catalogue(
        vec![at(Scope::User, "x", "u/x", "mine"), at(Scope::Project, "x", "p/x", "ours")],
        Precedence::AgentSkills,
    );
    let path = |id: &str| snapshot.skill(&skill_id(id)).map(|entry| entry.path.to_string());
    assert_eq!(path("x").as_deref(), Some("p/x"));
    assert_eq!(path("project/x").as_deref(), Some("p/x"));
    assert_eq!(path("user/x").as_deref(), Some("u/x"));
    assert_eq!(path("plugin/x"), None);
}

#[test]
fn b34_the_same_bytes_are_one_entry() {
    let snapshot = catalogue(
        vec![
            at(Scope::User, "x", "u/x", "same"),
            at(Scope::Project, "x", "p/x", "same"),
            at(Scope::Project, "x", "p/x", "same"),
        ],
        Precedence::AgentSkills,
    );
    assert_eq!(snapshot.skills.len(), 1);
    assert_eq!(snapshot.skills[0].also_at, ["u/x".into()]);
    assert!(snapshot.shadowed.is_empty());
}

#[test]
fn a_name_of_the_greatest_length_is_not_lost() {
    let name = "长".repeat(66);
    let all = (0..30).map(|i| at(Scope::User, &name, &format!("u/{i}"), &format!("{i}"))).collect();
    let snapshot = catalogue(all, Precedence::AgentSkills);
    assert_eq!(snapshot.shadowed.len(), 29);
    for shadowed in &snapshot.shadowed {
        assert_eq!(snapshot.skill(&shadowed.entry.id), Some(&shadowed.entry));
    }
}

fn candidates() -> impl Strategy<Value = Vec<SkillEntry>> {
    let scope = prop::sample::select(vec![
        Scope::Managed,
        Scope::Project,
        Scope::Nested,
        Scope::User,
        Scope::Plugin,
    ]);
    // Names that look like qualified ids are there to collide with them.
    let name = prop::sample::select(vec!["a", "b", "user/a", "user-2/a", "project/b"]);
    prop::collection::vec((scope, name, 0_u8..4), 0..40).prop_map(|all| {
        all.into_iter()
            .enumerate()
            .map(|(i, (scope, name, content))| {
                at(scope, name, &format!("{i:02}"), &content.to_string())
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn l01_the_order_of_candidates_does_not_matter(all in candidates().prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle()))) {
        let (a, b) = all;
        prop_assert_eq!(catalogue(a, Precedence::AgentSkills), catalogue(b, Precedence::AgentSkills));
    }

    #[test]
    fn nothing_is_lost_and_each_is_reachable(all in candidates()) {
        let snapshot = catalogue(all.clone(), Precedence::AgentSkills);
        let entries: Vec<&SkillEntry> = snapshot.skills.iter().chain(snapshot.shadowed.iter().map(|shadowed| &shadowed.entry)).collect();
        for candidate in &all {
            let holder = entries.iter().filter(|entry| entry.path == candidate.path || entry.also_at.contains(&candidate.path)).collect::<Vec<_>>();
            prop_assert_eq!(holder.len(), 1);
            prop_assert_eq!(holder[0].head, candidate.head);
        }
        for entry in &entries {
            prop_assert_eq!(snapshot.skill(&entry.id), Some(*entry));
        }
        // The winner of a name is one of the least rank.
        for winner in &snapshot.skills {
            let least = all.iter().filter(|entry| entry.id == winner.id).map(|entry| Precedence::AgentSkills.rank(entry.scope)).min();
            prop_assert_eq!(Some(Precedence::AgentSkills.rank(winner.scope)), least);
        }
    }

    #[test]
    fn b08_a_skill_more_changes_only_entries_of_its_name(all in candidates()) {
        let before = catalogue(all.clone(), Precedence::AgentSkills);
        let mut more = all;
        more.push(at(Scope::Additional, "new", "new", "new"));
        let mut after = catalogue(more, Precedence::AgentSkills);
        after.skills.retain(|entry| entry.id != skill_id("new"));
        prop_assert_eq!(before, after);
    }
}
