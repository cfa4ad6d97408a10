//! From a text to the terms it is found by.
//!
//! Words are cut at punctuation, at changes of case and between letters and digits, folded (NFKC,
//! lower case, no accents on Latin letters) and stemmed. Scripts without blanks give single
//! characters and pairs. An identifier also stands for itself in one piece, so that `e-mail`,
//! `eMail` and `email` meet.

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Identifiers of more pieces than this are paths or addresses: nobody types them in one piece.
const JOINED_PIECES: usize = 5;
/// A word longer than this, in bytes, is data (a hash, a key), not language.
const WORD_BYTES: usize = 64;

/// How a term came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A word of letters or digits.
    Word,
    /// Several neighbouring words of an identifier, written in one piece.
    Joined,
    /// One character of a script without blanks.
    Character,
    /// Two neighbouring characters of such a script.
    Pair,
}

/// Words that carry no subject. Pieces of contractions (`don`, `t`) count as words here.
pub(super) const STOP_WORDS: &[&str] = &[
    "a", "about", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can",
    "could", "d", "did", "do", "does", "doesn", "doing", "don", "for", "from", "had", "has",
    "have", "he", "hello", "her", "here", "hey", "hi", "his", "how", "i", "if", "in", "into", "is",
    "isn", "it", "its", "just", "let", "ll", "m", "may", "me", "might", "my", "need", "no", "not",
    "of", "on", "or", "our", "please", "re", "s", "she", "should", "so", "some", "t", "than",
    "thank", "thanks", "that", "the", "their", "them", "then", "there", "these", "they", "this",
    "those", "to", "us", "ve", "want", "was", "we", "were", "what", "when", "where", "which",
    "who", "whose", "why", "will", "with", "would", "you", "your",
];

/// Words in which a request is framed. They may matter (`getUser`), but rarely as much as their
/// rarity among a few documents suggests.
const FRAME_WORDS: &[&str] = &[
    "ask",
    "assist",
    "assistance",
    "available",
    "best",
    "better",
    "check",
    "current",
    "currently",
    "detail",
    "detailed",
    "details",
    "different",
    "easily",
    "efficient",
    "exactly",
    "find",
    "finding",
    "first",
    "general",
    "get",
    "getting",
    "give",
    "given",
    "go",
    "going",
    "good",
    "got",
    "great",
    "help",
    "helpful",
    "idea",
    "include",
    "includes",
    "including",
    "info",
    "information",
    "interested",
    "know",
    "latest",
    "like",
    "look",
    "looking",
    "lot",
    "main",
    "make",
    "making",
    "many",
    "more",
    "most",
    "much",
    "new",
    "now",
    "offer",
    "offers",
    "one",
    "option",
    "options",
    "other",
    "out",
    "over",
    "particular",
    "possible",
    "provide",
    "provides",
    "providing",
    "put",
    "quick",
    "quickly",
    "really",
    "recent",
    "recommend",
    "recommendation",
    "recommendations",
    "regarding",
    "related",
    "relevant",
    "request",
    "require",
    "required",
    "requires",
    "right",
    "say",
    "see",
    "seek",
    "seeking",
    "several",
    "share",
    "show",
    "showing",
    "something",
    "specific",
    "specifically",
    "start",
    "such",
    "suggest",
    "suggestions",
    "suitable",
    "sure",
    "take",
    "tell",
    "thing",
    "things",
    "try",
    "trying",
    "type",
    "understand",
    "up",
    "use",
    "used",
    "useful",
    "user",
    "users",
    "using",
    "various",
    "very",
    "via",
    "view",
    "way",
    "ways",
    "well",
    "while",
    "within",
    "without",
    "wonder",
    "wondering",
];

/// Chinese characters that serve grammar, not a subject.
const STOP_CHARACTERS: &str = "的了吗呢吧啊呀嘛着过地得是在和与或及也都就还又再很把被给让对从到向为以于之其这那哪你我他她它们您咱谁啥么怎请帮要想能会可个些一不没有";

/// Turns words into stems; the script chooses the language.
pub(super) struct Stems {
    english: Stemmer,
    russian: Stemmer,
    greek: Stemmer,
    arabic: Stemmer,
}

impl Stems {
    pub(super) fn new() -> Self {
        Self {
            english: Stemmer::create(Algorithm::English),
            russian: Stemmer::create(Algorithm::Russian),
            greek: Stemmer::create(Algorithm::Greek),
            arabic: Stemmer::create(Algorithm::Arabic),
        }
    }

    /// The stem of a folded word.
    pub(super) fn stem<'a>(&self, word: &'a str) -> Cow<'a, str> {
        let stemmer = match word.chars().next() {
            Some('a'..='z') => &self.english,
            Some('\u{400}'..='\u{52f}') => &self.russian,
            Some('\u{370}'..='\u{3ff}') => &self.greek,
            Some('\u{600}'..='\u{6ff}') => &self.arabic,
            _ => return Cow::Borrowed(word),
        };
        stemmer.stem(word)
    }
}

/// Whether a term says nothing about a subject.
pub(super) fn is_stop(form: Form, term: &str) -> bool {
    match form {
        Form::Word | Form::Joined => STOP_WORDS.binary_search(&term).is_ok(),
        Form::Character | Form::Pair => term.chars().all(|c| STOP_CHARACTERS.contains(c)),
    }
}

/// The number of a stop word: its place among them.
pub(super) fn stop_number(word: &str) -> Option<u32> {
    STOP_WORDS.binary_search(&word).ok().and_then(|at| u32::try_from(at).ok())
}

/// Whether a number is that of a stop word.
pub(super) fn is_stop_number(term: u32) -> bool {
    (term as usize) < STOP_WORDS.len()
}

/// Whether a word rather frames a request than says what it is about.
pub(super) fn is_frame(word: &str) -> bool {
    FRAME_WORDS.binary_search(&word).is_ok()
}

/// The name in one piece: what is left when case and punctuation do not matter.
pub(super) fn key(text: &str) -> String {
    fold(text).chars().filter(|c| c.is_alphanumeric()).flat_map(lower).collect()
}

/// Calls `emit` with every term of `text`, folded but not stemmed, in order.
pub(super) fn terms(text: &str, emit: &mut dyn FnMut(Form, &str)) {
    let text = fold(text);
    let mut cutter = Cutter::new(emit);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied().unwrap_or(' ');
        let after = || rest.clone().nth(1).unwrap_or(' ');
        if without_blanks(c) {
            cutter.end_chunk();
            cutter.character(c);
            continue;
        }
        cutter.last_character = None;
        if c.is_alphanumeric() {
            if cutter.word_ends_before(c, next, after) {
                cutter.end_word();
            }
            cutter.push(c);
        } else if is_combining_mark(c) {
            cutter.push(c);
        } else if matches!(c, '.' | '_' | '-' | '/' | ':' | '+') && next.is_alphanumeric() {
            cutter.end_atom();
        } else {
            cutter.end_chunk();
        }
    }
    cutter.end_chunk();
}

/// Compatibility forms become plain ones, Latin letters lose their accents, and characters that nobody
/// sees go.
fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let base = |c: char| match c {
        '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => {
            std::iter::once(c).nfd().next().unwrap_or(c)
        }
        c => c,
    };
    let mut folded = String::with_capacity(text.len());
    for c in text.nfkc().filter(|c| !is_unseen(*c)).map(base) {
        let is_accent = is_combining_mark(c) && folded.ends_with(|last: char| last < '\u{250}');
        if !is_accent {
            folded.push(c);
        }
    }
    Cow::Owned(folded)
}

/// Joiners, marks of direction and the like: they part no words.
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Lower case of one character, the same wherever in a word it stands.
fn lower(c: char) -> impl Iterator<Item = char> {
    let (first, second) = match c {
        'ß' | 'ẞ' => ('s', Some('s')),
        'ς' => ('σ', None),
        c => (c, None),
    };
    first.to_lowercase().chain(second)
}

/// Whether `c` belongs to a script that puts no blanks between words.
fn without_blanks(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}' // Thai and Lao
        | '\u{1000}'..='\u{109f}' // Burmese
        | '\u{1780}'..='\u{17ff}' // Khmer
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' // kana
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' // Han
        | '\u{ac00}'..='\u{d7af}' // Hangul: its particles are glued on, so pairs find more
        | '\u{20000}'..='\u{3ffff}')
}

/// Collects characters into words, words into atoms (`getUser`) and atoms into chunks (`a/getUser`).
struct Cutter<'e> {
    emit: &'e mut dyn FnMut(Form, &str),
    word: String,
    atom: String,
    chunk: String,
    words_in_atom: usize,
    atoms_in_chunk: usize,
    last: Option<char>,
    last_character: Option<char>,
}

impl<'e> Cutter<'e> {
    fn new(emit: &'e mut dyn FnMut(Form, &str)) -> Self {
        Self {
            emit,
            word: String::new(),
            atom: String::new(),
            chunk: String::new(),
            words_in_atom: 0,
            atoms_in_chunk: 0,
            last: None,
            last_character: None,
        }
    }

    /// Whether `c` starts a new word: `aB`, `a1`, `1a`, and the `B` of `AAABc` but not of `AAABs`.
    fn word_ends_before(&self, c: char, next: char, after: impl Fn() -> char) -> bool {
        let Some(last) = self.last else { return false };
        if last.is_numeric() != c.is_numeric() {
            return true;
        }
        if !c.is_uppercase() {
            return false;
        }
        let plural = next == 's' && !after().is_lowercase();
        !last.is_uppercase() || (next.is_lowercase() && !plural)
    }

    fn push(&mut self, c: char) {
        self.word.extend(lower(c));
        self.last = Some(c);
    }

    fn character(&mut self, c: char) {
        let mut buffer = [0; 4];
        (self.emit)(Form::Character, c.encode_utf8(&mut buffer));
        if let Some(last) = self.last_character.replace(c) {
            let pair: String = [last, c].iter().collect();
            (self.emit)(Form::Pair, &pair);
        }
    }

    fn end_word(&mut self) {
        self.last = None;
        if self.word.is_empty() {
            return;
        }
        if self.word.len() <= WORD_BYTES {
            (self.emit)(Form::Word, &self.word);
        }
        self.words_in_atom += 1;
        self.atom.push_str(&self.word);
        self.word.clear();
    }

    fn end_atom(&mut self) {
        self.end_word();
        if self.atom.is_empty() {
            return;
        }
        if (2..=JOINED_PIECES).contains(&self.words_in_atom) && self.atom.len() <= WORD_BYTES {
            (self.emit)(Form::Joined, &self.atom);
        }
        self.words_in_atom = 0;
        self.atoms_in_chunk += 1;
        self.chunk.push_str(&self.atom);
        self.atom.clear();
    }

    fn end_chunk(&mut self) {
        self.end_atom();
        if (2..=JOINED_PIECES).contains(&self.atoms_in_chunk) && self.chunk.len() <= WORD_BYTES {
            (self.emit)(Form::Joined, &self.chunk);
        }
        self.atoms_in_chunk = 0;
        self.chunk.clear();
    }
}
