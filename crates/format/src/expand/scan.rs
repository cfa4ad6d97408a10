//! One pass over the body.

use std::collections::BTreeSet;

use concertina_types::{Diagnostic, Position, Severity, Span};

use super::arguments::Arguments;
use super::markdown::{Kind, Part, parts};
use super::variables::{NAMES, Variable, variable};
use super::{DynamicCommand, EXPANDED_BYTES, Expanded, Expansion, Profile, Substitution};
use crate::nearest::{list, nearest};

/// Fills the arguments and variables of `request` into `body`. See the
/// [module documentation](super) for the rules.
///
/// Arguments that no token asks for are appended as `ARGUMENTS: …`, and reported.
pub fn expand(body: &str, request: &Expansion<'_>) -> Expanded {
    let parts = parts(body);
    let arguments = Arguments::new(body, &parts, request);
    let mut scan = Scan {
        body,
        request,
        arguments,
        place: Place::default(),
        out: Expanded { text: String::with_capacity(body.len()), ..Expanded::default() },
        filled: BTreeSet::new(),
        insertions: 0,
        full: false,
        told: Vec::new(),
    };
    for part in &parts {
        scan.part(part);
    }
    scan.append_unused();
    scan.out
}

/// What a `$…` in the text turns out to be.
struct Token<'a> {
    /// As written.
    text: &'a str,
    meaning: Meaning<'a>,
}

enum Meaning<'a> {
    /// The whole of the arguments.
    Whole,
    /// The argument at a position.
    Position(usize),
    /// The named argument with this index in [`Arguments::named`].
    Named(usize),
    /// `${…}`.
    Variable(Variable<'a>),
}

struct Scan<'a> {
    body: &'a str,
    request: &'a Expansion<'a>,
    arguments: Arguments,
    place: Place,
    out: Expanded,
    /// Names of arguments that were put into the text; `$ARGUMENTS` and positions count as all.
    filled: BTreeSet<String>,
    /// How many times an argument was put into the text.
    insertions: usize,
    /// Whether [`EXPANDED_BYTES`] was reached.
    full: bool,
    /// Tokens that were already reported: each is reported once.
    told: Vec<String>,
}

impl<'a> Scan<'a> {
    fn part(&mut self, part: &Part) {
        let text = self.body.get(part.range.clone()).unwrap_or_default();
        let at = part.range.start;
        let Kind::Command(command) = &part.kind else {
            let mut out = std::mem::take(&mut self.out.text);
            self.text(text, Some(at), part.kind == Kind::Prose, &mut out);
            self.out.text = out;
            return;
        };
        let start = self.out.text.len();
        let insertions = self.insertions;
        let mut out = std::mem::take(&mut self.out.text);
        self.text(text, Some(at), false, &mut out);
        self.out.text = out;
        let holds_arguments = self.insertions > insertions;
        let line = self.place.reach(self.body, at).line;
        let mut filled_in = String::new();
        self.text(command, None, false, &mut filled_in);
        let (command, span) = (filled_in, Span::new(start, self.out.text.len()));
        self.out.commands.push(DynamicCommand { command, holds_arguments, span, line });
    }

    /// Copies `text` to `out` with its tokens replaced. `at` is its offset in the body; without
    /// one, the text was seen before and nothing is recorded.
    fn text(&mut self, text: &str, at: Option<usize>, prose: bool, out: &mut String) {
        let mut done = 0;
        while let Some(found) = text.get(done..).and_then(|rest| rest.find('$')) {
            let dollar = done + found;
            let before = text.get(done..dollar).unwrap_or_default();
            let rest = text.get(dollar..).unwrap_or_default();
            let Some(token) = self.token(rest) else {
                out.push_str(before);
                out.push('$');
                done = dollar + 1;
                continue;
            };
            let is_argument =
                matches!(token.meaning, Meaning::Whole | Meaning::Position(_) | Meaning::Named(_));
            let place = at.map(|at| (at + dollar, token.text));
            let untouched = is_argument && !prose && self.request.profile == Profile::Safe;
            if untouched {
                self.tell(place, "ARGUMENT_IN_CODE", Severity::Info, |token| {
                    Some((
                        format!("`{token}` stands in code and is left as written"),
                        "put it into the prose, or use the profile `claude`".into(),
                    ))
                });
            }
            let ours =
                !untouched && !matches!(token.meaning, Meaning::Variable(Variable::Unknown(_)));
            let escaped = ours && text.get(..dollar).is_some_and(escapes);
            out.push_str(if escaped {
                before.strip_suffix('\\').unwrap_or(before)
            } else {
                before
            });
            let value = if untouched || escaped { None } else { self.value(&token, place) };
            match value {
                Some(value) if !self.overflows(out.len(), &value, place) => {
                    out.push_str(&value);
                    self.record(&token, value, at.map(|at| at + dollar));
                }
                _ => out.push_str(token.text),
            }
            done = dollar + token.text.len();
        }
        out.push_str(text.get(done..).unwrap_or_default());
    }

    /// The token at the start of `rest`, which begins with `$`.
    fn token<'t>(&self, rest: &'t str) -> Option<Token<'t>>
    where
        'a: 't,
    {
        let token = |len: usize, meaning| Some(Token { text: rest.get(..len)?, meaning });
        let after = rest.get(1..)?;
        if let Some(inside) = after.strip_prefix('{') {
            let name = inside.get(..inside.find('}')?)?;
            return token(
                name.len() + 3,
                Meaning::Variable(variable(name, self.request.variables)?),
            );
        }
        let safe = self.request.profile == Profile::Safe;
        let named = self.arguments.named.iter().position(|(name, _)| {
            after
                .strip_prefix(name.as_str())
                .is_some_and(|next| !continues(next) && !next.starts_with('['))
        });
        if let (Some(index), true) = (named, safe || self.arguments.passed) {
            let len = self.arguments.named.get(index)?.0.len() + 1;
            return token(len, Meaning::Named(index));
        }
        if let Some(next) = after.strip_prefix("ARGUMENTS") {
            let whole = "$ARGUMENTS".len();
            if let Some((digits, index)) = next.strip_prefix('[').and_then(number)
                && next.get(digits + 1..).is_some_and(|tail| tail.starts_with(']'))
            {
                // An index is no `$ARGUMENTS` followed by brackets, also where it is no token.
                let meaning = Meaning::Position(index);
                return if self.arguments.positional {
                    token(whole + digits + 2, meaning)
                } else {
                    None
                };
            }
            return if safe && continues(next) { None } else { token(whole, Meaning::Whole) };
        }
        let (digits, index) = number(after)?;
        let next = after.get(digits..)?;
        let price = safe && is_price(next);
        (self.arguments.positional && !continues(next) && !price)
            .then(|| token(digits + 1, Meaning::Position(index)))?
    }

    /// What a token becomes, or nothing where it stays as written.
    fn value(&mut self, token: &Token<'_>, place: Option<(usize, &str)>) -> Option<String> {
        match &token.meaning {
            Meaning::Whole => Some(self.arguments.whole.clone()),
            Meaning::Named(index) => {
                self.arguments.named.get(*index).map(|(_, value)| value.clone())
            }
            Meaning::Position(index) => {
                let given = self.arguments.positions.get(*index).cloned();
                // A position that the file gives a name is an argument that may be left out.
                let declared = *index < self.request.argument_names.len();
                if given.is_none() && !declared {
                    let count = self.arguments.positions.len();
                    self.tell(place, "ARGUMENT_MISSING", Severity::Warning, |token| {
                        Some((
                            format!("`{token}` is left as written: arguments passed: {count}, counted from 0"),
                            format!("pass it, or write `\\{token}` if no argument is meant"),
                        ))
                    });
                }
                given.or_else(|| declared.then(String::new))
            }
            Meaning::Variable(Variable::Known(name, value)) => {
                if value.is_none() {
                    self.tell(place, "VARIABLE_UNAVAILABLE", Severity::Warning, |token| {
                        Some((
                            format!("`{token}` has no value here and is left as written"),
                            format!("open the skill where `{name}` is known"),
                        ))
                    });
                }
                value.as_ref().map(|value| value.clone().into_owned())
            }
            Meaning::Variable(Variable::Unknown(name)) => {
                let body = self.body;
                self.tell(place, "UNKNOWN_VARIABLE", Severity::Warning, |token| {
                    // A script in the body that sets the variable means its own.
                    if body.contains(&format!("{name}=")) {
                        return None;
                    }
                    let help = nearest(name, NAMES).map_or_else(
                        || format!("the variables are {}", list(NAMES)),
                        |name| format!("did you mean `${{{name}}}`?"),
                    );
                    Some((format!("unknown variable `{token}`, left as written"), help))
                });
                None
            }
        }
    }

    /// Whether inserting `value` would pass [`EXPANDED_BYTES`]; said once.
    fn overflows(&mut self, len: usize, value: &str, place: Option<(usize, &str)>) -> bool {
        let over = len.saturating_add(value.len()) > EXPANDED_BYTES;
        if over && !self.full && place.is_some() {
            self.full = true;
            let (offset, _) = place.unwrap_or_default();
            self.out.diagnostics.push(
                Diagnostic::new(
                    "EXPANSION_TOO_LARGE",
                    Severity::Error,
                    format!("the text would pass {EXPANDED_BYTES} bytes; values that do not fit are left out"),
                )
                .at(self.place.reach(self.body, offset))
                .help("pass shorter arguments, or name a file that holds them"),
            );
        }
        over
    }

    fn record(&mut self, token: &Token<'_>, value: String, offset: Option<usize>) {
        let Some(offset) = offset else { return };
        let name = match token.meaning {
            Meaning::Named(index) => self.arguments.named.get(index).map(|(name, _)| name.clone()),
            Meaning::Whole => Some("$ARGUMENTS".into()),
            Meaning::Position(index) => Some(
                self.request
                    .argument_names
                    .get(index)
                    .cloned()
                    .unwrap_or_else(|| token.text.into()),
            ),
            Meaning::Variable(_) => None,
        };
        self.insertions += usize::from(name.is_some());
        self.filled.extend(name);
        let Position { line, column } = self.place.reach(self.body, offset);
        self.out.substitutions.push(Substitution { token: token.text.into(), value, line, column });
    }

    /// Reports a token once: `say` gives the message and the help.
    fn tell(
        &mut self,
        place: Option<(usize, &str)>,
        code: &'static str,
        severity: Severity,
        say: impl FnOnce(&str) -> Option<(String, String)>,
    ) {
        let Some((offset, token)) = place else { return };
        let key = format!("{code} {token}");
        if self.told.contains(&key) || self.told.len() >= TOLD {
            return;
        }
        self.told.push(key);
        let Some((message, help)) = say(token) else { return };
        let at = self.place.reach(self.body, offset);
        self.out.diagnostics.push(Diagnostic::new(code, severity, message).at(at).help(help));
    }

    /// Law: nothing vanishes. Arguments that no token asked for go to the end of the text.
    fn append_unused(&mut self) {
        if !self.arguments.passed {
            return;
        }
        if self.filled.is_empty() {
            self.out.text.push_str("\n\nARGUMENTS: ");
            self.out.text.push_str(&self.arguments.whole);
            self.out.diagnostics.push(
                Diagnostic::new(
                    "ARGUMENTS_APPENDED",
                    Severity::Info,
                    "the skill has no place for its arguments; they are appended at the end",
                )
                .help("write `$ARGUMENTS` where they belong"),
            );
            return;
        }
        let all = self.filled.contains("$ARGUMENTS");
        let unused: Vec<&str> = self
            .request
            .arguments
            .keys()
            .filter(|name| !all && !self.filled.contains(*name))
            .map(String::as_str)
            .collect();
        if !unused.is_empty() {
            self.out.diagnostics.push(
                Diagnostic::new(
                    "ARGUMENT_UNUSED",
                    Severity::Info,
                    format!("the text does not use {}", list(unused)),
                )
                .help("write `$name` where the argument belongs"),
            );
        }
    }
}

/// Different tokens that are reported; a body with more is not read by its diagnostics.
const TOLD: usize = 100;

/// The decimal number at the start of `text`, and how many digits it has.
fn number(text: &str) -> Option<(usize, usize)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    Some((digits, text.get(..digits)?.parse().ok()?))
}

/// Whether a name or number goes on at the start of `text`.
pub(super) fn continues(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether the number before `text` is an amount: `,000` or `.50` follows.
fn is_price(text: &str) -> bool {
    text.strip_prefix([',', '.'])
        .is_some_and(|after| after.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether `before` ends in an odd number of backslashes.
pub(super) fn escapes(before: &str) -> bool {
    before.bytes().rev().take_while(|&byte| byte == b'\\').count() % 2 == 1
}

/// Turns rising offsets into positions without starting over: one long line must not cost its
/// length for each token.
struct Place {
    offset: usize,
    position: Position,
}

impl Default for Place {
    fn default() -> Self {
        Self { offset: 0, position: Position { line: 1, column: 1 } }
    }
}

impl Place {
    fn reach(&mut self, body: &str, offset: usize) -> Position {
        if offset < self.offset {
            *self = Self::default();
        }
        for c in body.get(self.offset..offset).unwrap_or_default().chars() {
            if c == '\n' {
                self.position.line = self.position.line.saturating_add(1);
                self.position.column = 1;
            } else {
                self.position.column = self.position.column.saturating_add(1);
            }
        }
        self.offset = offset;
        self.position
    }
}
