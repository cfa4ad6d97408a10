//! From a declaration to access: variables, parameters, and what may not be declared.

use concertina_core::policy::{
    Access, DeclarationError, FilePath, Request, Root, Surroundings, fill, resolve,
};
use concertina_types::{NetworkScope, PathScope, Permissions};
use proptest::prelude::*;

fn path(text: &str) -> FilePath {
    FilePath::new(text).unwrap()
}

fn around() -> Surroundings {
    Surroundings {
        home: Some(path("/h/ann")),
        session: [("skill_dir".to_owned(), "/h/ann/skills/sql".to_owned())].into(),
        parameters: [
            ("order_id".to_owned(), "17".to_owned()),
            ("code_dir".to_owned(), "code".to_owned()),
        ]
        .into(),
        unwritable: vec![path("/h/ann/.config/concertina"), path("/state"), path("/w/skills.lock")],
        secret: vec![path("/h/ann/.local/keys")],
        ..Surroundings::new(path("/w"))
    }
}

fn scopes(paths: &[&str]) -> Vec<PathScope> {
    vec![PathScope { paths: paths.iter().map(|&path| path.to_owned()).collect() }]
}

fn reading(paths: &[&str]) -> Permissions {
    Permissions { read: scopes(paths), ..Permissions::default() }
}

fn writing(paths: &[&str]) -> Permissions {
    Permissions { write: scopes(paths), ..Permissions::default() }
}

fn executing(commands: &[&str]) -> Permissions {
    let execute = commands.iter().map(|&command| command.to_owned()).collect();
    Permissions { execute, ..Permissions::default() }
}

fn reaching(domains: &[&str], methods: &[&str]) -> Permissions {
    let texts = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
    let scope = NetworkScope { domains: texts(domains), methods: texts(methods) };
    Permissions { network: vec![scope], ..Permissions::default() }
}

fn reads(access: &Access, text: &str) -> bool {
    access.covers(&Request::Read(path(text)))
}

fn runs(access: &Access, words: &[&str]) -> bool {
    access.covers(&Request::Run(words.iter().map(|&word| word.to_owned()).collect()))
}

/// The code of the first thing that is wrong with `permissions`.
fn code(permissions: &Permissions) -> Option<&'static str> {
    resolve(permissions, &around()).err().map(|errors| errors[0].code)
}

#[test]
fn variables_stand_for_what_the_session_and_the_parameters_say() {
    let cases = [
        ("src/**", "/w/src/a"),
        ("./src/", "/w/src/a"),
        ("${workspace}/src/**", "/w/src/a"),
        ("${skill_dir}/*.sql", "/h/ann/skills/sql/a.sql"),
        ("${code_dir}/src/**", "/w/code/src/a"),
        ("~/notes/**", "/h/ann/notes/a"),
        ("/etc/hosts", "/etc/hosts"),
        ("orders/${order_id}/*.csv", "/w/orders/17/a.csv"),
        ("a$${b}c", "/w/a${b}c"),
    ];
    for (pattern, inside) in cases {
        let access = resolve(&reading(&[pattern]), &around());
        if pattern.contains("$$") {
            // What is written out stays a pattern: braces are alternatives.
            assert!(reads(&access.unwrap(), "/w/a$bc"), "{pattern}");
            continue;
        }
        let access = access.unwrap();
        assert!(reads(&access, inside), "{pattern}");
        assert!(!reads(&access, "/w/other"), "{pattern}");
    }
}

#[test]
fn a_variable_that_is_unknown_is_an_error_with_the_nearest() {
    let errors = resolve(&reading(&["${ordr_id}/**", "${nobody}/x"]), &around()).unwrap_err();
    assert_eq!(errors[0].code, "UNKNOWN_VARIABLE");
    assert_eq!(errors[0].help, "did you mean `${order_id}`?");
    assert_eq!(
        errors[1].to_string(),
        "`read`: `${nobody}/x` names `${nobody}`, which is no parameter and no variable; known are: workspace, skill_dir, code_dir, order_id"
    );
    assert_eq!(code(&reading(&["${order_id"])), Some("BAD_PATTERN"));
}

#[test]
fn k07_a_parameter_used_as_a_scope_binds_the_call_to_it() {
    let declared = Permissions {
        write: scopes(&["orders/${order_id}/**"]),
        ..reading(&["orders/${order_id}/**"])
    };
    let with = |value: &str| {
        let mut around = around();
        around.parameters.insert("order_id".into(), value.into());
        resolve(&declared, &around)
    };
    for value in ["17", "a b", "2026/17", "..a", "-17", "[17]", "{a,b}", "${workspace}", "~"] {
        let access = with(value).unwrap();
        assert!(reads(&access, &format!("/w/orders/{value}/a.csv")), "{value}");
        assert!(!reads(&access, "/w/orders/18/a.csv"), "{value}");
        assert!(!reads(&access, "/w/orders/a/x"), "{value}");
        assert!(!reads(&access, "/w/orders"), "{value}");
    }
    for value in
        ["", ".", "/", "./.", "..", "../keys", "17/../..", "*", "1?", "**", "1\0", "/etc/../x"]
    {
        let errors = with(value).unwrap_err();
        assert_eq!(errors.len(), 2, "{value:?}");
        assert!(errors.iter().all(|error| error.code == "VALUE_REFUSED"), "{value:?}");
    }
}

#[test]
fn k07_a_parameter_leads_nowhere_outside_the_workspace() {
    let with = |value: &str| {
        let mut around = around();
        around.parameters.insert("code_dir".into(), value.into());
        resolve(&reading(&["${code_dir}/src/**"]), &around).map_err(|errors| errors[0].code)
    };
    assert!(reads(&with("/w/code").unwrap(), "/w/code/src/a"));
    assert!(reads(&with(".").unwrap(), "/w/src/a"));
    for value in ["/", "/etc", "/w-evil", "/w/../etc", "..", "~/../x"] {
        assert_eq!(with(value).unwrap_err(), "VALUE_REFUSED", "{value}");
    }
    // What a session says is taken as it is, and its letters stand for themselves.
    let mut odd = Surroundings::new(path("/w/a[b]*"));
    odd.session.insert("code_dir".into(), "/srv/x".into());
    odd.parameters.insert("code_dir".into(), "mine".into());
    let access = resolve(&reading(&["${code_dir}/**", "src/**"]), &odd).unwrap();
    assert!(reads(&access, "/srv/x/a") && reads(&access, "/w/a[b]*/src/a"));
    assert!(!reads(&access, "/w/ab/src/a") && !reads(&access, "/w/a[b]*/mine/a"));
}

#[test]
fn values_are_never_read_again() {
    let mut around = around();
    around.parameters.insert("order_id".into(), "${skill_dir}".into());
    let access = resolve(&reading(&["orders/${order_id}/**"]), &around).unwrap();
    assert!(reads(&access, "/w/orders/${skill_dir}/a"));
    assert!(!reads(&access, "/h/ann/skills/sql/a"));
}

#[test]
fn s07_nobody_may_declare_to_write_everything_or_what_guards_it() {
    for wide in ["/", "/**", "~", "~/", "~/**", "/h/ann/**", "/h/**", "/root", "//"] {
        assert_eq!(code(&writing(&[wide])), Some("WRITE_TOO_WIDE"), "{wide}");
    }
    for homes in ["home", "Users"] {
        for wide in [format!("/{homes}"), format!("/{homes}/bob"), format!("/{homes}/bob/**")] {
            assert_eq!(code(&writing(&[&wide])), Some("WRITE_TOO_WIDE"), "{wide}");
        }
        assert_eq!(code(&writing(&[&format!("/{homes}/bob/out/**")])), None);
    }
    for guarded in [
        "~/.config/**",
        "~/.config/concertina/concertina.toml",
        "/state/**",
        "/state/log/x",
        "skills.lock",
        "**",
        "~/.local/**",
        "~/.local/keys/signing",
    ] {
        assert_eq!(code(&writing(&[guarded])), Some("COVERS_PROTECTED"), "{guarded}");
    }
    for keys in ["~/.local/keys/signing", "~/.local/**", "~/**", "/**", "/h/*/.local/**"] {
        assert_eq!(code(&reading(&[keys])), Some("COVERS_PROTECTED"), "{keys}");
    }
    for fine in ["out/**", "out.txt", "~/out/**", "/tmp/x/", "/statement/**", "skills.lock.d/**"] {
        assert_eq!(code(&writing(&[fine])), None, "{fine}");
    }
    assert_eq!(code(&reading(&["~/.config/**"])), None, "what may not be changed may be read");
}

#[test]
fn what_is_written_is_declared_by_directory() {
    let errors = resolve(&writing(&["out/*.csv"]), &around()).unwrap_err();
    assert_eq!(errors[0].code, "WRITE_NOT_DIRECTORY");
    assert_eq!(errors[0].help, "name its directory: `/w/out/**`");
    let access = resolve(&writing(&["out/**", "log.txt"]), &around()).unwrap();
    let expected = vec![Root::Subtree(path("/w/out")), Root::File(path("/w/log.txt"))];
    assert_eq!(access.roots().write, expected);
}

#[test]
fn s08_hosts_are_names_and_not_everything() {
    for (wide, expected) in [
        ("*", "NETWORK_EVERYTHING"),
        ("*.com", "NETWORK_TOP_LEVEL"),
        ("http://a/b", "NETWORK_ADDRESS"),
        ("a.test/x", "NETWORK_ADDRESS"),
        ("me@a.test", "NETWORK_ADDRESS"),
        ("a%00.test", "HOST_CHARACTER"),
        ("", "HOST_EMPTY"),
        ("*.*.test", "NETWORK_STAR"),
        ("a.*", "NETWORK_STAR"),
    ] {
        assert_eq!(code(&reaching(&[wide], &[])), Some(expected), "{wide}");
    }
    assert_eq!(code(&reaching(&["a.test"], &["GET /"])), Some("NETWORK_METHOD"));
    for fine in ["api.example.com", "*.example.com", "127.0.0.1:8080", "localhost", "EXAMPLE.com."]
    {
        assert_eq!(code(&reaching(&[fine], &[])), None, "{fine}");
    }
}

#[test]
fn a_connection_that_cannot_be_seen_needs_all_writing_methods() {
    let allows = |methods: &[&str], method: &str| {
        let access = resolve(&reaching(&["a.test"], methods), &around()).unwrap();
        access.covers(&Request::connect("A.test.", 443, method).unwrap())
    };
    assert!(allows(&[], "GET") && allows(&[], "HEAD") && !allows(&[], "POST"));
    assert!(!allows(&[], "CONNECT") && !allows(&["GET", "POST"], "CONNECT"));
    assert!(allows(&["CONNECT"], "CONNECT") && allows(&["*"], "CONNECT"));
    assert!(allows(&["POST", "PUT", "PATCH", "DELETE"], "CONNECT"));
}

#[test]
fn s20_advisory_38_a_value_is_never_an_option() {
    let with = |pattern: &str, value: &str| {
        let mut around = around();
        around.parameters.insert("order_id".into(), value.into());
        resolve(&executing(&[pattern]), &around).map_err(|errors| errors[0].code)
    };
    for value in ["-rf", "--output=/x", "-"] {
        assert_eq!(with("git add ${order_id}", value).unwrap_err(), "VALUE_REFUSED", "{value}");
        assert!(runs(
            &with("git add -- ${order_id}", value).unwrap(),
            &["git", "add", "--", value]
        ));
        let named = format!("--id={value}");
        assert!(runs(&with("x --id=${order_id}", value).unwrap(), &["x", &named]));
    }
    assert!(runs(&with("git add ${order_id}", "17").unwrap(), &["git", "add", "17"]));
}

#[test]
fn advisory_02_a_value_is_one_word_and_no_pattern() {
    let with = |value: &str| {
        let mut around = around();
        around.parameters.insert("order_id".into(), value.into());
        resolve(&executing(&["echo ${order_id}"]), &around)
    };
    for value in ["\"; touch /tmp/pwn; echo \"", "a b", "$(id)", "a\nb", "[a]", "{a,b}"] {
        let access = with(value).unwrap_or_else(|errors| panic!("{value}: {errors:?}"));
        assert!(runs(&access, &["echo", value]), "{value}");
        assert_eq!(serde_json::from_str::<Access>(&access.canonical()).unwrap(), access);
        assert!(!runs(&access, &["echo", "a"]) && !runs(&access, &["touch", "/tmp/pwn"]));
        assert!(!runs(&access, &["echo", "a", "b"]));
    }
}

#[test]
fn a_declaration_is_read_whole_or_not_at_all() {
    let mut declared = reading(&["src/**", "${nobody}"]);
    declared.execute = vec!["* x".into(), "a && b".into()];
    declared.tools = vec!["[".into()];
    let errors = resolve(&declared, &around()).unwrap_err();
    let found: Vec<_> = errors.iter().map(|error| (error.key, error.code)).collect();
    assert_eq!(
        found,
        [
            ("read", "UNKNOWN_VARIABLE"),
            ("execute", "BAD_COMMAND"),
            ("execute", "BAD_COMMAND"),
            ("tools", "BAD_PATTERN")
        ]
    );
    assert_eq!(resolve(&Permissions::default(), &around()), Ok(Access::nothing()));
    let many: Vec<String> = (0..300).map(|number| format!("a{number}")).collect();
    let many = Permissions { tools: many, ..Permissions::default() };
    assert_eq!(code(&many), Some("TOO_MANY_PATTERNS"));
}

#[test]
fn one_declaration_has_one_digest_however_it_is_written() {
    let one = resolve(&reading(&["src/**", "a", "src/x.rs"]), &around()).unwrap();
    let other =
        resolve(&reading(&["./a", "${workspace}//src/", "/w/src/**/*"]), &around()).unwrap();
    assert_eq!(one, other);
    assert_eq!(one.digest(), other.digest());
    assert_ne!(one.digest(), resolve(&reading(&["src/**"]), &around()).unwrap().digest());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Whoever reads a declaration with its values in place, and knows none, reads the same.
    #[test]
    fn k07_a_declaration_with_its_values_in_place_means_the_same(
        value in "[a-c17 /.~*?!\\[\\]{}$'\"\\\\;|&#\n-]{0,8}",
        is_session in any::<bool>(),
    ) {
        let mut with = around();
        let values = if is_session { &mut with.session } else { &mut with.parameters };
        values.insert("v".into(), value);
        for declared in [
            reading(&["orders/${v}/**", "a-${v}"]),
            reading(&["${v}/x/*.rs"]),
            reading(&["~/notes/${v}"]),
            writing(&["${v}"]),
            executing(&["ls ${v}"]),
            executing(&["sort -- ${v} *", "x 'a ${v}' \"${v}\""]),
            reaching(&["${v}.example.com"], &[]),
            Permissions { tools: vec!["db/${v}".into()], ..Permissions::default() },
        ] {
            let read = resolve(&declared, &with);
            match fill(&declared, &with) {
                Ok(filled) => {
                    prop_assert_eq!(fill(&filled, &around()), Ok(filled.clone()));
                    let errors = |read: Result<Access, Vec<DeclarationError>>| {
                        read.map_err(|errors| errors.iter().map(|one| one.code).collect::<Vec<_>>())
                    };
                    prop_assert_eq!(errors(resolve(&filled, &around())), errors(read), "{:?}", filled);
                }
                Err(errors) => prop_assert_eq!(read, Err(errors)),
            }
        }
    }
}
