//! Sessions: kept between commands, apart from each other, the same bytes every time.

use std::collections::HashSet;

use crate::kit::Place;

#[test]
fn g11_the_same_state_gives_the_same_bytes() {
    let place = Place::harbour();
    let session = place.session();
    place.run(&["session", "turn", &session, "Hello"]).exits(0);
    place.run(&["open", "skill:logbook", "--session", &session]).exits(0);
    let now = place.json(&["session", "render", &session]);
    let events = place.json(&["session", "show", &session])["events"].to_string();
    // Later events and other files change nothing of what was.
    place.run(&["session", "turn", &session, "And now?"]).exits(0);
    std::fs::remove_dir_all(place.work().join("skills")).unwrap();
    let then = || place.json(&["session", "render", &session, "--at", &events]);
    assert_eq!(then(), now);
    assert_eq!(then()["digest"], now["digest"]);
    // The log alone carries it: another machine has other paths.
    let other = Place::new();
    std::fs::remove_dir_all(other.state()).unwrap();
    std::fs::rename(place.state(), other.state()).unwrap();
    assert_eq!(other.json(&["session", "render", &session, "--at", &events]), now);
}

#[test]
fn g13_tokens_are_counted_for_real_and_offline() {
    let place = Place::with("//- words.txt\nhello world\n");
    let count = place.json(&["tokens", "words.txt"]);
    // "hello", " world" and the line break, by the public o200k_base vocabulary.
    assert_eq!((count["tokens"].as_u64(), count["tokenizer"].as_str()), (Some(3), Some("o200k")));
    let estimate = place.json(&["tokens", "words.txt", "--model", "claude-sonnet-4-5"]);
    assert_eq!(estimate["exact"], false);
    assert!(estimate["tokenizer"].as_str().unwrap().contains("estimate"), "{estimate}");
}

#[test]
fn n02_a_session_goes_on_in_another_process() {
    let place = Place::harbour();
    let session = place.session();
    place
        .run(&["open", "skill:tides", "--args", r#"{"port": "south"}"#, "--session", &session])
        .exits(0);
    // Each command is a process of its own; the variable names the session as well.
    let mut call = place.command(&["call", "clock"]);
    call.env("CONCERTINA_SESSION", &session);
    crate::kit::done(call).exits(0).shows(&["06:00"]);
    place.run(&["session", "show", "last"]).exits(0).shows(&[&session, "skill:tides"]);
}

#[test]
fn n03_two_sessions_do_not_mix() {
    let place = Place::harbour();
    let (one, two) = (place.session(), place.session());
    place.run(&["session", "turn", &one, "first task"]).exits(0);
    place.run(&["session", "turn", &two, "second task"]).exits(0);
    place.run(&["open", "skill:logbook", "--session", &one]).exits(0);
    let shown = place.run(&["session", "render", &two]).exits(0);
    assert!(!shown.out.contains("first task") && !shown.out.contains("Enter:"), "{}", shown.out);
    place.run(&["call", "clock", "--session", &two]).exits(3);
}

#[test]
fn many_processes_write_to_one_session_and_nothing_is_lost() {
    let place = Place::harbour();
    let session = place.session();
    let children: Vec<_> = (0..6)
        .map(|at| {
            let text = format!("task {at}");
            let mut command = place.command(&["session", "turn", &session, &text]);
            command.stdout(std::process::Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let shown = place.run(&["session", "render", &session]).exits(0);
    let found: HashSet<usize> =
        (0..6).filter(|at| shown.out.contains(&format!("task {at}"))).collect();
    assert_eq!(found.len(), 6, "{}", shown.out);
    assert_eq!(
        shown.out.matches("- logbook:").count(),
        1,
        "the index stands there once: {}",
        shown.out
    );
}

#[test]
fn what_a_session_took_adds_up() {
    let place = Place::harbour();
    let session = place.session();
    place.run(&["session", "turn", &session, "Hello"]).exits(0);
    place.run(&["open", "skill:logbook", "--session", &session]).exits(0);
    for value in [
        place.json(&["session", "context", &session])["tokens"].clone(),
        place.json(&["session", "show", &session])["turns"][0]["tokens"].clone(),
    ] {
        let parts = value.as_object().unwrap().iter().filter(|(name, _)| *name != "total");
        let sum: u64 = parts.map(|(_, tokens)| tokens.as_u64().unwrap()).sum();
        assert_eq!(Some(sum), value["total"].as_u64(), "{value}");
        assert!(sum > 0);
    }
}
