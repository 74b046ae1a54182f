//! Rows: where a pattern comes twice or more in a row, in a sequence and in the documents of a search.
//!
//! A row is a maximal repetition: it cannot be made longer on either side, so it is the same wherever one looks for it
//! from, and nothing that stands before or behind it changes it. Knows neither tokens nor units.

use std::ops::Range;

use rayon::prelude::*;

use crate::class::Fragment;

/// How often a pattern must come in a row.
pub const MIN_ROUNDS: usize = 2;

/// Sequences of up to this many elements are searched by trying every period: for most lists of units this is all.
const SHORT: usize = 32;

/// A maximal repetition in a sequence: elements `range`, of which each equals the one `period` before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repetition {
    pub range: Range<usize>,
    /// The least one.
    pub period: usize,
}

/// All maximal repetitions of [`MIN_ROUNDS`] rounds or more, in the order of their starts.
///
/// By halves (Main and Lorentz): what crosses the middle follows from common prefixes and suffixes of the halves, so the
/// work is n log n, however often and at however many distances a pattern comes again.
pub fn repetitions(sequence: &[u64]) -> Vec<Repetition> {
    let mut found = Vec::new();
    if may_repeat(sequence) {
        search(sequence, 0..sequence.len(), &mut found);
        found.sort_by_key(|row| (row.range.start, row.range.end, row.period));
        // A multiple of a period is none of its own.
        found.dedup_by(|next, row| next.range == row.range);
    }
    found
}

/// Does an element come often enough?
fn may_repeat(sequence: &[u64]) -> bool {
    if sequence.len() < MIN_ROUNDS {
        return false;
    }
    let mut sorted = sequence.to_vec();
    sorted.sort_unstable();
    sorted.windows(MIN_ROUNDS).any(|equal| equal[0] == equal[MIN_ROUNDS - 1])
}

fn search(sequence: &[u64], within: Range<usize>, found: &mut Vec<Repetition>) {
    let mut note = |range: Range<usize>, period: usize| {
        let goes_on = |i: usize| i + period < sequence.len() && sequence[i] == sequence[i + period];
        // What goes on beyond this part crosses the middle of a larger one, and is found there.
        let is_longer = (range.start > 0 && goes_on(range.start - 1))
            || (range.end < sequence.len() && goes_on(range.end - period));
        if range.len() >= period * MIN_ROUNDS && !is_longer {
            found.push(Repetition { range, period });
        }
    };
    if within.len() <= SHORT {
        for period in 1..=within.len() / MIN_ROUNDS {
            let mut start = within.start;
            for i in within.start + period..=within.end {
                if i == within.end || sequence[i] != sequence[i - period] {
                    note(start..i, period);
                    start = i + 1 - period;
                }
            }
        }
        return;
    }
    let middle = within.start + within.len() / 2;
    let (left, right, all) =
        (&sequence[within.start..middle], &sequence[middle..within.end], &sequence[within.clone()]);
    // How much of the right half stands from each place on, and how much of the left half up to each place.
    let ahead = common_prefixes(right.iter(), all.iter());
    let back = common_prefixes(left.iter().rev(), all.iter().rev());
    let n = left.len();
    for period in 1..=n {
        let before = if period < n { back[all.len() - n + period] } else { 0 };
        note(middle - period - before..middle + ahead[n - period], period);
    }
    for period in 1..right.len() {
        note(middle - back[all.len() - n - period]..middle + period + ahead[n + period], period);
    }
    search(sequence, within.start..middle, found);
    search(sequence, middle..within.end, found);
}

/// For each place of `text`, the length of the start of `pattern` that is found there (the Z algorithm).
fn common_prefixes<'a>(
    pattern: impl ExactSizeIterator<Item = &'a u64>,
    text: impl ExactSizeIterator<Item = &'a u64>,
) -> Vec<usize> {
    let n = pattern.len();
    let both: Vec<u64> = pattern.chain(text).copied().collect();
    let mut lengths = vec![0; both.len()];
    let mut last = 0..0;
    for i in 1..both.len() {
        // Nothing reaches over the end of the pattern, nor is longer than it.
        let (end, most) = if i < n { (n, n - i) } else { (both.len(), n) };
        let mut length = if i < last.end { lengths[i - last.start].min(last.end - i).min(most) } else { 0 };
        while length < most && i + length < end && both[length] == both[i + length] {
            length += 1;
        }
        lengths[i] = length;
        if i + length > last.end {
            last = i..i + length;
        }
    }
    lengths.split_off(n)
}

/// A row in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub fragment: Fragment,
    /// The tokens of two rounds.
    pub two_rounds: u32,
}

/// Rows, and of which of them each element is part.
#[derive(Default)]
pub struct Rows {
    rows: Vec<Row>,
    /// Elements with the rows that they are part of. One is part of few, since rows that share two rounds are one.
    parts: Vec<(u32, u32)>,
}

impl Rows {
    /// Adds a row that has these elements as parts.
    pub fn add(&mut self, row: Row, elements: impl Iterator<Item = u32>) {
        let number = self.rows.len() as u32;
        self.rows.push(row);
        self.parts.extend(elements.map(|element| (element, number)));
    }

    /// Adds rows whose elements are counted from `element` on.
    pub fn extend(&mut self, others: Rows, element: u32) {
        let number = self.rows.len() as u32;
        self.rows.extend(others.rows);
        self.parts.extend(others.parts.into_iter().map(|(part, row)| (part + element, row + number)));
    }

    /// To be called when all rows are there.
    pub fn sort(&mut self) {
        self.parts.par_sort_unstable();
    }

    /// The row in which a fragment lies that starts with an element and is a row itself, of two rounds or more.
    pub fn around(&self, element: u32, fragment: &Fragment) -> Option<&Row> {
        let from = self.parts.partition_point(|(part, _)| *part < element);
        let rows = self.parts[from..].iter().take_while(|(part, _)| *part == element);
        let mut rows = rows.map(|(_, row)| &self.rows[*row as usize]);
        rows.find(|row| row.fragment.contains(fragment) && fragment.len() >= row.two_rounds)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Every period at every place.
    fn naive(sequence: &[u64]) -> Vec<Repetition> {
        let n = sequence.len();
        let mut found: Vec<Repetition> = Vec::new();
        for period in 1..=n / MIN_ROUNDS {
            for start in 0..n {
                let extends = |i: usize| i + period < n && sequence[i] == sequence[i + period];
                let length = (start..n).take_while(|&i| extends(i)).count() + period;
                let row = Repetition { range: start..start + length, period };
                if length >= period * MIN_ROUNDS
                    && !(start > 0 && extends(start - 1))
                    && !found.iter().any(|found| found.range == row.range)
                {
                    found.push(row);
                }
            }
        }
        found.sort_by_key(|row| (row.range.start, row.range.end));
        found
    }

    fn fragment(start: usize, end: usize) -> Fragment {
        Fragment { document: 0, start: start as u32, end: end as u32 }
    }

    proptest! {
        #![proptest_config(crate::cases(512))]

        #[test]
        fn repetitions_are_those_of_the_naive_way(
            parts in prop::collection::vec((prop::collection::vec(0u64..3, 1..9), 1usize..12), 0..12),
        ) {
            let sequence: Vec<u64> = parts.iter().flat_map(|(pattern, n)| pattern.repeat(*n)).collect();
            prop_assert_eq!(repetitions(&sequence), naive(&sequence));
        }

        #[test]
        fn what_lies_in_a_row_is_found_in_it(
            parts in prop::collection::vec((prop::collection::vec(0u64..3, 1..5), 1usize..6), 0..6),
        ) {
            let sequence: Vec<u64> = parts.iter().flat_map(|(pattern, n)| pattern.repeat(*n)).collect();
            let found = repetitions(&sequence);
            let mut rows = Rows::default();
            for Repetition { range, period } in &found {
                let row = Row { fragment: fragment(range.start, range.end), two_rounds: 2 * *period as u32 };
                rows.add(row, range.clone().map(|element| element as u32));
            }
            rows.sort();
            for start in 0..sequence.len() {
                for end in start + 1..=sequence.len() {
                    let inside = |row: &Repetition| {
                        row.range.start <= start && end <= row.range.end && 2 * row.period <= end - start
                    };
                    prop_assert_eq!(rows.around(start as u32, &fragment(start, end)).is_some(), found.iter().any(inside), "{}..{}", start, end);
                }
            }
        }
    }

    #[test]
    fn a_row_of_a_hundred_thousand_is_one_repetition() {
        let sequence = vec![7; 100_000];
        assert_eq!(repetitions(&sequence), [Repetition { range: 0..100_000, period: 1 }]);
    }
}
