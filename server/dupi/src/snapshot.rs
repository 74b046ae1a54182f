//! What a reader sees: the current documents of all segments, and open buffers over them. Never changes.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use dupi_grammars::token::Code;

use crate::answer::{Answer, Member};
use crate::blots::Blotting;
use crate::class::Class;
use crate::clones::{Clones, Holder, Library, NearSource, Prepared, clones_of, posted};
use crate::document::Document;
use crate::near::{self, Changed, Graph, Table};
use crate::raw::{Settled, settle};
use crate::search::File;
use crate::segment::{self, Entry, Segment, What};
use crate::settings::Settings;
use crate::simhash::{Sketches, Sketching};
use crate::skip::{Skip, SkipReason};

/// A segment with those of its entries that are no longer current.
#[derive(Clone)]
pub struct Part {
    /// None while it is in memory only.
    pub name: Option<String>,
    pub segment: Arc<Segment>,
    pub deleted: Arc<Deleted>,
}

impl Part {
    pub fn new(name: Option<String>, segment: Segment, deleted: &[u32]) -> Part {
        let deleted = Deleted::new(segment.entries.len(), deleted);
        Part { name, segment: Arc::new(segment), deleted: Arc::new(deleted) }
    }

    /// The current entries with their ordinals.
    pub fn entries(&self) -> impl Iterator<Item = (u32, &Entry)> {
        (0..).zip(&self.segment.entries).filter(|(ordinal, _)| !self.deleted.contains(*ordinal))
    }

    pub fn n_current(&self) -> usize {
        self.segment.entries.len() - self.deleted.n
    }
}

/// Tombstones: a set of ordinals.
#[derive(Clone, Debug, Default)]
pub struct Deleted {
    bits: Vec<u64>,
    n: usize,
}

impl Deleted {
    fn new(n_entries: usize, ordinals: &[u32]) -> Deleted {
        let mut deleted = Deleted { bits: vec![0; n_entries.div_ceil(64)], n: 0 };
        ordinals.iter().for_each(|&ordinal| deleted.insert(ordinal));
        deleted
    }

    pub fn insert(&mut self, ordinal: u32) {
        if let Some(bits) = self.bits.get_mut(ordinal as usize / 64) {
            self.n += usize::from(*bits & (1 << (ordinal % 64)) == 0);
            *bits |= 1 << (ordinal % 64);
        }
    }

    pub fn contains(&self, ordinal: u32) -> bool {
        self.bits.get(ordinal as usize / 64).is_some_and(|bits| bits & (1 << (ordinal % 64)) != 0)
    }

    pub fn ordinals(&self) -> Vec<u32> {
        (0..self.bits.len() as u32 * 64).filter(|&ordinal| self.contains(ordinal)).collect()
    }
}

/// An open buffer: what an editor has, whatever the disk says.
pub struct Buffer {
    pub shown: String,
    /// None if there is nothing to compare in it.
    pub document: Option<Arc<Document>>,
    prepared: Option<Arc<Prepared>>,
    pub skipped: Option<SkipReason>,
    /// That of an entry with this path and content.
    identity: u64,
    /// Its blots with their texts, sorted.
    blots: Vec<(u64, u8)>,
}

impl Buffer {
    /// `content`: as in [`crate::freshness::content`].
    pub fn new(
        shown: String,
        content: u64,
        document: Result<Option<Document>, SkipReason>,
        blotting: &Blotting,
    ) -> Buffer {
        let skipped = document.as_ref().err().copied();
        let document = document.ok().flatten().map(Arc::new);
        let identity = segment::identity(&shown, content);
        let mut blots = Vec::new();
        if let Some(document) = &document {
            posted(document, blotting, &mut Vec::new(), |blot, text| blots.push((blot, text)));
        }
        blots.sort_unstable();
        blots.dedup();
        let prepared = document.clone().map(|document| Arc::new(Prepared::new(document)));
        Buffer { shown, document, prepared, skipped, identity, blots }
    }

    /// No file at all, whatever the disk says.
    pub fn absent(shown: String) -> Buffer {
        Buffer {
            identity: segment::identity(&shown, 0),
            shown,
            document: None,
            prepared: None,
            skipped: None,
            blots: Vec::new(),
        }
    }
}

/// What was decoded lately, by segment and ordinal: who types in a file asks for the same documents all the time.
///
/// The memory is one for the whole process, however many indexes it has open, and the keys tell them apart: segments of
/// one content may be of folders with other names.
pub(crate) struct Cache {
    owner: u64,
    decoded: &'static Decoded,
}

struct Decoded {
    /// Of documents that may share something.
    codes: Weighted<Arc<[Code]>>,
    /// Of those that do.
    prepared: Weighted<Arc<Prepared>>,
    /// By segment and blot: a keystroke changes a few of a document's thousand blots, and to look them all up again
    /// was two fifths of all that was done for it.
    holders: Weighted<Arc<[Holder]>, u64>,
}

type Weighted<T, N = u32> = quick_cache::sync::Cache<Key<N>, T, ByWeight>;
/// Owner, checksum of the segment, and what of it.
type Key<N> = (u64, u64, N);

#[derive(Clone)]
pub(crate) struct ByWeight;

impl quick_cache::Weighter<Key<u32>, Arc<[Code]>> for ByWeight {
    fn weight(&self, _: &Key<u32>, codes: &Arc<[Code]>) -> u64 {
        codes.len() as u64
    }
}

impl quick_cache::Weighter<Key<u64>, Arc<[Holder]>> for ByWeight {
    fn weight(&self, _: &Key<u64>, holders: &Arc<[Holder]>) -> u64 {
        // Most are empty, and take as much as a key and its place do.
        64 + size_of_val::<[Holder]>(holders) as u64
    }
}

impl quick_cache::Weighter<Key<u32>, Arc<Prepared>> for ByWeight {
    fn weight(&self, _: &Key<u32>, prepared: &Arc<Prepared>) -> u64 {
        prepared.weight() as u64
    }
}

/// Memory for codes: of some thousand documents, as many as one shares blots with in the worst case.
const CODES_BYTES: u64 = 24 << 20;
/// Memory for whole documents.
const PREPARED_BYTES: u64 = 48 << 20;
/// Memory for holders: of the blots of a few dozen documents.
const HOLDERS_BYTES: u64 = 12 << 20;
/// About how many of them there will be.
const CACHED: usize = 4096;
/// Few, so that a large document fits in one.
const SHARDS: usize = 4;
/// The share of the memory for what was asked for often. Little: the same documents are asked for again after the next
/// keystroke, and others after a change of file.
const HOT: f64 = 0.1;

impl Cache {
    pub(crate) fn new() -> Arc<Cache> {
        static DECODED: OnceLock<Decoded> = OnceLock::new();
        static N_OWNERS: AtomicU64 = AtomicU64::new(0);
        let decoded = DECODED.get_or_init(|| Decoded {
            codes: weighted(CODES_BYTES),
            prepared: weighted(PREPARED_BYTES),
            holders: weighted(HOLDERS_BYTES),
        });
        Arc::new(Cache { owner: N_OWNERS.fetch_add(1, Ordering::Relaxed), decoded })
    }

    fn holders(&self, segment: &Segment, blot: u64) -> Arc<[Holder]> {
        let find = || {
            let mut holders = Vec::new();
            segment.holders(blot, |holder| holders.push(holder));
            Ok::<_, std::convert::Infallible>(holders.into())
        };
        let key = (self.owner, segment.checksum(), blot);
        self.decoded.holders.get_or_insert_with(&key, find).unwrap_or_else(|never| match never {})
    }
}

fn weighted<T, N>(capacity: u64) -> Weighted<T, N>
where
    ByWeight: quick_cache::Weighter<Key<N>, T>,
    T: Clone,
    N: Eq + std::hash::Hash,
{
    let options = quick_cache::OptionsBuilder::new()
        .estimated_items_capacity(CACHED)
        .weight_capacity(capacity)
        .shards(SHARDS)
        .hot_allocation(HOT)
        .build();
    let options = options.expect("a capacity is all that options need");
    Weighted::with_options(options, ByWeight, Default::default(), Default::default())
}

pub struct Snapshot {
    cache: Arc<Cache>,
    pub(crate) parts: Vec<Part>,
    /// The number of each part's first entry; then that of the first buffer.
    bases: Vec<u32>,
    buffers: Vec<Arc<Buffer>>,
    /// Numbers of entries that a buffer stands over.
    hidden: HashSet<u32>,
    /// The near copies among the documents that are no buffers, if they are known.
    near: Option<Arc<NearCopies>>,
    /// Those with the buffers, once somebody asks.
    with_buffers: OnceLock<Option<Graph>>,
    /// The numbers of the documents in segments, current or not, by their identities, once somebody asks.
    numbers: Arc<OnceLock<HashMap<u64, u32>>>,
}

/// The near copies among the documents of a snapshot, for one way to judge.
pub(crate) struct NearCopies {
    /// As in [`near::key`].
    pub key: u64,
    pub graph: Arc<Graph>,
    /// For who has to be fast after an edit.
    pub table: Option<Table>,
}

impl Snapshot {
    /// `covered`: part and ordinal of the entries that buffers stand over.
    pub(crate) fn new(
        parts: Vec<Part>,
        buffers: Vec<Arc<Buffer>>,
        covered: &[(u32, u32)],
        cache: Arc<Cache>,
    ) -> Snapshot {
        let mut bases = vec![0];
        for part in &parts {
            bases.push(bases[bases.len() - 1] + part.segment.entries.len() as u32);
        }
        let hidden = covered.iter().map(|&(part, ordinal)| bases[part as usize] + ordinal).collect();
        Snapshot {
            cache,
            parts,
            bases,
            buffers,
            hidden,
            near: None,
            with_buffers: OnceLock::new(),
            numbers: Arc::default(),
        }
    }

    /// With near copies of its documents, those of buffers aside.
    pub(crate) fn with_near(mut self, near: Option<Arc<NearCopies>>) -> Snapshot {
        self.near = near;
        self
    }

    /// The same; what another snapshot has found out about the segments of both is not found out again.
    pub(crate) fn after(mut self, other: &Snapshot) -> Snapshot {
        let same = |(a, b): (&Part, &Part)| Arc::ptr_eq(&a.segment, &b.segment);
        if self.parts.len() == other.parts.len() && self.parts.iter().zip(&other.parts).all(same) {
            self.numbers = Arc::clone(&other.numbers);
        }
        self
    }

    /// What there is before anything is known.
    pub fn empty() -> Snapshot {
        Snapshot::new(Vec::new(), Vec::new(), &[], Cache::new())
    }

    /// The same documents with other buffers over them: whoever has texts open need not wait for who writes the index.
    pub fn with_buffers(&self, mut buffers: Vec<Arc<Buffer>>) -> Snapshot {
        // In the order of their paths, as an index has them: a class names its documents in that order.
        buffers.sort_by(|a, b| a.shown.cmp(&b.shown));
        let covered = |buffer: &Arc<Buffer>| {
            (0..).zip(&self.parts).find_map(|(number, part)| {
                let ordinal = part.segment.ordinal(&buffer.shown).filter(|&ordinal| !part.deleted.contains(ordinal))?;
                Some((number, ordinal))
            })
        };
        let covered: Vec<(u32, u32)> = buffers.iter().filter_map(covered).collect();
        let snapshot = Snapshot::new(self.parts.clone(), buffers, &covered, Arc::clone(&self.cache));
        snapshot.with_near(self.near.clone()).after(self)
    }

    /// The near copies of all documents, buffers among them. None, if they are not known or cannot be read.
    pub(crate) fn near(&self, settings: &Settings) -> Option<&Graph> {
        let near = self.near.as_ref().filter(|near| near::key(settings) == Some(near.key))?;
        if self.buffers.is_empty() {
            return Some(&near.graph);
        }
        self.with_buffers.get_or_init(|| self.near_with_buffers(near)).as_ref()
    }

    fn near_with_buffers(&self, near: &NearCopies) -> Option<Graph> {
        let (mut went, mut came) = (Vec::new(), Vec::new());
        let stored: HashMap<&str, u32> = self.hidden.iter().map(|&number| (self.shown(number), number)).collect();
        for buffer in &self.buffers {
            let number = stored.get(&*buffer.shown).copied().filter(|&number| self.is_document(number));
            let before = number.map(|number| (number, self.identity(number)));
            if before.is_some_and(|(_, identity)| identity == buffer.identity) && buffer.document.is_some() {
                continue;
            }
            if let Some((number, identity)) = before {
                went.push(Changed { identity, document: self.prepared(number)? });
            }
            came.extend(buffer.prepared.clone().map(|document| Changed { identity: buffer.identity, document }));
        }
        near.graph.updated(&went, &came, &Others { snapshot: self, except: u32::MAX }, near.table.as_ref())
    }

    fn is_document(&self, number: u32) -> bool {
        self.place(number).is_some_and(|(part, ordinal)| part.segment.entries[ordinal as usize].is_document())
    }

    /// The current document with this identity.
    fn by_its_identity(&self, identity: u64) -> Option<Arc<Document>> {
        self.prepared(self.number_of(identity)?).map(|prepared| Arc::clone(&prepared.document))
    }

    /// The same with one more buffer, or with another one in the place of that of its path.
    pub fn with_buffer(&self, buffer: &Arc<Buffer>) -> Snapshot {
        let others = self.buffers.iter().filter(|other| other.shown != buffer.shown);
        self.with_buffers(others.chain([buffer]).cloned().collect())
    }

    /// How many documents there are.
    pub fn n_documents(&self) -> usize {
        self.entries().filter(|(_, entry)| entry.is_document()).count() + self.buffers().count()
    }

    /// How many tokens they have, buffers aside.
    pub(crate) fn n_tokens(&self) -> u64 {
        let tokens = |entry: &Entry| match entry.what {
            What::Document { n_tokens, .. } => u64::from(n_tokens),
            _ => 0,
        };
        self.entries().map(|(_, entry)| tokens(entry)).sum()
    }

    fn first_buffer(&self) -> u32 {
        self.bases[self.parts.len()]
    }

    /// The part and the ordinal behind a number.
    fn place(&self, number: u32) -> Option<(&Part, u32)> {
        let part = self.bases.partition_point(|&base| base <= number).checked_sub(1)?;
        Some((self.parts.get(part)?, number - self.bases[part]))
    }

    /// The part, the ordinal and the key in the cache of a document that is no buffer.
    fn stored(&self, number: u32) -> Option<(&Part, u32, Key<u32>)> {
        let (part, ordinal) = self.place(number)?;
        Some((part, ordinal, (self.cache.owner, part.segment.checksum(), ordinal)))
    }

    fn is_current(&self, part: &Part, ordinal: u32, number: u32) -> bool {
        !part.deleted.contains(ordinal) && !self.hidden.contains(&number)
    }

    /// All current entries that no buffer stands over, with their numbers.
    fn entries(&self) -> impl Iterator<Item = (u32, &Entry)> {
        let entries = self
            .parts
            .iter()
            .zip(&self.bases)
            .flat_map(|(part, &base)| part.entries().map(move |(ordinal, entry)| (base + ordinal, entry)));
        entries.filter(|(number, _)| !self.hidden.contains(number))
    }

    fn buffers(&self) -> impl Iterator<Item = (u32, &Arc<Buffer>, &Arc<Document>)> {
        (self.first_buffer()..)
            .zip(&self.buffers)
            .filter_map(|(number, buffer)| buffer.document.as_ref().map(|document| (number, buffer, document)))
    }

    /// All files that were left out although the walk found them, and why.
    pub fn skipped(&self) -> Vec<Skip> {
        let skip = |entry: &Entry| match entry.what {
            What::Skipped(reason) => Some(Skip { path: entry.shown.clone(), reason }),
            _ => None,
        };
        let open = |buffer: &Arc<Buffer>| Some(Skip { path: buffer.shown.clone(), reason: buffer.skipped? });
        self.entries().filter_map(|(_, entry)| skip(entry)).chain(self.buffers.iter().filter_map(open)).collect()
    }

    /// The documents in the order of their paths: as files of a report, and as members of an answer.
    pub fn documents(&self, root: &std::path::Path) -> (Vec<File>, Vec<Member>) {
        let stored = self.entries().filter_map(|(number, entry)| match entry.what {
            What::Document { language, n_lines, n_tokens, .. } => {
                let file = File {
                    path: entry.path_under(root),
                    shown: entry.shown.clone(),
                    language,
                    n_lines,
                    n_tokens,
                    bytes: entry.known.stamp.size,
                };
                Some((file, Member { identity: entry.identity(), number }))
            }
            _ => None,
        });
        let open = self
            .buffers()
            .map(|(number, buffer, document)| (File::of(document), Member { identity: buffer.identity, number }));
        let mut all: Vec<(File, Member)> = stored.chain(open).collect();
        all.sort_by(|a, b| a.0.shown.cmp(&b.0.shown));
        all.into_iter().unzip()
    }

    /// The documents in the order of their paths, as members of an answer.
    pub(crate) fn members(&self) -> Vec<Member> {
        let stored = self.entries().filter(|(_, entry)| entry.is_document());
        let stored = stored.map(|(number, entry)| (&*entry.shown, Member { identity: entry.identity(), number }));
        let open =
            self.buffers().map(|(number, buffer, _)| (&*buffer.shown, Member { identity: buffer.identity, number }));
        let mut all: Vec<(&str, Member)> = stored.chain(open).collect();
        all.sort_by_key(|(shown, _)| *shown);
        all.into_iter().map(|(_, member)| member).collect()
    }

    /// The path of a document as it is shown.
    pub(crate) fn shown(&self, number: u32) -> &str {
        match number.checked_sub(self.first_buffer()) {
            Some(buffer) => self.buffers.get(buffer as usize).map_or("", |buffer| &buffer.shown),
            None => {
                let entry = self.place(number).and_then(|(part, ordinal)| part.segment.entries.get(ordinal as usize));
                entry.map_or("", |entry| &entry.shown)
            }
        }
    }

    /// The numbers of all documents.
    pub(crate) fn numbers(&self) -> Vec<u32> {
        let stored = self.entries().filter(|(_, entry)| entry.is_document()).map(|(number, _)| number);
        stored.chain(self.buffers().map(|(number, ..)| number)).collect()
    }

    /// The numbers of the documents whose languages are of one family.
    pub(crate) fn of_family(&self, family: &str) -> Vec<u32> {
        let is_of = |what: &What| matches!(what, What::Document { language, .. } if language.family == family);
        let stored = self.entries().filter(|(_, entry)| is_of(&entry.what)).map(|(number, _)| number);
        let open = self.buffers().filter(|(.., document)| document.language.family == family);
        stored.chain(open.map(|(number, ..)| number)).collect()
    }

    /// The document with this path, and its number.
    pub(crate) fn find(&self, shown: &str) -> Option<(u32, Arc<Document>)> {
        if let Some(at) = self.buffers.iter().position(|buffer| buffer.shown == shown) {
            return Some((self.first_buffer() + at as u32, self.buffers[at].document.clone()?));
        }
        let number = self.parts.iter().zip(&self.bases).find_map(|(part, &base)| {
            let ordinal = part.segment.ordinal(shown).filter(|&ordinal| !part.deleted.contains(ordinal))?;
            Some(base + ordinal)
        })?;
        Some((number, self.document(number)?))
    }

    /// Calls `each` for the documents that hold a blot; `stored` finds the entries of a segment that do.
    fn holders_by(&self, blot: u64, stored: impl Fn(&Segment, &mut dyn FnMut(Holder)), mut each: impl FnMut(Holder)) {
        for (part, &base) in self.parts.iter().zip(&self.bases) {
            stored(&part.segment, &mut |Holder { number: ordinal, text }| {
                let number = base + ordinal;
                if self.is_current(part, ordinal, number) {
                    each(Holder { number, text });
                }
            });
        }
        for (number, buffer) in (self.first_buffer()..).zip(&self.buffers) {
            let from = buffer.blots.partition_point(|(other, _)| *other < blot);
            let same = buffer.blots[from..].iter().take_while(|(other, _)| *other == blot);
            same.for_each(|&(_, text)| each(Holder { number, text }));
        }
    }

    /// The classes that the document with this path has a copy of, worst first.
    /// None, if there is no such document or the index cannot be read: then it is not whole, and a refresh mends it.
    pub fn clones_of(&self, shown: &str, settings: &Settings) -> Option<Clones> {
        self.while_whole(|| {
            let (number, _) = self.find(shown)?;
            let document = self.prepared(number)?;
            let others = Others { snapshot: self, except: number };
            let by_identity = |identity| self.by_its_identity(identity);
            // On a worker thread from the start: each parallel step would hand over to one by itself.
            rayon::scope(|_| {
                let graph = self.near(settings);
                let own = self.identity(number);
                let near = graph.map(|graph| NearSource { graph, own, document: &by_identity });
                clones_of(&document, &others, settings, near)
            })
        })
    }

    /// The raw classes of the whole workspace: from what they were before in another snapshot, if that is possible.
    /// `decoded`: all documents, if somebody has them.
    pub(crate) fn answer(
        &self,
        members: &[Member],
        before: Option<(&Answer, &Snapshot)>,
        settings: &Settings,
        decoded: Option<Vec<Arc<Document>>>,
    ) -> Option<Answer> {
        self.while_whole(|| {
            let updated = before.and_then(|(answer, snapshot)| self.updated(members, answer, snapshot, settings));
            updated.or_else(|| match decoded {
                Some(documents) => Some(Answer::of(members, &documents, settings)),
                None => Answer::find(members, self, settings),
            })
        })
    }

    /// The hashes of the documents: from what they were before, as far as that is possible.
    pub(crate) fn sketches(
        &self,
        members: &[Member],
        sketching: &Sketching,
        before: Option<Sketches>,
    ) -> Option<Sketches> {
        self.while_whole(|| Sketches::find(members, self, sketching, before))
    }

    pub(crate) fn updated(
        &self,
        members: &[Member],
        before: &Answer,
        snapshot: &Snapshot,
        settings: &Settings,
    ) -> Option<Answer> {
        snapshot.while_whole(|| {
            let gone = |identity| snapshot.number_of(identity).and_then(|number| snapshot.document(number));
            before.update(members, self, gone, settings)
        })
    }

    /// Have the files behind it still the length that they had when they were opened? Nobody cuts them but a third
    /// party. It is one call to the system for each segment, so it is asked for each query and not for each read.
    pub fn is_whole(&self) -> bool {
        self.parts.iter().all(|part| part.segment.is_whole())
    }

    /// What a query finds. None, if a file was cut before, lest the query end the process; or meanwhile, since the rest
    /// of its last page would have been read as zeroes. What remains is a cut by more than that while a query runs.
    pub(crate) fn while_whole<T>(&self, query: impl FnOnce() -> Option<T>) -> Option<T> {
        if self.is_whole() { query().filter(|_| self.is_whole()) } else { None }
    }
}

/// From raw classes to the classes that are shown.
pub(crate) fn settled(answer: &Answer, near: Vec<Class>, files: &[File], settings: &Settings) -> Settled {
    settle(answer.raw().cloned().chain(near).collect(), settings, |i| &files[i as usize].shown)
}

impl Library for Snapshot {
    fn holders(&self, blot: u64, each: impl FnMut(Holder)) {
        self.holders_by(blot, |segment, each| segment.holders(blot, each), each);
    }

    fn identity(&self, number: u32) -> u64 {
        match number.checked_sub(self.first_buffer()) {
            Some(buffer) => self.buffers.get(buffer as usize).map_or(0, |buffer| buffer.identity),
            None => self.place(number).map_or(0, |(part, ordinal)| part.segment.entries[ordinal as usize].identity()),
        }
    }

    fn number_of(&self, identity: u64) -> Option<u32> {
        if let Some(at) = self.buffers.iter().position(|buffer| buffer.identity == identity) {
            return Some(self.first_buffer() + at as u32);
        }
        let numbers = self.numbers.get_or_init(|| {
            let stored = |(part, &base): (&Part, &u32)| {
                let documents = (base..).zip(&part.segment.entries).filter(|(_, entry)| entry.is_document());
                documents.map(|(number, entry)| (entry.identity(), number)).collect::<Vec<_>>()
            };
            self.parts.iter().zip(&self.bases).flat_map(stored).collect()
        });
        numbers.get(&identity).copied()
    }

    fn document(&self, number: u32) -> Option<Arc<Document>> {
        match number.checked_sub(self.first_buffer()) {
            Some(buffer) => self.buffers.get(buffer as usize)?.document.clone(),
            None => {
                let (part, ordinal) = self.place(number)?;
                part.segment.document(ordinal)
            }
        }
    }

    fn codes(&self, number: u32) -> Option<Arc<[Code]>> {
        match self.stored(number) {
            None => self.document(number).map(|document| Arc::from(&*document.codes)),
            Some((part, ordinal, key)) => {
                self.cache.decoded.codes.get_or_insert_with(&key, || part.segment.codes(ordinal).ok_or(())).ok()
            }
        }
    }

    fn prepared(&self, number: u32) -> Option<Arc<Prepared>> {
        let prepare = || self.document(number).map(|document| Arc::new(Prepared::new(document)));
        match self.stored(number) {
            None => self.buffers.get(number.checked_sub(self.first_buffer())? as usize)?.prepared.clone(),
            Some((_, _, key)) => self.cache.decoded.prepared.get_or_insert_with(&key, || prepare().ok_or(())).ok(),
        }
    }
}

/// All documents but one: for who types in that one, and will ask again.
struct Others<'a> {
    snapshot: &'a Snapshot,
    except: u32,
}

impl Library for Others<'_> {
    fn holders(&self, blot: u64, mut each: impl FnMut(Holder)) {
        let stored = |segment: &Segment, each: &mut dyn FnMut(Holder)| {
            self.snapshot.cache.holders(segment, blot).iter().copied().for_each(each);
        };
        self.snapshot.holders_by(blot, stored, |holder| {
            if holder.number != self.except {
                each(holder);
            }
        });
    }

    fn identity(&self, number: u32) -> u64 {
        self.snapshot.identity(number)
    }

    fn number_of(&self, identity: u64) -> Option<u32> {
        self.snapshot.number_of(identity)
    }

    fn document(&self, number: u32) -> Option<Arc<Document>> {
        self.snapshot.document(number)
    }

    fn codes(&self, number: u32) -> Option<Arc<[Code]>> {
        self.snapshot.codes(number)
    }

    fn prepared(&self, number: u32) -> Option<Arc<Prepared>> {
        self.snapshot.prepared(number)
    }
}
