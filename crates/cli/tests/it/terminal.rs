//! What leaves the process: pipes, colours, completions.

use std::io::Read as _;
use std::process::Stdio;

use crate::kit::{Place, done, repository};

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = Place::harbour();
    for arguments in [
        &["skill", "list"][..],
        &["completions", "bash"],
        &["session", "render"],
        &["skill", "list", "--json"],
    ] {
        let mut child =
            place.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{arguments:?}: {err}");
        assert!(!err.contains("panicked") && !err.contains("error"), "{arguments:?}: {err}");
    }
}

#[test]
fn nothing_is_coloured_where_no_terminal_reads() {
    let place = Place::harbour();
    let example = repository("examples/sql-assistant");
    for arguments in [
        &["run", example.to_str().unwrap()][..],
        &["skill", "check", "skills"],
        &["open", "skill:nowhere"],
        &["find"],
        &["--help"],
    ] {
        let done = place.run(arguments);
        assert!(!done.out.contains('\u{1b}') && !done.err.contains('\u{1b}'), "{arguments:?}");
    }
}

#[test]
fn no_color_wins_over_a_terminal() {
    let place = Place::harbour();
    // `script` gives the command a terminal of its own.
    let on_terminal = |no_color: Option<&str>| {
        let shell = format!("'{}' open skill:nowhere", env!("CARGO_BIN_EXE_concertina"));
        let plain = place.command(&[]);
        let mut command = std::process::Command::new("script");
        command.args(["-qec", &shell, "/dev/null"]).env_clear().current_dir(place.work());
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("TERM", "xterm-256color").stdin(Stdio::null());
        command.envs(no_color.map(|value| ("NO_COLOR", value)));
        command.output().is_ok().then(|| done(command).out)
    };
    let Some(coloured) = on_terminal(None) else {
        eprintln!("skipped: `script` is not installed");
        return;
    };
    assert!(coloured.contains("\u{1b}[1;31merror"), "{coloured:?}");
    let plain = on_terminal(Some("1")).unwrap();
    assert!(
        plain.contains("error: there is no skill:nowhere") && !plain.contains('\u{1b}'),
        "{plain:?}"
    );
}

#[test]
fn data_and_words_keep_apart() {
    let place = Place::harbour();
    let id = place.run(&["session", "new"]).exits(0);
    assert_eq!(id.out.lines().count(), 1, "{}", id.out);
    let failed = place.run(&["open", "skill:nowhere"]).exits(4);
    assert_eq!(failed.out, "");
    let failed = place.run(&["open", "skill:nowhere", "--json"]).exits(4);
    assert_eq!(failed.json()["error"]["code"], "NOT_FOUND");
}

#[test]
fn lists_fit_a_hundred_columns() {
    let place = Place::harbour();
    let example = repository("examples/sql-assistant/skills");
    let root = example.to_str().unwrap();
    for arguments in [
        &["skill", "list"][..],
        &["skill", "list", "--root", root],
        &["find", "harbour ships"],
        &["find", "库存", "--root", root],
        &["tool", "list", "--all"],
    ] {
        let done = place.run(arguments).exits(0);
        for line in done.out.lines() {
            // Wide scripts take two columns each.
            let columns: usize = line
                .chars()
                .map(|c| if ('\u{2e80}'..='\u{ffe6}').contains(&c) { 2 } else { 1 })
                .sum();
            assert!(columns <= 100, "{columns} columns: {line}");
        }
    }
}

#[test]
fn find_prints_score_reference_and_title() {
    let place = Place::harbour();
    let found = place.run(&["find", "high water", "-k", "1"]).exits(0);
    let mut words = found.out.split_whitespace();
    assert!(words.next().unwrap().parse::<f32>().unwrap() > 0.0, "{}", found.out);
    assert_eq!(words.next(), Some("skill:tides"));
    assert_eq!(words.next(), Some("Reads"));
}

#[test]
fn completions_can_be_read_by_their_shells() {
    let place = Place::new();
    for (shell, mark) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef concertina"),
        ("fish", "complete -c concertina"),
    ] {
        let script = place.run(&["completions", shell]).exits(0).shows(&[mark]).out;
        let file = place.work().join(shell);
        std::fs::write(&file, script).unwrap();
        // Only the shells that are here can be asked.
        if let Ok(read) = std::process::Command::new(shell).arg("-n").arg(&file).output() {
            assert!(read.status.success(), "{shell}: {}", String::from_utf8_lossy(&read.stderr));
        }
    }
}
