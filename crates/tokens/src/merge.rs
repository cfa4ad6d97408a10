//! The merging of the bytes of one piece into tokens.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::vocabulary::rank;

/// Byte-pair merging: of all neighbours that make a token together, the pair with the lowest rank
/// is joined first, the leftmost of equals; until no pair makes a token.
///
/// The parts are a list linked by position, and the possible joins a queue, so that n bytes take
/// O(n log n). The buffers are kept for the next piece.
#[derive(Debug, Default)]
pub(crate) struct Merger {
    parts: Vec<Part>,
    queue: BinaryHeap<Reverse<(u32, usize)>>,
}

/// The part of a piece that begins at the position this stands at.
#[derive(Debug, Clone, Copy)]
struct Part {
    /// Where the part before begins.
    previous: usize,
    end: usize,
    /// The rank of the token this part and the next one make, if they make one.
    joined: Option<u32>,
}

impl Merger {
    /// The tokens of a piece, as their bytes.
    pub(crate) fn tokens<'m, 'p: 'm>(
        &'m mut self,
        piece: &'p [u8],
    ) -> impl Iterator<Item = &'p [u8]> + 'm {
        self.merge(piece);
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = at;
            at = self.parts.get(start)?.end;
            piece.get(start..at)
        })
    }

    fn merge(&mut self, piece: &[u8]) {
        self.parts.clear();
        if rank(piece).is_some() {
            // Most pieces are a token as they are.
            self.parts.push(Part { previous: 0, end: piece.len(), joined: None });
            return;
        }
        self.parts.extend((0..piece.len()).map(|at| Part {
            previous: at.saturating_sub(1),
            end: at + 1,
            joined: piece.get(at..at + 2).and_then(rank),
        }));
        let joins = self.parts.iter().enumerate();
        self.queue.extend(joins.filter_map(|(at, part)| Some(Reverse((part.joined?, at)))));

        while let Some(Reverse((rank, at))) = self.queue.pop() {
            // A join of parts that have changed since it was queued is out of date.
            let Some(part) = self.parts.get(at).filter(|part| part.joined == Some(rank)) else {
                continue;
            };
            let (previous, middle) = (part.previous, part.end);
            let Some(right) = self.parts.get_mut(middle) else { continue };
            right.joined = None;
            let end = right.end;
            if let Some(next) = self.parts.get_mut(end) {
                next.previous = at;
            }
            if let Some(part) = self.parts.get_mut(at) {
                part.end = end;
            }
            self.requeue(piece, at);
            if previous < at {
                self.requeue(piece, previous);
            }
        }
    }

    /// Looks up what the part at `at` makes with the one after it.
    fn requeue(&mut self, piece: &[u8], at: usize) {
        let next = self.parts.get(at).and_then(|part| self.parts.get(part.end));
        let joined = next.and_then(|next| rank(piece.get(at..next.end)?));
        if let Some(rank) = joined {
            self.queue.push(Reverse((rank, at)));
        }
        if let Some(part) = self.parts.get_mut(at) {
            part.joined = joined;
        }
    }
}
