//! The least MurmurHash3 (x86, 32 bits) of some features, for each of many seeds.
//!
//! A feature is short, so most of the work is what is done for each seed: see `lanes` for how.

use pulp::Arch;

use super::features::Features;
use super::lanes;

const ROTATION: u32 = 13;
const STEP: u32 = 0xe654_6b64;

/// A feature with so many whole blocks of four bytes, and all done to it that needs no seed.
struct Key<const BLOCKS: usize> {
    /// Scrambled; the first one is rotated, too, as its seed is, which is the same as rotating both together.
    blocks: [u32; BLOCKS],
    /// The bytes behind them, scrambled, and its length.
    rest: u32,
}

fn scramble(block: u32) -> u32 {
    block.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593)
}

impl<const BLOCKS: usize> Key<BLOCKS> {
    fn new(feature: &[u8]) -> Key<BLOCKS> {
        let (blocks, tail) = feature.as_chunks::<4>();
        let mut last = [0; 4];
        last[..tail.len()].copy_from_slice(tail);
        let mut blocks: [u32; BLOCKS] = std::array::from_fn(|i| scramble(u32::from_le_bytes(blocks[i])));
        blocks[0] = blocks[0].rotate_left(ROTATION);
        Key { blocks, rest: scramble(u32::from_le_bytes(last)) ^ feature.len() as u32 }
    }
}

impl<const BLOCKS: usize> lanes::Key for Key<BLOCKS> {
    type Hash = u32;
    const GREATEST: u32 = u32::MAX;

    fn seed(seed: u32) -> u32 {
        seed.rotate_left(ROTATION)
    }

    #[inline(always)]
    fn hash(&self, rotated_seed: u32) -> u32 {
        let mut hash = (rotated_seed ^ self.blocks[0]).wrapping_mul(5).wrapping_add(STEP);
        for block in &self.blocks[1..] {
            hash = (hash ^ block).rotate_left(ROTATION).wrapping_mul(5).wrapping_add(STEP);
        }
        hash ^= self.rest;
        hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
        hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
        hash ^ (hash >> 16)
    }
}

/// The least hash of all features for each of the seeds 0, 1 … `n` − 1.
pub fn least(arch: Arch, n: usize, features: &Features) -> Vec<u32> {
    let mut least = vec![u32::MAX; n];
    lower::<1>(arch, &mut least, features);
    lower::<2>(arch, &mut least, features);
    lower::<3>(arch, &mut least, features);
    lower::<4>(arch, &mut least, features);
    lower::<5>(arch, &mut least, features);
    least
}

/// Lowers them to those of the features with so many blocks.
fn lower<const BLOCKS: usize>(arch: Arch, least: &mut [u32], features: &Features) {
    let keys: Vec<Key<BLOCKS>> = features.of_lengths(4 * BLOCKS..4 * BLOCKS + 4).map(|f| Key::new(f.bytes())).collect();
    lanes::lower(arch, least, &keys);
}

#[cfg(test)]
pub mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As its author describes it, for one seed.
    pub fn murmur3(bytes: &[u8], seed: u32) -> u32 {
        let mut hash = seed;
        let blocks = bytes.chunks(4).map(|chunk| {
            let block = chunk.iter().rev().fold(0u32, |block, &byte| block << 8 | u32::from(byte));
            (chunk.len(), block.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593))
        });
        for (length, block) in blocks {
            hash ^= block;
            if length == 4 {
                hash = hash.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
            }
        }
        hash ^= bytes.len() as u32;
        hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
        hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
        hash ^ hash >> 16
    }

    #[test]
    fn it_is_the_published_function() {
        for (text, seed, hash) in [
            ("", 1, 0x514e_28b7),
            ("hello", 0, 0x248b_fa47),
            ("hello, world", 0, 0x149b_bb7f),
            ("aaaa", 0x9747_b28c, 0x5a97_808a),
        ] {
            assert_eq!(murmur3(text.as_bytes(), seed), hash, "{text}");
        }
    }

    proptest! {
        #![proptest_config(crate::cases(60))]

        #[test]
        fn side_by_side_is_as_one_by_one(text in "[a-e→é日𝄞\\n]{5,60}", n in 1..90usize) {
            let features = Features::of_text(&text);
            let chars: Vec<char> = text.chars().collect();
            let grams: Vec<String> = chars.windows(5).map(|gram| gram.iter().collect()).collect();
            let expected: Vec<u32> = (0..n as u32)
                .map(|seed| grams.iter().map(|gram| murmur3(gram.as_bytes(), seed)).min().expect("some"))
                .collect();
            prop_assert_eq!(least(Arch::new(), n, &features), expected);
        }
    }
}
