//! The taboo list: texts that everybody has, and that are therefore no copies of each other: idioms, boilerplate.
//!
//! A run of tokens is taboo if every window of it stands in a text of the list. Windows are compared as blots are, so
//! neither formatting nor, unless the window is plain, names matter. They are always of one size and by the rolling blotter:
//! what is taboo does not depend on how an index was made.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use dupi_grammars::token::Code;

use crate::blots::{Blotter, Blotting, mix};
use crate::candidates::family_salt;
use crate::class::Fragment;
use crate::document::Document;

/// The least number of tokens of a taboo text. A shorter one stands in everything, by chance.
pub const MIN_TOKENS: usize = 12;

/// What texts are taboo. None by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taboo {
    /// Blots by the size of their windows: a text that is shorter than a window is one window.
    windows: BTreeMap<usize, HashSet<u64>>,
}

impl Taboo {
    pub fn is_empty(&self) -> bool {
        self.windows.is_empty()
    }

    /// Adds the text of a document; no, if it has fewer than [`MIN_TOKENS`].
    pub fn add(&mut self, document: &Document) -> bool {
        let k = document.codes.len().min(Blotting::K);
        if k < MIN_TOKENS {
            return false;
        }
        let blots = self.windows.entry(k).or_default();
        each_window(document, &document.codes, document.symbols(), k, |_, blot| blots.extend([blot]));
        true
    }

    /// The same for the same texts, whatever their order.
    pub fn fingerprint(&self) -> u64 {
        let blots = self.windows.iter().flat_map(|(&k, blots)| blots.iter().map(move |blot| mix(blot ^ k as u64)));
        blots.fold(0, u64::wrapping_add)
    }

    /// The token ranges of a document that are taboo, in order and apart.
    pub fn ranges(&self, document: &Document) -> Vec<Range<u32>> {
        self.ranges_in(document, &document.codes, document.symbols())
    }

    fn ranges_in(&self, document: &Document, codes: &[Code], symbols: &[u32]) -> Vec<Range<u32>> {
        let mut found: Vec<Range<u32>> = Vec::new();
        for (&k, blots) in &self.windows {
            each_window(document, codes, symbols, k, |start, blot| {
                if blots.contains(&blot) {
                    found.push(start as u32..(start + k) as u32);
                }
            });
        }
        found.sort_unstable_by_key(|range| range.start);
        found.dedup_by(|next, range| {
            let touches = next.start <= range.end;
            if touches {
                range.end = range.end.max(next.end);
            }
            touches
        });
        found
    }

    /// How many of some tokens of a document do not lie in taboo texts.
    pub fn n_spared(&self, document: &Document, start: u32, end: u32) -> u32 {
        if self.is_empty() {
            return end - start;
        }
        let (codes, symbols) = document.read_tokens(start, end);
        let covered: u32 = self.ranges_in(document, codes, symbols).iter().map(|range| range.end - range.start).sum();
        end - start - covered
    }

    /// The places that do not lie wholly in a taboo text.
    pub fn spared<'a>(&self, documents: &[Arc<Document>], places: &'a [Fragment]) -> Cow<'a, [Fragment]> {
        if self.is_empty() {
            return Cow::Borrowed(places);
        }
        let is_spared =
            |place: &&Fragment| self.n_spared(&documents[place.document as usize], place.start, place.end) > 0;
        let spared: Vec<Fragment> = places.iter().filter(is_spared).copied().collect();
        // One place is no copy of anything.
        if spared.len() < 2 { Cow::Owned(Vec::new()) } else { Cow::Owned(spared) }
    }
}

/// Calls `each` for each window of `k` of these tokens of a document, with its start and its blot.
fn each_window(document: &Document, codes: &[Code], symbols: &[u32], k: usize, mut each: impl FnMut(usize, u64)) {
    let blotting = Blotting { blotter: Blotter::Rolling, k, w: 1 };
    let family = family_salt(document.language.family);
    blotting.all(codes, symbols, &mut Vec::new(), |start, blot| each(start, mix(blot ^ family)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::tests::document;
    use crate::search::classes;
    use crate::settings::Settings;

    const IDIOM: &str = "\tfor i := 0; i < n; i++ {\n\t\tif err := list[i].Close(); err != nil {\n\t\t\tlog.Println(err, i)\n\t\t\treturn err\n\t\t}\n\t\tclosed += 2\n\t}\n";
    const MORE: &str = "\tif closed > n*3 {\n\t\tfor closed > n {\n\t\t\tclosed -= step(n)\n\t\t}\n\t}\n";

    fn taboo(text: &str) -> Settings {
        let mut taboo = Taboo::default();
        assert!(taboo.add(&document("taboo.go", text, &Settings::default()).expect("a text")));
        Settings { min_tokens: 30, test_min_tokens: 30, min_lines: 2, taboo: Arc::new(taboo), ..Settings::default() }
    }

    fn documents(body: &str, settings: &Settings) -> Vec<Arc<Document>> {
        // Around it no two are alike.
        let around =
            [("\ta := 1\n", "\treturn nil\n"), ("\tgo h()\n", "\tpanic(n)\n"), ("\tvar b, c T\n", "\tb <- c\n")];
        let text = |i: usize| format!("package p\n\nfunc f(n int) error {{\n{}{body}{}}}\n", around[i].0, around[i].1);
        (0..3).map(|i| Arc::new(document(&format!("{i}.go"), &text(i), settings).expect("a text"))).collect()
    }

    #[test]
    fn what_lies_in_a_taboo_text_is_no_copy_and_what_is_more_than_that_is_one() {
        let none = Settings { taboo: Arc::default(), ..taboo(IDIOM) };
        for (body, settings, expected) in [
            (IDIOM, &none, true),
            (IDIOM, &taboo(IDIOM), false),
            (IDIOM, &taboo(MORE), true),
            (&format!("{IDIOM}{MORE}"), &taboo(IDIOM), true),
        ] {
            assert_eq!(!classes(&documents(body, settings), settings).is_empty(), expected, "{body}");
        }
    }

    #[test]
    fn neither_names_nor_formatting_hide_it() {
        let settings = taboo(&IDIOM.replace('\t', " ").replace("list", "files").replace("closed", "done"));
        assert_eq!(classes(&documents(IDIOM, &settings), &settings), []);
    }

    #[test]
    fn ranges_are_where_it_stands() {
        let settings = taboo(IDIOM);
        let document = &documents(IDIOM, &settings)[0];
        let idiom = crate::document::tests::document("taboo.go", IDIOM, &settings).expect("a text");
        let at = document.codes.windows(idiom.codes.len()).position(|codes| *codes == *idiom.codes);
        let start = at.expect("it stands there") as u32;
        assert_eq!(settings.taboo.ranges(document), vec![start..start + idiom.codes.len() as u32]);
    }

    #[test]
    fn what_stands_in_everything_cannot_be_taboo() {
        let short = document("a.go", "x = f(y, 1)", &Settings::default()).expect("a text");
        let mut taboo = Taboo::default();
        assert!(!taboo.add(&short) && taboo.is_empty());
    }
}
