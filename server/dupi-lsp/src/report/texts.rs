//! The texts of copies, with what the tokenizer says of them, for the worst classes: as many as a budget allows.
//! They are compressed in chunks of a few classes, so that a browser unpacks only what somebody looks at.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use dupi::locate::Place;
use dupi::{Class, File, Fragment, Report, regular};
use dupi_grammars::token::{CHARACTER, Code, IDENTIFIER, Lexed, NUMBER, STRING, TEXT, varies};
use dupi_grammars::{Language, tokenize};
use rayon::prelude::*;
use serde::Serialize;

use super::html::pack;

/// Copies of a class whose text is kept: who looks at more of them looks at the list of places.
const MAX_COPIES: usize = 24;
/// A longer text is cut at the end of a line: nobody compares more than this by eye.
const MAX_BYTES: usize = 48 << 10;
/// Text of a chunk before it is compressed: enough to compress well, little enough to unpack at once.
const CHUNK_BYTES: usize = 256 << 10;
/// Lines that are read in one go. Memory stays bounded, and few files are read twice.
const ROUND_LINES: usize = 250_000;

pub struct Texts {
    pub chunks: Vec<Chunk>,
    /// Classes from here on have no text.
    pub end: usize,
}

pub struct Chunk {
    /// Of the classes in it.
    pub first: usize,
    pub packed: Vec<u8>,
}

/// The text of a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
enum Text {
    /// The same as that of an earlier copy of the class.
    Same(usize),
    /// Whole lines, and the spans that they are made of.
    Own(String, String),
    /// The file is not what it was.
    Gone(()),
}

/// Where a text is asked for.
struct Wanted {
    class: usize,
    copy: usize,
}

impl Texts {
    /// Those of the worst classes, in at most `limit` bytes of the page.
    pub fn new(report: &Report, places: &[Vec<Place>], limit: u64) -> io::Result<Texts> {
        let mut texts = Texts { chunks: Vec::new(), end: 0 };
        let mut left = limit;
        while texts.end < report.classes.len() && left > 0 {
            let round = round(places, texts.end);
            let packed: Vec<(Range<usize>, Vec<u8>)> = divide(read(report, round.clone()), round.start)
                .into_par_iter()
                .map(|(classes, found)| Ok((classes, pack(&serde_json::to_vec(&found)?)?)))
                .collect::<io::Result<_>>()?;
            for (classes, packed) in packed {
                let Some(rest) = left.checked_sub(packed.len() as u64) else { return Ok(texts) };
                left = rest;
                texts.end = classes.end;
                texts.chunks.push(Chunk { first: classes.start, packed });
            }
        }
        Ok(texts)
    }
}

/// The next classes to read.
fn round(places: &[Vec<Place>], start: usize) -> Range<usize> {
    let mut lines = 0;
    let weight =
        |places: &Vec<Place>| places.iter().take(MAX_COPIES).map(|place| place.lines() as usize).sum::<usize>();
    let n = places[start..].iter().take_while(|places| {
        let fits = lines < ROUND_LINES;
        lines += weight(places);
        fits
    });
    start..start + n.count()
}

/// The texts of all copies of some classes. Each file is read once.
fn read(report: &Report, classes: Range<usize>) -> Vec<Vec<Text>> {
    let mut by_file: BTreeMap<u32, Vec<Wanted>> = BTreeMap::new();
    for class in classes.clone() {
        for (copy, fragment) in report.classes[class].copies.iter().take(MAX_COPIES).enumerate() {
            by_file.entry(fragment.document).or_default().push(Wanted { class, copy });
        }
    }
    let found: Vec<_> = by_file
        .into_par_iter()
        .map_init(Lexed::default, |lexed, (document, wanted)| {
            let fragments: Vec<Fragment> =
                wanted.iter().map(|wanted| report.classes[wanted.class].copies[wanted.copy]).collect();
            let texts = read_file(&report.files[document as usize], &fragments, lexed);
            (wanted, texts)
        })
        .collect();
    let n_copies = |class: &Class| class.copies.len().min(MAX_COPIES);
    let mut texts: Vec<Vec<Text>> =
        report.classes[classes.clone()].iter().map(|class| vec![Text::Gone(()); n_copies(class)]).collect();
    for (wanted, found) in found {
        for (wanted, text) in wanted.into_iter().zip(found.into_iter().flatten()) {
            texts[wanted.class - classes.start][wanted.copy] = text;
        }
    }
    texts.iter_mut().for_each(|texts| share(texts));
    texts
}

/// Replaces texts that an earlier copy has, too.
fn share(texts: &mut [Text]) {
    for i in 1..texts.len() {
        let (before, rest) = texts.split_at_mut(i);
        if let (Text::Own(..), Some(same)) = (&rest[0], before.iter().position(|text| *text == rest[0])) {
            rest[0] = Text::Same(same);
        }
    }
}

/// Cuts the texts of classes into chunks.
fn divide(texts: Vec<Vec<Text>>, first: usize) -> Vec<(Range<usize>, Vec<Vec<Text>>)> {
    let mut chunks: Vec<(Range<usize>, Vec<Vec<Text>>)> = Vec::new();
    let mut size = usize::MAX;
    for (class, texts) in (first..).zip(texts) {
        let bytes = |text: &Text| if let Text::Own(text, spans) = text { text.len() + spans.len() } else { 0 };
        size = size.saturating_add(texts.iter().map(bytes).sum());
        match chunks.last_mut().filter(|_| size < CHUNK_BYTES) {
            Some((classes, chunk)) => {
                classes.end = class + 1;
                chunk.push(texts);
            }
            None => {
                chunks.push((class..class + 1, vec![texts]));
                size = 0;
            }
        }
    }
    chunks
}

/// The texts of fragments of one file, or nothing if it is not what it was.
fn read_file(file: &File, fragments: &[Fragment], lexed: &mut Lexed) -> Option<Vec<Text>> {
    let text = regular::read_to_string(&file.path, file.bytes).ok()?;
    tokenize(file.language, text.as_bytes(), lexed).ok()?;
    if lexed.tokens.len() != file.n_tokens as usize {
        return None;
    }
    Some(fragments.iter().map(|fragment| cut(&text, file.language, lexed, fragment)).collect())
}

/// The text of a fragment from the start of its first line, if only blanks are before it, and what it is made of.
fn cut(text: &str, language: &Language, lexed: &Lexed, fragment: &Fragment) -> Text {
    let tokens = &lexed.tokens[fragment.start as usize..fragment.end as usize];
    let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { return Text::Gone(()) };
    let line = text.as_bytes()[..first.start as usize].iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1);
    let is_indent = text.as_bytes()[line..first.start as usize].iter().all(u8::is_ascii_whitespace);
    let start = if is_indent { line } else { floor(text, first.start as usize) };
    let mut end = floor(text, last.end as usize);
    if end - start > MAX_BYTES {
        let most = &text.as_bytes()[start..start + MAX_BYTES];
        end = start + most.iter().rposition(|&b| b == b'\n').unwrap_or(0);
    }
    let comments = &lexed.comments[lexed.comments.partition_point(|comment| (comment.end as usize) <= start)..];
    let comments = comments.iter().take_while(|comment| (comment.start as usize) < end);
    let mut pieces: Vec<(u32, u32, char)> = comments.map(|comment| (comment.start, comment.end, 'c')).collect();
    pieces.extend(tokens.iter().map(|token| (token.start, token.end, letter(language, token.code))));
    pieces.sort_unstable();
    let mut spans = String::new();
    let mut at = start;
    for (from, to, letter) in pieces {
        let from = floor(text, from as usize).clamp(at, end);
        let to = floor(text, to as usize).clamp(from, end);
        put(&mut spans, 'b', &text[at..from]);
        put(&mut spans, letter, &text[from..to]);
        at = to;
    }
    Text::Own(text[start..at].to_owned(), spans)
}

/// The character that a byte is part of: a lexer may cut what it does not know anywhere.
fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// A span is the letter of what it is, and its length as browsers count if that is not 1: `k4bn7p` is `func Example(`.
fn put(spans: &mut String, letter: char, text: &str) {
    let length = if text.is_ascii() { text.len() } else { text.encode_utf16().count() };
    match length {
        0 => {}
        1 => spans.push(letter),
        _ => {
            spans.push(letter);
            spans.push_str(&length.to_string());
        }
    }
}

/// What a token is to people who read it.
fn letter(language: &Language, code: Code) -> char {
    match code {
        IDENTIFIER => 'n',
        NUMBER => 'd',
        STRING | CHARACTER => 's',
        TEXT => 't',
        code if varies(code) => 'p',
        _ => {
            let spelling = language.alphabet().spelling(code).unwrap_or_default();
            if spelling.contains(|c: char| c.is_ascii_alphabetic()) { 'k' } else { 'p' }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_all(text: &str, tokens: Range<u32>) -> Text {
        let language = dupi_grammars::by_name("go").expect("a language that is always there in tests");
        let mut lexed = Lexed::default();
        tokenize(language, text.as_bytes(), &mut lexed).expect("a good text");
        cut(text, language, &lexed, &Fragment { document: 0, start: tokens.start, end: tokens.end })
    }

    #[test]
    fn a_text_starts_with_its_indent_and_its_spans_cover_it() {
        let text = "package a\n\n\tvar é = \"ü😀\" // why\n\tvar y = 2\n";
        let expected = ("\tvar é = \"ü😀\" // why\n\tvar y = 2", "bk3bnbpbs5bc6b2k3bnbpbd");
        assert_eq!(cut_all(text, 2..10), Text::Own(expected.0.into(), expected.1.into()));
        assert_eq!(cut_all("package a; var x = 1\n", 3..7), Text::Own("var x = 1".into(), "k3bnbpbd".into()));
    }

    #[test]
    fn a_long_text_is_cut_at_the_end_of_a_line() {
        let text: String = (0..10_000).map(|i| format!("var n{i} = {i}\n")).collect();
        let Text::Own(cut, _) = cut_all(&text, 0..40_000) else { panic!("no text") };
        assert!(cut.len() <= MAX_BYTES && text[cut.len()..].starts_with('\n') && text.starts_with(&cut));
    }

    #[test]
    fn equal_texts_are_kept_once_and_missing_ones_stay_missing() {
        let own = |text: &str| Text::Own(text.into(), String::new());
        let mut texts = vec![own("a"), Text::Gone(()), own("b"), own("a"), Text::Gone(()), own("b")];
        share(&mut texts);
        let gone = Text::Gone(());
        assert_eq!(texts, [own("a"), gone.clone(), own("b"), Text::Same(0), gone, Text::Same(2)]);
        assert_eq!(serde_json::to_string(&texts).unwrap(), r#"[["a",""],null,["b",""],0,null,2]"#);
    }

    #[test]
    fn chunks_hold_all_classes_in_order() {
        let class = |bytes: usize| vec![Text::Own("x".repeat(bytes), String::new())];
        let chunks = divide(vec![class(10), class(CHUNK_BYTES), class(1), class(1)], 7);
        let ranges: Vec<Range<usize>> = chunks.iter().map(|(classes, _)| classes.clone()).collect();
        assert_eq!(ranges, [7..8, 8..11]);
        assert!(chunks.iter().all(|(classes, texts)| classes.len() == texts.len()));
    }
}
