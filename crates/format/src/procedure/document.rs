//! What a procedure says.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use concertina_types::Position;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::expect::Condition;
use super::guard::Guard;
use crate::results::ResultParser;

/// A procedure whose names are all known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Procedure {
    /// What it is called.
    pub name: String,
    /// Its version, as written.
    pub version: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// How well each gated tool has to be held, at least.
    pub require: Option<Assurance>,
    /// What of the workspace receipts are bound to.
    pub inputs: Inputs,
    /// What can be proven, in the order of the text.
    pub checkpoints: Vec<Checkpoint>,
    /// Its states, in the order of the text; the first is where it starts.
    pub states: Vec<State>,
    /// What must never be.
    pub invariants: Vec<Invariant>,
}

/// What of a workspace counts as input of the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inputs {
    /// The directory, relative to the workspace.
    pub root: String,
    /// Files that do not count, as globs.
    pub ignore: Vec<String>,
}

impl Default for Inputs {
    fn default() -> Self {
        Self { root: ".".to_owned(), ignore: Vec::new() }
    }
}

/// How well it is ensured that an effect does not happen outside of the procedure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Assurance {
    /// The client could do the same by other means, and nothing would stop it.
    Advisory,
    /// The client could, and something that it can go around would stop it: a hook.
    Hooked,
    /// The effect exists only through Concertina.
    Enforced,
}

impl fmt::Display for Assurance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Advisory => "advisory",
            Self::Hooked => "hooked",
            Self::Enforced => "enforced",
        })
    }
}

/// Something that can be proven.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Checkpoint {
    /// What guards call it.
    pub name: String,
    /// The one thing that can prove it.
    pub issuer: Issuer,
    /// What the receipt has to say; all of it.
    pub expect: Vec<Condition>,
    /// Whether it holds only for the very workspace that it was proven on.
    pub binds: bool,
    /// How long it holds.
    pub max_age: Option<Age>,
    /// Inputs that proving it may change.
    pub writes: Writes,
    /// Where it stands.
    #[serde(skip)]
    pub at: Position,
}

/// Who can prove a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Issuer {
    /// A tool that is run through Concertina.
    Tool {
        /// Which.
        tool: String,
        /// Arguments that the call has to have, by name.
        args: BTreeMap<String, Value>,
        /// How what it produces is read.
        parse: ResultParser,
        /// The file that is read in place of its output, relative to the workspace.
        from: Option<String>,
    },
    /// A statement that somebody signs and sends.
    Webhook {
        /// The Ed25519 key that signs it, in base64.
        key: String,
    },
    /// A person.
    Human {
        /// In which role.
        role: String,
        /// What they agree to, with `{workspace.digest}`, `{run}` and `{state}` filled in.
        challenge: String,
    },
}

/// Inputs that a run may change, as globs.
pub type Writes = Vec<String>;

/// How long something holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Age {
    /// So many milliseconds.
    Time(i64),
    /// So many events of the session.
    Events(u64),
}

/// A text that is no length of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is no length of time: expected a number with s, m, h or d, such as `30m`")]
pub struct AgeError;

impl FromStr for Age {
    type Err = AgeError;

    /// A number with `s`, `m`, `h` or `d`, or a number of events: `50 events`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        age(text).ok_or(AgeError)
    }
}

fn age(text: &str) -> Option<Age> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(digits)?;
    let number: i64 = number.parse().ok().filter(|number| *number > 0)?;
    let seconds = match unit.trim() {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "event" | "events" => return u64::try_from(number).ok().map(Age::Events),
        _ => return None,
    };
    number.checked_mul(seconds)?.checked_mul(1_000).map(Age::Time)
}

/// A step of the procedure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct State {
    /// What it is called.
    pub name: String,
    /// What can be seen and used in it.
    pub show: Show,
    /// The ways out, in order: the first whose guard holds is taken.
    pub exits: Vec<Exit>,
    /// What happens where a check fails.
    pub on_fail: Option<OnFail>,
    /// Where to go when a checkpoint that held on entering holds no longer, because the work changed.
    pub on_stale: Option<String>,
    /// Whether the procedure ends here.
    pub is_final: bool,
    /// Who has to act where it ends here, in the author's word: `human`.
    pub needs: Option<String>,
    /// The procedure that begins when this one ends here.
    pub then: Option<String>,
    /// Where it stands.
    #[serde(skip)]
    pub at: Position,
}

/// What a state shows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Show {
    /// Tools that can be called; no other can.
    pub tools: Vec<ShownTool>,
    /// Skills that can be opened; any, where the state says nothing of them.
    pub skills: Option<Vec<String>>,
    /// Results that can be read again; any, where the state says nothing of them.
    pub evidence: Option<Vec<ShownEvidence>>,
}

/// A tool in a state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShownTool {
    /// Its name.
    pub tool: String,
    /// When; always in this state, where nothing is said.
    pub when: Option<Guard>,
    /// Where it stands.
    #[serde(skip)]
    pub at: Position,
}

/// The results of one tool, in a state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownEvidence {
    /// The tool that produced them.
    pub tool: String,
    /// How much of them: `L1` where it is, `L2` a fragment, `L3` everything.
    pub level: u8,
}

/// A way out of a state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Exit {
    /// Where to.
    pub to: String,
    /// When.
    pub when: Guard,
    /// Where it stands.
    #[serde(skip)]
    pub at: Position,
}

/// What happens after failed checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OnFail {
    /// After so many of them in one visit.
    pub max: u32,
    /// Where to.
    pub to: String,
}

/// Something that must never be, whatever the order of calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Invariant {
    /// This tool runs…
    pub never: String,
    /// …while this does not hold.
    pub without: Guard,
    /// Where it stands.
    #[serde(skip)]
    pub at: Position,
}

impl Procedure {
    /// The state called `name`, and its place.
    pub fn state(&self, name: &str) -> Option<(usize, &State)> {
        self.states.iter().enumerate().find(|(_, state)| state.name == name)
    }

    /// The checkpoint called `name`.
    pub fn checkpoint(&self, name: &str) -> Option<&Checkpoint> {
        self.checkpoints.iter().find(|checkpoint| checkpoint.name == name)
    }

    /// Whether what `tool` does can move the procedure: it proves a checkpoint, or a guard asks for its receipt.
    pub fn decides(&self, tool: &str) -> bool {
        let proves = |one: &Checkpoint| matches!(&one.issuer, Issuer::Tool { tool: issuer, .. } if issuer == tool);
        let exits = self.states.iter().flat_map(|state| state.exits.iter().map(|exit| &exit.when));
        let shown = self.states.iter().flat_map(|state| &state.show.tools);
        let guards = exits.chain(shown.filter_map(|shown| shown.when.as_ref()));
        let asks = |leaf: &Guard| matches!(leaf, Guard::Receipt { tool: of, .. } if of == tool);
        self.checkpoints.iter().any(proves) || guards.flat_map(Guard::leaves).any(asks)
    }

    /// Checkpoints that tools prove and that nothing takes back: they stay proven, whatever changes afterwards.
    pub fn unbound(&self) -> impl Iterator<Item = &Checkpoint> {
        let lasts = |one: &&Checkpoint| {
            matches!(one.issuer, Issuer::Tool { .. }) && !one.binds && one.max_age.is_none()
        };
        self.checkpoints.iter().filter(lasts)
    }

    /// Tools that the procedure stands before: those that cannot be called at its start, and those that an invariant
    /// names.
    pub fn gated_tools(&self) -> Vec<&str> {
        let free = |tool: &str| {
            let start =
                self.states.first().map(|state| state.show.tools.as_slice()).unwrap_or_default();
            start.iter().any(|shown| shown.tool == tool && shown.when.is_none())
        };
        let shown = self.states.iter().flat_map(|state| &state.show.tools);
        let named = shown.map(|shown| shown.tool.as_str()).filter(|tool| !free(tool));
        let never = self.invariants.iter().map(|one| one.never.as_str());
        let mut gated: Vec<&str> = named.chain(never).collect();
        gated.sort_unstable();
        gated.dedup();
        gated
    }
}
