//! PHP: table only, tokens by tree-sitter.

use crate::head::{Head, starts_with_word};
use crate::leaves::Syntax;
use crate::token::{IDENTIFIER, NUMBER, STRING, TEXT, Token};
use crate::{Cache, Language, parsers};

pub static PHP: Language = Language {
    name: "php",
    family: "php",
    extensions: &["php", "phtml", "php3", "php4", "php5", "php7", "php8", "phpt", "inc"],
    file_names: &[],
    shebangs: &["php"],
    line_comment: "//",
    block_comment: Some(("/*", "*/")),
    grammar: parsers::php,
    syntax: Syntax {
        atoms: &[
            ("name", IDENTIFIER),
            ("variable_name", IDENTIFIER),
            ("primitive_type", IDENTIFIER),
            ("cast_type", IDENTIFIER),
            ("boolean", IDENTIFIER),
            ("null", IDENTIFIER),
            ("integer", NUMBER),
            ("float", NUMBER),
            ("string", STRING),
            ("encapsed_string", STRING),
            ("heredoc", STRING),
            ("nowdoc", STRING),
            ("shell_command_expression", STRING),
            ("string_content", STRING),
            ("text", TEXT),
            ("php_tag", TEXT),
            ("php_end_tag", TEXT),
        ],
        comments: &["comment"],
        lists: &[
            "program",
            "compound_statement",
            "colon_block",
            "declaration_list",
            "enum_declaration_list",
            "switch_block",
            "case_statement",
            "default_statement",
            "match_block",
            "property_hook_list",
        ],
        imports: &[
            "namespace_use_declaration",
            "namespace_definition",
            "declare_statement",
            "expression_statement require",
            "expression_statement require_once",
            "expression_statement include",
            "expression_statement include_once",
        ],
        splits: &[],
    },
    lexer: None,
    is_test,
    cache: Cache::new(),
};

/// PHPUnit's methods and classes, and the calls of Pest.
fn is_test(src: &[u8], tokens: &[Token]) -> bool {
    let head = Head::new(src, tokens);
    if head.calls(&["test", "it", "describe"]) {
        return head.is_string(2);
    }
    if head.is(0, &["#["]) && head.is(1, &["Test", "TestWith", "DataProvider"]) {
        return true;
    }
    if !head.is(0, &["public", "function", "class", "final", "abstract", "protected", "static", "#["]) {
        return false;
    }
    head.declared("function").is_some_and(|name| starts_with_word(name, "test"))
        || head.inherits("class", &["TestCase"])
        || noted_as_test(src, tokens)
}

/// Does the comment right before the unit say `@test`?
fn noted_as_test(src: &[u8], tokens: &[Token]) -> bool {
    /// Longer comments explain; they do not mark a test.
    const LONGEST: usize = 512;
    let Some(first) = tokens.first() else { return false };
    let before = src[..first.start as usize].trim_ascii_end();
    if !before.ends_with(b"*/") {
        return false;
    }
    let comment = &before[before.len().saturating_sub(LONGEST)..];
    let Some(open) = memchr::memmem::rfind(comment, b"/**") else { return false };
    let comment = &comment[open..];
    memchr::memmem::find_iter(comment, b"@test").any(|at| !comment[at + 5].is_ascii_alphabetic())
}
