//! What a program is given. Everything that is not named here is refused by the kernel.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use concertina_types::Digest;

/// One program to run: arguments as a list, never a shell line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The program and its arguments. The first is a path, or a name that is looked for in the PATH of
    /// `environment`.
    pub argv: Vec<String>,
    /// The directory it runs in.
    pub directory: PathBuf,
    /// Its whole environment.
    pub environment: Vec<(String, String)>,
}

/// How tightly a program is held; a later one holds tighter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// Landlock, seccomp, no capabilities, limits, closed descriptors.
    L1,
    /// Also namespaces of its own for mounts, processes, network and IPC.
    L2,
    /// Also a root of its own, in which nothing else can be seen.
    L3,
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::L3 => "L3",
        })
    }
}

/// What may be reached over the network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Network {
    /// Nothing: no socket can be made.
    #[default]
    None,
    /// These hosts, through a proxy and by no other way. Rules as in `permissions.network.domains`.
    Domains(Vec<String>),
}

/// How much a program may use. Going over one ends it or fails the call that does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How long it may run.
    pub time: Duration,
    /// Memory of each of its processes, in bytes of address space.
    pub memory: u64,
    /// Processes and threads at once.
    pub processes: u64,
    /// The size of one file that it writes, in bytes.
    pub file: u64,
    /// How much output is kept, in bytes, of each stream; the rest is counted and dropped.
    pub output: u64,
}

/// What a script needs, and a runaway does not get.
impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_mins(1),
            // Address space, not use: some runtimes reserve gigabytes that they never touch.
            memory: 8_000_000_000,
            processes: 256,
            file: 1_000_000_000,
            output: 1_000_000,
        }
    }
}

/// A file as it was approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The file.
    pub path: PathBuf,
    /// The digest of its bytes.
    pub digest: Digest,
}

/// What a program is given. The paths are absolute and real: no link, no `..`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    /// Files it may read, and directories it may read with everything below them.
    pub read: Vec<PathBuf>,
    /// Files it may read and write, and directories likewise.
    pub write: Vec<PathBuf>,
    /// Programs it may start, and directories of programs. Each may be read as well.
    pub execute: Vec<PathBuf>,
    /// What stays as it is although it lies in a directory of `write`, whether it is there or not.
    pub protect: Vec<PathBuf>,
    /// What can be neither read nor changed although it lies in a directory of `write`, whether it is
    /// there or not. What `read` and `execute` name in it by itself can still be read.
    pub closed: Vec<PathBuf>,
    /// Files that have exactly these bytes while the program runs, whatever becomes of them outside.
    /// Each has to lie in `read`, `write` or `execute`.
    pub pins: Vec<Pin>,
    /// What it may reach.
    pub network: Network,
    /// The least tier that will do.
    pub at_least: Tier,
    /// How much it may use.
    pub limits: Limits,
}
