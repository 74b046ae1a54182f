//! An adaptive binary range coder: yes-or-no questions in, bytes out, and back. Each context of a question has odds of
//! its own, which follow what was answered. Knows nothing of what is asked.
//!
//! The coder is the one of LZMA, with 16 bits of probability, each the mean of one that follows quickly and one that
//! follows slowly. Bytes beyond the end of a stream read as zero, and zeros at its end are not written.

/// Who asks the questions is the same code for writing, reading and learning, so that the three cannot differ.
pub trait Coder {
    /// Whether the answers come from here, and those given count for nothing.
    const READS: bool;

    /// Codes one answer; returns it.
    fn bit(&mut self, context: usize, bit: bool) -> bool;

    /// Codes a number of `n_bits` bits (at most 24) about which nothing is known; returns it.
    fn bits(&mut self, n_bits: u32, value: u32) -> u32;
}

/// The odds of a "yes" in one context, of 65536.
#[derive(Clone, Copy)]
pub struct Odds {
    quick: u16,
    slow: u16,
}

const QUICK: u32 = 4;
const SLOW: u32 = 7;
/// No answer is ever impossible, and none costs more than ten bits.
const LEAST: u32 = 64;
/// Below this the range is too coarse to be split by 16 bits of probability.
const MIN_RANGE: u32 = 1 << 24;

impl Odds {
    /// From the eight bits that a dictionary keeps.
    pub fn new(prior: u8) -> Odds {
        let odds = u16::from(prior) << 8 | 0x80;
        Odds { quick: odds, slow: odds }
    }

    #[inline]
    fn split(self, range: u32) -> u32 {
        let odds = (u32::from(self.quick) + u32::from(self.slow)) / 2;
        (range >> 16) * odds.clamp(LEAST, 0xffff - LEAST)
    }

    /// Without a branch: the answers worth coding are those that cannot be foretold, by the processor neither.
    #[inline]
    fn learn(&mut self, bit: bool) {
        let goal = if bit { 0xffff } else { 0 };
        let follow = |odds: u16, rate: u32| (i32::from(odds) + ((goal - i32::from(odds)) >> rate)) as u16;
        self.quick = follow(self.quick, QUICK);
        self.slow = follow(self.slow, SLOW);
    }
}

pub struct Writer<'a> {
    odds: &'a mut [Odds],
    out: &'a mut Vec<u8>,
    low: u64,
    range: u32,
    /// The last byte, which a carry may still change, and how many bytes 0xff after it would pass the carry on.
    last: u8,
    n_full: usize,
    /// The first byte of all is always zero and is left out.
    first: bool,
}

impl<'a> Writer<'a> {
    pub fn new(odds: &'a mut [Odds], out: &'a mut Vec<u8>) -> Writer<'a> {
        Writer { odds, out, low: 0, range: u32::MAX, last: 0, n_full: 0, first: true }
    }

    fn shift(&mut self) {
        let carry = (self.low >> 32) as u8;
        if carry == 0 && self.low >= 0xff00_0000 {
            self.n_full += 1;
        } else {
            if !self.first {
                self.out.push(self.last.wrapping_add(carry));
            }
            self.first = false;
            self.out.extend(std::iter::repeat_n(0xffu8.wrapping_add(carry), self.n_full));
            self.n_full = 0;
            self.last = (self.low >> 24) as u8;
        }
        self.low = (self.low << 8) & 0xffff_ffff;
    }

    fn normalize(&mut self) {
        while self.range < MIN_RANGE {
            self.range <<= 8;
            self.shift();
        }
    }

    pub fn finish(mut self, start: usize) {
        // Of the numbers that the range leaves, the one with the most zeros at its end.
        let high = self.low + u64::from(self.range) - 1;
        let zeros = (0..32).rev().find(|n| high >> n << n >= self.low).unwrap_or(0);
        self.low = high >> zeros << zeros;
        for _ in 0..5 {
            self.shift();
        }
        while self.out.len() > start && self.out.last() == Some(&0) {
            self.out.pop();
        }
    }
}

impl Coder for Writer<'_> {
    const READS: bool = false;

    #[inline(always)]
    fn bit(&mut self, context: usize, bit: bool) -> bool {
        let odds = &mut self.odds[context];
        let bound = odds.split(self.range);
        self.low += if bit { 0 } else { u64::from(bound) };
        self.range = if bit { bound } else { self.range - bound };
        odds.learn(bit);
        self.normalize();
        bit
    }

    fn bits(&mut self, n_bits: u32, value: u32) -> u32 {
        let mut n = n_bits;
        while n > 0 {
            let part = n.min(8);
            n -= part;
            self.range >>= part;
            self.low += u64::from(self.range) * u64::from(value >> n & ((1 << part) - 1));
            self.normalize();
        }
        value
    }
}

pub struct Reader<'a> {
    odds: &'a mut [Odds],
    bytes: std::slice::Iter<'a, u8>,
    code: u32,
    range: u32,
}

impl<'a> Reader<'a> {
    pub fn new(odds: &'a mut [Odds], bytes: &'a [u8]) -> Reader<'a> {
        let mut reader = Reader { odds, bytes: bytes.iter(), code: 0, range: u32::MAX };
        for _ in 0..4 {
            reader.shift();
        }
        reader
    }

    #[inline]
    fn shift(&mut self) {
        self.code = self.code << 8 | u32::from(self.bytes.next().copied().unwrap_or(0));
    }

    #[inline]
    fn normalize(&mut self) {
        while self.range < MIN_RANGE {
            self.range <<= 8;
            self.shift();
        }
    }
}

impl Coder for Reader<'_> {
    const READS: bool = true;

    #[inline(always)]
    fn bit(&mut self, context: usize, _: bool) -> bool {
        let odds = &mut self.odds[context];
        let bound = odds.split(self.range);
        let bit = self.code < bound;
        self.code -= if bit { 0 } else { bound };
        self.range = if bit { bound } else { self.range - bound };
        odds.learn(bit);
        self.normalize();
        bit
    }

    fn bits(&mut self, n_bits: u32, _: u32) -> u32 {
        let mut n = n_bits;
        let mut value = 0;
        while n > 0 {
            let part = n.min(8);
            n -= part;
            self.range >>= part;
            // Wrong bytes can start above the range.
            let digit = (self.code / self.range).min((1 << part) - 1);
            self.code -= digit * self.range;
            value = value << part | digit;
            self.normalize();
        }
        value
    }
}

/// Counts the answers, to start from better odds than even ones.
pub struct Learner {
    /// Per context, how often "no" and "yes".
    answers: Vec<[u32; 2]>,
}

impl Learner {
    pub fn new(n_contexts: usize) -> Learner {
        Learner { answers: vec![[0; 2]; n_contexts] }
    }

    /// Eight bits of odds for each context.
    pub fn priors(&self) -> Vec<u8> {
        let prior = |[no, yes]: [u32; 2]| {
            let (no, yes) = (f64::from(no) + 0.5, f64::from(yes) + 0.5);
            (256.0 * yes / (no + yes)) as u8
        };
        self.answers.iter().map(|&answers| prior(answers)).collect()
    }
}

impl Coder for Learner {
    const READS: bool = false;

    fn bit(&mut self, context: usize, bit: bool) -> bool {
        self.answers[context][usize::from(bit)] += 1;
        bit
    }

    fn bits(&mut self, _: u32, value: u32) -> u32 {
        value
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(crate::cases(200))]

        #[test]
        fn what_is_written_is_read(
            answers in prop::collection::vec((0..4usize, any::<bool>(), 0..25u32, any::<u32>()), 0..300),
            priors in prop::array::uniform4(any::<u8>()),
        ) {
            let answers: Vec<_> = answers.into_iter().map(|(c, bit, n, value)| (c, bit, n, value & ((1 << n) - 1))).collect();
            let mut out = vec![7];
            let mut odds = priors.map(Odds::new);
            let mut writer = Writer::new(&mut odds, &mut out);
            for &(context, bit, n_bits, value) in &answers {
                writer.bit(context, bit);
                writer.bits(n_bits, value);
            }
            writer.finish(1);
            let mut odds = priors.map(Odds::new);
            let mut reader = Reader::new(&mut odds, &out[1..]);
            for (context, bit, n_bits, value) in answers {
                prop_assert_eq!(reader.bit(context, !bit), bit);
                prop_assert_eq!(reader.bits(n_bits, 0), value);
            }
        }
    }
}
