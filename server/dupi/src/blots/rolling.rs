//! The order-aware blotter: a polynomial over the tokens' values, modulo 2⁶⁴, finalized by a mixer.

use dupi_grammars::token::Code;

use super::{Windows, mix, values};

/// Odd, so that it has an inverse modulo 2⁶⁴ and no token's weight ever vanishes.
pub(super) const BASE: u64 = 0x5851_f42d_4c95_7f2d;

pub(super) struct Rolling;

impl Windows for Rolling {
    fn blots(&self, tokens: &[Code], k: usize, out: &mut Vec<u64>) {
        if k == 0 || tokens.len() < k {
            return;
        }
        let values = values();
        let top = (1..k).fold(1u64, |power, _| power.wrapping_mul(BASE));
        let mut hash = tokens[..k - 1].iter().fold(0u64, |h, &t| h.wrapping_mul(BASE).wrapping_add(values[t as usize]));
        out.reserve(tokens.len() - k + 1);
        for i in k - 1..tokens.len() {
            hash = hash.wrapping_mul(BASE).wrapping_add(values[tokens[i] as usize]);
            out.push(mix(hash));
            hash = hash.wrapping_sub(values[tokens[i + 1 - k] as usize].wrapping_mul(top));
        }
    }
}
