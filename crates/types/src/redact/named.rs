//! Secrets that are known by what stands before them: a name and `=` or `:`, a scheme of a header, the
//! place of the user in an address.

use super::literal::{Form, VALUE_MOST, Value, holds_place, is_said, mixes};
use super::shapes::{rest, run};
use super::{Found, KNOWN_VALUE_BYTES};

/// How names of secrets end, in lower case and without `_`, `-` and `.`.
const ENDINGS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "dbpass",
    "secret",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "signingkey",
    "encryptionkey",
    "accountkey",
    "authkey",
    "masterkey",
    "token",
    "authorization",
];

/// Tokens that are no secrets: places in a list, and pieces of texts.
const PLACES: &[&str] = &[
    "next",
    "page",
    "cursor",
    "continuation",
    "sync",
    "resume",
    "start",
    "end",
    "stop",
    "eos",
    "bos",
    "pad",
    "mask",
    "special",
    "change",
    "max",
    "per",
    "last",
    "prev",
    "first",
];

/// How names of signatures in the query of an address end. Elsewhere a signature is no secret.
const SIGNATURES: &[&str] = &["sig", "signature"];

/// What may stand between an option and its value: blanks, or what separates them in a list.
const BETWEEN: &[u8] = b" ,";

/// The longest name with what is around it, in bytes.
const NAME_BYTES: usize = 128;

/// How far before `-u user:password` the program stands that takes it so, in bytes.
const COMMAND_BYTES: usize = 256;

/// How names of variables with secrets end, beside [`ENDINGS`].
const VARIABLES: &[&str] = &[
    "KEY",
    "PASS",
    "PAT",
    "PW",
    "AUTH",
    "COOKIE",
    "CREDENTIAL",
    "CREDENTIALS",
    "DSN",
    "TOKENS",
    "SECRETS",
];

/// The shortest value of a variable that counts, in bytes: shorter ones are switches and names.
const VARIABLE_BYTES: usize = 8;

/// The shortest value of a name, in bytes, and of one that ends in `token`, which is also the name of
/// smaller things.
const VALUE_BYTES: usize = 6;
const TOKEN_BYTES: usize = 16;

/// Whether a field or a variable of this name holds a secret.
///
/// ```
/// use concertina_types::is_secret_name;
/// assert!(is_secret_name("GITHUB_TOKEN") && is_secret_name("clientSecret"));
/// assert!(!is_secret_name("nextPageToken") && !is_secret_name("max_tokens"));
/// ```
pub fn is_secret_name(name: &str) -> bool {
    ending(name.as_bytes()).is_some()
}

/// Whether `value`, of the environment variable called `name`, is a secret. Variables are called so more
/// freely than fields are; what names a file is none.
///
/// ```
/// use concertina_types::is_secret_variable;
/// assert!(is_secret_variable("OPENAI_API_KEY", "0123456789abcdef"));
/// assert!(!is_secret_variable("SSH_PRIVATE_KEY", "/keys/ann/id"));
/// assert!(!is_secret_variable("EDITOR", "a-long-program-name"));
/// ```
pub fn is_secret_variable(name: &str, value: &str) -> bool {
    let last = name.rsplit('_').next().unwrap_or_default().to_ascii_uppercase();
    let is_named = is_secret_name(name) || VARIABLES.contains(&last.as_str());
    is_named && value.trim().len() >= VARIABLE_BYTES && !value.starts_with(['/', '~', '.'])
}

/// Whether `value`, the whole of a field called `name`, is a secret by that name.
pub(super) fn holds_value(name: &str, value: &str) -> bool {
    match ending(name.as_bytes()) {
        // Words that are also the names of secrets, not only of what is in them.
        Some("token" | "secret" | "authorization") => {
            value.len() >= TOKEN_BYTES && looks_random(value.as_bytes())
        }
        Some(_) => true,
        None => false,
    }
}

/// The ending that makes it one.
fn ending(name: &[u8]) -> Option<&'static str> {
    let plain: Vec<u8> = name
        .iter()
        .filter(|byte| byte.is_ascii_alphanumeric())
        .map(u8::to_ascii_lowercase)
        .collect();
    let ending = ENDINGS.iter().find(|ending| plain.ends_with(ending.as_bytes()))?;
    let before = plain.get(..plain.len() - ending.len())?;
    let is_place =
        *ending == "token" && PLACES.iter().any(|place| before.ends_with(place.as_bytes()));
    (!is_place).then_some(ending)
}

/// Whether `plain`, in lower case and without signs, ends as names of secrets do.
pub(super) fn ends_as_secret(plain: &[u8]) -> bool {
    ENDINGS.iter().any(|ending| plain.ends_with(ending.as_bytes()))
}

/// The value behind the `:` or `=` at `at`, where what stands before it is the name of a secret.
pub(super) fn value_of_name(bytes: &[u8], at: usize) -> Option<Found> {
    // Comparisons, arrows and paths of modules are no assignments.
    let (before, after) = (at.checked_sub(1).and_then(|at| bytes.get(at)), bytes.get(at + 1));
    let is_colon = bytes.get(at) == Some(&b':');
    let assigns_late = is_colon && after == Some(&b'=');
    if matches!(before, Some(b'=' | b'!' | b'<' | b'>'))
        || matches!(after, Some(b'=' | b'>' | b':'))
        || assigns_late
    {
        return None;
    }
    let (sign, name) = name_before(bytes, at)?;
    if is_colon
        && (name.eq_ignore_ascii_case(b"cookie") || name.eq_ignore_ascii_case(b"set-cookie"))
    {
        return cookie(bytes, at + 1);
    }
    if !is_colon && matches!(sign, b'?' | b'&') && is_signature(name) {
        return signature(bytes, at + 1);
    }
    let ending = ending(name)?;
    let blanks = run(bytes, at + 1, |byte| matches!(byte, b' ' | b'\t'));
    let opening = at + 1 + blanks;
    if ending == "authorization" {
        let quotes = run(bytes, opening, |byte| matches!(byte, b'\\' | b'"' | b'\'' | b'`'));
        return credential(bytes, opening + quotes);
    }
    let form = match (is_colon, blanks) {
        (true, _) => Form::Field,
        (false, 0) if name.starts_with(b"--") => Form::Option,
        (false, 0) => Form::Joined,
        (false, _) => Form::Assigned,
    };
    found(&Value::at(bytes, opening)?, form, ending)
}

/// The value behind the option `--name` at `at`, where that is the name of a secret; or user and password
/// behind `-u`, where a program stands before it that takes them so.
pub(super) fn value_of_option(bytes: &[u8], at: usize) -> Option<Found> {
    let length =
        run(bytes, at, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    let name = rest(bytes, at).get(..length.min(NAME_BYTES))?;
    let is_user = matches!(name, b"-u" | b"--user" | b"--proxy-user");
    let ending = if is_user {
        "password"
    } else {
        let named = name.strip_prefix(b"--")?;
        let is_denied = named.starts_with(b"no-") || named.starts_with(b"without-");
        ending(named).filter(|ending| !is_denied && *ending != "authorization")?
    };
    let closes = run(bytes, at + length, |byte| matches!(byte, b'"' | b'\'' | b'\\'));
    let between = run(bytes, at + length + closes, |byte| BETWEEN.contains(&byte));
    let equals = usize::from(is_user && bytes.get(at + length) == Some(&b'='));
    if between.max(equals) == 0 || between > BETWEEN.len() {
        return None;
    }
    let value = Value::at(bytes, at + length + closes + between.max(equals))?;
    if !is_user {
        return if value.text().starts_with(b"-") {
            None
        } else {
            found(&value, Form::Option, ending)
        };
    }
    let start = value.start;
    let pair = run(bytes, start, |byte| !byte.is_ascii_whitespace() && !b"\"'`\\".contains(&byte));
    let pair = rest(bytes, start).get(..pair)?;
    let colon = pair.iter().position(|byte| *byte == b':')?;
    let (user, password) = (pair.get(..colon)?, pair.get(colon + 1..)?);
    let is_secret = password.len() >= KNOWN_VALUE_BYTES
        && password != user
        && !password.iter().any(|byte| b"${}<>[]:".contains(byte))
        && !password.eq_ignore_ascii_case(b"pass")
        && !(holds_place(password) || is_said(password));
    let end = start + pair.len();
    let kind = "userinfo";
    (is_secret && takes_user(bytes, at)).then_some(Found { start, end, kind })
}

/// Whether a program that takes `-u user:password` stands before `at` on its line.
fn takes_user(bytes: &[u8], at: usize) -> bool {
    let before = bytes.get(at.saturating_sub(COMMAND_BYTES)..at).unwrap_or_default();
    let line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    [&b"curl"[..], b"http", b"wget"]
        .iter()
        .any(|name| line.windows(name.len()).any(|part| part == *name))
}

fn found(value: &Value<'_>, form: Form, ending: &'static str) -> Option<Found> {
    // PWD is also the directory that a program is in.
    let is_path = ending == "pwd" && value.text().starts_with(b"/");
    let is_weak = ending == "token";
    (!is_path && value.is_secret(form, is_weak)).then_some(Found {
        start: value.start,
        end: value.end,
        kind: kind_of(ending),
    })
}

fn is_signature(name: &[u8]) -> bool {
    let last = name.rsplit(|byte| !byte.is_ascii_alphanumeric()).next().unwrap_or_default();
    SIGNATURES.iter().any(|signature| last.eq_ignore_ascii_case(signature.as_bytes()))
}

/// The signature in the query of an address: whoever has it may do what was signed.
fn signature(bytes: &[u8], start: usize) -> Option<Found> {
    let length = run(bytes, start, |byte| is_credential(byte) || byte == b'%');
    let value = rest(bytes, start).get(..length)?;
    let is_value = length >= 8 && !holds_place(value);
    is_value.then_some(Found { start, end: start + length, kind: "signature" })
}

/// What a header with cookies holds, as a whole.
fn cookie(bytes: &[u8], at: usize) -> Option<Found> {
    let start = at + run(bytes, at, |byte| matches!(byte, b' ' | b'\t' | b'\\' | b'"' | b'\''));
    let near = bytes.get(..bytes.len().min(start + VALUE_MOST))?;
    let length =
        run(near, start, |byte| !matches!(byte, b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'\\'));
    let value = rest(bytes, start).get(..length)?.trim_ascii_end();
    let equals = value.iter().position(|byte| *byte == b'=')?;
    let first = value.get(equals + 1..)?.split(|byte| *byte == b';').next().unwrap_or_default();
    let name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let is_pair = equals > 0 && value.get(..equals)?.iter().all(name);
    let is_value = first.len() >= 6
        && !holds_place(first)
        && !first.iter().any(|byte| b"${}<>() ".contains(byte))
        && !first.eq_ignore_ascii_case(b"value1");
    let end = start + value.len();
    (is_pair && is_value).then_some(Found { start, end, kind: "cookie" })
}

fn kind_of(ending: &str) -> &'static str {
    match ending {
        "token" => "token",
        "secret" | "passphrase" => "secret",
        "password" | "passwd" | "passcode" | "pwd" | "dbpass" => "password",
        _ => "key",
    }
}

/// Letters and digits together, and not what only holds a place.
fn looks_random(value: &[u8]) -> bool {
    mixes(value) && !holds_place(value)
}

/// The name before `at`, with blanks and quotes between, and what stands before it.
fn name_before(bytes: &[u8], at: usize) -> Option<(u8, &[u8])> {
    let from = at.saturating_sub(NAME_BYTES);
    let before = bytes.get(from..at)?;
    let back = |bytes: &[u8], fits: fn(u8) -> bool| {
        bytes.len() - bytes.iter().rev().take_while(|byte| fits(**byte)).count()
    };
    let end = back(before, |byte| matches!(byte, b' ' | b'"' | b'\'' | b'`' | b'\\' | b':'));
    let before = before.get(..end)?;
    let start =
        back(before, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
    let sign = start.checked_sub(1).and_then(|at| before.get(at)).copied().unwrap_or(b' ');
    Some((sign, before.get(start..)?))
}

/// The credential of an `Authorization` header, with or without its scheme.
fn credential(bytes: &[u8], start: usize) -> Option<Found> {
    let scheme = run(bytes, start, |byte| byte.is_ascii_alphabetic());
    let blanks = run(bytes, start + scheme, |byte| byte == b' ');
    let start = if blanks > 0 { start + scheme + blanks } else { start };
    let scheme = if blanks > 0 { scheme } else { 0 };
    let length = run(bytes, start, is_credential);
    let value = rest(bytes, start).get(..length)?;
    let is_basic = scheme == "basic".len();
    let is_value = looks_random(value) || is_basic && has_both_cases(value);
    (length >= 8 && is_value).then_some(Found { start, end: start + length, kind: "authorization" })
}

/// A credential behind the word `Bearer`, wherever that stands.
pub(super) fn bearer(bytes: &[u8], at: usize) -> Option<Found> {
    let word = rest(bytes, at).get(..7)?;
    if !word.eq_ignore_ascii_case(b"bearer ") {
        return None;
    }
    let start = at + word.len();
    let length = run(bytes, start, is_credential);
    let value = rest(bytes, start).get(..length)?;
    (length >= TOKEN_BYTES && looks_random(value)).then_some(Found {
        start,
        end: start + length,
        kind: "authorization",
    })
}

fn is_credential(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte)
}

fn has_both_cases(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_lowercase)
        && value.iter().skip(1).any(u8::is_ascii_uppercase)
        && value.len() >= 12
}

/// What stands for user and password in the address whose `://` is at `at`.
pub(super) fn user_of_address(bytes: &[u8], at: usize) -> Option<Found> {
    let start = at + "://".len();
    let user = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'*+,;=:%".contains(&byte);
    let length = run(bytes, start, user);
    if bytes.get(start + length) != Some(&b'@') || length == 0 {
        return None;
    }
    let value = rest(bytes, start).get(..length)?;
    let mut parts = value.splitn(2, |byte| *byte == b':');
    let (name, password) = (parts.next().unwrap_or_default(), parts.next());
    let is_secret = match password {
        // `$PASSWORD` is filled in later, and what says its own name holds a place.
        Some(password) => {
            password.len() >= VALUE_BYTES
                && password != name
                && !password.starts_with(b"$")
                && !(holds_place(password) || is_said(password))
        }
        None => name.len() >= TOKEN_BYTES && looks_random(name),
    };
    is_secret.then_some(Found { start, end: start + length, kind: "userinfo" })
}
