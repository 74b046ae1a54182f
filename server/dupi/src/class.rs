//! The answer: classes of copies. Plain data; knows nothing of how it was found or is shown.

use std::ops::Range;

/// An enum whose values have the names that users write and read.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$of_value:meta])* $value:ident = $spelling:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$of_value])* $value,)*
        }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$value),*];

            pub fn name(self) -> &'static str {
                match self {
                    $($name::$value => $spelling,)*
                }
            }

            pub fn by_name(name: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|value| value.name() == name)
            }
        }
    };
}
pub(crate) use named;

named! {
    /// How alike the copies of a class are.
    Kind {
        /// The same text, blanks and comments aside.
        Exact = "exact",
        /// The same after a one-to-one renaming; literals may differ.
        Renamed = "renamed",
        /// The same but for edits: most of it corresponds, in order.
        Near = "near",
    }
}

named! {
    /// What sort of code a class is; each has its own policy.
    Zone {
        Code = "code",
        Test = "test",
        /// Tables, enum lists, runs of one repeated statement.
        Data = "data",
        Imports = "imports",
        Generated = "generated",
    }
}

/// A place in a document: the tokens `start..end` of the document with this index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fragment {
    pub document: u32,
    pub start: u32,
    pub end: u32,
}

impl Fragment {
    pub fn len(&self) -> u32 {
        self.end - self.start
    }

    pub fn is_empty(&self) -> bool {
        self.end == self.start
    }

    pub fn contains(&self, other: &Fragment) -> bool {
        self.document == other.document && self.start <= other.start && other.end <= self.end
    }

    pub fn overlaps(&self, other: &Fragment) -> bool {
        self.document == other.document && self.start < other.end && other.start < self.end
    }
}

/// All copies of the same code: two or more, in the order of documents, none overlapping another.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// A fingerprint of the normalized content: the same when files move or lines shift.
    pub id: u64,
    pub kind: Kind,
    pub zone: Zone,
    /// Of each copy; of the longest, where they differ.
    pub tokens: u32,
    /// Of the longest copy.
    pub lines: u32,
    /// Mean share of tokens that correspond to those of the most common copy, or of the one that leads the class.
    pub similarity: f64,
    pub copies: Vec<Fragment>,
    /// The lines (from 0) that each copy stands on.
    pub at: Vec<Range<u32>>,
}

impl Class {
    /// How bad it is: the tokens that could go.
    pub fn weight(&self) -> u64 {
        u64::from(self.tokens) * (self.copies.len() as u64 - 1)
    }
}
