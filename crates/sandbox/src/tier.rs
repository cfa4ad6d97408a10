//! How tightly a program is held, and why so.

use crate::{Confinement, Machine, Namespaces, Network, SandboxError, Tier};

/// The least version of the Landlock interface: below it a file that may not be written can be
/// emptied.
const LANDLOCK: u32 = 3;
/// From here on Landlock keeps signals and abstract sockets inside.
const LANDLOCK_SCOPES: u32 = 6;

/// How a program is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The tier.
    pub tier: Tier,
    /// Why it is not a lower one.
    pub reason: &'static str,
    /// What takes the place of features that this machine lacks, or that nothing does.
    pub substitutes: Vec<Substitute>,
}

/// What takes the place of a missing feature. But for the last it denies as much, or more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Substitute {
    /// A process namespace keeps signals inside, where Landlock cannot.
    SignalsByNamespace,
    /// No signal can be sent at all, also not to the program's own children: Landlock cannot keep
    /// signals inside, and there is no process namespace.
    NoSignals,
    /// Nothing but its time limits how many processes it has: the user is root, whom the system does not
    /// limit, and no process namespace does instead.
    NoProcessLimit,
}

/// The tier for a program with this confinement on this machine: the highest that anything asks for.
/// A feature that is missing raises it or is an error; nothing ever lowers it.
///
/// # Errors
/// `SANDBOX_UNAVAILABLE`, where the machine lacks what the tier needs.
pub fn choose(confinement: &Confinement, machine: &Machine) -> Result<Choice, SandboxError> {
    let asks = [
        (confinement.at_least, "it was asked for"),
        wants(!confinement.write.is_empty(), Tier::L2, "it may write files"),
        wants(confinement.network != Network::None, Tier::L2, "it may reach hosts"),
        wants(!confinement.pins.is_empty(), Tier::L3, "it runs files as they were approved"),
    ];
    let (tier, reason) = asks
        .into_iter()
        // The first of equals: `max_by_key` takes the last.
        .rev()
        .max_by_key(|(tier, _)| *tier)
        .unwrap_or((confinement.at_least, ""));
    if machine.landlock < LANDLOCK {
        return Err(SandboxError::Unavailable {
            missing: match machine.landlock {
                0 => format!("{} without Landlock", machine.kernel),
                abi => format!("{} with Landlock {abi}, and {LANDLOCK} is needed", machine.kernel),
            },
            help: "use Linux 6.2 or newer and have `landlock` among the security modules that are \
                   started (`lsm=` on the kernel's command line)"
                .to_owned(),
        });
    }
    if !machine.seccomp {
        return Err(SandboxError::Unavailable {
            missing: format!("{} without seccomp filters", machine.kernel),
            help: "use a kernel that is built with CONFIG_SECCOMP_FILTER".to_owned(),
        });
    }
    if let (Tier::L2 | Tier::L3, Namespaces::Absent { reason: refused }) =
        (tier, &machine.namespaces)
    {
        return Err(SandboxError::Unavailable {
            missing: format!("no namespaces ({refused}), and {tier} needs them, since {reason}"),
            help: "allow user namespaces (`sysctl user.max_user_namespaces`, on Ubuntu \
                   `kernel.apparmor_restrict_unprivileged_userns=0`), or let it neither write nor \
                   reach hosts"
                .to_owned(),
        });
    }
    let mut substitutes = match (machine.landlock >= LANDLOCK_SCOPES, machine.has_namespaces()) {
        (true, _) => vec![],
        (false, true) => vec![Substitute::SignalsByNamespace],
        (false, false) => vec![Substitute::NoSignals],
    };
    if machine.root && !(machine.has_namespaces() && machine.process_limit) {
        substitutes.push(Substitute::NoProcessLimit);
    }
    Ok(Choice { tier, reason, substitutes })
}

fn wants(is_so: bool, tier: Tier, reason: &'static str) -> (Tier, &'static str) {
    if is_so { (tier, reason) } else { (Tier::L1, "nothing asks for more") }
}
