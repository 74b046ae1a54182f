//! Near copies: functions of every language, copied into a file of unrelated code and edited there, by statements. Most are
//! found as one class over the whole function, on its own lines.
//!
//! `DUPI_SEED` draws other edits, `DUPI_CASES` draws so many times, from that seed on. Tables go to the standard output:
//! `cargo test --workspace --test edited -- --nocapture`. `DUPI_MISSED=1` names what was missed, and `DUPI_KEEP=FOLDER` keeps
//! all workspaces there: copy `b/7.go` is of the function of `a/7.go`. `DUPI_ONLY=go,rust` takes some languages of the real
//! sources.
#![allow(clippy::print_stdout, reason = "the rates are the point")]

use std::path::PathBuf;

use dupi_grammars::{LANGUAGES, Language};
use dupi_tests::planting::edits::{Donors, Edit};
use dupi_tests::planting::recall::{Ground, Tally, frozen_host, is_plantable, measure};
use dupi_tests::planting::{Function, fixtures, functions_of};
use dupi_tests::sources;
use rayon::prelude::*;

/// Per cent of the copies that are found: as they are, and with all names replaced on top.
const BARS: [(Edit, f64, f64); 6] = [
    (Edit::Nothing, 100.0, 100.0),
    (Edit::Insert, 95.0, 92.0),
    (Edit::Delete, 95.0, 90.0),
    (Edit::Change, 95.0, 92.0),
    (Edit::Scatter, 95.0, 85.0),
    (Edit::Heavy, 80.0, 50.0),
];

/// Functions of a language, where real sources are planted, and hosts for them.
const FUNCTIONS: usize = 40;
/// Files that these are drawn from.
const FILES: usize = 10 * FUNCTIONS;
/// The largest file that a function is cut out of, or put into.
const MAX_BYTES: u64 = 48 * 1024;

/// A workspace of its own for each function: the one host of a language takes one copy.
#[test]
fn edited_copies_are_found() {
    let functions = fixtures();
    let grounds = functions.chunk_by(|a, b| a.path == b.path).map(|of_file| Ground {
        name: of_file[0].path.file_stem().expect("a name").to_string_lossy().into_owned(),
        functions: of_file.iter().filter(|function| is_plantable(function)).cloned().collect(),
        hosts: vec![frozen_host(&of_file[0].path)],
        donors: Donors::new(&functions_of(&frozen_host(&of_file[0].path))),
    });
    let failures = measured(&grounds.collect::<Vec<_>>(), &[]);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Sources that nobody has looked at: of each language as many functions of different files, and hosts from others.
#[test]
#[ignore = "needs sources: run tests/fetch-sources first"]
fn edited_copies_of_real_functions_are_found() {
    let roots = sources::roots();
    let only = std::env::var("DUPI_ONLY").unwrap_or_default();
    let is_wanted = |language: &&&Language| only.is_empty() || only.split(',').any(|name| name == language.name);
    let grounds: Vec<Ground> = LANGUAGES.iter().filter(is_wanted).map(|language| real(language, &roots)).collect();
    // Where a table or a test is planted is of no interest here.
    let failures = measured(&grounds, &["--zone", "code,test,data,generated", "--test-min-tokens", "50"]);
    // Which sources there are depends on the machine, and so do the rates: they are printed, and the frozen functions
    // are held to the bars.
    failures.iter().for_each(|failure| println!("below its bar: {failure}"));
}

/// Frozen sources fill up what a machine has too little of.
fn real(language: &'static Language, roots: &[PathBuf]) -> Ground {
    let files = sources::files(roots, language.name, FILES, MAX_BYTES);
    let (odd, even): (Vec<_>, Vec<_>) = files.into_iter().enumerate().partition(|(i, _)| i % 2 == 1);
    let of_real = even.par_iter().filter_map(|(_, path)| functions_of(path).into_iter().find(is_plantable));
    let mut functions: Vec<Function> = of_real.collect();
    let mut hosts: Vec<PathBuf> = odd.into_iter().map(|(_, path)| path).collect();
    let mut donors: Vec<Function> = hosts.iter().take(FUNCTIONS).flat_map(|path| functions_of(path)).collect();
    if functions.len() < 10 || hosts.len() < FUNCTIONS {
        let mut frozen = fixtures();
        frozen.retain(|function| function.language.name == language.name && is_plantable(function));
        hosts = frozen.iter().take(1).map(|function| frozen_host(&function.path)).collect();
        donors.extend(hosts.iter().flat_map(|path| functions_of(path)));
        functions.extend(frozen);
    }
    // Spread evenly over all of them.
    let n = functions.len();
    let functions = (0..n.min(FUNCTIONS)).map(|i| functions[i * n / n.min(FUNCTIONS)].clone()).collect();
    Ground { name: language.name.to_owned(), functions, hosts, donors: Donors::new(&donors) }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

/// Prints a table of languages and edits. Returns which sums are below their bars.
fn measured(grounds: &[Ground], arguments: &[&str]) -> Vec<String> {
    let first = number("DUPI_SEED").unwrap_or(0);
    let seeds = first..first + number("DUPI_CASES").unwrap_or(1);
    let mut failures = Vec::new();
    for is_renamed in [false, true] {
        let heads: String = BARS.iter().map(|(edit, ..)| format!("{:>16}", edit.name())).collect();
        let on_top = if is_renamed { ", all names replaced on top" } else { "" };
        println!("found / on their own lines, per cent{on_top}\n{:<12}{:>5}{heads}", "", "n");
        let mut sums = vec![Tally::default(); BARS.len()];
        for ground in grounds {
            let mut row = Vec::new();
            for ((edit, ..), sum) in BARS.iter().zip(&mut sums) {
                let mut tally = Tally::default();
                for seed in seeds.clone() {
                    tally.add(measure(ground, *edit, is_renamed, seed, arguments));
                }
                sum.add(tally.clone());
                row.push(tally);
            }
            print_row(&ground.name, ground.functions.len(), &row);
        }
        print_row("all", grounds.iter().map(|ground| ground.functions.len()).sum(), &sums);
        let alike = |tally: &Tally| format!("{:>16.1}", 100.0 * tally.alike as f64 / tally.plants.max(1) as f64);
        println!("{:<17}{}", "70 % in common", sums.iter().map(alike).collect::<String>());
        let undrawn: String = sums.iter().map(|tally| format!("{:>16}", tally.undrawn.len())).collect();
        println!("{:<17}{undrawn}\n", "no such edit");
        for ((edit, plain, renamed), sum) in BARS.iter().zip(&sums) {
            let bar = if is_renamed { renamed } else { plain };
            let name = edit.name();
            if number("DUPI_MISSED").is_some() {
                sum.missed.iter().for_each(|missed| println!("{name}{on_top}: {missed}"));
                sum.undrawn.iter().for_each(|undrawn| println!("{name}{on_top}: no edit of {undrawn}"));
            }
            assert!(sum.plants >= 50, "only {} plants {name}", sum.plants);
            if sum.rate() < *bar {
                failures.push(format!("{name}{on_top}: {:.1} % found, {bar} % wanted", sum.rate()));
            }
            if sum.own < sum.found {
                failures.push(format!("{name}{on_top}: {} on other lines", sum.found - sum.own));
            }
        }
    }
    failures
}

fn print_row(name: &str, n: usize, tallies: &[Tally]) {
    let cell = |tally: &Tally| {
        let own = if tally.found == 0 { "-".to_owned() } else { format!("{:.0}", tally.own_rate()) };
        format!("{:>16}", format!("{:.1} / {own}", tally.rate()))
    };
    println!("{name:<12}{n:>5}{}", tallies.iter().map(cell).collect::<String>());
}
