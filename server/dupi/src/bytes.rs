//! Numbers in files: LEB128 and little-endian, read with bounds. Wrong bytes give nothing, never a panic.
//! And the frame around what is kept beside an index.

use std::io;

use xxhash_rust::xxh3::xxh3_64;

/// What is around a file that is kept, and can always be made anew.
///
/// ```text
/// magic  version u32  key u64  body (zstd)  xxh3 of all before u64
/// ```
pub struct Frame {
    pub magic: &'static [u8; 8],
    pub version: u32,
}

impl Frame {
    const HEADER: usize = 8 + 4 + 8;
    const CHECKSUM: usize = 8;

    /// `key`: what the body is of; it is for who reads it to compare.
    pub fn wrap(&self, key: u64, body: &[u8], level: i32) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        out.extend(self.magic);
        out.extend(self.version.to_le_bytes());
        out.extend(key.to_le_bytes());
        out.extend(zstd::bulk::compress(body, level)?);
        out.extend(xxh3_64(&out).to_le_bytes());
        Ok(out)
    }

    /// The key and the body, as it was compressed. Nothing, unless these bytes are whole and of this version.
    pub fn open<'a>(&self, bytes: &'a [u8]) -> Option<(u64, &'a [u8])> {
        let (content, checksum) = bytes.split_at_checked(bytes.len().checked_sub(Frame::CHECKSUM)?)?;
        let (header, body) = content.split_at_checked(Frame::HEADER)?;
        let known = header[..8] == *self.magic && header[8..12] == self.version.to_le_bytes();
        let key = u64::from_le_bytes(header[12..].try_into().ok()?);
        (known && checksum == xxh3_64(content).to_le_bytes()).then_some((key, body))
    }
}

/// Appends a number as LEB128.
pub fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a signed number, such that small ones of either sign take few bytes (zigzag).
pub fn put_signed(out: &mut Vec<u8>, number: i64) {
    put(out, (number << 1 ^ number >> 63) as u64);
}

/// Reads numbers from the front of some bytes.
pub struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes }
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(n)?;
        self.bytes = rest;
        Some(taken)
    }

    pub fn u8(&mut self) -> Option<u8> {
        let (&byte, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(byte)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    /// A signed number, as [`put_signed`] writes it.
    pub fn signed(&mut self) -> Option<i64> {
        self.number().map(|number| (number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// A LEB128 number, as [`put`] writes it: not in more bytes than it needs, so that equal bytes are equal numbers
    /// and the other way round.
    pub fn number(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            let overlong = shift > 0 && byte == 0;
            if bits << shift >> shift != bits || overlong {
                return None;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// What was not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// A number of at most 32 bits that is a length or a count, on any machine.
    pub fn size(&mut self) -> Option<usize> {
        self.u32().map(|size| size as usize)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    /// How many things of at least `least` bytes each follow: never more than there are bytes for.
    pub fn count(&mut self, least: usize) -> Option<usize> {
        let n = usize::try_from(self.number()?).ok()?;
        (n <= self.bytes.len() / least.max(1)).then_some(n)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back(numbers in prop::collection::vec(any::<u64>(), 0..50)) {
            let mut out = Vec::new();
            numbers.iter().for_each(|&number| put(&mut out, number));
            let mut reader = Reader::new(&out);
            for number in numbers {
                prop_assert_eq!(reader.number(), Some(number));
            }
            prop_assert!(reader.is_empty() && reader.number().is_none());
        }

        #[test]
        fn signed_numbers_come_back(number in any::<i64>(), small in -64i64..64) {
            let mut out = Vec::new();
            put_signed(&mut out, small);
            prop_assert_eq!(out.len(), 1);
            put_signed(&mut out, number);
            let mut reader = Reader::new(&out);
            prop_assert_eq!((reader.signed(), reader.signed()), (Some(small), Some(number)));
        }

        #[test]
        fn a_number_that_is_read_was_written_so(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
            let mut reader = Reader::new(&bytes);
            if let Some(number) = reader.number() {
                let mut out = Vec::new();
                put(&mut out, number);
                prop_assert_eq!(&out, &bytes[..bytes.len() - reader.len()]);
            }
        }
    }

    #[test]
    fn what_is_too_long_is_no_number() {
        for bytes in [&[0x80, 0][..], &[0xff, 0x80, 0], &[0x80], &[0xff; 10], &[]] {
            assert_eq!(Reader::new(bytes).number(), None, "{bytes:?}");
        }
    }
}
