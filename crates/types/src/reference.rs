//! References: how a model, a person or a program points at one thing.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{NameError, SkillId, ToolName, limits};

/// A range of lines, counted from one, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineRange {
    /// The first line, from 1.
    pub first: u64,
    /// The last line.
    pub last: u64,
}

/// One thing to find, open, call or close.
///
/// | form | points at |
/// |---|---|
/// | `menu:database` | a category of tools |
/// | `tool:sql/query` | a tool |
/// | `skill:sales-analytics` | a skill; `plugin/name` where a plugin brought it |
/// | `skill:sales-analytics#tables` | a section of its body, or a resource such as `#references/schema.md` |
/// | `skill:sales-analytics@10-30` | lines of its body |
/// | `file:src/a.rs@40-60` | lines of a file |
/// | `dir:src` | a directory |
/// | `ev:12@40-60` | lines of the evidence number 12 |
///
/// `%` with two hexadecimal digits stands for a byte, so that a name may hold `#`, `@` or `%`.
/// Letters of any script stand for themselves. A leading `/`, as people type it, means a skill.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ref {
    /// A category of tools.
    Menu(String),
    /// A tool.
    Tool(ToolName),
    /// A skill, or a part of one.
    Skill {
        /// Which skill.
        id: SkillId,
        /// A section heading or a resource path.
        part: Option<String>,
        /// Lines of the body or of the part.
        lines: Option<LineRange>,
    },
    /// A file of the workspace.
    File {
        /// The path as written, relative to the workspace.
        path: String,
        /// Which lines.
        lines: Option<LineRange>,
    },
    /// A directory of the workspace.
    Dir(String),
    /// Something that a call produced.
    Evidence {
        /// Its number in the session.
        id: u64,
        /// Which lines.
        lines: Option<LineRange>,
    },
}

/// A text that is no reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RefError {
    /// There is no `kind:` in front, or one that does not exist.
    #[error("`{0}` is no reference: it starts with none of skill:, tool:, menu:, file:, dir:, ev:")]
    Kind(String),
    /// The name is not one.
    #[error("in `{text}`: {source}")]
    Name {
        /// The whole reference.
        text: String,
        /// What is wrong with the name.
        source: NameError,
    },
    /// The number after `ev:` is not one.
    #[error("`{0}`: evidence is named by a number, such as ev:12")]
    Number(String),
    /// The lines run backwards or start at zero.
    #[error("`{0}`: lines are counted from 1 and run forwards, such as @40-60")]
    Lines(String),
    /// A `%` is not followed by two hexadecimal digits of a UTF-8 text.
    #[error("`{0}`: `%` must be followed by two hexadecimal digits; write %25 for a percent sign")]
    Percent(String),
    /// A control character, or nothing where a path should be.
    #[error("`{0}`: a path cannot be empty or hold control characters")]
    Path(String),
    /// It is longer than [`limits::REF_BYTES`].
    #[error("a reference is at most {max} bytes long, this one has {0}", max = limits::REF_BYTES)]
    TooLong(usize),
}

impl RefError {
    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        "BAD_REF"
    }
}

impl Ref {
    /// A skill as a whole.
    pub fn skill(id: SkillId) -> Self {
        Self::Skill { id, part: None, lines: None }
    }

    /// The thing that this points into: itself, without a part and without lines.
    ///
    /// ```
    /// use concertina_types::Ref;
    /// let section: Ref = "skill:tides#rules@1-3".parse()?;
    /// assert_eq!(section.whole().to_string(), "skill:tides");
    /// # Ok::<(), concertina_types::RefError>(())
    /// ```
    pub fn whole(&self) -> Cow<'_, Self> {
        Cow::Owned(match self {
            Self::Skill { id, part, lines } if part.is_some() || lines.is_some() => {
                Self::skill(id.clone())
            }
            Self::File { path, lines: Some(_) } => Self::File { path: path.clone(), lines: None },
            Self::Evidence { id, lines: Some(_) } => Self::Evidence { id: *id, lines: None },
            _ => return Cow::Borrowed(self),
        })
    }

    /// The name of the kind, as written before the colon.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Menu(_) => "menu",
            Self::Tool(_) => "tool",
            Self::Skill { .. } => "skill",
            Self::File { .. } => "file",
            Self::Dir(_) => "dir",
            Self::Evidence { .. } => "ev",
        }
    }
}

impl FromStr for Ref {
    type Err = RefError;

    fn from_str(text: &str) -> Result<Self, RefError> {
        if text.len() > limits::REF_BYTES {
            return Err(RefError::TooLong(text.len()));
        }
        let text = text.trim();
        let (kind, rest) = match text.strip_prefix('/') {
            Some(rest) => ("skill", rest),
            None => text.split_once(':').ok_or_else(|| RefError::Kind(text.into()))?,
        };
        let rest = if kind == "skill" { rest.trim_start_matches('/') } else { rest };
        let name = |source| RefError::Name { text: text.into(), source };
        let path = |raw: &str| {
            let path = decode(raw).ok_or_else(|| RefError::Percent(text.into()))?;
            let bad = path.trim().is_empty() || path.chars().any(char::is_control);
            if bad { Err(RefError::Path(text.into())) } else { Ok(path) }
        };
        Ok(match kind {
            "menu" => Self::Menu(path(rest)?),
            "tool" => Self::Tool(ToolName::new(path(rest)?).map_err(name)?),
            "skill" => {
                let (rest, lines) = split_lines(rest, text)?;
                let (id, part) = match rest.split_once('#') {
                    Some((id, part)) => (id, Some(path(part)?)),
                    None => (rest, None),
                };
                let id = decode(id).ok_or_else(|| RefError::Percent(text.into()))?;
                Self::Skill { id: SkillId::new(id).map_err(name)?, part, lines }
            }
            "file" => {
                let (rest, lines) = split_lines(rest, text)?;
                Self::File { path: path(rest)?, lines }
            }
            "dir" => Self::Dir(path(rest)?),
            "ev" => {
                let (rest, lines) = split_lines(rest, text)?;
                let id = rest.parse().map_err(|_| RefError::Number(text.into()))?;
                Self::Evidence { id, lines }
            }
            _ => return Err(RefError::Kind(text.into())),
        })
    }
}

/// Cuts `@N` or `@N-M` off the end, where it is there.
fn split_lines<'a>(rest: &'a str, whole: &str) -> Result<(&'a str, Option<LineRange>), RefError> {
    let Some((before, range)) = rest.rsplit_once('@') else { return Ok((rest, None)) };
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !digits(first) || !digits(last) {
        return Ok((rest, None));
    }
    let error = || RefError::Lines(whole.into());
    let range = LineRange {
        first: first.parse().map_err(|_| error())?,
        last: last.parse().map_err(|_| error())?,
    };
    if range.first == 0 || range.last < range.first {
        return Err(error());
    }
    Ok((before, Some(range)))
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let high = char::from(rest.next()?).to_digit(16)?;
            let low = char::from(rest.next()?).to_digit(16)?;
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Writes `text` so that [`decode`] gives it back and no separator appears in it.
struct Encoded<'a>(&'a str);

impl fmt::Display for Encoded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A blank at the end would be trimmed.
        let end = self.0.trim_end_matches(' ').len();
        for (at, c) in self.0.char_indices() {
            let inner_blank = c == ' ' && at < end;
            if matches!(c, '%' | '#' | '@') || (c.is_whitespace() && !inner_blank) {
                let mut buffer = [0; 4];
                for byte in c.encode_utf8(&mut buffer).bytes() {
                    write!(f, "%{byte:02X}")?;
                }
            } else {
                fmt::Write::write_char(f, c)?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for LineRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            write!(f, "@{}", self.first)
        } else {
            write!(f, "@{}-{}", self.first, self.last)
        }
    }
}

impl fmt::Display for Ref {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = match self {
            Self::Menu(name) => {
                write!(f, "menu:{}", Encoded(name))?;
                None
            }
            Self::Tool(name) => {
                write!(f, "tool:{}", Encoded(name.as_str()))?;
                None
            }
            Self::Skill { id, part, lines } => {
                write!(f, "skill:{}", Encoded(id.as_str()))?;
                if let Some(part) = part {
                    write!(f, "#{}", Encoded(part))?;
                }
                *lines
            }
            Self::File { path, lines } => {
                write!(f, "file:{}", Encoded(path))?;
                *lines
            }
            Self::Dir(path) => {
                write!(f, "dir:{}", Encoded(path))?;
                None
            }
            Self::Evidence { id, lines } => {
                write!(f, "ev:{id}")?;
                *lines
            }
        };
        lines.map_or(Ok(()), |lines| lines.fmt(f))
    }
}

impl Serialize for Ref {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Ref {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
