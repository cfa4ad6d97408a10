//! Guards: a small language that always answers yes or no.
//!
//! ```text
//! guard      = all *( "||" all )
//! all        = one *( "&&" one )
//! one        = "!" one | "(" guard ")" | "true" | "false" | checkpoint | receipt
//! receipt    = "receipt(" tool ")." field compare value
//! compare    = "==" | "!=" | "<=" | ">=" | "<" | ">"
//! value      = integer | "true" | "false" | text in quotes
//! ```
//!
//! Names of checkpoints and fields are letters, digits, `_`, `-` and `.`; names of tools also have `/`. Nothing else
//! is a guard: a sentence releases nothing.

use std::fmt;
use std::str::FromStr;

use concertina_types::FieldValue;
use serde::Serialize;

use super::expect::{Compare, Condition, NUMBERS, is_beyond};

/// Parentheses and exclamation marks within each other: more is no condition that a person can check.
const DEPTH: usize = 32;
/// A guard, in bytes.
const BYTES: usize = 4 * 1024;

/// A condition over checkpoints and receipts.
///
/// ```
/// use concertina_format::procedure::Guard;
/// let guard: Guard = "lint.ok && (test.ok || receipt(ci).status == \"success\")".parse()?;
/// assert_eq!(guard.to_string(), "lint.ok && (test.ok || receipt(ci).status == \"success\")");
/// assert!("the tests look good".parse::<Guard>().is_err());
/// # Ok::<(), concertina_format::procedure::GuardError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Guard {
    /// Always or never.
    Constant(bool),
    /// A checkpoint holds.
    Holds(String),
    /// The last receipt of a tool says something. Without one it says nothing.
    Receipt {
        /// The tool.
        tool: String,
        /// What it says.
        condition: Condition,
    },
    /// It does not hold.
    Not(Box<Guard>),
    /// All of them hold.
    All(Vec<Guard>),
    /// One of them holds.
    Any(Vec<Guard>),
}

impl Guard {
    /// Whether it holds, given which checkpoints hold and which receipts say what.
    pub fn holds(
        &self,
        checkpoint: &dyn Fn(&str) -> bool,
        receipt: &dyn Fn(&str, &Condition) -> bool,
    ) -> bool {
        match self {
            Self::Constant(is) => *is,
            Self::Holds(name) => checkpoint(name),
            Self::Receipt { tool, condition } => receipt(tool, condition),
            Self::Not(inner) => !inner.holds(checkpoint, receipt),
            Self::All(parts) => parts.iter().all(|part| part.holds(checkpoint, receipt)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(checkpoint, receipt)),
        }
    }

    /// Every checkpoint that it names.
    pub fn checkpoints(&self) -> Vec<&str> {
        self.leaves().into_iter().filter_map(Guard::checkpoint).collect()
    }

    fn checkpoint(&self) -> Option<&str> {
        match self {
            Self::Holds(name) => Some(name),
            _ => None,
        }
    }

    /// What it is made of.
    pub fn leaves(&self) -> Vec<&Guard> {
        match self {
            Self::Not(inner) => inner.leaves(),
            Self::All(parts) | Self::Any(parts) => parts.iter().flat_map(Guard::leaves).collect(),
            leaf => vec![leaf],
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, is_inner: bool) -> fmt::Result {
        let (parts, between) = match self {
            Self::All(parts) => (parts, " && "),
            Self::Any(parts) => (parts, " || "),
            Self::Constant(is) => return write!(f, "{is}"),
            Self::Holds(name) => return f.write_str(name),
            Self::Receipt { tool, condition } => return write!(f, "receipt({tool}).{condition}"),
            Self::Not(inner) => {
                f.write_str("!")?;
                return inner.write(f, true);
            }
        };
        if is_inner {
            f.write_str("(")?;
        }
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                f.write_str(between)?;
            }
            part.write(f, true)?;
        }
        if is_inner { f.write_str(")") } else { Ok(()) }
    }
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, false)
    }
}

impl Serialize for Guard {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Why a text is no guard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct GuardError {
    /// The byte at which it ends to be one.
    pub at: usize,
    /// What is wrong there.
    pub what: String,
}

impl FromStr for Guard {
    type Err = GuardError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.len() > BYTES {
            return Err(GuardError {
                at: BYTES,
                what: format!("a guard has at most {BYTES} bytes"),
            });
        }
        let mut reader = Reader { text, at: 0, depth: 0 };
        let guard = reader.any()?;
        reader.skip();
        match reader.rest() {
            "" => Ok(guard),
            rest => Err(reader.error(format!(
                "`{}` does not continue a guard: `&&`, `||` or the end is expected",
                first_word(rest)
            ))),
        }
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn error(&self, what: impl Into<String>) -> GuardError {
        GuardError { at: self.at, what: what.into() }
    }

    fn skip(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Takes `token` where it comes next.
    fn take(&mut self, token: &str) -> bool {
        self.skip();
        let is_next = self.rest().starts_with(token);
        if is_next {
            self.at += token.len();
        }
        is_next
    }

    fn any(&mut self) -> Result<Guard, GuardError> {
        let mut parts = vec![self.all()?];
        while self.take("||") {
            parts.push(self.all()?);
        }
        Ok(joined(parts, Guard::Any))
    }

    fn all(&mut self) -> Result<Guard, GuardError> {
        let mut parts = vec![self.one()?];
        while self.take("&&") {
            parts.push(self.one()?);
        }
        Ok(joined(parts, Guard::All))
    }

    fn one(&mut self) -> Result<Guard, GuardError> {
        if self.depth >= DEPTH {
            return Err(self.error(format!("a guard is at most {DEPTH} levels deep")));
        }
        self.depth += 1;
        let guard = if self.take("!") {
            Guard::Not(Box::new(self.one()?))
        } else if self.take("(") {
            let inner = self.any()?;
            if !self.take(")") {
                return Err(self.error("`)` is missing"));
            }
            inner
        } else {
            self.leaf()?
        };
        self.depth -= 1;
        Ok(guard)
    }

    fn leaf(&mut self) -> Result<Guard, GuardError> {
        let name = self.name(false)?;
        match name {
            "true" => Ok(Guard::Constant(true)),
            "false" => Ok(Guard::Constant(false)),
            "receipt" if self.take("(") => {
                self.skip();
                let tool = self.name(true)?.to_owned();
                if !self.take(")") || !self.take(".") {
                    return Err(self.error("a receipt is spelled `receipt(TOOL).FIELD`"));
                }
                let field = self.name(false)?.to_owned();
                let Some((_, compare)) = Compare::ALL.into_iter().find(|(text, _)| self.take(text))
                else {
                    return Err(self.error("a comparison is missing: ==, !=, <, <=, >, >="));
                };
                let value = self.value()?;
                Ok(Guard::Receipt { tool, condition: Condition { field, compare, value } })
            }
            name => Ok(Guard::Holds(name.to_owned())),
        }
    }

    fn name(&mut self, is_tool: bool) -> Result<&'t str, GuardError> {
        self.skip();
        let rest = self.rest();
        let fits =
            |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.') || (is_tool && c == '/');
        let end = rest.find(|c: char| !fits(c)).unwrap_or(rest.len());
        match rest.get(..end).filter(|name| !name.is_empty()) {
            Some(name) => {
                self.at += end;
                Ok(name)
            }
            None if rest.is_empty() => Err(self.error("the guard ends too early")),
            None => Err(self.error(format!("`{}` is no name", first_word(rest)))),
        }
    }

    fn value(&mut self) -> Result<FieldValue, GuardError> {
        self.skip();
        let rest = self.rest();
        if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) {
            let inner = rest.get(1..).unwrap_or_default();
            let Some(end) = inner.find(quote) else {
                return Err(self.error("the quote is not closed"));
            };
            self.at += end + 2;
            return Ok(FieldValue::Text(inner.get(..end).unwrap_or_default().to_owned()));
        }
        let at = self.at;
        let word = self.name(false)?;
        match word {
            "true" => Ok(true.into()),
            "false" => Ok(false.into()),
            number => number.parse().map(FieldValue::Number).map_err(|_| {
                let what = if is_beyond(number) {
                    format!("`{number}` is too large; numbers are {NUMBERS}")
                } else {
                    format!("`{number}` is no whole number; text stands in quotes")
                };
                GuardError { at, what }
            }),
        }
    }
}

fn joined(mut parts: Vec<Guard>, several: fn(Vec<Guard>) -> Guard) -> Guard {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        Some(last) => {
            parts.push(last);
            several(parts)
        }
        None => several(parts),
    }
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}
