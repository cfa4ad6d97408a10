//! `concertina eval route`.

use std::path::Path;

use concertina_runtime::eval::{
    Comparison, Confusion, Figures, LabelledSet, Route, RouteOptions, RouteReport,
};
use serde::Serialize;

use super::{compare, failed, figure, heading, interval, say_what_was_left_out};
use crate::args::RouteArgs;
use crate::error::CliError;
use crate::output::{Output, count, fitting_table, table, thousands};

/// The confusions that are shown; the JSON has more.
const SHOWN: usize = 10;

pub(crate) fn run(args: &RouteArgs, out: &mut Output) -> Result<u8, CliError> {
    let k = usize::from(args.k);
    let first = options(args.config.as_deref(), k, out)?;
    let second = match &args.compare {
        Some(file) => Some(options(Some(file), k, out)?),
        None => None,
    };
    let set = LabelledSet::read(&args.catalog, &args.queries, &args.none)
        .map_err(|error| failed(&error))?;
    let set = match args.examples {
        Some(count) => set.with_examples(count.into()),
        None => set,
    };
    let route = Route::of(&set, &first);
    let report = route.report();
    let comparison = second.map(|options| route.compare(&options));
    if out.is_json() {
        out.json(&Shown { report: &report, compared: comparison.as_ref() })?;
    } else {
        show(&report, out)?;
        if let Some(comparison) = &comparison {
            compare::show(&report, comparison, out)?;
        }
    }
    say_what_was_left_out(&report.skipped, &report.unknown, out);
    Ok(0)
}

/// The report, and what the second configuration adds to it.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    report: &'a RouteReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    compared: Option<&'a Comparison>,
}

/// The ranking's own numbers, or those of the settings in `file`.
fn options(file: Option<&Path>, k: usize, out: &mut Output) -> Result<RouteOptions, CliError> {
    let Some(file) = file else { return Ok(RouteOptions { k, ..RouteOptions::default() }) };
    let (options, config) = RouteOptions::read(file).map_err(|error| failed(&error))?;
    let search = &config.search;
    let unused = [
        ("search.usage", search.usage),
        ("search.embeddings", search.embeddings.is_some()),
        ("search.encoder", search.encoder.is_some()),
    ];
    for (key, _) in unused.into_iter().filter(|(_, is_set)| *is_set) {
        out.say(format!(
            "note: `{key}` in {} is not used here: what is measured is the search by words",
            file.display()
        ));
    }
    Ok(RouteOptions { k, ..options })
}

fn show(report: &RouteReport, out: &mut Output) -> Result<(), CliError> {
    let columns = [
        "",
        "requests",
        "hit@1",
        "at 95 %",
        "recall@5",
        "recall@10",
        "nDCG@10",
        "kept",
        "turned away",
    ];
    let mut rows = vec![heading(columns), row("all", &report.figures)];
    rows.extend(
        report.per_kind.iter().map(|(name, figures)| row(&format!("kind {name}"), figures)),
    );
    rows.extend(
        report.per_lang.iter().map(|(name, figures)| row(&format!("lang {name}"), figures)),
    );
    out.raw(&table(&rows, &[1, 2, 4, 5, 6, 7, 8]))?;
    if !report.confusions.first.is_empty() {
        out.line("")?;
        out.line("what won in place of what:")?;
        let shown = report.confusions.first.iter().take(SHOWN);
        let rows: Vec<Vec<String>> = shown.map(confusion).collect();
        out.raw(&fitting_table(rows, &[0]))?;
    }
    let left = report.confusions.count.saturating_sub(SHOWN);
    if left > 0 {
        out.say(format!("{} more pairs; --json names the first 100", thousands(left)));
    }
    let figures = &report.figures;
    out.say(format!(
        "{}; {} that something serves, {} that nothing does",
        count(report.documents, "document"),
        count(figures.answerable, "request"),
        thousands(figures.unanswerable),
    ));
    let times = match (report.p50_us, report.p99_us) {
        (Some(half), Some(most)) => {
            format!("; half of the searches took up to {half} µs, 99 of 100 up to {most} µs")
        }
        _ => String::new(),
    };
    out.say(format!("the index was built in {} ms{times}", report.build_ms));
    Ok(())
}

/// What the figures mean stands in the help.
fn row(name: &str, figures: &Figures) -> Vec<String> {
    vec![
        name.to_owned(),
        thousands(figures.queries),
        figure(figures.hit_at_1),
        interval(figures.ci95.hit_at_1),
        figure(figures.recall_at_5),
        figure(figures.recall_at_10),
        figure(figures.ndcg_at_10),
        figure(figures.answerable_kept),
        figure(figures.abstained),
    ]
}

fn confusion(confusion: &Confusion) -> Vec<String> {
    let over = match &confusion.over {
        Some(over) => format!("in place of {over}"),
        None => "where nothing fits".to_owned(),
    };
    let mut by: Vec<String> =
        confusion.words.iter().map(|word| format!("{} {:+.1}", word.word, word.points)).collect();
    if confusion.examples > 0.0 {
        by.push(format!("its examples {:+.1}", confusion.examples));
    }
    if confusion.not_for > 0 {
        by.push("a `not_for`".to_owned());
    }
    let words = if by.is_empty() { "by no word".to_owned() } else { by.join(", ") };
    vec![format!("{}×", confusion.times), confusion.won.clone(), over, words]
}
