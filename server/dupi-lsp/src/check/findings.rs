//! What is shown: the classes that were asked for, with all that a format can say of them. Knows no format.

use std::collections::HashMap;
use std::time::Duration;

use dupi::index::Changes;
use dupi::locate::Place;
use dupi::text::Position;
use dupi::{Class, File, Kind, Report, Zone, regular};
use xxhash_rust::xxh3::xxh3_128;

use super::blame::Brought;
use super::policy::Verdict;
use super::repository::Repository;
use super::summary::Summary;
use crate::differences::{Excerpt, table};
use crate::terminal::{count, escape};

pub struct Findings<'a> {
    /// All that was found in the workspace.
    pub report: &'a Report,
    pub summary: Summary,
    /// Worst first.
    pub shown: Vec<Finding<'a>>,
    /// What the workspace was compared with, if it was, as people say it: "main (4f2a9c1)".
    pub compared: Option<String>,
    pub verdict: Verdict,
    pub repository: Repository,
    pub manner: Manner,
}

/// What only people see.
pub struct Manner {
    /// Classes that are shown in full.
    pub top: usize,
    pub list_skipped: bool,
    /// Whether formats for programs have the table of differences.
    pub differences: bool,
    pub took: Duration,
    /// What the index has saved.
    pub changes: Option<Changes>,
}

pub struct Finding<'a> {
    pub class: &'a Class,
    pub files: &'a [File],
    pub texts: &'a Texts,
    /// In the order of the copies.
    pub places: Vec<Place>,
    /// What is new of it, if it was compared with something.
    pub news: Option<News>,
    /// Which copies stand on lines that the change has touched; none, if there is no change to look at.
    pub touched: Vec<bool>,
    /// Who brought each copy; none, unless asked for.
    pub brought: Vec<Option<Brought>>,
}

/// What files hold: what is on disk, but for those of which something else was looked at.
#[derive(Default)]
pub struct Texts(pub HashMap<String, Vec<u8>>);

impl Texts {
    /// None, if a file went, changed or became unreadable since it was looked at.
    pub fn read(&self, file: &File) -> Option<Vec<u8>> {
        self.0.get(&file.shown).cloned().or_else(|| regular::read(&file.path, file.bytes).ok())
    }
}

/// What a comparison says of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// There was no such class.
    New,
    /// It had so many copies, and has more now.
    More { before: usize },
    /// It has no new copies, but some were edited.
    Edited { before: usize },
}

impl News {
    /// Does it count against `max-new`?
    pub fn is_gain(self) -> bool {
        !matches!(self, News::Edited { .. })
    }

    pub fn name(self) -> &'static str {
        match self {
            News::New => "new",
            News::More { .. } => "more",
            News::Edited { .. } => "edited",
        }
    }

    pub fn before(self) -> usize {
        match self {
            News::New => 0,
            News::More { before } | News::Edited { before } => before,
        }
    }
}

impl<'a> Finding<'a> {
    /// A class of which only the lines are known.
    pub fn new(class: &'a Class, files: &'a [File], texts: &'a Texts) -> Finding<'a> {
        let on_lines = |lines: &std::ops::Range<u32>| Place {
            start: Position { line: lines.start, column: 0 },
            end: Position { line: lines.end - 1, column: 0 },
        };
        let places = class.at.iter().map(on_lines).collect();
        Finding { class, files, texts, places, news: None, touched: Vec::new(), brought: Vec::new() }
    }

    /// As reports write it.
    pub fn id(&self) -> String {
        id(self.class)
    }

    /// Of the longest copy.
    pub fn lines(&self) -> u32 {
        self.places.iter().map(Place::lines).max().unwrap_or(self.class.lines)
    }

    pub fn file(&self, copy: usize) -> &'a File {
        &self.files[self.class.copies[copy].document as usize]
    }

    /// The path of a copy's file, relative to the root of what was checked.
    pub fn path(&self, copy: usize) -> &'a str {
        &self.file(copy).shown
    }

    /// What stands in a copy's file, if that can still be read.
    pub fn text(&self, copy: usize) -> Option<Vec<u8>> {
        self.texts.read(self.file(copy))
    }

    /// What differs between some of the copies: for each difference the text of each, empty where it has nothing.
    /// Nothing, if one of them can no longer be read.
    pub fn differences(&self, copies: &[usize]) -> Option<Vec<Vec<String>>> {
        if self.class.kind == Kind::Exact {
            return Some(Vec::new());
        }
        let excerpt = |&copy: &usize| {
            let fragment = &self.class.copies[copy];
            Excerpt::new(self.text(copy)?.into(), self.file(copy).language, &(fragment.start..fragment.end))
        };
        let excerpts: Vec<Excerpt> = copies.iter().map(excerpt).collect::<Option<_>>()?;
        Some(table(&excerpts.iter().collect::<Vec<&Excerpt>>()))
    }

    /// The copy that was there first, if that is known.
    pub fn oldest(&self) -> Option<usize> {
        let known = self.brought.iter().enumerate().filter_map(|(copy, brought)| Some((copy, brought.as_ref()?)));
        known.min_by_key(|(_, brought)| brought.time).map(|(copy, _)| copy)
    }

    /// "auth/login.go:40", with nothing in it that could be taken for something else.
    pub fn name(&self, copy: usize) -> String {
        format!("{}:{}", escape(self.path(copy)), self.places[copy].start.line + 1)
    }

    /// First and last line of a copy as people count them.
    pub fn line_numbers(&self, copy: usize) -> (u32, u32) {
        (self.places[copy].start.line + 1, self.places[copy].end.line + 1)
    }

    pub fn is_touched(&self, copy: usize) -> bool {
        self.touched.get(copy).is_some_and(|&touched| touched)
    }

    /// The copies that something is said of where they stand: those that a change has touched, else all of them.
    pub fn spoken_of(&self) -> Vec<usize> {
        let touched: Vec<usize> = (0..self.places.len()).filter(|&copy| self.is_touched(copy)).collect();
        if touched.is_empty() { (0..self.places.len()).collect() } else { touched }
    }

    /// All copies but this one; those that a change did not touch first, since these are what it was copied from.
    pub fn others(&self, copy: usize) -> Vec<usize> {
        let mut others: Vec<usize> = (0..self.places.len()).filter(|&other| other != copy).collect();
        others.sort_by_key(|&other| self.is_touched(other));
        others
    }

    /// Whether a tool should only mention it: nothing new, or not code that is shipped.
    pub fn is_minor(&self) -> bool {
        self.news.is_some_and(|news| !news.is_gain()) || self.class.zone != Zone::Code
    }

    /// "13 lines duplicated in 2 other places: a.go:3, b.go:7, …".
    pub fn message(&self, copy: usize) -> String {
        const MAX_NAMED: usize = 3;
        let others = self.others(copy);
        let named: Vec<String> = others.iter().take(MAX_NAMED).map(|&other| self.name(other)).collect();
        let more = if others.len() > MAX_NAMED { ", …" } else { "" };
        format!("{}: {}{more}", self.headline(copy), named.join(", "))
    }

    /// "13 lines duplicated in 2 other places".
    pub fn headline(&self, copy: usize) -> String {
        let lines = count(u64::from(self.places[copy].lines()), "line", "lines");
        format!("{lines} duplicated in {}", count(self.places.len() as u64 - 1, "other place", "other places"))
    }

    /// Tells a copy from all others, and stays the same when lines shift: made of the class, the path, and which of the
    /// copies in that file it is.
    pub fn fingerprint(&self, copy: usize) -> String {
        let path = self.path(copy);
        let nth = (0..copy).filter(|&before| self.path(before) == path).count();
        format!("{:032x}", xxh3_128(format!("{}\0{path}\0{nth}", self.id()).as_bytes()))
    }
}

/// The id of a class as reports write it.
pub fn id(class: &Class) -> String {
    format!("{:016x}", class.id)
}
