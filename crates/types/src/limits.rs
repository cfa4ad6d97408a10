//! Every limit, with its reason. Each is reported when it bites.

/// The frontmatter of one skill. Real ones stay below 10 KB; a parser must not be fed more.
pub const FRONTMATTER_BYTES: usize = 64 * 1024;
/// One SKILL.md. The largest real one seen is below 1 MB; beyond that it is not instructions.
pub const SKILL_BYTES: u64 = 4 * 1024 * 1024;
/// Nesting of a frontmatter value. Real ones reach 6; recursion must end.
pub const FRONTMATTER_DEPTH: usize = 32;
/// Nodes of one frontmatter. Real ones stay below 1,000.
pub const FRONTMATTER_NODES: usize = 10_000;
/// One entry of the listing, in characters: what a model can weigh at a glance.
pub const LISTING_ENTRY_CHARS: usize = 250;
/// The listing as a whole, in characters.
pub const LISTING_CHARS: usize = 8_000;
/// The listing's share of the window, in hundredths.
pub const LISTING_WINDOW_PERCENT: u64 = 1;
/// The window assumed where nothing says otherwise, in tokens.
pub const WINDOW: u64 = 200_000;
/// A name of a skill, tool or session, in bytes: it must fit a line and a file name.
pub const NAME_BYTES: usize = 200;
/// A reference as the model writes it, in bytes.
pub const REF_BYTES: usize = 2_048;
/// One result sent to a model, in bytes: every client observed passes this much uncut.
pub const RESULT_BYTES: usize = 10_000;
/// A line, for addressing: longer ones count as several, so that any part of a text can be shown.
pub const LINE_BYTES: usize = 4_000;
/// Everything disclosed on the first turn, in tokens: tools, mechanism, index and card.
pub const FIRST_TURN_TOKENS: u64 = 2_500;
/// The tools and menus named at the root, in tokens: what a model weighs before it chooses.
pub const ROOT_TOKENS: u64 = 800;
/// One page of a menu, in tokens.
pub const MENU_TOKENS: u64 = 900;
/// A catalogue of at most so many tools is shown directly: menus would only cost accuracy.
pub const DIRECT_TOOLS: usize = 25;
/// Tools of one menu before it gets levels: so many names and first sentences fit one page.
pub const MENU_TOOLS: usize = 40;
/// Tools that stand outside all menus because the settings pin them: with more, nothing is folded.
pub const PINNED_TOOLS: usize = 25;
/// The task card, in tokens.
pub const CARD_TOKENS: u64 = 300;
/// Output kept of one tool run, in bytes; the rest is counted and dropped.
pub const OUTPUT_BYTES: usize = 8 * 1024 * 1024;
/// How long one tool may run, in seconds, unless it declares otherwise.
pub const TOOL_SECONDS: u64 = 60;
/// Model requests in one task, so that a loop ends.
pub const TURNS_PER_TASK: u32 = 40;
/// How deep skills that fork may fork, so that a skill cannot call itself endlessly.
pub const FORK_DEPTH: u32 = 3;
/// Skills a session keeps open at once; one more closes the oldest, and says so.
pub const OPEN_SKILLS: usize = 32;
/// Skill text carried over a compaction, in tokens; what does not fit is named with its handle.
pub const CARRY_OVER_TOKENS: u64 = 25_000;
/// A skill below this many tokens is small: it may be inlined.
pub const SMALL_SKILL_TOKENS: u64 = 1_000;
/// A skill above this many tokens is large: it is paged.
pub const LARGE_SKILL_TOKENS: u64 = 10_000;
/// Where the model sees at most so many skills, small ones may be opened at the start: with more, the
/// index costs less than their texts.
pub const INLINE_SKILLS: usize = 5;
/// Skill files up to which a check also gives advice to authors. Nobody reads advice on more at once,
/// and it takes ten times as long as reading them.
pub const ADVISED_FILES: usize = 5_000;
/// What skills, and what tools, may take in the words that a client gets when it connects: it pays
/// for them on every request, and some clients on every search.
pub const ROOT_PART_TOKENS: u64 = 140;
/// Hits that a search returns unless asked otherwise.
pub const FIND_HITS: usize = 5;
/// Directories searched below a root for skills, in levels: grouping folders are shallow.
pub const DISCOVERY_DEPTH: usize = 6;
/// Attempts to append when another process writes to the same session.
pub const APPEND_ATTEMPTS: u32 = 20;
/// Times a failed model request is tried again.
pub const MODEL_RETRIES: u32 = 4;
