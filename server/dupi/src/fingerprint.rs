//! Fingerprints of token ranges: by text (`exact`), by structure up to a renaming (`alpha`), and the lasting one (`id`).
//!
//! `alpha` replaces each name by the distance to its last use in the same role within the range, or by a mark if there
//! was none: two ranges have the same exactly if one is a one-to-one renaming of the other, where a name in two roles
//! counts as two names (`roles.rs`). Literals count by their class. The lasting one does not know roles: it was there
//! before them.

use dupi_grammars::Language;
use dupi_grammars::token::{Code, IDENTIFIER, varies};
use xxhash_rust::xxh3::Xxh3;

use crate::blots::mix;
use crate::document::{Document, SYMBOL_BITS};
use crate::numbers::Numbers;
use crate::roles::Roles;

/// No use before this one.
const NEVER: u32 = u32::MAX;

/// For each symbol of a document, the distance in tokens to the last use of the same name.
#[derive(Default)]
pub struct LastUses {
    distances: Vec<u32>,
    /// The last token of each name.
    last: Numbers,
    /// Of the language that was read last.
    roles: Option<Box<Roles>>,
}

impl LastUses {
    /// Notes the names of a whole document, or of one range of it, whatever their roles.
    pub fn read(&mut self, codes: &[Code], symbols: &[u32]) {
        self.read_names(codes, symbols, |_| 0);
    }

    /// Notes the names of a whole document, or of one range of it, each role apart.
    pub fn read_roles(&mut self, language: &Language, codes: &[Code], symbols: &[u32]) {
        let known = self.roles.take().filter(|roles| roles.are_of(language));
        let roles = known.unwrap_or_else(|| Box::new(Roles::of(language)));
        self.read_names(codes, symbols, |at| (roles.role(codes, at) as u32) << SYMBOL_BITS);
        self.roles = Some(roles);
    }

    /// Says of so many symbols that they never come back. That is enough for a fingerprint of the text alone.
    pub fn read_none(&mut self, n_symbols: usize) {
        self.distances.clear();
        self.distances.resize(n_symbols, NEVER);
    }

    /// `salt` gives, for the place of a name, what tells it from the same name elsewhere.
    fn read_names(&mut self, codes: &[Code], symbols: &[u32], salt: impl Fn(usize) -> u32) {
        self.distances.clear();
        self.last.clear(symbols.len());
        let mut symbol = symbols.iter();
        for (i, &code) in codes.iter().enumerate() {
            if !varies(code) {
                continue;
            }
            let Some(&name) = symbol.next() else { return };
            if code != IDENTIFIER {
                self.distances.push(NEVER);
                continue;
            }
            let name = name | salt(i);
            let distance = self.last.set(name, i as u32).map_or(NEVER, |before| i as u32 - before);
            self.distances.push(distance);
        }
    }

    pub fn distances(&self) -> &[u32] {
        &self.distances
    }
}

/// The two fingerprints of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    pub exact: u64,
    pub alpha: u64,
}

#[inline]
fn step(hash: u64, value: u64) -> u64 {
    let hash = (hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ (hash >> 29)
}

/// Fingerprints of a range: its codes, its symbols, and the distances of these to their last uses.
pub fn fingerprint(codes: &[Code], symbols: &[u32], distances: &[u32]) -> Fingerprint {
    let (mut exact, mut alpha) = (1u64, 2u64);
    let mut symbol = 0;
    for (i, &code) in codes.iter().enumerate() {
        let code64 = u64::from(code) + 1;
        if varies(code) {
            exact = step(exact, (u64::from(symbols[symbol]) << 8) | code64);
            let mut value = code64;
            if code == IDENTIFIER {
                let distance = distances[symbol];
                // A use before the range is none.
                value |= if distance <= i as u32 { u64::from(distance) << 8 } else { 0 };
            }
            alpha = step(alpha, value);
            symbol += 1;
        } else {
            exact = step(exact, code64);
            alpha = step(alpha, code64);
        }
    }
    Fingerprint { exact: mix(exact), alpha: mix(alpha) }
}

/// A fingerprint that lasts: made of spellings and not of codes, so that it is the same in every release and on every machine.
pub fn id(document: &Document, codes: &[Code], distances: &[u32], salt: u64) -> u64 {
    let alphabet = document.language.alphabet();
    let mut hasher = Xxh3::new();
    hasher.update(document.language.family.as_bytes());
    hasher.update(&salt.to_le_bytes());
    let mut symbol = 0;
    for (i, &code) in codes.iter().enumerate() {
        match alphabet.spelling(code) {
            Some(spelling) => {
                hasher.update(spelling.as_bytes());
                hasher.update(&[0]);
            }
            None => {
                let distance = match distances[symbol] {
                    distance if code == IDENTIFIER && distance <= i as u32 => distance,
                    _ => 0,
                };
                hasher.update(&[1, code]);
                hasher.update(&distance.to_le_bytes());
                symbol += 1;
            }
        }
    }
    hasher.digest()
}
