//! Bash and other shells close to it: table only, tokens by tree-sitter.

use crate::head::{Head, starts_with_word};
use crate::leaves::Syntax;
use crate::optional::{Commas, Optional, Semicolons};
use crate::token::{IDENTIFIER, NUMBER, STRING, Token};
use crate::{Cache, Language, parsers};

pub static BASH: Language = Language {
    name: "bash",
    family: "bash",
    extensions: &["sh", "bash", "bats", "ksh", "zsh", "ebuild", "eclass"],
    file_names: &[
        ".bashrc",
        ".bash_profile",
        ".bash_login",
        ".bash_logout",
        ".bash_aliases",
        ".profile",
        ".zshrc",
        ".zshenv",
        ".zprofile",
        ".kshrc",
        "PKGBUILD",
        "APKBUILD",
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
            ("extglob_pattern", IDENTIFIER),
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
        ],
        imports: &["command source", "command ."],
        splits: &[],
    },
    optional: Optional { commas: Commas::Never, semicolons: Semicolons::NotIn("((") },
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{tokens, units};
    use crate::token::Unit;

    #[test]
    fn names_and_literals_are_normalized_and_keywords_kept() {
        let src = r#"local a=${1:-x} b=$((1 + 2)) # c
if [[ -f $a && $b == *.c ]]; then echo "d $(e)" 'f' 2>/dev/null; fi"#;
        assert_eq!(
            tokens(&BASH, src),
            r#"local i:a = ${ i:1 :- i:x } i:b = $(( n:1 + n:2 )) if [[ i:-f i:$a && i:$b == i:*.c ]] then i:echo s:"d $(e)" s:'f' n:2 > i:/dev/null fi"#
        );
    }

    #[test]
    fn functions_and_what_stands_in_them_are_units() {
        let src = r"source ./lib.sh
. /etc/profile
f() {
  if a; then b; c; else d; fi
  for x in 1 2; do e $x; g; done
  case $x in a|b) h; i ;; *) j ;; esac
  cat <<EOT
 text $y
EOT
  k && l
}";
        assert_eq!(
            units(&BASH, src),
            [
                "0:<source ./lib.sh",
                "0:<. /etc/profile",
                "0:f() { if a; then b; c; else d; fi for x  …  $y EOT k && l }",
                "1:if a; then b; c; else d; fi",
                "2:a",
                "2:b",
                "2:c",
                "2:else d",
                "3:d",
                "1:for x in 1 2; do e $x; g; done",
                "4:e $x",
                "4:g",
                "1:case $x in a|b) h; i ;; *) j ;; esac",
                "5:$x",
                "5:a|b) h; i ;;",
                "6:a",
                "6:b",
                "6:h",
                "6:i",
                "5:*) j ;;",
                "7:*",
                "7:j",
                "1:cat <<EOT text $y EOT",
                "1:k && l",
            ]
        );
    }

    #[test]
    fn tests_are_known_by_name() {
        let src = r#"@test "a" {
  run b
}
test_c() { d; }
testing() { e; }"#;
        assert_eq!(
            units(&BASH, src),
            [r#"0:!@test "a" {"#, "0:run b", "0:}", "0:!test_c() { d; }", "1:d", "0:testing() { e; }", "2:e",]
        );
    }

    #[test]
    fn a_condition_is_no_neighbour_of_what_follows_then() {
        let lexed = crate::fixture::lexed(&BASH, "if a; then b; c; fi");
        let breaks: Vec<bool> = lexed.units[2..].iter().map(|unit| unit.flags & Unit::BREAK != 0).collect();
        assert_eq!(breaks, [true, false], "between `a` and `b` stands more than a separator");
    }
}
