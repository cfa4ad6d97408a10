//! What a session runs under. Kept with the session, so that a replay has it.

use serde::{Deserialize, Serialize};

use concertina_format::config::ConfigOrigin;
use concertina_types::{Digest, SkillId, Tokens, limits};

use crate::catalog::listing::Budget;
use crate::policy::{Access, Grant, Policy};

/// The listing's settings, before they are turned into a [`Budget`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ListingSettings {
    /// Its share of the window, in hundredths.
    pub percent: u64,
    /// Its length in characters.
    pub chars: usize,
    /// The length of one entry in characters.
    pub entry_chars: usize,
    /// Skills that keep their text longest.
    pub pinned: Vec<String>,
    /// Patterns of skills that are never listed to the model.
    pub exclude: Vec<crate::policy::Pattern>,
    /// Skills of at most so many tokens are opened at the start; zero means none.
    pub inline_tokens: u64,
}

impl Default for ListingSettings {
    fn default() -> Self {
        Self {
            percent: limits::LISTING_WINDOW_PERCENT,
            chars: limits::LISTING_CHARS,
            entry_chars: limits::LISTING_ENTRY_CHARS,
            pinned: Vec::new(),
            exclude: Vec::new(),
            inline_tokens: 0,
        }
    }
}

/// Where a session works, so that it can be taken up from anywhere.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Site {
    /// The workspace.
    pub workspace: String,
    /// Directories to which discovery is limited; empty means the usual places.
    pub roots: Vec<String>,
    /// Whether only the workspace itself is searched.
    pub only_workspace: bool,
    /// Whether whoever began the session vouched for what the workspace brings.
    pub vouched: bool,
    /// The workspace by its real path, without links; empty where that is how it is written.
    pub real_workspace: String,
    /// What `~` stands for, by its real path.
    pub home: Option<String>,
    /// Places that no skill and no tool may write: state, settings.
    pub unwritable: Vec<String>,
    /// Places that none may even read: keys, tokens, the log.
    pub secret: Vec<String>,
}

/// What a session has to do with procedures.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Procedures {
    /// Those that the settings list: their tools can be called within them only.
    pub listed: Vec<Listed>,
    /// Files of theirs that give none, so that nobody knows which tools they stand before.
    pub unreadable: Vec<String>,
    /// Whether the procedure that is followed begins again where it ends.
    pub always: bool,
    /// Whether the yes of somebody who runs as the same user as the agent proves a checkpoint.
    pub same_uid: bool,
}

/// A procedure that the settings list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its text, by digest.
    pub digest: Digest,
    /// The tools that it stands before.
    pub gates: Vec<String>,
    /// Whose file lists it.
    pub by: ConfigOrigin,
}

/// What a session runs under.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The model's window, in tokens.
    pub window: u64,
    /// How the index is cut.
    pub listing: ListingSettings,
    /// What may be seen and done.
    pub policy: Policy,
    /// What this session was given; a fork has its parent's, narrowed.
    pub grant: Grant,
    /// What it was given besides tools: paths, hosts, programs. A fork has its parent's, narrowed.
    pub access: Access,
    /// Skills that forked down to this session: none of them may fork again here.
    pub forked_from: Vec<SkillId>,
    /// Where it works.
    pub site: Site,
    /// What it has to do with procedures.
    pub procedures: Procedures,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            window: limits::WINDOW,
            listing: ListingSettings::default(),
            policy: Policy::default(),
            grant: Grant::everything(),
            access: Access::everything(),
            forked_from: Vec::new(),
            site: Site::default(),
            procedures: Procedures::default(),
        }
    }
}

impl Settings {
    /// What the index may take.
    pub fn listing_budget(&self) -> Budget {
        Budget {
            tokens: Tokens(self.window.saturating_mul(self.listing.percent) / 100),
            chars: self.listing.chars,
            entry_chars: self.listing.entry_chars,
            pinned: self.listing.pinned.clone(),
        }
    }
}
