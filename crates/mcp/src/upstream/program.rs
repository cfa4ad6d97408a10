//! Servers that are programs: started with the environment they are given and nothing else, and ended
//! with everything they started.

use std::collections::VecDeque;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use concertina_types::limits;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, watch};

use super::failure::Failure;
use super::family::{Family, MARK};
use super::guard::Guard;
use super::peer::Peer;
use super::prune::prune;
use crate::lock;
use crate::wire::{Line, Lines, read};

/// All programs that run, and who ends them when nobody else can.
#[derive(Debug)]
pub(super) struct Household {
    guard: Option<Guard>,
    count: watch::Sender<usize>,
}

impl Household {
    pub(super) fn new(guard: Option<Vec<String>>) -> Self {
        Self { guard: guard.map(Guard::new), count: watch::Sender::new(0) }
    }

    fn enter(household: &Arc<Self>, family: Family) -> Member {
        if let Some(guard) = &household.guard {
            guard.watch(&family);
        }
        household.count.send_modify(|count| *count += 1);
        Member { household: Arc::clone(household), family }
    }

    /// Waits until none is left, or until the time is over, and dismisses the guard.
    pub(super) async fn close(&self, time: Duration) {
        let mut count = self.count.subscribe();
        let _ = tokio::time::timeout(time, count.wait_for(|count| *count == 0)).await;
        if let Some(guard) = &self.guard {
            guard.close();
        }
    }
}

/// One run's place in the household.
struct Member {
    household: Arc<Household>,
    family: Family,
}

impl Drop for Member {
    fn drop(&mut self) {
        if let Some(guard) = &self.household.guard {
            guard.forget(&self.family);
        }
        self.household.count.send_modify(|count| *count = count.saturating_sub(1));
    }
}

/// A program under way.
pub(super) struct Program {
    stop: mpsc::Sender<()>,
    ended: tokio::task::JoinHandle<()>,
}

/// How a program is started.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start<'a> {
    pub(super) argv: &'a [String],
    pub(super) environment: &'a [(String, String)],
    pub(super) directory: &'a Path,
}

impl Program {
    /// Starts a program and joins its streams to `peer`.
    pub(super) fn start(
        start: Start<'_>,
        peer: &Arc<Peer>,
        outgoing: mpsc::Receiver<Value>,
        household: &Arc<Household>,
    ) -> Result<Self, Failure> {
        let (program, arguments) = start
            .argv
            .split_first()
            .ok_or_else(|| Failure::Start("its settings name no program".to_owned()))?;
        let family = Family::new();
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs(start.environment.iter().map(|(name, value)| (name, value)))
            .env(MARK, family.mark())
            .current_dir(start.directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| {
            Failure::Start(format!("`{program}` in {}: {error}", start.directory.display()))
        })?;
        let family = family.led_by(child.id());
        let member = Household::enter(household, family.clone());
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(Failure::Start("its streams cannot be reached".to_owned()));
        };
        let words = LastWords::new(start.environment);
        let heard = tokio::spawn(words.clone().listen(stderr));
        let reader = tokio::spawn(take(stdout, Arc::clone(peer)));
        let writer = tokio::spawn(give(stdin, outgoing));
        let (stop, stopping) = mpsc::channel(1);
        let life = Life { child, family, reader, writer, heard, words, member };
        let ended = tokio::spawn(life.live(Arc::clone(peer), stopping));
        Ok(Self { stop, ended })
    }

    /// Ends the program and everything it started.
    pub(super) async fn stop(self) {
        let _ = self.stop.send(()).await;
        let _ = self.ended.await;
    }
}

/// What belongs to one run of a program.
struct Life {
    child: Child,
    family: Family,
    reader: tokio::task::JoinHandle<()>,
    writer: tokio::task::JoinHandle<()>,
    heard: tokio::task::JoinHandle<()>,
    words: LastWords,
    member: Member,
}

impl Life {
    /// Waits until the program ends or is to be stopped; then nothing of it is left.
    async fn live(mut self, peer: Arc<Peer>, mut stopping: mpsc::Receiver<()>) {
        let grace = Duration::from_millis(limits::STOP_MILLISECONDS);
        let reason = tokio::select! {
            status = self.child.wait() => {
                // What it wrote before its end is still an answer.
                let _ = tokio::time::timeout(grace, &mut self.reader).await;
                let _ = tokio::time::timeout(grace / 4, &mut self.heard).await;
                match status {
                    Ok(status) => format!("it ended ({status}){}", self.words.quoted()),
                    Err(error) => format!("it cannot be waited for: {error}"),
                }
            }
            _ = &mut self.reader => {
                let ended = tokio::time::timeout(grace / 4, self.child.wait()).await;
                let _ = tokio::time::timeout(grace / 4, &mut self.heard).await;
                let how = match ended {
                    Ok(Ok(status)) => format!("it ended ({status})"),
                    _ => "it closed its output".to_owned(),
                };
                format!("{how}{}", self.words.quoted())
            }
            failure = peer.over() => failure.to_string(),
            _ = stopping.recv() => "it was stopped".to_owned(),
        };
        peer.end(Failure::Lost(reason));
        self.writer.abort();
        // The task must have ended for its end of the pipe to be closed.
        let _ = (&mut self.writer).await;
        self.family.end(&mut self.child, grace).await;
        self.reader.abort();
        self.heard.abort();
        drop(self.member);
    }
}

/// Takes what the program writes, line by line.
async fn take(stdout: ChildStdout, peer: Arc<Peer>) {
    let mut lines = Lines::new(stdout, limits::UPSTREAM_MESSAGE_BYTES);
    while let Ok(Some(line)) = lines.next().await {
        match line {
            Line::Whole(line) => match read(&line) {
                Ok(Some(message)) => peer.deliver(message),
                Ok(None) => {}
                Err(_) => match read(&prune(&line)) {
                    Ok(Some(message)) => peer.deliver_pruned(message),
                    _ => peer.is_noise(),
                },
            },
            Line::TooLong => peer.is_too_long(limits::UPSTREAM_MESSAGE_BYTES),
        }
    }
}

/// Gives the program what it is sent.
async fn give(mut stdin: ChildStdin, mut outgoing: mpsc::Receiver<Value>) {
    while let Some(message) = outgoing.recv().await {
        let mut text = message.to_string();
        text.push('\n');
        if stdin.write_all(text.as_bytes()).await.is_err() || stdin.flush().await.is_err() {
            break;
        }
    }
}

/// How much of a program's last words is shown: the end, which says why.
const SHOWN_CHARS: usize = 500;

/// The end of what a program wrote on standard error, without the values of its environment.
#[derive(Clone)]
struct LastWords {
    tail: Arc<Mutex<Tail>>,
    /// The longest first: one may be part of another.
    secrets: Arc<Vec<String>>,
}

#[derive(Default)]
struct Tail {
    bytes: VecDeque<u8>,
    /// Something stood before it.
    is_cut: bool,
}

impl LastWords {
    fn new(environment: &[(String, String)]) -> Self {
        // Short values and the usual ones say nothing; redacting them would blank out all text.
        let is_secret = |(name, value): &&(String, String)| {
            value.len() >= 6 && !matches!(name.as_str(), "PATH" | "HOME" | "LANG")
        };
        let secrets = environment.iter().filter(is_secret).map(|(_, value)| value.clone());
        let mut secrets: Vec<String> = secrets.collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self { tail: Arc::default(), secrets: Arc::new(secrets) }
    }

    async fn listen(self, mut stderr: ChildStderr) {
        let mut piece = [0_u8; 4_096];
        while let Ok(read) = stderr.read(&mut piece).await {
            if read == 0 {
                break;
            }
            let mut tail = lock(&self.tail);
            tail.bytes.extend(piece.iter().take(read));
            let excess = tail.bytes.len().saturating_sub(limits::STDERR_BYTES);
            tail.bytes.drain(..excess);
            tail.is_cut |= excess > 0;
        }
    }

    /// As the end of a sentence; nothing where nothing was said.
    fn quoted(&self) -> String {
        let (bytes, is_cut) = {
            let tail = lock(&self.tail);
            (tail.bytes.iter().copied().collect::<Vec<u8>>(), tail.is_cut)
        };
        let text = String::from_utf8_lossy(&bytes);
        let whole = if is_cut { self.without_start(&text) } else { &text };
        let mut text = whole.trim().to_owned();
        for secret in self.secrets.iter() {
            text = text.replace(secret.as_str(), "[redacted]");
        }
        let mut last: Vec<&str> = text.lines().rev().take(5).collect();
        last.reverse();
        let mut shown: VecDeque<char> =
            last.join(" / ").chars().filter(|c| !c.is_control()).collect();
        let excess = shown.len().saturating_sub(SHOWN_CHARS);
        shown.drain(..excess);
        let shown: String = shown.into_iter().collect();
        if shown.is_empty() { String::new() } else { format!(", its last words: {shown}") }
    }

    /// What was cut off at the start may have left the rest of a secret, and of a line.
    fn without_start<'a>(&self, text: &'a str) -> &'a str {
        let text = text.trim_start_matches('\u{fffd}');
        let rests = self
            .secrets
            .iter()
            .flat_map(|secret| secret.char_indices().filter_map(|(at, _)| secret.get(at..)));
        let rest = rests.filter_map(|rest| text.strip_prefix(rest)).min_by_key(|rest| rest.len());
        let text = rest.unwrap_or(text);
        text.split_once('\n').map_or(text, |(_, lines)| lines)
    }
}
