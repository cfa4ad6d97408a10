//! Programs held by the kernel to what they were granted.
//!
//! A [`Program`] is run under a [`Confinement`]: what is not named there is refused by the kernel,
//! whatever the program tries. What this machine can enforce is found out by [`probe`] and is an
//! argument from then on, so that [`choose`], which says how tightly a program is held and why, is a
//! function of its arguments alone. Where the machine lacks what a confinement needs, the answer is
//! `SANDBOX_UNAVAILABLE`, never less.
//!
//! ```no_run
//! use concertina_sandbox::{Confinement, Limits, Network, Program, Tier, probe, run};
//!
//! let program = Program {
//!     argv: vec!["/usr/bin/sort".into(), "names.txt".into()],
//!     directory: "/srv/data".into(),
//!     environment: vec![("LANG".into(), "C.UTF-8".into())],
//! };
//! let confinement = Confinement {
//!     read: vec!["/srv/data".into()],
//!     write: vec![],
//!     execute: vec!["/usr/bin/sort".into()],
//!     protect: vec![],
//!     closed: vec![],
//!     pins: vec![],
//!     network: Network::None,
//!     at_least: Tier::L1,
//!     limits: Limits::default(),
//! };
//! let finished = run(&probe(), &program, &confinement, None, &|| false)?;
//! assert_eq!(finished.exit, 0);
//! # Ok::<(), concertina_sandbox::SandboxError>(())
//! ```

mod confinement;
mod error;
mod finished;
mod gate;
mod machine;
pub mod network;
mod self_test;
mod tier;

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod linux;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
use linux as system;
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod elsewhere;
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
use elsewhere as system;

pub use confinement::{Confinement, Limits, Network, Pin, Program, Tier};
pub use error::SandboxError;
pub use finished::Finished;
pub use gate::Gate;
pub use machine::{Machine, Namespaces};
pub use self_test::Escape;
pub use system::{probe, run, self_test, stands_in, started_by};
pub use tier::{Choice, Substitute, choose};
