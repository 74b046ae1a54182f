//! The engine of dupi-lsp: finds duplicated code.
//!
//! Data goes one way: files → text → tokens → blots → clones. No terminal, no protocol.
//! `ARCHITECTURE.md` beside this crate says which room answers which question.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read what they wrote"))]

mod answer;
pub mod blots;
mod bytes;
mod candidates;
pub mod chunks;
pub mod class;
pub mod clones;
pub mod containment;
pub mod document;
pub mod files;
mod fingerprint;
pub mod freshness;
mod gaps;
pub mod ignore;
pub mod index;
mod judge;
pub mod like;
pub mod locate;
pub mod manifest;
pub mod minhash;
pub mod near;
mod nesting;
mod numbers;
pub mod occurrences;
pub mod output;
mod parts;
pub mod place;
pub mod posts;
pub mod quarantine;
mod raw;
pub mod regular;
mod roles;
mod rows;
mod runs;
pub mod search;
pub mod segment;
pub mod settings;
pub mod simhash;
pub mod skip;
pub mod snapshot;
#[cfg(debug_assertions)]
mod staged;
pub mod store;
pub mod streams;
mod suppress;
pub mod taboo;
pub mod text;
pub mod watch;
mod zones;

use std::path::PathBuf;

pub use class::{Class, Fragment, Kind, Zone};
pub use ignore::Ignore;
pub use search::{File, Progress, Report, search};
pub use settings::Settings;
pub use skip::{Skip, SkipReason};

/// The version of what is stored and how it is judged, given the tokens. An index that was made with another one is not
/// read, but made anew.
///
/// Raise it with everything that changes documents, blots, stored bytes, raw classes, or which files are skipped. A test
/// over frozen sources (`tests/tests/versions.rs`) fails if it was forgotten. Files of an index have format versions of
/// their own: these are for programs that read each other's folders, this is for what no format shows.
///
/// 1: the first that is numbered.
/// 2: near copies; posts of their seeds, where blots are others; cores of definitions; runs over single units, rows or
///    not; what is plain and what is small at any minimum; renaming by role; copies of code in tests.
/// 3: renamed near copies of short and simple functions agree in more.
/// 4: runs with gaps; blots for runs of 50 tokens at any larger minimum.
/// 5: parts of runs that are too unlike as a whole.
/// 6: runs with gaps grow as far as all places go, then with those that go further.
/// 7: functions that are one expression can be near copies.
/// 8: groups of near copies join; functions that do one thing over again agree in more after a renaming.
pub const VERSION: u32 = 8;

/// The version of all that an index depends on: of the tokens, and of what is made of them. Not of the program, so that
/// a release that changes neither keeps the indexes; and not of its sources, which a published crate has in other places.
pub fn engine() -> String {
    format!("{}.{VERSION}", dupi_grammars::VERSION)
}

/// What can go wrong in the engine. Content never does: a file yields tokens, or a reason why it was skipped.
#[derive(Debug)]
pub enum Error {
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    Glob {
        key: &'static str,
        pattern: String,
        source: globset::Error,
    },
    /// An index of what was read cannot be made.
    Make {
        path: PathBuf,
        source: std::io::Error,
    },
    /// An index that was opened can no longer be read.
    Index {
        path: PathBuf,
    },
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Read { path, source } => write!(f, "cannot read {}: {source}", path.display()),
            Error::Make { path, source } => write!(f, "cannot make an index of {}: {source}", path.display()),
            Error::Index { path } => write!(f, "the index of {} can no longer be read: try again", path.display()),
            Error::Glob { key, pattern, source } => write!(f, "bad glob in `{key}`: `{pattern}`: {}", source.kind()),
        }
    }
}

impl std::error::Error for Error {}

/// Property tests draw the same cases each time, so that a run says something about the change and not about luck;
/// `PROPTEST_RNG_SEED` and `PROPTEST_CASES` draw others, and more.
#[cfg(test)]
pub(crate) fn cases(n: u32) -> proptest::test_runner::Config {
    let mut config = proptest::test_runner::Config { failure_persistence: None, ..Default::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = n;
    }
    if std::env::var_os("PROPTEST_RNG_SEED").is_none() {
        config.rng_seed = proptest::test_runner::RngSeed::Fixed(47);
    }
    config
}
