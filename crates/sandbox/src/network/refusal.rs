//! What a program is answered instead of what it asked for.

use std::io::{self, Write};

/// The statuses of HTTP that the proxy itself gives. What must not be, is 403, whatever the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Forbidden,
    TokenMissing,
    TimedOut,
    TooLong,
    BadGateway,
}

impl Status {
    fn line(self) -> &'static str {
        match self {
            Self::Forbidden => "403 Forbidden",
            Self::TokenMissing => {
                "407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"concertina\""
            }
            Self::TimedOut => "408 Request Timeout",
            Self::TooLong => "431 Request Header Fields Too Large",
            Self::BadGateway => "502 Bad Gateway",
        }
    }
}

/// Why a request leads to nothing, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: Status,
    /// The stable code.
    pub(super) code: &'static str,
    pub(super) reason: String,
    help: String,
}

impl Refusal {
    pub(super) fn new(
        status: Status,
        code: &'static str,
        reason: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { status, code, reason: reason.into(), help: help.into() }
    }

    /// Writes the answer; without its text where the method was `HEAD`.
    pub(super) fn answer(&self, mut client: impl Write, method: &str) -> io::Result<()> {
        let text = format!("error: {}\n  help: {} [{}]\n", self.reason, self.help, self.code);
        let head = format!(
            "HTTP/1.1 {}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n",
            self.status.line(),
            text.len(),
        );
        let text = if method == "HEAD" { "" } else { &text };
        client.write_all(format!("{head}{text}").as_bytes())
    }
}
