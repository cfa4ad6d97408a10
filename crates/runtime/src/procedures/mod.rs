//! Procedures that the settings name, and how one is found by its name or its file.

mod assurance;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use concertina_core::procedure::Machine;
use concertina_core::session::Listed;
use concertina_format::config::ConfigOrigin;
use concertina_format::procedure::{Issuer, PROCEDURE_BYTES, Procedure};
use concertina_store::Keyring;
use concertina_types::{Diagnostic, Severity};

use crate::error::RuntimeError;

pub use assurance::{Held, Surroundings, assurance, lacking};

/// A procedure in a file.
#[derive(Debug, Clone)]
pub struct ProcedureFile {
    /// Where it is.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
    /// The same, read.
    pub machine: Machine,
    /// Whose settings list it; none where they do not.
    pub by: Option<ConfigOrigin>,
}

/// Why a file gives no procedure.
#[derive(Debug, thiserror::Error)]
pub enum ProcedureError {
    /// It cannot be read.
    #[error("{path} cannot be read: {source}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It has errors.
    #[error("{path} is no procedure that can be followed: {first}; see all that is wrong: concertina sop check {path}", path = path.display())]
    Unsound {
        /// The file.
        path: PathBuf,
        /// The first of them.
        first: String,
        /// All that was found.
        findings: Vec<Diagnostic>,
    },
}

impl ProcedureFile {
    /// Reads the procedure in `path`.
    pub fn read(path: &Path) -> Result<Self, ProcedureError> {
        let unreadable = |source| ProcedureError::Unreadable { path: path.to_owned(), source };
        let about = std::fs::metadata(path).map_err(unreadable)?;
        if !about.is_file() {
            return Err(unreadable(io::Error::other("it is no file")));
        }
        let most = u64::try_from(PROCEDURE_BYTES).unwrap_or(u64::MAX);
        if about.len() > most {
            return Err(unreadable(io::Error::other(format!("it is larger than {most} bytes"))));
        }
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        let read = Machine::new(&text).and_then(|machine| {
            let faults = key_faults(machine.document());
            if faults.is_empty() { Ok(machine) } else { Err(faults) }
        });
        match read {
            Ok(machine) => Ok(Self { path: path.to_owned(), text, machine, by: None }),
            Err(findings) => {
                let first = findings.first().map(|found| found.message.clone()).unwrap_or_default();
                Err(ProcedureError::Unsound { path: path.to_owned(), first, findings })
            }
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.machine.document().name
    }
}

/// Keys of webhooks that are none: nothing could ever prove their checkpoints.
pub fn key_faults(procedure: &Procedure) -> Vec<Diagnostic> {
    let faults = procedure.checkpoints.iter().filter_map(|checkpoint| {
        let Issuer::Webhook { key } = &checkpoint.issuer else { return None };
        let error = Keyring::default().add(key).err()?;
        let message = format!("the key of checkpoint `{}`: {error}", checkpoint.name);
        let help = "write the public key of whoever signs";
        let found = Diagnostic::new("BAD_KEY", Severity::Error, message);
        Some(found.at(checkpoint.at).help(help))
    });
    faults.collect()
}

/// The procedures of a workspace.
#[derive(Debug, Clone, Default)]
pub struct Procedures {
    /// Those that could be read, by name.
    pub known: BTreeMap<String, ProcedureFile>,
    /// Why the others could not.
    pub faults: Vec<(PathBuf, String)>,
}

impl Procedures {
    /// Reads `files`, each with whose settings list it. Of two with one name the first counts.
    pub fn read(files: &[(PathBuf, ConfigOrigin)]) -> Self {
        let mut all = Self::default();
        for (path, by) in files {
            match ProcedureFile::read(path) {
                Ok(file) => match all.known.get(file.name()) {
                    None => {
                        let file = ProcedureFile { by: Some(*by), ..file };
                        all.known.insert(file.name().to_owned(), file);
                    }
                    Some(first) => {
                        let why =
                            format!("{} is also defined in {}", file.name(), first.path.display());
                        all.faults.push((path.clone(), why));
                    }
                },
                Err(error) => all.faults.push((path.clone(), error.to_string())),
            }
        }
        all
    }

    /// What a session is told of them.
    pub(crate) fn settings(
        &self,
        always: bool,
        same_uid: bool,
    ) -> concertina_core::session::Procedures {
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        let listed =
            self.known.values().filter_map(|file| Some(Listed::of(&file.machine, file.by?)));
        concertina_core::session::Procedures {
            listed: listed.collect(),
            unreadable: self.faults.iter().map(|(path, _)| shown(path)).collect(),
            always,
            same_uid,
        }
    }

    /// The files, those included that give no procedure.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        let faulty = self.faults.iter().map(|(path, _)| path.as_path());
        self.known.values().map(|file| file.path.as_path()).chain(faulty)
    }

    /// The text of the procedure that `name` means, by its name or as a file below `directory`, and those of the
    /// procedures that may follow it.
    pub fn texts(&self, name: &str, directory: &Path) -> Result<Vec<String>, RuntimeError> {
        self.texts_from(self.find(name, directory)?)
    }

    /// The same for the procedure in `first`.
    pub fn texts_from(&self, first: ProcedureFile) -> Result<Vec<String>, RuntimeError> {
        let beside = first.path.parent().unwrap_or(Path::new("")).to_owned();
        let mut texts: Vec<String> = Vec::new();
        let mut taken: Vec<String> = Vec::new();
        let mut wanted = vec![first];
        while let Some(file) = wanted.pop() {
            if taken.iter().any(|name| name == file.name()) {
                continue;
            }
            taken.push(file.name().to_owned());
            let then = file.machine.document().states.iter().filter_map(|state| state.then.clone());
            for name in then.filter(|name| !taken.contains(name)) {
                wanted.push(match self.known.get(&name) {
                    Some(known) => known.clone(),
                    None => beside_it(&beside, &name)?,
                });
            }
            texts.push(file.text);
        }
        Ok(texts)
    }

    /// The procedure that `name` means, by its name or as a file below `directory`.
    pub fn find(&self, name: &str, directory: &Path) -> Result<ProcedureFile, RuntimeError> {
        if let Some(known) = self.known.get(name) {
            return Ok(known.clone());
        }
        let path = directory.join(name);
        if path.is_file() {
            return ProcedureFile::read(&path).map_err(|error| unfit(&error));
        }
        let near = concertina_format::nearest(name, self.known.keys().map(String::as_str));
        let help = match (near, self.known.is_empty()) {
            (Some(near), _) => format!("did you mean {near}?"),
            (None, true) => {
                "name a file, or list files in `[procedures] files` of concertina.toml".to_owned()
            }
            (None, false) => {
                let names: Vec<&str> = self.known.keys().map(String::as_str).collect();
                format!("there are {}", names.join(", "))
            }
        };
        let why = format!("there is no procedure `{name}`, and no such file; {help}");
        Err(RuntimeError::NoProcedure(why))
    }
}

/// The procedure called `name` in a file of its name beside another.
fn beside_it(directory: &Path, name: &str) -> Result<ProcedureFile, RuntimeError> {
    let names = ["sop.yaml", "yaml", "yml"].map(|end| directory.join(format!("{name}.{end}")));
    let found = names.iter().find(|path| path.is_file());
    let Some(path) = found else {
        let why = format!(
            "the procedure `{name}` follows, and there is none: list its file in `[procedures] files`, or put it beside as {name}.sop.yaml"
        );
        return Err(RuntimeError::NoProcedure(why));
    };
    let file = ProcedureFile::read(path).map_err(|error| unfit(&error))?;
    if file.name() == name {
        return Ok(file);
    }
    let why = format!("{} holds the procedure `{}`, not `{name}`", path.display(), file.name());
    Err(RuntimeError::NoProcedure(why))
}

fn unfit(error: &ProcedureError) -> RuntimeError {
    match error {
        ProcedureError::Unreadable { .. } => {
            RuntimeError::Environment { code: "UNREADABLE", message: error.to_string() }
        }
        ProcedureError::Unsound { .. } => RuntimeError::ProcedureUnsound(error.to_string()),
    }
}
