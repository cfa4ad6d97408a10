//! What earlier sessions opened after they had found it, as far as a search lets it count.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use concertina_core::session::Origin;
use concertina_runtime::{FindRequest, Session, Started, Workspace};
use concertina_store::{Durability, EventStore, MemoryStore, SessionSummary, Store, StoreError};
use concertina_types::{
    Actor, Blob, Draft, Event, Fact, Ref, SessionId, SessionMode, Timestamp, limits,
};

use crate::kit::{World, open};

const ON: &str = "[search]\nusage = true\n";

/// Logs that count how often somebody asks which there are, and how often one is read.
#[derive(Default)]
struct Watched {
    logs: MemoryStore,
    listed: AtomicUsize,
    read: AtomicUsize,
}

impl Watched {
    fn store(self: &Arc<Self>) -> Store {
        Store { events: Arc::clone(self) as Arc<dyn EventStore>, ..Store::memory() }
    }

    fn listed_and_read(&self) -> (usize, usize) {
        (self.listed.load(Ordering::SeqCst), self.read.load(Ordering::SeqCst))
    }
}

impl EventStore for Watched {
    fn append(
        &self,
        session: &SessionId,
        after: u64,
        drafts: Vec<Draft>,
        durability: Durability,
    ) -> Result<Vec<Event>, StoreError> {
        self.logs.append(session, after, drafts, durability)
    }

    fn read(&self, session: &SessionId, after: u64) -> Result<Vec<Event>, StoreError> {
        self.read.fetch_add(1, Ordering::SeqCst);
        self.logs.read(session, after)
    }

    fn sessions(&self) -> Result<Vec<SessionSummary>, StoreError> {
        self.listed.fetch_add(1, Ordering::SeqCst);
        self.logs.sessions()
    }
}

/// Two skills that words cannot part.
fn world(config: &str) -> World {
    let world = World::new();
    world.skill("work/skills/berths", "Plans where ships moor.");
    world.skill("work/skills/buoys", "Plans where ships turn.");
    world.write("home/.config/concertina/concertina.toml", config);
    world
}

fn begin_as(workspace: &mut Workspace, store: Store, principal: &str) -> Session {
    let started = Started { principal: Some(principal.to_owned()), ..Started::default() };
    Session::create(workspace, store, started).unwrap()
}

fn find(session: &mut Session, workspace: &mut Workspace) -> Vec<String> {
    let request = FindRequest { query: "plans where ships".into(), ..FindRequest::default() };
    let found = session.find(workspace, Origin::model("f"), &request).unwrap().0;
    found.hits.iter().chain(&found.nearest).map(|hit| hit.reference.to_string()).collect()
}

/// A session of `principal` that finds both and opens the buoys.
fn prefers_buoys(workspace: &mut Workspace, store: Store, principal: &str) -> Session {
    let mut session = begin_as(workspace, store, principal);
    find(&mut session, workspace);
    open(&mut session, workspace, "skill:buoys").unwrap();
    session
}

/// A log of a session of `who` at the moment `at` that found both and then opened a menu, which is
/// the shortest thing to open, with so many events more.
fn written(store: &Store, name: &str, who: &str, at: i64, hits: [&str; 2], more: usize) {
    let started = Fact::SessionStarted {
        principal: who.to_owned(),
        parent: None,
        depth: 0,
        mode: SessionMode::Owned,
        settings: Blob::of("{}"),
    };
    let hits: Vec<Ref> = hits.iter().map(|hit| hit.parse().unwrap()).collect();
    let Some(Ref::Menu(menu)) = hits.first().cloned() else { panic!("a menu comes first") };
    let found = Fact::SearchAnswered { query: Blob::of("q"), hits, enough: Some(true) };
    let turns = std::iter::repeat_n(Fact::TurnStarted {}, more);
    let facts = [started, found, Fact::MenuOpened { menu }].into_iter().chain(turns);
    let at = Timestamp(at);
    let draft = |fact| Draft { step: 1, turn: None, at, actor: Actor::Model, cause: None, fact };
    let session = SessionId::new(name).unwrap();
    store.append(&session, 0, facts.map(draft).collect(), Durability::KillSafe).unwrap();
}

#[test]
fn l09_off_by_default_earlier_use_changes_nothing_and_no_log_is_read() {
    let world = world("");
    let mut workspace = world.alone();
    let logs = Arc::new(Watched::default());
    let mut fresh = begin_as(&mut workspace, Store::memory(), "ann");
    let plain = format!("{:?}", find(&mut fresh, &mut workspace));
    for _ in 0..3 {
        prefers_buoys(&mut workspace, logs.store(), "ann");
    }
    let mut session = begin_as(&mut workspace, logs.store(), "ann");
    assert_eq!(format!("{:?}", find(&mut session, &mut workspace)), plain);
    assert_eq!(logs.listed_and_read(), (0, 0));
    assert_eq!(session.learned(&workspace).unwrap(), None);
}

#[test]
fn l09_what_earlier_sessions_opened_moves_up_and_their_logs_are_read_once() {
    let world = world(ON);
    let mut workspace = world.alone();
    let logs = Arc::new(Watched::default());
    let mut first = begin_as(&mut workspace, logs.store(), "ann");
    assert_eq!(find(&mut first, &mut workspace), ["skill:berths", "skill:buoys"]);
    open(&mut first, &mut workspace, "skill:buoys").unwrap();
    // Not within the session: what it found once it finds again.
    assert_eq!(find(&mut first, &mut workspace), ["skill:berths", "skill:buoys"]);
    for _ in 0..2 {
        let before = logs.listed_and_read();
        let mut later = begin_as(&mut workspace, logs.store(), "ann");
        for _ in 0..3 {
            assert_eq!(find(&mut later, &mut workspace), ["skill:buoys", "skill:berths"]);
        }
        let others = logs.logs.sessions().unwrap().len() - 1;
        assert_eq!(logs.listed_and_read(), (before.0 + 1, before.1 + others));
    }
    // Nor in one that is taken up again.
    let mut again = Session::resume(first.store().clone(), first.id().clone()).unwrap();
    assert_eq!(find(&mut again, &mut workspace), ["skill:berths", "skill:buoys"]);
}

#[test]
fn l09_what_others_opened_does_not_count() {
    let world = world(ON);
    let mut workspace = world.alone();
    let store = Store::memory();
    for _ in 0..5 {
        prefers_buoys(&mut workspace, store.clone(), "ben");
    }
    let mut ann = begin_as(&mut workspace, store.clone(), "ann");
    assert_eq!(find(&mut ann, &mut workspace), ["skill:berths", "skill:buoys"]);
    assert_eq!(ann.learned(&workspace).unwrap().unwrap().sessions, 0);
    let mut ben = begin_as(&mut workspace, store, "ben");
    assert_eq!(find(&mut ben, &mut workspace), ["skill:buoys", "skill:berths"]);
}

#[test]
fn l09_a_session_that_is_not_kept_learns_from_those_that_are() {
    let world = world(ON);
    let mut workspace = world.alone();
    let kept = Store::memory();
    prefers_buoys(&mut workspace, kept.clone(), "ann");
    let started =
        Started { principal: Some("ann".into()), earlier: Some(kept), ..Started::default() };
    let mut passing = Session::create(&mut workspace, Store::memory(), started).unwrap();
    assert_eq!(find(&mut passing, &mut workspace), ["skill:buoys", "skill:berths"]);
}

#[test]
fn l09_only_so_many_logs_and_no_longer_ones_are_read_and_the_rest_is_counted() {
    let world = world(ON);
    let mut workspace = world.alone();
    let store = Store::memory();
    let hits = ["menu:a", "menu:b"];
    let most = limits::USAGE_SESSIONS;
    for at in 0..most {
        written(&store, &format!("s-{at}"), "ann", i64::try_from(at).unwrap() + 10, hits, 0);
    }
    written(&store, "older", "ann", 1, ["menu:b", "menu:a"], 0);
    let long = usize::try_from(limits::USAGE_EVENTS).unwrap();
    written(&store, "long", "ann", 1_000_000, ["menu:b", "menu:a"], long);
    let session = begin_as(&mut workspace, store, "ann");
    let learned = session.learned(&workspace).unwrap().unwrap();
    assert_eq!((learned.sessions, learned.left_out), (most, 2));
    let opened = |menu: &str| learned.usage.of(&menu.parse().unwrap()).opened;
    assert_eq!((opened("menu:a"), opened("menu:b")), (u32::try_from(most).unwrap(), 0));
}

#[test]
fn l09_a_damaged_log_says_nothing_and_is_named() {
    let world = world(ON);
    let mut workspace = world.alone();
    let damaged = prefers_buoys(&mut workspace, world.store(), "ann").id().clone();
    prefers_buoys(&mut workspace, world.store(), "ann");
    let log = rusqlite::Connection::open(world.path("state/events.db")).unwrap();
    let harm = "DELETE FROM events WHERE session = ?1 AND seq = 1";
    assert!(log.execute(harm, [damaged.as_str()]).unwrap() > 0);
    let mut session = begin_as(&mut workspace, world.store(), "ann");
    assert_eq!(find(&mut session, &mut workspace), ["skill:buoys", "skill:berths"]);
    let learned = session.learned(&workspace).unwrap().unwrap();
    assert_eq!((learned.sessions, &learned.unreadable[0].session), (1, &damaged));
}
