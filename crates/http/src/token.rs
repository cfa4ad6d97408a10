//! Who may ask: bearer tokens, each for one principal.
//!
//! A token file has one line for each token: the token, or a principal and the token with a blank
//! in between. Empty lines and lines that begin with `#` say nothing.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use concertina_core::policy::OWNER;
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
    /// The system gives no random bits.
    #[error("the system gives no random bits: {0}")]
    NoRandomBits(getrandom::Error),
}

/// One token: only its digest is kept.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    digest: [u8; 32],
    principal: String,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Token").field("principal", &self.principal).finish_non_exhaustive()
    }
}

/// All tokens that are accepted.
///
/// ```
/// use concertina_http::Tokens;
/// let tokens = Tokens::one("s3cret-s3cret-s3cret");
/// assert_eq!(tokens.principal("s3cret-s3cret-s3cret"), Some("local"));
/// assert_eq!(tokens.principal("s3cret"), None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tokens(Vec<Token>);

impl Tokens {
    /// One token, for whoever owns the machine.
    pub fn one(token: &str) -> Self {
        Self(vec![Token { digest: digest(token), principal: OWNER.to_owned() }])
    }

    /// The tokens in the file at `path`.
    pub fn read(path: &Path) -> Result<Self, TokenError> {
        let failed = |source| TokenError::File { path: path.to_owned(), source };
        is_private(path)?;
        let text = fs::read_to_string(path).map_err(failed)?;
        let mut tokens = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let wrong = |why| TokenError::Line { path: path.to_owned(), line: at + 1, why };
            let words: Vec<&str> = line.split_whitespace().collect();
            let (principal, token) = match words.as_slice() {
                [] => continue,
                [first, ..] if first.starts_with('#') => continue,
                [token] => (OWNER, *token),
                [principal, token] => (*principal, *token),
                _ => return Err(wrong("there are more than two words; a token holds no blank")),
            };
            if token.chars().count() < SHORTEST {
                return Err(wrong("the token is shorter than 16 characters"));
            }
            tokens.push(Token { digest: digest(token), principal: principal.to_owned() });
        }
        if tokens.is_empty() {
            return Err(TokenError::Line {
                path: path.to_owned(),
                line: 1,
                why: "there is no token in it",
            });
        }
        Ok(Self(tokens))
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

    /// For whom `token` speaks; none where it is none of these. Takes as long for every wrong one.
    pub fn principal(&self, token: &str) -> Option<&str> {
        let asked = digest(token);
        let mut found = None;
        for known in &self.0 {
            let differs = known.digest.iter().zip(asked).fold(0, |all, (a, b)| all | (a ^ b));
            if differs == 0 {
                found = Some(known.principal.as_str());
            }
        }
        found
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
