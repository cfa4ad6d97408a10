//! Small skills that are open from the start.

use concertina_core::session::{Command, Origin, visibility};
use concertina_types::{OpenMode, Ref, SkillId, Subject, Tokens, limits};

use super::{OpenOptions, Session};
use crate::error::RuntimeError;
use crate::workspace::Workspace;

impl Session {
    /// Opens small skills where there are so few that folding them away would only cost a turn.
    pub(super) fn open_small(&mut self, workspace: &Workspace) -> Result<(), RuntimeError> {
        let limit = Tokens(self.settings.listing.inline_tokens);
        if limit == Tokens::ZERO {
            return Ok(());
        }
        let seen = |id: &SkillId| {
            visibility(&self.state, &self.world(), &Ref::skill(id.clone()), Subject::Model)
        };
        let skills = self.snapshot.skills.iter().map(|entry| (entry.id.clone(), seen(&entry.id)));
        let visible: Vec<_> = skills.filter(|(_, seen)| seen.visible).collect();
        if visible.len() > limits::INLINE_SKILLS {
            return Ok(());
        }
        let origin = Origin { subject: Subject::Model, call: None };
        for (id, _) in visible.into_iter().filter(|(_, seen)| seen.callable) {
            let Some(Ok(loaded)) = workspace.load(&id) else { continue };
            let fits = loaded.document.context == OpenMode::Inline
                && loaded.document.requires.is_empty()
                && concertina_tokens::count(&loaded.body) <= limit
                && workspace.distrusted(&loaded, None).is_none();
            // One that needs arguments or runs commands waits to be asked for, like one that needs
            // consent, another skill first, or a session of its own.
            if let Ok(skill) = self.prepared(workspace, &loaded, &OpenOptions::default())
                && fits
                && skill.commands.is_empty()
            {
                let skill = Box::new(skill);
                self.apply(&Command::OpenSkill {
                    origin: origin.clone(),
                    skill,
                    can_fork: false,
                    held: None,
                })?;
            }
        }
        Ok(())
    }
}
