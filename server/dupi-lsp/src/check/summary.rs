//! The figures that sum up a report.

use std::collections::HashMap;
use std::ops::Range;

use dupi::{Report, Zone};

pub struct Summary {
    pub copies: usize,
    /// Lines that stand in a copy, each counted once.
    pub duplicated_lines: u64,
    /// Classes by zone, in the order of the zones.
    pub zones: Vec<(Zone, usize)>,
}

impl Summary {
    pub fn new(report: &Report) -> Summary {
        let mut ranges: HashMap<u32, Vec<Range<u32>>> = HashMap::new();
        let mut copies = 0;
        for class in &report.classes {
            copies += class.copies.len();
            for (copy, lines) in class.copies.iter().zip(&class.at) {
                ranges.entry(copy.document).or_default().push(lines.clone());
            }
        }
        let duplicated_lines = ranges.into_values().map(covered).sum();
        let zones = Zone::ALL
            .iter()
            .map(|&zone| (zone, report.classes.iter().filter(|class| class.zone == zone).count()))
            .filter(|(_, n)| *n > 0)
            .collect();
        Summary { copies, duplicated_lines, zones }
    }

    pub fn percent(&self, report: &Report) -> f64 {
        100.0 * self.duplicated_lines as f64 / report.lines().max(1) as f64
    }
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
