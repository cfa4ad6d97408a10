//! `concertina stats …`.

use concertina_runtime::eval::Interval;
use concertina_runtime::stats::{CallFigures, FindFigures, Load, Logs, RoutingReport, Unreadable};

use crate::args::StatsCommand;
use crate::error::CliError;
use crate::output::{Output, count, table, thousands};
use crate::place;

pub(crate) fn run(command: &StatsCommand, out: &mut Output) -> Result<u8, CliError> {
    match command {
        StatsCommand::Routing => {
            let report = concertina_runtime::stats::routing(&place::store()?)?;
            if out.is_json() {
                out.json(&report)?;
            } else {
                out.raw(&table(&routing(&report), &[1]))?;
            }
            say_whose(&report.logs, out);
        }
    }
    Ok(0)
}

/// Says whose logs the figures are read off.
fn say_whose(logs: &Logs, out: &mut Output) {
    out.say(format!("read off the logs of {}", count(logs.sessions, "session")));
    say_unreadable(&logs.unreadable, out);
}

pub(super) fn say_unreadable(sessions: &[Unreadable], out: &mut Output) {
    for one in sessions {
        out.say(format!(
            "warning: session {} is left out: {} [LOG_UNREADABLE]",
            one.session, one.why
        ));
    }
}

/// The lines of a table: what, how much, and more on it.
fn routing(report: &RoutingReport) -> Vec<Vec<String>> {
    let mut rows = finds(&report.finds);
    rows.extend(report.load.iter().map(|load| loaded("tokens an open", load)));
    let by_what = report.load_of.iter();
    rows.extend(by_what.map(|(what, load)| loaded(&format!("  {what}"), load)));
    rows.extend(calls(&report.calls));
    rows
}

fn line(what: impl Into<String>, number: String, about: impl Into<String>) -> Vec<String> {
    vec![what.into(), number, about.into()]
}

fn finds(finds: &FindFigures) -> Vec<Vec<String>> {
    let about = format!(
        "{} with hits that fit, {} told that nothing fits",
        thousands(finds.fitting),
        thousands(finds.nothing_fits)
    );
    let followed = format!(
        "of {} that fit, {} led to what was opened or called",
        thousands(finds.fitting),
        thousands(finds.followed)
    );
    let mut rows = vec![
        line("searches", thousands(finds.all), about),
        line("hit rate", rate(finds.hit_rate), with_interval(followed, finds.hit_rate_ci95)),
    ];
    let ranks = (1..).zip(&finds.followed_rank.ranks).filter(|(_, times)| **times > 0);
    rows.extend(ranks.map(|(rank, times)| line(format!("  rank {rank}"), thousands(*times), "")));
    if finds.followed_rank.beyond > 0 {
        rows.push(line("  lower", thousands(finds.followed_rank.beyond), ""));
    }
    if finds.followed_anyway > 0 {
        let about = "told that nothing fits, and opened one of the nearest";
        rows.push(line("followed anyway", thousands(finds.followed_anyway), about));
    }
    rows
}

fn loaded(what: &str, load: &Load) -> Vec<String> {
    let Load { opens, tokens, median, most, .. } = load;
    let opens = count(*opens, "open");
    line(
        what,
        format!("{:.0}", load.mean),
        format!("{opens}, {tokens} tokens; median {median}, at most {most}"),
    )
}

fn calls(calls: &CallFigures) -> Vec<Vec<String>> {
    let about = format!(
        "{} reached the tool, {} refused before",
        thousands(calls.admitted),
        thousands(calls.refused)
    );
    let blocked = format!(
        "of {}, {} stopped by permission",
        count(calls.asked, "call"),
        thousands(calls.blocked)
    );
    let (share, interval) = (calls.permission_block_rate, calls.permission_block_rate_ci95);
    let mut rows = vec![
        line("calls", thousands(calls.asked), about),
        line("permission block rate", rate(share), with_interval(blocked, interval)),
    ];
    rows.extend(
        calls.codes.iter().map(|(code, times)| line(format!("  {code}"), thousands(*times), "")),
    );
    rows
}

fn rate(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{share:.3}"))
}

fn with_interval(about: String, interval: Option<Interval>) -> String {
    match interval {
        Some(Interval(low, high)) => format!("{about}; {low:.2} to {high:.2} at 95 %"),
        None => about,
    }
}
