//! `concertina touch PATH…`.

use concertina_runtime::Touched;
use serde_json::json;

use crate::args::TouchArgs;
use crate::error::CliError;
use crate::output::Output;
use crate::place;

pub(crate) fn run(args: &TouchArgs, out: &mut Output) -> Result<u8, CliError> {
    let (mut workspace, mut session) = place::session(&args.place, &args.session, out)?;
    let mut all = Touched::default();
    for file in &args.files {
        // What a person types is relative to where they are.
        let absolute = std::path::absolute(file)?;
        let touched = session.touch(&mut workspace, &absolute)?;
        all.activated.extend(touched.activated);
        all.discovered.extend(touched.discovered);
        all.left.extend(touched.left);
        all.dir_probes = touched.dir_probes;
    }
    if out.is_json() {
        out.json(&json!({
            "activated": all.activated,
            "discovered": all.discovered,
            "left": all.left,
            "dir_probes": all.dir_probes,
        }))?;
        return Ok(0);
    }
    for id in &all.activated {
        out.line(format!("activated skill:{id}"))?;
    }
    for directory in &all.discovered {
        out.line(format!("found {directory}"))?;
    }
    for left in &all.left {
        out.line(format!("left {left}"))?;
    }
    let waiting = workspace.untrusted();
    if waiting > 0 && !all.discovered.is_empty() {
        out.say(place::waiting(&workspace, waiting));
    }
    if place::session_id(&args.session)?.is_none() && !all.activated.is_empty() {
        out.say(
            "nothing of this is kept: activation belongs to a session; name one with --session ID",
        );
    }
    if all == (Touched { dir_probes: all.dir_probes, ..Touched::default() }) {
        out.say("nothing waits for these files");
    }
    Ok(0)
}
