//! The whole way from files to classes, for a workspace read from scratch.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::blots::Blotting;
use crate::candidates::shared_ranges;
use crate::class::{Class, Fragment, Zone};
use crate::document::{Document, Scratch};
use crate::fingerprint::LastUses;
use crate::judge::judge;
use crate::nesting::drop_nested;
use crate::runs::{self, By, Letter};
use crate::settings::Settings;
use crate::skip::{Skip, SkipReason};
use crate::{Error, files};

/// What a search is doing, for those who wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Looking for files.
    Walking,
    /// Files read, of how many.
    Reading(usize, usize),
    /// Comparing what was read.
    Comparing,
}

/// What a search has found.
pub struct Report {
    pub root: PathBuf,
    pub documents: Vec<Document>,
    pub skipped: Vec<Skip>,
    /// Worst first.
    pub classes: Vec<Class>,
    pub lines: u64,
    pub bytes: u64,
    pub tokens: u64,
}

/// Reads all sources under `paths` and finds their classes. Everything is shown relative to `root`.
pub fn search(
    root: &Path,
    paths: &[PathBuf],
    settings: &Settings,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Report, Error> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(settings.threads)
        .build()
        .map_err(|source| Error::Read { path: root.to_owned(), source: std::io::Error::other(source) })?;
    pool.install(|| {
        progress(Progress::Walking);
        let found = files::find(root, paths, settings)?;
        let mut skipped = found.skipped;
        let documents = read(&found.sources, settings, &mut skipped, progress);
        skipped.sort();
        progress(Progress::Comparing);
        let classes = classes(&documents, settings);
        Ok(Report {
            root: root.to_owned(),
            skipped,
            classes,
            lines: documents.iter().map(|document| u64::from(document.n_lines)).sum(),
            bytes: documents.iter().map(|document| document.bytes).sum(),
            tokens: documents.iter().map(|document| document.codes.len() as u64).sum(),
            documents,
        })
    })
}

fn read(
    sources: &[files::Source],
    settings: &Settings,
    skipped: &mut Vec<Skip>,
    progress: &(dyn Fn(Progress) + Sync),
) -> Vec<Document> {
    let n_read = AtomicUsize::new(0);
    let read: Vec<Result<Option<Document>, Skip>> = sources
        .par_iter()
        .with_max_len(64)
        .map_init(Scratch::default, |scratch, source| {
            let document = Document::read(source, settings, scratch);
            let n = n_read.fetch_add(1, Ordering::Relaxed) + 1;
            if n.is_multiple_of(256) || n == sources.len() {
                progress(Progress::Reading(n, sources.len()));
            }
            document.map_err(|reason| Skip { path: source.shown.clone(), reason })
        })
        .collect();
    let mut documents = Vec::with_capacity(read.len());
    for result in read {
        match result {
            Ok(document) => documents.extend(document),
            // A file that vanished between the walk and the read is not worth a word, unless nothing else is known of it.
            Err(skip) if skip.reason == SkipReason::Empty => skipped.push(skip),
            Err(skip) => skipped.push(skip),
        }
    }
    documents
}

/// The classes of a set of documents, worst first: a function of that set alone.
pub fn classes(documents: &[Document], settings: &Settings) -> Vec<Class> {
    let floor = settings.floor();
    let blotting = Blotting::for_runs_of(floor, settings.blotter);
    let shared = shared_ranges(documents, &blotting);
    let mut families: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for (i, document) in documents.iter().enumerate() {
        families.entry(document.language.family).or_default().push(i as u32);
    }
    let mut classes = Vec::new();
    for members in families.values() {
        classes.extend(family(documents, members, &shared, floor, settings));
    }
    let mut classes = drop_nested(classes);
    classes.sort_by(|a, b| {
        b.weight().cmp(&a.weight()).then_with(|| a.copies.cmp(&b.copies)).then_with(|| a.id.cmp(&b.id))
    });
    classes
}

/// The classes of the documents of one family, nested ones included.
fn family(
    documents: &[Document],
    members: &[u32],
    shared: &[Vec<Range<u32>>],
    floor: u32,
    settings: &Settings,
) -> Vec<Class> {
    let imports = settings.zones.contains(&Zone::Imports);
    let parts: Vec<runs::Letters> = members
        .par_iter()
        .map_init(LastUses::default, |uses, &i| {
            runs::letters(&documents[i as usize], i, &shared[i as usize], floor, imports, uses)
        })
        .collect();
    let mut letters: Vec<Letter> = Vec::with_capacity(parts.iter().map(|part| part.letters.len()).sum());
    let mut pieces = Vec::new();
    for part in parts {
        letters.extend(part.letters);
        pieces.extend(part.pieces);
    }
    let mut groups: Vec<Vec<Fragment>> = runs::repeats(&letters, By::Structure, floor);
    groups.extend(runs::repeats(&letters, By::Text, floor));
    drop(letters);
    groups.extend(runs::same(pieces));
    groups.par_sort_unstable();
    groups.dedup();
    groups
        .par_iter()
        .with_max_len(256)
        .map_init(LastUses::default, |uses, places| judge(documents, settings, places, uses))
        .flatten_iter()
        .collect()
}
