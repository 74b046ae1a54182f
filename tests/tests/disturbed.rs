//! Faults 24, 29 and 30 against the real binary: what happens to a process changes no answer, of this one or a later one.
#![cfg(unix)]
#![allow(clippy::print_stdout, reason = "what cannot be tried on this machine is told")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{available_parallelism, sleep};
use std::time::{Duration, Instant, SystemTime};

use dupi_tests::binary::{command, run, run_with};
use dupi_tests::inputs::{ABORT, OVERFLOW, STAGED, WAIT, one_good_file, php, slow_text};
use dupi_tests::workspace::{Workspace, function, pair};
use serde_json::json;
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
    assert_eq!(run.json()["scanned"]["skipped"], json!([]), "all of it is read");
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
    let skipped = json!([{"path": "slow.lua", "reason": "too slow to parse"}]);
    assert_eq!(scratch.json()["scanned"]["skipped"], skipped);
    for _ in 0..2 {
        assert_eq!(run_with(workspace.path(), cache.path(), &CHECK).stdout, scratch.stdout);
    }
}

// ---- 24: contents that end the process

#[test]
fn fault_24_a_content_that_ended_its_process_is_skipped_by_the_next_one_until_it_is_edited() {
    for word in [ABORT, OVERFLOW] {
        let workspace = pair();
        let good = expected(&workspace);
        let bad = format!("package c // {word}\n\n{}", function("Mean", "rows"));
        workspace.write("bad.go", &bad);
        let cache = tempfile::tempdir().expect("a folder");
        let staged = tempfile::tempdir().expect("a folder");
        let check = |arguments: &[&str]| {
            let mut command = command(workspace.path(), cache.path(), arguments);
            command.env(STAGED, staged.path()).output().expect("it runs")
        };
        let skipped = |paths: &[&str]| {
            let output = check(&CHECK);
            let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
            let expected: Vec<_> =
                paths.iter().map(|path| json!({"path": path, "reason": "crashed while it was read"})).collect();
            assert_eq!(report["scanned"]["skipped"], json!(expected));
            assert_eq!((output.status.code(), report["classes"].as_array().map(Vec::len)), (Some(1), Some(1)));
        };
        assert_eq!(check(&CHECK).status.code(), None, "{word} ends it");
        skipped(&["bad.go"]);
        skipped(&["bad.go"]);
        assert_eq!(check(&["index", "--verify"]).status.code(), Some(0));
        let text = check(&["--check", "--skipped"]).stdout;
        assert!(String::from_utf8_lossy(&text).contains("skipped bad.go: crashed while it was read"));
        workspace.write("copy.go", &bad);
        skipped(&["bad.go", "copy.go"]);
        fs::remove_file(workspace.path().join("copy.go")).expect("removed");
        workspace.write("bad.go", "package c\n");
        skipped(&[]);
        workspace.write("bad.go", &bad);
        skipped(&["bad.go"]);
        // As if what was wrong was something else: nothing is settled.
        let without = run_with(workspace.path(), cache.path(), &CHECK);
        assert_eq!(without.json()["scanned"]["skipped"], json!([]));
        fs::remove_file(workspace.path().join("bad.go")).expect("removed");
        assert!(String::from_utf8_lossy(&check(&CHECK).stdout) == good);
    }
}

// ---- 30: interrupted, and ended in order

/// Copies of a file that is tokenized for as long as the test says, and an index that is built in spite of that.
struct Held {
    workspace: Workspace,
    cache: TempDir,
    staged: TempDir,
}

impl Held {
    fn new() -> Held {
        let [cache, staged] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let workspace = Workspace::new("");
        for path in ["a.php", "b.php"] {
            workspace.write(path, format!("{}// {WAIT}\n", php(3)));
        }
        Held { workspace, cache, staged }
    }

    /// Starts a process and waits until it, or one that it has started, is tokenizing.
    fn start(&self, arguments: &[&str], stdin: Option<&str>) -> Child {
        fs::write(self.staged.path().join("hold"), "").expect("a file");
        fs::remove_file(self.staged.path().join("waiting")).ok();
        let mut command = command(self.workspace.path(), self.cache.path(), arguments);
        command.env(STAGED, self.staged.path()).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut process = command.spawn().expect("it runs");
        if let Some(text) = stdin {
            process.stdin.as_mut().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
        }
        let end = Instant::now() + Duration::from_secs(120);
        while !self.staged.path().join("waiting").exists() {
            assert!(Instant::now() < end && is_running(&mut process), "it tokenizes");
            sleep(Duration::from_millis(5));
        }
        process
    }

    /// Lets all go on. Nothing is lost of what was held.
    fn assert_nothing_is_lost(&self, what: &str) {
        fs::remove_file(self.staged.path().join("hold")).expect("removed");
        let run = run_with(self.workspace.path(), self.cache.path(), &CHECK);
        assert!(run.stdout == expected(&self.workspace), "{what}: {}", run.stdout);
    }
}

#[test]
fn fault_30_a_first_index_that_is_interrupted_again_and_again_loses_no_file() {
    for name in ["-INT", "-TERM", "-HUP", "-KILL"] {
        let held = Held::new();
        for round in 0..3 {
            let mut process = held.start(&CHECK, None);
            // As a terminal does it, to all that it has started; then to the process alone.
            let id = format!("{}{}", if round == 0 { "-" } else { "" }, process.id());
            let sent = Command::new("kill").args([name, "--", &id]).status().expect("a program `kill`");
            assert!(sent.success());
            assert_eq!(process.wait().expect("it ends").code(), None, "{name}");
        }
        held.assert_nothing_is_lost(name);
    }
}

#[test]
fn fault_30_a_server_that_ends_in_order_while_it_reads_again_and_again_loses_no_file() {
    let message = |value: serde_json::Value| {
        let text = value.to_string();
        format!("Content-Length: {}\r\n\r\n{text}", text.len())
    };
    for politely in [true, false] {
        let held = Held::new();
        let folder = dupi_tests::editor::uri(&held.workspace.path().canonicalize().expect("a folder"));
        let params = json!({"processId": null, "rootUri": folder, "capabilities": {}});
        let hello = message(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}))
            + &message(json!({"jsonrpc": "2.0", "method": "initialized", "params": {}}));
        let goodbye = message(json!({"jsonrpc": "2.0", "id": 2, "method": "shutdown"}))
            + &message(json!({"jsonrpc": "2.0", "method": "exit"}));
        for _ in 0..3 {
            let mut server = held.start(&[], Some(&hello));
            let mut stdin = server.stdin.take().expect("a pipe");
            if politely {
                stdin.write_all(goodbye.as_bytes()).expect("it reads");
            }
            drop(stdin);
            let code = server.wait().expect("it ends").code();
            assert_eq!(code, Some(if politely { 0 } else { 1 }));
        }
        held.assert_nothing_is_lost(if politely { "exit" } else { "an ended input" });
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

/// `DUPI_CASES` draws fewer or more, `DUPI_SEED` draws others.
#[test]
#[ignore = "long"]
fn fault_30_a_thousand_kills_and_two_hundred_interruptions_while_slow_languages_are_parsed_lose_no_file() {
    let workspace = slow_files(2, 60);
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/planted");
    for name in ["kotlin.kt", "swift.swift", "scala.scala", "ruby.rb", "php.php", "bash.sh", "lua.lua"] {
        let text = fs::read_to_string(fixtures.join(name)).expect("a fixture");
        for folder in ["a", "b"] {
            workspace.write(&format!("{folder}/{name}"), text.repeat(3));
        }
    }
    let expected = expected(&workspace);
    let n_kills = number("DUPI_CASES").unwrap_or(1_000);
    let mut rng = fastrand::Rng::with_seed(number("DUPI_SEED").unwrap_or(1));
    // Kills and interruptions.
    let mut done = [0, 0];
    let mut n_indexes = 0;
    while done[0] < n_kills || done[1] < n_kills / 5 {
        // One index through some of them, until it is left to finish.
        let cache = tempfile::tempdir().expect("a folder");
        for _ in 0..rng.u8(2..12) {
            let mut check = command(workspace.path(), cache.path(), &CHECK);
            let mut check = check.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
            while !is_tokenizing(&cache) && is_running(&mut check) {}
            sleep(Duration::from_micros(rng.u64(0..20_000)));
            let kind = usize::from(rng.u8(0..6) == 0);
            let name = ["-KILL", if rng.bool() { "-INT" } else { "-TERM" }][kind];
            if is_running(&mut check) {
                signal(name, [&check]);
                done[kind] += u64::from(check.wait().expect("it ends").code().is_none());
            }
        }
        let run = run_with(workspace.path(), cache.path(), &CHECK);
        assert!(run.stdout == expected, "after {done:?}: {}", run.stdout);
        n_indexes += 1;
    }
    println!("{} kills and {} interruptions of {n_indexes} indexes, and nothing was lost", done[0], done[1]);
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
    // Small: such a process gets a hundredth of a core or less.
    let workspace = slow_files(2, 100);
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
            answer(low_check(&workspace, &cache)) == expected
                && run_with(workspace.path(), cache.path(), &CHECK).stdout == expected
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

/// Fault 28: of so many files that it matters.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "long"]
fn fault_28_a_first_index_is_written_early_if_there_is_little_memory_for_it() {
    let workspace = dupi_tests::inputs::many_files(20_000);
    let peak = |memory: &str| {
        let cache = tempfile::tempdir().expect("a temporary folder");
        let mut index = command(workspace.path(), cache.path(), &["index", "--memory", memory]);
        let mut index = index.stdout(Stdio::null()).spawn().expect("it runs");
        let mut peak = 0;
        while is_running(&mut index) {
            peak = dupi_tests::binary::status_of(index.id(), "VmHWM").unwrap_or(peak);
            sleep(Duration::from_millis(1));
        }
        assert!(index.wait().expect("it ends").success());
        peak
    };
    let (little, usual) = (peak("64"), peak("320"));
    assert!(little < 150_000 && little + 30_000 < usual, "{little} kB, else {usual} kB");
}
