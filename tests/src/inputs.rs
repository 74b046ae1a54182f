//! Files that are hard to read: what is no text, what nests without end.

use crate::workspace::Workspace;

/// Extensions of all languages.
pub const EXTENSIONS: [&str; 18] = [
    "go", "rs", "java", "c", "cpp", "cs", "js", "jsx", "ts", "tsx", "py", "kt", "rb", "php", "swift", "scala", "sh",
    "lua",
];

/// More than a parser may recurse, in any language.
const DEPTH: usize = 100_000;

/// One good file, so that something is scanned.
pub fn one_good_file() -> Workspace {
    Workspace::new("//- good.py\nx = 1\n")
}

/// Files without a text to compare. Returns them with the reasons for which they are skipped, in the order of paths.
pub fn write_no_texts(workspace: &Workspace) -> [(&'static str, &'static str); 7] {
    let files: [(&str, &str, Vec<u8>); 7] = [
        ("binary.py", "binary", b"\x7fELF\0\0\0".to_vec()),
        ("blank.rs", "empty", b" \n\n\t\n".to_vec()),
        ("empty.rs", "empty", Vec::new()),
        ("latin1.c", "not UTF-8", b"/* caf\xe9 */ int x;\n".to_vec()),
        ("nul.go", "binary", b"package a\0\n".to_vec()),
        ("oneline.js", "too large", b"var a=1;".repeat(5 * 1024 * 1024 / 8)),
        ("small-oneline.js", "minified", b"var a=1;".repeat(2_000)),
    ];
    files.map(|(path, reason, content)| {
        workspace.write(path, content);
        (path, reason)
    })
}

/// Texts that nest without end, each with the name of a file.
pub fn nested() -> Vec<(&'static str, String)> {
    let brackets = |open: &str, close: &str| {
        let text = format!("{}\n{}", open.repeat(DEPTH), close.repeat(DEPTH));
        // Not so wide that it passes for minified.
        text.as_bytes().chunks(200).map(|part| format!("{}\n", String::from_utf8_lossy(part))).collect()
    };
    vec![
        ("round", brackets("(", ")")),
        ("curly", brackets("{", "}")),
        ("square", brackets("[", "]")),
        ("open", brackets("({[", "")),
        ("blocks", "if (a) {\n".repeat(DEPTH) + &"}\n".repeat(DEPTH)),
        ("templates", "f(`${\n".repeat(DEPTH / 2)),
        ("comments", "/* (* {- \n".repeat(DEPTH / 2)),
        ("tags", "<a b={<c>\n".repeat(DEPTH / 2)),
    ]
}

/// Names the folder by which a test speaks with a program of a debug build, whose tokenizer then does what a text asks
/// for: see `staged.rs` of the engine.
pub const STAGED: &str = "DUPI_STAGED_FAULTS";
/// Words in a text that end the process that tokenizes it.
pub const ABORT: &str = "staged-abort";
pub const OVERFLOW: &str = "staged-overflow";
/// A word in a text that is tokenized for as long as there is a file `hold` in the folder; one called `waiting` tells.
pub const WAIT: &str = "staged-wait";

/// A text that takes Lua's grammar about 33 000 steps, where 22 000 are allowed: each quote is read to the end.
pub fn slow_text() -> String {
    format!("{}\n", "&'a ".repeat(20)).repeat(500)
}

/// PHP of `n` functions, about 800 bytes each: what its grammar needs a while for.
pub fn php(n: usize) -> String {
    let statement = |i: usize, j: usize| {
        let x = i * 12 + j;
        let [a, b, c, d] = [x * 7 % 99, x * 31 % 50, x * 17 % 999, x * 5 % 9];
        format!("    if ($a > {a}) {{ $b = g{b}($a, $b, 'k{c}'); }} else {{ $a[{d}] = $b->h({j}); }}\n")
    };
    let function = |i: usize| {
        let body: String = (0..12).map(|j| statement(i, j)).collect();
        format!("function f{i}($a, $b) {{\n{body}    return $a;\n}}\n")
    };
    format!("<?php\n{}", (0..n).map(function).collect::<String>())
}

/// So many files, all different, that a first index takes a while.
pub fn many_files(n: usize) -> Workspace {
    let workspace = Workspace::new("");
    for i in 0..n {
        workspace.write(&format!("d{}/f{i}.go", i % 50), numbered(i));
    }
    workspace
}

/// A file unlike those of all other numbers.
pub fn numbered(i: usize) -> String {
    let steps: String =
        (0..200).map(|j| format!("\tx{} := f{}({i}, {})\n", (i * 7 + j * j) % 97, (i + j) % 13, i * j)).collect();
    format!("package p\n\nfunc f{i}() {{\n{steps}}}\n")
}
