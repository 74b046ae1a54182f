//! The classes of one document, from an index: what an edit needs.
//!
//! Only documents that can hold a copy of something in this one are decoded: they share its blots in such an order that
//! a run of whole units could be common to both, and that run is not of a zone that nobody asked for.
//! What then happens is the same as for the whole workspace, so the answer is the same, too.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use dupi_grammars::token::{Code, Unit, varies};
use rayon::prelude::*;

use crate::blots::{Blotting, Kept, mix};
use crate::candidates::{Mark, covered, family_salt};
use crate::class::{Class, Fragment, Zone};
use crate::document::Document;
use crate::judge::{content, needs_equal_text};
use crate::raw::{groups, judged, settle};
use crate::runs::{Outline, stretches};
use crate::settings::Settings;
use crate::zones::is_table;

/// Runs of up to this many units are looked at one by one for whether they could be shown; longer ones are taken to be.
const MAX_UNITS: usize = 12;

/// Places that are compared to tell whether two documents share a run; where it takes more, they are taken to.
const MAX_TRIES: usize = 256;

/// Documents that can be asked for by blot. Numbers are its own.
pub trait Library: Sync {
    /// Appends the numbers of the documents that hold a blot: all of them, and perhaps a few that do not.
    fn holders(&self, blot: u64, numbers: &mut Vec<u32>);

    /// A document, unless it cannot be read.
    fn document(&self, number: u32) -> Option<Arc<Document>>;

    /// Its codes alone.
    fn codes(&self, number: u32) -> Option<Arc<[Code]>> {
        self.document(number).map(|document| Arc::from(&*document.codes))
    }

    /// A document with its blots; a library may remember those that were asked for lately.
    fn prepared(&self, number: u32, blotting: &Blotting) -> Option<Arc<Prepared>> {
        self.document(number).map(|document| Arc::new(Prepared::new(document, blotting)))
    }
}

/// A document, its kept blots and its outline.
pub struct Prepared {
    pub document: Arc<Document>,
    marks: Box<[(u64, Mark)]>,
    outline: Arc<Outline>,
}

impl Prepared {
    pub fn new(document: Arc<Document>, blotting: &Blotting) -> Prepared {
        let mut marks = Vec::new();
        kept(&document, blotting, &mut Vec::new(), |kept, blot| {
            marks.push((blot, Mark { run_end: kept.run_end, plain: kept.is_plain(), shared: false }));
        });
        let outline = Arc::new(Outline::of(&document));
        Prepared { document, marks: marks.into(), outline }
    }

    /// About how many bytes of memory it takes.
    pub fn weight(&self) -> usize {
        self.document.weight() + size_of_val(&*self.marks) + self.outline.weight()
    }

    /// Where something can stand that has one of the sorted `blots`.
    fn ranges(&self, blots: &[u64], blotting: &Blotting) -> Vec<Range<u32>> {
        let marks = self.marks.iter().map(|(blot, mark)| Mark { shared: blots.binary_search(blot).is_ok(), ..*mark });
        covered(marks, blotting, self.document.codes.len() as u32)
    }
}

/// Classes, and the documents that they name by index.
pub struct Clones {
    pub documents: Vec<Arc<Document>>,
    /// Worst first.
    pub classes: Vec<Class>,
}

/// The classes that have a copy in `document`, which is not one of the library's.
/// Or nothing, if a document of the library cannot be read.
pub fn clones_of(document: &Arc<Document>, library: &impl Library, settings: &Settings) -> Option<Clones> {
    let query = Query::new(document, settings);
    let (blots, blotting) = (query.blots(), &query.blotting);
    let mut partners: Vec<(Arc<Prepared>, Vec<Range<u32>>)> = query
        .partners(library)
        .par_iter()
        .with_min_len(4)
        .map(|&number| {
            let prepared = library.prepared(number, blotting)?;
            let ranges = prepared.ranges(&blots, blotting);
            Some((prepared, ranges))
        })
        .collect::<Option<_>>()?;
    let own = Arc::new(Prepared::new(document.clone(), blotting));
    let ranges = own.ranges(&blots, blotting);
    partners.push((own, ranges));
    partners.sort_by(|a, b| a.0.document.shown.cmp(&b.0.document.shown));
    let documents: Vec<Arc<Document>> = partners.iter().map(|(prepared, _)| prepared.document.clone()).collect();
    let outlines: Vec<Arc<Outline>> = partners.iter().map(|(prepared, _)| prepared.outline.clone()).collect();
    let ranges: Vec<Vec<Range<u32>>> = partners.into_iter().map(|(_, ranges)| ranges).collect();
    let at = documents.partition_point(|other| other.shown < document.shown);
    let own = at as u32;
    let mut groups = groups(&documents, &ranges, settings, &outlines);
    groups.retain(|places| places.iter().any(|place| place.document == own));
    let raw = judged(&documents, settings, &groups).into_iter().map(|raw| raw.class);
    let touching = raw.filter(|class| class.copies.iter().any(|copy| copy.document == own)).collect();
    Some(Clones { classes: settle(touching, settings), documents })
}

/// Documents of a library with their numbers, in the order of their paths.
pub fn decode(numbers: &[u32], library: &impl Library) -> Option<Vec<(u32, Arc<Document>)>> {
    let read = |&number: &u32| library.document(number).map(|document| (number, document));
    let mut documents: Vec<(u32, Arc<Document>)> =
        numbers.par_iter().with_min_len(4).map(read).collect::<Option<_>>()?;
    documents.sort_by(|a, b| a.1.shown.cmp(&b.1.shown));
    Some(documents)
}

/// For each document, where something can stand that has one of the sorted `blots`.
pub fn ranges(documents: &[Arc<Document>], blots: &[u64], blotting: &Blotting) -> Vec<Vec<Range<u32>>> {
    let ranges = |scratch: &mut Vec<u64>, document: &Arc<Document>| {
        let mut marks = Vec::new();
        kept(document, blotting, scratch, |kept, blot| {
            let shared = blots.binary_search(&blot).is_ok();
            marks.push(Mark { run_end: kept.run_end, plain: kept.is_plain(), shared });
        });
        covered(marks.into_iter(), blotting, document.codes.len() as u32)
    };
    documents.par_iter().with_min_len(8).map_init(Vec::new, ranges).collect()
}

/// Calls `each` for each kept blot of a document, with the blot as it is stored: apart from those of other families.
pub fn kept(document: &Document, blotting: &Blotting, scratch: &mut Vec<u64>, mut each: impl FnMut(Kept, u64)) {
    let family = family_salt(document.language.family);
    blotting.kept(&document.codes, document.symbols(), scratch, |kept| each(kept, mix(kept.blot ^ family)));
}

/// Kept blots in a row that are one and the same.
struct Entry {
    blot: u64,
    /// Where their windows start.
    positions: Vec<u32>,
    /// Of the first of them: where the first run of windows starts that has it for its least.
    start: u32,
    /// One past the last token of the last run of windows that has the last of them for its least.
    end: u32,
    plain: bool,
    /// Whether a copy of something could have it at all: it stands among units that count.
    eligible: bool,
}

/// A document as a question.
pub struct Query<'a> {
    document: &'a Document,
    blotting: Blotting,
    settings: &'a Settings,
    entries: Vec<Entry>,
    /// Entries before each that are not plain.
    n_telling: Vec<u32>,
    /// For each entry, the first and the last of the plain ones around it that stand in a row with it.
    beside: Vec<(u32, u32)>,
    stretches: Vec<Vec<Unit>>,
}

impl Query<'_> {
    pub fn new<'a>(document: &'a Document, settings: &'a Settings) -> Query<'a> {
        let blotting = Blotting::of(settings);
        let (k, w) = (blotting.k as u32, blotting.w as u32);
        let n_tokens = document.codes.len() as u32;
        let mut lists = Vec::new();
        stretches(document, settings.zones.contains(&Zone::Imports), |stretch| {
            let tokens = stretch.first().zip(stretch.last()).map_or(0, |(first, last)| last.end - first.start);
            if tokens >= settings.floor() {
                lists.push(stretch.to_vec());
            }
        });
        lists.sort_by_key(|stretch| stretch[0].start);
        let mut furthest = 0;
        // Where each stretch starts, and the furthest end of those up to it.
        let reach: Vec<(u32, u32)> = lists
            .iter()
            .map(|stretch| {
                furthest = stretch.last().map_or(furthest, |last| furthest.max(last.end));
                (stretch[0].start, furthest)
            })
            .collect();
        let eligible = |position: u32| {
            let i = reach.partition_point(|(start, _)| *start <= position);
            i.checked_sub(1).is_some_and(|i| reach[i].1 >= position + k)
        };
        let mut entries: Vec<Entry> = Vec::new();
        kept(document, &blotting, &mut Vec::new(), |kept, blot| {
            if let Some(last) = entries.last_mut() {
                last.end = (kept.run_end - 1 + k).min(n_tokens);
            }
            match entries.last_mut() {
                Some(last) if last.blot == blot => {
                    last.eligible |= eligible(kept.position);
                    last.positions.push(kept.position);
                }
                _ => entries.push(Entry {
                    blot,
                    positions: vec![kept.position],
                    start: (kept.run_end + 1).saturating_sub(w),
                    end: n_tokens,
                    plain: kept.is_plain(),
                    eligible: eligible(kept.position),
                }),
            }
            if let Some(last) = entries.last_mut() {
                last.end = n_tokens;
            }
        });
        let mut n_telling = Vec::with_capacity(entries.len() + 1);
        let mut n = 0;
        for entry in &entries {
            n_telling.push(n);
            n += u32::from(!entry.plain);
        }
        n_telling.push(n);
        let mut beside: Vec<(u32, u32)> = (0..entries.len() as u32).map(|i| (i, i)).collect();
        for i in 1..entries.len() {
            if entries[i - 1].plain {
                beside[i].0 = beside[i - 1].0;
            }
        }
        for i in (1..entries.len()).rev() {
            if entries[i].plain {
                beside[i - 1].1 = beside[i].1;
            }
        }
        Query { document, blotting, settings, entries, n_telling, beside, stretches: lists }
    }

    /// All blots, sorted.
    pub fn blots(&self) -> Vec<u64> {
        let mut blots: Vec<u64> = self.entries.iter().map(|entry| entry.blot).collect();
        blots.sort_unstable();
        blots.dedup();
        blots
    }

    /// The numbers of the documents that can hold a copy of something in this one, ascending.
    pub fn partners(&self, library: &impl Library) -> Vec<u32> {
        let mut order: Vec<u32> =
            (0..self.entries.len() as u32).filter(|&i| self.entries[i as usize].eligible).collect();
        order.sort_by_key(|&i| (self.entries[i as usize].blot, i));
        // (document, entry): the entries that each document shares.
        let mut hits: Vec<(u32, u32)> = Vec::new();
        let mut holders = Vec::new();
        for same in order.chunk_by(|&a, &b| self.entries[a as usize].blot == self.entries[b as usize].blot) {
            holders.clear();
            library.holders(self.entries[same[0] as usize].blot, &mut holders);
            for &entry in same {
                hits.extend(holders.iter().map(|&holder| (holder, entry)));
            }
        }
        hits.sort_unstable();
        let mut judged: HashMap<(u32, u32), Hope> = HashMap::new();
        let likely: Vec<&[(u32, u32)]> =
            hits.chunk_by(|a, b| a.0 == b.0).filter(|hits| self.may_share(hits, &mut judged)).collect();
        // Only now is anything decoded: the codes alone, then the names of those of which only equal text counts.
        likely
            .par_iter()
            .with_min_len(8)
            .map_init(
                || judged.clone(),
                |judged, hits| {
                    let number = hits[0].0;
                    let hope = library.codes(number).map_or(Hope::Any, |codes| self.hope(&codes, None, hits, judged));
                    let shares = match hope {
                        Hope::None => false,
                        Hope::Any => true,
                        Hope::EqualText => library.prepared(number, &self.blotting).is_none_or(|other| {
                            self.hope(&other.document.codes, Some(other.document.symbols()), hits, judged) != Hope::None
                        }),
                    };
                    shares.then_some(number)
                },
            )
            .flatten_iter()
            .collect()
    }

    /// What the runs of equal codes (and equal text, if the other's symbols are given) around the windows of these
    /// entries can hold.
    fn hope(
        &self,
        codes: &[Code],
        symbols: Option<&[u32]>,
        hits: &[(u32, u32)],
        judged: &mut HashMap<(u32, u32), Hope>,
    ) -> Hope {
        let own = &self.document.codes;
        let mut tries = 0;
        let mut best = Hope::None;
        let ranks = symbols.map(|_| ranks(codes));
        for (_, entry) in hits {
            let positions = &self.entries[*entry as usize].positions;
            let window = positions[0] as usize..positions[0] as usize + self.blotting.k;
            for at in memchr::memmem::find_iter(codes, &own[window]) {
                for &position in positions {
                    let position = position as usize;
                    tries += 1;
                    if tries > MAX_TRIES {
                        return Hope::Any;
                    }
                    let before = own[..position].iter().rev().zip(codes[..at].iter().rev());
                    let back = before.take_while(|(a, b)| a == b).count();
                    let ahead = own[position..].iter().zip(&codes[at..]).take_while(|(a, b)| a == b).count();
                    let (start, end) = ((position - back) as u32, (position + ahead) as u32);
                    let hope = match (symbols, &ranks) {
                        (Some(symbols), Some(ranks)) => {
                            let other = &symbols[ranks[at - back] as usize..ranks[at + ahead] as usize];
                            self.equal_texts(start, end, other).map(|(a, b)| self.judge(a, b, judged)).max()
                        }
                        _ => Some(self.judge(start, end, judged)),
                    };
                    best = best.max(hope.unwrap_or(Hope::None));
                    if best == Hope::Any || (best == Hope::EqualText && symbols.is_some()) {
                        return best;
                    }
                }
            }
        }
        best
    }

    /// The parts of a range of tokens in which all symbols equal the others, which are those of the whole range.
    fn equal_texts(&self, start: u32, end: u32, others: &[u32]) -> impl Iterator<Item = (u32, u32)> {
        let (codes, symbols) = self.document.read_tokens(start, end);
        let mut different = Vec::new();
        let mut pairs = symbols.iter().zip(others);
        for (at, _) in (start..).zip(codes).filter(|(_, code)| varies(**code)) {
            if pairs.next().is_none_or(|(a, b)| a != b) {
                different.push(at);
            }
        }
        let starts = std::iter::once(start).chain(different.clone().into_iter().map(|at| at + 1));
        starts.zip(different.into_iter().chain([end]))
    }

    fn judge(&self, start: u32, end: u32, judged: &mut HashMap<(u32, u32), Hope>) -> Hope {
        if end.saturating_sub(start) < self.settings.floor() {
            return Hope::None;
        }
        *judged.entry((start, end)).or_insert_with(|| self.hope_in(start, end))
    }

    /// Can a document that shares these entries hold a copy of something?
    fn may_share(&self, hits: &[(u32, u32)], judged: &mut HashMap<(u32, u32), Hope>) -> bool {
        // Shared entries with nothing but plain ones between them are one chain.
        hits.chunk_by(|a, b| self.n_telling[a.1 as usize + 1] == self.n_telling[b.1 as usize]).any(|chain| {
            let (first, last) = (self.beside[chain[0].1 as usize].0, self.beside[chain[chain.len() - 1].1 as usize].1);
            let (start, end) = (self.entries[first as usize].start, self.entries[last as usize].end);
            self.judge(start, end, judged) != Hope::None
        })
    }

    /// What the runs of whole neighbours in these tokens can be.
    fn hope_in(&self, start: u32, end: u32) -> Hope {
        let floor = self.settings.floor();
        let mut best = Hope::None;
        for stretch in self.stretches.iter().take_while(|stretch| stretch[0].start < end) {
            let from = stretch.partition_point(|unit| unit.start < start);
            let to = stretch.partition_point(|unit| unit.end <= end);
            if from >= to || stretch[to - 1].end - stretch[from].start < floor {
                continue;
            }
            let units = &stretch[from..to];
            if units.len() > MAX_UNITS {
                return Hope::Any;
            }
            for a in 0..units.len() {
                for b in a..units.len() {
                    best = best.max(self.hope_of(units[a].start, units[b].end));
                    if best == Hope::Any {
                        return best;
                    }
                }
            }
        }
        best
    }

    fn hope_of(&self, start: u32, end: u32) -> Hope {
        if end - start < self.settings.floor() {
            return Hope::None;
        }
        let fragment = Fragment { document: 0, start, end };
        let table = is_table(&self.document.codes[start as usize..end as usize]);
        match content(self.document, &fragment, table) {
            Some(zone) if !self.settings.zones.contains(&zone) => Hope::None,
            _ if needs_equal_text(self.document, &fragment, table, self.settings) => Hope::EqualText,
            _ => Hope::Any,
        }
    }
}

/// What a run that two documents share can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Hope {
    /// Nothing that is shown.
    None,
    /// A copy, if its text is the same.
    EqualText,
    /// A copy.
    Any,
}

/// How many symbols come before each code, and in all.
fn ranks(codes: &[Code]) -> Vec<u32> {
    let mut n = 0;
    let mut ranks = Vec::with_capacity(codes.len() + 1);
    for &code in codes {
        ranks.push(n);
        n += u32::from(varies(code));
    }
    ranks.push(n);
    ranks
}

#[cfg(test)]
pub mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::search::classes;
    use crate::search::tests::{documents, named, programs, settings};

    /// Documents in memory, some of them hidden.
    pub struct Shelf {
        pub documents: Vec<Arc<Document>>,
        posts: HashMap<u64, BTreeSet<u32>>,
    }

    impl Shelf {
        pub fn new(documents: Vec<Arc<Document>>, settings: &Settings) -> Shelf {
            let mut posts: HashMap<u64, BTreeSet<u32>> = HashMap::new();
            for (i, document) in documents.iter().enumerate() {
                kept(document, &Blotting::of(settings), &mut Vec::new(), |_, blot| {
                    posts.entry(blot).or_default().insert(i as u32);
                });
            }
            Shelf { documents, posts }
        }
    }

    impl Library for Shelf {
        fn holders(&self, blot: u64, numbers: &mut Vec<u32>) {
            numbers.extend(self.posts.get(&blot).into_iter().flatten());
        }

        fn document(&self, number: u32) -> Option<Arc<Document>> {
            self.documents.get(number as usize).cloned()
        }
    }

    proptest! {
        #![proptest_config(crate::cases(256))]

        #[test]
        fn the_classes_of_a_document_are_those_of_the_workspace_that_touch_it(programs in programs(), nested: bool) {
            let settings = Settings { nested, ..settings() };
            let documents = documents(&programs, &settings);
            let all = classes(&documents, &settings);
            for (i, document) in documents.iter().enumerate() {
                let mut others = documents.clone();
                others.remove(i);
                let clones = clones_of(document, &Shelf::new(others, &settings), &settings).expect("all can be read");
                let touching: Vec<Class> =
                    all.iter().filter(|class| class.copies.iter().any(|copy| copy.document == i as u32)).cloned().collect();
                prop_assert_eq!(named(&clones.documents, &clones.classes), named(&documents, &touching), "{:?}", programs);
            }
        }
    }
}
