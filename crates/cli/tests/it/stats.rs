//! `stats`: figures over the logs of all sessions.

use serde_json::{Value, json};

use crate::kit::Place;

/// A harbour in which somebody searched, opened and called.
fn worked() -> Place {
    let place = Place::harbour();
    let first = place.session();
    let run = |command: &[&str], code: i32| {
        place.run(&[command, &["--session", &first]].concat()).exits(code);
    };
    run(&["find", "high water"], 0);
    // Refused, since the skill that brings it is closed.
    run(&["call", "clock"], 3);
    run(&["open", "skill:tides", "--args", r#"{"port": "north"}"#], 0);
    run(&["call", "clock"], 0);
    run(&["call", "clok"], 4);
    run(&["find", "which pilot takes which ship"], 0);
    run(&["open", "skill:tides#rules"], 0);
    let second = place.session();
    for query in ["quantum chromodynamics", "writes an entry into the log"] {
        place.run(&["find", query, "--session", &second]).exits(0);
    }
    place
}

#[test]
fn l09_stats_routing_follows_searches_loads_and_refusals() {
    let place = worked();
    let report = place.json(&["stats", "routing"]);
    assert_eq!(report["sessions"], 2);
    let finds = &report["finds"];
    assert_eq!((&finds["all"], &finds["nothing_fits"]), (&json!(4), &json!(1)), "{finds:#}");
    assert_eq!((&finds["fitting"], &finds["followed"]), (&json!(3), &json!(2)), "{finds:#}");
    assert_eq!(finds["hit_rate"], json!(2.0 / 3.0));
    // The second search named the tides as well, further down.
    let ranks = &finds["followed_rank"]["ranks"];
    assert_eq!((&ranks[0], &ranks[2]), (&json!(1), &json!(1)), "{finds:#}");
    let calls = &report["calls"];
    assert_eq!((&calls["asked"], &calls["admitted"]), (&json!(3), &json!(1)), "{calls:#}");
    assert_eq!((&calls["refused"], &calls["blocked"]), (&json!(2), &json!(1)), "{calls:#}");
    assert_eq!(calls["permission_block_rate"], json!(1.0 / 3.0));
    assert_eq!(calls["codes"], json!({"NOT_VISIBLE": 1, "UNKNOWN_TOOL": 1}));
    let opened: Vec<&String> = report["load_of"].as_object().unwrap().keys().collect();
    assert_eq!(opened, ["part", "skill"]);
    let tokens = |load: &Value| load["tokens"].as_u64().unwrap();
    let parts = tokens(&report["load_of"]["part"]) + tokens(&report["load_of"]["skill"]);
    assert_eq!((report["load"]["opens"].as_u64(), tokens(&report["load"])), (Some(2), parts));
}

#[test]
fn l09_stats_routing_is_a_table_for_people() {
    let done = worked().run(&["stats", "routing"]).exits(0);
    insta::assert_snapshot!(done.out, @r"
    searches                   4  3 with hits that fit, 1 told that nothing fits
    hit rate               0.667  of 3 that fit, 2 led to what was opened or called; 0.21 to 0.94 at 95 %
      rank 1                   1
      rank 3                   1
    tokens an open            86  2 opens, 172 tokens; median 33, at most 139
      part                    33  1 open, 33 tokens; median 33, at most 33
      skill                  139  1 open, 139 tokens; median 139, at most 139
    calls                      3  1 reached the tool, 2 refused before
    permission block rate  0.333  of 3 calls, 1 stopped by permission; 0.06 to 0.79 at 95 %
      NOT_VISIBLE              1
      UNKNOWN_TOOL             1
    ");
    done.says(&["read off the logs of 2 sessions"]);
}

#[test]
fn l09_stats_routing_of_no_session_says_so_and_makes_no_log() {
    let place = Place::new();
    let report = place.json(&["stats", "routing"]);
    assert_eq!((&report["finds"]["hit_rate"], &report["load"]), (&Value::Null, &Value::Null));
    place.run(&["stats", "routing"]).exits(0).says(&["the logs of 0 sessions"]);
    assert!(!place.state().join("events.db").exists(), "looking makes no log");
}

#[test]
fn l09_a_search_that_counts_earlier_use_shows_what_that_adds() {
    let place = worked();
    let find = ["find", "high water", "--explain"];
    let plain = place.json(&find);
    let prior = |answer: &Value, name: &str| {
        let ranked = answer["explanation"]["ranked"].as_array().unwrap().clone();
        let hit = ranked.into_iter().find(|hit| hit["ref"] == name).unwrap();
        hit["prior"].clone()
    };
    assert_eq!(prior(&plain, "skill:tides"), json!(0.0));
    assert!(!place.run(&find).exits(0).out.contains("used before"));
    let settings = place.home().join(".config/concertina");
    std::fs::create_dir_all(&settings).unwrap();
    std::fs::write(settings.join("concertina.toml"), "[search]\nusage = true\n").unwrap();
    assert!(prior(&place.json(&find), "skill:tides").as_f64() > Some(0.0));
    place.run(&find).exits(0).shows(&["used before"]).says(&["the logs of 2 earlier sessions"]);
    let other = [&find[..], &["--principal", "ann"]].concat();
    assert_eq!(prior(&place.json(&other), "skill:tides"), json!(0.0));
}
