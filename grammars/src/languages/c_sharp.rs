//! C#: table, fast lexer, structure.
//!
//! Accepted differences between the lexer and tree-sitter's leaves: see `DIFFERENCES`.
//!
//! Lines that the compiler reads and the program does not hold (`#region`, `#pragma`, `#nullable` …) count as comments;
//! conditionals (`#if` … `#endif`) are tokens, and both of their branches are code.

use std::sync::LazyLock;

use crate::alphabet::{Alphabet, code_of};
use crate::braces::{self, Body, Context, Directive, End, Rules};
use crate::leaves::Syntax;
use crate::scan::{Scanner, is_name};
use crate::token::{
    CHARACTER, CLOSE_BRACE, CLOSE_BRACKET, CLOSE_PAREN, COLON, COMMA, Code, Comment, DOT, IDENTIFIER, Lexed, NUMBER,
    OPEN_BRACE, OPEN_BRACKET, OPEN_PAREN, SEMICOLON, STRING, Token, Unit,
};
use crate::{Cache, Difference, Language, Lexer, parsers};

pub static C_SHARP: Language = Language {
    name: "c-sharp",
    family: "c-sharp",
    extensions: &["cs", "csx"],
    file_names: &[],
    shebangs: &["dotnet-script"],
    line_comment: "//",
    block_comment: Some(("/*", "*/")),
    grammar: parsers::c_sharp,
    syntax: Syntax {
        atoms: &[
            ("identifier", IDENTIFIER),
            ("predefined_type", IDENTIFIER),
            ("implicit_parameter", IDENTIFIER),
            ("integer_literal", NUMBER),
            ("real_literal", NUMBER),
            ("character_literal", CHARACTER),
            ("string_literal", STRING),
            ("verbatim_string_literal", STRING),
            ("raw_string_literal", STRING),
            ("interpolated_string_expression", STRING),
        ],
        comments: &[
            "comment",
            "shebang_directive",
            "preproc_region",
            "preproc_endregion",
            "preproc_line",
            "preproc_pragma",
            "preproc_nullable",
            "preproc_error",
            "preproc_warning",
            "preproc_define",
            "preproc_undef",
        ],
        lists: &[
            "compilation_unit",
            "declaration_list",
            "enum_member_declaration_list",
            "accessor_list",
            "block",
            "switch_body",
            "switch_section",
            "switch_expression",
            "preproc_if",
            "preproc_elif",
            "preproc_else",
        ],
        imports: &["using_directive", "extern_alias_directive", "file_scoped_namespace_declaration"],
        splits: &[
            (">>", &[">", ">"]),
            (">>>", &[">", ">", ">"]),
            (">>=", &[">", ">="]),
            (">>>=", &[">", ">", ">="]),
        ],
    },
    lexer: Some(Lexer { lex, units, alphabet, differences: DIFFERENCES }),
    is_test,
    cache: Cache::new(),
};

const DIFFERENCES: &[Difference] = &[Difference {
    name: "semicolon after a body",
    reason: "the grammar reads the `;` of `class A { };` as part of a hidden node, and so has no leaf for it",
    applies: |place| {
        const DECLARATIONS: [&str; 6] = [
            "namespace_declaration",
            "class_declaration",
            "struct_declaration",
            "interface_declaration",
            "enum_declaration",
            "record_declaration",
        ];
        place.text() == b";" && place.kinds.first().is_some_and(|kind| DECLARATIONS.contains(kind))
    },
}];

/// Reserved words and operators. The types (`int`, `string`), the constants (`true`, `null`) and the words that are
/// reserved in places only (`async`, `record`, `where`, `get`) count as names.
const WORDS: &[&str] = &[
    "abstract", "as", "base", "break", "case", "catch", "checked", "class", "const", "continue", "default", "delegate",
    "do", "else", "enum", "event", "explicit", "extern", "finally", "fixed", "for", "foreach", "goto", "if",
    "implicit", "in", "interface", "internal", "is", "lock", "namespace", "new", "operator", "out", "override",
    "params", "private", "protected", "public", "readonly", "ref", "return", "sealed", "sizeof", "stackalloc",
    "static", "struct", "switch", "this", "throw", "try", "typeof", "unchecked", "unsafe", "using", "virtual",
    "volatile", "while", "#if", "#elif", "#else", "#endif", "+", "-", "*", "/", "%", "&", "|", "^", "~", "!", "<",
    ">", "=", "==", "!=", "<=", ">=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<",
    "<<=", "?", "??", "??=", "=>", "->", "::", "..",
];

const fn word(spelling: &str) -> Code {
    code_of(WORDS, spelling)
}

const IF_LINE: Code = word("#if");
const ELIF_LINE: Code = word("#elif");
const ELSE_LINE: Code = word("#else");
const ENDIF_LINE: Code = word("#endif");
const ASSIGN: Code = word("=");
const ARROW: Code = word("=>");
const CASE: Code = word("case");
const CLASS: Code = word("class");
const DEFAULT: Code = word("default");
const DELEGATE: Code = word("delegate");
const NAMESPACE: Code = word("namespace");
const STRUCT: Code = word("struct");
const SWITCH: Code = word("switch");
const USING: Code = word("using");
const WHILE: Code = word("while");

fn alphabet() -> &'static Alphabet {
    static ALPHABET: LazyLock<Alphabet> = LazyLock::new(|| Alphabet::new(WORDS));
    &ALPHABET
}

fn lex(src: &[u8], out: &mut Lexed) {
    let mut s = Scanner::new(src, alphabet(), out);
    let mut open = Vec::new();
    loop {
        s.blanks();
        if s.done() {
            break;
        }
        match s.peek(0) {
            b'/' if s.peek(1) == b'/' => s.line_comment(),
            b'/' if s.peek(1) == b'*' => s.block_comment(2, b"*/"),
            b'"' | b'$' | b'@' if string(&mut s, &mut open) => {}
            b'\'' => s.quoted(b'\'', false),
            b'#' => directive(&mut s),
            b if b.is_ascii_digit() || (b == b'.' && s.peek(1).is_ascii_digit()) => number(&mut s),
            b'@' if is_name(s.peek(1)) => {
                let start = s.at;
                s.at += 1;
                while is_name(s.peek(0)) && !s.done() {
                    s.at += 1;
                }
                s.emit(IDENTIFIER, start, s.line);
            }
            0xC2 if s.peek(1) == 0xA0 => s.at += 2,
            0xE3 if s.rest().starts_with("\u{3000}".as_bytes()) => s.at += 3,
            0xEF if s.rest().starts_with("\u{FEFF}".as_bytes()) => s.at += 3,
            b if is_name(b) => s.word(),
            _ => s.operator(),
        }
    }
}

/// A number: unlike elsewhere, a dot belongs to it only before a digit (`1.ToString()`, `1..2`).
fn number(s: &mut Scanner) {
    let start = s.at;
    let hex = s.peek(0) == b'0' && matches!(s.peek(1), b'x' | b'X');
    while !s.done() {
        let b = s.peek(0);
        if !hex && matches!(b, b'e' | b'E') && matches!(s.peek(1), b'+' | b'-') {
            s.at += 2;
        } else if is_name(b) || (b == b'.' && s.peek(1).is_ascii_digit()) {
            s.at += 1;
        } else {
            break;
        }
    }
    s.emit(NUMBER, start, s.line);
}

/// A line that starts with `#`: a conditional is a token, of any other the whole line is a comment.
fn directive(s: &mut Scanner) {
    let (start, line) = (s.at, s.line);
    s.at += 1;
    while matches!(s.peek(0), b' ' | b'\t') {
        s.at += 1;
    }
    let name = s.at;
    while s.peek(0).is_ascii_alphanumeric() {
        s.at += 1;
    }
    let code = match &s.src[name..s.at] {
        b"if" => IF_LINE,
        b"elif" => ELIF_LINE,
        b"else" => ELSE_LINE,
        b"endif" => ENDIF_LINE,
        _ => {
            let end = memchr::memchr(b'\n', s.rest()).map_or(s.src.len(), |len| s.at + len);
            let text = s.src[start..end].trim_ascii_end();
            s.out.comments.push(Comment { start: start as u32, end: (start + text.len()) as u32, line });
            s.at = end;
            return;
        }
    };
    s.emit(code, start, line);
}

/// A string that is being read, and where in it.
struct Open {
    /// 0: backslashes escape, and a line end ends it. 1: `@`, quotes are doubled. 3 and more: that many quotes end it.
    quotes: usize,
    /// How many braces open a hole; 0 if it has none.
    dollars: usize,
    /// Brackets that are open in the hole at hand; `None` in the text.
    hole: Option<usize>,
}

/// The start of a string, if there is one here: the string, and the length of what opens it.
fn opening(rest: &[u8]) -> Option<(Open, usize)> {
    let mut at = 0;
    let (mut dollars, mut verbatim) = (0, false);
    while let Some(&b) = rest.get(at) {
        match b {
            b'$' => dollars += 1,
            b'@' if !verbatim => verbatim = true,
            b'"' => break,
            _ => return None,
        }
        at += 1;
    }
    let quotes = rest[at..].iter().take_while(|&&b| b == b'"').count();
    let (quotes, len) = match quotes {
        0 => return None,
        _ if verbatim => (1, 1),
        1 | 2 => (0, 1),
        n => (n, n),
    };
    Some((Open { quotes, dollars, hole: None }, at + len))
}

/// A string of any kind, with the strings in its holes, as one token. Says no if none starts here.
fn string(s: &mut Scanner, open: &mut Vec<Open>) -> bool {
    let Some((first, len)) = opening(s.rest()) else { return false };
    let start = s.at;
    open.clear();
    open.push(first);
    let end = string_end(s.src, s.at + len, open);
    let line = s.line;
    s.to(end);
    // `"…"u8` is a string of bytes.
    if matches!(s.peek(0), b'u' | b'U') && s.peek(1) == b'8' && !is_name(s.peek(2)) {
        s.at += 2;
    }
    s.emit(STRING, start, line);
    true
}

/// Where the strings end that are `open` at the byte `at`: one pass, no recursion.
fn string_end(src: &[u8], mut at: usize, open: &mut Vec<Open>) -> usize {
    let run = |at: usize, b: u8| src[at.min(src.len())..].iter().take_while(|&&c| c == b).count();
    while let Some(top) = open.last_mut() {
        let Some(&b) = src.get(at) else { break };
        let Some(depth) = &mut top.hole else {
            // Text.
            match b {
                b'"' => {
                    let n = run(at, b'"');
                    let closes = match top.quotes {
                        0 => 1,
                        1 if n >= 2 => {
                            at += 2;
                            continue;
                        }
                        1 => 1,
                        quotes if n == quotes => n,
                        _ => {
                            at += n;
                            continue;
                        }
                    };
                    at += closes;
                    open.pop();
                    continue;
                }
                b'\\' if top.quotes == 0 => at += 1,
                b'\n' if top.quotes == 0 => return at,
                b'{' if top.dollars > 0 => {
                    let n = run(at, b'{');
                    at += n;
                    // `{{` is a brace, but where several dollars ask for several braces the last of them open.
                    if if top.dollars == 1 && top.quotes < 3 { n % 2 == 1 } else { n >= top.dollars } {
                        top.hole = Some(0);
                    }
                    continue;
                }
                _ => {}
            }
            at += 1;
            continue;
        };
        match b {
            b'(' | b'[' | b'{' => *depth += 1,
            b'}' if *depth == 0 => {
                let n = run(at, b'}').min(top.dollars.max(1));
                at += n;
                top.hole = None;
                continue;
            }
            b')' | b']' | b'}' => *depth = depth.saturating_sub(1),
            b':' if *depth == 0 && src.get(at + 1) == Some(&b':') => at += 1,
            b':' if *depth == 0 => {
                // A format, up to the end of the hole.
                at += memchr::memchr3(b'}', b'"', b'\n', &src[at..]).unwrap_or(src.len() - at);
                if src.get(at) != Some(&b'}') {
                    top.hole = None;
                }
                continue;
            }
            b'\'' => {
                at += character(&src[at..]);
                continue;
            }
            b'/' if src.get(at + 1) == Some(&b'*') => {
                at += memchr::memmem::find(&src[at..], b"*/").map_or(src.len() - at, |i| i + 2);
                continue;
            }
            b'"' | b'$' | b'@' => {
                if let Some((inner, len)) = opening(&src[at..]) {
                    open.push(inner);
                    at += len;
                    continue;
                }
            }
            _ => {}
        }
        at += 1;
    }
    at.min(src.len())
}

/// The length of the character literal at the start of `rest`; one byte if there is none.
fn character(rest: &[u8]) -> usize {
    /// Long enough for `'\U0010FFFF'`.
    const LONGEST: usize = 14;
    let escaped = rest.get(1) == Some(&b'\\');
    let from = if escaped { 3 } else { 2 };
    let body = rest.get(from..rest.len().min(LONGEST)).unwrap_or(&[]);
    memchr::memchr2(b'\'', b'\n', body).filter(|&i| body[i] == b'\'').map_or(1, |i| from + i + 1)
}

fn units(src: &[u8], out: &mut Lexed) {
    braces::units(&CSharpRules, src, out);
}

struct CSharpRules;

/// What [`CSharpRules::note`] remembers of a unit, as bits.
mod state {
    /// A `do` whose `while` is still to come.
    pub const DO: usize = 1;
    /// An expression has begun: its braces are initializers, and the unit ends with a semicolon.
    pub const EXPRESSION: usize = 2;
    /// A type: its braces hold members.
    pub const TYPE: usize = 4;
    /// An enum: its braces hold names.
    pub const ENUM: usize = 8;
}

fn noted(cx: &Context, bit: usize) -> bool {
    cx.frame().note.is_some_and(|state| state & bit != 0)
}

/// Does the token at hand stand directly among the members of a type?
fn in_type(cx: &Context) -> bool {
    cx.frames.len().checked_sub(2).and_then(|i| cx.frames[i].note).is_some_and(|state| state & state::TYPE != 0)
}

impl Rules for CSharpRules {
    fn opens(&self, cx: &Context) -> Body {
        const PARTS: [Code; 2] = [ARROW, DELEGATE];
        if cx.tokens[cx.at].code != OPEN_BRACE {
            return Body::Opaque;
        }
        let frame = cx.frame();
        let previous = cx.previous();
        if previous.is_some_and(|previous| PARTS.contains(&previous)) {
            return Body::Statements;
        }
        if previous == Some(SWITCH) {
            return Body::Elements;
        }
        // `delegate (…) {…}`
        if previous == Some(CLOSE_PAREN)
            && frame.pair.and_then(|pair| pair.checked_sub(1)).and_then(|i| cx.code(i)) == Some(DELEGATE)
        {
            return Body::Statements;
        }
        if frame.body != Body::Statements || frame.case || noted(cx, state::EXPRESSION) {
            return Body::Opaque;
        }
        if noted(cx, state::ENUM) { Body::Elements } else { Body::Statements }
    }

    fn note(&self, cx: &Context) -> Option<usize> {
        use state::{DO, ENUM, EXPRESSION, TYPE};
        const ASSIGNMENTS: [Code; 12] = [
            ASSIGN,
            word("+="),
            word("-="),
            word("*="),
            word("/="),
            word("%="),
            word("&="),
            word("|="),
            word("^="),
            word("<<="),
            word("??="),
            ARROW,
        ];
        const DO_WORD: Code = word("do");
        const ENUM_WORD: Code = word("enum");
        const INTERFACE: Code = word("interface");
        const NEW: Code = word("new");
        const RETURN: Code = word("return");
        const THROW: Code = word("throw");
        let frame = cx.frame();
        if frame.body != Body::Statements {
            return None;
        }
        let state = frame.note.unwrap_or(0);
        let code = cx.tokens[cx.at].code;
        let state = match code {
            SEMICOLON => state & !EXPRESSION,
            DO_WORD => state | DO,
            WHILE => state & !DO,
            ENUM_WORD => state | ENUM,
            // `where T : class, new()`
            CLASS | STRUCT | NEW if matches!(cx.previous(), Some(COLON | COMMA)) => state,
            CLASS | STRUCT | INTERFACE => state | TYPE,
            IDENTIFIER if cx.next() == Some(IDENTIFIER) && cx.text(cx.at) == b"record" => state | TYPE,
            // Among members it hides what is inherited.
            NEW if in_type(cx) => state,
            NEW | RETURN | THROW => state | EXPRESSION,
            _ if ASSIGNMENTS.contains(&code) => state | EXPRESSION,
            _ => state,
        };
        Some(state)
    }

    fn ends(&self, cx: &Context) -> End {
        const ELSE: Code = word("else");
        const CATCH: Code = word("catch");
        const FINALLY: Code = word("finally");
        let code = cx.tokens[cx.at].code;
        match code {
            SEMICOLON if cx.frame().unit == Some(cx.at) => return End::Before,
            SEMICOLON => {}
            CLOSE_BRACE if cx.frame().closed != Some(Body::Opaque) && !noted(cx, state::EXPRESSION) => {}
            CLOSE_BRACKET if is_global_attribute(cx) => return End::After,
            _ => return End::Not,
        }
        match cx.next() {
            Some(ELSE) => End::Not,
            Some(CATCH | FINALLY) if code == CLOSE_BRACE => End::Not,
            // `int Property { get; } = 1;`
            Some(ASSIGN) if code == CLOSE_BRACE => End::Not,
            Some(WHILE) if noted(cx, state::DO) => End::Not,
            _ => End::After,
        }
    }

    fn clause(&self, cx: &Context) -> bool {
        match cx.tokens[cx.at].code {
            CASE => true,
            DEFAULT => cx.next() == Some(COLON),
            _ => false,
        }
    }

    fn directive(&self, cx: &Context) -> Option<Directive> {
        match cx.tokens[cx.at].code {
            IF_LINE => Some(Directive::Open),
            ELIF_LINE | ELSE_LINE => Some(Directive::Other),
            ENDIF_LINE => Some(Directive::Close),
            _ => None,
        }
    }

    fn flags(&self, cx: &Context, start: usize, end: usize) -> u8 {
        match cx.code(start) {
            Some(USING) if is_using_directive(cx, start) => Unit::IMPORT,
            Some(IDENTIFIER) if cx.code(start + 1) == Some(USING) && cx.text(start) == b"global" => Unit::IMPORT,
            Some(NAMESPACE) if cx.code(end.saturating_sub(1)) == Some(SEMICOLON) => Unit::IMPORT,
            Some(code) if code == word("extern") && cx.text(start + 1) == b"alias" => Unit::IMPORT,
            _ if is_test(cx.src, &cx.tokens[start..end]) => Unit::TEST,
            _ => 0,
        }
    }
}

/// `[assembly: …]` belongs to nothing that follows it.
fn is_global_attribute(cx: &Context) -> bool {
    let Some(start) = cx.frame().unit else { return false };
    cx.frame().pair == Some(start)
        && cx.code(start + 2) == Some(COLON)
        && matches!(cx.text(start + 1), b"assembly" | b"module")
}

/// `using A.B;`, `using static A;`, `using A = B;`, but neither `using (…)` nor `using var a = …`.
fn is_using_directive(cx: &Context, start: usize) -> bool {
    let mut at = start + 1;
    while matches!(cx.code(at), Some(code) if code == word("static") || code == word("unsafe")) {
        at += 1;
    }
    if at > start + 1 {
        return true;
    }
    while cx.code(at) == Some(IDENTIFIER) {
        match cx.code(at + 1) {
            Some(SEMICOLON | ASSIGN) => return true,
            Some(code) if code == DOT || code == word("::") => at += 2,
            _ => return false,
        }
    }
    false
}

/// What NUnit, xUnit and MSTest write above their methods and classes.
const TESTS: [&[u8]; 28] = [
    b"Test",
    b"TestCase",
    b"TestCaseSource",
    b"TestFixture",
    b"TestFixtureSource",
    b"SetUp",
    b"TearDown",
    b"OneTimeSetUp",
    b"OneTimeTearDown",
    b"SetUpFixture",
    b"UnityTest",
    b"UnitySetUp",
    b"UnityTearDown",
    b"InlineData",
    b"MemberData",
    b"ClassData",
    b"TestClass",
    b"TestMethod",
    b"DataTestMethod",
    b"DataRow",
    b"TestInitialize",
    b"TestCleanup",
    b"ClassInitialize",
    b"ClassCleanup",
    b"AssemblyInitialize",
    b"AssemblyCleanup",
    b"CollectionDefinition",
    b"AsyncTest",
];

/// How many tokens of a unit are looked at for an attribute that makes it a test.
const REACH: usize = 64;

/// Does it start with a test's attribute? `[Fact]` and `[Theory]` have kinds of their own in many projects.
fn is_test(src: &[u8], tokens: &[Token]) -> bool {
    if tokens.first().is_none_or(|t| t.code != OPEN_BRACKET) {
        return false;
    }
    let tokens = &tokens[..tokens.len().min(REACH)];
    let mut depth = 0usize;
    for (i, token) in tokens.iter().enumerate() {
        match token.code {
            OPEN_BRACKET if depth == 0 => depth = 1,
            OPEN_BRACKET | OPEN_PAREN | OPEN_BRACE => depth += 1,
            CLOSE_BRACKET | CLOSE_PAREN | CLOSE_BRACE => depth = depth.saturating_sub(1),
            _ if depth == 0 => return false,
            // The last part of the attribute's name.
            IDENTIFIER if depth == 1 && tokens.get(i + 1).is_none_or(|next| next.code != DOT) => {
                let text = &src[token.start as usize..token.end as usize];
                let text = text.strip_suffix(b"Attribute").unwrap_or(text);
                if TESTS.contains(&text) || text.ends_with(b"Fact") || text.ends_with(b"Theory") {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}
