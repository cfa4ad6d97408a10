//! `concertina tool list|show|menu`.

use std::collections::BTreeMap;
use std::sync::Arc;

use concertina_core::catalog::ToolEntry;
use concertina_core::session::{COMMANDS, Visibility, visibility, visible_tools};
use concertina_types::{Ref, Subject, ToolName};
use serde_json::{Value, json};

use super::tool_lint::{self, Compared};
use crate::args::{PlaceArgs, SessionArgs, ToolCommand};
use crate::error::{CliError, Exit};
use crate::output::{Output, count, fitting_table};
use crate::place;

pub(crate) fn run(command: &ToolCommand, out: &mut Output) -> Result<u8, CliError> {
    match command {
        ToolCommand::List { place, session, all, verify } => {
            list(place, session, *all, *verify, out)
        }
        ToolCommand::Lint { place } => tool_lint::run(place, out),
        ToolCommand::Show { name, place } => show(name, place, out),
        ToolCommand::Menu { place, session, dedupe } => menu(place, session, *dedupe, out),
    }
}

fn list(
    place: &PlaceArgs,
    session: &SessionArgs,
    all: bool,
    verify: bool,
    out: &mut Output,
) -> Result<u8, CliError> {
    let (_, session) = place::session(place, session, out)?;
    let world = session.world();
    let seen = |tool: &ToolEntry| {
        let reference = Ref::Tool(tool.name.clone());
        visibility(session.state(), &world, &reference, Subject::Model)
    };
    // Commands of open skills are in no catalogue.
    let commands = visible_tools(session.state(), &world).into_iter();
    let commands = commands.filter(|tool| tool.runner == COMMANDS);
    let tools = session.snapshot().tools.iter().map(AsRef::as_ref).chain(commands);
    let rows: Vec<(&ToolEntry, Visibility)> =
        tools.map(|tool| (tool, seen(tool))).filter(|(_, seen)| all || seen.visible).collect();
    let why = |seen: &Visibility| {
        seen.reasons.first().map(|reason| reason.text.clone()).unwrap_or_default()
    };
    if out.is_json() {
        let tools: Vec<Value> = rows
            .iter()
            .map(|(tool, seen)| {
                json!({
                    "name": tool.name, "description": tool.description,
                    "category": tool.category, "danger": tool.danger, "server": tool.server,
                    "visible": seen.visible, "callable": seen.callable, "reason": why(seen),
                })
            })
            .collect();
        out.json(&json!({"tools": tools}))?;
    } else {
        let shown: Vec<Vec<String>> = rows
            .iter()
            .map(|(tool, seen)| {
                let about = if seen.visible { tool.description.clone() } else { why(seen) };
                vec![tool.name.to_string(), about]
            })
            .collect();
        if shown.is_empty() {
            out.say("no tool is visible now; --all lists hidden ones with the reason");
        }
        out.raw(&fitting_table(shown, &[]))?;
    }
    if !verify {
        return Ok(0);
    }
    let idle: Vec<_> = rows.iter().filter(|(_, seen)| seen.visible && !seen.callable).collect();
    for (tool, seen) in &idle {
        out.say(format!("tool:{} is visible and cannot be called now: {}", tool.name, why(seen)));
    }
    Ok(u8::from(!idle.is_empty()))
}

fn show(name: &str, place: &PlaceArgs, out: &mut Output) -> Result<u8, CliError> {
    let (_, session) = place::passing(place, None, out)?;
    let parsed = ToolName::new(name).map_err(|error| CliError::usage(error.to_string()))?;
    let Some(tool) = session.snapshot().tool(&parsed) else {
        let message = format!("there is no tool {name}");
        return Err(CliError::new(Exit::NotFound, "UNKNOWN_TOOL", message)
            .help("`concertina tool list --all` shows the ones there are"));
    };
    if out.is_json() {
        out.json(tool)?;
    } else {
        out.line(format!("{}: {}", tool.name, tool.description))?;
        out.lines(serde_json::to_string_pretty(&tool.parameters).unwrap_or_default())?;
    }
    Ok(0)
}

fn menu(
    place: &PlaceArgs,
    session: &SessionArgs,
    dedupe: bool,
    out: &mut Output,
) -> Result<u8, CliError> {
    let (_, session) = place::session(place, session, out)?;
    let snapshot = session.snapshot();
    let mut menus = session.menus();
    let mut left_out = Vec::new();
    if dedupe {
        let compared = Compared::new(&snapshot.tools);
        let doubles: BTreeMap<&str, (&str, f64)> = compared.doubles();
        for (name, _, tools) in &mut menus {
            let below = |category: &str| {
                category
                    .strip_prefix(name.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            let double = |tool: &&Arc<ToolEntry>| {
                below(&tool.category) && doubles.contains_key(tool.name.as_str())
            };
            *tools = tools.saturating_sub(snapshot.tools.iter().filter(double).count());
        }
        menus.retain(|(_, _, tools)| *tools > 0);
        left_out = doubles
            .into_iter()
            .map(|(tool, (like, score))| json!({"tool": tool, "like": like, "score": score}))
            .collect();
    }
    if out.is_json() {
        let shown: Vec<Value> = menus
            .iter()
            .map(|(name, title, tools)| json!({"menu": name, "title": title, "tools": tools}))
            .collect();
        let mut value = json!({"menus": shown});
        if let (true, Some(map)) = (dedupe, value.as_object_mut()) {
            map.insert("left_out".to_owned(), left_out.into());
        }
        out.json(&value)?;
        return Ok(0);
    }
    if menus.is_empty() {
        out.say(
            "there are so few tools that they are shown without menus; see `concertina tool list`",
        );
    }
    let rows: Vec<Vec<String>> = menus
        .into_iter()
        .map(|(name, title, tools)| vec![format!("menu:{name}"), tools.to_string(), title])
        .collect();
    out.raw(&fitting_table(rows, &[1]))?;
    if !left_out.is_empty() {
        let tools = count(left_out.len(), "tool");
        out.say(format!("{tools} left out that others stand for; see `concertina tool lint`"));
    }
    Ok(0)
}
