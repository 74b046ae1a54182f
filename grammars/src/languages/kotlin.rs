//! Kotlin: table only, tokens by tree-sitter.

use crate::head::Head;
use crate::leaves::Syntax;
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
        splits: &[],
    },
    lexer: None,
    is_test,
    cache: Cache::new(),
};

/// JUnit and TestNG annotations, and the styles of Kotest as the classes that use them.
fn is_test(src: &[u8], tokens: &[Token]) -> bool {
    const ANNOTATIONS: [&str; 6] =
        ["Test", "ParameterizedTest", "RepeatedTest", "TestFactory", "TestTemplate", "Nested"];
    const STYLES: [&str; 9] = [
        "StringSpec", "FunSpec", "ShouldSpec", "DescribeSpec", "BehaviorSpec", "WordSpec", "FreeSpec", "FeatureSpec",
        "ExpectSpec",
    ];
    let head = Head::new(src, tokens);
    head.annotated(&ANNOTATIONS) || head.inherits("class", &STYLES)
}
