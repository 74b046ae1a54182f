//! Which zone a place belongs to: by the file's name, by syntax, and by what its tokens look like.

use dupi_grammars::token::{CLOSE_BRACE, CLOSE_BRACKET, CLOSE_PAREN, Code, OPEN_BRACE, OPEN_BRACKET, OPEN_PAREN};

use crate::class::Fragment;
use crate::document::Document;

/// Folders whose files are test code.
const TEST_FOLDERS: [&str; 22] = [
    "test",
    "tests",
    "testing",
    "testdata",
    "test-data",
    "__tests__",
    "__mocks__",
    "__fixtures__",
    "spec",
    "specs",
    "e2e",
    "fixtures",
    "testutil",
    "testutils",
    "test_data",
    "integration-tests",
    "integration_tests",
    "unittest",
    "unittests",
    "selftest",
    "selftests",
    "benches",
];

/// Is a file test code, to judge by its path?
pub fn is_test_path(shown: &str) -> bool {
    let (folders, name) = shown.rsplit_once('/').unwrap_or(("", shown));
    if folders.split('/').any(|folder| TEST_FOLDERS.contains(&folder.to_ascii_lowercase().as_str())) {
        return true;
    }
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let lower = name.to_ascii_lowercase();
    let lower_stem = stem.to_ascii_lowercase();
    lower.contains(".test.")
        || lower.contains(".spec.")
        || lower.contains(".stories.")
        || lower_stem.ends_with("_test")
        || lower_stem.ends_with("_tests")
        || lower_stem.ends_with("_spec")
        || lower_stem.ends_with("_unittest")
        || lower_stem.starts_with("test_")
        || matches!(lower_stem.as_str(), "test" | "tests" | "conftest")
        || ends_as_word(stem, "Test")
        || ends_as_word(stem, "Tests")
        || ends_as_word(stem, "TestCase")
        || ends_as_word(stem, "Spec")
        || ends_as_word(stem, "IT")
}

/// `FooTest` but not `SHORTEST` or `Contest`.
fn ends_as_word(stem: &str, word: &str) -> bool {
    stem.strip_suffix(word).is_some_and(|rest| rest.ends_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit()))
}

/// Was a file written by a program, to judge by its name?
pub fn is_generated_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    [
        ".pb.",
        "_pb2.",
        "_pb2_grpc.",
        ".generated.",
        "_generated.",
        ".gen.",
        ".g.cs",
        ".g.i.cs",
        ".designer.cs",
        "_gen.go",
        ".min.",
    ]
    .iter()
    .any(|mark| lower.contains(mark))
        || lower.starts_with("zz_generated")
        || lower == "bindata.go"
}

/// The longest pattern, in tokens, that is looked for in a table.
const MAX_PERIOD: usize = 40;
/// How often a pattern must come in a row to be a table.
const MIN_REPEATS: usize = 4;
/// The share of a fragment's tokens that must stand in such rows.
const TABLE_SHARE: f64 = 0.6;

/// Of a longer fragment three samples of this many tokens are looked at: what is a table is one all over.
const SAMPLE: usize = 400;

/// Is this a table, a list of constants, or one statement over and over?
/// Says so from the codes alone, so that all copies of a class get the same answer.
pub fn is_table(codes: &[Code]) -> bool {
    let n = codes.len();
    if n <= 3 * SAMPLE {
        return is_row(codes);
    }
    let samples = [0, (n - SAMPLE) / 2, n - SAMPLE].map(|at| &codes[at..at + SAMPLE]);
    samples.into_iter().filter(|sample| is_row(sample)).count() >= 2
}

/// Is every part of these codes that has `least` of them or more a table? Says so only if it is sure.
pub fn is_table_all_over(codes: &[Code], least: usize) -> bool {
    // One pattern from end to end, but for so few codes at the ends that each part has its share of the pattern.
    let rest = (least.min(SAMPLE) as f64 * (1.0 - TABLE_SHARE)) as usize;
    let max_period = MAX_PERIOD.min(least.saturating_sub(rest) / MIN_REPEATS);
    let middle = codes.len() / 2;
    (1..=max_period.min(middle)).any(|period| {
        let repeats = |i: &usize| codes[*i] == codes[*i - period];
        let before = (period..middle).rev().take_while(repeats).count();
        let after = (middle..codes.len()).take_while(repeats).count();
        period + before + after + rest >= codes.len()
    })
}

fn is_row(codes: &[Code]) -> bool {
    let n = codes.len();
    let needed = (n as f64 * TABLE_SHARE).ceil() as usize;
    let mut in_row = Vec::new();
    let mut covered = 0;
    for period in 1..=MAX_PERIOD.min(n / MIN_REPEATS) {
        let repeats = |i: &usize| codes[*i] == codes[*i - period];
        // So many codes in a row must equal the one a period before: looking at one of as many misses none.
        let least = period * (MIN_REPEATS - 1);
        let mut at = period + least - 1;
        while at < n {
            if !repeats(&at) {
                at += least;
                continue;
            }
            let start = at - (period..at).rev().take_while(repeats).count();
            let end = at + (at..n).take_while(repeats).count();
            if end - start >= least {
                in_row.resize(n, false);
                for flag in &mut in_row[start - period..end] {
                    covered += usize::from(!*flag);
                    *flag = true;
                }
            }
            at += least * ((end - at) / least).max(1);
        }
        if covered >= needed {
            return true;
        }
    }
    false
}

/// The share of a fragment's tokens that must stand in literals made of brackets for it to be data.
const LITERAL_SHARE: f64 = 0.7;

/// Is a fragment mostly the inside of literals: braces and brackets that hold no unit?
pub fn is_literal(document: &Document, fragment: &Fragment) -> bool {
    let needed = (f64::from(fragment.len()) * LITERAL_SHARE).ceil() as u32;
    let mut unit = document.units.partition_point(|unit| unit.start < fragment.start);
    // Per open bracket: where it stands, and whether units start in it.
    let mut open: Vec<(u32, bool)> = Vec::new();
    let mut literal = 0;
    let mut counted_to = 0;
    for at in fragment.start..fragment.end {
        let code = document.codes[at as usize];
        while document.units.get(unit).is_some_and(|unit| unit.start <= at) {
            if let Some((_, units)) = open.last_mut() {
                *units = true;
            }
            unit += 1;
        }
        match code {
            OPEN_BRACE | OPEN_BRACKET => open.push((at, false)),
            // What is in parentheses is an argument, and no data of its own.
            OPEN_PAREN => open.push((at, true)),
            CLOSE_BRACE | CLOSE_BRACKET | CLOSE_PAREN => {
                let Some((start, units)) = open.pop() else { continue };
                if units {
                    // Units anywhere within make all that is around them code.
                    if let Some((_, around)) = open.last_mut().filter(|_| code != CLOSE_PAREN) {
                        *around = true;
                    }
                } else {
                    literal += at + 1 - start.max(counted_to);
                    counted_to = at + 1;
                }
            }
            _ => {}
        }
    }
    literal >= needed
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tests_are_told_by_path() {
        for path in [
            "a/foo_test.go",
            "src/test/java/A.java",
            "x/FooTest.java",
            "FooTests.cs",
            "a.test.ts",
            "b.spec.js",
            "test_a.py",
            "tests/a.rs",
            "spec/x_spec.rb",
            "__tests__/a.js",
            "conftest.py",
        ] {
            assert!(is_test_path(path), "{path}");
        }
        for path in ["src/latest.go", "contest/a.go", "src/testing_time.rs", "attest.py", "SHORTEST.c", "Contest.java"]
        {
            assert!(!is_test_path(path), "{path}");
        }
    }

    #[test]
    fn a_row_of_one_pattern_is_a_table_and_code_is_not() {
        assert!(is_table(&[1, 14].repeat(30)));
        assert!(is_table(&[0, 18, 1, 15].repeat(20)));
        let code: Vec<Code> = (0..60u8).map(|i| (i.wrapping_mul(37) ^ (i >> 2)) % 23).collect();
        assert!(!is_table(&code));
        assert!(is_table(&[code[..20].to_vec(), [0, 18, 1, 15].repeat(20)].concat()));
        assert!(!is_table(&[code[..60].to_vec(), [0, 18, 1, 15].repeat(5)].concat()));
        assert!(is_table(&[0, 18, 1, 15].repeat(1_000)));
        let long: Vec<Code> = (0..5_000u32).map(|i| (i.wrapping_mul(i + 7) >> 3) as u8 % 29).collect();
        assert!(!is_table(&long));
        assert!(!is_table(&[[0, 18, 1, 15].repeat(200), long].concat()));
    }

    /// Every place of every period.
    fn is_row_the_naive_way(codes: &[Code]) -> bool {
        let n = codes.len();
        let needed = (n as f64 * TABLE_SHARE).ceil() as usize;
        let mut in_row = vec![false; n];
        let mut covered = 0;
        for period in 1..=MAX_PERIOD.min(n / MIN_REPEATS) {
            let mut start = 0; // of the run of positions that equal the one a period before
            for i in period..=n {
                if i < n && codes[i] == codes[i - period] {
                    continue;
                }
                // codes[start..i] repeats with this period
                if i - start >= period * MIN_REPEATS {
                    for flag in &mut in_row[start..i] {
                        covered += usize::from(!*flag);
                        *flag = true;
                    }
                }
                start = i + 1 - period;
            }
            if covered >= needed {
                return true;
            }
        }
        false
    }

    proptest! {
        #![proptest_config(crate::cases(256))]

        #[test]
        fn rows_are_what_they_are_the_naive_way(
            parts in prop::collection::vec((prop::collection::vec(0u8..4, 1..12), 1usize..9), 0..12),
        ) {
            let codes: Vec<Code> = parts.iter().flat_map(|(pattern, n)| pattern.repeat(*n)).collect();
            prop_assert_eq!(is_row(&codes), is_row_the_naive_way(&codes));
        }

        #[test]
        fn every_part_of_a_table_all_over_is_a_table(
            pattern in prop::collection::vec(0u8..4, 1..9), n in 8usize..30,
            before in prop::collection::vec(0u8..4, 0..20), after in prop::collection::vec(0u8..4, 0..20),
            least in 20usize..60,
        ) {
            let codes = [before, pattern.repeat(n), after].concat();
            if is_table_all_over(&codes, least) {
                for start in 0..codes.len() {
                    for end in start + least..codes.len() + 1 {
                        prop_assert!(is_table(&codes[start..end]), "{}..{} of {:?}", start, end, codes);
                    }
                }
            }
        }
    }

    #[test]
    fn a_long_row_is_a_table_all_over_and_one_with_much_behind_it_is_not() {
        assert!(is_table_all_over(&[1, 2, 3].repeat(30), 50));
        assert!(is_table_all_over(&[[1, 2, 3].repeat(30), (9..29).collect()].concat(), 50));
        assert!(!is_table_all_over(&[[1, 2, 3].repeat(30), (9..30).collect()].concat(), 50));
        assert!(!is_table_all_over(&[], 50));
    }
}
