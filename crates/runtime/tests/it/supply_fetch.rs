//! Downloads: what may be reached, how long it may take and how large it may be.

use std::fs::File;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use concertina_runtime::supply::{
    DOWNLOAD_BYTES, Fetching, Home, REDIRECTS, Resolver, SupplyError, Wanted, fetch, is_public,
    prepare,
};
use concertina_types::Digest;
use flate2::{Compression, write::GzEncoder};
use futures_util::future::BoxFuture;

use crate::http_server::{Answer, Server};
use crate::kit::{World, skill};

/// Names of a world without a network: every name has these addresses, and each question is kept.
#[derive(Default)]
struct Names {
    addresses: Vec<IpAddr>,
    asked: Mutex<Vec<String>>,
}

impl Resolver for Names {
    fn resolve(&self, host: String) -> BoxFuture<'static, std::io::Result<Vec<IpAddr>>> {
        self.asked.lock().unwrap().push(host);
        let addresses = self.addresses.clone();
        Box::pin(async move { Ok(addresses) })
    }
}

fn within(whole: u64, idle: u64, resolver: Arc<dyn Resolver>) -> Fetching {
    let millis = Duration::from_millis;
    Fetching { connect: millis(10_000), idle: millis(idle), whole: millis(whole), resolver }
}

fn fetched(address: &str, how: &Fetching) -> Result<Vec<u8>, SupplyError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("download");
    let mut file = File::create(&path).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(fetch(address, &mut file, how))?;
    Ok(std::fs::read(&path).unwrap())
}

fn code(address: &str) -> &'static str {
    let how = within(60_000, 20_000, Arc::new(Names::default()));
    fetched(address, &how).map_or_else(|error| error.code(), |_| "OK")
}

/// A server that answers `text` at `/a` and redirects from everywhere else to `location`.
fn redirecting(location: &str) -> Server {
    let location = location.to_owned();
    Server::answering(move |_, request| match request.line.as_str() {
        "GET /a" => Answer::text(200, "bytes"),
        _ => Answer::text(302, "").header("location", &location),
    })
}

#[test]
fn s83_redirects_stay_where_a_person_sent_them() {
    let other = Server::start([Answer::text(200, "secret")]);
    for (location, wanted) in [
        ("/a", "OK"),
        (&*other.url(), "ADDRESS_REFUSED"),
        ("http://169.254.169.254/latest/meta-data/", "ADDRESS_REFUSED"),
        ("https://169.254.169.254/latest/meta-data/", "ADDRESS_REFUSED"),
        ("file:///etc/passwd", "ADDRESS_REFUSED"),
        ("gopher://127.0.0.1:70/", "ADDRESS_REFUSED"),
        ("http://skills.example/a", "ADDRESS_REFUSED"),
        ("https://user:secret@127.0.0.1/", "ADDRESS_REFUSED"),
        ("//[", "DOWNLOAD_FAILED"),
    ] {
        let server = redirecting(location);
        assert_eq!(code(&format!("{}/start", server.url())), wanted, "{location}");
    }
    assert!(other.requests().is_empty(), "nobody went there");
}

#[test]
fn s83_redirects_have_an_end() {
    let server = Server::answering(|at, _| {
        Answer::text(302, "").header("location", &format!("/{}", at + 1))
    });
    assert_eq!(code(&format!("{}/0", server.url())), "ADDRESS_REFUSED");
    assert_eq!(server.requests().len(), REDIRECTS + 1);
    let last = REDIRECTS;
    let server = Server::answering(move |at, _| match at {
        at if at < last => Answer::text(302, "").header("location", &format!("/{}", at + 1)),
        _ => Answer::text(200, "bytes"),
    });
    assert_eq!(code(&format!("{}/0", server.url())), "OK");
}

#[test]
fn s83_addresses_that_are_not_public_are_refused_before_anybody_is_asked() {
    for address in [
        "http://skills.example/a.tar",
        "http://8.8.8.8/a.tar",
        "https://10.0.0.1/a.tar",
        "https://192.168.1.1/a.tar",
        "https://169.254.169.254/a.tar",
        "https://[fd00::1]/a.tar",
        "https://[::ffff:127.0.0.2]/a.tar",
        "https://0.0.0.0/a.tar",
        "https://017700000001x/../a.tar",
        "ftp://8.8.8.8/a.tar",
        "file:///etc/passwd",
        "https://user:secret@skills.example/a.tar",
    ] {
        let names = Arc::new(Names::default());
        let how = within(20_000, 10_000, Arc::clone(&names) as Arc<dyn Resolver>);
        let error = fetched(address, &how).unwrap_err();
        let is_number = address.contains("0177");
        assert!(error.code() == "ADDRESS_REFUSED" || is_number, "{address}: {error}");
        assert!(!error.to_string().contains("secret"), "{error}");
        assert!(names.asked.lock().unwrap().is_empty() || is_number, "{address}");
    }
}

#[test]
fn s83_a_name_that_leads_to_a_private_address_is_not_dialled() {
    for addresses in [
        &["127.0.0.1"][..],
        &["169.254.169.254"],
        &["10.1.2.3"],
        &["100.64.0.1"],
        &["::1"],
        &["::ffff:192.168.0.1"],
        &["64:ff9b::a00:1"],
        &["2002:7f00:1::"],
        &["fe80::1"],
        &["93.184.215.14", "127.0.0.1"],
    ] {
        let addresses = addresses.iter().map(|text| text.parse().unwrap()).collect();
        let names = Arc::new(Names { addresses, ..Names::default() });
        let how = within(20_000, 10_000, Arc::clone(&names) as Arc<dyn Resolver>);
        let error = fetched("https://skills.example/a.tar", &how).unwrap_err();
        assert_eq!(error.code(), "ADDRESS_REFUSED", "{:?}: {error}", names.addresses);
        assert_eq!(*names.asked.lock().unwrap(), ["skills.example"]);
    }
    for text in ["93.184.215.14", "8.8.8.8", "2606:2800:21f:cb07::1", "64:ff9b::808:808"] {
        assert!(is_public(text.parse().unwrap()), "{text}");
    }
    for text in
        ["224.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.2.1", "2001:db8::1", "ff02::1"]
    {
        assert!(!is_public(text.parse().unwrap()), "{text}");
    }
}

#[test]
fn s83_a_body_without_an_end_is_cut_off() {
    let piece = vec![0_u8; 1024 * 1024];
    let pieces = usize::try_from(DOWNLOAD_BYTES).unwrap() / piece.len();
    let large = Answer::pieces(200, "application/gzip", vec![piece.clone(); pieces + 2]);
    let server = Server::start([large]);
    assert_eq!(code(&server.url()), "DOWNLOAD_TOO_LARGE");
    // One that says so beforehand is not read at all.
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 1024]);
        let _ = write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: 10737418240\r\n\r\n");
        std::thread::sleep(Duration::from_secs(30));
    });
    let before = Instant::now();
    assert_eq!(code(&address), "DOWNLOAD_TOO_LARGE");
    assert!(before.elapsed() < Duration::from_secs(15));
}

#[test]
fn s83_a_server_that_drips_or_says_nothing_is_given_up() {
    let drip = Answer::pieces(200, "application/gzip", vec![b"x"; 600])
        .pausing(Duration::from_millis(100));
    let silent = Answer::silence();
    for (answer, whole, idle) in [(drip, 800, 30_000), (silent, 60_000, 300)] {
        let server = Server::start([answer]);
        let how = within(whole, idle, Arc::new(Names::default()));
        let before = Instant::now();
        let error = fetched(&server.url(), &how).unwrap_err();
        assert_eq!(error.code(), "DOWNLOAD_FAILED", "{error}");
        assert!(before.elapsed() < Duration::from_secs(20), "{:?}", before.elapsed());
    }
    for answer in [Answer::text(404, "no"), Answer::text(500, "no"), Answer::hang_up()] {
        let server = Server::start([answer]);
        assert_eq!(code(&server.url()), "DOWNLOAD_FAILED");
    }
}

#[test]
fn a_skill_is_installed_from_an_address_with_the_bytes_that_were_promised() {
    let world = World::new();
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    world.write("from/SKILL.md", skill("tides", "Reads tide tables.", "Read."));
    archive.append_dir_all("repo-1.0/tides", world.path("from")).unwrap();
    let bytes = archive.into_inner().unwrap().finish().unwrap();
    let digest = Digest::of(&bytes);
    let server = Server::start([Answer::pieces(200, "application/gzip", [bytes])]);
    let skills = world.path("home/skills");
    let home = Home { lock: skills.clone(), skills: skills.clone() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let install = |sha256: Digest| {
        let source = format!("{}/tides.tar.gz", server.url());
        let wanted = Wanted { source, sha256: Some(sha256), ..Wanted::default() };
        runtime
            .block_on(prepare(&home, &wanted, &[], &Fetching::default(), &mut |_| {}))
            .and_then(|ready| ready.commit(&mut |_| {}))
            .map_err(|error| error.code())
    };
    assert_eq!(install(Digest::of(b"other")).map(|_| ()), Err("DIGEST_WRONG"));
    assert!(!skills.join("tides").exists());
    assert!(install(digest).is_ok());
    assert!(skills.join("tides/SKILL.md").exists());
}
