//! The keys of a frontmatter. `when-to-use`, `when_to_use` and `whenToUse` are one key.

macro_rules! keys {
    ($($name:ident $canonical:literal $kind:ident;)*) => {
        /// A key that means something to us.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum Key { $($name,)* }

        impl Key {
            pub(super) const ALL: &[Self] = &[$(Self::$name,)*];

            /// The spelling of the documentation.
            pub(super) const fn canonical(self) -> &'static str {
                match self { $(Self::$name => $canonical,)* }
            }

            /// What its value is.
            pub(super) const fn kind(self) -> Kind {
                match self { $(Self::$name => Kind::$kind,)* }
            }
        }
    };
}

/// What kind of value a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Flag,
    List,
    Tree,
}

keys! {
    Name "name" Text;
    Description "description" Text;
    WhenToUse "when_to_use" Text;
    NotFor "not_for" List;
    Version "version" Text;
    License "license" Text;
    Compatibility "compatibility" Text;
    Metadata "metadata" Tree;
    Tags "tags" List;
    Examples "examples" Tree;
    ArgumentHint "argument-hint" Text;
    Arguments "arguments" List;
    Parameters "parameters" Tree;
    Output "output" Tree;
    AllowedTools "allowed-tools" List;
    DisallowedTools "disallowed-tools" List;
    Permissions "permissions" Tree;
    Requires "requires" Tree;
    DisableModelInvocation "disable-model-invocation" Flag;
    UserInvocable "user-invocable" Flag;
    Paths "paths" List;
    Context "context" Text;
    Agent "agent" Text;
    Model "model" Text;
    Effort "effort" Text;
    Shell "shell" Text;
    Hooks "hooks" Tree;
    Procedure "procedure" Tree;
}

impl Key {
    /// The key that `text` spells, in any case and with any separator.
    pub(super) fn of(text: &str) -> Option<Self> {
        let text = text.trim();
        Self::ALL.iter().copied().find(|key| same(text, key.canonical()))
    }

    /// Keys that limit who may open the skill and what it may do. They fail closed.
    pub(super) const fn is_security(self) -> bool {
        matches!(
            self,
            Self::DisableModelInvocation
                | Self::UserInvocable
                | Self::Permissions
                | Self::Paths
                | Self::AllowedTools
                | Self::DisallowedTools
        )
    }

    /// Whether `text` spells the key in kebab, snake or camel case.
    pub(super) fn is_cased_well(text: &str) -> bool {
        text.starts_with(|c: char| !c.is_ascii_uppercase())
            && (!text.contains(['-', '_', ' ']) || !text.contains(|c: char| c.is_ascii_uppercase()))
    }
}

/// Equality without separators and case.
fn same(text: &str, canonical: &str) -> bool {
    let letters = |c: &u8| !matches!(c, b'-' | b'_' | b' ');
    let fold = |c: u8| c.to_ascii_lowercase();
    text.bytes().filter(letters).map(fold).eq(canonical.bytes().filter(letters).map(fold))
}

/// What stands between a key and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Separator {
    /// A colon and a blank, or a colon and the end of the line.
    Colon,
    /// A colon with the value directly after it.
    ColonOnly,
    /// U+FF1A.
    FullWidth,
    Equals,
    /// Nothing but a blank.
    Missing,
}

/// A line taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyLine<'t> {
    pub(super) key: &'t str,
    pub(super) separator: Separator,
    /// How many bytes of the line come before the value.
    pub(super) value_at: usize,
}

/// Takes `line` apart where it is a key and a value. Separators other than a colon and a blank
/// count only after keys that are known.
pub(super) fn key_line(line: &str) -> Option<KeyLine<'_>> {
    let (key, after, quoted) = match line.chars().next()? {
        quote @ ('"' | '\'') => {
            let end = line.get(1..)?.find(quote)? + 1;
            (line.get(1..end)?, end + 1, true)
        }
        c if c.is_alphanumeric() || matches!(c, '_' | '$' | '.') => {
            let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '$' | '/');
            let end = line.find(|c: char| !word(c)).unwrap_or(line.len());
            let key = line.get(..end)?;
            // `when to use` is one key spelled with blanks.
            match line.find([':', '：']).and_then(|colon| line.get(..colon)) {
                Some(long) if long.len() > end && Key::of(long).is_some() => {
                    (long.trim_end(), long.len(), false)
                }
                _ => (key, end, false),
            }
        }
        _ => return None,
    };
    let rest = line.get(after..)?;
    let trimmed = rest.trim_start_matches([' ', '\t']);
    let blanks = rest.len() - trimmed.len();
    let at = |length: usize| after + blanks + length;
    let known = || Key::of(key).is_some();
    if let Some(value) = trimmed.strip_prefix(':') {
        if value.is_empty() || value.starts_with([' ', '\t']) {
            return Some(KeyLine { key, separator: Separator::Colon, value_at: at(1) });
        }
        if quoted || known() {
            return Some(KeyLine { key, separator: Separator::ColonOnly, value_at: at(1) });
        }
        return None;
    }
    if trimmed.starts_with('：') && known() {
        return Some(KeyLine {
            key,
            separator: Separator::FullWidth,
            value_at: at('：'.len_utf8()),
        });
    }
    if trimmed.starts_with('=') && known() {
        return Some(KeyLine { key, separator: Separator::Equals, value_at: at(1) });
    }
    if Key::of(key).is_some_and(Key::is_security) && (blanks > 0 || rest.is_empty()) {
        return Some(KeyLine { key, separator: Separator::Missing, value_at: at(0) });
    }
    None
}

/// Whether `line` could be a key and its value.
pub(super) fn looks_like_key(line: &str) -> bool {
    key_line(line).is_some()
}

/// Whether `line` begins with a key that means something to us.
pub(super) fn begins_with_known_key(line: &str) -> bool {
    key_line(line)
        .is_some_and(|found| found.separator != Separator::Missing && Key::of(found.key).is_some())
}
