//! The ancestor's blotters: windows as the XOR of their tokens, whole or even and odd apart.

use dupi_grammars::token::Code;

use super::{Windows, mix, values};

pub(super) struct Circular;

impl Windows for Circular {
    fn blots(&self, tokens: &[Code], k: usize, out: &mut Vec<u64>) {
        if k == 0 || tokens.len() < k {
            return;
        }
        let values = values();
        let mut blot = tokens[..k - 1].iter().fold(0u64, |blot, &t| blot ^ values[t as usize]);
        for i in k - 1..tokens.len() {
            blot ^= values[tokens[i] as usize];
            out.push(blot);
            blot ^= values[tokens[i + 1 - k] as usize];
        }
    }
}

pub(super) struct Interleaved;

impl Windows for Interleaved {
    fn blots(&self, tokens: &[Code], k: usize, out: &mut Vec<u64>) {
        if k == 0 || tokens.len() < k {
            return;
        }
        let values = values();
        // By the parity of the position in the file; which of the two comes first depends on where the window starts.
        let mut halves = [0u64; 2];
        for (i, &t) in tokens[..k - 1].iter().enumerate() {
            halves[i % 2] ^= values[t as usize];
        }
        for i in k - 1..tokens.len() {
            halves[i % 2] ^= values[tokens[i] as usize];
            let start = i + 1 - k;
            out.push(halves[start % 2] ^ mix(halves[(start + 1) % 2]));
            halves[start % 2] ^= values[tokens[start] as usize];
        }
    }
}
