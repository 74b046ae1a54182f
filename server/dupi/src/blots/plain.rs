//! The texts of windows, and which windows are plain: those with few different codes and those that repeat one pattern,
//! which only their text tells apart.

use dupi_grammars::token::{Code, varies};

use super::{PLAIN_WINDOW, mix, rolling::BASE};

/// Calls `each(window, text, is_plain)` for each window of `k` tokens: `text` is a hash of it, and it is plain if it has
/// at most `max` different codes or repeats one pattern. Shorter windows than the runs' own never count as repeating: a
/// run of such windows need not repeat anything.
pub(super) fn texts(codes: &[Code], symbols: &[u32], k: usize, max: usize, mut each: impl FnMut(usize, u64, bool)) {
    if k == 0 || codes.len() < k {
        return;
    }
    let rows_count = k >= PLAIN_WINDOW;
    let mut rows = Rows::default();
    let top = (1..k).fold(1u64, |power, _| power.wrapping_mul(BASE));
    let mut texts = Texts::new(codes, symbols);
    let mut leaving = Texts::new(codes, symbols);
    let mut different = Different::default();
    let mut hash = 0u64;
    for (i, &code) in codes.iter().enumerate() {
        different.enter(code);
        rows.enter(code);
        hash = hash.wrapping_mul(BASE).wrapping_add(texts.next());
        let Some(start) = (i + 1).checked_sub(k) else { continue };
        each(start, mix(hash), different.n <= max || (rows_count && rows.fill(k)));
        hash = hash.wrapping_sub(leaving.next().wrapping_mul(top));
        different.leave(codes[start]);
    }
}

/// Has each window of `k` tokens at most `max` different codes, or one pattern that it repeats?
pub(super) fn is_all_over(codes: &[Code], k: usize, max: usize) -> bool {
    let (mut different, mut rows) = (Different::default(), Rows::default());
    codes.iter().enumerate().all(|(i, &code)| {
        different.enter(code);
        rows.enter(code);
        if let Some(start) = i.checked_sub(k) {
            different.leave(codes[start]);
        }
        let is_window = i + 1 >= k || i + 1 == codes.len();
        !is_window || different.n <= max || rows.fill(k)
    })
}

/// The longest pattern, in tokens, that makes a window of [`PLAIN_WINDOW`] tokens plain: it stands there twice.
const MAX_PERIOD: usize = PLAIN_WINDOW / 2;

/// For each length of a pattern: how many of the last tokens equal the one that stands so far before them.
struct Rows {
    lengths: [u8; MAX_PERIOD],
    /// The last codes, the newest first.
    last: [u16; MAX_PERIOD],
}

impl Default for Rows {
    fn default() -> Rows {
        Rows { lengths: [0; MAX_PERIOD], last: [u16::MAX; MAX_PERIOD] }
    }
}

impl Rows {
    fn enter(&mut self, code: Code) {
        for (length, &before) in self.lengths.iter_mut().zip(&self.last) {
            *length = if before == u16::from(code) { length.saturating_add(1) } else { 0 };
        }
        self.last.copy_within(..MAX_PERIOD - 1, 1);
        self.last[0] = u16::from(code);
    }

    /// Do the last `k` tokens repeat one pattern?
    fn fill(&self, k: usize) -> bool {
        self.lengths.iter().enumerate().any(|(i, &length)| usize::from(length) + i + 1 >= k)
    }
}

/// How many different codes a window has.
struct Different {
    counts: [u32; 256],
    n: usize,
}

impl Default for Different {
    fn default() -> Different {
        Different { counts: [0; 256], n: 0 }
    }
}

impl Different {
    fn enter(&mut self, code: Code) {
        let count = &mut self.counts[code as usize];
        self.n += usize::from(*count == 0);
        *count += 1;
    }

    fn leave(&mut self, code: Code) {
        let count = &mut self.counts[code as usize];
        *count -= 1;
        self.n -= usize::from(*count == 0);
    }
}

/// A number for the text of one token after the other.
struct Texts<'a> {
    codes: std::slice::Iter<'a, Code>,
    symbols: std::slice::Iter<'a, u32>,
}

impl Texts<'_> {
    fn new<'a>(codes: &'a [Code], symbols: &'a [u32]) -> Texts<'a> {
        Texts { codes: codes.iter(), symbols: symbols.iter() }
    }

    fn next(&mut self) -> u64 {
        let code = self.codes.next().copied().unwrap_or_default();
        let symbol = if varies(code) { self.symbols.next().copied().unwrap_or_default() } else { 0 };
        mix((u64::from(symbol) << 8 | u64::from(code)) + 1)
    }
}
