//! What C and C++ share: one alphabet, one lexer, one set of structure rules.
//!
//! The preprocessor's lines are tokens like all others, and their ends are marks ([`Lexed::marks`]): a directive is a
//! unit of its own, and conditional lines do not upset the brackets around them.
//! `>>` is always two tokens, since only a parser knows whether it shifts or closes template arguments.

use std::sync::LazyLock;

use crate::Difference;
use crate::alphabet::{Alphabet, word};
use crate::scan::{Scanner, is_name};
use crate::token::{
    CHARACTER, CLOSE_BRACKET, CLOSE_PAREN, COLON, Code, Comment, IDENTIFIER, Lexed, NUMBER, OPEN_PAREN, STRING, Token,
    varies,
};

mod structure;

pub use structure::units;

/// Names of types and other contextual words are no keywords: they count as names.
#[rustfmt::skip]
pub const WORDS: &[&str] = &[
    "#include", "#define", "#if", "#ifdef", "#ifndef", "#elif", "#elifdef", "#elifndef", "#else", "#endif",
    "#directive",
    "break", "case", "const", "constexpr", "continue", "default", "do", "else", "enum", "extern", "for", "goto", "if",
    "inline", "register", "restrict", "return", "sizeof", "static", "struct", "switch", "typedef", "union", "volatile",
    "while",
    // C++ only, from `class` to `co_yield`
    "class", "namespace", "template", "typename", "public", "private", "protected", "virtual", "friend", "using",
    "new", "delete", "throw", "try", "catch", "operator", "explicit", "mutable", "noexcept", "decltype", "concept",
    "requires", "consteval", "constinit", "co_await", "co_return", "co_yield",
    "+", "-", "*", "/", "%", "^", "&", "|", "~", "!", "=", "<", ">", "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=",
    "<<", "<<=", "==", "!=", "<=", ">=", "<=>", "&&", "||", "++", "--", "->", "->*", ".*", "::", "...", "?", "#", "##",
    "@", "\\",
];

const CPP_ONLY: std::ops::RangeInclusive<Code> = word!("class")..=word!("co_yield");

pub fn alphabet() -> &'static Alphabet {
    static ALPHABET: LazyLock<Alphabet> = LazyLock::new(|| Alphabet::new(WORDS));
    &ALPHABET
}

pub const DIFFERENCES: &[Difference] = &[
    Difference {
        name: "directive text",
        reason: "the grammar takes the rest of a directive's line as one leaf",
        applies: |place| place.inside("preproc_arg"),
    },
    Difference {
        name: "stray directive",
        reason: "an `#endif` or `#else` without its `#if` is any directive to the grammar",
        applies: |place| place.inside("preproc_directive"),
    },
    Difference {
        name: "pure virtual",
        reason: "the grammar has no node for the `0` of `= 0`, for which it also takes some assignments",
        applies: |place| place.kinds.first() == Some(&"pure_virtual_clause"),
    },
    Difference {
        name: "signed number",
        reason: "whether a sign is part of a number depends on what the grammar takes the tokens before it for",
        applies: |place| {
            let sign = |b: &u8| matches!(b, b'-' | b'+');
            place.text().first().is_some_and(sign)
                || (place.text()[0].is_ascii_digit() || place.text()[0] == b'.')
                    && place.start.checked_sub(1).is_some_and(|i| sign(&place.src[i]))
        },
    },
    Difference {
        name: "header in C++",
        reason: "a header that is C++ is read as such, whatever its name says",
        applies: |place| {
            let cpp = alphabet().code(place.text()).is_some_and(|code| CPP_ONLY.contains(&code));
            cpp && place.kinds.first().is_some_and(|kind| kind.ends_with("identifier"))
                && dialect_of(place.src) == Dialect::Cpp
        },
    },
    Difference {
        name: "address of an address",
        reason: "the grammar may read `(a) && b` as a cast of `& &b`",
        applies: |place| matches!(place.text(), b"&" | b"&&") && place.inside("pointer_expression"),
    },
    Difference {
        name: "name of a literal operator",
        reason: "in `operator\"\"_x` the grammar has quotes where the lexer sees a string",
        applies: |place| place.inside("operator_name") && place.text().starts_with(b"\""),
    },
    Difference {
        name: "empty operands of assembly",
        reason: "in `asm(\"\" :: \"r\"(x))` the two colons are separate",
        applies: |place| place.inside("gnu_asm_expression") && place.text().starts_with(b":"),
    },
];

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    C,
    Cpp,
}

/// The dialect of a file whose name says C: many headers named so are C++.
/// A line that only C++ can have tells; everything else is C.
pub fn dialect_of(src: &[u8]) -> Dialect {
    let mut rest = src;
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = &rest[..end];
        rest = &rest[(end + 1).min(rest.len())..];
        let blanks = line.iter().take_while(|&&b| matches!(b, b' ' | b'\t')).count();
        if let Some(b't' | b'n' | b'c' | b'p') = line.get(blanks)
            && is_cpp_line(line[blanks..].trim_ascii_end())
        {
            return Dialect::Cpp;
        }
    }
    Dialect::C
}

fn is_cpp_line(line: &[u8]) -> bool {
    if let Some(rest) = line.strip_prefix(b"template") {
        return rest.trim_ascii_start().first() == Some(&b'<');
    }
    let named = line.strip_prefix(b"namespace").or_else(|| line.strip_prefix(b"class"));
    match named {
        Some(rest) => rest.starts_with(b" ") && rest.ends_with(b"{"),
        None => matches!(line, b"public:" | b"private:" | b"protected:"),
    }
}

pub fn lex(dialect: Dialect, src: &[u8], out: &mut Lexed) {
    let mut s = Scanner::new(src, alphabet(), out);
    // Has the line no token yet, so that a `#` starts a directive? Are we in one?
    let (mut fresh, mut directive) = (true, false);
    loop {
        let ended = blanks(&mut s);
        if ended {
            fresh = true;
            if directive {
                directive = false;
                s.out.marks.push(s.out.tokens.len() as u32);
            }
        }
        if s.done() {
            break;
        }
        match s.peek(0) {
            b'/' if s.peek(1) == b'/' => {
                line_comment(&mut s);
                continue;
            }
            b'/' if s.peek(1) == b'*' => {
                s.block_comment(2, b"*/");
                continue;
            }
            b'#' if fresh => {
                start_directive(&mut s);
                directive = true;
            }
            b'"' => string(&mut s, 0),
            b'\'' => string(&mut s, 0),
            b if b.is_ascii_digit() => number(&mut s),
            b'.' if s.peek(1).is_ascii_digit() => number(&mut s),
            b'-' | b'+' if is_signed(&s) => number(&mut s),
            b if is_name(b) || b == b'$' => name(&mut s, dialect),
            b':' if dialect == Dialect::C => {
                let start = s.at;
                s.at += 1;
                s.emit(COLON, start, s.line);
            }
            _ => s.operator(),
        }
        fresh = false;
    }
    if directive {
        s.out.marks.push(s.out.tokens.len() as u32);
    }
}

/// Skips blanks, line ends and joined lines. Did a line end that is not joined with the next?
fn blanks(s: &mut Scanner) -> bool {
    let mut ended = false;
    while let Some(&b) = s.src.get(s.at) {
        match b {
            b'\n' => {
                ended = true;
                s.line += 1;
            }
            b' ' | b'\t' | b'\r' | 0x0b | 0x0c => {}
            b'\\' if s.peek(1) == b'\n' => {
                s.line += 1;
                s.at += 1;
            }
            b'\\' if s.peek(1) == b'\r' && s.peek(2) == b'\n' => {
                s.line += 1;
                s.at += 2;
            }
            _ => break,
        }
        s.at += 1;
    }
    ended
}

/// To the end of the line; a backslash there joins the next line to it.
fn line_comment(s: &mut Scanner) {
    let (start, line) = (s.at, s.line);
    let mut at = s.at;
    let end = loop {
        let Some(i) = memchr::memchr(b'\n', &s.src[at..]) else { break s.src.len() };
        let end = at + i;
        let text = s.src[start..end].strip_suffix(b"\r").unwrap_or(&s.src[start..end]);
        if text.last() != Some(&b'\\') {
            break end;
        }
        at = end + 1;
    };
    s.to(end);
    let end = if s.src[..end].ends_with(b"\r") { end - 1 } else { end };
    s.out.comments.push(Comment { start: start as u32, end: end as u32, line });
}

/// `#` and the directive's name; after `#include` also a path in angle brackets.
fn start_directive(s: &mut Scanner) {
    let start = s.at;
    s.at += 1;
    while matches!(s.peek(0), b' ' | b'\t') {
        s.at += 1;
    }
    let begin = s.at;
    while is_name(s.peek(0)) {
        s.at += 1;
    }
    let name = &s.src[begin.min(s.src.len())..s.at.min(s.src.len())];
    if name.is_empty() {
        s.at = start + 1;
    }
    let code = match name {
        b"include" => word!("#include"),
        b"define" => word!("#define"),
        b"if" => word!("#if"),
        b"ifdef" => word!("#ifdef"),
        b"ifndef" => word!("#ifndef"),
        b"elif" => word!("#elif"),
        b"elifdef" => word!("#elifdef"),
        b"elifndef" => word!("#elifndef"),
        b"else" => word!("#else"),
        b"endif" => word!("#endif"),
        _ => word!("#directive"),
    };
    s.emit(code, start, s.line);
    if matches!(name, b"include" | b"include_next" | b"import") {
        loop {
            match (s.peek(0), s.peek(1)) {
                (b' ' | b'\t', _) => s.at += 1,
                (b'/', b'*') => s.block_comment(2, b"*/"),
                _ => break,
            }
        }
        if s.peek(0) == b'<'
            && let Some(i) = memchr::memchr2(b'>', b'\n', s.rest())
            && s.peek(i) == b'>'
        {
            let start = s.at;
            s.at += i + 1;
            s.emit(STRING, start, s.line);
        }
    }
}

/// A name or keyword, or what a name directly before quotes makes of them.
#[inline]
fn name(s: &mut Scanner, dialect: Dialect) {
    let start = s.at;
    while s.src.get(s.at).is_some_and(|&b| is_name(b) || b == b'$') {
        s.at += 1;
    }
    let text = &s.src[start..s.at];
    if text.len() <= 3 && matches!(s.peek(0), b'"' | b'\'') {
        let plain = matches!(text, b"L" | b"u" | b"U" | b"u8");
        let raw = s.peek(0) == b'"' && matches!(text, b"R" | b"LR" | b"uR" | b"UR" | b"u8R");
        if plain || (raw && dialect == Dialect::Cpp) {
            let len = text.len();
            s.at = start;
            return if plain { string(s, len) } else { raw_string(s, len) };
        }
    }
    let code = match s.alphabet.code(text) {
        Some(code) if dialect == Dialect::C && CPP_ONLY.contains(&code) => IDENTIFIER,
        Some(code) => code,
        None => IDENTIFIER,
    };
    s.emit(code, start, s.line);
}

/// A string or character with `prefix` bytes before its quote. It ends with the line, unless a backslash joins the next.
fn string(s: &mut Scanner, prefix: usize) {
    let (start, line) = (s.at, s.line);
    let quote = s.peek(prefix);
    let mut at = start + prefix + 1;
    loop {
        let Some(i) = memchr::memchr3(quote, b'\\', b'\n', s.src.get(at..).unwrap_or(&[])) else {
            at = s.src.len();
            break;
        };
        at += i;
        match s.src[at] {
            b'\n' => break,
            b'\\' if s.src[at + 1..].starts_with(b"\r\n") => at += 3,
            b'\\' => at += 2,
            _ => {
                at += 1;
                break;
            }
        }
    }
    s.to(at);
    s.emit(if quote == b'\'' { CHARACTER } else { STRING }, start, line);
}

/// `R"x(…)x"`
fn raw_string(s: &mut Scanner, prefix: usize) {
    /// The standard's limit for the delimiter.
    const LONGEST: usize = 16;
    let (start, line) = (s.at, s.line);
    let body = &s.src[(start + prefix + 1).min(s.src.len())..];
    let Some(len) = body.iter().take(LONGEST + 1).position(|&b| b == b'(') else { return string(s, prefix) };
    let mut close = [0u8; LONGEST + 2];
    close[0] = b')';
    close[1..=len].copy_from_slice(&body[..len]);
    close[len + 1] = b'"';
    let close = &close[..len + 2];
    let end =
        memchr::memmem::find(&body[len..], close).map_or(s.src.len(), |i| start + prefix + 1 + len + i + close.len());
    s.to(end);
    s.emit(STRING, start, line);
}

/// Is the `-` or `+` here the sign of a number? Not between two operands.
fn is_signed(s: &Scanner) -> bool {
    const TYPES: [&[u8]; 21] = [
        b"int",
        b"char",
        b"long",
        b"short",
        b"unsigned",
        b"signed",
        b"float",
        b"double",
        b"bool",
        b"size_t",
        b"ssize_t",
        b"int8_t",
        b"int16_t",
        b"int32_t",
        b"int64_t",
        b"uint8_t",
        b"uint16_t",
        b"uint32_t",
        b"uint64_t",
        b"intptr_t",
        b"uintptr_t",
    ];
    if !(s.peek(1).is_ascii_digit() || (s.peek(1) == b'.' && s.peek(2).is_ascii_digit())) {
        return false;
    }
    let tokens = &s.out.tokens;
    match s.last() {
        None => true,
        Some(CLOSE_PAREN) => {
            // `(int)-1`
            let Some(token) = tokens.len().checked_sub(2).map(|i| tokens[i]) else { return false };
            token.code == word!("*") || TYPES.contains(&&s.src[token.start as usize..token.end as usize])
        }
        Some(code) => !varies(code) && code != CLOSE_BRACKET && code != word!("++") && code != word!("--"),
    }
}

/// A number with its sign, digit separators and standard suffix. Other suffixes are names.
fn number(s: &mut Scanner) {
    let start = s.at;
    if matches!(s.peek(0), b'-' | b'+') {
        s.at += 1;
    }
    let radix = s.peek(0) == b'0' && matches!(s.peek(1), b'x' | b'X' | b'b' | b'B');
    let hex = radix && matches!(s.peek(1), b'x' | b'X');
    if radix {
        s.at += 2;
    }
    let digit = |b: u8| if hex { b.is_ascii_hexdigit() } else { b.is_ascii_digit() };
    let mut dot = false;
    while !s.done() {
        let b = s.peek(0);
        if digit(b) {
            s.at += 1;
        } else if b == b'\'' && digit(s.peek(1)) {
            s.at += 2;
        } else if b == b'.' && !dot && s.peek(1) != b'.' {
            dot = true;
            s.at += 1;
        } else {
            break;
        }
    }
    let exponent = if hex { matches!(s.peek(0), b'p' | b'P') } else { matches!(s.peek(0), b'e' | b'E') };
    if exponent {
        let signed = matches!(s.peek(1), b'+' | b'-') as usize;
        if s.peek(1 + signed).is_ascii_digit() {
            s.at += 1 + signed;
            while s.peek(0).is_ascii_digit() || (s.peek(0) == b'\'' && s.peek(1).is_ascii_digit()) {
                s.at += 1;
            }
        }
    }
    let suffix = s.rest().iter().take_while(|&&b| is_name(b)).count();
    let standard =
        |b: &u8| matches!(b, b'u' | b'U' | b'l' | b'L' | b'z' | b'Z' | b'f' | b'F' | b'w' | b'W' | b'd' | b'D');
    let text = &s.rest()[..suffix];
    if text.iter().all(standard)
        || matches!(text, b"f16" | b"f32" | b"f64" | b"f128" | b"F16" | b"F32" | b"F64" | b"F128")
    {
        s.at += suffix;
    }
    s.emit(NUMBER, start, s.line);
}

/// Is the unit that starts with these tokens a test, by the macro that defines it?
pub fn is_test(src: &[u8], tokens: &[Token]) -> bool {
    const TESTS: [&[u8]; 12] = [
        b"TEST",
        b"TEST_F",
        b"TEST_P",
        b"TYPED_TEST",
        b"TYPED_TEST_P",
        b"TEST_CASE",
        b"TEST_CASE_METHOD",
        b"TEMPLATE_TEST_CASE",
        b"SCENARIO",
        b"BOOST_AUTO_TEST_CASE",
        b"BOOST_FIXTURE_TEST_CASE",
        b"START_TEST",
    ];
    match tokens {
        [first, second, ..] if first.code == IDENTIFIER && second.code == OPEN_PAREN => {
            TESTS.contains(&&src[first.start as usize..first.end as usize])
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lexed(dialect: Dialect, src: &str) -> Lexed {
        let mut out = Lexed::default();
        lex(dialect, src.as_bytes(), &mut out);
        units(dialect, src.as_bytes(), &mut out);
        out
    }

    fn texts(src: &str) -> Vec<&str> {
        lexed(Dialect::Cpp, src).tokens.iter().map(|t| &src[t.start as usize..t.end as usize]).collect()
    }

    /// Units with their text, nested ones after the one around them; `i` and `t` mark imports and tests.
    fn pieces(dialect: Dialect, src: &str) -> Vec<String> {
        crate::fixture::marked(&lexed(dialect, src), src)
    }

    #[test]
    fn signs_belong_to_numbers_only_where_an_operand_is_expected() {
        assert_eq!(
            texts("a-1 (-1) b[-1]-2 return -.5f"),
            ["a", "-", "1", "(", "-1", ")", "b", "[", "-1", "]", "-", "2", "return", "-.5f"]
        );
    }

    #[test]
    fn literals_take_their_prefixes_and_standard_suffixes() {
        assert_eq!(
            texts("u8\"a\" L'b' 1'000ULL 0x1p-3 10_km R\"x(a)\"b)x\" \"c\"sv"),
            ["u8\"a\"", "L'b'", "1'000ULL", "0x1p-3", "10", "_km", "R\"x(a)\"b)x\"", "\"c\"", "sv"]
        );
    }

    #[test]
    fn directives_are_named_without_their_blanks_and_comments() {
        for src in ["#  include <a b.h> // c\n# pragma once\n", "#include /* c */ /* d */<a b.h>\n# pragma once\n"] {
            let out = lexed(Dialect::C, src);
            let codes: Vec<Code> = out.tokens.iter().map(|t| t.code).collect();
            assert_eq!(codes, [word!("#include"), STRING, word!("#directive"), IDENTIFIER]);
            assert_eq!(out.marks, [2, 4]);
        }
    }

    #[test]
    fn keywords_of_cpp_are_names_in_c() {
        let out = lexed(Dialect::C, "int new = class;");
        assert!(out.tokens.iter().filter(|t| t.end - t.start >= 3).all(|t| t.code == IDENTIFIER));
        assert!(
            dialect_of(b"int f(int class);\n") == Dialect::C && dialect_of(b"\n  namespace a {\n}") == Dialect::Cpp
        );
    }

    #[test]
    fn directives_are_units_and_conditions_hold_theirs() {
        assert_eq!(
            pieces(Dialect::C, "#include <a>\n#ifdef B\nint c;\n#else\n#define D(e) {\n#endif\nint f;"),
            [
                "i #include <a>",
                "#ifdef B\nint c;\n#else\n#define D(e) {\n#endif",
                "int c;",
                "#else\n#define D(e) {",
                "#define D(e) {",
                "int f;"
            ]
        );
    }

    #[test]
    fn branches_that_each_open_a_brace_close_it_once() {
        let src = "void f() {\n#if A\nif (a) {\n#else\nif (b) {\n#endif\nc;\n}\nd;\n}\nint e;";
        let pieces = pieces(Dialect::C, src);
        assert_eq!(pieces.last().map(String::as_str), Some("int e;"));
        assert!(pieces.iter().any(|piece| piece == "d;"));
    }

    #[test]
    fn statements_of_c_end_where_they_should() {
        assert_eq!(
            pieces(Dialect::C, "do { a; } while (b); if (c) d; else { e; } f = (struct g){ h, i };"),
            ["do { a; } while (b);", "a;", "if (c) d; else { e; }", "e;", "f = (struct g){ h, i };"]
        );
        assert_eq!(
            pieces(Dialect::C, "switch (a) { case 1: b; break; default: c; }"),
            ["switch (a) { case 1: b; break; default: c; }", "case 1: b; break;", "b;", "break;", "default: c;", "c;"]
        );
        assert_eq!(
            pieces(Dialect::C, "int f(a, b) int a; char *b; { c; } enum { D, E } g;"),
            ["int f(a, b) int a; char *b; { c; }", "c;", "enum { D, E } g;", "D", "E"]
        );
    }

    #[test]
    fn classes_hold_members_and_functions_end_with_their_body() {
        assert_eq!(
            pieces(
                Dialect::Cpp,
                "template <class T = int> class A : B<T> { public: A() : b{1}, c(2) { d; } E f() const; };"
            ),
            [
                "template <class T = int> class A : B<T> { public: A() : b{1}, c(2) { d; } E f() const; };",
                "public:",
                "A() : b{1}, c(2) { d; }",
                "d;",
                "E f() const;"
            ]
        );
        assert_eq!(
            pieces(Dialect::Cpp, "extern \"C\" { int a; } namespace { b c{1}; }"),
            ["extern \"C\" { int a; }", "int a;", "namespace { b c{1}; }", "b c{1};"]
        );
    }

    #[test]
    fn lambdas_hold_statements_and_the_unit_goes_on() {
        assert_eq!(
            pieces(Dialect::Cpp, "auto a = [&](int b) -> int { c; }; d(e, [=] { f; }); try { g; } catch (...) {}"),
            ["auto a = [&](int b) -> int { c; };", "c;", "d(e, [=] { f; });", "f;", "try { g; } catch (...) {}", "g;"]
        );
    }

    #[test]
    fn tests_and_imports_are_flagged() {
        assert_eq!(
            pieces(Dialect::Cpp, "TEST(A, b) { } using namespace c; using d = e;"),
            ["t TEST(A, b) { }", "i using namespace c;", "using d = e;"]
        );
    }

    #[test]
    fn every_prefix_of_anything_is_lexed_in_order() {
        let src = "#if A /* b\n */ \\\n c\n#  include <d\n#\n#elif 'e\n} ) R\"x(a)y\"b)x\" R\"(\"; u8R\"01234567890123456789(\" \
                   template <class T> a<b>>c 1'0'x .5e+ 0x -\n#else\n{([\n#endif\n#endif\ncase 1: default: \"\\\r\n\\";
        for dialect in [Dialect::C, Dialect::Cpp] {
            for end in 0..=src.len() {
                let mut out = Lexed::default();
                lex(dialect, &src.as_bytes()[..end], &mut out);
                units(dialect, &src.as_bytes()[..end], &mut out);
                assert!(out.tokens.iter().all(|t| t.start < t.end && t.end as usize <= end));
                assert!(out.tokens.windows(2).all(|pair| pair[0].end <= pair[1].start));
            }
        }
    }

    #[test]
    fn deep_brackets_under_deep_conditions_stay_linear() {
        let src = ["{(".repeat(50_000), "\n#if A\n#else\n".repeat(20_000), "]".repeat(50_000)].concat();
        let out = lexed(Dialect::Cpp, &src);
        assert_eq!(out.tokens.len(), 210_000);
    }
}
