//! From what a model wrote to one of the four verbs.

use concertina_core::catalog::search::Kind;
use concertina_core::session::{Origin, known_tool};
use concertina_types::{ModelCall, Ref, ToolName};
use serde_json::Value;

use super::{Admission, OpenOptions, Opening, Reply, Session};
use crate::Cancel;
use crate::error::RuntimeError;
use crate::find::FindRequest;
use crate::tools::Toolbox;
use crate::workspace::Workspace;

impl Session {
    /// Does what a model wrote, whatever it wrote: one of the four tools, or a refusal that says
    /// what would have worked.
    pub fn dispatch(
        &mut self,
        workspace: &mut Workspace,
        call: &ModelCall,
        can_fork: bool,
        cancel: &Cancel,
    ) -> Result<Reply, RuntimeError> {
        let origin = Origin::model(call.id.clone());
        let written = if call.arguments.trim().is_empty() { "{}" } else { &call.arguments };
        let arguments: Value = match serde_json::from_str(written) {
            Ok(arguments @ Value::Object(_)) => arguments,
            Ok(_) => {
                let reason = format!("the arguments of {} must be a JSON object", call.name);
                return self.refuse(origin, call.name.clone(), "BAD_ARGUMENTS", reason);
            }
            Err(error) => {
                let reason = format!(
                    "the arguments of {} are not JSON ({error}); write them again",
                    call.name
                );
                return self.refuse(origin, call.name.clone(), "BAD_ARGUMENTS", reason);
            }
        };
        if call.name != "call" {
            let name = &call.name;
            let opening = self.verb(workspace, origin, name, &arguments, can_fork, cancel)?;
            return self.complete(opening);
        }
        let admission = self.admit_written(workspace.toolbox(), origin.clone(), &arguments)?;
        self.carry_out(workspace, origin, admission, cancel)
    }

    /// `find`, `open` or `close`, with arguments as they were written. What is left to do afterwards,
    /// in [`Session::complete`], needs no workspace.
    pub fn verb(
        &mut self,
        workspace: &mut Workspace,
        origin: Origin,
        name: &str,
        arguments: &Value,
        can_fork: bool,
        cancel: &Cancel,
    ) -> Result<Opening, RuntimeError> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let reply = match name {
            "find" => {
                let Some(query) = text("query") else {
                    let reason = missing(name, "query");
                    return self.refuse(origin, "find", "BAD_ARGUMENTS", reason).map(Opening::from);
                };
                let request = match find_request(query, arguments) {
                    Ok(request) => request,
                    Err(reason) => {
                        let reply = self.refuse(origin, "find", "BAD_ARGUMENTS", reason)?;
                        return Ok(reply.into());
                    }
                };
                return self.begin_find(workspace, origin, &request);
            }
            "open" => {
                let Some(reference) = text("ref") else {
                    let reason = missing(name, "ref");
                    return self.refuse(origin, "open", "BAD_ARGUMENTS", reason).map(Opening::from);
                };
                let options = OpenOptions {
                    part: text("part").map(str::to_owned),
                    arguments: inner_object(arguments, "args"),
                    can_fork,
                    held: text("known_digest").filter(|held| !held.is_empty()).map(str::to_owned),
                    cancel: cancel.clone(),
                    ..OpenOptions::default()
                };
                return self.begin_open(workspace, origin, reference, &options);
            }
            "close" => match text("ref") {
                Some(reference) => self.close(origin, reference),
                None => self.refuse(origin, "close", "BAD_ARGUMENTS", missing(name, "ref")),
            },
            other => {
                // Models often write a tool's own name where `call` belongs.
                let known = ToolName::new(other).ok();
                let known = known.and_then(|name| known_tool(&self.state, &self.world(), &name));
                let hint = match known {
                    Some(tool) => {
                        format!(r#"to run it, use call with {{"tool": "{}"}}"#, tool.name)
                    }
                    None => "there are find, open, call and close".to_owned(),
                };
                let reason = format!("there is no function {other}; {hint}");
                self.refuse(origin, other, "UNKNOWN_TOOL", reason)
            }
        };
        reply.map(Opening::from)
    }

    /// The first half of `call`, with arguments as they were written.
    pub fn admit_written(
        &mut self,
        toolbox: &Toolbox,
        origin: Origin,
        arguments: &Value,
    ) -> Result<Admission, RuntimeError> {
        if let Some(tool) = arguments.get("tool").and_then(Value::as_str) {
            if let Some(key) = stray(arguments) {
                let reason = format!("call knows no `{key}`; what {tool} takes goes into `args`");
                let reply = self.refuse(origin, format!("call {tool}"), "BAD_ARGUMENTS", reason)?;
                return Ok(Admission::Answered(Box::new(reply)));
            }
            return self.admit(toolbox, origin, tool, inner_object(arguments, "args"));
        }
        let reply = self.refuse(origin, "call", "BAD_ARGUMENTS", missing("call", "tool"))?;
        Ok(Admission::Answered(Box::new(reply)))
    }
}

/// A key of `call` under which somebody most likely meant `args`: it is not there, and this one is.
fn stray(arguments: &Value) -> Option<&str> {
    let all = arguments.as_object()?;
    let known = ["tool", "args", "session"];
    let stray = all.keys().map(String::as_str).find(|key| !known.contains(key));
    stray.filter(|_| !all.contains_key("args"))
}

fn missing(tool: &str, argument: &str) -> String {
    format!("{tool} needs `{argument}`, a text")
}

/// An argument that is an object. Some models send it as a text that holds JSON.
pub(super) fn inner_object(arguments: &Value, name: &str) -> Value {
    match arguments.get(name) {
        Some(Value::String(text)) => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))
        }
        Some(value) => value.clone(),
        None => Value::Null,
    }
}

fn find_request(query: &str, arguments: &Value) -> Result<FindRequest, String> {
    let text =
        |name: &str| arguments.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let kind =
        text("kind").map(str::parse::<Kind>).transpose().map_err(|error| error.to_string())?;
    let within =
        text("in").map(str::parse::<Ref>).transpose().map_err(|error| error.to_string())?;
    let limit = arguments.get("k").and_then(Value::as_u64).and_then(|k| usize::try_from(k).ok());
    Ok(FindRequest {
        query: query.to_owned(),
        kind,
        within,
        limit: limit.map(|limit| limit.clamp(1, 50)),
    })
}
