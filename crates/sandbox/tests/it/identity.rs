//! The same tests as another user: root is held by other means than everybody else.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::scene::{attack_program, is_root};

/// Where the attacking program is, for tests that run as another user.
pub(crate) const ATTACK: &str = "CONCERTINA_SANDBOX_ATTACK";
/// The user without any right.
const NOBODY: u32 = 65534;
const TEST: &str = "identity::every_test_holds_for_a_user_without_rights";

#[test]
fn every_test_holds_for_a_user_without_rights() {
    if std::env::var_os(ATTACK).is_some() {
        return;
    }
    if !is_root() {
        eprintln!(
            "skipped: every_test_holds_for_a_user_without_rights: only root can become another user; \
             all tests ran as this one"
        );
        return;
    }
    let place = tempfile::Builder::new().prefix("as-nobody-").tempdir_in("/var/tmp").unwrap();
    let open = |path: &std::path::Path| {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    open(place.path());
    let copy = |from: &std::path::Path, name: &str| {
        let to = place.path().join(name);
        fs::copy(from, &to).unwrap();
        open(&to);
        to
    };
    let tests = copy(&std::env::current_exe().unwrap(), "tests");
    let attack = copy(&attack_program(), "attack");
    let output = Command::new(tests)
        .args(["--skip", TEST, "--show-output"])
        .env(ATTACK, attack)
        .env("TMPDIR", "/tmp")
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    for line in said.lines().filter(|line| line.starts_with("skipped: ")) {
        eprintln!("{line} (as user {NOBODY})");
    }
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
}
