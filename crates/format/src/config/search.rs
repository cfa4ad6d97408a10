//! `[search]`: how things are ranked, and whether their meaning counts as well as their words.

use std::collections::BTreeMap;

use serde::Serialize;
use toml::Spanned;
use toml::de::DeValue;

use super::fields::{Fields, Reader};
use super::sections::set;

/// How long a search waits for the vector of its request, in milliseconds: servers on the same
/// machine take some 20, distant ones some 300, and nobody waits a second for a list.
const ENCODER_MS: u64 = 800;
/// The longest that it may be told to wait. Whoever wants to wait longer than this wants no search.
const LONGEST_MS: u64 = 60_000;
/// Texts in one request to the server.
const BATCH: u64 = 64;
/// The most texts that `OpenAI` takes in one request.
const LARGEST_BATCH: u64 = 2_048;

/// The numbers of the ranking, each with the largest value that makes sense. A share is at most 1; a
/// weight beyond 1,000 leaves nothing of the others.
const WEIGHTS: [(&str, f64); 17] = [
    ("k1", 1_000.0),
    ("b", 1.0),
    ("b_short", 1.0),
    ("name", 1_000.0),
    ("description", 1_000.0),
    ("tags", 1_000.0),
    ("parameters", 1_000.0),
    ("body", 1_000.0),
    ("examples", 1_000.0),
    ("likeness", 1_000.0),
    ("not_for", 1.0),
    ("frame", 1_000.0),
    ("character", 1_000.0),
    ("pair", 1_000.0),
    ("joined", 1_000.0),
    ("alike", 1.0),
    ("typo", 1.0),
];

/// `[search]`: how things are found.
///
/// ```
/// use concertina_format::config::{ConfigOrigin, parse};
///
/// let text = "[search]\nusage = true\n[search.weights]\nname = 3\n";
/// let (config, findings) = parse(text, ConfigOrigin::User);
/// assert!(findings.is_empty());
/// assert!(config.search.usage);
/// assert_eq!(config.search.weights["name"], 3.0);
/// assert!(config.search.embeddings.is_none(), "nothing is asked unless it is set");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Search {
    /// The numbers of the ranking that are not to be its own, by name.
    pub weights: BTreeMap<&'static str, f64>,
    /// Whether what was opened after it was found before counts for more.
    pub usage: bool,
    /// The server that turns texts into vectors.
    pub embeddings: Option<Embeddings>,
    /// The model on this machine that does so.
    pub encoder: Option<SentenceEncoder>,
}

/// `[search.embeddings]`: a server with the embeddings API of `OpenAI`.
///
/// ```
/// use concertina_format::config::{ConfigOrigin, parse};
///
/// let text = "[search.embeddings]\nurl = \"http://localhost:8080\"\nmodel = \"small\"\n";
/// let (config, _) = parse(text, ConfigOrigin::User);
/// let embeddings = config.search.embeddings.unwrap();
/// assert_eq!((embeddings.timeout_ms, embeddings.batch), (800, 64));
/// // A workspace does not choose where requests are sent.
/// let (config, findings) = parse(text, ConfigOrigin::Workspace);
/// assert!(config.search.embeddings.is_none());
/// assert_eq!(findings[0].code, "WORKSPACE_REFUSED");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Embeddings {
    /// The base of its address, with or without `/v1`.
    pub url: String,
    /// What the server calls the model.
    pub model: String,
    /// The environment variable that holds the key; none is sent unless set.
    pub key_env: Option<String>,
    /// How long a search waits for it, in milliseconds.
    pub timeout_ms: u64,
    /// How many texts are sent at once.
    pub batch: u64,
}

/// `[search.encoder]`: a sentence encoder in files of this machine.
///
/// ```
/// use concertina_format::config::{ConfigOrigin, parse};
///
/// let text = "[search.encoder]\nmodel = \"m/model.onnx\"\nvocabulary = \"m/vocab.txt\"\n";
/// let (config, _) = parse(text, ConfigOrigin::User);
/// let encoder = config.search.encoder.unwrap();
/// assert!(encoder.lowercase);
/// assert_eq!(encoder.vocabulary, "m/vocab.txt");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SentenceEncoder {
    /// The model, an ONNX file.
    pub model: String,
    /// Its word pieces, one a line: BERT's `vocab.txt`.
    pub vocabulary: String,
    /// Whether texts are put in lower case and lose their accents first, as "uncased" models want.
    pub lowercase: bool,
}

/// Reads `[search]` onto what the files before it say.
pub(super) fn read<'v>(
    reader: &mut Reader<'_>,
    value: &'v Spanned<DeValue<'v>>,
    search: &mut Search,
) {
    let Some(mut fields) = Fields::open(reader, "search", value) else { return };
    set(&mut search.usage, fields.boolean("usage"));
    if let Some(value) = fields.value("weights") {
        weights(fields.reader, value, &mut search.weights);
    }
    if let Some(value) = fields.value("embeddings") {
        embeddings(fields.reader, value, &mut search.embeddings);
    }
    if let Some(value) = fields.value("encoder") {
        encoder(fields.reader, value, &mut search.encoder);
    }
    fields.finish();
}

fn weights<'v>(
    reader: &mut Reader<'_>,
    value: &'v Spanned<DeValue<'v>>,
    weights: &mut BTreeMap<&'static str, f64>,
) {
    let Some(mut fields) = Fields::open(reader, "search.weights", value) else { return };
    for (key, most) in WEIGHTS {
        if let Some(weight) = fields.number(key, 0.0..=most) {
            weights.insert(key, weight);
        }
    }
    fields.finish();
}

fn embeddings<'v>(
    reader: &mut Reader<'_>,
    value: &'v Spanned<DeValue<'v>>,
    embeddings: &mut Option<Embeddings>,
) {
    let Some(mut fields) = Fields::open(reader, "search.embeddings", value) else { return };
    let above = embeddings.as_ref();
    let url = address(&mut fields, "url").or_else(|| above.map(|above| above.url.clone()));
    let model = fields.string("model").or_else(|| above.map(|above| above.model.clone()));
    let key_env = fields.string("key_env").or_else(|| above?.key_env.clone());
    let timeout_ms = fields.integer("timeout_ms", 1..=LONGEST_MS);
    let timeout_ms = timeout_ms.or_else(|| above.map(|above| above.timeout_ms));
    let batch = fields.integer("batch", 1..=LARGEST_BATCH);
    let batch = batch.or_else(|| above.map(|above| above.batch));
    let both = both(&mut fields, value, [("url", url), ("model", model)]);
    fields.finish();
    if let Some([url, model]) = both {
        let timeout_ms = timeout_ms.unwrap_or(ENCODER_MS);
        let batch = batch.unwrap_or(BATCH);
        *embeddings = Some(Embeddings { url, model, key_env, timeout_ms, batch });
    }
}

fn encoder<'v>(
    reader: &mut Reader<'_>,
    value: &'v Spanned<DeValue<'v>>,
    encoder: &mut Option<SentenceEncoder>,
) {
    let Some(mut fields) = Fields::open(reader, "search.encoder", value) else { return };
    let above = encoder.as_ref();
    let model = fields.string("model").or_else(|| above.map(|above| above.model.clone()));
    let vocabulary = fields.string("vocabulary");
    let vocabulary = vocabulary.or_else(|| above.map(|above| above.vocabulary.clone()));
    let lowercase = fields.boolean("lowercase").or_else(|| above.map(|above| above.lowercase));
    let both = both(&mut fields, value, [("model", model), ("vocabulary", vocabulary)]);
    fields.finish();
    if let Some([model, vocabulary]) = both {
        let lowercase = lowercase.unwrap_or(true);
        *encoder = Some(SentenceEncoder { model, vocabulary, lowercase });
    }
}

/// The two values without which a table means nothing.
fn both(
    fields: &mut Fields<'_, '_, '_>,
    table: &Spanned<DeValue<'_>>,
    values: [(&'static str, Option<String>); 2],
) -> Option<[String; 2]> {
    let missing = values.iter().find(|(_, value)| value.is_none()).map(|(key, _)| *key);
    if let Some(key) = missing.filter(|key| !fields.has(key)) {
        fields.missing(key, table.span());
    }
    let [(_, first), (_, second)] = values;
    Some([first?, second?])
}

/// The address of a web server.
fn address(fields: &mut Fields<'_, '_, '_>, key: &'static str) -> Option<String> {
    let url = fields.string(key)?;
    let is_web = ["http://", "https://"].iter().any(|scheme| {
        url.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
    });
    if is_web {
        return Some(url);
    }
    let help = "write one such as http://localhost:8080";
    fields.bad_value(key, format!("`{url}` is no address of a web server"), help);
    None
}
