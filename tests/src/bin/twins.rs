//! How many edited twins of a folder does a check show? Finds pairs of functions that agree in most of their tokens, by a
//! way that has nothing in common with the engine's, and looks for each in the binary's answer.
//!
//! `cargo run --release -p dupi-tests --bin twins -- FOLDER [--list N] [--why] [-- ARGUMENTS OF THE CHECK]`
//!
//! A function is a definition with statements, of `MIN_TOKENS` and `MIN_LINES` or more. Two are twins if the longest common
//! subsequence of their tokens' texts is at least `ALIKE` of the longer one; they are edited if they are neither equal nor
//! equal up to a renaming of names and other literals. All pairs of the folder are found: none is left out by a heuristic.
//! Twins inside twins are not counted, nor is a function and the one that it hardly more than contains.
//!
//! Whole: one class has `NEARLY` of the lines of both. Partly: one class has some lines of both. Apart: each has lines in
//! some class, but no class has both. Large groups of twins have many pairs, so functions are counted, too: each by its
//! nearest twin.
//! `--list N` names so many of those that are not whole (default: 30, the most alike first). `--why` checks again with other
//! options, and says which of them would show them.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line")]

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use dupi_grammars::token::{Code, IDENTIFIER, Lexed, OPEN_BRACKET, OPEN_PAREN, Unit};
use dupi_grammars::{Language, detect, tokenize};
use dupi_tests::alignment::common;
use dupi_tests::binary;
use dupi_tests::workspace::files;
use rayon::prelude::*;
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

const USAGE: &str = "usage: twins FOLDER [--list N] [--why] [-- ARGUMENTS OF THE CHECK]";

const MIN_TOKENS: usize = 100;
/// The least that a check shows by default.
const MIN_LINES: u64 = 5;
const ALIKE: f64 = 0.85;
const NEARLY: f64 = 0.9;
/// Longer functions are tables, and cost as much as all others.
const MAX_TOKENS: usize = 20_000;

/// Words that head what holds functions.
const CONTAINERS: [&str; 10] =
    ["class", "interface", "trait", "impl", "namespace", "module", "object", "protocol", "extension", "package"];
/// Words that head a type, unless parameters follow: a function may return one.
const TYPES: [&str; 3] = ["struct", "enum", "union"];
/// Words that head a function.
const FUNCTIONS: [&str; 5] = ["func", "fn", "def", "function", "fun"];

/// What else could be asked for, and what that says about what is missing.
const REASONS: [(&str, &[&str]); 4] = [
    ("data zone", &["--zone", "code,test,data"]),
    ("inside another class", &["--nested", "--zone", "code,test,data"]),
    ("minimum of tests", &["--test-min-tokens", "50", "--zone", "code,test,data"]),
    ("bar", &["--min-similarity", "0.5", "--test-min-tokens", "50", "--zone", "code,test,data"]),
];

/// Where a function is.
#[derive(Clone)]
struct Place {
    path: String,
    lines: (u64, u64),
}

/// A function: its tokens, and all places that have exactly these.
struct Word {
    family: &'static str,
    codes: Vec<Code>,
    /// Hashes of the tokens' texts.
    texts: Vec<u64>,
    /// The same, sorted, each with its number among its equals.
    bag: Vec<(u64, u32)>,
    places: Vec<Place>,
}

/// Two words that are twins, the first before the second.
struct Pair {
    a: usize,
    b: usize,
    similarity: f64,
}

/// What a check shows of a pair, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Shown {
    Nothing,
    Apart,
    Partly,
    Whole,
}

/// First and last line of a copy, and the number of its class.
type Copy = ((u64, u64), usize);

/// The copies of an answer, by file.
struct Copies(HashMap<String, Vec<Copy>>);

fn main() -> Result<()> {
    let (mut folder, mut list, mut why, mut arguments) = (None, 30, false, Vec::new());
    let mut rest = std::env::args().skip(1);
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--list" => list = rest.next().and_then(|n| n.parse().ok()).context(USAGE)?,
            "--why" => why = true,
            "--" => arguments = rest.by_ref().collect(),
            _ if folder.is_none() && !argument.starts_with('-') => folder = Some(PathBuf::from(argument)),
            _ => bail!(USAGE),
        }
    }
    let folder = folder.context(USAGE)?.canonicalize()?;
    let start = Instant::now();
    let answer = check(&folder, &arguments)?;
    eprintln!("{:.1} s: checked", start.elapsed().as_secs_f64());
    let words = words(&folder, &skipped(&answer)?);
    eprintln!("{:.1} s: {} functions that differ", start.elapsed().as_secs_f64(), words.len());
    let pairs = outermost(&words, pairs(&words));
    eprintln!("{:.1} s: {} edited twins", start.elapsed().as_secs_f64(), pairs.len());

    let copies = Copies::new(&answer)?;
    let shown: Vec<Shown> = pairs.iter().map(|pair| copies.shown(&words[pair.a], &words[pair.b])).collect();
    summary(&words, &pairs, &shown);
    let mut missing: Vec<usize> = (0..pairs.len()).filter(|&i| shown[i] != Shown::Whole).collect();
    missing.sort_by(|&i, &j| pairs[j].similarity.total_cmp(&pairs[i].similarity));
    let reasons = if why { reasons(&folder, &arguments, &words, &pairs)? } else { HashMap::new() };
    for &i in missing.iter().take(list) {
        let place = |word: usize| {
            let Place { path, lines } = &words[word].places[0];
            format!("{path}:{}-{}", lines.0, lines.1)
        };
        let Pair { a, b, similarity } = pairs[i];
        let reason = reasons.get(&(a, b)).copied().unwrap_or_default();
        println!("{:?} {similarity:.3} {} tokens {} {} {reason}", shown[i], words[a].texts.len(), place(a), place(b));
    }
    if why {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for &i in &missing {
            *counts.entry(reasons.get(&(pairs[i].a, pairs[i].b)).copied().unwrap_or("unknown")).or_default() += 1;
        }
        println!("not whole, by what would show it: {counts:?}");
    }
    Ok(())
}

/// Prints shares of pairs and of functions, of code and of tests.
fn summary(words: &[Word], pairs: &[Pair], shown: &[Shown]) {
    let of_tests = |word: usize| words[word].places.iter().all(|place| is_test(&place.path));
    let print = |name: &str, of: &[usize]| {
        let n = |what: Shown| of.iter().filter(|&&i| shown[i] == what).count();
        let share = |n: usize| 100.0 * n as f64 / of.len().max(1) as f64;
        println!(
            "{name:<22} {:>6}: whole {:.1} %, partly {:.1} %, not at all {:.1} % (apart {:.1} %)",
            of.len(),
            share(n(Shown::Whole)),
            share(n(Shown::Partly)),
            share(n(Shown::Nothing) + n(Shown::Apart)),
            share(n(Shown::Apart)),
        );
    };
    let mut nearest: HashMap<usize, usize> = HashMap::new();
    for (i, pair) in pairs.iter().enumerate() {
        for word in [pair.a, pair.b] {
            let best = nearest.entry(word).or_insert(i);
            if pairs[*best].similarity < pair.similarity {
                *best = i;
            }
        }
    }
    let mut nearest: Vec<usize> = nearest.into_values().collect();
    nearest.sort_unstable();
    let all: Vec<usize> = (0..pairs.len()).collect();
    for (what, of) in [("pairs", &all), ("functions", &nearest)] {
        let (tests, code): (Vec<usize>, Vec<usize>) =
            of.iter().partition(|&&i| of_tests(pairs[i].a) || of_tests(pairs[i].b));
        print(what, of);
        print(&format!("{what} of code"), &code);
        print(&format!("{what} of tests"), &tests);
    }
}

/// Is a file test code, to judge by its path? Only for the table.
fn is_test(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    path.split(['/', '.', '_', '-']).any(|part| part.starts_with("test") || part.ends_with("test") || part == "spec")
        || path.contains("tests.")
}

fn check(folder: &Path, arguments: &[String]) -> Result<Value> {
    let mut all = vec!["--check", "--format", "json", "--no-index", "--no-config"];
    all.extend(arguments.iter().map(String::as_str));
    let run = binary::run(folder, &all);
    if run.code > 1 {
        bail!("{}", run.stderr);
    }
    serde_json::from_str(&run.stdout).context("the answer is no JSON")
}

/// Files and folders that were not read.
fn skipped(answer: &Value) -> Result<HashSet<String>> {
    let skipped = answer["scanned"]["skipped"].as_array().context("no list of skipped files")?;
    Ok(skipped.iter().filter_map(|skip| skip["path"].as_str()).map(str::to_owned).collect())
}

/// All functions that are large enough, by their tokens.
fn words(folder: &Path, skipped: &HashSet<String>) -> Vec<Word> {
    let is_read = |shown: &str| {
        !skipped.contains(shown) && shown.match_indices('/').all(|(end, _)| !skipped.contains(&shown[..end]))
    };
    let found: Vec<Found> = files(folder)
        .par_iter()
        .flat_map_iter(|path| {
            let shown = path.strip_prefix(folder).unwrap_or(path).to_string_lossy().into_owned();
            if is_read(&shown) { functions(path, &shown) } else { Vec::new() }
        })
        .collect();
    let mut words: Vec<Word> = Vec::new();
    let mut numbers: HashMap<(&str, Vec<u64>), usize> = HashMap::new();
    for (language, place, codes, texts) in found {
        let number = *numbers.entry((language.family, texts)).or_insert_with_key(|(family, texts)| {
            words.push(Word { family, codes, texts: texts.clone(), bag: bag(texts), places: Vec::new() });
            words.len() - 1
        });
        words[number].places.push(place);
    }
    words
}

fn bag(texts: &[u64]) -> Vec<(u64, u32)> {
    let mut sorted = texts.to_vec();
    sorted.sort_unstable();
    let mut bag: Vec<(u64, u32)> = Vec::with_capacity(sorted.len());
    for text in sorted {
        let n = bag.last().filter(|(last, _)| *last == text).map_or(0, |(_, n)| n + 1);
        bag.push((text, n));
    }
    bag
}

/// A function: its language, its place, and codes and texts of its tokens.
type Found = (&'static Language, Place, Vec<Code>, Vec<u64>);

fn functions(path: &Path, shown: &str) -> Vec<Found> {
    let Ok(src) = std::fs::read(path) else { return Vec::new() };
    let Some(language) = detect(path, &src) else { return Vec::new() };
    let mut lexed = Lexed::default();
    if std::str::from_utf8(&src).is_err() || tokenize(language, &src, &mut lexed).is_err() {
        return Vec::new();
    }
    let text = |at: usize| &src[lexed.tokens[at].start as usize..lexed.tokens[at].end as usize];
    let mut found = Vec::new();
    for (i, unit) in lexed.units.iter().enumerate() {
        let (start, end) = (unit.start as usize, unit.end as usize);
        let is_large = (MIN_TOKENS..=MAX_TOKENS).contains(&(end - start));
        let is_definition = unit.flags & (Unit::DEFINITION | Unit::CORE) == Unit::DEFINITION;
        if !is_definition || !is_large || !has_statements(&lexed.units[i..], unit) {
            continue;
        }
        let inner = lexed.units[i + 1..].first().map_or(end, |inner| (inner.start as usize).min(end));
        let head: Vec<(Code, &[u8])> = (start..inner).map(|at| (lexed.tokens[at].code, text(at))).collect();
        if is_container(&head) {
            continue;
        }
        let last = &lexed.tokens[end - 1];
        let breaks = src[last.start as usize..last.end as usize].iter().filter(|&&byte| byte == b'\n').count();
        let lines = (u64::from(lexed.tokens[start].line) + 1, u64::from(last.line) + 1 + breaks as u64);
        if lines.1 + 1 - lines.0 < MIN_LINES {
            continue;
        }
        let codes = lexed.tokens[start..end].iter().map(|token| token.code).collect();
        let texts = (start..end).map(|at| xxh3_64(text(at))).collect();
        found.push((language, Place { path: shown.to_owned(), lines }, codes, texts));
    }
    found
}

/// Does most of a unit consist of statements, and not of other definitions? `units` starts with it.
fn has_statements(units: &[Unit], unit: &Unit) -> bool {
    let (mut steps, mut definitions, mut end) = (0, 0, unit.start);
    for inner in units[1..].iter().take_while(|inner| inner.start < unit.end) {
        // A definition without its head is no other one.
        if inner.start >= end && inner.flags & Unit::CORE == 0 {
            let n = inner.end - inner.start;
            if inner.flags & Unit::DEFINITION != 0 {
                definitions += n
            } else {
                steps += n
            }
            end = inner.end;
        }
    }
    steps > definitions
}

/// Does a unit with this head hold members, and not statements?
fn is_container(head: &[(Code, &[u8])]) -> bool {
    let (mut at, mut is_type) = (0, false);
    while at < head.len() {
        let (code, text) = head[at];
        let word = std::str::from_utf8(text).unwrap_or_default();
        let after_dot = at > 0 && head[at - 1].1 == b".";
        if FUNCTIONS.contains(&word) {
            return false;
        }
        if CONTAINERS.contains(&word) && !after_dot {
            return true;
        }
        is_type |= TYPES.contains(&word);
        match code {
            // Parameters, but for those of an annotation.
            OPEN_PAREN if !(at > 1 && head[at - 2].1 == b"@") => return false,
            OPEN_PAREN | OPEN_BRACKET => at = closed(head, at, (b"([", b")]")),
            _ if word == "template" => at = closed(head, at + 1, (b"<", b">")),
            _ => {}
        }
        at += 1;
    }
    is_type
}

/// Where a bracket is closed again.
fn closed(head: &[(Code, &[u8])], from: usize, (open, close): (&[u8], &[u8])) -> usize {
    let mut depth = 0;
    for (at, (_, text)) in head.iter().enumerate().skip(from) {
        let of = |set: &[u8]| text.len() == 1 && set.contains(&text[0]);
        depth += isize::from(of(open)) - isize::from(of(close));
        if depth <= 0 {
            return at;
        }
    }
    head.len()
}

/// All pairs of edited twins.
///
/// Two bags that have `ALIKE` of the larger in common share one of the rarest elements of each: so many that the rest alone
/// would be too few. An index of these elements has all candidates.
fn pairs(words: &[Word]) -> Vec<Pair> {
    let mut n_holders: HashMap<(u64, u32), u32> = HashMap::new();
    for element in words.iter().flat_map(|word| &word.bag) {
        *n_holders.entry(*element).or_default() += 1;
    }
    let rarest: Vec<Vec<(u64, u32)>> = words
        .par_iter()
        .map(|word| {
            let mut elements = word.bag.clone();
            elements.sort_unstable_by_key(|element| (n_holders[element], *element));
            elements.truncate(word.bag.len() - least(word.bag.len()) + 1);
            elements
        })
        .collect();
    let mut holders: HashMap<(u64, u32), Vec<u32>> = HashMap::new();
    for (number, elements) in (0..).zip(&rarest) {
        for element in elements.iter().filter(|element| n_holders[element] > 1) {
            holders.entry(*element).or_default().push(number);
        }
    }
    (0..words.len())
        .into_par_iter()
        .flat_map_iter(|a| {
            let n = words[a].texts.len();
            let mut candidates: Vec<u32> = Vec::new();
            for element in &rarest[a] {
                // Numbers rise: those from `a` on were or will be compared by the other side.
                let before = holders.get(element).into_iter().flatten().take_while(|&&b| (b as usize) < a);
                candidates.extend(before.filter(|&&b| {
                    let m = words[b as usize].texts.len();
                    n.min(m) >= least(n.max(m))
                }));
            }
            candidates.sort_unstable();
            candidates.dedup();
            candidates.into_iter().filter_map(move |b| twins(words, b as usize, a)).collect::<Vec<_>>()
        })
        .collect()
}

/// The least number of tokens that twins have in common.
fn least(longer: usize) -> usize {
    (ALIKE * longer as f64).ceil() as usize
}

fn twins(words: &[Word], a: usize, b: usize) -> Option<Pair> {
    let (first, second) = (&words[a], &words[b]);
    let longer = first.texts.len().max(second.texts.len());
    if first.family != second.family || n_common(&first.bag, &second.bag, least(longer)) < least(longer) {
        return None;
    }
    let n = common(&first.texts, &second.texts, least(longer))?;
    (!is_renamed(first, second)).then(|| Pair { a, b, similarity: n as f64 / longer as f64 })
}

/// How many elements two bags have in common; fewer than `least` once that cannot be reached any more.
fn n_common(a: &[(u64, u32)], b: &[(u64, u32)], least: usize) -> usize {
    let (mut i, mut j, mut n) = (0, 0, 0);
    while i < a.len() && j < b.len() && n + (a.len() - i).min(b.len() - j) >= least {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => (i, j, n) = (i + 1, j + 1, n + 1),
        }
    }
    n
}

/// Are two functions equal but for literals and names, each name always replaced by the same one?
fn is_renamed(a: &Word, b: &Word) -> bool {
    let (mut there, mut back) = (HashMap::new(), HashMap::new());
    a.codes == b.codes
        && (0..a.codes.len()).filter(|&at| a.codes[at] == IDENTIFIER).all(|at| {
            let (x, y) = (a.texts[at], b.texts[at]);
            *there.entry(x).or_insert(y) == y && *back.entry(y).or_insert(x) == x
        })
}

/// Pairs of which no other pair has both functions within its own, and neither function the other.
fn outermost(words: &[Word], pairs: Vec<Pair>) -> Vec<Pair> {
    let key = |pair: &Pair| [pair.a, pair.b].map(|word| words[word].places[0].path.as_str());
    let mut by_files: HashMap<[&str; 2], Vec<usize>> = HashMap::new();
    for (i, pair) in pairs.iter().enumerate() {
        let [a, b] = key(pair);
        by_files.entry([a, b]).or_default().push(i);
        by_files.entry([b, a]).or_default().push(i);
    }
    let is_within = |inner: &Place, outer: &Place| {
        inner.path == outer.path
            && outer.lines.0 <= inner.lines.0
            && inner.lines.1 <= outer.lines.1
            && inner.lines != outer.lines
    };
    let is_inner = |pair: &Pair| {
        let [a, b] = [pair.a, pair.b].map(|word| &words[word].places[0]);
        let is_frame = is_within(a, b) || is_within(b, a);
        is_frame
            || by_files[&key(pair)].iter().any(|&other| {
                let [x, y] = [pairs[other].a, pairs[other].b].map(|word| &words[word].places[0]);
                (is_within(a, x) && is_within(b, y)) || (is_within(a, y) && is_within(b, x))
            })
    };
    let inner: HashSet<usize> = (0..pairs.len()).into_par_iter().filter(|&i| is_inner(&pairs[i])).collect();
    drop(by_files);
    pairs.into_iter().enumerate().filter(|(i, _)| !inner.contains(i)).map(|(_, pair)| pair).collect()
}

impl Copies {
    fn new(answer: &Value) -> Result<Copies> {
        let mut copies: HashMap<String, Vec<Copy>> = HashMap::new();
        for (number, class) in answer["classes"].as_array().context("no classes")?.iter().enumerate() {
            for copy in class["copies"].as_array().context("no copies")? {
                let path = copy["path"].as_str().context("no path")?.to_owned();
                let line = |name: &str| copy[name].as_u64().context("no line");
                copies.entry(path).or_default().push(((line("startLine")?, line("endLine")?), number));
            }
        }
        Ok(Copies(copies))
    }

    /// The share of a function's lines that each class has.
    fn shares(&self, place: &Place) -> HashMap<usize, f64> {
        let mut shares: HashMap<usize, f64> = HashMap::new();
        for (lines, class) in self.0.get(&place.path).into_iter().flatten() {
            let n = (lines.1.min(place.lines.1) + 1).saturating_sub(lines.0.max(place.lines.0));
            if n > 0 {
                let share = n as f64 / (place.lines.1 - place.lines.0 + 1) as f64;
                let best = shares.entry(*class).or_default();
                *best = best.max(share);
            }
        }
        shares
    }

    fn shown(&self, a: &Word, b: &Word) -> Shown {
        let (a, b) = (self.shares(&a.places[0]), self.shares(&b.places[0]));
        let together = a.iter().filter_map(|(class, share)| Some(share.min(*b.get(class)?))).fold(0.0, f64::max);
        match together {
            share if share >= NEARLY => Shown::Whole,
            share if share > 0.0 => Shown::Partly,
            _ if !a.is_empty() && !b.is_empty() => Shown::Apart,
            _ => Shown::Nothing,
        }
    }
}

/// For each pair the first of `REASONS` whose options show it whole.
fn reasons(
    folder: &Path,
    arguments: &[String],
    words: &[Word],
    pairs: &[Pair],
) -> Result<HashMap<(usize, usize), &'static str>> {
    let mut reasons = HashMap::new();
    for (reason, options) in REASONS {
        let options = [arguments, &options.iter().map(|&option| option.to_owned()).collect::<Vec<_>>()].concat();
        let copies = Copies::new(&check(folder, &options)?)?;
        for pair in pairs {
            if copies.shown(&words[pair.a], &words[pair.b]) == Shown::Whole {
                reasons.entry((pair.a, pair.b)).or_insert(reason);
            }
        }
    }
    Ok(reasons)
}
