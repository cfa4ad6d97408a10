//! Every limit, with its reason. Each is reported when it bites.

/// The frontmatter of one skill. Real ones stay below 10 KB; a parser must not be fed more.
pub const FRONTMATTER_BYTES: usize = 64 * 1024;
/// One SKILL.md. The largest real one seen is below 1 MB; beyond that it is not instructions.
pub const SKILL_BYTES: u64 = 4 * 1024 * 1024;
/// Nesting of a frontmatter value. Real ones reach 6; recursion must end.
pub const FRONTMATTER_DEPTH: usize = 16;
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
/// One result that a client passes to its model, in bytes: every client observed passes this much
/// uncut.
pub const CLIENT_RESULT_BYTES: usize = 10_000;
/// One answer, in bytes: with what a client may have to be told before it, it stays below
/// [`CLIENT_RESULT_BYTES`].
pub const RESULT_BYTES: usize = CLIENT_RESULT_BYTES - LEAD_BYTES;
/// A fragment of a result, where the step of a procedure shows no more at once: some forty lines.
pub const FRAGMENT_BYTES: usize = 2_000;
/// What may stand before an answer, in bytes: what changed, what is missing, whose session it is.
pub const LEAD_BYTES: usize = 1_600;
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
/// Earlier sessions whose logs are read for what was opened after it was found: the latest, since what
/// is asked for changes, and enough that each of the things in daily use was found some times.
pub const USAGE_SESSIONS: usize = 200;
/// Events of those logs together: reading so many took 0.6 s in an unoptimised build, and it is done
/// once a session. A log that no longer fits is passed over.
pub const USAGE_EVENTS: u64 = 10_000;
/// Directories searched below a root for skills, in levels: grouping folders are shallow.
pub const DISCOVERY_DEPTH: usize = 6;
/// Attempts to append when another process writes to the same session.
pub const APPEND_ATTEMPTS: u32 = 20;
/// Times a failed model request is tried again.
pub const MODEL_RETRIES: u32 = 4;
/// One message from a client, in bytes. The largest honest one is a call's arguments: a file's text.
pub const MESSAGE_BYTES: usize = 4 * 1024 * 1024;
/// One message from a server behind this one, in bytes: an answer may hold images.
pub const UPSTREAM_MESSAGE_BYTES: usize = 32 * 1024 * 1024;
/// Requests of one client that may be under way, so that a client cannot fill the memory.
pub const MESSAGES_UNDER_WAY: usize = 20_000;
/// How often a server looks for changes of the workspace at most, in milliseconds: a look takes a
/// few, and a person who edits a skill does not see a second.
pub const LOOK_MILLISECONDS: u64 = 1_000;
/// How often a server looks for changes that nobody asks after, in seconds: only what a client is told
/// of by itself depends on it.
pub const WATCH_SECONDS: u64 = 5;
/// How long a request waits for servers that were never seen and still start, counted from the start
/// of the process, in seconds: clients give up on a slow answer, and most servers are up by then.
pub const SETTLE_SECONDS: u64 = 5;
/// How long a call waits for a person's answer, in seconds.
pub const QUESTION_SECONDS: u64 = 300;
/// Calls that wait for a person's answer at once; one more is declined.
pub const PARKED_CALLS: usize = 256;
/// What a server may say during one call and nobody has taken yet: more progress than that is
/// dropped, since the next one says it better.
pub const SAID_AT_ONCE: usize = 256;
/// Tools of the workspace itself that run at once; each keeps a thread busy.
pub const LOCAL_RUNS: usize = 64;
/// Sessions held in memory; the one used least recently is put aside, and its log brings it back.
pub const SESSIONS_HELD: usize = 1_024;
/// One image or sound that is passed on, in bytes of base64: what model providers take.
pub const MEDIA_BYTES: usize = 5 * 1024 * 1024;
/// The words that a client gets when it connects, in tokens: some pay for them on every search.
pub const INSTRUCTION_TOKENS: u64 = 400;
/// Entries on one page of a list of prompts, resources or skills.
pub const PAGE_ENTRIES: usize = 100;
/// How long calls under way may take to end when the server is told to stop, in milliseconds.
pub const GRACE_MILLISECONDS: u64 = 2_000;
/// Messages that wait until a server behind this one reads them; one more, and it does not read.
pub const UPSTREAM_QUEUE: usize = 4_096;
/// Servers never seen that are started at the same time: dozens at once starve each other.
pub const STARTING: usize = 4;
/// How long a server may take to start and list its tools, in seconds: a package may be downloaded.
pub const START_SECONDS: u64 = 30;
/// How long a call may be silent, in seconds: what clients wait themselves.
pub const CALL_SILENT_SECONDS: u64 = 300;
/// How long a server at an address that was never seen may take to say whether it is of the newest
/// revision, in seconds. Those that are older refuse at once; a few do not answer at all.
pub const DISCOVER_SECONDS: u64 = 3;
/// How long a call may take that keeps telling how far it is, in seconds.
pub const CALL_SECONDS: u64 = 3_600;
/// Calls under way on one server; the rest waits.
pub const CALLS_AT_ONCE: usize = 64;
/// Resources of one server that clients want to be told of: each of them may start a reading.
pub const SUBSCRIPTIONS: usize = 1_000;
/// Changes of resources that a slow listener has not taken yet; beyond that it is told once that
/// its own may have changed.
pub const UPDATES_HELD: usize = 256;
/// How long a call waits for its place, in seconds.
pub const PLACE_SECONDS: u64 = 60;
/// Failures in a row after which a server is left alone for a while.
pub const START_ATTEMPTS: u32 = 5;
/// The longest pause between two attempts to start a server, in seconds.
pub const START_PAUSE_SECONDS: u64 = 60;
/// Pages of one list. Real ones have a handful.
pub const LIST_PAGES: usize = 1_000;
/// Entries of one list. The largest real server seen has 1,500 tools.
pub const LIST_ENTRIES: usize = 20_000;
/// The schema of one tool, in bytes: more is no argument list but a document.
pub const SCHEMA_BYTES: usize = 256 * 1024;
/// Nesting of a tool's schema. Generated ones reach 15; recursion must end.
pub const SCHEMA_DEPTH: usize = 64;
/// Times that a server may ask back within one call.
pub const INPUT_ROUNDS: usize = 10;
/// What is kept of a server's standard error, in bytes: its last words.
pub const STDERR_BYTES: usize = 4_096;
/// How long servers get to end by themselves, in milliseconds.
pub const STOP_MILLISECONDS: u64 = 1_000;
/// Links in results whose servers are remembered, for when the links are read.
pub const LINKS_HELD: usize = 10_000;
/// Skills that are listed as tools, for clients that are told of more than the four: each takes a
/// definition.
pub const LISTED_SKILLS: usize = 50;
/// Files of a skill that a server brings, all together, in bytes: they are kept on this machine.
pub const SERVED_SKILL_BYTES: u64 = 16 * 1024 * 1024;
/// Files of a skill that a server brings.
pub const SERVED_SKILL_FILES: usize = 500;
/// What a server says of how to use it, in bytes, where its menu is opened: real ones are shorter, and
/// the tools beside it have to fit, too.
pub const SERVER_NOTES_BYTES: usize = 2_000;
/// How long a server that is started to learn what it brings keeps others from being started, in
/// seconds: what answers at all has usually answered by then.
pub const STARTING_SECONDS: u64 = 3;
/// Pieces of a result that are no text: images, sounds, links, files.
pub const RESULT_BLOCKS: usize = 100;
/// A message of a server in a failure, in bytes: it is recorded in the session's log and read by a
/// model. What it says first says why.
pub const SERVER_WORDS_BYTES: usize = 2_000;
/// One list of a server, all its pages together, in bytes: it is held in memory and kept on disk. That
/// is 20 KB for each of the 1,500 tools of the largest real server seen.
pub const LIST_BYTES: usize = 32 * 1024 * 1024;
/// Questions of one server that wait for a person at once; one more is declined. A person answers one
/// after the other.
pub const QUESTIONS_AT_ONCE: usize = 4;
/// One line of a server for its client's log, or its words on how far a call is, in bytes: so many of
/// them may wait.
pub const SAID_BYTES: usize = 4_000;
/// How long a question waits for a person, and a consent for once for its use, in seconds: long enough
/// to be read, short enough not to be forgotten.
pub const APPROVAL_SECONDS: i64 = 600;
/// One value of an action as a person is shown it, in bytes: more is not read.
pub const ACTION_VALUE_BYTES: usize = 2_000;
/// Questions that wait in one session at once: nobody reads more.
pub const APPROVALS_OPEN: usize = 50;
