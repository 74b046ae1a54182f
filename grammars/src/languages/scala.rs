//! Scala: table only, tokens by tree-sitter.

use crate::head::Head;
use crate::leaves::Syntax;
use crate::optional::Optional;
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
            ("operator_identifier", IDENTIFIER),
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
            "case_clause",
            "lambda_expression",
            "extension_definition",
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
    optional: Optional::LINES,
    lexer: None,
    is_test,
    cache: Cache::new(),
};

/// The styles of ScalaTest, specs2, munit and ScalaCheck, and JUnit's annotation.
fn is_test(src: &[u8], tokens: &[Token]) -> bool {
    const CALLS: [&str; 8] = ["test", "it", "they", "describe", "property", "feature", "scenario", "ignore"];
    const VERBS: [&str; 8] = ["should", "must", "can", "in", "when", "which", "ignore", ">>"];
    const BASES: [&str; 18] = [
        "FunSuite",
        "FlatSpec",
        "FunSpec",
        "WordSpec",
        "FreeSpec",
        "PropSpec",
        "FeatureSpec",
        "FixtureAnyFunSuite",
        "AnyFunSuite",
        "AnyFlatSpec",
        "AnyFunSpec",
        "AnyWordSpec",
        "AnyFreeSpec",
        "AnyPropSpec",
        "AnyFeatureSpec",
        "Specification",
        "Properties",
        "TestCase",
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{tokens, units};

    #[test]
    fn names_and_literals_are_normalized_and_keywords_kept() {
        let src = r#"val x: Int = 0x1F + 1.5f * y <~> () // a
if (!a && b != null) f(s"c $d ${e.f}", """g""", 'h', _) else for (i <- 0 to 3) yield i"#;
        assert_eq!(
            tokens(&SCALA, src),
            r#"val i:x : i:Int = n:0x1F + n:1.5f * i:y i:<~> ( ) if ( ! i:a && i:b != i:null ) i:f ( s:s"c $d ${e.f}" , s:"""g""" , c:'h' , _ ) else for ( i:i <- n:0 i:to n:3 ) yield i:i"#
        );
    }

    #[test]
    fn functions_and_what_stands_in_them_are_units() {
        let src = r"package a.b
import c._
object O {
  def f(x: Int) = x match {
    case 1 if y =>
      a()
      b()
    case _ => ()
  }
  val z = xs.map { x => g(x); h(x) }
  try { i() } catch { case e: E => j() }
}";
        assert_eq!(
            units(&SCALA, src),
            [
                "0:<package a.b",
                "0:<import c._",
                "0:object O { def f(x: Int) = x match { cas …  e: E => j() } }",
                "1:def f(x: Int) = x match { case 1 if y => a() b() case _ => () }",
                "2:case 1 if y => a() b()",
                "3:1",
                "3:if y",
                "3:a()",
                "3:b()",
                "2:case _ => ()",
                "4:_",
                "4:()",
                "1:val z = xs.map { x => g(x); h(x) }",
                "5:x => g(x); h(x)",
                "6:x",
                "6:g(x)",
                "6:h(x)",
                "1:try { i() } catch { case e: E => j() }",
                "7:i()",
                "8:case e: E => j()",
                "9:e: E",
                "9:j()",
            ]
        );
    }

    #[test]
    fn statements_by_indentation_are_units() {
        let src = r"object O:
  def f(x: Int) =
    val y = x
    y + 1
";
        assert_eq!(
            units(&SCALA, src),
            [
                "0:object O: def f(x: Int) = val y = x y + 1",
                "1:def f(x: Int) = val y = x y + 1",
                "2:val y = x",
                "2:y + 1",
            ]
        );
    }

    #[test]
    fn tests_are_known_by_their_styles() {
        let src = r#"class FooSpec extends AnyFlatSpec with Matchers {
  test("a") { b() }
  it should "c" in { d() }
  "e" should "f" in { g() }
  @Test def h() = i
  tested("j")
}"#;
        assert_eq!(
            units(&SCALA, src),
            [
                r#"0:!class FooSpec extends AnyFlatSpec with M …  i tested("j") }"#,
                r#"1:!test("a") { b() }"#,
                "2:b()",
                r#"1:!it should "c" in { d() }"#,
                "3:d()",
                r#"1:!"e" should "f" in { g() }"#,
                "4:g()",
                "1:!@Test def h() = i",
                r#"1:tested("j")"#,
            ]
        );
    }
}
