//! The same requests, with all tools in view, with menus, and with a search.
//!
//! No model is asked: the search of the catalogue stands in for one in all three ways, so that they
//! differ in what they show and in nothing else.

use std::collections::BTreeMap;

use concertina_core::catalog::search::{Index, Kind, Query, SearchDocument};
use concertina_tokens::count;
use concertina_types::{Ref, Tokens, limits};
use serde::Serialize;

use super::{Request, Row};

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
    /// The share of answerable requests for which the first choice serves, from 0 to 1.
    pub hit_at_1: f64,
    /// What is shown for one request, in tokens, on average.
    pub tokens: f64,
}

/// How the ways did on the same requests.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ways {
    /// Tools.
    pub tools: usize,
    /// Categories.
    pub categories: usize,
    /// Requests that something serves; the others are left out.
    pub queries: usize,
    /// Requests whose category was chosen rightly, from 0 to 1.
    pub category_hit: f64,
    /// Every definition in view.
    pub flat: WayReport,
    /// Menus.
    pub menu: WayReport,
    /// A search.
    pub search: WayReport,
}

/// Measures the three ways on `rows` and `requests`.
///
/// ```
/// use concertina_runtime::eval::{Request, Row, eval_tools};
///
/// let row = |line: &str| serde_json::from_str::<Row>(line);
/// let rows = [
///     row(r#"{"id":"1","name":"mail/send","description":"Sends a letter"}"#)?,
///     row(r#"{"id":"2","name":"clock/now","description":"Says the time"}"#)?,
/// ];
/// let request = Request { query: "what time is it now".into(), relevant: vec!["2".into()] };
/// let ways = eval_tools(&rows, &[request]);
/// assert_eq!((ways.flat.hit_at_1, ways.menu.hit_at_1, ways.search.hit_at_1), (1.0, 1.0, 1.0));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn eval_tools(rows: &[Row], requests: &[Request]) -> Ways {
    let shelves = Shelves::of(rows);
    let mut tally = Tally::default();
    for request in requests.iter().filter(|request| !request.relevant.is_empty()) {
        tally.queries += 1;
        let serves =
            |place: usize| rows.get(place).is_some_and(|row| request.relevant.contains(&row.id));
        let choices = shelves.best(&request.query, limits::FIND_HITS, None);
        let first = choices.first().copied();
        let definition = |place: Option<usize>| {
            place.and_then(|place| shelves.definitions.get(place)).copied().unwrap_or_default()
        };
        // With everything in view the choice is that of the search, and all of it was paid for.
        tally.flat.add(first.is_some_and(serves), shelves.all);
        let titles: Tokens =
            choices.iter().filter_map(|place| shelves.names.get(*place)).copied().sum();
        tally.search.add(first.is_some_and(serves), titles + definition(first));
        let category = shelves.category(&request.query);
        let page = category.and_then(|category| shelves.pages.get(category)).copied();
        let inside = category
            .and_then(|category| shelves.best(&request.query, 1, Some(category)).first().copied());
        tally.categories_hit += usize::from(category.is_some_and(|category| {
            rows.iter().any(|row| row.category() == category && request.relevant.contains(&row.id))
        }));
        let shown = shelves.root + page.unwrap_or_default() + definition(inside);
        tally.menu.add(inside.is_some_and(serves), shown);
    }
    Ways {
        tools: rows.len(),
        categories: shelves.pages.len(),
        queries: tally.queries,
        category_hit: share(tally.categories_hit, tally.queries),
        flat: tally.flat.report(tally.queries),
        menu: tally.menu.report(tally.queries),
        search: tally.search.report(tally.queries),
    }
}

/// The tools and categories, indexed, with what it takes to show them.
struct Shelves<'a> {
    tools: Index,
    categories: Index,
    /// The name of each category, by its place in `categories`.
    called: Vec<&'a str>,
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
        let documents = rows.iter().enumerate().filter_map(|(place, row)| {
            let mut document = row.document(place)?;
            row.category().clone_into(&mut document.group);
            Some(document)
        });
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
            all: definitions.iter().copied().sum(),
            definitions,
            names,
            pages,
            root,
            tools: Index::build(documents),
        }
    }

    /// The places of the best tools, in `category` where one is given.
    fn best(&self, query: &str, limit: usize, category: Option<&str>) -> Vec<usize> {
        let within = |meta: &concertina_core::catalog::search::SearchDocumentMeta| {
            category.is_none_or(|category| meta.group == category)
        };
        let answer = self.tools.find(&Query { text: query, limit, kind: None, within: &within });
        let place = |reference: &Ref| match reference {
            Ref::Tool(name) => name.as_str().strip_prefix("row/")?.parse().ok(),
            _ => None,
        };
        answer.ranking().iter().filter_map(|hit| place(&hit.reference)).collect()
    }

    fn category(&self, query: &str) -> Option<&'a str> {
        let answer = self.categories.find(&Query { limit: 1, ..Query::new(query) });
        match &answer.ranking().first()?.reference {
            Ref::Menu(place) => self.called.get(place.parse::<usize>().ok()?).copied(),
            _ => None,
        }
    }
}

#[derive(Default)]
struct Tally {
    queries: usize,
    categories_hit: usize,
    flat: Score,
    menu: Score,
    search: Score,
}

#[derive(Default)]
struct Score {
    hits: usize,
    tokens: Tokens,
}

impl Score {
    fn add(&mut self, hit: bool, tokens: Tokens) {
        self.hits += usize::from(hit);
        self.tokens += tokens;
    }

    fn report(&self, queries: usize) -> WayReport {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let tokens = self.tokens.0 as f64 / queries.max(1) as f64;
        WayReport { hit_at_1: share(self.hits, queries), tokens }
    }
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}
