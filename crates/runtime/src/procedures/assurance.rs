//! How well each tool that a procedure stands before is held, with one client or another.
//!
//! | what | with a client that can run programs itself | with one that cannot |
//! |---|---|---|
//! | a program of this machine | `advisory`: the same program can be started around us | `enforced` |
//! | git, where its hook checks receipts | `hooked`: `--no-verify` goes around it | `enforced` |
//! | a tool of a server that only we know | `enforced` | `enforced` |
//! | a tool of a server that the client knows, too | `advisory` | `advisory` |

use concertina_core::catalog::Snapshot;
use concertina_format::procedure::{Assurance, Procedure};
use concertina_types::ToolName;
use serde::Serialize;

use super::ProcedureFile;
use crate::git::{self, WorkingTree};
use crate::workspace::Workspace;

/// A tool that a procedure stands before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Held {
    /// The tool.
    pub tool: String,
    /// How well it is held.
    pub level: Assurance,
    /// Why not better, or what makes it so.
    pub why: String,
}

/// What is known of whoever drives the session.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The client, by the name that `concertina doctor` gives it; none where Concertina itself asks the model.
    pub client: Option<String>,
    /// Servers that the client's own settings name.
    pub shared_servers: Vec<String>,
    /// Tools before which a hook of git checks receipts.
    pub hooked_tools: Vec<String>,
}

/// Clients that run no programs by themselves.
const WITHOUT_SHELL: [&str; 1] = ["claude-desktop"];

impl Surroundings {
    /// What is known around `workspace` of a session that follows the procedure in `file`. Reads settings and hooks,
    /// and starts nothing but git.
    pub fn of(
        workspace: &Workspace,
        file: &ProcedureFile,
        client: Option<&str>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let shared = client.map(|client| workspace.shared_servers(Some(client), variable));
        let tree = WorkingTree::around(workspace.root()).ok();
        let gate = tree.as_ref().and_then(|tree| {
            Some((tree, tree.from_top(workspace.root())?, tree.from_top(&file.path)?))
        });
        let is_hooked = |tool: &&str| {
            gate.as_ref().is_some_and(|(tree, workspace, procedure)| {
                // What cannot be looked at holds nothing.
                git::stands(tree, workspace, procedure, tool).unwrap_or_default()
            })
        };
        Self {
            client: client.map(str::to_owned),
            shared_servers: shared.unwrap_or_default(),
            hooked_tools: file
                .machine
                .document()
                .gated_tools()
                .into_iter()
                .filter(is_hooked)
                .map(str::to_owned)
                .collect(),
        }
    }

    fn has_shell(&self) -> bool {
        self.client.as_deref().is_some_and(|client| !WITHOUT_SHELL.contains(&client))
    }
}

/// How well each gated tool of `procedure` is held.
pub fn assurance(procedure: &Procedure, snapshot: &Snapshot, around: &Surroundings) -> Vec<Held> {
    let held = |tool: &str| {
        let entry = ToolName::new(tool).ok().and_then(|name| snapshot.tool(&name));
        let server = entry.and_then(|entry| entry.server.as_deref());
        let (level, why) = match server {
            Some(server) if around.shared_servers.iter().any(|shared| shared == server) => (
                Assurance::Advisory,
                format!("the client's own settings name server {server}, too"),
            ),
            Some(server) => {
                (Assurance::Enforced, format!("server {server} is reached through Concertina only"))
            }
            None if !around.has_shell() => {
                (Assurance::Enforced, "nothing else here runs programs".to_owned())
            }
            None if around.hooked_tools.iter().any(|hooked| hooked == tool) => (
                Assurance::Hooked,
                "the hook of git checks receipts; --no-verify goes around it".to_owned(),
            ),
            None => {
                let client = around.client.as_deref().unwrap_or_default();
                (Assurance::Advisory, format!("{client} can start the same program itself"))
            }
        };
        Held { tool: tool.to_owned(), level, why }
    };
    procedure.gated_tools().into_iter().map(held).collect()
}

/// The tools that are held less well than `procedure` requires.
pub fn lacking<'h>(procedure: &Procedure, held: &'h [Held]) -> Vec<&'h Held> {
    let Some(require) = procedure.require else { return Vec::new() };
    held.iter().filter(|one| one.level < require).collect()
}
