//! Accepted classes in a file (`--baseline`): what was there when somebody switched the check on.
//!
//! A class is told by its id and by how many copies are accepted, so moved files and shifted lines change nothing, and a
//! third copy of an accepted pair is new. One line for each class, in the order of their ids: made for diffs and merges.
//!
//! ```text
//! {
//!   "version": 1,
//!   "classes": [
//!     {"id": "58e56409c01799a3", "copies": 2, "lines": 16, "files": ["a.go", "b/b.go"]},
//! ```

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use dupi::output::{Draft, Ends};
use dupi::{Class, Fragment, Report, regular};
use serde::Deserialize;

use super::findings::News;
use super::format::compact;

/// 1: the first.
const VERSION: u32 = 1;
/// A class takes about 200 bytes, and Linux has less than 50 000 of them.
const MAX_BYTES: u64 = 64 << 20;
/// Names of files that an entry keeps, for people.
const MAX_FILES: usize = 4;
/// Stale entries that are named.
const MAX_TOLD: usize = 5;

pub struct Baseline {
    path: PathBuf,
    accepted: BTreeMap<u64, Accepted>,
}

#[derive(Debug)]
struct Accepted {
    copies: usize,
    lines: u32,
    /// Where it stood: for people, and to say what it may have become.
    files: Vec<String>,
}

#[derive(Deserialize)]
struct Written {
    version: u32,
    classes: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    copies: usize,
    lines: u32,
    files: Vec<String>,
}

/// Copies by the id of their class.
pub type Counts = BTreeMap<u64, usize>;

/// How many copies of each id there are.
pub fn counts<'a>(classes: impl IntoIterator<Item = &'a Class>) -> Counts {
    let mut counts = Counts::new();
    for class in classes {
        *counts.entry(class.id).or_default() += class.copies.len();
    }
    counts
}

/// Was a file written as a baseline? Conflicts of a merge may be in it.
pub fn is_baseline(ends: &Ends) -> bool {
    let (first, last) = (compact(&ends.first), compact(&ends.last));
    let after_version =
        first.strip_prefix("{\"version\":").map(|text| text.trim_start_matches(|c: char| c.is_ascii_digit()));
    after_version.is_some_and(|text| text.starts_with(",\"classes\":["))
        // As tools write it that sort the keys.
        || first.starts_with("{\"classes\":[") && last.contains("],\"version\":")
}

impl Baseline {
    pub fn read(path: &Path) -> Result<Baseline> {
        let text = match regular::read_to_string(path, MAX_BYTES) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                bail!("there is no baseline {}: write one with --write-baseline", path.display())
            }
            read => read.with_context(|| format!("cannot read the baseline {}", path.display()))?,
        };
        let bad = || format!("{} is no baseline", path.display());
        // A merge that was not finished is the usual reason.
        let Written { version, classes } = serde_json::from_str(&text).with_context(bad)?;
        if version != VERSION {
            bail!("the baseline {} has version {version}, and this program reads {VERSION}", path.display());
        }
        let accept = |Entry { id, copies, lines, files }: Entry| {
            let id = u64::from_str_radix(&id, 16).with_context(|| format!("`{id}` is no id of a class"))?;
            Ok((id, Accepted { copies, lines, files }))
        };
        let accepted = classes.into_iter().map(accept).collect::<Result<_>>().with_context(bad)?;
        Ok(Baseline { path: path.to_owned(), accepted })
    }

    /// All that there is.
    pub fn of(report: &Report, path: &Path) -> Baseline {
        let mut accepted: BTreeMap<u64, Accepted> = BTreeMap::new();
        for class in &report.classes {
            let entry = accepted.entry(class.id).or_insert(Accepted { copies: 0, lines: 0, files: Vec::new() });
            entry.copies += class.copies.len();
            entry.lines = entry.lines.max(class.lines);
            entry.files.extend(class.copies.iter().map(|copy| report.files[copy.document as usize].shown.clone()));
            entry.files.sort();
            entry.files.dedup();
            entry.files.truncate(MAX_FILES);
        }
        Baseline { path: path.to_owned(), accepted }
    }

    pub fn len(&self) -> usize {
        self.accepted.len()
    }

    pub fn name(&self) -> String {
        format!("the baseline {}", self.path.display())
    }

    /// What is new of a class of which there are so many copies.
    pub fn news(&self, class: &Class, n_copies: usize) -> Option<News> {
        match self.accepted.get(&class.id).map_or(0, |entry| entry.copies) {
            0 => Some(News::New),
            before if before < n_copies => Some(News::More { before }),
            _ => None,
        }
    }

    /// Entries of which there is less than they accept, as sentences.
    pub fn stale(&self, now: &Counts) -> Vec<String> {
        let told = self.accepted.iter().filter_map(|(id, Accepted { copies, lines, files })| {
            let what = format!("{id:016x} ({lines} lines in {})", files.join(", "));
            match now.get(id) {
                None => Some(format!("{what} is gone")),
                Some(n) if n < copies => Some(format!("{what} has {n} copies, and {copies} are accepted")),
                Some(_) => None,
            }
        });
        let told: Vec<String> = told.take(MAX_TOLD + 1).collect();
        match told.len() {
            0 => told,
            n => {
                let more = if n > MAX_TOLD { "; …" } else { "" };
                let told = told[..n.min(MAX_TOLD)].join("; ");
                vec![format!("{} is stale, --prune-baseline brings it up to date: {told}{more}", self.name())]
            }
        }
    }

    /// The entry that a new class may have been before an edit: one that is gone and stood in the same files.
    pub fn was_perhaps(&self, class: &Class, report: &Report, now: &Counts) -> Option<String> {
        let name = |copy: &Fragment| &report.files[copy.document as usize].shown;
        let stood_here = |entry: &Accepted| class.copies.iter().all(|copy| entry.files.contains(name(copy)));
        let mut gone = self.accepted.iter().filter(|(id, _)| !now.contains_key(id));
        gone.find(|(_, entry)| stood_here(entry)).map(|(id, _)| format!("{id:016x}"))
    }

    /// Drops what there is no more.
    pub fn prune(&mut self, now: &Counts) {
        self.accepted.retain(|id, entry| {
            let n = now.get(id).copied().unwrap_or(0);
            entry.copies = entry.copies.min(n);
            n > 0
        });
    }

    pub fn write(&self) -> Result<()> {
        let mut text = format!("{{\n  \"version\": {VERSION},\n  \"classes\": [");
        for (i, (id, entry)) in self.accepted.iter().enumerate() {
            text.push_str(if i == 0 { "\n    " } else { ",\n    " });
            // One line each, with blanks as people write them.
            let Accepted { copies, lines, files } = entry;
            let files = files.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?.join(", ");
            text.push_str(&format!(
                "{{\"id\": \"{id:016x}\", \"copies\": {copies}, \"lines\": {lines}, \"files\": [{files}]}}"
            ));
        }
        text.push_str(if self.accepted.is_empty() { "]\n}\n" } else { "\n  ]\n}\n" });
        let write = || {
            let mut draft = Draft::create(&self.path, is_baseline)?;
            draft.write_all(text.as_bytes())?;
            draft.finish()
        };
        write().with_context(|| format!("cannot write {}", self.path.display()))
    }
}
