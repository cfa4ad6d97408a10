//! An HTTP/1.1 server on 127.0.0.1 that answers from a list and remembers what it was asked.
//!
//! It speaks over a real socket and knows nothing of the code under test. Threads, not tasks: it
//! serves tests with and without an async runtime.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// A server that runs until it is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// What is answered to a request, by its number from 0.
type Answering = Box<dyn Fn(usize, &Request) -> Answer + Send + Sync>;

struct Shared {
    answering: Answering,
    next: AtomicUsize,
    requests: Mutex<Vec<Request>>,
    stop: AtomicBool,
}

/// A request as it came in.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// Such as `POST /v1/messages`.
    pub(crate) line: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The body, which must be JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// An answer: a status, headers, and a body in HTTP chunks.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    chunks: Vec<Vec<u8>>,
    pause: Duration,
    ended: bool,
    manner: Manner,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Manner {
    Answering,
    Silent,
    HangingUp,
}

impl Answer {
    /// A body in the pieces given; each arrives by itself.
    pub(crate) fn pieces<B: AsRef<[u8]>>(
        status: u16,
        kind: &str,
        pieces: impl IntoIterator<Item = B>,
    ) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), kind.to_owned())],
            chunks: pieces.into_iter().map(|piece| piece.as_ref().to_vec()).collect(),
            pause: Duration::ZERO,
            ended: true,
            manner: Manner::Answering,
        }
    }

    /// A stream of server-sent events, in one piece.
    pub(crate) fn events(text: impl AsRef<[u8]>) -> Self {
        Self::pieces(200, "text/event-stream", [text])
    }

    /// A JSON document.
    pub(crate) fn json(status: u16, value: &Value) -> Self {
        Self::pieces(status, "application/json", [value.to_string()])
    }

    /// Plain text.
    pub(crate) fn text(status: u16, text: &str) -> Self {
        Self::pieces(status, "text/plain", [text])
    }

    /// No answer at all; the connection stays open.
    pub(crate) fn silence() -> Self {
        Self { manner: Manner::Silent, ..Self::text(200, "") }
    }

    /// No answer at all; the connection is closed.
    pub(crate) fn hang_up() -> Self {
        Self { manner: Manner::HangingUp, ..Self::text(200, "") }
    }

    /// With one more header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With a pause before each piece but the first.
    pub(crate) fn pausing(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// With the connection cut after the last piece, so that the body has no end.
    pub(crate) fn cut(mut self) -> Self {
        self.ended = false;
        self
    }
}

impl Server {
    /// Starts a server: request N gets answer N, and the last answer is given to all that follow.
    pub(crate) fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        let answers: Vec<Answer> = answers.into_iter().collect();
        Self::answering(move |at, _| answers[at.min(answers.len() - 1)].clone())
    }

    /// Starts a server that makes its answer from the request.
    pub(crate) fn answering(
        answering: impl Fn(usize, &Request) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            answering: Box::new(answering),
            next: AtomicUsize::new(0),
            requests: Mutex::default(),
            stop: AtomicBool::new(false),
        });
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if serving.stop.load(Ordering::SeqCst) {
                    break;
                }
                let shared = Arc::clone(&serving);
                // A client that hangs up early is part of some tests.
                thread::spawn(move || stream.and_then(|stream| shared.serve(stream)));
            }
        });
        Self { address, shared }
    }

    /// Where it listens, such as `http://127.0.0.1:4711`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where it listens, as host and port.
    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    /// Every request so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for a connection.
        drop(TcpStream::connect(self.address));
    }
}

/// A port on which nothing listens.
pub(crate) fn closed_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

impl Shared {
    fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        let request = read_request(&mut BufReader::new(&stream))?;
        self.requests.lock().unwrap().push(request.clone());
        let answer = (self.answering)(self.next.fetch_add(1, Ordering::SeqCst), &request);
        match answer.manner {
            Manner::Answering => {}
            Manner::Silent => {
                while !self.stop.load(Ordering::SeqCst) {
                    thread::sleep(Duration::from_millis(10));
                }
                return Ok(());
            }
            Manner::HangingUp => return Ok(()),
        }
        write!(stream, "HTTP/1.1 {} Answer\r\n", answer.status)?;
        write!(stream, "transfer-encoding: chunked\r\nconnection: close\r\n")?;
        for (name, value) in &answer.headers {
            write!(stream, "{name}: {value}\r\n")?;
        }
        write!(stream, "\r\n")?;
        for (i, chunk) in answer.chunks.iter().filter(|chunk| !chunk.is_empty()).enumerate() {
            if i > 0 {
                thread::sleep(answer.pause);
            }
            let mut framed = format!("{:x}\r\n", chunk.len()).into_bytes();
            framed.extend_from_slice(chunk);
            framed.extend_from_slice(b"\r\n");
            stream.write_all(&framed)?;
        }
        if answer.ended {
            stream.write_all(b"0\r\n\r\n")?;
        }
        Ok(())
    }
}

fn read_request(reader: &mut impl BufRead) -> std::io::Result<Request> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        lines.push(line.to_owned());
    }
    let headers: Vec<(String, String)> = lines
        .iter()
        .skip(1)
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length = length.map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let line = lines.first().map(|line| line.trim_end_matches(" HTTP/1.1").to_owned());
    Ok(Request { line: line.unwrap_or_default(), headers, body })
}
