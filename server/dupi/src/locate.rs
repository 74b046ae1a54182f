//! From token ranges back to lines and columns, by reading the files again: only those that are shown, and only once each.

use std::collections::BTreeMap;

use dupi_grammars::token::Lexed;
use dupi_grammars::tokenize;
use rayon::prelude::*;

use crate::class::Class;
use crate::search::File;
use crate::text::{LineIndex, Position};

/// Where a copy stands. The end is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub start: Position,
    pub end: Position,
}

impl Place {
    pub fn lines(&self) -> u32 {
        self.end.line - self.start.line + 1
    }
}

/// The places of all copies of all `classes`, in their order.
pub fn locate(files: &[File], classes: &[Class]) -> Vec<Vec<Place>> {
    let mut wanted: BTreeMap<u32, Vec<(usize, usize)>> = BTreeMap::new();
    for (i, class) in classes.iter().enumerate() {
        for (j, copy) in class.copies.iter().enumerate() {
            wanted.entry(copy.document).or_default().push((i, j));
        }
    }
    let nowhere = Place { start: Position { line: 0, column: 0 }, end: Position { line: 0, column: 0 } };
    let mut places: Vec<Vec<Place>> = classes.iter().map(|class| vec![nowhere; class.copies.len()]).collect();
    let found: Vec<Vec<(usize, usize, Place)>> = wanted
        .into_par_iter()
        .map_init(Lexed::default, |lexed, (file, copies)| {
            let file = &files[file as usize];
            let bytes = std::fs::read(&file.path).unwrap_or_default();
            let same = tokenize(file.language, &bytes, lexed).is_ok() && lexed.tokens.len() == file.n_tokens as usize;
            let lines = LineIndex::new(&bytes);
            copies
                .into_iter()
                .map(|(i, j)| {
                    let copy = classes[i].copies[j];
                    let place = if same {
                        let start = lexed.tokens[copy.start as usize].start as usize;
                        let end = lexed.tokens[copy.end as usize - 1].end as usize;
                        Place { start: lines.position(start), end: lines.position(end) }
                    } else {
                        // The file changed while it was being looked at: what is known are the lines it had.
                        let range = classes[i].at[j].clone();
                        let at = |line| Position { line, column: 0 };
                        Place { start: at(range.start), end: at(range.end - 1) }
                    };
                    (i, j, place)
                })
                .collect()
        })
        .collect();
    for (i, j, place) in found.into_iter().flatten() {
        places[i][j] = place;
    }
    places
}
