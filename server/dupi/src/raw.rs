//! Raw classes: all that judging finds, and the runs with gaps around that, each with the key of its content, before
//! nested ones are dropped.
//!
//! What a raw class is depends only on the documents in which its content stands; which classes are shown
//! depends on all raw classes ([`settle`]). So raw classes are what can be kept and brought up to date piece by piece.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::candidates::family_salt;
use crate::class::{Class, Fragment, Zone};
use crate::document::Document;
use crate::fingerprint::LastUses;
use crate::gaps::{Memory, runs_around};
use crate::ignore::Matcher;
use crate::judge::{Judged, parts_need_equal_text};
use crate::nesting::{drop_nested, drop_repeated};
use crate::parts::judge_parts;
use crate::runs::{self, By, Group, Letters, Outline};
use crate::settings::Settings;

#[derive(Clone, Debug, PartialEq)]
pub struct Raw {
    /// A fingerprint of the codes of its content: raw classes of one content stand and fall together.
    pub key: u64,
    pub class: Class,
}

/// The key of the content of a group of places.
pub fn key(documents: &[Arc<Document>], places: &[Fragment]) -> u64 {
    let Some(first) = places.first() else { return 0 };
    let document = &documents[first.document as usize];
    xxh3_64_with_seed(&document.codes[first.start as usize..first.end as usize], family_salt(document.language.family))
}

/// The raw classes of documents in the order of their paths, as far as their units lie in `ranges`: for each document,
/// where copies can be at all.
pub fn raw_classes(documents: &[Arc<Document>], ranges: &[Vec<Range<u32>>], settings: &Settings) -> Vec<Raw> {
    judged(documents, settings, &groups(documents, ranges, settings, &[]))
}

/// The raw classes among groups of places.
pub fn judged(documents: &[Arc<Document>], settings: &Settings, groups: &[Group]) -> Vec<Raw> {
    let mut anchors: Vec<(u64, Judged)> = groups
        .par_iter()
        .with_min_len(16)
        .with_max_len(256)
        .map_init(LastUses::default, |uses, group| {
            let judged = judge_parts(documents, settings, group, uses);
            let key = if judged.is_empty() { 0 } else { key(documents, &group.places) };
            judged.into_iter().map(move |judged| (key, judged))
        })
        .flatten_iter()
        .collect();
    // Found by structure, by text and as a single unit: one is enough. In the order of places, since neighbours are often
    // anchors of one run.
    anchors.par_sort_unstable_by(|(key, a), (other, b)| {
        let (a, b) = (&a.class, &b.class);
        (&a.copies, a.kind, a.id, key).cmp(&(&b.copies, b.kind, b.id, other))
    });
    anchors.dedup_by(|next, anchor| next.0 == anchor.0 && next.1.class == anchor.1.class);
    let with_runs = |memory: &mut Memory, (key, Judged { class, is_shown }): (u64, Judged)| {
        let mut classes = runs_around(documents, &class, settings, memory);
        classes.extend(is_shown.then_some(class));
        classes.into_iter().map(move |class| Raw { key, class })
    };
    let anchors = anchors.into_par_iter().with_min_len(16).with_max_len(256);
    let mut raw: Vec<Raw> = anchors.map_init(Memory::default, with_runs).flatten_iter().collect();
    // Found from several pieces of one content: one is enough.
    raw.par_sort_unstable_by(|a, b| {
        let by_place = (a.key, &a.class.copies).cmp(&(b.key, &b.class.copies));
        by_place
            .then((a.class.kind, a.class.id).cmp(&(b.class.kind, b.class.id)))
            .then(a.class.similarity.total_cmp(&b.class.similarity))
    });
    raw.dedup();
    raw
}

/// All groups of places with one structure or one text. `outlines` are those of the documents, or none.
pub fn groups(
    documents: &[Arc<Document>],
    ranges: &[Vec<Range<u32>>],
    settings: &Settings,
    outlines: &[Arc<Outline>],
) -> Vec<Group> {
    let mut families: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for (i, document) in documents.iter().enumerate() {
        families.entry(document.language.family).or_default().push(i as u32);
    }
    families.values().flat_map(|members| groups_of_family(documents, members, ranges, settings, outlines)).collect()
}

fn groups_of_family(
    documents: &[Arc<Document>],
    members: &[u32],
    ranges: &[Vec<Range<u32>>],
    settings: &Settings,
    outlines: &[Arc<Outline>],
) -> Vec<Group> {
    let floor = settings.floor();
    let imports = settings.zones.contains(&Zone::Imports);
    let parts: Vec<Letters> = members
        .par_iter()
        .with_min_len(4)
        .map_init(LastUses::default, |uses, &i| {
            let outline = outlines.get(i as usize).map(|outline| &**outline);
            runs::letters(&documents[i as usize], i, &ranges[i as usize], floor, imports, outline, uses)
        })
        .collect();
    let mut letters = Letters::default();
    letters.letters.reserve(parts.iter().map(|part| part.letters.len()).sum());
    parts.into_iter().for_each(|part| letters.extend(part));
    letters.sort();
    // Where only equal text counts, in any part, runs of equal text are all that there is to find.
    let alike = |place: &Fragment| !parts_need_equal_text(&documents[place.document as usize], place, settings);
    let mut groups: Vec<Group> = runs::repeats(&letters, By::Structure, floor, alike);
    groups.extend(runs::repeats(&letters, By::Text, floor, |_| true));
    groups.extend(runs::same(letters.pieces));
    runs::sort(&mut groups);
    groups
}

/// What has become of raw classes.
pub struct Settled {
    /// Worst first.
    pub shown: Vec<Class>,
    /// Those that somebody wants as they are.
    pub ignored: Vec<Class>,
}

/// From raw classes to those that are shown. `name` gives the path of a document.
pub fn settle<'a>(raw: Vec<Class>, settings: &Settings, name: impl Fn(u32) -> &'a str) -> Settled {
    let mut classes = if settings.nested { drop_repeated(raw) } else { drop_nested(raw) };
    classes.sort_by(|a, b| {
        b.weight().cmp(&a.weight()).then_with(|| a.copies.cmp(&b.copies)).then_with(|| a.id.cmp(&b.id))
    });
    // Who wrote the entries was told of a bad glob, and it names nothing.
    let Some(matcher) = Matcher::new(&settings.ignored).ok().filter(|_| !settings.ignored.is_empty()) else {
        return Settled { shown: classes, ignored: Vec::new() };
    };
    let (ignored, shown) = classes.into_iter().partition(|class| matcher.is_ignored(class, &name));
    Settled { shown, ignored }
}
