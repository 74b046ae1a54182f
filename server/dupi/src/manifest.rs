//! The list of what is current: which segments, and which of their documents are gone. The one file that is replaced,
//! and so the one point at which a commit happens.
//!
//! It knows segments by name, length and checksum, not what is in them.
//!
//! ```text
//! manifest   8  magic
//!            4  version, u32
//!            8  generation, u64
//!            8  profile, u64
//!            v  n_segments, then for each
//!               v  length of the name, and the name
//!               8  bytes, u64
//!               8  checksum, u64
//!               v  n_documents
//!               v  n_deleted, and for each
//!                  v  how many ordinals lie between it and the one before
//!            8  xxh3 of all the above, u64
//! ```
//!
//! Numbers of fixed width are little-endian; `v` is an unsigned LEB128 varint. Magic, version and the checksum at the
//! end stand where they are in every version, so that a newer format can be told from a damaged file.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::io::{self, ErrorKind};

use xxhash_rust::xxh3::xxh3_64;

use crate::bytes::{Reader, put};
use crate::store::{Store, TEMPORARY};

/// 1: first.
pub const VERSION: u32 = 1;

/// The name of the file.
pub const NAME: &str = "manifest";

/// How the name of a segment ends.
pub const SEGMENT: &str = ".seg";

const MAGIC: [u8; 8] = *b"dupiMNF\n";

/// Magic, version, checksum.
const FRAME: usize = MAGIC.len() + 4 + 8;

/// The file is read into memory as a whole. This is room for a hundred million tombstones, thousands of times what is
/// left after a merge, and still no harm if the file is something else and huge.
const MAX_BYTES: usize = 256 << 20;

/// The least that a segment takes: the length of its name and four letters, two numbers, two counts.
const MIN_SEGMENT_BYTES: usize = 1 + SEGMENT.len() + 8 + 8 + 1 + 1;

/// What is current.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// Counts the commits.
    pub generation: u64,
    /// What the segments were made with; those of another profile answer another question.
    pub profile: u64,
    pub segments: Vec<SegmentEntry>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SegmentEntry {
    /// Letters, digits, `-` and `_`, then `.seg`.
    pub name: String,
    pub bytes: u64,
    pub checksum: u64,
    pub n_documents: u32,
    /// Ordinals of the documents that are gone, ascending.
    pub deleted: Vec<u32>,
}

/// What there is in the place of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadManifest {
    /// No file.
    None,
    Current(Manifest),
    /// Cut, changed, or of an older version: to be rebuilt.
    Damaged,
    /// Written by a newer program, which will want it again: nothing in the folder may be written or removed.
    Newer(u32),
}

impl Manifest {
    /// A writer reads after it has the lock: before that, a process of another version may still replace the file.
    pub fn read(store: &dyn Store) -> io::Result<ReadManifest> {
        // A file that is longer comes back cut, and its checksum fails.
        match store.read(NAME, MAX_BYTES as u64) {
            Ok(bytes) => Ok(decode(&bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(ReadManifest::None),
            Err(error) => Err(error),
        }
    }

    /// Makes this what is current. Its segments were written before.
    ///
    /// After an error it may have become current or not.
    pub fn write(&self, store: &dyn Store) -> io::Result<()> {
        let bytes = self.encode();
        // Tombstones out of order, a name that occurs twice: what could not be read back must not replace what can.
        if bytes.len() > MAX_BYTES || decode(&bytes) != ReadManifest::Current(self.clone()) {
            return Err(io::Error::new(ErrorKind::InvalidInput, format!("cannot write {NAME}: it would not be read")));
        }
        // The names of the segments must last before a manifest that names them can.
        store.sync()?;
        store.write(NAME, &mut |to| to.write_all(&bytes))?;
        store.sync()
    }

    /// Removes the segments and temporary files that are neither current nor in `keep`, which names what is being
    /// written or still read. All that can be removed is; the first error is returned.
    ///
    /// Only for the process that holds the lock, and only with the manifest that is on the disk.
    pub fn collect(&self, store: &dyn Store, keep: &[String]) -> io::Result<()> {
        let current: HashSet<&str> = self.segments.iter().map(|segment| &*segment.name).collect();
        let kept = |name: &str| keep.iter().any(|kept| kept == name);
        let mut result = Ok(());
        for name in store.names()? {
            let gone = match name.strip_suffix(TEMPORARY) {
                Some(target) => !kept(target),
                None => name.ends_with(SEGMENT) && !current.contains(&*name),
            };
            if gone && !kept(&name) {
                result = result.and(store.remove(&name));
            }
        }
        result
    }

    fn encode(&self) -> Vec<u8> {
        let mut to = Vec::new();
        to.extend(MAGIC);
        to.extend(VERSION.to_le_bytes());
        to.extend(self.generation.to_le_bytes());
        to.extend(self.profile.to_le_bytes());
        put(&mut to, self.segments.len() as u64);
        for segment in &self.segments {
            put(&mut to, segment.name.len() as u64);
            to.extend(segment.name.as_bytes());
            to.extend(segment.bytes.to_le_bytes());
            to.extend(segment.checksum.to_le_bytes());
            put(&mut to, u64::from(segment.n_documents));
            put(&mut to, segment.deleted.len() as u64);
            let mut next = 0;
            for &ordinal in &segment.deleted {
                put(&mut to, u64::from(ordinal).wrapping_sub(next));
                next = u64::from(ordinal) + 1;
            }
        }
        seal(to)
    }
}

/// Adds the checksum.
fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = xxh3_64(&bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

fn decode(bytes: &[u8]) -> ReadManifest {
    let Some((version, body)) = unseal(bytes) else { return ReadManifest::Damaged };
    match version.cmp(&VERSION) {
        Ordering::Less => ReadManifest::Damaged,
        Ordering::Equal => manifest(&mut Reader::new(body)).map_or(ReadManifest::Damaged, ReadManifest::Current),
        Ordering::Greater => ReadManifest::Newer(version),
    }
}

/// Version and body of a file that is whole.
fn unseal(bytes: &[u8]) -> Option<(u32, &[u8])> {
    if bytes.len() < FRAME {
        return None;
    }
    let (sealed, checksum) = bytes.split_last_chunk()?;
    let (magic, rest) = sealed.split_first_chunk()?;
    let (version, body) = rest.split_first_chunk()?;
    let whole = *magic == MAGIC && u64::from_le_bytes(*checksum) == xxh3_64(sealed);
    whole.then_some((u32::from_le_bytes(*version), body))
}

fn manifest(from: &mut Reader<'_>) -> Option<Manifest> {
    let generation = from.u64()?;
    let profile = from.u64()?;
    let n_segments = from.count(MIN_SEGMENT_BYTES)?;
    let mut segments = Vec::with_capacity(n_segments);
    for _ in 0..n_segments {
        segments.push(segment(from)?);
    }
    let names: HashSet<&str> = segments.iter().map(|segment| &*segment.name).collect();
    let distinct = names.len() == segments.len();
    (distinct && from.is_empty()).then_some(Manifest { generation, profile, segments })
}

fn segment(from: &mut Reader<'_>) -> Option<SegmentEntry> {
    let n_letters = from.count(1)?;
    let name = str::from_utf8(from.take(n_letters)?).ok()?;
    let plain = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'-' | b'_');
    let stem = name.strip_suffix(SEGMENT)?;
    // A name with `/` in it could lead out of the folder.
    if stem.is_empty() || !stem.bytes().all(plain) {
        return None;
    }
    let bytes = from.u64()?;
    let checksum = from.u64()?;
    let n_documents = u32::try_from(from.number()?).ok()?;
    let n_deleted = from.count(1)?;
    let mut deleted = Vec::with_capacity(n_deleted);
    let mut next = 0u64;
    for _ in 0..n_deleted {
        let ordinal = next.checked_add(from.number()?).filter(|&ordinal| ordinal < u64::from(n_documents))?;
        deleted.push(ordinal as u32);
        next = ordinal + 1;
    }
    Some(SegmentEntry { name: name.to_owned(), bytes, checksum, n_documents, deleted })
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::store::faulty::{Fault, Faulty};
    use crate::store::{Folder, Memory};

    fn put_file(store: &dyn Store, name: &str, content: &[u8]) -> io::Result<()> {
        store.write(name, &mut |to: &mut dyn Write| to.write_all(content))
    }

    fn entry(name: &str, n_documents: u32, deleted: &[u32]) -> SegmentEntry {
        SegmentEntry { name: name.to_owned(), bytes: 1 << 40, checksum: 0xfeed, n_documents, deleted: deleted.to_vec() }
    }

    fn sample() -> Manifest {
        let segments = vec![
            entry("a-1.seg", 300, &[0, 1, 128, 299]),
            entry("b_2.seg", u32::MAX, &[u32::MAX - 1]),
            entry("c.seg", 0, &[]),
        ];
        Manifest { generation: 7, profile: 9, segments }
    }

    fn reread(manifest: &Manifest) -> ReadManifest {
        let store = Memory::default();
        manifest.write(&store).unwrap();
        Manifest::read(&store).unwrap()
    }

    fn any_segment() -> impl Strategy<Value = SegmentEntry> {
        (any::<u64>(), any::<u64>(), 0u32..1000).prop_flat_map(|(bytes, checksum, n_documents)| {
            let ordinals = proptest::collection::btree_set(0..n_documents.max(1), 0..50);
            ordinals.prop_map(move |mut deleted| {
                deleted.retain(|&ordinal| ordinal < n_documents);
                let deleted = deleted.into_iter().collect();
                SegmentEntry { name: String::new(), bytes, checksum, n_documents, deleted }
            })
        })
    }

    proptest! {
        #![proptest_config(crate::cases(256))]

        #[test]
        fn what_is_written_is_read(
            generation in any::<u64>(), profile in any::<u64>(),
            segments in proptest::collection::btree_map("[a-zA-Z0-9_-]{1,9}\\.seg", any_segment(), 0..9),
        ) {
            let segments = segments.into_iter().map(|(name, segment)| SegmentEntry { name, ..segment }).collect();
            let manifest = Manifest { generation, profile, segments };
            prop_assert_eq!(reread(&manifest), ReadManifest::Current(manifest));
        }

        /// Whoever can compute a checksum can write any body.
        #[test]
        fn any_body_under_a_good_checksum_is_read_or_damaged(
            body in proptest::collection::vec(any::<u8>(), 0..200), n in 0usize..200, with in any::<u8>(),
        ) {
            let sealed = |body: &[u8]| seal([&MAGIC[..], &VERSION.to_le_bytes(), body].concat());
            let mut changed = sample().encode();
            changed.truncate(changed.len() - 8);
            let at = MAGIC.len() + 4 + n % (changed.len() - MAGIC.len() - 4);
            changed[at] = with;
            for bytes in [sealed(&body), seal(changed)] {
                match decode(&bytes) {
                    ReadManifest::Current(manifest) => prop_assert_eq!(reread(&manifest), ReadManifest::Current(manifest)),
                    other => prop_assert_eq!(other, ReadManifest::Damaged),
                }
            }
        }
    }

    #[test]
    fn no_file_is_none() {
        assert_eq!(Manifest::read(&Memory::default()).unwrap(), ReadManifest::None);
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::create(temporary.path()).unwrap();
        assert_eq!(Manifest::read(&folder).unwrap(), ReadManifest::None);
        sample().write(&folder).unwrap();
        assert_eq!(Manifest::read(&folder).unwrap(), ReadManifest::Current(sample()));
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_damage() {
        let whole = sample().encode();
        for n in 0..whole.len() {
            assert_eq!(decode(&whole[..n]), ReadManifest::Damaged, "cut at {n}");
            for bits in (0..8).map(|bit| 1 << bit).chain([0xff]) {
                let mut bytes = whole.clone();
                bytes[n] ^= bits;
                assert_eq!(decode(&bytes), ReadManifest::Damaged, "{bits:#x} at {n}");
            }
        }
        assert_eq!(decode(&[&whole[..], &[0]].concat()), ReadManifest::Damaged);
    }

    #[test]
    fn an_older_version_is_rebuilt_and_a_newer_one_is_told() {
        let of = |version: u32| decode(&seal([&MAGIC[..], &version.to_le_bytes(), b"whatever"].concat()));
        assert_eq!(of(VERSION - 1), ReadManifest::Damaged);
        assert_eq!(of(VERSION), ReadManifest::Damaged);
        assert_eq!(of(VERSION + 1), ReadManifest::Newer(VERSION + 1));
    }

    #[test]
    fn counts_beyond_the_file_allocate_nothing() {
        for count in [1, 1 << 20, u64::MAX] {
            let mut bytes = [&MAGIC[..], &VERSION.to_le_bytes(), &[0; 16]].concat();
            put(&mut bytes, count);
            assert_eq!(decode(&seal(bytes)), ReadManifest::Damaged);
        }
    }

    #[test]
    fn what_would_not_be_read_is_not_written() {
        for segments in [
            vec![entry("a.seg", 9, &[2, 1])],
            vec![entry("a.seg", 9, &[1, 1])],
            vec![entry("a.seg", 9, &[9])],
            vec![entry("a.seg", 9, &[]), entry("a.seg", 9, &[])],
            vec![entry("../a.seg", 9, &[])],
            vec![entry("lock", 9, &[])],
            vec![entry(".seg", 9, &[])],
        ] {
            let store = Memory::default();
            let manifest = Manifest { segments, ..sample() };
            assert_eq!(manifest.write(&store).unwrap_err().kind(), ErrorKind::InvalidInput, "{manifest:?}");
            assert!(store.names().unwrap().is_empty());
        }
    }

    #[test]
    fn collection_removes_what_is_ours_and_not_current() {
        let store = Memory::default();
        let all = [
            "a-1.seg",
            "b_2.seg",
            "c.seg",
            "kept.seg",
            "under-way.seg.tmp",
            "old.seg",
            "old.seg.tmp",
            "a-1.seg.tmp",
            "manifest.tmp",
            "manifest",
            "lock",
            "notes.txt",
            "seg",
            "tmp",
        ];
        for name in all {
            put_file(&store, name, b"").unwrap();
        }
        sample().collect(&store, &["kept.seg".to_owned(), "under-way.seg".to_owned()]).unwrap();
        let mut left = all.to_vec();
        left.retain(|name| !["old.seg", "old.seg.tmp", "a-1.seg.tmp", "manifest.tmp"].contains(name));
        left.sort_unstable();
        assert_eq!(store.names().unwrap(), left);
    }

    /// A commit as the index makes it: new segments, the manifest, then what is no longer current goes.
    fn commit(store: &dyn Store, generation: u64) -> io::Result<()> {
        let names = ["x", "y"].map(|letter| format!("{letter}{generation}.seg"));
        for name in &names {
            put_file(store, name, name.as_bytes())?;
        }
        let segments = names.iter().map(|name| entry(name, 5, &[3])).collect();
        let manifest = Manifest { generation, profile: 1, segments };
        manifest.write(store)?;
        manifest.collect(store, &[])
    }

    /// The generation that is current, all of whose segments are there.
    fn sound(store: &dyn Store) -> Option<Manifest> {
        let ReadManifest::Current(manifest) = Manifest::read(store).unwrap() else { return None };
        for segment in &manifest.segments {
            assert_eq!(&store.open(&segment.name).unwrap()[..], segment.name.as_bytes());
        }
        Some(manifest)
    }

    #[test]
    fn a_crash_at_any_operation_of_a_commit_leaves_the_old_or_the_new() {
        let temporary = tempfile::tempdir().unwrap();
        let n_operations = {
            let store = Faulty::new(Arc::new(Memory::default()), Fault::None, 0);
            commit(&store, 1).unwrap();
            store.set(Fault::None);
            commit(&store, 2).unwrap();
            store.operations()
        };
        assert!(n_operations >= 8);
        let mut seen = [0; 4];
        for at in 0..n_operations {
            for seed in 0..60 {
                // Real files, but for few seeds: they cost a sync each.
                let inner: Arc<dyn Store> = match seed {
                    0 | 1 => Arc::new(Folder::create(temporary.path().join(format!("{at}-{seed}"))).unwrap()),
                    _ => Arc::new(Memory::default()),
                };
                let store = Faulty::new(inner.clone(), Fault::None, seed);
                commit(&store, 1).unwrap();
                // The collection after a commit is not synced; the next commit does it.
                store.set(Fault::Crash { at, torn: false });
                assert!(commit(&store, 2).is_err());
                let manifest = sound(&*inner).unwrap_or_else(|| panic!("crash at {at}, seed {seed}: {inner:?}"));
                seen[manifest.generation as usize] += 1;

                manifest.collect(&*inner, &[]).unwrap();
                assert_eq!(inner.names().unwrap().len(), 1 + manifest.segments.len(), "crash at {at}, seed {seed}");
                commit(&*inner, 3).unwrap();
                assert_eq!(sound(&*inner).unwrap().generation, 3);
            }
        }
        assert!(seen[1] > 20 && seen[2] > 20, "{seen:?}");
    }

    /// Folder and operation, for the process that is to be killed.
    const KILL: [&str; 2] = ["DUPI_KILL_FOLDER", "DUPI_KILL_AT"];

    #[test]
    #[ignore = "ends its process: run by the next test, in one of its own"]
    fn commit_and_be_killed() {
        let [Ok(folder), Ok(at)] = KILL.map(std::env::var) else { return };
        let at = at.parse().unwrap();
        let store = Faulty::new(Arc::new(Folder::create(folder).unwrap()), Fault::Kill { at }, at);
        let _lock = store.inner().lock().unwrap().expect("free");
        commit(&store, 2).unwrap();
    }

    #[test]
    fn a_killed_process_leaves_the_old_or_the_new_and_no_lock() {
        let temporary = tempfile::tempdir().unwrap();
        let mut seen = [0; 4];
        for at in 0.. {
            let path = temporary.path().join(at.to_string());
            let folder = Folder::create(&path).unwrap();
            commit(&folder, 1).unwrap();
            let child = std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "manifest::tests::commit_and_be_killed", "--ignored"])
                .envs([(KILL[0], path.into_os_string()), (KILL[1], at.to_string().into())])
                .output()
                .unwrap();
            let _lock = folder.lock().unwrap().expect("the dead hold no lock");
            let manifest = sound(&folder).unwrap_or_else(|| panic!("killed at {at}"));
            seen[manifest.generation as usize] += 1;
            if child.status.success() {
                break;
            }
        }
        assert!(seen[1] >= 3 && seen[2] >= 3, "{seen:?}");
    }

    #[test]
    fn a_disk_that_lies_about_its_syncs_loses_a_commit_and_never_invents_one() {
        let mut damaged = 0;
        for at in 0..10 {
            for seed in 0..60 {
                let inner = Arc::new(Memory::default());
                let store = Faulty::new(inner.clone(), Fault::None, seed);
                commit(&store, 1).unwrap();
                store.set(Fault::Crash { at, torn: true });
                let _ = commit(&store, 2);
                match sound(&*inner) {
                    Some(manifest) => assert!([1, 2].contains(&manifest.generation)),
                    None => damaged += 1,
                }
            }
        }
        assert!(damaged > 0);
    }

    #[test]
    fn a_full_disk_keeps_the_old_manifest() {
        for after in 0..200 {
            let store = Faulty::new(Arc::new(Memory::default()), Fault::None, 0);
            commit(&store, 1).unwrap();
            store.set(Fault::DiskFull { after });
            match commit(&store, 2) {
                Ok(()) => assert_eq!(sound(&store).unwrap().generation, 2),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::StorageFull);
                    assert_eq!(sound(&store).unwrap().generation, 1);
                }
            }
        }
    }
}
