//! Python: table, fast lexer, structure by indentation.
//!
//! An f-string is one token with all that stands between its braces, as deep as its quotes nest.
//! Soft keywords (`match`, `case`, `type`, `print`, …) are names, wherever they stand.

use std::sync::LazyLock;

use crate::alphabet::{Alphabet, word};
use crate::head::starts_with_word;
use crate::leaves::Syntax;
use crate::optional::{Commas, Optional, Semicolons};
use crate::scan::{Scanner, is_name};
use crate::token::{
    CLOSE_BRACE, CLOSE_BRACKET, CLOSE_PAREN, COLON, COMMA, Code, DOT, IDENTIFIER, Lexed, NUMBER, OPEN_BRACE,
    OPEN_BRACKET, OPEN_PAREN, SEMICOLON, STRING, Token, Unit,
};
use crate::{Cache, Language, Lexer, parsers};

pub static PYTHON: Language = Language {
    name: "python",
    family: "python",
    extensions: &["py", "pyi", "pyw"],
    file_names: &["SConstruct", "SConscript", "wscript"],
    shebangs: &["python", "pypy"],
    line_comment: "#",
    block_comment: None,
    grammar: parsers::python,
    syntax: Syntax {
        // Names are no atoms: `async` and `await` may be names, and go by their spelling on both sides.
        atoms: &[("string", STRING), ("integer", NUMBER), ("float", NUMBER)],
        // A backslash before a line end is a node of its own, and no token.
        comments: &["comment", "line_continuation"],
        lists: &["module", "block"],
        imports: &["import_statement", "import_from_statement", "future_import_statement"],
        // `from ...a import b`, where the dots are three leaves, against `x[...]`.
        splits: &[("...", &[".", ".", "."])],
    },
    optional: Optional { commas: Commas::NotInTuples, semicolons: Semicolons::NotIn("(") },
    lexer: Some(Lexer { lex, units, alphabet, differences: &[] }),
    is_test,
    cache: Cache::new(),
};

#[rustfmt::skip]
const WORDS: &[&str] = &[
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
    "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise",
    "return", "try", "while", "with", "yield", "+", "-", "*", "**", "/", "//", "%", "@", "<<", ">>", "&", "|", "^",
    "~", ":=", "<", ">", "<=", ">=", "==", "!=", "<>", "->", "=", "+=", "-=", "*=", "/=", "//=", "%=", "@=", "&=",
    "|=", "^=", ">>=", "<<=", "**=",
];

fn alphabet() -> &'static Alphabet {
    static ALPHABET: LazyLock<Alphabet> = LazyLock::new(|| Alphabet::new(WORDS));
    &ALPHABET
}

/// Marks the first token of each logical line: one that no open bracket and no backslash ties to the line before.
fn lex(src: &[u8], out: &mut Lexed) {
    let mut s = Scanner::new(src, alphabet(), out);
    let mut strings = Strings::default();
    let mut depth = 0u32;
    // The next token is the first one on its line.
    let mut first = true;
    // The next token is the first one of a logical line.
    let mut fresh = true;
    while let Some(&b) = s.src.get(s.at) {
        match b {
            b' ' | b'\t' | b'\r' | 0x0b | 0x0c => {
                s.at += 1;
                while s.src.get(s.at) == Some(&b' ') {
                    s.at += 1;
                }
                continue;
            }
            b'\n' => {
                s.at += 1;
                s.line += 1;
                first = true;
                fresh |= depth == 0;
                continue;
            }
            b'#' => {
                s.line_comment();
                continue;
            }
            b'\\' if continuation(&s) > 0 => {
                let end = s.at + continuation(&s);
                s.to(end);
                continue;
            }
            _ => {}
        }
        let index = s.out.tokens.len() as u32;
        match b {
            b'"' | b'\'' | b'`' => strings.string(&mut s, 0),
            b'0'..=b'9' => number(&mut s),
            b'.' if s.peek(1).is_ascii_digit() => number(&mut s),
            _ if is_name(b) => match prefix(s.rest()) {
                0 => name(&mut s),
                len => strings.string(&mut s, len),
            },
            b'(' | b'[' | b'{' => {
                depth += 1;
                s.at += 1;
                s.emit(alone(b), s.at - 1, s.line);
            }
            b')' | b']' | b'}' => {
                depth = depth.saturating_sub(1);
                s.at += 1;
                s.emit(alone(b), s.at - 1, s.line);
            }
            b',' | b'.' => {
                s.at += 1;
                s.emit(alone(b), s.at - 1, s.line);
            }
            _ => s.operator(),
        }
        // A line that starts with one of these is no part of an expression: a bracket was left open above.
        if depth > 0 && first && s.last().is_some_and(|code| STATEMENT_ONLY.contains(&code)) {
            depth = 0;
            fresh = true;
        }
        if fresh {
            s.out.marks.push(index);
        }
        (first, fresh) = (false, false);
    }
}

const STATEMENT_ONLY: [Code; 14] = [
    word!("assert"),
    word!("break"),
    word!("class"),
    word!("continue"),
    word!("def"),
    word!("del"),
    word!("except"),
    word!("finally"),
    word!("import"),
    word!("pass"),
    word!("raise"),
    word!("return"),
    word!("try"),
    word!("while"),
];

/// The code of a mark that is never part of a longer one, which saves the search for the longest.
#[inline]
fn alone(b: u8) -> Code {
    match b {
        b'(' => OPEN_PAREN,
        b')' => CLOSE_PAREN,
        b'[' => OPEN_BRACKET,
        b']' => CLOSE_BRACKET,
        b'{' => OPEN_BRACE,
        b'}' => CLOSE_BRACE,
        b',' => COMMA,
        _ => DOT,
    }
}

/// A name or keyword. Most names are known to be no keyword by their length or first letter.
#[inline]
fn name(s: &mut Scanner) {
    /// `continue`, `nonlocal`.
    const LONGEST: usize = 8;
    let start = s.at;
    let len = s.rest().iter().take_while(|&&b| is_name(b)).count();
    s.at += len;
    let text = &s.src[start..s.at];
    let maybe = len > 1 && len <= LONGEST && text[0].is_ascii_lowercase();
    let code = if maybe { s.alphabet.code(text).unwrap_or(IDENTIFIER) } else { IDENTIFIER };
    s.emit(code, start, s.line);
}

/// How many bytes from the backslash through the line end right behind it; 0 if there is none.
fn continuation(s: &Scanner) -> usize {
    match (s.peek(1), s.peek(2)) {
        (b'\n', _) => 2,
        (b'\r', b'\n') => 3,
        _ if s.at + 1 >= s.src.len() => 1,
        _ => 0,
    }
}

/// How long the prefix of the string at the start of `rest` is; 0 if there is no prefix or no string.
#[inline]
fn prefix(rest: &[u8]) -> usize {
    let quote = |i: usize| matches!(rest.get(i), Some(b'"' | b'\''));
    match rest[0] {
        _ if !is_prefix(rest[0]) => 0,
        _ if quote(1) => 1,
        _ if quote(2) && is_prefix(rest[1]) => 2,
        _ => 0,
    }
}

#[inline]
fn is_prefix(b: u8) -> bool {
    matches!(b | 0x20, b'r' | b'b' | b'u' | b'f' | b't')
}

/// Stricter than most languages' numbers: in `1if x else 2` the number ends before the `if`.
fn number(s: &mut Scanner) {
    let start = s.at;
    let radix: fn(u8) -> bool = match (s.peek(0), s.peek(1) | 0x20) {
        (b'0', b'x') => |b| b.is_ascii_hexdigit(),
        (b'0', b'o' | b'b') => |b| b.is_ascii_digit(),
        _ => |_| false,
    };
    let after = if s.peek(2) == b'_' { 3 } else { 2 };
    if radix(s.peek(after)) {
        s.at += after;
        digits(s, radix);
        if matches!(s.peek(0), b'l' | b'L') {
            s.at += 1;
        }
    } else {
        let decimal = |b: u8| b.is_ascii_digit();
        digits(s, decimal);
        if s.peek(0) == b'.' {
            s.at += 1;
            if s.peek(0) != b'_' {
                digits(s, decimal);
            }
        }
        let sign = matches!(s.peek(1), b'+' | b'-') as usize;
        if matches!(s.peek(0), b'e' | b'E') && s.peek(1 + sign).is_ascii_digit() {
            s.at += 1 + sign;
            digits(s, decimal);
        }
        if matches!(s.peek(0), b'l' | b'L' | b'j' | b'J') {
            s.at += 1;
        }
    }
    s.emit(NUMBER, start, s.line);
}

fn digits(s: &mut Scanner, is_digit: impl Fn(u8) -> bool) {
    while is_digit(s.peek(0)) || (s.peek(0) == b'_' && is_digit(s.peek(1))) {
        s.at += 1;
    }
}

/// Where a string, or an f-string's part, is being read.
#[derive(Clone, Copy)]
enum Part {
    /// Between the quotes.
    Text { quote: u8, triple: bool, raw: bool, format: bool },
    /// In braces, with so many brackets open within.
    Field { depth: u32 },
    /// After the colon of a field.
    Spec,
}

/// The strings of a file.
#[derive(Default)]
struct Strings {
    /// What is open in the string at hand, outermost first.
    open: Vec<Part>,
    /// Some f-string of the file never closed: from there on fields are plain text,
    /// so that nothing is read more than twice.
    plain: bool,
}

impl Strings {
    /// The string at hand, whose quote stands `prefix` bytes ahead.
    fn string(&mut self, s: &mut Scanner, prefix: usize) {
        let (start, line) = (s.at, s.line);
        let part = opening(s.src, start + prefix, prefix);
        let Part::Text { quote, triple, format, .. } = part else { return };
        let body = start + prefix + if triple { 3 } else { 1 };
        let nested = if format && !self.plain { self.nested(s.src, body, part) } else { None };
        self.plain |= format && nested.is_none();
        let end = nested.unwrap_or_else(|| text(s.src, body, quote, triple));
        s.to(end);
        s.emit(STRING, start, line);
    }

    /// The end of an f-string whose text starts at `at`; `None` if a line end or the file's end cuts something in it.
    fn nested(&mut self, src: &[u8], mut at: usize, outer: Part) -> Option<usize> {
        self.open.clear();
        self.open.push(outer);
        while let (Some(&b), Some(part)) = (src.get(at), self.open.last_mut()) {
            let next = src.get(at + 1).copied().unwrap_or(0);
            match part {
                Part::Text { quote, triple, raw, format } => match b {
                    b'\\' if *format && next == b'{' => {} // no escape: the brace counts
                    b'\\' if !*raw && next == b'N' && src.get(at + 2) == Some(&b'{') => at += 2,
                    b'\\' => at += 1,
                    b'\n' if !*triple => return (self.open.len() == 1).then_some(at),
                    b'{' if *format && next == b'{' => at += 1,
                    b'{' if *format => self.open.push(Part::Field { depth: 0 }),
                    _ if b == *quote && (!*triple || src[at..].starts_with(&[b, b, b])) => {
                        at += if *triple { 2 } else { 0 };
                        self.open.pop();
                        if self.open.is_empty() {
                            return Some(at + 1);
                        }
                    }
                    _ => {}
                },
                Part::Field { depth } => match b {
                    b'(' | b'[' | b'{' => *depth += 1,
                    b'}' if *depth == 0 => {
                        self.open.pop();
                    }
                    b')' | b']' | b'}' => *depth = depth.saturating_sub(1),
                    b':' if *depth == 0 => *part = Part::Spec,
                    b'"' | b'\'' => {
                        let len = src[..at].iter().rev().take(3).take_while(|&&b| is_name(b)).count();
                        let letters = &src[at - len..at];
                        let len = if len <= 2 && letters.iter().all(|&b| is_prefix(b)) { len } else { 0 };
                        let inner = opening(src, at, len);
                        at += if matches!(inner, Part::Text { triple: true, .. }) { 2 } else { 0 };
                        self.open.push(inner);
                    }
                    b'#' => at += memchr::memchr(b'\n', &src[at..]).unwrap_or(src.len() - at),
                    _ => {}
                },
                Part::Spec => match b {
                    b'{' => self.open.push(Part::Field { depth: 0 }),
                    b'}' => {
                        self.open.pop();
                    }
                    _ => {}
                },
            }
            at += 1;
        }
        None
    }
}

/// The string whose quote stands at `at`, behind a prefix of `prefix` bytes.
fn opening(src: &[u8], at: usize, prefix: usize) -> Part {
    let has = |letters: [u8; 2]| src[at - prefix..at].iter().any(|b| letters.contains(&(b | 0x20)));
    let quote = src[at];
    Part::Text {
        quote,
        triple: quote != b'`' && src[at..].starts_with(&[quote; 3]),
        raw: has([b'r', b'r']),
        format: has([b'f', b't']),
    }
}

/// The end of a string whose text starts at `at` and has no fields.
fn text(src: &[u8], mut at: usize, quote: u8, triple: bool) -> usize {
    while at < src.len() {
        let found = if triple {
            memchr::memchr2(quote, b'\\', &src[at..])
        } else {
            memchr::memchr3(quote, b'\\', b'\n', &src[at..])
        };
        let Some(found) = found else { break };
        at += found;
        match src[at] {
            b'\\' if src[at + 1..].starts_with(b"\r\n") => at += 3,
            b'\\' => at += 2,
            b'\n' => return at,
            _ if !triple => return at + 1,
            _ if src[at..].starts_with(&[quote; 3]) => return at + 3,
            _ => at += 1,
        }
    }
    src.len()
}

/// A block of statements, known by how far it is indented.
struct Block {
    column: usize,
    list: u32,
    /// The clauses of a `match`.
    cases: bool,
    /// A compound statement whose end is not yet seen: its place in `Lexed::units`.
    open: Option<usize>,
    /// The open unit is so far decorators only.
    decorated: bool,
}

/// What a logical line starts.
#[derive(PartialEq, Eq)]
enum Head {
    Simple,
    Compound,
    /// A clause that carries on the statement above: `else`, `except`, …
    Clause,
    Match,
    Decorator,
}

fn units(src: &[u8], out: &mut Lexed) {
    let Lexed { tokens, units, marks, .. } = out;
    let mut reader = Reader { src, tokens, units, n_lists: 1 };
    let mut blocks = vec![Block { column: 0, list: 0, cases: false, open: None, decorated: false }];
    // What kind of block the line before has opened, if any.
    let mut expected = None;
    for (i, &start) in marks.iter().enumerate() {
        let start = start as usize;
        let end = marks.get(i + 1).map_or(tokens.len(), |&next| next as usize);
        let column = column(src, tokens[start].start as usize);
        while blocks.len() > 1 && blocks.last().is_some_and(|block| column < block.column) {
            let block = blocks.pop().expect("the file's own block stays");
            reader.close(block.open, start);
        }
        let block = blocks.last().expect("the file's own block stays");
        if let Some(cases) = expected.take()
            && column > block.column
        {
            let list = reader.list();
            blocks.push(Block { column, list, cases, open: None, decorated: false });
        }
        let block = blocks.last_mut().expect("the file's own block stays");
        let head = reader.head(start, end, block.cases);
        let carries_on = block.open.is_some() && (head == Head::Clause || block.decorated);
        if !carries_on {
            reader.close(block.open.take(), start);
        }
        block.decorated = head == Head::Decorator;
        if head == Head::Simple && !carries_on {
            reader.statements(start, end, block.list);
            continue;
        }
        if block.open.is_none() {
            block.open = Some(reader.start(start, block.list));
        }
        if matches!(head, Head::Simple | Head::Decorator) {
            continue;
        }
        let body = reader.colon(start, end).map_or(end, |colon| colon + 1);
        if body < end {
            let list = reader.list();
            reader.statements(body, end, list);
        } else {
            expected = Some(head == Head::Match);
        }
    }
    for block in blocks.iter().rev() {
        reader.close(block.open, tokens.len());
    }
}

/// How far the line that starts with the byte `at` is indented.
fn column(src: &[u8], at: usize) -> usize {
    let blanks = src[..at].iter().rev().take_while(|b| matches!(b, b' ' | b'\t' | 0x0c | b'\r')).count();
    src[at - blanks..at].iter().fold(0, |column, b| match b {
        b' ' => column + 1,
        b'\t' => column / 8 * 8 + 8,
        _ => 0,
    })
}

struct Reader<'a> {
    src: &'a [u8],
    tokens: &'a [Token],
    units: &'a mut Vec<Unit>,
    n_lists: u32,
}

impl Reader<'_> {
    fn list(&mut self) -> u32 {
        self.n_lists += 1;
        self.n_lists - 1
    }

    fn start(&mut self, start: usize, list: u32) -> usize {
        self.units.push(Unit { start: start as u32, end: 0, list, flags: 0 });
        self.units.len() - 1
    }

    fn close(&mut self, slot: Option<usize>, end: usize) {
        let Some(unit) = slot.map(|slot| &mut self.units[slot]) else { return };
        unit.end = end as u32;
        unit.flags = flags(self.src, &self.tokens[unit.start as usize..end]);
    }

    /// Simple statements with semicolons between them.
    fn statements(&mut self, start: usize, end: usize, list: u32) {
        let mut first = start;
        for at in start..=end {
            if at < end && self.tokens[at].code != SEMICOLON {
                continue;
            }
            if first < at {
                let slot = self.start(first, list);
                self.close(Some(slot), at);
            }
            first = at + 1;
        }
    }

    fn code(&self, at: usize, end: usize) -> Option<Code> {
        if at < end { Some(self.tokens[at].code) } else { None }
    }

    fn head(&self, start: usize, end: usize, cases: bool) -> Head {
        const COMPOUND: [Code; 7] =
            [word!("if"), word!("for"), word!("while"), word!("try"), word!("with"), word!("def"), word!("class")];
        const CLAUSES: [Code; 4] = [word!("elif"), word!("else"), word!("except"), word!("finally")];
        let code = self.tokens[start].code;
        let text = || &self.src[self.tokens[start].start as usize..self.tokens[start].end as usize];
        match code {
            _ if COMPOUND.contains(&code) => Head::Compound,
            _ if CLAUSES.contains(&code) => Head::Clause,
            _ if code == word!("@") => Head::Decorator,
            _ if code == word!("async") && self.code(start + 1, end).is_some_and(|c| COMPOUND.contains(&c)) => {
                Head::Compound
            }
            IDENTIFIER if cases && text() == b"case" => Head::Compound,
            // No other statement that starts with a name ends with a colon.
            IDENTIFIER if end - start > 2 && self.tokens[end - 1].code == COLON && text() == b"match" => Head::Match,
            _ => Head::Simple,
        }
    }

    /// The colon that ends the head of the compound statement `start..end`.
    fn colon(&self, start: usize, end: usize) -> Option<usize> {
        let (mut depth, mut lambdas) = (0usize, 0usize);
        for at in start..end {
            match self.tokens[at].code {
                OPEN_PAREN | OPEN_BRACKET | OPEN_BRACE => depth += 1,
                CLOSE_PAREN | CLOSE_BRACKET | CLOSE_BRACE => depth = depth.saturating_sub(1),
                _ if depth > 0 => {}
                COLON if lambdas == 0 => return Some(at),
                COLON => lambdas -= 1,
                code if code == word!("lambda") => lambdas += 1,
                _ => {}
            }
        }
        None
    }
}

fn flags(src: &[u8], tokens: &[Token]) -> u8 {
    match tokens.first() {
        Some(t) if t.code == word!("import") || t.code == word!("from") => Unit::IMPORT,
        _ if is_test(src, tokens) => Unit::TEST,
        _ => 0,
    }
}

/// `def test_…`, `class Test…`, and classes that inherit from some `…TestCase`; behind decorators, too.
fn is_test(src: &[u8], tokens: &[Token]) -> bool {
    /// How many tokens of a class's head are looked at for its bases.
    const BASES: usize = 16;
    let Some(first) = tokens.first() else { return false };
    let is_definition = |code: Code| code == word!("def") || code == word!("class");
    let definition = match first.code {
        code if is_definition(code) => 0,
        code if code == word!("async") => 1,
        code if code == word!("@") => match tokens.iter().position(|t| is_definition(t.code)) {
            Some(at) => at,
            None => return false,
        },
        _ => return false,
    };
    let text = |t: &Token| &src[t.start as usize..t.end as usize];
    let (Some(keyword), Some(name)) = (tokens.get(definition), tokens.get(definition + 1)) else { return false };
    if keyword.code == word!("def") {
        return starts_with_word(text(name), "test");
    }
    keyword.code == word!("class")
        && (starts_with_word(text(name), "Test")
            || tokens[definition + 2..]
                .iter()
                .take(BASES)
                .take_while(|t| t.code != COLON)
                .any(|t| t.code == IDENTIFIER && text(t).ends_with(b"TestCase")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn tokens(src: &str) -> String {
        fixture::tokens(&PYTHON, src)
    }

    fn unit_texts(src: &str) -> Vec<String> {
        fixture::units(&PYTHON, src)
    }

    #[test]
    fn an_f_string_is_one_token_however_its_quotes_nest() {
        assert_eq!(tokens(r#"f'{a['x']:>{w!r}}' + 1"#), r#"s:f'{a['x']:>{w!r}}' + n:1"#);
        assert_eq!(tokens(r#"f"{f"{1:{'}'}}"}" x"#), r#"s:f"{f"{1:{'}'}}"}" i:x"#);
        assert_eq!(tokens(r#"rf"\{x["}"]}\"" x"#), r#"s:rf"\{x["}"]}\"" i:x"#);
        assert_eq!(tokens(r#"f"{{" f"\N{LEFT {}" x"#), r#"s:f"{{" s:f"\N{LEFT {}" i:x"#);
        assert_eq!(tokens("f\"{x #\"}\n}\" x"), "s:f\"{x #\"}\n}\" i:x");
    }

    #[test]
    fn prefixes_belong_to_strings_and_names_do_not() {
        assert_eq!(tokens(r#"Rb'\'' U"" not'a' print"b""#), r#"s:Rb'\'' s:U"" not s:'a' i:print s:"b""#);
        assert_eq!(tokens("'''a'\n''b\\'''' c"), "s:'''a'\n''b\\'''' i:c");
        assert_eq!(tokens("b'''x''' ''''''y"), "s:b'''x''' s:'''''' i:y");
    }

    #[test]
    fn a_missing_quote_costs_one_line() {
        assert_eq!(tokens("a = 'b\nc = f'{d\ne"), "i:a = s:'b i:c = s:f'{d i:e");
    }

    #[test]
    fn a_number_ends_where_a_keyword_starts() {
        assert_eq!(
            tokens("1if x else 0x_fFL 1_0.e-3j 5..real .5 0b1or 1e"),
            "n:1 if i:x else n:0x_fFL n:1_0.e-3j n:5. . i:real n:.5 n:0b1 or n:1 i:e"
        );
    }

    #[test]
    fn clauses_and_decorators_belong_to_their_statement() {
        assert_eq!(
            unit_texts("if a: b; c\nelif d:\n  e\nelse: f\n@g(h)\n@i\nasync def j(): pass\nk"),
            [
                "0:if a: b; c elif d: e else: f",
                "1:b",
                "1:c",
                "2:e",
                "3:f",
                "0:@g(h) @i async def j(): pass",
                "4:pass",
                "0:k"
            ]
        );
        assert_eq!(
            unit_texts("try:\n\ta\nexcept B:\n\tc\nfinally:\n\td\n"),
            ["0:try: a except B: c finally: d", "1:a", "2:c", "3:d"]
        );
    }

    #[test]
    fn the_head_ends_at_its_own_colon() {
        assert_eq!(
            unit_texts("while f(lambda: {1: 2})[3:4] or (lambda x: x): a;\nfor x in lambda: b, c: d"),
            ["0:while f(lambda: {1: 2})[3:4] or (lambda x: x): a", "1:a", "0:for x in lambda: b, c: d", "2:d"]
        );
    }

    #[test]
    fn match_is_a_statement_only_where_it_has_clauses() {
        assert_eq!(
            unit_texts("match (x):\n case {1: a}: b\n case _:\n  match: int = 1\n  case = 2\nmatch(x)"),
            [
                "0:match (x): case {1: a}: b case _: match: int = 1 case = 2",
                "1:case {1: a}: b",
                "2:b",
                "1:case _: match: int = 1 case = 2",
                "3:match: int = 1",
                "3:case = 2",
                "0:match(x)"
            ]
        );
    }

    #[test]
    fn brackets_and_backslashes_carry_a_line_on() {
        assert_eq!(unit_texts("a = (1,\nb)\nc = \\\n  d\n"), ["0:a = (1, b)", "0:c = \\ d"]);
        assert_eq!(unit_texts("a = (1,\ndef b():\n  c\n"), ["0:a = (1,", "0:def b(): c", "1:c"]);
    }

    #[test]
    fn imports_and_tests_are_flagged() {
        assert_eq!(
            unit_texts("from . import a\n@b\ndef test_c(): d\nclass E(f.TestCase): g\ndef testing(): h"),
            [
                "0:<from . import a",
                "0:!@b def test_c(): d",
                "1:d",
                "0:!class E(f.TestCase): g",
                "2:g",
                "0:def testing(): h",
                "3:h"
            ]
        );
    }

    #[test]
    fn any_prefix_of_a_file_is_read() {
        let src = "\u{feff}@a\ndef b(c, *d): return f'{e['f']:{g}}' '''\\''' \\\n + 0x1F # h\n\
                   if x:\n\ty = (\n  z]\n else: rb\"\\\"\" `i`; \0 é = 1.5e-3 ? $\n  f'''{'\n";
        for end in 0..=src.len() {
            let mut out = Lexed::default();
            crate::tokenize(&PYTHON, &src.as_bytes()[..end], &mut out).expect("a lexer never fails");
            assert!(out.tokens.windows(2).all(|pair| pair[0].end <= pair[1].start && pair[0].line <= pair[1].line));
            assert!(out.tokens.iter().all(|t| t.start < t.end && t.end as usize <= end));
            assert!(out.units.iter().all(|unit| unit.start < unit.end && unit.end as usize <= out.tokens.len()));
        }
    }

    #[test]
    fn hostile_files_take_linear_time() {
        for piece in ["f\"{'", "f'{", "[", "if x:\n ", "@a\n", "'''", "f'''{f'''{", "lambda:", "\\\n"] {
            fixture::lexed(&PYTHON, &piece.repeat(200_000));
        }
        let steps: String = (0..2_000).map(|i| format!("{}if x:\n", " ".repeat(i))).collect();
        let deepest = fixture::lexed(&PYTHON, &steps).units.len();
        assert!(deepest > 50 && deepest < 2_000, "what nobody can read is no unit: {deepest}");
    }
}
