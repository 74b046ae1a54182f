//! The raw classes of a whole workspace, kept: brought up to date by the documents that changed, not found anew.
//!
//! Exact, not nearly so: a group of places changes only if its content stands in a document that came or went.
//! The contents of those are found by the same search, over the documents that share something with them;
//! everything kept under such a content is dropped and judged anew.
//!
//! ```text
//! file:  the frame of `bytes.rs`, its key a fingerprint of the settings
//! body:  n  n × identity u64
//!        n  and of the n raw classes, in the order of their copies, one column after the other:
//!        key u64 · id u64 · kind and zone u8, 128 if wholly alike, 64 if uneven · similarity f64 of the others · tokens · copies
//!        of each copy: document (delta) · start (delta within the document) · first line · lines
//!        length of each copy, if they are not all as long as the class
//! numbers without a size are LEB128
//! ```

use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::Range;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::blots::Blotting;
use crate::bytes::{Frame, Reader, put};
use crate::candidates::shared_ranges;
use crate::class::{Class, Fragment, Kind, Zone};
use crate::clones::{Library, Query, Wanted, decode, ranges};
use crate::document::Document;
use crate::raw::{Raw, groups, judged, key, raw_classes};
use crate::runs::Group;
use crate::settings::Settings;

/// 1: the first.
/// 2: copies of several lengths.
const FRAME: Frame = Frame { magic: b"dupians\0", version: 2 };

/// How hard the file is compressed: it is written after every change, so fast if it is large.
const LEVEL: i32 = 3;
/// Saves a thirtieth, and takes no time if there are fewer bytes than this.
const LEVEL_IF_SMALL: i32 = 9;
const SMALL: usize = 4 << 20;

/// Set in a class's sort if its copies are wholly alike.
const ALIKE: u8 = 128;
/// … and if they are not all of one length.
const UNEVEN: u8 = 64;

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
        Some(Answer::of(members, &documents, settings))
    }

    /// The same for members whose documents are these.
    pub fn of(members: &[Member], documents: &[Arc<Document>], settings: &Settings) -> Answer {
        let raw = raw_classes(documents, &shared_ranges(documents, &Blotting::of(settings)), settings);
        let identities = members.iter().map(|member| member.identity).collect();
        Answer { settings: fingerprint(settings), identities, raw }
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

    /// Of its documents, in the order of their paths.
    pub fn identities(&self) -> &[u64] {
        &self.identities
    }

    pub fn raw(&self) -> impl Iterator<Item = &Class> {
        self.raw.iter().map(|raw| &raw.class)
    }

    pub fn write(&self) -> io::Result<Vec<u8>> {
        let mut raw: Vec<&Raw> = self.raw.iter().collect();
        raw.sort_by(|a, b| a.class.copies.cmp(&b.class.copies));
        let mut body = Vec::new();
        put(&mut body, self.identities.len() as u64);
        self.identities.iter().for_each(|identity| body.extend(identity.to_le_bytes()));
        put(&mut body, raw.len() as u64);
        raw.iter().for_each(|raw| body.extend(raw.key.to_le_bytes()));
        raw.iter().for_each(|raw| body.extend(raw.class.id.to_le_bytes()));
        for Raw { class, .. } in &raw {
            let alike = if class.similarity == 1.0 { ALIKE } else { 0 };
            let uneven = if is_uneven(class) { UNEVEN } else { 0 };
            body.push((class.kind as u8) << 3 | class.zone as u8 | alike | uneven);
        }
        let unlike = raw.iter().map(|raw| raw.class.similarity).filter(|&similarity| similarity != 1.0);
        unlike.for_each(|similarity| body.extend(similarity.to_le_bytes()));
        raw.iter().for_each(|raw| put(&mut body, u64::from(raw.class.tokens)));
        raw.iter().for_each(|raw| put(&mut body, raw.class.copies.len() as u64));
        let first = raw.iter().scan(0, |before, raw| {
            Some(raw.class.copies[0].document - std::mem::replace(before, raw.class.copies[0].document))
        });
        first.for_each(|step| put(&mut body, u64::from(step)));
        let pairs = || raw.iter().flat_map(|raw| raw.class.copies.windows(2));
        pairs().for_each(|pair| put(&mut body, u64::from(pair[1].document - pair[0].document)));
        raw.iter().for_each(|raw| put(&mut body, u64::from(raw.class.copies[0].start)));
        for pair in pairs() {
            let from = if pair[0].document == pair[1].document { pair[0].start } else { 0 };
            put(&mut body, u64::from(pair[1].start - from));
        }
        let lines = || raw.iter().flat_map(|raw| &raw.class.at);
        lines().for_each(|lines| put(&mut body, u64::from(lines.start)));
        lines().for_each(|lines| put(&mut body, u64::from(lines.end - lines.start)));
        let uneven = raw.iter().filter(|raw| is_uneven(&raw.class)).flat_map(|raw| &raw.class.copies);
        uneven.for_each(|copy| put(&mut body, u64::from(copy.len())));
        FRAME.wrap(self.settings, &body, if body.len() < SMALL { LEVEL_IF_SMALL } else { LEVEL })
    }

    /// Nothing, unless these bytes are an answer of this version.
    pub fn read(bytes: &[u8]) -> Option<Answer> {
        let (settings, body) = FRAME.open(bytes)?;
        let body = zstd::stream::decode_all(body).ok()?;
        let mut reader = Reader::new(&body);
        let n = reader.count(8)?;
        let identities = (0..n).map(|_| reader.u64()).collect::<Option<Vec<u64>>>()?;
        let raw = read_raw(&mut reader, identities.len())?;
        reader.is_empty().then_some(Answer { settings, identities, raw })
    }
}

fn is_uneven(class: &Class) -> bool {
    class.copies.iter().any(|copy| copy.len() != class.tokens)
}

/// The next `n` numbers, of which each takes a byte or more.
fn column<'a>(reader: &mut Reader<'a>, n: usize, read: impl Fn(&mut Reader<'a>) -> Option<u64>) -> Option<Vec<u64>> {
    (n <= reader.len()).then(|| (0..n).map(|_| read(reader)).collect::<Option<_>>())?
}

fn read_raw(reader: &mut Reader<'_>, n_documents: usize) -> Option<Vec<Raw>> {
    let n = reader.count(20)?;
    let (keys, ids) = (column(reader, n, Reader::u64)?, column(reader, n, Reader::u64)?);
    let sorts = column(reader, n, |reader| reader.u8().map(u64::from))?;
    let n_unlike = sorts.iter().filter(|&&sort| sort & u64::from(ALIKE) == 0).count();
    let mut similarities = column(reader, n_unlike, Reader::u64)?.into_iter().map(f64::from_bits);
    let (tokens, counts) = (column(reader, n, Reader::number)?, column(reader, n, Reader::number)?);
    let n_copies = counts.iter().try_fold(0usize, |sum, &n| sum.checked_add(usize::try_from(n).ok()?))?;
    let n_others = n_copies.checked_sub(n)?;
    let mut first_documents = column(reader, n, Reader::number)?.into_iter();
    let mut documents = column(reader, n_others, Reader::number)?.into_iter();
    let mut first_starts = column(reader, n, Reader::number)?.into_iter();
    let mut starts = column(reader, n_others, Reader::number)?.into_iter();
    let mut first_lines = column(reader, n_copies, Reader::number)?.into_iter();
    let mut lines = column(reader, n_copies, Reader::number)?.into_iter();
    let uneven = sorts.iter().zip(&counts).filter(|(sort, _)| **sort & u64::from(UNEVEN) != 0);
    let n_uneven = uneven.fold(0, |sum, (_, n)| sum + *n as usize);
    let mut lengths = column(reader, n_uneven, Reader::number)?.into_iter();
    let mut all = Vec::with_capacity(n);
    let mut first = 0u64;
    for i in 0..n {
        let tokens = u32::try_from(tokens[i]).ok()?;
        first = first.checked_add(first_documents.next()?)?;
        let (mut document, mut start) = (first, first_starts.next()?);
        let (mut copies, mut at): (Vec<Fragment>, Vec<Range<u32>>) = (Vec::new(), Vec::new());
        let sort = sorts[i] as u8;
        for copy in 0..counts[i] {
            if copy > 0 {
                let step = documents.next()?;
                let from = if step == 0 { start } else { 0 };
                (document, start) = (document.checked_add(step)?, from.checked_add(starts.next()?)?);
            }
            let of = u32::try_from(document).ok().filter(|&document| (document as usize) < n_documents)?;
            let from = u32::try_from(start).ok()?;
            let length = if sort & UNEVEN == 0 { tokens } else { u32::try_from(lengths.next()?).ok()? };
            copies.push(Fragment { document: of, start: from, end: from.checked_add(length)? });
            let line = u32::try_from(first_lines.next()?).ok()?;
            at.push(line..line.checked_add(u32::try_from(lines.next()?).ok()?)?);
        }
        let kind = *Kind::ALL.get(usize::from(sort >> 3 & 7))?;
        let zone = *Zone::ALL.get(usize::from(sort & 7))?;
        let similarity = if sort & ALIKE != 0 { 1.0 } else { similarities.next()? };
        let lines = at.iter().map(|lines| lines.end - lines.start).max()?;
        let class = Class { id: ids[i], kind, zone, tokens, lines, similarity, copies, at };
        all.push(Raw { key: keys[i], class });
    }
    Some(all)
}

/// A fingerprint of the settings that raw classes depend on, and of the engine.
pub fn fingerprint(settings: &Settings) -> u64 {
    let Settings { min_tokens, min_lines, test_min_tokens, min_similarity, kinds, zones, taboo, .. } = settings;
    let (mut kinds, mut zones) = (kinds.clone(), zones.clone());
    kinds.sort();
    zones.sort();
    let bits = min_similarity.to_bits();
    let (engine, taboo) = (crate::engine(), taboo.fingerprint());
    let text = format!("{engine} {min_tokens} {min_lines} {test_min_tokens} {bits} {kinds:?} {zones:?} {taboo:x}");
    xxh3_64(text.as_bytes())
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
    let fresh = decode(&numbers, library)?;
    let gone: Vec<Query> = went.iter().map(|document| Query::new(document, settings)).collect();
    numbers.extend(gone.iter().flat_map(|query| partners(query, library)));
    numbers.extend(fresh.iter().flat_map(|(_, document)| partners(&Query::new(document, settings), library)));
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
        let mut blots: Vec<u64> = gone.iter().flat_map(Query::blots).collect();
        blots.sort_unstable();
        for Group { places, .. } in groups(&documents, &ranges(&documents, &blots, &blotting), settings, &[]) {
            if places.iter().any(|place| before[place.document as usize].0) {
                changed.insert(key(&documents, &places));
            }
        }
    }
    // As it is: all letters of these documents, since what stands beside a run decides whether it can be made longer.
    let documents: Vec<Arc<Document>> = around.iter().map(|(_, document)| document.clone()).collect();
    let whole: Vec<Vec<Range<u32>>> =
        documents.iter().map(|document| std::iter::once(0..document.codes.len() as u32).collect()).collect();
    let mut groups: Vec<(u64, Group)> = groups(&documents, &whole, settings, &[])
        .into_iter()
        .map(|group| (key(&documents, &group.places), group))
        .collect();
    for (key, group) in &groups {
        if group.places.iter().any(|place| came.contains(&around[place.document as usize].0)) {
            changed.insert(*key);
        }
    }
    groups.retain(|(key, _)| changed.contains(key));
    let groups: Vec<Group> = groups.into_iter().map(|(_, group)| group).collect();
    let mut raw = judged(&documents, settings, &groups);
    let index: HashMap<u32, u32> = members.iter().map(|member| member.number).zip(0..).collect();
    for raw in &mut raw {
        for copy in &mut raw.class.copies {
            copy.document = *index.get(&around[copy.document as usize].0)?;
        }
    }
    Some((changed, raw))
}

/// The numbers of the documents that can hold something of the same shape.
fn partners(query: &Query, library: &impl Library) -> Vec<u32> {
    query.partners(library, Wanted::Shape).into_iter().map(|partner| partner.number).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::clones::tests::Shelf;
    use crate::document::tests::document;
    use crate::search::tests::{documents, programs, settings};

    fn members(shelf: &Shelf) -> Vec<Member> {
        shelf.identities.iter().zip(0..).map(|(&identity, number)| Member { identity, number }).collect()
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
            let read = Answer::read(&updated.write().expect("written")).expect("what was written");
            prop_assert_eq!(sorted(&read), sorted(&updated));
            prop_assert_eq!(read.identities, updated.identities);
        }
    }

    /// Monotonous functions of one shape: only equal text makes copies of them, and who shares only the shape with what
    /// changed is not looked at.
    #[test]
    fn classes_of_another_text_stay_when_one_of_the_same_shape_changes() {
        let settings = Settings::default();
        let monotonous =
            |name: &str, n: usize| format!("func f() {{\n{}}}\n", format!("\t{name}(x >> 8, x & 0xff)\n").repeat(n));
        let shelf = |texts: &[String]| {
            let read = |(i, text): (usize, &String)| {
                document(&format!("{i}.go"), &format!("package a\n{text}"), &settings).ok()
            };
            Shelf::new(texts.iter().enumerate().filter_map(read).map(Arc::new).collect(), &settings)
        };
        let mut texts: Vec<String> = ["one", "one", "two", "two"].map(|name| monotonous(name, 9)).into();
        let old = shelf(&texts);
        let answer = Answer::find(&members(&old), &old, &settings).expect("all can be read");
        // The functions, and their cores.
        assert_eq!(answer.raw.len(), 4);
        texts[3] += "var a = 1\n";
        let new = shelf(&texts);
        let gone = |_: u64| old.document(3);
        let updated = answer.update(&members(&new), &new, gone, &settings).expect("all can be read");
        assert_eq!(sorted(&updated), sorted(&Answer::find(&members(&new), &new, &settings).expect("all can be read")));
    }

    #[test]
    fn wrong_bytes_are_no_answer() {
        let program = vec![(1, 2, 3), (2, 1, 0), (3, 0, 1), (1, 2, 3), (2, 2, 2)];
        let shelf = Shelf::new(documents(&[program.clone(), program], &settings()), &settings());
        let answer = Answer::find(&members(&shelf), &shelf, &settings()).expect("all can be read");
        assert!(!answer.raw.is_empty());
        let bytes = answer.write().expect("written");
        assert_eq!(Answer::read(&bytes).map(|read| sorted(&read)), Some(sorted(&answer)));
        for i in 0..bytes.len() {
            assert_eq!(Answer::read(&bytes[..i]), None);
            let mut flipped = bytes.clone();
            flipped[i] ^= 0x40;
            assert_eq!(Answer::read(&flipped), None);
        }
    }
}
