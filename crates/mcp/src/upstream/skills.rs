//! Skills that servers bring: what their manifests say, files that are checked against it, and those
//! that a person approved.
//!
//! What is approved is kept as files, so that it is listed, searched and read like any other skill,
//! and no server is asked for it again. The directory is called by the digest of the manifest: another
//! version is another directory, which nobody has approved.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine as _, alphabet};
use concertina_runtime::private::{create, create_private_directory};
use concertina_runtime::upstream::{JsonText, Nobody, OfferedSkill};
use concertina_types::{Digest, SkillId, canonical_json, limits};
use serde_json::{Map, Value, json};

use super::Pool;
use super::failure::Failure;
use super::provided::ask;
use super::records::Records;

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

impl ServedSkill {
    /// The digest of its manifest: of its address, its frontmatter, and the digests of its files.
    pub fn digest(&self) -> Digest {
        let files: Vec<_> = self.files.iter().map(|file| json!([file.uri, file.digest])).collect();
        let whole = json!([self.uri, self.frontmatter, files]);
        Digest::of(canonical_json(&whole).as_bytes())
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.frontmatter.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// What it is for.
    pub fn description(&self) -> &str {
        self.frontmatter.get("description").and_then(Value::as_str).unwrap_or_default()
    }

    /// The name of its directory, as its address has it.
    fn path_name(&self) -> &str {
        let directory = self.uri.strip_suffix("/SKILL.md").unwrap_or_default();
        let name = directory.rsplit('/').next().unwrap_or_default();
        if SkillId::new(name).is_ok() && !name.starts_with('.') { name } else { "" }
    }

    /// The path of `file` inside it, made of plain names only.
    fn path<'a>(&self, file: &'a ServedFile) -> Option<&'a str> {
        let path = file.uri.strip_prefix(self.uri.strip_suffix("SKILL.md")?)?;
        let is_plain = |part: &str| {
            !matches!(part, "" | "." | "..")
                && !part.contains(['\\', '%', ':'])
                && !part.chars().any(char::is_control)
        };
        path.split('/').all(is_plain).then_some(path)
    }
}

/// The skills in a server's list, and where each is kept.
pub(super) fn offered(server: &str, entries: &[JsonText], records: &Records) -> Vec<OfferedSkill> {
    let skills = entries.iter().filter_map(|entry| skill(server, &entry.value()));
    let offered = skills.map(|skill| {
        let kept = records.skill(&skill.digest());
        OfferedSkill {
            server: server.to_owned(),
            name: skill.name().to_owned(),
            description: skill.description().to_owned(),
            kept: kept.is_dir().then_some(kept),
        }
    });
    offered.collect()
}

impl Pool {
    /// The skills of `server` that nobody has approved as they are now.
    pub fn unapproved_skills(&self, server: &str) -> Vec<ServedSkill> {
        let Some(upstream) = self.servers.get(server) else { return Vec::new() };
        let is_new = |skill: &ServedSkill| !upstream.records.skill(&skill.digest()).is_dir();
        self.skills().into_iter().filter(|skill| skill.server == server && is_new(skill)).collect()
    }

    /// Approves a skill as it was shown: its files are read from the server, checked against the
    /// manifest and kept, all of them or none.
    pub async fn approve_skill(&self, skill: &ServedSkill) -> Result<(), Failure> {
        let upstream = self.server(&skill.server)?;
        let limit = limits::SERVED_SKILL_BYTES;
        // The sizes are the server's word: what cannot even be added is too much.
        let size = skill.files.iter().try_fold(0_u64, |sum, file| sum.checked_add(file.size));
        let size = size.unwrap_or(u64::MAX);
        if size > limit || skill.files.len() > limits::SERVED_SKILL_FILES {
            return Err(Failure::Malformed(format!(
                "skill `{}` has {} files and {size} bytes; at most {} files and {limit} bytes are kept",
                skill.name(),
                skill.files.len(),
                limits::SERVED_SKILL_FILES,
            )));
        }
        let mut files = Vec::new();
        let mut room = limit;
        for file in &skill.files {
            let path = skill.path(file).ok_or_else(|| {
                Failure::Malformed(format!("{} is not a name that a file can have here", file.uri))
            })?;
            let bytes = self.skill_file(&skill.server, file).await?;
            room = room.checked_sub(length(&bytes)).ok_or_else(|| {
                Failure::Malformed(format!("its files are longer than {limit} bytes"))
            })?;
            files.push((path, bytes));
        }
        let kept = upstream.records.skill(&skill.digest());
        write(&kept, skill, &files).map_err(|error| {
            Failure::Malformed(format!("{} cannot be written: {error}", kept.display()))
        })?;
        upstream.check_again();
        Ok(())
    }

    /// The skills of all servers. One without a digest for each of its files is left out: nobody could
    /// approve what may be different at each reading.
    pub fn skills(&self) -> Vec<ServedSkill> {
        let mut all = Vec::new();
        for (name, upstream) in &self.servers {
            let Some(known) = upstream.known() else { continue };
            all.extend(known.skills.iter().filter_map(|entry| skill(name, &entry.value())));
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
            (None, Some(blob)) => decoded(blob),
            (None, None) => None,
        };
        let bytes =
            bytes.ok_or_else(|| Failure::Malformed(format!("{} cannot be read", file.uri)))?;
        let size = length(&bytes);
        if size != file.size {
            return Err(Failure::Malformed(format!(
                "{} is not what its manifest says: {size} bytes instead of {}",
                file.uri, file.size
            )));
        }
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

/// Writes the files of a skill below `kept`, which appears complete or not at all.
fn write(kept: &Path, skill: &ServedSkill, files: &[(&str, Vec<u8>)]) -> std::io::Result<()> {
    if let Some(directory) = kept.parent() {
        create_private_directory(directory)?;
    }
    let draft = draft_of(kept);
    // Whatever stands there already is somebody else's.
    create_new_dir(&draft)?;
    let name = if skill.path_name().is_empty() { "skill" } else { skill.path_name() };
    let written = files.iter().try_for_each(|(path, bytes)| {
        let path = draft.join(name).join(path);
        if let Some(directory) = path.parent() {
            create_private_directory(directory)?;
        }
        create(&path, 0o600)?.write_all(bytes)
    });
    let placed = written.and_then(|()| std::fs::rename(&draft, kept));
    if placed.is_err() {
        let _ = std::fs::remove_dir_all(&draft);
    }
    // Another process was quicker with the same bytes.
    if kept.is_dir() { Ok(()) } else { placed }
}

/// Where the files of one attempt are written, beside where they are kept: no other attempt has it.
fn draft_of(kept: &Path) -> PathBuf {
    static ATTEMPTS: AtomicU64 = AtomicU64::new(0);
    let attempt = ATTEMPTS.fetch_add(1, Ordering::Relaxed);
    let mut name = kept.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}-{attempt}.new", std::process::id()));
    kept.with_file_name(name)
}

/// Makes one directory for this person alone.
fn create_new_dir(directory: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
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

/// The bytes that base64 stands for, in either alphabet, with or without padding and line breaks.
fn decoded(text: &str) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &alphabet::STANDARD,
        GeneralPurposeConfig::new()
            .with_decode_allow_trailing_bits(true)
            .with_decode_padding_mode(DecodePaddingMode::RequireNone),
    );
    let digits = text.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=');
    let standard = digits.map(|byte| match byte {
        b'-' => b'+',
        b'_' => b'/',
        other => other,
    });
    LENIENT.decode(standard.collect::<Vec<u8>>()).ok()
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn base64_is_read_however_it_is_written() {
        for written in ["+/8Yc2Y=", "-_8Yc2Y", "+/8Y\r\nc2Y=\n", "+/8Yc2Z"] {
            assert_eq!(decoded(written).as_deref(), Some(&b"\xfb\xff\x18sf"[..]), "{written:?}");
        }
        for none in ["+/8Yc2Y!", "+/8Yc", "é"] {
            assert_eq!(decoded(none), None, "{none:?}");
        }
    }
}
