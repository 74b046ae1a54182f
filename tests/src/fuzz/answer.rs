//! What a check says, in a form that does not depend on blanks, comments and names: places are counted in solid bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::corpus::Files;
use crate::binary::Run;

/// A copy: the path, and the solid bytes of the file before its start and before its end.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Copy {
    pub path: String,
    pub start: usize,
    pub end: usize,
    /// Whether it holds bytes that only this side of a law has.
    pub is_extra: bool,
}

impl Copy {
    pub fn contains(&self, other: &Copy) -> bool {
        self.path == other.path && self.start <= other.start && other.end <= self.end
    }
}

impl fmt::Debug for Copy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}..{}", self.path, self.start, self.end)
    }
}

/// A class of copies.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shown {
    pub copies: Vec<Copy>,
    pub id: String,
    pub kind: String,
    pub zone: String,
    pub tokens: u64,
    pub lines: u64,
    pub similarity: String,
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown { copies, id, kind, zone, tokens, lines: _, similarity } = self;
        write!(f, "{id} {kind} {zone} {tokens} tokens {similarity} {copies:?}")
    }
}

/// All classes, in no order of importance, and what was read.
#[derive(Clone, Debug)]
pub struct Answer {
    pub classes: BTreeSet<Shown>,
    /// Number of files and tokens, and what was skipped.
    pub scanned: (u64, u64, BTreeSet<(String, String)>),
    pub code: i32,
}

/// What differs between two sides of a law, and is not to be counted.
#[derive(Clone, Debug, Default)]
pub struct Lens {
    /// Bytes that only this side has.
    pub extra: BTreeMap<PathBuf, Vec<Range<usize>>>,
    /// What a path is called on the other side.
    pub names: BTreeMap<PathBuf, PathBuf>,
}

impl Lens {
    fn shown(&self, path: &str) -> String {
        let path = Path::new(path);
        self.names.get(path).map_or(path, PathBuf::as_path).to_string_lossy().into_owned()
    }

    /// The solid bytes before `offset` that the other side has, too.
    pub fn solid(&self, path: &Path, bytes: &[u8], offset: usize) -> usize {
        let extra = self.extra.get(path).map_or(&[][..], Vec::as_slice);
        let bytes = &bytes[..offset.min(bytes.len())];
        let mark = if bytes.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 };
        let is_solid = |(at, byte): &(usize, &u8)| {
            *at >= mark && !byte.is_ascii_whitespace() && !extra.iter().any(|range| range.contains(at))
        };
        bytes.iter().enumerate().filter(is_solid).count()
    }
}

/// Reads what a check of `files` has said.
pub fn read(run: &Run, files: &Files, lens: &Lens) -> Result<Answer> {
    ensure!(run.code <= 1, "exit {}: {}", run.code, run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).context("JSON")?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    let mut classes = BTreeSet::new();
    for class in list(&report["classes"]) {
        let mut copies = Vec::new();
        for copy in list(&class["copies"]) {
            let path = PathBuf::from(text(&copy["path"]));
            let bytes = files.get(&path).with_context(|| format!("{} is no file", path.display()))?;
            let at = |line: &str, column: &str| offset(bytes, number(&copy[line]), number(&copy[column]));
            let (start, end) = (at("startLine", "startColumn"), at("endLine", "endColumn"));
            let extra = lens.extra.get(&path).map_or(&[][..], Vec::as_slice);
            copies.push(Copy {
                path: lens.shown(&path.to_string_lossy()),
                start: lens.solid(&path, bytes, start),
                end: lens.solid(&path, bytes, end),
                is_extra: extra.iter().any(|range| range.start < end && start < range.end),
            });
        }
        copies.sort();
        classes.insert(Shown {
            copies,
            id: text(&class["id"]),
            kind: text(&class["kind"]),
            zone: text(&class["zone"]),
            tokens: number(&class["tokens"]),
            lines: number(&class["lines"]),
            similarity: class["similarity"].to_string(),
        });
    }
    let scanned = &report["scanned"];
    let skipped = list(&scanned["skipped"]);
    let skipped = skipped.iter().map(|skip| (lens.shown(&text(&skip["path"])), text(&skip["reason"]))).collect();
    Ok(Answer { classes, scanned: (number(&scanned["files"]), number(&scanned["tokens"]), skipped), code: run.code })
}

/// The byte at a line and a column, both from 1, columns in UTF-16 units without a byte order mark.
pub fn offset(bytes: &[u8], line: u64, column: u64) -> usize {
    let mut start = 0;
    for _ in 1..line {
        start = bytes[start..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| start + end + 1);
    }
    if line == 1 && bytes.starts_with("\u{feff}".as_bytes()) {
        start = 3;
    }
    let mut left = column.saturating_sub(1) as usize;
    let line = String::from_utf8_lossy(&bytes[start..]);
    for (at, c) in line.char_indices() {
        if left == 0 {
            return start + at;
        }
        left = left.saturating_sub(c.len_utf16());
    }
    bytes.len()
}

impl Answer {
    /// The first class of either that the other does not have, without what counts lines.
    pub fn difference(&self, other: &Answer) -> Option<String> {
        if self.scanned != other.scanned {
            return Some(format!("read {:?}, and then {:?}", self.scanned, other.scanned));
        }
        let bare = |class: &Shown| {
            let copies = class.copies.iter().map(|copy| Copy { is_extra: false, ..copy.clone() }).collect();
            Shown { copies, lines: 0, ..class.clone() }
        };
        let bare = |answer: &Answer| -> BTreeSet<Shown> { answer.classes.iter().map(bare).collect() };
        let (mine, others) = (bare(self), bare(other));
        let lost = mine.difference(&others).next().map(|class| format!("lost: {class:?}"));
        let new = others.difference(&mine).next().map(|class| format!("new: {class:?}"));
        (lost.is_some() || new.is_some()).then(|| [lost, new].into_iter().flatten().collect::<Vec<_>>().join("; "))
    }

    /// Is there a class whose copies hold all these?
    pub fn covers(&self, copies: &[Copy]) -> bool {
        self.classes.iter().any(|class| copies.iter().all(|copy| class.copies.iter().any(|other| other.contains(copy))))
    }
}
