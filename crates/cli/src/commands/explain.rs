//! `concertina explain REF`.

use concertina_core::context::SizeClass;
use concertina_core::policy::Reason;
use concertina_core::session::visibility;
use concertina_runtime::FindRequest;
use concertina_types::{Ref, RefError, Subject};
use serde_json::json;

use crate::args::{ExplainArgs, Who};
use crate::error::CliError;
use crate::output::Output;
use crate::place;

pub(crate) fn run(args: &ExplainArgs, out: &mut Output) -> Result<u8, CliError> {
    let reference: Ref =
        args.reference.parse().map_err(|error: RefError| CliError::usage(error.to_string()))?;
    let subject = match args.reader {
        Who::User => Subject::User,
        Who::Model => Subject::Model,
    };
    let (mut workspace, mut session) = place::session(&args.place, &args.session, out)?;
    let seen = visibility(session.state(), &session.world(), &reference, subject);
    let mut reasons = seen.reasons;
    let exists = reasons.iter().all(|reason| reason.code != "NOT_FOUND");
    if let (Ref::Skill { id, .. }, true) = (&reference, exists) {
        if seen.visible && reasons.is_empty() {
            reasons.push(Reason::new("VISIBLE", format!("nothing hides {reference}"), "catalogue"));
        }
        if session.state().opened(id).is_some() {
            reasons.push(Reason::new("OPEN", format!("{reference} is open in this session"), "session"));
        }
        let window = session.settings().window;
        if let Some(Ok(skill)) = workspace.load(id) {
            let tokens = concertina_tokens::count(&skill.body);
            let class = SizeClass::of(tokens, window);
            let text = format!(
                "{class:?} ({tokens} tokens): {}. Skills below {} tokens may be inlined, ones above {} are paged",
                class.method(),
                concertina_types::limits::SMALL_SKILL_TOKENS,
                concertina_types::limits::LARGE_SKILL_TOKENS.min(window / 20),
            );
            let source = format!("window of {window} tokens; listing.inline_tokens = {}", session.settings().listing.inline_tokens);
            reasons.push(Reason::new("SIZE_CLASS", text, source));
            for found in &skill.diagnostics {
                let source = format!("{}:{}", skill.entry.path, found.line.unwrap_or(1));
                reasons.push(Reason::new(&found.code, found.message.clone(), source));
            }
        }
        let listed = workspace.snapshot().skills.iter().filter(|entry| {
            let reference = Ref::skill(entry.id.clone());
            visibility(session.state(), &session.world(), &reference, Subject::Model).visible
        });
        let listing = concertina_core::catalog::listing::full(
            listed,
            &session.settings().listing_budget(),
            &|id| session.state().used.get(id).copied().unwrap_or_default(),
            &concertina_tokens::O200k,
        );
        let start = format!("- {}", concertina_core::catalog::listing::escape(id.as_str()));
        let line = listing.text.lines().find(|line| {
            line.strip_prefix(&start).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        });
        let text = match line {
            Some(line) if line.contains(':') => format!("the index shows it as: {line}"),
            Some(_) => "the index shows its name only: there was no room for its description".to_owned(),
            None if seen.visible => "the index only counts it: there was no room; find reaches it".to_owned(),
            None => "the index does not show it".to_owned(),
        };
        let source = format!(
            "{} of {} tokens, {} of {} characters",
            listing.tokens,
            session.settings().listing_budget().tokens,
            listing.chars,
            session.settings().listing.chars
        );
        reasons.push(Reason::new("LISTING", text, source));
    }
    if let (Some(query), true) = (&args.query, exists) {
        let request = FindRequest { query: query.clone(), limit: Some(1_000), ..FindRequest::default() };
        let (found, _) = session.find(&mut workspace, place::origin(args.reader), &request)?;
        let ranking = if found.enough { &found.hits } else { &found.nearest };
        let at = ranking.iter().position(|hit| hit.reference == reference);
        let text = match (at, ranking.first()) {
            (Some(0), Some(hit)) => format!("ranks first: {}", hit.why),
            (Some(at), Some(first)) => {
                let own = ranking.get(at).map(|hit| hit.why.clone()).unwrap_or_default();
                format!("ranks {} of {}: {own}. First is {}: {}", at + 1, ranking.len(), first.reference, first.why)
            }
            (None, Some(first)) => format!("is not found at all. First is {}: {}", first.reference, first.why),
            (_, None) => "nothing is found".to_owned(),
        };
        reasons.push(Reason::new("SEARCH", text, format!("query: {query}")));
    }
    if out.is_json() {
        out.json(&json!({
            "ref": reference,
            "visible": seen.visible,
            "callable": seen.callable,
            "reasons": reasons,
        }))?;
    } else {
        let yes = |yes: bool| if yes { "yes" } else { "no" };
        out.line(format!("{reference}: visible {}, usable {}", yes(seen.visible), yes(seen.callable)))?;
        for reason in &reasons {
            out.line(format!("  {} {}", reason.code, reason.text))?;
            out.line(format!("    ({})", reason.source))?;
        }
    }
    if exists { Ok(0) } else { Ok(crate::error::Exit::NotFound as u8) }
}
