//! `docs/skill-format.md` says what the tables of the crate say.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use concertina_format::skill::{codes::Code, known_keys};

fn page() -> (PathBuf, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/skill-format.md");
    let text = std::fs::read_to_string(&path).unwrap();
    (path, text)
}

/// What stands between `<!-- name -->` and `<!-- /name -->`.
fn part<'t>(text: &'t str, name: &str) -> &'t str {
    let (open, close) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let start = text.find(&open).expect("the part begins") + open.len();
    let end = text[start..].find(&close).expect("the part ends") + start;
    &text[start..end]
}

/// Run with `CONCERTINA_UPDATE_DOCS=1` to write the table.
#[test]
fn the_page_lists_every_code() {
    let mut table = String::from(
        "| code | severity | effect | meaning | what to do |\n|---|---|---|---|---|\n",
    );
    for code in Code::ALL {
        let effect = format!("{:?}", code.effect()).to_lowercase();
        let cell = |text: &str| text.replace('|', "\\|");
        writeln!(
            table,
            "| `{code}` | {} | {effect} | {} | {} |",
            code.severity(),
            cell(code.meaning()),
            cell(code.help())
        )
        .unwrap();
    }
    let (path, text) = page();
    let now = part(&text, "codes");
    if std::env::var("CONCERTINA_UPDATE_DOCS").is_ok() {
        let from = text.find("<!-- codes -->\n").unwrap() + "<!-- codes -->\n".len();
        let updated = [&text[..from], &table, &text[from + now.len()..]].concat();
        std::fs::write(path, updated).unwrap();
        return;
    }
    assert!(
        now == table,
        "docs/skill-format.md differs from Code::ALL: run this test with CONCERTINA_UPDATE_DOCS=1"
    );
}

#[test]
fn the_page_lists_every_key() {
    let (_, text) = page();
    let rows = part(&text, "keys").lines().skip(2);
    let listed: Vec<&str> = rows.map(|row| row.split('`').nth(1).unwrap()).collect();
    assert_eq!(listed, known_keys().collect::<Vec<_>>());
}

#[test]
fn every_case_names_tests_that_exist() {
    let (_, text) = page();
    let sources = [
        include_str!("skill_cases.rs"),
        include_str!("skill_document.rs"),
        include_str!("skill_hard.rs"),
        include_str!("skill_laws.rs"),
    ];
    let mut cases = 0;
    for row in part(&text, "cases").lines().skip(2) {
        for test in row.split('`').skip(1).step_by(2) {
            let declaration = format!("fn {test}(");
            assert!(sources.iter().any(|source| source.contains(&declaration)), "no test {test}");
        }
        cases += 1;
    }
    // And every case of the file is listed.
    let in_file = sources[0].split("#[test]\nfn ").skip(1).filter(|rest| {
        let id = rest.split('_').next().unwrap();
        !part(&text, "cases").contains(&format!("| {} |", id.to_uppercase()))
    });
    assert_eq!((cases, in_file.count()), (33, 0));
}
