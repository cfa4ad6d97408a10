//! The parts of a body.

use concertina_format::skill::{first_paragraph, sections};

#[test]
fn sections_hold_their_subsections_and_skip_code() {
    let body = "Intro\n\n# Lamp & *oil*\n\nA\n\n## Fill\n\n```sh\n# no heading\n```\n\nSetext\n------\n\nB\n\n# Lamp & oil\n\n> # quoted\n\n- # listed\n\n####### seven\n\n## `Trim` it ##\nC\n";
    let found: Vec<_> = sections(body)
        .into_iter()
        .map(|s| {
            (
                s.level,
                s.title.clone(),
                s.slug.clone(),
                s.span.of(body).lines().last().unwrap_or_default().to_owned(),
            )
        })
        .collect();
    let section = |level, title: &str, slug: &str, last: &str| {
        (level, title.to_owned(), slug.to_owned(), last.to_owned())
    };
    assert_eq!(
        found,
        [
            section(1, "Lamp & oil", "lamp--oil", ""),
            section(2, "Fill", "fill", ""),
            section(2, "Setext", "setext", ""),
            section(1, "Lamp & oil", "lamp--oil-1", "C"),
            section(2, "Trim it", "trim-it", "C"),
        ]
    );
}

#[test]
fn spans_nest_and_end_at_the_next_heading() {
    let body = "# A\none\n## B\ntwo\n### C\nthree\n## D\nfour\n# E\nfive\n";
    let found = sections(body);
    let text = |at: usize| found[at].span.of(body);
    assert_eq!(text(0), "# A\none\n## B\ntwo\n### C\nthree\n## D\nfour\n");
    assert_eq!(text(1), "## B\ntwo\n### C\nthree\n");
    assert_eq!(text(2), "### C\nthree\n");
    assert_eq!(text(4), "# E\nfive\n");
}

#[test]
fn the_first_paragraph_is_prose() {
    let of = |body: &str| first_paragraph(body);
    assert_eq!(
        of("# T\n\n```\ncode\n```\n\nA [link](x)\nand `code`.\n").as_deref(),
        Some("A link and code.")
    );
    assert_eq!(of("# T\n\n| a | b |\n|---|---|\n| c | d |\n\nText.\n").as_deref(), Some("Text."));
    assert_eq!(of("# T\n\n<!-- note -->\n\n![logo](x.png)\n\nText.\n").as_deref(), Some("logo"));
    assert_eq!(of("# Only a heading\n"), None);
    assert_eq!(of(""), None);
}
