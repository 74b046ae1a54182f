//! Winnowing: of each `w` consecutive blots at least one is kept, and which one depends on those `w` alone.

/// Calls `keep(position)` for each position kept, in order: the least blot of each window of `w`,
/// the rightmost of equals, each position once. With fewer than `w` blots, the least of them all.
pub fn winnow(blots: &[u64], w: usize, mut keep: impl FnMut(usize)) {
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
    keep(min);
    for end in w + 1..=blots.len() {
        let start = end - w;
        let last = end - 1;
        if min < start {
            min = least(start, end);
            keep(min);
        } else if blots[last] < blots[min] {
            // Equal blots keep the one that was kept already: the blot that is shared is the same, and fewer are stored.
            min = last;
            keep(min);
        }
    }
}
