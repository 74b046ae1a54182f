//! A document: one file as the search sees it. Tokens, what tells names apart, units, lines; no text.

use std::io::{self, Read};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use dupi_grammars::leaves::ParseFailure;
use dupi_grammars::token::{Code, Lexed, Unit, varies};
use dupi_grammars::{Language, detect, tokenize};
use xxhash_rust::xxh3::xxh3_64;

use crate::files::Source;
use crate::settings::Settings;
use crate::skip::SkipReason;
use crate::suppress::{self, Suppression};
use crate::{Zone, regular, text, zones};

/// Tokens between two samples of the symbol ranks: one cache line of codes.
const RANK_STEP: usize = 64;

/// Bits of a symbol. Rare names are stored as they are, and are the largest part of an index: each bit here costs it
/// up to a hundredth of its size. Two different names have the same symbol once in eight million comparisons, and a
/// copy is told by dozens of them.
pub const SYMBOL_BITS: u32 = 23;

/// What is known of a document without reading its tokens.
#[derive(Clone)]
pub struct Head {
    pub path: PathBuf,
    /// Relative to the root, with `/`.
    pub shown: String,
    pub language: &'static Language,
    pub generated: bool,
    pub bytes: u64,
    pub n_lines: u32,
}

/// What the tokens of a document say; the rest of it follows from this and from its head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Body {
    pub codes: Vec<Code>,
    /// One per token that varies.
    pub symbols: Vec<u32>,
    pub line_starts: Vec<u32>,
    pub units: Vec<Unit>,
    pub muted: Vec<Range<u32>>,
}

pub struct Document {
    pub path: PathBuf,
    /// Relative to the root, with `/`.
    pub shown: String,
    pub language: &'static Language,
    pub codes: Box<[Code]>,
    /// A hash of the text of each token that varies, in order, of `SYMBOL_BITS` bits.
    symbols: Box<[u32]>,
    /// Symbols before each `RANK_STEP`-th token.
    ranks: Box<[u32]>,
    /// The first token on or after each line, up to the line of the last token.
    line_starts: Box<[u32]>,
    /// Their lists are numbered in order of first use, so that equal documents are equal.
    pub units: Box<[Unit]>,
    /// Token ranges in which nothing is looked for, in order and apart.
    pub muted: Vec<Range<u32>>,
    /// Token ranges that are test code; the whole file, if its path says so.
    tests: Vec<Range<u32>>,
    pub generated: bool,
    pub bytes: u64,
    pub n_lines: u32,
}

/// Memory that is reused from file to file.
#[derive(Default)]
pub struct Scratch {
    lexed: Lexed,
}

impl Document {
    /// Reads and tokenizes a file.
    pub fn read(source: &Source, settings: &Settings, scratch: &mut Scratch) -> Result<Option<Document>, SkipReason> {
        let named = dupi_grammars::by_path(&source.path);
        if named.is_none() && !starts_with_shebang(&source.path).unwrap_or(false) {
            return Ok(None);
        }
        let bytes = regular::read(&source.path, settings.max_file_bytes).map_err(|error| SkipReason::of(&error))?;
        Document::parse(source, &bytes, settings, scratch)
    }

    /// Tokenizes what a file holds, if it is a source of a language that is asked for.
    pub fn parse(
        source: &Source,
        bytes: &[u8],
        settings: &Settings,
        scratch: &mut Scratch,
    ) -> Result<Option<Document>, SkipReason> {
        let Some(language) = detect(&source.path, bytes) else { return Ok(None) };
        if !settings.languages.is_empty() && !settings.languages.iter().any(|name| name == language.name) {
            return Ok(None);
        }
        Document::from_text(source, language, bytes, settings, scratch).map(Some)
    }

    /// Tokenizes a text.
    pub fn from_text(
        source: &Source,
        language: &'static Language,
        bytes: &[u8],
        settings: &Settings,
        scratch: &mut Scratch,
    ) -> Result<Document, SkipReason> {
        let with_generated = settings.zones.contains(&Zone::Generated);
        text::judge(bytes, with_generated)?;
        let name = source.shown.rsplit('/').next().unwrap_or(&source.shown);
        let generated_name = zones::is_generated_name(name);
        if generated_name && !with_generated {
            return Err(SkipReason::Generated);
        }
        let lexed = &mut scratch.lexed;
        // A tokenizer that panics costs its own file and no other.
        #[cfg(debug_assertions)]
        crate::staged::fault(bytes);
        match catch_unwind(AssertUnwindSafe(|| tokenize(language, bytes, lexed))) {
            Ok(Ok(())) => {}
            Ok(Err(ParseFailure::TooSlow)) => return Err(SkipReason::TooSlow),
            Ok(Err(ParseFailure::TooDeep)) => return Err(SkipReason::TooDeep),
            Err(_) => return Err(SkipReason::Crashed),
        }
        let muted = match suppress::read(bytes, lexed) {
            Suppression::File => return Err(SkipReason::Suppressed),
            Suppression::Tokens(muted) => muted,
        };
        let n_tokens = lexed.tokens.len();
        let n_lines = memchr::memchr_iter(b'\n', bytes).count() + usize::from(bytes.last() != Some(&b'\n'));
        let codes: Vec<Code> = lexed.tokens.iter().map(|token| token.code).collect();
        let mut symbols = Vec::with_capacity(n_tokens / 2);
        let mut line_starts = Vec::with_capacity(n_lines);
        for (i, token) in lexed.tokens.iter().enumerate() {
            if varies(token.code) {
                symbols.push(symbol(&bytes[token.start as usize..token.end as usize]));
            }
            while line_starts.len() <= token.line as usize {
                line_starts.push(i as u32);
            }
        }
        let head = Head {
            path: source.path.clone(),
            shown: source.shown.clone(),
            language,
            generated: with_generated && (generated_name || text::is_generated(bytes)),
            bytes: bytes.len() as u64,
            n_lines: n_lines as u32,
        };
        let units = lexed.units.clone();
        Ok(Document::from_parts(head, Body { codes, symbols, line_starts, units, muted }))
    }

    /// Puts a document together. `symbols` has one for each code that varies.
    pub(crate) fn from_parts(head: Head, body: Body) -> Document {
        let Body { codes, symbols, line_starts, mut units, muted } = body;
        number_lists(&mut units);
        let mut n_symbols = 0;
        let mut ranks = Vec::with_capacity(codes.len().div_ceil(RANK_STEP));
        for chunk in codes.chunks(RANK_STEP) {
            ranks.push(n_symbols);
            n_symbols += chunk.iter().filter(|&&code| varies(code)).count() as u32;
        }
        debug_assert_eq!(n_symbols as usize, symbols.len());
        let mut tests = Vec::new();
        if zones::is_test_path(&head.shown) {
            tests.push(0..codes.len() as u32);
        } else {
            let mut end = 0;
            for unit in units.iter().filter(|unit| unit.flags & Unit::TEST != 0) {
                if unit.start >= end {
                    tests.push(unit.start..unit.end);
                    end = unit.end;
                }
            }
        }
        Document {
            path: head.path,
            shown: head.shown,
            language: head.language,
            codes: codes.into(),
            symbols: symbols.into(),
            ranks: ranks.into(),
            line_starts: line_starts.into(),
            units: units.into(),
            muted,
            tests,
            generated: head.generated,
            bytes: head.bytes,
            n_lines: head.n_lines,
        }
    }

    /// How many symbols come before a token.
    fn rank(&self, token: u32) -> usize {
        let token = token as usize;
        let sample = token / RANK_STEP;
        let Some(&rank) = self.ranks.get(sample) else { return self.symbols.len() };
        let between = &self.codes[sample * RANK_STEP..token.min(self.codes.len())];
        rank as usize + between.iter().filter(|&&code| varies(code)).count()
    }

    /// The codes and the symbols of a range of tokens.
    pub fn read_tokens(&self, start: u32, end: u32) -> (&[Code], &[u32]) {
        (&self.codes[start as usize..end as usize], &self.symbols[self.rank(start)..self.rank(end)])
    }

    /// The same, with the part of a document-wide table that goes with these symbols.
    pub fn read_range<'a>(&'a self, start: u32, end: u32, table: &'a [u32]) -> (&'a [Code], &'a [u32], &'a [u32]) {
        let symbols = self.rank(start)..self.rank(end);
        (&self.codes[start as usize..end as usize], &self.symbols[symbols.clone()], &table[symbols])
    }

    /// About how many bytes of memory it takes.
    pub(crate) fn weight(&self) -> usize {
        let lists = size_of_val(&*self.symbols) + size_of_val(&*self.ranks) + size_of_val(&*self.line_starts);
        size_of::<Document>() + self.codes.len() + lists + size_of_val(&*self.units) + self.shown.len() * 2
    }

    pub fn symbols(&self) -> &[u32] {
        &self.symbols
    }

    pub(crate) fn line_starts(&self) -> &[u32] {
        &self.line_starts
    }

    /// The units that lie in a range of tokens, outer before inner.
    pub fn units_in(&self, start: u32, end: u32) -> impl Iterator<Item = &Unit> {
        let from = self.units.partition_point(|unit| unit.start < start);
        self.units[from..].iter().take_while(move |unit| unit.start < end).filter(move |unit| unit.end <= end)
    }

    /// The units side by side of which a range of tokens is made.
    pub fn siblings_in(&self, start: u32, end: u32) -> impl Iterator<Item = &Unit> {
        let mut units = self.units_in(start, end).peekable();
        let list = units.peek().map(|unit| unit.list);
        units.filter(move |unit| Some(unit.list) == list)
    }

    /// The line (from 0) on which a token starts.
    pub fn line(&self, token: u32) -> u32 {
        self.line_starts.partition_point(|&first| first <= token).saturating_sub(1) as u32
    }

    /// The lines (from 0) that a fragment stands on, end inclusive, as far as the starts of its tokens tell.
    pub fn lines(&self, start: u32, end: u32) -> Range<u32> {
        self.line(start)..self.line(end.max(start + 1) - 1) + 1
    }

    /// The tokens that start on some lines (from 0).
    pub fn tokens_on(&self, lines: Range<u32>) -> Range<u32> {
        let first = |line: u32| self.line_starts.get(line as usize).copied().unwrap_or(self.codes.len() as u32);
        first(lines.start)..first(lines.end)
    }

    pub fn is_test(&self, start: u32, end: u32) -> bool {
        let i = self.tests.partition_point(|range| range.start <= start);
        i.checked_sub(1).is_some_and(|i| self.tests[i].end >= end)
    }

    pub fn is_muted(&self, start: u32, end: u32) -> bool {
        let i = self.muted.partition_point(|range| range.end <= start);
        self.muted.get(i).is_some_and(|range| range.start < end)
    }
}

/// What tells a name or literal from others. Line ends do not: they are a matter of the checkout.
pub(crate) fn symbol(text: &[u8]) -> u32 {
    xxh3_64(&text::with_unix_line_ends(text)) as u32 & ((1 << SYMBOL_BITS) - 1)
}

/// Numbers the lists of units in order of first use. A number says only which units are siblings.
fn number_lists(units: &mut [Unit]) {
    let n = units.iter().map(|unit| unit.list as usize + 1).max().unwrap_or(0);
    let mut numbers = vec![u32::MAX; n];
    let mut n_used = 0;
    for unit in units {
        let number = &mut numbers[unit.list as usize];
        if *number == u32::MAX {
            *number = n_used;
            n_used += 1;
        }
        unit.list = *number;
    }
}

/// Does a file whose name says nothing begin with `#!`? Reads two bytes, of regular files only.
pub(crate) fn starts_with_shebang(path: &Path) -> io::Result<bool> {
    let mut file = match regular::open(path, u64::MAX) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Ok(false),
        opened => opened?.0,
    };
    let mut first = [0; 2];
    match file.read_exact(&mut first) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| first == *b"#!"),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A document of one file's text, as if it had been read from disk.
    pub fn document(shown: &str, text: &str, settings: &Settings) -> Result<Document, SkipReason> {
        let source = Source::new(PathBuf::from(shown), shown.to_owned());
        let language = detect(&source.path, text.as_bytes()).expect("a name that says its language");
        Document::from_text(&source, language, text.as_bytes(), settings, &mut Scratch::default())
    }

    impl PartialEq for Document {
        fn eq(&self, other: &Document) -> bool {
            let names = |d: &Document| (d.path.clone(), d.shown.clone(), d.language.name);
            let numbers = |d: &Document| (d.generated, d.bytes, d.n_lines);
            names(self) == names(other)
                && numbers(self) == numbers(other)
                && self.codes == other.codes
                && self.symbols == other.symbols
                && self.ranks == other.ranks
                && self.line_starts == other.line_starts
                && self.units == other.units
                && self.muted == other.muted
                && self.tests == other.tests
        }
    }

    impl std::fmt::Debug for Document {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.debug_struct("Document")
                .field("shown", &self.shown)
                .field("codes", &self.codes)
                .field("symbols", &self.symbols)
                .field("line_starts", &self.line_starts)
                .field("units", &self.units)
                .field("muted", &self.muted)
                .field("tests", &self.tests)
                .finish_non_exhaustive()
        }
    }

    /// A document that is nothing but a stream of codes.
    pub fn document_of_codes(codes: &[Code]) -> Document {
        let mut document = document("a.go", "package a", &Settings::default()).expect("a good text");
        document.codes = codes.into();
        document
    }

    #[test]
    fn symbols_and_lines_are_found_from_any_token() {
        let text: String = (0..100).map(|i| format!("var a{i} = f({i}) + b\n")).collect();
        let document = document("a.go", &text, &Settings::default()).expect("a good text");
        for start in 0..document.codes.len() as u32 {
            let (codes, symbols) = document.read_tokens(start, document.codes.len() as u32);
            assert_eq!(symbols.len(), codes.iter().filter(|&&code| varies(code)).count());
            assert_eq!(document.line(start), start / 9);
        }
    }

    #[test]
    fn comments_can_switch_the_search_off() {
        let settings = Settings::default();
        let muted = |text: &str| -> Vec<Range<u32>> { document("a.go", text, &settings).expect("a good text").muted };
        let body = "func f() {\n\tg()\n}\n";
        assert_eq!(muted(&format!("package a\n// dupi:ignore: made by hand\n{body}{body}")), vec![2..11]);
        assert_eq!(muted(&format!("package a\n// dupi:ignore-start\n{body}// dupi:ignore-end\n{body}")), vec![2..11]);
        assert_eq!(muted(&format!("package a\n// jscpd:ignore-start\n{body}{body}")), vec![2..20]);
        assert_eq!(muted(&format!("package a\n/* CPD-OFF */\n{body}/* CPD-ON */{body}")), vec![2..11]);
        assert_eq!(muted("package a\nfunc f() { //nolint:dupl,gocyclo // why\n\tg()\n}\n"), vec![2..11]);
        assert_eq!(muted("package a\nfunc f() { //nolint:gocyclo\n\tg()\n}\n"), Vec::<Range<u32>>::new());
        assert_eq!(document("a.go", "// dupi:ignore-file\npackage a\n", &settings).err(), Some(SkipReason::Suppressed));
        let spoken_of = "package a\n// Say `dupi:ignore-file`, or dupi:ignore-file, to be left alone.\nvar x = 1\n";
        assert_eq!(muted(spoken_of), Vec::<Range<u32>>::new());
        assert_eq!(muted("package a\n/*\n * dupi:ignore\n */\nvar x = 1\n"), vec![2..6]);
    }
}
