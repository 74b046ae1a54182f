//! The copies in one document: what diagnostics, lenses, hovers and actions are made of.

use std::ops::Range as Span;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dupi::clones::Clones;
use dupi::{Kind, Zone};
use dupi_grammars::token::Lexed;
use dupi_grammars::{Language, tokenize};
use tower_lsp::ls_types::{Location, Position, Range};

use super::document::Document;
use super::positions::Lines;
use super::view::{FolderView, View};

/// A copy of a class in the document that was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Copy {
    pub class: u64,
    pub kind: Kind,
    pub zone: Zone,
    pub tokens: u32,
    pub similarity: f64,
    pub range: Range,
    /// The folder that the class was found in.
    pub root: PathBuf,
    pub language: &'static str,
    /// All other copies of the class, in the order of their paths; some may be in the same document.
    pub others: Vec<Other>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Other {
    pub path: PathBuf,
    /// Relative to the root, with `/`.
    pub shown: String,
    /// From 0.
    pub lines: Span<u32>,
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
            found.extend(copies(view, folder, &clones, &buffer.shown, text, parsed.language));
        }
    }
    found.sort_by_key(|copy| (copy.range.start, std::cmp::Reverse(copy.range.end), copy.class));
    found
}

/// The copies in a file that is not open. None, if it is not one that is looked at, or not as it is known.
pub fn in_file(view: &View, path: &Path) -> Option<Vec<Copy>> {
    let folder = view.folder_of(path)?;
    let shown = dupi::files::show(path.strip_prefix(&folder.workspace.root).ok()?);
    let clones = view.snapshot(folder).clones_of(&shown, &folder.workspace.settings)?;
    let text = std::fs::read_to_string(path).ok()?;
    let document = clones.documents.iter().find(|document| document.shown == shown)?;
    let mut found = copies(view, folder, &clones, &shown, &text, document.language);
    found.sort_by_key(|copy| (copy.range.start, std::cmp::Reverse(copy.range.end), copy.class));
    Some(found)
}

/// The copies that stand in the document `shown`, of which `text` is the text.
fn copies(
    view: &View,
    folder: &FolderView,
    clones: &Clones,
    shown: &str,
    text: &str,
    language: &'static Language,
) -> Vec<Copy> {
    if clones.classes.is_empty() {
        return Vec::new();
    }
    let mut lexed = Lexed::default();
    // It was tokenized before, or there would be no classes; and a text that is not the one it was has other tokens.
    if tokenize(language, text.as_bytes(), &mut lexed).is_err() {
        return Vec::new();
    }
    let lines = Lines::new(text, view.encoding);
    let mut found = Vec::new();
    for class in &clones.classes {
        let places: Vec<Other> = class
            .copies
            .iter()
            .zip(&class.at)
            .map(|(copy, lines)| {
                let document = &clones.documents[copy.document as usize];
                Other { path: document.path.clone(), shown: document.shown.clone(), lines: lines.clone() }
            })
            .collect();
        for (i, copy) in class.copies.iter().enumerate().filter(|(i, _)| places[*i].shown == shown) {
            let tokens = (lexed.tokens.get(copy.start as usize), lexed.tokens.get(copy.end as usize - 1));
            let (Some(first), Some(last)) = tokens else { continue };
            let mut others = places.clone();
            others.remove(i);
            found.push(Copy {
                class: class.id,
                kind: class.kind,
                zone: class.zone,
                tokens: class.tokens,
                similarity: class.similarity,
                range: lines.range(first.start as usize..last.end as usize),
                root: folder.workspace.root.clone(),
                language: language.name,
                others,
            });
        }
    }
    found
}
