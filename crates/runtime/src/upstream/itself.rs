//! Telling Concertina from other servers.

use std::path::Path;

/// Programs that only start the one that stands after them, and how people pass a line to a shell.
const WRAPPERS: [&str; 12] =
    ["env", "exec", "nice", "nohup", "setsid", "sh", "bash", "dash", "zsh", "npx", "uvx", "cmd"];

/// Whether `argv` starts Concertina as a server: by name, by any path, under another name, or
/// through programs that only start it. It would be behind itself, without end.
pub(super) fn is_concertina(argv: &[String]) -> bool {
    let mut words = argv.iter().flat_map(|word| word.split_whitespace()).map(unquoted);
    let Some(program) = words.by_ref().find(|word| !is_wrapping(word)) else { return false };
    is_own_program(program) && words.any(|word| word == "mcp")
}

fn unquoted(word: &str) -> &str {
    word.trim_matches(['"', '\'', ';'])
}

fn is_wrapping(word: &str) -> bool {
    word.starts_with('-') || word.contains('=') || WRAPPERS.contains(&stem(word))
}

fn is_own_program(program: &str) -> bool {
    let same_file = || {
        let own = std::env::current_exe().ok()?.canonicalize().ok()?;
        Some(Path::new(program).canonicalize().ok()? == own)
    };
    stem(program).eq_ignore_ascii_case("concertina") || same_file().unwrap_or(false)
}

/// The name of a program without its directory and ending.
fn stem(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    name.strip_suffix(".exe").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::is_concertina;

    #[test]
    fn concertina_is_known_however_it_is_started() {
        let own = std::env::current_exe().unwrap().display().to_string();
        for line in [
            &["concertina", "mcp"][..],
            &["/opt/bin/concertina", "--verbose", "mcp", "--listed"],
            &["env", "A=b", "concertina", "mcp"],
            &["bash", "-lc", "concertina mcp"],
            &[own.as_str(), "mcp"],
        ] {
            let argv: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
            assert!(is_concertina(&argv), "{line:?}");
        }
    }

    #[test]
    fn others_are_not() {
        for line in [
            &["mcp-server-git", "--repository", "/home/me/concertina", "mcp"][..],
            &["concertina", "skill", "list"],
            &["npx", "-y", "concertina-extras", "mcp"],
            &["sh", "-c"],
            &[],
        ] {
            let argv: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
            assert!(!is_concertina(&argv), "{line:?}");
        }
    }
}
