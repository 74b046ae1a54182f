//! Fast lexers against tree-sitter: token for token, position for position, and unit for unit.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use dupi_grammars::token::{Lexed, Token, Unit};
use dupi_grammars::{Language, Place, leaves, optional, texts};
use rayon::prelude::*;
use tree_sitter::{Node, Tree};

/// What comparing some files has shown.
#[derive(Default)]
pub struct Outcome {
    pub files: usize,
    /// Files that tree-sitter did not parse without error; they are not compared.
    pub broken: usize,
    pub tokens: usize,
    pub unexplained: usize,
    pub explained: BTreeMap<&'static str, usize>,
    /// Units of the lexer, and those of them that are not whole nodes of the tree.
    pub units: usize,
    pub crooked: usize,
    /// Units of 50 tokens or more in the tree, and those of them that the lexer's structure misses.
    pub large: usize,
    pub missed: usize,
    /// Examples, each a line that says where.
    pub examples: Vec<String>,
}

impl Outcome {
    fn add(mut self, other: Outcome) -> Outcome {
        self.files += other.files;
        self.broken += other.broken;
        self.tokens += other.tokens;
        self.unexplained += other.unexplained;
        for (name, n) in other.explained {
            *self.explained.entry(name).or_default() += n;
        }
        self.units += other.units;
        self.crooked += other.crooked;
        self.large += other.large;
        self.missed += other.missed;
        self.examples.extend(other.examples);
        self
    }

    /// One line per language for the test's output.
    pub fn summary(&self, name: &str) -> String {
        let share = |n: usize, of: usize| 1e4 * n as f64 / of.max(1) as f64;
        let explained: Vec<String> =
            self.explained.iter().map(|(name, n)| format!("{name} {:.2}", share(*n, self.tokens))).collect();
        format!(
            "{name:<12} {:>6} files ({} with parse errors left out) {:>9} tokens | in 10 000: unexplained {:.3}, explained [{}] | units {}: crooked {:.2}, large {}: missed {:.2}",
            self.files,
            self.broken,
            self.tokens,
            share(self.unexplained, self.tokens),
            explained.join(", "),
            self.units,
            share(self.crooked, self.units),
            self.large,
            share(self.missed, self.large),
        )
    }
}

/// Compares the two ways on all `files` of a language with a fast lexer.
pub fn compare(language: &'static Language, files: &[PathBuf]) -> Outcome {
    files
        .par_iter()
        .map(|path| {
            let Ok(src) = std::fs::read(path) else { return Outcome::default() };
            if std::str::from_utf8(&src).is_err() {
                return Outcome::default();
            }
            let name = path.display().to_string();
            compare_text(language, &src, &name)
        })
        .reduce(Outcome::default, Outcome::add)
}

/// Compares the two ways on one text.
pub fn compare_text(language: &'static Language, src: &[u8], name: &str) -> Outcome {
    let Ok(tree) = leaves::parse(language, src) else { return Outcome::default() };
    if tree.root_node().has_error() {
        return Outcome { broken: 1, ..Outcome::default() };
    }
    let mut outcome = Outcome { files: 1, ..Outcome::default() };
    let (mut fast, mut slow) = (Lexed::default(), Lexed::default());
    if dupi_grammars::tokenize(language, src, &mut fast).is_err() {
        return Outcome::default();
    }
    leaves::read(language, &tree, src, &mut slow);
    texts::split(language, src, &mut slow);
    outcome.tokens = slow.tokens.len();
    tokens(language, src, name, &tree, &fast, &slow, &mut outcome);
    units(src, name, &tree, &fast, &slow, &mut outcome);
    outcome
}

fn tokens(
    language: &'static Language,
    src: &[u8],
    name: &str,
    tree: &Tree,
    fast: &Lexed,
    slow: &Lexed,
    outcome: &mut Outcome,
) {
    let key = |t: &Token| (t.start, t.end, t.line, t.code);
    let of_fast: HashSet<_> = fast.tokens.iter().map(key).collect();
    let of_slow: HashSet<_> = slow.tokens.iter().map(key).collect();
    let differences = language.lexer.as_ref().map_or(&[][..], |lexer| lexer.differences);
    for (side, tokens, others) in [("lexer", &fast.tokens, &of_slow), ("grammar", &slow.tokens, &of_fast)] {
        for token in tokens {
            if others.contains(&key(token)) {
                continue;
            }
            let (start, end) = (token.start as usize, token.end as usize);
            let kinds = kinds(tree, start, end);
            let place = Place { src, start, end, kinds: &kinds };
            let mut differences = differences.iter().chain(optional::differences(language));
            match differences.find(|difference| (difference.applies)(&place)) {
                Some(difference) => *outcome.explained.entry(difference.name).or_default() += 1,
                None => {
                    outcome.unexplained += 1;
                    let text = String::from_utf8_lossy(&src[start..end.min(start + 60)]);
                    outcome.examples.push(format!(
                        "{name}:{}: only the {side} has {text:?} (code {}) in {:?}",
                        token.line + 1,
                        token.code,
                        &kinds[..kinds.len().min(4)]
                    ));
                }
            }
        }
    }
}

/// The kinds of the nodes around a range, innermost first.
fn kinds(tree: &Tree, start: usize, end: usize) -> Vec<&str> {
    let mut kinds = Vec::new();
    let mut node = tree.root_node().descendant_for_byte_range(start, end.saturating_sub(1).max(start));
    while let Some(at) = node {
        kinds.push(at.kind());
        node = at.parent();
    }
    kinds
}

fn units(src: &[u8], name: &str, tree: &Tree, fast: &Lexed, slow: &Lexed, outcome: &mut Outcome) {
    let range = |lexed: &Lexed, start: u32, end: u32| {
        (lexed.tokens[start as usize].start as usize, lexed.tokens[end as usize - 1].end as usize)
    };
    let mut ranges = HashSet::new();
    for unit in &fast.units {
        let (start, end) = range(fast, unit.start, unit.end);
        ranges.insert((start, end));
        outcome.units += 1;
        // By either's tokens: a leaf may take in a comment that the lexer knows apart.
        let core = unit.flags & Unit::CORE != 0;
        if !is_whole(tree, &slow.tokens, start, end, core) && !is_whole(tree, &fast.tokens, start, end, core) {
            outcome.crooked += 1;
            outcome.examples.push(example(src, name, "crooked", &fast.tokens[unit.start as usize], start, end));
        }
    }
    for unit in slow.units.iter().filter(|unit| unit.end - unit.start >= 50) {
        let (start, end) = range(slow, unit.start, unit.end);
        outcome.large += 1;
        // A lexer may count a closing mark or leading attributes as part of the unit, or not.
        if !ranges.contains(&(start, end))
            && !ranges.iter().any(|&(s, e)| s <= start && (e == end || (e > end && e <= end + 2) || e + 1 == end))
        {
            outcome.missed += 1;
            outcome.examples.push(example(src, name, "missed", &slow.tokens[unit.start as usize], start, end));
        }
    }
}

fn example(src: &[u8], name: &str, what: &str, first: &Token, start: usize, end: usize) -> String {
    let text = &src[start..end];
    let text =
        if text.len() > 160 { [&text[..80], b" ... ", &text[text.len() - 75..]].concat() } else { text.to_vec() };
    format!("{name}:{}: {what} unit {:?}", first.line + 1, String::from_utf8_lossy(&text))
}

/// Are the bytes `start..end` one node, or a run of sibling nodes, comments aside? The core of a definition may also start
/// between its modifiers.
fn is_whole(tree: &Tree, tokens: &[Token], start: usize, end: usize, core: bool) -> bool {
    let mut node = tree.root_node().descendant_for_byte_range(start, end);
    while let Some(at) = node {
        if is_run(&at, tokens, start, end, core) {
            return true;
        }
        if at.start_byte() < start && at.end_byte() > end {
            return false;
        }
        node = at.parent();
    }
    false
}

fn is_run(node: &Node, tokens: &[Token], start: usize, end: usize, core: bool) -> bool {
    // A node may hold comments and line ends at its edges: what counts is where its tokens start and end.
    let first = |n: &Node| {
        let i = tokens.partition_point(|t| (t.start as usize) < n.start_byte());
        tokens.get(i).map_or(usize::MAX, |t| t.start as usize)
    };
    let last = |n: &Node| {
        let i = tokens.partition_point(|t| (t.end as usize) <= n.end_byte());
        i.checked_sub(1).map_or(0, |i| tokens[i].end as usize)
    };
    if first(node) == start && last(node) == end {
        return true;
    }
    let mut cursor = node.walk();
    let (mut starts, mut ends) = (false, false);
    for child in node.children(&mut cursor) {
        starts |= first(&child) == start;
        if core && child.kind() == "modifiers" {
            starts |= child.children(&mut child.walk()).any(|modifier| first(&modifier) == start);
        }
        ends |= child.start_byte() >= start && last(&child) == end;
    }
    starts && ends
}
