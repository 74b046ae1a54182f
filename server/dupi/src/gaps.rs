//! Runs with gaps: copies of which some statements or members were edited, inserted or deleted, in functions, types and
//! files that are otherwise unlike.
//!
//! A class of runs without gaps is the anchor. Beside each of its places lie a few more siblings, and where units that are
//! equal follow upon others that are not, the run goes on there. Only what lies beside a class is read, so that the
//! work is bounded by what judging has found, and a run depends on the documents of its anchor alone.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use dupi_grammars::token::{Code, Unit};
use xxhash_rust::xxh3::Xxh3DefaultBuilder;

use crate::class::{Class, Fragment, Kind, Zone};
use crate::document::Document;
use crate::fingerprint::{LastUses, fingerprint, id};
use crate::judge::{content, zone};
use crate::near::{Pattern, Renaming, Tokens, code_of, tokens_of};
use crate::runs::{By, Side};
use crate::settings::{MIN_TOKENS, Settings};
use crate::zones::is_table;

/// An anchor has so many tokens at least, whatever minimum somebody asks for: a smaller minimum must not show what a
/// larger one leaves out.
pub const ANCHOR_TOKENS: u32 = MIN_TOKENS;
/// So many siblings beside a place are looked at; a gap has fewer.
const WINDOW: usize = 6;
/// A class with more places is an idiom: nobody copied it and edited the copy.
const MAX_PLACES: usize = 64;
/// Longer runs stay in their pieces: each anchor would read all of them.
const MAX_TOKENS: u32 = 50_000;
/// So many tokens must be won for leaving out a place.
const MORE_TOKENS: u32 = 50;
/// So many ways to go on are tried at one place.
const MAX_TRIES: usize = 8;
/// So many runs grow from an anchor, each with other places.
const MAX_BRANCHES: usize = 8;
/// Added to the similarity that is asked for: what lies between two equal runs is looked at because it lies there.
const EXTRA: f64 = 0.1;
/// … and if names are not the same, or all copies stand in tests.
const RENAMED_EXTRA: f64 = 0.05;
const TEST_EXTRA: f64 = 0.1;
/// No more than this is asked, or no short copy could have a gap.
const MAX_BAR: f64 = 0.95;
/// The unit around a place is looked for among so many that start before it.
const MAX_BEFORE: usize = 64;
/// Gaps are aligned to count the tokens that they have in common; longer ones count as if they had none.
const MAX_GAP: usize = 4096;

/// Keeps the id of a run with gaps apart from that of its leader's exact copies.
const SALT: u64 = 0x6761_7073;

/// What anchors of one run would read and judge again. Only for speed: the runs are the same without it.
#[derive(Default)]
pub struct Memory {
    uses: LastUses,
    /// The keys of units, by what makes them equal, their document and their tokens.
    keys: HashMap<(By, u32, u32, u32), u64, Xxh3DefaultBuilder>,
    /// What has become of runs, by their parts.
    classes: HashMap<(By, Vec<u32>), Option<Class>, Xxh3DefaultBuilder>,
}

/// So much is remembered at most.
const MAX_KEYS: usize = 1 << 16;
const MAX_CLASSES: usize = 1 << 10;

/// The runs with gaps around the places of a class.
pub fn runs_around(
    documents: &[Arc<Document>],
    anchor: &Class,
    settings: &Settings,
    memory: &mut Memory,
) -> Vec<Class> {
    let is_anchor = anchor.tokens >= ANCHOR_TOKENS
        && anchor.copies.len() <= MAX_PLACES
        && !matches!(anchor.zone, Zone::Data | Zone::Imports)
        && settings.kinds.contains(&Kind::Near);
    let places = || anchor.copies.iter().map(|copy| Place::of(documents, copy)).collect::<Option<Vec<Place>>>();
    let Some(places) = is_anchor.then(places).flatten() else { return Vec::new() };
    let by = if anchor.kind == Kind::Exact { By::Text } else { By::Structure };
    let bar = settings.min_similarity + EXTRA + if by == By::Structure { RENAMED_EXTRA } else { 0.0 };
    let run = Run { parts: vec![Part::equal(&places)], places, matched: anchor.tokens };
    let shown = (anchor.copies.len(), anchor.tokens);
    let mut walk = Walk {
        run,
        shown,
        by,
        bar: bar.min(MAX_BAR),
        settings,
        memory,
        comparer: Pattern::default(),
        found: Vec::new(),
    };
    if !walk.is_within_copies() {
        walk.grow();
    }
    walk.found
}

/// One place of a run: its siblings from the first to the last.
#[derive(Clone, Copy)]
struct Place<'a> {
    document: &'a Document,
    number: u32,
    first: Unit,
    last: Unit,
}

impl<'a> Place<'a> {
    fn of(documents: &'a [Arc<Document>], copy: &Fragment) -> Option<Place<'a>> {
        let document = &documents[copy.document as usize];
        let mut units = document.siblings_in(copy.start, copy.end).copied();
        let first = units.next()?;
        let last = units.last().unwrap_or(first);
        let is_whole = first.start == copy.start && last.end == copy.end;
        is_whole.then_some(Place { document, number: copy.document, first, last })
    }

    /// The unit around it, unless that starts far before.
    fn outer(&self) -> Option<Unit> {
        let units = &self.document.units;
        let behind = units.partition_point(|unit| unit.start <= self.first.start);
        let before = units[..behind].iter().rev().take(MAX_BEFORE);
        let is_larger = |unit: &Unit| unit.start < self.first.start || unit.end > self.last.end;
        before.copied().find(|unit| unit.end >= self.last.end && is_larger(unit))
    }

    fn range(&self) -> Range<u32> {
        self.first.start..self.last.end
    }

    /// The sibling that follows `edge` on a side, if a run can go on to it.
    fn sibling(&self, side: Side, edge: &Unit) -> Option<Unit> {
        let unit = side.sibling(self.document, edge)?;
        (!self.document.is_muted(unit.start, unit.end)).then_some(*unit)
    }

    fn edge(&self, side: Side) -> Unit {
        match side {
            Side::Before => self.first,
            Side::After => self.last,
        }
    }
}

/// A part of a run in each of its places.
#[derive(Clone)]
struct Part {
    is_gap: bool,
    ranges: Vec<Range<u32>>,
}

impl Part {
    fn equal(places: &[Place]) -> Part {
        Part { is_gap: false, ranges: places.iter().map(Place::range).collect() }
    }

    /// What tells it from other parts.
    fn numbers(&self, places: &[Place]) -> Vec<u32> {
        let places = places.iter().zip(&self.ranges);
        let numbers = places.flat_map(|(place, range)| [place.number, range.start, range.end]);
        std::iter::once(u32::from(self.is_gap)).chain(numbers).collect()
    }
}

#[derive(Clone)]
struct Run<'a> {
    places: Vec<Place<'a>>,
    /// In the order in which they were found.
    parts: Vec<Part>,
    /// Tokens that correspond in all places.
    matched: u32,
}

impl Run<'_> {
    fn take(&mut self, side: Side, step: Step) {
        for (place, edge) in self.places.iter_mut().zip(step.edges) {
            match side {
                Side::Before => place.first = edge,
                Side::After => place.last = edge,
            }
        }
        if step.gaps.iter().any(|gap| !gap.is_empty()) {
            self.parts.push(Part { is_gap: true, ranges: step.gaps });
        }
        self.parts.push(Part { is_gap: false, ranges: step.equal });
        self.matched += step.matched;
    }

    fn has_gap(&self) -> bool {
        self.parts.iter().any(|part| part.is_gap)
    }

    fn keep(&mut self, members: &[usize]) {
        self.places = members.iter().map(|&i| self.places[i]).collect();
        for part in &mut self.parts {
            part.ranges = members.iter().map(|&i| part.ranges[i].clone()).collect();
        }
    }
}

/// How long a unit is, and how it starts and ends.
type Shape = (usize, Option<[Code; 8]>, Option<[Code; 8]>);

/// Units that are equal: in some of the places the first one of them.
type Way = Vec<(usize, Unit)>;

/// A way to go on: for some of the places the siblings that are left out and those that are equal.
struct Step {
    members: Vec<usize>,
    gaps: Vec<Range<u32>>,
    equal: Vec<Range<u32>>,
    edges: Vec<Unit>,
    /// Tokens that correspond in it.
    matched: u32,
}

impl Step {
    fn is_anchor(&self) -> bool {
        self.equal.iter().all(|range| range.len() as u32 >= ANCHOR_TOKENS)
    }
}

struct Walk<'a> {
    run: Run<'a>,
    /// What makes units equal.
    by: By,
    /// The share of the tokens that must correspond.
    bar: f64,
    settings: &'a Settings,
    memory: &'a mut Memory,
    comparer: Pattern,
    found: Vec<Class>,
    /// How many places and matched tokens the class has that was shown last, the anchor at first.
    shown: (usize, u32),
}

impl Walk<'_> {
    /// Do all places stand within larger copies? What is beside them there is equal, too, and nothing goes on after an edit.
    fn is_within_copies(&mut self) -> bool {
        let outer: Option<Vec<Unit>> = self.run.places.iter().map(Place::outer).collect();
        let Some(outer) = outer else { return false };
        let place = |i: usize| (self.run.places[i].number, outer[i].start);
        // In the order of their places: who shares the outer one with another stands beside it.
        let are_apart = (1..outer.len()).all(|i| place(i - 1) != place(i));
        are_apart && {
            let key = self.key(0, &outer[0]);
            (1..outer.len()).all(|i| self.key(i, &outer[i]) == key)
        }
    }

    /// Grows as far as all places go, then with those of them that go further: what stands beside one copy makes no other
    /// one shorter.
    fn grow(&mut self) {
        let mut branches = VecDeque::from([(self.run.clone(), self.shown)]);
        let mut n_branches = 1;
        while let Some((run, shown)) = branches.pop_front() {
            (self.run, self.shown) = (run, shown);
            if !self.grow_whole() {
                continue;
            }
            self.emit();
            for (side, step) in self.branches() {
                if n_branches < MAX_BRANCHES {
                    n_branches += 1;
                    let mut run = self.run.clone();
                    run.keep(&step.members);
                    run.take(side, step);
                    branches.push_back((run, self.shown));
                }
            }
        }
    }

    /// Grows with all places. Says whether the run is short enough then.
    fn grow_whole(&mut self) -> bool {
        let mut sides = [Side::After, Side::Before];
        while let Some((side, step)) = sides.into_iter().find_map(|side| Some((side, self.step(side)?))) {
            self.run.take(side, step);
            if self.run.places.iter().any(|place| place.range().len() as u32 > MAX_TOKENS) {
                return false;
            }
            sides.sort_by_key(|other| *other != side);
        }
        true
    }

    /// Where the run goes on in all places.
    fn step(&mut self, side: Side) -> Option<Step> {
        let n_places = self.run.places.len();
        let ways = self.ways(side).into_iter().filter(|way| way.len() == n_places);
        ways.take(MAX_TRIES).find_map(|way| self.step_to(side, &way))
    }

    /// Where the run goes on in some of its places: those that are not among the places of another step, and not to what is
    /// an anchor of these places itself, from which the run comes here.
    fn branches(&mut self) -> Vec<(Side, Step)> {
        let n_places = self.run.places.len();
        let mut branches: Vec<(Side, Step)> = Vec::new();
        if n_places == 2 {
            return branches;
        }
        let mut ways: Vec<(Side, Way)> = Vec::new();
        for side in [Side::After, Side::Before] {
            let some = self.ways(side).into_iter().filter(|way| way.len() < n_places);
            ways.extend(some.take(MAX_TRIES).map(|way| (side, way)));
        }
        ways.sort_by_key(|(_, way)| Reverse(way.len()));
        for (side, way) in ways {
            let is_within = |step: &Step| way.iter().all(|(place, _)| step.members.contains(place));
            if !branches.iter().any(|(_, step)| is_within(step)) {
                let step = self.step_to(side, &way).filter(|step| !step.is_anchor());
                branches.extend(step.map(|step| (side, step)));
            }
        }
        branches
    }

    /// Ways to go on, those with the most places first, and of these those that leave out least.
    fn ways(&mut self, side: Side) -> Vec<Way> {
        let windows: Vec<Vec<Unit>> = (0..self.run.places.len()).map(|i| self.window(i, side)).collect();
        let units = windows.iter().enumerate().flat_map(|(i, window)| (0..window.len()).map(move |at| (i, at)));
        let mut shapes: Vec<(Shape, usize, usize)> =
            units.map(|(i, at)| (self.shape(i, &windows[i][at]), i, at)).collect();
        shapes.sort_unstable();
        // Only what has the shape of something in another place is worth reading.
        let alike = shapes.chunk_by(|a, b| a.0 == b.0).filter(|alike| alike[0].1 != alike[alike.len() - 1].1);
        let mut units: Vec<(u64, usize, usize)> =
            alike.flatten().map(|&(_, i, at)| (self.key(i, &windows[i][at]), i, at)).collect();
        // The first unit of each key in each window.
        units.sort_unstable();
        units.dedup_by_key(|(key, i, _)| (*key, *i));
        let mut ways: Vec<&[(u64, usize, usize)]> =
            units.chunk_by(|a, b| a.0 == b.0).filter(|way| way.len() > 1).collect();
        let left_out = |way: &[(u64, usize, usize)]| way.iter().map(|(_, _, at)| at).sum::<usize>();
        ways.sort_by_key(|way| (Reverse(way.len()), left_out(way) / way.len(), left_out(way), way[0].0));
        // Without a gap it is a longer run of some of the places, which is a class of its own.
        ways.retain(|way| self.run.has_gap() || left_out(way) > 0);
        ways.iter().map(|way| way.iter().map(|&(_, i, at)| (i, windows[i][at])).collect()).collect()
    }

    /// The siblings beside a place, the nearest first.
    fn window(&self, place: usize, side: Side) -> Vec<Unit> {
        let edge = self.run.places[place].edge(side);
        std::iter::successors(self.sibling(place, side, &edge), |unit| self.sibling(place, side, unit))
            .take(WINDOW)
            .collect()
    }

    /// What equal units have in common, found without reading them.
    fn shape(&self, place: usize, unit: &Unit) -> Shape {
        let codes = &self.run.places[place].document.codes[unit.start as usize..unit.end as usize];
        (codes.len(), codes.first_chunk().copied(), codes.last_chunk().copied())
    }

    /// The sibling of `edge`, unless it is part of another place.
    fn sibling(&self, place: usize, side: Side, edge: &Unit) -> Option<Unit> {
        let own = &self.run.places[place];
        let unit = own.sibling(side, edge)?;
        let is_free = |other: &Place| other.last.end <= unit.start || unit.end <= other.first.start;
        self.run.places.iter().filter(|other| other.number == own.number).all(is_free).then_some(unit)
    }

    fn key(&mut self, place: usize, unit: &Unit) -> u64 {
        let Place { document, number, .. } = self.run.places[place];
        let Memory { uses, keys, .. } = &mut *self.memory;
        if keys.len() > MAX_KEYS {
            keys.clear();
        }
        let key = keys.entry((self.by, number, unit.start, unit.end));
        *key.or_insert_with(|| self.by.key_of(document, unit, uses))
    }

    /// The step to these units, one in each of its places, and on as far as the units behind them are equal. None, if more
    /// is left out than is gained.
    fn step_to(&mut self, side: Side, members: &[(usize, Unit)]) -> Option<Step> {
        let mut edges: Vec<Unit> = members.iter().map(|(_, unit)| *unit).collect();
        while let Some(next) = self.equal_siblings(side, members, &edges) {
            edges = next;
        }
        let (mut gaps, mut equal) = (Vec::new(), Vec::new());
        for ((i, first), last) in members.iter().zip(&edges) {
            let place = &self.run.places[*i];
            match side {
                Side::After => {
                    gaps.push(place.last.end..first.start);
                    equal.push(first.start..last.end);
                }
                Side::Before => {
                    gaps.push(first.end..place.first.start);
                    equal.push(last.start..first.end);
                }
            }
        }
        // A comma between siblings is no gap.
        let is_joint = members.iter().zip(&gaps).all(|(_, gap)| gap.len() <= 1);
        if is_joint {
            gaps.iter_mut().for_each(|gap| gap.end = gap.start);
        }
        let gained = equal.iter().map(|range| range.len() as u32).min()?;
        let most_left_out = gaps.iter().map(|gap| gap.len() as u32).max()?;
        let added = gaps.iter().zip(&equal).map(|(gap, equal)| gap.len() + equal.len());
        let longest =
            members.iter().zip(added).map(|((i, _), added)| self.run.places[*i].range().len() + added).max()?;
        // No more is left out than is gained, and all in all enough corresponds.
        let least = (self.bar * longest as f64).ceil() as u32;
        let least = least.saturating_sub(self.run.matched + gained).max(most_left_out.saturating_sub(gained));
        let matched = gained + self.common(members, &gaps, least)?;
        let members = members.iter().map(|(i, _)| *i).collect();
        Some(Step { members, gaps, equal, edges, matched })
    }

    /// The siblings beyond these, if they are equal everywhere.
    fn equal_siblings(&mut self, side: Side, members: &[(usize, Unit)], edges: &[Unit]) -> Option<Vec<Unit>> {
        let mut next = Vec::with_capacity(edges.len());
        for ((place, _), edge) in members.iter().zip(edges) {
            next.push(self.sibling(*place, side, edge)?);
        }
        let all = || members.iter().map(|(place, _)| *place).zip(&next);
        let (shape, mut shapes) = (self.shape(members[0].0, &next[0]), all().map(|(i, unit)| self.shape(i, unit)));
        if shapes.any(|other| other != shape) {
            return None;
        }
        let key = self.key(members[0].0, &next[0]);
        all().skip(1).all(|(i, unit)| self.key(i, unit) == key).then_some(next)
    }

    /// How many tokens all gaps have in common with the least of them, if these are `least` or more.
    fn common(&mut self, members: &[(usize, Unit)], gaps: &[Range<u32>], least: u32) -> Option<u32> {
        if gaps.iter().any(|gap| gap.is_empty() || gap.len() > MAX_GAP) {
            return (least == 0).then_some(0);
        }
        if gaps.iter().any(|gap| gap.len() < least as usize) {
            return None;
        }
        let read = |((i, _), gap): (&(usize, Unit), &Range<u32>)| {
            let mut tokens = tokens_of(self.run.places[*i].document, gap.clone());
            if self.by == By::Structure {
                tokens.iter_mut().for_each(|token| *token = u32::from(code_of(*token)));
            }
            tokens
        };
        let mut tokens: Vec<Tokens> = members.iter().zip(gaps).map(read).collect();
        tokens.sort_unstable_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
        tokens.dedup();
        self.comparer.set(&tokens[0]);
        let mut common = tokens[0].len();
        for other in &tokens[1..] {
            common = common.min(self.comparer.common(other, least as usize)?);
        }
        Some(common as u32)
    }

    /// Notes the run as it is, if it has a gap and its places are near copies. With fewer places than what was shown before
    /// it is one more class, and must be worth it.
    fn emit(&mut self) {
        let (n_places, matched) = (self.run.places.len(), self.run.matched);
        let is_more = n_places == self.shown.0 || matched >= self.shown.1 + MORE_TOKENS;
        if self.run.has_gap() && is_more {
            let class = self.known_class();
            self.shown = if class.is_some() { (n_places, matched) } else { self.shown };
            self.found.extend(class);
        }
    }

    fn known_class(&mut self) -> Option<Class> {
        let mut parts: Vec<Vec<u32>> = self.run.parts.iter().map(|part| part.numbers(&self.run.places)).collect();
        parts.sort_unstable();
        let key = (self.by, parts.concat());
        if let Some(known) = self.memory.classes.get(&key) {
            return known.clone();
        }
        let class = self.class();
        if self.memory.classes.len() > MAX_CLASSES {
            self.memory.classes.clear();
        }
        self.memory.classes.insert(key, class.clone());
        class
    }

    fn class(&mut self) -> Option<Class> {
        let settings = self.settings;
        let mut run = self.run.clone();
        let spared = |place: &Place| settings.taboo.n_spared(place.document, place.first.start, place.last.end);
        let spared: Vec<usize> = (0..run.places.len()).filter(|&i| spared(&run.places[i]) >= ANCHOR_TOKENS).collect();
        run.keep(&spared);
        let leader = leader(&run, &mut self.memory.uses)?;
        let similarities: Vec<f64> = (0..run.places.len()).map(|i| self.similarity(&run, leader, i)).collect();
        let place = |&i: &usize| {
            let place: &Place = &run.places[i];
            (place.document.is_test(place.first.start, place.last.end), place.document.generated)
        };
        let near = |bar: f64| (0..run.places.len()).filter(|&i| similarities[i] >= bar).collect::<Vec<usize>>();
        let mut members = near(self.bar);
        if zone(members.iter().map(place), settings).0 == Zone::Test {
            members = near((self.bar + TEST_EXTRA).min(MAX_BAR));
        }
        let (zone, min_tokens) = zone(members.iter().map(place), settings);
        let n = members.len();
        // With what is left it may be a run without gaps.
        let is_alike = members.iter().all(|&i| similarities[i] == 1.0);
        if n < 2 || is_alike || !settings.zones.contains(&zone) {
            return None;
        }
        let of_leader = run.places[leader];
        let similarity = (members.iter().map(|&i| similarities[i]).sum::<f64>() - 1.0) / (n - 1) as f64;
        let fragment = |&i: &usize| {
            let place = &run.places[i];
            Fragment { document: place.number, start: place.first.start, end: place.last.end }
        };
        let mut copies: Vec<(Fragment, Range<u32>)> = members
            .iter()
            .map(|i| (fragment(i), run.places[*i].document.lines(run.places[*i].first.start, run.places[*i].last.end)))
            .collect();
        copies.sort_by_key(|(copy, _)| *copy);
        let (copies, at): (Vec<Fragment>, Vec<Range<u32>>) = copies.into_iter().unzip();
        let lines = at.iter().map(|lines| lines.end - lines.start).max()?;
        let tokens = copies.iter().map(Fragment::len).max()?;
        if lines < settings.min_lines || tokens < min_tokens {
            return None;
        }
        let (codes, symbols) = of_leader.document.read_tokens(of_leader.first.start, of_leader.last.end);
        if content(of_leader.document, &fragment(&leader), is_table(codes)).is_some() {
            return None;
        }
        self.memory.uses.read(codes, symbols);
        let id = id(of_leader.document, codes, self.memory.uses.distances(), SALT);
        Some(Class { id, kind: Kind::Near, zone, tokens, lines, similarity, copies, at })
    }

    /// The share of the longer one's tokens that correspond in two places of a run, part by part; after a renaming if names
    /// need not be the same.
    fn similarity(&mut self, run: &Run, leader: usize, other: usize) -> f64 {
        if leader == other {
            return 1.0;
        }
        let (gaps, equal): (Vec<&Part>, Vec<&Part>) = run.parts.iter().partition(|part| part.is_gap);
        let read = |part: &&Part, i: usize| tokens_of(run.places[i].document, part.ranges[i].clone());
        let pairs = |part: &&Part| read(part, other).into_iter().zip(read(part, leader)).collect::<Vec<_>>();
        let mut renaming = None;
        let mut common = match self.by {
            By::Text => equal.iter().map(|part| part.ranges[leader].len()).sum(),
            By::Structure => {
                let pairs: Vec<(u32, u32)> = equal.iter().flat_map(pairs).collect();
                let renaming = renaming.insert(Renaming::of(pairs.iter().copied()));
                pairs.iter().filter(|(other, leader)| renaming.apply(*other) == *leader).count()
            }
        };
        for gap in gaps.iter().filter(|gap| gap.ranges[other].len().max(gap.ranges[leader].len()) <= MAX_GAP) {
            let mut renamed = read(gap, other);
            if let Some(renaming) = &renaming {
                renamed.iter_mut().for_each(|token| *token = renaming.apply(*token));
            }
            self.comparer.set(&renamed);
            common += self.comparer.common(&read(gap, leader), 0).unwrap_or(0);
        }
        let longer = run.places[leader].range().len().max(run.places[other].range().len());
        common as f64 / longer.max(1) as f64
    }
}

/// The place whose text is the most common one, and has the least hash of these.
fn leader(run: &Run, uses: &mut LastUses) -> Option<usize> {
    let hash = |place: &Place| {
        let (codes, symbols) = place.document.read_tokens(place.first.start, place.last.end);
        uses.read_none(symbols.len());
        fingerprint(codes, symbols, uses.distances()).exact
    };
    let hashes: Vec<u64> = run.places.iter().map(hash).collect();
    let n_equal = |hash: u64| hashes.iter().filter(|other| **other == hash).count();
    (0..hashes.len()).min_by_key(|&i| (Reverse(n_equal(hashes[i])), hashes[i], i))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::blots::Blotting;
    use crate::candidates::shared_ranges;
    use crate::document::tests::document;
    use crate::nesting::drop_nested;
    use crate::raw::raw_classes;
    use crate::search::tests::{documents, edited_programs, settings};

    /// What runs alone show in some texts: the lines of their copies and their similarity.
    fn runs(texts: &[(&str, String)], settings: &Settings) -> Vec<String> {
        let read = |(name, text): &(&str, String)| Arc::new(document(name, text, settings).expect("a good text"));
        let documents: Vec<Arc<Document>> = texts.iter().map(read).collect();
        let raw = raw_classes(&documents, &shared_ranges(&documents, &Blotting::of(settings)), settings);
        let shown = drop_nested(raw.into_iter().map(|raw| raw.class).collect());
        let line = |class: &Class| {
            let at: String = class.at.iter().map(|at| format!("{}-{} ", at.start + 1, at.end)).collect();
            format!("{at}{:.2}", class.similarity)
        };
        shown.iter().map(line).collect()
    }

    /// Statements of which each has tokens of its own.
    fn statement(i: usize) -> String {
        match i % 4 {
            0 => format!("\tvalue{i} := load(name{i}, {i}, flags.first)\n"),
            1 => format!("\tif value{} == nil {{\n\t\treturn wrap(\"no {i}\", name{i})\n\t}}\n", i - 1),
            2 => format!("\tlist = append(list, value{}.next(), {i})\n", i - 2),
            _ => format!("\tfor key := range value{} {{\n\t\tdelete(other{i}, key)\n\t}}\n", i - 3),
        }
    }

    fn statements(range: Range<usize>) -> String {
        range.map(statement).collect()
    }

    /// A function with these statements, and others before and after them.
    fn function(name: &str, statements: &str) -> String {
        let step = ["go a(<-b, 2)", "b <- a[1:2]", "defer func() { a++ }()"][name.len() % 3];
        let (before, after) = (format!("\t{step}\n").repeat(9), format!("\t{step}\n").repeat(12));
        format!("package a\n\nfunc {name}(list []T) error {{\n{before}{statements}{after}\treturn nil\n}}\n")
    }

    #[test]
    fn a_run_goes_on_after_a_statement_that_was_inserted() {
        let a = function("one", &statements(0..14));
        let b = function("other", &format!("{}\tlog.Print(list)\n{}", statements(0..9), statements(9..14)));
        assert_eq!(runs(&[("a.go", a), ("b.go", b)], &Settings::default()), ["13-40 13-41 0.97"]);
    }

    #[test]
    fn a_run_goes_on_after_an_edited_statement_under_other_names() {
        let edited = |to: &str| statements(0..14).replace("name4, 4, flags.first", to);
        let a = function("one", &edited("name4"));
        let b = function("other", &edited("name4, 4, flags.first, 5").replace("value", "found").replace("list", "all"));
        let found = runs(&[("a.go", a), ("b.go", b)], &Settings::default());
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("13-40 13-40"), "{found:?}");
    }

    /// Three places, of which one has lost a statement: all three are one run.
    #[test]
    fn a_run_with_a_gap_in_one_place_has_all_places() {
        let all = statements(0..14);
        let less = format!("{}{}", statements(0..8), statements(9..14));
        let texts =
            [("a.go", function("one", &all)), ("b.go", function("four", &all)), ("c.go", function("other", &less))];
        let found = runs(&texts, &Settings::default());
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("13-40 13-40 13-39"), "{found:?}");
    }

    /// What follows is less than what lies between.
    #[test]
    fn a_run_does_not_go_on_for_a_trifle() {
        let a = function("one", &format!("{}{}\treturn\n", statements(0..9), statements(20..23)));
        let b = function("other", &format!("{}{}\treturn\n", statements(0..9), statements(41..44)));
        assert_eq!(runs(&[("a.go", a), ("b.go", b)], &Settings::default()), ["13-29 13-29 1.00"]);
    }

    /// A pair of forked files: some functions edited, one inserted, one removed.
    #[test]
    fn a_pair_of_forked_files_is_one_run() {
        let function = |i: usize, more: &str| {
            let (first, n) = (7 * i, 4 + i % 5);
            let (head, tail) = (statements(first..first + 3), statements(first + 3..first + n));
            format!("func f{i}(list []T) error {{\n{head}{more}{tail}\treturn nil\n}}\n")
        };
        let file = |edit: &dyn Fn(usize) -> Option<String>| -> String {
            format!("package a\n{}", (0..20).filter_map(edit).collect::<String>())
        };
        let a = file(&|i| Some(function(i, "")));
        let b = file(&|i| match i {
            3 => None,
            7 => Some(function(i, "\tedited()\n")),
            12 => Some(function(i, "") + &function(503, "")),
            _ => Some(function(i, "")),
        });
        let n_lines = |text: &str| text.lines().count();
        let expected = format!("2-{} 2-{} ", n_lines(&a), n_lines(&b));
        let found = runs(&[("a.go", a), ("b.go", b)], &Settings::default());
        assert!(found.len() == 1 && found[0].starts_with(&expected), "{found:?}, not {expected}");
    }

    proptest! {
        #![proptest_config(crate::cases(128))]

        #[test]
        fn runs_with_gaps_are_whole_siblings_that_correspond(programs in edited_programs()) {
            let settings = settings();
            let documents = documents(&programs, &settings);
            let raw = raw_classes(&documents, &shared_ranges(&documents, &Blotting::of(&settings)), &settings);
            for class in raw.iter().map(|raw| &raw.class).filter(|class| class.kind == Kind::Near) {
                for (copy, other) in class.copies.iter().zip(&class.copies[1..]) {
                    prop_assert!(copy < other && !copy.overlaps(other));
                }
                for copy in &class.copies {
                    prop_assert!(Place::of(&documents, copy).is_some(), "not whole siblings: {:?}", copy);
                }
                prop_assert!(class.similarity >= settings.min_similarity);
            }
        }
    }
}
