//! What a shell would make of a command. Nothing here lets a command run: it is looked at only to
//! refuse it, so whatever is in doubt counts as a command.

/// Programs that run a script which they are given as an argument.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "fish"];

/// The name of a program without the directory it is in.
pub(super) fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// `word` so that it is one word again when it is read, and means nothing to a shell.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:=@%+,~^!*?[]{}".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The script that `words` hand to a shell: then the words are no longer data. Empty where the shell
/// is told that a script comes, and none does.
pub(super) fn script(words: &[String]) -> Option<&str> {
    let (program, arguments) = words.split_first()?;
    if !SHELLS.contains(&base(program)) {
        return None;
    }
    let mut rest = arguments.iter();
    rest.find(|word| word.starts_with('-') && word.contains('c'))?;
    Some(rest.next().map_or("", String::as_str))
}

/// Whether anything outside quotes means something to a shell.
pub(super) fn needs_shell(command: &str) -> bool {
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
