//! Who is let in.

use concertina_http::{Approvers, TokenError, Tokens};
use concertina_runtime::approval::Whose;

use crate::kit::{TOKEN, service};

#[tokio::test]
async fn security_86_advisory_34_advisory_41_only_our_own_name_is_answered_to() {
    let service = service(None, |names| names.host("box.lan").host("other.lan:81")).await;
    for good in [
        "Host: %H",
        "Host: localhost:%P",
        "host: LOCALHOST:%P",
        "Host: localhost.:%P",
        "Host: [::1]:%P",
        "Host: box.lan:%P",
        "Host: other.lan:81",
    ] {
        assert_eq!(service.status(good).await, 200, "{good}");
    }
    for bad in [
        "Host: evil.test",
        "Host: evil.test:%P",
        "Host: 127.0.0.1.evil.test:%P",
        "Host: 127.0.0.1:%P.evil.test",
        "Host: localhost:1",
        "Host: [::1]:1",
        "Host: [::1].evil.test:%P",
        "Host: [::ffff:127.0.0.1]:%P",
        "Host: ::1:%P",
        "Host: user@localhost:%P",
        "Host: localhost:%P@evil.test",
        "Host: 127.1:%P",
        "Host: 2130706433:%P",
        "Host: 0.0.0.0:%P",
        "Host: other.lan:%P",
        "Host: %H\nHost: evil.test",
        "Host:",
        "X-Forwarded-Host: %H\nHost: evil.test",
    ] {
        let status = service.status(bad).await;
        assert!(matches!(status, 400 | 403), "{bad}: {status}");
    }
    assert!(matches!(service.status("Accept: */*").await, 400 | 403), "no Host");
}

#[tokio::test]
async fn security_86_advisory_31_pages_of_other_origins_are_not_answered() {
    let service = service(None, |names| names.origin("https://board.example/")).await;
    for good in ["http://%H", "http://localhost:%P", "https://board.example"] {
        assert_eq!(service.status(&format!("Host: %H\nOrigin: {good}")).await, 200, "{good}");
    }
    for bad in [
        "http://evil.test",
        "https://%H",
        "http://localhost:1",
        "http://%H.evil.test",
        "null",
        "file://",
        "https://board.example.evil.test",
        "https://board.example:8443",
        "http://%H\nOrigin: http://%H",
    ] {
        assert_eq!(service.status(&format!("Host: %H\nOrigin: {bad}")).await, 403, "{bad}");
    }
    // Nobody else's page can read what is answered, either.
    let answer = service.send("GET /who HTTP/1.1\nHost: %H\nConnection: close\n\n").await;
    assert!(!answer.to_ascii_lowercase().contains("access-control"), "{answer}");
}

#[tokio::test]
async fn security_86_an_absolute_address_is_refused() {
    let service = service(None, |names| names).await;
    for target in ["http://%H/who", "http://evil.test/who", "https://localhost:%P/who"] {
        let (status, _) = service.get(target, "Host: %H").await;
        assert!(matches!(status, 400 | 403), "{target}: {status}");
    }
}

#[tokio::test]
async fn security_86_advisory_31_who_has_no_token_is_refused_and_who_has_one_is_known() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("tokens");
    std::fs::write(&file, format!("# the team\n\nann {TOKEN}\n{TOKEN}-owner\n")).unwrap();
    private(&file, 0o600);
    let service = service(Some(Tokens::read(&file).unwrap()), |names| names).await;
    let who = async |header: &str| service.get("/who", &format!("Host: %H\n{header}")).await;
    assert_eq!(who(&format!("Authorization: Bearer {TOKEN}")).await, (200, "ann".to_owned()));
    assert_eq!(who(&format!("authorization: bearer  {TOKEN}-owner")).await.1, "local");
    for bad in [
        "Accept: */*".to_owned(),
        "Authorization: Bearer".to_owned(),
        "Authorization: Bearer ".to_owned(),
        format!("Authorization: {TOKEN}"),
        format!("Authorization: Basic {TOKEN}"),
        format!("Authorization: Bearer {TOKEN}x"),
        format!("Authorization: Bearer {}", TOKEN.strip_prefix('0').unwrap()),
        format!("Authorization: Bearer {}", TOKEN.to_uppercase()),
        format!("Authorization: Bearer {TOKEN}\nAuthorization: Bearer {TOKEN}"),
        format!("X-Token: {TOKEN}"),
    ] {
        let (status, body) = who(&bad).await;
        assert_eq!(status, 401, "{bad}");
        assert!(body.contains("NO_TOKEN") && !body.contains(TOKEN), "{body}");
    }
    // The name is looked at first: a page that guesses tokens learns nothing.
    let foreign = format!("Host: evil.test\nAuthorization: Bearer {TOKEN}");
    assert_eq!(service.status(&foreign).await, 403);
}

#[test]
fn a_token_file_is_private_and_without_surprises() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("tokens");
    let read = |text: &str, mode| {
        std::fs::write(&file, text).unwrap();
        private(&file, mode);
        Tokens::read(&file)
    };
    assert!(read(TOKEN, 0o600).is_ok());
    for (text, says) in [
        ("", "there is no token"),
        ("# nothing\n", "there is no token"),
        ("ann short", "shorter than 16"),
        ("ann bob 0123456789abcdef", "more than two words"),
    ] {
        let error = read(text, 0o600).unwrap_err().to_string();
        assert!(error.contains(says) && error.contains("tokens:1"), "{error}");
    }
    if cfg!(unix) {
        assert!(matches!(read(TOKEN, 0o644).unwrap_err(), TokenError::Open(_)));
        assert!(matches!(read(TOKEN, 0o660).unwrap_err(), TokenError::Open(_)));
    }
    let missing = Tokens::read(&home.path().join("none")).unwrap_err();
    assert!(matches!(missing, TokenError::File { .. }), "{missing}");
}

#[test]
fn an_approver_s_token_is_for_some_or_for_all_and_never_a_client_s() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("approvers");
    let clients = Tokens::one(TOKEN);
    let read = |text: &str| {
        std::fs::write(&file, text).unwrap();
        private(&file, 0o600);
        Approvers::read(&file, Some(&clients))
    };
    let lines = format!("{TOKEN}-1\n# more\nvera {TOKEN}-2\nben {TOKEN}-3 bob bea\n");
    let approvers = read(&lines).unwrap();
    let found = |n: &str| approvers.approver(&format!("{TOKEN}{n}")).cloned();
    let only = Whose::Only(["bea".to_owned(), "bob".to_owned()].into());
    for (n, who, whose) in
        [("-1", "local", Whose::Everybody), ("-2", "vera", Whose::Everybody), ("-3", "ben", only)]
    {
        let approver = found(n).unwrap();
        assert_eq!((approver.who.as_str(), approver.whose), (who, whose));
    }
    assert_eq!((found("-4"), found("")), (None, None));
    let error = read(&format!("vera {TOKEN}-1\nben {TOKEN}")).unwrap_err();
    assert!(matches!(error, TokenError::Both(_)) && !error.to_string().contains(TOKEN), "{error}");
    assert!(read("vera short").unwrap_err().to_string().contains("shorter than 16"));
    private(&file, 0o640);
    if cfg!(unix) {
        assert!(matches!(Approvers::read(&file, None).unwrap_err(), TokenError::Open(_)));
    }
}

#[test]
fn a_kept_token_stays_the_same_and_nobody_else_s_file_is_followed() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("serve/token");
    let tokens = Tokens::kept(&file).unwrap();
    let token = std::fs::read_to_string(&file).unwrap();
    assert_eq!(token.trim().len(), 64);
    assert_eq!(tokens.principal(token.trim()), Some("local"));
    assert_eq!(Tokens::kept(&file).unwrap(), tokens);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let planted = home.path().join("planted");
        std::os::unix::fs::symlink(home.path().join("elsewhere"), &planted).unwrap();
        assert!(Tokens::kept(&planted).is_err());
        assert!(!home.path().join("elsewhere").exists());
    }
}

pub(crate) fn private(file: &std::path::Path, mode: u32) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
    }
}
