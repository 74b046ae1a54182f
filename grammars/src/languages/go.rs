//! Go: table, fast lexer, structure.
//!
//! Accepted differences between the lexer and tree-sitter's leaves: none.

use std::sync::LazyLock;

use crate::alphabet::{Alphabet, word};
use crate::braces::{self, Body, Context, End, Rules};
use crate::leaves::Syntax;
use crate::optional::Optional;
use crate::scan::{Scanner, is_name};
use crate::token::{
    CHARACTER, CLOSE_BRACE, CLOSE_BRACKET, CLOSE_PAREN, COLON, Code, DOT, IDENTIFIER, Lexed, NUMBER, OPEN_BRACE,
    OPEN_BRACKET, OPEN_PAREN, SEMICOLON, STRING, Unit,
};
use crate::{Cache, Language, Lexer, parsers};

pub static GO: Language = Language {
    name: "go",
    family: "go",
    extensions: &["go"],
    file_names: &[],
    shebangs: &[],
    line_comment: "//",
    block_comment: Some(("/*", "*/")),
    grammar: parsers::go,
    syntax: Syntax {
        atoms: &[
            ("identifier", IDENTIFIER),
            ("field_identifier", IDENTIFIER),
            ("package_identifier", IDENTIFIER),
            ("type_identifier", IDENTIFIER),
            ("label_name", IDENTIFIER),
            ("blank_identifier", IDENTIFIER),
            ("nil", IDENTIFIER),
            ("true", IDENTIFIER),
            ("false", IDENTIFIER),
            ("iota", IDENTIFIER),
            ("int_literal", NUMBER),
            ("float_literal", NUMBER),
            ("imaginary_literal", NUMBER),
            ("rune_literal", CHARACTER),
            ("interpreted_string_literal", STRING),
            ("raw_string_literal", STRING),
        ],
        comments: &["comment"],
        lists: &[
            "source_file",
            "statement_list",
            "field_declaration_list",
            "interface_type",
            "const_declaration",
            "var_spec_list",
            "type_declaration",
            "expression_switch_statement",
            "type_switch_statement",
            "select_statement",
        ],
        imports: &["import_declaration", "package_clause"],
        splits: &[],
    },
    optional: Optional::COMMAS,
    lexer: Some(Lexer { lex, units, alphabet, differences: &[] }),
    is_test: |_, _| false,
    cache: Cache::new(),
};

#[rustfmt::skip]
const WORDS: &[&str] = &[
    "break", "case", "chan", "const", "continue", "default", "defer", "else", "fallthrough", "for", "func", "go",
    "goto", "if", "import", "interface", "map", "package", "range", "return", "select", "struct", "switch", "type",
    "var", "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "&^", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
    "<<=", ">>=", "&^=", "&&", "||", "<-", "++", "--", "==", "<", ">", "=", "!", "~", "!=", "<=", ">=", ":=", "...",
];

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
            b'"' => s.quoted(b'"', false),
            b'\'' => s.quoted(b'\'', false),
            b'`' => s.raw(1, b"`"),
            b if b.is_ascii_digit() || (b == b'.' && s.peek(1).is_ascii_digit()) => s.number(),
            b if is_name(b) => s.word(),
            _ => s.operator(),
        }
    }
}

fn units(src: &[u8], out: &mut Lexed) {
    braces::units(&GoRules, src, out);
}

struct GoRules;

/// The first token of the unit at hand, its label aside.
fn head(cx: &Context) -> Option<Code> {
    let start = cx.frame().unit?;
    let labelled = cx.code(start) == Some(IDENTIFIER) && cx.code(start + 1) == Some(COLON);
    cx.code(if labelled { start + 2 } else { start })
}

/// Is the bracket that closes at `close` part of a type (`[]T`, `[4]T`, `map[K]T`), not an index (`a[i] {`)?
fn array_type(cx: &Context, close: usize) -> bool {
    let mut depth = 0usize;
    for i in (0..=close).rev() {
        match cx.tokens[i].code {
            CLOSE_BRACKET => depth += 1,
            OPEN_BRACKET => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return !matches!(i.checked_sub(1).and_then(|i| cx.code(i)), Some(IDENTIFIER | CLOSE_PAREN | CLOSE_BRACE));
        }
    }
    false
}

impl Rules for GoRules {
    fn opens(&self, cx: &Context) -> Body {
        const DECLARATIONS: [Code; 4] = [word!("const"), word!("var"), word!("type"), word!("import")];
        const HEADS: [Code; 5] = [word!("if"), word!("for"), word!("switch"), word!("select"), word!("func")];
        let code = cx.tokens[cx.at].code;
        let frame = cx.frame();
        if code == OPEN_PAREN {
            let grouped = frame.unit.is_some_and(|start| start + 1 == cx.at)
                && cx.head().is_some_and(|head| DECLARATIONS.contains(&head));
            return if grouped { Body::Statements } else { Body::Opaque };
        }
        if code != OPEN_BRACE {
            return Body::Opaque;
        }
        let literal = match cx.previous() {
            Some(previous) if previous == word!("struct") || previous == word!("interface") => return Body::Statements,
            // `struct{…}{…}` is a literal, but after `range []int{1, 2}` comes the body of the loop.
            Some(CLOSE_BRACE) => frame.closed == Some(Body::Statements) && frame.note.is_none(),
            // `[]T{…}`, `map[K]V{…}`: a literal also in the head of a statement.
            Some(IDENTIFIER) => {
                let qualified = cx.at >= 4 && cx.code(cx.at - 2) == Some(DOT);
                let before = cx.at.saturating_sub(if qualified { 4 } else { 2 });
                cx.code(before) == Some(CLOSE_BRACKET) && frame.note.is_none() && array_type(cx, before)
            }
            _ => false,
        };
        let statement = frame.body == Body::Statements && head(cx).is_some_and(|head| HEADS.contains(&head));
        let body =
            statement || frame.note.is_some() || cx.previous() == Some(word!("else")) || frame.unit == Some(cx.at);
        if body && !literal { Body::Statements } else { Body::Opaque }
    }

    /// The `func` of a function literal, until its body or the end of its type.
    fn note(&self, cx: &Context) -> Option<usize> {
        let code = cx.tokens[cx.at].code;
        match code {
            _ if code == word!("func") => Some(cx.at),
            _ if code == word!("=") || code == word!(":=") || code == crate::token::COMMA => None,
            _ => cx.frame().note,
        }
    }

    /// A line end closes a statement after these tokens: the language's own rule for semicolons.
    fn ends(&self, cx: &Context) -> End {
        let code = cx.tokens[cx.at].code;
        if code == SEMICOLON {
            // In the head of `for`, `if`, `switch` it separates clauses.
            const HEADS: [Code; 3] = [word!("if"), word!("for"), word!("switch")];
            let in_head = head(cx).is_some_and(|head| HEADS.contains(&head))
                && (cx.frame().closed != Some(Body::Statements) || cx.previous() != Some(CLOSE_BRACE));
            return if in_head { End::Not } else { End::Before };
        }
        let may_end =
            matches!(code, IDENTIFIER | NUMBER | STRING | CHARACTER | CLOSE_PAREN | CLOSE_BRACKET | CLOSE_BRACE)
                || [word!("break"), word!("continue"), word!("fallthrough"), word!("return"), word!("++"), word!("--")]
                    .contains(&code);
        if may_end && cx.line_ends() { End::After } else { End::Not }
    }

    fn clause(&self, cx: &Context) -> bool {
        let code = cx.tokens[cx.at].code;
        code == word!("case") || code == word!("default")
    }

    fn flags(&self, cx: &Context, start: usize, _end: usize) -> u8 {
        match cx.code(start) {
            Some(code) if code == word!("import") || code == word!("package") => Unit::IMPORT,
            _ => 0,
        }
    }
}
