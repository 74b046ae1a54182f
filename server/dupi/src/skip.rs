//! Why a file was not read: every file that is left out has a reason that can be shown.

use std::fmt;
use std::io::{self, ErrorKind};

use crate::class::named;

named! {
    /// Numbered in this order in the index on disk: new ones come last.
    SkipReason {
        /// Named by `.gitignore` or another ignore file.
        Ignored = "ignored by git",
        /// A folder of other people's code.
        Vendored = "vendored",
        /// A folder whose name starts with a dot.
        Hidden = "hidden",
        /// Excluded by the settings.
        Excluded = "excluded",
        Generated = "generated",
        Minified = "minified",
        Binary = "binary",
        NotUtf8 = "not UTF-8",
        Empty = "empty",
        TooLarge = "too large",
        /// `dupi:ignore-file` stands in it.
        Suppressed = "dupi:ignore-file",
        Unreadable = "unreadable",
        /// A link to elsewhere; what it points to is read where it stands.
        Symlink = "symbolic link",
        /// A pipe, socket or device.
        Special = "not a regular file",
        /// Its grammar needed more steps than a file of this size may take.
        TooSlow = "too slow to parse",
        /// Brackets nest too deep to be parsed.
        TooDeep = "nested too deeply",
        /// The tokenizer failed on it.
        Crashed = "tokenizer failed",
        /// Its content has ended the process more than once.
        Quarantined = "crashed while it was read",
    }
}

impl SkipReason {
    /// Why a file is skipped that could not be read, by what [`regular::read`](crate::regular::read) says.
    pub fn of(error: &io::Error) -> SkipReason {
        match error.kind() {
            ErrorKind::FileTooLarge => SkipReason::TooLarge,
            ErrorKind::InvalidInput => SkipReason::Special,
            _ => SkipReason::Unreadable,
        }
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A path that was left out, as it is shown, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skip {
    pub path: String,
    pub reason: SkipReason,
}
