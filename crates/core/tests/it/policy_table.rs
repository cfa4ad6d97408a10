//! The table of docs/permissions.md, row by row.

use concertina_core::policy::{Action, FilePath, Places, Reading, Request, Rule};

use crate::kit::tool_name;

const PAGE: &str = include_str!("../../../../docs/permissions.md");

/// One row: rule, what is asked, and whether it is covered by what permits and by what forbids.
struct Row<'a> {
    rule: &'a str,
    asked: String,
    permits: bool,
    forbids: bool,
}

fn rows() -> Vec<Row<'static>> {
    let table = PAGE.split("<!-- truth table -->").nth(1).unwrap();
    let lines = table.lines().skip_while(|line| !line.starts_with("|---"));
    let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
    rows.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [rule, asked, permits, forbids] = cells.as_slice() else { panic!("{line}") };
        let code = |cell: &'static str| cell.strip_prefix('`').unwrap().strip_suffix('`').unwrap();
        let yes = |cell: &str| match cell {
            "yes" => true,
            "no" => false,
            other => panic!("{other} in {line}"),
        };
        Row {
            rule: code(rule),
            asked: code(asked).replace('¦', "|"),
            permits: yes(permits),
            forbids: yes(forbids),
        }
    })
    .collect()
}

pub(crate) fn places() -> Places {
    let path = |text| Some(FilePath::new(text).unwrap());
    Places { workspace: path("/w"), home: path("/h") }
}

fn covered(rule: &Rule, asked: &str, reading: Reading) -> bool {
    let (verb, rest) = asked.split_once(' ').unwrap();
    let path = || FilePath::new(rest).unwrap();
    let covers = |action: Action<'_>| rule.covers(&action.into(), reading);
    let request = match verb {
        "shell" => return covers(Action::Command(rest)),
        "open" => {
            let (id, arguments) = rest.split_once(' ').unwrap_or((rest, ""));
            return covers(Action::Skill { id, arguments });
        }
        "run" => Request::Run(concertina_format::expand::split_words(rest)),
        "read" => Request::Read(path()),
        "write" => Request::Write(path()),
        "call" => Request::Call(tool_name(rest)),
        method => {
            let (host, port) = rest.rsplit_once(':').unwrap();
            Request::connect(host, port.parse().unwrap(), method).unwrap()
        }
    };
    covers(Action::Request(&request))
}

#[test]
fn every_row_of_the_page_is_true() {
    let rows = rows();
    assert!(rows.len() > 70, "{} rows", rows.len());
    let mut wrong = Vec::new();
    for Row { rule, asked, permits, forbids } in &rows {
        let read = Rule::new(rule, &places()).unwrap_or_else(|error| panic!("{error}"));
        let found = [Reading::Permit, Reading::Forbid].map(|how| covered(&read, asked, how));
        if found != [*permits, *forbids] {
            wrong.push(format!("{rule} ({read}) on {asked}: {found:?}"));
        }
        // A rule that is written down in our own spelling is the same rule.
        let again = Rule::new(read.as_str(), &Places::default()).unwrap();
        assert_eq!(again.as_str(), read.as_str());
        for how in [Reading::Permit, Reading::Forbid] {
            assert_eq!(covered(&again, asked, how), covered(&read, asked, how), "{rule}");
        }
        assert!(!*permits || *forbids, "{rule} on {asked}: what permits less surely forbids more");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn both_spellings_of_a_rule_on_the_page_are_one_rule() {
    for (familiar, own) in [
        ("Skill(deploy)", "skill:deploy()"),
        ("Skill(deploy *)", "skill:deploy(*)"),
        ("Skill", "skill:*"),
        ("Bash(git add *)", "run:git add *"),
        ("Bash(git add:*)", "run:git add *"),
        ("Bash", "run:*"),
        ("Bash(*)", "run:*"),
        ("Read(src/**)", "read:src/**"),
        ("Read", "read:/**"),
        ("Edit(src/**)", "write:src/**"),
        ("Write(src/**)", "write:src/**"),
        ("WebFetch(domain:Example.com)", "host:example.com"),
        ("WebFetch", "host:*"),
        ("mcp__sql__query", "tool:sql/query"),
        ("mcp__sql", "tool:sql/*"),
    ] {
        let [familiar, own] = [familiar, own].map(|text| Rule::new(text, &places()).unwrap());
        assert_eq!(familiar.as_str(), own.as_str());
    }
}

#[test]
fn a_spelling_that_is_not_known_is_an_error_with_what_to_write() {
    for (text, help) in [
        ("Bsh(ls)", "did you mean `Bash(ls)`?"),
        ("bash", "did you mean `Bash`?"),
        ("tol:x", "did you mean `tool:x`?"),
        ("deploy", "write `tool:deploy` or `skill:deploy`"),
        ("Grepp(x)", "`tool:NAME` for any tool"),
        ("Bash(ls", "write `Bash` or `Bash(…)`"),
        ("Bash(ls) x", "write `Bash` or `Bash(…)`"),
        ("Read(/etc/**)", "write `read:/etc/**` for that, or `read:./etc/**` for the workspace's"),
        ("WebFetch(https://a.test/b)", "write `WebFetch(domain:example.com)`"),
        ("mcp__", "write `mcp__server__tool`"),
        ("tool:", "write `tool:*` for all"),
        ("tool:[", "write it as in .gitignore"),
        ("host:*.com", "name the hosts"),
        ("host:https://a.test/b", "leave out the scheme"),
        ("Bash(a && b)", "commands run without one"),
        ("Read(a/../b)", "holds `..`"),
    ] {
        let error = Rule::new(text, &places()).unwrap_err().to_string();
        assert!(error.contains(help), "{text}: {error}");
    }
    assert!(Rule::new("read:src", &Places::default()).is_err(), "a path from nowhere");
}
