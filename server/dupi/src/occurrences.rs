//! Where blots stand, and how often: what the posts of an index say, made exact by the documents themselves.
//!
//! A post names a document, and sometimes one too many, so whatever is counted or shown here was found again in the
//! document's own blots. Knows no source: texts are for who has read them.

use std::sync::Arc;

use rayon::prelude::*;

use crate::blots::Blotting;
use crate::chunks::{Chunk, apart, counted};
use crate::clones::Library;
use crate::document::Document;
use crate::settings::Settings;
use crate::snapshot::Snapshot;

/// How often a blot stands in the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frequency {
    pub blot: u64,
    /// Places that do not overlap.
    pub places: u32,
    pub documents: u32,
}

impl Snapshot {
    /// The frequencies of all blots, by blot. None, if the index cannot be read.
    pub fn frequencies(&self, settings: &Settings) -> Option<Vec<Frequency>> {
        let blotting = Blotting::of(settings);
        let of_document = |scratch: &mut Vec<u64>, number: &u32| {
            let chunks = apart(counted(&*self.document(*number)?, settings, scratch), &blotting);
            let of_blot = |same: &[Chunk]| Frequency { blot: same[0].blot, places: same.len() as u32, documents: 1 };
            Some(chunks.chunk_by(|a, b| a.blot == b.blot).map(of_blot).collect::<Vec<_>>())
        };
        let found = self.while_whole(|| {
            self.numbers().par_iter().with_min_len(8).map_init(Vec::new, of_document).collect::<Option<Vec<_>>>()
        });
        let mut all: Vec<Frequency> = found?.into_iter().flatten().collect();
        all.par_sort_unstable_by_key(|frequency| frequency.blot);
        all.dedup_by(|next, frequency| {
            let same = next.blot == frequency.blot;
            if same {
                frequency.places += next.places;
                frequency.documents += next.documents;
            }
            same
        });
        Some(all)
    }

    /// What `found` makes of each document that has one of these blots, with all their places that do not overlap, by
    /// blot; in the order of the documents' paths. None, if the index cannot be read.
    pub fn occurrences<T: Send>(
        &self,
        blots: &[u64],
        settings: &Settings,
        found: impl Fn(&Arc<Document>, Vec<Chunk>) -> T + Sync,
    ) -> Option<Vec<T>> {
        let mut wanted = blots.to_vec();
        wanted.sort_unstable();
        wanted.dedup();
        let blotting = Blotting::of(settings);
        let of_document = |scratch: &mut Vec<u64>, number: &u32| -> Option<Option<(String, T)>> {
            let document = self.document(*number)?;
            let mut chunks = counted(&document, settings, scratch);
            chunks.retain(|chunk| wanted.binary_search(&chunk.blot).is_ok());
            let chunks = apart(chunks, &blotting);
            Some((!chunks.is_empty()).then(|| (document.shown.clone(), found(&document, chunks))))
        };
        let found = self.while_whole(|| {
            let mut numbers: Vec<u32> = wanted
                .par_iter()
                .with_min_len(64)
                .flat_map_iter(|&blot| {
                    let mut numbers = Vec::new();
                    self.holders(blot, |holder| numbers.push(holder.number));
                    numbers
                })
                .collect();
            numbers.par_sort_unstable();
            numbers.dedup();
            numbers.par_iter().with_min_len(4).map_init(Vec::new, of_document).collect::<Option<Vec<_>>>()
        });
        let mut found: Vec<(String, T)> = found?.into_iter().flatten().collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        Some(found.into_iter().map(|(_, found)| found).collect())
    }

    /// How often each of these blots stands in the workspace, in their order.
    pub fn frequencies_of(&self, blots: &[u64], settings: &Settings) -> Option<Vec<Frequency>> {
        let found = self.occurrences(blots, settings, |_, chunks| chunks)?;
        let mut places: Vec<(u64, u32)> = Vec::new();
        for chunks in &found {
            let same = chunks.chunk_by(|a, b| a.blot == b.blot);
            places.extend(same.map(|same| (same[0].blot, same.len() as u32)));
        }
        places.sort_unstable();
        let of_blot = |&blot: &u64| {
            let from = places.partition_point(|(other, _)| *other < blot);
            let same = places[from..].iter().take_while(|(other, _)| *other == blot);
            let (documents, places) = same.fold((0, 0), |(documents, places), (_, n)| (documents + 1, places + n));
            Frequency { blot, places, documents }
        };
        Some(blots.iter().map(of_blot).collect())
    }
}

/// The places of some blots, or of all of them, as numbers that sum them up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub mean: f64,
    /// The standard deviation.
    pub sigma: f64,
}

impl Spread {
    pub fn of(frequencies: &[Frequency]) -> Spread {
        let n = frequencies.len().max(1) as f64;
        let places = || frequencies.iter().map(|frequency| f64::from(frequency.places));
        let mean = places().sum::<f64>() / n;
        let variance = places().map(|places| (places - mean).powi(2)).sum::<f64>() / n;
        Spread { mean, sigma: variance.sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use proptest::prelude::*;

    use super::*;
    use crate::blots::Blotter;
    use crate::index::{Index, MEMORY, Workspace};
    use crate::search::tests::{program, programs};
    use crate::store::Memory;

    proptest! {
        #![proptest_config(crate::cases(12))]

        /// Against the naive way: all kept windows of all documents, one by one.
        #[test]
        fn frequencies_are_what_is_counted_by_hand_whatever_the_blotter(
            programs in programs(), blotter in 0usize..3, windows in prop::option::of((3usize..20, 1usize..9)),
        ) {
            let folder = tempfile::tempdir().expect("a folder");
            let root = folder.path().canonicalize().expect("a folder");
            for (i, statements) in programs.iter().enumerate() {
                fs::write(root.join(format!("{i}.go")), program(statements)).expect("a file");
            }
            let settings = Settings { min_tokens: 20, blotter: Blotter::ALL[blotter], windows, ..Settings::default() };
            let workspace = Workspace { root: root.clone(), paths: vec![root], settings: settings.clone() };
            let mut index = Index::open(Arc::new(Memory::default()), workspace, MEMORY);
            index.refresh(&|_| {}).expect("a folder");
            let (snapshot, blotting) = (index.snapshot(), Blotting::of(&settings));
            let mut by_hand: BTreeMap<u64, (u32, u32)> = BTreeMap::new();
            for number in snapshot.numbers() {
                let document = snapshot.document(number).expect("a document");
                let mut ends: BTreeMap<u64, u32> = BTreeMap::new();
                for Chunk { blot, position } in counted(&document, &settings, &mut Vec::new()) {
                    let (places, documents) = by_hand.entry(blot).or_default();
                    *documents += u32::from(!ends.contains_key(&blot));
                    let end = ends.entry(blot).or_default();
                    if position >= *end {
                        *places += 1;
                        *end = position + blotting.k as u32;
                    }
                }
            }
            let by_hand: Vec<Frequency> = by_hand
                .into_iter()
                .map(|(blot, (places, documents))| Frequency { blot, places, documents })
                .collect();
            prop_assert_eq!(snapshot.frequencies(&settings), Some(by_hand.clone()));
            let blots: Vec<u64> = by_hand.iter().map(|frequency| frequency.blot).rev().chain([12345]).collect();
            let mut asked: Vec<Frequency> = by_hand.iter().copied().rev().collect();
            asked.push(Frequency { blot: 12345, places: 0, documents: 0 });
            prop_assert_eq!(snapshot.frequencies_of(&blots, &settings), Some(asked));
        }
    }
}
