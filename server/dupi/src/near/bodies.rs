//! Bodies: the definitions and blocks of a document that can have near copies, with their words and seeds.
//!
//! The *word* of a body is its tokens, names and literals by text; equal bodies are one word with several places.
//! Its *seeds* are blots: the least of each `w` windows in a row that lie wholly in the body. So they depend on the word
//! alone, whatever stands around it, and each of them is among the kept blots of the document.

use std::collections::HashMap;
use std::sync::OnceLock;

use dupi_grammars::token::{Code, FIRST_FIXED, OPEN_BRACE, OPEN_BRACKET, OPEN_PAREN, Unit, varies};

use crate::blots::{Blotter, Blotting, mix};
use crate::candidates::{KeptBlot, family_salt, kept_blots};
use crate::class::{Fragment, named};
use crate::document::Document;
use crate::zones::{is_literal, is_table};

/// The blots that lead to near copies: those that an index has with the default settings. Fixed, so that what is near
/// depends neither on the minimum that is asked for nor on the blotter.
pub const SEEDS: Blotting = Blotting { blotter: Blotter::Rolling, k: Blotting::K, w: Blotting::W };

/// The least tokens of a body: each has a window run of its own, and so a seed.
pub const MIN_TOKENS: u32 = 50;
/// The most: longer ones are tables, generated code and whole modules, and cost milliseconds each to compare. No real
/// twin was lost by it in five repositories.
pub const MAX_TOKENS: u32 = 5000;
/// Declarations (signatures, fields) resemble each other by their nature: so many tokens must stand in statements.
const MIN_STEP_TOKENS: u32 = 25;
/// … but a function can be one expression: of so many tokens, and no table.
const MIN_EXPRESSION: u32 = 100;

/// A container of which one part has this share of the tokens is only the frame around it.
const FRAME_SHARE: f64 = 0.7;

/// Words that start a statement which decides or repeats.
const CONTROL: [&str; 14] = [
    "if", "for", "while", "switch", "match", "do", "try", "foreach", "loop", "select", "unless", "until", "when",
    "guard",
];

named! {
    /// What a body is. Only bodies of one sort are compared, so that a class never mixes a function and a block in it.
    Sort {
        /// A definition with statements of its own.
        Function = "function",
        /// Any other definition: a class, a module, a function that only returns another.
        Container = "container",
        /// A statement with a block.
        Block = "block",
    }
}

/// What is known of a body's content without its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// A fingerprint of its tokens and of the rest of this.
    pub hash: u64,
    pub tokens: u32,
    pub sort: Sort,
    /// Statements in it that decide or repeat.
    pub control: u16,
    /// Whether its shape says little. Of a function: one statement over again with other names, as where fields are set or
    /// freed. Of a block: statements in a row, none within another, none of them a control statement.
    pub is_monotonous: bool,
}

/// Numbers in a [`Sketch`].
const N_TEXTS: usize = 128;
const N_FIXED: usize = 64;

/// How many tokens of some sorts a body has, each number up to 255: a cheap bound for what two have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sketch {
    /// Names and literals, by a few bits of their text.
    texts: [u8; N_TEXTS],
    /// … and by their code.
    kinds: [u8; FIRST_FIXED as usize],
    /// All others by their code, some of which share a number.
    fixed: [u8; N_FIXED],
}

impl Sketch {
    fn of(tokens: &[u32]) -> Sketch {
        let mut sketch = Sketch { texts: [0; N_TEXTS], kinds: [0; FIRST_FIXED as usize], fixed: [0; N_FIXED] };
        let add = |count: &mut u8| *count = count.saturating_add(1);
        for &token in tokens {
            if token < FIRST_TEXT {
                add(&mut sketch.fixed[token as usize % N_FIXED]);
            } else {
                add(&mut sketch.texts[(token.wrapping_mul(0x9e37_79b1) >> 25) as usize % N_TEXTS]);
                add(&mut sketch.kinds[usize::from(code_of(token))]);
            }
        }
        sketch
    }

    /// No more tokens than this have the same text in two bodies.
    pub fn same_text(&self, other: &Sketch) -> u32 {
        common(&self.fixed, &other.fixed).saturating_add(common(&self.texts, &other.texts))
    }

    /// No more tokens than this have the same code in two bodies.
    pub fn same_code(&self, other: &Sketch) -> u32 {
        common(&self.fixed, &other.fixed).saturating_add(common(&self.kinds, &other.kinds))
    }
}

/// Numbers in a [`Coarse`] sketch.
const N_COARSE_TEXTS: usize = 16;
const N_COARSE_FIXED: usize = 8;

/// The same as a [`Sketch`] in an eighth of its memory, and a worse bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coarse {
    texts: [u8; N_COARSE_TEXTS],
    fixed: [u8; N_COARSE_FIXED],
}

impl Coarse {
    /// No more tokens than this have the same text in two bodies.
    pub fn same_text(&self, other: &Coarse) -> u32 {
        common(&self.fixed, &other.fixed).saturating_add(common(&self.texts, &other.texts))
    }

    /// No more tokens than this have the same code in two bodies.
    pub fn same_code(&self, other: &Coarse) -> u32 {
        let names = |coarse: &Coarse| match coarse.texts.contains(&u8::MAX) {
            true => u32::MAX,
            false => coarse.texts.iter().map(|&count| u32::from(count)).sum(),
        };
        common(&self.fixed, &other.fixed).saturating_add(names(self).min(names(other)))
    }
}

impl Sketch {
    pub fn coarse(&self) -> Coarse {
        Coarse { texts: folded(&self.texts), fixed: folded(&self.fixed) }
    }
}

fn folded<const N: usize, const M: usize>(counts: &[u8; N]) -> [u8; M] {
    std::array::from_fn(|i| counts.iter().skip(i).step_by(M).fold(0, |sum: u8, &count| sum.saturating_add(count)))
}

fn common<const N: usize>(a: &[u8; N], b: &[u8; N]) -> u32 {
    let (mut sum, mut most) = (0, 0);
    for i in 0..N {
        let least = a[i].min(b[i]);
        sum += u32::from(least);
        most = most.max(least);
    }
    // What is counted to its end may be any number.
    if most == u8::MAX { u32::MAX } else { sum }
}

impl Body {
    /// A body of which only the place, the word and the tokens are known: it says nothing of its seeds.
    pub fn of(start: u32, word: Word, tokens: &[u32]) -> Body {
        Body { start, end: start + word.tokens, word, sketch: Sketch::of(tokens), first_seed: 0, end_seed: 0 }
    }

    /// Whether two bodies of one document have tokens in common: then one lies in the other, and is no copy of it.
    pub fn overlaps(&self, other: &Body) -> bool {
        self.start < other.end && other.start < self.end
    }
}

#[derive(Clone, Debug)]
pub struct Body {
    pub start: u32,
    pub end: u32,
    pub word: Word,
    pub sketch: Sketch,
    first_seed: u32,
    end_seed: u32,
}

/// The bodies of a document, outer before inner.
#[derive(Clone, Debug, Default)]
pub struct Bodies {
    pub list: Box<[Body]>,
    seeds: Box<[u64]>,
    /// Each seed with the number of a body that has it, sorted.
    by_seed: Box<[(u64, u32)]>,
}

impl Bodies {
    /// All that a document has.
    pub fn of(document: &Document, scratch: &mut Vec<u64>) -> Bodies {
        let shapes = shapes(document);
        let kept = if shapes.is_empty() { Vec::new() } else { kept_blots(document, &SEEDS, scratch) };
        let mut bodies = Bodies::with(document, &shapes, &kept);
        bodies.index();
        bodies
    }

    /// Those that have a seed among some kept blots of the document, with these seeds alone.
    pub fn among(document: &Document, kept: &[KeptBlot]) -> Bodies {
        if kept.is_empty() { Bodies::default() } else { Bodies::with(document, &shapes(document), kept) }
    }

    fn with(document: &Document, shapes: &[Shape], kept: &[KeptBlot]) -> Bodies {
        let (k, w) = (SEEDS.k as u32, SEEDS.w as u32);
        let mut seeds: Vec<u64> = Vec::new();
        let mut list = Vec::new();
        // Read if there is a body at all.
        let mut all = Tokens::new();
        for &Shape { start, end, mut word } in shapes {
            // Runs of windows that lie in the body, by the last window.
            let (first_run, last_run) = (start + w - 1, end - k);
            let from = kept.partition_point(|kept| kept.last_run < first_run);
            let first_seed = seeds.len();
            let inside = kept[from..].iter().take_while(|kept| kept.first_run <= last_run);
            seeds.extend(inside.map(|kept| kept.blot));
            seeds[first_seed..].sort_unstable();
            let mut end_seed = first_seed;
            for i in first_seed..seeds.len() {
                if i == first_seed || seeds[i] != seeds[end_seed - 1] {
                    seeds[end_seed] = seeds[i];
                    end_seed += 1;
                }
            }
            seeds.truncate(end_seed);
            if first_seed == end_seed {
                continue;
            }
            if all.is_empty() {
                tokens(document, 0, document.codes.len() as u32, &mut all);
            }
            let own = &all[start as usize..end as usize];
            word.hash = hash(document, own, &word);
            let (first_seed, end_seed) = (first_seed as u32, end_seed as u32);
            list.push(Body { start, end, word, sketch: Sketch::of(own), first_seed, end_seed });
        }
        Bodies { list: list.into(), seeds: seeds.into(), by_seed: Box::default() }
    }

    fn index(&mut self) {
        let mut by_seed: Vec<(u64, u32)> = Vec::with_capacity(self.seeds.len());
        for (i, body) in self.list.iter().enumerate() {
            by_seed.extend(self.seeds(body).iter().map(|&seed| (seed, i as u32)));
        }
        by_seed.sort_unstable();
        self.by_seed = by_seed.into();
    }

    /// The seeds of one of the bodies, sorted.
    pub fn seeds(&self, body: &Body) -> &[u64] {
        &self.seeds[body.first_seed as usize..body.end_seed as usize]
    }

    /// The bodies that have a seed.
    pub fn with_seed(&self, seed: u64) -> impl Iterator<Item = &Body> {
        let from = self.by_seed.partition_point(|(other, _)| *other < seed);
        self.by_seed[from..].iter().take_while(move |(other, _)| *other == seed).map(|&(_, i)| &self.list[i as usize])
    }

    /// How many bytes of memory it takes.
    pub fn weight(&self) -> usize {
        size_of_val(&*self.list) + size_of_val(&*self.seeds) + size_of_val(&*self.by_seed)
    }
}

/// A unit that can be a body; the hash of its word is not known yet.
struct Shape {
    start: u32,
    end: u32,
    word: Word,
}

/// Is a definition a function, by its parameters, and what it holds neither a table nor a literal?
fn is_expression(document: &Document, unit: &Unit) -> bool {
    let is_core = |inner: &&Unit| inner.flags & Unit::CORE != 0 && inner.end == unit.end;
    let start = document.units_in(unit.start, unit.end).find(is_core).map_or(unit.start, |core| core.start);
    let is_bracket = |code: &&Code| [OPEN_PAREN, OPEN_BRACE, OPEN_BRACKET].contains(*code);
    let fragment = Fragment { document: 0, start: unit.start, end: unit.end };
    document.codes[start as usize..unit.end as usize].iter().find(is_bracket) == Some(&OPEN_PAREN)
        && !is_table(&document.codes[unit.start as usize..unit.end as usize])
        && !is_literal(document, &fragment)
}

fn shapes(document: &Document) -> Vec<Shape> {
    let n = document.units.len();
    // For each unit the largest one directly below it, and whether a statement is.
    let (mut largest, mut has_step): (Vec<Option<Unit>>, Vec<bool>) = (vec![None; n], vec![false; n]);
    let mut around: Vec<usize> = Vec::new();
    // Cores are the definitions that they stand in, over again.
    let units = || document.units.iter().enumerate().filter(|(_, unit)| unit.flags & Unit::CORE == 0);
    for (i, unit) in units() {
        while around.pop_if(|outer| document.units[*outer].end <= unit.start).is_some() {}
        if let Some(&outer) = around.last() {
            let tokens = unit.end - unit.start;
            if largest[outer].is_none_or(|largest| tokens > largest.end - largest.start) {
                largest[outer] = Some(*unit);
            }
            has_step[outer] |= unit.flags & Unit::DEFINITION == 0;
        }
        around.push(i);
    }
    let returns = codes(document, |words| &words.returns);
    let mut shapes = Vec::new();
    for (i, unit) in units() {
        let n_tokens = unit.end - unit.start;
        let is_definition = unit.flags & Unit::DEFINITION != 0;
        let is_function = is_definition && (has_step[i] || largest[i].is_none());
        let counts = (largest[i].is_some() || is_definition)
            && (MIN_TOKENS..=MAX_TOKENS).contains(&n_tokens)
            && unit.flags & Unit::IMPORT == 0
            && !document.is_muted(unit.start, unit.end);
        if !counts {
            continue;
        }
        let steps = Steps::within(document, i);
        let can_be_expression = is_function && n_tokens >= MIN_EXPRESSION;
        if steps.tokens < MIN_STEP_TOKENS && !(can_be_expression && is_expression(document, unit)) {
            continue;
        }
        let sort = match () {
            _ if is_function => Sort::Function,
            _ if is_definition => Sort::Container,
            _ => Sort::Block,
        };
        // A class that is hardly more than one of its functions says nothing that the function does not say; but a
        // function that returns another is one with it.
        let is_frame = largest[i].is_some_and(|inner| {
            let most = f64::from(inner.end - inner.start) >= FRAME_SHARE * f64::from(n_tokens);
            most && !returns[document.codes[inner.start as usize] as usize]
        });
        if sort == Sort::Container && is_frame {
            continue;
        }
        let control = steps.control;
        let is_monotonous = match sort {
            Sort::Function => control <= 1 && is_table(&document.codes[unit.start as usize..unit.end as usize]),
            _ => control == 0 && steps.is_flat,
        };
        let word = Word { hash: 0, tokens: n_tokens, sort, control, is_monotonous };
        shapes.push(Shape { start: unit.start, end: unit.end, word });
    }
    shapes
}

/// The statements within a unit.
struct Steps {
    /// Tokens that stand in them.
    tokens: u32,
    control: u16,
    /// Whether none stands within another.
    is_flat: bool,
}

impl Steps {
    /// Of the unit with this number, which does not count itself.
    fn within(document: &Document, outer: usize) -> Steps {
        let control = codes(document, |words| &words.control);
        let unit = document.units[outer];
        let mut steps = Steps { tokens: 0, control: 0, is_flat: true };
        let (mut end, mut last_end) = (unit.start, unit.start);
        let inside = document.units[outer + 1..].iter().take_while(|inner| inner.start < unit.end);
        for inner in inside.filter(|inner| inner.flags & Unit::DEFINITION == 0) {
            if inner.start >= end {
                steps.tokens += inner.end - inner.start;
                end = inner.end;
            }
            steps.is_flat &= inner.start >= last_end;
            last_end = inner.end;
            let starts_control = control[document.codes[inner.start as usize] as usize];
            steps.control = steps.control.saturating_add(u16::from(starts_control));
        }
        steps
    }
}

type Codes = [bool; 256];

/// Codes of a language that say what a statement does.
struct Words {
    control: Codes,
    returns: Codes,
}

fn codes(document: &Document, of: fn(&Words) -> &Codes) -> &'static Codes {
    static BY_LANGUAGE: OnceLock<HashMap<&'static str, Words>> = OnceLock::new();
    static NONE: Codes = [false; 256];
    let all = BY_LANGUAGE.get_or_init(|| {
        let words_of = |language: &dupi_grammars::Language| {
            let alphabet = language.alphabet();
            let codes = |words: &[&str]| -> Codes {
                std::array::from_fn(|code| alphabet.spelling(code as Code).is_some_and(|word| words.contains(&word)))
            };
            Words { control: codes(&CONTROL), returns: codes(&["return"]) }
        };
        dupi_grammars::LANGUAGES.iter().map(|language| (language.name, words_of(language))).collect()
    });
    all.get(document.language.name).map_or(&NONE, of)
}

fn hash(document: &Document, own: &[u32], word: &Word) -> u64 {
    let Word { hash: _, tokens, sort, control, is_monotonous } = *word;
    let shape = u64::from(tokens) << 32 | u64::from(control) << 8 | (sort as u64) << 1 | u64::from(is_monotonous);
    let mut hash = mix(shape ^ family_salt(document.language.family));
    for &token in own {
        hash = (hash ^ u64::from(token)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^= hash >> 29;
    }
    mix(hash)
}

/// Tokens below this number are told by their code alone.
pub const FIRST_TEXT: u32 = 256;

/// A token by its text.
pub fn by_text(code: Code, symbol: u32) -> u32 {
    FIRST_TEXT + (symbol << 3 | u32::from(code))
}

/// The code of a token.
pub fn code_of(token: u32) -> Code {
    if token < FIRST_TEXT { token as Code } else { ((token - FIRST_TEXT) & 7) as Code }
}

/// Tokens, names and literals by text.
pub type Tokens = Vec<u32>;

/// Reads the tokens of a range.
pub fn tokens(document: &Document, start: u32, end: u32, out: &mut Tokens) {
    let (codes, symbols) = document.read_tokens(start, end);
    out.clear();
    out.reserve(codes.len());
    let mut symbols = symbols.iter();
    for &code in codes {
        out.push(match varies(code) {
            true => by_text(code, symbols.next().copied().unwrap_or_default()),
            false => u32::from(code),
        });
    }
}
