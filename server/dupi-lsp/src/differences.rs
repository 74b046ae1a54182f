//! What differs between copies, as people read it: a table of texts, one column for each copy.

use std::borrow::Cow;
use std::ops::Range;

use dupi::near;
use dupi_grammars::token::{Lexed, Token};
use dupi_grammars::{Language, tokenize};

/// A copy in its source.
pub struct Excerpt<'a> {
    source: Cow<'a, [u8]>,
    tokens: Vec<Token>,
}

impl<'a> Excerpt<'a> {
    /// None, if the source has not these tokens: it is not the one that they are of.
    pub fn new(source: Cow<'a, [u8]>, language: &Language, tokens: &Range<u32>) -> Option<Excerpt<'a>> {
        let mut lexed = Lexed::default();
        tokenize(language, &source, &mut lexed).ok()?;
        let tokens = lexed.tokens.get(tokens.start as usize..tokens.end as usize)?.to_vec();
        Some(Excerpt { source, tokens })
    }

    /// The text of some tokens on one line.
    fn text(&self, range: &Range<u32>) -> String {
        let tokens = &self.tokens[range.start as usize..range.end as usize];
        let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { return String::new() };
        let text = String::from_utf8_lossy(&self.source[first.start as usize..last.end as usize]);
        text.split_whitespace().collect::<Vec<&str>>().join(" ")
    }
}

/// What differs between copies: for each difference the text of each copy, empty where it has nothing of its own there.
pub fn table(copies: &[&Excerpt]) -> Vec<Vec<String>> {
    let tokens: Vec<near::Tokens> = copies.iter().map(|copy| near::tokens_in(&copy.source, &copy.tokens)).collect();
    let cells = |row: near::Difference| {
        copies.iter().zip(&row.ranges).map(|(copy, range)| copy.text(range)).collect::<Vec<String>>()
    };
    near::differences(&tokens).into_iter().map(cells).collect()
}
