//! `concertina run [DIR] [TASK]`.

use std::path::{Path, PathBuf};

use concertina_core::session::report;
use concertina_runtime::agent::{Agent, Observer, Silent};
use concertina_runtime::llm::{Model, ModelSpec};
use concertina_runtime::{RuntimeError, Session, Started, Workspace};
use concertina_types::{Fact, Tokens};
use serde_json::{Value, json};

use super::open::stop_on_signal;
use super::transcript::{Rows, Transcript, turn_table};
use crate::args::RunArgs;
use crate::error::{CliError, Exit};
use crate::output::Output;
use crate::place::{self, Reach};
use crate::prompt;
use crate::servers;

/// Which model thinks.
pub(crate) struct Thinker {
    pub(crate) model: Option<String>,
    pub(crate) base_url: Option<String>,
}

impl Thinker {
    /// The model that was asked for, else the one that the directory names; and how to name the same
    /// one again from anywhere.
    fn connect(&self, workspace: &Workspace) -> Result<(Box<dyn Model>, String), CliError> {
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
        let mut again = format!("--model {spec}");
        if text.starts_with("scripted:") && self.base_url.is_some() {
            return Err(CliError::usage("--base-url is for a server, and a script has none")
                .help("name a model too: --model openai:NAME or anthropic:NAME"));
        }
        if let Some(url) = self.base_url.as_ref().or(config.model.base_url.as_ref()) {
            spec = spec.at(url);
            again.push_str(" --base-url ");
            again.push_str(url);
        }
        Ok((spec.connect(&place::variable).map_err(RuntimeError::from)?, again))
    }
}

pub(crate) fn run(args: &RunArgs, out: &mut Output) -> Result<u8, CliError> {
    let here = PathBuf::from(".");
    let dir = args.dir.as_ref().unwrap_or(&here);
    if !dir.is_dir() {
        let message = format!("{} is not a directory", dir.display());
        let help = "name a directory that holds skills and a concertina.toml; a task goes after it";
        return Err(CliError::new(Exit::NotFound, "NOT_FOUND", message).help(help));
    }
    let reach = if args.dir.is_some() { Reach::Vouched } else { Reach::Own };
    let mut workspace = place::open(dir, &[], reach, out)?;
    let task = args.task.clone().or_else(|| workspace.loaded().config.run.task.clone());
    let Some(task) = task.filter(|task| !task.trim().is_empty()) else {
        return Err(CliError::usage("there is no task")
            .help(format!("say what to do: concertina run {} \"…\"", dir.display())));
    };
    if let Some(window) = args.window {
        workspace.settings_mut().window = window;
    }
    let thinker = Thinker { model: args.model.clone(), base_url: args.base_url.clone() };
    let (model, again) = thinker.connect(&workspace)?;
    servers::attach(&mut workspace, out)?;
    let started = Started { principal: args.principal.clone(), ..Started::default() };
    let mut session = Session::create(&mut workspace, place::store()?, started)?;
    session.ask_by(prompt::approver(args.yes));
    let work =
        Work { model: model.as_ref(), again: &again, task: Some(&task), directory: Some(dir) };
    work.run(workspace, session, out)
}

/// Goes on with a session whose task has no answer yet.
pub(crate) fn go_on(
    workspace: Workspace,
    session: Session,
    thinker: &Thinker,
    out: &mut Output,
) -> Result<u8, CliError> {
    let (model, again) = thinker.connect(&workspace)?;
    let work = Work { model: model.as_ref(), again: &again, task: None, directory: None };
    work.run(workspace, session, out)
}

/// Names in a list of what a person reads.
const NAMES: usize = 40;

/// What is to be done.
struct Work<'a> {
    model: &'a dyn Model,
    /// The options that name the model again.
    again: &'a str,
    /// The task; without one the session has it.
    task: Option<&'a str>,
    /// The directory, as typed.
    directory: Option<&'a Path>,
}

impl Work<'_> {
    /// Lets the model work until the task is answered, and shows what came of it.
    fn run(
        &self,
        mut workspace: Workspace,
        mut session: Session,
        out: &mut Output,
    ) -> Result<u8, CliError> {
        let answer = if out.is_json() {
            self.drive(&mut workspace, &mut session, &mut Silent)?
        } else {
            let mut transcript = Transcript::new(out);
            transcript.heading(self.directory, self.model, session.id(), workspace.snapshot());
            let answer = self.drive(&mut workspace, &mut session, &mut transcript);
            // An error must not run on from the middle of what the model was saying.
            transcript.end_speech();
            answer?
        };
        self.show(&session, &answer, out)
    }

    fn drive(
        &self,
        workspace: &mut Workspace,
        session: &mut Session,
        observer: &mut (dyn Observer + Send),
    ) -> Result<String, CliError> {
        let cancel = stop_on_signal()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let id = session.id().clone();
        let mut agent = Agent { workspace, session, model: self.model, observer, cancel };
        let result = runtime.block_on(async {
            match self.task {
                Some(task) => agent.run(task).await,
                None => agent.go_on().await,
            }
        });
        result.map_err(|error| {
            let help = format!(
                "what happened so far is kept; go on with: concertina session resume {id} {}",
                self.again
            );
            CliError::from(error).help(help)
        })
    }

    fn show(&self, session: &Session, answer: &str, out: &mut Output) -> Result<u8, CliError> {
        let events = session.events()?;
        let turns = report(&events);
        let rows = last_rows(session)?;
        let sum = |of: &dyn Fn(&concertina_core::session::TurnReport) -> Option<Tokens>| -> Tokens {
            turns.iter().filter_map(of).sum()
        };
        let sent = sum(&|turn| turn.tokens.get("total").copied());
        let preloaded = sum(&|turn| turn.preloaded);
        if out.is_json() {
            let opened: Vec<String> = events
                .iter()
                .filter_map(|event| match &event.fact {
                    Fact::SkillOpened(opened) => Some(format!("skill:{}", opened.id)),
                    _ => None,
                })
                .collect();
            out.json(&json!({
                "session": session.id(),
                "model": self.model.name(),
                "scripted": self.model.is_scripted(),
                "task": self.task,
                "turns": turns,
                "tokens": {"total": sent, "preloaded": preloaded},
                "answer": answer,
                "opened": opened,
                "rows": rows.as_ref().map_or(Value::Array(Vec::new()), Rows::objects),
                "card": session.task_card(),
            }))?;
            return Ok(0);
        }
        if let Some(rows) = rows {
            out.line("")?;
            out.line(format!("rows ({})", rows.len()))?;
            out.raw(&rows.table())?;
        }
        out.line("")?;
        out.line("what each turn disclosed, and what its request took in tokens")?;
        out.raw(&turn_table(&turns))?;
        out.line(saving(sent, preloaded))?;
        if let Some(card) = session.task_card() {
            out.line("")?;
            out.line("where the procedure stands")?;
            for line in card.lines(NAMES) {
                out.line(line)?;
            }
            for question in card.lacking.iter().filter_map(|one| one.question.as_ref()) {
                out.say(format!("a person answers: concertina approve grant {question}"));
            }
        }
        out.say(format!("\nlook closer: concertina session show {}", session.id()));
        Ok(0)
    }
}

/// What disclosure saved, or honestly, what it cost.
fn saving(sent: Tokens, preloaded: Tokens) -> String {
    let difference = preloaded.saturating_sub(sent);
    if difference > Tokens::ZERO {
        let percent = difference.0.saturating_mul(100) / preloaded.0.max(1);
        format!(
            "{sent} tokens in all; with every skill and tool loaded at the start {preloaded}: {percent} % less"
        )
    } else {
        let more = sent.saturating_sub(preloaded);
        format!(
            "{sent} tokens in all; with every skill and tool loaded at the start {preloaded}: {more} more, since there is so little to fold"
        )
    }
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
