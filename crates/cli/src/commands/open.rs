//! `concertina open`, `call` and `close`.

use concertina_core::session::{Origin, Part, Refusal, visibility};
use concertina_format::expand::Profile;
use concertina_runtime::{
    Cancel, CommandPolicy, NeedsApproval, OpenOptions, Reply, Session, Workspace,
};
use concertina_types::{OpenMode, Ref, Subject, ToolName};
use serde_json::{Value, json};

use crate::args::{CallArgs, CloseArgs, Commands, OpenArgs, ProfileArg};
use crate::error::{CliError, advice};
use crate::output::{Output, finding};
use crate::place;
use crate::prompt;

pub(crate) fn open(args: &OpenArgs, out: &mut Output) -> Result<u8, CliError> {
    let (arguments, raw_arguments) = arguments(args)?;
    let options = OpenOptions {
        part: args.part.clone(),
        arguments,
        raw_arguments,
        profile: match args.profile {
            ProfileArg::Safe => Profile::Safe,
            ProfileArg::Claude => Profile::Claude,
        },
        commands: match args.commands {
            Commands::Declared => CommandPolicy::Declared,
            Commands::Abort => CommandPolicy::Abort,
            Commands::Mark => CommandPolicy::Mark,
            Commands::Skip => CommandPolicy::Skip,
        },
        can_fork: false,
        cancel: stop_on_signal()?,
        held: None,
    };
    let (mut workspace, mut session) = place::session(&args.place, &args.session, out)?;
    let origin = place::origin(args.reader);
    if args.dry_run {
        return rehearse(args, &workspace, &session, &origin, &options, out);
    }
    session.ask_by(prompt::approver(args.yes));
    let mut reply = session.open(&mut workspace, origin, &args.reference, &options)?;
    if let Some(refusal) = reply.refusal.take() {
        return Err(CliError::from(refusal).asking(reply.ask.as_deref()));
    }
    match reply.opened.take() {
        Some(skill) => {
            let mode = if skill.mode == OpenMode::Inline { "inline" } else { "delegate" };
            skill_out(args, &skill, mode, &reply.needs_approval, &session, out)
        }
        None => answer_out(&args.reference, &reply, out),
    }
}

/// Shows what opening would give and records nothing.
fn rehearse(
    args: &OpenArgs,
    workspace: &Workspace,
    session: &Session,
    origin: &Origin,
    options: &OpenOptions,
    out: &mut Output,
) -> Result<u8, CliError> {
    let reference: Ref = args
        .reference
        .parse()
        .map_err(|error: concertina_types::RefError| CliError::usage(error.to_string()))?;
    let Ref::Skill { id, part: None, lines: None } = &reference else {
        return Err(CliError::usage("--dry-run shows how a skill would open, such as skill:NAME"));
    };
    let seen = visibility(session.state(), &session.world(), &reference, origin.subject);
    if let Some(reason) = seen.reasons.first().filter(|_| !seen.visible) {
        let refusal = Refusal::new(reason.code.clone(), reason.text.clone());
        return Err(refusal.into());
    }
    let loaded = workspace.load(id).transpose().map_err(concertina_runtime::RuntimeError::from)?;
    let Some(loaded) = loaded else {
        let refusal = Refusal::new("NOT_FOUND", format!("there is no {reference}"));
        return Err(refusal.into());
    };
    let distrusted = workspace.distrusted(&loaded, None);
    if let Some(why) = distrusted.filter(|why| why.stops(origin.subject)) {
        return Err(Refusal::new(why.code, why.reason).into());
    }
    let skill = session.prepared(workspace, &loaded, options)?;
    let mode = if skill.mode == OpenMode::Inline { "inline" } else { "delegate" };
    skill_out(args, &skill, mode, &[], session, out)
}

fn skill_out(
    args: &OpenArgs,
    skill: &concertina_core::session::PreparedSkill,
    mode: &str,
    needs_approval: &[NeedsApproval],
    session: &Session,
    out: &mut Output,
) -> Result<u8, CliError> {
    let tokens = concertina_tokens::count(&skill.text);
    if out.is_json() {
        out.json(&json!({
            "ref": Ref::skill(skill.id.clone()),
            "mode": mode,
            "text": skill.text,
            "prompt": (mode == "delegate").then_some(&skill.text),
            "tokens": tokens,
            "digest": skill.digest,
            "version": skill.version,
            "substitutions": skill.substitutions,
            "tools": skill.tools,
            "allowed_tools": skill.allowed_tools,
            "disallowed_tools": skill.disallowed_tools,
            "permissions": skill.permissions,
            "knowledge": skill.knowledge,
            "model": skill.model,
            "effort": skill.effort,
            "hooks": skill.hooks,
            "session": session.id(),
            "commands": skill.commands,
            "needs_approval": needs_approval,
            "diagnostics": skill.diagnostics,
        }))?;
        return Ok(0);
    }
    if args.trace {
        for one in &skill.substitutions {
            out.say(format!("{}:{} {} -> {}", one.line, one.column, one.token, one.value));
        }
    }
    for found in &skill.diagnostics {
        out.say_styled(&finding(&args.reference, found));
    }
    out.say(format!("skill:{} ({mode}, {tokens} tokens, {})", skill.id, skill.digest.short()));
    out.lines(skill.text.trim_end())?;
    Ok(0)
}

fn answer_out(reference: &str, reply: &Reply, out: &mut Output) -> Result<u8, CliError> {
    let Some(answer) = &reply.answer else { return Ok(0) };
    if out.is_json() {
        out.json(&json!({
            "ref": reference,
            "text": answer.text,
            "tokens": answer.tokens,
            "error": answer.error,
            "disclosed": answer.disclosed,
        }))?;
    } else {
        out.lines(&answer.text)?;
    }
    Ok(u8::from(answer.error))
}

/// The arguments as JSON, or as typed. `--args` takes either: an object, or the words themselves.
fn arguments(args: &OpenArgs) -> Result<(Value, Option<String>), CliError> {
    let Some(text) = &args.args else { return Ok((Value::Null, args.raw_args.clone())) };
    if !text.trim_start().starts_with('{') {
        return Ok((Value::Null, Some(text.clone())));
    }
    match serde_json::from_str(text) {
        Ok(value) => Ok((value, None)),
        Err(error) => Err(CliError::usage(format!("--args is not JSON: {error}"))
            .help("write an object, such as --args '{\"period\": \"last_month\"}'")),
    }
}

pub(crate) fn call(args: &CallArgs, out: &mut Output) -> Result<u8, CliError> {
    let arguments = match &args.arguments {
        None => Value::Null,
        Some(text) => serde_json::from_str(text).map_err(|error| {
            CliError::usage(format!("the arguments are not JSON: {error}"))
                .help("write an object, such as '{\"query\": \"SELECT 1\"}'")
        })?,
    };
    let (workspace, mut session) = place::recorded(&args.place, &args.session, out)?;
    let seen = ToolName::new(args.tool.as_str()).map_or(Vec::new(), |name| {
        visibility(session.state(), &session.world(), &Ref::Tool(name), Subject::Model).reasons
    });
    let cancel = stop_on_signal()?;
    session.ask_by(prompt::approver(args.yes));
    let reply =
        session.call(&workspace, place::origin(args.reader), &args.tool, arguments, &cancel)?;
    if let Some(refusal) = reply.refusal {
        let mut error = CliError::from(refusal).asking(reply.ask.as_deref());
        let is_fold = |code: &str| matches!(code, "SKILL_NOT_OPEN" | "MENU_CLOSED");
        let opens = seen.iter().any(|reason| is_fold(&reason.code));
        // What a session cannot help comes first.
        let other = seen.iter().find(|reason| !is_fold(&reason.code));
        if reply.ask.is_some() && place::session_id(&args.session)?.is_none() {
            error = error.help(format!(
                "once a person agreed, call it again with --session {}",
                session.id()
            ));
        } else if let Some(advice) = other.and_then(|reason| advice(&reason.code)) {
            error = error.help(advice);
        } else if opens && place::session_id(&args.session)?.is_none() {
            error = error.help(
                "what is open belongs to a session: `concertina session new`, then --session ID",
            );
        }
        return Err(error);
    }
    answer_out(&args.tool, &reply, out)
}

pub(crate) fn close(args: &CloseArgs, out: &mut Output) -> Result<u8, CliError> {
    let Some(id) = place::session_id(&args.session)? else {
        return Err(CliError::usage("only a session has something to close")
            .help("name it with --session ID, or set CONCERTINA_SESSION"));
    };
    let (_, mut session) = place::kept(id, &args.place, out)?;
    let mut reply = session.close(place::origin(args.reader), &args.reference)?;
    if let Some(refusal) = reply.refusal.take() {
        return Err(refusal.into());
    }
    answer_out(&args.reference, &reply, out)
}

/// A flag that Ctrl-C and a request to terminate set; the second time they end the program.
pub(crate) fn stop_on_signal() -> Result<Cancel, CliError> {
    let cancel = Cancel::default();
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, cancel.flag())
            .and_then(|_| signal_hook::flag::register(signal, cancel.flag()))?;
    }
    Ok(cancel)
}

/// The part of the view that a word names.
pub(crate) fn part(word: &str) -> Result<Part, CliError> {
    Part::ALL.into_iter().find(|part| part.name() == word).ok_or_else(|| {
        let known: Vec<&str> = Part::ALL.iter().map(|part| part.name()).collect();
        CliError::usage(format!(
            "there is no part `{word}`; choose one of {}, body, all",
            known.join(", ")
        ))
    })
}
