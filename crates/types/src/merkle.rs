//! A tree over the hashes of a log: one root for all of it, which grows with the log.
//!
//! This is the Merkle tree of RFC 6962, section 2.1, with the hash of each event as the leaf.

use crate::Digest;

/// What is hashed before a leaf, and before two nodes: neither can be taken for the other.
const LEAF: &[u8] = &[0];
const NODE: &[u8] = &[1];

/// The right edge of the tree: the roots of its complete subtrees, largest first. It is all that is
/// needed to add leaves and to name the root, and has one entry for each bit set in the count.
///
/// ```
/// use concertina_types::{Digest, MerkleTree};
/// let mut tree = MerkleTree::default();
/// assert_eq!(tree.root(), Digest::of(b""));
/// for leaf in [b"a", b"b", b"c"] {
///     tree.push(&Digest::of(leaf));
/// }
/// assert_eq!(tree.count(), 3);
/// assert_eq!(MerkleTree::from_bytes(3, &tree.to_bytes()), Some(tree));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MerkleTree {
    count: u64,
    peaks: Vec<Digest>,
}

impl MerkleTree {
    /// Adds a leaf.
    pub fn push(&mut self, leaf: &Digest) {
        let mut node = Digest::of_parts([LEAF, leaf.as_bytes().as_slice()]);
        // Each one bit at the end of the count is a subtree that the new node completes.
        for _ in 0..self.count.trailing_ones() {
            if let Some(left) = self.peaks.pop() {
                node = join(&left, &node);
            }
        }
        self.peaks.push(node);
        self.count += 1;
    }

    /// How many leaves there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The root of the tree; the digest of nothing where it is empty.
    pub fn root(&self) -> Digest {
        let mut peaks = self.peaks.iter().rev().copied();
        let last = peaks.next().unwrap_or_else(|| Digest::of(b""));
        peaks.fold(last, |right, left| join(&left, &right))
    }

    /// The edge, 32 bytes for each subtree.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.peaks.iter().flat_map(|peak| *peak.as_bytes()).collect()
    }

    /// The tree of `count` leaves with this edge; none where it is not that of so many.
    pub fn from_bytes(count: u64, bytes: &[u8]) -> Option<Self> {
        let (peaks, rest) = bytes.as_chunks::<32>();
        let fits = rest.is_empty() && u32::try_from(peaks.len()) == Ok(count.count_ones());
        fits.then(|| Self { count, peaks: peaks.iter().copied().map(Digest::from_bytes).collect() })
    }
}

fn join(left: &Digest, right: &Digest) -> Digest {
    Digest::of_parts([NODE, left.as_bytes().as_slice(), right.as_bytes().as_slice()])
}
