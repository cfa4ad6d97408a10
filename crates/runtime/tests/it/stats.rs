//! Figures over the logs of a store.

use concertina_core::session::Origin;
use concertina_runtime::stats::routing;
use concertina_runtime::{FindRequest, Session, Started};

use crate::kit::World;

#[test]
fn l09_a_damaged_log_is_named_and_costs_only_itself() {
    let world = World::new();
    world.skill("skills/tides", "Names the next high water.");
    let mut workspace = world.open();
    let mut begin = || Session::create(&mut workspace, world.store(), Started::default()).unwrap();
    let (mut sound, damaged) = (begin(), begin());
    let request = FindRequest { query: "high water".into(), ..FindRequest::default() };
    sound.find(&mut workspace, Origin::user(), &request).unwrap();
    let log = rusqlite::Connection::open(world.path("state/events.db")).unwrap();
    let harm = "DELETE FROM events WHERE session = ?1 AND seq = 1";
    assert!(log.execute(harm, [damaged.id().as_str()]).unwrap() > 0);
    let report = routing(&world.store()).unwrap();
    assert_eq!((report.logs.sessions, report.finds.all), (1, 1));
    assert_eq!(&report.logs.unreadable[0].session, damaged.id());
}
