//! Contents that end the process that tokenizes them, so that they are not read again. Knows contents by their hashes,
//! not whose they are.
//!
//! Grammars are C code: a fault in one can end the process, and nothing can catch that. An editor would start its server
//! again, and the server would read the same file again. So the process that writes the index notes, for each thread,
//! the content that it is tokenizing.
//!
//! A note that is found when the index is opened proves nothing: most processes that end while they read were
//! interrupted, killed, or told to end. Its content becomes a **suspect**, and before it is read again a process of its
//! own has to tokenize it ([`Trial`]). Only if that process ends by what it did itself (an abort, a segmentation fault,
//! a stack overflow) is the content skipped; if it ends well, the suspicion is dropped. A suspect that is skipped stays
//! one, and each process that meets it tries it anew: nothing is settled by a machine that had a bad day.
//!
//! ```text
//! notes     N_SLOTS × 8  the content that a thread is reading, u64; 0: none. Changed in place, never synced
//!
//! suspects  8  magic
//!           4  version, u32
//!           v  n, then for each, the oldest first
//!              8  content, u64
//!           8  xxh3 of all the above, u64
//! ```
//!
//! Numbers of fixed width are little-endian; `v` is an unsigned LEB128 varint. Neither file is needed: what cannot be
//! read is empty, and what cannot be written is not known after a crash.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use dupi_grammars::{Language, detect};
use xxhash_rust::xxh3::xxh3_64;

use crate::bytes::{Reader, put};
use crate::store::{Slots, Store};

/// The names of the files.
pub const NOTES: &str = "notes";
pub const SUSPECTS: &str = "suspects";

/// 1: first.
const VERSION: u32 = 1;
const MAGIC: [u8; 8] = *b"dupiSUS\n";

/// Contents that can be noted at a time: more than there are threads. Those of further threads are read without a note.
const N_SLOTS: usize = 256;

/// Suspects that are kept; beyond, the oldest are forgotten. Far more than a workspace has bad files, and few enough that
/// all are looked at for each file that is read.
const MAX_SUSPECTS: usize = 1024;

/// Upper bound when reading the file of suspects; anything larger is treated as empty.
const MAX_BYTES: u64 = 64 << 10;

/// Tokenizes a text in a process of its own. Did that process end by what it did itself? `None` if that could not be
/// found out: it could not be started, or something else ended it.
pub type Trial = fn(&'static Language, &[u8]) -> Option<bool>;

static TRIAL: OnceLock<Trial> = OnceLock::new();

/// Says how this program tries a suspect, once, before any index is opened. Without it suspects are read as others are.
pub fn set_trial(trial: Trial) {
    let _ = TRIAL.set(trial);
}

/// A text that is about to be tokenized.
#[derive(Clone, Copy)]
pub struct Sample<'a> {
    pub content: u64,
    pub path: &'a Path,
    /// None: the one that path and text say.
    pub language: Option<&'static Language>,
    pub bytes: &'a [u8],
}

/// What is known of contents that end processes, and the notes of this one.
#[derive(Debug, Default)]
pub struct Quarantine {
    /// None if this process may not write, or cannot.
    slots: Option<Box<dyn Slots>>,
    /// The right to write is gone.
    stopped: AtomicBool,
    state: Mutex<State>,
    /// Held while a suspect is tried: copies of one content are tried once.
    trying: Mutex<()>,
    trial: Option<Trial>,
}

#[derive(Debug, Default)]
struct State {
    free: Vec<usize>,
    /// The oldest first.
    suspects: Vec<Suspect>,
    /// They are not on disk as they are here.
    changed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Suspect {
    content: u64,
    /// It has ended a process that this one has started.
    is_proven: bool,
}

impl State {
    fn suspect(&mut self, content: u64) -> Option<&mut Suspect> {
        self.suspects.iter_mut().find(|suspect| suspect.content == content)
    }

    fn add(&mut self, content: u64) {
        if self.suspect(content).is_none() {
            self.suspects.push(Suspect { content, is_proven: false });
            let excess = self.suspects.len().saturating_sub(MAX_SUSPECTS);
            self.suspects.drain(..excess);
            self.changed = true;
        }
    }
}

impl Quarantine {
    /// For the process that writes: what the one before it had noted when it ended is suspect, and notes are taken.
    pub fn open(store: &dyn Store) -> Quarantine {
        let mut quarantine = Quarantine::look(store);
        // Mostly there are none. Where they cannot be read nobody is suspected, which costs a crash and no file.
        let notes = store.read(NOTES, (N_SLOTS * 8) as u64).unwrap_or_else(|_| Vec::new());
        let mut noted: Vec<u64> = notes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        noted.retain(|&content| content != 0);
        // This empties them. If it fails, the next process finds them again.
        quarantine.slots = store.slots(NOTES, N_SLOTS).ok().flatten();
        if quarantine.slots.is_some() {
            let mut state = quarantine.state();
            state.free = (0..N_SLOTS).rev().collect();
            noted.into_iter().for_each(|content| state.add(content));
        }
        quarantine.keep(store);
        quarantine
    }

    /// For others: the notes are of a process that lives.
    pub fn look(store: &dyn Store) -> Quarantine {
        let suspects = store.read(SUSPECTS, MAX_BYTES).ok().and_then(|bytes| decode(&bytes)).unwrap_or_default();
        let suspects = suspects.into_iter().map(|content| Suspect { content, is_proven: false }).collect();
        let state = Mutex::new(State { suspects, ..State::default() });
        Quarantine { state, trial: TRIAL.get().copied(), ..Quarantine::default() }
    }

    /// Does this process note what it reads?
    pub fn is_noting(&self) -> bool {
        self.slots.is_some() && !self.stopped.load(Ordering::Relaxed)
    }

    /// No more notes: the right to write is gone.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Lets `tokenize` read a text, noted for as long as that takes. None, if the text ends processes.
    pub fn guard<T>(&self, sample: Sample, tokenize: impl FnOnce() -> T) -> Option<T> {
        (!self.ends_processes(sample)).then(|| self.noted(sample.content, tokenize))
    }

    /// The same without a note, unless the content is a suspect: for what is read all the time and would be read again,
    /// with a note, by the process that comes after a crash.
    pub fn guard_unnoted<T>(&self, sample: Sample, tokenize: impl FnOnce() -> T) -> Option<T> {
        if self.state().suspect(sample.content).is_none() { Some(tokenize()) } else { self.guard(sample, tokenize) }
    }

    fn ends_processes(&self, Sample { content, path, language, bytes }: Sample) -> bool {
        if self.state().suspect(content).is_none() {
            return false;
        }
        let _one_at_a_time = self.trying.lock().unwrap_or_else(PoisonError::into_inner);
        match self.state().suspect(content) {
            None => return false,
            Some(suspect) if suspect.is_proven => return true,
            Some(_) => {}
        }
        // Without a language nothing of it is tokenized.
        let language = language.or_else(|| detect(path, bytes));
        let (Some(language), Some(trial)) = (language, self.trial) else { return false };
        let verdict = trial(language, bytes);
        let mut state = self.state();
        match verdict {
            Some(true) => drop(state.suspect(content).map(|suspect| suspect.is_proven = true)),
            Some(false) => {
                state.suspects.retain(|suspect| suspect.content != content);
                state.changed = true;
            }
            // It stays a suspect and is read like any other: no file is lost because no process could be started.
            None => {}
        }
        verdict == Some(true)
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

    /// Writes the suspects, if they have changed. If that fails, they are written the next time.
    pub fn keep(&self, store: &dyn Store) {
        let mut state = self.state();
        if self.is_noting() && state.changed {
            let bytes = encode(state.suspects.iter().map(|suspect| suspect.content));
            state.changed = store.write(SUSPECTS, &mut |to| to.write_all(&bytes)).is_err();
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

fn encode(suspects: impl ExactSizeIterator<Item = u64>) -> Vec<u8> {
    let mut to = Vec::new();
    to.extend(MAGIC);
    to.extend(VERSION.to_le_bytes());
    put(&mut to, suspects.len() as u64);
    to.extend(suspects.flat_map(u64::to_le_bytes));
    to.extend(xxh3_64(&to).to_le_bytes());
    to
}

fn decode(bytes: &[u8]) -> Option<Vec<u64>> {
    let (sealed, checksum) = bytes.split_last_chunk()?;
    if u64::from_le_bytes(*checksum) != xxh3_64(sealed) {
        return None;
    }
    let mut from = Reader::new(sealed.strip_prefix(&MAGIC)?.strip_prefix(&VERSION.to_le_bytes())?);
    let n = from.count(8)?;
    let suspects = (0..n).map(|_| from.u64()).collect::<Option<_>>()?;
    from.is_empty().then_some(suspects)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rayon::prelude::*;

    use super::*;
    use crate::store::{Folder, Memory};

    /// What a process leaves that ends while it reads these.
    fn end(folder: &Folder, contents: &[u64]) {
        let slots = folder.slots(NOTES, N_SLOTS).unwrap().unwrap();
        contents.iter().zip(3..).for_each(|(content, slot)| slots.set(slot, *content).unwrap());
    }

    fn open(folder: &Folder, trial: Trial) -> Quarantine {
        Quarantine { trial: Some(trial), ..Quarantine::open(folder) }
    }

    fn sample(content: u64) -> Sample<'static> {
        Sample { content, path: Path::new("a"), language: dupi_grammars::LANGUAGES.first().copied(), bytes: b"a" }
    }

    fn is_read(quarantine: &Quarantine, content: u64) -> bool {
        quarantine.guard(sample(content), || ()).is_some()
    }

    fn suspects(quarantine: &Quarantine) -> Vec<u64> {
        quarantine.state().suspects.iter().map(|suspect| suspect.content).collect()
    }

    #[test]
    fn a_suspect_is_skipped_only_if_it_ends_a_process_of_its_own() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::create(temporary.path()).unwrap();
        end(&folder, &[7, 9, 7]);
        assert_eq!(suspects(&Quarantine::open(&folder)), [7, 9]);
        for _ in 0..2 {
            let quarantine = open(&folder, |_, _| Some(true));
            assert_eq!([7, 8, 9].map(|content| is_read(&quarantine, content)), [false, true, false]);
            quarantine.keep(&folder);
        }
        let other = Quarantine { trial: Some(|_, _| Some(true)), ..Quarantine::look(&folder) };
        assert!(!is_read(&other, 7), "nor by those who do not write");
        let no_answer: Trial = |_, _| None;
        for trial in [Some(no_answer), None] {
            let unknown = Quarantine { trial, ..Quarantine::open(&folder) };
            assert!(is_read(&unknown, 7) && suspects(&unknown) == [7, 9], "what could not be tried is read");
        }
        let quarantine = open(&folder, |_, _| Some(false));
        assert!(is_read(&quarantine, 7) && is_read(&quarantine, 9));
        quarantine.keep(&folder);
        assert_eq!(suspects(&Quarantine::look(&folder)), [0; 0], "what ends no process is cleared");
    }

    #[test]
    fn notes_last_as_long_as_a_content_is_read() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::create(temporary.path()).unwrap();
        let quarantine = Quarantine::open(&folder);
        let noted = || folder.read(NOTES, u64::MAX).unwrap().iter().any(|byte| *byte != 0);
        assert_eq!(quarantine.guard(sample(7), noted), Some(true));
        let panicked =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| quarantine.guard(sample(7), || panic!("it"))));
        assert!(panicked.is_err() && !noted());
        assert_eq!(quarantine.state().free.len(), N_SLOTS);
        assert_eq!(Quarantine::look(&folder).guard(sample(7), noted), Some(false), "only the writer notes");
    }

    #[test]
    fn copies_of_a_suspect_are_tried_once() {
        static N_TRIED: AtomicUsize = AtomicUsize::new(0);
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::create(temporary.path()).unwrap();
        end(&folder, &[1]);
        let quarantine = open(&folder, |_, _| {
            N_TRIED.fetch_add(1, Ordering::SeqCst);
            Some(true)
        });
        assert!((0..200).into_par_iter().all(|_| !is_read(&quarantine, 1)));
        assert_eq!(N_TRIED.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn without_a_disk_all_is_read_and_nothing_noted() {
        let quarantine = Quarantine::open(&Memory::default());
        assert!(!quarantine.is_noting() && is_read(&quarantine, 7));
    }

    #[test]
    fn wrong_bytes_are_no_suspects() {
        let suspects = vec![7, u64::MAX];
        let bytes = encode(suspects.iter().copied());
        assert_eq!(decode(&bytes), Some(suspects));
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
    fn the_oldest_suspects_are_forgotten() {
        let mut state = State::default();
        (1..=MAX_SUSPECTS as u64 + 5).for_each(|content| state.add(content));
        assert_eq!((state.suspects.len(), state.suspects[0].content), (MAX_SUSPECTS, 6));
        assert!(encode(state.suspects.iter().map(|suspect| suspect.content)).len() as u64 <= MAX_BYTES);
    }
}
