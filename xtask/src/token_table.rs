//! `cargo xtask token-table`: writes the tables of `concertina-tokens` again.
//!
//! The vocabulary comes from the `tiktoken-rs` crate and the character classes from the Unicode
//! tables of `regex-syntax`, which is what the expression engine of `tiktoken-rs` uses. The result
//! is the same on every machine; the tests of `concertina-tokens` compare it with both crates.

use std::fs;
use std::path::Path;

use regex_syntax::hir::{Class, HirKind};

// Shared with `concertina-tokens`.
#[path = "../../crates/tokens/src/layout.rs"]
mod layout;

use layout::{BLOCKS, EMPTY, LONGEST, RANK_BITS, RANKS, SLOTS, class, fingerprint, hash, home};

/// Writes `crates/tokens/data/o200k.bin` and `crates/tokens/data/classes.bin`.
pub(crate) fn run() -> Result<(), String> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/tokens/data");
    fs::create_dir_all(&data).map_err(|error| format!("{}: {error}", data.display()))?;
    for (name, bytes) in [("o200k.bin", vocabulary()?), ("classes.bin", classes()?)] {
        let path = data.join(name);
        fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// The vocabulary with its hash index, laid out as `layout` says.
fn vocabulary() -> Result<Vec<u8>, String> {
    let reference = tiktoken_rs::o200k_base().map_err(|error| error.to_string())?;
    let mut slots = vec![EMPTY; SLOTS];
    let mut offsets = Vec::new();
    let mut bytes = Vec::new();
    for rank in 0..RANKS {
        let token = reference
            .decode_bytes(&[rank])
            .map_err(|_| format!("the vocabulary has no token of rank {rank}"))?;
        if token.len() > LONGEST {
            return Err(format!("the token of rank {rank} has {} bytes", token.len()));
        }
        push_offset(&mut offsets, bytes.len())?;
        bytes.extend_from_slice(&token);

        let hash = hash(&token);
        let mut free = (home(hash)..SLOTS).chain(0..home(hash));
        let slot = free
            .find(|at| slots.get(*at) == Some(&EMPTY))
            .and_then(|at| slots.get_mut(at))
            .ok_or("more tokens than slots")?;
        *slot = fingerprint(hash) | rank;
    }
    if reference.decode_bytes(&[RANKS]).is_ok() || RANKS >> RANK_BITS != 0 {
        return Err(format!("the vocabulary has more than {RANKS} tokens"));
    }
    push_offset(&mut offsets, bytes.len())?;
    push_offset(&mut offsets, bytes.len())?;

    let slots = slots.into_iter().flat_map(u32::to_le_bytes);
    Ok(slots.chain(offsets).chain(bytes).collect())
}

fn push_offset(offsets: &mut Vec<u8>, offset: usize) -> Result<(), String> {
    let [low, middle, high, 0, ..] = offset.to_le_bytes() else {
        return Err("the tokens take more than 16 MiB".to_owned());
    };
    offsets.extend([low, middle, high]);
    Ok(())
}

/// The class of every code point, laid out as `layout` says.
fn classes() -> Result<Vec<u8>, String> {
    let mut of_code_point = vec![class::OTHER; BLOCKS * 256];
    for (expression, value) in [
        (r"[\p{Lu}\p{Lt}]", class::UPPER),
        (r"\p{Ll}", class::LOWER),
        (r"[\p{Lm}\p{Lo}]", class::CASELESS),
        (r"\p{M}", class::MARK),
        (r"\p{N}", class::NUMBER),
        (r"\s", class::BLANK),
        (r"[\r\n]", class::LINE_END),
    ] {
        let hir = regex_syntax::parse(expression).map_err(|error| error.to_string())?;
        let HirKind::Class(Class::Unicode(set)) = hir.kind() else {
            return Err(format!("{expression} is not a class of characters"));
        };
        for range in set.iter() {
            let (start, end) = (range.start() as usize, range.end() as usize);
            of_code_point.get_mut(start..=end).ok_or("no such code point")?.fill(value);
        }
    }

    let mut blocks: Vec<&[u8]> = Vec::new();
    let mut table = Vec::new();
    for block in of_code_point.chunks(256) {
        let at = blocks.iter().position(|known| *known == block).unwrap_or_else(|| {
            blocks.push(block);
            blocks.len() - 1
        });
        table.push(u8::try_from(at).map_err(|_| "more than 256 different blocks")?);
    }
    table.extend(blocks.concat());
    Ok(table)
}
