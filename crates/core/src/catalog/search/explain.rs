//! Why a search ranks as it does, in numbers.

use concertina_types::Ref;

use super::alike::Other;
use super::analyse::Called;
use super::confidence::Confidence;
use super::document::Field;
use super::index::Index;
use super::rank::{Candidate, Query, Ranking, fields_of};
use super::terms::{Request, Term};

/// How a request was read and what each document made of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The terms of the request, in its order. Words without a subject are left out.
    pub terms: Vec<TermWeight>,
    /// The best documents, best first.
    pub ranked: Vec<Explained>,
    /// Whether the first of them is an answer, and by how much; none where nothing was found. A prior
    /// has no say in it: it is of what is first without one.
    pub confidence: Option<Confidence>,
}

/// What a term of the request counts.
#[derive(Debug, Clone, PartialEq)]
pub struct TermWeight {
    /// As asked, folded.
    pub word: String,
    /// What it was read as, where it was misspelt.
    pub read_as: Option<String>,
    /// Its weight: the rarer it is, the more.
    pub weight: f32,
    /// Words that stand in its place in what is shown.
    pub alike: Vec<&'static str>,
}

/// How a document comes to its score.
#[derive(Debug, Clone, PartialEq)]
pub struct Explained {
    /// The document.
    pub reference: Ref,
    /// Its score: the sum of the rest, or next to that of the rival below which it was put.
    pub score: f32,
    /// Whether the request is its name; then it stands first whatever its score.
    pub called: bool,
    /// What each term of the request adds, in the order of the request.
    pub points: Vec<Points>,
    /// What the likeness to its examples adds.
    pub likeness: f32,
    /// What its `not_for` takes away.
    pub lowered: f32,
    /// What the prior of the query adds, or takes away where it is below zero.
    pub prior: f32,
    /// The rival below which it was put, because the request asks for what that one does.
    pub below: Option<Ref>,
}

/// What one term adds to a score.
#[derive(Debug, Clone, PartialEq)]
pub struct Points {
    /// The term, as in [`TermWeight::word`].
    pub word: String,
    /// The word that the document holds in its place.
    pub like: Option<&'static str>,
    /// Where it stands.
    pub fields: Vec<Field>,
    /// How much it adds.
    pub points: f32,
}

impl Index {
    /// How a request is read and ranked: the first `query.limit` documents with the parts of their
    /// scores.
    ///
    /// ```
    /// use concertina_core::catalog::search::{Index, Kind, Query, SearchDocument};
    ///
    /// let mut trips = SearchDocument::new("skill:trips".parse()?, Kind::Skill, "trips");
    /// trips.description = "Plans a journey by train".into();
    /// let index = Index::build([trips]);
    /// let explanation = index.explain(&Query::new("railway travel"));
    /// assert_eq!(explanation.ranked[0].points[0].like, Some("train"));
    /// # Ok::<(), concertina_types::RefError>(())
    /// ```
    pub fn explain(&self, query: &Query<'_>) -> Explanation {
        let request = self.request(query);
        let Ranking { candidates, unweighed } = self.ranking(query, &request);
        let shown: Vec<&Candidate> = candidates.iter().take(query.limit).collect();
        // Only words that stand in what is shown: others may stand in what nobody here may see.
        let found_alike = |term: &Term| {
            let is_held = |other: &Other| {
                shown.iter().any(|c| self.postings.in_document(other.term, c.document).is_some())
            };
            let held = term.alike.iter().filter(|(other, _)| is_held(other));
            held.map(|(other, _)| other.word).collect()
        };
        let terms = request
            .terms
            .iter()
            .map(|term| TermWeight {
                word: term.word.clone(),
                read_as: term.read_as.clone(),
                weight: term.weight,
                alike: found_alike(term),
            })
            .collect();
        Explanation {
            terms,
            confidence: self.confidence_in(&unweighed, &request),
            ranked: shown.iter().filter_map(|c| self.explained(c, &request)).collect(),
        }
    }

    fn explained(&self, candidate: &Candidate, request: &Request<'_>) -> Option<Explained> {
        let points: Vec<Points> = request
            .terms
            .iter()
            .filter_map(|term| {
                let held = term.held(self, candidate.document)?;
                Some(Points {
                    word: term.word.clone(),
                    like: held.like,
                    fields: fields_of(held.fields),
                    points: held.points,
                })
            })
            .collect();
        let reference = |document: u32| self.meta(document).map(|meta| meta.key.clone());
        let sum: f32 = points.iter().map(|points| points.points).sum();
        Some(Explained {
            reference: reference(candidate.document)?,
            score: candidate.score,
            called: candidate.called > Called::Not,
            likeness: candidate.likeness,
            lowered: (sum - candidate.words).max(0.0),
            prior: candidate.prior,
            below: candidate.below.and_then(reference),
            points,
        })
    }
}
