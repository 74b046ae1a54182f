//! A store that fails on purpose, around one that does not. For tests, those of other crates too.
//!
//! What a crash leaves is drawn from a seed, within what a [`Store`] promises: the operation under way took effect, or
//! not, or in part; names that were not synced are the old ones or the new ones, each on its own.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{Bytes, Lock, Slots, Store, TEMPORARY};

/// What goes wrong, and when. Operations are counted from 0, each method of [`Store`] being one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// The machine stops at this operation; from then on all fail. With `torn` the disk also lies about its syncs of
    /// content: files whose name was not synced may be cut. Then a commit can be lost, but must be seen to be.
    Crash {
        at: u64,
        torn: bool,
    },
    /// The process aborts at this operation. What was written before lasts.
    Kill {
        at: u64,
    },
    /// There is room for so many bytes. Removing files makes no room.
    DiskFull {
        after: u64,
    },
    ReadOnly,
}

/// A store around another that fails as it is told to.
#[derive(Debug)]
pub struct Faulty {
    inner: Arc<dyn Store>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    fault: Fault,
    seed: u64,
    n_draws: u64,
    n_operations: u64,
    n_bytes: u64,
    crashed: bool,
    /// What each name stood for when the folder was last synced, for the names that were touched since.
    unsynced: BTreeMap<String, Option<Vec<u8>>>,
}

impl State {
    /// A number below `n`.
    fn draw(&mut self, n: usize) -> usize {
        self.n_draws += 1;
        (xxh3_64_with_seed(&self.n_draws.to_le_bytes(), self.seed) % n.max(1) as u64) as usize
    }

    fn coin(&mut self) -> bool {
        self.draw(2) == 0
    }
}

impl Faulty {
    pub fn new(inner: Arc<dyn Store>, fault: Fault, seed: u64) -> Faulty {
        let state =
            State { fault, seed, n_draws: 0, n_operations: 0, n_bytes: 0, crashed: false, unsynced: BTreeMap::new() };
        Faulty { inner, state: Mutex::new(state) }
    }

    /// From now on this goes wrong; operations and bytes are counted from here. A crashed store stays so.
    pub fn set(&self, fault: Fault) {
        let mut state = self.state();
        state.fault = fault;
        state.n_operations = 0;
        state.n_bytes = 0;
    }

    /// The store that does not fail: what a process finds that starts after the crash.
    pub fn inner(&self) -> &Arc<dyn Store> {
        &self.inner
    }

    /// How many operations there were.
    pub fn operations(&self) -> u64 {
        self.state().n_operations
    }

    pub fn crashed(&self) -> bool {
        self.state().crashed
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an operation. If it is the last, does `partly` in its place.
    ///
    /// The state stays locked for the length of the operation: a crash is at one point of a history of operations, also
    /// when several threads make it.
    fn begin(&self, partly: impl FnOnce(&mut State)) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.state();
        if state.crashed {
            return Err(crashed());
        }
        let operation = state.n_operations;
        state.n_operations += 1;
        match state.fault {
            Fault::Crash { at, torn } if at == operation => {
                partly(&mut state);
                self.lose(&mut state, torn);
                state.crashed = true;
                Err(crashed())
            }
            Fault::Kill { at } if at == operation => {
                partly(&mut state);
                std::process::abort();
            }
            _ => Ok(state),
        }
    }

    /// The same for operations that change the folder.
    fn begin_change(&self, partly: impl FnOnce(&mut State)) -> io::Result<MutexGuard<'_, State>> {
        let state = self.begin(partly)?;
        match state.fault {
            Fault::ReadOnly => Err(io::Error::new(ErrorKind::PermissionDenied, "the store is read-only")),
            _ => Ok(state),
        }
    }

    fn touch(&self, state: &mut State, name: &str) {
        if !state.unsynced.contains_key(name) {
            state.unsynced.insert(name.to_owned(), self.inner.read(name, u64::MAX).ok());
        }
    }

    /// What a machine that stops does to names, and a disk that lies to content.
    fn lose(&self, state: &mut State, torn: bool) {
        for (name, before) in std::mem::take(&mut state.unsynced) {
            let now = self.inner.read(&name, u64::MAX).ok();
            if state.coin() {
                if let Some(now) = now
                    && state.coin()
                {
                    self.put(&format!("{name}{TEMPORARY}"), &now);
                }
                match before {
                    Some(before) => self.put(&name, &before),
                    None => drop(self.inner.remove(&name)),
                }
            } else if let Some(now) = now
                && torn
            {
                let cut = state.draw(now.len() + 1);
                self.put(&name, &now[..cut]);
            }
        }
    }

    /// A fault that cannot be staged is no fault: the test would prove nothing.
    fn put(&self, name: &str, content: &[u8]) {
        self.inner.write(name, &mut |to| to.write_all(content)).expect("the store below a faulty one does not fail");
    }
}

impl Store for Faulty {
    fn place(&self) -> Option<&Path> {
        self.inner.place()
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let _state = self.begin(|_| ())?;
        self.inner.names()
    }

    fn write(&self, name: &str, content: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let room = match self.state() {
            state if state.crashed => return Err(crashed()),
            state => match state.fault {
                Fault::DiskFull { after } => after.saturating_sub(state.n_bytes),
                _ => u64::MAX,
            },
        };
        // Not under the lock: content may come from other files of this store.
        let mut limited = Limited { bytes: Vec::new(), room };
        let written = content(&mut limited);
        let bytes = limited.bytes;
        let mut state = self.begin_change(|state| match state.draw(4) {
            0 => (),
            1 => {
                let cut = state.draw(bytes.len() + 1);
                self.put(&format!("{name}{TEMPORARY}"), &bytes[..cut]);
            }
            2 => self.put(&format!("{name}{TEMPORARY}"), &bytes),
            _ => {
                self.touch(state, name);
                self.put(name, &bytes);
            }
        })?;
        state.n_bytes = state.n_bytes.saturating_add(bytes.len() as u64);
        written?;
        self.touch(&mut state, name);
        self.inner.write(name, &mut |to| to.write_all(&bytes))
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.begin(|state| {
            if state.coin() {
                state.unsynced.clear();
            }
        })?;
        self.inner.sync()?;
        state.unsynced.clear();
        Ok(())
    }

    fn open(&self, name: &str) -> io::Result<Bytes> {
        let _state = self.begin(|_| ())?;
        self.inner.open(name)
    }

    fn read(&self, name: &str, limit: u64) -> io::Result<Vec<u8>> {
        let _state = self.begin(|_| ())?;
        self.inner.read(name, limit)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.begin_change(|state| {
            if state.coin() {
                self.touch(state, name);
                let _ = self.inner.remove(name);
            }
        })?;
        self.touch(&mut state, name);
        self.inner.remove(name)
    }

    fn len(&self, name: &str) -> io::Result<u64> {
        let _state = self.begin(|_| ())?;
        self.inner.len(name)
    }

    fn lock(&self) -> io::Result<Option<Lock>> {
        let _state = self.begin_change(|_| ())?;
        self.inner.lock()
    }

    fn slots(&self, name: &str, n: usize) -> io::Result<Option<Box<dyn Slots>>> {
        let _state = self.begin_change(|_| ())?;
        self.inner.slots(name, n)
    }
}

/// Takes so many bytes and no more.
struct Limited {
    bytes: Vec<u8>,
    room: u64,
}

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.room.min(bytes.len() as u64);
        if n == 0 && !bytes.is_empty() {
            return Err(io::Error::new(ErrorKind::StorageFull, "the store is full"));
        }
        self.room -= n;
        self.bytes.extend_from_slice(&bytes[..n as usize]);
        Ok(n as usize)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn crashed() -> io::Error {
    io::Error::other("the store has crashed")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::Memory;
    use super::*;

    fn put(store: &dyn Store, name: &str, content: &[u8]) -> io::Result<()> {
        store.write(name, &mut |to| to.write_all(content))
    }

    /// All that a crash may leave of a synced file `kept` and of `name`, written after it and then synced.
    fn left(at: u64, torn: bool) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        for seed in 0..200 {
            let inner = Arc::new(Memory::default());
            let store = Faulty::new(inner.clone(), Fault::Crash { at, torn }, seed);
            put(&store, "kept", b"k").unwrap();
            store.sync().unwrap();
            let _ = put(&store, "name", b"ab");
            let _ = store.sync();
            let _ = store.names();
            assert!(store.crashed());
            assert!(store.names().is_err() && put(&store, "more", b"").is_err() && store.lock().is_err());
            let mut shown = String::new();
            for name in inner.names().unwrap() {
                shown += &format!("{name}={} ", String::from_utf8(inner.read(&name, 9).unwrap()).unwrap());
            }
            all.insert(shown);
        }
        all
    }

    #[test]
    fn a_crash_leaves_all_that_it_may_leave_and_nothing_else() {
        let set = |shown: &[&str]| shown.iter().map(|&shown| shown.to_owned()).collect::<BTreeSet<_>>();
        let renamed_or_not = ["kept=k ", "kept=k name.tmp=ab ", "kept=k name=ab "];
        // While it is written.
        let cut = ["kept=k name.tmp= ", "kept=k name.tmp=a "];
        assert_eq!(left(2, false), set(&[&renamed_or_not[..], &cut].concat()));
        // Before the folder is synced.
        assert_eq!(left(3, false), set(&renamed_or_not));
        let torn = ["kept=k name= ", "kept=k name=a "];
        assert_eq!(left(3, true), set(&[&renamed_or_not[..], &torn].concat()));
        // After.
        assert_eq!(left(4, true), set(&["kept=k name=ab "]));
    }

    #[test]
    fn a_removal_that_was_not_synced_may_be_undone() {
        let mut seen = [0; 2];
        for seed in 0..50 {
            let inner = Arc::new(Memory::default());
            let store = Faulty::new(inner.clone(), Fault::None, seed);
            put(&store, "a", b"a").unwrap();
            store.sync().unwrap();
            store.remove("a").unwrap();
            store.set(Fault::Crash { at: 0, torn: false });
            assert!(store.names().is_err());
            seen[usize::from(inner.len("a").is_ok())] += 1;
        }
        assert!(seen.iter().all(|&n| n > 5), "{seen:?}");
    }

    #[test]
    fn a_full_disk_refuses_bytes_until_there_is_room_again() {
        let store = Faulty::new(Arc::new(Memory::default()), Fault::DiskFull { after: 3 }, 0);
        put(&store, "a", b"ab").unwrap();
        assert_eq!(put(&store, "b", b"cd").unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!(store.names().unwrap(), ["a"]);
        store.set(Fault::None);
        put(&store, "b", b"cd").unwrap();
    }

    #[test]
    fn a_read_only_store_reads_and_changes_nothing() {
        let store = Faulty::new(Arc::new(Memory::default()), Fault::None, 0);
        put(&store, "a", b"a").unwrap();
        store.set(Fault::ReadOnly);
        assert_eq!(put(&store, "b", b"").unwrap_err().kind(), ErrorKind::PermissionDenied);
        assert_eq!(store.remove("a").unwrap_err().kind(), ErrorKind::PermissionDenied);
        assert_eq!(store.lock().unwrap_err().kind(), ErrorKind::PermissionDenied);
        assert_eq!(&store.open("a").unwrap()[..], b"a");
    }
}
