//! `concertina tokens FILE`.

use std::io::Read as _;

use concertina_tokens::Family;
use serde_json::json;

use crate::args::TokensArgs;
use crate::error::CliError;
use crate::output::Output;

pub(crate) fn run(args: &TokensArgs, out: &mut Output) -> Result<u8, CliError> {
    let mut bytes = Vec::new();
    let read = if args.file.as_os_str() == "-" {
        std::io::stdin().read_to_end(&mut bytes).map(drop)
    } else {
        std::fs::read(&args.file).map(|read| bytes = read)
    };
    read.map_err(|error| CliError::unreadable(&args.file, &error))?;
    let text = String::from_utf8_lossy(&bytes);
    if matches!(text, std::borrow::Cow::Owned(_)) {
        out.say(format!(
            "warning NOT_UTF8: {}: bytes that are not UTF-8 were counted as U+FFFD",
            args.file.display()
        ));
    }
    let family = args.model.as_deref().map_or(Family::O200k, Family::for_model);
    let count = family.count(&text);
    if out.is_json() {
        out.json(&json!({
            "tokens": count.tokens, "tokenizer": count.tokenizer, "exact": count.exact,
        }))?;
    } else {
        out.line(count.tokens.0.to_string())?;
        if !count.exact {
            out.say(format!("counted as {}", count.tokenizer));
        }
    }
    Ok(0)
}
