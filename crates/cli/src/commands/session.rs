//! `concertina session …`.

use concertina_core::session::{Part, TurnReport, View, report};
use concertina_runtime::{Session, Started};
use concertina_tokens::O200k;
use concertina_types::{Blob, Event, Fact, SessionMode, SkillId, Tokens};
use serde_json::{Value, json};

use super::open::part;
use super::run::{Thinker, go_on};
use super::transcript::turn_table;
use crate::args::{ModeArg, PlaceArgs, SessionCommand};
use crate::error::{CliError, Exit};
use crate::output::{Output, count, table};
use crate::{place, servers};

pub(crate) fn run(command: SessionCommand, out: &mut Output) -> Result<u8, CliError> {
    match command {
        SessionCommand::New { place, mode, window } => new(&place, mode, window, out),
        SessionCommand::List => list(out),
        SessionCommand::Show { id, turn } => show(&id, turn, out),
        SessionCommand::Render { id, place, layer, at, window } => {
            render(id.as_deref(), &place, layer.as_deref(), at, window, out)
        }
        SessionCommand::Turn { id, text, place } => turn(&id, text, &place, out),
        SessionCommand::Context { id } => context(&id, out),
        SessionCommand::Compact { id } => compact(&id, out),
        SessionCommand::Resume { id, model, base_url } => {
            resume(&id, &Thinker { model, base_url }, out)
        }
        SessionCommand::Hooks { id } => hooks(&id, out),
    }
}

fn read(id: &str) -> Result<Session, CliError> {
    Ok(Session::resume(place::store()?, place::parse_id(id)?)?)
}

fn new(
    place: &PlaceArgs,
    mode: ModeArg,
    window: Option<u64>,
    out: &mut Output,
) -> Result<u8, CliError> {
    let mut workspace = place::workspace(place, out)?;
    servers::attach(&mut workspace, out)?;
    if let Some(window) = window {
        workspace.settings_mut().window = window;
    }
    let mode = match mode {
        ModeArg::Owned => SessionMode::Owned,
        ModeArg::Blind => SessionMode::Blind,
    };
    let started = Started { principal: place.principal.clone(), mode, ..Started::default() };
    let session = Session::create(&mut workspace, place::store()?, started)?;
    let snapshot = session.snapshot();
    if out.is_json() {
        out.json(&json!({
            "session": session.id(), "skills": snapshot.skills.len(), "tools": snapshot.tools.len(),
        }))?;
    } else {
        out.line(session.id().as_str())?;
        let (skills, tools) =
            (count(snapshot.skills.len(), "skill"), count(snapshot.tools.len(), "tool"));
        out.say(format!(
            "{skills}, {tools}; use the session with --session ID or CONCERTINA_SESSION=ID"
        ));
    }
    Ok(0)
}

fn list(out: &mut Output) -> Result<u8, CliError> {
    let sessions = place::store()?.events.sessions()?;
    if out.is_json() {
        let shown: Vec<Value> = sessions
            .iter()
            .map(|one| {
                json!({
                    "session": one.session, "events": one.events,
                    "started": one.started.to_string(), "last": one.last.to_string(),
                })
            })
            .collect();
        out.json(&json!({"sessions": shown}))?;
        return Ok(0);
    }
    let rows: Vec<Vec<String>> = sessions
        .iter()
        .map(|one| {
            vec![one.session.to_string(), one.last.to_string(), format!("{} events", one.events)]
        })
        .collect();
    if rows.is_empty() {
        out.say("no session yet; `concertina run DIR` or `concertina session new` begins one");
    }
    out.raw(&table(&rows, &[]))?;
    Ok(0)
}

fn show(id: &str, turn: Option<u32>, out: &mut Output) -> Result<u8, CliError> {
    let session = read(id)?;
    let events = session.events()?;
    let mut turns = report(&events);
    if let Some(turn) = turn {
        turns.retain(|one| one.turn == turn);
        if turns.is_empty() {
            let message = format!("session {} has no turn {turn}", session.id());
            return Err(CliError::new(Exit::NotFound, "NO_SUCH_TURN", message)
                .help(format!("`concertina session show {id}` shows the ones there are")));
        }
    }
    let state = session.state();
    let text = |blob: &Option<Blob>| blob.as_ref().map(|blob| session.text(blob)).transpose();
    let answer = text(&state.answer)?;
    if out.is_json() {
        out.json(&json!({
            "session": session.id(),
            "principal": state.principal,
            "parent": state.parent,
            "step": state.step,
            "events": state.seq,
            "open": state.open.iter().map(|open| json!({
                "ref": format!("skill:{}", open.opened.id),
                "version": open.opened.version,
                "digest": open.opened.digest,
                "tokens": open.opened.tokens,
            })).collect::<Vec<_>>(),
            "activated": activated(&events).map(|(id, path, pattern)| json!({
                "ref": format!("skill:{id}"), "path": path, "pattern": pattern,
            })).collect::<Vec<_>>(),
            "steps": steps(&turns),
            "turns": turns,
            "answer": answer,
        }))?;
        return Ok(0);
    }
    out.line(format!(
        "session {} for {}, step {}, {} events",
        session.id(),
        state.principal,
        state.step,
        state.seq
    ))?;
    for open in &state.open {
        out.line(format!(
            "open    skill:{} ({} tokens, {})",
            open.opened.id,
            open.opened.tokens,
            open.opened.digest.short()
        ))?;
    }
    for (id, path, pattern) in activated(&events) {
        out.line(format!("active  skill:{id} since {path} was touched ({pattern})"))?;
    }
    out.raw(&turn_table(&turns))?;
    for called in turns.iter().flat_map(|turn| &turn.calls) {
        let how = match (called.exit, &called.code) {
            (Some(exit @ 1..), _) => format!(", exit {exit}"),
            (None, Some(code)) => format!(", {code}"),
            _ => String::new(),
        };
        out.line(format!("call    ev:{} {}: {}{how}", called.call, called.tool, called.outcome))?;
    }
    for refused in turns.iter().flat_map(|turn| &turn.decisions) {
        out.line(format!("refused {}: {}: {}", refused.code, refused.request, refused.reason))?;
    }
    if let Some(answer) = answer {
        out.line("answer")?;
        out.lines(&answer)?;
    }
    Ok(0)
}

/// Skills that a touched file made active: which, the file, and the pattern that it matches.
fn activated(events: &[Event]) -> impl Iterator<Item = (&SkillId, &str, &str)> {
    events.iter().filter_map(|event| match &event.fact {
        Fact::SkillActivated { id, path, pattern } => Some((id, path.as_str(), pattern.as_str())),
        _ => None,
    })
}

/// The turns of each step together.
fn steps(turns: &[TurnReport]) -> Vec<Value> {
    let mut numbers: Vec<u32> = turns.iter().map(|turn| turn.step).collect();
    numbers.dedup();
    numbers
        .into_iter()
        .map(|step| {
            let of_step = turns.iter().filter(|turn| turn.step == step);
            let total: Tokens = of_step.clone().filter_map(|turn| turn.tokens.get("total")).copied().sum();
            json!({"step": step, "turns": of_step.map(|turn| turn.turn).collect::<Vec<_>>(), "tokens": {"total": total}})
        })
        .collect()
}

fn render(
    id: Option<&str>,
    place: &PlaceArgs,
    layer: Option<&str>,
    at: Option<u64>,
    window: Option<u64>,
    out: &mut Output,
) -> Result<u8, CliError> {
    let session = match (id, at) {
        (Some(id), Some(at)) => Session::at(place::store()?, place::parse_id(id)?, at)?,
        (Some(id), None) => read(id)?,
        (None, Some(_)) => {
            return Err(CliError::usage("--at looks back in a session; name the session"));
        }
        (None, None) => {
            let (mut workspace, mut session) = place::passing(place, window, out)?;
            session.turn(&mut workspace)?;
            session
        }
    };
    let view = session.view();
    let text = layer_text(&view, layer)?;
    let tokens = match layer {
        None | Some("all") => view.tokens(&O200k).into_values().sum(),
        Some(_) => concertina_tokens::count(&text),
    };
    if out.is_json() {
        let parts: serde_json::Map<String, Value> = view
            .tokens(&O200k)
            .into_iter()
            .map(|(part, tokens)| (part.name().to_owned(), json!(tokens)))
            .collect();
        out.json(&json!({
            "text": text,
            "tokens": tokens,
            "chars": text.chars().count(),
            "digest": concertina_types::Digest::of(text.as_bytes()),
            "parts": parts,
            "card": session.task_card(),
        }))?;
    } else {
        out.lines(&text)?;
        out.say(format!("{tokens} tokens"));
    }
    Ok(0)
}

fn layer_text(view: &View, layer: Option<&str>) -> Result<String, CliError> {
    Ok(match layer {
        None | Some("all") => view.render(),
        Some("body") => {
            let parts = [Part::Conversation, Part::Skills, Part::Evidence];
            let texts = parts.map(|part| view.part(part));
            texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
        }
        Some(word) => view.part(part(word)?),
    })
}

fn turn(
    id: &str,
    text: Option<String>,
    place: &PlaceArgs,
    out: &mut Output,
) -> Result<u8, CliError> {
    let (mut workspace, mut session) = place::kept(place::parse_id(id)?, place, out)?;
    let before = session.state().seq;
    if let Some(text) = text {
        session.task(text)?;
    }
    session.turn(&mut workspace)?;
    // What is new to the model is what the events of this turn disclosed.
    let mut shown = Vec::new();
    let mut tokens = Tokens::ZERO;
    for event in session.events()?.iter().filter(|event| event.seq > before) {
        if let Fact::ListingDisclosed { text, tokens: taken, .. } = &event.fact {
            shown.push(session.text(text)?);
            tokens += *taken;
        }
    }
    let text = shown.join("\n");
    if out.is_json() {
        out.json(
            &json!({"session": session.id(), "turn": session.state().turn, "text": text, "tokens": tokens}),
        )?;
    } else {
        if !text.is_empty() {
            out.lines(&text)?;
        }
        out.say(format!("turn {}: {tokens} tokens are new", session.state().turn));
    }
    Ok(0)
}

fn context(id: &str, out: &mut Output) -> Result<u8, CliError> {
    let session = read(id)?;
    let parts = session.view().tokens(&O200k);
    let total: Tokens = parts.values().copied().sum();
    let limit = session.settings().window;
    if out.is_json() {
        let mut tokens: serde_json::Map<String, Value> =
            parts.iter().map(|(part, tokens)| (part.name().to_owned(), json!(tokens))).collect();
        tokens.insert("total".to_owned(), json!(total));
        out.json(&json!({"session": session.id(), "epoch": session.state().epoch, "window": limit, "tokens": tokens}))?;
        return Ok(0);
    }
    let mut rows: Vec<Vec<String>> = parts
        .iter()
        .map(|(part, tokens)| vec![part.name().to_owned(), tokens.to_string()])
        .collect();
    let window = format!("of {} tokens", Tokens(limit));
    rows.push(vec!["total".to_owned(), total.to_string(), window]);
    out.raw(&table(&rows, &[1]))?;
    Ok(0)
}

fn compact(id: &str, out: &mut Output) -> Result<u8, CliError> {
    let mut session = read(id)?;
    let before: Tokens = session.view().tokens(&O200k).into_values().sum();
    let was_open: Vec<_> = session.state().open.iter().map(|open| open.opened.id.clone()).collect();
    if let Some(refusal) = session.compact()?.refusal {
        return Err(refusal.into());
    }
    let after: Tokens = session.view().tokens(&O200k).into_values().sum();
    let kept: Vec<_> = session.state().open.iter().map(|open| open.opened.id.clone()).collect();
    let dropped: Vec<_> = was_open.iter().filter(|id| !kept.contains(id)).collect();
    if out.is_json() {
        out.json(&json!({
            "session": session.id(), "epoch": session.state().epoch,
            "kept": kept.iter().map(|id| format!("skill:{id}")).collect::<Vec<_>>(),
            "dropped": dropped.iter().map(|id| format!("skill:{id}")).collect::<Vec<_>>(),
            "tokens": {"before": before, "after": after},
        }))?;
    } else {
        out.line(format!(
            "folded: {before} tokens before, {after} after; {} kept open",
            count(kept.len(), "skill")
        ))?;
        for id in dropped {
            out.line(format!(
                "skill:{id} did not fit and was closed; open it again when it is needed"
            ))?;
        }
    }
    Ok(0)
}

fn resume(id: &str, thinker: &Thinker, out: &mut Output) -> Result<u8, CliError> {
    let mut session = read(id)?;
    session.recover()?;
    let waits = session.state().answer.is_none() && session.state().step > 0;
    if thinker.model.is_some() && waits {
        let mut workspace = place::reopen(&session.settings().site.clone(), out)?;
        session.take_up(&mut workspace)?;
        return go_on(workspace, session, thinker, out);
    }
    let state = session.state();
    if out.is_json() {
        out.json(&json!({
            "session": session.id(), "step": state.step, "turn": state.turn, "events": state.seq,
            "answered": state.answer.is_some(),
            "open": state.open.iter().map(|open| format!("skill:{}", open.opened.id)).collect::<Vec<_>>(),
        }))?;
    } else {
        let open: Vec<String> =
            state.open.iter().map(|open| format!("skill:{}", open.opened.id)).collect();
        let open = if open.is_empty() { "nothing".to_owned() } else { open.join(", ") };
        out.line(format!(
            "session {}: step {}, turn {}, {open} open",
            session.id(),
            state.step,
            state.turn
        ))?;
        if waits {
            out.say("its last task is not answered; go on with --model scripted:FILE, openai:NAME or anthropic:NAME");
        }
    }
    Ok(0)
}

fn hooks(id: &str, out: &mut Output) -> Result<u8, CliError> {
    let session = read(id)?;
    let hooks: Vec<(String, String)> = session
        .state()
        .open
        .iter()
        .flat_map(|open| {
            let skill = format!("skill:{}", open.opened.id);
            open.opened.hooks.iter().map(move |hook| (hook.clone(), skill.clone()))
        })
        .collect();
    if out.is_json() {
        let shown: Vec<Value> =
            hooks.iter().map(|(event, skill)| json!({"event": event, "from": skill})).collect();
        out.json(&json!({"hooks": shown}))?;
    } else {
        for (event, skill) in &hooks {
            out.line(format!("{event}  from {skill}"))?;
        }
        if hooks.is_empty() {
            out.say("no open skill brought a hook");
        }
    }
    Ok(0)
}
