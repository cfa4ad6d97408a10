//! Reading clients' settings files. A file that cannot be read costs only itself, and nothing of
//! its text is repeated: it can hold secrets.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use concertina_types::{Digest, LineIndex, Severity};
use serde_json::Value;

use super::clients::{Client, Format, SettingsFile};
use super::jsonc;
use super::report::SettingsFinding;
use crate::workspace::Workspace;

/// One settings file, in bytes. Claude Code keeps histories in its own; beyond this it is no
/// settings file.
const SETTINGS_BYTES: u64 = 32 * 1024 * 1024;

/// A settings file as read.
pub(super) struct Document {
    pub(super) path: PathBuf,
    /// Whether it belongs to the project, and not to the person.
    pub(super) of_project: bool,
    /// The digest of its text.
    pub(super) digest: Digest,
    pub(super) value: Value,
}

/// The settings files of one client.
#[derive(Default)]
pub(super) struct Read {
    pub(super) documents: Vec<Document>,
    pub(super) findings: Vec<SettingsFinding>,
}

pub(super) fn read<'a>(client: &Client, files: impl Iterator<Item = &'a SettingsFile>) -> Read {
    let mut read = Read::default();
    for file in files {
        let finding =
            |severity, code: &str, message: String, at: Option<(u32, u32)>| SettingsFinding {
                client: client.id.to_owned(),
                path: file.path.display().to_string(),
                line: at.map(|at| at.0),
                column: at.map(|at| at.1),
                code: code.to_owned(),
                severity,
                message,
            };
        let text = match text(&file.path) {
            Ok(Some(text)) => text,
            Ok(None) => continue,
            Err(why) => {
                let message = format!("{} is told nothing by it: {why}", client.name);
                read.findings.push(finding(Severity::Error, "SETTINGS_UNREADABLE", message, None));
                continue;
            }
        };
        let parsed = match file.format {
            Format::Toml => toml_value(&text),
            Format::Json | Format::JsonWithComments => json_value(&text),
        };
        match parsed {
            Ok(value) => {
                if file.format == Format::Json
                    && !text.trim().is_empty()
                    && serde_json::from_str::<serde::de::IgnoredAny>(&text).is_err()
                {
                    let message = format!(
                        "it has comments or last commas; whether {} accepts them is not known",
                        client.name
                    );
                    read.findings.push(finding(Severity::Info, "SETTINGS_COMMENTS", message, None));
                }
                read.documents.push(Document {
                    path: file.path.clone(),
                    of_project: file.of_project,
                    digest: Digest::of(text.as_bytes()),
                    value,
                });
            }
            Err(broken) => {
                let message = format!("{}; no server of this file is counted", broken.message);
                read.findings.push(finding(
                    Severity::Error,
                    "SETTINGS_SYNTAX",
                    message,
                    Some(broken.at),
                ));
            }
        }
    }
    read
}

/// The text of the file at `path`; none where there is no file.
fn text(path: &Path) -> Result<Option<String>, String> {
    match std::fs::metadata(path) {
        Ok(meta) if !meta.is_file() && concertina_sandbox::stands_in(path) => return Ok(None),
        Ok(meta) if !meta.is_file() => return Err("it is not a file".to_owned()),
        Ok(meta) if meta.len() > SETTINGS_BYTES => {
            return Err(format!("it has {} bytes; at most {SETTINGS_BYTES} are read", meta.len()));
        }
        Ok(_) => {}
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error.to_string()),
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(SETTINGS_BYTES).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
    let text = str::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
    Ok(Some(text.to_owned()))
}

struct Broken {
    message: String,
    at: (u32, u32),
}

fn json_value(text: &str) -> Result<Value, Broken> {
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    let plain = jsonc::plain(text);
    serde_json::from_str(&plain).map_err(|error| {
        let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX).max(1);
        // The column counts bytes; people count characters.
        let line = plain.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
        let before = line.as_bytes().get(..error.column().min(line.len())).unwrap_or_default();
        let column = String::from_utf8_lossy(before).chars().count();
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        Broken {
            message: format!("this is no JSON: {message}"),
            at: (number(error.line()), number(column)),
        }
    })
}

fn toml_value(text: &str) -> Result<Value, Broken> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let start = error.span().map_or(0, |span| span.start);
        let at = LineIndex::new(text).position(text, start);
        let message = error.message().trim().replace('\n', "; ");
        Broken { message: format!("this is no TOML: {message}"), at: (at.line, at.column) }
    })
}

/// What was found in Concertina's own settings.
pub(super) fn of_workspace(workspace: &Workspace) -> Vec<SettingsFinding> {
    let findings = workspace.loaded().findings.iter();
    findings
        .map(|(path, found)| SettingsFinding {
            client: "concertina".to_owned(),
            path: path.display().to_string(),
            line: found.line,
            column: found.column,
            code: found.code.to_string(),
            severity: found.severity,
            message: found.message.clone(),
        })
        .collect()
}
