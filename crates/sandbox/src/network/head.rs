//! The first line and the fields of a message, read strictly (RFC 9112, sections 2 to 5).
//!
//! Whatever two programs could read in two ways is refused: lines that end in something else than CR
//! and LF, fields that go on in the next line, blanks before a colon, lengths that contradict each
//! other. What is passed on is written anew from what was read.

use std::io::{self, BufRead, ErrorKind};

/// Fields that are between two neighbours and never passed on, with those that are written anew.
const NOT_PASSED_ON: &[&str] = &[
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Why a head cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum HeadError {
    /// Nobody said anything.
    #[error("there was no request")]
    Nothing,
    /// It ended in its midst.
    #[error("it ended before its empty line")]
    Ended,
    /// It took too long.
    #[error("it took too long")]
    TooSlow,
    /// It is too long.
    #[error("its first line and fields are longer than {0} bytes")]
    TooLong(usize),
    /// It is not as HTTP has it.
    #[error("it is not HTTP/1.1: {0}")]
    Malformed(&'static str),
}

impl From<io::Error> for HeadError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Self::TooSlow,
            _ => Self::Ended,
        }
    }
}

/// Reads up to the empty line, at most `most` bytes; `wait` is called before each wait for more.
pub(super) fn read(
    reader: &mut impl BufRead,
    most: usize,
    mut wait: impl FnMut() -> io::Result<()>,
) -> Result<Vec<u8>, HeadError> {
    let mut head = Vec::new();
    loop {
        wait()?;
        let piece = match reader.fill_buf() {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read?,
        };
        if piece.is_empty() {
            return Err(if head.is_empty() { HeadError::Nothing } else { HeadError::Ended });
        }
        let before = head.len();
        for byte in piece.iter().take(most - before) {
            head.push(*byte);
            if head.ends_with(b"\r\n\r\n") {
                break;
            }
        }
        let taken = head.len() - before;
        reader.consume(taken);
        if head.ends_with(b"\r\n\r\n") {
            return Ok(head);
        }
        if head.len() == most {
            return Err(HeadError::TooLong(most));
        }
    }
}

/// The first line and the fields of a message.
#[derive(Debug)]
pub(super) struct Head<'a> {
    /// The first line, which is in ASCII and has no control characters.
    pub(super) line: &'a str,
    fields: Vec<Field<'a>>,
}

/// One field. The value has no control characters but tabs, and no blanks around it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) name: &'a str,
    pub(super) value: &'a [u8],
}

impl<'a> Head<'a> {
    /// Reads what [`read`] gave.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, HeadError> {
        let malformed = HeadError::Malformed;
        // The CR stays, so that the last line ends like the others.
        let lines = bytes.strip_suffix(b"\n\r\n").ok_or(malformed("it has no end"))?;
        let mut lines = lines.split(|&b| b == b'\n').map(|line| {
            line.strip_suffix(b"\r").ok_or(malformed("a line does not end in CR and LF"))
        });
        let first = lines.next().unwrap_or(Ok(b""))?;
        let fields = lines.map(|line| field(line?)).collect::<Result<_, _>>()?;
        let plain = first.iter().all(|b| matches!(b, b' '..=b'~'));
        let line = str::from_utf8(first).ok().filter(|_| plain);
        Ok(Self { line: line.ok_or(malformed("its first line is not plain text"))?, fields })
    }

    /// The value of the field `name`, in lower case; an error where there are several.
    pub(super) fn only(&self, name: &str) -> Result<Option<&'a [u8]>, HeadError> {
        let mut values = self.all(name);
        match (values.next(), values.next()) {
            (_, Some(_)) => Err(HeadError::Malformed("a field is there twice")),
            (value, None) => Ok(value),
        }
    }

    /// The values of all fields `name`.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        let named = self.fields.iter().filter(move |field| field.name.eq_ignore_ascii_case(name));
        named.map(|field| field.value)
    }

    /// The fields that are passed on: none that `Connection` names either.
    pub(super) fn passed_on(&self) -> impl Iterator<Item = Field<'a>> {
        let named: Vec<&[u8]> =
            self.all("connection").flat_map(|value| value.split(|&b| b == b',')).collect();
        let stays = move |field: &Field<'_>| {
            let is = |name: &[u8]| name.trim_ascii().eq_ignore_ascii_case(field.name.as_bytes());
            !NOT_PASSED_ON.iter().any(|name| is(name.as_bytes())) && !named.iter().any(|n| is(n))
        };
        self.fields.iter().copied().filter(stays)
    }

    /// How the body is delimited; none where no field says so.
    pub(super) fn framing(&self, version: Version) -> Result<Option<Framing>, HeadError> {
        let malformed = HeadError::Malformed;
        let length = self.only("content-length")?;
        let coding = self.only("transfer-encoding")?;
        match (coding, length) {
            (None, None) => Ok(None),
            (Some(_), Some(_)) => Err(malformed("two fields contradict each other on its length")),
            (Some(coding), None) => {
                if version == Version::Old || !coding.eq_ignore_ascii_case(b"chunked") {
                    return Err(malformed("its body has an encoding other than `chunked`"));
                }
                Ok(Some(Framing::Chunked))
            }
            (None, Some(length)) => {
                let digits = length.iter().all(u8::is_ascii_digit);
                let length = str::from_utf8(length).ok().filter(|_| digits);
                let length = length.and_then(|length| length.parse().ok());
                length.map(Framing::Length).map(Some).ok_or(malformed("its length is no number"))
            }
        }
    }
}

/// HTTP/1.0, which knows no chunks, and HTTP/1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    Old,
    New,
}

impl Version {
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "HTTP/1.0" => Some(Self::Old),
            "HTTP/1.1" => Some(Self::New),
            _ => None,
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Old => "HTTP/1.0",
            Self::New => "HTTP/1.1",
        }
    }
}

/// How a body is delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// It has so many bytes.
    Length(u64),
    /// It comes in chunks, the last of which is empty.
    Chunked,
}

impl Framing {
    /// The field that says so.
    pub(super) fn field(self) -> String {
        match self {
            Self::Length(length) => format!("Content-Length: {length}\r\n"),
            Self::Chunked => "Transfer-Encoding: chunked\r\n".to_owned(),
        }
    }
}

/// Whether `text` is a token: a name of a field, or a method.
pub(super) fn is_token(text: &[u8]) -> bool {
    let token = |b: &u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(b);
    !text.is_empty() && text.iter().all(token)
}

fn field(line: &[u8]) -> Result<Field<'_>, HeadError> {
    let malformed = HeadError::Malformed;
    let colon = line.iter().position(|&b| b == b':').ok_or(malformed("a field has no colon"))?;
    let (name, value) = line.split_at_checked(colon).unwrap_or_default();
    let name = str::from_utf8(name).ok().filter(|name| is_token(name.as_bytes()));
    let name = name.ok_or(malformed("the name of a field is none"))?;
    let value = value.strip_prefix(b":").unwrap_or_default();
    if value.iter().any(|b| b.is_ascii_control() && *b != b'\t') {
        return Err(malformed("a field holds a control character"));
    }
    Ok(Field { name, value: value.trim_ascii() })
}
