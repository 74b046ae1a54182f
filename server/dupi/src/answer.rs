//! The raw classes of a whole workspace, kept: brought up to date by the documents that changed, not found anew.
//!
//! Exact, not nearly so: a group of places changes only if its content stands in a document that came or went.
//! The contents of those are found by the same search, over the documents that share something with them;
//! everything kept under such a content is dropped and judged anew.
//!
//! ```text
//! file:  "dupians\0"  version u32  settings u64  body (zstd)  xxh3 of all before u64
//! body:  n  n × identity u64
//!        n  n × (key u64, id u64, kind u8, zone u8, similarity f64, tokens,
//!                n  n × (document: delta, start: delta within the document, first line, lines))
//! numbers without a size are LEB128
//! ```

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::blots::Blotting;
use crate::bytes::{Reader, put};
use crate::candidates::shared_ranges;
use crate::class::{Class, Fragment, Kind, Zone};
use crate::clones::{Library, Query, decode, ranges};
use crate::document::Document;
use crate::raw::{Raw, groups, judged, key, raw_classes};
use crate::settings::Settings;

/// 1: the first.
const VERSION: u32 = 1;
const MAGIC: &[u8; 8] = b"dupians\0";
const HEADER: usize = 8 + 4 + 8;
const CHECKSUM: usize = 8;

/// How hard the file is compressed: it is written at every commit, so fast.
const LEVEL: i32 = 1;

/// If more than one document in so many changed, finding everything anew is as fast.
const MAX_SHARE_CHANGED: usize = 8;

/// A document of a workspace: which path and content it has, and its number in the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    pub identity: u64,
    pub number: u32,
}

/// The raw classes of the documents with these identities, in the order of their paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// A fingerprint of what judging depends on.
    settings: u64,
    identities: Vec<u64>,
    raw: Vec<Raw>,
}

impl Answer {
    /// Finds all raw classes of the members, which are in the order of their paths. Nothing, if one cannot be read.
    pub fn find(members: &[Member], library: &impl Library, settings: &Settings) -> Option<Answer> {
        let numbers: Vec<u32> = members.iter().map(|member| member.number).collect();
        let documents: Vec<Arc<Document>> =
            decode(&numbers, library)?.into_iter().map(|(_, document)| document).collect();
        let raw = raw_classes(&documents, &shared_ranges(&documents, &Blotting::of(settings)), settings);
        let identities = members.iter().map(|member| member.identity).collect();
        Some(Answer { settings: fingerprint(settings), identities, raw })
    }

    /// The answer for other members, by what changed. `gone` finds a document that is no member any more.
    /// Nothing, if that is not possible: then it must be found anew.
    pub fn update(
        &self,
        members: &[Member],
        library: &impl Library,
        gone: impl Fn(u64) -> Option<Arc<Document>>,
        settings: &Settings,
    ) -> Option<Answer> {
        if self.settings != fingerprint(settings) {
            return None;
        }
        let identities: Vec<u64> = members.iter().map(|member| member.identity).collect();
        if identities == self.identities {
            return Some(self.clone());
        }
        let index: HashMap<u64, u32> = identities.iter().copied().zip(0..).collect();
        let before: HashSet<u64> = self.identities.iter().copied().collect();
        let came: HashSet<u32> =
            members.iter().filter(|member| !before.contains(&member.identity)).map(|member| member.number).collect();
        let went: Vec<u64> = self.identities.iter().copied().filter(|identity| !index.contains_key(identity)).collect();
        if (came.len() + went.len()) * MAX_SHARE_CHANGED > members.len().max(self.identities.len()).max(64) {
            return None;
        }
        let went: Vec<Arc<Document>> = went.into_iter().map(gone).collect::<Option<_>>()?;
        let (changed, raw) = changes(&came, &went, members, library, settings)?;
        let mut kept: Vec<Raw> = Vec::with_capacity(self.raw.len());
        for old in self.raw.iter().filter(|raw| !changed.contains(&raw.key)) {
            let mut raw = old.clone();
            for copy in &mut raw.class.copies {
                copy.document = *index.get(self.identities.get(copy.document as usize)?)?;
            }
            kept.push(raw);
        }
        kept.extend(raw);
        Some(Answer { settings: self.settings, identities, raw: kept })
    }

    pub fn raw(&self) -> impl Iterator<Item = &Class> {
        self.raw.iter().map(|raw| &raw.class)
    }

    pub fn write(&self) -> Vec<u8> {
        let mut body = Vec::new();
        put(&mut body, self.identities.len() as u64);
        self.identities.iter().for_each(|identity| body.extend(identity.to_le_bytes()));
        put(&mut body, self.raw.len() as u64);
        for Raw { key, class } in &self.raw {
            body.extend(key.to_le_bytes());
            body.extend(class.id.to_le_bytes());
            body.extend([class.kind as u8, class.zone as u8]);
            body.extend(class.similarity.to_le_bytes());
            put(&mut body, u64::from(class.tokens));
            put(&mut body, class.copies.len() as u64);
            let (mut document, mut start) = (0, 0);
            for (copy, lines) in class.copies.iter().zip(&class.at) {
                put(&mut body, u64::from(copy.document - document));
                if copy.document != document {
                    start = 0;
                }
                put(&mut body, u64::from(copy.start - start));
                (document, start) = (copy.document, copy.start);
                put(&mut body, u64::from(lines.start));
                put(&mut body, u64::from(lines.end - lines.start));
            }
        }
        let mut out = Vec::new();
        out.extend(MAGIC);
        out.extend(VERSION.to_le_bytes());
        out.extend(self.settings.to_le_bytes());
        out.extend(zstd::bulk::compress(&body, LEVEL).unwrap_or_default());
        out.extend(xxh3_64(&out).to_le_bytes());
        out
    }

    /// Nothing, unless these bytes are an answer of this version.
    pub fn read(bytes: &[u8]) -> Option<Answer> {
        let (content, checksum) = bytes.split_at_checked(bytes.len().checked_sub(CHECKSUM)?)?;
        let header = content.get(..HEADER)?;
        let known = header[..8] == *MAGIC && header[8..12] == VERSION.to_le_bytes();
        if !known || checksum != xxh3_64(content).to_le_bytes() {
            return None;
        }
        let settings = u64::from_le_bytes(header[12..HEADER].try_into().ok()?);
        let body = zstd::stream::decode_all(&content[HEADER..]).ok()?;
        let mut reader = Reader::new(&body);
        let n = reader.count(8)?;
        let identities = (0..n).map(|_| reader.u64()).collect::<Option<Vec<u64>>>()?;
        let n = reader.count(27)?;
        let raw = (0..n).map(|_| read_raw(&mut reader, identities.len())).collect::<Option<Vec<Raw>>>()?;
        reader.is_empty().then_some(Answer { settings, identities, raw })
    }
}

fn read_raw(reader: &mut Reader<'_>, n_documents: usize) -> Option<Raw> {
    let (key, id) = (reader.u64()?, reader.u64()?);
    let kind = *Kind::ALL.get(usize::from(reader.u8()?))?;
    let zone = *Zone::ALL.get(usize::from(reader.u8()?))?;
    let similarity = f64::from_bits(reader.u64()?);
    let tokens = reader.u32()?;
    let n = reader.count(4)?;
    let (mut copies, mut at): (Vec<Fragment>, Vec<Range<u32>>) = (Vec::with_capacity(n), Vec::with_capacity(n));
    let (mut document, mut start) = (0u32, 0u32);
    for _ in 0..n {
        let step = reader.u32()?;
        if step > 0 {
            start = 0;
        }
        document = document.checked_add(step).filter(|&document| (document as usize) < n_documents)?;
        start = start.checked_add(reader.u32()?)?;
        copies.push(Fragment { document, start, end: start.checked_add(tokens)? });
        let line = reader.u32()?;
        at.push(line..line.checked_add(reader.u32()?)?);
    }
    let lines = at.iter().map(|lines| lines.end - lines.start).max()?;
    Some(Raw { key, class: Class { id, kind, zone, tokens, lines, similarity, copies, at } })
}

/// A fingerprint of the settings that raw classes depend on, and of the engine.
pub fn fingerprint(settings: &Settings) -> u64 {
    let Settings { min_tokens, min_lines, test_min_tokens, min_similarity, kinds, zones, .. } = settings;
    let (mut kinds, mut zones) = (kinds.clone(), zones.clone());
    kinds.sort();
    zones.sort();
    let bits = min_similarity.to_bits();
    let engine = env!("DUPI_ENGINE");
    xxh3_64(format!("{engine} {min_tokens} {min_lines} {test_min_tokens} {bits} {kinds:?} {zones:?}").as_bytes())
}

/// The keys of all contents that the documents which came and went have part in, and the raw classes of these now.
fn changes(
    came: &HashSet<u32>,
    went: &[Arc<Document>],
    members: &[Member],
    library: &impl Library,
    settings: &Settings,
) -> Option<(HashSet<u64>, Vec<Raw>)> {
    let blotting = Blotting::of(settings);
    let mut numbers: Vec<u32> = came.iter().copied().collect();
    numbers.extend(partners(went.iter(), library, settings));
    let fresh = decode(&numbers[..came.len()], library)?;
    numbers.extend(partners(fresh.iter().map(|(_, document)| document), library, settings));
    numbers.sort_unstable();
    numbers.dedup();
    let around = decode(&numbers, library)?;
    let mut changed: HashSet<u64> = HashSet::new();
    // As it was: what did the documents that went have part in?
    if !went.is_empty() {
        let stayed = around.iter().filter(|(number, _)| !came.contains(number)).map(|(_, document)| (false, document));
        let mut before: Vec<(bool, &Arc<Document>)> = stayed.chain(went.iter().map(|gone| (true, gone))).collect();
        before.sort_by(|a, b| a.1.shown.cmp(&b.1.shown));
        let documents: Vec<Arc<Document>> = before.iter().map(|(_, document)| Arc::clone(document)).collect();
        let mut blots: Vec<u64> = went.iter().flat_map(|gone| Query::new(gone, settings).blots()).collect();
        blots.sort_unstable();
        for places in groups(&documents, &ranges(&documents, &blots, &blotting), settings, &[]) {
            if places.iter().any(|place| before[place.document as usize].0) {
                changed.insert(key(&documents, &places));
            }
        }
    }
    // As it is: all letters of these documents, since what stands beside a run decides whether it can be made longer.
    let documents: Vec<Arc<Document>> = around.iter().map(|(_, document)| document.clone()).collect();
    let whole: Vec<Vec<Range<u32>>> =
        documents.iter().map(|document| std::iter::once(0..document.codes.len() as u32).collect()).collect();
    let mut groups: Vec<(u64, Vec<Fragment>)> = groups(&documents, &whole, settings, &[])
        .into_iter()
        .map(|places| (key(&documents, &places), places))
        .collect();
    for (key, places) in &groups {
        if places.iter().any(|place| came.contains(&around[place.document as usize].0)) {
            changed.insert(*key);
        }
    }
    groups.retain(|(key, _)| changed.contains(key));
    let groups: Vec<Vec<Fragment>> = groups.into_iter().map(|(_, places)| places).collect();
    let mut raw = judged(&documents, settings, &groups);
    let index: HashMap<u32, u32> = members.iter().map(|member| member.number).zip(0..).collect();
    for raw in &mut raw {
        for copy in &mut raw.class.copies {
            copy.document = *index.get(&around[copy.document as usize].0)?;
        }
    }
    Some((changed, raw))
}

fn partners<'a>(
    documents: impl Iterator<Item = &'a Arc<Document>>,
    library: &impl Library,
    settings: &Settings,
) -> Vec<u32> {
    documents.flat_map(|document| Query::new(document, settings).partners(library)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::clones::tests::Shelf;
    use crate::search::tests::{documents, programs, settings};

    fn members(shelf: &Shelf) -> Vec<Member> {
        let identity = |document: &Document| {
            let mut bytes = document.shown.clone().into_bytes();
            bytes.extend(document.codes.iter());
            bytes.extend(document.symbols().iter().flat_map(|symbol| symbol.to_le_bytes()));
            xxh3_64(&bytes)
        };
        shelf
            .documents
            .iter()
            .zip(0..)
            .map(|(document, number)| Member { identity: identity(document), number })
            .collect()
    }

    fn sorted(answer: &Answer) -> Vec<String> {
        let mut raw: Vec<String> = answer.raw.iter().map(|raw| format!("{raw:?}")).collect();
        raw.sort();
        raw
    }

    proptest! {
        #![proptest_config(crate::cases(256))]

        /// Two states of a workspace that share some documents: by name some came, some went, some changed.
        #[test]
        fn an_answer_that_was_updated_is_the_one_found_anew(
            before in programs(), after in programs(), same in prop::collection::vec(any::<bool>(), 5),
        ) {
            let settings = settings();
            let mut after = after;
            for (i, program) in after.iter_mut().enumerate() {
                if same[i] && let Some(old) = before.get(i) {
                    program.clone_from(old);
                }
            }
            let old = Shelf::new(documents(&before, &settings), &settings);
            let new = Shelf::new(documents(&after, &settings), &settings);
            let answer = Answer::find(&members(&old), &old, &settings).expect("all can be read");
            let gone = |identity: u64| {
                let member = members(&old).into_iter().find(|member| member.identity == identity)?;
                old.document(member.number)
            };
            let updated = answer.update(&members(&new), &new, gone, &settings).expect("all can be read");
            let found = Answer::find(&members(&new), &new, &settings).expect("all can be read");
            prop_assert_eq!(sorted(&updated), sorted(&found), "{:?} to {:?}", before, after);
            prop_assert_eq!(Answer::read(&updated.write()), Some(updated));
        }
    }

    #[test]
    fn wrong_bytes_are_no_answer() {
        let program = vec![(1, 2, 3), (2, 1, 0), (3, 0, 1), (1, 2, 3), (2, 2, 2)];
        let shelf = Shelf::new(documents(&[program.clone(), program], &settings()), &settings());
        let answer = Answer::find(&members(&shelf), &shelf, &settings()).expect("all can be read");
        assert!(!answer.raw.is_empty());
        let bytes = answer.write();
        assert_eq!(Answer::read(&bytes), Some(answer));
        for i in 0..bytes.len() {
            assert_eq!(Answer::read(&bytes[..i]), None);
            let mut flipped = bytes.clone();
            flipped[i] ^= 0x40;
            assert_eq!(Answer::read(&flipped), None);
        }
    }
}
