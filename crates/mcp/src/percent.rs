//! Bytes as addresses have them.

use std::fmt::Write as _;

/// `bytes` as a path of an address: letters, digits, `/` and `-._~` as they are, the rest as `%XX`.
pub(crate) fn encoded(bytes: impl AsRef<[u8]>) -> String {
    let bytes = bytes.as_ref();
    let mut out = String::with_capacity(bytes.len());
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(byte) {
            out.push(char::from(*byte));
        } else {
            // Writing to a text cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
