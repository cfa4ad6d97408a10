//! Skills as prompts: what a person may open by name.

use std::sync::Arc;

use concertina_core::session::{Origin, visible_skills};
use concertina_format::skill::Parameter;
use concertina_runtime::{LoadedSkill, OpenOptions};
use concertina_types::{SkillId, Subject};
use rmcp::ErrorData;
use rmcp::model::{
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, ListPromptsResult,
    PaginatedRequestParams, Prompt, PromptArgument, PromptMessage, ResultType, Role,
};
use serde_json::{Map, Value};

use super::brought::From;
use super::connection::{Connection, Request, broken};
use super::page::page;
use super::resources::understood;
use crate::upstream::Ask;

/// The argument of a skill that takes what a person types after its name.
const TYPED: &str = "arguments";

impl Connection {
    /// Every skill that a person may open, then what servers bring.
    pub(super) async fn prompts(
        &self,
        page_of: Option<PaginatedRequestParams>,
        request: &Request,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.gateway.settle().await;
        self.gateway.look().await;
        self.glance(request, move |gateway, glance| {
            let (state, world) = (glance.session.state(), glance.session.world());
            let skills = visible_skills(state, &world, Subject::User)
                .filter(|entry| entry.trusted)
                .map(|entry| Listed::Skill(entry.id.clone()));
            let brought = gateway.brought();
            let others = brought.prompts.iter();
            let others = others.filter(|prompt| glance.allows(&prompt.server, prompt.plain()));
            let others = others.map(|prompt| Listed::Other(Box::new(prompt.it.clone())));
            let (listed, next) = page(skills.chain(others).collect(), Listed::name, page_of)?;
            // Parameters stand in the files; only those of this page are read.
            let prompts = gateway.with_workspace(|workspace| {
                let read = |listed| match listed {
                    Listed::Skill(id) => workspace.load(&id)?.ok().map(|skill| prompt(&skill)),
                    Listed::Other(prompt) => Some(*prompt),
                };
                listed.into_iter().filter_map(read).collect()
            });
            let mut result = ListPromptsResult::with_all_items(prompts);
            result.next_cursor = next;
            Ok(result)
        })
        .await
    }

    /// What a prompt says. A skill is opened as a person does.
    pub(super) async fn prompt(
        &self,
        wanted: GetPromptRequestParams,
        request: &Request,
    ) -> Result<GetPromptResponse, ErrorData> {
        let is_skill =
            SkillId::new(&wanted.name).is_ok_and(|id| self.gateway.snapshot().skill(&id).is_some());
        let brought = self.gateway.brought();
        match brought.prompt(&wanted.name).filter(|_| !is_skill) {
            Some(prompt) => self.ask_for_prompt(prompt, wanted, request).await,
            None => self.open_prompt(wanted, request).await,
        }
    }

    async fn ask_for_prompt(
        &self,
        prompt: &From<Prompt>,
        wanted: GetPromptRequestParams,
        request: &Request,
    ) -> Result<GetPromptResponse, ErrorData> {
        let mut params = Map::new();
        params.insert("name".to_owned(), prompt.plain().into());
        if let Some(arguments) = wanted.arguments {
            params.insert("arguments".to_owned(), Value::Object(arguments));
        }
        let result = self.ask(&prompt.server, prompt.plain(), Ask::Prompt, params, request).await?;
        let mut result: GetPromptResult = understood(result)?;
        result.result_type = Some(ResultType::COMPLETE);
        Ok(result.into())
    }

    /// Opens a skill as a person does.
    async fn open_prompt(
        &self,
        wanted: GetPromptRequestParams,
        request: &Request,
    ) -> Result<GetPromptResponse, ErrorData> {
        let desk = self.plain_desk(request).await?;
        self.gateway.look().await;
        let gateway = Arc::clone(&self.gateway);
        let name = wanted.name;
        let given = wanted.arguments.unwrap_or_default();
        // A client's person names a prompt and has not read it.
        let is_strange = SkillId::new(&name)
            .is_ok_and(|id| gateway.snapshot().skill(&id).is_some_and(|skill| !skill.trusted));
        if is_strange {
            let text = format!(
                "UNTRUSTED: skill:{name} comes with this workspace, and nobody has trusted it as it is now; look at it, then: concertina trust"
            );
            return Err(ErrorData::invalid_params(text, None));
        }
        let reply = desk
            .work(move |seat| {
                seat.bring_up(&gateway)?;
                let opening = gateway.with_workspace(|workspace| {
                    let loaded = SkillId::new(&name).ok().and_then(|id| workspace.load(&id)?.ok());
                    let mut options = OpenOptions::default();
                    match loaded {
                        Some(skill) if skill.document.parameters.is_empty() => {
                            let typed = given.get(TYPED).and_then(Value::as_str);
                            options.raw_arguments = typed.map(str::to_owned);
                        }
                        Some(skill) => {
                            options.arguments = typed(&skill.document.parameters, given);
                        }
                        None => {}
                    }
                    let reference = format!("skill:{name}");
                    seat.session.begin_open(workspace, Origin::user(), &reference, &options)
                })?;
                seat.session.complete(opening)
            })
            .await
            .map_err(|error| broken(&error))?;
        if let Some(refusal) = reply.refusal {
            let text = format!("{}: {}", refusal.code, refusal.message);
            return Err(ErrorData::invalid_params(text, None));
        }
        let text = reply.answer.map(|answer| answer.text).unwrap_or_default();
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).into())
    }
}

/// What stands in the list of prompts.
enum Listed {
    Skill(SkillId),
    Other(Box<Prompt>),
}

impl Listed {
    fn name(&self) -> &str {
        match self {
            Self::Skill(id) => id.as_str(),
            Self::Other(prompt) => &prompt.name,
        }
    }
}

fn prompt(skill: &LoadedSkill) -> Prompt {
    let entry = &skill.entry;
    let parameters = &skill.document.parameters;
    let mut arguments: Vec<PromptArgument> = parameters
        .iter()
        .map(|parameter| {
            let argument =
                PromptArgument::new(parameter.name.clone()).with_required(parameter.required);
            match &parameter.description {
                Some(description) => argument.with_description(description.clone()),
                None => argument,
            }
        })
        .collect();
    if let (true, Some(hint)) = (arguments.is_empty(), &entry.argument_hint) {
        arguments
            .push(PromptArgument::new(TYPED).with_description(hint.clone()).with_required(false));
    }
    let summary = Some(entry.summary()).filter(|summary| !summary.is_empty());
    Prompt::new(entry.id.to_string(), summary, Some(arguments).filter(|all| !all.is_empty()))
}

/// Values of a prompt are texts; where a skill wants a number, a switch or more, the text says it as
/// JSON.
fn typed(parameters: &[Parameter], given: Map<String, Value>) -> Value {
    let wants_text = |name: &str| {
        let parameter = parameters.iter().find(|parameter| parameter.name == name);
        let kind = parameter.and_then(|parameter| parameter.schema.get("type"));
        kind.is_none_or(|kind| kind == "string")
    };
    let values = given.into_iter().map(|(name, value)| {
        let read = match &value {
            Value::String(text) if !wants_text(&name) => serde_json::from_str(text).ok(),
            _ => None,
        };
        (name, read.unwrap_or(value))
    });
    Value::Object(values.collect())
}
