//! `concertina find QUERY`.

use concertina_core::catalog::search::{Explained, Explanation, Hit, Kind, Points};
use concertina_runtime::FindRequest;
use concertina_runtime::stats::Learned;
use concertina_types::Ref;
use serde_json::{Value, json};

use super::stats;
use crate::args::FindArgs;
use crate::error::CliError;
use crate::output::{Output, count, fitting_table, table, thousands};
use crate::place;

pub(crate) fn run(args: &FindArgs, out: &mut Output) -> Result<u8, CliError> {
    let kind = args.kind.as_deref().map(str::parse::<Kind>).transpose();
    let within = args.within.as_deref().map(str::parse::<Ref>).transpose();
    let request = FindRequest {
        query: args.query.clone(),
        kind: kind.map_err(|error| CliError::usage(error.to_string()))?,
        within: within.map_err(|error| CliError::usage(error.to_string()))?,
        limit: Some(args.k.into()),
    };
    let (mut workspace, mut session) = place::session(&args.place, &args.session, out)?;
    let (found, reply) = session.find(&mut workspace, place::origin(args.reader), &request)?;
    if let Some(refusal) = reply.refusal {
        return Err(refusal.into());
    }
    if let Some(note) = &found.note {
        out.say(note.to_string());
    }
    let explanation = if args.explain {
        let subject = place::origin(args.reader).subject;
        session.explain_search(&mut workspace, subject, &request)?.ok()
    } else {
        None
    };
    if args.explain
        && let Some(learned) = session.learned(&workspace)?
    {
        say_learned(learned, out);
    }
    if out.is_json() {
        let mut answer = json!({
            "hits": found.hits.iter().map(shown).collect::<Vec<_>>(),
            "enough": found.enough,
            "nearest": found.nearest.iter().map(shown).collect::<Vec<_>>(),
            "browse": found.browse.iter().map(Ref::to_string).collect::<Vec<_>>(),
            "note": found.note.as_ref().map(|note| json!({"code": note.code, "message": note.text})),
        });
        if let (Some(explanation), Some(answer)) = (&explanation, answer.as_object_mut()) {
            answer.insert("explanation".to_owned(), explained(explanation));
        }
        out.json(&answer)?;
        return Ok(0);
    }
    let hits = if found.enough { &found.hits } else { &found.nearest };
    if !found.enough {
        out.say(if hits.is_empty() { "nothing fits" } else { "nothing fits well; the nearest:" });
    }
    let rows: Vec<Vec<String>> = hits
        .iter()
        .map(|hit| {
            let about = if args.explain { &hit.why } else { &hit.title };
            vec![format!("{:.2}", hit.score), hit.reference.to_string(), about.clone()]
        })
        .collect();
    out.raw(&if args.explain { table(&rows, &[0]) } else { fitting_table(rows, &[0]) })?;
    if let Some(explanation) = &explanation {
        out.raw(&reading(explanation, request.within.is_some()))?;
    }
    if let Some(browse) = browse(&found.browse) {
        out.say(browse);
    }
    Ok(0)
}

/// Says what the points for earlier use rest on.
fn say_learned(learned: &Learned, out: &mut Output) {
    let of = count(learned.sessions, "earlier session");
    let rest = match learned.left_out {
        0 => String::new(),
        older => {
            format!("; {} not read, since more recent or shorter ones came first", thousands(older))
        }
    };
    out.say(format!("used before: read off the logs of {of}{rest}"));
    stats::say_unreadable(&learned.unreadable, out);
}

/// Categories that are named where nothing fits.
const BROWSE: usize = 8;

fn browse(menus: &[Ref]) -> Option<String> {
    let (first, rest) = menus.split_at_checked(BROWSE).unwrap_or((menus, &[]));
    let names: Vec<String> = first.iter().map(Ref::to_string).collect();
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    (!names.is_empty()).then(|| format!("look into: {}{more}", names.join(", ")))
}

/// How the request was read, where each score comes from, and how far the best hit is from the floor.
fn reading(explanation: &Explanation, is_place: bool) -> String {
    let mut text =
        String::from("\nwhat each word of the request counts, and where its points are\n");
    let best: Vec<&Explained> = explanation.ranked.iter().take(COMPARED).collect();
    let mut head: Vec<String> = vec!["word".into(), "counts".into()];
    head.extend(best.iter().map(|hit| hit.reference.to_string()));
    let mut rows = vec![head];
    for term in &explanation.terms {
        let also = term.read_as.iter().map(String::as_str).chain(term.alike.iter().copied());
        let also: Vec<&str> = also.take(ALSO).collect();
        let word = match also.as_slice() {
            [] => term.word.clone(),
            also => format!("{} ({})", term.word, also.join(", ")),
        };
        let mut row = vec![word, format!("{:.2}", term.weight)];
        row.extend(best.iter().map(|hit| {
            let points = hit.points.iter().find(|points| points.word == term.word);
            points.map_or_else(|| "-".to_owned(), cell)
        }));
        rows.push(row);
    }
    let mut sums = |name: &str, of: &dyn Fn(&Explained) -> String| {
        let mut row = vec![name.to_owned(), String::new()];
        row.extend(best.iter().map(|hit| of(hit)));
        if row.iter().skip(2).any(|cell| !cell.is_empty()) {
            rows.push(row);
        }
    };
    let unless_zero = |value: f32, sign: &str| {
        if value > 0.0 { format!("{sign}{value:.2}") } else { String::new() }
    };
    sums("like its examples", &|hit| unless_zero(hit.likeness, ""));
    sums("not for this", &|hit| unless_zero(hit.lowered, "-"));
    let prior = |hit: &Explained| {
        if hit.prior == 0.0 { String::new() } else { format!("{:+.2}", hit.prior) }
    };
    sums("used before", &prior);
    sums("put below", &|hit| hit.below.as_ref().map(Ref::to_string).unwrap_or_default());
    sums("is its name", &|hit| if hit.called { "yes".to_owned() } else { String::new() });
    text.push_str(&table(&rows, &[1]));
    let Some(floor) = &explanation.confidence else { return text };
    let line = if explanation.ranked.first().is_some_and(|first| first.called) {
        "enough: the request is its name".to_owned()
    } else if is_place {
        "enough: in a place that was named any mention is an answer".to_owned()
    } else {
        format!(
            "{}: {:.2} of {:.2} needed (score {:.2}, in the name {:.2}, rarest word {:.2}, {}, \
             {:.0} % of the request)",
            if floor.is_enough() { "enough" } else { "not enough" },
            floor.reached,
            floor.needed,
            floor.score,
            floor.named,
            floor.rarest,
            count(usize::from(floor.matched), "word"),
            100.0 * floor.share,
        )
    };
    text.push('\n');
    text.push_str(&line);
    text.push('\n');
    text
}

/// Hits that are compared side by side.
const COMPARED: usize = 3;
/// Words that are named as read in the place of another.
const ALSO: usize = 3;

fn cell(points: &Points) -> String {
    let fields: Vec<&str> = points.fields.iter().map(|field| field.as_str()).collect();
    let like = points.like.map(|word| format!("{word}, ")).unwrap_or_default();
    format!("{:.2} ({like}{})", points.points, fields.join(", "))
}

fn explained(explanation: &Explanation) -> Value {
    json!({
        "terms": explanation.terms.iter().map(|term| json!({
            "word": term.word,
            "read_as": term.read_as,
            "alike": term.alike,
            "weight": rounded(term.weight),
        })).collect::<Vec<_>>(),
        "ranked": explanation.ranked.iter().map(|hit| json!({
            "ref": hit.reference,
            "score": rounded(hit.score),
            "called": hit.called,
            "points": hit.points.iter().map(|points| json!({
                "word": points.word,
                "like": points.like,
                "fields": points.fields.iter().map(|field| field.as_str()).collect::<Vec<_>>(),
                "points": rounded(points.points),
            })).collect::<Vec<_>>(),
            "likeness": rounded(hit.likeness),
            "lowered": rounded(hit.lowered),
            "prior": rounded(hit.prior),
            "below": hit.below,
        })).collect::<Vec<_>>(),
        "floor": explanation.confidence.map(|floor| json!({
            "needed": rounded(floor.needed),
            "reached": rounded(floor.reached),
            "score": rounded(floor.score),
            "named": rounded(floor.named),
            "rarest": rounded(floor.rarest),
            "matched": floor.matched,
            "share": rounded(floor.share),
        })),
    })
}

fn shown(hit: &Hit) -> Value {
    json!({
        "ref": hit.reference,
        "kind": hit.kind.as_str(),
        "score": rounded(hit.score),
        "title": hit.title,
        "matched": hit.matched,
        "why": hit.why,
    })
}

fn rounded(value: f32) -> f64 {
    (f64::from(value) * 1_000.0).round() / 1_000.0
}
