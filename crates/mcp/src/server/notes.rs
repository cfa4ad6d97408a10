//! What stands before an answer, and what is said of servers that do not serve.

use std::borrow::Borrow;

use concertina_core::context::disarm;
use concertina_runtime::upstream::{Offer, Server, ServerState};
use concertina_types::limits;

/// Servers named one by one before an answer; more are counted.
const NAMED: usize = 5;
/// What is shown of a server's reason, in characters.
const REASON_CHARS: usize = 160;

/// Lines that stand before an answer, the most urgent first.
#[derive(Debug, Default)]
pub(super) struct Lead(Vec<String>);

impl Lead {
    /// Adds a line or a block of lines.
    pub(super) fn say(&mut self, line: impl Into<String>) {
        let line = line.into();
        if !line.trim().is_empty() {
            self.0.push(line.trim_end().to_owned());
        }
    }

    /// Everything, within its limit.
    pub(super) fn text(&self) -> String {
        let whole = self.0.join("\n");
        if whole.len() <= limits::LEAD_BYTES {
            return whole;
        }
        let note = "\n[cut here; open menu: and find show the rest]";
        let room = whole.floor_char_boundary(limits::LEAD_BYTES.saturating_sub(note.len()));
        format!("{}{note}", whole.get(..room).unwrap_or_default())
    }
}

/// The servers whose tools are missing, with the reason. `only` names the one that matters.
pub(super) fn missing(offer: &Offer, only: Option<&str>) -> Vec<String> {
    let lacks = |server: &&Server| !serves(server) && only.is_none_or(|name| name == server.name);
    let missing: Vec<&Server> = offer.servers.iter().filter(lacks).collect();
    let mut lines: Vec<String> = missing.iter().take(NAMED).map(|server| line(server)).collect();
    if missing.len() > NAMED {
        let names: Vec<&str> =
            missing.iter().skip(NAMED).map(|server| server.name.as_str()).collect();
        lines.push(disarm(&format!("These do not serve, either: {}.", names.join(", "))));
    }
    lines
}

/// The names of servers whose tools are missing.
pub(super) fn missing_names(offer: &Offer) -> Vec<String> {
    let missing = offer.servers.iter().filter(|server| !serves(server));
    missing.map(|server| disarm(&server.name)).collect()
}

fn serves(server: &Server) -> bool {
    matches!(server.state, ServerState::Known | ServerState::Ready)
}

/// The first `count` of `names`, and how many more there are.
pub(super) fn first<S: Borrow<str>>(names: &[S], count: usize) -> String {
    let some = names.get(..count).unwrap_or(names).join(", ");
    match names.len().saturating_sub(count) {
        0 => some,
        more => format!("{some} and {more} more"),
    }
}

/// That some servers have not said yet what they bring, where that is so.
pub(super) fn starting(offer: &Offer) -> Option<String> {
    let starting = offer.servers.iter().filter(|server| server.state == ServerState::Starting);
    let names: Vec<&str> = starting.map(|server| server.name.as_str()).collect();
    let some = first(&names, NAMED);
    (!names.is_empty()).then(|| disarm(&format!("Not searched, since they still start: {some}.")))
}

fn line(server: &Server) -> String {
    let state = match server.state {
        ServerState::Starting => "still starts",
        ServerState::Failed => "failed",
        ServerState::NeedsLogin => "wants a login",
        ServerState::Untrusted => "waits for trust",
        ServerState::Known | ServerState::Ready => "serves",
    };
    let note: String =
        server.note.iter().flat_map(|note| note.chars()).take(REASON_CHARS).collect();
    let note = note.split_whitespace().collect::<Vec<_>>().join(" ");
    let colon = if note.is_empty() { "" } else { ": " };
    disarm(&format!("server {} {state}{colon}{note}", server.name))
}
