//! `tests/run` itself: its scripts and `cargo` replaced by ones that note that they ran.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Programs that the script itself may use; it finds no others, and so nothing that it could install with.
const PROGRAMS: [&str; 14] =
    ["bash", "cat", "dirname", "env", "find", "grep", "id", "ls", "realpath", "rm", "sed", "sort", "tr", "xargs"];

struct Checkout {
    folder: TempDir,
}

struct Run {
    code: Option<i32>,
    output: String,
    /// The replaced scripts and programs that ran, each with its arguments.
    ran: Vec<String>,
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// All executable files of a folder, relative to it.
fn scripts(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).expect("a folder").flatten() {
            let meta = entry.metadata().expect("there");
            if meta.is_dir() {
                open.push(entry.path());
            } else if meta.permissions().mode() & 0o111 != 0 {
                found.push(entry.path().strip_prefix(folder).expect("inside").to_owned());
            }
        }
    }
    found
}

impl Checkout {
    fn new() -> Checkout {
        let checkout = Checkout { folder: tempfile::tempdir().expect("a folder") };
        let ours = Path::new(env!("CARGO_MANIFEST_DIR"));
        for script in scripts(ours) {
            checkout.replace(&Path::new("tests").join(script));
        }
        for script in ["run", "need", "paths"] {
            put(&checkout.path("tests").join(script), &fs::read_to_string(ours.join(script)).expect("a script"));
        }
        for program in ["cargo", "rustc", "rustfmt"] {
            checkout.replace(&Path::new("bin").join(program));
        }
        for program in PROGRAMS {
            let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output().expect("a shell");
            let path = String::from_utf8(found.stdout).expect("UTF-8");
            symlink(path.trim(), checkout.path("bin").join(program)).expect("a link");
        }
        put(&checkout.path("grammars/src/languages/a.rs"), "");
        checkout
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().canonicalize().expect("a folder").join(name)
    }

    /// Puts a script in the place of another: it notes that it ran, and fails if `FAIL` names it.
    fn replace(&self, name: &Path) {
        let name = name.to_str().expect("UTF-8");
        let text = format!(
            "#!/usr/bin/env bash\necho \"$CARGO_TARGET_DIR {name} $*\" >> \"$RAN\"\n[[ $FAIL != *\"{name}\"* ]]\n"
        );
        put(&self.path(name), &text);
    }

    fn run(&self, fail: &str, arguments: &[&str]) -> Run {
        let _ = fs::remove_file(self.path("ran"));
        let output = Command::new(self.path("tests/run"))
            .args(arguments)
            .env("PATH", self.path("bin"))
            .env("RAN", self.path("ran"))
            .env("FAIL", fail)
            .env("CARGO_TARGET_DIR", "elsewhere")
            .current_dir(self.path("tests"))
            .output()
            .expect("the script runs");
        let output_text = [output.stdout, output.stderr].concat();
        // Relative to where the script was started, whoever runs where.
        let target = format!("{} ", self.path("tests/elsewhere").display());
        let ran_in = |line: &str| line.strip_prefix(&target).unwrap_or_else(|| panic!("{line}")).to_owned();
        let ran = fs::read_to_string(self.path("ran")).unwrap_or_default();
        Run {
            code: output.status.code(),
            output: String::from_utf8(output_text).expect("UTF-8"),
            ran: ran.lines().map(ran_in).collect(),
        }
    }
}

/// The lines of the summary.
fn summary(run: &Run) -> Vec<&str> {
    let end = run.output.split("== summary\n").nth(1).unwrap_or_else(|| panic!("no summary: {}", run.output));
    end.lines().collect()
}

#[test]
fn a_suite_that_fails_ends_nothing_and_the_summary_names_every_suite() {
    let checkout = Checkout::new();
    let good = checkout.run("nothing", &[]);
    assert_eq!(good.code, Some(0), "{}", good.output);
    let all = summary(&good);
    let (last, suites) = all.split_last().expect("lines");
    assert!(suites.iter().all(|line| line.starts_with("passed ")), "{suites:#?}");
    assert!(last.starts_with(&format!("{0} of {0} suites passed", suites.len())), "{last}");

    let bad = checkout.run("bin/cargo, tests/ci-files, tests/report/run", &[]);
    assert_eq!(bad.code, Some(1));
    let lines = summary(&bad);
    assert_eq!(lines.len(), all.len());
    for (name, result) in
        [("style", "FAILED"), ("tests", "FAILED"), ("ci-files", "FAILED"), ("report", "FAILED"), ("bench", "passed")]
    {
        let line = lines.iter().find(|line| line.split_whitespace().nth(3) == Some(name));
        assert!(line.is_some_and(|line| line.starts_with(result)), "{name}: {lines:#?}");
    }
    // Whatever failed, all else ran as before; only later steps of one suite are left out.
    let scripts =
        |run: &Run| -> Vec<String> { run.ran.iter().filter(|ran| ran.starts_with("tests/")).cloned().collect() };
    assert_eq!(scripts(&bad), scripts(&good));
    assert!(scripts(&good).len() > 8, "{:#?}", good.ran);
    for test in good.ran.iter().filter(|ran| ran.starts_with("bin/cargo test --workspace")) {
        assert!(test.contains("--no-fail-fast"), "{test}");
        assert!(bad.ran.contains(test), "{test}");
    }
}

#[test]
fn what_is_missing_is_said_in_one_line_before_the_first_suite() {
    let run = Checkout::new().run("nothing", &[]);
    let start = run.output.split("== ").next().expect("a start");
    let missing: Vec<&str> = start.lines().filter(|line| line.starts_with("missing: ")).collect();
    assert_eq!(missing.len(), 1, "{start}");
    for program in ["chromium", "mmdebstrap", "npm", "python3", "patchelf", "tmux", "git"] {
        assert!(missing[0].split_whitespace().any(|word| word == program), "{program}: {start}");
    }
    for fetched in ["by npm", "by pip", "by mmdebstrap"] {
        assert!(start.contains(fetched), "{fetched}: {start}");
    }
}

#[test]
fn suites_can_be_run_by_name() {
    let checkout = Checkout::new();
    let run = checkout.run("nothing", &["bench", "style"]);
    assert_eq!((run.code, summary(&run).len()), (Some(0), 3), "{}", run.output);
    assert!(!run.output.contains("missing"), "{}", run.output);
    assert_eq!(checkout.run("nothing", &["bench", "no-such-suite"]).code, Some(2));
}
