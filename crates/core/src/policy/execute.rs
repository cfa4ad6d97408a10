//! Commands that a skill may run: patterns over argument vectors.

use super::pattern::Pattern;

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
/// A pattern is a command whose words may hold `*`; a last word `*` stands for any further words.
/// Words are compared one by one, so a pattern never reaches past the words it names, and nothing is
/// handed to a shell.
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
    if needs_shell(command) {
        return Err(CommandRefused::NeedsShell(command.to_owned()));
    }
    let words = concertina_format::expand::split_words(command);
    if words.is_empty() {
        return Err(CommandRefused::Empty);
    }
    if is_shell_line(&words) {
        return Err(CommandRefused::NeedsShell(command.to_owned()));
    }
    if patterns.iter().any(|pattern| covers(pattern, &words)) {
        Ok(words)
    } else {
        Err(CommandRefused::NotCovered(command.to_owned()))
    }
}

/// Whether a shell is given its program as an argument: then the words after it are no longer data.
fn is_shell_line(words: &[String]) -> bool {
    let program = words.first().map(|word| word.rsplit('/').next().unwrap_or(word));
    let shell = matches!(program, Some("sh" | "bash" | "dash" | "zsh" | "ksh" | "fish"));
    shell && words.iter().skip(1).any(|word| word.starts_with('-') && word.contains('c'))
}

fn covers(pattern: &str, words: &[String]) -> bool {
    let parts = concertina_format::expand::split_words(pattern);
    let Some((last, first)) = parts.split_last() else { return false };
    let one = |pattern: &String, word: &String| {
        pattern == word || Pattern::new(pattern).is_ok_and(|pattern| pattern.matches(word))
    };
    let (fixed, open): (&[String], bool) =
        if last == "*" && !first.is_empty() { (first, true) } else { (&parts, false) };
    let long_enough = if open { words.len() >= fixed.len() } else { words.len() == fixed.len() };
    // The program itself is named, never matched: `*` alone would cover everything there is.
    let program = fixed.first().is_some_and(|program| !program.contains(['*', '?', '[', '{']));
    program && long_enough && fixed.iter().zip(words).all(|(pattern, word)| one(pattern, word))
}

/// Whether anything outside quotes means something to a shell.
fn needs_shell(command: &str) -> bool {
    let mut quote: Option<char> = None;
    let mut escaped = false;
    for c in command.chars() {
        if std::mem::take(&mut escaped) {
            continue;
        }
        match (quote, c) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => escaped = true,
            (_, '`' | '$') | (None, '|' | ';' | '&' | '<' | '>' | '(' | ')' | '\n' | '#') => {
                return true;
            }
            (None, '\'' | '"') => quote = Some(c),
            _ => {}
        }
    }
    quote.is_some()
}
