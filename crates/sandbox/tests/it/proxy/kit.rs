//! A proxy on a port of its own, hosts that note what they are asked, and a client that says anything.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use concertina_core::policy::{HostName, NetworkRules};
use concertina_sandbox::Gate as _;
use concertina_sandbox::network::{Attempt, Bounds, Outside, Proxy};
use concertina_types::NetworkScope;

/// Where the name of the only fixture leads. It is public, and nobody's: tests dial a port of this
/// machine instead.
pub(crate) const PUBLIC: IpAddr = IpAddr::V4(Ipv4Addr::new(9, 9, 9, 9));
/// Longer than anything takes that works.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Limits for tests that wait for them to bite.
pub(crate) fn impatient() -> Bounds {
    Bounds {
        head: Duration::from_millis(400),
        idle: Duration::from_millis(400),
        ..Bounds::default()
    }
}

pub(crate) fn rules(domains: &[&str], methods: &[&str]) -> NetworkRules {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let scope = NetworkScope { domains: owned(domains), methods: owned(methods) };
    NetworkRules::new(&[scope]).unwrap()
}

/// A network of tables: names lead to addresses, and addresses to ports of this machine.
#[derive(Default)]
pub(crate) struct Tables {
    /// The answers to a name, one for each time it is asked for; the last one stays.
    names: Mutex<BTreeMap<String, Vec<Vec<IpAddr>>>>,
    /// Where a public address really is.
    places: BTreeMap<IpAddr, SocketAddr>,
    /// What was looked up and dialled, in order.
    log: Mutex<Vec<String>>,
}

impl Tables {
    /// Any number of names for the host at `place`.
    pub(crate) fn new(names: &[&str], place: SocketAddr) -> Self {
        Self::answering(names.iter().map(|name| (*name, vec![vec![PUBLIC]])), place)
    }

    pub(crate) fn answering<'a>(
        names: impl IntoIterator<Item = (&'a str, Vec<Vec<IpAddr>>)>,
        place: SocketAddr,
    ) -> Self {
        let names = names.into_iter().map(|(name, answers)| (name.to_owned(), answers)).collect();
        let places = [(PUBLIC, place)].into();
        Self { names: Mutex::new(names), places, log: Mutex::default() }
    }

    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }
}

impl Outside for Tables {
    fn resolve(&self, name: &HostName) -> io::Result<Vec<IpAddr>> {
        self.log.lock().unwrap().push(format!("look up {}", name.as_str()));
        let mut names = self.names.lock().unwrap();
        let answers = names.get_mut(name.as_str()).ok_or(io::ErrorKind::NotFound)?;
        Ok(if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() })
    }

    fn connect(&self, address: SocketAddr, within: Duration) -> io::Result<TcpStream> {
        self.log.lock().unwrap().push(format!("dial {address}"));
        let place = self.places.get(&address.ip()).ok_or(io::ErrorKind::HostUnreachable)?;
        TcpStream::connect_timeout(place, within)
    }
}

/// A proxy that runs until this is dropped.
pub(crate) struct Running {
    pub(crate) proxy: Arc<Proxy>,
    pub(crate) address: SocketAddr,
    is_stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    pub(crate) fn new(rules: NetworkRules, outside: Arc<dyn Outside>) -> Self {
        Self::with_bounds(rules, outside, Bounds::default())
    }

    pub(crate) fn with_bounds(
        rules: NetworkRules,
        outside: Arc<dyn Outside>,
        bounds: Bounds,
    ) -> Self {
        let proxy = Arc::new(Proxy::with_bounds(rules, outside, bounds).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let is_stopped = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let (proxy, is_stopped) = (Arc::clone(&proxy), Arc::clone(&is_stopped));
            move || proxy.serve(listener, &|| is_stopped.load(Ordering::Relaxed))
        });
        Self { proxy, address, is_stopped, thread: Some(thread) }
    }

    /// Ends it, and says how long that took.
    pub(crate) fn stop(&mut self) -> Duration {
        let start = Instant::now();
        self.is_stopped.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
        start.elapsed()
    }

    /// The field by which a client shows its token.
    pub(crate) fn authorization(&self) -> String {
        let environment = self.proxy.environment(self.address);
        let (_, url) = environment.iter().find(|(name, _)| name == "HTTPS_PROXY").unwrap();
        leads_to(url).1
    }

    /// A connection of somebody who waits no longer than tests do.
    pub(crate) fn connect(&self) -> TcpStream {
        let socket = TcpStream::connect(self.address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.set_write_timeout(Some(PATIENCE)).unwrap();
        socket
    }

    /// Sends `bytes` and reads to the end.
    pub(crate) fn say(&self, bytes: &[u8]) -> Answer {
        let mut socket = self.connect();
        socket.write_all(bytes).unwrap();
        Answer::read(&mut socket)
    }

    /// Sends a first line and fields, with the token, and reads to the end. The lines end by `\r\n`.
    pub(crate) fn ask(&self, line: &str, fields: &str) -> Answer {
        self.say(format!("{line}\r\n{}{fields}\r\n", self.authorization()).as_bytes())
    }

    /// An open tunnel, and what its opening was answered.
    pub(crate) fn tunnel(&self, target: &str) -> (TcpStream, String) {
        let mut socket = self.connect();
        let ask = format!("CONNECT {target} HTTP/1.1\r\n{}\r\n", self.authorization());
        socket.write_all(ask.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let mut byte = [0];
        while !answer.ends_with(b"\r\n\r\n") && socket.read(&mut byte).unwrap() > 0 {
            answer.push(byte[0]);
        }
        (socket, String::from_utf8(answer).unwrap())
    }

    pub(crate) fn attempts(&self) -> Vec<Attempt> {
        self.proxy.attempts().kept
    }

    /// `(host, port, method, allowed, code)` of the last attempt.
    pub(crate) fn last(&self) -> (String, Option<u16>, String, bool, &'static str) {
        let last = self.attempts().pop().unwrap();
        (last.host, last.port, last.method, last.allowed, last.code)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What a client got, up to the end of the connection.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn read(socket: &mut TcpStream) -> Self {
        let mut bytes = Vec::new();
        socket.read_to_end(&mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Self { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// Whether the answer is this refusal, in words that say what to do.
    pub(crate) fn is_refused(&self, code: &str) -> bool {
        self.status == 403
            && self.body.starts_with("error: ")
            && self.body.contains("\n  help: ")
            && self.body.ends_with(&format!("[{code}]\n"))
    }
}

/// A host on a port of this machine. It ends with the test program.
pub(crate) struct Fixture {
    pub(crate) address: SocketAddr,
    /// All bytes of each connection, in the order in which they ended.
    heard: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Fixture {
    /// A host whose connections are handled by `handle`, which gives back what it heard.
    pub(crate) fn new(handle: impl Fn(TcpStream) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (handle, notes) = (Arc::new(handle), Arc::clone(&heard));
        std::thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                let (handle, notes) = (Arc::clone(&handle), Arc::clone(&notes));
                std::thread::spawn(move || {
                    socket.set_read_timeout(Some(PATIENCE)).unwrap();
                    let bytes = handle(socket);
                    notes.lock().unwrap().push(bytes);
                });
            }
        });
        Self { address, heard }
    }

    /// A host that reads one request, gives `answer` and hears to the end.
    pub(crate) fn answering(answer: &'static str) -> Self {
        Self::new(move |mut socket| {
            let mut heard = read_request(&mut socket);
            // The proxy may be gone where it did not like the request's end.
            let _ = socket.write_all(answer.as_bytes());
            let _ = socket.shutdown(Shutdown::Write);
            let _ = socket.read_to_end(&mut heard);
            heard
        })
    }

    /// A host that says `hello`.
    pub(crate) fn hello() -> Self {
        Self::answering("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
    }

    /// A host that says everything back, and `bye` when it has heard the end.
    pub(crate) fn echo() -> Self {
        Self::new(|mut socket| {
            let mut heard = Vec::new();
            let mut piece = [0; 4096];
            while let Ok(read @ 1..) = socket.read(&mut piece) {
                heard.extend(&piece[..read]);
                let _ = socket.write_all(&piece[..read]);
            }
            let _ = socket.write_all(b"bye");
            heard
        })
    }

    /// What was heard so far, once there were `connections` of them; as text.
    pub(crate) fn heard(&self, connections: usize) -> Vec<String> {
        let end = Instant::now() + PATIENCE;
        while self.heard.lock().unwrap().len() < connections && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(2));
        }
        let heard = self.heard.lock().unwrap();
        heard.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect()
    }
}

/// The bytes of one request: its head, and the body that it says it has.
pub(crate) fn read_request(socket: &mut TcpStream) -> Vec<u8> {
    let mut heard = Vec::new();
    let mut byte = [0];
    let is_whole = |heard: &[u8]| {
        let text = String::from_utf8_lossy(heard).to_lowercase();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
        let length = head.split_once("\r\ncontent-length: ").map(|(_, rest)| rest);
        let length = length.and_then(|rest| rest.lines().next()?.parse().ok()).unwrap_or(0);
        let chunks = head.contains("\r\ntransfer-encoding: chunked");
        body.len() >= length && (!chunks || body.ends_with("0\r\n\r\n"))
    };
    while !is_whole(&heard) {
        match socket.read(&mut byte) {
            Ok(1) => heard.push(byte[0]),
            _ => break,
        }
    }
    heard
}

/// Where the address of a proxy leads, and the field that shows the token in it.
pub(crate) fn leads_to(url: &str) -> (String, String) {
    let (userinfo, address) = url.strip_prefix("http://").unwrap().rsplit_once('@').unwrap();
    let field = format!("Proxy-Authorization: Basic {}\r\n", base64(userinfo.as_bytes()));
    (address.to_owned(), field)
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - group.len()));
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= group.len() { char::from(digit) } else { '=' });
        }
    }
    text
}
