use concertina_types::{
    Actor, Blob, Digest, Draft, Event, Fact, SessionId, Timestamp, Tokens, verify_chain,
};
use serde_json::json;

fn log() -> Vec<Event> {
    let session = SessionId::new("s-1").unwrap();
    let mut events: Vec<Event> = Vec::new();
    for at in [10, 30, 20] {
        let draft = Draft {
            step: 1,
            turn: Some(1),
            at: Timestamp(at),
            actor: Actor::User,
            cause: None,
            fact: Fact::TaskGiven { text: Blob::of("Who bought most?"), tokens: Tokens(4) },
        };
        events.push(draft.seal(&session, events.last()));
    }
    events
}

#[test]
fn time_never_runs_back() {
    let times: Vec<_> = log().iter().map(|event| event.at.0).collect();
    assert_eq!(times, [10, 30, 30]);
}

#[test]
fn an_event_survives_json() {
    for event in log() {
        let text = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
    }
}

#[test]
fn any_change_is_found() {
    assert_eq!(verify_chain(&log()), Ok(()));
    let mut edited = log();
    edited[1].step = 9;
    assert_eq!(verify_chain(&edited).unwrap_err().seq, 2);
    let mut resealed = log();
    resealed[1].step = 9;
    resealed[1].hash = resealed[1].computed_hash();
    assert_eq!(verify_chain(&resealed).unwrap_err().seq, 3);
    let mut cut = log();
    cut.remove(0);
    assert!(verify_chain(&cut).is_err());
    let mut swapped = log();
    swapped.swap(1, 2);
    assert!(verify_chain(&swapped).is_err());
}

#[test]
fn every_bit_of_a_record_counts() {
    let events = log();
    let text = serde_json::to_vec(&events[1]).unwrap();
    for at in 0..text.len() {
        for bit in 0..8 {
            let mut changed = text.clone();
            changed[at] ^= 1 << bit;
            if let Ok(event) = serde_json::from_slice::<Event>(&changed) {
                let altered = [events[0].clone(), event, events[2].clone()];
                assert!(verify_chain(&altered).is_err() || altered[1] == events[1]);
            }
        }
    }
}

#[test]
fn records_from_before_answerers_were_named_stay_as_they_were_written() {
    let key = Digest::of(b"action");
    for written in [
        json!({"kind": "approval.given", "data": {"id": "ask-1", "key": key, "scope": "once", "by": "command"}}),
        json!({"kind": "approval.refused", "data": {"id": "ask-1", "by": "terminal"}}),
        json!({"kind": "approval.asked", "data": {
            "id": "ask-1", "key": key, "request": "call a", "action": Blob::of("call a"), "code": "POLICY_ASKS",
        }}),
        json!({"kind": "approval.refused", "data": {"id": "ask-1", "by": "http", "who": "ann"}}),
    ] {
        let fact: Fact = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(serde_json::to_value(&fact).unwrap(), written);
    }
}
