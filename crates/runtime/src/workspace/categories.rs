//! Which category a tool sits in: what the settings say, else what its server and its name tell.

use std::collections::BTreeMap;

use concertina_core::policy::Pattern;
use concertina_format::config::Config;
use concertina_types::limits;

/// The categories and pins of the settings.
pub(super) struct Filing {
    categories: Vec<Category>,
    pinned: Vec<Pattern>,
}

struct Category {
    name: String,
    tools: Vec<Pattern>,
    servers: Vec<String>,
}

/// A tool to be filed.
pub(super) struct Paper<'a> {
    /// Its whole name.
    pub(super) name: &'a str,
    /// The server that brings it.
    pub(super) server: &'a str,
    /// Its name on that server.
    pub(super) own: &'a str,
    /// Words that the server files it under.
    pub(super) tags: &'a [String],
}

/// What the tools of a group are called that share no first word with another.
const OTHER: &str = "other";

/// Levels below a server at most, so that a strange set of names cannot nest without end.
const LEVELS: usize = 4;

impl Filing {
    pub(super) fn new(config: &Config) -> Self {
        let patterns = |texts: &[String]| -> Vec<Pattern> {
            texts.iter().filter_map(|text| Pattern::new(text).ok()).collect()
        };
        let categories = config.menu.iter().map(|(name, category)| Category {
            name: name.clone(),
            tools: patterns(&category.tools),
            servers: category.servers.clone(),
        });
        Self { categories: categories.collect(), pinned: patterns(&config.pinned_tools) }
    }

    /// Whether `tool` stays outside all categories, where it is always visible.
    pub(super) fn is_pinned(&self, tool: &str) -> bool {
        self.pinned.iter().any(|pattern| pattern.matches(tool))
    }

    /// The category that the settings give to `tool`: one whose patterns name it, the deepest first.
    pub(super) fn named(&self, tool: &str) -> Option<&str> {
        let covers = |one: &&Category| one.tools.iter().any(|pattern| pattern.matches(tool));
        deepest(self.categories.iter().filter(covers))
    }

    /// The category that the settings give to all tools of `server`, and whether to others as well.
    fn of_server(&self, server: &str) -> Option<(&str, bool)> {
        let has = |one: &&Category| one.servers.iter().any(|name| name == server);
        let name = deepest(self.categories.iter().filter(has))?;
        let category = self.categories.iter().find(|one| one.name == name)?;
        Some((name, category.servers.len() > 1))
    }

    /// The categories of the tools of one server, in the order of `papers`.
    pub(super) fn file(&self, papers: &[Paper<'_>]) -> Vec<String> {
        let mut filed: Vec<String> = vec![String::new(); papers.len()];
        let mut derived: Vec<(usize, &Paper<'_>)> = Vec::new();
        for (at, (paper, category)) in papers.iter().zip(&mut filed).enumerate() {
            match self.named(paper.name) {
                Some(named) => named.clone_into(category),
                None => derived.push((at, paper)),
            }
        }
        let Some(server) = papers.first().map(|paper| paper.server) else { return filed };
        let many = derived.len() > limits::MENU_TOOLS;
        let base = match self.of_server(server) {
            // In a category of several servers a large one is a level of its own.
            Some((category, true)) if many => format!("{category}/{server}"),
            Some((category, _)) => category.to_owned(),
            None => server.to_owned(),
        };
        let mut put = |at: usize, category: &str| {
            if let Some(filed) = filed.get_mut(at) {
                category.clone_into(filed);
            }
        };
        if let Some(tags) = by_tag(&derived) {
            for (tag, tools) in tags {
                split(&tools, &format!("{base}/{tag}"), 1, &mut put);
            }
        } else {
            split(&derived, &base, 0, &mut put);
        }
        filed
    }
}

fn deepest<'a>(categories: impl Iterator<Item = &'a Category>) -> Option<&'a str> {
    let depth = |name: &str| name.matches('/').count();
    // Of equally deep ones the first by name; they come sorted.
    categories
        .map(|category| category.name.as_str())
        .reduce(|best, name| if depth(name) > depth(best) { name } else { best })
}

type Group<'p, 'a> = Vec<(usize, &'p Paper<'a>)>;

/// The tools by their first tag; none where tags do not tell them apart.
fn by_tag<'p, 'a>(tools: &[(usize, &'p Paper<'a>)]) -> Option<BTreeMap<String, Group<'p, 'a>>> {
    let mut groups: BTreeMap<String, Group<'_, '_>> = BTreeMap::new();
    for (at, paper) in tools {
        let tag = paper.tags.first().map(|tag| segment(tag)).filter(|tag| !tag.is_empty());
        groups.entry(tag.unwrap_or_else(|| OTHER.to_owned())).or_default().push((*at, *paper));
    }
    let tagged = groups.len() - usize::from(groups.contains_key(OTHER));
    // A level where each tool stands alone hides more than it sorts.
    (tagged > 1 && groups.len() * 2 <= tools.len()).then_some(groups)
}

/// Files `tools` below `base`, with levels by the words of their names where there are many.
fn split(
    tools: &[(usize, &Paper<'_>)],
    base: &str,
    level: usize,
    put: &mut impl FnMut(usize, &str),
) {
    if tools.len() <= limits::MENU_TOOLS || level >= LEVELS {
        return tools.iter().for_each(|(at, _)| put(*at, base));
    }
    for (name, group) in by_word(tools).unwrap_or_else(|| by_number(tools)) {
        split(&group, &format!("{base}/{name}"), level + 1, put);
    }
}

/// The tools by the first word in which their names differ; none where that makes too many groups.
fn by_word<'p, 'a>(tools: &[(usize, &'p Paper<'a>)]) -> Option<BTreeMap<String, Group<'p, 'a>>> {
    let words: Vec<Vec<String>> = tools.iter().map(|(_, paper)| words(paper.own)).collect();
    let first = words.first()?;
    let shared = (0..first.len())
        .take_while(|at| words.iter().all(|words| words.get(*at) == first.get(*at)))
        .count();
    let mut groups: BTreeMap<String, Group<'_, '_>> = BTreeMap::new();
    for ((at, paper), words) in tools.iter().zip(&words) {
        let word = words.get(shared).cloned().unwrap_or_default();
        groups.entry(word).or_default().push((*at, *paper));
    }
    // Those that stand alone stand together.
    let mut other = Vec::new();
    groups.retain(|word, group| {
        let stays = group.len() > 1 && !word.is_empty() && word != OTHER;
        if !stays {
            other.append(group);
        }
        stays
    });
    if groups.is_empty() || groups.len() >= limits::MENU_TOOLS {
        return None;
    }
    if !other.is_empty() {
        other.sort_by_key(|(at, _)| *at);
        groups.insert(OTHER.to_owned(), other);
    }
    Some(groups)
}

/// The tools in the order of their names, so many at a time.
fn by_number<'p, 'a>(tools: &[(usize, &'p Paper<'a>)]) -> BTreeMap<String, Group<'p, 'a>> {
    let mut size = limits::MENU_TOOLS;
    while tools.len().div_ceil(size) > limits::MENU_TOOLS {
        size *= limits::MENU_TOOLS;
    }
    let digits = tools.len().to_string().len();
    let name = |at: usize, group: &[(usize, &Paper<'_>)]| {
        format!("{:0digits$}-{:0digits$}", at * size + 1, at * size + group.len())
    };
    tools.chunks(size).enumerate().map(|(at, group)| (name(at, group), group.to_vec())).collect()
}

/// The words of a tool's name: `create_issue`, `create-issue`, `createIssue`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() && was_lower {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_alphanumeric(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase() || c.is_numeric();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// `tag` as one level of a category.
fn segment(tag: &str) -> String {
    let plain = |c: char| if c == '/' || c.is_control() || c.is_whitespace() { '-' } else { c };
    tag.trim().chars().take(40).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use concertina_format::config::{ConfigOrigin, parse};

    use super::{Filing, Paper};

    /// How many tools each category has.
    fn filed(settings: &str, tools: &[(String, Vec<String>)]) -> BTreeMap<String, usize> {
        let (config, findings) = parse(settings, ConfigOrigin::User);
        assert!(findings.is_empty(), "{findings:?}");
        let names: Vec<String> = tools.iter().map(|(own, _)| format!("hub/{own}")).collect();
        let papers: Vec<Paper<'_>> = tools
            .iter()
            .zip(&names)
            .map(|((own, tags), name)| Paper { name, server: "hub", own, tags })
            .collect();
        let mut count = BTreeMap::new();
        for category in Filing::new(&config).file(&papers) {
            *count.entry(category).or_default() += 1;
        }
        count
    }

    fn named(names: impl IntoIterator<Item = String>) -> Vec<(String, Vec<String>)> {
        names.into_iter().map(|name| (name, Vec::new())).collect()
    }

    fn counts<const N: usize>(expected: [(&str, usize); N]) -> BTreeMap<String, usize> {
        expected.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
    }

    #[test]
    fn few_tools_sit_under_their_server() {
        let tools = named((0..40).map(|n| format!("do_{n}")));
        assert_eq!(filed("", &tools), counts([("hub", 40)]));
    }

    #[test]
    fn many_are_told_apart_by_the_first_word_in_which_they_differ() {
        let verbs = ["create", "list", "getAll"];
        let mut names: Vec<String> =
            verbs.iter().flat_map(|verb| (0..20).map(move |n| format!("hub_{verb}_{n}"))).collect();
        names.push("hub_ping".to_owned());
        assert_eq!(
            filed("", &named(names)),
            counts([("hub/create", 20), ("hub/get", 20), ("hub/list", 20), ("hub/other", 1)])
        );
    }

    #[test]
    fn names_without_order_are_numbered() {
        let tools = named((0..5_000).map(|n| format!("t{n:04}")));
        let filed = filed("", &tools);
        assert!(filed.values().all(|count| *count <= 40), "{filed:?}");
        assert_eq!(filed.keys().next().map(String::as_str), Some("hub/0001-1600/0001-0040"));
        assert_eq!(filed.values().sum::<usize>(), 5_000);
    }

    #[test]
    fn tags_make_levels_where_they_sort() {
        let tool = |n: usize, tag: &str| (format!("t{n}"), vec![tag.to_owned()]);
        let tools: Vec<_> = (0..6).map(|n| tool(n, ["read it", "a/b"][n % 2])).collect();
        assert_eq!(filed("", &tools), counts([("hub/a-b", 3), ("hub/read-it", 3)]));
        let each: Vec<_> = (0..6).map(|n| tool(n, &format!("tag{n}"))).collect();
        assert_eq!(filed("", &each), counts([("hub", 6)]), "each would stand alone");
    }

    #[test]
    fn settings_come_first_and_the_deepest_of_them() {
        let tools = named(["sql_query", "sql_drop", "mail"].map(str::to_owned));
        let settings = "[menu]\ndata = [\"*/sql_*\"]\n\"data/danger\" = [\"hub/sql_drop\"]\n\
                        [menu.misc]\nservers = [\"hub\", \"other\"]\n";
        assert_eq!(filed(settings, &tools), counts([("data", 1), ("data/danger", 1), ("misc", 1)]));
        let many = named((0..50).map(|n| format!("x{n}_{}", n % 2)));
        let filed = filed(settings, &many);
        assert!(filed.keys().all(|name| name.starts_with("misc/hub/")), "{filed:?}");
    }
}
