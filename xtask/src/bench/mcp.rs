//! `cargo xtask bench mcp`: what standing in front of servers costs, beside the servers alone.
//!
//! One run starts the same server twice, once by itself and once behind `concertina mcp`, and asks both in turn, so
//! that whatever else the machine does falls on both. The server is the one of the tests: it needs nothing installed.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::Outcome;
use crate::workspace::Workspace;

/// Calls on each way.
const CALLS: usize = 2_000;
/// Calls before any is counted: programs start and caches fill.
const WARM_UP: usize = 50;
/// Servers in the settings when the time until it is ready is taken.
const SERVERS: usize = 100;
/// How often it is started for that.
const STARTS: usize = 10;
/// Tools in all when the memory is taken, and the servers that bring them.
const TOOLS: usize = 5_000;
const TOOL_SERVERS: usize = 10;
/// Until a server's tools must be there.
const PATIENCE: Duration = Duration::from_mins(1);
/// Between two looks whether they are.
const PAUSE: Duration = Duration::from_millis(100);

/// The project's own bars.
const ADDED_P50_MS: f64 = 2.0;
const ADDED_P99_MS: f64 = 5.0;
const READY_MS: f64 = 200.0;
const PEAK_MB: f64 = 60.0;

/// What is measured: both programs, built for release.
#[derive(Debug)]
struct Programs {
    concertina: PathBuf,
    server: PathBuf,
}

/// Builds, measures, prints; true when every bar is kept.
pub(crate) fn run(workspace: &Workspace) -> Outcome<bool> {
    let build = ["build", "--release", "-p", "concertina-cli", "-p", "concertina-fixture-server"];
    if !workspace.cargo(&build).status()?.success() {
        return Err("the release build failed".into());
    }
    let directory = workspace.target_directory()?.join("release");
    let programs = Programs {
        concertina: directory.join("concertina"),
        server: directory.join("concertina-fixture-server"),
    };
    let mut rows = Vec::new();
    added(&programs, &mut rows)?;
    ready(&programs, &mut rows)?;
    memory(&programs, &mut rows)?;
    println!("{}", table(&rows));
    Ok(rows.iter().all(Row::is_kept))
}

/// A figure, and what it must not exceed where there is a bar.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    what: String,
    figure: f64,
    unit: &'static str,
    bar: Option<f64>,
}

impl Row {
    fn new(what: impl Into<String>, figure: f64, unit: &'static str, bar: Option<f64>) -> Self {
        Self { what: what.into(), figure, unit, bar }
    }

    fn is_kept(&self) -> bool {
        self.bar.is_none_or(|bar| self.figure <= bar)
    }
}

fn table(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        let Row { what, figure, unit, bar } = row;
        let verdict = match bar {
            None => String::new(),
            Some(bar) if row.is_kept() => format!("  within {bar} {unit}"),
            Some(bar) => format!("  OVER {bar} {unit}"),
        };
        // Writing to a string does not fail.
        let _ = writeln!(text, "{what:<58} {figure:>9.3} {unit}{verdict}");
    }
    text
}

/// The same calls directly and through Concertina, in turn.
fn added(programs: &Programs, rows: &mut Vec<Row>) -> Outcome<()> {
    let place = Place::new(&[("fixture".to_owned(), vec![text(&programs.server)?])])?;
    let mut direct = Peer::start(Command::new(&programs.server), &place)?;
    let mut through = Peer::concertina(programs, &place)?;
    direct.initialize()?;
    through.initialize()?;
    // Reads say that they only read; `echo` says nothing, so its record has to survive a power cut.
    for (title, tool, arguments) in [
        ("reading", "add", json!({"a": 1, "b": 2})),
        ("writing", "echo", json!({"text": "x".repeat(200)})),
    ] {
        let alone = json!({"name": tool, "arguments": arguments});
        let behind = json!({
            "name": "call",
            "arguments": {"tool": format!("fixture/{tool}"), "args": arguments},
        });
        let (mut directly, mut behind_it, mut difference) = (Vec::new(), Vec::new(), Vec::new());
        for turn in 0..WARM_UP + CALLS {
            let one = direct.timed(&alone)?;
            let other = through.timed(&behind)?;
            if turn >= WARM_UP {
                directly.push(one);
                behind_it.push(other);
                difference.push(other - one);
            }
        }
        for (share, name, bar) in [(0.50, "p50", ADDED_P50_MS), (0.99, "p99", ADDED_P99_MS)] {
            let at = |figures: &mut Vec<f64>| percentile(figures, share);
            let of = |way: &str| format!("a {title} call {way}, {name} of {CALLS}");
            rows.push(Row::new(of("directly"), at(&mut directly), "ms", None));
            rows.push(Row::new(of("through Concertina"), at(&mut behind_it), "ms", None));
            rows.push(Row::new(of("more than directly"), at(&mut difference), "ms", Some(bar)));
        }
    }
    Ok(())
}

/// From the start of the program to its answer to `initialize`, with many servers in the settings.
fn ready(programs: &Programs, rows: &mut Vec<Row>) -> Outcome<()> {
    let server = text(&programs.server)?;
    let names = (0..SERVERS).map(|number| (format!("server{number:03}"), vec![server.clone()]));
    let place = Place::new(&names.collect::<Vec<_>>())?;
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let begin = Instant::now();
        let mut peer = Peer::concertina(programs, &place)?;
        peer.initialize()?;
        times.push(milliseconds(begin));
    }
    let first = times.first().copied().unwrap_or_default();
    let of = |which: &str| format!("ready with {SERVERS} servers, {which}");
    rows.push(Row::new(of("the first start"), first, "ms", Some(READY_MS)));
    let median = percentile(&mut times, 0.50);
    rows.push(Row::new(of(&format!("median of {STARTS} starts")), median, "ms", Some(READY_MS)));
    let worst = percentile(&mut times, 1.0);
    rows.push(Row::new(of("the slowest"), worst, "ms", Some(READY_MS)));
    Ok(())
}

/// The most memory that Concertina held with thousands of tools behind it, after it was used.
fn memory(programs: &Programs, rows: &mut Vec<Row>) -> Outcome<()> {
    let share = (TOOLS / TOOL_SERVERS).to_string();
    let argv = vec![text(&programs.server)?, "--bare".into(), "--tools".into(), share];
    let names = (0..TOOL_SERVERS).map(|number| (format!("server{number}"), argv.clone()));
    let place = Place::new(&names.collect::<Vec<_>>())?;
    let mut peer = Peer::concertina(programs, &place)?;
    peer.initialize()?;
    let last = format!("server{}/item_0001", TOOL_SERVERS - 1);
    let arguments = json!({"name": "open", "arguments": {"ref": format!("tool:{last}")}});
    let end = Instant::now() + PATIENCE;
    loop {
        let opened = peer.request("tools/call", &arguments)?;
        if !is_error(&opened) {
            break;
        }
        if Instant::now() >= end {
            return Err(format!("{last} was not there: {opened}").into());
        }
        thread::sleep(PAUSE);
    }
    for arguments in [
        json!({"name": "find", "arguments": {"query": "the thing with number 77"}}),
        json!({"name": "open", "arguments": {"ref": "menu:"}}),
        json!({"name": "open", "arguments": {"ref": "menu:server3"}}),
    ] {
        peer.request("tools/call", &arguments)?;
    }
    let peak = peer.peak()?;
    rows.push(Row::new(format!("peak memory with {TOOLS} tools"), peak, "MB", Some(PEAK_MB)));
    Ok(())
}

/// Settings and state of their own, and a workspace without anything.
#[derive(Debug)]
struct Place {
    root: TempDir,
}

impl Place {
    fn new(servers: &[(String, Vec<String>)]) -> Outcome<Self> {
        let root = tempfile::tempdir()?;
        let settings = root.path().join("config/concertina");
        fs::create_dir_all(&settings)?;
        fs::create_dir_all(root.path().join("workspace"))?;
        let mut text = String::new();
        for (name, argv) in servers {
            let (program, rest) = argv.split_first().ok_or("a server without a program")?;
            // Servers that are started with the same words count as one.
            let rest = [rest, &["--name".to_owned(), name.clone()]].concat();
            // What JSON writes of strings and lists of strings is TOML too.
            writeln!(
                text,
                "[upstream.{name}]\ncommand = {}\nargs = {}",
                json!(program),
                json!(rest)
            )?;
        }
        fs::write(settings.join("concertina.toml"), text)?;
        Ok(Self { root })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }
}

/// A program that speaks the protocol on its standard streams.
#[derive(Debug)]
struct Peer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    asked: u64,
}

impl Peer {
    fn concertina(programs: &Programs, place: &Place) -> Outcome<Self> {
        let mut command = Command::new(&programs.concertina);
        command.arg("mcp");
        Self::start(command, place)
    }

    fn start(mut command: Command, place: &Place) -> Outcome<Self> {
        let mut child = command
            .current_dir(place.path("workspace"))
            .env("HOME", place.path(""))
            .env("XDG_CONFIG_HOME", place.path("config"))
            .env("CONCERTINA_HOME", place.path("state"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let input = child.stdin.take().ok_or("the program has no input")?;
        let output = BufReader::new(child.stdout.take().ok_or("the program has no output")?);
        Ok(Self { child, input, output, asked: 0 })
    }

    fn initialize(&mut self) -> Outcome<()> {
        let client = json!({"name": "bench", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        self.request("initialize", &params)?;
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
    }

    /// The milliseconds that a call takes, which must succeed.
    fn timed(&mut self, params: &Value) -> Outcome<f64> {
        let begin = Instant::now();
        let result = self.request("tools/call", params)?;
        let taken = milliseconds(begin);
        if is_error(&result) {
            return Err(format!("the call failed: {result}").into());
        }
        Ok(taken)
    }

    fn request(&mut self, method: &str, params: &Value) -> Outcome<Value> {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        let mut line = String::new();
        loop {
            line.clear();
            if self.output.read_line(&mut line)? == 0 {
                return Err(format!("the program ended before it answered {method}").into());
            }
            let message: Value = serde_json::from_str(&line)?;
            if message.get("id") == Some(&json!(id)) && message.get("method").is_none() {
                return Ok(message);
            }
        }
    }

    fn send(&mut self, message: &Value) -> Outcome<()> {
        writeln!(self.input, "{message}")?;
        Ok(self.input.flush()?)
    }

    /// The most memory it held so far, in megabytes, as the kernel counts it for this process alone.
    fn peak(&self) -> Outcome<f64> {
        let path = Path::new("/proc").join(self.child.id().to_string()).join("status");
        let status = fs::read_to_string(path)?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
        let kilobytes: f64 = kilobytes.ok_or("the kernel tells no peak")?.trim().parse()?;
        Ok(kilobytes * 1024.0 / 1e6)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended by itself, and then there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a response is an error, of the protocol or of a tool.
fn is_error(message: &Value) -> bool {
    message.get("error").is_some()
        || message.pointer("/result/isError").and_then(Value::as_bool) == Some(true)
}

fn milliseconds(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1e3
}

/// The smallest figure that `share` of all do not exceed.
fn percentile(figures: &mut [f64], share: f64) -> f64 {
    figures.sort_by(f64::total_cmp);
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank among a few thousand"
    )]
    let rank = (figures.len() as f64 * share).ceil() as usize;
    figures.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

fn text(path: &Path) -> Outcome<String> {
    Ok(path.to_str().ok_or("a path is not UTF-8")?.to_owned())
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_figures() {
        let mut figures: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        for (share, expected) in [(0.5, 100.0), (0.99, 198.0), (1.0, 200.0)] {
            let found = percentile(&mut figures, share);
            assert!((found - expected).abs() < f64::EPSILON, "{share}: {found}");
        }
        assert!(percentile(&mut [], 0.5).abs() < f64::EPSILON);
    }

    #[test]
    fn a_bar_is_kept_or_named() {
        let kept = Row::new("a", 1.5, "ms", Some(2.0));
        let broken = Row::new("b", 2.5, "ms", Some(2.0));
        assert!(kept.is_kept() && !broken.is_kept() && Row::new("c", 9.0, "ms", None).is_kept());
        let text = table(&[kept, broken]);
        assert!(text.contains("within 2 ms") && text.contains("OVER 2 ms"), "{text}");
    }

    #[test]
    fn errors_of_both_kinds_are_seen() {
        assert!(is_error(&json!({"error": {"code": 1}})));
        assert!(is_error(&json!({"result": {"isError": true}})));
        assert!(!is_error(&json!({"result": {"isError": false}})));
    }
}
