//! `[upstream.NAME]`: MCP servers.

use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;

use super::fields::{Fields, Reader};
use super::{LONGEST_SECONDS, Transport, Upstream};

/// What a file says of a server.
pub(super) enum Entry {
    /// That it is not to be used, whoever defines it.
    Off,
    /// How it is reached.
    Server(Box<Upstream>),
}

/// Reads one server; a server with an error is left out.
pub(super) fn read<'v>(
    reader: &mut Reader<'_>,
    path: &str,
    name: Range<usize>,
    value: &'v Spanned<DeValue<'v>>,
) -> Option<Entry> {
    let mut fields = Fields::open(reader, path, value)?;
    let (command, url) = (fields.string("command"), fields.string("url"));
    let args = fields.strings("args");
    let is_off = fields.boolean("disabled").unwrap_or_default();
    let transport = match (command, url, args) {
        (Some(command), None, args) => {
            Some(Transport::Command { command, args: args.unwrap_or_default() })
        }
        (None, Some(url), None) => Some(Transport::Url(url)),
        _ if is_off => None,
        _ => {
            fields.reader.error(
                "BAD_VALUE",
                name,
                format!("`[{path}]` needs either `command` (with `args`) or `url`"),
                "write one of the two",
            );
            None
        }
    };
    let env = fields.strings("env").unwrap_or_default();
    let (set, cwd) = (fields.texts("set"), fields.string("cwd"));
    let (headers, bearer_env) = (fields.texts("headers"), fields.string("bearer_env"));
    let timeout_s = fields.integer("timeout_s", 1..=LONGEST_SECONDS);
    let roots = fields.boolean("roots").unwrap_or_default();
    // What belongs to the other kind would do nothing without a word.
    let foreign: &[&str] = match &transport {
        Some(Transport::Command { .. }) => &["headers", "bearer_env"],
        Some(Transport::Url(_)) => &["env", "set", "cwd"],
        None => &[],
    };
    for key in foreign {
        if fields.has(key) {
            let other = if *key == "headers" || *key == "bearer_env" { "url" } else { "command" };
            fields.bad_value(key, format!("belongs to a server with `{other}`"), "remove it");
        }
    }
    if !fields.finish() {
        return None;
    }
    if is_off {
        return Some(Entry::Off);
    }
    let transport = transport?;
    Some(Entry::Server(Box::new(Upstream {
        transport,
        env,
        set,
        cwd,
        headers,
        bearer_env,
        timeout_s,
        roots,
    })))
}
