//! Fast lexers against tree-sitter's leaves, on real sources: token for token, position for position, unit for unit.
//!
//! Needs sources that `tests/fetch-sources` gets, so it is not run by a plain `cargo test`:
//! `cargo test -p dupi-tests --test lexers -- --ignored --nocapture`.
#![allow(clippy::print_stdout, reason = "the rates are the point")]

use dupi_tests::differential::compare;
use dupi_tests::sources;

/// Files compared per language.
const FILES: usize = 700;
/// Files larger than this are left out: the grammars are slow.
const MAX_BYTES: u64 = 256 * 1024;

/// Of 10 000 tokens, how many may differ without a reason that is named beside the lexer.
const MAX_UNEXPLAINED: f64 = 1.0;
/// Of 10 000 units, how many may be no whole nodes of the tree.
const MAX_CROOKED: f64 = 5.0;
/// Of 10 000 units of 50 tokens or more in the tree, how many the lexer's structure may not have.
const MAX_MISSED: f64 = 100.0;

#[test]
#[ignore = "needs sources: run tests/fetch-sources first"]
fn lexers_agree_with_their_grammars() {
    let roots = sources::roots();
    let mut failures = Vec::new();
    for language in dupi_grammars::LANGUAGES.iter().filter(|language| language.lexer.is_some()) {
        let files = sources::files(&roots, language.name, FILES, MAX_BYTES);
        let outcome = compare(language, &files);
        println!("{}", outcome.summary(language.name));
        let share = |n: usize, of: usize| 1e4 * n as f64 / of.max(1) as f64;
        let bad = [
            (outcome.tokens < 100_000, "too few sources"),
            (share(outcome.unexplained, outcome.tokens) > MAX_UNEXPLAINED, "tokens differ"),
            (share(outcome.crooked, outcome.units) > MAX_CROOKED, "units are crooked"),
            (share(outcome.missed, outcome.large) > MAX_MISSED, "units are missed"),
        ];
        for (_, what) in bad.iter().filter(|(bad, _)| *bad) {
            let examples: Vec<&str> = outcome.examples.iter().take(10).map(String::as_str).collect();
            failures.push(format!("{}: {what}\n{}", language.name, examples.join("\n")));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
