//! `concertina tool list|show|menu`.

use concertina_core::catalog::ToolEntry;
use concertina_core::session::visibility;
use concertina_types::{Ref, Subject, ToolName};
use serde_json::{Value, json};

use crate::args::ToolCommand;
use crate::error::{CliError, Exit};
use crate::output::{Output, fitting_table};
use crate::place;

pub(crate) fn run(command: &ToolCommand, out: &mut Output) -> Result<u8, CliError> {
    match command {
        ToolCommand::List { place, session, all } => {
            let (_, session) = place::session(place, session, out)?;
            let rows: Vec<(&ToolEntry, bool, String)> = session
                .snapshot()
                .tools
                .iter()
                .map(|tool| {
                    let reference = Ref::Tool(tool.name.clone());
                    let seen =
                        visibility(session.state(), &session.world(), &reference, Subject::Model);
                    let why = seen.reasons.first().map(|reason| reason.text.clone());
                    (tool, seen.visible, why.unwrap_or_default())
                })
                .filter(|(_, visible, _)| *all || *visible)
                .collect();
            if out.is_json() {
                let tools: Vec<Value> = rows
                    .iter()
                    .map(|(tool, visible, why)| {
                        json!({
                            "name": tool.name, "description": tool.description,
                            "category": tool.category, "danger": tool.danger,
                            "visible": visible, "reason": why,
                        })
                    })
                    .collect();
                out.json(&json!({"tools": tools}))?;
            } else {
                let rows: Vec<Vec<String>> = rows
                    .iter()
                    .map(|(tool, visible, why)| {
                        let about = if *visible { &tool.description } else { why };
                        vec![tool.name.to_string(), about.clone()]
                    })
                    .collect();
                if rows.is_empty() {
                    out.say("no tool is visible now; --all lists hidden ones with the reason");
                }
                out.raw(&fitting_table(rows, &[]))?;
            }
            Ok(0)
        }
        ToolCommand::Show { name, place } => {
            let (_, session) = place::passing(place, None, out)?;
            let parsed =
                ToolName::new(name.as_str()).map_err(|error| CliError::usage(error.to_string()))?;
            let Some(tool) = session.snapshot().tool(&parsed) else {
                return Err(CliError::new(
                    Exit::NotFound,
                    "UNKNOWN_TOOL",
                    format!("there is no tool {name}"),
                )
                .help("`concertina tool list --all` shows the ones there are"));
            };
            if out.is_json() {
                out.json(tool)?;
            } else {
                out.line(format!("{}: {}", tool.name, tool.description))?;
                out.line(serde_json::to_string_pretty(&tool.parameters).unwrap_or_default())?;
            }
            Ok(0)
        }
        ToolCommand::Menu { place, session } => {
            let (_, session) = place::session(place, session, out)?;
            let menus = session.menus();
            if out.is_json() {
                let shown: Vec<Value> = menus
                    .iter()
                    .map(|(name, title, tools)| json!({"menu": name, "title": title, "tools": tools}))
                    .collect();
                out.json(&json!({"menus": shown}))?;
            } else {
                if menus.is_empty() {
                    out.say("there are so few tools that they are shown without menus; see `concertina tool list`");
                }
                let rows: Vec<Vec<String>> = menus
                    .into_iter()
                    .map(|(name, title, tools)| {
                        vec![format!("menu:{name}"), tools.to_string(), title]
                    })
                    .collect();
                out.raw(&fitting_table(rows, &[1]))?;
            }
            Ok(0)
        }
    }
}
