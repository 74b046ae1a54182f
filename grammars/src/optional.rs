//! Punctuation that formatters add and remove: commas before a closing bracket, semicolons where a line ends as well.
//! It is no token, so that code which was copied before it was formatted is the same code.
//!
//! Units are read before, since some of them end with such a semicolon. All other tokens keep their places in the text.

use crate::token::{
    CLOSE_BRACE, CLOSE_BRACKET, CLOSE_PAREN, COMMA, Code, IDENTIFIER, Lexed, OPEN_BRACE, OPEN_BRACKET, OPEN_PAREN,
    SEMICOLON, Token,
};
use crate::{Difference, Language, Place};

/// Which punctuation of a language is optional.
#[derive(Clone, Copy, Debug)]
pub struct Optional {
    pub commas: Commas,
    pub semicolons: Semicolons,
}

/// The closing brackets before which a comma means nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commas {
    /// None.
    Never,
    /// `}` alone: an argument of a macro may be empty.
    Braces,
    /// `)`, `]`, `}`, and `>` around types.
    Brackets,
    /// The same, but `(a,)` is a tuple, and so is the index of `a[b,]`.
    NotInTuples,
}

/// The semicolons that mean nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Semicolons {
    /// None.
    Never,
    /// Those that the reader of units has put into [`Lexed::optional`].
    Found,
    /// All but those directly in this bracket.
    NotIn(&'static str),
}

impl Optional {
    /// Lists in braces may end with a comma.
    pub const BRACES: Optional = Optional { commas: Commas::Braces, semicolons: Semicolons::Never };
    /// Any list may end with a comma.
    pub const COMMAS: Optional = Optional { commas: Commas::Brackets, semicolons: Semicolons::Never };
    /// Any list may end with a comma, any line with a semicolon.
    pub const LINES: Optional = Optional { commas: Commas::Brackets, semicolons: Semicolons::NotIn("(") };
}

const COMMA_DIFFERENCES: &[Difference] = &[Difference {
    name: "trailing comma",
    reason: "a comma before a closing bracket is no token here",
    applies: |place| place.text() == b"," && matches!(following(place), b')' | b']' | b'}' | b'>'),
}];
const SEMICOLON_DIFFERENCES: &[Difference] = &[
    Difference {
        name: "optional semicolon",
        reason: "a semicolon where a line end does as well is no token here",
        applies: |place| place.text() == b";" && place.kinds.get(1) != Some(&"for_statement"),
    },
    Difference {
        name: "separator of members",
        reason: "a comma or semicolon between the members of a type is no token here: a line end does as well",
        applies: |place| place.text() == b"," && matches!(place.kinds.get(1), Some(&"object_type" | &"interface_body")),
    },
];

/// In what the tokens of a language differ from its grammar's leaves because optional punctuation is none of them.
pub fn differences(language: &Language) -> impl Iterator<Item = &'static Difference> {
    let Optional { commas, semicolons } = language.optional;
    let commas = if commas == Commas::Never { &[] } else { COMMA_DIFFERENCES };
    let semicolons = if semicolons == Semicolons::Never { &[] } else { SEMICOLON_DIFFERENCES };
    commas.iter().chain(semicolons)
}

/// Takes the optional punctuation out of the tokens, and out of the units.
pub fn drop(language: &Language, lexed: &mut Lexed) {
    let mut dropped = std::mem::take(&mut lexed.optional);
    find_commas(language, &lexed.tokens, &mut dropped);
    find_semicolons(language, &lexed.tokens, &mut dropped);
    if !dropped.is_empty() {
        dropped.sort_unstable();
        dropped.dedup();
        remove(&dropped, lexed);
    }
    dropped.clear();
    lexed.optional = dropped;
}

fn remove(dropped: &[u32], lexed: &mut Lexed) {
    let mut next = dropped.iter().peekable();
    let mut at = 0;
    lexed.tokens.retain(|_| {
        at += 1;
        next.next_if_eq(&&(at - 1)).is_none()
    });
    // Units come in the order of their starts, but their ends do not.
    let mut n_before = 0;
    for unit in &mut lexed.units {
        while dropped.get(n_before).is_some_and(|&token| token < unit.start) {
            n_before += 1;
        }
        let n_inside = dropped[n_before..].partition_point(|&token| token < unit.end);
        unit.start -= n_before as u32;
        unit.end -= (n_before + n_inside) as u32;
    }
    lexed.units.retain(|unit| unit.start < unit.end);
    lexed.marks.clear();
}

fn find_commas(language: &Language, tokens: &[Token], dropped: &mut Vec<u32>) {
    let commas = language.optional.commas;
    if commas == Commas::Never {
        return;
    }
    let angle = |spelling: &str| match commas {
        Commas::Brackets | Commas::NotInTuples => language.alphabet().code(spelling.as_bytes()),
        _ => None,
    };
    let (less, greater) = (angle("<"), angle(">"));
    for (i, window) in tokens.windows(3).enumerate() {
        let [before, comma, after] = [window[0].code, window[1].code, window[2].code];
        if comma != COMMA {
            continue;
        }
        let closes = match after {
            CLOSE_BRACE => true,
            CLOSE_PAREN | CLOSE_BRACKET => commas != Commas::Braces,
            code => Some(code) == greater,
        };
        // With nothing before it, a comma stands for what is left out.
        let follows = !matches!(before, COMMA | OPEN_PAREN | OPEN_BRACKET | OPEN_BRACE) && Some(before) != less;
        if closes && follows && !(commas == Commas::NotInTuples && ends_tuple(language, tokens, i + 1)) {
            dropped.push(i as u32 + 1);
        }
    }
}

/// How far back the opening bracket of a tuple is looked for; one that is longer than this has several elements.
const LONGEST_TUPLE: usize = 256;

/// Does the comma at `at`, before a closing bracket, make a tuple of the one thing in the brackets?
fn ends_tuple(language: &Language, tokens: &[Token], at: usize) -> bool {
    let close = tokens[at + 1].code;
    if !matches!(close, CLOSE_PAREN | CLOSE_BRACKET) {
        return false;
    }
    let mut depth = 0usize;
    for i in (0..at).rev().take(LONGEST_TUPLE) {
        match tokens[i].code {
            COMMA if depth == 0 => return false,
            CLOSE_PAREN | CLOSE_BRACKET | CLOSE_BRACE => depth += 1,
            OPEN_PAREN | OPEN_BRACKET | OPEN_BRACE if depth > 0 => depth -= 1,
            OPEN_PAREN | OPEN_BRACKET | OPEN_BRACE => {
                let before = i.checked_sub(1).map(|i| tokens[i].code);
                let operand = before.is_some_and(|code| is_operand(language, code));
                return operand == (close == CLOSE_BRACKET);
            }
            _ => {}
        }
    }
    false
}

/// Is a bracket behind this token that of a call, a definition or an index?
fn is_operand(language: &Language, code: Code) -> bool {
    matches!(code, IDENTIFIER | CLOSE_PAREN | CLOSE_BRACKET)
        || matches!(language.alphabet().spelling(code), Some("!" | ">" | "fn"))
}

fn find_semicolons(language: &Language, tokens: &[Token], dropped: &mut Vec<u32>) {
    let Semicolons::NotIn(bracket) = language.optional.semicolons else { return };
    if !tokens.iter().any(|token| token.code == SEMICOLON) {
        return;
    }
    let kept_in = language.alphabet().code(bracket.as_bytes());
    // `((` of a shell.
    let double = ["((", "))"].map(|spelling| language.alphabet().code(spelling.as_bytes()));
    let mut open: Vec<Code> = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        match token.code {
            SEMICOLON if open.last().copied() != kept_in || open.is_empty() => dropped.push(i as u32),
            OPEN_PAREN | OPEN_BRACKET | OPEN_BRACE => open.push(token.code),
            CLOSE_PAREN | CLOSE_BRACKET | CLOSE_BRACE => _ = open.pop(),
            code if Some(code) == double[0] => open.push(code),
            code if Some(code) == double[1] => _ = open.pop(),
            _ => {}
        }
    }
}

/// The first byte behind a place that is neither blank nor in a comment, 0 if there is none.
fn following(place: &Place) -> u8 {
    let mut at = place.end;
    loop {
        let rest = place.src.get(at..).unwrap_or(&[]);
        at += match rest {
            [] => return 0,
            [b'/', b'/', ..] | [b'#', ..] => memchr::memchr(b'\n', rest).unwrap_or(rest.len()),
            [b'/', b'*', ..] => memchr::memmem::find(rest, b"*/").map_or(rest.len(), |end| end + 2),
            [first, ..] if first.is_ascii_whitespace() => 1,
            [first, ..] => return *first,
        };
    }
}

#[cfg(all(test, feature = "all"))]
mod tests {
    use crate::fixture;

    fn tokens(language: &str, src: &str) -> String {
        fixture::texts(crate::by_name(language).expect("a known language"), src).join(" ")
    }

    #[test]
    fn a_comma_before_a_closing_bracket_is_no_token() {
        for (language, src, expected) in [
            ("go", "var a = f([]int{1, 2,\n}, 3,\n)", "var a = f ( [ ] int { 1 , 2 } , 3 )"),
            (
                "rust",
                "fn f<A, B,>(a: A,) { g!(a, [1,],); S { a, } }",
                "fn f < A , B > ( a : A ) { g ! ( a , [ 1 ] ) ; S { a } }",
            ),
            ("python", "f(a, b,)\nx = [1, {2: 3,},]", "f ( a , b ) x = [ 1 , { 2 : 3 } ]"),
            ("javascript", "f(a, [b, {c,},],)", "f ( a , [ b , { c } ] )"),
            ("tsx", "const f = <T,>(a: T,) => a", "const f = < T > ( a : T ) => a"),
            ("java", "int[] a = {1, 2,};", "int [ ] a = { 1 , 2 } ;"),
            ("c", "enum a { B, C, };", "enum a { B , C } ;"),
            ("c-sharp", "var a = new[] { 1, 2, };", "var a = new [ ] { 1 , 2 } ;"),
            ("kotlin", "val a = f(1, 2,)", "val a = f ( 1 , 2 )"),
            ("php", "<?php f([1, 2,], 3,);", "<?php f ( [ 1 , 2 ] , 3 ) ;"),
            ("ruby", "a = [1, 2,]", "a = [ 1 , 2 ]"),
            ("lua", "a = {1, 2,}", "a = { 1 , 2 }"),
            ("swift", "let a = [1, 2,]", "let a = [ 1 , 2 ]"),
            ("scala", "val a = f(1,\n  2,\n)", "val a = f ( 1 , 2 )"),
        ] {
            assert_eq!(tokens(language, src), expected, "{language}");
        }
    }

    #[test]
    fn a_comma_that_means_something_is_one() {
        for (language, src) in [
            ("python", "a = ( b , )"),
            ("python", "a [ b , ]"),
            ("rust", "let ( a , ) = ( b , ) ;"),
            ("rust", "m ! { ( $ ( , ) ? ) => { } }"),
            ("javascript", "[ , a , , ]"),
            ("javascript", "const { a : { b , c } } = d"),
            ("c", "F ( a , ) ;"),
            ("c-sharp", "int [ , ] a = b ;"),
        ] {
            assert_eq!(tokens(language, src), src, "{language}");
        }
    }

    #[test]
    fn a_semicolon_at_a_line_end_is_no_token() {
        for (language, src, expected) in [
            (
                "javascript",
                "a = b; for (;;) { c(); } if (d) e(); else f();",
                "a = b for ( ; ; ) { c ( ) } if ( d ) e ( ) else f ( )",
            ),
            ("javascript", "class A { b = 1; c() {}; }", "class A { b = 1 c ( ) { } }"),
            ("typescript", "interface A { b: C; d: E, }", "interface A { b : C d : E }"),
            ("python", "a = 1; b = 2;", "a = 1 b = 2"),
            ("kotlin", "fun f() { a(); b() }", "fun f ( ) { a ( ) b ( ) }"),
            ("swift", "func f() { a(); b() }", "func f ( ) { a ( ) b ( ) }"),
            ("scala", "def f() = { a(); b() }", "def f ( ) = { a ( ) b ( ) }"),
            ("ruby", "def f; a; b; end", "def f a b end"),
            ("lua", "local a = 1; return a;", "local a = 1 return a"),
            ("bash", "if a; then b; fi", "if a then b fi"),
        ] {
            assert_eq!(tokens(language, src), expected, "{language}");
        }
    }

    #[test]
    fn a_semicolon_that_means_something_is_one() {
        for (language, src) in [
            ("javascript", "while ( a ( ) ) ;"),
            ("lua", "a = { 1 ; 2 }"),
            ("bash", "for (( i = 0 ; i < 3 ; i ++ )) do a done"),
            ("rust", "fn f ( ) { a ; }"),
            ("java", "a ( ) ;"),
            ("go", "if a := b ( ) ; a { }"),
        ] {
            assert_eq!(tokens(language, src), src, "{language}");
        }
    }

    #[test]
    fn units_are_the_same_with_and_without_them() {
        for (language, with, without) in [
            ("javascript", "a(b,);\n;[1].c();\nd = {e() {},};\n", "a(b)\n\n;[1].c()\nd = {e() {}}\n"),
            ("python", "def f(a,):\n    b(c,); d()\n", "def f(a):\n    b(c)\n    d()\n"),
            ("typescript", "type A = { b: C; d: E };\nlet x = 1;\n", "type A = {\n  b: C\n  d: E\n}\nlet x = 1\n"),
        ] {
            let units = |src: &str| {
                let lexed = fixture::lexed(crate::by_name(language).expect("a known language"), src);
                lexed.units.iter().map(|unit| (unit.start, unit.end, unit.list, unit.flags)).collect::<Vec<_>>()
            };
            assert_eq!(units(with), units(without), "{language}");
        }
    }
}
