//! `concertina find QUERY`.

use concertina_core::catalog::search::{Hit, Kind};
use concertina_runtime::FindRequest;
use concertina_types::Ref;
use serde_json::{Value, json};

use crate::args::FindArgs;
use crate::error::CliError;
use crate::output::{Output, fitting_table, table};
use crate::place;

pub(crate) fn run(args: &FindArgs, out: &mut Output) -> Result<u8, CliError> {
    let kind = args.kind.as_deref().map(str::parse::<Kind>).transpose();
    let within = args.within.as_deref().map(str::parse::<Ref>).transpose();
    let request = FindRequest {
        query: args.query.clone(),
        kind: kind.map_err(|error| CliError::usage(error.to_string()))?,
        within: within.map_err(|error| CliError::usage(error.to_string()))?,
        limit: Some(args.k.clamp(1, 1_000)),
    };
    let (mut workspace, mut session) = place::session(&args.place, &args.session, out)?;
    let (found, reply) = session.find(&mut workspace, place::origin(args.reader), &request)?;
    if let Some(refusal) = reply.refusal {
        return Err(refusal.into());
    }
    if let Some(note) = &found.note {
        out.say(note.to_string());
    }
    if out.is_json() {
        let note = found.note.as_ref();
        out.json(&json!({
            "hits": found.hits.iter().map(shown).collect::<Vec<_>>(),
            "enough": found.enough,
            "nearest": found.nearest.iter().map(shown).collect::<Vec<_>>(),
            "note": note.map(|note| json!({"code": note.code, "message": note.text})),
        }))?;
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
    Ok(0)
}

fn shown(hit: &Hit) -> Value {
    json!({
        "ref": hit.reference,
        "kind": hit.kind.as_str(),
        "score": (f64::from(hit.score) * 1_000.0).round() / 1_000.0,
        "title": hit.title,
        "matched": hit.matched,
        "why": hit.why,
    })
}
