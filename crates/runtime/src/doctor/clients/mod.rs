//! The clients, one file each: where they keep settings and skills, and how they list skills.
//!
//! A further client is a file here and a line in [`CLIENTS`]. Only what was seen in a version that
//! is named goes into [`Rules`]; the rest stays [`Known::No`].

mod claude;
mod codex;
mod cursor;
mod gemini;
mod opencode;

use std::path::PathBuf;

use super::Around;
use super::servers::Mention;
use super::settings::Document;

/// Every client that is known, in the order in which they are reported.
pub(super) const CLIENTS: [&Client; 5] =
    [&claude::CLIENT, &codex::CLIENT, &opencode::CLIENT, &gemini::CLIENT, &cursor::CLIENT];

/// One client.
pub(super) struct Client {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    /// The version whose habits the rules tell of.
    pub(super) observed: Option<&'static str>,
    /// A model by whose tokenizer its listing is counted.
    pub(super) model: &'static str,
    pub(super) find: fn(&Around) -> Found,
    pub(super) servers: fn(&[Document], &Around) -> Vec<Mention>,
    /// None where nothing is known of what it does with skills.
    pub(super) rules: Option<Rules>,
}

/// Where a client keeps things. Nothing of it needs to exist.
#[derive(Default)]
pub(super) struct Found {
    /// What tells that the client is used.
    pub(super) marks: Vec<PathBuf>,
    /// The person's settings first.
    pub(super) settings: Vec<SettingsFile>,
    pub(super) skills: Vec<SkillRoot>,
}

impl Found {
    pub(super) fn mark(&mut self, path: impl Into<Option<PathBuf>>) {
        self.marks.extend(path.into());
    }

    pub(super) fn settings(
        &mut self,
        path: impl Into<Option<PathBuf>>,
        format: Format,
        of_project: bool,
    ) {
        // A home can be a project: each file counts once, as what it was named first.
        let new = path.into().filter(|path| self.settings.iter().all(|known| known.path != *path));
        if let Some(path) = new {
            self.marks.push(path.clone());
            self.settings.push(SettingsFile { path, format, of_project });
        }
    }

    pub(super) fn skills(&mut self, path: impl Into<Option<PathBuf>>, certain: bool) {
        let new = path.into().filter(|path| self.skills.iter().all(|known| known.path != *path));
        self.skills.extend(new.map(|path| SkillRoot { path, certain }));
    }
}

/// A settings file.
pub(super) struct SettingsFile {
    pub(super) path: PathBuf,
    pub(super) format: Format,
    pub(super) of_project: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// JSON; whether comments are accepted is not known.
    Json,
    JsonWithComments,
    Toml,
}

/// A directory in which a client looks for skills.
pub(super) struct SkillRoot {
    pub(super) path: PathBuf,
    /// Whether it was seen to look there.
    pub(super) certain: bool,
}

/// Whether something was seen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    Yes,
    /// Not watched.
    No,
}

/// How a client lists skills.
pub(super) struct Rules {
    /// How many skills it brings along.
    pub(super) own: Option<usize>,
    /// How many levels below a root it was seen to find skills.
    pub(super) levels: usize,
    /// Whether deeper ones were seen to be left out.
    pub(super) deeper_is_lost: Known,
    /// Whether files without frontmatter were seen to be dropped.
    pub(super) drops_without_frontmatter: Known,
    /// What it does with `disable-model-invocation: true`.
    pub(super) hides_disabled: bool,
    /// Whether it makes skills with `paths` wait for a file; not known otherwise.
    pub(super) waits_for_paths: Known,
    /// Whether it reads `when_to_use` into the listing.
    pub(super) lists_when_to_use: bool,
    /// Whether the file stands in each line of the listing.
    pub(super) lists_file: bool,
    /// The longest description, in characters.
    pub(super) entry_chars: Option<usize>,
    /// What the listing as a whole may take.
    pub(super) total: Option<Total>,
}

/// What a listing may take: a share of the window, in tokens of four units each. Over it, all
/// descriptions are shortened alike, and then only names stay.
pub(super) struct Total {
    /// The share of the window, in hundredths.
    pub(super) percent: usize,
    pub(super) unit: Unit,
    /// Whether skills are dropped where not even the names fit.
    pub(super) drops: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Characters,
    Bytes,
}

impl Unit {
    pub(super) fn of(self, text: &str) -> usize {
        match self {
            Self::Characters => text.chars().count(),
            Self::Bytes => text.len(),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Characters => "characters",
            Self::Bytes => "bytes",
        }
    }
}
