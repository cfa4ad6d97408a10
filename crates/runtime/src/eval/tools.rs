//! The same requests, with all tools in view, with menus, and with a search.
//!
//! No model is asked: the search of the catalogue stands in for one in all three ways, so that they
//! differ in what they show and in nothing else.

use std::collections::BTreeMap;

use concertina_core::catalog::search::{Index, Kind, Query, SearchDocument, SearchDocumentMeta};
use concertina_tokens::count;
use concertina_types::{Ref, Tokens, limits};
use serde::Serialize;

use super::interval::{Estimate, Interval, PairedDifference, number};
use super::labelled::{Asked, LabelledSet, Row, Unknown, place_of};
use super::{Capped, NAMED, Skipped};

/// A way to show tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// Every definition is in view.
    Flat,
    /// The categories are in view, then the names in one, then one definition.
    Menu,
    /// The request is searched for; the hits are in view, then one definition.
    Search,
}

/// How one way did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WayReport {
    /// The share of the requests for which the first choice serves, from 0 to 1.
    pub hit_at_1: f64,
    /// What that share may be at 95 %, as [`Estimate::of`] finds it; none where there is no request.
    pub hit_at_1_ci95: Option<Interval>,
    /// What is shown for one request, in tokens, on average.
    pub tokens: f64,
}

/// How the ways did on a group of requests. Shares and averages are 0 where it has none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaysFigures {
    /// Requests that something serves; the others are left out.
    pub queries: usize,
    /// Requests whose category was chosen rightly, from 0 to 1.
    pub category_hit: f64,
    /// What that share may be.
    pub category_hit_ci95: Option<Interval>,
    /// Every definition in view.
    pub flat: WayReport,
    /// Menus.
    pub menu: WayReport,
    /// A search.
    pub search: WayReport,
    /// How much more often menus lead to the right tool than all tools in view.
    pub menu_over_flat: Option<PairedDifference>,
}

/// How the ways did on the same requests.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ways {
    /// Tools.
    pub tools: usize,
    /// Categories.
    pub categories: usize,
    /// Over all requests.
    #[serde(flatten)]
    pub all: WaysFigures,
    /// On each kind of request, where kinds are given.
    pub per_kind: BTreeMap<String, WaysFigures>,
    /// Requests whose tools are all missing in the catalogue; they are left out of every figure.
    pub unservable: usize,
    /// Lines that were left out.
    pub skipped: Capped<Skipped>,
    /// Requests with ids that the catalogue does not have.
    pub unknown: Capped<Unknown>,
}

/// Measures the three ways on `set`.
///
/// ```
/// use concertina_runtime::eval::{LabelledSet, Request, Row, eval_tools};
///
/// let row = |line: &str| serde_json::from_str::<Row>(line);
/// let rows = vec![
///     row(r#"{"id":"1","name":"mail/send","description":"Sends a letter"}"#)?,
///     row(r#"{"id":"2","name":"clock/now","description":"Says the time"}"#)?,
/// ];
/// let query = "what time is it now".into();
/// let request = Request { query, relevant: vec!["2".into()], ..Request::default() };
/// let ways = eval_tools(&LabelledSet::new(rows, vec![request])?).all;
/// assert_eq!((ways.flat.hit_at_1, ways.menu.hit_at_1, ways.search.hit_at_1), (1.0, 1.0, 1.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn eval_tools(set: &LabelledSet) -> Ways {
    let shelves = Shelves::of(set.rows());
    let answerable = set.asked().iter().filter(|asked| !asked.serving.is_empty());
    let taken: Vec<Taken<'_>> = answerable.map(|asked| shelves.take(asked)).collect();
    let mut of_kind: BTreeMap<&str, Vec<&Taken<'_>>> = BTreeMap::new();
    for one in &taken {
        if let Some(kind) = one.kind {
            of_kind.entry(kind).or_default().push(one);
        }
    }
    let figures = |(kind, group): (&str, Vec<_>)| (kind.to_owned(), WaysFigures::of(&group));
    Ways {
        tools: set.rows().len(),
        categories: shelves.pages.len(),
        all: WaysFigures::of(&taken.iter().collect::<Vec<_>>()),
        per_kind: of_kind.into_iter().map(figures).collect(),
        unservable: set.unservable(),
        skipped: Capped::of(set.skipped().to_vec(), NAMED),
        unknown: Capped::of(set.unknown().to_vec(), NAMED),
    }
}

/// What came of one request.
struct Taken<'a> {
    kind: Option<&'a str>,
    is_category_hit: bool,
    flat: Choice,
    menu: Choice,
    search: Choice,
}

/// What one way led to.
struct Choice {
    is_hit: bool,
    shown: Tokens,
}

impl WaysFigures {
    fn of(group: &[&Taken<'_>]) -> Self {
        let hits = |is_hit: &dyn Fn(&Taken<'_>) -> bool| {
            let values: Vec<f64> = group.iter().map(|taken| f64::from(is_hit(taken))).collect();
            let estimate = Estimate::of(&values);
            (estimate.map(|found| found.value).unwrap_or_default(), estimate.map(|e| e.interval))
        };
        let report = |way: for<'t, 'k> fn(&'t Taken<'k>) -> &'t Choice| {
            let (hit_at_1, hit_at_1_ci95) = hits(&|taken| way(taken).is_hit);
            let shown: Tokens = group.iter().map(|taken| way(taken).shown).sum();
            #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
            let tokens = shown.0 as f64 / number(group.len().max(1));
            WayReport { hit_at_1, hit_at_1_ci95, tokens }
        };
        let (category_hit, category_hit_ci95) = hits(&|taken| taken.is_category_hit);
        let pairs: Vec<_> =
            group.iter().map(|taken| (taken.flat.is_hit, taken.menu.is_hit)).collect();
        Self {
            queries: group.len(),
            category_hit,
            category_hit_ci95,
            flat: report(|taken| &taken.flat),
            menu: report(|taken| &taken.menu),
            search: report(|taken| &taken.search),
            menu_over_flat: PairedDifference::of(&pairs),
        }
    }
}

/// The tools and categories, indexed, with what it takes to show them.
struct Shelves<'a> {
    tools: Index,
    categories: Index,
    /// The name of each category, by its place in `categories`.
    called: Vec<&'a str>,
    /// The category of each tool, by its place.
    category_of: Vec<&'a str>,
    /// What each definition takes, by the tool's place.
    definitions: Vec<Tokens>,
    /// What each name with the first sentence takes.
    names: Vec<Tokens>,
    /// What each category's page takes.
    pages: BTreeMap<&'a str, Tokens>,
    /// What all definitions take.
    all: Tokens,
    /// What the categories take.
    root: Tokens,
}

impl<'a> Shelves<'a> {
    fn of(rows: &'a [Row]) -> Self {
        let mut members: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (place, row) in rows.iter().enumerate() {
            members.entry(row.category()).or_default().push(place);
        }
        let documents = rows.iter().enumerate().filter_map(|(place, row)| row.document(place));
        let line = |row: &Row| {
            let first = concertina_core::catalog::sentences(&row.description).next();
            count(&format!("- {}: {}", row.name, first.unwrap_or_default()))
        };
        let names: Vec<Tokens> = rows.iter().map(line).collect();
        let definitions: Vec<Tokens> = rows
            .iter()
            .map(|row| count(&format!("{} {} {}", row.name, row.description, row.params)))
            .collect();
        let of = |tokens: &[Tokens], places: &[usize]| -> Tokens {
            places.iter().filter_map(|place| tokens.get(*place)).copied().sum()
        };
        let pages = members.iter().map(|(name, places)| (*name, of(&names, places))).collect();
        let root = members
            .iter()
            .map(|(name, places)| count(&format!("- menu:{name} ({})", places.len())));
        let root = root.sum();
        let called: Vec<&str> = members.keys().copied().collect();
        let categories = members.iter().enumerate().map(|(place, (name, places))| {
            let key = Ref::Menu(place.to_string());
            let mut document = SearchDocument::new(key, Kind::Menu, *name);
            let inside = places.iter().filter_map(|place| rows.get(*place));
            let words = inside.map(|row| format!("{} {}", row.name, row.description));
            document.body = words.collect::<Vec<_>>().join("\n");
            document
        });
        Self {
            categories: Index::build(categories.collect::<Vec<_>>()),
            called,
            category_of: rows.iter().map(Row::category).collect(),
            all: definitions.iter().copied().sum(),
            definitions,
            names,
            pages,
            root,
            tools: Index::build(documents),
        }
    }

    /// What the three ways lead to for one request.
    fn take<'r>(&self, asked: &'r Asked) -> Taken<'r> {
        let query = asked.request.query.as_str();
        let serves = |place: Option<usize>| place.is_some_and(|place| asked.is_served_by(place));
        let choices = self.best(query, limits::FIND_HITS, None);
        let first = choices.first().copied();
        let definition = |place: Option<usize>| {
            place.and_then(|place| self.definitions.get(place)).copied().unwrap_or_default()
        };
        let titles: Tokens =
            choices.iter().filter_map(|place| self.names.get(*place)).copied().sum();
        let category = self.category(query);
        let page = category.and_then(|category| self.pages.get(category)).copied();
        let inside =
            category.and_then(|category| self.best(query, 1, Some(category)).first().copied());
        let is_chosen = |place: &usize| self.category_of.get(*place).copied() == category;
        Taken {
            kind: asked.request.kind.as_deref(),
            is_category_hit: category.is_some() && asked.serving.iter().any(is_chosen),
            // With everything in view the choice is that of the search, and all of it was paid for.
            flat: Choice { is_hit: serves(first), shown: self.all },
            menu: Choice {
                is_hit: serves(inside),
                shown: self.root + page.unwrap_or_default() + definition(inside),
            },
            search: Choice { is_hit: serves(first), shown: titles + definition(first) },
        }
    }

    /// The places of the best tools, in `category` where one is given.
    fn best(&self, query: &str, limit: usize, category: Option<&str>) -> Vec<usize> {
        let within = |meta: &SearchDocumentMeta| {
            category.is_none_or(|category| {
                let place = place_of(&meta.key);
                place.and_then(|place| self.category_of.get(place)) == Some(&category)
            })
        };
        let answer = self.tools.find(&Query { limit, within: &within, ..Query::new(query) });
        answer.ranking().iter().filter_map(|hit| place_of(&hit.reference)).collect()
    }

    fn category(&self, query: &str) -> Option<&'a str> {
        let answer = self.categories.find(&Query { limit: 1, ..Query::new(query) });
        match &answer.ranking().first()?.reference {
            Ref::Menu(place) => self.called.get(place.parse::<usize>().ok()?).copied(),
            _ => None,
        }
    }
}
