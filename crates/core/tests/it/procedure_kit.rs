//! Runs of procedures as a session drives them, and procedures made up at random.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use concertina_core::procedure::{Machine, Moment, Run, follow};
use concertina_format::procedure::{Checkpoint, Condition, Issuer};
use concertina_types::{
    Digest, Fact, FieldValue, RECEIPT_VERSION, Receipt, Separation, SessionId, SignedReceipt,
    Timestamp,
};

/// The number that the environment gives under `name`, or the usual one.
#[allow(clippy::disallowed_methods, reason = "a test is told how long it may take")]
pub(crate) fn asked_for(name: &str, usual: usize) -> usize {
    std::env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(usual)
}

/// Numbers that look random and are the same each time.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % end
    }

    /// Whether one of `of` comes up.
    pub(crate) fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    pub(crate) fn of<'a, T>(&mut self, some: &'a [T]) -> &'a T {
        &some[self.below(some.len())]
    }
}

/// The workspace with this number, by digest.
pub(crate) fn work(number: u64) -> Digest {
    Digest::of(&number.to_le_bytes())
}

/// A run, and what is around it.
#[derive(Debug, Clone)]
pub(crate) struct Driven<'m> {
    pub(crate) machine: &'m Machine,
    pub(crate) run: Run,
    pub(crate) work: u64,
    pub(crate) now: i64,
    pub(crate) event: u64,
    template: Receipt,
}

/// Moves in a row after which a run is taken to have no rest.
const MOVES: usize = 64;

impl<'m> Driven<'m> {
    pub(crate) fn new(machine: &'m Machine) -> Self {
        let start = machine.start().unwrap().name.clone();
        let mut run = None;
        let began = Fact::ProcedureStarted {
            run: "r".to_owned(),
            procedure: machine.document().name.clone(),
            digest: machine.digest(),
            texts: Vec::new(),
            state: start,
            inputs: Some(work(0)),
            listed_by: None,
        };
        follow(&mut run, &began, 0);
        let run = run.unwrap();
        let template = Receipt {
            v: RECEIPT_VERSION,
            run: "r".to_owned(),
            session: SessionId::new("s").unwrap(),
            procedure: machine.document().name.clone(),
            procedure_digest: machine.digest(),
            state: String::new(),
            seq: 0,
            prev: None,
            tool: String::new(),
            tool_digest: work(0),
            args_digest: work(0),
            started: Timestamp(0),
            ended: Timestamp(0),
            exit: 0,
            outputs_digest: work(0),
            parsed: BTreeMap::new(),
            inputs_digest: None,
            proves: Vec::new(),
            refuses: Vec::new(),
            issuer: "executor".to_owned(),
            assurance: Separation::SameUid,
            tier: None,
            nonce: String::new(),
        };
        Self { machine, run, work: 0, now: 1_000_000_000, event: 1, template }
    }

    pub(crate) fn moment(&self) -> Moment {
        Moment { now: Timestamp(self.now), event: self.event }
    }

    /// Goes on until nothing is due; says whether it came to rest.
    pub(crate) fn settle(&mut self) -> bool {
        for _ in 0..MOVES {
            let Some(next) = self.machine.next(&self.run, self.moment()) else { return true };
            let moved = Fact::ProcedureMoved {
                from: self.run.state.clone(),
                to: next.to.name.clone(),
                why: next.why.as_str().to_owned(),
                held: self.machine.held(&self.run, self.moment()),
                forgets: next.to.show.tools.iter().map(|shown| shown.tool.clone()).collect(),
                ended: next.to.is_final,
            };
            self.event += 1;
            self.follow(&moved);
        }
        false
    }

    /// What an event makes of the run.
    fn follow(&mut self, fact: &Fact) {
        let mut run = Some(std::mem::take(&mut self.run));
        follow(&mut run, fact, self.event);
        self.run = run.unwrap();
    }

    /// The workspace is looked at.
    pub(crate) fn observe(&mut self, number: u64) {
        self.work = number;
        self.follow(&Fact::ProcedureObserved {
            inputs: Some(work(number)),
            expired: Vec::new(),
            replaced: Vec::new(),
        });
    }

    /// It is said that proofs grew too old.
    pub(crate) fn expire(&mut self, expired: Vec<String>) {
        let inputs = Some(work(self.work));
        self.follow(&Fact::ProcedureObserved { inputs, expired, replaced: Vec::new() });
    }

    /// Whether `tool` is shown and its guard holds.
    pub(crate) fn can_call(&self, tool: &str) -> bool {
        self.machine.shows(&self.run, tool, self.moment()).is_some_and(|(_, is_open)| is_open)
    }

    /// A result of `tool` that ended with `exit`. `proves` says of each checkpoint whether it would be proven, as far
    /// as what it expects of the exit code allows.
    pub(crate) fn receive(&mut self, tool: &str, exit: i64, proves: &dyn Fn(&Checkpoint) -> bool) {
        let parsed = BTreeMap::from([("exit".to_owned(), FieldValue::Number(exit))]);
        let of_tool = self.machine.document().checkpoints.iter().filter(|one| match &one.issuer {
            Issuer::Tool { tool: issuer, .. } => issuer == tool,
            Issuer::Webhook { .. } | Issuer::Human { .. } => false,
        });
        let decided = of_tool.map(|one| {
            let is_expected =
                one.expect.iter().all(|condition: &Condition| condition.holds(&parsed));
            let is_proven = is_expected && proves(one);
            (one.name.clone(), (!is_proven).then(|| "it is not".to_owned()))
        });
        let decided: BTreeMap<_, _> = decided.collect();
        self.issue(tool, "executor", parsed, &decided);
    }

    /// Somebody says yes or no to `checkpoint`.
    pub(crate) fn say(&mut self, checkpoint: &Checkpoint, is_yes: bool) {
        let is_person = matches!(checkpoint.issuer, Issuer::Human { .. });
        let decided =
            BTreeMap::from([(checkpoint.name.clone(), (!is_yes).then(|| "it is not".to_owned()))]);
        let who = if is_person { "human" } else { "webhook" };
        self.issue(who, who, BTreeMap::new(), &decided);
    }

    fn issue(
        &mut self,
        tool: &str,
        issuer: &str,
        parsed: BTreeMap<String, FieldValue>,
        decided: &BTreeMap<String, Option<String>>,
    ) {
        self.event += 1;
        let mut receipt = self.template.clone();
        receipt.tool = tool.to_owned();
        receipt.issuer = issuer.to_owned();
        receipt.state.clone_from(&self.run.state);
        receipt.seq = self.run.receipts + 1;
        receipt.prev = self.run.last;
        receipt.ended = Timestamp(self.now);
        receipt.nonce = self.event.to_string();
        receipt.parsed = parsed;
        receipt.inputs_digest = Some(work(self.work));
        let (key, signature) = (String::new(), String::new());
        let receipt = Box::new(SignedReceipt { receipt, key, signature });
        self.follow(&Fact::ReceiptIssued { receipt, decided: decided.clone() });
    }

    /// An invariant that what is shown now breaks.
    pub(crate) fn bypass(&self) -> Option<String> {
        let mut invariants = self.machine.document().invariants.iter();
        let broken = invariants.find(|invariant| {
            self.can_call(&invariant.never)
                && !self.machine.passes(&self.run, &invariant.without, self.moment())
        });
        broken.map(|invariant| format!("{} without {}", invariant.never, invariant.without))
    }
}

/// What a procedure is made up of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) states: usize,
    pub(crate) checkpoints: usize,
}

/// A procedure at random. Not every one can be followed.
pub(crate) fn made_up(dice: &mut Dice, size: Size) -> String {
    let mut text = "sop: made-up\ncheckpoints:\n".to_owned();
    for number in 0..size.checkpoints {
        let issuer = match dice.below(6) {
            0 => "human: {role: boss, challenge: yes}".to_owned(),
            1 => format!("webhook: {{key: k{number}}}, expect: {{status: success}}"),
            _ => format!("tool: t{}", dice.below(2)),
        };
        let expect = match dice.below(8) {
            0 | 1 if issuer.starts_with("tool") => ", expect: {exit: \"<=1\"}",
            // Where another one expects 0, no call proves both.
            2 if issuer.starts_with("tool") => ", expect: {exit: 1}",
            _ => "",
        };
        let binds = if dice.one_in(2) { ", binds: workspace" } else { "" };
        let age = if dice.one_in(4) { ", max_age: 1h" } else { "" };
        let _ = writeln!(text, "  c{number}: {{{issuer}{expect}{binds}{age}}}");
    }
    text.push_str("states:\n");
    for number in 0..size.states {
        let mut tools: Vec<String> =
            (0..2).filter(|_| !dice.one_in(4)).map(|tool| format!("t{tool}")).collect();
        if dice.one_in(2) {
            let push = match dice.below(4) {
                0 => "push".to_owned(),
                _ => format!("push: {{when: \"{}\"}}", guard(dice, size, 1)),
            };
            tools.push(if push == "push" { push } else { format!("{{{push}}}") });
        }
        let exits: Vec<String> = (0..=dice.below(2))
            .map(|_| {
                let to = if dice.one_in(3) { dice.below(size.states + 1) } else { number + 1 };
                format!("{{to: s{to}, when: \"{}\"}}", guard(dice, size, 2))
            })
            .collect();
        let next =
            if dice.one_in(12) { String::new() } else { format!(", next: [{}]", exits.join(", ")) };
        let stale = if dice.one_in(3) {
            format!(", on_stale: {{goto: s{}}}", dice.below(size.states + 1))
        } else {
            String::new()
        };
        let fail = if dice.one_in(4) {
            format!(
                ", on_fail: {{max: {}, then: s{}}}",
                1 + dice.below(2),
                dice.below(size.states + 1)
            )
        } else {
            String::new()
        };
        let tools = tools.join(", ");
        let _ = writeln!(text, "  s{number}: {{show: {{tools: [{tools}]}}{next}{stale}{fail}}}");
    }
    let invariant = guard(dice, size, 1);
    let _ = writeln!(text, "  s{}: {{final: true}}\ninvariants:", size.states);
    let _ = writeln!(text, "  - {{never: push, without: \"{invariant}\"}}");
    text
}

fn guard(dice: &mut Dice, size: Size, depth: usize) -> String {
    match dice.below(if depth == 0 { 6 } else { 10 }) {
        0..=4 => format!("c{}", dice.below(size.checkpoints)),
        5 => match dice.below(4) {
            0 => format!("!c{}", dice.below(size.checkpoints)),
            1 => format!("receipt(t{}).exit == {}", dice.below(2), dice.below(2)),
            2 => format!("receipt(t{}).exit != 0", dice.below(2)),
            _ => "receipt(push).exit == 0".to_owned(),
        },
        6..=8 => {
            format!("({} && {})", guard(dice, size, depth - 1), guard(dice, size, depth - 1))
        }
        _ => format!("({} || {})", guard(dice, size, depth - 1), guard(dice, size, depth - 1)),
    }
}
