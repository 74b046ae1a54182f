//! Simhash: 64 bits for a set of weighted features, such that alike sets have hashes of which few bits differ; and all
//! pairs of many hashes that are within a distance.
//!
//! Pairs are found by blocks: of hashes that differ in at most `distance` bits and are cut into `blocks` blocks, at least
//! `blocks - distance` blocks are equal. So for each choice of that many blocks, one **table**: the hashes with the bits
//! of those blocks moved to the front, sorted, so that candidates stand side by side. That finds every pair, and compares
//! few that are none. It knows numbers only; what is hashed of documents is in [`prints`].

pub mod prints;
mod sketches;
mod tables;

use rayon::prelude::*;

pub use sketches::{Held, Near, Sketches, Sketching};
pub use tables::Tables;

const BITS: u32 = 64;
/// As the published design has it: three bits are what near-duplicates differ in.
pub const DISTANCE: u32 = 3;
pub const BLOCKS: u32 = 5;
/// Each table sorts all hashes once more; beyond so many, comparing everything with everything is no worse.
const MAX_TABLES: usize = 1000;

/// The hash of some features, each with its weight: of each bit, what most of the weight says. Weights of a feature that
/// is there twice add up, and the order does not matter.
pub fn hash(features: impl IntoIterator<Item = (u64, u32)>) -> u64 {
    let mut sums = [0i64; BITS as usize];
    for (feature, weight) in features {
        for (bit, sum) in sums.iter_mut().enumerate() {
            let one = (feature >> bit & 1) as i64;
            *sum += (2 * one - 1) * i64::from(weight);
        }
    }
    sums.iter().enumerate().filter(|(_, sum)| **sum > 0).fold(0, |hash, (bit, _)| hash | 1 << bit)
}

/// How many bits differ.
pub fn distance(a: u64, b: u64) -> u32 {
    (a ^ b).count_ones()
}

/// All pairs of different hashes within the distance, each once, the smaller first, in order.
pub fn find_all(hashes: &[u64], blocking: &Blocking) -> Vec<(u64, u64)> {
    let mut hashes = hashes.to_vec();
    hashes.par_sort_unstable();
    hashes.dedup();
    let mut pairs: Vec<(u64, u64)> = (0..blocking.arrangements.len())
        .into_par_iter()
        .flat_map_iter(|table| blocking.pairs(&hashes, table))
        .collect();
    pairs.par_sort_unstable();
    pairs
}

/// Within which distance hashes are looked for, and in how many blocks they are cut for that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocking {
    distance: u32,
    blocks: u32,
    arrangements: Vec<Arrangement>,
}

/// The blocks of a hash in the order in which a table has them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Arrangement {
    blocks: Vec<Block>,
    /// The bits of a moved hash that must be equal.
    prefix: u64,
    /// The same bits before they were moved.
    chosen: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    shift: u32,
    ones: u64,
}

impl Arrangement {
    fn apply(&self, hash: u64) -> u64 {
        self.blocks.iter().fold(0, |moved, block| moved << block.ones.count_ones() | hash >> block.shift & block.ones)
    }

    fn reverse(&self, moved: u64) -> u64 {
        let step = |(hash, rest): (u64, u64), block: &Block| {
            (hash | (rest & block.ones) << block.shift, rest >> block.ones.count_ones())
        };
        self.blocks.iter().rev().fold((0, moved), step).0
    }
}

impl Blocking {
    /// Or what is wrong with it.
    pub fn new(distance: u32, blocks: u32) -> Result<Blocking, String> {
        if !(2..=BITS).contains(&blocks) {
            return Err(format!("a hash is cut into 2 to {BITS} blocks, not {blocks}"));
        }
        if distance >= blocks {
            return Err(format!("{blocks} blocks find what differs in less than {blocks} bits, not in {distance}"));
        }
        let n_tables = (0..distance).fold(1u64, |n, i| n.saturating_mul(u64::from(blocks - i)) / u64::from(i + 1));
        if n_tables > MAX_TABLES as u64 {
            return Err(format!("{blocks} blocks and a distance of {distance} would need {n_tables} tables"));
        }
        let whole: Vec<Block> = (0..blocks)
            .map(|block| {
                let (start, end) = (block * BITS / blocks, (block + 1) * BITS / blocks);
                Block { shift: start, ones: u64::MAX >> (BITS - (end - start)) }
            })
            .collect();
        let arrangements = choices(blocks as usize, (blocks - distance) as usize);
        let arrangements = arrangements.iter().map(|choice| arrange(&whole, choice)).collect();
        Ok(Blocking { distance, blocks, arrangements })
    }

    pub fn distance(&self) -> u32 {
        self.distance
    }

    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// The pairs that this table is the first to find.
    fn pairs(&self, hashes: &[u64], table: usize) -> Vec<(u64, u64)> {
        let arrangement = &self.arrangements[table];
        let mut moved: Vec<u64> = hashes.iter().map(|&hash| arrangement.apply(hash)).collect();
        moved.sort_unstable();
        let mut pairs = Vec::new();
        for group in moved.chunk_by(|a, b| (a ^ b) & arrangement.prefix == 0) {
            for (i, &a) in group.iter().enumerate() {
                for &b in group[i + 1..].iter().filter(|&&b| distance(a, b) <= self.distance) {
                    let (a, b) = (arrangement.reverse(a), arrangement.reverse(b));
                    if self.is_first(table, a, b) {
                        pairs.push((a.min(b), a.max(b)));
                    }
                }
            }
        }
        pairs
    }

    /// Does no table before this one have both side by side?
    fn is_first(&self, table: usize, a: u64, b: u64) -> bool {
        self.arrangements[..table].iter().all(|before| (a ^ b) & before.chosen != 0)
    }
}

fn arrange(blocks: &[Block], choice: &[bool]) -> Arrangement {
    let side = |chosen| blocks.iter().zip(choice).filter(move |(_, is)| **is == chosen).map(|(block, _)| *block);
    let chosen = side(true).fold(0, |bits, block| bits | block.ones << block.shift);
    let prefix = !u64::MAX.checked_shr(chosen.count_ones()).unwrap_or(0);
    Arrangement { blocks: side(true).chain(side(false)).collect(), prefix, chosen }
}

/// All ways to choose `k` of `n`.
fn choices(n: usize, k: usize) -> Vec<Vec<bool>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for taken in [true, false] {
        if (taken && k > 0) || (!taken && k < n) {
            let rest = choices(n - 1, k - usize::from(taken));
            all.extend(rest.into_iter().map(|rest| std::iter::once(taken).chain(rest).collect::<Vec<bool>>()));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cases;

    /// Every pair compared.
    fn brute_force(hashes: &[u64], within: u32) -> Vec<(u64, u64)> {
        let mut pairs: Vec<(u64, u64)> = hashes
            .iter()
            .flat_map(|&a| hashes.iter().map(move |&b| (a, b)))
            .filter(|&(a, b)| a < b && distance(a, b) <= within)
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    /// Hashes near each other: some seeds, and of each some with a few bits changed.
    fn hashes() -> impl Strategy<Value = Vec<u64>> {
        let near = prop::collection::vec(prop::collection::vec(0..64u32, 0..8), 1..12);
        prop::collection::vec((any::<u64>(), near), 1..8).prop_map(|seeds| {
            let near = |(seed, near): (u64, Vec<Vec<u32>>)| {
                near.into_iter().map(move |bits| bits.iter().fold(seed, |hash, bit| hash ^ 1 << bit))
            };
            seeds.into_iter().flat_map(near).collect()
        })
    }

    proptest! {
        #![proptest_config(cases(200))]

        #[test]
        fn all_pairs_within_the_distance_are_found_each_once(
            hashes in hashes(), distance in 0..6u32, more in 1..4u32,
        ) {
            let blocking = Blocking::new(distance, (distance + more).max(2)).expect("few tables");
            prop_assert_eq!(find_all(&hashes, &blocking), brute_force(&hashes, distance));
            let tables = Tables::new(&hashes, blocking);
            for &hash in &hashes {
                let mut near: Vec<u64> = tables.near(hash).collect();
                near.sort_unstable();
                let mut expected: Vec<u64> =
                    hashes.iter().copied().filter(|&other| super::distance(hash, other) <= distance).collect();
                expected.sort_unstable();
                expected.dedup();
                prop_assert_eq!(near, expected);
            }
        }

        #[test]
        fn moved_bits_come_back(hash: u64, blocks in 2..13u32) {
            for arrangement in Blocking::new(2.min(blocks - 1), blocks).expect("few tables").arrangements {
                prop_assert_eq!(arrangement.reverse(arrangement.apply(hash)), hash);
                let same = arrangement.apply(hash ^ !arrangement.chosen);
                prop_assert_eq!((same ^ arrangement.apply(hash)) & arrangement.prefix, 0);
            }
        }

        #[test]
        fn a_hash_is_that_of_the_weighted_majority(features in prop::collection::vec((any::<u64>(), 0..9u32), 0..30)) {
            let hash = hash(features.iter().copied());
            for bit in 0..64 {
                let weight = |one: u64| -> u32 {
                    features.iter().filter(|(feature, _)| feature >> bit & 1 == one).map(|(_, weight)| weight).sum()
                };
                prop_assert_eq!(hash >> bit & 1 == 1, weight(1) > weight(0));
            }
            let reversed = super::hash(features.iter().rev().copied());
            prop_assert_eq!(reversed, hash);
        }
    }

    #[test]
    fn what_cannot_be_complete_or_is_too_much_is_refused() {
        for (distance, blocks) in [(3, 3), (0, 1), (3, 65), (0, 0), (8, 32)] {
            assert!(Blocking::new(distance, blocks).is_err(), "{distance} {blocks}");
        }
        assert_eq!(Blocking::new(DISTANCE, BLOCKS).map(|blocking| blocking.arrangements.len()), Ok(10));
    }
}
