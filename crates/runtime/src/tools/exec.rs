//! Tools that are programs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use concertina_core::session::Pin;
use concertina_format::config::Exec;
use concertina_format::results::{STANDARD_ERROR, holds_standard_error};
use concertina_types::canonical_json;
use serde_json::Value;

use super::executor::{Executor, Invocation};
use super::{Bounds, Outcome};
use crate::Cancel;
use crate::inside::files_named;

/// A program with an argument template.
#[derive(Debug, Clone)]
pub struct ExecTool {
    definition: Exec,
    /// Variables that are passed on, resolved when the workspace was opened.
    environment: Vec<(String, String)>,
}

/// Where programs are looked for when the environment names no PATH.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

impl ExecTool {
    /// The tool of `definition`; of the environment it sees PATH, HOME, LANG and what it names.
    pub fn new(definition: Exec, variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let environment = environment(&definition.env, variable);
        Self { definition, environment }
    }

    /// What a person is shown of a call with `arguments`, and the code that it would run.
    pub(super) fn targets(
        &self,
        arguments: &Value,
        workspace: &Path,
    ) -> (Vec<(String, String)>, Vec<Pin>) {
        let directory = self.directory(workspace);
        let argv = self.argv(arguments);
        let pins = crate::approval::pins(&directory, &argv);
        let mut targets = vec![("runs".to_owned(), canonical_json(&Value::from(argv)))];
        targets.push(("in".to_owned(), directory.display().to_string()));
        let fixed = &self.definition.argv;
        targets.extend(crate::approval::targets(&directory, arguments, fixed, &pins));
        (targets, pins)
    }

    /// The argument vector of a call; none where it cannot be filled in, which is said when it is tried.
    pub(super) fn argv(&self, arguments: &Value) -> Vec<String> {
        let none = serde_json::Map::new();
        self.definition.fill(arguments.as_object().unwrap_or(&none)).unwrap_or_default()
    }

    pub(super) fn directory(&self, workspace: &Path) -> PathBuf {
        match &self.definition.cwd {
            Some(cwd) => workspace.join(cwd),
            None => workspace.to_owned(),
        }
    }

    /// What it gets of the environment.
    pub(super) fn environment(&self) -> &[(String, String)] {
        &self.environment
    }

    pub(super) fn run(
        &self,
        arguments: &Value,
        bounds: Bounds,
        executor: &dyn Executor,
        workspace: &Path,
        cancel: &Cancel,
    ) -> Outcome {
        let none = serde_json::Map::new();
        let argv = match self.definition.fill(arguments.as_object().unwrap_or(&none)) {
            Ok(argv) => argv,
            Err(refused) => return Outcome::failed(refused.code(), refused.to_string()),
        };
        let directory = self.directory(workspace);
        let invocation = Invocation {
            argv: bounds.argv(argv, &directory),
            environment: self.environment.clone(),
            timeout: Duration::from_secs(self.definition.timeout_s),
            output_bytes: self.definition.output_bytes,
            access: bounds.access,
            closed: bounds.closed,
            pins: bounds.pins,
            // A script or a file that the settings name is part of the tool.
            readable: files_named(&directory, self.definition.argv.iter()),
            keeps_home: self.definition.env.iter().any(|name| name == "HOME"),
            directory,
        };
        run(&invocation, executor, cancel)
    }
}

/// What a program sees of the environment: PATH, HOME, LANG and the variables `more`.
pub(crate) fn environment(
    more: &[String],
    variable: &dyn Fn(&str) -> Option<String>,
) -> Vec<(String, String)> {
    let mut environment: Vec<(String, String)> = Vec::new();
    for name in ["PATH", "HOME", "LANG"].into_iter().chain(more.iter().map(String::as_str)) {
        let default = (name == "PATH").then(|| DEFAULT_PATH.to_owned());
        if let Some(value) = variable(name).or(default)
            && !environment.iter().any(|(known, _)| known == name)
        {
            environment.push((name.to_owned(), value));
        }
    }
    environment
}

/// Runs `invocation` and puts what it wrote on both streams together.
pub(super) fn run(invocation: &Invocation, executor: &dyn Executor, cancel: &Cancel) -> Outcome {
    if invocation.argv.iter().any(|argument| argument.contains('\0')) {
        return Outcome::failed(
            "BAD_ARGUMENTS",
            "an argument holds a NUL character, which no program can take",
        );
    }
    match executor.execute(invocation, cancel) {
        Err(error) => Outcome::failed(error.code(), error.to_string()),
        Ok(done) => {
            let mut output = String::from_utf8_lossy(&done.stdout).into_owned();
            let errors = String::from_utf8_lossy(&done.stderr);
            // Where the program printed that line itself, ours stands there in any case: two of them are no output
            // whose end is known, and one that a program printed alone would be taken for ours.
            if !errors.trim().is_empty() || holds_standard_error(&output) {
                if !output.is_empty() && !output.ends_with('\n') {
                    output.push('\n');
                }
                output.push_str(STANDARD_ERROR);
                output.push('\n');
                output.push_str(&errors);
            }
            let (exit, dropped, held) = (done.exit, done.dropped, done.held);
            Outcome::Done { exit, output, dropped, attached: None, held }
        }
    }
}
