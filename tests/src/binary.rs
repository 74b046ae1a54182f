//! The real binary, run as a user would.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::Duration;

/// The folder of this build's profile, in which programs are.
fn profile() -> PathBuf {
    let test = std::env::current_exe().expect("a running test has a path");
    test.ancestors().find(|dir| dir.join("deps").is_dir()).expect("tests live in the target folder").to_owned()
}

/// The folder that cargo builds into.
pub fn target() -> PathBuf {
    profile().parent().expect("a profile has a folder").to_owned()
}

/// The `dupi-lsp` of this build: beside the test programs, built on first use. `DUPI_LSP` names another one, as a release.
pub fn path() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        if let Some(path) = std::env::var_os("DUPI_LSP") {
            return path.into();
        }
        let profile = profile();
        let path = profile.join("dupi-lsp").with_extension(std::env::consts::EXE_EXTENSION);
        let release = profile.file_name() == Some(OsStr::new("release"));
        let mut build = Command::new(env!("CARGO"));
        // The whole workspace, as the tests were built: alone it would be compiled anew with other features.
        build.args(["build", "--quiet", "--workspace"]).args(release.then_some("--release"));
        // A relative folder in the environment was meant from where the tests were started.
        build.arg("--target-dir").arg(target());
        let built = build.current_dir(env!("CARGO_MANIFEST_DIR")).status().expect("cargo runs");
        assert!(built.success() && path.is_file(), "no binary at {}", path.display());
        path
    })
}

/// What a run has shown.
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    pub fn new(output: Output) -> Run {
        Run {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).expect("output is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("output is UTF-8"),
        }
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
    }
}

/// The binary in `folder`, with `cache` in the place of the user's cache folder: no test touches that.
pub fn command(folder: &Path, cache: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(path());
    command.args(arguments).current_dir(folder);
    // Each system knows the folder by another of these.
    for variable in ["XDG_CACHE_HOME", "HOME", "LOCALAPPDATA", "APPDATA", "USERPROFILE"] {
        command.env(variable, cache);
    }
    command
}

/// Runs a command to its end. None, if it does not end within the time: it is killed then.
pub fn run_within(mut command: Command, time: Duration) -> Option<Run> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let (id, (send, ended)) = (child.id(), mpsc::channel());
    let waiting = thread::spawn(move || send.send(child.wait_with_output()));
    let output = ended.recv_timeout(time);
    if output.is_err() {
        let killed = Command::new("kill").args(["-9", &id.to_string()]).status();
        assert!(killed.is_ok_and(|status| status.success()), "process {id} cannot be ended");
    }
    waiting.join().expect("a thread").ok();
    output.ok().map(|output| Run::new(output.expect("its output")))
}

/// A number of a process's status by its key, where the system tells: `VmHWM` is the most memory it had, in kB.
pub fn status_of(process_id: u32, key: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process_id}/status")).ok()?;
    let value = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    value.split_whitespace().next()?.parse().ok()
}

/// Runs the binary in `folder` with the indexes that are in `cache`.
pub fn run_with(folder: &Path, cache: &Path, arguments: &[&str]) -> Run {
    Run::new(command(folder, cache, arguments).output().expect("the binary runs"))
}

/// Runs the binary in `folder`, where it never ran before.
pub fn run(folder: &Path, arguments: &[&str]) -> Run {
    let cache = tempfile::tempdir().expect("a temporary folder");
    run_with(folder, cache.path(), arguments)
}

/// Runs `--check --format json` with more `arguments` on a folder: without an index, with a new one, and with one that
/// knows all files. The answer is the same.
pub fn check_json(folder: &Path, arguments: &[&str]) -> serde_json::Value {
    let cache = tempfile::tempdir().expect("a temporary folder");
    let check = |more: &[&str]| {
        let arguments = [&["--check", "--format", "json"][..], arguments, more].concat();
        let run = run_with(folder, cache.path(), &arguments);
        assert!(run.code <= 1, "exit {}: {}", run.code, run.stderr);
        run
    };
    let expected = check(&["--no-index"]);
    for _ in 0..2 {
        let run = check(&[]);
        assert_eq!(run.stdout, expected.stdout, "with an index");
        assert_eq!((run.code, run.stderr), (expected.code, String::new()));
    }
    expected.json()
}
