//! A workspace folder: its settings, its index, and what is known of it now. Owned by the session.

use std::path::PathBuf;
use std::sync::Arc;

use dupi::index::Workspace;
use dupi::quarantine::Quarantine;
use dupi::snapshot::Snapshot;

use super::progress::Progress;
use crate::indexer::Indexer;
use crate::options::BadConfiguration;

/// Folders come and go; what comes late of one that went must not be taken for another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FolderId(pub u64);

/// How the text of a document is read in a folder.
#[derive(Clone)]
pub struct Reading {
    pub folder: FolderId,
    pub workspace: Arc<Workspace>,
    pub quarantine: Arc<Quarantine>,
}

pub struct Folder {
    pub id: FolderId,
    /// As the client names it.
    pub name: String,
    pub root: PathBuf,
    pub workspace: Arc<Workspace>,
    /// What is wrong with its `dupi.toml`, if anything is.
    pub bad: Option<BadConfiguration>,
    /// Tells its index from those that it had with other settings.
    pub epoch: u64,
    pub indexer: Indexer,
    /// What must not be tokenized; none as long as its index is not open: then nothing is.
    pub quarantine: Option<Arc<Quarantine>>,
    pub saved: Arc<Snapshot>,
    /// Whether all files have been looked at once since it was opened.
    pub is_ready: bool,
    /// Documents in the index, and classes if they were counted.
    pub n_files: usize,
    pub n_classes: Option<usize>,
    pub progress: Option<Progress>,
    /// Whether somebody cancelled looking at its files.
    pub was_cancelled: bool,
    /// What went wrong, the last of it.
    pub troubles: Vec<String>,
}
