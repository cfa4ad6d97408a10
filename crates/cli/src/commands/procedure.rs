//! `concertina sop start|status|leave|submit`: following a procedure.

use concertina_core::procedure::TaskCard;
use concertina_core::session::Origin;
use concertina_format::procedure::Procedure;
use concertina_runtime::procedures::{Held, Surroundings, assurance, lacking};
use concertina_runtime::{Session, Started, Workspace};
use concertina_types::{Digest, Envelope, SessionMode};
use serde_json::{Value, json};

use crate::args::{SopArgs, SopStartArgs, SopSubmitArgs};
use crate::error::{CliError, Exit};
use crate::output::{Output, count, fitting_table};
use crate::place;

/// Begins to follow a procedure, in the session that was named or in a new one.
pub(crate) fn start(args: &SopStartArgs, out: &mut Output) -> Result<u8, CliError> {
    let (mut workspace, mut session) = match place::session_id(&args.of.session)? {
        Some(id) => place::kept(id, &args.of.place, out)?,
        None => begun(args, out)?,
    };
    workspace.refresh();
    session.take_note(&mut workspace)?;
    let file = workspace.procedures().find(&args.procedure, workspace.root())?;
    let texts = workspace.procedures().texts_from(file.clone())?;
    let client = Some(args.client.as_deref().unwrap_or("another client"));
    let client = client.filter(|client| *client != "run");
    let around = Surroundings::of(&workspace, &file, client, &place::variable);
    let procedure = file.machine.document();
    let held = assurance(procedure, workspace.snapshot(), &around);
    if let Some(first) = lacking(procedure, &held).first() {
        let require = procedure.require.map(|level| level.to_string()).unwrap_or_default();
        let message = format!(
            "procedure {} requires that its tools are {require}, and {} is {} here: {}",
            procedure.name, first.tool, first.level, first.why
        );
        return Err(CliError::new(Exit::Denied, "ASSURANCE_TOO_LOW", message).help(
            "use a client that cannot run programs itself, or lower `require` in the procedure",
        ));
    }
    // A session that the settings start with it follows it already.
    let asked = texts.first().map(|text| Digest::of(text.as_bytes()));
    let run = session.state().run.as_ref().filter(|run| !run.ended);
    if run.is_none_or(|run| run.procedure != asked)
        && let Some(refusal) = session.follow(Origin::user(), texts)?.refusal
    {
        return Err(CliError::new(Exit::Findings, &refusal.code, refusal.message));
    }
    if out.is_json() {
        out.json(&standing(&session, &held))?;
        return Ok(0);
    }
    show(&session, out)?;
    say_unbound(procedure, out);
    if !held.is_empty() {
        out.line("")?;
        let rows =
            held.iter().map(|one| vec![one.tool.clone(), one.level.to_string(), one.why.clone()]);
        out.raw(&fitting_table(rows.collect(), &[]))?;
    }
    if place::session_id(&args.of.session)?.is_none() {
        out.say(format!(
            "go on in it: export CONCERTINA_SESSION={id}, or let a client do so: concertina mcp --session {id}",
            id = session.id()
        ));
    }
    Ok(0)
}

fn begun(args: &SopStartArgs, out: &mut Output) -> Result<(Workspace, Session), CliError> {
    let mut workspace = place::workspace(&args.of.place, out)?;
    crate::servers::attach(&mut workspace, out)?;
    // Whoever drives it composes its own context, unless it is Concertina.
    let mode = match args.client.as_deref() {
        Some("run") => SessionMode::Owned,
        _ => SessionMode::Blind,
    };
    let principal = args.of.place.principal.clone();
    let started = Started { principal, mode, ..Started::default() };
    let session = Session::create(&mut workspace, place::store()?, started)?;
    Ok((workspace, session))
}

/// Says which checkpoints nothing takes back.
pub(super) fn say_unbound(procedure: &Procedure, out: &mut Output) {
    for checkpoint in procedure.unbound() {
        out.say(format!(
            "note: {} stays proven, whatever changes afterwards; where it is about the work, write `binds: workspace`, else `max_age`",
            checkpoint.name
        ));
    }
}

/// Says where the procedure stands that a session follows.
pub(crate) fn status(args: &SopArgs, out: &mut Output) -> Result<u8, CliError> {
    let (_, session) = place::session(&args.place, &args.session, out)?;
    if out.is_json() {
        out.json(&standing(&session, &[]))?;
        return Ok(0);
    }
    show(&session, out)?;
    Ok(0)
}

/// Where the procedure stands, as JSON.
fn standing(session: &Session, held: &[Held]) -> Value {
    let history = session.state().run.iter().flat_map(|run| &run.history);
    let history: Vec<Value> = history
        .map(|one| json!({"from": one.from, "to": one.to, "why": one.why, "event": one.event}))
        .collect();
    json!({
        "session": session.id(),
        "card": session.task_card(),
        "assurance": held,
        "history": history,
        "receipts": session.state().run.as_ref().map_or(0, |run| run.receipts),
        "inputs_digest": session.state().run.as_ref().and_then(|run| run.inputs),
    })
}

fn show(session: &Session, out: &mut Output) -> Result<(), CliError> {
    let Some(card) = session.task_card() else {
        out.say(
            "this session follows no procedure; begin one: concertina sop start FILE --session ID",
        );
        return Ok(());
    };
    for line in lines(&card) {
        out.line(line)?;
    }
    if let Some(why) = session.blindness() {
        out.say(format!(
            "the workspace cannot be looked at, so nothing that is bound to it holds: {why}"
        ));
    }
    if let Some(run) = &session.state().run {
        let receipts = usize::try_from(run.receipts).unwrap_or(usize::MAX);
        out.say(format!(
            "session {}, run {}, {}",
            session.id(),
            run.id,
            count(receipts, "receipt")
        ));
    }
    Ok(())
}

/// Names in a list of what a person reads.
const NAMES: usize = 40;

fn lines(card: &TaskCard) -> Vec<String> {
    card.lines(NAMES)
}

/// Leaves the procedure, where a person says so.
pub(crate) fn leave(args: &SopArgs, out: &mut Output) -> Result<u8, CliError> {
    let (_, mut session) = place::session(&args.place, &args.session, out)?;
    if let Some(refusal) = session.leave(Origin::user())?.refusal {
        return Err(CliError::new(Exit::NotFound, &refusal.code, refusal.message));
    }
    if out.is_json() {
        out.json(&standing(&session, &[]))?;
    }
    out.say("the procedure was left; where the settings list it, the tools that it stands before stay hidden");
    Ok(0)
}

/// Takes a statement that somebody signed.
pub(crate) fn submit(args: &SopSubmitArgs, out: &mut Output) -> Result<u8, CliError> {
    let text = std::fs::read_to_string(&args.file)
        .map_err(|error| CliError::unreadable(&args.file, &error))?;
    let envelope = Envelope::parse(&text).map_err(|error| {
        CliError::new(Exit::Findings, "STATEMENT_UNREADABLE", error.to_string())
    })?;
    let (_, mut session) = place::session(&args.of.place, &args.of.session, out)?;
    if let Some(refusal) = session.hear(&envelope)?.refusal {
        return Err(CliError::new(Exit::Denied, &refusal.code, refusal.message));
    }
    show(&session, out)?;
    Ok(0)
}
