//! The whole way from files to classes, for a workspace read from scratch.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dupi_grammars::Language;
use rayon::prelude::*;

use crate::blots::Blotting;
use crate::candidates::shared_ranges;
use crate::class::Class;
use crate::document::{Document, Scratch};
use crate::raw::{Settled, raw_classes, settle};
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
    /// In the order of their paths; a class names a file by its index here.
    pub files: Vec<File>,
    pub skipped: Vec<Skip>,
    /// Worst first.
    pub classes: Vec<Class>,
    /// Those that would stand there too, but that somebody wants as they are.
    pub ignored: Vec<Class>,
}

/// A file that was read.
#[derive(Clone)]
pub struct File {
    pub path: PathBuf,
    /// Relative to the root, with `/`.
    pub shown: String,
    pub language: &'static Language,
    pub n_lines: u32,
    pub n_tokens: u32,
    pub bytes: u64,
}

impl File {
    pub fn of(document: &Document) -> File {
        File {
            path: document.path.clone(),
            shown: document.shown.clone(),
            language: document.language,
            n_lines: document.n_lines,
            n_tokens: document.codes.len() as u32,
            bytes: document.bytes,
        }
    }
}

impl Report {
    pub fn lines(&self) -> u64 {
        self.files.iter().map(|file| u64::from(file.n_lines)).sum()
    }

    pub fn tokens(&self) -> u64 {
        self.files.iter().map(|file| u64::from(file.n_tokens)).sum()
    }

    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

/// Runs `work` on as many threads as the settings ask for.
pub fn with_threads<T: Send>(settings: &Settings, root: &Path, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(settings.threads)
        .build()
        .map_err(|source| Error::Read { path: root.to_owned(), source: std::io::Error::other(source) })?;
    Ok(pool.install(work))
}

/// Reads all sources under `paths` and finds their classes. Everything is shown relative to `root`.
pub fn search(
    root: &Path,
    paths: &[PathBuf],
    settings: &Settings,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Report, Error> {
    with_threads(settings, root, || {
        progress(Progress::Walking);
        let found = files::find(root, paths, settings)?;
        let mut skipped = found.skipped;
        let documents = read(&found.sources, settings, &mut skipped, progress);
        skipped.sort();
        progress(Progress::Comparing);
        let Settled { shown: classes, ignored } = settled(&documents, settings);
        let files = documents.iter().map(|document| File::of(document)).collect();
        Ok(Report { root: root.to_owned(), files, skipped, classes, ignored })
    })?
}

fn read(
    sources: &[files::Source],
    settings: &Settings,
    skipped: &mut Vec<Skip>,
    progress: &(dyn Fn(Progress) + Sync),
) -> Vec<Arc<Document>> {
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
            Ok(document) => documents.extend(document.map(Arc::new)),
            Err(skip) => skipped.push(skip),
        }
    }
    documents
}

/// The classes of a set of documents in the order of their paths, worst first: a function of that set alone.
pub fn classes(documents: &[Arc<Document>], settings: &Settings) -> Vec<Class> {
    settled(documents, settings).shown
}

fn settled(documents: &[Arc<Document>], settings: &Settings) -> Settled {
    let ranges = shared_ranges(documents, &Blotting::of(settings));
    let raw = raw_classes(documents, &ranges, settings);
    settle(raw.into_iter().map(|raw| raw.class).collect(), settings, |i| &documents[i as usize].shown)
}

#[cfg(test)]
pub mod tests {
    use std::collections::{BTreeSet, HashMap};

    use dupi_grammars::token::{IDENTIFIER, Unit};
    use proptest::prelude::*;

    use super::*;
    use crate::blots::Blotter;
    use crate::document::tests::document;
    use crate::{Fragment, Kind, Zone};

    /// A small program: statements drawn from a few shapes with a few names, so that repeats of all sorts come about.
    pub fn program(statements: &[(u8, u8, u8)]) -> String {
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

    pub fn settings() -> Settings {
        Settings { min_tokens: 12, test_min_tokens: 12, min_lines: 1, min_similarity: 0.7, ..Settings::default() }
    }

    pub fn documents(programs: &[Vec<(u8, u8, u8)>], settings: &Settings) -> Vec<Arc<Document>> {
        programs
            .iter()
            .enumerate()
            .map(|(i, statements)| {
                Arc::new(document(&format!("{i}.go"), &program(statements), settings).expect("a good text"))
            })
            .collect()
    }

    /// Classes without document indices, so that they can be compared when documents come in another order.
    pub fn named(documents: &[Arc<Document>], classes: &[Class]) -> BTreeSet<String> {
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
    fn overlaps_itself(documents: &[Arc<Document>], a: &Fragment, b: &Fragment) -> bool {
        let document = &documents[a.document as usize];
        let token = |i: u32| document.read_tokens(i, i + 1);
        let shift = b.start - a.start;
        let n = document.codes.len() as u32;
        let right = (a.end..n - shift).take_while(|&i| token(i) == token(i + shift)).count() as u32;
        let left = (0..a.start).rev().take_while(|&i| token(i) == token(i + shift)).count() as u32;
        a.len() + left + right > shift
    }

    pub fn programs() -> impl Strategy<Value = Vec<Vec<(u8, u8, u8)>>> {
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
