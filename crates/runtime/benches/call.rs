//! What the record of one call costs: admitted, finished, answered. `writes` waits for the disk.

#![allow(clippy::unwrap_used, reason = "a benchmark may stop")]

use concertina_core::session::Origin;
use concertina_runtime::tools::Outcome;
use concertina_runtime::{Admission, Session, Started, Workspace, WorkspaceOptions};
use concertina_store::Store;
use concertina_types::SessionMode;
use serde_json::json;
use tempfile::TempDir;

fn main() {
    divan::main();
}

fn session(world: &TempDir, danger: &str) -> (Workspace, Session) {
    let root = world.path().join("work");
    std::fs::create_dir_all(&root).unwrap();
    let tool = format!(
        "[tool.echo]\nkind = 'exec'\nargv = ['true']\ndanger = '{danger}'\nparameters = {{type = 'object'}}\n"
    );
    std::fs::write(root.join("concertina.toml"), tool).unwrap();
    let home = world.path().join("home");
    let options = WorkspaceOptions::only(home.clone(), &|_| None);
    let mut workspace = Workspace::open(&root, options).unwrap();
    let started = Started { mode: SessionMode::Blind, ..Started::default() };
    let store = Store::open(&home).unwrap();
    let session = Session::create(&mut workspace, store, started).unwrap();
    (workspace, session)
}

#[divan::bench(args = ["safe", "writes"])]
fn recorded_call(bencher: divan::Bencher, danger: &str) {
    let world = tempfile::tempdir().unwrap();
    let (workspace, mut session) = session(&world, danger);
    let mut number = 0;
    bencher.bench_local(|| {
        number += 1;
        let arguments = json!({"n": number});
        let admission =
            session.admit(workspace.toolbox(), Origin::model("m"), "echo", arguments).unwrap();
        if let Admission::Admitted(ticket) = admission {
            let id = ticket.id();
            let outcome = Outcome::done(0, format!("said {number}"), 0);
            session.finish(Origin::model("m"), id, outcome).unwrap();
        }
    });
}
