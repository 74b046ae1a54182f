//! Kotlin: table only, tokens by tree-sitter.

use crate::head::Head;
use crate::leaves::Syntax;
use crate::optional::Optional;
use crate::token::{CHARACTER, IDENTIFIER, NUMBER, STRING, Token};
use crate::{Cache, Language, parsers};

pub static KOTLIN: Language = Language {
    name: "kotlin",
    family: "kotlin",
    extensions: &["kt", "kts", "ktm"],
    file_names: &[],
    shebangs: &["kotlin", "kotlinc"],
    line_comment: "//",
    block_comment: Some(("/*", "*/")),
    grammar: parsers::kotlin,
    syntax: Syntax {
        atoms: &[
            ("identifier", IDENTIFIER),
            ("number_literal", NUMBER),
            ("float_literal", NUMBER),
            ("character_literal", CHARACTER),
            ("string_literal", STRING),
            ("multiline_string_literal", STRING),
            ("string_content", STRING),
        ],
        comments: &["line_comment", "block_comment", "shebang"],
        lists: &["source_file", "block", "class_body", "enum_class_body", "lambda_literal", "when_expression"],
        imports: &["import", "package_header"],
        // Names to the grammar.
        splits: &[("break", &["break"]), ("continue", &["continue"])],
    },
    optional: Optional::LINES,
    lexer: None,
    is_test,
    cache: Cache::new(),
};

/// JUnit and TestNG annotations, and the styles of Kotest as the classes that use them.
fn is_test(src: &[u8], tokens: &[Token]) -> bool {
    const ANNOTATIONS: [&str; 6] =
        ["Test", "ParameterizedTest", "RepeatedTest", "TestFactory", "TestTemplate", "Nested"];
    const STYLES: [&str; 9] = [
        "StringSpec",
        "FunSpec",
        "ShouldSpec",
        "DescribeSpec",
        "BehaviorSpec",
        "WordSpec",
        "FreeSpec",
        "FeatureSpec",
        "ExpectSpec",
    ];
    let head = Head::new(src, tokens);
    head.annotated(&ANNOTATIONS) || head.inherits("class", &STYLES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{tokens, units};

    #[test]
    fn names_and_literals_are_normalized_and_keywords_kept() {
        let src = r#"val data: Int? = 0x1F + 1.5f // c
if (!value) { continue } else f("a ${b { "c" }} d", """e""", 'g')"#;
        assert_eq!(
            tokens(&KOTLIN, src),
            r#"val i:data : i:Int ? = n:0x1F + n:1.5f if ( ! i:value ) { continue } else i:f ( s:"a ${b { "c" }} d" , s:"""e""" , c:'g' )"#
        );
    }

    #[test]
    fn functions_and_what_stands_in_them_are_units() {
        let src = r"package a.b
import c.d
class P(val x: Int) : Base(x) {
    fun f(x: Int?) {
        when (x) { 1 -> g(); else -> { h(); i() } }
        if (a) b() else { c() }
        y.map { z -> j(z); k() }
    }
}";
        assert_eq!(
            units(&KOTLIN, src),
            [
                "0:<package a.b",
                "0:<import c.d",
                "0:class P(val x: Int) : Base(x) { fun f(x: …  j(z); k() } } }",
                "1:fun f(x: Int?) { when (x) { 1 -> g(); el … -> j(z); k() } }",
                "2:when (x) { 1 -> g(); else -> { h(); i() } }",
                "3:(x)",
                "3:1 -> g()",
                "3:else -> { h(); i() }",
                "4:h()",
                "4:i()",
                "2:if (a) b() else { c() }",
                "5:c()",
                "2:y.map { z -> j(z); k() }",
                "6:z",
                "6:j(z)",
                "6:k()",
            ]
        );
    }

    #[test]
    fn tests_are_known_by_their_annotations_and_styles() {
        let src = r#"@Test fun `adds up`() { a() }
@org.junit.jupiter.api.ParameterizedTest(name = "x") @B fun c() {}
class D : StringSpec({ "e" { 1 shouldBe 1 } })
@Testable fun f() = 1"#;
        assert_eq!(
            units(&KOTLIN, src),
            [
                "0:!@Test fun `adds up`() { a() }",
                "1:a()",
                r#"0:!@org.junit.jupiter.api.ParameterizedTest … ") @B fun c() {}"#,
                r#"0:!class D : StringSpec({ "e" { 1 shouldBe 1 } })"#,
                r#"3:"e" { 1 shouldBe 1 }"#,
                "4:1 shouldBe 1",
                "0:@Testable fun f() = 1",
            ]
        );
    }
}
