//! The list of languages, one file each.

#[cfg(any(feature = "c", feature = "cpp"))]
mod c_family;

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
    "rust" rust: RUST;
    "c" c: C;
    "cpp" cpp: CPP;
}
