//! Which words of a command name what it runs: its program, and the script that an interpreter is given.

use super::shell::{RUNNERS, SHELLS, base};

/// A program that runs a script which it is given.
struct Interpreter {
    /// Its name, without the version that may end it.
    name: &'static str,
    /// Letters of options after which the code stands in the command itself, or is found by a name that
    /// is no path.
    inline: &'static str,
    /// Letters of options that take a value. Where it is a file, it is often one that is run first.
    taking: &'static str,
}

const SHELL: Interpreter = interpreter("", "c", "oO");

const INTERPRETERS: [Interpreter; 13] = [
    interpreter("python", "cm", "WX"),
    interpreter("pypy", "cm", "WX"),
    interpreter("node", "ep", "rC"),
    interpreter("deno", "", ""),
    interpreter("bun", "ep", "r"),
    interpreter("ruby", "e", "rICE"),
    interpreter("perl", "eE", "IMm"),
    interpreter("php", "rBRE", "dcz"),
    interpreter("lua", "e", "l"),
    interpreter("luajit", "e", "l"),
    interpreter("Rscript", "e", ""),
    interpreter("julia", "eE", "L"),
    interpreter("tclsh", "", ""),
];

/// Long options that take the name of a file which is run first.
const LOADING: [&str; 7] = [
    "--require",
    "--import",
    "--loader",
    "--experimental-loader",
    "--preload",
    "--rcfile",
    "--init-file",
];

const fn interpreter(
    name: &'static str,
    inline: &'static str,
    taking: &'static str,
) -> Interpreter {
    Interpreter { name, inline, taking }
}

/// What follows an option.
enum Follows {
    /// Code, and no script.
    Code,
    /// Its value.
    Value,
    /// Whatever comes next.
    Anything,
}

/// The words of the argument vector `words` that name code which would run: the program where it is named
/// by a path, the script of an interpreter, what is loaded before it. Data that the code is given is none
/// of them. `is_file` says whether a word names a file.
///
/// ```
/// use concertina_core::policy::code_words;
/// let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
/// let code = |text: &str| code_words(&words(text), &|word| word.contains('.')).join(" ");
/// assert_eq!(code("python3.12 -u report.py data.json"), "report.py");
/// assert_eq!(code("./run.sh data.json"), "./run.sh");
/// assert_eq!(code("python -m json.tool data.json"), "");
/// assert_eq!(code("sed -i s/a/b/ notes.txt"), "");
/// ```
pub fn code_words<'w>(words: &'w [String], is_file: &dyn Fn(&str) -> bool) -> Vec<&'w str> {
    let mut code = Vec::new();
    let mut rest = words;
    while let Some((program, after)) = rest.split_first() {
        // A name without a directory is looked for in PATH.
        if program.contains('/') && is_file(program) {
            code.push(program.as_str());
        }
        let name = base(program);
        if let Some(interpreter) = known(name) {
            interpreter.scripts(after, is_file, &mut code);
            break;
        }
        if !RUNNERS.contains(&name) {
            break;
        }
        // What it runs begins with the first word that can be run.
        let starts = |word: &String| {
            let name = base(word);
            known(name).is_some()
                || RUNNERS.contains(&name)
                || word.contains('/') && !word.starts_with('-') && is_file(word)
        };
        let at = after.iter().position(starts).unwrap_or(after.len());
        rest = after.get(at..).unwrap_or_default();
    }
    code
}

/// The interpreter called `name`.
fn known(name: &str) -> Option<&'static Interpreter> {
    if SHELLS.contains(&name) {
        return Some(&SHELL);
    }
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    INTERPRETERS.iter().find(|known| known.name == plain)
}

impl Interpreter {
    /// The script among `arguments`, and what is loaded before it.
    fn scripts<'w>(
        &self,
        arguments: &'w [String],
        is_file: &dyn Fn(&str) -> bool,
        code: &mut Vec<&'w str>,
    ) {
        let mut is_value = false;
        for word in arguments {
            let is_option = !is_value && word.starts_with('-');
            if is_option {
                match self.after(word) {
                    Follows::Code => return,
                    Follows::Value => is_value = true,
                    Follows::Anything => {}
                }
                continue;
            }
            let is_found = is_file(word);
            code.extend(is_found.then_some(word.as_str()));
            if is_found && !is_value {
                return;
            }
            is_value = false;
        }
    }

    fn after(&self, option: &str) -> Follows {
        if let Some(long) = option.strip_prefix("--") {
            return match long.split('=').next().unwrap_or(long) {
                "eval" | "print" | "command" => Follows::Code,
                _ if LOADING.contains(&option) => Follows::Value,
                _ => Follows::Anything,
            };
        }
        // Letters may stand together; after one that takes a value comes the value.
        let mut letters = option.chars().skip(1);
        let telling = letters.find(|c| self.inline.contains(*c) || self.taking.contains(*c));
        match telling {
            Some(c) if self.inline.contains(c) => Follows::Code,
            Some(_) if letters.next().is_none() => Follows::Value,
            Some(_) | None => Follows::Anything,
        }
    }
}
