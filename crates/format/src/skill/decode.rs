//! Bytes to text: encodings, line ends, and characters that have no business in a text.

use std::borrow::Cow;

use super::codes::Code;
use super::findings::Findings;

/// Bytes looked at to tell UTF-16 and binary files from text.
const SAMPLE: usize = 512;
/// Bytes of a longer file that decide how it is decoded: the sample behind a byte-order mark.
pub(super) const DECISIVE: usize = SAMPLE + 3;

/// The text of a file, lines ended by `\n`; `None` where it is none. An incomplete prefix may
/// stop inside a character.
pub(super) fn text(bytes: &[u8], complete: bool, findings: &mut Findings) -> Option<String> {
    let text = if let Some((text, how)) = utf16(bytes) {
        findings.add(Code::Utf16, 0, format!("the file is UTF-16 ({how}); it was decoded"));
        text
    } else {
        let rest = bytes.strip_prefix(b"\xEF\xBB\xBF");
        if rest.is_some() {
            findings.add(Code::ByteOrderMark, 0, "a byte-order mark was removed".to_owned());
        }
        let bytes = rest.unwrap_or(bytes);
        let sample = bytes.get(..SAMPLE).unwrap_or(bytes);
        let odd = sample.iter().filter(|&&b| b < 9 || (14..32).contains(&b)).count();
        // Text with a stray NUL is repaired; one odd byte in eight is no text.
        if odd > 4 && odd * 8 > sample.len() {
            let message = "the file holds bytes that are not text; it looks binary";
            findings.add(Code::BinaryFile, None, message.to_owned());
            return None;
        }
        utf8(bytes, complete, findings)
    };
    let text = lines(text, findings);
    Some(controls(text, findings))
}

/// Decodes UTF-16, with a byte-order mark or recognised by the zero halves of ASCII letters.
fn utf16(bytes: &[u8]) -> Option<(String, &'static str)> {
    let (rest, little, how) = match bytes {
        [0xFF, 0xFE, rest @ ..] => (rest, true, "little-endian"),
        [0xFE, 0xFF, rest @ ..] => (rest, false, "big-endian"),
        [low, 0, _, 0, ..] if *low != 0 => {
            (bytes, true, "little-endian, without a byte-order mark")
        }
        [0, high, 0, _, ..] if *high != 0 => {
            (bytes, false, "big-endian, without a byte-order mark")
        }
        _ => return None,
    };
    let units = rest.chunks_exact(2).map(|pair| match pair {
        [a, b] if little => u16::from_le_bytes([*a, *b]),
        [a, b] => u16::from_be_bytes([*a, *b]),
        _ => 0,
    });
    let text = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
    Some((text.collect(), how))
}

/// Decodes UTF-8. A single foreign byte next to ASCII is read as Windows-1252, which is what such
/// files nearly always are; longer runs become U+FFFD. The rule is local, so that a prefix of a
/// file reads like the file.
fn utf8(bytes: &[u8], complete: bool, findings: &mut Findings) -> String {
    let mut out = match std::str::from_utf8(bytes) {
        Ok(text) => return text.to_owned(),
        Err(_) => String::with_capacity(bytes.len()),
    };
    let mut rest = bytes;
    let mut count = 0_usize;
    let mut first = None;
    while !rest.is_empty() {
        let error = match std::str::from_utf8(rest) {
            Ok(text) => {
                out.push_str(text);
                break;
            }
            Err(error) => error,
        };
        let (valid, bad) = rest.split_at(error.valid_up_to());
        out.push_str(&String::from_utf8_lossy(valid));
        let Some(length) = error.error_len() else {
            // The text stops inside a character.
            if complete {
                count += 1;
                first.get_or_insert((out.len(), bytes.len() - bad.len(), bad.first().copied()));
                out.push(char::REPLACEMENT_CHARACTER);
            }
            break;
        };
        count += 1;
        first.get_or_insert((out.len(), bytes.len() - bad.len(), bad.first().copied()));
        let before = (bytes.len() - bad.len()).checked_sub(1).and_then(|at| bytes.get(at));
        let alone =
            length == 1 && before.is_none_or(u8::is_ascii) && bad.get(1).is_none_or(u8::is_ascii);
        let one = bad.first().copied().and_then(windows_1252).filter(|_| alone);
        out.push(one.unwrap_or(char::REPLACEMENT_CHARACTER));
        rest = bad.get(length..).unwrap_or_default();
    }
    if let Some((at, offset, byte)) = first {
        let byte = byte.unwrap_or_default();
        let more = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
        let message = format!(
            "byte 0x{byte:02X} at offset {offset}{more} is invalid UTF-8; it was read as Windows-1252 or replaced"
        );
        findings.add(Code::InvalidUtf8, at, message);
    }
    out
}

/// The upper half of Windows-1252, after the index of the WHATWG Encoding Standard.
fn windows_1252(byte: u8) -> Option<char> {
    const HIGH: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž',
        '\u{8f}', '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}',
        'ž', 'Ÿ',
    ];
    match byte {
        0x80..=0x9F => HIGH.get(usize::from(byte - 0x80)).copied().filter(|c| !c.is_control()),
        0xA0..=0xFF => Some(char::from(byte)),
        _ => None,
    }
}

/// Ends lines with `\n`.
fn lines(text: String, findings: &mut Findings) -> String {
    if !text.contains('\r') {
        return text;
    }
    let text = text.replace("\r\n", "\n");
    match text.find('\r') {
        None => text,
        Some(at) => {
            let message = "lines end with a bare carriage return, as on old Mac systems";
            findings.add(Code::CarriageReturn, at, message.to_owned());
            text.replace('\r', "\n")
        }
    }
}

/// Removes control characters other than tab and line feed.
fn controls(text: String, findings: &mut Findings) -> String {
    if text.is_ascii() && !text.bytes().any(|b| is_control(char::from(b))) {
        return text;
    }
    let (clean, removed) = strip(&text, is_control);
    for Removed { left: at, c, count, .. } in removed {
        let message = format!("{} was removed{}", named(c), times(count));
        findings.add(Code::ControlCharacter, at, message);
    }
    clean.into_owned()
}

/// Removes characters that cannot be seen, or that reorder what can, from the frontmatter.
///
/// Joiners stay where a script or an emoji needs them: next to a character outside ASCII.
pub(super) fn hidden<'t>(
    frontmatter: &'t str,
    base: usize,
    findings: &mut Findings,
) -> Cow<'t, str> {
    if frontmatter.is_ascii() {
        return Cow::Borrowed(frontmatter);
    }
    let (clean, removed) = strip_hidden(frontmatter);
    for Removed { left: at, c, count, .. } in removed {
        findings.add(code(c), base + at, format!("{} was removed{}", named(c), times(count)));
    }
    clean
}

/// Removes from a value what [`text`] and [`hidden`] remove from a file: escapes such as `\u202E`
/// write it in plain letters.
pub(super) fn escaped(text: &mut String, at: usize, findings: &mut Findings) {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return;
    }
    let (seen, mut removed) = strip(text, is_control);
    let (clean, hidden) = strip_hidden(&seen);
    removed.extend(hidden);
    if removed.is_empty() {
        return;
    }
    *text = clean.into_owned();
    for Removed { c, count, .. } in removed {
        let message = format!("{}, written as an escape, was removed{}", named(c), times(count));
        findings.add(code(c), at, message);
    }
}

fn code(c: char) -> Code {
    match c {
        c if is_control(c) => Code::ControlCharacter,
        c if is_bidi(c) => Code::BidiControl,
        _ => Code::HiddenCharacter,
    }
}

fn is_control(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t' | '\u{85}')
}

/// Finds what [`hidden`] would remove from the body, where it stays.
pub(super) fn hidden_in_body(body: &str, base: usize, findings: &mut Findings) {
    if body.is_ascii() {
        return;
    }
    let (_, removed) = strip_hidden(body);
    for Removed { at, c, count, .. } in removed {
        let message = format!("the body holds {}{}", named(c), times(count));
        findings.add(Code::HiddenInBody, base + at, message);
    }
}

/// Characters of one kind that were removed.
struct Removed {
    /// Where the first of them stood.
    at: usize,
    /// Where that is in what is left.
    left: usize,
    c: char,
    count: usize,
}

fn strip(text: &str, bad: impl Fn(char) -> bool) -> (Cow<'_, str>, Vec<Removed>) {
    strip_in_context(text, |_, c, _| bad(c))
}

fn strip_hidden(text: &str) -> (Cow<'_, str>, Vec<Removed>) {
    strip_in_context(text, |before, c, after| match c {
        // ZWNJ and ZWJ.
        '\u{200c}' | '\u{200d}' => {
            let visible = |c: char| !c.is_ascii() && !is_hidden(c);
            !(before.is_some_and(visible) && after.is_some_and(visible))
        }
        _ => is_hidden(c) || is_bidi(c),
    })
}

fn strip_in_context(
    text: &str,
    bad: impl Fn(Option<char>, char, Option<char>) -> bool,
) -> (Cow<'_, str>, Vec<Removed>) {
    let mut removed: Vec<Removed> = Vec::new();
    let mut clean = String::new();
    let mut kept = 0;
    let mut before = None;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let after = chars.peek().map(|&(_, c)| c);
        if bad(before, c, after) {
            clean.push_str(text.get(kept..at).unwrap_or_default());
            kept = at + c.len_utf8();
            match removed.iter_mut().find(|known| same_kind(known.c, c)) {
                Some(known) => known.count += 1,
                None => removed.push(Removed { at, left: clean.len(), c, count: 1 }),
            }
        }
        before = Some(c);
    }
    if removed.is_empty() {
        return (Cow::Borrowed(text), removed);
    }
    clean.push_str(text.get(kept..).unwrap_or_default());
    (Cow::Owned(clean), removed)
}

fn same_kind(a: char, b: char) -> bool {
    a == b || (is_tag(a) && is_tag(b))
}

/// Unicode tag characters: a copy of ASCII that nothing shows and models read.
fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e007f}')
}

pub(super) fn is_bidi(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

pub(super) fn is_hidden(c: char) -> bool {
    is_tag(c)
        || matches!(
            c,
            '\u{00ad}' | '\u{034f}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{206a}'..='\u{206f}'
                | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
                | '\u{e0100}'..='\u{e01ef}'
        )
}

fn named(c: char) -> String {
    let what = match c {
        '\0' => "NUL",
        '\u{200b}' => "a zero-width space",
        '\u{200c}' | '\u{200d}' => "a zero-width joiner",
        '\u{feff}' => "a byte-order mark",
        '\u{00ad}' => "a soft hyphen",
        c if is_tag(c) => "a Unicode tag character",
        c if is_bidi(c) => "a bidirectional control",
        c if c.is_control() => "a control character",
        _ => "an invisible character",
    };
    format!("{what} (U+{:04X})", u32::from(c))
}

fn times(count: usize) -> String {
    if count > 1 { format!(", {count} times") } else { String::new() }
}
