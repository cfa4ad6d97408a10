//! What was known before anything was asked: what it may change, and what it never does.

use std::cell::Cell;
use std::collections::BTreeSet;

use concertina_core::catalog::search::{
    Answer, Index, Prior, Query, SearchDocument, Similar, Usage,
};
use concertina_types::Ref;
use proptest::prelude::*;

use crate::search::{names, rivals, skill};

fn reference(text: &str) -> Ref {
    text.parse().unwrap()
}

/// Two rivals that words cannot part, one that words put far ahead, and one that has none of them.
fn harbour() -> Index {
    Index::build([
        skill("berths", "Plans where ships moor"),
        skill("buoys", "Plans where ships turn"),
        skill("ships", "Plans where ships go when the harbour of ships is full"),
        skill("tides", "Names the next high water"),
    ])
}

const WISH: &str = "plans where ships of the harbour go";

/// Counts of `opened` after so many searches that found all of the harbour.
fn usage(opened: &str, times: u32) -> Usage {
    let mut usage = Usage::default();
    for _ in 0..times {
        for hit in ["skill:berths", "skill:buoys", "skill:ships", "skill:tides"] {
            usage.count(&reference(hit), hit == opened);
        }
    }
    usage
}

fn weighed(index: &Index, text: &str, usage: &Usage) -> Answer {
    let factor = |key: &Ref| usage.factor(key);
    index.find(&Query { prior: Some(&factor), ..Query::new(text) })
}

#[test]
fn l09_what_was_opened_after_it_was_found_moves_up_among_close_rivals_only() {
    let index = harbour();
    let plain = index.find(&Query::new(WISH));
    assert_eq!(names(&plain), ["skill:ships", "skill:berths", "skill:buoys"]);
    let buoys = weighed(&index, WISH, &usage("skill:buoys", 1));
    assert_eq!(names(&buoys), ["skill:ships", "skill:buoys", "skill:berths"]);
    let often = weighed(&index, WISH, &usage("skill:buoys", 100_000));
    assert_eq!(names(&often), ["skill:ships", "skill:buoys", "skill:berths"]);
    // Holding no word it is not found however often it was opened.
    assert_eq!(weighed(&index, WISH, &usage("skill:tides", 100_000)).ranking().len(), 3);
}

#[test]
fn l09_where_nothing_was_counted_or_opened_nothing_changes() {
    let index = harbour();
    let plain = index.find(&Query::new(WISH));
    assert_eq!(weighed(&index, WISH, &Usage::default()), plain);
    let mut found = Usage::default();
    found.count(&reference("skill:buoys"), false);
    assert_eq!(weighed(&index, WISH, &found), plain);
    // What is opened as often as everything says nothing either.
    let mut alike = Usage::default();
    for hit in ["skill:berths", "skill:buoys"] {
        alike.count(&reference(hit), true);
    }
    assert_eq!(weighed(&index, WISH, &alike), plain);
}

#[test]
fn l09_parts_of_a_skill_count_as_the_skill_and_results_not_at_all() {
    let mut usage = Usage::default();
    usage.count(&reference("skill:buoys#lamps"), true);
    usage.count(&reference("ev:1"), true);
    usage.count(&reference("skill:berths"), false);
    assert_eq!(usage.of(&reference("skill:buoys")), usage.of(&reference("skill:buoys@1-3")));
    assert_eq!(
        (usage.of(&reference("skill:buoys")).opened, usage.of(&reference("ev:1")).found),
        (1, 0)
    );
    assert!(usage.factor(&reference("skill:buoys#paint")) > 1.0);
}

#[test]
fn l09_more_openings_say_more_and_none_says_everything() {
    let buoys = |times| usage("skill:buoys", times).factor(&reference("skill:buoys"));
    let factors = [0, 1, 10, 1_000, 100_000].map(buoys);
    assert!(factors.is_sorted() && factors[1] > 1.0, "{factors:?}");
    assert!(factors[4] < 1.15 && factors[1] < 1.03, "{factors:?}");
    let berths = |times| usage("skill:buoys", times).factor(&reference("skill:berths"));
    assert!(berths(1) < 1.0 && berths(1_000) > 1.0 / 1.15, "{}", berths(1_000));
}

#[test]
fn l09_a_prior_is_a_part_of_its_own_in_an_explanation() {
    let index = harbour();
    let usage = usage("skill:buoys", 5);
    let factor = |key: &Ref| usage.factor(key);
    let query = Query { prior: Some(&factor), ..Query::new(WISH) };
    let explanation = index.explain(&query);
    for explained in &explanation.ranked {
        let sum: f32 = explained.points.iter().map(|points| points.points).sum();
        let sum = sum + explained.likeness - explained.lowered + explained.prior;
        assert!((sum - explained.score).abs() < 1e-3, "{explained:?}");
        let is_raised = explained.reference == reference("skill:buoys");
        assert_eq!(explained.prior > 0.0, is_raised, "{explained:?}");
    }
    let plain = index.explain(&Query::new(WISH));
    assert_eq!(explanation.confidence, plain.confidence);
    assert!(plain.ranked.iter().all(|explained| explained.prior == 0.0));
}

#[test]
fn a_closer_reading_of_the_request_outdoes_a_prior() {
    let index = Index::build(rivals());
    let request = "The lesson plan with goals for the lesson is done, now exercises on it.";
    let factor = |key: &Ref| if *key == reference("skill:lesson-plan") { 9.0 } else { 0.1 };
    let answer = index.find(&Query { prior: Some(&factor), ..Query::new(request) });
    assert_eq!(names(&answer)[0], "skill:exercise-set");
}

fn sentence() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "stock", "report", "refund", "parcels", "sending", "getUser", "海报", "打印", "the", "x9",
    ]);
    prop::collection::vec(word, 0..8).prop_map(|words| words.join(" "))
}

fn documents(refusing: bool) -> impl Strategy<Value = Vec<SearchDocument>> {
    let not_for = prop::collection::vec(sentence(), 0..if refusing { 3 } else { 1 });
    let document = (0u8..30, sentence(), sentence(), not_for).prop_map(
        |(number, description, body, not_for)| SearchDocument {
            body,
            not_for,
            ..skill(&format!("name-{number}"), &description)
        },
    );
    prop::collection::vec(document, 0..30)
}

/// Any number for each of the names, sense or not.
fn factors() -> impl Strategy<Value = Vec<f32>> {
    let one = prop_oneof![
        4 => 0.5f32..2.0,
        1 => prop::sample::select(vec![0.0, -1.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX]),
    ];
    prop::collection::vec(one, 30)
}

fn number(key: &Ref) -> usize {
    key.to_string().rsplit('-').next().unwrap().parse().unwrap()
}

proptest! {
    #[test]
    fn l09_a_prior_never_adds_or_removes_hits_nor_changes_whether_they_fit(
        documents in documents(true),
        factors in factors(),
        text in sentence(),
    ) {
        let index = Index::build(documents);
        let plain = index.find(&Query { limit: usize::MAX, ..Query::new(&text) });
        let factor = |key: &Ref| factors[number(key)];
        let prior: Prior<'_> = &factor;
        let query = Query { limit: usize::MAX, prior: Some(prior), ..Query::new(&text) };
        let answer = index.find(&query);
        let set = |answer: &Answer| names(answer).into_iter().collect::<BTreeSet<_>>();
        prop_assert_eq!(answer.ranking().len(), plain.ranking().len());
        prop_assert_eq!(set(&answer), set(&plain));
        prop_assert_eq!(answer.enough, plain.enough);
        prop_assert_eq!(&index.find(&query), &answer);
        // Nor does it make words doubt themselves, so that meaning is asked.
        let asks = |prior| {
            let asked = Cell::new(false);
            let ask = || -> Vec<Similar<'_>> { asked.set(true); Vec::new() };
            index.find_near(&Query { prior, ..Query::new(&text) }, ask);
            asked.get()
        };
        prop_assert_eq!(asks(Some(prior)), asks(None));
    }

    #[test]
    fn l09_a_prior_never_lifts_anything_over_what_is_ahead_by_a_third(
        documents in documents(false),
        factors in factors(),
        text in sentence(),
    ) {
        let index = Index::build(documents);
        let plain = index.find(&Query { limit: usize::MAX, ..Query::new(&text) });
        let factor = |key: &Ref| factors[number(key)];
        let answer = index.find(&Query { limit: usize::MAX, prior: Some(&factor), ..Query::new(&text) });
        let order = names(&answer);
        let place = |name: &Ref| order.iter().position(|one| *one == name.to_string());
        let hits = plain.ranking();
        for (upper, lower) in hits.iter().flat_map(|a| hits.iter().map(move |b| (a, b))) {
            if upper.score * 3.0 > lower.score * 4.0 {
                prop_assert!(place(&upper.reference) < place(&lower.reference), "{upper:?} {lower:?}");
            }
        }
    }
}
