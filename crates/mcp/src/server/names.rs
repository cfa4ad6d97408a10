//! Names of tools as clients write them.

use concertina_core::catalog::ToolEntry;
use concertina_core::catalog::search::nearest_names;
use concertina_core::session::{known_tool, visible_tools};
use concertina_runtime::Session;
use concertina_types::{Digest, Ref, ToolName};

/// What the strictest model provider takes as a tool's name, in bytes.
const ALIAS_BYTES: usize = 64;
/// Names shown to whoever wrote none that is known.
const NEAREST: usize = 5;
/// Digits of the digest in an alias that cannot say the whole name.
const DIGITS: usize = 8;

/// The name of a tool where only letters, digits, `_` and `-` are allowed: `server__tool`. It depends
/// on nothing but the name, and two tools never share one.
pub fn alias(name: &ToolName) -> String {
    flat(name.as_str())
}

/// The alias of something that opens when it is called: `skill__NAME`, `menu__NAME`.
pub(super) fn opener(kind: &str, name: &str) -> String {
    flat(&format!("{kind}/{name}"))
}

fn flat(name: &str) -> String {
    let flat: String = name
        .replace('/', "__")
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' })
        .collect();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/');
    let says_all = name.chars().all(is_plain)
        && !["__", "_/", "/_"].iter().any(|doubtful| name.contains(doubtful))
        && !super::tools::is_own(name)
        && flat.len() <= ALIAS_BYTES;
    if says_all {
        return flat;
    }
    let digits: String = Digest::of(name.as_bytes()).hex().chars().take(DIGITS).collect();
    let head: String = flat.chars().take(ALIAS_BYTES - DIGITS - 1).collect();
    format!("{head}_{digits}")
}

/// Which tool a client means that calls `written`, which is none of the four.
pub(super) enum Meant {
    /// This one, whether or not it may be called.
    Tool(String),
    /// One of several that are visible.
    OneOf(Vec<String>),
    /// None; these come nearest.
    Nearest(Vec<String>),
    /// Something to open, by its reference.
    Opened(String),
}

/// The tool called `written`: by its name, by its alias, or by the end of its name where that fits
/// exactly one visible tool.
pub(super) fn meant(session: &Session, written: &str) -> Meant {
    let snapshot = session.snapshot();
    let world = session.world();
    let known =
        ToolName::new(written).ok().and_then(|name| known_tool(session.state(), &world, &name));
    if known.is_some() {
        return Meant::Tool(written.to_owned());
    }
    let visible = visible_tools(session.state(), &world);
    let mut tools = snapshot.tools.iter().map(AsRef::as_ref).chain(visible.iter().copied());
    if let Some(tool) = tools.find(|tool| alias(&tool.name) == written) {
        return Meant::Tool(tool.name.to_string());
    }
    if written.starts_with("skill__") {
        let mut skills = snapshot.skills.iter();
        if let Some(skill) = skills.find(|skill| opener("skill", skill.id.as_str()) == written) {
            return Meant::Opened(Ref::skill(skill.id.clone()).to_string());
        }
    }
    if written.starts_with("menu__") {
        let menus = session.menus();
        if let Some((menu, ..)) = menus.iter().find(|(menu, ..)| opener("menu", menu) == written) {
            return Meant::Opened(Ref::Menu(menu.clone()).to_string());
        }
    }
    let plain =
        |tool: &ToolEntry| tool.name.as_str().rsplit('/').next().unwrap_or_default().to_owned();
    let named = |wanted: &str| -> Vec<String> {
        let named = visible.iter().filter(|tool| plain(tool) == wanted);
        named.map(|tool| tool.name.to_string()).collect()
    };
    let mut found = named(written);
    if found.len() > 1 {
        return Meant::OneOf(found);
    }
    if let Some(one) = found.pop() {
        return Meant::Tool(one);
    }
    let plains: Vec<String> = visible.iter().map(|tool| plain(tool)).collect();
    let near = nearest_names(written, plains.iter().map(String::as_str), NEAREST);
    let mut near: Vec<String> = near.into_iter().flat_map(named).collect();
    near.sort();
    near.dedup();
    near.truncate(NEAREST);
    if near.is_empty() { Meant::Tool(written.to_owned()) } else { Meant::Nearest(near) }
}
