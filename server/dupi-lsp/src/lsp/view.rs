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
    /// Whether that says anything: yesterday's index does, none at all does not.
    is_known: bool,
    snapshot: OnceLock<Arc<Snapshot>>,
}

pub struct DocumentView {
    pub document: Arc<Document>,
    copies: OnceLock<Arc<[Copy]>>,
}

impl FolderView {
    pub fn new(id: FolderId, workspace: Arc<Workspace>, saved: Arc<Snapshot>, is_known: bool) -> FolderView {
        FolderView { id, workspace, saved, is_known, snapshot: OnceLock::new() }
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

    /// Is there anything to compare a document with? Until there is, "no copies" would only mean "not looked yet".
    pub fn can_tell(&self, document: &Document) -> bool {
        if document.is_file {
            self.folder_of(&document.path).is_none_or(|folder| folder.is_known)
        } else {
            self.folders.iter().all(|folder| folder.is_known)
        }
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
