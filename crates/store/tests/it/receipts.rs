//! Who signed a receipt, and that nobody changed it since.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use concertina_store::{Audit, Keyring, Notary, PublicKey, Store};
use concertina_types::{
    Digest, Envelope, EnvelopeSignature, FaultKind, Genuine, Notary as Signs, RECEIPT_TYPE,
    RECEIPT_VERSION, Receipt, ReceiptFault, Separation, SignedReceipt, Timestamp,
    pre_authentication,
};

use crate::session;

fn receipt() -> Receipt {
    Receipt {
        v: RECEIPT_VERSION,
        run: "r-1".to_owned(),
        session: session("s"),
        procedure: "commit-gate".to_owned(),
        procedure_digest: Digest::of(b"procedure"),
        state: "test".to_owned(),
        seq: 1,
        prev: None,
        tool: "test".to_owned(),
        tool_digest: Digest::of(b"tool"),
        args_digest: Digest::of(b"{}"),
        started: Timestamp(1_000),
        ended: Timestamp(2_000),
        exit: 0,
        outputs_digest: Digest::of(b"ok"),
        parsed: BTreeMap::from([
            ("exit".to_owned(), 0.into()),
            ("passed".to_owned(), 3.into()),
            ("name".to_owned(), "é\u{1f600}\"".into()),
        ]),
        inputs_digest: Some(Digest::of(b"tree")),
        proves: vec!["test.ok".to_owned()],
        refuses: Vec::new(),
        issuer: "executor".to_owned(),
        assurance: Separation::SameUid,
        tier: None,
        nonce: "00".to_owned(),
    }
}

fn notary() -> Notary {
    Store::memory().notary(Timestamp(0)).unwrap()
}

fn believing(notary: &Notary) -> Keyring {
    let mut keys = Keyring::default();
    keys.add(&notary.public()).unwrap();
    keys
}

/// An envelope around `payload`, signed by `notary`.
fn sealed(notary: &Notary, kind: &str, payload: &str) -> Envelope {
    let signature = notary.sign(&pre_authentication(kind, payload.as_bytes()));
    Envelope {
        kind: kind.to_owned(),
        payload: BASE64.encode(payload),
        signatures: vec![EnvelopeSignature {
            keyid: notary.key().to_string(),
            sig: BASE64.encode(signature),
        }],
    }
}

fn check(keys: &Keyring, text: &str) -> Result<Genuine, ReceiptFault> {
    let envelope = Envelope::parse(text)
        .map_err(|error| ReceiptFault::new(FaultKind::Unreadable, error.to_string()))?;
    keys.verify(&envelope)
}

#[track_caller]
fn fails(keys: &Keyring, envelope: &Envelope, kind: FaultKind) {
    assert_eq!(keys.verify(envelope).map_err(|fault| fault.kind), Err(kind), "{envelope:?}");
}

#[test]
fn j04_a_receipt_is_checked_with_the_public_key_alone() {
    let notary = notary();
    let signed = SignedReceipt::by(&notary, receipt());
    let found = believing(&notary).verify(&signed.envelope()).unwrap();
    assert_eq!(found.receipt, receipt());
    assert_eq!((found.digest, found.key), (receipt().digest(), notary.key()));
    assert_eq!(notary.separation(), Separation::SameUid);
    let mut unnamed = signed.envelope();
    unnamed.signatures[0].keyid = String::new();
    assert!(believing(&notary).verify(&unnamed).is_ok(), "the id is a hint");
}

#[test]
fn j04_a_receipt_of_a_home_is_checked_by_its_log_of_keys_also_after_a_rotation() {
    let home = tempfile::tempdir().unwrap();
    let first = Notary::below(home.path(), Timestamp(1)).unwrap();
    let store = Store::open(home.path()).unwrap();
    assert_eq!(store.notary(Timestamp(2)).unwrap().key(), first.key());
    let old = SignedReceipt::by(&first, receipt()).envelope();
    Audit::of(home.path()).rotate(Timestamp(3)).unwrap();
    let second = store.notary(Timestamp(4)).unwrap();
    assert_ne!(second.key(), first.key());
    let keys = Keyring::of(home.path()).unwrap();
    assert!(keys.verify(&old).is_ok());
    let new = SignedReceipt::by(&second, receipt()).envelope();
    assert!(keys.verify(&new).is_ok());
    fails(&believing(&second), &old, FaultKind::UnknownKey);
    let shown = Audit::of(home.path()).keys().unwrap();
    let shown: Vec<String> = shown.keys().iter().map(PublicKey::verifier).collect();
    assert_eq!(shown, [first.public(), second.public()]);
    let other = tempfile::tempdir().unwrap();
    fails(&Keyring::of(other.path()).unwrap(), &new, FaultKind::UnknownKey);
}

#[test]
fn j04_many_are_checked_as_each_is_by_itself() {
    let notary = notary();
    let keys = believing(&notary);
    for count in [0, 1, 31, 32, 33, 200] {
        let envelope = |number: u64| {
            let receipt = Receipt { seq: number, ..receipt() };
            let mut envelope = SignedReceipt::by(&notary, receipt).envelope();
            match number % 5 {
                0 => Err(ReceiptFault::new(FaultKind::Unreadable, number.to_string())),
                1 => {
                    envelope.signatures.clear();
                    Ok(envelope)
                }
                _ => Ok(envelope),
            }
        };
        let envelopes: Vec<_> = (0..count).map(envelope).collect();
        let each = envelopes.iter().map(|one| keys.verify(one.as_ref().map_err(Clone::clone)?));
        assert_eq!(keys.verify_all(&envelopes), each.collect::<Vec<_>>(), "{count}");
    }
}

#[test]
fn j04_no_byte_of_an_envelope_can_be_another() {
    let notary = notary();
    let keys = believing(&notary);
    let text = serde_json::to_string(&SignedReceipt::by(&notary, receipt()).envelope()).unwrap();
    assert!(check(&keys, &text).is_ok());
    let whole = text.as_bytes();
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut bytes = whole.to_vec();
            bytes[at] ^= 1 << bit;
            let Ok(changed) = String::from_utf8(bytes) else { continue };
            assert!(check(&keys, &changed).is_err(), "byte {at}, bit {bit}: {changed}");
        }
        assert!(check(&keys, &text[..at]).is_err(), "cut at {at}");
    }
}

#[test]
fn j04_no_bit_of_a_payload_can_be_another() {
    let notary = notary();
    let keys = believing(&notary);
    let envelope = SignedReceipt::by(&notary, receipt()).envelope();
    let payload = envelope.payload().unwrap();
    for at in 0..payload.len() {
        for bit in 0..8 {
            let mut bytes = payload.clone();
            bytes[at] ^= 1 << bit;
            let changed = Envelope { payload: BASE64.encode(bytes), ..envelope.clone() };
            fails(&keys, &changed, FaultKind::Forged);
        }
    }
}

#[test]
fn j04_a_signature_of_somebody_else_is_none() {
    let (ours, theirs) = (notary(), notary());
    let keys = believing(&ours);
    let foreign = SignedReceipt::by(&theirs, receipt()).envelope();
    fails(&keys, &foreign, FaultKind::UnknownKey);
    // The name of our key on their signature.
    let mut forged = foreign.clone();
    forged.signatures[0].keyid = ours.key().to_string();
    fails(&keys, &forged, FaultKind::Forged);
    forged.signatures[0].keyid = String::new();
    fails(&keys, &forged, FaultKind::Forged);
    forged.signatures.clear();
    fails(&keys, &forged, FaultKind::UnknownKey);
    let ours = SignedReceipt::by(&ours, receipt()).envelope();
    fails(&Keyring::default(), &ours, FaultKind::UnknownKey);
    // One good signature is enough, and only the first few count.
    let mut many = foreign.clone();
    many.signatures.extend(ours.signatures.clone());
    assert!(keys.verify(&many).is_ok());
    many.signatures = [vec![foreign.signatures[0].clone(); 100], ours.signatures].concat();
    fails(&keys, &many, FaultKind::UnknownKey);
}

#[test]
fn j05_others_name_their_keys_as_they_like() {
    let notary = notary();
    let keys = believing(&notary);
    let mut statement = sealed(&notary, "text/plain", "said");
    for name in ["", "ci", "00000000"] {
        statement.signatures[0].keyid = name.to_owned();
        assert_eq!(keys.signed(&statement), Ok(notary.key()), "{name}");
    }
    let mut receipt = SignedReceipt::by(&notary, receipt()).envelope();
    receipt.signatures[0].keyid = "ci".to_owned();
    fails(&keys, &receipt, FaultKind::UnknownKey);
}

#[test]
fn j05_a_key_is_spelled_by_its_bytes_or_with_its_own_id() {
    let notary = notary();
    let public = notary.public();
    let bytes = BASE64.decode(public.splitn(3, '+').nth(2).unwrap()).unwrap();
    let mut keys = Keyring::default();
    keys.add(&BASE64.encode(&bytes[1..])).unwrap();
    assert!(keys.verify(&SignedReceipt::by(&notary, receipt()).envelope()).is_ok());
    let wrong = public.replacen(&notary.key().to_string(), "00000000", 1);
    let error = keys.add(&wrong).unwrap_err().to_string();
    assert!(error.contains(&format!("it would be `{public}`")), "{error}");
    for none in ["", "K", "concertina+", "concertina+00000000+", &BASE64.encode([0; 31])] {
        assert!(keys.add(none).unwrap_err().to_string().contains("no public key"), "{none}");
    }
    // A point of small order would believe anything.
    assert!(keys.add(&BASE64.encode([0; 32])).is_err());
}

#[test]
fn j04_what_is_signed_for_something_else_is_no_receipt() {
    let notary = notary();
    let keys = believing(&notary);
    let payload = receipt().payload();
    // Of another type, and with the signature of the bare payload.
    fails(&keys, &sealed(&notary, "text/plain", &payload), FaultKind::Unreadable);
    let mut relabelled = sealed(&notary, "text/plain", &payload);
    relabelled.kind = RECEIPT_TYPE.to_owned();
    fails(&keys, &relabelled, FaultKind::Forged);
    let mut bare = sealed(&notary, RECEIPT_TYPE, &payload);
    bare.signatures[0].sig = BASE64.encode(notary.sign(payload.as_bytes()));
    fails(&keys, &bare, FaultKind::Forged);
}

#[test]
fn j04_there_is_one_spelling_of_a_receipt() {
    let notary = notary();
    let keys = believing(&notary);
    let payload = receipt().payload();
    assert!(keys.verify(&sealed(&notary, RECEIPT_TYPE, &payload)).is_ok());
    for (what, other) in [
        ("blanks", payload.replace(':', ": ")),
        ("a line end", format!("{payload}\n")),
        ("a duplicate key", payload.replacen('{', "{\"seq\":1,", 1)),
        ("a duplicate inside", payload.replace("\"passed\":3", "\"passed\":0,\"passed\":3")),
        ("a fraction", payload.replace("\"passed\":3", "\"passed\":3.0")),
        ("an exponent", payload.replace("\"passed\":3", "\"passed\":3e0")),
        ("an escape", payload.replace("\"test.ok\"", "\"t\\u0065st.ok\"")),
        ("a field more", payload.replacen('{', "{\"also\":1,", 1)),
        ("a field less", payload.replace("\"nonce\":\"00\",", "")),
        ("null for absent", payload.replace("\"v\":1", "\"v\":1,\"why\":null")),
        ("another version", payload.replace("\"v\":1", "\"v\":2")),
        ("a negative version", payload.replace("\"v\":1", "\"v\":-1")),
        ("a list", format!("[{payload}]")),
        ("deep", "[".repeat(100_000)),
        ("nothing", String::new()),
    ] {
        assert_ne!(other, payload, "{what}");
        fails(&keys, &sealed(&notary, RECEIPT_TYPE, &other), FaultKind::NotCanonical);
    }
    let text = serde_json::to_string(&sealed(&notary, RECEIPT_TYPE, &payload)).unwrap();
    for (what, other) in [
        ("a duplicate key", text.replacen('{', "{\"payload\":\"e30=\",", 1)),
        ("a field more", text.replacen('{', "{\"also\":1,", 1)),
        ("base64 without its end", text.replace('=', "")),
        ("two values", format!("{text}{text}")),
    ] {
        assert!(check(&keys, &other).is_err(), "{what}");
    }
}

#[test]
fn a_public_key_has_one_spelling() {
    let public = notary().public();
    let base64 = public.splitn(3, '+').nth(2).unwrap().to_owned();
    for other in [
        String::new(),
        base64.clone(),
        public.replace("concertina+", "other+"),
        format!("{public} "),
        format!("concertina+00000000+{base64}"),
        // A point of small order, with which one signature would do for many texts.
        concertina_types::KeyId::of(&[0; 32]).verifier(&[0; 32]),
    ] {
        assert!(Keyring::default().add(&other).is_err(), "{other}");
    }
    assert!(Keyring::default().add(&public).is_ok());
}
