//! Tools that a model cannot tell apart.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::likeness::meaningful;
use super::phrases::words;
use super::tools::Tool;

/// Tools with at least this score are reported. Below it the names of one server's tools, which share
/// what they are about, come up; `list_tags` and `list_branches` have 0.4.
pub const SYNONYMS: f64 = 0.6;

/// Earlier tools that one tool is compared with. Where thousands are alike, the first of them tell.
const CANDIDATES: usize = 200;
/// Pairs reported for one tool, the most similar first.
const PARTNERS: usize = 5;

/// Two tools that do nearly the same by what they say.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Synonyms {
    /// The index of the one to keep where only one is shown: the earlier.
    pub first: usize,
    /// The index of the other.
    pub second: usize,
    /// From 0 to 1: the mean of what the names and what the descriptions have in common.
    pub score: f64,
    /// Why.
    pub why: String,
}

/// Verbs that tools use for one another, so that `fetch_user` and `get_user` are one name.
const VERBS: [(&str, &[&str]); 9] = [
    ("get", &["get", "fetch", "retrieve", "read", "load", "show", "view", "return", "obtain"]),
    ("list", &["list", "enumerate", "ls"]),
    ("search", &["search", "find", "query", "lookup"]),
    ("create", &["create", "add", "new", "make", "insert"]),
    ("update", &["update", "edit", "modify", "change", "set", "alter"]),
    ("delete", &["delete", "remove", "drop", "destroy", "erase"]),
    ("send", &["send", "post", "submit"]),
    ("run", &["run", "execute", "exec", "invoke"]),
    ("write", &["write", "save", "store", "put"]),
];

/// What is compared of a tool: words of its name, and of name and description together.
struct Words {
    name: BTreeSet<String>,
    all: BTreeSet<String>,
}

/// Finds pairs of tools that say nearly the same, in order of their indices.
///
/// Two tools are compared where they share one of their rarer words, so the work grows with the
/// number of tools and not with its square.
pub fn synonyms(tools: &[Tool<'_>]) -> Vec<Synonyms> {
    let sets: Vec<Words> = tools.iter().map(Words::of).collect();
    let mut frequency: BTreeMap<&str, usize> = BTreeMap::new();
    for word in sets.iter().flat_map(|words| &words.all) {
        *frequency.entry(word).or_default() += 1;
    }
    let mut index: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut pairs = Vec::new();
    for (second, words) in sets.iter().enumerate() {
        let mut rare: Vec<&str> = words.all.iter().map(String::as_str).collect();
        rare.sort_by_key(|word| (frequency.get(word), *word));
        // A pair with the score must share more than a fifth of the words: not only the commonest.
        rare.truncate(rare.len() - rare.len() / 5);
        let mut candidates = BTreeSet::new();
        for word in rare {
            let known = index.entry(word).or_default();
            candidates.extend(known.iter().copied());
            if known.len() < CANDIDATES {
                known.push(second);
            }
        }
        let mut partners: Vec<Synonyms> =
            candidates.into_iter().filter_map(|first| pair(tools, &sets, first, second)).collect();
        partners.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.first.cmp(&b.first)));
        partners.truncate(PARTNERS);
        pairs.extend(partners);
    }
    pairs.sort_by_key(|pair| (pair.first, pair.second));
    pairs
}

fn pair(tools: &[Tool<'_>], sets: &[Words], first: usize, second: usize) -> Option<Synonyms> {
    let (a, b) = (sets.get(first)?, sets.get(second)?);
    let names = common(&a.name, &b.name);
    let score = f64::midpoint(names, common(&a.all, &b.all));
    let (one, other) = (tools.get(first)?, tools.get(second)?);
    let same_name = one.own == other.own && one.server != other.server;
    if score < SYNONYMS && !same_name {
        return None;
    }
    let why = if same_name {
        format!("both are called `{}`", one.own)
    } else {
        let shared: Vec<&str> = a.all.intersection(&b.all).map(String::as_str).take(6).collect();
        format!("both say {}", shared.join(", "))
    };
    Some(Synonyms { first, second, score: (score * 100.0).round() / 100.0, why })
}

impl Words {
    fn of(tool: &Tool<'_>) -> Self {
        let name = stems(&spaced(tool.own));
        let all = name.union(&stems(tool.description)).cloned().collect();
        Self { name, all }
    }
}

/// The words of a text, verbs with one meaning as one. Chinese goes by pairs of letters.
fn stems(text: &str) -> BTreeSet<String> {
    let verb = |word: &str| {
        VERBS.iter().find(|(_, same)| same.contains(&word)).map(|(verb, _)| (*verb).to_owned())
    };
    let found = meaningful(text).into_iter();
    found.map(|word| verb(&word).unwrap_or_else(|| shortened(&word))).collect()
}

/// The word without the endings that nouns and verbs take in many languages.
fn shortened(word: &str) -> String {
    let endings = ["ing", "ed", "en", "er", "es", "e"];
    let short = endings.iter().find_map(|end| word.strip_suffix(end).filter(|s| s.len() > 3));
    short.unwrap_or(word).to_owned()
}

/// `create_issue` and `createIssue` as words with blanks.
fn spaced(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let mut was_lower = false;
    for c in name.chars() {
        if c.is_uppercase() && was_lower {
            out.push(' ');
        }
        out.push(if c.is_alphanumeric() { c } else { ' ' });
        was_lower = c.is_lowercase();
    }
    out
}

/// The share of two sets that they have in common.
#[allow(clippy::cast_precision_loss, reason = "a description has far fewer than 2^52 words")]
fn common(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    let both = a.intersection(b).count();
    both as f64 / (a.len() + b.len() - both).max(1) as f64
}

/// Whether `name` stands in `text` as a word of its own.
pub(super) fn names(text: &str, name: &str) -> bool {
    // Names of one plain word are words of the language as well.
    name.contains(['_', '-']) && !words(text).is_empty() && {
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        text.match_indices(name).any(|(at, _)| {
            let before = text.get(..at).and_then(|text| text.chars().next_back());
            let after = text.get(at + name.len()..).and_then(|text| text.chars().next());
            !before.is_some_and(is_part) && !after.is_some_and(is_part)
        })
    }
}
