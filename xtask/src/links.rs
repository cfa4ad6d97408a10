//! Relative links in Markdown lead somewhere.

use std::collections::{BTreeMap, BTreeSet};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::workspace::{Finding, Source, Workspace};

/// Directories whose Markdown is test data and may be broken on purpose.
const DATA: &[&str] = &["fixtures", "tests", "snapshots"];

/// Every link of every Markdown file that leads nowhere.
pub(crate) fn check(workspace: &Workspace) -> Vec<Finding> {
    let existing: BTreeSet<&str> = workspace.paths.iter().map(String::as_str).collect();
    broken(&workspace.sources, &existing)
}

fn broken(sources: &[Source], existing: &BTreeSet<&str>) -> Vec<Finding> {
    let pages: BTreeMap<&str, Page> = sources
        .iter()
        .filter(|source| {
            source.is("md") && !source.path.split('/').any(|part| DATA.contains(&part))
        })
        .map(|source| (source.path.as_str(), Page::read(&source.text)))
        .collect();
    let mut findings = Vec::new();
    for (path, page) in &pages {
        for (line, link) in &page.links {
            let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
            let message = match resolve(path, target) {
                None => format!("`{link}` leads out of the repository"),
                Some(file) if !file.is_empty() && !existing.contains(file.as_str()) => {
                    format!("`{link}` leads nowhere: there is no {file}")
                }
                Some(file) => match pages.get(file.as_str()) {
                    Some(page) if !anchor.is_empty() && !page.anchors.contains(anchor) => {
                        format!("`{link}` leads nowhere: {file} has no heading #{anchor}")
                    }
                    _ => continue,
                },
            };
            findings.push(Finding::new(path, *line, message));
        }
    }
    findings
}

/// What a Markdown file links to and can be linked at.
#[derive(Default)]
struct Page {
    links: Vec<(usize, String)>,
    anchors: BTreeSet<String>,
}

impl Page {
    fn read(text: &str) -> Self {
        let mut page = Self::default();
        let mut heading: Option<String> = None;
        let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. })
                    if !is_absolute(&dest_url) =>
                {
                    let before = text.get(..range.start).unwrap_or_default();
                    let line = before.matches('\n').count() + 1;
                    page.links.push((line, dest_url.into_string()));
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    if let Some(title) = heading.take() {
                        page.add_anchor(&slug(&title));
                    }
                }
                Event::Text(piece) | Event::Code(piece) => {
                    if let Some(title) = &mut heading {
                        title.push_str(&piece);
                    }
                }
                Event::Html(html) | Event::InlineHtml(html) => {
                    page.anchors.extend(html_anchors(&html).map(str::to_owned));
                }
                _ => {}
            }
        }
        page
    }

    /// The second heading with the same words gets `-1`, the third `-2`.
    fn add_anchor(&mut self, slug: &str) {
        let numbered = (1..).map(|n| format!("{slug}-{n}"));
        let free = std::iter::once(slug.to_owned())
            .chain(numbered)
            .find(|candidate| !self.anchors.contains(candidate));
        self.anchors.extend(free);
    }
}

/// The anchor that code hosts give to a heading: lower case, blanks to hyphens, no punctuation.
fn slug(title: &str) -> String {
    let kept = title.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// `id="x"` and `name="x"` in a piece of HTML.
fn html_anchors(html: &str) -> impl Iterator<Item = &str> {
    ["id=\"", "name=\""].into_iter().flat_map(move |attribute| {
        html.split(attribute).skip(1).filter_map(|rest| rest.split('"').next())
    })
}

fn is_absolute(link: &str) -> bool {
    let scheme = link.split(':').next().unwrap_or_default();
    link.starts_with("//")
        || (link.contains(':') && scheme.chars().all(|c| c.is_ascii_alphanumeric() || c == '+'))
}

/// The path, from the root, that `target` means in the file `from`; none if it leaves the root.
fn resolve(from: &str, target: &str) -> Option<String> {
    if target.is_empty() {
        return Some(from.to_owned());
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    if target.starts_with('/') {
        parts.clear();
    }
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/").replace("%20", " "))
}

#[cfg(test)]
mod test {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
        let sources = [
            source("docs/a.md", text),
            source("docs/b.md", "# Two *words* & `more`\n## Same\n## Same\n<a id=\"here\"></a>\n"),
            source("fixtures/x.md", "[broken](on-purpose.md)"),
        ];
        let existing =
            ["docs", "docs/a.md", "docs/b.md", "docs/pic one.png", "README.md", "src/l.rs"];
        let findings = broken(&sources, &existing.into());
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn good_links_lead_somewhere() {
        let good = "
            [a](b.md) [a](./b.md#same) [a](b.md#same-1) [a](b.md#two-words--more) [a](#top)
            [a](../README.md) [a](../src/l.rs#L10) [a](/README.md) [a](../docs/) ![a](pic%20one.png)
            [a](b.md#here) [a](https://example.org/x#y) [a](mailto:a@example.org) <https://example.org>
            `[a](code.md)` [ref] [a](..)
        ";
        let text = format!(
            "# Top\n{}\n\n[ref]: b.md\n\n```\n[a](block.md)\n```\n",
            good.replace("  ", "")
        );
        assert_eq!(found(&text), Vec::<String>::new());
    }

    #[test]
    fn broken_links_are_found_where_they_are() {
        for (link, message) in [
            ("c.md", "there is no docs/c.md"),
            ("b.md#nowhere", "docs/b.md has no heading #nowhere"),
            ("#nowhere", "docs/a.md has no heading #nowhere"),
            ("b.md#same-2", "has no heading #same-2"),
            ("../../x.md", "leads out of the repository"),
        ] {
            let found = found(&format!("# Top\n\ntext\n[a]({link})\n"));
            assert!(found.len() == 1 && found[0].contains(message), "{link}: {found:?}");
            assert!(found[0].starts_with("docs/a.md:4: "), "{found:?}");
        }
        assert_eq!(found("[a][r]\n\n[r]: c.md").len(), 1);
        assert_eq!(found("![a](c.png)").len(), 1);
    }
}
