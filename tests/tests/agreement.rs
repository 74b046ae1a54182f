//! What the language server says of a file is what a check says of it, whatever was opened, typed, saved and moved.
#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a failure tells how to repeat it, a long run what it did"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Instant;

use dupi_tests::editor::{Client, Editor, PATIENCE, Told, checked, diagnosed, uri};
use dupi_tests::history::{Sample, all_samples, own_samples};
use dupi_tests::{binary, sources};
use fastrand::Rng;
use serde_json::{Value, json};
use tempfile::TempDir;

/// What the files of a script are made of.
struct Material {
    /// Names and texts of the files at the start.
    files: Vec<(PathBuf, String)>,
    /// Texts from which others are made, by extension.
    samples: &'static [Sample],
    configuration: String,
}

/// Small files of the project's own, with minimums so low that they have many copies.
fn own(rng: &mut Rng) -> Material {
    let file = |i: usize| {
        let (extension, text) = &own_samples()[rng.usize(0..own_samples().len())];
        (PathBuf::from(format!("f{i}.{extension}")), text.clone())
    };
    let files = (0..8).map(file).collect();
    let mut configuration = "min-tokens = 20\ntest-min-tokens = 30\nmin-lines = 3\n".to_owned();
    if rng.bool() {
        // What stands only in these files is ignored; the second entry is over, or it would ignore everything.
        configuration.push_str("[[ignore]]\npath = \"f[0-4].*\"\nreason = \"known\"\n");
        configuration.push_str("[[ignore]]\npath = \"*\"\nreason = \"no longer\"\nexpires = 2020-01-01\n");
    }
    Material { files, samples: own_samples(), configuration }
}

/// Files of real projects that stand beside each other, as they are, with the settings that everybody has.
fn real(rng: &mut Rng) -> Material {
    static SOURCES: OnceLock<Vec<(&str, Vec<PathBuf>)>> = OnceLock::new();
    let sources = SOURCES.get_or_init(|| {
        let of_language = |language| (language, sources::files(&sources::roots(), language, usize::MAX, 60_000));
        ["go", "rust", "typescript", "c", "python", "java"].map(of_language).into()
    });
    let mut files = Vec::new();
    for (language, all) in sources {
        let from = rng.usize(0..all.len().max(1));
        for path in all.iter().skip(from).take(REAL_FILES) {
            let Ok(text) = fs::read_to_string(path) else { continue };
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // In folders, by their own, so that names of tests mean what they do there.
            let folder = path.parent().and_then(|parent| Some(parent.file_name()?.to_string_lossy().into_owned()));
            let folder = folder.unwrap_or_default();
            let is_plain = |name: &str| name.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(&c));
            if is_plain(&name) && is_plain(&folder) && !folder.starts_with('.') && !folder.is_empty() {
                files.push((Path::new(language).join(folder).join(name), text));
            }
        }
    }
    assert!(files.len() > REAL_FILES, "no sources: run tests/fetch-sources first");
    Material { files, samples: all_samples(), configuration: String::new() }
}

/// Files of each language in a script with real ones.
const REAL_FILES: usize = 40;
/// Files that a checkout changes.
const CHECKED_OUT: usize = 60;

struct Script {
    /// Ends before its folder goes, which it would tell of.
    editor: Editor,
    rng: Rng,
    folder: TempDir,
    root: PathBuf,
    samples: &'static [Sample],
    /// Open documents: text and version.
    open: BTreeMap<PathBuf, (String, i32)>,
    /// Whether the client tells of changes on disk, or the server looks for them.
    tells: bool,
    /// What was published last of each document, if the client is one that is pushed diagnostics.
    pushed: Option<BTreeMap<String, Vec<Value>>>,
    log: Vec<String>,
}

impl Drop for Script {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.log.join("\n"));
        }
    }
}

fn git(root: &Path, arguments: &[&str]) {
    let named = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.autocrlf=false", "-c", "gc.auto=0"];
    let output = Command::new("git").args(named).args(arguments).current_dir(root).output().expect("git runs");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

impl Script {
    fn new(seed: u64, material: impl Fn(&mut Rng) -> Material) -> Script {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a folder").join("work");
        fs::create_dir(&root).expect("a folder");
        let mut rng = Rng::with_seed(seed);
        let Material { files, samples, configuration } = material(&mut rng);
        fs::write(root.join("dupi.toml"), configuration).expect("a file");
        for (name, text) in &files {
            put(&root.join(name), text);
        }
        let tells = seed.is_multiple_of(2);
        let pushes = seed % 4 >= 2;
        let mut client = Client::rich(&root);
        client.capabilities["workspace"]["didChangeWatchedFiles"]["dynamicRegistration"] = json!(tells);
        if pushes {
            client.capabilities["textDocument"]["diagnostic"] = Value::Null;
        }
        let mut script = Script {
            rng,
            folder,
            root,
            editor: Editor::start(client),
            samples,
            open: BTreeMap::new(),
            tells,
            pushed: pushes.then(BTreeMap::new),
            log: vec![format!("repeat with DUPI_SEED={seed}")],
        };
        script.commit_two_states();
        script.editor.settle();
        script
    }

    /// One state of the files is checked out, and another one of many of them is there to be.
    fn commit_two_states(&mut self) {
        git(&self.root, &["init", "-q", "-b", "one"]);
        git(&self.root, &["add", "-A"]);
        git(&self.root, &["commit", "-q", "-m", "one"]);
        git(&self.root, &["checkout", "-q", "-b", "two"]);
        let mut files = self.files();
        let mut all: BTreeSet<PathBuf> = files.iter().cloned().collect();
        self.rng.shuffle(&mut files);
        for (i, path) in files.iter().take(CHECKED_OUT.min(files.len() / 2)).enumerate() {
            match i % 6 {
                0 => fs::remove_file(path).expect("a file"),
                1 => fs::rename(path, path.with_file_name(format!("moved{i}.{}", extension(path)))).expect("a file"),
                _ => {
                    let text = fs::read_to_string(path).expect("a file");
                    fs::write(path, self.spliced(&text).0).expect("a file");
                }
            }
        }
        git(&self.root, &["add", "-A"]);
        git(&self.root, &["commit", "-q", "-m", "two"]);
        all.extend(self.files());
        git(&self.root, &["checkout", "-q", "one"]);
        // The server may have begun to read meanwhile.
        self.changed(&all.iter().map(PathBuf::as_path).collect::<Vec<_>>());
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(&folder).expect("a folder").flatten().map(|entry| entry.path()) {
                match path.file_name().and_then(|name| name.to_str()) {
                    Some(".git" | "dupi.toml") => {}
                    _ if path.is_dir() => folders.push(path),
                    _ => files.push(path),
                }
            }
        }
        files.sort();
        files
    }

    fn step(&mut self) {
        let files = self.files();
        // Most of what happens happens to a few files.
        let is_open = self.rng.u8(0..3) > 0 && !self.open.is_empty();
        let path = if is_open { self.rng.choice(self.open.keys()).cloned() } else { self.rng.choice(&files).cloned() };
        let Some(path) = path else { return self.add() };
        let is_open = self.open.contains_key(&path);
        match self.rng.u8(0..13) {
            0 => self.add(),
            1 if !is_open => self.write(&path),
            2 if !is_open => self.remove(&path),
            3 if !is_open => self.rename(&path),
            4 => self.check_out(),
            5 if is_open => self.save(&path),
            6 if is_open => self.close(&path),
            _ if is_open => self.edit(&path),
            _ => self.open(&path),
        }
    }

    fn changed(&mut self, paths: &[&Path]) {
        if self.tells {
            let changes: Vec<Value> = paths.iter().map(|path| json!({"uri": uri(path), "type": 2})).collect();
            self.editor.notify("workspace/didChangeWatchedFiles", json!({"changes": changes}));
        }
    }

    fn text(&mut self) -> (&'static str, String) {
        let (extension, text) = &self.samples[self.rng.usize(0..self.samples.len())];
        (extension, text.clone())
    }

    fn add(&mut self) {
        let (extension, text) = self.text();
        let path = self.root.join(format!("n{}.{extension}", self.rng.u8(..)));
        if !self.open.contains_key(&path) {
            fs::write(&path, text).expect("a file");
            self.log.push(format!("add {}", path.display()));
            self.changed(&[&path]);
        }
    }

    fn write(&mut self, path: &Path) {
        let text = fs::read_to_string(path).expect("a file");
        fs::write(path, self.spliced(&text).0).expect("a file");
        self.log.push(format!("write {}", path.display()));
        self.changed(&[path]);
    }

    fn remove(&mut self, path: &Path) {
        fs::remove_file(path).expect("a file");
        self.log.push(format!("remove {}", path.display()));
        self.changed(&[path]);
    }

    fn rename(&mut self, path: &Path) {
        let to = self.root.join(format!("r{}.{}", self.rng.u8(..), extension(path)));
        if !self.open.contains_key(&to) {
            fs::rename(path, &to).expect("a file");
            self.log.push(format!("rename {} to {}", path.display(), to.display()));
            self.changed(&[path, &to]);
        }
    }

    /// Many files change at once, open ones too: those stay as they are open.
    fn check_out(&mut self) {
        let contents = |files: Vec<PathBuf>| -> BTreeMap<PathBuf, Vec<u8>> {
            files.into_iter().map(|path| (path.clone(), fs::read(path).expect("a file"))).collect()
        };
        let before = contents(self.files());
        let state = if self.rng.bool() { "one" } else { "two" };
        git(&self.root, &["checkout", "-q", "-f", state]);
        let after = contents(self.files());
        let all: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
        let differ: Vec<&Path> =
            all.into_iter().filter(|path| before.get(*path) != after.get(*path)).map(PathBuf::as_path).collect();
        self.log.push(format!("check out {state}: {} files", differ.len()));
        self.changed(&differ);
    }

    fn open(&mut self, path: &Path) {
        let text = fs::read_to_string(path).expect("a file");
        self.editor.open(path, &text);
        self.open.insert(path.to_owned(), (text, 1));
        self.log.push(format!("open {}", path.display()));
    }

    fn save(&mut self, path: &Path) {
        put(path, &self.open[path].0);
        self.editor.save(path);
        self.log.push(format!("save {}", path.display()));
        self.changed(&[path]);
    }

    fn close(&mut self, path: &Path) {
        self.open.remove(path);
        self.editor.close(path);
        if let Some(pushed) = &mut self.pushed {
            pushed.remove(&uri(path));
        }
        self.log.push(format!("close {}", path.display()));
    }

    /// A text with some lines replaced by lines of another, and the change that does it, if it can be one.
    fn spliced(&mut self, text: &str) -> (String, Option<Value>) {
        let (_, other) = self.text();
        let other: Vec<&str> = other.split_inclusive('\n').collect();
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        let at = self.rng.usize(0..=lines.len());
        let n = self.rng.usize(0..4).min(lines.len() - at);
        let from = self.rng.usize(0..other.len().max(1)).min(other.len());
        let new = &other[from..(from + self.rng.usize(0..25)).min(other.len())];
        // A last line without an end would be joined with what comes after it, and a lone CR is a line to editors.
        let is_odd = |line: &&str| !line.ends_with('\n') || line.trim_end_matches(['\r', '\n']).contains('\r');
        if lines.iter().chain(new).any(is_odd) {
            return (text.to_owned(), None);
        }
        let change = json!({
            "range": {"start": {"line": at, "character": 0}, "end": {"line": at + n, "character": 0}},
            "text": new.concat(),
        });
        lines.splice(at..at + n, new.iter().copied());
        (lines.concat(), Some(change))
    }

    /// Replaces some lines by lines of another file, in one edit or two.
    fn edit(&mut self, path: &Path) {
        let (mut text, version) = self.open[path].clone();
        let mut changes = Vec::new();
        for _ in 0..self.rng.usize(1..3) {
            let (edited, change) = self.spliced(&text);
            text = edited;
            changes.extend(change);
        }
        self.editor.change(&uri(path), version + 1, Value::Array(changes));
        self.open.insert(path.to_owned(), (text, version + 1));
        self.log.push(format!("edit {}", path.display()));
    }

    /// All files as the editor has them are what a check of such a folder says.
    fn compare(&mut self) {
        let mirror = self.folder.path().join("mirror");
        let _ = fs::remove_dir_all(&mirror);
        fs::create_dir(&mirror).expect("a folder");
        fs::copy(self.root.join("dupi.toml"), mirror.join("dupi.toml")).expect("a file");
        let files: BTreeSet<PathBuf> = self.files().into_iter().chain(self.open.keys().cloned()).collect();
        let name = |path: &Path| path.strip_prefix(&self.root).expect("inside").to_str().expect("UTF-8").to_owned();
        let names: BTreeMap<String, String> = files.iter().map(|path| (uri(path), name(path))).collect();
        for path in files {
            let text = self.open.get(&path).map(|(text, _)| text.clone().into_bytes());
            put(&mirror.join(name(&path)), text.unwrap_or_else(|| fs::read(&path).expect("a file")));
        }
        let check = binary::run(&mirror, &["--check", "--no-index", "--format", "json"]);
        let expected = checked(&check.json());
        let end = Instant::now() + PATIENCE;
        loop {
            let (each, all) = self.told(&names);
            // A server that nobody tells of changes hears of them from the operating system, some time later.
            if self.tells || each == expected && all == expected || Instant::now() > end {
                same(&each, &expected, "file by file");
                same(&all, &expected, "all files at once");
                break;
            }
        }
        self.compare_pushed(&expected, &names);
    }

    /// What the server says of each file that has copies: asked for one by one, and for all at once.
    fn told(&mut self, names: &BTreeMap<String, String>) -> (BTreeMap<String, Told>, BTreeMap<String, Told>) {
        self.editor.settle();
        let told = |items: &Value| items.as_array().expect("a list").iter().map(diagnosed).collect::<Told>();
        let each = names.iter().map(|(uri, name)| {
            let report = self.editor.call("textDocument/diagnostic", json!({"textDocument": {"uri": uri}}));
            (name.clone(), told(&report["items"]))
        });
        let each = each.filter(|(_, told)| !told.is_empty()).collect();
        let all = self.editor.call("workspace/diagnostic", json!({"previousResultIds": []}));
        let all = all["items"].as_array().expect("a list").iter().map(|item| {
            let uri = item["uri"].as_str().expect("a URI");
            // A file that is gone has no name any more.
            (names.get(uri).map_or(uri, String::as_str).to_owned(), told(&item["items"]))
        });
        (each, all.collect())
    }

    /// What was pushed of open documents is the same, or will be: documents that nobody edits are looked at last.
    fn compare_pushed(&mut self, expected: &BTreeMap<String, Told>, names: &BTreeMap<String, String>) {
        let Some(mut pushed) = self.pushed.take() else { return };
        let open: BTreeSet<String> = self.open.keys().map(|path| uri(path)).collect();
        let expected: BTreeMap<String, Told> =
            open.iter().filter_map(|uri| Some((names[uri].clone(), expected.get(&names[uri])?.clone()))).collect();
        let end = Instant::now() + PATIENCE;
        loop {
            pushed.extend(self.editor.take_published());
            let told = pushed.iter().filter(|(uri, told)| open.contains(*uri) && !told.is_empty());
            let told: BTreeMap<String, Told> =
                told.map(|(uri, told)| (names[uri].clone(), told.iter().map(diagnosed).collect())).collect();
            if told == expected {
                break;
            }
            if Instant::now() > end {
                same(&told, &expected, "pushed");
            }
        }
        self.pushed = Some(pushed);
    }

    fn end(mut self) {
        self.editor.forget("$/progress");
        self.editor.forget("textDocument/publishDiagnostics");
        self.editor.forget("window/logMessage");
    }
}

fn extension(path: &Path) -> String {
    path.extension().unwrap_or_default().to_string_lossy().into_owned()
}

fn put(path: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}

/// Fails with what differs, and not with all that there is.
fn same(found: &BTreeMap<String, Told>, expected: &BTreeMap<String, Told>, how: &str) {
    let none = Told::new();
    for name in found.keys().chain(expected.keys()) {
        let (found, expected) = (found.get(name).unwrap_or(&none), expected.get(name).unwrap_or(&none));
        assert_eq!(found, expected, "{how}: {name}");
    }
}

/// `DUPI_CASES` draws more, `DUPI_SEED` repeats one.
fn scripts(material: impl Fn(&mut Rng) -> Material, n_cases: u64, n_rounds: usize, n_steps: usize) {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let seeds = match number("DUPI_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("DUPI_CASES").unwrap_or(n_cases),
    };
    for seed in seeds {
        let mut script = Script::new(seed, &material);
        script.compare();
        for _ in 0..n_rounds {
            for _ in 0..n_steps {
                script.step();
            }
            script.compare();
        }
        println!("seed {seed}: {} files, {} steps", script.files().len(), script.log.len() - 1);
        script.end();
    }
}

#[test]
fn the_server_says_what_a_check_says_after_any_script() {
    scripts(own, 4, 6, 8);
}

#[test]
#[ignore = "a minute; needs tests/fetch-sources"]
fn the_server_says_what_a_check_says_of_real_sources_after_any_script() {
    scripts(real, 4, 4, 25);
}
