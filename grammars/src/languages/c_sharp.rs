//! C#: table, fast lexer, structure.
//!
//! Accepted differences between the lexer and tree-sitter's leaves: see `DIFFERENCES`.
//!
//! Lines that the compiler reads and the program does not hold (`#region`, `#pragma`, `#nullable` …) count as comments;
//! conditionals (`#if` … `#endif`) are tokens, and both of their branches are code.

use std::sync::LazyLock;

use crate::alphabet::{Alphabet, table, word};
use crate::braces::{self, Body, Context, Directive, End, Rules};
use crate::leaves::Syntax;
use crate::optional::Optional;
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
        splits: &[(">>", &[">", ">"]), (">>>", &[">", ">", ">"]), (">>=", &[">", ">="]), (">>>=", &[">", ">", ">="])],
    },
    optional: Optional::COMMAS,
    lexer: Some(Lexer { lex, units, alphabet, differences: DIFFERENCES }),
    is_test,
    cache: Cache::new(),
};

const DIFFERENCES: &[Difference] = &[
    Difference {
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
    },
    Difference {
        name: "cast of an address",
        reason: "the grammar takes `(a) && b` for a cast of the address of an address",
        applies: |place| matches!(place.text(), b"&&" | b"&") && place.kinds.get(1) == Some(&"prefix_unary_expression"),
    },
    Difference {
        name: "default as a name",
        reason: "the grammar takes the reserved word for a name where it knows no better (`where T : default`)",
        applies: |place| place.text() == b"default" && place.kinds.first() == Some(&"identifier"),
    },
];

/// Reserved words and operators. The types (`int`, `string`), the constants (`true`, `null`) and the words that are
/// reserved in places only (`async`, `record`, `where`, `get`) count as names.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "abstract", "as", "base", "break", "case", "catch", "checked", "class", "const", "continue", "default",
    "delegate", "do", "else", "enum", "event", "explicit", "extern", "finally", "fixed", "for", "foreach", "goto",
    "if", "implicit", "in", "interface", "internal", "is", "lock", "namespace", "new", "operator", "out",
    "override", "params", "private", "protected", "public", "readonly", "ref", "return", "sealed", "sizeof",
    "stackalloc", "static", "struct", "switch", "this", "throw", "try", "typeof", "unchecked", "unsafe", "using",
    "virtual", "volatile", "while", "#if", "#elif", "#else", "#endif", "+", "-", "*", "/", "%", "&", "|", "^", "~",
    "!", "<", ">", "=", "==", "!=", "<=", ">=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=",
    "^=", "<<", "<<=", "?", "??", "??=", "=>", "->", "::", "..",
];

const IF_LINE: Code = word!("#if");
const ELIF_LINE: Code = word!("#elif");
const ELSE_LINE: Code = word!("#else");
const ENDIF_LINE: Code = word!("#endif");
const ASSIGN: Code = word!("=");
const ARROW: Code = word!("=>");
const CASE: Code = word!("case");
const CLASS: Code = word!("class");
const DEFAULT: Code = word!("default");
const DELEGATE: Code = word!("delegate");
const GREATER: Code = word!(">");
const LESS: Code = word!("<");
const NAMESPACE: Code = word!("namespace");
const STRUCT: Code = word!("struct");
const SWITCH: Code = word!("switch");
const USING: Code = word!("using");
const WHILE: Code = word!("while");

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
            b if b.is_ascii_digit() || (b == b'.' && s.peek(1).is_ascii_digit()) => {
                // A dot belongs to it only before a digit: `1.ToString()`, `1..2`.
                s.number_with(|after_dot| after_dot.is_ascii_digit());
            }
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
    /// No string has more marks before its quotes, and a long row of them must not be read again from each.
    const MARKS: usize = 64;
    let mut at = 0;
    let (mut dollars, mut verbatim) = (0, false);
    while let Some(&b) = rest[..rest.len().min(MARKS)].get(at) {
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
                    let n = if top.quotes == 0 { 1 } else { run(at, b'"') };
                    let closes = match top.quotes {
                        0 => true,
                        1 => n % 2 == 1,
                        quotes => n == quotes,
                    };
                    at += n;
                    if closes {
                        open.pop();
                    }
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
                at += src[at..].iter().take(top.dollars.max(1)).take_while(|&&c| c == b'}').count();
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

/// Behind which an expression stands.
const ASSIGNS: [bool; 256] = table(WORDS, &["=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", "??=", "=>"]);

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
    /// The arm of a switch is past its arrow.
    pub const ARM: usize = 16;
    /// One `<` that no `>` has closed; all bits from here on count them.
    pub const ANGLE: usize = 32;
}

/// Does the token at hand stand directly among the members of a type?
fn in_type(cx: &Context) -> bool {
    cx.noted_around(state::TYPE)
}

impl Rules for CSharpRules {
    fn opens(&self, cx: &Context) -> Body {
        if cx.tokens[cx.at].code != OPEN_BRACE {
            return Body::Opaque;
        }
        let frame = cx.frame();
        let previous = cx.previous();
        match previous {
            Some(ARROW | DELEGATE) => return Body::Statements,
            Some(SWITCH) => return Body::Elements,
            _ => {}
        }
        // `delegate (…) {…}`
        if previous == Some(CLOSE_PAREN)
            && frame.closed_at.and_then(|pair| pair.checked_sub(1)).and_then(|i| cx.code(i)) == Some(DELEGATE)
        {
            return Body::Statements;
        }
        if frame.body != Body::Statements || frame.case || cx.noted(state::EXPRESSION) {
            return Body::Opaque;
        }
        if cx.noted(state::ENUM) { Body::Elements } else { Body::Statements }
    }

    fn note(&self, cx: &Context) -> Option<usize> {
        use state::{ANGLE, ARM, DO, ENUM, EXPRESSION, TYPE};
        const DO_WORD: Code = word!("do");
        const ENUM_WORD: Code = word!("enum");
        const INTERFACE: Code = word!("interface");
        const NEW: Code = word!("new");
        const RETURN: Code = word!("return");
        const THROW: Code = word!("throw");
        let frame = cx.frame();
        let state = frame.note.unwrap_or(0);
        let code = cx.tokens[cx.at].code;
        match frame.body {
            Body::Statements => {}
            Body::Opaque => return None,
            Body::Elements => {
                return Some(match code {
                    ARROW => state | ARM,
                    LESS => state.saturating_add(ANGLE),
                    GREATER if state >= ANGLE => state - ANGLE,
                    _ => state,
                });
            }
        }
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
            _ if ASSIGNS[code as usize] => state | EXPRESSION,
            _ => state,
        };
        Some(state)
    }

    fn ends(&self, cx: &Context) -> End {
        const ELSE: Code = word!("else");
        const CATCH: Code = word!("catch");
        const FINALLY: Code = word!("finally");
        let code = match cx.tokens[cx.at].code {
            // A conditional inside the unit: it may be the last of it, as what it holds would be.
            ENDIF_LINE => cx.previous().unwrap_or(ENDIF_LINE),
            code => code,
        };
        match code {
            SEMICOLON if cx.frame().unit == Some(cx.at) => return End::Before,
            SEMICOLON => {}
            CLOSE_BRACE if cx.frame().closed != Some(Body::Opaque) && !cx.noted(state::EXPRESSION) => {}
            CLOSE_BRACKET if is_global_attribute(cx) => return End::After,
            _ => return End::Not,
        }
        match cx.next() {
            Some(ELSE) => End::Not,
            Some(CATCH | FINALLY) if code == CLOSE_BRACE => End::Not,
            // `int Property { get; } = 1;`
            Some(ASSIGN) if code == CLOSE_BRACE => End::Not,
            Some(WHILE) if cx.noted(state::DO) => End::Not,
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

    /// In the arms of a switch, a comma may stand in a pattern's type or between type arguments.
    fn separates(&self, cx: &Context) -> bool {
        let frame = cx.frame();
        if frame.open.and_then(|i| i.checked_sub(1)).and_then(|i| cx.code(i)) != Some(SWITCH) {
            return true;
        }
        let state = frame.note.unwrap_or(0);
        state & state::ARM != 0 && !(state >= state::ANGLE && in_type_arguments(cx))
    }

    fn directive(&self, cx: &Context) -> Option<(Directive, usize)> {
        let Token { code, line, .. } = cx.tokens[cx.at];
        let directive = match code {
            IF_LINE => Directive::If,
            ELIF_LINE | ELSE_LINE => Directive::Else,
            ENDIF_LINE => return Some((Directive::EndIf, cx.at + 1)),
            _ => return None,
        };
        let length = cx.tokens[cx.at..].iter().take_while(|token| token.line == line).count();
        Some((directive, cx.at + length))
    }

    fn flags(&self, cx: &Context, start: usize, end: usize) -> u8 {
        match cx.code(start) {
            Some(USING) if is_using_directive(cx, start) => Unit::IMPORT,
            Some(IDENTIFIER) if cx.code(start + 1) == Some(USING) && cx.text(start) == b"global" => Unit::IMPORT,
            Some(NAMESPACE) if cx.code(end.saturating_sub(1)) == Some(SEMICOLON) => Unit::IMPORT,
            Some(code) if code == word!("extern") && cx.text(start + 1) == b"alias" => Unit::IMPORT,
            _ if is_test(cx.src, &cx.tokens[start..end]) => Unit::TEST,
            _ => 0,
        }
    }
}

/// Do the tokens behind the comma at hand go on as type arguments do, up to their `>` and what may follow it?
fn in_type_arguments(cx: &Context) -> bool {
    /// Longer lists of type arguments than this are taken for comparisons.
    const LONGEST: usize = 64;
    let mut depth = 0usize;
    for i in cx.at + 1..cx.at + LONGEST {
        match cx.code(i) {
            Some(LESS) => depth += 1,
            Some(GREATER) if depth > 0 => depth -= 1,
            Some(GREATER) => {
                return matches!(cx.code(i + 1), Some(OPEN_PAREN | DOT | OPEN_BRACE | COMMA | GREATER | CLOSE_BRACE));
            }
            Some(IDENTIFIER | DOT | COMMA | OPEN_BRACKET | CLOSE_BRACKET | OPEN_PAREN | CLOSE_PAREN) => {}
            Some(code) if code == word!("?") || code == word!("::") || code == word!("*") => {}
            _ => return false,
        }
    }
    false
}

/// `[assembly: …]` belongs to nothing that follows it.
fn is_global_attribute(cx: &Context) -> bool {
    let Some(start) = cx.frame().unit else { return false };
    cx.frame().closed_at == Some(start)
        && cx.code(start + 2) == Some(COLON)
        && matches!(cx.text(start + 1), b"assembly" | b"module")
}

/// `using A.B;`, `using static A;`, `using A = B;`, but neither `using (…)` nor `using var a = …`.
fn is_using_directive(cx: &Context, start: usize) -> bool {
    let mut at = start + 1;
    while matches!(cx.code(at), Some(code) if code == word!("static") || code == word!("unsafe")) {
        at += 1;
    }
    if at > start + 1 {
        return true;
    }
    while cx.code(at) == Some(IDENTIFIER) {
        match cx.code(at + 1) {
            Some(SEMICOLON | ASSIGN) => return true,
            Some(code) if code == DOT || code == word!("::") => at += 2,
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
    let tokens = &tokens[..tokens.len().min(REACH)];
    let tokens = match tokens.first() {
        Some(first) if first.code == OPEN_BRACKET => tokens,
        // `#if …` above the attributes.
        Some(first) if first.code == IF_LINE => &tokens[tokens.partition_point(|token| token.line == first.line)..],
        _ => return false,
    };
    let mut depth = 0usize;
    for (i, token) in tokens.iter().enumerate() {
        match token.code {
            OPEN_BRACKET if depth == 0 => depth = 1,
            OPEN_BRACKET | OPEN_PAREN | OPEN_BRACE => depth += 1,
            CLOSE_BRACKET | CLOSE_PAREN | CLOSE_BRACE => depth = depth.saturating_sub(1),
            ENDIF_LINE => {}
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn lexed(src: &str) -> Lexed {
        fixture::lexed(&C_SHARP, src)
    }

    fn tokens(src: &str) -> Vec<&str> {
        fixture::texts(&C_SHARP, src)
    }

    fn pieces(src: &str) -> Vec<(&str, u8)> {
        fixture::pieces(&C_SHARP, src)
    }

    fn texts(src: &str) -> Vec<&str> {
        pieces(src).into_iter().map(|(text, _)| text).collect()
    }

    #[test]
    fn a_string_of_any_kind_is_one_token() {
        for string in [
            r#""a \" b""#,
            r#"@"a "" \""#,
            r#"$"a {b} {{c}} {d:hh':'mm}""#,
            r#"$"a {f(x ? "}" : $"{y}")} b""#,
            r#"$@"a "" \{x}""#,
            r#"@$"{x["k"]}""#,
            r#"$"{'"'}{x /* " */}""#,
            "\"\"\"a \"\" b\"\"\"",
            "$$\"\"\"a {b} {{c}} {{{d}}} \"\"\"",
            "\"a\"u8",
            r#"$"{a::B.c}""#,
        ] {
            let src = format!("x({string});");
            assert_eq!(tokens(&src), ["x", "(", string, ")", ";"]);
        }
    }

    #[test]
    fn an_open_string_costs_one_line() {
        assert_eq!(tokens("a = \"b;\nc = $\"d;\ne"), ["a", "=", "\"b;", "c", "=", "$\"d;", "e"]);
    }

    #[test]
    fn a_number_takes_a_dot_only_before_a_digit() {
        assert_eq!(tokens("1.5e-3f + 1..2 + 0xE+1"), ["1.5e-3f", "+", "1", "..", "2", "+", "0xE", "+", "1"]);
    }

    #[test]
    fn lines_for_the_compiler_are_no_tokens_but_conditionals_are() {
        let src = "#region it's\n# if A\n#pragma warning disable\nx\n#endif";
        assert_eq!(tokens(src), ["# if", "A", "x", "#endif"]);
    }

    #[test]
    fn shifts_are_read_as_the_ends_of_type_arguments_are() {
        assert_eq!(tokens("a >>= b>>c"), ["a", ">", ">=", "b", ">", ">", "c"]);
    }

    #[test]
    fn a_property_has_its_accessors_and_its_value() {
        let property = "int A { get; set; } = new B { C = 1 };";
        assert_eq!(
            texts(&format!("class D {{ {property} int E => 1; }}"))[1..],
            [property, "get;", "set;", "int E => 1;"]
        );
    }

    #[test]
    fn braces_of_an_expression_hold_no_units_but_blocks_do() {
        let src = "x = new A { B = y => { f(); } }; if (a is { B: 1 }) { g(); }";
        let expected = ["x = new A { B = y => { f(); } };", "f();", "if (a is { B: 1 }) { g(); }", "g();"];
        assert_eq!(texts(src), expected);
    }

    #[test]
    fn an_arm_of_a_switch_is_a_unit_with_its_type_arguments() {
        let src = "return a switch { D<int, B> d => d, 1 => new D<int, B>(), _ => x < y, };";
        assert_eq!(texts(src)[1..], ["D<int, B> d => d", "1 => new D<int, B>()", "_ => x < y"]);
    }

    #[test]
    fn a_statement_ends_with_its_last_branch() {
        for src in [
            "if (a) b(); else if (c) { d(); } else e();",
            "try { a(); } catch (B) when (c) { } finally { }",
            "do { a(); } while (b);",
            "do a(); while (b);",
            "if (a)\n#if B\nb();\n#else\nc();\n#endif",
        ] {
            assert_eq!(texts(&format!("{src} f();")).first(), Some(&src));
        }
    }

    #[test]
    fn a_conditional_is_a_unit_of_units_and_each_alternative_too() {
        let src = "#if A\na();\n#elif B || C\nb();\n#else\nc();\n#endif\nd();";
        let expected =
            [&src[..src.len() - 5], "a();", "#elif B || C\nb();\n#else\nc();", "b();", "#else\nc();", "c();", "d();"];
        assert_eq!(texts(src), expected);
    }

    #[test]
    fn a_conditional_attribute_belongs_to_the_member() {
        let src = "class A {\n#if X\n[B]\n#endif\nvoid C() { } }";
        assert_eq!(texts(src)[1..], ["#if X\n[B]\n#endif\nvoid C() { }"]);
    }

    #[test]
    fn imports_and_tests_are_told_by_their_first_words() {
        let flags = |src: &'static str| pieces(src)[0].1;
        for src in
            ["using A.B;", "using static A;", "using A = B;", "global using A;", "namespace A;", "extern alias a;"]
        {
            assert_eq!(flags(src), Unit::IMPORT, "{src}");
        }
        for src in [
            "using (a) { }",
            "using var a = b;",
            "using A a = b;",
            "namespace A { }",
            "[Obsolete(\"Test\")] void A() { }",
        ] {
            assert_eq!(flags(src), 0, "{src}");
        }
        for src in [
            "[Test] void A() { }",
            "[A.TestCase(1)] void A() { }",
            "[B, Fact] void A() { }",
            "[B(1)][TheoryAttribute] void A() { }",
        ] {
            assert_eq!(flags(src), Unit::TEST, "{src}");
        }
    }

    #[test]
    fn any_prefix_of_any_file_is_read() {
        let src = "\u{FEFF}#if A\nusing B;[assembly: C]\n#else\nclass @class<T> where T : new() { int d = 1.0e-1; char e = '\\''; \
            string f => $@\"g{h[\"i\"]:j}{{\" + $$\"\"\"{{k}}\"\"\" + @\"l\"\"\"; void M() { switch (n) { case O { P: 1 }: goto default; \
            default: q(delegate (int r) { return s switch { < 1 => t, _ => u }; }); break; } } } // é\n#endif\n/* v */ enum W { X = 1 }";
        fixture::reads_every_prefix(&C_SHARP, src);
    }

    /// Without the bounds that this checks, it would run for minutes.
    #[test]
    fn hostile_text_takes_no_more_than_linear_time() {
        const N: usize = 100_000;
        for (a, b) in [
            ("(", "]"),
            ("{", ")"),
            ("$\"{", ""),
            ("$", ""),
            ("@\"", "\""),
            ("[", "}"),
            ("#if A\n(", "#endif\n"),
            ("(", "\n#else\n"),
        ] {
            let src = a.repeat(N) + &b.repeat(N);
            lexed(&src);
        }
    }
}
