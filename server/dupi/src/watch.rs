//! What changes on disk after the walk: settled, without doubles, and nothing that a walk would not look at.
//!
//! Owns the operating system's watches and a thread; knows nothing of documents or the index. It never says *how* a path
//! changed, because events come late, doubled and out of order: who hears of a path looks at what is there now.
//! Whatever is too much or too uncertain becomes one [`Event::Rescan`].
//!
//! Linux counts watches (192 000 on a common machine, for all programs), one per folder, and `target` or `node_modules`
//! can hold more folders than the sources: there only folders that the walk enters are watched, each by itself.
//! Elsewhere a tree is one watch, and events of folders that the walk does not enter are dropped.

mod mounts;

use std::collections::BTreeSet;
use std::hash::Hash;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use notify::event::ModifyKind;
use notify::{ErrorKind, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use xxhash_rust::xxh3::Xxh3;

use crate::files::rules::{self, EXCLUDE, IGNORE_FILES};
use crate::files::{self, Stamp};
use crate::freshness::is_racy;
use crate::settings::Settings;

/// A save is several events within a few milliseconds; a person does not notice a tenth of a second.
const QUIET: Duration = Duration::from_millis(100);
/// A program that writes all the time must not keep back what others wrote.
const PATIENCE: Duration = Duration::from_secs(1);
/// No person saves that many files: it is a checkout, or a tool that rewrites the tree.
const MANY_PATHS: usize = 1000;
/// A checkout takes seconds, and nobody waits for a single file of it: to wait for its end saves walks.
const MANY_PATIENCE: Duration = Duration::from_secs(5);
/// Looking at that many paths one by one costs more than a walk, and none of them is what a person is typing.
pub const MAX_PATHS: usize = 10_000;
/// Polling is a walk, 0.1 s for 50 000 files in the cache of the operating system.
pub const POLL_INTERVAL: Duration = Duration::from_secs(30);
/// Where a walk is slow, as over a network, it must not run all the time: polls take at most one part in so many.
const POLL_SHARE: u32 = 20;
/// The project's configuration: it says what is looked at.
const CONFIGURATION: &str = "dupi.toml";
/// Does the operating system watch folders one by one, each at a price?
const PER_FOLDER: bool = cfg!(any(target_os = "linux", target_os = "android"));

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// These paths came, changed or went, sorted; a folder stands for all that it holds or held.
    /// Written as [`files::find`] writes them if it is given the watched root.
    Changed(Vec<PathBuf>),
    /// Anything may have changed: walk.
    Rescan,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    Native,
    /// The tree is walked every [`POLL_INTERVAL`]; `why` can be shown to a person and names the setting to change.
    Polling {
        why: String,
    },
}

/// A watched folder; dropping it stops the thread.
pub struct Watch {
    mode: Arc<Mutex<Mode>>,
    sender: Sender<Message>,
}

enum Message {
    Noticed(notify::Result<notify::Event>),
    Stop,
}

impl Watch {
    /// Watches all folders under `root` that a walk with these settings enters, but for `ignore`: the index's own
    /// folder, lest its writing be seen as a change. New settings need a new watch.
    ///
    /// Returns when all watches stand, so that a walk after it misses nothing. `send` is called from the watch's thread
    /// and should only pass the event on.
    pub fn start(
        root: &Path,
        settings: Settings,
        ignore: Vec<PathBuf>,
        send: impl Fn(Event) + Send + 'static,
    ) -> Watch {
        Watch::with(root, settings, ignore, None, POLL_INTERVAL, send)
    }

    /// The same by polling only, for the reason `why`.
    pub fn polling(
        root: &Path,
        settings: Settings,
        ignore: Vec<PathBuf>,
        why: String,
        interval: Duration,
        send: impl Fn(Event) + Send + 'static,
    ) -> Watch {
        Watch::with(root, settings, ignore, Some(why), interval, send)
    }

    fn with(
        root: &Path,
        settings: Settings,
        ignore: Vec<PathBuf>,
        why: Option<String>,
        interval: Duration,
        send: impl Fn(Event) + Send + 'static,
    ) -> Watch {
        let (sender, receiver) = mpsc::channel();
        let absolute = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let why = why.or_else(|| mounts::remote(&absolute).map(|kind| format!("{kind} does not report all changes")));
        let mode = Arc::new(Mutex::new(Mode::Native));
        let mut watcher = Watcher {
            root: root.to_owned(),
            above: Vec::new(),
            absolute,
            settings,
            ignore: ignore.iter().map(|path| resolve(path)).collect(),
            native: None,
            folders: BTreeSet::new(),
            last_poll: Poll::default(),
            mode: Arc::clone(&mode),
            sender: sender.clone(),
        };
        match why {
            Some(why) => watcher.poll_from_now_on(why),
            None => watcher.watch_anew(),
        }
        thread::Builder::new()
            .name("dupi-watch".to_owned())
            .spawn(move || watcher.run(&receiver, interval, &send))
            .ok();
        Watch { mode, sender }
    }

    /// How changes are noticed. It may turn to polling later; a rescan is sent then.
    pub fn mode(&self) -> Mode {
        self.mode.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Not waited for: its thread may just be handing an event to the one that drops it.
        let _ = self.sender.send(Message::Stop);
    }
}

struct Watcher {
    /// As it was given.
    root: PathBuf,
    /// Without links, as all paths in here: some systems report only such.
    absolute: PathBuf,
    /// Folders outside the root in which ignore files stand.
    above: Vec<PathBuf>,
    settings: Settings,
    ignore: Vec<PathBuf>,
    native: Option<RecommendedWatcher>,
    /// The folders that the walk enters, which are watched.
    folders: BTreeSet<PathBuf>,
    last_poll: Poll,
    mode: Arc<Mutex<Mode>>,
    sender: Sender<Message>,
}

/// Events that belong together.
#[derive(Default)]
struct Batch {
    paths: BTreeSet<PathBuf>,
    rescan: bool,
}

/// What a poll saw.
#[derive(Default, PartialEq, Eq)]
struct Poll {
    hash: u64,
    /// Whether a file was changed so recently that the next change may not be told from it.
    racy: bool,
}

impl Watcher {
    fn run(mut self, receiver: &Receiver<Message>, interval: Duration, send: &dyn Fn(Event)) {
        let mut poll_in = interval;
        loop {
            let message = if self.native.is_some() {
                receiver.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                receiver.recv_timeout(poll_in)
            };
            let event = match message {
                Ok(Message::Noticed(first)) => match self.collect(first, receiver) {
                    Some(batch) => self.follow(batch),
                    None => return,
                },
                Err(RecvTimeoutError::Timeout) => {
                    let start = Instant::now();
                    let event = self.poll();
                    poll_in = interval.max(start.elapsed() * POLL_SHARE);
                    event
                }
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            };
            if let Some(event) = event {
                send(event);
            }
        }
    }

    /// Collects until nothing comes for a while; `None` if it is to stop.
    fn collect(&self, first: notify::Result<notify::Event>, receiver: &Receiver<Message>) -> Option<Batch> {
        let start = Instant::now();
        let mut batch = Batch::default();
        self.take(first, &mut batch);
        loop {
            let many = batch.rescan || batch.paths.len() > MANY_PATHS;
            let patience = if many { MANY_PATIENCE } else { PATIENCE };
            let Some(left) = patience.checked_sub(start.elapsed()) else { return Some(batch) };
            match receiver.recv_timeout(QUIET.min(left)) {
                Ok(Message::Noticed(event)) => self.take(event, &mut batch),
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => return Some(batch),
            }
        }
    }

    fn take(&self, event: notify::Result<notify::Event>, batch: &mut Batch) {
        match event {
            Ok(event) if event.need_rescan() || event.paths.is_empty() => batch.rescan = true,
            Ok(event) => event.paths.into_iter().for_each(|path| self.take_path(path, event.kind, batch)),
            Err(_) => batch.rescan = true,
        }
        batch.rescan |= batch.paths.len() > MAX_PATHS;
        if batch.rescan {
            batch.paths.clear();
        }
    }

    fn take_path(&self, path: PathBuf, kind: EventKind, batch: &mut Batch) {
        if self.ignore.iter().any(|ignored| path.starts_with(ignored)) {
            return;
        }
        let written = matches!(kind, EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Any));
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return };
        let names_rules = IGNORE_FILES.iter().any(|file| name == *file);
        if self.folders.contains(parent) {
            if names_rules || name == CONFIGURATION || (name == ".git" && !written) {
                batch.rescan = true;
            } else if self.folders.contains(&path) {
                // What was written into a folder is told of by its own path.
                if !written {
                    batch.paths.insert(path);
                }
            } else if files::may_be_source(name) || path.is_dir() {
                batch.paths.insert(path);
            }
        } else if path == self.absolute {
            batch.rescan |= !written;
        } else if self.above.iter().any(|folder| folder == parent) {
            batch.rescan |= names_rules || path.ends_with(EXCLUDE);
        }
    }

    /// Sees to it that what came is watched, and says what is to be told.
    fn follow(&mut self, batch: Batch) -> Option<Event> {
        if batch.rescan {
            self.watch_anew();
        } else {
            // A folder of the same name may be another one, and the watch of one that was moved went with it.
            batch.paths.iter().for_each(|path| self.forget(path));
            let folders: Vec<PathBuf> = batch.paths.iter().filter(|path| path.is_dir()).cloned().collect();
            if !folders.is_empty() {
                self.watch_new_folders(Some(folders));
            }
        }
        if batch.rescan || self.native.is_none() {
            return Some(Event::Rescan);
        }
        let as_given = |path: PathBuf| path.strip_prefix(&self.absolute).map(|below| self.root.join(below)).ok();
        let paths: Vec<PathBuf> = batch.paths.into_iter().filter_map(as_given).collect();
        (!paths.is_empty()).then_some(Event::Changed(paths))
    }

    /// Ends all watches and sets them again: after a rescan nothing is certain, neither which folders the walk enters
    /// nor whether a folder is still the one that was watched.
    fn watch_anew(&mut self) {
        let root = self.absolute.clone();
        // One by one and not by dropping the watcher: that ends them some time later, and they count until then.
        self.forget(&root);
        let mut above = std::mem::replace(&mut self.above, rules::folders_above(&root));
        if !PER_FOLDER {
            above.push(root.clone());
        }
        let mut native = if let Some(mut native) = self.native.take() {
            for folder in above {
                let _ = native.unwatch(&folder);
            }
            native
        } else {
            let sender = self.sender.clone();
            let handler = move |event: notify::Result<notify::Event>| {
                // Reading is no change; such events are the most by far.
                if !event.as_ref().is_ok_and(|event| event.kind.is_access() && !event.need_rescan()) {
                    let _ = sender.send(Message::Noticed(event));
                }
            };
            match RecommendedWatcher::new(handler, notify::Config::default().with_follow_symlinks(false)) {
                Ok(native) => native,
                Err(error) => return self.poll_from_now_on(why(&error)),
            }
        };
        let outside = self.above.iter().try_for_each(|folder| watch(&mut native, folder, RecursiveMode::NonRecursive));
        let whole = if PER_FOLDER { Ok(()) } else { watch(&mut native, &root, RecursiveMode::Recursive) };
        self.native = Some(native);
        match outside.and(whole) {
            Ok(()) => self.watch_new_folders(None),
            Err(why) => self.poll_from_now_on(why),
        }
    }

    /// Watches the folders at and below `within`, or all, that are not watched yet.
    fn watch_new_folders(&mut self, within: Option<Vec<PathBuf>>) {
        let Some(native) = &mut self.native else { return };
        let watched = Mutex::new((native, &mut self.folders, None));
        let visit = |folder: &Path| {
            let (native, folders, failure) = &mut *watched.lock().unwrap_or_else(PoisonError::into_inner);
            let ignored = self.ignore.iter().any(|ignored| folder.starts_with(ignored));
            if failure.is_some() || ignored || folders.contains(folder) {
                return;
            }
            folders.insert(folder.to_owned());
            if PER_FOLDER {
                *failure = watch(native, folder, RecursiveMode::NonRecursive).err();
            }
        };
        let walked = files::enter(&self.absolute, within, &self.settings, &visit).map_err(|error| error.to_string());
        let (_, _, failure) = watched.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = failure.or(walked.err()) {
            self.poll_from_now_on(why);
        }
    }

    /// Ends the watches of a folder and those below it.
    fn forget(&mut self, path: &Path) {
        let below: Vec<PathBuf> =
            self.folders.range(path.to_owned()..).take_while(|folder| folder.starts_with(path)).cloned().collect();
        for folder in below {
            self.folders.remove(&folder);
            if PER_FOLDER && let Some(native) = &mut self.native {
                // The operating system has ended it already if the folder is gone.
                let _ = native.unwatch(&folder);
            }
        }
    }

    fn poll_from_now_on(&mut self, why: String) {
        self.native = None;
        self.folders.clear();
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner) = Mode::Polling { why };
        self.poll();
    }

    /// Walks, and says whether anything differs from the last time.
    ///
    /// Not `notify`'s own poller: it follows links, reads folders that the walk does not enter and keeps every path in
    /// memory, to tell of single paths what the walk of a rescan finds out anyway.
    fn poll(&mut self) -> Option<Event> {
        let mut hash = Xxh3::new();
        let mut racy = false;
        let now = SystemTime::now();
        if let Ok(found) = files::find(&self.absolute, std::slice::from_ref(&self.absolute), &self.settings) {
            for source in &found.sources {
                if !self.ignore.iter().any(|ignored| source.path.starts_with(ignored)) {
                    hash.update(source.shown.as_bytes());
                    hash.update(&[0]);
                    source.stamp.hash(&mut hash);
                    racy |= is_racy(source.stamp, now);
                }
            }
            for skip in &found.skipped {
                hash.update(skip.path.as_bytes());
                hash.update(skip.reason.name().as_bytes());
            }
        }
        let configuration = self.absolute.join(CONFIGURATION).metadata();
        configuration.as_ref().map_or(Stamp::UNKNOWN, Stamp::of).hash(&mut hash);
        let poll = Poll { hash: hash.digest(), racy };
        let changed = poll.hash != self.last_poll.hash || self.last_poll.racy;
        self.last_poll = poll;
        changed.then_some(Event::Rescan)
    }
}

/// Watches a folder; the error says why that is not possible.
fn watch(native: &mut RecommendedWatcher, folder: &Path, recursive: RecursiveMode) -> Result<(), String> {
    let Err(error) = native.watch(folder, recursive) else { return Ok(()) };
    let passed_by = match &error.kind {
        ErrorKind::PathNotFound => true,
        // The walk does not find it any more, or shows it as unreadable.
        ErrorKind::Io(error) => matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::NotADirectory
        ),
        _ => false,
    };
    if passed_by { Ok(()) } else { Err(why(&error)) }
}

/// Why there are no native watches, for a person.
fn why(error: &notify::Error) -> String {
    match &error.kind {
        ErrorKind::MaxFilesWatch => {
            "the limit of watched folders is reached: raise fs.inotify.max_user_watches".to_owned()
        }
        // inotify says "too many open files" of its own instances.
        ErrorKind::Io(error) if PER_FOLDER && error.raw_os_error() == Some(24) => {
            "the limit of watching programs is reached: raise fs.inotify.max_user_instances".to_owned()
        }
        _ => format!("the operating system does not watch: {error}"),
    }
}

/// A path without links, even if its last parts do not exist yet.
fn resolve(path: &Path) -> PathBuf {
    let path = &std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for above in path.ancestors() {
        if let Ok(resolved) = above.canonicalize() {
            return path.strip_prefix(above).map_or_else(|_| resolved.clone(), |rest| resolved.join(rest));
        }
    }
    path.clone()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;

    use super::*;

    /// Long enough for any machine; no test waits for it unless it fails.
    const LONG: Duration = Duration::from_secs(60);
    struct Scene {
        dir: tempfile::TempDir,
        events: Receiver<Event>,
        watch: Watch,
        n_marks: Cell<u32>,
    }

    impl Scene {
        fn new(files: &[&str]) -> Scene {
            Scene::with(files, Watch::start)
        }

        fn with(
            files: &[&str],
            start: impl FnOnce(&Path, Settings, Vec<PathBuf>, Box<dyn Fn(Event) + Send>) -> Watch,
        ) -> Scene {
            let dir = tempfile::tempdir().expect("a folder");
            fs::create_dir(dir.path().join("root")).expect("created");
            for file in files {
                write(&dir.path().join("root").join(file), "package a\n");
            }
            let (sender, events) = mpsc::channel();
            let send = Box::new(move |event| sender.send(event).unwrap_or_default());
            let root = dir.path().join("root");
            let watch = start(&root, Settings::default(), vec![root.join("index")], send);
            Scene { dir, events, watch, n_marks: Cell::new(0) }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.dir.path().join("root").join(name)
        }

        fn next(&self) -> Event {
            self.events.recv_timeout(LONG).expect("an event")
        }

        /// What should not come is not waited for: events come in order, so all of what was done before is told of
        /// before this file is.
        fn mark(&self) -> PathBuf {
            self.n_marks.set(self.n_marks.get() + 1);
            let mark = self.path(&format!("mark{}.go", self.n_marks.get()));
            write(&mark, "");
            mark
        }

        /// All paths that are told of until now, in however many batches.
        fn changed(&self) -> BTreeSet<String> {
            let mark = self.mark();
            let mut changed = BTreeSet::new();
            loop {
                let Event::Changed(paths) = self.next() else { panic!("a rescan after {changed:?}") };
                assert!(paths.is_sorted());
                let root = self.path("");
                changed.extend(paths.iter().map(|path| files::show(path.strip_prefix(&root).expect("below"))));
                if paths.contains(&mark) {
                    return changed.into_iter().filter(|path| !path.starts_with("mark")).collect();
                }
            }
        }

        /// How many rescans come until now.
        fn n_rescans(&self) -> u32 {
            let mut n_rescans = 0;
            let mut mark = self.mark();
            loop {
                match self.next() {
                    Event::Changed(paths) if paths.contains(&mark) => return n_rescans,
                    Event::Changed(_) => {}
                    Event::Rescan => {
                        // It may stand for the mark, too.
                        n_rescans += 1;
                        mark = self.mark();
                    }
                }
            }
        }
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        fs::write(path, text).expect("written");
    }

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn every_way_to_save_tells_of_the_file() {
        let scene = Scene::new(&["src/a.go"]);
        let file = scene.path("src/a.go");
        write(&file, "package b\n");
        assert_eq!(scene.changed(), set(&["src/a.go"]), "truncate and write");

        let draft = scene.path("src/a.go.tmp~");
        write(&draft, "package c\n");
        fs::rename(&draft, &file).expect("renamed");
        assert_eq!(scene.changed(), set(&["src/a.go"]), "atomic");

        fs::rename(&file, scene.path("src/a.go~")).expect("renamed");
        write(&file, "package d\n");
        fs::remove_file(scene.path("src/a.go~")).expect("removed");
        assert_eq!(scene.changed(), set(&["src/a.go"]), "backup and write");

        fs::remove_file(&file).expect("removed");
        assert_eq!(scene.changed(), set(&["src/a.go"]), "removed");
    }

    #[test]
    fn a_rename_tells_of_both_names() {
        let scene = Scene::new(&["src/Main.go"]);
        fs::rename(scene.path("src/Main.go"), scene.path("src/main.go")).expect("renamed");
        assert_eq!(scene.changed(), set(&["src/Main.go", "src/main.go"]));
    }

    #[test]
    fn what_is_no_source_is_not_told_of() {
        let scene = Scene::new(&["a.go", "node_modules/m/a.go", ".hidden/a.go", "target/a.go", "target/.gitignore"]);
        write(&scene.path("a.o"), "");
        write(&scene.path("node_modules/m/a.go"), "package b\n");
        write(&scene.path(".hidden/a.go"), "package b\n");
        fs::read(scene.path("a.go")).expect("read");
        assert_eq!(scene.changed(), set(&[]));
    }

    #[test]
    fn ignored_folders_are_not_watched() {
        let scene = Scene::new(&["target/debug/a.go", ".gitignore"]);
        write(&scene.path(".gitignore"), "target\n");
        assert!(scene.n_rescans() > 0);
        write(&scene.path("target/debug/a.go"), "package b\n");
        write(&scene.path("target/debug/new/b.go"), "package b\n");
        assert_eq!(scene.changed(), set(&[]));
        fs::remove_file(scene.path(".gitignore")).expect("removed");
        assert!(scene.n_rescans() > 0);
        write(&scene.path("target/debug/new/b.go"), "package c\n");
        assert_eq!(scene.changed(), set(&["target/debug/new/b.go"]), "watched again");
    }

    #[test]
    fn folders_are_followed_in_and_out() {
        let scene = Scene::new(&["a.go"]);
        let outside = scene.dir.path().join("outside");
        write(&outside.join("deep/b.go"), "package b\n");
        fs::rename(&outside, scene.path("inside")).expect("moved in");
        assert_eq!(scene.changed(), set(&["inside"]));
        write(&scene.path("inside/deep/b.go"), "package c\n");
        assert_eq!(scene.changed(), set(&["inside/deep/b.go"]));

        fs::rename(scene.path("inside"), scene.path("other")).expect("renamed");
        assert_eq!(scene.changed(), set(&["inside", "other"]));
        write(&scene.path("other/deep/b.go"), "package d\n");
        assert_eq!(scene.changed(), set(&["other/deep/b.go"]));

        fs::rename(scene.path("other"), &outside).expect("moved out");
        assert_eq!(scene.changed(), set(&["other"]));
        write(&outside.join("deep/b.go"), "package e\n");
        assert_eq!(scene.changed(), set(&[]), "no longer ours");

        fs::rename(&outside, scene.path("other")).expect("moved in again");
        assert_eq!(scene.changed(), set(&["other"]));
        fs::remove_dir_all(scene.path("other")).expect("removed");
        let changed = scene.changed();
        assert!(changed.contains("other"), "{changed:?}");
    }

    #[test]
    fn a_folder_that_was_replaced_is_watched_again() {
        let scene = Scene::new(&["src/deep/a.go"]);
        for text in ["package b\n", "package c\n"] {
            fs::remove_dir_all(scene.path("src")).expect("removed");
            write(&scene.path("src/deep/a.go"), text);
            let changed = scene.changed();
            assert!(changed.contains("src"), "{changed:?}");
            write(&scene.path("src/deep/a.go"), "package d\n");
            assert_eq!(scene.changed(), set(&["src/deep/a.go"]));
        }
    }

    #[test]
    fn folders_that_grow_quickly_are_watched_to_the_bottom() {
        let scene = Scene::new(&[]);
        let deep: String = (0..40).map(|i| format!("d{i}/")).collect();
        write(&scene.path(&format!("{deep}a.go")), "package a\n");
        assert!(scene.changed().contains("d0"));
        write(&scene.path(&format!("{deep}a.go")), "package b\n");
        assert_eq!(scene.changed(), BTreeSet::from([format!("{deep}a.go")]));
    }

    #[test]
    fn a_checkout_of_many_files_is_few_events() {
        let scene = Scene::new(&["a.go"]);
        let files: Vec<PathBuf> = (0..2 * MAX_PATHS).map(|i| scene.path(&format!("d{}/f{i}.go", i % 10))).collect();
        files.iter().for_each(|file| write(file, ""));
        // One rescan on a machine that is not too slow; else none is missed and none is told of twice.
        let mut mark = scene.mark();
        let mut n_rescans = 0;
        let mut changed = BTreeSet::new();
        while !changed.contains(&mark) {
            match scene.next() {
                Event::Changed(paths) => changed.extend(paths),
                Event::Rescan => {
                    n_rescans += 1;
                    mark = scene.mark();
                }
            }
        }
        let told = |file: &PathBuf| file.ancestors().any(|path| changed.contains(path));
        assert!(n_rescans > 0 || files.iter().all(told));
        // Two of that many paths at most, and one whenever the queue of the operating system ran over.
        assert!(n_rescans <= 8, "{n_rescans}");
        write(&scene.path("d3/f3.go"), "package b\n");
        assert_eq!(scene.changed(), set(&["d3/f3.go"]), "watched");
    }

    #[test]
    fn too_many_paths_are_one_rescan() {
        let scene = Scene::new(&["a.go"]);
        let root = scene.path("").canonicalize().expect("there");
        for (n_paths, is_rescan) in [(MAX_PATHS, false), (MAX_PATHS + 1, true), (2 * MAX_PATHS, true)] {
            let paths = (0..n_paths).map(|i| root.join(format!("f{i}.go")));
            let event = paths.fold(notify::Event::new(EventKind::Any), notify::Event::add_path);
            scene.watch.sender.send(Message::Noticed(Ok(event))).expect("sent");
            assert_eq!(scene.next() == Event::Rescan, is_rescan, "{n_paths}");
        }
        assert_eq!(scene.n_rescans(), 0);
    }

    #[test]
    fn its_own_index_is_not_told_of() {
        let scene = Scene::new(&["a.go"]);
        write(&scene.path("index/segment"), "1");
        write(&scene.path("index/more/a.go"), "1");
        assert_eq!(scene.changed(), set(&[]));
        write(&scene.path("index/more/a.go"), "2");
        assert_eq!(scene.changed(), set(&[]));
    }

    #[test]
    fn what_says_which_files_belong_is_a_rescan() {
        let scene = Scene::new(&["src/a.go", ".git/info/exclude", ".git/HEAD"]);
        write(&scene.path(".git/index"), "");
        assert_eq!(scene.changed(), set(&[]));
        for file in [".gitignore", "src/.ignore", "dupi.toml", ".git/info/exclude"] {
            write(&scene.path(file), "*.generated.go\n");
            assert!(scene.n_rescans() > 0, "{file}");
        }
        write(&scene.path("src/a.go"), "package b\n");
        assert_eq!(scene.changed(), set(&["src/a.go"]));
    }

    #[test]
    fn ignore_files_above_the_root_count() {
        let dir = tempfile::tempdir().expect("a folder");
        write(&dir.path().join(".git/info/exclude"), "");
        write(&dir.path().join("a/b/c.go"), "");
        let (sender, events) = mpsc::channel();
        let send = move |event| sender.send(event).unwrap_or_default();
        let _watch = Watch::start(&dir.path().join("a/b"), Settings::default(), Vec::new(), send);
        write(&dir.path().join("a/c.go"), "");
        for file in [".git/info/exclude", ".gitignore", "a/.ignore"] {
            write(&dir.path().join(file), "*.o\n");
            assert_eq!(events.recv_timeout(LONG), Ok(Event::Rescan), "{file}");
            // It may be told twice, of one write.
            while let Ok(event) = events.recv_timeout(2 * QUIET) {
                assert_eq!(event, Event::Rescan);
            }
        }
    }

    #[test]
    fn polling_notices_what_differs_and_nothing_else() {
        let why = "asked for".to_owned();
        let interval = Duration::from_millis(20);
        let scene = Scene::with(&["src/a.go"], |root, settings, ignore, send| {
            // An old file, since a new one is looked at twice.
            let file = fs::File::options().write(true).open(root.join("src/a.go")).expect("opened");
            file.set_modified(SystemTime::UNIX_EPOCH).expect("set");
            Watch::polling(root, settings, ignore, why.clone(), interval, send)
        });
        assert_eq!(scene.watch.mode(), Mode::Polling { why });
        write(&scene.path("index/a.go"), "1");
        assert_eq!(scene.events.recv_timeout(10 * interval), Err(RecvTimeoutError::Timeout));
        write(&scene.path("src/b.go"), "package b\n");
        assert_eq!(scene.next(), Event::Rescan);
    }

    #[test]
    fn a_root_that_went_away_is_polled_for() {
        let scene = Scene::new(&["a.go"]);
        assert_eq!(scene.watch.mode(), Mode::Native);
        fs::remove_dir_all(scene.path("")).expect("removed");
        while scene.next() != Event::Rescan {}
        assert!(matches!(scene.watch.mode(), Mode::Polling { .. }));
    }

    #[test]
    fn a_dropped_watch_is_silent() {
        let Scene { dir, events, watch, .. } = Scene::new(&["a.go"]);
        drop(watch);
        write(&dir.path().join("root/a.go"), "package b\n");
        // The sender goes with the thread.
        while let Ok(event) = events.recv_timeout(LONG) {
            assert_eq!(event, Event::Changed(vec![dir.path().join("root/a.go")]));
        }
        assert_eq!(events.try_recv(), Err(mpsc::TryRecvError::Disconnected));
    }

    #[test]
    fn a_limit_is_told_with_its_setting() {
        assert!(why(&notify::Error::new(ErrorKind::MaxFilesWatch)).contains("fs.inotify.max_user_watches"));
        if PER_FOLDER {
            let error = notify::Error::io(io::Error::from_raw_os_error(24));
            assert!(why(&error).contains("fs.inotify.max_user_instances"));
        }
    }

    #[test]
    fn an_event_without_a_path_or_with_a_flag_is_a_rescan() {
        let scene = Scene::new(&["a.go"]);
        let lost = notify::Event::new(EventKind::Other).set_flag(notify::event::Flag::Rescan);
        for event in [lost, notify::Event::new(EventKind::Any)] {
            scene.watch.sender.send(Message::Noticed(Ok(event))).expect("sent");
            assert_eq!(scene.next(), Event::Rescan);
        }
        write(&scene.path("a.go"), "package b\n");
        assert_eq!(scene.changed(), set(&["a.go"]));
    }
}
