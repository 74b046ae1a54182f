//! The least XXH3 (64 bits) of some features, for each of many seeds; see `lanes` for how.
//!
//! Up to eight bytes, which is all of ASCII, what is done before the first multiplication is linear over exclusive or,
//! so seed and feature go through it apart: two multiplications are left for each seed.

use pulp::Arch;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::features::Features;
use super::lanes;

/// Features up to this length are hashed side by side; the function for longer ones needs products of 128 bits, for
/// which there are no vector instructions.
const SHORT: usize = 8;

/// What the function's secret has for four to eight bytes.
const FLIP: u64 = 0x1cad_21f7_2c81_017c ^ 0xdb97_9083_e96d_d4de;
const FACTOR: u64 = 0x9fb2_1c65_1e98_df25;

/// A feature of four to eight bytes, as far as it goes without a seed.
struct Key {
    spread: u64,
    len: u64,
}

fn spread(bits: u64) -> u64 {
    bits ^ bits.rotate_left(49) ^ bits.rotate_left(24)
}

impl Key {
    fn new(feature: &[u8]) -> Key {
        let four = |at: usize| feature[at..].first_chunk().map_or(0, |bytes| u64::from(u32::from_le_bytes(*bytes)));
        Key { spread: spread(four(feature.len() - 4) | four(0) << 32), len: feature.len() as u64 }
    }
}

impl lanes::Key for Key {
    type Hash = u64;
    const GREATEST: u64 = u64::MAX;

    fn seed(seed: u32) -> u64 {
        let both = u64::from(seed) ^ u64::from(seed.swap_bytes()) << 32;
        spread(FLIP.wrapping_sub(both))
    }

    #[inline(always)]
    fn hash(&self, spread_seed: u64) -> u64 {
        let hash = (self.spread ^ spread_seed).wrapping_mul(FACTOR);
        let hash = (hash ^ (hash >> 35).wrapping_add(self.len)).wrapping_mul(FACTOR);
        hash ^ (hash >> 28)
    }
}

/// The least hash of all features for each of the seeds 0, 1 … `n` − 1.
pub fn least(arch: Arch, n: usize, features: &Features) -> Vec<u64> {
    let mut least = vec![u64::MAX; n];
    let keys: Vec<Key> = features.of_lengths(0..SHORT + 1).map(|feature| Key::new(feature.bytes())).collect();
    lanes::lower(arch, &mut least, &keys);
    for feature in features.of_lengths(SHORT + 1..usize::MAX) {
        for (least, seed) in least.iter_mut().zip(0..) {
            *least = (*least).min(xxh3_64_with_seed(feature.bytes(), seed));
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(crate::cases(60))]

        #[test]
        fn side_by_side_is_as_one_by_one(text in "[a-e→é日𝄞\\n]{5,60}", n in 1..90usize) {
            let chars: Vec<char> = text.chars().collect();
            let grams: Vec<String> = chars.windows(5).map(|gram| gram.iter().collect()).collect();
            let expected: Vec<u64> = (0..n as u64)
                .map(|seed| grams.iter().map(|gram| xxh3_64_with_seed(gram.as_bytes(), seed)).min().expect("some"))
                .collect();
            prop_assert_eq!(least(Arch::new(), n, &Features::of_text(&text)), expected);
        }
    }
}
