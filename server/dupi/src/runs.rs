//! Maximal runs: all sequences of sibling units that stand in two places or more and cannot be made longer.
//!
//! Units are letters, lists of siblings are words; a suffix array over all of them gives every maximal repeat at once,
//! without looking at pairs. A pattern that repeats itself in a row is one letter: otherwise a table of n equal lines
//! would have n² repeats in itself.

use std::ops::Range;

use dupi_grammars::token::Unit;
use libsais::SuffixArrayConstruction;
use rayon::prelude::*;

use crate::class::Fragment;
use crate::document::Document;
use crate::fingerprint::{Fingerprint, LastUses, fingerprint};

/// The longest pattern, in units, that is looked for at every place of a list; longer ones only where a unit comes again.
const MAX_PERIOD: usize = 8;
/// How often a pattern must come in a row to be one letter.
const MIN_REPEATS: usize = 3;

/// One letter: a unit, or a row of repeated units.
#[derive(Clone, Copy, Debug)]
pub struct Letter {
    pub fragment: Fragment,
    pub print: Fingerprint,
    /// Not a neighbour of the letter before it.
    pub first: bool,
}

/// What one document contributes.
#[derive(Default)]
pub struct Letters {
    pub letters: Vec<Letter>,
    /// Pieces that are large enough to be a copy by themselves: single units, and the patterns of rows.
    pub pieces: Vec<(u64, Fragment)>,
}

/// The letters of a document that lie in `shared` ranges, in lists whose runs can reach `floor` tokens.
pub fn letters(
    document: &Document,
    index: u32,
    shared: &[Range<u32>],
    floor: u32,
    imports: bool,
    uses: &mut LastUses,
) -> Letters {
    let mut out = Letters::default();
    if shared.is_empty() {
        return out;
    }
    uses.read(&document.codes, document.symbols());
    let mut order: Vec<u32> = (0..document.units.len() as u32).collect();
    order.sort_by_key(|&i| document.units[i as usize].list);
    let mut stretch: Vec<Unit> = Vec::new();
    let mut range = 0;
    let mut list = u32::MAX;
    for &i in &order {
        let unit = document.units[i as usize];
        if unit.list != list {
            end_stretch(document, index, &mut stretch, floor, uses, &mut out);
            list = unit.list;
            range = shared.partition_point(|shared| shared.end <= unit.start);
        }
        while shared.get(range).is_some_and(|shared| shared.end <= unit.start) {
            range += 1;
        }
        let inside = shared.get(range).is_some_and(|shared| shared.start <= unit.start && unit.end <= shared.end);
        let counts = inside
            && (imports || unit.flags & Unit::IMPORT == 0)
            && (document.muted.is_empty() || !document.is_muted(unit.start, unit.end));
        if !counts || unit.flags & Unit::BREAK != 0 {
            end_stretch(document, index, &mut stretch, floor, uses, &mut out);
        }
        if counts {
            stretch.push(unit);
        }
    }
    end_stretch(document, index, &mut stretch, floor, uses, &mut out);
    out
}

/// Turns neighbours into letters, if together they can be a copy.
fn end_stretch(
    document: &Document,
    index: u32,
    stretch: &mut Vec<Unit>,
    floor: u32,
    uses: &LastUses,
    out: &mut Letters,
) {
    let (Some(first), Some(last)) = (stretch.first(), stretch.last()) else { return };
    if last.end - first.start < floor {
        stretch.clear();
        return;
    }
    let print = |start: u32, end: u32| {
        let (codes, symbols, distances) = document.read_range(start, end, uses.distances());
        fingerprint(codes, symbols, distances)
    };
    let prints: Vec<Fingerprint> = stretch.iter().map(|unit| print(unit.start, unit.end)).collect();
    let fragment = |range: Range<usize>| Fragment {
        document: index,
        start: stretch[range.start].start,
        end: stretch[range.end - 1].end,
    };
    for (i, unit) in stretch.iter().enumerate() {
        if unit.end - unit.start >= floor {
            out.pieces.push((prints[i].alpha, fragment(i..i + 1)));
        }
    }
    let mut rows = Rows::new(&prints);
    let mut i = 0;
    while i < stretch.len() {
        let first = i == 0;
        let Some((period, length)) = rows.at(i) else {
            out.letters.push(Letter { fragment: fragment(i..i + 1), print: prints[i], first });
            i += 1;
            continue;
        };
        let whole = fragment(i..i + length);
        out.letters.push(Letter { fragment: whole, print: print(whole.start, whole.end), first });
        if period > 1 {
            let patterns = (i..=i + length - period).step_by(period).map(|at| fragment(at..at + period));
            for pattern in patterns.filter(|pattern| pattern.len() >= floor) {
                out.pieces.push((print(pattern.start, pattern.end).alpha, pattern));
            }
        }
        i += length;
    }
    stretch.clear();
}

/// Finds rows of repeated patterns in a list of units.
struct Rows<'a> {
    prints: &'a [Fingerprint],
    /// The distance to the next equal unit, if it is more than `MAX_PERIOD`.
    next: Vec<u32>,
}

impl Rows<'_> {
    fn new(prints: &[Fingerprint]) -> Rows<'_> {
        let mut next = vec![0; prints.len()];
        if prints.len() > MAX_PERIOD * MIN_REPEATS {
            let mut order: Vec<u32> = (0..prints.len() as u32).collect();
            order.sort_by_key(|&i| (prints[i as usize].alpha, i));
            for pair in order.windows(2) {
                if prints[pair[0] as usize].alpha == prints[pair[1] as usize].alpha {
                    next[pair[0] as usize] = pair[1] - pair[0];
                }
            }
        }
        Rows { prints, next }
    }

    /// The period and the length, in units, of the row that starts at `i`.
    fn at(&mut self, i: usize) -> Option<(usize, usize)> {
        let far = self.next[i] as usize;
        let far = (far > MAX_PERIOD).then_some(far);
        (1..=MAX_PERIOD).chain(far).find_map(|period| {
            let equal = (i + period..self.prints.len())
                .take_while(|&j| self.prints[j].alpha == self.prints[j - period].alpha)
                .count();
            let length = (equal + period) / period * period;
            (length >= period * MIN_REPEATS).then_some((period, length))
        })
    }
}

/// Which fingerprint makes two letters equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Text,
    Structure,
}

/// All maximal repeats of runs of letters of at least `floor` tokens; each group in document order, without overlaps.
pub fn repeats(letters: &[Letter], by: By, floor: u32) -> Vec<Vec<Fragment>> {
    let key = |letter: &Letter| match by {
        By::Text => letter.print.exact,
        By::Structure => letter.print.alpha,
    };
    let words = Words::new(letters, key, floor);
    let intervals = words.intervals(letters, floor);
    let mut groups: Vec<Vec<Fragment>> = intervals
        .into_par_iter()
        .map(|interval| {
            let starts = &words.suffixes[interval.start as usize..=interval.end as usize];
            let mut fragments: Vec<Fragment> =
                starts.iter().map(|&at| words.fragment(letters, at as usize, interval.length as usize)).collect();
            fragments.sort_unstable();
            apart(&mut fragments);
            fragments
        })
        .filter(|group| group.len() > 1)
        .collect();
    groups.par_sort_unstable();
    groups
}

/// Drops fragments that overlap the one before; they must be sorted.
pub fn apart(fragments: &mut Vec<Fragment>) {
    let mut last: Option<Fragment> = None;
    fragments.retain(|fragment| {
        let keep = last.is_none_or(|last| !last.overlaps(fragment));
        if keep {
            last = Some(*fragment);
        }
        keep
    });
}

/// Groups pieces of one content.
pub fn same(mut pieces: Vec<(u64, Fragment)>) -> Vec<Vec<Fragment>> {
    pieces.par_sort_unstable();
    pieces.dedup();
    let mut groups: Vec<Vec<Fragment>> = pieces
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|group| group.len() > 1)
        .map(|group| {
            let mut fragments: Vec<Fragment> = group.iter().map(|(_, fragment)| *fragment).collect();
            apart(&mut fragments);
            fragments
        })
        .filter(|group| group.len() > 1)
        .collect();
    groups.sort_unstable();
    groups
}

/// The text over which the suffix array is built: repeated letters as numbers, stretches apart by numbers used once.
struct Words {
    text: Vec<i32>,
    /// The letter behind each place of the text.
    letters: Vec<u32>,
    suffixes: Vec<i32>,
    /// Common prefix of each suffix with the one before it in the array.
    common: Vec<i32>,
}

/// A repeat: the suffixes `start..=end` of the array share their first `length` letters.
struct Interval {
    start: u32,
    end: u32,
    length: u32,
}

impl Words {
    fn new(letters: &[Letter], key: impl Fn(&Letter) -> u64 + Sync, floor: u32) -> Words {
        let mut order: Vec<(u64, u32)> =
            letters.par_iter().enumerate().map(|(i, letter)| (key(letter), i as u32)).collect();
        order.par_sort_unstable();
        const ONCE: i32 = -1;
        let mut numbers = vec![ONCE; letters.len()];
        let mut n_numbers = 0;
        for group in order.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() > 1) {
            for (_, i) in group {
                numbers[*i as usize] = n_numbers;
            }
            n_numbers += 1;
        }
        drop(order);
        let (mut text, mut origins) = (Vec::new(), Vec::new());
        let mut separator = n_numbers;
        let mut start = 0;
        for i in 0..=letters.len() {
            let ends = i == letters.len() || letters[i].first || numbers[i] == ONCE;
            if !ends {
                continue;
            }
            if i > start && letters[i - 1].fragment.end - letters[start].fragment.start >= floor {
                text.extend_from_slice(&numbers[start..i]);
                origins.extend(start as u32..i as u32);
                text.push(separator);
                origins.push(u32::MAX);
                separator += 1;
            }
            // A letter that stands once belongs to no word; one that is the first of its list starts a new one.
            start = if i < letters.len() && numbers[i] == ONCE { i + 1 } else { i };
        }
        let suffixes: Vec<i32> = if text.is_empty() {
            Vec::new()
        } else {
            SuffixArrayConstruction::for_text_mut(&mut text)
                .in_owned_buffer32()
                .single_threaded()
                .run()
                .expect("a text below 2 GiB has a suffix array")
                .into_vec()
        };
        let common = common_prefixes(&text, &suffixes);
        Words { text, letters: origins, suffixes, common }
    }

    fn fragment(&self, letters: &[Letter], at: usize, length: usize) -> Fragment {
        let first = letters[self.letters[at] as usize].fragment;
        let last = letters[self.letters[at + length - 1] as usize].fragment;
        Fragment { document: first.document, start: first.start, end: last.end }
    }

    /// All intervals whose common run has `floor` tokens and cannot be made longer to the left for all of them.
    fn intervals(&self, letters: &[Letter], floor: u32) -> Vec<Interval> {
        /// The letter before all suffixes of an interval, or that there are several.
        #[derive(Clone, Copy, PartialEq)]
        enum Left {
            One(i32),
            Several,
        }
        struct Open {
            length: i32,
            start: u32,
            left: Left,
        }
        let before = |suffix: i32| match suffix {
            0 => Left::Several,
            at => match self.text[at as usize - 1] {
                // A separator is another one each time.
                _ if self.letters[at as usize - 1] == u32::MAX => Left::Several,
                letter => Left::One(letter),
            },
        };
        let join = |a: Left, b: Left| if a == b { a } else { Left::Several };
        let mut found = Vec::new();
        let mut open: Vec<Open> = Vec::new();
        let n = self.suffixes.len();
        for i in 0..=n {
            let common = if i == 0 || i == n { 0 } else { self.common[i] };
            let mut start = i.saturating_sub(1) as u32;
            let mut left = if i == 0 { Left::Several } else { before(self.suffixes[i - 1]) };
            while let Some(top) = open.last_mut() {
                if top.length < common {
                    break;
                }
                top.left = join(top.left, left);
                if top.length == common {
                    left = top.left;
                    break;
                }
                let Open { length, start: from, left: of } = open.pop().expect("just seen");
                (start, left) = (from, of);
                let fragment = self.fragment(letters, self.suffixes[from as usize] as usize, length as usize);
                if of == Left::Several && fragment.len() >= floor {
                    found.push(Interval { start: from, end: i as u32 - 1, length: length as u32 });
                }
            }
            if common > 0 && open.last().is_none_or(|top| top.length < common) {
                open.push(Open { length: common, start, left });
            }
        }
        found
    }
}

/// Lengths of the common prefixes of neighbours in the suffix array, by the order of the text (Kasai and others).
fn common_prefixes(text: &[i32], suffixes: &[i32]) -> Vec<i32> {
    let n = text.len();
    let mut previous = vec![-1i32; n];
    for pair in suffixes.windows(2) {
        previous[pair[1] as usize] = pair[0];
    }
    let mut by_place = vec![0i32; n];
    let mut length = 0usize;
    for at in 0..n {
        let other = previous[at];
        if other < 0 {
            length = 0;
            continue;
        }
        let other = other as usize;
        while at + length < n && other + length < n && text[at + length] == text[other + length] {
            length += 1;
        }
        by_place[at] = length as i32;
        length = length.saturating_sub(1);
    }
    drop(previous);
    suffixes.iter().map(|&at| by_place[at as usize]).collect()
}
