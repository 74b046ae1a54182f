//! What a request sees: all folders and documents as they were when it came. Never changes, so nobody waits for a lock.
//!
//! What is costly is done by whoever asks for it first, and at most once for a view.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use dupi::index::Workspace;
use dupi::snapshot::{Buffer, Snapshot};
use tower_lsp::ls_types::Uri;

use super::copies::{self, Copy};
use super::document::Document;
use super::folder::FolderId;
use super::positions::Encoding;
use super::uris;
use crate::preferences::Preferences;

pub struct View {
    pub folders: Vec<FolderView>,
    /// Whether the client's folders are among them: at the start they wait for the user's settings.
    pub has_folders: bool,
    /// By the URI as the client spells it.
    pub documents: BTreeMap<String, DocumentView>,
    pub encoding: Encoding,
    pub preferences: Arc<Preferences>,
    /// The files of all folders that have copies, each with the name of what is to be said of it.
    pub in_workspace: OnceLock<BTreeMap<Uri, String>>,
}

pub struct FolderView {
    pub id: FolderId,
    pub workspace: Arc<Workspace>,
    /// As it is on disk.
    pub saved: Arc<Snapshot>,
    known: Known,
    snapshot: OnceLock<Arc<Snapshot>>,
}

/// What the index of a folder can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Known {
    /// Nothing: no file was looked at.
    Nothing,
    /// Where copies are, but not that there are none: it is an index of before, or of an interrupted run.
    Copies,
    /// All files were looked at.
    All,
}

pub struct DocumentView {
    pub document: Arc<Document>,
    copies: OnceLock<Arc<[Copy]>>,
}

impl FolderView {
    pub fn new(id: FolderId, workspace: Arc<Workspace>, saved: Arc<Snapshot>, known: Known) -> FolderView {
        FolderView { id, workspace, saved, known, snapshot: OnceLock::new() }
    }
}

impl DocumentView {
    pub fn new(document: Arc<Document>) -> DocumentView {
        DocumentView { document, copies: OnceLock::new() }
    }
}

impl View {
    /// The copies in an open document, in the order in which they start.
    pub fn copies(&self, document: &DocumentView) -> Arc<[Copy]> {
        document.copies.get_or_init(|| copies::in_document(self, &document.document).into()).clone()
    }

    /// The copies in a file that is open or on disk; none if it is neither.
    pub fn copies_at(&self, uri: &Uri) -> Option<Arc<[Copy]>> {
        match self.documents.get(uri.as_str()) {
            Some(document) => Some(self.copies(document)),
            None => copies::in_file(self, &uris::path(uri)?).map(Arc::from),
        }
    }

    /// Whether these are the copies in a document, as far as anybody can say. Until all files were looked at, "no copies"
    /// would only mean "not looked yet".
    pub fn can_tell(&self, document: &Document, copies: &[Copy]) -> bool {
        let needed = if copies.is_empty() { Known::All } else { Known::Copies };
        self.known(document) >= needed
    }

    /// What can be said of a document: by the folder that it lies in, or by all of them if it is no file.
    pub fn known(&self, document: &Document) -> Known {
        let outside = if self.has_folders { Known::All } else { Known::Nothing };
        let folder = self.folder_of(&document.path).filter(|_| document.is_file);
        let others = self.folders.iter().filter(|_| !document.is_file);
        folder.into_iter().chain(others).map(|folder| folder.known).min().unwrap_or(outside)
    }

    pub fn folder(&self, id: FolderId) -> Option<&FolderView> {
        self.folders.iter().find(|folder| folder.id == id)
    }

    /// The innermost folder in which a path lies.
    pub fn folder_of(&self, path: &Path) -> Option<&FolderView> {
        let around = self.folders.iter().filter(|folder| path.starts_with(&folder.workspace.root));
        around.max_by_key(|folder| folder.workspace.root.components().count())
    }

    /// The open files of a folder, as they count for everybody. If one is open under two names, the last edit counts.
    pub fn buffers(&self, folder: &FolderView) -> Vec<Arc<Buffer>> {
        let mut latest: BTreeMap<&Path, &Document> = BTreeMap::new();
        for DocumentView { document, .. } in self.documents.values().filter(|open| open.document.is_file) {
            let other = latest.entry(&document.path).or_insert(document);
            if other.stamp < document.stamp {
                *other = document;
            }
        }
        let buffers = latest.values().flat_map(|document| document.buffers());
        buffers.filter(|(id, _)| *id == folder.id).map(|(_, buffer)| Arc::clone(buffer)).collect()
    }

    /// What is current in a folder: open files as they are open, the others as they are on disk.
    pub fn snapshot<'a>(&self, folder: &'a FolderView) -> &'a Arc<Snapshot> {
        folder.snapshot.get_or_init(|| Arc::new(folder.saved.with_buffers(self.buffers(folder))))
    }

    /// The URI of a file: the client's own, if it has it open.
    pub fn uri(&self, path: &Path) -> Option<Uri> {
        let open = self.documents.values().find(|open| open.document.is_file && open.document.path == path);
        open.map(|open| open.document.uri.clone()).or_else(|| uris::of_path(path))
    }
}
