//! Counts for models whose tokenizer is another one.
//!
//! Most vendors publish no tokenizer. For their models the exact `o200k_base` count is multiplied
//! by a factor, and the result says so. The factors come from public statements about averages;
//! a given text can lie on either side, and the vendor's own counting service is the authority.

use concertina_types::Tokens;

/// Models that share a tokenizer, as far as counts are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Family {
    /// OpenAI models since GPT-4o, including gpt-oss: counted exactly.
    O200k,
    /// Anthropic models up to version 4.6: × 1.25.
    ///
    /// Public comparisons of Claude 3.5 Sonnet with GPT-4o found 20 to 30 % more tokens for the
    /// same text, fewest for English prose and most for code; this is the middle.
    Claude,
    /// Anthropic models since version 4.7: × 1.7.
    ///
    /// Anthropic said of the tokenizer introduced with Opus 4.7 that a text takes 1.0 to 1.35 times
    /// as many tokens as before; this is the upper end of that, times [`Family::Claude`], and so
    /// rather too high than too low.
    ClaudeSince47,
    /// Google models, Gemini and Gemma: × 1.1.
    ///
    /// Google's documentation gives 60 to 80 English words for 100 tokens, OpenAI's 75 words:
    /// 0.94 to 1.25 times as many tokens. This is just above the middle, for English text.
    Gemini,
    /// Any other model: × 1, for want of a figure, and labelled as an estimate.
    Other,
}

/// A number of tokens and how it was arrived at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// The number, rounded up if it is an estimate.
    pub tokens: Tokens,
    /// What counted, in words for people: `o200k` or `o200k×1.25 (estimate for claude)`.
    pub tokenizer: &'static str,
    /// Whether the number is what the model's own tokenizer gives.
    pub exact: bool,
}

impl Family {
    /// The family of a model by its name, with or without the vendor, region or fine-tuning mark
    /// around it: `gpt-5-mini`, `openai/gpt-4o`, `ft:gpt-4o:acme`, `us.anthropic.claude-opus-4-7`.
    /// Letter case is ignored. A name that says too little is [`Family::Other`].
    ///
    /// ```
    /// use concertina_tokens::Family;
    ///
    /// assert_eq!(Family::for_model("openai/gpt-5-mini"), Family::O200k);
    /// assert_eq!(Family::for_model("gpt-4-turbo"), Family::Other);
    /// ```
    pub fn for_model(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        if let Some((_, version)) = name.split_once("claude") {
            return claude(version);
        }
        if name.contains("gemini") || name.contains("gemma") {
            return Self::Gemini;
        }
        let name = name.rsplit('/').next().unwrap_or_default();
        let name = name.strip_prefix("ft:").unwrap_or(name);
        if O200K_MODELS.iter().any(|prefix| has_prefix(name, prefix)) {
            return Self::O200k;
        }
        Self::Other
    }

    /// The number of tokens of `text` for models of this family, labelled.
    pub fn count(&self, text: &str) -> Count {
        let (percent, tokenizer) = match self {
            Self::O200k => (100, "o200k"),
            Self::Claude => (125, "o200k×1.25 (estimate for claude)"),
            Self::ClaudeSince47 => (170, "o200k×1.7 (estimate for claude 4.7 and later)"),
            Self::Gemini => (110, "o200k×1.1 (estimate for gemini)"),
            Self::Other => (100, "o200k (estimate for an unknown tokenizer)"),
        };
        let tokens = Tokens(crate::count(text).0.saturating_mul(percent).div_ceil(100));
        Count { tokens, tokenizer, exact: *self == Self::O200k }
    }
}

/// How the names of the models begin that use `o200k_base`, by OpenAI's own list of models.
const O200K_MODELS: [&str; 11] = [
    "gpt-4o",
    "chatgpt-4o",
    "gpt-4.1",
    "gpt-4.5",
    "gpt-5",
    "gpt-oss",
    "codex-mini",
    "o1",
    "o3",
    "o4-mini",
    "o200k",
];

/// Whether `name` is `prefix` or goes on with something other than a letter or digit.
fn has_prefix(name: &str, prefix: &str) -> bool {
    let rest = name.strip_prefix(prefix);
    rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_alphanumeric()))
}

/// The family by what follows `claude` in the name: `-3-5-sonnet-20241022`, `-opus-4-7`, `-opus-5`.
/// Without a version it may be any; then the higher estimate is the safe one.
fn claude(version: &str) -> Family {
    let mut numbers = version
        .split(|character: char| !character.is_ascii_digit())
        // Longer numbers are dates.
        .filter(|digits| digits.len() <= 2)
        .filter_map(|digits| digits.parse::<u8>().ok());
    match (numbers.next(), numbers.next()) {
        (Some(major), _) if major < 4 => Family::Claude,
        (Some(4), None) => Family::Claude,
        (Some(4), Some(minor)) if minor < 7 => Family::Claude,
        _ => Family::ClaudeSince47,
    }
}
