//! Immutable bytes that are cheap to share: a mapped file, or memory. Knows nothing of names.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::sync::Arc;

use memmap2::Mmap;

/// Bytes that do not change. A clone is the same bytes.
#[derive(Clone)]
pub struct Bytes(Arc<Source>);

enum Source {
    Mapped { map: Mmap, file: File },
    Held(Vec<u8>),
}

impl Bytes {
    /// Maps a whole file.
    #[allow(unsafe_code)]
    pub(super) fn map(file: File) -> io::Result<Bytes> {
        // SAFETY: files of a store are written once, under another name, and never changed or cut by us; one that is
        // removed or replaced stays alive for its map. A third party can still write into the file, then readers see
        // other bytes (all that is read is checked against checksums and bounds, so a wrong byte is a miss), or cut it,
        // then touching a page behind the end kills the process, and the rest of the last page reads as zeroes.
        // `is_whole`, asked before each query and after it, narrows that to cuts while one runs. Closing it would take
        // a handler of that signal for the whole process, or copies in the place of maps.
        let map = unsafe { Mmap::map(&file)? };
        Ok(Bytes(Arc::new(Source::Mapped { map, file })))
    }

    /// Has the file still the length that was mapped? Asked before its pages are touched, since a third party may have
    /// cut it.
    pub fn is_whole(&self) -> bool {
        match &*self.0 {
            Source::Mapped { map, file } => file.metadata().is_ok_and(|meta| meta.len() == map.len() as u64),
            Source::Held(_) => true,
        }
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Bytes {
        Bytes(Arc::new(Source::Held(bytes)))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &*self.0 {
            Source::Mapped { map, .. } => map,
            Source::Held(bytes) => bytes,
        }
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if matches!(&*self.0, Source::Mapped { .. }) { "mapped" } else { "held" };
        write!(f, "Bytes({}, {kind})", self.len())
    }
}
