//! What the tests share: a small world of real directories, and models that follow a script.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use concertina_core::session::{Answer, Origin, Refusal, State, evolve};
use concertina_runtime::agent::{Agent, Silent};
use concertina_runtime::approval::Beforehand;
use concertina_runtime::llm::Model;
use concertina_runtime::llm::script::Script;
use concertina_runtime::{
    Cancel, OpenOptions, RuntimeError, Session, Started, Workspace, WorkspaceOptions,
};
use concertina_store::Store;
use concertina_types::{Event, SkillId};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A workspace, a home, a directory for state and one for the administrator, all in one place.
pub(crate) struct World {
    dir: TempDir,
    pub(crate) variables: BTreeMap<String, String>,
}

impl World {
    /// An empty world whose workspace is the root of a repository.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["work/.git", "home", "state", "managed"] {
            fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        let home = dir.path().join("home").display().to_string();
        let path = std::env::var("PATH").unwrap_or_default();
        let variables = [("HOME".to_owned(), home), ("PATH".to_owned(), path)].into();
        Self { dir, variables }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// A skill in `directory`, named after it.
    pub(crate) fn skill(&self, directory: &str, description: &str) -> &Self {
        let name = Path::new(directory).file_name().unwrap().to_str().unwrap();
        self.write(&format!("{directory}/SKILL.md"), skill(name, description, "Do it."))
    }

    pub(crate) fn config(&self, text: &str) -> &Self {
        self.write("work/concertina.toml", text)
    }

    pub(crate) fn link(&self, at: &str, to: &str) -> &Self {
        let path = self.path(at);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(to, path).unwrap();
        self
    }

    /// The workspace with everything that a person has.
    pub(crate) fn open(&self) -> Workspace {
        self.open_at("work")
    }

    pub(crate) fn open_at(&self, path: &str) -> Workspace {
        let variable = |name: &str| self.variables.get(name).cloned();
        let options = WorkspaceOptions {
            only_workspace: false,
            vouched: false,
            managed: Some(self.path("managed")),
            ..WorkspaceOptions::only(self.path("state"), &variable)
        };
        Workspace::open(&self.path(path), options).unwrap()
    }

    /// The workspace by itself.
    pub(crate) fn alone(&self) -> Workspace {
        let variable = |name: &str| self.variables.get(name).cloned();
        Workspace::open(&self.path("work"), WorkspaceOptions::only(self.path("state"), &variable))
            .unwrap()
    }

    /// The workspace of somebody who vouches for all that it brings.
    pub(crate) fn vouched(&self) -> Workspace {
        let variable = |name: &str| self.variables.get(name).cloned();
        let options = WorkspaceOptions {
            vouched: true,
            managed: Some(self.path("managed")),
            ..WorkspaceOptions::only(self.path("state"), &variable)
        };
        Workspace::open(&self.path("work"), options).unwrap()
    }

    /// The workspace with discovery limited to `roots`.
    pub(crate) fn rooted(&self, roots: &[&str]) -> Workspace {
        let variable = |name: &str| self.variables.get(name).cloned();
        let options = WorkspaceOptions {
            roots: roots.iter().map(|root| self.path(root)).collect(),
            ..WorkspaceOptions::only(self.path("state"), &variable)
        };
        Workspace::open(&self.path("work"), options).unwrap()
    }

    pub(crate) fn store(&self) -> Store {
        Store::open(&self.path("state")).unwrap()
    }
}

/// The text of a skill.
pub(crate) fn skill(name: &str, description: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n{body}\n")
}

/// The text of a skill with more frontmatter.
pub(crate) fn skill_with(name: &str, more: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: Use for {name}.\n{more}\n---\n{body}\n")
}

pub(crate) fn id(text: &str) -> SkillId {
    SkillId::new(text).unwrap()
}

/// The ids of the catalogue, in order.
pub(crate) fn ids(workspace: &Workspace) -> Vec<String> {
    workspace.snapshot().skills.iter().map(|entry| entry.id.to_string()).collect()
}

/// What was left out: the end of the path, and the code.
pub(crate) fn skipped(workspace: &Workspace) -> Vec<(String, String)> {
    let name = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    workspace.snapshot().skipped.iter().map(|one| (name(&one.path), one.code.clone())).collect()
}

/// Long enough for a stamp to settle.
pub(crate) fn settle() {
    std::thread::sleep(Duration::from_millis(70));
}

pub(crate) fn begin(workspace: &mut Workspace) -> Session {
    Session::create(workspace, Store::memory(), Started::default()).unwrap()
}

/// A session whose person agrees beforehand to whatever asks.
pub(crate) fn agreeing(workspace: &mut Workspace) -> Session {
    let mut session = begin(workspace);
    session.ask_by(std::sync::Arc::new(Beforehand));
    session
}

/// The state that the whole log makes.
pub(crate) fn fold(events: &[Event]) -> State {
    events.iter().fold(State::default(), evolve)
}

/// A model that follows one dialogue for every task.
pub(crate) fn script(turns: Value) -> Script {
    scripts(json!([{"turns": turns}]))
}

pub(crate) fn scripts(dialogues: Value) -> Script {
    let text = json!({"script": "v1", "label": "test", "dialogues": dialogues}).to_string();
    Script::parse(text.as_bytes(), "test.json", "test").unwrap()
}

/// A turn that calls one of the four tools.
pub(crate) fn calls(name: &str, arguments: Value) -> Value {
    json!({"calls": [{"name": name, "arguments": arguments}]})
}

pub(crate) fn says(text: &str) -> Value {
    json!({"say": text})
}

/// Lets `model` work on `task`, or on what is left of it.
pub(crate) fn drive(
    workspace: &mut Workspace,
    session: &mut Session,
    model: &dyn Model,
    task: Option<&str>,
) -> Result<String, RuntimeError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut silent = Silent;
    let cancel = Cancel::default();
    let mut agent = Agent { workspace, session, model, observer: &mut silent, cancel };
    runtime.block_on(async {
        match task {
            Some(task) => agent.run(task).await,
            None => agent.go_on().await,
        }
    })
}

pub(crate) fn open_as(
    session: &mut Session,
    workspace: &mut Workspace,
    origin: Origin,
    reference: &str,
) -> Result<Answer, Refusal> {
    let reply = session.open(workspace, origin, reference, &OpenOptions::default()).unwrap();
    match reply.refusal {
        Some(refusal) => Err(refusal),
        None => Ok(reply.answer.unwrap()),
    }
}

/// Opens something for the model.
pub(crate) fn open(
    session: &mut Session,
    workspace: &mut Workspace,
    reference: &str,
) -> Result<Answer, Refusal> {
    open_as(session, workspace, Origin::model("o"), reference)
}

/// What the model is told when it opens something: `OPEN`, or the code of the refusal.
pub(crate) fn code(session: &mut Session, workspace: &mut Workspace, reference: &str) -> String {
    open(session, workspace, reference).map_or_else(|refusal| refusal.code, |_| "OPEN".to_owned())
}

/// Calls a tool for the model.
pub(crate) fn call(
    session: &mut Session,
    workspace: &Workspace,
    tool: &str,
    arguments: Value,
) -> Result<Answer, Refusal> {
    let origin = Origin::model("c");
    let reply = session.call(workspace, origin, tool, arguments, &Cancel::default()).unwrap();
    match reply.refusal {
        Some(refusal) => Err(refusal),
        None => Ok(reply.answer.unwrap()),
    }
}

/// Whether the tests run as a user whom no permission stops.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
