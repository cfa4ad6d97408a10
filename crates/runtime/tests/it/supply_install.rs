//! Installing skills: whole or not at all, whatever comes in between.

use std::fs;
use std::process::Command;

use concertina_core::catalog::Loaded;
use concertina_runtime::supply::{
    Fetching, Home, Lock, Manifest, Prepared, SecretKey, Signed, Standing, Step, SupplyError,
    Wanted, declares_otherwise, installed, prepare, sign,
};
use concertina_types::{Digest, Timestamp};

use crate::kit::{World, begin, code, skill, skill_with};

/// Where a person's skills are.
const SKILLS: &str = "home/.config/concertina/skills";

fn home(world: &World) -> Home {
    Home { skills: world.path(SKILLS), lock: world.path(SKILLS) }
}

fn wanted(world: &World, source: &str) -> Wanted {
    Wanted { source: world.path(source).display().to_string(), ..Wanted::default() }
}

fn prepared(world: &World, wanted: &Wanted) -> Result<Prepared, SupplyError> {
    let (home, how) = (home(world), Fetching::default());
    futures_executor::block_on(prepare(&home, wanted, &[], &how, &mut |_| {}))
}

fn refusal(world: &World, wanted: &Wanted) -> &'static str {
    prepared(world, wanted).unwrap_err().code()
}

fn install(world: &World, source: &str) {
    prepared(world, &wanted(world, source)).unwrap().commit(&mut |_| {}).unwrap();
}

fn digest(world: &World, directory: &str) -> Digest {
    let file = world.path(directory).join("SKILL.md");
    Manifest::of(&file, Loaded::Skills).unwrap().0.digest()
}

/// Two versions of one skill, as directories `one` and `two`.
fn versions(world: &World) {
    for (at, text) in [("one", "First."), ("two", "Second.")] {
        let version = if at == "one" { "version: 1.0.0" } else { "version: 2.0.0" };
        world.write(&format!("{at}/SKILL.md"), skill_with("tides", version, text));
        world.write(&format!("{at}/scripts/run.sh"), format!("echo {at}\n"));
        world.write(&format!("{at}/{at}.md"), at);
    }
}

fn files(world: &World, directory: &str) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(world.path(directory))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn an_installed_skill_is_there_locked_and_remembered() {
    let world = World::new();
    versions(&world);
    let ready = prepared(&world, &wanted(&world, "one")).unwrap();
    assert_eq!(ready.offer.standing, Standing::New);
    assert_eq!(ready.offer.signed, Signed::Not);
    assert_eq!(ready.offer.glance.scripts, ["scripts/run.sh"]);
    assert!(
        !world.path(SKILLS).join("tides").exists(),
        "nothing is there before it is said yes to"
    );
    ready.commit(&mut |_| {}).unwrap();
    assert_eq!(files(&world, SKILLS), ["skills.lock", "tides"]);
    let lock = Lock::read(&world.path(SKILLS)).unwrap().unwrap();
    let [entry] = lock.entries() else { panic!("{lock:?}") };
    assert_eq!((entry.path.as_str(), entry.digest), ("tides", digest(&world, "one")));
    assert_eq!(entry.source.as_deref(), world.path("one").to_str());
    let mut workspace = world.open();
    let mut session = begin(&mut workspace);
    assert_eq!(code(&mut session, &mut workspace, "skill:tides"), "OPEN");
    let again = prepared(&world, &wanted(&world, "one")).unwrap();
    assert_eq!(again.offer.standing, Standing::Same);
}

#[test]
fn an_update_comes_from_where_the_skill_came_and_shows_what_changes() {
    let world = World::new();
    versions(&world);
    install(&world, "one");
    let was = digest(&world, "one");
    fs::rename(world.path("one"), world.path("gone")).unwrap();
    fs::rename(world.path("two"), world.path("one")).unwrap();
    let found = installed(&home(&world), Some("tides")).unwrap();
    let [found] = found.as_slice() else { panic!("{found:?}") };
    let ready = prepared(&world, found).unwrap();
    assert_eq!(ready.offer.standing, Standing::Update);
    let changes = ready.offer.changes.as_ref().unwrap();
    assert_eq!(
        (&changes.added[..], &changes.removed[..]),
        (&["two.md".to_owned()][..], &["one.md".to_owned()][..])
    );
    assert!(changes.text().contains("-echo one") && changes.text().contains("+echo two"));
    assert!(!declares_otherwise(&ready.offer));
    assert_eq!(digest(&world, &format!("{SKILLS}/tides")), was, "the old one is there until then");
    ready.commit(&mut |_| {}).unwrap();
    assert_eq!(digest(&world, &format!("{SKILLS}/tides")), digest(&world, "one"));
    assert_eq!(files(&world, SKILLS), ["skills.lock", "tides"]);
    assert!(installed(&home(&world), Some("other")).unwrap().is_empty());
}

#[test]
fn what_somebody_else_put_there_or_changed_is_not_replaced() {
    let world = World::new();
    versions(&world);
    world.write(&format!("{SKILLS}/tides/SKILL.md"), skill("tides", "By hand.", "Mine."));
    assert_eq!(refusal(&world, &wanted(&world, "one")), "IN_THE_WAY");
    let other = Wanted { name: Some("tides-two".to_owned()), ..wanted(&world, "one") };
    prepared(&world, &other).unwrap().commit(&mut |_| {}).unwrap();
    world.write(&format!("{SKILLS}/tides-two/scripts/run.sh"), "echo mine\n");
    let other = Wanted { name: Some("tides-two".to_owned()), ..wanted(&world, "two") };
    assert_eq!(refusal(&world, &other), "LOCAL_CHANGES");
    world.write(&format!("{SKILLS}/file"), "a file");
    world.write("three/SKILL.md", skill("file", "A file.", "x"));
    assert_eq!(refusal(&world, &wanted(&world, "three")), "IN_THE_WAY");
    world.link(&format!("{SKILLS}/linked"), "/etc");
    world.write("three/SKILL.md", skill("linked", "A link.", "x"));
    assert_eq!(refusal(&world, &wanted(&world, "three")), "IN_THE_WAY");
}

#[test]
fn advisory_46_a_name_that_leads_elsewhere_installs_nothing() {
    for name in ["../../evil", "/tmp/evil", "..", "a/b", "Evil", "e v i l"] {
        let world = World::new();
        world.write("from/SKILL.md", skill(&format!("{name:?}"), "Evil.", "Evil."));
        let code = refusal(&world, &wanted(&world, "from"));
        assert!(matches!(code, "NAME_UNSAFE" | "REJECTED"), "{name}: {code}");
        let given = Wanted { name: Some(name.to_owned()), ..wanted(&world, "from") };
        assert_eq!(refusal(&world, &given), "NAME_UNSAFE", "{name}");
        assert_eq!(files(&world, SKILLS), [""; 0], "{name}");
        assert!(!world.path("evil").exists() && !world.path("home/evil").exists());
        // With a name of its own it is a skill like any other.
        let named = Wanted { name: Some("tame".to_owned()), ..wanted(&world, "from") };
        assert!(prepared(&world, &named).is_ok(), "{name}");
    }
}

#[test]
fn of_several_skills_one_is_chosen_by_its_name() {
    let world = World::new();
    for name in ["a", "b"] {
        world.write(&format!("repo/skills/{name}/SKILL.md"), skill(name, "One.", "x"));
    }
    let error = prepared(&world, &wanted(&world, "repo")).unwrap_err();
    assert_eq!(error.code(), "SEVERAL_SKILLS");
    assert!(error.to_string().contains("a, b"), "{error}");
    let chosen = Wanted { name: Some("b".to_owned()), ..wanted(&world, "repo") };
    prepared(&world, &chosen).unwrap().commit(&mut |_| {}).unwrap();
    assert_eq!(files(&world, SKILLS), ["b", "skills.lock"]);
    // One that does not say its name is called by where it comes from.
    world.write("repo/nameless/SKILL.md", "---\ndescription: Nameless.\n---\nx\n");
    install(&world, "repo/nameless");
    assert_eq!(files(&world, SKILLS), ["b", "nameless", "skills.lock"]);
    world.write("empty/README.md", "x");
    assert_eq!(refusal(&world, &wanted(&world, "empty")), "NO_SKILL");
    world.write("broken/SKILL.md", "---\nname: [\n---\n");
    assert!(matches!(refusal(&world, &wanted(&world, "broken")), "REJECTED" | "NAME_UNSAFE"));
    assert_eq!(refusal(&world, &wanted(&world, "nowhere")), "NOT_FOUND");
}

#[test]
fn a_key_that_is_wanted_once_is_wanted_for_every_update() {
    let world = World::new();
    versions(&world);
    let (key, other) = (SecretKey::generate().unwrap(), SecretKey::generate().unwrap());
    let keyed = Wanted { key: Some(key.public()), ..wanted(&world, "one") };
    assert_eq!(refusal(&world, &keyed), "SIGNATURE_MISSING");
    sign(&world.path("one/SKILL.md"), &key, Timestamp(0)).unwrap();
    prepared(&world, &keyed).unwrap().commit(&mut |_| {}).unwrap();
    let update = || refusal(&world, &wanted(&world, "two"));
    assert_eq!(update(), "SIGNATURE_MISSING");
    sign(&world.path("two/SKILL.md"), &other, Timestamp(0)).unwrap();
    assert_eq!(update(), "SIGNATURE_OTHER_KEY");
    sign(&world.path("two/SKILL.md"), &key, Timestamp(0)).unwrap();
    world.write("two/scripts/run.sh", "echo evil\n");
    assert_eq!(update(), "SIGNATURE_WRONG");
    sign(&world.path("two/SKILL.md"), &key, Timestamp(0)).unwrap();
    install(&world, "two");
    let lock = Lock::read(&world.path(SKILLS)).unwrap().unwrap();
    assert_eq!(lock.entries()[0].key.as_deref(), Some(key.public().to_string().as_str()));
}

#[test]
fn advisory_05_advisory_20_nothing_of_a_repository_runs_while_it_is_installed() {
    let world = World::new();
    versions(&world);
    let mark = world.path("ran").display().to_string();
    let config = format!(
        "[user]\n\temail = $(touch {mark})\n[core]\n\tfsmonitor = touch {mark}\n\thooksPath = hooks\n[filter \"x\"]\n\tsmudge = touch {mark}\n"
    );
    world.write("one/.git/config", &config).write("one/.git/HEAD", "ref: refs/heads/main\n");
    world.write("one/hooks/post-checkout", format!("#!/bin/sh\ntouch {mark}\n"));
    world.write("one/.gitattributes", "* filter=x\n");
    world.write("one/sub/.git", "gitdir: ../.git\n");
    install(&world, "one");
    world.write("one/SKILL.md", skill("tides", "Other.", "x"));
    install(&world, "one");
    world.open();
    assert!(!world.path("ran").exists());
    let there = files(&world, &format!("{SKILLS}/tides"));
    assert!(!there.contains(&".git".to_owned()), "{there:?}");
    assert!(!world.path(SKILLS).join("tides/sub").exists());
}

#[test]
fn one_program_at_a_time_installs_into_a_directory() {
    let world = World::new();
    versions(&world);
    let first = prepared(&world, &wanted(&world, "one")).unwrap();
    assert_eq!(refusal(&world, &wanted(&world, "two")), "INSTALL_BUSY");
    drop(first);
    assert_eq!(files(&world, SKILLS), [""; 0], "what was not installed leaves nothing");
    assert!(prepared(&world, &wanted(&world, "two")).is_ok());
}

#[test]
fn advisory_19_what_somebody_planted_in_the_staging_place_is_not_followed() {
    let world = World::new();
    versions(&world);
    world.write("victim/precious", "x");
    let victim = world.path("victim").display().to_string();
    world.link(&format!("{SKILLS}/.concertina-staging"), &victim);
    install(&world, "one");
    assert_eq!(files(&world, "victim"), ["precious"]);
    assert_eq!(files(&world, SKILLS), ["skills.lock", "tides"]);
}

/// The steps after each of which a program may be killed, in their order.
const STEPS: [Step; 6] =
    [Step::Unpack, Step::Settle, Step::Announce, Step::Place, Step::Lock, Step::Clear];
/// Tells the test that it is the program that is to be killed: where, and before which step.
const KILLED: &str = "CONCERTINA_TEST_KILLED_IN";

/// Installs `two` into the world at `directory` and is killed before the step.
fn be_killed(directory: &str, step: Step) {
    let at = std::path::Path::new(directory);
    let home = Home { skills: at.join(SKILLS), lock: at.join(SKILLS) };
    let source = at.join("two").display().to_string();
    let wanted = Wanted { source, ..Wanted::default() };
    let die = move |now: Step| {
        if now == step {
            let own = rustix::process::getpid();
            rustix::process::kill_process(own, rustix::process::Signal::KILL).unwrap();
            std::thread::park();
        }
    };
    let how = Fetching::default();
    let ready = futures_executor::block_on(prepare(&home, &wanted, &[], &how, &mut { die }));
    ready.unwrap().commit(&mut { die }).unwrap();
}

#[test]
fn s82_killed_at_any_step_the_old_version_is_there_or_the_new_one() {
    if let Ok(killed) = std::env::var(KILLED) {
        let (step, directory) = killed.split_once(' ').unwrap();
        return be_killed(directory, STEPS[step.parse::<usize>().unwrap()]);
    }
    for is_update in [true, false] {
        let mut seen = std::collections::BTreeSet::new();
        for (at, step) in STEPS.iter().enumerate() {
            if !is_update && *step == Step::Announce {
                continue;
            }
            let world = World::new();
            versions(&world);
            if is_update {
                install(&world, "one");
            }
            let what = format!("update: {is_update}, before {step:?}");
            let mut child = Command::new(std::env::current_exe().unwrap());
            let test =
                "supply_install::s82_killed_at_any_step_the_old_version_is_there_or_the_new_one";
            child.args([test, "--exact", "--nocapture"]);
            child.env(KILLED, format!("{at} {}", world.path("").display()));
            let ended = child.output().unwrap().status;
            assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(9), "{what}");
            // Old or new, whole, and usable.
            let target = format!("{SKILLS}/tides");
            let there = world.path(&target).exists().then(|| digest(&world, &target));
            let (old, new) = (digest(&world, "one"), digest(&world, "two"));
            let is_new = there == Some(new);
            assert!(is_new || there == is_update.then_some(old), "{what}: a mixture");
            seen.insert(is_new);
            let mut workspace = world.open();
            let mut session = begin(&mut workspace);
            let wanted = if there.is_some() { "OPEN" } else { "NOT_FOUND" };
            assert_eq!(code(&mut session, &mut workspace, "skill:tides"), wanted, "{what}");
            // The next one finds nothing in its way and leaves nothing behind.
            install(&world, "two");
            assert_eq!(digest(&world, &target), new, "{what}");
            assert_eq!(files(&world, SKILLS), ["skills.lock", "tides"], "{what}");
            let lock = Lock::read(&world.path(SKILLS)).unwrap().unwrap();
            assert_eq!(lock.entries().len(), 1, "{what}");
            assert_eq!(lock.entries()[0].digest, new, "{what}");
        }
        assert_eq!(seen.len(), 2, "both were seen");
    }
}

#[test]
fn s82_an_update_of_another_skill_settles_what_was_interrupted() {
    let world = World::new();
    versions(&world);
    install(&world, "one");
    let mut lock = Lock::read(&world.path(SKILLS)).unwrap().unwrap();
    let mut coming = lock.entries()[0].clone();
    coming.version = Some("9".to_owned());
    coming.digest = coming.manifest().digest();
    lock.announce(coming);
    world.write(&format!("{SKILLS}/skills.lock"), lock.render());
    world.write(&format!("{SKILLS}/skills.123-0.new"), "{");
    world.write("other/SKILL.md", skill("other", "Other.", "x"));
    install(&world, "other");
    assert_eq!(files(&world, SKILLS), ["other", "skills.lock", "tides"], "and a draft is removed");
    let lock = Lock::read(&world.path(SKILLS)).unwrap().unwrap();
    let names: Vec<_> = lock.entries().iter().map(|entry| (&*entry.name, entry.digest)).collect();
    assert_eq!(names, [("other", digest(&world, "other")), ("tides", digest(&world, "one"))]);
}
