//! Skills as resources (`io.modelcontextprotocol/skills`): which there are, with the digest of every
//! file, and their bytes. Only skills that the model may see and a person trusts.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use concertina_core::session::{Origin, visibility};
use concertina_runtime::sources::resource;
use concertina_runtime::{LoadedSkill, OpenOptions, Session, Workspace};
use concertina_types::{Ref, SkillId, Subject};
use rmcp::ErrorData;
use rmcp::model::DIRECTORY_MIME_TYPE;
use rmcp::model::{
    CacheScope, GetSkillRequestParams, GetSkillResult, ListResourcesResult, ListSkillsResult,
    PaginatedRequestParams, ReadResourceDirectoryRequestParams, Resource, ResourceContents, Skill,
    SkillFrontmatter, SkillResource, SkillResources,
};
use serde_json::json;

use super::connection::{Connection, Request, broken};
use super::gateway::{Gateway, Glance};
use super::page::{left_out, page};
use super::resources::not_found;
use super::uri::{self, SKILL_FILE};

impl Connection {
    /// One page of the skills.
    pub(super) async fn skills(
        &self,
        page_of: Option<PaginatedRequestParams>,
        request: &Request,
    ) -> Result<ListSkillsResult, ErrorData> {
        self.gateway.look().await;
        let (described, next) = self
            .glance(request, move |gateway, glance| {
                let (ids, next) = page(visible(&glance.session), SkillId::as_str, page_of)?;
                let described = gateway.with_workspace(|workspace| {
                    ids.iter().map(|id| (id.clone(), described(workspace, id))).collect::<Vec<_>>()
                });
                Ok((described, next))
            })
            .await?;
        let mut skills = Vec::new();
        let mut lacking = BTreeMap::new();
        for (id, described) in described {
            match described {
                Ok(skill) => skills.push(skill),
                Err(reason) => {
                    lacking.insert(id.to_string(), reason);
                }
            }
        }
        let mut result = ListSkillsResult::with_all_items(skills);
        result.next_cursor = next;
        result.cache_scope = Some(CacheScope::Private);
        result.meta = (!lacking.is_empty()).then(|| left_out(&lacking));
        Ok(result)
    }

    /// One skill.
    pub(super) async fn skill(
        &self,
        wanted: GetSkillRequestParams,
        request: &Request,
    ) -> Result<GetSkillResult, ErrorData> {
        self.gateway.look().await;
        let uri = wanted.uri;
        let skill = self
            .glance(request, move |gateway, glance| {
                let id = uri::parse(glance.session.snapshot(), &uri)
                    .filter(|(id, path)| path == SKILL_FILE && is_visible(&glance.session, id))
                    .map(|(id, _)| id);
                let described = match id {
                    None => Err(format!("{uri} is no skill that is served here")),
                    Some(id) => gateway.with_workspace(|workspace| described(workspace, &id)),
                };
                described.map_err(|reason| ErrorData::invalid_params(reason, None))
            })
            .await?;
        Ok(GetSkillResult::new(skill))
    }

    /// What stands directly in a directory of a skill.
    pub(super) async fn directory(
        &self,
        wanted: ReadResourceDirectoryRequestParams,
        request: &Request,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.gateway.look().await;
        let uri = wanted.uri;
        let entries = self
            .glance(request, move |gateway, glance| {
                let found = uri::parse(glance.session.snapshot(), &uri)
                    .filter(|(id, _)| is_visible(&glance.session, id));
                found.and_then(|(id, path)| children(gateway, &id, &path)).ok_or_else(|| {
                    let text = format!("{uri} is no directory that is served here");
                    ErrorData::invalid_params(text, None)
                })
            })
            .await?;
        let mut result = ListResourcesResult::with_all_items(entries);
        result.cache_scope = Some(CacheScope::Private);
        Ok(result)
    }

    /// The bytes of a file of a skill, on the record of the session; none where `uri` is no address
    /// of a skill.
    pub(super) async fn read_skill(
        &self,
        uri: &str,
        request: &Request,
    ) -> Result<Option<ResourceContents>, ErrorData> {
        let Some((id, path)) = uri::parse(&self.gateway.snapshot(), uri) else { return Ok(None) };
        let desk = self.plain_desk(request).await?;
        let gateway = Arc::clone(&self.gateway);
        let address = uri.to_owned();
        let read = desk
            .work(move |seat| {
                seat.bring_up(&gateway)?;
                gateway.with_workspace(|workspace| {
                    // The session judges, as it does when a part is opened, and keeps the record.
                    let part = if path == SKILL_FILE { "full" } else { path.as_str() };
                    let reference =
                        Ref::Skill { id: id.clone(), part: Some(part.to_owned()), lines: None };
                    let origin = Origin { subject: Subject::Model, call: None };
                    let options = OpenOptions::default();
                    let reply =
                        seat.session.open(workspace, origin, &reference.to_string(), &options)?;
                    match reply.refusal {
                        // Bytes that are no text are none of the record's business.
                        Some(refusal) if refusal.code != "NOT_TEXT" => {
                            Ok(Err(format!("{}: {}", refusal.code, refusal.message)))
                        }
                        _ => Ok(bytes(workspace, &id, &path)
                            .map(|bytes| contents(&address, &path, bytes))),
                    }
                })
            })
            .await
            .map_err(|error| broken(&error))?;
        read.map(Some).map_err(|reason| not_found(reason, uri))
    }
}

/// The skills as resources, for a list.
pub(super) fn listed(glance: &Glance) -> Vec<Resource> {
    let snapshot = glance.session.snapshot();
    let resource = |id: SkillId| {
        let entry = snapshot.skill(&id)?;
        let mut resource =
            Resource::new(uri::of(&id, SKILL_FILE), id.to_string()).with_mime_type("text/markdown");
        resource.description = Some(entry.summary());
        resource.size = Some(entry.bytes);
        Some(resource)
    };
    visible(&glance.session).into_iter().filter_map(resource).collect()
}

/// The skills that the model may open, as far as they are what a person trusted.
fn visible(session: &Session) -> Vec<SkillId> {
    let ids = session.snapshot().skills.iter().map(|entry| entry.id.clone());
    ids.filter(|id| is_visible(session, id)).collect()
}

fn is_visible(session: &Session, id: &SkillId) -> bool {
    let reference = Ref::skill(id.clone());
    let seen = visibility(session.state(), &session.world(), &reference, Subject::Model);
    seen.visible && seen.callable
}

/// A skill with all its files, or why it cannot be served as one.
fn described(workspace: &Workspace, id: &SkillId) -> Result<Skill, String> {
    let skill = loaded(workspace, id)?;
    let own = workspace.bytes(&skill.entry).map_err(|error| error.to_string())?;
    let mut files = vec![SkillResource::from_bytes(uri::of(id, SKILL_FILE), &own)];
    if let Some(directory) = &skill.directory {
        // A file that cannot be read, or that leads out, is not served, and so not promised.
        files.extend(skill.resources().into_iter().filter_map(|path| {
            let bytes = resource(directory, &path).ok()?;
            Some(SkillResource::from_bytes(uri::of(id, &path), &bytes))
        }));
    }
    let name = id.as_str().rsplit('/').next().unwrap_or(id.as_str());
    let described = Skill::new(
        uri::of(id, SKILL_FILE),
        frontmatter(&skill, name),
        SkillResources::Files(files),
    );
    described.validate().map_err(|error| error.to_string())?;
    Ok(described)
}

/// A skill that was read whole and is what a person trusted.
fn loaded(workspace: &Workspace, id: &SkillId) -> Result<LoadedSkill, String> {
    let skill = match workspace.load(id) {
        Some(Ok(skill)) => skill,
        Some(Err(error)) => return Err(error.to_string()),
        None => return Err(format!("skill:{id} is no longer there")),
    };
    match workspace.distrusted(&skill, None) {
        Some(why) => Err(why.reason),
        None => Ok(skill),
    }
}

fn frontmatter(skill: &LoadedSkill, name: &str) -> SkillFrontmatter {
    let document = &skill.document;
    let mut frontmatter =
        SkillFrontmatter::new(name, document.description.clone().unwrap_or_default());
    let texts = [
        ("version", &document.version),
        ("license", &document.license),
        ("compatibility", &document.compatibility),
        ("when_to_use", &document.when_to_use),
    ];
    for (key, value) in texts {
        if let Some(value) = value {
            frontmatter = frontmatter.with_field(key, value.clone());
        }
    }
    if !document.metadata.is_empty() {
        frontmatter = frontmatter.with_field("metadata", json!(document.metadata));
    }
    for (key, value) in &document.extra {
        frontmatter = frontmatter.with_field(key.clone(), value.clone());
    }
    frontmatter
}

fn bytes(workspace: &Workspace, id: &SkillId, path: &str) -> Result<Vec<u8>, String> {
    let skill = loaded(workspace, id)?;
    if path == SKILL_FILE {
        return workspace.bytes(&skill.entry).map_err(|error| error.to_string());
    }
    if let Some(why) = workspace.distrusted(&skill, Some(path)) {
        return Err(why.reason);
    }
    let directory = skill.directory.ok_or_else(|| format!("skill:{id} has no files"))?;
    resource(&directory, path).map_err(|error| error.to_string())
}

/// What stands directly below `path` in a skill; none where that is no directory.
fn children(gateway: &Gateway, id: &SkillId, path: &str) -> Option<Vec<Resource>> {
    let skill = gateway.with_workspace(|workspace| loaded(workspace, id)).ok()?;
    let mut files = vec![SKILL_FILE.to_owned()];
    files.extend(skill.resources());
    let below = if path.is_empty() { String::new() } else { format!("{path}/") };
    let mut children: BTreeMap<String, bool> = BTreeMap::new();
    for rest in files.iter().filter_map(|file| file.strip_prefix(&below)) {
        match rest.split_once('/') {
            Some((directory, _)) => children.insert(directory.to_owned(), true),
            None => children.insert(rest.to_owned(), false),
        };
    }
    let entry = |(name, is_directory): (String, bool)| {
        let uri = uri::of(id, &format!("{below}{name}"));
        let kind = if is_directory { DIRECTORY_MIME_TYPE } else { mime(&name) };
        Resource::new(uri, name).with_mime_type(kind)
    };
    Some(children.into_iter().map(entry).collect::<Vec<_>>()).filter(|all| !all.is_empty())
}

fn contents(uri: &str, path: &str, bytes: Vec<u8>) -> ResourceContents {
    let kind = Some(mime(path).to_owned());
    match String::from_utf8(bytes) {
        Ok(text) => ResourceContents::TextResourceContents {
            uri: uri.to_owned(),
            mime_type: kind,
            text,
            meta: None,
        },
        Err(error) => ResourceContents::BlobResourceContents {
            uri: uri.to_owned(),
            mime_type: kind,
            blob: BASE64.encode(error.as_bytes()),
            meta: None,
        },
    }
}

/// The type of a file by its name, for the kinds that skills bring.
fn mime(path: &str) -> &'static str {
    let kinds: &[(&str, &str)] = &[
        ("md", "text/markdown"),
        ("txt", "text/plain"),
        ("json", "application/json"),
        ("toml", "application/toml"),
        ("yaml", "application/yaml"),
        ("yml", "application/yaml"),
        ("csv", "text/csv"),
        ("html", "text/html"),
        ("py", "text/x-python"),
        ("sh", "text/x-shellscript"),
        ("js", "text/javascript"),
        ("svg", "image/svg+xml"),
        ("png", "image/png"),
        ("jpg", "image/jpeg"),
        ("pdf", "application/pdf"),
    ];
    let ending = path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    kinds
        .iter()
        .find(|(known, _)| ending.as_deref() == Some(*known))
        .map_or("application/octet-stream", |(_, kind)| kind)
}
