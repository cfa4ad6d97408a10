//! Where a command works: state, workspace and session.

use std::path::{Path, PathBuf};

use concertina_core::session::{Origin, Site};
use concertina_runtime::{Session, Started, Workspace, WorkspaceOptions};
use concertina_store::Store;
use concertina_types::{SessionId, Severity, env};

use crate::args::{PlaceArgs, SessionArgs, Who};
use crate::error::{CliError, Exit};
use crate::output::{Output, finding};
use crate::servers;

pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Stands for a home that is not there: nothing can be read from it or written to it, so nothing is
/// trusted. A relative path would let a workspace bring its own record of trust.
const NO_HOME: &str = "/dev/null/concertina";

/// The directory of managed settings.
const MANAGED: &str = "/etc/concertina";

/// Where state lives.
pub(crate) fn home() -> Result<PathBuf, CliError> {
    let given = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    given(env::HOME)
        .or_else(|| given(env::XDG_STATE_HOME).map(|state| state.join("concertina")))
        .or_else(|| given("HOME").map(|home| home.join(".local/state/concertina")))
        .ok_or_else(|| {
            let message = "there is no place for state: neither CONCERTINA_HOME nor HOME is set";
            CliError::new(Exit::Environment, "NO_HOME", message)
                .help("set CONCERTINA_HOME to a directory that you can write")
        })
}

/// Where state lives, or a place where none can be.
pub(crate) fn home_or_none() -> PathBuf {
    home().unwrap_or_else(|_| PathBuf::from(NO_HOME))
}

/// The store of all sessions.
pub(crate) fn store() -> Result<Store, CliError> {
    Ok(Store::open(&home()?)?)
}

/// The workspace that the current directory, or the roots given, make up.
pub(crate) fn workspace(place: &PlaceArgs, out: &mut Output) -> Result<Workspace, CliError> {
    let current = std::env::current_dir().map_err(|error| {
        let message = format!("the current directory cannot be read: {error}");
        CliError::new(Exit::Environment, "NO_DIRECTORY", message)
    })?;
    open(&current, &place.root, Reach::Everything, out)
}

/// How far a command looks for skills, and on whose word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Wherever skills are usually found.
    Everything,
    /// In the workspace alone, which has to be trusted.
    Own,
    /// In the workspace alone, for which whoever named it vouches.
    Vouched,
}

/// The workspace in `root`, without a word on what was found in its settings.
pub(crate) fn quietly(root: &Path) -> Result<Workspace, CliError> {
    opened(root, &[], Reach::Everything)
}

fn opened(root: &Path, roots: &[PathBuf], reach: Reach) -> Result<Workspace, CliError> {
    let options = WorkspaceOptions {
        // Without a home nothing is kept, but skills can still be looked at.
        home: home_or_none(),
        roots: roots.to_vec(),
        only_workspace: reach != Reach::Everything,
        vouched: reach == Reach::Vouched,
        managed: Some(PathBuf::from(MANAGED)),
        variable: &variable,
        executor: None,
    };
    Ok(Workspace::open(root, options)?)
}

/// The repository that `root` lies in, or `root` itself: what one word of trust should cover.
pub(crate) fn project(root: &Path) -> &Path {
    root.ancestors().find(|directory| directory.join(".git").exists()).unwrap_or(root)
}

/// The workspace in `root`.
pub(crate) fn open(
    root: &Path,
    roots: &[PathBuf],
    reach: Reach,
    out: &mut Output,
) -> Result<Workspace, CliError> {
    let workspace = opened(root, roots, reach)?;
    for (path, found) in &workspace.loaded().findings {
        if found.severity == Severity::Info {
            continue;
        }
        out.say_styled(&finding(&path.display().to_string(), found));
    }
    if let Some(why) = workspace.trust_unreadable() {
        out.say(format!("warning: {why}, so nothing is trusted; `concertina trust PATH` begins anew [TRUST_UNREADABLE]"));
    }
    for altered in workspace.snapshot().skills.iter().filter_map(|entry| entry.altered.as_ref()) {
        out.say(format!("warning: {} [{}]", altered.text, altered.code));
    }
    let waiting = workspace.untrusted();
    if waiting > 0 {
        out.say(self::waiting(&workspace, waiting));
    }
    Ok(workspace)
}

/// That `number` skills, tools and servers wait for trust, and what to do.
pub(crate) fn waiting(workspace: &Workspace, number: usize) -> String {
    let them = if number == 1 {
        "skill, tool or server of this workspace waits"
    } else {
        "skills, tools and servers of this workspace wait"
    };
    format!(
        "note: {number} {them} for trust, and the model does not see what waits; look at it, then: concertina trust {} [UNTRUSTED]",
        project(workspace.root()).display()
    )
}

/// The workspace that a session was begun in.
pub(crate) fn reopen(site: &Site, out: &mut Output) -> Result<Workspace, CliError> {
    let roots: Vec<PathBuf> = site.roots.iter().map(PathBuf::from).collect();
    let reach = match (site.only_workspace, site.vouched) {
        (true, true) => Reach::Vouched,
        (true, false) => Reach::Own,
        (false, _) => Reach::Everything,
    };
    open(Path::new(&site.workspace), &roots, reach, out)
}

/// The id that a person typed, or that the environment names.
pub(crate) fn session_id(given: &SessionArgs) -> Result<Option<SessionId>, CliError> {
    let text =
        given.session.clone().or_else(|| variable(env::SESSION)).filter(|text| !text.is_empty());
    text.map(|text| parse_id(&text)).transpose()
}

/// Names the session that was written to last.
const LAST: &str = "last";

/// The id that `text` means.
pub(crate) fn parse_id(text: &str) -> Result<SessionId, CliError> {
    if text == LAST {
        let latest = store()?.events.sessions()?.into_iter().next();
        return latest.map(|session| session.session).ok_or_else(|| {
            CliError::new(Exit::NotFound, "NO_SESSION", "there is no session yet")
                .help("`concertina session new` begins one")
        });
    }
    SessionId::new(text).map_err(|error| {
        CliError::usage(error.to_string()).help("`concertina session list` shows the ids there are")
    })
}

/// The session that was asked for with its workspace, or a new one that is not kept.
pub(crate) fn session(
    place: &PlaceArgs,
    given: &SessionArgs,
    out: &mut Output,
) -> Result<(Workspace, Session), CliError> {
    match session_id(given)? {
        Some(id) => kept(id, place, out),
        None => passing(place, None, out),
    }
}

/// A kept session, with the catalogue as it is now.
pub(crate) fn kept(
    id: SessionId,
    place: &PlaceArgs,
    out: &mut Output,
) -> Result<(Workspace, Session), CliError> {
    let session = Session::resume(store()?, id)?;
    if let Some(principal) =
        place.principal.as_ref().filter(|name| **name != session.state().principal)
    {
        let message = format!(
            "session {} acts for {}, not for {principal}",
            session.id(),
            session.state().principal
        );
        return Err(CliError::new(Exit::Denied, "OTHER_PRINCIPAL", message)
            .help("begin a session for them: concertina session new --principal NAME"));
    }
    let mut workspace = if place.root.is_empty() {
        reopen(&session.settings().site, out)?
    } else {
        workspace(place, out)?
    };
    servers::attach(&mut workspace, out)?;
    let mut session = session;
    session.take_up(&mut workspace)?;
    Ok((workspace, session))
}

/// The session that was asked for with its workspace, or a new one that is kept: what has effects is on
/// the record.
pub(crate) fn recorded(
    place: &PlaceArgs,
    given: &SessionArgs,
    out: &mut Output,
) -> Result<(Workspace, Session), CliError> {
    match session_id(given)? {
        Some(id) => kept(id, place, out),
        None => begun(place, None, store()?, out),
    }
}

/// A session that is gone with the process.
pub(crate) fn passing(
    place: &PlaceArgs,
    window: Option<u64>,
    out: &mut Output,
) -> Result<(Workspace, Session), CliError> {
    begun(place, window, Store::memory(), out)
}

fn begun(
    place: &PlaceArgs,
    window: Option<u64>,
    store_of_it: Store,
    out: &mut Output,
) -> Result<(Workspace, Session), CliError> {
    let mut workspace = workspace(place, out)?;
    if let Some(window) = window {
        workspace.settings_mut().window = window;
    }
    servers::attach(&mut workspace, out)?;
    let started =
        Started { principal: place.principal.clone(), earlier: store().ok(), ..Started::default() };
    let session = Session::create(&mut workspace, store_of_it, started)?;
    Ok((workspace, session))
}

/// Who asks, when a command speaks for `who`.
pub(crate) fn origin(who: Who) -> Origin {
    match who {
        Who::User => Origin::user(),
        Who::Model => Origin { subject: concertina_types::Subject::Model, call: None },
    }
}
