//! What the workspace brings has to be trusted by a person before the model sees it.

use std::path::{Path, PathBuf};

use concertina_core::catalog::{Scope, SkillEntry};
use concertina_format::config::ConfigOrigin;
use concertina_types::{Digest, SkillId};
use serde::Serialize;

use super::nested::nested_below;
use super::servers::ProjectFile;
use super::{LoadedSkill, Workspace, absolute};
use crate::error::RuntimeError;
use crate::inside::inside;
use crate::sources::everything;
use crate::trust::{Standing, Trust, content_digest};

impl Workspace {
    /// Whether a person trusts the head of this skill, or whether it needs no trust.
    pub(super) fn is_trusted(&self, entry: &SkillEntry) -> bool {
        let Some((_, trust)) = self.trust.as_ref().filter(|_| self.is_brought(entry)) else {
            return true;
        };
        trust.standing(&entry.path, &entry.head) == Standing::Trusted
    }

    /// Whether a person trusts the workspace's settings and the files that its tools name, as they
    /// are now.
    pub(super) fn are_settings_trusted(&self) -> bool {
        let Some((_, trust)) = &self.trust else { return true };
        self.loaded.settings_digest().is_none_or(|(path, digest)| {
            trust.standing(&path.to_string_lossy(), &digest) == Standing::Trusted
        })
    }

    /// Why the model is not shown a skill that was read, or the file `part` of it; none where it may
    /// be: a person trusts all of it as it is now.
    pub fn distrusted(&self, skill: &LoadedSkill, part: Option<&str>) -> Option<String> {
        let (_, trust) = self.trust.as_ref().filter(|_| self.is_brought(&skill.entry))?;
        let id = &skill.entry.id;
        let files = files(skill);
        if !trust.holds(&skill.entry.path, &content(skill, &files)) {
            return Some(format!(
                "skill:{id} is not what was trusted; a person has to look at it and trust it again"
            ));
        }
        // Trust covers the files that a person could see: no hidden ones. What leaves the skill is
        // refused as such, whether or not it exists.
        let part = part?;
        let path: PathBuf = Path::new(part).components().collect();
        let file = skill.directory.as_ref().and_then(|directory| inside(directory, part));
        let is_file = file.is_some_and(|file| file.is_file());
        let is_seen =
            files.iter().any(|file| Path::new(file) == path.strip_prefix(".").unwrap_or(&path));
        (is_file && !is_seen)
            .then(|| format!("trust in skill:{id} does not cover its file {}", path.display()))
    }

    /// Whether a skill comes with the workspace rather than from the person or their machine: from
    /// its usual places, or from a directory that its own settings name.
    fn is_brought(&self, entry: &SkillEntry) -> bool {
        let mut named = self.loaded.roots.iter().filter(|root| root.by == ConfigOrigin::Workspace);
        matches!(entry.scope, Scope::Project | Scope::Nested)
            || named.any(|root| Path::new(entry.path.as_ref()).starts_with(&root.path))
    }

    /// How many skills, tools and servers of the workspace wait for trust.
    pub fn untrusted(&self) -> usize {
        if self.trust.is_none() {
            return 0;
        }
        let skills = self.snapshot.skills.iter().filter(|entry| !entry.trusted).count();
        let tools = self.toolbox.names().filter_map(|name| self.snapshot.tool(name));
        let tools = tools.filter(|tool| !tool.trusted).count();
        let files = self.project_files();
        let servers: usize =
            files.values().filter(|file| !file.trusted).map(|file| file.servers).sum();
        let own = self.loaded.upstreams_from.values();
        let own = own.filter(|file| file.origin == ConfigOrigin::Workspace).count();
        skills + tools + servers + if self.are_settings_trusted() { 0 } else { own }
    }

    /// What the workspace brings at or below `path`: its settings, those that name servers for
    /// clients, its skills, and those that a touch would bring to light.
    pub fn brought(&mut self, path: &Path) -> Result<Vec<Brought>, RuntimeError> {
        let path = absolute(path)?;
        self.add_nested(&nested_below(&self.root, &path));
        let settings = self.loaded.workspace_file.iter().map(|(file, _)| Brought {
            path: file.to_string_lossy().into_owned(),
            skill: None,
            trusted: self.are_settings_trusted(),
        });
        let servers = self.project_files().into_iter().map(|(path, file)| Brought {
            path: path.to_string_lossy().into_owned(),
            skill: None,
            trusted: file.trusted,
        });
        let settings = settings.chain(servers);
        let skills =
            self.snapshot.skills.iter().filter(|entry| self.is_brought(entry)).map(|entry| {
                let is_whole =
                    || self.read(entry).is_ok_and(|skill| self.distrusted(&skill, None).is_none());
                let trusted = entry.trusted && is_whole();
                Brought { path: entry.path.to_string(), skill: Some(entry.id.clone()), trusted }
            });
        Ok(settings.chain(skills).filter(|one| Path::new(&one.path).starts_with(&path)).collect())
    }

    /// Trusts every skill that the workspace brings at or below `path`, and its settings where they
    /// lie there, as they are now. Gives what was trusted: the files.
    pub fn trust(&mut self, path: &Path) -> Result<Vec<String>, RuntimeError> {
        let path = absolute(path)?;
        self.add_nested(&nested_below(&self.root, &path));
        let Some(home) = self.trust.as_ref().map(|(home, _)| home.clone()) else {
            return Ok(Vec::new());
        };
        // Others may have trusted, or stopped to, meanwhile.
        let mut trust = Trust::load(&home);
        let mut given = Vec::new();
        let brought = self.snapshot.skills.iter();
        let brought = brought.chain(self.snapshot.shadowed.iter().map(|shadowed| &shadowed.entry));
        for entry in brought.filter(|entry| self.is_brought(entry)) {
            if !Path::new(entry.path.as_ref()).starts_with(&path) {
                continue;
            }
            let skill = self.read(entry)?;
            trust.give(entry.path.to_string(), entry.head, content(&skill, &files(&skill)));
            given.push(entry.path.to_string());
        }
        if let Some((file, digest)) =
            self.loaded.settings_digest().filter(|(file, _)| file.starts_with(&path))
        {
            let file = file.to_string_lossy().into_owned();
            trust.give(file.clone(), digest, digest);
            given.push(file);
        }
        for (file, ProjectFile { digest, .. }) in self.project_files() {
            if file.starts_with(&path) {
                let file = file.to_string_lossy().into_owned();
                trust.give(file.clone(), digest, digest);
                given.push(file);
            }
        }
        trust.unreadable = None;
        trust.save(&home)?;
        self.trust = Some((home, trust));
        self.scan();
        Ok(given)
    }

    /// Takes trust back from everything at or below `path`; gives from how many files.
    pub fn distrust(&mut self, path: &Path) -> Result<usize, RuntimeError> {
        let path = absolute(path)?;
        let Some(home) = self.trust.as_ref().map(|(home, _)| home.clone()) else { return Ok(0) };
        let mut trust = Trust::load(&home);
        let withdrawn = trust.withdraw(&path);
        trust.save(&home)?;
        self.trust = Some((home, trust));
        self.scan();
        Ok(withdrawn)
    }

    /// Why the record of trust could not be read, where it could not: nothing is trusted then.
    pub fn trust_unreadable(&self) -> Option<&str> {
        self.trust.as_ref().and_then(|(_, trust)| trust.unreadable.as_deref())
    }
}

/// A file that a workspace brings and that needs trust.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Brought {
    /// The file.
    pub path: String,
    /// The skill that it is; none for settings.
    pub skill: Option<SkillId>,
    /// Whether a person trusts all of it as it is now.
    pub trusted: bool,
}

/// The files that belong to a skill, all of them.
fn files(skill: &LoadedSkill) -> Vec<String> {
    skill.directory.as_deref().map(everything).unwrap_or_default()
}

fn content(skill: &LoadedSkill, files: &[String]) -> Digest {
    content_digest(&skill.document.digest, skill.directory.as_deref(), files)
}
