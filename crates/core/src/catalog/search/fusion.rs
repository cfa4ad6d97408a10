//! One ranking from two: by words, and by the likeness of meaning that an encoder sees.
//!
//! The ranking by words is right more often than not, and no encoder knows every language. So the
//! rule is not to mix two rankings but to let an encoder object:
//!
//! 1. Only a document that *stands out* has a vote. Its likeness to the request has to lie so many
//!    standard deviations above the mean of all documents as the best of that many unrelated ones
//!    would by chance: `√(2 ln n)`, the first term of the expected maximum of `n` normal variables
//!    (Fisher and Tippett 1928; Leadbetter, Lindgren and Rootzén, "Extremes and Related Properties",
//!    1983, theorem 1.5.3). An encoder that says nothing, whose vectors are all alike or random,
//!    has next to no vote, and nothing was tuned for that.
//! 2. Votes and places are added up by reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR
//!    2009): a document in place `p` gets `1 / (k + p)` by words and a part of that by meaning. The
//!    part shrinks as the words become sure of themselves.
//! 3. What is first by words stays first, unless the encoder sees it clearly further away. What it
//!    was never given it does not see.
//!
//! The figures were chosen on one half of four sets of requests with all-MiniLM-L6-v2, an English
//! encoder, where no set, the Chinese one included, was to lose; the other half agrees.

use std::collections::BTreeMap;

use concertina_types::Ref;

use super::document::SearchDocumentMeta;
use super::index::Index;
use super::rank::{Answer, Hit, Query};

/// How flat places are: the `k` of reciprocal rank fusion. The 60 of its authors is for runs of a
/// thousand documents; among the first five places it makes all of them equal.
const FLATNESS: f64 = 5.0;
/// The weight of a vote beside a place by words. From 0.75 the set with many kinds of the same tool
/// loses recall.
const VOTE: f64 = 0.5;
/// The words are sure of themselves where the second score lies this share below the first.
const SURE: f64 = 0.5;
/// How much nearer than what is first by words the new first has to be, in standard deviations. Of
/// the changes of the first place that do harm most are below, of those that help most above.
const NEARER: f64 = 2.0;
/// The documents that may vote. What stands out is seldom more.
const VOTERS: usize = 20;

/// How many hits by words a fusion looks at: what stands lower gains less by its place than the
/// weakest vote gives.
const FUSED_HITS: usize = 50;

/// A document and how near its meaning is to that of the request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Similar<'a> {
    /// The document.
    pub document: &'a SearchDocumentMeta,
    /// The cosine of the angle between the two vectors.
    pub similarity: f32,
}

/// How much a ranking by words is in doubt, from 0 to 1, by its scores, best first.
///
/// ```
/// use concertina_core::catalog::search::doubt;
/// assert_eq!(doubt(&[3.0, 3.0, 1.0]), 1.0);
/// assert_eq!(doubt(&[3.0, 1.0]), 0.0);
/// assert_eq!(doubt(&[]), 1.0);
/// ```
pub fn doubt(scores: &[f32]) -> f64 {
    let score =
        |at: usize| scores.get(at).copied().filter(|score| score.is_finite()).map(f64::from);
    let Some(first) = score(0) else { return 1.0 };
    let second = score(1).unwrap_or_default();
    // Where the first has not the best score, something surer than scores has put it there.
    if first <= 0.0 || second > first {
        return 0.0;
    }
    (1.0 - (first - second) / first / SURE).clamp(0.0, 1.0)
}

/// One ranking of `words` (keys, best first), which is so much in `doubt`, and of `meaning` (every
/// document with its likeness, in any order), of which those for which `within` holds may vote. It
/// holds every key of `words`, each once, and what else stands out; the numbers are comparable
/// within it only.
///
/// ```
/// use concertina_core::catalog::search::fuse;
/// let words = ["stock", "refunds"];
/// // Of a hundred documents one stands out, and the words are in doubt.
/// let mut meaning: Vec<(&str, f32)> = vec![("other", 0.0); 98];
/// meaning.extend([("stock", 0.1), ("refunds", 0.8)]);
/// assert_eq!(fuse(&words, 0.9, &meaning, |_| true)[0].0, "refunds");
/// // Where nothing stands out the order stays.
/// let meaning = [("stock", 0.3), ("refunds", 0.8)];
/// assert_eq!(fuse(&words, 0.9, &meaning, |_| true)[0].0, "stock");
/// ```
pub fn fuse<K: Ord + Clone>(
    words: &[K],
    doubt: f64,
    meaning: &[(K, f32)],
    within: impl Fn(&K) -> bool,
) -> Vec<(K, f64)> {
    let (voters, scale) = voters(meaning, within);
    let vote = VOTE * doubt;
    // What was found by words keeps its order where sums are equal, before what was not.
    let mut ranked: Vec<(&K, f64)> =
        words.iter().zip(1u32..).map(|(key, place)| (key, share(place))).collect();
    for ((key, _), place) in voters.iter().zip(1u32..) {
        match ranked.iter_mut().find(|(known, _)| *known == key) {
            Some((_, sum)) => *sum += vote * share(place),
            None => ranked.push((key, vote * share(place))),
        }
    }
    ranked.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    if let (Some(first), Some(&(new, top))) = (words.first(), ranked.first())
        && new != first
        && !is_nearer(meaning, new, first, NEARER * scale)
        && let Some(at) = ranked.iter().position(|(key, _)| *key == first)
    {
        let (key, _) = ranked.remove(at);
        ranked.insert(0, (key, top));
    }
    ranked.into_iter().map(|(key, sum)| (key.clone(), sum)).collect()
}

fn share(place: u32) -> f64 {
    1.0 / (FLATNESS + f64::from(place))
}

/// The documents within that stand out of all, nearest first, and the standard deviation.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
fn voters<K: Ord>(meaning: &[(K, f32)], within: impl Fn(&K) -> bool) -> (Vec<&(K, f32)>, f64) {
    let known = || meaning.iter().filter(|(_, likeness)| likeness.is_finite());
    let likenesses = || known().map(|(_, likeness)| f64::from(*likeness));
    let count = known().count().max(1) as f64;
    let mean = likenesses().sum::<f64>() / count;
    let variance = likenesses().map(|one| (one - mean) * (one - mean)).sum::<f64>() / count;
    let scale = variance.sqrt();
    // Vectors that are all alike differ by rounding.
    if scale < f64::from(f32::EPSILON) {
        return (Vec::new(), scale);
    }
    let floor = mean + scale * (2.0 * count.ln()).sqrt();
    let stands_out = |one: &&(K, f32)| f64::from(one.1) >= floor && within(&one.0);
    let mut voters: Vec<_> = known().filter(stands_out).collect();
    voters.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    voters.truncate(VOTERS);
    (voters, scale)
}

/// Whether `one` is seen nearer than `other` by `distance`: never where one of them has no likeness.
fn is_nearer<K: Eq>(meaning: &[(K, f32)], one: &K, other: &K, distance: f64) -> bool {
    let likeness = |key: &K| {
        let known = meaning.iter().find(|(known, likeness)| known == key && likeness.is_finite());
        known.map(|(_, likeness)| f64::from(*likeness))
    };
    matches!((likeness(one), likeness(other)), (Some(one), Some(other)) if one - other >= distance)
}

impl Index {
    /// As [`Index::find`], in an order in which the likeness of every document to the request also
    /// has a say. It is asked for only where the words are in doubt: never where the request is a
    /// name, and not where the best hit is far ahead of the next. Whether something fits stays what
    /// the words say: something is near to every request.
    ///
    /// ```
    /// use concertina_core::catalog::search::{Index, Kind, Query, SearchDocument};
    /// let note = SearchDocument::new("skill:note".parse()?, Kind::Skill, "note");
    /// let index = Index::build([note]);
    /// let unasked = || panic!("a name needs no encoder");
    /// assert_eq!(index.find_near(&Query::new("note"), unasked).hits.len(), 1);
    /// // No vectors, no change.
    /// let query = Query::new("something else");
    /// assert_eq!(index.find_near(&query, Vec::new), index.find(&query));
    /// # Ok::<(), concertina_types::RefError>(())
    /// ```
    pub fn find_near<'d>(
        &self,
        query: &Query<'_>,
        meaning: impl FnOnce() -> Vec<Similar<'d>>,
    ) -> Answer {
        let wider = Query { limit: query.limit.max(FUSED_HITS), ..*query };
        let (Answer { mut hits, enough, mut nearest }, scores) = self.found(&wider);
        let ranking = if enough { &mut hits } else { &mut nearest };
        let doubt = if enough { doubt(&scores) } else { 1.0 };
        let is_sure = doubt <= 0.0 || ranking.first().is_some_and(|first| first.called);
        let meaning = if is_sure { Vec::new() } else { meaning() };
        if meaning.is_empty() {
            ranking.truncate(query.limit);
        } else {
            *ranking = fused(query, ranking, doubt, &meaning);
        }
        Answer { hits, enough, nearest }
    }
}

fn fused(query: &Query<'_>, found: &[Hit], doubt: f64, meaning: &[Similar<'_>]) -> Vec<Hit> {
    let known: BTreeMap<&Ref, &Hit> = found.iter().map(|hit| (&hit.reference, hit)).collect();
    let documents: BTreeMap<&Ref, &SearchDocumentMeta> =
        meaning.iter().map(|one| (&one.document.key, one.document)).collect();
    let within = |key: &&Ref| {
        documents.get(*key).is_some_and(|document| {
            query.kind.is_none_or(|kind| kind == document.kind) && (query.within)(document)
        })
    };
    let words: Vec<&Ref> = found.iter().map(|hit| &hit.reference).collect();
    let likenesses: Vec<(&Ref, f32)> =
        meaning.iter().map(|one| (&one.document.key, one.similarity)).collect();
    let fused = fuse(&words, doubt, &likenesses, within).into_iter().take(query.limit);
    fused
        .filter_map(|(key, sum)| {
            let hit = known.get(key).map(|hit| (*hit).clone());
            let hit = hit.or_else(|| documents.get(key).map(|document| unworded(document)))?;
            Some(scored(hit, sum))
        })
        .collect()
}

/// The numbers of a ranking by words alone would not be in the order of the hits.
#[expect(clippy::cast_possible_truncation, reason = "a score is read to three digits")]
fn scored(hit: Hit, sum: f64) -> Hit {
    Hit { score: sum as f32, ..hit }
}

/// A document that no word of the request led to.
fn unworded(document: &SearchDocumentMeta) -> Hit {
    Hit {
        reference: document.key.clone(),
        kind: document.kind,
        title: document.title.clone(),
        called: false,
        score: 0.0,
        matched: Vec::new(),
        fields: Vec::new(),
        why: "is near in meaning".to_owned(),
    }
}
