//! What a person agreed to runs with the bytes that they were shown.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use concertina_core::session::{Ask, Origin};
use concertina_runtime::approval::{Approver, Verdict};
use concertina_runtime::{Cancel, Session};
use concertina_types::{ApprovalScope, Digest, Means};
use serde_json::json;

use crate::kit::{World, begin};

/// A person who agrees to these bytes and to no others.
struct Careful(Digest);

impl Approver for Careful {
    fn answer(&self, ask: &Ask) -> Verdict {
        let by = Means::Option;
        if ask.action.contains(&self.0.to_string()) {
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

fn careful(session: &mut Session) {
    session.ask_by(Arc::new(Careful(Digest::of(APPROVED.as_bytes()))));
}

const WAYS: [&str; 3] =
    ["[\"./scripts/report\"]", "[\"sh\", \"scripts/report\"]", "[\"sh\", \"by-link\"]"];

#[test]
fn s56_a_script_that_changes_after_the_consent_never_runs_unapproved() {
    const TRIES: usize = 250;
    for argv in WAYS {
        let world = asking(argv);
        world.link("work/by-link", "scripts/report");
        let mut workspace = world.alone();
        let mut session = begin(&mut workspace);
        careful(&mut session);
        let place = world.path("work/scripts/report");
        let (is_over, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
        let (mut ran, mut codes) = (0, Vec::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let next = world.path("next");
                let link = world.path("next-link");
                while !is_over.load(Ordering::Relaxed) {
                    for text in [EVIL, APPROVED] {
                        put(&next, text);
                        fs::rename(&next, &place).unwrap();
                    }
                    put(&place, EVIL);
                    put(&place, APPROVED);
                    put(&world.path("work/evil"), EVIL);
                    for target in ["evil", "scripts/report"] {
                        std::os::unix::fs::symlink(target, &link).unwrap();
                        fs::rename(&link, world.path("work/by-link")).unwrap();
                    }
                    // Sometimes long enough for a program to run.
                    let round = swaps.fetch_add(6, Ordering::Relaxed) / 6;
                    std::thread::sleep(Duration::from_millis(round as u64 % 16));
                }
            });
            for id in 0..TRIES {
                let origin = Origin::model(id.to_string());
                let reply = session
                    .call(&workspace, origin, "report", json!({}), &Cancel::default())
                    .unwrap();
                match reply.refusal {
                    Some(refusal) => codes.push(refusal.code),
                    None => {
                        let text = reply.answer.unwrap().text;
                        assert!(!text.contains("evil"), "{argv}: {text}");
                        ran += usize::from(text.contains("approved"));
                    }
                }
            }
            is_over.store(true, Ordering::Relaxed);
        });
        codes.sort();
        let known = ["APPROVAL_REFUSED", "APPROVED_CHANGED", "GRANT_UNUSABLE", "NOT_STARTED"];
        assert!(codes.iter().all(|code| known.contains(&code.as_str())), "{argv}: {codes:?}");
        assert!(swaps.load(Ordering::Relaxed) > TRIES, "{argv}: it was hardly exchanged");
        assert!(ran > 0, "{argv}: it never ran, so it proves nothing: {codes:?}");
        codes.dedup();
        eprintln!("{argv}: ran {ran} of {TRIES}, {codes:?}");
    }
}
