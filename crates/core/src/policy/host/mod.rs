//! Hosts, and which of them may be reached.
//!
//! A host is parsed once, here. The value that comes out is the one that rules are matched against,
//! that is looked up and that is dialled; no text is compared with another one.

mod address;
mod rule;
mod rules;

// `core::net` holds addresses and nothing that opens a connection.
use core::net::{Ipv4Addr, Ipv6Addr};
use std::fmt;

pub use address::not_public;
pub use rule::{HostRule, HostRuleError};
pub(super) use rules::{CONNECT, READING, WRITING};
pub use rules::{NetworkError, NetworkRefused, NetworkRules};

/// A name in bytes, as DNS has it (RFC 1035, section 2.3.4): 255 octets on the wire are 253 written.
const NAME_BYTES: usize = 253;
/// One label of a name, in bytes (RFC 1035, section 2.3.4).
const LABEL_BYTES: usize = 63;
/// How much of a text that is no host is repeated in a message, in characters.
const SHOWN_CHARS: usize = 80;

/// Why a text is no host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// There is nothing.
    #[error("the host is empty")]
    Empty,
    /// The name is longer than DNS allows.
    #[error("`{0}` is longer than the {NAME_BYTES} bytes of a name")]
    TooLong(String),
    /// Two dots in a row, or one at the start.
    #[error("`{0}` has an empty label: a dot stands first, last but one, or beside another")]
    EmptyLabel(String),
    /// One label is longer than DNS allows.
    #[error("`{0}` has a label longer than {LABEL_BYTES} bytes")]
    LabelTooLong(String),
    /// A label begins or ends with a hyphen.
    #[error("`{0}` has a label that begins or ends with a hyphen")]
    Hyphen(String),
    /// Something that is in no name: a control character, a blank, `%`, `@`, `\`, …
    #[error("`{text}` holds `{character}`, which is in no host")]
    Character {
        /// The text.
        text: String,
        /// The character, escaped.
        character: String,
    },
    /// Letters beyond ASCII.
    #[error("`{0}` is not in ASCII")]
    NotAscii(String),
    /// It ends in a number and is not four decimal numbers. Systems read such a text as an address in
    /// different ways: `127.1`, `0x7f000001`, `0177.0.0.1` and `2130706433` are one.
    #[error("`{0}` is a number, but no IPv4 address of four decimal ones")]
    Ipv4Form(String),
    /// It has colons and is not an IPv6 address in brackets.
    #[error("`{0}` is not an IPv6 address in brackets")]
    Ipv6Form(String),
    /// An IPv4 address written as an IPv6 one. It is refused rather than judged as IPv4: an address
    /// has one spelling here, and whoever uses another one wants to be taken for something else.
    #[error("`{0}` is an IPv4 address written as an IPv6 one")]
    Ipv4Mapped(String),
    /// What stands behind the colon is no port.
    #[error("`{0}` has no port from 1 to 65535 behind its colon")]
    Port(String),
}

impl HostError {
    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Empty => "HOST_EMPTY",
            Self::TooLong(_) => "HOST_TOO_LONG",
            Self::EmptyLabel(_) => "HOST_EMPTY_LABEL",
            Self::LabelTooLong(_) => "HOST_LABEL_TOO_LONG",
            Self::Hyphen(_) => "HOST_HYPHEN",
            Self::Character { .. } => "HOST_CHARACTER",
            Self::NotAscii(_) => "HOST_NOT_ASCII",
            Self::Ipv4Form(_) => "HOST_IPV4_FORM",
            Self::Ipv6Form(_) => "HOST_IPV6_FORM",
            Self::Ipv4Mapped(_) => "HOST_IPV4_MAPPED",
            Self::Port(_) => "HOST_PORT",
        }
    }

    /// What to write instead.
    pub fn help(&self) -> &'static str {
        match self {
            Self::NotAscii(_) => "write the name in its ASCII form, which begins with `xn--`",
            Self::Ipv4Form(_) => "write four decimal numbers without leading zeros: `192.0.2.1`",
            Self::Ipv6Form(_) => "write an IPv6 address in brackets: `[2001:db8::1]`",
            Self::Ipv4Mapped(_) => "write the IPv4 address: `192.0.2.1`",
            Self::Port(_) => "write a port behind the colon, or leave the colon out",
            _ => "write a host such as `docs.example.com`, `192.0.2.1` or `[2001:db8::1]`",
        }
    }
}

/// A name of DNS: labels of ASCII letters, digits, `-` and `_`, in lower case, without a last dot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostName(String);

impl HostName {
    /// The name, with dots between its labels.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The labels, the topmost last.
    pub fn labels(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('.')
    }

    /// Whether this name has all labels of `other`, and more before them.
    pub fn is_below(&self, other: &Self) -> bool {
        let mut own = self.labels().rev();
        other.labels().rev().all(|label| own.next() == Some(label)) && own.next().is_some()
    }
}

/// A host, parsed once: what is matched, looked up and dialled.
///
/// ```
/// use concertina_core::policy::Host;
/// assert_eq!(Host::parse("Docs.Example.COM.")?, Host::parse("docs.example.com")?);
/// assert_eq!(Host::parse("[0:0:0:0:0:0:0:1]")?.to_string(), "[::1]");
/// for refused in ["user@example.com", "a b", "127.1", "0x7f000001", "[::ffff:127.0.0.1]"] {
///     assert!(Host::parse(refused).is_err(), "{refused}");
/// }
/// # Ok::<(), concertina_core::policy::HostError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// A name, which has to be looked up. `localhost` is one.
    Name(HostName),
    /// An IPv4 address.
    V4(Ipv4Addr),
    /// An IPv6 address that is no IPv4 address in disguise.
    V6(Ipv6Addr),
}

impl Host {
    /// Reads a host as it stands in an address: a name, an IPv4 address, or an IPv6 one in brackets.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        if let Some(inner) = text.strip_prefix('[') {
            return ipv6(text, inner);
        }
        if text.is_empty() {
            return Err(HostError::Empty);
        }
        if let Some(c) = text.chars().find(|&c| !is_name_character(c) && c != ':') {
            return Err(if c.is_ascii() {
                HostError::Character { text: shown(text), character: escaped(c) }
            } else {
                HostError::NotAscii(shown(text))
            });
        }
        if text.contains(':') {
            return Err(HostError::Ipv6Form(shown(text)));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        if name.len() > NAME_BYTES {
            return Err(HostError::TooLong(shown(text)));
        }
        for label in name.split('.') {
            if label.is_empty() {
                return Err(HostError::EmptyLabel(shown(text)));
            }
            if label.len() > LABEL_BYTES {
                return Err(HostError::LabelTooLong(shown(text)));
            }
            if label.starts_with('-') || label.ends_with('-') {
                return Err(HostError::Hyphen(shown(text)));
            }
        }
        if ends_in_a_number(&name) {
            // The standard library reads four decimal numbers without leading zeros, nothing else.
            return name.parse().map(Self::V4).map_err(|_| HostError::Ipv4Form(shown(text)));
        }
        Ok(Self::Name(HostName(name)))
    }

    /// Reads a host and the port behind it, where there is one: `example.com:443`, `[::1]`.
    pub fn parse_with_port(text: &str) -> Result<(Self, Option<u16>), HostError> {
        let colon = match text.rfind(']') {
            Some(end) => text.get(end..).and_then(|rest| rest.find(':')).map(|at| end + at),
            // With more than one it is an IPv6 address without brackets.
            None => text.find(':').filter(|_| text.matches(':').count() == 1),
        };
        let Some((host, port)) = colon.and_then(|at| text.split_at_checked(at)) else {
            return Ok((Self::parse(text)?, None));
        };
        let host = Self::parse(host)?;
        let digits = port.strip_prefix(':').unwrap_or_default();
        // `parse` alone would also take `+80` and `0080`.
        let plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
        match digits.parse() {
            Ok(port) if plain => Ok((host, Some(port))),
            _ => Err(HostError::Port(shown(text))),
        }
    }

    /// Whether it is the name `localhost`, which is this machine and never looked up.
    pub fn is_localhost(&self) -> bool {
        matches!(self, Self::Name(name) if name.as_str() == "localhost")
    }
}

/// As in an address: an IPv6 address stands in brackets.
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name.as_str()),
            Self::V4(address) => address.fmt(f),
            Self::V6(address) => write!(f, "[{address}]"),
        }
    }
}

fn ipv6(text: &str, inner: &str) -> Result<Host, HostError> {
    let address: Option<Ipv6Addr> = inner.strip_suffix(']').and_then(|inner| inner.parse().ok());
    let address = address.ok_or_else(|| HostError::Ipv6Form(shown(text)))?;
    match address.to_ipv4_mapped() {
        Some(_) => Err(HostError::Ipv4Mapped(shown(text))),
        None => Ok(Host::V6(address)),
    }
}

/// Some names in use hold `_`, although no host should.
fn is_name_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// Whether a system may take `name` for an IPv4 address, as the URL standard has it: its last label
/// is a decimal number, or a hexadecimal one.
fn ends_in_a_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    let hexadecimal =
        last.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_hexdigit()));
    hexadecimal || last.bytes().all(|b| b.is_ascii_digit())
}

/// A text from outside as a message may hold it: on one line, in ASCII, not too long, and without what
/// stands before `@`, which may be a password.
fn shown(text: &str) -> String {
    let (user, text) = text.rsplit_once('@').unwrap_or(("", text));
    let start = if user.is_empty() { "" } else { "…@" };
    let mut shown = start.to_owned();
    shown.extend(text.chars().take(SHOWN_CHARS).map(escaped));
    if text.chars().nth(SHOWN_CHARS).is_some() {
        shown.push('…');
    }
    shown
}

fn escaped(c: char) -> String {
    match c {
        ' '..='~' => c.to_string(),
        _ => c.escape_default().to_string(),
    }
}
