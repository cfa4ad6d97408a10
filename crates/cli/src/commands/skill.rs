//! `concertina skill list|show|plan`.

use concertina_core::catalog::search::nearest_names;
use concertina_core::catalog::{Loaded, SkillEntry, listing};
use concertina_core::policy::OWNER;
use concertina_core::policy::Reason;
use concertina_core::procedure;
use concertina_core::session::{State, World, visibility, visible_skills};
use concertina_format::skill::sections;
use concertina_runtime::{LoadedSkill, RuntimeError, Workspace};
use concertina_tokens::O200k;
use concertina_types::{Digest, Ref, SkillId, Subject};
use serde_json::{Value, json};

use crate::args::{ListArgs, PlaceArgs, ShowArgs, Who};
use crate::error::{CliError, Exit};
use crate::output::{Output, count, fitting_table, thousands};
use crate::place;

/// Who may see an entry now.
struct Seen<'a> {
    entry: &'a SkillEntry,
    model: bool,
    user: bool,
    /// Why the model does not see it.
    reasons: Vec<Reason>,
}

impl Seen<'_> {
    fn is_hidden_by(&self, code: &str) -> bool {
        self.reasons.iter().any(|reason| reason.code == code)
    }

    /// Whether it waits for a file to be touched.
    fn waits(&self) -> bool {
        self.is_hidden_by("PATHS_NOT_TOUCHED")
    }
}

pub(crate) fn list(args: &ListArgs, out: &mut Output) -> Result<u8, CliError> {
    let mut workspace = place::workspace(&args.place, out)?;
    let settings = workspace.settings_mut();
    if let Some(window) = args.window {
        settings.window = window;
    }
    if let Some(chars) = args.budget_chars {
        settings.listing.chars = chars;
    }
    if args.trace {
        let skills = count(workspace.snapshot().skills.len(), "skill");
        out.say(format!(
            "{} of {skills} were read",
            count(usize::try_from(workspace.bytes_read()).unwrap_or(usize::MAX), "byte")
        ));
    }
    let state = State {
        principal: args.place.principal.clone().unwrap_or_else(|| OWNER.to_owned()),
        ..State::default()
    };
    let snapshot = workspace.snapshot().clone();
    let world = World::for_looking(workspace.settings(), &snapshot, &O200k);
    let look = |entry| look_at(&state, &world, entry);
    if args.render {
        return render(args, &state, &world, out);
    }
    let shadowed = snapshot.shadowed.iter().filter(|_| !args.skipped);
    let mut seen: Vec<Seen<'_>> = if args.shadowed || args.skipped {
        Vec::new()
    } else {
        snapshot.skills.iter().map(look).collect()
    };
    if args.all {
        seen.extend(snapshot.shadowed.iter().map(|shadowed| look(&shadowed.entry)));
    }
    seen.retain(|one| match args.reader {
        Some(Who::Model) => one.model,
        Some(Who::User) => one.user,
        None => args.all || one.model || (one.user && !one.waits()),
    });
    if out.is_json() {
        let skills: Vec<Value> = seen.iter().map(|one| shown(&workspace, one)).collect();
        let shadowed: Vec<Value> = shadowed
            .map(|one| {
                let mut value = shown(&workspace, &look(&one.entry));
                if let Some(map) = value.as_object_mut() {
                    map.insert("by".to_owned(), json!(one.by));
                }
                value
            })
            .collect();
        let skipped = if args.shadowed { &[] } else { snapshot.skipped.as_slice() };
        out.json(&json!({"skills": skills, "shadowed": shadowed, "skipped": skipped}))?;
        return Ok(0);
    }
    let rows: Vec<Vec<String>> = seen
        .iter()
        .map(|one| {
            let about = one.entry.summary();
            let about = if about.is_empty() { "(no description)".to_owned() } else { about };
            vec![one.entry.id.to_string(), one.entry.scope.name().to_owned(), readers(one), about]
        })
        .collect();
    out.raw(&fitting_table(rows, &[]))?;
    if args.shadowed || args.all {
        for one in &snapshot.shadowed {
            out.line(format!(
                "skill:{} lost its name to skill:{} ({})",
                one.entry.id, one.by, one.entry.path
            ))?;
        }
    }
    if args.skipped || args.all {
        for one in &snapshot.skipped {
            out.line(format!("skipped {}: {}: {}", one.code, one.path, one.reason))?;
        }
    }
    say_what_is_missing(&snapshot, seen.len(), args, out);
    Ok(0)
}

/// What a plain list leaves out, so that nothing vanishes silently.
fn say_what_is_missing(
    snapshot: &concertina_core::catalog::Snapshot,
    shown: usize,
    args: &ListArgs,
    out: &mut Output,
) {
    if args.all || args.shadowed || args.skipped {
        return;
    }
    let mut notes = Vec::new();
    let mut note = |count: usize, what: &str| {
        if count > 0 {
            notes.push(format!("{count} {what}"));
        }
    };
    note(snapshot.skills.len().saturating_sub(shown), "not listed here");
    note(snapshot.shadowed.len(), "with a name that another has");
    note(snapshot.skipped.len(), "left out");
    if !notes.is_empty() {
        out.say(format!("{}; {}: see --all", count(shown, "skill"), notes.join(", ")));
    } else if shown == 0 {
        out.say(
            "no skills here; put one under .claude/skills/NAME/SKILL.md or skills/NAME/SKILL.md",
        );
    }
}

fn look_at<'a>(state: &State, world: &World<'_>, entry: &'a SkillEntry) -> Seen<'a> {
    let reference = Ref::skill(entry.id.clone());
    let sees = |subject| visibility(state, world, &reference, subject);
    let model = sees(Subject::Model);
    Seen { entry, model: model.visible, user: sees(Subject::User).visible, reasons: model.reasons }
}

fn readers(one: &Seen<'_>) -> String {
    match (one.model, one.user) {
        (true, true) => "model, user".to_owned(),
        (true, false) => "model".to_owned(),
        (false, true) if one.is_hidden_by("UNTRUSTED") => "user (waits for trust)".to_owned(),
        (false, true) if one.waits() => "user (waits for a file)".to_owned(),
        (false, true) => "user".to_owned(),
        (false, false) if one.entry.altered.is_some() => "nobody (altered)".to_owned(),
        (false, false) => "nobody".to_owned(),
    }
}

fn shown(workspace: &Workspace, one: &Seen<'_>) -> Value {
    let entry = one.entry;
    // The index has no bodies; other programs compare whole files, so these are read here.
    let digest = workspace.digest(entry).map(|digest: Digest| digest.to_string());
    let mut visible_to = Vec::new();
    if one.model {
        visible_to.push("model");
    }
    if one.user {
        visible_to.push("user");
    }
    json!({
        "id": entry.id,
        "name": entry.id.name(),
        "description": entry.description,
        "when_to_use": entry.when_to_use,
        "version": entry.version,
        "scope": entry.scope.name(),
        "source": entry.scope.name(),
        "loaded_from": match entry.loaded_from {
            Loaded::Skills => "skills",
            Loaded::Commands => "commands",
            Loaded::Bundled => "bundled",
        },
        "path": entry.path,
        "digest": digest,
        "active": !one.waits(),
        "visible_to": visible_to,
        "also_at": entry.also_at,
    })
}

fn render(
    args: &ListArgs,
    state: &State,
    world: &World<'_>,
    out: &mut Output,
) -> Result<u8, CliError> {
    let subject = match args.reader {
        Some(Who::User) => Subject::User,
        _ => Subject::Model,
    };
    let visible = visible_skills(state, world, subject);
    let budget = world.settings.listing_budget();
    let listing = listing::full(visible, &budget, &|_| (0, 0), &O200k);
    if out.is_json() {
        out.json(&listing)?;
    } else {
        out.lines(&listing.text)?;
        out.say(format!(
            "{} of {} tokens, {} of {} characters; {}: {} full, {} shortened, {} by name only, {} not shown",
            listing.tokens, budget.tokens, thousands(listing.chars), thousands(budget.chars), count(listing.total, "skill"),
            listing.full, listing.shortened, listing.names_only, listing.omitted
        ));
    }
    Ok(0)
}

fn load(workspace: &Workspace, name: &str) -> Result<LoadedSkill, CliError> {
    let name = name.strip_prefix("skill:").unwrap_or(name).trim_start_matches('/');
    let id = SkillId::new(name).map_err(|error| CliError::usage(error.to_string()))?;
    if let Some(loaded) = workspace.load(&id) {
        return Ok(loaded.map_err(RuntimeError::from)?);
    }
    let names = workspace.snapshot().skills.iter().map(|entry| entry.id.as_str());
    let near = nearest_names(name, names, 5);
    let help = if near.is_empty() {
        "`concertina skill list --all` shows the ones there are".to_owned()
    } else {
        format!("the nearest: {}", near.join(", "))
    };
    Err(CliError::new(Exit::NotFound, "NOT_FOUND", format!("there is no skill:{id}")).help(help))
}

pub(crate) fn show(args: &ShowArgs, out: &mut Output) -> Result<u8, CliError> {
    let workspace = place::workspace(&args.place, out)?;
    let skill = load(&workspace, &args.name)?;
    let source = workspace.source(&skill.entry).map_err(RuntimeError::from)?;
    let part = match args.part.as_deref() {
        None => None,
        Some("meta") => {
            Some(source.frontmatter.map_or("", |span| span.of(&source.text)).to_owned())
        }
        Some("body") => Some(skill.body.clone()),
        Some(name) => {
            let wanted = name.to_lowercase();
            let parts = sections(&skill.body);
            let found = parts
                .iter()
                .find(|part| part.slug == wanted || part.title.to_lowercase() == wanted);
            let Some(found) = found else {
                let known: Vec<&str> = parts.iter().map(|part| part.slug.as_str()).collect();
                let message = format!("skill:{} has no part `{name}`", skill.entry.id);
                return Err(CliError::new(Exit::NotFound, "NO_SUCH_PART", message)
                    .help(format!("there are meta, body, {}", known.join(", "))));
            };
            Some(found.span.of(&skill.body).to_owned())
        }
    };
    if out.is_json() {
        let mut value = serde_json::to_value(&skill.document).unwrap_or_default();
        if let Some(map) = value.as_object_mut() {
            map.remove("body");
            map.insert("id".to_owned(), json!(skill.entry.id));
            map.insert("path".to_owned(), json!(skill.entry.path));
            map.insert("scope".to_owned(), json!(skill.entry.scope.name()));
            map.insert("tokens".to_owned(), json!(concertina_tokens::count(&skill.body)));
            map.insert("resources".to_owned(), json!(skill.resources()));
            map.insert("diagnostics".to_owned(), json!(skill.diagnostics));
            map.insert("text".to_owned(), json!(part.unwrap_or(source.text)));
        }
        out.json(&value)?;
    } else {
        let text = part.unwrap_or(source.text);
        out.raw(&text)?;
        if !text.is_empty() && !text.ends_with('\n') {
            out.raw("\n")?;
        }
    }
    Ok(0)
}

pub(crate) fn plan(name: &str, place: &PlaceArgs, out: &mut Output) -> Result<u8, CliError> {
    let workspace = place::workspace(place, out)?;
    let skill = load(&workspace, name)?;
    let requires = |name: &str| {
        let entry = SkillId::new(name).ok().and_then(|id| workspace.snapshot().skill(&id).cloned());
        entry.map(|entry| entry.requires).unwrap_or_default()
    };
    match procedure::closure(skill.entry.id.as_str(), &requires) {
        Ok(plan) => {
            let is_known = |name: &&String| {
                SkillId::new(name.as_str())
                    .is_ok_and(|id| workspace.snapshot().skill(&id).is_some())
            };
            if let Some(lost) = plan.iter().find(|name| !is_known(name)) {
                let message = format!("skill:{name} comes after skill:{lost}, and there is none");
                return Err(CliError::new(Exit::NotFound, "NOT_FOUND", message)
                    .help("write that skill, or remove it from `requires`"));
            }
            if out.is_json() {
                out.json(&json!({"plan": plan}))?;
                return Ok(0);
            }
            for (at, step) in plan.iter().enumerate() {
                out.line(format!("{}. {step}", at + 1))?;
            }
        }
        Err(cycle) => {
            return Err(CliError::new(Exit::Findings, "REQUIRES_CYCLE", cycle.to_string())
                .help("remove one of these `requires`"));
        }
    }
    Ok(0)
}
