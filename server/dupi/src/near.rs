//! Near copies: bodies that correspond but for edits. What a body is (`bodies`), when two are near (`relation`, `renaming`, `lcs`),
//! which are near which (`graph`: found anew by `find`, by changes by `update` with the help of a `table`), what classes
//! they make (`classes`), and how that is kept (`file`).
//!
//! Knows documents and blots; knows nothing of runs and of exact copies, which are found beside it.

mod bodies;
mod classes;
mod differences;
mod file;
mod find;
mod graph;
mod lcs;
mod relation;
mod renaming;
mod table;
mod update;

pub(crate) use bodies::code_of;
pub use bodies::{Bodies, SEEDS, Tokens};
pub use classes::{Documents, View};
pub use differences::{Difference, differences};
pub use file::{Kept, is_whole, read, write};
pub use find::Stop;
pub use graph::{Graph, Place};
pub(crate) use lcs::Pattern;
pub(crate) use renaming::Renaming;
pub use table::Table;
pub use update::Changed;

use std::ops::Range;

use dupi_grammars::token::{Token, varies};
use xxhash_rust::xxh3::xxh3_64;

use crate::class::Kind;
use crate::document::{Document, symbol};
use crate::settings::Settings;

/// A fingerprint of what a graph of near copies depends on, beside the documents. Nothing, if nobody wants near copies.
pub fn key(settings: &Settings) -> Option<u64> {
    let text = format!("{} {}", crate::engine(), settings.min_similarity.to_bits());
    settings.kinds.contains(&Kind::Near).then(|| xxh3_64(text.as_bytes()))
}

/// Tokens of a source, to find differences in.
pub fn tokens_in(source: &[u8], tokens: &[Token]) -> Tokens {
    let token = |token: &Token| match varies(token.code) {
        true => bodies::by_text(token.code, symbol(&source[token.start as usize..token.end as usize])),
        false => u32::from(token.code),
    };
    tokens.iter().map(token).collect()
}

/// The tokens of a range, to find differences in.
pub fn tokens_of(document: &Document, range: Range<u32>) -> Tokens {
    let mut tokens = Tokens::new();
    bodies::tokens(document, range.start, range.end, &mut tokens);
    tokens
}
