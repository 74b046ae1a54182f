//! How many labelled clones of BigCloneBench does a check show, and how many false ones?
//!
//! `cargo run --release -p dupi-tests --bin bcb -- FOLDER [-- ARGUMENTS OF THE CHECK]`
//!
//! FOLDER holds functions as `ID.java`, each alone in a class, at any depth, and `clone_labels.txt` with a pair a line:
//! `ID,ID,is it a clone,type`, where types 0 to 4 are T1, T2, ST3, MT3 and WT3/T4. The public repository
//! zhengly1/bigclonebench is such a folder.
//!
//! Clones count if both functions have `MIN_TOKENS` or more; false pairs count in any case.
//! Direct: one class has `COVER` of the lines of both, as the benchmark's own tools count. Whole: `NEARLY` of them. Some: one
//! class has lines of both.
//! Other arguments of the check are measured after the defaults; without any, the lowest bar is.
#![allow(clippy::print_stdout, reason = "a command line")]

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use dupi_grammars::token::{Lexed, Unit};
use dupi_grammars::{by_name, tokenize};
use dupi_tests::binary;
use dupi_tests::workspace::files;

const USAGE: &str = "usage: bcb FOLDER [-- ARGUMENTS OF THE CHECK]";

const LABELS: &str = "clone_labels.txt";
const MIN_TOKENS: u32 = 50;
const COVER: f64 = 0.7;
const NEARLY: f64 = 0.9;
/// The lowest bar that near copies have at any length.
const LOWEST: [&str; 2] = ["--min-similarity", "0.6"];
const TYPES: [&str; 6] = ["T1", "T2", "ST3", "MT3", "WT3/T4", "false"];
/// The type in the table of pairs that are no clones.
const FALSE: usize = 5;
/// How many examples of pairs that are wrong are named.
const EXAMPLES: usize = 10;

/// A function: its tokens, and its lines in its file.
struct Function {
    tokens: u32,
    lines: (u64, u64),
}

/// For each function, by its id: the classes with a copy of it, and the share of its lines that this has.
type Classes = HashMap<String, HashMap<usize, f64>>;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().context(USAGE)?).canonicalize()?;
    let rest: Vec<String> = arguments.collect();
    let sets = match rest.split_first() {
        None => vec![Vec::new(), LOWEST.map(str::to_owned).to_vec()],
        Some((first, others)) if first == "--" => vec![Vec::new(), others.to_vec()],
        Some(_) => bail!(USAGE),
    };
    let all = files(&folder);
    let labels = all.iter().find(|path| path.ends_with(LABELS)).with_context(|| format!("no {LABELS}"))?;
    let pairs = pairs(&std::fs::read_to_string(labels)?)?;
    let mut functions = HashMap::new();
    for path in all.iter().filter(|path| path.extension().is_some_and(|extension| extension == "java")) {
        functions.insert(id(path), function(path)?);
    }
    let large = |id: &String| functions.get(id).is_some_and(|function| function.tokens >= MIN_TOKENS);
    let is_counted = |pair: &&(String, String, usize)| pair.2 == FALSE || (large(&pair.0) && large(&pair.1));
    let counted: Vec<&(String, String, usize)> = pairs.iter().filter(is_counted).collect();
    println!("{} functions, {} pairs, {} counted", functions.len(), pairs.len(), counted.len());
    for arguments in sets {
        let classes = check(&folder, &arguments, &functions)?;
        println!("{}", if arguments.is_empty() { "defaults".to_owned() } else { arguments.join(" ") });
        for (number, name) in TYPES.iter().enumerate() {
            let of_type: Vec<(&str, &str, f64)> = counted
                .iter()
                .filter(|(.., kind)| *kind == number)
                .map(|(a, b, _)| (a.as_str(), b.as_str(), together(&classes, a, b)))
                .collect();
            let n = |least: f64| of_type.iter().filter(|(.., share)| *share > 0.0 && *share >= least).count();
            let share = |n: usize| 100.0 * n as f64 / of_type.len().max(1) as f64;
            let cells = [("direct", COVER), ("whole", NEARLY), ("some", 0.0)].map(|(what, least)| {
                let n = n(least);
                format!("{what} {n:>6} = {:>6.2} %", share(n))
            });
            println!("  {name:<7} {:>6} pairs: {}", of_type.len(), cells.join(", "));
            // What should be all or nothing, and is not.
            let is_wrong = |share: f64| if number == FALSE { share > 0.0 } else { share < COVER && number < 2 };
            for (a, b, share) in of_type.iter().filter(|(.., share)| is_wrong(*share)).take(EXAMPLES) {
                println!("    {a} {b} {share:.2}");
            }
        }
    }
    Ok(())
}

fn id(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Pairs with their types.
fn pairs(labels: &str) -> Result<Vec<(String, String, usize)>> {
    let mut pairs = Vec::new();
    // The first line says how many there are.
    for line in labels.lines().filter(|line| line.contains(',')) {
        let [a, b, is_clone, kind] = line.trim().split(',').collect::<Vec<_>>()[..] else { bail!("no label: {line}") };
        let kind = if is_clone == "1" { kind.parse()? } else { FALSE };
        pairs.push((a.to_owned(), b.to_owned(), kind));
    }
    Ok(pairs)
}

/// The one function of a file.
fn function(path: &Path) -> Result<Function> {
    let src = std::fs::read(path)?;
    let mut lexed = Lexed::default();
    tokenize(by_name("java").context("no Java")?, &src, &mut lexed).ok().context("it cannot be tokenized")?;
    // The class around it comes first. A core is its definition over again, without the head.
    let is_whole = |unit: &&Unit| unit.flags & (Unit::IMPORT | Unit::CORE) == 0;
    let Some(unit) = lexed.units.iter().filter(is_whole).nth(1) else {
        return Ok(Function { tokens: 0, lines: (0, 0) });
    };
    let line = |at: u32| u64::from(lexed.tokens[at as usize].line) + 1;
    Ok(Function { tokens: unit.end - unit.start, lines: (line(unit.start), line(unit.end - 1)) })
}

fn check(folder: &Path, arguments: &[String], functions: &HashMap<String, Function>) -> Result<Classes> {
    let mut all = vec!["--check", "--format", "json", "--no-index", "--no-config"];
    all.extend(arguments.iter().map(String::as_str));
    let run = binary::run(folder, &all);
    if run.code > 1 {
        bail!("{}", run.stderr);
    }
    let answer: serde_json::Value = serde_json::from_str(&run.stdout)?;
    let mut classes = Classes::new();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, class) in answer["classes"].as_array().context("no classes")?.iter().enumerate() {
        *kinds.entry(class["kind"].as_str().unwrap_or_default()).or_default() += 1;
        for copy in class["copies"].as_array().context("no copies")? {
            let id = id(Path::new(copy["path"].as_str().context("no path")?));
            let Some(function) = functions.get(&id) else { continue };
            let line = |name: &str| copy[name].as_u64().context("no line");
            let (start, end) = (line("startLine")?, line("endLine")?);
            let n = (end.min(function.lines.1) + 1).saturating_sub(start.max(function.lines.0));
            let share = n as f64 / (function.lines.1 - function.lines.0 + 1) as f64;
            let best = classes.entry(id).or_default().entry(number).or_default();
            *best = best.max(share);
        }
    }
    println!("{kinds:?}");
    Ok(classes)
}

/// The largest share of the lines of both that one class has.
fn together(classes: &Classes, a: &str, b: &str) -> f64 {
    let (Some(a), Some(b)) = (classes.get(a), classes.get(b)) else { return 0.0 };
    a.iter().filter_map(|(class, share)| Some(share.min(*b.get(class)?))).fold(0.0, f64::max)
}
