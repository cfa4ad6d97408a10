//! `concertina eval tools`.

use concertina_runtime::eval::{LabelledSet, Ways, WaysFigures, eval_tools};

use super::{heading, interval, say_what_was_left_out};
use crate::error::CliError;
use crate::output::{Output, count, table, thousands};

pub(super) fn run(set: &LabelledSet, out: &mut Output) -> Result<u8, CliError> {
    let ways = eval_tools(set);
    if out.is_json() {
        out.json(&ways)?;
    } else {
        show(&ways, out)?;
    }
    say_what_was_left_out(&ways.skipped, &ways.unknown, out);
    Ok(0)
}

fn show(ways: &Ways, out: &mut Output) -> Result<(), CliError> {
    let columns = ["", "requests", "way", "hit@1", "at 95 %", "tokens a request"];
    let mut rows = vec![heading(columns)];
    add(&mut rows, "all", &ways.all);
    for (kind, figures) in &ways.per_kind {
        add(&mut rows, &format!("kind {kind}"), figures);
    }
    out.raw(&table(&rows, &[1, 3, 5]))?;
    out.say(format!(
        "{} in {}, {}; the right category was chosen for {:.3} of them; no model was asked, the \
         search stands in for one in all three ways",
        count(ways.tools, "tool"),
        if ways.categories == 1 {
            "1 category".to_owned()
        } else {
            format!("{} categories", thousands(ways.categories))
        },
        count(ways.all.queries, "request"),
        ways.all.category_hit
    ));
    Ok(())
}

fn add(rows: &mut Vec<Vec<String>>, name: &str, figures: &WaysFigures) {
    let ways = [("flat", &figures.flat), ("menu", &figures.menu), ("search", &figures.search)];
    for (at, (way, report)) in ways.into_iter().enumerate() {
        let first = |text: String| if at == 0 { text } else { String::new() };
        rows.push(vec![
            first(name.to_owned()),
            first(thousands(figures.queries)),
            way.to_owned(),
            format!("{:.3}", report.hit_at_1),
            interval(report.hit_at_1_ci95),
            format!("{:.0}", report.tokens),
        ]);
    }
}
