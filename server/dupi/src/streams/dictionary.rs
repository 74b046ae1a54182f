//! What the documents of a segment share, so that each of them can be read by itself and still be small: the symbols
//! that many use, the odds that the symbol coder starts from, and a stretch of typical structure for zstd.
//!
//! ```text
//! dictionary  n_symbols · gap* · n_odds · n_odds' · zstd of odds · n_prefix · n_prefix' · zstd of prefix
//! ```
//!
//! Symbols are in classes by how many documents use them, each class twice the one before; what tells the class is
//! coded by its odds, and the place in it by plain bits. So the order within a class is free: it is that of the
//! symbols, of which only the gaps are stored.

use std::io;
use std::ops::Range;
use std::sync::OnceLock;

use zstd::zstd_safe::{CDict, DDict};

use super::coder::{Learner, Odds};
use super::structure;
use super::symbols::{N_CONTEXTS, Predictor};
use crate::bytes::{Reader, put};
use crate::document::{Document, SYMBOL_BITS};

/// Classes of symbols; class 0 is those that the dictionary does not have. A power of two, for they are told bit by bit.
pub const N_CLASSES: usize = 32;
/// In a segment as large as Linux the last ones are in six documents each. All of them are a megabyte in memory.
const MAX_SYMBOLS: usize = 1 << 18;
/// A symbol takes about 12 bits of the dictionary, and saves some of 23 in each document that has it: five or more.
const MIN_DOCUMENTS: u16 = 3;

/// Documents from which odds are learnt: more do not make them better.
const MAX_SAMPLES: usize = 600;
/// Symbols in the samples below which their odds cost more than they save.
const MIN_SAMPLE_SYMBOLS: usize = 16 * 1024;

/// Typical structure that zstd can look back to from the start of a block. It saves a twentieth of the structure; 32 KiB
/// would save less by a third.
const MAX_PREFIX: usize = 112 * 1024;
/// The prefix is no larger than this part of the structure.
const PREFIX_SHARE: usize = 64;
/// Of one document: enough for its shapes, so that many documents are in the prefix.
const PREFIX_SLICE: usize = 2048;

/// Of the structure, 3 makes a sixth more, in a quarter of the time; 6 a twenty-fifth more, in two thirds of it.
const LEVEL: i32 = 9;

/// The class of a number: 0..4 are the first, and each further one goes up to the next power of two.
pub fn class(number: usize) -> usize {
    if number < 4 { 1 } else { number.ilog2() as usize }
}

/// The numbers of a class.
pub fn numbers(class: usize) -> Range<usize> {
    if class == 1 { 0..4 } else { 1 << class..2 << class }
}

/// Counts in how many documents each symbol is.
pub struct Tally {
    /// Per symbol, the number of documents that have it and the last one that did, both cut to 16 bits: a dictionary
    /// that is off by one document is as good.
    counts: Vec<(u16, u16)>,
    n_documents: usize,
    n_structure: usize,
}

impl Default for Tally {
    fn default() -> Tally {
        Tally { counts: vec![(0, 0); 1 << SYMBOL_BITS], n_documents: 0, n_structure: 0 }
    }
}

impl Tally {
    pub fn add(&mut self, document: &Document) {
        self.n_documents += 1;
        self.n_structure += structure::size(document);
        let stamp = (self.n_documents % 0xffff) as u16 + 1;
        for &symbol in document.symbols() {
            let (count, last) = &mut self.counts[symbol as usize];
            if *last != stamp {
                *last = stamp;
                *count = count.saturating_add(1);
            }
        }
    }

    /// The dictionary for all that was counted, with some of the documents, spread evenly, to learn from.
    pub fn finish(self, samples: &[&Document]) -> Dictionary {
        let mut counted: Vec<(u16, u32)> = (0..)
            .zip(&self.counts)
            .filter(|(_, (count, _))| *count >= MIN_DOCUMENTS)
            .map(|(symbol, (count, _))| (*count, symbol))
            .collect();
        drop(self.counts);
        counted.sort_unstable_by_key(|&(count, symbol)| (u16::MAX - count, symbol));
        counted.truncate(MAX_SYMBOLS);
        let mut symbols: Vec<u32> = counted.into_iter().map(|(_, symbol)| symbol).collect();
        for class in classes(symbols.len()) {
            symbols[class].sort_unstable();
        }
        let mut dictionary = Dictionary { symbols, ..Dictionary::default() };

        let step = samples.len().div_ceil(MAX_SAMPLES).max(1);
        let samples: Vec<&&Document> = samples.iter().step_by(step).collect();
        if samples.iter().map(|document| document.symbols().len()).sum::<usize>() >= MIN_SAMPLE_SYMBOLS {
            let mut learner = Learner::new(N_CONTEXTS);
            let mut predictor = Predictor::default();
            for document in &samples {
                predictor.learn(document, &dictionary, &mut learner);
            }
            dictionary.set_priors(learner.priors());
        }

        let n_prefix = MAX_PREFIX.min(self.n_structure / PREFIX_SHARE);
        let step = samples.len().div_ceil((n_prefix / PREFIX_SLICE).max(1)).max(1);
        // zstd takes what starts with a certain number for a dictionary of its own; that number does not start with 0.
        let mut prefix = vec![0];
        let mut bytes = Vec::new();
        for document in samples.iter().step_by(step) {
            bytes.clear();
            structure::write(document, &mut bytes);
            let start = bytes.len().saturating_sub(PREFIX_SLICE) / 2;
            prefix.extend(&bytes[start..bytes.len().min(start + PREFIX_SLICE)]);
        }
        prefix.truncate(n_prefix);
        dictionary.set_prefix(prefix);
        dictionary
    }
}

/// What the documents of a segment share. The default one shares nothing.
pub struct Dictionary {
    /// By class, and within a class in order.
    symbols: Vec<u32>,
    /// One per context, or none.
    priors: Vec<u8>,
    odds: Vec<Odds>,
    prefix: Vec<u8>,
    decompression: DDict<'static>,
    /// Made when something is written.
    compression: OnceLock<CDict<'static>>,
    /// Open-addressed: symbols and their numbers plus one, 0 is empty. Made when something is written.
    slots: OnceLock<Vec<(u32, u32)>>,
}

impl Default for Dictionary {
    fn default() -> Dictionary {
        Dictionary {
            symbols: Vec::new(),
            priors: Vec::new(),
            odds: vec![Odds::new(0x80); N_CONTEXTS],
            prefix: Vec::new(),
            decompression: DDict::create(&[]),
            compression: OnceLock::new(),
            slots: OnceLock::new(),
        }
    }
}

impl Dictionary {
    pub fn of(documents: &[&Document]) -> Dictionary {
        // With fewer there is nothing to share, and counting takes some megabytes.
        if documents.len() < usize::from(MIN_DOCUMENTS) {
            return Dictionary::default();
        }
        let mut tally = Tally::default();
        for document in documents {
            tally.add(document);
        }
        tally.finish(documents)
    }

    pub fn write(&self, out: &mut Vec<u8>) -> io::Result<()> {
        put(out, self.symbols.len() as u64);
        for class in classes(self.symbols.len()) {
            let mut last = 0;
            for &symbol in &self.symbols[class] {
                put(out, u64::from(symbol - last));
                last = symbol;
            }
        }
        for part in [&self.priors, &self.prefix] {
            let packed = zstd::bulk::compress(part, LEVEL)?;
            put(out, part.len() as u64);
            put(out, packed.len() as u64);
            out.extend_from_slice(&packed);
        }
        Ok(())
    }

    /// None if the bytes are wrong.
    pub fn read(bytes: &[u8]) -> Option<Dictionary> {
        let mut bytes = Reader::new(bytes);
        let n_symbols = bytes.size()?;
        if n_symbols > MAX_SYMBOLS {
            return None;
        }
        let mut symbols = Vec::with_capacity(n_symbols);
        for class in classes(n_symbols) {
            let mut last = 0u32;
            for _ in class {
                last = last.checked_add(bytes.u32()?)?;
                if last >> SYMBOL_BITS != 0 {
                    return None;
                }
                symbols.push(last);
            }
        }
        let mut part = |max: usize| {
            let n = bytes.size().filter(|&n| n <= max)?;
            let n_packed = bytes.size()?;
            let packed = bytes.take(n_packed)?;
            zstd::bulk::decompress(packed, n).ok().filter(|part| part.len() == n)
        };
        let priors = part(N_CONTEXTS).filter(|priors| priors.is_empty() || priors.len() == N_CONTEXTS)?;
        let prefix = part(MAX_PREFIX)?;
        let mut dictionary = Dictionary { symbols, ..Dictionary::default() };
        dictionary.set_priors(priors);
        dictionary.set_prefix(prefix);
        Some(dictionary)
    }

    fn set_priors(&mut self, priors: Vec<u8>) {
        for (odds, &prior) in self.odds.iter_mut().zip(&priors) {
            *odds = Odds::new(prior);
        }
        self.priors = priors;
    }

    fn set_prefix(&mut self, prefix: Vec<u8>) {
        self.decompression = DDict::create(&prefix);
        self.prefix = prefix;
    }

    pub(super) fn odds(&self) -> &[Odds] {
        &self.odds
    }

    pub(super) fn decompression(&self) -> &DDict<'static> {
        &self.decompression
    }

    pub(super) fn compression(&self) -> &CDict<'static> {
        self.compression.get_or_init(|| CDict::create(&self.prefix, LEVEL))
    }

    pub(super) fn symbol(&self, number: usize) -> Option<u32> {
        self.symbols.get(number).copied()
    }

    pub(super) fn number(&self, symbol: u32) -> Option<usize> {
        let slots = self.slots.get_or_init(|| self.slots());
        let mut slot = home(symbol, slots.len());
        loop {
            let (other, number) = slots[slot];
            if number == 0 {
                return None;
            }
            if other == symbol {
                return Some(number as usize - 1);
            }
            slot = (slot + 1) & (slots.len() - 1);
        }
    }

    fn slots(&self) -> Vec<(u32, u32)> {
        let mut slots = vec![(0, 0); (2 * self.symbols.len()).next_power_of_two().max(2)];
        for (i, &symbol) in (1..).zip(&self.symbols) {
            let mut slot = home(symbol, slots.len());
            while slots[slot].1 != 0 {
                slot = (slot + 1) & (slots.len() - 1);
            }
            slots[slot] = (symbol, i);
        }
        slots
    }
}

/// Where to look for a symbol first; the number of slots is a power of two.
fn home(symbol: u32, n_slots: usize) -> usize {
    (symbol.wrapping_mul(0x9e37_79b1) >> 8) as usize & (n_slots - 1)
}

/// The numbers up to `n`, class by class.
fn classes(n: usize) -> impl Iterator<Item = Range<usize>> {
    (1..=class(MAX_SYMBOLS - 1)).map(numbers).map(move |class| class.start.min(n)..class.end.min(n))
}
