//! Classes that somebody looked at and wants as they are: found, but not shown. The one place that decides it, for
//! whole workspaces and for single documents alike.

use globset::GlobSet;

use crate::Error;
use crate::class::Class;
use crate::files::globs;

/// What is wanted as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ignore {
    /// The class with this id.
    Class(u64),
    /// Each class all of whose copies lie in files that match this glob. One that also stands elsewhere is shown: who
    /// tolerates copies in one folder wants to hear of those that leave it.
    Paths(String),
}

/// Entries, ready to be asked.
pub struct Matcher(Vec<By>);

enum By {
    Class(u64),
    Paths(GlobSet),
    Nothing,
}

impl Matcher {
    pub fn new(entries: &[Ignore]) -> Result<Matcher, Error> {
        let by = |entry: &Ignore| {
            Ok(match entry {
                Ignore::Class(id) => By::Class(*id),
                Ignore::Paths(glob) => globs(std::slice::from_ref(glob), "path")?.map_or(By::Nothing, By::Paths),
            })
        };
        entries.iter().map(by).collect::<Result<_, _>>().map(Matcher)
    }

    /// Does the entry of this number want the class as it is? `shown` names documents.
    pub fn is_by<'a>(&self, entry: usize, class: &Class, shown: impl Fn(u32) -> &'a str) -> bool {
        match self.0.get(entry) {
            Some(By::Class(id)) => class.id == *id,
            Some(By::Paths(globs)) => class.copies.iter().all(|copy| globs.is_match(shown(copy.document))),
            Some(By::Nothing) | None => false,
        }
    }

    /// Does any of the entries?
    pub fn is_ignored<'a>(&self, class: &Class, shown: impl Fn(u32) -> &'a str) -> bool {
        (0..self.0.len()).any(|entry| self.is_by(entry, class, &shown))
    }
}
