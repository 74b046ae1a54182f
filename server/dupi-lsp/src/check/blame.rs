//! Who brought each copy (`--blame`): for the classes that are shown, and for no other.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use anyhow::Result;
use dupi::File;
use rayon::prelude::*;
use time::OffsetDateTime;

use super::findings::Finding;
use super::lines::Lines;
use crate::git::{Blame, Git};

/// The commit that most lines of a copy go back to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brought {
    pub commit: String,
    /// In seconds since 1970.
    pub time: i64,
    /// "2026-01-31".
    pub date: String,
    pub author: String,
    pub summary: String,
}

impl Brought {
    /// As much of the commit's name as people write.
    pub fn short(&self) -> &str {
        self.commit.get(..9).unwrap_or(&self.commit)
    }

    /// Of some lines, counted from 1. Of two commits with as many lines the older one: it was there first.
    fn of(blame: &Blame, (first, last): (u32, u32)) -> Option<Brought> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, commit) in blame.lines.range(first..=last) {
            *counts.entry(commit).or_default() += 1;
        }
        let time = |commit: &str| blame.commits.get(commit).map_or(0, |commit| commit.time);
        let (commit, _) = counts.into_iter().max_by_key(|&(commit, n)| (n, std::cmp::Reverse(time(commit))))?;
        let known = blame.commits.get(commit)?;
        Some(Brought {
            commit: commit.to_owned(),
            time: known.time,
            date: OffsetDateTime::from_unix_timestamp(known.time).ok()?.date().to_string(),
            author: known.author.clone(),
            summary: known.summary.clone(),
        })
    }
}

impl fmt::Display for Brought {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}: {}", self.short(), self.date, self.author, self.summary)
    }
}

/// A file with what it holds, and its copies: which of which finding.
type Copies<'a> = (&'a File, Vec<u8>, Vec<(usize, usize)>);

/// Finds out who brought the copies of some classes. What git does not know was brought by nobody.
pub fn find(git: &Git, findings: &mut [Finding]) {
    let mut wanted: BTreeMap<&str, Copies> = BTreeMap::new();
    for (i, finding) in findings.iter().enumerate() {
        for copy in 0..finding.places.len() {
            let file = finding.file(copy);
            // A file that changed meanwhile is blamed for none of its lines.
            let text = || finding.text(copy).unwrap_or_else(Vec::new);
            let entry = wanted.entry(&file.shown).or_insert_with(|| (file, text(), Vec::new()));
            entry.2.push((i, copy));
        }
    }
    let of_file = |(file, content, copies): Copies| {
        let lines: Vec<(u32, u32)> = copies.iter().map(|&(i, copy)| findings[i].line_numbers(copy)).collect();
        let path = file.path.strip_prefix(&git.top).unwrap_or(&file.path);
        // Git fails for what is not committed, too. Names are an extra: the lack of one fails no check.
        let blame = of_content(git, path, &content, &lines).unwrap_or_else(|_| Blame::default());
        copies.into_iter().zip(lines).map(|(copy, lines)| (copy, Brought::of(&blame, lines))).collect::<Vec<_>>()
    };
    let found: Vec<_> = wanted.into_values().collect::<Vec<_>>().into_par_iter().flat_map_iter(of_file).collect();
    for finding in findings.iter_mut() {
        finding.brought = vec![None; finding.places.len()];
    }
    for ((i, copy), brought) in found {
        findings[i].brought[copy] = brought;
    }
}

/// Which commit each of these lines (from 1, both ends inclusive) of a file goes back to, where `content` is what it
/// holds now. Lines that are not committed go back to none.
fn of_content(git: &Git, path: &Path, content: &[u8], lines: &[(u32, u32)]) -> Result<Blame> {
    let was = Lines::new(&git.committed(path)?, content).was;
    let was = |line: u32| Some(was.get(line as usize - 1).copied()?? + 1);
    let committed = |&(first, last): &(u32, u32)| {
        let mut lines = (first..=last).filter_map(was);
        let first = lines.next()?;
        Some((first, lines.next_back().unwrap_or(first)))
    };
    let ranges: Vec<(u32, u32)> = lines.iter().filter_map(committed).collect();
    if ranges.is_empty() {
        return Ok(Blame::default());
    }
    let Blame { lines: brought, commits } = git.blame(path, &ranges)?;
    let line = |line: u32| Some((line, brought.get(&was(line)?)?.clone()));
    Ok(Blame { lines: lines.iter().flat_map(|&(first, last)| first..=last).filter_map(line).collect(), commits })
}
