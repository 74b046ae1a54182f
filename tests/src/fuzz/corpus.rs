//! Workspaces of well-formed files that share code: frozen sources of every language, with parts of each copied into
//! others, as they are, renamed and edited.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use dupi_grammars::token::{IDENTIFIER, NUMBER, STRING};
use fastrand::Rng;

use super::outline::{Lines, Outline};
use crate::sources;

/// The files of a workspace, by their path below its root.
pub type Files = BTreeMap<PathBuf, Vec<u8>>;

/// A frozen file.
pub struct Source {
    pub language: &'static str,
    pub extension: String,
    pub text: String,
}

/// Frozen sources: nothing of the project that somebody would edit for another reason.
pub fn sources() -> &'static [Source] {
    static SOURCES: OnceLock<Vec<Source>> = OnceLock::new();
    SOURCES.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
        let roots = ["planted", "fuzz", "shop"].map(|name| folder.join(name));
        let mut sources = Vec::new();
        for language in dupi_grammars::LANGUAGES {
            let mut files = sources::files(&roots, language.name, usize::MAX, u64::MAX);
            files.sort();
            for path in files {
                let extension = path.extension().expect("an extension").to_string_lossy().into_owned();
                let text = fs::read_to_string(&path).expect("a fixture");
                sources.push(Source { language: language.name, extension, text });
            }
        }
        sources
    })
}

/// Names that mean nothing: neither tests, nor generated, nor somebody else's.
pub const FOLDERS: [&str; 5] = ["", "core", "core/store", "web", "moor"];
const STEMS: [&str; 8] = ["ash", "birch", "cedar", "elm", "fir", "hazel", "larch", "oak"];

/// A workspace without broken files.
pub struct Grove {
    pub files: Files,
    /// Of each language a source that none of the files comes from.
    pub apart: Vec<&'static Source>,
}

/// Draws a workspace.
pub fn grove(rng: &mut Rng) -> Grove {
    let all: Vec<&str> = sources().iter().map(|source| source.language).collect::<BTreeSet<_>>().into_iter().collect();
    let (mut files, mut apart) = (Files::new(), Vec::new());
    for _ in 0..rng.usize(1..=3) {
        let language = all[rng.usize(0..all.len())];
        let mut of_language: Vec<&Source> = sources().iter().filter(|source| source.language == language).collect();
        rng.shuffle(&mut of_language);
        if of_language.len() > 1 && rng.bool() && !files.keys().any(|path| language_of(path) == Some(language)) {
            apart.extend(of_language.pop());
        }
        for _ in 0..rng.usize(1..=3) {
            let source = of_language[rng.usize(0..of_language.len())];
            if apart.iter().any(|other| other.text == source.text) {
                continue;
            }
            let path = new_path(rng, &source.extension);
            let text = thinned(rng, &path, &source.text);
            files.insert(path, text.into_bytes());
        }
    }
    for _ in 0..rng.usize(2..10) {
        plant(rng, &mut files);
    }
    Grove { files, apart }
}

/// One of some things.
pub fn pick<T>(rng: &mut Rng, from: impl IntoIterator<Item = T>) -> Option<T> {
    let mut all: Vec<T> = from.into_iter().collect();
    (!all.is_empty()).then(|| all.swap_remove(rng.usize(0..all.len())))
}

fn language_of(path: &Path) -> Option<&'static str> {
    dupi_grammars::by_path(path).map(|language| language.name)
}

pub fn new_path(rng: &mut Rng, extension: &str) -> PathBuf {
    let folder = FOLDERS[rng.usize(0..FOLDERS.len())];
    Path::new(folder).join(format!("{}{}.{extension}", STEMS[rng.usize(0..STEMS.len())], rng.u8(0..9)))
}

/// Without some of its parts.
fn thinned(rng: &mut Rng, path: &Path, text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..rng.usize(0..4) {
        let Some(outline) = Outline::new(path, &text) else { break };
        if let Some(lines) = pick(rng, &outline.lines()) {
            let mut edited = text.clone();
            edited.replace_range(lines.bytes.clone(), "");
            text = if_well_formed(path, edited).unwrap_or(text);
        }
    }
    text
}

/// The text, if it has at least some code and the grammar reads all of it.
pub fn if_well_formed(path: &Path, text: String) -> Option<String> {
    Outline::new(path, &text).filter(|outline| !outline.lexed.units.is_empty() && outline.is_well_formed())?;
    Some(text)
}

/// The outline of a file that is well-formed text.
pub fn outline(files: &Files, path: &Path) -> Option<Outline> {
    Outline::new(path, std::str::from_utf8(files.get(path)?).ok()?)
}

/// Copies neighbours of one list from a file into another of the same family, or into the same.
fn plant(rng: &mut Rng, files: &mut Files) {
    let paths: Vec<PathBuf> = files.keys().cloned().collect();
    let Some(from) = pick(rng, &paths) else { return };
    let Some(outline_of_from) = outline(files, from) else { return };
    let family = |path: &Path| dupi_grammars::by_path(path).map(|language| language.family);
    let near: Vec<&PathBuf> = paths.iter().filter(|path| family(path) == family(from)).collect();
    let to = near[rng.usize(0..near.len())];
    let Some((piece, indent)) = piece(rng, &outline_of_from) else { return };
    let piece = varied(rng, from, &piece);
    let Some(outline_of_to) = outline(files, to) else { return };
    let places: Vec<Lines> = outline_of_to.lines().into_iter().filter(|lines| lines.indent == indent).collect();
    // What is well-formed in one list is not in each.
    for _ in 0..3 {
        let Some(place) = pick(rng, &places) else { return };
        let mut text = outline_of_to.text.clone();
        text.insert_str(if rng.bool() { place.bytes.start } else { place.bytes.end }, &piece);
        if text.len() < MAX_BYTES
            && let Some(text) = if_well_formed(to, text)
        {
            files.insert(to.clone(), text.into_bytes());
            return;
        }
    }
}

/// Larger files make a run slow and prove nothing more.
const MAX_BYTES: usize = 30_000;

/// Some neighbours with lines of their own, rather large ones, and their indent.
fn piece(rng: &mut Rng, outline: &Outline) -> Option<(String, String)> {
    let all = outline.lines();
    let large: Vec<usize> = (0..all.len()).filter(|&i| all[i].unit.end - all[i].unit.start >= 30).collect();
    let first = if rng.bool() { pick(rng, large)? } else { rng.usize(0..all.len().max(1)) };
    let mut last = all.get(first)?;
    for _ in 0..rng.usize(0..8) {
        let next = all.iter().find(|lines| lines.list == last.list && lines.bytes.start >= last.bytes.end);
        last = next.unwrap_or(last);
    }
    let text = &outline.text[all[first].bytes.start..last.bytes.end];
    Some((text.to_owned(), all[first].indent.clone()))
}

/// A piece of code as it is, with other names, with other literals, or with a line more or less.
fn varied(rng: &mut Rng, path: &Path, piece: &str) -> String {
    match rng.u8(0..8) {
        0..3 => piece.to_owned(),
        3..5 => renamed(rng, path, piece),
        5 => with_texts(path, piece, |code, text| (code == NUMBER && text != "0").then(|| format!("{text}1"))),
        6 => with_texts(path, piece, |code, text| {
            let inner = text.strip_prefix('"')?.strip_suffix('"')?;
            (code == STRING).then(|| format!("\"{inner}x\""))
        }),
        _ => {
            let mut lines: Vec<&str> = piece.split_inclusive('\n').collect();
            let at = rng.usize(0..lines.len().max(1));
            if rng.bool() {
                lines.splice(at..(at + 1).min(lines.len()), []);
            } else {
                lines.insert(at, lines[at]);
            }
            lines.concat()
        }
    }
}

/// With one name or several changed, each everywhere.
pub fn renamed(rng: &mut Rng, path: &Path, piece: &str) -> String {
    let share = rng.u8(1..5);
    let salt = rng.u8(2..9);
    with_texts(path, piece, |code, text| {
        let chosen = text.bytes().map(u32::from).sum::<u32>() % 4 < u32::from(share);
        let is_word = text.len() > 1 && text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
        (code == IDENTIFIER && chosen && is_word).then(|| format!("{text}{salt}"))
    })
}

/// With each token replaced by what `new` says of its code and text, if anything.
fn with_texts(path: &Path, piece: &str, new: impl Fn(u8, &str) -> Option<String>) -> String {
    // PHP is text until it is said to be code.
    let head = if path.extension().is_some_and(|extension| extension == "php") { "<?php\n" } else { "" };
    let Some(outline) = Outline::new(path, &format!("{head}{piece}")) else { return piece.to_owned() };
    let (mut out, mut at) = (String::new(), 0);
    for (i, token) in outline.lexed.tokens.iter().enumerate() {
        let range = outline.token(i);
        let Some(start) = range.start.checked_sub(head.len()) else { continue };
        let range = start..range.end - head.len();
        out.push_str(&piece[at..range.start]);
        at = range.end;
        out.push_str(&new(token.code, &piece[range.clone()]).unwrap_or_else(|| piece[range].to_owned()));
    }
    out + &piece[at..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_two_well_formed_sources() {
        for language in dupi_grammars::LANGUAGES {
            let of_language: Vec<&Source> =
                sources().iter().filter(|source| source.language == language.name).collect();
            assert!(of_language.len() >= 2, "{}", language.name);
            for source in of_language {
                let path = PathBuf::from(format!("a.{}", source.extension));
                let text = if_well_formed(&path, source.text.clone());
                assert!(text.is_some(), "{}:\n{}", language.name, source.text);
            }
        }
    }
}
