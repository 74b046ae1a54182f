//! Ruby: table only, tokens by tree-sitter.

use crate::head::{Head, starts_with_word};
use crate::leaves::Syntax;
use crate::optional::Optional;
use crate::token::{CHARACTER, IDENTIFIER, NUMBER, STRING, Token};
use crate::{Cache, Language, parsers};

pub static RUBY: Language = Language {
    name: "ruby",
    family: "ruby",
    extensions: &["rb", "rake", "gemspec", "ru", "rbw", "podspec", "jbuilder", "thor", "builder"],
    file_names: &[
        "Rakefile",
        "rakefile",
        "Gemfile",
        "Guardfile",
        "Capfile",
        "Vagrantfile",
        "Podfile",
        "Fastfile",
        "Appfile",
        "Brewfile",
        "Dangerfile",
        "Thorfile",
        "Berksfile",
        "Puppetfile",
        "Steepfile",
        ".irbrc",
        ".pryrc",
    ],
    shebangs: &["ruby", "jruby", "rake"],
    line_comment: "#",
    block_comment: Some(("=begin", "=end")),
    grammar: parsers::ruby,
    syntax: Syntax {
        atoms: &[
            ("identifier", IDENTIFIER),
            ("constant", IDENTIFIER),
            ("instance_variable", IDENTIFIER),
            ("class_variable", IDENTIFIER),
            ("global_variable", IDENTIFIER),
            ("hash_key_symbol", IDENTIFIER),
            ("nil", IDENTIFIER),
            ("integer", NUMBER),
            ("float", NUMBER),
            ("rational", NUMBER),
            ("complex", NUMBER),
            ("character", CHARACTER),
            ("string", STRING),
            ("bare_string", STRING),
            ("simple_symbol", STRING),
            ("delimited_symbol", STRING),
            ("bare_symbol", STRING),
            ("regex", STRING),
            ("subshell", STRING),
            ("heredoc_beginning", STRING),
            ("heredoc_body", STRING),
            ("string_content", STRING),
            ("heredoc_content", STRING),
        ],
        comments: &["comment", "uninterpreted"],
        lists: &[
            "program",
            "body_statement",
            "block_body",
            "then",
            "else",
            "do",
            "ensure",
            "begin",
            "parenthesized_statements",
            "case",
            "case_match",
        ],
        imports: &["call require", "call require_relative", "call load", "call autoload"],
        splits: &[],
    },
    optional: Optional::LINES,
    lexer: None,
    is_test,
    cache: Cache::new(),
};

/// RSpec and minitest/spec blocks, `test "…" do`, methods and classes of Test::Unit and minitest.
fn is_test(src: &[u8], tokens: &[Token]) -> bool {
    const BLOCKS: [&str; 12] = [
        "describe",
        "context",
        "it",
        "specify",
        "feature",
        "scenario",
        "shared_examples",
        "shared_examples_for",
        "shared_context",
        "xit",
        "xdescribe",
        "test",
    ];
    const BASES: [&str; 4] = ["TestCase", "Test", "Spec", "IntegrationTest"];
    let head = Head::new(src, tokens);
    head.calls(&BLOCKS)
        || (head.is(0, &["RSpec"]) && head.is(2, &BLOCKS))
        || (head.is(0, &BLOCKS) && (head.is(1, &["do", "{"]) || head.is(2, &["do", "::"])))
        || (head.is(0, &["def"]) && starts_with_word(head.text(1), "test"))
        || (head.is(0, &["class"]) && head.is(2, &["<"]) && (3..8).any(|at| head.is(at, &BASES)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{tokens, units};

    #[test]
    fn names_and_literals_are_normalized_and_keywords_kept() {
        let src = r#"def m(a, b: 1r, **c)
  @x ||= "a#{b}" + :sym + $y[?c] unless i =~ /re/ && nil
  z = <<~E
    text #{y}
  E
end"#;
        assert_eq!(
            tokens(&RUBY, src),
            r#"def i:m ( i:a , i:b : n:1r , ** i:c ) i:@x ||= s:"a#{b}" + s::sym + i:$y [ c:?c ] unless i:i =~ s:/re/ && i:nil i:z = s:<<~E s:text #{y}
  E end"#
        );
    }

    #[test]
    fn methods_and_what_stands_in_them_are_units() {
        let src = r"require 'a'
class Foo < Bar
  attr_reader :x
  def f
    [1].each { |e| g e; h(e) }
    if a then b else c end
    case x when 1 then y end
    params.require(:user)
    begin; i; rescue E; j; end
  end
end";
        assert_eq!(
            units(&RUBY, src),
            [
                "0:<require 'a'",
                "0:class Foo < Bar attr_reader :x def f [1] … ; j; end end end",
                "1:attr_reader :x",
                "1:def f [1].each { |e| g e; h(e) } if a th … ue E; j; end end",
                "2:[1].each { |e| g e; h(e) }",
                "3:g e",
                "3:h(e)",
                "2:if a then b else c end",
                "4:b",
                "5:c",
                "2:case x when 1 then y end",
                "6:x",
                "6:when 1 then y",
                "7:y",
                "2:params.require(:user)",
                "2:begin; i; rescue E; j; end",
                "8:i",
                "8:rescue E; j",
                "9:j",
            ]
        );
    }

    #[test]
    fn tests_are_known_by_their_blocks_methods_and_bases() {
        let src = r#"RSpec.describe Foo do
  context("a") { it { is_expected.to b } }
end
class FooTest < ActiveSupport::TestCase
  test "c" do d end
  def test_e = f
  def testify = g
end"#;
        assert_eq!(
            units(&RUBY, src),
            [
                r#"0:!RSpec.describe Foo do context("a") { it  … ted.to b } } end"#,
                r#"1:!context("a") { it { is_expected.to b } }"#,
                "2:!it { is_expected.to b }",
                "3:is_expected.to b",
                "0:!class FooTest < ActiveSupport::TestCase  …  testify = g end",
                r#"4:!test "c" do d end"#,
                "5:d",
                "4:!def test_e = f",
                "4:def testify = g",
            ]
        );
    }
}
