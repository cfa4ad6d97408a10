//! Who may ask: bearer tokens, each for one principal or for one approver.
//!
//! A token file has one line for each token: the token, or a name and the token with a blank in
//! between. Empty lines and lines that begin with `#` say nothing.
//!
//! A principal's token is what a client sends, and an agent drives that client. So it opens `/mcp` and
//! answers no question; an approver's token answers questions and does not open `/mcp`.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use concertina_core::policy::OWNER;
use concertina_runtime::approval::Whose;
use sha2::{Digest as _, Sha256};

/// The fewest characters of a token that somebody chose: 96 bits where they are random.
const SHORTEST: usize = 16;

/// Why there are no tokens.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Others can read the file.
    #[error("{} can be read by others; make it yours alone: chmod 600 {}", .0.display(), .0.display())]
    Open(PathBuf),
    /// A line of the file is no token.
    #[error("{}:{line}: {why}", path.display())]
    Line {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it; never the line itself.
        why: &'static str,
    },
    /// One token is a principal's and an approver's.
    #[error(
        "{}: a token of the approvers is a client's token as well; whoever asks must not be able to answer, so make another one",
        .0.display()
    )]
    Both(PathBuf),
    /// The system gives no random bits.
    #[error("the system gives no random bits: {0}")]
    NoRandomBits(getrandom::Error),
}

/// Tokens, and what each stands for. Only their digests are kept.
#[derive(Clone, PartialEq, Eq)]
struct Known<T>(Vec<([u8; 32], T)>);

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Known<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(_, what)| what)).finish()
    }
}

impl<T> Known<T> {
    fn one(token: &str, what: T) -> Self {
        Self(vec![(digest(token), what)])
    }

    /// The tokens in the file at `path`, by what `line` makes of the words of a line: the token, and
    /// what it stands for.
    fn read(
        path: &Path,
        line: impl for<'a> Fn(&[&'a str]) -> Result<(&'a str, T), &'static str>,
    ) -> Result<Self, TokenError> {
        let failed = |source| TokenError::File { path: path.to_owned(), source };
        is_private(path)?;
        let text = fs::read_to_string(path).map_err(failed)?;
        let mut known = Vec::new();
        for (at, written) in text.lines().enumerate() {
            let wrong = |why| TokenError::Line { path: path.to_owned(), line: at + 1, why };
            let words: Vec<&str> = written.split_whitespace().collect();
            if words.first().is_none_or(|first| first.starts_with('#')) {
                continue;
            }
            let (token, what) = line(&words).map_err(wrong)?;
            if token.chars().count() < SHORTEST {
                return Err(wrong("the token is shorter than 16 characters"));
            }
            known.push((digest(token), what));
        }
        if known.is_empty() {
            let why = "there is no token in it";
            return Err(TokenError::Line { path: path.to_owned(), line: 1, why });
        }
        Ok(Self(known))
    }

    /// What `token` stands for. Takes as long for every wrong one.
    fn get(&self, token: &str) -> Option<&T> {
        let asked = digest(token);
        let mut found = None;
        for (known, what) in &self.0 {
            let differs = known.iter().zip(asked).fold(0, |all, (a, b)| all | (a ^ b));
            if differs == 0 {
                found = Some(what);
            }
        }
        found
    }
}

/// All tokens of clients, each for one principal.
///
/// ```
/// use concertina_http::Tokens;
/// let tokens = Tokens::one("s3cret-s3cret-s3cret");
/// assert_eq!(tokens.principal("s3cret-s3cret-s3cret"), Some("local"));
/// assert_eq!(tokens.principal("s3cret"), None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tokens(Known<String>);

impl Tokens {
    /// One token, for whoever owns the machine.
    pub fn one(token: &str) -> Self {
        Self(Known::one(token, OWNER.to_owned()))
    }

    /// The tokens in the file at `path`.
    pub fn read(path: &Path) -> Result<Self, TokenError> {
        let known = Known::read(path, |words| match *words {
            [token] => Ok((token, OWNER.to_owned())),
            [principal, token] => Ok((token, principal.to_owned())),
            _ => Err("there are more than two words; a token holds no blank"),
        });
        known.map(Self)
    }

    /// The token in the file at `path`; a new one where there is no such file.
    pub fn kept(path: &Path) -> Result<Self, TokenError> {
        let failed = |source| TokenError::File { path: path.to_owned(), source };
        if let Some(directory) = path.parent() {
            let mut builder = fs::DirBuilder::new();
            builder.recursive(true);
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(directory).map_err(failed)?;
        }
        let mut bits = [0_u8; 32];
        getrandom::fill(&mut bits).map_err(TokenError::NoRandomBits)?;
        let (high, low) = bits.split_at(16);
        let half = |half: &[u8]| half.iter().fold(0_u128, |all, byte| all << 8 | u128::from(*byte));
        let token = format!("{:032x}{:032x}", half(high), half(low));
        let mut options = fs::OpenOptions::new();
        // Nobody else's file is followed or written over.
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(path) {
            Ok(mut file) => {
                file.write_all(format!("{token}\n").as_bytes()).map_err(failed)?;
                Ok(Self::one(&token))
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Self::read(path),
            Err(error) => Err(failed(error)),
        }
    }

    /// For whom `token` speaks; none where it is none of these.
    pub fn principal(&self, token: &str) -> Option<&str> {
        self.0.get(token).map(String::as_str)
    }
}

/// Somebody who answers questions of consent, and does nothing else here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approver {
    /// The name that stands in the record of an answer.
    pub who: String,
    /// Whose questions they answer.
    pub whose: Whose,
}

/// All tokens of approvers. The words behind a token name the principals whose questions it answers;
/// without any it answers all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approvers(Known<Approver>);

impl Approvers {
    /// The tokens in the file at `path`, none of which may be one of `clients`.
    pub fn read(path: &Path, clients: Option<&Tokens>) -> Result<Self, TokenError> {
        let known = Known::read(path, |words| {
            let (who, token, principals) = match *words {
                [token] => (OWNER, token, &[][..]),
                [who, token, ref principals @ ..] => (who, token, principals),
                [] => return Err("there is no token"),
            };
            let only: BTreeSet<String> = principals.iter().map(|&one| one.to_owned()).collect();
            let whose = if only.is_empty() { Whose::Everybody } else { Whose::Only(only) };
            Ok((token, Approver { who: who.to_owned(), whose }))
        })?;
        let is_known = |digest: &[u8; 32]| {
            clients.is_some_and(|clients| clients.0.0.iter().any(|(known, _)| known == digest))
        };
        if known.0.iter().any(|(digest, _)| is_known(digest)) {
            return Err(TokenError::Both(path.to_owned()));
        }
        Ok(Self(known))
    }

    /// Who answers with `token`; none where it is none of these.
    pub fn approver(&self, token: &str) -> Option<&Approver> {
        self.0.get(token)
    }
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

#[cfg(unix)]
fn is_private(path: &Path) -> Result<(), TokenError> {
    use std::os::unix::fs::PermissionsExt as _;

    let failed = |source| TokenError::File { path: path.to_owned(), source };
    let mode = fs::metadata(path).map_err(failed)?.permissions().mode();
    let others = mode & 0o077;
    if others == 0 { Ok(()) } else { Err(TokenError::Open(path.to_owned())) }
}

#[cfg(not(unix))]
fn is_private(_: &Path) -> Result<(), TokenError> {
    Ok(())
}
