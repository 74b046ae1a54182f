//! The buckets that a group of documents has, each once and sorted: what other groups are compared with.
//!
//! ```text
//! file:     header as in `hashes`, with "dupimni\0"  column…  footer  checksum of the footer  its place  "dupimni\0"
//! column:   for each bucket place, its buckets u128 in ascending order
//! footer:   of each column: number of buckets u64 · xxh3 of its bytes u64
//! ```

use std::path::Path;

use xxhash_rust::xxh3::Xxh3Default;

use super::hashes::{Framed, FramedWriter};
use super::{Bucket, Shape, Unusable};

/// 1: the first.
const VERSION: u32 = 1;
const MAGIC: &[u8; 8] = b"dupimni\0";
const BYTES: usize = size_of::<Bucket>();
/// Where the first column starts.
const START: u64 = 24;

pub struct SeenWriter {
    out: FramedWriter,
    footer: Vec<u8>,
    n: u64,
    checksum: Xxh3Default,
}

impl SeenWriter {
    pub fn create(path: &Path, shape: Shape) -> Result<SeenWriter, Unusable> {
        let out = FramedWriter::create(path, MAGIC, VERSION, &shape)?;
        Ok(SeenWriter { out, footer: Vec::new(), n: 0, checksum: Xxh3Default::new() })
    }

    /// The next buckets of this column, in ascending order.
    pub(super) fn put(&mut self, bucket: Bucket) -> Result<(), Unusable> {
        self.checksum.update(&bucket.to_le_bytes());
        self.n += 1;
        self.out.write(&bucket.to_le_bytes())
    }

    pub(super) fn end_column(&mut self) {
        self.footer.extend(self.n.to_le_bytes());
        self.footer.extend(self.checksum.digest().to_le_bytes());
        (self.n, self.checksum) = (0, Xxh3Default::new());
    }

    pub fn finish(self) -> Result<(), Unusable> {
        self.out.finish(&self.footer)
    }
}

pub struct Seen {
    framed: Framed,
    /// Of each bucket place: where it starts, how many there are, their checksum.
    columns: Vec<(u64, u64, u64)>,
}

impl Seen {
    pub fn open(path: &Path) -> Result<Seen, Unusable> {
        let framed = Framed::open(path, MAGIC, VERSION, "dupi-lsp corpus self --index")?;
        let columns = columns(&framed).ok_or_else(|| framed.damaged())?;
        Ok(Seen { framed, columns })
    }

    pub fn shape(&self) -> Shape {
        self.framed.shape
    }

    /// How many buckets there are, at most at one place.
    pub fn len(&self) -> u64 {
        self.columns.iter().map(|(_, n, _)| *n).max().unwrap_or(0)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The buckets at one place, at most `limit` at a time, in ascending order.
    pub(super) fn column(
        &mut self,
        place: u32,
        limit: usize,
        mut each: impl FnMut(&[Bucket]) -> Result<(), Unusable>,
    ) -> Result<(), Unusable> {
        let Some(&(mut at, mut left, expected)) = self.columns.get(place as usize) else { return Ok(()) };
        let mut checksum = Xxh3Default::new();
        let mut last = None;
        while left > 0 {
            let n = left.min(limit.max(1) as u64);
            let bytes = self.framed.read(at, n * BYTES as u64)?;
            checksum.update(&bytes);
            let buckets: Vec<Bucket> = bytes.as_chunks().0.iter().map(|bytes| Bucket::from_le_bytes(*bytes)).collect();
            if last >= buckets.first().copied() || !buckets.is_sorted() {
                return Err(self.framed.damaged());
            }
            each(&buckets)?;
            last = buckets.last().copied();
            (at, left) = (at + n * BYTES as u64, left - n);
        }
        if checksum.digest() == expected { Ok(()) } else { Err(self.framed.damaged()) }
    }
}

fn columns(framed: &Framed) -> Option<Vec<(u64, u64, u64)>> {
    let (numbers, rest) = framed.footer.as_chunks::<8>();
    let mut at = START;
    let mut columns = Vec::new();
    for pair in numbers.chunks_exact(2) {
        let [n, checksum] = [pair[0], pair[1]].map(u64::from_le_bytes);
        columns.push((at, n, checksum));
        at = at.checked_add(n.checked_mul(BYTES as u64)?)?;
    }
    let is_whole = rest.is_empty() && columns.len() == framed.shape.buckets as usize && at == framed.end;
    is_whole.then_some(columns)
}
