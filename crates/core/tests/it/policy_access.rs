//! The lattice of what may be done: its laws, and where its borders are.

use std::sync::LazyLock;

use concertina_core::policy::{
    Access, CommandPattern, FilePath, Part, PathPattern, Pattern, Reach, Request, Root, Scope,
};
use proptest::prelude::*;

use crate::kit::tool_name;

static PATHS: LazyLock<Vec<PathPattern>> = LazyLock::new(|| {
    [
        "/**",
        "/w/**",
        "/w/src/**",
        "/w/src/*.rs",
        "/w/**/*.rs",
        "/w/src/a.rs",
        "/w/a",
        "/w/[ab]",
        "/w",
        "/v/**",
    ]
    .map(|text| PathPattern::new(text).unwrap())
    .into()
});

static COMMANDS: LazyLock<Vec<CommandPattern>> = LazyLock::new(|| {
    ["git *", "git add *", "git add", "git a* x", "git add x", "ls", "ls *"]
        .map(|text| CommandPattern::new(text).unwrap())
        .into()
});

static TOOLS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    ["*", "sql/*", "sql/query", "s*l/q*", "{shell,sql/drop}", "shell", "s*"]
        .map(|text| Pattern::new(text).unwrap())
        .into()
});

fn reach(domain: &str, method: &str) -> Reach {
    Reach { domain: domain.parse().unwrap(), method: method.to_owned() }
}

static REACHES: LazyLock<Vec<Reach>> = LazyLock::new(|| {
    [
        ("a.test", "GET"),
        ("*.a.test", "GET"),
        ("b.a.test", "*"),
        ("b.a.test:443", "POST"),
        ("*.a.test", "*"),
    ]
    .map(|(domain, method)| reach(domain, method))
    .into()
});

static REQUESTS: LazyLock<Vec<Request>> = LazyLock::new(|| {
    let paths =
        ["/", "/w", "/w/a", "/w/src", "/w/src/a.rs", "/w/src/b.rs", "/w/src/x/a.rs", "/v/a", "/wa"];
    let paths = paths.map(|path| FilePath::new(path).unwrap());
    let commands =
        ["git", "git add", "git add x", "git add x y", "git ax x", "ls", "ls -l", "gitx add"];
    let hosts = [
        ("a.test", 80),
        ("b.a.test", 443),
        ("b.a.test", 80),
        ("c.b.a.test", 80),
        ("evila.test", 80),
    ];
    let reads = paths.clone().map(Request::Read).into_iter();
    let runs = commands.map(|text| Request::Run(text.split(' ').map(str::to_owned).collect()));
    let connects = hosts.into_iter().flat_map(|(host, port)| {
        ["GET", "POST", "CONNECT"].map(|method| Request::connect(host, port, method).unwrap())
    });
    let calls =
        ["sql/query", "sql/drop", "shell", "other"].map(|name| Request::Call(tool_name(name)));
    reads.chain(paths.map(Request::Write)).chain(runs).chain(connects).chain(calls).collect()
});

/// A scope as somebody wrote it: layers of patterns, in any order and with repetitions.
fn written<P: Part + std::fmt::Debug + 'static>(
    patterns: &'static [P],
) -> impl Strategy<Value = Vec<Vec<P>>> {
    let layer = prop::collection::vec(prop::sample::select(patterns), 0..4);
    prop::collection::vec(layer, 0..3)
}

type Written = (
    Vec<Vec<PathPattern>>,
    Vec<Vec<PathPattern>>,
    Vec<Vec<Reach>>,
    Vec<Vec<CommandPattern>>,
    Vec<Vec<Pattern>>,
);

fn any_written() -> impl Strategy<Value = Written> {
    (written(&PATHS), written(&PATHS), written(&REACHES), written(&COMMANDS), written(&TOOLS))
}

fn scope<P: Part>(layers: &[Vec<P>]) -> Scope<P> {
    layers.iter().fold(Scope::everything(), |scope, layer| scope.narrowed(layer.clone()))
}

fn access((read, write, network, execute, tools): &Written) -> Access {
    Access {
        read: scope(read),
        write: scope(write),
        network: scope(network),
        execute: scope(execute),
        tools: scope(tools),
    }
}

fn any_access() -> impl Strategy<Value = Access> {
    any_written().prop_map(|written| access(&written))
}

/// The meaning of a scope, read aloud.
fn oracle((read, write, network, execute, tools): &Written, request: &Request) -> bool {
    fn all<P>(layers: &[Vec<P>], covers: impl Fn(&P) -> bool) -> bool {
        layers.iter().all(|layer| layer.iter().any(&covers))
    }
    match request {
        Request::Read(path) => all(read, |pattern| pattern.matches(path)),
        Request::Write(path) => all(write, |pattern| pattern.matches(path)),
        Request::Connect(asked) => all(network, |reach| reach.covers(asked)),
        Request::Run(words) => all(execute, |pattern| pattern.matches(words)),
        Request::Call(tool) => all(tools, |pattern| pattern.matches(tool.as_str())),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn access_is_what_its_layers_say_however_they_are_reduced(written in any_written()) {
        let access = access(&written);
        for request in REQUESTS.iter() {
            prop_assert_eq!(access.covers(request), oracle(&written, request), "{}", request);
        }
    }

    #[test]
    fn k14_meet_allows_what_both_do_and_join_what_either_does(a in any_access(), b in any_access()) {
        let (both, either) = (a.meet(&b), a.join(&b));
        for request in REQUESTS.iter() {
            prop_assert_eq!(both.covers(request), a.covers(request) && b.covers(request), "{}", request);
            prop_assert_eq!(either.covers(request), a.covers(request) || b.covers(request), "{}", request);
        }
    }

    #[test]
    fn meet_and_join_are_those_of_a_distributive_lattice(a in any_access(), b in any_access(), c in any_access()) {
        prop_assert_eq!(a.meet(&a), a.clone());
        prop_assert_eq!(a.join(&a), a.clone());
        prop_assert_eq!(a.meet(&b), b.meet(&a));
        prop_assert_eq!(a.join(&b), b.join(&a));
        prop_assert_eq!(a.meet(&b).meet(&c), a.meet(&b.meet(&c)));
        prop_assert_eq!(a.join(&b).join(&c), a.join(&b.join(&c)));
        prop_assert_eq!(a.meet(&a.join(&b)), a.clone());
        prop_assert_eq!(a.join(&a.meet(&b)), a.clone());
        prop_assert_eq!(a.meet(&b.join(&c)), a.meet(&b).join(&a.meet(&c)));
        prop_assert_eq!(a.meet(&Access::everything()), a.clone());
        prop_assert_eq!(a.join(&Access::nothing()), a.clone());
        prop_assert_eq!(a.meet(&Access::nothing()), Access::nothing());
        prop_assert_eq!(a.join(&Access::everything()), Access::everything());
    }

    #[test]
    fn one_access_has_one_digest(written in any_written()) {
        let once = access(&written);
        let mut turned = written.clone();
        for layer in &mut turned.0 {
            layer.reverse();
            layer.extend(layer.first().cloned());
        }
        turned.0.reverse();
        turned.4.reverse();
        let text = once.canonical();
        prop_assert_eq!(access(&turned).digest(), once.digest());
        prop_assert_eq!(serde_json::from_str::<Access>(&text).unwrap(), once);
    }

    #[test]
    fn roots_cover_exactly_what_may_be_read(layers in written(&PATHS)) {
        let access = Access { read: scope(&layers), ..Access::nothing() };
        let roots = access.roots().read;
        for request in REQUESTS.iter() {
            if let Request::Read(path) = request {
                let rooted = roots.iter().any(|root| root.covers(path));
                prop_assert_eq!(rooted, access.covers(request), "{} in {:?}", path, roots);
            }
        }
    }

    #[test]
    fn scopes_of_the_network_say_what_may_be_reached(layers in written(&REACHES)) {
        let access = Access { network: scope(&layers), ..Access::nothing() };
        let told = access.network_scopes().map(|scopes| {
            let reaches = scopes.iter().flat_map(|scope| {
                scope.domains.iter().map(|domain| reach(domain, &scope.methods[0]))
            });
            Access { network: Scope::of(reaches), ..Access::nothing() }
        });
        for request in REQUESTS.iter().filter(|request| matches!(request, Request::Connect(_))) {
            let expected = told.as_ref().is_none_or(|told| told.covers(request));
            prop_assert_eq!(access.covers(request), expected, "{}", request);
        }
    }
}

fn read(path: &str) -> Request {
    Request::Read(FilePath::new(path).unwrap())
}

#[test]
fn k14_what_a_call_may_do_is_what_the_session_has_and_an_open_skill_asks_for() {
    let of = |text: &str| Access {
        read: Scope::of([PathPattern::new(text).unwrap()]),
        ..Access::nothing()
    };
    let session = of("/w/**");
    let (first, second) = (of("/w/a/**"), of("/v/**"));
    let effective = session.effective([&first, &second]);
    assert!(effective.covers(&read("/w/a/x")));
    assert!(!effective.covers(&read("/w/b")), "no skill asks for it");
    assert!(!effective.covers(&read("/v/x")), "the session does not have it");
    assert_eq!(session.effective([]), Access::nothing());
}

#[test]
fn roots_are_subtrees_files_and_globs_with_their_directory() {
    let patterns = ["/w/src/**", "/w/src/deep/a", "/w/a.txt", "/v/x/*.rs", "/w/src/*.rs"];
    let patterns = patterns.map(|text| PathPattern::new(text).unwrap());
    let access = Access { read: Scope::of(patterns.clone()), ..Access::nothing() };
    let path = |text| FilePath::new(text).unwrap();
    let expected = vec![
        Root::Subtree(path("/w/src")),
        Root::File(path("/w/a.txt")),
        Root::Glob { base: path("/v/x"), patterns: vec![patterns[3].clone()] },
    ];
    assert_eq!(access.roots().read, expected);
    assert_eq!(Access::nothing().roots().read, []);
    assert_eq!(Access::everything().roots().read, [Root::Subtree(FilePath::root())]);
}

/// What a grant of `/p/proj/**` makes of a path, and whether the path is one at all.
const TRAVERSAL: &[(&str, Option<bool>)] = &[
    ("/p/proj", Some(true)),
    ("/p/proj/", Some(true)),
    ("/p/proj/a", Some(true)),
    ("/p/proj//a", Some(true)),
    ("//p/proj/a", Some(true)),
    ("/p/proj/./a/", Some(true)),
    ("/p/proj/..a", Some(true)),
    ("/p/proj/a..b", Some(true)),
    ("/p/proj/...", Some(true)),
    ("/p/proj/a\nb", Some(true)),
    ("/p/proj-evil/x", Some(false)),
    ("/p/proj.bak", Some(false)),
    ("/p/projx", Some(false)),
    ("/p/pro", Some(false)),
    ("/p", Some(false)),
    ("/", Some(false)),
    ("/p/PROJ/a", Some(false)),
    ("/P/proj/a", Some(false)),
    ("/p/ｐｒｏｊ/a", Some(false)),
    ("/p/prоj/a", Some(false)),
    ("/p/proj\u{200b}/a", Some(false)),
    ("/p/proj /a", Some(false)),
    ("/p\\proj\\a", Some(false)),
    ("/p/%70roj/a", Some(false)),
    ("/x/p/proj/a", Some(false)),
    ("/p/proj/..", None),
    ("/p/proj/../key", None),
    ("/p/proj/a/../../key", None),
    ("/../p/proj/a", None),
    ("p/proj/a", None),
    ("./p/proj/a", None),
    ("../p/proj/a", None),
    ("~/a", None),
    ("", None),
    ("file:///p/proj/a", None),
    ("/p/proj/a\0b", None),
    ("/p/proj\0/../../etc/passwd", None),
];

#[test]
fn k03_s22_advisory_01_a_path_is_granted_by_whole_names_or_not_at_all() {
    let access =
        Access { read: Scope::of([PathPattern::new("/p/proj/**").unwrap()]), ..Access::nothing() };
    for (text, expected) in TRAVERSAL {
        let found = FilePath::new(text).ok().map(|path| access.covers(&Request::Read(path)));
        assert_eq!(found, *expected, "{text:?}");
    }
    assert!(FilePath::new(&format!("/{}", "a".repeat(5_000))).is_err());
}

#[test]
fn k03_letters_written_in_two_ways_are_two_names() {
    let access = Access {
        read: Scope::of([PathPattern::new("/p/caf\u{e9}/**").unwrap()]),
        ..Access::nothing()
    };
    assert!(access.covers(&read("/p/caf\u{e9}/a")));
    assert!(!access.covers(&read("/p/cafe\u{301}/a")));
}

#[test]
fn a_pattern_over_paths_stays_where_it_says() {
    let cases = [
        ("/p/*.rs", "/p/a.rs", true),
        ("/p/*.rs", "/p/x/a.rs", false),
        ("/p/**/*.rs", "/p/a.rs", true),
        ("/p/**/*.rs", "/p/x/y/a.rs", true),
        ("/p/?", "/p/a", true),
        ("/p/?", "/p/ab", false),
        ("/p/[ab]/c", "/p/a/c", true),
        ("/p/[[]x]", "/p/[x]", true),
        ("/p/[[]x]", "/p/x", false),
        ("/p/{a,b}", "/p/b", true),
        ("/p/a/", "/p/a/b/c", true),
        ("/p/a/**/*", "/p/a/b/c", true),
        ("/p/a", "/p/a/b", false),
        ("/p/a\\*", "/p/a*", true),
        ("/p/a\\*", "/p/ab", false),
    ];
    for (pattern, path, expected) in cases {
        let matches = PathPattern::new(pattern).unwrap().matches(&FilePath::new(path).unwrap());
        assert_eq!(matches, expected, "{pattern} on {path}");
    }
    for text in ["", "a/**", "~/**", "/p/../**", "/p/[", "/p/[!a]b", "/p/{a", &"/a".repeat(5_000)] {
        assert!(PathPattern::new(text).is_err(), "{text}");
    }
}
