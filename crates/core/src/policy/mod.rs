//! What may be seen and done, and why. Deny is monotone; nothing widens.

mod access;
mod code;
mod decision;
mod execute;
mod fill;
mod host;
mod path;
mod path_pattern;
mod pattern;
mod reach;
mod request;
mod resolve;
mod roots;
mod rule;
mod rules;
mod scope;
mod settings;
mod shell;
mod suggest;

pub use access::Access;
pub use code::code_words;
pub use decision::{Decision, Effect, Reason};
pub use execute::{CommandPattern, CommandRefused, allowed_command, command_words};
pub use fill::fill;
pub use host::{
    Host, HostError, HostName, HostRule, HostRuleError, NetworkError, NetworkRefused, NetworkRules,
    not_public,
};
pub use path::{FilePath, PathRefused};
pub use path_pattern::{PathPattern, PathPatternError};
pub use pattern::{Pattern, PatternError};
pub use reach::{Connection, Reach};
pub use request::Request;
pub use resolve::{DeclarationError, SCOPE_PATTERNS, Surroundings, declaration_faults, resolve};
pub use roots::{Root, Roots};
pub use rule::{Action, Asked, Places, Reading, Rule, RuleError};
pub use rules::{Caller, OWNER, Policy, Principal, Rules};
pub use scope::{Grant, Part, Scope};
pub use suggest::{Denial, Suggestion, Withheld, suggest};
