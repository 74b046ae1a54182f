//! Random histories against a model: whatever happens to files and to the index, the answers are those of a search
//! from scratch. `DUPI_SEED` repeats one history, `DUPI_CASES` draws so many, from that seed on.
#![allow(clippy::print_stdout, reason = "the long run says what it has done")]

use std::collections::BTreeMap;

use dupi_tests::history::{History, all_samples, own_samples};

/// A history has so many steps: enough for a tier of segments to fill and be merged.
const STEPS: usize = 20;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

fn histories(n: u64, all: bool) {
    let first = number("DUPI_SEED");
    let cases = number("DUPI_CASES").unwrap_or(if first.is_some() { 1 } else { n });
    let seeds = first.unwrap_or(0)..first.unwrap_or(0) + cases;
    let mut done: BTreeMap<&str, usize> = BTreeMap::new();
    let many = seeds.clone().count() > 30;
    for seed in seeds {
        let samples = if all { all_samples() } else { own_samples() };
        let mut history = History::new(seed, samples);
        (0..STEPS).for_each(|_| history.step());
        history.end();
        for (&what, n) in &history.done {
            *done.entry(what).or_default() += n;
        }
    }
    println!("{done:?}");
    let all = [
        "merge",
        "planned merge",
        "crash",
        "hand over",
        "clones",
        "close",
        "ignore",
        "replace by a folder",
        "edit within a tick",
    ];
    assert!(!many || all.iter().all(|what| done.contains_key(what)), "a history must do all of it: {done:?}");
}

#[test]
fn after_each_step_of_a_history_the_index_answers_as_a_search_does() {
    histories(32, false);
}

#[test]
#[ignore = "long: tests/run calls it with fewer cases"]
fn after_each_step_of_thousands_of_histories_the_index_answers_as_a_search_does() {
    histories(3_000, true);
}
