//! The supply chain of skills: what exactly they are, whose, and how they get here.
//!
//! - [`Manifest`]: a skill byte for byte; what is locked and what is signed;
//! - [`Lock`]: the skills of a directory, in a file that can be checked in;
//! - [`sign`], [`judge`]: signatures in the format of minisign;
//! - [`prepare`]: from a directory, an archive or an address to a skill that is ready to be installed;
//! - [`Changes`]: what is different between two versions.
//!
//! Nothing here runs a program. Only [`prepare`] opens the network, for the address that a person named.

mod address;
mod changes;
mod error;
mod fetch;
mod files;
mod glance;
mod install;
mod kept;
mod lock;
mod locking;
mod locks;
mod manifest;
mod minisign;
mod permissions;
mod signing;
mod stage;
mod unpack;

pub use address::{Resolver, SystemResolver, is_public};
pub use changes::{Changes, FileChange, PermissionsChange, Version, visible};
pub use error::SupplyError;
pub use fetch::{DOWNLOAD_BYTES, Fetching, REDIRECTS, fetch, is_address};
pub(crate) use files::walk;
pub use files::{FileRecord, SIGNATURE_FILE};
pub use glance::{Glance, Hidden};
pub use install::{
    Home, Offer, Prepared, Standing, Step, Wanted, declares_otherwise, installed, prepare,
};
pub(crate) use kept::Trusted;
pub use lock::{LOCK_FILE, Lock, LockEntry};
pub use locking::{LockMode, LockReport, LockStanding, LockedSkill, lock_skills};
pub(crate) use locks::Locks;
pub use manifest::Manifest;
pub use minisign::{PublicKey, SecretKey, Signature};
pub use permissions::{permissions_digest, permissions_in_words};
pub use signing::{Signed, generate_key, judge, require, sign, signature_of};
pub use unpack::{ENTRIES, Format, LeftOut, RATIO, UNPACKED_BYTES, copy_directory, unpack_archive};
