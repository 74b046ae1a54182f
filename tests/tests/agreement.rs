//! What the language server says of a file is what a check says of it, whatever was opened, typed, saved and moved.
#![allow(clippy::print_stderr, reason = "a failure tells how to repeat it")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use dupi_tests::binary;
use dupi_tests::editor::{Client, Editor, uri};
use dupi_tests::history::own_samples;
use fastrand::Rng;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A copy as both of them tell it: class, kind, and from where to where, counted from 0.
type Told = BTreeSet<(String, String, [u64; 4])>;

struct Script {
    rng: Rng,
    folder: TempDir,
    root: PathBuf,
    editor: Editor,
    /// Open documents: text and version.
    open: BTreeMap<PathBuf, (String, i32)>,
    /// Whether the client tells of changes on disk, or the server looks for them.
    tells: bool,
    log: Vec<String>,
}

impl Drop for Script {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.log.join("\n"));
        }
    }
}

impl Script {
    fn new(seed: u64) -> Script {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a folder").join("work");
        fs::create_dir(&root).expect("a folder");
        let mut options = "min-tokens = 20\ntest-min-tokens = 30\nmin-lines = 3\n".to_owned();
        if seed % 4 >= 2 {
            // What stands only in these files is ignored; the second entry is over, or it would ignore everything.
            options.push_str("[[ignore]]\npath = \"f[0-4].*\"\nreason = \"known\"\n");
            options.push_str("[[ignore]]\npath = \"*\"\nreason = \"no longer\"\nexpires = 2020-01-01\n");
        }
        fs::write(root.join("dupi.toml"), options).expect("a file");
        let mut rng = Rng::with_seed(seed);
        for i in 0..8 {
            let (extension, text) = &own_samples()[rng.usize(0..own_samples().len())];
            fs::write(root.join(format!("f{i}.{extension}")), text).expect("a file");
        }
        let tells = seed.is_multiple_of(2);
        let mut client = Client::rich(&root);
        client.capabilities["workspace"]["didChangeWatchedFiles"]["dynamicRegistration"] = json!(tells);
        let mut editor = Editor::start(client);
        editor.settle();
        let log = vec![format!("repeat with DUPI_SEED={seed}")];
        Script { rng, folder, root, editor, open: BTreeMap::new(), tells, log }
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> =
            fs::read_dir(&self.root).expect("a folder").flatten().map(|entry| entry.path()).collect();
        files.retain(|path| !path.ends_with("dupi.toml"));
        files.sort();
        files
    }

    fn step(&mut self) {
        let files = self.files();
        let Some(path) = self.rng.choice(&files).cloned() else { return self.add() };
        let is_open = self.open.contains_key(&path);
        match self.rng.u8(0..12) {
            0 => self.add(),
            1 if !is_open => self.write(&path),
            2 if !is_open => self.remove(&path),
            3 if !is_open => self.rename(&path),
            4 if is_open => self.save(&path),
            5 if is_open => self.close(&path),
            _ if is_open => self.edit(&path),
            _ => self.open(&path),
        }
    }

    fn changed(&mut self, paths: &[&Path]) {
        if self.tells {
            let changes: Vec<Value> = paths.iter().map(|path| json!({"uri": uri(path), "type": 2})).collect();
            self.editor.notify("workspace/didChangeWatchedFiles", json!({"changes": changes}));
        } else {
            // It hears of it from the operating system, some time later.
            std::thread::sleep(std::time::Duration::from_millis(250));
        }
    }

    fn text(&mut self) -> (&'static str, String) {
        let (extension, text) = &own_samples()[self.rng.usize(0..own_samples().len())];
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
        let (_, text) = self.text();
        fs::write(path, text).expect("a file");
        self.log.push(format!("write {}", path.display()));
        self.changed(&[path]);
    }

    fn remove(&mut self, path: &Path) {
        fs::remove_file(path).expect("a file");
        self.log.push(format!("remove {}", path.display()));
        self.changed(&[path]);
    }

    fn rename(&mut self, path: &Path) {
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        let to = self.root.join(format!("r{}.{extension}", self.rng.u8(..)));
        if !self.open.contains_key(&to) {
            fs::rename(path, &to).expect("a file");
            self.log.push(format!("rename {} to {}", path.display(), to.display()));
            self.changed(&[path, &to]);
        }
    }

    fn open(&mut self, path: &Path) {
        let text = fs::read_to_string(path).expect("a file");
        self.editor.open(path, &text);
        self.open.insert(path.to_owned(), (text, 1));
        self.log.push(format!("open {}", path.display()));
    }

    fn save(&mut self, path: &Path) {
        fs::write(path, &self.open[path].0).expect("a file");
        self.editor.save(path);
        self.log.push(format!("save {}", path.display()));
        self.changed(&[path]);
    }

    fn close(&mut self, path: &Path) {
        self.open.remove(path);
        self.editor.close(path);
        self.log.push(format!("close {}", path.display()));
    }

    /// Replaces some lines by lines of another file, in one edit or two.
    fn edit(&mut self, path: &Path) {
        let (_, other) = self.text();
        let other: Vec<&str> = other.split_inclusive('\n').collect();
        let (text, version) = self.open.get_mut(path).expect("open");
        let mut changes = Vec::new();
        for _ in 0..self.rng.usize(1..3) {
            let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
            let at = self.rng.usize(0..=lines.len());
            let n = self.rng.usize(0..4).min(lines.len() - at);
            let from = self.rng.usize(0..other.len().max(1)).min(other.len());
            let new = &other[from..(from + self.rng.usize(0..25)).min(other.len())];
            // A last line without an end would be joined with what comes after it.
            if lines.last().is_some_and(|line| !line.ends_with('\n'))
                || new.last().is_some_and(|line| !line.ends_with('\n'))
            {
                break;
            }
            changes.push(json!({
                "range": {"start": {"line": at, "character": 0}, "end": {"line": at + n, "character": 0}},
                "text": new.concat(),
            }));
            lines.splice(at..at + n, new.iter().copied());
            *text = lines.concat();
        }
        *version += 1;
        self.editor.change(&uri(path), *version, Value::Array(changes));
        self.log.push(format!("edit {}", path.display()));
    }

    /// All files as the editor has them are what a check of such a folder says.
    fn compare(&mut self) {
        self.editor.settle();
        let mirror = self.folder.path().join("mirror");
        let _ = fs::remove_dir_all(&mirror);
        fs::create_dir(&mirror).expect("a folder");
        fs::copy(self.root.join("dupi.toml"), mirror.join("dupi.toml")).expect("a file");
        let files = self.files();
        for path in files.iter().chain(self.open.keys()) {
            let text = self
                .open
                .get(path)
                .map_or_else(|| fs::read(path).expect("a file"), |(text, _)| text.clone().into_bytes());
            fs::write(mirror.join(path.file_name().expect("a name")), text).expect("a file");
        }
        let check = binary::run(&mirror, &["--check", "--no-index", "--format", "json"]);
        let expected = checked(&check.json());
        let mut found: BTreeMap<String, Told> = BTreeMap::new();
        for path in files.iter().chain(self.open.keys()).collect::<BTreeSet<_>>() {
            let told: Told = self.editor.pulled(path).iter().map(diagnosed).collect();
            if !told.is_empty() {
                found.insert(path.file_name().expect("a name").to_string_lossy().into_owned(), told);
            }
        }
        assert_eq!(found, expected);
        let all = self.editor.call("workspace/diagnostic", json!({"previousResultIds": []}));
        let all: BTreeMap<String, Told> = all["items"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|item| {
                let name = item["uri"].as_str().and_then(|uri| uri.rsplit('/').next()).unwrap_or_default().to_owned();
                (name, item["items"].as_array().expect("a list").iter().map(diagnosed).collect())
            })
            .collect();
        assert_eq!(all, expected, "all files at once");
    }

    fn end(mut self) {
        self.editor.forget("$/progress");
    }
}

fn diagnosed(diagnostic: &Value) -> (String, String, [u64; 4]) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let number = |end: &str, what: &str| diagnostic["range"][end][what].as_u64().unwrap_or(u64::MAX);
    let place =
        [number("start", "line"), number("start", "character"), number("end", "line"), number("end", "character")];
    (text(&diagnostic["data"]["class"]), text(&diagnostic["code"]), place)
}

fn checked(report: &Value) -> BTreeMap<String, Told> {
    let mut by_file: BTreeMap<String, Told> = BTreeMap::new();
    for class in report["classes"].as_array().expect("a list") {
        for copy in class["copies"].as_array().expect("a list") {
            let number = |key: &str| copy[key].as_u64().expect("a number") - 1;
            let place = [number("startLine"), number("startColumn"), number("endLine"), number("endColumn")];
            let (id, kind) = (class["id"].as_str().unwrap_or_default(), class["kind"].as_str().unwrap_or_default());
            by_file.entry(copy["path"].as_str().expect("a path").to_owned()).or_default().insert((
                id.into(),
                kind.into(),
                place,
            ));
        }
    }
    by_file
}

/// `DUPI_CASES` draws more, `DUPI_SEED` repeats one.
#[test]
fn the_server_says_what_a_check_says_after_any_script() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let seeds = match number("DUPI_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("DUPI_CASES").unwrap_or(4),
    };
    for seed in seeds {
        let mut script = Script::new(seed);
        script.compare();
        for _ in 0..6 {
            for _ in 0..8 {
                script.step();
            }
            script.compare();
        }
        script.end();
    }
}
