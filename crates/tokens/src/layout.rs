//! The layout of the two committed tables, shared by the code that reads them and by the generator
//! that writes them (`cargo xtask token-table`, which includes this file).
//!
//! `data/o200k.bin` is three arrays, one after the other, all numbers little-endian:
//!
//! | array   | entries        | entry                                                             |
//! |---------|----------------|-------------------------------------------------------------------|
//! | slots   | [`SLOTS`]      | 4 bytes: `fingerprint << 18 \| rank`, or [`EMPTY`]                |
//! | offsets | [`RANKS`] + 2  | 3 bytes: where the token of this rank starts in `bytes`           |
//! | bytes   | –              | the bytes of every token, in the order of the ranks               |
//!
//! A token ends where the next begins; the last two offsets are the end of `bytes`, twice, so that
//! any offset can be read together with its successor as one 8-byte number.
//!
//! `data/classes.bin` maps a code point to its class in two steps: entry `c >> 8` of the first
//! [`BLOCKS`] bytes names a block, and entry `c & 255` of that block, of the blocks that follow, is
//! the class.

/// The number of ordinary tokens of `o200k_base`; ranks are `0..RANKS`.
pub(crate) const RANKS: u32 = 199_998;

/// The slots of the hash index: 1.6 for each token, so that a failed look-up reads about four.
pub(crate) const SLOTS: usize = 320_000;

/// The bits of a slot that hold the rank; those above hold the fingerprint.
pub(crate) const RANK_BITS: u32 = 18;

/// A slot without a token: no rank has all its bits set.
pub(crate) const EMPTY: u32 = u32::MAX;

/// The length in bytes of the longest token.
pub(crate) const LONGEST: usize = 128;

/// The number of blocks of 256 code points.
pub(crate) const BLOCKS: usize = 0x11_0000 / 256;

/// Classes of characters, as far as `o200k_base` splits text by them. Every character has exactly
/// one; each is a bit, so that a set of classes is their union.
pub(crate) mod class {
    /// Everything that is in none of the other classes.
    pub(crate) const OTHER: u8 = 1;
    /// General categories Lu and Lt.
    pub(crate) const UPPER: u8 = 1 << 1;
    /// General category Ll.
    pub(crate) const LOWER: u8 = 1 << 2;
    /// General categories Lm and Lo: letters that stand with upper and with lower case.
    pub(crate) const CASELESS: u8 = 1 << 3;
    /// General category M; stands with letters of either case, too, but is no letter.
    pub(crate) const MARK: u8 = 1 << 4;
    /// General category N.
    pub(crate) const NUMBER: u8 = 1 << 5;
    /// White space other than line ends.
    pub(crate) const BLANK: u8 = 1 << 6;
    /// Carriage return and line feed.
    pub(crate) const LINE_END: u8 = 1 << 7;
}

/// The first slot to look at for a token with this hash; the next ones follow, round the end.
pub(crate) fn home(hash: u64) -> usize {
    (((hash & 0xFFFF_FFFF) * SLOTS as u64) >> 32) as usize
}

/// The part of the hash that is kept in a slot, already shifted above the rank.
pub(crate) fn fingerprint(hash: u64) -> u32 {
    ((hash >> (64 - (32 - RANK_BITS))) as u32) << RANK_BITS
}

/// A hash of the bytes, the same on every machine: multiply and fold, eight bytes at a time.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let seed = 0x9E37_79B9_7F4A_7C15 ^ bytes.len() as u64;
    if let Some(last) = bytes.last_chunk::<8>() {
        // The last eight bytes may overlap the words before them; with the length they are exact.
        let (words, _) = bytes.as_chunks::<8>();
        let state = words.iter().fold(seed, |state, word| fold(state ^ u64::from_le_bytes(*word)));
        return fold(state ^ u64::from_le_bytes(*last));
    }
    let word = match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>(), bytes) {
        (Some(first), Some(last), _) => {
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32
        }
        (_, _, &[a, b, c]) => u64::from(a) | u64::from(b) << 8 | u64::from(c) << 16,
        (_, _, &[a, b]) => u64::from(a) | u64::from(b) << 8,
        (_, _, &[a]) => u64::from(a),
        _ => 0,
    };
    fold(seed ^ word)
}

/// Both halves of a 128-bit product, folded into one.
#[expect(clippy::cast_possible_truncation, reason = "the halves are taken apart on purpose")]
fn fold(word: u64) -> u64 {
    let product = u128::from(word) * 0xD6E8_FEB8_6659_FD93_u128;
    product as u64 ^ (product >> 64) as u64
}
