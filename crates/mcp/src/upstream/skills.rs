//! Skills that servers bring: what their manifests say, and files that are checked against it.

use std::sync::Arc;

use concertina_runtime::upstream::Nobody;
use concertina_types::Digest;
use serde_json::{Map, Value, json};

use super::Pool;
use super::failure::Failure;
use super::provided::ask;

/// A skill that a server brings.
#[derive(Debug, Clone, PartialEq)]
pub struct ServedSkill {
    /// The server, as it is called in the settings.
    pub server: String,
    /// The address of its `SKILL.md`.
    pub uri: String,
    /// Its frontmatter as the server lists it: at least `name` and `description`.
    pub frontmatter: Value,
    /// Its files, with what their bytes must be.
    pub files: Vec<ServedFile>,
}

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedFile {
    /// Its address.
    pub uri: String,
    /// The digest of its bytes.
    pub digest: Digest,
    /// Its size in bytes.
    pub size: u64,
}

impl Pool {
    /// The skills of all servers. One without a digest for each of its files is left out: nobody could
    /// approve what may be different at each reading.
    pub fn skills(&self) -> Vec<ServedSkill> {
        let mut all = Vec::new();
        for (name, upstream) in &self.servers {
            let Some(known) = upstream.known() else { continue };
            all.extend(known.skills.iter().filter_map(|entry| skill(name, entry)));
        }
        all
    }

    /// The bytes of a file of a skill, as the manifest says that they are.
    pub async fn skill_file(&self, server: &str, file: &ServedFile) -> Result<Vec<u8>, Failure> {
        let upstream = self.server(server)?;
        let mut params = Map::new();
        params.insert("uri".to_owned(), json!(file.uri));
        let result = ask(&upstream, "resources/read", params, Arc::new(Nobody)).await?;
        let contents = result.get("contents").and_then(Value::as_array);
        let content = contents
            .into_iter()
            .flatten()
            .find(|content| content.get("uri").and_then(Value::as_str) == Some(&file.uri))
            .ok_or_else(|| {
                Failure::Malformed(format!("it returned no content for {}", file.uri))
            })?;
        let text = |key: &str| content.get(key).and_then(Value::as_str);
        let bytes = match (text("text"), text("blob")) {
            (Some(text), _) => Some(text.as_bytes().to_vec()),
            (None, Some(blob)) => base64(blob),
            (None, None) => None,
        };
        let bytes =
            bytes.ok_or_else(|| Failure::Malformed(format!("{} cannot be read", file.uri)))?;
        let digest = Digest::of(&bytes);
        if digest != file.digest {
            return Err(Failure::Malformed(format!(
                "{} is not what its manifest says: {digest} instead of {}",
                file.uri, file.digest
            )));
        }
        Ok(bytes)
    }
}

fn skill(server: &str, entry: &Value) -> Option<ServedSkill> {
    let files = entry.get("resources")?.as_array()?.iter().map(file).collect::<Option<Vec<_>>>()?;
    let uri = entry.get("uri")?.as_str()?.to_owned();
    let base = uri.strip_suffix("SKILL.md")?;
    let is_whole = files.iter().any(|file| file.uri == uri)
        && files.iter().all(|file| {
            let path = file.uri.strip_prefix(base);
            path.is_some_and(|path| path.split('/').all(|part| !matches!(part, "" | "." | "..")))
        });
    let frontmatter = entry.get("frontmatter")?.clone();
    let is_named = ["name", "description"].iter().all(|key| {
        frontmatter.get(*key).and_then(Value::as_str).is_some_and(|text| !text.is_empty())
    });
    (is_whole && is_named).then(|| ServedSkill {
        server: server.to_owned(),
        uri,
        frontmatter,
        files,
    })
}

fn file(entry: &Value) -> Option<ServedFile> {
    Some(ServedFile {
        uri: entry.get("uri")?.as_str()?.to_owned(),
        digest: entry.get("digest")?.as_str()?.parse().ok()?,
        size: entry.get("size")?.as_u64()?,
    })
}

/// The bytes that standard base64 stands for.
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0_u32);
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=') {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xff).ok()?);
        }
    }
    Some(bytes)
}
