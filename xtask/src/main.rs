//! The project's own checks. `cargo xtask` lists them, `cargo xtask test` runs them all.
//!
//! Every rule works on texts that are already in memory ([`workspace::Source`]), so that its tests
//! need no files; only the commands in this file read the repository.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool speaks on stdout and stderr"
)]

mod arch;
mod bench;
mod fuzz;
mod links;
mod peers;
mod readme;
mod requirements;
mod rust;
mod suite;
mod summary;
#[cfg(feature = "token-table")]
mod token_table;
mod workspace;

use std::process::ExitCode;

use workspace::{Finding, Workspace};

/// What a command gives, or the reason why it could not run.
type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test          everything below that checks, and the tests; the last line is the summary
  test --peers [--bless] [CASE]  programs that others wrote; CASE is a part of the names to run,
                --bless writes docs/conformance.md again
  arch          crate and module dependencies, purity, file sizes, stray words
  requirements  every requirement id with the tests that name it
  links         relative links and anchors of every Markdown file
  readme        runs the commands that README.md shows and compares what they print
  bench         CPU time and memory of a cold listing of 2,000 skills, beside a floor
  bench mcp     what a call through Concertina adds, the time until it is ready, and its memory
  fuzz [--seconds N]  the properties of fuzz/ on mutated seeds, for 60 seconds unless said otherwise
  floor DIR     the floor: reads every SKILL.md below DIR and does nothing with it
  token-table   writes the tables of concertina-tokens again; start it as
                cargo run -p xtask --features token-table -- token-table";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(5)
        }
    }
}

fn run(arguments: &[&str]) -> Outcome<ExitCode> {
    let fine = match arguments {
        ["test"] => suite::run(&Workspace::load()?),
        ["test", "--peers", rest @ ..] => {
            peers::run(&Workspace::locate()?, peers::Choice::of(rest)?)?
        }
        ["arch"] => report(&arch::check(&Workspace::load()?)?),
        ["requirements"] => {
            let workspace = Workspace::load()?;
            print!("{}", requirements::table(&workspace.sources)?);
            report(&requirements::check(&workspace.sources)?)
        }
        ["links"] => report(&links::check(&Workspace::load()?)),
        ["readme"] => report(&readme::check(&Workspace::load()?)?),
        ["bench"] => {
            bench::run(&Workspace::locate()?)?;
            true
        }
        ["bench", "mcp"] => bench::mcp::run(&Workspace::locate()?)?,
        ["fuzz"] => fuzz::run(&Workspace::locate()?, None)?,
        ["fuzz", "--seconds", seconds] => fuzz::run(&Workspace::locate()?, Some(seconds))?,
        ["floor", directory] => {
            println!("{}", bench::floor(directory.as_ref())?);
            true
        }
        #[cfg(feature = "token-table")]
        ["token-table"] => {
            token_table::run()?;
            true
        }
        #[cfg(not(feature = "token-table"))]
        ["token-table"] => {
            return Err("the generator is not built in: \
                        cargo run -p xtask --features token-table -- token-table"
                .into());
        }
        [] | ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            true
        }
        _ => {
            eprintln!("error: there is no command `{}`\n\n{USAGE}", arguments.join(" "));
            return Ok(ExitCode::from(2));
        }
    };
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints what was found; true when that is nothing.
fn report(findings: &[Finding]) -> bool {
    for finding in findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => println!("nothing found"),
        n => println!("{n} found"),
    }
    findings.is_empty()
}
