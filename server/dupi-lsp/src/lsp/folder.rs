//! A workspace folder: its settings, its index, and what is known of it now. Owned by the session.

use std::path::PathBuf;
use std::sync::Arc;

use dupi::index::Workspace;
use dupi::snapshot::Snapshot;

use super::progress::Progress;
use crate::indexer::Indexer;
use crate::options::BadConfiguration;

/// Folders come and go; what comes late of one that went must not be taken for another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FolderId(pub u64);

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
    pub saved: Arc<Snapshot>,
    /// Whether all files have been looked at once since it was opened.
    pub is_ready: bool,
    /// Documents in the index, and classes if they were counted.
    pub n_files: usize,
    pub n_classes: Option<usize>,
    pub progress: Option<Progress>,
}
