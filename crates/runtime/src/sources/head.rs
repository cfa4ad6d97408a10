//! Reading the frontmatter of a file and no more.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use concertina_format::skill::{Head, Mode, Origin, Parsed, parse_head};
use concertina_types::limits;

/// Bytes read at a time. Most frontmatter ends in the first piece; a body is not read past it.
const PIECE: usize = 1_024;

/// The head of a skill file.
pub(super) struct SkillHead {
    pub(super) parsed: Parsed,
    pub(super) bytes_read: u64,
}

/// Reads from `file` until its frontmatter, or the paragraph that stands for it, is complete.
pub(super) fn read_head(
    file: &mut File,
    path: &Path,
    origin: Origin<'_>,
) -> std::io::Result<SkillHead> {
    // One buffer for one file: a piece to start with, larger ones where the head is long.
    let mut bytes = Vec::with_capacity(PIECE);
    loop {
        let want = if bytes.is_empty() { PIECE } else { bytes.len() };
        let mut piece = file.take(u64::try_from(want).unwrap_or(u64::MAX));
        let before = bytes.len();
        match piece.read_to_end(&mut bytes) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        let complete = bytes.len() - before < want || bytes.len() > 2 * limits::FRONTMATTER_BYTES;
        let bytes_read = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        match parse_head(&bytes, complete, origin, Mode::Lenient) {
            Head::Parsed(parsed) => return Ok(SkillHead { parsed: *parsed, bytes_read }),
            Head::NeedMore if complete => {
                let message = format!("{}: the frontmatter has no end", path.display());
                return Err(std::io::Error::new(ErrorKind::InvalidData, message));
            }
            Head::NeedMore => {}
        }
    }
}
