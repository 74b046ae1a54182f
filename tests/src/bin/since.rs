//! `--since` on the history of a real repository: for each commit, what it says against two runs over all files, and how
//! long it takes with an index that knows the commit before.
//!
//! `cargo run --release -p dupi-tests --bin since -- REPOSITORY [COMMITS [OPTION…]]`
#![allow(clippy::print_stdout, reason = "this is a program that prints what it has measured")]

use std::path::Path;
use std::time::Duration;

use dupi_tests::repository::git;
use dupi_tests::since::compare;

/// Commits that are looked at unless told otherwise.
const COMMITS: usize = 200;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let repository = arguments.first().expect("the path of a repository");
    let n: usize = arguments.get(1).map_or(COMMITS, |n| n.parse().expect("a number of commits"));
    let options: Vec<&str> = arguments.iter().skip(2).map(String::as_str).collect();
    let work = tempfile::tempdir().expect("a folder");
    let (clone, cache) = (work.path().join("clone"), work.path().join("cache"));
    git(Path::new("."), &["clone", "--quiet", "--no-hardlinks", repository, &clone.to_string_lossy()]);
    let number = (n + 1).to_string();
    let commits = git(&clone, &["rev-list", "--first-parent", "--reverse", "--max-count", &number, "HEAD"]);
    let commits: Vec<&str> = commits.lines().collect();
    let compared = compare(&clone, &cache, &commits, &options);
    // The first one builds the index.
    let mut took: Vec<Duration> = compared.took.iter().skip(1).copied().collect();
    took.sort();
    let at = |percent: usize| took.get(took.len().saturating_sub(1) * percent / 100).copied().unwrap_or_default();
    println!(
        "{} commits as two full runs say; {} add copies, {} classes shown; --since: median {:.2} s, 95 % {:.2} s, most {:.2} s",
        compared.commits,
        compared.adding,
        compared.shown,
        at(50).as_secs_f64(),
        at(95).as_secs_f64(),
        at(100).as_secs_f64(),
    );
}
