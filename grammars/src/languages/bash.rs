//! Bash and other shells close to it: table only, tokens by tree-sitter.

use crate::head::{Head, starts_with_word};
use crate::leaves::Syntax;
use crate::token::{IDENTIFIER, NUMBER, STRING, Token};
use crate::{Cache, Language, parsers};

pub static BASH: Language = Language {
    name: "bash",
    family: "bash",
    extensions: &["sh", "bash", "bats", "ksh", "zsh", "ebuild", "eclass"],
    file_names: &[
        ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv",
        ".zprofile", ".kshrc", "bashrc", "profile", "PKGBUILD", "APKBUILD", "configure.ac.sh",
    ],
    shebangs: &["sh", "bash", "dash", "ash", "ksh", "zsh", "bats"],
    line_comment: "#",
    block_comment: None,
    grammar: parsers::bash,
    syntax: Syntax {
        atoms: &[
            ("word", IDENTIFIER),
            ("variable_name", IDENTIFIER),
            ("special_variable_name", IDENTIFIER),
            ("simple_expansion", IDENTIFIER),
            ("brace_expression", IDENTIFIER),
            ("test_operator", IDENTIFIER),
            ("number", NUMBER),
            ("file_descriptor", NUMBER),
            ("string", STRING),
            ("raw_string", STRING),
            ("ansi_c_string", STRING),
            ("translated_string", STRING),
            ("regex", STRING),
            ("extglob_pattern", STRING),
            ("heredoc_start", STRING),
            ("heredoc_body", STRING),
            ("heredoc_end", STRING),
            ("string_content", STRING),
        ],
        comments: &["comment"],
        lists: &[
            "program",
            "compound_statement",
            "subshell",
            "do_group",
            "if_statement",
            "elif_clause",
            "else_clause",
            "case_statement",
            "case_item",
            "command_substitution",
        ],
        imports: &["command source", "command ."],
        splits: &[],
    },
    lexer: None,
    is_test,
    cache: Cache::new(),
};

/// `@test` of bats, and functions named as shunit2 looks for them.
fn is_test(src: &[u8], tokens: &[Token]) -> bool {
    let head = Head::new(src, tokens);
    let name = if head.is(0, &["function"]) { 1 } else { 0 };
    head.is(0, &["@test"]) || (head.is(name + 1, &["("]) && starts_with_word(head.text(name), "test"))
}
