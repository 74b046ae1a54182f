//! The classes of one document, from an index: what an edit needs.
//!
//! Only documents that can hold a copy of something in this one are decoded: they share its blots in such an order that
//! a run of whole units could be common to both, and that run is not of a zone that nobody asked for.
//! What then happens is the same as for the whole workspace, so the answer is the same, too.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

use dupi_grammars::token::{Code, Unit, varies};
use rayon::prelude::*;

use crate::blots::{Blotting, Kept, mix};
use crate::candidates::{Mark, covered, family_salt};
use crate::class::{Class, Fragment, Zone};
use crate::document::Document;
use crate::judge::{content, needs_equal_text, parts_are_data, parts_need_equal_text};
use crate::near::{Bodies, Documents, Graph, Place, SEEDS, View};
use crate::raw::{groups, judged, settle};
use crate::runs::{Outline, stretches};
use crate::settings::Settings;
use crate::zones::is_table;

/// Runs of up to this many units are looked at one by one for whether they could be shown; longer ones are taken to be.
const MAX_UNITS: usize = 24;

/// Places that are compared to tell whether two documents share a run, and tokens that are equal there; where it takes
/// more, they are taken to. In tables most places differ at once.
const MAX_STEPS: usize = 2048;

/// A document that holds a blot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    pub number: u32,
    /// As in [`Kept`], or 0 if it has several.
    pub text: u8,
}

/// Documents that can be asked for by blot. Numbers are its own.
pub trait Library: Sync {
    /// Calls `each` for the documents that hold a blot, with each text of it: all of them, and perhaps a few that do not.
    fn holders(&self, blot: u64, each: impl FnMut(Holder));

    /// What tells a document, with its path and its content, from all others.
    fn identity(&self, number: u32) -> u64;

    /// The number of the document with this identity.
    fn number_of(&self, identity: u64) -> Option<u32>;

    /// A document, unless it cannot be read.
    fn document(&self, number: u32) -> Option<Arc<Document>>;

    /// Its codes alone.
    fn codes(&self, number: u32) -> Option<Arc<[Code]>> {
        self.document(number).map(|document| Arc::from(&*document.codes))
    }

    /// A document; a library may remember those that were asked for lately.
    fn prepared(&self, number: u32) -> Option<Arc<Prepared>> {
        self.document(number).map(|document| Arc::new(Prepared::new(document)))
    }
}

/// A document with what is worth remembering of it for who asks again: its kept blots, its outline and its bodies, once
/// they are asked for.
pub struct Prepared {
    pub document: Arc<Document>,
    marks: OnceLock<Box<[(u64, Mark)]>>,
    outline: OnceLock<Arc<Outline>>,
    bodies: OnceLock<Bodies>,
}

impl Prepared {
    pub fn new(document: Arc<Document>) -> Prepared {
        Prepared { document, marks: OnceLock::new(), outline: OnceLock::new(), bodies: OnceLock::new() }
    }

    /// About how many bytes of memory it takes at most.
    pub fn weight(&self) -> usize {
        let marks = self.document.codes.len() / 10 * size_of::<(u64, Mark)>();
        // Bodies lie within bodies, two or three deep, and each has the seeds of those inside.
        let bodies = self.document.codes.len() / 10 * 3 * 2 * size_of::<u64>();
        self.document.weight() + marks + Outline::weight(&self.document) + bodies
    }

    pub fn bodies(&self) -> &Bodies {
        self.bodies.get_or_init(|| Bodies::of(&self.document, &mut Vec::new()))
    }

    fn outline(&self) -> Arc<Outline> {
        self.outline.get_or_init(|| Arc::new(Outline::of(&self.document))).clone()
    }

    /// Where something can stand that has one of the sorted `blots`.
    fn ranges(&self, blots: &[u64], blotting: &Blotting) -> Vec<Range<u32>> {
        let marks = self.marks.get_or_init(|| marks(&self.document, blotting, &mut Vec::new()).into());
        ranges_of(marks, blots, blotting, self.document.codes.len() as u32)
    }
}

fn ranges_of(marks: &[(u64, Mark)], blots: &[u64], blotting: &Blotting, n_tokens: u32) -> Vec<Range<u32>> {
    let marks = marks.iter().map(|(blot, mark)| Mark { shared: blots.binary_search(blot).is_ok(), ..*mark });
    covered(marks, blotting, n_tokens)
}

/// The kept blots of a document, none of them shared as yet.
fn marks(document: &Document, blotting: &Blotting, scratch: &mut Vec<u64>) -> Vec<(u64, Mark)> {
    let mut marks = Vec::new();
    kept(document, blotting, scratch, |kept, blot| marks.push((blot, mark(&kept))));
    marks
}

fn mark(kept: &Kept) -> Mark {
    Mark { run_end: kept.run_end, plain: kept.is_plain(), shared: false }
}

/// Classes, and the documents that they name by index.
#[derive(Default)]
pub struct Clones {
    pub documents: Vec<Arc<Document>>,
    /// Worst first.
    pub classes: Vec<Class>,
}

/// Where the near copies in a document come from.
pub struct NearSource<'a> {
    /// Of all documents, this one among them.
    pub graph: &'a Graph,
    /// The identity of the document.
    pub own: u64,
    /// Finds a document by its identity.
    pub document: &'a dyn Fn(u64) -> Option<Arc<Document>>,
}

/// The classes that have a copy in `document`, which is not one of the library's.
/// Or nothing, if a document of the library cannot be read.
pub fn clones_of(
    document: &Arc<Prepared>,
    library: &impl Library,
    settings: &Settings,
    near: Option<NearSource>,
) -> Option<Clones> {
    let prepared = document;
    let document = &prepared.document;
    let query = Query::new(document, settings);
    let partners = query.partners(library, Wanted::Copies);
    let mut shared = query.repeated();
    shared.extend(partners.iter().flat_map(|partner| &partner.blots));
    shared.sort_unstable();
    shared.dedup();
    let with_ranges = |prepared: Arc<Prepared>| {
        let ranges = prepared.ranges(&shared, &query.blotting);
        (prepared, ranges)
    };
    let mut partners: Vec<(Arc<Prepared>, Vec<Range<u32>>)> = partners
        .par_iter()
        .with_min_len(4)
        .map(|partner| library.prepared(partner.number).map(with_ranges))
        .collect::<Option<_>>()?;
    let ranges = ranges_of(&query.marks, &shared, &query.blotting, document.codes.len() as u32);
    partners.push((Arc::clone(prepared), ranges));
    partners.sort_by(|a, b| a.0.document.shown.cmp(&b.0.document.shown));
    let documents: Vec<Arc<Document>> = partners.iter().map(|(prepared, _)| prepared.document.clone()).collect();
    let outlines: Vec<Arc<Outline>> = partners.iter().map(|(prepared, _)| prepared.outline()).collect();
    let ranges: Vec<Vec<Range<u32>>> = partners.into_iter().map(|(_, ranges)| ranges).collect();
    let at = documents.partition_point(|other| other.shown < document.shown);
    let own = at as u32;
    let mut groups = groups(&documents, &ranges, settings, &outlines);
    groups.retain(|group| group.places.iter().any(|place| place.document == own));
    let raw = judged(&documents, settings, &groups).into_iter().map(|raw| raw.class);
    let touching = raw.filter(|class| class.copies.iter().any(|copy| copy.document == own)).collect();
    let mut found = Clones { classes: touching, documents };
    if let Some(near) = near {
        found.add(near.clones(prepared, settings)?);
    }
    found.classes = settle(found.classes, settings, |i| &found.documents[i as usize].shown).shown;
    Some(found)
}

impl Clones {
    /// Takes classes of other documents, all of which are put in the order of their paths.
    fn add(&mut self, other: Clones) {
        if other.classes.is_empty() {
            return;
        }
        let mut documents: Vec<Arc<Document>> = self.documents.iter().chain(&other.documents).cloned().collect();
        documents.sort_by(|a, b| a.shown.cmp(&b.shown));
        documents.dedup_by(|a, b| a.shown == b.shown);
        let mut classes = Vec::with_capacity(self.classes.len() + other.classes.len());
        for Clones { documents: named, classes: of_named } in [std::mem::take(self), other] {
            let place =
                |document: &Arc<Document>| documents.partition_point(|other| other.shown < document.shown) as u32;
            let places: Vec<u32> = named.iter().map(place).collect();
            for mut class in of_named {
                let mut copies: Vec<(Fragment, Range<u32>)> = class.copies.into_iter().zip(class.at).collect();
                copies.iter_mut().for_each(|(copy, _)| copy.document = places[copy.document as usize]);
                copies.sort_by_key(|(copy, _)| *copy);
                (class.copies, class.at) = copies.into_iter().unzip();
                classes.push(class);
            }
        }
        *self = Clones { documents, classes };
    }
}

impl NearSource<'_> {
    /// The near copies in a document, before what lies in others is dropped.
    fn clones(&self, document: &Prepared, settings: &Settings) -> Option<Clones> {
        let documents = Named { source: self, identities: RefCell::default() };
        let words = document.bodies().list.iter().map(|body| body.word.hash);
        let mut classes = View::new(self.graph, settings).classes_of(words, &documents)?;
        let own = documents.number(self.own)?;
        classes.retain(|class| class.copies.iter().any(|copy| copy.document == own));
        let documents = documents.identities.into_inner().into_iter();
        let documents = documents.map(|identity| match identity == self.own {
            true => Some(Arc::clone(&document.document)),
            false => (self.document)(identity),
        });
        Some(Clones { documents: documents.collect::<Option<_>>()?, classes })
    }
}

/// Documents that are numbered in the order in which they are asked for.
struct Named<'a> {
    source: &'a NearSource<'a>,
    identities: RefCell<Vec<u64>>,
}

impl Documents for Named<'_> {
    fn number(&self, identity: u64) -> Option<u32> {
        let mut identities = self.identities.borrow_mut();
        let at = identities.iter().position(|other| *other == identity).unwrap_or_else(|| {
            identities.push(identity);
            identities.len() - 1
        });
        u32::try_from(at).ok()
    }

    fn document(&self, place: &Place) -> Option<Arc<Document>> {
        (self.source.document)(place.document)
    }
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
        ranges_of(&marks(document, blotting, scratch), blots, blotting, document.codes.len() as u32)
    };
    documents.par_iter().with_min_len(8).map_init(Vec::new, ranges).collect()
}

/// Calls `each` for each kept blot of a document, with the blot as it is stored: apart from those of other families.
pub fn kept(document: &Document, blotting: &Blotting, scratch: &mut Vec<u64>, mut each: impl FnMut(Kept, u64)) {
    let family = family_salt(document.language.family);
    blotting.kept(&document.codes, document.symbols(), scratch, |kept| each(kept, mix(kept.blot ^ family)));
}

/// Calls `each` for each blot by which an index finds a document, with something of its text: its kept blots, and the
/// seeds of near copies if these are others.
pub fn posted(document: &Document, blotting: &Blotting, scratch: &mut Vec<u64>, mut each: impl FnMut(u64, u8)) {
    kept(document, blotting, scratch, |kept, blot| each(blot, kept.text));
    if *blotting != SEEDS {
        kept(document, &SEEDS, scratch, |kept, blot| each(blot, kept.text));
    }
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
    /// The texts of their windows, a bit for each.
    texts: u16,
    /// Whether a copy of something could have it at all: it stands among units that count.
    eligible: bool,
}

/// A document as a question.
pub struct Query<'a> {
    document: &'a Document,
    blotting: Blotting,
    settings: &'a Settings,
    marks: Vec<(u64, Mark)>,
    entries: Vec<Entry>,
    /// Entries before each that are not plain.
    n_telling: Vec<u32>,
    /// For each entry, the first and the last of the plain ones around it that stand in a row with it.
    beside: Vec<(u32, u32)>,
    stretches: Vec<Vec<Unit>>,
    /// Where each stretch starts, and the furthest end of those up to it.
    reach: Vec<(u32, u32)>,
    /// What was found out about ranges of tokens: many documents share the same ones.
    judged: Mutex<HashMap<(u32, u32), Hope>>,
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
        let (mut entries, mut marks): (Vec<Entry>, Vec<(u64, Mark)>) = (Vec::new(), Vec::new());
        kept(document, &blotting, &mut Vec::new(), |kept, blot| {
            marks.push((blot, mark(&kept)));
            if let Some(last) = entries.last_mut() {
                last.end = (kept.run_end - 1 + k).min(n_tokens);
            }
            match entries.last_mut() {
                Some(last) if last.blot == blot => {
                    last.end = n_tokens;
                    last.texts |= 1 << kept.text;
                    last.eligible |= eligible(kept.position);
                    last.positions.push(kept.position);
                }
                _ => entries.push(Entry {
                    blot,
                    positions: vec![kept.position],
                    start: (kept.run_end + 1).saturating_sub(w),
                    end: n_tokens,
                    plain: kept.is_plain(),
                    texts: 1 << kept.text,
                    eligible: eligible(kept.position),
                }),
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
        Query {
            document,
            blotting,
            settings,
            marks,
            entries,
            n_telling,
            beside,
            stretches: lists,
            reach,
            judged: Mutex::default(),
        }
    }

    /// All blots, sorted.
    pub fn blots(&self) -> Vec<u64> {
        let mut blots: Vec<u64> = self.entries.iter().map(|entry| entry.blot).collect();
        blots.sort_unstable();
        blots.dedup();
        blots
    }

    /// The blots that stand in two places.
    fn repeated(&self) -> Vec<u64> {
        let mut blots: Vec<u64> =
            self.entries.iter().flat_map(|entry| entry.positions.iter().take(2).map(|_| entry.blot)).collect();
        blots.sort_unstable();
        blots.chunk_by(|a, b| a == b).filter(|same| same.len() > 1).map(|same| same[0]).collect()
    }

    /// The documents that can hold a copy of something in this one, by number.
    pub fn partners(&self, library: &impl Library, wanted: Wanted) -> Vec<Partner> {
        let mut order: Vec<u32> =
            (0..self.entries.len() as u32).filter(|&i| self.entries[i as usize].eligible).collect();
        order.sort_by_key(|&i| (self.entries[i as usize].blot, i));
        let same = |a: &u32, b: &u32| self.entries[*a as usize].blot == self.entries[*b as usize].blot;
        let same: Vec<&[u32]> = order.chunk_by(same).collect();
        let hits_of = |same: &&[u32]| {
            let mut hits = Vec::new();
            library.holders(self.entries[same[0] as usize].blot, |holder| {
                hits.extend(same.iter().filter_map(|&i| {
                    let entry = &self.entries[i as usize];
                    let other_text = holder.text > 0 && entry.texts & 1 << holder.text == 0;
                    // The blot of a plain window is its text: with another one it is another blot.
                    let is_same = !(entry.plain && other_text);
                    is_same.then_some(Hit { document: holder.number, entry: i, other_text })
                }));
            });
            hits
        };
        let mut hits: Vec<Hit> = same.par_iter().with_min_len(64).flat_map_iter(hits_of).collect();
        hits.par_sort_unstable();
        hits.dedup_by_key(|hit| (hit.document, hit.entry));
        let documents: Vec<&[Hit]> = hits.chunk_by(|a, b| a.document == b.document).collect();
        let own = (Side::by_codes(&self.document.codes), OnceLock::new());
        let shares = |hits: &&[Hit]| {
            let number = hits[0].document;
            let chances = self.chances(hits, wanted);
            let most = match () {
                _ if chances.alike && wanted == Wanted::Shape => Hope::EqualText,
                _ if chances.alike => Hope::Any,
                _ if chances.equal => Hope::EqualText,
                _ => return None,
            };
            // Only now is anything decoded: the codes alone, then the names where only equal text counts.
            let by_codes = |codes: Arc<[Code]>| self.hope(&own.0, &Side::by_codes(&codes), hits, most);
            let by_text = |other: Arc<Prepared>| {
                let own = own.1.get_or_init(|| Side::by_text(self.document));
                self.hope(own, &Side::by_text(&other.document), hits, Hope::EqualText)
            };
            // What cannot be read is for who needs it to tell.
            let hope = match library.codes(number).map_or(Hope::Any, by_codes) {
                hope if wanted == Wanted::Shape => hope,
                Hope::EqualText if chances.equal => library.prepared(number).map_or(Hope::Any, by_text),
                Hope::EqualText => Hope::None,
                hope => hope,
            };
            let blots = || hits.iter().map(|hit| self.entries[hit.entry as usize].blot).collect();
            (hope != Hope::None).then(|| Partner { number, blots: blots() })
        };
        documents.par_iter().with_min_len(8).filter_map(shares).collect()
    }

    /// What the runs of equal codes (or equal text, if there is text on both sides) around the windows of these entries
    /// can hold.
    /// `most`: more than that there cannot be.
    fn hope(&self, own: &Side, other: &Side, hits: &[Hit], most: Hope) -> Hope {
        let k = self.blotting.k;
        let (mut steps, mut best) = (0, Hope::None);
        for hit in hits.iter().filter(|hit| other.text.is_none() || !hit.other_text) {
            let positions = &self.entries[hit.entry as usize].positions;
            let by_text = own.windows_by_text(positions, k);
            let finder = memchr::memmem::Finder::new(&own.codes[positions[0] as usize..][..k]);
            let mut from = 0;
            // One match may overlap the next: where a pattern repeats itself only one of them is at the right distance.
            while let Some(found) = finder.find(&other.codes[from..]) {
                let at = from + found;
                from = at + 1;
                // In a table one pattern stands in very many places, and most have another text.
                let equal = match (&by_text, &other.text) {
                    (Some(by_text), Some(text)) => by_text.get(text.symbols(at, k)).map_or(&[][..], Vec::as_slice),
                    _ => positions,
                };
                for &position in equal {
                    let run = own.run(position as usize, other, at);
                    steps += 1 + run.len();
                    if steps > MAX_STEPS {
                        return most;
                    }
                    best = best.max(self.judge(run.start, run.end).min(most));
                    if best == most {
                        return best;
                    }
                }
            }
        }
        best
    }

    fn judge(&self, start: u32, end: u32) -> Hope {
        if end.saturating_sub(start) < self.settings.floor() {
            return Hope::None;
        }
        let known = self.judged.lock().ok().and_then(|judged| judged.get(&(start, end)).copied());
        known.unwrap_or_else(|| {
            let hope = self.hope_in(start, end);
            if let Ok(mut judged) = self.judged.lock() {
                judged.insert((start, end), hope);
            }
            hope
        })
    }

    /// What a document that shares these entries can hold.
    fn chances(&self, hits: &[Hit], wanted: Wanted) -> Chances {
        let hope =
            |first: u32, last: u32| self.judge(self.entries[first as usize].start, self.entries[last as usize].end);
        // Shared entries with nothing but plain ones between them are one chain.
        let beside = |a: &Hit, b: &Hit| self.n_telling[a.entry as usize + 1] == self.n_telling[b.entry as usize];
        let alike = hits.chunk_by(beside).any(|chain| {
            let (first, last) = (chain[0].entry, chain[chain.len() - 1].entry);
            let hope = hope(self.beside[first as usize].0, self.beside[last as usize].1);
            hope == Hope::Any || (wanted == Wanted::Shape && hope != Hope::None)
        });
        // Where texts are equal those of plain windows are, too.
        let next = |a: &Hit, b: &Hit| !a.other_text && !b.other_text && a.entry + 1 == b.entry;
        let equal = hits
            .chunk_by(next)
            .any(|chain| !chain[0].other_text && hope(chain[0].entry, chain[chain.len() - 1].entry) != Hope::None);
        Chances { alike, equal }
    }

    /// What the runs of whole neighbours in these tokens can be.
    fn hope_in(&self, start: u32, end: u32) -> Hope {
        let floor = self.settings.floor();
        let mut best = Hope::None;
        let passed = self.reach.partition_point(|(_, furthest)| *furthest <= start);
        for stretch in self.stretches[passed..].iter().take_while(|stretch| stretch[0].start < end) {
            let from = stretch.partition_point(|unit| unit.start < start);
            let to = stretch.partition_point(|unit| unit.end <= end);
            if from >= to || stretch[to - 1].end - stretch[from].start < floor {
                continue;
            }
            let units = &stretch[from..to];
            let all = Fragment { document: 0, start: units[0].start, end: units[units.len() - 1].end };
            let data_counts = self.settings.zones.contains(&Zone::Data) || units[0].flags & Unit::IMPORT != 0;
            if !data_counts && parts_are_data(self.document, &all, self.settings) {
                continue;
            }
            let by_text = parts_need_equal_text(self.document, &all, self.settings);
            if units.len() > MAX_UNITS {
                best = best.max(if by_text { Hope::EqualText } else { Hope::Any });
            }
            if best == Hope::Any {
                return best;
            }
            if units.len() > MAX_UNITS || (by_text && best == Hope::EqualText) {
                continue;
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

/// What makes a document worth looking at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// It can hold a copy.
    Copies,
    /// It can hold something of the same shape: classes of one shape are judged together, whatever their texts are.
    Shape,
}

/// A document that can hold a copy of something.
pub struct Partner {
    pub number: u32,
    /// What it shares.
    pub blots: Vec<u64>,
}

/// An entry that a document shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Hit {
    document: u32,
    entry: u32,
    /// Surely of another text there.
    other_text: bool,
}

/// What can be said of two documents from their blots alone.
struct Chances {
    /// They may share something that is a copy whatever its names are.
    alike: bool,
    /// They may share something of equal text.
    equal: bool,
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

/// One of two documents that are compared.
struct Side<'a> {
    codes: &'a [Code],
    /// Only if it matters.
    text: Option<Text<'a>>,
}

struct Text<'a> {
    symbols: &'a [u32],
    /// How many of them come before each code.
    ranks: Vec<u32>,
}

impl Text<'_> {
    fn symbol(&self, token: usize) -> u32 {
        self.symbols[self.ranks[token] as usize]
    }

    /// Those of `n` tokens.
    fn symbols(&self, token: usize, n: usize) -> &[u32] {
        &self.symbols[self.ranks[token] as usize..self.ranks[token + n] as usize]
    }
}

impl<'a> Side<'a> {
    fn by_codes(codes: &'a [Code]) -> Side<'a> {
        Side { codes, text: None }
    }

    fn by_text(document: &'a Document) -> Side<'a> {
        let text = Text { symbols: document.symbols(), ranks: ranks(&document.codes) };
        Side { codes: &document.codes, text: Some(text) }
    }

    /// Windows of `k` tokens and of one shape by their text, if texts matter.
    fn windows_by_text(&self, positions: &[u32], k: usize) -> Option<HashMap<&[u32], Vec<u32>>> {
        let text = self.text.as_ref()?;
        let mut by_text: HashMap<&[u32], Vec<u32>> = HashMap::new();
        for &position in positions {
            by_text.entry(text.symbols(position as usize, k)).or_default().push(position);
        }
        Some(by_text)
    }

    /// The tokens here, from those before the i-th to those from it on, that equal those around the j-th of the other.
    fn run(&self, i: usize, other: &Side, j: usize) -> Range<u32> {
        let equal = |i: usize, j: usize| {
            let texts = self.text.as_ref().zip(other.text.as_ref());
            self.codes[i] == other.codes[j]
                && (!varies(self.codes[i]) || texts.is_none_or(|(own, other)| own.symbol(i) == other.symbol(j)))
        };
        let back = (1..=i.min(j)).take_while(|n| equal(i - n, j - n)).count();
        let rest = (self.codes.len() - i).min(other.codes.len() - j);
        let ahead = (0..rest).take_while(|n| equal(i + n, j + n)).count();
        (i - back) as u32..(i + ahead) as u32
    }
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
        pub identities: Vec<u64>,
        posts: HashMap<u64, BTreeSet<(u32, u8)>>,
    }

    impl Shelf {
        pub fn new(documents: Vec<Arc<Document>>, settings: &Settings) -> Shelf {
            let mut posts: HashMap<u64, BTreeSet<(u32, u8)>> = HashMap::new();
            for (i, document) in documents.iter().enumerate() {
                posted(document, &Blotting::of(settings), &mut Vec::new(), |blot, text| {
                    posts.entry(blot).or_default().insert((i as u32, text));
                });
            }
            let identities = documents.iter().map(|document| identity(document)).collect();
            Shelf { documents, identities, posts }
        }
    }

    /// A fingerprint of a path and a content.
    pub fn identity(document: &Document) -> u64 {
        let mut bytes = document.shown.clone().into_bytes();
        bytes.extend(document.codes.iter());
        bytes.extend(document.symbols().iter().flat_map(|symbol| symbol.to_le_bytes()));
        xxhash_rust::xxh3::xxh3_64(&bytes)
    }

    impl Library for Shelf {
        fn identity(&self, number: u32) -> u64 {
            self.identities[number as usize]
        }

        fn number_of(&self, identity: u64) -> Option<u32> {
            self.identities.iter().position(|&other| other == identity).map(|number| number as u32)
        }

        fn holders(&self, blot: u64, mut each: impl FnMut(Holder)) {
            for &(number, text) in self.posts.get(&blot).into_iter().flatten() {
                each(Holder { number, text });
            }
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
            let identities: Vec<u64> = documents.iter().map(|document| identity(document)).collect();
            let graph = Graph::find(&documents, &identities, settings.min_similarity);
            for (i, document) in documents.iter().enumerate() {
                let mut others = documents.clone();
                others.remove(i);
                let shelf = Shelf::new(others, &settings);
                let find = |other: u64| documents.iter().find(|document| identity(document) == other).cloned();
                let near = NearSource { graph: &graph, own: identity(document), document: &find };
                let prepared = Arc::new(Prepared::new(Arc::clone(document)));
                let clones = clones_of(&prepared, &shelf, &settings, Some(near)).expect("all can be read");
                let touching: Vec<Class> =
                    all.iter().filter(|class| class.copies.iter().any(|copy| copy.document == i as u32)).cloned().collect();
                prop_assert_eq!(named(&clones.documents, &clones.classes), named(&documents, &touching), "{:?}", programs);
            }
        }
    }
}
