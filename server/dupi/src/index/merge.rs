//! Merges: many small segments become one, and what is deleted in them goes. Ordinals are given anew.
//!
//! A merge is planned on a snapshot, can run on any thread, and is installed in one commit. What was deleted meanwhile
//! is deleted in the merged segment, too. If it fails or panics, nothing has happened.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rayon::prelude::*;

use super::Index;
use crate::blots::Blotting;
use crate::segment::{self, Fresh, Segment};
use crate::snapshot::Part;

/// Segments of about the same size that become one. More would make a lookup slower, fewer would write more often.
const MERGE_FACTOR: usize = 8;
/// A segment of which more than this share of entries is deleted is written anew by itself.
const MAX_DELETED_PERCENT: usize = 50;
/// How much more memory a document takes than its bytes in a segment.
const GROWTH: u64 = 10;

/// A merge to be run.
pub struct Merge {
    parts: Vec<Part>,
    blotting: Blotting,
}

/// A merge that was run.
pub struct Merged {
    parts: Vec<Part>,
    bytes: Vec<u8>,
}

impl Index {
    /// What should be merged, if anything.
    pub fn plan_merge(&self) -> Option<Merge> {
        let parts = self.mergeable()?;
        Some(Merge { parts, blotting: Blotting::of(&self.workspace.settings) })
    }

    fn mergeable(&self) -> Option<Vec<Part>> {
        let rotten = self.parts.iter().find(|part| {
            (part.segment.entries.len() - part.n_current()) * 100 > part.segment.entries.len() * MAX_DELETED_PERCENT
        });
        if let Some(rotten) = rotten {
            return Some(vec![rotten.clone()]);
        }
        // Tiers by powers of the factor; of a full one all are merged, as far as that fits in memory.
        let mut tiers: Vec<Vec<&Part>> = Vec::new();
        for part in &self.parts {
            let tier = part.n_current().max(1).ilog(MERGE_FACTOR) as usize;
            tiers.resize_with(tiers.len().max(tier + 1), Vec::new);
            tiers[tier].push(part);
        }
        tiers.into_iter().find_map(|mut tier| {
            tier.sort_by_key(|part| part.segment.bytes().len());
            let mut memory = 0;
            tier.retain(|part| {
                memory += part.segment.bytes().len() as u64 * GROWTH;
                memory <= self.memory
            });
            (tier.len() >= MERGE_FACTOR).then(|| tier.into_iter().cloned().collect())
        })
    }

    /// Installs what a merge has made, unless its segments are no longer current.
    pub fn install(&mut self, merged: Merged) {
        let is_old = |part: &Part| merged.parts.iter().any(|old| Arc::ptr_eq(&old.segment, &part.segment));
        if self.parts.iter().filter(|part| is_old(part)).count() != merged.parts.len() {
            return;
        }
        let (name, bytes) = self.keep(merged.bytes);
        let Some(segment) = Segment::written(bytes, &self.workspace.root) else { return };
        // What is current of it: the same path and content, in one of the parts that it replaces.
        let deleted: Vec<u32> = (0..)
            .zip(&segment.entries)
            .filter(|(_, entry)| {
                let current = self.current(&entry.shown);
                !current.is_some_and(|(part, _, current)| is_old(part) && current.known == entry.known)
            })
            .map(|(ordinal, _)| ordinal)
            .collect();
        self.parts.retain(|part| !is_old(part));
        self.parts.push(Part::new(name, segment, &deleted));
        self.find_current();
        self.committed = false;
        self.commit();
    }

    /// Merges all that should be, here and now.
    pub fn merge(&mut self) {
        while let Some(merged) = self.plan_merge().and_then(Merge::run) {
            let before = self.parts.len();
            self.install(merged);
            if self.parts.len() >= before {
                break;
            }
        }
    }
}

impl Merge {
    /// Writes the merged segment to memory. None, if that fails, or if a third party has cut what it reads: all stays as
    /// it was, and the next merge tries again.
    pub fn run(self) -> Option<Merged> {
        let is_whole = || self.parts.iter().all(|part| part.segment.is_whole());
        if !is_whole() {
            return None;
        }
        let write = || {
            let files: Vec<Fresh> = self
                .parts
                .par_iter()
                .flat_map_iter(|part| part.entries().map(move |(ordinal, entry)| (part, ordinal, entry)))
                .map(|(part, ordinal, entry)| {
                    let document = part.segment.document(ordinal);
                    (document.is_some() == entry.is_document()).then(|| Fresh { entry: entry.clone(), document })
                })
                .collect::<Option<_>>()?;
            segment::write(files, &self.blotting).ok()
        };
        let bytes = catch_unwind(AssertUnwindSafe(write)).ok()??;
        if !is_whole() {
            return None;
        }
        Some(Merged { parts: self.parts, bytes })
    }
}
