//! What JavaScript, TypeScript and TSX share: the alphabet, the fast lexer, what is test code.
//! Their structure is read in `ecmascript/structure.rs`; each language has its own table.
//!
//! The lexer keeps a stack of open brackets, tags and templates: it says whether a `/` divides or starts a regular
//! expression, whether a `<` compares or opens a tag, and whether a keyword is only the name of a member.

use std::sync::LazyLock;

use crate::Difference;
use crate::alphabet::{Alphabet, table, word};
use crate::optional::{Commas, Optional, Semicolons};
use crate::scan::{Scanner, name_bytes};
use crate::token::{
    CLOSE_BRACE, CLOSE_BRACKET, CLOSE_PAREN, COLON, COMMA, Code, DOT, IDENTIFIER, Lexed, NUMBER, OPEN_BRACE,
    OPEN_BRACKET, OPEN_PAREN, OTHER, SEMICOLON, STRING, TEXT, Token,
};

/// Contextual keywords (`type`, `async`, `of`, `get`, `static`, …) and the names of values and types that the language
/// brings along (`this`, `null`, `void`, `string`) are missing on purpose: they count as names.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "await", "break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete", "do", "else",
    "enum", "export", "extends", "finally", "for", "function", "if", "import", "in", "instanceof", "interface", "let",
    "new", "return", "switch", "throw", "try", "typeof", "var", "while", "with", "yield", "+", "-", "*", "/", "%",
    "**", "++", "--", "<", ">", "<=", ">=", "==", "!=", "===", "!==", "&", "|", "^", "~", "!", "&&", "||", "??",
    "?", "?.", "=", "+=", "-=", "*=", "/=", "%=", "**=", "&=", "|=", "^=", "&&=", "||=", "??=", "=>", "...",
    "@", "</", "/>",
];

mod structure;

pub use structure::units;

pub const OPTIONAL: Optional = Optional { commas: Commas::Brackets, semicolons: Semicolons::Found };

pub fn alphabet() -> &'static Alphabet {
    static ALPHABET: LazyLock<Alphabet> = LazyLock::new(|| Alphabet::new(WORDS));
    &ALPHABET
}

/// JavaScript and TSX, where `<a>` may be a tag.
pub fn lex_with_tags(src: &[u8], out: &mut Lexed) {
    Ecmascript::new(src, out, true).run();
}

/// TypeScript proper, where `<a>` is always about types.
#[cfg(feature = "typescript")]
pub fn lex_without_tags(src: &[u8], out: &mut Lexed) {
    Ecmascript::new(src, out, false).run();
}

/// How far the closing tag of `<T>(` is looked for: a generic function type has none, and its kin are rare.
const CLOSING_TAG_WITHIN: usize = 4_096;

/// Something open: a bracket, a tag, a template.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Paren,
    /// Of `if (…)`, `for (…)`, `while (…)`, `with (…)`: a statement follows it, not an operator.
    Head,
    /// Of `switch (…)`.
    SwitchHead,
    Bracket,
    Block,
    Object,
    /// A class, an interface, an enum.
    Members,
    Switch,
    /// `${…}` in a template; where that one started is in `templates`.
    Substitution,
    /// From the `<` of an opening tag to its `>`.
    Tag,
    /// From the `</` of a closing tag to its `>`.
    ClosingTag,
    /// Between the tags.
    Children,
    /// `{…}` in a tag or between tags.
    TagBrace,
    /// `<…>` after the name of a tag (TSX).
    TypeArguments,
}

struct Template {
    start: usize,
    line: u32,
    n_tokens: usize,
    n_comments: usize,
    /// How many tokens there were at its last `${`: what stands before that is no operand of what follows.
    n_before: usize,
}

struct Ecmascript<'a> {
    s: Scanner<'a>,
    tags: bool,
    open: Vec<Open>,
    templates: Vec<Template>,
    /// What the last closing bracket closed.
    closed: Open,
    /// How many brackets were open at a `class`, `interface` or `enum` whose body is to come.
    class_at: Option<usize>,
    /// No regular expression closes before this place: one that started earlier on the line did not.
    no_regex_before: usize,
}

/// Bytes of names.
const NAME: [bool; 256] = name_bytes(b"_$");

#[inline]
fn is_name(b: u8) -> bool {
    NAME[b as usize]
}

/// Returns the source from its next token on, past blanks and comments.
///
/// A gap is read only for the token before it, so the work stays linear without a bound.
fn next_token(src: &[u8]) -> &[u8] {
    let mut rest = src.trim_ascii_start();
    loop {
        let end = match rest {
            [b'/', b'/', ..] => memchr::memchr(b'\n', rest),
            [b'/', b'*', ..] => memchr::memmem::find(&rest[2..], b"*/").map(|i| i + 4),
            _ => return rest,
        };
        rest = rest[end.unwrap_or(rest.len())..].trim_ascii_start();
    }
}

/// Keywords that stand between operands, and so are never the name of a member after a name.
const INFIX: [bool; 256] = table(WORDS, &["in", "instanceof", "extends"]);

impl<'a> Ecmascript<'a> {
    fn new(src: &'a [u8], out: &'a mut Lexed, tags: bool) -> Ecmascript<'a> {
        Ecmascript {
            s: Scanner::new(src, alphabet(), out),
            tags,
            open: Vec::with_capacity(64),
            templates: Vec::new(),
            closed: Open::Paren,
            class_at: None,
            no_regex_before: 0,
        }
    }

    fn run(mut self) {
        if self.s.rest().starts_with(b"#!") {
            self.s.line_comment();
        }
        loop {
            let top = self.open.last().copied();
            if top == Some(Open::Children) {
                if self.s.done() {
                    break;
                }
                self.children();
                continue;
            }
            self.s.blanks();
            if self.s.done() {
                break;
            }
            let b = self.s.peek(0);
            if b >= 0x80 && self.wide_blank() {
                continue;
            }
            if b == b'/' && self.s.peek(1) == b'/' {
                self.s.line_comment();
            } else if b == b'/' && self.s.peek(1) == b'*' {
                self.s.block_comment(2, b"*/");
            } else if matches!(top, Some(Open::Tag | Open::ClosingTag)) {
                self.tag(b, top);
            } else {
                self.code(b, top);
            }
        }
        // A template that nothing closes takes the rest of the file.
        self.templates.truncate(1);
        if let Some(template) = self.templates.pop() {
            self.s.to(self.s.src.len());
            self.end_template(&template);
        }
    }

    /// Makes one token of the template that ends here: whatever was read of its substitutions goes.
    fn end_template(&mut self, template: &Template) {
        let Lexed { tokens, comments, marks, .. } = &mut *self.s.out;
        tokens.truncate(template.n_tokens);
        comments.truncate(template.n_comments);
        while marks.last().is_some_and(|&mark| mark as usize >= template.n_tokens) {
            marks.pop();
        }
        self.s.emit(STRING, template.start, template.line);
    }

    /// Skips a blank outside ASCII, if one is here.
    fn wide_blank(&mut self) -> bool {
        let len = match (self.s.peek(0), self.s.peek(1), self.s.peek(2)) {
            (0xC2, 0xA0, _) => 2,
            (0xE1, 0x9A, 0x80) => 3,
            (0xE2, 0x80, 0x80..=0x8B | 0xA8 | 0xA9 | 0xAF) => 3,
            (0xE2, 0x81, 0x9F | 0xA0) => 3,
            (0xE3, 0x80, 0x80) | (0xEF, 0xBB, 0xBF) => 3,
            _ => return false,
        };
        self.s.at += len;
        true
    }

    fn code(&mut self, b: u8, top: Option<Open>) {
        match b {
            b'"' | b'\'' => self.string(b),
            b'`' => {
                self.templates.push(Template {
                    start: self.s.at,
                    line: self.s.line,
                    n_tokens: self.s.out.tokens.len(),
                    n_comments: self.s.out.comments.len(),
                    n_before: 0,
                });
                self.s.at += 1;
                self.template();
            }
            b'0'..=b'9' => self.number(),
            b'.' if self.s.peek(1).is_ascii_digit() => self.number(),
            b'#' if is_name(self.s.peek(1)) || self.s.peek(1) == b'\\' => {
                let start = self.s.at;
                self.s.at += 1;
                self.name();
                self.s.emit(IDENTIFIER, start, self.s.line);
            }
            b'\\' => {
                let start = self.s.at;
                self.name();
                if self.s.at == start {
                    self.s.at += 1;
                }
                self.s.emit(IDENTIFIER, start, self.s.line);
            }
            b'{' | b'(' | b'[' => self.opening(b),
            b'}' | b')' | b']' => self.closing(b),
            b'/' if !self.after_operand() && self.regex() => {}
            b'<' => self.less(top),
            b'>' if top == Some(Open::TypeArguments) => {
                self.open.pop();
                self.one(word!(">"));
            }
            _ if is_name(b) => self.word(top),
            _ => self.operator(),
        }
    }

    /// One byte that is a token.
    #[inline]
    fn one(&mut self, code: Code) {
        let start = self.s.at;
        self.s.at += 1;
        self.s.emit(code, start, self.s.line);
    }

    fn operator(&mut self) {
        let start = self.s.at;
        let (mut code, mut len) = self.s.alphabet.operator(self.s.rest()).unwrap_or((OTHER, 1));
        if code == word!("?.") && self.s.peek(2).is_ascii_digit() {
            (code, len) = (word!("?"), 1);
        } else if code == word!("/>") {
            (code, len) = (word!("/"), 1); // closes a tag only within one
        } else if code == word!("</") {
            (code, len) = (word!("<"), 1);
        }
        self.s.at += len;
        self.s.emit(code, start, self.s.line);
    }

    fn less(&mut self, top: Option<Open>) {
        if self.s.rest().starts_with(b"<!--") && !self.after_operand() {
            return self.s.line_comment();
        }
        if top == Some(Open::TypeArguments) {
            self.open.push(Open::TypeArguments);
            return self.one(word!("<"));
        }
        if self.tags && self.opens_tag() {
            return self.open_tag();
        }
        // Like `>>`, two tokens: `A<<T>() => T>` opens two lists of types. Both at once, for the second opens no tag.
        if self.s.peek(1) == b'<' {
            self.one(word!("<"));
        }
        self.operator();
    }

    /// Does the `<` here open a tag, and not the parameters of a generic function?
    fn opens_tag(&self) -> bool {
        let rest = self.s.rest();
        let first = rest.get(1).copied().unwrap_or(0);
        if first == b'>' {
            return !self.after_operand();
        }
        if first.is_ascii_digit() || !is_name(first) || self.after_operand() || self.s.last() == Some(CLOSE_BRACE) {
            return false;
        }
        let len = rest[1..].iter().take_while(|&&b| is_name(b)).count();
        let name = &rest[1..1 + len];
        let after = &rest[1 + len..];
        let next = next_token(after);
        match next.first() {
            Some(b',' | b'=') => false,
            Some(b'>') if next.get(1) == Some(&b'(') => {
                let within = &next[..next.len().min(CLOSING_TAG_WITHIN)];
                memchr::memmem::find_iter(within, b"</").any(|i| within[i + 2..].starts_with(name))
            }
            Some(_) => {
                let generic = next.starts_with(b"extends") && !matches!(next.get(7), Some(b'=' | b'>' | b'/'));
                !generic && name != b"const"
            }
            None => false,
        }
    }

    fn open_tag(&mut self) {
        self.s.out.marks.push(self.s.out.tokens.len() as u32);
        self.open.push(Open::Tag);
        self.one(word!("<"));
    }

    /// A token within a tag.
    fn tag(&mut self, b: u8, top: Option<Open>) {
        match b {
            b'>' => {
                self.open.pop();
                if top == Some(Open::Tag) {
                    self.open.push(Open::Children);
                }
                self.one(word!(">"));
            }
            b'/' if self.s.peek(1) == b'>' => {
                self.open.pop();
                let start = self.s.at;
                self.s.at += 2;
                self.s.emit(word!("/>"), start, self.s.line);
            }
            b'"' | b'\'' => {
                let (start, line) = (self.s.at, self.s.line);
                let end = memchr::memchr(b, &self.s.src[start + 1..]).map_or(self.s.src.len(), |i| start + i + 2);
                self.s.to(end);
                self.s.emit(STRING, start, line);
            }
            b'{' => {
                self.open.push(Open::TagBrace);
                self.one(OPEN_BRACE);
            }
            b'<' if self.s.last() == Some(word!("=")) => self.open_tag(),
            b'<' => {
                self.open.push(Open::TypeArguments);
                self.one(word!("<"));
            }
            _ if is_name(b) => {
                let start = self.s.at;
                while is_name(self.s.peek(0)) || self.s.peek(0) == b'-' {
                    self.s.at += 1;
                }
                self.s.emit(IDENTIFIER, start, self.s.line);
            }
            _ => {
                let code = self.s.alphabet.operator(&[b]).map_or(OTHER, |(code, _)| code);
                self.one(code);
            }
        }
    }

    /// Text between tags, up to and with the bracket that ends it.
    fn children(&mut self) {
        let start = self.s.at;
        let mut end = start;
        loop {
            match memchr::memchr3(b'<', b'{', b'&', &self.s.src[end..]) {
                None => end = self.s.src.len(),
                Some(i) => {
                    end += i;
                    if self.s.src[end] == b'&' && reference(&self.s.src[end..]).is_none() {
                        end += 1;
                        continue;
                    }
                }
            }
            break;
        }
        let blanks = self.s.src[start..end].iter().take_while(|b| b.is_ascii_whitespace()).count();
        self.s.to(start + blanks);
        let text = self.s.src[start + blanks..end].trim_ascii_end().len();
        if text > 0 {
            let (start, line) = (self.s.at, self.s.line);
            self.s.to(start + text);
            self.s.emit(TEXT, start, line);
        }
        self.s.to(end);
        match self.s.peek(0) {
            _ if self.s.done() => {}
            b'&' => {
                let start = self.s.at;
                self.s.at += reference(self.s.rest()).unwrap_or(1);
                self.s.emit(TEXT, start, self.s.line);
            }
            b'{' => {
                self.open.push(Open::TagBrace);
                self.one(OPEN_BRACE);
            }
            _ if self.s.peek(1) == b'/' => {
                self.open.pop();
                self.open.push(Open::ClosingTag);
                let start = self.s.at;
                self.s.at += 2;
                self.s.emit(word!("</"), start, self.s.line);
            }
            _ => self.open_tag(),
        }
    }

    /// The rest of a template, up to its end or the next `${`.
    fn template(&mut self) {
        loop {
            let Some(i) = memchr::memchr3(b'`', b'\\', b'$', self.s.rest()) else {
                self.s.to(self.s.src.len());
                return;
            };
            let at = self.s.at + i;
            match self.s.src[at] {
                b'\\' => self.s.to(at + 2),
                b'$' if self.s.src.get(at + 1) == Some(&b'{') => {
                    self.s.to(at + 2);
                    self.open.push(Open::Substitution);
                    let n_tokens = self.s.out.tokens.len();
                    if let Some(template) = self.templates.last_mut() {
                        template.n_before = n_tokens;
                    }
                    return;
                }
                b'$' => self.s.to(at + 1),
                _ => {
                    self.s.to(at + 1);
                    let Some(template) = self.templates.pop() else { return };
                    return self.end_template(&template);
                }
            }
        }
    }

    /// A string on one line, which a backslash before the line's end continues.
    fn string(&mut self, quote: u8) {
        let (start, line) = (self.s.at, self.s.line);
        self.s.at += 1;
        while let Some(&b) = self.s.src.get(self.s.at) {
            if b == quote {
                self.s.at += 1;
                break;
            }
            match b {
                b'\n' => break,
                b'\\' => {
                    self.s.at += 1;
                    if self.s.peek(0) == b'\r' && self.s.peek(1) == b'\n' {
                        self.s.at += 1;
                    }
                    if self.s.peek(0) == b'\n' {
                        self.s.line += 1;
                    }
                }
                _ => {}
            }
            self.s.at += 1;
        }
        self.s.emit(STRING, start, line);
    }

    fn number(&mut self) {
        let start = self.s.at;
        let radix = self.s.peek(0) == b'0'
            && self.s.peek(1).is_ascii_alphabetic()
            && !matches!(self.s.peek(1), b'e' | b'E' | b'n');
        let mut dot = radix;
        loop {
            match self.s.peek(0) {
                b'e' | b'E' if !radix && matches!(self.s.peek(1), b'+' | b'-') => self.s.at += 2,
                b'.' if !dot => {
                    dot = true;
                    self.s.at += 1;
                }
                b if b.is_ascii_alphanumeric() || b == b'_' => self.s.at += 1,
                _ => break,
            }
        }
        self.s.emit(NUMBER, start, self.s.line);
    }

    /// A regular expression, if one closes on this line.
    fn regex(&mut self) -> bool {
        let start = self.s.at;
        if start < self.no_regex_before {
            return false;
        }
        let mut at = start + 1;
        let mut class = false;
        loop {
            match self.s.src.get(at) {
                None | Some(b'\n') => {
                    self.no_regex_before = at;
                    return false;
                }
                Some(b'\\') if self.s.src.get(at + 1) != Some(&b'\n') => at += 1,
                Some(b'[') => class = true,
                Some(b']') => class = false,
                Some(b'/') if !class => break,
                _ => {}
            }
            at += 1;
        }
        self.s.at = at + 1;
        while is_name(self.s.peek(0)) {
            self.s.at += 1;
        }
        self.s.emit(STRING, start, self.s.line);
        true
    }

    /// Moves past a name, with its `\u` escapes.
    fn name(&mut self) {
        loop {
            while is_name(self.s.peek(0)) {
                if self.s.peek(0) >= 0x80 && self.is_wide_blank() {
                    return;
                }
                self.s.at += 1;
            }
            if self.s.peek(0) != b'\\' || self.s.peek(1) != b'u' {
                return;
            }
            self.s.at += 2;
            if self.s.peek(0) == b'{' {
                self.s.at += 1;
                while self.s.peek(0).is_ascii_hexdigit() {
                    self.s.at += 1;
                }
                if self.s.peek(0) == b'}' {
                    self.s.at += 1;
                }
            }
        }
    }

    fn is_wide_blank(&mut self) -> bool {
        let at = self.s.at;
        let blank = self.wide_blank();
        self.s.at = at;
        blank
    }

    fn word(&mut self, top: Option<Open>) {
        let start = self.s.at;
        self.s.at += self.s.rest().iter().position(|&b| !is_name(b) || b >= 0x80).unwrap_or(self.s.src.len() - start);
        if matches!(self.s.peek(0), b'\\' | 0x80..) {
            self.name();
        }
        let text = &self.s.src[start..self.s.at];
        if text.is_empty() {
            return self.one(OTHER); // can only be a byte that no text has
        }
        // Every keyword is two to ten small letters.
        let code = if text.len() > 10 || text.len() < 2 || !(b'a'..=b'y').contains(&text[0]) {
            IDENTIFIER
        } else {
            self.s.alphabet.code(text).unwrap_or(IDENTIFIER)
        };
        let code = if code != IDENTIFIER && self.is_member_name(code, top) { IDENTIFIER } else { code };
        if code == word!("class") || code == word!("interface") || code == word!("enum") {
            self.class_at = Some(self.open.len());
        }
        self.s.emit(code, start, self.s.line);
    }

    /// Is the keyword that ends here only a name: `a.default`, `{ delete: 1 }`, `catch() {}`?
    fn is_member_name(&self, code: Code, top: Option<Open>) -> bool {
        let last = self.s.last();
        if matches!(last, Some(last) if last == DOT || last == word!("?.")) {
            return true;
        }
        let ahead = next_token(self.s.rest());
        let [next, after] = [0, 1].map(|i| ahead.get(i).copied().unwrap_or(0));
        if code == word!("interface") || code == word!("enum") {
            return ahead.len() == self.s.rest().len() || !is_name(next);
        }
        if code == word!("const") && last == Some(IDENTIFIER) {
            return false; // `as const`
        }
        let members = matches!(top, Some(Open::Members | Open::Object));
        match next {
            b':' if code == word!("default") => top != Some(Open::Switch),
            b':' => true,
            b'?' => after == b':' || (members && matches!(after, b'(' | b'<')),
            b'=' => top == Some(Open::Members) && after != b'=' && after != b'>' && member_starts(last),
            b';' => top == Some(Open::Members) && member_starts(last),
            b'!' => top == Some(Open::Members) && after == b':' && member_starts(last),
            b'(' | b'<' => {
                // `new (…): T` is the signature of a constructor far more often than a method.
                let infix = INFIX[code as usize] && !matches!(last, Some(OPEN_BRACE | COMMA | SEMICOLON))
                    || (code == word!("function") && last == Some(IDENTIFIER)); // `a: async function (`
                let starts = match top {
                    Some(Open::Members) => member_starts(last) || self.after_line_of_types(),
                    Some(Open::Object) => {
                        (member_starts(last) && last != Some(CLOSE_BRACE)) || self.after_line_of_types()
                    }
                    _ => false,
                };
                starts && code != word!("new") && !infix
            }
            _ => false,
        }
    }

    /// Did the last line end as a member without a semicolon may: `a(): B<C>`?
    fn after_line_of_types(&self) -> bool {
        self.s.out.tokens.last().is_some_and(|last| {
            last.line < self.s.line
                && (matches!(last.code, CLOSE_PAREN | CLOSE_BRACKET | STRING | NUMBER) || last.code == word!(">"))
        })
    }

    fn opening(&mut self, b: u8) {
        let last = self.s.last();
        let (open, code) = match b {
            b'(' => {
                let head = [word!("if"), word!("for"), word!("while"), word!("with")];
                let open = match last {
                    Some(last) if head.contains(&last) => Open::Head,
                    Some(last) if last == word!("switch") => Open::SwitchHead,
                    Some(last) if last == word!("await") && self.is_for_await() => Open::Head,
                    _ => Open::Paren,
                };
                (open, OPEN_PAREN)
            }
            b'[' => (Open::Bracket, OPEN_BRACKET),
            _ => (self.brace(last), OPEN_BRACE),
        };
        self.open.push(open);
        self.one(code);
    }

    fn is_for_await(&self) -> bool {
        let n = self.s.out.tokens.len();
        n >= 2 && self.s.out.tokens[n - 2].code == word!("for")
    }

    /// What a `{` after a token of this code opens.
    fn brace(&mut self, last: Option<Code>) -> Open {
        let Some(last) = last else { return Open::Block };
        let value_before = matches!(last, IDENTIFIER | STRING | CLOSE_PAREN | CLOSE_BRACKET | CLOSE_BRACE)
            || last == word!(">")
            || last == word!("class");
        if value_before && self.class_at == Some(self.open.len()) {
            self.class_at = None;
            return Open::Members;
        }
        match last {
            CLOSE_PAREN if self.closed == Open::SwitchHead => Open::Switch,
            CLOSE_PAREN | CLOSE_BRACKET | CLOSE_BRACE | OPEN_BRACE | SEMICOLON | IDENTIFIER | NUMBER | STRING => {
                Open::Block
            }
            COLON if self.open.last() == Some(&Open::Switch) || self.after_label() => Open::Block,
            _ if BLOCK_AFTER[last as usize] => Open::Block,
            _ => Open::Object,
        }
    }

    /// Is the colon before this place that of a label?
    fn after_label(&self) -> bool {
        let tokens = &self.s.out.tokens;
        matches!(self.open.last(), None | Some(Open::Block | Open::Switch))
            && tokens.len() >= 2
            && tokens[tokens.len() - 2].code == IDENTIFIER
            && (tokens.len() == 2
                || matches!(tokens[tokens.len() - 3].code, OPEN_BRACE | CLOSE_BRACE | SEMICOLON | CLOSE_PAREN | COLON))
    }

    fn closing(&mut self, b: u8) {
        match b {
            b')' | b']' => {
                let pair = |open: &Open| match open {
                    Open::Paren | Open::Head | Open::SwitchHead => b == b')',
                    Open::Bracket => b == b']',
                    _ => false,
                };
                if self.open.last().is_some_and(pair) {
                    self.closed = self.open.pop().unwrap_or(Open::Paren);
                } else {
                    self.closed = Open::Paren;
                }
                self.one(if b == b')' { CLOSE_PAREN } else { CLOSE_BRACKET });
            }
            _ => {
                // A brace closes what was left open inside it.
                self.closed = Open::Block;
                while let Some(open) = self.open.pop() {
                    self.closed = open;
                    if !matches!(
                        open,
                        Open::Paren | Open::Head | Open::SwitchHead | Open::Bracket | Open::TypeArguments
                    ) {
                        break;
                    }
                }
                if self.closed == Open::Substitution {
                    self.s.at += 1;
                    return self.template();
                }
                self.one(CLOSE_BRACE);
            }
        }
    }

    /// Was the last token the end of an operand, so that a `/` divides and a `<` compares?
    fn after_operand(&self) -> bool {
        let tokens = &self.s.out.tokens;
        if self.templates.last().is_some_and(|template| template.n_before == tokens.len()) {
            return false;
        }
        let Some(last) = tokens.last() else { return false };
        match last.code {
            IDENTIFIER | NUMBER | STRING | CLOSE_BRACKET => true,
            CLOSE_PAREN => self.closed != Open::Head,
            CLOSE_BRACE => !matches!(self.closed, Open::Block | Open::Switch | Open::Members),
            code if code == word!("++") || code == word!("--") => true,
            code if code == word!("!") => is_postfix(tokens, tokens.len() - 1),
            _ => false,
        }
    }
}

/// Tokens after which a `{` opens a block.
const BLOCK_AFTER: [bool; 256] = table(WORDS, &["=>", "else", "do", "try", "finally", "catch", ">"]);

/// May a member of a class start after a token of this code (or its modifiers go on)?
fn member_starts(last: Option<Code>) -> bool {
    match last {
        Some(OPEN_BRACE | CLOSE_BRACE | SEMICOLON | IDENTIFIER | COMMA) => true,
        Some(code) => code == word!("*"),
        None => false,
    }
}

/// Is the `!` at `at` the one that follows an operand (`a!.b`)?
fn is_postfix(tokens: &[Token], at: usize) -> bool {
    at.checked_sub(1).is_some_and(|i| {
        matches!(tokens[i].code, IDENTIFIER | CLOSE_PAREN | CLOSE_BRACKET) && tokens[i].end == tokens[at].start
    })
}

/// The length of the character reference (`&nbsp;`, `&#38;`) at the start of `text`.
fn reference(text: &[u8]) -> Option<usize> {
    let end = text.iter().take(32).position(|&b| b == b';')?;
    let name = &text[1..end];
    let valid = match name.strip_prefix(b"#") {
        Some(digits) => !digits.is_empty() && digits.iter().all(u8::is_ascii_alphanumeric),
        None => !name.is_empty() && name.iter().all(u8::is_ascii_alphabetic),
    };
    valid.then_some(end + 1)
}

/// Is this a call that declares a test or a group of tests (Jest, Mocha, Vitest, Jasmine, QUnit, Deno, `node:test`)?
pub fn is_test(src: &[u8], tokens: &[Token]) -> bool {
    let code = |i: usize| tokens.get(i).map(|t: &Token| t.code);
    if code(0) != Some(IDENTIFIER) || !matches!(code(1), Some(OPEN_PAREN | DOT)) {
        return false;
    }
    let text = |i: usize| tokens.get(i).map_or(&[][..], |t| &src[t.start as usize..t.end as usize]);
    match text(0) {
        b"describe" | b"fdescribe" | b"xdescribe" | b"it" | b"fit" | b"xit" | b"test" | b"xtest" | b"suite"
        | b"context" | b"specify" | b"bench" => match code(1) {
            Some(OPEN_PAREN) => code(2) == Some(STRING),
            _ => matches!(
                text(2),
                b"only"
                    | b"skip"
                    | b"each"
                    | b"concurrent"
                    | b"todo"
                    | b"failing"
                    | b"fails"
                    | b"sequential"
                    | b"describe"
                    | b"skipIf"
                    | b"runIf"
                    | b"serial"
                    | b"fixme"
                    | b"step"
                    | b"beforeEach"
                    | b"afterEach"
                    | b"beforeAll"
                    | b"afterAll"
            ),
        },
        b"beforeEach" | b"afterEach" | b"beforeAll" | b"afterAll" => code(1) == Some(OPEN_PAREN),
        b"before" | b"after" | b"setup" | b"teardown" => {
            code(1) == Some(OPEN_PAREN)
                && (code(2) == Some(word!("function")) || code(2) == Some(OPEN_PAREN) || text(2) == b"async")
        }
        b"QUnit" => matches!(text(2), b"test" | b"module"),
        b"Deno" => matches!(text(2), b"test" | b"bench"),
        _ => false,
    }
}

pub static DIFFERENCES: &[Difference] = &[
    Difference {
        name: "keyword in a clause of names",
        reason: "`default` in `export { default }` is a keyword to the JavaScript grammar and a name to the TypeScript \
                 one, other keywords are names to both; files of both are compared, so the lexer can follow only one",
        applies: |place| {
            place.text()[0].is_ascii_lowercase()
                && alphabet().code(place.text()).is_some()
                && (place.inside("export_specifier") || place.inside("import_specifier"))
        },
    },
    Difference {
        name: "await of a parenthesis",
        reason: "the grammars take `await (a ? b : c).d()` for a call of a function named `await`",
        applies: |place| place.text() == b"await" && place.kinds.starts_with(&["identifier", "call_expression"]),
    },
];

/// The comments of a file as the tables name them.
pub const COMMENTS: &[&str] = &["comment", "html_comment", "hash_bang_line"];

#[cfg(test)]
mod tests;
