//! A look at what is there: which skills, servers and tools a folder and a home hold, what a model
//! sees of them, and what each client loses on the way.
//!
//! [`examine`] reads settings and skill files; it starts nothing, opens no network and writes
//! nothing. The result is a [`Report`] of plain data, [`Report::text`] says it to a person.
//!
//! A client is one file below `clients/`: what it reads as a table, with the version in which that
//! was seen. What nobody has seen is reported as not known.

mod around;
mod clients;
mod configured;
mod jsonc;
mod listing;
mod near;
mod next;
mod pool;
mod report;
mod sandbox;
mod servers;
mod settings;
mod skills;
mod text;

use crate::sources::Places;
use crate::workspace::Workspace;

pub(crate) use around::Around;
use clients::{CLIENTS, Client};
pub(crate) use configured::{Whose, configured, is_client, reads};
use pool::Pool;
pub use report::{
    Amount, ClientReport, ClientSkills, Collision, Configured, FindingCount, From, Hidden, Index,
    Loss, NearMiss, Next, Report, SandboxReport, Server, ServerState, SettingsFinding, Skills,
    SkippedFile, Tools,
};

pub(crate) use servers::{Mention, Transport};

/// The version of the shape of [`Report`].
pub const REPORT_VERSION: u8 = 1;

/// Looks at `workspace` and at the home that `variable` tells of.
///
/// The skills are those that the workspace knows: where it was opened for certain directories only,
/// only those count.
pub fn examine(workspace: &Workspace, variable: &dyn Fn(&str) -> Option<String>) -> Report {
    let around = Around::new(workspace.root(), variable);
    let places = Places::usual(workspace.root(), variable);
    let window = workspace.settings().window;
    let found: Vec<(&Client, clients::Found)> = CLIENTS
        .iter()
        .map(|client| (*client, (client.find)(&around)))
        .filter(|(_, found)| found.marks.iter().any(|mark| mark.exists()))
        .collect();
    let pool = Pool::new(workspace, &places, found.iter().flat_map(|(_, found)| &found.skills));

    let mut servers = servers::Servers::default();
    servers.add_upstreams(workspace);
    let mut settings: Vec<SettingsFinding> = settings::of_workspace(workspace);
    let mut reports = Vec::new();
    for (client, found) in &found {
        let read = settings::read(client, found.settings.iter());
        let configured = (client.servers)(&read.documents, &around);
        let files = read.documents.iter().map(|document| document.path.display().to_string());
        reports.push(ClientReport {
            id: client.id.to_owned(),
            name: client.name.to_owned(),
            observed: client.observed.map(str::to_owned),
            settings: files.collect(),
            servers: servers.add(client, configured),
            skills: listing::of(client, &found.skills, &pool, window),
        });
        settings.extend(read.findings);
    }

    let mut report = Report {
        v: REPORT_VERSION,
        workspace: workspace.root().display().to_string(),
        project: around
            .directories
            .last()
            .map(|path| path.display().to_string())
            .unwrap_or_default(),
        home: around.home.as_ref().map(|home| home.display().to_string()),
        window,
        skills: skills::of(workspace, &pool),
        near_misses: near::misses(workspace, &around, &places, &pool),
        servers: servers.done(),
        tools: tools(workspace),
        sandbox: sandbox::report(workspace),
        clients: reports,
        settings,
        complete: true,
        next: None,
    };
    report.complete = report.nothing_is_lost();
    report.next = next::command(&report);
    report
}

fn tools(workspace: &Workspace) -> Tools {
    let snapshot = workspace.snapshot();
    Tools {
        local: snapshot.tools.iter().map(|tool| tool.name.to_string()).collect(),
        tokens: snapshot.tool_tokens,
        of_servers: None,
    }
}
