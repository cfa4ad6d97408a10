//! The file `heads`: every signed checkpoint again, apart from the log, so that a log which lost its end
//! shows it. One note a line, as a JSON string; anchors are the same.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use concertina_types::SignedNote;

use crate::StoreError;
use crate::files::create_private_dir;

#[derive(Debug)]
pub(crate) struct Heads {
    path: PathBuf,
}

impl Heads {
    pub(crate) fn below(home: &Path) -> Self {
        Self { path: home.join("heads") }
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file to write, before anything else is written: where it cannot be, nothing is.
    pub(crate) fn open(&self) -> Result<File, StoreError> {
        if let Some(dir) = self.path.parent() {
            create_private_dir(dir)?;
        }
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&self.path).map_err(|error| StoreError::io(&self.path, error))
    }

    /// Adds `notes`, on the disk where `durable`. What a writer that was killed left of a line goes first.
    pub(crate) fn add(
        &self,
        mut file: File,
        notes: &[SignedNote],
        durable: bool,
    ) -> Result<(), StoreError> {
        let lines: String = notes.iter().map(line).collect();
        let mut add = || {
            file.lock()?;
            mend(&mut file)?;
            let end = file.metadata()?.len();
            let written = file.write_all(lines.as_bytes());
            if written.is_err() {
                // A full disk takes part of a line.
                file.set_len(end)?;
            }
            written?;
            if durable { file.sync_data() } else { Ok(()) }
        };
        add().map_err(|error| StoreError::io(&self.path, error))
    }

    /// Reads the file; none where there is no such file.
    pub(crate) fn read(&self) -> Result<Option<BufReader<File>>, StoreError> {
        match File::open(&self.path) {
            Ok(file) => Ok(Some(BufReader::new(file))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::io(&self.path, error)),
        }
    }
}

/// A note as a line.
pub(crate) fn line(note: &SignedNote) -> String {
    serde_json::Value::String(note.to_string()).to_string() + "\n"
}

/// Cuts a line that was not written to its end.
fn mend(file: &mut File) -> io::Result<()> {
    let length = file.metadata()?.len();
    // Longer than any line.
    let window = length.min(4_096);
    file.seek(SeekFrom::Start(length - window))?;
    let mut end = Vec::new();
    (&*file).take(window).read_to_end(&mut end)?;
    match end.iter().rposition(|byte| *byte == b'\n') {
        Some(at) if at + 1 == end.len() => Ok(()),
        Some(at) => file.set_len(length - window + at as u64 + 1),
        None if window == length => file.set_len(0),
        None => Ok(()),
    }
}

/// What a file of notes says.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// The notes, in order.
    pub(crate) all: Vec<SignedNote>,
    /// The first line that is no note.
    pub(crate) bad_line: Option<u64>,
    /// Whether the last line was not written to its end.
    pub(crate) torn: bool,
}

impl Notes {
    /// Reads notes, those of `session` alone where one is given.
    pub(crate) fn read(
        mut from: BufReader<File>,
        is_wanted: &dyn Fn(&SignedNote) -> bool,
    ) -> io::Result<Self> {
        let mut notes = Self::default();
        let mut number = 0;
        let mut text = Vec::new();
        while from.read_until(b'\n', &mut text)? > 0 {
            number += 1;
            if text.last() == Some(&b'\n') {
                match parsed(&text) {
                    Some(note) if is_wanted(&note) => notes.all.push(note),
                    Some(_) => {}
                    None => notes.bad_line = notes.bad_line.or(Some(number)),
                }
            } else {
                notes.torn = true;
            }
            text.clear();
        }
        Ok(notes)
    }
}

fn parsed(text: &[u8]) -> Option<SignedNote> {
    let said: String = serde_json::from_slice(text).ok()?;
    let note: SignedNote = said.parse().ok()?;
    // One spelling only.
    (line(&note).as_bytes() == text).then_some(note)
}
