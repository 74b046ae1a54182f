//! The one thread that owns all that changes: documents, folders, settings. Everybody else has a view, or a queue to it.
//!
//! What comes from the client, from an index or from a timer is a task in one queue, done in the order in which it was
//! put there. Nothing here waits: not for the client, not for the disk but for names, not for an index.

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;

use dupi::index::Workspace;
use serde_json::Value;
use tokio::sync::oneshot;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::ls_types::notification::PublishDiagnostics;
use tower_lsp::ls_types::{PublishDiagnosticsParams, Uri, WorkspaceFolder};

use super::ServerArguments;
use super::document::Document;
use super::folder::{Folder, FolderId, Reading};
use super::offered::Offered;
use super::outbox::Outbox;
use super::progress::Progress;
use super::publisher::Publisher;
use super::view::{DocumentView, FolderView, Known, View};
use super::{configuration, status, uris};
use crate::indexer::{Ended, Indexer, Keeping, Lanes, News};
use crate::preferences::Preferences;

/// Troubles of a folder that are remembered, for whoever asks how it is doing; the log has all of them.
const MAX_TROUBLES: usize = 10;

type Task = Box<dyn FnOnce(&mut Session) + Send>;

/// The way to the session.
#[derive(Clone)]
pub struct Queue(Sender<Task>);

impl Queue {
    /// Puts a task into the queue, before it returns.
    pub fn post(&self, task: impl FnOnce(&mut Session) + Send + 'static) {
        let _ = self.0.send(Box::new(task));
    }

    /// Puts a question into the queue, before it returns; what is returned waits for the answer.
    pub fn ask<T, Q>(&self, question: Q) -> impl Future<Output = Result<T>> + use<T, Q>
    where
        T: Send + 'static,
        Q: FnOnce(&mut Session, oneshot::Sender<T>) + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        self.post(move |session| question(session, sender));
        // A session that failed on the question, or ended before it, gives no answer.
        async { receiver.await.map_err(|_| Error::internal_error()) }
    }

    /// The view that there is when this is called in its turn.
    pub fn view(&self) -> impl Future<Output = Result<Arc<View>>> + use<> {
        self.ask(|session, reply| drop(reply.send(session.view())))
    }
}

/// Someone who waits until all files were looked at once: of the folders around a path, or of all.
struct Waiting {
    around: Option<PathBuf>,
    then: Box<dyn FnOnce(Arc<View>) + Send>,
}

pub struct Session {
    pub queue: Queue,
    pub outbox: Outbox,
    pub arguments: ServerArguments,
    pub offered: Arc<Offered>,
    pub folders: Vec<Folder>,
    /// The threads that keep the indexes of all folders.
    lanes: Lanes,
    /// By the URI as the client spells it.
    pub documents: BTreeMap<String, Arc<Document>>,
    pub preferences: Arc<Preferences>,
    /// Counts the states of all indexes together.
    pub generation: u64,
    /// Folders that are opened as soon as the user's settings are known: another index would be built for others.
    pub to_open: Vec<WorkspaceFolder>,
    publisher: Option<Publisher>,
    view: Option<Arc<View>>,
    waiting: Vec<Waiting>,
    n_stamps: u64,
    n_folders: u64,
    n_indexers: u64,
    /// Looks at all documents that the publisher was asked for, and the last of them that it has published.
    n_looks: u64,
    n_published: u64,
    has_opened: bool,
}

/// Starts the session's thread.
pub fn start(outbox: Outbox, arguments: ServerArguments) -> Queue {
    let (sender, receiver) = channel();
    let queue = Queue(sender);
    let session = Session {
        queue: queue.clone(),
        outbox,
        arguments,
        offered: Arc::default(),
        folders: Vec::new(),
        lanes: Lanes::default(),
        documents: BTreeMap::new(),
        preferences: Arc::default(),
        generation: 0,
        to_open: Vec::new(),
        publisher: None,
        view: None,
        waiting: Vec::new(),
        n_stamps: 0,
        n_folders: 0,
        n_indexers: 0,
        n_looks: 0,
        n_published: 0,
        has_opened: false,
    };
    // Without it nothing would ever happen, and nobody would hear of it.
    thread::Builder::new()
        .name("dupi-session".to_owned())
        .spawn(move || run(session, &receiver))
        .unwrap_or_else(|error| panic!("no thread can be started: {error}"));
    queue
}

fn run(mut session: Session, receiver: &Receiver<Task>) {
    while let Ok(task) = receiver.recv() {
        // A task that fails has no answer; all others go on.
        if catch_unwind(AssertUnwindSafe(|| task(&mut session))).is_err() {
            tracing::error!("something failed: this is a mistake in dupi-lsp, please report it");
        }
    }
}

impl Session {
    /// The client has said who it is; it may not be sent anything yet.
    pub fn begin(&mut self, offered: Offered, preferences: Preferences, folders: Vec<WorkspaceFolder>) {
        self.to_open = folders;
        self.offered = Arc::new(offered);
        self.preferences = Arc::new(preferences);
        let publisher = Publisher::start(self.outbox.clone(), Arc::clone(&self.offered), self.queue.clone());
        self.publisher = Some(publisher);
    }

    // ---- what others see

    pub fn view(&mut self) -> Arc<View> {
        if let Some(view) = &self.view {
            return Arc::clone(view);
        }
        let folder = |folder: &Folder| {
            let known = match folder.n_files {
                _ if folder.is_ready => Known::All,
                0 => Known::Nothing,
                _ => Known::Copies,
            };
            FolderView::new(folder.id, Arc::clone(&folder.workspace), Arc::clone(&folder.saved), known)
        };
        let open = |(uri, document): (&String, &Arc<Document>)| (uri.clone(), DocumentView::new(Arc::clone(document)));
        let view = Arc::new(View {
            folders: self.folders.iter().map(folder).collect(),
            has_folders: self.to_open.is_empty(),
            documents: self.documents.iter().map(open).collect(),
            encoding: self.offered.encoding,
            preferences: Arc::clone(&self.preferences),
            in_workspace: OnceLock::new(),
        });
        self.view = Some(Arc::clone(&view));
        view
    }

    /// Something that is seen has changed: the document `edited`, or anything.
    fn changed(&mut self, edited: Option<&str>) {
        self.view = None;
        let view = self.view();
        if let Some(publisher) = &self.publisher {
            self.n_looks += u64::from(edited.is_none());
            publisher.look(view, edited, self.n_looks);
        }
    }

    /// Calls `then` with the view of a moment in which all files were looked at; at once, if they were.
    pub fn when_ready(&mut self, then: impl FnOnce(Arc<View>) + Send + 'static) {
        self.waiting.push(Waiting { around: None, then: Box::new(then) });
        self.answer_waiting();
    }

    /// The same for the files that the document at a URI is compared with.
    pub fn when_ready_for(&mut self, uri: &Uri, then: impl FnOnce(Arc<View>) + Send + 'static) {
        let around = uris::path(uri);
        if let Some(path) = &around {
            self.hurry(path);
        }
        self.waiting.push(Waiting { around, then: Box::new(then) });
        self.answer_waiting();
    }

    /// Somebody waits for what there is to say of a file: its folders come first.
    pub fn hurry(&self, path: &Path) {
        self.folders.iter().filter(|folder| path.starts_with(&folder.root)).for_each(|folder| folder.indexer.hurry());
    }

    fn answer_waiting(&mut self) {
        if self.waiting.is_empty() || !self.to_open.is_empty() {
            return;
        }
        let is_ready = |waiting: &mut Waiting| {
            let counts = |folder: &&Folder| waiting.around.as_ref().is_none_or(|path| path.starts_with(&folder.root));
            self.folders.iter().filter(counts).all(|folder| folder.is_ready)
        };
        let ready: Vec<Waiting> = self.waiting.extract_if(.., is_ready).collect();
        if !ready.is_empty() {
            let view = self.view();
            ready.into_iter().for_each(|waiting| (waiting.then)(Arc::clone(&view)));
        }
    }

    /// All that was due since the look of this number is published. There may have been another look meanwhile.
    pub fn published(&mut self, look: u64) {
        self.n_published = look;
        status::tell(self);
    }

    pub fn is_busy(&self) -> bool {
        self.n_published < self.n_looks
            || !self.to_open.is_empty()
            || self.folders.iter().any(|folder| folder.indexer.is_busy())
    }

    // ---- documents

    pub fn stamp(&mut self) -> u64 {
        self.n_stamps += 1;
        self.n_stamps
    }

    /// Takes over what the client has open under a URI.
    pub fn set_document(&mut self, document: Document) {
        let uri = document.uri.as_str().to_owned();
        self.documents.insert(uri.clone(), Arc::new(document));
        self.changed(Some(&uri));
    }

    pub fn close_document(&mut self, uri: &str) -> Option<Arc<Document>> {
        let closed = self.documents.remove(uri)?;
        self.changed(Some(uri));
        Some(closed)
    }

    /// The folders in which a document counts: a file in those around it that would read it, others in all.
    pub fn folders_for(&self, document: &Document) -> Vec<Reading> {
        let counts = |folder: &&Folder| {
            let Workspace { root, paths, settings } = &*folder.workspace;
            let inside = document.path.starts_with(root);
            !document.is_file || inside && dupi::files::would_find(root, paths, &document.path, settings)
        };
        let reading = |folder: &Folder| {
            let quarantine = folder.quarantine.clone()?;
            Some(Reading { folder: folder.id, workspace: Arc::clone(&folder.workspace), quarantine })
        };
        self.folders.iter().filter(counts).filter_map(reading).collect()
    }

    /// Folders or what they read have changed, so each document may count elsewhere.
    pub fn sort_documents(&mut self) {
        let moved: Vec<(String, Arc<Document>)> = self
            .documents
            .iter()
            .map(|(uri, document)| (uri.clone(), Arc::new(document.moved(self.folders_for(document)))))
            .collect();
        self.documents.extend(moved);
        self.changed(None);
    }

    // ---- folders

    /// Opens the folders that were waiting for settings.
    pub fn open_folders(&mut self) {
        if std::mem::replace(&mut self.has_opened, true) {
            return;
        }
        for folder in std::mem::take(&mut self.to_open) {
            self.add_folder(folder);
        }
        self.documents.values().for_each(|document| self.hurry(&document.path));
        self.sort_documents();
        self.answer_waiting();
        status::tell(self);
    }

    /// Reads the configuration and looks at all files of all open folders again, but for those where somebody called that off.
    pub fn look_again(&mut self) {
        if self.folders.is_empty() {
            return;
        }
        self.configure();
        self.folders.iter().filter(|folder| !folder.was_cancelled).for_each(|folder| folder.indexer.refresh());
        status::tell(self);
    }

    pub fn add_folder(&mut self, folder: WorkspaceFolder) {
        let Some(root) = uris::path(&folder.uri).filter(|root| root.is_dir()) else {
            tracing::warn!("{} is no folder on this machine", folder.uri.as_str());
            return;
        };
        if self.folders.iter().any(|other| other.root == root) {
            return;
        }
        let (workspace, bad) = configuration::workspace(&root, &self.preferences);
        let is_bad = bad.is_some();
        self.n_folders += 1;
        let id = FolderId(self.n_folders);
        let workspace = Arc::new(workspace);
        let (epoch, indexer) = self.indexer(id, &workspace, None);
        let saved = Arc::new(dupi::snapshot::Snapshot::empty());
        self.folders.push(Folder {
            id,
            name: folder.name,
            root,
            workspace,
            bad,
            epoch,
            indexer,
            quarantine: None,
            saved,
            is_ready: false,
            n_files: 0,
            n_classes: None,
            progress: None,
            was_cancelled: false,
            troubles: Vec::new(),
        });
        if is_bad {
            self.show_configuration(id);
        }
    }

    fn indexer(&mut self, id: FolderId, workspace: &Arc<Workspace>, after: Option<Ended>) -> (u64, Indexer) {
        self.n_indexers += 1;
        let epoch = self.n_indexers;
        let queue = self.queue.clone();
        let keeping =
            Keeping { place: self.arguments.index(self.preferences.memory), watched: !self.offered.watches, after };
        let tell = move |news| queue.post(move |session| session.hear(id, epoch, news));
        (epoch, Indexer::start(&self.lanes, Arc::clone(workspace), keeping, tell))
    }

    pub fn remove_folder(&mut self, root: &Path) {
        if let Some(at) = self.folders.iter().position(|folder| folder.root == root) {
            let id = self.folders[at].id;
            if self.folders[at].bad.take().is_some() {
                self.show_configuration(id);
            }
            let folder = self.folders.remove(at);
            if let Some(progress) = folder.progress {
                progress.end(folder.n_files);
            }
            self.answer_waiting();
        }
    }

    /// Reads the configuration of all folders again.
    pub fn configure(&mut self) {
        for at in 0..self.folders.len() {
            self.configure_folder(at);
        }
        self.sort_documents();
    }

    /// Reads the configuration of a folder again; where it says that other files are read, or otherwise, the index is
    /// another one. Documents must be sorted after that.
    fn configure_folder(&mut self, at: usize) {
        let (workspace, bad) = configuration::workspace(&self.folders[at].root, &self.preferences);
        let (id, old) = (self.folders[at].id, Arc::clone(&self.folders[at].workspace));
        let is_bad_as_before = self.folders[at].bad == bad;
        self.folders[at].bad = bad;
        if workspace.settings != old.settings {
            let workspace = Arc::new(workspace);
            // It is replaced even if it reads the same files: it counts classes by its settings.
            let before = self.folders[at].indexer.end();
            let (epoch, indexer) = self.indexer(id, &workspace, Some(before));
            let is_other = workspace.profile() != old.profile();
            let folder = &mut self.folders[at];
            (folder.epoch, folder.indexer) = (epoch, indexer);
            folder.workspace = workspace;
            if is_other {
                folder.is_ready = false;
                folder.n_files = 0;
                folder.quarantine = None;
                folder.saved = Arc::new(dupi::snapshot::Snapshot::empty());
            }
        }
        if !is_bad_as_before {
            self.show_configuration(id);
        }
    }

    /// What is wrong with a folder's configuration is a diagnostic on that file.
    fn show_configuration(&self, id: FolderId) {
        let Some(folder) = self.folders.iter().find(|folder| folder.id == id) else { return };
        let Some(uri) = uris::of_path(&folder.root.join(crate::options::FILE)) else { return };
        let diagnostics = folder.bad.iter().map(configuration::diagnostic).collect();
        self.outbox.notify::<PublishDiagnostics>(PublishDiagnosticsParams { uri, diagnostics, version: None });
    }

    /// What an index tells.
    fn hear(&mut self, id: FolderId, epoch: u64, news: News) {
        // What comes late from an index that was replaced is of other settings.
        let is_meant = |folder: &Folder| folder.id == id && folder.epoch == epoch;
        let Some(at) = self.folders.iter().position(is_meant) else { return };
        let folder = &mut self.folders[at];
        match news {
            News::Opened(snapshot, quarantine) => {
                folder.n_files = snapshot.n_documents();
                folder.saved = snapshot;
                folder.quarantine = Some(quarantine);
                self.sort_documents();
            }
            News::Started => {
                if !folder.is_ready && self.offered.progress && folder.progress.is_none() {
                    let title = format!("dupi: indexing {}", folder.name);
                    folder.progress = Some(Progress::begin(&self.outbox, format!("dupi/index/{}", id.0), title));
                }
                self.generation += 1;
                status::tell(self);
            }
            News::Progress(progress) => {
                if let Some(shown) = &mut folder.progress {
                    shown.report(progress);
                }
            }
            News::Refreshed { snapshot, files } => {
                folder.n_files = files;
                folder.saved = snapshot;
                folder.is_ready = true;
                if let Some(progress) = folder.progress.take() {
                    progress.end(files);
                }
                self.generation += 1;
                self.changed(None);
                self.answer_waiting();
            }
            News::Looked { classes } => {
                folder.n_classes = classes;
                status::tell(self);
            }
            News::Unsure => {
                self.configure_folder(at);
                self.sort_documents();
            }
            News::Trouble(trouble) => {
                tracing::warn!("{}: {trouble}", folder.name);
                folder.troubles.retain(|told| *told != trouble);
                folder.troubles.push(trouble);
                let n_old = folder.troubles.len().saturating_sub(MAX_TROUBLES);
                folder.troubles.drain(..n_old);
            }
        }
    }

    /// Lets go of all folders, and with them of the locks of their indexes.
    pub fn end(&mut self) {
        self.to_open.clear();
        self.folders.clear();
        self.waiting.clear();
    }

    /// Takes over other settings of the user's.
    pub fn prefer(&mut self, written: &Value) {
        let (preferences, wrong) = Preferences::read(written);
        for wrong in wrong {
            tracing::warn!("{wrong}");
        }
        self.preferences = Arc::new(preferences);
        self.configure();
    }
}
