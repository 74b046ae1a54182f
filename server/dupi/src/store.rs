//! One folder of files, each written once: the only way by which the index touches its disk.
//!
//! It knows names and bytes, not what they mean. Every operation may fail and every one goes through [`Store`], so that
//! tests can put a store that crashes, fills up or refuses ([`faulty`]) in the place of a real one.
//!
//! ```text
//! <folder>/
//!   manifest        what is current (see `manifest`)
//!   *.seg           segments, each written once
//!   <name>.tmp      a file being written, or what a crash has left of one
//!   lock            empty; locked by the one process that writes, never deleted
//!   notes, suspects what is being read, and what was when a process ended (see `quarantine`)
//! ```
//!
//! What lasts, and from when: the content of a file when `write` returns, its name when the next `sync` returns. A name
//! stands for the old bytes or for the new ones at any time, never for a part. Only [`Slots`] change in place, and what
//! they hold lasts until the machine stops.

mod bytes;
#[doc(hidden)]
pub mod faulty;
mod folder;
mod memory;

use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use bytes::Bytes;
pub use folder::Folder;
pub(crate) use folder::create_private;
pub use memory::Memory;

/// How the name of a file ends while it is written.
pub const TEMPORARY: &str = ".tmp";

/// A folder of files that are written once. Errors name the file.
pub trait Store: Send + Sync + Debug {
    /// Where it is on disk, if it is.
    fn place(&self) -> Option<&Path> {
        None
    }

    /// The names of all files, sorted.
    fn names(&self) -> io::Result<Vec<String>>;

    /// Writes a whole file: under a temporary name, synced, then renamed. If it fails, `name` is what it was before.
    ///
    /// At most one thread may write a given name at a time.
    fn write(&self, name: &str, content: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()>;

    /// Makes the names that were written and removed until now last.
    fn sync(&self) -> io::Result<()>;

    /// The bytes of a file that is never replaced, for as long as they are needed. They outlive the file's removal.
    fn open(&self, name: &str) -> io::Result<Bytes>;

    /// A copy of the first `limit` bytes of a file. For files that are replaced while others read them: a mapped one
    /// could not be replaced on Windows.
    fn read(&self, name: &str, limit: u64) -> io::Result<Vec<u8>>;

    /// Removes a file. One that is not there, or (Windows) is still mapped by somebody, is no error.
    fn remove(&self, name: &str) -> io::Result<()>;

    fn len(&self, name: &str) -> io::Result<u64>;

    /// The right to write, until the lock is dropped or its process ends. `None`: another has it.
    fn lock(&self) -> io::Result<Option<Lock>>;

    /// A file of `n` numbers, all 0 from now on, for the one who has the lock. `None`: nothing here outlives a process.
    fn slots(&self, _name: &str, _n: usize) -> io::Result<Option<Box<dyn Slots>>> {
        Ok(None)
    }
}

/// Numbers in a file, each eight bytes, little-endian, that are changed in place. They outlive the process and, not
/// being synced, cost a microsecond.
pub trait Slots: Send + Sync + Debug {
    fn set(&self, slot: usize, number: u64) -> io::Result<()>;
}

/// The right to write to a store. Given back when dropped.
#[derive(Debug)]
pub struct Lock(Held);

#[derive(Debug)]
enum Held {
    File { file: File, path: PathBuf },
    Flag(Arc<AtomicBool>),
}

impl Lock {
    /// Is the locked file still the one that others would lock? It is not once somebody has deleted the folder: then
    /// another process may have made it anew and write to it, and this one must not.
    pub fn is_held(&self) -> bool {
        match &self.0 {
            Held::File { file, path } => folder::is_same(file, path),
            Held::Flag(_) => true,
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        match &self.0 {
            // Closing would do, but for a child process that was forked and has not yet closed its copy of the handle.
            Held::File { file, .. } => drop(file.unlock()),
            Held::Flag(taken) => taken.store(false, Ordering::Release),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::faulty::{Fault, Faulty};
    use super::*;

    /// Each kind of store, all of which must behave alike.
    fn each(check: impl Fn(&dyn Store)) {
        let temporary = tempfile::tempdir().unwrap();
        check(&Folder::create(temporary.path().join("mapped")).unwrap());
        check(&Folder::with_plain_reads(temporary.path().join("plain")).unwrap());
        check(&Memory::default());
        check(&Faulty::new(Arc::new(Memory::default()), Fault::None, 0));
    }

    fn put(store: &dyn Store, name: &str, content: &[u8]) -> io::Result<()> {
        store.write(name, &mut |to| to.write_all(content))
    }

    #[test]
    fn what_was_written_is_read_and_listed() {
        each(|store| {
            for (name, content) in [("b.seg", &b"bee"[..]), ("a.seg", b""), ("manifest", &[7; 100_000])] {
                put(store, name, content).unwrap();
                assert_eq!(&store.open(name).unwrap()[..], content);
                assert_eq!(store.read(name, u64::MAX).unwrap(), content);
                assert_eq!(store.read(name, 2).unwrap(), &content[..content.len().min(2)]);
                assert_eq!(store.len(name).unwrap(), content.len() as u64);
            }
            store.sync().unwrap();
            assert_eq!(store.names().unwrap(), ["a.seg", "b.seg", "manifest"], "{store:?}");
        });
    }

    #[test]
    fn a_missing_file_is_not_found_and_may_be_removed() {
        each(|store| {
            assert_eq!(store.open("a").unwrap_err().kind(), io::ErrorKind::NotFound, "{store:?}");
            assert_eq!(store.read("a", 9).unwrap_err().kind(), io::ErrorKind::NotFound, "{store:?}");
            assert_eq!(store.len("a").unwrap_err().kind(), io::ErrorKind::NotFound, "{store:?}");
            store.remove("a").unwrap();
        });
    }

    #[test]
    fn bytes_outlive_their_replacement_and_their_removal() {
        each(|store| {
            put(store, "a", b"old").unwrap();
            let old = store.open("a").unwrap();
            // A mapped file can be neither replaced nor removed on Windows; there the caller never tries to replace.
            if cfg!(unix) {
                put(store, "a", b"newer").unwrap();
                assert_eq!(&store.open("a").unwrap()[..], b"newer");
            }
            store.remove("a").unwrap();
            assert_eq!(&old.clone()[..], b"old");
            assert!(old.is_whole(), "{store:?}");
        });
    }

    #[test]
    fn a_write_that_fails_leaves_the_file_as_it_was_and_nothing_else() {
        each(|store| {
            put(store, "a", b"old").unwrap();
            let failed = store.write("a", &mut |to| {
                to.write_all(b"half")?;
                Err(io::Error::other("no more"))
            });
            assert!(failed.is_err(), "{store:?}");
            assert_eq!(&store.open("a").unwrap()[..], b"old");
            assert_eq!(store.names().unwrap(), ["a"]);
        });
    }

    #[test]
    fn a_cut_file_of_a_crash_is_written_over() {
        each(|store| {
            put(store, "a.tmp", b"the beginning of").unwrap();
            put(store, "a", b"all").unwrap();
            assert_eq!(&store.open("a").unwrap()[..], b"all");
        });
    }

    #[test]
    fn a_lock_excludes_the_next_until_it_is_dropped() {
        each(|store| {
            let lock = store.lock().unwrap().expect("free");
            assert!(lock.is_held());
            assert!(store.lock().unwrap().is_none(), "{store:?}");
            drop(lock);
            assert!(store.lock().unwrap().is_some(), "{store:?}");
        });
    }

    #[test]
    fn content_may_read_the_store_that_it_is_written_to() {
        each(|store| {
            put(store, "a", b"one").unwrap();
            store.write("b", &mut |to| to.write_all(&store.open("a")?)).unwrap();
            assert_eq!(&store.open("b").unwrap()[..], b"one");
        });
    }
}
