//! What must not hurt it: every file here is skipped with its reason or read in bounded time; nothing panics, hangs or overflows.

use std::time::Duration;

use dupi_tests::binary::{check_json, run, run_with};
use dupi_tests::inputs::{EXTENSIONS, nested, one_good_file, write_no_texts};
use dupi_tests::workspace::Workspace;

/// What a run must stay under. Not a measure of speed: a hang or a quadratic step takes far longer.
const HANG: Duration = Duration::from_secs(120);

fn reasons(report: &serde_json::Value) -> Vec<(String, String)> {
    let skipped = report["scanned"]["skipped"].as_array().expect("a list");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    skipped.iter().map(|skip| (text(&skip["path"]), text(&skip["reason"]))).collect()
}

#[test]
fn what_is_no_source_text_is_skipped_with_its_reason() {
    let workspace = one_good_file();
    let expected = write_no_texts(&workspace);
    let report = check_json(workspace.path(), &[]);
    assert_eq!(reasons(&report), expected.map(|(path, reason)| (path.to_owned(), reason.to_owned())));
    assert_eq!(report["scanned"]["files"], 1);
}

#[test]
fn nesting_without_end_overflows_no_stack() {
    let workspace = one_good_file();
    for (name, text) in nested() {
        for extension in EXTENSIONS {
            workspace.write(&format!("{name}.{extension}"), &text);
        }
    }
    bounded(&workspace);
}

#[test]
fn what_never_ends_ends_with_the_file() {
    let workspace = one_good_file();
    for extension in EXTENSIONS {
        for (i, start) in [
            "\"",
            "'",
            "`",
            "/*",
            "//",
            "#",
            "\"\"\"",
            "'''",
            "r#\"",
            "R\"x(",
            "@\"",
            "$\"{",
            "<<EOF\n",
            "--[[",
            "=begin\n",
            "/",
            "<?php \"",
            "f\"{",
            "\\",
            "\u{FEFF}\"",
            "#define X \\",
            "case",
            "}",
            ")",
        ]
        .iter()
        .enumerate()
        {
            workspace.write(&format!("{i}.{extension}"), format!("x = 1\n{start} and so on\nif (y) {{\n"));
        }
    }
    bounded(&workspace);
}

#[test]
fn endless_repetition_is_bounded_work() {
    let workspace = one_good_file();
    for extension in ["go", "rs", "c", "js", "py", "java", "cs"] {
        workspace.write(&format!("lines.{extension}"), "x = f(1, 2);\n".repeat(100_000));
        let block = if extension == "py" { "if a:\n    b(c)\n    d = e\n" } else { "if (a) {\n b(c);\n d = e;\n}\n" };
        workspace.write(&format!("blocks.{extension}"), block.repeat(30_000));
        let alternating: String = (0..30_000).map(|i| if i % 2 == 0 { "a = b;\n" } else { "f(c, d);\n" }).collect();
        workspace.write(&format!("alternating.{extension}"), alternating);
        // Thue–Morse: repeats everywhere, no three in a row.
        let overlapping: String =
            (0u32..50_000).map(|i| if i.count_ones() % 2 == 0 { "a = b;\n" } else { "f(c, d);\n" }).collect();
        workspace.write(&format!("overlapping.{extension}"), overlapping);
    }
    bounded(&workspace);
}

fn bounded(workspace: &Workspace) {
    // Building the binary is not what takes time here.
    dupi_tests::binary::path();
    let start = std::time::Instant::now();
    // Reading is the same for both: the second finds it done. No file here is generated, and to ask for that zone would
    // be to read all again. Most of the time goes to fingerprints: a hundred units that nest, each of all the tokens.
    let cache = tempfile::tempdir().expect("a temporary folder");
    for arguments in [
        &["--check", "--format", "json"][..],
        &["--check", "--format", "json", "--zone", "code,data,imports,test", "--min-similarity", "0"],
    ] {
        let run = run_with(workspace.path(), cache.path(), arguments);
        assert!(run.code == 0 || run.code == 1, "exit {}: {}", run.code, run.stderr);
        assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
        assert!(!run.stdout.contains("tokenizer failed"));
    }
    assert!(start.elapsed() < HANG, "took {:?}", start.elapsed());
}

#[cfg(unix)]
#[test]
fn pipes_loops_and_locked_folders_are_told_and_passed_by() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let workspace = one_good_file();
    let root = workspace.path();
    assert!(
        std::process::Command::new("mkfifo").arg(root.join("pipe.go")).status().is_ok_and(|status| status.success())
    );
    std::fs::create_dir(root.join("folder")).expect("a folder");
    symlink("..", root.join("folder/loop")).expect("a link");
    symlink("nowhere.c", root.join("broken.c")).expect("a link");
    symlink("/etc", root.join("outside")).expect("a link");
    symlink("good.py", root.join("again.py")).expect("a link");
    workspace.write("locked/x.go", "package x\n");
    let locked = root.join("locked");
    std::fs::set_permissions(&locked, PermissionsExt::from_mode(0o000)).expect("a mode");
    let readable = std::fs::read_dir(&locked).is_ok(); // root reads everything
    let report = check_json(root, &[]);
    std::fs::set_permissions(&locked, PermissionsExt::from_mode(0o755)).expect("a mode");
    let found = reasons(&report);
    let has = |path: &str, reason: &str| found.contains(&(path.to_owned(), reason.to_owned()));
    assert!(has("pipe.go", "not a regular file"), "{found:?}");
    assert!(has("broken.c", "symbolic link") && has("again.py", "symbolic link"), "{found:?}");
    assert!(readable || has("locked", "unreadable"), "{found:?}");
    assert_eq!(report["scanned"]["files"], 1 + u64::from(readable));
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_not_utf8_are_shown_replaced() {
    use std::os::unix::ffi::OsStrExt;
    let workspace = one_good_file();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.py");
    std::fs::write(workspace.path().join(name), "y = 2\n").expect("a file");
    let report = check_json(workspace.path(), &[]);
    assert_eq!(report["scanned"]["files"], 2);
}

#[cfg(unix)]
#[test]
fn names_and_code_cannot_steer_the_terminal() {
    let workspace = Workspace::new("");
    let code = "    total = 0 # \u{1b}]0;owned\u{7}\n    for row in rows:\n        if row.kind == '\u{1b}[2J\u{202e}':\n            total += row.price * 2\n        elif row.count > 3:\n            raise ValueError('too many', row.count, row.name)\n    while total > limit:\n        total = shrink(total, limit)\n    return total\n";
    for name in ["a\u{1b}[31m\n.py", "b\u{202e}.py"] {
        workspace.write(name, format!("def h(rows, limit):\n{code}"));
    }
    let run = run(workspace.path(), &["--check", "--skipped"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(!run.stdout.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{:?}", run.stdout);
    assert!(run.stdout.contains("a\\u{1b}[31m\\u{a}.py"), "{}", run.stdout);
}
