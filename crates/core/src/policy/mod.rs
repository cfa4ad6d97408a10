//! What may be seen and done, and why. Deny is monotone; nothing widens.

mod decision;
mod execute;
mod grant;
mod host;
mod pattern;
mod rules;

pub use decision::{Decision, Effect, Reason};
pub use execute::{CommandRefused, allowed_command};
pub use grant::Grant;
pub use host::{
    Host, HostError, HostName, HostRule, HostRuleError, NetworkError, NetworkRefused, NetworkRules,
    not_public,
};
pub use pattern::{Pattern, PatternError};
pub use rules::{OWNER, Policy, Principal, Rules};
