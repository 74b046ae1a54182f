//! The list of languages, one file each.

macro_rules! languages {
    ($($feature:literal $module:ident: $($table:ident),+;)*) => {
        $(#[cfg(feature = $feature)]
        mod $module;)*

        /// Every language that this build knows.
        pub static LANGUAGES: &[&crate::Language] = &[
            $($(#[cfg(feature = $feature)] &$module::$table,)+)*
        ];
    };
}

languages! {
    "go" go: GO;
    "javascript" javascript: JAVASCRIPT;
    "typescript" typescript: TYPESCRIPT, TSX;
}

/// What the two share; either may be built without the other.
#[cfg(any(feature = "javascript", feature = "typescript"))]
mod ecmascript;
