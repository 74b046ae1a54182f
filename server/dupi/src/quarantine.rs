//! Which contents have ended the process that read them, so that they are not read again. Knows contents by their
//! hashes, not whose they are.
//!
//! Grammars are C code: what goes wrong in one may end the process, and nothing can catch that. An editor would start
//! its server again, and the server would read the same file again. So who writes the index notes, for each thread, the
//! content that it is tokenizing. A note that is found when the index is opened is of a process that has ended
//! meanwhile: a **strike** against that content, and after the second it is skipped.
//!
//! Not after the first, since the process may have been killed for other reasons, and other threads were reading, too.
//! A content with a strike is a **suspect**: it is tokenized while no other is, so that the second strike hits no
//! bystander, and it is cleared if that goes well. What is skipped stays so until it is edited, the index is removed, or
//! another release reads it: each has an index of its own.
//!
//! ```text
//! notes     N_SLOTS × 8  the content that a thread is reading, u64; 0: none. Changed in place, never synced
//!
//! strikes   8  magic
//!           4  version, u32
//!           v  n, then for each, the oldest first
//!              8  content, u64
//!              1  strikes
//!           8  xxh3 of all the above, u64
//! ```
//!
//! Numbers of fixed width are little-endian; `v` is an unsigned LEB128 varint. Neither file is needed: what cannot be
//! read is empty, and what cannot be written is not known after a crash.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use xxhash_rust::xxh3::xxh3_64;

use crate::bytes::{Reader, put};
use crate::store::{Slots, Store};

/// The names of the files.
pub const NOTES: &str = "notes";
pub const STRIKES: &str = "strikes";

/// 1: first.
const VERSION: u32 = 1;
const MAGIC: [u8; 8] = *b"dupiSTK\n";

/// Contents that can be noted at a time: more than there are threads. Those of further threads are read without a note.
const N_SLOTS: usize = 256;

/// How many strikes a content may not have: see above why one is too few.
const MAX_STRIKES: u8 = 2;

/// Contents of which strikes are kept; beyond, the oldest are forgotten. Far more than a workspace has bad files, and
/// few enough that all are looked at for each file that is read.
const MAX_STRUCK: usize = 1024;

/// The file of strikes is not longer; what is, is none.
const MAX_BYTES: u64 = 64 << 10;

/// What is known of contents that end processes, and the notes of this one.
#[derive(Debug, Default)]
pub struct Quarantine {
    /// None if this process may not write, or cannot.
    slots: Option<Box<dyn Slots>>,
    /// The right to write is gone.
    stopped: AtomicBool,
    state: Mutex<State>,
    /// Held by all who tokenize, and by one alone who tokenizes a suspect.
    tokenizing: RwLock<()>,
}

#[derive(Debug, Default)]
struct State {
    free: Vec<usize>,
    /// Contents and how often they were noted when a process ended, the oldest first.
    strikes: Vec<(u64, u8)>,
    /// They are not on disk as they are here.
    changed: bool,
}

impl State {
    fn strikes(&self, content: u64) -> u8 {
        self.strikes.iter().find(|(struck, _)| *struck == content).map_or(0, |(_, n)| *n)
    }

    fn strike(&mut self, content: u64) {
        match self.strikes.iter_mut().find(|(struck, _)| *struck == content) {
            Some((_, n)) => *n = n.saturating_add(1),
            None => self.strikes.push((content, 1)),
        }
        let excess = self.strikes.len().saturating_sub(MAX_STRUCK);
        self.strikes.drain(..excess);
        self.changed = true;
    }
}

impl Quarantine {
    /// For the process that writes: what the one before it had noted when it ended is struck, and notes are taken.
    pub fn open(store: &dyn Store) -> Quarantine {
        let mut quarantine = Quarantine::look(store);
        let notes = store.read(NOTES, (N_SLOTS * 8) as u64).unwrap_or_default();
        let mut noted: Vec<u64> = notes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        noted.retain(|&content| content != 0);
        noted.sort_unstable();
        noted.dedup();
        // This empties them. If it fails they would be found again at each start, and struck for one crash each time.
        quarantine.slots = store.slots(NOTES, N_SLOTS).ok().flatten();
        if quarantine.slots.is_some() {
            let mut state = quarantine.state();
            state.free = (0..N_SLOTS).rev().collect();
            noted.into_iter().for_each(|content| state.strike(content));
        }
        quarantine.keep(store);
        quarantine
    }

    /// For others: the notes are of a process that lives.
    pub fn look(store: &dyn Store) -> Quarantine {
        let strikes = store.read(STRIKES, MAX_BYTES).ok().and_then(|bytes| decode(&bytes)).unwrap_or_default();
        Quarantine { state: Mutex::new(State { strikes, ..State::default() }), ..Quarantine::default() }
    }

    /// Does this process note what it reads?
    pub fn is_noting(&self) -> bool {
        self.slots.is_some() && !self.stopped.load(Ordering::Relaxed)
    }

    /// No more notes: the right to write is gone.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Lets `tokenize` read a content, noted for as long as that takes. None, if it must not be read.
    pub fn guard<T>(&self, content: u64, tokenize: impl FnOnce() -> T) -> Option<T> {
        let strikes = self.state().strikes(content);
        if strikes >= MAX_STRIKES {
            return None;
        }
        if strikes == 0 {
            let _with_others = self.tokenizing.read().unwrap_or_else(PoisonError::into_inner);
            return Some(self.noted(content, tokenize));
        }
        let alone = self.tokenizing.write().unwrap_or_else(PoisonError::into_inner);
        let read = self.noted(content, tokenize);
        drop(alone);
        let mut state = self.state();
        state.strikes.retain(|(struck, _)| *struck != content);
        state.changed = true;
        Some(read)
    }

    /// The same without a note, unless the content is a suspect: for what is read all the time and would be read again,
    /// with a note, by the process that comes after a crash.
    pub fn guard_unnoted<T>(&self, content: u64, tokenize: impl FnOnce() -> T) -> Option<T> {
        if self.state().strikes(content) == 0 { Some(tokenize()) } else { self.guard(content, tokenize) }
    }

    fn noted<T>(&self, content: u64, tokenize: impl FnOnce() -> T) -> T {
        let slots = self.slots.as_deref().filter(|_| self.is_noting());
        let slot = slots.and_then(|slots| Some((slots, self.state().free.pop()?)));
        let Some((slots, slot)) = slot else { return tokenize() };
        let _note = Note { slots, slot, of: self };
        // A note that cannot be written is missed only by those who crash.
        let _ = slots.set(slot, content);
        tokenize()
    }

    /// Writes the strikes, if they have changed. If that fails, they are written the next time.
    pub fn keep(&self, store: &dyn Store) {
        let mut state = self.state();
        if self.is_noting() && state.changed {
            let bytes = encode(&state.strikes);
            state.changed = store.write(STRIKES, &mut |to| to.write_all(&bytes)).is_err();
        }
    }

    /// No code runs while it is locked that could leave it half changed, so a poisoned one is sound.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A slot that is in use; empty again when dropped, a panic being no crash.
struct Note<'a> {
    slots: &'a dyn Slots,
    slot: usize,
    of: &'a Quarantine,
}

impl Drop for Note<'_> {
    fn drop(&mut self) {
        let _ = self.slots.set(self.slot, 0);
        self.of.state().free.push(self.slot);
    }
}

fn encode(strikes: &[(u64, u8)]) -> Vec<u8> {
    let mut to = Vec::new();
    to.extend(MAGIC);
    to.extend(VERSION.to_le_bytes());
    put(&mut to, strikes.len() as u64);
    for (content, n) in strikes {
        to.extend(content.to_le_bytes());
        to.push(*n);
    }
    to.extend(xxh3_64(&to).to_le_bytes());
    to
}

fn decode(bytes: &[u8]) -> Option<Vec<(u64, u8)>> {
    let (sealed, checksum) = bytes.split_last_chunk()?;
    if u64::from_le_bytes(*checksum) != xxh3_64(sealed) {
        return None;
    }
    let mut from = Reader::new(sealed.strip_prefix(&MAGIC)?.strip_prefix(&VERSION.to_le_bytes())?);
    let n = from.count(8 + 1)?;
    let strikes = (0..n).map(|_| Some((from.u64()?, from.u8()?))).collect::<Option<_>>()?;
    from.is_empty().then_some(strikes)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rayon::prelude::*;

    use super::*;
    use crate::store::{Folder, Memory};

    /// What a process leaves that ends while it reads these.
    fn crash(folder: &Folder, contents: &[u64]) {
        let slots = folder.slots(NOTES, N_SLOTS).unwrap().unwrap();
        contents.iter().zip(3..).for_each(|(content, slot)| slots.set(slot, *content).unwrap());
    }

    fn is_read(quarantine: &Quarantine, content: u64) -> bool {
        quarantine.guard(content, || ()).is_some()
    }

    #[test]
    fn a_content_is_not_read_after_its_second_strike() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::create(temporary.path()).unwrap();
        crash(&folder, &[7]);
        assert_eq!(Quarantine::open(&folder).state().strikes, [(7, 1)]);
        assert_eq!(Quarantine::open(&folder).state().strikes, [(7, 1)], "one crash is one strike");
        crash(&folder, &[9, 7, 7]);
        let quarantine = Quarantine::open(&folder);
        assert_eq!(quarantine.state().strikes, [(7, 2), (9, 1)]);
        assert!(!is_read(&quarantine, 7) && is_read(&quarantine, 8) && is_read(&quarantine, 9));
        assert!(!is_read(&Quarantine::look(&folder), 7), "nor by those who do not write");
        quarantine.keep(&folder);
        assert_eq!(Quarantine::look(&folder).state().strikes, [(7, 2)], "what was read is cleared");
    }

    #[test]
    fn notes_last_as_long_as_a_content_is_read() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::create(temporary.path()).unwrap();
        let quarantine = Quarantine::open(&folder);
        let noted = || folder.read(NOTES, u64::MAX).unwrap().iter().any(|byte| *byte != 0);
        assert_eq!(quarantine.guard(7, noted), Some(true));
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| quarantine.guard(7, || panic!("it"))));
        assert!(panicked.is_err() && !noted());
        assert_eq!(quarantine.state().free.len(), N_SLOTS);
        assert_eq!(Quarantine::look(&folder).guard(7, noted), Some(false), "only the writer notes");
    }

    #[test]
    fn a_suspect_is_read_while_no_other_is() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::create(temporary.path()).unwrap();
        crash(&folder, &[1, 2]);
        let quarantine = Quarantine::open(&folder);
        let n_reading = AtomicUsize::new(0);
        (1..=200u64).into_par_iter().for_each(|content| {
            quarantine.guard(content, || {
                n_reading.fetch_add(1, Ordering::SeqCst);
                std::thread::yield_now();
                assert!(content > 2 || n_reading.load(Ordering::SeqCst) == 1);
                n_reading.fetch_sub(1, Ordering::SeqCst);
            });
        });
        assert_eq!(quarantine.state().strikes, []);
    }

    #[test]
    fn without_a_disk_all_is_read_and_nothing_noted() {
        let quarantine = Quarantine::open(&Memory::default());
        assert!(!quarantine.is_noting() && is_read(&quarantine, 7));
    }

    #[test]
    fn wrong_bytes_are_no_strikes() {
        let strikes = vec![(7, 1), (u64::MAX, 2)];
        let bytes = encode(&strikes);
        assert_eq!(decode(&bytes), Some(strikes));
        for at in 0..bytes.len() {
            let mut wrong = bytes.clone();
            wrong[at] ^= 1;
            assert_eq!(decode(&wrong), None);
            assert_eq!(decode(&bytes[..at]), None);
        }
        // A count without what it counts, under a checksum that is right.
        let mut long = [&MAGIC[..], &VERSION.to_le_bytes(), &[0xff, 0xff, 0xff, 0x7f]].concat();
        long.extend(xxh3_64(&long).to_le_bytes());
        assert_eq!(decode(&long), None);
    }

    #[test]
    fn the_oldest_strikes_are_forgotten() {
        let mut state = State::default();
        (1..=MAX_STRUCK as u64 + 5).for_each(|content| state.strike(content));
        assert_eq!((state.strikes.len(), state.strikes[0]), (MAX_STRUCK, (6, 1)));
        assert!(encode(&state.strikes).len() as u64 <= MAX_BYTES);
    }
}
