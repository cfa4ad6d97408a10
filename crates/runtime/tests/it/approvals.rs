//! Questions that are answered from elsewhere.

use concertina_runtime::approval::{Choice, Inbox, Whose};
use concertina_runtime::{Session, Started};
use concertina_types::{Answerer, ApprovalScope, Fact, Means};
use serde_json::json;

use crate::kit::{World, call};

fn world() -> World {
    let world = World::new();
    world.config(
        "[tool.bell]\nargv = ['echo', '${say}']\ndanger = 'safe'\n\
         parameters = {properties = {say = {type = 'string'}}, required = ['say']}\n\
         [policy]\nask = ['tool:bell']\n",
    );
    world
}

fn inbox(world: &World) -> Inbox {
    Inbox::new(world.store(), world.path("state"))
}

/// A session of `principal` that waits for a person, once for each of `says`.
fn asking(world: &World, principal: &str, says: &[&str]) -> Session {
    let mut workspace = world.alone();
    let started = Started { principal: Some(principal.to_owned()), ..Started::default() };
    let mut session = Session::create(&mut workspace, world.store(), started).unwrap();
    for say in says {
        let refusal = call(&mut session, &workspace, "bell", json!({"say": say})).unwrap_err();
        assert_eq!(refusal.code, "APPROVAL_NEEDED");
    }
    session
}

fn once() -> Choice {
    Choice::Grant { scope: ApprovalScope::Once, typed: None }
}

#[test]
fn of_answers_by_several_processes_exactly_one_counts() {
    let world = world();
    let mut session = asking(&world, "ann", &["a"]);
    let id = session.state().approvals.keys().next().unwrap().clone();
    let codes: Vec<String> = std::thread::scope(|scope| {
        let answers: Vec<_> = (0..8)
            .map(|n| {
                let (world, id) = (&world, &id);
                scope.spawn(move || {
                    let choice = if n % 2 == 0 { once() } else { Choice::Deny };
                    let by = Answerer::named(Means::Http, format!("person-{n}"));
                    let answered = inbox(world).answer(&Whose::Everybody, id, choice, by);
                    answered.unwrap().map_or_else(|refusal| refusal.code, |_| "OK".to_owned())
                })
            })
            .collect();
        answers.into_iter().map(|answer| answer.join().unwrap()).collect()
    });
    let count = |code: &str| codes.iter().filter(|one| *one == code).count();
    assert_eq!((count("OK"), count("APPROVAL_ANSWERED")), (1, 7), "{codes:?}");
    let answers = session.events().unwrap().into_iter().filter(|event| {
        matches!(event.fact, Fact::ApprovalGiven { .. } | Fact::ApprovalRefused { .. })
    });
    assert_eq!(answers.count(), 1);
    // Whoever asked sees it with the next call.
    let again = call(&mut session, &world.alone(), "bell", json!({"say": "a"}));
    assert_ne!(again.err().map(|refusal| refusal.code).as_deref(), Some("APPROVAL_NEEDED"));
}

#[test]
fn security_89_questions_are_seen_and_answered_by_whose_they_are() {
    let world = world();
    let ann = asking(&world, "ann", &["a", "b"]);
    let bob = asking(&world, "bob", &["c"]);
    asking(&world, "bob", &[]);
    let only = |name: &str| Whose::Only([name.to_owned()].into());
    let inbox = inbox(&world);
    let seen = |whose: &Whose| {
        let found = inbox.waiting(whose).unwrap();
        assert!(found.left_out.is_empty());
        let sessions = found.questions.into_iter().map(|one| (one.session, one.principal));
        sessions.collect::<Vec<_>>()
    };
    let of = |session: &Session, name: &str| (session.id().clone(), name.to_owned());
    let (anns, bobs) = (of(&ann, "ann"), of(&bob, "bob"));
    assert_eq!(seen(&Whose::Everybody), [anns.clone(), anns.clone(), bobs.clone()]);
    assert_eq!(seen(&only("ann")), [anns.clone(), anns]);
    assert_eq!(seen(&only("bob")), [bobs]);
    assert_eq!(seen(&Whose::Only([].into())), []);
    let id = bob.state().approvals.keys().next().unwrap();
    let foreign = inbox.answer(&only("ann"), id, once(), Means::Http.into()).unwrap();
    assert_eq!(foreign.unwrap_err().code, "NOT_FOUND");
    let own = inbox.answer(&only("bob"), id, Choice::Deny, Means::Http.into()).unwrap();
    assert_eq!(own.unwrap().state, "refused");
    assert_eq!(inbox.all(&only("bob")).unwrap().questions.len(), 1, "answered, and still told");
    assert_eq!(seen(&only("bob")), []);
}

#[test]
fn a_session_that_cannot_be_read_costs_only_itself() {
    let world = world();
    let (ann, bob) = (asking(&world, "ann", &["a"]), asking(&world, "bob", &["b"]));
    let log = rusqlite::Connection::open(world.path("state/events.db")).unwrap();
    let bend = "UPDATE events SET event = replace(event, 'bell', 'knell') WHERE session = ?1";
    assert_ne!(log.execute(bend, [ann.id().as_str()]).unwrap(), 0);
    let found = inbox(&world).waiting(&Whose::Everybody).unwrap();
    assert_eq!(found.questions.len(), 1);
    assert_eq!(found.questions[0].session, *bob.id());
    assert_eq!(found.left_out.len(), 1);
    assert_eq!(found.left_out[0].0, *ann.id());
    let answered = inbox(&world).answer(
        &Whose::Everybody,
        &found.questions[0].id,
        once(),
        Means::Command.into(),
    );
    assert_eq!(answered.unwrap().unwrap().state, "agreed once");
    let id = ann.state().approvals.keys().next().unwrap();
    let lost = inbox(&world).answer(&Whose::Everybody, id, once(), Means::Command.into());
    let refusal = lost.unwrap().unwrap_err();
    assert_eq!(refusal.code, "NOT_FOUND");
    assert!(refusal.message.contains("cannot be read: 1"), "{refusal}");
}
