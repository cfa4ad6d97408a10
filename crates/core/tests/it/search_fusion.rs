//! One ranking from words and meaning: what it may change, and what it never does.

use std::cell::Cell;

use concertina_core::catalog::search::{
    Index, Kind, Query, SearchDocument, SearchDocumentMeta, Similar, doubt, fuse,
};
use proptest::prelude::*;

/// A catalogue of so many documents of which only the given ones lie near.
fn meaning(near: &[(u32, f32)]) -> Vec<(u32, f32)> {
    let likeness = |id: u32| near.iter().find(|(near, _)| *near == id).map(|(_, one)| *one);
    // Small differences, as between unrelated texts.
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let noise = |id: u32| 0.01 * (id % 7) as f32;
    (0..100).map(|id| (id, likeness(id).unwrap_or_else(|| noise(id)))).collect()
}

fn fused(
    words: &[(u32, f32)],
    meaning: &[(u32, f32)],
    within: impl Fn(&u32) -> bool,
) -> Vec<(u32, f64)> {
    let (keys, scores): (Vec<u32>, Vec<f32>) = words.iter().copied().unzip();
    fuse(&keys, doubt(&scores), meaning, within)
}

fn order(words: &[(u32, f32)], meaning: &[(u32, f32)]) -> Vec<u32> {
    fused(words, meaning, |_| true).into_iter().map(|(key, _)| key).collect()
}

#[test]
fn a_document_that_stands_out_is_moved_up_where_words_are_in_doubt() {
    let words = [(1, 2.0), (2, 1.9), (3, 1.8)];
    assert_eq!(order(&words, &meaning(&[(3, 0.9)])), [3, 1, 2]);
}

#[test]
fn what_words_are_sure_of_stays_first() {
    let words = [(1, 2.0), (2, 0.9)];
    assert_eq!(order(&words, &meaning(&[(2, 0.9)])), [1, 2]);
}

#[test]
fn what_is_first_by_words_stays_first_unless_it_is_clearly_further_away() {
    let words = [(1, 2.0), (2, 2.0)];
    // Some documents are somewhat near, so that likenesses differ by 0.16 as a rule.
    let among = |first: f32, second: f32| {
        let some = (10..20).map(|id| (id, 0.5));
        order(&words, &meaning(&some.chain([(1, first), (2, second)]).collect::<Vec<_>>()))
    };
    assert_eq!(among(0.5, 0.7), [1, 2]);
    assert_eq!(among(0.2, 0.7), [2, 1]);
}

#[test]
fn what_the_encoder_was_not_given_keeps_the_first_place() {
    let words = [(1_000, 2.0), (2, 2.0)];
    assert_eq!(order(&words, &meaning(&[(2, 0.9)])), [1_000, 2]);
}

#[test]
fn places_do_not_run_out() {
    let words: Vec<u32> = (0..70_000).collect();
    let fused = fuse(&words, 0.0, &[], |_| true);
    assert_eq!(fused.len(), words.len());
    assert!(fused.is_sorted_by(|a, b| a.1 > b.1));
}

#[test]
fn what_no_word_led_to_comes_after_the_first() {
    let words = [(1, 2.0), (2, 1.9), (3, 1.8), (4, 1.7)];
    let fused = order(&words, &meaning(&[(50, 0.9)]));
    assert_eq!(fused.first(), Some(&1));
    assert!(fused.contains(&50), "{fused:?}");
}

#[test]
fn without_a_hit_by_words_the_nearest_are_given() {
    assert_eq!(order(&[], &meaning(&[(50, 0.8), (60, 0.9)])), [60, 50]);
}

#[test]
fn an_encoder_that_says_nothing_changes_nothing() {
    let words = [(1, 2.0), (2, 2.0), (3, 2.0)];
    let alike: Vec<(u32, f32)> = (0..100).map(|id| (id, 0.7)).collect();
    let broken: Vec<(u32, f32)> = (0..100).map(|id| (id, f32::NAN)).collect();
    for meaning in [alike, broken, vec![], vec![(3, 1.0)], vec![(2, 0.1), (3, 1.0)]] {
        assert_eq!(order(&words, &meaning), [1, 2, 3], "{meaning:?}");
    }
}

#[test]
fn only_what_is_in_scope_has_a_vote() {
    let words = [(1, 2.0), (2, 1.9)];
    let fused = fused(&words, &meaning(&[(2, 0.9), (50, 0.9)]), |key| *key != 2 && *key != 50);
    assert_eq!(fused.into_iter().map(|(key, _)| key).collect::<Vec<_>>(), [1, 2]);
}

fn document(number: usize) -> SearchDocument {
    let key = format!("skill:s{number}").parse().unwrap();
    SearchDocument {
        description: format!("turns knob number {number}"),
        ..SearchDocument::new(key, Kind::Skill, format!("s{number}"))
    }
}

#[test]
fn an_index_asks_the_scope_and_leaves_names_alone() {
    let index = Index::build((0..50).map(document));
    let metas: Vec<SearchDocumentMeta> = (0..50)
        .map(|number| {
            let SearchDocument { key, kind, title, name, group, .. } = document(number);
            SearchDocumentMeta { key, kind, title, name, group }
        })
        .collect();
    let similar = || {
        let similarity = |meta: &SearchDocumentMeta| if meta.name == "s7" { 0.9 } else { 0.0 };
        metas
            .iter()
            .map(|document| Similar { document, similarity: similarity(document) })
            .collect()
    };
    let first = |query: &Query<'_>| {
        let answer = index.find_near(query, similar);
        answer.ranking().first().map(|hit| (hit.reference.to_string(), hit.why.clone()))
    };
    let near = Some(("skill:s7".to_owned(), "is near in meaning".to_owned()));
    assert_eq!(first(&Query::new("gibberish")), near, "no word led to it");
    let without = |meta: &SearchDocumentMeta| meta.name != "s7";
    assert_eq!(first(&Query { within: &without, ..Query::new("gibberish") }), None);
    assert_eq!(first(&Query { kind: Some(Kind::Tool), ..Query::new("gibberish") }), None);
    assert_eq!(first(&Query::new("s12")).unwrap().0, "skill:s12");
    // A name out of scope is a word like any other.
    let asked = Cell::new(false);
    let without = |meta: &SearchDocumentMeta| meta.name != "s12";
    let query = Query { within: &without, ..Query::new("s12") };
    index.find_near(&query, || {
        asked.set(true);
        Vec::new()
    });
    assert!(asked.get());
    let answer = index.find_near(&Query::new("gibberish"), similar);
    assert!(!answer.enough, "whether something fits is for words to say");
    let answer = index.find_near(&Query { limit: 3, ..Query::new("knob") }, similar);
    assert_eq!(answer.ranking().len(), 3);
}

prop_compose! {
    fn rankings()(
        scores in prop::collection::vec(0.0f32..10.0, 0..30),
        // Most are unrelated, some stand out, some are broken.
        likenesses in prop::collection::vec(
            prop_oneof![20 => -0.2f32..0.2, 1 => 0.3f32..1.0, 1 => Just(f32::NAN)], 0..80,
        ),
        shift in 0u32..10,
    ) -> (Vec<(u32, f32)>, Vec<(u32, f32)>) {
        let mut scores = scores;
        scores.sort_by(|a, b| b.total_cmp(a));
        let words = (0u32..).zip(scores).collect();
        let meaning = (shift..).zip(likenesses).collect();
        (words, meaning)
    }
}

proptest! {
    /// Nothing that words found is lost, and nothing is there twice.
    #[test]
    fn law_a_fusion_holds_each_document_once((words, meaning) in rankings()) {
        let fused = order(&words, &meaning);
        let mut once = fused.clone();
        once.sort_unstable();
        once.dedup();
        prop_assert_eq!(once.len(), fused.len());
        prop_assert!(words.iter().all(|(key, _)| fused.contains(key)));
        let known = |key: &u32| words.iter().chain(&meaning).any(|(known, _)| known == key);
        prop_assert!(fused.iter().all(known));
        prop_assert!(fused.len() <= words.len() + 20);
    }

    /// The numbers agree with the order.
    #[test]
    fn law_scores_never_rise((words, meaning) in rankings()) {
        let fused = fused(&words, &meaning, |_| true);
        prop_assert!(fused.is_sorted_by(|a, b| a.1 >= b.1));
    }

    /// The guard: the first place changes hands only to what words found too, where they were in
    /// doubt, and only for a document that lies two standard deviations nearer.
    #[test]
    fn law_the_first_place_is_guarded((words, meaning) in rankings()) {
        let fused = order(&words, &meaning);
        let Some(&(first, best)) = words.first() else { return Ok(()) };
        let new = fused[0];
        if new == first {
            return Ok(());
        }
        prop_assert!(words.iter().any(|(key, _)| *key == new));
        prop_assert!(words[1].1 > best / 2.0);
        let all: Vec<f32> = meaning.iter().map(|(_, one)| *one).filter(|one| one.is_finite()).collect();
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let count = all.len() as f32;
        let mean = all.iter().sum::<f32>() / count;
        let scale = (all.iter().map(|one| (one - mean).powi(2)).sum::<f32>() / count).sqrt();
        let near = |key: u32| meaning.iter().find(|(known, _)| *known == key).map(|(_, one)| *one);
        let near = |key: u32| near(key).filter(|one| one.is_finite()).unwrap_or(f32::NAN);
        let nearer = near(new) - near(first);
        prop_assert!(nearer > 1.99 * scale, "{} of {}", nearer, scale);
    }

    /// Encoders differ in how far apart they see things; what counts is how far beside the rest.
    #[test]
    fn law_a_stretch_of_all_likenesses_changes_nothing(
        (words, meaning) in rankings(), stretch in 1u8..4,
    ) {
        let stretched: Vec<(u32, f32)> = meaning
            .iter()
            .map(|(key, one)| (*key, one * f32::from(1u16 << stretch)))
            .collect();
        prop_assert_eq!(order(&words, &meaning), order(&words, &stretched));
    }
}
