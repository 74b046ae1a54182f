//! Ruby: table only, tokens by tree-sitter.

use crate::head::{Head, starts_with_word};
use crate::leaves::Syntax;
use crate::token::{CHARACTER, IDENTIFIER, NUMBER, STRING, Token};
use crate::{Cache, Language, parsers};

pub static RUBY: Language = Language {
    name: "ruby",
    family: "ruby",
    extensions: &["rb", "rake", "gemspec", "ru", "rbw", "podspec", "jbuilder", "thor", "builder"],
    file_names: &[
        "Rakefile", "rakefile", "Gemfile", "Guardfile", "Capfile", "Vagrantfile", "Podfile", "Fastfile", "Appfile",
        "Brewfile", "Dangerfile", "Thorfile", "Berksfile", "Puppetfile", "Steepfile", ".irbrc", ".pryrc",
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
            "program", "body_statement", "block_body", "then", "else", "do", "ensure", "begin",
            "parenthesized_statements", "case", "case_match",
        ],
        imports: &["call require", "call require_relative", "call load", "call autoload"],
        splits: &[],
    },
    lexer: None,
    is_test,
    cache: Cache::new(),
};

/// RSpec and minitest/spec blocks, `test "…" do`, methods and classes of Test::Unit and minitest.
fn is_test(src: &[u8], tokens: &[Token]) -> bool {
    const BLOCKS: [&str; 12] = [
        "describe", "context", "it", "specify", "feature", "scenario", "shared_examples", "shared_examples_for",
        "shared_context", "xit", "xdescribe", "test",
    ];
    const BASES: [&str; 4] = ["TestCase", "Test", "Spec", "IntegrationTest"];
    let head = Head::new(src, tokens);
    head.calls(&BLOCKS)
        || (head.is(0, &["RSpec"]) && head.is(2, &BLOCKS))
        || (head.is(0, &BLOCKS) && (head.is(1, &["do", "{"]) || head.is(2, &["do", "::"])))
        || (head.is(0, &["def"]) && starts_with_word(head.text(1), "test"))
        || (head.is(0, &["class"]) && head.is(2, &["<"]) && (3..8).any(|at| head.is(at, &BASES)))
}
