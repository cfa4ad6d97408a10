//! Whether what stands behind the name of a secret is its value, written out, and not a word about it: a
//! placeholder, a type, an expression that gives it, or prose.

use super::shapes::{MARK, rest, run};

/// The longest value, in bytes.
pub(super) const VALUE_MOST: usize = 4_096;

/// Beginnings of words in values that only hold the place of one.
const PLACEHOLDERS: &[&str] =
    &["your", "example", "placeholder", "changeme", "redacted", "insert", "replace"];

/// Runs of characters that only hold the place of one.
const FILLERS: &[&str] = &[
    "xxx",
    "***",
    "...",
    "___",
    "change-me",
    "change_me",
    "change me",
    "-here",
    "_here",
    "not-needed",
];

/// Words that are no secrets: types, states, and what else documents say of one.
const WORDS: &[&str] = &[
    "access",
    "another",
    "argument",
    "arguments",
    "available",
    "basic",
    "bearer",
    "before",
    "boolean",
    "buffer",
    "bytestring",
    "cannot",
    "changed",
    "command",
    "comment",
    "config",
    "configured",
    "constant",
    "contains",
    "default",
    "delimiter",
    "describe",
    "description",
    "disabled",
    "enabled",
    "encoded",
    "encrypted",
    "environment",
    "expired",
    "expires",
    "failed",
    "function",
    "generated",
    "github",
    "gitlab",
    "hashed",
    "hidden",
    "identifier",
    "incorrect",
    "input",
    "instead",
    "integer",
    "invalid",
    "keyword",
    "literal",
    "manager",
    "masked",
    "mismatch",
    "missing",
    "needed",
    "nothing",
    "number",
    "object",
    "operator",
    "option",
    "optional",
    "options",
    "parameter",
    "parameters",
    "plaintext",
    "private",
    "process",
    "production",
    "prompt",
    "prompts",
    "protected",
    "provided",
    "public",
    "punctuation",
    "random",
    "rejected",
    "removed",
    "request",
    "required",
    "requires",
    "response",
    "result",
    "returned",
    "rotated",
    "settings",
    "should",
    "static",
    "stored",
    "string",
    "strings",
    "supported",
    "timestamp",
    "together",
    "undefined",
    "unknown",
    "unsigned",
    "unused",
    "user",
    "username",
    "userpass",
    "using",
    "value",
    "values",
    "varchar",
    "variable",
    "verified",
    "whitespace",
    "without",
];

/// Words that only a sentence has.
const PROSE: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "for", "from", "has", "if", "in", "is",
    "it", "its", "must", "not", "of", "on", "or", "that", "the", "this", "to", "used", "was",
    "when", "which", "will", "with", "your",
];

/// How a value stands behind its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `name=value`
    Joined,
    /// `name: value`
    Field,
    /// `name = value`, as in programs
    Assigned,
    /// `--name value`
    Option,
}

/// A value and where it stands.
pub(super) struct Value<'a> {
    bytes: &'a [u8],
    pub(super) start: usize,
    pub(super) end: usize,
    is_quoted: bool,
}

impl<'a> Value<'a> {
    /// The value that begins at `at`, in quotes or not; none where its quotes do not end.
    pub(super) fn at(bytes: &'a [u8], at: usize) -> Option<Self> {
        let slashes = run(bytes, at, |byte| byte == b'\\');
        let quote = bytes.get(at + slashes).copied();
        if let Some(quote @ (b'"' | b'\'' | b'`')) = quote {
            let start = at + slashes + 1;
            let length = quoted(rest(bytes, start), quote, slashes)?;
            return Some(Self { bytes, start, end: start + length, is_quoted: true });
        }
        let fits = |byte: u8| {
            byte.is_ascii_alphanumeric() || b"_-+/=.!@#%^*~?|".contains(&byte) || byte >= 0x80
        };
        let length = run(bytes.get(..bytes.len().min(at + VALUE_MOST))?, at, fits);
        Some(Self { bytes, start: at, end: at + length, is_quoted: false })
    }

    pub(super) fn text(&self) -> &'a [u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    fn stop(&self) -> u8 {
        self.bytes.get(self.end).copied().unwrap_or(b'\n')
    }

    /// Whether it is a secret by itself, behind the name of one in this `form`. `is_weak` says that the name is
    /// also that of smaller things.
    pub(super) fn is_secret(&self, form: Form, is_weak: bool) -> bool {
        let text = self.text();
        if holds_place(text) {
            return false;
        }
        let is_random = mixes(text);
        let least = match (form, self.is_quoted) {
            (Form::Option, _) => 6,
            _ if !is_weak => 6,
            (Form::Field | Form::Assigned, false) => 16,
            _ if is_random => 12,
            _ => 8,
        };
        if text.len() < least {
            return false;
        }
        // What documents have in backticks is code, or a name.
        if self.stop() == b'`' && self.is_quoted && (!is_random || text.contains(&b' ')) {
            return false;
        }
        if self.is_quoted {
            return !is_template(text) && (is_random || !is_said(text)) && !is_sentence(text);
        }
        if matches!(self.stop(), b'(' | b'[' | b'{' | b'$' | b'<' | b':') || text.starts_with(b"@")
        {
            return false;
        }
        let has_dots = text.contains(&b'.');
        let is_name = text.split(|byte| *byte == b'.').all(is_identifier);
        if is_name && has_dots {
            // `settings.key2` is an expression.
            return false;
        }
        match form {
            Form::Joined if is_random => true,
            Form::Joined => !is_said(text) && self.ends_alone(b"&;"),
            Form::Option => !is_said(text) && !self.goes_on_as_prose(),
            // `key = name2` is most likely an expression, too.
            Form::Field | Form::Assigned if is_random && (!is_name || has_digits(text, 3)) => true,
            Form::Field => !is_weak && is_word(text) && !is_said(text) && self.ends_alone(b""),
            Form::Assigned => false,
        }
    }

    /// Whether nothing that belongs to code follows: the end of a line or of a text, or one of `others`.
    fn ends_alone(&self, others: &[u8]) -> bool {
        let blanks = run(self.bytes, self.end, |byte| byte == b' ');
        let next = self.bytes.get(self.end + blanks).copied().unwrap_or(b'\n');
        let ends_line = matches!(next, b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'\\');
        ends_line || others.contains(&next) || !others.is_empty() && blanks > 0
    }

    /// Whether the next word is one of a sentence.
    fn goes_on_as_prose(&self) -> bool {
        let blanks = run(self.bytes, self.end, |byte| byte == b' ');
        let word = run(self.bytes, self.end + blanks, |byte| byte.is_ascii_lowercase());
        let word = rest(self.bytes, self.end + blanks).get(..word).unwrap_or_default();
        PROSE.iter().any(|prose| prose.as_bytes() == word)
    }
}

/// How long a text in quotes is, whose opening quote has this many backslashes before it: each level of
/// quoting doubles them, and one more quote inside has more than the closing one.
fn quoted(text: &[u8], quote: u8, slashes: usize) -> Option<usize> {
    let mut before = 0;
    for (at, byte) in text.iter().take(VALUE_MOST).enumerate() {
        if *byte == quote && before % (2 * (slashes + 1)) == slashes {
            return Some(at - slashes);
        }
        before = if *byte == b'\\' { before + 1 } else { 0 };
        if *byte == b'\n' {
            return None;
        }
    }
    None
}

/// Letters and digits together.
pub(super) fn mixes(value: &[u8]) -> bool {
    let any = |is: fn(&u8) -> bool| value.iter().any(is);
    any(u8::is_ascii_digit) && any(u8::is_ascii_alphabetic)
}

/// Whether a value only holds the place of one.
pub(super) fn holds_place(value: &[u8]) -> bool {
    // Sides of an alternative, and places of files, which no issuer makes and few people choose.
    let is_path = matches!(value, [b'/' | b'~', b'a'..=b'z', ..]) && !mixes(value);
    if value.starts_with(MARK.as_bytes()) || value.starts_with(b"|") || is_path {
        return true;
    }
    let text = String::from_utf8_lossy(value).to_ascii_lowercase();
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
    FILLERS.iter().any(|filler| text.contains(filler))
        || words.any(|word| PLACEHOLDERS.iter().any(|place| word.starts_with(place)))
}

/// Whether a value is filled in later: `$NAME`, `${NAME}`, `<name>`, `{name}`, `%s`.
fn is_template(value: &[u8]) -> bool {
    value.first().is_some_and(|first| b"$<[(%".contains(first))
        || value.iter().any(|byte| b"{}<>".contains(byte))
        || value.windows(2).any(|pair| pair == b"$(")
}

/// Whether a value says what a secret is, or which: a word of documents, or a name of one.
pub(super) fn is_said(value: &[u8]) -> bool {
    let text = String::from_utf8_lossy(value).to_ascii_lowercase();
    let plain: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
    let is_capital = value.contains(&b'_') && !value.iter().any(u8::is_ascii_lowercase);
    let has_no_letters = !value.iter().any(|byte| byte.is_ascii_alphanumeric() || *byte >= 0x80);
    is_capital
        || has_no_letters
        || !mixes(value) && super::named::ends_as_secret(plain.as_bytes())
        || WORDS.contains(&text.trim_end_matches(['.', '!', '?', '|', '=']))
}

/// Whether a text in quotes is a sentence about a secret.
fn is_sentence(value: &[u8]) -> bool {
    let text = String::from_utf8_lossy(value).to_ascii_lowercase();
    text.contains(' ')
        && text
            .split(|c: char| !c.is_ascii_alphanumeric())
            .any(|word| PROSE.contains(&word) || WORDS.contains(&word))
}

fn is_identifier(part: &[u8]) -> bool {
    part.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
        && part.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_!?".contains(byte))
}

/// One word as people think of it, or several run together; and not the name of a type or of a variable.
fn is_word(value: &[u8]) -> bool {
    let capitals = value.iter().filter(|byte| byte.is_ascii_uppercase()).count();
    !value.contains(&b'_')
        && !value.contains(&b'.')
        && (capitals == 0 || capitals > 2 && value.len() >= 16)
}

fn has_digits(value: &[u8], least: usize) -> bool {
    value.iter().filter(|byte| byte.is_ascii_digit()).count() >= least
}
