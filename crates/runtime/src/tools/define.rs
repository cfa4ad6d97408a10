//! Tools from settings: what the catalogue says of each, and what runs it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use concertina_core::catalog::{Category, JsonText, ToolEntry};
use concertina_format::config::{self, Config, SqliteSource, ToolKind};
use concertina_types::{Diagnostic, Digest, Severity, ToolName, canonical_json};

use super::{ExecTool, Runner, SqliteTool};
use crate::settings::SettingsFile;

/// The tools of a workspace.
#[derive(Debug, Default)]
pub(crate) struct Defined {
    /// What the catalogue says of them, sorted by name.
    pub(crate) tools: Vec<ToolEntry>,
    /// The categories that they sit in.
    pub(crate) categories: BTreeMap<String, Category>,
    /// What runs them.
    pub(crate) runners: BTreeMap<ToolName, Runner>,
    /// Why one was left out, with the file that defines it.
    pub(crate) findings: Vec<(PathBuf, Diagnostic)>,
}

/// Makes the tools that `config` defines. One that cannot be made costs only itself.
pub(crate) fn define(
    config: &Config,
    from: &BTreeMap<ToolName, SettingsFile>,
    home: &Path,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Defined {
    let mut defined = Defined::default();
    for (name, category) in &config.menu {
        let category = Category {
            title: category.title.clone().unwrap_or_default(),
            description: category.description.clone().unwrap_or_default(),
            ..Category::default()
        };
        defined.categories.insert(name.clone(), category);
    }
    for (name, tool) in &config.tools {
        let Some(from) = from.get(name) else { continue };
        match runner(tool, from, home, variable) {
            Ok(runner) => {
                let entry = entry(name, tool, runner.kind());
                defined.tools.push(entry);
                defined.runners.insert(name.clone(), runner);
            }
            Err(why) => {
                let message = format!("tool {name} was left out: {why}");
                let found = Diagnostic::new("TOOL_LEFT_OUT", Severity::Error, message);
                defined.findings.push((from.location(), found));
            }
        }
    }
    defined
}

fn runner(
    tool: &config::Tool,
    from: &SettingsFile,
    home: &Path,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Runner, String> {
    Ok(match &tool.kind {
        ToolKind::Exec(exec) => {
            exec.cwd.as_ref().map(|cwd| from.path(cwd)).transpose()?;
            Runner::Exec(ExecTool::new(exec.clone(), variable))
        }
        ToolKind::Sqlite(sqlite) => Runner::Sqlite(match &sqlite.source {
            SqliteSource::Database(path) => SqliteTool::database(from.path(path)?, sqlite.max_rows),
            SqliteSource::Seed(path) => {
                SqliteTool::seeded(from.path(path)?, home.to_owned(), sqlite.max_rows)
            }
        }),
    })
}

fn entry(name: &ToolName, tool: &config::Tool, runner: &str) -> ToolEntry {
    let definition = serde_json::to_value(tool).unwrap_or_default();
    ToolEntry {
        name: name.clone(),
        title: None,
        description: tool.description.clone().unwrap_or_default(),
        parameters: JsonText::from(&tool.parameters),
        output: None,
        category: tool.category.clone().unwrap_or_default(),
        danger: tool.danger,
        needs_skill: tool.needs_skill.clone(),
        trusted: true,
        quarantined: None,
        runner: runner.to_owned(),
        server: None,
        permissions: tool.permissions.clone().unwrap_or_default(),
        unstated: tool.permissions.is_none(),
        digest: Digest::of(canonical_json(&definition).as_bytes()),
    }
}
