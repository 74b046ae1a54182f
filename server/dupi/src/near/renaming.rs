//! The renaming that explains most of two aligned sequences of tokens.

use std::cmp::Reverse;

use dupi_grammars::token::IDENTIFIER;

use super::bodies::code_of;
use crate::numbers::Numbers;

/// A one-to-one map of names.
pub struct Renaming(Numbers);

impl Renaming {
    /// The map that most of the aligned names ask for.
    pub fn of(aligned: impl Iterator<Item = (u32, u32)>) -> Renaming {
        let names: Vec<(u32, u32)> = aligned.filter(|&(from, _)| code_of(from) == IDENTIFIER).collect();
        let mut numbers = Numbers::<u64>::default();
        numbers.clear(names.len());
        let mut votes: Vec<(usize, (u32, u32))> = Vec::new();
        for (from, to) in names {
            let pair = u64::from(from) << 32 | u64::from(to);
            let number = numbers.get(pair).unwrap_or_else(|| {
                numbers.set(pair, votes.len() as u32);
                votes.push((0, (from, to)));
                votes.len() as u32 - 1
            });
            votes[number as usize].0 += 1;
        }
        votes.sort_unstable_by_key(|&(n, (from, to))| (Reverse(n), from != to, from, to));
        let (mut there, mut back) = (Numbers::default(), Numbers::default());
        there.clear(votes.len());
        back.clear(votes.len());
        for (_, (from, to)) in votes {
            if there.get(from).is_none() && back.get(to).is_none() {
                there.set(from, to);
                back.set(to, from);
            }
        }
        Renaming(there)
    }

    /// What becomes of a token.
    pub fn apply(&self, token: u32) -> u32 {
        if code_of(token) == IDENTIFIER { self.0.get(token).unwrap_or(token) } else { token }
    }
}
