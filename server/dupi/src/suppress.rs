//! Comments that switch the search off: for a file, between two marks, or for the unit that follows.

use std::ops::Range;
use std::sync::LazyLock;

use dupi_grammars::token::{Comment, Lexed};
use memchr::memmem::Finder;

/// What the comments of a file ask for.
#[derive(Debug, PartialEq, Eq)]
pub enum Suppression {
    /// Nothing of the file.
    File,
    /// None of these tokens; the ranges are in order and apart.
    Tokens(Vec<Range<u32>>),
}

#[derive(Clone, Copy)]
enum Mark {
    File,
    Start,
    End,
    Unit,
}

/// What every mark has a part of: a file without any of them has no mark.
static HINTS: LazyLock<[Finder<'static>; 3]> = LazyLock::new(|| [":ignore", "CPD-O", "nolint:"].map(Finder::new));

pub fn read(src: &[u8], lexed: &Lexed) -> Suppression {
    if HINTS.iter().all(|hint| hint.find(src).is_none()) {
        return Suppression::Tokens(Vec::new());
    }
    let mut muted: Vec<Range<u32>> = Vec::new();
    let mut open: Option<u32> = None;
    for comment in &lexed.comments {
        let text = &src[comment.start as usize..comment.end as usize];
        match mark(text) {
            None => {}
            Some(Mark::File) => return Suppression::File,
            Some(Mark::Start) => open = open.or(Some(next_token(lexed, comment))),
            Some(Mark::End) => {
                if let Some(start) = open.take() {
                    muted.push(start..next_token(lexed, comment));
                }
            }
            Some(Mark::Unit) => muted.extend(unit(lexed, comment)),
        }
    }
    if let Some(start) = open {
        muted.push(start..lexed.tokens.len() as u32);
    }
    muted.retain(|range| !range.is_empty());
    muted.sort_by_key(|range| range.start);
    muted.dedup_by(|next, range| {
        let together = next.start <= range.end;
        if together {
            range.end = range.end.max(next.end);
        }
        together
    });
    Suppression::Tokens(muted)
}

/// What a comment says: a mark stands first in one of its lines, behind nothing but signs. Elsewhere it is only spoken of.
fn mark(text: &[u8]) -> Option<Mark> {
    text.split(|&b| b == b'\n').find_map(|line| {
        let start = line.iter().position(|b| b.is_ascii_alphanumeric() || *b == b'`' || *b == b'"')?;
        mark_at(&line[start..])
    })
}

fn mark_at(text: &[u8]) -> Option<Mark> {
    const MARKS: [(&str, Mark); 8] = [
        ("dupi:ignore-file", Mark::File),
        ("dupi:ignore-start", Mark::Start),
        ("dupi:ignore-end", Mark::End),
        ("dupi:ignore", Mark::Unit),
        ("jscpd:ignore-start", Mark::Start),
        ("jscpd:ignore-end", Mark::End),
        ("CPD-OFF", Mark::Start),
        ("CPD-ON", Mark::End),
    ];
    if let Some((_, mark)) = MARKS.iter().find(|(spelling, _)| text.starts_with(spelling.as_bytes())) {
        return Some(*mark);
    }
    let linters = text.strip_prefix(b"nolint:")?.split(|b| b.is_ascii_whitespace() || *b == b'/').next()?;
    linters.split(|&b| b == b',').any(|linter| linter == b"dupl" || linter == b"all").then_some(Mark::Unit)
}

/// The first token after a comment.
fn next_token(lexed: &Lexed, comment: &Comment) -> u32 {
    lexed.tokens.partition_point(|token| token.start < comment.start) as u32
}

/// The unit that a comment is about: the one that starts on its line, if it stands behind code; else the one that follows.
fn unit(lexed: &Lexed, comment: &Comment) -> Option<Range<u32>> {
    let next = next_token(lexed, comment);
    let line_start = lexed.tokens.partition_point(|token| token.line < comment.line) as u32;
    let first = if line_start < next { line_start } else { next };
    // Units come outer before inner: the first that starts here is the largest.
    let at = lexed.units.partition_point(|unit| unit.start < first);
    lexed.units.get(at).filter(|unit| unit.start == first).map(|unit| unit.start..unit.end)
}
