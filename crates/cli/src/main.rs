//! The `concertina` command line. See `concertina --help`.

mod args;
mod commands;
mod consent;
mod error;
mod output;
mod place;
mod prompt;
mod servers;

use std::process::ExitCode;

use clap::FromArgMatches as _;

use error::CliError;

fn main() -> ExitCode {
    let parsed = args::command().try_get_matches();
    let arguments = match parsed.and_then(|matches| args::Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        Err(error) => return refused(&error),
    };
    let mut out = output::Output::new(arguments.json);
    let ended = commands::run(arguments, &mut out);
    servers::end();
    match ended {
        Ok(code) => ExitCode::from(code),
        Err(error) => ExitCode::from(out.fail(&error)),
    }
}

/// Help and version are answers; everything else is a usage error.
fn refused(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    if !error.use_stderr() {
        return ExitCode::SUCCESS;
    }
    if std::env::args_os().any(|argument| argument == "--json") {
        let message = error.to_string();
        let message = message.lines().next().unwrap_or_default();
        let shown = CliError::usage(message.trim_start_matches("error: "));
        let _ = output::Output::new(true).json(&shown.as_json());
    }
    ExitCode::from(error::Exit::Usage as u8)
}
