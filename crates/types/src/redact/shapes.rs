//! What secrets look like that say so themselves: tokens with a prefix, private keys, credentials in
//! headers and addresses.
//!
//! The prefixes are those that the issuers document for scanners. A shape takes as much as belongs to
//! it and nothing where the length does not fit, so that hashes, encoded images and code stay as they
//! are.

use super::Found;
use super::named;

/// Which bytes a token goes on with.
#[derive(Debug, Clone, Copy)]
enum Alphabet {
    Alphanumeric,
    Upper,
    Hex,
    /// Letters, digits, `-` and `_`.
    Url,
    /// As `Url`, and `.`.
    Dotted,
    /// As `Url`, and `/`.
    Path,
}

impl Alphabet {
    fn holds(self, byte: u8) -> bool {
        match self {
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Url => is_url(byte),
            Self::Dotted => is_url(byte) || byte == b'.',
            Self::Path => is_url(byte) || byte == b'/',
        }
    }
}

fn is_url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// A token that is known by how it begins.
struct Shape {
    kind: &'static str,
    prefix: &'static str,
    alphabet: Alphabet,
    /// The fewest and the most bytes after the prefix.
    least: usize,
    most: usize,
    /// Whether digits have to be among them: the prefix is also how words begin.
    digits: bool,
}

impl Shape {
    /// Whether nothing else goes on like this within a word.
    fn is_distinct(&self) -> bool {
        !self.digits && self.prefix.contains(['_', '-'])
    }
}

const fn shape(
    kind: &'static str,
    prefix: &'static str,
    alphabet: Alphabet,
    least: usize,
    most: usize,
) -> Shape {
    Shape { kind, prefix, alphabet, least, most, digits: false }
}

/// A prefix that words begin with, too.
const fn doubtful(kind: &'static str, prefix: &'static str, least: usize) -> Shape {
    Shape { digits: true, ..shape(kind, prefix, Alphabet::Url, least, LONG) }
}

/// Longer than any token.
const LONG: usize = 4_096;

/// Sorted by the first byte for reading; the first that fits counts.
const SHAPES: &[Shape] = &[
    shape("age", "AGE-SECRET-KEY-1", Alphabet::Upper, 50, 64),
    shape("aws", "ABIA", Alphabet::Upper, 16, 16),
    shape("aws", "ACCA", Alphabet::Upper, 16, 16),
    shape("aws", "AKIA", Alphabet::Upper, 16, 16),
    shape("aws", "ASIA", Alphabet::Upper, 16, 16),
    shape("google", "AIza", Alphabet::Url, 35, 35),
    shape("google", "GOCSPX-", Alphabet::Url, 20, 64),
    shape("sendgrid", "SG.", Alphabet::Dotted, 60, 80),
    shape("atlassian", "ATATT3", Alphabet::Url, 50, LONG),
    shape("digitalocean", "dop_v1_", Alphabet::Hex, 64, 64),
    shape("docker", "dckr_pat_", Alphabet::Url, 20, 64),
    shape("github", "ghp_", Alphabet::Alphanumeric, 20, LONG),
    shape("github", "gho_", Alphabet::Alphanumeric, 20, LONG),
    shape("github", "ghu_", Alphabet::Alphanumeric, 20, LONG),
    shape("github", "ghs_", Alphabet::Alphanumeric, 20, LONG),
    shape("github", "ghr_", Alphabet::Alphanumeric, 20, LONG),
    shape("github", "github_pat_", Alphabet::Url, 22, LONG),
    shape("gitlab", "glpat-", Alphabet::Dotted, 16, LONG),
    shape("gitlab", "gldt-", Alphabet::Url, 16, LONG),
    shape("gitlab", "glrt-", Alphabet::Dotted, 16, LONG),
    shape("gitlab", "glcbt-", Alphabet::Url, 16, LONG),
    shape("gitlab", "glptt-", Alphabet::Url, 16, LONG),
    shape("huggingface", "hf_", Alphabet::Alphanumeric, 30, 64),
    shape("slack", "hooks.slack.com/services/", Alphabet::Path, 24, 128),
    shape("linear", "lin_api_", Alphabet::Alphanumeric, 30, 64),
    shape("npm", "npm_", Alphabet::Alphanumeric, 30, 64),
    shape("pypi", "pypi-AgEIcHlwaS5vcmc", Alphabet::Url, 40, LONG),
    shape("stripe", "rk_live_", Alphabet::Alphanumeric, 16, LONG),
    shape("stripe", "rk_test_", Alphabet::Alphanumeric, 16, LONG),
    shape("stripe", "sk_live_", Alphabet::Alphanumeric, 16, LONG),
    shape("stripe", "sk_test_", Alphabet::Alphanumeric, 16, LONG),
    shape("stripe", "whsec_", Alphabet::Alphanumeric, 20, LONG),
    shape("shopify", "shpat_", Alphabet::Hex, 32, 32),
    doubtful("api-key", "sk-", 20),
    shape("slack", "xapp-", Alphabet::Url, 20, LONG),
    doubtful("slack", "xoxa-", 10),
    doubtful("slack", "xoxb-", 10),
    doubtful("slack", "xoxe-", 10),
    doubtful("slack", "xoxp-", 10),
    doubtful("slack", "xoxr-", 10),
    doubtful("slack", "xoxs-", 10),
    shape("google", "ya29.", Alphabet::Url, 20, LONG),
];

/// How a mark begins, and how many digits of the digest it ends with.
pub(super) const MARK: &str = "[redacted:";
pub(super) const MARK_DIGITS: usize = 8;

const PEM: &str = "-----BEGIN ";
const PEM_PRIVATE: &str = "PRIVATE KEY";
/// What follows a private key whose end is missing, in bytes: a key of 16,384 bits.
const PEM_BYTES: usize = 16 * 1024;

/// The secrets in `text`, in order and apart from each other.
pub(super) fn find(text: &str) -> Vec<Found> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let (mut at, mut before) = (0, b' ');
    while let Some(&byte) = bytes.get(at) {
        if byte == b'['
            && let Some(length) = mark(rest(bytes, at))
        {
            (at, before) = (at + length, b']');
            continue;
        }
        let starts_word = !(before.is_ascii_alphanumeric() || before == b'_');
        let secret = match byte {
            b':' if rest(bytes, at).starts_with(b"://") => named::user_of_address(bytes, at),
            b':' | b'=' => named::value_of_name(bytes, at),
            b'-' if rest(bytes, at).starts_with(PEM.as_bytes()) => private_key(text, at),
            b'-' if matches!(before, b' ' | b'"' | b'\'' | b'`' | b'\n' | b'\t') => {
                named::value_of_option(bytes, at)
            }
            b'B' | b'b' if starts_word => named::bearer(bytes, at),
            b'e' if starts_word => web_token(bytes, at),
            _ if may_begin(byte, bytes.get(at + 1)) => token(bytes, at, starts_word),
            _ => None,
        };
        if let Some(secret) = secret {
            (at, before) = (secret.end, b' ');
            found.push(secret);
        } else {
            (at, before) = (at + 1, byte);
        }
    }
    found
}

/// The length of the mark that `text` begins with: what was redacted stays as it is.
pub(super) fn mark(text: &[u8]) -> Option<usize> {
    let text = text.strip_prefix(MARK.as_bytes())?;
    let kind = run(text, 0, |byte| byte.is_ascii_lowercase() || byte == b'-');
    let digest = run(text, kind + 1, |byte| byte.is_ascii_hexdigit());
    let is_mark = kind > 0 && text.get(kind) == Some(&b':') && digest == MARK_DIGITS;
    (is_mark && text.get(kind + 1 + digest) == Some(&b']'))
        .then_some(MARK.len() + kind + 1 + digest + 1)
}

pub(super) fn rest(bytes: &[u8], at: usize) -> &[u8] {
    bytes.get(at..).unwrap_or_default()
}

/// How many bytes from `at` on fit.
pub(super) fn run(bytes: &[u8], at: usize, fits: impl Fn(u8) -> bool) -> usize {
    rest(bytes, at).iter().take_while(|byte| fits(**byte)).count()
}

/// Whether a shape begins with these two bytes: most places in a text are passed over by this alone.
fn may_begin(first: u8, second: Option<&u8>) -> bool {
    matches!(
        (first, second),
        (b'A', Some(b'B' | b'C' | b'G' | b'I' | b'K' | b'S' | b'T'))
            | (b'G', Some(b'O'))
            | (b'S', Some(b'G'))
            | (b'd', Some(b'c' | b'o'))
            | (b'g', Some(b'h' | b'i' | b'l'))
            | (b'h', Some(b'f' | b'o'))
            | (b'l', Some(b'i'))
            | (b'n', Some(b'p'))
            | (b'p', Some(b'y'))
            | (b'r' | b's', Some(b'k'))
            | (b's' | b'w', Some(b'h'))
            | (b'x', Some(b'a' | b'o'))
            | (b'y', Some(b'a'))
    )
}

fn token(bytes: &[u8], start: usize, starts_word: bool) -> Option<Found> {
    let text = rest(bytes, start);
    SHAPES.iter().filter(|shape| starts_word || shape.is_distinct()).find_map(|shape| {
        let after = text.strip_prefix(shape.prefix.as_bytes())?;
        let length = run(after, 0, |byte| shape.alphabet.holds(byte));
        // A full stop or a hyphen behind it belongs to the sentence.
        let trail = after.get(..length)?.iter().rev();
        let length = length - trail.take_while(|byte| !byte.is_ascii_alphanumeric()).count();
        let body = after.get(..length)?;
        let ends = !after.get(length).is_some_and(u8::is_ascii_alphanumeric);
        let fits = (shape.least..=shape.most).contains(&length) && ends;
        // Words joined by hyphens have no digits, or one.
        let is_random =
            !shape.digits || body.iter().filter(|byte| byte.is_ascii_digit()).count() > 1;
        let end = start + shape.prefix.len() + length;
        (fits && is_random).then_some(Found { start, end, kind: shape.kind })
    })
}

/// A JSON web token: three parts of base64, the first two of which are JSON objects.
fn web_token(bytes: &[u8], start: usize) -> Option<Found> {
    let part = |at: usize, prefix: &[u8], least: usize| {
        let length = run(bytes, at, is_url);
        (length >= least && rest(bytes, at).starts_with(prefix)).then_some(at + length)
    };
    let dot = |at: usize| (bytes.get(at) == Some(&b'.')).then_some(at + 1);
    let header = part(start, b"eyJ", 10)?;
    let claims = part(dot(header)?, b"ey", 10)?;
    let end = part(dot(claims)?, b"", 10)?;
    Some(Found { start, end, kind: "jwt" })
}

/// A private key in PEM, with its first and last line.
fn private_key(text: &str, start: usize) -> Option<Found> {
    let body = text.get(start..)?;
    let label = body.get(PEM.len()..)?;
    let label = label.get(..label.find("-----")?)?;
    if label.len() > 64 || !label.ends_with(PEM_PRIVATE) && !label.contains("PRIVATE KEY BLOCK") {
        return None;
    }
    let begun = PEM.len() + label.len() + "-----".len();
    let end = format!("-----END {label}-----");
    let length = if let Some(at) = body.find(&end) {
        at + end.len()
    } else {
        // It was cut: what looks like base64, also where a text in a text spells its line breaks.
        let key = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=\n\r\\ ".contains(&byte);
        begun + run(body.as_bytes(), begun, key).min(PEM_BYTES)
    };
    // A heading that only talks of a key has nothing below it.
    (length > begun + 40).then_some(Found { start, end: start + length, kind: "private-key" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_looked_for() {
        for shape in SHAPES {
            let bytes = shape.prefix.as_bytes();
            assert!(may_begin(bytes[0], bytes.get(1)), "{}", shape.prefix);
        }
    }
}
