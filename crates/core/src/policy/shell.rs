//! What a shell would make of a command. Nothing here lets a command run: it is looked at only to
//! refuse it, so whatever is in doubt counts as a command.

use concertina_format::expand::split_words;

/// Shells within shells that are looked into. Honest ones reach 2.
const DEPTH: usize = 8;

/// Programs that run the command after their own arguments.
pub(super) const RUNNERS: [&str; 20] = [
    "builtin", "busybox", "chroot", "command", "doas", "env", "eval", "exec", "ionice", "nice",
    "nohup", "parallel", "setsid", "stdbuf", "sudo", "time", "timeout", "watch", "xargs", "find",
];

/// Programs that run a script which they are given as an argument.
pub(super) const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "fish"];

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

/// Every command that `command` may run, cut at whatever a shell cuts at, however many there are.
pub(super) fn parts(command: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut scripts = vec![(command.to_owned(), 0)];
    while let Some((script, depth)) = scripts.pop() {
        for part in cut(&script) {
            let (commands, inner) = commands(&split_words(&part));
            found.extend(commands);
            if depth < DEPTH {
                scripts.extend(inner.into_iter().map(|script| (script, depth + 1)));
            }
        }
    }
    found
}

/// Every command that the argument vector `words` may run: itself, what it hands to another program to
/// run, and what stands in a script for a shell.
pub(super) fn parts_of(words: &[String]) -> Vec<Vec<String>> {
    let (mut found, scripts) = commands(words);
    for script in scripts {
        found.extend(parts(&script));
    }
    found
}

/// The commands in `words`, and the scripts.
fn commands(words: &[String]) -> (Vec<Vec<String>>, Vec<String>) {
    const KEYWORDS: [&str; 12] =
        ["if", "then", "elif", "else", "while", "until", "do", "for", "case", "in", "!", "{"];
    let mut rest = words;
    while let Some((first, after)) = rest.split_first() {
        // `A=1 program`, and words that open a block.
        let assigns = first.contains('=') && !first.starts_with(['-', '=']);
        if !assigns && !KEYWORDS.contains(&first.as_str()) {
            break;
        }
        rest = after;
    }
    let Some(program) = rest.first() else { return (Vec::new(), Vec::new()) };
    let mut found = vec![rest.to_vec()];
    if RUNNERS.contains(&base(program)) {
        // Which of its words begins the command depends on its options: each may.
        found.extend((1..rest.len()).filter_map(|at| rest.get(at..).map(<[String]>::to_vec)));
    }
    let mut scripts: Vec<String> =
        found.iter().filter_map(|words| script(words)).map(str::to_owned).collect();
    if base(program) == "env" {
        // It cuts the text after `-S` into words by itself: any of its words may be that text.
        let text = |word: &String| {
            let split = word.strip_prefix("--split-string=");
            let split = split.or_else(|| {
                word.strip_prefix("-").and_then(|flags| Some(flags.split_once('S')?.1))
            });
            split.unwrap_or(word).trim().to_owned()
        };
        let texts = rest.iter().skip(1).map(text);
        scripts
            .extend(texts.filter(|text| text.contains(char::is_whitespace) || text.contains("${")));
    }
    if base(program) == "eval" {
        scripts.push(rest.iter().skip(1).cloned().collect::<Vec<_>>().join(" "));
    }
    (found, scripts)
}

/// `script` cut at what separates commands, outside quotes; substitutions are commands also inside
/// double quotes.
fn cut(script: &str) -> Vec<String> {
    // Blanks in disguise.
    let script = script.replace("${IFS}", " ").replace("$IFS", " ");
    let mut parts = vec![String::new()];
    let mut quote: Option<char> = None;
    let mut escaped = false;
    let mut before = ' ';
    for c in script.chars() {
        let was = std::mem::replace(&mut before, c);
        if std::mem::take(&mut escaped) {
            push(&mut parts, c);
            continue;
        }
        let inside_single = quote == Some('\'');
        let separates = match c {
            '\\' if !inside_single => {
                escaped = true;
                false
            }
            '\'' | '"' => {
                match quote {
                    None => quote = Some(c),
                    Some(open) if open == c => quote = None,
                    Some(_) => {}
                }
                false
            }
            '`' => !inside_single,
            '(' => !inside_single && (quote.is_none() || was == '$'),
            ';' | '&' | '|' | '\n' | ')' | '<' | '>' => quote.is_none(),
            _ => false,
        };
        if separates {
            parts.push(String::new());
            // What a substitution runs is a script of its own, with its own quotes.
            if matches!(c, '(' | '`') {
                quote = None;
            }
        } else {
            push(&mut parts, c);
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}

fn push(parts: &mut [String], c: char) {
    if let Some(last) = parts.last_mut() {
        last.push(c);
    }
}
