//! A skill on its way to being open, and a search on its way to its hits: made ready while the workspace
//! is at hand, completed without it.

use std::path::Path;
use std::sync::Arc;

use concertina_core::policy::FilePath;
use concertina_core::session::{
    Command, Origin, PreparedSkill, Refusal, Request, Shown, prepare, visibility,
};
use concertina_format::expand::Variables;
use concertina_types::{DisclosureKind, Ref, SkillId};

use super::{OpenOptions, ReadySearch, Reply, Session};
use crate::Distrust;
use crate::error::RuntimeError;
use crate::inside::inside;
use crate::tools::CommandRunner;
use crate::workspace::{LoadedSkill, Workspace};

/// What became of a request, as far as it needs the workspace.
#[derive(Debug)]
#[must_use = "what is ready is not done yet"]
pub enum Opening {
    /// What the asker is told.
    Answered(Box<Reply>),
    /// A skill is ready. The commands in its text run before it is shown, and may take their time.
    Ready(Box<ReadySkill>),
    /// A search is ready. It may wait for an encoder.
    Searching(Box<ReadySearch>),
}

/// A skill that is ready to open.
#[derive(Debug)]
pub struct ReadySkill {
    pub(super) origin: Origin,
    pub(super) skill: PreparedSkill,
    /// The directory that it is in.
    pub(super) directory: Option<Arc<Path>>,
    /// Why it is not what a person trusted, where it is not.
    pub(super) distrusted: Option<Distrust>,
    pub(super) options: OpenOptions,
    pub(super) runner: CommandRunner,
    /// The texts of the procedure that is followed while it is open, where it names one.
    pub(super) procedure: Vec<String>,
}

impl From<Reply> for Opening {
    fn from(reply: Reply) -> Self {
        Self::Answered(Box::new(reply))
    }
}

impl Session {
    /// The second half of a request: runs the commands in a skill's text and shows it, or searches.
    /// Whatever else was asked for is answered already.
    pub fn complete(&mut self, opening: Opening) -> Result<Reply, RuntimeError> {
        match opening {
            Opening::Answered(reply) => Ok(*reply),
            Opening::Ready(ready) => self.open_ready(*ready),
            Opening::Searching(search) => self.complete_find(*search).map(|(_, reply)| reply),
        }
    }

    pub(super) fn begin_skill(
        &mut self,
        workspace: &mut Workspace,
        origin: Origin,
        id: SkillId,
        options: &OpenOptions,
    ) -> Result<Opening, RuntimeError> {
        let request = format!("open skill:{id}");
        // What may not be seen is not read, either.
        let seen = visibility(&self.state, &self.world(), &Ref::skill(id.clone()), origin.subject);
        // What is open already was shown: the usual refusals follow below.
        if !seen.visible && self.state.opened(&id).is_none() {
            let shown = Shown {
                reference: Ref::skill(id),
                kind: DisclosureKind::Skill,
                text: String::new(),
                lines: None,
            };
            return Ok(self.apply(&Command::Show { origin, shown })?.reply.into());
        }
        let loaded = match workspace.load(&id) {
            Some(Ok(loaded)) => loaded,
            Some(Err(error)) => {
                return Ok(self.refuse(origin, request, error.code(), error.to_string())?.into());
            }
            None => {
                let reason = format!(
                    "skill:{id} is no longer in the catalogue; the index is refreshed on the next turn"
                );
                return Ok(self.refuse(origin, request, "SKILL_GONE", reason)?.into());
            }
        };
        let distrusted = workspace.distrusted(&loaded, None);
        if let Some(distrust) = distrusted.as_ref().filter(|why| why.stops(origin.subject)) {
            let (code, reason) = (distrust.code.as_str(), distrust.reason.as_str());
            return Ok(self.refuse(origin, request, code, reason)?.into());
        }
        let options = match self.handed_over(origin.subject, &loaded, options)? {
            Ok(options) => options,
            Err(refusal) => {
                return Ok(self.refuse(origin, request, refusal.code, refusal.message)?.into());
            }
        };
        let options = &options;
        let procedure = match procedure_of(workspace, &loaded) {
            Ok(procedure) => procedure,
            Err(error) => {
                return Ok(self.refuse(origin, request, error.code(), error.to_string())?.into());
            }
        };
        self.learn_parameters(&loaded.document.parameters, &options.arguments);
        match self.prepared(workspace, &loaded, options) {
            Err(refusal) => Ok(self.refuse(origin, request, refusal.code, refusal.message)?.into()),
            Ok(skill) => {
                let (options, runner) = (options.clone(), workspace.toolbox().command_runner());
                let directory = loaded.directory;
                let ready =
                    ReadySkill { origin, skill, directory, distrusted, options, runner, procedure };
                Ok(Opening::Ready(Box::new(ready)))
            }
        }
    }

    fn open_ready(&mut self, ready: ReadySkill) -> Result<Reply, RuntimeError> {
        let (origin, options) = (ready.origin.clone(), ready.options.clone());
        let procedure = ready.procedure.clone();
        let request = format!("open skill:{}", ready.skill.id);
        // Before anything of it runs.
        let may = Command::MayOpen { origin: origin.clone(), skill: Box::new(ready.skill.clone()) };
        let may = self.apply_asking(&may)?;
        if let Some(ask) = &may.ask {
            return self.unanswered(origin, ask);
        }
        if may.reply.refusal.is_some() {
            return Ok(may.reply);
        }
        let (mut skill, needs_approval) = match self.run_commands(ready)? {
            Ok(ran) => ran,
            Err(refusal) => return self.refuse(origin, request, refusal.code, refusal.message),
        };
        // Whoever asked sees what the record has.
        self.take_key()?;
        skill.text = self.redactor.redact(&skill.text).into_owned();
        let command = Command::OpenSkill {
            origin: origin.clone(),
            skill: Box::new(skill.clone()),
            can_fork: options.can_fork,
            held: options.held,
        };
        let mut reply = self.apply(&command)?.reply;
        reply.needs_approval = needs_approval;
        if reply.refusal.is_none()
            && self.state.opened(&skill.id).is_some()
            && !procedure.is_empty()
        {
            let followed = self.follow_with(&skill.id, procedure)?;
            if let Some(refusal) = followed {
                // Without its procedure it would be open with nothing that holds it to its steps.
                self.close(Origin::user(), &Ref::skill(skill.id.clone()).to_string())?;
                return self.refuse(origin, request, refusal.code, refusal.message);
            }
        }
        if reply.refusal.is_none() {
            reply.opened = Some(Box::new(skill));
        }
        Ok(reply)
    }

    /// A skill made ready to open in this session. Nothing is recorded.
    pub fn prepared(
        &self,
        workspace: &Workspace,
        loaded: &LoadedSkill,
        options: &OpenOptions,
    ) -> Result<PreparedSkill, Refusal> {
        let variables = Variables {
            skill_dir: loaded.directory.as_ref().map(|path| path.display().to_string()),
            session_id: Some(self.id.to_string()),
            project_dir: Some(workspace.root().display().to_string()),
            effort: loaded.document.effort.clone(),
            ..Variables::default()
        };
        let request = Request {
            arguments: options.arguments.clone(),
            raw_arguments: options.raw_arguments.clone(),
            profile: options.profile,
            variables,
            workspace: FilePath::new(&self.settings().site.real_workspace).ok(),
        };
        let id = loaded.entry.id.clone();
        let mut skill = prepare(id, &loaded.document, &loaded.body, loaded.resources(), &request)?;
        if !skill.permissions.execute.is_empty() {
            skill.content = workspace.bound_content(loaded);
        }
        Ok(skill)
    }
}

/// The texts of the procedure that a skill names as a file beside it.
fn procedure_of(workspace: &Workspace, loaded: &LoadedSkill) -> Result<Vec<String>, RuntimeError> {
    let (Some(name), Some(directory)) = (&loaded.document.procedure, &loaded.directory) else {
        return Ok(Vec::new());
    };
    let name = name.as_str().ok_or_else(|| {
        let id = &loaded.entry.id;
        let why = format!("skill:{id} says `procedure:` without the name of a file beside it");
        RuntimeError::ProcedureUnsound(why)
    })?;
    if inside(directory, name).is_none() {
        let why = format!("`{name}` lies outside of skill:{}", loaded.entry.id);
        return Err(RuntimeError::NoProcedure(why));
    }
    workspace.procedures().texts(name, directory)
}
