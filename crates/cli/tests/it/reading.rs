//! Reading a skill piece by piece: lines, sections, files, examples, and searching in it.

use std::os::unix::fs::symlink;

use crate::kit::{Place, names, skill};

/// A skill of many lines, each of which is like no other.
fn long() -> (Place, String) {
    let entry = |at: usize| format!("Entry {at}: the Aurora passed buoy {}.\n", at * 7);
    let entries = |range: std::ops::Range<usize>| range.map(entry).collect::<String>();
    let wreck = "\n## Wreck\n\nHere lies the Esmeralda.\n\n";
    let body = format!("# Log\n\n{}{wreck}{}", entries(0..601), entries(601..900));
    let place = Place::with(&skill(
        "skills/log",
        "name: log\ndescription: Keeps the log.",
        body.trim_end(),
    ));
    (place, body)
}

/// The text between the first and the last line of an answer: what the answer is about.
fn inner(text: &str) -> &str {
    text.split_once('\n').unwrap().1.strip_suffix("\n</part>").unwrap()
}

#[test]
fn e12_pages_put_together_are_the_body() {
    let (place, body) = long();
    let mut next = "skill:log@1-250".to_owned();
    let mut pages = Vec::new();
    loop {
        let page = place.json(&["open", &next])["text"].as_str().unwrap().to_owned();
        assert!(page.len() <= 10_000, "{} bytes", page.len());
        let head = page.lines().next().unwrap();
        let follow = head.split("next=\"").nth(1).map(|rest| rest.split('"').next().unwrap());
        pages.push(inner(&page).to_owned());
        match follow {
            Some(follow) => next = follow.to_owned(),
            None => break,
        }
    }
    assert!(pages.len() > 2, "{} pages", pages.len());
    assert_eq!(pages.join("\n").trim_end(), body.trim_end());
    place.run(&["open", "skill:log@5000-5001"]).exits(4).fails_clearly("NO_SUCH_LINES");
}

#[test]
fn e13_a_search_in_a_skill_names_the_section_and_its_line() {
    let (place, _) = long();
    let found = place.json(&["find", "Esmeralda", "--in", "skill:log"]);
    assert_eq!(found["enough"], true);
    assert_eq!(found["hits"][0]["ref"], "skill:log#wreck");
    assert_eq!(found["hits"][0]["title"], "Log > Wreck (line 605)");
    let flat =
        skill("skills/flat", "name: flat\ndescription: Has no heading.", "A sloop.\nA yawl.");
    place.add(&flat);
    let found = place.json(&["find", "yawl", "--in", "skill:flat"]);
    assert_eq!(found["hits"][0]["ref"], "skill:flat@1-2");
    place.run(&["find", "zeppelin", "--in", "skill:log"]).exits(0).says(&["nothing fits"]);
    place.run(&["find", "Esmeralda", "--in", "skill:nowhere"]).exits(4);
}

#[test]
fn e14_each_layer_is_smaller_than_the_next() {
    let (place, _) = long();
    let overview = place.json(&["skill", "list", "--render", "--root", "skills"]);
    let section = place.json(&["open", "skill:log#wreck"]);
    let whole = place.json(&["open", "skill:log"]);
    let tokens = |value: &serde_json::Value| value["tokens"].as_u64().unwrap();
    assert!(tokens(&overview) < tokens(&section), "{overview} {section}");
    assert!(tokens(&section) < tokens(&whole));
}

#[test]
fn e15_examples_are_found_by_words_and_by_tag_and_given_a_few_at_a_time() {
    let examples = "name: sales\ndescription: Answers questions about the shop.\nexamples:\n  \
        - {query: customers who stopped buying, text: 'SELECT 1', tags: [churn]}\n  \
        - {query: revenue of last month, text: 'SELECT 2'}\n  \
        - {query: best customers, text: 'SELECT 3'}\n  \
        - {query: late orders, text: 'SELECT 4'}";
    let place = Place::with(&skill("skills/sales", examples, "Answer."));
    let find = |query| {
        let found = place.json(&["find", query, "--kind", "example", "-k", "3"]);
        [names(&found["hits"], "ref"), names(&found["nearest"], "ref")].concat()
    };
    let stopped = find("customers that stopped buying");
    assert_eq!(stopped[0], "skill:sales#examples/1");
    assert!(stopped.len() <= 3);
    assert_eq!(find("churn")[0], "skill:sales#examples/1");
    place.run(&["open", "skill:sales#examples/1"]).exits(0).shows(&["SELECT 1"]);
    let few = place.run(&["open", "skill:sales#examples"]).exits(0);
    assert_eq!(few.out.matches("SELECT").count(), 3, "{}", few.out);
    // Without being asked for, examples do not crowd out what they belong to.
    let plain = place.json(&["find", "customers who stopped buying"]);
    assert!(names(&plain["hits"], "kind").iter().all(|kind| kind != "example"), "{plain}");
}

#[test]
fn e09_skills_opened_one_inside_another_unwind_to_where_it_began() {
    let needs = |name: &str, tools: &str| {
        let keys =
            format!("name: {name}\ndescription: Is {name}.\npermissions: {{tools: [{tools}]}}");
        skill(&format!("skills/{name}"), &keys, "Do.")
    };
    let tool = |name: &str| {
        format!(
            "[tool.{name}]\ndescription = \"Is {name}.\"\nargv = [\"/bin/echo\", \"{name}\"]\nneeds_skill = true\n"
        )
    };
    let settings = format!("//- concertina.toml\n{}{}", tool("saw"), tool("drill"));
    let place =
        Place::with(&[needs("outer", "saw"), needs("inner", "'saw, drill'"), settings].concat());
    for order in [["inner", "outer"], ["outer", "inner"]] {
        let session = place.session();
        let tools = || place.json(&["tool", "list", "--session", &session]);
        let run = |verb: &str, name: &str| {
            place.run(&[verb, &format!("skill:{name}"), "--session", &session]).exits(0);
        };
        let start = tools();
        run("open", "outer");
        let outer = tools();
        run("open", "inner");
        run("close", order[0]);
        if order[0] == "inner" {
            assert_eq!(tools(), outer);
        }
        run("close", order[1]);
        assert_eq!(tools(), start, "{order:?}");
    }
}

#[test]
fn s11_files_outside_a_skill_are_never_read_through_it() {
    let place = Place::with(
        &[
            skill("skills/chest", "name: chest\ndescription: Holds things.", "See inside.txt."),
            "//- skills/chest/inside.txt\nGold.\n//- secret.txt\nA key.\n".to_owned(),
        ]
        .concat(),
    );
    let chest = place.work().join("skills/chest");
    symlink(place.work().join("secret.txt"), chest.join("link.txt")).unwrap();
    symlink(place.work(), chest.join("up")).unwrap();
    symlink("loop", chest.join("loop")).unwrap();
    place.run(&["open", "skill:chest#inside.txt"]).exits(0).shows(&["Gold."]);
    let secret = place.work().join("secret.txt").display().to_string();
    for part in [
        "../../secret.txt",
        "./../../secret.txt",
        "a/../../../secret.txt",
        "link.txt",
        "up/secret.txt",
        "loop",
        "%2e%2e/%2e%2e/secret.txt",
        "..%2f..%2fsecret.txt",
        "..\\..\\secret.txt",
        &secret,
        "/etc/hostname",
        "../../../../../../etc/passwd",
        "file:///etc/passwd",
        "inside.txt/",
        "inside.txt\u{0}.md",
    ] {
        if part.contains('\u{0}') {
            continue;
        }
        for open in [
            vec![format!("skill:chest#{part}")],
            vec!["skill:chest".into(), "--part".into(), part.to_owned()],
        ] {
            let words: Vec<&str> = open.iter().map(String::as_str).collect();
            let done = place.run(&[&["open"], words.as_slice()].concat());
            assert!([2, 3, 4, 5].contains(&done.code), "{open:?}: {} {}", done.code, done.out);
            assert!(!done.out.contains("A key") && !done.err.contains("panicked"), "{open:?}");
        }
    }
}

#[test]
fn report_b82_a_skill_is_opened_whole_and_says_how_long_it_is() {
    let (place, body) = long();
    let opened = place.json(&["open", "skill:log"]);
    assert_eq!(opened["text"].as_str().unwrap().trim_end(), body.trim_end());
    assert!(opened["tokens"].as_u64().unwrap() > 9_000, "{}", opened["tokens"]);
    let part = place.run(&["open", "skill:log@1-3"]).exits(0);
    part.shows(&["lines=\"1-3 of ", "next=\"skill:log@4-", "</part>"]);
}
