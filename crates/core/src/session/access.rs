//! What a call may do: what the session was given, what its tool declares, and what the open skills that
//! claim it were opened for. It is computed from what is open, so closing works in any order.

use concertina_types::{Digest, NetworkScope, PathScope, Permissions, SkillId, canonical_json};

use super::answer::Refusal;
use super::settings::Settings;
use super::state::State;
use super::world::World;
use crate::catalog::{Danger, ToolEntry};
use crate::policy::{Access, FilePath, Part, Scope, Surroundings, resolve};

/// What a call of `tool` may do.
///
/// # Errors
/// `BAD_PERMISSIONS` where a declaration cannot be made sense of: half of one is none.
pub fn access_of_tool(
    state: &State,
    world: &World<'_>,
    tool: &ToolEntry,
) -> Result<Access, Refusal> {
    let settings = world.settings;
    let own = if tool.unstated {
        in_workspace(settings, tool.danger)?
    } else {
        resolved(settings, &tool.permissions, &format!("tool:{}", tool.name))?
    };
    let mut access = settings.access.meet(&own);
    let claiming = state.open.iter().filter(|open| open.claims(&tool.name));
    let mut asked: Option<Access> = None;
    for open in claiming {
        let of = bounds(settings, &open.opened.id, &open.opened.permissions)?;
        asked = Some(asked.map_or(of.clone(), |all| all.join(&of)));
    }
    if let Some(asked) = asked {
        access = access.meet(&asked);
    }
    Ok(access)
}

/// What a tool of the settings may do that does not say: it works in the workspace.
fn in_workspace(settings: &Settings, danger: Danger) -> Result<Access, Refusal> {
    let everywhere = || vec![PathScope { paths: vec!["**".to_owned()] }];
    let write = if danger == Danger::Safe { Vec::new() } else { everywhere() };
    let permissions = Permissions { read: everywhere(), write, ..Permissions::default() };
    // The workspace may hold places that none may write: there they are held, and nothing is refused.
    let around = Surroundings { unwritable: Vec::new(), ..surroundings(settings)? };
    let access = resolve(&permissions, &around).map_err(|errors| {
        let first = errors.first().map(ToString::to_string).unwrap_or_default();
        Refusal::new("BAD_PERMISSIONS", format!("the workspace cannot be granted: {first}"))
    })?;
    Ok(Access { execute: Scope::everything(), ..access })
}

/// What a command of a skill may do, of which `permissions` are declared.
///
/// # Errors
/// As [`access_of_tool`].
pub fn access_of_skill(
    settings: &Settings,
    permissions: &Permissions,
    source: &str,
) -> Result<Access, Refusal> {
    Ok(settings.access.meet(&resolved(settings, permissions, source)?))
}

/// What a session may do that runs the skill `id`, which declares `permissions`: at most what `settings`
/// have.
///
/// # Errors
/// As [`access_of_tool`].
pub fn access_of_fork(
    settings: &Settings,
    id: &SkillId,
    permissions: &Permissions,
) -> Result<Access, Refusal> {
    Ok(settings.access.meet(&bounds(settings, id, permissions)?))
}

/// What a skill lets others do in its name: the tools that it claims, the session that it runs in. A kind of
/// access that it does not speak of is left to them.
fn bounds(settings: &Settings, id: &SkillId, declared: &Permissions) -> Result<Access, Refusal> {
    let of = resolved(settings, declared, &format!("skill:{id}"))?;
    let no_paths = |scopes: &[PathScope]| scopes.iter().all(|scope| scope.paths.is_empty());
    let no_hosts = |scopes: &[NetworkScope]| scopes.iter().all(|scope| scope.domains.is_empty());
    Ok(Access {
        read: unless(no_paths(&declared.read), of.read),
        write: unless(no_paths(&declared.write), of.write),
        network: unless(no_hosts(&declared.network), of.network),
        execute: unless(declared.execute.is_empty(), of.execute),
        tools: Scope::everything(),
    })
}

fn unless<P: Part>(is_silent: bool, scope: Scope<P>) -> Scope<P> {
    if is_silent { Scope::everything() } else { scope }
}

fn resolved(
    settings: &Settings,
    permissions: &Permissions,
    source: &str,
) -> Result<Access, Refusal> {
    let around = surroundings(settings)?;
    resolve(permissions, &around).map_err(|errors| {
        let first = errors.first().map(ToString::to_string).unwrap_or_default();
        let text = format!("the permissions of {source} cannot be used: {first}");
        Refusal::new("BAD_PERMISSIONS", text)
    })
}

/// What declarations mean where the session works.
fn surroundings(settings: &Settings) -> Result<Surroundings, Refusal> {
    let site = &settings.site;
    let place = |path: &str| {
        FilePath::new(path).map_err(|error| Refusal::new("BAD_PERMISSIONS", error.to_string()))
    };
    let written = [site.real_workspace.as_str(), site.workspace.as_str(), "/"];
    let workspace = written.into_iter().find(|path| !path.is_empty()).unwrap_or("/");
    let mut around = Surroundings::new(place(workspace)?);
    around.home = site.home.as_deref().map(place).transpose()?;
    around.unwritable = site.unwritable.iter().map(|path| place(path)).collect::<Result<_, _>>()?;
    around.secret = site.secret.iter().map(|path| place(path)).collect::<Result<_, _>>()?;
    Ok(around)
}

impl State {
    /// A digest of what is allowed because of what is open: equal whenever the same is, in whatever order
    /// it was opened.
    pub fn permissions_digest(&self) -> Digest {
        let mut open: Vec<String> = self
            .open
            .iter()
            .map(|open| {
                let opened = &open.opened;
                let value = serde_json::json!([
                    opened.id,
                    opened.permissions,
                    opened.tools,
                    opened.disallowed_tools,
                    opened.bound
                ]);
                canonical_json(&value)
            })
            .collect();
        open.sort();
        Digest::of(open.join("\n").as_bytes())
    }
}
