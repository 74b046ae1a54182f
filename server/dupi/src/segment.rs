//! A segment: files of a workspace as they were read, and an inverted index over them. Written once, never changed.
//!
//! Complete: tokens, names, units and lines of each document come from here, without reading its source.
//! Files that were skipped are remembered, too, so that they are not read again to be skipped again.
//! Which of its documents are still current is not its business (`manifest`).
//!
//! ```text
//! header      "dupiSEG\n"  version u32
//! blocks      the streams of a few documents each            streams.rs
//! dictionary  names that many documents use                  streams.rs
//! posts       from a blot to its documents, entry ·          posts.rs
//!             N_TEXTS + something of the text there
//! table       zstd: n_blocks, n_blocks × (documents, length)
//!             n_entries, in the order of their paths, each
//!               letters in common with the path before, letters that follow, these
//!               0, or 1 + length and bytes of a path that is not UTF-8
//!               size, mtime i64, ctime − mtime, inode − that of the entry before, content u64, flags: 1 racy, 2 document, 4 generated, 8 skipped
//!               a document: number of the language's name, lines, tokens; a skip: reason
//!             n_languages, n × length, name
//! footer      ends of blocks, dictionary, posts, table u64 × 4,  xxh3 of all before u64,  version u32,  "dupiSEG\n"
//! ```

use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dupi_grammars::Language;
use dupi_grammars::token::Code;
use rayon::prelude::*;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::blots::{Blotting, N_TEXTS};
use crate::bytes::{Reader, put, put_signed};
use crate::clones::{Holder, posted};
use crate::document::Document;
use crate::files::Stamp;
use crate::freshness::Known;
use crate::posts::{self, Posts};
use crate::skip::SkipReason;
use crate::store::Bytes;
use crate::streams::{self, Block, Decoder, Dictionary, Encoder, Head};

/// 1: the first.
/// 2: change time and inode of each file.
pub const VERSION: u32 = 2;
const MAGIC: &[u8; 8] = b"dupiSEG\n";
const HEADER: usize = 8 + 4;
const FOOTER: usize = 4 * 8 + 8 + 4 + 8;

/// How hard the table is compressed: it is small.
const TABLE_LEVEL: i32 = 9;
/// The table of ten million files would be smaller; what is larger is none.
const MAX_TABLE: usize = 1 << 31;

/// What is remembered of a file.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Relative to the root, with `/`.
    pub shown: String,
    /// Relative to the root; only if it is not what is shown.
    pub path: Option<PathBuf>,
    pub known: Known,
    pub what: What,
}

#[derive(Clone, Copy)]
pub enum What {
    Document {
        language: &'static Language,
        n_lines: u32,
        n_tokens: u32,
        generated: bool,
    },
    Skipped(SkipReason),
    /// No source at all: a file without an extension, most often.
    Other,
}

impl std::fmt::Debug for What {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            What::Document { language, n_tokens, .. } => write!(f, "{} tokens of {}", n_tokens, language.name),
            What::Skipped(reason) => write!(f, "skipped: {reason}"),
            What::Other => write!(f, "no source"),
        }
    }
}

impl Entry {
    /// Which file with which content: the same in every segment.
    pub fn identity(&self) -> u64 {
        identity(&self.shown, self.known.content)
    }

    pub fn is_document(&self) -> bool {
        matches!(self.what, What::Document { .. })
    }

    pub fn path_under(&self, root: &Path) -> PathBuf {
        root.join(self.path.as_deref().unwrap_or(Path::new(&self.shown)))
    }
}

pub fn identity(shown: &str, content: u64) -> u64 {
    xxh3_64_with_seed(shown.as_bytes(), content)
}

/// A file as it was read: what is remembered of it, and its document if it is one.
pub struct Fresh {
    pub entry: Entry,
    pub document: Option<Arc<Document>>,
}

impl Fresh {
    /// About how much memory it takes until it is written: its streams, and its posts.
    pub fn weight(&self) -> usize {
        const PER_POST: usize = size_of::<(u64, u32)>();
        let posts = |document: &Arc<Document>| document.weight() + document.codes.len() / 8 * PER_POST;
        size_of::<Fresh>() + self.entry.shown.len() + self.document.as_ref().map_or(0, posts)
    }
}

/// The bytes of a segment of these files. One that is too large to be stored is skipped for that reason, and costs no
/// other file. Fails if the system refuses memory.
pub fn write(files: Vec<Fresh>, blotting: &Blotting) -> io::Result<Vec<u8>> {
    write_unless(files, blotting, streams::is_too_large)
}

fn write_unless(
    mut files: Vec<Fresh>,
    blotting: &Blotting,
    is_too_large: impl Fn(&Document) -> bool,
) -> io::Result<Vec<u8>> {
    files.sort_by(|a, b| a.entry.shown.cmp(&b.entry.shown));
    for file in &mut files {
        if file.document.as_deref().is_some_and(&is_too_large) {
            file.document = None;
            file.entry.what = What::Skipped(SkipReason::TooLarge);
        }
    }
    let documents: Vec<&Document> = files.iter().filter_map(|file| file.document.as_deref()).collect();
    let dictionary = Dictionary::of(&documents);
    let ranges = streams::plan(&documents);
    let blocks: Vec<Vec<u8>> = ranges
        .par_iter()
        .map_init(
            || Encoder::new(&dictionary),
            |encoder, range| {
                let mut out = Vec::new();
                encoder.block(&documents[range.clone()], &mut out)?;
                Ok(out)
            },
        )
        .collect::<io::Result<_>>()?;
    let mut out = Vec::new();
    out.extend(MAGIC);
    out.extend(VERSION.to_le_bytes());
    blocks.iter().for_each(|block| out.extend(block));
    let mut ends = vec![out.len() as u64];
    dictionary.write(&mut out)?;
    ends.push(out.len() as u64);
    let lengths: Vec<(usize, usize)> = ranges.iter().map(Range::len).zip(blocks.iter().map(Vec::len)).collect();
    drop(blocks);
    let entries: Vec<(u32, &Arc<Document>)> =
        files.iter().zip(0..).filter_map(|(file, i)| file.document.as_ref().map(|document| (i, document))).collect();
    let mut posts: Vec<(u64, u32)> = entries
        .par_iter()
        .map_init(Vec::new, |scratch, (i, document)| {
            let mut posts = Vec::with_capacity(document.codes.len() / 10 + 1);
            posted(document, blotting, scratch, |blot, text| posts.push((blot, i * N_TEXTS + u32::from(text))));
            posts.sort_unstable();
            posts.dedup();
            posts.dedup_by(|other, post| {
                let same = other.0 == post.0;
                if same {
                    post.1 = i * N_TEXTS;
                }
                same
            });
            posts
        })
        .flatten_iter()
        .collect();
    drop(entries);
    posts::write(&mut posts, files.len() as u32 * N_TEXTS, &mut out);
    drop(posts);
    ends.push(out.len() as u64);
    out.extend(zstd::bulk::compress(&table(&files, &lengths), TABLE_LEVEL)?);
    ends.push(out.len() as u64);
    ends.iter().for_each(|end| out.extend(end.to_le_bytes()));
    out.extend(xxh3_64(&out).to_le_bytes());
    out.extend(VERSION.to_le_bytes());
    out.extend(MAGIC);
    Ok(out)
}

const RACY: u8 = 1;
const DOCUMENT: u8 = 2;
const GENERATED: u8 = 4;
const SKIPPED: u8 = 8;

fn table(files: &[Fresh], blocks: &[(usize, usize)]) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, blocks.len() as u64);
    for &(n_documents, length) in blocks {
        put(&mut out, n_documents as u64);
        put(&mut out, length as u64);
    }
    put(&mut out, files.len() as u64);
    let mut languages: Vec<&str> = Vec::new();
    let (mut before, mut inode_before) = ("", 0);
    for Fresh { entry, .. } in files {
        let common = entry.shown.bytes().zip(before.bytes()).take_while(|(a, b)| a == b).count();
        let common = (0..=common).rev().find(|&at| entry.shown.is_char_boundary(at)).unwrap_or(0);
        put(&mut out, common as u64);
        put(&mut out, (entry.shown.len() - common) as u64);
        out.extend(&entry.shown.as_bytes()[common..]);
        before = &entry.shown;
        match entry.path.as_deref().map(path_bytes) {
            None => put(&mut out, 0),
            Some(bytes) => {
                put(&mut out, 1 + bytes.len() as u64);
                out.extend(bytes);
            }
        }
        let Stamp { size, mtime, ctime, inode } = entry.known.stamp;
        put(&mut out, size);
        out.extend(mtime.to_le_bytes());
        // Mostly equal, and mostly near each other: a byte or two where sixteen would not shrink.
        put_signed(&mut out, ctime.wrapping_sub(mtime));
        put_signed(&mut out, inode.wrapping_sub(inode_before) as i64);
        inode_before = inode;
        out.extend(entry.known.content.to_le_bytes());
        let racy = if entry.known.racy { RACY } else { 0 };
        match entry.what {
            What::Document { language, n_lines, n_tokens, generated } => {
                out.push(racy | DOCUMENT | if generated { GENERATED } else { 0 });
                let number = languages.iter().position(|name| *name == language.name).unwrap_or_else(|| {
                    languages.push(language.name);
                    languages.len() - 1
                });
                put(&mut out, number as u64);
                put(&mut out, u64::from(n_lines));
                put(&mut out, u64::from(n_tokens));
            }
            What::Skipped(reason) => out.extend([racy | SKIPPED, reason as u8]),
            What::Other => out.push(racy),
        }
    }
    put(&mut out, languages.len() as u64);
    for name in languages {
        put(&mut out, name.len() as u64);
        out.extend(name.as_bytes());
    }
    out
}

#[cfg(unix)]
fn path_bytes(path: &Path) -> &[u8] {
    std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str())
}

#[cfg(unix)]
fn path_from(bytes: &[u8]) -> Option<PathBuf> {
    Some(PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes)))
}

/// Elsewhere names are text, but for oddities that are shown with a replacement and read under no other name.
#[cfg(not(unix))]
fn path_bytes(path: &Path) -> &[u8] {
    path.to_str().unwrap_or_default().as_bytes()
}

#[cfg(not(unix))]
fn path_from(bytes: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(bytes).ok().map(PathBuf::from)
}

/// The version, if the first bytes and the last agree on it: in every format both stand where they are in this one.
/// If only one did, a single wrong bit would make a damaged segment one of a newer format, which nobody may repair.
fn version(bytes: &[u8]) -> Option<u32> {
    let start = bytes.strip_prefix(MAGIC)?.first_chunk()?;
    let end = bytes.strip_suffix(MAGIC)?.last_chunk()?;
    (start == end).then(|| u32::from_le_bytes(*start))
}

/// A segment that was opened and whose checksum is right.
pub struct Segment {
    /// Of this opening of it: what was read of a file that a third party has cut must not be taken for what it is later.
    id: u64,
    bytes: Bytes,
    root: PathBuf,
    pub entries: Vec<Entry>,
    /// For each entry its place in the blocks, if it is a document.
    places: Vec<Option<Place>>,
    blocks: Vec<Range<usize>>,
    dictionary: Dictionary,
    posts: Range<usize>,
    checksum: u64,
    pub sizes: Sizes,
}

#[derive(Clone, Copy)]
struct Place {
    block: u32,
    index: u32,
}

/// Bytes by part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    pub streams: u64,
    pub dictionary: u64,
    pub posts: u64,
    pub table: u64,
}

/// Why a segment cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    Damaged,
    /// Made by a newer release.
    Newer,
}

impl Segment {
    /// A segment that was just written: its checksum is known to be right, and no page of it is touched for that.
    pub fn written(bytes: Bytes, root: &Path) -> Option<Segment> {
        Segment::read(bytes, root)
    }

    /// A segment of which nothing is known.
    pub fn open(bytes: Bytes, root: &Path) -> Result<Segment, Unusable> {
        if version(&bytes).is_some_and(|version| version > VERSION) {
            return Err(Unusable::Newer);
        }
        let content = bytes.len().checked_sub(FOOTER).and_then(|end| bytes.split_at_checked(end + 4 * 8));
        if content.is_none_or(|(content, end)| end[..8] != xxh3_64(content).to_le_bytes()) {
            return Err(Unusable::Damaged);
        }
        Segment::read(bytes, root).ok_or(Unusable::Damaged)
    }

    fn read(bytes: Bytes, root: &Path) -> Option<Segment> {
        let body_end = bytes.len().checked_sub(FOOTER)?;
        let framed = bytes.get(..8)? == MAGIC && bytes.get(8..HEADER)? == VERSION.to_le_bytes();
        let (content, end) = bytes.split_at_checked(body_end + 4 * 8)?;
        if !framed || end[8..12] != VERSION.to_le_bytes() || end[12..] != *MAGIC {
            return None;
        }
        let checksum = checksum_of(&bytes)?;
        let mut footer = Reader::new(&content[body_end..]);
        let mut end = || footer.u64().and_then(|end| usize::try_from(end).ok());
        let (blocks_end, dictionary_end, posts_end, table_end) = (end()?, end()?, end()?, end()?);
        let table = bytes.get(posts_end..table_end)?;
        let dictionary = Dictionary::read(bytes.get(blocks_end..dictionary_end)?)?;
        let posts = Posts::read(bytes.get(dictionary_end..posts_end)?)?;
        let sizes = Sizes {
            streams: (blocks_end - HEADER) as u64,
            dictionary: (dictionary_end - blocks_end) as u64,
            posts: (posts_end - dictionary_end) as u64,
            table: (bytes.len() - posts_end) as u64,
        };
        let size = zstd::zstd_safe::get_frame_content_size(table).ok()??;
        let table =
            zstd::bulk::decompress(table, usize::try_from(size).ok().filter(|&size| size <= MAX_TABLE)?).ok()?;
        let mut table = Reader::new(&table);
        let mut at = HEADER;
        let (mut blocks, mut places) = (Vec::new(), Vec::new());
        for block in 0..table.count(2)? as u32 {
            let n_documents = table.u32()?;
            // A document has an entry, of which each takes a few bytes.
            if n_documents as usize > table.len() {
                return None;
            }
            places.extend((0..n_documents).map(|index| Place { block, index }));
            let end = at.checked_add(usize::try_from(table.number()?).ok()?).filter(|&end| end <= blocks_end)?;
            blocks.push(at..end);
            at = end;
        }
        let entries = read_entries(&mut table)?;
        let mut places = places.into_iter();
        let place = |entry: &Entry| if entry.is_document() { places.next().map(Some) } else { Some(None) };
        let of_entries: Vec<Option<Place>> = entries.iter().map(place).collect::<Option<_>>()?;
        if posts.n_documents() as usize != entries.len() * N_TEXTS as usize || places.next().is_some() {
            return None;
        }
        let places = of_entries;
        let posts = dictionary_end..posts_end;
        static N_OPENED: AtomicU64 = AtomicU64::new(0);
        let id = N_OPENED.fetch_add(1, Ordering::Relaxed);
        Some(Segment { id, bytes, root: root.to_owned(), entries, places, blocks, dictionary, posts, checksum, sizes })
    }

    /// The entry with this path.
    pub fn ordinal(&self, shown: &str) -> Option<u32> {
        self.entries.binary_search_by(|entry| entry.shown.as_str().cmp(shown)).ok().map(|at| at as u32)
    }

    /// Are the mapped bytes still all there? If not, reading a document, codes or posts may end the process or give
    /// wrong ones; entries, length and checksum are in memory.
    pub fn is_whole(&self) -> bool {
        self.bytes.is_whole()
    }

    /// The checksum that its footer holds.
    pub fn checksum(&self) -> u64 {
        self.checksum
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Calls `each` for the entries that hold a blot, ascending, perhaps for a few that do not, with each text of it.
    pub fn holders(&self, blot: u64, mut each: impl FnMut(Holder)) {
        let posts = self.posts();
        for post in posts.iter().flat_map(|posts| posts.documents_of(blot)) {
            each(Holder { number: post / N_TEXTS, text: (post % N_TEXTS) as u8 });
        }
    }

    pub fn posts(&self) -> Option<Posts<'_>> {
        Posts::read(&self.bytes[self.posts.clone()])
    }

    /// The document of an entry.
    pub fn document(&self, ordinal: u32) -> Option<Arc<Document>> {
        let entry = self.entries.get(ordinal as usize)?;
        let What::Document { language, n_lines, n_tokens, generated } = entry.what else { return None };
        let head = Head {
            path: entry.path_under(&self.root),
            shown: entry.shown.clone(),
            language,
            generated,
            bytes: entry.known.stamp.size,
            n_lines,
        };
        let (block, index) = self.block(ordinal)?;
        let document = DECODER.with_borrow_mut(|decoder| decoder.document(block, index, &self.dictionary, head))?;
        (document.codes.len() == n_tokens as usize).then(|| Arc::new(document))
    }

    /// The codes of the document of an entry: much faster than all of it.
    pub fn codes(&self, ordinal: u32) -> Option<Arc<[Code]>> {
        let (block, index) = self.block(ordinal)?;
        DECODER.with_borrow_mut(|decoder| decoder.codes(block, index, &self.dictionary)).map(Arc::from)
    }

    /// The block that holds the document of an entry, and its place in it.
    fn block(&self, ordinal: u32) -> Option<(Block<'_>, usize)> {
        let Place { block, index } = (*self.places.get(ordinal as usize)?)?;
        let bytes = &self.bytes[self.blocks[block as usize].clone()];
        Some((Block { id: Some((self.id, block)), bytes }, index as usize))
    }
}

thread_local! {
    static DECODER: RefCell<Decoder> = RefCell::new(Decoder::default());
}

/// The checksum that the footer of a segment holds.
pub fn checksum_of(bytes: &[u8]) -> Option<u64> {
    let at = bytes.len().checked_sub(FOOTER)? + 4 * 8;
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}

fn read_entries(table: &mut Reader<'_>) -> Option<Vec<Entry>> {
    let n = table.count(22)?;
    let mut entries: Vec<Entry> = Vec::with_capacity(n);
    let mut languages: Vec<usize> = Vec::with_capacity(n);
    let mut inode = 0u64;
    for _ in 0..n {
        let before = entries.last().map_or("", |entry: &Entry| &entry.shown);
        let common = usize::try_from(table.number()?).ok()?;
        let mut shown = before.get(..common)?.to_owned();
        let length = table.count(1)?;
        shown.push_str(std::str::from_utf8(table.take(length)?).ok()?);
        let path = match table.number()?.checked_sub(1) {
            None => None,
            Some(length) => Some(path_from(table.take(usize::try_from(length).ok()?)?)?),
        };
        let (size, mtime) = (table.number()?, table.u64()? as i64);
        let ctime = mtime.wrapping_add(table.signed()?);
        inode = inode.wrapping_add(table.signed()? as u64);
        let (content, flags) = (table.u64()?, table.u8()?);
        let known = Known { stamp: Stamp { size, mtime, ctime, inode }, content, racy: flags & RACY != 0 };
        let mut language = 0;
        let what = if flags & DOCUMENT != 0 {
            language = usize::try_from(table.number()?).ok()?;
            let (n_lines, n_tokens) = (table.u32()?, table.u32()?);
            // The names of the languages follow at the end.
            What::Document {
                language: dupi_grammars::LANGUAGES[0],
                n_lines,
                n_tokens,
                generated: flags & GENERATED != 0,
            }
        } else if flags & SKIPPED != 0 {
            What::Skipped(*SkipReason::ALL.get(usize::from(table.u8()?))?)
        } else {
            What::Other
        };
        entries.push(Entry { shown, path, known, what });
        languages.push(language);
    }
    let mut names = Vec::new();
    for _ in 0..table.count(1)? {
        let length = table.count(1)?;
        names.push(dupi_grammars::by_name(std::str::from_utf8(table.take(length)?).ok()?)?);
    }
    for (entry, number) in entries.iter_mut().zip(languages) {
        if let What::Document { language, .. } = &mut entry.what {
            *language = names.get(number)?;
        }
    }
    table.is_empty().then_some(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::tests::document;
    use crate::settings::Settings;

    fn fresh(shown: &str, n_lines: usize) -> Fresh {
        let text = format!("package a\n{}", "var x = f(1)\n".repeat(n_lines));
        let document = document(shown, &text, &Settings::default()).expect("a good text");
        let what = What::Document {
            language: document.language,
            n_lines: document.n_lines,
            n_tokens: document.codes.len() as u32,
            generated: false,
        };
        let known = Known { stamp: Stamp::UNKNOWN, content: 1, racy: false };
        let entry = Entry { shown: shown.to_owned(), path: None, known, what };
        Fresh { entry, document: Some(Arc::new(document)) }
    }

    #[test]
    fn a_file_that_is_too_large_to_be_stored_is_skipped_and_costs_no_other() {
        let files = vec![fresh("z.go", 10), fresh("large.go", 200), fresh("a.go", 10)];
        let is_too_large = |document: &Document| document.codes.len() > 500;
        let bytes = write_unless(files, &Blotting::of(&Settings::default()), is_too_large).expect("written");
        let segment = Segment::open(Bytes::from(bytes), Path::new("")).unwrap_or_else(|error| panic!("{error:?}"));
        let stored: Vec<(&str, bool)> = (0..)
            .zip(&segment.entries)
            .map(|(ordinal, entry)| (entry.shown.as_str(), segment.document(ordinal).is_some()))
            .collect();
        assert_eq!(stored, [("a.go", true), ("large.go", false), ("z.go", true)]);
        assert!(matches!(segment.entries[1].what, What::Skipped(SkipReason::TooLarge)));
    }
}
