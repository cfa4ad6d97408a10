//! What a machine can enforce.

use std::fmt;

/// What the kernel of this machine offers, and to whom. Made by [`probe`](crate::probe), which tries
/// it out; an argument of everything else.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Machine {
    /// The system and its version, as in `Linux 6.8.0`.
    pub kernel: String,
    /// Differs after each start of the machine; empty where that is not known.
    pub boot: String,
    /// The version of the Landlock interface; 0 without Landlock.
    pub landlock: u32,
    /// Whether system calls can be filtered.
    pub seccomp: bool,
    /// Whether a program can be given namespaces of its own.
    pub namespaces: Namespaces,
    /// Whether the user is root, whom a limit on processes does not bind.
    pub root: bool,
    /// Whether the processes of root can be limited all the same: by a process namespace with a limit of
    /// its own (Linux 6.14).
    pub process_limit: bool,
}

/// How namespaces for mounts, processes, network and IPC can be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Namespaces {
    /// By privilege.
    Privileged,
    /// Inside a user namespace.
    Unprivileged,
    /// Not at all.
    Absent {
        /// What was refused, in words.
        reason: String,
    },
}

impl Machine {
    /// A machine that can hold no program.
    pub fn without_a_sandbox(kernel: &str) -> Self {
        Self {
            kernel: kernel.to_owned(),
            boot: String::new(),
            landlock: 0,
            seccomp: false,
            namespaces: Namespaces::Absent { reason: "there are none".to_owned() },
            root: false,
            process_limit: false,
        }
    }

    /// Whether a program can be given namespaces of its own.
    pub fn has_namespaces(&self) -> bool {
        !matches!(self.namespaces, Namespaces::Absent { .. })
    }

    /// Under which key the result of a self-test may be kept: it holds until the machine starts
    /// again, the kernel is another or `binary`, which stands for the program that tests itself, is.
    pub fn key(&self, binary: &str) -> String {
        format!("{}:{}:{binary}", self.boot, self.kernel)
    }
}

/// One line a feature, as `doctor` prints them.
impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "kernel: {}", self.kernel)?;
        match self.landlock {
            0 => writeln!(f, "Landlock: absent")?,
            abi => writeln!(f, "Landlock: version {abi}")?,
        }
        writeln!(f, "seccomp: {}", if self.seccomp { "present" } else { "absent" })?;
        match &self.namespaces {
            Namespaces::Privileged => writeln!(f, "namespaces: present, as root")?,
            Namespaces::Unprivileged => writeln!(f, "namespaces: present, by a user namespace")?,
            Namespaces::Absent { reason } => writeln!(f, "namespaces: absent ({reason})")?,
        }
        let processes = match (self.root, self.process_limit) {
            (false, _) => "each run by itself",
            (true, true) => "at least 301, since the user is root",
            (true, false) => "none, since the user is root",
        };
        write!(f, "limit on processes: {processes}")
    }
}
