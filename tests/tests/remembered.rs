//! Faults 23–25 against the index: what is hard to read is read once, remembered by its content, and answered for.

use std::fs;
use std::time::{Duration, SystemTime};

use dupi::SkipReason;
use dupi_tests::answers::{self, assert_right, refresh, small};
use dupi_tests::inputs::{nested, one_good_file, slow_text, write_no_texts};
use dupi_tests::workspace::Workspace;

/// Makes all files look old, so that size and time tell that they are the same.
fn age(workspace: &Workspace) {
    let then = SystemTime::now() - Duration::from_secs(3_600);
    for entry in fs::read_dir(workspace.path()).expect("a folder").flatten() {
        let file = fs::File::options().write(true).open(entry.path()).expect("a file");
        file.set_modified(then).expect("a time");
    }
}

/// The index of a folder reads each file once; opened again it reads none, touched it does not parse again.
fn read_once(workspace: &Workspace, check: impl Fn(&str, SkipReason) -> bool) {
    age(workspace);
    let indexes = tempfile::tempdir().expect("a folder");
    let of = answers::workspace(workspace.path(), small());
    let mut index = answers::open(indexes.path(), &of);
    let first = refresh(&mut index);
    let n_files = fs::read_dir(workspace.path()).expect("a folder").count();
    assert_eq!(first.added, n_files);
    assert_right(&mut index, "read");
    let report = index.report(&small()).expect("an answer");
    for skip in &report.skipped {
        assert!(check(&skip.path, skip.reason), "{skip:?}");
    }
    let again = refresh(&mut index);
    assert_eq!((again.same, again.any(), again.touched), (n_files, false, 0), "{again:?}");
    drop(index);
    let mut index = answers::open(indexes.path(), &of);
    let again = refresh(&mut index);
    assert_eq!((again.same, again.any(), again.touched), (n_files, false, 0), "{again:?}");
    assert_right(&mut index, "opened again");
    // Another time, the same content: read, not parsed.
    for entry in fs::read_dir(workspace.path()).expect("a folder").flatten() {
        let file = fs::File::options().write(true).open(entry.path()).expect("a file");
        file.set_modified(SystemTime::now() - Duration::from_secs(60)).expect("a time");
    }
    let touched = refresh(&mut index);
    assert_eq!((touched.touched, touched.any()), (n_files, false), "{touched:?}");
    // Copies of all files, as in a folder that was moved to another disk: told by their content, too.
    let copies = tempfile::tempdir().expect("a folder");
    for entry in fs::read_dir(workspace.path()).expect("a folder").flatten() {
        let (copy, time) = (copies.path().join("copy"), entry.metadata().and_then(|meta| meta.modified()));
        fs::copy(entry.path(), &copy).expect("copied");
        let file = fs::File::options().write(true).open(&copy).expect("a file");
        file.set_modified(time.expect("a time")).expect("a time");
        fs::rename(&copy, entry.path()).expect("renamed");
    }
    let copied = refresh(&mut index);
    assert_eq!((copied.touched + copied.same, copied.any()), (n_files, false), "{copied:?}");
    assert!(!cfg!(unix) || copied.same == 0, "{copied:?}");
    assert_eq!(index.verify().problems, [""; 0]);
    assert_right(&mut index, "touched");
}

#[test]
fn fault_23_nesting_without_end_is_remembered() {
    let workspace = one_good_file();
    // Some of them: reading is tried with all elsewhere.
    let some = ["round", "open", "comments", "templates"];
    for (name, text) in nested().into_iter().filter(|(name, _)| some.contains(name)) {
        for extension in ["go", "rs", "c", "js", "py", "java", "kt", "rb", "php", "swift"] {
            workspace.write(&format!("{name}.{extension}"), &text);
        }
    }
    let deep = [SkipReason::TooDeep, SkipReason::TooSlow, SkipReason::Minified, SkipReason::Empty];
    read_once(&workspace, |_, reason| deep.contains(&reason));
}

/// A grammar that is slow on a text: it is skipped after its budget, and costs that budget once.
#[test]
fn fault_24_a_slow_text_costs_its_budget_once() {
    let workspace = one_good_file();
    workspace.write("slow.lua", slow_text());
    age(&workspace);
    let indexes = tempfile::tempdir().expect("a folder");
    let of = answers::workspace(workspace.path(), small());
    let mut index = answers::open(indexes.path(), &of);
    refresh(&mut index);
    let skipped = index.report(&small()).expect("an answer").skipped;
    assert_eq!(skipped.iter().map(|skip| skip.reason).collect::<Vec<_>>(), [SkipReason::TooSlow]);
    drop(index);
    let file = fs::File::options().write(true).open(workspace.path().join("slow.lua")).expect("a file");
    file.set_modified(SystemTime::now() - Duration::from_secs(60)).expect("a time");
    let mut index = answers::open(indexes.path(), &of);
    let again = refresh(&mut index);
    assert_eq!((again.touched, again.any()), (1, false), "told by its content, not parsed again");
    assert_eq!(index.report(&small()).expect("an answer").skipped, skipped);
}

#[test]
fn fault_25_what_is_no_source_text_or_endless_is_remembered() {
    let workspace = one_good_file();
    write_no_texts(&workspace);
    workspace.write("minified.js", b"var a=1;".repeat(3 * 1024 * 1024 / 8));
    let rows: String = (0..150_000).map(|i| format!("  {{ {i}, \"x\" }},\n")).collect();
    workspace.write("generated.c", format!("/* Code generated by rows. DO NOT EDIT. */\nint t[] = {{\n{rows}}};\n"));
    workspace.write("lines.c", "x = f(1, 2);\n".repeat(100_000));
    workspace.write("script", "#!/bin/sh\necho a\n");
    workspace.write("notes", "nothing to compare\n");
    read_once(&workspace, |_, reason| {
        use SkipReason::*;
        [Binary, NotUtf8, Empty, Minified, TooLarge, Generated].contains(&reason)
    });
}
