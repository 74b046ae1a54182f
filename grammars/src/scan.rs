//! The hands of a fast lexer: a cursor over the bytes of a file with the moves that lexers share.
//! A language's lexer is a loop over [`Scanner`]; it accepts any bytes and never fails.

use crate::alphabet::Alphabet;
use crate::token::{CHARACTER, Code, Comment, IDENTIFIER, Lexed, NUMBER, OTHER, STRING, Token};

/// Which bytes make up names: letters, digits, `_`, and everything outside ASCII.
const NAME: [bool; 256] = name_bytes(b"_");

/// Bytes of names: letters, digits, everything outside ASCII, and some marks.
pub const fn name_bytes(marks: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut i = 0;
    while i < 256 {
        let b = i as u8;
        table[i] = b.is_ascii_alphanumeric() || b >= 0x80;
        i += 1;
    }
    i = 0;
    while i < marks.len() {
        table[marks[i] as usize] = true;
        i += 1;
    }
    table
}

#[inline]
pub fn is_name(b: u8) -> bool {
    NAME[b as usize]
}

/// Returns how many bytes the byte order marks at the start of a text take.
///
/// None of them is a token: an editor removes the first one, and the text that it sends must have the tokens of the file.
pub fn byte_order_marks(src: &[u8]) -> usize {
    const MARK: &[u8] = b"\xEF\xBB\xBF";
    src.chunks(MARK.len()).take_while(|chunk| *chunk == MARK).count() * MARK.len()
}

pub struct Scanner<'a> {
    pub src: &'a [u8],
    pub at: usize,
    /// The line (from 0) that `at` stands on.
    pub line: u32,
    pub alphabet: &'a Alphabet,
    pub out: &'a mut Lexed,
}

impl<'a> Scanner<'a> {
    /// Starts after the byte order marks, if there are any.
    pub fn new(src: &'a [u8], alphabet: &'a Alphabet, out: &'a mut Lexed) -> Scanner<'a> {
        Scanner { src, at: byte_order_marks(src), line: 0, alphabet, out }
    }

    /// The byte `n` places ahead, 0 past the end.
    #[inline]
    pub fn peek(&self, n: usize) -> u8 {
        self.src.get(self.at + n).copied().unwrap_or(0)
    }

    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        &self.src[self.at.min(self.src.len())..]
    }

    #[inline]
    pub fn done(&self) -> bool {
        self.at >= self.src.len()
    }

    /// Skips blanks and line ends.
    #[inline]
    pub fn blanks(&mut self) {
        while let Some(&b) = self.src.get(self.at) {
            match b {
                b'\n' => self.line += 1,
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => {}
                _ => break,
            }
            self.at += 1;
        }
    }

    /// Ends a token that began at `start` on `line` and ends here.
    #[inline]
    pub fn emit(&mut self, code: Code, start: usize, line: u32) {
        self.at = self.at.min(self.src.len());
        self.out.tokens.push(Token { start: start as u32, end: self.at as u32, line, code });
    }

    /// The code of the last token, if there is one.
    #[inline]
    pub fn last(&self) -> Option<Code> {
        self.out.tokens.last().map(|t| t.code)
    }

    /// A comment that runs to the end of the line (which is not part of it).
    pub fn line_comment(&mut self) {
        let start = self.at;
        let len = memchr::memchr(b'\n', self.rest()).unwrap_or(self.src.len() - self.at);
        self.at += len;
        let end = if len > 0 && self.src[self.at - 1] == b'\r' { self.at - 1 } else { self.at };
        self.out.comments.push(Comment { start: start as u32, end: end as u32, line: self.line });
    }

    /// A comment from here through `close`; to the end of the file if it is not there.
    pub fn block_comment(&mut self, open_len: usize, close: &[u8]) {
        let (start, line) = self.pass(open_len, close);
        self.out.comments.push(Comment { start: start as u32, end: self.at as u32, line });
    }

    /// Moves behind the next `close` after an opening of so many bytes, or to the end. Returns where that started.
    fn pass(&mut self, open_len: usize, close: &[u8]) -> (usize, u32) {
        let from = (self.at, self.line);
        let body = &self.src[(self.at + open_len).min(self.src.len())..];
        let end = memchr::memmem::find(body, close).map_or(self.src.len(), |i| self.at + open_len + i + close.len());
        self.to(end);
        from
    }

    /// Moves to `end`, counting the lines passed.
    pub fn to(&mut self, end: usize) {
        let end = end.min(self.src.len());
        self.line += memchr::memchr_iter(b'\n', &self.src[self.at..end]).count() as u32;
        self.at = end;
    }

    /// A name or keyword.
    #[inline]
    pub fn word(&mut self) {
        let start = self.at;
        while self.at < self.src.len() && NAME[self.src[self.at] as usize] {
            self.at += 1;
        }
        let code = self.alphabet.code(&self.src[start..self.at]).unwrap_or(IDENTIFIER);
        self.emit(code, start, self.line);
    }

    /// A number as most languages write it: digits, letters, `_`, a dot that no other follows, a signed exponent.
    pub fn number(&mut self) {
        self.number_with(|after_dot| after_dot != b'.');
    }

    /// The same where what follows a dot decides whether the dot belongs to the number.
    pub fn number_with(&mut self, takes_dot_before: impl Fn(u8) -> bool) {
        let start = self.at;
        let hex = self.peek(0) == b'0' && matches!(self.peek(1), b'x' | b'X');
        while !self.done() {
            let b = self.src[self.at];
            let exponent = if hex { matches!(b, b'p' | b'P') } else { matches!(b, b'e' | b'E') };
            if exponent && matches!(self.peek(1), b'+' | b'-') {
                self.at += 2;
            } else if NAME[b as usize] || (b == b'.' && takes_dot_before(self.peek(1))) {
                self.at += 1;
            } else {
                break;
            }
        }
        self.emit(NUMBER, start, self.line);
    }

    /// A string in `quote`, from its opening quote; a backslash escapes the next byte.
    /// Unless `multiline`, an unescaped line end closes it, so that a missing quote costs one line.
    pub fn quoted(&mut self, quote: u8, multiline: bool) {
        let (start, line) = (self.at, self.line);
        self.at += 1;
        while let Some(&b) = self.src.get(self.at) {
            match b {
                b'\\' => {
                    if self.peek(1) == b'\n' {
                        self.line += 1;
                    }
                    self.at += 1;
                }
                b'\n' if !multiline => break,
                b'\n' => self.line += 1,
                _ if b == quote => {
                    self.at += 1;
                    break;
                }
                _ => {}
            }
            self.at += 1;
        }
        self.emit(if quote == b'\'' { CHARACTER } else { STRING }, start, line);
    }

    /// A string that ends with `close` and knows no escapes; its opening is `open_len` bytes long.
    pub fn raw(&mut self, open_len: usize, close: &[u8]) {
        let (start, line) = self.pass(open_len, close);
        self.emit(STRING, start, line);
    }

    /// The longest operator of the alphabet, else one unknown byte.
    #[inline]
    pub fn operator(&mut self) {
        let start = self.at;
        let (code, len) = self.alphabet.operator(self.rest()).unwrap_or((OTHER, 1));
        self.at += len;
        self.emit(code, start, self.line);
    }
}
