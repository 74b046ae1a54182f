//! Where copies can be at all: the token ranges whose blots stand in two places or more.
//!
//! Blots are not stored: each is noted in a filter of two bits a slot ("seen", "seen again").
//! A slot shared by chance only makes a candidate of what is none; nothing is ever lost.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::blots::{Blotting, mix};
use crate::document::Document;

/// Slots per token. A tenth of all windows is kept, so this leaves a slot in forty taken.
const SLOTS_PER_TOKEN: usize = 4;

/// Which slots were seen, and which were seen again.
struct Sightings {
    seen: Vec<AtomicU64>,
    again: Vec<AtomicU64>,
    mask: u64,
}

impl Sightings {
    fn new(n_tokens: usize) -> Sightings {
        let slots = (n_tokens * SLOTS_PER_TOKEN).next_power_of_two().clamp(1 << 16, 1 << 32);
        let words = |n: usize| (0..n / 64).map(|_| AtomicU64::new(0)).collect();
        Sightings { seen: words(slots), again: words(slots), mask: slots as u64 - 1 }
    }

    fn note(&self, slot: u32) {
        let (word, bit) = (slot as usize / 64, 1u64 << (slot % 64));
        if self.seen[word].fetch_or(bit, Ordering::Relaxed) & bit != 0 {
            self.again[word].fetch_or(bit, Ordering::Relaxed);
        }
    }

    fn is_shared(&self, slot: u32) -> bool {
        self.again[slot as usize / 64].load(Ordering::Relaxed) & (1u64 << (slot % 64)) != 0
    }
}

/// A number for a family of languages: tokens of different families mean different things, though their codes are the
/// same numbers.
pub fn family_salt(family: &str) -> u64 {
    mix(family.bytes().fold(7, |h, b| h * 31 + u64::from(b)))
}

/// For each document the token ranges in which a run of `blotting.k + blotting.w - 1` tokens or more
/// can have an equal elsewhere: in order, apart from each other.
pub fn shared_ranges(documents: &[Document], blotting: &Blotting) -> Vec<Vec<Range<u32>>> {
    let n_tokens = documents.iter().map(|document| document.codes.len()).sum();
    let sightings = Sightings::new(n_tokens);
    let posts: Vec<Vec<Post>> = documents
        .par_iter()
        .map_init(Vec::new, |scratch, document| {
            let family = family_salt(document.language.family);
            let mut posts = Vec::with_capacity(document.codes.len() / 8 + 1);
            blotting.kept(&document.codes, document.symbols(), scratch, |kept| {
                let slot = (mix(kept.blot ^ family) & sightings.mask) as u32;
                sightings.note(slot);
                posts.push(Post { position: kept.position, slot, plain: kept.is_plain() });
            });
            posts
        })
        .collect();
    documents
        .par_iter()
        .zip(posts)
        .map(|(document, posts)| {
            let shared = |i: usize| sightings.is_shared(posts[i].slot);
            covered(posts.len(), |i| posts[i].position, |i| posts[i].plain, shared, blotting, document.codes.len())
        })
        .collect()
}

struct Post {
    position: u32,
    slot: u32,
    plain: bool,
}

/// The token ranges that `n` kept blots cover if they are shared. A plain one beside a shared one counts as shared, too:
/// the text that tells it apart may differ between copies.
pub fn covered(
    n: usize,
    position: impl Fn(usize) -> u32,
    plain: impl Fn(usize) -> bool,
    shared: impl Fn(usize) -> bool,
    blotting: &Blotting,
    n_tokens: usize,
) -> Vec<Range<u32>> {
    let (k, w) = (blotting.k as u32, blotting.w as u32);
    let mut ranges: Vec<Range<u32>> = Vec::new();
    let mut cover = |i: usize| {
        // A shared run reaches at most w - 1 tokens beyond the kept windows at its edges.
        let (start, end) = (position(i).saturating_sub(w - 1), (position(i) + k + w - 1).min(n_tokens as u32));
        match ranges.last_mut() {
            Some(last) if start <= last.end => last.end = last.end.max(end),
            _ => ranges.push(start..end),
        }
    };
    // Neighbours that are shared or plain, of which one at least is shared.
    let mut i = 0;
    while i < n {
        let start = i;
        let mut any = false;
        while i < n && (shared(i) || plain(i)) {
            any |= shared(i);
            i += 1;
        }
        if any {
            (start..i).for_each(&mut cover);
        }
        i = i.max(start + 1);
    }
    ranges
}

#[cfg(test)]
mod tests {
    use dupi_grammars::token::FIRST_FIXED;
    use proptest::prelude::*;

    use super::*;
    use crate::blots::Blotter;
    use crate::document::tests::document_of_codes;

    proptest! {
        #![proptest_config(crate::cases(128))]

        /// Against the naive way: every pair of equal windows, compared token by token.
        #[test]
        fn every_repeated_run_lies_in_a_shared_range(
            streams in prop::collection::vec(prop::collection::vec(0u8..4, 0..60), 1..4),
            k in 1usize..6, w in 1usize..6, blotter in 0usize..3,
        ) {
            let blotting = Blotting { blotter: Blotter::ALL[blotter], k, w };
            let streams: Vec<Vec<u8>> =
                streams.iter().map(|codes| codes.iter().map(|code| FIRST_FIXED + code).collect()).collect();
            let documents: Vec<Document> = streams.iter().map(|codes| document_of_codes(codes)).collect();
            let shared = shared_ranges(&documents, &blotting);
            let length = k + w - 1;
            for (i, a) in streams.iter().enumerate() {
                for (at, window) in a.windows(length).enumerate() {
                    let repeated = streams.iter().enumerate().any(|(j, b)| {
                        // Copies never overlap, so a run is no repeat of itself a few tokens on.
                        b.windows(length).enumerate().any(|(other, o)| (i != j || at.abs_diff(other) >= length) && o == window)
                    });
                    let (start, end) = (at as u32, (at + length) as u32);
                    let inside = shared[i].iter().any(|range| range.start <= start && end <= range.end);
                    prop_assert!(inside || !repeated, "document {i}, tokens {start}..{end}");
                }
            }
        }
    }
}
