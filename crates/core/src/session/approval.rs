//! Consent: what waits for a person, and what a person agreed to.
//!
//! A question is about one [`Action`]: these arguments, these targets as they really are, these bytes.
//! Its [`Action::key`] covers all that the person is shown and nothing else, so that a yes never
//! reaches anything that they did not see.

use concertina_types::{ApprovalScope, Blob, Digest, Timestamp, canonical_json, limits};
use serde::{Deserialize, Serialize};

use super::answer::Refusal;

/// One action as it would really happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// What was asked for, as in other records, such as `call files/delete`.
    pub request: String,
    /// What it would do: names and values, in the order in which they are shown.
    pub details: Vec<(String, String)>,
    /// What has to be typed for it, where a yes is not enough.
    pub phrase: Option<String>,
}

impl Action {
    /// The digest of everything that a person is shown of it.
    pub fn key(&self) -> Digest {
        let value = serde_json::json!([self.request, self.details, self.phrase]);
        Digest::of(canonical_json(&value).as_bytes())
    }

    /// The action in words, a line for each detail. Nothing in a value can hide or forge a line.
    ///
    /// ```
    /// use concertina_core::session::Action;
    /// let action = Action {
    ///     request: "call files/delete".into(),
    ///     details: vec![("path".into(), "a\nb".into())],
    ///     phrase: None,
    /// };
    /// assert_eq!(action.text(), "call files/delete\n  path: a\\nb");
    /// ```
    pub fn text(&self) -> String {
        let mut text = escaped(&self.request);
        for (name, value) in &self.details {
            text.push_str("\n  ");
            text.push_str(&escaped(name));
            text.push_str(": ");
            text.push_str(&shown(value));
        }
        text
    }
}

/// A value within the room that one has. What is left out is counted, and its digest is shown.
fn shown(value: &str) -> String {
    let room = value.floor_char_boundary(limits::ACTION_VALUE_BYTES);
    match value.get(..room).filter(|kept| kept.len() < value.len()) {
        None => escaped(value),
        Some(kept) => {
            let digest = Digest::of(value.as_bytes()).short();
            format!("{} … ({} bytes in all, sha256 {digest}…)", escaped(kept), value.len())
        }
    }
}

/// `text` on one line, with everything that a reader does not see, or that moves other text, written out.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' | '\\' => out.extend(c.escape_default()),
            c if is_unseen(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// A question to a person, and what is said where there is none to ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ask {
    /// Its name, under which it is answered.
    pub id: String,
    /// The digest of the action.
    pub key: Digest,
    /// What was asked for.
    pub request: String,
    /// The action in words, as [`Action::text`] puts it.
    pub action: String,
    /// Why it asks.
    pub why: String,
    /// What has to be typed for it, where a yes is not enough. Then consent is for once only.
    pub phrase: Option<String>,
    /// Whether it goes beyond what was declared.
    pub widens: bool,
    /// The checkpoint of a procedure that it decides on, where it is one: then it is a yes or a no to this very work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// What whoever asked is told where nobody answers.
    #[serde(skip)]
    pub otherwise: Refusal,
}

/// How a question stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answered {
    /// Not at all yet.
    No,
    /// With consent.
    Given(ApprovalScope),
    /// With consent for once, and that was used.
    Used,
    /// With a refusal.
    Refused,
    /// Not any more: another question took its place.
    Withdrawn,
}

/// A question that was asked in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// The digest of the action.
    pub key: Digest,
    /// What was asked for.
    pub request: String,
    /// The action as it was put to the person.
    pub action: Option<Blob>,
    /// Why it asks, in words.
    pub why: String,
    /// What has to be typed.
    pub phrase: Option<String>,
    /// When it was asked, or answered.
    pub at: Timestamp,
    /// The step in which that was.
    pub step: u32,
    /// How it stands.
    pub answered: Answered,
    /// The checkpoint of a procedure that it decides on, where it is one.
    pub checkpoint: Option<String>,
}

impl Approval {
    /// Whether it waits for an answer at `now`.
    pub fn is_open(&self, now: Timestamp) -> bool {
        self.answered == Answered::No && self.is_fresh(now)
    }

    /// Whether a no to it can still be turned into a yes: that of a checkpoint, since nothing but the work would ask
    /// again.
    pub fn can_turn(&self, now: Timestamp) -> bool {
        self.answered == Answered::Refused && self.checkpoint.is_some() && self.is_fresh(now)
    }

    /// Whether it lets its action happen at `now`. What was given for once does not wait for ever.
    pub fn holds(&self, now: Timestamp) -> bool {
        match self.answered {
            Answered::Given(ApprovalScope::Once) => self.is_fresh(now),
            Answered::Given(ApprovalScope::Session | ApprovalScope::Digest) => true,
            Answered::No | Answered::Used | Answered::Refused | Answered::Withdrawn => false,
        }
    }

    fn is_fresh(&self, now: Timestamp) -> bool {
        now.0.saturating_sub(self.at.0) <= limits::APPROVAL_SECONDS.saturating_mul(1_000)
    }
}
