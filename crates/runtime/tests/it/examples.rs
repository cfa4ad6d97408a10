//! The deployment of the examples, with a CI that signs and an owner who answers from elsewhere.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use concertina_core::session::Origin;
use concertina_runtime::{Cancel, STATEMENT_TYPE, Session, Started, Workspace};
use concertina_store::{Notary, Store};
use concertina_types::{
    ApprovalScope, Envelope, EnvelopeSignature, Means, Notary as _, Subject, Timestamp,
};
use serde_json::json;

use crate::kit::World;

/// A copy of the example whose CI has the key `key`.
fn deployment(key: &str) -> World {
    let world = World::new();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/deploy-gate");
    for entry in std::fs::read_dir(example).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.file_name().unwrap().to_str().unwrap();
            let own = text.split_once("key: \"").and_then(|(_, rest)| rest.split_once('"'));
            let text = own.map_or(text.clone(), |(own, _)| text.replace(own, key));
            world.write(&format!("work/{name}"), text);
        }
    }
    world
}

/// What CI says of the run as it stands, signed by `key`.
fn word(session: &Session, key: &Notary, status: &str, nonce: &str) -> Envelope {
    let run = session.state().run.clone().unwrap();
    let said = json!({
        "run": run.id, "checkpoint": "ci.ok", "parsed": {"status": status},
        "inputs_digest": run.inputs, "nonce": nonce,
    });
    let mut envelope = Envelope {
        kind: STATEMENT_TYPE.to_owned(),
        payload: BASE64.encode(said.to_string()),
        signatures: Vec::new(),
    };
    let sig = BASE64.encode(key.sign(&envelope.signed().unwrap()));
    envelope.signatures.push(EnvelopeSignature { keyid: key.key().to_string(), sig });
    envelope
}

struct Seat {
    workspace: Workspace,
    session: Session,
}

impl Seat {
    /// Calls `tool` as the model does, and gives the code of its refusal.
    fn call(&mut self, tool: &str, arguments: serde_json::Value) -> String {
        let origin = Origin { subject: Subject::Model, call: None };
        let cancel = Cancel::default();
        let reply = self.session.call(&self.workspace, origin, tool, arguments, &cancel).unwrap();
        reply.refusal.map(|refusal| refusal.code).unwrap_or_default()
    }

    fn hear(&mut self, key: &Notary, status: &str, nonce: &str) -> String {
        let envelope = word(&self.session, key, status, nonce);
        let reply = self.session.hear(&envelope).unwrap();
        reply.refusal.map(|refusal| refusal.code).unwrap_or_default()
    }

    /// What a person is asked.
    fn question(&self) -> Option<String> {
        let card = self.session.task_card().unwrap();
        card.lacking.into_iter().find_map(|one| one.question)
    }

    /// The owner agrees, from elsewhere.
    fn agree(&mut self) {
        let question = self.question().unwrap();
        let refusal = self.session.agree(&question, ApprovalScope::Once, Means::Http, None);
        assert!(refusal.unwrap().is_none());
    }

    /// The procedure and its step.
    fn at(&self) -> (String, String) {
        let card = self.session.task_card().unwrap();
        (card.procedure, card.state)
    }
}

#[test]
fn j05_j14_j17_a_deployment_that_does_not_work_goes_back_and_is_mended() {
    let ci = Store::memory().notary(Timestamp(0)).unwrap();
    let stranger = Store::memory().notary(Timestamp(0)).unwrap();
    let world = deployment(&ci.public());
    let mut workspace = world.vouched();
    let session = Session::create(&mut workspace, Store::memory(), Started::default()).unwrap();
    let mut seat = Seat { workspace, session };
    let at = |procedure: &str, state: &str| (procedure.to_owned(), state.to_owned());

    // CI has to say so, with its key, and that it passed; and the owner has to agree.
    assert_eq!(seat.call("deploy", json!({})), "NOT_VISIBLE");
    assert_eq!(seat.hear(&stranger, "success", "1"), "STATEMENT_FORGED");
    assert_eq!(seat.hear(&ci, "failure", "2"), "");
    assert!(seat.question().is_none(), "nobody is asked while CI says that it fails");
    assert_eq!(seat.hear(&ci, "success", "3"), "");
    assert_eq!(seat.hear(&ci, "success", "3"), "STATEMENT_REPLAYED");
    assert_eq!(seat.call("deploy", json!({})), "NOT_VISIBLE", "the owner did not agree yet");
    seat.agree();
    assert_eq!(seat.call("deploy", json!({})), "");
    assert_eq!(seat.at(), at("deploy-gate", "smoke"));

    // Port 80 does not work, so it goes back, and what follows is the repair.
    assert_eq!(seat.call("smoke", json!({})), "");
    assert_eq!(seat.at(), at("deploy-gate", "rollback"));
    assert_eq!(seat.call("deploy", json!({})), "NOT_VISIBLE");
    assert_eq!(seat.call("rollback", json!({})), "");
    assert!(!world.path("work/live/service.conf").exists(), "nothing was live before");
    assert_eq!(seat.at(), at("repair", "mend"));
    assert_eq!(seat.call("edit", json!({"port": 8080})), "");
    assert_eq!(seat.call("check", json!({})), "");

    // The next deployment wants its own words: those of before were about another run and other files.
    assert_eq!(seat.at(), at("deploy-gate", "wait"));
    assert_eq!(seat.call("deploy", json!({})), "NOT_VISIBLE");
    assert_eq!(seat.hear(&ci, "success", "4"), "");
    seat.agree();
    assert_eq!(seat.call("deploy", json!({})), "");
    assert_eq!(seat.call("smoke", json!({})), "");
    let live = std::fs::read_to_string(world.path("work/live/service.conf")).unwrap();
    assert!(live.contains("port=8080"), "{live}");
    assert_eq!(seat.at(), at("deploy-gate", "wait"), "and again");
}
