//! `concertina eval …`.

mod compare;
mod route;
mod tools;

use std::fmt::Display;

use concertina_runtime::eval::{Capped, EvalError, Interval, LabelledSet, Skipped, Unknown};

use crate::args::EvalCommand;
use crate::error::{CliError, Exit};
use crate::output::{Output, count};

pub(crate) fn run(command: &EvalCommand, out: &mut Output) -> Result<u8, CliError> {
    match command {
        EvalCommand::Route(args) => route::run(args, out),
        EvalCommand::Tools { catalog, queries } => {
            let set = LabelledSet::read(catalog, queries, &[]).map_err(|error| failed(&error))?;
            tools::run(&set, out)
        }
    }
}

fn failed(error: &EvalError) -> CliError {
    let help = match error {
        EvalError::Settings { .. } => "correct the file; nothing was measured",
        _ => "`concertina eval route --help` says how the files are written",
    };
    let failed = match error {
        EvalError::File { path, source } => CliError::unreadable(path, source),
        _ => CliError::new(Exit::Findings, error.code(), error.to_string()),
    };
    failed.help(help)
}

/// What is named of a kind of finding; the JSON names more.
const NAMED: usize = 5;

/// Says what could not be used.
fn say_what_was_left_out(skipped: &Capped<Skipped>, unknown: &Capped<Unknown>, out: &mut Output) {
    if skipped.count > 0 {
        out.say(format!(
            "warning: {} cannot be used and {} left out [BAD_DATA]",
            count(skipped.count, "line"),
            if skipped.count == 1 { "is" } else { "are" },
        ));
        say_first(skipped.count, skipped.first.iter(), out);
    }
    if unknown.count > 0 {
        let what = if unknown.count == 1 { "request names" } else { "requests name" };
        out.say(format!(
            "warning: {} {what} ids that the catalogue does not have [UNKNOWN_ID]",
            crate::output::thousands(unknown.count)
        ));
        let lines = unknown.first.iter().map(|one| {
            let place = one.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
            let ids: Vec<String> = one.ids.iter().map(|id| format!("`{id}`")).collect();
            let end = if one.left_out { "; nothing else serves it, so it is left out" } else { "" };
            format!("{place}{}{end}", ids.join(", "))
        });
        say_first(unknown.count, lines, out);
    }
}

fn say_first(all: usize, lines: impl Iterator<Item = impl Display>, out: &mut Output) {
    lines.take(NAMED).for_each(|line| out.say(format!("  {line}")));
    if all > NAMED {
        out.say(format!("  and {} more; --json names the first 20", all - NAMED));
    }
}

/// `0.628`, or a dash where there is no figure.
fn figure(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"))
}

/// `0.58 to 0.67`.
fn interval(interval: Option<Interval>) -> String {
    interval.map_or_else(String::new, |Interval(low, high)| format!("{low:.2} to {high:.2}"))
}

/// The cells of the first line of a table.
fn heading<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}
