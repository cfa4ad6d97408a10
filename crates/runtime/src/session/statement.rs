//! Statements from outside: what they say, and who has to have signed them.

use std::collections::BTreeMap;

use concertina_core::procedure::Machine;
use concertina_core::session::Statement;
use concertina_format::procedure::Issuer;
use concertina_store::Keyring;
use concertina_types::{Digest, Envelope, FieldValue};
use serde::Deserialize;

/// What a statement from outside says that it is.
pub const STATEMENT_TYPE: &str = "application/vnd.concertina.statement+json";

/// A statement as it stands in its envelope.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    run: String,
    checkpoint: String,
    #[serde(default, deserialize_with = "each_once")]
    parsed: BTreeMap<String, FieldValue>,
    #[serde(default)]
    inputs_digest: Option<Digest>,
    nonce: String,
}

/// The longest nonce, in bytes: what it is in has to fit into a receipt.
const NONCE_BYTES: usize = 200;
/// The longest statement, in bytes.
const STATEMENT_BYTES: usize = 64 * 1024;

/// Fields of which each is said once: of two, readers could take either.
fn each_once<'de, D: serde::Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<String, FieldValue>, D::Error> {
    struct Fields;
    impl<'de> serde::de::Visitor<'de> for Fields {
        type Value = BTreeMap<String, FieldValue>;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("fields, each once")
        }
        fn visit_map<A: serde::de::MapAccess<'de>>(
            self,
            mut map: A,
        ) -> Result<Self::Value, A::Error> {
            let mut fields = BTreeMap::new();
            while let Some((name, value)) = map.next_entry::<String, FieldValue>()? {
                if fields.contains_key(&name) {
                    return Err(serde::de::Error::custom(format!("`{name}` is said twice")));
                }
                fields.insert(name, value);
            }
            Ok(fields)
        }
    }
    from.deserialize_map(Fields)
}

/// The statement in `envelope`, if the key that its checkpoint names signed it.
pub(super) fn statement(
    machine: &Machine,
    envelope: &Envelope,
) -> Result<Statement, (&'static str, String)> {
    let unreadable = |why: String| ("STATEMENT_UNREADABLE", why);
    if envelope.kind != STATEMENT_TYPE {
        let kind: String = envelope.kind.chars().take(100).collect();
        return Err(unreadable(format!(
            "it holds `{kind}`, and a statement is `{STATEMENT_TYPE}`"
        )));
    }
    let payload = envelope.payload().map_err(|error| unreadable(error.to_string()))?;
    if payload.len() > STATEMENT_BYTES {
        return Err(unreadable(format!("it is longer than {STATEMENT_BYTES} bytes")));
    }
    let said: Said = serde_json::from_slice(&payload)
        .map_err(|error| unreadable(format!("what it holds is no statement: {error}")))?;
    if said.nonce.is_empty() || said.nonce.len() > NONCE_BYTES {
        return Err(unreadable(format!("its nonce has to have 1 to {NONCE_BYTES} bytes")));
    }
    let checkpoint = machine.document().checkpoint(&said.checkpoint);
    let key = checkpoint.and_then(|checkpoint| match &checkpoint.issuer {
        Issuer::Webhook { key } => Some(key.clone()),
        _ => None,
    });
    let Some(key) = key else {
        return Err(("UNKNOWN_CHECKPOINT", format!("no webhook proves `{}`", said.checkpoint)));
    };
    let mut keys = Keyring::default();
    keys.add(&key).map_err(|error| {
        ("STATEMENT_WRONG_KEY", format!("the key of checkpoint {}: {error}", said.checkpoint))
    })?;
    keys.signed(envelope).map_err(|fault| ("STATEMENT_FORGED", fault.to_string()))?;
    Ok(Statement {
        key,
        run: said.run,
        checkpoint: said.checkpoint,
        fields: said.parsed,
        inputs: said.inputs_digest,
        nonce: said.nonce,
        payload: Digest::of(&payload),
    })
}
