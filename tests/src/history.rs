//! Random histories of a workspace and its index. After each step the index must answer as a search from scratch does.
#![allow(clippy::print_stderr, reason = "a failure tells how to repeat it")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use dupi::index::{Index, MIN_MEMORY, Workspace};
use dupi::store::faulty::{Fault, Faulty};
use dupi::store::{Folder, Store};
use dupi::{Report, Settings, Zone};
use fastrand::Rng;
use tempfile::TempDir;

use crate::answers::{self, clones, first_difference, orphans, searched, text, touching};
use crate::sources;

/// Larger files make a step slow and prove nothing more.
const MAX_BYTES: usize = 5_000;
/// Files that a workspace starts with at most, and about how many it has later.
const MAX_FILES: usize = 12;
/// What a crash is drawn from: a commit with a merge and an answer has fewer operations.
const MAX_OPERATIONS: u64 = 16;

/// A real source: how its name ends, and its text.
pub type Sample = (String, String);

/// The project's own sources and fixtures.
pub fn own_samples() -> &'static [Sample] {
    static SAMPLES: OnceLock<Vec<Sample>> = OnceLock::new();
    SAMPLES.get_or_init(|| {
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        samples(&["grammars/src", "server", "tests/src", "tests/fixtures"].map(|folder| top.join(folder)), 400)
    })
}

/// Sources of all languages that this machine has.
pub fn all_samples() -> &'static [Sample] {
    static SAMPLES: OnceLock<Vec<Sample>> = OnceLock::new();
    SAMPLES.get_or_init(|| {
        let mut all = samples(&sources::roots(), 100);
        all.extend_from_slice(own_samples());
        all
    })
}

fn samples(roots: &[PathBuf], per_language: usize) -> Vec<Sample> {
    let mut samples = Vec::new();
    for language in dupi_grammars::LANGUAGES {
        for path in sources::files(roots, language.name, per_language, 4 * MAX_BYTES as u64) {
            let Some(extension) = path.extension().and_then(|extension| extension.to_str()) else { continue };
            if let Ok(text) = fs::read_to_string(&path) {
                let lines: Vec<&str> = text.split_inclusive('\n').collect();
                let mut n_bytes = 0;
                let cut = lines.iter().take_while(|line| {
                    n_bytes += line.len();
                    n_bytes <= MAX_BYTES
                });
                samples.push((extension.to_owned(), cut.copied().collect()));
            }
        }
    }
    assert!(samples.len() > 50, "too few sources");
    samples
}

/// What a refresh has to look at after a step.
#[derive(Clone)]
enum Touched {
    Paths(Vec<PathBuf>),
    All,
}

/// A workspace with its index, and perhaps a second process on it.
pub struct History {
    seed: u64,
    rng: Rng,
    samples: &'static [Sample],
    folder: TempDir,
    workspace: Workspace,
    store: Arc<Faulty>,
    index: Option<Index>,
    follower: Option<Index>,
    /// What the index and the follower have not been told yet.
    missed: [Vec<Touched>; 2],
    buffers: BTreeMap<PathBuf, Vec<u8>>,
    /// Of files that are made to look old: no two alike.
    age: u64,
    log: Vec<String>,
    /// How often each thing was done that may silently not be.
    pub done: BTreeMap<&'static str, usize>,
}

impl Drop for History {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("repeat with DUPI_SEED={}; {:#?}\n{}", self.seed, self.workspace.settings, self.log.join("\n"));
        }
    }
}

impl History {
    pub fn new(seed: u64, samples: &'static [Sample]) -> History {
        let folder = quick_folder();
        fs::create_dir(folder.path().join("work")).expect("a folder");
        let mut rng = Rng::with_seed(seed);
        let base = answers::small();
        let settings = match rng.u8(0..5) {
            0 => Settings { threads: 1, ..Settings::default() },
            1 => Settings { nested: true, ..base },
            2 => Settings { zones: Zone::ALL.to_vec(), min_similarity: 0.0, ..base },
            3 => Settings { zones: Zone::ALL.to_vec(), nested: true, min_tokens: 30, ..base },
            _ => base,
        };
        let workspace = answers::workspace(&folder.path().join("work"), settings);
        let store = store(folder.path(), seed);
        let mut history = History {
            seed,
            rng,
            samples,
            folder,
            workspace,
            store,
            index: None,
            follower: None,
            missed: [const { Vec::new() }; 2],
            buffers: BTreeMap::new(),
            age: 0,
            log: Vec::new(),
            done: BTreeMap::new(),
        };
        for _ in 0..history.rng.usize(0..=MAX_FILES) {
            history.add();
        }
        history.index = Some(history.opened());
        history.refreshed(&Touched::All);
        history.check();
        history
    }

    fn opened(&self) -> Index {
        let store: Arc<dyn Store> = Arc::clone(&self.store) as Arc<dyn Store>;
        Index::open(store, self.workspace.clone(), MIN_MEMORY)
    }

    fn index(&mut self) -> &mut Index {
        self.index.as_mut().expect("an index is open between steps")
    }

    fn note(&mut self, what: &'static str, more: impl std::fmt::Display) {
        *self.done.entry(what).or_default() += 1;
        self.log.push(format!("{what} {more}"));
    }

    /// One step, and a look at all answers.
    pub fn step(&mut self) {
        match self.rng.u8(0..16) {
            0 => self.reopen(),
            1 => self.merge(),
            2 => self.crash(),
            3 => self.follow(),
            4 => self.hand_over(),
            5..=7 => self.buffer(),
            _ => {
                let touched = self.change();
                // A process that has nothing to do for a while hears of it later.
                if self.follower.is_some() && self.rng.u8(0..3) == 0 {
                    let busy = self.rng.usize(0..2);
                    self.missed[busy].push(touched.clone());
                    self.told(1 - busy, &touched);
                } else {
                    self.refreshed(&touched);
                }
            }
        }
        self.check();
    }

    /// All is on disk, nothing else is, and another process reads the same there.
    pub fn end(&mut self) {
        self.buffers.clear();
        (self.index, self.follower) = (None, None);
        let mut index = answers::open(&self.folder.path().join("index"), &self.workspace);
        answers::refresh(&mut index);
        assert_eq!(orphans(&self.folder.path().join("index")), [""; 0]);
        assert!(index.is_committed());
        self.index = Some(index);
        self.check();
    }

    // ---- changes of files

    fn change(&mut self) -> Touched {
        match self.rng.u8(0..15) {
            14 => self.edit_within_a_tick(),
            0..=2 => self.add(),
            3..=7 => self.edit(),
            8 => self.rename(),
            9 => self.delete(),
            10 => self.touch(),
            11 => self.replace_by_folder(),
            12 => self.ignore(),
            _ => self.spoil(),
        }
    }

    /// All files of the workspace that are sources by their name.
    fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut open = vec![self.workspace.root.clone()];
        while let Some(path) = open.pop() {
            for entry in fs::read_dir(&path).expect("a folder").flatten() {
                let path = entry.path();
                if path.is_dir() {
                    open.push(path);
                } else if path.extension().is_some() {
                    files.push(path);
                }
            }
        }
        files.sort();
        files
    }

    fn some_file(&mut self) -> Option<PathBuf> {
        let files = self.files();
        self.rng.choice(&files).cloned()
    }

    fn sample(&mut self) -> &'static Sample {
        &self.samples[self.rng.usize(0..self.samples.len())]
    }

    fn new_path(&mut self, extension: &str) -> PathBuf {
        let folder = self.rng.choice(["", "", "a", "a/b", "tests", "vendor", ".hidden", "c.go"]).expect("some");
        let name = self.rng.choice(["m", "M", "n", "o-1", "p q", "ü", "z_test", "zz.gen"]).expect("some");
        self.workspace.root.join(folder).join(format!("{name}.{extension}"))
    }

    /// Writes a file, unless something else has its name. Some look old: the others are read again at every refresh.
    fn write(&mut self, path: &Path, bytes: &[u8]) -> bool {
        if path.is_dir() || path.parent().is_none_or(|parent| fs::create_dir_all(parent).is_err()) {
            return false;
        }
        // A folder that was moved away would take its file along; a link would be followed.
        fs::write(path, bytes).expect("a file can be written");
        if self.rng.bool() {
            self.age += 1;
            let then = SystemTime::now() - Duration::from_secs(1_000_000 - self.age * 3);
            fs::File::options().write(true).open(path).and_then(|file| file.set_modified(then)).expect("a time");
        }
        true
    }

    fn add(&mut self) -> Touched {
        let (extension, text) = self.sample();
        let path = self.new_path(extension);
        let added = self.write(&path, text.as_bytes());
        self.note("add", format!("{} {added}", path.display()));
        Touched::Paths(vec![path])
    }

    fn edit(&mut self) -> Touched {
        let Some(path) = self.some_file() else { return self.add() };
        let text = fs::read(&path).expect("a file");
        let text = self.edited(&text);
        self.write(&path, &text);
        self.note("edit", path.display());
        Touched::Paths(vec![path])
    }

    /// Twice, and neither size nor time tell the second from the first.
    fn edit_within_a_tick(&mut self) -> Touched {
        let Some(path) = self.some_file() else { return self.add() };
        // A clock that ticks this slowly, so that a slow machine is not taken for one.
        let tick = SystemTime::now() + Duration::from_secs(60);
        let touched = Touched::Paths(vec![path.clone()]);
        for name in ["once", "a+bc"] {
            let mut text = fs::read_to_string(&path).unwrap_or_default();
            text = text.replace("once", name) + if text.contains("once") { "" } else { "\nonce = 1\n" };
            fs::write(&path, text).expect("a file can be written");
            fs::File::options().write(true).open(&path).and_then(|file| file.set_modified(tick)).expect("a time");
            self.refreshed(&touched);
        }
        self.note("edit within a tick", path.display());
        touched
    }

    fn edited(&mut self, bytes: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        let at = self.rng.usize(0..=lines.len());
        let n = self.rng.usize(0..20).min(lines.len() - at);
        match self.rng.u8(0..6) {
            0 => drop(lines.drain(at..at + n.min(4))),
            1 => {
                let copied = lines[at..at + n].to_vec();
                let to = self.rng.usize(0..=lines.len());
                lines.splice(to..to, copied);
            }
            2 => lines.insert(at, "x = y + 1;\n".to_owned()),
            3 => {
                let names: Vec<&str> =
                    text.split(|c: char| !c.is_alphanumeric()).filter(|name| name.len() > 2).collect();
                if let Some(name) = self.rng.choice(&names) {
                    // As long as before, at times: then only time or content tells.
                    let other = if self.rng.bool() { name.to_uppercase() } else { format!("{name}2") };
                    return text.replace(*name, &other).into_bytes();
                }
            }
            4 => {
                let (_, other) = self.sample();
                let other: Vec<&str> = other.split_inclusive('\n').collect();
                let from = self.rng.usize(0..=other.len());
                let n = self.rng.usize(0..40).min(other.len() - from);
                lines.splice(at..at, other[from..from + n].iter().map(|&line| line.to_owned()));
            }
            _ => {
                let files = self.files();
                if let Some(other) = self.rng.choice(&files) {
                    let other = String::from_utf8_lossy(&fs::read(other).expect("a file")).into_owned();
                    lines.extend(other.split_inclusive('\n').map(str::to_owned));
                }
            }
        }
        let mut bytes = lines.concat().into_bytes();
        bytes.truncate(4 * MAX_BYTES);
        bytes
    }

    /// Of a file, of its folder, or of nothing but letter case.
    fn rename(&mut self) -> Touched {
        let Some(from) = self.some_file() else { return self.add() };
        let parent = from.parent().expect("a folder").to_owned();
        let (from, to) = if parent != self.workspace.root && self.rng.bool() {
            let name = self.rng.choice(["moved", "tests", "a", "node_modules"]).expect("some");
            (parent, self.workspace.root.join(name))
        } else {
            let extension = from.extension().and_then(|extension| extension.to_str()).unwrap_or("go").to_owned();
            let to = self.new_path(&extension);
            (from, to)
        };
        let made = to.parent().is_some_and(|parent| fs::create_dir_all(parent).is_ok());
        let renamed = made && !to.starts_with(&from) && fs::rename(&from, &to).is_ok();
        self.note("rename", format!("{} to {} {renamed}", from.display(), to.display()));
        Touched::Paths(vec![from, to])
    }

    fn delete(&mut self) -> Touched {
        let Some(mut path) = self.some_file() else { return self.add() };
        let parent = path.parent().expect("a folder").to_owned();
        if parent != self.workspace.root && self.rng.u8(0..3) == 0 {
            fs::remove_dir_all(&parent).expect("a folder can be removed");
            path = parent;
        } else {
            fs::remove_file(&path).expect("a file can be removed");
        }
        self.note("delete", path.display());
        Touched::Paths(vec![path])
    }

    fn touch(&mut self) -> Touched {
        let Some(path) = self.some_file() else { return self.add() };
        let bytes = fs::read(&path).expect("a file");
        self.write(&path, &bytes);
        self.note("touch", path.display());
        Touched::Paths(vec![path])
    }

    fn replace_by_folder(&mut self) -> Touched {
        let Some(path) = self.some_file() else { return self.add() };
        self.close(&path);
        fs::remove_file(&path).expect("a file can be removed");
        let (extension, text) = self.sample();
        self.write(&path.join(format!("inner.{extension}")), text.as_bytes());
        self.note("replace by a folder", path.display());
        Touched::Paths(vec![path])
    }

    fn ignore(&mut self) -> Touched {
        // What is ignored and open is no question of the index: it is told by whoever opens it.
        let open: Vec<PathBuf> = self.buffers.keys().cloned().collect();
        open.iter().for_each(|path| self.close(path));
        let folder = self.rng.choice(["", "", "a", "tests"]).expect("some");
        let path = self.workspace.root.join(folder).join(".ignore");
        let rules = self.rng.choice(["m.*\n", "a/\n", "*.rs\n!m.rs\n", "n.*\n/o-1.*\n", ""]).expect("some");
        if rules.is_empty() {
            let _ = fs::remove_file(&path);
        } else if path.parent().is_some_and(|parent| fs::create_dir_all(parent).is_ok()) {
            fs::write(&path, rules).expect("a file can be written");
        }
        self.note("ignore", format!("{} {rules:?}", path.display()));
        Touched::All
    }

    /// Content that is skipped, in each way.
    fn spoil(&mut self) -> Touched {
        let Some(path) = self.some_file() else { return self.add() };
        let minified = "var a=1;".repeat(500);
        let contents: [&[u8]; 6] = [
            b"",
            b"\x7fELF\0\0",
            b"caf\xe9\n",
            minified.as_bytes(),
            b"// Code generated by x. DO NOT EDIT.\npackage a\n",
            b"// dupi:ignore-file\nint x;\n",
        ];
        let content = self.rng.choice(contents).expect("some");
        self.write(&path, content);
        self.note("spoil", path.display());
        Touched::Paths(vec![path])
    }

    // ---- buffers

    fn buffer(&mut self) {
        let open: Vec<PathBuf> = self.buffers.keys().cloned().collect();
        if let Some(path) = self.rng.choice(&open).cloned()
            && self.rng.bool()
        {
            if self.rng.bool() {
                return self.close(&path);
            }
            let text = self.edited(&self.buffers[&path].clone());
            return self.open_buffer(&path, text);
        }
        // Of files that the walk finds: what it leaves out is no question of the index.
        let report = searched(&self.workspace);
        if let Some(file) = self.rng.choice(&report.files) {
            let text = fs::read(&file.path).expect("a file");
            let text = if self.rng.bool() { self.edited(&text) } else { text };
            self.open_buffer(&file.path, text);
        }
    }

    fn open_buffer(&mut self, path: &Path, text: Vec<u8>) {
        self.note("buffer", path.display());
        self.index().set_buffer(path, &text);
        self.buffers.insert(path.to_owned(), text);
    }

    fn close(&mut self, path: &Path) {
        if self.buffers.remove(path).is_some() {
            self.note("close", path.display());
            self.index().drop_buffer(path);
        }
    }

    fn open_buffers_again(&mut self) {
        let buffers = self.buffers.clone();
        for (path, text) in buffers {
            self.index().set_buffer(&path, &text);
        }
    }

    // ---- the life of an index

    /// Brings all processes up to date, in any order.
    fn refreshed(&mut self, touched: &Touched) {
        let first = self.rng.usize(0..2);
        self.told(first, touched);
        self.told(1 - first, touched);
    }

    /// Brings one of them up to date, by a walk or by what is known to have changed.
    fn told(&mut self, which: usize, touched: &Touched) {
        let mut all = std::mem::take(&mut self.missed[which]);
        all.push(touched.clone());
        let narrow = self.rng.bool();
        let index = if which == 0 { &mut self.index } else { &mut self.follower };
        let Some(index) = index else { return };
        let paths: Option<Vec<&[PathBuf]>> = all
            .iter()
            .map(|touched| match touched {
                Touched::Paths(paths) => Some(&paths[..]),
                Touched::All => None,
            })
            .collect();
        let (changes, how) = match paths {
            Some(paths) if narrow => (index.refresh_within(&paths.concat()), "within"),
            _ => (index.refresh(&|_| {}), "all"),
        };
        let changes = changes.expect("a folder that can be read");
        let who = ["index", "follower"][which];
        self.log.push(format!("  {who} refreshed {how}: {changes:?}, {:?}", index.troubles()));
    }

    fn reopen(&mut self) {
        self.note("reopen", "");
        self.index = None;
        self.store = store(self.folder.path(), self.rng.u64(..));
        self.index = Some(self.opened());
        self.open_buffers_again();
        self.refreshed(&Touched::All);
    }

    fn merge(&mut self) {
        if self.rng.bool() {
            let before = self.index().stats().generation;
            self.index().merge();
            if self.index().stats().generation > before {
                self.note("merge", "");
            }
            return;
        }
        // Planned and run beside, while files change.
        let Some(plan) = self.index().plan_merge() else { return };
        let run_first = self.rng.bool();
        let (plan, merged) = if run_first { (None, plan.run()) } else { (Some(plan), None) };
        let touched = self.change();
        self.refreshed(&touched);
        if self.rng.u8(0..4) == 0 {
            self.index().merge();
        }
        let merged = merged.or_else(|| plan.and_then(|plan| plan.run()));
        if let Some(merged) = merged {
            let before = self.index().stats().generation;
            self.index().install(merged);
            let what = if self.index().stats().generation > before { "planned merge" } else { "outdated merge" };
            self.note(what, "");
        }
    }

    /// The machine stops somewhere in a refresh, a merge or a report. Until then memory answers; what comes after finds
    /// the disk as it was left.
    fn crash(&mut self) {
        let (at, torn) = (self.rng.u64(0..MAX_OPERATIONS), self.rng.u8(0..4) == 0);
        self.store.set(Fault::Crash { at, torn });
        let touched = self.change();
        self.refreshed(&touched);
        self.check();
        self.index().merge();
        self.check();
        if self.store.crashed() {
            self.note("crash", format!("at {at}, torn: {torn}"));
        }
        self.reopen();
    }

    fn follow(&mut self) {
        if self.follower.take().is_some() && self.rng.bool() {
            return;
        }
        self.note("follow", "");
        self.missed[1].clear();
        let mut follower = answers::open(&self.folder.path().join("index"), &self.workspace);
        answers::refresh(&mut follower);
        self.follower = Some(follower);
    }

    /// The first process ends, the second takes over, at its next refresh.
    fn hand_over(&mut self) {
        let Some(follower) = self.follower.take() else { return };
        self.index = Some(follower);
        self.missed[0] = std::mem::take(&mut self.missed[1]);
        self.open_buffers_again();
        self.note("hand over", "");
        let touched = self.change();
        self.refreshed(&touched);
        assert!(self.index().is_writer(), "nobody else has the lock");
        // Its store never crashes; the next crash needs one that can.
        self.reopen();
    }

    // ---- what must hold

    fn check(&mut self) {
        let with_buffers = self.reference();
        if self.missed[0].is_empty() {
            let mut index = self.index.take().expect("an index is open");
            self.compare(&mut index, &with_buffers);
            self.index = Some(index);
        }
        if self.missed[1].is_empty()
            && let Some(mut follower) = self.follower.take()
        {
            let without = if self.buffers.is_empty() { with_buffers } else { searched(&self.workspace) };
            self.log.push("  the follower".to_owned());
            self.compare(&mut follower, &without);
            self.follower = Some(follower);
        }
    }

    fn compare(&mut self, index: &mut Index, reference: &Report) {
        if let Some(difference) = first_difference(&answers::told(index), &text(reference)) {
            panic!("{difference}");
        }
        if index.is_writer() && !self.store.crashed() {
            assert!(index.is_committed(), "{:?}", index.troubles());
        }
        let mut problems = index.verify().problems;
        // An answer that a lying disk has cut is written again by the next report that may write one.
        if !self.buffers.is_empty() || !index.is_writer() || self.store.crashed() {
            problems.retain(|problem| !problem.contains(".ans") && !problem.contains(".near"));
        }
        // A disk that is gone cannot be verified, and that is said.
        if self.store.crashed() {
            problems.retain(|problem| !problem.contains("the store has crashed"));
        }
        assert!(problems.is_empty(), "{problems:?}");
        for _ in 0..3 {
            let Some(file) = self.rng.choice(&reference.files) else { return };
            let path = self.workspace.root.join(&file.shown);
            let clones = clones(index, &path).unwrap_or_else(|| panic!("{} is no document", file.shown));
            assert_eq!(clones, touching(reference, &file.shown), "{}", file.shown);
            if !clones.is_empty() {
                *self.done.entry("clones").or_default() += 1;
            }
        }
    }

    /// A search from scratch over the folder as the editor has it.
    fn reference(&self) -> Report {
        if self.buffers.is_empty() {
            return searched(&self.workspace);
        }
        let copy = self.folder.path().join("copy");
        let _ = fs::remove_dir_all(&copy);
        copy_folder(&self.workspace.root, &copy);
        for (path, text) in &self.buffers {
            let below = path.strip_prefix(&self.workspace.root).expect("a path of the workspace");
            let path = copy.join(below);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        searched(&answers::workspace(&copy, self.workspace.settings.clone()))
    }
}

/// In memory, if there is such a place: crashes are staged by the store, and thousands of syncs would only take time.
pub fn quick_folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    folder.expect("a folder")
}

fn store(folder: &Path, seed: u64) -> Arc<Faulty> {
    let inner = Folder::create(folder.join("index")).expect("a folder");
    Arc::new(Faulty::new(Arc::new(inner), Fault::None, seed))
}

pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).expect("a file");
        }
    }
}
