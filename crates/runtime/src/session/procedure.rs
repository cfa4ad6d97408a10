//! Following a procedure: the workspace is looked at before anything is decided, and what was run is witnessed.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use concertina_core::catalog::Danger;
use concertina_core::context::{block, disarm};
use concertina_core::procedure::{Machine, TaskCard};
use concertina_core::session::{Command, Origin, Refusal, Statement, Witness, meant, task_card};
use concertina_store::{Keyring, Notary};
use concertina_types::{CallId, Digest, Envelope, FieldValue, SkillId, ToolName};
use ignore::gitignore::Gitignore;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::quiet::{Hold, Locks, Wants};
use super::{Admission, Applied, Reply, Session, content};
use crate::clock::now;
use crate::error::RuntimeError;
use crate::inputs::{DigestCache, Inputs, InputsDigest, differences};
use crate::touch;

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
    locks: Option<Locks>,
    /// What calls under way hold.
    held: BTreeMap<CallId, Hold>,
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

/// A statement as it stands in its envelope.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    run: String,
    checkpoint: String,
    #[serde(default, deserialize_with = "each_once")]
    parsed: BTreeMap<String, FieldValue>,
    #[serde(default)]
    inputs_digest: Option<Digest>,
    nonce: String,
}

/// The longest nonce, in bytes: what it is in has to fit into a receipt.
const NONCE_BYTES: usize = 200;
/// The longest statement, in bytes.
const STATEMENT_BYTES: usize = 64 * 1024;

/// Fields of which each is said once: of two, readers could take either.
fn each_once<'de, D: serde::Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<String, FieldValue>, D::Error> {
    struct Fields;
    impl<'de> serde::de::Visitor<'de> for Fields {
        type Value = BTreeMap<String, FieldValue>;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("fields, each once")
        }
        fn visit_map<A: serde::de::MapAccess<'de>>(
            self,
            mut map: A,
        ) -> Result<Self::Value, A::Error> {
            let mut fields = BTreeMap::new();
            while let Some((name, value)) = map.next_entry::<String, FieldValue>()? {
                if fields.contains_key(&name) {
                    return Err(serde::de::Error::custom(format!("`{name}` is said twice")));
                }
                fields.insert(name, value);
            }
            Ok(fields)
        }
    }
    from.deserialize_map(Fields)
}

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
        const NAMES: usize = 8;
        let card = self.task_card()?;
        let text = disarm(&card.lines(NAMES).join("\n"));
        Some(block("step", &[("name", &card.state)], &text))
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

    /// Keeps digests of files below `home`, so that a look reads only what changed. What is kept there is never an
    /// input.
    pub(super) fn digests_below(&mut self, home: &Path) {
        self.following.cache = Some(DigestCache::below(home));
        self.following.locks = Some(Locks::below(home));
    }

    /// Holds what a call of `tool` wants of the work; nothing where others are in the way.
    pub(super) fn hold(&self, tool: &ToolName) -> Result<Option<Hold>, RuntimeError> {
        let entry = meant(&self.state, &self.world(), tool);
        // What is not there is refused without it.
        let Some(entry) = entry else { return Ok(Some(Hold::default())) };
        let tool = entry.name.clone();
        let writes = entry.danger != Danger::Safe;
        self.hold_for(&tool, writes)
    }

    /// The same for `tool` where it is known to write.
    pub(super) fn hold_writing(&self, tool: &ToolName) -> Result<Option<Hold>, RuntimeError> {
        self.hold_for(tool, true)
    }

    fn hold_for(&self, tool: &ToolName, writes: bool) -> Result<Option<Hold>, RuntimeError> {
        let Some(locks) = &self.following.locks else { return Ok(Some(Hold::default())) };
        let run = self.state.run.as_ref().filter(|run| !run.ended);
        let quiet = run
            .zip(self.machine())
            .is_some_and(|(run, machine)| machine.needs_quiet(run, tool.as_str()));
        let workspace = &self.settings.site.real_workspace;
        let workspace =
            if workspace.is_empty() { &self.settings.site.workspace } else { workspace };
        let held = locks.hold(&self.id, workspace, Wants { writes, quiet });
        held.map_err(|error| RuntimeError::Environment {
            code: "NOT_LOCKED",
            message: format!(
                "the work cannot be kept as it is: {error}; make the state directory writable"
            ),
        })
    }

    /// Keeps `hold` until call `id` has ended.
    pub(super) fn holds(&mut self, id: CallId, hold: Hold) {
        self.following.held.insert(id, hold);
    }

    /// Lets go of what call `id` held.
    pub(super) fn let_go(&mut self, id: CallId) {
        self.following.held.remove(&id);
    }

    /// Whether another process has a call of this session under way.
    pub(super) fn is_under_way_elsewhere(&self) -> bool {
        let locks = self.following.locks.as_ref();
        self.following.held.is_empty() && locks.is_some_and(|locks| locks.is_under_way(&self.id))
    }

    /// Settles calls of a process that is gone: nothing would ever end them, and others would wait for it.
    pub(super) fn give_up_what_nobody_runs(&mut self) -> Result<(), RuntimeError> {
        let is_ours = !self.following.held.is_empty() || self.following.locks.is_none();
        if self.state.pending.is_empty() || is_ours {
            return Ok(());
        }
        self.recover()
    }

    /// Says that the work cannot be kept as it is for a call of `tool` now.
    pub(super) fn not_quiet(
        &mut self,
        origin: Origin,
        tool: &ToolName,
    ) -> Result<Admission, RuntimeError> {
        let text = format!(
            "tool:{tool} waits: a call of this or another session changes the work now, or tells of it, and the work must not change under that; call again when it has ended"
        );
        let reply = self.refuse(origin, format!("call {tool}"), "STEP_WAITS", text)?;
        Ok(Admission::Answered(Box::new(reply)))
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
    if payload.len() > STATEMENT_BYTES {
        return Err(unreadable(format!("it is longer than {STATEMENT_BYTES} bytes")));
    }
    let said: Said = serde_json::from_slice(&payload)
        .map_err(|error| unreadable(format!("what it holds is no statement: {error}")))?;
    if said.nonce.is_empty() || said.nonce.len() > NONCE_BYTES {
        return Err(unreadable(format!("its nonce has to have 1 to {NONCE_BYTES} bytes")));
    }
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
