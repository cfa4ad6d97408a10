//! `[tool.NAME]`: local tools.

use std::ops::Range;

use concertina_types::{Permissions, Severity, limits};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use toml::Spanned;
use toml::de::DeValue;

use super::LONGEST_SECONDS;
use super::fields::{Fields, Reader, strings, unknown_key};
use crate::nearest::{list, nearest};
use crate::parameters::unsupported_keywords;

/// Rows that a query returns unless the tool says otherwise: more do not fit one result.
pub const SQLITE_ROWS: u64 = 200;
/// Rows that a tool may ask for at most.
const MOST_ROWS: u64 = 1_000_000;

/// A tool of this machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tool {
    /// What it does when it is called.
    pub kind: ToolKind,
    /// What it is for.
    pub description: Option<String>,
    /// The category it belongs to.
    pub category: Option<String>,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
    /// What it declares that it needs; none where it says nothing of it.
    pub permissions: Option<Permissions>,
    /// What it can do harm to.
    pub danger: Danger,
    /// Whether it is visible only while a skill is open.
    pub needs_skill: NeedsSkill,
}

/// What a tool does when it is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ToolKind {
    /// It runs a program.
    Exec(Exec),
    /// It queries a database.
    Sqlite(Sqlite),
}

/// A program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Exec {
    /// The program and its arguments. `${name}` stands for a parameter, `$${` for `${`.
    pub argv: Vec<String>,
    /// Where it runs; the workspace unless set.
    pub cwd: Option<String>,
    /// Names of environment variables that it is given.
    pub env: Vec<String>,
    /// How long it may run, in seconds.
    pub timeout_s: u64,
    /// How much of its output is kept, in bytes.
    pub output_bytes: u64,
}

/// A database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sqlite {
    /// Where it comes from.
    pub source: SqliteSource,
    /// Rows that a query returns.
    pub max_rows: u64,
}

/// Where a database comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SqliteSource {
    /// A file that is there.
    Database(String),
    /// An SQL file from which a private database is made on first use.
    Seed(String),
}

/// What a tool can do harm to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Danger {
    /// It only reads.
    Safe,
    /// It changes something.
    Writes,
    /// What it changes cannot be brought back.
    Destructive,
}

/// Whether a tool is visible only while a skill that claims it is open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NeedsSkill {
    /// It is visible without one.
    #[default]
    No,
    /// Any open skill that claims it will do.
    Any,
    /// One of these has to be open and claim it.
    OneOf(Vec<String>),
}

impl Exec {
    /// The argument vector of a call. A value fills its place inside one argument and is never split
    /// or read again; a list or an object stands there as JSON. An argument whose parameter was not
    /// given is left out.
    ///
    /// A value that would make an option of an argument that begins with its place is refused: what
    /// programs take for an option is not for a value to say. Behind `--` it is none.
    ///
    /// ```
    /// use concertina_format::config::{ConfigOrigin, ToolKind, parse};
    /// let text = r#"
    /// [tool.search]
    /// argv = ["grep", "--max-count=${most}", "--regexp=${pattern}", "${file}"]
    /// parameters.properties = {pattern = {type = "string"}, most = {type = "integer"}, file = {}}
    /// "#;
    /// let (config, findings) = parse(text, ConfigOrigin::User);
    /// assert!(findings.is_empty());
    /// let Some(ToolKind::Exec(exec)) = config.tools.values().next().map(|tool| &tool.kind) else {
    ///     panic!("one program");
    /// };
    /// let filled = |arguments: serde_json::Value| exec.fill(arguments.as_object().unwrap());
    /// let arguments = serde_json::json!({"pattern": "-a b; ${most}", "file": "x"});
    /// assert_eq!(filled(arguments).unwrap(), ["grep", "--regexp=-a b; ${most}", "x"]);
    /// assert!(filled(serde_json::json!({"file": "-f/etc/passwd"})).is_err());
    /// ```
    pub fn fill(&self, arguments: &Map<String, Value>) -> Result<Vec<String>, OptionRefused> {
        let mut argv = Vec::new();
        for template in &self.argv {
            let Some(filled) = fill(template, arguments) else { continue };
            if let Some(name) = leads(template)
                && filled.starts_with('-')
                && !argv.iter().any(|argument| argument == "--")
            {
                return Err(OptionRefused { parameter: name.to_owned(), argument: filled });
            }
            argv.push(filled);
        }
        Ok(argv)
    }
}

/// A value that would be taken for an option.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{argument}`, the value of `{parameter}`, would be taken for an option; give one that does not begin with `-`, or write `--` before `${{{parameter}}}` in the tool's argv"
)]
pub struct OptionRefused {
    /// The parameter.
    pub parameter: String,
    /// The argument that its value would make.
    pub argument: String,
}

impl OptionRefused {
    /// The stable code of the refusal.
    pub fn code(&self) -> &'static str {
        "ARGUMENT_IS_OPTION"
    }
}

/// The parameter that the argument of `template` begins with.
fn leads(template: &str) -> Option<&str> {
    match pieces(template).into_iter().find(|piece| *piece != Piece::Text("")) {
        Some(Piece::Parameter(name)) => Some(name),
        _ => None,
    }
}

fn fill(template: &str, arguments: &Map<String, Value>) -> Option<String> {
    let mut out = String::new();
    for piece in pieces(template) {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Parameter(name) => match arguments.get(name)? {
                Value::Null => return None,
                Value::String(text) => out.push_str(text),
                other => out.push_str(&other.to_string()),
            },
        }
    }
    Some(out)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece<'a> {
    Text(&'a str),
    Parameter(&'a str),
}

/// One argument of a template, cut at its placeholders.
fn pieces(template: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("${") {
        if let Some(before) = before.strip_suffix('$') {
            pieces.extend([Piece::Text(before), Piece::Text("${")]);
            rest = after;
        } else if let Some((name, tail)) = after.split_once('}') {
            pieces.extend([Piece::Text(before), Piece::Parameter(name)]);
            rest = tail;
        } else {
            break;
        }
    }
    pieces.push(Piece::Text(rest));
    pieces
}

/// Reads one tool; a tool with an error is left out.
pub(super) fn read<'v>(
    reader: &mut Reader<'_>,
    path: &str,
    name: Range<usize>,
    value: &'v Spanned<DeValue<'v>>,
) -> Option<Tool> {
    #[derive(Clone, Copy, PartialEq)]
    enum Kind {
        Exec,
        Sqlite,
    }
    let mut fields = Fields::open(reader, path, value)?;
    let kind = match fields.choice("kind", &[("exec", Kind::Exec), ("sqlite", Kind::Sqlite)]) {
        Some(kind) => kind,
        // Which keys belong to a kind that does not exist, nobody knows.
        None if fields.value("kind").is_some() => return None,
        None => Kind::Exec,
    };
    let given = fields.json("parameters");
    let implied = || match kind {
        Kind::Exec => json!({"type": "object", "properties": {}, "additionalProperties": false}),
        Kind::Sqlite => json!({
            "type": "object",
            "properties": {"query": {"type": "string", "description": "one SQL statement"}},
            "required": ["query"],
            "additionalProperties": false
        }),
    };
    if given.as_ref().is_some_and(|schema| !schema.is_object()) {
        fields.bad_value("parameters", "must be a table", "write a JSON Schema as a TOML table");
    }
    for keyword in given.iter().flat_map(unsupported_keywords) {
        let span = fields.span("parameters");
        fields.reader.tell(
            "SCHEMA_UNSUPPORTED",
            Severity::Warning,
            span,
            format!("`{path}.parameters`: `{keyword}` is not checked"),
            "write parameters below `properties`, and use the keywords that are checked",
        );
    }
    let parameters = given.unwrap_or_else(implied);
    let described = match kind {
        Kind::Exec => exec(&mut fields, &parameters, &name).map(ToolKind::Exec),
        Kind::Sqlite => sqlite(&mut fields, &name).map(ToolKind::Sqlite),
    };
    let dangers =
        [("safe", Danger::Safe), ("writes", Danger::Writes), ("destructive", Danger::Destructive)];
    let danger = fields.choice("danger", &dangers).unwrap_or(match kind {
        Kind::Exec => Danger::Writes,
        Kind::Sqlite => Danger::Safe,
    });
    let description = fields.string("description");
    let category = fields.string("category");
    let needs_skill = needs_skill(&mut fields);
    let permissions = permissions(&mut fields, path);
    fields.finish().then_some(Tool {
        kind: described?,
        description,
        category,
        parameters,
        permissions,
        danger,
        needs_skill,
    })
}

fn exec(fields: &mut Fields<'_, '_, '_>, parameters: &Value, name: &Range<usize>) -> Option<Exec> {
    if let Some(argv) = fields.strings("argv") {
        check_argv(fields, &argv, parameters);
        let seconds = fields.integer("timeout_s", 1..=LONGEST_SECONDS);
        let most = limits::OUTPUT_BYTES as u64;
        return Some(Exec {
            argv,
            cwd: fields.string("cwd"),
            env: fields.strings("env").unwrap_or_default(),
            timeout_s: seconds.unwrap_or(limits::TOOL_SECONDS),
            output_bytes: fields.integer("output_bytes", 1..=most).unwrap_or(most),
        });
    }
    if fields.value("argv").is_none() {
        fields.reader.error(
            "BAD_VALUE",
            name.clone(),
            "this tool needs `argv`: it runs a program",
            "write argv = [\"program\", \"${parameter}\"]",
        );
    }
    None
}

/// Programs that read an argument as a script.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "pwsh", "powershell"];

fn check_argv(fields: &mut Fields<'_, '_, '_>, argv: &[String], parameters: &Value) {
    let none = Map::new();
    let declared = parameters.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let holds_parameter =
        |text: &String| pieces(text).iter().any(|piece| matches!(piece, Piece::Parameter(_)));
    let Some(program) = argv.first().filter(|program| !program.trim().is_empty()) else {
        return fields.bad_value("argv", "names no program", "write the program first");
    };
    if holds_parameter(program) {
        fields.bad_value("argv", "the program cannot be a parameter", "name the program");
    }
    for piece in argv.iter().flat_map(|text| pieces(text)) {
        if let Piece::Parameter(name) = piece
            && !declared.contains_key(name)
        {
            let names = || declared.keys().map(String::as_str);
            let help = nearest(name, names()).map_or_else(
                || format!("declare it, or write `$${{{name}}}`; declared are: {}", list(names())),
                |near| format!("did you mean `${{{near}}}`?"),
            );
            fields.bad_value("argv", format!("`${{{name}}}` is no declared parameter"), help);
        }
    }
    let base = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let is_script_flag =
        |text: &str| text.starts_with('-') && !text.starts_with("--") && text.ends_with('c');
    let script = argv.iter().skip_while(|text| !is_script_flag(text)).nth(1);
    if SHELLS.contains(&base.trim_end_matches(".exe")) && script.is_some_and(holds_parameter) {
        fields.bad_value(
            "argv",
            "a parameter cannot be part of a shell script",
            "pass it after the script and read it there as \"$1\"",
        );
    }
}

fn sqlite(fields: &mut Fields<'_, '_, '_>, name: &Range<usize>) -> Option<Sqlite> {
    let source = match (fields.string("database"), fields.string("seed")) {
        (Some(file), None) => Some(SqliteSource::Database(file)),
        (None, Some(file)) => Some(SqliteSource::Seed(file)),
        _ => {
            fields.reader.error(
                "BAD_VALUE",
                name.clone(),
                "this tool needs either `database` or `seed`: it queries a database",
                "write database = \"FILE.db\" or seed = \"FILE.sql\"",
            );
            None
        }
    };
    let max_rows = fields.integer("max_rows", 1..=MOST_ROWS).unwrap_or(SQLITE_ROWS);
    source.map(|source| Sqlite { source, max_rows })
}

fn needs_skill(fields: &mut Fields<'_, '_, '_>) -> NeedsSkill {
    let Some(value) = fields.value("needs_skill") else { return NeedsSkill::No };
    match (value.get_ref().as_bool(), strings(value.get_ref())) {
        (Some(false), _) => NeedsSkill::No,
        (Some(true), _) => NeedsSkill::Any,
        (None, Some(skills)) if !skills.is_empty() => NeedsSkill::OneOf(skills),
        _ => {
            let help = "write needs_skill = true, or needs_skill = [\"skill\"]";
            fields.bad_value("needs_skill", "must be true, false or a list of skills", help);
            NeedsSkill::Any
        }
    }
}

/// The keys of `permissions`.
const PERMISSIONS: [&str; 7] =
    ["read", "write", "network", "execute", "tools", "confirm", "on_unexpected"];

/// Reads `permissions` in the forms that a skill may use: a single scope stands for a list of one,
/// and `execute` may be written `{allowed = […]}`.
fn permissions(fields: &mut Fields<'_, '_, '_>, path: &str) -> Option<Permissions> {
    let value = fields.value("permissions")?;
    if let Some(table) = value.get_ref().as_table() {
        for key in table.keys().filter(|key| !PERMISSIONS.contains(&key.get_ref().as_ref())) {
            let place = format!("`[{path}.permissions]`");
            unknown_key(fields.reader, key.span(), key.get_ref(), &place, &PERMISSIONS);
        }
    }
    let mut value = super::fields::json(value.get_ref());
    for key in ["read", "write", "network"] {
        if let Some(scope) = value.get_mut(key).filter(|scope| scope.is_object()) {
            *scope = json!([scope.take()]);
        }
    }
    if let Some(execute) = value.get_mut("execute") {
        let allowed = execute.get_mut("allowed").map(Value::take);
        if let Some(allowed) = allowed {
            *execute = allowed;
        }
    }
    Some(serde_json::from_value(value).unwrap_or_else(|error| {
        let help = "write it as in a skill, such as read = [{paths = [\"src/**\"]}]";
        fields.bad_value("permissions", error, help);
        Permissions::default()
    }))
}
