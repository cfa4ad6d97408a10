//! Following a procedure: the workspace is looked at before anything is decided, and what was run is witnessed.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use concertina_core::procedure::{Machine, TaskCard};
use concertina_core::session::{
    Command, Origin, Refusal, STEP_NAMES, Statement, Witness, step_block, task_card,
};
use concertina_store::Notary;
use concertina_types::{CallId, Digest, Envelope, SkillId, ToolName};
use ignore::gitignore::Gitignore;
use serde_json::{Map, Value};

use super::quiet::{Hold, Locks};
use super::statement::statement;
use super::{Applied, Reply, Session, content};
use crate::clock::now;
use crate::error::RuntimeError;
use crate::inputs::{DigestCache, Inputs, InputsDigest, differences};
use crate::touch;

/// What a checkpoint may read of a file: as much as of an output.
const REPORT_BYTES: u64 = 16 * 1024 * 1024;

/// What a session keeps at hand while it follows a procedure.
#[derive(Default)]
pub(super) struct Following {
    pub(super) machines: Vec<Machine>,
    pub(super) notary: Option<Notary>,
    cache: Option<DigestCache>,
    pub(super) locks: Option<Locks>,
    /// What calls under way hold.
    pub(super) held: BTreeMap<CallId, Hold>,
    /// The workspace as it was last looked at, or why it could not be.
    seen: Option<Arc<Seen>>,
    /// Calls under way.
    admitted: BTreeMap<CallId, Admitted>,
}

/// The workspace as it was found, or why it could not be looked at.
type Seen = Result<InputsDigest, String>;

/// What is known of a call before it runs.
struct Admitted {
    arguments: Map<String, Value>,
    /// The workspace that it runs on.
    before: Option<Arc<Seen>>,
    /// The files that will be read in place of its output: what they are then has to be another file.
    reports: BTreeMap<String, Option<Stamp>>,
}

/// What tells one writing of a file from another. The time of change is the system's to set.
type Stamp = (u64, u64, i64, i64, u64);

impl Session {
    /// Follows the procedure in the first of `texts`; the others are those that may follow it.
    pub fn follow(&mut self, origin: Origin, texts: Vec<String>) -> Result<Reply, RuntimeError> {
        let machines: Vec<Machine> =
            texts.iter().filter_map(|text| Machine::new(text).ok()).collect();
        let seen = machines.first().map(|machine| Arc::new(self.see(machine)));
        let inputs = digest(seen.as_deref());
        self.following.seen = seen;
        self.take_notary()?;
        if self.state.run.is_none() {
            // Where nothing is kept, they could not be fetched.
            self.following.machines = machines;
        }
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

    /// The same as a block for a model.
    pub fn step_shown(&self) -> Option<String> {
        let card = self.task_card()?;
        Some(step_block(&card.state, &card.lines(STEP_NAMES)))
    }

    /// Why the workspace could not be looked at, where it could not.
    pub fn blindness(&self) -> Option<&str> {
        self.following.seen.as_deref()?.as_ref().err().map(String::as_str)
    }

    /// Looks at the workspace, where a procedure is followed: what changed there, or grew too old, counts from here
    /// on.
    pub fn look(&mut self) -> Result<(), RuntimeError> {
        if self.state.run.as_ref().is_none_or(|run| run.ended) {
            return Ok(());
        }
        self.take_machines()?;
        let Some(machine) = self.machine().cloned() else { return Ok(()) };
        let seen = Arc::new(self.see(&machine));
        let inputs = digest(Some(&seen));
        self.following.seen = Some(seen);
        let applied = self.apply(&Command::Look { inputs })?;
        self.answer_waiting(applied).map(drop)
    }

    /// Takes a statement on a checkpoint that somebody signed and sent.
    pub fn hear(&mut self, envelope: &Envelope) -> Result<Reply, RuntimeError> {
        match self.read_statement(envelope)? {
            Ok(statement) => {
                // Only for what a known key signed: a look may move the run.
                self.look()?;
                let applied = self.apply(&Command::Hear(Box::new(statement)))?;
                self.answer_waiting(applied)
            }
            Err((code, reason)) => self.refuse(Origin::user(), "state a checkpoint", code, reason),
        }
    }

    /// Whether the key that a checkpoint names signed `envelope`. Nothing is recorded.
    pub(crate) fn knows_sender(&mut self, envelope: &Envelope) -> Result<bool, RuntimeError> {
        Ok(self.read_statement(envelope)?.is_ok())
    }

    fn read_statement(
        &mut self,
        envelope: &Envelope,
    ) -> Result<Result<Statement, (&'static str, String)>, RuntimeError> {
        self.catch_up()?;
        self.take_machines()?;
        let none = || ("NO_PROCEDURE", "this session follows no procedure".to_owned());
        Ok(self.machine().ok_or_else(none).and_then(|machine| statement(machine, envelope)))
    }

    pub(super) fn machine(&self) -> Option<&Machine> {
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

    /// Keeps digests of files below `home`, so that a look reads only what changed. What is kept there is never an
    /// input.
    pub(super) fn digests_below(&mut self, home: &Path) {
        self.following.cache = Some(DigestCache::below(home));
        self.following.locks = Some(Locks::below(home));
    }

    /// The workspace as it is now.
    fn see(&self, machine: &Machine) -> Result<InputsDigest, String> {
        let inputs = &machine.document().inputs;
        let workspace = Path::new(&self.settings.site.workspace);
        let look = || {
            let nothing_kept = DigestCache::none();
            let cache = self.following.cache.as_ref().unwrap_or(&nothing_kept);
            Inputs::new(workspace, &inputs.root, &inputs.ignore)?.digest(cache)
        };
        match look() {
            Ok(seen) if seen.files == 0 => {
                Err("no file of it counts: each is ignored, or there is none".to_owned())
            }
            seen => seen.map_err(|error| error.to_string()),
        }
    }

    /// Takes note of what an admitted call runs with, and on.
    pub(super) fn admitted(&mut self, id: CallId, tool: &ToolName, arguments: &Value) {
        let Some(machine) = self.state.run.as_ref().and_then(|_| self.machine()) else { return };
        let workspace = Path::new(&self.settings.site.workspace);
        let reports = machine.reads(tool.as_str()).into_iter();
        let reports = reports.map(|path| (path.to_owned(), stamp_of(workspace, path)));
        let admitted = Admitted {
            arguments: arguments.as_object().cloned().unwrap_or_default(),
            before: self.following.seen.clone(),
            reports: reports.collect(),
        };
        self.following.admitted.insert(id, admitted);
    }

    /// What a procedure wants to know of call `id`, which has just ended.
    pub(super) fn witness(&mut self, id: CallId) -> Option<Box<Witness>> {
        let Admitted { arguments, before, reports } = self.following.admitted.remove(&id)?;
        let tool = self.state.pending.get(&id)?.tool.to_string();
        let machine = self.machine()?.clone();
        let workspace = Path::new(&self.settings.site.workspace);
        let files = reports.into_iter().map(|(path, before)| {
            let text = report(workspace, &path, before);
            (path, text)
        });
        let files = files.collect();
        let after = Arc::new(self.see(&machine));
        let (changed, unseen) = match (before.as_deref(), &*after) {
            (Some(Ok(before)), Ok(after)) => {
                let of_checkpoint = |(name, allowed): (&str, &[String])| {
                    // A pattern that cannot be read allows nothing.
                    let allowed = touch::compile(allowed).unwrap_or_else(|_| Gitignore::empty());
                    let is_allowed =
                        |path: &Path| allowed.matched_path_or_any_parents(path, false).is_ignore();
                    let strange = differences(before, after).filter(|one| !is_allowed(&one.path));
                    let strange = strange.take(CHANGES).map(|one| one.to_string());
                    (name.to_owned(), strange.collect())
                };
                (machine.writes(&tool).into_iter().map(of_checkpoint).collect(), None)
            }
            (Some(Err(why)), _) | (_, Err(why)) => (BTreeMap::new(), Some(why.clone())),
            (None, Ok(_)) => (BTreeMap::new(), Some("it was not looked at before".to_owned())),
        };
        let inputs = digest(Some(&after));
        self.following.seen = Some(after);
        Some(Box::new(Witness { arguments, files, changed, unseen, inputs }))
    }

    /// Where a checkpoint waits for a person whose answer would count, asks whoever can be asked at once.
    pub(super) fn answer_waiting(&mut self, applied: Applied) -> Result<Reply, RuntimeError> {
        if self.settings.procedures.same_uid {
            for ask in &applied.waits {
                self.settle_ask(ask)?;
            }
        }
        Ok(applied.reply)
    }
}

/// Changes that a witness names: the first says what is wrong, the others how much.
const CHANGES: usize = 100;

fn digest(seen: Option<&Seen>) -> Option<Digest> {
    seen?.as_ref().ok().map(|seen| seen.digest)
}

/// The file `path` of the workspace.
fn file_of(workspace: &Path, path: &str) -> Result<PathBuf, String> {
    crate::inside::inside(workspace, path)
        .ok_or_else(|| "it lies outside of the workspace".to_owned())
}

fn stamp_of(workspace: &Path, path: &str) -> Option<Stamp> {
    let about = std::fs::metadata(file_of(workspace, path).ok()?).ok()?;
    Some((about.dev(), about.ino(), about.ctime(), about.ctime_nsec(), about.len()))
}

/// What stands in the file `path` of the workspace, where the call wrote it that found it as `before`.
fn report(workspace: &Path, path: &str, before: Option<Stamp>) -> Result<String, String> {
    let file = file_of(workspace, path)?;
    let about = std::fs::metadata(&file).map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err("it is no file".to_owned());
    }
    if about.len() > REPORT_BYTES {
        return Err(format!("it is larger than {REPORT_BYTES} bytes"));
    }
    if stamp_of(workspace, path) == before {
        return Err("this run did not write it".to_owned());
    }
    std::fs::read_to_string(&file).map_err(|error| error.to_string())
}
