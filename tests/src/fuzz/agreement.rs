//! The life of a workspace: after each change a check says the same from scratch and with the index, with any number of
//! threads, stopped, throttled, and after it was killed; and so does the language server of what is open in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail, ensure};
use fastrand::Rng;
use serde_json::json;

use super::corpus::{Files, new_path, pick, sources};
use super::ground::{Ground, put};
use super::mutations::{content, mutate};
use super::weather::Weather;
use crate::answers::first_difference;
use crate::binary::Run;
use crate::editor::{Client, Editor, Told, checked, diagnosed, uri};

/// A workspace that is changed, and checked again and again.
pub struct Life<'a> {
    pub rng: &'a mut Rng,
    pub ground: &'a mut Ground,
    pub files: Files,
    /// What was done to it.
    pub log: Vec<String>,
}

const CHECK: [&str; 3] = ["--check", "--format", "json"];

impl Life<'_> {
    /// Goes through all of it; the error says what differs.
    pub fn run(&mut self) -> Result<()> {
        for _ in 0..self.rng.usize(0..12) {
            let what = mutate(self.rng, &mut self.files);
            self.log.push(what);
        }
        if self.rng.u8(0..16) == 0 {
            self.add_large();
        }
        let configuration = self.configuration();
        self.files.insert("dupi.toml".into(), configuration.into_bytes());
        self.ground.write("work", &self.files)?;
        let expected = self.scratch()?;
        let threads = if self.rng.bool() { "1" } else { "2" };
        let root = self.ground.root();
        let found = self.ground.scratch(&root, &["--threads", threads])?;
        same(&found, &expected, &format!("from scratch with --threads {threads}"))?;
        if self.rng.bool() {
            self.kill(&expected)?;
        }
        self.check(&expected, Weather::Calm, "with a new index")?;
        self.check(&expected, Weather::Calm, "with the index, again")?;
        for _ in 0..self.rng.usize(1..5) {
            for _ in 0..self.rng.usize(1..4) {
                self.edit()?;
            }
            let expected = self.scratch()?;
            match self.rng.u8(0..8) {
                0 => self.check(&expected, Weather::Nice, "at low priority")?,
                1 => {
                    let after = Duration::from_millis(self.rng.u64(0..60));
                    // Long enough for any budget that counts seconds.
                    let pause = Duration::from_millis([50, 200, 1_300][self.rng.usize(0..3)]);
                    self.check(&expected, Weather::Stopped { after, pause }, "after a stop")?;
                }
                2 => self.check(&expected, Weather::Throttled, "throttled")?,
                3 | 4 => self.kill(&expected)?,
                _ => {}
            }
            self.check(&expected, Weather::Calm, "after edits")?;
        }
        self.verify()?;
        if self.rng.u8(0..4) == 0 {
            self.serve()?;
        }
        Ok(())
    }

    /// Adds a file that takes its grammar a while, so that stops and kills hit the parser.
    fn add_large(&mut self) {
        let slow = ["php", "kotlin", "swift", "scala", "ruby", "bash", "lua"];
        let Some(source) = pick(self.rng, sources().iter().filter(|source| slow.contains(&source.language))) else {
            return;
        };
        let mut text = String::new();
        for i in 0..self.rng.usize(20..80) {
            text += &source.text.replace("value", &format!("value{i}")).replace("name", &format!("name{i}"));
        }
        let path = new_path(self.rng, &source.extension);
        self.log.push(format!("add {} of {} bytes", path.display(), text.len()));
        self.files.insert(path, text.into_bytes());
    }

    fn configuration(&mut self) -> String {
        let least = [20, 30, 50][self.rng.usize(0..3)];
        let mut text = format!("min-tokens = {least}\ntest-min-tokens = {}\n", least + 20);
        text += &format!("min-lines = {}\n", self.rng.u8(1..6));
        if self.rng.bool() {
            text += "zone = [\"code\", \"test\", \"data\", \"imports\", \"generated\"]\n";
        }
        if self.rng.u8(0..4) == 0 {
            text += "nested = true\n";
        }
        if self.rng.u8(0..4) == 0 {
            text += "hidden = true\nvendored = true\n";
        }
        if self.rng.u8(0..4) == 0 {
            text += "[[ignore]]\npath = \"core/**\"\nreason = \"known\"\n";
        }
        text
    }

    fn scratch(&mut self) -> Result<Run> {
        let root = self.ground.root();
        self.ground.scratch(&root, &[])
    }

    /// A check with the index says what is expected, unless it is killed.
    fn check(&mut self, expected: &Run, weather: Weather, when: &str) -> Result<()> {
        let mut arguments = CHECK.to_vec();
        if self.rng.u8(0..3) == 0 {
            arguments.extend(["--threads", ["1", "2"][self.rng.usize(0..2)]]);
        }
        self.log.push(format!("check {when}: {weather:?}, {arguments:?}"));
        let root = self.ground.root();
        match self.ground.run(&root, &arguments, weather)? {
            Some(found) => same(&found, expected, when),
            None => Ok(()),
        }
    }

    /// Interrupts a run or several, each at any moment; the next one says what is expected.
    fn kill(&mut self, expected: &Run) -> Result<()> {
        let start = Instant::now();
        self.scratch()?;
        let usual = start.elapsed();
        for _ in 0..self.rng.usize(1..4) {
            let after = usual.mul_f64(self.rng.f64() * 1.2);
            let signal = ["KILL", "INT", "TERM"][self.rng.usize(0..3)];
            self.check(expected, Weather::Killed { after, signal }, "interrupted")?;
        }
        self.check(expected, Weather::Calm, "after interruptions")
    }

    fn verify(&mut self) -> Result<()> {
        let root = self.ground.root();
        let expected = self.scratch()?;
        self.check(&expected, Weather::Calm, "at the end")?;
        if expected.code > 1 {
            return Ok(());
        }
        let run = self.ground.run(&root, &["index", "--verify"], Weather::Calm)?.context("a calm run ends")?;
        ensure!(run.code == 0, "index --verify: exit {}: {}{}", run.code, run.stdout, run.stderr);
        self.ground.tally.verified += 1;
        Ok(())
    }

    // ---- changes on disk

    fn edit(&mut self) -> Result<()> {
        self.ground.tally.edits += 1;
        let mut files = self.files.clone();
        let paths: Vec<PathBuf> = files.keys().filter(|path| !path.ends_with("dupi.toml")).cloned().collect();
        let Some(path) = pick(self.rng, &paths).cloned() else { return Ok(()) };
        let what = match self.rng.u8(0..12) {
            0 => {
                files.remove(&path);
                format!("delete {}", path.display())
            }
            1 => {
                let source = &sources()[self.rng.usize(0..sources().len())];
                let path = new_path(self.rng, &source.extension);
                files.insert(path.clone(), source.text.clone().into_bytes());
                format!("add {}", path.display())
            }
            2 => {
                let to = new_path(self.rng, &path.extension().unwrap_or_default().to_string_lossy());
                let bytes = files.remove(&path).unwrap_or_default();
                files.insert(to.clone(), bytes);
                format!("rename {} to {}", path.display(), to.display())
            }
            3 => {
                let hours = self.rng.u64(1..1_000);
                let then = SystemTime::now() - Duration::from_secs(hours * 3_600);
                fs::File::options().write(true).open(self.ground.root().join(&path))?.set_modified(then)?;
                format!("touch {}", path.display())
            }
            4 => {
                let rules = ["*.go\n", "core/\n", "ash*\n!ash1.*\n", "\n"][self.rng.usize(0..4)];
                files.insert(".ignore".into(), rules.as_bytes().to_vec());
                format!("ignore {rules:?}")
            }
            5 => {
                // As long as before: then only times or the content tell.
                let bytes = files.entry(path.clone()).or_default();
                let letters: Vec<usize> = (0..bytes.len()).filter(|&i| bytes[i].is_ascii_lowercase()).collect();
                if let Some(at) = pick(self.rng, letters) {
                    bytes[at] = b'a' + self.rng.u8(0..26);
                }
                format!("edit a letter of {}", path.display())
            }
            _ => {
                let configuration = files.remove(Path::new("dupi.toml"));
                let what = mutate(self.rng, &mut files);
                files.extend(configuration.map(|bytes| ("dupi.toml".into(), bytes)));
                what
            }
        };
        self.log.push(what);
        self.bring(files)
    }

    /// Makes the disk hold these files.
    fn bring(&mut self, files: Files) -> Result<()> {
        let root = self.ground.root();
        let mut gone: Vec<PathBuf> = self.files.keys().filter(|path| !files.contains_key(*path)).cloned().collect();
        for (path, bytes) in &files {
            if self.files.get(path) == Some(bytes) {
                continue;
            }
            let to = root.join(path);
            let time = fs::metadata(&to).and_then(|meta| meta.modified()).ok();
            match gone.iter().position(|from| self.files.get(from) == Some(bytes)) {
                Some(at) => {
                    fs::create_dir_all(to.parent().context("a folder")?)?;
                    fs::rename(root.join(gone.remove(at)), &to)?;
                }
                None => put(&to, bytes)?,
            }
            let time = match self.rng.u8(0..4) {
                // What looks new is read again at every run.
                0 | 1 => Some(SystemTime::now() - Duration::from_secs(self.rng.u64(1..10_000_000))),
                // As archives and copies keep it; elsewhere nothing but the content would tell.
                2 if cfg!(unix) => time,
                _ => None,
            };
            if let Some(time) = time {
                fs::File::options().write(true).open(&to)?.set_modified(time)?;
            }
        }
        for path in gone {
            fs::remove_file(root.join(path))?;
        }
        self.files = files;
        Ok(())
    }

    // ---- the language server

    /// What the server says of all files, with one of them open and edited, is what a check says of the saved text.
    fn serve(&mut self) -> Result<()> {
        let root = self.ground.root();
        let mut client = Client::rich(&root);
        // Columns as a check counts them.
        client.capabilities["general"]["positionEncodings"] = json!(["utf-16"]);
        let mut editor = Editor::start(client);
        self.ground.tally.servers += 1;
        editor.settle();
        let mut files = self.files.clone();
        // The rules of a folder count as they are saved.
        let is_rule = |path: &Path| path.ends_with("dupi.toml") || path.ends_with(".ignore");
        let named: Vec<PathBuf> = files.keys().filter(|path| !is_rule(path)).cloned().collect();
        if let Some(path) = pick(self.rng, &named) {
            let other = pick(self.rng, &named).map(|path| files[path].clone()).unwrap_or_default();
            for version in 1..=self.rng.i32(1..4) {
                let (what, bytes) = content(self.rng, files[path].clone(), &other);
                // An editor has text, and keeps the byte order mark for itself.
                let text = String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').to_owned();
                self.log.push(format!("open: {what} {}", path.display()));
                match version {
                    1 => editor.open(&root.join(path), &text),
                    _ => editor.replace(&root.join(path), version, &text),
                }
                files.insert(path.clone(), text.into_bytes());
            }
        }
        editor.settle();
        let compared = self.compare(&mut editor, &files);
        for method in ["$/progress", "textDocument/publishDiagnostics", "window/logMessage", "window/showMessage"] {
            editor.forget(method);
        }
        editor.end();
        compared
    }

    fn compare(&mut self, editor: &mut Editor, files: &Files) -> Result<()> {
        let mirror = self.ground.write("mirror", files)?;
        let check = self.ground.scratch(&mirror, &[])?;
        let expected = if check.code <= 1 { checked(&serde_json::from_str(&check.stdout)?) } else { BTreeMap::new() };
        for (path, bytes) in files {
            let mut found: Told = editor.pulled(&self.ground.root().join(path)).iter().map(diagnosed).collect();
            let mut expected = expected.get(&*path.to_string_lossy()).cloned().unwrap_or_default();
            // To an editor a carriage return alone ends a line.
            if has_lone_return(bytes) {
                let unplaced = |told: Told| told.into_iter().map(|(class, kind, _)| (class, kind, [0; 4])).collect();
                (found, expected) = (unplaced(found), unplaced(expected));
            }
            if found != expected {
                bail!("the server on {}: found {found:?}, expected {expected:?}", uri(path));
            }
        }
        Ok(())
    }
}

fn has_lone_return(bytes: &[u8]) -> bool {
    (0..bytes.len()).any(|i| bytes[i] == b'\r' && bytes.get(i + 1) != Some(&b'\n'))
}

fn same(found: &Run, expected: &Run, when: &str) -> Result<()> {
    if found.code != expected.code || found.stderr != expected.stderr {
        let told = |run: &Run| format!("exit {}: {}", run.code, run.stderr);
        bail!("{when}: {}\nexpected {}", told(found), told(expected));
    }
    match first_difference(&found.stdout, &expected.stdout) {
        Some(difference) => bail!("{when}: {difference}"),
        None => Ok(()),
    }
}
