//! Archives that were made to hurt, and their harmless twins: nothing is written outside the staging
//! directory, and one refused entry refuses the whole.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use concertina_runtime::supply::{ENTRIES, SupplyError, copy_directory, unpack_archive};
use flate2::{Compression, write::GzEncoder};
use tar::{EntryType, Header};
use zip::write::SimpleFileOptions;

use crate::kit::World;

/// One entry of an archive under construction.
#[derive(Clone)]
struct Entry {
    name: Vec<u8>,
    kind: EntryType,
    mode: u32,
    link: &'static str,
    content: Vec<u8>,
}

fn file(name: impl AsRef<[u8]>) -> Entry {
    Entry {
        name: name.as_ref().to_vec(),
        kind: EntryType::Regular,
        mode: 0o644,
        link: "",
        content: b"text".to_vec(),
    }
}

fn of_kind(kind: EntryType, name: &str, link: &'static str) -> Entry {
    Entry { kind, link, content: Vec::new(), ..file(name) }
}

/// A tar archive with exactly these names, which no careful program would write.
fn tar(entries: &[Entry]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for entry in entries {
        let mut header = Header::new_gnu();
        header.set_entry_type(entry.kind);
        header.set_mode(entry.mode);
        header.set_size(entry.content.len() as u64);
        if !entry.link.is_empty() {
            header.set_link_name(entry.link).unwrap();
        }
        if entry.name.len() > 100 || entry.name.contains(&0) {
            // The way in which long names are written also takes a NUL.
            let mut long = Header::new_gnu();
            long.set_entry_type(EntryType::GNULongName);
            long.as_old_mut().name[..13].copy_from_slice(b"././@LongLink");
            long.set_size(entry.name.len() as u64 + 1);
            long.set_cksum();
            archive.append(&long, [&entry.name[..], &[0]].concat().as_slice()).unwrap();
        } else {
            header.as_old_mut().name[..entry.name.len()].copy_from_slice(&entry.name);
        }
        header.set_cksum();
        archive.append(&header, entry.content.as_slice()).unwrap();
    }
    archive.into_inner().unwrap()
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zip(entries: &[Entry]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for entry in entries {
        let name = String::from_utf8(entry.name.clone()).unwrap();
        let options = SimpleFileOptions::default().unix_permissions(entry.mode);
        match entry.kind {
            EntryType::Symlink => archive.add_symlink(name, entry.link, options).unwrap(),
            EntryType::Directory => archive.add_directory(name, options).unwrap(),
            _ => {
                archive.start_file(name, options).unwrap();
                archive.write_all(&entry.content).unwrap();
            }
        }
    }
    archive.finish().unwrap().into_inner()
}

/// Replaces a name in a finished zip archive by another of the same length: no program writes them.
fn renamed(mut archive: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let at: Vec<usize> =
        (0..archive.len() - from.len()).filter(|at| archive[*at..].starts_with(from)).collect();
    assert!(at.len() >= 2, "in the entry and in the directory");
    for at in at {
        archive[at..at + to.len()].copy_from_slice(to);
    }
    archive
}

/// Unpacks into a place of its own; gives the files that came of it, or the code.
fn unpacked(world: &World, bytes: &[u8]) -> Result<Vec<String>, SupplyError> {
    let archive = world.path("archive");
    fs::write(&archive, bytes).unwrap();
    let into = world.path("stage/into");
    let _ = fs::remove_dir_all(&into);
    fs::create_dir_all(&into).unwrap();
    let before = listing(&world.path(""), &into);
    let done = unpack_archive(File::open(&archive).unwrap(), &into);
    assert_eq!(listing(&world.path(""), &into), before, "something was written outside");
    done.map(|_| listing(&into, Path::new("/nowhere")))
}

/// Every path below `root` but what is below `except`.
fn listing(root: &Path, except: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut stack = vec![root.to_owned()];
    while let Some(directory) = stack.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() && path != except {
                stack.push(path);
            } else {
                found.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

fn code(world: &World, bytes: &[u8]) -> &'static str {
    match unpacked(world, bytes) {
        Ok(_) => "OK",
        Err(error) => {
            assert!(error.to_string().len() < 600, "{error}");
            error.code()
        }
    }
}

#[test]
fn s79_advisory_47_archives_that_reach_out_are_refused_with_the_name_of_the_entry() {
    let world = World::new();
    let long = "x".repeat(300);
    let deep = "d/".repeat(40);
    let cases: Vec<(&str, Vec<Entry>, &str)> = vec![
        ("harmless", vec![file("a/SKILL.md"), file("a/b/c.md")], "OK"),
        ("with a dot", vec![file("./SKILL.md"), of_kind(EntryType::Directory, "./", "")], "OK"),
        (
            "a directory twice",
            vec![
                of_kind(EntryType::Directory, "a/", ""),
                of_kind(EntryType::Directory, "a/", ""),
                file("a/b"),
            ],
            "OK",
        ),
        ("up", vec![file("SKILL.md"), file("../evil")], "ENTRY_ESCAPES"),
        ("up inside", vec![file("a/../../evil")], "ENTRY_ESCAPES"),
        ("up and back", vec![file("a/../b")], "ENTRY_ESCAPES"),
        ("absolute", vec![file("/tmp/evil")], "ENTRY_ESCAPES"),
        ("backslashes", vec![file("..\\evil")], "ENTRY_ESCAPES"),
        ("a drive", vec![file("C:evil")], "ENTRY_ESCAPES"),
        (
            "a link, then through it",
            vec![of_kind(EntryType::Symlink, "l", "/tmp"), file("l/evil")],
            "ENTRY_LINK",
        ),
        ("a hard link", vec![of_kind(EntryType::Link, "h", "/etc/passwd")], "ENTRY_LINK"),
        ("a character device", vec![of_kind(EntryType::Char, "c", "")], "ENTRY_SPECIAL"),
        ("a block device", vec![of_kind(EntryType::Block, "b", "")], "ENTRY_SPECIAL"),
        ("a pipe", vec![of_kind(EntryType::Fifo, "f", "")], "ENTRY_SPECIAL"),
        ("twice", vec![file("a"), file("a")], "ENTRY_TWICE"),
        ("twice, spelled otherwise", vec![file("a"), file("./a")], "ENTRY_TWICE"),
        ("capitals", vec![file("Read.md"), file("README"), file("readme")], "ENTRY_TWICE"),
        ("capitals of a directory", vec![file("A/x"), file("a/y")], "ENTRY_TWICE"),
        ("accents", vec![file("caf\u{e9}"), file("cafe\u{301}")], "ENTRY_TWICE"),
        ("a file as a directory", vec![file("a"), file("a/b")], "ENTRY_TWICE"),
        ("a directory as a file", vec![file("a/b"), file("a")], "ENTRY_TWICE"),
        ("a NUL", vec![file(b"SKILL.md\0.sh")], "ENTRY_NAME"),
        ("a line break", vec![file("a\nb")], "ENTRY_NAME"),
        ("an invisible character", vec![file("a\u{200b}b")], "ENTRY_NAME"),
        ("no UTF-8", vec![file(b"a\xff")], "ENTRY_NAME"),
        ("too long", vec![file(&long)], "ENTRY_NAME"),
        ("too deep", vec![file(format!("{deep}x"))], "ENTRY_NAME"),
        ("a dot at the end", vec![file("SKILL.md.")], "ENTRY_NAME"),
    ];
    for (what, entries, wanted) in &cases {
        let bytes = tar(entries);
        assert_eq!(code(&world, &bytes), *wanted, "tar: {what}");
        assert_eq!(code(&world, &gz(&bytes)), *wanted, "tar.gz: {what}");
        if let Err(error) = unpacked(&world, &bytes) {
            assert!(error.to_string().contains("the entry `"), "{what}: {error}");
        }
    }
}

#[test]
fn s79_zip_archives_are_held_to_the_same() {
    let world = World::new();
    let two = |a: &str, b: &str| zip(&[file(a), file(b)]);
    let link = of_kind(EntryType::Symlink, "l", "/tmp");
    let device = Entry { mode: 0o020_644, ..file("dev") };
    let mut as_device = zip(&[device]);
    // The kind of a file stands in the high half of the attributes in the directory at the end.
    let at = as_device.windows(4).rposition(|four| four == b"PK\x01\x02").unwrap();
    as_device[at + 40..at + 42].copy_from_slice(&0o020_644_u16.to_le_bytes());
    for (what, bytes, wanted) in [
        ("harmless", two("a/SKILL.md", "a/b"), "OK"),
        ("a directory", zip(&[of_kind(EntryType::Directory, "a/", ""), file("a/b")]), "OK"),
        ("up", renamed(zip(&[file("aaaa")]), b"aaaa", b"../b"), "ENTRY_ESCAPES"),
        ("absolute", renamed(zip(&[file("atmp")]), b"atmp", b"/tmp"), "ENTRY_ESCAPES"),
        ("backslashes", renamed(zip(&[file("..xevil")]), b"..xevil", b"..\\evil"), "ENTRY_ESCAPES"),
        ("a drive", renamed(zip(&[file("Cxevil")]), b"Cxevil", b"C:evil"), "ENTRY_ESCAPES"),
        ("a link", zip(&[link.clone(), file("l/evil")]), "ENTRY_LINK"),
        ("a device", as_device, "ENTRY_SPECIAL"),
        ("twice", renamed(two("aaaa1", "aaaa2"), b"aaaa2", b"aaaa1"), "ENTRY_TWICE"),
        ("capitals", two("README", "readme"), "ENTRY_TWICE"),
        ("a NUL", renamed(zip(&[file("SKILLxmd")]), b"SKILLxmd", b"SKILL\0md"), "ENTRY_NAME"),
        ("cut off", two("a", "b")[..60].to_vec(), "ARCHIVE_BROKEN"),
    ] {
        assert_eq!(code(&world, &bytes), wanted, "{what}");
    }
}

#[test]
fn s79_archives_that_hold_too_much_are_refused_early() {
    let world = World::new();
    let many = |count: usize| -> Vec<Entry> {
        (0..count).map(|at| Entry { content: vec![], ..file(format!("f{at}")) }).collect()
    };
    assert_eq!(code(&world, &gz(&tar(&many(ENTRIES)))), "OK");
    assert_eq!(code(&world, &gz(&tar(&many(ENTRIES + 1)))), "ARCHIVE_TOO_LARGE");
    assert_eq!(code(&world, &zip(&many(ENTRIES + 1))), "ARCHIVE_TOO_LARGE");
    // A thousandfold.
    let large = Entry { content: vec![0; 40_000_000], ..file("bomb") };
    let bomb = gz(&tar(std::slice::from_ref(&large)));
    assert!(bomb.len() < 60_000, "{}", bomb.len());
    assert_eq!(code(&world, &bomb), "ARCHIVE_TOO_LARGE");
    assert_eq!(code(&world, &zip(&[large])), "ARCHIVE_TOO_LARGE");
    assert!(fs::metadata(world.path("stage/into/bomb")).unwrap().len() < 20_000_000);
    // A name without an end, which is read before anybody can look at it.
    let name = Entry { name: vec![b'x'; 60_000_000], ..file("x") };
    let before = std::time::Instant::now();
    assert_eq!(code(&world, &gz(&tar(&[name]))), "ARCHIVE_TOO_LARGE");
    assert!(before.elapsed().as_secs() < 20);
    // Much text is much text.
    let words: String = (0..200_000).map(|at| format!("{at} ")).collect();
    let text = Entry { content: words.into_bytes(), ..file("long.txt") };
    assert_eq!(code(&world, &gz(&tar(&[text]))), "OK");
}

#[test]
fn s79_an_archive_inside_is_a_file_and_modes_are_reduced_to_running_or_not() {
    let world = World::new();
    let inner = gz(&tar(&[file("../evil")]));
    let entries = [
        Entry { content: inner.clone(), ..file("inner.tar.gz") },
        Entry { mode: 0o7777, ..file("run.sh") },
        Entry { mode: 0o4644, ..file("data") },
    ];
    assert_eq!(unpacked(&world, &gz(&tar(&entries))).unwrap(), ["data", "inner.tar.gz", "run.sh"]);
    let path = |name: &str| world.path("stage/into").join(name);
    let mode = |name: &str| fs::metadata(path(name)).unwrap().permissions().mode();
    assert_eq!(fs::read(path("inner.tar.gz")).unwrap(), inner);
    assert_eq!((mode("run.sh") & 0o7000, mode("data") & 0o7111), (0, 0));
    assert_eq!(mode("run.sh") & 0o100, 0o100);
}

#[test]
fn s79_what_is_no_archive_is_said() {
    let world = World::new();
    let sparse = tar(&[of_kind(EntryType::GNUSparse, "s", "")]);
    assert_eq!(code(&world, &sparse), "ARCHIVE_BROKEN", "one that names no parts");
    for bytes in [&b""[..], b"text", &[0; 1024], b"BZh9", b"Rar!"] {
        assert_eq!(code(&world, bytes), "ARCHIVE_UNKNOWN", "{bytes:?}");
    }
    let whole = gz(&tar(&[Entry { content: vec![7; 5_000], ..file("a") }]));
    assert_eq!(code(&world, &whole), "OK");
    for length in [3, whole.len() / 2, whole.len() - 1] {
        assert_eq!(code(&world, &whole[..length]), "ARCHIVE_BROKEN", "{length}");
    }
}

proptest::proptest! {
    /// Whatever is changed in an archive, nothing is written outside and nothing panics.
    #[test]
    fn s79_damaged_archives_write_nothing_outside(
        kind in 0_usize..3, changes in proptest::collection::vec((0_usize..4_000, 0_u8..), 1..6),
    ) {
        let world = World::new();
        let entries = [file("SKILL.md"), of_kind(EntryType::Directory, "a/", ""), file("a/b")];
        let mut bytes = match kind {
            0 => tar(&entries),
            1 => gz(&tar(&entries)),
            _ => zip(&entries),
        };
        let length = bytes.len();
        for (at, byte) in changes {
            bytes[at % length] = byte;
        }
        let _ = code(&world, &bytes);
    }
}

#[test]
fn advisory_20_what_belongs_to_version_control_stays_outside() {
    let world = World::new();
    let entries = [
        file("SKILL.md"),
        file(".git/config"),
        file(".GIT/hooks/post-checkout"),
        file("sub/.git"),
        file(".gitignore"),
    ];
    assert_eq!(unpacked(&world, &tar(&entries)).unwrap(), [".gitignore", "SKILL.md"]);
    world.write("from/SKILL.md", "x").write("from/.git/config", "[core]\nfsmonitor = touch x\n");
    fs::create_dir_all(world.path("to")).unwrap();
    let left_out = copy_directory(&world.path("from"), &world.path("to")).unwrap();
    assert_eq!(left_out.version_control, 1);
    assert_eq!(listing(&world.path("to"), Path::new("/nowhere")), ["SKILL.md"]);
}

#[test]
fn s79_a_directory_is_held_to_the_same() {
    let world = World::new();
    let copied = |world: &World| {
        let _ = fs::remove_dir_all(world.path("to"));
        fs::create_dir_all(world.path("to")).unwrap();
        copy_directory(&world.path("from"), &world.path("to")).map_err(|error| error.code())
    };
    world.write("from/SKILL.md", "x").write("from/a/b", "y");
    assert!(copied(&world).is_ok());
    world.link("from/a/link", "/etc/passwd");
    assert_eq!(copied(&world), Err("ENTRY_LINK"));
    fs::remove_file(world.path("from/a/link")).unwrap();
    world.link("from/SKILL.minisig", "/etc/passwd");
    assert!(copied(&world).is_err(), "a signature is no way in, either");
    fs::remove_file(world.path("from/SKILL.minisig")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        world.path("from/pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    assert_eq!(copied(&world), Err("ENTRY_SPECIAL"), "and nobody waited for a writer");
}
