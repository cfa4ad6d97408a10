//! One connection: one request, judged, and what comes of it.

use std::io::{self, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use super::attempt::Attempt;
use super::body::{pass_on, pass_on_all};
use super::bounds::{PIECE_BYTES, thread_of_its_own};
use super::head::{self, Framing, Head, HeadError, Version};
use super::outside::{addresses, dial};
use super::places::Place;
use super::proxy::Shared;
use super::refusal::{Refusal, Status};
use super::relay::relay;
use super::request::{Request, RequestError, What, with_fields};

/// The first line and the fields of a request, in bytes: what servers take.
const REQUEST_HEAD_BYTES: usize = 8 * 1024;
/// The same of an answer: some set many cookies.
const ANSWER_HEAD_BYTES: usize = 64 * 1024;
/// Answers before the answer proper (`103 Early Hints`). Real servers send one.
const INTERIM_ANSWERS: usize = 8;
/// How long the rest of what a program says is taken in, so that it reads its answer before the
/// connection breaks.
const LINGER: Duration = Duration::from_secs(1);
/// The same in bytes.
const LINGER_BYTES: u64 = 256 * 1024;

/// Serves one connection to its end.
pub(super) fn serve(shared: &Shared, place: &Place, client: TcpStream) {
    let idle = Some(shared.bounds.idle);
    // On some systems it takes after its listener.
    let prepared = client.set_nonblocking(false).and(client.set_write_timeout(idle));
    let client = place.holds(client);
    // Small pieces are not held back for larger ones.
    if prepared.and(client.set_nodelay(true)).is_ok() {
        exchange(shared, place, &client);
        linger(&client);
    }
}

fn exchange(shared: &Shared, place: &Place, client: &TcpStream) {
    let mut reader = BufReader::with_capacity(PIECE_BYTES, client);
    let end = Instant::now() + shared.bounds.head;
    let bytes = match head::read(&mut reader, REQUEST_HEAD_BYTES, || wait_until(client, end)) {
        Ok(bytes) => bytes,
        // Connected and left: nothing was tried.
        Err(HeadError::Nothing) => return,
        Err(error) => return refuse(shared, client, None, &unread(error)),
    };
    let head = match Head::parse(&bytes) {
        Ok(head) => head,
        Err(error) => return refuse(shared, client, None, &unread(error)),
    };
    if !matches!(head.only("proxy-authorization"), Ok(Some(value)) if shared.token.is_in(value)) {
        return refuse(shared, client, None, &token_missing());
    }
    let request = match Request::parse(&head) {
        Ok(request) => request,
        Err(error) => return refuse(shared, client, None, &unjudged(&error)),
    };
    let judged = judge(shared, &request).and_then(|()| {
        // What a rule covers may be looked up; nothing else is.
        addresses(&*shared.outside, &request.host)
    });
    let addresses = match judged {
        Ok(addresses) => addresses,
        Err(refusal) => return refuse(shared, client, Some(&request), &refusal),
    };
    if place.is_closed() {
        return;
    }
    shared.record(attempt(Some(&request), None));
    let answered = dial(&*shared.outside, &addresses, request.port, shared.bounds.dial)
        .and_then(|socket| pass(shared, &request, &head, reader, &place.holds(socket)));
    if let Err(refusal) = answered {
        // Whoever is gone does not read it.
        let _ = refusal.answer(client, &request.method);
    }
}

/// Whether the rules cover the request, and whatever a server may take it for.
fn judge(shared: &Shared, request: &Request) -> Result<(), Refusal> {
    let overrides = match &request.what {
        What::Plain { overrides, .. } => overrides.as_slice(),
        What::Tunnel => &[],
    };
    for method in std::iter::once(&request.method).chain(overrides) {
        shared.rules.decide(&request.host, request.port, method).map_err(|refused| {
            let reason = refused.to_string();
            Refusal::new(Status::Forbidden, refused.code(), reason, refused.help())
        })?;
    }
    Ok(())
}

fn prepare(shared: &Shared, client: &TcpStream, outside: &TcpStream) -> io::Result<()> {
    let idle = Some(shared.bounds.idle);
    client.set_read_timeout(idle)?;
    outside.set_read_timeout(idle)?;
    outside.set_write_timeout(idle)?;
    outside.set_nodelay(true)
}

/// Passes on what was asked for to `outside`, its host.
fn pass(
    shared: &Shared,
    request: &Request,
    head: &Head<'_>,
    client: BufReader<&TcpStream>,
    outside: &TcpStream,
) -> Result<(), Refusal> {
    prepare(shared, client.get_ref(), outside).map_err(|error| unanswered(&error))?;
    match &request.what {
        What::Plain { path, body, waits, .. } => {
            let ahead = request.head(head, path, *body);
            plain(request, &ahead, (*body, *waits), client, outside)
        }
        What::Tunnel => {
            let mut socket = *client.get_ref();
            let started = socket.write_all(b"HTTP/1.1 200 Connection Established\r\n\r\n");
            // From here on the program takes whatever comes for the words of its host.
            drop(started.and_then(|()| relay(client, outside, shared.bounds.idle)));
            Ok(())
        }
    }
}

/// Passes on a request of plain HTTP and its answer.
fn plain(
    request: &Request,
    ahead: &[u8],
    (body, waits): (Option<Framing>, bool),
    mut client: BufReader<&TcpStream>,
    mut outside: &TcpStream,
) -> Result<(), Refusal> {
    let mut socket = *client.get_ref();
    outside.write_all(ahead).map_err(|error| unanswered(&error))?;
    let Some(framing) = body else { return answer(request, socket, outside) };
    if waits {
        // It was judged and its host is there: nothing is left to wait for.
        let _ = socket.write_all(b"HTTP/1.1 100 Continue\r\n\r\n");
    }
    thread::scope(|scope| {
        let send = move || {
            if pass_on(&mut client, &mut outside, framing).is_err() {
                // What is cut off must not be taken for the whole.
                let _ = outside.shutdown(Shutdown::Both);
            }
        };
        let sending = thread_of_its_own().spawn_scoped(scope, send);
        sending.map_err(|error| unanswered(&error))?;
        let answered = answer(request, socket, outside);
        // A host may answer before it has read everything, and then nobody waits for the rest.
        let _ = (outside.shutdown(Shutdown::Both), socket.shutdown(Shutdown::Read));
        answered
    })
}

/// Passes on the answer of the host.
fn answer(request: &Request, mut client: &TcpStream, outside: &TcpStream) -> Result<(), Refusal> {
    let mut reader = BufReader::with_capacity(PIECE_BYTES, outside);
    for _ in 0..INTERIM_ANSWERS {
        let bytes = head::read(&mut reader, ANSWER_HEAD_BYTES, || Ok(()));
        let bytes = bytes.map_err(|error| unanswered(&error))?;
        let head = Head::parse(&bytes).map_err(|error| unanswered(&error))?;
        let (version, status, words) = status(&head).map_err(|error| unanswered(&error))?;
        if status.starts_with('1') && status != "101" {
            continue;
        }
        let framing = head.framing(version).map_err(|error| unanswered(&error))?;
        let spoken = framing != Some(Framing::Chunked) || request.version == Version::New;
        if status == "101" || !spoken {
            return Err(unanswered(&"it speaks what it was not asked in"));
        }
        let mut first = format!("HTTP/1.1 {status} {words}\r\n");
        first.extend(framing.map(Framing::field));
        // From here on the answer is that of the host: if it breaks off, so does this one.
        let _ = client.write_all(&with_fields(first, &head)).and_then(|()| match framing {
            _ if request.method == "HEAD" || matches!(status, "204" | "304") => Ok(()),
            Some(framing) => pass_on(&mut reader, &mut client, framing),
            None => pass_on_all(&mut reader, &mut client),
        });
        return Ok(());
    }
    Err(unanswered(&"it does not come to its answer"))
}

/// The version and the status of an answer, and the words behind it.
fn status<'a>(head: &Head<'a>) -> Result<(Version, &'a str, &'a str), HeadError> {
    let malformed = HeadError::Malformed("its first line is not `HTTP/1.1 STATUS`");
    let (version, rest) = head.line.split_once(' ').unwrap_or_default();
    let (status, words) = rest.split_once(' ').unwrap_or((rest, ""));
    let three = status.len() == 3 && status.bytes().all(|b| b.is_ascii_digit());
    let version = Version::parse(version).filter(|_| three).ok_or(malformed)?;
    Ok((version, status, words))
}

/// Lets reads of `socket` wait until `end`.
fn wait_until(socket: &TcpStream, end: Instant) -> io::Result<()> {
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(ErrorKind::TimedOut.into());
    }
    socket.set_read_timeout(Some(left))
}

/// Takes in what the program still says: closing before that would break the connection, and the
/// answer with it.
fn linger(client: &TcpStream) {
    let end = Instant::now() + LINGER;
    let mut rest = client.take(LINGER_BYTES);
    let mut piece = [0; 1024];
    if client.shutdown(Shutdown::Write).is_ok() {
        while wait_until(client, end).is_ok() && rest.read(&mut piece).is_ok_and(|read| read > 0) {}
    }
}

fn refuse(shared: &Shared, client: &TcpStream, request: Option<&Request>, refusal: &Refusal) {
    let method = request.map(|request| request.method.as_str()).unwrap_or_default();
    shared.record(attempt(request, Some(refusal)));
    // Whoever is gone does not read it.
    let _ = refusal.answer(client, method);
}

fn attempt(request: Option<&Request>, refusal: Option<&Refusal>) -> Attempt {
    Attempt {
        host: request.map(|request| request.host.to_string()).unwrap_or_default(),
        port: request.map(|request| request.port),
        method: request.map(|request| request.method.clone()).unwrap_or_default(),
        allowed: refusal.is_none(),
        code: refusal.map_or("ALLOWED", |refusal| refusal.code),
        reason: refusal.map(|refusal| refusal.reason.clone()).unwrap_or_default(),
    }
}

fn unread(error: HeadError) -> Refusal {
    let reason = format!("the request cannot be read: {error}");
    match error {
        HeadError::TooSlow => {
            Refusal::new(Status::TimedOut, "REQUEST_TIMEOUT", reason, "send it at once")
        }
        HeadError::TooLong(_) => Refusal::new(
            Status::TooLong,
            "REQUEST_TOO_LONG",
            reason,
            "send fewer or shorter fields",
        ),
        error => unjudged(&error.into()),
    }
}

fn unjudged(error: &RequestError) -> Refusal {
    Refusal::new(Status::Forbidden, error.code(), error.to_string(), error.help())
}

fn token_missing() -> Refusal {
    let reason = "the request has no token for this proxy, or a wrong one";
    let help = "use the address in HTTPS_PROXY as it is, with the user and the token in it";
    Refusal::new(Status::TokenMissing, "TOKEN_MISSING", reason, help)
}

fn unanswered(error: &dyn std::fmt::Display) -> Refusal {
    let reason = format!("the host gave no answer that can be passed on: {error}");
    Refusal::new(Status::BadGateway, "NO_ANSWER", reason, "try again later")
}
