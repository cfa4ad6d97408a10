//! Every skill file that there is, whoever reads it, with what its text says.

use std::path::{Path, PathBuf};

use concertina_core::catalog::{Loaded, Scope, SkillEntry};
use concertina_format::skill::codes::{Code, Effect};
use concertina_format::skill::{Mode, Origin, Parsed, parse};
use concertina_types::{Severity, SkillId};

use super::clients::SkillRoot;
use crate::sources::{FileSystem, Place, Places, Source as _, file_name, name_by_place};
use crate::workspace::Workspace;

/// One skill.
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own about the file")]
pub(super) struct PoolSkill {
    pub(super) id: String,
    /// What a client calls it: its own name, also where another has it.
    pub(super) name: String,
    /// Where it is; more than one place where the same bytes are.
    pub(super) paths: Vec<PathBuf>,
    pub(super) description: Option<String>,
    pub(super) when_to_use: Option<String>,
    pub(super) model_disabled: bool,
    pub(super) has_paths: bool,
    pub(super) has_frontmatter: bool,
    /// Whether its frontmatter describes it, and not the first words of its body.
    pub(super) describes_itself: bool,
    /// Whether Concertina mended something that clients were not watched with.
    pub(super) is_odd: bool,
    pub(super) findings: Vec<(String, Severity)>,
    /// Whether Concertina itself does not look where it is.
    pub(super) is_foreign: bool,
}

/// All of them, without those that ship with Concertina.
pub(super) struct Pool {
    pub(super) skills: Vec<PoolSkill>,
}

impl Pool {
    /// The skills of `workspace`, and those of the roots of clients that it does not know.
    pub(super) fn new<'a>(
        workspace: &Workspace,
        places: &Places,
        roots: impl Iterator<Item = &'a SkillRoot>,
    ) -> Self {
        let snapshot = workspace.snapshot();
        let named = snapshot.skills.iter().map(|entry| (entry, None));
        let shadowed = snapshot.shadowed.iter().map(|one| (&one.entry, Some(&one.by)));
        let entries: Vec<(&SkillEntry, Option<&SkillId>)> =
            named.chain(shadowed).filter(|(entry, _)| entry.scope != Scope::Bundled).collect();
        let mut skills = in_parallel(&entries, &|entry| workspace.source(entry).ok());

        let known: Vec<PathBuf> = places.all().into_iter().map(|place| place.root).collect();
        let limited = !workspace.settings().site.roots.is_empty();
        let mut elsewhere: Vec<&Path> = roots
            .filter(|root| root.certain && !limited && !known.contains(&root.path))
            .map(|root| root.path.as_path())
            .collect();
        elsewhere.sort();
        elsewhere.dedup();
        let place = |root: &Path| Place {
            root: root.to_owned(),
            scope: Scope::Additional,
            holds: Loaded::Skills,
            plugin: None,
            named: false,
        };
        let mut source = FileSystem::new(elsewhere.into_iter().map(place).collect());
        for entry in source.scan().skills {
            let parsed = source.read(&entry).and_then(Result::ok).map(|file| {
                let path = Path::new(entry.path.as_ref());
                let directory = name_by_place(path, entry.loaded_from);
                let origin =
                    Origin { directory: &directory, file: file_name(path, entry.loaded_from) };
                parse(&file.bytes, origin, Mode::Lenient)
            });
            skills.push(PoolSkill {
                is_foreign: true,
                ..PoolSkill::new(&entry, None, parsed.as_ref())
            });
        }
        skills.sort_by(|a, b| (&a.id, &a.paths).cmp(&(&b.id, &b.paths)));
        Self { skills }
    }
}

/// Reads `entries`, each with the name that it lost, on every core; their order is settled later.
fn in_parallel(
    entries: &[(&SkillEntry, Option<&SkillId>)],
    read: &(dyn Fn(&SkillEntry) -> Option<Parsed> + Sync),
) -> Vec<PoolSkill> {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let share = entries.len().div_ceil(workers).max(1);
    std::thread::scope(|scope| {
        let look = |part: &[(&SkillEntry, Option<&SkillId>)]| -> Vec<PoolSkill> {
            let each = part.iter();
            each.map(|(entry, name)| PoolSkill::new(entry, *name, read(entry).as_ref())).collect()
        };
        let handles: Vec<_> =
            entries.chunks(share).map(|part| scope.spawn(move || look(part))).collect();
        handles.into_iter().filter_map(|handle| handle.join().ok()).flatten().collect()
    })
}

/// Whether `code` stands for a repair that clients were not watched with. Each that was watched
/// mends an unquoted colon.
fn is_odd_repair(code: &str) -> bool {
    let known = Code::ALL.iter().find(|known| known.as_str() == code);
    known.is_some_and(|known| known.effect() == Effect::Repair && *known != Code::UnquotedColon)
}

impl PoolSkill {
    fn new(entry: &SkillEntry, name: Option<&SkillId>, parsed: Option<&Parsed>) -> Self {
        let found = || parsed.iter().flat_map(|parsed| &parsed.diagnostics);
        let has = |code: Code| found().any(|found| found.code == code.as_str());
        let paths = std::iter::once(&entry.path).chain(&entry.also_at);
        let text = |value: &Option<std::sync::Arc<str>>| value.as_deref().map(str::to_owned);
        Self {
            id: entry.id.to_string(),
            name: name.unwrap_or(&entry.id).to_string(),
            paths: paths.map(|path| PathBuf::from(path.as_ref())).collect(),
            description: text(&entry.description),
            when_to_use: text(&entry.when_to_use),
            model_disabled: entry.model_disabled,
            has_paths: !entry.paths.is_empty(),
            has_frontmatter: parsed.is_some_and(|parsed| parsed.frontmatter.is_some()),
            describes_itself: entry.description.is_some() && !has(Code::DescriptionMissing),
            is_odd: found().any(|found| is_odd_repair(&found.code)),
            findings: found().map(|found| (found.code.to_string(), found.severity)).collect(),
            is_foreign: false,
        }
    }

    /// The directory of skills that it is in.
    pub(super) fn root(&self) -> String {
        self.paths.first().map(|path| root_of(path)).unwrap_or_default()
    }

    /// What a client's listing says of it.
    pub(super) fn summary(&self, with_when_to_use: bool) -> String {
        let when = self.when_to_use.as_deref().filter(|_| with_when_to_use);
        let parts = [self.description.as_deref(), when];
        let words = parts.into_iter().flatten().flat_map(str::split_whitespace);
        words.collect::<Vec<_>>().join(" ")
    }
}

/// The directory of skills or commands that the file at `path` is in: the nearest one that is called
/// so, else the one that holds the skill's own.
pub(super) fn root_of(path: &Path) -> String {
    let is_root =
        |path: &&Path| ["skills", "skill", "commands"].iter().any(|name| path.ends_with(name));
    // The nearest directory of a skill can itself be called `skills`.
    let mut above = path.ancestors().skip(1);
    let own = above.next();
    let root = own.filter(|own| own.ends_with("commands")).or_else(|| above.clone().find(is_root));
    root.or_else(|| above.next()).unwrap_or(path).display().to_string()
}
