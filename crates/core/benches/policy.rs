//! How long a decision takes, and what goes before it.

#![allow(clippy::unwrap_used, reason = "a benchmark may stop")]

use concertina_core::policy::{
    Access, Caller, CommandPattern, Effect, FilePath, OWNER, PathPattern, Places, Policy, Request,
    Rule, Rules, Scope, Surroundings, resolve,
};
use concertina_types::{PathScope, Permissions};

fn main() {
    divan::main();
}

fn places() -> Places {
    let path = |text| Some(FilePath::new(text).unwrap());
    Places { workspace: path("/w"), home: path("/h") }
}

/// Fifty rules of all kinds, none of which covers what is asked below: all have to be looked at.
fn policy() -> Policy {
    let rules = |count: usize| -> Vec<Rule> {
        let texts = (0..count).map(|number| match number % 8 {
            0 => format!("Bash(program{number} *)"),
            1 => format!("Read(secret{number}/**)"),
            2 => format!("Edit(*.suffix{number})"),
            3 => format!("WebFetch(domain:host{number}.test)"),
            4 => format!("tool:server{number}/*"),
            5 => format!("Skill(skill{number} *)"),
            6 => format!("Read(**/a{number}/*.key)"),
            _ => format!("Bash(git * --option{number}*)"),
        });
        texts.map(|text| Rule::new(&text, &places()).unwrap()).collect()
    };
    let rules = Rules { deny: rules(20), ask: rules(15), allow: rules(15) };
    Policy { rules, workspace: places().workspace, ..Policy::default() }
}

fn access() -> Access {
    let paths = ["/w/src/**", "/w/docs/*.md", "/w/**/*.rs"];
    let commands = ["git add *", "cargo test *", "ls"];
    Access {
        read: Scope::of(paths.map(|text| PathPattern::new(text).unwrap())),
        execute: Scope::of(commands.map(|text| CommandPattern::new(text).unwrap())),
        ..Access::nothing()
    }
}

fn requests() -> Vec<(&'static str, Request)> {
    let run = |text: &str| Request::Run(text.split(' ').map(str::to_owned).collect());
    vec![
        ("run", run("git add src/main.rs")),
        ("read", Request::Read(FilePath::new("/w/src/deep/down/main.rs").unwrap())),
        ("connect", Request::connect("api.example.com", 443, "POST").unwrap()),
        ("undeclared", run("git status --short")),
    ]
}

/// One decision under fifty rules.
#[divan::bench(args = ["run", "read", "connect", "undeclared"], sample_count = 2_000)]
fn decide_with_50_rules(bencher: divan::Bencher, kind: &str) {
    let (policy, access) = (policy(), access());
    let requests = requests();
    let (_, request) = requests.iter().find(|(name, _)| *name == kind).unwrap();
    let caller = Caller { principal: OWNER, subject: None };
    bencher.bench_local(|| policy.permit(caller, &access, request, Effect::Deny));
}

/// A declaration of six entries, for one call.
#[divan::bench(sample_count = 1_000)]
fn resolve_a_declaration(bencher: divan::Bencher) {
    let texts = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let scope = |list: &[&str]| vec![PathScope { paths: texts(list) }];
    let declared = Permissions {
        read: scope(&["src/**", "docs/*.md", "orders/${id}/**"]),
        write: scope(&["out/**"]),
        execute: texts(&["git log *", "cargo test"]),
        ..Permissions::default()
    };
    let mut around = Surroundings::new(FilePath::new("/w").unwrap());
    around.parameters.insert("id".to_owned(), "17".to_owned());
    bencher.bench_local(|| resolve(&declared, &around));
}

/// What a call may do: the session's access and that of three open skills.
#[divan::bench(sample_count = 1_000)]
fn effective_of_three_skills(bencher: divan::Bencher) {
    let (session, skills) = (access(), [access(), access(), access()]);
    bencher.bench_local(|| session.effective(&skills));
}
