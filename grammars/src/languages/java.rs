//! Java: table, fast lexer, structure.
//!
//! Accepted differences between the lexer and tree-sitter's leaves: none.

use std::sync::LazyLock;

use crate::alphabet::{Alphabet, word};
use crate::braces::{self, Body, Context, End, Rules};
use crate::leaves::Syntax;
use crate::optional::Optional;
use crate::scan::{Scanner, is_name};
use crate::token::{
    CHARACTER, CLOSE_BRACE, CLOSE_BRACKET, CLOSE_PAREN, COLON, COMMA, Code, DOT, IDENTIFIER, Lexed, NUMBER, OPEN_BRACE,
    OPEN_PAREN, SEMICOLON, STRING, Token, Unit,
};
use crate::{Cache, Language, Lexer, parsers};

pub static JAVA: Language = Language {
    name: "java",
    family: "java",
    extensions: &["java"],
    file_names: &[],
    shebangs: &[],
    line_comment: "//",
    block_comment: Some(("/*", "*/")),
    grammar: parsers::java,
    syntax: Syntax {
        atoms: &[
            ("identifier", IDENTIFIER),
            ("type_identifier", IDENTIFIER),
            ("decimal_integer_literal", NUMBER),
            ("hex_integer_literal", NUMBER),
            ("octal_integer_literal", NUMBER),
            ("binary_integer_literal", NUMBER),
            ("decimal_floating_point_literal", NUMBER),
            ("hex_floating_point_literal", NUMBER),
            ("character_literal", CHARACTER),
            ("string_literal", STRING),
        ],
        comments: &["line_comment", "block_comment"],
        // Not `enum_body`: the members after its constants are one child of it, and no unit.
        lists: &[
            "program",
            "block",
            "constructor_body",
            "class_body",
            "interface_body",
            "annotation_type_body",
            "enum_body_declarations",
            "module_body",
            "switch_block",
            "switch_block_statement_group",
        ],
        imports: &["import_declaration", "package_declaration", "module_declaration"],
        splits: &[(">>", &[">", ">"]), (">>>", &[">", ">", ">"]), (">>=", &[">", ">="]), (">>>=", &[">", ">", ">="])],
    },
    optional: Optional::BRACES,
    lexer: Some(Lexer { lex, units, alphabet, differences: &[] }),
    is_test,
    cache: Cache::new(),
};

/// Reserved words and operators. The types (`int`, `void`), the constants (`true`, `null`) and the words that are
/// reserved in places only (`record`, `yield`, `sealed`) count as names.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "abstract", "assert", "break", "case", "catch", "class", "continue", "default", "do", "else", "enum", "extends",
    "final", "finally", "for", "if", "implements", "import", "instanceof", "interface", "native", "new", "package",
    "private", "protected", "public", "return", "static", "strictfp", "super", "switch", "synchronized", "this",
    "throw", "throws", "transient", "try", "volatile", "while", "@", "@interface", "+", "-", "*", "/", "%", "&",
    "|", "^", "~", "!", "<", ">", "=", "==", "!=", "<=", ">=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=",
    "&=", "|=", "^=", "<<", "<<=", "?", "->", "::", "...",
];

const AT: Code = word!("@");
const ARROW: Code = word!("->");
const CASE: Code = word!("case");
const DEFAULT: Code = word!("default");

fn alphabet() -> &'static Alphabet {
    static ALPHABET: LazyLock<Alphabet> = LazyLock::new(|| Alphabet::new(WORDS));
    &ALPHABET
}

fn lex(src: &[u8], out: &mut Lexed) {
    let mut s = Scanner::new(src, alphabet(), out);
    loop {
        s.blanks();
        if s.done() {
            break;
        }
        match s.peek(0) {
            b'/' if s.peek(1) == b'/' => s.line_comment(),
            b'/' if s.peek(1) == b'*' => s.block_comment(2, b"*/"),
            b'"' if s.rest().starts_with(b"\"\"\"") => text_block(&mut s),
            b'"' => s.quoted(b'"', false),
            b'\'' => s.quoted(b'\'', false),
            b if b.is_ascii_digit() || (b == b'.' && s.peek(1).is_ascii_digit()) => s.number(),
            b if is_name(b) || b == b'$' => name(&mut s),
            b'@' if in_name(s.peek(10)) || !s.rest().starts_with(b"@interface") => {
                let start = s.at;
                s.at += 1;
                s.emit(AT, start, s.line);
            }
            _ => s.operator(),
        }
    }
}

#[inline]
fn in_name(b: u8) -> bool {
    is_name(b) || b == b'$'
}

/// A name or keyword; `$` is a letter, and `non-sealed` is one word.
#[inline]
fn name(s: &mut Scanner) {
    let start = s.at;
    while s.at < s.src.len() && in_name(s.src[s.at]) {
        s.at += 1;
    }
    let text = &s.src[start..s.at];
    if text == b"non" && s.rest().starts_with(b"-sealed") && !in_name(s.peek(7)) {
        s.at += 7;
        s.emit(IDENTIFIER, start, s.line);
        return;
    }
    let code = s.alphabet.code(text).unwrap_or(IDENTIFIER);
    s.emit(code, start, s.line);
}

/// A string in three quotes, with escapes; the opening quotes are not looked at.
fn text_block(s: &mut Scanner) {
    let (start, line) = (s.at, s.line);
    let mut at = s.at + 3;
    let mut end = s.src.len();
    while let Some(found) = s.src.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        if s.src[at] == b'\\' {
            at += 2;
        } else if s.src[at..].starts_with(b"\"\"\"") {
            end = at + 3;
            break;
        } else {
            at += 1;
        }
    }
    s.to(end);
    s.emit(STRING, start, line);
}

fn units(src: &[u8], out: &mut Lexed) {
    braces::units(&JavaRules, src, out);
}

struct JavaRules;

/// What [`JavaRules::note`] remembers of a unit, as bits.
mod state {
    /// A `do` whose `while` is still to come.
    pub const DO: usize = 1;
    /// An expression has begun: a closing brace does not end the unit.
    pub const EXPRESSION: usize = 2;
    /// The first word that is not part of an annotation was seen.
    pub const NAMED: usize = 4;
    /// That word is a name which may be an enum constant.
    pub const CONSTANT: usize = 8;
    /// An enum: what its braces hold begins with constants.
    pub const ENUM: usize = 16;
    /// The package line, with or without annotations before it.
    pub const PACKAGE: usize = 32;
}

/// Does the token at hand stand among the constants and members of an enum?
fn in_enum(cx: &Context) -> bool {
    cx.noted_around(state::ENUM)
}

/// Does the label that starts at `case` end with an arrow? What was looked at is never looked at from another `case`.
fn has_arrow(cx: &Context, case: usize) -> bool {
    let mut depth = 0usize;
    for token in cx.tokens.iter().skip(case + 1) {
        match token.code {
            OPEN_PAREN => depth += 1,
            CLOSE_PAREN => depth = depth.saturating_sub(1),
            COLON if depth == 0 => return false,
            ARROW => return true,
            SEMICOLON | OPEN_BRACE | CLOSE_BRACE | CASE | DEFAULT => return false,
            _ => {}
        }
    }
    false
}

impl Rules for JavaRules {
    /// Every brace opens statements or members, but those of array initializers.
    fn opens(&self, cx: &Context) -> Body {
        const ASSIGN: Code = word!("=");
        if cx.tokens[cx.at].code != OPEN_BRACE {
            return Body::Opaque;
        }
        match cx.previous() {
            Some(ASSIGN | CLOSE_BRACKET | DEFAULT) => Body::Opaque,
            Some(COMMA | OPEN_BRACE | OPEN_PAREN) => cx.frame().body,
            _ => Body::Statements,
        }
    }

    fn note(&self, cx: &Context) -> Option<usize> {
        use state::{CONSTANT, DO, ENUM, EXPRESSION, NAMED};
        const PACKAGE: Code = word!("package");
        const DO_WORD: Code = word!("do");
        const WHILE: Code = word!("while");
        const ENUM_WORD: Code = word!("enum");
        const SWITCH: Code = word!("switch");
        const ASSIGN: Code = word!("=");
        const RETURN: Code = word!("return");
        const THROW: Code = word!("throw");
        const NEW: Code = word!("new");
        let frame = cx.frame();
        if frame.body != Body::Statements {
            return None;
        }
        let state = frame.note.unwrap_or(0);
        let state = match cx.tokens[cx.at].code {
            IDENTIFIER if state & NAMED != 0 => state,
            IDENTIFIER if matches!(cx.previous(), Some(AT | DOT)) && frame.unit != Some(cx.at) => state,
            IDENTIFIER => match cx.next() {
                Some(COMMA | OPEN_PAREN | OPEN_BRACE | SEMICOLON | CLOSE_BRACE) => state | NAMED | CONSTANT,
                _ => state | NAMED,
            },
            AT | DOT => state,
            SEMICOLON => state & !EXPRESSION,
            DO_WORD => state | DO | NAMED,
            WHILE => (state & !DO) | NAMED,
            ENUM_WORD => state | ENUM | NAMED,
            PACKAGE => state | state::PACKAGE | NAMED,
            ASSIGN | RETURN | THROW | NEW => state | EXPRESSION | NAMED,
            // `case A -> {`: the block ends the rule.
            ARROW if matches!(cx.head(), Some(CASE | DEFAULT)) && cx.next() == Some(OPEN_BRACE) => state,
            ARROW => state | EXPRESSION,
            // `yield switch (…) {…};`
            SWITCH if cx.previous() == Some(IDENTIFIER) => state | EXPRESSION | NAMED,
            _ => state | NAMED,
        };
        Some(state)
    }

    fn ends(&self, cx: &Context) -> End {
        const ELSE: Code = word!("else");
        const CATCH: Code = word!("catch");
        const FINALLY: Code = word!("finally");
        const WHILE: Code = word!("while");
        let code = cx.tokens[cx.at].code;
        match code {
            COMMA if cx.noted(state::CONSTANT) && in_enum(cx) => return End::Before,
            COMMA | SEMICOLON if cx.frame().unit == Some(cx.at) => return End::Before,
            SEMICOLON if cx.noted(state::CONSTANT) && in_enum(cx) => return End::Before,
            SEMICOLON => {}
            CLOSE_BRACE if cx.frame().closed != Some(Body::Opaque) && !cx.noted(state::EXPRESSION) => {}
            _ => return End::Not,
        }
        match cx.next() {
            Some(ELSE) => End::Not,
            Some(CATCH | FINALLY) if code == CLOSE_BRACE => End::Not,
            Some(WHILE) if cx.noted(state::DO) => End::Not,
            _ => End::After,
        }
    }

    fn clause(&self, cx: &Context) -> bool {
        match cx.tokens[cx.at].code {
            CASE => !has_arrow(cx, cx.at),
            DEFAULT => cx.next() == Some(COLON),
            _ => false,
        }
    }

    /// `case 1: case 2: …` is one clause.
    fn joins(&self, cx: &Context) -> bool {
        match cx.next() {
            Some(CASE) => true,
            Some(DEFAULT) => cx.code(cx.at + 2) == Some(COLON),
            _ => false,
        }
    }

    fn flags(&self, cx: &Context, start: usize, end: usize) -> u8 {
        const IMPORT: Code = word!("import");
        match cx.code(start) {
            Some(IMPORT) => Unit::IMPORT,
            _ if cx.noted(state::PACKAGE) => Unit::IMPORT,
            Some(IDENTIFIER) if cx.frames.len() == 1 && is_module(cx, start) => Unit::IMPORT,
            _ if is_test(cx.src, &cx.tokens[start..end]) => Unit::TEST,
            _ => 0,
        }
    }
}

/// `module a.b {`, `open module a.b {`
fn is_module(cx: &Context, start: usize) -> bool {
    let start = if cx.text(start) == b"open" { start + 1 } else { start };
    cx.text(start) == b"module" && cx.code(start + 1) == Some(IDENTIFIER)
}

/// What JUnit and TestNG write above their methods and classes.
const TESTS: [&[u8]; 27] = [
    b"Test",
    b"ParameterizedTest",
    b"RepeatedTest",
    b"TestFactory",
    b"TestTemplate",
    b"Theory",
    b"Before",
    b"After",
    b"BeforeEach",
    b"AfterEach",
    b"BeforeAll",
    b"AfterAll",
    b"BeforeClass",
    b"AfterClass",
    b"BeforeMethod",
    b"AfterMethod",
    b"BeforeTest",
    b"AfterTest",
    b"BeforeSuite",
    b"AfterSuite",
    b"BeforeGroups",
    b"AfterGroups",
    b"DataProvider",
    b"RunWith",
    b"ExtendWith",
    b"TestInstance",
    b"SpringBootTest",
];

/// How many tokens of a unit are looked at for an annotation that makes it a test.
const REACH: usize = 64;

/// Does it start with a test's annotation, or is it a class of the kind that JUnit 3 ran?
fn is_test(src: &[u8], tokens: &[Token]) -> bool {
    const CLASS: Code = word!("class");
    const EXTENDS: Code = word!("extends");
    const MODIFIERS: [Code; 6] =
        [word!("public"), word!("private"), word!("protected"), word!("abstract"), word!("static"), word!("final")];
    let tokens = &tokens[..tokens.len().min(REACH)];
    let code = |i: usize| tokens.get(i).map(|t| t.code);
    let text = |i: usize| tokens.get(i).map_or(&[][..], |t: &Token| &src[t.start as usize..t.end as usize]);
    let mut i = 0;
    while let Some(at) = code(i) {
        if MODIFIERS.contains(&at) {
            i += 1;
            continue;
        }
        if at == CLASS {
            return code(i + 2) == Some(EXTENDS) && text(i + 3) == b"TestCase";
        }
        if at != AT {
            return false;
        }
        i += 1;
        while code(i) == Some(IDENTIFIER) && code(i + 1) == Some(DOT) {
            i += 2;
        }
        if TESTS.contains(&text(i)) {
            return true;
        }
        i += 1;
        if code(i) == Some(OPEN_PAREN) {
            let mut depth = 0usize;
            while let Some(code) = code(i) {
                i += 1;
                match code {
                    OPEN_PAREN => depth += 1,
                    CLOSE_PAREN => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn lexed(src: &str) -> Lexed {
        fixture::lexed(&JAVA, src)
    }

    fn tokens(src: &str) -> Vec<&str> {
        fixture::texts(&JAVA, src)
    }

    fn pieces(src: &str) -> Vec<(&str, u8)> {
        fixture::pieces(&JAVA, src)
    }

    fn texts(src: &str) -> Vec<&str> {
        pieces(src).into_iter().map(|(text, _)| text).collect()
    }

    #[test]
    fn a_text_block_is_one_token() {
        for string in ["\"\"\"\n\"b\" \\\"\"\"c\"\"\"", "\"a \\\" b\"", "\"\"", "'\\''"] {
            let src = format!("x({string});");
            assert_eq!(tokens(&src), ["x", "(", string, ")", ";"]);
        }
    }

    #[test]
    fn an_open_string_costs_one_line() {
        assert_eq!(tokens("a = \"b;\nc"), ["a", "=", "\"b;", "c"]);
    }

    #[test]
    fn words_and_marks_are_read_as_the_language_does() {
        assert_eq!(tokens("a$b >>>= c"), ["a$b", ">", ">", ">=", "c"]);
        assert_eq!(tokens("@interface A @interfaces"), ["@interface", "A", "@", "interfaces"]);
        assert_eq!(tokens("non-sealed non-sealeds"), ["non-sealed", "non", "-", "sealeds"]);
        assert_eq!(tokens("0x1.8p-1 1e+3f .5 1L"), ["0x1.8p-1", "1e+3f", ".5", "1L"]);
    }

    #[test]
    fn a_statement_ends_with_its_last_branch() {
        for src in [
            "if (a) b(); else if (c) { d(); } else e();",
            "try (A a = b()) { c(); } catch (D d) { } finally { }",
            "do { a(); } while (b);",
            "do a(); while (b);",
            "a: for (;;) { break a; }",
            "return switch (a) { default -> b; };",
            "a = new B() { void c() { } };",
            "a = b -> { c(); };",
            "int[] a = {1, 2}, b = new int[] {3};",
            "new A() { }.b();",
        ] {
            assert_eq!(texts(&format!("{src} f();")).first(), Some(&src));
            assert_eq!(texts(&format!("{src} f();")).last(), Some(&"f();"));
        }
    }

    #[test]
    fn blocks_in_expressions_hold_units_and_data_does_not() {
        let src = "f(a -> { b(); }, new C() { int d; }, new int[][] {{1}, {2}});";
        assert_eq!(texts(src)[1..], ["b();", "int d;"]);
    }

    #[test]
    fn an_enum_has_constants_and_then_members() {
        let src = "enum A { @B(1) C(2) { int d; }, E, F, ; int g, h; A(int i) { } }";
        assert_eq!(texts(src)[1..], ["@B(1) C(2) { int d; }", "int d;", "E", "F", "int g, h;", "A(int i) { }"]);
    }

    #[test]
    fn labels_with_one_body_are_one_clause() {
        let src = "switch (a) { case 1: case 2: b(); break; default: c(); }";
        assert_eq!(texts(src)[1..], ["case 1: case 2: b(); break;", "b();", "break;", "default: c();", "c();"]);
    }

    #[test]
    fn a_rule_with_an_arrow_is_a_unit() {
        let src = "switch (a) { case 1, 2 -> b ? c : d; case E e -> { f(); } default -> throw g; }";
        assert_eq!(texts(src)[1..], ["case 1, 2 -> b ? c : d;", "case E e -> { f(); }", "f();", "default -> throw g;"]);
    }

    #[test]
    fn an_annotation_belongs_to_the_member() {
        let src = "@interface A { @B({1, 2}) int[] b() default {1}; @C default void d() { } }";
        assert_eq!(texts(src)[1..], ["@B({1, 2}) int[] b() default {1};", "@C default void d() { }"]);
    }

    #[test]
    fn imports_and_tests_are_told_by_their_first_words() {
        let flags = |src: &'static str| pieces(src)[0].1;
        for src in ["package a.b;", "@A(1) package a;", "import static a.B.*;", "open module a { requires b; }"] {
            assert_eq!(flags(src), Unit::IMPORT, "{src}");
        }
        for src in [
            "@Test void a() { }",
            "@A(b = 1) @org.junit.jupiter.api.Test void a() { }",
            "public class A extends TestCase { }",
        ] {
            assert_eq!(flags(src), Unit::TEST, "{src}");
        }
        for src in ["@Override public void a() { }", "module.b();", "@A(Test.class) void a() { }"] {
            assert_eq!(flags(src), 0, "{src}");
        }
    }

    #[test]
    fn any_prefix_of_any_file_is_read() {
        let src = "\u{FEFF}package a; @interface B { } enum C { D { }, E; int f = 0x1p-1; } record G<H>(int i) { \
            non-sealed J k = \"\"\" l \\\" \"\"\"; char m = '\\''; void n() { switch (o) { case 1: default: p(q -> { }); } \
            do r(); while (s[0] >>> 1 == t::u); } } // é\n/* v */ @Test(w = {1}) class X extends Y { }";
        fixture::reads_every_prefix(&JAVA, src);
    }

    /// Without the bounds that this checks, it would run for minutes.
    #[test]
    fn hostile_text_takes_no_more_than_linear_time() {
        const N: usize = 100_000;
        for (a, b) in [("(", "]"), ("{", ")"), ("[", "}"), ("case (", ""), ("@a(", ""), ("\"\"\"", "\\")] {
            lexed(&(a.repeat(N) + &b.repeat(N)));
        }
    }
}
