//! Documents as bytes: the compact form in which an index keeps them. Knows documents and bytes, no files and no paths.
//!
//! Documents are stored in blocks of about `BLOCK_BYTES`, a large document in a block of its own. One document is read
//! by decompressing its block and reading its own part of it:
//!
//! ```text
//! block      n_documents · n_structure · n_frame · (structure_len · symbols_len)* · frame · symbols*
//! frame      zstd of all structures, n_structure bytes, with the dictionary's prefix
//! structure  codes, line breaks and units of one document in one stream (`structure.rs`)
//! symbols    names and literals of one document, by an adaptive coder (`symbols.rs`)
//! ```
//!
//! All numbers are varints. What many documents share is in the `Dictionary` of their segment. Nothing here is
//! protected by a checksum: wrong bytes give no document, or a wrong one, but never a panic; who maps a file checks it.
//!
//! Structure goes well with zstd, since the same shapes return all the time: codes, breaks and units in one stream are
//! as small as codes alone, for where units start and lines break follows from the codes. Symbols do not: what was used
//! two lines ago returns, not what stood beside it. Coding each against its context, with odds learnt from the whole
//! segment, takes an eighth less than move-to-front ranks in zstd, and about as long as tokenizing the file did.

mod coder;
mod dictionary;
mod structure;
mod symbols;

use std::io;
use std::ops::Range;

use dupi_grammars::token::{Code, varies};
use zstd::zstd_safe::{CCtx, DCtx, compress_bound};

pub use self::dictionary::{Dictionary, Tally};
use self::symbols::Predictor;
use crate::bytes::{Reader, put};
pub use crate::document::Head;
use crate::document::{Body, Document};
use crate::settings::MAX_FILE_BYTES;

/// Structure in one block. Each read of a document decompresses all of it: 16 KiB are done in 20 µs, and twice as much
/// would save a hundredth of the index.
const BLOCK_BYTES: usize = 16 * 1024;

/// The most structure that one document may have. Only who raises the limit on file sizes far can come near it.
const MAX_STRUCTURE_BYTES: usize = 64 * MAX_FILE_BYTES as usize;

/// Has a document more structure than a block can hold?
pub fn is_too_large(document: &Document) -> bool {
    is_larger_than(document, MAX_STRUCTURE_BYTES)
}

fn is_larger_than(document: &Document, max: usize) -> bool {
    let size = structure::size(document);
    // Only of those that could be is it found out.
    size * structure::MAX_GROWTH > max && {
        let mut bytes = Vec::new();
        structure::write(document, &mut bytes);
        bytes.len() > max
    }
}

/// Which documents go in which block, one after the other.
pub fn plan(documents: &[&Document]) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let (mut start, mut n_bytes) = (0, 0);
    for (i, document) in documents.iter().enumerate() {
        let more = structure::size(document);
        if i > start && n_bytes + more > BLOCK_BYTES {
            blocks.push(start..i);
            (start, n_bytes) = (i, 0);
        }
        n_bytes += more;
    }
    if start < documents.len() {
        blocks.push(start..documents.len());
    }
    blocks
}

/// Writes blocks. Holds memory that is reused from block to block: one per thread.
pub struct Encoder<'a> {
    dictionary: &'a Dictionary,
    context: CCtx<'static>,
    structure: Vec<u8>,
    frame: Vec<u8>,
    symbols: Vec<u8>,
    predictor: Predictor,
}

impl<'a> Encoder<'a> {
    pub fn new(dictionary: &'a Dictionary) -> Encoder<'a> {
        Encoder {
            dictionary,
            context: CCtx::create(),
            structure: Vec::new(),
            frame: Vec::new(),
            symbols: Vec::new(),
            predictor: Predictor::default(),
        }
    }

    /// Appends a block of documents, of which none [is too large](is_too_large). Nothing is appended if that fails.
    pub fn block(&mut self, documents: &[&Document], out: &mut Vec<u8>) -> io::Result<()> {
        self.structure.clear();
        self.symbols.clear();
        let mut lens = Vec::with_capacity(documents.len() * 4);
        for document in documents {
            let (n_structure, n_symbols) = (self.structure.len(), self.symbols.len());
            structure::write(document, &mut self.structure);
            self.predictor.write(document, self.dictionary, &mut self.symbols);
            put(&mut lens, (self.structure.len() - n_structure) as u64);
            put(&mut lens, (self.symbols.len() - n_symbols) as u64);
        }
        self.frame.clear();
        self.frame.reserve(compress_bound(self.structure.len()));
        let prefix = self.dictionary.compression();
        let packed = self.context.compress_using_cdict(&mut self.frame, &self.structure, prefix);
        packed.map_err(|code| io::Error::other(zstd::zstd_safe::get_error_name(code)))?;
        put(out, documents.len() as u64);
        put(out, self.structure.len() as u64);
        put(out, self.frame.len() as u64);
        out.extend_from_slice(&lens);
        out.extend_from_slice(&self.frame);
        out.extend_from_slice(&self.symbols);
        Ok(())
    }
}

/// Reads blocks. Holds memory that is reused from block to block: one per thread.
pub struct Decoder {
    context: DCtx<'static>,
    structure: Vec<u8>,
    /// The block of which this is the structure: documents that stand side by side are often asked for together.
    held: Option<BlockId>,
    predictor: Predictor,
}

/// A segment, as it was opened, and the number of a block in it.
pub type BlockId = (u64, u32);

/// A block as it is stored, and which one it is if it may be asked for again.
#[derive(Clone, Copy)]
pub struct Block<'a> {
    pub id: Option<BlockId>,
    pub bytes: &'a [u8],
}

impl Default for Decoder {
    fn default() -> Decoder {
        Decoder { context: DCtx::create(), structure: Vec::new(), held: None, predictor: Predictor::default() }
    }
}

impl Decoder {
    /// The i-th document of a block; none if the bytes are wrong.
    pub fn document(&mut self, block: Block, i: usize, dictionary: &Dictionary, head: Head) -> Option<Document> {
        self.part(block, i, dictionary, |decoder, structure, symbols| {
            decoder.read(structure, symbols?, dictionary, head)
        })
    }

    /// The codes of the i-th document of a block alone: a tenth of the time.
    pub fn codes(&mut self, block: Block, i: usize, dictionary: &Dictionary) -> Option<Vec<Code>> {
        self.part(block, i, dictionary, |decoder, structure, _| structure::codes(decoder.structure.get(structure)?))
    }

    /// What is read of the i-th document of a block, from where its structure is and from its symbols.
    fn part<T>(
        &mut self,
        block: Block,
        i: usize,
        dictionary: &Dictionary,
        read: impl FnOnce(&mut Decoder, Range<usize>, Option<&[u8]>) -> Option<T>,
    ) -> Option<T> {
        let layout = Layout::read(block.bytes)?;
        self.decompress(block.id, &layout, dictionary)?;
        let read = layout.parts().nth(i).and_then(|(structure, symbols)| read(self, structure, symbols));
        self.held = self.held.filter(|_| read.is_some());
        read
    }

    fn decompress(&mut self, id: Option<BlockId>, layout: &Layout<'_>, dictionary: &Dictionary) -> Option<()> {
        if id.is_some() && self.held == id {
            return Some(());
        }
        self.held = None;
        self.structure.clear();
        // A large document is read once and its memory given back; blocks of the usual size reuse theirs.
        self.structure.shrink_to(4 * BLOCK_BYTES);
        self.structure.try_reserve_exact(layout.n_structure).ok()?;
        let prefix = dictionary.decompression();
        let n = self.context.decompress_using_ddict(&mut self.structure, layout.frame, prefix).ok()?;
        if n != layout.n_structure {
            return None;
        }
        // One that is large enough to be given back is not kept until then.
        self.held = id.filter(|_| n <= 4 * BLOCK_BYTES);
        Some(())
    }

    fn read(
        &mut self,
        structure: Range<usize>,
        symbols: &[u8],
        dictionary: &Dictionary,
        head: Head,
    ) -> Option<Document> {
        let mut body = Body::default();
        structure::read(self.structure.get(structure)?, &mut body)?;
        let n_symbols = body.codes.iter().filter(|&&code| varies(code)).count();
        body.symbols.resize(n_symbols, 0);
        self.predictor.read(symbols, &body.codes, dictionary, &mut body.symbols)?;
        Some(Document::from_parts(head, body))
    }
}

/// Where the parts of a block are.
struct Layout<'a> {
    n_documents: usize,
    n_structure: usize,
    lens: &'a [u8],
    frame: &'a [u8],
    symbols: &'a [u8],
}

impl<'a> Layout<'a> {
    fn read(block: &'a [u8]) -> Option<Layout<'a>> {
        let mut reader = Reader::new(block);
        let (n_documents, n_structure, n_frame) = (reader.size()?, reader.size()?, reader.size()?);
        let max = if n_documents > 1 { BLOCK_BYTES * structure::MAX_GROWTH } else { MAX_STRUCTURE_BYTES };
        if n_structure > max {
            return None;
        }
        let lens = reader.rest();
        // Two numbers of a byte or more each: a count that is too large ends with the block.
        for _ in 0..n_documents {
            reader.size()?;
            reader.size()?;
        }
        let frame = reader.take(n_frame)?;
        Some(Layout { n_documents, n_structure, lens, frame, symbols: reader.rest() })
    }

    /// Each document's range of the structure, and its symbols if they are there.
    fn parts(&self) -> impl Iterator<Item = (Range<usize>, Option<&'a [u8]>)> + use<'a> {
        let (mut lens, mut at, mut symbols) = (Reader::new(self.lens), 0usize, Some(self.symbols));
        (0..self.n_documents).map_while(move |_| {
            let end = at.checked_add(lens.size()?)?;
            let n_symbols = lens.size()?;
            let parts = symbols.and_then(|symbols| symbols.split_at_checked(n_symbols));
            symbols = parts.map(|(_, rest)| rest);
            Some((std::mem::replace(&mut at, end)..end, parts.map(|(own, _)| own)))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use dupi_grammars::token::Unit;
    use proptest::prelude::*;
    use rayon::prelude::*;

    use super::*;
    use crate::document::Scratch;
    use crate::document::tests::document;
    use crate::settings::Settings;

    fn head(document: &Document) -> Head {
        Head {
            path: document.path.clone(),
            shown: document.shown.clone(),
            language: document.language,
            generated: document.generated,
            bytes: document.bytes,
            n_lines: document.n_lines,
        }
    }

    fn encode(documents: &[&Document], dictionary: &Dictionary) -> Vec<u8> {
        let mut out = vec![];
        Encoder::new(dictionary).block(documents, &mut out).expect("a block");
        out
    }

    fn alone(bytes: &[u8]) -> Block<'_> {
        Block { id: None, bytes }
    }

    fn reread(dictionary: &Dictionary) -> Dictionary {
        let mut bytes = vec![];
        dictionary.write(&mut bytes).expect("written");
        for n in (0..bytes.len()).step_by(bytes.len() / 100 + 1) {
            assert!(Dictionary::read(&bytes[..n]).is_none(), "{n} of {} bytes", bytes.len());
        }
        Dictionary::read(&bytes).expect("what was written")
    }

    /// Frozen sources of the languages that are compiled in, and each of them from every empty line on: enough documents
    /// for several blocks, though only one language may be there.
    fn real_sources() -> Vec<Document> {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
        let settings = Settings::default();
        let mut documents = Vec::new();
        for source in read_all(&root, &settings) {
            let text = std::fs::read_to_string(&source.path).expect("a source");
            let starts = text.match_indices("\n\n").map(|(at, _)| at);
            documents.extend(starts.filter_map(|at| document(&source.shown, &text[at..], &settings).ok()));
            documents.push(source);
        }
        documents
    }

    fn read_all(root: &std::path::Path, settings: &Settings) -> Vec<Document> {
        let mut sources = crate::files::find(root, &[root.to_owned()], settings).expect("a folder").sources;
        sources.sort_by(|a, b| a.shown.cmp(&b.shown));
        let read = |scratch: &mut Scratch, source| Document::read(source, settings, scratch).ok().flatten();
        sources.par_iter().map_init(Scratch::default, read).flatten().collect()
    }

    fn check(documents: &[&Document], dictionary: &Dictionary) {
        let block = encode(documents, dictionary);
        let mut decoder = Decoder::default();
        for (i, &document) in documents.iter().enumerate() {
            let read = decoder.document(alone(&block), i, dictionary, head(document));
            assert_eq!(read.as_ref(), Some(document));
            assert_eq!(decoder.codes(alone(&block), i, dictionary).as_deref(), Some(&*document.codes));
        }
        assert!(
            documents.is_empty()
                || decoder.document(alone(&block), documents.len(), dictionary, head(documents[0])).is_none()
        );
        let held = Block { id: Some((7, 0)), bytes: &block };
        for (i, &document) in documents.iter().enumerate() {
            assert_eq!(decoder.document(held, i, dictionary, head(document)).as_ref(), Some(document));
        }
    }

    /// The flags of a core.
    const CORE: u8 = Unit::DEFINITION | Unit::CORE;

    fn bodies() -> impl Strategy<Value = Body> {
        let codes = prop_oneof![4 => 0..8u8, 4 => 8..30u8, 1 => any::<u8>()];
        let symbols = prop_oneof![0..20u32, 0..1u32 << crate::document::SYMBOL_BITS];
        let token = (codes, symbols, prop_oneof![3 => Just(0), 1 => 0..4u32]);
        let unit = (any::<u16>(), any::<u16>(), 0..5u32, prop_oneof![8 => 0..16u8, 1 => Just(CORE), 1 => any::<u8>()]);
        let muted = prop::collection::vec(0..50u32, 0..3);
        (prop::collection::vec(token, 0..200), prop::collection::vec(unit, 0..30), any::<bool>(), muted).prop_map(
            |(tokens, units, nested, muted)| {
                let mut body = Body::default();
                let mut line = 0;
                for (i, &(code, symbol, breaks)) in (0..).zip(&tokens) {
                    body.codes.push(code);
                    if varies(code) {
                        body.symbols.push(symbol);
                    }
                    line += breaks;
                    body.line_starts.resize(line as usize + 1, i);
                }
                let n = tokens.len() as u32 + 1;
                for (a, b, list, flags) in units {
                    let (a, b) = (u32::from(a) % n, u32::from(b) % n);
                    body.units.push(Unit { start: a.min(b), end: a.max(b), list, flags });
                }
                body.units.sort_by_key(|unit| (unit.start, u32::MAX - unit.end));
                if nested {
                    let mut kept: Vec<Unit> = Vec::new();
                    body.units.retain(|unit| {
                        let good = unit.start < unit.end
                            && (unit.flags < 16 || unit.flags == CORE)
                            && kept.iter().all(|outer| outer.end <= unit.start || outer.end >= unit.end);
                        kept.extend(good.then_some(*unit));
                        good
                    });
                }
                let mut at = 0;
                for gap in muted {
                    let end = (at + gap + 1).min(n - 1);
                    if at < end {
                        body.muted.push(at..end);
                    }
                    at = end + 1;
                }
                body
            },
        )
    }

    fn any_document(body: Body) -> Document {
        let like = document("a.go", "package a", &Settings::default()).expect("a good text");
        Document::from_parts(head(&like), body)
    }

    proptest! {
        #![proptest_config(crate::cases(300))]

        #[test]
        fn every_document_comes_back_as_it_was(bodies in prop::collection::vec(bodies(), 0..6)) {
            let documents: Vec<Document> = bodies.into_iter().map(any_document).collect();
            let documents: Vec<&Document> = documents.iter().collect();
            check(&documents, &Dictionary::default());
        }

        #[test]
        fn wrong_bytes_never_panic(body in bodies(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let document = any_document(body);
            let dictionary = Dictionary::default();
            let mut block = encode(&[&document, &document], &dictionary);
            let mut decoder = Decoder::default();
            let at = at.index(block.len());
            let cut = decoder.document(alone(&block[..at]), 1, &dictionary, head(&document));
            block[at] = byte;
            let changed = decoder.document(alone(&block), 1, &dictionary, head(&document));
            for read in [cut, changed].into_iter().flatten() {
                let n = read.codes.len() as u32;
                read.read_tokens(0, n);
                prop_assert!(read.units.iter().all(|unit| unit.start <= unit.end && unit.end <= n));
            }
        }
    }

    #[test]
    fn real_sources_come_back_with_a_dictionary_and_without() {
        let documents = real_sources();
        let documents: Vec<&Document> = documents.iter().collect();
        assert!(documents.len() > 20);
        let dictionary = reread(&Dictionary::of(&documents));
        for block in plan(&documents) {
            check(&documents[block.clone()], &dictionary);
            check(&documents[block], &Dictionary::default());
        }
    }

    #[test]
    fn every_byte_of_a_real_block_can_be_wrong() {
        let documents = real_sources();
        let documents: Vec<&Document> = documents.iter().collect();
        let dictionary = Dictionary::of(&documents);
        let block = &plan(&documents)[0];
        let bytes = encode(&documents[block.clone()], &dictionary);
        let mut decoder = Decoder::default();
        for i in 0..bytes.len() {
            let mut wrong = bytes.clone();
            wrong[i] ^= 1 << (i % 8);
            let last = block.len() - 1;
            decoder.document(alone(&wrong), last, &dictionary, head(documents[last]));
            decoder.document(alone(&bytes[..i]), last, &dictionary, head(documents[last]));
        }
    }

    #[test]
    fn one_document_does_not_need_the_others_heads() {
        let texts: Vec<String> = (0..5).map(|i| format!("package a\n\nfunc f{i}() {{\n\tg({i})\n}}\n")).collect();
        let settings = Settings::default();
        let documents: Vec<Document> =
            texts.iter().map(|text| document("a.go", text, &settings).expect("a good text")).collect();
        check(&documents.iter().collect::<Vec<_>>(), &Dictionary::default());
    }

    #[test]
    fn what_a_block_cannot_hold_is_known_before_it_is_written() {
        let document = document("a.go", "package a\nvar x = f(1)\n", &Settings::default()).expect("a good text");
        let mut bytes = Vec::new();
        structure::write(&document, &mut bytes);
        assert!(is_larger_than(&document, bytes.len() - 1) && !is_larger_than(&document, bytes.len()));
    }

    #[test]
    fn blocks_are_of_even_size_and_large_documents_alone() {
        let settings = Settings::default();
        let text = |n: usize| format!("package a\n{}", "var x = f(1)\n".repeat(n));
        let documents: Vec<Document> = [10, 10, 5000, 10, 600, 600, 600]
            .iter()
            .map(|&n| document("a.go", &text(n), &settings).expect("a good text"))
            .collect();
        let documents: Vec<&Document> = documents.iter().collect();
        let expected: [Range<usize>; 4] = [0..2, 2..3, 3..6, 6..7];
        assert_eq!(plan(&documents), expected);
        assert!(plan(&[]).is_empty());
    }

    /// `DUPI_CORPUS=folder cargo test -p dupi --release -- --ignored --nocapture every_document_of_a_corpus`
    #[test]
    #[ignore = "needs a folder in DUPI_CORPUS"]
    #[expect(clippy::print_stdout, reason = "what was measured")]
    fn every_document_of_a_corpus_comes_back_as_it_was() {
        let root = std::path::PathBuf::from(std::env::var_os("DUPI_CORPUS").expect("DUPI_CORPUS is set"));
        let documents = read_all(&root, &Settings::default());
        let documents: Vec<&Document> = documents.iter().collect();
        let n_bytes: u64 = documents.iter().map(|document| document.bytes).sum();
        let percent = |n: usize| 100.0 * n as f64 / n_bytes as f64;

        let start = Instant::now();
        let dictionary = Dictionary::of(&documents);
        let (learnt, start) = (start.elapsed(), Instant::now());
        let ranges = plan(&documents);
        let write = |encoder: &mut Encoder<'_>, range: &Range<usize>| {
            let mut out = vec![];
            encoder.block(&documents[range.clone()], &mut out).expect("a block");
            out
        };
        let blocks: Vec<Vec<u8>> = ranges.par_iter().map_init(|| Encoder::new(&dictionary), write).collect();
        let written = start.elapsed();
        let mut bytes = vec![];
        dictionary.write(&mut bytes).expect("written");
        let dictionary = Dictionary::read(&bytes).expect("what was written");

        let frames: usize = blocks.iter().map(|block| Layout::read(block).expect("a block").frame.len()).sum();
        let symbols: usize = blocks.iter().map(|block| Layout::read(block).expect("a block").symbols.len()).sum();
        let all: usize = blocks.iter().map(Vec::len).sum();
        println!(
            "{} documents of {n_bytes} bytes, {} blocks: structure {:.3} % symbols {:.3} % heads {:.3} % dictionary {:.3} % = {:.3} %",
            documents.len(),
            blocks.len(),
            percent(frames),
            percent(symbols),
            percent(all - frames - symbols),
            percent(bytes.len()),
            percent(all + bytes.len()),
        );
        let mut decoder = Decoder::default();
        let mut times: Vec<Duration> = vec![];
        for (range, block) in ranges.iter().zip(&blocks) {
            for (i, &document) in documents[range.clone()].iter().enumerate() {
                let head = head(document);
                let start = Instant::now();
                let read = decoder.document(alone(block), i, &dictionary, head);
                times.push(start.elapsed());
                assert!(read.as_ref() == Some(document), "{}", document.shown);
            }
        }
        times.sort();
        let mean = times.iter().sum::<Duration>() / times.len().max(1) as u32;
        let (p50, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
        println!("learnt {learnt:?}, written {written:?}, one document read: mean {mean:?} p50 {p50:?} p99 {p99:?}");
        let start = Instant::now();
        ranges.par_iter().zip(&blocks).zip(0..blocks.len()).for_each_init(
            Decoder::default,
            |decoder, ((range, block), n)| {
                for (i, &document) in documents[range.clone()].iter().enumerate() {
                    let block = Block { id: Some((0, n as u32)), bytes: block };
                    assert!(decoder.document(block, i, &dictionary, head(document)).is_some());
                }
            },
        );
        println!("all read in {:?}", start.elapsed());
    }
}
