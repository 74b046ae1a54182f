//! What a tokenizer yields: normalized tokens, comments, and the units that the tokens form.
//! Knows no language and reads no file.

/// The normalized class of a token: the first few stand for texts that vary (names, literals),
/// the others each for one spelling of the language's alphabet (a keyword, a bracket, an operator).
pub type Code = u8;

pub const IDENTIFIER: Code = 0;
pub const NUMBER: Code = 1;
pub const STRING: Code = 2;
pub const CHARACTER: Code = 3;
/// Text between tags (JSX), and other free text that is neither name nor literal.
pub const TEXT: Code = 4;
/// Bytes that the language does not know.
pub const OTHER: Code = 5;

/// Codes below this one stand for many texts; from here on a code is one spelling.
pub const FIRST_FIXED: Code = 8;

/// Spellings that every alphabet starts with, so that structure can be read without knowing the language.
pub const PUNCTUATION: [&str; 10] = ["(", ")", "[", "]", "{", "}", ",", ";", ":", "."];
pub const OPEN_PAREN: Code = FIRST_FIXED;
pub const CLOSE_PAREN: Code = FIRST_FIXED + 1;
pub const OPEN_BRACKET: Code = FIRST_FIXED + 2;
pub const CLOSE_BRACKET: Code = FIRST_FIXED + 3;
pub const OPEN_BRACE: Code = FIRST_FIXED + 4;
pub const CLOSE_BRACE: Code = FIRST_FIXED + 5;
pub const COMMA: Code = FIRST_FIXED + 6;
pub const SEMICOLON: Code = FIRST_FIXED + 7;
pub const COLON: Code = FIRST_FIXED + 8;
pub const DOT: Code = FIRST_FIXED + 9;
/// The first code of the language's own spellings.
pub const FIRST_WORD: Code = FIRST_FIXED + PUNCTUATION.len() as Code;

/// Does the text of a token with this code vary (a name or a literal)?
#[inline]
pub const fn varies(code: Code) -> bool {
    code < FIRST_FIXED
}

/// One token: bytes `start..end` of the source, its normalized class, and the line (from 0) on which it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub start: u32,
    pub end: u32,
    pub line: u32,
    pub code: Code,
}

/// A comment: bytes `start..end`, and the line (from 0) on which it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comment {
    pub start: u32,
    pub end: u32,
    pub line: u32,
}

/// A whole syntax piece, as a range of tokens: a statement, a declaration, a member, a clause.
/// Units of one `list` are siblings and stand in order; units come outer before inner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    pub start: u32,
    pub end: u32,
    pub list: u32,
    pub flags: u8,
}

impl Unit {
    /// An import, `use`, `#include`, package line: never counts as duplicated code.
    pub const IMPORT: u8 = 1;
    /// Test code by its syntax (`#[test]`, `@Test`, `describe(…)`).
    pub const TEST: u8 = 2;
    /// Not a neighbour of the sibling before it: no run of units may cross from that one to this.
    pub const BREAK: u8 = 4;
    /// Defines something by itself: a function, a method, a type; not one of its steps.
    pub const DEFINITION: u8 = 8;
    /// The core of the definition around it: the same without its modifiers, annotations and receiver, in a list of its
    /// own.
    pub const CORE: u8 = 16;
}

/// All that a tokenizer says of one file. Reused from file to file to save allocations.
#[derive(Clone, Debug, Default)]
pub struct Lexed {
    pub tokens: Vec<Token>,
    pub comments: Vec<Comment>,
    pub units: Vec<Unit>,
    /// Token indices that a lexer remarks for its own structure rules (C: one past the end of each directive line).
    pub marks: Vec<u32>,
    /// Tokens that a reader of units has found to be optional punctuation; empty once they are gone.
    pub optional: Vec<u32>,
}

impl Lexed {
    pub fn clear(&mut self) {
        self.tokens.clear();
        self.comments.clear();
        self.units.clear();
        self.marks.clear();
        self.optional.clear();
    }
}
