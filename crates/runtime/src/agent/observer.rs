//! Watching an agent work, as it happens.

use std::collections::BTreeMap;

use concertina_core::session::Answer;
use concertina_types::{ModelCall, SessionId, SkillId, Tokens};

/// Something that just happened.
#[derive(Debug)]
pub enum Moment<'a> {
    /// A person gave a task.
    Task(&'a str),
    /// A turn began.
    Turn {
        /// Its number.
        turn: u32,
    },
    /// A request goes to the model.
    Asked {
        /// What it takes, by part, with `total`.
        tokens: &'a BTreeMap<String, Tokens>,
        /// What it would take with everything loaded at the start.
        preloaded: Tokens,
    },
    /// A piece of the model's text arrived.
    Text(&'a str),
    /// The model finished its message.
    Said {
        /// All it said.
        text: &'a str,
        /// What it wants called.
        calls: &'a [ModelCall],
    },
    /// A call was answered.
    Answered {
        /// The call.
        call: &'a ModelCall,
        /// The answer.
        answer: &'a Answer,
    },
    /// A skill began to run in a session of its own.
    Forked {
        /// Its session.
        child: &'a SessionId,
        /// The skill.
        skill: &'a SkillId,
    },
    /// The conversation was folded to make room.
    Folded,
    /// The task was answered.
    Finished(&'a str),
}

/// Whoever watches.
pub trait Observer {
    /// Something just happened.
    fn on(&mut self, moment: Moment<'_>);
}

/// Watches nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn on(&mut self, _: Moment<'_>) {}
}
