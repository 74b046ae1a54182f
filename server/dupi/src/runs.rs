//! Maximal runs: all sequences of sibling units that stand in two places or more and cannot be made longer.
//!
//! Units are letters, lists of siblings are words; a suffix array over all of them gives every maximal repeat at once,
//! without looking at pairs.
//!
//! Where a pattern repeats itself in a row, the row is a maximal repeat of its own parts at every length: n equal lines
//! would have n² repeats in themselves. So a run that is a row itself, of two rounds or more, counts only if somewhere it
//! is all of a row that cannot be made longer, but for less than one round, and a longer row is one place of it. The
//! pattern is looked for apart, round by round.
//!
//! A run is maximal for all its places together. Of some of them alone it can be part of a longer one ([`Group::can_grow`]).

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use dupi_grammars::token::{Code, Unit};
use libsais::SuffixArrayConstruction;
use rayon::prelude::*;

use crate::blots::mix;
use crate::class::Fragment;
use crate::document::Document;
use crate::fingerprint::{Fingerprint, LastUses, fingerprint};
use crate::rows::{MIN_ROUNDS, Repetition, Row, Rows, repetitions};

/// How often a pattern must come in a row to be looked for apart. Two that stand side by side are found as such.
const MIN_ROUNDS_OF_PATTERN: usize = 3;

/// One letter: a unit.
#[derive(Clone, Copy, Debug)]
pub struct Letter {
    pub fragment: Fragment,
    pub print: Fingerprint,
    /// Not a neighbour of the letter before it.
    pub first: bool,
    /// The token between it and the neighbour before it: a comma, if anything.
    pub joint: Option<Code>,
}

/// What one document contributes, or all documents of a family.
#[derive(Default)]
pub struct Letters {
    pub letters: Vec<Letter>,
    /// Pieces that are large enough to be a copy by themselves: single units, and the patterns of rows.
    pub pieces: Vec<(u64, Fragment)>,
    /// For each way to compare letters, as what follows.
    rows: [Rows; By::ALL.len()],
    /// The first and the last letter of what is all of a row but for less than a round of it, at its start or its end.
    almost_rows: [Vec<(u32, u32)>; By::ALL.len()],
}

impl Letters {
    pub fn extend(&mut self, other: Letters) {
        let n = self.letters.len() as u32;
        self.letters.extend(other.letters);
        self.pieces.extend(other.pieces);
        for (rows, others) in self.rows.iter_mut().zip(other.rows) {
            rows.extend(others, n);
        }
        for (almost, others) in self.almost_rows.iter_mut().zip(other.almost_rows) {
            almost.extend(others.into_iter().map(|(first, last)| (first + n, last + n)));
        }
    }

    /// To be called when all letters are there.
    pub fn sort(&mut self) {
        self.rows.iter_mut().for_each(Rows::sort);
    }
}

/// Places that could be copies of each other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    /// Without overlaps; documents in order, and in each of them outer lists before inner ones.
    pub places: Vec<Fragment>,
    /// Whether the run was found as the longest one that all places have.
    pub is_maximal: bool,
}

impl Group {
    /// Places that are a group whatever stands beside them.
    fn of(places: Vec<Fragment>) -> Group {
        Group { places, is_maximal: false }
    }

    /// Whether some of the places alone are part of a longer run, which is a group of its own. If they are copies only
    /// as far as they are here, that must not be found because of the other places: what is shown of some documents
    /// would depend on others.
    pub fn can_grow(&self, documents: &[Arc<Document>], places: &[Fragment], uses: &mut LastUses) -> bool {
        let Some((first, rest)) = places.split_first().filter(|_| self.is_maximal && places.len() < self.places.len())
        else {
            return false;
        };
        [Side::Before, Side::After].into_iter().any(|side| {
            let mut beside = |place: &Fragment| side.letter(&documents[place.document as usize], place, uses);
            let of_first = beside(first);
            of_first.is_some() && rest.iter().all(|place| beside(place) == of_first)
        })
    }
}

/// One of the two sides of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Before,
    After,
}

impl Side {
    /// The sibling beside a unit, if a run can go on to it.
    pub fn sibling<'a>(self, document: &'a Document, unit: &Unit) -> Option<&'a Unit> {
        let units = &document.units;
        match self {
            Side::Before => {
                let from = units.partition_point(|other| other.start < unit.start);
                // What reaches further is around the unit, and what is before that is no neighbour.
                let mut before = units[..from].iter().rev().take_while(|other| other.end <= unit.start);
                before.find(|other| other.list == unit.list).filter(|other| are_neighbours(other, unit))
            }
            Side::After => {
                let behind = units.partition_point(|other| other.start < unit.end);
                let mut after = units[behind..].iter().take_while(|other| other.start <= unit.end + 1);
                after.find(|other| other.list == unit.list).filter(|other| are_neighbours(unit, other))
            }
        }
    }

    /// What makes the letter beside a run equal to another one, and the token between them. None for a single unit,
    /// which is a piece whatever stands beside it.
    fn letter(self, document: &Document, run: &Fragment, uses: &mut LastUses) -> Option<(u64, Option<Code>)> {
        let mut units = document.siblings_in(run.start, run.end);
        let first = units.next()?;
        if first.end == run.end {
            return None;
        }
        let (unit, between) = match self {
            Side::Before => {
                let unit = self.sibling(document, first)?;
                (unit, unit.end..run.start)
            }
            Side::After => {
                let unit = self.sibling(document, units.last().unwrap_or(first))?;
                (unit, run.end..unit.start)
            }
        };
        let key = By::Structure.key_of(document, unit, uses);
        let counts = !document.is_muted(unit.start, unit.end);
        counts.then(|| (key, between.into_iter().next().map(|at| document.codes[at as usize])))
    }
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
        uses.read_roles(document.language, &document.codes, document.symbols());
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
        let is_apart = stretch.last().is_some_and(|last| !are_neighbours(last, &unit));
        if unit.list != list || !counts || is_apart {
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

/// Can a run go on from a unit to the next one of its list?
fn are_neighbours(unit: &Unit, next: &Unit) -> bool {
    // Imports and what follows them are no run: the ones never count as code, nor the others as imports.
    let turns = (unit.flags ^ next.flags) & Unit::IMPORT != 0;
    // More than a separator is between units only where the code is broken.
    let apart = next.start.wrapping_sub(unit.end) > 1;
    !turns && !apart && next.flags & Unit::BREAK == 0
}

/// The fingerprint of a run that starts with a unit. What defines something for all is not what a function defines for
/// itself: they are judged differently, so they are no copies of each other.
fn with_flags(Fingerprint { exact, alpha }: Fingerprint, first: &Unit) -> Fingerprint {
    let seed = u64::from(first.flags & Unit::DEFINITION);
    Fingerprint { exact: mix(exact ^ seed), alpha: mix(alpha ^ seed) }
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
            self.uses.read_roles(self.document.language, &self.document.codes, self.document.symbols());
            self.has_read = true;
        }
        let prints: Vec<Fingerprint> = stretch.iter().map(|unit| self.print(unit, unit.end)).collect();
        let joints: Vec<Option<Code>> = (0..stretch.len())
            .map(|i| i.checked_sub(1).map_or(0..0, |before| stretch[before].end..stretch[i].start))
            .map(|mut between| between.next().map(|at| self.document.codes[at as usize]))
            .collect();
        let mut numbers = vec![u32::MAX; stretch.len()];
        let mut first = true;
        for (i, unit) in stretch.iter().enumerate() {
            let fragment = self.fragment(stretch, i..i + 1);
            let is_shared = self.is_shared(&fragment);
            if is_shared {
                numbers[i] = out.letters.len() as u32;
                out.letters.push(Letter { fragment, print: prints[i], first, joint: joints[i] });
            }
            first = !is_shared;
            if is_shared && unit.end - unit.start >= self.floor {
                out.pieces.push((prints[i].alpha, fragment));
            }
        }
        // Rows are looked for in all of the list, shared or not: where a row starts and ends must not depend on
        // what other documents hold.
        for by in By::ALL {
            let keys: Vec<u64> = prints.iter().map(|print| by.key(print)).collect();
            let rows = rows(&keys, &joints);
            for row in &rows {
                if row.period > 1 && row.range.len() >= MIN_ROUNDS_OF_PATTERN * row.period {
                    self.patterns(stretch, row, by, out);
                }
                out.note_row(self.floor, row, by, &numbers, |range| self.fragment(stretch, range));
            }
        }
    }

    /// Notes the rounds of a row as pieces.
    fn patterns(&self, stretch: &[Unit], row: &Repetition, by: By, out: &mut Letters) {
        for start in row.range.clone().step_by(row.period).take_while(|start| start + row.period <= row.range.end) {
            let piece = self.fragment(stretch, start..start + row.period);
            if piece.len() >= self.floor && self.is_shared(&piece) {
                out.pieces.push((by.key(&self.print(&stretch[start], piece.end)), piece));
            }
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

    /// The fingerprint of a unit and its neighbours up to `end`.
    fn print(&self, first: &Unit, end: u32) -> Fingerprint {
        let (codes, symbols, distances) = self.document.read_range(first.start, end, self.distances());
        with_flags(fingerprint(codes, symbols, distances), first)
    }

    fn fragment(&self, stretch: &[Unit], range: Range<usize>) -> Fragment {
        Fragment { document: self.index, start: stretch[range.start].start, end: stretch[range.end - 1].end }
    }

    fn is_shared(&self, fragment: &Fragment) -> bool {
        let i = self.shared.partition_point(|range| range.end <= fragment.start);
        self.shared.get(i).is_some_and(|range| range.start <= fragment.start && fragment.end <= range.end)
    }
}

/// The rows of a list of units with these keys, and these tokens between each and the one before.
fn rows(keys: &[u64], joints: &[Option<Code>]) -> Vec<Repetition> {
    let mut rows = Vec::new();
    for Repetition { range, period } in repetitions(keys) {
        // With a comma here and none there it is no repetition: there one row ends, and another one may start before.
        let mut start = range.start;
        let breaks = (start + 1 + period..range.end).filter(|&i| joints[i] != joints[i - period]);
        for end in breaks.chain([range.end]) {
            if end - start >= MIN_ROUNDS * period {
                rows.push(Repetition { range: start..end, period });
            }
            start = end - period;
        }
    }
    rows
}

impl Letters {
    /// Notes a row of a list whose units are the letters with these numbers, as far as they are any.
    fn note_row(
        &mut self,
        floor: u32,
        row: &Repetition,
        by: By,
        numbers: &[u32],
        fragment: impl Fn(Range<usize>) -> Fragment,
    ) {
        let Range { start, end } = row.range;
        let two_rounds = fragment(start..start + MIN_ROUNDS * row.period).len();
        let letters = numbers[start..end].iter().copied().filter(|&number| number != u32::MAX);
        self.rows[by as usize].add(Row { fragment: fragment(start..end), two_rounds }, letters);
        for less in 0..row.period {
            for part in [start..end - less, start + less..end] {
                let (first, last) = (numbers[part.start], numbers[part.end - 1]);
                // One of them may lie where nothing is shared.
                let is_whole = last != u32::MAX && last.checked_sub(first) == Some(part.len() as u32 - 1);
                if is_whole && fragment(part).len() >= floor {
                    self.almost_rows[by as usize].push((first, last));
                }
            }
        }
    }
}

/// Which fingerprint makes two letters equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum By {
    Text,
    Structure,
}

impl By {
    const ALL: [By; 2] = [By::Text, By::Structure];

    fn key(self, print: &Fingerprint) -> u64 {
        match self {
            By::Text => print.exact,
            By::Structure => print.alpha,
        }
    }

    /// The key of a single unit.
    pub fn key_of(self, document: &Document, unit: &Unit, uses: &mut LastUses) -> u64 {
        let (codes, symbols) = document.read_tokens(unit.start, unit.end);
        match self {
            By::Text => uses.read_none(symbols.len()),
            By::Structure => uses.read_roles(document.language, codes, symbols),
        }
        self.key(&with_flags(fingerprint(codes, symbols, uses.distances()), unit))
    }
}

/// All maximal repeats of runs of at least `floor` tokens that are `wanted`, to judge by one of their places; each group
/// in document order, without overlaps.
pub fn repeats(all: &Letters, by: By, floor: u32, wanted: impl Fn(&Fragment) -> bool + Sync) -> Vec<Group> {
    let (letters, rows) = (&all.letters[..], &all.rows[by as usize]);
    let words = Words::new(letters, |letter| by.key(&letter.print), floor);
    let intervals = words.intervals(letters, floor);
    let almost_rows = words.find(&intervals, &all.almost_rows[by as usize]);
    let fragment = |at: usize, length: usize| words.fragment(letters, at, words.without_joint(at, length));
    let row_around = |at: usize, length: usize| rows.around(words.letters[at], &fragment(at, length));
    let mut groups: Vec<Group> = intervals
        .par_iter()
        .zip(almost_rows)
        .flat_map_iter(|(interval, is_almost_row)| {
            let starts = &words.suffixes[interval.start as usize..=interval.end as usize];
            let length = interval.length as usize;
            let in_row = row_around(starts[0] as usize, length).is_some();
            if in_row && !(is_almost_row && wanted(&fragment(starts[0] as usize, length))) {
                return Vec::new();
            }
            let mut starts: Vec<usize> = starts.iter().map(|&at| at as usize).collect();
            starts.sort_unstable();
            if in_row {
                // A long row is one place of a shorter one, not a few of them.
                starts.dedup_by_key(|at| row_around(*at, length).map_or(fragment(*at, length), |row| row.fragment));
            }
            let group = |part: usize| {
                let mut places = Vec::new();
                if wanted(&fragment(starts[0], part)) {
                    places.extend(starts.iter().map(|&at| fragment(at, part)));
                    apart(&mut places);
                }
                // Places of one text are copies all together or not at all.
                Group { places, is_maximal: part == length && by == By::Structure }
            };
            // A run that overlaps itself hides the shorter ones that stand twice side by side: one for each distance,
            // so that none depends on what distances other documents have. Where it shares a row with itself there can
            // be as many distances as rounds, and the shorter ones are nothing but that row and what stands beside it.
            let is_apart = |shift: usize| {
                let shared = starts[0] + shift;
                words.letters[shared] == JOINT || row_around(shared, length - shift).is_none()
            };
            let mut shifts: Vec<usize> =
                starts.windows(2).map(|pair| pair[1] - pair[0]).filter(|&shift| shift < length).collect();
            shifts.sort_unstable();
            shifts.dedup();
            shifts.retain(|&shift| !in_row && is_apart(shift) && fragment(starts[0], shift).len() >= floor);
            std::iter::once(length).chain(shifts).map(group).collect::<Vec<_>>()
        })
        .filter(|group| group.places.len() > 1)
        .collect();
    sort(&mut groups);
    groups
}

/// Sorts groups, and leaves one of each.
pub fn sort(groups: &mut Vec<Group>) {
    groups.par_sort_unstable();
    // Of two with the same places the first is the one that counts whatever stands beside it.
    groups.dedup_by(|next, group| next.places == group.places);
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
pub fn same(mut pieces: Vec<(u64, Fragment)>) -> Vec<Group> {
    pieces.par_sort_unstable();
    pieces.dedup();
    let mut groups: Vec<Group> = pieces
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|group| group.len() > 1)
        .map(|group| {
            let mut fragments: Vec<Fragment> = group.iter().map(|(_, fragment)| *fragment).collect();
            apart(&mut fragments);
            Group::of(fragments)
        })
        .filter(|group| group.places.len() > 1)
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

    /// Which intervals are those of the runs from one letter to another, of which there are some.
    fn find(&self, intervals: &[Interval], runs: &[(u32, u32)]) -> Vec<bool> {
        let mut found = vec![false; intervals.len()];
        if runs.is_empty() {
            return found;
        }
        let mut ranks = vec![0u32; self.text.len()];
        for (rank, &at) in self.suffixes.iter().enumerate() {
            ranks[at as usize] = rank as u32;
        }
        let n_letters = self.letters.iter().filter(|&&letter| letter < JOINT).max().map_or(0, |&last| last + 1);
        let mut places = vec![u32::MAX; n_letters as usize];
        for (place, &letter) in self.letters.iter().enumerate().filter(|(_, letter)| **letter < JOINT) {
            places[letter as usize] = place as u32;
        }
        let mut order: Vec<u32> = (0..intervals.len() as u32).collect();
        order.par_sort_unstable_by_key(|&i| (intervals[i as usize].length, intervals[i as usize].start));
        for (first, last) in runs {
            let place = |letter: &u32| places.get(*letter as usize).filter(|&&place| place != u32::MAX);
            let (Some(&at), Some(&end)) = (place(first), place(last)) else { continue };
            let rank = ranks[at as usize];
            // With the joint behind it, if all places have one.
            for length in end - at + 1..=end - at + 2 {
                let key = |i: &u32| (intervals[*i as usize].length, intervals[*i as usize].start);
                let after = order.partition_point(|i| key(i) <= (length, rank));
                let Some(&i) = after.checked_sub(1).map(|before| &order[before]) else { continue };
                let interval = &intervals[i as usize];
                let is_same = self.without_joint(at as usize, length as usize) as u32 == end - at + 1;
                if interval.length == length && interval.end >= rank && is_same {
                    found[i as usize] = true;
                }
            }
        }
        found
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

    /// The letters of a word with the places where they stand, and the commas before them.
    fn spelled(word: &[u8]) -> (Vec<(usize, u8)>, Vec<Option<Code>>) {
        let letters: Vec<(usize, u8)> =
            word.iter().copied().enumerate().filter(|(_, letter)| *letter != COMMA).collect();
        let before = |at: usize| at.checked_sub(1).map(|before| word[before]).filter(|&before| before == COMMA);
        let joints = letters.iter().map(|&(at, _)| before(at)).collect();
        (letters, joints)
    }

    /// Letters of one token each, one document per word.
    fn letters_of(words: &[Vec<u8>]) -> Letters {
        let mut all = Letters::default();
        for (document, word) in words.iter().enumerate() {
            let mut out = Letters::default();
            let (spelled, joints) = spelled(word);
            let fragment =
                |at: usize, end: usize| Fragment { document: document as u32, start: at as u32, end: end as u32 };
            for (i, &(at, letter)) in spelled.iter().enumerate() {
                let print = Fingerprint { exact: u64::from(letter), alpha: u64::from(letter) };
                out.letters.push(Letter { fragment: fragment(at, at + 1), print, first: i == 0, joint: joints[i] });
            }
            let keys: Vec<u64> = spelled.iter().map(|(_, letter)| u64::from(*letter)).collect();
            let numbers: Vec<u32> = (0..keys.len() as u32).collect();
            for row in rows(&keys, &joints) {
                out.note_row(1, &row, By::Structure, &numbers, |range| {
                    fragment(spelled[range.start].0, spelled[range.end - 1].0 + 1)
                });
            }
            all.extend(out);
        }
        all.sort();
        all
    }

    /// A row in a word: its tokens, how many letters it has, how many a round has, and the tokens of two rounds.
    struct NaiveRow {
        tokens: Range<usize>,
        letters: usize,
        round: usize,
        two_rounds: usize,
    }

    /// The rows of a word: every period at every place.
    fn rows_of(word: &[u8]) -> Vec<NaiveRow> {
        let (letters, joints) = spelled(word);
        let n = letters.len();
        let mut found: Vec<NaiveRow> = Vec::new();
        for round in 1..=n / 2 {
            let is_row = |start: usize, end: usize| {
                (start..end - round).all(|i| letters[i].1 == letters[i + round].1)
                    && (start + 1..end - round).all(|i| joints[i] == joints[i + round])
            };
            for start in 0..=n - 2 * round {
                for end in start + 2 * round..=n {
                    let is_maximal = (start == 0 || !is_row(start - 1, end)) && (end == n || !is_row(start, end + 1));
                    let tokens = letters[start].0..letters[end - 1].0 + 1;
                    if is_row(start, end) && is_maximal && !found.iter().any(|row| row.tokens == tokens) {
                        let two_rounds = letters[start + 2 * round - 1].0 + 1 - tokens.start;
                        found.push(NaiveRow { tokens, letters: end - start, round, two_rounds });
                    }
                }
            }
        }
        found
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
            let rows_around = |place: &Fragment| {
                let rows = rows_of(&words[place.document as usize]).into_iter();
                let (start, end) = (place.start as usize, place.end as usize);
                rows.filter(move |row| {
                    row.tokens.start <= start && end <= row.tokens.end && end - start >= row.two_rounds
                })
            };
            let in_row = places.iter().any(|place| rows_around(place).next().is_some());
            let n_letters = run.iter().filter(|&&token| token != COMMA).count();
            let is_almost_row = |place: &Fragment| {
                rows_around(place).any(|row| {
                    let (starts, ends) =
                        (row.tokens.start == place.start as usize, row.tokens.end == place.end as usize);
                    (starts || ends) && row.letters < n_letters + row.round
                })
            };
            if in_row && !places.iter().any(is_almost_row) {
                continue;
            }
            places.dedup_by_key(|place| {
                let row = rows_around(place).next().map_or(place.start as usize..0, |row| row.tokens);
                (place.document, row)
            });
            if places.len() > 1 && maximal {
                let shifts = places
                    .windows(2)
                    .filter(|pair| !in_row && pair[0].overlaps(&pair[1]))
                    .filter(|pair| {
                        // What starts with a comma is no row.
                        let shared = Fragment { start: pair[1].start, ..pair[0] };
                        rows_around(&shared).next().is_none()
                    })
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
            let found = repeats(&letters_of(&words), By::Structure, floor as u32, |_| true);
            let found: BTreeSet<Vec<Fragment>> = found.into_iter().map(|group| group.places).collect();
            prop_assert_eq!(found, naive(&words, floor));
        }
    }
}
