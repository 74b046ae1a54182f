//! Lua: table only, tokens by tree-sitter.

use crate::head::{Head, starts_with_word};
use crate::leaves::Syntax;
use crate::token::{IDENTIFIER, NUMBER, STRING, Token};
use crate::{Cache, Language, parsers};

pub static LUA: Language = Language {
    name: "lua",
    family: "lua",
    extensions: &["lua", "rockspec", "nse", "wlua"],
    file_names: &[".luacheckrc", ".busted", ".luacov"],
    shebangs: &["lua", "luajit", "texlua", "resty"],
    line_comment: "--",
    block_comment: Some(("--[[", "]]")),
    grammar: parsers::lua,
    syntax: Syntax {
        atoms: &[
            ("identifier", IDENTIFIER),
            ("vararg_expression", IDENTIFIER),
            ("nil", IDENTIFIER),
            ("true", IDENTIFIER),
            ("false", IDENTIFIER),
            ("number", NUMBER),
            ("string", STRING),
            ("string_content", STRING),
        ],
        comments: &["comment", "hash_bang_line"],
        lists: &["chunk", "block"],
        imports: &["variable_declaration require", "assignment_statement require", "function_call require"],
        splits: &[("break", &["break"]), ("...", &["..."])],
    },
    lexer: None,
    is_test,
    cache: Cache::new(),
};

/// The blocks of busted and the functions of luaunit.
fn is_test(src: &[u8], tokens: &[Token]) -> bool {
    const BLOCKS: [&str; 9] = ["describe", "context", "it", "spec", "test", "insulate", "expose", "pending", "randomize"];
    let head = Head::new(src, tokens);
    if head.is(0, &BLOCKS) {
        return head.is_string(1) || (head.is(1, &["("]) && head.is_string(2));
    }
    let name = if head.is(0, &["local"]) { 2 } else { 1 };
    head.is(name - 1, &["function"])
        && (starts_with_word(head.text(name), "test")
            || (head.is(name + 1, &[":", "."]) && starts_with_word(head.text(name + 2), "test")))
}
