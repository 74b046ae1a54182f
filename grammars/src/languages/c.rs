//! C: its table. The lexer and the structure are the family's; a header that is C++ is read as such.

use super::c_family::{self, DIFFERENCES, WORDS, alphabet, dialect_of, is_test};
use crate::alphabet::word;
use crate::leaves::Syntax;
use crate::optional::Optional;
use crate::token::{CHARACTER, IDENTIFIER, Lexed, NUMBER, STRING};
use crate::{Cache, Language, Lexer, parsers};

pub static C: Language = Language {
    name: "c",
    family: "c",
    extensions: &["c", "h"],
    file_names: &[],
    shebangs: &[],
    line_comment: "//",
    block_comment: Some(("/*", "*/")),
    grammar: parsers::c,
    syntax: Syntax {
        // Names may be spelled like the keywords of C++.
        atoms: &[
            ("identifier", IDENTIFIER),
            ("type_identifier", IDENTIFIER),
            ("field_identifier", IDENTIFIER),
            ("statement_identifier", IDENTIFIER),
            ("number_literal", NUMBER),
            ("char_literal", CHARACTER),
            ("string_literal", STRING),
            ("system_lib_string", STRING),
            ("preproc_directive", word!("#directive")),
        ],
        comments: &["comment"],
        lists: &[
            "translation_unit",
            "declaration_list",
            "compound_statement",
            "field_declaration_list",
            "enumerator_list",
            "case_statement",
            "preproc_if",
            "preproc_ifdef",
            "preproc_else",
            "preproc_elif",
            "preproc_elifdef",
        ],
        imports: &["preproc_include"],
        splits: &[
            (">>", &[">", ">"]),
            (">>=", &[">", ">="]),
            ("::", &[":", ":"]),
            ("[[", &["[", "["]),
            ("]]", &["]", "]"]),
        ],
    },
    optional: Optional::BRACES,
    lexer: Some(Lexer { lex, units, alphabet, differences: DIFFERENCES }),
    is_test,
    cache: Cache::new(),
};

fn lex(src: &[u8], out: &mut Lexed) {
    c_family::lex(dialect_of(src), src, out);
}

fn units(src: &[u8], out: &mut Lexed) {
    c_family::units(dialect_of(src), src, out);
}
