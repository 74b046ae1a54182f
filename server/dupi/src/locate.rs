//! From token ranges back to lines and columns, by reading the files again: only those that are shown, and only once each.
//! What was found can be kept, so that nothing is read for it the next time.
//!
//! ```text
//! file:  the frame of `bytes.rs`, its key a fingerprint of the engine
//! body:  n  n × fingerprint u64 of a file's path, content and copies  n × number of its copies
//!        of each copy, one column after the other: line and column of the start, line and column of the end
//! numbers without a size are LEB128; lines are counted from where the index has them, so they are 0 as a rule
//! ```

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::ops::Range;

use dupi_grammars::token::{Lexed, Token, varies};
use dupi_grammars::tokenize;
use rayon::prelude::*;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::bytes::{Frame, Reader, put};
use crate::class::Class;
use crate::document::{Document, symbol};
use crate::freshness::content;
use crate::regular;
use crate::search::File;
use crate::segment::identity;
use crate::text::{LineIndex, Position};

/// 1: the first.
const FRAME: Frame = Frame { magic: b"dupipls\0", version: 1 };
/// How hard the file is compressed: it is small.
const LEVEL: i32 = 9;

/// Where a copy stands. The end is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub start: Position,
    pub end: Position,
}

impl Place {
    pub fn lines(&self) -> u32 {
        self.end.line - self.start.line + 1
    }
}

/// Line and column of the start and of the end of a copy, lines from those that its class has.
type Offsets = [u32; 4];

/// The places of all copies of all `classes`, in their order.
pub fn locate(files: &[File], classes: &[Class]) -> Vec<Vec<Place>> {
    Places::default().locate(files, &[], classes)
}

/// The same where files hold what `read` says.
pub fn locate_in(
    files: &[File],
    classes: &[Class],
    read: &(dyn Fn(&File) -> Option<Vec<u8>> + Sync),
) -> Vec<Vec<Place>> {
    Places::default().locate_by(files, &[], classes, read)
}

/// The source of a document, read again.
pub struct Text {
    bytes: Vec<u8>,
    lexed: Lexed,
}

impl Text {
    /// None, if the file is not what the document was made of.
    pub fn read(document: &Document) -> Option<Text> {
        let bytes =
            regular::read(&document.path, document.bytes).ok().filter(|bytes| bytes.len() as u64 == document.bytes)?;
        let mut lexed = Lexed::default();
        tokenize(document.language, &bytes, &mut lexed).ok()?;
        let text = Text { bytes, lexed };
        let same = text.lexed.tokens.iter().map(|token| token.code).eq(document.codes.iter().copied());
        let names = text.lexed.tokens.iter().filter(|token| varies(token.code));
        let same = same && names.map(|token| symbol(&text.bytes[span(token)])).eq(document.symbols().iter().copied());
        same.then_some(text)
    }

    pub fn lines(&self) -> LineIndex<'_> {
        LineIndex::new(&self.bytes)
    }

    /// Where some tokens stand, and what they are: one at least. `lines` are its own.
    pub fn of(&self, tokens: Range<u32>, lines: &LineIndex) -> (Place, &[u8]) {
        let (first, last) = (&self.lexed.tokens[tokens.start as usize], &self.lexed.tokens[tokens.end as usize - 1]);
        let bytes = first.start as usize..last.end as usize;
        (Place { start: lines.position(bytes.start), end: lines.position(bytes.end) }, &self.bytes[bytes])
    }
}

fn span(token: &Token) -> Range<usize> {
    token.start as usize..token.end as usize
}

/// Places that were found before.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Places {
    /// By the fingerprint of a file and of its copies.
    known: HashMap<u64, Vec<Offsets>>,
}

/// A copy, and which of which class it is.
struct Wanted {
    start: u32,
    end: u32,
    class: usize,
    copy: usize,
}

impl Places {
    /// The places of all copies of all `classes`, in their order. Files are read unless their places are known by what
    /// they are, if that is known: then exactly these places are known from now on.
    pub fn locate(&mut self, files: &[File], identities: &[u64], classes: &[Class]) -> Vec<Vec<Place>> {
        self.locate_by(files, identities, classes, &|file| regular::read(&file.path, file.bytes).ok())
    }

    fn locate_by(
        &mut self,
        files: &[File],
        identities: &[u64],
        classes: &[Class],
        content: &(dyn Fn(&File) -> Option<Vec<u8>> + Sync),
    ) -> Vec<Vec<Place>> {
        let mut wanted: BTreeMap<u32, Vec<Wanted>> = BTreeMap::new();
        for (i, class) in classes.iter().enumerate() {
            for (j, copy) in class.copies.iter().enumerate() {
                let copies = wanted.entry(copy.document).or_default();
                copies.push(Wanted { start: copy.start, end: copy.end, class: i, copy: j });
            }
        }
        let find = |lexed: &mut Lexed, (document, mut copies): (u32, Vec<Wanted>)| {
            copies.sort_unstable_by_key(|copy| (copy.start, copy.end, copy.class));
            let file = &files[document as usize];
            let identity = identities.get(document as usize).copied();
            let print = identity.map(|identity| fingerprint(identity, &copies));
            let known = print.and_then(|print| self.known.get(&print).cloned());
            let offsets = known.filter(|offsets| offsets.len() == copies.len());
            let offsets = offsets.or_else(|| read(file, &content(file)?, identity, &copies, classes, lexed));
            (print, copies, offsets)
        };
        let found: Vec<_> = wanted.into_par_iter().map_init(Lexed::default, find).collect();
        let nowhere = Place { start: Position { line: 0, column: 0 }, end: Position { line: 0, column: 0 } };
        let mut places: Vec<Vec<Place>> = classes.iter().map(|class| vec![nowhere; class.copies.len()]).collect();
        self.known.clear();
        for (print, copies, offsets) in found {
            for (i, Wanted { class, copy, .. }) in copies.into_iter().enumerate() {
                // If the file changed while it was being looked at, what is known are the lines it had.
                let [line, column, last, end] = offsets.as_ref().map_or([0; 4], |offsets| offsets[i]);
                let lines = &classes[class].at[copy];
                places[class][copy] = Place {
                    start: Position { line: lines.start.wrapping_add(line), column },
                    end: Position { line: (lines.end - 1).wrapping_add(last), column: end },
                };
            }
            if let (Some(print), Some(offsets)) = (print, offsets) {
                self.known.insert(print, offsets);
            }
        }
        places
    }

    pub fn write(&self) -> io::Result<Vec<u8>> {
        let mut known: Vec<(&u64, &Vec<Offsets>)> = self.known.iter().collect();
        known.sort_unstable();
        let mut body = Vec::new();
        put(&mut body, known.len() as u64);
        known.iter().for_each(|(print, _)| body.extend(print.to_le_bytes()));
        known.iter().for_each(|(_, offsets)| put(&mut body, offsets.len() as u64));
        for column in 0..4 {
            known.iter().flat_map(|(_, offsets)| *offsets).for_each(|at| put(&mut body, u64::from(at[column])));
        }
        FRAME.wrap(engine(), &body, LEVEL)
    }

    /// Are these bytes as they were written?
    pub fn is_whole(bytes: &[u8]) -> bool {
        FRAME.open(bytes).is_some()
    }

    /// Nothing, unless these bytes are places of this version and of this engine.
    pub fn read(bytes: &[u8]) -> Option<Places> {
        let (_, body) = FRAME.open(bytes).filter(|(key, _)| *key == engine())?;
        let body = zstd::stream::decode_all(body).ok()?;
        let mut reader = Reader::new(&body);
        let n = reader.count(9)?;
        let prints = (0..n).map(|_| reader.u64()).collect::<Option<Vec<u64>>>()?;
        let counts = (0..n).map(|_| reader.size()).collect::<Option<Vec<usize>>>()?;
        let n_copies = counts.iter().try_fold(0usize, |sum, &n| sum.checked_add(n))?;
        if n_copies.checked_mul(4)? > reader.len() {
            return None;
        }
        let mut all: Vec<Offsets> = vec![[0; 4]; n_copies];
        for column in 0..4 {
            for at in &mut all {
                at[column] = reader.u32()?;
            }
        }
        let mut rest = all.into_iter();
        let known = prints.into_iter().zip(counts).map(|(print, n)| (print, rest.by_ref().take(n).collect())).collect();
        reader.is_empty().then_some(Places { known })
    }
}

fn engine() -> u64 {
    xxh3_64(crate::engine().as_bytes())
}

/// Of a file as it is, and of its copies.
fn fingerprint(identity: u64, copies: &[Wanted]) -> u64 {
    let bytes: Vec<u8> =
        copies.iter().flat_map(|copy| [copy.start, copy.end]).flat_map(|token| token.to_le_bytes()).collect();
    xxh3_64_with_seed(&bytes, identity)
}

/// None, if the file is not what it was.
fn read(
    file: &File,
    bytes: &[u8],
    known: Option<u64>,
    copies: &[Wanted],
    classes: &[Class],
    lexed: &mut Lexed,
) -> Option<Vec<Offsets>> {
    if known.is_some_and(|known| known != identity(&file.shown, content(bytes))) {
        return None;
    }
    tokenize(file.language, bytes, lexed).ok()?;
    let tokens = (lexed.tokens.len() == file.n_tokens as usize).then_some(&lexed.tokens)?;
    let index = LineIndex::new(bytes);
    let offsets = |copy: &Wanted| {
        let start = index.position(tokens[copy.start as usize].start as usize);
        let end = index.position(tokens[copy.end as usize - 1].end as usize);
        let lines = &classes[copy.class].at[copy.copy];
        [start.line.wrapping_sub(lines.start), start.column, end.line.wrapping_sub(lines.end - 1), end.column]
    };
    Some(copies.iter().map(offsets).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    const CODE: &str = "func Sum(list []int) int {\n\ttotal := 0\n\tfor _, n := range list {\n\t\tif n > 3 {\n\t\t\ttotal += n * 2\n\t\t}\n\t\tif n < -3 {\n\t\t\ttotal -= n / 2\n\t\t}\n\t}\n\tprintln(total, len(list), cap(list))\n\treturn total\n}\n";

    #[test]
    fn places_that_are_kept_need_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for (name, before) in [("a.go", "package a\n"), ("b.go", "package b\n\nvar é = 1; ")] {
            std::fs::write(root.join(name), format!("{before}{CODE}")).unwrap();
        }
        let paths = [root.clone()];
        let report = crate::search(&root, &paths, &Settings { threads: 1, ..Settings::default() }, &|_| {}).unwrap();
        let identities: Vec<u64> = report
            .files
            .iter()
            .map(|file| identity(&file.shown, content(&std::fs::read(&file.path).unwrap())))
            .collect();
        let found = locate(&report.files, &report.classes);
        assert_eq!(found.len(), 1);
        let start = |line, column| Position { line, column };
        assert_eq!([found[0][0].start, found[0][1].start], [start(1, 0), start(2, 11)]);

        let mut places = Places::default();
        assert_eq!(places.locate(&report.files, &identities, &report.classes), found);
        let written = places.write().expect("written");
        let mut places = Places::read(&written).unwrap();
        report.files.iter().for_each(|file| std::fs::remove_file(&file.path).unwrap());
        assert_eq!(places.locate(&report.files, &identities, &report.classes), found);

        let other: Vec<u64> = identities.iter().map(|identity| identity + 1).collect();
        let lines = places.locate(&report.files, &other, &report.classes);
        assert_eq!([lines[0][0].start, lines[0][1].start], [start(1, 0), start(2, 0)], "only the lines are known");
        assert_eq!(places, Places::default(), "what is not known is not kept");

        for i in 0..written.len() {
            assert_eq!(Places::read(&written[..i]), None);
            let mut flipped = written.clone();
            flipped[i] ^= 0x40;
            assert_eq!(Places::read(&flipped), None);
        }
    }
}
