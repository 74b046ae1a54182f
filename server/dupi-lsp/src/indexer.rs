//! A thread that owns the index of one folder: opens it, keeps it up to date, tells what is new. Knows no protocol.
//!
//! It runs at low priority, and nobody ever waits for it: whoever answers an editor has the last snapshot that it told.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use dupi::index::{Index, Workspace};
use dupi::quarantine::Quarantine;
use dupi::snapshot::{Buffer, Snapshot};
use dupi::store::Memory;
use dupi::watch::{self, MAX_PATHS, Watch};
use dupi::{Error, Progress, Report};

use crate::workspace::{IndexArguments, Place};

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
    Stop,
}

/// What the thread tells.
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

pub struct Indexer {
    jobs: Sender<Job>,
    load: Arc<Load>,
    /// Ends a refresh that is under way.
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// How much there is to do: looks that were asked for, and those of them that were taken.
#[derive(Default)]
struct Load {
    n_asked: AtomicU64,
    n_done: AtomicU64,
}

impl Load {
    /// Sends a job that looks at files.
    fn send(&self, jobs: &Sender<Job>, job: Job) {
        self.n_asked.fetch_add(1, Ordering::SeqCst);
        let _ = jobs.send(job);
    }
}

/// How an index is kept.
pub struct Keeping {
    pub place: IndexArguments,
    /// Whether changes on disk are looked for here; else somebody else tells of them.
    pub watched: bool,
    /// A thread that must end before: it has the lock of the same index.
    pub after: Option<JoinHandle<()>>,
}

impl Indexer {
    pub fn start(workspace: Arc<Workspace>, keeping: Keeping, tell: impl Fn(News) + Send + Sync + 'static) -> Indexer {
        let (jobs, receiver) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let load = Arc::new(Load::default());
        load.send(&jobs, Job::Refresh);
        let thread = Thread {
            workspace,
            stop: Arc::clone(&stop),
            load: Arc::clone(&load),
            jobs: jobs.clone(),
            tell: Arc::new(tell),
        };
        let thread = Builder::new().name("dupi-index".to_owned()).spawn(move || thread.run(keeping, receiver)).ok();
        Indexer { jobs, load, stop, thread }
    }

    /// Looks at all files.
    pub fn refresh(&self) {
        self.load.send(&self.jobs, Job::Refresh);
    }

    /// Looks at these files, and what is below these folders.
    pub fn refresh_within(&self, paths: Vec<PathBuf>) {
        self.load.send(&self.jobs, Job::Within(paths));
    }

    /// Is there something that it was asked to look at and has not told of?
    pub fn is_busy(&self) -> bool {
        self.load.n_done.load(Ordering::SeqCst) < self.load.n_asked.load(Ordering::SeqCst)
    }

    /// A way to ask for all classes.
    pub fn reporter(&self) -> Reporter {
        Reporter(self.jobs.clone())
    }

    /// Ends what is under way; what was read until then stays.
    pub fn cancel(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Ends the thread, some time soon: the handle tells when.
    pub fn end(&mut self) -> Option<JoinHandle<()>> {
        self.cancel();
        let _ = self.jobs.send(Job::Stop);
        self.thread.take()
    }
}

impl Drop for Indexer {
    fn drop(&mut self) {
        self.end();
    }
}

/// Finds all classes of a folder, in its turn.
#[derive(Clone)]
pub struct Reporter(Sender<Job>);

impl Reporter {
    /// With these buffers over what is on disk. A folder that is closed answers nothing.
    pub fn report(&self, buffers: Vec<Arc<Buffer>>, then: impl FnOnce(Result<Report, Error>) + Send + 'static) {
        let _ = self.0.send(Job::Report(buffers, Box::new(then)));
    }
}

struct Thread {
    workspace: Arc<Workspace>,
    stop: Arc<AtomicBool>,
    load: Arc<Load>,
    jobs: Sender<Job>,
    tell: Arc<dyn Fn(News) + Send + Sync>,
}

impl Thread {
    fn run(self, keeping: Keeping, receiver: Receiver<Job>) {
        if let Some(before) = keeping.after {
            let _ = before.join();
        }
        lower_priority();
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.workspace.settings.threads)
            .thread_name(|i| format!("dupi-index-{i}"))
            .start_handler(|_| lower_priority())
            .build();
        match pool {
            Ok(pool) => pool.install(move || self.work(&keeping.place, keeping.watched, &receiver)),
            Err(error) => (self.tell)(News::Trouble(format!("no threads to read files with: {error}"))),
        }
    }

    fn work(&self, arguments: &IndexArguments, watched: bool, receiver: &Receiver<Job>) {
        let (mut index, place) = self.open(arguments);
        (self.tell)(News::Opened(index.snapshot(), index.quarantine()));
        // Before the first look, lest something change unseen between the two.
        let _watch = watched.then(|| self.watch(place.as_ref()));
        let stop = index.stop();
        let mut is_first = true;
        while let Ok(job) = receiver.recv() {
            let Some(batch) = Batch::collect(job, receiver) else { return };
            // Who asked for an end asked before this began.
            self.stop.store(false, Ordering::Relaxed);
            stop.store(false, Ordering::Relaxed);
            if batch.n_looks > 0 {
                self.refresh(&mut index, &stop, &batch);
            }
            for (buffers, then) in batch.reports {
                index.set_buffers(buffers);
                then(index.report(&self.workspace.settings));
                index.set_buffers([]);
            }
            if std::mem::take(&mut is_first)
                && let Some(place) = &place
                && let Err(error) = place.keep(&index)
            {
                (self.tell)(News::Trouble(format!("the index will be taken for unused: {error}")));
            }
        }
    }

    fn open(&self, arguments: &IndexArguments) -> (Index, Option<Place>) {
        let opened = arguments.place(&self.workspace).and_then(|place| Ok((place.open(&self.workspace)?, Some(place))));
        opened.unwrap_or_else(|error| {
            (self.tell)(News::Trouble(format!("the index stays in memory: {error:#}")));
            let store = Arc::new(Memory::default());
            (Index::open(store, Workspace::clone(&self.workspace), dupi::index::MIN_MEMORY), None)
        })
    }

    fn watch(&self, place: Option<&Place>) -> Watch {
        let (jobs, load, tell) = (self.jobs.clone(), Arc::clone(&self.load), Arc::clone(&self.tell));
        let ignore = place.map(|place| place.folder.clone()).into_iter().collect();
        let watch = Watch::start(&self.workspace.root, self.workspace.settings.clone(), ignore, move |event| {
            let job = match event {
                watch::Event::Changed(paths) => Job::Within(paths),
                watch::Event::Rescan => {
                    tell(News::Unsure);
                    Job::Refresh
                }
            };
            load.send(&jobs, job);
        });
        if let watch::Mode::Polling { why } = watch.mode() {
            (self.tell)(News::Trouble(format!("changes on disk are looked for every 30 s: {why}")));
        }
        // Nobody has seen what changed before it stood.
        (self.tell)(News::Unsure);
        watch
    }

    fn refresh(&self, index: &mut Index, stop: &AtomicBool, batch: &Batch) {
        (self.tell)(News::Started);
        let progress = |progress| {
            if self.stop.load(Ordering::Relaxed) {
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
        let files = index.snapshot().n_documents();
        (self.tell)(News::Refreshed { snapshot: index.snapshot(), files });
        let counted = files <= MAX_COUNTED && !self.stop.load(Ordering::Relaxed);
        let report = counted.then(|| index.report(&self.workspace.settings));
        let classes = report.and_then(|report| report.ok()).map(|report| report.classes.len());
        for trouble in index.troubles() {
            (self.tell)(News::Trouble(trouble));
        }
        self.load.n_done.fetch_add(batch.n_looks, Ordering::SeqCst);
        (self.tell)(News::Looked { classes });
    }
}

/// Jobs that are done together.
#[derive(Default)]
struct Batch {
    n_looks: u64,
    all: bool,
    paths: BTreeSet<PathBuf>,
    reports: Vec<(Vec<Arc<Buffer>>, Then)>,
}

impl Batch {
    /// All that is there, and what comes shortly after; nothing, if it is to end.
    fn collect(first: Job, receiver: &Receiver<Job>) -> Option<Batch> {
        let mut batch = Batch::default();
        let mut next = Some(first);
        while let Some(job) = next {
            batch.n_looks += u64::from(matches!(job, Job::Refresh | Job::Within(_)));
            match job {
                Job::Refresh => batch.all = true,
                Job::Within(paths) => batch.paths.extend(paths),
                Job::Report(buffers, then) => batch.reports.push((buffers, then)),
                Job::Stop => return None,
            }
            // Only changes on disk come in swarms; who wants all files, or an answer, has waited enough.
            let settle = if batch.all || !batch.reports.is_empty() { Duration::ZERO } else { SETTLE };
            next = receiver.recv_timeout(settle).ok();
        }
        batch.all |= batch.paths.len() > MAX_PATHS;
        Some(batch)
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
