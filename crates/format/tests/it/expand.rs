//! Arguments, variables and commands in a body.

use std::collections::BTreeMap;

use concertina_format::expand::{
    EXPANDED_BYTES, Expanded, Expansion, Profile, Variables, expand, fill_commands, split_words,
};
use concertina_types::Severity;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::findings::{self, lines};

fn variables() -> Variables {
    Variables {
        skill_dir: Some("/home/ada/skills/tides".into()),
        session_id: Some("s-7".into()),
        project_dir: Some("/home/ada/harbour".into()),
        effort: Some("high".into()),
        ..Variables::default()
    }
}

fn with(profile: Profile, body: &str, raw: Option<&str>) -> Expanded {
    let variables = variables();
    let request =
        Expansion { profile, raw_arguments: raw, variables: &variables, ..Expansion::default() };
    expand(body, &request)
}

fn safe(body: &str, raw: &str) -> String {
    with(Profile::Safe, body, Some(raw)).text
}

fn claude(body: &str, raw: &str) -> String {
    with(Profile::Claude, body, Some(raw)).text
}

fn named(body: &str, names: &[&str], raw: Option<&str>, arguments: &Value) -> Expanded {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let arguments: BTreeMap<String, Value> =
        arguments.as_object().unwrap().clone().into_iter().collect();
    expand(
        body,
        &Expansion {
            raw_arguments: raw,
            arguments: &arguments,
            argument_names: &names,
            opted_in: !names.is_empty(),
            ..Expansion::default()
        },
    )
}

fn codes(expanded: &Expanded) -> Vec<&str> {
    findings::codes(&expanded.diagnostics)
}

#[test]
fn a08_arguments_positions_and_variables() {
    assert_eq!(safe("Tide for $ARGUMENTS.", "Kiel 'May 1'"), "Tide for Kiel 'May 1'.");
    assert_eq!(
        safe("$ARGUMENTS: $0, $1 and $ARGUMENTS[1]", "Kiel 'May 1'"),
        "Kiel 'May 1': Kiel, May 1 and May 1"
    );
    let body = "${CLAUDE_SKILL_DIR} ${SKILL_DIR} ${CLAUDE_SESSION_ID} ${SESSION_ID} \
                ${CLAUDE_PROJECT_DIR} ${CLAUDE_EFFORT}";
    assert_eq!(
        with(Profile::Safe, body, None).text,
        "/home/ada/skills/tides /home/ada/skills/tides s-7 s-7 /home/ada/harbour high"
    );
}

#[test]
fn a08_every_substitution_is_reported_with_its_place() {
    let expanded = with(Profile::Safe, "é $ARGUMENTS\n\n  in ${SESSION_ID}", Some("x"));
    let seen: Vec<_> = expanded
        .substitutions
        .iter()
        .map(|s| (s.token.as_str(), s.value.as_str(), s.line, s.column))
        .collect();
    assert_eq!(seen, [("$ARGUMENTS", "x", 1, 3), ("${SESSION_ID}", "s-7", 3, 6)]);
}

#[test]
fn b47_prices_and_awk_of_a_file_that_does_not_opt_in_stay() {
    let body = "It costs $1,000 or $20; run `awk '{print $2}'`.\n\n```sh\necho $1 $0\n```\n";
    let expanded = with(Profile::Safe, body, Some("a b c"));
    assert_eq!(expanded.text, format!("{body}\n\nARGUMENTS: a b c"));
    assert!(expanded.substitutions.is_empty());
    assert_eq!(codes(&expanded), ["ARGUMENTS_APPENDED"]);
}

#[test]
fn b47_opted_in_files_keep_prices_and_code() {
    let body = "Ship $0 for $1,000 or $1.50 with $ARGUMENTS; `awk '{print $0}'`\n\n    echo $1\n";
    assert_eq!(
        safe(body, "x y"),
        "Ship x for $1,000 or $1.50 with x y; `awk '{print $0}'`\n\n    echo $1\n"
    );
}

#[test]
fn b47_arguments_in_code_only_are_no_opt_in() {
    let expanded = with(Profile::Safe, "Costs $1. Use `$ARGUMENTS`.", Some("a b"));
    assert_eq!(expanded.text, "Costs $1. Use `$ARGUMENTS`.\n\nARGUMENTS: a b");
    assert_eq!(codes(&expanded), ["ARGUMENT_IN_CODE", "ARGUMENTS_APPENDED"]);
}

#[test]
fn b47_claude_profile_replaces_everywhere_once_an_argument_is_passed() {
    let body = "It costs $1,000; `awk '{print $2}'`";
    assert_eq!(claude(body, "a b c"), "It costs b,000; `awk '{print c}'`");
    assert_eq!(with(Profile::Claude, body, None).text, body);
    assert_eq!(claude("Fix $ARGUMENTS.", ""), "Fix .");
}

#[test]
fn a_position_that_was_not_passed_stays_and_is_reported() {
    let expanded = with(Profile::Safe, "$ARGUMENTS $0 $7 $7", Some("one"));
    assert_eq!(expanded.text, "one one $7 $7");
    insta::assert_snapshot!(lines(&expanded.diagnostics), @"1:15 warning ARGUMENT_MISSING: `$7` is left as written: arguments passed: 1, counted from 0 (pass it, or write `\\$7` if no argument is meant)");
    let declared = named("from $0 to $1, $to.", &["from", "to"], Some("Kiel"), &json!({}));
    assert_eq!(declared.text, "from Kiel to , .", "a declared argument may be left out");
}

#[test]
fn b49_values_are_never_read_again() {
    let value = "!`id` ${CLAUDE_SESSION_ID} $0 $ARGUMENTS \\$1";
    for profile in [Profile::Safe, Profile::Claude] {
        let expanded = with(profile, "Do $ARGUMENTS", Some(value));
        assert_eq!(expanded.text, format!("Do {value}"));
        assert!(expanded.commands.is_empty());
    }
}

#[test]
fn b50_names_are_letters_and_the_longest_wins() {
    let expanded = named(
        "$a $a.b $ab $x+ $a-b",
        &[],
        None,
        &json!({"a": 1, "a.b": "dot", "ab": true, "x+": "plus", "a-b": ["l"]}),
    );
    assert_eq!(expanded.text, "1 dot true plus [\"l\"]");
    let longer = named("$city $cityhall", &["city"], Some("Kiel"), &json!({}));
    assert_eq!(longer.text, "Kiel $cityhall");
    assert_eq!(named("$城市的潮汐", &["城市"], Some("基尔"), &json!({})).text, "基尔的潮汐");
}

#[test]
fn named_arguments_take_their_declared_places() {
    let given = json!({"from": "Kiel", "to": "New York"});
    let expanded = named("$0→$1 ($ARGUMENTS) $to", &["from", "to"], None, &given);
    assert_eq!(expanded.text, "Kiel→New York (Kiel \"New York\") New York");
    let json = named("Run.", &[], None, &json!({"depth": 3, "name": "x"}));
    assert_eq!(json.text, "Run.\n\nARGUMENTS: {\"depth\":3,\"name\":\"x\"}");
    let partly = named("Run $name.", &[], None, &json!({"depth": 3, "name": "x"}));
    assert_eq!(codes(&partly), ["ARGUMENT_UNUSED"]);
}

#[test]
fn b52_b53_commands_are_seen_outside_code_only() {
    let body = "`format!` text `//!` and wow!`no` and \\!`no`\n\n\
                ````md\n```md\n!`never`\n```\n````\n\n\
                - diff: !`git diff --stat`\n!`date`\n\n```!\nuname -a\nid\n```\n";
    let expanded = with(Profile::Safe, body, None);
    let commands: Vec<_> = expanded.commands.iter().map(|c| (c.command.as_str(), c.line)).collect();
    assert_eq!(commands, [("git diff --stat", 9), ("date", 10), ("uname -a\nid", 12)]);
    assert_eq!(expanded.text, body, "nothing ran, nothing changed");
    let filled = fill_commands(&expanded, &["1 file", "!`id` $0", "Linux"]);
    assert!(filled.ends_with("- diff: 1 file\n!`id` $0\n\nLinux\n"), "{filled}");
    assert_eq!(fill_commands::<&str>(&expanded, &[]), body);
}

#[test]
fn commands_take_arguments_in_the_claude_profile_only() {
    let body = "$ARGUMENTS: !`gh pr view $0 --repo ${CLAUDE_PROJECT_DIR}`";
    let safe = with(Profile::Safe, body, Some("7;id"));
    assert_eq!(safe.commands[0].command, "gh pr view $0 --repo /home/ada/harbour");
    assert!(!safe.commands[0].holds_arguments);
    assert_eq!(codes(&safe), ["ARGUMENT_IN_CODE"]);
    let claude = with(Profile::Claude, body, Some("7;id"));
    assert_eq!(claude.commands[0].command, "gh pr view 7;id --repo /home/ada/harbour");
    assert!(claude.commands[0].holds_arguments);
    assert_eq!(fill_commands(&claude, &["open"]), "7;id: open");
}

#[test]
fn a_backslash_keeps_a_token() {
    assert_eq!(safe(r"$ARGUMENTS \$ARGUMENTS \$0 \\$0 \$x", "v"), r"v $ARGUMENTS $0 \\v \$x");
    assert_eq!(claude(r"$0 \$0 `\$0`", "v"), "v $0 `$0`");
    let plain = with(Profile::Safe, r"costs \$1 in \${SESSION_ID} and ${SESSION_ID}", None);
    assert_eq!(plain.text, r"costs \$1 in ${SESSION_ID} and s-7");
}

#[test]
fn b55_variables_are_filled_in_code_too() {
    let body = "```sh\npython ${CLAUDE_SKILL_DIR}/run.py \"$1\"\n```";
    assert_eq!(
        with(Profile::Safe, body, None).text,
        "```sh\npython /home/ada/skills/tides/run.py \"$1\"\n```"
    );
}

#[test]
fn b56_windows_paths_get_forward_slashes() {
    let variables = Variables {
        skill_dir: Some(r"C:\Users\A B\tides".into()),
        project_dir: Some(r"/home/a\b".into()),
        ..Variables::default()
    };
    let request = Expansion { variables: &variables, ..Expansion::default() };
    assert_eq!(
        expand("\"${SKILL_DIR}/x.py\" ${CLAUDE_PROJECT_DIR}", &request).text,
        "\"C:/Users/A B/tides/x.py\" /home/a\\b"
    );
}

#[test]
fn b56_unknown_variables_stay_and_are_reported() {
    let body = "Run ${CLAUDE_SKILL_ROOT}/x and ${CLAUDE_SKILL_ROOT}/y\n${CLAUDE_PLUGIN_ROOT}\n\
                ${HOME} ${region} ${CLAUDE_MOON}\n```sh\nSKILL_TMP=/tmp; ls ${SKILL_TMP}\n```";
    let expanded = with(Profile::Safe, body, None);
    assert_eq!(expanded.text, body);
    insta::assert_snapshot!(lines(&expanded.diagnostics));
}

#[test]
fn a_short_body_cannot_multiply_a_long_argument_without_end() {
    let body = "$ARGUMENTS ".repeat(50);
    let value = "x".repeat(1024 * 1024);
    let expanded = with(Profile::Safe, &body, Some(&value));
    assert!(expanded.text.len() <= EXPANDED_BYTES + body.len());
    let errors: Vec<_> =
        expanded.diagnostics.iter().filter(|d| d.severity == Severity::Error).collect();
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].code, "EXPANSION_TOO_LARGE");
}

#[test]
fn one_long_line_of_tokens_is_read_in_linear_time() {
    let body = "é$ARGUMENTS ".repeat(100_000);
    let expanded = with(Profile::Safe, &body, Some("v"));
    assert_eq!(expanded.substitutions.len(), 100_000);
    assert_eq!(expanded.substitutions[99_999].column, 99_999 * 13 - 99_999 + 2);
}

#[test]
fn words_are_split_as_a_shell_splits_them() {
    assert_eq!(split_words("  "), Vec::<String>::new());
    assert_eq!(
        split_words(r#"a'b c'd "e\"f\n" '' \' "open"#),
        ["ab cd", "e\"f\\n", "", "'", "\"open"]
    );
}

/// B47 over real skills: a body that asks for nothing comes out as it is, whatever is passed.
#[test]
#[allow(clippy::disallowed_methods, reason = "the corpus is outside the repository")]
fn b47_real_bodies_that_ask_for_nothing_stay() {
    let Ok(corpus) = std::env::var("CONCERTINA_CORPUS") else {
        eprintln!("skipped: CONCERTINA_CORPUS names no directory of skills");
        return;
    };
    let (mut pending, mut read) = (vec![std::path::PathBuf::from(corpus)], 0);
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                let body = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
                let expanded = with(Profile::Safe, &body, Some("a b c"));
                read += 1;
                if !body.contains("$ARGUMENTS") && !body.contains("${") {
                    assert_eq!(expanded.text, format!("{body}\n\nARGUMENTS: a b c"), "{path:?}");
                }
            }
        }
    }
    assert!(read > 0);
    eprintln!("{read} bodies");
}

/// Text that is full of everything a token could be made of.
fn tokens() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("$ARGUMENTS".to_owned()),
        Just("$ARGUMENTS[0]".to_owned()),
        Just("$0".to_owned()),
        Just("$1,000".to_owned()),
        Just("$name".to_owned()),
        Just("${SESSION_ID}".to_owned()),
        Just("${CLAUDE_SKILL_ROT}".to_owned()),
        Just("!`id`".to_owned()),
        Just("```\n".to_owned()),
        Just("\n\n".to_owned()),
        Just("`".to_owned()),
        Just("\\".to_owned()),
        Just("$".to_owned()),
        Just("{".to_owned()),
        "[ -~é潮]{0,4}",
    ];
    proptest::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
}

proptest! {
    /// B49, as a law: whatever a value holds, it comes out letter by letter, and nothing in it
    /// becomes a command.
    #[test]
    fn law_one_pass(value in tokens(), claude in any::<bool>()) {
        let profile = if claude { Profile::Claude } else { Profile::Safe };
        let arguments = BTreeMap::from([("name".to_owned(), json!(value))]);
        let request = Expansion { profile, arguments: &arguments, ..Expansion::default() };
        let expanded = expand("<$name|$name>", &request);
        prop_assert_eq!(expanded.text, format!("<{value}|{value}>"));
        prop_assert!(expanded.commands.is_empty());
        let command = expand("!`date`", &Expansion::default());
        prop_assert_eq!(fill_commands(&command, &[&value]), value);
    }

    /// Code is byte-identical in the profile `safe`, whatever is passed.
    #[test]
    fn law_safe_leaves_code_alone(code in "[ -_a-~]{0,40}", raw in tokens()) {
        prop_assume!(!code.contains("${"));
        let block = format!("~~~~~sh\n{code}\n~~~~~\n");
        let expanded = with(Profile::Safe, &format!("$ARGUMENTS\n\n{block}"), Some(&raw));
        prop_assert!(expanded.text.ends_with(&format!("\n\n{block}")), "{}", expanded.text);
    }

    /// A file that does not opt in, and holds no variable, comes out as it is.
    #[test]
    fn law_no_opt_in_no_change(body in tokens()) {
        let body = body.replace("ARGUMENTS", "name").replace('{', "");
        prop_assert_eq!(with(Profile::Safe, &body, None).text, body);
    }

    /// Whatever comes in: no panic, and every command stands where it says.
    #[test]
    fn law_spans_hold(body in tokens(), raw in tokens(), claude in any::<bool>()) {
        let profile = if claude { Profile::Claude } else { Profile::Safe };
        let expanded = with(profile, &body, Some(&raw));
        for command in &expanded.commands {
            let at = command.span.of(&expanded.text);
            prop_assert!(at.starts_with("!`") || at.starts_with("```"), "{at:?}");
        }
    }

    /// Splitting gives back what was quoted.
    #[test]
    fn law_words_survive_quoting(words in proptest::collection::vec("[ -~é]{0,8}", 0..6)) {
        let quoted: Vec<_> = words.iter().map(|w| format!("'{}'", w.replace('\'', r"'\''"))).collect();
        prop_assert_eq!(split_words(&quoted.join(" ")), words);
    }
}
