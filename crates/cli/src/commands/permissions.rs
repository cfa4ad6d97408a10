//! `concertina permissions …`.

use concertina_core::policy::{FilePath, Surroundings};
use concertina_runtime::audit::{denials, suggestion};
use concertina_runtime::private::secret_places;
use concertina_types::{Permissions, SkillId};
use serde_json::{Value, json};

use crate::args::PermissionsCommand;
use crate::commands::stats::say_unreadable;
use crate::error::{CliError, Exit};
use crate::output::{Output, count};
use crate::place;

pub(crate) fn run(command: &PermissionsCommand, out: &mut Output) -> Result<u8, CliError> {
    let PermissionsCommand::Suggest { skill, session } = command;
    let skill = skill.as_deref().map(|name| {
        SkillId::new(name.strip_prefix("skill:").unwrap_or(name))
            .map_err(|error| CliError::usage(error.to_string()))
    });
    let skill = skill.transpose()?;
    let session = session.as_deref().map(place::parse_id).transpose()?;
    let found = denials(&place::store()?, session.as_ref())?;
    let (suggested, untold) = suggestion(&found, skill.as_ref(), &surroundings()?);
    if out.is_json() {
        out.json(&json!({
            "skill": skill, "permissions": suggested.permissions, "withheld": suggested.withheld,
            "untold": untold,
        }))?;
        return Ok(0);
    }
    if suggested.permissions == Permissions::default() {
        out.say("nothing was refused that a declaration would allow");
    } else {
        out.raw(&yaml(&suggested.permissions))?;
    }
    for withheld in &suggested.withheld {
        out.say(format!("left out: {}: {} [{}]", withheld.request, withheld.reason, withheld.code));
    }
    if untold > 0 {
        out.say(format!("{} not about a permission", count(untold, "refusal")));
    }
    say_unreadable(&found.logs.unreadable, out);
    Ok(0)
}

/// As it stands in the frontmatter of a skill.
fn yaml(permissions: &Permissions) -> String {
    let value = serde_json::to_value(permissions).unwrap_or_default();
    let is_said = |value: &&Value| match value {
        Value::Array(items) => !items.is_empty(),
        Value::Null => false,
        _ => true,
    };
    let default = serde_json::to_value(Permissions::default()).unwrap_or_default();
    let fields = value.as_object().into_iter().flatten();
    let lines = fields
        .filter(|(key, value)| is_said(value) && default.get(key.as_str()) != Some(value))
        .map(|(key, value)| format!("  {key}: {value}\n"));
    lines.fold("permissions:\n".to_owned(), |text, line| text + &line)
}

fn surroundings() -> Result<Surroundings, CliError> {
    let unusable = |why: String| {
        CliError::new(Exit::Environment, "NO_DIRECTORY", format!("the current directory {why}"))
    };
    let current =
        std::env::current_dir().map_err(|error| unusable(format!("cannot be read: {error}")))?;
    let workspace = FilePath::new(&current.to_string_lossy())
        .map_err(|error| unusable(format!("cannot be used: {error}")))?;
    let path = |path: &std::path::Path| FilePath::new(&path.to_string_lossy()).ok();
    let mut around = Surroundings::new(workspace);
    around.home = place::variable("HOME").and_then(|home| path(std::path::Path::new(&home)));
    // State is not for a skill to write, and its keys not to read.
    let home = place::home()?;
    around.unwritable.extend(path(&home));
    around.secret.extend(secret_places(&home).filter_map(|secret| path(&secret)));
    Ok(around)
}
