//! A procedure as a picture.

mod mermaid;
mod svg;

use concertina_format::procedure::{OnFail, Procedure, State};

/// How a picture is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphFormat {
    /// A state diagram for Mermaid, which code hosts draw.
    Mermaid,
    /// A picture that stands alone: no fonts, no scripts, legible on light and on dark.
    Svg,
}

/// `procedure` as a picture: its states with their tools, and every way from one to another. The same procedure gives
/// the same bytes.
///
/// ```
/// use concertina_core::procedure::{GraphFormat, graph};
/// use concertina_format::procedure::parse;
/// let text = "sop: greet\n\
///     checkpoints: {greeted: {tool: greet}}\n\
///     states: {hello: {show: {tools: [greet]}, next: [{to: done, when: greeted}]}, done: {final: true}}\n";
/// let procedure = parse(text).procedure.expect("it can be read");
/// assert!(graph(&procedure, GraphFormat::Mermaid).contains("s0 --> s1 : greeted"));
/// assert!(graph(&procedure, GraphFormat::Svg).starts_with("<svg "));
/// ```
pub fn graph(procedure: &Procedure, format: GraphFormat) -> String {
    match format {
        GraphFormat::Mermaid => mermaid::draw(procedure),
        GraphFormat::Svg => svg::draw(procedure),
    }
}

/// Why a run goes from one state to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Next,
    Fail,
    Stale,
}

/// A way from one state to another.
#[derive(Debug, Clone)]
struct Way {
    kind: Kind,
    /// To where, by the state's place.
    to: usize,
    /// When, in words.
    when: String,
}

/// The ways out of a state, as they are drawn.
fn ways(procedure: &Procedure, state: &State) -> Vec<Way> {
    let place = |name: &str| procedure.state(name).map(|(at, _)| at);
    let next = state.exits.iter().filter_map(|exit| {
        Some(Way { kind: Kind::Next, to: place(&exit.to)?, when: exit.when.to_string() })
    });
    let fail = state.on_fail.iter().filter_map(|fail| {
        Some(Way { kind: Kind::Fail, to: place(&fail.to)?, when: failures(fail) })
    });
    let stale = state.on_stale.iter().filter_map(|to| {
        let when = "something went stale".to_owned();
        Some(Way { kind: Kind::Stale, to: place(to)?, when })
    });
    next.chain(fail).chain(stale).collect()
}

fn failures(fail: &OnFail) -> String {
    match fail.max {
        1 => "a check failed".to_owned(),
        max => format!("{max} checks failed"),
    }
}

/// What a final state says of itself.
fn ending(state: &State) -> String {
    let needs = state.needs.iter().map(|who| format!("needs {who}"));
    let then = state.then.iter().map(|next| format!("then {next}"));
    std::iter::once("final".to_owned()).chain(needs).chain(then).collect::<Vec<_>>().join(", ")
}

/// `text` in at most `most` characters.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}…")
}
