//! C++: its table. The lexer and the structure are the family's.

use super::c_family::{self, DIFFERENCES, Dialect, WORDS, alphabet, is_test};
use crate::alphabet::word;
use crate::leaves::Syntax;
use crate::optional::Optional;
use crate::token::{CHARACTER, Lexed, NUMBER, STRING};
use crate::{Cache, Language, Lexer, parsers};

pub static CPP: Language = Language {
    name: "cpp",
    family: "c",
    extensions: &["cc", "cpp", "cxx", "c++", "hpp", "hh", "hxx", "h++", "ipp", "tpp", "inl", "cu", "cuh", "ino"],
    file_names: &[],
    shebangs: &[],
    line_comment: "//",
    block_comment: Some(("/*", "*/")),
    grammar: parsers::cpp,
    syntax: Syntax {
        atoms: &[
            ("number_literal", NUMBER),
            ("char_literal", CHARACTER),
            ("string_literal", STRING),
            ("raw_string_literal", STRING),
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
            "requirement_seq",
            "preproc_if",
            "preproc_ifdef",
            "preproc_else",
            "preproc_elif",
            "preproc_elifdef",
        ],
        imports: &["preproc_include", "using_declaration"],
        splits: &[
            (">>", &[">", ">"]),
            (">>=", &[">", ">="]),
            ("[[", &["[", "["]),
            ("]]", &["]", "]"]),
            ("()", &["(", ")"]),
            ("[]", &["[", "]"]),
        ],
    },
    optional: Optional::BRACES,
    lexer: Some(Lexer { lex, units, alphabet, differences: DIFFERENCES }),
    is_test,
    cache: Cache::new(),
};

fn lex(src: &[u8], out: &mut Lexed) {
    c_family::lex(Dialect::Cpp, src, out);
}

fn units(src: &[u8], out: &mut Lexed) {
    c_family::units(Dialect::Cpp, src, out);
}
