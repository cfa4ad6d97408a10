//! `eval route`: what it counts, what it says, and what bad files cost.

use serde_json::{Value, json};

use crate::kit::Place;

/// Ids of all sorts, and more requests than one kind.
const ROWS: &str = r#"//- rows.jsonl
{"id": "mail#1", "name": "mail/send", "description": "Sends a letter to somebody.", "params": null}
{"id": "读 信", "name": "mail/read", "description": "Shows the letters that came in.", "category": "post", "not_for": []}
{"id": "c", "name": "clock/now", "description": "Says the time.", "params": {"properties": {"zone": {"description": "where the clock hangs"}}}}
{"id": "d", "name": "alarm", "description": null, "body": "Rings a bell at dawn.", "examples": ["wake me"], "extra": {"deep": [1]}}
//- asked.jsonl
{"query": "send a letter", "relevant": ["mail#1"], "kind": "plain", "lang": "en"}
{"query": "letters that came in", "relevant": ["读 信", "mail#1"], "kind": "plain", "lang": "en"}
{"query": "somebody who says the time", "relevant": ["d"], "kind": "hard", "lang": "en"}
{"query": "鼹鼠", "relevant": ["c"], "kind": "hard", "lang": "zh"}
{"query": "play chess", "relevant": [], "kind": "none"}
//- none.jsonl
{"query": "roast a goose"}
{"query": "what is the time on the clock", "relevant": null}
"#;

const COMMAND: [&str; 8] = [
    "eval",
    "route",
    "--catalog",
    "rows.jsonl",
    "--queries",
    "asked.jsonl",
    "--none",
    "none.jsonl",
];

fn place() -> Place {
    Place::with(ROWS)
}

/// What a run says of one and the same thing each time.
fn timeless(mut report: Value) -> Value {
    for key in ["p50_us", "p99_us", "build_ms"] {
        let time = report.as_object_mut().unwrap().remove(key).unwrap();
        assert!(time.as_f64().unwrap() > 0.0, "{key}: {time}");
    }
    report
}

#[test]
fn q_the_figures_are_those_that_a_reader_counts_by_hand() {
    let report = place().json(&COMMAND);
    for (figure, value) in [
        ("queries", json!(7)),
        ("answerable", json!(4)),
        ("unanswerable", json!(3)),
        ("documents", json!(4)),
        ("hit_at_1", json!(0.5)),
        ("recall_at_5", json!(0.5)),
        ("recall_at_10", json!(0.5)),
        ("abstained", json!(2.0 / 3.0)),
        ("wrongly_answered", json!(1.0 / 3.0)),
        ("answerable_kept", json!(0.75)),
    ] {
        assert_eq!(report[figure], value, "{figure}: {report:#}");
    }
    assert_eq!(report["per_kind"]["plain"]["hit_at_1"], 1.0);
    assert_eq!(report["per_kind"]["hard"]["hit_at_1"], 0.0);
    assert_eq!(report["per_lang"]["zh"]["queries"], 1);
    // Of no request nothing is known.
    assert_eq!(report["per_kind"]["plain"]["abstained"], Value::Null);
    assert_eq!(report["per_kind"]["none"]["hit_at_1"], Value::Null);
    assert_eq!(report["first_relevant_rank"]["ranks"][0], 2);
    assert_eq!(report["first_relevant_rank"]["beyond"], 2);
    let interval = &report["ci95"]["hit_at_1"];
    assert!(interval[0].as_f64() < Some(0.5) && interval[1].as_f64() > Some(0.5), "{interval}");
}

#[test]
fn q_what_won_in_place_of_what_is_named_with_its_words() {
    let report = place().json(&COMMAND);
    let confusions = report["confusions"]["first"].as_array().unwrap();
    assert_eq!(report["confusions"]["count"], confusions.len());
    let of = |over: &Value| confusions.iter().find(|one| one["over"] == *over).unwrap();
    let wrong = of(&json!("d"));
    assert_eq!((&wrong["won"], &wrong["times"]), (&json!("c"), &json!(1)));
    let words: Vec<&str> =
        wrong["words"].as_array().unwrap().iter().map(|w| w["word"].as_str().unwrap()).collect();
    assert_eq!(words, ["time", "says"]);
    assert_eq!(of(&Value::Null)["requests"][0], "what is the time on the clock");
}

#[test]
fn q_the_order_of_the_lines_makes_no_difference() {
    let place = place();
    let before = timeless(place.json(&COMMAND));
    let file = place.work().join("rows.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    let reversed: Vec<&str> = text.lines().rev().collect();
    std::fs::write(&file, format!("\u{feff}{}\r\n\r\n", reversed.join("\r\n"))).unwrap();
    assert_eq!(timeless(place.json(&COMMAND)), before);
}

#[test]
fn q_people_read_a_table_and_what_won() {
    let done = place().run(&COMMAND).exits(0);
    let done = done.says(&["4 documents; 4 requests that something serves, 3 that nothing does"]);
    let (table, won) = done.out.split_once("\nwhat won in place of what:\n").unwrap();
    // How many points a word is worth changes with the ranking.
    let lines: Vec<_> = won.lines().map(|line| line.rsplit_once("  ").unwrap()).collect();
    assert_eq!(lines.len(), 2, "{won}");
    assert!(lines[0].0.starts_with("1×  c  where nothing fits"), "{won}");
    assert!(lines[1].0.starts_with("1×  c  in place of d"), "{won}");
    assert!(lines[0].1.contains("clock +") && lines[1].1.contains("says +"), "{won}");
    insta::assert_snapshot!(table, @r"
                requests  hit@1  at 95 %       recall@5  recall@10  nDCG@10   kept  turned away
    all                7  0.500  0.15 to 0.85     0.500      0.500    0.500  0.750        0.667
    kind hard          2  0.000  0.00 to 0.66     0.000      0.000    0.000  0.500            -
    kind none          1      -                       -          -        -      -        1.000
    kind plain         2  1.000  0.34 to 1.00     1.000      1.000    1.000  1.000            -
    lang en            3  0.667  0.21 to 0.94     0.667      0.667    0.667  1.000            -
    lang zh            1  0.000  0.00 to 0.79     0.000      0.000    0.000  0.000            -
    ");
}

#[test]
fn q_a_bad_line_costs_only_itself_and_is_named() {
    let place = place();
    let before = timeless(place.json(&COMMAND));
    let rows = place.work().join("rows.jsonl");
    let mut bytes = std::fs::read(&rows).unwrap();
    bytes.extend_from_slice(
        b"{\"id\": \"x\"}\nnot json\n[\"x\", \"y\"]\n{\"id\": \" \", \"name\": \"y\"}\n",
    );
    bytes.extend_from_slice(
        b"{\"id\": \"x\", \"name\": \"caf\xe9\"}\n{\"id\": \"x\", \"name\": \"\"}\n",
    );
    bytes.extend_from_slice(b"{\"id\": \"x\", \"name\": \"y\"");
    bytes.extend(std::iter::repeat_n(b' ', 17 * 1024 * 1024));
    bytes.extend_from_slice(b"}\n");
    std::fs::write(&rows, &bytes).unwrap();
    let asked = place.work().join("asked.jsonl");
    let lines = std::fs::read_to_string(&asked).unwrap()
        + "{\"query\": \"a\"}\n{\"relevant\": []}\n{\"query\": \"a\", \"relevant\": \"c\"}\n";
    std::fs::write(&asked, lines).unwrap();
    let none = place.work().join("none.jsonl");
    let lines =
        std::fs::read_to_string(&none).unwrap() + "{\"query\": \"a\", \"relevant\": [\"c\"]}\n";
    std::fs::write(&none, lines).unwrap();
    let mut report = timeless(place.json(&COMMAND));
    let skipped = report["skipped"].take();
    let why: Vec<String> = skipped["first"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| {
            format!(
                "{}:{}: {}",
                line["file"].as_str().unwrap(),
                line["line"],
                line["why"].as_str().unwrap()
            )
        })
        .collect();
    insta::assert_snapshot!(why.join("\n"), @r#"
    rows.jsonl:5: missing field `name`
    rows.jsonl:6: it is no JSON object
    rows.jsonl:7: it is no JSON object
    rows.jsonl:8: `id` is empty
    rows.jsonl:9: byte 25 of the line is not UTF-8
    rows.jsonl:10: `name` is empty
    rows.jsonl:11: the line is longer than 16 MB
    asked.jsonl:6: missing field `relevant`; an empty list means that nothing serves it
    asked.jsonl:7: missing field `query`
    asked.jsonl:8: invalid type: string "c", expected a list
    none.jsonl:3: `relevant` names what serves it, in a file of requests that nothing serves
    "#);
    assert_eq!(skipped["count"], why.len());
    report["skipped"] = before["skipped"].clone();
    assert_eq!(report, before, "the rest is measured as it was");
    place.run(&COMMAND).exits(0).says(&[
        "warning: 11 lines cannot be used and are left out",
        "rows.jsonl:5: ",
        "and 6 more",
    ]);
}

#[test]
fn q_files_that_cannot_be_measured_say_why() {
    let place = place();
    let write = |text: &str| std::fs::write(place.work().join("rows.jsonl"), text).unwrap();
    for (text, says) in [
        ("", "rows.jsonl has no line"),
        ("\n \n", "rows.jsonl has no line"),
        ("{}\n", "rows.jsonl:1: missing field `id`"),
        (
            "{\"id\": \"a\", \"name\": \"x\"}\n\n{\"id\": \"a\", \"name\": \"y\"}\n",
            "rows.jsonl:3: the id `a` stands here for the second time, first in line 1",
        ),
    ] {
        write(text);
        place.run(&COMMAND).exits(1).says(&[says]).fails_clearly("BAD_DATA");
    }
    for (at, file) in [(3, "nowhere.jsonl"), (5, "nowhere.jsonl"), (7, "nowhere.jsonl"), (3, ".")] {
        let mut command = COMMAND;
        command[at] = file;
        write("{\"id\": \"a\", \"name\": \"x\"}\n");
        let exit = if file == "." { 5 } else { 4 };
        place.run(&command).exits(exit).fails_clearly("UNREADABLE").says(&[file]);
    }
    place.run(&[&COMMAND[..], &["-k", "0"]].concat()).exits(2);
}

#[test]
fn q_a_request_whose_documents_are_missing_is_named_and_in_no_figure() {
    let place = place();
    let before = place.json(&COMMAND);
    let asked = place.work().join("asked.jsonl");
    let lines = std::fs::read_to_string(&asked).unwrap()
        + "{\"query\": \"fly a kite\", \"relevant\": [\"kite\", \"wind\"], \"kind\": \"plain\"}\n";
    let lines = lines.replace("[\"c\"]", "[\"c\", \"clock\", \"c\"]");
    std::fs::write(&asked, lines).unwrap();
    let report = place.json(&COMMAND);
    for same in ["queries", "hit_at_1", "recall_at_10", "per_kind", "per_lang"] {
        assert_eq!(report[same], before[same], "{same}");
    }
    assert_eq!((&report["unservable"], &report["unknown"]["count"]), (&json!(1), &json!(2)));
    assert_eq!(
        report["unknown"]["first"],
        json!([
            {"file": "asked.jsonl", "line": 4, "query": "鼹鼠", "ids": ["clock"], "left_out": false},
            {"file": "asked.jsonl", "line": 6, "query": "fly a kite", "ids": ["kite", "wind"], "left_out": true},
        ])
    );
    let done = place.run(&COMMAND).exits(0);
    done.says(&[
        "2 requests name ids that the catalogue does not have",
        "asked.jsonl:6: `kite`, `wind`; nothing else serves it",
    ]);
}

#[test]
fn q_requests_of_any_length_are_measured() {
    let place = place();
    let huge = "letter 信 ".repeat(400_000);
    let lines = format!(
        "{{\"query\": \"{huge}\", \"relevant\": [\"mail#1\"]}}\n{{\"query\": \"\", \"relevant\": [\"c\"]}}\n"
    );
    std::fs::write(place.work().join("asked.jsonl"), lines).unwrap();
    let done = place.run(&[&COMMAND[..], &["--json"]].concat()).exits(0);
    assert_eq!(done.json()["answerable"], 2);
    assert!(done.out.len() < 20_000, "what is quoted is cut: {} bytes", done.out.len());
}

#[test]
fn q_two_configurations_are_compared_on_the_same_requests() {
    let place = place();
    std::fs::write(place.work().join("deaf.toml"), "[search.weights]\ndescription = 0\n").unwrap();
    let compare = [&COMMAND[..], &["--compare", "deaf.toml"]].concat();
    let mut report = place.json(&compare);
    let compared = report["compared"].take();
    let difference = &compared["hit_at_1"];
    let of = |report: &Value| report["hit_at_1"].as_f64().unwrap();
    assert_eq!(difference["value"], of(&compared["report"]) - of(&report), "{compared:#}");
    assert_eq!(compared["lost"]["count"], difference["only_first"]);
    assert_eq!(compared["won"]["count"], difference["only_second"]);
    assert_eq!(compared["per_kind"]["hard"]["p_value"], 1.0);
    // The first is what it is alone, and with the two exchanged the difference changes its sign.
    report.as_object_mut().unwrap().remove("compared");
    assert_eq!(timeless(report.clone()), timeless(place.json(&COMMAND)));
    std::fs::write(place.work().join("own.toml"), "").unwrap();
    let swapped = ["--config", "deaf.toml", "--compare", "own.toml"];
    let swapped = place.json(&[&COMMAND[..], &swapped].concat());
    assert_eq!(swapped["hit_at_1"], compared["report"]["hit_at_1"]);
    assert_eq!(
        swapped["compared"]["hit_at_1"]["value"].as_f64().map(|value| -value),
        difference["value"].as_f64()
    );
    place.run(&compare).exits(0).shows(&["compared", "hit@1, kind hard", "only second"]);
}

#[test]
fn q_settings_that_are_not_what_they_seem_are_not_measured() {
    let place = place();
    let with = [&COMMAND[..], &["--config", "odd.toml"]].concat();
    place.run(&with).exits(4).fails_clearly("UNREADABLE").says(&["odd.toml"]);
    std::fs::write(place.work().join("odd.toml"), "[search.weights]\nnaem = 3\nbody = 1\n")
        .unwrap();
    place.run(&with).exits(1).fails_clearly("BAD_SETTINGS").says(&["odd.toml:2:1", "`name`"]);
    std::fs::write(place.work().join("odd.toml"), "[search]\nusage = true\n").unwrap();
    place.run(&with).exits(0).says(&["`search.usage`", "is not used here"]);
}
