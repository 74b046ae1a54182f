//! Faults 24, 29 and 30 against the real binary: what happens to a process changes no answer, of this one or a later one.
#![cfg(unix)]
#![allow(clippy::print_stdout, reason = "what cannot be tried on this machine is told")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{available_parallelism, sleep};
use std::time::{Duration, SystemTime};

use dupi_tests::binary::{command, run, run_with};
use dupi_tests::inputs::{one_good_file, php, slow_text};
use dupi_tests::workspace::{Workspace, function};
use tempfile::TempDir;

const CHECK: [&str; 3] = ["--check", "--format", "json"];

/// Files of a slow language, all copies of each other.
fn slow_files(n: usize, n_functions: usize) -> Workspace {
    let workspace = Workspace::new("");
    (0..n).for_each(|i| drop(workspace.write(&format!("{i}.php"), php(n_functions))));
    workspace
}

/// The answer of a search that nothing disturbs and that remembers nothing.
fn expected(workspace: &Workspace) -> String {
    let run = run(workspace.path(), &[&CHECK[..], &["--no-index"]].concat());
    assert_eq!(run.code, 1, "it has copies: {}", run.stderr);
    assert_eq!(run.json()["scanned"]["skipped"], serde_json::json!([]), "all of it is read");
    run.stdout
}

/// The check with an index in `cache`, at the lowest priority.
fn low_check(workspace: &Workspace, cache: &TempDir) -> Child {
    let check = command(workspace.path(), cache.path(), &CHECK);
    let mut low = Command::new("nice");
    low.args(["-n", "19"]).arg(check.get_program()).args(check.get_args()).current_dir(workspace.path());
    low.envs(check.get_envs().filter_map(|(name, value)| Some((name, value?))));
    low.stdout(Stdio::piped()).spawn().expect("it runs")
}

fn answer(child: Child) -> String {
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Sends a signal to processes, of which some may have ended.
fn signal<'a>(name: &str, processes: impl IntoIterator<Item = &'a Child>) {
    let ids = processes.into_iter().map(|process| process.id().to_string());
    Command::new("kill").arg(name).args(ids).stderr(Stdio::null()).status().expect("a program `kill`");
}

fn is_running(process: &mut Child) -> bool {
    process.try_wait().expect("a child").is_none()
}

fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    fs::read_dir(folder).ok()?.flatten().find_map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => find(&entry.path(), name),
        _ => (entry.file_name() == name).then(|| entry.path()),
    })
}

/// Is a file tokenized now by the process that writes the index in `cache`?
fn is_tokenizing(cache: &TempDir) -> bool {
    let notes = find(cache.path(), "notes").and_then(|notes| fs::read(notes).ok());
    notes.is_some_and(|notes| notes.iter().any(|&byte| byte != 0))
}

// ---- 24: a budget of steps

#[test]
fn fault_24_a_text_over_its_budget_of_steps_is_skipped_with_that_reason() {
    let workspace = one_good_file();
    workspace.write("slow.lua", slow_text());
    let cache = tempfile::tempdir().expect("a folder");
    let scratch = run(workspace.path(), &[&CHECK[..], &["--no-index"]].concat());
    let skipped = serde_json::json!([{"path": "slow.lua", "reason": "too slow to parse"}]);
    assert_eq!(scratch.json()["scanned"]["skipped"], skipped);
    for _ in 0..2 {
        assert_eq!(run_with(workspace.path(), cache.path(), &CHECK).stdout, scratch.stdout);
    }
}

// ---- 29: stopped, throttled, at low priority

#[test]
fn fault_29_a_process_that_is_stopped_while_it_parses_answers_the_same_and_remembers_nothing_of_it() {
    let workspace = slow_files(6, 250);
    let expected = expected(&workspace);
    let cache = tempfile::tempdir().expect("a folder");
    let mut check = command(workspace.path(), cache.path(), &CHECK).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut n_stops = 0;
    while n_stops < 3 && is_running(&mut check) {
        if is_tokenizing(&cache) {
            signal("-STOP", [&check]);
            sleep(Duration::from_millis(1_200));
            signal("-CONT", [&check]);
            n_stops += 1;
        }
    }
    assert!(n_stops > 0, "it was stopped");
    assert!(answer(check) == expected, "stopped");
    assert!(run_with(workspace.path(), cache.path(), &CHECK).stdout == expected, "from what is remembered");
}

#[test]
fn fault_29_six_throttled_processes_at_once_at_the_lowest_priority_answer_the_same_and_remember_nothing_of_it() {
    let workspace = slow_files(2, 200);
    let expected = expected(&workspace);
    let caches: Vec<TempDir> = (0..6).map(|_| tempfile::tempdir().expect("a folder")).collect();
    let mut checks: Vec<Child> = caches.iter().map(|cache| low_check(&workspace, cache)).collect();
    // A tenth of the time, for as long as that takes them more than ten seconds: then they may finish.
    for _ in 0..100 {
        if !checks.iter_mut().any(is_running) {
            break;
        }
        signal("-STOP", &checks);
        sleep(Duration::from_millis(180));
        signal("-CONT", &checks);
        sleep(Duration::from_millis(20));
    }
    for (check, cache) in checks.into_iter().zip(&caches) {
        assert!(answer(check) == expected, "throttled");
        assert!(run_with(workspace.path(), cache.path(), &CHECK).stdout == expected, "from what is remembered");
    }
}

#[test]
#[ignore = "long"]
fn fault_29_ten_checks_beside_busy_loops_at_the_lowest_priority_give_one_answer() {
    let workspace = slow_files(6, 250);
    let expected = expected(&workspace);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop()
                }
            });
        }
        let same = (0..10).all(|_| {
            let cache = tempfile::tempdir().expect("a folder");
            (0..2).all(|_| answer(low_check(&workspace, &cache)) == expected)
        });
        stop.store(true, Ordering::Relaxed);
        assert!(same);
    });
}

/// A user without the right to read everything, as whom a test can run a program if it is run as root.
const NOBODY: &str = "65534";

#[test]
fn fault_29_a_file_that_could_not_be_read_once_is_read_as_soon_as_it_can_be() {
    let mode = |path: &Path, mode: u32| fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("a mode");
    let text = format!("package a\n\n{}", function("Sum", "values"));
    let workspace = Workspace::new("");
    let cache = tempfile::tempdir().expect("a folder");
    // A script has no ending, so that its first bytes must be read to know it for one.
    let script = format!("#!/bin/bash\n{}", "if test \"$a\" = \"$b\"; then echo \"$c\" \"$d\"; exit 1; fi\n".repeat(2));
    let script = (0..9).map(|i| format!("f{i}() {{\n  a=$1; b=$2\n}}\n")).fold(script, |all, more| all + &more);
    let paths = [("a.go", &text), ("b.go", &text), ("one", &script), ("two", &script)]
        .map(|(name, text)| workspace.write(name, text));
    // What is young is read again anyway.
    for path in &paths {
        let file = fs::File::options().write(true).open(path).expect("a file");
        file.set_modified(SystemTime::now() - Duration::from_secs(3_600)).expect("a time");
    }
    let expected = expected(&workspace);
    mode(workspace.path(), 0o777);
    mode(cache.path(), 0o777);
    for path in &paths[1..3] {
        mode(path, 0);
    }
    let check = || {
        let check = command(workspace.path(), cache.path(), &CHECK);
        if fs::read(&paths[1]).is_err() {
            return Some(check);
        }
        let mut unprivileged = Command::new("setpriv");
        unprivileged.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]).arg(check.get_program());
        unprivileged.args(check.get_args()).current_dir(workspace.path());
        unprivileged.envs(check.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let tried = unprivileged.output().is_ok_and(|output| output.status.code().is_some_and(|code| code != 127));
        tried.then_some(unprivileged)
    };
    let Some(mut check) = check() else {
        println!("not tried: this user may read everything, and there is no `setpriv`");
        return;
    };
    for _ in 0..2 {
        let output = check.output().expect("it runs");
        assert!(String::from_utf8_lossy(&output.stdout) != expected, "some files cannot be read");
    }
    for path in &paths[1..3] {
        mode(path, 0o644);
    }
    let output = check.output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}
