//! What one skill brought about, handed to the next: `requires: [{skill: A, pass: {orders: result.orders}}]`.

use concertina_core::session::Refusal;
use concertina_format::results::JsonPath;
use concertina_types::{SkillId, Subject};
use serde_json::{Map, Value};

use super::{OpenOptions, Session};
use crate::error::RuntimeError;
use crate::workspace::LoadedSkill;

/// What a path begins with that leads into a result.
const RESULT: &str = "result";

impl Session {
    /// The options with which a skill is opened, with what the skills before it hand over filled in. What a person gave
    /// stays; what a model gave in the place of a result does not. Where something is to be handed over that there is
    /// not, it says so.
    pub(super) fn handed_over(
        &self,
        by: Subject,
        loaded: &LoadedSkill,
        options: &OpenOptions,
    ) -> Result<Result<OpenOptions, Refusal>, RuntimeError> {
        let mut options = options.clone();
        let passes = loaded.document.requires.iter().any(|needed| !needed.pass.is_empty());
        if by == Subject::Model && passes && options.raw_arguments.is_some() {
            let text = format!(
                "skill:{} takes what other skills hand over, so its arguments are given by name",
                loaded.entry.id
            );
            return Ok(Err(Refusal::new("BAD_ARGUMENTS", text)));
        }
        let mut arguments = match &options.arguments {
            Value::Object(arguments) => arguments.clone(),
            Value::Null if options.raw_arguments.is_none() => Map::new(),
            _ => return Ok(Ok(options)),
        };
        let id = &loaded.entry.id;
        for needed in &loaded.document.requires {
            let from = SkillId::new(&needed.skill).ok();
            let from = from.map(|id| self.snapshot.skill(&id).map_or(id, |entry| entry.id.clone()));
            for (parameter, path) in &needed.pass {
                if by == Subject::User && arguments.contains_key(parameter) {
                    continue;
                }
                let blob = from.as_ref().and_then(|from| self.state.results.get(from));
                let Some(blob) = blob else {
                    let text = format!(
                        "skill:{id} takes `{parameter}` from what skill:{} brings about, and that has no result yet; run one of its tools first",
                        needed.skill
                    );
                    return Ok(Err(Refusal::new("HANDOVER_MISSING", text)));
                };
                match part(&self.text(blob)?, path) {
                    Ok(value) => drop(arguments.insert(parameter.clone(), value)),
                    Err(why) => {
                        let text = format!(
                            "skill:{id} takes `{parameter}` from `{path}` of skill:{}: {why}",
                            needed.skill
                        );
                        return Ok(Err(Refusal::new("HANDOVER_MISSING", text)));
                    }
                }
            }
        }
        if !arguments.is_empty() {
            options.arguments = Value::Object(arguments);
        }
        Ok(Ok(options))
    }
}

/// The part of `text` that `path` names: `result` is all of it, `result.orders[0]` a part of what is JSON.
fn part(text: &str, path: &str) -> Result<Value, String> {
    let rest = path
        .trim()
        .strip_prefix(RESULT)
        .ok_or_else(|| format!("a path begins with `{RESULT}`, such as `{RESULT}.orders`"))?;
    let value = serde_json::from_str::<Value>(text.trim());
    if rest.is_empty() {
        return Ok(value.unwrap_or_else(|_| Value::String(text.trim().to_owned())));
    }
    let value = value.map_err(|_| "the result is no JSON".to_owned())?;
    let way: JsonPath = format!("${rest}").parse().map_err(|error| format!("{error}"))?;
    way.find(&value).cloned().ok_or_else(|| "there is no such part in the result".to_owned())
}
