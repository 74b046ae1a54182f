//! What a document is made of, each once: the least hash of a set is that of the list with all its repetitions.

use std::collections::HashSet;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use dupi_grammars::token::Lexed;
use dupi_grammars::{Language, tokenize};
use foldhash::fast::RandomState;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Characters, or tokens, of a feature.
pub const LENGTH: usize = 5;
/// Bytes of a feature at most: five characters of UTF-8.
const MAX_BYTES: usize = 4 * LENGTH;

/// A few bytes, and in the last one of all how many.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Feature<const N: usize>([u8; N]);

impl<const N: usize> Feature<N> {
    fn new(bytes: &[u8]) -> Feature<N> {
        let mut feature = [0; N];
        feature[..bytes.len()].copy_from_slice(bytes);
        feature[N - 1] = bytes.len() as u8;
        Feature(feature)
    }
}

/// Bytes of a feature that is kept among the short ones, all of ASCII among them.
const SHORT: usize = 7;

#[derive(Clone, Copy)]
pub(super) enum Ref<'a> {
    Short(&'a Feature<{ SHORT + 1 }>),
    Long(&'a Feature<{ MAX_BYTES + 1 }>),
}

impl<'a> Ref<'a> {
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Ref::Short(Feature(bytes)) => &bytes[..usize::from(bytes[SHORT])],
            Ref::Long(Feature(bytes)) => &bytes[..usize::from(bytes[MAX_BYTES])],
        }
    }
}

/// The features of a document. Reused from document to document to save allocations.
#[derive(Default)]
pub struct Features {
    short: HashSet<Feature<{ SHORT + 1 }>, RandomState>,
    long: HashSet<Feature<{ MAX_BYTES + 1 }>, RandomState>,
    lexed: Lexed,
}

impl Features {
    pub fn of_text(text: &str) -> Features {
        let mut features = Features::default();
        features.read_text(text);
        features
    }

    /// All runs of five characters of a text.
    pub fn read_text(&mut self, text: &str) {
        self.clear();
        if text.is_ascii() {
            self.short.extend(text.as_bytes().windows(LENGTH).map(Feature::new));
            return;
        }
        let starts = || text.char_indices().map(|(start, _)| start);
        let ends = starts().chain([text.len()]).skip(LENGTH);
        for (start, end) in starts().zip(ends) {
            self.insert(&text.as_bytes()[start..end]);
        }
    }

    /// All runs of five tokens, each as a hash of their texts. A text of no known language, or one that its language
    /// cannot read, is made of words and single characters.
    pub fn read_tokens(&mut self, language: Option<&'static Language>, text: &str) {
        self.clear();
        let mut lexed = std::mem::take(&mut self.lexed);
        // A tokenizer that panics costs its own document and no other.
        let read =
            AssertUnwindSafe(|| language.is_some_and(|known| tokenize(known, text.as_bytes(), &mut lexed).is_ok()));
        let is_read = catch_unwind(read).unwrap_or(false);
        let hashes: Vec<u64> = if is_read {
            let texts = lexed.tokens.iter().map(|token| &text.as_bytes()[token.start as usize..token.end as usize]);
            texts.map(xxh3_64).collect()
        } else {
            words(text).map(|word| xxh3_64(word.as_bytes())).collect()
        };
        self.lexed = lexed;
        for run in hashes.windows(LENGTH.min(hashes.len()).max(1)) {
            let hash = run.iter().fold(0, |hash, token| xxh3_64_with_seed(&token.to_le_bytes(), hash));
            self.short.insert(Feature::new(&hash.to_le_bytes()[..SHORT]));
        }
    }

    fn clear(&mut self) {
        self.short.clear();
        self.long.clear();
    }

    fn insert(&mut self, bytes: &[u8]) {
        if bytes.len() <= SHORT {
            self.short.insert(Feature::new(bytes));
        } else {
            self.long.insert(Feature::new(bytes));
        }
    }

    /// The features of so many bytes.
    pub(super) fn of_lengths(&self, lengths: Range<usize>) -> impl Iterator<Item = Ref<'_>> {
        let all = self.short.iter().map(Ref::Short).chain(self.long.iter().map(Ref::Long));
        all.filter(move |feature| lengths.contains(&feature.bytes().len()))
    }
}

/// Words, and all other characters that are no blanks, one by one.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let first = rest.chars().next()?;
        let end = if is_word(first) { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (word, behind) = rest.split_at(end);
        rest = behind;
        Some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Features {
        pub fn of_numbers(numbers: impl Iterator<Item = u32>) -> Features {
            let mut features = Features::default();
            features.short.extend(numbers.map(|number| Feature::new(&number.to_le_bytes())));
            features
        }
    }

    fn sorted(features: &Features) -> Vec<Vec<u8>> {
        let mut all: Vec<Vec<u8>> = features.of_lengths(0..99).map(|feature| feature.bytes().to_vec()).collect();
        all.sort();
        all
    }

    #[test]
    fn characters_are_those_of_unicode() {
        let grams = |text: &str| sorted(&Features::of_text(text));
        assert_eq!(grams("abcabcabc"), [b"abcab", b"bcabc", b"cabca"]);
        assert_eq!(grams("aé→日𝄞b"), ["aé→日𝄞".as_bytes(), "é→日𝄞b".as_bytes()]);
        assert_eq!(grams("a\0a\0a\0"), [b"\0a\0a\0", b"a\0a\0a"]);
        assert_eq!(grams("日本語で"), Vec::<Vec<u8>>::new(), "four are too few");
        assert_eq!(grams("𝄞𝄞𝄞𝄞𝄞").concat().len(), 20);
    }

    #[test]
    fn blanks_and_comments_are_no_tokens() {
        let tokens = |language: &str, text: &str| {
            let mut features = Features::default();
            features.read_tokens(dupi_grammars::by_name(language), text);
            sorted(&features)
        };
        let text = "package a\n\nfunc f() int {\n\treturn g(1)\n}\n";
        assert_eq!(tokens("go", &text.replace('\n', "\n// well\n")), tokens("go", text));
        assert_ne!(tokens("go", &text.replace('1', "2")), tokens("go", text));
        assert_ne!(tokens("", &text.replace('\n', "\n// well\n")), tokens("", text), "of no language");
        assert_eq!(tokens("", "a  b_1\n+é"), tokens("", "a b_1+ é"));
        assert_eq!(tokens("", "a b").len(), 1, "what is short is one feature");
        assert_eq!(tokens("", " "), Vec::<Vec<u8>>::new());
    }
}
