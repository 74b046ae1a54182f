//! What an index holds and whether it is right: checksums, and each part against the others.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::near::NEAR;
use super::sketches::SKETCHES;
use super::{ANSWER, CHUNKS, Index, MAX_ANSWER, PLACES};
use crate::answer::Answer;
use crate::blots::Blotting;
use crate::clones::posted;
use crate::containment::Sharing;
use crate::locate::Places;
use crate::near;
use crate::segment::{Sizes, What};
use crate::simhash::Sketches;
use crate::snapshot::Part;

/// What an index holds.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    pub documents: usize,
    pub skipped: usize,
    /// Entries that are deleted and not merged away yet.
    pub deleted: usize,
    pub posts: usize,
    pub tokens: u64,
    /// Bytes of the documents' sources.
    pub source: u64,
    pub sizes: Sizes,
    /// Bytes of the answers that are kept, of where their copies are, of what files share, and of the sketches.
    pub answers: u64,
    pub segments: usize,
    pub generation: u64,
    /// Documents by language.
    pub languages: BTreeMap<&'static str, usize>,
}

impl Stats {
    /// All bytes on disk.
    pub fn bytes(&self) -> u64 {
        let Sizes { streams, dictionary, posts, table } = self.sizes;
        streams + dictionary + posts + table + self.answers
    }
}

/// What a check of an index has found.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    pub documents: usize,
    pub posts: usize,
    /// Each names the part that is wrong; none is good.
    pub problems: Vec<String>,
}

impl Index {
    pub fn stats(&self) -> Stats {
        let mut stats = Stats { segments: self.parts.len(), generation: self.generation, ..Stats::default() };
        for part in &self.parts {
            stats.deleted += part.segment.entries.len() - part.n_current();
            let posts = if part.segment.is_whole() { part.segment.posts() } else { None };
            stats.posts += posts.map_or(0, |posts| posts.len());
            let Sizes { streams, dictionary, posts, table } = part.segment.sizes;
            stats.sizes.streams += streams;
            stats.sizes.dictionary += dictionary;
            stats.sizes.posts += posts;
            stats.sizes.table += table;
            for (_, entry) in part.entries() {
                match entry.what {
                    What::Document { language, n_tokens, .. } => {
                        stats.documents += 1;
                        stats.tokens += u64::from(n_tokens);
                        stats.source += entry.known.stamp.size;
                        *stats.languages.entry(language.name).or_default() += 1;
                    }
                    What::Skipped(_) => stats.skipped += 1,
                    What::Other => {}
                }
            }
        }
        // What cannot be listed has no bytes to show; `verify` tells why.
        let kept = [ANSWER, SKETCHES, NEAR].map(|end| self.kept_on_disk(end).unwrap_or_else(|_| Vec::new())).concat();
        let kept = kept.iter().map(String::as_str).chain([PLACES, CHUNKS]);
        stats.answers = kept.filter_map(|name| self.store.len(name).ok()).sum();
        stats
    }

    /// Reads everything: each document can be decoded, is what the table says, and all its blots lead to it.
    pub fn verify(&self) -> Verified {
        let mut verified = Verified::default();
        for part in &self.parts {
            let name = part.name.as_deref().unwrap_or("a segment in memory");
            if !part.segment.is_whole() {
                verified.problems.push(format!("{name} was cut"));
                continue;
            }
            let ordinals: Vec<u32> =
                (0..).zip(&part.segment.entries).filter(|(_, entry)| entry.is_document()).map(|(i, _)| i).collect();
            verified.documents += ordinals.len();
            verified.posts += part.segment.posts().map_or(0, |posts| posts.len());
            let blotting = Blotting::of(&self.workspace.settings);
            let problems: Vec<String> =
                ordinals.par_iter().filter_map(|&ordinal| problem(part, ordinal, &blotting)).collect();
            verified.problems.extend(problems.into_iter().map(|problem| format!("{name}: {problem}")));
        }
        let mut paths: Vec<&str> =
            self.parts.iter().flat_map(|part| part.entries().map(|(_, entry)| entry.shown.as_str())).collect();
        paths.sort_unstable();
        for pair in paths.windows(2).filter(|pair| pair[0] == pair[1]) {
            verified.problems.push(format!("{} is current twice", pair[0]));
        }
        let [answers, sketches, near] = [ANSWER, SKETCHES, NEAR].map(|end| {
            self.kept_on_disk(end).unwrap_or_else(|error| {
                verified.problems.push(error.to_string());
                Vec::new()
            })
        });
        let is_damaged = |name: &str, is_whole: fn(&[u8]) -> bool| {
            self.store.read(name, MAX_ANSWER).is_ok_and(|bytes| !is_whole(&bytes))
        };
        for name in answers.iter().filter(|name| is_damaged(name, |bytes| Answer::read(bytes).is_some())) {
            verified.problems.push(format!("{name} is damaged: what was found is found anew"));
        }
        for name in sketches.iter().filter(|name| is_damaged(name, |bytes| Sketches::read(bytes).is_some())) {
            verified.problems.push(format!("{name} is damaged: it is hashed anew"));
        }
        for name in near.iter().filter(|name| is_damaged(name, near::is_whole)) {
            verified.problems.push(format!("{name} is damaged: near copies are found anew"));
        }
        if is_damaged(PLACES, Places::is_whole) {
            verified.problems.push(format!("{PLACES} is damaged: where copies are is found anew"));
        }
        if is_damaged(CHUNKS, Sharing::is_whole) {
            verified.problems.push(format!("{CHUNKS} is damaged: what files share is counted anew"));
        }
        verified
    }
}

fn problem(part: &Part, ordinal: u32, blotting: &Blotting) -> Option<String> {
    let shown = &part.segment.entries[ordinal as usize].shown;
    let Some(document) = part.segment.document(ordinal) else { return Some(format!("{shown} cannot be decoded")) };
    let mut missing = 0;
    posted(&document, blotting, &mut Vec::new(), |blot, text| {
        let mut leads = false;
        part.segment.holders(blot, |holder| {
            leads |= holder.number == ordinal && [0, text].contains(&holder.text);
        });
        missing += usize::from(!leads);
    });
    (missing > 0).then(|| format!("{missing} blots of {shown} do not lead to it"))
}
