//! What changes on disk after the walk: settled, without doubles, and nothing that a walk would not look at.
//!
//! Owns the operating system's watches and a thread; knows nothing of documents or the index. It never says *how* a path
//! changed, because events come late, doubled and out of order: who hears of a path looks at what is there now.
//! Whatever is too much or too uncertain becomes one [`Event::Rescan`].
//!
//! Linux counts watches (192 000 on a common machine, for all programs), one per folder, and `target` or `node_modules`
//! can hold more folders than the sources: there only folders that the walk enters are watched, each by itself.
//! Elsewhere a tree is one watch, and events of folders that the walk does not enter are dropped.
//!
//! One thread serves all roots of [`Watches`]. Linux also counts the programs that watch (128 for a user), each with a
//! thread, so there all roots share one such instance. Elsewhere a root has an instance of its own, because to add a
//! root to one that runs loses events; from some number of roots on the others are polled.

mod mounts;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
/// Where each root has an instance of its own, roots that have one: each is a thread.
const MAX_INSTANCES: usize = 64;
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

/// Watches any number of folders. Its thread ends when it and all that it watches are dropped.
#[derive(Clone)]
pub struct Watches(Arc<Hub>);

struct Hub {
    system: Arc<System>,
    /// For the thread, which starts with the first watch.
    receiver: Mutex<Option<Receiver<Message>>>,
    n_started: AtomicUsize,
}

/// What all roots have of the operating system.
struct System {
    sender: Sender<Message>,
    shared: Mutex<Shared>,
    n_instances: AtomicUsize,
}

#[derive(Default)]
struct Shared {
    /// Where roots share one.
    native: Option<RecommendedWatcher>,
    /// The roots for which a folder counts.
    owners: HashMap<PathBuf, Vec<Id>>,
}

type Id = usize;

/// A watched folder; dropping it ends that.
pub struct Watch {
    id: Id,
    mode: Arc<Mutex<Mode>>,
    hub: Arc<Hub>,
}

enum Message {
    Noticed(notify::Result<notify::Event>),
    Add(Box<Watcher>),
    Remove(Id),
    Stop,
}

impl Default for Watches {
    fn default() -> Watches {
        let (sender, receiver) = mpsc::channel();
        let system = System { sender, shared: Mutex::default(), n_instances: AtomicUsize::new(0) };
        let receiver = Mutex::new(Some(receiver));
        Watches(Arc::new(Hub { system: Arc::new(system), receiver, n_started: AtomicUsize::new(0) }))
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        let _ = self.system.sender.send(Message::Stop);
    }
}

impl Watches {
    /// Watches all folders under `root` that a walk with these settings enters, but for `ignore`: the index's own
    /// folder, lest its writing be seen as a change. New settings need a new watch.
    ///
    /// Returns when all watches stand, so that a walk after it misses nothing. `send` is called from the watch's thread
    /// and should only pass the event on.
    pub fn start(
        &self,
        root: &Path,
        settings: Settings,
        ignore: Vec<PathBuf>,
        send: impl Fn(Event) + Send + 'static,
    ) -> Watch {
        self.with(root, settings, ignore, None, POLL_INTERVAL, Box::new(send))
    }

    fn with(
        &self,
        root: &Path,
        settings: Settings,
        ignore: Vec<PathBuf>,
        why: Option<String>,
        interval: Duration,
        send: Box<dyn Fn(Event) + Send>,
    ) -> Watch {
        let hub = Arc::clone(&self.0);
        let id = hub.n_started.fetch_add(1, Ordering::Relaxed);
        let absolute = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let why = why.or_else(|| mounts::remote(&absolute).map(|kind| format!("{kind} does not report all changes")));
        let mode = Arc::new(Mutex::new(Mode::Native));
        let mut watcher = Watcher {
            id,
            root: root.to_owned(),
            above: Vec::new(),
            absolute,
            settings,
            ignore: ignore.iter().map(|path| resolve(path)).collect(),
            system: Arc::clone(&hub.system),
            is_native: false,
            own: None,
            folders: BTreeSet::new(),
            pending: None,
            last_poll: Poll::default(),
            interval,
            poll_at: Instant::now() + interval,
            mode: Arc::clone(&mode),
            send,
        };
        match why {
            Some(why) => watcher.poll_from_now_on(why),
            None => watcher.watch_anew(),
        }
        let _ = hub.system.sender.send(Message::Add(Box::new(watcher)));
        if let Some(receiver) = hub.receiver.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let system = Arc::clone(&hub.system);
            // Without it nothing would ever happen, and nobody would hear of it.
            thread::Builder::new()
                .name("dupi-watch".to_owned())
                .spawn(move || run(&receiver, &system))
                .unwrap_or_else(|error| panic!("no thread can be started: {error}"));
        }
        Watch { id, mode, hub }
    }
}

impl Watch {
    /// Watches a folder by a thread of its own.
    pub fn start(
        root: &Path,
        settings: Settings,
        ignore: Vec<PathBuf>,
        send: impl Fn(Event) + Send + 'static,
    ) -> Watch {
        Watches::default().start(root, settings, ignore, send)
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
        Watches::default().with(root, settings, ignore, Some(why), interval, Box::new(send))
    }

    /// How changes are noticed. It may turn to polling later; a rescan is sent then.
    pub fn mode(&self) -> Mode {
        self.mode.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Not waited for: its thread may just be handing an event to the one that drops it.
        let _ = self.hub.system.sender.send(Message::Remove(self.id));
    }
}

impl System {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn instance(&self) -> Result<RecommendedWatcher, String> {
        let sender = self.sender.clone();
        let handler = move |event: notify::Result<notify::Event>| {
            // Reading is no change; such events are the most by far.
            if !event.as_ref().is_ok_and(|event| event.kind.is_access() && !event.need_rescan()) {
                let _ = sender.send(Message::Noticed(event));
            }
        };
        let configuration = notify::Config::default().with_follow_symlinks(false);
        RecommendedWatcher::new(handler, configuration).map_err(|error| why(&error))
    }

    /// Makes a folder count for a root, and where folders are watched one by one watches it. The error says why that is
    /// not possible.
    fn watch(&self, folder: &Path, id: Id) -> Result<(), String> {
        let mut shared = self.lock();
        let owners = shared.owners.entry(folder.to_owned()).or_default();
        if !owners.contains(&id) {
            owners.push(id);
        }
        if !PER_FOLDER {
            return Ok(());
        }
        if shared.native.is_none() {
            shared.native = Some(self.instance()?);
        }
        // Even if another root has it watched: a folder of that name may be another one by now.
        shared.native.as_mut().map_or(Ok(()), |native| watch(native, folder, RecursiveMode::NonRecursive))
    }

    fn unwatch(&self, folder: &Path, id: Id) {
        let mut shared = self.lock();
        let Some(owners) = shared.owners.get_mut(folder) else { return };
        owners.retain(|owner| *owner != id);
        if owners.is_empty() {
            shared.owners.remove(folder);
            if let Some(native) = &mut shared.native {
                // The operating system has ended it already if the folder is gone.
                let _ = native.unwatch(folder);
            }
        }
    }
}

/// The life of the thread that serves all roots.
fn run(receiver: &Receiver<Message>, system: &System) {
    let mut watchers: BTreeMap<Id, Box<Watcher>> = BTreeMap::new();
    loop {
        let next = watchers.values().filter_map(|watcher| watcher.due()).min();
        let message = match next {
            Some(at) => receiver.recv_timeout(at.saturating_duration_since(Instant::now())),
            None => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match message {
            Ok(Message::Noticed(event)) => dispatch(&event, system, &mut watchers),
            Ok(Message::Add(watcher)) => drop(watchers.insert(watcher.id, watcher)),
            Ok(Message::Remove(id)) => drop(watchers.remove(&id)),
            Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {}
        }
        let now = Instant::now();
        watchers.values_mut().filter(|watcher| watcher.due().is_some_and(|at| at <= now)).for_each(|due| due.tell());
    }
}

/// Hands an event to the roots for which it counts.
fn dispatch(event: &notify::Result<notify::Event>, system: &System, watchers: &mut BTreeMap<Id, Box<Watcher>>) {
    let event = match event {
        Ok(event) if !event.need_rescan() && !event.paths.is_empty() => event,
        // Nobody knows what changed, nor where.
        _ => return watchers.values_mut().filter(|watcher| watcher.is_native).for_each(|watcher| watcher.doubt()),
    };
    for path in &event.paths {
        let owners: BTreeSet<Id> = {
            let shared = system.lock();
            let of = |folder: &Path| shared.owners.get(folder).cloned().unwrap_or_default();
            of(path).into_iter().chain(path.parent().map(of).unwrap_or_default()).collect()
        };
        for owner in owners {
            if let Some(watcher) = watchers.get_mut(&owner) {
                watcher.take(path, event.kind);
            }
        }
    }
}

struct Watcher {
    id: Id,
    /// As it was given.
    root: PathBuf,
    /// Without links, as all paths in here: some systems report only such.
    absolute: PathBuf,
    /// Folders outside the root in which ignore files stand.
    above: Vec<PathBuf>,
    settings: Settings,
    ignore: Vec<PathBuf>,
    system: Arc<System>,
    /// Whether the operating system tells of changes; else they are polled for.
    is_native: bool,
    /// Where each root has an instance.
    own: Option<RecommendedWatcher>,
    /// The folders that the walk enters, which are watched.
    folders: BTreeSet<PathBuf>,
    /// What came and was not told of yet.
    pending: Option<Pending>,
    last_poll: Poll,
    interval: Duration,
    poll_at: Instant,
    mode: Arc<Mutex<Mode>>,
    send: Box<dyn Fn(Event) + Send>,
}

/// Events that belong together.
#[derive(Default)]
struct Batch {
    paths: BTreeSet<PathBuf>,
    rescan: bool,
}

struct Pending {
    batch: Batch,
    first: Instant,
    last: Instant,
}

/// What a poll saw.
#[derive(Default, PartialEq, Eq)]
struct Poll {
    hash: u64,
    /// Whether a file was changed so recently that the next change may not be told from it.
    racy: bool,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.unwatch_all();
    }
}

impl Watcher {
    /// When there will be something to tell: nothing came for a while, or it is time to poll.
    fn due(&self) -> Option<Instant> {
        let settled = self.pending.as_ref().map(|Pending { batch, first, last }| {
            let many = batch.rescan || batch.paths.len() > MANY_PATHS;
            let patience = if many { MANY_PATIENCE } else { PATIENCE };
            (*last + QUIET).min(*first + patience)
        });
        settled.or((!self.is_native).then_some(self.poll_at))
    }

    fn tell(&mut self) {
        let event = match self.pending.take() {
            Some(pending) => self.follow(pending.batch),
            None => {
                let start = Instant::now();
                let event = self.poll();
                self.poll_at = Instant::now() + self.interval.max(start.elapsed() * POLL_SHARE);
                event
            }
        };
        if let Some(event) = event {
            (self.send)(event);
        }
    }

    fn batch(&mut self) -> &mut Batch {
        let now = Instant::now();
        let pending = self.pending.get_or_insert_with(|| Pending { batch: Batch::default(), first: now, last: now });
        pending.last = now;
        &mut pending.batch
    }

    /// Anything may have changed.
    fn doubt(&mut self) {
        let batch = self.batch();
        batch.rescan = true;
        batch.paths.clear();
    }

    fn take(&mut self, path: &Path, kind: EventKind) {
        let mut batch = Batch::default();
        self.take_path(path, kind, &mut batch);
        if batch.rescan {
            self.doubt();
        } else if let Some(path) = batch.paths.pop_first() {
            let batch = self.batch();
            if !batch.rescan {
                batch.paths.insert(path);
            }
            if batch.paths.len() > MAX_PATHS {
                self.doubt();
            }
        }
    }

    fn take_path(&self, path: &Path, kind: EventKind, batch: &mut Batch) {
        if self.ignore.iter().any(|ignored| path.starts_with(ignored)) {
            return;
        }
        let written = matches!(kind, EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Any));
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return };
        let names_rules = IGNORE_FILES.iter().any(|file| name == *file);
        if self.folders.contains(parent) {
            if names_rules || name == CONFIGURATION || (name == ".git" && !written) {
                batch.rescan = true;
            } else if self.folders.contains(path) {
                // What was written into a folder is told of by its own path.
                if !written {
                    batch.paths.insert(path.to_owned());
                }
            } else if files::may_be_source(name) || path.is_dir() {
                batch.paths.insert(path.to_owned());
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
        if batch.rescan || !self.is_native {
            return Some(Event::Rescan);
        }
        let as_given = |path: PathBuf| path.strip_prefix(&self.absolute).map(|below| self.root.join(below)).ok();
        let paths: Vec<PathBuf> = batch.paths.into_iter().filter_map(as_given).collect();
        (!paths.is_empty()).then_some(Event::Changed(paths))
    }

    /// Ends all watches and sets them again: after a rescan nothing is certain, neither which folders the walk enters
    /// nor whether a folder is still the one that was watched.
    fn watch_anew(&mut self) {
        self.unwatch_all();
        self.above = rules::folders_above(&self.absolute);
        match self.watch_outside() {
            Ok(()) => {
                self.is_native = true;
                self.watch_new_folders(None);
            }
            Err(why) => self.poll_from_now_on(why),
        }
    }

    /// Watches the folders above, and where a tree is one watch the tree.
    fn watch_outside(&mut self) -> Result<(), String> {
        if !PER_FOLDER {
            if self.system.n_instances.load(Ordering::Relaxed) >= MAX_INSTANCES {
                return Err(format!("more than {MAX_INSTANCES} folders are open"));
            }
            let own = self.own.insert(self.system.instance()?);
            self.system.n_instances.fetch_add(1, Ordering::Relaxed);
            watch(own, &self.absolute, RecursiveMode::Recursive)?;
            self.above.iter().try_for_each(|folder| watch(own, folder, RecursiveMode::NonRecursive))?;
        }
        self.above.iter().try_for_each(|folder| self.system.watch(folder, self.id))
    }

    /// Watches the folders at and below `within`, or all, that are not watched yet.
    fn watch_new_folders(&mut self, within: Option<Vec<PathBuf>>) {
        if !self.is_native {
            return;
        }
        let (system, ignore, id) = (&self.system, &self.ignore, self.id);
        let watched = Mutex::new((&mut self.folders, None));
        let visit = |folder: &Path| {
            let (folders, failure) = &mut *watched.lock().unwrap_or_else(PoisonError::into_inner);
            let ignored = ignore.iter().any(|ignored| folder.starts_with(ignored));
            if failure.is_some() || ignored || folders.contains(folder) {
                return;
            }
            folders.insert(folder.to_owned());
            *failure = system.watch(folder, id).err();
        };
        let walked = files::enter(&self.absolute, within, &self.settings, &visit).map_err(|error| error.to_string());
        let (_, failure) = watched.into_inner().unwrap_or_else(PoisonError::into_inner);
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
            self.system.unwatch(&folder, self.id);
        }
    }

    /// Ends all watches, one by one: what ends by itself counts some time longer.
    fn unwatch_all(&mut self) {
        let folders = std::mem::take(&mut self.folders);
        let above = std::mem::take(&mut self.above);
        folders.iter().chain(&above).for_each(|folder| self.system.unwatch(folder, self.id));
        if self.own.take().is_some() {
            self.system.n_instances.fetch_sub(1, Ordering::Relaxed);
        }
        self.is_native = false;
    }

    fn poll_from_now_on(&mut self, why: String) {
        self.unwatch_all();
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
            scene.watch.hub.system.sender.send(Message::Noticed(Ok(event))).expect("sent");
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
    fn roots_share_a_watch_and_one_that_goes_takes_nothing_from_the_others() {
        let dir = tempfile::tempdir().expect("a folder");
        write(&dir.path().join("a/b/c.go"), "");
        let watches = Watches::default();
        let started = |root: &str| {
            let (sender, events) = mpsc::channel();
            let send = move |event| sender.send(event).unwrap_or_default();
            (watches.start(&dir.path().join(root), Settings::default(), Vec::new(), send), events)
        };
        let ((outer, of_outer), (inner, of_inner)) = (started("a"), started("a/b"));
        assert_eq!((outer.mode(), inner.mode()), (Mode::Native, Mode::Native));
        let file = dir.path().join("a/b/c.go");
        let told = |events: &Receiver<Event>| {
            assert_eq!(events.recv_timeout(LONG), Ok(Event::Changed(vec![file.clone()])));
            // It may be told twice, of one write.
            while events.recv_timeout(2 * QUIET).is_ok() {}
        };
        write(&file, "package b\n");
        told(&of_outer);
        told(&of_inner);
        drop(outer);
        // The sender goes with the watch.
        while of_outer.recv_timeout(LONG).is_ok() {}
        write(&file, "package c\n");
        told(&of_inner);
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
            scene.watch.hub.system.sender.send(Message::Noticed(Ok(event))).expect("sent");
            assert_eq!(scene.next(), Event::Rescan);
        }
        write(&scene.path("a.go"), "package b\n");
        assert_eq!(scene.changed(), set(&["a.go"]));
    }
}
