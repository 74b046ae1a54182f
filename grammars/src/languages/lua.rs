//! Lua: table only, tokens by tree-sitter.

use crate::head::{Head, starts_with_word};
use crate::leaves::Syntax;
use crate::optional::{Commas, Optional, Semicolons};
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
    optional: Optional { commas: Commas::Brackets, semicolons: Semicolons::NotIn("{") },
    lexer: None,
    is_test,
    cache: Cache::new(),
};

/// The blocks of busted and the functions of luaunit.
fn is_test(src: &[u8], tokens: &[Token]) -> bool {
    const BLOCKS: [&str; 9] =
        ["describe", "context", "it", "spec", "test", "insulate", "expose", "pending", "randomize"];
    let head = Head::new(src, tokens);
    if head.is(0, &BLOCKS) {
        return head.is_string(1) || (head.is(1, &["("]) && head.is_string(2));
    }
    let name = if head.is(0, &["local"]) { 2 } else { 1 };
    head.is(name - 1, &["function"])
        && (starts_with_word(head.text(name), "test")
            || (head.is(name + 1, &[":", "."]) && starts_with_word(head.text(name + 2), "test")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{tokens, units};

    #[test]
    fn names_and_literals_are_normalized_and_keywords_kept() {
        let src = r#"local x <const>, y = 0x1F, "a\n" .. [[b]] -- c
for i = 1, #t do if i ~= nil then break end end return f(...)"#;
        assert_eq!(
            tokens(&LUA, src),
            r#"local i:x < i:const > , i:y = n:0x1F , s:"a\n" .. s:[[b]] for i:i = n:1 , # i:t do if i:i ~= i:nil then break end end return i:f ( ... )"#
        );
    }

    #[test]
    fn functions_and_what_stands_in_them_are_units() {
        let src = r#"local a = require "a"
local b = require("b.c").d
function M.f(x)
  if x then g() elseif y then h() else i() end
  for k, v in pairs(t) do j(k) end
  repeat x = x + 1 until x
  return function() l() m() end
end"#;
        assert_eq!(
            units(&LUA, src),
            [
                r#"0:<local a = require "a""#,
                r#"0:<local b = require("b.c").d"#,
                "0:function M.f(x) if x then g() elseif y t …  l() m() end end",
                "1:if x then g() elseif y then h() else i() end",
                "2:g()",
                "3:h()",
                "4:i()",
                "1:for k, v in pairs(t) do j(k) end",
                "5:j(k)",
                "1:repeat x = x + 1 until x",
                "6:x = x + 1",
                "1:return function() l() m() end",
                "7:l()",
                "7:m()",
            ]
        );
    }

    #[test]
    fn tests_are_known_by_call_and_name() {
        let src = r#"describe("a", function() it("b", function() c() end) end)
function TestX:testFoo() end
function testing() end"#;
        assert_eq!(
            units(&LUA, src),
            [
                r#"0:!describe("a", function() it("b", function() c() end) end)"#,
                r#"1:!it("b", function() c() end)"#,
                "2:c()",
                "0:!function TestX:testFoo() end",
                "0:function testing() end",
            ]
        );
    }
}
