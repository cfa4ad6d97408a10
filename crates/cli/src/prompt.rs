//! Questions on a terminal.

use std::io::{BufRead as _, BufReader, IsTerminal as _, Write as _};
use std::sync::Arc;

use concertina_core::session::Ask;
use concertina_runtime::approval::{Approver, Beforehand, NoApprover, Verdict};
use concertina_types::{ApprovalScope, Means};

use crate::output::told;

/// Whoever can be asked where a command runs: the person at the terminal, if there is one; with `yes`
/// nobody has to be.
pub(crate) fn approver(yes: bool) -> Arc<dyn Approver> {
    let is_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    match (yes, is_terminal) {
        (true, _) => Arc::new(Beforehand),
        (false, true) => Arc::new(Terminal),
        (false, false) => Arc::new(NoApprover),
    }
}

/// A person at the terminal. What is shown is escaped; the default is to do nothing.
struct Terminal;

impl Approver for Terminal {
    fn answer(&self, ask: &Ask) -> Verdict {
        let mut err = anstream::stderr();
        let how = match &ask.phrase {
            Some(phrase) => format!("type `{phrase}` to agree, anything else to refuse: "),
            None => "agree? [y]es once, for this [s]ession, as long as its [b]ytes stay, [N]o: "
                .to_owned(),
        };
        let asked = write!(err, "{}\n\n{}\n\n{how}", told(&ask.why), told(&ask.action))
            .and_then(|()| err.flush());
        let mut line = String::new();
        // Read from the terminal itself: nothing that was piped in answers for a person.
        let read = std::fs::File::open("/dev/tty")
            .and_then(|terminal| BufReader::new(terminal).read_line(&mut line));
        if asked.is_err() || !matches!(read, Ok(1..)) {
            return Verdict::Nobody;
        }
        let given = |scope, typed| Verdict::Given { scope, by: Means::Terminal, typed };
        let typed = line.trim();
        match (&ask.phrase, typed.to_lowercase().as_str()) {
            (Some(phrase), _) if phrase == typed => {
                given(ApprovalScope::Once, Some(typed.to_owned()))
            }
            (None, "y" | "yes") => given(ApprovalScope::Once, None),
            (None, "s" | "session") => given(ApprovalScope::Session, None),
            (None, "b" | "bytes") => given(ApprovalScope::Digest, None),
            _ => Verdict::Refused { by: Means::Terminal },
        }
    }
}
