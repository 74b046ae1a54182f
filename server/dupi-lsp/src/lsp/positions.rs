//! From positions as a client counts them to byte offsets, and back. Knows texts and encodings, no documents.

use tower_lsp::ls_types::{Position, PositionEncodingKind, Range};

/// In which units a client counts columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    /// What every client understands.
    #[default]
    Utf16,
    Utf32,
}

impl Encoding {
    /// The one that costs least of those that a client offers; UTF-16 if it offers none.
    pub fn negotiate(offered: Option<&[PositionEncodingKind]>) -> Encoding {
        let offers = |kind: PositionEncodingKind| offered.is_some_and(|offered| offered.contains(&kind));
        if offers(PositionEncodingKind::UTF8) {
            Encoding::Utf8
        } else if offers(PositionEncodingKind::UTF32) && !offers(PositionEncodingKind::UTF16) {
            Encoding::Utf32
        } else {
            Encoding::Utf16
        }
    }

    pub fn kind(self) -> PositionEncodingKind {
        match self {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Utf16 => PositionEncodingKind::UTF16,
            Encoding::Utf32 => PositionEncodingKind::UTF32,
        }
    }

    fn width(self, c: char) -> usize {
        match self {
            Encoding::Utf8 => c.len_utf8(),
            Encoding::Utf16 => c.len_utf16(),
            Encoding::Utf32 => 1,
        }
    }
}

/// Where the lines of a text start. A line ends in `\n`, `\r\n` or a lone `\r`, as the protocol has it.
pub struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
    encoding: Encoding,
}

impl Lines<'_> {
    pub fn new(text: &str, encoding: Encoding) -> Lines<'_> {
        let bytes = text.as_bytes();
        let ends = memchr::memchr2_iter(b'\n', b'\r', bytes)
            .filter(|&i| bytes[i] == b'\n' || bytes.get(i + 1) != Some(&b'\n'))
            .map(|i| i + 1);
        Lines { text, starts: std::iter::once(0).chain(ends).collect(), encoding }
    }

    /// Where a line starts and where its text ends, without what ends the line.
    fn line(&self, line: usize) -> (usize, usize) {
        let start = self.starts[line];
        let end = self.starts.get(line + 1).copied().unwrap_or(self.text.len());
        (start, start + self.text[start..end].trim_end_matches(['\r', '\n']).len())
    }

    /// The text of a line, without what ends it.
    pub fn text(&self, line: u32) -> &str {
        if line as usize >= self.starts.len() {
            return "";
        }
        let (start, end) = self.line(line as usize);
        &self.text[start..end]
    }

    /// The byte offset of a position. Past the line is its end, past the file is its end, and inside a character is its
    /// start: clients count otherwise now and then, and none means to be refused.
    pub fn offset(&self, position: Position) -> usize {
        let line = position.line as usize;
        if line >= self.starts.len() {
            return self.text.len();
        }
        let (start, end) = self.line(line);
        let mut left = position.character as usize;
        for (at, c) in self.text[start..end].char_indices() {
            let width = self.encoding.width(c);
            if left < width {
                return start + at;
            }
            left -= width;
        }
        end
    }

    pub fn position(&self, offset: usize) -> Position {
        let offset = offset.min(self.text.len());
        let line = self.starts.partition_point(|&start| start <= offset) - 1;
        let before = &self.text[self.starts[line]..offset];
        let column: usize = before.chars().map(|c| self.encoding.width(c)).sum();
        Position::new(line as u32, column as u32)
    }

    pub fn range(&self, span: std::ops::Range<usize>) -> Range {
        Range::new(self.position(span.start), self.position(span.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\u{feff}a\r\nb\u{1f600}é\rc\n\nd";

    #[test]
    fn every_position_leads_back_to_its_offset() {
        for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
            let lines = Lines::new(TEXT, encoding);
            let inside_line_end = TEXT.find("\r\n").expect("there is one") + 1;
            for (offset, _) in TEXT.char_indices().filter(|(offset, _)| *offset != inside_line_end) {
                assert_eq!(lines.offset(lines.position(offset)), offset, "{encoding:?}");
            }
        }
    }

    #[test]
    fn what_is_outside_is_clamped() {
        let at = |line, character, encoding| Lines::new(TEXT, encoding).offset(Position::new(line, character));
        let smile = TEXT.find('\u{1f600}').expect("there is one");
        assert_eq!(at(1, 2, Encoding::Utf16), smile, "inside a surrogate pair");
        assert_eq!(at(1, 3, Encoding::Utf8), smile, "inside a character");
        assert_eq!(at(1, 99, Encoding::Utf32), TEXT.find("\rc").expect("there is one"), "past the line");
        assert_eq!(at(99, 0, Encoding::Utf16), TEXT.len(), "past the file");
        assert_eq!(at(u32::MAX, u32::MAX, Encoding::Utf8), TEXT.len());
    }
}
