//! What `concertina eval route --compare` adds.

use concertina_runtime::eval::{
    Capped, Comparison, Decided, Figures, PairedDifference, RouteReport,
};

use super::{figure, heading};
use crate::error::CliError;
use crate::output::{Output, count, fitting_table, table};

/// The requests that are shown for each side; the JSON has more.
const SHOWN: usize = 5;

pub(super) fn show(
    first: &RouteReport,
    comparison: &Comparison,
    out: &mut Output,
) -> Result<(), CliError> {
    let (a, b) = (&first.figures, &comparison.report.figures);
    let columns =
        ["compared", "first", "second", "difference", "at 95 %", "only first", "only second", "p"];
    let mut rows = vec![heading(columns)];
    let mut add = |name: &str, a, b, difference: Option<&PairedDifference>| {
        if let Some(difference) = difference {
            rows.push(row(name, a, b, difference));
        }
    };
    add("hit@1", a.hit_at_1, b.hit_at_1, comparison.hit_at_1.as_ref());
    for (kind, difference) in &comparison.per_kind {
        let of =
            |report: &RouteReport| report.per_kind.get(kind).and_then(|f: &Figures| f.hit_at_1);
        let name = format!("hit@1, kind {kind}");
        add(&name, of(first), of(&comparison.report), Some(difference));
    }
    add("kept", a.answerable_kept, b.answerable_kept, comparison.answerable_kept.as_ref());
    add("turned away", a.abstained, b.abstained, comparison.abstained.as_ref());
    out.line("")?;
    out.raw(&table(&rows, &[1, 2, 3, 5, 6, 7]))?;
    list("first served by the second only", &comparison.won, out)?;
    list("first served by the first only", &comparison.lost, out)?;
    out.say(
        "p is how likely so uneven a split is where both are equally good (McNemar's exact test)",
    );
    Ok(())
}

fn row(name: &str, a: Option<f64>, b: Option<f64>, difference: &PairedDifference) -> Vec<String> {
    let p = if difference.p_value < 0.001 {
        "< 0.001".to_owned()
    } else {
        format!("{:.3}", difference.p_value)
    };
    vec![
        name.to_owned(),
        figure(a),
        figure(b),
        format!("{:+.3}", difference.value),
        format!("{:+.3} to {:+.3}", difference.ci95.0, difference.ci95.1),
        difference.only_first.to_string(),
        difference.only_second.to_string(),
        p,
    ]
}

fn list(title: &str, decided: &Capped<Decided>, out: &mut Output) -> Result<(), CliError> {
    if decided.count == 0 {
        return Ok(());
    }
    out.line("")?;
    out.line(format!("{} {title}:", count(decided.count, "request")))?;
    let rows = decided.first.iter().take(SHOWN).map(|one| {
        let place = one.place.as_ref().map(ToString::to_string).unwrap_or_default();
        vec![place, one.query.replace(char::is_whitespace, " ")]
    });
    out.raw(&fitting_table(rows.collect(), &[]))
}
