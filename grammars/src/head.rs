//! The head of a unit: the first few tokens, read for what they say of the whole.
//! Works on texts, not codes, so that languages without an alphabet of their own can ask the same questions.

use crate::token::{STRING, Token};

/// How many tokens a head has at most: whatever is asked of a unit must not cost more when the unit is long.
const LONGEST: usize = 64;

pub struct Head<'a> {
    src: &'a [u8],
    tokens: &'a [Token],
}

impl<'a> Head<'a> {
    pub fn new(src: &'a [u8], tokens: &'a [Token]) -> Head<'a> {
        Head { src, tokens: &tokens[..tokens.len().min(LONGEST)] }
    }

    /// The text of a token of the head, empty past its end.
    pub fn text(&self, i: usize) -> &'a [u8] {
        self.tokens.get(i).map_or(&[], |t| &self.src[t.start as usize..t.end as usize])
    }

    pub fn is(&self, i: usize, names: &[&str]) -> bool {
        let text = self.text(i);
        names.iter().any(|name| name.as_bytes() == text)
    }

    pub fn is_string(&self, i: usize) -> bool {
        self.tokens.get(i).is_some_and(|t| t.code == STRING)
    }

    /// Does the unit start with annotations (`@a.Name(…)`) one of which has one of these names?
    /// A grammar may make the at sign a token of its own, or not.
    pub fn annotated(&self, names: &[&str]) -> bool {
        let mut at = 0;
        while let Some(rest) = self.text(at).strip_prefix(b"@") {
            let mut last = if rest.is_empty() { self.text(at + 1) } else { rest };
            at += if rest.is_empty() { 2 } else { 1 };
            while self.is(at, &["."]) || self.is(at, &[":"]) {
                last = self.text(at + 1);
                at += 2;
            }
            if names.iter().any(|name| name.as_bytes() == last) {
                return true;
            }
            at = self.behind_parentheses(at);
        }
        false
    }

    fn behind_parentheses(&self, mut at: usize) -> usize {
        let mut depth = 0usize;
        loop {
            match self.text(at) {
                b"(" => depth += 1,
                b")" => depth = depth.saturating_sub(1),
                b"" => return at,
                _ if depth == 0 => return at,
                _ => {}
            }
            at += 1;
            if depth == 0 {
                return at;
            }
        }
    }

    /// Does the unit call one of these names, with parentheses or a string right behind the name?
    pub fn calls(&self, names: &[&str]) -> bool {
        self.is(0, names) && (self.is(1, &["("]) || self.is_string(1))
    }

    /// The name behind the first of these keywords.
    pub fn declared(&self, keyword: &str) -> Option<&'a [u8]> {
        let at =
            (0..self.tokens.len()).take_while(|&at| !self.is(at, &["{", "="])).find(|&at| self.is(at, &[keyword]))?;
        Some(self.text(at + 1))
    }

    /// Does a name that ends with one of these endings stand between `keyword` and the next `{`?
    pub fn inherits(&self, keyword: &str, endings: &[&str]) -> bool {
        let ends = |at: usize| endings.iter().any(|ending| self.text(at).ends_with(ending.as_bytes()));
        let mut at = (0..self.tokens.len()).skip_while(|&at| !self.is(at, &[keyword])).skip(1);
        at.by_ref().take_while(|&at| !self.is(at, &["{"])).any(ends)
    }
}

/// Is `name` the word `prefix`, or does it go on with another word (`test_that`, `testThat`, `test2`)?
pub fn starts_with_word(name: &[u8], prefix: &str) -> bool {
    name.strip_prefix(prefix.as_bytes()).is_some_and(|rest| rest.first().is_none_or(|b| !b.is_ascii_lowercase()))
}
