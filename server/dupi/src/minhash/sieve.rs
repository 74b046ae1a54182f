//! Which documents of a group are duplicates: of one before them in the group, or of one of another group.
//!
//! One bucket place after the other. If the buckets of a place do not fit into the memory that was given, they are
//! looked at in parts, each of which holds an equal share of all values that a bucket can have: the file is read once for
//! each part, nothing is written but the answer, and that is the same for any memory.

use rayon::prelude::*;

use super::hashes::Hashes;
use super::seen::{Seen, SeenWriter};
use super::{Bucket, NONE, Unusable};

/// A bucket, and which document has it.
type Entry = (Bucket, u64);

/// How far it is: places done, of how many.
pub type Progress<'a> = &'a (dyn Fn(u32, u32) + Sync);

/// Which documents have a bucket that one before them has. All documents are numbered through, file after file.
/// What was seen goes into an index, if one is wanted.
pub fn within(
    group: &mut [Hashes],
    memory: u64,
    mut index: Option<&mut SeenWriter>,
    progress: Progress,
) -> Result<Vec<bool>, Unusable> {
    let n: u64 = group.iter().map(Hashes::len).sum();
    let places = group.first().map_or(0, |hashes| hashes.shape().buckets);
    // Room for as many again, of which some will turn out to be equal.
    let limit = (memory / (2 * size_of::<Entry>() as u64)).max(1);
    let n_parts = n.div_ceil(limit).max(1);
    let mut duplicates = vec![false; n as usize];
    for place in 0..places {
        for part in 0..n_parts {
            let mut entries: Vec<Entry> = Vec::new();
            let mut first_in_file = 0;
            for hashes in &mut *group {
                let mut document = first_in_file;
                hashes.column(place, |buckets| {
                    let numbered = buckets.iter().copied().zip(document..);
                    entries.extend(numbered.filter(|(bucket, _)| part_of(*bucket, n_parts) == Some(part)));
                    document += buckets.len() as u64;
                    // Many equal ones are one; without this a part could hold all documents.
                    if entries.len() as u64 > 2 * limit {
                        settle(&mut entries, &mut duplicates);
                    }
                    Ok(())
                })?;
                first_in_file += hashes.len();
            }
            settle(&mut entries, &mut duplicates);
            if let Some(index) = &mut index {
                entries.iter().try_for_each(|(bucket, _)| index.put(*bucket))?;
            }
        }
        index.iter_mut().for_each(|index| index.end_column());
        progress(place + 1, places);
    }
    Ok(duplicates)
}

/// Sorts what was seen and leaves the first document of each bucket; all others are duplicates.
fn settle(entries: &mut Vec<Entry>, duplicates: &mut [bool]) {
    entries.par_sort_unstable();
    entries.dedup_by(|later, first| {
        let same = later.0 == first.0;
        if same {
            duplicates[later.1 as usize] = true;
        }
        same
    });
}

/// Which of `n` equal parts of all values a bucket is in, unless its document takes no part.
fn part_of(bucket: Bucket, n: u64) -> Option<u64> {
    (bucket != NONE).then(|| (((bucket >> 64) * u128::from(n)) >> 64) as u64)
}

/// Which documents of one file have a bucket that was seen.
pub fn against(hashes: &mut Hashes, seen: &mut Seen, memory: u64, progress: Progress) -> Result<Vec<bool>, Unusable> {
    let places = hashes.shape().buckets;
    let limit = usize::try_from(memory / size_of::<Bucket>() as u64).unwrap_or(usize::MAX);
    let mut duplicates = vec![false; hashes.len() as usize];
    for place in 0..places {
        seen.column(place, limit, |seen| {
            let mut document = 0;
            hashes.column(place, |buckets| {
                let flags = &mut duplicates[document..document + buckets.len()];
                flags.par_iter_mut().zip(buckets).with_min_len(256).for_each(|(flag, bucket)| {
                    *flag |= *bucket != NONE && seen.binary_search(bucket).is_ok();
                });
                document += buckets.len();
                Ok(())
            })
        })?;
        progress(place + 1, places);
    }
    Ok(duplicates)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::{Path, PathBuf};

    use proptest::prelude::*;
    use xxhash_rust::xxh3::xxh3_64_with_seed;

    use super::*;
    use crate::minhash::features::Features;
    use crate::minhash::hashes::HashesWriter;
    use crate::minhash::{BUCKETS, Function, Hasher, Of, Shape, WIDTH, murmur3};

    /// A hash of some bytes, by seed.
    type Naive = fn(&[u8], u64) -> u64;

    const QUIET: Progress = &|_, _| {};

    fn shape(function: Function) -> Shape {
        Shape { function, of: Of::Characters, width: WIDTH, buckets: BUCKETS }
    }

    fn write(path: &Path, shape: Shape, texts: &[Option<String>]) -> Hashes {
        let mut writer = HashesWriter::create(path, shape).expect("a file");
        writer.begin("texts".to_owned());
        let hasher = Hasher::new(shape);
        for text in texts {
            let buckets = text.as_ref().map(|text| hasher.buckets(&Features::of_text(text)));
            writer.put(buckets.as_deref()).expect("written");
        }
        assert_eq!(writer.finish().expect("written"), texts.len() as u64);
        Hashes::open(path).expect("as it was written")
    }

    fn murmur3(bytes: &[u8], seed: u64) -> u64 {
        u64::from(murmur3::tests::murmur3(bytes, seed as u32))
    }

    /// The algorithm as it is described: 20 least hashes in the order of their seeds are a bucket, 40 buckets a document,
    /// and who has a bucket that was seen before is a duplicate.
    fn reference(texts: &[Option<String>], hash: Naive) -> Vec<bool> {
        let mut seen: HashSet<(usize, Vec<u64>)> = HashSet::new();
        let mut duplicates = Vec::new();
        for text in texts {
            let Some(text) = text else {
                duplicates.push(false);
                continue;
            };
            let chars: Vec<char> = text.chars().collect();
            let grams: Vec<String> = chars.windows(5).map(|gram| gram.iter().collect()).collect();
            let least = |seed: u64| grams.iter().map(|gram| hash(gram.as_bytes(), seed)).min().unwrap_or(u64::MAX);
            let buckets: Vec<(usize, Vec<u64>)> =
                (0..40).map(|bucket| (bucket, (0..20).map(|i| least((bucket * 20 + i) as u64)).collect())).collect();
            duplicates.push(buckets.iter().any(|bucket| seen.contains(bucket)));
            seen.extend(buckets);
        }
        duplicates
    }

    /// Texts of which some are alike: each is one of a few, with some words changed.
    fn texts() -> impl Strategy<Value = Vec<Option<String>>> {
        let words = prop::collection::vec("[a-d日é ]{2,7}", 30..60);
        let edits = prop::collection::vec((0..4usize, prop::collection::vec((0..60usize, "[x-z]{1,3}"), 0..5)), 1..12);
        (prop::collection::vec(words, 4), edits, any::<u8>()).prop_map(|(bases, edits, lost)| {
            let text = |(base, edits): (usize, Vec<(usize, String)>)| {
                let mut words = bases[base].clone();
                for (at, word) in edits {
                    let at = at % words.len();
                    words[at] = word;
                }
                words.concat()
            };
            let mut texts: Vec<Option<String>> = edits.into_iter().map(|edit| Some(text(edit))).collect();
            texts.extend([Some("tiny".to_owned()), Some("日本".to_owned())]);
            let lost = usize::from(lost) % texts.len();
            texts[lost] = None;
            texts
        })
    }

    fn folder() -> (tempfile::TempDir, impl Fn(&str) -> PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().to_owned();
        (folder, move |name: &str| path.join(name))
    }

    proptest! {
        #![proptest_config(crate::cases(12))]

        #[test]
        fn flags_are_those_of_the_reference_for_any_memory_and_any_groups(texts in texts(), cut: u8, memory in 1..400u64) {
            let (_folder, path) = folder();
            let functions: [(Function, Naive); 2] =
                [(Function::Murmur3, murmur3), (Function::Xxh3, xxh3_64_with_seed)];
            for (function, hash) in functions {
                let expected = reference(&texts, hash);
                let mut all = [write(&path("all"), shape(function), &texts)];
                prop_assert_eq!(&within(&mut all, 1 << 30, None, QUIET).expect("readable"), &expected);
                prop_assert_eq!(&within(&mut all, memory, None, QUIET).expect("readable"), &expected);

                let (one, two) = texts.split_at(usize::from(cut) % (texts.len() + 1));
                let mut one = [write(&path("one"), shape(function), one)];
                let mut two = write(&path("two"), shape(function), two);
                let mut index = SeenWriter::create(&path("index"), shape(function)).expect("a file");
                let mut flags = within(&mut one, memory, Some(&mut index), QUIET).expect("readable");
                index.finish().expect("written");
                let mut seen = Seen::open(&path("index")).expect("as it was written");
                let other = against(&mut two, &mut seen, memory, QUIET).expect("readable");
                let itself = within(std::slice::from_mut(&mut two), memory, None, QUIET).expect("readable");
                flags.extend(other.iter().zip(itself).map(|(other, itself)| *other || itself));
                prop_assert_eq!(&flags, &expected, "in two groups");
                let [one] = one;
                prop_assert_eq!(&within(&mut [one, two], memory, None, QUIET).expect("readable"), &expected, "in one");
            }
        }
    }

    #[test]
    fn more_documents_than_a_block_and_more_equal_ones_than_memory() {
        let (_folder, path) = folder();
        let text = |i| if i % 3 == 0 { "the same again".to_owned() } else { xxh3_64_with_seed(b"", i).to_string() };
        let texts: Vec<Option<String>> = (0..2500).map(|i| Some(text(i))).collect();
        let small = Shape { buckets: 2, ..shape(Function::Xxh3) };
        let mut group = [write(&path("a"), small, &texts)];
        let all = within(&mut group, 1 << 30, None, QUIET).expect("readable");
        assert_eq!(all.iter().filter(|flag| **flag).count(), all.len() / 3, "each third but the first");
        assert_eq!(within(&mut group, 1000, None, QUIET).expect("readable"), all);
    }

    #[test]
    fn what_was_cut_or_changed_is_told_and_never_read_as_if_it_were_whole() {
        let (_folder, path) = folder();
        let small = Shape { width: 2, buckets: 2, ..shape(Function::Murmur3) };
        let texts = ["one text", "two text", "one text"].map(|text| Some(text.to_owned()));
        let mut group = [write(&path("a"), small, &texts)];
        let mut index = SeenWriter::create(&path("i"), small).expect("a file");
        within(&mut group, 1 << 20, Some(&mut index), QUIET).expect("readable");
        index.finish().expect("written");
        let use_hashes = |path: &Path| within(&mut [Hashes::open(path)?], 1 << 20, None, QUIET).map(drop);
        let use_index = |path: &Path, hashes: &Path| {
            against(&mut Hashes::open(hashes)?, &mut Seen::open(path)?, 1 << 20, QUIET).map(drop)
        };
        use_hashes(&path("a")).expect("whole");
        use_index(&path("i"), &path("a")).expect("whole");
        for name in ["a", "i"] {
            let bytes = std::fs::read(path(name)).expect("a file");
            let bad = path("bad");
            for i in 0..bytes.len() {
                let mut flipped = bytes.clone();
                flipped[i] ^= 0x40;
                for content in [&bytes[..i], &flipped] {
                    std::fs::write(&bad, content).expect("a file");
                    let used = if name == "a" { use_hashes(&bad) } else { use_index(&bad, &path("a")) };
                    assert!(used.is_err(), "{name} {i} of {}", bytes.len());
                }
            }
        }
    }

    /// Pairs of sets of which nine tenths are common: found with probability 1 − (1 − 0.9²⁰)⁴⁰ = 92.5 %.
    #[test]
    fn what_has_nine_tenths_in_common_is_found_as_often_as_it_should() {
        const PAIRS: u32 = 1000;
        let mut found = [0u32; 2];
        for (function, found) in [Function::Murmur3, Function::Xxh3].into_iter().zip(&mut found) {
            let hasher = Hasher::new(shape(function));
            for pair in 0..PAIRS {
                // 90 common features, and 5 more of each.
                let side = |own: std::ops::Range<u32>| {
                    hasher.buckets(&Features::of_numbers((0..90).chain(own).map(|i| 100 * pair + i)))
                };
                let (one, two) = (side(90..95), side(95..100));
                *found += u32::from(one.iter().zip(&two).any(|(one, two)| one == two));
            }
        }
        let expected = 1.0 - (1.0 - 0.9f64.powi(20)).powi(40);
        let error = (expected * (1.0 - expected) / f64::from(PAIRS)).sqrt();
        for found in found {
            let share = f64::from(found) / f64::from(PAIRS);
            assert!((share - expected).abs() < 3.0 * error, "{share} is not {expected:.3} ± {:.3}", 3.0 * error);
        }
    }
}
