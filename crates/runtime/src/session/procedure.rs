//! Following a procedure: the workspace is looked at before anything is decided, and what was run is witnessed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use concertina_core::procedure::{Machine, TaskCard};
use concertina_core::session::{Command, Origin, Refusal, Statement, Witness, task_card};
use concertina_store::{Keyring, Notary};
use concertina_types::{CallId, Digest, Envelope, FieldValue, SkillId, Timestamp};
use ignore::gitignore::Gitignore;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Applied, Reply, Session, content};
use crate::clock::now;
use crate::error::RuntimeError;
use crate::inputs::{DigestCache, Inputs, InputsDigest, differences};
use crate::touch;
use crate::workspace::Workspace;

/// What a statement from outside says that it is.
pub const STATEMENT_TYPE: &str = "application/vnd.concertina.statement+json";

/// What a checkpoint may read of a file: as much as of an output.
const REPORT_BYTES: u64 = 16 * 1024 * 1024;

/// What a session keeps at hand while it follows a procedure.
#[derive(Default)]
pub(super) struct Following {
    pub(super) machines: Vec<Machine>,
    pub(super) notary: Option<Notary>,
    cache: Option<DigestCache>,
    /// The workspace as it was last looked at, or why it could not be.
    seen: Option<Result<InputsDigest, String>>,
    /// The arguments of calls under way.
    admitted: BTreeMap<CallId, Map<String, Value>>,
}

/// A statement as it stands in its envelope.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    run: String,
    checkpoint: String,
    #[serde(default)]
    parsed: BTreeMap<String, FieldValue>,
    #[serde(default)]
    inputs_digest: Option<Digest>,
    nonce: String,
}

impl Session {
    /// Follows the procedure in the first of `texts`; the others are those that may follow it.
    pub fn follow(&mut self, origin: Origin, texts: Vec<String>) -> Result<Reply, RuntimeError> {
        let machine = texts.first().and_then(|text| Machine::new(text).ok());
        let seen = machine.as_ref().map(|machine| self.see(machine));
        let inputs = digest(seen.as_ref());
        self.following.seen = seen;
        self.take_notary()?;
        let applied = self.apply(&Command::Follow { origin, texts, inputs })?;
        self.answer_waiting(applied)
    }

    /// Follows the procedure of a skill that was just opened, unless it is followed already; gives why that cannot
    /// be.
    pub(super) fn follow_with(
        &mut self,
        skill: &SkillId,
        texts: Vec<String>,
    ) -> Result<Option<Refusal>, RuntimeError> {
        let first = texts.first().map(|text| Digest::of(text.as_bytes()));
        let run = self.state.run.as_ref().filter(|run| !run.ended);
        if run.is_some_and(|run| run.procedure == first) {
            return Ok(None);
        }
        let refusal = self.follow(Origin::user(), texts)?.refusal;
        Ok(refusal.map(|refusal| {
            let message = format!("skill:{skill} follows a procedure: {}", refusal.message);
            Refusal::new(refusal.code, message)
        }))
    }

    /// Leaves the procedure that is followed.
    pub fn leave(&mut self, origin: Origin) -> Result<Reply, RuntimeError> {
        Ok(self.apply(&Command::Leave { origin })?.reply)
    }

    /// Where the procedure stands that is followed; none where none is.
    pub fn task_card(&self) -> Option<TaskCard> {
        task_card(&self.state, &self.world())
    }

    /// Why the workspace could not be looked at, where it could not.
    pub fn blindness(&self) -> Option<&str> {
        self.following.seen.as_ref()?.as_ref().err().map(String::as_str)
    }

    /// Looks at the workspace, where a procedure is followed: what changed there, or grew too old, counts from here
    /// on.
    pub fn look(&mut self) -> Result<(), RuntimeError> {
        if self.state.run.as_ref().is_none_or(|run| run.ended) {
            return Ok(());
        }
        self.take_machines()?;
        let Some(machine) = self.machine().cloned() else { return Ok(()) };
        let seen = self.see(&machine);
        let inputs = digest(Some(&seen));
        self.following.seen = Some(seen);
        let applied = self.apply(&Command::Look { inputs })?;
        self.answer_waiting(applied).map(drop)
    }

    /// Takes a statement on a checkpoint that somebody signed and sent.
    pub fn hear(&mut self, envelope: &Envelope) -> Result<Reply, RuntimeError> {
        self.catch_up()?;
        self.look()?;
        let origin = Origin::user();
        let request = "state a checkpoint";
        let Some(machine) = self.machine() else {
            return self.refuse(
                origin,
                request,
                "NO_PROCEDURE",
                "this session follows no procedure",
            );
        };
        match statement(machine, envelope) {
            Ok(statement) => {
                let applied = self.apply(&Command::Hear(Box::new(statement)))?;
                self.answer_waiting(applied)
            }
            Err((code, reason)) => self.refuse(origin, request, code, reason),
        }
    }

    fn machine(&self) -> Option<&Machine> {
        let run = self.state.run.as_ref()?;
        self.following.machines.iter().find(|machine| run.procedure == Some(machine.digest()))
    }

    /// Takes the texts of the run, where they are not those at hand.
    pub(super) fn take_machines(&mut self) -> Result<(), RuntimeError> {
        let Some(run) = &self.state.run else { return Ok(()) };
        let same = run.texts.len() == self.following.machines.len()
            && run.texts.iter().zip(&self.following.machines).all(|(a, b)| a.digest == b.digest());
        if same {
            return Ok(());
        }
        let texts = run.texts.iter().map(|blob| content(&self.store, &self.id, &blob.digest));
        let texts: Vec<String> = texts.collect::<Result<_, _>>()?;
        self.following.machines = texts.iter().filter_map(|text| Machine::new(text).ok()).collect();
        Ok(())
    }

    /// Takes the key that signs now.
    pub(super) fn take_notary(&mut self) -> Result<(), RuntimeError> {
        self.following.notary = Some(self.store.notary(now())?);
        Ok(())
    }

    /// Keeps digests of files below `home`, so that a look reads only what changed.
    pub(super) fn digests_below(&mut self, workspace: &Workspace) {
        self.following.cache = Some(DigestCache::below(workspace.home()));
    }

    /// The workspace as it is now.
    fn see(&self, machine: &Machine) -> Result<InputsDigest, String> {
        let inputs = &machine.document().inputs;
        let workspace = Path::new(&self.settings.site.workspace);
        let look = || {
            let cache = self.following.cache.clone().unwrap_or_else(|| {
                // Nothing is kept there, so each look reads everything.
                DigestCache::below(Path::new("/nonexistent"))
            });
            Inputs::new(workspace, &inputs.root, &inputs.ignore)?.digest(&cache)
        };
        look().map_err(|error| error.to_string())
    }

    /// Takes note of the arguments that an admitted call runs with.
    pub(super) fn admitted(&mut self, id: CallId, arguments: &Value) {
        if self.state.run.is_some() {
            let arguments = arguments.as_object().cloned().unwrap_or_default();
            self.following.admitted.insert(id, arguments);
        }
    }

    /// What a procedure wants to know of call `id`, which has just ended.
    pub(super) fn witness(&mut self, id: CallId) -> Option<Box<Witness>> {
        let arguments = self.following.admitted.remove(&id)?;
        let call = self.state.pending.get(&id)?;
        let machine = self.machine()?.clone();
        let (tool, since) = (call.tool.to_string(), call.at);
        let workspace = PathBuf::from(&self.settings.site.workspace);
        let files = machine
            .reads(&tool)
            .into_iter()
            .map(|path| (path.to_owned(), report(&workspace, path, since)));
        let files = files.collect();
        let after = self.see(&machine);
        let changed = match (&self.following.seen, &after) {
            (Some(Ok(before)), Ok(after)) => {
                // A pattern that cannot be read allows nothing.
                let allowed = machine.writes(&tool);
                let allowed: Vec<String> = allowed.into_iter().map(str::to_owned).collect();
                let allowed = touch::compile(&allowed).unwrap_or_else(|_| Gitignore::empty());
                let all = differences(before, after);
                let is_allowed =
                    |path: &Path| allowed.matched_path_or_any_parents(path, false).is_ignore();
                let strange = all.filter(|change| !is_allowed(&change.path));
                strange.take(CHANGES).map(|change| change.to_string()).collect()
            }
            // What was not seen before cannot be compared.
            _ => Vec::new(),
        };
        let inputs = digest(Some(&after));
        self.following.seen = Some(after);
        Some(Box::new(Witness { arguments, files, changed, inputs }))
    }

    /// Where a checkpoint waits for a person whose answer would count, asks whoever can be asked at once.
    pub(super) fn answer_waiting(&mut self, applied: Applied) -> Result<Reply, RuntimeError> {
        if let Some(ask) = &applied.waits
            && self.settings.procedures.same_uid
        {
            self.settle_ask(ask)?;
        }
        Ok(applied.reply)
    }
}

/// Changes that a witness names: the first says what is wrong, the others how much.
const CHANGES: usize = 100;

fn digest(seen: Option<&Result<InputsDigest, String>>) -> Option<Digest> {
    seen?.as_ref().ok().map(|seen| seen.digest)
}

/// What stands in the file `path` of the workspace, where the call that began at `since` wrote it.
fn report(workspace: &Path, path: &str, since: Timestamp) -> Result<String, String> {
    let file = crate::inside::inside(workspace, path)
        .ok_or_else(|| "it lies outside of the workspace".to_owned())?;
    let about = std::fs::metadata(&file).map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err("it is no file".to_owned());
    }
    if about.len() > REPORT_BYTES {
        return Err(format!("it is larger than {REPORT_BYTES} bytes"));
    }
    let written =
        about.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    let written = written.and_then(|at| i64::try_from(at.as_millis()).ok()).unwrap_or_default();
    // Clocks of files tick in steps.
    if written.saturating_add(FILE_CLOCK_MS) < since.0 {
        return Err("this run did not write it".to_owned());
    }
    std::fs::read_to_string(&file).map_err(|error| error.to_string())
}

/// The step of a file system's clock.
const FILE_CLOCK_MS: i64 = 20;

/// The statement in `envelope`, if the key that its checkpoint names signed it.
fn statement(machine: &Machine, envelope: &Envelope) -> Result<Statement, (&'static str, String)> {
    let unreadable = |why: String| ("STATEMENT_UNREADABLE", why);
    if envelope.kind != STATEMENT_TYPE {
        let kind: String = envelope.kind.chars().take(100).collect();
        return Err(unreadable(format!(
            "it holds `{kind}`, and a statement is `{STATEMENT_TYPE}`"
        )));
    }
    let payload = envelope.payload().map_err(|error| unreadable(error.to_string()))?;
    let said: Said = serde_json::from_slice(&payload)
        .map_err(|error| unreadable(format!("what it holds is no statement: {error}")))?;
    let checkpoint = machine.document().checkpoint(&said.checkpoint);
    let key = checkpoint.and_then(|checkpoint| match &checkpoint.issuer {
        concertina_format::procedure::Issuer::Webhook { key } => Some(key.clone()),
        _ => None,
    });
    let Some(key) = key else {
        return Err(("UNKNOWN_CHECKPOINT", format!("no webhook proves `{}`", said.checkpoint)));
    };
    let mut keys = Keyring::default();
    keys.add(&key).map_err(|error| {
        ("STATEMENT_WRONG_KEY", format!("the key of checkpoint {}: {error}", said.checkpoint))
    })?;
    keys.signed(envelope).map_err(|fault| ("STATEMENT_FORGED", fault.to_string()))?;
    Ok(Statement {
        key,
        run: said.run,
        checkpoint: said.checkpoint,
        fields: said.parsed,
        inputs: said.inputs_digest,
        nonce: said.nonce,
        payload: Digest::of(&payload),
    })
}
