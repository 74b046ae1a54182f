//! A thread that keeps the diagnostics of open documents up to date, those that somebody edits first.
//!
//! It always looks at the newest view: of edits that come faster than it answers only the last one is answered.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tower_lsp::ls_types::notification::PublishDiagnostics;
use tower_lsp::ls_types::request::{CodeLensRefresh, WorkspaceDiagnosticRefresh};
use tower_lsp::ls_types::{Diagnostic, PublishDiagnosticsParams, Uri};

use super::diagnostic::diagnostics;
use super::offered::Offered;
use super::outbox::Outbox;
use super::session::Queue;
use super::view::{Known, View};

/// What an edit cannot have changed but in rare cases is looked at once nobody has typed for so long. The document that
/// is edited is not held back at all: edits that come faster than they are answered are answered together as it is.
const QUIET: Duration = Duration::from_millis(250);
/// Notifications that a client has not taken yet. One that takes none gets no more, and the memory stays bounded.
const MAX_WAITING: usize = 64;
/// How often it looks whether the client takes something again.
const PAUSE: Duration = Duration::from_millis(20);

/// Which documents are looked at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Opened or edited.
    Edited,
    /// Has, or had, a class in common with one that was.
    Shares,
    /// Any other: what it is compared with has changed.
    Rest,
}

#[derive(Clone)]
pub struct Publisher(Arc<Shared>);

struct Shared {
    work: Mutex<Work>,
    changed: Condvar,
}

#[derive(Default)]
struct Work {
    view: Option<Arc<View>>,
    due: BTreeMap<String, (Rank, Instant)>,
    /// Documents that are open no more.
    closed: Vec<Uri>,
    /// The last look of which the session wants to hear when there is nothing left to do.
    tell_end: Option<u64>,
}

impl Publisher {
    pub fn start(outbox: Outbox, offered: Arc<Offered>, queue: Queue) -> Publisher {
        let shared = Arc::new(Shared { work: Mutex::default(), changed: Condvar::new() });
        let thread =
            Thread { shared: Arc::clone(&shared), outbox, offered, queue, shown: HashMap::new(), owed: HashSet::new() };
        // Without it nothing would ever happen, and nobody would hear of it.
        thread::Builder::new()
            .name("dupi-publish".to_owned())
            .spawn(move || thread.run())
            .unwrap_or_else(|error| panic!("no thread can be started: {error}"));
        Publisher(shared)
    }

    /// There is a new view, because this document was edited; or none was, and all that it compares may be new.
    /// The session hears of the number `look` when all that was due for the latter is published.
    pub fn look(&self, view: Arc<View>, edited: Option<&str>, look: u64) {
        let mut work = lock(&self.0.work);
        let now = Instant::now();
        for uri in view.documents.keys() {
            let (rank, at) = match edited {
                Some(edited) if edited == uri => (Rank::Edited, now),
                Some(_) => (Rank::Rest, now + QUIET),
                None => (Rank::Rest, now),
            };
            let due = work.due.entry(uri.clone()).or_insert((rank, at));
            // What waits for quiet waits on, and what is due stays so.
            due.1 = if due.1 > now { at } else { due.1 };
            due.0 = due.0.min(rank);
        }
        if edited.is_none() {
            work.tell_end = Some(look);
        }
        work.due.retain(|uri, _| view.documents.contains_key(uri));
        if let Some(before) = work.view.replace(Arc::clone(&view)) {
            let gone = before.documents.iter().filter(|(uri, _)| !view.documents.contains_key(*uri));
            work.closed.extend(gone.map(|(_, open)| open.document.uri.clone()));
        }
        drop(work);
        self.0.changed.notify_one();
    }
}

fn lock(work: &Mutex<Work>) -> MutexGuard<'_, Work> {
    work.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Thread {
    shared: Arc<Shared>,
    outbox: Outbox,
    offered: Arc<Offered>,
    queue: Queue,
    /// What each document was last said to have, and which other files have part in it.
    shown: HashMap<String, Shown>,
    /// Documents that were edited before anything could be said of them.
    owed: HashSet<String>,
}

#[derive(Default)]
struct Shown {
    diagnostics: Vec<Diagnostic>,
    shares_with: Vec<std::path::PathBuf>,
}

enum Next {
    Publish(Arc<View>, String, Rank),
    Clear(Vec<Uri>),
}

impl Thread {
    fn run(mut self) {
        loop {
            match self.next() {
                Next::Publish(view, uri, rank) => {
                    while self.outbox.n_waiting() > MAX_WAITING {
                        thread::sleep(PAUSE);
                    }
                    if catch_unwind(AssertUnwindSafe(|| self.publish(&view, &uri, rank))).is_err() {
                        tracing::error!("the copies of a document could not be found: this is a mistake in dupi-lsp");
                    }
                }
                Next::Clear(closed) => closed.into_iter().for_each(|uri| self.clear(uri)),
            }
        }
    }

    /// Waits until there is something to do.
    fn next(&mut self) -> Next {
        let mut work = lock(&self.shared.work);
        loop {
            if !work.closed.is_empty() {
                return Next::Clear(std::mem::take(&mut work.closed));
            }
            let now = Instant::now();
            let next = work.due.iter().min_by_key(|(_, (rank, at))| (*at > now, *rank, *at));
            let wait = match (next, work.view.clone()) {
                (Some((uri, (rank, at))), Some(view)) if *at <= now => {
                    let (uri, rank) = (uri.clone(), *rank);
                    work.due.remove(&uri);
                    return Next::Publish(view, uri, rank);
                }
                (Some((_, (_, at))), _) => at.saturating_duration_since(now),
                (None, _) => {
                    if let Some(look) = work.tell_end.take() {
                        self.queue.post(move |session| session.published(look));
                    }
                    work = self.shared.changed.wait(work).unwrap_or_else(PoisonError::into_inner);
                    continue;
                }
            };
            work = self.shared.changed.wait_timeout(work, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn publish(&mut self, view: &Arc<View>, uri: &str, rank: Rank) {
        let Some(open) = view.documents.get(uri) else { return };
        let copies = view.copies(open);
        let was_shown = self.shown.get(uri).is_some_and(|shown| !shown.diagnostics.is_empty());
        let can_take_back = was_shown && view.known(&open.document) >= Known::Copies;
        if !can_take_back && !view.can_tell(&open.document, &copies) {
            // What was said of it stands until there is something better to say.
            if rank == Rank::Edited {
                self.owed.insert(uri.to_owned());
            }
            return;
        }
        let was_owed = self.owed.remove(uri);
        let rank = if was_owed { Rank::Edited } else { rank };
        let new = diagnostics(view, &copies, &self.offered);
        let mut shares_with: Vec<_> =
            copies.iter().flat_map(|copy| &copy.others).map(|other| other.path.clone()).collect();
        shares_with.sort_unstable();
        shares_with.dedup();
        let old = self.shown.entry(uri.to_owned()).or_default();
        let is_new = old.diagnostics != new;
        old.diagnostics.clone_from(&new);
        let mut others = std::mem::replace(&mut old.shares_with, shares_with.clone());
        if rank == Rank::Edited {
            others.append(&mut shares_with);
            self.promote(view, &others);
        } else if !is_new {
            return;
        }
        if !self.offered.pulls {
            self.send(open.document.uri.clone(), new, Some(open.document.version));
        } else if is_new && rank != Rank::Edited && self.offered.diagnostic_refresh {
            self.outbox.request::<WorkspaceDiagnosticRefresh>((), |_| {});
        }
        // Who edits asks for lenses by itself; who asked before there was anything to compare with got none.
        if is_new && (rank != Rank::Edited || was_owed) && self.offered.code_lens_refresh {
            self.outbox.request::<CodeLensRefresh>((), |_| {});
        }
    }

    /// Those that share a class with what was edited are next.
    fn promote(&self, view: &View, paths: &[std::path::PathBuf]) {
        let mut work = lock(&self.shared.work);
        let now = Instant::now();
        for (uri, (rank, at)) in &mut work.due {
            let path = view.documents.get(uri).map(|open| &open.document.path);
            if path.is_some_and(|path| paths.contains(path)) {
                *rank = (*rank).min(Rank::Shares);
                *at = (*at).min(now);
            }
        }
    }

    /// What is closed has no diagnostics of ours any more.
    fn clear(&mut self, uri: Uri) {
        self.owed.remove(uri.as_str());
        let shown = self.shown.remove(uri.as_str());
        if !self.offered.pulls && shown.is_some_and(|shown| !shown.diagnostics.is_empty()) {
            self.send(uri, Vec::new(), None);
        }
    }

    fn send(&self, uri: Uri, diagnostics: Vec<Diagnostic>, version: Option<i32>) {
        let version = version.filter(|_| self.offered.versions);
        self.outbox.notify::<PublishDiagnostics>(PublishDiagnosticsParams { uri, diagnostics, version });
    }
}
