//! A program that answers for a person: `[policy] approver = ["program", …]`.
//!
//! It is given the question as one JSON object on standard input and answers with one on standard output:
//! `{"decision": "allow" | "deny" | "ask"}`. Whatever else it does is a no: a crash, silence, nonsense, an
//! answer that comes too late.

use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use concertina_core::session::Ask;
use concertina_types::{ApprovalScope, Means};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;

use super::{Approver, Verdict};

/// How long it may take: a person who waits behind it would answer by then.
const TIME: Duration = Duration::from_secs(10);
/// What is read of its answer, in bytes: it has to say one word.
const ANSWER_BYTES: u64 = 64 * 1024;

/// The program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    argv: Vec<String>,
    time: Duration,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Decision {
    Allow,
    Deny,
    Ask,
}

#[derive(Deserialize)]
struct Answer {
    decision: Decision,
}

impl Hook {
    /// The program `argv`.
    pub fn new(argv: Vec<String>) -> Self {
        Self { argv, time: TIME }
    }

    /// The same, given less time or more.
    #[must_use]
    pub fn within(self, time: Duration) -> Self {
        Self { time, ..self }
    }

    /// What it decides; nothing where it fails in any way.
    fn decide(&self, ask: &Ask) -> Option<Decision> {
        let (program, arguments) = self.argv.split_first()?;
        let question = serde_json::to_vec(ask).ok()?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .ok()?;
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw)?;
        let (mut input, output) = (child.stdin.take()?, child.stdout.take()?);
        let (sender, said) = mpsc::channel();
        std::thread::spawn(move || {
            // One that answers without reading is heard all the same.
            let _ = input.write_all(&question);
            drop(input);
            let mut text = Vec::new();
            let read = output.take(ANSWER_BYTES).read_to_end(&mut text);
            let _ = sender.send(read.map(|_| text));
        });
        let said = said.recv_timeout(self.time);
        // Without an answer it does not go on, and with one it has nothing left to do.
        let ended = match &said {
            Ok(_) => wait(&mut child, Duration::from_millis(500)),
            Err(_) => None,
        };
        let _ = kill_process_group(group, Signal::KILL);
        let _ = child.wait();
        let text = said.ok()?.ok()?;
        // A list is no answer, though its parts could stand for those of one.
        let answer: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(&text).ok()?;
        let answer: Answer = serde_json::from_value(answer.into()).ok()?;
        ended.filter(|success| *success).map(|_| answer.decision)
    }
}

/// Whether `child` ended well within `time`; nothing where it did not end.
fn wait(child: &mut std::process::Child, time: Duration) -> Option<bool> {
    let until = std::time::Instant::now() + time;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status.success()),
            Ok(None) if std::time::Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Ok(None) | Err(_) => return None,
        }
    }
}

impl Approver for Hook {
    fn answer(&self, ask: &Ask) -> Verdict {
        match self.decide(ask) {
            // It stands for a yes, not for words that a person types.
            Some(Decision::Allow) if ask.phrase.is_none() => {
                Verdict::Given { scope: ApprovalScope::Once, by: Means::Hook, typed: None }
            }
            Some(Decision::Allow | Decision::Ask) => Verdict::Nobody,
            Some(Decision::Deny) | None => Verdict::Refused { by: Means::Hook },
        }
    }
}
