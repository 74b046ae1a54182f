//! Scala: table only, tokens by tree-sitter.

use crate::head::Head;
use crate::leaves::Syntax;
use crate::token::{CHARACTER, IDENTIFIER, NUMBER, STRING, TEXT, Token};
use crate::{Cache, Language, parsers};

pub static SCALA: Language = Language {
    name: "scala",
    family: "scala",
    extensions: &["scala", "sc", "sbt", "mill"],
    file_names: &[],
    shebangs: &["scala", "scala-cli", "amm"],
    line_comment: "//",
    block_comment: Some(("/*", "*/")),
    grammar: parsers::scala,
    syntax: Syntax {
        atoms: &[
            ("identifier", IDENTIFIER),
            ("type_identifier", IDENTIFIER),
            ("boolean_literal", IDENTIFIER),
            ("null_literal", IDENTIFIER),
            ("integer_literal", NUMBER),
            ("floating_point_literal", NUMBER),
            ("character_literal", CHARACTER),
            ("string", STRING),
            ("interpolated_string_expression", STRING),
            ("xml_string", STRING),
            ("xml_text", TEXT),
            ("xml_cdata", TEXT),
        ],
        comments: &["comment", "block_comment", "using_directive", "xml_comment"],
        lists: &[
            "compilation_unit",
            "template_body",
            "with_template_body",
            "early_defs",
            "enum_body",
            "block",
            "indented_block",
            "case_block",
            "indented_cases",
        ],
        imports: &["import_declaration", "package_clause", "export_declaration"],
        // Operators are names to the grammar; these are as good as fixed.
        splits: &[
            ("()", &["(", ")"]),
            ("+", &["+"]),
            ("-", &["-"]),
            ("*", &["*"]),
            ("/", &["/"]),
            ("%", &["%"]),
            ("==", &["=="]),
            ("!=", &["!="]),
            ("<", &["<"]),
            (">", &[">"]),
            ("<=", &["<="]),
            (">=", &[">="]),
            ("&&", &["&&"]),
            ("||", &["||"]),
            ("!", &["!"]),
            ("&", &["&"]),
            ("|", &["|"]),
            ("^", &["^"]),
            ("<<", &["<<"]),
            (">>", &[">>"]),
            (">>>", &[">>>"]),
            ("::", &["::"]),
            (":::", &[":::"]),
            ("++", &["++"]),
            ("+=", &["+="]),
            ("-=", &["-="]),
            ("++=", &["++="]),
            ("eq", &["eq"]),
            ("ne", &["ne"]),
            (":+", &[":+"]),
            ("+:", &["+:"]),
            ("%%", &["%%"]),
            (":=", &[":="]),
        ],
    },
    lexer: None,
    is_test,
    cache: Cache::new(),
};

/// The styles of ScalaTest, specs2, munit and ScalaCheck, and JUnit's annotation.
fn is_test(src: &[u8], tokens: &[Token]) -> bool {
    const CALLS: [&str; 8] = ["test", "it", "they", "describe", "property", "feature", "scenario", "ignore"];
    const VERBS: [&str; 8] = ["should", "must", "can", "in", "when", "which", "ignore", ">>"];
    const BASES: [&str; 18] = [
        "FunSuite", "FlatSpec", "FunSpec", "WordSpec", "FreeSpec", "PropSpec", "FeatureSpec", "FixtureAnyFunSuite",
        "AnyFunSuite", "AnyFlatSpec", "AnyFunSpec", "AnyWordSpec", "AnyFreeSpec", "AnyPropSpec", "AnyFeatureSpec",
        "Specification", "Properties", "TestCase",
    ];
    let head = Head::new(src, tokens);
    if head.is(0, &CALLS) {
        return (head.is(1, &["("]) && head.is_string(2)) || head.is(1, &["should", "must", "can"]);
    }
    if head.is_string(0) {
        return head.is(1, &VERBS);
    }
    head.annotated(&["Test"])
        || (head.is(0, &["behavior"]) && head.is(1, &["of"]))
        || head.inherits("class", &BASES)
        || head.inherits("object", &["Properties"])
}
