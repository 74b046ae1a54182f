//! Posts: which documents of a segment hold a blot. Bytes in, bytes out; knows no file, no segment, no document.
//!
//! A post is a blot and a document. Where in the document the blot stands is not stored: a document that is a
//! candidate is decoded anyway, and its blots are computed again in microseconds. (A document is any number here; a
//! segment has several for each of its own, one for each text that it tells apart.)
//!
//! A blot is cut to its **value**: the place of its 64 bits on a scale of `VALUES_PER_POST` values a post. Two blots
//! that share a value are one to the reader, so an answer may name a document too many, never one too few.
//!
//! ```text
//! header     n_posts u32 · n_values u64 · n_documents u32 · rice u8     little-endian, 17 bytes
//! directory  u32 for each bucket: where it ends in the stream, in bytes
//! stream     the buckets, one behind the other, each filled up to a byte with zeros
//!
//! bucket     the posts of 2^BUCKET_BITS values, by value and document:
//!   rice(value - the one before) document                      a value's first document
//!   rice(0) gamma(n) n × (width, difference to the one before)  its n others, if there are any
//! ```
//!
//! - `rice(x)`: `x >> rice` in unary, then the low `rice` bits. The first value of a bucket is counted from the one before
//!   the bucket, so no difference of values is zero and zero is free to announce a list.
//! - `gamma(x)`: the bits of `x` but the highest, their number in unary before them.
//! - document: truncated binary, half a bit less than a fixed width on average.
//! - difference: its bits but the highest, their number before them in a fixed width. Copies stand near each other as
//!   often as far apart: the widths are evenly spread, and a fixed width is within 0.1 bits of their entropy.

mod bits;

use rayon::prelude::*;

use bits::{Limit, Reader, Writer};

/// A lookup that should find nothing finds a document in one of this many cases; twice as many would cost a bit more for
/// each post. The bits are better spent on telling texts apart: a document that shares one blot by chance is seldom
/// looked at, one that has the same shape with other names would be.
const VALUES_PER_POST: u64 = 8;

/// A bucket has 64 posts on average. Half as many would cost half a bit more for each post, twice as many a third
/// more time for a lookup.
const BUCKET_BITS: u32 = 10;

/// Places in the stream are 32 bits, and no post takes eight bytes.
pub const MAX_POSTS: usize = 1 << 29;

/// More than any difference of values has.
const MAX_RICE: u32 = 48;

const HEADER_BYTES: usize = 17;

/// Appends the posts to `out`. Blots must be spread evenly over all 64 bits (`blots::mix`; the least of a window,
/// which winnowing keeps, are not): if they are not, buckets are uneven and lookups slow, though never wrong.
///
/// The bytes depend on the set of posts alone. `posts` is sorted in place and left in no useful state, so that
/// there is no second copy of what can be most of the memory.
///
/// # Panics
/// If there are more than `MAX_POSTS`, or a document is not below `n_documents`.
pub fn write(posts: &mut Vec<(u64, u32)>, n_documents: u32, out: &mut Vec<u8>) {
    posts.par_sort_unstable();
    posts.dedup();
    let n_values = posts.len() as u64 * VALUES_PER_POST;
    posts.iter_mut().for_each(|(blot, _)| *blot = value(*blot, n_values));
    posts.chunk_by_mut(|a, b| a.0 == b.0).for_each(<[_]>::sort_unstable);
    posts.dedup();
    assert!(posts.len() <= MAX_POSTS, "too many posts for one segment: {}", posts.len());

    let n_distinct = posts.chunk_by(|a, b| a.0 == b.0).count() as u64;
    let rice = n_values.checked_div(n_distinct).unwrap_or(1).ilog2();
    out.extend_from_slice(&(posts.len() as u32).to_le_bytes());
    out.extend_from_slice(&n_values.to_le_bytes());
    out.extend_from_slice(&n_documents.to_le_bytes());
    out.push(rice as u8);

    let directory = out.len();
    let stream = directory + n_buckets(n_values) * 4;
    out.resize(stream, 0);
    let coding = Coding::new(rice, n_documents);
    let mut rest = &posts[..];
    for bucket in 0..n_buckets(n_values) {
        let n_here = rest.iter().take_while(|(value, _)| (value >> BUCKET_BITS) as usize == bucket).count();
        let (here, later) = rest.split_at(n_here);
        rest = later;
        let mut writer = Writer::new(out);
        let mut next = (bucket as u64) << BUCKET_BITS;
        for list in here.chunk_by(|a, b| a.0 == b.0) {
            coding.write(&mut writer, list[0].0 + 1 - next, list);
            next = list[0].0 + 1;
        }
        let end = writer.align() - stream;
        out[directory + bucket * 4..][..4].copy_from_slice(&(end as u32).to_le_bytes());
    }
}

/// Where a blot lies on a scale of `n_values`; keeps the order.
fn value(blot: u64, n_values: u64) -> u64 {
    ((u128::from(blot) * u128::from(n_values)) >> 64) as u64
}

fn n_buckets(n_values: u64) -> usize {
    n_values.div_ceil(1 << BUCKET_BITS) as usize
}

/// How numbers become bits, and bits numbers.
#[derive(Clone, Copy)]
struct Coding {
    rice: u32,
    n_documents: u32,
    documents: Limit,
    /// Bits of the width of a difference.
    width_bits: u32,
}

impl Coding {
    fn new(rice: u32, n_documents: u32) -> Coding {
        let greatest_width = n_documents.saturating_sub(1).max(1).ilog2();
        let width_bits = u32::BITS - greatest_width.leading_zeros();
        Coding { rice, n_documents, documents: Limit::new(n_documents), width_bits }
    }

    fn write(&self, writer: &mut Writer, step: u64, list: &[(u64, u32)]) {
        assert!(list.iter().all(|(_, document)| *document < self.n_documents), "a document beyond the last");
        writer.rice(step, self.rice);
        writer.below(list[0].1.into(), self.documents);
        if list.len() > 1 {
            writer.rice(0, self.rice);
            let n_more = list.len() as u64 - 1;
            writer.unary(n_more.ilog2().into());
            write_below_highest(writer, n_more);
            for pair in list.windows(2) {
                let difference = pair[1].1 - pair[0].1;
                writer.bits(difference.ilog2().into(), self.width_bits);
                write_below_highest(writer, difference.into());
            }
        }
    }
}

fn write_below_highest(writer: &mut Writer, x: u64) {
    writer.bits(x ^ (1 << x.ilog2()), x.ilog2());
}

fn read_below_highest(reader: &mut Reader, width: u64) -> Option<u64> {
    // No number that is written here has more bits.
    let width = u32::try_from(width).ok().filter(|width| *width <= u32::BITS)?;
    Some(1 << width | reader.bits(width)?)
}

/// The posts of a segment, read where they lie.
pub struct Posts<'a> {
    n_posts: usize,
    n_values: u64,
    coding: Coding,
    directory: &'a [[u8; 4]],
    stream: &'a [u8],
}

impl<'a> Posts<'a> {
    /// `None` if these cannot be bytes that `write` has appended.
    /// Whether they are those very bytes is for a checksum to say; reading wrong ones gives wrong posts, and ends.
    pub fn read(bytes: &'a [u8]) -> Option<Posts<'a>> {
        let (header, bytes) = bytes.split_first_chunk::<HEADER_BYTES>()?;
        let (n_posts, header) = header.split_first_chunk()?;
        let (n_values, header) = header.split_first_chunk()?;
        let (n_documents, header) = header.split_first_chunk()?;
        let (n_posts, n_values) = (u32::from_le_bytes(*n_posts) as usize, u64::from_le_bytes(*n_values));
        let (n_documents, rice) = (u32::from_le_bytes(*n_documents), u32::from(*header.first()?));
        let (directory, stream) = bytes.split_at_checked(n_buckets(n_values).checked_mul(4)?)?;
        let (directory, _) = directory.as_chunks();
        let end = directory.last().map_or(0, |end| u32::from_le_bytes(*end) as usize);
        let is_sound = end == stream.len() && rice <= MAX_RICE && (n_documents > 0 || n_posts == 0);
        is_sound.then(|| Posts { n_posts, n_values, coding: Coding::new(rice, n_documents), directory, stream })
    }

    /// How many posts there are.
    pub fn len(&self) -> usize {
        self.n_posts
    }

    pub fn is_empty(&self) -> bool {
        self.n_posts == 0
    }

    /// How many documents there can be.
    pub fn n_documents(&self) -> u32 {
        self.coding.n_documents
    }

    /// The documents that hold `blot`, or another one of the same value: ascending, each once.
    pub fn documents_of(&self, blot: u64) -> impl Iterator<Item = u32> {
        let value = value(blot, self.n_values);
        let posts = self.bucket((value >> BUCKET_BITS) as usize);
        posts.skip_while(move |post| post.0 < value).take_while(move |post| post.0 == value).map(|post| post.1)
    }

    /// All posts in order, each blot as its value.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u32)> {
        (0..self.directory.len()).flat_map(|bucket| self.bucket(bucket))
    }

    fn bucket(&self, bucket: usize) -> Bucket<'a> {
        let end = |bucket: usize| self.directory.get(bucket).map(|end| u32::from_le_bytes(*end) as usize);
        let start = if bucket == 0 { Some(0) } else { end(bucket - 1) };
        let reader = start.zip(end(bucket)).and_then(|(start, end)| Reader::new(self.stream, start, end));
        let first = (bucket as u64) << BUCKET_BITS;
        Bucket { coding: self.coding, reader: reader.unwrap_or_default(), first, next: first, document: 0, n_more: 0 }
    }
}

/// The posts of a bucket in order, up to the first that cannot be.
struct Bucket<'a> {
    coding: Coding,
    reader: Reader<'a>,
    /// The least value of the bucket.
    first: u64,
    /// One more than the value last read, or `first`.
    next: u64,
    document: u32,
    /// Documents still to come of the value last read.
    n_more: u64,
}

impl Bucket<'_> {
    fn read(&mut self) -> Option<(u64, u32)> {
        if self.n_more == 0 {
            let step = self.reader.rice(self.coding.rice)?;
            if step > 0 {
                self.next = self.next.checked_add(step).filter(|next| next - self.first <= 1 << BUCKET_BITS)?;
                self.document = self.reader.below(self.coding.documents)? as u32;
                return Some((self.next - 1, self.document));
            }
            if self.next == self.first {
                return None;
            }
            let width = self.reader.unary()?;
            self.n_more = read_below_highest(&mut self.reader, width)?;
        }
        self.n_more -= 1;
        let width = self.reader.bits(self.coding.width_bits)?;
        let document = u64::from(self.document) + read_below_highest(&mut self.reader, width)?;
        self.document = u32::try_from(document).ok().filter(|document| *document < self.coding.n_documents)?;
        Some((self.next - 1, self.document))
    }
}

impl Iterator for Bucket<'_> {
    type Item = (u64, u32);

    fn next(&mut self) -> Option<(u64, u32)> {
        let post = self.read();
        if post.is_none() {
            self.reader = Reader::default();
            self.n_more = 0;
        }
        post
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;
    use crate::blots::mix;

    fn written(posts: &[(u64, u32)], n_documents: u32) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut posts.to_vec(), n_documents, &mut out);
        out
    }

    fn documents_of(posts: &Posts, blot: u64) -> Vec<u32> {
        posts.documents_of(blot).collect()
    }

    /// Few blots in many documents, many in few, and blots that are not spread at all.
    fn sets() -> impl Strategy<Value = (Vec<(u64, u32)>, u32)> {
        let n_documents = prop_oneof![Just(1u32), Just(2), 3..70u32, 1000..70_000u32, Just(u32::MAX)];
        (n_documents, 1u64..3000, any::<bool>()).prop_flat_map(|(n_documents, n_blots, spread)| {
            let blot = (0..n_blots).prop_map(move |blot| if spread { mix(blot) } else { blot });
            prop::collection::vec((blot, 0..n_documents), 0..600).prop_map(move |posts| (posts, n_documents))
        })
    }

    /// Everything that can be asked of bytes, wrong ones too; gives what was found.
    fn read_all(bytes: &[u8], blots: &[(u64, u32)]) -> Option<Vec<(u64, u32)>> {
        let posts = Posts::read(bytes)?;
        for &(blot, _) in blots {
            let documents = documents_of(&posts, blot);
            assert!(documents.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(documents.iter().all(|document| *document < posts.coding.n_documents));
        }
        let all: Vec<(u64, u32)> = posts.iter().collect();
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]));
        Some(all)
    }

    proptest! {
        #![proptest_config(crate::cases(256))]

        #[test]
        fn a_blot_is_found_in_every_document_that_holds_one_of_its_value_and_in_no_other((posts, n_documents) in sets()) {
            let bytes = written(&posts, n_documents);
            let read = Posts::read(&bytes).unwrap();
            let n_values = posts.iter().collect::<BTreeSet<_>>().len() as u64 * VALUES_PER_POST;
            let mut model: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
            for &(blot, document) in &posts {
                model.entry(value(blot, n_values)).or_default().insert(document);
            }
            for blot in posts.iter().map(|post| post.0).chain((0..2000).map(mix)).chain([0, 1, u64::MAX]) {
                let expected: Vec<u32> = model.get(&value(blot, n_values)).into_iter().flatten().copied().collect();
                prop_assert_eq!(documents_of(&read, blot), expected);
            }
            let all: Vec<(u64, u32)> = model.iter().flat_map(|(value, of)| of.iter().map(|d| (*value, *d))).collect();
            prop_assert_eq!(read.len(), all.len());
            prop_assert_eq!(read.iter().collect::<Vec<_>>(), all);
        }

        #[test]
        fn the_bytes_depend_on_the_set_alone((posts, n_documents) in sets()) {
            let mut other = [&posts[..], &posts[..posts.len() / 2]].concat();
            other.reverse();
            prop_assert_eq!(written(&posts, n_documents), written(&other, n_documents));
        }

        #[test]
        fn wrong_bytes_give_sorted_posts_of_known_documents_or_nothing(
            (posts, n_documents) in sets(), wrong in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let mut bytes = written(&posts, n_documents);
            for (at, byte) in wrong {
                *at.get_mut(&mut bytes) = byte;
            }
            read_all(&bytes, &posts);
        }
    }

    #[test]
    fn every_byte_flipped_and_every_prefix_cut_is_read_without_harm() {
        let posts: Vec<(u64, u32)> = (0..400).map(|i| (mix(i % 150), (mix(i) % 90) as u32)).collect();
        let bytes = written(&posts, 90);
        for at in 0..bytes.len() {
            for flip in [1, 2, 4, 8, 16, 32, 64, 128, 255] {
                let mut wrong = bytes.clone();
                wrong[at] ^= flip;
                read_all(&wrong, &posts);
            }
            assert!(Posts::read(&bytes[..at]).is_none(), "cut at {at}");
        }
    }

    #[test]
    fn nothing_is_a_set_of_posts_too() {
        let bytes = written(&[], 0);
        let posts = Posts::read(&bytes).unwrap();
        assert!(posts.is_empty() && posts.iter().next().is_none() && documents_of(&posts, 7).is_empty());
    }

    #[test]
    fn what_stood_in_the_output_before_stays() {
        let mut out = b"before".to_vec();
        write(&mut vec![(mix(1), 0), (mix(2), 1)], 2, &mut out);
        let posts = Posts::read(out.strip_prefix(b"before").unwrap()).unwrap();
        assert!(documents_of(&posts, mix(2)).contains(&1));
    }

    /// As in a large C tree: four posts in five are of blots that stand alone, lists are short but for a few.
    #[test]
    fn a_post_takes_three_bytes() {
        let n_documents = 55_000;
        let mut posts = Vec::new();
        for blot in 0..200_000 {
            let list = match blot {
                0..20 => 2000,
                20..2000 => 10,
                2000..16_000 => 2,
                _ => 1,
            };
            posts.extend((0..list).map(|i| (mix(blot), (mix(blot << 20 | i) % n_documents) as u32)));
        }
        let bytes = written(&posts, n_documents as u32);
        let per_post = bytes.len() as f64 / Posts::read(&bytes).unwrap().len() as f64;
        assert!(per_post < 3.1, "{per_post}");
    }
}
