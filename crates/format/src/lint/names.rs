//! Names that look like other names.

use std::iter;

use unicode_normalization::UnicodeNormalization as _;

use super::Report;
use crate::skill::Document;
use crate::skill::codes::Code;

/// Letters that look like an ASCII letter in most fonts. A short list of our own for names of
/// skills, after the idea of Unicode Technical Standard 39, section 4: text that shares a skeleton
/// can be mistaken. Full-width, mathematical and similar forms are handled by NFKC.
const LOOK_ALIKES: &[(char, &str)] = &[
    ('a', "аɑα"),
    ('b', "Ьƅ"),
    ('c', "сϲ"),
    ('d', "ԁ"),
    ('e', "еєҽ"),
    ('f', "ϝ"),
    ('g', "ɡց"),
    ('h', "һհ"),
    ('i', "іıɩιї"),
    ('j', "јϳ"),
    ('k', "кκ"),
    ('l', "ӏǀ"),
    ('m', "м"),
    ('n', "ոпη"),
    ('o', "оοօσ"),
    ('p', "рρ"),
    ('q', "ԛզ"),
    ('r', "гᴦ"),
    ('s', "ѕ"),
    ('t', "тτ"),
    ('u', "υս"),
    ('v', "νѵ"),
    ('w', "ԝω"),
    ('x', "хχ"),
    ('y', "уγү"),
    ('z', "ᴢ"),
    ('A', "АΑ"),
    ('B', "ВΒ"),
    ('C', "СϹ"),
    ('E', "ЕΕ"),
    ('H', "НΗ"),
    ('I', "ІΙӀ"),
    ('J', "Ј"),
    ('K', "КΚ"),
    ('M', "МΜ"),
    ('N', "Ν"),
    ('O', "ОΟՕ"),
    ('P', "РΡ"),
    ('S', "ЅՏ"),
    ('T', "ТΤ"),
    ('X', "ХΧ"),
    ('Y', "УΥҮ"),
    ('Z', "Ζ"),
];

/// The ASCII letter that `c` looks like.
fn look_alike(c: char) -> Option<char> {
    LOOK_ALIKES.iter().find(|(_, others)| others.contains(c)).map(|(letter, _)| *letter)
}

/// What a reader takes `name` for: two names with one skeleton can be mistaken for each other.
pub(super) fn skeleton(name: &str) -> String {
    let folded = name.nfkc().map(|c| look_alike(c).unwrap_or(c)).flat_map(char::to_lowercase);
    let letters = folded.filter(|c| !matches!(c, '-' | '_' | ' ' | '.')).map(|c| match c {
        '0' => 'o',
        '1' => 'l',
        c => c,
    });
    letters.collect::<String>().replace("rn", "m").replace("vv", "w")
}

pub(super) fn look(document: &Document, report: &mut Report<'_>) {
    let name = document.name.as_str();
    if let Some((odd, letter)) = disguised(name) {
        let message = format!(
            "the name `{name}` holds `{odd}` (U+{:04X}), which looks like `{letter}`",
            u32::from(odd)
        );
        report.name(Code::MixedScriptName, message);
    }
}

/// A letter of `name` that poses as an ASCII letter: beside ASCII letters in one word, or in a name
/// of nothing but such letters.
fn disguised(name: &str) -> Option<(char, char)> {
    let compatible = |c: char| {
        // Full-width and mathematical letters become ASCII on their own.
        let mut plain = iter::once(c).nfkc();
        match (plain.next(), plain.next()) {
            (Some(plain), None) if plain.is_ascii_alphanumeric() && !c.is_ascii() => Some(plain),
            _ => None,
        }
    };
    let posing = |c: char| look_alike(c).or_else(|| compatible(c)).map(|letter| (c, letter));
    let all = name.chars().filter(|c| c.is_alphabetic());
    let whole = all.clone().count() > 1 && all.clone().all(|c| posing(c).is_some());
    if whole {
        return all.clone().find_map(posing);
    }
    name.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.contains(|c: char| c.is_ascii_alphabetic()))
        .find_map(|word| word.chars().find_map(posing))
}
