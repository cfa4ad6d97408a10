//! Running a program in the sandbox: what it was granted becomes what the kernel is told.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use concertina_core::policy::{Access, CommandPattern, FilePath, NetworkRules, Request, Root};
use concertina_format::config::Tier as Floor;
use concertina_sandbox::network::{Attempt, Direct, Proxy};
use concertina_sandbox::{
    Confinement, Gate, Limits, Machine, Network, Pin, Program, SandboxError, Tier, probe,
    started_by,
};

use super::closed::{Closed, Rules, Verdict};
use super::executor::{
    Execution, ExecutionError, Executor, Held, Invocation, PlainExecutor, RefusedHost,
};
use crate::Cancel;

/// Files that one pattern such as `src/*.rs` may stand for: each is granted by itself.
const GLOB_FILES: usize = 4_096;

/// What stays as it is in every directory that may be written, whether it is there or not: what other
/// programs read as settings or run by themselves.
const PROTECTED: [&str; 41] = [
    ".git/config",
    ".git/hooks",
    // Each can lead git to other settings, or have it run something.
    ".git/config.worktree",
    ".git/info",
    ".git/modules",
    ".git/worktrees",
    ".gitmodules",
    ".gitconfig",
    ".husky",
    ".pre-commit-config.yaml",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".zlogin",
    ".zlogout",
    ".envrc",
    ".ssh",
    ".mcp.json",
    ".agents",
    ".agent",
    ".claude",
    ".claude.json",
    ".codex",
    ".gemini",
    ".opencode",
    "opencode.json",
    "opencode.jsonc",
    ".cursor",
    ".windsurf",
    ".vscode",
    ".zed",
    ".idea",
    ".devcontainer",
    "concertina.toml",
    "skills.lock",
    ".concertina",
];

/// By this git reads another directory's settings. It is there in working trees that share a repository; anywhere else
/// git cannot do with anything in its place, so whatever appears there is taken away again.
const LEADS_GIT_AWAY: &str = ".git/commondir";

/// Variables that lead tool chains to their own directories, and where these are below the home: their
/// programs look for them there, and the home itself is not granted.
const TOOL_CHAINS: [(&str, &str); 2] = [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")];

/// Runs programs held by the kernel to what they were granted.
#[derive(Debug, Clone)]
pub struct SandboxExecutor {
    floor: Tier,
    /// Places that are held wherever they are.
    held: Vec<PathBuf>,
    /// Places of which no program gets anything, by whatever word it is named.
    secret: Vec<PathBuf>,
}

/// What this machine can enforce; found out once.
pub fn machine() -> &'static Machine {
    static MACHINE: OnceLock<Machine> = OnceLock::new();
    MACHINE.get_or_init(probe)
}

/// What runs programs under the settings' `floor`, with the places `held` as they are and nothing of those
/// that are `secret`.
pub fn executor(floor: Floor, held: Vec<PathBuf>, secret: Vec<PathBuf>) -> Arc<dyn Executor> {
    let floor = match floor {
        Floor::None => return Arc::new(PlainExecutor),
        Floor::L1 => Tier::L1,
        Floor::L2 => Tier::L2,
        Floor::L3 => Tier::L3,
    };
    Arc::new(SandboxExecutor { floor, held, secret })
}

impl Executor for SandboxExecutor {
    fn execute(
        &self,
        invocation: &Invocation,
        cancel: &Cancel,
    ) -> Result<Execution, ExecutionError> {
        let program = Program {
            argv: invocation.argv.clone(),
            directory: invocation.directory.clone(),
            environment: environment(invocation),
        };
        let confinement = self.confinement(invocation, &program);
        let proxy = gate(&confinement, &invocation.access)?;
        let gate = proxy.as_ref().map(|proxy| proxy as &dyn Gate);
        let absent = absent(&confinement, invocation);
        let finished = concertina_sandbox::run(machine(), &program, &confinement, gate, &|| {
            cancel.is_stopped()
        });
        taken_away(&absent)?;
        let finished = finished.map_err(|error| failed(error, invocation))?;
        let attempts = proxy.as_ref().map(Proxy::attempts).unwrap_or_default();
        let refused = attempts.kept.iter().filter(|attempt| !attempt.allowed);
        Ok(Execution {
            exit: finished.exit,
            stdout: finished.stdout,
            stderr: finished.stderr,
            dropped: finished.dropped,
            held: Some(Held {
                tier: finished.held.tier.to_string(),
                refused: refused.map(refused_host).collect(),
            }),
        })
    }
}

/// What must not be there afterwards, since it was not there before.
fn absent(confinement: &Confinement, invocation: &Invocation) -> Vec<PathBuf> {
    let directories = confinement.write.iter().chain([&invocation.directory]);
    let paths = directories.map(|directory| directory.join(LEADS_GIT_AWAY));
    let is_in_git = |path: &PathBuf| path.parent().is_some_and(Path::is_dir);
    paths.filter(|path| is_in_git(path) && path.symlink_metadata().is_err()).collect()
}

/// Removes what the program put in places that were empty; says so.
fn taken_away(places: &[PathBuf]) -> Result<(), ExecutionError> {
    let mut made = places.iter().filter(|place| place.symlink_metadata().is_ok());
    let Some(first) = made.next() else { return Ok(()) };
    for place in std::iter::once(first).chain(made) {
        let removed = std::fs::remove_file(place).or_else(|_| std::fs::remove_dir_all(place));
        removed.map_err(ExecutionError::Lost)?;
    }
    let message = format!(
        "it wrote {}, by which git would read other settings; that was removed again, and what else it did stays",
        first.display()
    );
    Err(ExecutionError::Confined { code: "PROTECTED", message })
}

impl SandboxExecutor {
    fn confinement(&self, invocation: &Invocation, program: &Program) -> Confinement {
        let access = &invocation.access;
        let roots = access.roots();
        let rules = Rules::new(&invocation.closed);
        let mut read = places(&roots.read);
        let named = invocation.readable.iter().filter_map(|path| path.canonicalize().ok());
        read.extend(named.filter(|path| !self.secret.iter().any(|place| path.starts_with(place))));
        let mut write = places(&roots.write);
        write.retain(|place| rules.judge_place(place) == Verdict::Open);
        let closed = Closed::within(&write, &read, &rules);
        // What may be written can be read as well, but for what is closed in it and named by itself.
        read.retain(|place| {
            let is_within =
                |places: &BTreeSet<PathBuf>| places.iter().any(|at| place.starts_with(at));
            !is_within(&write) || is_within(&closed.closed)
        });
        let read = rules.readable(read);
        let mut execute: BTreeSet<PathBuf> = started_by(program).into_iter().collect();
        execute.extend(startable(access, program));
        let mut protect: BTreeSet<PathBuf> = BTreeSet::new();
        let directories = write.iter().chain(
            // The workspace may lie below what may be written.
            [&invocation.directory]
                .into_iter()
                .filter(|directory| write.iter().any(|root| directory.starts_with(root))),
        );
        for directory in directories.filter(|path| path.is_dir()) {
            protect.extend(PROTECTED.iter().map(|name| directory.join(name)));
            protect.extend(Some(directory.join(LEADS_GIT_AWAY)).filter(|path| path.exists()));
        }
        let held = self.held.iter().filter(|held| write.iter().any(|root| held.starts_with(root)));
        protect.extend(held.cloned());
        // What a tool is given to write by name is meant; what it cannot write needs no protection.
        protect.retain(|path| {
            !write.contains(path) && write.iter().any(|root| path.starts_with(root))
        });
        protect.extend(closed.kept);
        let write: BTreeSet<PathBuf> = write
            .into_iter()
            .filter(|path| !protect.iter().any(|held| path.starts_with(held)))
            .collect();
        let pins = pins(invocation, &[&read, &write, &execute]);
        Confinement {
            read: read.into_iter().collect(),
            write: write.into_iter().collect(),
            execute: execute.into_iter().collect(),
            protect: protect.into_iter().collect(),
            closed: closed.closed.into_iter().collect(),
            pins,
            network: network(access),
            at_least: self.floor,
            limits: Limits {
                time: invocation.timeout,
                output: invocation.output_bytes,
                ..Limits::default()
            },
        }
    }
}

/// The code that runs as it was approved, as far as it was `granted`: what cannot be read does not run.
fn pins(invocation: &Invocation, granted: &[&BTreeSet<PathBuf>]) -> Vec<Pin> {
    let pins = invocation
        .pins
        .iter()
        .map(|pin| Pin { path: PathBuf::from(&pin.path), digest: pin.digest });
    let is_granted = |path: &Path| granted.iter().copied().flatten().any(|at| path.starts_with(at));
    let mut pins: Vec<Pin> = pins.filter(|pin| is_granted(&pin.path)).collect();
    pins.dedup_by(|a, b| a.path == b.path);
    pins
}

/// Programs that the program may start: those that are declared, or whatever is installed where
/// nothing says which.
fn startable(access: &Access, program: &Program) -> Vec<PathBuf> {
    let path = program.environment.iter().find(|(name, _)| name == "PATH");
    let path = path.map(|(_, value)| value.as_str()).unwrap_or_default();
    if access.execute.is_everything() {
        let directories = path.split(':').filter(|directory| directory.starts_with('/'));
        let directories = directories.filter_map(|at| Path::new(at).canonicalize().ok());
        // With a program of it, the installation that it belongs to.
        return directories
            .flat_map(|at| [at.join("python3"), at.join("node"), at].into_iter())
            .filter(|place| place.is_file() || place.is_dir())
            .filter_map(|place| place.canonicalize().ok())
            .collect();
    }
    let layers: Vec<BTreeSet<&str>> = access
        .execute
        .layers()
        .map(|layer| layer.iter().filter_map(CommandPattern::program).collect())
        .collect();
    let Some((first, rest)) = layers.split_first() else { return Vec::new() };
    let named = first.iter().filter(|name| rest.iter().all(|layer| layer.contains(*name)));
    named
        .flat_map(|name| {
            let argv = vec![(*name).to_owned()];
            started_by(&Program { argv, ..program.clone() })
        })
        .collect()
}

/// The places that stand for `roots`: real ones that are there. A path that is a link is not what was
/// declared, so it is left out.
fn places(roots: &[Root]) -> BTreeSet<PathBuf> {
    let mut places = BTreeSet::new();
    for root in roots {
        let base = Path::new(root.base().as_str());
        let is_real = base.canonicalize().is_ok_and(|real| real == base);
        if !is_real {
            continue;
        }
        match root {
            Root::Subtree(_) | Root::File(_) => {
                places.insert(base.to_owned());
            }
            Root::Glob { .. } => {
                let files = ignore::WalkBuilder::new(base)
                    .standard_filters(false)
                    .follow_links(false)
                    .sort_by_file_name(Ord::cmp)
                    .build()
                    .filter_map(Result::ok)
                    .filter(|entry| entry.file_type().is_some_and(|kind| !kind.is_symlink()))
                    .filter(|entry| {
                        let path = entry.path().to_str().and_then(|path| FilePath::new(path).ok());
                        path.is_some_and(|path| root.covers(&path))
                    });
                places.extend(files.map(ignore::DirEntry::into_path).take(GLOB_FILES));
            }
        }
    }
    places
}

/// What may be reached, as the sandbox is told of it.
fn network(access: &Access) -> Network {
    let scopes = access.network_scopes().unwrap_or_default();
    let domains: Vec<String> = scopes.into_iter().flat_map(|scope| scope.domains).collect();
    if domains.is_empty() { Network::None } else { Network::Domains(domains) }
}

fn gate(confinement: &Confinement, access: &Access) -> Result<Option<Proxy>, ExecutionError> {
    if confinement.network == Network::None {
        return Ok(None);
    }
    let refused = |message: String| ExecutionError::Confined { code: "NO_GATE", message };
    let scopes = access.network_scopes().unwrap_or_default();
    let rules = NetworkRules::new(&scopes)
        .map_err(|errors| refused(errors.first().map(ToString::to_string).unwrap_or_default()))?;
    Proxy::new(rules, Arc::new(Direct)).map(Some).map_err(|error| refused(error.to_string()))
}

fn refused_host(attempt: &Attempt) -> RefusedHost {
    let host = match attempt.port {
        Some(port) => format!("{}:{port}", attempt.host),
        None => attempt.host.clone(),
    };
    let request =
        attempt.port.and_then(|port| Request::connect(&attempt.host, port, &attempt.method).ok());
    RefusedHost { host, request, code: attempt.code.to_owned(), reason: attempt.reason.clone() }
}

/// The environment of a confined program. The home is not granted, so it gets one that is empty, unless
/// the tool asks for the real one by name.
fn environment(invocation: &Invocation) -> Vec<(String, String)> {
    let mut environment = invocation.environment.clone();
    let home = environment.iter().position(|(name, _)| name == "HOME");
    let Some(at) = home.filter(|_| !invocation.keeps_home) else { return environment };
    let (_, home) = environment.remove(at);
    for (name, directory) in TOOL_CHAINS {
        let place = Path::new(&home).join(directory);
        if place.is_dir() && !environment.iter().any(|(known, _)| known == name) {
            environment.push((name.to_owned(), place.display().to_string()));
        }
    }
    environment.push(("HOME".to_owned(), EMPTY_HOME.to_owned()));
    if let Some((_, path)) = environment.iter_mut().find(|(name, _)| name == "PATH") {
        *path = without_shims(path, invocation);
    }
    environment
}

/// The PATH in which the directory of a Python version stands in the place of the shims that would look for
/// it: they are scripts that want a home and a dozen other programs.
fn without_shims(path: &str, invocation: &Invocation) -> String {
    let chosen = |root: &Path| {
        let given = invocation.environment.iter().find(|(name, _)| name == "PYENV_VERSION");
        let near = invocation.directory.ancestors().map(|at| at.join(".python-version"));
        let mut files = near.chain([root.join("version")]);
        let version = given
            .map(|(_, version)| version.clone())
            .or_else(|| files.find_map(|file| std::fs::read_to_string(file).ok()))?;
        let version = version.split_whitespace().next()?.to_owned();
        let bin = root.join("versions").join(version).join("bin");
        bin.is_dir().then(|| bin.display().to_string())
    };
    let replaced = path.split(':').map(|entry| {
        let root = Path::new(entry).parent().filter(|_| entry.ends_with("/.pyenv/shims"));
        root.and_then(chosen).unwrap_or_else(|| entry.to_owned())
    });
    replaced.collect::<Vec<_>>().join(":")
}

/// Empty at the beginning of each run, or not to be opened at all.
const EMPTY_HOME: &str = "/tmp";

fn failed(error: SandboxError, invocation: &Invocation) -> ExecutionError {
    match error {
        SandboxError::NotStarted { program, source, .. } => {
            ExecutionError::NotStarted { program, source }
        }
        SandboxError::NoDirectory(path) => ExecutionError::NoDirectory(path),
        SandboxError::Timeout(_) => ExecutionError::Timeout(invocation.timeout.as_secs()),
        SandboxError::Cancelled => ExecutionError::Cancelled,
        SandboxError::Lost(source) => ExecutionError::Lost(source),
        other => ExecutionError::Confined { code: other.code(), message: other.to_string() },
    }
}
