//! Files that were touched, and what that brings to light.

use std::path::Path;

use concertina_core::session::Command;
use concertina_types::SkillId;
use serde::Serialize;

use super::Session;
use crate::error::RuntimeError;
use crate::touch::{Nested, first_match, inside};
use crate::workspace::Workspace;

/// What a touch brought to light.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Touched {
    /// Skills that are active from now on.
    pub activated: Vec<SkillId>,
    /// Directories of skills that were found, relative to the workspace.
    pub discovered: Vec<String>,
    /// Directories of skills that are there and are not read, and why.
    pub left: Vec<String>,
    /// How many directories were looked at in this workspace so far.
    pub dir_probes: u64,
}

impl Session {
    /// Somebody read, wrote or edited `file`. Skills that wait for such a file become active for the
    /// rest of the session, and directories of skills beside the file are read. A file outside the
    /// workspace matches nothing.
    pub fn touch(
        &mut self,
        workspace: &mut Workspace,
        file: &Path,
    ) -> Result<Touched, RuntimeError> {
        let mut touched = Touched::default();
        let Some(path) = inside(workspace.root(), file) else { return Ok(touched) };
        let mut nested = Vec::new();
        for found in workspace.nested_around(&path) {
            match found {
                Nested::Found(directory) if self.state.nested.contains(&directory) => {}
                Nested::Found(directory) => nested.push(directory),
                Nested::Left { directory, code, reason } => {
                    touched.left.push(format!("{directory}: {code}: {reason}"));
                }
            }
        }
        touched.dir_probes = workspace.nested_probes();
        workspace.add_nested(&nested);
        self.take_note(workspace)?;
        let waiting = self.snapshot.skills.iter().filter(|entry| !entry.paths.is_empty());
        let activated: Vec<(SkillId, String)> = waiting
            .filter(|entry| !self.state.activated.contains(&entry.id))
            .filter_map(|entry| Some((entry.id.clone(), first_match(&entry.paths, &path)?)))
            .collect();
        touched.activated = activated.iter().map(|(id, _)| id.clone()).collect();
        let is_new = |directory: &&String| !self.state.nested.contains(*directory);
        touched.discovered = nested.iter().filter(is_new).cloned().collect();
        self.apply(&Command::Touch { path, activated, nested })?;
        Ok(touched)
    }
}
