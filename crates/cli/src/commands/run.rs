//! `concertina run [DIR] [TASK]`.

use std::path::Path;

use concertina_core::session::report;
use concertina_runtime::agent::{Agent, Observer, Silent};
use concertina_runtime::llm::{Model, ModelSpec};
use concertina_runtime::{Cancel, RuntimeError, Session, Started, Workspace};
use concertina_types::{Fact, Tokens};
use serde_json::{Value, json};

use super::open::stop_on_signal;
use super::transcript::{Rows, Transcript, turn_table};
use crate::args::RunArgs;
use crate::error::{CliError, Exit};
use crate::output::Output;
use crate::place;

/// Which model thinks.
pub(crate) struct Thinker {
    pub(crate) model: Option<String>,
    pub(crate) base_url: Option<String>,
}

impl Thinker {
    /// The model that was asked for, else the one that the directory names.
    fn connect(&self, workspace: &Workspace) -> Result<Box<dyn Model>, CliError> {
        let config = &workspace.loaded().config;
        let named = config.run.model.clone().or_else(|| config.model.name.clone());
        let (text, base) = match &self.model {
            // What a person types is relative to where they are; what a file says, to the file.
            Some(text) => (text.clone(), None),
            None => (
                named.ok_or_else(|| {
                    CliError::usage("no model is named")
                        .help("give --model scripted:FILE, openai:NAME or anthropic:NAME")
                })?,
                Some(workspace.root()),
            ),
        };
        let text = match (text.strip_prefix("scripted:"), base) {
            (Some(file), Some(base)) => format!("scripted:{}", base.join(file).display()),
            _ => text,
        };
        let mut spec: ModelSpec = text.parse().map_err(RuntimeError::from)?;
        let url = self.base_url.clone().or_else(|| config.model.base_url.clone());
        if let Some(url) = url {
            spec = spec.at(url);
        }
        Ok(spec.connect(&place::variable).map_err(RuntimeError::from)?)
    }
}

pub(crate) fn run(args: &RunArgs, out: &mut Output) -> Result<u8, CliError> {
    if !args.dir.is_dir() {
        let message = format!("{} is not a directory", args.dir.display());
        let help = "name a directory that holds skills and a concertina.toml; a task goes after it";
        return Err(CliError::new(Exit::NotFound, "NOT_FOUND", message).help(help));
    }
    let mut workspace = place::open(&args.dir, &[], true, out)?;
    let task = args.task.clone().or_else(|| workspace.loaded().config.run.task.clone());
    let Some(task) = task.filter(|task| !task.trim().is_empty()) else {
        return Err(CliError::usage("there is no task")
            .help(format!("say what to do: concertina run {} \"…\"", args.dir.display())));
    };
    if let Some(window) = args.window {
        workspace.settings_mut().window = window;
    }
    let thinker = Thinker { model: args.model.clone(), base_url: args.base_url.clone() };
    let model = thinker.connect(&workspace)?;
    let started = Started { principal: args.principal.clone(), ..Started::default() };
    let session = Session::create(&mut workspace, place::store()?, started)?;
    work(workspace, session, model.as_ref(), Some(&task), Some(&args.dir), out)
}

/// Goes on with a session whose task has no answer yet.
pub(crate) fn go_on(
    workspace: Workspace,
    session: Session,
    thinker: &Thinker,
    out: &mut Output,
) -> Result<u8, CliError> {
    let model = thinker.connect(&workspace)?;
    work(workspace, session, model.as_ref(), None, None, out)
}

fn work(
    mut workspace: Workspace,
    mut session: Session,
    model: &dyn Model,
    task: Option<&str>,
    directory: Option<&Path>,
    out: &mut Output,
) -> Result<u8, CliError> {
    let cancel = stop_on_signal()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let json = out.is_json();
    let result = if json {
        let mut silent = Silent;
        drive(&runtime, &mut workspace, &mut session, model, &mut silent, &cancel, task)
    } else {
        let mut transcript = Transcript::new(out);
        transcript.heading(directory, model, session.id(), workspace.snapshot());
        drive(&runtime, &mut workspace, &mut session, model, &mut transcript, &cancel, task)
    };
    let answer = match result {
        Ok(answer) => answer,
        Err(error) => {
            let resumable = !matches!(error, RuntimeError::Interrupted(_) | RuntimeError::Store(_));
            let mut error = CliError::from(error);
            if resumable {
                error = error.help(format!(
                    "what happened so far is kept; go on with: concertina session resume {} --model …",
                    session.id()
                ));
            }
            return Err(error);
        }
    };
    let events = session.events()?;
    let turns = report(&events);
    let rows = last_rows(&session)?;
    let sum = |of: &dyn Fn(&concertina_core::session::TurnReport) -> Option<Tokens>| -> Tokens {
        turns.iter().filter_map(of).sum()
    };
    let sent = sum(&|turn| turn.tokens.get("total").copied());
    let preloaded = sum(&|turn| turn.preloaded);
    if json {
        let opened: Vec<String> = events
            .iter()
            .filter_map(|event| match &event.fact {
                Fact::SkillOpened(opened) => Some(format!("skill:{}", opened.id)),
                _ => None,
            })
            .collect();
        out.json(&json!({
            "session": session.id(),
            "model": model.name(),
            "scripted": model.is_scripted(),
            "task": task,
            "turns": turns,
            "tokens": {"total": sent, "preloaded": preloaded},
            "answer": answer,
            "opened": opened,
            "rows": rows.as_ref().map_or(Value::Array(Vec::new()), Rows::objects),
        }))?;
        return Ok(0);
    }
    if let Some(rows) = rows {
        out.line(format!("\nrows ({})", rows.len()))?;
        out.raw(&rows.table())?;
    }
    out.line("\nwhat each turn disclosed, and what its request took in tokens")?;
    out.raw(&turn_table(&turns))?;
    out.line(saving(sent, preloaded))?;
    out.say(format!("\nlook closer: concertina session show {}", session.id()));
    Ok(0)
}

/// What disclosure saved, or honestly, what it cost.
fn saving(sent: Tokens, preloaded: Tokens) -> String {
    let difference = preloaded.saturating_sub(sent);
    if difference > Tokens::ZERO {
        let percent = difference.0.saturating_mul(100) / preloaded.0.max(1);
        format!("{sent} tokens in all; with every skill and tool loaded at the start {preloaded}: {percent} % less")
    } else {
        let more = sent.saturating_sub(preloaded);
        format!("{sent} tokens in all; with every skill and tool loaded at the start {preloaded}: {more} more, since there is so little to fold")
    }
}

fn drive(
    runtime: &tokio::runtime::Runtime,
    workspace: &mut Workspace,
    session: &mut Session,
    model: &dyn Model,
    observer: &mut (dyn Observer + Send),
    cancel: &Cancel,
    task: Option<&str>,
) -> Result<String, RuntimeError> {
    let mut agent = Agent { workspace, session, model, observer, cancel: cancel.clone() };
    runtime.block_on(async {
        match task {
            Some(task) => agent.run(task).await,
            None => agent.go_on().await,
        }
    })
}

/// The rows of the last result that has some.
fn last_rows(session: &Session) -> Result<Option<Rows>, CliError> {
    for blob in session.state().evidence.values().rev() {
        if let Some(rows) = Rows::parse(&session.text(blob)?) {
            return Ok(Some(rows));
        }
    }
    Ok(None)
}
