//! Skills of servers as a source: approved by content, kept as files, gone when the server has others.

use std::path::Path;
use std::sync::Arc;

use concertina_core::catalog::{Scope, SkillEntry};
use concertina_mcp::upstream::Pool;
use concertina_runtime::upstream::Upstreams as _;
use concertina_runtime::{Workspace, WorkspaceOptions};

use super::kit::{Bench, LONG};

fn workspace(bench: &Bench, pool: &Arc<Pool>) -> Workspace {
    let root = bench.path("work");
    std::fs::create_dir_all(&root).unwrap();
    let options = WorkspaceOptions::only(bench.path("home"), &|_| None);
    let mut workspace = Workspace::open(&root, options).unwrap();
    workspace.attach(Arc::clone(pool) as _);
    workspace
}

fn listed(workspace: &Workspace) -> Vec<&SkillEntry> {
    workspace.snapshot().skills.iter().filter(|skill| skill.scope == Scope::Server).collect()
}

fn files(directory: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_served_skill_is_a_source_once_a_person_approved_it() {
    let bench = Bench::new().with("shop", &["--skills", "right"]);
    let pool = bench.settled().await;
    let mut workspace = workspace(&bench, &pool);
    // Nobody approved it: it is not listed, and that is said with the way to it.
    assert!(listed(&workspace).is_empty());
    let waits = &workspace.snapshot().skipped;
    assert!(
        waits.iter().any(|skipped| skipped.code == "UNAPPROVED"
            && skipped.reason.contains("concertina upstream approve shop")),
        "{waits:?}"
    );
    let waiting = pool.unapproved_skills("shop");
    pool.approve_skill(&waiting[0]).await.unwrap();
    assert!(pool.unapproved_skills("shop").is_empty());
    assert!(workspace.refresh());
    let id = listed(&workspace)[0].id.clone();
    assert_eq!(id.as_str(), "shop/packing");
    let loaded = workspace.load(&id).unwrap().unwrap();
    assert_eq!(loaded.body, "Put heavy things below.\n");
    assert_eq!(loaded.resources(), ["lists/fragile.md"]);
    assert!(workspace.snapshot().skipped.is_empty(), "{:?}", workspace.snapshot().skipped);
    pool.close().await;
    // It needs no server any more to be read.
    let again = bench.settled().await;
    assert!(again.offer().skills[0].kept.is_some());
    again.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_version_of_a_served_skill_waits_again() {
    let mut bench = Bench::new();
    std::fs::write(bench.path("version"), "one").unwrap();
    let file = format!("@{}", bench.word("version"));
    bench.add("shop", &["--skills", &file]);
    let pool = bench.settled().await;
    let mut workspace = workspace(&bench, &pool);
    pool.approve_skill(&pool.unapproved_skills("shop")[0]).await.unwrap();
    workspace.refresh();
    assert_eq!(listed(&workspace).len(), 1);
    pool.close().await;
    std::fs::write(bench.path("version"), "two").unwrap();
    let pool = bench.settled().await;
    // What was read before says so until the server is asked again.
    let _ = pool
        .ask(
            "shop",
            concertina_mcp::upstream::Ask::Resource,
            serde_json::Map::new(),
            Arc::new(concertina_runtime::upstream::Nobody),
        )
        .await;
    let mut changes = pool.changes();
    let changed = async {
        while pool.offer().skills[0].kept.is_some() {
            changes.changed().await.unwrap();
        }
    };
    tokio::time::timeout(LONG, changed).await.unwrap();
    workspace.attach(Arc::clone(&pool) as _);
    assert!(listed(&workspace).is_empty());
    assert!(workspace.snapshot().skipped.iter().any(|skipped| skipped.code == "UNAPPROVED"));
    pool.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_served_skill_whose_bytes_do_not_fit_is_not_kept() {
    let bench = Bench::new().with("shop", &["--skills", "wrong"]);
    let pool = bench.settled().await;
    let refused = pool.approve_skill(&pool.unapproved_skills("shop")[0]).await.unwrap_err();
    assert!(refused.to_string().contains("is not what its manifest says"), "{refused}");
    assert!(pool.offer().skills[0].kept.is_none());
    let left = files(&bench.path("home/upstreams/approved"));
    assert!(left.iter().all(|name| matches!(name.rsplit_once('.'), Some((_, "json")))), "{left:?}");
    pool.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i08_sizes_of_a_served_skill_that_are_not_true_are_found_out() {
    let bench =
        Bench::new().with("short", &["--skills", "short"]).with("vast", &["--skills", "vast"]);
    let pool = bench.settled().await;
    for (server, words) in
        [("short", "bytes instead of 1"), ("vast", "2 files and 18446744073709551615 bytes")]
    {
        let skill = &pool.unapproved_skills(server)[0];
        let refused = pool.approve_skill(skill).await.unwrap_err();
        assert!(refused.to_string().contains(words), "{server}: {refused}");
    }
    assert!(pool.offer().skills.iter().all(|skill| skill.kept.is_none()));
    pool.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i08_a_served_skill_holds_nothing_of_another_that_was_being_written() {
    let bench = Bench::new().with("shop", &["--skills", "right"]);
    let pool = bench.settled().await;
    let skill = pool.unapproved_skills("shop").remove(0);
    pool.approve_skill(&skill).await.unwrap();
    let kept = pool.offer().skills[0].kept.clone().unwrap();
    std::fs::remove_dir_all(&kept).unwrap();
    // What this process left of another skill of the server.
    let other = kept.with_extension(format!("{}.new", std::process::id()));
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("stray.md"), "not of this skill").unwrap();
    pool.approve_skill(&skill).await.unwrap();
    assert_eq!(files(&kept), ["packing"]);
    assert_eq!(files(&other), ["stray.md"]);
    pool.close().await;
}
