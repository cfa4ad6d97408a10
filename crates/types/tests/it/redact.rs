//! What is a secret, and what only looks a little like one.

use std::borrow::Cow;

use concertina_types::{Fact, Moved, Redactor};
use proptest::prelude::*;
use serde_json::json;

fn redactor() -> Redactor {
    Redactor::new([9; 32])
}

/// A text with one secret in it: what is left of the text, and the kind of mark.
fn check(text: &str, secret: &str, kind: &str) {
    let redacted = redactor().redact(text).into_owned();
    assert!(!redacted.contains(secret), "{text} became {redacted}");
    let expected = text.replace(secret, &redactor().mark(kind, secret));
    assert_eq!(redacted, expected, "{text}");
}

#[test]
fn s74_tokens_of_known_shapes_are_replaced_and_nothing_beside_them() {
    let tail = "0123456789abcdefghijABCDEFGHIJ012345";
    for (kind, secret) in [
        ("github", format!("ghp_{tail}")),
        ("github", format!("github_pat_11ABCDEFG0{tail}")),
        ("gitlab", "glpat-ab12CD34ef56GH78ij90".to_owned()),
        ("npm", format!("npm_{tail}")),
        ("slack", "xoxb-123456789012-123456789012-AbCdEfGhIjKlMnOpQrStUvWx".to_owned()),
        ("aws", "AKIAIOSFODNN7EXAMPLE".to_owned()),
        ("aws", "ASIAQWERTYUIOPASDFGH".to_owned()),
        ("google", "AIzaSyA1234567890abcdefghijklmnopqrstuv".to_owned()),
        ("api-key", format!("sk-{tail}")),
        ("api-key", format!("sk-ant-api03-{tail}-AA")),
        ("api-key", format!("sk-proj-{tail}")),
        ("stripe", "sk_live_4eC39HqLyjWDarjtT1zdp7dc".to_owned()),
        ("huggingface", "hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345678".to_owned()),
        (
            "jwt",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
                .to_owned(),
        ),
    ] {
        for around in
            ["{}", "a {} b", "({})", "\"{}\",", "'{}'", "x={}", "/tmp/{}/y", "log: {}\n", "{}."]
        {
            check(&around.replace("{}", &secret), &secret, kind);
        }
    }
}

#[test]
fn s74_credentials_are_known_by_what_stands_before_them() {
    for (text, secret, kind) in [
        ("Authorization: Bearer 4f9a8b7c6d5e", "4f9a8b7c6d5e", "authorization"),
        (
            "authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
            "QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
            "authorization",
        ),
        ("Proxy-Authorization: token a1b2c3d4e5", "a1b2c3d4e5", "authorization"),
        (r#"{"Authorization": "Bearer abc123def456"}"#, "abc123def456", "authorization"),
        (r#"{\"authorization\":\"Bearer abc123def456\"}"#, "abc123def456", "authorization"),
        ("the header was Bearer 0a1b2c3d4e5f6a7b8", "0a1b2c3d4e5f6a7b8", "authorization"),
        ("https://ann:hunter2x@db.test/x", "ann:hunter2x", "userinfo"),
        (
            "git clone https://0a1b2c3d4e5f6a7b8c9d@host.test/r.git",
            "0a1b2c3d4e5f6a7b8c9d",
            "userinfo",
        ),
        ("postgres://app:s3cr3t-pw@localhost:5432/app", "app:s3cr3t-pw", "userinfo"),
        ("password=hunter2", "hunter2", "password"),
        ("DB_PASSWORD=Sup3r-Secret", "Sup3r-Secret", "password"),
        ("--password=Sup3rSecret!", "Sup3rSecret!", "password"),
        (r#"{"password":"hunter2"}"#, "hunter2", "password"),
        (r#"{"clientSecret": "p8e-AbC9-xyz"}"#, "p8e-AbC9-xyz", "secret"),
        (r#"{\"api_key\":\"k3y-0000-abcd\"}"#, "k3y-0000-abcd", "key"),
        (
            "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzKEY1",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzKEY1",
            "key",
        ),
        ("GET /x?access_token=a1b2c3d4e5f6a7b8c9&n=5", "a1b2c3d4e5f6a7b8c9", "token"),
        ("password: 8fj3-kkd0", "8fj3-kkd0", "password"),
        ("X-Api-Key: 99aabbccdd", "99aabbccdd", "key"),
    ] {
        check(text, secret, kind);
    }
}

#[test]
fn s74_a_value_behind_the_name_of_a_secret_is_one_whatever_it_looks_like() {
    let aws = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    for (text, secret, kind) in [
        ("password=swordfish", "swordfish", "password"),
        ("DB_PASSWORD=CorrectHorseBatteryStaple\nX=1", "CorrectHorseBatteryStaple", "password"),
        ("export MYSQL_PWD=swordfish", "swordfish", "password"),
        ("password: swordfish", "swordfish", "password"),
        ("db:\n  password: hunter2\n  port: 1", "hunter2", "password"),
        ("password: CorrectHorseBatteryStaple", "CorrectHorseBatteryStaple", "password"),
        ("passphrase: 'correct horse battery staple'", "correct horse battery staple", "secret"),
        (r#"{"password": "swordfish"}"#, "swordfish", "password"),
        (
            r#"{"password": "correct horse battery staple"}"#,
            "correct horse battery staple",
            "password",
        ),
        (r#"{"passwd":"ab\"cd efgh\\"}"#, r#"ab\"cd efgh\\"#, "password"),
        (r#"{\"secret\":\"sword \\\"fish\\\" x\"}"#, r#"sword \\\"fish\\\" x"#, "secret"),
        (r#"{"token": "swordfish"}"#, "swordfish", "token"),
        (r#"{"privateKey": "swordfish", "n": 1}"#, "swordfish", "key"),
        (r#"api_key = "swordfish""#, "swordfish", "key"),
        ("apikey='swordfish'", "swordfish", "key"),
        (r#""text":"password: swordfish\nnext""#, "swordfish", "password"),
        ("--token=swordfish", "swordfish", "token"),
        ("login --password swordfish mydb", "swordfish", "password"),
        ("login --password 'sword fish' mydb", "sword fish", "password"),
        (r#"["login", "--client-secret", "swordfish"]"#, "swordfish", "secret"),
        ("curl -u ann:swordfish https://x.test", "ann:swordfish", "userinfo"),
        (r#"["curl","-u","ann:swordfish"]"#, "ann:swordfish", "userinfo"),
        ("curl --user=ann:s3cr3t x", "ann:s3cr3t", "userinfo"),
        ("postgres://app:swordfish@localhost/app", "app:swordfish", "userinfo"),
        ("Cookie: session=abcdefgh; theme=dark\n", "session=abcdefgh; theme=dark", "cookie"),
        ("curl -H 'Cookie: session=abcdefgh' x", "session=abcdefgh", "cookie"),
        ("Set-Cookie: id=a3fWa1b2; HttpOnly", "id=a3fWa1b2; HttpOnly", "cookie"),
        ("https://x.test/a?sig=abcdefghij%2Bkl&b=1", "abcdefghij%2Bkl", "signature"),
        ("https://x.test/a?b=1&X-Amz-Signature=aabbccddeeff", "aabbccddeeff", "signature"),
    ] {
        check(text, secret, kind);
    }
    for text in ["AWS_SECRET_ACCESS_KEY={}", "aws_secret_access_key = {}", "SecretAccessKey: {}"] {
        check(&text.replace("{}", aws), aws, "key");
    }
}

#[test]
fn s74_what_holds_the_place_of_a_secret_or_speaks_of_one_is_none() {
    for text in [
        "password: string\ntoken: null\nsecret: true\npassword: boolean\n",
        "PASSWORD=$PASSWORD TOKEN=${TOKEN} password=<password> secret=*** password: ${{ secrets.PASSWORD }}",
        r#"{"password": "your-password", "token": "<token>", "secret": "********", "api_key": "YOUR_API_KEY"}"#,
        r#"{"password": "string", "secret": "DB_PASSWORD", "token": "access_token", "passwd": ""}"#,
        r#"{"password": "The password of the user", "token": "a token from the site"}"#,
        "without a password: `minisign -G -W`; postgres://app:password@x postgres://user:secret@x",
        "the password is required. The password: it is needed. secret: see the documents",
        "password = get_password()\npassword = prompt\npassword = user.password\nlet password = value;",
        "connect(user=user, password=passwd, token=credentials)\n  password=passwd,\n",
        "interface A { password: string; secret: Buffer, apiKey: keyOf }",
        "password: SecretString\n  token: TokenProvider\n  private_key: PrivateKey\n",
        "--password PASSWORD --token TOKEN --secret <secret> --api-key $KEY --password-stdin --token-file x",
        "use --password to log in, or --token with a name, or --password --verbose",
        "docker run -u 1000:1000 x; chown -u user:group; curl -u user:password x; curl -u $USER:$PASS x",
        "curl -u user https://x.test:8080/",
        "cookie: yes\nCookie: name=value; name2=value2\nCookie: $COOKIES\ncookies=abcdefgh",
        "sig=abcdefghijkl\nfunction f(signature=abcdefghij)",
        "token: delimiter\n\"token\": \"keyword\"\npassword: \"\"",
        "example: password=example password=example-password secret=exampletoken1",
        r#"password="{password}" secret='%(secret)s' password=f"{user}""#,
    ] {
        assert!(matches!(redactor().redact(text), Cow::Borrowed(_)), "{}", redactor().redact(text));
    }
}

#[test]
fn redaction_takes_time_by_the_length_of_the_text() {
    let mut redactor = redactor();
    redactor.learn("environment", "abcd");
    for piece in [
        "\":",
        "password=",
        "password=\"",
        "://a:",
        "--password ",
        "abcd ",
        "[redacted:",
        "curl -u a:",
        "Cookie: a=",
        "\\",
    ] {
        let text = piece.repeat(400_000 / piece.len());
        let began = std::time::Instant::now();
        let _ = redactor.redact(&text);
        let took = began.elapsed();
        assert!(took.as_secs() < 20, "{piece}: {took:?}");
    }
}

#[test]
fn a_private_key_goes_as_a_whole() {
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n".repeat(4);
    for label in ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY"] {
        let key = format!("-----BEGIN {label}-----\n{body}-----END {label}-----");
        check(&format!("before\n{key}\nafter"), &key, "private-key");
        let spelt = key.replace('\n', "\\n");
        check(&format!("{{\"key\":\"{spelt}\"}}"), &spelt, "private-key");
        let cut = format!("-----BEGIN {label}-----\n{body}");
        assert!(!redactor().redact(&cut).contains("MIIEvQ"), "{label}");
    }
    let public = format!("-----BEGIN PUBLIC KEY-----\n{body}-----END PUBLIC KEY-----");
    assert_eq!(redactor().redact(&public), public);
}

#[test]
fn code_hashes_and_images_stay_as_they_are() {
    for text in [
        "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "commit da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "123e4567-e89b-12d3-a456-426614174000",
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "let token = tokens[0]; let secret = sha256(x);",
        "password = get_password()\npassword: str\ntoken: Uint8Array\nsecret: Vec2",
        "if token == token2 { secret => key1 }",
        "password = settings.DB_PASSWORD1\n    token: process.env.CLOUDFLARE_D1_TOKEN!,",
        "Authorization: Bearer <token>\nAuthorization: Bearer $TOKEN\nAuthorization: Bearer YOUR_API_KEY",
        "https://user:password@host/ https://$USER:$PASS@host/ ssh://git@github.com/x git@github.com:x",
        "api_key=os.environ[\"KEY1\"] api_key=\"${API_KEY1}\" api_key=<your-key-1>",
        "max_tokens=4096 nextPageToken: \"a1b2c3d4e5f6a7b8c9d0\"",
        "sk-learn-something-like-a-long-name sk-circle-fade-dot-and-more-words",
        "npm_lifecycle_event npm_config_registry hf_hub_download",
        "ghp_short AKIAshort risk-0123456789abcdefghijABCDEFGHIJ012345",
        "eyJhbGciOiJIUzI1NiJ9 alone, and a.b.c",
        "-----BEGIN PRIVATE KEY----- is how such files begin",
        "PWD=/x/ann1 cwd=/x1 OLDPWD=/x/bob2",
        "the bearer of this letter, basic training, token: none",
    ] {
        assert!(matches!(redactor().redact(text), Cow::Borrowed(_)), "{}", redactor().redact(text));
    }
}

#[test]
fn what_is_known_is_found_however_it_is_spelt() {
    let mut redactor = redactor();
    redactor.learn("environment", "p\"w d/1");
    redactor.learn("environment", "abc");
    redactor.learn("environment", "zebra");
    let known = |text: &str| redactor.count(text);
    assert_eq!(known("it is p\"w d/1."), 1);
    assert_eq!(known(r#"{"x":"p\"w d/1"}"#), 1);
    assert_eq!(known("https://h/?q=p%22w%20d%2F1"), 1);
    assert_eq!(known("abc"), 0, "too short to be looked for");
    assert_eq!((known("a zebra,"), known("zebras"), known("xzebra")), (1, 0, 0));
    let once = redactor.redact("zebra zebra").into_owned();
    assert_eq!(redactor.redact(&once), once);
}

#[test]
fn equal_secrets_have_equal_marks_and_other_keys_give_others() {
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let mark = redactor().redact(secret).into_owned();
    assert_eq!(redactor().redact(&format!("{secret} {secret}")), format!("{mark} {mark}"));
    assert_ne!(Redactor::new([1; 32]).redact(secret), mark);
    assert_ne!(redactor().redact(&secret.replace('0', "1")), mark);
}

#[test]
fn arguments_are_secret_by_schema_or_name() {
    let schema = json!({
        "properties": {
            "pin": {"type": "integer", "writeOnly": true},
            "word": {"type": "string", "format": "password"},
            "inner": {"properties": {"seed": {"secret": true}, "plain": {}}},
            "list": {"type": "array", "items": {"$ref": "#/$defs/one"}},
            "either": {"anyOf": [{"type": "null"}, {"writeOnly": true}]},
        },
        "$defs": {"one": {"properties": {"deep": {"secret": true}}}},
    });
    let arguments = json!({
        "pin": 1, "word": "a", "inner": {"seed": [1, 2], "plain": "p"}, "list": [{"deep": "d", "n": 2}],
        "either": "e", "password": "letters", "token": "report", "api_key": "k k",
    });
    let recorded = redactor().redact_arguments(&schema, &arguments);
    let is_marked = |pointer: &str| {
        recorded
            .pointer(pointer)
            .and_then(|value| value.as_str())
            .is_some_and(|text| text.starts_with("[redacted:"))
    };
    for pointer in ["/pin", "/word", "/inner/seed", "/list/0/deep", "/either", "/password"] {
        assert!(is_marked(pointer), "{pointer}: {recorded}");
    }
    for pointer in ["/inner/plain", "/list/0/n", "/token", "/api_key"] {
        assert_eq!(recorded.pointer(pointer), arguments.pointer(pointer), "{pointer}");
    }
    assert_eq!(redactor().redact_arguments(&schema, &recorded), recorded, "once is enough");
    let mut taught = redactor();
    taught.learn_arguments(&schema, &json!({"word": "sesame", "password": "letters"}));
    assert_eq!(
        taught.count("sesame letters"),
        1,
        "what only has such a name is not looked for elsewhere"
    );
}

#[test]
fn a_fact_that_has_no_name_left_is_no_fact() {
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let named = Fact::SkillClosed { id: secret.parse().unwrap() };
    assert!(redactor().redact_fact(named, &Moved::new()).is_ok());
    let call = Fact::ChildFinished {
        child: secret.parse().unwrap(),
        completed: true,
        result: concertina_types::Blob::of(""),
    };
    let error = redactor().redact_fact(call, &Moved::new()).unwrap_err();
    assert!(error.to_string().starts_with("a child.finished event holds"), "{error}");
}

/// Every form in which a name stands before its secret, with a place for the secret.
const FORMS: [&str; 9] = [
    "password={}",
    "PASSWD={}\n",
    "{\"passphrase\": \"{}\"}",
    "{\\\"client_secret\\\":\\\"{}\\\"}",
    "password: {}",
    "--token={}",
    "x --password {}",
    "curl -u ann:{}",
    "a?signature={}",
];

proptest! {
    #[test]
    fn s74_a_random_value_is_found_in_every_form(value in "[b-d]{3,8}[0-9]{3}[A-D]{3,8}", form in 0..9_usize) {
        let text = FORMS[form].replace("{}", &value);
        let once = redactor().redact(&text).into_owned();
        prop_assert!(!once.contains(&value), "{} became {}", text, once);
        prop_assert_eq!(redactor().redact(&once).into_owned(), once);
    }

    #[test]
    fn s74_forms_among_anything_are_stable(text in "([ \n\\\\\"'`:=,;&?{}\\[\\]<>$@-]|password|token|pwd|secret|Cookie: |curl -u |--token |\\?sig=|\\[redacted:[a-z]{3}:[0-9a-f]{8}\\]|[0-9A-Za-z]{1,20}){0,30}") {
        let once = redactor().redact(&text).into_owned();
        prop_assert_eq!(redactor().redact(&once).into_owned(), once);
    }

    #[test]
    fn redacting_twice_is_redacting_once(text in "([a-z :=/@\"'{}\\[\\]-]|password=|ghp_|https://|\\[redacted:|[0-9A-Za-z]{8,40}){0,30}") {
        let once = redactor().redact(&text).into_owned();
        prop_assert_eq!(redactor().redact(&once).into_owned(), once);
    }

    #[test]
    fn any_text_can_be_redacted(text in "\\PC{0,200}") {
        let mut redactor = redactor();
        redactor.learn("environment", text.get(..text.floor_char_boundary(20)).unwrap());
        let _ = redactor.redact(&text);
    }

    #[test]
    fn a_token_is_found_in_any_surroundings(before in "\\PC{0,20}", after in "[^A-Za-z0-9_-]{0,20}") {
        let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
        let text = format!("{before}{secret}{after}");
        prop_assert!(!redactor().redact(&text).contains(secret));
    }
}

/// Skills as people write them: they show commands with tokens in them, and have none.
#[test]
fn real_skills_keep_their_text() {
    let Some(corpus) = std::env::var_os("CONCERTINA_CORPUS") else {
        eprintln!("skipped: real_skills_keep_their_text: CONCERTINA_CORPUS is not set");
        return;
    };
    let (mut files, mut bytes, mut marked) = (0_u32, 0, Vec::new());
    let mut directories = vec![std::path::PathBuf::from(corpus)];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                files += 1;
                bytes += text.len();
                let count = redactor().count(&text);
                if count > 0 {
                    marked.push(format!("{count} in {}", path.display()));
                }
            }
        }
    }
    println!(
        "{} of {files} files ({bytes} bytes) have marks:\n{}",
        marked.len(),
        marked.join("\n")
    );
    assert!(files > 100, "{files} files");
    assert!(marked.len() * 100 <= files as usize, "{marked:#?}");
}
