//! The `concertina` command line. See `concertina --help`.

mod args;
mod commands;
mod error;
mod output;
mod place;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let arguments = match args::Arguments::try_parse() {
        Ok(arguments) => arguments,
        // Help and version are answers; everything else is a usage error, exit code 2.
        Err(error) => {
            let code = if error.use_stderr() { 2 } else { 0 };
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    let mut out = output::Output::new(arguments.json);
    match commands::run(arguments, &mut out) {
        Ok(code) => ExitCode::from(code),
        Err(error) => ExitCode::from(out.fail(&error)),
    }
}
