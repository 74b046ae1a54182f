//! Blots: fingerprints of windows of `k` tokens, and winnowing, which picks the few that are kept.
//!
//! A window with few different codes, or with one short pattern over and over, is *plain*: lists of constants, of fields,
//! of simple calls. Their shape says nothing (one such window stands in 6 000 files of Linux), so a plain window is told
//! by its text, and others are kept before it.
//!
//! Guarantee: two runs of `k + w - 1` tokens or more with the same text share a kept blot, wherever they stand; and so do
//! two with the same codes, unless the runs are plain ([`is_plain`]). Of each `w` consecutive windows of such runs
//! a shared one is kept, or a plain one. If the text is the same, too, the texts that go with the shared blots are equal.
//! Knows tokens only as codes and symbols; knows no document.

mod plain;
mod rolling;
mod winnow;
mod xor;

pub use winnow::winnow;

use dupi_grammars::token::Code;

use crate::class::named;
use crate::settings::Settings;

named! {
    /// How a window becomes a number. All of them are blind to names; only `Rolling` sees the order of tokens.
    Blotter {
        /// A rolling hash that knows the order: the default.
        Rolling = "rolling",
        /// The ancestor's: the XOR of the tokens. Equal tokens cancel, order is lost, so most of its candidates are false.
        Circular = "circular",
        /// The XOR of the even and of the odd tokens apart: a little order is kept.
        Interleaved = "interleaved",
    }
}

impl Blotter {
    fn windows(self) -> &'static dyn Windows {
        match self {
            Blotter::Rolling => &rolling::Rolling,
            Blotter::Circular => &xor::Circular,
            Blotter::Interleaved => &xor::Interleaved,
        }
    }
}

/// A way from windows to numbers.
trait Windows {
    /// Appends one blot for each window of `k` of the `tokens`: `tokens.len() - k + 1` of them, or none.
    fn blots(&self, tokens: &[Code], k: usize, out: &mut Vec<u64>);
}

/// Window sizes, and how windows become numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blotting {
    pub blotter: Blotter,
    /// Tokens in a window.
    pub k: usize,
    /// Consecutive windows of which at least one is kept.
    pub w: usize,
}

impl Blotting {
    /// Good values where copies of 50 tokens and more are looked for. What is common to two near copies is shorter than
    /// that, and they must share one of these windows: with 28/23, a twentieth of them does not. A smaller `k` with a
    /// larger `w` stores fewer blots that tell less apart.
    pub const K: usize = 20;
    pub const W: usize = 20;

    /// The blots that these settings need.
    pub fn of(settings: &Settings) -> Blotting {
        match settings.windows {
            Some((k, w)) => Blotting { blotter: settings.blotter, k, w },
            None => Blotting::for_runs_of(settings.floor(), settings.blotter),
        }
    }

    /// The sparsest blots that miss no run of `min_tokens`.
    pub fn for_runs_of(min_tokens: u32, blotter: Blotter) -> Blotting {
        let min_tokens = min_tokens.max(1) as usize;
        if min_tokens >= Blotting::K + Blotting::W - 1 {
            return Blotting { blotter, k: Blotting::K, w: Blotting::W };
        }
        let k = (min_tokens * 2).div_ceil(3);
        Blotting { blotter, k, w: min_tokens + 1 - k }
    }

    /// The least number of tokens of which every shared run has a shared blot.
    pub fn guaranteed(&self) -> usize {
        self.k + self.w - 1
    }

    /// How many different codes a window may have that is plain by them. As many shorter windows as cover one of
    /// [`PLAIN_WINDOW`] tokens have no more than [`MAX_PLAIN`] together, so a run that is not plain has a window that is
    /// not.
    fn max_plain(&self) -> usize {
        MAX_PLAIN / PLAIN_WINDOW.div_ceil(self.k.max(1))
    }

    /// Calls `each` for each window, kept or not, with its start and its blot.
    pub fn all(&self, codes: &[Code], symbols: &[u32], scratch: &mut Vec<u64>, mut each: impl FnMut(usize, u64)) {
        self.read(codes, symbols, scratch);
        scratch.iter().enumerate().for_each(|(window, blot)| each(window, blot & !TEXT));
    }

    /// Calls `keep` for each blot that winnowing keeps, of tokens with these codes and the symbols of those that vary.
    /// `scratch` is only reused memory.
    pub fn kept(&self, codes: &[Code], symbols: &[u32], scratch: &mut Vec<u64>, mut keep: impl FnMut(Kept)) {
        self.read(codes, symbols, scratch);
        winnow(scratch, self.w, |position, run_end| {
            let (blot, text) = (scratch[position] & !TEXT, (scratch[position] & TEXT) as u8);
            keep(Kept { position: position as u32, run_end: run_end as u32, blot, text });
        });
    }

    /// Fills `blots` with those of all windows, something of their texts in the lowest bits.
    fn read(&self, codes: &[Code], symbols: &[u32], blots: &mut Vec<u64>) {
        blots.clear();
        self.blotter.windows().blots(codes, self.k, blots);
        plain::texts(codes, symbols, self.k, self.max_plain(), |window, text, is_plain| {
            // Between windows of one shape the text decides which is kept: the same one wherever this text stands.
            let shape = if is_plain { text | PLAIN } else { blots[window] >> 1 };
            blots[window] = shape & !TEXT | (1 + text % TEXT);
        });
    }
}

/// A run is plain if each of its windows of so many tokens has at most [`MAX_PLAIN`] different codes or repeats one
/// pattern.
///
/// Both are constants, whatever the windows of a blotting are: what is judged must not depend on the least number of
/// tokens that somebody asks for. With one code per four tokens functions of calls and assignments are plain, and
/// renamed copies of them are lost; with one per seven no more is found.
const PLAIN_WINDOW: usize = 20;
const MAX_PLAIN: usize = 4;

/// Is a run of these codes plain, so that another one is found only if its text is the same?
pub fn is_plain(codes: &[Code]) -> bool {
    plain::is_all_over(codes, PLAIN_WINDOW, MAX_PLAIN)
}

/// Set in the blots of plain windows only: the largest bit, so that winnowing keeps any other window before them.
const PLAIN: u64 = 1 << 63;

/// The lowest bits of a blot, while it is winnowed: something of its text.
const TEXT: u64 = N_TEXTS as u64 - 1;
/// One more than the number of texts that are told apart beside a blot, a power of two: where only equal text counts,
/// most documents of the same shape need not be looked at. Twice as many would cost a bit more for each post.
pub const N_TEXTS: u32 = 16;

/// A blot that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Where its window starts.
    pub position: u32,
    /// The last window of the first `w` in a row of which this one is the least.
    pub run_end: u32,
    pub blot: u64,
    /// Something of the text of its window, from 1 to below [`N_TEXTS`].
    pub text: u8,
}

impl Kept {
    pub fn is_plain(&self) -> bool {
        self.blot & PLAIN != 0
    }
}

/// The random number that stands for a token.
fn value(code: Code) -> u64 {
    mix(u64::from(code).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Spreads the bits of a number over all of it (the finalizer of splitmix64).
pub fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn values() -> [u64; 256] {
    std::array::from_fn(|code| value(code as Code))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use dupi_grammars::token::FIRST_FIXED;
    use proptest::prelude::*;

    use super::*;

    /// What is kept of tokens without names: their codes are their text.
    fn kept(blotting: Blotting, tokens: &[Code]) -> Vec<(usize, u64)> {
        let mut out = Vec::new();
        blotting.kept(tokens, &[], &mut Vec::new(), |kept| out.push((kept.position as usize, kept.blot)));
        out
    }

    proptest! {
        #![proptest_config(crate::cases(512))]

        #[test]
        fn runs_of_k_plus_w_minus_1_tokens_share_a_kept_blot(
            alphabet in 1u8..6, before in 0usize..80, other in 0usize..80, after in 0usize..80,
            k in 1usize..12, w in 1usize..12, blotter in 0usize..3, seed in any::<u64>(),
        ) {
            let blotting = Blotting { blotter: Blotter::ALL[blotter], k, w };
            let mut state = seed;
            let mut random = |n: usize| -> Vec<Code> {
                (0..n).map(|_| { state = mix(state.wrapping_add(0x9e37_79b9)); FIRST_FIXED + (state % u64::from(alphabet)) as Code }).collect()
            };
            let run = random(k + w - 1);
            let a = [random(before), run.clone(), random(after)].concat();
            let b = [random(other), run, random(before)].concat();
            let inside = |tokens: &[Code], at: usize| -> HashSet<u64> {
                kept(blotting, tokens).into_iter()
                    .filter(|(p, _)| *p >= at && *p < at + w).map(|(_, blot)| blot).collect()
            };
            let (of_a, of_b) = (inside(&a, before), inside(&b, other));
            prop_assert!(of_a.intersection(&of_b).next().is_some());
        }

        #[test]
        fn a_window_has_the_same_blot_wherever_it_stands(
            window in prop::collection::vec(0u8..9, 7), before in prop::collection::vec(0u8..9, 0..20), blotter in 0usize..3,
        ) {
            let windows = Blotter::ALL[blotter].windows();
            let (mut alone, mut placed) = (Vec::new(), Vec::new());
            windows.blots(&window, 7, &mut alone);
            windows.blots(&[before.clone(), window.clone(), before.clone()].concat(), 7, &mut placed);
            // The interleaved blotter counts even and odd within the window, so it too is blind to where that stands.
            prop_assert_eq!(alone[0], placed[before.len()]);
        }
    }

    #[test]
    fn only_the_rolling_blotter_sees_order() {
        let (ab, ba) = ([1, 2, 3, 4, 5, 6, 7, 8], [8, 7, 6, 5, 4, 3, 2, 1]);
        for &blotter in Blotter::ALL {
            let (mut a, mut b) = (Vec::new(), Vec::new());
            blotter.windows().blots(&ab, 8, &mut a);
            blotter.windows().blots(&ba, 8, &mut b);
            assert_eq!(a == b, blotter == Blotter::Circular, "{}", blotter.name());
        }
    }

    #[test]
    fn small_minimums_get_small_windows_that_still_miss_nothing() {
        for min in 1..200 {
            let blotting = Blotting::for_runs_of(min, Blotter::Rolling);
            assert!(blotting.k >= 1 && blotting.w >= 1);
            assert!(blotting.k + blotting.w - 1 <= min as usize, "{min}: {blotting:?}");
        }
    }
}
