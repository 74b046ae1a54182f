//! The blots of a document that count for those who compare by blots alone: kept by winnowing, and in code that neither
//! comments in the source nor the taboo list leave out. As a set they are the document's **chunks**.

use crate::blots::Blotting;
use crate::clones::kept;
use crate::document::Document;
use crate::settings::Settings;

/// A blot, and where its window starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Chunk {
    pub blot: u64,
    pub position: u32,
}

/// The blots of a document that count, in the order of their windows.
pub fn counted(document: &Document, settings: &Settings, scratch: &mut Vec<u64>) -> Vec<Chunk> {
    let blotting = Blotting::of(settings);
    let k = blotting.k as u32;
    let taboo = settings.taboo.ranges(document);
    let is_taboo = |start: u32| {
        let i = taboo.partition_point(|range| range.start <= start);
        i.checked_sub(1).is_some_and(|i| taboo[i].end >= start + k)
    };
    let mut chunks = Vec::with_capacity(document.codes.len() / 10 + 1);
    kept(document, &blotting, scratch, |kept, blot| {
        let start = kept.position;
        if !document.is_muted(start, start + k) && !is_taboo(start) {
            chunks.push(Chunk { blot, position: start });
        }
    });
    chunks
}

/// The chunks of a document as a set, sorted.
pub fn set(document: &Document, settings: &Settings, scratch: &mut Vec<u64>) -> Vec<u64> {
    let mut blots: Vec<u64> = counted(document, settings, scratch).into_iter().map(|chunk| chunk.blot).collect();
    blots.sort_unstable();
    blots.dedup();
    blots
}

/// Those of sorted chunks that do not overlap one of the same blot before them: as copies of a class never overlap.
pub fn apart(mut chunks: Vec<Chunk>, blotting: &Blotting) -> Vec<Chunk> {
    chunks.sort_unstable();
    chunks.dedup_by(|next, chunk| next.blot == chunk.blot && next.position < chunk.position + blotting.k as u32);
    chunks
}
