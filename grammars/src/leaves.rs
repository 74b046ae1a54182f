//! Tokens and units by tree-sitter: the leaves of the parse tree in their normalized form, and the children of its lists.
//! The tokenizer of the languages without a fast lexer, and the measure that fast lexers are held to.

use std::cell::Cell;
use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use crate::Language;
use crate::scan::byte_order_marks;
use crate::token::{Code, Comment, IDENTIFIER, Lexed, OTHER, Token, Unit};

/// Bytes that a lexer gets at a time, each time being a step: scanners of grammars look ahead as far as they like, and
/// the parser does not count that.
const CHUNK: usize = 4096;

/// Steps that any file may take, and bytes for each of which it may take one more.
///
/// A step is 100 operations of the parser, after which tree-sitter calls back, or a [`CHUNK`] that was read. Steps and
/// not time, so that the outcome depends on the content alone: not on load, priority or a process that was stopped.
///
/// Measured on 10 800 files (71 MB) of rails, laravel, WordPress, detekt, compose, swift-syntax, scala, acme.sh and
/// kong: median 0.006 to 0.011 steps per byte by language, 99th percentile at most 0.021, maximum 0.026, and 0.016 in
/// files of over 100 kB. No file took more than 11 % of its budget; neither did files with brackets or quotes removed or
/// lines shuffled, but for Lua, whose unclosed strings are read to their end again and again: up to 1.1 steps per byte.
/// A step takes 30 to 60 µs, and up to 400 µs in error recovery.
const FREE_STEPS: u64 = 20_000;
const BYTES_PER_STEP: u64 = 20;

/// How deep brackets may nest in a file that is parsed: grammars and their scanners recurse.
pub const MAX_NESTING: usize = 1_000;

/// Why a file could not be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseFailure {
    /// It took more steps than its size allows.
    TooSlow,
    TooDeep,
}

/// How a grammar's nodes become tokens and units.
pub struct Syntax {
    /// Nodes that are one token, leaf or not, and its code.
    pub atoms: &'static [(&'static str, Code)],
    /// Nodes that are no tokens at all: comments.
    pub comments: &'static [&'static str],
    /// Nodes whose named children are units: blocks, bodies, the file.
    pub lists: &'static [&'static str],
    /// Units that only import: a kind of node; or a kind and, behind a blank, the word that must stand first in it
    /// or behind its `=`, where importing is a call like any other (`require`). Never one that has a body.
    pub imports: &'static [&'static str],
    /// Leaves that count as several tokens: `>>` closes two type argument lists as often as it shifts.
    /// With one part, the leaf itself: a keyword or operator that the grammar hides behind a named node.
    pub splits: &'static [(&'static str, &'static [&'static str])],
}

/// What a node kind means; one entry per kind of the grammar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Plain,
    Atom(Code),
    Comment,
}

/// A grammar with its kinds resolved: built once per language.
pub struct Leaves {
    meanings: Vec<Meaning>,
    lists: Vec<bool>,
    /// The words that make a unit of this kind an import; an empty word if it always is one.
    imports: Vec<Vec<&'static str>>,
    /// For grammars without an alphabet of their own: the code of each kind.
    codes: Vec<Option<Code>>,
}

impl Leaves {
    pub fn new(language: &Language) -> Leaves {
        let grammar = (language.grammar)();
        let syntax = &language.syntax;
        let n = grammar.node_kind_count();
        let mut leaves = Leaves {
            meanings: vec![Meaning::Plain; n],
            lists: vec![false; n],
            imports: vec![Vec::new(); n],
            codes: vec![None; n],
        };
        for id in 0..n {
            let Some(kind) = grammar.node_kind_for_id(id as u16) else { continue };
            if grammar.node_kind_is_named(id as u16) {
                if let Some((_, code)) = syntax.atoms.iter().find(|(atom, _)| *atom == kind) {
                    leaves.meanings[id] = Meaning::Atom(*code);
                } else if syntax.comments.contains(&kind) {
                    leaves.meanings[id] = Meaning::Comment;
                }
                leaves.lists[id] = syntax.lists.contains(&kind);
                let words = syntax.imports.iter().map(|import| import.split_once(' ').unwrap_or((import, "")));
                leaves.imports[id] = words.filter(|(of, _)| *of == kind).map(|(_, word)| word).collect();
            }
            leaves.codes[id] = language.alphabet().code(kind.as_bytes());
        }
        leaves
    }

    fn is_import(&self, node: &Node, src: &[u8], tokens: &[Token]) -> bool {
        /// How far into a unit its `=` is looked for.
        const TARGETS: usize = 8;
        let Some(words) = self.imports.get(node.kind_id() as usize) else { return false };
        if words.is_empty() || node.child_by_field_name("body").is_some() {
            return false;
        }
        let text = |at: usize| tokens.get(at).map_or(&[][..], |t| &src[t.start as usize..t.end as usize]);
        let is = |at: usize, word: &&str| text(at) == word.as_bytes();
        let value = (0..TARGETS).find(|&at| text(at) == b"=").map(|at| at + 1);
        words.iter().any(|word| word.is_empty() || is(0, word) || value.is_some_and(|at| is(at, word)))
    }

    fn meaning(&self, node: &Node) -> Meaning {
        self.meanings.get(node.kind_id() as usize).copied().unwrap_or(Meaning::Plain)
    }
}

/// The fixed spellings of a grammar: what its anonymous nodes are called, and what the table splits leaves into.
/// The alphabet of a language without a lexer.
pub fn spellings(grammar: &tree_sitter::Language, syntax: &Syntax) -> Vec<String> {
    let mut spellings: Vec<String> = Vec::new();
    for part in syntax.splits.iter().flat_map(|(_, parts)| *parts) {
        if !crate::token::PUNCTUATION.contains(part) && !spellings.iter().any(|s| s == part) {
            spellings.push((*part).to_owned());
        }
    }
    for id in 0..grammar.node_kind_count() as u16 {
        let Some(kind) = grammar.node_kind_for_id(id) else { continue };
        let fixed = !grammar.node_kind_is_named(id) && grammar.node_kind_is_visible(id);
        let known = crate::token::PUNCTUATION.contains(&kind) || spellings.iter().any(|s| s == kind);
        if fixed && !known && !kind.trim().is_empty() {
            spellings.push(kind.to_owned());
        }
    }
    spellings.truncate(256 - crate::token::FIRST_WORD as usize);
    spellings
}

/// The steps that a file of so many bytes may take before it is given up: its grammar has met its worst case.
fn budget(n_bytes: usize) -> u64 {
    FREE_STEPS + n_bytes as u64 / BYTES_PER_STEP
}

/// Parses `src` within the budget for its size.
pub fn parse(language: &Language, src: &[u8]) -> Result<Tree, ParseFailure> {
    if nesting(src) > MAX_NESTING {
        return Err(ParseFailure::TooDeep);
    }
    parse_within(language, src, budget(src.len())).0.ok_or(ParseFailure::TooSlow)
}

/// The tree, unless it takes more than `limit` steps, and the steps that were taken.
fn parse_within(language: &Language, src: &[u8], limit: u64) -> (Option<Tree>, u64) {
    let mut parser = Parser::new();
    parser.set_language(&(language.grammar)()).expect("every grammar here was seen to load");
    let steps = Cell::new(0);
    let mut progress = |_: &tree_sitter::ParseState| {
        steps.update(|n| n + 1);
        if steps.get() > limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut read = |at: usize, _| {
        steps.update(|n| n + 1);
        let rest = src.get(at..).unwrap_or(&[]);
        &rest[..rest.len().min(CHUNK)]
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let tree = parser.parse_with_options(&mut read, None, Some(options));
    (tree, steps.get())
}

/// An upper bound of how deep brackets nest, strings and comments included.
fn nesting(src: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    for &b in src {
        match b {
            b'(' | b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Tokenizes by parsing: fills tokens, comments and units.
pub fn lex(language: &Language, src: &[u8], out: &mut Lexed) -> Result<(), ParseFailure> {
    let n_marks = byte_order_marks(src);
    let src = &src[n_marks..];
    let tree = parse(language, src)?;
    read(language, &tree, src, out);
    let places = out.tokens.iter_mut().map(|token| (&mut token.start, &mut token.end));
    for (start, end) in places.chain(out.comments.iter_mut().map(|comment| (&mut comment.start, &mut comment.end))) {
        *start += n_marks as u32;
        *end += n_marks as u32;
    }
    Ok(())
}

/// What may stand between neighbours in a list.
const SEPARATORS: [&[u8]; 4] = [b"", b";", b",", b"&"];

/// The tokens, comments and units of a tree.
pub fn read(language: &Language, tree: &Tree, src: &[u8], out: &mut Lexed) {
    let leaves = language.leaves();
    let mut cursor = tree.walk();
    let mut n_lists = 0u32;
    // Per open node: its list id if it is one, and the slot of the unit that it is, if it is one.
    let mut open: Vec<(Option<u32>, Option<usize>)> = Vec::with_capacity(64);
    // The list in which a token stood after the last unit that does more than separate: the `then` of a condition.
    let mut divided = None;
    loop {
        let node = cursor.node();
        let meaning = leaves.meaning(&node);
        let list = open.last().and_then(|(list, _)| *list);
        let unit = match list {
            Some(list) if node.is_named() && meaning != Meaning::Comment => {
                let flags = if divided == Some(list) { Unit::BREAK } else { 0 };
                divided = None;
                out.units.push(Unit { start: out.tokens.len() as u32, end: 0, list, flags });
                Some(out.units.len() - 1)
            }
            Some(list) if !node.is_named() => {
                if src.get(node.byte_range()).is_some_and(|text| !SEPARATORS.contains(&text.trim_ascii())) {
                    divided = Some(list);
                }
                None
            }
            _ => None,
        };
        let descends = meaning == Meaning::Plain && node.child_count() > 0;
        if descends {
            let own = leaves.lists.get(node.kind_id() as usize).copied().unwrap_or(false).then(|| {
                n_lists += 1;
                n_lists - 1
            });
            open.push((own, unit));
            cursor.goto_first_child();
            continue;
        }
        leaf(language, leaves, &node, meaning, src, out);
        end_unit(language, leaves, unit, &node, src, out);
        loop {
            if cursor.goto_next_sibling() {
                break;
            }
            if !cursor.goto_parent() {
                out.units.retain(|unit| unit.end > unit.start);
                return;
            }
            let (_, unit) = open.pop().unwrap_or((None, None));
            end_unit(language, leaves, unit, &cursor.node(), src, out);
        }
    }
}

fn end_unit(language: &Language, leaves: &Leaves, slot: Option<usize>, node: &Node, src: &[u8], out: &mut Lexed) {
    let Some(slot) = slot else { return };
    let Lexed { units, tokens, .. } = out;
    let unit = &mut units[slot];
    unit.end = tokens.len() as u32;
    if leaves.is_import(node, src, &tokens[unit.start as usize..]) {
        unit.flags |= Unit::IMPORT;
    }
    if (language.is_test)(src, &tokens[unit.start as usize..]) {
        unit.flags |= Unit::TEST;
    }
}

fn leaf(language: &Language, leaves: &Leaves, node: &Node, meaning: Meaning, src: &[u8], out: &mut Lexed) {
    let range = node.byte_range();
    let Some(text) = src.get(range.clone()) else { return };
    let text = text.trim_ascii();
    if text.is_empty() {
        return; // a missing node, or a line end that ends a statement
    }
    let start = range.start + src[range.clone()].iter().take_while(|b| b.is_ascii_whitespace()).count();
    let (start, end) = (start as u32, (start + text.len()) as u32);
    let line =
        node.start_position().row as u32 + memchr::memchr_iter(b'\n', &src[range.start..start as usize]).count() as u32;
    // To some grammars `continue` or an operator is a name like any other, so names are looked up, too.
    if matches!(meaning, Meaning::Plain | Meaning::Atom(IDENTIFIER)) {
        let split = language.syntax.splits.iter().find(|(whole, _)| whole.as_bytes() == text);
        if let Some((_, parts)) = split {
            let mut at = start;
            for part in *parts {
                let code = language.alphabet().code(part.as_bytes()).unwrap_or(OTHER);
                out.tokens.push(Token { start: at, end: at + part.len() as u32, line, code });
                at += part.len() as u32;
            }
            return;
        }
    }
    match meaning {
        Meaning::Comment => out.comments.push(Comment { start, end, line }),
        Meaning::Atom(code) => out.tokens.push(Token { start, end, line, code }),
        Meaning::Plain => {
            let by_kind = leaves.codes.get(node.kind_id() as usize).copied().flatten();
            let code = language.alphabet().code(text).or(by_kind).unwrap_or_else(|| {
                let b = text[0];
                if crate::scan::is_name(b) || b == b'$' || b == b'@' { IDENTIFIER } else { OTHER }
            });
            out.tokens.push(Token { start, end, line, code });
        }
    }
}

#[cfg(all(test, feature = "lua"))]
mod tests {
    use super::*;

    /// Each quote opens a string that the scanner reads to the end of the file: quadratic work in few operations.
    #[test]
    fn what_a_scanner_reads_again_counts_and_a_text_takes_the_same_steps_each_time() {
        let language = crate::LANGUAGES.iter().find(|language| language.name == "lua").expect("it is known");
        let [(one, few), (again, same), (twice, more)] = [5_000, 5_000, 10_000].map(|n| {
            let text = "&'a\n".repeat(n);
            let (tree, steps) = parse_within(language, text.as_bytes(), u64::MAX);
            (tree.is_some(), steps)
        });
        assert!(one && again && twice && few == same, "{few} {same}");
        assert!(more > 3 * few, "{few} {more}");
        assert!(parse_within(language, "&'a\n".repeat(10_000).as_bytes(), more - 1).0.is_none());
    }
}
