//! The body of a message, passed on as long as it says it is and no longer (RFC 9112, section 7).

use std::io::{self, BufRead, ErrorKind, Read as _, Write};

use super::head::Framing;

/// The line before a chunk, in bytes: a length, and extensions that nobody uses.
const CHUNK_LINE_BYTES: usize = 256;
/// What may stand behind the last chunk, in bytes: as much as before the first one.
const TRAILER_BYTES: usize = 8 * 1024;

/// Passes on a body that is delimited by `framing`, from the first byte to the last. Chunks are written
/// anew, without extensions and trailers: the other side sees lengths that were read here.
pub(super) fn pass_on(
    from: &mut impl BufRead,
    to: &mut impl Write,
    framing: Framing,
) -> io::Result<()> {
    match framing {
        Framing::Length(length) => exactly(from, to, length),
        Framing::Chunked => {
            loop {
                let length = chunk_length(&line(from, CHUNK_LINE_BYTES)?)?;
                if length == 0 {
                    break;
                }
                to.write_all(format!("{length:x}\r\n").as_bytes())?;
                exactly(from, to, length)?;
                if !line(from, 2)?.is_empty() {
                    return Err(malformed("a chunk is longer than it says"));
                }
                to.write_all(b"\r\n")?;
            }
            let mut left = TRAILER_BYTES;
            loop {
                let trailer = line(from, left)?;
                if trailer.is_empty() {
                    return to.write_all(b"0\r\n\r\n");
                }
                left = left.saturating_sub(trailer.len() + 2);
            }
        }
    }
}

/// Passes on whatever comes, until the end.
pub(super) fn pass_on_all(from: &mut impl BufRead, to: &mut impl Write) -> io::Result<()> {
    loop {
        let piece = match from.fill_buf() {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read?,
        };
        if piece.is_empty() {
            return Ok(());
        }
        to.write_all(piece)?;
        let written = piece.len();
        from.consume(written);
    }
}

fn exactly(from: &mut impl BufRead, to: &mut impl Write, length: u64) -> io::Result<()> {
    let mut part = from.by_ref().take(length);
    pass_on_all(&mut part, to)?;
    if part.limit() == 0 { Ok(()) } else { Err(ErrorKind::UnexpectedEof.into()) }
}

/// One line without its CR and LF, which belong to its at most `most` bytes.
fn line(from: &mut impl BufRead, most: usize) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    from.by_ref().take(u64::try_from(most).unwrap_or(u64::MAX)).read_until(b'\n', &mut line)?;
    match line.strip_suffix(b"\r\n") {
        Some(line) if !line.contains(&b'\r') => Ok(line.to_owned()),
        _ => Err(malformed("a line of a chunk does not end in CR and LF, or is too long")),
    }
}

/// The length before an extension, in hexadecimal digits and nothing else.
fn chunk_length(line: &[u8]) -> io::Result<u64> {
    let digits = line.split(|&b| b == b';').next().unwrap_or_default();
    let plain = digits.iter().all(u8::is_ascii_hexdigit);
    let length = str::from_utf8(digits).ok().filter(|_| plain);
    length
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .ok_or_else(|| malformed("the length of a chunk is no number"))
}

fn malformed(what: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}
