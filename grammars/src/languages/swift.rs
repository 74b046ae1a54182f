//! Swift: table only, tokens by tree-sitter.

use crate::head::{Head, starts_with_word};
use crate::leaves::Syntax;
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
            "protocol_property_requirements",
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
        ],
    },
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
