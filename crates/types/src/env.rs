//! Every environment variable that Concertina reads.

/// Where state lives; the default is the XDG state directory, `concertina` below it.
pub const HOME: &str = "CONCERTINA_HOME";
/// The session that commands act on when `--session` is not given.
pub const SESSION: &str = "CONCERTINA_SESSION";
/// The key for `--model openai:NAME`.
pub const OPENAI_API_KEY: &str = "OPENAI_API_KEY";
/// The endpoint for `--model openai:NAME` when `--base-url` is not given.
pub const OPENAI_BASE_URL: &str = "OPENAI_BASE_URL";
/// The key for `--model anthropic:NAME`.
pub const ANTHROPIC_API_KEY: &str = "ANTHROPIC_API_KEY";
/// The endpoint for `--model anthropic:NAME` when `--base-url` is not given.
pub const ANTHROPIC_BASE_URL: &str = "ANTHROPIC_BASE_URL";
/// When set and not empty, nothing is coloured.
pub const NO_COLOR: &str = "NO_COLOR";
/// The directory of user settings; the default is `~/.config`.
pub const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";
/// The directory of state; the default is `~/.local/state`.
pub const XDG_STATE_HOME: &str = "XDG_STATE_HOME";
/// Where Claude Code keeps its settings and skills; the default is `~/.claude`.
pub const CLAUDE_CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";
/// Where Codex keeps its settings and skills; the default is `~/.codex`.
pub const CODEX_HOME: &str = "CODEX_HOME";

/// The variables that name a proxy for HTTP; each is also read in lower case.
pub const PROXIES: [&str; 4] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];

/// All of them, for `concertina help environment` and for the documentation.
pub const ALL: &[(&str, &str)] = &[
    (HOME, "where state lives"),
    (SESSION, "the session that commands act on"),
    (OPENAI_API_KEY, "the key for --model openai:NAME"),
    (OPENAI_BASE_URL, "the endpoint for --model openai:NAME"),
    (ANTHROPIC_API_KEY, "the key for --model anthropic:NAME"),
    (ANTHROPIC_BASE_URL, "the endpoint for --model anthropic:NAME"),
    (NO_COLOR, "when set, nothing is coloured"),
    (XDG_CONFIG_HOME, "where user settings live"),
    (XDG_STATE_HOME, "where state lives unless CONCERTINA_HOME says otherwise"),
    (CLAUDE_CONFIG_DIR, "where Claude Code keeps its skills"),
    (CODEX_HOME, "where Codex keeps its skills"),
    (
        "HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY",
        "the proxy for model requests, never for this machine",
    ),
];
