//! What settings say of one server, in the spelling of any client.

use std::collections::BTreeMap;
use std::path::Path;

use concertina_format::config::{Transport as Configured, Upstream};
use serde_json::Value;

use super::expand::Variables;
use super::{Reach, itself};
use crate::doctor::Transport;
use crate::tools::environment;

/// A server as settings describe it, before anything is filled in.
#[derive(Default)]
pub(crate) struct Described {
    /// The program and its arguments; empty for an address.
    argv: Vec<String>,
    url: String,
    directory: Option<String>,
    /// Names of variables that are passed on.
    passed: Vec<String>,
    environment: BTreeMap<String, String>,
    headers: BTreeMap<String, String>,
    /// Headers whose values stand in variables.
    secret_headers: BTreeMap<String, String>,
    /// The variable that holds a bearer token.
    bearer: Option<String>,
    /// How long one call may take, in seconds.
    pub(crate) timeout_s: Option<u64>,
    /// Whether it is told the workspace as its root.
    pub(crate) roots: bool,
}

/// Why a server is left out: a code, and words that follow its name.
pub(crate) struct Unusable(pub(crate) &'static str, pub(crate) String);

impl Described {
    /// What `concertina.toml` says.
    pub(crate) fn settings(upstream: &Upstream) -> Self {
        let (argv, url) = match &upstream.transport {
            Configured::Command { command, args } => {
                (std::iter::once(command).chain(args).cloned().collect(), String::new())
            }
            Configured::Url(url) => (Vec::new(), url.clone()),
        };
        Self {
            argv,
            url,
            directory: upstream.cwd.clone(),
            passed: upstream.env.clone(),
            environment: upstream.set.clone(),
            headers: upstream.headers.clone(),
            secret_headers: BTreeMap::new(),
            bearer: upstream.bearer_env.clone(),
            timeout_s: upstream.timeout_s,
            roots: upstream.roots,
        }
    }

    /// What a client's settings say; `value` is all that stands there.
    pub(crate) fn client(transport: &Transport, value: &Value) -> Self {
        let (argv, url) = match transport {
            Transport::Command(argv) => (argv.clone(), String::new()),
            Transport::Url(url) => (Vec::new(), url.clone()),
            Transport::Unknown => (Vec::new(), String::new()),
        };
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        // Where a key has several spellings, a file uses one of them.
        let texts = |keys: &[&str]| {
            let found = keys.iter().find_map(|key| value.get(*key)?.as_object());
            let pairs = found.into_iter().flatten().filter_map(|(name, value)| match value {
                Value::String(text) => Some((name.clone(), text.clone())),
                Value::Number(_) | Value::Bool(_) => Some((name.clone(), value.to_string())),
                _ => None,
            });
            pairs.collect::<BTreeMap<_, _>>()
        };
        let passed = value.get("env_vars").and_then(Value::as_array).into_iter().flatten();
        let passed = passed.filter_map(|one| one.as_str().or_else(|| one.get("name")?.as_str()));
        let number = |key: &str| value.get(key).and_then(Value::as_f64);
        let seconds = number("tool_timeout_sec").or(number("timeout").map(|ms| ms / 1000.0));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it saturates, and no call takes so long"
        )]
        let seconds = seconds.filter(|seconds| *seconds > 0.0).map(|s| s.ceil() as u64);
        Self {
            argv,
            url,
            directory: text("cwd"),
            passed: passed.map(str::to_owned).collect(),
            environment: texts(&["env", "environment"]),
            headers: texts(&["headers", "http_headers"]),
            secret_headers: texts(&["env_http_headers"]),
            bearer: text("bearer_token_env_var"),
            timeout_s: seconds,
            roots: false,
        }
    }

    /// How the server is reached, with every variable filled in.
    pub(crate) fn reach(
        &self,
        variables: &Variables<'_>,
        directory: impl Fn(&str) -> Result<std::path::PathBuf, String>,
    ) -> Result<Reach, Unusable> {
        let fill = |text: &String| variables.fill(text).map_err(unset);
        if let Some(program) = self.argv.first() {
            let mut argv = self.argv.iter().map(fill).collect::<Result<Vec<_>, _>>()?;
            if itself::is_concertina(&argv) {
                let why = "is Concertina itself, which is never its own server";
                return Err(Unusable("ITSELF", why.to_owned()));
            }
            if program.trim().is_empty() {
                return Err(Unusable("SERVER_UNUSABLE", "names no program".to_owned()));
            }
            let directory = match &self.directory {
                Some(path) => directory(&fill(path)?)
                    .map_err(|why| Unusable("SERVER_UNUSABLE", format!("cannot run: {why}")))?,
                None => variables.workspace.to_owned(),
            };
            // Which directory a relative program is looked for in differs from system to system.
            if let Some(program) = argv.first_mut()
                && program.contains('/')
                && Path::new(&program).is_relative()
            {
                *program = directory.join(&program).to_string_lossy().into_owned();
            }
            let mut environment = environment(&self.passed, variables.variable);
            for (name, value) in &self.environment {
                environment.retain(|(known, _)| known != name);
                environment.push((name.clone(), fill(value)?));
            }
            return Ok(Reach::Program { argv, environment, directory });
        }
        let url = fill(&self.url)?;
        if !["http://", "https://"].iter().any(|scheme| {
            url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        }) {
            let why = if url.is_empty() {
                "names neither a command nor an address"
            } else {
                "has an address that begins with neither http:// nor https://"
            };
            return Err(Unusable("SERVER_UNUSABLE", why.to_owned()));
        }
        let mut headers = Vec::new();
        for (name, value) in &self.headers {
            headers.push((name.clone(), fill(value)?));
        }
        for (name, variable) in &self.secret_headers {
            headers.push((name.clone(), variables.required(variable).map_err(unset)?));
        }
        if let Some(bearer) = &self.bearer {
            let token = variables.required(bearer).map_err(unset)?;
            headers.retain(|(name, _)| !name.eq_ignore_ascii_case("authorization"));
            headers.push(("Authorization".to_owned(), format!("Bearer {token}")));
        }
        Ok(Reach::Address { url, headers })
    }

    /// The words of its command, and where it runs.
    pub(crate) fn command(&self) -> (&[String], Option<&str>) {
        (&self.argv, self.directory.as_deref())
    }
}

fn unset(variable: impl std::fmt::Display) -> Unusable {
    Unusable(
        "VARIABLE_UNSET",
        format!("needs the environment variable {variable}, which is not set"),
    )
}
