//! Long strings are read inside: each of their words is a token, so that SQL, templates and messages of several lines count
//! by what they say, and are compared word by word.
//!
//! Strings of one line stay one token each: a copy with other messages has the same structure. So do docstrings, which are
//! comments in the form of code.

use crate::Language;
use crate::token::{Lexed, STRING, Token, Unit};

/// The language in which a string that is a statement by itself is a docstring.
const WITH_DOCSTRINGS: &str = "python";

/// A string is long if it has two lines and so many words. One line is never long: two functions that differ in a message
/// have the same structure.
const LONG_WORDS: usize = 4;

/// Puts the words of long strings in their places.
pub fn split(language: &Language, src: &[u8], lexed: &mut Lexed) {
    let Lexed { tokens, units, .. } = lexed;
    let is_docstring = |i: usize| language.name == WITH_DOCSTRINGS && is_statement(units, i as u32);
    let is_split = |i: usize| tokens[i].code == STRING && is_long(text(src, &tokens[i])) && !is_docstring(i);
    let long: Vec<usize> = (0..tokens.len()).filter(|&i| is_split(i)).collect();
    if long.is_empty() {
        return;
    }
    // How many tokens there are more by each of them and those before.
    let mut n_more = vec![0];
    let mut whole = Vec::with_capacity(tokens.len() * 2);
    let mut from = 0;
    for &i in &long {
        whole.extend_from_slice(&tokens[from..i]);
        whole.extend(words(src, tokens[i]));
        n_more.push((whole.len() - i - 1) as u32);
        from = i + 1;
    }
    whole.extend_from_slice(&tokens[from..]);
    *tokens = whole;
    let moved = |at: u32| at + n_more[long.partition_point(|&i| (i as u32) < at)];
    for unit in units {
        (unit.start, unit.end) = (moved(unit.start), moved(unit.end));
    }
}

fn text<'a>(src: &'a [u8], token: &Token) -> &'a [u8] {
    &src[token.start as usize..token.end as usize]
}

fn is_long(text: &[u8]) -> bool {
    memchr::memchr(b'\n', text).is_some()
        && text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).nth(LONG_WORDS - 1).is_some()
}

/// Is the token a unit by itself?
fn is_statement(units: &[Unit], token: u32) -> bool {
    let from = units.partition_point(|unit| unit.start < token);
    units[from..].iter().take_while(|unit| unit.start == token).any(|unit| unit.end == token + 1)
}

/// What stands between blanks.
fn words(src: &[u8], string: Token) -> impl Iterator<Item = Token> {
    let mut at = Token { end: string.start, ..string };
    std::iter::from_fn(move || {
        let rest = &src[at.end as usize..string.end as usize];
        let n_blanks = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let (blanks, rest) = rest.split_at(n_blanks);
        let length = rest.iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
        at.line += memchr::memchr_iter(b'\n', blanks).count() as u32;
        at.start = at.end + n_blanks as u32;
        at.end = at.start + length as u32;
        (length > 0).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use crate::LANGUAGES;
    use crate::fixture::{pieces, reads_every_prefix, texts};

    const SQL: &str = "SELECT a, b\n  FROM c\n WHERE d = 1";

    /// What stands before a text of several lines, and after it.
    fn around(language: &str) -> Option<(&'static str, &'static str)> {
        Some(match language {
            "bash" => ("f() {\n  run <<EOF\n", "\nEOF\n}\n"),
            "c" => return None,
            "c-sharp" => ("class A { void F() { Run(\"\"\"\n", "\n\"\"\"); } }"),
            "cpp" => ("void f() { run(R\"(", ")\"); }"),
            "go" => ("package a\nfunc f() { run(`", "`) }"),
            "java" | "scala" | "kotlin" | "swift" => ("class A { val x = run(\"\"\"\n", "\n\"\"\") }"),
            "javascript" | "typescript" | "tsx" => ("function f() { run(`", "`) }"),
            "lua" => ("function f() run([[", "]]) end"),
            "php" => ("<?php function f() { run(<<<SQL\n", "\nSQL); }"),
            "python" => ("def f():\n  run(\"\"\"", "\"\"\")\n"),
            "ruby" => ("def f\n  run(<<~SQL)\n", "\n  SQL\nend\n"),
            "rust" => ("fn f() { run(r#\"", "\"#); }"),
            other => panic!("how does {other} write a text of several lines?"),
        })
    }

    #[test]
    fn the_words_of_a_text_of_several_lines_are_tokens() {
        for language in LANGUAGES {
            let Some((before, after)) = around(language.name) else { continue };
            let src = format!("{before}{SQL}{after}");
            let words = texts(language, &src);
            assert!(words.windows(3).any(|three| three == ["FROM", "c", "WHERE"]), "{}: {words:?}", language.name);
            // The units around are as whole as before.
            let pieces = pieces(language, &src);
            let holds = |(piece, _): &(&str, u8)| piece.starts_with(&before[..1]) || piece.starts_with("def");
            assert!(pieces.iter().any(holds), "{}: {pieces:?}", language.name);
            reads_every_prefix(language, &src);
        }
    }

    #[test]
    fn a_string_of_one_line_is_one_token() {
        let Some(language) = crate::by_name("python") else { return };
        let call = |text: &str| texts(language, &format!("f({text:?})")).len();
        assert_eq!(call("a message of some words that differs from copy to copy"), 4);
        assert_eq!(call(&"select one, two from three where four = 5 ".repeat(4)), 4);
    }

    #[test]
    fn a_docstring_is_one_token() {
        let Some(language) = crate::by_name("python") else { return };
        let src = "class A:\n  \"\"\"What it is,\n  in so many words.\"\"\"\n  x = 1\n";
        assert!(texts(language, src).contains(&"\"\"\"What it is,\n  in so many words.\"\"\""));
    }
}
