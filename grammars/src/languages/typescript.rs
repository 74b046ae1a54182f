//! TypeScript and TSX: the tables. Lexer and structure are in `ecmascript.rs`.

use super::ecmascript;
use crate::leaves::Syntax;
use crate::token::{IDENTIFIER, NUMBER, STRING, TEXT};
use crate::{Cache, Language, Lexer, parsers};

pub static TYPESCRIPT: Language = Language {
    name: "typescript",
    family: "javascript",
    extensions: &["ts", "mts", "cts"],
    file_names: &[],
    shebangs: &["ts-node", "tsx", "deno", "bun"],
    line_comment: "//",
    block_comment: Some(("/*", "*/")),
    grammar: parsers::typescript,
    syntax: SYNTAX,
    optional: ecmascript::OPTIONAL,
    lexer: Some(Lexer {
        lex: ecmascript::lex_without_tags,
        units: ecmascript::units,
        alphabet: ecmascript::alphabet,
        differences: ecmascript::DIFFERENCES,
    }),
    is_test: ecmascript::is_test,
    cache: Cache::new(),
};

pub static TSX: Language = Language {
    name: "tsx",
    family: "javascript",
    extensions: &["tsx"],
    file_names: &[],
    shebangs: &[],
    line_comment: "//",
    block_comment: Some(("/*", "*/")),
    grammar: parsers::tsx,
    syntax: SYNTAX,
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

const SYNTAX: Syntax = Syntax {
    atoms: &[
        ("identifier", IDENTIFIER),
        ("property_identifier", IDENTIFIER),
        ("private_property_identifier", IDENTIFIER),
        ("shorthand_property_identifier", IDENTIFIER),
        ("shorthand_property_identifier_pattern", IDENTIFIER),
        ("statement_identifier", IDENTIFIER),
        ("type_identifier", IDENTIFIER),
        ("number", NUMBER),
        ("string", STRING),
        ("template_string", STRING),
        ("template_literal_type", STRING),
        ("regex", STRING),
        ("jsx_text", TEXT),
        ("html_character_reference", TEXT),
    ],
    comments: ecmascript::COMMENTS,
    lists: &[
        "program",
        "statement_block",
        "class_body",
        "interface_body",
        "object_type",
        "enum_body",
        "switch_body",
        "switch_case",
        "switch_default",
        "object",
    ],
    imports: &["import_statement", "import_alias"],
    splits: &[
        ("<<", &["<", "<"]),
        ("<<=", &["<", "<="]),
        (">>", &[">", ">"]),
        (">>>", &[">", ">", ">"]),
        (">>=", &[">", ">="]),
        (">>>=", &[">", ">", ">="]),
        ("?:", &["?", ":"]),
        ("-?:", &["-", "?", ":"]),
        ("+?:", &["+", "?", ":"]),
        ("{|", &["{", "|"]),
        ("|}", &["|", "}"]),
    ],
};
