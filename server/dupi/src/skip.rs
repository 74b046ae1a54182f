//! Why a file was not read: every file that is left out has a reason that can be shown.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkipReason {
    /// Named by `.gitignore` or another ignore file.
    Ignored,
    /// A folder of other people's code.
    Vendored,
    /// A folder whose name starts with a dot.
    Hidden,
    /// Excluded by the settings.
    Excluded,
    Generated,
    Minified,
    Binary,
    NotUtf8,
    Empty,
    TooLarge,
    /// `dupi:ignore-file` stands in it.
    Suppressed,
    Unreadable,
    /// A link to elsewhere; what it points to is read where it stands.
    Symlink,
    /// A pipe, socket or device.
    Special,
    /// Its grammar needed too long.
    TooSlow,
    /// Brackets nest too deep to be parsed.
    TooDeep,
    /// The tokenizer failed on it.
    Crashed,
}

impl SkipReason {
    /// As it stands in the JSON and in the summary.
    pub fn name(self) -> &'static str {
        match self {
            SkipReason::Ignored => "ignored by git",
            SkipReason::Vendored => "vendored",
            SkipReason::Hidden => "hidden",
            SkipReason::Excluded => "excluded",
            SkipReason::Generated => "generated",
            SkipReason::Minified => "minified",
            SkipReason::Binary => "binary",
            SkipReason::NotUtf8 => "not UTF-8",
            SkipReason::Empty => "empty",
            SkipReason::TooLarge => "too large",
            SkipReason::Suppressed => "dupi:ignore-file",
            SkipReason::Unreadable => "unreadable",
            SkipReason::Symlink => "symbolic link",
            SkipReason::Special => "not a regular file",
            SkipReason::TooSlow => "too slow to parse",
            SkipReason::TooDeep => "nested too deeply",
            SkipReason::Crashed => "tokenizer failed",
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
