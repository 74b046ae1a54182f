//! Longest common subsequences of two sequences of numbers, by bit vectors: 64 places of the one at a step.

use crate::numbers::Numbers;

/// One sequence, made ready to be compared with others. Its memory is reused.
#[derive(Default)]
pub struct Pattern {
    sequence: Vec<u32>,
    words: usize,
    /// The row of each number.
    row_of: Numbers,
    /// One row of bits for each different number: the places at which it stands.
    rows: Vec<u64>,
    counts: Vec<u32>,
    left: Vec<u32>,
    /// The rows of the numbers in the middle of the other sequence, [`NO_ROW`] for those that this one has not.
    other: Vec<u32>,
    state: Vec<u64>,
    /// The states after each place of the other sequence, for those who want to know what is common.
    history: Vec<u64>,
}

const NO_ROW: u32 = u32::MAX;

/// After how many numbers of the other sequence it is asked whether enough can still be common.
const STEPS: usize = 16;

/// How far apart two places can be that correspond in a common subsequence of some length: the one sequence has so many
/// numbers more than that, and the other one so many.
#[derive(Clone, Copy)]
struct Band {
    own: usize,
    other: usize,
}

/// The parts of two sequences between what they start with alike and end with alike.
struct Middle {
    /// So many numbers stand before it in both.
    start: usize,
    own_end: usize,
    other_end: usize,
}

impl Middle {
    /// How far the common subsequence has grown.
    fn grown(&self, state: &[u64]) -> usize {
        let zeros: usize = state.iter().map(|bits| bits.count_zeros() as usize).sum();
        let beyond = match (state.last(), self.own_end % 64) {
            (Some(last), rest @ 1..) => (last | ((1 << rest) - 1)).count_zeros() as usize,
            _ => 0,
        };
        zeros - beyond - self.start % 64
    }
}

impl Pattern {
    /// Takes another sequence.
    pub fn set(&mut self, sequence: &[u32]) {
        self.sequence.clear();
        self.sequence.extend_from_slice(sequence);
        self.words = sequence.len().div_ceil(64);
        self.row_of.clear(sequence.len());
        self.rows.clear();
        self.counts.clear();
        for (i, &number) in sequence.iter().enumerate() {
            let row = self.row_of.get(number).unwrap_or_else(|| {
                let row = self.counts.len() as u32;
                self.row_of.set(number, row);
                self.counts.push(0);
                self.rows.resize(self.rows.len() + self.words, 0);
                row
            }) as usize;
            self.counts[row] += 1;
            self.rows[row * self.words + i / 64] |= 1 << (i % 64);
        }
    }

    pub fn len(&self) -> usize {
        self.sequence.len()
    }

    fn read(&mut self, other: &[u32], middle: &Middle) {
        self.other.clear();
        let other = &other[middle.start..middle.other_end];
        self.other.extend(other.iter().map(|&number| self.row_of.get(number).unwrap_or(NO_ROW)));
    }

    /// How many numbers of the other's middle are here, in whatever order.
    fn bag(&mut self) -> usize {
        self.left.clear();
        self.left.extend_from_slice(&self.counts);
        let mut common = 0;
        for &row in self.other.iter().filter(|row| **row != NO_ROW) {
            let left = &mut self.left[row as usize];
            common += usize::from(*left > 0);
            *left = left.saturating_sub(1);
        }
        common
    }

    fn middle(&self, other: &[u32]) -> Middle {
        let same = |(a, b): &(&u32, &u32)| a == b;
        let start = self.sequence.iter().zip(other).take_while(same).count();
        let (own_rest, other_rest) = (&self.sequence[start..], &other[start..]);
        let n_end = own_rest.iter().rev().zip(other_rest.iter().rev()).take_while(same).count();
        Middle { start, own_end: self.sequence.len() - n_end, other_end: other.len() - n_end }
    }

    /// Reads the middle of the other sequence, a number at a time (Hyyrö): a bit of the state is 0 where the common
    /// subsequence grows. Ends early if `each`, which gets the state and what is still to be read, wants that.
    /// Words outside of the band are passed over: those before it change no more, and those behind it have not changed yet,
    /// so that what is carried into them comes to nothing.
    fn step_through(&mut self, middle: &Middle, band: Band, mut each: impl FnMut(&[u64], usize) -> bool) {
        let (first, end) = (middle.start / 64, middle.own_end.div_ceil(64));
        let mut state = std::mem::take(&mut self.state);
        state.clear();
        state.resize(end - first, !0);
        // Places before the middle never grow, and what is carried beyond it never comes back.
        state[0] <<= middle.start % 64;
        for (i, &row) in (1..).zip(&self.other) {
            if row != NO_ROW {
                let from = (middle.start + (i - 1_usize).saturating_sub(band.other)) / 64 - first;
                let to = ((middle.start + i + band.own).div_ceil(64) - first).min(end - first);
                let row = &self.rows[row as usize * self.words..][first + from..first + to];
                let mut carry = false;
                for (bits, &places) in state[from..to].iter_mut().zip(row) {
                    let (sum, over) = bits.overflowing_add(*bits & places);
                    let (sum, again) = sum.overflowing_add(u64::from(carry));
                    carry = over | again;
                    *bits = sum | (*bits & !places);
                }
            }
            if !each(&state, self.other.len() - i) {
                break;
            }
        }
        self.state = state;
    }

    /// The length of the longest common subsequence, if that is `least` at least.
    pub fn common(&mut self, other: &[u32], least: usize) -> Option<usize> {
        if self.sequence.len().min(other.len()) < least {
            return None;
        }
        let middle = self.middle(other);
        let mut common = middle.start + self.sequence.len() - middle.own_end;
        if middle.start < middle.own_end && middle.start < middle.other_end {
            self.read(other, &middle);
            if common + self.bag() < least {
                return None;
            }
            let rest = least.saturating_sub(common);
            let n_own = middle.own_end - middle.start;
            let band = Band { own: n_own.saturating_sub(rest), other: self.other.len().saturating_sub(rest) };
            self.step_through(&middle, band, |state, rest| {
                !rest.is_multiple_of(STEPS) || common + middle.grown(state) + rest >= least
            });
            common += middle.grown(&self.state);
        }
        (common >= least).then_some(common)
    }

    /// A longest common subsequence, as pairs of places in the pattern and in the other sequence, in order.
    pub fn align(&mut self, other: &[u32]) -> Vec<(u32, u32)> {
        let middle = self.middle(other);
        let (own_end, other_end) = (middle.own_end as u32, middle.other_end as u32);
        let mut pairs: Vec<(u32, u32)> = (0..middle.start as u32).map(|i| (i, i)).collect();
        if middle.start < middle.own_end && middle.start < middle.other_end {
            self.read(other, &middle);
            self.align_middle(&middle, &mut pairs);
        }
        pairs.extend((own_end..self.sequence.len() as u32).zip(other_end..));
        pairs
    }

    fn align_middle(&mut self, middle: &Middle, pairs: &mut Vec<(u32, u32)>) {
        let mut history = std::mem::take(&mut self.history);
        history.clear();
        let band = Band { own: self.sequence.len(), other: self.other.len() };
        self.step_through(middle, band, |state, _| {
            history.extend_from_slice(state);
            true
        });
        let (first, words) = (middle.start / 64, self.state.len());
        // Does a common subsequence of the first `j` of the other and the first `i` here end with the `i`-th?
        let ends = |i: usize, j: usize| {
            history[(j - 1 - middle.start) * words + (i - 1) / 64 - first] & 1 << ((i - 1) % 64) == 0
        };
        let (mut i, mut j) = (middle.own_end, middle.other_end);
        let from = pairs.len();
        while i > middle.start && j > middle.start {
            if !ends(i, j) {
                i -= 1;
                continue;
            }
            j -= 1;
            if j == middle.start || !ends(i, j) {
                i -= 1;
                pairs.push((i as u32, j as u32));
            }
        }
        pairs[from..].reverse();
        self.history = history;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// By the table.
    fn naive(a: &[u32], b: &[u32]) -> usize {
        let mut row = vec![0; b.len() + 1];
        for x in a {
            let mut diagonal = 0;
            for (j, y) in b.iter().enumerate() {
                let above = row[j + 1];
                row[j + 1] = if x == y { diagonal + 1 } else { above.max(row[j]) };
                diagonal = above;
            }
        }
        row[b.len()]
    }

    proptest! {
        #![proptest_config(crate::cases(512))]

        #[test]
        fn the_longest_common_subsequence_is_that_of_the_table(
            a in prop::collection::vec(0u32..6, 0..200), b in prop::collection::vec(0u32..6, 0..200),
            start in prop::collection::vec(0u32..6, 0..100), end in prop::collection::vec(0u32..6, 0..100),
        ) {
            let [a, b] = [a, b].map(|middle| [&*start, &*middle, &*end].concat());
            let mut pattern = Pattern::default();
            pattern.set(&[9, 9, 9]);
            pattern.set(&a);
            let expected = naive(&a, &b);
            for least in [0, expected.saturating_sub(1), expected] {
                prop_assert_eq!(pattern.common(&b, least), Some(expected));
            }
            prop_assert_eq!(pattern.common(&b, expected + 1), None);
            let pairs = pattern.align(&b);
            prop_assert_eq!(pairs.len(), expected);
            prop_assert!(pairs.iter().all(|&(i, j)| a[i as usize] == b[j as usize]));
            prop_assert!(pairs.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1));
        }
    }
}
