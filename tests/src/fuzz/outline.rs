//! Where a text can be cut: its tokens, and the units that have lines of their own. Knows no workspace.

use std::ops::Range;
use std::path::Path;

use dupi_grammars::token::{Lexed, Unit};
use dupi_grammars::{Language, by_path, tokenize};

use crate::planting::is_within_text;

/// Words that begin a part to which all that follows belongs: to insert something beside one changes what a copy is.
const CLAUSES: [&str; 11] =
    ["case", "catch", "default", "elif", "else", "elsif", "ensure", "except", "finally", "rescue", "when"];

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

    /// Is a unit of a list a clause? What is inserted behind it may become part of it.
    pub fn has_clause(&self, list: u32) -> bool {
        let is_clause = |unit: &Unit| CLAUSES.contains(&&self.text[self.token(unit.start as usize)]);
        self.lexed.units.iter().any(|unit| unit.list == list && unit.end > unit.start && is_clause(unit))
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
            // Behind the decorators of a function nothing else can stand.
            if unit.end <= unit.start || unit.flags & Unit::CORE != 0 {
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
            && !is_within_text(&self.lexed.tokens, offset)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Found by seed 50453: a function that is inserted before the second `rescue` becomes part of the first one.
    #[test]
    fn a_list_with_a_clause_is_known_by_any_of_its_units() {
        let text = "def a\n  b\nrescue C\n  d\nrescue E\n  f\nend\n";
        let outline = Outline::new(Path::new("a.rb"), text).expect("Ruby");
        let has_clause = |of: &str| {
            let starts = |lines: &&Lines| outline.text[lines.bytes.clone()].starts_with(of);
            outline.has_clause(outline.lines().iter().find(starts).expect("a unit").list)
        };
        assert!(has_clause("  b") && has_clause("rescue E"));
        assert!(!has_clause("  d") && !has_clause("def"));
    }
}
