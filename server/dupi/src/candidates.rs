//! Where copies can be at all: the token ranges whose blots stand in two places or more.
//!
//! Blots are not stored: each is noted in a filter of two bits a slot ("seen", "seen again").
//! A slot shared by chance only makes a candidate of what is none; nothing is ever lost.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::blots::{Blotting, mix};
use crate::document::Document;

/// Slots per token. A tenth of all windows is kept, so this leaves a slot in forty taken.
const SLOTS_PER_TOKEN: usize = 4;

/// Which slots were seen, and which were seen again.
pub struct Sightings {
    seen: Vec<AtomicU64>,
    again: Vec<AtomicU64>,
    mask: u64,
}

impl Sightings {
    /// The fewer slots, the more blots are taken for shared that are not.
    pub fn new(n_slots: usize) -> Sightings {
        let slots = n_slots.next_power_of_two().clamp(1 << 16, 1 << 32);
        let words = |n: usize| (0..n / 64).map(|_| AtomicU64::new(0)).collect();
        Sightings { seen: words(slots), again: words(slots), mask: slots as u64 - 1 }
    }

    fn slot(&self, blot: u64) -> (usize, u64) {
        let slot = blot & self.mask;
        (slot as usize / 64, 1 << (slot % 64))
    }

    pub fn note(&self, blot: u64) {
        let (word, bit) = self.slot(blot);
        if self.seen[word].fetch_or(bit, Ordering::Relaxed) & bit != 0 {
            self.again[word].fetch_or(bit, Ordering::Relaxed);
        }
    }

    pub fn is_shared(&self, blot: u64) -> bool {
        let (word, bit) = self.slot(blot);
        self.again[word].load(Ordering::Relaxed) & bit != 0
    }
}

/// A number for a family of languages: tokens of different families mean different things, though their codes are the
/// same numbers.
pub fn family_salt(family: &str) -> u64 {
    mix(family.bytes().fold(7, |h, b| h * 31 + u64::from(b)))
}

/// For each document the token ranges in which a run of `blotting.k + blotting.w - 1` tokens or more
/// can have an equal elsewhere: in order, apart from each other.
pub fn shared_ranges(documents: &[Arc<Document>], blotting: &Blotting) -> Vec<Vec<Range<u32>>> {
    ranges_and_blots(documents, blotting).0
}

/// The same, and for each document the kept blots that stand in two places or more.
pub fn ranges_and_blots(documents: &[Arc<Document>], blotting: &Blotting) -> (Vec<Vec<Range<u32>>>, KeptBlots) {
    let n_tokens: usize = documents.iter().map(|document| document.codes.len()).sum();
    let sightings = Sightings::new(n_tokens * SLOTS_PER_TOKEN);
    let blots: Vec<Vec<KeptBlot>> = documents
        .par_iter()
        .map_init(Vec::new, |scratch, document| {
            let blots = kept_blots(document, blotting, scratch);
            blots.iter().for_each(|kept| sightings.note(kept.blot));
            blots
        })
        .collect();
    let shared = |kept: &KeptBlot| sightings.is_shared(kept.blot);
    documents
        .par_iter()
        .zip(blots)
        .map(|(document, mut blots)| {
            let marks =
                blots.iter().map(|kept| Mark { run_end: kept.first_run, plain: kept.is_plain, shared: shared(kept) });
            let ranges = covered(marks, blotting, document.codes.len() as u32);
            blots.retain(shared);
            (ranges, blots.into_boxed_slice())
        })
        .unzip()
}

/// Kept blots of each of some documents.
pub type KeptBlots = Vec<Box<[KeptBlot]>>;

/// A kept blot: the least of some runs of windows.
#[derive(Clone, Copy, Debug)]
pub struct KeptBlot {
    /// Apart from those of other families.
    pub blot: u64,
    /// The last windows of the first and of the last of these runs.
    pub first_run: u32,
    pub last_run: u32,
    pub is_plain: bool,
}

/// The kept blots of a document, in order.
pub fn kept_blots(document: &Document, blotting: &Blotting, scratch: &mut Vec<u64>) -> Vec<KeptBlot> {
    let family = family_salt(document.language.family);
    let mut blots: Vec<KeptBlot> = Vec::with_capacity(document.codes.len() / 8 + 1);
    blotting.kept(&document.codes, document.symbols(), scratch, |kept| {
        if let Some(last) = blots.last_mut() {
            last.last_run = kept.run_end - 1;
        }
        blots.push(KeptBlot {
            blot: mix(kept.blot ^ family),
            first_run: kept.run_end,
            last_run: u32::MAX,
            is_plain: kept.is_plain(),
        });
    });
    blots
}

/// What is known of a kept blot when it is asked where copies can be.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    pub run_end: u32,
    pub plain: bool,
    pub shared: bool,
}

/// The token ranges in which of each `w` windows in a row the one that is kept is shared, or is plain (the text that
/// tells it apart may differ between copies) and stands beside a shared one. A run that has an equal lies in one of them.
pub fn covered(marks: impl Iterator<Item = Mark>, blotting: &Blotting, n_tokens: u32) -> Vec<Range<u32>> {
    let (k, w) = (blotting.k as u32, blotting.w as u32);
    let mut ranges: Vec<Range<u32>> = Vec::new();
    let mut note = |start: u32, end: u32| match ranges.last_mut() {
        Some(last) if start <= last.end => last.end = last.end.max(end),
        _ => ranges.push(start..end.min(n_tokens)),
    };
    // Neighbours that are shared or plain: where the first run of windows starts that has one of them for its least,
    // and whether one of them is shared.
    let mut open: Option<(u32, bool)> = None;
    for mark in marks {
        if mark.shared || mark.plain {
            let (_, any) = open.get_or_insert(((mark.run_end + 1).saturating_sub(w), false));
            *any |= mark.shared;
        } else if let Some((start, any)) = open.take()
            && any
        {
            // The last run before this mark's first one.
            note(start, (mark.run_end - 1 + k).min(n_tokens));
        }
    }
    if let Some((start, true)) = open {
        note(start, n_tokens);
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
            let documents: Vec<Arc<Document>> = streams.iter().map(|codes| Arc::new(document_of_codes(codes))).collect();
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
