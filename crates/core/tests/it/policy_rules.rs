//! Rules together: laws over random policies, beside an oracle that reads every rule by itself.

use std::sync::LazyLock;

use concertina_core::policy::{
    Access, Action, Caller, CommandPattern, Decision, Effect, FilePath, Grant, OWNER, PathPattern,
    Pattern, Places, Policy, Request, Rule, Rules, Scope,
};
use concertina_format::config::{ConfigOrigin, PolicySetting, parse, parse_onto};
use concertina_types::Subject;
use proptest::prelude::*;

use crate::kit::tool_name;
use crate::policy_table::places;

/// What can be asked, as the oracle sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Ask {
    See(&'static str),
    Open(&'static str, &'static str),
    Read(&'static str),
    Write(&'static str),
    Run(&'static str),
    Shell(&'static str),
    Get(&'static str),
    Call(&'static str),
}

const ASKS: &[Ask] = &[
    Ask::See("tool:sql/query"),
    Ask::See("skill:deploy"),
    Ask::See("skill:p/x"),
    Ask::See("file:src/a.rs"),
    Ask::See("file:secret/key"),
    Ask::See("menu:data"),
    Ask::Open("deploy", ""),
    Ask::Open("deploy", "prod"),
    Ask::Open("p/x", ""),
    Ask::Read("/w/src/a.rs"),
    Ask::Read("/w/secret/key"),
    Ask::Read("/etc/passwd"),
    Ask::Write("/w/src/a.rs"),
    Ask::Run("git add a"),
    Ask::Run("git push"),
    Ask::Run("/bin/rm a"),
    Ask::Shell("git add a && rm b"),
    Ask::Shell("git add a"),
    Ask::Get("a.test"),
    Ask::Get("b.a.test"),
    Ask::Call("sql/query"),
    Ask::Call("shell"),
];

/// A rule as written, and what it permits and forbids, said in plain comparisons.
type Known = (&'static str, fn(Ask) -> bool, fn(Ask) -> bool);

const KNOWN: &[Known] = &[
    ("*", |_| true, |_| true),
    ("tool:sql/*", is_sql, is_sql),
    ("mcp__sql__query", is_sql, is_sql),
    ("tool:s?ell", |ask| ask == Ask::Call("shell"), |ask| ask == Ask::Call("shell")),
    ("skill:deploy", is_deploy, is_deploy),
    ("Skill(deploy)", |ask| ask == Ask::Open("deploy", ""), |ask| ask == Ask::Open("deploy", "")),
    (
        "Skill(deploy *)",
        |ask| ask == Ask::Open("deploy", "prod"),
        |ask| ask == Ask::Open("deploy", "prod"),
    ),
    ("Read(src/**)", |ask| ask == Ask::Read("/w/src/a.rs"), |ask| ask == Ask::Read("/w/src/a.rs")),
    ("read:secret", |_| false, |ask| ask == Ask::Read("/w/secret/key")),
    ("Read", |ask| matches!(ask, Ask::Read(_)), |ask| matches!(ask, Ask::Read(_))),
    ("Edit(*.rs)", |ask| ask == Ask::Write("/w/src/a.rs"), |ask| ask == Ask::Write("/w/src/a.rs")),
    (
        "Bash(git add *)",
        |ask| matches!(ask, Ask::Run("git add a") | Ask::Shell("git add a")),
        |ask| matches!(ask, Ask::Run("git add a") | Ask::Shell(_)),
    ),
    (
        "Bash(rm:*)",
        |_| false,
        |ask| matches!(ask, Ask::Run("/bin/rm a") | Ask::Shell("git add a && rm b")),
    ),
    (
        "Bash",
        |ask| matches!(ask, Ask::Run(_) | Ask::Shell("git add a")),
        |ask| matches!(ask, Ask::Run(_) | Ask::Shell(_)),
    ),
    ("host:*.a.test", |ask| ask == Ask::Get("b.a.test"), |ask| ask == Ask::Get("b.a.test")),
    ("menu:*", |ask| ask == Ask::See("menu:data"), |ask| ask == Ask::See("menu:data")),
    ("file:src/*", |ask| ask == Ask::See("file:src/a.rs"), |ask| ask == Ask::See("file:src/a.rs")),
];

fn is_sql(ask: Ask) -> bool {
    matches!(ask, Ask::See("tool:sql/query") | Ask::Call("sql/query"))
}

fn is_deploy(ask: Ask) -> bool {
    matches!(ask, Ask::Open("deploy", _))
}

/// Made once: to compile a pattern takes longer than all else here.
static READ: LazyLock<Vec<Rule>> =
    LazyLock::new(|| KNOWN.iter().map(|(text, ..)| Rule::new(text, &places()).unwrap()).collect());

/// A rule by its number, and for whom it is.
type Chosen = (usize, Option<Subject>);

#[derive(Debug, Clone, Default)]
struct Lists {
    allow: Vec<Chosen>,
    ask: Vec<Chosen>,
    deny: Vec<Chosen>,
}

#[derive(Debug, Clone)]
struct Random {
    all: Lists,
    own: Option<Lists>,
}

fn chosen() -> impl Strategy<Value = Chosen> {
    let subject = prop_oneof![
        4 => Just(None),
        1 => Just(Some(Subject::User)),
        1 => Just(Some(Subject::Model)),
    ];
    (0..KNOWN.len(), subject)
}

fn lists() -> impl Strategy<Value = Lists> {
    let some = || prop::collection::vec(chosen(), 0..3);
    (some(), some(), some()).prop_map(|(allow, ask, deny)| Lists { allow, ask, deny })
}

fn random() -> impl Strategy<Value = Random> {
    (lists(), prop::option::of(lists())).prop_map(|(all, own)| Random { all, own })
}

fn subject() -> impl Strategy<Value = Option<Subject>> {
    prop::sample::select(vec![None, Some(Subject::User), Some(Subject::Model)])
}

fn rules(lists: &Lists) -> Rules {
    let list = |chosen: &[Chosen]| {
        chosen.iter().map(|(number, subject)| READ[*number].clone().only_for(*subject)).collect()
    };
    Rules { allow: list(&lists.allow), ask: list(&lists.ask), deny: list(&lists.deny) }
}

fn policy(random: &Random) -> Policy {
    Policy {
        rules: rules(&random.all),
        principals: random.own.iter().map(|own| ("ann".to_owned(), rules(own))).collect(),
        workspace: places().workspace,
        unreadable: None,
    }
}

fn judge(policy: &Policy, subject: Option<Subject>, ask: Ask) -> Decision {
    let path = |text| FilePath::new(text).unwrap();
    let caller = Caller { principal: "ann", subject };
    let request = match ask {
        Ask::See(reference) => return policy.judge(caller, Action::Reference(reference)),
        Ask::Open(id, arguments) => return policy.judge(caller, Action::Skill { id, arguments }),
        Ask::Shell(text) => return policy.judge(caller, Action::Command(text)),
        Ask::Read(text) => Request::Read(path(text)),
        Ask::Write(text) => Request::Write(path(text)),
        Ask::Run(text) => Request::Run(text.split(' ').map(str::to_owned).collect()),
        Ask::Get(host) => Request::connect(host, 443, "GET").unwrap(),
        Ask::Call(tool) => Request::Call(tool_name(tool)),
    };
    policy.judge(caller, Action::Request(&request))
}

/// What the page on permissions says, read aloud: every rule is looked at, one after the other.
fn oracle(random: &Random, subject: Option<Subject>, ask: Ask) -> Effect {
    // A skill is seen where it can be opened in one way or another, a file where it may be read.
    match ask {
        Ask::See(reference) if reference.starts_with("skill:") => {
            let id = reference.strip_prefix("skill:").unwrap();
            return ["", "prod"]
                .map(|arguments| oracle(random, subject, Ask::Open(id, arguments)))
                .into_iter()
                .min()
                .unwrap();
        }
        Ask::See("file:src/a.rs") => {
            let own = plain(random, subject, ask);
            return own.max(plain(random, subject, Ask::Read("/w/src/a.rs")));
        }
        Ask::See("file:secret/key") => {
            let own = plain(random, subject, ask);
            return own.max(plain(random, subject, Ask::Read("/w/secret/key")));
        }
        Ask::Shell(text) if text.contains("&&") => {
            return plain(random, subject, ask).max(Effect::Ask);
        }
        _ => {}
    }
    plain(random, subject, ask)
}

fn plain(random: &Random, subject: Option<Subject>, ask: Ask) -> Effect {
    let (mut denied, mut asked) = (false, false);
    let mut left_out = false;
    for (number, lists) in std::iter::once(&random.all).chain(&random.own).enumerate() {
        let mut spoken = false;
        for (rule, only) in &lists.deny {
            if KNOWN[*rule].2(ask) && (only.is_none() || subject.is_none() || *only == subject) {
                denied = true;
            }
        }
        for (rule, only) in &lists.ask {
            if KNOWN[*rule].2(ask) && (only.is_none() || subject.is_none() || *only == subject) {
                asked = true;
            }
        }
        for (rule, only) in lists.allow.iter().chain(&lists.ask) {
            if KNOWN[*rule].1(ask) && (only.is_none() || *only == subject) {
                spoken = true;
            }
        }
        let is_listed = matches!(ask, Ask::Open(..) | Ask::Call(_))
            || matches!(ask, Ask::See(reference) if reference.starts_with("tool:"));
        left_out |= number == 1 && !lists.allow.is_empty() && !spoken && is_listed;
    }
    match (denied || left_out, asked) {
        (true, _) => Effect::Deny,
        (false, true) => Effect::Ask,
        (false, false) => Effect::Allow,
    }
}

/// The same rules, each list from its end.
fn turned(policy: &Policy) -> Policy {
    let mut turned = policy.clone();
    for rules in std::iter::once(&mut turned.rules).chain(turned.principals.values_mut()) {
        rules.allow.reverse();
        rules.ask.reverse();
        rules.deny.reverse();
    }
    turned
}

/// The same rules and one more denial, for all or for one principal.
fn stricter(random: &Random, deny: Chosen, own: bool) -> Policy {
    let mut stricter = random.clone();
    let lists = if own { stricter.own.get_or_insert_default() } else { &mut stricter.all };
    lists.deny.push(deny);
    policy(&stricter)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100_000))]

    #[test]
    fn s31_s26_verdicts_are_the_oracles_in_any_order_and_one_more_deny_never_allows(
        random in random(), deny in chosen(), own in any::<bool>(), subject in subject()
    ) {
        let policy = policy(&random);
        let (turned, stricter) = (turned(&policy), stricter(&random, deny, own));
        for ask in ASKS {
            let verdict = judge(&policy, subject, *ask);
            prop_assert_eq!(verdict.effect, oracle(&random, subject, *ask), "{:?} {:?}", ask, verdict);
            let code = verdict.reasons.first().map(|reason| reason.code.as_str());
            match verdict.effect {
                Effect::Deny => prop_assert!(matches!(code, Some("POLICY_DENIES" | "PRINCIPAL_NOT_GIVEN"))),
                Effect::Ask => prop_assert!(matches!(code, Some("POLICY_ASKS" | "NEEDS_SHELL"))),
                Effect::Allow => {}
            }
            prop_assert_eq!(judge(&turned, subject, *ask).effect, verdict.effect, "{:?}", ask);
            prop_assert!(judge(&stricter, subject, *ask).effect >= verdict.effect, "{:?}", ask);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn what_nobody_is_known_to_do_is_judged_as_the_stricter_of_both(random in random()) {
        let policy = policy(&random);
        for ask in ASKS {
            let unknown = judge(&policy, None, *ask).effect;
            for subject in [Subject::User, Subject::Model] {
                prop_assert!(unknown >= judge(&policy, Some(subject), *ask).effect, "{:?}", ask);
            }
        }
    }

    #[test]
    fn k14_a_narrowed_grant_never_covers_more(layers in prop::collection::vec(patterns(), 0..4), more in patterns()) {
        let grant = layers.iter().fold(Grant::everything(), |grant, layer| grant.narrowed(layer.clone()));
        let child = grant.narrowed(more.clone());
        for name in ["sql/query", "shell", "tool:shell", "x"] {
            let name = tool_name(name);
            let expected = grant.covers(&name) && more.iter().any(|pattern| pattern.matches(name.as_str()));
            prop_assert_eq!(child.covers(&name), expected);
        }
    }
}

static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    ["*", "sql/*", "s?ell", "{shell,sql/drop}", "tool:*", "x"]
        .map(|text| Pattern::new(text).unwrap())
        .into()
});

fn patterns() -> impl Strategy<Value = Vec<Pattern>> {
    prop::collection::vec(prop::sample::select(PATTERNS.as_slice()), 0..3)
}

fn run(words: &str) -> Request {
    Request::Run(concertina_format::expand::split_words(words))
}

fn read(path: &str) -> Request {
    Request::Read(FilePath::new(path).unwrap())
}

fn with(deny: &[&str], allow: &[&str]) -> Policy {
    let list = |texts: &[&str]| {
        texts.iter().map(|text| Rule::new(text, &places()).unwrap()).collect::<Vec<_>>()
    };
    let rules = Rules { deny: list(deny), allow: list(allow), ask: Vec::new() };
    Policy { rules, workspace: places().workspace, ..Policy::default() }
}

const MODEL: Caller<'_> = Caller { principal: OWNER, subject: Some(Subject::Model) };

#[test]
fn s25_what_is_not_declared_is_denied_and_the_smallest_grant_is_told() {
    let access = Access {
        read: Scope::of([PathPattern::new("/w/src/**").unwrap()]),
        execute: Scope::of([CommandPattern::new("git log *").unwrap()]),
        ..Access::nothing()
    };
    let policy = with(&[], &["Bash", "Read", "tool:*"]);
    let permit = |request: &Request| policy.permit(MODEL, &access, request, Effect::Deny);
    for request in [run("git log -n 3"), read("/w/src/a.rs")] {
        let decision = permit(&request);
        assert_eq!(decision.effect, Effect::Allow, "{request}");
        assert_eq!(decision.proposal, None);
    }
    let proposed = |request: Request| {
        let decision = permit(&request);
        assert_eq!(decision.effect, Effect::Deny, "{request}: no rule replaces a declaration");
        assert_eq!(decision.reasons[0].code, "NOT_DECLARED");
        decision.proposal.unwrap()
    };
    assert_eq!(proposed(run("git status")).execute, ["git status"]);
    assert_eq!(proposed(run("echo 'a b' '*'")).execute, ["echo 'a b' [*]"]);
    assert_eq!(proposed(read("/etc/a[b")).read[0].paths, ["/etc/a[[]b"]);
    assert_eq!(proposed(Request::Call(tool_name("sql/query"))).tools, ["sql/query"]);
    let network = proposed(Request::connect("A.test", 8080, "POST").unwrap()).network;
    assert_eq!(
        (network[0].domains.as_slice(), network[0].methods.as_slice()),
        (["a.test:8080".to_owned()].as_slice(), ["POST".to_owned()].as_slice())
    );
    // Where a person can be asked, the same is a question.
    let decision = policy.permit(MODEL, &access, &run("git status"), Effect::Ask);
    assert_eq!(decision.effect, Effect::Ask);
    // A declaration for what a rule denies would be of no use.
    let decision =
        with(&["Bash(git *)"], &[]).permit(MODEL, &access, &run("git status"), Effect::Ask);
    assert_eq!((decision.effect, decision.proposal), (Effect::Deny, None));
    assert_eq!(decision.reasons[0].code, "POLICY_DENIES");
    assert_eq!(decision.reasons[0].source, "policy: `run:git *`");
}

#[test]
fn k02_who_declares_nothing_may_do_nothing() {
    use concertina_core::policy::{Surroundings, resolve};
    let around = Surroundings::new(FilePath::new("/w").unwrap());
    let access = resolve(&concertina_types::Permissions::default(), &around).unwrap();
    assert_eq!(access, Access::nothing());
    let policy = with(&[], &["*"]);
    let everything = Access::everything();
    for request in [
        read("/w/a"),
        Request::Write(FilePath::new("/w/a").unwrap()),
        Request::connect("a.test", 443, "GET").unwrap(),
        run("ls"),
        Request::Call(tool_name("sql/query")),
    ] {
        let decision = policy.permit(MODEL, &access, &request, Effect::Deny);
        assert_eq!(decision.effect, Effect::Deny, "{request}");
        let decision = policy.permit(MODEL, &everything, &request, Effect::Deny);
        assert_eq!(decision.effect, Effect::Allow, "{request}");
    }
}

#[test]
fn k06_a_skill_calls_the_tools_that_it_claims() {
    let claims =
        |text| Access { tools: Scope::of([Pattern::new(text).unwrap()]), ..Access::nothing() };
    let session =
        Access { tools: Scope::of([Pattern::new("sql/*").unwrap()]), ..Access::everything() };
    let effective = session.effective([&claims("sql/query"), &claims("shell")]);
    let may = |name| effective.covers(&Request::Call(tool_name(name)));
    assert!(may("sql/query"));
    assert!(!may("sql/drop"), "no skill claims it");
    assert!(!may("shell"), "the session does not have it");
}

#[test]
fn s67_a_denial_beats_whatever_was_allowed_for_always() {
    let policy = with(&["Bash(rm *)"], &["*", "Bash", "Bash(rm *)", "run:rm x"]);
    for request in [run("rm x"), run("/bin/rm x"), run("sudo rm x")] {
        let decision = policy.permit(MODEL, &Access::everything(), &request, Effect::Ask);
        assert_eq!(decision.effect, Effect::Deny, "{request}");
    }
    let decision = policy.permit(MODEL, &Access::everything(), &run("ls"), Effect::Ask);
    assert_eq!(decision.effect, Effect::Allow);
}

#[test]
fn s26_a_denial_of_any_file_stands() {
    let files = [
        (
            ConfigOrigin::Managed,
            "[policy]\nallow = [\"read:/w/a\", \"read:/w/b\"]\ndeny = [\"read:/w/c\"]\n",
        ),
        (ConfigOrigin::User, "[policy]\nallow = [\"read:/w/c\"]\ndeny = [\"read:/w/a\"]\n"),
        (ConfigOrigin::Workspace, "[policy]\nallow = [\"read:/w/a\"]\ndeny = [\"read:/w/b\"]\n"),
    ];
    let config =
        files.into_iter().fold(parse("", ConfigOrigin::Managed).0, |config, (origin, text)| {
            parse_onto(config, text, origin).0
        });
    let PolicySetting::Rules(settings) = config.policy else { panic!("it can be read") };
    let (policy, errors) = Policy::read(&settings, &places(), |origin| format!("{origin:?}"));
    assert_eq!(errors, []);
    for (path, source) in [("/w/a", "User:3"), ("/w/b", "Workspace:3"), ("/w/c", "Managed:3")] {
        let decision = policy.judge(MODEL, Action::Request(&read(path)));
        assert_eq!(decision.effect, Effect::Deny, "{path}");
        assert_eq!(decision.reasons[0].source, format!("policy, {source}: `read:{path}`"));
    }
    assert_eq!(policy.judge(MODEL, Action::Request(&read("/w/d"))).effect, Effect::Allow);
}

#[test]
fn a_rule_for_one_subject_leaves_the_other_alone() {
    let text = "[[policy.rule]]\ndeny = \"Skill(deploy)\"\nfor = \"model\"\n[[policy.rule]]\ndeny = \"skill:deploy(*)\"\nfor = \"model\"\n";
    let PolicySetting::Rules(settings) = parse(text, ConfigOrigin::User).0.policy else { panic!() };
    let (policy, _) = Policy::read(&settings, &Places::default(), |_| String::new());
    let effect = |subject| {
        let caller = Caller { principal: OWNER, subject };
        let seen = policy.judge(caller, Action::Reference("skill:deploy")).effect;
        let opened = policy.judge(caller, Action::Skill { id: "deploy", arguments: "x" }).effect;
        (seen, opened)
    };
    assert_eq!(effect(Some(Subject::Model)), (Effect::Deny, Effect::Deny));
    assert_eq!(effect(Some(Subject::User)), (Effect::Allow, Effect::Allow));
    assert_eq!(effect(None), (Effect::Deny, Effect::Deny));
    assert_eq!(policy.decide(OWNER, "skill:deploy").effect, Effect::Deny);
}

#[test]
fn advisory_14_a_denial_is_of_the_file_and_not_of_a_link_to_it() {
    let policy = with(&["read:/s/key"], &["Read(//ok/**)"]);
    let access =
        Access { read: Scope::of([PathPattern::new("/ok/**").unwrap()]), ..Access::nothing() };
    // What is asked for is what the link leads to.
    let decision = policy.permit(MODEL, &access, &read("/s/key"), Effect::Ask);
    assert_eq!(decision.effect, Effect::Deny);
    assert!(decision.reasons[0].text.contains("read /s/key"), "{}", decision.reasons[0].text);
    assert_eq!(policy.permit(MODEL, &access, &read("/ok/a"), Effect::Ask).effect, Effect::Allow);
}

#[test]
fn advisory_22_a_command_of_500_parts_is_denied_for_its_last() {
    let policy = with(&["Bash(rm *)"], &["Bash"]);
    let many = |last: &str| {
        let mut parts: Vec<String> = (0..499).map(|number| format!("echo {number}")).collect();
        parts.push(last.to_owned());
        policy.judge(MODEL, Action::Command(&parts.join(" && "))).effect
    };
    assert_eq!(many("rm -rf /"), Effect::Deny);
    assert_eq!(many("echo x"), Effect::Ask, "a shell is never allowed by a rule for a part");
    let nested = (0..7).fold("rm x".to_owned(), |inner, _| format!("sh -c {}", quoted(&inner)));
    assert_eq!(policy.judge(MODEL, Action::Command(&nested)).effect, Effect::Deny);
    let deep = (0..12).fold("ls".to_owned(), |inner, _| format!("sh -c {}", quoted(&inner)));
    assert_ne!(policy.judge(MODEL, Action::Command(&deep)).effect, Effect::Allow);
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[test]
fn advisory_23_a_denial_holds_wherever_the_work_is_done() {
    let policy = with(&["Read(.env)", "Bash(curl *)", "read:/etc/shadow"], &["Read", "Bash"]);
    for request in [
        read("/w/.env"),
        read("/w/x/.env"),
        read("/etc/shadow"),
        run("curl a"),
        run("/usr/bin/curl a"),
    ] {
        assert_eq!(
            policy.judge(MODEL, Action::Request(&request)).effect,
            Effect::Deny,
            "{request}"
        );
    }
    for request in [read("/w/env"), read("/etc/passwd"), run("curly a")] {
        assert_eq!(
            policy.judge(MODEL, Action::Request(&request)).effect,
            Effect::Allow,
            "{request}"
        );
    }
}

#[test]
fn advisory_08_blanks_in_disguise_are_no_part_of_what_is_allowed() {
    let policy = with(&[], &["Bash(cat *)"]);
    for text in [
        "cat${IFS}/etc/shadow",
        "cat $IFS/etc/shadow",
        "cat a>b",
        "cat `id`",
        "cat a\nid",
        "cat a; id",
        "cat a | id",
    ] {
        let decision = policy.judge(MODEL, Action::Command(text));
        assert_eq!(decision.effect, Effect::Ask, "{text}");
        assert_eq!(decision.reasons[0].code, "NEEDS_SHELL");
    }
    assert_eq!(policy.judge(MODEL, Action::Command("cat a")).effect, Effect::Allow);
    // The same text as one word is a file of that name.
    let access =
        Access { execute: Scope::of([CommandPattern::new("cat a").unwrap()]), ..Access::nothing() };
    assert!(!access.covers(&Request::Run(vec!["cat${IFS}/etc/shadow".into()])));
    assert!(access.covers(&run("cat a")));
}

#[test]
fn k05_a_command_with_another_behind_it_is_never_the_command() {
    let access = Access {
        execute: Scope::of([CommandPattern::new("git log *").unwrap()]),
        ..Access::nothing()
    };
    assert!(access.covers(&run("git log -n 3")));
    for words in
        [&["git", "log;", "rm"][..], &["git log; rm"], &["sh", "-c", "git log"], &["git"], &[]]
    {
        let words = words.iter().map(|&word| word.to_owned()).collect();
        assert!(!access.covers(&Request::Run(words)));
    }
    let shell = CommandPattern::new("sh *").unwrap();
    assert!(shell.matches(&["sh".into(), "build.sh".into()]));
    assert!(!shell.matches(&["sh".into(), "-c".into(), "id".into()]));
}

#[test]
fn rules_about_paths_hold_for_files_that_are_shown() {
    let policy = with(&["Read(secrets/**)"], &[]);
    assert_eq!(policy.decide(OWNER, "file:secrets/key").effect, Effect::Deny);
    assert_eq!(policy.decide(OWNER, "dir:secrets").effect, Effect::Deny);
    assert_eq!(policy.decide(OWNER, "file:../w/secrets/key").effect, Effect::Deny);
    assert_eq!(policy.decide(OWNER, "file:src/a.rs").effect, Effect::Allow);
}

#[test]
fn an_example_that_does_not_behave_makes_the_policy_deny_everything() {
    let read = |entry: &str| {
        let text = format!("[[policy.rule]]\n{entry}\n");
        let (config, findings) = parse(&text, ConfigOrigin::User);
        let PolicySetting::Rules(settings) = config.policy else { panic!("{findings:?}") };
        Policy::read(&settings, &places(), |_| "c.toml".to_owned())
    };
    for good in [
        "deny = \"Bash(rm *)\"\nexamples = [\"rm -rf /\", \"ls && rm x\"]\nnot = [\"ls\", \"rmdir x\"]",
        "allow = \"Bash(git add *)\"\nexamples = [\"git add a\"]\nnot = [\"git add a && rm b\"]",
        "ask = \"Read(.env)\"\nexamples = [\".env\", \"app/.env\", \"/w/x/.env\"]\nnot = [\"/etc/.env\", \"~/.env\"]",
        "deny = \"WebFetch(domain:a.test)\"\nexamples = [\"a.test\", \"A.test.:80\"]\nnot = [\"b.a.test\"]",
        "deny = \"Skill(deploy *)\"\nexamples = [\"deploy prod\"]\nnot = [\"deploy\"]",
        "deny = \"mcp__sql__drop\"\nexamples = [\"sql/drop\", \"tool:sql/drop\"]\nnot = [\"sql/query\"]",
    ] {
        let (policy, errors) = read(good);
        assert_eq!(errors, [], "{good}");
        assert_eq!(policy.unreadable, None);
    }
    for (bad, reason) in [
        ("deny = \"Bash(rm *)\"\nexamples = [\"ls\"]", "its example `ls` is not covered"),
        (
            "deny = \"Bash(rm *)\"\nnot = [\"/bin/rm x\"]",
            "its example `/bin/rm x` is covered and should not be",
        ),
        (
            "allow = \"Bash(rm *)\"\nexamples = [\"ls && rm x\"]",
            "its example `ls && rm x` is not covered",
        ),
        ("deny = \"read:a\"\nexamples = [\"../a\"]", "its example `../a` cannot be read"),
        ("deny = \"host:a.test\"\nexamples = [\"http://a.test\"]", "cannot be read"),
        ("deny = \"host:*.com\"", "top-level domain"),
    ] {
        let (policy, errors) = read(bad);
        assert!(errors[0].1.reason.contains(reason), "{bad}: {}", errors[0].1.reason);
        for ask in ASKS {
            let decision = judge(&policy, Some(Subject::User), *ask);
            assert_eq!(decision.effect, Effect::Deny);
            assert_eq!(decision.reasons[0].code, "POLICY_UNREADABLE");
            assert!(decision.reasons[0].source.starts_with("c.toml:2: "), "{:?}", decision.reasons);
        }
    }
}

#[test]
fn an_unreadable_policy_denies_everything() {
    let policy = Policy { unreadable: Some("concertina.toml:3".into()), ..Policy::default() };
    for ask in ASKS {
        let verdict = judge(&policy, None, *ask);
        assert_eq!(verdict.effect, Effect::Deny);
        assert_eq!(verdict.reasons[0].code, "POLICY_UNREADABLE");
        assert_eq!(verdict.reasons[0].source, "concertina.toml:3");
    }
}

#[test]
fn b28_a_hostile_pattern_is_an_error_and_nothing_worse() {
    for text in ["", "  ", "[", "a{b", &"?".repeat(100_000), &"{a,b}".repeat(20_000)] {
        assert!(Pattern::new(text).is_err(), "{}", text.chars().take(20).collect::<String>());
    }
    let many = "{a,b}".repeat(24);
    assert!(Pattern::new(&many).unwrap().matches(&"ab".repeat(12)));
    let slow = Pattern::new(&"*a".repeat(500)).unwrap();
    assert!(!slow.matches(&format!("{}b", "a".repeat(1_900))));
    let long = format!("a {}", "&& a ".repeat(200_000));
    assert_eq!(with(&["Bash(rm *)"], &[]).judge(MODEL, Action::Command(&long)).effect, Effect::Ask);
    let open = "$(".repeat(100_000);
    assert_ne!(
        with(&["Bash(rm *)"], &[]).judge(MODEL, Action::Command(&open)).effect,
        Effect::Allow
    );
    let runners = format!("{}rm x", "sudo ".repeat(2_000));
    assert_eq!(
        with(&["Bash(rm *)"], &[]).judge(MODEL, Action::Command(&runners)).effect,
        Effect::Deny
    );
}

#[test]
fn a_name_with_special_characters_covers_itself() {
    assert!(Pattern::new("skill:a[b]").unwrap().matches("skill:a[b]"));
}

#[test]
fn rules_survive_being_written_down() {
    let policy: Policy = serde_json::from_str(r#"{"rules":{"deny":["tool:sql/*"]}}"#).unwrap();
    let text = serde_json::to_string(&policy).unwrap();
    assert_eq!(
        text,
        r#"{"rules":{"allow":[],"ask":[],"deny":["tool:sql/*"]},"principals":{},"unreadable":null}"#
    );
    assert_eq!(serde_json::from_str::<Policy>(&text).unwrap(), policy);
    assert!(serde_json::from_str::<Policy>(r#"{"rules":{"deny":["["]}}"#).is_err());
    let rules =
        READ.iter().cloned().map(|rule| rule.only_for(Some(Subject::Model)).from_source("f:1"));
    let policy =
        Policy { rules: Rules { deny: rules.collect(), ..Rules::default() }, ..Policy::default() };
    let text = serde_json::to_string(&policy).unwrap();
    assert_eq!(serde_json::from_str::<Policy>(&text).unwrap(), policy);
}

#[test]
fn s28_where_the_model_says_to_work_changes_no_grant() {
    use concertina_core::policy::{Surroundings, resolve};
    use concertina_types::{PathScope, Permissions};
    let paths = vec!["src/**".to_owned()];
    let declared = Permissions { read: vec![PathScope { paths }], ..Permissions::default() };
    let mut around = Surroundings::new(FilePath::new("/w").unwrap());
    let before = resolve(&declared, &around).unwrap();
    for name in ["cwd", "workspace", "home", "skill_dir"] {
        around.parameters.insert(name.to_owned(), "/".to_owned());
    }
    let after = resolve(&declared, &around).unwrap();
    assert_eq!(before, after);
    assert!(after.covers(&read("/w/src/a")) && !after.covers(&read("/src/a")));
}
