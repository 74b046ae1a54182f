//! The least hashes of many features for many seeds: seeds side by side, in loops that become vector instructions.

use pulp::Arch;

/// Seeds that are hashed side by side: as many as their least hashes stay in registers, and enough that no
/// multiplication has to wait for another.
const LANES: usize = 32;

/// A feature, with all done to it that needs no seed.
pub trait Key {
    type Hash: Copy + Ord;
    const GREATEST: Self::Hash;

    /// A seed, with all done to it that needs no feature.
    fn seed(seed: u32) -> Self::Hash;

    /// To be inlined always: only so it is compiled for the instructions of the machine at hand.
    fn hash(&self, seed: Self::Hash) -> Self::Hash;
}

/// Lowers `least`, of which the i-th is that of the seed i, to the least hashes of these features.
pub fn lower<K: Key>(arch: Arch, least: &mut [K::Hash], keys: &[K]) {
    for (chunk, first) in least.chunks_mut(LANES).zip((0..).step_by(LANES)) {
        let mut lanes = [K::GREATEST; LANES];
        lanes[..chunk.len()].copy_from_slice(chunk);
        let seeds: [K::Hash; LANES] = std::array::from_fn(|lane| K::seed(first + lane as u32));
        arch.dispatch(
            #[inline(always)]
            || {
                for key in keys {
                    for (least, &seed) in lanes.iter_mut().zip(&seeds) {
                        *least = (*least).min(key.hash(seed));
                    }
                }
            },
        );
        chunk.copy_from_slice(&lanes[..chunk.len()]);
    }
}
