//! Where a text can be cut: its tokens, and the units that have lines of their own. Knows no workspace.

use std::ops::Range;
use std::path::Path;

use dupi_grammars::token::{Code, Lexed, Unit};
use dupi_grammars::{Language, by_path, tokenize};

/// A text with its tokens and units.
pub struct Outline {
    pub language: &'static Language,
    pub text: String,
    pub lexed: Lexed,
}

/// Neighbours of one list that have all their lines for themselves.
#[derive(Clone, Debug)]
pub struct Lines {
    pub list: u32,
    pub unit: Unit,
    /// Whole lines, with their ends.
    pub bytes: Range<usize>,
    /// The blanks before the first token.
    pub indent: String,
}

impl Outline {
    /// None if the text is in no known language, or cannot be tokenized.
    pub fn new(path: &Path, text: &str) -> Option<Outline> {
        let language = by_path(path)?;
        let mut lexed = Lexed::default();
        tokenize(language, text.as_bytes(), &mut lexed).ok()?;
        Some(Outline { language, text: text.to_owned(), lexed })
    }

    /// The bytes of a token.
    pub fn token(&self, at: usize) -> Range<usize> {
        let token = &self.lexed.tokens[at];
        token.start as usize..token.end as usize
    }

    /// The codes of a unit's tokens.
    pub fn shape(&self, unit: &Unit) -> Vec<Code> {
        self.lexed.tokens[unit.start as usize..unit.end as usize].iter().map(|token| token.code).collect()
    }

    fn line_start(&self, offset: usize) -> usize {
        self.text[..offset].rfind('\n').map_or(0, |end| end + 1)
    }

    fn line_end(&self, offset: usize) -> usize {
        self.text[offset..].find('\n').map_or(self.text.len(), |end| offset + end + 1)
    }

    /// All units that have their lines for themselves, but for a separator at the end.
    pub fn lines(&self) -> Vec<Lines> {
        let lines = |unit: &Unit| {
            if unit.end <= unit.start {
                return None;
            }
            let (first, last) = (self.token(unit.start as usize), self.token(unit.end as usize - 1));
            let (start, end) = (self.line_start(first.start), self.line_end(last.end));
            let (before, after) = (&self.text[start..first.start], &self.text[last.end..end]);
            let is_alone = before.trim().is_empty() && ["", ",", ";"].contains(&after.trim()) && after.ends_with('\n');
            let indent = before.to_owned();
            is_alone.then_some(Lines { list: unit.list, unit: *unit, bytes: start..end, indent })
        };
        self.lexed.units.iter().filter_map(lines).collect()
    }

    /// Does a line end that starts at `offset` separate tokens, and nothing else? Not within a literal, a comment or a
    /// line that goes on after a backslash.
    pub fn is_plain_break(&self, offset: usize) -> bool {
        let inside = |range: Range<u32>| (range.start as usize) < offset && offset < range.end as usize;
        !self.text[..offset].trim_end_matches('\r').ends_with('\\')
            && !self.lexed.tokens.iter().any(|token| inside(token.start..token.end))
            && !self.lexed.comments.iter().any(|comment| inside(comment.start..comment.end))
    }

    /// Does the text hold a document of its own up to a word? What lies in it is no code, whatever it looks like.
    pub fn has_here_document(&self) -> bool {
        ["bash", "ruby", "php"].contains(&self.language.name) && self.text.contains("<<")
    }

    /// Does the grammar of the language read all of the text?
    pub fn is_well_formed(&self) -> bool {
        let mut parser = tree_sitter::Parser::new();
        parser.set_language(&(self.language.grammar)()).expect("a grammar of this version");
        parser.parse(&self.text, None).is_some_and(|tree| !tree.root_node().has_error())
    }
}
