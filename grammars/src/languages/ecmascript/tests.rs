//! Tricky tokens and unit boundaries of JavaScript and TypeScript.

use super::*;
use crate::token::Unit;

fn read(src: &str, tags: bool) -> Lexed {
    let mut lexed = Lexed::default();
    Ecmascript::new(src.as_bytes(), &mut lexed, tags).run();
    units(src.as_bytes(), &mut lexed);
    lexed
}

/// The tokens, each as its text with `n`, `#`, `s`, `t` for names, numbers, strings and texts.
fn tokens(src: &str, tags: bool) -> String {
    let lexed = read(src, tags);
    let text = |t: &Token| &src[t.start as usize..t.end as usize];
    let spelled: Vec<String> = lexed
        .tokens
        .iter()
        .map(|t| match t.code {
            IDENTIFIER => format!("n:{}", text(t)),
            NUMBER => format!("#:{}", text(t)),
            STRING => format!("s:{}", text(t)),
            TEXT => format!("t:{}", text(t)),
            _ => text(t).to_owned(),
        })
        .collect();
    spelled.join(" ")
}

/// The units, one a line, in the order in which they start.
fn pieces(src: &str, tags: bool) -> Vec<String> {
    let lexed = read(src, tags);
    let place =
        |u: &Unit| (lexed.tokens[u.start as usize].start as usize, lexed.tokens[u.end as usize - 1].end as usize);
    lexed.units.iter().map(place).map(|(start, end)| src[start..end].to_owned()).collect()
}

fn flags(src: &str) -> Vec<u8> {
    read(src, true).units.iter().map(|unit| unit.flags).collect()
}

#[test]
fn a_slash_divides_after_operands_only() {
    assert_eq!(tokens("a / b / c", true), "n:a / n:b / n:c");
    assert_eq!(tokens("x = /[/]\\//g.test(y)", true), "n:x = s:/[/]\\//g . n:test ( n:y )");
    assert_eq!(tokens("if (a) /b/.c()", true), "if ( n:a ) s:/b/ . n:c ( )");
    assert_eq!(tokens("(a) / b / c", true), "( n:a ) / n:b / n:c");
    assert_eq!(tokens("a! / b / !/c/", false), "n:a ! / n:b / ! s:/c/");
    assert_eq!(tokens("`${a}${/}/}`", true), "s:`${a}${/}/}`");
}

#[test]
fn a_template_is_one_string_whatever_stands_in_it() {
    assert_eq!(tokens("f(`a ${b(`c ${{ d: '}' }.d}`)} e`)", true), "n:f ( s:`a ${b(`c ${{ d: '}' }.d}`)} e` )");
    assert_eq!(tokens("`${<a>`</a>}` + 1", true), "s:`${<a>`</a>}` + #:1");
}

#[test]
fn numbers_end_where_their_members_start() {
    assert_eq!(
        tokens("1..a + 1.5e-3 + 0xe-1 + 1n + .5 + 1_0", true),
        "#:1. . n:a + #:1.5e-3 + #:0xe - #:1 + #:1n + #:.5 + #:1_0"
    );
    assert_eq!(tokens("a?.5:1", true), "n:a ? #:.5 : #:1");
}

#[test]
fn keywords_are_names_where_members_are_named() {
    assert_eq!(tokens("a.default?.catch", true), "n:a . n:default ?. n:catch");
    assert_eq!(tokens("x = { delete: 1, new: 2 }", true), "n:x = { n:delete : #:1 , n:new : #:2 }");
    assert_eq!(tokens("switch (a) { default: b }", true), "switch ( n:a ) { default : n:b }");
    assert_eq!(tokens("class A { delete() { delete (b) } }", true), "class n:A { n:delete ( ) { delete ( n:b ) } }");
    assert_eq!(tokens("x = { a, in() {} }", true), "n:x = { n:a , n:in ( ) { } }");
    assert_eq!(tokens("f(): -1 | 0 { if (a) b }", false), "n:f ( ) : - #:1 | #:0 { if ( n:a ) n:b }");
    assert_eq!(tokens("x ? y as const : z", false), "n:x ? n:y n:as const : n:z");
}

#[test]
fn tags_have_names_strings_and_texts() {
    assert_eq!(
        tokens("x = <a-b for='\\' c={d}> it's &amp; {e} <f.g /></a-b>", true),
        "n:x = < n:a-b n:for = s:'\\' n:c = { n:d } > t:it's t:&amp; { n:e } < n:f . n:g /> </ n:a-b >"
    );
    assert_eq!(tokens("a < b > (c)", true), "n:a < n:b > ( n:c )");
    assert_eq!(tokens("f = <T,>(x: T) => <A<T> b/>", true), "n:f = < n:T , > ( n:x : n:T ) => < n:A < n:T > n:b />");
    assert_eq!(tokens("type F = <T>(x: T) => T", true), "n:type n:F = < n:T > ( n:x : n:T ) => n:T");
    assert_eq!(tokens("a <<b> c << 1 >>= 2", true), "n:a < < n:b > n:c < < #:1 > >= #:2");
    assert_eq!(tokens("x = <T>(y)", false), "n:x = < n:T > ( n:y )");
}

#[test]
fn statements_end_by_semicolons_or_lines() {
    assert_eq!(
        pieces("a()\nb\n  .c()\n;[d].e()\nreturn\nf\n++g", true),
        ["a()", "b\n  .c()\n;", "[d].e()", "return", "f", "++g"]
    );
    assert_eq!(pieces("if (a) b()\nelse c()\nd()", true), ["if (a) b()\nelse c()", "d()"]);
    assert_eq!(pieces("do a(); while (b) c()", true), ["do a(); while (b)", "c()"]);
    assert_eq!(pieces("x = <a>\n  <b/>\n</a>\ny", true), ["x = <a>\n  <b/>\n</a>", "y"]);
    assert_eq!(pieces("let a: B<C>\nlet d = e >\n  f", false), ["let a: B<C>", "let d = e >\n  f"]);
}

#[test]
fn functions_classes_and_objects_hold_units() {
    assert_eq!(pieces("f(() => { a(); b() })", true), ["f(() => { a(); b() })", "a();", "b()"]);
    assert_eq!(pieces("x = { a() { b }, c: 1 }", true), ["x = { a() { b }, c: 1 }", "a() { b }", "b", "c: 1"]);
    assert_eq!(
        pieces("@A({})\nclass B {\n  @C()\n  d = 1\n  e() {}\n  f = () => {\n  }\n}", true)[1..],
        ["@C()\n  d = 1", "e() {}", "f = () => {\n  }"]
    );
    assert_eq!(
        pieces("interface A { b: C<D, E>, f(): void\n g: {} }", false)[1..],
        ["b: C<D, E>", "f(): void", "g: {}"]
    );
    assert_eq!(
        pieces("switch (a) { case b ? c : d: e(); default: f }", true)[1..],
        ["case b ? c : d: e();", "e();", "default: f", "f"]
    );
}

#[test]
fn imports_and_tests_are_flagged() {
    assert_eq!(flags("import a from 'b'\nexport * from 'c'\nconst d = require('e')\nimport('f')"), [1, 1, 1, 0]);
    assert_eq!(flags("describe('a', b)\nit.each([])('c', d)\ntest(e)\nbeforeEach(f)"), [2, 2, 0, 2]);
}

const NASTY: &str = "#!/usr/bin/env node\n\u{feff}class A<T = {}> extends (b) { static #c = /[/]\\//g; get\u{a0}d() { return `e ${f(`g ${ {h: '\\\r\n'} }`)} i` } }\n\
     x = <a b='c' {...d} e={<f/>}>&nbsp; & \u{2028}<></> {/* g */ h}</a>; y = a < b >> c ?.5 : 0x1F; // z\n\
     @k() export default { async *[l]() { do m\nwhile (n) switch (o) { case p: { } default: } } }\n\\u{61}b <!-- q\n<T>(";

#[test]
fn every_prefix_is_read_in_order() {
    for end in 0..=NASTY.len() {
        for tags in [true, false] {
            let mut lexed = Lexed::default();
            let src = &NASTY.as_bytes()[..end];
            Ecmascript::new(src, &mut lexed, tags).run();
            units(src, &mut lexed);
            assert!(lexed.tokens.iter().all(|t| t.start < t.end && t.end as usize <= end));
            assert!(lexed.tokens.windows(2).all(|pair| pair[0].end <= pair[1].start && pair[0].line <= pair[1].line));
            assert!(lexed.units.iter().all(|u| u.start < u.end && u.end as usize <= lexed.tokens.len()));
        }
    }
}

#[test]
fn hostile_texts_take_linear_time() {
    for piece in [
        "[", "(", "{", "`${", "<a>", "<a b=", "=/[", "[)", "{[)", "a<", "x = <T>(", "}", "/*", "<!--", "do ", "a?",
        "\\u{", "&", "${", "<a>&", "if/**/", "if //\n",
    ] {
        let src = piece.repeat(100_000);
        for tags in [true, false] {
            read(&src, tags);
        }
    }
}

/// Found by `tests/fuzz`, seed 50247: `interface /* why */ Cart` was a name and another name.
#[test]
fn comments_do_not_change_what_a_keyword_is() {
    for (plain, commented) in [
        ("interface A { b: c }", "interface /* d */ A { b: c }"),
        ("interface A { b: c }", "interface // d\n A { b: c }"),
        ("enum A { b }", "enum /* : */ /* ; */ A { b }"),
        ("x = { delete: 1, default: 2 }", "x = { delete /* d */ : 1, default /* d */ : 2 }"),
        ("class A { catch(b) {} static = 1; if; }", "class A { catch /* d */ (b) {} static /* d */ = 1; if /* d */; }"),
        ("f = <T, U>(a) => a", "f = <T /* d */ , U>(a) => a"),
        ("f = <T extends B>(a) => a", "f = <T /* d */ extends B>(a) => a"),
    ] {
        assert_eq!(tokens(commented, true), tokens(plain, true), "{commented}");
    }
}
