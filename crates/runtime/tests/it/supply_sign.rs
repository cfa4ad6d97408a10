//! Signatures: what minisign makes is understood, what is made here minisign understands, and what is
//! wrong is never the same as nothing.

use std::fs;
use std::process::Command;

use concertina_core::catalog::Loaded;
use concertina_runtime::supply::{
    Manifest, PublicKey, SIGNATURE_FILE, SecretKey, Signature, Signed, generate_key, judge,
    require, sign,
};
use concertina_types::Timestamp;
use proptest::prelude::*;

use crate::kit::{World, begin, code, skill};

/// Made by minisign 0.11: `minisign -G -W`, and `minisign -S -m m -t 'timestamp of a test'`.
const PUBLIC: &str = "untrusted comment: minisign public key 563262A414D4297
RWSXQk1BKiZjBcUhwqTjxbVmYTazwjxrCBH6386WWsEYY2uu4Ac8HF6g
";
const SECRET: &str = "untrusted comment: minisign encrypted secret key
RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAl0JNQSomYwXzGci6qs9yq2/n/SgQBJUEUMlKS3UsXsh+ammAF88ficUhwqTjxbVmYTazwjxrCBH6386WWsEYY2uu4Ac8HF6gAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
";
const MESSAGE: &[u8] = b"hello skill";
const SIGNATURE: &str = "untrusted comment: signature from minisign secret key
RUSXQk1BKiZjBUuPOdffqYUQBq6hJsp6O//eGM04S9QM2BpjupvrYaHqStjmTeMIS/WVcq8lY0jJ/KUIMvqpfh8uyQjFu/ODSQ8=
trusted comment: timestamp of a test
Cyu7jHqlDIJa66qq1kqO1+KQp5OfSJma9uolFWaDNElN0QoxABhwQ9H5XWJrKVU0HfVg0C/GLb3GANPfoeqxCA==
";
/// The same message in the older way, `minisign -S -l`.
const LEGACY: &str = "untrusted comment: signature from minisign secret key
RWSXQk1BKiZjBbl1noletE5k3ZBEnWGgbVHhkXjpRLpbvcwVBVN4KyhISH64KnlZc4VPQB6oVscSXdfMug/qFTF1tFkWrl8YpQQ=
trusted comment: legacy
zcuIGl4A8zqdMwYb53FC1rtTR7RDYHPU0q5+zO58TrENISl7p+8fhP4TPaIipd7Ukf5sIwsQ9+6fh+U7EuAjCg==
";
/// The beginning of a secret key that a password protects.
const LOCKED: &str = "RWRTY0Iy";

#[test]
fn what_minisign_made_is_read_and_verified() {
    let public = PublicKey::parse(PUBLIC).unwrap();
    let signature = Signature::parse(SIGNATURE).unwrap();
    assert!(public.verify(MESSAGE, &signature));
    assert_eq!(signature.comment(), "timestamp of a test");
    assert!(!public.verify(b"hello skilL", &signature));
    // The same key signs the same, bit for bit.
    let secret = SecretKey::parse(SECRET).unwrap();
    assert_eq!(secret.public(), public);
    assert_eq!(secret.sign(MESSAGE, "timestamp of a test"), signature);
    // The line alone is a key as well.
    assert_eq!(PublicKey::parse(&public.to_string()).unwrap(), public);
}

#[test]
fn another_program_verifies_what_is_made_here() {
    let key = SecretKey::generate().unwrap();
    let text = key.sign(MESSAGE, "a comment").render();
    let theirs = minisign_verify::Signature::decode(&text).unwrap();
    let public = minisign_verify::PublicKey::decode(&key.public().render()).unwrap();
    public.verify(MESSAGE, &theirs, false).unwrap();
    assert_eq!(theirs.trusted_comment(), "a comment");
    public.verify(b"another", &theirs, false).unwrap_err();
}

#[test]
fn minisign_itself_signs_and_verifies_with_our_keys() {
    let world = World::new();
    let key = world.path("state/k.key");
    generate_key(&key).unwrap();
    world.write("m", MESSAGE);
    let minisign = |arguments: &[&str]| {
        let mut command = Command::new("minisign");
        command.current_dir(world.path("")).args(arguments).output()
    };
    if minisign(&["-v"]).is_err() {
        eprintln!(
            "skipped: minisign_itself_signs_and_verifies_with_our_keys: minisign is not installed"
        );
        return;
    }
    let done = minisign(&["-S", "-s", "state/k.key", "-m", "m", "-t", "theirs"]).unwrap();
    assert!(done.status.success(), "{done:?}");
    let text = fs::read_to_string(world.path("m.minisig")).unwrap();
    let public = PublicKey::parse(&fs::read_to_string(world.path("state/k.pub")).unwrap()).unwrap();
    assert!(public.verify(MESSAGE, &Signature::parse(&text).unwrap()));
    let secret = SecretKey::parse(&fs::read_to_string(&key).unwrap()).unwrap();
    world.write("m.minisig", secret.sign(MESSAGE, "ours").render());
    let done = minisign(&["-V", "-m", "m", "-p", "state/k.pub"]).unwrap();
    assert!(done.status.success(), "{done:?}");
}

#[test]
fn keys_and_signatures_that_are_none_say_so() {
    let secret = |text: &str| SecretKey::parse(text).unwrap_err().code();
    assert_eq!(secret(""), "KEY_INVALID");
    assert_eq!(secret(PUBLIC), "KEY_INVALID");
    assert_eq!(secret(&SECRET.replace("RWQAAEIy", LOCKED)), "KEY_LOCKED");
    assert_eq!(secret(&SECRET.replace("cUhwqTj", "cUhwqTk")), "KEY_INVALID");
    for text in ["", "RW", "untrusted comment: x\n", SECRET, SIGNATURE] {
        assert_eq!(PublicKey::parse(text).unwrap_err().code(), "KEY_INVALID", "{text}");
    }
    let lines: Vec<&str> = SIGNATURE.lines().collect();
    for text in ["", PUBLIC, LEGACY, &lines[..3].join("\n"), &lines[1..].join("\n")] {
        assert_eq!(Signature::parse(text).unwrap_err().code(), "SIGNATURE_WRONG", "{text}");
    }
}

proptest! {
    /// A flipped bit anywhere in a signature or in what it is over is noticed.
    #[test]
    fn a_flipped_bit_anywhere_is_noticed(at in 0_usize..4_000, bit in 0_u8..8) {
        let public = PublicKey::parse(PUBLIC).unwrap();
        let mut text = SIGNATURE.as_bytes().to_vec();
        // What is said before the first line break is not signed, as its name says.
        let start = SIGNATURE.find('\n').unwrap() + 1;
        let at = start + at % (text.len() - 1 - start);
        text[at] ^= 1 << bit;
        let read = String::from_utf8(text).ok().and_then(|text| Signature::parse(&text).ok());
        prop_assert!(read.is_none_or(|signature| !public.verify(MESSAGE, &signature)));
    }
}

#[test]
fn a_key_is_private_and_never_written_over() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    let path = world.path("state/keys/skill.key");
    let public = generate_key(&path).unwrap();
    let mode = |path: &str| fs::metadata(world.path(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("state/keys"), mode("state/keys/skill.key")), (0o700, 0o600));
    assert_eq!(generate_key(&path).unwrap_err().code(), "KEY_EXISTS");
    let kept = SecretKey::parse(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(kept.public(), public);
    // Not through a link that somebody put there, either.
    world.link("state/keys/other.key", "/dev/null");
    assert_eq!(generate_key(&world.path("state/keys/other.key")).unwrap_err().code(), "KEY_EXISTS");
}

/// A skill with a script, signed with a key of its own.
fn signed(world: &World) -> SecretKey {
    world.write("work/skills/tides/SKILL.md", skill("tides", "Reads tide tables.", "Read."));
    world.write("work/skills/tides/run.sh", "echo 1").write("work/skills/tides/.lib.sh", "x=1");
    let key = SecretKey::generate().unwrap();
    sign(&world.path("work/skills/tides/SKILL.md"), &key, Timestamp(0)).unwrap();
    key
}

fn judged(world: &World, keys: &[PublicKey]) -> Result<Signed, &'static str> {
    let directory = world.path("work/skills/tides");
    let (manifest, _) = Manifest::of(&directory.join("SKILL.md"), Loaded::Skills).unwrap();
    judge(&directory, &manifest, keys).map_err(|error| error.code())
}

#[test]
fn a_signature_covers_every_file_and_is_wrong_after_any_change() {
    let world = World::new();
    let key = signed(&world).public();
    assert!(matches!(judged(&world, &[key]), Ok(Signed::By { .. })));
    let changes: [(&str, Option<&str>); 5] = [
        ("SKILL.md", Some("---\nname: tides\ndescription: Reads.\n---\nRead!\n")),
        ("run.sh", Some("echo 2")),
        (".lib.sh", Some("x=2")),
        ("new.sh", Some("")),
        ("run.sh", None),
    ];
    for (file, text) in changes {
        let path = world.path("work/skills/tides").join(file);
        let before = fs::read(&path).ok();
        match text {
            Some(text) => fs::write(&path, text).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        assert_eq!(judged(&world, &[key]), Err("SIGNATURE_WRONG"), "{file}");
        match before {
            Some(bytes) => fs::write(&path, bytes).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        assert!(matches!(judged(&world, &[key]), Ok(Signed::By { .. })), "{file} is back");
    }
}

#[test]
fn a_replaced_signature_is_another_keys_and_a_damaged_one_is_wrong() {
    let world = World::new();
    let key = signed(&world).public();
    let other = SecretKey::generate().unwrap();
    let directory = world.path("work/skills/tides");
    let file = directory.join("SKILL.md");
    sign(&file, &other, Timestamp(0)).unwrap();
    assert!(matches!(judged(&world, &[key]), Ok(Signed::Stranger { .. })));
    let (manifest, _) = Manifest::of(&file, Loaded::Skills).unwrap();
    let wanted =
        |key: PublicKey| require(&directory, &manifest, &key).map_err(|error| error.code());
    assert_eq!(wanted(key), Err("SIGNATURE_OTHER_KEY"));
    assert!(wanted(other.public()).is_ok());
    for damage in ["", "nonsense", LEGACY] {
        fs::write(directory.join(SIGNATURE_FILE), damage).unwrap();
        assert_eq!(judged(&world, &[key]), Err("SIGNATURE_WRONG"), "{damage:?}");
    }
    fs::remove_file(directory.join(SIGNATURE_FILE)).unwrap();
    assert_eq!(judged(&world, &[key]), Ok(Signed::Not));
    assert_eq!(wanted(key), Err("SIGNATURE_MISSING"));
    world.link("work/skills/tides/SKILL.minisig", "/dev/zero");
    assert_eq!(judged(&world, &[key]), Err("SIGNATURE_WRONG"), "a device has no end");
}

#[test]
fn a_skill_signed_with_a_trusted_key_is_trusted_without_a_question() {
    let world = World::new();
    let key = signed(&world).public();
    let mut workspace = world.open();
    let mut session = begin(&mut workspace);
    assert_eq!(code(&mut session, &mut workspace, "skill:tides"), "UNTRUSTED", "no key is trusted");
    let settings = format!("[trust]\nkeys = [\"{key}\"]\n");
    world.write("home/.config/concertina/concertina.toml", &settings);
    let mut workspace = world.open();
    assert_eq!(workspace.untrusted(), 0);
    let mut session = begin(&mut workspace);
    assert_eq!(code(&mut session, &mut workspace, "skill:tides#run.sh"), "OPEN");
    // Changed meanwhile: at once, on the next turn, and after a restart; for a person as well.
    world.write("work/skills/tides/run.sh", "echo 2");
    assert_eq!(code(&mut session, &mut workspace, "skill:tides"), "SIGNATURE_WRONG");
    session.turn(&mut workspace).unwrap();
    assert_eq!(code(&mut session, &mut workspace, "skill:tides"), "SIGNATURE_WRONG");
    let mut workspace = world.open();
    let mut session = begin(&mut workspace);
    assert_eq!(code(&mut session, &mut workspace, "skill:tides"), "SIGNATURE_WRONG");
    // Trust by hand does not make a wrong signature right.
    workspace.trust(&world.path("work")).unwrap();
    session.turn(&mut workspace).unwrap();
    assert_eq!(code(&mut session, &mut workspace, "skill:tides"), "SIGNATURE_WRONG");
    // Without the signature it is like any other.
    fs::remove_file(world.path("work/skills/tides").join(SIGNATURE_FILE)).unwrap();
    workspace.trust(&world.path("work")).unwrap();
    session.turn(&mut workspace).unwrap();
    assert_eq!(code(&mut session, &mut workspace, "skill:tides"), "OPEN");
}

#[test]
fn a_workspace_names_no_keys_and_a_broken_key_trusts_nothing() {
    let world = World::new();
    let key = signed(&world).public();
    world.config(&format!("[trust]\nkeys = [\"{key}\"]\n"));
    assert_eq!(world.open().untrusted(), 1);
    world.write("home/.config/concertina/concertina.toml", "[trust]\nkeys = [\"RWbroken\"]\n");
    let workspace = world.open();
    assert_eq!(workspace.untrusted(), 1);
    let found = &workspace.loaded().findings;
    assert!(found.iter().any(|(_, found)| found.code == "KEY_INVALID"), "{found:?}");
}
