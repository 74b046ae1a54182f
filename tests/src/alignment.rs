//! How much two sequences have in common, by the shortest edit script (Myers 1986).
//!
//! Shares nothing with the engine, which it is a measure for.

/// The length of the longest common subsequence, if it has at least `least` elements.
///
/// Takes time proportional to the elements that are not in common, so unlike sequences are given up early.
pub fn common<T: PartialEq>(a: &[T], b: &[T], least: usize) -> Option<usize> {
    let (n, m) = (a.len() as isize, b.len() as isize);
    let most = n + m - 2 * least as isize;
    if least > a.len().min(b.len()) || most < 0 {
        return None;
    }
    // The furthest reach in `a` on each diagonal, from `-most - 1` on.
    let mut reach = vec![0isize; 2 * most as usize + 3];
    let at = |diagonal: isize| (diagonal + most + 1) as usize;
    for edits in 0..=most {
        for diagonal in (-edits..=edits).step_by(2) {
            // Outside of both sequences nothing is reached.
            if diagonal > n || -diagonal > m {
                continue;
            }
            let down = diagonal == -edits || (diagonal != edits && reach[at(diagonal - 1)] < reach[at(diagonal + 1)]);
            let mut x = if down { reach[at(diagonal + 1)] } else { reach[at(diagonal - 1)] + 1 };
            let mut y = x - diagonal;
            while x < n && y < m && x >= 0 && y >= 0 && a[x as usize] == b[y as usize] {
                (x, y) = (x + 1, y + 1);
            }
            reach[at(diagonal)] = x;
            if x >= n && y >= m {
                return Some(((n + m - edits) / 2) as usize);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the table that every textbook has.
    fn naive(a: &[u8], b: &[u8]) -> usize {
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

    #[test]
    fn it_is_the_longest_common_subsequence() {
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..2_000 {
            let mut draw = || (0..rng.usize(0..14)).map(|_| rng.u8(0..4)).collect::<Vec<u8>>();
            let (a, b) = (draw(), draw());
            let expected = naive(&a, &b);
            for least in 0..=expected + 2 {
                assert_eq!(common(&a, &b, least), (least <= expected).then_some(expected), "{a:?} {b:?} {least}");
            }
        }
    }
}
