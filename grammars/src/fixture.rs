//! What the tests of the languages share: a source as the text of its tokens or of its units.

use crate::Language;
use crate::token::{CHARACTER, IDENTIFIER, Lexed, NUMBER, OTHER, STRING, TEXT, Unit};

pub fn lexed(language: &Language, src: &str) -> Lexed {
    let mut out = Lexed::default();
    crate::tokenize(language, src.as_bytes(), &mut out).expect("a fixture is neither slow nor deep");
    out
}

/// The texts of the tokens; those that vary behind a letter for their class.
pub fn tokens(language: &Language, src: &str) -> String {
    let class = |code| match code {
        IDENTIFIER => "i:",
        NUMBER => "n:",
        STRING => "s:",
        CHARACTER => "c:",
        TEXT => "t:",
        OTHER => "?:",
        _ => "",
    };
    let text = |t: &crate::token::Token| format!("{}{}", class(t.code), &src[t.start as usize..t.end as usize]);
    lexed(language, src).tokens.iter().map(text).collect::<Vec<_>>().join(" ")
}

/// Longer units are shown by their two ends.
const LONGEST: usize = 64;

/// The units, each as the number of its list and its text; `<` before imports, `!` before tests.
pub fn units(language: &Language, src: &str) -> Vec<String> {
    let lexed = lexed(language, src);
    let text = |unit: &Unit| {
        let (first, last) = (lexed.tokens[unit.start as usize], lexed.tokens[unit.end as usize - 1]);
        let text = src[first.start as usize..last.end as usize].split_whitespace().collect::<Vec<_>>().join(" ");
        let text =
            if text.len() > LONGEST { format!("{} … {}", &text[..40], &text[text.len() - 16..]) } else { text };
        let mark = match unit.flags & (Unit::IMPORT | Unit::TEST) {
            Unit::IMPORT => "<",
            Unit::TEST => "!",
            _ => "",
        };
        format!("{}:{mark}{text}", unit.list)
    };
    own(&lexed).map(text).collect()
}

/// The units without the cores of definitions, which say nothing new of a language's structure.
fn own(lexed: &Lexed) -> impl Iterator<Item = &Unit> {
    lexed.units.iter().filter(|unit| unit.flags & Unit::CORE == 0)
}

/// The texts of the tokens.
pub fn texts<'a>(language: &Language, src: &'a str) -> Vec<&'a str> {
    lexed(language, src).tokens.iter().map(|t| &src[t.start as usize..t.end as usize]).collect()
}

/// The texts of the units, outer before inner, and whether they import or test.
pub fn pieces<'a>(language: &Language, src: &'a str) -> Vec<(&'a str, u8)> {
    let out = lexed(language, src);
    let piece = |unit: &Unit| {
        let (first, last) = (out.tokens[unit.start as usize], out.tokens[unit.end as usize - 1]);
        (&src[first.start as usize..last.end as usize], unit.flags & (Unit::IMPORT | Unit::TEST))
    };
    own(&out).map(piece).collect()
}

/// Whatever a file ends in the middle of, its tokens are in order and its units made of them.
pub fn reads_every_prefix(language: &Language, src: &str) {
    for end in 0..=src.len() {
        let mut out = Lexed::default();
        crate::tokenize(language, &src.as_bytes()[..end], &mut out).expect("a lexer never fails");
        assert!(
            out.tokens.windows(2).all(|pair| pair[0].end <= pair[1].start && pair[0].line <= pair[1].line),
            "{end}"
        );
        assert!(out.tokens.iter().all(|t| t.start < t.end && t.end as usize <= end), "{end}");
        let whole = |unit: &Unit| unit.start < unit.end && unit.end as usize <= out.tokens.len();
        assert!(out.units.iter().all(whole), "{end}");
    }
}

/// The units of what was lexed from `src`, as their text; `i` and `t` before it mark imports and tests.
pub fn marked(lexed: &Lexed, src: &str) -> Vec<String> {
    let piece = |unit: &Unit| {
        let (first, last) = (lexed.tokens[unit.start as usize], lexed.tokens[unit.end as usize - 1]);
        let import = if unit.flags & Unit::IMPORT != 0 { "i " } else { "" };
        let test = if unit.flags & Unit::TEST != 0 { "t " } else { "" };
        format!("{import}{test}{}", &src[first.start as usize..last.end as usize])
    };
    own(lexed).map(piece).collect()
}
