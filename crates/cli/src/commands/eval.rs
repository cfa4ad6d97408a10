//! `concertina eval tools`.

use concertina_runtime::eval::{EvalError, catalog, eval_tools, requests};

use crate::args::EvalCommand;
use crate::error::{CliError, Exit};
use crate::output::{Output, table};

pub(crate) fn run(command: &EvalCommand, out: &mut Output) -> Result<u8, CliError> {
    let EvalCommand::Tools { catalog: rows, queries } = command;
    let failed = |error: EvalError| {
        let exit = match error {
            EvalError::File { .. } => Exit::Environment,
            _ => Exit::Findings,
        };
        CliError::new(exit, error.code(), error.to_string())
    };
    let (rows, requests) = (catalog(rows).map_err(failed)?, requests(queries).map_err(failed)?);
    let ways = eval_tools(&rows, &requests);
    if out.is_json() {
        out.json(&ways)?;
        return Ok(0);
    }
    let mut lines = vec![["way", "hit@1", "tokens a request"].map(str::to_owned).to_vec()];
    for (name, way) in [("flat", &ways.flat), ("menu", &ways.menu), ("search", &ways.search)] {
        lines.push(vec![
            name.to_owned(),
            format!("{:.3}", way.hit_at_1),
            format!("{:.0}", way.tokens),
        ]);
    }
    out.raw(&table(&lines, &[1, 2]))?;
    out.say(format!(
        "{} tools in {} categories, {} requests; the right category was chosen for {:.3} of them; \
         no model was asked, the search stands in for one in all three ways",
        ways.tools, ways.categories, ways.queries, ways.category_hit
    ));
    Ok(0)
}
