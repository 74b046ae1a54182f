//! What differs between copies: which names and literals vary, and what stands in some of them only.

use std::ops::Range;

use super::bodies::{Tokens, code_of};
use super::lcs::Pattern;
use super::renaming::Renaming;

/// Tokens between two differences that are too few to be told apart from them: a bracket, a comma.
const MAX_BETWEEN: u32 = 2;

/// One difference: what stands at the same place of each copy, as ranges of its tokens. Empty, where it has nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub ranges: Vec<Range<u32>>,
}

/// The table of differences of copies, in the order of the first one.
pub fn differences(copies: &[Tokens]) -> Vec<Difference> {
    let Some((first, others)) = copies.split_first() else { return Vec::new() };
    let changes: Vec<Vec<Change>> = others.iter().map(|other| changes(first, other)).collect();
    // What overlaps in the first copy is one difference, and so is an insertion beside one.
    let mut rows: Vec<Range<u32>> = changes.iter().flatten().map(|change| change.own.clone()).collect();
    rows.sort_by_key(|range| (range.start, range.end));
    rows.dedup_by(|next, row| {
        let touches = next.start == row.end && (next.start == next.end || row.start == row.end);
        let joins = next.start < row.end || touches;
        if joins {
            row.end = row.end.max(next.end);
        }
        joins
    });
    let mut table: Vec<Difference> = rows.iter().map(|row| Difference { ranges: vec![row.clone()] }).collect();
    for changes in changes {
        let mut changes = changes.into_iter().peekable();
        // How far both copies were read: between changes they go on at one pace.
        let (mut own_end, mut other_end) = (0, 0);
        for (row, difference) in rows.iter().zip(&mut table) {
            let start = other_end + (row.start - own_end);
            (own_end, other_end) = (row.start, start);
            while let Some(change) = changes.next_if(|change| change.own.end <= row.end) {
                (own_end, other_end) = (change.own.end, change.other.end);
            }
            (own_end, other_end) = (row.end, other_end + (row.end - own_end));
            difference.ranges.push(start..other_end);
        }
    }
    table
}

/// Where two copies differ: these tokens stand in the place of those.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    own: Range<u32>,
    other: Range<u32>,
}

/// The changes from one copy to another, in order.
fn changes(own: &Tokens, other: &Tokens) -> Vec<Change> {
    let codes = |tokens: &Tokens| tokens.iter().map(|&token| u32::from(code_of(token))).collect::<Vec<u32>>();
    let (own_codes, other_codes) = (codes(own), codes(other));
    let mut pattern = Pattern::default();
    let pairs: Vec<(u32, u32)> = if own_codes == other_codes {
        (0..own.len() as u32).map(|i| (i, i)).collect()
    } else {
        pattern.set(&own_codes);
        let aligned = pattern.align(&other_codes);
        let renaming = Renaming::of(aligned.iter().map(|&(i, j)| (own[i as usize], other[j as usize])));
        let mapped: Vec<u32> = own.iter().map(|&token| renaming.apply(token)).collect();
        pattern.set(&mapped);
        pattern.align(other)
    };
    let mut changes: Vec<Change> = Vec::new();
    let (mut i, mut j) = (0, 0);
    let mut push = |own: Range<u32>, other: Range<u32>| {
        match changes.last_mut() {
            // Not where only names follow each other, each of which is a difference of its own.
            Some(last)
                if own.start - last.own.end <= MAX_BETWEEN
                    && !(is_name(last) && own.len() == 1 && other.len() == 1) =>
            {
                (last.own.end, last.other.end) = (own.end, other.end);
            }
            _ => changes.push(Change { own, other }),
        }
    };
    for (x, y) in pairs {
        if (x, y) != (i, j) {
            push(i..x, j..y);
        }
        if own[x as usize] != other[y as usize] {
            push(x..x + 1, y..y + 1);
        }
        (i, j) = (x + 1, y + 1);
    }
    let (n, m) = (own.len() as u32, other.len() as u32);
    if (n, m) != (i, j) {
        push(i..n, j..m);
    }
    changes
}

fn is_name(change: &Change) -> bool {
    change.own.len() == 1 && change.other.len() == 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::document::Document;
    use crate::document::tests::document;
    use crate::near::tokens_of;
    use crate::settings::Settings;

    fn table(texts: &[&str]) -> Vec<Vec<String>> {
        let read = |text: &&str| document("a.go", text, &Settings::default()).expect("a text");
        let documents: Vec<Document> = texts.iter().map(read).collect();
        let copies: Vec<Tokens> =
            documents.iter().map(|document| tokens_of(document, 0..document.codes.len() as u32)).collect();
        let words: Vec<Vec<&str>> = texts.iter().map(|text| text.split_whitespace().collect()).collect();
        for (copy, words) in copies.iter().zip(&words) {
            assert_eq!(copy.len(), words.len(), "a blank between tokens: {words:?}");
        }
        let cell =
            |(words, range): (&Vec<&str>, &Range<u32>)| words[range.start as usize..range.end as usize].join(" ");
        differences(&copies).iter().map(|row| words.iter().zip(&row.ranges).map(cell).collect()).collect()
    }

    #[test]
    fn names_literals_and_statements_that_differ_are_told() {
        assert_eq!(table(&["a = b + 1", "a = b + 1"]), Vec::<Vec<String>>::new());
        assert_eq!(table(&["a = b + 1 ; c ( a )", "a = d + 2 ; c ( a )"]), [["b", "d"], ["1", "2"]]);
        let three = ["f ( a ) ; g ( b ) ; return a", "f ( a ) ; return a", "f ( a ) ; g ( c ) ; return a"];
        assert_eq!(table(&three), [["g ( b ) ;", "", "g ( c ) ;"]]);
        let renamed = ["for i = x ; i < n ; { s += i }", "for k = x ; k < n ; { if k > 2 { s += k } }"];
        assert_eq!(table(&renamed), [["i", "k"], ["i", "k"], ["s += i", "if k > 2 { s += k }"]]);
    }

    proptest! {
        #![proptest_config(crate::cases(256))]

        /// What is no difference is the same in all copies, and between differences all of them go on at one pace.
        #[test]
        fn beside_the_differences_all_copies_are_equal(
            copies in prop::collection::vec(prop::collection::vec(0u32..4, 0..30), 1..5),
        ) {
            let copies: Vec<Tokens> = copies.into_iter().map(|copy| copy.iter().map(|token| token + 40).collect()).collect();
            let table = differences(&copies);
            let rest = |i: usize| -> Vec<Vec<u32>> {
                let mut parts = Vec::new();
                let mut from = 0;
                for row in &table {
                    let range = &row.ranges[i];
                    assert!(from <= range.start && range.start <= range.end, "{table:?}");
                    parts.push(copies[i][from as usize..range.start as usize].to_vec());
                    from = range.end;
                }
                parts.push(copies[i][from as usize..].to_vec());
                parts
            };
            for i in 1..copies.len() {
                prop_assert_eq!(rest(0), rest(i), "{:?} of {:?}", table, copies);
            }
        }
    }
}
