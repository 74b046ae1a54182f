//! Maximal runs: all sequences of sibling units that stand in two places or more and cannot be made longer.
//!
//! Units are letters, lists of siblings are words; a suffix array over all of them gives every maximal repeat at once,
//! without looking at pairs. A pattern that repeats itself in a row is one letter: otherwise a table of n equal lines
//! would have n² repeats in itself.

use std::borrow::Cow;
use std::ops::Range;

use dupi_grammars::token::{Code, Unit};
use libsais::SuffixArrayConstruction;
use rayon::prelude::*;

use crate::blots::mix;
use crate::class::Fragment;
use crate::document::Document;
use crate::fingerprint::{Fingerprint, LastUses, fingerprint};

/// The longest pattern, in units, that is looked for at every place of a list; longer ones only where a unit comes again,
/// at the next so many places.
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
    /// The token between it and the neighbour before it: a comma, if anything.
    pub joint: Option<Code>,
}

/// What one document contributes.
#[derive(Default)]
pub struct Letters {
    pub letters: Vec<Letter>,
    /// Pieces that are large enough to be a copy by themselves: single units, and the patterns of rows.
    pub pieces: Vec<(u64, Fragment)>,
}

/// What is needed of a document beside its tokens to find its letters: worth remembering for who asks again.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    /// Its units by list.
    order: Box<[u32]>,
    /// For each symbol the distance to its last use.
    distances: Box<[u32]>,
}

impl Outline {
    pub fn of(document: &Document) -> Outline {
        let mut uses = LastUses::default();
        uses.read(&document.codes, document.symbols());
        Outline { order: order(document).into(), distances: uses.distances().into() }
    }

    /// How many bytes of memory that of a document takes.
    pub fn weight(document: &Document) -> usize {
        (document.units.len() + document.symbols().len()) * size_of::<u32>()
    }
}

/// The units of a document by list.
fn order(document: &Document) -> Vec<u32> {
    let mut order: Vec<u32> = (0..document.units.len() as u32).collect();
    order.sort_by_key(|&i| document.units[i as usize].list);
    order
}

/// The letters of a document that lie in `shared` ranges, in lists whose runs can reach `floor` tokens.
pub fn letters(
    document: &Document,
    index: u32,
    shared: &[Range<u32>],
    floor: u32,
    imports: bool,
    outline: Option<&Outline>,
    uses: &mut LastUses,
) -> Letters {
    let mut out = Letters::default();
    if shared.is_empty() {
        return out;
    }
    let order = outline.map_or_else(|| Cow::Owned(order(document)), |outline| Cow::Borrowed(&*outline.order));
    let mut reader = Reader { document, index, shared, floor, outline, uses, has_read: false };
    stretches_in(document, &order, imports, |stretch| reader.stretch(stretch, &mut out));
    out
}

/// Calls `each` for every stretch of units that are neighbours and of which some can be a copy together.
pub fn stretches(document: &Document, imports: bool, each: impl FnMut(&[Unit])) {
    stretches_in(document, &order(document), imports, each);
}

fn stretches_in(document: &Document, order: &[u32], imports: bool, mut each: impl FnMut(&[Unit])) {
    let mut stretch: Vec<Unit> = Vec::new();
    let mut list = u32::MAX;
    for &i in order {
        let unit = document.units[i as usize];
        let counts = (imports || unit.flags & Unit::IMPORT == 0)
            && (document.muted.is_empty() || !document.is_muted(unit.start, unit.end));
        // Imports and what follows them are no run: the ones never count as code, nor the others as imports.
        let turns = stretch.last().is_some_and(|last| (last.flags ^ unit.flags) & Unit::IMPORT != 0);
        // More than a separator is between units only where the code is broken.
        let apart = stretch.last().is_some_and(|last| unit.start.wrapping_sub(last.end) > 1);
        if unit.list != list || !counts || turns || apart || unit.flags & Unit::BREAK != 0 {
            each(&stretch);
            stretch.clear();
            list = unit.list;
        }
        if counts {
            stretch.push(unit);
        }
    }
    each(&stretch);
}

struct Reader<'a> {
    document: &'a Document,
    index: u32,
    shared: &'a [Range<u32>],
    floor: u32,
    outline: Option<&'a Outline>,
    uses: &'a mut LastUses,
    /// Whether `uses` are those of this document: many have nothing to read them for.
    has_read: bool,
}

impl Reader<'_> {
    /// Turns neighbours into letters, if some of them together can be a copy.
    fn stretch(&mut self, stretch: &[Unit], out: &mut Letters) {
        if !self.may_hold_copy(stretch) {
            return;
        }
        if !self.has_read && self.outline.is_none() {
            self.uses.read(&self.document.codes, self.document.symbols());
            self.has_read = true;
        }
        let prints: Vec<Fingerprint> = stretch.iter().map(|unit| self.print(unit, unit.end)).collect();
        // Rows are looked for in all of the list, shared or not: where a row starts and ends must not depend on
        // what other documents hold.
        let rows = Rows::new(&prints);
        let mut first = true;
        let mut i = 0;
        while i < stretch.len() {
            let (period, length) = rows.at(i).unwrap_or((1, 1));
            let fragment = self.fragment(stretch, i..i + length);
            if self.is_shared(&fragment) {
                let print = if length == 1 { prints[i] } else { self.print(&stretch[i], fragment.end) };
                let between = i.checked_sub(1).map_or(0..0, |before| stretch[before].end..fragment.start);
                let joint = between.map(|at| self.document.codes[at as usize]).next();
                out.letters.push(Letter { fragment, print, first, joint });
                first = false;
            } else {
                first = true;
            }
            let patterns = (i..i + length).step_by(period).map(|at| at..at + period);
            let units = (i..i + length).filter(|_| period > 1).map(|at| at..at + 1);
            for range in patterns.chain(units) {
                let piece = self.fragment(stretch, range.clone());
                if piece.len() >= self.floor && self.is_shared(&piece) {
                    let print = if range.len() == 1 {
                        prints[range.start]
                    } else {
                        self.print(&stretch[range.start], piece.end)
                    };
                    out.pieces.push((print.alpha, piece));
                }
            }
            i += length;
        }
    }

    /// Is there a shared range that covers `floor` tokens or more of whole neighbours?
    fn may_hold_copy(&self, stretch: &[Unit]) -> bool {
        let (Some(first), Some(last)) = (stretch.first(), stretch.last()) else { return false };
        if last.end - first.start < self.floor {
            return false;
        }
        let from = self.shared.partition_point(|range| range.end <= first.start);
        self.shared[from..].iter().take_while(|range| range.start < last.end).any(|range| {
            let a = stretch.partition_point(|unit| unit.start < range.start);
            let b = stretch.partition_point(|unit| unit.end <= range.end);
            a < b && stretch[b - 1].end - stretch[a].start >= self.floor
        })
    }

    fn distances(&self) -> &[u32] {
        self.outline.map_or(self.uses.distances(), |outline| &outline.distances)
    }

    /// The fingerprint of a unit and its neighbours up to `end`. What defines something for all is not what a function
    /// defines for itself: they are judged differently, so they are no copies of each other.
    fn print(&self, first: &Unit, end: u32) -> Fingerprint {
        let (codes, symbols, distances) = self.document.read_range(first.start, end, self.distances());
        let Fingerprint { exact, alpha } = fingerprint(codes, symbols, distances);
        let seed = u64::from(first.flags & Unit::DEFINITION);
        Fingerprint { exact: mix(exact ^ seed), alpha: mix(alpha ^ seed) }
    }

    fn fragment(&self, stretch: &[Unit], range: Range<usize>) -> Fragment {
        Fragment { document: self.index, start: stretch[range.start].start, end: stretch[range.end - 1].end }
    }

    fn is_shared(&self, fragment: &Fragment) -> bool {
        let i = self.shared.partition_point(|range| range.end <= fragment.start);
        self.shared.get(i).is_some_and(|range| range.start <= fragment.start && fragment.end <= range.end)
    }
}

/// Finds rows of repeated patterns in a list of units.
struct Rows<'a> {
    prints: &'a [Fingerprint],
    /// The distance to the next equal unit; 0 if there is none.
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
    fn at(&self, i: usize) -> Option<(usize, usize)> {
        let mut hop = i;
        let far = (0..MAX_PERIOD).map_while(|_| {
            let next = self.next[hop] as usize;
            hop += next;
            (next > 0).then_some(hop - i)
        });
        (1..=MAX_PERIOD).chain(far.filter(|&period| period > MAX_PERIOD)).find_map(|period| {
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
        .flat_map_iter(|interval| {
            let mut starts = words.suffixes[interval.start as usize..=interval.end as usize].to_vec();
            starts.sort_unstable();
            let length = interval.length as usize;
            // A run that overlaps itself hides the shorter ones that stand twice side by side: one for each distance,
            // so that none depends on what distances other documents have.
            let mut shifts: Vec<usize> =
                starts.windows(2).map(|pair| (pair[1] - pair[0]) as usize).filter(|&shift| shift < length).collect();
            shifts.sort_unstable();
            shifts.dedup();
            let group = |length: usize| {
                let length = words.without_joint(starts[0] as usize, length);
                let mut fragments: Vec<Fragment> =
                    starts.iter().map(|&at| words.fragment(letters, at as usize, length)).collect();
                apart(&mut fragments);
                fragments
            };
            let short = shifts.into_iter().map(group).filter(|group| group[0].len() >= floor);
            std::iter::once(group(length)).chain(short).collect::<Vec<_>>()
        })
        .filter(|group| group.len() > 1)
        .collect();
    groups.par_sort_unstable();
    groups.dedup();
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

/// The text over which the suffix array is built: repeated letters and the joints between them as numbers, stretches
/// apart by numbers used once.
struct Words {
    text: Vec<i32>,
    /// The letter behind each place of the text, or one of [`JOINT`] and [`SEPARATOR`].
    letters: Vec<u32>,
    suffixes: Vec<i32>,
    /// Common prefix of each suffix with the one before it in the array.
    common: Vec<i32>,
}

const SEPARATOR: u32 = u32::MAX;
const JOINT: u32 = u32::MAX - 1;

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
        let mut separator = n_numbers + i32::from(Code::MAX) + 1;
        let mut start = 0;
        for i in 0..=letters.len() {
            let ends = i == letters.len() || letters[i].first || numbers[i] == ONCE;
            if !ends {
                continue;
            }
            if i > start && letters[i - 1].fragment.end - letters[start].fragment.start >= floor {
                for at in start..i {
                    if let Some(joint) = letters[at].joint.filter(|_| at > start) {
                        text.push(n_numbers + i32::from(joint));
                        origins.push(JOINT);
                    }
                    text.push(numbers[at]);
                    origins.push(at as u32);
                }
                text.push(separator);
                origins.push(SEPARATOR);
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

    /// The length of a run without the joint that it may end with.
    fn without_joint(&self, at: usize, length: usize) -> usize {
        length - usize::from(self.letters[at + length - 1] == JOINT)
    }

    /// The tokens of a run that starts and ends with a letter.
    fn fragment(&self, letters: &[Letter], at: usize, length: usize) -> Fragment {
        let first = letters[self.letters[at] as usize].fragment;
        let last = letters[self.letters[at + length - 1] as usize].fragment;
        Fragment { document: first.document, start: first.start, end: last.end }
    }

    /// All intervals whose common run starts with a letter, has `floor` tokens, and cannot be made longer for all of them
    /// by another letter on the left. If it ends with a joint, there is none for what is before that.
    fn intervals(&self, letters: &[Letter], floor: u32) -> Vec<Interval> {
        /// The letter before all suffixes of an interval, with the joint between; or that there are several.
        #[derive(Clone, Copy, PartialEq)]
        enum Left {
            One(i32, i32),
            Several,
        }
        struct Open {
            length: i32,
            start: u32,
            left: Left,
        }
        let before = |suffix: i32| {
            let at = suffix as usize;
            match at.checked_sub(1).map(|before| self.letters[before]) {
                // A separator is another one each time.
                None | Some(SEPARATOR) => Left::Several,
                Some(JOINT) => Left::One(self.text[at - 2], self.text[at - 1]),
                Some(_) => Left::One(self.text[at - 1], -1),
            }
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
                let at = self.suffixes[from as usize] as usize;
                let without = self.without_joint(at, length as usize);
                // Who shares a run and the joint after it is among those who share the run.
                let shorter = open.last().map_or(0, |open| open.length).max(common) as usize;
                if of == Left::Several
                    && self.letters[at] != JOINT
                    && (without == length as usize || without > shorter)
                    && self.fragment(letters, at, without).len() >= floor
                {
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// What is no letter but stands between two.
    const COMMA: u8 = 9;

    /// Letters of one token each, one document per word.
    fn letters_of(words: &[Vec<u8>]) -> Vec<Letter> {
        let mut letters = Vec::new();
        for (document, word) in words.iter().enumerate() {
            for (i, &letter) in word.iter().enumerate().filter(|(_, letter)| **letter != COMMA) {
                let fragment = Fragment { document: document as u32, start: i as u32, end: i as u32 + 1 };
                let print = Fingerprint { exact: u64::from(letter), alpha: u64::from(letter) };
                let joint = i.checked_sub(1).map(|before| word[before]).filter(|&before| before == COMMA);
                letters.push(Letter { fragment, print, first: i == 0, joint });
            }
        }
        letters
    }

    /// Words in which a comma stands after some letters, but never after the last.
    fn with_commas(words: &[Vec<(u8, bool)>]) -> Vec<Vec<u8>> {
        let spelled = |word: &Vec<(u8, bool)>| {
            let mut spelled: Vec<u8> =
                word.iter().flat_map(|&(letter, comma)| [letter].into_iter().chain(comma.then_some(COMMA))).collect();
            spelled.pop_if(|last| *last == COMMA);
            spelled
        };
        words.iter().map(spelled).collect()
    }

    /// All maximal repeats, by trying every run against every other place.
    fn naive(words: &[Vec<u8>], floor: usize) -> BTreeSet<Vec<Fragment>> {
        let runs: BTreeSet<&[u8]> = words
            .iter()
            .flat_map(|word| (floor..=word.len()).flat_map(|n| word.windows(n)))
            .filter(|run| run[0] != COMMA && run.last() != Some(&COMMA))
            .collect();
        let mut found = BTreeSet::new();
        for run in runs {
            let mut places = Vec::new();
            let (mut before, mut after) = (BTreeSet::new(), BTreeSet::new());
            for (document, word) in words.iter().enumerate() {
                for (i, window) in word.windows(run.len()).enumerate() {
                    if window == run {
                        let place =
                            Fragment { document: document as u32, start: i as u32, end: (i + run.len()) as u32 };
                        // At an edge nothing is common, so each edge is its own neighbour.
                        let neighbour = |a: Option<&u8>, b: Option<&u8>| {
                            a.map_or(Err(place), |&a| Ok((a, b.copied().filter(|_| a == COMMA))))
                        };
                        before.insert(neighbour(word[..i].last(), word[..i].iter().rev().nth(1)));
                        after.insert(neighbour(word.get(i + run.len()), word.get(i + run.len() + 1)));
                        places.push(place);
                    }
                }
            }
            let maximal = before.len() > 1 && after.len() > 1;
            if places.len() > 1 && maximal {
                let shifts = places
                    .windows(2)
                    .filter(|pair| pair[0].overlaps(&pair[1]))
                    .map(|pair| pair[1].start - pair[0].start)
                    .map(|shift| shift - u32::from(run[shift as usize - 1] == COMMA));
                let lengths = std::iter::once(run.len() as u32).chain(shifts);
                for length in lengths.filter(|&length| length as usize >= floor) {
                    let mut places: Vec<Fragment> =
                        places.iter().map(|place| Fragment { end: place.start + length, ..*place }).collect();
                    apart(&mut places);
                    if places.len() > 1 {
                        found.insert(places);
                    }
                }
            }
        }
        found
    }

    proptest! {
        #![proptest_config(crate::cases(512))]

        #[test]
        fn maximal_repeats_are_those_of_the_naive_way(
            words in prop::collection::vec(prop::collection::vec((0u8..4, prop::bool::weighted(0.3)), 0..24), 1..5),
            floor in 1usize..5,
        ) {
            let words = with_commas(&words);
            let found: BTreeSet<Vec<Fragment>> =
                repeats(&letters_of(&words), By::Structure, floor as u32).into_iter().collect();
            prop_assert_eq!(found, naive(&words, floor));
        }

        #[test]
        fn a_row_is_found_where_a_pattern_repeats_itself(
            pattern in prop::collection::vec(0u8..30, 1..20), times in 3usize..6,
        ) {
            let row: Vec<Fingerprint> = pattern.repeat(times).iter()
                .map(|&letter| Fingerprint { exact: 0, alpha: u64::from(letter) }).collect();
            let comes_often = pattern.iter().filter(|&&letter| letter == pattern[0]).count() > MAX_PERIOD;
            let (period, length) = Rows::new(&row).at(0).unwrap_or((1, 0));
            prop_assert!(length >= period * MIN_REPEATS || comes_often);
        }
    }
}
