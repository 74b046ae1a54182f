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
pub mod ignore;
pub mod index;
mod judge;
pub mod like;
pub mod locate;
pub mod manifest;
pub mod minhash;
mod nesting;
pub mod occurrences;
pub mod output;
pub mod place;
pub mod posts;
pub mod quarantine;
mod raw;
pub mod regular;
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

/// Identifies how documents are read and stored: an index of another engine is not used.
pub fn engine() -> &'static str {
    env!("DUPI_ENGINE")
}

pub use class::{Class, Fragment, Kind, Zone};
pub use ignore::Ignore;
pub use search::{File, Progress, Report, search};
pub use settings::Settings;
pub use skip::{Skip, SkipReason};

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
    /// An index that was opened can no longer be read.
    Index {
        path: PathBuf,
    },
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Read { path, source } => write!(f, "cannot read {}: {source}", path.display()),
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
