//! Skills as prompts: what a person may open by name.

use std::sync::Arc;

use concertina_core::session::{Origin, visibility};
use concertina_format::skill::Parameter;
use concertina_runtime::{LoadedSkill, OpenOptions};
use concertina_types::{Ref, SkillId, Subject};
use rmcp::ErrorData;
use rmcp::model::{
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, ListPromptsResult,
    PaginatedRequestParams, Prompt, PromptArgument, PromptMessage, Role,
};
use serde_json::{Map, Value};

use super::connection::{Connection, Request, broken};
use super::page::page;

/// The argument of a skill that takes what a person types after its name.
const TYPED: &str = "arguments";

impl Connection {
    /// Every skill that a person may open.
    pub(super) async fn prompts(
        &self,
        page_of: Option<PaginatedRequestParams>,
        request: &Request,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.gateway.look().await;
        let principal = request.principal.clone();
        let listed = self
            .apart(move |gateway| {
                let glance = gateway.glance(&principal)?;
                let session = &glance.session;
                let ids: Vec<SkillId> = session
                    .snapshot()
                    .skills
                    .iter()
                    .map(|entry| entry.id.clone())
                    .filter(|id| {
                        let reference = Ref::skill(id.clone());
                        visibility(session.state(), &session.world(), &reference, Subject::User)
                            .visible
                    })
                    .collect();
                let (ids, next) = match page(ids, SkillId::as_str, page_of) {
                    Ok(page) => page,
                    Err(error) => return Ok(Err(error)),
                };
                // Parameters stand in the files; only those of this page are read.
                let prompts = gateway.with_workspace(|workspace| {
                    ids.iter()
                        .filter_map(|id| workspace.load(id)?.ok())
                        .map(|skill| prompt(&skill))
                        .collect::<Vec<_>>()
                });
                Ok(Ok((prompts, next)))
            })
            .await
            .map_err(|error| broken(&error))?;
        let (prompts, next) = listed?;
        let mut result = ListPromptsResult::with_all_items(prompts);
        result.next_cursor = next;
        Ok(result)
    }

    /// Opens a skill as a person does.
    pub(super) async fn prompt(
        &self,
        wanted: GetPromptRequestParams,
        request: &Request,
    ) -> Result<GetPromptResponse, ErrorData> {
        let desk = self.plain_desk(request).await?;
        self.gateway.look().await;
        let gateway = Arc::clone(&self.gateway);
        let name = wanted.name;
        let given = wanted.arguments.unwrap_or_default();
        let reply = desk
            .work(move |seat| {
                seat.bring_up(&gateway)?;
                gateway.with_workspace(|workspace| {
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
                    seat.session.open(workspace, Origin::user(), &reference, &options)
                })
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
