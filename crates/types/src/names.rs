//! Names of things. Each parses once and is then known to be good.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits;

/// A text that cannot be a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing is left of it.
    #[error("a {0} cannot be empty")]
    Empty(&'static str),
    /// It is longer than [`limits::NAME_BYTES`].
    #[error("this {what} is {len} bytes long; the limit is {}", limits::NAME_BYTES)]
    TooLong {
        /// The kind of name.
        what: &'static str,
        /// Its length in bytes.
        len: usize,
    },
    /// It holds a control character or another that could forge a line.
    #[error("a {what} cannot hold the character {character:?}")]
    Character {
        /// The kind of name.
        what: &'static str,
        /// The character.
        character: char,
    },
}

fn checked(what: &'static str, text: &str, also: fn(char) -> bool) -> Result<(), NameError> {
    if text.trim().is_empty() {
        return Err(NameError::Empty(what));
    }
    if text.len() > limits::NAME_BYTES {
        return Err(NameError::TooLong { what, len: text.len() });
    }
    match text.chars().find(|&c| c.is_control() || turns_text(c) || also(c)) {
        Some(character) => Err(NameError::Character { what, character }),
        None => Ok(()),
    }
}

/// Characters that change the direction of what follows: a name would look like another.
fn turns_text(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $forbidden:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Takes `text` as a name, or says why it cannot be one.
            pub fn new(text: impl Into<String>) -> Result<Self, NameError> {
                let text = text.into();
                checked($what, &text, $forbidden)?;
                Ok(Self(text))
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = NameError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::new(text)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::new(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
            }
        }
    };
}

name!(
    /// How a skill is addressed: its name, or `plugin/name` where a plugin brought it.
    ///
    /// Names that other programs may refuse (capitals, blanks, non-ASCII letters) are accepted;
    /// [`SkillId::is_portable`] tells them apart.
    ///
    /// ```
    /// use concertina_types::SkillId;
    /// assert!(SkillId::new("sales-analytics")?.is_portable());
    /// assert!(!SkillId::new("园艺助手")?.is_portable());
    /// # Ok::<(), concertina_types::NameError>(())
    /// ```
    SkillId,
    "skill name",
    |_| false
);

name!(
    /// How a tool is addressed: `name`, or `group/name`.
    ///
    /// ```
    /// use concertina_types::ToolName;
    /// assert_eq!(ToolName::new("sql/query")?.as_str(), "sql/query");
    /// # Ok::<(), concertina_types::NameError>(())
    /// ```
    ToolName,
    "tool name",
    char::is_whitespace
);

name!(
    /// How a session is addressed.
    ///
    /// ```
    /// assert!(concertina_types::SessionId::new("s-0123abcd").is_ok());
    /// assert!(concertina_types::SessionId::new("../x").is_err());
    /// ```
    SessionId,
    "session id",
    |c| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')) || c == '/'
);

impl SkillId {
    /// Whether every known client accepts the name: lower-case ASCII letters, digits and single
    /// inner hyphens, at most 64 characters (the Agent Skills standard).
    pub fn is_portable(&self) -> bool {
        let name = self.name();
        name.len() <= 64
            && !name.starts_with('-')
            && !name.ends_with('-')
            && !name.contains("--")
            && name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))
    }

    /// The part after the plugin, or the whole.
    pub fn name(&self) -> &str {
        self.0.rsplit_once('/').map_or(self.0.as_str(), |(_, name)| name)
    }

    /// The plugin that brought the skill.
    pub fn plugin(&self) -> Option<&str> {
        self.0.rsplit_once('/').map(|(plugin, _)| plugin)
    }
}

impl ToolName {
    /// The group before the last `/`, where there is one.
    pub fn group(&self) -> Option<&str> {
        self.0.rsplit_once('/').map(|(group, _)| group)
    }
}
