//! Traces of secrets that a session was told of, beside the keys: one JSON object a line.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::PathBuf;

use concertina_types::{SessionId, Trace};

use super::keys::Keys;
use crate::StoreError;
use crate::files::create_private_dir;

impl Keys {
    fn traces_path(&self, session: &SessionId) -> PathBuf {
        self.dir().join("declared").join(session.as_str())
    }

    /// The traces of `session` where the file is not as long as it was `seen` to be.
    pub(crate) fn traces(
        &self,
        session: &SessionId,
        seen: &mut u64,
    ) -> Result<Vec<Trace>, StoreError> {
        let path = self.traces_path(session);
        let length = match fs::metadata(&path) {
            Ok(file) => file.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(StoreError::io(&path, error)),
        };
        if length == *seen {
            return Ok(Vec::new());
        }
        let text = fs::read_to_string(&path).map_err(|error| StoreError::io(&path, error))?;
        *seen = text.len() as u64;
        // A line that a writer was stopped in tells of a secret that was not recorded yet.
        Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }

    /// Adds traces to those of `session`.
    pub(crate) fn add_traces(
        &self,
        session: &SessionId,
        traces: &[Trace],
    ) -> Result<(), StoreError> {
        let path = self.traces_path(session);
        if let Some(dir) = path.parent() {
            create_private_dir(dir)?;
        }
        let lines = traces.iter().filter_map(|trace| serde_json::to_string(trace).ok());
        // A line end first, in case that a writer was stopped within a line.
        let lines = lines.fold(String::new(), |all, line| all + "\n" + &line + "\n");
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let added = options.open(&path).and_then(|mut file| file.write_all(lines.as_bytes()));
        added.map_err(|error| StoreError::io(&path, error))
    }
}
