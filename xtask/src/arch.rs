//! The laws of `docs/ARCHITECTURE.md` that a program can check.

mod packages;
mod sources;
mod words;

use crate::Outcome;
use crate::workspace::{Finding, Workspace};

/// Crates that do no I/O, by directory below `crates/`.
const PURE: &[&str] = &["types", "tokens", "format", "core"];

/// Every broken law, sorted by place.
pub(crate) fn check(workspace: &Workspace) -> Outcome<Vec<Finding>> {
    let mut findings = packages::check(&workspace.packages()?, &workspace.sources);
    findings.extend(sources::check(&workspace.sources));
    findings.extend(words::check(&workspace.sources));
    Ok(findings)
}
