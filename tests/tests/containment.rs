//! Containment through a thousand edits of real files: what is kept and brought up to date is what is counted anew.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use dupi::blots::Blotting;
use dupi::clones::kept;
use dupi::containment::{Contained, Other, TOP};
use dupi::document::{Document, Scratch};
use dupi::files::Source;
use dupi::index::{Index, MIN_MEMORY};
use dupi::store::Memory;
use dupi_tests::answers::{refresh, small, workspace};
use dupi_tests::history::{own_samples, quick_folder};
use fastrand::Rng;

/// Edits in all; after so many each time all files are compared by brute force.
const EDITS: usize = 1000;
const STEP: usize = 50;
const FILES: usize = 60;

/// Every pair of files, chunk by chunk, from their sources.
fn brute_force(root: &Path) -> Vec<Contained> {
    let settings = small();
    let blotting = Blotting::of(&settings);
    let mut files: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for entry in fs::read_dir(root).expect("a folder").flatten() {
        let shown = entry.file_name().to_string_lossy().into_owned();
        let bytes = fs::read(entry.path()).expect("a file");
        let source = Source::new(entry.path(), shown.clone());
        let Ok(Some(document)) = Document::parse(&source, &bytes, &settings, &mut Scratch::default()) else { continue };
        let chunks = files.entry(shown).or_default();
        kept(&document, &blotting, &mut Vec::new(), |kept, blot| {
            if !document.is_muted(kept.position, kept.position + blotting.k as u32) {
                chunks.insert(blot);
            }
        });
    }
    let contained = |(shown, chunks): (&String, &BTreeSet<u64>)| {
        let others = files.iter().filter(|(other, _)| *other != shown).map(|(other, of_other)| Other {
            shown: other.clone(),
            shared: chunks.intersection(of_other).count() as u32,
            chunks: of_other.len() as u32,
        });
        let mut others: Vec<Other> = others.filter(|other| other.shared > 0).collect();
        others.sort_by_key(|other| (Reverse(other.shared), other.shown.clone()));
        others.truncate(TOP);
        Contained { shown: shown.clone(), chunks: chunks.len() as u32, common: 0, others }
    };
    files.iter().map(contained).collect()
}

#[test]
fn after_a_thousand_random_edits_containment_is_what_brute_force_counts() {
    let folder = quick_folder();
    let workspace = workspace(folder.path(), small());
    let root = workspace.root.clone();
    let mut rng = Rng::with_seed(7);
    let samples = own_samples();
    let path = |i: usize, extension: &str| root.join(format!("{i}.{extension}"));
    // Each number has one extension for good, so that an edit is an edit.
    let of = |i: usize| &samples[i * 7 % samples.len()];
    (0..FILES).for_each(|i| fs::write(path(i, &of(i).0), &of(i).1).expect("a file"));
    let mut index = Index::open(Arc::new(Memory::default()), workspace.clone(), MIN_MEMORY);
    refresh(&mut index);
    for edit in 1..=EDITS {
        let i = rng.usize(0..FILES);
        let path = path(i, &of(i).0);
        let mut lines: Vec<String> =
            fs::read_to_string(&path).unwrap_or_default().split_inclusive('\n').map(str::to_owned).collect();
        let alike: Vec<&String> = samples.iter().filter(|(end, _)| *end == of(i).0).map(|(_, text)| text).collect();
        let other: Vec<&str> = alike[rng.usize(0..alike.len())].split_inclusive('\n').collect();
        let (at, from) = (rng.usize(0..=lines.len()), rng.usize(0..=other.len()));
        match rng.u8(0..10) {
            0 => drop(fs::remove_file(&path)),
            1 => fs::write(&path, other.concat()).expect("a file"),
            2..=3 => {
                lines.drain(at..(at + 20).min(lines.len()));
                fs::write(&path, lines.concat()).expect("a file");
            }
            _ => {
                let pasted = other[from..(from + 30).min(other.len())].iter().map(|line| (*line).to_owned());
                lines.splice(at..at, pasted);
                lines.truncate(400);
                fs::write(&path, lines.concat()).expect("a file");
            }
        }
        index.refresh_within(std::slice::from_ref(&path)).expect("a folder");
        if rng.u8(0..20) == 0 {
            index.merge();
        }
        let table = index.containment(&workspace.settings).expect("an index");
        if edit % STEP == 0 {
            let expected = brute_force(&root);
            assert_eq!(table, expected, "after {edit} edits");
            let one = &expected[rng.usize(0..expected.len())];
            let told = index.snapshot().contained(&one.shown, &workspace.settings, TOP);
            assert_eq!(told.as_ref(), Some(one), "after {edit} edits");
        }
    }
    let shared: u32 =
        index.containment(&workspace.settings).expect("an index").iter().map(|file| file.others.len() as u32).sum();
    assert!(shared > 100, "files that share nothing prove nothing: {shared}");
}
