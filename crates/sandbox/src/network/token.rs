//! Who may use the proxy: the program that was given its token.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// The user in the proxy's address, for the clients that want one. The token alone counts.
const USER: &str = "concertina";

/// 256 random bits, made for one run.
pub(super) struct Token {
    /// As it stands in the address of the proxy.
    pub(super) userinfo: String,
    /// As it stands in a request, by the scheme `Basic`.
    credentials: String,
}

impl Token {
    pub(super) fn random() -> Result<Self, getrandom::Error> {
        let mut bits = [0_u8; 32];
        getrandom::fill(&mut bits)?;
        let mut userinfo = format!("{USER}:");
        for byte in bits {
            // Nothing is lost: a text takes whatever is written to it.
            let _ = write!(userinfo, "{byte:02x}");
        }
        Ok(Self { credentials: BASE64_STANDARD.encode(&userinfo), userinfo })
    }

    /// Whether `value`, of a field `Proxy-Authorization`, holds the token.
    pub(super) fn is_in(&self, value: &[u8]) -> bool {
        let Some((scheme, credentials)) = value.split_at_checked(b"Basic ".len()) else {
            return false;
        };
        let own = self.credentials.as_bytes();
        // As long for a wrong token as for one that is nearly right.
        let differing = own.iter().zip(credentials).fold(0, |all, (a, b)| all | (a ^ b));
        scheme.eq_ignore_ascii_case(b"Basic ") && own.len() == credentials.len() && differing == 0
    }
}
