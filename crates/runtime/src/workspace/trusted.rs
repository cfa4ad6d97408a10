//! What the workspace brings has to be trusted by a person before the model sees it.

use std::path::{Path, PathBuf};

use concertina_core::catalog::{Altered, Scope, SkillEntry};
use concertina_format::config::ConfigOrigin;
use concertina_store::Store;
use concertina_types::{Digest, Redactor, SkillId, Subject};
use serde::Serialize;

use super::nested::nested_below;
use super::servers::ProjectFile;
use super::{LoadedSkill, Workspace, absolute};
use crate::error::RuntimeError;
use crate::inside::inside;
use crate::sources::everything;
use crate::supply::{Changes, Locks, Manifest, PublicKey, SIGNATURE_FILE, Signed, Trusted, judge};
use crate::trust::{Standing, Trust, content_digest};

/// Why a skill that was read is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distrust {
    /// A stable code: `UNTRUSTED`, `LOCK_MISMATCH`, `SIGNATURE_WRONG`.
    pub code: String,
    /// Why, and what to do.
    pub reason: String,
}

impl Distrust {
    /// Whether it keeps `subject` from it. A person may look at what nobody has trusted yet; what is not
    /// what a lock or a signature says is used by nobody.
    pub fn stops(&self, subject: Subject) -> bool {
        subject == Subject::Model || self.code != UNTRUSTED
    }

    fn untrusted(reason: String) -> Self {
        Self { code: UNTRUSTED.to_owned(), reason }
    }
}

const UNTRUSTED: &str = "UNTRUSTED";

impl Workspace {
    /// Judges a skill that a scan found: whether its files are what locks and signatures say, and whether
    /// a person trusts it, or it needs no trust.
    pub(super) fn judge(&self, entry: &mut SkillEntry, locks: &mut Locks) {
        let (altered, is_signed) = match self.provenance(entry, locks) {
            Ok(is_signed) => (None, is_signed),
            Err(altered) => (Some(altered), false),
        };
        entry.altered = altered;
        entry.trusted = is_signed || self.is_trusted(entry);
    }

    /// Whether the skill of `entry` is signed with a key that a person trusts.
    ///
    /// # Errors
    /// Its files are not the ones that a lock file or a signature names.
    fn provenance(&self, entry: &SkillEntry, locks: &mut Locks) -> Result<bool, Altered> {
        let (path, kind) = (Path::new(entry.path.as_ref()), entry.loaded_from);
        let id = &entry.id;
        if let Some(why) = locks.objection(path, kind) {
            let text = format!(
                "skill:{id} is not used: {why}; look at what changed, then bring the files back or lock them as they are: concertina skill lock"
            );
            return Err(Altered { code: "LOCK_MISMATCH".to_owned(), text });
        }
        let directory = entry.directory().filter(|_| !self.keys.is_empty());
        let Some(directory) =
            directory.filter(|at| at.join(SIGNATURE_FILE).symlink_metadata().is_ok())
        else {
            return Ok(false);
        };
        locks.watch_skill(path, kind);
        let judged = Manifest::of(path, kind)
            .and_then(|(manifest, _)| judge(directory, &manifest, &self.keys));
        match judged {
            Ok(signed) => Ok(matches!(signed, Signed::By { .. })),
            Err(error) => {
                let text = format!("skill:{id} is not used: {error}");
                Err(Altered { code: "SIGNATURE_WRONG".to_owned(), text })
            }
        }
    }

    /// Whether a person trusts the head of this skill, or whether it needs no trust.
    fn is_trusted(&self, entry: &SkillEntry) -> bool {
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

    /// The keys under `[trust]` in the person's settings: what is signed with one of them is trusted.
    pub fn trusted_keys(&self) -> &[PublicKey] {
        &self.keys
    }

    /// Why a skill that was read, or the file `part` of it, is not used; none where it may be: it is what
    /// locks and signatures say, and a person trusts all of it as it is now.
    pub fn distrusted(&self, skill: &LoadedSkill, part: Option<&str>) -> Option<Distrust> {
        let id = &skill.entry.id;
        let is_signed = match self.provenance(&skill.entry, &mut Locks::default()) {
            Ok(is_signed) => is_signed,
            Err(Altered { code, text }) => return Some(Distrust { code, reason: text }),
        };
        let (_, trust) = self.trust.as_ref().filter(|_| self.is_brought(&skill.entry))?;
        let is_held = || content(skill).is_some_and(|now| trust.holds(&skill.entry.path, &now));
        if !is_signed && !is_held() {
            return Some(Distrust::untrusted(format!(
                "skill:{id} is not what was trusted; a person has to look at it and trust it again"
            )));
        }
        // Trust covers the files that a person could see: no hidden ones. What leaves the skill is
        // refused as such, whether or not it exists.
        let part = part?;
        let path: PathBuf = Path::new(part).components().collect();
        let file = skill.directory.as_ref().and_then(|directory| inside(directory, part));
        let is_file = file.is_some_and(|file| file.is_file());
        let is_seen = files(skill)
            .iter()
            .any(|file| Path::new(file) == path.strip_prefix(".").unwrap_or(&path));
        (is_file && !is_seen).then(|| {
            let path = path.display();
            Distrust::untrusted(format!("trust in skill:{id} does not cover its file {path}"))
        })
    }

    /// What the file of a skill and all files beside it have to hold for its commands to run: where it
    /// comes with the workspace, what a person trusts.
    pub(crate) fn bound_content(&self, skill: &LoadedSkill) -> Option<Digest> {
        let (_, trust) = self.trust.as_ref().filter(|_| self.is_brought(&skill.entry))?;
        let is_signed = self.provenance(&skill.entry, &mut Locks::default()) == Ok(true);
        let trusted = trust.content(&skill.entry.path).filter(|_| !is_signed);
        trusted.copied().or_else(|| content(skill))
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
        let knows = |path: &str| self.trust.as_ref().is_some_and(|(_, trust)| trust.knows(path));
        let brought = |path: String, skill, trusted: bool| {
            let changed = !trusted && knows(&path);
            Brought { path, skill, trusted, changed }
        };
        let settings = self.loaded.workspace_file.iter().map(|(file, _)| {
            let path = file.to_string_lossy().into_owned();
            brought(path, None, self.are_settings_trusted())
        });
        let servers = self
            .project_files()
            .into_iter()
            .map(|(path, file)| brought(path.to_string_lossy().into_owned(), None, file.trusted));
        let settings = settings.chain(servers);
        let skills =
            self.snapshot.skills.iter().filter(|entry| self.is_brought(entry)).map(|entry| {
                let is_whole =
                    || self.read(entry).is_ok_and(|skill| self.distrusted(&skill, None).is_none());
                let trusted = entry.trusted && is_whole();
                brought(entry.path.to_string(), Some(entry.id.clone()), trusted)
            });
        Ok(settings.chain(skills).filter(|one| Path::new(&one.path).starts_with(&path)).collect())
    }

    /// What is different in the file `one` and what belongs to it from what a person trusted; none where
    /// nothing was trusted, or what was is not kept.
    pub fn changes(&self, one: &Brought) -> Option<Changes> {
        let (home, trust) = self.trust.as_ref()?;
        let kept = trust.kept(&one.path)?;
        let (directory, now) = match &one.skill {
            Some(id) => {
                let skills = self.snapshot.skills.iter().find(|entry| entry.id == *id);
                trusted_skill(&self.read(skills?).ok()?)
            }
            None => self.trusted_settings(Path::new(&one.path)),
        };
        now.changes_since(home, kept, &directory, &self.keeper(home).ok()?)
    }

    /// Trusts every skill that the workspace brings at or below `path`, and its settings where they
    /// lie there, as they are now. Gives what was trusted: the files.
    ///
    /// # Errors
    /// The record cannot be written, and then nothing is trusted; or one of the skills cannot be read, and
    /// then all others are.
    pub fn trust(&mut self, path: &Path) -> Result<Vec<String>, RuntimeError> {
        let path = absolute(path)?;
        self.add_nested(&nested_below(&self.root, &path));
        let Some(home) = self.trust.as_ref().map(|(home, _)| home.clone()) else {
            return Ok(Vec::new());
        };
        // Others may have trusted, or stopped to, meanwhile.
        let mut trust = Trust::load(&home);
        let redactor = self.keeper(&home)?;
        let (mut given, mut failed) = (Vec::new(), None);
        let brought = self.snapshot.skills.iter();
        let brought = brought.chain(self.snapshot.shadowed.iter().map(|shadowed| &shadowed.entry));
        for entry in brought.filter(|entry| self.is_brought(entry)) {
            if !Path::new(entry.path.as_ref()).starts_with(&path) {
                continue;
            }
            match self.trusted_now(entry, &home, &redactor) {
                Ok((content, kept)) => {
                    trust.give(entry.path.to_string(), entry.head, content, Some(kept));
                    given.push(entry.path.to_string());
                }
                // One that cannot be looked through costs no other its trust.
                Err(error) => failed = Some(error),
            }
        }
        let own = self.loaded.settings_digest();
        let files = self.project_files();
        let others = files.into_iter().map(|(file, ProjectFile { digest, .. })| (file, digest));
        for (file, digest) in own.into_iter().chain(others) {
            if file.starts_with(&path) {
                let (directory, now) = self.trusted_settings(&file);
                let kept = now.keep(&home, &directory, &redactor)?;
                let file = file.to_string_lossy().into_owned();
                trust.give(file.clone(), digest, digest, Some(kept));
                given.push(file);
            }
        }
        trust.unreadable = None;
        trust.save(&home)?;
        self.trust = Some((home, trust));
        self.scan();
        failed.map_or(Ok(given), Err)
    }

    /// What takes secrets out of what is kept below `home`: those that look like any, and those that tools and
    /// servers here are given.
    fn keeper(&self, home: &Path) -> Result<Redactor, RuntimeError> {
        let mut redactor = Redactor::new(Store::open(home)?.marks.key()?);
        for secret in self.secrets() {
            redactor.learn("environment", secret);
        }
        Ok(redactor)
    }

    /// The digest of all that belongs to the skill of `entry` as it is now, and what brings it back.
    fn trusted_now(
        &self,
        entry: &SkillEntry,
        home: &Path,
        redactor: &Redactor,
    ) -> Result<(Digest, Digest), RuntimeError> {
        let skill = self.read(entry)?;
        let content = content(&skill).ok_or_else(|| RuntimeError::Environment {
            code: "UNREADABLE",
            message: format!(
                "the files of skill:{} cannot be looked through, so it is not trusted; make them readable, or fewer",
                entry.id
            ),
        })?;
        let (directory, now) = trusted_skill(&skill);
        Ok((content, now.keep(home, &directory, redactor)?))
    }

    /// The settings file `path` with the files of the workspace that it names, and what they lie in.
    fn trusted_settings(&self, path: &Path) -> (PathBuf, Trusted) {
        let directory = path.parent().unwrap_or(&self.root).to_owned();
        let mut files = vec![path.to_owned()];
        if self.loaded.workspace_file.as_ref().is_some_and(|(own, _)| own == path) {
            files.extend(self.loaded.named_files(&directory).into_iter().filter(|at| at.is_file()));
        }
        let trusted = Trusted::files(&directory, &files);
        (directory, trusted)
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
    /// Whether a person trusted it as it was before.
    pub changed: bool,
}

/// The files that belong to a skill and that a person sees.
fn files(skill: &LoadedSkill) -> Vec<String> {
    skill.directory.as_deref().map(everything).unwrap_or_default()
}

fn content(skill: &LoadedSkill) -> Option<Digest> {
    content_digest(&skill.document.digest, skill.directory.as_deref(), &mut |_, _| {})
}

/// All that is trusted with a skill, and the directory it lies in.
fn trusted_skill(skill: &LoadedSkill) -> (PathBuf, Trusted) {
    let permissions = &skill.document.permissions;
    if let Some(directory) = &skill.directory {
        return (directory.to_path_buf(), Trusted::skill(directory, permissions));
    }
    let path = Path::new(skill.entry.path.as_ref());
    let directory = path.parent().unwrap_or(Path::new(".")).to_owned();
    let trusted = Trusted::files(&directory, &[path.to_owned()]);
    (directory, trusted.declaring(permissions))
}
