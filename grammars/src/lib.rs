//! The languages: which files are written in them, what their tokens and units are.
//!
//! Each language has one file in `languages/` with its table and, where there is one, its fast lexer.
//! [`tokenize`] is the one way from bytes to tokens: everything that is ever hashed went through it.

// Not every language needs every part of what they share.
#![cfg_attr(not(feature = "all"), allow(dead_code))]

mod alphabet;
pub mod braces;
mod cores;
mod definitions;
mod detect;
#[cfg(test)]
mod fixture;
mod head;
mod languages;
pub mod leaves;
pub mod optional;
mod parsers;
mod scan;
pub mod texts;
pub mod token;

use std::sync::OnceLock;

pub use alphabet::Alphabet;
pub use detect::{by_path, detect};
pub use languages::LANGUAGES;
use leaves::{Leaves, ParseFailure, Syntax};
use optional::Optional;
use token::{Lexed, Token};

/// The version of tokens and units. An index that was made with another one is not read, but made anew.
///
/// Raise it with everything that can make [`tokenize`] or [`detect`] give another answer for some text: a lexer, the table
/// of a language, a language more, another version of a grammar crate or of tree-sitter. A test over frozen sources
/// (`tests/tests/versions.rs`) fails if it was forgotten.
///
/// 1: the first that is numbered.
/// 2: C and C++ pass over comments between `#include` and its path.
/// 3: definitions have cores; members are definitions behind annotations with braces, in records and, if they are
///    functions, in objects; optional commas and semicolons are no tokens;
///    JavaScript and TypeScript pass over comments after a word that may be a name; several byte order marks at the
///    start of a text are no tokens.
/// 4: the words of long strings are tokens.
pub const VERSION: u32 = 4;

/// A fast lexer: tokens without a parse. Accepts any bytes.
pub struct Lexer {
    /// Fills `tokens`, `comments` and `marks`.
    pub lex: fn(&[u8], &mut Lexed),
    /// Fills `units` from what `lex` found.
    pub units: fn(&[u8], &mut Lexed),
    pub alphabet: fn() -> &'static Alphabet,
    /// In what its tokens may differ from the grammar's leaves.
    pub differences: &'static [Difference],
}

/// An accepted kind of difference between a fast lexer's tokens and tree-sitter's leaves.
pub struct Difference {
    pub name: &'static str,
    pub reason: &'static str,
    /// Is a difference at this place of this kind?
    pub applies: fn(&Place) -> bool,
}

/// Where tokens differ: the bytes of the token, and the kinds of the nodes around them, innermost first.
pub struct Place<'a> {
    pub src: &'a [u8],
    pub start: usize,
    pub end: usize,
    pub kinds: &'a [&'a str],
}

impl Place<'_> {
    pub fn text(&self) -> &[u8] {
        &self.src[self.start..self.end]
    }

    /// Does the place lie in a node of this kind?
    pub fn inside(&self, kind: &str) -> bool {
        self.kinds.contains(&kind)
    }
}

/// One language.
pub struct Language {
    /// As the configuration, the flags and the reports call it.
    pub name: &'static str,
    /// Languages of one family have one alphabet, and their files are compared with each other.
    pub family: &'static str,
    /// Without the dot, in lower case unless case matters.
    pub extensions: &'static [&'static str],
    /// Whole file names.
    pub file_names: &'static [&'static str],
    /// Interpreters in a `#!` line.
    pub shebangs: &'static [&'static str],
    pub line_comment: &'static str,
    pub block_comment: Option<(&'static str, &'static str)>,
    pub grammar: fn() -> tree_sitter::Language,
    pub syntax: Syntax,
    pub optional: Optional,
    pub lexer: Option<Lexer>,
    /// Is the unit that starts with these tokens test code?
    pub is_test: fn(&[u8], &[Token]) -> bool,
    /// Filled on first use.
    pub cache: Cache,
}

/// What a language computes once.
pub struct Cache {
    leaves: OnceLock<Leaves>,
    alphabet: OnceLock<Alphabet>,
    roles: definitions::Roles,
}

impl Cache {
    pub const fn new() -> Cache {
        Cache { leaves: OnceLock::new(), alphabet: OnceLock::new(), roles: OnceLock::new() }
    }
}

impl Default for Cache {
    fn default() -> Cache {
        Cache::new()
    }
}

impl Language {
    /// The language's fixed spellings and their codes.
    pub fn alphabet(&self) -> &Alphabet {
        match &self.lexer {
            Some(lexer) => (lexer.alphabet)(),
            None => {
                self.cache.alphabet.get_or_init(|| Alphabet::new(&leaves::spellings(&(self.grammar)(), &self.syntax)))
            }
        }
    }

    fn leaves(&self) -> &Leaves {
        self.cache.leaves.get_or_init(|| Leaves::new(self))
    }
}

/// The language of that name.
pub fn by_name(name: &str) -> Option<&'static Language> {
    LANGUAGES.iter().copied().find(|language| language.name == name)
}

/// Tokens, comments and units of a file: by the fast lexer if the language has one, else by its grammar. Punctuation that
/// means nothing is left out, and long strings are read inside.
pub fn tokenize(language: &Language, src: &[u8], out: &mut Lexed) -> Result<(), ParseFailure> {
    out.clear();
    match &language.lexer {
        Some(lexer) => {
            (lexer.lex)(src, out);
            (lexer.units)(src, out);
        }
        None => leaves::lex(language, src, out)?,
    }
    optional::drop(language, out);
    definitions::mark(language, src, out);
    texts::split(language, src, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found by `tests/fuzz`, seed 60000: an editor removes the first of two marks, and the second one was a token.
    #[test]
    fn byte_order_marks_at_the_start_are_no_tokens() {
        for language in LANGUAGES {
            let comment = language.line_comment;
            let [plain, one, two] = [0, 1, 2].map(|n_marks| {
                let text = format!("{}a {comment} b\n", "\u{feff}".repeat(n_marks));
                let mut lexed = Lexed::default();
                tokenize(language, text.as_bytes(), &mut lexed).expect("tokens");
                let start = |start: u32| i64::from(start) - 3 * n_marks as i64;
                let token = |token: &Token| (token.code, token.line, start(token.start));
                let comments: Vec<i64> = lexed.comments.iter().map(|comment| start(comment.start)).collect();
                (lexed.tokens.iter().map(token).collect::<Vec<_>>(), comments)
            });
            assert!(plain == one && one == two, "{}: {plain:?} {one:?} {two:?}", language.name);
        }
    }
}
