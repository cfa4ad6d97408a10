//! `concertina demo`: an agent that says more than it did, and a procedure that believes only what really ran.

mod stage;

use concertina_core::procedure::{Demand, Machine, judge};
use concertina_core::session::{Claimable, Standing, claims};
use concertina_runtime::agent::{Agent, Silent};
use concertina_runtime::audit::{About, Told, account};
use concertina_runtime::llm::script::Script;
use concertina_runtime::receipts::issued;
use concertina_runtime::{Cancel, RuntimeError, Session, Workspace};
use concertina_store::{Against, Audit, Keyring};
use concertina_types::{ApprovalScope, Means, SignedReceipt, ToolName};
use serde_json::{Value, json};

use crate::args::DemoArgs;
use crate::error::{CliError, Exit};
use crate::output::page::{Page, Part, save};
use crate::output::{COLUMNS, Output, clip, count, told, wrapped};
use stage::Stage;

const TITLE: &str = "A commit that only what really ran can open";
const LEAD: &str = "The words of the agent are read from a file. The repository, the programs, the tests, the sandbox, the keys, the log and the commit are real.";

const SAME_UID: &str = "The demo is the person here, as the same user as the agent, so the receipt says same_uid. Only managed settings allow that; else a person answers from elsewhere: concertina serve --approver-token-file.";

/// Lines of an output, or of a question, that are shown.
const DETAIL: usize = 9;

pub(crate) fn run(args: &DemoArgs, out: &mut Output) -> Result<u8, CliError> {
    let stage = Stage::set(args.keep.as_deref())?;
    let mut workspace = stage.workspace()?;
    let session = stage.session(&mut workspace)?;
    let agent = Script::parse(include_bytes!("agent.json"), "agent.json", "demo");
    let agent = agent.map_err(RuntimeError::from)?;
    let mut play =
        Play { stage: &stage, workspace, session, agent, seen: 0, parts: Vec::new(), out };
    play.out_line(TITLE)?;
    play.paragraph(LEAD)?;
    play.paragraph("Procedure commit-gate: lint → test → commit. git_commit opens when lint and test are proven and a person agreed, all of it about the very same files.")?;

    play.act(
        "The agent edits a file, says that the tests passed, and commits",
        "Shipping costs 5.90 now. Change the price and commit it.",
    )?;
    play.act("It runs the checks, and a person is asked", "Run the checks.")?;
    play.act(
        "One more edit: what was proven was proven of other files",
        "Write line 5 of price.sh as an if.",
    )?;
    let rejected = play.receipts_that_do_not_count()?;
    play.act("It runs the checks again, and they find a mistake", "Check it again.")?;
    play.a_person_agrees()?;
    play.act("The commit is open, once", "Commit it.")?;
    let commit = play.stage.git(&["log", "-1", "--oneline"])?;
    play.line("commit", &commit)?;
    play.end(args, &rejected, &commit)
}

/// The demo under way.
struct Play<'a> {
    stage: &'a Stage,
    workspace: Workspace,
    session: Session,
    agent: Script,
    /// Records that were told already.
    seen: u64,
    parts: Vec<Part>,
    out: &'a mut Output,
}

/// A receipt that somebody brings, and why it does not count.
struct Rejected {
    what: &'static str,
    code: &'static str,
    why: String,
}

impl Play<'_> {
    /// Gives the agent a task, and tells what came of it.
    fn act(&mut self, title: &str, task: &str) -> Result<(), CliError> {
        self.begin(title)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut agent = Agent {
            workspace: &mut self.workspace,
            session: &mut self.session,
            model: &self.agent,
            observer: &mut Silent,
            cancel: Cancel::default(),
        };
        runtime.block_on(agent.run(task))?;
        self.tell()?;
        self.stand()
    }

    fn begin(&mut self, title: &str) -> Result<(), CliError> {
        self.parts.push(Part { title: title.to_owned(), ..Part::default() });
        let number = self.parts.len();
        self.out_line(&format!("\n\u{1b}[1m{number}  {title}\u{1b}[0m"))
    }

    /// Tells what the log says that happened since.
    fn tell(&mut self) -> Result<(), CliError> {
        let events = self.session.events()?;
        let new = events.iter().position(|event| event.seq > self.seen).unwrap_or(events.len());
        let account =
            account(events.get(new..).unwrap_or_default(), &|blob| self.session.text(blob).ok());
        self.seen = events.last().map_or(self.seen, |event| event.seq);
        for line in account {
            self.show(line)?;
        }
        Ok(())
    }

    fn show(&mut self, told: Told) -> Result<(), CliError> {
        let paint = match told.about {
            About::Refused | About::Unproven => "\u{1b}[31m",
            About::Proven | About::Answer => "\u{1b}[32m",
            _ => "",
        };
        self.painted(told.about.word(), &told.text, paint)?;
        for line in told.detail.iter().flat_map(|detail| detail.lines()).take(DETAIL) {
            self.painted("", &clip(line, COLUMNS - 13), "\u{1b}[2m")?;
        }
        if let Some(part) = self.parts.last_mut() {
            part.lines.push(told);
        }
        Ok(())
    }

    /// Says where the procedure stands.
    fn stand(&mut self) -> Result<(), CliError> {
        let Some(card) = self.session.task_card() else { return Ok(()) };
        let hidden = card.waiting.keys().cloned().collect::<Vec<_>>().join(", ");
        let hidden =
            if hidden.is_empty() { hidden } else { format!("; not callable yet: {hidden}") };
        let text = format!("step {}; callable: {}{hidden}", card.state, card.tools.join(", "));
        self.line("now", &text)?;
        if let Some(part) = self.parts.last_mut() {
            part.standing = Some(format!("Now at {text}"));
        }
        Ok(())
    }

    /// Brings receipts that are old, of another run, or changed.
    fn receipts_that_do_not_count(&mut self) -> Result<Vec<Rejected>, CliError> {
        self.begin("Receipts that do not count: an old one, one of another run, a forged one")?;
        let old =
            issued(&self.session.events()?).into_iter().find(|one| one.receipt.tool == "test");
        // Another run of the same procedure, on the very same files.
        let mut other = self.stage.session(&mut self.workspace)?;
        let origin = concertina_core::session::Origin::user();
        other.call(&self.workspace, origin, "lint", json!({}), &Cancel::default())?;
        let copied = issued(&other.events()?).into_iter().next();
        let (Some(old), Some(copied)) = (old, copied) else { return Err(failed("no receipt")) };
        let mut forged = old.clone();
        forged.receipt.inputs_digest = self.session.state().run.as_ref().and_then(|run| run.inputs);
        let brought = [
            ("the receipt of the tests before the edit", old),
            ("a receipt of lint on these very files, copied from another run", copied),
            (
                "the old receipt with the digest of the files as they are now written into it",
                forged,
            ),
        ];
        let (mut rejected, mut last) = (Vec::new(), None);
        for (what, receipt) in brought {
            let found = self.reject(what, &receipt)?;
            let told = Told {
                seq: self.seen,
                about: About::Refused,
                text: format!("{what}: {} [{}]", found.why, found.code),
                detail: None,
                receipt: None,
            };
            self.show(told)?;
            rejected.push(found);
            last = Some(receipt);
        }
        // Nor can any be handed in: a session takes what it saw run, and statements of those whose keys the procedure names.
        let handed = last.map(|receipt| self.session.hear(&receipt.envelope())).transpose()?;
        if handed.is_none_or(|reply| reply.refusal.is_none()) {
            return Err(failed("a receipt was taken"));
        }
        self.tell()?;
        self.stand()?;
        Ok(rejected)
    }

    /// Why `receipt` proves nothing here and now.
    fn reject(&self, what: &'static str, receipt: &SignedReceipt) -> Result<Rejected, CliError> {
        let keys = Keyring::of(&self.stage.state())?;
        let run = self.session.state().run.as_ref();
        let procedures = self.workspace.procedures();
        let machine: Option<&Machine> =
            procedures.known.get("commit-gate").map(|file| &file.machine);
        let demand = Demand {
            run: run.map(|run| run.id.as_str()),
            workspace: run.and_then(|run| run.inputs),
            procedure: machine,
            now: concertina_runtime::now(),
            ..Demand::default()
        };
        let judged = judge([keys.verify(&receipt.envelope())], &demand);
        let fault = judged.receipts.into_iter().find_map(|one| one.fault);
        let fault = fault.ok_or_else(|| failed("a receipt counts that must not"))?;
        Ok(Rejected { what, code: fault.kind.code(), why: fault.reason })
    }

    fn a_person_agrees(&mut self) -> Result<(), CliError> {
        self.begin("A person agrees to exactly these files")?;
        self.paragraph(SAME_UID)?;
        if let Some(part) = self.parts.last_mut() {
            part.note = Some(SAME_UID.to_owned());
        }
        let card = self.session.task_card();
        let question = card.and_then(|card| card.lacking.into_iter().find_map(|one| one.question));
        let question = question.ok_or_else(|| failed("nobody is asked"))?;
        let refused = self.session.agree(&question, ApprovalScope::Once, Means::Command, None)?;
        if let Some(refusal) = refused {
            return Err(refusal.into());
        }
        self.tell()?;
        self.stand()
    }

    /// Verifies the log, and writes the page.
    fn end(mut self, args: &DemoArgs, rejected: &[Rejected], commit: &str) -> Result<u8, CliError> {
        let verdicts = Audit::of(&self.stage.state()).verify(None, &Against::default())?;
        let own = verdicts.iter().find(|verdict| verdict.session == self.session.id().as_str());
        let ok = !verdicts.is_empty() && verdicts.iter().all(|verdict| verdict.ok);
        let records: u64 = verdicts.iter().map(|verdict| verdict.records).sum();
        let events = self.session.events()?;
        let tools: Vec<ToolName> =
            self.session.snapshot().tools.iter().map(|tool| tool.name.clone()).collect();
        let claims = claims(
            &events,
            &|blob| self.session.text(blob).ok(),
            Claimable { tools: &tools, procedures: &[] },
        );
        let unbacked = claims.iter().filter(|claim| claim.standing != Standing::Backed).count();
        let receipts = issued(&events);
        self.begin("The audit")?;
        let in_order = if ok { "in order" } else { "changed" };
        let text = format!(
            "{} in {}: {in_order}; {} signed; {} of the agent that nothing in the log backs",
            count(usize::try_from(records).unwrap_or(usize::MAX), "record"),
            count(verdicts.len(), "log"),
            count(receipts.len(), "receipt"),
            count(unbacked, "claim"),
        );
        self.line("audit", &text)?;
        // The audit stands in the page's head.
        self.parts.pop();
        if let Some(file) = &args.html {
            let page = Page {
                title: TITLE,
                lead: LEAD,
                parts: &self.parts,
                outcome: Some(commit),
                verdict: own,
            };
            save(&page, file)?;
            self.out.say(format!("the run as a page: {}", file.display()));
        }
        if args.keep.is_some() {
            let (state, work) = (self.stage.state(), self.stage.work());
            self.out.say(format!(
                "kept; look closer in {}: CONCERTINA_HOME={} concertina audit show last",
                work.display(),
                state.display()
            ));
        }
        if self.out.is_json() {
            let rejected = rejected
                .iter()
                .map(|one| json!({"what": one.what, "code": one.code, "why": one.why}));
            let parts = self.parts.iter().map(
                |part| json!({"title": part.title, "lines": part.lines, "standing": part.standing}),
            );
            let receipts = receipts.iter().map(|one| {
                let receipt = &one.receipt;
                json!({
                    "seq": receipt.seq, "tool": receipt.tool, "exit": receipt.exit, "proves": receipt.proves,
                    "issuer": receipt.issuer, "assurance": receipt.assurance, "digest": receipt.digest(),
                })
            });
            self.out.json(&json!({
                "ok": ok,
                "session": self.session.id(),
                "parts": parts.collect::<Vec<Value>>(),
                "rejected": rejected.collect::<Vec<Value>>(),
                "receipts": receipts.collect::<Vec<Value>>(),
                "commit": commit,
                "audit": {"ok": ok, "records": records, "logs": verdicts.len()},
                "claims": {"checked": claims.len(), "unbacked": unbacked},
                "html": args.html,
            }))?;
        }
        Ok(u8::from(!ok))
    }

    fn line(&mut self, word: &str, text: &str) -> Result<(), CliError> {
        self.painted(word, text, "")
    }

    fn painted(&mut self, word: &str, text: &str, paint: &str) -> Result<(), CliError> {
        let end = if paint.is_empty() { "" } else { "\u{1b}[0m" };
        for (at, line) in wrapped(text, COLUMNS - 13).iter().enumerate() {
            let word = if at == 0 { word } else { "" };
            self.out_line(&format!("   {word:<9} {paint}{}{end}", told(line)))?;
        }
        Ok(())
    }

    fn paragraph(&mut self, text: &str) -> Result<(), CliError> {
        for line in wrapped(text, COLUMNS - 3) {
            self.out_line(&format!("   {line}"))?;
        }
        Ok(())
    }

    /// Writes a line, where no JSON is wanted.
    fn out_line(&mut self, text: &str) -> Result<(), CliError> {
        if self.out.is_json() { Ok(()) } else { self.out.lines(text) }
    }
}

/// The demo did not go as it has to.
fn failed(what: &str) -> CliError {
    CliError::new(
        Exit::Internal,
        "DEMO_FAILED",
        format!("the demo did not go as it has to: {what}"),
    )
    .help("run it again with --keep DIR, and look at the log there")
}
