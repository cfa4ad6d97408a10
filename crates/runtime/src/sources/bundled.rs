//! Skills that ship with the program.

use concertina_core::catalog::{Loaded, Scope, SkillEntry};
use concertina_format::skill::{Mode, Origin, parse};
use concertina_types::SkillId;

use super::{Scan, SkillFile, Source, SourceError};

/// Name and text of each.
const SKILLS: &[(&str, &str)] = &[("write-a-skill", include_str!("write-a-skill.md"))];

/// The source of the skills that ship with the program.
#[derive(Debug, Default)]
pub struct Bundled {
    scanned: bool,
}

impl Source for Bundled {
    fn scan(&mut self) -> Scan {
        self.scanned = true;
        let skills = SKILLS.iter().filter_map(|(name, text)| {
            let origin = Origin { directory: name, file: "SKILL.md" };
            let document = parse(text.as_bytes(), origin, Mode::Lenient).document?;
            let id = SkillId::new(*name).ok()?;
            let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
            let path = format!("bundled:{name}");
            Some(SkillEntry::new(&document, id, Scope::Bundled, Loaded::Bundled, path, bytes))
        });
        Scan { skills: skills.collect(), ..Scan::default() }
    }

    fn is_stale(&self) -> bool {
        !self.scanned
    }

    fn read(&self, entry: &SkillEntry) -> Option<Result<SkillFile, SourceError>> {
        let name = entry.path.strip_prefix("bundled:")?;
        let (_, text) = SKILLS.iter().find(|(bundled, _)| *bundled == name)?;
        Some(Ok(SkillFile { bytes: text.as_bytes().to_vec(), directory: None }))
    }
}
