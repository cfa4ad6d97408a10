//! Installing a skill, and bringing an installed one up to date.
//!
//! A skill is put together where nobody looks, checked, shown to a person, and moved into its place by one
//! rename. Whatever interrupts it, there is the old version or the new one and never a mixture:
//!
//! 1. the new version is whole and on the disk, in the staging directory;
//! 2. the lock file names both versions (where there was one);
//! 3. one rename exchanges them;
//! 4. the lock file names the new one alone.
//!
//! Nothing of it is executed, and no version control program is run.

use std::io::Seek as _;
use std::path::{Path, PathBuf};

use concertina_core::catalog::Loaded;
use concertina_format::skill::{Document, Mode, Status};
use concertina_types::{Diagnostic, Digest, Severity};

use super::changes::{Changes, Version};
use super::fetch::{Fetching, expect, fetch, is_address};
use super::files::SIGNATURE_FILE;
use super::glance::Glance;
use super::kept::read;
use super::lock::{LOCK_FILE, Lock, LockEntry};
use super::signing::{Signed, judge, require};
use super::stage::{Stage, settle};
use super::unpack::{copy_directory, unpack_archive};
use super::{Manifest, PublicKey, SupplyError};
use crate::check;
use crate::sources::{FileSystem, Place, Source as _};

/// In the staging directory: what was downloaded, and the directory of the skill that was chosen. Beside
/// them is a directory with the name of a skill, which has no dot.
const DOWNLOAD: &str = ".download";
const CHOSEN: &str = ".chosen";
/// A name that is also a directory, in characters.
const NAME_CHARS: usize = 64;

/// Where skills are installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// The directory of skills.
    pub skills: PathBuf,
    /// The directory that holds the lock file: the same, or one above.
    pub lock: PathBuf,
}

/// What is to be installed.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// A directory, an archive, or an address of one.
    pub source: String,
    /// Which skill, where the source holds several; else the name of its directory.
    pub name: Option<String>,
    /// What the archive has to hash to.
    pub sha256: Option<Digest>,
    /// The key that it has to be signed with.
    pub key: Option<PublicKey>,
}

/// How what was found stands to what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// There is no skill in its place.
    New,
    /// There is another version, which was installed before.
    Update,
    /// It is there already.
    Same,
}

/// What a person is shown before a skill is installed.
#[derive(Debug)]
pub struct Offer {
    /// What its file says.
    pub document: Document,
    /// What it is, byte for byte.
    pub manifest: Manifest,
    /// Where it comes from.
    pub source: String,
    /// Where it will be.
    pub target: PathBuf,
    /// How it stands to what is there.
    pub standing: Standing,
    /// What is different from what is there, where there is something.
    pub changes: Option<Changes>,
    /// Whose it is.
    pub signed: Signed,
    /// What is worth a look among its files.
    pub glance: Glance,
    /// What a check found.
    pub findings: Vec<Diagnostic>,
    /// How many files of a version control system were left out.
    pub left_out: usize,
}

/// A skill that is ready to be installed. Dropped, it leaves everything as it was.
#[derive(Debug)]
pub struct Prepared {
    stage: Stage,
    home: Home,
    lock: Lock,
    draft: PathBuf,
    file: PathBuf,
    entry: LockEntry,
    /// What it is.
    pub offer: Offer,
}

/// The steps of an installation, told as each is about to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The archive is downloaded.
    Fetch,
    /// It is taken apart.
    Unpack,
    /// The disk is made to keep it.
    Settle,
    /// The lock file gets both versions.
    Announce,
    /// The rename.
    Place,
    /// The lock file gets the new version alone.
    Lock,
    /// What is left is removed.
    Clear,
}

/// Fetches what is `wanted`, takes it apart and looks at it. Nothing that is there is changed. `keys`
/// are those whose skills are trusted; `on_step` is told how far it is.
pub async fn prepare(
    home: &Home,
    wanted: &Wanted,
    keys: &[PublicKey],
    how: &Fetching,
    on_step: &mut (dyn FnMut(Step) + Send),
) -> Result<Prepared, SupplyError> {
    let stage = Stage::open(&home.skills, &home.lock)?;
    let mut lock = Lock::read(&home.lock)?.unwrap_or_default();
    settle_lock(home, &mut lock)?;
    let unpacked = stage.directory(&name_by_source(wanted))?;
    let path = Path::new(&wanted.source);
    let left_out = if is_address(&wanted.source) {
        on_step(Step::Fetch);
        let mut file = stage.file(DOWNLOAD)?;
        fetch(&wanted.source, &mut file, how).await?;
        unpack(&stage.path(DOWNLOAD), wanted, &unpacked, on_step)?
    } else if path.is_dir() {
        if wanted.sha256.is_some() {
            let message =
                format!("{} is a directory, and --sha256 is of an archive", path.display());
            return Err(SupplyError::usage("USAGE", message));
        }
        on_step(Step::Unpack);
        copy_directory(path, &unpacked)?.version_control
    } else {
        unpack(path, wanted, &unpacked, on_step)?
    };
    let (file, directory_name) = choose(&unpacked, wanted)?;
    let (draft, file) = alone(&stage, &file, &directory_name)?;
    let findings = checked(&file)?;
    let (manifest, document) = Manifest::of(&file, Loaded::Skills)?;
    let target = home.skills.join(&directory_name);
    let path = relative(home, &directory_name)?;
    let known = lock.at(&path).to_vec();
    let key = known.iter().find_map(|entry| entry.key.as_deref());
    let key = key.map(PublicKey::parse).transpose()?;
    let signed = signed(&draft, &manifest, keys, wanted.key.as_ref(), key.as_ref())?;
    let (standing, changes) = standing(&target, &known, &manifest, &document, &draft)?;
    let mut entry = LockEntry::new(path, manifest.clone());
    entry.source = Some(wanted.source.clone());
    entry.key = match &signed {
        Signed::By { key, .. } => Some(key.to_string()),
        Signed::Not | Signed::Stranger { .. } => None,
    };
    let glance = Glance::at(&draft, &manifest.files);
    let source = wanted.source.clone();
    let offer = Offer {
        document,
        manifest,
        source,
        target,
        standing,
        changes,
        signed,
        glance,
        findings,
        left_out,
    };
    Ok(Prepared { stage, home: home.clone(), lock, draft, file, entry, offer })
}

fn unpack(
    path: &Path,
    wanted: &Wanted,
    into: &Path,
    on_step: &mut (dyn FnMut(Step) + Send),
) -> Result<usize, SupplyError> {
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            let message = format!("there is no {}; check the path", path.display());
            SupplyError::not_found("NOT_FOUND", message)
        }
        _ => SupplyError::unreadable(path, &error),
    };
    let mut file = crate::sources::open_file(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        let message = format!("{} is neither a directory nor an archive", path.display());
        return Err(SupplyError::usage("USAGE", message));
    }
    if let Some(digest) = &wanted.sha256 {
        expect(&mut file, digest).map_err(failed)??;
        // The very bytes that were looked at are unpacked.
        file.rewind().map_err(failed)?;
    }
    on_step(Step::Unpack);
    Ok(unpack_archive(file, into)?.version_control)
}

/// What a skill is called by where it comes from, should it not say its name itself.
fn name_by_source(wanted: &Wanted) -> String {
    let last = wanted.source.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let ends = [".tar.gz", ".tgz", ".tar", ".zip"];
    let stem = ends.iter().find_map(|end| last.strip_suffix(end)).unwrap_or(last);
    let names = [wanted.name.as_deref(), Some(stem)].into_iter().flatten();
    let mut safe = names.filter(|name| safe_name(name).is_ok());
    safe.next().unwrap_or("skill").to_owned()
}

/// Moves the skill that was chosen away from what came with it, into a directory of its own name. Gives
/// that directory and the skill's file in it.
fn alone(stage: &Stage, file: &Path, name: &str) -> Result<(PathBuf, PathBuf), SupplyError> {
    // One that cannot be read has no name, and gets none.
    let draft = stage.directory(CHOSEN)?.join(if name.is_empty() { "skill" } else { name });
    let (directory, file_name) = (file.parent(), file.file_name());
    let (Some(directory), Some(file_name)) = (directory, file_name) else {
        return Err(SupplyError::refused("NO_SKILL", format!("{} is no skill", file.display())));
    };
    std::fs::rename(directory, &draft).map_err(|error| SupplyError::not_written(&draft, &error))?;
    // A lock file speaks of the place where it was made.
    let _ = std::fs::remove_file(draft.join(LOCK_FILE));
    let file = draft.join(file_name);
    Ok((draft, file))
}

/// The skill's file among what was unpacked, and the name of the directory that it gets.
fn choose(unpacked: &Path, wanted: &Wanted) -> Result<(PathBuf, String), SupplyError> {
    let mut source = FileSystem::new(vec![Place::named(unpacked.to_owned())]);
    source.scan();
    let files = source.files().into_iter().filter(|(_, kind)| *kind == Loaded::Skills);
    let named: Vec<(PathBuf, String)> = files
        .map(|(file, kind)| {
            let name = Manifest::of(&file, kind).map(|(manifest, _)| manifest.name);
            // One that cannot be used is chosen where it is the only one, and then says why.
            (file, name.unwrap_or_default())
        })
        .collect();
    let (file, name) = match named.as_slice() {
        [] => {
            let message = format!("{} holds no skill: there is no SKILL.md in it", wanted.source);
            return Err(SupplyError::refused("NO_SKILL", message));
        }
        [(file, name)] => (file, wanted.name.as_ref().unwrap_or(name)),
        several => {
            let names: Vec<&str> = several.iter().map(|(_, name)| name.as_str()).collect();
            let chosen = several.iter().find(|(_, name)| Some(name) == wanted.name.as_ref());
            let Some((file, name)) = chosen else {
                let message = format!(
                    "{} holds {} skills: {}; choose one with --name",
                    wanted.source,
                    names.len(),
                    names.iter().take(20).copied().collect::<Vec<_>>().join(", ")
                );
                return Err(SupplyError::usage("SEVERAL_SKILLS", message));
            };
            (file, name)
        }
    };
    // Of one that cannot be read, the check that follows says why.
    if !name.is_empty() || wanted.name.is_some() {
        safe_name(name)?;
    }
    Ok((file.clone(), name.clone()))
}

/// Refuses a name that is no plain directory on every system.
fn safe_name(name: &str) -> Result<(), SupplyError> {
    let is_word = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    if name.len() <= NAME_CHARS && name.split('-').all(is_word) {
        return Ok(());
    }
    let shown: String = name.chars().take(80).flat_map(char::escape_debug).collect();
    let message = format!(
        "`{shown}` cannot be the name of a directory of skills: at most {NAME_CHARS} letters a to z, digits and single hyphens; choose another with --name"
    );
    Err(SupplyError::refused("NAME_UNSAFE", message))
}

/// What a check of the skill's file finds; an error where it cannot be used.
fn checked(file: &Path) -> Result<Vec<Diagnostic>, SupplyError> {
    let checked = check(&[file.to_owned()], Mode::Lenient);
    let findings: Vec<Diagnostic> =
        checked.iter().flat_map(|one| one.diagnostics.iter().cloned()).collect();
    if checked.is_empty() || checked.iter().any(|one| one.status == Status::Rejected) {
        let error = findings.iter().find(|found| found.severity == Severity::Error);
        let why = error.map_or("its SKILL.md cannot be used", |found| found.message.as_str());
        return Err(SupplyError::refused("REJECTED", format!("the skill cannot be used: {why}")));
    }
    Ok(findings)
}

/// Whose the skill is: it has to be `wanted`'s where that is given, and stays `before`'s where the installed
/// version was.
fn signed(
    draft: &Path,
    manifest: &Manifest,
    keys: &[PublicKey],
    wanted: Option<&PublicKey>,
    before: Option<&PublicKey>,
) -> Result<Signed, SupplyError> {
    for key in [wanted, before].into_iter().flatten() {
        require(draft, manifest, key)?;
    }
    let given = [wanted, before].into_iter().flatten().chain(keys).copied();
    judge(draft, manifest, &given.collect::<Vec<_>>())
}

/// How the skill called `manifest` stands to what lies at `target`, and what is different.
fn standing(
    target: &Path,
    known: &[LockEntry],
    manifest: &Manifest,
    document: &Document,
    draft: &Path,
) -> Result<(Standing, Option<Changes>), SupplyError> {
    if target.symlink_metadata().is_err() {
        return Ok((Standing::New, None));
    }
    let in_the_way = |code, why: &str| {
        let message = format!("{} is there already, and {why}", target.display());
        Err(SupplyError::refused(code, message))
    };
    let files = ["SKILL.md", "skill.md"].map(|name| target.join(name));
    let file = files.into_iter().find(|file| file.is_file());
    let (Some(file), false) = (file, target.is_symlink()) else {
        return in_the_way("IN_THE_WAY", "is no skill; move it away, or choose another --name");
    };
    let (there, was) = Manifest::of(&file, Loaded::Skills)?;
    let is_same = there == *manifest && signature(target) == signature(draft);
    if is_same {
        return Ok((Standing::Same, None));
    }
    if known.is_empty() {
        let help = "nobody installed it; move it away, or choose another --name";
        return in_the_way("IN_THE_WAY", help);
    }
    if known.iter().all(|entry| entry.digest != there.digest()) {
        let help = "was changed since it was installed; keep your changes elsewhere, or lock them: concertina skill lock";
        return in_the_way("LOCAL_CHANGES", help);
    }
    let old = |file: &super::FileRecord| read(target, file);
    let new = |file: &super::FileRecord| read(draft, file);
    let changes = Changes::between(
        &Version { permissions: &was.permissions, files: &there.files, read: &old },
        &Version { permissions: &document.permissions, files: &manifest.files, read: &new },
    );
    Ok((Standing::Update, Some(changes)))
}

fn signature(directory: &Path) -> Option<Vec<u8>> {
    std::fs::read(directory.join(SIGNATURE_FILE)).ok()
}

/// How the lock file calls the skill in the directory `name`.
fn relative(home: &Home, name: &str) -> Result<String, SupplyError> {
    let path = home.skills.join(name);
    let inside = path.strip_prefix(&home.lock).ok().and_then(Path::to_str);
    inside.map(str::to_owned).ok_or_else(|| {
        let message = format!("{} does not lie below {}", path.display(), home.lock.display());
        SupplyError::usage("LOCK_ELSEWHERE", message)
    })
}

/// Where an update was interrupted, the lock file names two versions: the one that is there stays.
fn settle_lock(home: &Home, lock: &mut Lock) -> Result<(), SupplyError> {
    let paths: Vec<String> = lock.entries().iter().map(|entry| entry.path.clone()).collect();
    let mut is_settled = true;
    for path in paths {
        if lock.at(&path).len() < 2 {
            continue;
        }
        let file = home.lock.join(&path).join("SKILL.md");
        let Ok((there, _)) = Manifest::of(&file, Loaded::Skills) else { continue };
        let present = lock.at(&path).iter().find(|entry| entry.digest == there.digest()).cloned();
        if let Some(entry) = present {
            lock.set(entry);
            is_settled = false;
        }
    }
    if is_settled { Ok(()) } else { lock.write(&home.lock) }
}

impl Prepared {
    /// Installs what was offered.
    ///
    /// # Errors
    /// Something could not be written: the old version is still there, or the new one is.
    pub fn commit(mut self, on_step: &mut dyn FnMut(Step)) -> Result<Offer, SupplyError> {
        // What was shown is what is installed.
        let (now, _) = Manifest::of(&self.file, Loaded::Skills)?;
        if now != self.offer.manifest {
            let message = "the prepared skill changed meanwhile; nothing was installed";
            return Err(SupplyError::environment("CHANGED_MEANWHILE", message));
        }
        let name = self.offer.target.file_name().and_then(|name| name.to_str());
        let name = name.unwrap_or_default().to_owned();
        if self.offer.standing != Standing::Same {
            on_step(Step::Settle);
            settle(&self.draft)?;
            if self.offer.standing == Standing::Update {
                on_step(Step::Announce);
                self.lock.announce(self.entry.clone());
                self.lock.write(&self.home.lock)?;
            }
            on_step(Step::Place);
            self.stage.place(&self.draft, &name)?;
        }
        on_step(Step::Lock);
        self.lock.set(self.entry);
        self.lock.write(&self.home.lock)?;
        on_step(Step::Clear);
        Ok(self.offer)
    }
}

/// What was installed into `home` from somewhere: its directory's name, and what to fetch to bring it up
/// to date. All of it, or only the skill or directory called `name`.
pub fn installed(home: &Home, name: Option<&str>) -> Result<Vec<Wanted>, SupplyError> {
    let lock = Lock::read(&home.lock)?.unwrap_or_default();
    let mut found: Vec<Wanted> = Vec::new();
    for entry in lock.entries() {
        let path = home.lock.join(&entry.path);
        let directory = path.strip_prefix(&home.skills).ok().and_then(Path::to_str);
        let (Some(directory), Some(source)) = (directory, &entry.source) else { continue };
        if name.is_some_and(|name| name != directory && name != entry.name) {
            continue;
        }
        // Two of one path are two versions of one skill.
        if found.iter().any(|wanted| wanted.name.as_deref() == Some(directory)) {
            continue;
        }
        let key = entry.key.as_deref().map(PublicKey::parse).transpose()?;
        let name = Some(directory.to_owned());
        found.push(Wanted { source: source.clone(), name, sha256: None, key });
    }
    Ok(found)
}

/// Whether the update of a skill declares what its installed version does not, which nobody consents to
/// by the way.
pub fn declares_otherwise(offer: &Offer) -> bool {
    offer.changes.as_ref().is_some_and(|changes| changes.permissions.is_some())
}

#[cfg(test)]
mod tests {
    use super::safe_name;

    #[test]
    fn advisory_46_a_name_is_a_plain_directory() {
        for name in ["a", "pdf-tools", "a1-b2", &"x".repeat(64)] {
            assert!(safe_name(name).is_ok(), "{name}");
        }
        for name in [
            "",
            "../../x",
            "/etc",
            "a/b",
            ".",
            "..",
            "A",
            "a--b",
            "-a",
            "a-",
            "a b",
            "é",
            &"x".repeat(65),
        ] {
            assert_eq!(safe_name(name).unwrap_err().code(), "NAME_UNSAFE", "{name}");
        }
    }
}
