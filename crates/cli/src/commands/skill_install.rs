//! `concertina skill install|update`.

use std::path::{Path, PathBuf};

use concertina_runtime::supply::{
    Fetching, Home, Offer, Prepared, PublicKey, Signed, Standing, Step, Wanted, declares_otherwise,
    installed, is_address, permissions_digest, permissions_in_words, prepare, visible,
};
use concertina_types::{Digest, Severity, env};
use serde_json::{Value, json};

use super::skill_sign::public_key;
use crate::args::{ConsentArgs, InstallArgs, ScopeArg, UpdateArgs};
use crate::consent::ask;
use crate::error::{CliError, Exit};
use crate::output::{Output, count, finding, thousands};
use crate::place;

/// The layout of skills in a project: the one that clients of several makers read.
const PROJECT_LAYOUT: &str = ".agents/skills";

/// How far an installation may go.
struct Consent<'a> {
    args: &'a ConsentArgs,
    /// What a person says that the new version may declare.
    permissions: Option<&'a str>,
}

pub(crate) fn install(args: &InstallArgs, out: &mut Output) -> Result<u8, CliError> {
    let sha256 = args.sha256.as_deref().map(digest).transpose()?;
    let source = if is_address(&args.source) {
        args.source.clone()
    } else {
        std::path::absolute(&args.source)?.to_string_lossy().into_owned()
    };
    let key = args.public.as_deref().map(public_key).transpose()?;
    let wanted = Wanted { source, name: args.name.clone(), sha256, key };
    let consent = Consent { args: &args.consent, permissions: None };
    let shown = one(&home(args.scope)?, &wanted, &trusted_keys()?, &consent, out)?;
    if out.is_json() {
        out.json(&json!({"skills": [shown]}))?;
    }
    Ok(0)
}

pub(crate) fn update(args: &UpdateArgs, out: &mut Output) -> Result<u8, CliError> {
    let home = home(args.scope)?;
    let found = installed(&home, args.name.as_deref())?;
    if found.is_empty()
        && let Some(name) = &args.name
    {
        let message = format!("no skill called {name} was installed");
        return Err(CliError::new(Exit::NotFound, "NOT_INSTALLED", message).help(
            "`concertina skill install SOURCE` installs one and remembers where it is from",
        ));
    }
    let consent = Consent { args: &args.consent, permissions: args.permissions.as_deref() };
    let keys = trusted_keys()?;
    let (mut shown, mut failed) = (Vec::new(), None);
    for wanted in &found {
        let name = wanted.name.clone().unwrap_or_default();
        match one(&home, wanted, &keys, &consent, out) {
            Ok(one) => shown.push(one),
            Err(error) => {
                shown.push(json!({"name": name, "error": error.as_json().get("error")}));
                // One that fails costs no other its update.
                if let Some(earlier) = failed.replace(error) {
                    out.warn(&earlier);
                }
            }
        }
    }
    if found.is_empty() {
        out.say("no skill was installed, so there is nothing to bring up to date");
    }
    match failed {
        Some(error) if out.is_json() && args.all => {
            out.json(&json!({"skills": shown}))?;
            Ok(error.exit as u8)
        }
        Some(error) => Err(error),
        None if out.is_json() => out.json(&json!({"skills": shown})).map(|()| 0),
        None => Ok(0),
    }
}

/// Installs one skill, or shows what would be; gives what it is as data.
fn one(
    home: &Home,
    wanted: &Wanted,
    keys: &[PublicKey],
    consent: &Consent<'_>,
    out: &mut Output,
) -> Result<Value, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut on_step = |step| {
        if step == Step::Fetch {
            out.progress(&format!("downloading {}", wanted.source));
        }
    };
    let fetching = Fetching::default();
    let prepared = runtime.block_on(prepare(home, wanted, keys, &fetching, &mut on_step))?;
    if !out.is_json() && prepared.offer.standing != Standing::Same {
        tell(&prepared.offer, keys, out)?;
    }
    let is_installed = match prepared.offer.standing {
        _ if consent.args.dry_run => false,
        Standing::Same => {
            let target = prepared.offer.target.display().to_string();
            if !out.is_json() {
                out.line(format!("{target} is what {} holds", wanted.source))?;
            }
            let data = data(&prepared.offer, keys, true);
            prepared.commit(&mut |_| {})?;
            return Ok(data);
        }
        Standing::New | Standing::Update => {
            agreed(&prepared, keys, consent, out)?;
            true
        }
    };
    let data = data(&prepared.offer, keys, is_installed);
    if is_installed {
        let offer = prepared.commit(&mut |_| {})?;
        if !out.is_json() {
            out.line(format!("installed {}", offer.target.display()))?;
        }
        if home.skills != home.lock {
            out.say(format!(
                "it comes with this project now, so the model sees it once you trust it: concertina trust {}",
                offer.target.display()
            ));
        }
    }
    Ok(data)
}

/// Succeeds where a person agrees.
fn agreed(
    prepared: &Prepared,
    keys: &[PublicKey],
    consent: &Consent<'_>,
    out: &mut Output,
) -> Result<(), CliError> {
    let offer = &prepared.offer;
    let permissions = permissions_digest(&offer.document.permissions);
    let widens = declares_otherwise(offer)
        && !consent.permissions.is_some_and(|text| permissions.is_abbreviated(text));
    let is_trusted = is_trusted(offer, keys);
    if !widens && (consent.args.yes || is_trusted) {
        return Ok(());
    }
    let verb = if offer.standing == Standing::Update { "replace" } else { "install" };
    let name = &offer.manifest.name;
    let needed = |why: &str, help: String| {
        let message = format!("{name} was not installed: {why}; everything is as it was");
        Err(CliError::new(Exit::Denied, "APPROVAL_NEEDED", message).help(help))
    };
    match ask(&format!("{verb} {}?", offer.target.display()), out)? {
        Some(true) => Ok(()),
        Some(false) => needed("you said no", "nothing has to be done".to_owned()),
        None if widens => needed(
            "it declares something else than before, and nobody could be asked",
            format!(
                "look at it with --dry-run, then add --yes --permissions {}",
                permissions.short()
            ),
        ),
        None => {
            needed("nobody could be asked", "look at it with --dry-run, then add --yes".to_owned())
        }
    }
}

fn is_trusted(offer: &Offer, keys: &[PublicKey]) -> bool {
    matches!(&offer.signed, Signed::By { key, .. } if keys.contains(key))
}

/// What is installed, from where, what it declares, and what is worth a look.
fn tell(offer: &Offer, keys: &[PublicKey], out: &mut Output) -> Result<(), CliError> {
    let (document, manifest, glance) = (&offer.document, &offer.manifest, &offer.glance);
    let version = manifest.version.as_deref().map(|version| format!(" {version}"));
    let (version, source) = (version.unwrap_or_default(), visible(&offer.source));
    out.line(format!("{}{} from {source}", manifest.name, visible(&version)))?;
    let mut line = |text: String| out.line(format!("  {text}"));
    if let Some(description) = &document.description {
        line(visible(description))?;
    }
    let bytes: u64 = manifest.files.iter().map(|file| file.bytes).sum();
    line(format!(
        "{}, {} bytes, {}",
        count(manifest.files.len(), "file"),
        thousands(usize::try_from(bytes).unwrap_or(usize::MAX)),
        manifest.digest()
    ))?;
    line(match &offer.signed {
        Signed::By { key, comment } => {
            let whose = if is_trusted(offer, keys) { "which you trust" } else { "as was asked" };
            format!("signed with the key {}, {whose}: {}", key.id(), visible(comment))
        }
        Signed::Stranger { key } => format!("signed with the key {key}, which you do not know"),
        Signed::Not => "not signed".to_owned(),
    })?;
    let declared = permissions_in_words(&document.permissions);
    if declared.is_empty() {
        line("declares nothing, so it may do nothing without a question".to_owned())?;
    } else {
        let digest = permissions_digest(&document.permissions).short();
        line(format!("declares that it ({digest})"))?;
        for one in declared {
            line(format!("  {}", visible(&one)))?;
        }
    }
    if document.hooks.is_some() {
        line("brings hooks, which are commands that run on events".to_owned())?;
    }
    for (what, files) in [("can be run", &glance.scripts), ("packed inside", &glance.archives)] {
        if !files.is_empty() {
            line(format!("{what}: {}", first_few(files)))?;
        }
    }
    for hidden in &glance.hidden {
        let (path, first, at) = (&hidden.path, &hidden.first, hidden.line);
        let many = count(hidden.count, "hidden character");
        line(format!("warning: {many} in {path}, the first {first} in line {at} [HIDDEN_TEXT]"))?;
    }
    if offer.left_out > 0 {
        line("left out: what belongs to version control".to_owned())?;
    }
    let worst = offer.findings.iter().filter(|found| found.severity > Severity::Info);
    for found in worst {
        out.say_styled(&finding("SKILL.md", found));
    }
    if let Some(changes) = &offer.changes {
        for one in changes.text().lines() {
            out.line(format!("  {one}"))?;
        }
    }
    out.line(format!("goes to {}", offer.target.display()))
}

/// The first of `names`, and how many there are besides.
fn first_few(names: &[String]) -> String {
    const NAMED: usize = 8;
    let text = names.iter().take(NAMED).map(|name| visible(name)).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}

fn data(offer: &Offer, keys: &[PublicKey], is_installed: bool) -> Value {
    let (document, manifest) = (&offer.document, &offer.manifest);
    let (key, comment) = match &offer.signed {
        Signed::By { key, comment } => (Some(key.to_string()), Some(comment.clone())),
        Signed::Stranger { .. } | Signed::Not => (None, None),
    };
    json!({
        "name": manifest.name,
        "version": manifest.version,
        "description": document.description,
        "source": offer.source,
        "path": offer.target,
        "standing": match offer.standing {
            Standing::New => "new",
            Standing::Update => "update",
            Standing::Same => "same",
        },
        "installed": is_installed,
        "digest": manifest.digest(),
        "files": manifest.files,
        "permissions": permissions_in_words(&document.permissions),
        "permissions_digest": permissions_digest(&document.permissions),
        "key": key,
        "comment": comment,
        "trusted": is_trusted(offer, keys),
        "scripts": offer.glance.scripts,
        "archives": offer.glance.archives,
        "hidden": offer.glance.hidden,
        "diagnostics": offer.findings,
        "changes": offer.changes,
    })
}

fn digest(text: &str) -> Result<Digest, CliError> {
    let hex = text.strip_prefix("sha256:").unwrap_or(text).to_lowercase();
    let parsed = format!("sha256:{hex}").parse();
    parsed.map_err(|error: concertina_types::DigestError| CliError::usage(error.to_string()))
}

fn trusted_keys() -> Result<Vec<PublicKey>, CliError> {
    Ok(place::quietly(&std::env::current_dir()?)?.trusted_keys().to_vec())
}

/// Where skills of `scope` are.
fn home(scope: ScopeArg) -> Result<Home, CliError> {
    if scope == ScopeArg::User {
        let skills = config()?.join("skills");
        return Ok(Home { lock: skills.clone(), skills });
    }
    let current = std::env::current_dir()?;
    let lock = place::project(&current).to_owned();
    let skills = lock.join(PROJECT_LAYOUT);
    // A project that was made by others may have a link there that leads anywhere.
    let there = skills.ancestors().find(|path| path.symlink_metadata().is_ok());
    let real = there.and_then(|path| path.canonicalize().ok());
    if !real.is_some_and(|real| lock.canonicalize().is_ok_and(|lock| real.starts_with(lock))) {
        let message = format!("{} leads out of the project through a link", skills.display());
        return Err(CliError::new(Exit::Findings, "LEADS_OUT", message)
            .help("put a directory in its place, or install with --scope user"));
    }
    Ok(Home { skills, lock })
}

/// The directory of the person's settings.
fn config() -> Result<PathBuf, CliError> {
    let given = |name| place::variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = given(env::XDG_CONFIG_HOME)
        .or_else(|| given("HOME").map(|home| Path::new(&home).join(".config")));
    config.map(|config| config.join("concertina")).ok_or_else(|| {
        let message = "there is no place for skills of yours: HOME is not set";
        CliError::new(Exit::Environment, "NO_HOME", message)
            .help("set HOME, or install with --scope project")
    })
}
