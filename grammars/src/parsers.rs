//! The one place that names the grammar crates, and nothing else.

macro_rules! parsers {
    ($($feature:literal $name:ident = $language:path;)*) => {
        $(#[cfg(feature = $feature)]
        pub fn $name() -> tree_sitter::Language {
            $language.into()
        })*
    };
}

parsers! {
    "go" go = tree_sitter_go::LANGUAGE;
    "rust" rust = tree_sitter_rust::LANGUAGE;
    "java" java = tree_sitter_java::LANGUAGE;
    "c" c = tree_sitter_c::LANGUAGE;
    "cpp" cpp = tree_sitter_cpp::LANGUAGE;
    "c-sharp" c_sharp = tree_sitter_c_sharp::LANGUAGE;
    "javascript" javascript = tree_sitter_javascript::LANGUAGE;
    "typescript" typescript = tree_sitter_typescript::LANGUAGE_TYPESCRIPT;
    "typescript" tsx = tree_sitter_typescript::LANGUAGE_TSX;
    "python" python = tree_sitter_python::LANGUAGE;
    "kotlin" kotlin = tree_sitter_kotlin_ng::LANGUAGE;
    "ruby" ruby = tree_sitter_ruby::LANGUAGE;
    "php" php = tree_sitter_php::LANGUAGE_PHP;
    "swift" swift = tree_sitter_swift::LANGUAGE;
    "scala" scala = tree_sitter_scala::LANGUAGE;
    "bash" bash = tree_sitter_bash::LANGUAGE;
    "lua" lua = tree_sitter_lua::LANGUAGE;
}
