//! What a search looks for: the settings as used, with their defaults. Options as written live with the command line.

use std::sync::Arc;

use crate::blots::Blotter;
use crate::class::{Kind, Zone};
use crate::ignore::Ignore;
use crate::taboo::Taboo;

/// The least that counts as a copy: shorter ones are idioms, not copies.
pub const MIN_TOKENS: u32 = 50;
pub const MIN_LINES: u32 = 5;
/// Tests repeat themselves on purpose: only long copies are worth a word.
pub const TEST_MIN_TOKENS: u32 = 100;
/// Below this share of equal text, without a consistent renaming, two pieces only have the same shape.
pub const MIN_SIMILARITY: f64 = 0.7;
/// No hand-written file is larger; what is larger is data.
pub const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub min_tokens: u32,
    pub min_lines: u32,
    pub test_min_tokens: u32,
    pub min_similarity: f64,
    pub kinds: Vec<Kind>,
    pub zones: Vec<Zone>,
    /// Globs relative to the root; if there are any, only files that match one are read.
    pub include: Vec<String>,
    pub exclude: Vec<String>,
    /// Names of languages; none means all.
    pub languages: Vec<String>,
    /// Worker threads; 0 means one per core.
    pub threads: usize,
    pub max_file_bytes: u64,
    /// Whether what `.gitignore` and `.ignore` name is left out.
    pub gitignore: bool,
    /// Whether vendored folders are left out.
    pub skip_vendored: bool,
    /// Whether folders whose names start with a dot are left out.
    pub skip_hidden: bool,
    /// Whether classes inside others are shown though they have no more copies.
    pub nested: bool,
    /// Classes that are not shown; what lies in them is not shown in their place.
    pub ignored: Vec<Ignore>,
    pub blotter: Blotter,
    /// Tokens in a window, and windows of which one is kept, in the place of those that miss no copy: for an index to
    /// explore with. What is judged depends on them, so a check never has any.
    pub windows: Option<(usize, usize)>,
    /// Texts that are no copies of each other wherever they stand.
    pub taboo: Arc<Taboo>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            min_tokens: MIN_TOKENS,
            min_lines: MIN_LINES,
            test_min_tokens: TEST_MIN_TOKENS,
            min_similarity: MIN_SIMILARITY,
            kinds: Kind::ALL.to_vec(),
            zones: vec![Zone::Code, Zone::Test],
            include: Vec::new(),
            exclude: Vec::new(),
            languages: Vec::new(),
            threads: 0,
            max_file_bytes: MAX_FILE_BYTES,
            gitignore: true,
            skip_vendored: true,
            skip_hidden: true,
            nested: false,
            ignored: Vec::new(),
            blotter: Blotter::Rolling,
            windows: None,
            taboo: Arc::default(),
        }
    }
}

impl Settings {
    /// The least number of tokens of any zone that is looked at. A class of the test zone may have a copy in code, which
    /// is held to the minimum of code. Never more than [`MIN_TOKENS`]: a run with gaps is found by pieces of that size.
    pub fn floor(&self) -> u32 {
        self.min_tokens.min(self.test_min_tokens).clamp(1, MIN_TOKENS)
    }

    /// The least number of tokens of a class in `zone` that has no copy in code.
    pub fn min_tokens_in(&self, zone: Zone) -> u32 {
        if zone == Zone::Test { self.test_min_tokens } else { self.min_tokens }
    }
}
