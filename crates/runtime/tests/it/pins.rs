//! What a person agreed to runs with the bytes that they were shown.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use concertina_core::session::Ask;
use concertina_runtime::approval::{Approver, Verdict};
use concertina_runtime::{Session, Workspace};
use concertina_types::{ApprovalScope, Digest, Means};
use serde_json::json;

use crate::kit::{World, begin, call};

/// A person who agrees to these bytes and to no others; and what happens right after a yes.
struct Careful<F>(Digest, F);

impl<F: Fn() + Send + Sync> Approver for Careful<F> {
    fn answer(&self, ask: &Ask) -> Verdict {
        let by = Means::Option;
        if ask.action.contains(&self.0.to_string()) {
            self.1();
            return Verdict::Given { scope: ApprovalScope::Once, by, typed: None };
        }
        Verdict::Refused { by }
    }
}

const APPROVED: &str = "#!/bin/sh\necho approved\n";
const EVIL: &str = "#!/bin/sh\necho evil\n";

fn put(at: &Path, text: &str) {
    fs::write(at, text).unwrap();
    fs::set_permissions(at, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A tool that runs `argv`, asks before it does, and may write in the workspace.
fn asking(argv: &str) -> World {
    let world = World::new();
    world.config(&format!(
        "[tool.report]\nargv = {argv}\npermissions = {{confirm = [\"*\"], read = [\"**\"], write = [\"**\"]}}\n"
    ));
    fs::create_dir_all(world.path("work/scripts")).unwrap();
    put(&world.path("work/scripts/report"), APPROVED);
    world
}

fn careful(session: &mut Session, then: impl Fn() + Send + Sync + 'static) {
    session.ask_by(Arc::new(Careful(Digest::of(APPROVED.as_bytes()), then)));
}

fn exchange_link(world: &World, target: &str) {
    let next = world.path("next-link");
    std::os::unix::fs::symlink(target, &next).unwrap();
    fs::rename(&next, world.path("work/by-link")).unwrap();
}

/// The code of the refusal, or what the program said.
fn report(session: &mut Session, workspace: &Workspace) -> Result<String, String> {
    let said = call(session, workspace, "report", json!({}));
    said.map(|answer| answer.text).map_err(|refusal| refusal.code)
}

const WAYS: [&str; 3] =
    ["[\"./scripts/report\"]", "[\"sh\", \"scripts/report\"]", "[\"sh\", \"by-link\"]"];

#[test]
fn s56_a_script_that_is_exchanged_right_after_the_yes_is_refused() {
    for argv in WAYS {
        let world = Arc::new(asking(argv));
        exchange_link(&world, "scripts/report");
        let mut workspace = world.alone();
        let mut session = begin(&mut workspace);
        let there = Arc::clone(&world);
        careful(&mut session, move || put(&there.path("work/scripts/report"), EVIL));
        assert_eq!(report(&mut session, &workspace), Err("APPROVED_CHANGED".into()), "{argv}");

        // What only the link leads to by then is not what was agreed to, so it does not run.
        put(&world.path("work/scripts/report"), APPROVED);
        put(&world.path("work/evil"), EVIL);
        let mut session = begin(&mut workspace);
        let there = Arc::clone(&world);
        careful(&mut session, move || exchange_link(&there, "evil"));
        let said = report(&mut session, &workspace).unwrap();
        assert!(said.contains("approved") && !said.contains("evil"), "{argv}: {said}");
    }
}

#[test]
fn without_a_sandbox_a_change_is_still_noticed_before_the_start() {
    let world = Arc::new(asking(WAYS[1]));
    let config = fs::read_to_string(world.path("work/concertina.toml")).unwrap();
    world.config(&config);
    world.write("home/.config/concertina/concertina.toml", "[sandbox]\ntier = \"none\"\n");
    let mut workspace = world.open();
    workspace.trust(&world.path("work")).unwrap();
    let mut session = begin(&mut workspace);
    careful(&mut session, || {});
    assert!(report(&mut session, &workspace).unwrap().contains("approved"));
    let mut session = begin(&mut workspace);
    let there = Arc::clone(&world);
    careful(&mut session, move || put(&there.path("work/scripts/report"), EVIL));
    assert_eq!(report(&mut session, &workspace), Err("APPROVED_CHANGED".into()));
}

#[test]
fn data_that_a_call_names_may_still_be_written() {
    let world = World::new();
    world.config(
        "[tool.report]\nargv = [\"sh\", \"scripts/report\", \"data.txt\"]\npermissions = {confirm = [\"*\"], read = [\"**\"], write = [\"**\"]}\n",
    );
    world.write("work/scripts/report", "echo approved > \"$1\"\n");
    world.write("work/data.txt", "before\n");
    let mut workspace = world.alone();
    let mut session = crate::kit::agreeing(&mut workspace);
    report(&mut session, &workspace).unwrap();
    assert_eq!(fs::read_to_string(world.path("work/data.txt")).unwrap(), "approved\n");
}

#[test]
fn s56_a_script_that_changes_after_the_consent_never_runs_unapproved() {
    const TRIES: usize = 250;
    for argv in WAYS {
        let world = asking(argv);
        exchange_link(&world, "scripts/report");
        let mut workspace = world.alone();
        let mut session = begin(&mut workspace);
        careful(&mut session, || {});
        let place = world.path("work/scripts/report");
        let (is_over, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
        let (mut ran, mut codes, mut evil) = (0, Vec::new(), None);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let next = world.path("next");
                while !is_over.load(Ordering::Relaxed) {
                    for text in [EVIL, APPROVED] {
                        put(&next, text);
                        fs::rename(&next, &place).unwrap();
                    }
                    put(&place, EVIL);
                    put(&place, APPROVED);
                    put(&world.path("work/evil"), EVIL);
                    for target in ["evil", "scripts/report"] {
                        exchange_link(&world, target);
                    }
                    // Sometimes long enough for a program to run.
                    let round = swaps.fetch_add(6, Ordering::Relaxed) / 6;
                    std::thread::sleep(Duration::from_millis(round as u64 % 16));
                }
            });
            let mut tries = 0;
            // A loaded machine may take many until one begins and ends between two exchanges.
            while tries < TRIES || ran == 0 && tries < 100 * TRIES {
                tries += 1;
                match report(&mut session, &workspace) {
                    Err(code) => codes.push(code),
                    Ok(text) if text.contains("evil") => {
                        evil = Some(text);
                        break;
                    }
                    Ok(text) => ran += usize::from(text.contains("approved")),
                }
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert_eq!(evil, None, "{argv}");
        codes.sort();
        codes.dedup();
        let known = ["APPROVAL_REFUSED", "APPROVED_CHANGED", "GRANT_UNUSABLE", "NOT_STARTED"];
        assert!(codes.iter().all(|code| known.contains(&code.as_str())), "{argv}: {codes:?}");
        assert!(swaps.load(Ordering::Relaxed) > TRIES, "{argv}: it was hardly exchanged");
        assert!(ran > 0, "{argv}: it never ran, so it proves nothing: {codes:?}");
    }
}
