//! Real skills and hard cases that live outside the repository.

use std::path::Path;
use std::time::{Duration, Instant};

use concertina_format::skill::{Head, Mode, Origin, Parsed, parse, parse_head};
use serde_json::Value;

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What `parse_head` gives when fed a growing prefix.
fn head(bytes: &[u8], origin: Origin<'_>) -> Parsed {
    let mut end = 512.min(bytes.len());
    loop {
        match parse_head(&bytes[..end], end == bytes.len(), origin, Mode::Lenient) {
            Head::Parsed(parsed) => return *parsed,
            Head::NeedMore => assert!(end < bytes.len(), "the whole file is not enough"),
        }
        end = (end * 2).min(bytes.len());
    }
}

#[test]
fn a_corpus_of_real_skills_reads_exactly() {
    let Ok(corpus) = std::env::var("CONCERTINA_CORPUS") else {
        eprintln!("skipped: CONCERTINA_CORPUS is not set");
        return;
    };
    let corpus = Path::new(&corpus);
    let expected = lines(&corpus.join("expected.jsonl"));
    let all = lines(&corpus.join("manifest.jsonl"));
    let mut listed = 0;
    let mut slowest = (Duration::ZERO, String::new());
    let mut total = Duration::ZERO;
    let mut head_total = Duration::ZERO;
    let mut wrong = Vec::new();
    for entry in &all {
        let file = entry["file"].as_str().unwrap();
        let bytes = std::fs::read(corpus.join(file)).unwrap();
        let path = Path::new(file);
        let directory = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
        let origin = Origin { directory, file: path.file_name().unwrap().to_str().unwrap() };
        let start = Instant::now();
        let parsed = parse(&bytes, origin, Mode::Lenient);
        let took = start.elapsed();
        total += took;
        if took > slowest.0 {
            slowest = (took, file.to_owned());
        }
        let start = Instant::now();
        let head = head(&bytes, origin);
        head_total += start.elapsed();
        let said = |p: &Parsed| {
            p.document
                .as_ref()
                .map(|d| (d.name.clone(), d.description.clone(), d.unreadable.clone()))
        };
        if said(&parsed) != said(&head) {
            wrong.push(format!(
                "{file}: the head differs: {:?} / {:?}",
                said(&parsed),
                said(&head)
            ));
        }
        if parsed.document.as_ref().is_some_and(|d| d.description.is_some()) {
            listed += 1;
        }
        if std::env::var("CONCERTINA_VERBOSE").is_ok() && entry["yaml_ok"] != true {
            let d = parsed.document.as_ref();
            eprintln!(
                "{file} {}\n    {:?} | {:?} | {:?}\n    {:?}",
                entry["classes"],
                d.map(|d| d.name.as_str()),
                d.and_then(|d| d.description.as_deref())
                    .map(|t| t.chars().take(300).collect::<String>()),
                d.map(|d| (&d.unreadable, d.status)),
                parsed
                    .diagnostics
                    .iter()
                    .map(|d| format!("{}@{:?}", d.code, d.line))
                    .collect::<Vec<_>>()
            );
        }
    }
    let mut exact = 0;
    for entry in &expected {
        let file = entry["file"].as_str().unwrap();
        let bytes = std::fs::read(corpus.join(file)).unwrap();
        let directory = Path::new(file).parent().unwrap().file_name().unwrap().to_str().unwrap();
        let origin = Origin { directory, file: "SKILL.md" };
        let parsed = parse(&bytes, origin, Mode::Lenient);
        let document = parsed.document.as_ref();
        let name = document.map(|d| d.name.as_str());
        let description = document.and_then(|d| d.description.as_deref());
        let want = |key: &str| entry[key].as_str().map(str::trim);
        if name == want("name") && description == want("description") {
            exact += 1;
        } else {
            wrong.push(format!(
                "{file}\n  name {name:?} for {:?}\n  description {description:?}\n          for {:?}\n  {:?}",
                want("name"), want("description"), parsed.diagnostics
            ));
        }
    }
    eprintln!("corpus: {exact} of {} exact, {listed} of {} listed", expected.len(), all.len());
    eprintln!(
        "  parse {total:?} in all, slowest {:?} ({}); head {head_total:?}",
        slowest.0, slowest.1
    );
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_list_of_hard_cases_reads_as_a_careful_reader_would() {
    let Ok(path) = std::env::var("CONCERTINA_HARD_CASES") else {
        eprintln!("skipped: CONCERTINA_HARD_CASES is not set");
        return;
    };
    let cases = lines(Path::new(&path));
    let mut wrong = Vec::new();
    for case in &cases {
        let bytes = match case["text"].as_str() {
            Some(text) => text.as_bytes().to_vec(),
            None => base64(case["base64"].as_str().unwrap()),
        };
        let directory = case["dir_name"].as_str().unwrap();
        let file = case["file_name"].as_str().unwrap();
        let parsed = parse(&bytes, Origin { directory, file }, Mode::Lenient);
        let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let listed = parsed.document.as_ref().filter(|d| d.description.is_some());
        let name = parsed.document.as_ref().map(|d| squeeze(&d.name));
        let description = listed.and_then(|d| d.description.as_deref()).map(squeeze);
        let want = |key: &str| case[key].as_str().map(squeeze);
        let loads = case["should_load"].as_bool().unwrap();
        let good = name == want("expected_name")
            && description == want("expected_description")
            && listed.is_some() == loads;
        let codes: Vec<_> = parsed.diagnostics.iter().map(|d| d.code.as_ref()).collect();
        if std::env::var("CONCERTINA_VERBOSE").is_ok() {
            eprintln!("{} {} -> {codes:?}", case["id"], case["expected_diagnostic"]);
        }
        if !good {
            wrong.push(format!(
                "{} {}: {name:?} {description:?} for {:?} {:?}; {codes:?}",
                case["id"],
                case["problem_class"],
                want("expected_name"),
                want("expected_description")
            ));
        }
    }
    eprintln!("hard cases: {} of {} exact", cases.len() - wrong.len(), cases.len());
    assert!(wrong.len() * 50 <= cases.len(), "{}", wrong.join("\n"));
}

/// RFC 4648, without checks.
fn base64(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => u32::from(byte - b'A'),
        b'a'..=b'z' => u32::from(byte - b'a') + 26,
        b'0'..=b'9' => u32::from(byte - b'0') + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|&byte| byte != b'=').collect();
    let mut out = Vec::new();
    for chunk in digits.chunks(4) {
        let bits =
            chunk.iter().fold(0, |bits, &byte| bits << 6 | value(byte)) << (6 * (4 - chunk.len()));
        out.extend(bits.to_be_bytes()[1..].iter().take(chunk.len() - 1));
    }
    out
}

/// What start-up pays for each skill: the head of a plain file, long way and short.
#[test]
fn b04_heads_are_quick() {
    let keys = "name: lamp-trimmer\ndescription: Trims wicks and fills lamps by hand, in the order of the rota, and says what is low. Use when a lamp smokes or goes out.\nlicense: MIT\nversion: 1.10\n";
    let body = "Fill it.\n".repeat(400);
    let origin = Origin { directory: "lamp-trimmer", file: "SKILL.md" };
    let plain = format!("---\n{keys}---\n{body}");
    let nested = format!("---\n{keys}metadata:\n  author: kim\n  tags: [a, b]\n---\n{body}");
    let broken = format!("---\n{keys}author: @sam\n---\n{body}");
    for (what, file) in [("plain", plain), ("nested", nested), ("broken", broken)] {
        let head = &file.as_bytes()[..1_024];
        let time = |read: &dyn Fn()| {
            let start = Instant::now();
            for _ in 0..2_000 {
                read();
            }
            start.elapsed() / 2_000
        };
        let of_head = time(&|| {
            assert!(matches!(parse_head(head, false, origin, Mode::Lenient), Head::Parsed(_)));
        });
        let of_file =
            time(&|| assert!(parse(file.as_bytes(), origin, Mode::Lenient).document.is_some()));
        eprintln!("{what}: head {of_head:?}, file of {} bytes {of_file:?}", file.len());
        // Unoptimised and on a busy machine; the figure asked for is 10 us for the plain one.
        assert!(of_head < Duration::from_millis(2), "{what}");
    }
}
