//! Winnowing: of each `w` consecutive blots at least one is kept, and which one depends on those `w` alone.

/// Calls `keep(position, run_end)` for each position kept, in order: the least blot of each run of `w`,
/// the rightmost of equals, each position once. With fewer than `w` blots, the least of them all.
/// `run_end` is the last position of the first run in which this blot is the least.
pub fn winnow(blots: &[u64], w: usize, mut keep: impl FnMut(usize, usize)) {
    if blots.is_empty() {
        return;
    }
    let w = w.clamp(1, blots.len());
    let least = |from: usize, to: usize| {
        let mut min = from;
        for i in from + 1..to {
            if blots[i] <= blots[min] {
                min = i;
            }
        }
        min
    };
    let mut min = least(0, w);
    keep(min, w - 1);
    for end in w + 1..=blots.len() {
        let start = end - w;
        let last = end - 1;
        if min < start {
            min = least(start, end);
            keep(min, last);
        } else if blots[last] < blots[min] {
            // Equal blots keep the one that was kept already: the blot that is shared is the same, and fewer are stored.
            min = last;
            keep(min, last);
        }
    }
}
