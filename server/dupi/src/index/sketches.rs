//! The hashes of the documents of an index, kept beside its segments.

use super::{Index, MAX_ANSWER};
use crate::Error;
use crate::search::File;
use crate::simhash::{Sketches, Sketching};

/// How the name of a file with sketches ends.
pub(super) const SKETCHES: &str = ".sim";

impl Index {
    /// The hashes of all documents as of now, and the documents in the order of their paths. Those that were hashed
    /// before are not hashed again.
    pub fn sketches(&mut self, sketching: &Sketching) -> Result<(Vec<File>, Sketches), Error> {
        let name = format!("{:016x}{SKETCHES}", sketching.key());
        let before = self.store.read(&name, MAX_ANSWER).ok().and_then(|bytes| Sketches::read(&bytes));
        let found = self.find_sketches(sketching, before.clone());
        if found.is_none() {
            self.refresh(&|_| {})?;
        }
        let found = found.or_else(|| self.find_sketches(sketching, before.clone()));
        let (files, sketches) = found.ok_or_else(|| Error::Index { path: self.workspace.root.clone() })?;
        let may_keep = self.buffers.is_empty() && self.is_writer() && self.committed;
        if may_keep && before.as_ref() != Some(&sketches) {
            let written = sketches.write().and_then(|bytes| self.write_whole(&name, &bytes));
            if let Err(error) = written.and_then(|()| self.drop_others(&name, SKETCHES)) {
                self.trouble("hashes are not kept", &error);
            }
        }
        Ok((files, sketches))
    }

    /// None, if the index cannot be read.
    fn find_sketches(&self, sketching: &Sketching, before: Option<Sketches>) -> Option<(Vec<File>, Sketches)> {
        let (files, members) = self.snapshot.documents(&self.workspace.root);
        let sketches = self.snapshot.sketches(&members, sketching, before)?;
        Some((files, sketches))
    }
}
