//! Swift: table only, tokens by tree-sitter.

use crate::head::{Head, starts_with_word};
use crate::leaves::Syntax;
use crate::optional::Optional;
use crate::token::{IDENTIFIER, NUMBER, STRING, Token};
use crate::{Cache, Language, parsers};

pub static SWIFT: Language = Language {
    name: "swift",
    family: "swift",
    extensions: &["swift"],
    file_names: &[],
    shebangs: &["swift"],
    line_comment: "//",
    block_comment: Some(("/*", "*/")),
    grammar: parsers::swift,
    syntax: Syntax {
        atoms: &[
            ("simple_identifier", IDENTIFIER),
            ("type_identifier", IDENTIFIER),
            ("boolean_literal", IDENTIFIER),
            ("nil_literal", IDENTIFIER),
            ("custom_operator", IDENTIFIER),
            ("integer_literal", NUMBER),
            ("hex_literal", NUMBER),
            ("oct_literal", NUMBER),
            ("bin_literal", NUMBER),
            ("real_literal", NUMBER),
            ("line_string_literal", STRING),
            ("multi_line_string_literal", STRING),
            ("raw_string_literal", STRING),
            ("regex_literal", STRING),
            ("line_str_text", STRING),
            ("multi_line_str_text", STRING),
        ],
        comments: &["comment", "multiline_comment", "shebang_line"],
        lists: &[
            "source_file",
            "statements",
            "class_body",
            "enum_class_body",
            "protocol_body",
            "switch_statement",
            "computed_property",
            "willset_didset_block",
        ],
        imports: &["import_declaration"],
        splits: &[
            ("else", &["else"]),
            ("catch", &["catch"]),
            ("default", &["default"]),
            ("throw", &["throw"]),
            ("throws", &["throws"]),
            ("rethrows", &["rethrows"]),
            ("where", &["where"]),
            ("as?", &["as", "?"]),
            ("as!", &["as", "!"]),
            ("==", &["=="]),
            ("!=", &["!="]),
            ("<=", &["<="]),
            (">=", &[">="]),
            ("&&", &["&&"]),
            ("||", &["||"]),
            ("??", &["??"]),
            ("...", &["..."]),
            ("..<", &["..<"]),
        ],
    },
    optional: Optional::LINES,
    lexer: None,
    is_test,
    cache: Cache::new(),
};

/// XCTest's methods and classes, the attributes of Swift Testing, the calls of Quick.
fn is_test(src: &[u8], tokens: &[Token]) -> bool {
    let head = Head::new(src, tokens);
    if head.is(0, &["describe", "context", "it", "fdescribe", "fit", "xit"]) {
        return head.is(1, &["("]) && head.is_string(2);
    }
    head.annotated(&["Test", "Suite"])
        || head.declared("func").is_some_and(|name| starts_with_word(name, "test"))
        || head.inherits("class", &["XCTestCase", "QuickSpec"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{tokens, units};

    #[test]
    fn names_and_literals_are_normalized_and_keywords_kept() {
        let src = r##"let x: Int? = 0x1F + 1.5 // a
guard a != b ?? c, d as? E else { throw f("g \(h) i", #"j"#, nil) }"##;
        assert_eq!(
            tokens(&SWIFT, src),
            r##"let i:x : i:Int ? = n:0x1F + n:1.5 guard i:a != i:b ?? i:c , i:d as ? i:E else { throw i:f ( s:"g \(h) i" , s:#"j"# , i:nil ) }"##
        );
    }

    #[test]
    fn functions_and_what_stands_in_them_are_units() {
        let src = r"import A
final class B: C {
    var x: Int { get { return 1 } set { y = newValue } }
    func f(a b: Int) throws {
        switch c { case .a(let x): g(); h()
        default: break }
        do { try i() } catch { j() }
        list.map { x in k(); return x }
        if l { m() } else { n() }
    }
}";
        assert_eq!(
            units(&SWIFT, src),
            [
                "0:<import A",
                "0:final class B: C { var x: Int { get { re … else { n() } } }",
                "1:var x: Int { get { return 1 } set { y = newValue } }",
                "2:get { return 1 }",
                "3:return 1",
                "2:set { y = newValue }",
                "4:y = newValue",
                "1:func f(a b: Int) throws { switch c { cas … } else { n() } }",
                "5:switch c { case .a(let x): g(); h() default: break }",
                "6:c",
                "6:case .a(let x): g(); h()",
                "7:g()",
                "7:h()",
                "6:default: break",
                "8:break",
                "5:do { try i() } catch { j() }",
                "9:try i()",
                "10:j()",
                "5:list.map { x in k(); return x }",
                "11:k()",
                "11:return x",
                "5:if l { m() } else { n() }",
                "12:m()",
                "13:n()",
            ]
        );
    }

    #[test]
    fn tests_are_known_by_name_attribute_base_and_call() {
        let src = r#"class FooTests: XCTestCase { override func testIt() { a() } }
@Test func b() {}
func tested() {}
describe("c") { d() }"#;
        assert_eq!(
            units(&SWIFT, src),
            [
                "0:!class FooTests: XCTestCase { override func testIt() { a() } }",
                "1:!override func testIt() { a() }",
                "2:a()",
                "0:!@Test func b() {}",
                "0:func tested() {}",
                r#"0:!describe("c") { d() }"#,
                "3:d()",
            ]
        );
    }
}
