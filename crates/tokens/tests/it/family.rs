//! Labelled counts.

use concertina_tokens::{Count, Family, count};
use concertina_types::Tokens;

#[test]
fn models_by_name() {
    for (name, family) in [
        ("gpt-4o", Family::O200k),
        ("gpt-4o-mini-2024-07-18", Family::O200k),
        ("GPT-5", Family::O200k),
        ("gpt-5.1-codex", Family::O200k),
        ("openai/gpt-oss-20b", Family::O200k),
        ("ft:gpt-4o:acme::id", Family::O200k),
        ("o3", Family::O200k),
        ("o1-preview", Family::O200k),
        ("o4-mini", Family::O200k),
        ("claude-3-5-sonnet-20241022", Family::Claude),
        ("claude-sonnet-4-20250514", Family::Claude),
        ("anthropic/claude-opus-4.6", Family::Claude),
        ("us.anthropic.claude-opus-4-7-v1:0", Family::ClaudeSince47),
        ("claude-opus-5", Family::ClaudeSince47),
        ("claude", Family::ClaudeSince47),
        ("models/gemini-2.5-pro", Family::Gemini),
        ("gemma-3-27b", Family::Gemini),
        ("gpt-4", Family::Other),
        ("gpt-4-turbo", Family::Other),
        ("o30", Family::Other),
        ("qwen3-coder", Family::Other),
        ("llama-3.3-70b", Family::Other),
        ("", Family::Other),
    ] {
        assert_eq!(Family::for_model(name), family, "{name}");
    }
}

#[test]
fn only_the_own_tokenizer_is_exact() {
    let text = "The quick brown fox jumps over the lazy dog. ".repeat(20);
    let exact = count(&text);
    assert_eq!(
        Family::O200k.count(&text),
        Count { tokens: exact, tokenizer: "o200k", exact: true }
    );
    for family in [Family::Claude, Family::ClaudeSince47, Family::Gemini, Family::Other] {
        let estimate = family.count(&text);
        assert!(!estimate.exact && estimate.tokenizer.contains("estimate"), "{family:?}");
        assert!(estimate.tokens >= exact, "{family:?}");
        assert_eq!(family.count("").tokens, Tokens::ZERO);
    }
}

#[test]
fn the_label_states_the_factor_that_was_used() {
    let text = "one two three four five six seven eight nine ten ".repeat(40);
    for family in [Family::Claude, Family::ClaudeSince47, Family::Gemini] {
        let Count { tokens, tokenizer, .. } = family.count(&text);
        let factor = tokenizer.strip_prefix("o200k×").unwrap().split(' ').next().unwrap();
        let (whole, fraction) = factor.split_once('.').unwrap();
        let percent: u64 = format!("{whole}{fraction:0<2}").parse().unwrap();
        assert_eq!(tokens.0, (count(&text).0 * percent).div_ceil(100), "{tokenizer}");
    }
}
