//! The picture as SVG.
//!
//! States stand in one column in the order of the text. Each way out is a line in its state, from which a wire leads
//! to where it goes: on the right downwards, on the left back up. Wires to one state share a lane. So no label is ever
//! in the way, however many there are. All text stands on the boxes' own ground, and wires have a tone between light
//! and dark.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use concertina_format::procedure::{Procedure, State};

use super::{Kind, Way, cut, ending, ways};

/// Characters of one line; the whole text is in its tooltip.
const CHARACTERS: usize = 72;
/// The advance of a character of a monospaced font of 13 pixels, in tenths of a pixel, on the safe side.
const ADVANCE: usize = 80;
const LINE: usize = 20;
const PADDING: usize = 12;
/// From the middle of a line down to where its letters stand. Not every renderer knows how to centre them.
const BASELINE: usize = 4;
/// Between two boxes.
const GAP: usize = 34;
/// Between two lanes.
const LANE: usize = 14;
const MARGIN: usize = 16;

/// One line in a box.
struct Line {
    text: String,
    whole: String,
    kind: LineKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Tool { is_gated: bool },
    Way { kind: Kind, to: usize },
    End,
}

struct Frame {
    top: usize,
    lines: Vec<Line>,
}

impl Frame {
    fn height(&self) -> usize {
        LINE * (self.lines.len() + 1) + PADDING + if self.lines.is_empty() { 0 } else { 4 }
    }

    /// The middle of its title.
    fn entry(&self) -> usize {
        self.top + PADDING / 2 + LINE / 2
    }

    /// The middle of its line at `at`.
    fn line(&self, at: usize) -> usize {
        self.entry() + LINE * (at + 1) + 4
    }
}

/// A wire that leads to one state, from any number of lines.
struct Lane {
    from: Vec<usize>,
    to: usize,
    number: usize,
}

/// Where a wire runs, and to which state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Wire {
    is_back: bool,
    to: usize,
    kind: Kind,
}

pub(super) fn draw(procedure: &Procedure) -> String {
    let boxes = boxes(procedure);
    let names = procedure.states.iter().map(|state| columns(&state.name) + 8);
    let lines = boxes.iter().flat_map(|one| &one.lines).map(|line| columns(&line.text) + 2);
    let columns = names.chain(lines).max().unwrap_or_default().max(16);
    let width = columns * ADVANCE / 10 + 2 * PADDING;
    let lanes = lanes(&boxes);
    let count = |is_back: bool| {
        let of_side = lanes.iter().filter(|(wire, _)| wire.is_back == is_back);
        of_side.map(|(_, lane)| lane.number + 1).max().unwrap_or_default()
    };
    let left = MARGIN + count(true) * LANE + LANE;
    let right = left + width;
    let all = right + LANE + count(false) * LANE + MARGIN;
    let bottom = boxes.last().map_or(MARGIN, |last| last.top + last.height()) + MARGIN;

    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {all} {bottom}\" width=\"{all}\" \
         height=\"{bottom}\" role=\"img\">\n<title>{}</title>\n{STYLE}",
        escaped(&procedure.name)
    );
    // Writing to a text cannot fail.
    for (wire, lane) in &lanes {
        let _ = text.write_str(&drawn(*wire, lane, left, right));
    }
    for (state, one) in procedure.states.iter().zip(&boxes) {
        let is_first = procedure.states.first() == Some(state);
        let _ = text.write_str(&drawn_box(state, one, is_first, left, width));
    }
    text.push_str("</svg>\n");
    text
}

/// Every text has its ground, and every line a tone that stands out from white and from black.
const STYLE: &str = "<style>
text { font: 13px ui-monospace, Menlo, Consolas, monospace; fill: #1d2733; }
.name { font-weight: bold; }
.dim { fill: #526070; }
.box { fill: #f7f9fb; stroke: #6f8196; stroke-width: 1.5; }
.inner, .rule { fill: none; stroke: #6f8196; }
.rule { stroke-opacity: .45; }
.wire { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
.next { stroke: #4c82bd; } .fail { stroke: #d2543c; stroke-dasharray: 6 4; } .stale { stroke: #b07a1e; stroke-dasharray: 2 4; }
.tip { stroke: none; } .tip.next { fill: #4c82bd; } .tip.fail { fill: #d2543c; } .tip.stale { fill: #b07a1e; }
.lock { fill: #b07a1e; } .shackle { fill: none; stroke: #b07a1e; stroke-width: 1.5; }
</style>
";

fn boxes(procedure: &Procedure) -> Vec<Frame> {
    let mut top = MARGIN;
    let each = procedure.states.iter().map(|state| {
        let one = Frame { top, lines: lines(procedure, state) };
        top += one.height() + GAP;
        one
    });
    each.collect()
}

fn lines(procedure: &Procedure, state: &State) -> Vec<Line> {
    let line = |whole: String, kind: LineKind| Line { text: cut(&whole, CHARACTERS), whole, kind };
    let tools = state.show.tools.iter().map(|shown| match &shown.when {
        None => line(shown.tool.clone(), LineKind::Tool { is_gated: false }),
        Some(when) => {
            line(format!("{} when {when}", shown.tool), LineKind::Tool { is_gated: true })
        }
    });
    let ways = ways(procedure, state).into_iter().map(|Way { kind, to, when }| {
        let name = procedure.states.get(to).map(|state| state.name.as_str()).unwrap_or_default();
        let mark = match kind {
            Kind::Next => "→",
            Kind::Fail => "✗",
            Kind::Stale => "↺",
        };
        line(format!("{mark} {name} when {when}"), LineKind::Way { kind, to })
    });
    let end = state.is_final.then(|| line(ending(state), LineKind::End));
    tools.chain(ways).chain(end).collect()
}

/// The wires, each in a lane where no other is in its way. Short ones run inside.
fn lanes(boxes: &[Frame]) -> BTreeMap<Wire, Lane> {
    let mut lanes: BTreeMap<Wire, Lane> = BTreeMap::new();
    for (at, one) in boxes.iter().enumerate() {
        for (number, line) in one.lines.iter().enumerate() {
            let LineKind::Way { kind, to } = line.kind else { continue };
            let Some(target) = boxes.get(to) else { continue };
            let wire = Wire { is_back: to <= at, to, kind };
            let lane = lanes.entry(wire).or_insert_with(|| {
                // Wires of several kinds come in one above the other.
                let shift = match kind {
                    Kind::Next => 0,
                    Kind::Fail => 6,
                    Kind::Stale => 12,
                };
                Lane { from: Vec::new(), to: target.entry() + shift - 6, number: 0 }
            });
            lane.from.push(one.line(number));
        }
    }
    let span = |lane: &Lane| {
        let ends = || lane.from.iter().chain([&lane.to]);
        (ends().min().copied().unwrap_or_default(), ends().max().copied().unwrap_or_default())
    };
    let mut order: Vec<(usize, usize, usize, Wire)> = lanes
        .iter()
        .map(|(wire, lane)| {
            let (first, last) = span(lane);
            (last - first, first, last, *wire)
        })
        .collect();
    order.sort_unstable();
    let mut taken: BTreeMap<(bool, usize), Vec<(usize, usize)>> = BTreeMap::new();
    for (_, first, last, wire) in order {
        let mut number = 0;
        loop {
            let others = taken.entry((wire.is_back, number)).or_default();
            if others.iter().all(|(start, end)| last + LINE < *start || end + LINE < first) {
                others.push((first, last));
                break;
            }
            number += 1;
        }
        if let Some(lane) = lanes.get_mut(&wire) {
            lane.number = number;
        }
    }
    lanes
}

fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Next => "next",
        Kind::Fail => "fail",
        Kind::Stale => "stale",
    }
}

fn drawn(wire: Wire, lane: &Lane, left: usize, right: usize) -> String {
    let class = class(wire.kind);
    let (edge, run, tip) = if wire.is_back {
        let run = left - LANE - lane.number * LANE;
        (left, run, left - 8)
    } else {
        (right, right + LANE + lane.number * LANE, right + 8)
    };
    let mut text = String::new();
    let to = lane.to;
    for from in &lane.from {
        let _ =
            writeln!(text, "<path class=\"wire {class}\" d=\"M{edge} {from}H{run}V{to}H{tip}\"/>");
    }
    let _ = writeln!(
        text,
        "<path class=\"tip {class}\" d=\"M{edge} {to}L{tip} {}V{}Z\"/>",
        to - 4,
        to + 4
    );
    text
}

fn drawn_box(state: &State, one: &Frame, is_first: bool, left: usize, width: usize) -> String {
    let (top, height) = (one.top, one.height());
    let mut text = format!(
        "<rect class=\"box\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" rx=\"7\"/>\n"
    );
    if state.is_final {
        let _ = writeln!(
            text,
            "<rect class=\"inner\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"5\"/>",
            left + 3,
            top + 3,
            width - 6,
            height - 6
        );
    }
    let start = left + PADDING;
    let _ = writeln!(
        text,
        "<text class=\"name\" x=\"{start}\" y=\"{}\">{}</text>",
        one.entry() + BASELINE,
        escaped(&state.name)
    );
    if is_first {
        let _ = writeln!(
            text,
            "<text class=\"dim\" x=\"{}\" y=\"{}\" text-anchor=\"end\">start</text>",
            left + width - PADDING,
            one.entry() + BASELINE
        );
    }
    let mut before = None;
    for (number, line) in one.lines.iter().enumerate() {
        let middle = one.line(number);
        let is_way = matches!(line.kind, LineKind::Way { .. });
        if before != Some(is_way) {
            let _ = writeln!(
                text,
                "<path class=\"rule\" d=\"M{left} {}h{width}\"/>",
                middle - LINE / 2
            );
        }
        before = Some(is_way);
        let mut at = start;
        if line.kind == (LineKind::Tool { is_gated: true }) {
            let _ = writeln!(
                text,
                "<rect class=\"lock\" x=\"{at}\" y=\"{}\" width=\"9\" height=\"7\" rx=\"1\"/>\
                 <path class=\"shackle\" d=\"M{} {}v-2a2.5 2.5 0 0 1 5 0v2\"/>",
                middle - 1,
                at + 2,
                middle - 1
            );
        }
        if matches!(line.kind, LineKind::Tool { .. }) {
            at += 2 * ADVANCE / 10;
        }
        let class = if line.kind == LineKind::End { " class=\"dim\"" } else { "" };
        let tip = if line.text == line.whole {
            String::new()
        } else {
            format!("<title>{}</title>", escaped(&line.whole))
        };
        let shown = escaped(&line.text);
        let y = middle + BASELINE;
        let _ = writeln!(text, "<text{class} x=\"{at}\" y=\"{y}\">{tip}{shown}</text>");
    }
    text
}

/// The columns that `text` takes: letters of some writing systems take two.
fn columns(text: &str) -> usize {
    let wide = |c: &char| matches!(u32::from(*c), 0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f | 0xff00..=0xff60 | 0x1_f300..=0x3_fffd);
    text.chars().count() + text.chars().filter(wide).count()
}

/// `text` as XML reads it back. Characters that XML cannot have become spaces.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}
