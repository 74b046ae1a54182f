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
use crate::nesting::{drop_nested, drop_repeated};
use crate::runs::{self, By, Letter};
use crate::settings::Settings;
use crate::skip::Skip;
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
    let mut classes = if settings.nested { drop_repeated(classes) } else { drop_nested(classes) };
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

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashMap};

    use dupi_grammars::token::{IDENTIFIER, Unit};
    use proptest::prelude::*;

    use super::*;
    use crate::Kind;
    use crate::blots::Blotter;
    use crate::document::tests::document;

    /// A small program: statements drawn from a few shapes with a few names, so that repeats of all sorts come about.
    fn program(statements: &[(u8, u8, u8)]) -> String {
        let mut text = String::from("package p\n");
        for (i, chunk) in statements.chunks(9).enumerate() {
            text.push_str(&format!("func f{i}(a, b int) int {{\n"));
            for (shape, x, y) in chunk {
                let (x, y) = (["a", "b", "c", "d"][*x as usize % 4], ["a", "b", "c", "d"][*y as usize % 4]);
                text.push_str(&match shape % 5 {
                    0 => format!("\t{x} = {y} + 1\n"),
                    1 => format!("\tg({x}, {y}, \"s\")\n"),
                    2 => format!("\tif {x} > {y} {{\n\t\t{y}++\n\t\th({x})\n\t}}\n"),
                    3 => format!("\tfor {x} := range {y} {{\n\t\t{y} += {x} * 2\n\t}}\n"),
                    _ => format!("\treturn {x}\n"),
                });
            }
            text.push_str("}\n");
        }
        text
    }

    fn settings() -> Settings {
        Settings { min_tokens: 12, test_min_tokens: 12, min_lines: 1, min_similarity: 0.7, ..Settings::default() }
    }

    fn documents(programs: &[Vec<(u8, u8, u8)>], settings: &Settings) -> Vec<Document> {
        programs
            .iter()
            .enumerate()
            .map(|(i, statements)| document(&format!("{i}.go"), &program(statements), settings).expect("a good text"))
            .collect()
    }

    /// Classes without document indices, so that they can be compared when documents come in another order.
    fn named(documents: &[Document], classes: &[Class]) -> BTreeSet<String> {
        classes
            .iter()
            .map(|class| {
                let mut copies: Vec<String> = class
                    .copies
                    .iter()
                    .map(|copy| format!("{}:{}-{}", documents[copy.document as usize].shown, copy.start, copy.end))
                    .collect();
                copies.sort();
                format!(
                    "{:x} {:?} {:?} {} {:.6} {copies:?}",
                    class.id, class.kind, class.zone, class.tokens, class.similarity
                )
            })
            .collect()
    }

    /// Is `b` a one-to-one renaming of `a`? By the definition: one map there, one map back.
    fn is_renaming(a: (&[u8], &[u32]), b: (&[u8], &[u32])) -> bool {
        let (mut there, mut back) = (HashMap::new(), HashMap::new());
        let names = a.0.iter().filter(|&&code| dupi_grammars::token::varies(code));
        a.0 == b.0
            && names.zip(a.1.iter().zip(b.1)).all(|(&code, (x, y))| {
                code != IDENTIFIER || (there.entry(x).or_insert(y) == &y && back.entry(y).or_insert(x) == &x)
            })
    }

    /// Does a pattern that comes three times in a row reach into the units `a..=b`? Such a row counts as a whole, never in parts.
    fn touches_row(document: &Document, units: &[&Unit], a: usize, b: usize) -> bool {
        let codes = |i: usize| &document.codes[units[i].start as usize..units[i].end as usize];
        (1..=units.len() / 3).any(|period| {
            (0..=units.len() - 3 * period).any(|start| {
                let row = start..start + 3 * period;
                start <= b && a < row.end && row.skip(period).all(|i| codes(i) == codes(i - period))
            })
        })
    }

    /// Do two equal runs of one document, `a` before `b`, grow into each other when both are made longer as far as their
    /// text stays equal?
    fn overlaps_itself(documents: &[Document], a: &Fragment, b: &Fragment) -> bool {
        let document = &documents[a.document as usize];
        let token = |i: u32| document.read_tokens(i, i + 1);
        let shift = b.start - a.start;
        let n = document.codes.len() as u32;
        let right = (a.end..n - shift).take_while(|&i| token(i) == token(i + shift)).count() as u32;
        let left = (0..a.start).rev().take_while(|&i| token(i) == token(i + shift)).count() as u32;
        a.len() + left + right > shift
    }

    fn programs() -> impl Strategy<Value = Vec<Vec<(u8, u8, u8)>>> {
        // A pool of chunks that programs are put together from, so that long copies are common.
        let chunk = prop::collection::vec((0u8..5, 0u8..4, 0u8..4), 1..12);
        (prop::collection::vec(chunk, 2..6), prop::collection::vec(prop::collection::vec(0usize..6, 1..5), 1..5))
            .prop_map(|(pool, picks)| {
                picks.iter().map(|picks| picks.iter().flat_map(|&i| pool[i % pool.len()].clone()).collect()).collect()
            })
    }

    proptest! {
        #![proptest_config(crate::cases(256))]

        /// Against the naive way: every two runs of siblings with equal text, compared token by token.
        #[test]
        fn every_exact_copy_of_whole_units_is_in_a_class(programs in programs()) {
            let settings = Settings { zones: Zone::ALL.to_vec(), ..settings() };
            let documents = documents(&programs, &settings);
            let classes = classes(&documents, &settings);
            let mut runs = Vec::new();
            for (i, document) in documents.iter().enumerate() {
                let lists = document.units.iter().map(|unit| unit.list).max().map_or(0, |n| n + 1);
                for list in 0..lists {
                    let units: Vec<_> = document.units.iter().filter(|unit| unit.list == list && unit.flags & Unit::IMPORT == 0).collect();
                    for a in 0..units.len() {
                        for b in a..units.len() {
                            let run = Fragment { document: i as u32, start: units[a].start, end: units[b].end };
                            if run.len() >= settings.min_tokens {
                                runs.push((run, touches_row(document, &units, a, b)));
                            }
                        }
                    }
                }
            }
            let text = |run: &Fragment| documents[run.document as usize].read_tokens(run.start, run.end);
            // A pattern that stands twice and a bit in a row is shown as that: not every run within it is.
            let in_pattern = |run: &Fragment| {
                runs.iter().any(|(twin, _)| {
                    twin != run
                        && twin.document == run.document
                        && text(twin) == text(run)
                        && overlaps_itself(&documents, run.min(twin), run.max(twin))
                })
            };
            let runs: Vec<Fragment> =
                runs.iter().filter(|(run, row)| !row && !in_pattern(run)).map(|(run, _)| *run).collect();
            for (i, a) in runs.iter().enumerate() {
                for b in &runs[i + 1..] {
                    if text(a) != text(b) {
                        continue;
                    }
                    let stands = |class: &Class, run: &Fragment| class.copies.iter().any(|copy| copy.contains(run));
                    let together = classes.iter().any(|class| stands(class, a) && stands(class, b));
                    prop_assert!(together, "{a:?} {b:?} in {programs:?}\n{classes:?}");
                }
            }
        }

        #[test]
        fn classes_are_what_their_kind_says_and_their_copies_are_apart(programs in programs()) {
            let settings = settings();
            let documents = documents(&programs, &settings);
            for class in classes(&documents, &settings) {
                let text = |copy: &Fragment| documents[copy.document as usize].read_tokens(copy.start, copy.end);
                for pair in class.copies.windows(2) {
                    prop_assert!(pair[0] < pair[1] && !pair[0].overlaps(&pair[1]));
                    prop_assert_eq!(text(&pair[0]).0, text(&pair[1]).0);
                    match class.kind {
                        Kind::Exact => prop_assert_eq!(text(&pair[0]), text(&pair[1])),
                        Kind::Renamed => prop_assert!(is_renaming(text(&pair[0]), text(&pair[1]))),
                        Kind::Near => {}
                    }
                }
                for copy in &class.copies {
                    let units = &documents[copy.document as usize].units;
                    let first = units.iter().find(|unit| unit.start == copy.start && unit.end <= copy.end);
                    let siblings = first.is_some_and(|first| {
                        units.iter().any(|unit| unit.list == first.list && unit.end == copy.end)
                            || units.iter().any(|unit| unit.start == copy.start && unit.end == copy.end)
                    });
                    prop_assert!(siblings, "not whole units: {copy:?}");
                }
            }
        }

        #[test]
        fn a_class_inside_another_has_more_copies(programs in programs()) {
            let settings = settings();
            let documents = documents(&programs, &settings);
            let classes = classes(&documents, &settings);
            for inner in &classes {
                for outer in &classes {
                    let nested = inner.copies.iter().all(|copy| outer.copies.iter().any(|other| other.contains(copy)));
                    prop_assert!(!nested || inner == outer || inner.copies.len() > outer.copies.len());
                }
            }
        }

        #[test]
        fn neither_order_nor_threads_nor_blotter_change_the_answer(programs in programs(), turn in 0usize..5) {
            let settings = settings();
            let mut documents = documents(&programs, &settings);
            let expected = named(&documents, &classes(&documents, &settings));
            for &blotter in Blotter::ALL {
                let other = Settings { blotter, ..settings.clone() };
                prop_assert_eq!(&named(&documents, &classes(&documents, &other)), &expected);
            }
            for threads in [1, 4] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
                let found = pool.install(|| classes(&documents, &settings));
                prop_assert_eq!(&named(&documents, &found), &expected);
            }
            let n = documents.len();
            documents.rotate_left(turn % n);
            prop_assert_eq!(&named(&documents, &classes(&documents, &settings)), &expected);
        }
    }
}
