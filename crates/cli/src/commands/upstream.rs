//! `concertina upstream list`, `login`, `approve`.

use std::path::Path;
use std::time::Duration;

use concertina_mcp::upstream::{
    Approval, Change, Failure, Login, Pool, ServedFile, ServedSkill, approve, changes,
};
use concertina_runtime::upstream::{Definition, Reach, ServerState, Upstreams as _};
use concertina_types::{Digest, canonical_json, limits};
use serde_json::{Value, json};

use crate::args::{PlaceArgs, UpstreamCommand};
use crate::error::{CliError, Exit};
use crate::output::{Output, count, table};
use crate::{place, servers};

pub(crate) fn run(command: &UpstreamCommand, out: &mut Output) -> Result<u8, CliError> {
    match command {
        UpstreamCommand::List { start, place } => list(*start, place, out),
        UpstreamCommand::Login { server, place } => login(server, place, out),
        UpstreamCommand::Approve { server, tool, digest, place } => {
            let asked = Asked { server, tool: tool.as_deref(), digest: digest.as_deref() };
            approved(&asked, place, out)
        }
    }
}

/// What is shown is known from earlier times, unless servers that were never seen are to be started.
fn list(start: bool, place: &PlaceArgs, out: &mut Output) -> Result<u8, CliError> {
    let workspace = place::workspace(place, out)?;
    let definitions = servers::definitions(&workspace, out);
    let runtime = servers::runtime()?;
    let handle = runtime.handle().clone();
    let pool = servers::pool_of(definitions.clone(), workspace.root(), handle, start)?;
    if start {
        let time = Duration::from_secs(limits::START_SECONDS + 1);
        runtime.block_on(pool.settled(time));
    }
    let offer = pool.offer();
    runtime.block_on(pool.close());
    let mut shown = Vec::new();
    for server in &offer.servers {
        let Some(definition) = definitions.iter().find(|one| one.name == server.name) else {
            continue;
        };
        let mine = offer.tools.iter().filter(|tool| tool.server == server.name);
        let quarantined = mine.filter(|tool| tool.quarantined.is_some()).count();
        // Nothing is under way here: what was never seen is new.
        let state = match server.state {
            ServerState::Starting => "new",
            state => state.name(),
        };
        shown.push(json!({
            "name": server.name,
            "state": state,
            "tools": server.tools,
            "quarantined": quarantined,
            "by": definition.by,
            "from": definition.from.display().to_string(),
            "note": server.note,
        }));
    }
    if out.is_json() {
        out.json(&json!({"servers": shown}))?;
        return Ok(0);
    }
    let text = |server: &Value, key: &str| server[key].as_str().unwrap_or_default().to_owned();
    let rows: Vec<Vec<String>> = shown
        .iter()
        .map(|server| {
            let tools = server["tools"].to_string();
            vec![text(server, "name"), text(server, "state"), tools, text(server, "from")]
        })
        .collect();
    out.raw(&table(&rows, &[2]))?;
    for server in &shown {
        let name = text(server, "name");
        if let Some(note) = server["note"].as_str() {
            out.say(format!("note: {name}: {note}"));
        }
        if let Some(number) = server["quarantined"].as_u64().filter(|number| *number > 0) {
            let tools = count(usize::try_from(number).unwrap_or(usize::MAX), "tool");
            out.say(format!(
                "warning: {name}: {tools} changed after approval; look at it: concertina upstream approve {name} [TOOL_QUARANTINED]"
            ));
        }
    }
    if shown.is_empty() {
        out.say("no settings name an MCP server; `[upstream.NAME]` in concertina.toml does");
    }
    Ok(0)
}

/// The server that was named, if it may be touched.
fn named(name: &str, place: &PlaceArgs, out: &mut Output) -> Result<Definition, CliError> {
    let workspace = place::workspace(place, out)?;
    let definitions = servers::definitions(&workspace, out);
    let names: Vec<&str> = definitions.iter().map(|one| one.name.as_str()).collect();
    let Some(definition) = definitions.iter().find(|one| one.name == name) else {
        let message = format!("there is no server `{name}`");
        let known = if names.is_empty() {
            "no settings name an MCP server".to_owned()
        } else {
            format!("there are: {}", names.join(", "))
        };
        return Err(CliError::new(Exit::NotFound, "NOT_FOUND", message).help(known));
    };
    if !definition.trusted {
        let message = Failure::Untrusted.to_string();
        return Err(CliError::new(Exit::Denied, "UNTRUSTED", message)
            .help("look at its settings, then: concertina trust PATH"));
    }
    Ok(definition.clone())
}

fn login(name: &str, place: &PlaceArgs, out: &mut Output) -> Result<u8, CliError> {
    let definition = named(name, place, out)?;
    if let Reach::Program { .. } = definition.reach {
        let message = format!("`{name}` is a program; only servers at an address want logins");
        return Err(CliError::usage(message));
    }
    let failed = |failure: Failure| {
        let message = format!("nobody was logged in to `{name}`: {failure}");
        CliError::new(Exit::Environment, failure.code(), message)
    };
    let home = place::home()?;
    let runtime = servers::runtime()?;
    let login = runtime.block_on(Login::begin(&home, &definition)).map_err(failed)?;
    out.say("open this page and log in; this command waits for it:");
    if out.is_json() {
        out.say(login.page());
    } else {
        out.line(login.page())?;
    }
    runtime.block_on(login.finish()).map_err(failed)?;
    if out.is_json() {
        out.json(&json!({"server": name, "logged_in": true}))?;
    } else {
        out.say(format!("logged in to `{name}`"));
    }
    Ok(0)
}

/// What is to be approved.
struct Asked<'a> {
    server: &'a str,
    tool: Option<&'a str>,
    /// What was shown, where it was.
    digest: Option<&'a str>,
}

/// Shows what waits at a server, under a digest; approves it where that digest is given back. What a
/// person approves is what they have seen, whatever the server says meanwhile.
fn approved(asked: &Asked<'_>, place: &PlaceArgs, out: &mut Output) -> Result<u8, CliError> {
    let name = asked.server;
    let definition = named(name, place, out)?;
    let home = place::home()?;
    let broken = |why: String| CliError::new(Exit::Environment, "UNREADABLE", why);
    let mut found = changes(&home, &definition).map_err(broken)?;
    if let Some(tool) = asked.tool {
        // As the model names it, too.
        let tool = tool.strip_prefix(&format!("{name}/")).unwrap_or(tool);
        found.retain(|change| change.tool == tool);
    }
    let runtime = servers::runtime()?;
    let root = definition.from.parent().unwrap_or(Path::new("."));
    let handle = runtime.handle().clone();
    let pool = servers::pool_of(vec![definition.clone()], root, handle, false)?;
    let skills = match asked.tool {
        Some(_) => Vec::new(),
        None => pool.unapproved_skills(name),
    };
    let digests: Vec<Digest> = skills.iter().map(ServedSkill::digest).collect();
    let digest = Digest::of(canonical_json(&json!([name, found, digests])).as_bytes());
    let is_nothing = found.is_empty() && skills.is_empty();
    let mut number = (0, 0);
    if let Some(given) = asked.digest {
        if !is_nothing && !digest.is_abbreviated(given) {
            let message = format!("what waits at `{name}` is not what was shown as {given}");
            return Err(CliError::new(Exit::Denied, "CHANGED", message)
                .help(format!("look at it as it is now: concertina upstream approve {name}")));
        }
        number.0 = match approve(&home, &definition, &found) {
            Approval::Approved(number) => number,
            Approval::NotKept(why) => {
                return Err(CliError::new(Exit::Environment, "NOT_SAVED", why));
            }
            Approval::Nothing => 0,
        };
        for skill in &skills {
            match runtime.block_on(pool.approve_skill(skill)) {
                Ok(()) => number.1 += 1,
                // One that cannot be had costs no other.
                Err(failure) => out.say(format!(
                    "warning: skill `{}` was not approved: {failure} [{}]",
                    skill.name(),
                    failure.code()
                )),
            }
        }
    }
    let shows = asked.digest.is_none() && !is_nothing;
    if out.is_json() {
        let skills: Vec<Value> = skills.iter().map(skill_json).collect();
        out.json(&json!({
            "server": name, "digest": digest, "changes": found, "skills": skills,
            "approved": number.0, "approved_skills": number.1,
        }))?;
    } else if shows {
        for change in &found {
            out.line(format!("{name}/{}", change.tool))?;
            for line in difference(change) {
                out.line(line)?;
            }
        }
        for skill in &skills {
            show_skill(skill, &runtime.block_on(text_of(&pool, skill)), out)?;
        }
        out.say(format!(
            "{} and {} wait, and stay hidden; to approve exactly this: concertina upstream approve {name}{} --digest {}",
            count(found.len(), "changed tool"),
            count(skills.len(), "skill"),
            asked.tool.map(|tool| format!(" {tool}")).unwrap_or_default(),
            digest.short()
        ));
    } else if is_nothing {
        out.say(format!(
            "nothing waits at `{name}`: no tool changed after it was approved, and no skill is new"
        ));
    } else {
        out.say(format!(
            "{} and {} approved as shown; another version waits for approval again",
            count(number.0, "tool"),
            count(number.1, "skill")
        ));
    }
    runtime.block_on(pool.close());
    Ok(if shows { Exit::Denied as u8 } else { 0 })
}

/// The instructions of a skill, or why they cannot be read.
async fn text_of(pool: &Pool, skill: &ServedSkill) -> String {
    let Some(file) = skill.files.iter().find(|file| file.uri == skill.uri) else {
        return "it has no instructions".to_owned();
    };
    match pool.skill_file(&skill.server, file).await {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(failure) => format!("its instructions cannot be read: {failure}"),
    }
}

fn show_skill(skill: &ServedSkill, text: &str, out: &mut Output) -> Result<(), CliError> {
    out.line(format!("skill {}: {}", skill.name(), skill.description()))?;
    for file in &skill.files {
        out.line(format!("    {} ({} bytes, {})", file.uri, file.size, file.digest))?;
    }
    for line in text.lines() {
        out.line(format!("    | {line}"))?;
    }
    Ok(())
}

fn skill_json(skill: &ServedSkill) -> Value {
    let file =
        |file: &ServedFile| json!({"uri": file.uri, "size": file.size, "digest": file.digest});
    json!({
        "name": skill.name(),
        "description": skill.description(),
        "digest": skill.digest(),
        "files": skill.files.iter().map(file).collect::<Vec<_>>(),
    })
}

/// The lines that differ, with one line of what stands around them.
fn difference(change: &Change) -> Vec<String> {
    let lines = |value: &Value| -> Vec<String> {
        let text = serde_json::to_string_pretty(value).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    };
    let (was, is) = (lines(&change.was), lines(&change.is));
    let same = |pair: &(&String, &String)| pair.0 == pair.1;
    let head = was.iter().zip(&is).take_while(same).count();
    let shortest = was.len().min(is.len()) - head;
    let tail = was.iter().rev().zip(is.iter().rev()).take(shortest).take_while(same).count();
    let middle = |lines: &[String], sign: char| -> Vec<String> {
        let kept = lines.iter().take(lines.len() - tail).skip(head);
        kept.map(|line| format!("  {sign} {line}")).collect()
    };
    let around = head.checked_sub(1).and_then(|before| was.get(before));
    let mut shown: Vec<String> = around.map(|line| format!("    {line}")).into_iter().collect();
    shown.extend(middle(&was, '-'));
    shown.extend(middle(&is, '+'));
    shown
}
