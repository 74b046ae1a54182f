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
    "rust" rust: RUST;
    "java" java: JAVA;
    "c" c: C;
    "cpp" cpp: CPP;
    "c-sharp" c_sharp: C_SHARP;
    "javascript" javascript: JAVASCRIPT;
    "typescript" typescript: TYPESCRIPT, TSX;
    "python" python: PYTHON;
    "kotlin" kotlin: KOTLIN;
    "ruby" ruby: RUBY;
    "php" php: PHP;
    "swift" swift: SWIFT;
    "scala" scala: SCALA;
    "bash" bash: BASH;
    "lua" lua: LUA;
}

// What related languages share; each may be built without the other.
#[cfg(any(feature = "javascript", feature = "typescript"))]
mod ecmascript;

#[cfg(any(feature = "c", feature = "cpp"))]
mod c_family;
