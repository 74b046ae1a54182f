//! Keeps the indexes of folders: opens them, brings them up to date, tells what is new. Knows no protocol.
//!
//! A few threads do that for all folders, however many there are. A **lane** is such a thread, with a pool of its own: it
//! takes the next folder that has something to do, does it, and takes another one. So a first index of minutes holds up
//! one lane, and other folders go on. All of it runs at low priority, and nobody ever waits for it: whoever answers an
//! editor has the last snapshot that was told.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use dupi::index::{Index, Workspace};
use dupi::quarantine::Quarantine;
use dupi::snapshot::{Buffer, Snapshot};
use dupi::store::Memory;
use dupi::watch::{self, MAX_PATHS, Watch, Watches};
use dupi::{Error, Progress, Report};
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use crate::workspace::{IndexArguments, Place};

/// Folders that are read at the same time. Each may take all cores, so more of them would not be faster; with fewer, a
/// small folder that somebody waits for could stand behind large ones.
const LANES: usize = 4;
/// Changes that come together are read together.
const SETTLE: Duration = Duration::from_millis(50);
/// Up to so many files the classes of the whole folder are counted after each change: it takes a second or two the first
/// time, and little memory. Of larger folders they are counted when somebody asks for all of them.
const MAX_COUNTED: usize = 10_000;

/// Called with all classes of a folder.
type Then = Box<dyn FnOnce(Result<Report, Error>) + Send>;

enum Job {
    Refresh,
    Within(Vec<PathBuf>),
    Report(Vec<Arc<Buffer>>, Then),
}

/// What is told of a folder.
pub enum News {
    /// What was on disk: as it was the last time; and what of it must not be tokenized.
    Opened(Arc<Snapshot>, Arc<Quarantine>),
    /// It has begun to look at files.
    Started,
    Progress(Progress),
    /// All is as it is on disk.
    Refreshed {
        snapshot: Arc<Snapshot>,
        files: usize,
    },
    /// It has told of all that it was asked to look at; `classes` if they were counted.
    Looked {
        classes: Option<usize>,
    },
    /// The watch does not know what changed: it may be how files are read.
    Unsure,
    /// Something that a person should know.
    Trouble(String),
}

/// How an index is kept.
pub struct Keeping {
    pub place: IndexArguments,
    /// Whether changes on disk are looked for here; else somebody else tells of them.
    pub watched: bool,
    /// What was kept before for the same folder, and has the lock of its index.
    pub after: Option<Ended>,
}

/// What was kept of a folder and will be closed.
pub struct Ended(Arc<Keeper>);

/// The index of one folder. Dropping it closes the index, some time soon.
pub struct Indexer(Arc<Keeper>);

impl Indexer {
    pub fn start(
        lanes: &Lanes,
        workspace: Arc<Workspace>,
        keeping: Keeping,
        tell: impl Fn(News) + Send + Sync + 'static,
    ) -> Indexer {
        lanes.0.n_folders.fetch_add(1, Ordering::Relaxed);
        let keeper = Keeper {
            lanes: lanes.clone(),
            workspace,
            place: keeping.place,
            watched: keeping.watched,
            after: Mutex::new(keeping.after.map(|ended| ended.0)),
            batch: Mutex::default(),
            n_asked: AtomicU64::new(0),
            n_done: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            open: Mutex::new(None),
            watch: Mutex::new(None),
            tell: Box::new(tell),
        };
        let indexer = Indexer(Arc::new(keeper));
        indexer.refresh();
        indexer
    }

    /// Looks at all files.
    pub fn refresh(&self) {
        self.0.add(Job::Refresh);
    }

    /// Looks at these files, and what is below these folders.
    pub fn refresh_within(&self, paths: Vec<PathBuf>) {
        self.0.add(Job::Within(paths));
    }

    /// Does what there is to do for this folder before what there is for others: somebody waits for it.
    pub fn hurry(&self) {
        let mut schedule = self.0.lanes.lock();
        if let Some(due) = schedule.due.iter_mut().find(|due| Arc::ptr_eq(&due.keeper, &self.0)) {
            due.is_urgent = true;
        }
    }

    /// Is there something that it was asked to look at and has not told of?
    pub fn is_busy(&self) -> bool {
        self.0.n_done.load(Ordering::SeqCst) < self.0.n_asked.load(Ordering::SeqCst)
    }

    /// How changes on disk are noticed; none, if that is not looked for here, or not yet.
    pub fn watching(&self) -> Option<watch::Mode> {
        lock(&self.0.watch).as_ref().map(Watch::mode)
    }

    /// A way to ask for all classes.
    pub fn reporter(&self) -> Reporter {
        Reporter(Arc::clone(&self.0))
    }

    /// Ends what is under way; what was read until then stays. A look at all files that waits for its turn is not begun
    /// either; changes on disk still are looked at.
    pub fn cancel(&self) {
        self.0.stop.store(true, Ordering::Relaxed);
        let mut batch = lock(&self.0.batch);
        batch.is_cancelled |= std::mem::take(&mut batch.all);
    }

    /// Closes it, some time soon.
    pub fn end(&self) -> Ended {
        if !self.0.has_ended.swap(true, Ordering::Relaxed) {
            self.0.lanes.0.n_folders.fetch_sub(1, Ordering::Relaxed);
            drop(std::mem::take(&mut *lock(&self.0.batch)));
            // A lane does it: nobody else may have to wait for what is under way.
            self.0.lanes.call(&self.0, Duration::ZERO);
            self.hurry();
        }
        Ended(Arc::clone(&self.0))
    }
}

impl Drop for Indexer {
    fn drop(&mut self) {
        self.end();
    }
}

/// Finds all classes of a folder, in its turn.
#[derive(Clone)]
pub struct Reporter(Arc<Keeper>);

impl Reporter {
    /// With these buffers over what is on disk. A folder that is closed answers nothing.
    pub fn report(&self, buffers: Vec<Arc<Buffer>>, then: impl FnOnce(Result<Report, Error>) + Send + 'static) {
        self.0.add(Job::Report(buffers, Box::new(then)));
    }
}

/// The threads of all folders, and what else they share.
#[derive(Clone, Default)]
pub struct Lanes(Arc<Shared>);

#[derive(Default)]
struct Shared {
    schedule: Mutex<Schedule>,
    changed: Condvar,
    n_folders: AtomicUsize,
    watches: Watches,
}

#[derive(Default)]
struct Schedule {
    due: Vec<Due>,
    n_lanes: usize,
}

/// A folder that has something to do, from some time on.
struct Due {
    keeper: Arc<Keeper>,
    is_urgent: bool,
    at: Instant,
    /// A lane works on it; there may be more to do after that.
    is_taken: bool,
    /// There is something to do.
    is_called: bool,
}

impl Lanes {
    fn lock(&self) -> MutexGuard<'_, Schedule> {
        lock(&self.0.schedule)
    }

    /// The memory that each folder may take of what there is for all.
    fn share(&self, memory: u64) -> u64 {
        memory / self.0.n_folders.load(Ordering::Relaxed).clamp(1, LANES) as u64
    }

    /// Sees to it that a lane works on a folder, once nothing was asked of it for as long as `quiet`.
    fn call(&self, keeper: &Arc<Keeper>, quiet: Duration) {
        let mut schedule = self.lock();
        let now = Instant::now();
        let at = now + quiet;
        match schedule.due.iter_mut().find(|due| Arc::ptr_eq(&due.keeper, keeper)) {
            Some(due) => {
                // What is due already stays so.
                let is_due = due.is_called && due.at <= now;
                due.at = if is_due || quiet.is_zero() { due.at.min(now) } else { at };
                due.is_called = true;
            }
            None => {
                let keeper = Arc::clone(keeper);
                schedule.due.push(Due { keeper, is_urgent: false, at, is_taken: false, is_called: true });
            }
        }
        let n_taken = schedule.due.iter().filter(|due| due.is_taken).count();
        if n_taken == schedule.n_lanes && schedule.n_lanes < LANES {
            let lanes = self.clone();
            let lane = Builder::new().name("dupi-index".to_owned()).spawn(move || lanes.run());
            schedule.n_lanes += usize::from(lane.is_ok());
        }
        drop(schedule);
        self.0.changed.notify_all();
    }

    /// The life of a lane.
    fn run(&self) {
        lower_priority();
        let mut pool: Option<(usize, ThreadPool)> = None;
        loop {
            let keeper = self.next();
            let threads = keeper.workspace.settings.threads;
            let fitting = pool.take().filter(|(n, _)| *n == threads);
            match fitting.map_or_else(|| Ok((threads, new_pool(threads)?)), Ok::<_, ThreadPoolBuildError>) {
                Ok((threads, with)) => {
                    with.install(|| keeper.work());
                    pool = Some((threads, with));
                }
                Err(error) => (keeper.tell)(News::Trouble(format!("no threads to read files with: {error}"))),
            }
            let mut schedule = self.lock();
            schedule.due.retain_mut(|due| {
                if !Arc::ptr_eq(&due.keeper, &keeper) {
                    return true;
                }
                due.is_taken = false;
                due.is_called
            });
            drop(schedule);
            self.0.changed.notify_all();
        }
    }

    /// Waits for a folder that has something to do, and takes it.
    fn next(&self) -> Arc<Keeper> {
        let mut schedule = self.lock();
        loop {
            let now = Instant::now();
            let free = schedule.due.iter_mut().filter(|due| due.is_called && !due.is_taken);
            let wait = match free.min_by_key(|due| (due.at > now, !due.is_urgent, due.at)) {
                Some(due) if due.at <= now => {
                    (due.is_taken, due.is_called, due.is_urgent) = (true, false, false);
                    return Arc::clone(&due.keeper);
                }
                Some(due) => Some(due.at - now),
                None => None,
            };
            let changed = &self.0.changed;
            schedule = match wait {
                Some(wait) => changed.wait_timeout(schedule, wait).unwrap_or_else(PoisonError::into_inner).0,
                None => changed.wait(schedule).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

fn new_pool(threads: usize) -> Result<ThreadPool, ThreadPoolBuildError> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).thread_name(|i| format!("dupi-index-{i}"));
    pool.start_handler(|_| lower_priority()).build()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What belongs to a folder.
struct Keeper {
    lanes: Lanes,
    workspace: Arc<Workspace>,
    place: IndexArguments,
    watched: bool,
    after: Mutex<Option<Arc<Keeper>>>,
    /// What there is to do.
    batch: Mutex<Batch>,
    /// Looks that were asked for, and those of them that were taken.
    n_asked: AtomicU64,
    n_done: AtomicU64,
    /// Ends a refresh that is under way.
    stop: AtomicBool,
    has_ended: AtomicBool,
    open: Mutex<Option<Open>>,
    /// Beside the index, so that nobody has to wait for a lane to learn of it.
    watch: Mutex<Option<Watch>>,
    tell: Box<dyn Fn(News) + Send + Sync>,
}

struct Open {
    index: Index,
    place: Option<Place>,
    /// Whether it was marked as used.
    is_kept: bool,
}

/// What is done together.
#[derive(Default)]
struct Batch {
    n_looks: u64,
    all: bool,
    /// Whether a look at all files was called off.
    is_cancelled: bool,
    paths: BTreeSet<PathBuf>,
    reports: Vec<(Vec<Arc<Buffer>>, Then)>,
}

impl Keeper {
    fn add(self: &Arc<Self>, job: Job) {
        // Only changes on disk come in swarms; who wants all files, or an answer, has waited enough.
        let quiet = if matches!(job, Job::Within(_)) { SETTLE } else { Duration::ZERO };
        let mut batch = lock(&self.batch);
        if self.has_ended() {
            return;
        }
        if matches!(job, Job::Refresh | Job::Within(_)) {
            batch.n_looks += 1;
            self.n_asked.fetch_add(1, Ordering::SeqCst);
        }
        match job {
            Job::Refresh => batch.all = true,
            Job::Within(paths) => batch.paths.extend(paths),
            Job::Report(buffers, then) => batch.reports.push((buffers, then)),
        }
        batch.all |= batch.paths.len() > MAX_PATHS;
        drop(batch);
        self.lanes.call(self, quiet);
    }

    fn close(&self, open: &mut Option<Open>) {
        *open = None;
        *lock(&self.watch) = None;
    }

    fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }

    /// Does what there is to do. If it panics, the index is opened anew the next time.
    fn work(self: &Arc<Self>) {
        let mut open = lock(&self.open);
        if self.has_ended() {
            self.close(&mut open);
            return;
        }
        // Who asked for an end asked before this began.
        self.stop.store(false, Ordering::Relaxed);
        let batch = std::mem::take(&mut *lock(&self.batch));
        if catch_unwind(AssertUnwindSafe(|| self.work_off(&mut open, &batch))).is_err() {
            self.close(&mut open);
            let trouble = "its files could not be read: this is a mistake in dupi-lsp, please report it";
            (self.tell)(News::Trouble(trouble.to_owned()));
        }
        for (buffers, then) in batch.reports {
            let Some(Open { index, .. }) = &mut *open else { return };
            let report = catch_unwind(AssertUnwindSafe(|| {
                index.set_buffers(buffers);
                index.report(&self.workspace.settings)
            }));
            index.set_buffers([]);
            match report {
                Ok(report) => then(report),
                Err(_) => self.close(&mut open),
            }
        }
    }

    fn work_off(self: &Arc<Self>, open: &mut Option<Open>, batch: &Batch) {
        let Open { index, place, is_kept, .. } = open.get_or_insert_with(|| self.open());
        if batch.n_looks == 0 {
            return;
        }
        if batch.is_cancelled && !batch.all && batch.paths.is_empty() {
            self.n_done.fetch_add(batch.n_looks, Ordering::SeqCst);
            (self.tell)(News::Looked { classes: None });
            return;
        }
        if let Some(place) = place {
            index.set_memory(self.lanes.share(place.memory));
        }
        let classes = self.refresh(index, batch);
        self.n_done.fetch_add(batch.n_looks, Ordering::SeqCst);
        (self.tell)(News::Looked { classes });
        if let Some(place) = place
            && !std::mem::replace(is_kept, true)
            && let Err(error) = place.keep(index)
        {
            (self.tell)(News::Trouble(format!("the index will be taken for unused: {error}")));
        }
    }

    fn open(self: &Arc<Self>) -> Open {
        let mut before = lock(&self.after).take();
        while let Some(ended) = before {
            // A lane may be at work there, and ends soon.
            ended.close(&mut lock(&ended.open));
            before = lock(&ended.after).take();
        }
        let (mut index, place) = self.open_index();
        index.recall_near(&self.workspace.settings);
        (self.tell)(News::Opened(index.snapshot(), index.quarantine()));
        // Before the first look, lest something change unseen between the two.
        *lock(&self.watch) = self.watched.then(|| self.watch(place.as_ref()));
        Open { index, place, is_kept: false }
    }

    fn open_index(&self) -> (Index, Option<Place>) {
        let place = self.place.place(&self.workspace);
        let opened = place.and_then(|place| Ok((place.open(&self.workspace)?, Some(place))));
        opened.unwrap_or_else(|error| {
            (self.tell)(News::Trouble(format!("the index stays in memory: {error:#}")));
            let store = Arc::new(Memory::default());
            (Index::open(store, Workspace::clone(&self.workspace), dupi::index::MIN_MEMORY), None)
        })
    }

    fn watch(self: &Arc<Self>, place: Option<&Place>) -> Watch {
        let keeper = Arc::clone(self);
        let ignore = place.map(|place| place.folder.clone()).into_iter().collect();
        let Workspace { root, settings, .. } = &*self.workspace;
        let watch = self.lanes.0.watches.start(root, settings.clone(), ignore, move |event| {
            keeper.add(match event {
                watch::Event::Changed(paths) => Job::Within(paths),
                watch::Event::Rescan => {
                    (keeper.tell)(News::Unsure);
                    Job::Refresh
                }
            });
        });
        if let watch::Mode::Polling { why } = watch.mode() {
            (self.tell)(News::Trouble(format!("changes on disk are looked for every 30 s: {why}")));
        }
        // Nobody has seen what changed before it stood.
        (self.tell)(News::Unsure);
        watch
    }

    /// Looks at files, and counts the classes if there are not too many of them.
    fn refresh(&self, index: &mut Index, batch: &Batch) -> Option<usize> {
        let stop = index.stop();
        stop.store(false, Ordering::Relaxed);
        (self.tell)(News::Started);
        let is_cancelled = || self.stop.load(Ordering::Relaxed) || self.has_ended();
        let progress = |progress| {
            if is_cancelled() {
                stop.store(true, Ordering::Relaxed);
            }
            (self.tell)(News::Progress(progress));
        };
        let paths: Vec<PathBuf> = batch.paths.iter().cloned().collect();
        let refreshed = if batch.all { index.refresh(&progress) } else { index.refresh_within(&paths) };
        if let Err(error) = refreshed {
            (self.tell)(News::Trouble(error.to_string()));
        }
        index.merge();
        if batch.all {
            (self.tell)(News::Progress(Progress::Comparing));
        }
        if let Err(error) = index.bring_near(&self.workspace.settings, &is_cancelled) {
            (self.tell)(News::Trouble(error.to_string()));
        }
        index.prepare_for_edits(&is_cancelled);
        let files = index.snapshot().n_documents();
        (self.tell)(News::Refreshed { snapshot: index.snapshot(), files });
        let counted = files <= MAX_COUNTED && !is_cancelled();
        let report = counted.then(|| index.report(&self.workspace.settings)).transpose();
        let report = report.unwrap_or_else(|error| {
            (self.tell)(News::Trouble(error.to_string()));
            None
        });
        let classes = report.map(|report| report.classes.len());
        for trouble in index.troubles() {
            (self.tell)(News::Trouble(trouble));
        }
        classes
    }
}

/// What a person types comes first.
fn lower_priority() {
    // Linux counts it for each thread; elsewhere it would hold for the whole process, and so for the answers, too.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, LOW_PRIORITY);
}

/// Of 19, which is the lowest: it still gets its share of a busy machine.
#[cfg(target_os = "linux")]
const LOW_PRIORITY: i32 = 15;
