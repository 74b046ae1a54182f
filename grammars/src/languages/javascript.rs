//! JavaScript, JSX included: the table. Lexer and structure are in `ecmascript.rs`.

use super::ecmascript;
use crate::leaves::Syntax;
use crate::token::{IDENTIFIER, NUMBER, STRING, TEXT};
use crate::{Cache, Language, Lexer, parsers};

pub static JAVASCRIPT: Language = Language {
    name: "javascript",
    family: "javascript",
    extensions: &["js", "mjs", "cjs", "jsx"],
    file_names: &[],
    shebangs: &["node", "nodejs"],
    line_comment: "//",
    block_comment: Some(("/*", "*/")),
    grammar: parsers::javascript,
    syntax: Syntax {
        atoms: &[
            ("identifier", IDENTIFIER),
            ("property_identifier", IDENTIFIER),
            ("private_property_identifier", IDENTIFIER),
            ("shorthand_property_identifier", IDENTIFIER),
            ("shorthand_property_identifier_pattern", IDENTIFIER),
            ("statement_identifier", IDENTIFIER),
            ("number", NUMBER),
            ("string", STRING),
            ("template_string", STRING),
            ("regex", STRING),
            ("jsx_text", TEXT),
            ("html_character_reference", TEXT),
        ],
        comments: ecmascript::COMMENTS,
        lists: &["program", "statement_block", "class_body", "switch_body", "switch_case", "switch_default", "object"],
        imports: &["import_statement"],
        splits: &[
            ("<<", &["<", "<"]),
            ("<<=", &["<", "<="]),
            (">>", &[">", ">"]),
            (">>>", &[">", ">", ">"]),
            (">>=", &[">", ">="]),
            (">>>=", &[">", ">", ">="]),
        ],
    },
    optional: ecmascript::OPTIONAL,
    lexer: Some(Lexer {
        lex: ecmascript::lex_with_tags,
        units: ecmascript::units,
        alphabet: ecmascript::alphabet,
        differences: ecmascript::DIFFERENCES,
    }),
    is_test: ecmascript::is_test,
    cache: Cache::new(),
};
