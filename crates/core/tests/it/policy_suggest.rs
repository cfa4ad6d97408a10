//! From refused requests to the smallest declaration.

use std::sync::LazyLock;

use concertina_core::policy::{
    Denial, FilePath, Request, Suggestion, Surroundings, resolve, suggest,
};
use proptest::prelude::*;

use crate::kit::tool_name;

fn path(text: &str) -> FilePath {
    FilePath::new(text).unwrap()
}

fn around() -> Surroundings {
    Surroundings {
        home: Some(path("/h")),
        unwritable: vec![path("/w/out/lock")],
        secret: vec![path("/h/keys")],
        ..Surroundings::new(path("/w"))
    }
}

fn run(words: &str) -> Request {
    Request::Run(words.split(' ').map(str::to_owned).collect())
}

fn suggested(requests: impl IntoIterator<Item = Request>) -> Suggestion {
    let denials: Vec<Denial> =
        requests.into_iter().map(|request| Denial { request, by_rule: false }).collect();
    suggest(&denials, &around())
}

fn execute(commands: &[&str]) -> Vec<String> {
    suggested(commands.iter().map(|command| run(command))).permissions.execute
}

fn reads(paths: &[&str]) -> Vec<String> {
    let suggestion = suggested(paths.iter().map(|text| Request::Read(path(text))));
    suggestion.permissions.read.into_iter().flat_map(|scope| scope.paths).collect()
}

#[test]
fn few_files_are_named_and_many_by_their_directory() {
    assert_eq!(reads(&["/w/src/b", "/w/src/a"]), ["src/a", "src/b"]);
    assert_eq!(reads(&["/w/src/a", "/w/src/b", "/w/src/c", "/w/src/x/d"]), ["src/**"]);
    assert_eq!(reads(&["/w/a", "/w/b", "/w/c"]), ["a", "b", "c"], "not the whole workspace");
    assert_eq!(reads(&["/a", "/b", "/c"]), ["/a", "/b", "/c"], "nor the whole disk");
    assert_eq!(reads(&["/etc/x/a", "/etc/x/b", "/etc/x/c"]), ["/etc/x/**"]);
    assert_eq!(reads(&["/w/~a", "/w/a*", "/w/${b}"]), ["$[{]b[}]", "./~a", "a[*]"]);
}

#[test]
fn commands_are_generalised_only_in_the_word_that_varies() {
    assert_eq!(execute(&["git add a", "git add b"]), ["git add a", "git add b"]);
    assert_eq!(execute(&["git add a", "git add b", "git add c"]), ["git add [!-]*"]);
    assert_eq!(
        execute(&["git log a -n", "git log b -n", "git log c -n", "git log c"]),
        ["git log [!-]* -n", "git log c"]
    );
    assert_eq!(
        execute(&["git add -A", "git add -p", "git add -u"]),
        ["git add -A", "git add -p", "git add -u"],
        "an option says what is done"
    );
    assert_eq!(
        execute(&["git status", "git log", "git push"]),
        ["git log", "git push", "git status"],
        "so does the first argument"
    );
    assert_eq!(execute(&["cat a.txt", "cat b.txt", "cat c/d"]), ["cat [!-]*"]);
    assert_eq!(execute(&["a x", "b x", "c x"]), ["a x", "b x", "c x"], "nor is a program");
}

#[test]
fn hosts_are_named_one_by_one_with_their_methods() {
    let connect = |host: &str, method: &str| Request::connect(host, 443, method).unwrap();
    let suggestion = suggested([
        connect("b.test", "POST"),
        connect("a.test", "GET"),
        connect("b.test", "GET"),
        connect("c.test", "GET"),
    ]);
    let network = suggestion.permissions.network;
    let told: Vec<String> = network
        .iter()
        .map(|scope| format!("{} {}", scope.methods.join("+"), scope.domains.join("+")))
        .collect();
    assert_eq!(told, ["GET a.test:443+c.test:443", "GET+POST b.test:443"]);
}

#[test]
fn methods_that_write_do_not_add_up_to_one_that_cannot_be_seen() {
    let all = ["POST", "PUT", "PATCH", "DELETE"];
    let suggestion = suggested(all.map(|method| Request::connect("a.test", 443, method).unwrap()));
    let access = resolve(&suggestion.permissions, &around()).unwrap();
    assert!(access.covers(&Request::connect("a.test", 443, "PUT").unwrap()));
    assert!(!access.covers(&Request::connect("a.test", 443, "CONNECT").unwrap()));
    assert!(!access.covers(&Request::connect("a.test", 80, "PUT").unwrap()));
}

#[test]
fn what_is_not_for_a_program_to_propose_is_left_out_and_told() {
    let connect = |host: &str| Request::connect(host, 80, "GET").unwrap();
    let write = |text: &str| Request::Write(path(text));
    let suggestion = suggested([
        write("/w/out/lock"),
        Request::Read(path("/h/keys/a")),
        write("/h"),
        connect("169.254.169.254"),
        connect("localhost"),
        connect("[::1]"),
        run("sh -c id"),
        Request::Run(Vec::new()),
    ]);
    assert!(suggestion.permissions.is_empty(), "{:?}", suggestion.permissions);
    let mut codes: Vec<&str> = suggestion.withheld.iter().map(|withheld| withheld.code).collect();
    codes.sort_unstable();
    assert_eq!(
        codes,
        [
            "COVERS_PROTECTED",
            "COVERS_PROTECTED",
            "NEEDS_SHELL",
            "NOT_DECLARABLE",
            "PRIVATE_HOST",
            "PRIVATE_HOST",
            "PRIVATE_HOST",
            "WRITE_TOO_WIDE",
        ]
    );
    // Files beside a protected one are not folded over it.
    let beside = ["/w/out/a", "/w/out/b", "/w/out/c"].map(write);
    assert_eq!(suggested(beside).permissions.write[0].paths, ["out/a", "out/b", "out/c"]);
}

static REQUESTS: LazyLock<Vec<Request>> = LazyLock::new(|| {
    let names = ["/w/src", "/w/src/x", "/w/out", "/w", "/etc/y", "/h/keys", "/h/n"];
    let files = ["a", "b", "c", "d", "lock", "~", "[x]", "${y}", "*"];
    let paths: Vec<FilePath> = names
        .iter()
        .flat_map(|name| files.iter().map(move |file| path(&format!("{name}/{file}"))))
        .collect();
    let commands = [
        "git add a",
        "git add b",
        "git add c",
        "git add -f",
        "git add a b",
        "git log a",
        "git log b",
        "git log c",
        "cat x.a",
        "cat x.b",
        "cat x.c",
        "cat x.d",
        "sh -c id",
        "sh a",
        "a *",
        "a ${b}",
    ];
    let hosts = ["a.test", "b.a.test", "127.0.0.1", "192.0.2.7", "localhost"];
    let connects = hosts.into_iter().flat_map(|host| {
        ["GET", "POST", "PUT", "PATCH", "DELETE", "CONNECT"].into_iter().flat_map(move |method| {
            [443, 8080].map(|port| Request::connect(host, port, method).unwrap())
        })
    });
    let calls = ["sql/query", "sql/drop", "a[b]"].map(|name| Request::Call(tool_name(name)));
    let reads = paths.iter().cloned().map(Request::Read);
    let writes = paths.iter().cloned().map(Request::Write);
    reads.chain(writes).chain(commands.map(run)).chain(connects).chain(calls).collect()
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn a_suggestion_allows_what_it_suggests_and_nothing_that_a_rule_denies(
        chosen in prop::collection::vec((0..REQUESTS.len(), prop::bool::weighted(0.2)), 0..25)
    ) {
        let denials: Vec<Denial> = chosen
            .iter()
            .map(|(number, by_rule)| Denial { request: REQUESTS[*number].clone(), by_rule: *by_rule })
            .collect();
        let suggestion = suggest(&denials, &around());
        let access = resolve(&suggestion.permissions, &around());
        let access = access.map_err(|errors| TestCaseError::fail(format!("{errors:?}")))?;
        for denial in &denials {
            let withheld = suggestion.withheld.iter().any(|withheld| withheld.request == denial.request);
            prop_assert_eq!(access.covers(&denial.request), !withheld, "{} in {:?}", denial.request, suggestion);
            prop_assert!(withheld || !denial.by_rule);
        }
        let mut turned = denials.clone();
        turned.reverse();
        turned.extend(denials);
        prop_assert_eq!(suggest(&turned, &around()), suggestion);
    }
}
