//! The sections of a file, one after the other.

use std::ops::RangeInclusive;

use concertina_types::{Diagnostic, Severity, ToolName};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fields::{Fields, Reader, strings, unknown_key, wrong_type};
use super::upstream::Entry;
use super::{
    CONFIG_BYTES, Category, Config, ConfigOrigin, PolicySetting, SourceProfile, Tier, policy,
    search, syntax, tool, upstream,
};

/// All sections.
const SECTIONS: [&str; 15] = [
    "sources",
    "listing",
    "search",
    "context",
    "trust",
    "policy",
    "menu",
    "tool",
    "upstream",
    "procedures",
    "run",
    "model",
    "store",
    "telemetry",
    "sandbox",
];

/// More tokens than any window has, so that a slip of the keyboard is noticed.
const TOKENS: u64 = 100_000_000;

/// Syntax errors that are reported of one file.
const FAULTS: usize = 50;

pub(super) fn read(
    mut config: Config,
    text: &str,
    origin: ConfigOrigin,
) -> (Config, Vec<Diagnostic>) {
    let mut reader = Reader::new(text, origin, std::mem::take(&mut config.locked));
    if text.len() > CONFIG_BYTES {
        reader.error(
            "CONFIG_TOO_LARGE",
            0..0,
            format!(
                "the file has {} bytes, the limit is {CONFIG_BYTES}; it is not read",
                text.len()
            ),
            "shorten it",
        );
        config.policy = PolicySetting::Unreadable;
    } else {
        let (table, faults) = DeTable::parse_recoverable(text);
        // Each fault costs a look at the whole file; past the limit the policy counts as hurt.
        let mut policy_hurt = faults.len() > FAULTS && syntax::mentions_policy(text);
        for fault in faults.iter().take(FAULTS) {
            let span = fault.span().unwrap_or_default();
            policy_hurt |= syntax::may_cost_policy(text, &span);
            let message = fault.message().trim().replace('\n', "; ");
            let message = format!("this is no TOML: {message}");
            reader.error("CONFIG_SYNTAX", span, message, "the lines around it are not read");
        }
        let table = table.get_ref();
        let has_policy = table.contains_key("policy");
        policy_hurt |= reader.errors > 0 && !has_policy && syntax::mentions_policy(text);
        sections(&mut config, &mut reader, table);
        if policy_hurt {
            config.policy = PolicySetting::Unreadable;
        }
    }
    reader.sort();
    if config.policy == PolicySetting::Unreadable && reader.errors > 0 {
        reader.diagnostics.push(
            Diagnostic::new(
                "POLICY_UNREADABLE",
                Severity::Error,
                "the policy cannot be read in full, so everything is denied",
            )
            .help("repair the lines named above"),
        );
    }
    config.locked = reader.locked;
    (config, reader.diagnostics)
}

fn sections<'v>(config: &mut Config, reader: &mut Reader<'_>, table: &'v DeTable<'v>) {
    for (key, value) in table {
        let name = key.get_ref().as_ref();
        if reader.workspace() && matches!(name, "store" | "trust" | "search") {
            reader.refuse(key.span(), &format!("`[{name}]`"));
            continue;
        }
        match name {
            "policy" => {
                config.policy = policy::read(reader, value, std::mem::take(&mut config.policy));
            }
            "search" => search::read(reader, value, &mut config.search),
            "menu" => named(reader, name, value, |reader, path, name, value| {
                menu(config, reader, path, name, value);
            }),
            "tool" => named(reader, name, value, |reader, path, name, value| {
                local_tool(config, reader, path, name, value);
            }),
            "upstream" => named(reader, name, value, |reader, path, name, value| {
                server(config, reader, path, name, value);
            }),
            known if SECTIONS.contains(&known) => {
                if let Some(fields) = Fields::open(reader, known, value) {
                    plain(config, known, fields);
                }
            }
            _ => unknown_key(reader, key.span(), name, "the file", &SECTIONS),
        }
    }
}

/// Sections whose keys are settings.
fn plain(config: &mut Config, section: &str, mut fields: Fields<'_, '_, '_>) {
    match section {
        "sources" => {
            let profiles =
                [("agentskills", SourceProfile::AgentSkills), ("claude", SourceProfile::Claude)];
            fields.extend("roots", &mut config.sources.roots);
            fields.extend_globs("exclude", &mut config.sources.exclude);
            set(&mut config.sources.profile, fields.choice("profile", &profiles));
            match fields.boolean("clients") {
                Some(true) if fields.reader.workspace() && !config.sources.clients => {
                    fields.refuse("clients");
                }
                clients => set(&mut config.sources.clients, clients),
            }
        }
        "listing" => {
            let listing = &mut config.listing;
            budget(&mut fields, "window", 1..=TOKENS, &mut listing.window);
            budget(&mut fields, "percent", 0..=100, &mut listing.percent);
            budget(&mut fields, "chars", 0..=TOKENS, &mut listing.chars);
            budget(&mut fields, "entry_chars", 1..=TOKENS, &mut listing.entry_chars);
            budget(&mut fields, "inline_tokens", 0..=TOKENS, &mut listing.inline_tokens);
            fields.extend("pinned", &mut listing.pinned);
            fields.extend_globs("exclude", &mut listing.exclude);
        }
        "context" => {
            budget(&mut fields, "budget", 1..=TOKENS, &mut config.context.budget.0);
        }
        "trust" => {
            set(&mut config.trust.approver, fields.strings("approver"));
            fields.extend("keys", &mut config.trust.keys);
        }
        "procedures" => {
            let procedures = &mut config.procedures;
            // The same words of two files name two files.
            procedures.files.extend(fields.strings("files").into_iter().flatten());
            match (fields.string("always"), &procedures.always) {
                (Some(new), Some(set)) if new != *set => {
                    let message = format!("`procedures.always` is `{set}` already; it is ignored");
                    let span = fields.span("always");
                    let help = "remove it here, or where it was set before";
                    fields.reader.error("ALREADY_SET", span, &message, help);
                }
                (new @ Some(_), _) => procedures.always = new,
                (None, _) => {}
            }
            // Whoever the agent runs as may not say that the agent may pass for a person.
            match fields.boolean("same_uid_approvals") {
                Some(_) if fields.reader.origin != ConfigOrigin::Managed => {
                    let span = fields.span("same_uid_approvals");
                    fields.reader.error(
                        "MANAGED_ONLY",
                        span,
                        "only the managed configuration can set `procedures.same_uid_approvals`; it is ignored",
                        "let the administrator set it, or answer over HTTP with an approver's token",
                    );
                }
                same_uid => set(&mut procedures.same_uid_approvals, same_uid),
            }
        }
        "run" => {
            replace(&mut config.run.task, fields.string("task"));
            replace(&mut config.run.model, model_name(&mut fields, "model"));
        }
        "model" => {
            let model = &mut config.model;
            replace(&mut model.name, model_name(&mut fields, "name"));
            replace(&mut model.base_url, endpoint(&mut fields, "base_url"));
            replace(&mut model.effort, fields.string("effort"));
            replace(&mut model.max_output_tokens, fields.integer("max_output_tokens", 1..=TOKENS));
        }
        "store" => {
            replace(&mut config.store.path, fields.string("path"));
            replace(&mut config.store.url, fields.string("url"));
        }
        "telemetry" => {
            replace(&mut config.telemetry.endpoint, endpoint(&mut fields, "endpoint"));
            match fields.boolean("content") {
                Some(true) if fields.reader.workspace() => fields.refuse("content"),
                content => set(&mut config.telemetry.content, content),
            }
        }
        _ => {
            let tiers =
                [("none", Tier::None), ("l1", Tier::L1), ("l2", Tier::L2), ("l3", Tier::L3)];
            match fields.choice("tier", &tiers) {
                Some(tier) if fields.reader.workspace() && tier < config.sandbox.tier => {
                    fields.refuse("tier");
                }
                tier => set(&mut config.sandbox.tier, tier),
            }
        }
    }
    fields.finish();
}

pub(super) fn set<T>(setting: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *setting = value;
    }
}

fn replace<T>(setting: &mut Option<T>, value: Option<T>) {
    if value.is_some() {
        *setting = value;
    }
}

/// A number that a workspace may lower and not raise.
fn budget<T: TryFrom<u64> + PartialOrd + Copy + std::fmt::Display>(
    fields: &mut Fields<'_, '_, '_>,
    key: &'static str,
    range: RangeInclusive<u64>,
    setting: &mut T,
) {
    let Some(number) = fields.integer(key, range).and_then(|n| T::try_from(n).ok()) else { return };
    if fields.reader.workspace() && number > *setting {
        fields.refuse_more(key, *setting);
    } else {
        *setting = number;
    }
}

/// An address that something is sent to: never a workspace's to choose.
fn endpoint(fields: &mut Fields<'_, '_, '_>, key: &'static str) -> Option<String> {
    let value = fields.string(key)?;
    if fields.reader.workspace() {
        fields.refuse(key);
        return None;
    }
    Some(value)
}

/// `scripted:FILE`, `openai:NAME` or `anthropic:NAME`; a workspace may only name the first.
fn model_name(fields: &mut Fields<'_, '_, '_>, key: &'static str) -> Option<String> {
    let name = fields.string(key)?;
    let provider = name.split_once(':').filter(|(_, rest)| !rest.is_empty()).map(|(kind, _)| kind);
    match provider {
        Some("openai" | "anthropic") if fields.reader.workspace() => {
            fields.refuse(key);
            None
        }
        Some("scripted" | "openai" | "anthropic") => Some(name),
        _ => {
            fields.bad_value(
                key,
                format!("`{name}` names no model"),
                "write scripted:FILE, openai:NAME or anthropic:NAME",
            );
            None
        }
    }
}

/// A section whose keys are names that the file chooses.
fn named<'v, 't>(
    reader: &mut Reader<'t>,
    section: &str,
    value: &'v Spanned<DeValue<'v>>,
    mut each: impl FnMut(&mut Reader<'t>, &str, &'v Name<'v>, &'v Spanned<DeValue<'v>>),
) {
    let Some(table) = value.get_ref().as_table() else {
        return wrong_type(reader, section, value, "a table");
    };
    for (name, value) in table {
        each(reader, &format!("{section}.{}", name.get_ref()), name, value);
    }
}

type Name<'v> = Spanned<std::borrow::Cow<'v, str>>;

/// A later file does not redefine what an earlier one defines.
fn defined(reader: &mut Reader<'_>, path: &str, name: &Name<'_>) {
    reader.tell(
        "ALREADY_DEFINED",
        Severity::Warning,
        name.span(),
        format!("`[{path}]` is defined in a file above, which stays in force"),
        "choose another name",
    );
}

fn menu<'v>(
    config: &mut Config,
    reader: &mut Reader<'_>,
    path: &str,
    name: &'v Name<'v>,
    value: &'v Spanned<DeValue<'v>>,
) {
    // The one name that is no category: always visible tools are in none.
    if name.get_ref() == "pinned"
        && let Some(tools) = strings(value.get_ref())
    {
        let new = tools.into_iter().filter(|tool| !config.pinned_tools.contains(tool));
        let new: Vec<String> = new.collect();
        return config.pinned_tools.extend(new);
    }
    if config.menu.contains_key(name.get_ref().as_ref()) {
        return defined(reader, path, name);
    }
    let category = if let Some(tools) = strings(value.get_ref()) {
        Category { tools, ..Category::default() }
    } else {
        let Some(mut fields) = Fields::open(reader, path, value) else { return };
        let mut tools = Vec::new();
        fields.extend_globs("tools", &mut tools);
        let category = Category {
            title: fields.string("title"),
            description: fields.string("description"),
            tools,
            servers: fields.strings("servers").unwrap_or_default(),
        };
        if !fields.finish() {
            return reader.left_out(name.span(), path);
        }
        category
    };
    config.menu.insert(name.get_ref().to_string(), category);
}

fn local_tool<'v>(
    config: &mut Config,
    reader: &mut Reader<'_>,
    path: &str,
    name: &'v Name<'v>,
    value: &'v Spanned<DeValue<'v>>,
) {
    let tool_name = match ToolName::new(name.get_ref().as_ref()) {
        Ok(name) => name,
        Err(error) => {
            let help = "a tool is named like `sql/query`";
            return reader.error("BAD_VALUE", name.span(), error.to_string(), help);
        }
    };
    if config.tools.contains_key(&tool_name) {
        return defined(reader, path, name);
    }
    match tool::read(reader, path, name.span(), value) {
        Some(tool) => {
            config.tools.insert(tool_name, tool);
        }
        None => reader.left_out(name.span(), path),
    }
}

fn server<'v>(
    config: &mut Config,
    reader: &mut Reader<'_>,
    path: &str,
    name: &'v Name<'v>,
    value: &'v Spanned<DeValue<'v>>,
) {
    let known = name.get_ref().as_ref();
    match upstream::read(reader, path, name.span(), value) {
        Some(Entry::Off) => {
            config.switched_off.insert(known.to_owned());
        }
        Some(Entry::Server(_)) if config.upstreams.contains_key(known) => {
            defined(reader, path, name);
        }
        Some(Entry::Server(upstream)) => {
            config.upstreams.insert(known.to_owned(), *upstream);
        }
        None => reader.left_out(name.span(), path),
    }
}
