//! What is hashed of a document: shingles of its tokens, of the whole file or of each function.
//!
//! A token counts as it is written, names and literals included; blanks and comments do not.

use std::ops::Range;

use dupi_grammars::token::{Unit, varies};

use super::hash;
use crate::blots::mix;
use crate::document::Document;

/// Tokens of a shingle: enough that their order counts, few enough that an edit changes few of them.
const SHINGLE: usize = 4;

/// In how many slots documents are counted by shingle. One that shares its slot with others is taken for more frequent
/// than it is: a little weight less, the same on every machine, in 32 MiB.
const SLOTS: usize = 1 << 23;
/// Weights are whole numbers, so that sums do not depend on the order: this many parts of one.
const PARTS: f64 = 256.0;

/// What has a hash of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    Files,
    Functions,
}

/// What a shingle weighs each time that it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weighting {
    /// One.
    Tf,
    /// The less, the more documents have it.
    TfIdf,
}

/// A hash, and of what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Print {
    /// From 0, the end exclusive.
    pub lines: Range<u32>,
    pub hash: u64,
}

/// In how many documents shingles are.
pub(super) struct Frequencies {
    slots: Vec<u32>,
    n_documents: u32,
}

impl Frequencies {
    pub fn new() -> Frequencies {
        Frequencies { slots: vec![0; SLOTS], n_documents: 0 }
    }

    pub fn count(&mut self, document: &Document) {
        let mut slots: Vec<usize> = shingles(document, 0..document.codes.len() as u32).map(slot).collect();
        slots.sort_unstable();
        slots.dedup();
        slots.into_iter().for_each(|slot| self.slots[slot] += 1);
        self.n_documents += 1;
    }

    fn weight(&self, shingle: u64) -> u32 {
        let rarity = f64::from(1 + self.n_documents) / f64::from(self.slots[slot(shingle)].max(1));
        (rarity.ln() * PARTS).round() as u32
    }
}

fn slot(shingle: u64) -> usize {
    (shingle >> 32) as usize % SLOTS
}

/// The hashes of a document: of all of it, or of each of its functions, if they have that many tokens.
pub(super) fn prints(document: &Document, grain: Grain, min_tokens: u32, by: Option<&Frequencies>) -> Vec<Print> {
    let least = min_tokens.max(SHINGLE as u32);
    let print = |tokens: Range<u32>| {
        let weight = |shingle| (shingle, by.map_or(1, |frequencies| frequencies.weight(shingle)));
        let hash = hash(shingles(document, tokens.clone()).map(weight));
        Print { lines: document.lines(tokens.start, tokens.end), hash }
    };
    match grain {
        Grain::Files => {
            let n_tokens = document.codes.len() as u32;
            (n_tokens >= least).then(|| print(0..n_tokens)).into_iter().collect()
        }
        Grain::Functions => functions(document, least).map(print).collect(),
    }
}

/// The definitions of at least so many tokens that hold no other such definition.
fn functions(document: &Document, least: u32) -> impl Iterator<Item = Range<u32>> {
    let is_definition = |unit: &Unit| unit.flags & (Unit::DEFINITION | Unit::CORE) == Unit::DEFINITION;
    let long = |unit: &&Unit| is_definition(unit) && unit.end - unit.start >= least;
    let definitions: Vec<&Unit> = document.units.iter().filter(long).collect();
    // Outer ones come before inner ones: who holds another is followed by it.
    let holds = |i: usize| definitions.get(i + 1).is_some_and(|next| next.start < definitions[i].end);
    let innermost: Vec<Range<u32>> =
        (0..definitions.len()).filter(|&i| !holds(i)).map(|i| definitions[i].start..definitions[i].end).collect();
    innermost.into_iter().filter(|tokens| !document.is_muted(tokens.start, tokens.end))
}

/// A hash of each run of `SHINGLE` tokens.
fn shingles(document: &Document, tokens: Range<u32>) -> impl Iterator<Item = u64> {
    let (codes, symbols) = document.read_tokens(tokens.start, tokens.end);
    let mut symbols = symbols.iter();
    let mut last = [0u64; SHINGLE];
    let tokens = codes.iter().map(move |&code| {
        let text = if varies(code) { symbols.next().map_or(0, |&symbol| u64::from(symbol) + 1) } else { 0 };
        mix(text << 8 | u64::from(code))
    });
    let shingle = move |token| {
        last.rotate_left(1);
        last[SHINGLE - 1] = token;
        last.iter().fold(0, |hash: u64, &token| mix(hash.wrapping_add(token)))
    };
    tokens.map(shingle).skip(SHINGLE - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use crate::document::tests::document;
    use crate::simhash::distance;

    fn text(names: &[&str]) -> String {
        let function = |name: &&str| {
            format!(
                "func {name}(list []int) int {{\n\ttotal := 0\n\tfor _, n := range list {{\n\t\ttotal += n * {name}s\n\t}}\n\treturn total\n}}\n\n"
            )
        };
        format!("package a\n\n{}", names.iter().map(function).collect::<String>())
    }

    fn read(text: &str) -> Document {
        document("a.go", text, &Settings::default()).expect("a good text")
    }

    #[test]
    fn blanks_and_comments_change_no_hash_and_an_edit_changes_few_bits() {
        let names: Vec<String> = (0..40).map(|i| format!("f{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let hash = |text: &str| prints(&read(text), Grain::Files, 1, None)[0].hash;
        let plain = text(&names);
        assert_eq!(hash(&plain.replace('\n', "\n// more\n\n")), hash(&plain));
        let edited = hash(&plain.replacen("total := 0", "total := 1", 1));
        assert!(distance(edited, hash(&plain)) <= 3, "{}", distance(edited, hash(&plain)));
        let other = hash(&plain.replace("total", "sum").replace("n *", "list[n] /"));
        assert!(distance(other, hash(&plain)) > 3, "{}", distance(other, hash(&plain)));
    }

    #[test]
    fn each_function_has_a_hash_wherever_it_stands() {
        let functions = |names: &[&str]| prints(&read(&text(names)), Grain::Functions, 20, None);
        let (one, two) = (functions(&["a", "b"]), functions(&["c", "b"]));
        assert_eq!((one.len(), two.len()), (2, 2));
        assert_eq!(one[0].lines, 2..9);
        assert_eq!(one[1], two[1]);
        assert_ne!(one[0].hash, two[0].hash);
        assert_eq!(prints(&read(&text(&["a"])), Grain::Functions, 200, None), []);
    }

    #[test]
    fn what_stands_everywhere_weighs_less() {
        let mut frequencies = Frequencies::new();
        for name in ["a", "b", "c", "d"] {
            frequencies.count(&read(&text(&[name])));
        }
        let document = read(&text(&["a"]));
        let weights: Vec<u32> =
            shingles(&document, 0..document.codes.len() as u32).map(|shingle| frequencies.weight(shingle)).collect();
        let (everywhere, here) = ((1.25f64.ln() * PARTS).round() as u32, (5f64.ln() * PARTS).round() as u32);
        assert!(weights.contains(&everywhere) && weights.contains(&here), "{weights:?}");
        assert!(weights.iter().all(|weight| [everywhere, here].contains(weight)), "{weights:?}");
    }
}
