//! PHP: table only, tokens by tree-sitter.

use crate::head::{Head, starts_with_word};
use crate::leaves::Syntax;
use crate::optional::Optional;
use crate::token::{IDENTIFIER, NUMBER, STRING, TEXT, Token};
use crate::{Cache, Language, parsers};

pub static PHP: Language = Language {
    name: "php",
    family: "php",
    extensions: &["php", "phtml", "php3", "php4", "php5", "php7", "php8", "phpt"],
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
    optional: Optional::COMMAS,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{tokens, units};

    #[test]
    fn names_and_literals_are_normalized_and_keywords_kept() {
        let src = r#"<p><?php
$x = (int) $a?->b(1.5, "c $d {$e->f}", 'g') ?? NULL; // h
IF (TRUE): echo <<<EOT
 text
EOT;
endif;"#;
        assert_eq!(
            tokens(&PHP, src),
            r#"t:<p> t:<?php i:$x = ( i:int ) i:$a ?-> i:b ( n:1.5 , s:"c $d {$e->f}" , s:'g' ) ?? i:NULL ; IF ( i:TRUE ) : echo s:<<<EOT
 text
EOT ; endif ;"#
        );
    }

    #[test]
    fn functions_and_what_stands_in_them_are_units() {
        let src = r"<?php
declare(strict_types=1);
namespace A\B;
use C\D;
require_once 'x.php';
class E {
    private ?int $x = 1;
    #[F] public function g(): void {
        if ($a) { b(); } else { c(); }
        switch ($x) { case 1: y(); break; default: z(); }
        $f = function () use ($x) { h(); };
        $r = match (true) { $a => 1, default => 2 };
    }
}";
        assert_eq!(
            units(&PHP, src),
            [
                "0:<?php",
                "0:<declare(strict_types=1);",
                r"0:<namespace A\B;",
                r"0:<use C\D;",
                "0:<require_once 'x.php';",
                "0:class E { private ?int $x = 1; #[F] publ … ault => 2 }; } }",
                "1:private ?int $x = 1;",
                "1:#[F] public function g(): void { if ($a) … efault => 2 }; }",
                "2:if ($a) { b(); } else { c(); }",
                "3:b();",
                "4:c();",
                "2:switch ($x) { case 1: y(); break; default: z(); }",
                "5:case 1: y(); break;",
                "6:1",
                "6:y();",
                "6:break;",
                "5:default: z();",
                "7:z();",
                "2:$f = function () use ($x) { h(); };",
                "8:h();",
                "2:$r = match (true) { $a => 1, default => 2 };",
                "9:$a => 1",
                "9:default => 2",
            ]
        );
    }

    #[test]
    fn a_namespace_with_a_body_is_no_import() {
        let src = "<?php namespace A { f(); }";
        assert_eq!(units(&PHP, src), ["0:<?php", "0:namespace A { f(); }", "1:f();",]);
    }

    #[test]
    fn tests_are_known_by_name_attribute_comment_and_base() {
        let src = r"<?php
final class FooTest extends TestCase {
    public function testIt() {}
    /**
     * @test
     */
    public function it_works() {}
    #[Test] public function a() {}
    /** @testdox not this one */
    public function tested() {}
}
test('adds', fn () => b());";
        assert_eq!(
            units(&PHP, src),
            [
                "0:<?php",
                "0:!final class FooTest extends TestCase { p … on tested() {} }",
                "1:!public function testIt() {}",
                "1:!public function it_works() {}",
                "1:!#[Test] public function a() {}",
                "1:public function tested() {}",
                "0:!test('adds', fn () => b());",
            ]
        );
    }
}
