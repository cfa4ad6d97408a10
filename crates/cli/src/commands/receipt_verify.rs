//! `concertina receipt verify`: receipts against keys and against what is at hand.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use concertina_core::procedure::{Demand, Judged, Judgement, Machine, Missing, judge};
use concertina_format::procedure::{Age, Guard, Issuer};
use concertina_runtime::git::WorkingTree;
use concertina_runtime::inputs::{DigestCache, Inputs};
use concertina_runtime::procedures::{ProcedureError, ProcedureFile};
use concertina_store::Keyring;
use concertina_types::{Digest, Envelope, FaultKind, Receipt, ReceiptFault, Timestamp};
use serde_json::{Value, json};

use crate::args::{AboutArgs, ReceiptVerifyArgs};
use crate::error::{CliError, Exit};
use crate::output::{Output, count};
use crate::place;

/// One envelope, in bytes: what a tool said is in it in a few fields only.
const ENVELOPE_BYTES: usize = 256 * 1024;
/// What is read of one file: tens of thousands of receipts.
const FILE_BYTES: u64 = 64 * 1024 * 1024;
/// The code of what is wanted and not proven.
const MISSING: &str = "RECEIPT_MISSING";

/// What receipts are held against, as the command line says it.
pub(super) struct About {
    machine: Option<Machine>,
    workspace: Option<Digest>,
    gate: Option<Guard>,
}

impl About {
    /// Reads the procedure and the workspace. `checkpoints` are wanted where no gate is named.
    pub(super) fn read(
        args: &AboutArgs,
        checkpoints: &[String],
        out: &mut Output,
    ) -> Result<Self, CliError> {
        let machine = args.procedure.as_deref().map(procedure).transpose()?;
        let wanted = checkpoints.iter().cloned().map(Guard::Holds).collect();
        let gate = match (&args.gate, &machine) {
            (Some(tool), Some(machine)) => Some(gate(machine, tool)?),
            _ => (!checkpoints.is_empty()).then_some(Guard::All(wanted)),
        };
        if let Some(machine) = &machine
            && let Some(unknown) =
                checkpoints.iter().find(|name| machine.document().checkpoint(name).is_none())
        {
            let message = format!("the procedure has no checkpoint `{unknown}`");
            return Err(CliError::usage(message));
        }
        let workspace = match &args.workspace {
            Some(directory) => {
                let (root, ignore) = inputs(args, machine.as_ref());
                Some(workspace_digest(directory, &root, &ignore, out)?)
            }
            None => None,
        };
        Ok(Self { machine, workspace, gate })
    }

    /// The same as a demand at the moment `now`.
    pub(super) fn demand(&self, now: Timestamp) -> Demand<'_> {
        Demand {
            workspace: self.workspace,
            procedure: self.machine.as_ref(),
            gate: self.gate.as_ref(),
            now,
            ..Demand::default()
        }
    }
}

/// What of a workspace counts.
fn inputs(args: &AboutArgs, machine: Option<&Machine>) -> (String, Vec<String>) {
    let own = machine.map(|machine| machine.document().inputs.clone()).unwrap_or_default();
    let root = args.root.clone().unwrap_or(own.root);
    let ignore = if args.ignore.is_empty() { own.ignore } else { args.ignore.clone() };
    (root, ignore)
}

/// The digest of what counts in `workspace`.
fn workspace_digest(
    workspace: &Path,
    root: &str,
    ignore: &[String],
    out: &mut Output,
) -> Result<Digest, CliError> {
    let cache = DigestCache::below(&place::home_or_none());
    let found = Inputs::new(workspace, root, ignore)?.digest(&cache)?;
    out.progress(&format!("{} files of the workspace", found.files));
    Ok(found.digest)
}

/// The procedure in `file`.
pub(super) fn procedure(file: &Path) -> Result<Machine, CliError> {
    match ProcedureFile::read(file) {
        Ok(read) => Ok(read.machine),
        Err(ProcedureError::Unreadable { path, source }) => {
            Err(CliError::unreadable(&path, &source))
        }
        Err(error @ ProcedureError::Unsound { .. }) => {
            Err(CliError::new(Exit::Findings, "BAD_PROCEDURE", error.to_string()))
        }
    }
}

/// What stands before `tool`.
pub(super) fn gate(machine: &Machine, tool: &str) -> Result<Guard, CliError> {
    machine.gate(tool).ok_or_else(|| {
        let message = format!("nothing stands before the tool `{tool}` in this procedure");
        let gated = machine.document().gated_tools().join(", ");
        CliError::usage(message).help(format!("tools that wait for something: {gated}"))
    })
}

pub(super) fn verify(args: &ReceiptVerifyArgs, out: &mut Output) -> Result<u8, CliError> {
    let keys = keys(&args.key)?;
    let about = About::read(&args.about, &args.checkpoint, out)?;
    let now = args.at.as_deref().map(str::parse::<Timestamp>).transpose();
    let now = now.map_err(|error| CliError::usage(error.to_string()))?;
    let tools = args.tool.iter().map(|text| tool(text)).collect::<Result<Vec<_>, _>>()?;
    let demand = Demand {
        run: args.run.as_deref(),
        tools: &tools,
        max_age: args.max_age.as_deref().map(milliseconds).transpose()?,
        ..about.demand(now.unwrap_or_else(concertina_runtime::now))
    };
    let mut places = Vec::new();
    let mut found = Vec::new();
    for file in &args.files {
        for (line, envelope) in envelopes(file)? {
            places.push(format!("{}:{line}", file.display()));
            found.push(envelope);
        }
    }
    let unstaged = if args.staged { unstaged(&args.about, &about)? } else { Vec::new() };
    let found = judge(keys.verify_all(&found), &demand);
    let ok = found.ok && unstaged.is_empty();
    report(&found, &places, &unstaged, ok, out)?;
    for missing in &found.missing {
        out.say(format!("error: {} is not proven: {} [{MISSING}]", missing.what, missing.why));
        if let Some(help) = advice(&about, missing) {
            out.say(format!("  help: {help}"));
        }
    }
    Ok(u8::from(!ok))
}

fn keys(given: &[String]) -> Result<Keyring, CliError> {
    if given.is_empty() {
        return Ok(Keyring::of(&place::home()?)?);
    }
    let mut keys = Keyring::default();
    for text in given {
        keys.add(text.trim()).map_err(|error| CliError::usage(format!("--key: {error}")))?;
    }
    Ok(keys)
}

fn tool(text: &str) -> Result<(String, Option<Digest>), CliError> {
    match text.split_once('@') {
        None => Ok((text.to_owned(), None)),
        Some((name, digest)) => {
            let digest = digest.parse::<Digest>();
            let digest = digest.map_err(|error| CliError::usage(format!("--tool: {error}")))?;
            Ok((name.to_owned(), Some(digest)))
        }
    }
}

fn milliseconds(text: &str) -> Result<i64, CliError> {
    match text.parse() {
        Ok(Age::Time(milliseconds)) => Ok(milliseconds),
        _ => Err(CliError::usage(format!(
            "--max-age: `{text}` is no length of time: expected a number with s, m, h or d"
        ))),
    }
}

/// What of the workspace is not staged as it is.
fn unstaged(args: &AboutArgs, about: &About) -> Result<Vec<String>, CliError> {
    let Some(workspace) = &args.workspace else { return Ok(Vec::new()) };
    let (root, ignore) = inputs(args, about.machine.as_ref());
    Ok(WorkingTree::around(workspace)?.unstaged(&root, &ignore)?)
}

type Read = Vec<(usize, Result<Envelope, ReceiptFault>)>;

/// The envelopes in `file`, each with the line on which it begins.
fn envelopes(file: &Path) -> Result<Read, CliError> {
    let mut bytes = Vec::new();
    let read = if file.as_os_str() == "-" {
        std::io::stdin().take(FILE_BYTES + 1).read_to_end(&mut bytes)
    } else {
        let opened = std::fs::File::open(file);
        opened.and_then(|opened| opened.take(FILE_BYTES + 1).read_to_end(&mut bytes))
    };
    let read = read.map_err(|error| CliError::unreadable(file, &error))?;
    if read as u64 > FILE_BYTES {
        let message = format!("{} is longer than {} MB", file.display(), FILE_BYTES / 1_048_576);
        return Err(CliError::new(Exit::Findings, "RECEIPTS_TOO_LARGE", message)
            .help("give it in several files"));
    }
    if let Ok(envelope) = envelope(&bytes) {
        return Ok(vec![(1, Ok(envelope))]);
    }
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    let lines = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
    Ok(lines.map(|(at, line)| (at + 1, envelope(line))).collect())
}

fn envelope(bytes: &[u8]) -> Result<Envelope, ReceiptFault> {
    let unreadable = |why: String| ReceiptFault::new(FaultKind::Unreadable, why);
    if bytes.len() > ENVELOPE_BYTES {
        return Err(unreadable(format!("it is longer than {} KB", ENVELOPE_BYTES / 1_024)));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| unreadable("it is no text".to_owned()))?;
    Envelope::parse(text).map_err(|error| unreadable(error.to_string()))
}

fn report(
    found: &Judgement,
    places: &[String],
    unstaged: &[String],
    ok: bool,
    out: &mut Output,
) -> Result<(), CliError> {
    let at = |number: usize| places.get(number).map(String::as_str).unwrap_or_default();
    if out.is_json() {
        let receipts: Vec<Value> =
            found.receipts.iter().enumerate().map(|(n, one)| as_json(one, at(n))).collect();
        let missing: Vec<&str> = found.missing.iter().map(|one| one.what.as_str()).collect();
        out.json(&json!({
            "ok": ok, "receipts": receipts, "missing": missing, "run": found.run,
            "unstaged": unstaged,
        }))?;
    } else {
        for (number, one) in found.receipts.iter().enumerate() {
            out.line(told(one, at(number)))?;
        }
    }
    let bad = found.receipts.iter().filter(|one| one.fault.is_some()).count();
    let number = count(found.receipts.len(), "receipt");
    out.say(match (found.receipts.len(), bad) {
        (_, bad) if ok && bad > 0 => {
            let run = found.run.as_deref().unwrap_or_default();
            format!("what is wanted is proven in {run}; {number}, of which {bad} are about something else")
        }
        (0, _) => format!("error: there is no receipt [{MISSING}]"),
        (_, 0) => format!("{number}, all in order"),
        (_, bad) => format!("{number}, of which {bad} not in order"),
    });
    if let Some(first) = unstaged.first() {
        let more = if unstaged.len() > 1 {
            format!(" and {}", count(unstaged.len() - 1, "more path"))
        } else {
            String::new()
        };
        out.say(format!(
            "error: {first}{more}: what is staged is not what lies in the working tree, which receipts speak of [NOT_STAGED]\n  help: stage all of it (`git add -A`), set the rest aside (`git stash -k -u`), or ignore it, and run the checks on that"
        ));
    }
    Ok(())
}

fn as_json(judged: &Judged, at: &str) -> Value {
    let Judged { receipt, fault } = judged;
    let mut value = json!({
        "at": at, "ok": fault.is_none(),
        "code": fault.as_ref().map(|fault| fault.kind.code()),
        "reason": fault.as_ref().map(ToString::to_string),
    });
    let told = receipt.as_ref().map_or_else(
        || {
            json!({
                "digest": null, "run": null, "seq": null, "session": null, "procedure": null,
                "state": null, "tool": null, "proves": [], "refuses": [], "exit": null, "ended": null,
                "issuer": null, "assurance": null, "key": null,
            })
        },
        |genuine| summary(&genuine.receipt, &genuine.digest, &genuine.key.to_string()),
    );
    if let (Value::Object(fields), Value::Object(told)) = (&mut value, told) {
        fields.extend(told);
    }
    value
}

/// What a receipt says, in the main.
pub(super) fn summary(receipt: &Receipt, digest: &Digest, key: &str) -> Value {
    json!({
        "digest": digest, "run": receipt.run, "seq": receipt.seq, "session": receipt.session,
        "procedure": receipt.procedure, "state": receipt.state, "tool": receipt.tool,
        "proves": receipt.proves, "refuses": receipt.refuses, "exit": receipt.exit, "ended": receipt.ended.to_string(),
        "issuer": receipt.issuer, "assurance": receipt.assurance, "key": key,
    })
}

fn told(judged: &Judged, at: &str) -> String {
    let said = judged.receipt.as_ref().map(|genuine| {
        let receipt = &genuine.receipt;
        let proves = if receipt.proves.is_empty() {
            "proves nothing".to_owned()
        } else {
            format!("proves {}", receipt.proves.join(", "))
        };
        let (short, run, seq) = (genuine.digest.short(), &receipt.run, receipt.seq);
        format!("{short} {run} #{seq} {} {proves}", receipt.tool)
    });
    let said = said.unwrap_or_else(|| at.to_owned());
    match &judged.fault {
        None => format!("ok    {said}"),
        Some(fault) => format!("wrong {said}: {fault} [{}]", fault.kind.code()),
    }
}

/// How to come by what is missing.
fn advice(about: &About, missing: &Missing) -> Option<String> {
    let checkpoint = about.machine.as_ref()?.document().checkpoint(&missing.what)?;
    Some(match &checkpoint.issuer {
        Issuer::Tool { tool, .. } => format!(
            "run `{tool}` through Concertina, in a session that follows this procedure: concertina call {tool} --session ID"
        ),
        Issuer::Webhook { .. } => "it comes with a signed webhook".to_owned(),
        Issuer::Human { role, .. } => {
            format!("{role} has to agree: `concertina approve list` shows the question")
        }
    })
}

/// The place of a file that a person named, for hooks, which run elsewhere.
pub(super) fn real(path: &Path) -> Result<PathBuf, CliError> {
    path.canonicalize().map_err(|error| CliError::unreadable(path, &error))
}
