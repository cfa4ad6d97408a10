//! This test binary again, as another process.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use concertina_store::{ContentStore, Durability, FileContent, Store};

use crate::{append_retrying, draft, session};

const ROLE: &str = "STORE_TEST_ROLE";
const HOME: &str = "STORE_TEST_HOME";

/// A command that plays `role` in `home`; its answers are the lines of stdout that begin with `>`.
pub(crate) fn command(program: &Path, role: &str, home: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .args(["--exact", "child::play", "--ignored", "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .env(HOME, home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit());
    command
}

pub(crate) fn spawn(role: &str, home: &Path) -> Child {
    command(&std::env::current_exe().unwrap(), role, home).spawn().unwrap()
}

pub(crate) fn answers(stdout: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(stdout);
    // The last line may be half written; the harness may write before the first `>` of a line.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().filter_map(|line| Some(line.split_once('>')?.1.to_owned())).collect()
}

fn answer(text: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    writeln!(out, ">{text}").unwrap();
    out.flush().unwrap();
}

#[test]
#[ignore = "other tests start this as a process of its own"]
fn play() {
    let Ok(role) = std::env::var(ROLE) else { panic!("started without a role") };
    let home = std::path::PathBuf::from(std::env::var_os(HOME).unwrap());
    match role.as_str() {
        // One of several writers: a fixed number of events, whoever else writes.
        "x" | "y" => {
            std::fs::write(home.join(&role), "ready").unwrap();
            let pause = || std::thread::sleep(std::time::Duration::from_micros(500));
            while !["x", "y"].iter().all(|role| home.join(role).exists()) {
                pause();
            }
            let store = Store::open(&home).unwrap();
            for n in 0..100 {
                append_retrying(store.events.as_ref(), &session("shared"), &draft(&role, n));
                pause();
            }
        }
        // The same, many more and without a pause.
        "many-x" | "many-y" => {
            let store = Store::open(&home).unwrap();
            let s = session("shared");
            let mut seen = 0;
            for n in 0..10_000 {
                loop {
                    let drafts = vec![draft(&role, n)];
                    match store.append(&s, seen, drafts, Durability::KillSafe) {
                        Ok(events) => {
                            seen = events.last().unwrap().seq;
                            break;
                        }
                        Err(concertina_store::StoreError::Conflict { found, .. }) => seen = found,
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        }
        // Continues the session for ever, saying what it has written once it is written.
        "endless" => {
            let store = Store::open(&home).unwrap();
            let s = session("s");
            let mut last = store.verify(&s).unwrap().len() as u64;
            loop {
                let step = u32::try_from(last).unwrap();
                let drafts = vec![draft("w", step), draft("w", step + 1), draft("w", step + 2)];
                let events = store.append(&s, last, drafts, Durability::KillSafe).unwrap();
                last = events.last().unwrap().seq;
                answer(&format!("{last} {}", events.last().unwrap().hash));
            }
        }
        // Puts large content for ever.
        "content" => {
            let store = FileContent::new(&home);
            for n in 0_u64.. {
                let bytes = (u64::from(std::process::id()) << 32 | n).to_le_bytes();
                answer(&store.put(&bytes.repeat(100_000)).unwrap().to_string());
            }
        }
        // Tries everything in a home that may not be written and names the outcomes.
        "forbidden" => {
            let store = Store::open(&home).unwrap();
            let code = |error: concertina_store::StoreError| error.code();
            let s = session("s");
            let drafts = vec![draft("w", 0)];
            answer(store.verify(&s).map_or_else(code, |_| "read"));
            let append = store.append(&s, 1, drafts.clone(), Durability::KillSafe);
            answer(append.map_or_else(code, |_| "written"));
            answer(store.content.put(b"new").map_or_else(code, |_| "written"));
            let missing = Store::open(&home.join("missing")).unwrap();
            let append = missing.append(&s, 0, drafts, Durability::KillSafe);
            answer(append.map_or_else(code, |_| "written"));
        }
        // Puts content where files may not grow beyond a limit.
        "limited" => {
            let store = FileContent::new(&home);
            let small = store.put(b"small").unwrap();
            answer(store.put(&vec![1; 2_000_000]).map_or_else(|error| error.code(), |_| "written"));
            answer(&String::from_utf8(store.get(&small).unwrap().unwrap()).unwrap());
        }
        other => panic!("no role {other}"),
    }
}
