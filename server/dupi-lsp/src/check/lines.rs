//! What became of the lines of a text. Line ends do not count: a checkout may have others than what is stored.

use std::collections::BTreeSet;
use std::ops::Range;

use dupi::text::with_unix_line_ends as unix;
use imara_diff::{Algorithm, Diff, InternedInput};

/// Are two texts the same but for line ends?
pub fn is_same_text(a: &[u8], b: &[u8]) -> bool {
    a == b || unix(a) == unix(b)
}

/// What became of the lines of a file.
pub struct Lines {
    /// For each line as it is, which one it was.
    pub was: Vec<Option<u32>>,
    /// For each line as it was, whether it still is.
    stays: Vec<bool>,
    /// Lines as they are before which something was taken away.
    cut: BTreeSet<u32>,
    /// Lines as they were before which something was put.
    grown: BTreeSet<u32>,
}

impl Lines {
    pub fn new(before: &[u8], now: &[u8]) -> Lines {
        let (before, now) = (unix(before), unix(now));
        let input = InternedInput::new(&*before, &*now);
        let mut diff = Diff::compute(Algorithm::Histogram, &input);
        diff.postprocess_no_heuristic(&input);
        let (n_before, n_now) = (input.before.len(), input.after.len());
        let stays: Vec<bool> = (0..n_before as u32).map(|line| !diff.is_removed(line)).collect();
        let mut kept = (0..n_before as u32).filter(|&line| stays[line as usize]);
        let was = (0..n_now as u32).map(|line| if diff.is_added(line) { None } else { kept.next() }).collect();
        let cut = diff.hunks().filter(|hunk| !hunk.before.is_empty()).map(|hunk| hunk.after.start).collect();
        let grown = diff.hunks().filter(|hunk| !hunk.after.is_empty()).map(|hunk| hunk.before.start).collect();
        Lines { was, stays, cut, grown }
    }

    /// What became of these lines as they were: whether all of them and nothing else is there, and how many are.
    pub fn fate(&self, lines: &Range<u32>) -> (bool, usize) {
        let n_kept = lines.clone().filter(|&line| self.stays.get(line as usize) == Some(&true)).count();
        (n_kept == lines.len() && self.grown.range(lines.start + 1..lines.end).next().is_none(), n_kept)
    }

    /// Does the change touch these lines as they are?
    pub fn touches(&self, lines: &Range<u32>) -> bool {
        let added = |line: u32| self.was.get(line as usize).is_some_and(Option::is_none);
        lines.clone().any(added) || self.cut.range(lines.start + 1..lines.end).next().is_some()
    }
}
