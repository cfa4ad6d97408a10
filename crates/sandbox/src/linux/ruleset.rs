//! The rules that Landlock enforces.

use std::os::fd::OwnedFd;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, Scope,
};

use super::grant::{Access, Grant};

/// The version whose rights are used. What came later than 6 is covered by the filter.
fn version(landlock: u32) -> ABI {
    match landlock {
        0 => ABI::Unsupported,
        1 => ABI::V1,
        2 => ABI::V2,
        3 => ABI::V3,
        4 => ABI::V4,
        5 => ABI::V5,
        _ => ABI::V6,
    }
}

/// The rights of an access.
pub(super) fn rights(access: Access, landlock: u32) -> BitFlags<AccessFs> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    match access {
        Access::Read => read,
        Access::Execute => read | AccessFs::Execute,
        Access::Write => {
            let devices = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
            (read | AccessFs::from_write(version(landlock))) & !devices
        }
        Access::Device => AccessFs::ReadFile | AccessFs::WriteFile,
    }
}

/// Rules that allow what is granted and nothing else. Every right of the kernel's version has to be
/// there: a weaker set of rules is an error. None where there is no Landlock.
pub(super) fn ruleset<'a>(
    grants: impl IntoIterator<Item = &'a Grant>,
    landlock: u32,
    is_networked: bool,
) -> Result<Option<OwnedFd>, RulesetError> {
    let version = version(landlock);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(version))?;
    // In a network of its own a program may dial and listen as it likes.
    if version >= ABI::V4 && !is_networked {
        rules = rules.handle_access(AccessNet::from_all(version))?;
    }
    if version >= ABI::V6 {
        rules = rules.scope(Scope::from_all(version))?;
    }
    let mut created = rules.create()?;
    for grant in grants {
        let mut rights = rights(grant.access, landlock);
        if !grant.is_directory {
            rights &= AccessFs::from_file(version);
        }
        created = created.add_rule(PathBeneath::new(&grant.file, rights))?;
    }
    Ok(created.into())
}
