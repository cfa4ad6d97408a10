//! The vocabulary of `o200k_base`, read where it lies in the program.

use crate::layout::{
    EMPTY, LONGEST, RANK_BITS, RANKS, SLOTS as SLOT_COUNT, fingerprint, hash, home,
};

// The table is cut into its arrays by the compiler, which also checks that it is long enough.
const TABLE: &[u8] = include_bytes!("../data/o200k.bin");
const AFTER_SLOTS: &[u8] = TABLE.split_at(SLOT_COUNT * 4).1;
const OFFSET_BYTES: usize = (RANKS as usize + 2) * 3;

static SLOTS: &[[u8; 4]] = TABLE.split_at(SLOT_COUNT * 4).0.as_chunks().0;
static OFFSETS: &[u8] = AFTER_SLOTS.split_at(OFFSET_BYTES).0;
static BYTES: &[u8] = AFTER_SLOTS.split_at(OFFSET_BYTES).1;

/// The rank of the token that consists of exactly these bytes.
pub(crate) fn rank(token: &[u8]) -> Option<u32> {
    if token.len() > LONGEST {
        return None;
    }
    let hash = hash(token);
    let wanted = fingerprint(hash);
    let mut at = home(hash);
    loop {
        let slot = u32::from_le_bytes(*SLOTS.get(at)?);
        if slot == EMPTY {
            return None;
        }
        let rank = slot & ((1 << RANK_BITS) - 1);
        if slot - rank == wanted && bytes(rank) == Some(token) {
            return Some(rank);
        }
        at = if at + 1 < SLOT_COUNT { at + 1 } else { 0 };
    }
}

/// The bytes of the token of this rank.
fn bytes(rank: u32) -> Option<&'static [u8]> {
    // This offset and the next one, three bytes each, in one number.
    let pair = u64::from_le_bytes(*OFFSETS.get(rank as usize * 3..)?.first_chunk()?);
    let start = usize::try_from(pair & 0xFF_FFFF).ok()?;
    let end = usize::try_from(pair >> 24 & 0xFF_FFFF).ok()?;
    BYTES.get(start..end)
}
