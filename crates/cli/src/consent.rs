//! Asking a person.

use std::io::{IsTerminal as _, Write as _};

use crate::error::CliError;
use crate::output::Output;

/// Whether the person at the terminal says yes to `question`; none where there is no terminal.
pub(crate) fn ask(question: &str, out: &mut Output) -> Result<Option<bool>, CliError> {
    let (input, words) = (std::io::stdin(), std::io::stderr());
    if out.is_json() || !input.is_terminal() || !words.is_terminal() {
        return Ok(None);
    }
    out.question(&format!("{question} [y/N] "));
    words.lock().flush()?;
    let mut answer = String::new();
    input.read_line(&mut answer)?;
    Ok(Some(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")))
}
