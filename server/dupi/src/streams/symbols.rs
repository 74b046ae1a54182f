//! The symbols of a document as a series of yes-or-no questions, each in a context that makes its answer likely.
//! Knows the codes, which are read first, and asks the coder; knows no bytes.
//!
//! For each symbol: is it what followed the last two symbols before? What followed the last one? What stood last among
//! such codes? If not, is it new? A new one is a number in the dictionary, or its bits; an old one is counted back in
//! the list of recent ones, names and literals apart.

use dupi_grammars::token::{Code, DOT, FIRST_FIXED, IDENTIFIER, OPEN_PAREN, varies};

use super::coder::{Coder, Learner, Odds, Reader, Writer};
use super::dictionary::{self, Dictionary};
use crate::document::{Document, SYMBOL_BITS};

/// Recent symbols of a kind that are remembered; older ones are new again. Bounds the work per symbol.
const MAX_RECENT: usize = 1024;
/// Slots for what followed what. Larger tables predict no more and take longer to clear.
const MIN_SLOTS: usize = 256;
const MAX_SLOTS: usize = 16 * 1024;
/// An empty slot: no symbol has so many bits.
const NONE: u32 = u32::MAX;

/// What a symbol is for, as far as its neighbours tell: four for names after a dot, four for others, eight for literals.
const N_ROLES: usize = 16;
/// How a symbol was found: `Found`.
const N_FOUND: usize = 5;
/// Questions after what was foretold: by two symbols, agreeing with one or not; by one, with none by two or another; by
/// the codes.
const N_FORETOLD: usize = 5;
const N_EXPONENTS: usize = MAX_RECENT.ilog2() as usize + 1;

/// Codes before a symbol that are told apart: more than most alphabets have.
const N_PREVIOUS: usize = 128;

// Contexts of the questions, in one row.
const FOLLOWS: usize = 0;
const IS_NEW: usize = FOLLOWS + N_ROLES * N_FOUND * N_FOUND * N_FORETOLD;
const CLASS: usize = IS_NEW + N_PREVIOUS * 16;
const EXPONENT: usize = CLASS + N_ROLES * dictionary::N_CLASSES;
const MANTISSA: usize = EXPONENT + N_ROLES * N_EXPONENTS;
pub const N_CONTEXTS: usize = MANTISSA + N_ROLES * N_EXPONENTS * 4;

/// How the last symbols were found says how regular the code is here.
#[derive(Clone, Copy)]
enum Found {
    Near,
    ByTwo,
    ByOne,
    New,
    Far,
}

/// Memory that is reused from document to document.
#[derive(Default)]
pub struct Predictor {
    odds: Vec<Odds>,
    symbols: Vec<u32>,
    /// What followed two symbols, and one, and what stood among five codes; open to clashes, which only foretell badly.
    by_two: Vec<u32>,
    by_one: Vec<u32>,
    by_codes: Vec<u32>,
    names: Recent,
    literals: Recent,
}

/// The symbols that were used last, each once, but for those that were foretold: to move these too takes longer than
/// it saves.
#[derive(Default)]
struct Recent {
    /// The last one used is the last here, and `MAX_RECENT` count; what was dropped before them is cleared in one go.
    symbols: Vec<u32>,
    /// Which symbols were ever here, by their lowest bits: most that are new need not be looked for.
    seen: Vec<u64>,
}

impl Recent {
    const SEEN_BITS: usize = 1 << 15;

    fn clear(&mut self) {
        self.symbols.clear();
        self.seen.clear();
        self.seen.resize(Self::SEEN_BITS / 64, 0);
    }

    fn push(&mut self, symbol: u32) {
        if self.symbols.len() == 2 * MAX_RECENT {
            self.symbols.drain(..MAX_RECENT);
        }
        self.symbols.push(symbol);
        let bit = symbol as usize % Self::SEEN_BITS;
        self.seen[bit / 64] |= 1 << (bit % 64);
    }

    /// How far back a symbol is.
    fn find(&self, symbol: u32) -> Option<usize> {
        let bit = symbol as usize % Self::SEEN_BITS;
        if self.seen[bit / 64] >> (bit % 64) & 1 == 0 {
            return None;
        }
        let from = self.symbols.len().saturating_sub(MAX_RECENT);
        let mut end = self.symbols.len();
        // Looking at several at once, without a way out between them, is several times as fast.
        for chunk in self.symbols[from..].rchunks(16) {
            if chunk.iter().fold(false, |any, &other| any | (other == symbol)) {
                let at = chunk.iter().rposition(|&other| other == symbol)?;
                return Some(self.symbols.len() - 1 - (end - chunk.len() + at));
            }
            end -= chunk.len();
        }
        None
    }

    /// The symbol that is so far back, which becomes the last one.
    fn take(&mut self, back: usize) -> Option<u32> {
        let at = self.symbols.len().checked_sub(back + 1).filter(|_| back < MAX_RECENT)?;
        let symbol = self.symbols[at];
        self.symbols.copy_within(at + 1.., at);
        *self.symbols.last_mut()? = symbol;
        Some(symbol)
    }
}

impl Predictor {
    pub fn write(&mut self, document: &Document, dictionary: &Dictionary, out: &mut Vec<u8>) {
        let mut symbols = std::mem::take(&mut self.symbols);
        symbols.clear();
        symbols.extend_from_slice(document.symbols());
        let mut odds = self.odds(dictionary);
        let start = out.len();
        let mut writer = Writer::new(&mut odds, out);
        self.walk(&document.codes, &mut symbols, dictionary, &mut writer);
        writer.finish(start);
        self.odds = odds;
        self.symbols = symbols;
    }

    /// Fills in the symbols of codes; none if the bytes are wrong.
    pub fn read(&mut self, bytes: &[u8], codes: &[Code], dictionary: &Dictionary, symbols: &mut [u32]) -> Option<()> {
        let mut odds = self.odds(dictionary);
        let done = self.walk(codes, symbols, dictionary, &mut Reader::new(&mut odds, bytes));
        self.odds = odds;
        done
    }

    pub fn learn(&mut self, document: &Document, dictionary: &Dictionary, learner: &mut Learner) {
        self.walk(&document.codes, &mut document.symbols().to_vec(), dictionary, learner);
    }

    /// The odds to start from.
    fn odds(&mut self, dictionary: &Dictionary) -> Vec<Odds> {
        let mut odds = std::mem::take(&mut self.odds);
        odds.clear();
        odds.extend_from_slice(dictionary.odds());
        odds
    }

    /// Asks for each symbol, and puts in its place what was answered.
    fn walk<C: Coder>(
        &mut self,
        codes: &[Code],
        symbols: &mut [u32],
        dictionary: &Dictionary,
        coder: &mut C,
    ) -> Option<()> {
        let n_slots = symbols.len().next_power_of_two().clamp(MIN_SLOTS, MAX_SLOTS);
        for table in [&mut self.by_two, &mut self.by_one, &mut self.by_codes] {
            table.clear();
            table.resize(n_slots, NONE);
        }
        self.names.clear();
        self.literals.clear();
        let shift = 32 - n_slots.ilog2();
        let mut symbols = symbols.iter_mut();
        let (mut last, mut before_last) = (NONE, NONE);
        let (mut found, mut found_before) = (Found::Near, Found::Near);
        let mut previous = FIRST_FIXED;
        for (i, &code) in codes.iter().enumerate() {
            if !varies(code) {
                previous = code;
                continue;
            }
            let slot = symbols.next()?;
            let code_at = |i: usize| codes.get(i).copied().unwrap_or(FIRST_FIXED);
            let next = code_at(i + 1);
            let role = role(previous, code, next);
            let surroundings = u32::from_le_bytes([previous, code, next, 1]).wrapping_mul(0x9e37_79b1);
            let one = (last.wrapping_mul(0x85eb_ca77) ^ surroundings).wrapping_mul(0xc2b2_ae3d);
            let two = (before_last.wrapping_mul(0x27d4_eb2f) ^ one).wrapping_mul(0x1656_67b1);
            let farther = u32::from_le_bytes([code_at(i.wrapping_sub(2)), code_at(i + 2), 0, 1]);
            let among = (farther.wrapping_mul(0x85eb_ca77) ^ surroundings).wrapping_mul(0x27d4_eb2f);
            let by_one = &mut self.by_one[(one >> shift) as usize];
            let by_two = &mut self.by_two[(two >> shift) as usize];
            let by_codes = &mut self.by_codes[(among >> shift) as usize];
            let recent = if code == IDENTIFIER { &mut self.names } else { &mut self.literals };

            let agree = *by_one == *by_two;
            let context = FOLLOWS + ((role * N_FOUND + found as usize) * N_FOUND + found_before as usize) * N_FORETOLD;
            let symbol;
            found_before = found;
            if *by_two != NONE && coder.bit(context + usize::from(agree), *by_two == *slot) {
                (symbol, found) = (*by_two, Found::ByTwo);
            } else if *by_one != NONE
                && !agree
                && coder.bit(context + 2 + usize::from(*by_two == NONE), *by_one == *slot)
            {
                (symbol, found) = (*by_one, Found::ByOne);
            } else if *by_codes != NONE
                && *by_codes != *by_one
                && *by_codes != *by_two
                && coder.bit(context + 4, *by_codes == *slot)
            {
                (symbol, found) = (*by_codes, Found::ByOne);
            } else {
                let at = if C::READS { None } else { recent.find(*slot) };
                let context = IS_NEW
                    + usize::from(previous) % N_PREVIOUS * 16
                    + sort(code, next)
                    + 8 * usize::from(*by_one == NONE);
                if coder.bit(context, at.is_none()) {
                    symbol = new(coder, role, *slot, dictionary)?;
                    found = Found::New;
                    recent.push(symbol);
                } else {
                    let at = back(coder, role, at.unwrap_or(0));
                    symbol = recent.take(at)?;
                    found = if at < 7 { Found::Near } else { Found::Far };
                }
            }
            *slot = symbol;
            *by_one = symbol;
            *by_two = symbol;
            *by_codes = symbol;
            (last, before_last) = (symbol, last);
            previous = code;
        }
        Some(())
    }
}

fn sort(code: Code, next: Code) -> usize {
    match (code, next) {
        (IDENTIFIER, OPEN_PAREN) => 1,
        (IDENTIFIER, DOT) => 2,
        (IDENTIFIER, 0..FIRST_FIXED) => 3,
        (IDENTIFIER, _) => 0,
        _ => 4 + usize::from(code) % 4,
    }
}

fn role(previous: Code, code: Code, next: Code) -> usize {
    match code {
        IDENTIFIER => sort(code, next) + if previous == DOT { 4 } else { 0 },
        _ => 8 + usize::from(code),
    }
}

/// A symbol that is not among the recent ones: by its number in the dictionary, or bit by bit.
fn new<C: Coder>(coder: &mut C, role: usize, symbol: u32, dictionary: &Dictionary) -> Option<u32> {
    let number = if C::READS { None } else { dictionary.number(symbol) };
    let class = number.map_or(0, dictionary::class);
    let mut node = 1;
    for n in (0..dictionary::N_CLASSES.ilog2()).rev() {
        let bit = coder.bit(CLASS + role * dictionary::N_CLASSES + node, class >> n & 1 == 1);
        node = node * 2 + usize::from(bit);
    }
    match node - dictionary::N_CLASSES {
        0 => Some(coder.bits(SYMBOL_BITS, symbol)),
        class => {
            let numbers = dictionary::numbers(class);
            let offset = number.unwrap_or(numbers.start) - numbers.start;
            dictionary.symbol(numbers.start + coder.bits(numbers.len().ilog2(), offset as u32) as usize)
        }
    }
}

/// A place in the list of recent symbols: its order of magnitude, then the rest.
fn back<C: Coder>(coder: &mut C, role: usize, at: usize) -> usize {
    let value = at + 1;
    let magnitude = value.ilog2() as usize;
    let mut exponent = 0;
    while exponent + 1 < N_EXPONENTS && coder.bit(EXPONENT + role * N_EXPONENTS + exponent, exponent < magnitude) {
        exponent += 1;
    }
    // The first two bits after the leading one still lean one way; the others do not.
    let context = MANTISSA + (role * N_EXPONENTS + exponent) * 4;
    let mut read = 1;
    let bit = |n: usize| value >> n & 1 == 1;
    if exponent > 0 {
        read = read * 2 + usize::from(coder.bit(context, bit(exponent - 1)));
    }
    if exponent > 1 {
        read = read * 2 + usize::from(coder.bit(context + (read & 3) - 1, bit(exponent - 2)));
        let n_bits = exponent as u32 - 2;
        read = read << n_bits | coder.bits(n_bits, (value & ((1 << n_bits) - 1)) as u32) as usize;
    }
    read - 1
}
