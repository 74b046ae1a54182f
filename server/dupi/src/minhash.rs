//! MinHash over corpora: which documents of millions are nearly the same as one before them.
//!
//! A document is a set of features. Of each of `width × buckets` hash functions, told apart by their seeds, the least
//! hash of all features is kept; `width` of these in a row are a **bucket**. Two documents share a bucket with
//! probability 1 − (1 − sʷ)ᵇ, where s is the share of features that they have in common. A document is a duplicate if one
//! of its buckets is the same as that of a document before it, be that one a duplicate or not: so the answer does not
//! depend on how a corpus is cut into groups.
//!
//! Of a bucket only a digest of 128 bits is kept, a fifth or a tenth of its bytes. It knows nothing of JSON and of
//! folders.

pub mod features;
pub mod flags;
pub mod hashes;
mod lanes;
mod murmur3;
pub mod seen;
pub mod sieve;
mod xxh3;

use std::fmt::Display;
use std::path::Path;

use pulp::Arch;
use xxhash_rust::xxh3::xxh3_128;

use features::Features;

/// As published: what has nine tenths in common is found with a probability of 92.5 %.
pub const WIDTH: u32 = 20;
pub const BUCKETS: u32 = 40;
/// Four times what anybody uses: lists of all sizes up to here are small.
pub const MAX_HASHES: u32 = 1 << 16;

/// A digest of the least hashes of a bucket.
pub type Bucket = u128;

/// The bucket of a document that takes no part, because it could not be read. No digest is that, but for one in 2¹²⁸.
pub const NONE: Bucket = 0;

/// Which hash function, with the seeds 0, 1, 2 …
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// MurmurHash3 for x86, 32 bits.
    Murmur3,
    /// XXH3, 64 bits.
    Xxh3,
}

/// What the features of a document are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Five characters in a row.
    Characters,
    /// Five tokens in a row: blanks and comments do not count.
    Tokens,
}

/// What buckets depend on: those of another shape cannot be compared with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub function: Function,
    pub of: Of,
    /// Hashes in a bucket.
    pub width: u32,
    pub buckets: u32,
}

impl Shape {
    /// What is wrong with it?
    pub fn problem(&self) -> Option<String> {
        let n = self.width.checked_mul(self.buckets);
        match n {
            Some(0) => Some("a document has at least one bucket of one hash".to_owned()),
            Some(1..=MAX_HASHES) => None,
            _ => Some(format!("{} × {} are more than {MAX_HASHES} hashes", self.width, self.buckets)),
        }
    }

    fn n_hashes(&self) -> usize {
        self.width as usize * self.buckets as usize
    }
}

impl Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let function = match self.function {
            Function::Murmur3 => "murmur3",
            Function::Xxh3 => "xxh3",
        };
        let of = match self.of {
            Of::Characters => "characters",
            Of::Tokens => "tokens",
        };
        write!(f, "{function} of {of}, {} × {}", self.width, self.buckets)
    }
}

/// Hashes documents of one shape, one after the other.
#[derive(Clone)]
pub struct Hasher {
    shape: Shape,
    /// Which vector instructions this machine has.
    arch: Arch,
}

impl Hasher {
    pub fn new(shape: Shape) -> Hasher {
        Hasher { shape, arch: Arch::new() }
    }

    /// The buckets of a document. What has no features has the same ones as everything that has none.
    pub fn buckets(&self, features: &Features) -> Vec<Bucket> {
        let n = self.shape.n_hashes();
        match self.shape.function {
            Function::Murmur3 => self.digests(&murmur3::least(self.arch, n, features), u32::to_le_bytes),
            Function::Xxh3 => self.digests(&xxh3::least(self.arch, n, features), u64::to_le_bytes),
        }
    }

    fn digests<T: Copy, const N: usize>(&self, least: &[T], bytes: fn(T) -> [u8; N]) -> Vec<Bucket> {
        let digest = |bucket: &[T]| xxh3_128(&bucket.iter().flat_map(|&hash| bytes(hash)).collect::<Vec<u8>>());
        least.chunks_exact(self.shape.width as usize).map(digest).collect()
    }
}

/// A file that cannot be used, and why.
#[derive(Debug)]
pub struct Unusable(String);

impl Unusable {
    fn new(path: &Path, why: impl Display) -> Unusable {
        Unusable(format!("{}: {why}", path.display()))
    }
}

impl Display for Unusable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unusable {}
