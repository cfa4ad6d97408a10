//! What changes between the turns of a kept session.

use crate::kit::{Place, skill};

fn anchor(about: &str, body: &str) -> String {
    skill("skills/anchor", &format!("name: anchor\ndescription: {about}"), body)
}

#[test]
fn b05_an_edit_is_seen_by_the_next_command() {
    let place = Place::with(&anchor("Drops it.", "Drop."));
    let digest = || place.json(&["open", "skill:anchor", "--dry-run"])["digest"].clone();
    let before = digest();
    place.add(&anchor("Drops it.", "Drop it slowly."));
    assert_ne!(digest(), before);
    place.run(&["open", "skill:anchor"]).exits(0).shows(&["slowly"]);
}

#[test]
fn c12_the_next_turn_shows_what_was_added_changed_and_removed() {
    let place = Place::with(&anchor("Drops the anchor.", "Drop."));
    let session = place.session();
    let turn = || place.run(&["session", "turn", &session]).exits(0).out;
    assert!(turn().contains("Drops the anchor."));
    place.add(&skill("skills/buoy", "name: buoy\ndescription: Sets buoys.", "Set."));
    let added = turn();
    assert!(added.contains("Sets buoys.") && !added.contains("anchor"), "{added}");
    place.add(&anchor("Weighs the anchor.", "Weigh."));
    let changed = turn();
    assert!(changed.contains("Weighs the anchor.") && !changed.contains("buoy"), "{changed}");
    std::fs::remove_dir_all(place.work().join("skills/buoy")).unwrap();
    let removed = turn();
    assert!(removed.contains("buoy") && !removed.contains("anchor"), "{removed}");
    assert_eq!(turn(), "");
}

#[test]
fn b05_a_changed_body_is_opened_anew_and_said_to_be_changed() {
    let place = Place::with(&anchor("Drops it.", "Drop."));
    let session = place.session();
    let open = || place.json(&["open", "skill:anchor", "--session", &session]);
    let first = open();
    place.add(&anchor("Drops it.", "Drop it slowly."));
    let second = open();
    assert_ne!(first["digest"], second["digest"]);
    place.run(&["session", "render", &session]).exits(0).shows(&["Drop it slowly."]);
}

#[test]
fn report_b46b_after_a_fold_the_whole_index_is_shown_once() {
    let place = Place::harbour();
    let session = place.session();
    let turn = || place.run(&["session", "turn", &session]).exits(0).out;
    let first = turn();
    assert_eq!(turn(), "");
    place.run(&["session", "compact", &session]).exits(0);
    let shown = place.run(&["session", "render", &session, "--layer", "index"]).exits(0).out;
    assert_eq!([turn(), shown].concat().matches("- logbook:").count(), 1);
    assert!(first.contains("- logbook:"));
    assert_eq!(turn(), "");
}

#[test]
fn report_b74_what_a_fold_closes_is_named_with_the_way_back() {
    // Six bodies that no fold keeps all of.
    let body = "A line about the harbour and its ships.\n".repeat(1_200);
    let files: String = (0..6)
        .map(|at| {
            let keys = format!("name: s{at}\ndescription: Number {at}.");
            skill(&format!("skills/s{at}"), &keys, &format!("Begin {at}.\n{body}"))
        })
        .collect();
    let place = Place::with(&files);
    let session = place.session();
    for at in 0..6 {
        place.run(&["open", &format!("skill:s{at}"), "--session", &session]).exits(0);
    }
    let folded = place.json(&["session", "compact", &session]);
    let (kept, dropped) =
        (folded["kept"].as_array().unwrap(), folded["dropped"].as_array().unwrap());
    assert_eq!(kept.len() + dropped.len(), 6, "{folded}");
    assert!(!dropped.is_empty(), "{folded}");
    let shown = place.run(&["session", "render", &session]).exits(0).out;
    for closed in dropped {
        assert!(shown.contains(closed.as_str().unwrap()), "{closed} is not named");
    }
}
