//! What records name by its digest, and what is kept of it.

use std::collections::HashMap;

use concertina_types::Digest;
use rusqlite::{CachedStatement, Connection, OptionalExtension as _};

use crate::sqlite::Failure;
use crate::{FileContent, StoreError};

/// What is kept of a text that a record names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// It is as it was written.
    Whole,
    /// It is not what its digest says.
    Changed,
    /// It is not kept any more: that is what retention does, and no fault.
    Gone,
}

impl Kept {
    /// What `bytes` are of the text that was to have this digest.
    pub(crate) fn of(digest: &Digest, bytes: Option<&[u8]>) -> Self {
        match bytes {
            None => Self::Gone,
            Some(bytes) if Digest::of(bytes) == *digest => Self::Whole,
            Some(_) => Self::Changed,
        }
    }
}

/// The contents of a state directory, read as they are.
pub(super) struct Contents<'a> {
    small: CachedStatement<'a>,
    large: Option<&'a FileContent>,
}

impl<'a> Contents<'a> {
    pub(super) fn of(connection: &'a Connection, large: &'a FileContent) -> Result<Self, Failure> {
        let small = connection.prepare_cached("SELECT bytes FROM content WHERE digest = ?1")?;
        // Most logs have no large content, and then no file has to be looked for.
        Ok(Self { small, large: Some(large).filter(|large| large.has_any()) })
    }

    /// What is kept under `digest`, whether or not it is that.
    pub(super) fn bytes(&mut self, digest: &Digest) -> Result<Option<Vec<u8>>, Failure> {
        let row = self.small.query_row([digest.as_bytes()], |row| row.get(0)).optional()?;
        Ok(match (row, self.large) {
            (None, Some(large)) => large.read(digest)?,
            (row, _) => row,
        })
    }
}

/// What was found of each content, so that it is read once however many records name it.
#[derive(Debug, Default)]
pub(super) struct Found {
    each: HashMap<Digest, (Kept, usize)>,
    session: usize,
}

impl Found {
    /// Goes on to another session, in which what is gone counts anew.
    pub(super) fn next_session(&mut self) {
        self.session += 1;
    }

    /// What is kept of each content that `record` names and that no record of this session named before.
    pub(super) fn of(
        &mut self,
        record: &str,
        contents: &mut Contents<'_>,
        each: &mut dyn FnMut(Kept),
    ) -> Result<(), Failure> {
        for digest in named(record) {
            match self.each.get_mut(&digest) {
                Some((_, session)) if *session == self.session => {}
                Some((kept, session)) => {
                    *session = self.session;
                    each(*kept);
                }
                None => {
                    let kept = Kept::of(&digest, contents.bytes(&digest)?.as_deref());
                    self.each.insert(digest, (kept, self.session));
                    each(kept);
                }
            }
        }
        Ok(())
    }
}

const DIGEST: &str = "\"digest\":\"sha256:";
const HEX: usize = 64;

/// The addresses of content in the text of a record: objects of `bytes` and `digest` alone. Quotes within
/// texts are escaped there, so that no text looks like one.
pub(super) fn named(record: &str) -> impl Iterator<Item = Digest> {
    record.match_indices(DIGEST).filter_map(|(at, key)| {
        let (before, after) = (record.get(..at)?, record.get(at + key.len()..)?);
        let (hex, after) = after.split_at_checked(HEX)?;
        let is_address = if after.starts_with("\"}") {
            let before = before.strip_suffix(',')?;
            before.trim_end_matches(|c: char| c.is_ascii_digit()).ends_with("{\"bytes\":")
        } else {
            // The format of before canonical texts has the fields in the other order.
            before.ends_with('{') && after.starts_with("\",\"bytes\":")
        };
        if is_address { format!("sha256:{hex}").parse().ok() } else { None }
    })
}

impl FileContent {
    /// The bytes in the file of `digest`, not checked against it.
    fn read(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.path(digest);
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::io(&path, error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_and_what_looks_like_them_is_not() {
        let hex = Digest::of(b"x").hex();
        for (record, found) in [
            (format!(r#"{{"a":{{"bytes":12,"digest":"sha256:{hex}"}}}}"#), 1),
            (format!(r#"{{"a":{{"digest":"sha256:{hex}","bytes":12}}}}"#), 1),
            (format!(r#"{{"digest":"sha256:{hex}","id":"x"}}"#), 0),
            (format!(r#"{{"bytes":1,"digest":"sha256:{hex}","id":"x"}}"#), 0),
            (format!(r#"{{"a":"{{\"bytes\":12,\"digest\":\"sha256:{hex}\"}}"}}"#), 0),
            (r#"{"bytes":1,"digest":"sha256:ä"}"#.to_owned(), 0),
            (format!(r#"{{"bytes":1,"digest":"sha256:{}"}}"#, hex.to_uppercase()), 0),
        ] {
            assert_eq!(named(&record).count(), found, "{record}");
        }
    }
}
