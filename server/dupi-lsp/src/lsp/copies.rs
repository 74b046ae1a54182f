//! The copies in one document: what diagnostics, lenses, hovers and actions are made of.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range as Span;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dupi::{Class, Fragment, Kind, Report, Zone, regular};
use dupi_grammars::token::Lexed;
use dupi_grammars::{Language, tokenize};
use rayon::prelude::*;
use tower_lsp::ls_types::{Location, Position, Range};

use super::document::Document;
use super::positions::Lines;
use super::view::{FolderView, View};
use crate::differences::{Excerpt, table};
use crate::terminal::escape;

/// A copy of a class in the document that was asked for.
#[derive(Clone)]
pub struct Copy {
    pub class: u64,
    pub kind: Kind,
    pub zone: Zone,
    pub range: Range,
    /// The folder that the class was found in.
    pub root: PathBuf,
    pub language: &'static Language,
    pub tokens: Span<u32>,
    /// All other copies of the class, in the order of their paths; some may be in the same document.
    pub others: Vec<Other>,
}

#[derive(Clone)]
pub struct Other {
    pub path: PathBuf,
    /// Relative to the root, with `/`.
    pub shown: String,
    /// From 0.
    pub lines: Span<u32>,
    pub tokens: Span<u32>,
}

impl Copy {
    pub fn lines(&self) -> u32 {
        self.range.end.line - self.range.start.line + 1
    }
}

impl Other {
    /// The line as people count it.
    pub fn first_line(&self) -> u32 {
        self.lines.start + 1
    }

    /// "auth/login.go:40", with nothing in it that a client could take for something else.
    pub fn name(&self) -> String {
        format!("{}:{}", escape(&self.shown), self.first_line())
    }

    /// Whole lines: columns would need the text of a file that nobody has open.
    pub fn location(&self, view: &View) -> Option<Location> {
        let range = Range::new(Position::new(self.lines.start, 0), Position::new(self.lines.end, 0));
        Some(Location::new(view.uri(&self.path)?, range))
    }
}

pub fn in_document(view: &View, document: &Document) -> Vec<Copy> {
    let Some(text) = &document.text else { return Vec::new() };
    let mut found = Vec::new();
    // A file is compared within its innermost folder, as a check there does; what is no file, with all that there is.
    let innermost = view.folder_of(&document.path).map(|folder| folder.id);
    for (id, buffer) in document.buffers() {
        let Some(folder) = view.folder(*id).filter(|folder| !document.is_file || innermost == Some(folder.id)) else {
            continue;
        };
        let Some(parsed) = &buffer.document else { continue };
        let shared = view.snapshot(folder);
        let is_shared = document.is_file && view.buffers(folder).iter().any(|other| Arc::ptr_eq(other, buffer));
        let own = if is_shared { Arc::clone(shared) } else { Arc::new(shared.with_buffer(buffer)) };
        if let Some(clones) = own.clones_of(&buffer.shown, &folder.workspace.settings) {
            let named = |i: u32| named(&clones.documents[i as usize]);
            found.extend(copies(view, folder, clones.classes.iter(), &named, &buffer.shown, text, parsed.language));
        }
    }
    in_order(found)
}

/// The copies in a file that is not open. None, if it is not one that is looked at.
pub fn in_file(view: &View, path: &Path) -> Option<Vec<Copy>> {
    let folder = view.folder_of(path)?;
    let shown = dupi::files::show(path.strip_prefix(&folder.workspace.root).ok()?);
    let clones = view.snapshot(folder).clones_of(&shown, &folder.workspace.settings)?;
    let document = clones.documents.iter().find(|document| document.shown == shown)?;
    let text = text_on_disk(path, document.bytes)?;
    let named = |i: u32| named(&clones.documents[i as usize]);
    Some(in_order(copies(view, folder, clones.classes.iter(), &named, &shown, &text, document.language)))
}

/// The text of a file as an editor has it, which keeps a byte order mark for itself.
fn text_on_disk(path: &Path, limit: u64) -> Option<String> {
    let text = regular::read_to_string(path, limit).ok()?;
    Some(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// The copies in all files of a folder that have some, by their paths. Open documents are as they are open.
pub fn in_report(view: &View, folder: &FolderView, report: &Report) -> Vec<(PathBuf, Arc<[Copy]>)> {
    let mut by_file: BTreeMap<u32, Vec<&Class>> = BTreeMap::new();
    for class in &report.classes {
        let files: BTreeSet<u32> = class.copies.iter().map(|copy| copy.document).collect();
        files.into_iter().for_each(|file| by_file.entry(file).or_default().push(class));
    }
    let name = |i: u32| {
        let file = &report.files[i as usize];
        (file.path.clone(), file.shown.clone())
    };
    let in_one = |(file, classes): (u32, Vec<&Class>)| {
        let file = &report.files[file as usize];
        let open = view.documents.values().find(|open| open.document.is_file && open.document.path == file.path);
        if let Some(open) = open {
            return Some((file.path.clone(), view.copies(open)));
        }
        let text = text_on_disk(&file.path, file.bytes)?;
        let found = copies(view, folder, classes.into_iter(), &name, &file.shown, &text, file.language);
        Some((file.path.clone(), in_order(found).into()))
    };
    by_file.into_par_iter().filter_map(in_one).collect()
}

fn in_order(mut copies: Vec<Copy>) -> Vec<Copy> {
    copies.sort_by_key(|copy| (copy.range.start, std::cmp::Reverse(copy.range.end), copy.class));
    copies
}

fn named(document: &dupi::document::Document) -> (PathBuf, String) {
    (document.path.clone(), document.shown.clone())
}

/// Where the copies of a class are.
pub fn places(class: &Class, name: &dyn Fn(u32) -> (PathBuf, String)) -> Vec<Other> {
    let place = |(copy, lines): (&Fragment, &Span<u32>)| {
        let (path, shown) = name(copy.document);
        Other { path, shown, lines: lines.clone(), tokens: copy.start..copy.end }
    };
    class.copies.iter().zip(&class.at).map(place).collect()
}

/// The copies of `classes` that stand in the document `shown`, of which `text` is the text.
fn copies<'a>(
    view: &View,
    folder: &FolderView,
    classes: impl Iterator<Item = &'a Class>,
    name: &dyn Fn(u32) -> (PathBuf, String),
    shown: &str,
    text: &str,
    language: &'static Language,
) -> Vec<Copy> {
    let mut classes = classes.peekable();
    let mut lexed = Lexed::default();
    // It was tokenized before, or there would be no classes; and a text that is not the one it was has other tokens.
    if classes.peek().is_none() || tokenize(language, text.as_bytes(), &mut lexed).is_err() {
        return Vec::new();
    }
    let lines = Lines::new(text, view.encoding);
    let mut found = Vec::new();
    for class in classes {
        let places = places(class, name);
        for (i, own) in places.iter().enumerate().filter(|(_, place)| place.shown == shown) {
            let ends = (lexed.tokens.get(own.tokens.start as usize), lexed.tokens.get(own.tokens.end as usize - 1));
            let (Some(first), Some(last)) = ends else { continue };
            let mut others = places.clone();
            others.remove(i);
            found.push(Copy {
                class: class.id,
                kind: class.kind,
                zone: class.zone,
                range: lines.range(first.start as usize..last.end as usize),
                root: folder.workspace.root.clone(),
                language,
                tokens: own.tokens.clone(),
                others,
            });
        }
    }
    found
}

/// What stands in a copy and, at the same place, in each of some others: each pair once, in the order of the first.
/// One of a pair is empty, where the other has a part of its own. Nothing, where it cannot be said.
pub fn differences(text: &str, copy: &Copy, view: &View, others: &[Other]) -> Vec<Vec<(String, String)>> {
    // Copies of equal text have none, and nothing needs to be read to know it.
    let own =
        if copy.kind == Kind::Exact { None } else { Excerpt::new(text.as_bytes().into(), copy.language, &copy.tokens) };
    let Some(own) = own else { return vec![Vec::new(); others.len()] };
    let with = |other: &Other| {
        let other = excerpt_of(view, copy, other)?;
        let mut seen = BTreeSet::new();
        let rows = table(&[&own, &other]).into_iter();
        let pairs = rows.filter_map(|row| <[String; 2]>::try_from(row).ok()).map(|[own, other]| (own, other));
        Some(pairs.filter(|pair| seen.insert(pair.clone())).collect())
    };
    others.par_iter().map(|other| with(other).unwrap_or_default()).collect()
}

fn excerpt_of<'a>(view: &'a View, copy: &Copy, other: &Other) -> Option<Excerpt<'a>> {
    let open = view.documents.values().find(|open| open.document.is_file && open.document.path == other.path);
    let text = match open {
        Some(open) => Cow::Borrowed(open.document.text.as_deref()?.as_bytes()),
        None => {
            let limit = view.folder_of(&other.path)?.workspace.settings.max_file_bytes;
            Cow::Owned(regular::read(&other.path, limit).ok()?)
        }
    };
    let language = dupi_grammars::detect(&other.path, &text).unwrap_or(copy.language);
    Excerpt::new(text, language, &other.tokens)
}
