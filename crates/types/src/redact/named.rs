//! Secrets that are known by what stands before them: a name and `=` or `:`, a scheme of a header, the
//! place of the user in an address.

use super::Found;
use super::shapes::{rest, run};

/// How names of secrets end, in lower case and without `_`, `-` and `.`.
const ENDINGS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
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

/// Words in values that only hold the place of one.
const PLACEHOLDERS: &[&str] = &[
    "your",
    "example",
    "xxxx",
    "placeholder",
    "changeme",
    "change-me",
    "change_me",
    "redacted",
    "****",
];

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

/// The value behind the `:` or `=` at `at`, where what stands before it is the name of a secret.
pub(super) fn value_of_name(bytes: &[u8], at: usize) -> Option<Found> {
    // Comparisons, arrows and paths of modules are no assignments.
    let (before, after) = (at.checked_sub(1).and_then(|at| bytes.get(at)), bytes.get(at + 1));
    let assigns_late = bytes.get(at) == Some(&b':') && after == Some(&b'=');
    if matches!(before, Some(b'=' | b'!' | b'<' | b'>'))
        || matches!(after, Some(b'=' | b'>' | b':'))
        || assigns_late
    {
        return None;
    }
    let ending = ending(name_before(bytes, at)?)?;
    // Blanks and quotes, which may be escaped, between the sign and the value.
    let blanks = run(bytes, at + 1, |byte| matches!(byte, b' ' | b'\t'));
    let opening = at + 1 + blanks;
    let start = opening + run(bytes, opening, |byte| matches!(byte, b'\\' | b'"' | b'\'' | b'`'));
    let is_quoted = start > opening;
    if ending == "authorization" {
        return credential(bytes, start);
    }
    let fits = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || b"_-+/=.!@#%^*~?|".contains(&byte)
            || is_quoted && b"$&:,;(){}<>[]".contains(&byte)
            || byte >= 0x80
    };
    let length = run(bytes, start, fits);
    let value = rest(bytes, start).get(..length)?;
    let stop = bytes.get(start + length).copied().unwrap_or(b'\n');
    let least = if ending == "token" { TOKEN_BYTES } else { VALUE_BYTES };
    let is_value = if is_quoted {
        // A quoted text of several words is a sentence, and `${NAME}` is filled in later.
        matches!(stop, b'"' | b'\'' | b'`' | b'\\')
            && !value.iter().any(|byte| b"{}<>()[]".contains(byte))
            && !value.starts_with(b"$")
    } else {
        is_written_out(value, stop, blanks > 0)
    };
    (length >= least && is_value && looks_random(value)).then_some(Found {
        start,
        end: start + length,
        kind: kind_of(ending),
    })
}

fn kind_of(ending: &str) -> &'static str {
    match ending {
        "token" => "token",
        "secret" | "passphrase" => "secret",
        "password" | "passwd" | "passcode" | "dbpass" => "password",
        _ => "key",
    }
}

/// Whether an unquoted value is written out, and not an expression that gives one.
fn is_written_out(value: &[u8], stop: u8, spaced: bool) -> bool {
    if matches!(stop, b'(' | b'[' | b'{' | b'$' | b'<' | b':') || value.starts_with(b"@") {
        return false;
    }
    let is_name = |part: &[u8]| {
        part.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
            && part.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_!?".contains(byte))
    };
    let names = value.split(|byte| *byte == b'.').all(is_name);
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    // `settings.key2` is an expression, and `key = name2` most likely too.
    if names && value.contains(&b'.') { false } else { !(names && spaced && digits < 3) }
}

/// Letters and digits together, or letters of both cases where no name would have them; and not what
/// only holds a place.
fn looks_random(value: &[u8]) -> bool {
    let any = |is: fn(&u8) -> bool| value.iter().any(is);
    let mixes = any(u8::is_ascii_digit) && any(u8::is_ascii_alphabetic);
    let text = String::from_utf8_lossy(value).to_ascii_lowercase();
    mixes && !PLACEHOLDERS.iter().any(|word| text.contains(word))
}

/// The name before `at`, with blanks and quotes between.
fn name_before(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let before = bytes.get(..at)?;
    let back = |bytes: &[u8], fits: fn(u8) -> bool| {
        bytes.len() - bytes.iter().rev().take_while(|byte| fits(**byte)).count()
    };
    let end = back(before, |byte| matches!(byte, b' ' | b'"' | b'\'' | b'`' | b'\\' | b':'));
    let before = before.get(..end)?;
    let start =
        back(before, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
    before.get(start..)
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
                && looks_random(password)
        }
        None => name.len() >= TOKEN_BYTES && looks_random(name),
    };
    is_secret.then_some(Found { start, end: start + length, kind: "userinfo" })
}
