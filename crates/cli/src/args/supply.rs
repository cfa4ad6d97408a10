//! What can be typed about locking, signing and installing skills.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct LockArgs {
    /// Skills, directories of skills, or a repository
    #[arg(default_value = ".")]
    pub(crate) paths: Vec<PathBuf>,
    /// Only say whether the skills are what skills.lock says; exit 1 where one is not
    #[arg(long)]
    pub(crate) check: bool,
    /// The directory of skills.lock [default: the nearest at or above PATH that has one, else the
    /// current directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) lock: Option<PathBuf>,
}

/// For whom a skill is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeArg {
    /// For you, in every project
    User,
    /// For this project, whose other users get it with the project
    Project,
}

/// How far an installation goes, and on whose word.
#[derive(Debug, Args)]
pub(crate) struct ConsentArgs {
    /// Only show what would be installed
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Install without a question. Trusts nothing and allows nothing
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    /// A directory, a .tar, .tar.gz or .zip file, or the https address of one
    pub(crate) source: String,
    /// For whom
    #[arg(long, value_name = "SCOPE", default_value = "user")]
    pub(crate) scope: ScopeArg,
    /// Which skill, where the source holds several; else the name of its directory
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// What the archive has to hash to
    #[arg(long, value_name = "HEX")]
    pub(crate) sha256: Option<String>,
    /// The public key that it has to be signed with: the key, or a file that holds it
    #[arg(long, value_name = "KEY")]
    pub(crate) public: Option<String>,
    #[command(flatten)]
    pub(crate) consent: ConsentArgs,
}

#[derive(Debug, Args)]
pub(crate) struct UpdateArgs {
    /// The skill's name
    #[arg(required_unless_present = "all")]
    pub(crate) name: Option<String>,
    /// Every skill that was installed
    #[arg(long, conflicts_with = "name")]
    pub(crate) all: bool,
    /// For whom it was installed
    #[arg(long, value_name = "SCOPE", default_value = "user")]
    pub(crate) scope: ScopeArg,
    /// Consent to a skill that declares what its installed version does not: the digest that is shown
    /// with it
    #[arg(long, value_name = "DIGEST")]
    pub(crate) permissions: Option<String>,
    #[command(flatten)]
    pub(crate) consent: ConsentArgs,
}

#[derive(Debug, Args)]
pub(crate) struct KeygenArgs {
    /// Where the secret key goes; the public one gets the ending .pub beside it
    /// [default: keys/skill.key below the state directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct SignArgs {
    /// The skill: its directory or its SKILL.md
    pub(crate) path: PathBuf,
    /// The secret key [default: keys/skill.key below the state directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Only print the bytes that are signed
    #[arg(long, conflicts_with = "key")]
    pub(crate) manifest: bool,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The skill: its directory or its SKILL.md
    pub(crate) path: PathBuf,
    /// The public key: the key, or a file that holds it [default: the keys under [trust] in your own
    /// concertina.toml]
    #[arg(long, value_name = "KEY")]
    pub(crate) public: Option<String>,
}
