//! Rust: table, fast lexer, structure.
//!
//! `>>` and `<<` are always two tokens, since only a parser knows whether they shift or nest type arguments;
//! `&&` and `||` are told from two `&` and two `|` by the token before them, as an operand or none.

use std::sync::LazyLock;

use crate::alphabet::{Alphabet, word};
use crate::braces::{self, Body, Context, End, Rules};
use crate::leaves::Syntax;
use crate::optional::{Commas, Optional, Semicolons};
use crate::scan::{Scanner, is_name};
use crate::token::{
    CHARACTER, CLOSE_BRACE, CLOSE_BRACKET, CLOSE_PAREN, COLON, COMMA, Code, Comment, DOT, IDENTIFIER, Lexed, NUMBER,
    OPEN_BRACE, OPEN_BRACKET, OPEN_PAREN, SEMICOLON, STRING, Token, Unit, varies,
};
use crate::{Cache, Difference, Language, Lexer, parsers};

pub static RUST: Language = Language {
    name: "rust",
    family: "rust",
    extensions: &["rs"],
    file_names: &[],
    shebangs: &["rust-script"],
    line_comment: "//",
    block_comment: Some(("/*", "*/")),
    grammar: parsers::rust,
    syntax: Syntax {
        // Names are read by their text: within macros the grammar calls some keywords identifiers.
        atoms: &[
            ("integer_literal", NUMBER),
            ("float_literal", NUMBER),
            ("char_literal", CHARACTER),
            ("string_literal", STRING),
            ("raw_string_literal", STRING),
        ],
        comments: &["line_comment", "block_comment", "shebang"],
        lists: &[
            "source_file",
            "block",
            "declaration_list",
            "field_declaration_list",
            "enum_variant_list",
            "match_block",
            "macro_definition",
        ],
        imports: &["use_declaration", "extern_crate_declaration"],
        splits: &[
            ("<<", &["<", "<"]),
            (">>", &[">", ">"]),
            ("<<=", &["<", "<="]),
            (">>=", &[">", ">="]),
            ("macro_rules!", &["macro_rules", "!"]),
        ],
    },
    optional: Optional { commas: Commas::NotInTuples, semicolons: Semicolons::Never },
    lexer: Some(Lexer { lex, units, alphabet, differences: DIFFERENCES }),
    is_test,
    cache: Cache::new(),
};

const DIFFERENCES: &[Difference] = &[
    Difference {
        name: "repetition separator",
        reason: "the grammar has no node for what stands between `$(…)` and its `*`",
        applies: |place| {
            matches!(place.kinds.first(), Some(&"token_repetition" | &"token_repetition_pattern"))
                || (place.kinds.get(1).is_some_and(|kind| kind.starts_with("token_repetition"))
                    && matches!(place.text(), b"+" | b"*" | b"?"))
        },
    },
    Difference {
        name: "range to an end",
        reason: "the grammar reads the expression `..=x` as `..` to which `x` is assigned",
        applies: |place| {
            place.inside("range_expression")
                && place.text().starts_with(b"..")
                && place.src[place.start + 2..].starts_with(b"=")
                || place.kinds.get(1) == Some(&"assignment_expression") && place.src[..place.end].ends_with(b"..=")
        },
    },
    Difference {
        name: "operator in a macro",
        reason: "a token tree has no operands: there the grammar takes the longest operator",
        applies: |place| {
            (place.inside("token_tree") || place.inside("token_tree_pattern"))
                && matches!(place.text(), b"&" | b"|" | b"&&" | b"||")
        },
    },
    Difference {
        name: "tuple index in a macro",
        reason: "in a token tree the grammar reads `x.0.1` as a name, a dot and a fraction",
        applies: |place| {
            place.inside("token_tree") && place.text().iter().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'_'))
        },
    },
    Difference {
        name: "metavariable in an invocation",
        reason: "only in a macro's definition does the grammar read `$x` as one name",
        applies: |place| {
            place.inside("token_tree")
                && (place.text()[0] == b'$' || place.start.checked_sub(1).is_some_and(|i| place.src[i] == b'$'))
        },
    },
];

#[rustfmt::skip]
const WORDS: &[&str] = &[
    "as", "async", "await", "break", "const", "continue", "dyn", "else", "enum", "extern", "fn", "for", "if", "impl",
    "in", "let", "loop", "macro_rules", "match", "mod", "move", "mut", "pub", "ref", "return", "static", "struct",
    "trait", "type", "unsafe", "use", "where", "while", "yield", "_", "+", "-", "*", "/", "%", "^", "!", "&", "|",
    "&&", "||", "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "=", "==", "!=", ">", "<", ">=", "<=", "@", "..",
    "...", "..=", "::", "->", "=>", "#", "$", "?", "'", "~", "\\",
];

fn alphabet() -> &'static Alphabet {
    static ALPHABET: LazyLock<Alphabet> = LazyLock::new(|| Alphabet::new(WORDS));
    &ALPHABET
}

/// Marks are pairs of token indices: each run of outer attributes, from its first `#` to one past its last `]`.
fn lex(src: &[u8], out: &mut Lexed) {
    let mut s = Scanner::new(src, alphabet(), out);
    if s.peek(0) == b'#' && s.peek(1) == b'!' {
        let rest = s.rest()[2..].trim_ascii_start();
        if rest.first() != Some(&b'[') {
            s.line_comment();
        }
    }
    // Brackets open in the attribute at hand; 0 outside of attributes.
    let mut depth = 0usize;
    loop {
        s.blanks();
        if s.done() {
            break;
        }
        match s.peek(0) {
            b'/' if s.peek(1) == b'/' => s.line_comment(),
            b'/' if s.peek(1) == b'*' => block_comment(&mut s),
            b'"' => string(&mut s, 0),
            b'\'' => quote(&mut s, 0),
            b'r' | b'b' | b'c' => prefixed(&mut s),
            b if b.is_ascii_digit() => number(&mut s),
            b if is_name(b) => s.word(),
            b'$' if is_name(s.peek(1)) && !s.peek(1).is_ascii_digit() => {
                let start = s.at;
                s.at += 1;
                while is_name(s.peek(0)) {
                    s.at += 1;
                }
                s.emit(IDENTIFIER, start, s.line);
            }
            b'&' if s.peek(1) == b'&' && !operand(&s) => one(&mut s, word!("&")),
            b'|' if s.peek(1) == b'|' && !operand(&s) => one(&mut s, word!("|")),
            b'[' => {
                one(&mut s, OPEN_BRACKET);
                let n = s.out.tokens.len();
                if depth > 0 {
                    depth += 1;
                } else if n >= 2 && s.out.tokens[n - 2].code == word!("#") {
                    depth = 1;
                    if s.out.marks.last() == Some(&(n as u32 - 2)) {
                        s.out.marks.pop(); // the attribute before it is its neighbour: one run
                    } else {
                        s.out.marks.push(n as u32 - 2);
                    }
                }
            }
            b']' => {
                one(&mut s, CLOSE_BRACKET);
                depth = depth.saturating_sub(1);
                if depth == 0 && s.out.marks.len() % 2 == 1 {
                    s.out.marks.push(s.out.tokens.len() as u32);
                }
            }
            _ => s.operator(),
        }
    }
    if s.out.marks.len() % 2 == 1 {
        s.out.marks.push(s.out.tokens.len() as u32);
    }
}

#[inline]
fn one(s: &mut Scanner, code: Code) {
    let start = s.at;
    s.at += 1;
    s.emit(code, start, s.line);
}

/// Was the last token the end of an operand, so that an operator between two operands comes next?
fn operand(s: &Scanner) -> bool {
    s.last().is_some_and(|code| {
        varies(code)
            || matches!(code, CLOSE_PAREN | CLOSE_BRACKET | CLOSE_BRACE)
            || [word!("?"), word!("await"), word!(".."), word!("_")].contains(&code)
            || (code == word!(">") && s.out.tokens.len() >= 2 && type_before(s))
    })
}

/// After a `>`: did it close type arguments? Before `a > &&b` stands an operand and a blank.
fn type_before(s: &Scanner) -> bool {
    let start = s.out.tokens[s.out.tokens.len() - 1].start as usize;
    start > 0 && !s.src[start - 1].is_ascii_whitespace()
}

/// Block comments nest.
fn block_comment(s: &mut Scanner) {
    let (start, line) = (s.at, s.line);
    let mut depth = 1usize;
    let mut at = s.at + 2;
    while depth > 0 {
        let Some(i) = memchr::memchr2(b'*', b'/', s.src.get(at..).unwrap_or(&[])) else {
            at = s.src.len();
            break;
        };
        at += i;
        match (s.src[at], s.src.get(at + 1)) {
            (b'*', Some(b'/')) => {
                depth -= 1;
                at += 2;
            }
            (b'/', Some(b'*')) => {
                depth += 1;
                at += 2;
            }
            _ => at += 1,
        }
    }
    s.to(at);
    s.out.comments.push(Comment { start: start as u32, end: s.at as u32, line });
}

/// A string whose opening quote stands after `prefix` bytes.
fn string(s: &mut Scanner, prefix: usize) {
    let start = s.at;
    s.at += prefix;
    s.quoted(b'"', true);
    if let Some(token) = s.out.tokens.last_mut() {
        token.start = start as u32;
    }
}

/// A character, or the quote of a lifetime or label; the quote stands after `prefix` bytes.
fn quote(s: &mut Scanner, prefix: usize) {
    let start = s.at;
    let body = &s.src[(start + prefix + 1).min(s.src.len())..];
    match char_len(body) {
        Some(len) => {
            let line = s.line;
            s.to(start + prefix + 1 + len);
            s.emit(CHARACTER, start, line);
        }
        None if prefix > 0 => s.word(),
        None => one(s, word!("'")),
    }
}

/// The length of a character's body with its closing quote, if that is what `body` starts with.
fn char_len(body: &[u8]) -> Option<usize> {
    /// `\u{10FFFF}` with underscores between the digits is the longest.
    const LONGEST: usize = 24;
    match body.first()? {
        b'\'' => Some(1),
        b'\\' => {
            let end = body.len().min(LONGEST);
            let close = memchr::memchr(b'\'', body.get(2..end)?)?;
            Some(close + 3)
        }
        &b => {
            let len = match b {
                0..0x80 => 1,
                0x80..0xE0 => 2,
                0xE0..0xF0 => 3,
                _ => 4,
            };
            (body.get(len) == Some(&b'\'')).then_some(len + 1)
        }
    }
}

/// What starts with `r`, `b` or `c`: a prefixed literal, a raw name, or a plain word.
fn prefixed(s: &mut Scanner) {
    let (first, second) = (s.peek(0), s.peek(1));
    let raw = if first == b'r' {
        1
    } else if second == b'r' {
        2
    } else {
        0
    };
    if raw > 0 {
        let hashes = s.src[(s.at + raw).min(s.src.len())..].iter().take_while(|&&b| b == b'#').count();
        if s.peek(raw + hashes) == b'"' {
            return raw_string(s, raw, hashes);
        }
        if first == b'r' && hashes == 1 && is_name(s.peek(2)) {
            let start = s.at;
            s.at += 2;
            while is_name(s.peek(0)) {
                s.at += 1;
            }
            return s.emit(IDENTIFIER, start, s.line);
        }
    }
    match second {
        b'"' if first != b'r' => string(s, 1),
        b'\'' if first == b'b' => quote(s, 1),
        _ => s.word(),
    }
}

fn raw_string(s: &mut Scanner, prefix: usize, hashes: usize) {
    let (start, line) = (s.at, s.line);
    let mut at = start + prefix + hashes + 1;
    loop {
        let Some(i) = memchr::memchr(b'"', s.src.get(at..).unwrap_or(&[])) else {
            at = s.src.len();
            break;
        };
        at += i + 1;
        let found = s.src[at..].iter().take(hashes).take_while(|&&b| b == b'#').count();
        at += found;
        if found == hashes {
            break;
        }
    }
    s.to(at);
    s.emit(STRING, start, line);
}

const SUFFIXES: [&[u8]; 16] = [
    b"u8", b"i8", b"u16", b"i16", b"u32", b"i32", b"u64", b"i64", b"u128", b"i128", b"isize", b"usize", b"f32", b"f64",
    b"f16", b"f128",
];

fn number(s: &mut Scanner) {
    let start = s.at;
    // `x.0.1` indexes twice.
    let index = s.last() == Some(DOT);
    let digits: fn(u8) -> bool = match (s.peek(0), s.peek(1)) {
        (b'0', b'x') => |b| b.is_ascii_hexdigit() || b == b'_',
        (b'0', b'b') => |b| matches!(b, b'0' | b'1' | b'_'),
        (b'0', b'o') => |b| matches!(b, b'0'..=b'7' | b'_'),
        _ => |b| b.is_ascii_digit() || b == b'_',
    };
    let decimal = !(s.peek(0) == b'0' && matches!(s.peek(1), b'x' | b'b' | b'o'));
    s.at += if decimal { 1 } else { 2 };
    skip(s, digits);
    if decimal && !index {
        if s.peek(0) == b'.' && s.peek(1) != b'.' && !(s.peek(1).is_ascii_alphabetic() || s.peek(1) >= 0x80) {
            s.at += 1;
            skip(s, digits);
        }
        if matches!(s.peek(0), b'e' | b'E') {
            let signed = matches!(s.peek(1), b'+' | b'-') as usize;
            if digits(s.peek(1 + signed)) {
                s.at += 1 + signed;
                skip(s, digits);
            }
        }
    }
    if is_name(s.peek(0)) {
        let rest = s.rest();
        s.at += SUFFIXES.iter().find(|suffix| rest.starts_with(suffix)).map_or(0, |suffix| suffix.len());
    }
    s.emit(NUMBER, start, s.line);
}

#[inline]
fn skip(s: &mut Scanner, member: fn(u8) -> bool) {
    while s.src.get(s.at).is_some_and(|&b| member(b)) {
        s.at += 1;
    }
}

fn units(src: &[u8], out: &mut Lexed) {
    braces::units(&RustRules, src, out);
}

/// How many tokens of a path, a visibility or a run of modifiers are looked at: longer ones are not written.
const MAX_PREFIX: usize = 24;

/// How far the arrow of a match arm is looked for.
const MAX_PATTERN: usize = 256;

/// How many tokens of a unit's attributes are searched for a test's mark.
const MAX_ATTRIBUTE: usize = 96;

/// Is the unit that starts with these tokens a test, or a module of tests? Its attributes say so.
fn is_test(src: &[u8], tokens: &[Token]) -> bool {
    const TESTS: [&[u8]; 7] =
        [b"test", b"bench", b"rstest", b"test_case", b"quickcheck", b"wasm_bindgen_test", b"proptest"];
    let text = |i: usize| tokens.get(i).map_or(&b""[..], |t| &src[t.start as usize..t.end as usize]);
    let code = |i: usize| tokens.get(i).map(|t| t.code);
    let mut i = 0;
    while i < MAX_ATTRIBUTE && code(i) == Some(word!("#")) && code(i + 1) == Some(OPEN_BRACKET) {
        // The last name of the attribute's path.
        let mut name = i + 2;
        while code(name + 1) == Some(word!("::")) && name < i + MAX_PREFIX {
            name += 2;
        }
        let cfg = text(name) == b"cfg";
        if TESTS.contains(&text(name)) {
            return true;
        }
        let mut depth = 0usize;
        i += 1;
        loop {
            match code(i) {
                None => return false,
                Some(OPEN_BRACKET | OPEN_PAREN | OPEN_BRACE) => depth += 1,
                Some(CLOSE_BRACKET | CLOSE_PAREN | CLOSE_BRACE) => depth = depth.saturating_sub(1),
                Some(IDENTIFIER) if cfg && text(i) == b"test" && text(i - 2) != b"not" => return true,
                _ => {}
            }
            i += 1;
            if depth == 0 {
                break;
            }
            if i >= MAX_ATTRIBUTE {
                return false;
            }
        }
    }
    false
}

/// The first token after the attributes, the visibility and the label of the unit that starts at `start`.
fn head_of(cx: &Context, start: usize) -> usize {
    let mut at = start;
    if cx.code(at) == Some(word!("#")) {
        let n = cx.marks.len() / 2;
        let (mut low, mut high) = (0, n);
        while low < high {
            let middle = (low + high) / 2;
            if (cx.marks[2 * middle] as usize) < start { low = middle + 1 } else { high = middle }
        }
        if low < n && cx.marks[2 * low] as usize == start {
            at = cx.marks[2 * low + 1] as usize;
        }
    }
    if cx.code(at) == Some(word!("pub")) {
        at += 1;
        if cx.code(at) == Some(OPEN_PAREN) {
            let close = (at..at + MAX_PREFIX).find(|&i| cx.code(i) == Some(CLOSE_PAREN));
            at = close.map_or(at, |i| i + 1);
        }
    }
    if cx.code(at) == Some(word!("'")) && cx.code(at + 2) == Some(COLON) {
        at += 3;
    }
    at
}

/// Is the comma or semicolon at hand the separator of a macro's repetition, `$(…);*`?
fn repeats(cx: &Context) -> bool {
    cx.previous() == Some(CLOSE_PAREN)
        && cx.next().is_some_and(|next| [word!("*"), word!("+"), word!("?")].contains(&next))
        && cx.tokens[cx.at].end == cx.tokens[cx.at + 1].start
}

/// Does the unit at hand consist of attributes up to here?
fn is_head(cx: &Context) -> bool {
    cx.previous() == Some(CLOSE_BRACKET)
        && cx.head() == Some(word!("#"))
        && cx.frame().unit.is_some_and(|unit| head_of(cx, unit) == cx.at)
}

/// Does a unit with this head end with the brace that closes its body?
fn ends_with_brace(cx: &Context, head: usize) -> bool {
    const BODIES: [Code; 11] = [
        word!("if"),
        word!("match"),
        word!("loop"),
        word!("while"),
        word!("for"),
        word!("fn"),
        word!("impl"),
        word!("trait"),
        word!("mod"),
        word!("struct"),
        word!("enum"),
    ];
    const MODIFIERS: [Code; 6] =
        [word!("unsafe"), word!("async"), word!("const"), word!("extern"), word!("move"), word!("static")];
    let mut at = head;
    while at < head + MAX_PREFIX {
        let Some(code) = cx.code(at) else { return false };
        match code {
            OPEN_BRACE => return true,
            STRING if at > head && cx.code(at - 1) == Some(word!("extern")) => {}
            _ if BODIES.contains(&code) || code == word!("macro_rules") => return true,
            _ if MODIFIERS.contains(&code) => {}
            // `default fn`, `auto trait`, `union U`
            IDENTIFIER if matches!(cx.text(at), b"default" | b"auto" | b"union" | b"gen" | b"try" | b"macro") => {
                if cx.text(at) == b"union" && cx.code(at + 1) == Some(IDENTIFIER) {
                    return true;
                }
            }
            _ => break,
        }
        at += 1;
    }
    // `path::name! {…}`
    let mut at = head + (cx.code(head) == Some(word!("::"))) as usize;
    while cx.code(at) == Some(IDENTIFIER) && cx.code(at + 1) == Some(word!("::")) && at < head + MAX_PREFIX {
        at += 2;
    }
    cx.code(at) == Some(IDENTIFIER)
        && cx.code(at + 1) == Some(word!("!"))
        && (cx.code(at + 2) == Some(OPEN_BRACE)
            || (cx.code(at + 2) == Some(IDENTIFIER) && cx.code(at + 3) == Some(OPEN_BRACE)))
}

struct RustRules;

/// After a block, these tokens go on with the expression that it is.
const GOES_ON: [Code; 4] = [word!("else"), word!("?"), DOT, word!("=>")];

/// A body whose `{` has yet to come, by the token that announced it ([`braces::Frame::note`]).
fn announced(cx: &Context) -> Option<Body> {
    const LISTS: [Code; 3] = [word!("match"), word!("struct"), word!("enum")];
    const NONE: [Code; 3] = [word!("use"), word!("let"), word!("for")];
    let code = cx.code(cx.frame().note?)?;
    match code {
        _ if NONE.contains(&code) => None,
        _ if LISTS.contains(&code) || code == IDENTIFIER => Some(Body::Elements),
        _ => Some(Body::Statements),
    }
}

/// Is the block at hand one of several type arguments, `<A, { N }>`?
fn is_argument(cx: &Context) -> bool {
    let mut depth = 0usize;
    let close = (cx.at..cx.at + MAX_PREFIX).find(|&i| {
        match cx.code(i) {
            Some(OPEN_BRACE) => depth += 1,
            Some(CLOSE_BRACE) => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    close.and_then(|i| cx.code(i + 1)).is_some_and(|code| code == COMMA || code == word!(">"))
}

/// Does the `{` at hand open a block of its own, by the token before it alone, whatever was announced?
fn nested_block(cx: &Context) -> bool {
    const BEFORE: [Code; 6] =
        [word!("unsafe"), word!("async"), word!("move"), word!("const"), word!("loop"), word!("else")];
    match cx.previous() {
        None => true,
        // The `{` comes after a lifetime: `'static`.
        Some(code) if varies(code) || (cx.at > 1 && cx.code(cx.at - 2) == Some(word!("'"))) => false,
        Some(CLOSE_PAREN | CLOSE_BRACKET | CLOSE_BRACE) => false,
        // After the bounds of an item comes its body.
        Some(COMMA) if cx.frame().body != Body::Opaque => announced(cx).is_none() || is_argument(cx),
        Some(code) if BEFORE.contains(&code) => true,
        Some(code) => {
            // What remains are operators: only these end a type or an expression.
            const ENDS: [Code; 10] = [
                word!(">"),
                word!("?"),
                word!("!"),
                word!(".."),
                word!("await"),
                word!("_"),
                word!("where"),
                word!("::"),
                word!("use"),
                word!("extern"),
            ];
            !ENDS.contains(&code)
        }
    }
}

/// Does the comma at hand stand in the type arguments of the type after the arrow that was noted?
fn in_arguments(cx: &Context) -> bool {
    let start = cx.frame().note.unwrap_or(cx.at).max(cx.at.saturating_sub(2 * MAX_PREFIX));
    let count = |code: Code| cx.tokens[start..cx.at].iter().filter(|t| t.code == code).count();
    count(word!("<")) > count(word!(">"))
}

impl Rules for RustRules {
    fn opens(&self, cx: &Context) -> Body {
        if cx.tokens[cx.at].code != OPEN_BRACE {
            // `macro_rules! name (…);` holds rules as well.
            let rules = cx.at >= 3 && cx.code(cx.at - 3) == Some(word!("macro_rules"));
            return if rules { Body::Statements } else { Body::Opaque };
        }
        // An object in a macro's arguments.
        if cx.next() == Some(STRING) && cx.code(cx.at + 2) == Some(COLON) {
            return Body::Opaque;
        }
        if cx.frame().unit == Some(cx.at) || nested_block(cx) || is_head(cx) {
            return Body::Statements;
        }
        if let Some(body) = announced(cx) {
            return body;
        }
        // `name! {` or `name! other {`
        let of_macro = |i: usize| {
            cx.at > i
                && cx.code(cx.at - i) == Some(word!("!"))
                && cx.code(cx.at - i - 1).is_some_and(|code| code == IDENTIFIER || code == word!("macro_rules"))
        };
        match cx.previous() {
            Some(IDENTIFIER) if of_macro(2) || cx.text(cx.at - 1) == b"try" => Body::Statements,
            Some(CLOSE_PAREN | CLOSE_BRACE) if cx.frame().body != Body::Elements => Body::Statements,
            Some(_) if of_macro(1) => Body::Statements,
            _ => Body::Opaque,
        }
    }

    /// Which body is to come: the keyword that announced it.
    fn note(&self, cx: &Context) -> Option<usize> {
        const HEADS: [Code; 10] = [
            word!("if"),
            word!("while"),
            word!("match"),
            word!("impl"),
            word!("trait"),
            word!("mod"),
            word!("struct"),
            word!("enum"),
            word!("extern"),
            word!("use"),
        ];
        let note = cx.frame().note;
        let noted = note.and_then(|i| cx.code(i));
        let code = cx.tokens[cx.at].code;
        match code {
            // Contextual: two names in a row.
            IDENTIFIER if cx.next() == Some(IDENTIFIER) && cx.text(cx.at) == b"union" => Some(cx.at),
            _ if varies(code) => note,
            _ if HEADS.contains(&code) => match noted {
                // `-> impl Trait`, `impl Trait for impl …`, `use<'a>`
                Some(_) if code == word!("impl") || code == word!("use") => note,
                _ => Some(cx.at),
            },
            _ if code == word!("fn") => {
                if cx.next() == Some(OPEN_PAREN) {
                    note
                } else {
                    Some(cx.at)
                }
            }
            _ if code == word!("for") => match noted {
                _ if cx.next() == Some(word!("<")) => note,
                Some(noted) if noted == word!("impl") => note,
                _ => Some(cx.at),
            },
            _ if code == word!("in") => {
                if noted == Some(word!("for")) {
                    Some(cx.at)
                } else {
                    note
                }
            }
            _ if code == word!("let") => match noted {
                Some(noted) if [word!("if"), word!("while"), word!("=")].contains(&noted) => Some(cx.at),
                _ => note,
            },
            _ if code == word!("=") => match noted {
                Some(noted) if noted == word!("let") => Some(cx.at),
                Some(noted) if noted == word!("->") => None,
                _ => note,
            },
            _ if code == word!("->") => note.or(Some(cx.at)),
            _ if code == word!("=>") => None,
            SEMICOLON => None,
            COMMA if noted == Some(word!("->")) && !in_arguments(cx) => None,
            _ => note,
        }
    }

    fn note_at_bracket(&self, cx: &Context, _body: Body) -> Option<usize> {
        let note = cx.frame().note;
        let consumed = cx.tokens[cx.at].code == OPEN_BRACE && !nested_block(cx) && announced(cx).is_some();
        match cx.frame().anchor {
            _ if !consumed => note,
            // Of `if match x {…} {…}` the second body is still to come.
            outer if cx.frame().body != Body::Elements && outer != note => outer,
            _ => None,
        }
    }

    fn ends(&self, cx: &Context) -> End {
        match cx.tokens[cx.at].code {
            SEMICOLON if repeats(cx) => End::Not,
            SEMICOLON => End::After,
            CLOSE_BRACKET => {
                let start = cx.frame().unit.unwrap_or(cx.at);
                let inner = cx.code(start) == Some(word!("#")) && cx.code(start + 1) == Some(word!("!"));
                if inner { End::After } else { End::Not }
            }
            CLOSE_BRACE => {
                let goes_on = cx.next().is_some_and(|next| GOES_ON.contains(&next));
                if goes_on || cx.frame().note.is_some() {
                    return End::Not;
                }
                let start = cx.frame().unit.unwrap_or(cx.at);
                if ends_with_brace(cx, head_of(cx, start)) { End::After } else { End::Not }
            }
            _ => End::Not,
        }
    }

    /// In a list of match arms, the value of the arm; elsewhere the head in which a `match` stands.
    fn anchor(&self, cx: &Context) -> Option<usize> {
        const HEADS: [Code; 4] = [word!("if"), word!("while"), word!("="), word!("in")];
        let frame = cx.frame();
        let code = cx.tokens[cx.at].code;
        match frame.body {
            Body::Elements if code == word!("=>") => frame.anchor.or(Some(cx.at + 1)),
            Body::Elements => frame.anchor,
            _ if code == word!("match") => {
                frame.note.filter(|&i| cx.code(i).is_some_and(|noted| HEADS.contains(&noted)))
            }
            _ if code == word!("else") || code == COMMA => None,
            _ => frame.anchor,
        }
    }

    /// A match arm whose value is a block needs no comma.
    fn ends_element(&self, cx: &Context) -> bool {
        let goes_on = cx.next().is_some_and(|next| GOES_ON.contains(&next));
        let Some(value) = cx.frame().anchor else { return false };
        cx.tokens[cx.at].code == CLOSE_BRACE
            && !goes_on
            && cx.frame().note.is_none()
            && cx.code(value) != Some(IDENTIFIER)
            && ends_with_brace(cx, head_of(cx, value))
    }

    /// Not in type arguments: a field is followed by a field, a match arm by a pattern with its arrow.
    fn separates(&self, cx: &Context) -> bool {
        if cx.next() == Some(CLOSE_BRACE) {
            return true;
        }
        if repeats(cx) {
            return false;
        }
        if cx.frame().anchor.is_none() {
            let Some(unit) = cx.frame().unit else { return true };
            let field = cx.code(head_of(cx, unit) + 1) == Some(COLON);
            return !field
                || cx.next().is_some_and(|next| next == word!("#") || next == word!("pub"))
                || cx.code(cx.at + 2) == Some(COLON);
        }
        let mut depth = 0usize;
        for i in cx.at + 1..cx.at + MAX_PATTERN {
            match cx.code(i) {
                None => return true,
                Some(OPEN_PAREN | OPEN_BRACKET | OPEN_BRACE) => depth += 1,
                Some(CLOSE_PAREN | CLOSE_BRACKET | CLOSE_BRACE) if depth == 0 => return false,
                Some(CLOSE_PAREN | CLOSE_BRACKET | CLOSE_BRACE) => depth -= 1,
                Some(COMMA | SEMICOLON) if depth == 0 => return false,
                Some(code) if depth == 0 && code == word!("=>") => return true,
                _ => {}
            }
        }
        true
    }

    fn flags(&self, cx: &Context, start: usize, end: usize) -> u8 {
        let head = head_of(cx, start);
        let import = match cx.code(head) {
            Some(code) if code == word!("use") => true,
            Some(code) if code == word!("extern") => cx.text(head + 1) == b"crate",
            Some(code) if code == word!("mod") => end == head + 3 && cx.code(end - 1) == Some(SEMICOLON),
            _ => false,
        };
        let test = head > start && is_test(cx.src, &cx.tokens[start..end]);
        (if import { Unit::IMPORT } else { 0 }) | (if test { Unit::TEST } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lexed(src: &str) -> Lexed {
        let mut out = Lexed::default();
        lex(src.as_bytes(), &mut out);
        units(src.as_bytes(), &mut out);
        out
    }

    fn texts(src: &str) -> Vec<&str> {
        lexed(src).tokens.iter().map(|t| &src[t.start as usize..t.end as usize]).collect()
    }

    /// Units with their text, nested ones after the one around them; `i` and `t` mark imports and tests.
    fn pieces(src: &str) -> Vec<String> {
        crate::fixture::marked(&lexed(src), src)
    }

    #[test]
    fn lifetimes_are_told_from_characters() {
        assert_eq!(
            texts("&'a 'b' '\\'' b'x' 'é' <'_>"),
            ["&", "'", "a", "'b'", "'\\''", "b'x'", "'é'", "<", "'", "_", ">"]
        );
    }

    #[test]
    fn strings_of_all_kinds_are_one_token() {
        assert_eq!(texts("\"a\\\"\" b\"b\" c\"c\""), ["\"a\\\"\"", "b\"b\"", "c\"c\""]);
        assert_eq!(texts("r#\"a\"b\"# br\"x\" r#fn"), ["r#\"a\"b\"#", "br\"x\"", "r#fn"]);
    }

    #[test]
    fn numbers_end_before_ranges_methods_and_indices() {
        assert_eq!(
            texts("1..2 1.max 1.5e-3f32 x.0.1 0xFFu8 2."),
            ["1", "..", "2", "1", ".", "max", "1.5e-3f32", "x", ".", "0", ".", "1", "0xFFu8", "2."]
        );
    }

    #[test]
    fn double_operators_need_an_operand_before_them() {
        assert_eq!(texts("a && &&b || || c"), ["a", "&&", "&", "&", "b", "||", "|", "|", "c"]);
    }

    #[test]
    fn block_comments_nest() {
        assert_eq!(texts("a /* /* */ b */ c"), ["a", "c"]);
    }

    #[test]
    fn statements_end_with_their_block_or_semicolon() {
        assert_eq!(
            pieces("if a { b } else { c } d! { e } *f = match g { _ => h }; i"),
            ["if a { b } else { c }", "b", "c", "d! { e }", "e", "*f = match g { _ => h };", "_ => h", "i"]
        );
    }

    #[test]
    fn struct_literals_are_data_but_closures_in_them_are_not() {
        assert_eq!(pieces("let a = B { c: |d| { e; f } };"), ["let a = B { c: |d| { e; f } };", "e;", "f"]);
        assert_eq!(pieces("if let A { b } = c { d }"), ["if let A { b } = c { d }", "d"]);
    }

    #[test]
    fn match_arms_are_units_with_or_without_a_comma() {
        assert_eq!(
            pieces("match a { B { c } => {} D if e => f::<G, H>(), _ => if i { j } else { k } L => m }"),
            [
                "match a { B { c } => {} D if e => f::<G, H>(), _ => if i { j } else { k } L => m }",
                "B { c } => {}",
                "D if e => f::<G, H>()",
                "_ => if i { j } else { k }",
                "j",
                "k",
                "L => m"
            ]
        );
    }

    #[test]
    fn attributes_belong_to_what_follows() {
        assert_eq!(
            pieces("#![a] #[b] #[c] struct D<E> where E: F, { #[g] h: I<J, K>, l: M }"),
            ["#![a]", "#[b] #[c] struct D<E> where E: F, { #[g] h: I<J, K>, l: M }", "#[g] h: I<J, K>", "l: M"]
        );
    }

    #[test]
    fn imports_and_tests_are_flagged() {
        assert_eq!(
            pieces("pub(crate) use a::{b, c}; mod d; extern crate e; mod f {}"),
            ["i pub(crate) use a::{b, c};", "i mod d;", "i extern crate e;", "mod f {}"]
        );
        assert_eq!(
            pieces("#[cfg(test)] mod t {} #[tokio::test] async fn f() {} #[cfg(not(test))] fn g() {}"),
            ["t #[cfg(test)] mod t {}", "t #[tokio::test] async fn f() {}", "#[cfg(not(test))] fn g() {}"]
        );
    }

    #[test]
    fn every_prefix_of_anything_is_lexed_in_order() {
        let src = "#!/bin/x\n#![a]#[b(c]) fn f<'a>(x: &'a [u8; 3]) -> ! { r##\"a\"# \"##; b'\\x41'; 'é' '\\u{1F600}'; \
                   /* /* */ */ match x.0.1 { 1..=2 if y => {} _ => z!{ $($a:tt),* } } } 0b1_0u8 1e+ 1.e \"\\\n }}})]";
        for end in 0..=src.len() {
            let bytes = &src.as_bytes()[..end];
            let mut out = Lexed::default();
            lex(bytes, &mut out);
            units(bytes, &mut out);
            assert!(out.tokens.iter().all(|t| t.start < t.end && t.end as usize <= end));
            assert!(out.tokens.windows(2).all(|pair| pair[0].end <= pair[1].start));
        }
    }
}
