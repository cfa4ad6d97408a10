//! Commands: patterns over argument vectors.

use std::fmt;

use concertina_format::expand::split_words;
use concertina_types::limits;
use globset::escape;
use serde::{Deserialize, Serialize};

use super::pattern::{Pattern, PatternError, is_special};
use super::scope::Part;
use super::shell;

/// Why a command does not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandRefused {
    /// It is written for a shell, and there is none.
    #[error("`{0}` needs a shell, and commands run without one; put it into a script of the skill")]
    NeedsShell(String),
    /// No pattern of `permissions.execute` covers it.
    #[error("no pattern of permissions.execute covers `{0}`")]
    NotCovered(String),
    /// There is nothing to run.
    #[error("the command is empty")]
    Empty,
}

impl CommandRefused {
    /// The stable code of the refusal.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NeedsShell(_) => "NEEDS_SHELL",
            Self::NotCovered(_) => "NOT_COVERED",
            Self::Empty => "EMPTY_COMMAND",
        }
    }
}

/// The argument vector of `command`, where one of `patterns` covers it.
///
/// ```
/// use concertina_core::policy::allowed_command;
/// let patterns = ["git status".to_owned(), "git log *".to_owned()];
/// assert_eq!(allowed_command(&patterns, "git log -n 3")?, ["git", "log", "-n", "3"]);
/// assert!(allowed_command(&patterns, "git status --short").is_err());
/// assert!(allowed_command(&patterns, "git log; rm -r .").is_err());
/// # Ok::<(), concertina_core::policy::CommandRefused>(())
/// ```
pub fn allowed_command(patterns: &[String], command: &str) -> Result<Vec<String>, CommandRefused> {
    let words = command_words(command)?;
    let covers = |text: &String| CommandPattern::new(text).is_ok_and(|p| p.matches(&words));
    if patterns.iter().any(covers) {
        Ok(words)
    } else {
        Err(CommandRefused::NotCovered(command.to_owned()))
    }
}

/// The argument vector that `command` is, or why it is none.
///
/// ```
/// use concertina_core::policy::command_words;
/// assert_eq!(command_words("git commit -m 'a; b'").unwrap(), ["git", "commit", "-m", "a; b"]);
/// assert_eq!(command_words("a && b").unwrap_err().code(), "NEEDS_SHELL");
/// ```
pub fn command_words(command: &str) -> Result<Vec<String>, CommandRefused> {
    let needs_shell = || CommandRefused::NeedsShell(command.to_owned());
    if shell::needs_shell(command) {
        return Err(needs_shell());
    }
    let words = split_words(command);
    if words.is_empty() {
        return Err(CommandRefused::Empty);
    }
    if shell::script(&words).is_some() {
        return Err(needs_shell());
    }
    Ok(words)
}

/// A command whose words may hold `*`; a last word `*` stands for any further words.
///
/// Words are compared one by one, so a pattern never reaches past the words it names, and nothing is
/// handed to a shell.
///
/// ```
/// use concertina_core::policy::CommandPattern;
/// let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
/// let pattern = CommandPattern::new("git add *")?;
/// assert!(pattern.matches(&words("git add a b")));
/// assert!(!pattern.matches(&words("git addall")));
/// assert!(CommandPattern::new("* status").is_err());
/// # Ok::<(), concertina_core::policy::PatternError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CommandPattern {
    words: Vec<Word>,
    /// Whether any further words may follow.
    open: bool,
}

/// One word of a pattern.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Word {
    Literal(String),
    Glob(Pattern),
}

impl CommandPattern {
    /// Reads a pattern. It names its program: `*` alone would cover everything there is.
    pub fn new(text: &str) -> Result<Self, PatternError> {
        let read = Self::words_of(text).and_then(Self::of_program);
        read.map_err(|reason| PatternError::new(text, reason))
    }

    /// Reads a pattern whose program may be a pattern as well, for rules that a person writes.
    pub(super) fn of_any_program(text: &str) -> Result<Self, PatternError> {
        let read = Self::words_of(text).and_then(Self::of_words);
        read.map_err(|reason| PatternError::new(text, reason))
    }

    fn words_of(text: &str) -> Result<Vec<String>, String> {
        if text.len() > limits::REF_BYTES {
            return Err(format!("it is longer than {} bytes", limits::REF_BYTES));
        }
        if shell::needs_shell(text) {
            return Err("it is written for a shell, and commands run without one".to_owned());
        }
        Ok(split_words(text))
    }

    /// The pattern that has `parts` for words, or why there is none.
    fn of_words(mut parts: Vec<String>) -> Result<Self, String> {
        let open = parts.len() > 1 && parts.last().is_some_and(|last| last == "*");
        if open {
            parts.pop();
        }
        if parts.is_empty() {
            return Err("it is empty".to_owned());
        }
        let word = |part: String| -> Result<Word, String> {
            Ok(match literal(&part) {
                Some(literal) => Word::Literal(literal),
                None => Word::Glob(Pattern::new(&part).map_err(|error| error.to_string())?),
            })
        };
        Ok(Self { words: parts.into_iter().map(word).collect::<Result<_, _>>()?, open })
    }

    /// The pattern that has `parts` for words and begins with its program.
    pub(super) fn of_program(parts: Vec<String>) -> Result<Self, String> {
        let pattern = Self::of_words(parts)?;
        match pattern.words.first() {
            Some(Word::Literal(_)) => Ok(pattern),
            _ => Err("it does not name its program".to_owned()),
        }
    }

    /// The pattern that covers `words` and nothing else.
    pub fn exactly(words: &[String]) -> Self {
        Self { words: words.iter().cloned().map(Word::Literal).collect(), open: false }
    }

    /// The program that it names.
    pub fn program(&self) -> Option<&str> {
        match self.words.first() {
            Some(Word::Literal(program)) => Some(program),
            Some(Word::Glob(_)) | None => None,
        }
    }

    /// Whether the argument vector `words` is covered. One that hands a script to a shell never is:
    /// what the script does is not written in the pattern.
    pub fn matches(&self, words: &[String]) -> bool {
        self.is_length(words.len()) && self.begins(words) && shell::script(words).is_none()
    }

    /// Whether `words` begin as the pattern does, whatever follows.
    pub(super) fn begins(&self, words: &[String]) -> bool {
        words.len() >= self.words.len()
            && self.words.iter().zip(words).all(|(word, asked)| word.matches(asked))
    }

    /// Whether further words may follow as people read the pattern: a `*` at the end of the last word
    /// then stands for them, too.
    pub(super) fn ends_open(&self) -> bool {
        self.open
            || matches!(self.words.last(), Some(Word::Glob(last)) if last.as_str().ends_with('*'))
    }

    pub(super) fn is_length(&self, length: usize) -> bool {
        if self.open { length >= self.words.len() } else { length == self.words.len() }
    }
}

impl Part for CommandPattern {
    type Asked = [String];

    fn covers(&self, asked: &[String]) -> bool {
        self.matches(asked)
    }

    fn includes(&self, other: &Self) -> bool {
        let long_enough = self.is_length(other.words.len()) && (self.open || !other.open);
        long_enough && self.words.iter().zip(&other.words).all(|(word, other)| word.includes(other))
    }

    fn is_everything(&self) -> bool {
        false
    }
}

impl Word {
    fn matches(&self, word: &str) -> bool {
        match self {
            Self::Literal(literal) => literal == word,
            Self::Glob(pattern) => pattern.matches(word),
        }
    }

    fn includes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Glob(pattern), Self::Glob(other)) => pattern.includes(other),
            (word, Self::Literal(literal)) => word.matches(literal),
            (Self::Literal(_), Self::Glob(_)) => false,
        }
    }
}

/// `part` without its escapes, where it stands for nothing but itself.
fn literal(part: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = part.chars();
    while let Some(c) = rest.next() {
        match c {
            // `[x]` is how a special character is written out.
            '[' => {
                let (c, end) = (rest.next()?, rest.next()?);
                if end != ']' || !is_special(c) {
                    return None;
                }
                out.push(c);
            }
            '*' | '?' | '{' => return None,
            c => out.push(c),
        }
    }
    Some(out)
}

impl fmt::Display for CommandPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.words.iter().map(|word| match word {
            Word::Literal(literal) => shell::quoted(&escape(literal)),
            Word::Glob(pattern) => shell::quoted(pattern.as_str()),
        });
        let open = self.open.then(|| "*".to_owned());
        f.write_str(&words.chain(open).collect::<Vec<_>>().join(" "))
    }
}

impl Serialize for CommandPattern {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CommandPattern {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}
