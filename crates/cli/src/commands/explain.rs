//! `concertina explain REF`.

use std::path::Path;

use concertina_core::catalog::listing;
use concertina_core::catalog::search::nearest_names;
use concertina_core::context::SizeClass;
use concertina_core::policy::Reason;
use concertina_core::session::{visibility, visible_skills};
use concertina_runtime::{FindRequest, Found, Session, Workspace, touch};
use concertina_tokens::O200k;
use concertina_types::{Ref, RefError, SkillId, Subject, Tokens, limits};
use serde_json::json;

use crate::args::ExplainArgs;
use crate::error::CliError;
use crate::output::{Output, thousands};
use crate::place;

pub(crate) fn run(args: &ExplainArgs, out: &mut Output) -> Result<u8, CliError> {
    let reference: Ref = args.reference.parse().map_err(|error: RefError| {
        let error = CliError::usage(error.to_string());
        // A bare name is what people type first.
        match SkillId::new(args.reference.trim()) {
            Ok(id) if !args.reference.contains(':') => {
                error.help(format!("did you mean skill:{id}?"))
            }
            _ => error,
        }
    })?;
    let subject = place::origin(args.reader).subject;
    let (mut workspace, session) = place::session(&args.place, &args.session, out)?;
    let seen = visibility(session.state(), &session.world(), &reference, subject);
    let mut reasons = seen.reasons;
    let exists = reasons.iter().all(|reason| reason.code != "NOT_FOUND");
    if let (Ref::Skill { id, .. }, false) = (&reference, exists) {
        let names = session.snapshot().skills.iter().map(|entry| entry.id.as_str());
        for near in nearest_names(id.as_str(), names, 3) {
            reasons.push(Reason::new("NEAREST", format!("there is skill:{near}"), "catalogue"));
        }
    }
    if let (Ref::Skill { id, .. }, true) = (&reference, exists) {
        if seen.visible && reasons.is_empty() {
            reasons.push(Reason::new("VISIBLE", format!("nothing hides {reference}"), "catalogue"));
        }
        if session.state().opened(id).is_some() {
            reasons.push(Reason::new(
                "OPEN",
                format!("{reference} is open in this session"),
                "session",
            ));
        }
        reasons.extend(what_is_in_it(&workspace, &session, id));
        let shown =
            visibility(session.state(), &session.world(), &reference, Subject::Model).visible;
        reasons.push(where_it_is_listed(&session, id, shown));
    }
    if let (Some(file), Ref::Skill { id, .. }, true) = (&args.touch, &reference, exists) {
        reasons.extend(what_a_touch_does(&workspace, id, file));
    }
    if let (Some(query), true) = (&args.query, exists) {
        let request =
            FindRequest { query: query.clone(), limit: Some(1_000), ..FindRequest::default() };
        // Explaining leaves no trace in a session.
        match session.search(&mut workspace, subject, &request)? {
            Ok(found) => reasons.push(where_it_ranks(&found, &reference, query)),
            Err(refusal) => return Err(refusal.into()),
        }
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
        out.line(format!(
            "{reference}: visible {}, usable {}",
            yes(seen.visible),
            yes(seen.callable)
        ))?;
        for reason in &reasons {
            out.line(format!("  {} {}", reason.code, reason.text))?;
            out.line(format!("    ({})", reason.source))?;
        }
    }
    if exists { Ok(0) } else { Ok(crate::error::Exit::NotFound as u8) }
}

/// What each pattern of the skill says to a file.
fn what_a_touch_does(workspace: &Workspace, id: &SkillId, file: &Path) -> Vec<Reason> {
    let Some(entry) = workspace.snapshot().skill(id) else { return Vec::new() };
    let source = entry.path.to_string();
    let reason = |code, text: String| Reason::new(code, text, source.clone());
    let Some(path) = touch::inside(workspace.root(), file) else {
        let text =
            format!("{} lies outside the workspace, so it activates nothing", file.display());
        return vec![reason("TOUCH_OUTSIDE", text)];
    };
    if entry.paths.is_empty() {
        return vec![reason(
            "NO_PATHS",
            "the skill waits for no file: it is always active".to_owned(),
        )];
    }
    let results = touch::judge(&entry.paths, &path);
    let mut reasons: Vec<Reason> = results
        .into_iter()
        .map(|result| match (result.matches, result.problem) {
            (Some(true), _) => {
                reason("PATTERN_MATCHES", format!("`{}` matches {path}", result.pattern))
            }
            (Some(false), _) => {
                reason("PATTERN_DIFFERS", format!("`{}` does not match {path}", result.pattern))
            }
            (None, problem) => {
                let problem = problem.unwrap_or_default();
                reason("PATTERN_BAD", format!("`{}` cannot be read: {problem}", result.pattern))
            }
        })
        .collect();
    reasons.push(match touch::first_match(&entry.paths, &path) {
        Some(pattern) => {
            reason("TOUCH_ACTIVATES", format!("a touch of {path} activates it, by `{pattern}`"))
        }
        None => reason("TOUCH_DOES_NOTHING", format!("a touch of {path} leaves it waiting")),
    });
    reasons
}

/// Its size, and what was found in its file.
fn what_is_in_it(workspace: &Workspace, session: &Session, id: &SkillId) -> Vec<Reason> {
    let Some(Ok(skill)) = workspace.load(id) else { return Vec::new() };
    let settings = session.settings();
    let tokens = concertina_tokens::count(&skill.body);
    let class = SizeClass::of(tokens, settings.window);
    let name = match class {
        SizeClass::Small => "small",
        SizeClass::Medium => "medium",
        SizeClass::Large => "large",
    };
    let large = limits::LARGE_SKILL_TOKENS.min(settings.window / 20);
    let text = format!(
        "{name}, {tokens} tokens: {}; small is below {} tokens, large above {}",
        class.method(),
        Tokens(limits::SMALL_SKILL_TOKENS),
        Tokens(large),
    );
    let source = format!(
        "window of {} tokens, listing.inline_tokens = {}",
        Tokens(settings.window),
        settings.listing.inline_tokens
    );
    let size = Reason::new("SIZE_CLASS", text, source);
    let found = skill.diagnostics.iter().map(|found| {
        let source = format!("{}:{}", skill.entry.path, found.line.unwrap_or(1));
        Reason::new(&found.code, found.message.clone(), source)
    });
    std::iter::once(size).chain(found).collect()
}

/// How the index shows it to the model.
fn where_it_is_listed(session: &Session, id: &SkillId, visible: bool) -> Reason {
    let world = session.world();
    let listed = visible_skills(session.state(), &world, Subject::Model);
    let budget = session.settings().listing_budget();
    let used = |id: &SkillId| session.state().used.get(id).copied().unwrap_or_default();
    let listing = listing::full(listed, &budget, &used, &O200k);
    let start = format!("- {}", listing::escape(id.as_str()));
    let line = listing.text.lines().find(|line| {
        line.strip_prefix(&start).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    });
    let text = match line {
        Some(line) if line.contains(':') => format!("the index shows it as: {line}"),
        Some(_) => {
            "the index shows its name only: there was no room for its description".to_owned()
        }
        None if visible => {
            "the index only counts it: there was no room; find reaches it".to_owned()
        }
        None => "the index does not show it".to_owned(),
    };
    let source = format!(
        "{} of {} tokens, {} of {} characters",
        listing.tokens,
        budget.tokens,
        thousands(listing.chars),
        thousands(budget.chars)
    );
    Reason::new("LISTING", text, source)
}

/// Where it ranks for what a user said, and what beats it.
fn where_it_ranks(found: &Found, reference: &Ref, query: &str) -> Reason {
    let ranking = if found.enough { &found.hits } else { &found.nearest };
    let at = ranking.iter().position(|hit| hit.reference == *reference);
    let own = at.and_then(|at| ranking.get(at)).map_or("", |hit| hit.why.as_str());
    let text = match (at, ranking.first()) {
        (Some(0), _) => format!("ranks first: {own}"),
        (Some(at), Some(first)) => format!(
            "ranks {} of {}: {own}. First is {}: {}",
            at + 1,
            ranking.len(),
            first.reference,
            first.why
        ),
        (None, Some(first)) => format!("is not found. First is {}: {}", first.reference, first.why),
        (_, None) => "nothing is found".to_owned(),
    };
    Reason::new("SEARCH", text, format!("query: {query}"))
}
