//! The figures that sum up a report.

use std::collections::HashMap;
use std::ops::Range;

use dupi::{Class, Report, Zone};

pub struct Summary {
    pub copies: usize,
    /// Lines that stand in a copy, each counted once.
    pub duplicated_lines: u64,
    /// Of all files that were read.
    pub lines: u64,
    /// Classes by zone, in the order of the zones, and the lines that stand in a copy of one.
    pub zones: Vec<(Zone, usize, u64)>,
}

impl Summary {
    pub fn new(report: &Report) -> Summary {
        let of_zone = |&zone: &Zone| {
            let classes: Vec<&Class> = report.classes.iter().filter(|class| class.zone == zone).collect();
            (zone, classes.len(), in_all(classes))
        };
        Summary {
            copies: report.classes.iter().map(|class| class.copies.len()).sum(),
            duplicated_lines: in_all(&report.classes),
            lines: report.lines(),
            zones: Zone::ALL.iter().map(of_zone).filter(|(_, n, _)| *n > 0).collect(),
        }
    }

    pub fn percent(&self) -> f64 {
        self.share(self.duplicated_lines)
    }

    /// Classes and percent of all lines, in one zone or in all.
    pub fn of(&self, zone: Option<Zone>) -> (usize, f64) {
        let in_zone = |(of, n, lines): &(Zone, usize, u64)| (Some(*of) == zone).then_some((*n, self.share(*lines)));
        match zone {
            None => (self.zones.iter().map(|(_, n, _)| n).sum(), self.percent()),
            Some(_) => self.zones.iter().find_map(in_zone).unwrap_or((0, 0.0)),
        }
    }

    fn share(&self, lines: u64) -> f64 {
        100.0 * lines as f64 / self.lines.max(1) as f64
    }
}

/// Lines that stand in a copy of some classes, each counted once, by document.
pub fn duplicated_lines<'a>(classes: impl IntoIterator<Item = &'a Class>) -> HashMap<u32, u64> {
    let mut ranges: HashMap<u32, Vec<Range<u32>>> = HashMap::new();
    for class in classes {
        for (copy, lines) in class.copies.iter().zip(&class.at) {
            ranges.entry(copy.document).or_default().push(lines.clone());
        }
    }
    ranges.into_iter().map(|(document, ranges)| (document, covered(ranges))).collect()
}

/// The same, of all documents together.
fn in_all<'a>(classes: impl IntoIterator<Item = &'a Class>) -> u64 {
    duplicated_lines(classes).into_values().sum()
}

/// How many lines some ranges cover together.
pub fn covered(mut ranges: Vec<Range<u32>>) -> u64 {
    ranges.sort_by_key(|range| range.start);
    let (mut end, mut n) = (0, 0);
    for range in ranges {
        let start = range.start.max(end);
        n += u64::from(range.end.saturating_sub(start));
        end = end.max(range.end);
    }
    n
}
