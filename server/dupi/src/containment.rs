//! Containment: how much of a file stands in another. The share of its chunks that are also chunks of the other, in both
//! directions: a file that was copied into a larger one is wholly contained in it, and not the other way round.
//!
//! A document's **chunks** are its kept blots as a set (`chunks.rs`). Counts are exact: posts only say where to look.
//! A chunk of more than [`MAX_FILES`] files is **common**: it belongs to no pair of them, or a chunk of a hundred thousand
//! files would belong to five thousand million. It still is one of its file's chunks.
//!
//! One file is compared by what the posts say of its chunks. For all of them the chunks that two files or more share
//! are kept (`Sharing`), exactly and by file, and brought up to date by the files that came and went.
//!
//! ```text
//! file:  the frame of `bytes.rs`, its key a fingerprint of the settings
//! body:  n  n × identity u64  n × chunks
//!        n_shared  n_shared × blot (delta)  n_shared × files  of each file: its index (delta within the chunk)
//! numbers without a size are LEB128
//! ```

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::Range;

use rayon::prelude::*;

use crate::answer::Member;
use crate::bytes::{Frame, Reader, put};
use crate::chunks::set;
use crate::clones::Library;
use crate::settings::Settings;
use crate::snapshot::Snapshot;

/// 1: the first.
const FRAME: Frame = Frame { magic: b"dupichk\0", version: 1 };
/// How hard the file is compressed: blots are random, so little is won.
const LEVEL: i32 = 3;

/// In so many files at most a chunk tells something about any two of them. No chunk of Go's library stands in more.
pub const MAX_FILES: usize = 1000;

/// For so many others each file is told how much of it they hold.
pub const TOP: usize = 100;

/// If more than one document in so many is new, counting everything anew is as fast.
const MAX_SHARE_NEW: usize = 8;

/// Documents that are decoded at a time, in the order of what they can share.
const BATCH: usize = 32;

/// What others hold of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contained {
    pub shown: String,
    pub chunks: u32,
    /// Of these, the ones that stand in more than [`MAX_FILES`] files.
    pub common: u32,
    /// Those that share most first, then by path.
    pub others: Vec<Other>,
}

/// A file that has chunks of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    pub shown: String,
    pub shared: u32,
    /// All of its own.
    pub chunks: u32,
}

impl Other {
    /// The share of its own chunks that they share.
    pub fn share_of(&self) -> f64 {
        f64::from(self.shared) / f64::from(self.chunks.max(1))
    }
}

impl Contained {
    /// The share of its chunks that stand in another file.
    pub fn share(&self, other: &Other) -> f64 {
        f64::from(other.shared) / f64::from(self.chunks.max(1))
    }

    /// The largest share that one other file has.
    pub fn most(&self) -> f64 {
        self.others.first().map_or(0.0, |other| self.share(other))
    }
}

/// Orders files by how much of them another one holds: most first, then those with more chunks, then by path.
pub fn most_contained_first(files: &mut [Contained]) {
    let shared = |file: &Contained| file.others.first().map_or(0, |other| other.shared);
    files.sort_by(|a, b| {
        b.most().total_cmp(&a.most()).then(shared(b).cmp(&shared(a))).then_with(|| a.shown.cmp(&b.shown))
    });
}

/// What is known of another document once it was decoded.
struct Verified {
    chunks: u32,
    /// The indices of those of the asked chunks that it has, sorted.
    shared: Vec<u32>,
}

/// One document as a question.
struct Question<'a> {
    snapshot: &'a Snapshot,
    settings: &'a Settings,
    chunks: Vec<u64>,
    verified: HashMap<u32, Verified>,
}

impl Question<'_> {
    /// Decodes documents, unless they were before.
    fn verify(&mut self, numbers: &[u32]) -> Option<()> {
        let fresh: Vec<u32> = numbers.iter().copied().filter(|number| !self.verified.contains_key(number)).collect();
        let read = |scratch: &mut Vec<u64>, number: &u32| {
            let chunks = set(&*self.snapshot.document(*number)?, self.settings, scratch);
            let shared = (0..).zip(&self.chunks).filter(|(_, chunk)| chunks.binary_search(chunk).is_ok());
            let shared = shared.map(|(i, _)| i).collect();
            Some((*number, Verified { chunks: chunks.len() as u32, shared }))
        };
        let read: Vec<(u32, Verified)> = fresh.par_iter().map_init(Vec::new, read).collect::<Option<_>>()?;
        self.verified.extend(read);
        Some(())
    }

    /// Does a chunk stand in more files than counts? `named` are those that it may stand in, but for the document itself.
    fn is_common(&mut self, chunk: u32, named: &[u32]) -> Option<bool> {
        let mut n_files = 1;
        for batch in named.chunks(BATCH) {
            self.verify(batch)?;
            let has = |number: &&u32| self.verified[*number].shared.binary_search(&chunk).is_ok();
            n_files += batch.iter().filter(has).count();
            if n_files > MAX_FILES {
                return Some(true);
            }
        }
        Some(false)
    }
}

impl Snapshot {
    /// What others hold of the document with this path: at most `top` of them.
    /// None, if there is no such document or the index cannot be read.
    pub fn contained(&self, shown: &str, settings: &Settings, top: usize) -> Option<Contained> {
        // On a worker thread from the start: each parallel step would hand over to one by itself.
        self.while_whole(|| rayon::scope(|_| self.contained_in(shown, settings, top)))
    }

    fn contained_in(&self, shown: &str, settings: &Settings, top: usize) -> Option<Contained> {
        let (own, document) = self.find(shown)?;
        let chunks = set(&document, settings, &mut Vec::new());
        let n_chunks = chunks.len() as u32;
        let mut named: Vec<Vec<u32>> = Vec::with_capacity(chunks.len());
        for &chunk in &chunks {
            let mut numbers = Vec::new();
            self.holders(chunk, |holder| numbers.push(holder.number));
            numbers.retain(|number| *number != own);
            // One for each text.
            numbers.dedup();
            named.push(numbers);
        }
        let mut question = Question { snapshot: self, settings, chunks, verified: HashMap::new() };
        let mut common: HashSet<u32> = HashSet::new();
        for (i, numbers) in (0..).zip(&named).filter(|(_, numbers)| numbers.len() >= MAX_FILES) {
            if question.is_common(i, numbers)? {
                common.insert(i);
            }
        }
        let mut at_most: HashMap<u32, u32> = HashMap::new();
        for (_, numbers) in (0..).zip(&named).filter(|(i, _)| !common.contains(i)) {
            numbers.iter().for_each(|number| *at_most.entry(*number).or_default() += 1);
        }
        let mut order: Vec<(Reverse<u32>, &str, u32)> =
            at_most.iter().map(|(&number, &n)| (Reverse(n), self.shown(number), number)).collect();
        order.sort_unstable();
        let mut others: Vec<(Reverse<u32>, &str, u32)> = Vec::new();
        for batch in order.chunks(BATCH) {
            let last = top.checked_sub(1).and_then(|last| others.get(last));
            if top == 0 || last.is_some_and(|last| (last.0, last.1) < (batch[0].0, batch[0].1)) {
                break;
            }
            let numbers: Vec<u32> = batch.iter().map(|(.., number)| *number).collect();
            question.verify(&numbers)?;
            for &(_, shown, number) in batch {
                let shared = question.verified[&number].shared.iter().filter(|i| !common.contains(i)).count() as u32;
                if shared > 0 {
                    others.push((Reverse(shared), shown, number));
                }
            }
            others.sort_unstable();
            others.truncate(top);
        }
        let other = |&(Reverse(shared), shown, number): &(Reverse<u32>, &str, u32)| Other {
            shown: shown.to_owned(),
            shared,
            chunks: question.verified[&number].chunks,
        };
        let others = others.iter().map(other).collect();
        Some(Contained { shown: shown.to_owned(), chunks: n_chunks, common: common.len() as u32, others })
    }
}

/// All chunks that two documents or more share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sharing {
    /// A fingerprint of what chunks depend on.
    settings: u64,
    /// Identity and number of chunks of each document, in the order of their paths.
    documents: Vec<(u64, u32)>,
    /// Sorted.
    blots: Vec<u64>,
    /// Where the holders of each blot end.
    ends: Vec<u32>,
    /// Indices of documents, sorted for each blot.
    holders: Vec<u32>,
}

impl Sharing {
    /// Of the members, which are in the order of their paths: from what it was before, if that is possible.
    /// Nothing, if a document cannot be read.
    pub fn of(
        members: &[Member],
        snapshot: &Snapshot,
        before: Option<&Sharing>,
        settings: &Settings,
    ) -> Option<Sharing> {
        let updated = before.filter(|before| before.settings == fingerprint(settings));
        match updated.map(|before| before.update(members, snapshot, settings)) {
            Some(Some(sharing)) => Some(sharing),
            _ => Sharing::find(members, snapshot, settings),
        }
    }

    fn find(members: &[Member], snapshot: &Snapshot, settings: &Settings) -> Option<Sharing> {
        let sets = sets(members, snapshot, settings)?;
        let documents = members.iter().zip(&sets).map(|(member, set)| (member.identity, set.len() as u32)).collect();
        let pairs = sets.into_iter().zip(0..).flat_map(|(set, i)| set.into_iter().map(move |blot| (blot, i))).collect();
        Some(Sharing::from_pairs(fingerprint(settings), documents, pairs))
    }

    /// Of what each document holds; what only one holds is left out.
    fn from_pairs(settings: u64, documents: Vec<(u64, u32)>, mut pairs: Vec<(u64, u32)>) -> Sharing {
        pairs.par_sort_unstable();
        pairs.dedup();
        let (mut blots, mut ends, mut holders) = (Vec::new(), Vec::new(), Vec::new());
        for same in pairs.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
            holders.extend(same.iter().map(|(_, document)| *document));
            blots.push(same[0].0);
            ends.push(holders.len() as u32);
        }
        Sharing { settings, documents, blots, ends, holders }
    }

    /// The same for other members. Nothing, if too many are new, or one cannot be read.
    fn update(&self, members: &[Member], snapshot: &Snapshot, settings: &Settings) -> Option<Sharing> {
        let index: HashMap<u64, u32> = members.iter().map(|member| member.identity).zip(0..).collect();
        let known: HashMap<u64, u32> = self.documents.iter().copied().collect();
        let came: Vec<(u32, Member)> =
            (0..).zip(members.iter().copied()).filter(|(_, member)| !known.contains_key(&member.identity)).collect();
        if came.len() * MAX_SHARE_NEW > members.len().max(64) {
            return None;
        }
        let fresh: Vec<Member> = came.iter().map(|(_, member)| *member).collect();
        let sets = sets(&fresh, snapshot, settings)?;
        let mut pairs: Vec<(u64, u32)> = Vec::with_capacity(self.holders.len());
        for (i, &blot) in self.blots.iter().enumerate() {
            let stayed =
                self.holders[self.range(i)].iter().filter_map(|&old| index.get(&self.documents[old as usize].0));
            pairs.extend(stayed.map(|&document| (blot, document)));
        }
        // A chunk that is new to those who share may have stood in one document alone until now.
        let stayed: HashMap<u32, u32> = (0..)
            .zip(members)
            .filter(|(_, member)| known.contains_key(&member.identity))
            .map(|(i, member)| (member.number, i))
            .collect();
        let mut asked: Vec<(u32, u64)> = Vec::new();
        for &blot in sets.iter().flatten().filter(|blot| self.blots.binary_search(blot).is_err()) {
            snapshot.holders(blot, |holder| {
                if stayed.contains_key(&holder.number) {
                    asked.push((holder.number, blot));
                }
            });
        }
        asked.sort_unstable();
        asked.dedup();
        let asked: Vec<&[(u32, u64)]> = asked.chunk_by(|a, b| a.0 == b.0).collect();
        let verify = |scratch: &mut Vec<u64>, asked: &&[(u32, u64)]| {
            let chunks = set(&*snapshot.document(asked[0].0)?, settings, scratch);
            let has = asked.iter().filter(|(_, blot)| chunks.binary_search(blot).is_ok());
            Some(has.map(|(number, blot)| (*blot, stayed[number])).collect::<Vec<_>>())
        };
        let verified: Vec<Vec<(u64, u32)>> = asked.par_iter().map_init(Vec::new, verify).collect::<Option<_>>()?;
        pairs.extend(verified.into_iter().flatten());
        let n_chunks: HashMap<u64, u32> =
            came.iter().zip(&sets).map(|((_, member), set)| (member.identity, set.len() as u32)).collect();
        for ((i, _), set) in came.iter().zip(sets) {
            pairs.extend(set.into_iter().map(|blot| (blot, *i)));
        }
        let n_of = |member: &Member| known.get(&member.identity).or_else(|| n_chunks.get(&member.identity)).copied();
        let documents = members.iter().map(|member| Some((member.identity, n_of(member)?))).collect::<Option<_>>()?;
        Some(Sharing::from_pairs(self.settings, documents, pairs))
    }

    fn range(&self, blot: usize) -> Range<usize> {
        let start = blot.checked_sub(1).map_or(0, |before| self.ends[before]);
        start as usize..self.ends[blot] as usize
    }

    /// What others hold of each document; `shown` are the paths of all.
    pub fn table(&self, shown: &[String]) -> Vec<Contained> {
        let mut of_document: Vec<Vec<u32>> = vec![Vec::new(); self.documents.len()];
        for blot in 0..self.blots.len() {
            self.holders[self.range(blot)]
                .iter()
                .for_each(|&document| of_document[document as usize].push(blot as u32));
        }
        let contained = |counts: &mut Vec<u32>, (own, blots): (usize, &Vec<u32>)| {
            counts.resize(self.documents.len(), 0);
            let (mut common, mut touched) = (0, Vec::new());
            for range in blots.iter().map(|&blot| self.range(blot as usize)) {
                if range.len() > MAX_FILES {
                    common += 1;
                    continue;
                }
                for &other in self.holders[range].iter().filter(|&&other| other as usize != own) {
                    if counts[other as usize] == 0 {
                        touched.push(other);
                    }
                    counts[other as usize] += 1;
                }
            }
            // Documents are in the order of their paths, and so are their indices.
            let mut others: Vec<(Reverse<u32>, u32)> =
                touched.iter().map(|&other| (Reverse(std::mem::take(&mut counts[other as usize])), other)).collect();
            others.sort_unstable();
            others.truncate(TOP);
            let other = |(Reverse(shared), other): (Reverse<u32>, u32)| {
                let (shown, chunks) = (shown[other as usize].clone(), self.documents[other as usize].1);
                Other { shown, shared, chunks }
            };
            let others = others.into_iter().map(other).collect();
            Contained { shown: shown[own].clone(), chunks: self.documents[own].1, common, others }
        };
        of_document.par_iter().enumerate().with_min_len(16).map_init(Vec::new, contained).collect()
    }

    pub fn write(&self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        put(&mut body, self.documents.len() as u64);
        self.documents.iter().for_each(|(identity, _)| body.extend(identity.to_le_bytes()));
        self.documents.iter().for_each(|(_, chunks)| put(&mut body, u64::from(*chunks)));
        put(&mut body, self.blots.len() as u64);
        let before = std::iter::once(0).chain(self.blots.iter().copied());
        self.blots.iter().zip(before).for_each(|(blot, before)| put(&mut body, blot - before));
        (0..self.blots.len()).for_each(|blot| put(&mut body, self.range(blot).len() as u64));
        for blot in 0..self.blots.len() {
            let mut before = 0;
            for &document in &self.holders[self.range(blot)] {
                put(&mut body, u64::from(document - before));
                before = document;
            }
        }
        FRAME.wrap(self.settings, &body, LEVEL)
    }

    /// Are these bytes as they were written?
    pub fn is_whole(bytes: &[u8]) -> bool {
        FRAME.open(bytes).is_some()
    }

    /// Nothing, unless these bytes are what was written.
    pub fn read(bytes: &[u8]) -> Option<Sharing> {
        let (settings, body) = FRAME.open(bytes)?;
        let body = zstd::stream::decode_all(body).ok()?;
        let mut reader = Reader::new(&body);
        let n_documents = reader.count(9)?;
        let identities = (0..n_documents).map(|_| reader.u64()).collect::<Option<Vec<u64>>>()?;
        let documents =
            identities.into_iter().map(|identity| Some((identity, reader.u32()?))).collect::<Option<Vec<_>>>()?;
        let n_blots = reader.count(4)?;
        let mut sum = 0u64;
        let mut add = |step: u64| {
            sum = sum.checked_add(step)?;
            Some(sum)
        };
        let blots = (0..n_blots).map(|_| add(reader.number()?)).collect::<Option<Vec<u64>>>()?;
        let mut end = 0u32;
        let mut add = |n: u32| {
            end = end.checked_add(n)?;
            Some(end)
        };
        let ends = (0..n_blots).map(|_| add(reader.u32()?)).collect::<Option<Vec<u32>>>()?;
        if end as usize > reader.len() {
            return None;
        }
        let mut sharing = Sharing { settings, documents, blots, ends, holders: Vec::with_capacity(end as usize) };
        for blot in 0..n_blots {
            let mut document = 0u32;
            for _ in sharing.range(blot) {
                document = document.checked_add(reader.u32()?).filter(|&document| (document as usize) < n_documents)?;
                sharing.holders.push(document);
            }
        }
        reader.is_empty().then_some(sharing)
    }
}

/// The chunks of some documents.
fn sets(members: &[Member], snapshot: &Snapshot, settings: &Settings) -> Option<Vec<Vec<u64>>> {
    let read = |scratch: &mut Vec<u64>, member: &Member| {
        snapshot.document(member.number).map(|document| set(&document, settings, scratch))
    };
    members.par_iter().with_min_len(8).map_init(Vec::new, read).collect()
}

/// Of the settings that chunks depend on and that make no other index.
fn fingerprint(settings: &Settings) -> u64 {
    settings.taboo.fingerprint()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::clones::kept;
    use crate::index::{Index, MEMORY, Workspace};
    use crate::search::tests::{program, programs};
    use crate::store::{Memory, Store};

    fn settings() -> Settings {
        Settings { min_tokens: 20, test_min_tokens: 20, min_lines: 2, ..Settings::default() }
    }

    fn index(root: &Path, store: &Arc<dyn Store>) -> Index {
        let workspace = Workspace { root: root.to_owned(), paths: vec![root.to_owned()], settings: settings() };
        let mut index = Index::open(Arc::clone(store), workspace, MEMORY);
        index.refresh(&|_| {}).expect("a folder");
        index
    }

    /// Every pair of files, compared chunk by chunk.
    fn brute_force(index: &Index) -> Vec<Contained> {
        let (snapshot, settings) = (index.snapshot(), settings());
        let blotting = crate::blots::Blotting::of(&settings);
        let mut files: Vec<(String, BTreeSet<u64>)> = Vec::new();
        for number in snapshot.numbers() {
            let document = snapshot.document(number).expect("a document");
            let mut chunks = BTreeSet::new();
            kept(&document, &blotting, &mut Vec::new(), |_, blot| chunks.extend([blot]));
            files.push((document.shown.clone(), chunks));
        }
        files.sort();
        let n_files = |chunk: &u64| files.iter().filter(|(_, chunks)| chunks.contains(chunk)).count();
        let contained = |(shown, chunks): &(String, BTreeSet<u64>)| {
            let common: BTreeSet<u64> = chunks.iter().copied().filter(|chunk| n_files(chunk) > MAX_FILES).collect();
            let others = files.iter().filter(|(other, _)| other != shown).map(|(other, of_other)| {
                let shared = chunks.intersection(of_other).filter(|chunk| !common.contains(chunk)).count() as u32;
                Other { shown: other.clone(), shared, chunks: of_other.len() as u32 }
            });
            let mut others: Vec<Other> = others.filter(|other| other.shared > 0).collect();
            others.sort_by_key(|other| (Reverse(other.shared), other.shown.clone()));
            others.truncate(TOP);
            Contained { shown: shown.clone(), chunks: chunks.len() as u32, common: common.len() as u32, others }
        };
        files.iter().map(contained).collect()
    }

    /// The table and what each file is told by itself.
    fn check(index: &mut Index) {
        let expected = brute_force(index);
        assert_eq!(index.containment(&settings()).expect("an index"), expected);
        for file in expected.iter().step_by(7) {
            for top in [1, TOP] {
                let mut file = file.clone();
                file.others.truncate(top);
                assert_eq!(index.snapshot().contained(&file.shown, &settings(), top).as_ref(), Some(&file));
            }
        }
    }

    proptest! {
        #![proptest_config(crate::cases(6))]

        #[test]
        fn counts_are_those_of_brute_force_through_edits_merges_and_reopening(
            programs in programs(), edits in prop::collection::vec((any::<u8>(), any::<u8>(), 0u8..8), 1..20),
        ) {
            let folder = tempfile::tempdir().expect("a folder");
            let root = folder.path().canonicalize().expect("a folder");
            let write = |i: usize, program: &str| fs::write(root.join(format!("{i}.go")), program).expect("a file");
            for i in 0..20 {
                write(i, &program(&programs[i % programs.len()][..programs[i % programs.len()].len() * (i % 7) / 7]));
            }
            let store: Arc<dyn Store> = Arc::new(Memory::default());
            let mut index = index(&root, &store);
            check(&mut index);
            for (file, with, what) in edits {
                let i = file as usize % 20;
                match what {
                    0 => drop(fs::remove_file(root.join(format!("{i}.go")))),
                    1 => index.merge(),
                    2 => index = self::index(&root, &store),
                    _ => write(i, &program(&programs[with as usize % programs.len()])),
                }
                index.refresh(&|_| {}).expect("a folder");
                let before = index.sharing.clone();
                let (_, members) = index.snapshot().documents(&root);
                if let Some(before) = before {
                    prop_assert!(before.update(&members, &index.snapshot(), &settings()).is_some(), "not anew");
                }
                check(&mut index);
            }
        }
    }

    #[test]
    fn a_chunk_of_too_many_files_counts_for_no_two_of_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a folder");
        let statements: Vec<(u8, u8, u8)> = (0..18u8).map(|i| (i.wrapping_mul(7), i % 3, i % 2)).collect();
        let more: Vec<(u8, u8, u8)> = (0..27u8).map(|i| (i.wrapping_mul(11) / 3, i % 4, i % 3)).collect();
        for i in 0..MAX_FILES {
            fs::write(root.join(format!("{i}.go")), program(&statements)).expect("a file");
        }
        let store: Arc<dyn Store> = Arc::new(Memory::default());
        let mut index = index(&root, &store);
        let told = |index: &mut Index| index.containment(&settings()).expect("an index").remove(0);
        assert_eq!((told(&mut index).common, told(&mut index).others.len()), (0, TOP));
        for name in ["a.go", "b.go"] {
            fs::write(root.join(name), program(&[&statements[..], &more].concat())).expect("a file");
        }
        index.refresh(&|_| {}).expect("a folder");
        let table = index.containment(&settings()).expect("an index");
        let of = |shown: &str| table.iter().find(|file| file.shown == shown).expect("a file");
        assert_eq!((of("1.go").common, of("1.go").others.len()), (of("1.go").chunks, 0), "all of it is common");
        let a = of("a.go");
        assert!(a.common > 0 && a.others.len() == 1 && a.others[0].shown == "b.go");
        assert_eq!(a.others[0].shared, a.chunks - a.common);
        for shown in ["a.go", "1.go"] {
            assert_eq!(index.snapshot().contained(shown, &settings(), TOP).as_ref(), Some(of(shown)));
        }
    }

    #[test]
    fn what_is_kept_comes_back_and_wrong_bytes_do_not() {
        let sharing = Sharing {
            settings: 7,
            documents: vec![(1, 3), (2, 4), (3, 1)],
            blots: vec![5, u64::MAX],
            ends: vec![2, 5],
            holders: vec![0, 2, 0, 1, 2],
        };
        let written = sharing.write().expect("written");
        assert_eq!(Sharing::read(&written), Some(sharing));
        for i in 0..written.len() {
            assert_eq!(Sharing::read(&written[..i]), None);
            let mut flipped = written.clone();
            flipped[i] ^= 0x40;
            assert_eq!(Sharing::read(&flipped), None);
        }
    }
}
