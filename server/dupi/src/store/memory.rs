//! A store without a disk: for tests, and for when there is no folder to write to.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Bytes, Held, Lock, Store};

/// Files in memory. All names last at once.
#[derive(Debug, Default)]
pub struct Memory {
    files: Mutex<BTreeMap<String, Bytes>>,
    locked: Arc<AtomicBool>,
}

impl Memory {
    /// No code runs while the map is locked but the map's own, so a poisoned one is sound.
    fn files(&self) -> MutexGuard<'_, BTreeMap<String, Bytes>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Memory {
    fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.files().keys().cloned().collect())
    }

    fn write(&self, name: &str, content: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let mut bytes = Vec::new();
        content(&mut bytes)?;
        self.files().insert(name.to_owned(), bytes.into());
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn open(&self, name: &str) -> io::Result<Bytes> {
        let missing = || io::Error::new(ErrorKind::NotFound, format!("cannot open {name}: not in memory"));
        self.files().get(name).cloned().ok_or_else(missing)
    }

    fn read(&self, name: &str, limit: u64) -> io::Result<Vec<u8>> {
        let bytes = self.open(name)?;
        let len = usize::try_from(limit).map_or(bytes.len(), |limit| limit.min(bytes.len()));
        Ok(bytes[..len].to_vec())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.files().remove(name);
        Ok(())
    }

    fn len(&self, name: &str) -> io::Result<u64> {
        Ok(self.open(name)?.len() as u64)
    }

    fn lock(&self) -> io::Result<Option<Lock>> {
        let taken = self.locked.swap(true, Ordering::Acquire);
        Ok((!taken).then(|| Lock(Held::Flag(self.locked.clone()))))
    }
}
