//! `concertina setup git`.

use std::path::{Path, PathBuf};

use concertina_core::procedure::Machine;
use concertina_runtime::git::{CommitGate, Hook, HookAction, WorkingTree, install, remove};
use concertina_store::{Audit, PublicKey};
use serde_json::{Value, json};

use super::receipt_verify::{gate, procedure, real};
use crate::args::GitArgs;
use crate::error::CliError;
use crate::output::Output;
use crate::place;

/// How the files of procedures are called.
const PROCEDURES: [&str; 2] = ["sop.yaml", "sop.yml"];

pub(crate) fn run(args: &GitArgs, out: &mut Output) -> Result<u8, CliError> {
    let here = std::env::current_dir()?;
    let tree = WorkingTree::around(&here)?;
    if args.undo {
        let hooks = remove(&tree, args.dry_run)?;
        return told(&hooks, None, args.dry_run, out);
    }
    let file = match &args.procedure {
        Some(file) => file.clone(),
        None => only_procedure(&here)?,
    };
    let machine = procedure(&file)?;
    let tool = match &args.gate {
        Some(tool) => tool.clone(),
        None => committing(&machine)?,
    };
    gate(&machine, &tool)?;
    let outside = |path: &Path| {
        let message = format!("{} is outside of {}", path.display(), tree.top().display());
        CliError::usage(message).help("a procedure of the repository is part of what is committed")
    };
    let commit = CommitGate {
        program: std::env::current_exe()?,
        home: std::path::absolute(place::home()?)?,
        workspace: tree.from_top(&here).ok_or_else(|| outside(&here))?,
        procedure: tree.from_top(&real(&file)?).ok_or_else(|| outside(&file))?,
        tool,
    };
    let hooks = install(&tree, &commit, args.dry_run)?;
    let key = if args.dry_run {
        // Looking makes no key.
        let known = Audit::of(&commit.home).keys()?;
        known.keys().last().map_or_else(|| "PUBLIC".to_owned(), PublicKey::verifier)
    } else {
        place::store()?.notary(concertina_runtime::now())?.public()
    };
    told(&hooks, Some(&Continuous::of(&commit, &key)), args.dry_run, out)
}

/// The one procedure that lies in `directory`.
fn only_procedure(directory: &Path) -> Result<PathBuf, CliError> {
    let names = std::fs::read_dir(directory)?.filter_map(|entry| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        let is_one = |end: &&str| name == **end || name.ends_with(&format!(".{end}"));
        PROCEDURES.iter().any(is_one).then_some(name)
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    match (names.pop(), names.is_empty()) {
        (Some(only), true) => Ok(directory.join(only)),
        (Some(_), false) => Err(CliError::usage("there are several procedures here")
            .help("name the one that commits wait for: --procedure FILE")),
        (None, _) => Err(CliError::usage("there is no `sop.yaml` here")
            .help("name the procedure that commits wait for: --procedure FILE")),
    }
}

/// The gated tool that commits, by its name.
fn committing(machine: &Machine) -> Result<String, CliError> {
    let gated = machine.document().gated_tools();
    let named = |tool: &&&str| tool.split(['/', '_', '-', '.']).any(|word| word == "commit");
    let mut found = gated.iter().filter(named);
    match (found.next(), found.next()) {
        (Some(only), None) => Ok((*only).to_owned()),
        _ => {
            Err(CliError::usage("which tool of this procedure commits, cannot be told by its name")
                .help(format!("name it: --gate TOOL; tools that wait: {}", gated.join(", "))))
        }
    }
}

/// The same check where commits arrive.
struct Continuous {
    shell: String,
    github: String,
}

impl Continuous {
    fn of(commit: &CommitGate, key: &str) -> Self {
        let check = format!(
            "git fetch origin refs/notes/concertina:refs/notes/concertina\n\
             git notes --ref=concertina show HEAD |\n  concertina receipt verify - --key '{key}' {} \\\n    --at \"$(TZ=UTC git show -s --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ HEAD)\"\n",
            commit.words(),
        );
        let indented: String = check.lines().flat_map(|line| ["    ", line, "\n"]).collect();
        let github = format!(
            "- uses: actions/checkout@v4\n  with:\n    ref: ${{{{ github.event.pull_request.head.sha || github.sha }}}}\n- name: Receipts\n  run: |\n{indented}"
        );
        Self { shell: check, github }
    }
}

fn told(
    hooks: &[Hook],
    continuous: Option<&Continuous>,
    dry_run: bool,
    out: &mut Output,
) -> Result<u8, CliError> {
    if out.is_json() {
        let hook = |hook: &Hook| {
            json!({
                "path": hook.path, "action": hook.action.as_str(), "kept": hook.kept,
                "text": hook.text,
            })
        };
        out.json(&json!({
            "hooks": hooks.iter().map(hook).collect::<Vec<Value>>(),
            "dry_run": dry_run,
            "ci": continuous.map(|ci| json!({ "shell": ci.shell, "github": ci.github })),
        }))?;
        return Ok(0);
    }
    for hook in hooks {
        let kept = hook.kept.as_ref().filter(|_| hook.text.is_some());
        let kept = kept.map(|kept| format!("; {} runs first", kept.display())).unwrap_or_default();
        out.line(format!("{}: {}{kept}", hook.path.display(), hook.action.as_str()))?;
        if let Some(text) = hook.text.as_ref().filter(|_| dry_run) {
            out.raw(text)?;
        }
    }
    if let Some(ci) = continuous {
        out.raw("\nWhere commits arrive, after `git push origin refs/notes/concertina`:\n\n")?;
        out.raw(&ci.shell)?;
        out.raw("\nThe same for GitHub Actions:\n\n")?;
        out.raw(&ci.github)?;
    }
    let changes = hooks.iter().any(|hook| hook.action != HookAction::Unchanged);
    out.say(match (dry_run, changes, continuous.is_some()) {
        (true, _, _) => "nothing was changed".to_owned(),
        (false, false, false) => "there was no hook of concertina".to_owned(),
        (false, _, false) => "commits wait for nothing any more".to_owned(),
        (false, _, true) => "commits wait for receipts; this is a hook, and whoever commits can go around it, so let the place where commits arrive check as well".to_owned(),
    });
    Ok(0)
}
