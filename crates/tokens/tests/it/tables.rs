//! The committed tables hold what the crates they come from hold.

use concertina_tokens::encode;

use crate::{REFERENCE, reference};

const RANKS: u32 = 199_998;

#[test]
fn the_vocabulary_is_that_of_the_reference() {
    // The committed table is read here as its layout is written down, from the outside.
    let table = include_bytes!("../../data/o200k.bin");
    let (offsets, bytes) = table[320_000 * 4..].split_at((RANKS as usize + 2) * 3);
    let offset = |rank: u32| {
        let at = rank as usize * 3;
        usize::from(offsets[at])
            | usize::from(offsets[at + 1]) << 8
            | usize::from(offsets[at + 2]) << 16
    };
    let mut tokens_of_text = 0;
    for rank in 0..RANKS {
        let token = REFERENCE.decode_bytes(&[rank]).unwrap();
        assert_eq!(&bytes[offset(rank)..offset(rank + 1)], token, "rank {rank}");
        if let Ok(text) = std::str::from_utf8(&token) {
            assert_eq!(encode(text), reference(text), "rank {rank}");
            tokens_of_text += 1;
        }
    }
    assert_eq!(offset(RANKS), bytes.len());
    assert!(REFERENCE.decode_bytes(&[RANKS]).is_err());
    assert!(tokens_of_text > 190_000);
}

#[test]
fn every_code_point_is_split_as_the_expression_engine_does() {
    // Between an upper and a lower case letter, every class but two leads to another split; those
    // two, other and blank, part after a space. Of the planes without assigned characters, where
    // only the range matters, a part is enough: the test below compares the table as a whole.
    let assigned = |code: u32| code < 0x4_0000 || code >> 16 == 14;
    let characters: Vec<char> = ('\0'..=char::MAX)
        .filter(|character| {
            let code = u32::from(*character);
            assigned(code) || code % 61 == 0 || code & 0xFFFF >= 0xFFF0
        })
        .collect();
    for block in characters.chunks(256) {
        let text = block.iter().fold(String::new(), |mut text, character| {
            text.extend(['A', *character, 'b', ' ', *character]);
            text
        });
        assert_eq!(encode(&text), reference(&text), "from U+{:04X}", block[0] as u32);
    }
}

#[test]
fn the_classes_are_those_of_the_unicode_tables() {
    let table = include_bytes!("../../data/classes.bin");
    let (block_of, blocks) = table.split_at(0x1100);
    let class = |code: usize| blocks[usize::from(block_of[code >> 8]) * 256 + (code & 255)];
    let mut seen = vec![false; 0x11_0000];
    for (expression, bit) in [
        (r"[^\p{L}\p{M}\p{N}\s]", 0),
        (r"[\p{Lu}\p{Lt}]", 1),
        (r"\p{Ll}", 2),
        (r"[\p{Lm}\p{Lo}]", 3),
        (r"\p{M}", 4),
        (r"\p{N}", 5),
        (r"[\s--[\r\n]]", 6),
        (r"[\r\n]", 7),
    ] {
        let hir = regex_syntax::parse(expression).unwrap();
        let regex_syntax::hir::HirKind::Class(regex_syntax::hir::Class::Unicode(set)) = hir.kind()
        else {
            panic!("{expression} is a class");
        };
        for range in set.iter() {
            for code in range.start()..=range.end() {
                assert_eq!(class(code as usize), 1 << bit, "{code:?} in {expression}");
                seen[code as usize] = true;
            }
        }
    }
    let unseen = seen.iter().enumerate().filter(|(_, seen)| !**seen).map(|(code, _)| code);
    assert!(unseen.eq(0xD800..0xE000), "only surrogates are in no class");
}
