//! The hashes of all documents of a workspace with their tables, kept: only documents that came are hashed anew.
//!
//! ```text
//! file:   the frame of `bytes.rs`, its key a fingerprint of what is hashed
//! body:   distance  blocks  n  n × identity u64  n × number of its prints
//!         of each print, one column after the other: first line · lines · hash u64
//!         m  m × hash u64, in order  and for each table m × place of a hash u32
//! numbers without a size are LEB128; how many tables there are follows from distance and blocks
//! ```
//!
//! With weights by frequency a document's hash depends on all of them, so all are hashed anew after any change.

use std::collections::HashMap;
use std::io;

use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use super::prints::{Frequencies, Grain, Print, Weighting, prints};
use super::{Blocking, Tables, distance, find_all};
use crate::answer::Member;
use crate::bytes::{Frame, Reader, put};
use crate::clones::Library;

/// 1: the first.
const FRAME: Frame = Frame { magic: b"dupisim\0", version: 1 };
/// How hard the file is compressed: hashes do not become smaller by it, the rest does.
const LEVEL: i32 = 1;

/// What is hashed, and what counts as near.
#[derive(Clone, Debug)]
pub struct Sketching {
    pub grain: Grain,
    pub weighting: Weighting,
    /// Files or functions with fewer are left out.
    pub min_tokens: u32,
    pub blocking: Blocking,
}

impl Sketching {
    /// A fingerprint of what the hashes depend on.
    pub(crate) fn key(&self) -> u64 {
        let Sketching { grain, weighting, min_tokens, .. } = self;
        xxh3_64(format!("{} {grain:?} {weighting:?} {min_tokens}", crate::engine()).as_bytes())
    }
}

/// The hashes of the documents with these identities, in the order of their paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Sketches {
    key: u64,
    identities: Vec<u64>,
    prints: Vec<Vec<Print>>,
    tables: Tables,
}

/// What has a hash: a document, by its place in the order of paths, and which lines of it (from 0, the end exclusive).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Held {
    pub document: u32,
    pub line: u32,
    pub end: u32,
}

/// Everything that has one of two hashes near each other. If both are the same, it is all on the left.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Near {
    pub distance: u32,
    pub left: Vec<Held>,
    pub right: Vec<Held>,
}

impl Sketches {
    /// Hashes the members, which are in the order of their paths, but for those whose hashes are known from before.
    /// Nothing, if one cannot be read.
    pub(crate) fn find(
        members: &[Member],
        library: &impl Library,
        sketching: &Sketching,
        before: Option<Sketches>,
    ) -> Option<Sketches> {
        let identities: Vec<u64> = members.iter().map(|member| member.identity).collect();
        let before = before.filter(|before| before.key == sketching.key());
        if let Some(same) = before.as_ref().filter(|before| before.identities == identities) {
            if same.tables.blocking == sketching.blocking {
                return before;
            }
            return Some(Sketches::new(sketching, identities, same.prints.clone()));
        }
        let known: HashMap<u64, &Vec<Print>> = match &before {
            Some(before) if sketching.weighting == Weighting::Tf => {
                before.identities.iter().copied().zip(&before.prints).collect()
            }
            _ => HashMap::new(),
        };
        let frequencies = match sketching.weighting {
            Weighting::Tf => None,
            Weighting::TfIdf => {
                let mut frequencies = Frequencies::new();
                members.iter().try_for_each(|member| {
                    frequencies.count(&*library.document(member.number)?);
                    Some(())
                })?;
                Some(frequencies)
            }
        };
        let hashed = |member: &Member| match known.get(&member.identity) {
            Some(&known) => Some(known.clone()),
            None => {
                let document = library.document(member.number)?;
                Some(prints(&document, sketching.grain, sketching.min_tokens, frequencies.as_ref()))
            }
        };
        let prints = members.par_iter().with_min_len(4).map(hashed).collect::<Option<Vec<_>>>()?;
        Some(Sketches::new(sketching, identities, prints))
    }

    fn new(sketching: &Sketching, identities: Vec<u64>, prints: Vec<Vec<Print>>) -> Sketches {
        let hashes: Vec<u64> = prints.iter().flatten().map(|print| print.hash).collect();
        Sketches { key: sketching.key(), identities, prints, tables: Tables::new(&hashes, sketching.blocking.clone()) }
    }

    /// How many files or functions have a hash.
    pub fn len(&self) -> usize {
        self.prints.iter().map(Vec::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The hashes of a document, by its place in the order of paths.
    pub fn of(&self, document: u32) -> &[Print] {
        self.prints.get(document as usize).map_or(&[], Vec::as_slice)
    }

    /// Everything with a hash near this one, the nearest first.
    pub fn near(&self, hash: u64) -> Vec<(u32, Held)> {
        let near: HashMap<u64, u32> = self.tables.near(hash).map(|other| (other, distance(hash, other))).collect();
        let mut found: Vec<(u32, Held)> =
            self.held().filter_map(|(other, held)| near.get(&other).map(|&distance| (distance, held))).collect();
        found.sort_unstable();
        found
    }

    /// All pairs of hashes near each other, the nearest first.
    pub fn all(&self) -> Vec<Near> {
        let mut holders: HashMap<u64, Vec<Held>> = HashMap::new();
        self.held().for_each(|(hash, held)| holders.entry(hash).or_default().push(held));
        let of = |hash: u64| holders.get(&hash).cloned().unwrap_or_default();
        let same = holders.values().filter(|held| held.len() > 1);
        let mut all: Vec<Near> = same.map(|held| Near { distance: 0, left: held.clone(), right: Vec::new() }).collect();
        for (a, b) in find_all(&self.tables.hashes, &self.tables.blocking) {
            let (mut left, mut right) = (of(a), of(b));
            if right < left {
                std::mem::swap(&mut left, &mut right);
            }
            all.push(Near { distance: distance(a, b), left, right });
        }
        all.par_sort_unstable();
        all
    }

    fn held(&self) -> impl Iterator<Item = (u64, Held)> {
        let documents = (0..).zip(&self.prints);
        documents.flat_map(|(document, prints)| {
            prints
                .iter()
                .map(move |print| (print.hash, Held { document, line: print.lines.start, end: print.lines.end }))
        })
    }

    pub fn write(&self) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        put(&mut out, u64::from(self.tables.blocking.distance));
        put(&mut out, u64::from(self.tables.blocking.blocks));
        put(&mut out, self.identities.len() as u64);
        self.identities.iter().for_each(|identity| out.extend(identity.to_le_bytes()));
        self.prints.iter().for_each(|prints| put(&mut out, prints.len() as u64));
        let prints = || self.prints.iter().flatten();
        prints().for_each(|print| put(&mut out, u64::from(print.lines.start)));
        prints().for_each(|print| put(&mut out, u64::from(print.lines.end - print.lines.start)));
        prints().for_each(|print| out.extend(print.hash.to_le_bytes()));
        put(&mut out, self.tables.hashes.len() as u64);
        self.tables.hashes.iter().for_each(|hash| out.extend(hash.to_le_bytes()));
        self.tables.orders.iter().flatten().for_each(|place| out.extend(place.to_le_bytes()));
        FRAME.wrap(self.key, &out, LEVEL)
    }

    /// Nothing, unless these bytes are sketches of this version.
    pub fn read(bytes: &[u8]) -> Option<Sketches> {
        let (key, body) = FRAME.open(bytes)?;
        let body = zstd::stream::decode_all(body).ok()?;
        let mut reader = Reader::new(&body);
        let blocking = Blocking::new(reader.u32()?, reader.u32()?).ok()?;
        let n = reader.count(9)?;
        let identities = (0..n).map(|_| reader.u64()).collect::<Option<Vec<u64>>>()?;
        let counts = (0..n).map(|_| reader.size()).collect::<Option<Vec<usize>>>()?;
        let n_prints = counts.iter().try_fold(0usize, |sum, &n| sum.checked_add(n))?;
        if n_prints > reader.len() {
            return None;
        }
        let starts = (0..n_prints).map(|_| reader.u32()).collect::<Option<Vec<u32>>>()?;
        let lines = (0..n_prints).map(|_| reader.u32()).collect::<Option<Vec<u32>>>()?;
        let mut all = starts
            .into_iter()
            .zip(lines)
            .map(|(start, lines)| Some(Print { lines: start..start.checked_add(lines)?, hash: reader.u64()? }));
        let prints = counts.iter().map(|&n| all.by_ref().take(n).collect()).collect::<Option<Vec<Vec<Print>>>>()?;
        drop(all);
        let n_hashes = reader.count(8)?;
        let hashes = (0..n_hashes).map(|_| reader.u64()).collect::<Option<Vec<u64>>>()?;
        let mut order = || -> Option<Vec<u32>> {
            let places = reader.take(n_hashes.checked_mul(4)?)?.as_chunks().0;
            let places: Vec<u32> = places.iter().map(|place| u32::from_le_bytes(*place)).collect();
            places.iter().all(|&place| (place as usize) < n_hashes).then_some(places)
        };
        let orders = blocking.arrangements.iter().map(|_| order()).collect::<Option<_>>()?;
        reader.is_empty().then_some(Sketches { key, identities, prints, tables: Tables { blocking, hashes, orders } })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clones::tests::Shelf;
    use crate::document::Document;
    use crate::search::tests::{documents, settings};

    fn programs(seeds: &[u8]) -> Vec<Arc<Document>> {
        let program = |seed: &u8| -> Vec<(u8, u8, u8)> {
            (0..60u8).map(|i| (i.wrapping_mul(7).wrapping_add(*seed), i % 3, i % 2)).collect()
        };
        documents(&seeds.iter().map(program).collect::<Vec<_>>(), &settings())
    }

    fn members(n: usize, identity: impl Fn(u32) -> u64) -> Vec<Member> {
        (0..n as u32).map(|number| Member { identity: identity(number), number }).collect()
    }

    fn sketching(weighting: Weighting) -> Sketching {
        let blocking = Blocking::new(3, 5).expect("few tables");
        Sketching { grain: Grain::Files, weighting, min_tokens: 10, blocking }
    }

    #[test]
    fn what_is_kept_is_hashed_once_and_the_rest_as_if_from_scratch() {
        for weighting in [Weighting::Tf, Weighting::TfIdf] {
            let sketching = sketching(weighting);
            let old = Shelf::new(programs(&[1, 2, 1, 3]), &settings());
            let before = Sketches::find(&members(4, u64::from), &old, &sketching, None).expect("readable");
            assert_eq!(before.all()[0].distance, 0);
            assert_eq!(before.all()[0].left.iter().map(|held| held.document).collect::<Vec<_>>(), [0, 2]);
            // The third is another now; the others are not even read again where nothing else decides their hashes.
            let new = Shelf::new(programs(&[1, 2, 9, 3]), &settings());
            let now = members(4, |number| if number == 2 { 77 } else { u64::from(number) });
            let scratch = Sketches::find(&now, &new, &sketching, None).expect("readable");
            let updated = Sketches::find(&now, &new, &sketching, Some(before.clone())).expect("readable");
            assert_eq!(updated, scratch);
            assert_ne!(updated, before);
            let wider = Sketching { blocking: Blocking::new(6, 8).expect("few tables"), ..sketching.clone() };
            let scratch = Sketches::find(&now, &new, &wider, None).expect("readable");
            assert_eq!(Sketches::find(&now, &new, &wider, Some(updated)).expect("readable"), scratch);
        }
    }

    #[test]
    fn one_hash_is_near_what_all_pairs_say() {
        let shelf = Shelf::new(programs(&[1, 2, 1, 3, 2, 250]), &settings());
        let wide = Sketching { blocking: Blocking::new(9, 11).expect("few tables"), ..sketching(Weighting::Tf) };
        let sketches = Sketches::find(&members(6, u64::from), &shelf, &wide, None).expect("readable");
        let mut pairs: Vec<(u32, u32, u32)> = Vec::new();
        for Near { distance, left, right } in sketches.all() {
            let both: Vec<u32> = left.iter().chain(&right).map(|held| held.document).collect();
            let side = |document: u32| right.iter().any(|held| held.document == document);
            for &a in &both {
                let others = both.iter().filter(|&&b| a != b && (distance == 0 || side(a) != side(b)));
                pairs.extend(others.map(|&b| (a, distance, b)));
            }
        }
        pairs.sort_unstable();
        let mut queried: Vec<(u32, u32, u32)> = Vec::new();
        for document in 0..6 {
            let near = sketches.near(sketches.of(document)[0].hash).into_iter();
            let others = near.filter(|(_, held)| held.document != document);
            queried.extend(others.map(|(distance, held)| (document, distance, held.document)));
        }
        queried.sort_unstable();
        assert_eq!(queried, pairs);
        assert!(!pairs.is_empty());
    }

    #[test]
    fn sketches_are_read_as_they_were_written_or_not_at_all() {
        let shelf = Shelf::new(programs(&[1, 2, 1]), &settings());
        let sketches = Sketches::find(&members(3, u64::from), &shelf, &sketching(Weighting::Tf), None).unwrap();
        let bytes = sketches.write().expect("written");
        assert_eq!(Sketches::read(&bytes), Some(sketches));
        for i in 0..bytes.len() {
            assert_eq!(Sketches::read(&bytes[..i]), None);
            let mut flipped = bytes.clone();
            flipped[i] ^= 0x40;
            assert_eq!(Sketches::read(&flipped), None);
        }
    }
}
