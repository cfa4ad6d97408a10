//! HMAC-SHA256 (RFC 2104): the digest of a text that only the holder of a key can make.

use sha2::{Digest as _, Sha256};

/// The size of a block of SHA-256, in bytes.
const BLOCK: usize = 64;

/// The keyed digest of `text`.
///
/// ```
/// use concertina_types::hmac_sha256;
/// // RFC 4231, test case 2.
/// let mut key = [0; 32];
/// key[..4].copy_from_slice(b"Jefe");
/// let digest = hmac_sha256(&key, b"what do ya want for nothing?");
/// assert_eq!(digest[..4], [0x5b, 0xdc, 0xc1, 0x46]);
/// ```
pub fn hmac_sha256(key: &[u8; 32], text: &[u8]) -> [u8; 32] {
    let padded = |pad: u8| {
        let mut block = [pad; BLOCK];
        // The key is shorter than a block, so the rest of it is the pad.
        for (byte, key) in block.iter_mut().zip(key) {
            *byte ^= key;
        }
        block
    };
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(text).finalize();
    Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize().into()
}
