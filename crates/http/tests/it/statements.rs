//! Statements on checkpoints over HTTP: what a known key signed counts, once.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use concertina_core::session::Origin;
use concertina_runtime::{STATEMENT_TYPE, Session, Started};
use concertina_store::{Notary, Store};
use concertina_types::{
    Envelope, EnvelopeSignature, Notary as _, SessionId, Timestamp, pre_authentication,
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::peer::{ANN, Service, service};

/// A session that waits for what `signer` says.
fn waiting(service: &Service, signer: &Notary) -> (SessionId, String) {
    let mut workspace = service.workspace();
    let started = Started { principal: Some("ann".into()), ..Started::default() };
    let mut session = Session::create(&mut workspace, service.store(), started).unwrap();
    let text = format!(
        "sop: release\ncheckpoints: {{ci: {{webhook: {{key: \"{}\"}}, expect: {{status: success}}}}}}\nstates: {{wait: {{show: {{tools: [clock]}}, next: {{to: done, when: ci}}}}, done: {{final: true}}}}\n",
        signer.public()
    );
    let refusal = session.follow(Origin::user(), vec![text]).unwrap().refusal;
    assert!(refusal.is_none(), "{refusal:?}");
    (session.id().clone(), session.task_card().unwrap().run)
}

fn signed(signer: &Notary, statement: &Value) -> Envelope {
    let payload = statement.to_string();
    let signature = signer.sign(&pre_authentication(STATEMENT_TYPE, payload.as_bytes()));
    let sig = BASE64.encode(signature);
    Envelope {
        kind: STATEMENT_TYPE.into(),
        payload: BASE64.encode(payload),
        signatures: vec![EnvelopeSignature { keyid: String::new(), sig }],
    }
}

fn notary() -> Notary {
    Store::memory().notary(Timestamp(0)).unwrap()
}

#[tokio::test]
async fn j05_a_signed_webhook_moves_the_run_that_it_speaks_of() {
    let service = service().await;
    let (signer, stranger) = (notary(), notary());
    let (session, run) = waiting(&service, &signer);
    let said = |run: &str, status: &str, nonce: &str| json!({"run": run, "checkpoint": "ci", "parsed": {"status": status}, "nonce": nonce});
    let send = async |session: &str, envelope: &Envelope| {
        let body = serde_json::to_string(envelope).unwrap();
        let (status, told) =
            service.rest(Method::POST, ANN, &format!("statements/{session}"), body).await;
        let code = told["error"]["code"].as_str().unwrap_or_default().to_owned();
        (status, code, told["card"]["state"].as_str().unwrap_or_default().to_owned())
    };
    let id = session.as_str();
    let good = said(&run, "success", "n-1");
    let told = |status: u16, code: &str, state: &str| (status, code.to_owned(), state.to_owned());
    assert_eq!(send(id, &signed(&stranger, &good)).await, told(404, "NO_SESSION", ""));
    let mut edited = signed(&signer, &said(&run, "failure", "n-1"));
    edited.payload = BASE64.encode(good.to_string());
    assert_eq!(send(id, &edited).await, told(404, "NO_SESSION", ""), "nothing tells it from none");
    let other = signed(&signer, &said("run-other", "success", "n-1"));
    assert_eq!(send(id, &other).await, told(403, "STATEMENT_WRONG_RUN", ""));
    assert_eq!(send("s-none", &signed(&signer, &good)).await, told(404, "NO_SESSION", ""));
    let red = signed(&signer, &said(&run, "failure", "n-0"));
    assert_eq!(send(id, &red).await, told(200, "", "wait"), "it counts, and says no");
    assert_eq!(send(id, &red).await, told(403, "STATEMENT_REPLAYED", ""));
    assert_eq!(send(id, &signed(&signer, &good)).await, told(200, "", "done"));
    let (status, _) =
        service.rest(Method::POST, ANN, &format!("statements/{id}"), "no envelope").await;
    assert_eq!(status, 400);
}
