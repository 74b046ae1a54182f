//! The buckets of a corpus on disk, read one bucket place after the other.
//!
//! ```text
//! file:     header  block…  footer  checksum of the footer u64  place of the footer u64  "dupimnh\0"
//! header:   "dupimnh\0"  version u32  function u8  features u8  0 u16  width u32  buckets u32
//! block:    of 1024 documents, the last one of the rest:
//!           for each bucket place: of each document its bucket u128, and the xxh3 of these u64
//! footer:   documents u64  n u32  of each of the n inputs: documents u64  length of its name u32  name
//! ```
//!
//! By bucket place within a block, since they are compared so, and by blocks, since nobody knows beforehand how many
//! documents there are. A document that takes no part has buckets of zeroes. The header is part of the footer's checksum.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::regular;

use super::{Bucket, Function, NONE, Of, Shape, Unusable};
use crate::output::Draft;

/// 1: the first.
const VERSION: u32 = 1;
const MAGIC: &[u8; 8] = b"dupimnh\0";
const HEADER: u64 = 8 + 4 + 4 + 4 + 4;
/// What follows the footer.
const TRAILER: u64 = 8 + 8 + 8;
/// Documents of a block: few enough to wait in memory, enough that a bucket place is read in one go.
const BLOCK: usize = 1024;
const BYTES: usize = size_of::<Bucket>();
/// More are no names of inputs.
const MAX_FOOTER: u64 = 1 << 28;

/// Of what a corpus was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    pub name: String,
    pub documents: u64,
}

fn header(magic: &[u8; 8], version: u32, shape: &Shape) -> Vec<u8> {
    let mut header = magic.to_vec();
    header.extend(version.to_le_bytes());
    header.extend([shape.function as u8, shape.of as u8, 0, 0]);
    header.extend(shape.width.to_le_bytes());
    header.extend(shape.buckets.to_le_bytes());
    header
}

/// What a header says, if it is one.
fn shape(header: &[u8], magic: &[u8; 8], version: u32) -> Option<Shape> {
    let number = |at: usize| header[at..].first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
    let function = [Function::Murmur3, Function::Xxh3].into_iter().find(|function| *function as u8 == header[12])?;
    let of = [Of::Characters, Of::Tokens].into_iter().find(|of| *of as u8 == header[13])?;
    let shape = Shape { function, of, width: number(16)?, buckets: number(20)? };
    let known = header[..8] == *magic && number(8)? == version && header[14..16] == [0, 0];
    (known && shape.problem().is_none()).then_some(shape)
}

/// A framed file: a header with a shape, a body, a footer that says what the body is.
pub(super) struct Framed {
    pub path: PathBuf,
    pub shape: Shape,
    pub footer: Vec<u8>,
    pub file: File,
    /// Where the body ends.
    pub end: u64,
}

pub(super) struct FramedWriter {
    path: PathBuf,
    draft: Draft,
    magic: &'static [u8; 8],
    header: Vec<u8>,
    at: u64,
}

impl FramedWriter {
    pub fn create(path: &Path, magic: &'static [u8; 8], version: u32, shape: &Shape) -> Result<FramedWriter, Unusable> {
        let header = header(magic, version, shape);
        let draft = Draft::create(path, |ends| ends.first.starts_with(magic));
        let draft = draft.map_err(|error| Unusable::new(path, error))?;
        let mut writer = FramedWriter { path: path.to_owned(), draft, magic, header: header.clone(), at: 0 };
        writer.write(&header)?;
        Ok(writer)
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Unusable> {
        self.at += bytes.len() as u64;
        self.draft.write_all(bytes).map_err(|error| Unusable::new(&self.path, error))
    }

    pub fn finish(mut self, footer: &[u8]) -> Result<(), Unusable> {
        let at = self.at;
        self.write(footer)?;
        self.write(&xxh3_64(&[&self.header, footer].concat()).to_le_bytes())?;
        self.write(&at.to_le_bytes())?;
        self.write(self.magic)?;
        self.draft.finish().map_err(|error| Unusable::new(&self.path, error))
    }
}

impl Framed {
    /// `made_by` is the command that makes such files.
    pub fn open(path: &Path, magic: &[u8; 8], version: u32, made_by: &str) -> Result<Framed, Unusable> {
        let read = || -> std::io::Result<Option<Framed>> {
            // Of any size: it is read in parts.
            let (mut file, meta) = regular::open(path, u64::MAX)?;
            let length = meta.len();
            if length < HEADER + TRAILER {
                return Ok(None);
            }
            let header = read_at(&mut file, 0, HEADER)?;
            let trailer = read_at(&mut file, length - TRAILER, TRAILER)?;
            let number = |at: usize| trailer[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            let (checksum, end) = (number(0), number(8));
            let in_file = end >= HEADER && end <= length - TRAILER && length - TRAILER - end <= MAX_FOOTER;
            if trailer[16..] != *magic || !in_file {
                return Ok(None);
            }
            let footer = read_at(&mut file, end, length - TRAILER - end)?;
            let is_whole = xxh3_64(&[&header[..], &footer].concat()) == checksum;
            let shape = shape(&header, magic, version).filter(|_| is_whole);
            Ok(shape.map(|shape| Framed { path: path.to_owned(), shape, footer, file, end }))
        };
        match read() {
            Ok(Some(framed)) => Ok(framed),
            Ok(None) => Err(Unusable::new(path, format_args!("not made by `{made_by}`, or not whole"))),
            Err(error) => Err(Unusable::new(path, error)),
        }
    }

    pub fn read(&mut self, at: u64, length: u64) -> Result<Vec<u8>, Unusable> {
        read_at(&mut self.file, at, length).map_err(|error| Unusable::new(&self.path, error))
    }

    pub fn damaged(&self) -> Unusable {
        Unusable::new(&self.path, "it is damaged: make it anew")
    }
}

fn read_at(file: &mut File, at: u64, length: u64) -> std::io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = vec![0; length as usize];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Writes the buckets of documents, in their order.
pub struct HashesWriter {
    out: FramedWriter,
    shape: Shape,
    /// Of the documents of a block, by bucket place.
    block: Vec<Vec<Bucket>>,
    inputs: Vec<Input>,
}

impl HashesWriter {
    pub fn create(path: &Path, shape: Shape) -> Result<HashesWriter, Unusable> {
        let out = FramedWriter::create(path, MAGIC, VERSION, &shape)?;
        Ok(HashesWriter {
            out,
            shape,
            block: vec![Vec::with_capacity(BLOCK); shape.buckets as usize],
            inputs: Vec::new(),
        })
    }

    /// All that is put from now on is of this input.
    pub fn begin(&mut self, name: String) {
        self.inputs.push(Input { name, documents: 0 });
    }

    /// The next document; without buckets it takes no part.
    pub fn put(&mut self, buckets: Option<&[Bucket]>) -> Result<(), Unusable> {
        debug_assert!(buckets.is_none_or(|buckets| buckets.len() == self.shape.buckets as usize));
        for (place, column) in self.block.iter_mut().enumerate() {
            column.push(buckets.map_or(NONE, |buckets| buckets[place]));
        }
        self.inputs.iter_mut().last().into_iter().for_each(|input| input.documents += 1);
        if self.block[0].len() == BLOCK { self.write_block() } else { Ok(()) }
    }

    fn write_block(&mut self) -> Result<(), Unusable> {
        for column in &mut self.block {
            let bytes: Vec<u8> = column.drain(..).flat_map(Bucket::to_le_bytes).collect();
            self.out.write(&bytes)?;
            self.out.write(&xxh3_64(&bytes).to_le_bytes())?;
        }
        Ok(())
    }

    /// Says how many documents there are.
    pub fn finish(mut self) -> Result<u64, Unusable> {
        if !self.block[0].is_empty() {
            self.write_block()?;
        }
        let n: u64 = self.inputs.iter().map(|input| input.documents).sum();
        let mut footer = n.to_le_bytes().to_vec();
        footer.extend((self.inputs.len() as u32).to_le_bytes());
        for input in &self.inputs {
            footer.extend(input.documents.to_le_bytes());
            footer.extend((input.name.len() as u32).to_le_bytes());
            footer.extend(input.name.as_bytes());
        }
        self.out.finish(&footer)?;
        Ok(n)
    }
}

/// The buckets of a corpus.
pub struct Hashes {
    framed: Framed,
    n: u64,
    inputs: Vec<Input>,
}

impl Hashes {
    pub fn open(path: &Path) -> Result<Hashes, Unusable> {
        let framed = Framed::open(path, MAGIC, VERSION, "dupi-lsp corpus hash")?;
        let (n, inputs) = inputs(&framed.footer).ok_or_else(|| framed.damaged())?;
        let hashes = Hashes { framed, n, inputs };
        let (whole, rest) = (n / BLOCK as u64, n % BLOCK as u64);
        let rest = if rest > 0 { hashes.block_bytes(rest).map(|(all, _)| all) } else { Some(0) };
        let all = hashes.block_bytes(BLOCK as u64).and_then(|(block, _)| block.checked_mul(whole)?.checked_add(rest?));
        if all.and_then(|all| all.checked_add(HEADER)) != Some(hashes.framed.end) {
            return Err(hashes.framed.damaged());
        }
        Ok(hashes)
    }

    /// Bytes of a block of so many documents, and of one of its bucket places.
    fn block_bytes(&self, documents: u64) -> Option<(u64, u64)> {
        let column = documents.checked_mul(BYTES as u64)?.checked_add(8)?;
        Some((column.checked_mul(u64::from(self.framed.shape.buckets))?, column))
    }

    pub fn path(&self) -> &Path {
        &self.framed.path
    }

    pub fn shape(&self) -> Shape {
        self.framed.shape
    }

    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// How many documents there are.
    pub fn len(&self) -> u64 {
        self.n
    }

    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// The buckets of all documents at one place, some documents at a time, in their order.
    pub(super) fn column(
        &mut self,
        place: u32,
        mut each: impl FnMut(&[Bucket]) -> Result<(), Unusable>,
    ) -> Result<(), Unusable> {
        let mut at = HEADER;
        let mut left = self.n;
        while left > 0 {
            let documents = left.min(BLOCK as u64);
            let (block, column) = self.block_bytes(documents).ok_or_else(|| self.framed.damaged())?;
            let bytes = self.framed.read(at + column * u64::from(place), column)?;
            let (content, checksum) = bytes.split_at(bytes.len() - 8);
            if checksum != xxh3_64(content).to_le_bytes() {
                return Err(self.framed.damaged());
            }
            let buckets: Vec<Bucket> =
                content.as_chunks().0.iter().map(|bytes| Bucket::from_le_bytes(*bytes)).collect();
            each(&buckets)?;
            (at, left) = (at + block, left - documents);
        }
        Ok(())
    }
}

fn inputs(footer: &[u8]) -> Option<(u64, Vec<Input>)> {
    let mut rest = footer;
    let mut take = |n: usize| {
        let (taken, behind) = rest.split_at_checked(n)?;
        rest = behind;
        Some(taken)
    };
    let n = u64::from_le_bytes(take(8)?.try_into().ok()?);
    let n_inputs = u32::from_le_bytes(take(4)?.try_into().ok()?);
    let mut inputs = Vec::new();
    for _ in 0..n_inputs {
        let documents = u64::from_le_bytes(take(8)?.try_into().ok()?);
        let length = u32::from_le_bytes(take(4)?.try_into().ok()?);
        let name = String::from_utf8(take(length as usize)?.to_vec()).ok()?;
        inputs.push(Input { name, documents });
    }
    let sum = inputs.iter().try_fold(0u64, |sum, input| sum.checked_add(input.documents))?;
    (sum == n && rest.is_empty()).then_some((n, inputs))
}
