//! When two bodies are near copies: most of their tokens correspond, in order, by text or after a renaming.
//!
//! A function of the two words alone, the same from either side.

use super::bodies::{Body, FIRST_TEXT, MIN_TOKENS, Sort, Word, code_of};
use super::lcs::Pattern;
use super::renaming::Renaming;
use crate::numbers::Numbers;
use crate::settings::MIN_SIMILARITY;

/// At this similarity no extra is asked: the bar is the same for every length and shape. The bar is never lower, because
/// bodies have little more in common there than the language has.
const FOOT: f64 = 0.6;

/// The longer of two bodies has so many tokens at least: shorter ones are alike by chance.
const MIN_LONGER: u32 = 60;
/// Statements in a row without a branch are the way an interface is used more often than a copy: two such bodies that are
/// no functions need so many tokens. A whole function says more, even a short one.
const MIN_FLAT: u32 = 100;
/// From this length on the similarity that is asked for is enough; shorter bodies must agree in more, up to the extra at
/// [`SHORT_TOKENS`]. One edited statement is a tenth of a short function, so that not much more can be asked of it.
const LONG_TOKENS: f64 = 150.0;
const SHORT_TOKENS: f64 = 50.0;
const SHORT_FUNCTION_EXTRA: f64 = 0.05;
const SHORT_EXTRA: f64 = 0.15;
/// More is asked of pairs that are not two functions, and of these if they have no branch.
const OTHER_EXTRA: f64 = 0.05;
const FLAT_EXTRA: f64 = 0.10;
/// No more than this is asked of anything, or one edit would hide a short copy; and of functions of [`MIN_TEST`] tokens
/// and more, in tests too, not more than is the same in what people call twins.
const MAX_BAR: f64 = 0.95;
const MAX_FUNCTION_BAR: f64 = 0.85;
/// A renaming can make a likeness of what is none, so that more must correspond after it, most of all in functions that are
/// both short and simple: a loop that fills a list is a renaming of any other.
const RENAMED_FUNCTION_EXTRA: f64 = 0.05;
const RENAMED_SIMPLE_EXTRA: f64 = 0.08;
/// Functions that do one thing over again are renamings of any other such function, but for one statement or two.
const RENAMED_MONOTONOUS_BAR: f64 = 0.93;
const RENAMED_EXTRA: f64 = 0.10;
const MAX_RENAMED_BAR: f64 = 0.97;
/// Tests are alike by their nature.
const TEST_EXTRA: f64 = 0.10;
const MIN_TEST: u32 = 100;

/// Two bodies must have passages in common, not single words: this share of the tokens stands in common runs of
/// [`RUN`] tokens; where fewer than [`SURE`] of the tokens correspond, [`RUNS_IF_UNSURE`] more.
const RUN: usize = 10;
const RUNS: f64 = 0.3;
const SURE: f64 = 0.8;
const RUNS_IF_UNSURE: f64 = 0.25;
/// … and they must speak of the same things: this share of the names and literals corresponds, and
/// [`NAMES_EXTRA`] more at the usual similarity; where at most one statement decides or repeats, [`NAMES_IF_SIMPLE`] on
/// top of that.
const NAMES: f64 = 0.5;
const NAMES_EXTRA: f64 = 0.1;
const NAMES_IF_SIMPLE: f64 = 0.1;

/// What two bodies must have in common, given the similarity that is asked for.
#[derive(Clone, Copy, Default)]
struct Demand {
    similarity: f64,
    /// How much of each extra is asked: all from [`MIN_SIMILARITY`] on, nothing at [`FOOT`].
    share: f64,
}

impl Demand {
    fn new(min_similarity: f64) -> Demand {
        let similarity = min_similarity.max(FOOT);
        Demand { similarity, share: ((similarity - FOOT) / (MIN_SIMILARITY - FOOT)).min(1.0) }
    }

    fn extra(self, extra: f64) -> f64 {
        extra * self.share
    }

    /// The least length, `MIN_TOKENS` at the foot.
    fn least(self, tokens: u32) -> f64 {
        f64::from(MIN_TOKENS) + self.extra(f64::from(tokens - MIN_TOKENS))
    }

    /// The share of the longer one's tokens that must correspond. None, if the two can be no near copies.
    fn bar(self, a: &Word, b: &Word) -> Option<f64> {
        let longer = f64::from(a.tokens.max(b.tokens));
        let is_function = a.sort == Sort::Function;
        let is_flat = a.is_monotonous && b.is_monotonous && !is_function;
        let least = if is_flat { MIN_FLAT } else { MIN_LONGER };
        if a.sort != b.sort || longer < self.least(least) {
            return None;
        }
        let extra = match is_function {
            true => SHORT_FUNCTION_EXTRA * shortness(longer),
            false => SHORT_EXTRA * shortness(longer) + OTHER_EXTRA + if is_flat { FLAT_EXTRA } else { 0.0 },
        };
        Some((self.similarity + self.extra(extra)).min(max_bar(a, longer)))
    }

    fn renamed_bar(self, a: &Word, b: &Word, bar: f64) -> f64 {
        let short = shortness(f64::from(a.tokens.max(b.tokens)));
        let extra = match a.sort {
            Sort::Function if is_simple(a, b) => RENAMED_FUNCTION_EXTRA + RENAMED_SIMPLE_EXTRA * short,
            Sort::Function => RENAMED_FUNCTION_EXTRA,
            _ => RENAMED_EXTRA,
        };
        let is_monotonous = a.sort == Sort::Function && (a.is_monotonous || b.is_monotonous);
        let least = if is_monotonous { self.extra(RENAMED_MONOTONOUS_BAR - self.similarity) } else { 0.0 };
        (bar + self.extra(extra)).max(self.similarity + least).min(MAX_RENAMED_BAR)
    }
}

/// From 0 for bodies of [`LONG_TOKENS`] to 1 for those of [`SHORT_TOKENS`].
fn shortness(tokens: f64) -> f64 {
    ((LONG_TOKENS - tokens) / (LONG_TOKENS - SHORT_TOKENS)).clamp(0.0, 1.0)
}

fn max_bar(word: &Word, longer: f64) -> f64 {
    if word.sort == Sort::Function && longer >= f64::from(MIN_TEST) { MAX_FUNCTION_BAR } else { MAX_BAR }
}

/// Whether a renaming can make two bodies near copies: not where the shape says nothing, in containers and in blocks
/// without a branch.
fn may_be_renamed(a: &Word, b: &Word) -> bool {
    a.sort == Sort::Function || (a.sort == Sort::Block && !a.is_monotonous && !b.is_monotonous)
}

/// Does at most one statement of either decide or repeat?
fn is_simple(a: &Word, b: &Word) -> bool {
    a.control.max(b.control) <= 1
}

fn share_of(share: f64, longer: u32) -> usize {
    (share * f64::from(longer)).ceil() as usize
}

/// Whether two near copies of which so many tokens correspond count though both stand in tests alone.
pub fn counts_in_tests(a: &Word, b: &Word, common: u32, min_similarity: f64) -> bool {
    let longer = a.tokens.max(b.tokens);
    let demand = Demand::new(min_similarity);
    let max = max_bar(a, f64::from(longer));
    let least = |bar: f64| share_of((bar + demand.extra(TEST_EXTRA)).min(max), longer);
    f64::from(longer) >= demand.least(MIN_TEST) && demand.bar(a, b).is_some_and(|bar| common as usize >= least(bar))
}

/// How two bodies can be near copies, by what is known without their tokens: how many tokens must correspond by text, and
/// how many after a renaming. Nothing, if that is not possible.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Ways {
    by_text: Option<usize>,
    renamed: Option<usize>,
}

impl Ways {
    pub fn of(a: &Body, b: &Body, min_similarity: f64) -> Ways {
        let (same_text, same_code) = (|| a.sketch.same_text(&b.sketch), || a.sketch.same_code(&b.sketch));
        Ways::within(&a.word, &b.word, same_text, same_code, min_similarity)
    }

    /// The same, given how many tokens can be the same at most, by text and by code.
    pub fn within(
        own: &Word,
        other: &Word,
        same_text: impl FnOnce() -> u32,
        same_code: impl FnOnce() -> u32,
        min_similarity: f64,
    ) -> Ways {
        let demand = Demand::new(min_similarity);
        let Some(bar) = demand.bar(own, other).filter(|_| own.hash != other.hash) else {
            return Ways::default();
        };
        let (shorter, longer) = (own.tokens.min(other.tokens), own.tokens.max(other.tokens));
        let enough = |least: usize, most: u32| Some(least).filter(|&least| most as usize >= least);
        let least = |bar: f64| enough(share_of(bar, longer), shorter);
        let by_text = least(bar).and_then(|least| enough(least, same_text()));
        let renamed = least(demand.renamed_bar(own, other, bar)).filter(|_| may_be_renamed(own, other));
        Ways { by_text, renamed: renamed.and_then(|least| enough(least, same_code())) }
    }

    pub fn any(self) -> bool {
        self != Ways::default()
    }
}

/// Compares one body with others. Its memory is reused.
#[derive(Default)]
pub struct Comparer {
    min_similarity: f64,
    own: Option<Body>,
    tokens: Vec<u32>,
    text: Late<Pattern>,
    codes: Late<Pattern>,
    things: Late<Things>,
    // What is made for one other.
    other_codes: Vec<u32>,
    mapped: Vec<u32>,
    renamed: Pattern,
    renamed_things: Things,
}

/// What is made when it is asked for.
#[derive(Default)]
struct Late<T> {
    value: T,
    is_made: bool,
}

impl<T> Late<T> {
    fn get(&mut self, make: impl FnOnce(&mut T)) -> &mut T {
        if !std::mem::replace(&mut self.is_made, true) {
            make(&mut self.value);
        }
        &mut self.value
    }
}

impl Comparer {
    pub fn new(min_similarity: f64) -> Comparer {
        Comparer { min_similarity, ..Comparer::default() }
    }

    /// Takes the body that others are compared with.
    pub fn set(&mut self, body: &Body, tokens: &[u32]) {
        self.own = Some(body.clone());
        self.tokens.clear();
        self.tokens.extend_from_slice(tokens);
        (self.text.is_made, self.codes.is_made, self.things.is_made) = (false, false, false);
    }

    /// How many tokens of another body correspond to those of this one, if the two are near copies.
    pub fn compare(&mut self, body: &Body, tokens: &[u32]) -> Option<u32> {
        let own = self.own.as_ref()?;
        let ways = Ways::of(own, body, self.min_similarity);
        let (own, other) = (own.word, &body.word);
        let demand = Demand::new(self.min_similarity);
        if let Some(least) = ways.by_text
            && let Some(common) = self.text.get(|text| text.set(&self.tokens)).common(tokens, least)
        {
            // A block of a function is no copy of the function.
            if common == self.tokens.len().min(tokens.len()) && is_within(&self.tokens, tokens) {
                return None;
            }
            let things = self.things.get(|things| things.set(&self.tokens));
            if things.are_those_of(tokens, common, is_simple(&own, other), demand) {
                return Some(common as u32);
            }
        }
        self.renamed(&own, other, tokens, ways.renamed?)
    }

    /// The same after the renaming that explains most.
    fn renamed(&mut self, own: &Word, other: &Word, tokens: &[u32], least: usize) -> Option<u32> {
        let codes = |tokens: &[u32], out: &mut Vec<u32>| {
            out.clear();
            out.extend(tokens.iter().map(|&token| u32::from(code_of(token))));
        };
        let mapped = &mut self.mapped;
        let own_codes = self.codes.get(|pattern| {
            codes(&self.tokens, mapped);
            pattern.set(mapped);
        });
        codes(tokens, &mut self.other_codes);
        // No renaming makes more of them correspond than their codes do.
        own_codes.common(&self.other_codes, least)?;
        // Which names are aligned may depend on which side is looked at first, so that is always the same one.
        let turned = other.hash < own.hash;
        let (from, to) = if turned { (tokens, &*self.tokens) } else { (&*self.tokens, tokens) };
        let pairs = if turned {
            self.renamed.set(&self.other_codes);
            codes(to, &mut self.other_codes);
            self.renamed.align(&self.other_codes)
        } else {
            own_codes.align(&self.other_codes)
        };
        let renaming = Renaming::of(pairs.iter().map(|&(i, j)| (from[i as usize], to[j as usize])));
        mapped.clear();
        mapped.extend(from.iter().map(|&token| renaming.apply(token)));
        self.renamed.set(mapped);
        let common = self.renamed.common(to, least)?;
        if common == mapped.len().min(to.len()) && is_within(mapped, to) && mapped.len() != to.len() {
            return None;
        }
        self.renamed_things.set(mapped);
        let demand = Demand::new(self.min_similarity);
        let near = self.renamed_things.are_those_of(to, common, is_simple(own, other), demand);
        near.then_some(common as u32)
    }
}

/// Does the shorter of two sequences stand in the longer one without a gap?
fn is_within(a: &[u32], b: &[u32]) -> bool {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    long.windows(short.len()).any(|window| window == short)
}

/// The passages of a body, and its names and literals: two near copies have not only single words in common.
#[derive(Default)]
struct Things {
    n_tokens: usize,
    /// A number for each different run of [`RUN`] tokens, by its hash.
    numbers: Numbers<u64>,
    /// Those of all runs.
    runs: Vec<u32>,
    /// Which of them another body has.
    is_there: Vec<bool>,
    names: Pattern,
    scratch: Vec<u32>,
}

impl Things {
    fn set(&mut self, tokens: &[u32]) {
        self.n_tokens = tokens.len();
        self.numbers.clear(tokens.len());
        self.runs.clear();
        let mut n_different = 0;
        runs(tokens, |run| {
            let number = self.numbers.get(run).unwrap_or_else(|| {
                self.numbers.set(run, n_different);
                n_different += 1;
                n_different - 1
            });
            self.runs.push(number);
        });
        names(tokens, &mut self.scratch);
        self.names.set(&self.scratch);
    }

    /// Has another body, of which so many tokens correspond, enough of the same passages and names?
    fn are_those_of(&mut self, tokens: &[u32], common: usize, is_simple: bool, demand: Demand) -> bool {
        let longer = self.n_tokens.max(tokens.len()) as f64;
        let is_sure = common as f64 >= SURE * longer;
        let share = RUNS + if is_sure { 0.0 } else { demand.extra(RUNS_IF_UNSURE) };
        if (self.in_common_runs(tokens) as f64) < share * longer {
            return false;
        }
        names(tokens, &mut self.scratch);
        let share = NAMES + demand.extra(NAMES_EXTRA + if is_simple { NAMES_IF_SIMPLE } else { 0.0 });
        let least = share * self.names.len().max(self.scratch.len()) as f64;
        self.names.common(&self.scratch, least.ceil() as usize).is_some()
    }

    /// How many tokens stand in runs of [`RUN`] tokens that both have: here or there, whatever is less.
    fn in_common_runs(&mut self, tokens: &[u32]) -> usize {
        self.is_there.clear();
        self.is_there.resize(self.runs.len(), false);
        let (mut here, mut there) = (Covered::default(), Covered::default());
        runs(tokens, |run| {
            let number = self.numbers.get(run);
            number.into_iter().for_each(|number| self.is_there[number as usize] = true);
            there.next(number.is_some());
        });
        self.runs.iter().for_each(|&number| here.next(self.is_there[number as usize]));
        here.tokens.min(there.tokens)
    }
}

/// Counts the tokens in runs that count, one run after the other.
#[derive(Default)]
struct Covered {
    tokens: usize,
    at: usize,
    end: usize,
}

impl Covered {
    fn next(&mut self, counts: bool) {
        if counts {
            self.tokens += self.at + RUN - self.end.max(self.at);
            self.end = self.at + RUN;
        }
        self.at += 1;
    }
}

/// Calls `each` for each run of [`RUN`] tokens, with a hash of it.
fn runs(tokens: &[u32], mut each: impl FnMut(u64)) {
    const BASE: u64 = 0x9e37_79b9_7f4a_7c15;
    const TOP: u64 = BASE.wrapping_pow(RUN as u32);
    let mut hash = 0u64;
    for (i, &token) in tokens.iter().enumerate() {
        hash = hash.wrapping_mul(BASE).wrapping_add(u64::from(token) + 1);
        if i >= RUN {
            hash = hash.wrapping_sub((u64::from(tokens[i - RUN]) + 1).wrapping_mul(TOP));
        }
        if i + 1 >= RUN {
            each(hash);
        }
    }
}

/// The names and literals of some tokens.
fn names(tokens: &[u32], out: &mut Vec<u32>) {
    out.clear();
    out.extend(tokens.iter().copied().filter(|&token| token >= FIRST_TEXT));
}
