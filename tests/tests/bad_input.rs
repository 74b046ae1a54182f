//! What must not hurt it: every file here is skipped with its reason or read in bounded time; nothing panics, hangs or overflows.

#[cfg(unix)]
use std::path::Path;
use std::time::Duration;

#[cfg(unix)]
use dupi_tests::binary::{self, Run};
use dupi_tests::binary::{check_json, run, run_with};
use dupi_tests::inputs::{EXTENSIONS, nested, one_good_file, write_no_texts};
#[cfg(unix)]
use dupi_tests::repository::Repository;
use dupi_tests::workspace::Workspace;
#[cfg(unix)]
use dupi_tests::workspace::function;

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

/// Sequences with as many rows, and rows within rows, as a sequence can have.
#[test]
fn rows_without_end_are_bounded_work() {
    const N: usize = 50_000;
    let statement = |kind: usize| match kind {
        0 => "a = b;\n".to_owned(),
        1 => "f(c, d);\n".to_owned(),
        n => format!("g({});\n", vec!["e"; n].join(", ")),
    };
    let spelled = |kinds: &mut dyn Iterator<Item = usize>| kinds.map(statement).collect::<String>();
    // Fibonacci: every part of it comes again at once, and nothing four times in a row.
    let (mut short, mut fibonacci) = (vec![1], vec![0]);
    while fibonacci.len() < N {
        let longer = [&*fibonacci, &*short].concat();
        short = std::mem::replace(&mut fibonacci, longer);
    }
    // The ruler: no row at all, but every part of it at twice the distance again.
    let mut ruler = (1..N).map(|i| i.trailing_zeros() as usize);
    // Rows of every length, with the same before and behind them: what follows on two of them is a copy that is as much
    // longer as the shorter row is, so the copies grow faster than the text.
    let mut growing = (0..120).flat_map(|n| [3, 4].into_iter().chain(std::iter::repeat_n(0, n)).chain([5, 6]));
    let mut growing_pairs = (0..80).flat_map(|n| [3, 4].into_iter().chain([0, 1].repeat(n)).chain([5, 6]));
    // Rows of rows.
    let mut nested = (0..N).map(|i| if i % 100 == 99 { 2 } else { usize::from(i % 10 == 9) });
    let texts = [
        ("fibonacci", spelled(&mut fibonacci.into_iter())),
        ("ruler", spelled(&mut ruler)),
        ("growing", spelled(&mut growing)),
        ("growing_pairs", spelled(&mut growing_pairs)),
        ("nested", spelled(&mut nested)),
    ];
    let workspace = one_good_file();
    for (extension, head) in [("c", "int f()"), ("js", "function f()")] {
        for (name, text) in &texts {
            workspace.write(&format!("{name}.{extension}"), text);
            workspace.write(&format!("{name}_in_function.{extension}"), format!("{head} {{\n{text}}}\n"));
        }
    }
    bounded(&workspace);
}

fn bounded(workspace: &Workspace) {
    // Building the binary is not what takes time here.
    binary::path();
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
    let check = |more: &[&str]| run(root, &[&["--check", "--format", "json"], more].concat());
    let report = check(&[]).json();
    assert_eq!(check(&["--no-index"]).json(), report);
    std::fs::set_permissions(&locked, PermissionsExt::from_mode(0o755)).expect("a mode");
    let found = reasons(&report);
    let has = |path: &str, reason: &str| found.contains(&(path.to_owned(), reason.to_owned()));
    assert!(has("pipe.go", "not a regular file"), "{found:?}");
    assert!(has("broken.c", "symbolic link") && has("again.py", "symbolic link"), "{found:?}");
    assert!(readable || has("locked", "unreadable"), "{found:?}");
    assert_eq!(report["scanned"]["files"], 1 + u64::from(readable));
}

/// What may have the name of a file that is read: each hangs, or never ends, when it is simply opened and read.
#[cfg(unix)]
const ODD_FILES: [(&str, &str); 4] = [
    ("endless", "not a regular file"),
    ("pipe", "not a regular file"),
    ("folder", "a folder"),
    ("huge", "larger than"),
];

#[cfg(unix)]
fn make_odd(kind: &str, path: &Path) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    match kind {
        "endless" => std::os::unix::fs::symlink("/dev/zero", path).expect("a link"),
        "pipe" => assert!(std::process::Command::new("mkfifo").arg(path).status().is_ok_and(|status| status.success())),
        "folder" => std::fs::create_dir(path).expect("a folder"),
        // Has no blocks on disk: what counts is what it says of itself.
        _ => std::fs::File::create(path).and_then(|file| file.set_len(1 << 40)).expect("a file"),
    }
}

/// Runs the binary within a gigabyte of addresses. Nothing here takes a second: what does not end is ended.
#[cfg(unix)]
fn run_limited(folder: &Path, cache: &Path, arguments: &[&str]) -> Run {
    let meant = binary::command(folder, cache, arguments);
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "ulimit -v 1048576 && exec \"$0\" \"$@\""]).arg(meant.get_program()).args(meant.get_args());
    command.envs(meant.get_envs().filter_map(|(name, value)| Some((name, value?)))).current_dir(folder);
    binary::run_within(command, HANG).unwrap_or_else(|| panic!("{arguments:?} hangs"))
}

#[cfg(unix)]
#[test]
fn fault_32_a_configuration_baseline_or_question_that_is_no_regular_file_is_refused() {
    let (workspace, cache) = (dupi_tests::workspace::pair(), Workspace::new(""));
    for (kind, why) in ODD_FILES {
        for (name, arguments) in [
            ("dupi.toml", &["--check"][..]),
            ("base.json", &["--check", "--baseline", "base.json"]),
            ("odd.go", &["like", "odd.go"]),
            ("old.json", &["report", "--output", "-", "--history", "old.json"]),
            ("odd.mh", &["corpus", "self", "odd.mh"]),
        ] {
            if (kind, name) == ("huge", "odd.mh") {
                continue; // of any size: it is read in parts
            }
            let path = workspace.path().join(name);
            make_odd(kind, &path);
            let run = run_limited(workspace.path(), cache.path(), arguments);
            let told = run.stderr.lines().any(|line| line.contains(name) && line.contains(why));
            assert!(run.code == 2 && told, "{kind} {arguments:?}: exit {}: {}", run.code, run.stderr);
            if kind == "folder" { std::fs::remove_dir(&path) } else { std::fs::remove_file(&path) }.expect("removed");
        }
    }
    std::os::unix::fs::symlink("nowhere", workspace.path().join("dupi.toml")).expect("a link");
    assert_eq!(run(workspace.path(), &["--check"]).code, 2, "a link to nothing");
}

#[cfg(unix)]
#[test]
fn fault_32_an_ignore_file_that_is_no_regular_file_is_told() {
    for name in [".gitignore", ".ignore", "b/.gitignore", ".git/info/exclude"] {
        for (kind, _) in ODD_FILES {
            let (workspace, cache) = (dupi_tests::workspace::pair(), Workspace::new(""));
            make_odd(kind, &workspace.path().join(name));
            let run = run_limited(workspace.path(), cache.path(), &["--check", "--format", "json"]);
            assert_eq!(run.code, 1, "{kind} {name}: {}", run.stderr);
            let expected = match kind {
                "folder" => None,
                "huge" => Some("too large"),
                _ => Some("not a regular file"),
            };
            let found = reasons(&run.json());
            let of_it = found.iter().find(|(path, _)| path == name).map(|(_, reason)| reason.as_str());
            assert!(of_it == expected || kind == "folder", "{kind} {name}: {found:?}");
        }
    }
}

#[cfg(unix)]
#[test]
fn fault_32_files_of_an_index_that_are_not_regular_stop_nothing() {
    let (workspace, cache) = (dupi_tests::workspace::pair(), Workspace::new(""));
    let check = || run_limited(workspace.path(), cache.path(), &["--check", "--format", "json"]);
    let expected = check();
    assert_eq!(expected.code, 1, "{}", expected.stderr);
    let lock = dupi_tests::workspace::files(cache.path()).into_iter().find(|path| path.ends_with("lock"));
    let index = lock.expect("an index").parent().expect("a folder").to_owned();
    for name in ["used", "manifest", "lock"] {
        for (kind, _) in ODD_FILES {
            let path = index.join(name);
            if path.is_dir() { std::fs::remove_dir(&path) } else { std::fs::remove_file(&path) }.expect("removed");
            make_odd(kind, &path);
            let run = check();
            assert_eq!((run.code, run.stdout), (1, expected.stdout.clone()), "{kind} {name}: {}", run.stderr);
        }
    }
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

/// Runs the binary as somebody to whom a closed file is closed: nothing is to the superuser, as whom tests may run.
#[cfg(unix)]
fn run_as_somebody(folder: &Path, arguments: &[&str]) -> Run {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    let home = tempfile::tempdir().expect("a folder");
    let closed = home.path().join("closed");
    std::fs::write(&closed, "").expect("a file");
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o000)).expect("a mode");
    if std::fs::read(&closed).is_err() {
        return run_with(folder, home.path(), arguments);
    }
    // Where nobody may run it.
    let copy = home.path().join("dupi-lsp");
    std::fs::copy(binary::path(), &copy).expect("a copy");
    for path in [home.path(), folder] {
        let owned = std::process::Command::new("chown").args(["-R", &format!("{NOBODY}:{NOBODY}")]).arg(path).status();
        assert!(owned.expect("chown").success());
    }
    let original = binary::command(folder, home.path(), arguments);
    let mut command = std::process::Command::new(copy);
    command.args(arguments).current_dir(folder).uid(NOBODY).gid(NOBODY);
    command.envs(original.get_envs().filter_map(|(key, value)| Some((key, value?))));
    Run::new(command.output().expect("the binary runs"))
}

#[cfg(unix)]
fn close(folder: &Path, name: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder.join(name), PermissionsExt::from_mode(0o000)).expect("a mode");
}

/// Fault 36: who names a file wants it read. One that is met is counted and named.
#[cfg(unix)]
#[test]
fn fault_36_a_named_file_that_cannot_be_read_is_no_pass_and_another_is_counted() {
    let workspace = Workspace::new("");
    let text = |name: &str| format!("package {name}\n\n{}", function("Sum", "values"));
    for name in ["a.go", "b.go", "closed/c.go"] {
        workspace.write(name, text("p"));
    }
    let folder = workspace.path();
    close(folder, "b.go");
    close(folder, "closed");
    for index in [&["--no-index"][..], &[]] {
        let run = |arguments: &[&str]| run_as_somebody(folder, &[&["--check"], arguments, index].concat());
        for named in [&["b.go"][..], &["a.go", "b.go"], &["a.go", "closed"], &["a.go", "closed/c.go"]] {
            let run = run(named);
            assert_eq!(run.code, 2, "{named:?}: {}{}", run.stdout, run.stderr);
            assert!(run.stderr.contains(&format!("cannot read {}: ", named[named.len() - 1])), "{}", run.stderr);
        }
        let met = run(&["."]);
        assert_eq!(met.code, 0, "{}{}", met.stdout, met.stderr);
        assert!(met.stdout.contains("skipped 2: 2 unreadable"), "{}", met.stdout);
        assert!(
            met.stderr.contains("2 files or folders could not be read") && met.stderr.contains(": b.go, closed\n"),
            "{}",
            met.stderr
        );
        assert_eq!(run(&["--format", "json"]).json()["summary"]["unreadable"], 2);
    }
    // Opened again, it is read.
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder.join("b.go"), PermissionsExt::from_mode(0o644)).expect("a mode");
    assert_eq!(run_as_somebody(folder, &["--check"]).code, 1);
}

/// Fault 36: a change that cannot be read whole is no pass.
#[cfg(unix)]
#[test]
fn fault_36_an_unreadable_file_that_the_change_touches_is_no_pass() {
    let text = |name: &str| format!("package {name}\n\n{}", function("Sum", "values"));
    let repository = || {
        let repository = Repository::default();
        repository.write("a.go", text("a"));
        repository.write("b.go", "package b\n");
        repository.write("c/d.go", "package c\n");
        repository.commit("first");
        repository
    };
    let expect = |repository: &Repository, arguments: &[&str], code: i32, words: &str| {
        let run = run_as_somebody(repository.path(), &[&["--check"], arguments].concat());
        assert_eq!(run.code, code, "{arguments:?}: {}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains(words), "{arguments:?}: {}", run.stderr);
    };
    // Edited; not yet known to git; in a folder that is closed.
    for (name, closed) in [("b.go", "b.go"), ("new.go", "new.go"), ("c/d.go", "c")] {
        let changed = repository();
        changed.write(name, text("b"));
        close(changed.path(), closed);
        expect(&changed, &["--since", "HEAD"], 2, &format!("cannot read {closed}, which the change touches"));
    }
    let staged = repository();
    staged.write("b.go", text("b"));
    staged.git(&["add", "b.go"]);
    close(staged.path(), "b.go");
    expect(&staged, &["--staged"], 2, "cannot read b.go, which the change touches");
    // A folder that no change is known of, and what is not staged.
    let other = repository();
    other.write("data/x.go", text("x"));
    close(other.path(), "data");
    expect(&other, &["--since", "HEAD"], 0, "1 file or folder could not be read");
    other.write("new.go", text("b"));
    close(other.path(), "new.go");
    expect(&other, &["--staged"], 0, "2 files or folders could not be read");
}
