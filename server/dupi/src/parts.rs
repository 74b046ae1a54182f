//! Parts of runs that are copies, where the whole run is not.
//!
//! Units of one shape that stand beside two copies make their run longer, and the longer one can be too unlike. What is a
//! copy without these neighbours is one with them, too. So where judging tells places of one structure apart, the longest
//! parts that two of them have as copies are judged as groups of their own.
//!
//! A row of one shape is one thing: a part has all of it or nothing, or a hundred small tests would be hundreds of parts.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use dupi_grammars::token::varies;

use crate::class::Fragment;
use crate::document::Document;
use crate::fingerprint::LastUses;
use crate::judge::{Bar, Counts, Judged, Judgement, Likeness, judge, tokens};
use crate::nesting::is_inside;
use crate::rows::{Repetition, repetitions};
use crate::runs::{By, Group};
use crate::settings::Settings;
use crate::zones::is_table;

/// A part that is looked for has so many units at most, where a row counts as one.
const MAX_UNITS: usize = 32;
/// Units of one shape, or a pattern of them, are a row if they come so often.
const MIN_ROUNDS: usize = 3;
/// So many parts of a group are looked at, of all pairs of its places together, and so many are judged. Only long rows of
/// small units have more, in which equal text is found anyway.
const MAX_TRIES: usize = 1 << 16;
const MAX_PARTS: usize = 16;

/// The classes of a group, and of its parts where the whole is none.
pub fn judge_parts(
    documents: &[Arc<Document>],
    settings: &Settings,
    group: &Group,
    uses: &mut LastUses,
) -> Vec<Judged> {
    let places = settings.taboo.spared(documents, &group.places);
    let Judgement { mut classes, leaders } = judge(documents, settings, &places, uses);
    classes.retain(|judged| !group.can_grow(documents, &judged.class.copies, uses));
    let n_whole = classes.len();
    let parts = Search::new(documents, settings, &leaders, uses).parts();
    if parts.is_empty() {
        return classes;
    }
    // What has other codes is there by a clash of hashes, and cannot be cut in the same way.
    let codes = |place: &Fragment| tokens(documents, place).0;
    let mut places: Vec<Fragment> = places.iter().filter(|place| codes(place) == codes(&leaders[0])).copied().collect();
    places.sort_unstable();
    for part in parts {
        let parts: Vec<Fragment> = places.iter().map(|place| cut(place, &part)).collect();
        for judged in judge(documents, settings, &parts, uses).classes {
            let copies = &judged.class.copies;
            let whole: Vec<Fragment> =
                copies.iter().map(|copy| places[parts.partition_point(|part| part < copy)]).collect();
            let is_known =
                classes[..n_whole].iter().any(|known| copies.iter().all(|copy| is_inside(copy, &known.class.copies)));
            if !is_known && !group.can_grow(documents, &whole, uses) {
                classes.push(judged);
            }
        }
    }
    classes
}

/// A part of a place.
fn cut(place: &Fragment, part: &Range<u32>) -> Fragment {
    Fragment { document: place.document, start: place.start + part.start, end: place.start + part.end }
}

/// Looks for the parts that two of some places of one structure have as copies.
struct Search<'a> {
    documents: &'a [Arc<Document>],
    settings: &'a Settings,
    leaders: &'a [Fragment],
    uses: &'a mut LastUses,
    /// In tokens from the start of a place.
    units: Vec<Range<u32>>,
    /// The units before which a part can start, and end: those that do not go on with a row.
    cuts: Vec<usize>,
    /// What is asked of a part, by its units.
    bars: HashMap<Range<usize>, Bar>,
}

/// How the texts of two places differ.
struct Pair {
    /// What was counted up to each token.
    counts: Vec<Counts>,
    /// For each unit, up to which token from there on the one place is a one-to-one renaming of the other.
    renamed_to: Vec<u32>,
}

impl<'a> Search<'a> {
    fn new(
        documents: &'a [Arc<Document>],
        settings: &'a Settings,
        leaders: &'a [Fragment],
        uses: &'a mut LastUses,
    ) -> Search<'a> {
        let mut units = Vec::new();
        let mut keys = Vec::new();
        if let [first, _, ..] = leaders {
            let document = &documents[first.document as usize];
            for unit in document.siblings_in(first.start, first.end) {
                units.push(unit.start - first.start..unit.end - first.start);
                keys.push(By::Structure.key_of(document, unit, uses));
            }
        }
        let rows = repetitions(&keys);
        let rows: Vec<&Repetition> = rows.iter().filter(|row| row.range.len() >= MIN_ROUNDS * row.period).collect();
        let is_in_row = |at: &usize| rows.iter().any(|row| row.range.start < *at && *at < row.range.end);
        let cuts = (0..=units.len()).filter(|at| !is_in_row(at)).collect();
        Search { documents, settings, leaders, uses, units, cuts, bars: HashMap::new() }
    }

    /// Where parts start and end, in tokens from the start of a place.
    fn parts(mut self) -> Vec<Range<u32>> {
        let mut parts: Vec<Range<usize>> = Vec::new();
        let mut n_tries = 0;
        // All units together are what was judged before.
        let leaders = if self.cuts.len() > 2 { self.leaders } else { &[] };
        'pairs: for (i, a) in leaders.iter().enumerate() {
            for b in &leaders[i + 1..] {
                let pair = self.pair(a, b);
                let mut covered = 0;
                for from in 0..self.cuts.len() - 1 {
                    let most = (from + MAX_UNITS).min(self.cuts.len() - 1);
                    for to in (covered.max(from) + 1..=most).rev() {
                        n_tries += 1;
                        let part = self.cuts[from]..self.cuts[to];
                        if self.is_copy(&pair, &part) {
                            covered = to;
                            parts.push(part);
                            break;
                        }
                    }
                    if n_tries > MAX_TRIES {
                        break 'pairs;
                    }
                }
            }
        }
        parts.sort_unstable_by_key(|part| (Reverse(part.len()), part.start));
        parts.dedup();
        parts.truncate(MAX_PARTS);
        parts.iter().map(|part| self.tokens_of(part)).collect()
    }

    fn tokens_of(&self, part: &Range<usize>) -> Range<u32> {
        self.units[part.start].start..self.units[part.end - 1].end
    }

    fn pair(&mut self, a: &Fragment, b: &Fragment) -> Pair {
        let ((codes, of_a), (_, of_b)) = (tokens(self.documents, a), tokens(self.documents, b));
        let language = self.documents[a.document as usize].language;
        let mut last_uses = |symbols: &[u32]| {
            self.uses.read_roles(language, codes, symbols);
            self.uses.distances().to_vec()
        };
        let uses: Vec<(u32, u32)> = last_uses(of_a).into_iter().zip(last_uses(of_b)).collect();
        let mut counts = Vec::with_capacity(codes.len() + 1);
        let mut now = Counts::default();
        // Names that come back after other distances, from the later one of their last uses on.
        let mut unlike: Vec<(u32, u32)> = Vec::new();
        let mut symbols = of_a.iter().zip(of_b).zip(&uses);
        for (i, &code) in (0..).zip(codes) {
            counts.push(now);
            now.tokens += 1;
            if varies(code)
                && let Some(((a, b), (use_of_a, use_of_b))) = symbols.next()
            {
                now.add(code, a != b);
                if use_of_a != use_of_b {
                    unlike.push((i - use_of_a.min(use_of_b), i));
                }
            }
        }
        counts.push(now);
        let renamed_to = |unit: &Range<u32>| {
            let ends = unlike.iter().filter(|(use_before, at)| *at >= unit.start && *use_before >= unit.start);
            ends.map(|(_, at)| *at).next().unwrap_or(u32::MAX)
        };
        Pair { counts, renamed_to: self.units.iter().map(renamed_to).collect() }
    }

    /// Are the places of a pair copies as far as this part goes, though not by text alone?
    fn is_copy(&mut self, pair: &Pair, part: &Range<usize>) -> bool {
        let range = self.tokens_of(part);
        let counts = pair.within(&range);
        if counts.names + counts.literals == 0 || range.len() < self.settings.floor() as usize {
            return false;
        }
        let is_renamed = pair.renamed_to[part.start] >= range.end;
        let likeness = Likeness::from(counts);
        if !is_renamed && likeness.similarity < self.settings.min_similarity {
            return false;
        }
        let bar = self.bars.entry(part.clone()).or_insert_with(|| {
            let leader = self.leaders[0];
            let fragment = cut(&leader, &range);
            let table = is_table(tokens(self.documents, &fragment).0);
            Bar::new(self.documents, &fragment, table, self.settings, self.uses)
        });
        bar.admits_likeness(&likeness) || (is_renamed && bar.admits_renaming(&likeness))
    }
}

impl Pair {
    fn within(&self, range: &Range<u32>) -> Counts {
        let (from, to) = (self.counts[range.start as usize], self.counts[range.end as usize]);
        Counts {
            tokens: to.tokens - from.tokens,
            varying: to.varying - from.varying,
            names: to.names - from.names,
            literals: to.literals - from.literals,
        }
    }
}
