//! The texts of windows, and which windows are plain: those with few different codes, which only their text tells apart.

use dupi_grammars::token::{Code, varies};

use super::{mix, rolling::BASE};

/// Calls `each(window, text, is_plain)` for each window of `k` tokens: `text` is a hash of it, and it is plain if it has
/// at most `max` different codes.
pub(super) fn texts(codes: &[Code], symbols: &[u32], k: usize, max: usize, mut each: impl FnMut(usize, u64, bool)) {
    if k == 0 || codes.len() < k {
        return;
    }
    let top = (1..k).fold(1u64, |power, _| power.wrapping_mul(BASE));
    let mut texts = Texts::new(codes, symbols);
    let mut leaving = Texts::new(codes, symbols);
    let mut counts = [0u32; 256];
    let (mut different, mut hash) = (0, 0u64);
    for (i, &code) in codes.iter().enumerate() {
        let count = &mut counts[code as usize];
        different += usize::from(*count == 0);
        *count += 1;
        hash = hash.wrapping_mul(BASE).wrapping_add(texts.next());
        let Some(start) = (i + 1).checked_sub(k) else { continue };
        each(start, mix(hash), different <= max);
        hash = hash.wrapping_sub(leaving.next().wrapping_mul(top));
        let count = &mut counts[codes[start] as usize];
        *count -= 1;
        different -= usize::from(*count == 0);
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
