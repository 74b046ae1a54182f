//! Numbers of any width in a row of bits, the lowest bit first; knows nothing of posts.
//!
//! Reading never goes past the end it was given, and every read of a bit or more moves on: wrong bytes give wrong
//! numbers or `None`, never a panic and never a loop without end.

/// The most bits that one read takes: what a word loaded at any byte still has after the bits before the first.
const MOST: u32 = 56;

/// What truncated binary needs to know of an upper bound: most numbers take as many bits as the greatest, the first ones
/// do with one less.
#[derive(Clone, Copy)]
pub struct Limit {
    n_short: u64,
    short: u32,
}

impl Limit {
    /// Of the numbers below `n`, or of the number zero alone.
    pub fn new(n: u32) -> Limit {
        let n = u64::from(n.max(1));
        Limit { n_short: (2 << n.ilog2()) - n, short: n.ilog2() }
    }
}

/// Appends bits to bytes.
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    word: u64,
    /// Bits of `word` that are taken: fewer than eight between two calls.
    taken: u32,
}

impl<'a> Writer<'a> {
    pub fn new(out: &'a mut Vec<u8>) -> Writer<'a> {
        Writer { out, word: 0, taken: 0 }
    }

    pub fn bits(&mut self, value: u64, n: u32) {
        debug_assert!(n <= MOST && value >> n == 0);
        self.word |= value << self.taken;
        self.taken += n;
        while self.taken >= 8 {
            self.out.push(self.word as u8);
            self.word >>= 8;
            self.taken -= 8;
        }
    }

    /// As many zeros, and a one.
    pub fn unary(&mut self, mut zeros: u64) {
        while zeros >= u64::from(MOST) {
            self.bits(0, MOST);
            zeros -= u64::from(MOST);
        }
        self.bits(1 << zeros, zeros as u32 + 1);
    }

    /// A Rice code: all but the low bits in unary, then the low bits.
    pub fn rice(&mut self, value: u64, low: u32) {
        self.unary(value >> low);
        self.bits(value & ((1 << low) - 1), low);
    }

    /// A number below `limit`, in truncated binary.
    pub fn below(&mut self, value: u64, limit: Limit) {
        if value < limit.n_short {
            self.bits(value, limit.short);
        } else {
            self.bits((value + limit.n_short) >> 1, limit.short);
            self.bits((value + limit.n_short) & 1, 1);
        }
    }

    /// Fills the last byte with zeros and returns how many bytes there are now.
    /// The zeros are no unary number, so a reader that asks for one knows that it is at the end.
    pub fn align(&mut self) -> usize {
        if self.taken > 0 {
            self.bits(0, 8 - self.taken);
        }
        self.out.len()
    }
}

/// Reads the bits of a slice of bytes.
#[derive(Clone, Default)]
pub struct Reader<'a> {
    /// From the first byte read to the last that may be loaded: going on behind the end makes loading a word cheap.
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> Reader<'a> {
    /// Over `bytes[start..end]`, if there are such.
    pub fn new(bytes: &'a [u8], start: usize, end: usize) -> Option<Reader<'a>> {
        let bytes_read = bytes.get(start..end)?.len();
        Some(Reader { bytes: &bytes[start..], at: 0, end: bytes_read * 8 })
    }

    /// The next bits: `MOST` of them at least, zeros behind the last byte.
    #[inline]
    fn peek(&self) -> u64 {
        let rest = &self.bytes[(self.at / 8).min(self.bytes.len())..];
        let word = match rest.first_chunk() {
            Some(word) => u64::from_le_bytes(*word),
            None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        word >> (self.at % 8)
    }

    #[inline]
    pub fn bits(&mut self, n: u32) -> Option<u64> {
        debug_assert!(n <= MOST);
        let value = self.peek() & ((1 << n) - 1);
        self.at += n as usize;
        (self.at <= self.end).then_some(value)
    }

    // The two that follow load one word for a whole number and have no branch that depends on it: a lookup reads
    // some thirty of each in a row, and takes half of the time that way.

    #[inline]
    pub fn rice(&mut self, low: u32) -> Option<u64> {
        let word = self.peek();
        let zeros = word.trailing_zeros();
        if zeros + low >= MOST {
            return Some(self.unary()? << low | self.bits(low)?);
        }
        self.at += (zeros + 1 + low) as usize;
        let value = u64::from(zeros) << low | (word >> (zeros + 1)) & ((1 << low) - 1);
        (self.at <= self.end).then_some(value)
    }

    /// Whatever the bits are, the number is below `limit`.
    #[inline]
    pub fn below(&mut self, limit: Limit) -> Option<u64> {
        let word = self.peek();
        let short = word & ((1 << limit.short) - 1);
        let long = (short << 1 | (word >> limit.short) & 1).wrapping_sub(limit.n_short);
        let is_long = short >= limit.n_short;
        self.at += (limit.short + u32::from(is_long)) as usize;
        (self.at <= self.end).then_some(if is_long { long } else { short })
    }

    pub fn unary(&mut self) -> Option<u64> {
        let mut zeros = 0;
        while self.at < self.end {
            let here = self.peek().trailing_zeros().min(MOST);
            self.at += here as usize;
            zeros += u64::from(here);
            if here < MOST {
                self.at += 1;
                return (self.at <= self.end).then_some(zeros);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug)]
    enum Number {
        Bits(u64, u32),
        Unary(u64),
        Rice(u64, u32),
        Below(u32, u32),
    }

    fn number() -> impl Strategy<Value = Number> {
        prop_oneof![
            (any::<u64>(), 0..=MOST).prop_map(|(value, n)| Number::Bits(value & ((1 << n) - 1), n)),
            (0u64..300).prop_map(Number::Unary),
            (0u64..300, 0u32..50, any::<u64>())
                .prop_map(|(high, low, value)| Number::Rice(high << low | value & ((1 << low) - 1), low)),
            (1u32..100, 0u32..25, any::<u32>()).prop_map(|(n, shift, value)| {
                let n = n << shift;
                Number::Below(value % n, n)
            }),
        ]
    }

    proptest! {
        #![proptest_config(crate::cases(256))]

        #[test]
        fn what_was_written_is_read_and_then_comes_the_end(
            numbers in prop::collection::vec(number(), 0..50),
            before in 0usize..3, behind in 0usize..12,
        ) {
            let mut bytes = vec![255; before];
            let mut writer = Writer::new(&mut bytes);
            for number in &numbers {
                match *number {
                    Number::Bits(value, n) => writer.bits(value, n),
                    Number::Unary(value) => writer.unary(value),
                    Number::Rice(value, low) => writer.rice(value, low),
                    Number::Below(value, n) => writer.below(value.into(), Limit::new(n)),
                }
            }
            let end = writer.align();
            bytes.extend(vec![255; behind]);
            let mut reader = Reader::new(&bytes, before, end).unwrap();
            for number in &numbers {
                let (read, expected) = match *number {
                    Number::Bits(value, n) => (reader.bits(n), value),
                    Number::Unary(value) => (reader.unary(), value),
                    Number::Rice(value, low) => (reader.rice(low), value),
                    Number::Below(value, n) => (reader.below(Limit::new(n)), value.into()),
                };
                prop_assert_eq!(read, Some(expected), "{:?}", number);
            }
            prop_assert_eq!(reader.clone().rice(0), None);
            prop_assert_eq!(reader.clone().bits(9), None);
            prop_assert_eq!(reader.unary(), None);
        }
    }

    #[test]
    fn a_number_below_a_limit_takes_the_bits_of_the_limit_or_one_less() {
        for (n, least, most) in [(1, 0, 0), (2, 1, 1), (3, 1, 2), (64, 6, 6), (65, 6, 7), (u32::MAX, 31, 32)] {
            let taken = |value: u32| {
                let mut out = Vec::new();
                let mut writer = Writer::new(&mut out);
                writer.below(value.into(), Limit::new(n));
                let taken = writer.taken as usize;
                writer.out.len() * 8 + taken
            };
            assert_eq!((taken(0), taken(n - 1)), (least, most), "{n}");
        }
    }

    #[test]
    fn a_reader_lies_within_its_bytes() {
        assert!(Reader::new(&[1, 2, 3], 2, 4).is_none());
        assert!(Reader::new(&[1, 2, 3], 3, 2).is_none());
        assert!(Reader::new(&[1, 2, 3], 3, 3).is_some());
    }
}
